"""What holds of every display: constructors, plot, names, labels, folds, bad input."""

import inspect
import pickle

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba
from scipy import sparse
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate

from skcal import diagrams
from skcal.diagrams._legend import Term, label_curves
from skcal.monitoring import CalibrationMonitor
from tests.cases import slow_among
from tests.diagrams.artists import assert_same_curve, assert_same_drawing, list_legend, read_values

# Of each display the curve, and the numbers in its legend.
DISPLAYS = {
    diagrams.ReliabilityDisplay: (diagrams.ReliabilityCurve, ("smooth_ece",)),
    diagrams.CalibrationSharpnessDisplay: (diagrams.SharpnessCurve, ("total", "calibration")),
}
every_display = pytest.mark.parametrize("Display", DISPLAYS)
WAYS = ("from_estimator", "from_predictions", "from_cv_results")
RELIABILITY, SHARPNESS = DISPLAYS
# Each of them in one case; the other pairs are slow tests.
each_display_and_way = pytest.mark.parametrize(
    ("Display", "way"),
    [
        (SHARPNESS, "from_estimator"),
        (RELIABILITY, "from_predictions"),
        (RELIABILITY, "from_cv_results"),
        pytest.param(RELIABILITY, "from_estimator", marks=pytest.mark.slow),
        pytest.param(SHARPNESS, "from_predictions", marks=pytest.mark.slow),
        pytest.param(SHARPNESS, "from_cv_results", marks=pytest.mark.slow),
    ],
)
mostly_reliability = pytest.mark.parametrize(
    "Display", [RELIABILITY, pytest.param(SHARPNESS, marks=pytest.mark.slow)]
)
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


@every_display
def test_ways_to_one_diagram(Display, binary):
    names = inspect.signature(Display).parameters
    values = {name: object() for name in names}
    assert vars(Display(**values)) == values
    classifier, X, y = binary
    options = {"sample_weight": np.random.default_rng(0).integers(0, 3, len(y))}
    display = Display.from_estimator(classifier, X, y, **options)
    y_proba = classifier.predict_proba(X)[:, 1]
    options |= {"pos_label": "yes", "name": "LogisticRegression"}
    assert_same_drawing(Display.from_predictions(y, y_proba, **options), display)
    arguments = {name: getattr(display, name) for name in names}
    assert_same_drawing(Display(**arguments).plot(), display)
    np.testing.assert_array_equal(display.ref_line_.get_xydata(), [[0, 0], [1, 1]])
    assert display.density_.get_zorder() < display.line_.get_zorder()
    before = display.ax_
    assert display.plot() is display
    assert display.ax_ is display.line_.axes is not before
    assert display.figure_ is display.ax_.figure


@every_display
def test_constructors_have_the_same_options(Display):
    """What is computed is the same everywhere; what is drawn is passed on to plot."""
    data = {"estimator", "X", "y", "y_true", "y_proba", "labels", "cv_results"}
    signatures = [inspect.signature(getattr(Display, way)).parameters for way in WAYS]
    by_estimator, by_predictions, by_folds = (
        {(name, one.default) for name, one in parameters.items() if name not in data}
        for parameters in signatures
    )
    # The folds show what changes with the sample.
    by_folds.discard(("layers", ("density", "curve_width")))
    assert by_estimator == by_predictions >= by_folds


