"""What holds of every display: constructors, plot, names, labels, folds, state, bad input."""

import copy
import inspect
import subprocess
import sys
import warnings

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate

from skcal.diagrams import (
    CalibrationSharpnessDisplay,
    ReliabilityCurve,
    ReliabilityDisplay,
    SharpnessCurve,
)
from skcal.diagrams._legend import Term, label_curves
from tests.diagrams.artists import (
    assert_same_curve,
    assert_same_drawing,
    find_shown,
    list_legend,
    read_values,
)

# Of each display the curve, and the numbers in its legend.
DISPLAYS = {
    ReliabilityDisplay: (ReliabilityCurve, {"smooth_ece": "smECE"}),
    CalibrationSharpnessDisplay: (
        SharpnessCurve,
        {"total": "divergence", "calibration": "calibration"},
    ),
}
every_display = pytest.mark.parametrize("Display", DISPLAYS)
WAYS = ("from_estimator", "from_predictions", "from_cv_results")
FOLDS = {"cv": 3, "return_estimator": True, "return_indices": True}


def make_curve(Display, k=0, **options):
    """A curve by hand with the numbers 0.2, 0.4, ..."""
    Curve, numbers = DISPLAYS[Display]
    grid = np.linspace(0, 1, 21 + k)
    options |= dict.fromkeys(numbers, 0.2 * (k + 1))
    return Curve(prob_pred=grid, prob_true=grid**2, density=1 + grid, n_samples=100, **options)


def draw(Display, way, data, **options):
    """A display of a classifier, of what it predicts, or of folds."""
    model, X, y = data
    if way == "from_predictions":
        return Display.from_predictions(y, model.predict_proba(X), **options)
    if way == "from_cv_results":
        return Display.from_cv_results(cross_validate(model, X, y, **FOLDS), X, y, **options)
    return Display.from_estimator(model, X, y, **options)


# ------------------------------------------------------------------------- constructors


@every_display
def test_constructor_stores_its_arguments_unchanged(Display):
    parameters = inspect.signature(Display).parameters
    assert len(parameters) <= 8
    assert all(parameter.kind == parameter.KEYWORD_ONLY for parameter in parameters.values())
    values = {name: object() for name in parameters}
    assert vars(Display(**values)) == values


@every_display
def test_ways_to_one_diagram(Display, binary):
    classifier, X, y = binary
    options = {"sample_weight": np.random.default_rng(0).integers(0, 3, len(y))}
    display = Display.from_estimator(classifier, X, y, **options)
    y_proba = classifier.predict_proba(X)[:, 1]
    named = {"pos_label": "yes", "name": "LogisticRegression"}
    assert_same_drawing(Display.from_predictions(y, y_proba, **options, **named), display)
    arguments = {name: getattr(display, name) for name in inspect.signature(Display).parameters}
    assert_same_drawing(Display(**arguments).plot(), display)


@every_display
def test_artists_carry_the_attributes(Display, binary):
    display = draw(Display, "from_estimator", binary)
    (curve,) = display.curves
    for name in ("prob_pred", "prob_true", "pos_label", *DISPLAYS[Display][1]):
        assert getattr(display, name) is getattr(curve, name)
    np.testing.assert_array_equal(display.line_.get_xdata(), display.prob_pred)
    np.testing.assert_array_equal(read_values(display.line_), display.prob_true)
    np.testing.assert_array_equal(display.ref_line_.get_xydata(), [[0, 0], [1, 1]])
    assert display.ax_ is display.line_.axes
    assert display.figure_ is display.ax_.figure
    assert display.density_.get_zorder() < display.line_.get_zorder()
    first = display.ax_
    assert display.plot() is display
    assert display.ax_ is not first


@every_display
def test_named_constructors_return_the_subclass(Display, binary):
    class Subclass(Display):
        def __init__(self, *, extra=None, **kwargs):
            super().__init__(**kwargs)

    for way in WAYS:
        assert type(draw(Subclass, way, binary)) is Subclass


