"""CalibrationSharpnessDisplay: constructors, artists, frame, names, labels, state, bad input."""

import copy
import inspect
import subprocess
import sys
import warnings

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.colors import to_rgba
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import cross_validate

from skcal.diagrams import CalibrationSharpnessDisplay
from skcal.metrics import (
    BregmanDivergence,
    calibration_decomposition,
    calibration_sharpness_curve,
)

ARRAYS = ("prob_pred", "prob_true", "sharpness_gap", "density")
NUMBERS = ("total", "calibration", "bandwidth", "n_samples")


@pytest.fixture(scope="module")
def binary():
    """Fitted classifier, features and string labels."""
    X, y = make_classification(n_samples=300, random_state=0)
    y = np.array(["no", "yes"])[y]
    return LogisticRegression().fit(X[:150], y[:150]), X[150:], y[150:]


@pytest.fixture(scope="module")
def multiclass():
    X, y = make_classification(n_samples=400, n_classes=3, n_informative=5, random_state=0)
    y = np.array(["a", "b", "c"])[y]
    return LogisticRegression().fit(X[:200], y[:200]), X[200:], y[200:]


@pytest.fixture(scope="module")
def folds():
    """Arguments of a display of three curves."""
    rng = np.random.default_rng(0)
    curves = []
    for _ in range(3):
        y_proba = rng.random(100)
        curves.append(calibration_sharpness_curve(rng.random(100) < y_proba, y_proba))
    return {
        "prob_pred": [curve.grid for curve in curves],
        "prob_true": [curve.calibration for curve in curves],
        "sharpness_gap": [curve.sharpness_gap for curve in curves],
        "density": [curve.density for curve in curves],
        "total": [0.2, 0.4, 0.6],
        "calibration": [0.02, 0.04, 0.06],
        "bandwidth": [0.05] * 3,
        "n_samples": [100] * 3,
        "divergence": "brier",
    }


def full_ydata(line):
    return np.ma.getdata(line.get_ydata())


def legend_texts(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def read_band(band):
    """Lower and upper edge of a band as functions of x, each a dictionary."""
    low, high = {}, {}
    for path in band.get_paths():
        for x, y in path.vertices:
            low[x], high[x] = min(low.get(x, y), y), max(high.get(x, y), y)
    return low, high


def assert_same_drawing(first, second):
    """Attributes and artists of two displays are equal; masks included."""
    for name in inspect.signature(CalibrationSharpnessDisplay).parameters:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)
    for one, other in ((first.line_, second.line_), (first.ref_line_, second.ref_line_)):
        np.testing.assert_array_equal(one.get_xdata(), other.get_xdata())
        np.testing.assert_array_equal(full_ydata(one), full_ydata(other))
        np.testing.assert_array_equal(
            np.ma.getmaskarray(one.get_ydata()), np.ma.getmaskarray(other.get_ydata())
        )
        assert one.get_label() == other.get_label()
        assert one.get_color() == other.get_color()
    for one, other in ((first.band_, second.band_), (first.density_, second.density_)):
        for path, expected in zip(one.get_paths(), other.get_paths(), strict=True):
            np.testing.assert_array_equal(path.vertices, expected.vertices)
    assert first.ax_.get_xlabel() == second.ax_.get_xlabel()
    assert first.ax_.get_ylabel() == second.ax_.get_ylabel()
    assert first.ax_.get_ylim() == second.ax_.get_ylim()
    assert legend_texts(first) == legend_texts(second)


# ------------------------------------------------------------------------- constructors


