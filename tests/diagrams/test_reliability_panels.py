"""Reliability diagrams of several labels: a panel for each, and one square for all."""

from dataclasses import replace
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from skcal.diagrams import ReliabilityCurve, ReliabilityDisplay
from skcal.diagrams._entries import list_notes
from tests.diagrams.artists import (
    list_legend,
)

draw = ReliabilityDisplay.from_predictions


@pytest.mark.parametrize(
    "reduction", ["classwise", pytest.param("top-label", marks=pytest.mark.slow)]
)
def test_panels_are_the_diagrams_of_single_labels(reduction, multiclass):
    model, X, y = multiclass
    options = {"interval": True, "random_state": 0, "name": "model"}
    display = ReliabilityDisplay.from_estimator(model, X, y, reduction=reduction, **options)
    assert (display.pos_label, display.reduction) == (["a", "b", "c"], reduction)
    assert set(display.figure_.axes) == set(display.ax_)  # none is empty
    assert display.rug_ is display.witness_ is None
    proba, predicted = model.predict_proba(X), model.predict(X)
    for k, label in enumerate("abc"):
        if reduction == "classwise":
            rows, given = y == y, proba[:, k]
            words, info = ["predicted too low", "predicted too high"], f"Positive label: {label}"
        else:
            rows, given = predicted == label, proba.max(axis=1)
            words, info = ["under-confident", "over-confident"], f"Predicted label: {label}"
        expected = draw(y[rows] == label, given[rows], **options)
        np.testing.assert_array_equal(display.prob_true[k], expected.prob_true)
        np.testing.assert_array_equal(display.curves[k].density, expected.curves[0].density)
        assert display.line_[k].get_label() == expected.line_.get_label()
        assert display.line_[k].axes is display.density_[k].axes is display.ax_[k]
        first, *numbers = display.ax_[k].get_title().splitlines()
        chance = f", by chance = {expected.curves[0].smooth_ece_chance[0]:.3f}, n"
        assert first == info
        assert " ".join(numbers) == label_numbers(expected).replace(", n", chance)
        assert [text.get_text() for text in display.side_labels_[k]] == words
    figure = display.figure_
    figure.canvas.draw()
    boxes = [one.get_tightbbox() for one in (*display.ax_, *figure.legends)]
    assert not any(one.overlaps(two) for one, two in combinations(boxes, 2))
    # One legend, and labels at the outside only.
    (legend,) = figure.legends
    words = [text.get_text() for text in legend.get_texts()]
    notes = dict.fromkeys(note for ax in display.ax_ for note in list_notes(ax))
    assert words == ["Perfectly calibrated", "model", *notes]
    assert [ax.get_legend() for ax in display.ax_] == [None] * 3
    x_label = "Predicted probability" if reduction == "classwise" else "Confidence"
    assert [ax.get_xlabel() for ax in display.ax_] == [x_label] * 3
    assert [bool(ax.get_ylabel()) for ax in display.ax_] == [True, False, False]
    assert len({ax.get_xlim() + ax.get_ylim() for ax in display.ax_}) == 1
    # Axes that are given are whole diagrams.
    display.plot(plt.subplots(1, 3)[1])
    for ax, label, line in zip(display.ax_, "abc", display.line_, strict=True):
        assert ax.get_xlabel().replace("\n", " ") == f"{x_label} ({info[:-1]}{label})"
        assert list_legend(ax) == ["Perfectly calibrated", line.get_label()]


def label_numbers(display):
    """What the legend says beside the name."""
    return display.line_.get_label().removeprefix("model (").removesuffix(")")


def test_models_on_the_same_panels(multiclass):
    model, X, y = multiclass
    options = {"reduction": "classwise"}
    first = ReliabilityDisplay.from_estimator(model, X, y, name="first", **options)
    before = [(ax.get_xlabel(), ax.get_ylabel()) for ax in first.ax_]
    titles = [ax.get_title().split("\n")[0] for ax in first.ax_]
    proba = model.predict_proba(X) / 2 + 1 / 6
    second = ReliabilityDisplay.from_predictions(y, proba, name="second", ax=first.ax_, **options)
    assert [(ax.get_xlabel(), ax.get_ylabel()) for ax in first.ax_] == before
    assert [ax.get_title() for ax in first.ax_] == titles
    assert not first.figure_.legends
    for ax, *lines in zip(first.ax_, first.line_, second.line_, strict=True):
        assert list_legend(ax)[-2:] == [line.get_label() for line in lines]


