"""Platt's targets."""

import numpy as np

from skcal._numerics.recalibration._target_smoothing import share_of_others, smooth_outcomes


def test_targets_of_platt():
    np.testing.assert_allclose(smooth_outcomes(np.array([1.0, 0, 0])), [2 / 3, 1 / 4, 1 / 4])
    counts = np.array([2.0, 1.0, 4.0])
    weighted = smooth_outcomes(np.array([1.0, 0, 0]), counts)
    np.testing.assert_allclose(weighted, [3 / 4, 1 / 7, 1 / 7])
    np.testing.assert_array_equal(smooth_outcomes(np.ones(3)), 4 / 5)


def test_shares_of_the_other_classes():
    codes = np.array([3, 0, 3, 1])
    np.testing.assert_allclose(share_of_others(codes), [1 / 4, 1 / 3, 1 / 4, 1 / 3])
    weighted = share_of_others(codes, np.array([5.0, 1.0, 2.0, 0.5]))
    np.testing.assert_allclose(weighted, [1 / 9, 1 / 3, 1 / 9, 2 / 5])
