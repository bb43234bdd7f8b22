"""Ticks for single predictions."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from skcal.diagrams import ReliabilityDisplay
from skcal.streaming import CalibrationSummary


def draw(y, proba, **options):
    display = ReliabilityDisplay.from_predictions(y, proba, layers=["rug"], **options)
    return display, display.curves[0].layers["rug"]


def test_every_row_of_few_has_a_tick():
    rng = np.random.default_rng(0)
    proba, y = rng.random(100), rng.integers(0, 2, 100)
    display, rug = draw(y, proba)
    np.testing.assert_array_equal(rug.prob_pred, proba)
    np.testing.assert_array_equal(rug.prob_true, y)
    segments = np.array(display.rug_.get_segments())
    np.testing.assert_array_equal(segments[:, 0, 0], proba)
    low, high = display.ax_.get_xlim()
    np.testing.assert_allclose(segments[:, 0, 1], np.where(y == 1, high, low))
    # Ticks point inwards.
    assert ((segments[:, 1, 1] < segments[:, 0, 1]) == (y == 1)).all()
    _, rug = draw(y, proba, sample_weight=np.arange(100) < 30)
    np.testing.assert_array_equal(rug.prob_pred, proba[:30])


@pytest.mark.parametrize("weighted", [False, True])
def test_ticks_stand_for_equal_masses(weighted, rows):
    y, proba = rows
    weight = np.random.default_rng(1).integers(0, 5, 500) if weighted else np.ones(500)
    _, rug = draw(y, proba, sample_weight=weight)
    assert len(rug.prob_pred) == len(rug.prob_true) == 100
    share = np.average(y, weights=weight)
    assert rug.prob_true.mean() == pytest.approx(share, abs=0.005 + 1e-12)
    for outcome in (0, 1):
        ticks = rug.prob_pred[rug.prob_true == outcome]
        mass = weight * (y == outcome)
        for place in np.linspace(0, 1, 33):
            below = mass[proba <= place].sum() / mass.sum()
            assert abs((ticks <= place).sum() - below * len(ticks)) <= 0.5 + 1e-9


@pytest.mark.parametrize(("hits", "expected"), [(0, 0), (1, 1), (4999, 99), (5000, 100)])
def test_rare_and_missing_outcomes(hits, expected):
    _, rug = draw(np.arange(5000) < hits, np.linspace(0, 0.01, 5000))
    assert rug.prob_true.sum() == expected
    assert len(rug.prob_true) == 100


def test_soft_labels():
    proba = np.linspace(0.1, 0.9, 50)
    _, rug = draw(proba**2, proba)
    assert rug.prob_true.mean() == pytest.approx((proba**2).mean(), abs=0.005)


def test_summary_of_predictions_alone_in_their_cells(rows):
    y, proba = rows[0], rows[1].round(2)
    _, expected = draw(y, proba)
    display = ReliabilityDisplay.from_summary(CalibrationSummary().update(y, proba), layers=["rug"])
    rug = display.curves[0].layers["rug"]
    np.testing.assert_allclose(rug.prob_pred, expected.prob_pred, rtol=1e-12)
    np.testing.assert_array_equal(rug.prob_true, expected.prob_true)


def test_style(rows):
    display, _ = draw(*rows, layer_kwargs={"rug": {"lw": 3, "color": "red"}})
    assert display.rug_.get_linewidth() == 3
    np.testing.assert_array_equal(display.rug_.get_color()[0, :3], to_rgba("red")[:3])
