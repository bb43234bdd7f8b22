"""Rubin's rules: closed forms, scales, and coverage with values that are imputed."""

import numpy as np
import pytest
from scipy.stats import binom, norm, t

from skcal.inference import Interval, pool_imputations

Z = norm.isf(0.025)


def test_closed_form():
    """Errors of 1 and 2, estimates 3 and 5: variance (1 + 4) / 2 + 3/2 * 2 = 5.5."""
    found = pool_imputations([Interval(3, 3 - Z, 3 + Z), (5, 5 - 2 * Z, 5 + 2 * Z)])
    half = t.isf(0.025, (1 + 2.5 / 3) ** 2) * np.sqrt(5.5)
    np.testing.assert_allclose(found, (4, 4 - half, 4 + half))


def test_alike_data_sets_are_one():
    one = Interval(0.2, 0.1, 0.3)
    np.testing.assert_allclose(pool_imputations([one] * 5), one)
    ratio = 1.2, 1.2 / 1.5, 1.2 * 1.5
    np.testing.assert_allclose(pool_imputations([ratio] * 3, scale="log"), ratio)
    np.testing.assert_allclose(pool_imputations([(0.5, 0.2, 0.8)] * 2, scale="logit")[1], 0.2)


def test_order_units_and_scales():
    table = np.array([[1.0, 0.8, 1.3], [1.1, 0.9, 1.4], [0.7, 0.5, 1.0]])
    found = pool_imputations(table, confidence_level=0.9)
    np.testing.assert_allclose(pool_imputations(table[::-1], confidence_level=0.9), found)
    for unit in (1e-300, 1e9, 1e300):
        scaled = pool_imputations(unit * table, confidence_level=0.9)
        np.testing.assert_allclose(scaled, np.multiply(found, unit))
    logs = pool_imputations(np.log(table))
    np.testing.assert_allclose(np.log(pool_imputations(table, scale="log")), logs)


def test_refusals():
    good = (1.0, 0.5, 2.0)
    for intervals, options, message in (
        ([good], {}, r"^intervals must hold two intervals at least.*got shape \(1, 3\)"),
        ([(1, 2), (1, 2)], {}, r"^intervals must hold two.*got shape \(2, 2\)"),
        (
            [good, (0, 0, 1)],
            {"scale": "log"},
            r"must be above 0 for scale='log'.*\(0\.0, 0\.0, 1\.0\) at place 1",
        ),
        ([good, good], {"scale": "logit"}, "must be between 0 and 1, both excluded"),
        ([good, (1, 0, np.inf)], {}, "must be finite for scale='identity'"),
        ([good, (np.nan, 0, 1)], {}, "must be finite"),
        ([good, (1, 2, 0)], {}, "and in order"),
        ([good, good], {"scale": "sqrt"}, "^scale must be one of"),
        ([good, good], {"confidence_level": 0}, "^confidence_level must"),
    ):
        with pytest.raises(ValueError, match=message):
            pool_imputations(intervals, **options)


@pytest.mark.slow
def test_coverage_of_a_mean_with_missing_values():
    """Half of 100 normal values are missing, and imputed from the posterior of the others."""
    rng, n_samples, covered = np.random.default_rng(0), 1000, 0
    for _ in range(n_samples):
        seen, intervals = rng.normal(size=50), []
        for _ in range(5):
            deviation = np.sqrt(49 * seen.var(ddof=1) / rng.chisquare(49))
            centre = seen.mean() + deviation / np.sqrt(50) * rng.normal()
            values = np.append(seen, centre + deviation * rng.normal(size=50))
            mean, error = values.mean(), values.std(ddof=1) / 10
            intervals.append((mean, mean - Z * error, mean + Z * error))
        pooled = pool_imputations(intervals)
        covered += pooled.low <= 0 <= pooled.high
    assert binom.ppf(0.001, n_samples, 0.94) <= covered <= binom.ppf(0.999, n_samples, 0.97)
