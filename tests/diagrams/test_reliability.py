"""ReliabilityDisplay: kinds of curves, bandwidth, scale of logits, panels."""

from dataclasses import replace
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_digits
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from skcal.diagrams import ReliabilityCurve, ReliabilityDisplay
from skcal.diagrams._curve import find_dense
from skcal.diagrams._entries import list_notes
from skcal.inference import confidence_interval
from skcal.metrics import expected_calibration_error, smooth_ece, smooth_ece_curve
from skcal.streaming import CalibrationSummary
from tests.diagrams.artists import (
    assert_same_curve,
    assert_same_drawing,
    find_shown,
    list_legend,
    read_vertices,
)

draw = ReliabilityDisplay.from_predictions
every_kind = pytest.mark.parametrize("kind", ["smooth", "isotonic", "binned"])


@pytest.fixture(scope="module")
def data():
    """Outcomes and predictions with ties."""
    rng = np.random.default_rng(0)
    proba = rng.random(600).round(2)
    return (rng.random(600) < proba**1.5).astype(int), proba


@pytest.fixture(scope="module")
def rare():
    rng = np.random.default_rng(0)
    proba = expit(rng.normal(-4, 1.5, 800))
    return (rng.random(800) < proba**0.8).astype(int), proba


def test_legend_shows_the_measure(shared_data):
    # Residuals of one sign: smECE is the absolute mean residual.
    assert draw([1] * 50, [0.966] * 50).line_.get_label() == "Classifier (smECE = 0.034, n = 50)"
    # smECE computed from the definition by direct quadrature, to the digits shown.
    for file, value in (
        ("cifar10_densenet40_confidence.csv", "0.055"),
        ("imagenet_resnet34_confidence.csv", "0.078"),
        ("solar_flares_c1.csv", "0.067"),
        ("rain_finland_2003.csv", "0.134"),
    ):
        rows = pd.read_csv(shared_data / file)
        display = draw(rows["y_true"], rows["y_prob"], kind="smooth")
        assert display.line_.get_label() == f"Classifier (smECE = {value}, n = {len(rows):,})"


def test_legend_shows_the_effective_number_of_rows_where_weights_differ(data):
    y, proba = data[:2]
    weights = np.where(np.arange(len(y)) < 10, 1.0, 0.0)
    assert "effective" not in draw(y, proba, sample_weight=3 * weights).line_.get_label()
    weights[0] = 10  # (10 + 9)^2 / (100 + 9) = 3.31
    display = draw(y, proba, sample_weight=7 * weights)
    assert display.line_.get_label().endswith(", effective rows = 3)")
    assert (display.curves[0].n_rows, round(display.curves[0].n_samples, 2)) == (10, 3.31)


def test_legend_of_a_rare_event_compares_it_with_what_was_expected():
    rng = np.random.default_rng(0)
    proba, weights = rng.beta(1, 30, 2000), rng.integers(0, 4, 2000)
    y = (rng.random(2000) < proba / 2).astype(int)
    for weight in (None, weights):
        events, expected = np.average([y, proba], axis=1, weights=weight)
        assert events < 0.1
        label = draw(y, proba, sample_weight=weight).line_.get_label()
        assert f", O/E = {events / expected:.2f}, n = " in label
    summary = CalibrationSummary().update(y, proba)
    label = ReliabilityDisplay.from_summary(summary).line_.get_label()
    assert f", O/E = {y.sum() / proba.sum():.2f}, n = 2,000" in label
    for outcomes, share, options in (
        (1 - y, 1 - proba, {}),  # nearly sure
        (y, np.zeros(2000), {}),  # nothing was expected
        (y, np.column_stack([1 - proba, proba]), {"reduction": "full"}),
        (np.where(y, 1, 2), np.column_stack([1 - proba, proba, 0 * y]), {"labels": [1, 2, 3]}),
    ):
        assert "O/E" not in draw(outcomes, share, **options).line_.get_label()
    assert "O/E" in draw(0 * y, proba, pos_label=1).line_.get_label()  # no event


