"""Spiegelhalter's test: closed forms, level, and the sign of z."""

import numpy as np
import pytest
from scipy.stats import norm

from skcal.inference import spiegelhalter_test


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.mark.parametrize(("v", "sign"), [(0.2, 1), (0.75, -1)])
def test_one_prediction_is_the_binomial_test(v, sign):
    """Then z is that of the number of positive outcomes, up to its sign."""
    n, positive = 50, 17
    result = spiegelhalter_test([1] * positive + [0] * (n - positive), [v] * n)
    z = sign * (positive - n * v) / np.sqrt(n * v * (1 - v))
    assert result.statistic == pytest.approx(z, rel=1e-12)
    assert result.pvalue == pytest.approx(2 * norm.sf(abs(z)), rel=1e-12)


def test_definition_by_the_brier_score(rng):
    """Mean and variance of the weighted Brier score, summed over both outcomes of each row."""
    v, w = rng.random(40), rng.random(40)
    y = (rng.random(40) < 0.5).astype(int)
    mean = v * (1 - v) ** 2 + (1 - v) * v**2
    variance = v * (1 - v) ** 4 + (1 - v) * v**4 - mean**2
    excess = w @ ((y - v) ** 2 - mean)
    result = spiegelhalter_test(y, v, sample_weight=w)
    assert result.estimate == pytest.approx(excess / w.sum(), rel=1e-10)
    assert result.statistic == pytest.approx(excess / np.sqrt(w**2 @ variance), rel=1e-10)


def test_sign_tells_extreme_from_timid_predictions(rng):
    truth = rng.random(2000)
    y = (rng.random(2000) < truth).astype(int)
    logit = np.log(truth / (1 - truth))
    extreme, timid = (spiegelhalter_test(y, 1 / (1 + np.exp(-slope * logit))) for slope in (2, 0.5))
    assert extreme.statistic > 5
    assert timid.statistic < -5
    assert max(extreme.pvalue, timid.pvalue) < 1e-6
    assert extreme.estimate > 0 > timid.estimate


def test_predictions_of_one_half_count_for_nothing():
    y, v = [0, 1, 1, 0], [0.2, 0.1, 0.8, 0.7]
    result = spiegelhalter_test([*y, 1, 0, 1], [*v, 0.5, 0.5, 0.5])
    assert result.statistic == pytest.approx(spiegelhalter_test(y, v).statistic, rel=1e-14)
    assert spiegelhalter_test([1, 1], [0.5, 0.5])[:3] == (0.0, 1.0, 0.0)


def test_single_row_and_single_class():
    assert spiegelhalter_test([1], [0.2]).statistic == pytest.approx(2.0)
    assert spiegelhalter_test([1, 1], [0.2, 0.2]).statistic == pytest.approx(np.sqrt(8))
    assert spiegelhalter_test([0], [0.2]).statistic == pytest.approx(-0.5)


def test_wrong_certain_prediction_among_others():
    """It enters z as any other row, without a variance."""
    result = spiegelhalter_test([1, 0, 1], [0.2, 0.2, 0.0])
    assert result.statistic == pytest.approx((0.48 - 0.12 + 1) / np.sqrt(2 * 0.36 * 0.16))
