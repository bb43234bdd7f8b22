"""Legends say what is drawn beside curves; on small axes words stay inside, or leave."""

from functools import partial
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_validate

from skcal.diagrams import (
    CalibrationSharpnessDisplay,
    DecisionCurveDisplay,
    GroupAuditDisplay,
    IntervalCoverageDisplay,
    MeanReliabilityDisplay,
    QuantileReliabilityDisplay,
    ReliabilityCurve,
    ReliabilityDisplay,
    SurvivalReliabilityDisplay,
)
from skcal.diagrams._entries import list_notes
from skcal.diagrams._layers._band import Band
from skcal.inference import cox_recalibration
from skcal.streaming import CalibrationSummary
from tests.diagrams.artists import list_legend

rng = np.random.default_rng(0)
P = rng.uniform(0.05, 0.95, 300)
Y = (rng.random(300) < P).astype(int)
DENSITY = "Density of the predictions"


def list_words(Display=ReliabilityDisplay, y_proba=P, **options):
    ax = Display.from_predictions(Y, y_proba, **options).ax_
    words = [text.get_text().replace("\n", " ") for text in ax.get_legend().get_texts()]
    return [word for word in words if word in list_notes(ax)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"layers": ["band"]}, "95 % band, each point by itself"),
        ({"layers": ["band"], "confidence_level": 0.9}, "90 % band, each point by itself"),
        ({"kind": "binned", "layers": ["band"]}, "95 % intervals, each by itself"),
        (
            {"kind": "binned", "band": "consistency", "layers": ["band"]},
            "95 % of calibrated bins, each by itself",
        ),
        ({"band": "isotonic", "layers": ["band"]}, "95 % band, all points at once"),
        ({"band": "belt", "layers": ["band"]}, "95 % GiViTI belt, all points at once"),
        ({"kind": "binned", "layers": ["density"]}, DENSITY),
        ({"layers": ["rug"]}, "Ticks: outcome 0 below, 1 above"),
        ({"layers": ["witness"]}, "Strip: where predictions are too low or too high"),
        ({"layers": ["split_density"]}, f"{DENSITY}: outcome 0 below, 1 above"),
        ({"layers": ["curve_color"]}, "Dark curve: many predictions"),
        (
            {"layers": ["curve_width"]},
            "Thick curve: an error beyond chance, thickest where predictions are many",
        ),
        (
            {"layers": ["density", "curve_width"], "y_proba": {"a": P, "b": P**3}},
            f"{DENSITY}; thick curves err beyond chance",
        ),
    ],
)
def test_every_layer_has_words(options, words):
    assert list_words(**options) == [words]


def test_a_band_of_sharpness_is_no_confidence_band():
    assert list_words(CalibrationSharpnessDisplay) == [
        DENSITY,
        "Sharpness gap × density: no confidence band",
    ]


def test_models_share_an_entry_that_has_the_colours_of_all():
    display = ReliabilityDisplay.from_predictions(Y, {"a": P, "b": P**3}, layers=["band"])
    (areas,) = list_notes(display.ax_).values()
    colors = [to_rgba(line.get_color())[:3] for line in display.line_]
    assert [tuple(area.get_facecolor()[0, :3]) for area in areas] == colors


def test_words_of_the_user_win_and_bands_by_hand_have_no_level():
    display = ReliabilityDisplay.from_predictions(
        Y, P, layers=["band"], layer_kwargs={"band": {"label": "mine"}}
    )
    assert list_legend(display.ax_)[-1] == "mine"
    band = Band(prob_pred=[0.2, 0.8], low=[0.1, 0.7], high=[0.3, 0.9])
    curve = ReliabilityCurve(prob_pred=[0.2, 0.8], prob_true=[0.2, 0.8], layers={"band": band})
    ax = ReliabilityDisplay(curves=[curve]).plot().ax_
    assert list(list_notes(ax)) == ["Band, each point by itself"]


