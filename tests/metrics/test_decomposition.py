"""Decompositions of proper scores: definitions, closed forms, infinities, losses of one's own."""

import numpy as np
import pytest
from scipy.special import expit, logit, rel_entr, xlogy
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss

from skcal.metrics import (
    BregmanDivergence,
    calibration_decomposition,
    corp_decomposition,
    smooth_ece,
)
from skcal.recalibration import BaseRecalibrator, PlattScaling
from skcal.refinement import brier_refinement, log_loss_refinement, refinement_decomposition
from tests.metrics.scores import diverge, score_vectors


def negative_entropy(v):
    return xlogy(v, v) + xlogy(1 - v, 1 - v)


SQUARE = BregmanDivergence(np.square, lambda v: 2 * v)
ENTROPY = BregmanDivergence(negative_entropy, lambda v: np.log(v) - np.log1p(-v))
QUARTIC = BregmanDivergence(lambda v: v**4, lambda v: 4 * v**3)

ESTIMATORS = {
    "gaussian": {"estimator": "kernel"},
    "epanechnikov": {"estimator": "kernel", "kernel": "epanechnikov"},
    "isotonic": {"estimator": "isotonic"},
    "binned": {"estimator": "binned", "n_bins": 8},
}
every_estimator = pytest.mark.parametrize("options", ESTIMATORS.values(), ids=ESTIMATORS)
every_loss = pytest.mark.parametrize("loss", ["brier", "log"])


def assert_near(parts, expected, tolerance=1e-12):
    np.testing.assert_allclose(parts, expected, rtol=0, atol=tolerance)


def regress_slowly(v, y, w, bandwidth, kernel):
    """Mean outcome at every row, and one minus it without rounding."""
    z = (v[:, None] - v) / bandwidth
    weight = np.exp(-0.5 * z**2) if kernel == "gaussian" else np.maximum(1 - z**2, 0)
    sums = weight @ (w[:, None] * np.column_stack([y, 1 - y]))
    return (sums / sums.sum(axis=1, keepdims=True)).T


@every_loss
@pytest.mark.parametrize("bandwidth", [0.001, 0.05, 2.0])
def test_terms(binary, rng, loss, bandwidth):
    """Totals are scores, and calibration the divergence from a mean outcome of the rows."""
    y, v = binary
    w = rng.exponential(1, len(y))
    score = {"brier": brier_score_loss, "log": log_loss}[loss](y, v, sample_weight=w)
    eta = {name: regress_slowly(v, y, w, bandwidth, name)[0] for name in [*ESTIMATORS][:2]}
    eta["isotonic"] = IsotonicRegression().fit_transform(v, y, sample_weight=w)
    bins = np.searchsorted(np.arange(1, 8) / 8, v)
    mass, positive, predicted = (np.bincount(bins, x, 8)[bins] for x in (w, w * y, w * v))
    eta["binned"] = positive / mass
    for name, mean in eta.items():
        options = ESTIMATORS[name] | {"loss": loss}
        if options["estimator"] == "kernel":
            options["bandwidth"] = bandwidth
        result = calibration_decomposition(y, v, sample_weight=w, **options)
        values = diverge(loss, mean, predicted / mass if name == "binned" else v)
        assert result.calibration == pytest.approx(np.average(values, weights=w), abs=1e-10)
        assert result.total == pytest.approx(score, rel=1e-12)
        assert result.sharpness_gap == result.total - result.calibration
        assert options["estimator"] == "kernel" or result.sharpness_gap >= 0
        assert all(type(part) is float for part in result)


