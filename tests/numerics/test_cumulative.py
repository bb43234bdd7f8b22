"""Formulas of the cumulative errors, against their words."""

from itertools import pairwise

import numpy as np
import pytest

from skcal._numerics._cumulative import (
    averaged_two_bin_error,
    cumulative_maximum,
    cumulative_range,
)


@pytest.fixture
def rng():
    return np.random.default_rng(31)


@pytest.mark.parametrize("n", [1, 2, 3, 40])
def test_extremes_of_sums(rng, n):
    for shift in (-1, 0, 1):
        residual = rng.normal(size=n) + shift
        prefixes = [residual[:k].sum() for k in range(n + 1)]
        between = [abs(residual[i:j].sum()) for i in range(n) for j in range(i + 1, n + 1)]
        assert cumulative_maximum(residual) == pytest.approx(max(map(abs, prefixes)), abs=1e-12)
        assert cumulative_range(residual) == pytest.approx(max(between), abs=1e-12)


@pytest.mark.parametrize("ends", [False, True])
def test_two_bins(rng, ends):
    v = np.sort(rng.random(9))
    if ends:
        v[0], v[-1] = 0, 1
    residual = rng.normal(size=9)
    # The integrand is constant between predictions: its value in the middle is enough.
    edges = np.unique(np.concatenate([[0], v, [1]]))
    expected = 0.0
    for start, end in pairwise(edges):
        below = v < (start + end) / 2
        expected += (end - start) * (residual[below].sum() ** 2 + residual[~below].sum() ** 2)
    assert averaged_two_bin_error(v, residual) == pytest.approx(expected, abs=1e-12)