@each_display_and_way
def test_plot_options_are_passed_on(Display, way, binary):
    _, ax = plt.subplots()
    options = {"ax": ax, "name": "model", "bandwidth": 0.2, "side_labels": False, "despine": True}
    options["curve_kwargs"] = {"c": "red", "lw": 5, "ls": ":", "label": "mine"}
    options |= {"layer_kwargs": {"density": {"fc": "green"}}, "ref_line_kwargs": {"lw": 7}}
    Subclass = type("Subclass", (Display,), {})
    display = draw(Subclass, way, binary, **options)
    assert type(display) is Subclass
    line, density = (np.atleast_1d(value)[0] for value in (display.line_, display.density_))
    assert display.ax_ is ax
    assert plt.get_fignums() == [ax.figure.number]
    assert (line.get_color(), line.get_linewidth(), line.get_linestyle()) == ("red", 5, ":")
    assert line.get_label() == "mine"
    np.testing.assert_array_equal(density.get_facecolor()[0], to_rgba("green"))
    assert display.ref_line_.get_linewidth() == 7
    assert display.side_labels_ is None
    assert not ax.spines["top"].get_visible()
    assert (display.curves[0].bandwidth, display.name) == (0.2, "model")
    # A name in plot holds for that drawing only.
    display = draw(Display, way, binary)
    name = "Classifier" if way == "from_predictions" else "LogisticRegression"
    for options, expected in (({}, name), ({"name": "other"}, "other"), ({}, name)):
        line = np.atleast_1d(display.plot(**options).line_)[0]
        assert line.get_label().startswith(f"{expected} (")
    display.plot(layers=(), ref_line=False)
    assert display.density_ is display.band_ is None
    assert not display.ax_.collections
    assert display.ref_line_ is display.side_labels_ is None  # sides of nothing
    assert list(display.ax_.lines) == np.atleast_1d(display.line_).tolist()


@every_display
def test_weights_count_rows(Display):
    rng = np.random.default_rng(0)
    y_proba = rng.random(100)
    y_true, repeats = (rng.random(100) < y_proba).astype(int), rng.integers(0, 4, 100)
    # How far an adaptive curve is smoothed depends on the effective number of rows, too.
    options = {"kind": "smooth"} if Display is RELIABILITY else {}
    weighted = Display.from_predictions(y_true, y_proba, sample_weight=repeats / 1000, **options)
    rows = np.repeat(y_true, repeats), np.repeat(y_proba, repeats)
    repeated = Display.from_predictions(*rows, **options)
    np.testing.assert_allclose(weighted.prob_true, repeated.prob_true, atol=1e-9)
    np.testing.assert_allclose(weighted.curves[0].density, repeated.curves[0].density, rtol=1e-9)
    # What comes behind differs: the effective number of rows, and what is cross-fitted, as copies
    # of a row are dealt to several folds.
    labels = [one.line_.get_label().split(", ")[0] for one in (weighted, repeated)]
    assert labels[0].rstrip(")") == labels[1].rstrip(")")
    # Effective number of rows.
    expected = repeats.sum() ** 2 / (repeats**2).sum()
    assert weighted.curves[0].n_samples == pytest.approx(expected)
    assert f"effective rows = {expected:.0f})" in weighted.line_.get_label()


def test_legend_entries():
    for names, values, separate, expected in (
        (None, [0.0344], True, ["smECE = 0.034"]),
        (["a"], [None], True, ["a"]),
        (None, [None], True, [None]),
        (["a"], [0.01, 0.03], True, ["a (smECE = 0.010)", "a (smECE = 0.030)"]),
        (["a", "b"], [0.01, 0.03], True, ["a (smECE = 0.010)", "b (smECE = 0.030)"]),
        (["a"], [0.01, 0.03], False, ["a (smECE = 0.020 +/- 0.010)", None]),
        (["a"], [0.01, None], False, ["a", None]),
        (["a"], [0.01, np.inf], False, ["a (smECE = inf)", None]),
    ):
        labels = label_curves(names, [Term("smECE", values)], len(values), separate=separate)
        assert labels == expected


def test_legend_shows_how_many_rows_each_curve_has():
    for counts, words in (([40, 40], "40 each"), ([40, 1400], "40 to 1,400 each")):
        term = Term("n", counts, form=",.0f", is_count=True)
        assert label_curves(["a"], [term], 2, separate=False) == [f"a (n = {words})", None]
        labels = [f"n = {count:,}" for count in counts]
        assert label_curves(None, [term], 2, separate=True) == labels
    options = {"sample_weight": [1, 1, 0]}
    label = RELIABILITY.from_predictions([0, 1, 1], [0.2, 0.6, 0.7], **options).line_.get_label()
    assert label.endswith(", n = 2)")


@mostly_reliability
def test_positive_label_is_shown(Display):
    for y_true, options, shown in (
        ([0, 1, 1], {}, 1),
        ([False, True, True], {}, True),
        ([0, 1, 1], {"pos_label": 0}, 0),
        (["no", "yes", "yes"], {"pos_label": "yes"}, "yes"),
        (["no", "no", "no"], {"labels": ["yes", "no"]}, "no"),
    ):
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


