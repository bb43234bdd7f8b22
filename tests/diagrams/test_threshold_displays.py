"""Decision curves and Murphy diagrams: what is drawn, and what is refused."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex, to_rgba
from matplotlib.patches import Rectangle
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate

from skcal._input import _reduction
from skcal._input._validation import RowSumError
from skcal.diagrams import DecisionCurveDisplay, MurphyDisplay, RiskCoverageDisplay
from skcal.inference import net_benefit_difference
from skcal.metrics import elementary_score_curve, net_benefit_curve

every_display = pytest.mark.parametrize("Display", [DecisionCurveDisplay, MurphyDisplay])
mostly_decisions = pytest.mark.parametrize(
    "Display", [DecisionCurveDisplay, pytest.param(MurphyDisplay, marks=pytest.mark.slow)]
)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    v = rng.random(300)
    return (rng.random(300) < v).astype(int), {"a": v, "b": v**2}


def read_band(area):
    """Thresholds and both ends of an area."""
    (path,) = area.get_paths()
    return path.vertices


def test_decision_curves(rows):
    y, models = rows
    display = DecisionCurveDisplay.from_predictions(y, models, band="curve")
    for line, area, v in zip(display.lines_, display.bands_, models.values(), strict=True):
        curve = net_benefit_curve(y, v)
        np.testing.assert_array_equal(line.get_xydata(), np.transpose(curve[:2]))
        found = net_benefit_difference(y, v, "none")
        corners = read_band(area)
        for end in (found.low, found.high):
            for corner in zip(found.thresholds, end, strict=True):
                assert np.abs(corners - corner).sum(axis=1).min() < 1e-12
    every, none = display.ref_lines_
    np.testing.assert_array_equal(every.get_ydata(), curve.treat_all)
    np.testing.assert_array_equal(none.get_ydata(), 0)
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    band = "95 % band (all thresholds at once)"
    assert words == ["a", "b", band, "Treat all", "Treat none"]
    assert display.ax_.get_xlabel() == "Threshold probability (Positive label: 1)"
    low, high = display.ax_.get_ylim()
    assert low < 0 < curve.treat_all.max() < high
    assert low > curve.treat_all.min()


@pytest.mark.parametrize("clusters", [None, np.arange(300) // 3])
@every_display
def test_several_models_have_bands_of_differences(Display, rows, clusters):
    """Around the curve of the first: another one lies in its band by the margin of its own."""
    y, models = rows
    models = models | {"c $1$": np.sqrt(models["a"])}
    options = {"thresholds": [0.1, 0.3, 0.8], "act": ">=", "clusters": clusters}
    display = Display.from_predictions(y, models, **options)
    first, *others = models.values()
    middle = getattr(display.curves[0], display._field)
    assert display.bands[0] is None
    for v, band, area in zip(others, display.bands[1:], display.bands_, strict=True):
        found = net_benefit_difference(y, v, first, **options)
        low, high = found.low, found.high
        if Display is MurphyDisplay:  # what 1 - t of the benefit is more is less loss
            low, high = (-(1 - found.thresholds) * end for end in (high, low))
        np.testing.assert_allclose(band, [middle + low, middle + high], atol=1e-12)
        corners = area.get_paths()[0].vertices
        assert corners[:, 1].min() == pytest.approx(band[0].min())  # the highest ones may be cut
    labels = [area.get_label() for area in display.bands_]
    assert labels[0] == "95 % band of the difference from a (all thresholds at once)"
    assert labels[1].startswith("_")
    renamed = display.plot(name=["first", "b", "c"]).bands_[0].get_label()
    assert renamed.startswith("95 % band of the difference from first")
    assert (
        display.plot(name="all")
        .bands_[0]
        .get_label()
        .startswith("95 % band of the difference from the")
    )
    # Of those that act alike the difference is 0, and its band has it inside.
    same = Display.from_predictions(y, {"a": first, "again": first}, **options)
    low, high = same.bands[1]
    assert (low <= middle).all()
    assert (middle <= high).all()
    for single in (models["a"], {"a": models["a"]}):
        assert Display.from_predictions(y, single).baseline is None
    assert Display.from_predictions(y, models, confidence_level=None).baseline is None
    with pytest.raises(ValueError, match="baseline must be at most 1; got 2"):
        Display(curves=display.curves[:2], baseline=2).plot()


@mostly_decisions
def test_answers_of_several_models_have_bands_of_their_own(Display):
    rng = np.random.default_rng(0)
    models = {name: rng.dirichlet(np.ones(3), 90) for name in "ab"}
    y = rng.integers(3, size=90)
    display = Display.from_predictions(y, models, thresholds=[0.4, 0.5])
    assert display.baseline is None
    assert all(band is not None for band in display.bands)
    compared = Display.from_predictions(y, models, thresholds=[0.4], pos_label=1)
    assert compared.baseline == 0
    with pytest.raises(ValueError, match="labels differ in some rows; got 'difference'"):
        Display.from_predictions(y, models, thresholds=[0.4], band="difference")
    with pytest.raises(ValueError, match="for a single model; got 'difference'"):
        Display.from_predictions(y, models["a"], band="difference")
    with pytest.raises(ValueError, match="band must be one of"):
        Display.from_predictions(y, models, band="both")


def test_wide_bands_of_differences_leave_the_axes_to_the_curves(rows):
    y, models = rows
    display = DecisionCurveDisplay.from_predictions(y, models)
    highest = max(line.get_ydata().max() for line in display.lines_)
    assert display.bands[1][1].max() > 2 * highest  # next to 1
    (area,) = display.bands_
    assert set(display.bands[1][1]) <= set(read_band(area)[:, 1])  # as it was computed
    low, high = display.ax_.get_ylim()
    assert highest < high < read_band(area)[:, 1].max()
    assert high - low < 4 * highest


def test_standardized_curves_are_in_units_of_the_base_rate(rows):
    y, models = rows
    display = DecisionCurveDisplay.from_predictions(y, models)
    plain, area = display.lines_[0].get_ydata(), read_band(display.bands_[0])
    display.plot(standardized=True)
    rate = np.mean(y)
    np.testing.assert_allclose(display.lines_[0].get_ydata(), plain / rate)
    np.testing.assert_allclose(read_band(display.bands_[0])[:, 1], area[:, 1] / rate)
    every, _ = display.ref_lines_
    np.testing.assert_allclose(every.get_ydata()[0], 1 - 0.01 / 0.99 * (1 - rate) / rate)
    assert display.ax_.get_ylabel() == "Net benefit / base rate"
    for t in (0.01, 0.06, 0.41):
        with pytest.raises(ValueError, match="standardized must be False where no row has the pos"):
            DecisionCurveDisplay.from_predictions(
                [0, 0], [0.2, 0.3], thresholds=[t], standardized=True
            )


def test_murphy_diagram(rows):
    y, models = rows
    options = {"thresholds": [0, 0.2, 0.5, 1], "band": "curve"}
    display = MurphyDisplay.from_predictions(y, models, **options)
    for line, area, v in zip(display.lines_, display.bands_, models.values(), strict=True):
        curve = elementary_score_curve(y, v, thresholds=[0, 0.2, 0.5, 1])
        np.testing.assert_array_equal(line.get_xydata(), np.transpose(curve[:2]))
        heights = read_band(area)[:, 1]
        assert heights.min() >= 0
        assert heights.max() > curve.score.max()
    (reference,) = display.ref_lines_
    rate, t = np.mean(y), curve.thresholds
    np.testing.assert_allclose(reference.get_ydata(), np.minimum(t * (1 - rate), (1 - t) * rate))
    assert display.ax_.get_ylim()[0] == 0


@pytest.mark.parametrize("rate", [0.3, 0.01, 1e-4])
def test_area_of_a_murphy_diagram_is_half_the_brier_score(rate):
    rng = np.random.default_rng(0)
    v = rng.beta(0.5, 0.5 / rate, 50_000)
    y = rng.random(50_000) < v
    for outcomes, proba in ((y, v), (~y, 1 - v)):
        (curve,) = MurphyDisplay.from_predictions(outcomes, proba, confidence_level=None).curves
        assert np.diff(curve.thresholds).min() > 1e-9
        area = np.trapezoid(curve.score, curve.thresholds)
        assert 2 * area == pytest.approx(np.mean((v - y) ** 2), rel=1e-3)


def test_band_of_losses_is_that_of_the_benefit(rows):
    """Net benefit is the base rate minus S / (1 - t); for one outcome they are the same."""
    _, models = rows
    y, v, t = np.ones(300, dtype=int), models["a"], np.array([0.2, 0.5])
    options = {"pos_label": 1, "thresholds": t, "act": ">="}
    losses, benefit = (
        Display.from_predictions(y, v, **options)
        for Display in (MurphyDisplay, DecisionCurveDisplay)
    )
    ((low, high),), ((least, most),) = losses.bands, benefit.bands
    # Outcomes that did not occur are possible, and cost differently: one end is the same.
    np.testing.assert_allclose(1 - low / (1 - t), most, atol=1e-6)
    assert (high > low).all()
    assert (least < most).all()


@every_display
def test_bands_of_clusters(rows, Display):
    """Those of single rows are the bands of rows; copies count once, by both ways to a diagram."""
    y, models = rows
    t = [0.2, 0.5]
    options = {"thresholds": t, "band": "curve"}
    plain = Display.from_predictions(y, models, **options)
    single = Display.from_predictions(y, models, **options, clusters=np.arange(300))
    np.testing.assert_array_equal(single.bands, plain.bands)
    copies = {name: np.repeat(v, 3) for name, v in models.items()}
    names = np.repeat(np.arange(300).astype(str), 3)
    found = Display.from_predictions(np.repeat(y, 3), copies, **options, clusters=names)
    np.testing.assert_allclose(found.bands, plain.bands)
    clusters = np.argsort(np.argsort(models["a"])) // 6
    wide = Display.from_predictions(y, models["a"], thresholds=t, clusters=clusters)
    assert (np.ptp(wide.bands[0], axis=0) > np.ptp(plain.bands[0], axis=0)).all()
    if Display is DecisionCurveDisplay:
        by = {"clusters": clusters, "thresholds": t}
        np.testing.assert_array_equal(
            wide.bands[0], net_benefit_difference(y, models["a"], "none", **by)[2:]
        )
    model = LogisticRegression().fit(models["a"][:, None], y)
    X = models["a"][:, None]
    found = Display.from_estimator(model, X, y, clusters=clusters, thresholds=t)
    given = model.predict_proba(X)[:, 1]
    wide = Display.from_predictions(y, given, clusters=clusters, thresholds=t)
    np.testing.assert_array_equal(found.bands, wide.bands)
    with pytest.raises(ValueError, match="clusters must be None where no band is drawn"):
        Display.from_predictions(y, models, clusters=clusters, confidence_level=None)


@mostly_decisions
def test_ways_to_one_diagram(rows, Display):
    y, models = rows
    X = models["a"][:, None]
    model = LogisticRegression().fit(X, y)
    given = Display.from_predictions(y, model.predict_proba(X), labels=model.classes_)
    found = Display.from_estimator(model, X, y)
    np.testing.assert_array_equal(found.curves, given.curves)
    np.testing.assert_array_equal(found.bands, given.bands)
    assert found.lines_[0].get_label() == "LogisticRegression"
    assert given.lines_[0].get_label() == "Classifier"
    results = cross_validate(model, X, y, cv=3, return_estimator=True, return_indices=True)
    folds = Display.from_cv_results(results, X, y)
    assert len(folds.lines_) == 3
    assert folds.bands is None
    assert not folds.bands_
    labels = [text.get_text() for text in folds.ax_.get_legend().get_texts()]
    assert labels[0] == "LogisticRegression"
    assert len(labels) == len(set(labels))
    for curve, test in zip(folds.curves, results["indices"]["test"], strict=True):
        one = Display.from_predictions(y[test], X[test, 0], confidence_level=None)
        assert len(one.curves[0].thresholds) == len(curve.thresholds)
    banded = Display.from_cv_results(results, X, y, confidence_level=0.9, curve_kwargs=[{}] * 3)
    assert len(banded.bands_) == 3


@every_display
def test_looks_and_common_axes(rows, Display):
    y, models = rows
    figure, axes = plt.subplots()
    first = Display.from_predictions(y, models["a"], name="first", ax=axes)
    n_lines = len(axes.lines)
    second = Display.from_predictions(
        y,
        models["b"],
        name="second",
        ax=axes,
        curve_kwargs={"c": "red"},
        band_kwargs={"alpha": 0.1},
        ref_line_kwargs={"lw": 3},
        despine=True,
    )
    assert (second.ax_, second.figure_) == (axes, figure)
    # Lines to compare with are the same for the same rows.
    assert len(axes.lines) == n_lines + 1
    assert not second.ref_lines_
    assert to_hex(second.lines_[0].get_color()) == "#ff0000"
    assert to_hex(first.lines_[0].get_color()) != "#ff0000"
    assert second.bands_[0].get_alpha() == 0.1
    assert not axes.spines["top"].get_visible()
    words = [text.get_text() for text in axes.get_legend().get_texts()]
    assert len(words) == len(set(words))
    assert {"first", "second"} < set(words)


@every_display
def test_soft_labels_have_no_band(rows, Display):
    _, models = rows
    soft = models["a"]
    with pytest.raises(ValueError, match="y_true must hold labels"):
        Display.from_predictions(soft, models["b"])
    display = Display.from_predictions(soft, models["b"], confidence_level=None)
    assert display.bands_ == []


@every_display
def test_made_by_hand(Display):
    compute = net_benefit_curve if Display is DecisionCurveDisplay else elementary_score_curve
    curve = compute([0, 1, 1], [0.2, 0.4, 0.7], thresholds=[0.5])
    display = Display(curves=[curve]).plot()  # of one threshold, and without a name
    assert display.bands_ == []
    with pytest.raises(ValueError, match="curves must be a list of one"):
        Display(curves=[]).plot()
    with pytest.raises(ValueError, match="got an int in it"):
        Display(curves=[1]).plot()
    with pytest.raises(ValueError, match="bands must have one entry for each of the 1 curves"):
        Display(curves=[curve], bands=[None, None]).plot()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"thresholds": [1.5]}, "thresholds must lie"),
        ({"act": "<"}, "act must be one of"),
        ({"reduction": "classwise"}, "reduction must give one binary problem .*'classwise'"),
        (
            {"y_proba": pd.DataFrame({"a": [0.1, 0.2], "b": [0.3, 0.4]})},
            r"must sum to 1; .* If its columns are models, pass a dictionary, {'a': ..., 'b': ...}",
        ),
        ({"confidence_level": 2}, "confidence_level must be"),
        ({"despine": 1}, "despine must be True or False"),
        ({"band_kwargs": "red"}, "band_kwargs must be None or a dictionary"),
        ({"ax": 3}, "ax must be matplotlib axes"),
        ({"name": "x", "y_proba": {"a": [0.1, 0.2]}}, "name must be None: the keys of y_proba"),
        ({"y_proba": {}}, "y_proba must hold one model at least; it is an empty dictionary"),
    ],
)
@every_display
def test_what_is_refused(Display, options, message):
    before = plt.get_fignums()
    with pytest.raises(ValueError, match=message):
        Display.from_predictions(**{"y_true": [0, 1], "y_proba": [0.2, 0.7], **options})
    assert plt.get_fignums() == before


@pytest.mark.parametrize("Display", [DecisionCurveDisplay, MurphyDisplay, RiskCoverageDisplay])
def test_arrays_are_read_once(Display, rows, monkeypatch):
    y, models = rows
    read = []
    check = _reduction.check_proba
    monkeypatch.setattr(
        _reduction, "check_proba", lambda name, proba: read.append(name) or check(name, proba)
    )
    Display.from_predictions(y, models)
    assert read == ["y_proba"] * 2


def test_advice_on_models_is_for_sums_of_rows_alone():
    """Not for other errors that happen to have the same words."""
    table = pd.DataFrame({"a": [0.5, 0.4], "b": [0.5, 0.6]})
    with pytest.raises(ValueError, match="must sum to 1") as caught:
        DecisionCurveDisplay.from_predictions(["x", "must sum to 1"], table, pos_label="y")
    assert not isinstance(caught.value, RowSumError)
    assert "pass a dictionary" not in str(caught.value)
    with pytest.raises(RowSumError, match="Rows of y_proba must sum to 1"):
        _reduction.check_predictions([0, 1], table * 0.8)


def test_a_name_may_stand_in_a_list():
    for Display in (DecisionCurveDisplay, MurphyDisplay):
        display = Display.from_predictions([0, 1, 1], [0.2, 0.6, 0.7], name=["model"])
        assert display.lines_[0].get_label() == "model"


def test_unknown_options_are_named():
    with pytest.raises(TypeError, match="unexpected keyword arguments: bnad_kwargs"):
        DecisionCurveDisplay.from_predictions([0, 1], [0.2, 0.7], bnad_kwargs={})


@mostly_decisions
def test_legend_hides_nothing(Display, rows):
    y, models = rows
    for proba in (models["a"], models):
        ax = Display.from_predictions(y, proba).ax_
        ax.figure.canvas.draw()
        legend = ax.get_legend().get_window_extent()
        (_, bottom) = ax.transData.inverted().transform((legend.x0, legend.y0))
        assert all(np.max(line.get_ydata()) < bottom for line in ax.lines)


@every_display
@pytest.mark.parametrize(
    "size", [(8, 4), *(pytest.param(s, marks=pytest.mark.slow) for s in ((6.4, 4.8), (8, 8)))]
)
@pytest.mark.parametrize("layout", [pytest.param(None, marks=pytest.mark.slow), "constrained"])
def test_legend_stays_in_small_axes(Display, rows, size, layout):
    y, models = rows
    figure, axes = plt.subplots(1, 2, figsize=size, layout=layout)
    for ax, proba in zip(axes, (models["a"], models), strict=True):
        Display.from_predictions(y, proba, ax=ax)
    figure.canvas.draw()
    for ax in axes:
        inside, legend = ax.get_window_extent(), ax.get_legend().get_window_extent()
        assert inside.x0 - 1 <= legend.x0 < legend.x1 <= inside.x1 + 1
        assert inside.width > figure.bbox.width / 4
        (_, bottom) = ax.transData.inverted().transform((legend.x0, legend.y0))
        assert all(np.max(line.get_ydata()) < bottom for line in ax.lines)


@every_display
@pytest.mark.parametrize("level", [0.95, None])
def test_legend_of_six_models_on_tiny_axes_hides_nothing(Display, rows, level):
    y, models = rows
    models = {f"gradient boosting {k}": models["a"] ** (0.5 + 0.3 * k) for k in range(6)}
    _, axes = plt.subplots(2, 4, figsize=(10, 4.2))
    ax = axes[0, 0]
    options = {"thresholds": [0.1, 0.3, 0.5, 0.8], "confidence_level": level}
    Display.from_predictions(y, models, ax=ax, **options)
    ax.figure.canvas.draw()
    legend = ax.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == list(models)
    box, inside = legend.get_window_extent(), ax.get_window_extent()
    assert inside.x0 - 1 <= box.x0 < box.x1 <= inside.x1 + 1
    (_, bottom) = ax.transData.inverted().transform((box.x0, box.y0))
    assert all(np.max(line.get_ydata()) < bottom for line in ax.lines)


@every_display
def test_a_single_threshold_is_drawn(Display, rows):
    y, models = rows
    display = Display.from_predictions(y, models, thresholds=[0.3], band="curve")
    ax = display.ax_
    for line in (*display.lines_, *display.ref_lines_):
        assert line.get_marker() not in ("None", None, "")
    assert len({line.get_marker() for line in (*display.lines_, *display.ref_lines_)}) >= 2
    (low, high), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    for bar, (least, most) in zip(display.bands_, display.bands, strict=True):
        corners = bar.get_paths()[0].vertices
        assert corners[:, 0].mean() == pytest.approx(0.3, abs=0.002)
        assert {least[0], most[0]} == set(corners[:, 1])
        assert bottom <= least[0] < most[0] <= top
    assert low < 0.29
    assert high > 0.31


@every_display
def test_axes_that_show_other_labels_or_quantities(Display, rows):
    y, models = rows
    display = Display.from_predictions(y, models["a"], name="one")
    Display.from_predictions(y, 1 - models["a"], pos_label=0, name="two", ax=display.ax_)
    assert display.ax_.get_xlabel() == "Threshold probability"
    words = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert {"one, positive label: 1", "two, positive label: 0"} < set(words)
    (Other,) = {DecisionCurveDisplay, MurphyDisplay} - {Display}
    refused = [lambda: Other.from_predictions(y, models["a"], ax=display.ax_)]
    if Display is DecisionCurveDisplay:
        refused.append(lambda: display.plot(display.ax_, standardized=True))
    n_artists, label = len(display.ax_.get_children()), display.ax_.get_ylabel()
    for draw in refused:
        with pytest.raises(ValueError, match="ax must be empty, or show the quantities of this"):
            draw()
    assert len(display.ax_.get_children()) == n_artists
    assert display.ax_.get_ylabel() == label


def test_rare_outcomes_fill_the_axes():
    rng = np.random.default_rng(0)
    rare = 0.05 * rng.random(3000)
    y = (rng.random(3000) < rare).astype(int)
    display = DecisionCurveDisplay.from_predictions(y, rare)
    assert display.ax_.get_xlim()[1] < 0.3
    assert display.curves[0].thresholds[-1] == 0.99


@pytest.mark.parametrize("rate", [0.02, 0.3, 1.0])
def test_axes_end_where_no_decision_is_left(rate):
    """Predictions spread up to `rate`: at higher thresholds nobody acts, for a net benefit of 0."""
    rng = np.random.default_rng(0)
    proba = rate * rng.random(20_000)
    y = (rng.random(20_000) < proba).astype(int)
    first, last = DecisionCurveDisplay.from_predictions(y, proba).ax_.get_xlim()
    assert first < rate / 10
    assert 0.8 * rate <= last <= 1.25 * rate


def test_bands_have_the_colours_of_their_curves(rows):
    """In the legend as well."""
    y, models = rows
    models = models | {"c": models["a"] ** 0.5}
    for Display in (DecisionCurveDisplay, MurphyDisplay):
        display = Display.from_predictions(y, models, band="curve")
        colors = [to_rgba(line.get_color())[:3] for line in display.lines_]
        assert len(set(colors)) == 3
        for look in ("get_facecolor", "get_edgecolor"):
            assert [tuple(getattr(band, look)()[0, :3]) for band in display.bands_] == colors
        patches = display.ax_.get_legend().findobj(Rectangle)
        assert [patch.get_facecolor()[:3] for patch in patches] == colors


def test_very_rare_outcomes_are_compared_with_acting_always():
    rng = np.random.default_rng(0)
    rare = 0.01 * rng.random(20_000)
    y = (rng.random(20_000) < rare).astype(int)
    ax = DecisionCurveDisplay.from_predictions(y, rare).ax_
    for line in ax.lines:  # all of the legend are seen, around the base rate of .005
        x, height = line.get_data()
        (low, high), (bottom, top) = ax.get_xlim(), ax.get_ylim()
        shown = (low <= x) & (x <= high) & (bottom <= height) & (height <= top)
        assert np.count_nonzero(shown & (x < 0.005)) > 10
    ax.figure.canvas.draw()
    assert ax.yaxis.label.get_window_extent().x0 >= 0


def test_a_model_that_does_harm_everywhere_is_seen():
    """At every threshold it acts on rows whose outcome never comes true."""
    display = DecisionCurveDisplay.from_predictions(
        [0] * 9 + [1], [0.9] * 9 + [0.01], thresholds=[0.2, 0.4, 0.6]
    )
    values = display.lines_[0].get_ydata()
    low, high = display.ax_.get_ylim()
    assert values.max() < 0
    assert low < values.min() < 0 < high
