"""CalibrationSharpnessDisplay: the band of the sharpness gap, its frame, and the legend."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba

from skcal.diagrams import CalibrationSharpnessDisplay, SharpnessCurve
from skcal.metrics import (
    BregmanDivergence,
    calibration_decomposition,
    calibration_sharpness_curve,
)
from tests.diagrams.artists import find_shown, list_legend, read_edges

draw = CalibrationSharpnessDisplay.from_predictions


def plot(**values):
    """A display of one curve."""
    return CalibrationSharpnessDisplay(curves=[SharpnessCurve(**values)]).plot()


@pytest.mark.parametrize(
    "options", [{"divergence": "log"}, {"kernel": "epanechnikov"}, {"bandwidth": None}], ids=str
)
def test_curve_is_that_of_the_metrics(options, rows):
    display = draw(*rows, **options)
    (curve,), expected = display.curves, calibration_sharpness_curve(*rows, **options)
    np.testing.assert_array_equal(curve.prob_pred, expected.grid)
    np.testing.assert_array_equal(curve.prob_true, expected.prob_true)
    np.testing.assert_array_equal(curve.sharpness_gap, expected.sharpness_gap)
    np.testing.assert_array_equal(curve.density, expected.density)
    assert curve.bandwidth == expected.bandwidth
    parts = calibration_decomposition(*rows, **{**options, "bandwidth": curve.bandwidth})
    assert (display.total, display.calibration) == parts[:2]


def test_band_is_gap_times_density(rows):
    display = draw(*rows)
    (curve,), (low, high) = display.curves, read_edges(display.band_)
    shown = find_shown(display.line_)
    places = curve.prob_pred[shown]
    assert set(low) == set(places)
    length = np.maximum(curve.sharpness_gap * curve.density, 0)[shown]
    assert length.max() > 0.005
    center = curve.prob_true[shown]
    bottom = np.maximum(center - length / 2, 0)
    np.testing.assert_allclose([high[x] for x in places], center + length / 2, atol=1e-12)
    np.testing.assert_allclose([low[x] for x in places], bottom, atol=1e-12)
    below, above = display.density_.get_zorder(), display.line_.get_zorder()
    assert below < display.band_.get_zorder() < above
    color = to_rgba("blue")[:3]
    styled = display.plot(layer_kwargs={"band": {"color": "blue", "ls": ":"}}).band_
    np.testing.assert_array_equal(styled.get_facecolor()[0, :3], color)
    np.testing.assert_array_equal(styled.get_edgecolor()[0, :3], color)


def test_band_stops_at_0_and_rises_above_1():
    ends = {"prob_pred": [0.0, 0.5, 1.0], "prob_true": [0.1, 0.5, 0.95]}
    display = plot(**ends, sharpness_gap=[0.6, 0.4, 0.6], density=[0.5, 0.5, 0.5])
    low, high = read_edges(display.band_)
    assert [low[x] for x in (0.0, 0.5, 1.0)] == pytest.approx([0, 0.4, 0.8])
    assert [high[x] for x in (0.0, 0.5, 1.0)] == pytest.approx([0.25, 0.6, 1.1])
    # The frame shows all of it, and the legend stands above the frame.
    assert display.ax_.spines["top"].get_position() == ("data", pytest.approx(1.1))
    assert display.ax_.spines["left"].get_bounds()[1] == pytest.approx(1.1)
    assert display.ax_.get_ylim()[1] > 1.1
    assert display.ax_.get_xlim() == (-0.01, 1.01)
    # Whichever of several displays is drawn last.
    flat = {**ends, "sharpness_gap": [0.1] * 3, "density": [0.1] * 3}
    assert plot(**flat).ax_.spines["top"].get_position() == ("data", 1.01)
    CalibrationSharpnessDisplay(curves=[SharpnessCurve(**flat)]).plot(ax=display.ax_)
    assert display.ax_.spines["top"].get_position() == ("data", pytest.approx(1.1))


def test_frame_does_not_rise_without_end():
    ends = {"prob_pred": [0.4, 0.6], "prob_true": [0.5, 0.5]}
    display = plot(**ends, sharpness_gap=[9, 9], density=[1, 1])
    assert display.ax_.spines["top"].get_position() == ("data", 1.5)
    assert read_edges(display.band_)[1][0.4] == 5
    display.plot(layers=["density"])
    assert display.ax_.spines["top"].get_position() == ("data", 1.01)
    display = CalibrationSharpnessDisplay(curves=[*display.curves, SharpnessCurve(**ends)])
    assert display.plot().ax_.spines["top"].get_position() == ("data", 1.5)


def test_negative_gaps_have_no_band():
    display = plot(
        prob_pred=[0.0, 0.5, 1.0],
        prob_true=[0.1, 0.5, 0.9],
        sharpness_gap=[-np.inf, -0.2, 0.4],
        density=[1.0, 1.0, 0.5],
    )
    low, high = read_edges(display.band_)
    assert low[0.0] == high[0.0] == 0.1
    assert low[0.5] == high[0.5] == 0.5
    assert (low[1.0], high[1.0]) == pytest.approx((0.8, 1.0))


def test_infinite_gaps_fill_the_frame():
    display = draw([1, 0, 1, 1, 0], [0.0, 0.4, 0.5, 0.6, 0.6], divergence="log")
    assert display.total == np.inf
    assert (display.curves[0].sharpness_gap == np.inf).all()
    display.figure_.canvas.draw()
    low, high = read_edges(display.band_)
    assert max(low.values()) == 0
    assert np.isfinite(list(high.values())).all()
    assert min(high.values()) > display.ax_.get_ylim()[1]
    assert display.ax_.spines["top"].get_position() == ("data", 1.01)
    # It ends with the frame, below the legend.
    extent = display.band_.get_clip_box()
    bottom, top = display.ax_.transData.transform([(0, -0.01), (0, 1.01)])[:, 1]
    assert (extent.y0, extent.y1) == pytest.approx((bottom, top))
    assert display.line_.get_label() == "Classifier (log loss = inf, calibration = inf)"


@pytest.mark.parametrize("divergence", ["brier", "log"])
@pytest.mark.parametrize(
    ("y_true", "y_proba"),
    [([1], [0.3]), ([0, 1, 1], [0.5] * 3), ([0, 1], [0.0, 1.0]), ([0, 1, 1], [0.2, 0.2, 0.8])],
    ids=["row", "constant", "perfect", "gap"],
)
def test_kernels_that_do_not_reach_everywhere(y_true, y_proba, divergence):
    """No curve, no band and no warning where nothing is within reach."""
    display = draw(y_true, y_proba, divergence=divergence, kernel="epanechnikov")
    display.figure_.canvas.draw()
    (curve,), shown = display.curves, find_shown(display.line_)
    assert np.isnan(curve.prob_true).any()
    assert shown[np.isfinite(curve.prob_true)].any()
    reach = np.abs(curve.prob_pred[:, None] - y_proba).min(axis=1)
    assert not shown[reach > 0.06].any()
    assert all(np.abs(np.subtract(x, y_proba)).min() < 0.06 for x in read_edges(display.band_)[0])


def test_sparse_parts_are_not_drawn():
    """As in a reliability diagram: five predictions within the kernel."""
    rng = np.random.default_rng(0)
    y_proba = np.append(rng.uniform(0.4, 0.6, 500), 0.05)
    display = draw(rng.random(501) < y_proba, y_proba)
    shown, gathered = find_shown(display.line_), 501 * display.curves[0].density
    assert (gathered[shown][1:-1] >= 5).all()
    assert (gathered[~shown] < 5).all()


def test_only_curves():
    display = plot(prob_pred=[0.1, 0.9], prob_true=[0.2, 0.8])
    np.testing.assert_array_equal(display.line_.get_ydata(), [0.2, 0.8])
    assert display.band_ is display.density_ is None
    assert list_legend(display.ax_) == ["Perfectly calibrated"]
    with_density = plot(prob_pred=[0.1, 0.9], prob_true=[0.2, 0.8], density=[1, 2])
    assert with_density.band_ is None
    assert with_density.density_ is not None


def test_mean_replacement_has_the_longer_band(shared_data):
    """The paper's point, on its kind of data: calibrated, and yet worse."""
    from skcal.recalibration import MeanReplacement

    data = pd.read_csv(shared_data / "cifar10_vgg16_proba.csv.gz")
    y = data.pop("y_true").to_numpy()
    proba = data.to_numpy()
    proba = proba / proba.sum(axis=1, keepdims=True)
    mean = MeanReplacement(classes="columns").fit(proba[:5000], y[:5000])
    own, replaced = (
        draw(y[5000:], p, labels=np.arange(10))
        for p in (proba[5000:], mean.predict_proba(proba[5000:]))
    )
    assert replaced.calibration < own.calibration
    assert replaced.total > own.total
    lengths = []
    for display in (own, replaced):
        low, high = read_edges(display.band_)
        lengths.append(max(high[x] - low[x] for x in low))
    assert lengths[1] > 1.5 * lengths[0]


