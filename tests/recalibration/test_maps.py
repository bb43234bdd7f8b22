"""Recalibrators that map each class by itself, against slow direct computations."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss

from skcal.metrics import smooth_ece
from skcal.recalibration import (
    BetaCalibration,
    HistogramBinning,
    IsotonicRecalibration,
    KernelRecalibration,
    PlattScaling,
    ScalingBinning,
    VennAbers,
)
from tests.recalibration.family import make_scores
from tests.reference import reflected_kernel_sum

STRATEGIES = pytest.mark.parametrize("strategy", ["uniform", "quantile"])
METHODS = pytest.mark.parametrize("method", ["one-vs-rest", "top-label"])


def find_bin(value, edges):
    """Bins are closed on the right; what is an edge but for rounding is one."""
    inner = [edge * (1 + 1e-12) for edge in edges[1:-1]]
    return next((b for b, edge in enumerate(inner) if value <= edge), len(inner))


def bin_directly(values, targets, weights, n_bins, strategy):
    """Edges and means by loops: right-closed bins, lines between the filled ones."""
    if strategy == "uniform":
        edges = np.linspace(0, 1, n_bins + 1)
    else:
        edges = np.percentile(np.repeat(values, weights), np.linspace(0, 100, n_bins + 1))
    total, hits = np.zeros(n_bins), np.zeros(n_bins)
    for value, target, weight in zip(values, targets, weights, strict=True):
        b = find_bin(value, edges)
        total[b] += weight
        hits[b] += weight * target
    middle, filled = (edges[:-1] + edges[1:]) / 2, total > 0
    return edges, np.interp(middle, middle[filled], hits[filled] / total[filled])


def map_by_bins(values, edges, means):
    return np.array([means[find_bin(value, edges)] for value in values])


def isotonic(v, y, w, new):
    return IsotonicRegression(out_of_bounds="clip").fit(v, y, sample_weight=w).predict(new)


def histogram(n_bins, strategy):
    return lambda v, y, w, new: map_by_bins(new, *bin_directly(v, y, w, n_bins, strategy))


def kernel(bandwidth):
    def regress(v, y, w, new):
        s = bandwidth or smooth_ece(y, v, sample_weight=w)
        return reflected_kernel_sum(new, v, w * y, s) / reflected_kernel_sum(new, v, w, s)

    return regress


def sigmoid(targets):
    def fit(v, y, w, new):
        t, x = targets(y, w), logit(v)

        def loss(line):
            z = line[0] * x + line[1]
            slope = w * (expit(z) - t) / w.sum()
            value = w @ (np.logaddexp(0, z) - t * z) / w.sum()
            return value, [slope @ x, slope.sum()]

        a, b = minimize(loss, [1, 0], jac=True, method="BFGS", options={"gtol": 1e-10}).x
        return expit(a * logit(new) + b)

    return fit


def smooth_targets(y, w):
    n_positive, n_negative = w @ y, w @ (1 - y)
    return np.where(y == 1, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))


plain_sigmoid = sigmoid(lambda y, w: y)


def binned_sigmoid(n_bins):
    def fit(v, y, w, new):
        scaled = plain_sigmoid(v, y, w, np.concatenate([v, new]))
        bins = bin_directly(scaled[: len(v)], scaled[: len(v)], w, n_bins, "quantile")
        return map_by_bins(scaled[len(v) :], *bins)

    return fit


def bracket(v, y, w, new):
    """Isotonic regressions with the new row and either outcome."""
    return np.array(
        [
            [isotonic(*(np.append(a, b) for a, b in ((v, s), (y, t), (w, 1))), [s])[0] for s in new]
            for t in (0, 1)
        ]
    )


def venn_abers(v, y, w, new):
    low, high = bracket(v, y, w, new)
    return high / (1 - low + high)


DIRECT = [
    (IsotonicRecalibration(), isotonic, 1e-12),
    *(
        (HistogramBinning(n_bins=n, strategy=strategy), histogram(n, strategy), 1e-12)
        for n in (1, 7, 10, 100)
        for strategy in ("uniform", "quantile")
    ),
    *((KernelRecalibration(bandwidth=s), kernel(s), 4e-4) for s in (None, 0.02, 0.5)),
    (PlattScaling(), sigmoid(smooth_targets), 1e-7),
    (PlattScaling(target_smoothing=False), plain_sigmoid, 1e-7),
    *((ScalingBinning(n_bins=n), binned_sigmoid(n), 1e-7) for n in (1, 3, 10, 300)),
    (VennAbers(), venn_abers, 1e-12),
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
    fitted = recalibrator.fit(np.column_stack([1 - v, v]), y, sample_weight=weights)
    proba = fitted.predict_proba(np.column_stack([1 - new, new]))
    np.testing.assert_allclose(proba[:, 1], direct(v, y, weights, new), rtol=0, atol=tolerance)
    np.testing.assert_allclose(proba[:, 0], 1 - proba[:, 1], rtol=0, atol=1e-15)


@pytest.mark.parametrize("R", [IsotonicRecalibration, HistogramBinning])
def test_row_that_all_maps_send_to_zero_becomes_even(R):
    X = [[0.6, 0.4, 0.0], [0.0, 0.6, 0.4], [0.4, 0.0, 0.6]]
    fitted = (R(n_bins=2) if R is HistogramBinning else R()).fit(X, [0, 1, 2])
    proba = fitted.predict_proba([[0.4, 0.35, 0.25], X[0]])
    np.testing.assert_array_equal(proba, [[1 / 3] * 3, [1, 0, 0]])


# ------------------------------------------------------------------------------ histogram binning


@STRATEGIES
def test_values_are_those_of_the_calibration_curve(strategy):
    """Bins of scikit-learn, to the bit, also for probabilities on an edge."""
    v = np.round(np.random.default_rng(1).random(400), 2)
    y = np.random.default_rng(2).integers(0, 2, 400)
    for n_bins in (5, 20):
        frequency, _ = calibration_curve(y, v, n_bins=n_bins, strategy=strategy)
        fitted = HistogramBinning(n_bins=n_bins, strategy=strategy).fit(v[:, None], y)
        np.testing.assert_array_equal(fitted.maps_[0].values, frequency)


def test_edges_belong_to_the_bin_on_their_left_and_to_the_last_bit():
    X = np.array([[0.0], [0.5], [np.nextafter(0.5, 1)], [1.0]])
    fitted = HistogramBinning(n_bins=2).fit(X, [0, 1, 1, 1])
    np.testing.assert_array_equal(fitted.transform(X).ravel(), [0.5, 0.5, 1, 1])


@STRATEGIES
@pytest.mark.parametrize("n_classes", [2, 4])
def test_top_label_agrees_with_direct_computation(strategy, n_classes):
    X, y = make_scores(n_classes, 120)
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    fitted = HistogramBinning(n_bins=5, strategy=strategy, multiclass="top-label")
    proba = fitted.fit(X, y, sample_weight=weights).predict_proba(X)
    top = X.argmax(axis=1)
    for k in range(n_classes):
        rows = top == k
        bins = bin_directly(X[rows, k], y[rows] == k, weights[rows], 5, strategy)
        confidence = map_by_bins(X[rows, k], *bins)
        others = np.delete(X[rows], k, axis=1).sum(axis=1)
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
@METHODS
def test_logits_of_probabilities_on_edges_fall_into_the_same_bins(strategy, method):
    """The softmax of logarithms misses round numbers by rounding."""
    X = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.4, 0.2, 0.4], [0.8, 0.1, 0.1]] * 5)
    X = np.concatenate([X, X[:, [2, 0, 1]], X[:, [1, 2, 0]]])
    y = np.random.default_rng(0).integers(0, 3, len(X))
    options = {"strategy": strategy, "multiclass": method, "n_bins": 10}
    expected = HistogramBinning(**options).fit(X, y).predict_proba(X)
    for shift, other in ((0.0, 0.7), (3.0, 0.0), (-17.3, 100.0)):
        fitted = HistogramBinning(input="logits", **options).fit(np.log(X) + shift, y)
        proba = fitted.predict_proba(np.log(X) + other)
        np.testing.assert_allclose(proba, expected, rtol=0, atol=1e-12)


@STRATEGIES
@METHODS
def test_min_proba_keeps_maps_from_the_ends(strategy, method):
    X, y = make_scores(4, 60)
    fitted = HistogramBinning(strategy=strategy, multiclass=method, min_proba=0.3).fit(X, y)
    for bins in fitted.maps_:
        assert bins.values.min() == 0.3  # the bound is needed here
        assert bins.values.max() <= 0.7


@METHODS
@pytest.mark.parametrize("R", [HistogramBinning, ScalingBinning])
def test_bins_of_equal_mass_need_weights_that_are_counts(R, method):
    X, y = make_scores(3, 60)
    is_histogram = R is HistogramBinning
    fitted = R(strategy="quantile", multiclass=method) if is_histogram else R()
    with pytest.raises(ValueError, match=r"sample_weight must sum to at least 2.*got 1\."):
        fitted.fit(X, y, sample_weight=np.full(60, 1 / 60))


# ------------------------------------------------------------------------------------- kernels


@pytest.mark.parametrize("bandwidth", [0.001, 0.03])
def test_more_distinct_probabilities_than_are_kept(bandwidth):
    rng = np.random.default_rng(0)
    v = rng.beta(0.3, 0.3, 20_000)
    y = (rng.random(len(v)) < v).astype(int)
    fitted = KernelRecalibration(bandwidth=bandwidth).fit(v[:, None], y)
    points = np.append(v[:18], [0, 1])
    exact = kernel(bandwidth)(v, y, np.ones(len(v)), points)
    np.testing.assert_allclose(fitted.transform(points[:, None]).ravel(), exact, rtol=0, atol=5e-4)


@pytest.mark.parametrize(
    ("scores", "labels", "expected"),
    [
        ([0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 1]),
        # Outcomes that cancel within ties leave the scores where they are.
        ([0.25] * 4 + [0.75] * 4, [0, 0, 0, 1, 0, 1, 1, 1], [0.25] * 4 + [0.75] * 4),
    ],
)
def test_perfect_scores_keep_the_smallest_bandwidth_and_stay_inside(scores, labels, expected):
    fitted = KernelRecalibration().fit(np.array(scores)[:, None], labels)
    assert fitted.maps_[0].bandwidth == 0.001
    proba = fitted.transform(np.array(scores)[:, None]).ravel()
    assert ((proba > 0) & (proba < 1)).all()
    np.testing.assert_allclose(proba, expected, rtol=0, atol=1e-12)


# ------------------------------------------------------------------------------------ sigmoids


def test_scaling_binning_agrees_with_the_package_of_the_authors():
    """PlattBinnerCalibrator(20, 5) of uncertainty-calibration 0.1.4 (scikit-learn 1.9.1).

    Its logistic regression stops early, at a gradient of 1e-4.
    """
    v = (np.arange(20) + 0.5) / 20
    y = np.array([0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1])
    out = ScalingBinning(n_bins=5).fit(v[:, None], y).transform(v[:, None]).ravel()
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
    fitted = ScalingBinning(input="logits").fit(X, y).maps_[0]
    scaled = expit(fitted.slope * (X[:, 1] - X[:, 0]) + fitted.intercept)
    np.testing.assert_allclose(scaled, y, atol=1e-8)


# ---------------------------------------------------------------------------- beta calibration


def map_of(a, b, c, v):
    return expit(a * np.log(v) - b * np.log(1 - v) + c)


@pytest.mark.parametrize("parameters", ["abm", "am", "ab"])
@pytest.mark.parametrize("flip", [False, True])
def test_beta_map_minimises_the_log_loss_under_its_bounds(parameters, flip):
    """With the labels flipped the best map would fall; the bounds then hold."""
    X, y = make_scores(2, 60)
    y = 1 - y if flip else y
    found = BetaCalibration(parameters=parameters).fit(X, y).maps_[0]

    def expand(free):
        if parameters == "am":
            return free[0], free[0], free[1]
        return free if parameters == "abm" else (*free, (free[0] - free[1]) * np.log(2))

    def loss(free):
        return log_loss(y, map_of(*expand(free), X[:, 1]))

    bounds = {"abm": [(0, None)] * 2 + [(None, None)], "am": [(0, None), (None, None)]}
    bounds = bounds.get(parameters, [(0, None)] * 2)
    best = minimize(loss, [1.0] * len(bounds), bounds=bounds, options={"ftol": 1e-14})
    assert min(found[:2]) >= 0
    assert log_loss(y, map_of(*found, X[:, 1])) <= best.fun + 1e-13


# betacal 1.1.0 on the shared files: its log loss, and its map at 0.05, 0.35, 0.65 and 0.95. It
# fits by scikit-learn's LogisticRegression with the default tolerance.
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
    fitted = BetaCalibration(parameters=parameters).fit(X, y)
    their_loss, their_map = BETACAL[name, parameters]
    assert log_loss(y, fitted.transform(X).ravel()) <= their_loss + 1e-9
    new = [[0.05], [0.35], [0.65], [0.95]]
    np.testing.assert_allclose(fitted.transform(new).ravel(), their_map, atol=1e-3)


# ---------------------------------------------------------------------------------- Venn-Abers

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


def in_two_columns(proba):
    return np.column_stack([1 - np.asarray(proba, dtype=float), proba])


def test_venn_abers_agrees_with_the_package_of_the_authors():
    scores, y, new, lower, upper, merged = VENN_ABERS
    fitted, new = VennAbers().fit(in_two_columns(scores), y), in_two_columns(new)
    interval = fitted.predict_interval(new)
    np.testing.assert_allclose(interval[:, 1], np.transpose([lower, upper]), rtol=0, atol=1e-6)
    np.testing.assert_allclose(interval[:, 0], 1 - interval[:, 1, ::-1], rtol=0, atol=1e-15)
    np.testing.assert_allclose(fitted.predict_proba(new)[:, 1], merged, rtol=0, atol=1e-6)


def test_interval_reads_what_predict_proba_reads():
    X, y = make_scores(3, 60)
    order = [2, 0, 1]
    weights = np.ones(60)
    columns = [bracket(X[:, k], y == k, weights, X[:, k]).T for k in range(3)]
    expected = np.stack(columns, axis=1)
    logits = np.log(X) + np.arange(60)[:, None]
    names = pd.DataFrame(X, columns=list("abc"))
    for fitted, new in (
        (VennAbers().fit(X, y), X.tolist()),
        (VennAbers().fit(names, y), names),
        (VennAbers(classes=order).fit(X[:, order], y), X[:, order]),
        (VennAbers(input="logits").fit(logits, y), logits),
    ):
        np.testing.assert_allclose(fitted.predict_interval(new), expected, rtol=0, atol=1e-12)
    assert fitted.predict_interval(logits.astype(np.float32)).dtype == np.float32
    with pytest.raises(ValueError, match="features"):
        fitted.predict_interval(X[:, :2])
    with pytest.raises(ValueError, match="not fitted"):
        VennAbers().predict_interval(X)
    X, y = make_scores(2, 60)
    one, both = VennAbers().fit(X[:, 1:], y), VennAbers().fit(X, y)
    np.testing.assert_array_equal(one.predict_interval(X[:, 1:]), both.predict_interval(X))


def test_a_missing_class_gets_a_small_probability():
    X, y = make_scores(3, 200)
    fitted = VennAbers(classes=[0, 1, 2, 3]).fit(np.column_stack([0.9 * X, np.full(200, 0.1)]), y)
    new = np.array([[0.3, 0.3, 0.3, 0.1]])
    # All 200 rows and the new one are tied: p0 = 0 and p1 = 1 / 201.
    np.testing.assert_allclose(fitted.predict_interval(new)[0, 3], [0, 1 / 201], atol=1e-15)
    assert 0 < fitted.predict_proba(new)[0, 3] < 0.01


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rounding_of_logits_does_not_matter(n_classes):
    """What is added to a row leaves its ties with training rows, also near log-odds of 0."""
    rng = np.random.default_rng(4)
    y = rng.integers(0, n_classes, 60)
    z = 1e-6 * (rng.normal(size=(60, n_classes)) + np.eye(n_classes)[y])
    fitted = VennAbers(input="logits").fit(z, y)
    shifted = z + 10 * rng.normal(size=(60, 1))
    assert (np.abs(np.diff(shifted) - np.diff(z)) > 1e-13 * np.abs(np.diff(z))).any()
    np.testing.assert_allclose(
        fitted.predict_interval(shifted), fitted.predict_interval(z), rtol=0, atol=1e-12
    )


def test_weights_beside_which_one_more_row_is_nothing():
    # 1e100 + 1 - 1e100 is 0: the slope to the row that is added was divided by it.
    X, y = [[0.0], [1e-300], [0.0]], [3, 3, 1]
    proba = VennAbers().fit(X, y, sample_weight=[0, 1e-5, 1e300]).predict_proba(X)
    assert proba[0, 0] == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
