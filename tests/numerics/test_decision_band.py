"""Bands of decisions: parts against their definitions, and how often the whole band covers."""

import functools

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, xlogy
from scipy.stats import norm

from skcal._numerics.curves import _decision_band
from skcal._numerics.curves._decision_band import band_decisions, bound_mean, find_critical_value


def bound_share(hits, n, critical):
    """The largest share that Wilson's interval or the likelihood ratio accepts."""
    rate, score = hits / n, critical**2 / n
    middle, root = rate + score / 2, np.sqrt(score * (rate * (1 - rate) + score / 4))

    def exceed(share):
        gain = xlogy(rate, rate / share) + xlogy(1 - rate, (1 - rate) / (1 - share))
        return 2 * n * gain - critical**2

    likely = 1.0 if hits == n else brentq(exceed, max(rate, 1e-9), 1 - 1e-15)
    return max((middle + root) / (1 + score), likely)


@pytest.mark.parametrize("hits", [0, 1, 7, 19, 20])
@pytest.mark.parametrize("critical", [1.0, 1.96, 2.8])
def test_two_values_have_the_interval_of_a_share(hits, critical):
    low, high, n = -3.0, 0.5, 20
    shares = np.array([[1 - hits / n], [hits / n]])
    found = bound_mean(np.array([[low], [high]]), shares, np.array([n]), critical)
    expected = low + (high - low) * bound_share(hits, n, critical)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)


def find_by_search(values, shares, n, critical):
    """The largest mean of the laws on a fine net of those near the bound, for three values."""
    net = np.linspace(0, 1, 401)
    p, q = np.meshgrid(net, net)
    laws = np.stack([p, q * (1 - p), (1 - p) * (1 - q)], axis=-1).reshape(-1, 3)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = 2 * n * (xlogy(shares, shares) - xlogy(shares, laws)).sum(axis=1)
    return (laws @ values)[ratios <= critical**2].max()


@pytest.mark.parametrize("counts", [(3, 5, 12), (1, 0, 30), (10, 2, 0), (0, 0, 15), (4, 4, 4)])
def test_likelihood_region_by_search(counts):
    """It is part of the interval, which the score test may make wider."""
    values, n = np.array([1.0, -0.7, 0.0]), sum(counts)
    shares = np.array(counts) / n
    found = bound_mean(values[:, None], shares[:, None], np.array([n]), 2.0)[0]
    expected = find_by_search(values, shares, n, 2.0)
    assert found >= expected - 1e-9
    variance = shares @ (values - shares @ values) ** 2
    # Nor is it much wider than both.
    assert found <= max(expected, shares @ values + 2 * np.sqrt(variance / n)) + 4 / n + 0.01


def test_critical_values_of_known_laws():
    level, n = 0.95, 12
    independent = norm.ppf((1 + level ** (1 / n)) / 2)
    one = norm.ppf((1 + level) / 2)
    found = find_critical_value(np.diag(np.arange(1.0, n + 1)), level)
    np.testing.assert_allclose(found, independent, atol=0.02)
    np.testing.assert_allclose(find_critical_value(np.full((n, n), 3.0), level), one, atol=0.005)
    # At high levels by Bonferroni's inequality.
    assert find_critical_value(np.eye(n), 0.999) == pytest.approx(-norm.ppf(0.001 / (2 * n)))


@pytest.mark.slow
def test_critical_value_is_that_of_random_draws():
    rng = np.random.default_rng(0)
    steps = np.cumsum(rng.normal(size=(46, 80)), axis=0)
    covariance = steps @ steps.T
    draws = rng.normal(size=(200_000, 80)) @ steps.T / np.sqrt(np.diag(covariance))
    expected = np.quantile(np.abs(draws).max(axis=1), [0.947, 0.953])
    assert expected[0] < find_critical_value(covariance, 0.95) < expected[1]


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("kind", ["model", "fixed"])
def test_mean_and_covariance_are_those_of_the_rows(monkeypatch, kind, is_weighted):
    rng = np.random.default_rng(1)
    n, n_thresholds = 60, 7
    acting, other = rng.integers(0, n_thresholds + 1, (2, n))
    y = rng.integers(0, 2, n).astype(float)
    weights = rng.random(n) + 0.1 if is_weighted else None
    gains = np.stack([-rng.random(n_thresholds), rng.random(n_thresholds)])
    baseline = other if kind == "model" else (2, n_thresholds)
    taken = []

    def take(covariance, level):
        taken.append(covariance)
        return 2.0

    monkeypatch.setattr(_decision_band, "find_critical_value", take)
    mean, low, high = band_decisions(acting, baseline, y, weights, gains, 0.95)
    if kind == "fixed":
        other = np.where(y == 1, n_thresholds, 2)
    k = np.arange(n_thresholds)
    rows = gains[y.astype(int)] * ((k < acting[:, None]) * 1.0 - (k < other[:, None]))
    w = np.ones(n) if weights is None else weights / weights.mean()
    np.testing.assert_allclose(mean, w @ rows / n, atol=1e-12)
    errors = w[:, None] * (rows - mean)
    one_more = sum(
        np.outer(gains[outcome] * (k < acts), gains[outcome] * (k < acts))
        for outcome in (0, 1)
        for acts in range(n_thresholds + 1)
    ) / (2 * (n_thresholds + 1))
    np.testing.assert_allclose(taken[0], errors.T @ errors + one_more, atol=1e-10)
    assert (low <= mean).all()
    assert (mean <= high).all()


