"""Risk-coverage curves: what is drawn, and what is refused."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate

from skcal.diagrams import DecisionCurveDisplay, RiskCoverageDisplay
from skcal.inference import certified_threshold
from skcal.metrics import risk_coverage_curve


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    v = rng.uniform(0.4, 1, 400)
    return (rng.random(400) < v).astype(int), {"a": v, "b": v.round(1)}


def list_words(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_curves_bands_and_random_orders(rows):
    y, models = rows
    display = RiskCoverageDisplay.from_predictions(y, models)
    for line, area, v, (low, high) in zip(
        display.lines_, display.bands_, models.values(), display.bands, strict=True
    ):
        curve = risk_coverage_curve(y, v)
        np.testing.assert_array_equal(line.get_xydata(), np.transpose(curve[1:]))
        assert (low <= curve.risk).all()
        assert (curve.risk <= high).all()
        corners = area.get_paths()[0].vertices
        for end in (low, high):
            for corner in zip(curve.coverage, end, strict=True):
                assert np.abs(corners - corner).sum(axis=1).min() < 1e-12
    (reference,) = display.ref_lines_  # the same of both
    np.testing.assert_allclose(reference.get_ydata(), 1 - y.mean())
    assert list_words(display) == ["a", "b", "95 % band (all coverages at once)", "Random order"]
    assert display.ax_.get_xlabel() == "Coverage: share of rows accepted (Positive label: 1)"
    assert display.ax_.get_xlim() == (0, 1)
    assert display.points_ == []


def test_certified_thresholds(rows):
    y, models = rows
    display = RiskCoverageDisplay.from_predictions(y, models, at_most=0.25, confidence_level=0.9)
    options = {"at_most": 0.25, "confidence_level": 0.9}
    expected = [certified_threshold(y, v, **options) for v in models.values()]
    assert display.certified == expected
    for point, found, line in zip(display.points_, expected, display.lines_, strict=True):
        assert found.feasible
        assert point.get_xydata().tolist() == [[found.coverage, found.risk]]
        assert np.abs(line.get_xydata() - point.get_xydata()).sum(axis=1).min() < 1e-12
        assert to_hex(point.get_color()) == to_hex(line.get_color())
        assert f"{100 * found.coverage:.3g} % of rows" in point.get_label()
        assert point.get_label() in list_words(display)
    _, limit = display.ref_lines_
    np.testing.assert_array_equal(limit.get_ydata(), 0.25)
    assert limit.get_label() == "Limit of the risk: 25 %"


def test_nothing_certified(rows):
    y, models = rows
    display = RiskCoverageDisplay.from_predictions(y, models["a"], at_most=0.001)
    (point,) = display.points_
    assert len(point.get_xdata()) == 0
    assert "Nothing is certified" in list_words(display)


def test_losses_of_one_and_of_several_models(rows):
    y, models = rows
    losses = {name: (1 - y) * np.linspace(0, 1, 400) ** k for k, name in enumerate(models, 1)}
    display = RiskCoverageDisplay.from_predictions(y, models, risk=losses, at_most=0.2)
    for name, curve, found in zip(models, display.curves, display.certified, strict=True):
        options = {"risk": losses[name]}
        np.testing.assert_array_equal(curve, risk_coverage_curve(y, models[name], **options))
        assert found == certified_threshold(y, models[name], at_most=0.2, **options)
    one = RiskCoverageDisplay.from_predictions(y, models["a"], risk=losses["a"])
    np.testing.assert_array_equal(one.bands[0], display.bands[0])
    errors = RiskCoverageDisplay.from_predictions(y, models["a"])
    given = RiskCoverageDisplay.from_predictions(y, models["a"], risk=1.0 - y)
    # That they are 0 or 1 alone is known of errors only.
    assert (np.ptp(given.bands[0], axis=0) >= np.ptp(errors.bands[0], axis=0)).all()


def test_bands_of_clusters_and_weights(rows):
    y, models = rows
    v = models["a"]
    plain = RiskCoverageDisplay.from_predictions(y, v)
    for options in ({"clusters": np.arange(400)}, {"sample_weight": np.full(400, 3.0)}):
        found = RiskCoverageDisplay.from_predictions(y, v, **options)
        np.testing.assert_allclose(found.bands, plain.bands)
    heavy = np.where(np.arange(400) < 200, 1.0, 0.0)
    half = RiskCoverageDisplay.from_predictions(y[:200], v[:200])
    absent = RiskCoverageDisplay.from_predictions(y, v, sample_weight=heavy)
    np.testing.assert_allclose(absent.bands, half.bands)
    pairs = np.append(np.arange(200) // 2, np.arange(200))  # those of absent rows do not count
    absent = RiskCoverageDisplay.from_predictions(y, v, sample_weight=heavy, clusters=pairs)
    half = RiskCoverageDisplay.from_predictions(y[:200], v[:200], clusters=pairs[:200])
    np.testing.assert_allclose(absent.bands, half.bands)
    assert np.ptp(half.bands[0], axis=0)[-1] > np.ptp(plain.bands[0], axis=0)[-1]


def test_soft_labels_have_a_band(rows):
    _, models = rows
    soft = models["b"]
    display = RiskCoverageDisplay.from_predictions(soft, models["a"])
    low, high = display.bands[0]
    assert (low <= display.curves[0].risk).all()
    assert (display.curves[0].risk <= high).all()
    with pytest.raises(ValueError, match="y_true must hold labels"):
        RiskCoverageDisplay.from_predictions(soft, models["a"], at_most=0.2)


def test_ways_to_one_diagram(rows):
    y, models = rows
    X, labels = models["a"][:, None], np.array(["no", "yes"])[y]
    model = LogisticRegression().fit(X, labels)
    given = RiskCoverageDisplay.from_predictions(
        labels, model.predict_proba(X), labels=model.classes_, reduction="confidence", at_most=0.3
    )
    found = RiskCoverageDisplay.from_estimator(
        model, X, labels, reduction="confidence", at_most=0.3
    )
    np.testing.assert_array_equal(found.curves, given.curves)
    np.testing.assert_array_equal(found.bands, given.bands)
    assert found.certified == given.certified
    assert found.lines_[0].get_label() == "LogisticRegression"
    assert given.lines_[0].get_label() == "Classifier"
    assert found.ax_.get_xlabel() == "Coverage: share of rows accepted"
    results = cross_validate(model, X, labels, cv=3, return_estimator=True, return_indices=True)
    folds = RiskCoverageDisplay.from_cv_results(results, X, labels)
    assert len(folds.lines_) == 3
    assert folds.bands is None
    assert list_words(folds)[0] == "LogisticRegression"
    for curve, fold, test in zip(
        folds.curves, results["estimator"], results["indices"]["test"], strict=True
    ):
        proba = fold.predict_proba(X[test])
        expected = risk_coverage_curve(labels[test], proba, reduction="confidence")
        np.testing.assert_array_equal(curve, expected)
    banded = RiskCoverageDisplay.from_cv_results(results, X, labels, confidence_level=0.9)
    assert len(banded.bands_) == 3


def test_two_classes_are_accepted_by_confidence():
    """As three are: an answer is the label that is predicted, not the positive one alone."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    labels = np.where(rng.random(400) < 1 / (1 + np.exp(-2 * X[:, 0])), "yes", "no")
    model = LogisticRegression().fit(X, labels)
    proba = model.predict_proba(X)
    assert 100 < (proba[:, 0] > 0.5).sum() < 300  # of some rows the other label is the answer
    options = {"reduction": "confidence", "labels": ["no", "yes"]}
    expected = risk_coverage_curve(labels, proba, **options)
    limit = {"at_most": 0.35}
    found = RiskCoverageDisplay.from_estimator(model, X, labels, **limit)
    np.testing.assert_array_equal(found.curves[0], expected)
    assert found.certified == [certified_threshold(labels, proba, **options, **limit)]
    assert found.curves[0].risk[-1] == pytest.approx((model.predict(X) != labels).mean())
    several = {"columns": proba, "column": proba[:, 1]}
    display = RiskCoverageDisplay.from_predictions(labels, several, labels=["no", "yes"])
    for curve in display.curves:
        np.testing.assert_allclose(np.array(curve), np.array(expected))
    one = RiskCoverageDisplay.from_predictions(labels, proba, pos_label="yes")
    np.testing.assert_array_equal(
        one.curves[0], risk_coverage_curve(labels, proba, pos_label="yes")
    )
    assert one.pos_label == "yes"
    single = RiskCoverageDisplay.from_predictions(labels, proba[:, 1], pos_label="yes")
    np.testing.assert_array_equal(single.curves[0], one.curves[0])


