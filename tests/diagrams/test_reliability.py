"""ReliabilityDisplay: constructors, artists, names, labels, state."""

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
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skcal.diagrams import ReliabilityDisplay
from skcal.diagrams._drawing import DENSITY_HEIGHT
from skcal.metrics import smooth_ece, smooth_ece_curve


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
    """A display of three curves."""
    rng = np.random.default_rng(0)
    curves = []
    for _ in range(3):
        y_proba = rng.random(100)
        curves.append(smooth_ece_curve(rng.random(100) < y_proba, y_proba))
    return {
        "prob_pred": [curve.grid for curve in curves],
        "prob_true": [curve.calibration for curve in curves],
        "density": [curve.density for curve in curves],
        "bandwidth": [curve.bandwidth for curve in curves],
        "n_samples": [100] * 3,
        "smooth_ece": [0.02, 0.04, 0.06],
    }


def _full_ydata(line):
    return np.ma.getdata(line.get_ydata())


def _legend_texts(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def _assert_same_drawing(first, second):
    """Attributes and artists of two displays are equal; masks included."""
    for name in inspect.signature(ReliabilityDisplay).parameters:
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name), err_msg=name)
    for one, other in ((first.line_, second.line_), (first.ref_line_, second.ref_line_)):
        np.testing.assert_array_equal(one.get_xdata(), other.get_xdata())
        np.testing.assert_array_equal(_full_ydata(one), _full_ydata(other))
        np.testing.assert_array_equal(
            np.ma.getmaskarray(one.get_ydata()), np.ma.getmaskarray(other.get_ydata())
        )
        assert one.get_label() == other.get_label()
        assert one.get_color() == other.get_color()
    (one,), (other,) = first.density_.get_paths(), second.density_.get_paths()
    np.testing.assert_array_equal(one.vertices, other.vertices)
    assert first.ax_.get_xlabel() == second.ax_.get_xlabel()
    assert first.ax_.get_ylabel() == second.ax_.get_ylabel()
    assert _legend_texts(first) == _legend_texts(second)


# ------------------------------------------------------------------------- constructors


def test_constructor_stores_its_arguments_unchanged():
    names = inspect.signature(ReliabilityDisplay).parameters
    assert all(parameter.kind == parameter.KEYWORD_ONLY for parameter in names.values())
    values = {name: object() for name in names}
    display = ReliabilityDisplay(**values)
    assert vars(display) == values


def test_three_ways_to_one_diagram(binary):
    classifier, X, y = binary
    by_estimator = ReliabilityDisplay.from_estimator(classifier, X, y)
    y_proba = classifier.predict_proba(X)[:, 1]
    name = "LogisticRegression"
    by_predictions = ReliabilityDisplay.from_predictions(y, y_proba, pos_label="yes", name=name)
    curve = smooth_ece_curve(y, y_proba, pos_label="yes")
    by_hand = ReliabilityDisplay(
        prob_pred=curve.grid,
        prob_true=curve.calibration,
        density_grid=curve.grid,
        density=curve.density,
        density_positive=curve.density * curve.calibration,
        smooth_ece=curve.value,
        bandwidth=curve.bandwidth,
        n_samples=len(y),
        name=name,
        pos_label="yes",
    ).plot()
    _assert_same_drawing(by_estimator, by_predictions)
    _assert_same_drawing(by_estimator, by_hand)


def test_artists_carry_the_attributes(binary):
    classifier, X, y = binary
    display = ReliabilityDisplay.from_estimator(classifier, X, y)
    curve = smooth_ece_curve(y, classifier.predict_proba(X), labels=classifier.classes_)
    np.testing.assert_array_equal(display.prob_pred, curve.grid)
    np.testing.assert_array_equal(display.prob_true, curve.calibration)
    np.testing.assert_array_equal(display.density, curve.density)
    assert display.smooth_ece == curve.value
    assert display.bandwidth == curve.bandwidth
    assert display.n_samples == len(y)
    np.testing.assert_array_equal(display.line_.get_xdata(), display.prob_pred)
    np.testing.assert_array_equal(_full_ydata(display.line_), display.prob_true)
    assert display.line_.get_label() == f"LogisticRegression (smECE = {curve.value:.3f})"
    np.testing.assert_array_equal(display.ref_line_.get_xydata(), [[0, 0], [1, 1]])
    assert display.ax_ is display.line_.axes
    assert display.figure_ is display.ax_.figure


