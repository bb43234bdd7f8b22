"""Recalibrators that map each class by itself, against slow direct computations."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from skcal import recalibration
from skcal.metrics import smooth_ece
from skcal.recalibration import (
    HistogramBinning,
    KernelRecalibration,
    QuadraticScaling,
    ScalingBinning,
    VennAbers,
)
from tests.recalibration.family import in_two_columns, make_scores
from tests.reference import reflected_kernel_sum

CLOSE = {"rtol": 0, "atol": 1e-12}
STRATEGIES = pytest.mark.parametrize("strategy", ["uniform", "quantile"])
METHODS = ["one-vs-rest", "top-label"]


def find_bins(values, edges):
    """Bins are closed on the right; what is an edge but for rounding is one."""
    return np.digitize(values, edges[1:-1] * (1 + 1e-12), right=True)


def bin_directly(values, targets, weights, n_bins, strategy):
    """Edges and means, on lines between the bins that are filled."""
    if strategy == "uniform":
        edges = np.linspace(0, 1, n_bins + 1)
    else:
        edges = np.percentile(np.repeat(values, weights), np.linspace(0, 100, n_bins + 1))
    bins = find_bins(values, edges)
    total, hits = (np.bincount(bins, mass, n_bins) for mass in (weights, weights * targets))
    middle, filled = (edges[:-1] + edges[1:]) / 2, total > 0
    return edges, np.interp(middle, middle[filled], hits[filled] / total[filled])


def histogram(n_bins, strategy):
    def fit(v, y, w, new):
        edges, means = bin_directly(v, y, w, n_bins, strategy)
        return means[find_bins(new, edges)]

    return fit


def isotonic(v, y, w, new):
    return IsotonicRegression(out_of_bounds="clip").fit(v, y, sample_weight=w).predict(new)


def kernel(bandwidth):
    def regress(v, y, w, new):
        s = bandwidth or smooth_ece(y, v, sample_weight=w)
        return reflected_kernel_sum(new, v, w * y, s) / reflected_kernel_sum(new, v, w, s)

    return regress


def plain_sigmoid(v, y, w, new, degree=1):
    """A logistic regression; targets between 0 and 1 are shares of the weight of a row."""
    line = LogisticRegression(C=1e15, solver="newton-cholesky", tol=1e-12)
    powers = np.arange(1, degree + 1)
    features, targets = np.tile(logit(v), 2)[:, None] ** powers, np.repeat([1, 0], len(v))
    line.fit(features, targets, np.r_[w * y, w * (1 - y)])
    return line.predict_proba(logit(new)[:, None] ** powers)[:, 1]


def smoothed_sigmoid(v, y, w, new, degree=1):
    n_positive, n_negative = w @ y, w @ (1 - y)
    targets = np.where(y == 1, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    return plain_sigmoid(v, targets, w, new, degree)


def binned_sigmoid(n_bins, sigmoid):
    def fit(v, y, w, new):
        scaled, scaled_new = np.split(sigmoid(v, y, w, np.r_[v, new]), [len(v)])
        return histogram(n_bins, "quantile")(scaled, scaled, w, scaled_new)

    return fit


DIRECT = [
    (recalibration.IsotonicRecalibration(), isotonic, 1e-12),
    *(
        (HistogramBinning(n_bins=n, strategy=strategy), histogram(n, strategy), 1e-12)
        for n in (1, 7, 10, 100)
        for strategy in ("uniform", "quantile")
    ),
    *((KernelRecalibration(bandwidth=s), kernel(s), 4e-4) for s in (None, 0.02, 0.5)),
    (recalibration.PlattScaling(), smoothed_sigmoid, 1e-7),
    (recalibration.PlattScaling(target_smoothing=False), plain_sigmoid, 1e-7),
    (QuadraticScaling(curvature_penalty=0), partial(smoothed_sigmoid, degree=2), 1e-7),
    (
        QuadraticScaling(curvature_penalty=0, target_smoothing=False),
        partial(plain_sigmoid, degree=2),
        1e-7,
    ),
    *(
        (ScalingBinning(n_bins=n, target_smoothing=s), binned_sigmoid(n, sigmoid), 1e-7)
        for n in (1, 3, 10, 300)
        for s, sigmoid in ((True, smoothed_sigmoid), (False, plain_sigmoid))
    ),
]


@pytest.mark.parametrize(
    ("recalibrator", "direct", "tolerance"), DIRECT, ids=[repr(row[0]) for row in DIRECT]
)
def test_two_classes_agree_with_direct_computation(recalibrator, direct, tolerance):
    X, y = make_scores(2, 90)
    v = np.clip(np.round(X[:, 1], 2), 0.01, 0.99)  # ties, and values on edges
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    # No new probability maps to the edge of a bin but for those that are fitted.
    new = np.concatenate([v, np.arange(0.005, 1, 0.01)])
    fitted = recalibrator.fit(in_two_columns(v), y, sample_weight=weights)
    proba = fitted.predict_proba(in_two_columns(new))
    np.testing.assert_allclose(proba[:, 1], direct(v, y, weights, new), rtol=0, atol=tolerance)
    np.testing.assert_allclose(proba[:, 0], 1 - proba[:, 1], rtol=0, atol=1e-15)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sigmoid_of_the_probability_is_that_of_scikit_learn(n_classes):
    """Theirs stops at a gradient of 1e-5 or so, and of small numbers first multiplies them."""
    X, y = make_classification(600, n_informative=6, n_classes=n_classes, random_state=0)
    forest = FrozenEstimator(RandomForestClassifier(20, random_state=0).fit(X[:300], y[:300]))
    theirs = CalibratedClassifierCV(forest, method="sigmoid").fit(X[300:], y[300:])
    scores = forest.predict_proba(X)
    ours = recalibration.PlattScaling(scale="probability").fit(scores[300:], y[300:])
    assert not ours.intercepts_.any()
    np.testing.assert_allclose(
        ours.predict_proba(scores), theirs.predict_proba(X), rtol=0, atol=1e-4
    )
    logits = np.log(np.maximum(scores, 1e-300)) + X[:, :1]
    ours = recalibration.PlattScaling(scale="probability", input="logits").fit(
        logits[300:], y[300:]
    )
    np.testing.assert_allclose(
        ours.predict_proba(logits), theirs.predict_proba(X), rtol=0, atol=1e-4
    )


def test_known_sigmoid_of_the_probability_is_found():
    """Also with hard zeros and ones, which have no log-odds and are not moved."""
    votes = np.linspace(0, 1, 21)
    shares = expit(4 * votes - 2)
    rows, labels = np.repeat(votes, 2)[:, None], np.tile([0, 1], 21)
    weights = np.column_stack([1 - shares, shares]).ravel()
    platt = recalibration.PlattScaling(scale="probability", target_smoothing=False)
    np.testing.assert_allclose(platt.fit(rows, labels, weights).maps_[0], (4, -2), rtol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("mean", [None, 0.3, 1e-6])
def test_a_shift_gives_the_mean_that_is_asked_for(n_classes, mean, weighted):
    """Of y, without a target: calibration in the large. Differences of log-odds stay."""
    X, y = make_scores(n_classes, 300)
    weights = np.random.default_rng(0).random(300) if weighted else None
    expected, target = np.bincount(y, weights) / (300 if weights is None else weights.sum()), None
    if mean is not None:
        expected = target = np.append(1 - mean, np.full(n_classes - 1, mean / (n_classes - 1)))
    platt = recalibration.PlattScaling(fit_slope=False, mean=target)
    proba = platt.fit(X, y, weights).predict_proba(X)
    np.testing.assert_allclose(np.average(proba, axis=0, weights=weights), expected, rtol=1e-7)
    shift = np.log(proba[:, 1:] / proba[:, :1]) - np.log(X[:, 1:] / X[:, :1])
    np.testing.assert_allclose(shift, np.tile(shift[:1], (300, 1)), atol=1e-7)


def test_a_mean_leaves_the_slopes():
    X, y = make_scores(2, 300)
    plain, moved = (recalibration.PlattScaling(mean=mean).fit(X, y) for mean in (None, 0.2))
    assert moved.maps_[0].slope == plain.maps_[0].slope
    assert moved.predict_proba(X)[:, 1].mean() == pytest.approx(0.2, rel=1e-9)
    by_label = recalibration.PlattScaling(mean={1: 0.2, 0: 0.8}).fit(X, y)
    assert by_label.maps_ == moved.maps_


def test_a_constant_that_is_shifted_becomes_the_rate():
    """However rare the event; ten of a thousand rows here."""
    platt = recalibration.PlattScaling(fit_slope=False)
    fitted = platt.fit(np.full((1000, 2), 0.5), np.arange(1000) < 10)
    assert fitted.maps_[0] == pytest.approx((1, logit(0.01)), rel=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fit_slope": False, "scale": "probability"}, "fit_slope must be True with scale="),
        ({"mean": 0}, r"mean must be above 0 for each class; got \[1.0, 0.0\]"),
        ({"mean": [0.2, 0.2]}, "mean must hold rates that sum to 1; got a sum of 0.4"),
        ({"mean": [0.2, 0.2, 0.6]}, "mean must hold one rate for each of the 2 classes"),
    ],
)
def test_a_shift_that_cannot_be(options, message):
    with pytest.raises(ValueError, match=message):
        recalibration.PlattScaling(**options).fit([[0.3], [0.6]], [0, 1])


def test_unknown_scale():
    with pytest.raises(
        ValueError, match="scale must be one of 'logit', 'probability'; got 'proba'"
    ):
        recalibration.PlattScaling(scale="proba").fit([[0.3], [0.6]], [0, 1])


def test_edges_belong_to_the_bin_on_their_left_and_to_the_last_bit():
    X = np.array([[0.0], [0.5], [np.nextafter(0.5, 1)], [1.0]])
    fitted = HistogramBinning(n_bins=2).fit(X, [0, 1, 1, 1])
    np.testing.assert_array_equal(fitted.transform(X).ravel(), [0.5, 0.5, 1, 1])


@STRATEGIES
@pytest.mark.parametrize("n_classes", [2, 4])
def test_top_label_maps_the_confidence_of_each_predicted_class_by_itself(strategy, n_classes):
    X, y = make_scores(n_classes, 120)
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    fitted = HistogramBinning(n_bins=5, strategy=strategy, multiclass="top-label")
    proba = fitted.fit(X, y, sample_weight=weights).predict_proba(X)
    for k in range(n_classes):
        rows = X.argmax(axis=1) == k
        top, others = X[rows, k], np.delete(X[rows], k, axis=1).sum(axis=1)
        confidence = histogram(5, strategy)(top, y[rows] == k, weights[rows], top)
        expected = X[rows] * ((1 - confidence) / others)[:, None]
        expected[:, k] = confidence
        np.testing.assert_allclose(proba[rows], expected, rtol=0, atol=1e-13)


def test_top_label_of_ties_and_of_a_class_never_predicted_in_fit():
    X = [[0.6, 0.3, 0.1], [0.5, 0.3, 0.2], [0.3, 0.6, 0.1], [0.2, 0.7, 0.1]]
    fitted = HistogramBinning(n_bins=2, multiclass="top-label", min_proba=0.1).fit(X, [0, 2, 1, 0])
    assert fitted.maps_[2] is None
    new = [[0.1, 0.2, 0.7], [0.0, 0.0, 1.0]]
    np.testing.assert_allclose(fitted.predict_proba(new), new, rtol=0, atol=1e-15)
    X = [[0.4, 0.4, 0.2]] * 3 + [[0.0, 1.0, 0.0]] * 2
    fitted = HistogramBinning(n_bins=4, multiclass="top-label").fit(X, [0, 1, 2, 1, 0])
    expected = [[1 / 3, 4 / 9, 2 / 9], [0.25, 0.5, 0.25]]
    np.testing.assert_allclose(fitted.predict_proba([X[0], X[-1]]), expected, rtol=1e-14)


@STRATEGIES
@pytest.mark.parametrize("method", METHODS)
def test_logits_of_probabilities_on_edges_fall_into_the_same_bins(strategy, method):
    """The softmax of logarithms misses round numbers by rounding."""
    X = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.4, 0.2, 0.4], [0.8, 0.1, 0.1]] * 5)
    X = np.concatenate([X, X[:, [2, 0, 1]], X[:, [1, 2, 0]]])
    y = np.random.default_rng(0).integers(0, 3, len(X))
    options = {"strategy": strategy, "multiclass": method, "n_bins": 10}
    expected = HistogramBinning(**options).fit(X, y).predict_proba(X)
    for shift, other in ((0.0, 0.7), (3.0, 0.0), (-17.3, 100.0)):
        fitted = HistogramBinning(input="logits", **options).fit(np.log(X) + shift, y)
        np.testing.assert_allclose(fitted.predict_proba(np.log(X) + other), expected, **CLOSE)


def test_bins_of_equal_mass_need_more_than_one_row_that_counts():
    X, y = make_scores(3, 60)
    weights = np.where(np.arange(60) == 5, 1, 1e-6)
    histograms = [HistogramBinning(strategy="quantile", multiclass=method) for method in METHODS]
    for recalibrator in (ScalingBinning(), *histograms):
        with pytest.raises(ValueError, match=r"sample_weight must sum to at least 2.*got 1\."):
            recalibrator.fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("bandwidth", [pytest.param(0.001, marks=pytest.mark.slow), 0.03])
def test_more_distinct_probabilities_than_are_kept(bandwidth):
    rng = np.random.default_rng(0)
    v = rng.beta(0.3, 0.3, 20_000)
    y = (rng.random(len(v)) < v).astype(int)
    points = np.append(v[:18], [0, 1])
    found = KernelRecalibration(bandwidth=bandwidth).fit(v[:, None], y).transform(points[:, None])
    exact = kernel(bandwidth)(v, y, np.ones(len(v)), points)
    np.testing.assert_allclose(found.ravel(), exact, rtol=0, atol=5e-4)


def test_perfect_scores_keep_the_smallest_bandwidth_and_stay_inside():
    """Outcomes that cancel within ties leave the scores where they are, too."""
    pairs = [0.25] * 4 + [0.75] * 4
    for scores, labels in (([0, 0, 1, 1], [0, 0, 1, 1]), (pairs, [0, 0, 0, 1, 0, 1, 1, 1])):
        fitted = KernelRecalibration().fit(np.array(scores)[:, None], labels)
        assert fitted.maps_[0].bandwidth == 0.001
        proba = fitted.transform(np.array(scores)[:, None]).ravel()
        assert ((proba > 0) & (proba < 1)).all()
        np.testing.assert_allclose(proba, scores, **CLOSE)


def test_scaling_binning_agrees_with_the_package_of_the_authors():
    """PlattBinnerCalibrator(20, 5) of uncertainty-calibration 0.1.4 (scikit-learn 1.9.1).

    Its logistic regression stops early, at a gradient of 1e-4.
    """
    v = (np.arange(20) + 0.5) / 20
    y = np.array([0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1])
    fitted = ScalingBinning(n_bins=5, target_smoothing=False).fit(v[:, None], y)
    out = fitted.transform(v[:, None]).ravel()
    theirs = [0.13926913, 0.30083205, 0.43671905, 0.58305346, 0.79015364]
    np.testing.assert_allclose(out, np.repeat(theirs, 4), rtol=0, atol=3e-5)


@pytest.mark.parametrize("n_samples", [301, 41])
def test_rounding_moves_no_row_across_an_edge(n_samples):
    """With a multiple of 10 rows plus one every edge is a fitted value."""
    X, y = make_scores(3, n_samples)
    expected = ScalingBinning().fit(X, y).predict_proba(X)
    logits = ScalingBinning(input="logits").fit(np.log(X) + 3, y)
    np.testing.assert_allclose(logits.predict_proba(np.log(X) - 1), expected, rtol=0, atol=1e-9)
    weighted = ScalingBinning().fit(X, y, sample_weight=np.full(len(y), 3.0)).predict_proba(X)
    repeated = ScalingBinning().fit(np.tile(X, (3, 1)), np.tile(y, 3)).predict_proba(X)
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-9)


def test_separable_scores_of_very_different_scales():
    """The sigmoid becomes steeper by small steps, and warned though nothing was left to gain."""
    X, y = np.array([[11.0, 0], [-1e6, 0], [0, 11]]), [1, 0, 0]
    recalibrator = ScalingBinning(input="logits", target_smoothing=False)
    fitted = recalibrator.fit(X, y).maps_[0]
    scaled = expit(fitted.slope * (X[:, 1] - X[:, 0]) + fitted.intercept)
    np.testing.assert_allclose(scaled, y, atol=1e-8)


# What a, b and c are for one unit of each free parameter.
FREE = {
    "abm": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "am": [[1, 1, 0], [0, 0, 1]],
    "ab": [[1, 0, np.log(2)], [0, 1, -np.log(2)]],
}


@pytest.mark.parametrize("parameters", FREE)
@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("smoothed", [False, True])
def test_beta_map_minimises_the_log_loss_under_its_bounds(parameters, flip, smoothed):
    """The convex loss is level, or rises where a bound holds, as it does for flipped labels."""
    X, y = make_scores(2, 60)
    y, free = 1 - y if flip else y, np.array(FREE[parameters])
    fitted = recalibration.BetaCalibration(parameters=parameters, target_smoothing=smoothed)
    found = np.array(fitted.fit(X, y).maps_[0])
    targets = y
    if smoothed:
        targets = np.where(y == 1, (y.sum() + 1) / (y.sum() + 2), 1 / (60 - y.sum() + 2))
    features = np.array([np.log(X[:, 1]), -np.log(X[:, 0]), np.ones(60)])
    slopes = free @ features @ (expit(found @ features) - targets) / 60
    values = np.linalg.lstsq(free.T, found)[0]
    np.testing.assert_allclose(values @ free, found, **CLOSE)
    assert found[:2].min() >= 0
    assert slopes.min() > -1e-7
    np.testing.assert_allclose(values * slopes, 0, atol=1e-7)


# betacal 1.1.0 on the shared files: its log loss, and its map at 0.05, 0.35, 0.65 and 0.95. It
# fits by scikit-learn's LogisticRegression with the default tolerance, and reads 0 as 2.2e-16.
SUN, RAIN = "solar_flares_c1", "rain_finland_2003"
BETACAL = {
    (SUN, "abm"): (0.4434270914509641, [0.095475, 0.229001, 0.466845, 0.947543]),
    (SUN, "am"): (0.4518690824184648, [0.07116, 0.279651, 0.479466, 0.823557]),
    (SUN, "ab"): (0.4686025588951719, [0.084674, 0.37017, 0.635166, 0.941845]),
    (RAIN, "abm"): (0.46764813166180047, [0.178038, 0.239448, 0.270789, 0.322023]),
    (RAIN, "am"): (0.4686557213629737, [0.194221, 0.23587, 0.260425, 0.310795]),
    (RAIN, "ab"): (0.5423718342807576, [0.132922, 0.426235, 0.556112, 0.648051]),
}


@pytest.mark.parametrize(("name", "parameters"), BETACAL)
def test_agrees_with_betacal_and_is_at_least_as_good(shared_data, name, parameters):
    table = pd.read_csv(shared_data / f"{name}.csv")
    X, y = table.y_prob.to_numpy()[:, None], table.y_true.to_numpy()
    options = {"parameters": parameters, "min_proba": 0, "target_smoothing": False}
    fitted = recalibration.BetaCalibration(**options).fit(X, y)
    their_loss, their_map = BETACAL[name, parameters]
    assert log_loss(y, fitted.transform(X).ravel()) <= their_loss + 1e-9
    new = [[0.05], [0.35], [0.65], [0.95]]
    np.testing.assert_allclose(fitted.transform(new).ravel(), their_map, atol=1e-3)


# venn-abers 1.5.4, functions calc_p0p1 and calc_probs, run once on this case: training scores,
# outcomes, new scores; p0, p1 and the merged probability of the new scores.
VENN_ABERS = (
    [0.1, 0.2, 0.2, 0.3, 0.4, 0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.8, 0.9],
    [0, 0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1],
    [0.05, 0.2, 0.25, 0.4, 0.55, 0.8, 0.9, 0.95],
    [0.0, 0.25, 0.25, 0.28571429, 0.33333333, 0.5, 0.6, 0.6],
    [0.375, 0.42857143, 0.42857143, 0.5, 0.66666667, 0.75, 1.0, 1.0],
    [0.27272727, 0.36363636, 0.36363636, 0.41176471, 0.5, 0.6, 0.71428571, 0.71428571],
)


def test_venn_abers_agrees_with_the_package_of_the_authors():
    scores, y, new, lower, upper, merged = VENN_ABERS
    fitted, new = VennAbers().fit(in_two_columns(scores), y), in_two_columns(new)
    interval = fitted.predict_interval(new)
    np.testing.assert_allclose(interval[:, 1], np.transpose([lower, upper]), rtol=0, atol=1e-6)
    np.testing.assert_allclose(interval[:, 0], 1 - interval[:, 1, ::-1], rtol=0, atol=1e-15)
    np.testing.assert_allclose(fitted.predict_proba(new)[:, 1], merged, rtol=0, atol=1e-6)


def test_interval_reads_what_predict_proba_reads():
    X, y = make_scores(3, 60)
    order, logits = [2, 0, 1], np.log(X) + np.arange(60)[:, None]
    columns = [X[:, [k]] for k in range(3)]
    parts = [VennAbers().fit(v, y == k).predict_interval(v)[:, 1] for k, v in enumerate(columns)]
    for fitted, new in (
        (VennAbers(classes=order).fit(X[:, order], y), X[:, order]),
        (VennAbers(input="logits").fit(logits, y), logits),
    ):
        np.testing.assert_allclose(fitted.predict_interval(new), np.stack(parts, 1), **CLOSE)
    assert fitted.predict_interval(logits.astype(np.float32)).dtype == np.float32
    for recalibrator, message in ((fitted, "features"), (VennAbers(), "not fitted")):
        with pytest.raises(ValueError, match=message):
            recalibrator.predict_interval(X[:, :2])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rounding_of_logits_does_not_matter(n_classes):
    """What is added to a row leaves its ties with training rows, also near log-odds of 0."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, n_classes, 60)
    z = 1e-6 * (rng.normal(size=(60, n_classes)) + np.eye(n_classes)[y])
    interval = VennAbers(input="logits").fit(z, y).predict_interval
    shifted = z + 10 * rng.normal(size=(60, 1))
    assert (np.abs(np.diff(shifted) - np.diff(z)) > 1e-13 * np.abs(np.diff(z))).any()
    np.testing.assert_allclose(interval(shifted), interval(z), **CLOSE)


def test_weights_beside_which_one_more_row_is_nothing():
    # 1e100 + 1 - 1e100 is 0: the slope to the row that is added was divided by it.
    X, y = [[0.0], [1e-300], [0.0]], [3, 3, 1]
    proba = VennAbers().fit(X, y, sample_weight=[0, 1e-5, 1e300]).predict_proba(X)
    assert proba[0, 0] == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
