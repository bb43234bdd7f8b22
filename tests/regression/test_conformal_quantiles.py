"""ConformalQuantiles: guarantees by enumeration, closed forms, crossing, and bad input."""

import pickle
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import special, stats
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.frozen import FrozenEstimator

from skcal.monitoring import CalibrationMonitor
from skcal.regression import (
    ConformalQuantiles,
    NotPredictionsError,
    RecalibratedRegressorCV,
    pinball_loss,
    quantile_calibration_error,
)
from tests.chance import most_of

pytestmark = pytest.mark.filterwarnings("ignore:Quantiles are infinite at level")

LEVELS = [Fraction(k, 12) for k in (1, 3, 4, 5, 6, 8, 9, 11)]
FLOATS = np.array(LEVELS, dtype=float)


def list_draws(X, y):
    """Each row once as the new one: shifts do not depend on the order of the others."""
    for new in range(len(y)):
        rest = np.arange(len(y)) != new
        model = ConformalQuantiles(FLOATS).fit(X[rest], y[rest])
        yield y[new], model.transform(X[[new]])[0]


@pytest.mark.parametrize("n_rows", range(1, 7))
def test_probability_of_each_level_is_exact(n_rows):
    """Quantiles so far apart that none cross: k / (n + 1), in all orders of n + 1 rows alike."""
    rng = np.random.default_rng(n_rows)
    X = rng.normal(size=(n_rows + 1, 1)) + 100 * np.arange(len(LEVELS))
    y = rng.normal(size=n_rows + 1)
    draws = list(list_draws(X, y))
    for column, level in enumerate(LEVELS):
        k = level * (n_rows + 1)
        if level < Fraction(1, 2):
            expected, hits = k.__floor__(), [y < q[column] for y, q in draws]
        else:
            expected, hits = k.__ceil__(), [y <= q[column] for y, q in draws]
        assert sum(hits) == expected
    for low, high in combinations(range(len(LEVELS)), 2):  # also on one side of the median
        n_inside = sum(q[low] <= y <= q[high] for y, q in draws)
        assert n_inside > (LEVELS[high] - LEVELS[low]) * (n_rows + 1) - 1


