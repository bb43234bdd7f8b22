"""The refit rule and pooled scores: results where the answer is known, and scikit-learn's own."""

import copy
import pickle
import re
from functools import partial
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import get_scorer as get_sklearn_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from skcal.inference import make_groups
from skcal.metrics import expected_calibration_error, multicalibration_error, smooth_ece
from skcal.model_selection import PooledScore, calibrated_within_one_se, pooled_cross_val_score
from skcal.scorers import get_scorer
from tests.test_scorers import X3, Y3, unweighted_gap

RULE = calibrated_within_one_se("ll", "cal")
X, Y = make_classification(
    n_samples=300, n_features=8, n_informative=5, flip_y=0.15, random_state=0
)


def make_results(score, calibration):
    """cv_results_ of candidates (rows) on splits (columns), larger is better."""
    results = {}
    for name, values in {"ll": score, "cal": calibration}.items():
        values = np.asarray(values, dtype=float)
        for split, column in enumerate(values.T):
            results[f"split{split}_test_{name}"] = column
        results[f"mean_test_{name}"] = values.mean(axis=1)
    return results


FOLDS = np.array([-1.0, -5.0, -9.0])
LOSS = np.arange(12) % 2  # mean 0.5, standard error sqrt(3 / 11 / 12) = 0.15
ALONE = [[-0.9, -0.8, -0.9], [-0.1, -0.2, -0.1], [-0.5, -0.4, -0.5]]
# Scores, calibration (one number for all splits) and the choice.
CHOICES = {
    # Losses of 0 and 2 have mean 1 and standard error sqrt(2) / sqrt(2) = 1: the limit.
    "below the limit": ([[0, 0], [1e-6, 1e-6 - 2]], [-0.2, -0.1], 1),
    "at the limit": ([[0, 0], [0, -2]], [-0.2, -0.1], 1),
    "above the limit": ([[0, 0], [-1e-6, -1e-6 - 2]], [-0.2, -0.1], 0),
    "the best is alone": (ALONE, [-0.1, -0.3, -0.2], 1),
    # Folds of very different difficulty do not hide a small but steady loss.
    "splits are paired": ([FOLDS, FOLDS - 0.01], [-0.2, -0.1], 0),
    "calibration is averaged": ([[0, 0]] * 3, [[-0.1, -0.5], [-0.2, -0.3], [-0.4, -0.2]], 1),
    "ties go to the first": ([[-2, -2], [0, 0], [0, 0], [0, 0]], [-0.1, -0.3, -0.2, -0.2], 2),
    "a single split keeps the best": ([[-0.1], [-0.1001]], [-0.2, -0.1], 0),
    "and what ties with it": ([[-0.1], [-0.1]], [-0.2, -0.1], 1),
    "more than ten splits": ([0 * LOSS, -LOSS], [-0.2, -0.1], 0),
    "within their error": ([0 * LOSS, 0.35 - LOSS], [-0.2, -0.1], 1),
    "without": ([0 * LOSS, 0.34 - LOSS], [-0.2, -0.1], 0),
}


@pytest.mark.parametrize("case", CHOICES)
def test_choices(case):
    score, calibration, expected = CHOICES[case]
    calibration = np.array(calibration).reshape(len(score), -1)
    results = make_results(score, calibration + np.zeros(np.shape(score)))
    before = copy.deepcopy(results)
    assert type(RULE(results)) is int
    assert RULE(results) == expected
    for key, values in before.items():
        np.testing.assert_array_equal(results[key], values)


@pytest.mark.parametrize("n_splits", range(2, 11))
def test_a_loss_on_one_split_alone_equals_its_standard_error(n_splits):
    """Both are x / n, and the rule keeps what is within one standard error, however it rounds."""
    for x in np.random.default_rng(0).random(20):
        score = np.zeros((2, n_splits))
        score[1, 0] = -x
        assert RULE(make_results(score, score * 0 - [[0.2], [0.1]])) == 1


@pytest.mark.parametrize("unit", [1.0, 1e-300, 1e307])
def test_rule_does_not_depend_on_the_unit(unit):
    """Squares of differences neither overflow nor vanish, nor do sums of scores."""
    score = unit * np.array([[-1.0, -2.0, -1.0], [-1.0, -0.5, -9.0], [-9.0, -9.0, -9.0]])
    calibration = unit * np.array([[-3.0] * 3, [-2.0] * 3, [-1.0] * 3])
    with np.errstate(over="ignore"):  # of the mean, which the rule does not look at
        results = make_results(score, calibration)
    assert RULE(results) == 1