def test_density_is_a_hill_of_the_density(binary):
    classifier, X, y = binary
    display = ReliabilityDisplay.from_estimator(classifier, X, y)
    (path,) = display.density_.get_paths()
    height = dict.fromkeys(display.prob_pred, 0.0)
    for x, value in path.vertices:
        height[x] = max(height[x], value)
    np.testing.assert_allclose(
        [height[x] for x in display.prob_pred],
        DENSITY_HEIGHT * display.density / display.density.max(),
        rtol=1e-12,
    )
    assert path.vertices[:, 1].min() == 0
    assert display.density_.get_zorder() < display.line_.get_zorder()


def test_plot_returns_the_display_and_can_be_repeated(binary):
    classifier, X, y = binary
    display = ReliabilityDisplay.from_estimator(classifier, X, y)
    first = display.ax_
    assert display.plot() is display
    assert display.ax_ is not first


def test_named_constructors_return_the_subclass(binary):
    class Subclass(ReliabilityDisplay):
        pass

    classifier, X, y = binary
    assert type(Subclass.from_estimator(classifier, X, y)) is Subclass
    assert type(Subclass.from_predictions([0, 1], [0.2, 0.9])) is Subclass


def test_lists_make_one_curve():
    display = ReliabilityDisplay(prob_pred=[0.1, 0.5, 0.9], prob_true=[0.2, 0.5, 0.8]).plot()
    np.testing.assert_array_equal(display.line_.get_xdata(), [0.1, 0.5, 0.9])
    np.testing.assert_array_equal(display.line_.get_ydata(), [0.2, 0.5, 0.8])
    assert not np.ma.getmaskarray(display.line_.get_ydata()).any()
    assert display.density_ is None
    assert _legend_texts(display) == ["Perfectly calibrated"]


def test_constructors_have_the_same_options():
    """What is computed is the same everywhere; what is drawn is passed on to plot."""
    by_estimator, by_predictions, by_folds = (
        inspect.signature(method).parameters
        for method in (
            ReliabilityDisplay.from_estimator,
            ReliabilityDisplay.from_predictions,
            ReliabilityDisplay.from_cv_results,
        )
    )
    shared = set(by_estimator) - {"estimator", "X", "y"}
    assert shared == set(by_predictions) - {"y_true", "y_proba", "labels"}
    assert shared >= set(by_folds) - {"cv_results", "X", "y"}
    for name in shared:
        assert by_estimator[name].default == by_predictions[name].default
        if name in by_folds:
            assert by_folds[name].default == by_predictions[name].default


def test_unknown_plot_option(binary):
    classifier, X, y = binary
    with pytest.raises(TypeError, match="plot_densities"):
        ReliabilityDisplay.from_estimator(classifier, X, y, plot_densities=True)
    assert not plt.get_fignums()


