"""MulticalibratedClassifierCV: what it gains, by known truth, and all that it may be given."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from skcal._numerics.recalibration._deal import deal_splits
from skcal.recalibration import (
    IsotonicRecalibration,
    MulticalibratedClassifierCV,
    RecalibratedClassifierCV,
    TemperatureScaling,
)
from skcal.recalibration._group_correction import split_folds
from skcal.scorers import get_scorer
from tests.recalibration.family import NAMES, make_features, may_harm

# ---------------------------------------------------------------------------------- what it gains
from tests.recalibration.multicalibrated import (
    CLOSE,
    FEATURES,
    METHODS,
    correct,
    find_loss,
    find_proba,
    freeze,
    get_correction,
    make_rows,
    mostly_scaling,
)


@pytest.mark.parametrize(
    ("method", "kind", "share"),
    [
        ("scaling", "level", 0.8),
        ("scaling", "pair", 0.8),
        ("scaling", "slope", 0.4),
        pytest.param("boosting", "level", 0.8, marks=pytest.mark.slow),
        pytest.param("boosting", "triple", 0.6, marks=pytest.mark.slow),
    ],
)
@may_harm
def test_it_mends_groups_that_averages_do_not_show(method, kind, share):
    """A share of what the truth would save in log loss; maps of the score alone save less."""
    X, _, y = make_rows(kind)
    new, true, _ = make_rows(kind, n=8000, seed=1)
    before = find_loss(freeze(), new, true)
    least = -np.mean(true * np.log(true) + (1 - true) * np.log1p(-true))
    found = find_loss(correct(method).fit(X, y), new, true)
    assert least < found < before - share * (before - least)
    for other in (TemperatureScaling(), IsotonicRecalibration(min_proba=1e-3)):
        model = RecalibratedClassifierCV(freeze(), other).fit(X, y)
        assert found < find_loss(model, new, true)


@pytest.mark.slow
def test_a_pair_is_found_among_many_columns():
    """A category and half of a number, of 190 pairs of which no other tells anything."""

    def draw(n, seed):
        rng = np.random.default_rng(seed)
        names = [f"{kind} {k}" for kind in ("value", "number") for k in range(10)]
        columns = [*rng.choice(list("abc"), (10, n)), *rng.normal(size=(10, n))]
        X = pd.DataFrame({"z0": rng.normal(size=n)} | dict(zip(names, columns, strict=True)))
        effect = np.where((X["value 3"] == "a") == (X["number 4"] < 0), 0.8, -0.8)
        truth = expit(X["z0"] + effect).to_numpy()
        return X, truth, (rng.random(n) < truth).astype(int)

    (X, _, y), (new, true, _) = draw(4000, 0), draw(10_000, 1)
    model = correct(features=list(X.columns[1:])).fit(X, y)
    index = get_correction(model).to_frame().index
    pairs = index[index.str.contains(" and ")]
    planted = pairs.str.contains("value 3 = . and number 4 in ")
    assert planted[:12].all()  # the strongest pair is the first
    least = -np.mean(true * np.log(true) + (1 - true) * np.log1p(-true))
    before = find_loss(freeze(), new, true)
    assert find_loss(model, new, true) < before - 0.8 * (before - least)


@pytest.mark.parametrize(
    ("method", "seeds"),
    [
        ("scaling", range(4)),
        pytest.param("scaling", range(10, 40), marks=pytest.mark.slow),
        pytest.param("boosting", range(10, 40), marks=pytest.mark.slow),
    ],
)
def test_it_leaves_calibrated_classifiers_nearly_as_they_are(method, seeds):
    losses = []
    for seed in seeds:
        X, _, y = make_rows(seed=seed)
        new, true, _ = make_rows(n=10_000, seed=1000 + seed)
        before = find_loss(freeze(), new, true)
        losses.append(find_loss(correct(method).fit(X, y), new, true) - before)
    assert np.mean(losses) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(("n_columns", "n_seeds"), [(20, 12), (50, 3)])
def test_many_columns_that_tell_nothing_do_no_harm(n_columns, n_seeds):
    """Penalties of all rows would make corrections of rows held out look better than they are."""

    def add_columns(X, rng):
        names = [f"column {k}" for k in range(n_columns)]
        return X.assign(**dict(zip(names, rng.integers(0, 9, (n_columns, len(X))), strict=True)))

    losses = []
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        (X, _, y), (new, true, _) = make_rows(seed=seed), make_rows(n=20_000, seed=1000 + seed)
        X, new = add_columns(X, rng), add_columns(new, rng)
        model = correct(features=list(X.columns[-n_columns:])).fit(X, y)
        losses.append(find_loss(model, new, true) - find_loss(freeze(), new, true))
    assert np.mean(losses) < 3e-4


# ------------------------------------------------------------------------------- what it computes


def test_the_table_tells_all():
    X, _, y = make_rows("level")
    X["age"] = X["age"] * 10 + np.arange(2000) % 7  # whole numbers, so that edges are exact
    X["region"] = X["region"].where(np.arange(2000) % 5 > 0, None)
    y = np.where(X["old"], X["age"] < 230, y)  # so that these two columns are a pair
    weights = np.random.default_rng(0).integers(1, 3, 2000)
    model = correct().fit(X, y, sample_weight=weights)
    frame = get_correction(model).to_frame()
    assert "region is missing" in frame.index
    assert frame.index.str.contains(r"age in \[.* and old = True").any()
    np.testing.assert_array_equal(frame["slope"].isna(), frame.index.str.contains(" and "))
    expected = find_proba(frame, X, np.average(X["z0"], weights=weights))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-9)


@mostly_scaling
def test_factor(method):
    """0 leaves probabilities as they are."""
    X, _, y = make_rows("level", n=300)
    model = correct(method).fit(X, y)
    assert 0 < get_correction(model).factor_ <= 1
    get_correction(model).factor_ = 0.0
    np.testing.assert_allclose(model.predict_proba(X), freeze().predict_proba(X), rtol=1e-12)


def test_corrections_that_do_not_help_are_left_out():
    rows = (make_rows(seed=seed) for seed in range(6))
    assert any(get_correction(correct().fit(X, y)).factor_ == 0 for X, _, y in rows)


def make_splits(n, k=3, seed=0):
    folds = np.random.default_rng(seed).permutation(n) % k
    return [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(k)]


def move_splits(splits, rows):
    """The splits of rows that were taken, perhaps several times, out of those of the splits."""
    return [tuple(np.flatnonzero(np.isin(rows, part)) for part in split) for split in splits]


@pytest.mark.parametrize("kind", [pytest.param("level", marks=pytest.mark.slow), "pair"])
def test_order_of_rows_and_columns_and_names_do_not_matter(kind):
    X, _, y = make_rows(kind, 600)
    splits, order = make_splits(600), np.random.default_rng(1).permutation(600)
    expected = correct(cv=splits).fit(X, y).predict_proba(X)
    other_names = {"region": 7, "age": "x", "old": ("a", 1)}
    renamed = X.assign(region=X["region"].map({"north": "z", "south": "y", "west": "x"}))
    for moved, labels, options in (
        (X.iloc[order], y[order], {"cv": move_splits(splits, order)}),
        (X[["new", "z0", "age", "old", "region"]], y, {"features": FEATURES[::-1]}),
        (renamed.rename(columns=other_names), y, {"features": [7, 2, ("a", 1), "new"]}),
        (X, NAMES[y], {"classes": NAMES[:2]}),
    ):
        model = correct(**{"cv": splits} | options).fit(moved, labels)
        found = model.predict_proba(moved.set_axis(np.arange(600)[::-1]))
        back = np.argsort(order) if labels is not y and labels.dtype == y.dtype else slice(None)
        np.testing.assert_allclose(found[back], expected, **CLOSE)
    np.testing.assert_array_equal(model.predict(X), NAMES[expected.argmax(axis=1)])


@pytest.mark.parametrize("method", ["scaling", pytest.param("boosting", marks=pytest.mark.slow)])
def test_rows_without_weight_are_absent(method):
    X, _, y = make_rows("level", 500)
    present = np.arange(500) < 250
    X.loc[~present, "region"] = "nowhere"
    X.loc[~present, "age"] += 100
    splits, rows = make_splits(500), np.flatnonzero(present)
    weights = np.where(present, 1.0, 0.0)
    found = correct(method, cv=splits).fit(X, y, sample_weight=weights)
    expected = correct(method, cv=move_splits(splits, rows)).fit(X[present], y[present])
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), **CLOSE)


def test_weights_count_rows():
    """Bins and the sizes of groups do not depend on weights."""
    X, _, y = make_rows("pair", 700)
    features, splits = ["region", "old", "new"], make_splits(700)
    weights = np.random.default_rng(0).integers(1, 4, 700)
    rows = np.repeat(np.arange(700), weights)
    options = {"features": features}
    found = correct(cv=splits, **options).fit(X, y, sample_weight=weights)
    model = correct(cv=move_splits(splits, rows), **options).fit(X.iloc[rows], y[rows])
    np.testing.assert_allclose(found.predict_proba(X), model.predict_proba(X), **CLOSE)
    found = correct(cv=splits, **options).fit(X, y, sample_weight=np.ones(700))
    model = correct(cv=splits, **options).fit(X, y)
    np.testing.assert_array_equal(found.predict_proba(X), model.predict_proba(X))


def make_classes(n, seed):
    """Three classes, of which one is too rare in the north in the eyes of the classifier."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["z0", "z1"])
    X["region"] = rng.choice(["north", "south"], size=n)
    z = np.column_stack([np.zeros(n), X["z0"], X["z1"] + 1.5 * (X["region"] == "north")])
    truth = softmax(z, axis=1)
    return X, truth, (rng.random(n)[:, None] > truth.cumsum(axis=1)[:, :2]).sum(axis=1)


