"""Interval calibration errors: worked examples, and intervals laid at many shifts."""

import numpy as np
import pytest

from skcal.metrics import interval_calibration_error, random_interval_calibration_error


@pytest.mark.parametrize(
    ("y", "v", "expected"),
    [
        ([1, 1], [0, 0], 1),
        # Opposite residuals of 1/2 and more share an interval where that is cheaper.
        *(([1, 0], [0.5 - g / 2, 0.5 + g / 2], min(g, 0.5 + g / 2)) for g in (0.3, 0.02, 1e-9)),
        # Residuals .45 and -.2 in halves: |.25| / 2 + width .2, against .45 / 2 + .2 / 2 apart.
        ([1, 0.55], [0.55, 0.75], 0.325),
        ([1, 0.45], [0.55, 0.65], 0.125 + 0.1),
    ],
)
def test_groups_that_cost_least(y, v, expected):
    value = interval_calibration_error(y, v, pos_label=1)
    assert value == pytest.approx(expected, rel=1e-12)
    # Weights, in which ties are merged.
    y, v, weights = np.repeat(y, 2), np.repeat(v, 2), [1, 3, 3, 1]
    value = interval_calibration_error(y, v, sample_weight=weights, pos_label=1)
    assert value == pytest.approx(expected, rel=1e-12)


def test_random_intervals_agree_with_many_shifts():
    rng = np.random.default_rng(37)
    y, v, weights = rng.integers(0, 2, 40), np.round(rng.random(40), 2), rng.random(40)
    for width in (0.1, 0.37):
        # Midpoints of cells that no edge of an interval leaves: hundredths of ties and widths.
        shifts = (np.arange(round(100 * width)) + 0.5) / 100
        sums = [
            np.abs(np.bincount(((v - s) // width + 2).astype(int), weights * (y - v))).sum()
            for s in shifts
        ]
        value = random_interval_calibration_error(y, v, sample_weight=weights, width=width)
        assert value == pytest.approx(np.mean(sums) / weights.sum(), abs=1e-12)