@pytest.mark.parametrize("bad", [np.nan, -np.inf, np.inf])
@pytest.mark.parametrize("where", [0, 1])
def test_incomplete_candidates_are_left_out(bad, where):
    score = np.array([[0.0, 0.0], [-1.0, -1.0], [-2.0, -2.0]])
    calibration = np.array([[-0.1, -0.1], [-0.3, -0.3], [-0.2, -0.2]])
    (score, calibration)[where][0, 1] = bad
    assert RULE(make_results(score, calibration)) == 1


def test_results_without_a_choice_are_refused():
    make = calibrated_within_one_se
    both = make_results([[0.0, 0.0]], [[0.0, 0.0]])
    nothing = make_results([[np.nan, 0.0], [0.0, 0.0]], [[-0.1, -0.1], [np.nan, -0.1]])
    single = {"split0_test_score": np.zeros(1), "mean_test_score": np.zeros(1)}
    no_splits = {"mean_test_ll": [0.0], "mean_test_cal": [0.0]}
    unknown = r"score must be .*\['ll', 'cal'\]; got 'nll'\. Did you mean 'll'"
    for call, message in (
        (lambda: RULE(nothing), "No candidate has finite values of 'll' and 'cal'"),
        (lambda: make("nll", "cal")(both), unknown),
        (lambda: make("ll", "smooth_ece")(both), "calibration must be one of the metrics"),
        (lambda: RULE(single), r"\['score'\].*Give both metrics in `scoring`"),
        (lambda: RULE(no_splits), "must hold the scores of each spl"),
        (lambda: make(None, "cal"), "score must be the name of a metric"),
        (lambda: make("ll", get_scorer("neg_smooth_ece")), "calibration must be the name of a me"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_rule_is_a_plain_value():
    assert repr(RULE) == "calibrated_within_one_se('ll', 'cal')"
    assert eval(repr(RULE)) == pickle.loads(pickle.dumps(RULE)) == RULE
    assert RULE not in (calibrated_within_one_se("ll", "other"), 1, None)
    assert len({RULE, copy.deepcopy(RULE), calibrated_within_one_se("ll", "other")}) == 2
    assert clone(GridSearchCV(GaussianNB(), {}, refit=RULE)).refit == RULE


def test_calibration_alone_selects_a_trivial_model():
    """The pitfall: a constant base rate is calibrated and useless."""
    pipeline = Pipeline([("model", LogisticRegression())])
    grid = {"model": [LogisticRegression(), DummyClassifier(), GaussianNB()]}
    scoring = {"ll": "neg_log_loss", "cal": get_scorer("neg_smooth_ece")}
    search = GridSearchCV(pipeline, grid, scoring=scoring, refit="cal", cv=5)
    assert isinstance(search.fit(X, Y).best_estimator_["model"], DummyClassifier)
    search = clone(search).set_params(refit=RULE).fit(X, Y)
    assert not isinstance(search.best_estimator_["model"], DummyClassifier)
    assert search.best_index_ == RULE(search.cv_results_)
    assert not hasattr(search, "best_score_")
    # scikit-learn looks the score of a search up by `refit`, whatever that is.
    expected = get_sklearn_scorer("neg_log_loss")(search, X, Y)
    assert search.score(X, Y) == pytest.approx(expected, rel=1e-12)


class FirstColumn(ClassifierMixin, BaseEstimator):
    """Predicts what the first column of X says, and notes in a list what its fit receives."""

    seen: ClassVar = []

    def fit(self, X, y, sample_weight=None, note=None):
        self.seen.append((X[:, 0].copy(), sample_weight, note))
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


@pytest.fixture
def recorder():
    return type("Recorder", (FirstColumn,), {"seen": []})()


pool_ece = partial(pooled_cross_val_score, measure="expected_calibration_error")
pool_smooth = partial(pooled_cross_val_score, measure="smooth_ece")


def predict_by_hand(X, y, cv, weight):
    """Labels, probabilities and weights of the test rows of all folds."""
    return [
        (y[test], GaussianNB().fit(X[train], y[train]).predict_proba(X[test]), weight[test])
        for train, test in cv.split(X, y)
    ]


SPLITTERS = [
    KFold(4, shuffle=True, random_state=0),
    RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),  # each row twice
    StratifiedShuffleSplit(3, test_size=0.3, random_state=0),  # some rows never
    ShuffleSplit(2, test_size=1, random_state=0),  # a row each
]


@pytest.mark.parametrize("cv", SPLITTERS, ids=lambda cv: type(cv).__name__)
@pytest.mark.parametrize("weighted", [False, True])
def test_pooled_score_equals_a_loop_by_hand(cv, weighted):
    weight = np.random.default_rng(0).uniform(0.5, 2, len(Y)) if weighted else np.ones(len(Y))
    given = weight if weighted else None
    score = pool_ece(GaussianNB(), X, Y, sample_weight=given, cv=cv, n_bins=7)
    assert isinstance(score, PooledScore)
    folds = predict_by_hand(X, Y, cv, weight)
    pooled = [np.concatenate(part) for part in zip(*folds, strict=True)]
    *values, expected = (
        expected_calibration_error(y, proba, sample_weight=share, n_bins=7)
        for y, proba, share in (*folds, pooled)
    )
    np.testing.assert_allclose(score.folds, values, rtol=1e-12)
    assert score.fold_mean == pytest.approx(np.mean(values))
    assert score.pooled == pytest.approx(expected)


@pytest.mark.parametrize("labels", [[False, True], ["no", "yes"], [-1, 1]])
def test_folds_are_those_of_scikit_learn(labels):
    name, y = "squared_kernel_calibration_error", np.array(labels)[Y]
    score = pooled_cross_val_score(GaussianNB(), X, y, measure=name, cv=3)
    expected = cross_val_score(GaussianNB(), X, y, scoring=get_scorer(f"neg_{name}"), cv=3)
    np.testing.assert_allclose(score.folds, -expected, rtol=1e-12)


def test_options_and_callables():
    y = np.array(["a", "b", "c"], dtype=object)[Y3]
    cv = StratifiedKFold(3)
    folds = predict_by_hand(X3, y, cv, np.ones(len(y)))
    y_all, proba, _ = (np.concatenate(part) for part in zip(*folds, strict=True))
    for options in ({"reduction": "classwise"}, {"pos_label": "b"}):
        expected = smooth_ece(y_all, proba, **options)
        for measure in ("smooth_ece", smooth_ece):
            score = pooled_cross_val_score(GaussianNB(), X3, y, measure=measure, cv=cv, **options)
            assert score.pooled == pytest.approx(expected, rel=1e-12)
    gap = pooled_cross_val_score(GaussianNB(), X3, y, measure=unweighted_gap, cv=cv)
    assert gap.pooled == pytest.approx(abs((y == "c").mean() - proba[:, 2].mean()))


def test_opposite_errors_of_models_cancel():
    """Half of the rows are predicted .25 too low, half .25 too high, at the same predictions."""
    halves, y = np.full((80, 1), 0.5), np.repeat([1, 1, 1, 0, 1, 0, 0, 0], 10)
    score = pool_smooth(FirstColumn(), halves, y, cv=KFold(2))
    np.testing.assert_allclose(score.folds, 0.25, atol=1e-6)
    assert score.pooled == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("names", [np.array(["a", "b", "c"]), np.array([0, 1, 2])])
def test_folds_that_miss_a_class(names):
    X, y = X3[:130], Y3[:130]
    cv = KFold(2)  # the first fold alone has class 0, the second alone class 2
    message = f"GaussianNB was not fitted on, {names.tolist()[::2]}: "
    with pytest.warns(UserWarning, match=re.escape(message)) as record:
        score = pool_ece(GaussianNB(), X, names[y], cv=cv)
    assert [warning.filename for warning in record] == [__file__]
    folds = []
    for train, test in cv.split(X):
        model = GaussianNB().fit(X[train], y[train])
        proba = np.zeros((len(test), 3))
        proba[:, model.classes_] = model.predict_proba(X[test])
        folds.append((y[test], proba))
    values = [expected_calibration_error(*fold, labels=[0, 1, 2]) for fold in folds]
    np.testing.assert_allclose(score.folds, values, rtol=1e-12)
    pooled = expected_calibration_error(*map(np.concatenate, zip(*folds, strict=True)))
    assert score.pooled == pytest.approx(pooled)


def test_the_estimator_is_left_alone_and_other_settings():
    model, cv = GaussianNB(), StratifiedKFold(5)
    expected = pool_smooth(model, X, Y)
    assert not hasattr(model, "classes_")
    assert len(expected.folds) == 5
    masks = [np.isin(np.arange(300), test) for _, test in cv.split(X, Y)]
    index = range(7, 307)
    for data, target, options in (
        (X, Y, {"n_jobs": 2}),
        (X, Y, {"cv": cv.split(X, Y)}),
        (X, Y, {"cv": [(~mask, mask) for mask in masks]}),
        (X.tolist(), Y.tolist(), {}),
        (pd.DataFrame(X, index=index), pd.Series(Y, index=index), {}),
    ):
        with parallel_config(backend="threading"):  # test_threads.py has processes
            score = pool_smooth(model, data, target, **options)
        np.testing.assert_allclose(score.folds, expected.folds, rtol=1e-6)
        assert score.pooled == pytest.approx(expected.pooled, rel=1e-6)


def test_groups_of_all_rows_are_taken_apart():
    options = {"measure": multicalibration_error, "min_samples": 20, "n_bins": 2, "scale": "noise"}
    table = pd.DataFrame(X[:, :3], columns=list("abc"))
    groups = make_groups(table, min_samples=20, n_bins=2)
    expected = pooled_cross_val_score(GaussianNB(), X, Y, groups=groups, **options)
    found = pooled_cross_val_score(GaussianNB(), X, Y, groups=table, **options)
    assert found.pooled == expected.pooled
    folds = list(StratifiedKFold(5).split(X, Y))
    proba = [GaussianNB().fit(X[train], Y[train]).predict_proba(X[test]) for train, test in folds]
    rows = np.concatenate([test for _, test in folds])
    value = multicalibration_error(
        Y[rows], np.concatenate(proba), groups.to_matrix()[rows], scale="noise"
    )
    assert found.pooled == pytest.approx(value)
    by_columns = pooled_cross_val_score(GaussianNB(), table, Y, **options)
    again = pooled_cross_val_score(GaussianNB(), table, Y, groups=table, **options)
    np.testing.assert_array_equal(by_columns.folds, again.folds)
    partly = partial(multicalibration_error, min_samples=20, n_bins=2, scale="noise")
    again = pooled_cross_val_score(GaussianNB(), table, Y, measure=partly, groups=None)
    np.testing.assert_array_equal(again.folds, by_columns.folds)
    # Rows that no fold tests, or that weigh nothing, are in no group.
    twice, rows = pd.concat([table, table + 9]), [(np.arange(150), np.arange(150, 300))]
    few = pooled_cross_val_score(GaussianNB(), table, Y, cv=rows, **options)
    weight = np.repeat([1.0, 0.0], 300)
    for cv, given in ((rows, None), ([(rows[0][0], np.arange(150, 600))], weight)):
        more = {"cv": cv, "sample_weight": given} | options
        found = pooled_cross_val_score(GaussianNB(), twice, np.append(Y, Y), **more)
        assert found.pooled == pytest.approx(few.pooled, rel=1e-12)
    with pytest.raises(ValueError, match="groups must be given where X is no data frame"):
        pooled_cross_val_score(GaussianNB(), X, Y, measure=multicalibration_error)


rng = np.random.default_rng(5)
PROBA = rng.random((len(Y), 1))
WEIGHT = rng.uniform(0.5, 2, len(Y))
GROUPS = np.arange(len(Y)) % 4
# Weights of the fit are no weights of the measure, and the other way round.
PLAIN = pytest.approx(smooth_ece(Y, PROBA[:, 0]), rel=1e-9)
WEIGHTED = pytest.approx(smooth_ece(Y, PROBA[:, 0], sample_weight=WEIGHT), rel=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, list, pd.Series])
def test_params_go_to_fit_without_routing(kind, recorder):
    cv, params = StratifiedKFold(3), {"sample_weight": kind(WEIGHT), "note": "all"}
    assert pool_smooth(recorder, PROBA, Y, params=params, cv=cv).pooled == PLAIN
    for (rows, share, note), (train, _) in zip(recorder.seen, cv.split(X, Y), strict=True):
        np.testing.assert_array_equal(rows, PROBA[train, 0])
        np.testing.assert_array_equal(share, WEIGHT[train])
        assert note == "all"
    recorder.seen.clear()
    assert pool_smooth(recorder, PROBA, Y, sample_weight=kind(WEIGHT), cv=cv).pooled == WEIGHTED
    assert [share for _, share, _ in recorder.seen] == [None] * 3