@every_display
def test_constructors_have_the_same_options(Display):
    """What is computed is the same everywhere; what is drawn is passed on to plot."""
    by_estimator, by_predictions, by_folds = (
        inspect.signature(getattr(Display, way)).parameters for way in WAYS
    )
    shared = set(by_estimator) - {"estimator", "X", "y"}
    assert shared == set(by_predictions) - {"y_true", "y_proba", "labels"}
    assert shared >= set(by_folds) - {"cv_results", "X", "y"}
    for name in shared:
        defaults = [
            way[name].default for way in (by_estimator, by_predictions, by_folds) if name in way
        ]
        assert len(set(defaults)) == 1


@every_display
@pytest.mark.parametrize("way", WAYS)
def test_plot_options_are_passed_on(Display, way, binary):
    _, ax = plt.subplots()
    options = {
        "ax": ax,
        "name": "model",
        "curve_kwargs": {"c": "red", "lw": 5, "ls": ":", "label": "mine"},
        "layer_kwargs": {"density": {"fc": "green"}},
        "ref_line_kwargs": {"lw": 7},
        "side_labels": False,
        "despine": True,
        "bandwidth": 0.2,
    }
    display = draw(Display, way, binary, **options)
    line, density = (np.atleast_1d(value)[0] for value in (display.line_, display.density_))
    assert display.ax_ is ax
    assert (line.get_color(), line.get_linewidth(), line.get_linestyle()) == ("red", 5, ":")
    assert line.get_label() == "mine"
    np.testing.assert_array_equal(density.get_facecolor()[0], to_rgba("green"))
    assert display.ref_line_.get_linewidth() == 7
    assert display.side_labels_ is None
    assert not ax.texts
    assert not ax.spines["top"].get_visible()
    assert display.curves[0].bandwidth == 0.2
    assert display.name == "model"
    display = draw(Display, way, binary, layers=(), ref_line=False)
    assert display.density_ is display.band_ is None
    assert not display.ax_.collections
    assert display.ref_line_ is display.side_labels_ is None  # sides of nothing
    assert list(display.ax_.lines) == np.atleast_1d(display.line_).tolist()


@every_display
def test_weights_count_rows(Display):
    rng = np.random.default_rng(0)
    y_proba = rng.random(60)
    y_true, repeats = (rng.random(60) < y_proba).astype(int), rng.integers(0, 4, 60)
    weighted = Display.from_predictions(y_true, y_proba, sample_weight=repeats)
    repeated = Display.from_predictions(np.repeat(y_true, repeats), np.repeat(y_proba, repeats))
    np.testing.assert_allclose(weighted.prob_true, repeated.prob_true, atol=1e-9)
    np.testing.assert_allclose(weighted.curves[0].density, repeated.curves[0].density, rtol=1e-9)
    assert weighted.line_.get_label() == repeated.line_.get_label()
    # Effective number of rows: equal weights count every row, a zero weight counts none.
    expected = repeats.sum() ** 2 / (repeats**2).sum()
    assert weighted.curves[0].n_samples == pytest.approx(expected)
    display = Display.from_predictions(y_true, y_proba, sample_weight=np.full(60, 1e-3))
    assert display.curves[0].n_samples == pytest.approx(60)
    present = np.arange(60) < 40
    display = Display.from_predictions(y_true, y_proba, sample_weight=present.astype(float))
    rest = Display.from_predictions(y_true[present], y_proba[present])
    np.testing.assert_allclose(display.prob_true, rest.prob_true, atol=1e-12)
    np.testing.assert_array_equal(find_shown(display.line_), find_shown(rest.line_))


# ------------------------------------------------------------------------- names and labels


@every_display
@pytest.mark.parametrize("way", WAYS)
def test_names(Display, way, binary):
    display = draw(Display, way, binary)
    assert display.name == ("Classifier" if way == "from_predictions" else "LogisticRegression")

    def read_label(**options):
        return np.atleast_1d(display.plot(**options).line_)[0].get_label()

    name, _, numbers = read_label().partition(" (")
    assert name == display.name
    # A name in plot holds for that drawing only.
    assert read_label(name="other") == f"other ({numbers}"
    assert read_label() == f"{name} ({numbers}"
    display.name = None
    assert f"({read_label()})" == f"({numbers}"