def test_constructor_stores_its_arguments_unchanged():
    names = inspect.signature(CalibrationSharpnessDisplay).parameters
    assert all(parameter.kind == parameter.KEYWORD_ONLY for parameter in names.values())
    values = {name: object() for name in names}
    display = CalibrationSharpnessDisplay(**values)
    assert vars(display) == values


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"divergence": "log"},
        {"kernel": "epanechnikov", "bandwidth": 0.1},
        {"bandwidth": None},
    ],
)
def test_three_ways_to_one_diagram(binary, options):
    classifier, X, y = binary
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    options = {"sample_weight": weights, **options}
    by_estimator = CalibrationSharpnessDisplay.from_estimator(classifier, X, y, **options)
    y_proba = classifier.predict_proba(X)[:, 1]
    name = "LogisticRegression"
    by_predictions = CalibrationSharpnessDisplay.from_predictions(
        y, y_proba, pos_label="yes", name=name, **options
    )
    curve = calibration_sharpness_curve(y, y_proba, pos_label="yes", **options)
    parts = calibration_decomposition(y, y_proba, pos_label="yes", **options)
    by_hand = CalibrationSharpnessDisplay(
        prob_pred=curve.grid,
        prob_true=curve.calibration,
        sharpness_gap=curve.sharpness_gap,
        density=curve.density,
        total=parts.total,
        calibration=parts.calibration,
        bandwidth=curve.bandwidth,
        n_samples=weights.sum() ** 2 / (weights**2).sum(),
        divergence=options.get("divergence", "brier"),
        name=name,
        pos_label="yes",
    ).plot()
    assert_same_drawing(by_estimator, by_predictions)
    assert_same_drawing(by_estimator, by_hand)


def test_artists_carry_the_attributes(binary):
    classifier, X, y = binary
    display = CalibrationSharpnessDisplay.from_estimator(classifier, X, y)
    assert display.n_samples == len(y)
    np.testing.assert_array_equal(display.line_.get_xdata(), display.prob_pred)
    np.testing.assert_array_equal(full_ydata(display.line_), display.prob_true)
    np.testing.assert_array_equal(display.ref_line_.get_xydata(), [[0, 0], [1, 1]])
    assert display.ax_ is display.line_.axes
    assert display.figure_ is display.ax_.figure
    (path,) = display.density_.get_paths()
    top = path.vertices[:, 1].max()
    assert (
        path.vertices[np.argmax(path.vertices[:, 1]), 0]
        == display.prob_pred[np.argmax(display.density)]
    )
    assert top < 0.2  # of the height of the axes: it must not hide the curve
    assert display.density_.get_zorder() < display.band_.get_zorder() < display.line_.get_zorder()


def test_band_is_gap_times_density(binary):
    classifier, X, y = binary
    display = CalibrationSharpnessDisplay.from_estimator(classifier, X, y)
    low, high = read_band(display.band_)
    shown = ~np.ma.getmaskarray(display.line_.get_ydata())
    places = display.prob_pred[shown]
    assert set(low) == set(places)
    length = np.maximum(display.sharpness_gap * display.density, 0)[shown]
    assert length.max() > 0.005
    center = display.prob_true[shown]
    np.testing.assert_allclose([high[x] for x in places], center + length / 2, atol=1e-12)
    np.testing.assert_allclose(
        [low[x] for x in places], np.maximum(center - length / 2, 0), atol=1e-12
    )


def test_band_stops_at_0_and_rises_above_1():
    ends = {"prob_pred": [0.0, 0.5, 1.0], "prob_true": [0.1, 0.5, 0.95]}
    display = CalibrationSharpnessDisplay(
        **ends, sharpness_gap=[0.6, 0.4, 0.6], density=[0.5, 0.5, 0.5]
    ).plot()
    low, high = read_band(display.band_)
    assert [low[x] for x in (0.0, 0.5, 1.0)] == pytest.approx([0, 0.4, 0.8])
    assert [high[x] for x in (0.0, 0.5, 1.0)] == pytest.approx([0.25, 0.6, 1.1])
    # The frame shows all of it, and the legend stands above the frame.
    assert display.ax_.spines["top"].get_position() == ("data", pytest.approx(1.1))
    assert display.ax_.spines["left"].get_bounds()[1] == pytest.approx(1.1)
    assert display.ax_.get_ylim()[1] > 1.1
    assert display.ax_.get_xlim() == (-0.01, 1.01)
    flat = CalibrationSharpnessDisplay(**ends, sharpness_gap=[0.1] * 3, density=[0.1] * 3).plot()
    assert flat.ax_.spines["top"].get_position() == ("data", 1.01)


def test_frame_does_not_rise_without_end():
    display = CalibrationSharpnessDisplay(
        prob_pred=[0.4, 0.6], prob_true=[0.5, 0.5], sharpness_gap=[9, 9], density=[1, 1]
    ).plot()
    assert display.ax_.spines["top"].get_position() == ("data", 1.5)
    assert read_band(display.band_)[1][0.4] == 5


