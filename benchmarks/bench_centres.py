"""How often intervals of pooled validations hold the mean over centres, and another centre.

    python benchmarks/bench_centres.py             # 500 samples of each kind, five minutes
    python benchmarks/bench_centres.py 100 "20 3"  # other numbers, and rows that begin with words

Log odds of the model are normal with a standard deviation of 1. Those of the truth are
:math:`a + b x`, with a and b of each centre normal around 0 and 1, and standard deviations of tau
and tau / 2. The mean is that of all centres on the scale on which estimates are pooled, and a
prediction interval covers by the share of the true values of all centres that it holds. Shares are
of the samples that are answered: five centres of three events may have no two with both outcomes,
or with a slope.
"""

import sys

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit, logit
from timing import print_table, show_progress

from skcal.inference import pooled_validation

N_SAMPLES, N_CENTRES = 500, 2000
NUMBERS, SPREADS, EVENTS = (5, 10, 20), (0.0, 0.2, 0.4), (3, 10, 100)
MIDDLE = -2.4  # of the log odds: 12 % events
STATISTICS = ("observed_expected", "calibration_in_the_large", "slope", "c_statistic")
SCALES = {"observed_expected": np.log, "c_statistic": logit}
NODES, WEIGHTS = hermegauss(80)
NODES, WEIGHTS = NODES + MIDDLE, WEIGHTS / WEIGHTS.sum()


def find_truth(level, slope):
    """The four numbers of centres, by quadrature."""
    chances = expit(level[:, None] + slope[:, None] * NODES)
    predicted, share = expit(NODES), chances @ WEIGHTS
    shift = np.zeros(len(level))
    for _ in range(50):  # Newton's steps to the intercept at slope 1
        moved = expit(shift[:, None] + NODES)
        shift += (share - moved @ WEIGHTS) / ((moved * (1 - moved)) @ WEIGHTS)
    events, others = WEIGHTS * chances, WEIGHTS * (1 - chances)
    below = np.cumsum(others, axis=1) - others / 2
    return {
        "observed_expected": share / (WEIGHTS @ predicted),
        "calibration_in_the_large": shift,
        "slope": slope,
        "c_statistic": (events * below).sum(axis=1) / (share * (1 - share)),
    }


def draw_centres(rng, n, spread):
    return rng.normal(0, spread, n), rng.normal(1, spread / 2, n)


def try_centres(n_centres, n_events, spread, truth, seed):
    """Whether intervals of the mean cover, and the share of centres in those of another one."""
    rng = np.random.default_rng(seed)
    share = expit(NODES) @ WEIGHTS
    # From a third to three times the mean.
    sizes = np.geomspace(1, 9, n_centres)
    sizes = np.rint(sizes / sizes.mean() * n_events / share).astype(int)
    level, slope = (np.repeat(values, sizes) for values in draw_centres(rng, n_centres, spread))
    x = rng.normal(MIDDLE, 1, sizes.sum())
    y = (rng.random(len(x)) < expit(level + slope * x)).astype(int)
    centre = np.repeat(np.arange(n_centres), sizes)
    n_seen = np.bincount(centre, y)
    if np.count_nonzero((n_seen > 0) & (n_seen < sizes)) < 2:
        return np.full(2 * len(STATISTICS), np.nan)
    found = pooled_validation(y, expit(x), centre, labels=[0, 1])
    cells = []
    for name in STATISTICS:
        one, values, scale = getattr(found, name), truth[name], SCALES.get(name, np.asarray)
        mean = scale(values).mean()
        inside = (one.low_of_next <= values) & (values <= one.high_of_next)
        covers = [scale(one.low) <= mean <= scale(one.high), inside.mean()]
        cells += [np.nan, np.nan] if np.isnan(one.estimate) else covers
    return np.array(cells, dtype=float)


def tabulate(n_samples, word):
    for n_events in EVENTS:
        for n_centres in NUMBERS:
            for spread in SPREADS:
                case = [str(n_centres), str(n_events), f"{spread:g}"]
                if not " ".join(case).startswith(word):
                    continue
                truth = find_truth(*draw_centres(np.random.default_rng(1), N_CENTRES, spread))
                seeds = show_progress(range(n_samples), ", ".join(case))
                shares = np.nanmean(
                    [try_centres(n_centres, n_events, spread, truth, seed) for seed in seeds],
                    axis=0,
                )
                cells = [f"{100 * a:.1f}, {100 * b:.1f}" for a, b in shares.reshape(-1, 2)]
                yield [*case, *cells]


if __name__ == "__main__":
    n_samples = int(sys.argv[1]) if len(sys.argv) > 1 else N_SAMPLES
    rows = tabulate(n_samples, sys.argv[2] if len(sys.argv) > 2 else "")
    header = ["centres", "events", "tau", "O:E", "in the large", "slope", "C statistic"]
    print_table(header, list(rows))