@every_loss
@pytest.mark.parametrize("bandwidth", [pytest.param(0.001, marks=pytest.mark.slow), 0.05, 0.5])
def test_many_distinct_predictions_are_off_by_less_than_promised(rng, loss, bandwidth):
    """The promise is 2e-8 (1 + 1/s) for the squared error and 1e-4 for log loss."""
    v = np.concatenate([rng.beta(0.3, 0.3, 1998), [1e-300, np.nextafter(1, 0)]])
    y, w = (rng.random(2000) < v).astype(int), rng.exponential(1, 2000)
    eta, complement = regress_slowly(v, y, w, bandwidth, "gaussian")
    values, tolerance = (eta - v) ** 2, 2e-8 * (1 + 1 / bandwidth)
    if loss == "log":
        values, tolerance = rel_entr(eta, v) + rel_entr(complement, 1 - v), 1e-4
    options = {"loss": loss, "bandwidth": bandwidth}
    result = calibration_decomposition(y, v, sample_weight=w, **options)
    assert result.calibration == pytest.approx(np.average(values, weights=w), abs=tolerance)


@pytest.mark.parametrize(
    ("law", "accuracy"), [pytest.param("even", 2e-5, marks=pytest.mark.slow), ("two crowds", 1e-12)]
)
def test_many_rows_under_the_epanechnikov_kernel(rng, law, accuracy):
    """Grid or rows, the promise of 2e-5 holds; two crowds a bandwidth apart need the rows."""
    v = rng.random(3500)
    if law == "two crowds":
        v = np.where(v < 0.5, 0.3, 0.3 + 0.25 * (1 - 4e-4)) + 1e-9 * v
    y, options = (rng.random(3500) < v**2).astype(int), {"bandwidth": 0.25}
    eta, _ = regress_slowly(v, y, np.ones(3500), kernel="epanechnikov", **options)
    result = calibration_decomposition(y, v, kernel="epanechnikov", **options)
    assert result.calibration == pytest.approx(np.mean((eta - v) ** 2), abs=accuracy)


@pytest.mark.parametrize("n_distinct", [20, 3000])
def test_bandwidth_none_takes_smooth_ece(rng, n_distinct):
    v = rng.random(n_distinct)
    y = (rng.random(n_distinct) < v**3).astype(int)
    chosen, given = (
        calibration_decomposition(y, v, bandwidth=bandwidth).calibration
        for bandwidth in (None, smooth_ece(y, v))
    )
    assert chosen == pytest.approx(given, abs=1e-5)


@every_loss
@every_estimator
def test_one_class_and_a_constant_base_rate(loss, options):
    options = options | {"loss": loss}
    wrong = {"brier": 0.09, "log": -np.log(0.7)}[loss]
    for n in (1, 5):
        rows = np.ones(n), np.full(n, 0.7)
        assert_near(calibration_decomposition(*rows, **options), [wrong, wrong, 0])
        assert_near(corp_decomposition(*rows, loss=loss), [wrong, wrong, 0, 0])
    result = calibration_decomposition([0, 0, 1, 0], np.full(4, 0.25), **options)
    blunt = {"brier": 0.1875, "log": -negative_entropy(0.25)}[loss]
    assert_near(result, [blunt, 0, blunt])


@every_estimator
def test_certain_and_right(options):
    rows = [0, 0, 1, 1], [0.0, 0.0, 1.0, 1.0]
    options = options | {"loss": "log"}
    if options["estimator"] == "kernel":
        options["bandwidth"] = 0.01
    assert_near(calibration_decomposition(*rows, **options), 0)
    parts = corp_decomposition([0, 1], [0, 1], loss="log")
    assert_near(parts, (0, 0, np.log(2), np.log(2)))


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("n", [20, 3000])
def test_a_single_certain_prediction(rng, end, n):
    v, y = np.append(rng.uniform(0.3, 0.7, n), end), rng.integers(0, 2, n)
    wrong, right = np.append(y, 1 - end), np.append(y, end)
    for options in ESTIMATORS.values():
        assert calibration_decomposition(wrong, v, loss="log", **options).total == np.inf
    parts = corp_decomposition(wrong, v, loss="log")
    assert parts.score == parts.miscalibration == np.inf
    assert np.isfinite([parts.discrimination, parts.uncertainty]).all()
    assert np.isfinite(calibration_decomposition(wrong, v)).all()
    # Where it is right, a kernel that reaches other outcomes denies that it is calibrated.
    result = calibration_decomposition(right, v, loss="log")
    assert np.isfinite(result.total)
    assert result[1:] == (np.inf, -np.inf)
    narrow = {"bandwidth": 0.005}  # exp(-60^2 / 2) is no number
    for options in (*list(ESTIMATORS.values())[1:], narrow):
        assert np.isfinite(calibration_decomposition(right, v, loss="log", **options)).all()