@pytest.mark.parametrize("method", ["from_estimator", "from_predictions"])
def test_named_constructors_pass_plot_options_on(binary, method):
    classifier, X, y = binary
    _, ax = plt.subplots()
    options = {
        "ax": ax,
        "name": "model",
        "curve_kwargs": {"c": "red"},
        "density_kwargs": {"fc": "green"},
        "ref_line_kwargs": {"lw": 7},
        "side_labels": False,
        "despine": True,
        "bandwidth": 0.2,
    }
    if method == "from_estimator":
        display = ReliabilityDisplay.from_estimator(classifier, X, y, **options)
    else:
        y_proba = classifier.predict_proba(X)
        display = ReliabilityDisplay.from_predictions(y, y_proba, **options)
    assert display.ax_ is ax
    assert display.line_.get_color() == "red"
    np.testing.assert_array_equal(display.density_.get_facecolor()[0], to_rgba("green"))
    assert display.ref_line_.get_linewidth() == 7
    assert display.side_labels_ is None
    assert not ax.texts
    assert not ax.spines["top"].get_visible()
    assert display.bandwidth == 0.2
    assert display.name == "model"

    options = {"plot_density": False, "ref_line": False}
    if method == "from_estimator":
        display = ReliabilityDisplay.from_estimator(classifier, X, y, **options)
    else:
        display = ReliabilityDisplay.from_predictions(y, y_proba, **options)
    assert display.density_ is None
    assert not display.ax_.collections
    assert display.ref_line_ is None
    assert display.side_labels_ is None  # sides of nothing
    assert list(display.ax_.lines) == [display.line_]


# ------------------------------------------------------------------------- what is drawn


def test_legend_shows_the_measure():
    # Residuals of one sign: smECE is the absolute mean residual.
    display = ReliabilityDisplay.from_predictions([1] * 50, [0.966] * 50)
    assert display.line_.get_label() == "Classifier (smECE = 0.034)"
    assert "Classifier (smECE = 0.034)" in _legend_texts(display)


def test_bandwidth_changes_the_curve_and_not_the_measure(binary):
    classifier, X, y = binary
    y_proba = classifier.predict_proba(X)
    display = ReliabilityDisplay.from_estimator(classifier, X, y, bandwidth=0.3)
    curve = smooth_ece_curve(y, y_proba, bandwidth=0.3)
    assert display.bandwidth == 0.3
    np.testing.assert_array_equal(display.prob_true, curve.calibration)
    assert display.smooth_ece == smooth_ece(y, y_proba)
    assert display.smooth_ece != curve.value


def test_curve_is_drawn_only_where_predictions_are():
    # Two heaps of predictions, half of the axis apart: nothing is known between them.
    rng = np.random.default_rng(0)
    y_proba = np.r_[rng.uniform(0.1, 0.2, 2000), rng.uniform(0.8, 0.9, 2000)]
    y_true = rng.random(4000) < y_proba
    display = ReliabilityDisplay.from_predictions(y_true, y_proba)
    hidden = np.ma.getmaskarray(display.line_.get_ydata())
    grid = display.prob_pred
    assert display.bandwidth < 0.05
    assert not hidden[(grid >= 0.1) & (grid <= 0.2)].any()
    assert not hidden[(grid >= 0.8) & (grid <= 0.9)].any()
    assert hidden[(grid >= 0.4) & (grid <= 0.6)].all()
    assert np.isfinite(display.prob_true).all()
    assert not np.ma.isMaskedArray(display.prob_true)


@pytest.mark.parametrize(
    ("y_true", "y_proba"),
    [
        ([1], [0.3]),
        ([0], [0.0]),
        ([1, 1, 1], [0.2, 0.5, 0.9]),
        ([0, 1] * 20, [0.3] * 40),
        ([0, 1] * 20, [0.5] * 40),
        ([0, 1] * 20, [0.0, 1.0] * 20),
        ([1, 0] * 20, [0.0, 1.0] * 20),
        ([0, 0, 1] * 20, [1 / 3] * 60),
    ],
    ids=["row", "zero", "one class", "constant", "fair", "perfect", "wrong", "between nodes"],
)
def test_odd_predictions_are_drawn(y_true, y_proba):
    display = ReliabilityDisplay.from_predictions(y_true, y_proba)
    display.figure_.canvas.draw()
    assert np.isfinite(display.prob_true).all()
    visible = ~np.ma.getmaskarray(display.line_.get_ydata())
    # Two neighbours at least: a line through a single point is invisible.
    assert (visible[1:] & visible[:-1]).any()
    for value in np.unique(y_proba):
        assert visible[np.argmin(np.abs(display.prob_pred - value))]


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_over_confidence_lies_below_where_probabilities_are_high(temperature):
    rng = np.random.default_rng(0)
    logit = rng.normal(0, 2, 5000)
    y_true = rng.random(5000) < 1 / (1 + np.exp(-logit))
    y_proba = 1 / (1 + np.exp(-logit / temperature))
    both = np.c_[1 - y_proba, y_proba]
    display = ReliabilityDisplay.from_predictions(y_true, both, reduction="confidence")
    at = np.argmin(np.abs(display.prob_pred - 0.75))
    is_below = display.prob_true[at] < 0.75
    assert is_below == (temperature < 1)
    words = [text.get_text() for text in display.side_labels_]
    assert words == ["under-confident", "over-confident"]