def test_few_rows_have_a_rug_and_an_interval():
    rng = np.random.default_rng(0)
    proba = rng.random(60)
    y = (rng.random(60) < proba).astype(int)
    few, many = draw(y[:49], proba[:49]), draw(y[:50], proba[:50])
    options = {"random_state": 0, "confidence_level": 0.95}
    _, low, high = confidence_interval(y[:49], proba[:49], **options)
    assert few.curves[0].smooth_ece_interval == pytest.approx((low, high), abs=1e-12)
    assert f"[{low:.3f}, {high:.3f}], n = 49" in few.line_.get_label()
    np.testing.assert_array_equal(few.curves[0].layers["rug"].prob_pred, proba[:49])
    assert few.rug_ is not None
    assert many.rug_ is many.curves[0].smooth_ece_interval is None
    assert_same_curve(few.curves[0], draw(y[:49], proba[:49]).curves[0])
    # Rows of weight zero do not count.
    some = draw(y, proba, sample_weight=np.arange(60) < 49)
    assert_same_curve(some.curves[0], few.curves[0])
    # Who says what to draw gets that alone.
    plain = draw(y[:49], proba[:49], layers=("density",), interval=False)
    assert plain.rug_ is plain.curves[0].smooth_ece_interval is None
    # Nor are there single rows, or independent ones, of soft labels, of a summary, of all classes.
    matrix = np.column_stack([1 - proba, proba])[:20]
    summary = CalibrationSummary().update(y[:20], proba[:20])
    for display in (
        draw(0.5 * y[:49], proba[:49]),
        ReliabilityDisplay.from_summary(summary),
        draw(y[:20], matrix, reduction="full"),
    ):
        assert display.curves[0].smooth_ece_interval is None
    panels = draw(y[:20], matrix, reduction="classwise")
    assert all(curve.smooth_ece_interval is None for curve in panels.curves)
    assert all(rug is not None for rug in panels.rug_)


def test_bandwidth_changes_the_curve_and_not_the_measure(data):
    y, proba = 1 - data[0], data[1]  # errors of both signs, which a bandwidth mixes
    display = draw(y, proba, bandwidth=0.3)
    curve = smooth_ece_curve(y, proba, bandwidth=0.3)
    assert display.curves[0].bandwidth == 0.3
    np.testing.assert_array_equal(display.prob_true, curve.prob_true)
    assert display.smooth_ece == smooth_ece(y, proba) != curve.value


@pytest.mark.parametrize("weighted", [False, True])
def test_isotonic_curve_is_the_isotonic_regression(data, weighted):
    y, proba = data
    weight = np.random.default_rng(1).random(600) if weighted else None
    display = draw(y, proba, kind="isotonic", sample_weight=weight)
    expected = IsotonicRegression().fit(proba, y, sample_weight=weight)
    # Both ends of every step are there, so that the line passes through all fitted values.
    read = np.interp(np.unique(proba), display.prob_pred, display.prob_true)
    np.testing.assert_allclose(read, expected.predict(np.unique(proba)), atol=1e-12)
    assert (np.diff(display.prob_pred) > 0).all()
    assert np.isin(display.prob_pred, proba).all()
    # No knot could be left out: each one is an end of a step.
    assert np.unique(display.prob_true, return_counts=True)[1].max() <= 2


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize(
    "n_bins", [pytest.param(1, marks=pytest.mark.slow), 7, pytest.param(40, marks=pytest.mark.slow)]
)
def test_bins_are_those_of_scikit_learn_and_of_the_measure(strategy, n_bins):
    rng = np.random.default_rng(0)
    proba = rng.beta(0.5, 2, 500)
    y, options = rng.random(500) < proba, {"n_bins": n_bins, "strategy": strategy}
    display = draw(y, proba, kind="binned", **options)
    points = display.prob_true, display.prob_pred
    np.testing.assert_allclose(points, calibration_curve(y, proba, **options), atol=1e-12)
    error = expected_calibration_error(y, proba, **options)
    assert display.curves[0].binned_ece == pytest.approx(error, abs=1e-12)
    words = f"Classifier (ECE = {error:.3f}, smECE = {display.smooth_ece:.3f}, n = 500)"
    assert display.line_.get_label() == words
    assert draw(y, proba).curves[0].binned_ece is None
    weight = rng.integers(1, 4, 500)
    weighted = draw(y, proba, kind="binned", sample_weight=weight, **options)
    error = expected_calibration_error(y, proba, sample_weight=weight, **options)
    assert weighted.curves[0].binned_ece == pytest.approx(error, abs=1e-12)
    swept = draw(y, proba, kind="binned", strategy="sweep")
    error = expected_calibration_error(y, proba, strategy="sweep", norm=np.inf)
    assert np.abs(swept.prob_true - swept.prob_pred).max() == pytest.approx(error, abs=1e-12)


