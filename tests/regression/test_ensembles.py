"""Recalibrators of ensembles: definitions, closed forms, missing members, guarantees."""

import warnings

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.optimize import linprog
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import QuantileRegressor
from sklearn.model_selection import KFold

from skcal._numerics.distributions._ensemble_scaling import swap_target
from skcal.regression import (
    AutoEnsemble,
    Ensemble,
    EnsembleScaling,
    IsotonicDistributionalRegression,
    NotPredictionsError,
    RecalibratedRegressorCV,
    continuous_ranked_probability_score,
)
from tests.chance import most_of

every_class = pytest.mark.parametrize("R", [EnsembleScaling, AutoEnsemble])


def draw(n_rows=100, n_members=6, seed=0, spread=0.4):
    """Ensembles that are biased and too narrow, with a signal that is too weak, and targets."""
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=n_rows)
    members = 1 + 0.7 * signal[:, None] + spread * rng.normal(size=(n_rows, n_members))
    return members, signal + rng.standard_t(4, size=n_rows)


def score(y, members, weights=None):
    return continuous_ranked_probability_score(y, Ensemble(members), sample_weight=weights)


class Trees(RegressorMixin, BaseEstimator):
    """A forest that predicts what each of its trees does, or the mean of all."""

    def __init__(self, mean=False):
        self.mean = mean

    def fit(self, X, y):
        self.forest_ = RandomForestRegressor(10, min_samples_leaf=10, random_state=0).fit(X, y)
        return self

    def predict(self, X):
        trees = np.column_stack([tree.predict(X) for tree in self.forest_.estimators_])
        return trees.mean(axis=1) if self.mean else trees


@every_class
def test_members_of_what_is_never_negative_are_not_negative(R):
    rng = np.random.default_rng(0)
    signal = rng.gamma(1.0, size=(80, 1))
    members, y = 1 + signal * rng.uniform(0.9, 1.1, (80, 6)), rng.gamma(1.0, signal[:, 0])
    members[0, 0] = np.nan
    new = np.array([[0.0, 0.0, 0.1, 0.2, np.nan, 9.0], [-30.0, -2.0, -1.0, 0.0, 1.0, 2.0]])
    amounts, numbers = R().fit(members, y), R().fit(members - 1, y - 1)
    for rows in (members, new):
        found = amounts.transform(rows)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(rows))
        assert np.nanmin(found) >= 0
        if R is EnsembleScaling:  # with 1 less in all the same line, which has no limit
            line = numbers.transform(rows - 1) + 1
            assert np.nanmin(line) < 0
            np.testing.assert_allclose(found, np.maximum(line, 0), atol=1e-4)


# ---------------------------------------------------------------------------------- EnsembleScaling


def find_least(members, y, weights):
    """The least CRPS of all shifts and scales: a linear program, in which t_ij >= |error_ij|."""
    n_members = members.shape[1]
    mean, mass = members.mean(axis=1), weights / weights.sum()
    deviations = members - mean[:, None]
    spread = np.abs(members[:, :, None] - members[:, None]).mean(axis=(1, 2)) / 2
    design = np.column_stack([np.ones(members.size), mean.repeat(n_members), deviations.ravel()])
    target, eye = y.repeat(n_members), sparse.eye(members.size)
    found = linprog(
        np.concatenate([[0, 0, -mass @ spread], (mass / n_members).repeat(n_members)]),
        A_ub=sparse.vstack([sparse.hstack([s * design, -eye]) for s in (1, -1)]),
        b_ub=np.concatenate([target, -target]),
        bounds=[(None, None)] + [(0, None)] * (2 + members.size),
    )
    return found.fun, found.x[:3]


@pytest.mark.parametrize(("n_rows", "n_members"), [(15, 3), (60, 2), (150, 9)])
def test_score_is_the_least_of_a_linear_program(n_rows, n_members):
    members, y = draw(n_rows, n_members, seed=n_rows)
    weights = np.random.default_rng(0).uniform(size=n_rows)
    model = EnsembleScaling().fit(members, y, sample_weight=weights)
    least, _ = find_least(members, y, weights)
    assert score(y, model.transform(members), weights) == pytest.approx(least, rel=1e-4)
    mean = members.mean(axis=1, keepdims=True)
    by_hand = model.intercept_ + model.slope_ * mean + model.scale_ * (members - mean)
    np.testing.assert_allclose(model.transform(members), by_hand)


