"""MulticalibratedRegressorCV: what it gains, by known truth, and all that it may be given."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.dummy import DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_tweedie_deviance
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold

from skcal.metrics import mean_multicalibration_error
from skcal.regression import MulticalibratedRegressorCV

METHODS = ["scaling", "boosting"]
every_method = pytest.mark.parametrize("method", METHODS)
mostly_scaling = pytest.mark.parametrize(
    "method", ["scaling", pytest.param("boosting", marks=pytest.mark.slow)]
)
FEATURES = ["age", "region", "old"]
# Laws of targets: the power of their variance, 0 for the identity link.
LAWS = {"poisson": 1, "rare": 1, "amounts": 1.5, "gamma": 2, "heavy": 2, "normal": 0, "student": 0}


class Mean(RegressorMixin, BaseEstimator):
    """Predicts the column "mean", or the first one."""

    def fit(self, X, y, sample_weight=None):
        return self

    def predict(self, X):
        column = X["mean"] if hasattr(X, "columns") or hasattr(X, "schema") else X[:, 0]
        return np.asarray(column, dtype=np.float64)

    def __sklearn_is_fitted__(self):
        return True


def draw(law, mean, rng):
    n = len(mean)
    if law in ("poisson", "rare"):
        return rng.poisson(mean) + 0.0
    if law == "amounts":  # of Poisson numbers of claims
        claims = rng.poisson(mean)
        return np.where(claims > 0, rng.gamma(np.maximum(claims, 1)), 0.0)
    if law == "gamma":
        return rng.gamma(1.0, mean)
    if law == "heavy":
        return mean * rng.lognormal(-0.5, 1.0, n)
    return mean + (rng.normal(size=n) if law == "normal" else rng.standard_t(3, n))


def make_rows(law="poisson", n=2000, seed=0, effect=1.0):
    """X with a column of predictions, the true means, and targets.

    Means of the north are too low, those of the old and of the young in the south too high.
    """
    rng = np.random.default_rng(seed)
    age, region = rng.integers(18, 80, n), rng.choice(["north", "south", "west"], n)
    shift = 0.4 * (region == "north") - 0.3 * (age > 60) - 0.3 * ((age < 40) & (region == "south"))
    values = rng.normal(scale=0.5, size=n) - 1.5 * (law == "rare")
    is_log = LAWS[law] > 0
    mean = np.exp(values) if is_log else values
    truth = mean * np.exp(effect * shift) if is_log else values + effect * shift
    X = pd.DataFrame({"mean": mean, "age": age, "region": region, "old": age > 60})
    return X, truth, draw(law, truth, rng)


def correct(method="scaling", **options):
    options = {"features": FEATURES} | options
    return MulticalibratedRegressorCV(FrozenEstimator(Mean()), method=method, **options)


def find_deviance(law, truth, means):
    """The deviance from the true means, all that a model can gain."""
    return mean_tweedie_deviance(truth, means, power=LAWS[law])


def set_law(law):
    return {"power": LAWS[law]} if LAWS[law] else {"link": "identity"}


# ------------------------------------------------------------------------------------ what it gains


@mostly_scaling
@pytest.mark.parametrize("law", ["poisson", "amounts", "gamma", "normal"])
def test_it_mends_groups_that_averages_do_not_show(method, law):
    X, _, y = make_rows(law, 6000)
    new, truth, targets = make_rows(law, 20_000, seed=1)
    means = correct(method, **set_law(law)).fit(X, y).predict(new)
    before, after = (find_deviance(law, truth, own) for own in (new["mean"], means))
    assert after < 0.35 * before
    table = new[["age", "region"]]
    before, after = (
        mean_multicalibration_error(targets, own, table) for own in (new["mean"], means)
    )
    assert after < 0.4 * before


@pytest.mark.slow
@pytest.mark.parametrize("base", [1.0, 0.3])
def test_claims_with_exposures(base):
    """Rates with years as weights, behind a regressor that is fitted; on average of ten samples."""
    found = []
    for seed in range(10):
        parts = []
        for part, n in enumerate((3000, 20_000)):
            X, truth, _ = make_rows("poisson", n, seed=2 * seed + part)
            rng = np.random.default_rng(100 * seed + part)
            years = rng.uniform(0.2, 1, n)
            parts.append((X, base * truth, years, rng.poisson(base * truth * years) / years))
        (X, _, years, rates), (new, truth, weights, new_rates) = parts
        # Behind a regressor that is right on average.
        scale = years @ rates / (years @ X["mean"])
        X["mean"], new["mean"] = scale * X["mean"], scale * new["mean"]
        model = MulticalibratedRegressorCV(Mean(), features=["age", "region"])
        means = model.fit(X, rates, sample_weight=years).predict(new)
        table = new[["age", "region"]]
        found.append(
            [
                (
                    mean_tweedie_deviance(new_rates, own, sample_weight=weights, power=1),
                    mean_tweedie_deviance(truth, own, sample_weight=weights, power=1),
                    mean_multicalibration_error(new_rates, own, table, sample_weight=weights),
                )
                for own in (new["mean"], means)
            ]
        )
    before, after = np.mean(found, axis=0)
    assert after[0] < before[0]
    assert (after[1:] < 0.6 * before[1:]).all()


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
@every_method
def test_it_leaves_right_means_nearly_as_they_are(method, law):
    """Mean deviance of 50 samples of 1000 rows (of trees 12), and the worst of them."""
    rises = []
    for seed in range(50 if method == "scaling" else 12):
        X, _, y = make_rows(law, 1000, seed, effect=0)
        new, truth, targets = make_rows(law, 10_000, 1000 + seed, effect=0)
        means = correct(method, **set_law(law)).fit(X, y).predict(new)
        before, after = (
            mean_tweedie_deviance(targets, own, power=LAWS[law]) for own in (truth, means)
        )
        rises.append(after / before - 1)
    assert np.mean(rises) < 0.001
    assert np.max(rises) < 0.01


@mostly_scaling
@pytest.mark.parametrize("law", ["poisson", "normal"])
def test_small_groups_stay_near_the_others(method, law):
    """100 of ten rows each, some with large targets, beside an effect that is there."""
    X, _, y = make_rows(law, 1000)
    small = np.random.default_rng(0).permutation(1000) // 10
    y += np.where(small < 3, 3.0, 0.0) * (y > np.median(y))
    X = X.assign(small=small.astype(str))
    model = correct(method, features=["region", "small"], **set_law(law)).fit(X, y)
    alone = correct(method, features=["region"], **set_law(law)).fit(X, y)
    assert model.recalibrator_.factor_ > 0.5
    difference = np.abs(model.predict(X) - alone.predict(X))
    assert difference.max() < 0.35 * X["mean"].abs().max()


@mostly_scaling
def test_a_group_without_events(method):
    """2000 rows of which 500 should have had about 500 events, but had none."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"mean": rng.uniform(0.5, 1.5, 2000), "group": np.arange(2000) % 4})
    y = rng.poisson(X["mean"]) * (X["group"] != 2)
    means = correct(method, features=["group"]).fit(X, y).predict(X)
    inside = X["group"] == 2
    assert (means > 0).all()
    assert means[inside].mean() < 0.1
    assert means[~inside].mean() == pytest.approx(1, abs=0.1)