def test_negative_gaps_have_no_band():
    display = CalibrationSharpnessDisplay(
        prob_pred=[0.0, 0.5, 1.0],
        prob_true=[0.1, 0.5, 0.9],
        sharpness_gap=[-np.inf, -0.2, 0.4],
        density=[1.0, 1.0, 0.5],
    ).plot()
    low, high = read_band(display.band_)
    assert low[0.0] == high[0.0] == 0.1
    assert low[0.5] == high[0.5] == 0.5
    assert (low[1.0], high[1.0]) == pytest.approx((0.8, 1.0))


def test_infinite_gaps_fill_the_frame():
    display = CalibrationSharpnessDisplay.from_predictions(
        [1, 0, 1, 1, 0], [0.0, 0.4, 0.5, 0.6, 0.6], divergence="log"
    )
    assert display.total == np.inf
    assert (display.sharpness_gap == np.inf).all()
    display.figure_.canvas.draw()
    low, high = read_band(display.band_)
    assert max(low.values()) == 0
    assert np.isfinite(list(high.values())).all()
    assert min(high.values()) > display.ax_.get_ylim()[1]
    assert display.ax_.spines["top"].get_position() == ("data", 1.01)
    # It ends with the frame, below the legend.
    extent = display.band_.get_clip_box()
    bottom, top = display.ax_.transData.transform([(0, -0.01), (0, 1.01)])[:, 1]
    assert (extent.y0, extent.y1) == pytest.approx((bottom, top))
    assert display.line_.get_label() == "Classifier (log loss = inf, calibration = inf)"


def test_curve_without_density_anywhere():
    """Nothing within reach of an Epanechnikov kernel: no curve, no band, no warning."""
    display = CalibrationSharpnessDisplay.from_predictions(
        [0, 1, 1], [0.2, 0.2, 0.8], kernel="epanechnikov"
    )
    display.figure_.canvas.draw()
    assert np.isnan(display.prob_true).any()
    shown = ~np.ma.getmaskarray(display.line_.get_ydata())
    known = np.isfinite(display.prob_true)
    assert shown[known].any()
    assert not shown[np.abs(display.prob_pred - 0.5) < 0.2].any()
    low, _ = read_band(display.band_)
    assert all(0.15 < x < 0.25 or 0.75 < x < 0.85 for x in low)


def test_sparse_parts_are_not_drawn():
    """As in a reliability diagram: five predictions within the kernel."""
    rng = np.random.default_rng(0)
    y_proba = np.append(rng.uniform(0.4, 0.6, 500), 0.05)
    display = CalibrationSharpnessDisplay.from_predictions(rng.random(501) < y_proba, y_proba)
    shown = ~np.ma.getmaskarray(display.line_.get_ydata())
    gathered = 501 * display.density
    assert (gathered[shown][1:-1] >= 5).all()
    assert (gathered[~shown] < 5).all()


def test_plot_returns_the_display_and_can_be_repeated(binary):
    classifier, X, y = binary
    display = CalibrationSharpnessDisplay.from_estimator(classifier, X, y)
    first = display.ax_
    assert display.plot() is display
    assert display.ax_ is not first


def test_named_constructors_return_the_subclass(binary):
    class Subclass(CalibrationSharpnessDisplay):
        pass

    classifier, X, y = binary
    assert type(Subclass.from_estimator(classifier, X, y)) is Subclass
    assert type(Subclass.from_predictions([0, 1], [0.2, 0.9])) is Subclass


def test_only_curves():
    display = CalibrationSharpnessDisplay(prob_pred=[0.1, 0.9], prob_true=[0.2, 0.8]).plot()
    np.testing.assert_array_equal(display.line_.get_ydata(), [0.2, 0.8])
    assert display.band_ is None
    assert display.density_ is None
    assert legend_texts(display) == ["Perfectly calibrated"]
    assert display.ax_.get_xlabel() == "Predicted probability"
    with_density = CalibrationSharpnessDisplay(
        prob_pred=[0.1, 0.9], prob_true=[0.2, 0.8], density=[1, 2]
    ).plot()
    assert with_density.band_ is None
    assert with_density.density_ is not None