@pytest.mark.parametrize(
    ("names", "values", "separate", "expected"),
    [
        (["a"], [0.0344], True, ["a (smECE = 0.034)"]),
        (None, [0.0], True, ["smECE = 0.000"]),
        (["a"], [None], True, ["a"]),
        (None, [None], True, [None]),
        (["a"], [0.01, 0.03], True, ["a (smECE = 0.010)", "a (smECE = 0.030)"]),
        (["a", "b"], [0.01, 0.03], True, ["a (smECE = 0.010)", "b (smECE = 0.030)"]),
        (["a"], [0.01, 0.03], False, ["a (smECE = 0.020 +/- 0.010)", None]),
        (None, [0.01, 0.03], False, ["smECE = 0.020 +/- 0.010", None]),
        (["a"], [0.01, None], False, ["a", None]),
        (["a"], [0.01, np.inf], False, ["a (smECE = inf)", None]),
    ],
)
def test_legend_entries(names, values, separate, expected):
    labels = label_curves(names, [Term("smECE", values)], len(values), separate=separate)
    assert labels == expected


@every_display
@pytest.mark.parametrize(
    ("y_true", "options", "shown"),
    [
        ([0, 1, 1], {}, 1),
        ([-1, 1, 1], {}, 1),
        ([0.0, 0.0, 0.0], {}, 1),
        ([False, True, True], {}, True),
        ([0, 1, 1], {"pos_label": 0}, 0),
        (["no", "yes", "yes"], {"pos_label": "yes"}, "yes"),
        (["no", "no", "no"], {"labels": ["yes", "no"]}, "no"),
    ],
)
def test_positive_label_is_shown(Display, y_true, options, shown):
    display = Display.from_predictions(y_true, [0.2, 0.6, 0.7], **options)
    assert display.pos_label == shown
    assert type(display.pos_label) is type(shown)
    info = f" (Positive label: {shown})"
    assert display.ax_.get_xlabel() == "Predicted probability" + info
    assert display.ax_.get_ylabel() == "Fraction of positives" + info
    words = [text.get_text() for text in display.side_labels_]
    assert words == ["predicted too low", "predicted too high"]
    by_hand = Display(curves=[make_curve(Display)]).plot()
    assert by_hand.ax_.get_xlabel() == "Predicted probability"


@every_display
def test_three_classes(Display, multiclass):
    classifier, X, y = multiclass
    y_proba = classifier.predict_proba(X)
    display = Display.from_estimator(classifier, X, y)
    expected = Display.from_predictions(classifier.predict(X) == y, y_proba.max(axis=1))
    np.testing.assert_allclose(display.prob_true, expected.prob_true, atol=1e-9)
    assert (display.reduction, display.pos_label) == ("confidence", None)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("Confidence", "Accuracy")
    words = [text.get_text() for text in display.side_labels_]
    assert words == ["under-confident", "over-confident"]
    for k, label in enumerate("abc"):
        display = Display.from_estimator(classifier, X, y, pos_label=label)
        expected = Display.from_predictions(y == label, y_proba[:, k])
        np.testing.assert_allclose(display.prob_true, expected.prob_true, atol=1e-9)
        assert (display.reduction, display.pos_label) == (None, label)
    kept = y != "c"  # the test rows may miss a class
    display = Display.from_estimator(classifier, X[kept], y[kept])
    assert display.curves[0].n_samples == kept.sum()


# ------------------------------------------------------------------------- several curves


@every_display
def test_displays_on_shared_axes(Display, binary):
    first = draw(Display, "from_estimator", binary)
    second = draw(Display, "from_predictions", binary, bandwidth=0.3, ax=first.ax_)
    assert second.ax_ is first.ax_
    assert second.ref_line_ is first.ref_line_
    assert second.side_labels_ == first.side_labels_
    assert (len(first.ax_.lines), len(first.ax_.texts)) == (3, 2)
    assert first.line_.get_color() != second.line_.get_color()
    assert first.line_.get_linestyle() != second.line_.get_linestyle()
    labels = [display.line_.get_label() for display in (first, second)]
    assert list_legend(second.ax_) == ["Perfectly calibrated", *labels]
    for display in (first, second):
        color = to_rgba(display.line_.get_color())[:3]
        np.testing.assert_allclose(display.density_.get_edgecolor()[0, :3], color)