@pytest.mark.parametrize("names", [["a"], ["a", "b", "c"]])
def test_legends_of_small_axes_stay_inside_and_name_every_model(names):
    figure, axes = plt.subplots(3, 3, figsize=(7, 7))
    models = {name: P ** (k + 1) for k, name in enumerate(names)}
    for ax in axes[:2, 0]:
        ReliabilityDisplay.from_predictions(Y, models, ax=ax)
    figure.canvas.draw()
    for ax in axes[:2, 0]:
        legend = ax.get_legend().get_window_extent()
        place = ax.get_position(original=True).transformed(figure.transFigure)
        assert place.y0 <= legend.y0 < legend.y1 <= place.y1 + 1
        assert not list_legend(ax)[0].startswith(DENSITY)
        assert [entry.split()[0] for entry in list_legend(ax)][-len(names) :] == names
    # What the label of the x axis says besides is told by the other axis.
    assert axes[0, 0].get_xlabel() == "Predicted probability"
    assert axes[0, 0].get_ylabel() == "Fraction of positives\n(Positive label: 1)"


def test_words_on_the_sides_are_never_on_a_curve():
    """Curves pass through the usual places, or leave no room at all."""
    for shape, n_shown in (
        (lambda p: np.clip(p + 0.45, 0, 1), 2),
        (lambda p: np.clip(p - 0.45, 0, 1), 2),
        (lambda p: 0.5 + 0.5 * np.sin(80 * p), 0),
    ):
        places = np.linspace(0, 1, 400)
        curve = ReliabilityCurve(prob_pred=places, prob_true=shape(places))
        display = ReliabilityDisplay(curves=[curve]).plot()
        display.figure_.canvas.draw()
        shown = [text for text in display.side_labels_ if text.get_visible()]
        assert len(shown) == n_shown
        points = display.ax_.transData.transform(np.column_stack(display.line_.get_data()))
        for text in shown:
            box = text.get_window_extent()
            assert not any(box.contains(*point) for point in points)
            x, y = text.get_position()
            assert (y > x) == (text.get_text() == "predicted too low")


def draw_small():
    figure, axes = plt.subplots(3, 3, figsize=(8, 8))
    return figure, axes[1, 1]


def find_overlaps(boxes):
    return any(one.overlaps(two) for one, two in combinations(boxes, 2))


def test_means_of_hundred_thousands_have_ticks_that_do_not_touch():
    figure, ax = draw_small()
    y_pred = rng.uniform(2e5, 6e5, 200)
    MeanReliabilityDisplay.from_predictions(y_pred, y_pred * 1.01, ax=ax)
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.get_xticklabels()]
    assert len(boxes) >= 2
    assert not find_overlaps(boxes)


def test_many_quantiles_on_small_axes_name_the_outer_levels_at_the_lines():
    figure, ax = draw_small()
    levels = np.arange(1, 10) / 10
    y = rng.normal(size=300)
    columns = np.add.outer(y, norm.ppf(levels))
    display = QuantileReliabilityDisplay.from_predictions(y, columns, quantiles=levels, ax=ax)
    assert ax.get_legend() is None
    figure.canvas.draw()
    words = {text.get_text(): text for text in ax.texts}
    assert {"0.1", "0.9"} <= set(words)
    assert not find_overlaps([text.get_window_extent() for text in ax.texts])
    for line, level in zip(display.lines_, levels, strict=True):
        if f"{level:g}" in words:
            assert words[f"{level:g}"].xy == (line.get_xdata()[-1], line.get_ydata()[-1])


def test_legends_above_decision_curves_leave_room_for_them():
    _, ax = draw_small()
    DecisionCurveDisplay.from_predictions(Y, {"a": P, "b": P**2}, ax=ax)
    assert list_legend(ax) == ["a", "b"]
    share = ax.get_legend().get_window_extent().height / ax.get_window_extent().height
    assert share < 0.5


def test_differences_of_groups_have_ticks_that_do_not_touch():
    figure, ax = draw_small()
    GroupAuditDisplay.from_predictions(Y, P, rng.choice(["a", "b"], 300), random_state=0, ax=ax)
    figure.canvas.draw()
    assert not find_overlaps([text.get_window_extent() for text in ax.get_xticklabels()])


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ([0.713125, 0.913125], ["0.713", "0.913"]),
        ([0.71301, 0.71302], ["0.71301", "0.71302"]),
        ([365, 1826], ["365", "1826"]),
    ],
)
def test_horizons_are_rounded_but_told_apart(times, words):
    size = times[1]
    time = rng.uniform(0, 1.3 * size, 100)
    risk = np.tile(np.sort(rng.uniform(0.4, 0.8, 2)), (100, 1))
    display = SurvivalReliabilityDisplay.from_predictions(np.ones(100), time, risk, times=times)
    titles = [ax.get_title().split("\n")[0] for ax in display.axes_[:2]]
    assert titles == [f"Up to {word}" for word in words]