def test_three_classes_have_the_divergence_of_all(multiclass):
    classifier, X, y = multiclass
    display = CalibrationSharpnessDisplay.from_estimator(classifier, X, y)
    y_proba = classifier.predict_proba(X)
    confidence = calibration_sharpness_curve(classifier.predict(X) == y, y_proba.max(axis=1))
    assert (display.curves[0].sharpness_gap > confidence.sharpness_gap + 1e-3).any()
    assert display.total == calibration_decomposition(y, y_proba).total
    one = CalibrationSharpnessDisplay.from_estimator(classifier, X, y, pos_label="b")
    assert one.total == pytest.approx(np.mean((y_proba[:, 1] - (y == "b")) ** 2))


# ------------------------------------------------------------------------- legend


class Cube(BregmanDivergence):
    pass


@pytest.mark.parametrize(
    ("divergence", "stored", "shown"),
    [
        ("brier", "brier", "Brier"),
        ("log", "log", "log loss"),
        (BregmanDivergence(np.square, lambda v: 2 * v), "Bregman divergence", "Bregman divergence"),
        (Cube(lambda v: v**3, lambda v: 3 * v**2), "Cube", "Cube"),
    ],
)
def test_name_of_the_divergence(divergence, stored, shown):
    display = draw([0, 1, 1], [0.1, 0.6, 0.8], divergence=divergence)
    assert display.divergence == stored
    numbers = f"{shown} = {display.total:.3f}, calibration = {display.calibration:#.2g}"
    assert display.line_.get_label() == f"Classifier ({numbers})"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"total": 0.1234}, "divergence = 0.123"),
        ({"calibration": 0.01234}, "calibration = 0.012"),
        ({"total": 0.1, "calibration": 0.01}, "divergence = 0.100, calibration = 0.010"),
    ],
)
def test_legend_shows_what_is_known(given, expected):
    display = plot(prob_pred=[0.1, 0.9], prob_true=[0.2, 0.8], **given)
    assert display.line_.get_label() == expected
    assert display.plot(name="A").line_.get_label() == f"A ({expected})"


def test_spread_of_infinite_numbers():
    points = {"prob_pred": [0.1, 0.9], "prob_true": [0.2, 0.8], "calibration": 0.04}
    curves = [SharpnessCurve(**points, total=total) for total in (0.1, np.inf, 0.2)]
    lines = CalibrationSharpnessDisplay(curves=curves, divergence="brier").plot().line_
    assert lines[0].get_label() == "Brier = inf, calibration = 0.040 +/- 0.0"