@every_kind
@pytest.mark.parametrize("scale", ["probability", pytest.param("logit", marks=pytest.mark.slow)])
def test_what_is_computed_may_be_drawn_later(kind, scale, binary):
    model, X, y = binary
    options = {"kind": kind, "scale": scale, "interval": kind == "smooth"}
    options |= {"n_bins": 5} if kind == "binned" else {}
    options |= {"random_state": 0}
    options["layers"] = ("density", "band", "rug", "witness")
    drawn = ReliabilityDisplay.from_estimator(model, X, y, **options)
    y_proba = model.predict_proba(X)
    display = ReliabilityDisplay.estimate(y, y_proba, name=drawn.name, **options)
    assert not hasattr(display, "line_")
    assert_same_drawing(display.plot(), drawn, options["layers"])
    # Density and measure do not depend on the kind.
    (curve,) = display.curves
    points = {"scale": scale, "n_points": len(curve.density_grid)}
    smooth = smooth_ece_curve(y == "yes", y_proba[:, 1], **points)
    assert (curve.kind, curve.smooth_ece) == (kind, smooth.value)
    np.testing.assert_array_equal(curve.density_grid, smooth.grid)
    np.testing.assert_array_equal(curve.density, smooth.density)
    with pytest.raises(TypeError):
        ReliabilityDisplay.estimate(y, y_proba, curve_kwargs={})


def test_bad_options():
    for options, message in (
        ({"reduction": "confidense"}, "reduction must be .* Did you mean 'confidence'"),
        ({"kind": "step"}, "kind must be one of 'auto', 'smooth', .*'isotonic', 'binned'"),
        ({"kind": "binned", "n_bins": 0}, "n_bins must be at least 1; got 0"),
        ({"kind": "binned", "strategy": "even"}, "strategy must be one of 'uniform'"),
        ({"n_bins": 10}, "n_bins needs kind='binned'; got kind='auto', which has no bins"),
        (
            {"kind": "isotonic", "strategy": "quantile"},
            "strategy needs kind='binned'; got kind='is",
        ),
        ({"scale": "logit", "bandwidth": 100}, "bandwidth must be .* below 100"),
    ):
        with pytest.raises(ValueError, match=message):
            draw([0, 1], [0.2, 0.9], **options)


def test_everything_is_on_the_scale_of_logits(rare):
    display = draw(*rare, scale="logit", bandwidth=0.4)
    n_points = len(display.prob_pred)
    smooth = smooth_ece_curve(*rare, scale="logit", bandwidth=0.4, n_points=n_points)
    np.testing.assert_array_equal(display.prob_pred, smooth.prob_pred)
    np.testing.assert_array_equal(display.prob_true, smooth.prob_true)
    assert display.ax_.get_xscale() == display.ax_.get_yscale() == display.scale == "logit"
    ratio = rare[0].sum() / rare[1].sum()
    words = f"Classifier (logit smECE = {display.smooth_ece:.3f}, O/E = {ratio:.2f}, n = 800)"
    assert display.line_.get_label() == words
    # A long scale has two points in a bandwidth, a short one 201.
    narrow = draw(*rare, scale="logit", bandwidth=0.02)
    assert 0.01 <= np.diff(logit(narrow.curves[0].density_grid)).max() <= 0.0101
    assert len(draw(*rare, scale="logit", bandwidth=50).prob_pred) == 201