@pytest.mark.parametrize("method", ["from_estimator", "from_predictions"])
def test_named_constructors_pass_plot_options_on(binary, method):
    classifier, X, y = binary
    data = (classifier, X, y) if method == "from_estimator" else (y, classifier.predict_proba(X))
    draw = getattr(CalibrationSharpnessDisplay, method)
    _, ax = plt.subplots()
    display = draw(
        *data,
        ax=ax,
        name="model",
        bandwidth=0.2,
        curve_kwargs={"c": "red", "lw": 5},
        band_kwargs={"fc": "blue", "ls": ":"},
        density_kwargs={"fc": "green"},
        ref_line_kwargs={"lw": 7},
        side_labels=False,
        despine=True,
    )
    assert display.ax_ is ax
    assert display.line_.get_color() == "red"
    assert display.line_.get_linewidth() == 5
    np.testing.assert_array_equal(display.band_.get_facecolor()[0], to_rgba("blue"))
    np.testing.assert_array_equal(display.density_.get_facecolor()[0], to_rgba("green"))
    assert display.ref_line_.get_linewidth() == 7
    assert display.side_labels_ is None
    assert not ax.texts
    assert not ax.spines["top"].get_visible()
    assert ax.spines["left"].get_bounds() == (0, 1)
    assert display.bandwidth == 0.2
    assert display.name == "model"

    display = draw(*data, plot_band=False, plot_density=False, ref_line=False)
    assert display.band_ is None
    assert display.density_ is None
    assert not display.ax_.collections
    assert display.ref_line_ is None
    assert display.side_labels_ is None  # sides of nothing
    assert list(display.ax_.lines) == [display.line_]
    with pytest.raises(TypeError, match="colour"):
        draw(*data, colour="red")


# ------------------------------------------------------------------------- data


@pytest.mark.parametrize("container", [np.ndarray.tolist, pd.DataFrame, pl.DataFrame])
def test_containers(binary, container):
    classifier, X, y = binary
    y_proba = classifier.predict_proba(X)
    expected = CalibrationSharpnessDisplay.from_predictions(y, y_proba)
    display = CalibrationSharpnessDisplay.from_predictions(y.tolist(), container(y_proba))
    assert display.total == pytest.approx(expected.total, rel=1e-12)
    np.testing.assert_allclose(display.prob_true, expected.prob_true, atol=1e-9)


@pytest.mark.parametrize(
    ("y_true", "y_proba"),
    [
        ([1], [0.3]),
        ([0, 0, 0], [0.2, 0.7, 0.9]),
        ([0, 1, 1], [0.5, 0.5, 0.5]),
        ([0, 1], [0.0, 1.0]),
        ([0, 1, 0.5], [0.1, 0.9, 0.3]),
    ],
)
@pytest.mark.parametrize("divergence", ["brier", "log"])
@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
def test_degenerate_data_can_be_drawn(y_true, y_proba, divergence, kernel):
    display = CalibrationSharpnessDisplay.from_predictions(
        y_true, y_proba, divergence=divergence, kernel=kernel, bandwidth=0.1
    )
    display.figure_.canvas.draw()
    assert not np.ma.getmaskarray(display.line_.get_ydata()).all()


def test_mean_replacement_has_the_longer_band(shared_data):
    """The paper's point, on its kind of data: calibrated, and yet worse."""
    from skcal.recalibration import MeanReplacement

    data = pd.read_csv(shared_data / "cifar10_vgg16_proba.csv.gz")
    y = data.pop("y_true").to_numpy()
    proba = data.to_numpy()
    proba = proba / proba.sum(axis=1, keepdims=True)
    mean = MeanReplacement(classes="columns").fit(proba[:5000], y[:5000])
    own, replaced = (
        CalibrationSharpnessDisplay.from_predictions(y[5000:], p, labels=np.arange(10))
        for p in (proba[5000:], mean.predict_proba(proba[5000:]))
    )
    assert replaced.calibration < own.calibration
    assert replaced.total > own.total
    lengths = []
    for display in (own, replaced):
        low, high = read_band(display.band_)
        lengths.append(max(high[x] - low[x] for x in low))
    assert lengths[1] > 1.5 * lengths[0]
    assert own.reduction == "confidence"
    assert own.ax_.get_xlabel() == "Confidence"
    assert [text.get_text() for text in own.side_labels_] == ["under-confident", "over-confident"]


