"""How often two models on the same rows are told apart, and which one is called worse.

``python benchmarks/bench_comparisons.py`` prints the share of 200 samples in which
``compare_calibration`` has p <= 0.05 at its default arguments, by the model that it names, as a
table of reStructuredText. An argument sets another number of samples. It takes ten minutes.
"""

import sys

import numpy as np
from scipy.special import expit, logit
from timing import print_table, show_progress

from skcal.inference import compare_calibration

N_ROWS = 1000
# Hermite quadrature of a standard normal variable.
POINTS, MASSES = np.polynomial.hermite_e.hermegauss(40)
MASSES /= MASSES.sum()


def draw_chances(rng):
    return rng.uniform(0.001, 0.999, N_ROWS)


def draw_outcomes(rng, chances):
    return (rng.random(len(chances)) < chances).astype(int)


def stretch(chances, slope):
    return expit(slope * logit(chances))


def compare_with_calibrated(change):
    """Cases in which the first model is right and the second is a change of it."""

    def draw(rng):
        chances = draw_chances(rng)
        return draw_outcomes(rng, chances), chances, change(chances)

    return draw


def draw_over_under(rng):
    """Log odds times 1.3 against log odds over 1.3."""
    chances = draw_chances(rng)
    return draw_outcomes(rng, chances), stretch(chances, 1.3), stretch(chances, 1 / 1.3)


def draw_wave_slope(rng):
    """Both are off by .05 on average."""
    chances = draw_chances(rng)
    wave = np.clip(chances + 0.0785 * np.sin(6 * np.pi * chances), 0.001, 0.999)
    return draw_outcomes(rng, chances), wave, stretch(chances, 1.47)


def draw_skills(rng, centre=0.0):
    """Two calibrated models, of which the second knows half of what the first knows."""
    one, other = rng.normal(size=(2, N_ROWS))
    chances = expit(centre + one + other)
    return draw_outcomes(rng, chances), chances, expit(centre + one[:, None] + POINTS) @ MASSES


def draw_clusters(rng):
    """Over-confidence as above in 200 clusters of five rows, whose outcomes go together."""
    chances = np.repeat(rng.uniform(0.001, 0.999, N_ROWS // 5), 5)
    common, own = rng.random((2, N_ROWS))
    common = np.repeat(common[::5], 5)
    y_true = np.where(own < 0.3, common, rng.random(N_ROWS)) < chances
    return y_true.astype(int), chances, exaggerate(chances)


def exaggerate(chances):
    return np.clip(chances + 0.12 * (2 * chances - 1), 0.001, 0.999)


CASES = {
    "calibrated, one knows more than the other": draw_skills,
    "the same of events in 2 % of rows": lambda rng: draw_skills(rng, -4.5),
    "calibrated, base rate": compare_with_calibrated(lambda chances: 0 * chances + 0.5),
    "calibrated, over-confident": compare_with_calibrated(exaggerate),
    "the same in clusters": draw_clusters,
    "calibrated, wave": compare_with_calibrated(
        lambda chances: np.clip(chances + 0.12 * np.sin(12 * chances), 0.001, 0.999)
    ),
    "over-, under-confident": draw_over_under,
    "wave, slope": draw_wave_slope,
}


def name_worse(draw, seed):
    """Which model is named as the worse one: 0 or 1, or None."""
    y_true, *models = draw(np.random.default_rng([seed, 1]))
    clusters = np.arange(N_ROWS) // 5 if draw is draw_clusters else None
    found = compare_calibration(y_true, *models, clusters=clusters, random_state=seed)
    return None if found.pvalue > 0.05 else int(found.difference[0] < 0)


def main(n_samples):
    header, rows = ("first, second model", "first worse", "second worse"), []
    for name, draw in CASES.items():
        named = [name_worse(draw, seed) for seed in show_progress(range(n_samples), name)]
        rows.append((name, *(f"{100 * named.count(k) / n_samples:.3g}" for k in (0, 1))))
    print_table(header, rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