# What each display may be drawn of, by its name.
EXAMPLES = {
    "ReliabilityDisplay": ([0, 1, 1], [0.2, 0.6, 0.7]),
    "CalibrationSharpnessDisplay": ([0, 1, 1], [0.2, 0.6, 0.7]),
    "DecisionCurveDisplay": ([0, 1, 1], [0.2, 0.6, 0.7]),
    "MurphyDisplay": ([0, 1, 1], [0.2, 0.6, 0.7]),
    "RiskCoverageDisplay": ([0, 1, 1], [0.2, 0.6, 0.7]),
    "ScoreDecompositionDisplay": ([0, 1, 1], [0.2, 0.6, 0.7]),
    "GroupAuditDisplay": ([0, 1, 1], [0.2, 0.6, 0.7], ["a", "b", "b"]),
    "PITDisplay": ([0.0, 1.0, 2.0], norm(1, 1)),
    "IntervalCoverageDisplay": ([0.0, 1.0, 2.0], [[-1.0, 1.0]] * 3),
    "CoverageWidthDisplay": ([0.0, 1.0, 2.0], [[-1.0, 1.0]] * 3),
    "QuantileReliabilityDisplay": ([0.0, 1.0, 2.0], [0.0, 1.0, 3.0]),
    "MeanReliabilityDisplay": ([0.0, 1.0, 2.0], [0.0, 1.0, 3.0]),
    "RegressionMurphyDisplay": ([0.0, 1.0, 2.0], [0.0, 1.0, 3.0]),
    "ConcentrationDisplay": ([0.0, 1.0, 2.0], [0.0, 1.0, 3.0]),
}
ALSO = {"QuantileReliabilityDisplay": {"quantiles": 0.5}, "GroupAuditDisplay": {"random_state": 0}}


@pytest.mark.parametrize(
    "name",
    slow_among(
        [*EXAMPLES, "MonitorDisplay"], "CalibrationSharpnessDisplay", "MurphyDisplay", "PITDisplay"
    ),
)
def test_displays_can_be_pickled_with_their_figures(name):
    if name == "MonitorDisplay":
        monitor = CalibrationMonitor().update([0, 1, 1], [0.2, 0.6, 0.7])
        display = diagrams.MonitorDisplay.from_monitor(monitor)
    else:
        display = getattr(diagrams, name).from_predictions(*EXAMPLES[name], **ALSO.get(name, {}))
    pickle.loads(pickle.dumps(display)).figure_.canvas.draw()


@pytest.mark.parametrize(
    "name",
    slow_among(list(EXAMPLES)[:6], "CalibrationSharpnessDisplay", "MurphyDisplay"),
)
def test_labels_of_the_data_are_no_formulas(name):
    label = "$a_b_c$"
    Display, y = getattr(diagrams, name), ["no", label, label]
    display = Display.from_predictions(y, [0.2, 0.6, 0.7], pos_label=label)
    display.figure_.canvas.draw()  # matplotlib does not know the formula
    assert rf"(Positive label: \{label[:-1]}\$)" in display.ax_.get_xlabel()


@mostly_reliability
def test_three_classes(Display, multiclass):
    classifier, X, y = multiclass
    y_proba = classifier.predict_proba(X)
    display = Display.from_estimator(classifier, X, y)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("Confidence", "Accuracy")
    words = [text.get_text() for text in display.side_labels_]
    assert words == ["under-confident", "over-confident"]
    problems = {label: (y == label, y_proba[:, k]) for k, label in enumerate("abc")}
    problems[None] = classifier.predict(X) == y, y_proba.max(axis=1)
    for label, rows in problems.items():
        display = Display.from_estimator(classifier, X, y, pos_label=label)
        expected = Display.from_predictions(*rows)
        np.testing.assert_allclose(display.prob_true, expected.prob_true, atol=1e-9)
        assert display.reduction == ("confidence" if label is None else None)
        assert display.pos_label == label
    kept = y != "c"  # the test rows may miss a class
    display = Display.from_estimator(classifier, X[kept], y[kept])
    assert display.curves[0].n_samples == kept.sum()