# ------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("method", "default"),
    [("from_estimator", "LogisticRegression"), ("from_predictions", "Classifier")],
)
def test_names(binary, method, default):
    classifier, X, y = binary
    data = (classifier, X, y) if method == "from_estimator" else (y, classifier.predict_proba(X))
    draw = getattr(CalibrationSharpnessDisplay, method)
    display = draw(*data)
    assert display.name == default
    numbers = f"Brier = {display.total:.3f}, calibration = {display.calibration:#.2g}"
    assert display.line_.get_label() == f"{default} ({numbers})"
    display = draw(*data, name="hand-made")
    assert display.name == "hand-made"
    assert display.plot().line_.get_label() == f"hand-made ({numbers})"
    # A name in plot holds for that drawing only.
    assert display.plot(name="other").line_.get_label() == f"other ({numbers})"
    assert display.name == "hand-made"
    display.name = None
    assert display.plot().line_.get_label() == numbers


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
    display = CalibrationSharpnessDisplay.from_predictions(
        [0, 1, 1], [0.1, 0.6, 0.8], divergence=divergence
    )
    assert display.divergence == stored
    assert display.line_.get_label().startswith(f"Classifier ({shown} = ")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"total": 0.1234}, "divergence = 0.123"),
        ({"calibration": 0.01234}, "calibration = 0.012"),
        (
            {"total": 0.1, "calibration": 0.01, "name": "A"},
            "A (divergence = 0.100, calibration = 0.010)",
        ),
        ({"total": 0.1, "divergence": "log", "name": "A"}, "A (log loss = 0.100)"),
    ],
)
def test_legend_shows_what_is_known(given, expected):
    display = CalibrationSharpnessDisplay(prob_pred=[0.1, 0.9], prob_true=[0.2, 0.8], **given)
    assert display.plot().line_.get_label() == expected


@pytest.mark.parametrize("curve_kwargs", [None, {"color": "red"}, [{"c": "red"}, {}, {"c": "y"}]])
@pytest.mark.parametrize("name", [None, "single", ["one", "two", "three"]])
@pytest.mark.parametrize("with_numbers", [True, False])
def test_legend_of_several_curves(folds, curve_kwargs, name, with_numbers):
    values = folds if with_numbers else {**folds, "total": None, "calibration": None}
    display = CalibrationSharpnessDisplay(**values)
    if isinstance(name, list) and not isinstance(curve_kwargs, list):
        with pytest.raises(ValueError, match="name must be one string, or curve_kwargs a list"):
            display.plot(name=name, curve_kwargs=curve_kwargs)
        return
    display.plot(name=name, curve_kwargs=curve_kwargs)
    if isinstance(curve_kwargs, list):
        numbers = [f"Brier = 0.{k}00, calibration = 0.0{k}0" for k in (2, 4, 6)]
        names = name if isinstance(name, list) else [name] * 3
    else:
        # std of 2, 4, 6 is sqrt(8/3) = 1.633
        numbers = ["Brier = 0.400 +/- 0.163, calibration = 0.040 +/- 0.016"]
        names = [name]
    if with_numbers:
        expected = [
            number if name is None else f"{name} ({number})"
            for name, number in zip(names, numbers, strict=True)
        ]
    else:
        expected = [name for name in names if name is not None]
    texts = [text.replace("\n", " ") for text in legend_texts(display)]
    assert texts == ["Perfectly calibrated", *expected]


def test_spread_of_infinite_numbers(folds):
    display = CalibrationSharpnessDisplay(**{**folds, "total": [0.1, np.inf, 0.2]})
    assert "Brier = inf, calibration = 0.040 +/- 0.016" in display.plot().line_[0].get_label()