def test_curve_of_logits_ends_where_an_outcome_is_missing(rare):
    """There it would fall or rise without end. The kernel gathers n E[exp(-d^2 / 2 s^2)] rows."""
    y, proba = rare
    for outcome in (y, 1 - y):
        display = draw(outcome, proba, scale="logit", bandwidth=0.3)
        (curve,), line = display.curves, display.line_
        distances = logit(curve.density_grid)[:, None] - logit(proba)
        kernel = np.exp(-0.5 * (distances / 0.3) ** 2)
        fewer = np.minimum(kernel @ outcome, kernel @ (1 - outcome))
        shown = find_shown(line)
        assert shown.sum() > 20
        assert (fewer[shown] > 0.49).all()
        dense = find_dense(curve, curve.density)
        assert (shown | ~dense)[fewer > 0.51].all()
        assert (dense & ~shown).any()
        # The band ends there too, unless it leaves the diagonal: more outcomes were predicted.
        band, drawn = curve.layers["band"], read_vertices(display.band_)[:, 0]
        off = (band.low > band.prob_pred) | (band.high < band.prob_pred)
        assert set(drawn) == set(curve.prob_pred[shown | (dense & off)])


def test_overconfident_digits_lie_below_the_diagonal():
    """92 % of the confidences are above .99; at .6 to .7 a quarter of the answers are right.

    The curve of the paper is above the diagonal there, because its kernel gathers those rows.
    """
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    proba = GaussianNB().fit(X_train, y_train).predict_proba(X_test)
    display = draw(y_test, proba)
    shown = find_shown(display.line_)
    assert (display.prob_true < display.prob_pred)[shown].all()
    assert display.prob_pred[shown].min() < 0.7
    paper = draw(y_test, proba, kind="nadaraya-watson")
    assert np.interp(0.65, paper.prob_pred, paper.prob_true) > 0.7


def test_missing_events_are_seen_on_the_scale_of_logits():
    """Half of the rows have a prediction of 2 to 6 %, and none of them an event: 80 are missing."""
    rng = np.random.default_rng(0)
    proba = np.concatenate([rng.uniform(0.02, 0.06, 2000), rng.uniform(0.1, 0.6, 2000)])
    y = (rng.random(4000) < proba).astype(int)
    y[:2000] = 0
    for rows in (slice(None), slice(2000)):
        display = draw(y[rows], proba[rows], scale="logit", pos_label=1)
        places, values = read_vertices(display.band_).T
        assert values.min() > 0  # matplotlib cannot place 0
        few = (places > 0.03) & (places < 0.05)
        assert few.sum() > 10
        assert (values[few] < places[few]).all()  # the diagonal is outside
        low, high = display.ax_.get_ylim()
        assert np.any((values[few] > low) & (values[few] < high))
    # One prediction that all rows share is a bar.
    display = draw(np.zeros(600, dtype=int), np.full(600, 0.05), scale="logit", pos_label=1)
    ((_, (place, high)),) = display.band_.get_segments()
    assert high < place == pytest.approx(0.05)


def test_words_tell_of_rows_beyond_the_scale_of_logits():
    """Of neighbors, of which none or all have votes; alone, the places between look calibrated."""
    proba = np.repeat([0, 0.2, 0.4, 0.6, 0.8, 1], [200, 90, 90, 90, 90, 1])
    y = (np.random.default_rng(0).random(len(proba)) < proba).astype(int)
    words = [
        [text.get_text() for text in draw(y[rows], p, scale="logit", pos_label=1).ax_.texts]
        for rows, p in (
            (slice(None), proba),
            (slice(None), 1 - proba),
            (slice(200, -1), proba[200:-1]),
        )
    ]
    assert [sum("more rows" in text for text in texts) for texts in words] == [1, 1, 0]
    assert "\N{LEFTWARDS ARROW} more rows" in words[0]
    assert "more rows \N{RIGHTWARDS ARROW}" in words[1]
    # Other curves on the same axes repeat no word.
    display = draw(y, proba, scale="logit")
    draw(y, proba, scale="logit", ax=display.ax_)
    assert sum("more rows" in text.get_text() for text in display.ax_.texts) == 1