@pytest.mark.parametrize(("intercept", "slope", "scale"), [(0, 1, 1), (3, 1, 2), (-1, 0.5, 0.3)])
def test_normal_ensembles_with_wrong_shift_and_scale(intercept, slope, scale):
    """Members at the quantiles (j - 1/2) / m, which are best for the CRPS, as targets are there."""
    z = stats.norm.ppf((np.arange(5) + 0.5) / 5)
    grid = stats.norm.ppf((np.arange(4000) + 0.5) / 4000)
    mean = np.repeat([-2.0, 0.0, 1.0, 5.0], 4000)
    y = intercept + slope * mean + scale * np.tile(grid, 4)
    model = EnsembleScaling().fit(mean[:, None] + z, y)
    found = model.intercept_, model.slope_, model.scale_
    assert found == pytest.approx((intercept, slope, scale), abs=3e-3)


def test_one_member_is_a_regression_of_the_median():
    members, y = draw(80, 1)
    model = EnsembleScaling().fit(members, y)
    peer = QuantileRegressor(quantile=0.5, alpha=0).fit(members, y)
    least = np.abs(y - peer.predict(members)).mean()
    assert np.abs(y - model.predict(members)).mean() == pytest.approx(least, rel=1e-4)
    assert model.scale_ == 1


def test_what_changes_nothing_stays_1():
    y = np.array([1.0, 2.0, 6.0, 7.0])
    same = EnsembleScaling().fit(np.tile([1.0, 3.0], (4, 1)), y)
    assert same.slope_ == 1
    assert same.scale_ > 1
    point = EnsembleScaling().fit(np.full((4, 3), 2.0), y)
    assert (point.slope_, point.scale_) == (1, 1)
    exact = EnsembleScaling().fit(np.tile(y[:, None], 3) / 2 - 1, y)
    np.testing.assert_allclose(exact.transform([[1.0, 1.0, 1.0]]), [[4.0, 4.0, 4.0]])
    single = EnsembleScaling().fit([[1.0, 3.0]], [5.0])
    np.testing.assert_allclose(single.predict([[1.0, 3.0]]), [5.0], atol=0.1)


# ------------------------------------------------------------------------------------- both of them


@every_class
def test_members_keep_their_places(R):
    members, y = draw()
    found = R().fit(members, y).transform(members)
    np.testing.assert_array_equal(np.argsort(found, axis=1), np.argsort(members, axis=1))
    order = np.array([3, 0, 5, 1, 4, 2])
    other = R().fit(members[:, order], y).transform(members[:, order])
    np.testing.assert_allclose(other, found[:, order], rtol=1e-9)


@every_class
def test_missing_members(R):
    members, y = draw(60, 4)
    empty = np.column_stack([members[:, :2], np.full((60, 3), np.nan), members[:, 2:]])
    whole, model = R().fit(members, y), R().fit(empty, y)
    found = model.transform(empty)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(empty))
    np.testing.assert_allclose(found[:, [0, 1, 5, 6]], whole.transform(members), rtol=1e-9)
    np.testing.assert_allclose(model.predict(empty), whole.predict(members), rtol=1e-9)
    np.testing.assert_allclose(
        model.predict_quantiles(empty, [0.2, 0.7]),
        whole.predict_quantiles(members, [0.2, 0.7]),
        rtol=1e-9,
    )
    members[::3, 1] = members[1::5, 3] = np.nan
    some = R().fit(members, y)
    assert np.isfinite(some.predict(members)).all()
    assert score(y, some.transform(members)) < score(y, members)


@every_class
def test_what_is_no_ensemble(R):
    members, y = draw(20, 3)
    model = R().fit(members, y)
    members[4] = np.nan
    for ask in (model.transform, model.predict_quantiles, lambda X: R().fit(X, y)):
        with pytest.raises(
            NotPredictionsError, match=r"member that is not NaN in each row; .* row 4"
        ):
            ask(members)
    members[4] = [np.inf, 0, 0]
    with pytest.raises(
        NotPredictionsError, match=r"or NaN for a member that is missing; got \[inf"
    ):
        model.transform(members)
    with pytest.raises(ValueError, match=r"X has 2 features.*expecting 3"):
        model.transform(members[:, :2])
    with pytest.raises(ValueError, match=r"2D array|2-dimensional"):
        R().fit(members[:, 0], y)