def test_long_entries_are_broken_into_two_lines(binary):
    classifier, X, y = binary
    _, axes = plt.subplots(1, 2, figsize=(8, 4))
    names = "short", "The name of a longer pipeline"
    for ax, name in zip(axes, names, strict=True):
        display = CalibrationSharpnessDisplay.from_estimator(classifier, X, y, name=name, ax=ax)
        display.figure_.canvas.draw()
        cell = ax.get_position(original=True).transformed(display.figure_.transFigure)
        text = display.ax_.get_legend().get_texts()[-1]
        assert text.get_window_extent().x1 <= cell.x1 + 1
        assert text.get_text().replace("\n", " ") == display.line_.get_label()
        # The legend stands above the frame and inside the axes.
        legend = ax.get_legend().get_window_extent()
        frame = ax.transData.transform((0, ax.spines["top"].get_position()[1]))[1]
        assert legend.y0 >= frame - 1
        assert legend.y1 <= ax.get_window_extent().y1 + 1


# ------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("y_true", "options", "shown"),
    [
        ([0, 1, 1], {}, 1),
        ([-1, 1, 1], {}, 1),
        ([0, 0, 0], {}, 1),
        ([False, True, True], {}, True),
        ([0, 1, 1], {"pos_label": 0}, 0),
        (["no", "yes", "yes"], {"pos_label": "yes"}, "yes"),
        (["no", "yes", "yes"], {"labels": ["yes", "no"]}, "no"),
    ],
)
def test_positive_label_is_shown(y_true, options, shown):
    display = CalibrationSharpnessDisplay.from_predictions(y_true, [0.2, 0.6, 0.7], **options)
    assert display.pos_label == shown
    assert type(display.pos_label) is type(shown)
    info = f" (Positive label: {shown})"
    assert display.ax_.get_xlabel() == "Predicted probability" + info
    assert display.ax_.get_ylabel() == "Fraction of positives" + info
    words = [text.get_text() for text in display.side_labels_]
    assert words == ["predicted too low", "predicted too high"]


def test_three_classes_show_confidence(multiclass):
    classifier, X, y = multiclass
    display = CalibrationSharpnessDisplay.from_estimator(classifier, X, y)
    y_proba = classifier.predict_proba(X)
    curve = calibration_sharpness_curve(classifier.predict(X) == y, y_proba.max(axis=1))
    np.testing.assert_allclose(display.prob_true, curve.calibration, atol=1e-9)
    assert (display.sharpness_gap > curve.sharpness_gap + 1e-3).any()  # of all classes
    assert display.total == calibration_decomposition(y, y_proba).total
    assert (display.reduction, display.pos_label) == ("confidence", None)
    assert display.ax_.get_xlabel() == "Confidence"
    assert display.ax_.get_ylabel() == "Accuracy"


def test_one_of_three_classes(multiclass):
    classifier, X, y = multiclass
    display = CalibrationSharpnessDisplay.from_estimator(classifier, X, y, pos_label="b")
    y_proba = classifier.predict_proba(X)[:, 1]
    curve = calibration_sharpness_curve(y == "b", y_proba)
    for name, expected in zip(ARRAYS, (curve.grid, *curve[1:]), strict=False):
        np.testing.assert_allclose(getattr(display, name), expected, atol=1e-9)
    assert display.total == pytest.approx(np.mean((y_proba - (y == "b")) ** 2))
    assert (display.reduction, display.pos_label) == (None, "b")
    assert display.ax_.get_xlabel() == "Predicted probability (Positive label: b)"


def test_test_data_that_miss_a_class(multiclass):
    classifier, X, y = multiclass
    kept = y != "c"
    display = CalibrationSharpnessDisplay.from_estimator(classifier, X[kept], y[kept])
    assert display.n_samples == kept.sum()


# ------------------------------------------------------------------------- several curves


