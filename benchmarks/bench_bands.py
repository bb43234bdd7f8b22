"""Coverage of the band around a smooth curve: Wilson's interval, and percentiles of resamples.

    python benchmarks/bench_bands.py    # about ten minutes

What is to be covered is the distance of the curve of the population, smoothed alike, from the
diagonal. Points where the curve is drawn in at least half of the samples count.
"""

import numpy as np
from timing import show_progress

from skcal.diagrams import ReliabilityDisplay
from skcal.metrics import smooth_ece_curve

N_SAMPLES, N_RESAMPLES, LEVEL = 200, 100, 0.95


def spread(u):
    return u


def crowd(u):
    """90 % above .99, the others from .4 to .9."""
    return np.where(u < 0.9, 0.99 + u / 90, 0.4 + 5 * (u - 0.9))


def concentrate_near_0(u):
    """The beta distribution with parameters 1 and 60."""
    return 1 - (1 - u) ** (1 / 60)


# Predictions as a function of uniform numbers, and the true probability of each.
POPULATIONS = {
    "calibrated": (spread, lambda v: v),
    "crowded": (crowd, lambda v: v),
    "U-shaped": (lambda u: np.sin(np.pi * u / 2) ** 6, lambda v: v),
    "rare": (concentrate_near_0, lambda v: v),
    "rare, too high": (concentrate_near_0, lambda v: 0.3 * v),
    "shifted": (spread, lambda v: np.minimum(v + 0.1, 1)),
    "crowded, too high": (crowd, lambda v: np.where(v > 0.95, 0.8, v - 0.15)),
    "wavy": (spread, lambda v: np.clip(v + 0.2 * np.sin(6 * v), 0, 1)),
}


def measure_coverage(population, n, rng, n_resamples):
    """Share of samples whose bands cover, at each point that is drawn: a row for each band."""
    place, find_truth = population
    everything = place((np.arange(100_000) + 0.5) / 100_000)
    counts, covered = 0, 0
    for _ in show_progress(range(N_SAMPLES), f"samples of {n} rows"):
        v = place(rng.random(n))
        y = (rng.random(n) < find_truth(v)).astype(int)
        curve = ReliabilityDisplay.estimate(y, v, kind="smooth", confidence_level=LEVEL).curves[0]
        options = {"bandwidth": curve.bandwidth, "n_points": len(curve.prob_pred)}
        truth = smooth_ece_curve(find_truth(everything), everything, **options)
        target = truth.prob_true - truth.prob_pred
        band = curve.layers["band"]
        bands = [(band.low - curve.prob_pred, band.high - curve.prob_pred)]
        if n_resamples:
            bands.append(resample(y, v, options, n_resamples, rng))
        reached = n * curve.bandwidth * np.sqrt(2 * np.pi) * curve.density
        is_drawn = reached >= min(5, reached.max() / 2)
        counts = counts + is_drawn
        covered = covered + np.array([is_drawn & (a <= target) & (target <= b) for a, b in bands])
    return covered[:, counts >= N_SAMPLES / 2] / counts[counts >= N_SAMPLES / 2]


def resample(y, v, options, n_resamples, rng):
    """Percentiles of the distances from the diagonal of resamples."""
    gaps = []
    for _ in range(n_resamples):
        rows = rng.integers(len(y), size=len(y))
        curve = smooth_ece_curve(y[rows], v[rows], labels=[0, 1], **options)
        gaps.append(curve.prob_true - curve.prob_pred)
    return np.quantile(gaps, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    print("coverage in %: mean over points, least of any point")
    print("population         |    n | Wilson   | resamples")
    for name, population in POPULATIONS.items():
        for n in (300, 2000, 20_000):
            shares = measure_coverage(population, n, rng, N_RESAMPLES if n < 2000 else 0)
            words = " | ".join(f"{100 * s.mean():3.0f}, {100 * s.min():3.0f}" for s in shares)
            print(f"{name:18} | {n:6} | {words}", flush=True)
