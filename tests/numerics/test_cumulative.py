"""Errors of the cumulative residual by their definitions, in pieces of few and of many rows."""

import numpy as np
import pytest

from skcal._numerics.errors import _cumulative as cumulative


def split_residuals(residual):
    """Sums below and not below each prediction, and above the last one."""
    below = np.array([residual[:k].sum() for k in range(len(residual) + 1)])
    return below, residual.sum() - below


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 50])
def test_errors_by_their_definitions(rng, monkeypatch, n):
    monkeypatch.setattr(cumulative, "_CHUNK", 3)
    predictions, residual = np.unique(rng.random(n)), rng.normal(size=n) / n
    below, above = split_residuals(residual)
    width = np.diff([0.0, *predictions, 1.0])
    expected = width @ (below**2 + above**2)
    assert cumulative.averaged_two_bin_error(predictions, residual) == pytest.approx(expected)
    assert cumulative.cumulative_range(residual) == pytest.approx(np.ptp(below), abs=1e-15)
    assert cumulative.cumulative_maximum(residual) == pytest.approx(np.abs(below).max(), abs=1e-15)