@mostly_scaling
def test_predictions_that_are_all_alike(method):
    X, _, _ = make_rows("poisson", 4000)
    y = np.random.default_rng(0).poisson(np.where(X["region"] == "north", 2.0, 1.0))
    regressor = DummyRegressor()
    if method == "boosting":  # trees would tell folds apart by their means
        regressor = FrozenEstimator(regressor.fit(X, y))
    model = MulticalibratedRegressorCV(regressor, features=["region"], method=method)
    means = model.fit(X, y).predict(X)
    for name in ("north", "south", "west"):
        inside = X["region"] == name
        assert means[inside].mean() == pytest.approx(y[inside].mean(), rel=0.05)


@every_method
@pytest.mark.parametrize("law", ["poisson", "gamma"])
@pytest.mark.parametrize("unit", [1e-4, 1e3])
def test_predictions_in_another_unit(method, law, unit):
    """Most of what all rows have in common is not shrunk away."""
    X, truth, y = make_rows(law)
    found = correct(method, **set_law(law)).fit(X.assign(mean=unit * X["mean"]), y)
    repaired = found.predict(X.assign(mean=unit * X["mean"]))
    assert repaired.mean() == pytest.approx(y.mean(), rel=0.05)
    before, after = (find_deviance(law, truth, means) for means in (X["mean"], repaired))
    assert after < before


@pytest.mark.parametrize("law", ["poisson", "amounts", "gamma"])
@pytest.mark.parametrize("far", [1e-30, 1e30])
def test_one_prediction_that_is_far_off(law, far):
    """Such as of a model that extrapolates at the log link: whatever is learned, it is finite."""
    X, _, y = make_rows(law, n=400)
    X.loc[0, "mean"] = far
    found = correct(**set_law(law)).fit(X, y)
    assert np.isfinite(found.predict(X)).all()
    assert 0 <= found.recalibrator_.factor_ <= 1


def test_targets_that_are_all_0():
    X, _, y = make_rows("poisson", 200)
    with pytest.warns(UserWarning, match="All of y is 0, so that the log link learns nothing"):
        model = correct().fit(X, 0 * y)
    np.testing.assert_array_equal(model.predict(X), X["mean"])
    assert model.recalibrator_.to_frame().empty


