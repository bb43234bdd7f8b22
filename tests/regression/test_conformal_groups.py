"""Conformal intervals and quantiles of groups: guarantees by enumeration, and bad input."""

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV

from skcal.regression import (
    ConformalInterval,
    ConformalQuantiles,
    RecalibratedRegressorCV,
    StandardDeviationScaling,
)

few_rows = pytest.mark.filterwarnings("ignore:.* infinite")
LEVELS = [Fraction(k, 12) for k in (1, 3, 6, 8, 11)]
FLOATS = np.array(LEVELS, dtype=float)


class First(RegressorMixin, BaseEstimator):
    """Predicts the column "x", or as many columns that start with it as told."""

    def __init__(self, n_columns=1):
        self.n_columns = n_columns

    def fit(self, X, y):
        return self

    def predict(self, X):
        x = np.asarray(X["x"], dtype=float)
        return x if self.n_columns == 1 else np.column_stack([x + k for k in range(self.n_columns)])

    def __sklearn_is_fitted__(self):
        return True


def draw(n_rows=60, seed=0):
    rng = np.random.default_rng(seed)
    groups = rng.choice(["north", "south", "west"], n_rows)
    mean = rng.normal(size=n_rows)
    return mean, rng.normal(mean, np.where(groups == "north", 5.0, 1.0)), groups


@few_rows
@pytest.mark.parametrize("n_rows", range(1, 7))
@pytest.mark.parametrize("kind", ["apart", "tied"])
def test_guarantee_in_each_group_is_exact(n_rows, kind):
    """Each row of a group of n + 1 once as the new one; the other group has other errors.

    In orders of the n + 1 rows that are all as likely, ceil(level (n + 1)) or more of the new rows
    are covered, exactly as many if scores do not tie.
    """
    rng = np.random.default_rng(n_rows)
    n_own, n_other = n_rows + 1, 5
    y = rng.normal(size=n_own + n_other) if kind == "apart" else rng.integers(0, 3, n_own + n_other)
    y = y * np.repeat([1.0, 100.0], [n_own, n_other])
    groups, X = np.repeat(["own", "other"], [n_own, n_other]), np.zeros((len(y), 1))
    spaced = np.tile(100.0 * np.arange(len(LEVELS)), (len(y), 1))
    covered, below, up_to = [], [], []
    for new in range(n_own):
        rest = np.arange(len(y)) != new
        intervals = []
        for level in LEVELS[1:]:
            model = ConformalInterval(float(level)).fit(X[rest], y[rest], groups=groups[rest])
            intervals.append(model.predict_interval(X[[new]], groups=["own"])[0])
        covered.append([low <= y[new] <= high for low, high in intervals])
        model = ConformalQuantiles(FLOATS).fit(spaced[rest], y[rest], groups=groups[rest])
        (quantiles,) = model.transform(spaced[[new]], groups=["own"])
        below.append(y[new] < quantiles)
        up_to.append(y[new] <= quantiles)
    for level, count in zip(LEVELS[1:], np.sum(covered, axis=0), strict=True):
        needed = (level * n_own).__ceil__()
        assert count == needed if kind == "apart" else count >= needed
    for level, n_below, n_up_to in zip(LEVELS, sum(below), sum(up_to), strict=True):
        if level < Fraction(1, 2):
            assert n_below <= level * n_own
        else:
            assert n_up_to >= level * n_own