def test_weights():
    rng = np.random.default_rng(0)
    y_proba = rng.random(60)
    y_true = (rng.random(60) < y_proba).astype(int)
    repeats = rng.integers(0, 4, 60)
    weighted = ReliabilityDisplay.from_predictions(y_true, y_proba, sample_weight=repeats)
    repeated = ReliabilityDisplay.from_predictions(
        np.repeat(y_true, repeats), np.repeat(y_proba, repeats)
    )
    np.testing.assert_allclose(weighted.prob_true, repeated.prob_true, atol=1e-9)
    np.testing.assert_allclose(weighted.density, repeated.density, rtol=1e-9)
    assert weighted.smooth_ece == pytest.approx(repeated.smooth_ece, abs=1e-9)
    # Effective number of rows: equal weights count every row, a zero weight counts none.
    assert weighted.n_samples == pytest.approx(repeats.sum() ** 2 / (repeats**2).sum())
    for weight in (np.full(60, 7), np.full(60, 1e-3)):
        display = ReliabilityDisplay.from_predictions(y_true, y_proba, sample_weight=weight)
        assert display.n_samples == pytest.approx(60)
    present = np.arange(60) < 40
    display = ReliabilityDisplay.from_predictions(
        y_true, y_proba, sample_weight=present.astype(float)
    )
    _assert_same_drawing(
        display, ReliabilityDisplay.from_predictions(y_true[present], y_proba[present])
    )


def test_weights_of_an_estimator(binary):
    classifier, X, y = binary
    weight = np.random.default_rng(0).random(len(y))
    display = ReliabilityDisplay.from_estimator(classifier, X, y, sample_weight=weight)
    expected = smooth_ece(y, classifier.predict_proba(X), sample_weight=weight)
    assert display.smooth_ece == expected


@pytest.mark.parametrize("container", [list, np.asarray, pd.Series, pl.Series])
def test_containers(binary, container):
    classifier, X, y = binary
    y_proba = classifier.predict_proba(X)[:, 1]
    expected = ReliabilityDisplay.from_predictions(y, y_proba, pos_label="yes")
    display = ReliabilityDisplay.from_predictions(
        container(y.tolist()), container(y_proba.tolist()), pos_label="yes"
    )
    _assert_same_drawing(display, expected)


def test_data_frames():
    X, y = make_classification(n_samples=200, random_state=0)
    X = pd.DataFrame(X).add_prefix("feature ")
    y = pd.Series(y, index=np.arange(200)[::-1])
    classifier = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    display = ReliabilityDisplay.from_estimator(classifier, X, y)
    assert display.smooth_ece == smooth_ece(y.to_numpy(), classifier.predict_proba(X))
    assert display.name == "Pipeline"


def test_real_networks(shared_data):
    # smECE computed from the definition by direct quadrature, to the digits shown.
    for file, label in (
        ("cifar10_densenet40_confidence.csv", "smECE = 0.055"),
        ("imagenet_resnet34_confidence.csv", "smECE = 0.078"),
        ("solar_flares_c1.csv", "smECE = 0.067"),
        ("rain_finland_2003.csv", "smECE = 0.134"),
    ):
        data = pd.read_csv(shared_data / file)
        display = ReliabilityDisplay.from_predictions(data["y_true"], data["y_prob"])
        assert display.line_.get_label() == f"Classifier ({label})"