@pytest.mark.usefixtures("routing")
def test_params_go_where_they_are_requested_with_routing(recorder):
    pool = partial(pool_smooth, recorder, PROBA, Y, cv=GroupKFold(4))
    params = {"sample_weight": WEIGHT, "groups": GROUPS}
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        pool(params=params)
    recorder.set_fit_request(sample_weight=False)
    with pytest.raises(TypeError, match="sample_weight"):  # as in cross_validate
        pool(params=params)
    assert recorder.seen == []
    recorder.set_fit_request(sample_weight=True)
    assert pool(params=params).pooled == PLAIN
    assert len(recorder.seen) == 4
    for rows, share, _ in recorder.seen:
        train = np.flatnonzero(np.isin(PROBA[:, 0], rows))
        assert len(set(GROUPS[train])) == 3
        np.testing.assert_array_equal(share, WEIGHT[train])
    assert pool(params={"groups": GROUPS}, sample_weight=WEIGHT).pooled == WEIGHTED


def test_groups_go_to_the_splitter_without_routing():
    params = {"groups": GROUPS}
    score = pool_smooth(FirstColumn(), PROBA, Y, cv=LeaveOneGroupOut(), params=params)
    expected = [smooth_ece(Y[k::4], PROBA[k::4, 0]) for k in range(4)]
    np.testing.assert_allclose(score.folds, expected, rtol=1e-9)
    assert list(params) == ["groups"]