def test_the_worst_of_many_panels_are_shown():
    errors = np.random.default_rng(0).permutation(13) / 26
    points = {"prob_pred": [0.1, 0.9], "prob_true": [0.1, 0.9]}
    curves = [
        ReliabilityCurve(**points, pos_label=k, smooth_ece=error) for k, error in enumerate(errors)
    ]
    display = ReliabilityDisplay(curves=curves, panels=True, name=[f"m{k}" for k in range(13)])
    worst = np.argsort(-errors)
    for options, n_shown in (({}, 12), ({"max_panels": 3}, 3), ({"max_panels": 1}, 1)):
        display.plot(**options)
        titles = [ax.get_title().splitlines() for ax in display.ax_]
        assert [label for label, _ in titles] == [f"Positive label: {k}" for k in worst[:n_shown]]
        assert titles[0][1] == f"smECE = {errors.max():.3f}"
        names = [line.get_label().split()[0] for line in display.line_]
        assert names == [f"m{k}" for k in worst[:n_shown]]
        words = display.figure_.get_suptitle()
        assert words.startswith(f"The {n_shown} of 13 classes with the largest smECE")
        assert "max_panels=None" in words
    few = ReliabilityDisplay(curves=curves[:3], panels=True, name=["m0", "m1", "m2"])
    for shown, options in (
        (display, {"max_panels": None}),
        (few, {"max_panels": 3}),
        (few, {"ax": plt.subplots(1, 3)[1]}),
    ):
        shown.plot(**options)
        assert len(shown.ax_) == len(shown.curves)
        assert [line.get_label().split()[0] for line in shown.line_] == shown.name
        assert shown.figure_.get_suptitle() == ""
    # Five panels in two rows: one that has none below has the labels.
    display = ReliabilityDisplay(curves=curves[:5], panels=True).plot()
    assert [bool(ax.get_xlabel()) for ax in display.ax_] == [False, False, True, True, True]
    assert [bool(ax.get_ylabel()) for ax in display.ax_] == [True, False, False, True, False]
    # Where it is known what chance gives, the clearest excess comes first.
    chances = np.random.default_rng(1).uniform(0.01, 0.1, (13, 2))
    known = [
        replace(curve, smooth_ece_chance=tuple(chance))
        for curve, chance in zip(curves, chances.tolist(), strict=True)
    ]
    order = np.argsort(-(errors - chances[:, 0]) / chances[:, 1])
    assert (order[:12] != worst[:12]).any()
    display = ReliabilityDisplay(curves=known, panels=True).plot()
    titles = [ax.get_title().splitlines() for ax in display.ax_]
    assert [title[0] for title in titles] == [f"Positive label: {k}" for k in order[:12]]
    numbers = [f"smECE = {errors[k]:.3f}, by chance = {chances[k, 0]:.3f}" for k in order[:12]]
    assert [" ".join(title[1:]) for title in titles] == numbers
    # At two and a half standard deviations an excess is clear.
    excess = ((errors - chances[:, 0]) / chances[:, 1]).max()
    words = "The 12 of 13 classes whose smECE stands out most from chance"
    for target, end in ((2.51, ""), (2.49, ", none of them clearly")):
        some = [
            replace(curve, smooth_ece_chance=(mean, deviation * excess / target))
            for curve, (mean, deviation) in zip(curves, chances.tolist(), strict=True)
        ]
        figure = ReliabilityDisplay(curves=some, panels=True).plot().figure_
        assert figure.get_suptitle() == f"{words}{end} (max_panels=None shows all)"
    # A curve whose smECE is not known comes last.
    display = ReliabilityDisplay(
        curves=[ReliabilityCurve(**points, pos_label="?"), *curves[:3]], panels=True
    )
    assert "?" not in "".join(ax.get_title() for ax in display.plot(max_panels=3).ax_)
    plt.close("all")
    for bad, message in (
        (0, "max_panels must be at least 1; got 0"),
        (2.5, "max_panels must be an integer; got 2.5"),
        ("all", "max_panels must be an integer; got 'all'"),
    ):
        with pytest.raises(ValueError, match=message):
            display.plot(max_panels=bad)
        assert not plt.get_fignums()