# ------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("method", "default"),
    [("from_estimator", "LogisticRegression"), ("from_predictions", "Classifier")],
)
def test_names(binary, method, default):
    classifier, X, y = binary

    def draw(**options):
        if method == "from_estimator":
            return ReliabilityDisplay.from_estimator(classifier, X, y, **options)
        y_proba = classifier.predict_proba(X)
        return ReliabilityDisplay.from_predictions(y, y_proba, **options)

    display = draw()
    assert display.name == default
    assert display.line_.get_label().startswith(f"{default} (smECE = ")
    display = draw(name="hand-made")
    assert display.name == "hand-made"
    assert display.plot().line_.get_label().startswith("hand-made (smECE = ")
    # A name in plot holds for that drawing only.
    assert display.plot(name="other").line_.get_label().startswith("other (smECE = ")
    assert display.name == "hand-made"
    assert display.plot().line_.get_label().startswith("hand-made (smECE = ")


def test_without_name_the_measure_stands_alone(binary):
    classifier, X, y = binary
    display = ReliabilityDisplay.from_estimator(classifier, X, y)
    display.name = None
    assert display.plot().line_.get_label() == f"smECE = {display.smooth_ece:.3f}"


@pytest.mark.parametrize("curve_kwargs", [None, {"color": "red"}, [{"c": "red"}, {}, {"c": "y"}]])
@pytest.mark.parametrize("name", [None, "single", ["one", "two", "three"]])
@pytest.mark.parametrize("with_measure", [True, False])
def test_legend_of_several_curves(folds, curve_kwargs, name, with_measure):
    values = folds if with_measure else {**folds, "smooth_ece": None}
    display = ReliabilityDisplay(**values)
    if isinstance(name, list) and not isinstance(curve_kwargs, list):
        with pytest.raises(ValueError, match="name must be one string, or curve_kwargs a list"):
            display.plot(name=name, curve_kwargs=curve_kwargs)
        return
    display.plot(name=name, curve_kwargs=curve_kwargs)
    if isinstance(curve_kwargs, list):
        values = [f"smECE = {value:.3f}" for value in folds["smooth_ece"]]
        names = name if isinstance(name, list) else [name] * 3
    else:
        values = ["smECE = 0.040 +/- 0.016"]  # std of 2, 4, 6 is sqrt(8/3) = 1.633
        names = [name]
    if with_measure:
        expected = [
            value if name is None else f"{name} ({value})"
            for name, value in zip(names, values, strict=True)
        ]
    else:
        expected = [name for name in names if name is not None]
    assert _legend_texts(display) == ["Perfectly calibrated", *expected]


# ------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("y_true", "options", "shown"),
    [
        ([0, 1, 1], {}, 1),
        ([-1, 1, 1], {}, 1),
        ([1, 1, 1], {}, 1),
        ([0, 0, 0], {}, 1),
        ([0.0, 1.0, 1.0], {}, 1),
        ([False, True, True], {}, True),
        ([0, 1, 1], {"pos_label": 0}, 0),
        (["no", "yes", "yes"], {"pos_label": "yes"}, "yes"),
        (["no", "yes", "yes"], {"pos_label": "no"}, "no"),
        (["no", "yes", "yes"], {"labels": ["yes", "no"]}, "no"),
        (["no", "no", "no"], {"labels": ["no", "yes"]}, "yes"),
    ],
)
def test_positive_label_is_shown(y_true, options, shown):
    display = ReliabilityDisplay.from_predictions(y_true, [0.2, 0.6, 0.7], **options)
    assert display.pos_label == shown
    assert type(display.pos_label) is type(shown)
    info = f" (Positive label: {shown})"
    assert display.ax_.get_xlabel() == "Predicted probability" + info
    assert display.ax_.get_ylabel() == "Fraction of positives" + info
    words = [text.get_text() for text in display.side_labels_]
    assert words == ["predicted too low", "predicted too high"]


