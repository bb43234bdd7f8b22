"""What all tests of one binary problem share: input, reductions, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from skcal.inference import (
    cox_recalibration,
    cumulative_calibration_test,
    hosmer_lemeshow_test,
    spiegelhalter_test,
    t_cal_test,
)


def run_t_cal(y_true, y_proba, **options):
    return t_cal_test(y_true, y_proba, n_resamples=99, random_state=0, **options)


TESTS = {
    "spiegelhalter": spiegelhalter_test,
    "cox": cox_recalibration,
    "hosmer_lemeshow": hosmer_lemeshow_test,
    "cumulative": cumulative_calibration_test,
    "t_cal": run_t_cal,
}
every_test = pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)
# Weights are read as counts of rows, or as importance of rows with one outcome each.
counting = pytest.mark.parametrize("test", [cox_recalibration, hosmer_lemeshow_test])
rest = [spiegelhalter_test, cumulative_calibration_test, run_t_cal]


@pytest.fixture
def sample():
    rng = np.random.default_rng(3)
    v = np.round(rng.uniform(0.02, 0.98, 120), 2)
    return (rng.random(120) < v).astype(int), v


def list_numbers(result):
    """All numbers of a test result, or of the intervals and the test of a recalibration."""
    parts = result if isinstance(result[0], tuple) else [result]
    return [number for part in parts for number in part[:3]]


def assert_close(result, expected, rtol=1e-9):
    np.testing.assert_allclose(list_numbers(result), list_numbers(expected), rtol=rtol, atol=1e-12)


@every_test
def test_forms_of_binary_input(test, sample):
    y, v = sample
    expected = test(y, v)
    names = np.where(y == 1, "yes", "no")
    assert test(names, v, pos_label="yes") == expected
    assert test(names, v[:, None], labels=["no", "yes"]) == expected
    assert test(names, np.column_stack([1 - v, v])) == expected
    assert test(y.astype(bool), pd.Series(v)) == expected
    assert test(1 - y, v, pos_label=0, labels=[1, 0]) == expected


@every_test
def test_multiclass_input(test):
    rng = np.random.default_rng(5)
    proba = rng.dirichlet(np.ones(3), 200)
    y = (rng.random((200, 1)) > np.cumsum(proba, axis=1)).sum(axis=1)
    confidence = test((proba.argmax(axis=1) == y).astype(int), proba.max(axis=1))
    assert test(y, proba) == test(y, proba, reduction="confidence") == confidence
    assert test(y, proba, pos_label=1) == test((y == 1).astype(int), proba[:, 1])


@every_test
@pytest.mark.parametrize("reduction", ["classwise", "top-label", "full"])
def test_several_or_dependent_problems_are_refused(test, sample, reduction):
    with pytest.raises(ValueError, match=f"reduction must give one binary .*; got '{reduction}'"):
        test(*sample, reduction=reduction)


@every_test
def test_bad_input(test, sample):
    y, v = sample
    with pytest.raises(ValueError, match=r"y_true must hold labels; .*; got 0.25 at row 1"):
        test([0, 0.25, 1], [0.2, 0.3, 0.7])
    with pytest.raises(ValueError, match="Did you mean 'confidence'"):
        test(y, v, reduction="confidenc")
    with pytest.raises(ValueError, match="y_proba must lie in"):
        test([0, 1], [0.5, 1.5])
    with pytest.raises(ValueError, match="sample_weight must be finite"):
        test(y, v, sample_weight=np.full(len(y), -1.0))


@every_test
def test_order_of_rows_does_not_matter(test, sample):
    y, v = sample
    order = np.random.default_rng(0).permutation(len(y))
    weights = 1 + np.arange(len(y)) % 3 / 10
    assert_close(test(y[order], v[order]), test(y, v))
    expected = test(y, v, sample_weight=weights)
    assert_close(test(y[order], v[order], sample_weight=weights[order]), expected)


@every_test
def test_weight_zero_is_absence(test, sample):
    y, v = sample
    weights = np.tile([1.0, 0.0], 60)
    v_rest = v.copy()
    v_rest[1::2] = 0.0  # which cox_recalibration would refuse
    y_rest = y.copy()
    y_rest[1::2] = 1
    assert_close(test(y_rest, v_rest, sample_weight=weights), test(y[::2], v[::2]))


@counting
def test_weights_are_counts(test, sample):
    y, v = sample
    weights = 1 + np.arange(len(y)) % 3
    expected = test(np.repeat(y, weights), np.repeat(v, weights))
    assert_close(test(y, v, sample_weight=weights), expected)


@counting
def test_counts_must_be_numbers_of_rows(test):
    with pytest.raises(ValueError, match=r"sample_weight is read as counts .* at least 2; got 1"):
        test([0, 1, 0, 1], [0.2, 0.3, 0.4, 0.7], sample_weight=[0.25] * 4)


@counting
@pytest.mark.parametrize("power", [99, 101, 200])
def test_counts_of_any_size(test, power):
    """Many rows are not few, and next to none not many."""
    y, v, ones = [0, 1, 0, 1], [0.2, 0.3, 0.4, 0.7], np.ones(4)
    result = test(y, v, sample_weight=[10.0**power, 1, 1, 1])
    assert getattr(result, "test", result).pvalue == np.finfo(float).tiny
    with pytest.raises(ValueError, match="at least 2; got 4e-"):
        test(y, v, sample_weight=10.0**-power * ones)


@pytest.mark.parametrize("test", rest)
@pytest.mark.parametrize("scale", [7.0, 1e-90, 1e90])
def test_scale_of_importance_weights_does_not_matter(test, sample, scale):
    y, v = sample
    weights = 1 + np.arange(len(y)) % 3
    assert_close(test(y, v, sample_weight=scale * weights), test(y, v, sample_weight=weights))


@every_test
def test_pvalue_is_a_float_in_the_unit_interval(test, sample):
    y, v = sample
    for outcomes in (y, (v < 0.5).astype(int)):
        result = test(outcomes, v)
        assert all(type(number) is float for number in list_numbers(result))
        assert not np.isnan(list_numbers(result)).any()
        assert 0 < getattr(result, "test", result).pvalue <= 1


@pytest.mark.parametrize("test", [spiegelhalter_test, cumulative_calibration_test])
def test_nothing_left_to_chance(test):
    result = test([0, 1, 1], [0.0, 1.0, 1.0])
    assert result[:3] == (0.0, 1.0, 0.0)
    result = test([0, 1, 1], [0.0, 1.0, 0.0])
    assert result[:2] == (np.inf, np.finfo(float).tiny)
    assert result.estimate == pytest.approx(1 / 3)


@pytest.mark.parametrize("test", [spiegelhalter_test, cumulative_calibration_test])
def test_tiny_pvalues_are_not_zero(test):
    assert test(np.ones(10**4, dtype=int), np.full(10**4, 0.01)).pvalue == np.finfo(float).tiny