@mostly_scaling
def test_a_group_that_is_wrong_in_one_class(method):
    X, _, y = make_classes(1000, 0)
    new, truth, _ = make_classes(20_000, 1)
    classes = NAMES[:3]
    model = correct(method, classes, features=["region"]).fit(X, classes[y])
    found = model.predict_proba(new)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    losses = [
        -np.mean(np.sum(truth * np.log(q), axis=1))
        for q in (truth, found, freeze(classes).predict_proba(new))
    ]
    assert losses[1] - losses[0] < 0.25 * (losses[2] - losses[0])
    if method == "scaling":
        frame = get_correction(model).to_frame()
        assert list(frame.columns.levels[0]) == list(classes)
        north = frame.loc["region = north"].xs("intercept", level=1)
        assert north.idxmax() == "cat"


# -------------------------------------------------------------------- classifiers, folds, members

X3, Y3 = make_features(3)
X2, Y2 = make_features(2)
COLUMN = np.random.default_rng(5).integers(0, 2, 150)[:, None]
BOTH = np.hstack([X2, COLUMN])


def test_folds_of_the_classifier_are_those_of_the_correction():
    """The correction is that of the out-of-fold scores of a frozen classifier with the same cv."""
    splits = list(StratifiedKFold(3).split(BOTH, Y2))
    model = MulticalibratedClassifierCV(GaussianNB(), features=[4], cv=splits).fit(BOTH, Y2)
    scores = cross_val_predict(GaussianNB(), BOTH, Y2, cv=splits, method="predict_log_proba")
    Z = np.column_stack([scores[:, 1] - scores[:, 0], COLUMN])
    given = correct(features=[1], cv=splits).fit(Z, Y2)
    found, expected = (get_correction(one).to_frame().to_numpy() for one in (model, given))
    np.testing.assert_allclose(found, expected, **CLOSE)
    assert np.abs(found).max() > 0.01
    alone = GaussianNB().fit(BOTH, Y2).predict_log_proba(BOTH)
    Z = np.column_stack([alone[:, 1] - alone[:, 0], COLUMN])
    np.testing.assert_allclose(model.predict_proba(BOTH), given.predict_proba(Z), **CLOSE)