def test_targets_that_are_predicted_exactly():
    X, _, _ = make_rows("normal", 200)
    for shift in (0.0, 1.5):
        model = correct(link="identity").fit(X, X["mean"] + shift)
        np.testing.assert_allclose(model.predict(X), X["mean"] + shift, atol=0.05)


# ----------------------------------------------------------------------------------- its definition


@pytest.mark.parametrize("law", ["poisson", "normal"])
def test_the_table_tells_all(law):
    """Without pairs: intercepts and slopes of the levels of a row, at the mean of predictions."""
    X, _, y = make_rows(law, 3000)
    model = correct(features=["region"], **set_law(law)).fit(X, y)
    frame = model.recalibrator_.to_frame()
    values = np.log(X["mean"]) if LAWS[law] else X["mean"]
    centred = values - values.mean()
    expected = values + sum(
        (frame.loc[name, "intercept"] + frame.loc[name, "slope"] * centred)
        * ((X["region"] == name.removeprefix("region = ")) | (name == "all rows"))
        for name in frame.index
    )
    found = np.log(model.predict(X)) if LAWS[law] else model.predict(X)
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert frame["intercept"].abs().max() > 0.1


@pytest.mark.parametrize("law", ["poisson", "amounts", "gamma", "normal"])
def test_the_unit_of_targets_does_not_matter(law):
    X, _, y = make_rows(law, 2000)
    expected = correct(**set_law(law)).fit(X, y).predict(X)
    scaled = X.assign(mean=1e4 * X["mean"])
    found = correct(**set_law(law)).fit(scaled, 1e4 * y).predict(scaled)
    np.testing.assert_allclose(found, 1e4 * expected, rtol=1e-6, atol=1e-2)
    if law == "normal":
        moved = X.assign(mean=X["mean"] - 50)
        found = correct(**set_law(law)).fit(moved, y - 50).predict(moved)
        np.testing.assert_allclose(found, expected - 50, atol=1e-6)


def test_negative_targets_take_the_identity_link():
    for law, link in (("normal", "identity"), ("poisson", "log")):
        X, _, y = make_rows(law, 300)
        assert correct().fit(X, y).recalibrator_.link_ == link


def test_it_learns_from_out_of_fold_predictions():
    """Those of a regressor that knows its training rows by heart are of other rows."""
    X, _, y = make_rows("normal", 300)
    splits = [*KFold(4, shuffle=True, random_state=0).split(X)]

    class Memory(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            self.known_ = dict(zip(X["mean"], y, strict=True))
            return self

        def predict(self, X):
            return np.array([self.known_.get(value, value) for value in X["mean"]])

    model = MulticalibratedRegressorCV(Memory(), features=FEATURES, cv=splits).fit(X, y)
    frozen = correct(cv=splits).fit(X, y)
    new = make_rows("normal", 300, seed=1)[0]
    np.testing.assert_array_equal(model.predict(new), frozen.predict(new))
    np.testing.assert_array_equal(model.estimator_.predict(X), y)


def make_splits(n, k=3):
    fold = np.random.default_rng(5).integers(0, k, n)
    return [(np.flatnonzero(fold != j), np.flatnonzero(fold == j)) for j in range(k)]


@mostly_scaling
def test_rows_without_weight_are_absent(method):
    X, _, y = make_rows("poisson", 600)
    present, splits = np.arange(600) % 5 > 0, make_splits(600)
    place = np.cumsum(present) - 1
    moved = [[place[part[present[part]]] for part in split] for split in splits]
    expected = correct(method, cv=moved).fit(X[present], y[present])
    y[~present] = 1e6
    found = correct(method, cv=splits).fit(X, y, sample_weight=present + 0.0)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-6)


def test_weights_count_rows():
    X, _, y = make_rows("poisson", 600)
    X = X[["mean", "region", "old"]]
    counts, splits = np.random.default_rng(0).integers(1, 4, 600), make_splits(600)
    rows = np.repeat(np.arange(600), counts)
    copies = [[np.flatnonzero(np.isin(rows, part)) for part in split] for split in splits]
    options = {"features": ["region", "old"]}
    found = correct(cv=splits, **options).fit(X, y, sample_weight=counts).predict(X)
    expected = correct(cv=copies, **options).fit(X.iloc[rows], y[rows]).predict(X)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


# --------------------------------------------------------------------------- what it may be given


def list_tables(X):
    yield pl.from_pandas(X)
    yield pa.Table.from_pandas(X)
    yield X.astype({"region": "category", "age": "Int64", "old": "boolean"})
    yield X.set_axis(range(3, 3 + len(X)))


@pytest.mark.parametrize("kind", range(4))
def test_tables_of_any_kind(kind):
    X, _, y = make_rows("poisson", 400)
    expected = correct().fit(X, y).predict(X)
    table = list(list_tables(X))[kind]
    model = correct().fit(table, y)
    for other in (table, X):
        np.testing.assert_allclose(model.predict(other), expected, rtol=1e-9)