def test_methods_of_an_ensemble():
    law = Ensemble([[1.0, 4.0, np.nan, 1.0], [0.0, 2.0, 4.0, 6.0]])
    np.testing.assert_array_equal(law.cdf(1.0), [2 / 3, 1 / 4])
    np.testing.assert_array_equal(law.cdf([4.0, 1.9]), [1, 1 / 4])
    np.testing.assert_array_equal(law.mean(), [2, 3])
    np.testing.assert_allclose(law.std(), np.sqrt([2, 5]))
    np.testing.assert_array_equal(law.ppf(0.5), [1, 3])
    np.testing.assert_allclose(law.ppf(0.6), [2.2, 4], rtol=1e-15)
    for q in (0.2, 0.8):  # that of the first row is between .25 and .75
        with pytest.raises(ValueError, match=f"between 0.25 and 0.75 for rows of 3.*; got {q}"):
            law.ppf(q)
    with pytest.raises(ValueError, match=r"^members must have a member .*; row 1 has none"):
        Ensemble([[1.0], [np.nan]]).ppf(0.5)
    with pytest.raises(ValueError, match=r"x must be one number, or one for each of the 2 rows"):
        law.cdf([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "recalibrator",
    [EnsembleScaling(), AutoEnsemble(), IsotonicDistributionalRegression(input="ensemble")],
)
def test_in_a_regressor(recalibrator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3))
    y = X[:, 0] + rng.normal(size=160)
    splits = KFold(4)
    model = RecalibratedRegressorCV(Trees(), recalibrator, cv=splits).fit(X, y)
    held_out = np.concatenate([Trees().fit(X[a], y[a]).predict(X[b]) for a, b in splits.split(X)])
    by_hand, trees = recalibrator.fit(held_out, y), Trees().fit(X, y).predict(X)
    np.testing.assert_array_equal(model.predict(X), by_hand.predict(trees))
    np.testing.assert_array_equal(
        model.predict_quantiles(X, [0.2, 0.7]), by_hand.predict_quantiles(trees, [0.2, 0.7])
    )
    np.testing.assert_array_equal(
        model.predict_interval(X, 0.5), by_hand.predict_interval(trees, 0.5)
    )
    for found, expected in zip(
        model.predict(X, return_std=True), by_hand.predict(trees, return_std=True), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    laws = model.predict_distribution(X), by_hand.predict_distribution(trees)
    np.testing.assert_array_equal(*(law.cdf(0.0) for law in laws))


# -------------------------------------------------------------------- isotonic distributions, pools


@pytest.mark.parametrize("shift", [0.0, np.nan])
def test_isotonic_distributions_of_ensemble_means(shift):
    """The values of test-total-order.R of isodistrreg, with the predictors as means."""
    members = np.array([[0.0, 2], [1, 3], [2, 4], [3, 5]])
    members = np.column_stack([members, members.mean(axis=1) + shift])
    y = [1.0, 3.0, 2.0, 4.0]
    model = IsotonicDistributionalRegression(input="ensemble").fit(members, y)
    law = model.predict_distribution(members)
    found = np.column_stack([law.cdf(t) for t in (1.0, 2.0, 3.0, 4.0)])
    expected = [[1, 1, 1, 1], [0, 0.5, 1, 1], [0, 0.5, 1, 1], [0, 0, 0, 1]]
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    with pytest.raises(ValueError, match="input must be one of 'mean', 'ensemble'; got 'members'"):
        IsotonicDistributionalRegression(input="members").fit(members, y)


def hold_out(members, y, splits):
    """Maps of rows held out, by hand: the ensembles, scaled, and isotonic at j / (m + 1)."""
    n_members = members.shape[1]
    levels, parts = np.arange(1, n_members + 1) / (n_members + 1), []
    mean = members.mean(axis=1, keepdims=True)
    for train, test in splits:
        scaled = EnsembleScaling().fit(members[train], y[train]).transform(members[test])
        isotonic = IsotonicDistributionalRegression().fit(mean[train], y[train])
        quantiles = isotonic.predict_quantiles(mean[test], levels)
        parts.append([np.sort(members[test]), np.sort(scaled), quantiles])
    return np.concatenate(parts, axis=1), y[np.concatenate([test for _, test in splits])]


def test_weights_minimise_the_penalised_score():
    """Against all weights on a grid of the simplex."""
    members, y = draw(120, 5, spread=0.7)
    splits = [*KFold(3, shuffle=True, random_state=0).split(members)]
    maps, targets = hold_out(members, y, splits)
    model = AutoEnsemble(cv=splits, prior_rows=60.0).fit(members, y)
    scores = [score(targets, one) for one in maps]
    np.testing.assert_allclose(model.scores_, scores)
    assert (model.weights_ > 0).all()

    def measure(weights):
        loss = 120 * score(targets, np.tensordot(weights, maps, axes=1)) / min(scores)
        return loss - np.array([60.0, 0.5, 0.5]) @ np.log(weights)

    grid = np.random.default_rng(0).dirichlet(np.ones(3), 200)
    for weights in [*grid, *(0.95 * model.weights_ + 0.05 * grid)]:
        assert measure(model.weights_) <= measure(weights) + 1e-3
    scaling, isotonic = model.recalibrators_
    quantiles = isotonic.predict_quantiles(members, np.arange(1, 6) / 6)
    parts = [np.sort(members), np.sort(scaling.transform(members)), quantiles]
    pooled = np.tensordot(model.weights_, parts, axes=1)
    np.testing.assert_allclose(np.sort(model.transform(members)), pooled, rtol=1e-12)


def test_gain_is_that_of_weights_from_the_other_folds():
    members, y = draw(120, 5, spread=0.7)
    splits, pooled, targets = [*KFold(2).split(members)], [], []
    for train, test in splits:
        maps, held_out = hold_out(members, y, [(train, test)])
        weights = AutoEnsemble(cv=[(test, train)]).fit(members, y).weights_
        pooled.append(np.tensordot(weights, maps, axes=1))
        targets.append(held_out)
    model = AutoEnsemble(cv=splits).fit(members, y)
    loss = score(np.concatenate(targets), np.concatenate(pooled))
    assert model.gain_ == pytest.approx(model.scores_[0] - loss)


def test_right_ensembles_of_few_members_stay():
    """A tenth of them may change."""
    n_changed, n_samples = 0, 20
    for seed in range(n_samples):
        rng, n_members = np.random.default_rng(seed), (3, 10)[seed % 2]
        pooled = rng.normal(size=(80, 1)) + rng.normal(size=(80, n_members + 1))
        n_changed += AutoEnsemble(cv=2).fit(pooled[:, 1:], pooled[:, 0]).weights_[0] < 1
    assert n_changed <= most_of(n_samples, 0.1)


@pytest.mark.parametrize("missing", [False, True])
def test_swaps_keep_the_rank_of_the_target_uniform(missing):
    """Each of the numbers is the target once, before and after."""
    pooled = np.array([[1.0, 2.0, 4.0, 8.0, 16.0]] * 5)
    targets, members = np.diag(pooled), pooled[~np.eye(5, dtype=bool)].reshape(5, 4)
    if missing:
        members = np.column_stack([members, np.full(5, np.nan)])
    for turn in (0.01, 0.2, 0.5, 0.8):
        others, chosen = swap_target(members, targets, turn)
        assert (chosen != targets).all()
        np.testing.assert_array_equal(np.sort(chosen), pooled[0])
        both = np.sort(np.column_stack([others, chosen]), axis=1)
        np.testing.assert_array_equal(both[:, :5], pooled)


def test_too_few_rows_change_nothing():
    members, y = draw(4, 3)
    with pytest.warns(UserWarning, match="too little to learn from, 4 rows: predictions are left"):
        model = AutoEnsemble().fit(members, y)
    np.testing.assert_array_equal(model.transform(members), members)
    np.testing.assert_array_equal(model.weights_, [1, 0, 0])
    assert np.isnan(model.scores_).all()
    for options in ({"cv": 1}, {"prior_rows": 0}):
        with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
            AutoEnsemble(**options).fit(members, y)


ERRORS = {
    "none": lambda signal, noise: signal + noise,
    "bias": lambda signal, noise: 0.3 + signal + noise,
    "narrow": lambda signal, noise: signal + 0.3 * noise,
    "wide": lambda signal, noise: signal + 2 * noise,
    "curve": lambda signal, noise: np.exp(signal / 2) + noise,
}


def measure_harm(n_rows, n_members, error, seed):
    """By how much the score of new rows rises, in scores of a row, for as many as were fitted."""
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=(n_rows + 2000, 1))
    y = rng.normal(signal[:, 0])
    members = ERRORS[error](signal, rng.normal(size=(len(y), n_members)))
    new = slice(n_rows, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few rows
        model = AutoEnsemble().fit(members[:n_rows], y[:n_rows])
    before = score(y[new], members[new])
    return n_rows * (score(y[new], model.transform(members[new])) / before - 1)


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "n_members"), [(10, 20), (50, 2), (50, 20), (250, 10)])
@pytest.mark.parametrize("error", ERRORS)
def test_repair_never_harms_beyond_noise(n_rows, n_members, error):
    """In units in which fitting one parameter costs about half a unit, over 50 problems."""
    harm = np.array([measure_harm(n_rows, n_members, error, seed) for seed in range(50)])
    assert harm.mean() < 0.5
    assert harm.max() < 8
    if n_rows == 250 and error != "none":
        assert harm.mean() < -1


def test_levels_beyond_few_members_are_refused_by_their_name():
    members, y = draw(4, 30)
    model = EnsembleScaling().fit(members, y)
    n_members = members.shape[1]
    most = (n_members - 1) / (n_members + 1)
    found = model.predict_interval(members, most)
    np.testing.assert_allclose(found, np.sort(model.transform(members), axis=1)[:, [0, -1]])
    with pytest.raises(ValueError, match=r"^confidence_level must be at most"):
        model.predict_interval(members, most + 0.01)
    with pytest.raises(ValueError, match=r"^quantiles must lie between"):
        model.predict_quantiles(members, [0.01, 0.5])