# ------------------------------------------------------------------------------- coverage


def draw_overconfident(rng, n):
    x = rng.normal(size=n)
    return expit(-1.3 + 1.1 * x), expit(-1.3 + 1.5 * x)


def draw_rare(rng, n):
    rate = expit(-4.5 + 1.2 * rng.normal(size=n))
    return rate, rate


def draw_forest(rng, n):
    """Shares of 20 trees, with 0 and 1."""
    rate = rng.beta(0.6, 1.2, size=n)
    return rate, rng.binomial(20, rate) / 20


def draw_clumps(rng, n):
    rate = rng.beta(0.3, 0.1, size=n)
    return rate, np.round(expit(12 * (rate - 0.5)), 2)


def draw_calibrated(rng, n):
    rate = rng.random(n)
    return rate, rate


MODELS = (draw_overconfident, draw_rare, draw_forest, draw_clumps, draw_calibrated)
THRESHOLDS = np.linspace(0.05, 0.5, 46)
ODDS = THRESHOLDS / (1 - THRESHOLDS)
N_THRESHOLDS = len(THRESHOLDS)
BENEFIT = np.stack([-ODDS, np.ones(N_THRESHOLDS)])
# What is compared: a model with acting never or always, and its losses with no loss.
CASES = {
    "none": ((0, 0), BENEFIT),
    "all": ((N_THRESHOLDS,) * 2, BENEFIT),
    "loss": ((0, N_THRESHOLDS), np.stack([-THRESHOLDS, 1 - THRESHOLDS])),
}


@functools.cache
def find_truth(draw, case):
    """Mean gain of 4 million rows, with their rates as outcomes."""
    baseline, gains = CASES[case]
    rng, total, n = np.random.default_rng(7), np.zeros(N_THRESHOLDS), 0
    for _ in range(20):
        rate, v = draw(rng, 200_000)
        acting = np.searchsorted(THRESHOLDS, v, side="right")
        for outcome, mass in enumerate((1 - rate, rate)):
            acts = np.bincount(acting, mass, N_THRESHOLDS + 1)[::-1].cumsum()[::-1]
            others = np.where(np.arange(N_THRESHOLDS) < baseline[outcome], mass.sum(), 0)
            total += gains[outcome] * (acts[1:] - others)
        n += len(v)
    return total / n


# Weights that say nothing of predictions and outcomes.
WEIGHTS = {
    "none": lambda rng, n: None,
    "some are heavy": lambda rng, n: np.where(rng.random(n) < 0.3, 5.0, 1.0),
    "any": lambda rng, n: rng.lognormal(size=n),
}


def find_coverage(draw, case, n, n_samples, weights="none"):
    """Share of samples whose band covers the truth at all thresholds."""
    baseline, gains = CASES[case]
    truth, n_covered = find_truth(draw, case), 0
    rng = np.random.default_rng([n, MODELS.index(draw), list(CASES).index(case)])
    for _ in range(n_samples):
        rate, v = draw(rng, n)
        y = (rng.random(n) < rate).astype(float)
        acting = np.searchsorted(THRESHOLDS, v, side="right")
        w = WEIGHTS[weights](rng, n)
        _, low, high = band_decisions(acting, baseline, y, w, gains, 0.95)
        slack = 0.005 * (high - low)  # the truth is known to so much
        n_covered += ((low - slack <= truth) & (truth <= high + slack)).all()
    return n_covered / n_samples


@pytest.mark.parametrize("outcome", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_weighted_rows_that_are_all_alike(outcome):
    """They count as so many rows of equal weights, whatever rounding leaves of their variance."""
    acting, n_thresholds = np.full(400, 24), 24
    gains = np.stack([-np.arange(5, 29), 100 - np.arange(5, 29)]) / 100
    for seed in range(20):
        weights = np.random.default_rng(seed).lognormal(size=400)
        n = int(weights.sum() ** 2 / (weights**2).sum())
        few, y = acting[:n], np.full(400, outcome)
        for baseline in ((0, 0), (0, n_thresholds)):
            found = band_decisions(acting, baseline, y, weights, gains, 0.95)
            expected = band_decisions(few, baseline, y[:n], None, gains, 0.95)
            np.testing.assert_allclose(found, expected, rtol=0, atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["some are heavy", "any"])
def test_unseen_rows_may_be_heavy(weights):
    """Of a rare event few rows gain by acting, and all of these may have small weights."""
    # 200 samples have a standard error of .015 at 95 %.
    assert find_coverage(draw_rare, "all", 300, 200, weights) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "weights"), [(300, "none"), (5000, "none"), (1000, "some are heavy"), (1000, "any")]
)
def test_whole_bands_cover(n, weights):
    """In 93 % of the samples at least: of all kinds together, and of each but for chance."""
    n_samples = 50
    shares = [find_coverage(draw, case, n, n_samples, weights) for draw in MODELS for case in CASES]
    # 750 samples have a standard error of .008 at 95 %.
    assert np.mean(shares) >= 0.93
    # A coverage of 93 % falls below this by chance in one of 250 tests.
    assert min(shares) > 0.93 - 3 * np.sqrt(0.93 * 0.07 / n_samples)
