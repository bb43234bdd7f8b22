"""HistogramBinning: direct computation, edges, ties, both ways to several classes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import log_loss

from skcal.metrics import expected_calibration_error
from skcal.recalibration import HistogramBinning
from tests.recalibration.family import make_scores

STRATEGIES = ["uniform", "quantile"]
METHODS = ["one-vs-rest", "top-label"]


def bin_directly(values, outcomes, weights, n_bins, strategy):
    """Edges and means by loops: right-closed bins, lines between the filled ones.

    Quantiles are raised by 1e-12, because those that are the value of a row miss it by rounding.
    """
    if strategy == "uniform":
        edges = np.linspace(0, 1, n_bins + 1)
    else:
        edges = np.percentile(np.repeat(values, weights), np.linspace(0, 100, n_bins + 1))
        edges *= 1 + 1e-12
    total, hits = np.zeros(n_bins), np.zeros(n_bins)
    for value, outcome, weight in zip(values, outcomes, weights, strict=True):
        b = find_directly(value, edges)
        total[b] += weight
        hits[b] += weight * outcome
    middle = [(edges[b] + edges[b + 1]) / 2 for b in range(n_bins)]
    filled = [b for b in range(n_bins) if total[b]]
    means = []
    for b in range(n_bins):
        below = [f for f in filled if f <= b]
        above = [f for f in filled if f >= b]
        low, high = (below or above)[-1 if below else 0], (above or below)[0 if above else -1]
        way = 0 if low == high else (middle[b] - middle[low]) / (middle[high] - middle[low])
        means.append(hits[low] / total[low] * (1 - way) + hits[high] / total[high] * way)
    return edges, np.array(means)


def find_directly(value, edges):
    return next((b for b in range(len(edges) - 2) if value <= edges[b + 1]), len(edges) - 2)


def map_directly(values, edges, means):
    return np.array([means[find_directly(value, edges)] for value in values])


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("n_bins", [1, 2, 10, 15, 100])
def test_two_classes_agree_with_direct_computation(strategy, n_bins):
    X, y = make_scores(2, 90)
    X = np.round(X, 2)  # ties, and values on edges
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    fitted = HistogramBinning(n_bins=n_bins, strategy=strategy).fit(X, y, sample_weight=weights)
    edges, means = bin_directly(X[:, 1], y, weights, n_bins, strategy)
    np.testing.assert_allclose(fitted.maps_[0].edges, edges, rtol=2e-12)
    np.testing.assert_allclose(fitted.maps_[0].values, means, rtol=0, atol=1e-13)
    grid = np.linspace(0, 1, 1001)
    proba = fitted.predict_proba(np.column_stack([1 - grid, grid]))
    exact = map_directly(grid, edges, means)
    np.testing.assert_allclose(proba, np.column_stack([1 - exact, exact]), rtol=0, atol=1e-13)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_values_are_those_of_the_calibration_curve(strategy):
    """Bins of scikit-learn, to the bit, also for probabilities on an edge."""
    v = np.round(np.random.default_rng(1).random(400), 2)
    y = np.random.default_rng(2).integers(0, 2, 400)
    for n_bins in (5, 10, 20):
        frequency, _ = calibration_curve(y, v, n_bins=n_bins, strategy=strategy)
        fitted = HistogramBinning(n_bins=n_bins, strategy=strategy).fit(v[:, None], y)
        np.testing.assert_array_equal(fitted.maps_[0].values, frequency)


def test_edges_belong_to_the_bin_on_their_left():
    X = np.array([[0.0], [0.5], [np.nextafter(0.5, 1)], [1.0]])
    fitted = HistogramBinning(n_bins=2).fit(X, [0, 1, 1, 1])
    np.testing.assert_array_equal(fitted.transform(X).ravel(), [0.5, 0.5, 1, 1])


def test_empty_bins_are_filled_by_a_straight_line():
    fitted = HistogramBinning(n_bins=6).fit([[0.3]] * 4 + [[0.7]] * 4, [0, 0, 0, 1, 0, 1, 1, 1])
    np.testing.assert_allclose(
        fitted.maps_[0].values, [0.25, 0.25, 5 / 12, 7 / 12, 0.75, 0.75], rtol=1e-15
    )


def test_quantile_bins_never_split_ties():
    v = np.repeat([0.1, 0.4, 0.6], [50, 3, 2])
    y = np.concatenate([np.arange(50) % 5 == 0, [0, 1, 1], [1, 1]]).astype(int)
    fitted = HistogramBinning(n_bins=10, strategy="quantile").fit(v[:, None], y)
    out = fitted.transform(v[:, None]).ravel()
    for value in np.unique(v):
        assert len(np.unique(out[v == value])) == 1
    assert out[0] == pytest.approx(0.2)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_fitted_rows_are_calibrated(strategy):
    X, y = make_scores(2)
    weights = np.random.default_rng(0).random(len(y))
    fitted = HistogramBinning(strategy=strategy).fit(X, y, sample_weight=weights)
    after = fitted.transform(X)
    assert expected_calibration_error(y, X, sample_weight=weights) > 0.05
    assert expected_calibration_error(y, after, sample_weight=weights) < 1e-15
    assert np.average(after[:, 1], weights=weights) == pytest.approx(
        np.average(y, weights=weights), abs=1e-14
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_several_classes_are_mapped_one_against_the_rest_and_normalised(strategy):
    X, y = make_scores(3, 100)
    ones = np.ones(100, dtype=int)
    parts = np.column_stack(
        [map_directly(X[:, k], *bin_directly(X[:, k], y == k, ones, 8, strategy)) for k in range(3)]
    )
    total = parts.sum(axis=1, keepdims=True)
    expected = np.where(total > 0, parts / np.where(total > 0, total, 1), 1 / 3)
    proba = HistogramBinning(n_bins=8, strategy=strategy).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(proba, expected, rtol=0, atol=1e-14)


def test_row_that_all_maps_send_to_zero_becomes_even():
    X = [[0.6, 0.4, 0.0], [0.0, 0.6, 0.4], [0.4, 0.0, 0.6]]
    fitted = HistogramBinning(n_bins=2).fit(X, [0, 1, 2])
    np.testing.assert_array_equal(
        fitted.predict_proba([[0.4, 0.35, 0.25], X[0]]), [[1 / 3] * 3, [1, 0, 0]]
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_top_label_agrees_with_direct_computation(strategy, n_classes):
    X, y = make_scores(n_classes, 120)
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    fitted = HistogramBinning(n_bins=5, strategy=strategy, multiclass="top-label")
    proba = fitted.fit(X, y, sample_weight=weights).predict_proba(X)
    top = X.argmax(axis=1)
    for k in range(n_classes):
        rows = top == k
        values = X[rows, k]
        confidence = map_directly(
            values, *bin_directly(values, y[rows] == k, weights[rows], 5, strategy)
        )
        np.testing.assert_allclose(proba[rows, k], confidence, rtol=0, atol=1e-13)
        others = np.delete(X[rows], k, axis=1)
        others *= ((1 - confidence) / others.sum(axis=1))[:, None]
        np.testing.assert_allclose(np.delete(proba[rows], k, axis=1), others, rtol=0, atol=1e-13)


def test_top_label_of_a_class_never_predicted_in_fit_stays_as_it_is():
    X = [[0.6, 0.3, 0.1], [0.5, 0.3, 0.2], [0.3, 0.6, 0.1], [0.2, 0.7, 0.1]]
    fitted = HistogramBinning(n_bins=2, multiclass="top-label", min_proba=0.1).fit(X, [0, 2, 1, 0])
    assert fitted.maps_[2] is None
    np.testing.assert_allclose(
        fitted.predict_proba([[0.1, 0.2, 0.7], [0.0, 0.0, 1.0]]),
        [[0.1, 0.2, 0.7], [0, 0, 1]],
        rtol=0,
        atol=1e-15,
    )


def test_top_label_takes_the_first_class_of_a_tie():
    X = [[0.4, 0.4, 0.2]] * 3 + [[0.0, 1.0, 0.0]] * 2
    fitted = HistogramBinning(n_bins=4, multiclass="top-label").fit(X, [0, 1, 2, 1, 0])
    assert fitted.maps_[0] is not None
    np.testing.assert_allclose(
        fitted.predict_proba([X[0], X[-1]]), [[1 / 3, 4 / 9, 2 / 9], [0.25, 0.5, 0.25]], rtol=1e-14
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_bins", [5, 10])
def test_logits_of_probabilities_on_edges_fall_into_the_same_bins(strategy, method, n_bins):
    """The softmax of logarithms misses round numbers by rounding."""
    X = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1], [0.4, 0.2, 0.4], [0.8, 0.1, 0.1]] * 5)
    X = np.concatenate([X, X[:, [2, 0, 1]], X[:, [1, 2, 0]]])
    y = np.random.default_rng(0).integers(0, 3, len(X))
    options = {"strategy": strategy, "multiclass": method, "n_bins": n_bins}
    expected = HistogramBinning(**options).fit(X, y).predict_proba(X)
    for shift in (0.0, 3.0, -17.3):
        fitted = HistogramBinning(input="logits", **options).fit(np.log(X) + shift, y)
        for other in (0.0, 0.7, 100.0):
            np.testing.assert_allclose(
                fitted.predict_proba(np.log(X) + other), expected, rtol=0, atol=1e-12
            )


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("method", METHODS)
def test_min_proba_keeps_maps_from_the_ends(strategy, method):
    X, y = make_scores(4, 60)
    for lowest in (1e-9, 1 / 62, 0.3):
        fitted = HistogramBinning(strategy=strategy, multiclass=method, min_proba=lowest)
        fitted.fit(X, y)
        for k, bins in enumerate(fitted.maps_):
            assert bins is not None, k
            assert bins.values.min() == lowest  # the bound is needed here
            assert bins.values.max() <= 1 - lowest
        proba = fitted.predict_proba(X)
        assert proba.min() > 0
        assert log_loss(y, proba) < -np.log(lowest) + np.log(4)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("method", METHODS)
def test_fewer_rows_than_bins(strategy, method):
    fitted = HistogramBinning(n_bins=50, strategy=strategy, multiclass=method)
    X = np.array([[0.9, 0.1], [0.45, 0.55], [0.2, 0.8]])
    np.testing.assert_array_equal(
        fitted.fit(X, [0, 1, 1]).predict_proba(X), [[1, 0], [0, 1], [0, 1]]
    )
    one = HistogramBinning(n_bins=50, strategy=strategy, multiclass=method, classes=[0, 1])
    np.testing.assert_array_equal(one.fit(X[:1], [0]).predict_proba(X[:1]), [[1, 0]])


@pytest.mark.parametrize("method", METHODS)
def test_quantile_bins_need_weights_that_are_counts(method):
    X, y = make_scores(3, 60)
    fitted = HistogramBinning(strategy="quantile", multiclass=method)
    with pytest.raises(ValueError, match=r"sample_weight must sum to at least 2.*got 1\."):
        fitted.fit(X, y, sample_weight=np.full(60, 1 / 60))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bins": 0}, "n_bins must be at least 1; got 0"),
        ({"n_bins": 2.0}, "n_bins must be an integer; got 2.0"),
        ({"strategy": "quantiles"}, "strategy must be one of .* Did you mean 'quantile'"),
        ({"multiclass": "top"}, "multiclass must be one of 'one-vs-rest', 'top-label'; got 'top'"),
        ({"min_proba": 0.5}, "min_proba must be at least 0 and below 0.5; got 0.5"),
        ({"min_proba": -0.1}, "min_proba must be at least 0 and below 0.5; got -0.1"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        HistogramBinning(**options).fit([[0.5], [0.6]], [0, 1])


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("method", METHODS)
def test_real_network(shared_data, strategy, method):
    """Kumar et al. 2019, VGG16 on CIFAR-10: the calibration error of held-out rows falls."""
    table = pd.read_csv(shared_data / "cifar10_vgg16_proba.csv.gz")
    X, y = table.filter(regex=r"^p\d$").to_numpy(), table.y_true.to_numpy()
    fitted = HistogramBinning(strategy=strategy, multiclass=method).fit(X[:5000], y[:5000])
    after = fitted.predict_proba(X[5000:])
    for reduction in ("confidence", "classwise"):
        assert expected_calibration_error(
            y[5000:], after, reduction=reduction
        ) < 0.7 * expected_calibration_error(y[5000:], X[5000:], reduction=reduction)