@every_display
def test_displays_on_shared_axes(Display, binary):
    first = draw(Display, "from_estimator", binary)
    second = draw(Display, "from_predictions", binary, bandwidth=0.3, ax=first.ax_)
    assert list(first.ax_.lines) == [second.ref_line_, first.line_, second.line_]
    assert second.side_labels_ == first.side_labels_ == list(first.ax_.texts)
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
    for name in ("prob_pred", *DISPLAYS[Display][1]):
        assert getattr(display, name) == [getattr(curve, name) for curve in curves]
    for curve, line in zip(curves, display.line_, strict=True):
        np.testing.assert_array_equal(line.get_xdata(), curve.prob_pred)
        np.testing.assert_array_equal(read_values(line), curve.prob_true)
    looks = {(line.get_color(), line.get_linestyle()) for line in display.line_}
    separate = isinstance(curve_kwargs, list)
    expected = [0.2, 0.3, 1] if separate else [0.2 if curve_kwargs else 0.5] * 3
    assert len(looks) == (3 if separate else 1)
    assert [line.get_alpha() for line in display.line_] == expected
    # Densities that look the same have no outlines: only their sum is seen.
    assert {bool(one.get_linewidth()) for one in display.density_} == {separate}


@mostly_reliability
def test_each_fold_is_the_diagram_of_its_test_rows(Display, multiclass):
    _, X, y = multiclass
    X, weights = sparse.csr_matrix(X), np.random.default_rng(1).random(len(y))
    options = {"bandwidth": 0.1, "pos_label": "a"}
    results = cross_validate(LogisticRegression(), X, y, **FOLDS)
    if "layers" in inspect.signature(Display.from_cv_results).parameters:
        options["layers"] = ["density"]
    display = Display.from_cv_results(results, X, y, sample_weight=weights, **options)
    folds = zip(results["estimator"], results["indices"]["test"], strict=True)
    for curve, (model, rows) in zip(display.curves, folds, strict=True):
        data = {"sample_weight": weights[rows], **options}
        expected = Display.from_estimator(model, X[rows], y[rows], **data)
        assert_same_curve(curve, expected.curves[0])
    assert (display.pos_label, display.reduction) == ("a", None)
    assert len(list_legend(display.ax_)) == 2  # with the diagonal


@mostly_reliability
def test_folds_that_know_other_classes(Display, multiclass):
    _, X, three = multiclass
    two, other = (np.where(three == "a", "a", label) for label in "bd")

    def draw_folds(y, **options):
        """The first fold knows a and b, the second one these labels."""
        models = [LogisticRegression().fit(X, known) for known in (two, y)]
        results = {"estimator": models, "indices": {"test": np.split(np.arange(200), 2)}}
        return Display.from_cv_results(results, X, np.r_[two[:100], y[100:]], **options)

    with pytest.raises(ValueError, match="fold 0 has reduction None, fold 1 has 'confidence'"):
        draw_folds(three)
    with pytest.raises(ValueError, match="fold 0 has pos_label 'b', fold 1 has 'd'"):
        draw_folds(other)
    assert not plt.get_fignums()
    assert draw_folds(three, pos_label="b").pos_label == "b"


@every_display
def test_bad_plot_options(Display):
    display = Display(curves=[make_curve(Display, k) for k in range(3)])
    for options, message in (
        ({"curve_kwargs": [{}]}, "curve_kwargs must be None, a dictionary or a list of 3"),
        ({"curve_kwargs": [{}] * 3, "name": ["a", "b"]}, "name must have .* 3 curves; got 2"),
        ({"despine": "no"}, "despine must be True or False; got 'no'"),
        ({"ref_line_kwargs": "red"}, "ref_line_kwargs must be None or a dictionary; got 'red'"),
        ({"layers": 1}, r"layers must be a sequence of names, .* got 1"),
        ({"layers": "density"}, r"layers must be a sequence of names, .* got 'density'"),
        ({"layers": ["densty"]}, "layers must be one of .*; got 'densty'. Did you mean 'density'"),
        ({"layer_kwargs": ["density"]}, "layer_kwargs must be None or a dictionary"),
        ({"layer_kwargs": {"dens": {}}}, "key of layer_kwargs must be .* Did you mean 'density'"),
        ({"layer_kwargs": {"band": "red"}}, r"layer_kwargs\['band'\] must be None or a dict"),
    ):
        with pytest.raises(ValueError, match=message):
            display.plot(**options)
        assert not plt.get_fignums()