@every_display
@pytest.mark.parametrize(
    "curve_kwargs", [None, {"alpha": 0.2}, [{"alpha": a} for a in (0.2, 0.3, 1)]]
)
def test_curves_on_one_axes(Display, curve_kwargs):
    curves = [make_curve(Display, k) for k in range(3)]
    display = Display(curves=curves).plot(curve_kwargs=curve_kwargs)
    for name in ("prob_pred", "prob_true", *DISPLAYS[Display][1]):
        assert getattr(display, name) == [getattr(curve, name) for curve in curves]
    for curve, line in zip(curves, display.line_, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), curve.prob_pred)
        np.testing.assert_array_equal(read_values(line), curve.prob_true)
    looks = {(line.get_color(), line.get_linestyle()) for line in display.line_}
    alphas = [line.get_alpha() for line in display.line_]
    separate = isinstance(curve_kwargs, list)
    assert len(looks) == (3 if separate else 1)
    assert alphas == ([0.2, 0.3, 1] if separate else [0.2 if curve_kwargs else 0.5] * 3)
    # Densities that look the same have no outlines: only their sum is seen.
    assert {bool(one.get_linewidth()) for one in display.density_} == {separate}


@every_display
@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame, sparse.csr_matrix])
def test_each_fold_is_the_diagram_of_its_test_rows(Display, container, multiclass):
    _, X, y = multiclass
    X, weights = container(X), np.random.default_rng(1).random(len(y))
    options = {"bandwidth": 0.1, "pos_label": "a"}
    results = cross_validate(LogisticRegression(), X, y, **FOLDS)
    display = Display.from_cv_results(results, X, pd.Series(y), sample_weight=weights, **options)
    folds = zip(results["estimator"], results["indices"]["test"], strict=True)
    for curve, line, (model, rows) in zip(display.curves, display.line_, folds, strict=True):
        fold = X.iloc[rows] if container is pd.DataFrame else X[rows]
        expected = Display.from_estimator(
            model, fold, y[rows], sample_weight=weights[rows], **options
        )
        assert_same_curve(curve, expected.curves[0])
        np.testing.assert_array_equal(read_values(line), read_values(expected.line_))
    assert (display.pos_label, display.reduction) == ("a", None)
    assert len(list_legend(display.ax_)) == 2  # with the diagonal


@every_display
def test_folds_that_know_other_classes(Display, multiclass):
    _, X, y = multiclass

    def cross(y, splits):
        X_long = np.resize(X, (len(y), X.shape[1]))
        results = cross_validate(LogisticRegression(), X_long, y, **{**FOLDS, "cv": splits})
        return results, X_long, y

    known = np.where(y == "a", "a", "b")
    late = np.where(np.arange(200) > 170, "c", known)
    data = cross(late, [(np.arange(100), np.arange(100, 160)), (np.arange(190), [190, 195])])
    with pytest.raises(ValueError, match="fold 0 has reduction None, fold 1 has 'confidence'"):
        Display.from_cv_results(*data)
    assert not plt.get_fignums()
    assert Display.from_cv_results(*data, pos_label="b").pos_label == "b"
    rows = np.arange(400)
    both = np.concatenate([known, np.where(known == "b", "d", known)])
    data = cross(both, [(rows[:100], rows[100:200]), (rows[200:300], rows[300:])])
    with pytest.raises(ValueError, match="fold 0 has pos_label 'b', fold 1 has 'd'"):
        Display.from_cv_results(*data)


# ------------------------------------------------------------------------- bad input