def test_votes_of_0_and_1_do_not_widen_the_square_of_logits():
    """That of a forest with votes of exactly 1 ended at 0.99999992, five sixths of it empty."""
    rng = np.random.default_rng(0)
    proba = np.concatenate([rng.integers(1, 20, 900) / 20, np.repeat([0, 1], 50)])
    y = (rng.random(1000) < np.clip(proba, 0.03, 0.97)).astype(int)
    low, high = draw(y, proba, scale="logit", pos_label=1).ax_.get_xlim()
    assert 0.01 < low < 0.05 < 0.95 < high < 0.99  # votes of 1 and of 19 of 20 are inside
    mirrored = draw(1 - y, 1 - proba, scale="logit", pos_label=1).ax_.get_xlim()
    assert mirrored == pytest.approx((1 - high, 1 - low), rel=1e-3)


@every_kind
def test_square_holds_the_predictions(rare, kind):
    _, proba = rare
    display = draw(*rare, scale="logit", kind=kind)
    low, high = display.ax_.get_xlim()
    # All but sparse predictions in the tails.
    assert np.mean((proba > low) & (proba < high)) > 0.9
    # Steps and bins of a few rows may have a mean outcome of 1.
    assert 1e-6 < low < 0.01 < high < (0.9 if kind == "smooth" else 1)
    # Equal steps of both axes are equal lengths, and the diagonal joins the corners.
    display.figure_.canvas.draw()
    width, height = np.diff(display.ax_.transData.transform([(low, low), (high, high)]), axis=0)[0]
    assert width == pytest.approx(height, rel=1e-6)
    ticks = display.ax_.get_xticks()
    assert 2 <= len(ticks) <= 12
    assert low < ticks.min() < ticks.max() < high
    # It grows with what another display draws.
    other = draw(1 - rare[0], 1 - proba, scale="logit", ax=display.ax_)
    assert other.ax_.get_xlim()[0] <= low < high < other.ax_.get_xlim()[1]


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
    # At two standard deviations an excess is clear.
    excess = ((errors - chances[:, 0]) / chances[:, 1]).max()
    words = "The 12 of 13 classes whose smECE stands out most from chance"
    for target, end in ((2.01, ""), (1.99, ", none of them clearly")):
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


@pytest.mark.parametrize(
    "band",
    [
        "wilson",
        *(pytest.param(b, marks=pytest.mark.slow) for b in ("belt", "isotonic", "consistency")),
    ],
)
def test_folds_have_the_bands_of_their_rows(band, binary):
    model, X, y = binary
    folds = np.split(np.arange(150), 2)
    results = {"estimator": [model] * 2, "indices": {"test": folds}}
    options = {"band": band, "confidence_level": 0.8, "layers": ["band"], "kind": "binned"}
    display = ReliabilityDisplay.from_cv_results(results, X, y, **options)
    for curve, rows in zip(display.curves, folds, strict=True):
        expected = ReliabilityDisplay.from_estimator(model, X[rows], y[rows], **options)
        assert_same_curve(curve, expected.curves[0])


def test_folds_have_neither_panels_nor_resamples(multiclass):
    model, X, y = multiclass
    results = {"estimator": [model], "indices": {"test": [np.arange(len(y))]}}
    for options, error, message in (
        ({"reduction": "classwise"}, ValueError, "must be one of 'auto', 'confidence', 'full'"),
        ({"interval": True}, TypeError, "unexpected keyword arguments: interval"),
        ({"band": "consistency"}, ValueError, "band='consistency' needs kind='binned'"),
        ({"confidence_level": 95}, ValueError, "confidence_level must be above 0 and below 1"),
    ):
        with pytest.raises(error, match=message):
            ReliabilityDisplay.from_cv_results(results, X, y, **options)