@every_display
def test_bad_curves(Display):
    (Other,) = set(DISPLAYS) - {Display}
    curve, other = make_curve(Display), make_curve(Other)
    labelled = [make_curve(Display, pos_label=label) for label in "ab"]
    for curves, message in (
        (curve, "curves must be a list of one .*Curve at least"),
        ([], "at least; got none"),
        ([curve, other], f"{type(curve).__name__}; got a {type(other).__name__}"),
        (labelled, r"must have one pos_label; got \['a', 'b'\]"),
    ):
        with pytest.raises(ValueError, match=message):
            Display(curves=curves).plot()


@each_display_and_way
def test_options_that_do_not_exist(Display, way, binary):
    foo, twice = {"foo": 1}, {"ls": "-", "linestyle": ":"}
    for options, error, message in (
        (
            {"color": "red"},
            TypeError,
            r"color\. Style the curve with curve_kwargs={'color': \.\.\.}",
        ),
        ({"colour": "red"}, TypeError, r"plot\(\) got .*: colour\. What .* given as curve_kwargs"),
        ({"bandwidth": 0}, ValueError, "bandwidth must be at least"),
        ({"curve_kwargs": foo}, AttributeError, "unexpected keyword argument 'foo'"),
        ({"ref_line_kwargs": foo}, AttributeError, "unexpected keyword argument 'foo'"),
        ({"layer_kwargs": {"density": foo}}, AttributeError, "unexpected keyword argument 'foo'"),
        ({"layer_kwargs": {"density": twice}}, TypeError, "Got both"),
    ):
        with pytest.raises(error, match=message):
            draw(Display, way, binary, **options)
    assert not plt.get_fignums()


@pytest.mark.parametrize(
    ("Display", "predictions"),
    [
        (diagrams.DecisionCurveDisplay, {"y_proba": [0.1, 0.4, 0.7, 0.8]}),
        (diagrams.MurphyDisplay, {"y_proba": [0.1, 0.4, 0.7, 0.8]}),
        (diagrams.RiskCoverageDisplay, {"y_proba": [0.1, 0.4, 0.7, 0.8]}),
        (diagrams.ScoreDecompositionDisplay, {"y_proba": [0.1, 0.4, 0.7, 0.8]}),
        (diagrams.CoverageWidthDisplay, {"y_interval": [[0, 1]] * 4, "random_state": 0}),
        (diagrams.PITDisplay, {"distribution": norm(0, 1), "n_resamples": 19, "random_state": 0}),
        (
            diagrams.QuantileReliabilityDisplay,
            {"y_quantiles": [0.1, 0.4, 0.7, 0.8], "quantiles": [0.5]},
        ),
        (diagrams.MeanReliabilityDisplay, {"y_pred": [0.1, 0.4, 0.7, 0.8]}),
        (diagrams.RegressionMurphyDisplay, {"y_pred": [0.1, 0.4, 0.7, 0.8]}),
        (diagrams.ConcentrationDisplay, {"y_pred": [0.1, 0.4, 0.7, 0.8]}),
    ],
)
def test_every_legend_shows_the_effective_number_of_rows(Display, predictions):
    """(1 + 1 + 4)^2 / (1 + 1 + 16) = 2, and weights that do not differ have none."""

    def read_legend(**data):
        display = Display.from_predictions([0, 1, 1, 0], **predictions, **data)
        (axes,) = [ax for ax in display.figure_.axes if ax.get_legend() is not None]
        legend = axes.get_legend()
        return " ".join(t.get_text() for t in [*legend.get_texts(), legend.get_title()]).lower()

    assert "effective" not in read_legend()
    assert "effective" not in read_legend(sample_weight=[7, 7, 0, 7])
    found = read_legend(sample_weight=[3, 3, 12, 0])
    assert "effective rows = 2" in found or "effective rows: 2" in found