@pytest.mark.parametrize("input", ["mean", "mean_std", "interval"])
def test_each_group_is_fitted_by_itself(input):
    mean, y, groups = draw()
    std, weights = np.random.default_rng(1).uniform(1, 2, 60), np.arange(60) % 3
    columns = {"mean": [mean], "mean_std": [mean, std], "interval": [mean - std, mean + std]}
    X = np.column_stack(columns[input])
    model = ConformalInterval(0.6, input=input).fit(X, y, weights, groups=groups)
    assert list(model.groups_) == ["north", "south", "west"]
    found = model.predict_interval(X, groups=groups)
    np.testing.assert_array_equal(model.transform(X, groups=groups), found)
    quantiles = ConformalQuantiles([0.4, 0.5]).fit(X[:, [0, -1]], y, weights, groups=groups)
    repaired = quantiles.predict_quantiles(X[:, [0, -1]], groups=groups)
    for place, name in enumerate(model.groups_):
        rows = groups == name
        one = ConformalInterval(0.6, input=input).fit(X[rows], y[rows], weights[rows])
        assert model.margin_[place] == one.margin_
        np.testing.assert_array_equal(found[rows], one.predict_interval(X[rows]))
        one = ConformalQuantiles([0.4, 0.5]).fit(X[rows][:, [0, -1]], y[rows], weights[rows])
        np.testing.assert_array_equal(quantiles.shifts_[place], one.shifts_)
        np.testing.assert_array_equal(repaired[rows], one.predict_quantiles(X[rows][:, [0, -1]]))
        np.testing.assert_array_equal(
            quantiles.predict(X[:, [0, -1]], groups=groups)[rows], one.predict(X[rows][:, [0, -1]])
        )
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_interval(X, groups=groups), found)
    plain = ConformalInterval(0.6, input=input).fit(X, y, weights)
    assert plain.groups_ is None
    single = ConformalInterval(0.6, input=input).fit(X, y, weights, groups=np.full(60, 7))
    np.testing.assert_array_equal(single.margin_, [plain.margin_])
    np.testing.assert_array_equal(
        single.predict_interval(X, groups=[7] * 60), plain.predict_interval(X)
    )


@pytest.mark.parametrize("model", [ConformalInterval(0.5), ConformalQuantiles([0.5])])
def test_fit_and_transform_at_once(model):
    mean, y, groups = draw()
    X, weights = mean[:, None], np.arange(60) % 3
    found = model.fit_transform(X, y, weights, groups=groups)
    expected = model.fit(X, y, weights, groups=groups).transform(X, groups=groups)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(model.fit_transform(X, y), model.fit(X, y).transform(X))


@pytest.mark.parametrize("model", [ConformalInterval(0.5), ConformalQuantiles([0.5])])
def test_groups_that_do_not_fit(model):
    mean, y, groups = draw()
    X = mean[:, None]
    model.fit(X, y, groups=groups)
    message = (
        r"that fit has seen, \['north', 'south', 'west'\]; got 'east' at row 1, and in 1 of 3 rows"
    )
    with pytest.raises(ValueError, match=message):
        model.transform(X[:3], groups=["north", "east", "west"])
    with pytest.raises(ValueError, match=r"fit has seen, .* got 1 at row 0"):
        model.transform(X[:3], groups=[1, 2, 3])
    with pytest.raises(ValueError, match=r"fit has seen, \[0\]; got '0' at row 0"):
        clone(model).fit(X, y, groups=np.zeros(60, dtype=int)).transform(X[:1], groups=["0"])
    with pytest.raises(
        ValueError, match="groups must hold the group of each row, as in fit; got No"
    ):
        model.transform(X)
    with pytest.raises(ValueError, match="one label for each of the 3 rows; got 60"):
        model.transform(X[:3], groups=groups)
    with pytest.raises(ValueError, match="one label for each of the 60 rows; got 3"):
        model.fit(X, y, groups=groups[:3])
    with pytest.raises(ValueError, match="groups"):
        model.fit(X, y, groups=[*groups[:-1], None])
    with pytest.raises(ValueError, match="groups must be None, because fit got none"):
        model.fit(X, y).transform(X, groups=groups)


def test_small_groups_have_infinite_intervals():
    X, y, groups = np.zeros((13, 1)), np.arange(13.0), np.repeat(["a", "b"], [10, 3])
    with pytest.warns(UserWarning, match=r"infinite in groups \['b'\]: .* least 9 rows; got 3\."):
        model = ConformalInterval(0.9).fit(X, y, groups=groups)
    found = model.predict_interval(X[:2], groups=["a", "b"])
    np.testing.assert_array_equal(np.isinf(found), [[False] * 2, [True] * 2])
    with pytest.warns(UserWarning, match=r"at level 0\.9 in groups \['b'\]: .* 9 rows; got 3\."):
        ConformalQuantiles([0.5, 0.9]).fit(np.zeros((13, 2)), y, groups=groups)