@pytest.mark.parametrize(
    ("model", "options", "error", "message"),
    [
        (GaussianNB(), {"measure": "smoth_ece"}, ValueError, "Did you mean 'smooth_ece'"),
        (GaussianNB(), {"n_bins": 10}, TypeError, "smooth_ece has no option 'n_bins'"),
        (GaussianNB(), {"njobs": 1}, TypeError, "no option 'njobs'.*Did you mean 'n_jobs'"),
        (GaussianNB(), {"labels": [0, 1]}, TypeError, "labels cannot be an option"),
        (GaussianNB(), {"sample_weight": [1]}, ValueError, r"shape \(\d+,\), one weight for each"),
        (
            GaussianNB(),
            {"sample_weight": np.arange(len(Y)) < 9, "cv": KFold(2)},
            ValueError,
            "every fold; in fold 1 all are zero",
        ),
        (GaussianNB(), {"cv": []}, ValueError, "cv must give at least one pair"),
        (GaussianNB(), {"measure": lambda y, p, labels: None}, ValueError, "<lambda> gave None"),
        (SVC(), {}, ValueError, "which SVC does not have.*RecalibratedClassifierCV"),
        (LinearRegression(), {}, ValueError, "LinearRegression is a regressor"),
        (GaussianNB(), {"measure": unweighted_gap, "sample_weight": Y}, ValueError, "no weights"),
    ],
)
def test_bad_arguments_of_pooled_scores(model, options, error, message):
    with pytest.raises(error, match=message):
        pooled_cross_val_score(model, X, Y, **{"measure": "smooth_ece", "cv": 2, **options})


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed"),
        ([0, 1, 1], "inconsistent numbers of samples"),
        (Y[:4] + 0.25 * X[:4, 0], "continuous"),
        ([], r"X and y must hold at least one row; got 0 sample\(s\)"),
        ([0, "a", 0, "a"], "y must hold numbers, booleans or strings, all of one type"),
        (np.array([0, "a", 0.5, 1], dtype=object), "y must hold numbers, booleans or strings"),
        ([0, None, 1, 1], "y must not have missing labels; got None at row 1"),
        (np.array([0.0, np.nan, 1.0, 1.0]), "Input y contains NaN"),
        ([[0, 1], [1], [0], [1]], "y must hold one label for each row"),
    ],
)
def test_bad_labels_of_pooled_scores(y, message):
    """Labels that NumPy would turn to text, or warn of, are refused by name."""
    with pytest.raises(ValueError, match=message):
        pool_smooth(DummyClassifier(), np.zeros((4 if y is None or len(y) else 0, 1)), y)


def test_numbers_as_objects_are_labels():
    """And a single class everywhere has no error."""
    for y in (np.array([0, 1] * 4, dtype=object), np.zeros(8)):
        score = pool_smooth(DummyClassifier(), np.zeros((8, 1)), y, cv=KFold(2))
        assert score.pooled == pytest.approx(0)