@pytest.mark.parametrize("pos_label", [None, "no", "yes"])
def test_positive_label_chooses_the_column(binary, pos_label):
    classifier, X, y = binary
    display = ReliabilityDisplay.from_estimator(classifier, X, y, pos_label=pos_label)
    expected = "yes" if pos_label is None else pos_label
    column = classifier.classes_.tolist().index(expected)
    curve = smooth_ece_curve(y == expected, classifier.predict_proba(X)[:, column])
    assert display.pos_label == expected
    np.testing.assert_allclose(display.prob_true, curve.calibration, atol=1e-12)


def test_hand_made_display_without_positive_label():
    display = ReliabilityDisplay(prob_pred=[0, 1], prob_true=[0.1, 0.9]).plot()
    assert display.ax_.get_xlabel() == "Predicted probability"
    assert display.ax_.get_ylabel() == "Fraction of positives"


def test_three_classes_show_confidence(multiclass):
    classifier, X, y = multiclass
    display = ReliabilityDisplay.from_estimator(classifier, X, y)
    y_proba = classifier.predict_proba(X)
    hits = classifier.predict(X) == y
    curve = smooth_ece_curve(hits, y_proba.max(axis=1))
    np.testing.assert_allclose(display.prob_true, curve.calibration, atol=1e-12)
    assert display.reduction == "confidence"
    assert display.pos_label is None
    assert display.ax_.get_xlabel() == "Confidence"
    assert display.ax_.get_ylabel() == "Accuracy"


def test_one_of_three_classes(multiclass):
    classifier, X, y = multiclass
    display = ReliabilityDisplay.from_estimator(classifier, X, y, pos_label="b")
    curve = smooth_ece_curve(y == "b", classifier.predict_proba(X)[:, 1])
    np.testing.assert_allclose(display.prob_true, curve.calibration, atol=1e-12)
    assert display.pos_label == "b"
    assert display.reduction is None
    assert display.ax_.get_xlabel() == "Predicted probability (Positive label: b)"


def test_test_data_that_miss_a_class(multiclass):
    classifier, X, y = multiclass
    kept = y != "c"
    display = ReliabilityDisplay.from_estimator(classifier, X[kept], y[kept])
    assert display.n_samples == kept.sum()


# ------------------------------------------------------------------------- several displays


def test_displays_on_shared_axes(binary):
    classifier, X, y = binary
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    first = ReliabilityDisplay.from_estimator(classifier, X, y)
    second = ReliabilityDisplay.from_estimator(forest, X, y, ax=first.ax_)
    assert second.ax_ is first.ax_
    assert second.ref_line_ is first.ref_line_
    assert second.side_labels_ == first.side_labels_
    assert len(first.ax_.lines) == 3
    assert len(first.ax_.texts) == 2
    assert first.line_.get_color() != second.line_.get_color()
    assert first.line_.get_linestyle() != second.line_.get_linestyle()
    labels = [display.line_.get_label() for display in (first, second)]
    assert _legend_texts(second) == ["Perfectly calibrated", *labels]
    for display in (first, second):
        np.testing.assert_allclose(
            display.density_.get_edgecolor()[0, :3], to_rgba(display.line_.get_color())[:3]
        )


