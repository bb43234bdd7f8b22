"""What the default curve of a reliability diagram shows of calibrated models, and of wrong ones.

    python benchmarks/bench_adaptive_curves.py    # about a minute

Of calibrated models: the root mean square distance of the curve from the diagonal over the rows, in
units of that of ten bins of equal mass; how often it crosses the diagonal; how much of the
diagonal the band covers. Of wrong models: the largest distance, and the root mean square, in units
of the truth. Medians of samples, of the default curve and of that of SmoothECE.
"""

import numpy as np
from scipy.special import expit
from timing import print_table, show_progress

from skcal.diagrams import ReliabilityDisplay

N_SAMPLES, SIZES = 20, (300, 1000, 5000, 20_000)
KINDS = ("auto", "smooth")
# Predictions of calibrated models.
LAWS = {
    "rare, .5 %": lambda rng, n: expit(rng.normal(-5.8, 1, n)),
    "wide": lambda rng, n: expit(rng.normal(0, 1.5, n)),
    "U-shaped": lambda rng, n: rng.beta(0.3, 0.3, n),
    "one side": lambda rng, n: rng.beta(2, 8, n),
    "near 1": lambda rng, n: 1 - 0.05 * rng.random(n) ** 2,
}


def draw_wave(rng):
    v = rng.uniform(0.12, 0.88, 20_000)
    return v, v + 0.12 * np.sin(12 * v)


def draw_slope(rng):
    z = rng.normal(0, 1.5, 1000)
    return expit(2 * z), expit(z)


def draw_halved(rng):
    z = rng.normal(-2, 1, 3000)
    return expit(z) / 2, expit(z)


def draw_rare_slope(rng):
    z = rng.normal(-6, 1.5, 20_000)
    return expit(1.5 * z + 3), expit(z)


def draw_small_group(rng):
    """30 % are told .001, of which 5 % come true."""
    low = rng.random(2000) < 0.3
    v = np.where(low, 0.001, expit(rng.normal(-1, 1, 2000)))
    return v, np.where(low, 0.05, v)


def draw_certain(rng):
    """Nearly certain one way or the other, as naive Bayes is, and wrong in 6 %."""
    v = rng.beta(0.03, 0.03, 300)
    return v, np.clip(v, 0.06, 0.94)


WRONG = {
    "wave of .12, 20,000 rows": draw_wave,
    "twice too extreme, 1000": draw_slope,
    "half of the truth, 3000": draw_halved,
    "nearly certain, 300": draw_certain,
    "rare, 1.5 times too extreme, 20,000": draw_rare_slope,
    ".001 for .05 in 30 %, 2000": draw_small_group,
}


def trace(rng, v, truth):
    """Outcomes, and distances from the diagonal of both curves, at their points and at the rows."""
    y = (rng.random(len(v)) < truth).astype(int)
    curves = [ReliabilityDisplay.estimate(y, v, pos_label=1, kind=kind).curves[0] for kind in KINDS]
    gaps = [curve.prob_true - curve.prob_pred for curve in curves]
    at_rows = [np.interp(v, c.prob_pred, gap) for c, gap in zip(curves, gaps, strict=True)]
    return y, curves, gaps, at_rows


def judge_calibrated(law, n, seed):
    rng = np.random.default_rng(seed)
    v = law(rng, n)
    y, curves, gaps, at_rows = trace(rng, v, v)
    bins = np.array_split(np.argsort(v), 10)
    of_bins = _root_mean_square([(y - v)[rows].mean() for rows in bins])
    return [
        (
            _root_mean_square(rows) / of_bins,
            (np.diff(np.sign(gap)) != 0).sum(),
            _cover_diagonal(curve.layers["band"]),
        )
        for curve, gap, rows in zip(curves, gaps, at_rows, strict=True)
    ]


def judge_wrong(draw, seed):
    rng = np.random.default_rng(seed)
    v, truth = draw(rng)
    _, _, _, at_rows = trace(rng, v, truth)
    # The largest distances of 1 % of the rows are those of a handful.
    largest = np.quantile(np.abs(truth - v), 0.99)
    size = _root_mean_square(truth - v)
    return [
        (np.quantile(np.abs(rows), 0.99) / largest, _root_mean_square(rows) / size)
        for rows in at_rows
    ]


def _root_mean_square(values):
    return np.sqrt(np.mean(np.square(values)))


def _cover_diagonal(band):
    return np.mean((band.low <= band.prob_pred) & (band.prob_pred <= band.high))


def main():
    rows = []
    for name, law in LAWS.items():
        for n in SIZES:
            seeds = show_progress(range(N_SAMPLES), f"{name}, {n} rows")
            found = np.array([judge_calibrated(law, n, seed) for seed in seeds])
            median, covered = np.median(found, axis=0)[:, :2], found[:, 0, 2].mean()
            cells = (f"{size:.2f}, {crossings:.0f}" for size, crossings in median)
            rows.append((name, f"{n:,}", *cells, f"{covered:.2f}"))
    names = ("Calibrated", "Rows", "Size, crossings", "SmoothECE's", "Covered")
    print_table(names, rows)
    rows = []
    for name, draw in WRONG.items():
        found = np.median([judge_wrong(draw, seed) for seed in range(N_SAMPLES)], axis=0)
        cells = (f"{largest:.2f}, {size:.2f}" for largest, size in found)
        rows.append((name, *cells))
    names = ("Wrong", "Largest, root mean square", "SmoothECE's")
    print_table(names, rows)


if __name__ == "__main__":
    main()
