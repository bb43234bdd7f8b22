"""ScalingBinning: direct computation, the authors' own package, few values."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit

from skcal.metrics import expected_calibration_error
from skcal.recalibration import PlattScaling, ScalingBinning
from tests.recalibration.family import make_scores


def scale_directly(values, outcomes):
    """Sigmoid of the log-odds with the least log loss, by a general optimiser."""
    log_odds = logit(values)

    def loss(parameters):
        margin = parameters[0] * log_odds + parameters[1]
        slope = (expit(margin) - outcomes) / len(values)
        return np.mean(np.logaddexp(0, margin) - outcomes * margin), [slope @ log_odds, slope.sum()]

    best = minimize(loss, [1, 0], jac=True, method="BFGS", options={"gtol": 1e-10})
    return expit(best.x[0] * log_odds + best.x[1])


def average_directly(scaled, n_bins):
    """Means of sorted values without ties, cut into groups of equal size."""
    order = np.argsort(scaled)
    out = np.empty(len(scaled))
    for rows in np.array_split(order, n_bins):
        out[rows] = scaled[rows].mean()
    return out


@pytest.mark.parametrize("n_bins", [1, 3, 10, 300])
def test_two_classes_agree_with_direct_computation(n_bins):
    X, y = make_scores(2)
    out = ScalingBinning(n_bins=n_bins).fit(X, y).transform(X)[:, 1]
    expected = average_directly(scale_directly(X[:, 1], y), n_bins)
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-8)
    assert len(np.unique(out)) == n_bins


def test_several_classes_are_mapped_one_against_the_rest_and_normalised():
    X, y = make_scores(3)
    parts = np.column_stack(
        [average_directly(scale_directly(X[:, k], y == k), 10) for k in range(3)]
    )
    np.testing.assert_allclose(
        ScalingBinning().fit(X, y).predict_proba(X),
        parts / parts.sum(axis=1, keepdims=True),
        rtol=0,
        atol=1e-8,
    )


def test_agrees_with_the_package_of_the_authors():
    """PlattBinnerCalibrator(20, 5) of uncertainty-calibration 0.1.4 (scikit-learn 1.9.1).

    Its logistic regression stops early, at a gradient of 1e-4.
    """
    v = (np.arange(20) + 0.5) / 20
    y = np.array([0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 1])
    fitted = ScalingBinning(n_bins=5).fit(v[:, None], y)
    theirs = [0.13926913, 0.30083205, 0.43671905, 0.58305346, 0.79015364]
    np.testing.assert_allclose(
        fitted.transform(v[:, None]).ravel(), np.repeat(theirs, 4), rtol=0, atol=3e-5
    )


def test_mean_of_the_fitted_rows_is_the_base_rate():
    """The sigmoid has it because its intercept is free, and bins keep it."""
    X, y = make_scores(2)
    weights = np.random.default_rng(0).exponential(size=len(y))
    out = ScalingBinning().fit(X, y, sample_weight=weights).transform(X)[:, 1]
    assert np.average(out, weights=weights) == pytest.approx(
        np.average(y, weights=weights), abs=1e-9
    )


def test_many_bins_give_platt_scaling():
    X, y = make_scores(2)
    out = ScalingBinning(n_bins=len(y)).fit(X, y).transform(X)
    platt = PlattScaling(target_smoothing=False).fit(X, y).transform(X)
    np.testing.assert_allclose(out, platt, rtol=0, atol=1e-12)


@pytest.mark.parametrize("right", [True, False])
def test_values_are_in_the_order_of_the_sigmoid(right):
    X, y = make_scores(2)
    fitted = ScalingBinning().fit(X if right else X[:, ::-1], y)
    (bins,) = fitted.maps_
    assert (bins.slope > 0) == right
    assert (np.diff(bins.values) > 0).all()
    assert ((bins.values >= bins.edges[:-1]) & (bins.values <= bins.edges[1:])).all()
    grid = np.linspace(0, 1, 101)
    rise = np.diff(fitted.transform(np.column_stack([1 - grid, grid]))[:, 1])
    assert (rise * (1 if right else -1) >= 0).all()


def test_ties_are_never_split():
    v = np.repeat([0.1, 0.4, 0.6], [50, 3, 2])
    y = (np.arange(55) % 5 == 0).astype(int)
    out = ScalingBinning().fit(v[:, None], y).transform(v[:, None]).ravel()
    for value in np.unique(v):
        assert len(np.unique(out[v == value])) == 1


@pytest.mark.parametrize("n_samples", [301, 41])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_rounding_moves_no_row_across_an_edge(n_classes, n_samples):
    """With a multiple of 10 rows plus one every edge is a fitted value."""
    X, y = make_scores(n_classes, n_samples)
    expected = ScalingBinning().fit(X, y).predict_proba(X)
    logits = ScalingBinning(input="logits").fit(np.log(X) + 3, y)
    np.testing.assert_allclose(logits.predict_proba(np.log(X) - 1), expected, rtol=0, atol=1e-9)
    repeated = ScalingBinning().fit(np.tile(X, (3, 1)), np.tile(y, 3)).predict_proba(X)
    weighted = ScalingBinning().fit(X, y, sample_weight=np.full(len(y), 3.0)).predict_proba(X)
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-9)


def test_constant_scores_give_the_base_rate():
    fitted = ScalingBinning().fit(np.full((4, 2), 0.5), [0, 1, 1, 1])
    np.testing.assert_allclose(
        fitted.predict_proba([[0.9, 0.1], [0.5, 0.5], [0, 1]])[:, 1], 0.75, rtol=1e-9
    )


def test_fewer_rows_than_bins():
    X, y = make_scores(2, 7)
    out = ScalingBinning(n_bins=40).fit(X, y).transform(X)[:, 1]
    np.testing.assert_allclose(out, scale_directly(X[:, 1], y), rtol=0, atol=1e-7)


def test_separable_scores_stay_inside():
    z = np.array([[-3.0], [-1.0], [1.0], [2.0]])
    fitted = ScalingBinning(input="logits", n_bins=2).fit(z, [0, 0, 1, 1])
    assert np.isfinite(fitted.maps_[0].slope)
    proba = fitted.predict_proba(z)
    np.testing.assert_allclose(proba[:, 1], [0, 0, 1, 1], rtol=0, atol=1e-9)
    assert proba.min() > 0
    assert proba.max() < 1


def test_weights_that_are_no_counts_are_refused():
    X, y = make_scores(2, 50)
    with pytest.raises(ValueError, match=r"sample_weight must sum to at least 2.*got 1\."):
        ScalingBinning().fit(X, y, sample_weight=np.full(50, 1 / 50))


@pytest.mark.parametrize(
    ("n_bins", "message"),
    [(0, "n_bins must be at least 1; got 0"), (2.5, "n_bins must be an integer; got 2.5")],
)
def test_bad_options(n_bins, message):
    with pytest.raises(ValueError, match=message):
        ScalingBinning(n_bins=n_bins).fit([[0.5], [0.6]], [0, 1])


def test_real_network(shared_data):
    """Kumar et al. 2019, VGG16 on CIFAR-10: the calibration error of held-out rows falls."""
    table = pd.read_csv(shared_data / "cifar10_vgg16_proba.csv.gz")
    X, y = table.filter(regex=r"^p\d$").to_numpy(), table.y_true.to_numpy()
    after = ScalingBinning().fit(X[:5000], y[:5000]).predict_proba(X[5000:])
    for reduction in ("confidence", "classwise"):
        assert expected_calibration_error(
            y[5000:], after, reduction=reduction
        ) < 0.7 * expected_calibration_error(y[5000:], X[5000:], reduction=reduction)


def test_separable_scores_of_very_different_scales():
    """The sigmoid becomes steeper by small steps, and warned though nothing was left to gain."""
    X, y = np.array([[11.0, 0], [-1e6, 0], [0, 11]]), [1, 0, 0]
    fitted = ScalingBinning(input="logits").fit(X, y).maps_[0]
    scaled = expit(fitted.slope * (X[:, 1] - X[:, 0]) + fitted.intercept)
    np.testing.assert_allclose(scaled, y, atol=1e-8)