def test_displays_on_shared_axes(binary):
    classifier, X, y = binary
    first = CalibrationSharpnessDisplay.from_estimator(classifier, X, y)
    second = CalibrationSharpnessDisplay.from_predictions(
        [0, 1, 1, 1, 1, 1, 1, 1, 1, 1], np.full(10, 0.9), divergence="log", ax=first.ax_
    )
    assert second.ax_ is first.ax_
    assert second.ref_line_ is first.ref_line_
    assert second.side_labels_ == first.side_labels_
    assert len(first.ax_.lines) == 3
    assert len(first.ax_.texts) == 2
    assert first.line_.get_color() != second.line_.get_color()
    assert first.line_.get_linestyle() != second.line_.get_linestyle()
    for display in (first, second):
        for artist in (display.density_, display.band_):
            np.testing.assert_allclose(
                artist.get_edgecolor()[0, :3], to_rgba(display.line_.get_color())[:3]
            )
    # The frame fits the higher band, whichever is drawn last.
    top = max(read_band(second.band_)[1].values())
    assert top > 1.05  # half the entropy of 0.9 above 0.9
    for _ in range(2):
        assert first.ax_.spines["top"].get_position() == ("data", pytest.approx(top))
        CalibrationSharpnessDisplay.from_estimator(classifier, X, y, ax=first.ax_)


@pytest.mark.parametrize(
    "curve_kwargs", [None, {"alpha": 0.2}, [{"alpha": a} for a in (0.2, 0.3, 1)]]
)
def test_curve_kwargs_of_several_curves(folds, curve_kwargs):
    display = CalibrationSharpnessDisplay(**folds).plot(curve_kwargs=curve_kwargs)
    for i, line in enumerate(display.line_):
        np.testing.assert_array_equal(line.get_xdata(), folds["prob_pred"][i])
        np.testing.assert_array_equal(full_ydata(line), folds["prob_true"][i])
    assert len(display.density_) == len(display.band_) == 3
    looks = {(line.get_color(), line.get_linestyle()) for line in display.line_}
    alphas = [line.get_alpha() for line in display.line_]
    if isinstance(curve_kwargs, list):
        assert len(looks) == 3
        assert alphas == [0.2, 0.3, 1]
    else:
        assert len(looks) == 1
        assert set(alphas) == {0.2 if curve_kwargs else 0.5}
        assert all(len(band.get_edgecolor()) == 0 for band in display.band_)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_each_fold_is_the_diagram_of_its_test_rows(n_classes):
    X, y = make_classification(n_samples=240, n_classes=n_classes, n_informative=5, random_state=0)
    weights = np.random.default_rng(1).random(240)
    results = cross_validate(
        LogisticRegression(), X, y, cv=3, return_estimator=True, return_indices=True
    )
    options = {"divergence": "log", "bandwidth": 0.1}
    display = CalibrationSharpnessDisplay.from_cv_results(
        results, X, y, sample_weight=weights, **options
    )
    assert len(display.line_) == len(display.total) == 3
    for fold, (model, rows) in enumerate(
        zip(results["estimator"], results["indices"]["test"], strict=True)
    ):
        expected = CalibrationSharpnessDisplay.from_estimator(
            model, X[rows], y[rows], sample_weight=weights[rows], **options
        )
        for name in ARRAYS + NUMBERS:
            np.testing.assert_array_equal(getattr(display, name)[fold], getattr(expected, name))
        for name in ("pos_label", "reduction", "divergence"):
            assert getattr(display, name) == getattr(expected, name)
    label = display.line_[0].get_label()
    assert label.startswith(f"LogisticRegression (log loss = {np.mean(display.total):.3f} +/- ")
    assert len(display.ax_.get_legend().get_texts()) == 2  # with the diagonal
    own = CalibrationSharpnessDisplay.from_cv_results(
        results, X, y, name=["a", "b", "c"], curve_kwargs=[{"color": c} for c in "rgb"]
    )
    assert [line.get_label()[0] for line in own.line_] == ["a", "b", "c"]


# ------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prob_true": [np.zeros(3)] * 2}, "prob_true must have one entry for each of the 3"),
        ({"sharpness_gap": [np.zeros(3)] * 2}, "sharpness_gap must have .* 3 curves; got 2"),
        ({"density": [np.zeros(3)] * 2}, "density must have one entry .* 3 curves; got 2"),
        ({"total": 0.1}, "total must have one entry for each of the 3 curves; got 1"),
        ({"calibration": [0.1] * 4}, "calibration must have one entry .* 3 curves; got 4"),
        ({"bandwidth": [0.1] * 4}, "bandwidth must have one entry .* 3 curves; got 4"),
        ({"n_samples": 10}, "n_samples must have one entry for each of the 3 curves; got 1"),
        ({"name": ["a", "b"]}, "name must have one entry for each of the 3 curves; got 2"),
    ],
)
def test_lists_of_different_lengths(folds, changes, message):
    display = CalibrationSharpnessDisplay(**{**folds, **changes})
    with pytest.raises(ValueError, match=message):
        display.plot()
    assert not plt.get_fignums()


