"""ReliabilityDisplay: kinds of curves, bandwidth, scale of logits, panels."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import cross_validate

from skcal.diagrams import ReliabilityCurve, ReliabilityDisplay
from skcal.metrics import expected_calibration_error, smooth_ece, smooth_ece_curve
from tests.diagrams.artists import assert_same_curve, assert_same_drawing, find_shown, read_values

draw = ReliabilityDisplay.from_predictions
KINDS = ("smooth", "isotonic", "binned")
every_kind = pytest.mark.parametrize("kind", KINDS)


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


# ------------------------------------------------------------------------- smooth


def test_legend_shows_the_measure(shared_data):
    # Residuals of one sign: smECE is the absolute mean residual.
    display = draw([1] * 50, [0.966] * 50)
    assert display.line_.get_label() == "Classifier (smECE = 0.034)"
    # smECE computed from the definition by direct quadrature, to the digits shown.
    for file, value in (
        ("cifar10_densenet40_confidence.csv", "0.055"),
        ("imagenet_resnet34_confidence.csv", "0.078"),
        ("solar_flares_c1.csv", "0.067"),
        ("rain_finland_2003.csv", "0.134"),
    ):
        rows = pd.read_csv(shared_data / file)
        display = draw(rows["y_true"], rows["y_prob"])
        assert display.line_.get_label() == f"Classifier (smECE = {value})"


def test_bandwidth_changes_the_curve_and_not_the_measure(data):
    y, proba = 1 - data[0], data[1]  # errors of both signs, which a bandwidth mixes
    display = draw(y, proba, bandwidth=0.3)
    curve = smooth_ece_curve(y, proba, bandwidth=0.3)
    assert display.curves[0].bandwidth == 0.3
    np.testing.assert_array_equal(display.prob_true, curve.prob_true)
    assert display.smooth_ece == smooth_ece(y, proba) != curve.value


def test_curve_is_drawn_only_where_predictions_are():
    # Two groups of predictions, half of the axis apart: nothing is known between them.
    rng = np.random.default_rng(0)
    y_proba = np.r_[rng.uniform(0.1, 0.2, 2000), rng.uniform(0.8, 0.9, 2000)]
    display = draw(rng.random(4000) < y_proba, y_proba)
    shown, grid = find_shown(display.line_), display.prob_pred
    assert display.curves[0].bandwidth < 0.05
    assert shown[(grid >= 0.1) & (grid <= 0.2)].all()
    assert shown[(grid >= 0.8) & (grid <= 0.9)].all()
    assert not shown[(grid >= 0.4) & (grid <= 0.6)].any()
    assert np.isfinite(display.prob_true).all()


# ------------------------------------------------------------------------- isotonic and binned


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
    level, count = np.unique(display.prob_true, return_counts=True)
    assert count.max() <= 2
    np.testing.assert_array_equal(level, np.unique(display.prob_true))


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("n_bins", [1, 7, 40])
def test_bins_are_those_of_scikit_learn(strategy, n_bins):
    rng = np.random.default_rng(0)
    proba = rng.beta(0.5, 2, 500)
    y = rng.random(500) < proba
    options = {"n_bins": n_bins, "strategy": strategy}
    display = draw(y, proba, kind="binned", **options)
    prob_true, prob_pred = calibration_curve(y, proba, **options)
    np.testing.assert_allclose(display.prob_true, prob_true, atol=1e-12)
    np.testing.assert_allclose(display.prob_pred, prob_pred, atol=1e-12)


@pytest.mark.parametrize("strategy", ["uniform", "quantile", "sweep"])
def test_bins_are_those_of_the_measure(data, strategy):
    display = draw(*data, kind="binned", strategy=strategy)
    gaps = display.prob_true - display.prob_pred
    error = expected_calibration_error(*data, strategy=strategy, norm=np.inf)
    assert np.abs(gaps).max() == pytest.approx(error, abs=1e-12)


@every_kind
def test_density_and_measure_do_not_depend_on_the_kind(data, kind):
    display = draw(*data, kind=kind)
    (curve,), smooth = display.curves, smooth_ece_curve(*data)
    assert curve.kind == kind
    assert display.smooth_ece == smooth_ece(*data)
    np.testing.assert_array_equal(curve.density_grid, smooth.grid)
    np.testing.assert_array_equal(curve.density, smooth.density)
    np.testing.assert_array_equal(read_values(display.line_), display.prob_true)


@every_kind
@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_curves_can_be_drawn_by_another_display(kind, scale, binary):
    model, X, y = binary
    options = {"kind": kind, "scale": scale, "n_bins": 5, "n_resamples": 9, "random_state": 0}
    options["layers"] = ("density", "band", "rug", "witness")
    display = ReliabilityDisplay.from_estimator(model, X, y, **options)
    direct = draw(y, model.predict_proba(X), **options)
    assert_same_curve(display.curves[0], direct.curves[0])
    by_hand = ReliabilityDisplay(curves=display.curves, name=display.name, scale=scale).plot()
    assert_same_drawing(by_hand, display, options["layers"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reduction": "confidense"}, "reduction must be .* Did you mean 'confidence'"),
        ({"kind": "step"}, "kind must be one of 'smooth', 'isotonic', 'binned'"),
        ({"n_bins": 0}, "n_bins must be at least 1; got 0"),
        ({"strategy": "even"}, "strategy must be one of 'uniform'"),
        ({"scale": "log"}, "scale must be one of .* Did you mean 'logit'"),
        ({"scale": "logit", "bandwidth": 100}, "bandwidth must be .* below 100"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        draw([0, 1], [0.2, 0.9], **options)
    assert not plt.get_fignums()


# ------------------------------------------------------------------------- scale of logits


def test_everything_is_on_the_scale_of_logits(rare):
    display = draw(*rare, scale="logit", bandwidth=0.4)
    n_points = len(display.prob_pred)
    smooth = smooth_ece_curve(*rare, scale="logit", bandwidth=0.4, n_points=n_points)
    np.testing.assert_array_equal(display.prob_pred, smooth.grid)
    np.testing.assert_array_equal(display.prob_true, smooth.prob_true)
    np.testing.assert_array_equal(display.curves[0].density, smooth.density)
    assert display.smooth_ece == smooth_ece(*rare, scale="logit")
    assert display.ax_.get_xscale() == display.ax_.get_yscale() == display.scale == "logit"
    assert display.line_.get_label() == f"Classifier (logit smECE = {display.smooth_ece:.3f})"
    assert draw(*rare).ax_.get_xscale() == "linear"
    # A long scale has two points in a bandwidth, a short one 201.
    narrow = draw(*rare, scale="logit", bandwidth=0.02)
    steps = np.diff(logit(narrow.prob_pred))
    assert 0.01 <= steps.max() <= 0.0101
    assert len(draw(*rare, scale="logit", bandwidth=50).prob_pred) == 201


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
    corners = display.ax_.transData.transform([(low, low), (high, high)])
    width, height = corners[1] - corners[0]
    assert width == pytest.approx(height, rel=1e-6)
    ticks = display.ax_.get_xticks()
    assert 2 <= len(ticks) <= 12
    assert ((ticks > low) & (ticks < high)).all()


def test_displays_on_shared_axes_of_logits(rare):
    y, proba = rare
    first = draw(y, proba, scale="logit")
    narrow = first.ax_.get_xlim()
    second = draw(1 - y, 1 - proba, scale="logit", ax=first.ax_, name="other")
    low, high = second.ax_.get_xlim()
    assert low <= narrow[0] < narrow[1] < high
    assert second.ref_line_ is first.ref_line_


# ------------------------------------------------------------------------- panels


@pytest.mark.parametrize("reduction", ["classwise", "top-label"])
def test_panels_are_the_diagrams_of_single_labels(reduction, multiclass):
    model, X, y = multiclass
    options = {"n_resamples": 5, "random_state": 0, "name": "model"}
    display = ReliabilityDisplay.from_estimator(model, X, y, reduction=reduction, **options)
    assert (display.pos_label, display.reduction) == (["a", "b", "c"], reduction)
    assert len(display.ax_) == len(display.line_) == len(display.density_) == 3
    assert set(display.figure_.axes) == set(display.ax_)  # none is empty
    assert display.rug_ is display.witness_ is None
    proba = model.predict_proba(X)
    for k, label in enumerate("abc"):
        if reduction == "classwise":
            expected = draw(y, proba, pos_label=label, **options)
            words, info = ["predicted too low", "predicted too high"], f"Positive label: {label}"
            assert_same_curve(display.curves[k], expected.curves[0])
        else:
            rows = model.predict(X) == label
            expected = draw(y[rows] == label, proba[rows].max(axis=1), **options)
            words, info = ["under-confident", "over-confident"], f"Predicted label: {label}"
            np.testing.assert_array_equal(display.prob_true[k], expected.prob_true)
        assert display.line_[k].axes is display.ax_[k]
        assert display.line_[k].get_label() == expected.line_.get_label()
        assert f" ({info})" in display.ax_[k].get_xlabel()
        assert [text.get_text() for text in display.side_labels_[k]] == words
    display.figure_.canvas.draw()
    boxes = [ax.get_tightbbox() for ax in display.ax_]
    assert not any(one.overlaps(two) for k, one in enumerate(boxes) for two in boxes[:k])


def test_labels_that_are_never_predicted_have_no_panel(multiclass):
    _, _, y = multiclass
    y_proba = np.tile([0.3, 0.1, 0.6], (len(y), 1))
    y_proba[:20] = [0.8, 0.1, 0.1]
    display = draw(y, y_proba, reduction="top-label")
    assert display.pos_label == ["a", "c"]
    assert [line.get_label()[:10] for line in display.line_] == ["Classifier"] * 2
    display = draw(y, y_proba[-1:].repeat(len(y), axis=0), reduction="top-label", ref_line=False)
    assert display.pos_label == ["c"]
    assert display.ax_.shape == (1,)
    assert display.ref_line_ is None


@pytest.mark.parametrize(
    ("y_true", "options", "expected"),
    [
        ([0, 1, 1], {}, [0, 1]),
        ([False, True, True], {}, [False, True]),
        ([-1, 1, 1], {}, [-1, 1]),
        (["no", "yes", "no"], {"pos_label": "yes"}, ["no", "yes"]),
        (["no", "yes", "no"], {"labels": ["yes", "no"]}, ["yes", "no"]),
        (["yes", "yes", "yes"], {"pos_label": "yes"}, ["not yes", "yes"]),
    ],
)
def test_panels_of_two_classes(y_true, options, expected):
    y_proba = np.array([0.2, 0.6, 0.7])
    display = draw(y_true, y_proba, reduction="classwise", kind="binned", **options)
    assert display.pos_label == expected
    assert [type(label) for label in display.pos_label] == [type(label) for label in expected]
    np.testing.assert_allclose(display.prob_pred[1], y_proba)
    np.testing.assert_allclose(display.prob_pred[0][::-1], 1 - y_proba)


def test_full_reduction_is_one_square(multiclass):
    model, X, y = multiclass
    display = ReliabilityDisplay.from_estimator(model, X, y, reduction="full")
    hits = y[:, None] == model.classes_
    expected = draw(hits.T.ravel(), model.predict_proba(X).T.ravel())
    np.testing.assert_array_equal(display.prob_true, expected.prob_true)
    assert display.curves[0].n_samples == 3 * len(y)
    assert display.ax_.get_xlabel() == "Predicted probability, all classes"
    assert display.pos_label is None


def test_axes_and_lists_are_shared_out_to_the_panels(multiclass):
    model, X, y = multiclass
    _, axes = plt.subplots(3, 1, figsize=(5, 15))
    looks = [{"color": color} for color in ("red", "green", "blue")]
    options = {"reduction": "classwise", "despine": True}
    named = {"name": ["A", "B", "C"], "curve_kwargs": looks}
    display = ReliabilityDisplay.from_estimator(model, X, y, ax=axes, **options, **named)
    np.testing.assert_array_equal(display.ax_, axes)
    assert display.figure_ is axes[0].figure
    assert not any(ax.spines["top"].get_visible() for ax in axes)
    assert [line.get_label()[0] for line in display.line_] == ["A", "B", "C"]
    assert [line.get_color() for line in display.line_] == ["red", "green", "blue"]
    axes = plt.subplots(2, 2)[1]
    for wrong, count in ((axes, 4), (axes[0, 0], 1)):
        with pytest.raises(ValueError, match=f"array of 3 axes, one for each panel; got {count}"):
            ReliabilityDisplay.from_estimator(model, X, y, ax=wrong, **options)
    plt.close("all")
    for bad, message in (
        ({"name": ["A", "B"]}, "name must have one entry for each of the 3 curves; got 2"),
        ({"curve_kwargs": looks[:2]}, "curve_kwargs must have one entry for each of the 3"),
        ({"curve_kwargs": "red"}, "curve_kwargs must be None, a dictionary or a list"),
    ):
        with pytest.raises(ValueError, match=message):
            ReliabilityDisplay.from_estimator(model, X, y, **options, **bad)
        assert not plt.get_fignums()


def test_scale_and_panels_by_hand():
    points = {"prob_pred": [0.1, 0.9], "prob_true": [0.1, 0.9]}
    curves = [ReliabilityCurve(**points, pos_label=label) for label in "ab"]
    for bad, message in (
        ({"scale": "log"}, "scale must be one of 'probability', 'logit'"),
        ({"panels": 2}, "panels must be True or False; got 2"),
    ):
        with pytest.raises(ValueError, match=message):
            ReliabilityDisplay(curves=curves, **bad).plot()
    assert not plt.get_fignums()
    display = ReliabilityDisplay(curves=curves, panels=True, scale="logit", name="me").plot()
    assert [ax.get_xlabel()[-3:] for ax in display.ax_] == [" a)", " b)"]
    assert [line.get_label() for line in display.line_] == ["me"] * 2
    low, high = display.ax_[0].get_xlim()
    assert low < 0.1 < 0.9 < high


def test_folds_have_neither_panels_nor_resamples(multiclass):
    model, X, y = multiclass
    results = cross_validate(model, X, y, cv=2, return_estimator=True, return_indices=True)
    with pytest.raises(ValueError, match="reduction must be one of 'auto', 'confidence', 'full'"):
        ReliabilityDisplay.from_cv_results(results, X, y, reduction="classwise")
    with pytest.raises(TypeError, match="unexpected keyword arguments: n_resamples"):
        ReliabilityDisplay.from_cv_results(results, X, y, n_resamples=9)
    assert not plt.get_fignums()


def test_what_is_computed_may_be_drawn_later():
    rows = [0, 1, 1, 1, 0, 1], [0.1, 0.4, 0.7, 0.9, 0.3, 0.6]
    options = {"n_resamples": 20, "random_state": 0, "layers": ("density", "band", "rug")}
    display = ReliabilityDisplay.estimate(*rows, name="later", **options)
    assert not hasattr(display, "line_")
    drawn = ReliabilityDisplay.from_predictions(*rows, name="later", **options)
    assert_same_drawing(display.plot(), drawn)
    with pytest.raises(TypeError):
        ReliabilityDisplay.estimate(*rows, curve_kwargs={})