@pytest.mark.parametrize("n_rows", [1, 2, 4, 6, 11])
@pytest.mark.parametrize("seed", range(10))
def test_guarantees_survive_ties_and_crossing(n_rows, seed):
    """Predictions and targets of few values, in any order."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n_rows + 1, len(LEVELS))).astype(float)
    y = rng.integers(0, 4, n_rows + 1).astype(float)
    draws = list(list_draws(X, y))
    for column, level in enumerate(LEVELS):
        if level < Fraction(1, 2):
            assert sum(y < q[column] for y, q in draws) <= level * (n_rows + 1)
        else:
            assert sum(y <= q[column] for y, q in draws) >= level * (n_rows + 1)
    for low in range(4):
        for high in range(4, len(LEVELS)):
            n_inside = sum(q[low] <= y <= q[high] for y, q in draws)
            assert n_inside >= (LEVELS[high] - LEVELS[low]) * (n_rows + 1)
    assert all((q[:-1] <= q[1:]).all() for _, q in draws)


def test_order_of_rows_is_irrelevant():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 4, (4, 3)), rng.integers(0, 4, 4)
    found = [ConformalQuantiles().fit(X[[*p]], y[[*p]]).shifts_ for p in permutations(range(4))]
    assert len(np.unique(found, axis=0)) == 1


def test_shifts_are_order_statistics_away_from_the_median():
    """Scores 1 to 9: k = floor or ceil of 10 times the level."""
    levels = [0.1, 0.25, 0.3, 0.5, 0.7, 0.75, 0.9]
    model = ConformalQuantiles(levels).fit(np.zeros((9, 7)), np.arange(1.0, 10.0))
    np.testing.assert_array_equal(model.shifts_, [1, 2, 3, 5, 7, 8, 9])


@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
def test_normal_quantiles_with_wrong_location_and_scale(scale):
    """Targets at the quantiles k / (n + 1) of N(m + b, s^2): the shift leads to b + s z."""
    levels, bias, n = np.array([0.05, 0.25, 0.5, 0.95]), 2.0, 199
    mean, z = np.linspace(-5, 5, n), stats.norm.ppf(levels)
    y = mean + bias + scale * stats.norm.ppf(np.arange(1, n + 1) / (n + 1))
    model = ConformalQuantiles(levels).fit(mean[:, None] + z, y)
    np.testing.assert_allclose(model.shifts_, bias + (scale - 1) * z, atol=1e-12)
    repaired = model.transform(7.0 + z[None])
    np.testing.assert_allclose(repaired, [7 + bias + scale * z], rtol=1e-12)
    np.testing.assert_allclose(model.predict(7.0 + z[None]), [7 + bias], rtol=1e-12)


def test_weights_are_copies():
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(30, 3)), rng.normal(size=30), np.arange(30) % 3
    weighted = ConformalQuantiles().fit(X, y, sample_weight=weights)
    copies = ConformalQuantiles().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_array_equal(weighted.shifts_, copies.shifts_)


def test_crossing_input_is_sorted():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    model, same = ConformalQuantiles().fit(X, y), ConformalQuantiles().fit(np.sort(X, axis=1), y)
    np.testing.assert_array_equal(model.shifts_, same.shifts_)
    np.testing.assert_array_equal(model.transform(X), same.transform(X[:, [2, 0, 1]]))
    options = {"quantiles": [0.1, 0.5, 0.9]}
    for row, target in zip(X, y, strict=True):  # what the docstring says of the loss
        sorted_loss = pinball_loss([target], [np.sort(row)], **options)
        assert sorted_loss <= pinball_loss([target], [row], **options) + 1e-15


def test_quantiles_that_cross_after_the_shift_move_away_from_the_median():
    """The smallest of their own and those above, the largest of their own and those below."""
    levels = [0.2, 0.4, 0.6, 0.8]
    X, y = [[0.0, 1.0, 2.0, 3.0]] * 4, [0.0, 1.0, 2.0, 3.0]
    model = ConformalQuantiles(levels).fit(X, y)
    np.testing.assert_array_equal(model.shifts_, [0, 0, 0, 0])
    model.shifts_ = np.array([0.0, -4.0, 5.0, 0.0])
    np.testing.assert_array_equal(model.transform(X[:1]), [[-3.0, -3.0, 7.0, 7.0]])
    model.shifts_ = np.array([0.0, 4.0, -4.0, 0.0])
    np.testing.assert_array_equal(model.transform(X[:1]), [[-2.0, -2.0, 5.0, 5.0]])


def test_infinite_quantiles_of_few_rows():
    X, y, levels = np.tile([1.0, 2.0, 4.0], (9, 1)), np.arange(9.0), [0.05, 0.5, 0.9]
    with pytest.warns(UserWarning, match=r"infinite at level 0\.05: .* least 19 rows; got 9\."):
        model = ConformalQuantiles(levels).fit(X, y)
    np.testing.assert_array_equal(model.transform(X[:1]), [[-np.inf, 4.0, 8.0]])
    with pytest.warns(UserWarning, match=r"infinite at level 0\.05, 0\.9: "):
        single = ConformalQuantiles(levels).fit([[1.0, 2.0, 4.0]], [7.0])
    np.testing.assert_array_equal(single.transform(X[:1]), [[-np.inf, 7.0, np.inf]])
    np.testing.assert_array_equal(single.predict(X[:1]), [7.0])
    outer = ConformalQuantiles([0.05, 0.95]).fit(X[:, :2], y)
    np.testing.assert_array_equal(outer.predict(X[:, :2]), np.full(9, 1.5))


@pytest.mark.parametrize("n_rows", [2, 19, 56, 99])
def test_number_of_rows_from_which_quantiles_are_finite(n_rows):
    level = 1 / (n_rows + 1)
    X, y = np.zeros((n_rows, 2)), np.arange(float(n_rows))
    model = ConformalQuantiles([level, 1 - level])
    np.testing.assert_array_equal(model.fit(X, y).shifts_, [0, n_rows - 1])
    with pytest.warns(UserWarning, match=rf"at least {n_rows} rows; got {n_rows - 1}\."):
        assert np.isinf(model.fit(X[1:], y[1:]).shifts_).all()
    with pytest.warns(UserWarning, match=rf"at least {n_rows} rows; got {n_rows - 1}\."):
        model.fit(X[:1], y[:1], sample_weight=[n_rows - 1])


def test_numbers_of_predict():
    """Linear in the level between the neighbours of 1/2; the nearest level beyond."""
    for levels, expected in (
        ([0.1, 0.5, 0.9], 2.0),
        ([0.2, 0.4, 0.8], 2.75),
        ([0.6, 0.7, 0.8], 1.0),
        ([0.1, 0.2, 0.3], 5.0),
    ):
        model = ConformalQuantiles(levels).fit(np.zeros((9, 3)), np.zeros(9))
        assert model.predict([[1.0, 2.0, 5.0]]) == pytest.approx(expected, rel=1e-12)


def test_quantiles_and_intervals_by_level():
    X = np.tile(np.arange(5.0), (99, 1))
    model = ConformalQuantiles([0.05, 0.25, 0.5, 0.75, 0.95]).fit(X, np.linspace(-9, 9, 99))
    found = model.transform(X[:2])
    np.testing.assert_array_equal(model.predict_quantiles(X[:2]), found)
    np.testing.assert_array_equal(model.predict_quantiles(X[:2], [0.75, 0.05]), found[:, [3, 0]])
    np.testing.assert_array_equal(model.predict_quantiles(X[:2], 0.5), found[:, [2]])
    np.testing.assert_array_equal(model.predict_interval(X[:2]), found[:, [0, 4]])
    np.testing.assert_array_equal(model.predict_interval(X[:2], 0.5), found[:, [1, 3]])
    for ask in (lambda: model.predict_quantiles(X, 0.4), lambda: model.predict_interval(X, 0.2)):
        with pytest.raises(ValueError, match=r"levels must hold 0.4; got \[0.05, 0.25"):
            ask()
    with pytest.raises(ValueError, match="confidence_level must be above 0 and below 1; got 90"):
        model.predict_interval(X, 90)
    single = ConformalQuantiles(0.5).fit(X[:, :1], X[:, 0])
    assert single.transform(X[:, :1]).shape == (99, 1)
    with pytest.raises(ValueError, match=r"levels must be at least two for an interval; got \[0.5"):
        single.predict_interval(X[:, :1])


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([0.5, 0.1, 0.9], r"levels must increase; got \[0.5, 0.1, 0.9\]"),
        ([0.1, 0.5, 0.5], "levels must increase"),
        ([0.0, 0.5, 0.9], r"levels must lie strictly between 0 and 1; got \[0.0"),
        ([0.1, 0.5, 1.0], "levels must lie strictly between 0 and 1"),
        ([0.1, np.nan, 0.9], "levels must lie strictly between 0 and 1"),
        ([10, 50, 90], "levels must lie strictly between 0 and 1"),
        ([[0.1, 0.5, 0.9]], r"levels must be one-dimensional.*got shape \(1, 3\)"),
        ([], "levels must be one-dimensional, with at least one level"),
        (["a", "b", "c"], "levels must hold .*numbers"),
        (None, "levels must"),
    ],
)
def test_bad_levels(levels, message):
    with pytest.raises(ValueError, match=message):
        ConformalQuantiles(levels).fit(np.zeros((9, 3)), np.zeros(9))


def test_wrong_number_of_columns():
    with pytest.raises(NotPredictionsError, match=r"quantile_0.1, quantile_0.9 .* got 3 feature"):
        ConformalQuantiles([0.1, 0.9]).fit(np.zeros((9, 3)), np.zeros(9))
    with pytest.raises(ValueError, match="X has 2 features"):
        ConformalQuantiles().fit(np.zeros((9, 3)), np.zeros(9)).transform(np.zeros((9, 2)))


class Shifts(RegressorMixin, BaseEstimator):
    """Predicts quantiles around the first feature: those of the levels with too little spread."""

    def __init__(self, levels=(0.1, 0.5, 0.9)):
        self.levels = levels

    def fit(self, X, y):
        return self

    def predict(self, X):
        return X[:, :1] + 0.3 * stats.norm.ppf(self.levels)

    def __sklearn_is_fitted__(self):
        return True


@pytest.mark.parametrize("wrap", [lambda regressor: regressor, FrozenEstimator])
def test_regressors_of_several_quantiles(wrap):
    rng, levels = np.random.default_rng(0), [0.05, 0.25, 0.75, 0.95]
    X = rng.normal(size=(200, 2))
    y, columns = X[:, 0] + rng.normal(size=200), Shifts(levels).predict(X)
    by_hand = ConformalQuantiles(levels).fit(columns, y)
    model = RecalibratedRegressorCV(wrap(Shifts(levels)), ConformalQuantiles(levels)).fit(X, y)
    for again in (model, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(X), by_hand.predict(columns))
        np.testing.assert_array_equal(again.predict_quantiles(X), by_hand.transform(columns))
        np.testing.assert_array_equal(
            again.predict_quantiles(X, 0.75), by_hand.transform(columns)[:, [2]]
        )
        np.testing.assert_array_equal(
            again.predict_interval(X), by_hand.transform(columns)[:, [0, 3]]
        )
        np.testing.assert_array_equal(
            again.predict_interval(X, 0.5), by_hand.transform(columns)[:, [1, 2]]
        )
    assert not hasattr(model, "predict_distribution")
    with pytest.raises(ValueError, match=r"Shifts must give quantiles of 3 level.*\(40, 4\)"):
        RecalibratedRegressorCV(Shifts(levels), ConformalQuantiles()).fit(X, y)
    with pytest.raises(ValueError, match=r"return_std must be False .* ConformalQuantiles"):
        model.predict(X, return_std=True)


@pytest.mark.slow
def test_coverage_given_the_rows_has_its_exact_distribution():
    """Beta(k, n + 1 - k) below each quantile, where targets are continuous."""
    rng, levels, n, covered = np.random.default_rng(0), np.array([0.1, 0.5, 0.8]), 40, []
    for _ in range(1000):
        mean = rng.normal(size=n)
        y = rng.normal(mean)
        model = ConformalQuantiles(levels).fit(mean[:, None] + [-9.0, 0.0, 9.0], y)
        covered.append(stats.norm.cdf(model.transform([[-9.0, 0.0, 9.0]])[0]))
    for column, k in zip(np.transpose(covered), [4, 21, 33], strict=True):
        assert stats.kstest(column, stats.beta(k, n + 1 - k).cdf).pvalue > 1e-3


def test_a_monitor_allows_for_the_law_of_a_level():
    """Of right targets a tenth of the streams alarm at most; without the tolerance most do."""
    n, k, n_streams = 200, 20, 30
    ends = special.logit(stats.beta(k, n + 1 - k).ppf([0.025, 0.975]))
    tolerance, alarms = np.abs(ends - special.logit(0.1)).max(), np.zeros(2)
    for seed in range(n_streams):
        y = np.random.default_rng(seed).normal(size=n + 10_000)
        X = np.full((len(y), 1), -1.0)
        model = ConformalQuantiles([0.1]).fit(X[:n], y[:n])
        is_below = y[n:] <= model.transform(X[n:])[:, 0]
        for one, given in enumerate((0.0, tolerance)):
            monitor = CalibrationMonitor(tolerance=given).update(is_below, np.full(10_000, 0.1))
            alarms[one] += monitor.alarm_ is not None
    assert alarms[1] <= most_of(n_streams, 0.1) < alarms[0]


def test_calibration_error_and_loss_become_smaller():
    """Quantiles of half the spread: the truth has the lowest loss and, nearly, no error."""
    rng, levels = np.random.default_rng(0), np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    mean, z = rng.normal(size=(4000, 1)), stats.norm.ppf(levels)
    y, X = rng.normal(mean[:, 0]), mean + 0.5 * z
    found = ConformalQuantiles(levels).fit(X[:2000], y[:2000]).transform(X[2000:])
    truth, y, X = mean[2000:] + z, y[2000:], X[2000:]
    loss = [pinball_loss(y, q, quantiles=levels) for q in (truth, found, X)]
    error = [quantile_calibration_error(y, q, quantiles=levels) for q in (truth, found, X)]
    assert loss[1] - loss[0] < 0.05 * (loss[2] - loss[0])
    assert error[1] < 0.2 * error[2]