def test_an_ensemble_shares_one_correction():
    """That of a single classifier, which learns from the same scores."""
    X = BOTH
    single, several = (
        MulticalibratedClassifierCV(
            GaussianNB(), features=[4], ensemble=ensemble, average="log_odds"
        ).fit(X, Y2)
        for ensemble in (False, True)
    )
    shared = {id(correction) for _, correction in several.calibrated_classifiers_}
    assert len(shared) == 1
    found, expected = (one.calibrated_classifiers_[0].recalibrator for one in (several, single))
    pd.testing.assert_frame_equal(found.to_frame(), expected.to_frame())
    assert len(several.calibrated_classifiers_) == 5
    logs = []
    for pair in several.calibrated_classifiers_:
        single.calibrated_classifiers_ = [pair]
        logs.append(np.log(single.predict_proba(X)))
    means = np.exp(np.mean(logs, axis=0))
    expected = means / means.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(several.predict_proba(X), expected, **CLOSE)


def test_response_methods():
    """Of a logistic regression both tell the same."""
    frozen = FrozenEstimator(LogisticRegression().fit(X2[:60], Y2[:60]))
    models = [
        MulticalibratedClassifierCV(frozen, response_method=method).fit(X2[60:], Y2[60:])
        for method in ("predict_proba", "decision_function", "auto")
    ]
    names = [model.response_method_ for model in models]
    assert names == ["predict_proba", "decision_function", "predict_proba"]
    found = [model.predict_proba(X2) for model in models]
    np.testing.assert_allclose(found[1], found[0], **CLOSE)
    np.testing.assert_array_equal(found[2], found[0])


@mostly_scaling
def test_classifiers_without_probabilities(method):
    for X, y in ((X2, Y2), (X3, Y3)) if method == "scaling" else ((X2, Y2),):
        model = MulticalibratedClassifierCV(LinearSVC(), method=method, cv=3).fit(X, y)
        assert model.response_method_ == "decision_function"
        proba = model.predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=1e-12)
        assert np.mean(proba.argmax(axis=1) == y) > 0.5