@pytest.mark.parametrize(
    "curve_kwargs", [None, {"alpha": 0.2}, [{"alpha": a} for a in (0.2, 0.3, 1)]]
)
def test_curve_kwargs_of_several_curves(folds, curve_kwargs):
    display = ReliabilityDisplay(**folds).plot(curve_kwargs=curve_kwargs)
    for i, line in enumerate(display.line_):
        np.testing.assert_array_equal(line.get_xdata(), folds["prob_pred"][i])
        np.testing.assert_array_equal(_full_ydata(line), folds["prob_true"][i])
    assert len(display.density_) == 3
    looks = {(line.get_color(), line.get_linestyle()) for line in display.line_}
    alphas = [line.get_alpha() for line in display.line_]
    # Densities that look the same have no outlines: only their sum is seen.
    is_outlined = {bool(hill.get_linewidth()[0]) for hill in display.density_}
    assert is_outlined == {isinstance(curve_kwargs, list)}
    if isinstance(curve_kwargs, list):
        assert len(looks) == 3
        assert alphas == [0.2, 0.3, 1]
    else:
        assert len(looks) == 1
        assert set(alphas) == {0.2 if curve_kwargs else 0.5}


def test_curve_kwargs_of_one_curve(binary):
    classifier, X, y = binary
    display = ReliabilityDisplay.from_estimator(
        classifier, X, y, curve_kwargs={"c": "red", "ls": ":", "lw": 5, "label": "mine"}
    )
    assert display.line_.get_color() == "red"
    assert display.line_.get_linestyle() == ":"
    assert display.line_.get_linewidth() == 5
    assert display.line_.get_label() == "mine"
    assert display.plot(curve_kwargs=[{"color": "green"}]).line_.get_color() == "green"


@pytest.mark.parametrize("density", [[1e-16, 1e-311, 0.5], [1.0, 0.0, 1.0], [0.5, 1.0, 0.5]])
def test_densities_outside_the_scale_of_logits_are_not_drawn(density):
    """Matplotlib warned of 0 and 1, and a hill that is next to nothing inside overflowed."""
    grid = np.array([0.0, 0.5, 1.0])
    display = ReliabilityDisplay(
        prob_pred=grid, prob_true=grid, density=np.array(density), kind="smooth", scale="logit"
    ).plot()
    (path,) = display.density_.get_paths()
    assert (path.vertices[:, 0] == 0.5).all()
    assert path.vertices[:, 1].max() <= DENSITY_HEIGHT


@pytest.mark.parametrize("option", ["curve_kwargs", "ref_line_kwargs", "density_kwargs"])
def test_aliases_cannot_be_given_twice(binary, option):
    classifier, X, y = binary
    with pytest.raises(TypeError, match="Got both"):
        ReliabilityDisplay.from_estimator(
            classifier, X, y, **{option: {"ls": "-", "linestyle": ":"}}
        )


@pytest.mark.parametrize("key", ["color", "facecolor", "fc"])
def test_density_kwargs(binary, key):
    classifier, X, y = binary
    display = ReliabilityDisplay.from_estimator(
        classifier, X, y, density_kwargs={key: "green", "lw": 3, "alpha": 0.5}
    )
    np.testing.assert_allclose(display.density_.get_facecolor()[0], to_rgba("green", 0.5))
    assert display.density_.get_linewidth() == 3


# ------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"prob_true": [np.zeros(3)] * 2},
            "prob_true must have one entry for each of the 3 curves",
        ),
        (
            {"density": [np.zeros(3)] * 2},
            "density must have one entry for each of the 3 curves; got 2",
        ),
        ({"smooth_ece": 0.1}, "smooth_ece must have one entry for each of the 3 curves; got 1"),
        ({"bandwidth": [0.1] * 4}, "bandwidth must have one entry for each of the 3 curves; got 4"),
        ({"name": ["a", "b"]}, "name must have one entry for each of the 3 curves; got 2"),
    ],
)
def test_lists_of_different_lengths(folds, changes, message):
    display = ReliabilityDisplay(**{**folds, **changes})
    with pytest.raises(ValueError, match=message):
        display.plot()
    assert not plt.get_fignums()


@pytest.mark.parametrize("curve_kwargs", [[{}], [{}] * 4, "red"])
def test_bad_curve_kwargs(folds, curve_kwargs):
    with pytest.raises(ValueError, match="curve_kwargs must be None, a dictionary or a list of 3"):
        ReliabilityDisplay(**folds).plot(curve_kwargs=curve_kwargs)