@pytest.mark.parametrize(
    ("places", "options"),
    [
        pytest.param([0.3], {}, marks=pytest.mark.slow),
        pytest.param([0.2, 0.8], {"bandwidth": 0.02}, marks=pytest.mark.slow),
        pytest.param([0, 1], {"scale": "logit"}, marks=pytest.mark.slow),
        (np.arange(11) / 10, {"bandwidth": 0.01}),
        pytest.param([0.3, *np.linspace(0.8, 1, 300)], {"bandwidth": 0.01}, marks=pytest.mark.slow),
    ],
)
def test_predictions_that_many_rows_share_are_seen(places, options):
    """As points with a bar; the curve around them is too short to be seen as a line."""
    rng = np.random.default_rng(0)
    proba = np.repeat(np.asarray(places, dtype=float), [600] + [20] * (len(places) - 1))
    y = rng.random(len(proba)) < 0.1 + 0.8 * proba
    display = draw(y, proba, kind="smooth", **options)
    display.figure_.canvas.draw()
    shown, line = find_shown(display.line_), display.line_
    (curve,) = display.curves
    dense = find_dense(curve, curve.density)
    if options.get("scale") == "logit":  # where the curve also needs both outcomes
        assert (dense | ~shown).all()
    else:
        np.testing.assert_array_equal(shown[1:-1], dense[1:-1])
    assert line.get_marker() == "o"
    marked = curve.prob_pred[line.get_markevery()]
    _, bars = display.band_
    band = curve.layers["band"]
    barred = {(segment[0, 0], *segment[:, 1]) for segment in bars.get_segments()}
    if options.get("scale") == "logit":  # where an outcome is missing there are bars alone
        assert len(barred) > len(marked)
    else:
        assert len(barred) == len(marked)
    inside = np.array([p for p in places if 0 < p < 1 and (proba == p).sum() >= 20])
    if options.get("scale") != "logit":
        assert all(np.abs(marked - p).min() < 0.02 for p in inside if p < 0.75)
    for k in line.get_markevery():
        assert (curve.prob_pred[k], band.low[k], band.high[k]) in barred


@pytest.mark.parametrize("scale", ["probability", "logit"])
@pytest.mark.parametrize(
    "values", [[0.0, 1.0], [0.7, 0.8, 0.85, 0.9, 0.95, 1.0], np.arange(11) / 10]
)
def test_few_values_are_points_with_intervals(values, scale):
    """Votes of a few trees, hard labels, confidences in words: nothing lies between them."""
    rng = np.random.default_rng(0)
    proba, weights = rng.choice(values, 300), rng.integers(0, 3, 300)
    y = (rng.random(300) < 0.2 + 0.6 * proba).astype(int)
    display = draw(y, proba, sample_weight=weights, scale=scale, pos_label=1)
    (curve,), line = display.curves, display.line_
    assert curve.kind == "values"
    np.testing.assert_array_equal(curve.prob_pred, values)
    groups = [(proba == value) & (weights > 0) for value in values]
    means = [np.average(y[group], weights=weights[group]) for group in groups]
    np.testing.assert_allclose(curve.prob_true, means, atol=1e-12)
    assert (line.get_linestyle(), line.get_marker()) == ("None", "o")
    np.testing.assert_array_equal(line.get_xdata(), values)
    # Wilson's interval of the effective number of rows at each.
    band = curve.layers["band"]
    for group, mean, low, high in zip(groups, means, band.low, band.high, strict=True):
        count = weights[group].sum() ** 2 / (weights[group] ** 2).sum()
        for end in (low, high):
            gap = abs(end - mean) / np.sqrt(end * (1 - end) / count)
            assert gap == pytest.approx(norm.ppf(0.975), rel=1e-6)
    ends = np.stack([np.c_[values, band.low], np.c_[values, band.high]], axis=1)
    np.testing.assert_array_equal(display.band_.get_segments(), ends)
    # Points of another model on the same axes have another shape.
    other = draw(y, proba, scale=scale, pos_label=1, ax=display.ax_)
    assert other.line_.get_marker() != line.get_marker()