@pytest.mark.parametrize("curve_kwargs", [[{}], [{}] * 4, "red"])
def test_bad_curve_kwargs(folds, curve_kwargs):
    with pytest.raises(ValueError, match="curve_kwargs must be None, a dictionary or a list of 3"):
        CalibrationSharpnessDisplay(**folds).plot(curve_kwargs=curve_kwargs)


@pytest.mark.parametrize(
    ("y_true", "y_proba", "options", "message"),
    [
        (["no", "yes"], [0.2, 0.9], {}, "pos_label"),
        ([10, 11, 12], [0.2, 0.9, 0.5], {}, "y_true"),
        ([0, 1], [0.2, 1.2], {}, r"y_proba must lie in \[0, 1\]; got 1.2 at row 1"),
        ([0, 1, 1], [0.2, 0.9], {}, "y_proba"),
        ([0, 1], [0.2, 0.9], {"sample_weight": [1]}, "sample_weight"),
        ([0, 1], [0.2, 0.9], {"bandwidth": 0}, "bandwidth must be at least 0.001"),
        ([0, 1], [0.2, 0.9], {"divergence": "logs"}, "Did you mean 'log'"),
        ([0, 1], [0.2, 0.9], {"kernel": "box"}, "kernel must be one of"),
    ],
)
def test_bad_predictions(y_true, y_proba, options, message):
    with pytest.raises(ValueError, match=message):
        CalibrationSharpnessDisplay.from_predictions(y_true, y_proba, **options)
    assert not plt.get_fignums()


def test_bad_estimators(binary):
    _, X, y = binary
    with pytest.raises(ValueError, match="RidgeClassifier has none"):
        CalibrationSharpnessDisplay.from_estimator(RidgeClassifier().fit(X, y), X, y)
    with pytest.raises(NotFittedError):
        CalibrationSharpnessDisplay.from_estimator(LogisticRegression(), X, y)
    with pytest.raises(ValueError, match="return_estimator=True and return_indices=True"):
        CalibrationSharpnessDisplay.from_cv_results({"test_score": [1]}, X, y)
    assert not plt.get_fignums()


# ------------------------------------------------------------------------- state


def test_nothing_else_changes(binary, monkeypatch, capsys):
    classifier, X, y = binary
    monkeypatch.setattr(plt, "show", lambda *args, **kwargs: pytest.fail("shown"))
    _, ax = plt.subplots()
    settings = dict(matplotlib.rcParams)
    filters = copy.copy(warnings.filters)
    random_state = np.random.get_state()[1].copy()  # noqa: NPY002
    X_before, y_before = X.copy(), y.copy()
    options = {
        "curve_kwargs": {"c": "red"},
        "band_kwargs": {"color": "red"},
        "density_kwargs": {"color": "red"},
        "ref_line_kwargs": {"ls": "-"},
    }
    options_before = copy.deepcopy(options)
    display = CalibrationSharpnessDisplay.from_estimator(classifier, X, y, ax=ax, **options)
    arrays = {name: getattr(display, name).copy() for name in ARRAYS}
    display.plot(ax=ax)
    display.figure_.canvas.draw()
    for name, before in arrays.items():
        np.testing.assert_array_equal(getattr(display, name), before)
    assert options == options_before
    assert dict(matplotlib.rcParams) == settings
    assert warnings.filters == filters
    np.testing.assert_array_equal(np.random.get_state()[1], random_state)  # noqa: NPY002
    assert plt.get_fignums() == [1]
    assert display.figure_ is ax.figure
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)
    assert capsys.readouterr() == ("", "")


def test_matplotlib_is_imported_only_to_draw():
    program = (
        "import sys\n"
        "from skcal.diagrams import CalibrationSharpnessDisplay\n"
        "CalibrationSharpnessDisplay(prob_pred=[0, 1], prob_true=[0, 1])\n"
        "assert 'matplotlib' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
