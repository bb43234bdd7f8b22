"""ReliabilityDisplay: kinds of curves, bandwidth, scale of logits, panels."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression

from skcal.diagrams import ReliabilityDisplay
from skcal.diagrams._curve import find_dense
from skcal.inference import confidence_interval
from skcal.metrics import expected_calibration_error, smooth_ece, smooth_ece_curve
from skcal.streaming import CalibrationSummary
from tests.diagrams.artists import (
    assert_same_curve,
    assert_same_drawing,
    find_shown,
    list_legend,
)

draw = ReliabilityDisplay.from_predictions
every_kind = pytest.mark.parametrize("kind", ["smooth", "isotonic", "binned"])


@pytest.fixture(scope="module")
def data():
    """Outcomes and predictions with ties."""
    rng = np.random.default_rng(0)
    proba = rng.random(600).round(2)
    return (rng.random(600) < proba**1.5).astype(int), proba


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