def test_gap_of_two_infinities():
    result = calibration_decomposition([1, 0], [0, 0.5], loss="log")
    assert result[:2] == (np.inf, np.inf)
    assert np.isnan(result.sharpness_gap)


def test_weights_do_not_round_certainty_away(rng):
    """Sums of weights like 0.1 must cancel exactly where all outcomes agree."""
    v, y = np.repeat([0.0, 0.4, 1.0], 50), np.repeat([0, 1, 0, 1], [50, 25, 25, 50])
    given = {"sample_weight": rng.choice([0.1, 0.3, 0.7], 150), "loss": "log"}
    for options in ({"estimator": "isotonic"}, {"estimator": "binned"}, {"bandwidth": 0.001}):
        assert np.isfinite(calibration_decomposition(y, v, **given, **options)).all()


@every_loss
@every_estimator
def test_total_is_of_all_classes_and_calibration_of_the_confidence(multiclass, rng, loss, options):
    y, proba = multiclass
    weights = rng.integers(0, 3, len(y))
    options = options | {"loss": loss, "sample_weight": weights}
    result = calibration_decomposition(y, proba, **options)
    binary = calibration_decomposition(proba.argmax(axis=1) == y, proba.max(axis=1), **options)
    assert result.calibration == pytest.approx(binary.calibration, abs=1e-12)
    total = np.average(score_vectors(loss, y, proba), weights=weights)
    assert result.total == pytest.approx(total, rel=1e-12)
    assert result.sharpness_gap == result.total - result.calibration


def test_always_wrong_predictor():
    """Harmless as to its confidence, as bad as can be as to its classes."""
    c, rest = 0.0011, (1 - 0.0011) / 999
    proba = np.full((4, 1000), rest)
    proba[:, 1] = c
    options = {"labels": np.arange(1000), "estimator": "isotonic"}
    result = calibration_decomposition([0, 0, 0, 2], proba, **options)
    assert result.calibration == pytest.approx(c**2, rel=1e-12)
    assert result.total == pytest.approx(c**2 + (1 - rest) ** 2 + 998 * rest**2, rel=1e-12)


def test_certain_zero_that_comes_true():
    rows = [0, 1, 2], [[0.0, 0.4, 0.6], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]
    for weights, total in ((None, np.inf), ([0, 1, 1], -np.log(0.5 * 0.8) / 2)):
        result = calibration_decomposition(*rows, loss="log", sample_weight=weights)
        assert result.total == pytest.approx(total)


@every_loss
def test_corp(binary, multiclass, rng, loss):
    """Differences of three scores; terms add up for every reduction, and none is negative."""
    y, v = binary
    w = rng.exponential(1, len(y))
    eta = np.clip(IsotonicRegression().fit_transform(v, y, sample_weight=w), 0, 1)
    own, best, constant = (
        np.average(diverge(loss, y, forecast), weights=w)
        for forecast in (v, eta, np.average(y, weights=w))
    )
    parts = corp_decomposition(y, v, sample_weight=w, loss=loss)
    assert_near(parts, (own, own - best, constant - best, constant))
    for reduction in ("confidence", "classwise", "top-label", "full"):
        options = {"loss": loss, "reduction": reduction, "sample_weight": rng.random(300)}
        parts = corp_decomposition(*multiclass, **options)
        terms = parts.miscalibration - parts.discrimination + parts.uncertainty
        assert parts.score == pytest.approx(terms, abs=1e-14)
        assert min(parts) >= -1e-12