def test_it_is_searched_and_scored():
    X = pd.DataFrame({"score": X2[:, 0], "group": COLUMN[:, 0]})
    model = MulticalibratedClassifierCV(GaussianNB(), cv=2)
    grid = {"method": METHODS, "features": [None, ["group"]]}
    search = GridSearchCV(model, grid, scoring="neg_log_loss", cv=2).fit(X, Y2)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.predict_proba(X).shape == (150, 2)
    scorer = get_scorer("neg_multicalibration_error", min_samples=10)
    scores = cross_val_score(model, X, Y2, scoring=scorer, cv=2)
    assert ((scores <= 0) & (scores > -1)).all()


# ------------------------------------------------------------------------ what it may not be given

FRAME, _, OUTCOMES = make_rows(n=120)
WIDE = np.random.default_rng(0).normal(size=(120, 51))
KNOWN = r"features must hold columns of X, numbers below 5 or names among \['z0'.*\]; got "
NO_LIST = "features must be None or a list of names or numbers of columns, at least one; got "


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (FRAME, {"features": "age"}, NO_LIST + "'age'"),
        (FRAME, {"features": []}, NO_LIST + r"\[\]"),
        (FRAME, {"features": {"age"}}, NO_LIST + r"\{'age'\}"),
        (FRAME, {"features": ["agee"]}, KNOWN + "'agee'"),
        (FRAME, {"features": [["age"], "old"]}, KNOWN + r"\['age'\]"),
        (FRAME, {"features": [True]}, KNOWN + "True"),
        (WIDE, {"features": [51]}, r"features must hold columns of X, numbers below 51; got 51"),
        (WIDE, {"features": [-1]}, r"features must hold columns of X, numbers below 51; got -1"),
        (WIDE, {"features": [np.True_]}, "features must hold .*; got np.True_"),
        (WIDE, {"features": None}, "features must choose at most 50 columns of X.*; got 51"),
        (FRAME, {"features": ["age", 2]}, r"features must hold each column once; got \['age', 2\]"),
        (["a text"] * 120, {}, r"X must be a table whose columns.*; got .*\(shape=\(120,\)\)"),
        ([[1, 2], [3]] * 60, {}, r"X must be a table whose columns.*; got .*\(shape=\(120,\)\)"),
        (WIDE[:, :0], {}, r"X must be a table whose columns.*; got 0 feature\(s\)"),
        (FRAME, {"method": "boost"}, "method must be one of 'scaling', 'boosting'; got 'boost'. D"),
        (
            pairwise_distances(WIDE),
            {"estimator": KNeighborsClassifier(metric="precomputed")},
            "estimator must take features, which define the groups; got one that takes pairwise X",
        ),
    ],
)
def test_bad_input(X, options, message):
    """A failed fit leaves the estimator as it was."""
    options = {"estimator": freeze(), "features": None} | options
    model = MulticalibratedClassifierCV(freeze(), features=["region"]).fit(FRAME, OUTCOMES)
    before, expected = vars(model).copy(), model.predict_proba(FRAME)
    model.set_params(**options)
    with pytest.raises(ValueError, match=message):
        model.fit(X, OUTCOMES)
    assert vars(model) == before | options
    np.testing.assert_array_equal(model.predict_proba(FRAME), expected)


class Known(ClassifierMixin, BaseEstimator):
    """A classifier that learns the labels alone."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        proba = 1 / (1 + np.exp(-np.asarray(X["z0"])))
        return np.column_stack([1 - proba, proba])


def test_rows_that_no_fold_tests():
    """The correction does not learn from the first rows of a time series."""
    model = MulticalibratedClassifierCV(Known(), features=["region"], cv=TimeSeriesSplit(4))
    found = []
    for y in (OUTCOMES, np.where(np.arange(120) < 24, 1 - OUTCOMES, OUTCOMES)):
        with pytest.warns(UserWarning, match="24 of 120 rows are in no test fold of cv"):
            found.append(model.fit(FRAME, y).predict_proba(FRAME))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("X", [FRAME[["z0", "region"]], FRAME.to_numpy()[:, :2]])
def test_bad_new_rows(X):
    model = correct().fit(FRAME, OUTCOMES)
    message = "X must have the columns .* in fit; got none .* 2 or .* 'age'"
    with pytest.raises(ValueError, match=message):
        model.predict_proba(X)


def test_folds_of_corrections():
    """Those of the classifier; others where it has none, and none of a single row."""
    scores, codes = np.array([[0.2, 0.8], [0.6, 0.4], [0.3, 0.7]]), np.array([0, 1, 1])
    deal = partial(deal_splits, scores, codes, None)
    given = split_folds(np.array([0, 0, 1]), deal)
    assert [(list(train), list(test)) for train, test in given] == [([2], [0, 1]), ([0, 1], [2])]
    alone = np.zeros(3, dtype=int)
    tested = [row for _, test in split_folds(alone, deal) for row in test]
    assert sorted(tested) == [0, 1, 2]
    assert split_folds(alone[:1], deal) == []
