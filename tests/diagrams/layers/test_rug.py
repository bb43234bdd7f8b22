"""Ticks for single predictions."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from skcal.diagrams import ReliabilityDisplay


def draw(y, proba, **options):
    display = ReliabilityDisplay.from_predictions(y, proba, layers=["rug"], **options)
    return display, display.curves[0].layers["rug"]


def test_every_row_of_few_has_a_tick():
    rng = np.random.default_rng(0)
    proba, y = rng.random(100), rng.integers(0, 2, 100)
    display, rug = draw(y, proba)
    np.testing.assert_array_equal([rug.prob_pred, rug.prob_true], [proba, y])
    starts, ends = np.moveaxis(display.rug_.get_segments(), 1, 0)
    np.testing.assert_array_equal(starts[:, 0], proba)
    low, high = display.ax_.get_xlim()
    np.testing.assert_allclose(starts[:, 1], np.where(y == 1, high, low))
    # Ticks point inwards.
    np.testing.assert_array_equal(ends[:, 1] < starts[:, 1], y == 1)
    _, rug = draw(y, proba, sample_weight=np.arange(100) < 30)
    np.testing.assert_array_equal(rug.prob_pred, proba[:30])
    styled = display.plot(layer_kwargs={"rug": {"lw": 3, "color": "red"}}).rug_
    assert styled.get_linewidth() == 3
    np.testing.assert_array_equal(styled.get_color()[0, :3], to_rgba("red")[:3])


@pytest.mark.parametrize("kind", ["plain", "weighted", "soft"])
def test_ticks_stand_for_equal_masses(kind, rows):
    y, proba = rows
    weight = np.random.default_rng(1).integers(0, 5, 500) if kind == "weighted" else np.ones(500)
    y = proba**2 if kind == "soft" else y
    _, rug = draw(y, proba, sample_weight=weight)
    assert len(rug.prob_pred) == len(rug.prob_true) == 100
    share = np.average(y, weights=weight)
    assert rug.prob_true.mean() == pytest.approx(share, abs=0.005 + 1e-12)
    for outcome, mass in ((0, weight * (1 - y)), (1, weight * y)):
        ticks = rug.prob_pred[rug.prob_true == outcome]
        for place in np.linspace(0, 1, 33):
            below = mass[proba <= place].sum() / mass.sum()
            assert abs((ticks <= place).sum() - below * len(ticks)) <= 0.5 + 1e-9


@pytest.mark.parametrize(("hits", "expected"), [(0, 0), (1, 1), (4999, 99), (5000, 100)])
def test_rare_and_missing_outcomes(hits, expected):
    _, rug = draw(np.arange(5000) < hits, np.linspace(0, 0.01, 5000))
    assert rug.prob_true.sum() == expected
    assert len(rug.prob_true) == 100