@every_estimator
def test_own_functions_equal_the_named_losses(binary, multiclass, options):
    rows = [("brier", SQUARE, binary), ("brier", SQUARE, multiclass), ("log", ENTROPY, binary)]
    if options["estimator"] != "kernel":  # gradients may be infinite at the ends
        ends = ([0, 1], [0, 1]), ([1, 1], [0, 1]), ([0, 1, 1], [0.5, 0.5, 1])
        rows += [("log", ENTROPY, sample) for sample in ends]
    for name, own, sample in rows:
        result = calibration_decomposition(*sample, loss=own, **options)
        expected = calibration_decomposition(*sample, loss=name, **options)
        assert_near(result, expected, 1e-11 if len(sample[0]) > 3 else 1e-12)


def test_total_of_classes_is_the_sum_over_them(multiclass):
    y, proba = multiclass
    outcomes = np.eye(4)[y]
    values = outcomes - proba**4 - 4 * proba**3 * (outcomes - proba)
    total = calibration_decomposition(y, proba, loss=QUARTIC).total
    assert total == pytest.approx(values.sum(axis=1).mean(), rel=1e-12)


def test_divergence_is_called_with_numbers_or_arrays():
    assert SQUARE(1, 0.5) == 0.25
    np.testing.assert_allclose(ENTROPY(0.5, [0.5, 0.0]), [0, np.inf])
    # Sums of terms near the largest number do not overflow.
    huge = BregmanDivergence(lambda v: 1e308 + 5e307 * v**2, lambda v: 1e308 * v)
    np.testing.assert_allclose(huge(1.0, 0.5), 1.25e307)


BUMP = 0.5 + 1 / 300  # not among the places that are tried at once


@pytest.mark.parametrize(
    ("phi", "gradient", "arguments", "message"),
    [
        (np.square, lambda v: 2 * v, ([0.5, 2.0], 0.5), r"y must lie in \[0, 1\]; got 2\.0"),
        (np.square, lambda v: 2 * v, (0.5, np.nan), r"v must lie in \[0, 1\]; got nan"),
        (np.square, lambda v: 2 * v, ("a", 0.5), "y must hold real numbers"),
        (np.square, lambda v: 2 * v, ([0.5] * 2, [0.5] * 3), r"y and v .* \(2,\) and \(3,\)"),
        (lambda v: v**2 + (v == BUMP), lambda v: 2 * v, (0.5, BUMP), r"is negative; got d\(.* -"),
        (lambda v: -(v**2), lambda v: -2 * v, (), r"phi must be convex .* got d\(.*\) = -"),
        (np.square, lambda v: v, (), "phi must be convex and gradient its derivative"),
        (lambda v: v * np.log(v), lambda v: np.log(v) + 1, (), r"phi must be finite .* nan at 0"),
        (np.square, lambda v: v / v, (), r"gradient must be defined .* got nan at 0\."),
        (lambda v: 1.0, lambda v: 2 * v, (), r"phi must map .* got shape \(\) for"),
        (np.square, lambda v: v[:1], (), r"gradient must map .* got shape \(1, 33\) for"),
        (str, np.square, (), r"phi\(v\) must hold real numbers"),
        (lambda v: 1e308 * v**2, lambda v: 2 * v, (), r"no divergence is negative; got d\(.*= -"),
        (np.square, lambda v: np.where(v > 0, 2 * v, np.inf), (), r"got d\(.*, 0\) = -inf"),
        ("square", np.sign, (), "phi must be callable; got"),
        (np.square, None, (), "gradient must be callable; got None"),
    ],
)
def test_bad_divergences_and_arguments(phi, gradient, arguments, message):
    """Functions show their mistakes at once, as far as they show at the places that are tried."""
    with pytest.raises(ValueError, match=message):
        BregmanDivergence(phi, gradient)(*arguments)


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
def test_widest_kernels_overflow_nowhere(kernel):
    wide, widest = (
        calibration_decomposition([0, 0, 1], [1, 0.5, 0.2], kernel=kernel, bandwidth=bandwidth)
        for bandwidth in (1e50, np.finfo(float).max)
    )
    assert widest == pytest.approx(wide)