def test_classes_that_are_worse_than_chance_come_first():
    """Rare classes err little by chance, common ones much: the error itself finds the latter."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3000, 8)) + np.log(np.geomspace(0.02, 1, 8))
    proba = np.exp(scores)
    proba /= proba.sum(axis=1, keepdims=True)
    y = (proba.cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1)
    proba[:, 0] *= 2.5  # the rarest
    proba /= proba.sum(axis=1, keepdims=True)
    display = draw(y, proba, reduction="classwise", max_panels=2)
    errors = [curve.smooth_ece for curve in display.curves]
    assert np.argmax(errors) != 0
    assert display.ax_[0].get_title().startswith("Positive label: 0\n")
    assert display.curves[0].excess == max(curve.excess for curve in display.curves) > 3
    for curve, line, shares in zip(
        display.curves, y == np.arange(8)[:, None], proba.T, strict=True
    ):
        assert curve.mean_pred == pytest.approx(shares.mean(), rel=1e-12)
        assert curve.mean_true == pytest.approx(line.mean(), rel=1e-12)


def test_labels_that_are_never_predicted_have_no_panel():
    y, y_proba = ["a", "b", "c"] * 9, np.tile([0.3, 0.1, 0.6], (27, 1))
    display = draw(y, y_proba, reduction="top-label", ref_line=False)
    assert display.pos_label == ["c"]
    assert display.ax_.shape == (1,)
    assert display.ref_line_ is None
    y_proba[:9] = [0.8, 0.1, 0.1]
    assert draw(y, y_proba, reduction="top-label").pos_label == ["a", "c"]


def test_panels_of_two_classes():
    for y_true, options, expected in (
        ([0, 1, 1], {}, [0, 1]),
        ([False, True, True], {}, [False, True]),
        (["no", "yes", "no"], {"labels": ["yes", "no"]}, ["yes", "no"]),
        (["yes", "yes", "yes"], {"pos_label": "yes"}, ["not yes", "yes"]),
    ):
        y_proba = np.array([0.2, 0.6, 0.7])
        display = draw(y_true, y_proba, reduction="classwise", kind="binned", **options)
        assert display.pos_label == expected
        assert [type(label) for label in display.pos_label] == [type(label) for label in expected]
        np.testing.assert_allclose(display.prob_pred, [1 - y_proba[::-1], y_proba])


def test_full_reduction_is_one_square(multiclass):
    model, X, y = multiclass
    display = ReliabilityDisplay.from_estimator(model, X, y, reduction="full")
    hits = y[:, None] == model.classes_
    expected = draw(hits.T.ravel(), model.predict_proba(X).T.ravel())
    np.testing.assert_array_equal(display.prob_true, expected.prob_true)
    assert display.curves[0].n_samples == 3 * len(y)
    assert display.ax_.get_xlabel() == "Predicted probability, all classes"
    assert display.pos_label is None


def test_axes_and_lists_are_shared_out_to_the_panels():
    points = {"prob_pred": [0.1, 0.9], "prob_true": [0.1, 0.9]}
    curves = [ReliabilityCurve(**points, pos_label=label) for label in "abc"]
    display = ReliabilityDisplay(curves=curves, panels=True, scale="logit", name="me").plot()
    titles = ["Positive label: a", "Positive label: b", "Positive label: c"]
    assert [ax.get_title() for ax in display.ax_] == titles
    assert [line.get_label() for line in display.line_] == ["me"] * 3
    low, high = display.ax_[0].get_xlim()
    assert low < 0.1 < 0.9 < high
    _, axes = plt.subplots(3, 1)
    display = ReliabilityDisplay(curves=curves, panels=True)
    looks = [{"color": color} for color in ("red", "green", "blue")]
    display.plot(axes, name=["A", "B", "C"], curve_kwargs=looks, despine=True)
    assert display.ax_.tolist() == axes.tolist()
    assert not any(ax.spines["top"].get_visible() for ax in axes)
    assert [line.get_label() for line in display.line_] == ["A", "B", "C"]
    assert [line.get_color() for line in display.line_] == ["red", "green", "blue"]
    plt.close("all")
    for bad, message in (
        ({"name": ["A", "B"]}, "name must have one entry for each of the 3 curves; got 2"),
        ({"curve_kwargs": looks[:2]}, "curve_kwargs must have one entry for each of the 3"),
        ({"curve_kwargs": "red"}, "curve_kwargs must be None, a dictionary or a list"),
        ({"ax": axes[:2]}, "array of 3 axes, one for each panel; got 2"),
    ):
        with pytest.raises(ValueError, match=message):
            display.plot(**bad)
        assert not plt.get_fignums()
    for bad, message in (
        ({"scale": "log"}, "scale must be one of 'probability', 'logit'"),
        ({"panels": 2}, "panels must be True or False; got 2"),
    ):
        with pytest.raises(ValueError, match=message):
            ReliabilityDisplay(curves=curves, **bad).plot()
