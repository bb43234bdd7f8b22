"""Cumulative errors and ATB: worked examples and truthfulness."""

from itertools import product

import numpy as np
import pytest

from skcal.metrics import averaged_two_bin_calibration_error, cumulative_calibration_error


def test_by_hand():
    y, v = [1, 0, 0, 1], [0.2, 0.3, 0.6, 0.7]
    # Sums .8, .5, -.1, .2, of quarters.
    assert cumulative_calibration_error(y, v) == pytest.approx(0.9 / 4)
    assert cumulative_calibration_error(y, v, deviation="max") == pytest.approx(0.8 / 4)
    # Residuals .5 and -.75 in halves; below .5 all in one bin, then apart, then all in one bin.
    expected = 0.5 * 0.125**2 + 0.25 * (0.25**2 + 0.375**2) + 0.25 * 0.125**2
    assert averaged_two_bin_calibration_error([1, 0], [0.5, 0.75]) == pytest.approx(expected)


def test_two_bins_are_truthful():
    """Mean over all outcomes: nothing scores better than the true probabilities.

    Theirs is the mean square of their noise; forecasts of group means reach it, but not below.
    """

    def expect(truth, v):
        outcomes = np.array(list(product([0, 1], repeat=len(truth))))
        chance = np.where(outcomes, truth, 1 - truth).prod(axis=1)
        return chance @ [averaged_two_bin_calibration_error(y, v) for y in outcomes]

    rng = np.random.default_rng(43)
    for size in (1e-3, 0.1, 1.0):
        truth = rng.random(4)
        honest = expect(truth, truth)
        assert honest == pytest.approx((truth * (1 - truth)).sum() / 16, abs=1e-12)
        assert expect(truth, np.clip(truth + size * rng.normal(size=4), 0, 1)) > honest
        assert expect(truth, np.full(4, truth.mean())) == pytest.approx(honest, abs=1e-12)