def test_intervals_of_one_width_ask_for_groups():
    y = rng.normal(size=50)
    label = IntervalCoverageDisplay.from_predictions(y, [[-1.0, 1.0]] * 50).ax_.get_xlabel()
    assert "the same for all rows" in label
    assert "by=" in label
    ends = np.column_stack([-np.abs(y) - 1, np.abs(y) + 1])
    label = IntervalCoverageDisplay.from_predictions(y, ends).ax_.get_xlabel()
    assert label == "Width of the interval"


def test_numbers_count_rows_clusters_and_pooled_classes():
    clusters = np.arange(300) // 5
    (entry,) = list_entries_of_models(ReliabilityDisplay.from_predictions(Y, P, clusters=clusters))
    assert "n = 300, clusters = 60" in entry
    copies = np.repeat(np.stack([Y, P], axis=1)[:60], 5, axis=0)  # of one row each cluster
    options = {"clusters": clusters}
    display = ReliabilityDisplay.from_predictions(copies[:, 0].astype(int), copies[:, 1], **options)
    assert "clusters = 60" in list_entries_of_models(display)[0]
    display = MeanReliabilityDisplay.from_predictions(*copies.T, **options)
    assert "clusters = 60" in list_entries_of_models(display)[0]
    display = MeanReliabilityDisplay.from_predictions(P + Y, P, **options)
    assert "n = 300, clusters = 60" in list_entries_of_models(display)[0]
    # All classes of a row are pooled: three rows for each would be said else.
    proba = np.column_stack([P / 2, P / 2, 1 - P])
    y, weights = np.arange(300) % 3, np.where(np.arange(300) < 150, 1.0, 2.0)
    summary = CalibrationSummary(reduction="full", labels=[0, 1, 2]).update(y, proba)
    display = ReliabilityDisplay.from_predictions(y, proba, reduction="full")
    for shown in (display, ReliabilityDisplay.from_summary(summary)):
        assert "n = 300, classes = 3" in list_entries_of_models(shown)[0]
    display = ReliabilityDisplay.from_predictions(y, proba, reduction="full", sample_weight=weights)
    assert "effective rows = 270" in list_entries_of_models(display)[0]  # 450^2 / 750
    display = ReliabilityDisplay.from_predictions(Y, P, reduction="full")
    assert "n = 300, classes = 2" in list_entries_of_models(display)[0]
    (entry,) = list_entries_of_models(ReliabilityDisplay.from_predictions(Y, P))
    assert "clusters" not in entry
    assert "classes" not in entry


def list_entries_of_models(display):
    return [entry for entry in list_legend(display.ax_) if " = " in entry]


def test_means_say_what_bands_and_ticks_are():
    models = {"one": P, "two": P + 0.1}
    for scale in ("linear", "log"):
        ax = MeanReliabilityDisplay.from_predictions(P + Y, models, scale=scale).ax_
        words = [text.get_text() for text in ax.get_legend().get_texts()]
        assert words[2:] == ["95 % band, all points at once", "Ticks: deciles of the predictions"]
        colors = [to_rgba(line.get_color())[:3] for line in ax.lines if " = " in line.get_label()]
        for areas in list_notes(ax).values():  # of both models
            found = [(*area.get_facecolor(), *area.get_edgecolor())[0] for area in areas]
            assert [tuple(color[:3]) for color in found] == colors
    ax = MeanReliabilityDisplay.from_predictions(Y, P.round(1)).ax_
    assert "95 % intervals, all at once" in [
        text.get_text() for text in ax.get_legend().get_texts()
    ]
    options = {"band_kwargs": {"label": "my words"}}
    ax = MeanReliabilityDisplay.from_predictions(Y, P, **options).ax_
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "my words" in words
    assert not any("band" in word for word in words)


@pytest.mark.parametrize("options", [{}, {"sample_weight": 1.0 + np.arange(300) % 3}])
def test_clinical_numbers_are_those_of_cox_and_of_the_roc_curve(options):
    v = P.round(1) / 2 + 0.2  # with ties
    found = cox_recalibration(Y, v, **options)
    display = ReliabilityDisplay.from_predictions(Y, v, annotate="clinical", **options)
    (curve,) = display.curves
    assert curve.in_the_large == pytest.approx(found.calibration_in_the_large.estimate, abs=1e-9)
    assert curve.slope == pytest.approx(found.slope.estimate, abs=1e-9)
    assert curve.auc == pytest.approx(roc_auc_score(Y, v, **options), abs=1e-12)
    numbers = f"in the large = {curve.in_the_large:.2f}, slope = {curve.slope:.2f}"
    assert f"{numbers}, AUC = {curve.auc:.2f}" in list_entries_of_models(display)[0]
    plain = ReliabilityDisplay.from_predictions(Y, v, **options)
    assert "AUC" not in list_entries_of_models(plain)[0]