def test_groups_of_columns():
    mean, y, groups = draw()
    table = pd.DataFrame({"x": mean, "region": groups, "year": np.arange(60) % 2})
    model = RecalibratedRegressorCV(First(), ConformalInterval(0.5), features=["region"])
    model.fit(table, y)
    by_hand = ConformalInterval(0.5).fit(mean[:, None], y, groups=groups)
    expected = by_hand.predict_interval(mean[:, None], groups=groups)
    np.testing.assert_array_equal(model.predict_interval(table), expected)
    np.testing.assert_array_equal(model.predict(table), mean)
    levels = [0.4, 0.6]
    both = RecalibratedRegressorCV(
        First(2), ConformalQuantiles(levels), features=["region", "year"]
    ).fit(table, y)
    X, pairs = First(2).predict(table), [f"{g}{k}" for g, k in zip(groups, table.year, strict=True)]
    by_hand = ConformalQuantiles(levels).fit(X, y, groups=pairs)
    np.testing.assert_array_equal(
        both.predict_quantiles(table), by_hand.predict_quantiles(X, groups=pairs)
    )
    np.testing.assert_array_equal(both.predict(table), by_hand.predict(X, groups=pairs))
    with pytest.raises(ValueError, match=r"X\['region'\] must .* has seen.* got 'east' at row 0"):
        model.predict_interval(table.assign(region="east"))
    with pytest.raises(ValueError, match="features must hold columns of X"):
        RecalibratedRegressorCV(First(), features=["county"]).fit(table, y)
    with pytest.raises(
        ValueError, match=r"features must be None for .* StandardDeviationScaling; got"
    ):
        RecalibratedRegressorCV(First(), StandardDeviationScaling(), features=["x"]).fit(table, y)
    array = np.column_stack([mean, np.arange(60) % 3])
    search = GridSearchCV(
        RecalibratedRegressorCV(LinearRegression(), features=[1]),
        {"recalibrator": [ConformalInterval(0.5)]},
        cv=2,
    ).fit(array, y)
    assert search.predict(array).shape == (60,)


def test_groups_of_several_columns_are_their_values():
    columns = {"x": np.zeros(8), "a": ["p & q"] * 4 + ["p"] * 4, "b": ["r"] * 4 + ["q & r"] * 4}
    table = pd.DataFrame({**columns, "c": np.repeat([1, 2], 4)})
    y = np.repeat([1.0, 10.0], 4)
    for features in (["a", "b"], ["a", "c"], ["c"]):
        model = RecalibratedRegressorCV(First(), ConformalInterval(0.5), features=features)
        model.fit(table, y)
        for given in (table, table.astype({"c": float})):  # numbers compare as numbers
            np.testing.assert_array_equal(model.predict_interval(given)[:, 1], y)
        name = features[-1]
        missing = table.astype({name: object})
        missing.loc[2, name] = None
        needed = rf"X\['{name}'\] must not .* got None at row 2"
        with pytest.raises(ValueError, match=needed):
            model.predict_interval(missing)
        with pytest.raises(ValueError, match=needed):
            model.fit(missing, y)
        with pytest.raises(
            ValueError, match=rf"X\['{name}'\] must .* fit has seen.* got '1' at row 0"
        ):
            model.predict_interval(table.assign(**{name: "1"}))
    model = RecalibratedRegressorCV(First(), ConformalInterval(0.5), features=["a", "b"])
    with pytest.raises(ValueError, match="groups must hold values"):  # each value is known
        model.fit(table, y).predict_interval(table.assign(b="r"))


@few_rows
@pytest.mark.slow
def test_every_group_is_covered():
    """On average over 2000 draws, in a group of few rows and one with five times the errors."""
    rng, hits = np.random.default_rng(2), {"many": [], "few": []}
    model = RecalibratedRegressorCV(
        FrozenEstimator(First()), ConformalInterval(0.8), features=["group"]
    )
    for _ in range(2000):
        groups = np.repeat(["many", "few"], [31, 6])
        y = rng.standard_t(3, size=37) * np.where(groups == "few", 5.0, 1.0)
        table, new = pd.DataFrame({"x": np.zeros(37), "group": groups}), [30, 36]
        rest = np.setdiff1d(np.arange(37), new)
        ends = model.fit(table.iloc[rest], y[rest]).predict_interval(table.iloc[new])
        for (low, high), row in zip(ends, new, strict=True):
            hits[groups[row]].append(low <= y[row] <= high)
    for name, n_rows in (("many", 30), ("few", 5)):
        expected = np.ceil(0.8 * (n_rows + 1) - 1e-9) / (n_rows + 1)
        assert abs(np.mean(hits[name]) - expected) < 4 * np.sqrt(0.2 / 2000)