@pytest.mark.parametrize(
    ("y_true", "y_proba", "options", "message"),
    [
        (["no", "yes"], [0.2, 0.9], {}, "pos_label"),
        ([10, 11, 12], [0.2, 0.9, 0.5], {}, "y_true"),
        (["no", "yes"], [0.2, 0.9], {"pos_label": "maybe"}, "pos_label"),
        ([0, 1], [0.2, 1.2], {}, r"y_proba must lie in \[0, 1\]; got 1.2 at row 1"),
        ([0, 1], [0.2, np.nan], {}, "y_proba"),
        ([0, 1, 1], [0.2, 0.9], {}, "y_proba"),
        ([], [], {}, "empty"),
        ([0, 1], [0.2, 0.9], {"sample_weight": [1]}, "sample_weight"),
        ([0, 1], [0.2, 0.9], {"sample_weight": [1, -1]}, "sample_weight"),
        ([0, 1], [0.2, 0.9], {"sample_weight": [0, 0]}, "sample_weight"),
        ([0, 1], [0.2, 0.9], {"bandwidth": 0}, "bandwidth"),
        ([0, 1], [0.2, 0.9], {"reduction": "confidense"}, "'confidence'"),
        (
            [0, 1],
            [0.2, 0.9],
            {"kind": "step"},
            "kind must be one of 'smooth', 'isotonic', 'binned'",
        ),
        ([0, 1], [0.2, 0.9], {"n_bins": 0}, "n_bins must be at least 1; got 0"),
        ([0, 1], [0.2, 0.9], {"strategy": "even"}, "strategy must be one of 'uniform'"),
        ([0, 1], [0.2, 0.9], {"scale": "log"}, "scale must be one of .* Did you mean 'logit'"),
        ([0, 1], [0.2, 0.9], {"rug": 1}, "rug must be True or False; got 1"),
        ([0, 1], [0.2, 0.9], {"witness": "yes"}, "witness must be True or False; got 'yes'"),
        ([0, 1], [0.2, 0.9], {"curve_density": "colour"}, "curve_density must be one of 'width'"),
        ([[0, 1], [1, 1]], [[0.2, 0.8], [0.5, 0.5]], {}, "multilabel"),
    ],
)
def test_bad_predictions(y_true, y_proba, options, message):
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay.from_predictions(y_true, y_proba, **options)
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
    display = ReliabilityDisplay.from_estimator(classifier, X, y, ax=ax)
    assert dict(matplotlib.rcParams) == settings
    assert warnings.filters == filters
    np.testing.assert_array_equal(np.random.get_state()[1], random_state)  # noqa: NPY002
    assert plt.get_fignums() == [1]
    assert display.figure_ is ax.figure
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)
    assert capsys.readouterr() == ("", "")


def test_dictionaries_of_the_user_stay_as_they_are(binary):
    classifier, X, y = binary
    options = {
        "curve_kwargs": {"c": "red"},
        "density_kwargs": {"color": "red"},
        "ref_line_kwargs": {"ls": "-"},
    }
    before = copy.deepcopy(options)
    ReliabilityDisplay.from_estimator(classifier, X, y, **options)
    assert options == before


def test_drawing_leaves_the_arrays_alone(binary):
    classifier, X, y = binary
    display = ReliabilityDisplay.from_estimator(classifier, X, y)
    names = ("prob_pred", "prob_true", "density")
    before = {name: getattr(display, name).copy() for name in names}
    display.plot()
    display.figure_.canvas.draw()
    for name in names:
        np.testing.assert_array_equal(getattr(display, name), before[name])


def test_matplotlib_is_imported_only_to_draw():
    program = (
        "import sys\n"
        "from skcal.diagrams import ReliabilityDisplay\n"
        "ReliabilityDisplay(prob_pred=[0, 1], prob_true=[0, 1])\n"
        "assert 'matplotlib' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