def test_common_axes_and_looks(rows):
    y, models = rows
    first = RiskCoverageDisplay.from_predictions(y, models["a"], name="first", at_most=0.25)
    n_lines = len(first.ax_.lines)
    second = RiskCoverageDisplay.from_predictions(
        y,
        models["b"],
        name="second",
        at_most=0.25,
        ax=first.ax_,
        curve_kwargs={"c": "red"},
        band_kwargs={"alpha": 0.1},
        despine=True,
    )
    # Lines to compare with are the same.
    assert len(first.ax_.lines) == n_lines + 2
    assert not second.ref_lines_
    assert to_hex(second.lines_[0].get_color()) == "#ff0000"
    assert second.bands_[0].get_alpha() == 0.1
    assert not first.ax_.spines["top"].get_visible()
    words = list_words(second)
    assert {"first", "second"} < set(words)
    with pytest.raises(ValueError, match="ax must be empty, or show the quantities of this"):
        DecisionCurveDisplay.from_predictions(y, models["a"], ax=first.ax_)


@pytest.mark.parametrize("level", [0.95, None])
def test_legend_hides_nothing(rows, level):
    """Curves and bands are cut below it, and ticks end there; points are always inside."""
    y, models = rows
    limit = None if level is None else 0.25
    for proba in (models["a"], models):
        options = {"confidence_level": level, "at_most": limit}
        display = RiskCoverageDisplay.from_predictions(y, proba, **options)
        ax = display.ax_
        ax.figure.canvas.draw()
        (_, bottom) = ax.transData.inverted().transform(ax.get_legend().get_window_extent().min)
        for artist in (*display.lines_, *display.bands_):
            inside = ax.transData.inverted().transform(artist.get_clip_box().max)
            assert inside[1] <= bottom
        assert max(ax.get_yticks()) <= bottom
        for line in (*display.ref_lines_, *display.points_):
            assert max(line.get_ydata()) <= bottom
        settled = [curve.risk[curve.coverage >= 0.1].max() for curve in display.curves]
        assert max(settled) <= bottom