def test_clinical_numbers_of_folds():
    """Each fold has those of its test rows, and the legend their mean and deviation."""
    X = np.column_stack([logit(P), 1 - P])
    options = {"cv": 3, "return_estimator": True, "return_indices": True}
    results = cross_validate(LogisticRegression(), X, Y, **options)
    display = ReliabilityDisplay.from_cv_results(results, X, Y, annotate="clinical")
    for curve, model, rows in zip(
        display.curves, results["estimator"], results["indices"]["test"], strict=True
    ):
        found = cox_recalibration(Y[rows], model.predict_proba(X[rows])[:, 1])
        assert curve.slope == pytest.approx(found.slope.estimate, abs=1e-6)
    auc = [curve.auc for curve in display.curves]
    assert f"AUC = {np.mean(auc):.2f} +/- {np.std(auc):.2f}" in list_entries_of_models(display)[0]
    plain = ReliabilityDisplay.from_cv_results(results, X, Y)
    assert "AUC" not in list_entries_of_models(plain)[0]


@pytest.mark.parametrize("rarity", [0, 6])
def test_clinical_numbers_of_a_summary(rarity):
    """To the places that are shown they are those of the rows, also of rare events."""
    log_odds = rng.normal(-rarity, 1.5, size=4000)
    y, v = (rng.random(4000) < expit(0.8 * log_odds)).astype(int), expit(log_odds)
    summary = CalibrationSummary().update(y[:1000], v[:1000]).update(y[1000:], v[1000:])
    (curve,) = ReliabilityDisplay.from_summary(summary, annotate="clinical").curves
    found = cox_recalibration(y, v)
    in_the_large = found.calibration_in_the_large.estimate
    assert curve.in_the_large == pytest.approx(in_the_large, abs=1e-6)
    assert curve.slope == pytest.approx(found.slope.estimate, abs=1e-3)
    assert curve.auc == pytest.approx(roc_auc_score(y, v), abs=1e-3)
    # Of one value in each cell nothing is lost: ties remain ties.
    tied = (np.minimum(np.floor(16 * v), 15) + 0.3) / 16
    summary = CalibrationSummary(n_cells=16).update(y, tied)
    (curve,) = ReliabilityDisplay.from_summary(summary, annotate="clinical").curves
    assert curve.auc == pytest.approx(roc_auc_score(y, tied), abs=1e-12)
    assert curve.slope == pytest.approx(cox_recalibration(y, tied).slope.estimate, abs=1e-9)
    plain = ReliabilityDisplay.from_summary(summary)
    assert "AUC" not in list_entries_of_models(plain)[0]


def test_clinical_numbers_that_are_not_defined_are_not_shown():
    draw = partial(ReliabilityDisplay.from_predictions, annotate="clinical")
    pairs = np.repeat(np.stack([Y, P])[:, :150], 2, axis=1)
    (copies,) = draw(pairs[0].astype(int), pairs[1], clusters=np.arange(300) // 2).curves
    (once,) = draw(Y[:150], P[:150]).curves
    assert copies.slope == pytest.approx(once.slope)
    assert copies.auc == pytest.approx(once.auc)
    hard = np.where(P > 0.9, 1.0, P)  # infinite log odds
    (curve,) = draw(Y, hard).curves
    assert curve.slope is curve.in_the_large is None
    assert curve.auc == pytest.approx(roc_auc_score(Y, hard))
    (curve,) = draw(np.zeros(300, dtype=int), P).curves
    assert curve.slope is curve.in_the_large is curve.auc is None
    (curve,) = draw(Y, np.full(300, 0.3)).curves
    assert curve.slope is None
    assert curve.in_the_large == pytest.approx(logit(Y.mean()) - logit(0.3))
    assert curve.auc == 0.5
    with pytest.raises(ValueError, match="annotate must be None for soft labels"):
        draw(P, P)
    with pytest.raises(ValueError, match="annotate must be one of 'clinical'"):
        ReliabilityDisplay.from_predictions(Y, P, annotate="all")
