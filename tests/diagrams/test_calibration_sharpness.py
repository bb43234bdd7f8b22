"""CalibrationSharpnessDisplay: the band of the sharpness gap, its frame, and the legend."""

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from skcal.diagrams import CalibrationSharpnessDisplay, SharpnessCurve
from skcal.metrics import BregmanDivergence, calibration_decomposition, calibration_sharpness_curve
from skcal.refinement import refinement_decomposition
from tests.diagrams.artists import find_shown, list_legend, read_heights, read_vertices

draw = CalibrationSharpnessDisplay.from_predictions
POINTS = {"prob_pred": [0.1, 0.9], "prob_true": [0.2, 0.8]}


def plot(**values):
    """A display of one curve."""
    return CalibrationSharpnessDisplay(curves=[SharpnessCurve(**values)]).plot()


def read_top(display):
    """Where the frame ends."""
    kind, top = display.ax_.spines["top"].get_position()
    assert kind == "data"
    return pytest.approx(top)


@pytest.mark.parametrize(
    "options",
    [
        {"loss": "log"},
        pytest.param({"kernel": "epanechnikov"}, marks=pytest.mark.slow),
        pytest.param({"bandwidth": None}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_curve_is_that_of_the_metrics(options, rows):
    display = draw(*rows, **options)
    (curve,), expected = display.curves, calibration_sharpness_curve(*rows, **options)
    np.testing.assert_array_equal(curve.prob_pred, expected.grid)
    for name in ("prob_true", "sharpness_gap", "density", "bandwidth"):
        np.testing.assert_array_equal(getattr(curve, name), getattr(expected, name))
    parts = refinement_decomposition(*rows, loss=options.get("loss", "brier"))
    assert (display.total, display.calibration) == parts[:2]


def test_legend_of_many_classes():
    """The total is that of all probabilities, the calibration that of the confidence."""
    rng = np.random.default_rng(0)
    y_proba, weight = rng.dirichlet(np.ones(3), 400), rng.integers(1, 3, 400)
    y_true = np.array(["a", "b", "c"])[[rng.choice(3, p=p**2 / (p**2).sum()) for p in y_proba]]
    display = draw(y_true, y_proba, sample_weight=weight)
    onehot = y_true[:, None] == np.array(["a", "b", "c"])
    total = np.average(((y_proba - onehot) ** 2).sum(axis=1), weights=weight)
    assert display.total == pytest.approx(total, abs=1e-12)
    hit = onehot[np.arange(400), y_proba.argmax(axis=1)].astype(int)
    parts = refinement_decomposition(hit, y_proba.max(axis=1), sample_weight=weight)
    assert display.calibration == parts.calibration
    # A model that is always right has one label alone to learn from.
    assert draw(y_proba.argmax(axis=1), y_proba).calibration == 0


def test_soft_labels(rows):
    """They have no outcomes to fit a recalibrator to; the curve gives the number."""
    y_true, y_proba = np.clip(rows[0] * 0.9 + 0.05, 0, 1), rows[1]
    display = draw(y_true, y_proba, pos_label=1)
    parts = calibration_decomposition(y_true, y_proba, pos_label=1)
    assert (display.total, display.calibration) == parts[:2]


def test_band_is_gap_times_density_where_the_kernel_gathers_five_predictions(rows):
    display = draw(*rows)
    (curve,), shown = display.curves, find_shown(display.line_)
    gathered = 500 * curve.density
    assert (gathered[shown][1:-1] >= 5).all()
    assert gathered[~shown].max() < 5
    places, center = curve.prob_pred[shown], curve.prob_true[shown]
    assert set(read_vertices(display.band_)[:, 0]) == set(places)
    length = np.maximum(curve.sharpness_gap * curve.density, 0)[shown]
    assert length.max() > 0.005
    ends = np.maximum(center - length / 2, 0), center + length / 2
    np.testing.assert_allclose(read_heights(display.band_, places), ends, atol=1e-12)
    below, above = display.density_.get_zorder(), display.line_.get_zorder()
    assert below < display.band_.get_zorder() < above
    styled = display.plot(layer_kwargs={"band": {"color": "blue", "ls": ":"}}).band_
    for color in (styled.get_facecolor(), styled.get_edgecolor()):
        np.testing.assert_array_equal(color[0, :3], to_rgba("blue")[:3])


def test_band_stops_at_0_and_rises_above_1():
    """Where gaps are negative there is none."""
    ends = {"prob_pred": [0.0, 0.2, 0.5, 0.7, 1.0], "prob_true": [0.1, 0.3, 0.5, 0.8, 0.95]}
    display = plot(**ends, sharpness_gap=[0.6, -np.inf, 0.4, -0.2, 0.6], density=[0.5] * 5)
    expected = [[0, 0.3, 0.4, 0.8, 0.8], [0.25, 0.3, 0.6, 0.8, 1.1]]
    np.testing.assert_allclose(read_heights(display.band_, ends["prob_pred"]), expected)
    # The frame shows all of it, and the legend stands above the frame.
    assert read_top(display) == 1.1
    assert display.ax_.get_ylim()[1] > 1.1
    assert display.ax_.get_xlim() == (-0.01, 1.01)
    # Whichever of several displays is drawn last.
    flat = {**ends, "sharpness_gap": [0.1] * 5, "density": [0.1] * 5}
    assert read_top(plot(**flat)) == 1.01
    CalibrationSharpnessDisplay(curves=[SharpnessCurve(**flat)]).plot(ax=display.ax_)
    assert read_top(display) == 1.1


def test_frame_does_not_rise_without_end():
    display = plot(**POINTS, sharpness_gap=[9, 9], density=[1, 1])
    assert read_top(display) == 1.5
    np.testing.assert_allclose(read_heights(display.band_, POINTS["prob_pred"])[1], [4.7, 5.3])
    assert read_top(display.plot(layers=["density"])) == 1.01
    display = CalibrationSharpnessDisplay(curves=[*display.curves, SharpnessCurve(**POINTS)])
    assert read_top(display.plot()) == 1.5


def test_infinite_gaps_fill_the_frame():
    display = draw([1, 0, 1, 1, 0], [0.0, 0.4, 0.5, 0.6, 0.6], loss="log")
    assert display.total == np.inf
    assert (display.curves[0].sharpness_gap == np.inf).all()
    display.figure_.canvas.draw()
    low, high = read_heights(display.band_, display.prob_pred[find_shown(display.line_)])
    assert low.max() == 0
    assert display.ax_.get_ylim()[1] < high.min() <= high.max() < np.inf
    assert read_top(display) == 1.01
    # It ends with the frame, below the legend.
    extent = display.band_.get_clip_box()
    bottom, top = display.ax_.transData.transform([(0, -0.01), (0, 1.01)])[:, 1]
    assert (extent.y0, extent.y1) == pytest.approx((bottom, top))
    assert display.line_.get_label() == "Classifier (log loss = inf, saved by recalibration = inf)"


@pytest.mark.parametrize("loss", ["brier", pytest.param("log", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("y_true", "y_proba"),
    [
        ([1], [0.3]),
        pytest.param([0, 1, 1], [0.5] * 3, marks=pytest.mark.slow),
        pytest.param([0, 1], [0.0, 1.0], marks=pytest.mark.slow),
        pytest.param([0, 1, 1], [0.2, 0.2, 0.8], marks=pytest.mark.slow),
    ],
)
def test_kernels_that_do_not_reach_everywhere(y_true, y_proba, loss):
    """No curve, no band and no warning where nothing is within reach."""
    display = draw(y_true, y_proba, loss=loss, kernel="epanechnikov")
    display.figure_.canvas.draw()
    (curve,), shown = display.curves, find_shown(display.line_)
    assert np.isnan(curve.prob_true).any()
    assert shown[np.isfinite(curve.prob_true)].any()
    for places in (curve.prob_pred[shown], read_vertices(display.band_)[:, 0]):
        assert (np.abs(np.subtract.outer(places, y_proba)).min(axis=1) < 0.06).all()


def test_three_classes_have_the_loss_of_all(multiclass):
    classifier, X, y = multiclass
    display = CalibrationSharpnessDisplay.from_estimator(classifier, X, y)
    y_proba = classifier.predict_proba(X)
    confidence = calibration_sharpness_curve(classifier.predict(X) == y, y_proba.max(axis=1))
    assert (display.curves[0].sharpness_gap > confidence.sharpness_gap + 1e-3).any()
    assert display.total == calibration_decomposition(y, y_proba).total
    one = CalibrationSharpnessDisplay.from_estimator(classifier, X, y, pos_label="b")
    assert one.total == pytest.approx(np.mean((y_proba[:, 1] - (y == "b")) ** 2))


class Cube(BregmanDivergence):
    pass


def test_name_of_the_loss():
    for loss, stored, shown in (
        ("brier", "brier", "Brier"),
        (BregmanDivergence(np.square, lambda v: 2 * v), "Bregman divergence", "Bregman divergence"),
        (Cube(lambda v: v**3, lambda v: 3 * v**2), "Cube", "Cube"),
    ):
        display = draw([0, 1, 1], [0.1, 0.6, 0.8], loss=loss)
        assert display.loss == stored
        numbers = (
            f"{shown} = {display.total:.3f}, saved by recalibration = {display.calibration:.4f}"
        )
        assert display.line_.get_label() == f"Classifier ({numbers})"


def test_what_is_known_is_shown():
    assert plot(**POINTS, total=0.1234).line_.get_label() == "loss = 0.123"
    assert (
        plot(**POINTS, calibration=0.01234).line_.get_label() == "saved by recalibration = 0.0123"
    )
    # What chance makes of 0 is 0, without a sign or a power of ten.
    for tiny in (-2.3e-06, 2.3e-06, 0.0):
        assert (
            plot(**POINTS, calibration=tiny).line_.get_label() == "saved by recalibration = 0.0000"
        )
    curves = [SharpnessCurve(**POINTS, calibration=0.04, total=total) for total in (0.1, np.inf)]
    lines = CalibrationSharpnessDisplay(curves=curves, loss="brier").plot().line_
    assert lines[0].get_label() == "Brier = inf, saved by recalibration = 0.0400 +/- 0.0000"
    bare, with_density = plot(**POINTS), plot(**POINTS, density=[1, 2])
    assert bare.band_ is bare.density_ is with_density.band_ is None
    assert with_density.density_ is not None
    assert list_legend(bare.ax_) == ["Perfectly calibrated"]