def test_single_predictions_and_rows_are_drawn():
    for y, v in (([1], [0.7]), ([0, 1, 1], [0.5] * 3)):
        display = RiskCoverageDisplay.from_predictions(y, v, at_most=0.5)
        assert display.lines_[0].get_marker() == "o"
        assert display.lines_[0].get_xdata().tolist() == [1.0]
        display.figure_.canvas.draw()
    never = RiskCoverageDisplay.from_predictions([1] * 50, np.linspace(0, 1, 50), labels=[0, 1])
    assert never.ax_.get_ylim()[1] > 0


def test_made_by_hand():
    curve = risk_coverage_curve([0, 1, 1], [0.2, 0.4, 0.7])
    display = RiskCoverageDisplay(curves=[curve]).plot()
    assert display.bands_ == []
    for options, message in (
        ({"curves": []}, "curves must be a list of one RiskCoverageCurve"),
        ({"curves": [curve], "bands": [None] * 2}, "bands must have one entry for each of the 1"),
        ({"curves": [curve], "certified": []}, "certified must have one entry for each of the 1"),
    ):
        with pytest.raises(ValueError, match=message):
            RiskCoverageDisplay(**options).plot()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"risk": "miss"}, "risk must be 'error' or an array of losses"),
        ({"risk": {"x": [0, 1]}}, r"risk must have the losses of the models \['Cl.*got \['x'\]"),
        ({"at_most": 1.5}, "at_most must be above 0 and below 1"),
        ({"at_most": 0.5, "confidence_level": None}, "at_most must be None without a confidence"),
        ({"clusters": [0, 1], "confidence_level": None}, "clusters must be None without a conf"),
        ({"at_most": 0.5, "sample_weight": [1, 2]}, "at_most must be None where sample_weight is"),
        ({"at_most": 0.5, "confidence_level": 0.4}, "confidence_level must be above 0.5"),
        ({"reduction": "classwise"}, "reduction must give one binary problem .*'classwise'"),
        ({"confidence_level": 2}, "confidence_level must be"),
        ({"clusters": [0, 0]}, "clusters must hold at least two clusters"),
        ({"despine": 1}, "despine must be True or False"),
        ({"name": "x", "y_proba": {"a": [0.1, 0.2]}}, "name must be None: the keys of y_proba"),
        ({"y_proba": {}}, "y_proba must hold one model at least; it is an empty dictionary"),
        (
            {"y_proba": pd.DataFrame({"a": [0.1, 0.2], "b": [0.3, 0.4]})},
            r"must sum to 1; .* If its columns are models, pass a dictionary, {'a': ..., 'b': ...}",
        ),
    ],
)
def test_what_is_refused(options, message):
    before = plt.get_fignums()
    with pytest.raises(ValueError, match=message):
        RiskCoverageDisplay.from_predictions(**{"y_true": [0, 1], "y_proba": [0.2, 0.7], **options})
    assert plt.get_fignums() == before