def test_arrays_and_sparse_matrices():
    X, _, y = make_rows("poisson", 400)
    X["region"] = X["region"] == "north"
    expected = correct(features=["age", "region"]).fit(X, y).predict(X)
    array = X.to_numpy(dtype=float)
    model = correct(features=[1, 2]).fit(array, y)
    np.testing.assert_allclose(model.predict(array), expected, rtol=1e-9)
    line = LinearRegression().fit(array, y)
    dense, thin = (
        MulticalibratedRegressorCV(FrozenEstimator(line), features=[1, 2], link="identity")
        .fit(table, y)
        .predict(table)
        for table in (array, sparse.csr_array(array))
    )
    np.testing.assert_allclose(thin, dense, rtol=1e-9)


@mostly_scaling
def test_values_that_were_not_seen(method):
    """They get the correction of all rows; numbers beyond the last bin are in it."""
    X, _, y = make_rows("poisson", 1000)
    model = correct(method).fit(X, y)
    np.testing.assert_array_equal(
        model.predict(X.assign(age=79)), model.predict(X.assign(age=10**6))
    )
    strange = X.assign(region="east", old=None)
    assert np.isfinite(model.predict(strange)).all()
    np.testing.assert_array_equal(
        model.predict(strange), model.predict(X.assign(region=None, old=None))
    )


def test_new_predictions_of_0_or_less():
    X, _, y = make_rows("poisson", 500)
    model, new = correct().fit(X, y), X.assign(mean=-1.0)
    lowest = X.assign(mean=X["mean"].min())
    np.testing.assert_allclose(model.predict(new), model.predict(lowest))
    with pytest.raises(ValueError, match="X must be above 0 for the log link"):
        correct(link="log").fit(X, y).predict(new)


@every_method
@pytest.mark.parametrize("n", [1, 2, 6, 30])
@pytest.mark.parametrize("law", ["poisson", "normal"])
def test_few_rows(method, n, law):
    X, _, y = make_rows(law, n)
    y[0] += 1
    splits = [(np.arange(n), part) for part in np.array_split(np.arange(n), min(n, 3))]
    model = correct(method, cv=splits, **set_law(law)).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert np.abs(model.predict(X) - X["mean"]).max() < 3


def test_groups_come_to_the_splitter():
    X, _, y = make_rows("poisson", 300)
    groups = np.arange(300) % 7
    with config_context(enable_metadata_routing=True):
        found = correct(cv=GroupKFold(4)).fit(X, y, groups=groups)
    expected = correct(cv=[*GroupKFold(4).split(X, y, groups)]).fit(X, y)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    with pytest.raises(ValueError, match="groups need metadata routing"):
        correct(cv=GroupKFold(4)).fit(X, y, groups=groups)


def test_copies_and_searches():
    X, _, y = make_rows("poisson", 300)
    model = correct().fit(X, y)
    for again in (pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    options = {"features": [["age"], ["region"]]}
    search = GridSearchCV(correct(n_jobs=1), options, cv=2, scoring="neg_mean_poisson_deviance")
    assert search.fit(X, y).best_score_ < 0
    line = MulticalibratedRegressorCV(features=["old"]).fit(X[["mean", "age", "old"]], y)
    assert list(line.feature_names_in_) == ["mean", "age", "old"]
    assert line.n_features_in_ == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "trees"}, "method must be one of 'scaling', 'boosting'; got 'trees'"),
        ({"link": "logit"}, "link must be"),
        ({"power": 2.5}, "power must be from 1 to 2"),
        ({"power": 2}, "y must be above 0 with a power of 2"),
        ({"features": ["height"]}, "features must hold columns of X"),
        ({"features": []}, "features must be None or a list"),
        ({"cv": [([0, 1], [2, 3])]}, "cv must put every row into exactly one test fold"),
        ({"cv": 1000}, "n_splits=1000 greater than the number of samples"),
        ({"progress": 1}, "progress must be"),
    ],
)
def test_bad_options(options, message):
    X, _, y = make_rows("poisson", 200)
    with pytest.raises(ValueError, match=message):
        correct(**options).fit(X, y)


def test_bad_rows():
    X, _, y = make_rows("poisson", 200)
    for targets, message in ((np.append(y[1:], np.nan), "y contains NaN"), (-y - 1, "negative")):
        with pytest.raises(ValueError, match=message):
            correct(link="log").fit(X, targets)
    with pytest.raises(ValueError, match="X must be above 0 for the log link"):
        correct(link="log").fit(X.assign(mean=0.0), y)
    with pytest.raises(ValueError, match="X must have the columns that defined the groups"):
        correct().fit(X, y).predict(X[["mean"]])