@every_display
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"curve_kwargs": [{}]}, "curve_kwargs must be None, a dictionary or a list of 3"),
        ({"curve_kwargs": "red"}, "curve_kwargs must be None, a dictionary or a list of 3"),
        ({"curve_kwargs": [{}] * 3, "name": ["a", "b"]}, "name must have .* 3 curves; got 2"),
        ({"name": ["a", "b", "c"]}, "name must be one string, or curve_kwargs a list"),
        ({"despine": "no"}, "despine must be True or False; got 'no'"),
        ({"ref_line_kwargs": "red"}, "ref_line_kwargs must be None or a dictionary; got 'red'"),
        ({"layers": "density"}, r"layers must be a sequence of names, .* got 'density'"),
        ({"layers": 1}, r"layers must be a sequence of names, .* got 1"),
        ({"layers": ["densty"]}, "layers must be one of .*; got 'densty'. Did you mean 'density'"),
        ({"layer_kwargs": ["density"]}, "layer_kwargs must be None or a dictionary"),
        ({"layer_kwargs": {"dens": {}}}, "key of layer_kwargs must be .* Did you mean 'density'"),
        ({"layer_kwargs": {"band": "red"}}, r"layer_kwargs\['band'\] must be None or a dict"),
    ],
)
def test_bad_plot_options(Display, options, message):
    display = Display(curves=[make_curve(Display, k) for k in range(3)])
    with pytest.raises(ValueError, match=message):
        display.plot(**options)
    assert not plt.get_fignums()


@every_display
def test_bad_curves(Display):
    (Other,) = set(DISPLAYS) - {Display}
    curve, other = make_curve(Display), make_curve(Other)
    labelled = [make_curve(Display, pos_label=label) for label in "ab"]
    name = type(curve).__name__
    for curves, message in (
        (curve, f"curves must be a list of one {name} at least"),
        ([], "at least; got none"),
        ([curve, other], f"curves must be a list of {name}; got a {type(other).__name__}"),
        (labelled, r"must have one pos_label; got \['a', 'b'\]"),
    ):
        with pytest.raises(ValueError, match=message):
            Display(curves=curves).plot()
    assert not plt.get_fignums()


@every_display
@pytest.mark.parametrize("way", WAYS)
def test_options_that_do_not_exist(Display, way, binary):
    with pytest.raises(TypeError, match=r"plot\(\) got unexpected keyword arguments: colour"):
        draw(Display, way, binary, colour="red")
    foo, twice = {"foo": 1}, {"ls": "-", "linestyle": ":"}
    for options, error, message in (
        ({"curve_kwargs": foo}, AttributeError, "unexpected keyword argument 'foo'"),
        ({"ref_line_kwargs": foo}, AttributeError, "unexpected keyword argument 'foo'"),
        ({"layer_kwargs": {"density": foo}}, AttributeError, "unexpected keyword argument 'foo'"),
        ({"layer_kwargs": {"density": twice}}, TypeError, "Got both"),
    ):
        with pytest.raises(error, match=message):
            draw(Display, way, binary, **options)
    with pytest.raises(ValueError, match="bandwidth must be at least"):
        draw(Display, way, binary, bandwidth=0)
    assert not plt.get_fignums()


# ------------------------------------------------------------------------- state


@every_display
def test_nothing_else_changes(Display, binary, monkeypatch, capsys):
    def look():
        state = np.random.get_state()[1].tolist()  # noqa: NPY002
        data = [values.tolist() for values in binary[1:]]
        return dict(matplotlib.rcParams), list(warnings.filters), state, data, plt.get_fignums()

    monkeypatch.setattr(plt, "show", lambda *args, **kwargs: pytest.fail("shown"))
    _, ax = plt.subplots()
    options = {
        "curve_kwargs": {"c": "red"},
        "layer_kwargs": {"density": {"color": "red"}, "band": None},
        "ref_line_kwargs": {"ls": "-"},
    }
    before = look(), copy.deepcopy(options)
    display = draw(Display, "from_estimator", binary, ax=ax, **options)
    curve = copy.deepcopy(display.curves[0])
    display.plot(ax=ax)
    display.figure_.canvas.draw()
    assert (look(), options) == before
    assert_same_curve(display.curves[0], curve)
    assert capsys.readouterr() == ("", "")


def test_matplotlib_is_imported_only_to_draw():
    program = (
        "import sys\n"
        "from skcal.diagrams import *\n"
        "curve = {'prob_pred': [0, 1], 'prob_true': [0, 1]}\n"
        "ReliabilityDisplay(curves=[ReliabilityCurve(**curve)])\n"
        "CalibrationSharpnessDisplay(curves=[SharpnessCurve(**curve)])\n"
        "assert 'matplotlib' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
