"""How often tests and intervals of clusters are wrong for calibrated models, and their time.

    python benchmarks/bench_clusters.py    # about half an hour

Clusters have five rows on average, of a geometric law. A row is 1 where a uniform number is below
its prediction; the numbers of a cluster are equal, or have normal scores that correlate.
"""

import warnings
from itertools import product

import numpy as np
from joblib import Parallel, delayed
from scipy.special import expit, logit
from scipy.stats import norm
from timing import median_times

from skcal.diagrams import ReliabilityDisplay
from skcal.inference import (
    calibration_test,
    confidence_interval,
    cox_recalibration,
    observed_expected_ratio,
    spiegelhalter_test,
)

N_SAMPLES, N_POWER, ALPHA, SIZE = 500, 200, 0.05, 5
# Correlation of the scores within a cluster, and the largest prediction.
LAWS = {
    "equal rows": (1.0, 1.0),
    "correlation .5": (0.5, 1.0),
    "correlation .1": (0.1, 1.0),
    "2 % events, correlation .5": (0.5, 0.04),
}
NUMBERS = 20, 50, 200, 1000
# Tests, intervals of what is known of a calibrated model, and the band of the diagram.
COLUMNS = "test", "Cox", "Spiegelhalter", "O:E", "smECE", "band"


def draw_clusters(rng, n_clusters, correlation, largest, *, has_large):
    """Outcomes, predictions and clusters of a calibrated model."""
    sizes = rng.geometric(1 / SIZE, n_clusters)
    if has_large:
        sizes[0] = sizes.sum() // 9
    member = np.repeat(np.arange(n_clusters), sizes)
    unit = member if correlation == 1 else np.arange(len(member))
    y_proba = largest * rng.random(len(member))[unit]
    shared, own = rng.normal(size=(2, len(member)))
    scores = np.sqrt(correlation) * shared[member] + np.sqrt(1 - correlation) * own
    return (norm.cdf(scores) < y_proba).astype(int), y_proba, member


def find_errors(seed, naive, *design, has_large=False):
    """Which of the `COLUMNS` are wrong in one sample."""
    y, p, member = draw_clusters(np.random.default_rng(seed), *design, has_large=has_large)
    if y.min() == y.max():
        return np.full(len(COLUMNS), np.nan)
    rows = {} if naive else {"clusters": member}
    draws = {"n_resamples": 199, "random_state": seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = [
            calibration_test(y, p, **rows, **draws).pvalue,
            cox_recalibration(y, p, **rows).test.pvalue,
            spiegelhalter_test(y, p, **rows).pvalue,
        ]
        ratio = observed_expected_ratio(y, p, **rows)
        # An interval of an error that is 0 begins at 0.
        error = confidence_interval(y, p, measure="smooth_ece", random_state=seed, **rows)
        curve = ReliabilityDisplay.estimate(y, p, **rows).curves[0]
    band = curve.layers["band"]
    within = (band.low <= curve.prob_pred) & (curve.prob_pred <= band.high)
    known = ~np.isnan(band.low)
    missed = [not ratio.low <= 1 <= ratio.high, error.low > 0, 1 - within[known].mean()]
    return np.array([*(pvalue <= ALPHA for pvalue in tests), *missed], dtype=float)


def tabulate_sizes():
    """Rows of the table: a law, a number of clusters and shares in %."""
    sizes = [*((n, False) for n in NUMBERS), (50, True)]
    for law, (n_clusters, has_large) in product(LAWS, sizes):
        shares = []
        for naive in (False, True):
            if naive and (n_clusters != 200 or has_large):
                continue
            call = delayed(find_errors)
            found = Parallel(n_jobs=-1)(
                call(seed, naive, n_clusters, *LAWS[law], has_large=has_large)
                for seed in range(N_SAMPLES)
            )
            shares.append(100 * np.nanmean(found, axis=0))
        name = f"{n_clusters}, one of a tenth" if has_large else str(n_clusters)
        yield law, name, shares[0]
        if len(shares) > 1:
            yield law, f"{name}, taken for rows", shares[1]


def compare_power():
    """Shares of samples in which an error is found, of rows and of clusters of independent rows."""
    for n_clusters, slope in ((50, 0.55), (200, 0.75), (200, 0.85), (1000, 0.87)):
        found, member = np.zeros((2, 2)), np.arange(SIZE * n_clusters) // SIZE
        for seed in range(N_POWER):
            rng = np.random.default_rng(seed)
            p = rng.random(len(member))
            y = (rng.random(len(member)) < expit(slope * logit(p))).astype(int)
            for k, rows in enumerate(({}, {"clusters": member})):
                test = calibration_test(y, p, n_resamples=199, random_state=seed, **rows)
                cox = cox_recalibration(y, p, **rows).test
                found[:, k] += test.pvalue <= ALPHA, cox.pvalue <= ALPHA
        yield n_clusters, slope, found / N_POWER


def compare_times():
    """Ratios of times to those of independent rows: 10^5 rows in 10^4 clusters."""
    rng = np.random.default_rng(0)
    y, p, _ = draw_clusters(rng, 20_000, 0.5, 1.0, has_large=False)
    y, p = y[:100_000], p[:100_000]
    member = np.arange(len(y)) // 10
    calls = {
        "``calibration_test``": lambda **rows: calibration_test(y, p, random_state=0, **rows),
        "``cox_recalibration``": lambda **rows: cox_recalibration(y, p, **rows),
        "``confidence_interval``": lambda **rows: confidence_interval(
            y, p, measure="smooth_ece", random_state=0, **rows
        ),
        "``ReliabilityDisplay``": lambda **rows: ReliabilityDisplay.estimate(y, p, **rows),
    }
    for name, call in calls.items():
        plain, clustered = median_times([call, lambda c=call: c(clusters=member)], repeats=5)
        yield name, clustered / plain


if __name__ == "__main__":
    print(".. csv-table::\n   :header: law, clusters, " + ", ".join(COLUMNS) + "\n")
    for law, name, shares in tabulate_sizes():
        print(f'   "{law}", "{name}", ' + ", ".join(f"{s:.1f}" for s in shares), flush=True)
    for n_clusters, slope, (test, cox) in compare_power():
        words = f"test {test[0]:.2f} and {test[1]:.2f}, Cox {cox[0]:.2f} and {cox[1]:.2f}"
        print(f"power of rows and clusters, {n_clusters} clusters, slope {slope}: {words}")
    for name, ratio in compare_times():
        print(f"{name}: {ratio:.1f} times the time of independent rows")