def test_what_counts_as_few_values():
    rng = np.random.default_rng(0)
    for n_rows, n_values, options, kind in (
        (100, 20, {}, "values"),
        (99, 20, {}, "smooth"),  # fewer than five rows each
        (105, 21, {}, "smooth"),
        (100, 20, {"bandwidth": 0.1}, "smooth"),
        (100, 20, {"kind": "smooth"}, "smooth"),
        (30, 30, {"kind": "values"}, "values"),
    ):
        proba = np.arange(n_rows) % n_values / n_values
        (curve,) = ReliabilityDisplay.estimate(
            rng.integers(0, 2, n_rows), proba, pos_label=1, **options
        ).curves
        assert (curve.kind == "values") == (kind == "values")
        if kind == "values":
            np.testing.assert_array_equal(curve.prob_pred, np.arange(n_values) / n_values)
    # The first rows may look like few values.
    proba = np.r_[np.zeros(500), rng.random(500)]
    assert ReliabilityDisplay.estimate(proba > 0.5, proba).curves[0].kind != "values"
    summary = CalibrationSummary().update([0, 1], [0.2, 0.9])
    with pytest.raises(ValueError, match="kind='values' needs single predictions; got a summary"):
        ReliabilityDisplay.from_summary(summary, kind="values")


def test_several_models_at_once(data, multiclass):
    y, proba = data
    models = {"a": proba, "b": proba**2, "c": np.full(600, 0.4)}
    display = draw(y, models, pos_label=1)
    _, ax = plt.subplots()
    for (name, one), curve, line in zip(models.items(), display.curves, display.line_, strict=True):
        expected = draw(y, one, pos_label=1, name=name, ax=ax)
        assert_same_curve(curve, expected.curves[0])
        assert line.get_label() == expected.line_.get_label()
        assert line.get_color() == expected.line_.get_color()
    assert list_legend(display.ax_) == list_legend(ax)
    assert display.ax_.get_xlim() == ax.get_xlim()
    again = display.plot(curve_kwargs={"alpha": 0.3})
    assert [line.get_alpha() for line in again.line_] == [0.3] * 3
    assert len({line.get_color() for line in again.line_}) == 3
    one = draw(y, {"a": proba}, pos_label=1)
    assert one.line_.get_label() == draw(y, proba, pos_label=1, name="a").line_.get_label()
    model, X, y = multiclass
    proba = model.predict_proba(X)
    plt.close("all")
    for bad, options, message in (
        ({}, {}, "y_proba must hold one model at least; it is an empty dictionary"),
        ({"a": proba}, {"name": "b"}, "name must be None: the keys of y_proba name its models"),
        ({"a": proba, "b": proba}, {"reduction": "classwise"}, "one model where there are panels"),
    ):
        with pytest.raises(ValueError, match=message):
            draw(y, bad, **options)
        assert not plt.get_fignums()


def test_what_chance_gives_is_not_known_of_clusters_and_soft_labels():
    """A curve is thin where smECE may be chance, by its interval where nothing else is known."""
    rng = np.random.default_rng(0)
    proba = rng.uniform(size=400)
    y = rng.uniform(size=400) < proba
    rows = {"clusters": np.arange(400) // 4, "interval": True, "random_state": 0}
    thin, thick = (ReliabilityDisplay.from_predictions(y, p, **rows) for p in (proba, proba**3))
    assert thin.curves[0].excess is thick.curves[0].excess is None
    assert thin.curves[0].smooth_ece_interval[0] == 0 < thick.curves[0].smooth_ece_interval[0]
    widths = [np.ptp(display.curve_width_.get_linewidth()) for display in (thin, thick)]
    assert widths[0] == 0 < widths[1]
    soft = ReliabilityDisplay.from_predictions(np.clip(proba + 0.03, 0, 1), proba)
    assert soft.curves[0].smooth_ece_chance is None


def test_the_square_of_equal_predictions_holds_their_point():
    for place in (0.3, 0.4, 0.7):
        display = ReliabilityDisplay.from_predictions([1], [place])
        assert display.ax_.get_ylim()[1] >= 1


def test_hidden_words_stay_hidden():
    proba = np.random.default_rng(0).uniform(size=100)
    _, ax = plt.subplots(figsize=(3, 3))
    for power in (1, 2):
        ReliabilityDisplay.from_predictions(proba > 0.4, proba**power, ax=ax)
        assert [text.get_visible() for text in ax.texts] == [False, False]