# --------------------------------------------------------------------------- cross-fitted


@every_loss
@pytest.mark.parametrize("n_classes", [2, 3])
def test_cross_fitted_terms(loss, n_classes, rng):
    """The gap is the loss of recalibrated rows; a divergence of one's own is treated alike."""
    proba = rng.dirichlet(np.ones(n_classes), 200)
    y = (proba.cumsum(axis=1) > rng.random((200, 1))).argmax(axis=1)
    rows, w = (y, proba), rng.integers(0, 4, 200)
    refinement = {"brier": brier_refinement, "log": log_loss_refinement}[loss]
    for options in ({"recalibrator": "temperature"}, {"recalibrator": PlattScaling(), "cv": 3}):
        given = {"sample_weight": w, **options}
        result = refinement_decomposition(*rows, loss=loss, **given)
        assert result.sharpness_gap == pytest.approx(refinement(*rows, sample_weight=w, **options))
        total = calibration_decomposition(*rows, loss=loss, sample_weight=w).total
        assert_near([result.total, result.calibration + result.sharpness_gap], total)
    if (loss, n_classes) == ("brier", 3):
        own = refinement_decomposition(*rows, loss=SQUARE, **given)
        assert_near(own, result)


def test_cross_fitted_infinities_and_labels():
    y, v = np.tile([0, 1, 1], 20), np.tile([0.2, 0.6, 0.9], 20)
    v[1] = 0.0
    total, calibration, gap = refinement_decomposition(y, v, loss="log")
    assert (total, calibration) == (np.inf, np.inf)
    assert np.isfinite(gap)
    parts = refinement_decomposition(y, v, recalibrator=Untouched(), loss="log")
    assert parts == (np.inf, 0, np.inf)
    with pytest.raises(ValueError, match="y_true must hold labels; soft labels are no outcomes"):
        refinement_decomposition(v, v, pos_label=1)


class Untouched(BaseRecalibrator):
    """Gives back what it got."""

    _gives_hard_probabilities = True

    def _fit(self, scores, codes, sample_weight):
        pass

    def _recalibrate(self, scores):
        return scores


def divide_log_odds(v):
    return expit(logit(v) / 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "rate", "largest_error"),
    [
        (300, lambda v: v, 0.0011),
        (300, lambda v: 0.5 + 0.8 * (v - 0.5), 0.0031),
        (300, lambda v: 0.5 + 0.5 * (v - 0.5), 0.0060),
        (3000, lambda v: v, 0.0002),
        (3000, divide_log_odds, 0.0019),
    ],
)
def test_cross_fitted_calibration_is_not_biased_upwards(n, rate, largest_error):
    """Root mean squared errors, up to a fifth more than those of a first study.

    Two standard errors of 30 samples are added.
    """
    middles = (np.arange(10**6) + 0.5) / 10**6
    truth = np.mean((rate(middles) - middles) ** 2)
    rng = np.random.default_rng(0)
    found = []
    for _ in range(30):
        v = rng.random(n)
        y = (rng.random(n) < rate(v)).astype(int)
        found.append(refinement_decomposition(y, v).calibration)
    found = np.array(found)
    assert found.mean() <= truth + 2 * found.std(ddof=1) / np.sqrt(30)
    squares = (found - truth) ** 2
    margin = 2 * squares.std(ddof=1) / np.sqrt(30)
    assert squares.mean() <= (1.2 * largest_error) ** 2 + margin


@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        ("kernel", {"n_bins": 3}),
        ("kernel", {"strategy": "quantile"}),
        ("isotonic", {"bandwidth": None}),
        ("binned", {"kernel": "epanechnikov"}),
        ("isotonic", {"n_bins": "cube_root"}),
    ],
)
def test_options_of_other_estimators_are_refused(estimator, options):
    (name,) = options
    with pytest.raises(ValueError, match=rf"^{name} must be .* unless estimator=.*; got "):
        calibration_decomposition([0, 1, 1], [0.2, 0.7, 0.9], estimator=estimator, **options)
