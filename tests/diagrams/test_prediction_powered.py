"""Reliability diagram by few labels and many verdicts."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from skcal.diagrams import (
    MeanReliabilityDisplay,
    PredictionPoweredReliabilityDisplay,
    ReliabilityDisplay,
)
from skcal.inference import prediction_powered_calibration, prediction_powered_targets

draw = PredictionPoweredReliabilityDisplay.from_predictions


def draw_rows(seed=0, n=1000, n_labels=100, right=0.9, decimals=8):
    rng = np.random.default_rng(seed)
    p = rng.beta(2, 2, n).round(decimals)
    y = 1.0 * (rng.random(n) < p)
    f = np.where(rng.random(n) < right, y, 1 - y)
    label = np.full(n, np.nan)
    rows = rng.choice(n, n_labels, replace=False)
    label[rows] = y[rows]
    return label, p, f, y


@pytest.mark.parametrize("is_clustered", [False, True])
def test_curve_is_that_of_the_targets_and_the_band_is_wider(is_clustered):
    label, p, f, _ = draw_rows()
    clusters = np.arange(1000) // 2 if is_clustered else None
    targets = prediction_powered_targets(label, p, f, clusters=clusters)
    plain = MeanReliabilityDisplay.from_predictions(targets, p, bandwidth=0.2, clusters=clusters)
    found = draw(label, p, f, bandwidth=0.2, clusters=clusters)
    curve, other = found.curve, plain.curves[0]
    assert_allclose(curve.y_mean, other.y_mean)
    assert_allclose(found.panel_.curves[0].band[1], curve.band[1])
    inside = slice(30, -30)
    lengths = [(one.band[2] - one.band[1])[inside] for one in (curve, other)]
    assert (lengths[0] > lengths[1]).all()
    assert found.n_labels == 100
    numbers = prediction_powered_calibration(label, p, f, clusters=clusters, n_resamples=1)
    assert found.effective_labels == pytest.approx(numbers.effective_labels)
    assert found.ax_.get_title() == f"100 labels, worth {numbers.effective_labels:.0f}"


def test_with_all_labels_it_is_that_of_labels():
    _, p, f, y = draw_rows()
    found = draw(y, p, f, bandwidth=0.3).curve
    other = MeanReliabilityDisplay.from_predictions(y, p, bandwidth=0.3).curves[0]
    assert_allclose(found.y_mean, other.y_mean)
    assert_allclose(found.band[1], np.clip(other.band[1], 0, 1))
    assert_allclose(found.band[2], np.clip(other.band[2], 0, 1))


def test_few_predictions_have_intervals_of_their_own():
    """Each has a pair, also where verdicts and labels agree."""
    label, p, _, y = draw_rows(decimals=1, n_labels=60)
    with pytest.warns(UserWarning, match="agrees"):
        found = draw(label, p, y).curve
    assert found.kind == "values"
    share = np.array([np.mean(p == value) for value in np.unique(p)])
    middle = (share > 0.05) & (found.y_mean > 0.3) & (found.y_mean < 0.7)
    least = 2 * 2 * np.sqrt(2) / 60 / share
    assert ((found.band[2] - found.band[1])[middle] > 0.9 * np.minimum(least, 0.7)[middle]).all()


def test_axes_and_styles():
    label, p, f, _ = draw_rows()
    _, ax = plt.subplots()
    found = draw(label, p, f, ax=ax, curve_kwargs={"color": "red"}, despine=True)
    assert found.ax_ is ax
    assert found.figure_ is ax.figure
    assert found.panel_.lines_[0].get_color() == "red"
    assert PredictionPoweredReliabilityDisplay(curve=found.curve).plot().ax_.get_title() == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [({"bandwidth": 2}, "bandwidth must be"), ({"x": 1}, "keyword arguments?: .*x")],
)
def test_bad_options(options, message):
    label, p, f, _ = draw_rows()
    with pytest.raises((ValueError, TypeError), match=message):
        draw(label, p, f, **options)


def test_axes_of_other_quantities_are_refused():
    rng = np.random.default_rng(0)
    proba = rng.random(60)
    y = (rng.random(60) < proba).astype(float)
    seen = np.where(np.arange(60) < 40, y, np.nan)
    display = PredictionPoweredReliabilityDisplay.from_predictions(seen, proba, (y > 0.5) * 0.8)
    assert "95 % band, all points at once" in [
        text.get_text() for text in display.ax_.get_legend().get_texts()
    ]
    with pytest.raises(
        ValueError, match="ax must be empty, or show the quantities of this display"
    ):
        ReliabilityDisplay.from_predictions(y.astype(int), proba, ax=display.ax_)
