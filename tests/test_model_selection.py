"""The refit rule and pooled scores: results where the answer is known, and scikit-learn's own."""

import copy
import pickle
import re

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris, make_classification
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

from skcal.metrics import expected_calibration_error, smooth_ece
from skcal.model_selection import (
    PooledScore,
    calibrated_within_one_se,
    pooled_cross_val_score,
)
from skcal.scorers import get_scorer

RULE = calibrated_within_one_se("ll", "cal")


def make_results(score, calibration):
    """cv_results_ of candidates (rows) on splits (columns), larger is better."""
    results = {}
    for name, values in {"ll": score, "cal": calibration}.items():
        values = np.asarray(values, dtype=float)
        for split, column in enumerate(values.T):
            results[f"split{split}_test_{name}"] = column
        results[f"mean_test_{name}"] = values.mean(axis=1)
    return results


# --------------------------------------------------------------------------- the rule


FOLDS = np.array([-1.0, -5.0, -9.0])
LOSS = np.arange(12) % 2  # mean 0.5, standard error sqrt(3 / 11 / 12) = 0.15
# Scores, calibration and the choice.
CHOICES = {
    # Losses of 0 and 2 have mean 1 and standard error sqrt(2) / sqrt(2) = 1: the limit.
    "below the limit": ([[0, 0], [1e-6, 1e-6 - 2]], [[-0.2] * 2, [-0.1] * 2], 1),
    "at the limit": ([[0, 0], [0, -2]], [[-0.2] * 2, [-0.1] * 2], 1),
    "above the limit": ([[0, 0], [-1e-6, -1e-6 - 2]], [[-0.2] * 2, [-0.1] * 2], 0),
    "the best is alone": (
        [[-0.9, -0.8, -0.9], [-0.1, -0.2, -0.1], [-0.5, -0.4, -0.5]],
        [[-0.1] * 3, [-0.3] * 3, [-0.2] * 3],
        1,
    ),
    # Folds of very different difficulty do not hide a small but steady loss.
    "splits are paired": ([FOLDS, FOLDS - 0.01], [[-0.2] * 3, [-0.1] * 3], 0),
    "calibration is averaged": ([[0, 0]] * 3, [[-0.1, -0.5], [-0.2, -0.3], [-0.4, -0.2]], 1),
    "ties go to the first": (
        [[-2, -2], [0, 0], [0, 0], [0, 0]],
        [[-0.1] * 2, [-0.3] * 2, [-0.2] * 2, [-0.2] * 2],
        2,
    ),
    "a single split keeps the best": ([[-0.1], [-0.1001]], [[-0.2], [-0.1]], 0),
    "and what ties with it": ([[-0.1], [-0.1]], [[-0.2], [-0.1]], 1),
    "more than ten splits": ([0 * LOSS, -LOSS], [[-0.2] * 12, [-0.1] * 12], 0),
    "within their error": ([0 * LOSS, 0.35 - LOSS], [[-0.2] * 12, [-0.1] * 12], 1),
    "without": ([0 * LOSS, 0.34 - LOSS], [[-0.2] * 12, [-0.1] * 12], 0),
}


@pytest.mark.parametrize("case", CHOICES)
def test_choices(case):
    score, calibration, expected = CHOICES[case]
    results = make_results(score, calibration)
    before = copy.deepcopy(results)
    assert type(RULE(results)) is int
    assert RULE(results) == expected
    for key, values in before.items():
        np.testing.assert_array_equal(results[key], values)


@pytest.mark.parametrize("unit", [1.0, 1e-300, 1e307])
def test_rule_does_not_depend_on_the_unit(unit):
    """Squares of differences neither overflow nor vanish, nor do sums of scores."""
    score = unit * np.array([[-1.0, -2.0, -1.0], [-1.0, -0.5, -9.0], [-9.0, -9.0, -9.0]])
    calibration = unit * np.array([[-3.0] * 3, [-2.0] * 3, [-1.0] * 3])
    with np.errstate(over="ignore"):  # of the mean, which the rule does not look at
        results = make_results(score, calibration)
    assert RULE(results) == 1


@pytest.mark.parametrize("bad", [np.nan, -np.inf, np.inf])
@pytest.mark.parametrize("where", ["score", "calibration"])
def test_incomplete_candidates_are_left_out(bad, where):
    score = np.array([[0.0, 0.0], [-1.0, -1.0], [-2.0, -2.0]])
    calibration = np.array([[-0.1, -0.1], [-0.3, -0.3], [-0.2, -0.2]])
    {"score": score, "calibration": calibration}[where][0, 1] = bad
    assert RULE(make_results(score, calibration)) == 1


def test_results_without_a_choice_are_refused():
    both = make_results([[0.0, 0.0]], [[0.0, 0.0]])
    nothing = make_results([[np.nan, 0.0], [0.0, 0.0]], [[-0.1, -0.1], [np.nan, -0.1]])
    single = {"split0_test_score": np.zeros(1), "mean_test_score": np.zeros(1)}
    for rule, results, message in (
        (RULE, nothing, "No candidate has finite values of 'll' and 'cal'"),
        (("nll", "cal"), both, r"score must be .*\['ll', 'cal'\]; got 'nll'\. Did you mean 'll'"),
        (("ll", "smooth_ece"), both, "calibration must be one of the metrics"),
        (RULE, single, r"\['score'\].*Give both metrics in `scoring`"),
        (RULE, {"mean_test_ll": [0.0], "mean_test_cal": [0.0]}, "must hold the scores of each spl"),
    ):
        rule = calibrated_within_one_se(*rule) if isinstance(rule, tuple) else rule
        with pytest.raises(ValueError, match=message):
            rule(results)
    for name in (None, get_scorer("neg_smooth_ece")):
        with pytest.raises(ValueError, match="score must be the name of a metric"):
            calibrated_within_one_se(name, "cal")
        with pytest.raises(ValueError, match="calibration must be the name of a metric"):
            calibrated_within_one_se("ll", name)


def test_rule_is_a_plain_value():
    assert repr(RULE) == "calibrated_within_one_se('ll', 'cal')"
    assert eval(repr(RULE)) == RULE
    assert pickle.loads(pickle.dumps(RULE)) == RULE
    assert len({RULE, copy.deepcopy(RULE), calibrated_within_one_se("ll", "other")}) == 2
    search = clone(GridSearchCV(GaussianNB(), {}, refit=RULE))
    assert search.refit == RULE


# --------------------------------------------------------------------------- searches


@pytest.fixture(scope="module")
def problem():
    return make_classification(
        n_samples=300, n_features=8, n_informative=5, flip_y=0.15, random_state=0
    )


SCORING = {"ll": "neg_log_loss", "cal": get_scorer("neg_smooth_ece")}


def test_calibration_alone_selects_a_trivial_model(problem):
    """The pitfall: a constant base rate is calibrated and useless."""
    X, y = problem
    candidates = [LogisticRegression(), DummyClassifier(), GaussianNB()]
    pipeline = Pipeline([("model", LogisticRegression())])
    search = GridSearchCV(pipeline, {"model": candidates}, scoring=SCORING, refit="cal", cv=5)
    assert isinstance(search.fit(X, y).best_estimator_["model"], DummyClassifier)
    search = clone(search).set_params(refit=RULE).fit(X, y)
    assert not isinstance(search.best_estimator_["model"], DummyClassifier)
    assert search.best_index_ == RULE(search.cv_results_)
    assert search.predict_proba(X).shape == (len(X), 2)
    assert not hasattr(search, "best_score_")
    # scikit-learn looks the score of a search up by `refit`, whatever that is.
    expected = get_sklearn_scorer("neg_log_loss")(search, X, y)
    assert search.score(X, y) == pytest.approx(expected, rel=1e-12)


# --------------------------------------------------------------------------- pooled predictions


@pytest.fixture(scope="module")
def three_classes():
    X, y = load_iris(return_X_y=True)
    return X + np.random.default_rng(0).normal(size=X.shape), y


class FirstColumn(ClassifierMixin, BaseEstimator):
    """Predicts what the first column of X says."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


class Recorder(FirstColumn):
    """Notes what its fit receives in a list that clones share."""

    seen = ()

    def fit(self, X, y, sample_weight=None, note=None):
        self.seen.append((X[:, 0].copy(), sample_weight, note))
        return super().fit(X, y)


@pytest.fixture
def recorder():
    return type("Recorder", (Recorder,), {"seen": []})()


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def unweighted_gap(y_true, y_proba, *, labels=None):
    """A measure that takes no weights and no options."""
    return abs((y_true == labels[-1]).mean() - y_proba[:, -1].mean())


def predict_by_hand(model, X, y, cv, weight=None):
    """Labels, probabilities and weights of the test rows of all folds."""
    folds = []
    for train, test in cv.split(X, y):
        proba = clone(model).fit(X[train], y[train]).predict_proba(X[test])
        folds.append((y[test], proba, None if weight is None else weight[test]))
    return folds


SPLITTERS = [
    KFold(4, shuffle=True, random_state=0),
    RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0),  # each row twice
    StratifiedShuffleSplit(3, test_size=0.3, random_state=0),  # some rows never
    ShuffleSplit(2, test_size=1, random_state=0),  # a row each
]


@pytest.mark.parametrize("cv", SPLITTERS, ids=lambda cv: type(cv).__name__)
@pytest.mark.parametrize("weighted", [False, True])
def test_pooled_score_equals_a_loop_by_hand(cv, weighted, problem):
    X, y = problem
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    score = pooled_cross_val_score(
        GaussianNB(),
        X,
        y,
        measure="expected_calibration_error",
        sample_weight=weight,
        cv=cv,
        n_bins=7,
    )
    assert isinstance(score, PooledScore)
    folds = predict_by_hand(GaussianNB(), X, y, cv, weight)
    values = [
        expected_calibration_error(y_fold, proba, sample_weight=share, n_bins=7)
        for y_fold, proba, share in folds
    ]
    np.testing.assert_allclose(score.folds, values, rtol=1e-12)
    assert score.fold_mean == pytest.approx(np.mean(values))
    y_all, proba_all = (np.concatenate([fold[i] for fold in folds]) for i in (0, 1))
    weight_all = np.concatenate([fold[2] for fold in folds]) if weighted else None
    assert score.pooled == pytest.approx(
        expected_calibration_error(y_all, proba_all, sample_weight=weight_all, n_bins=7)
    )


@pytest.mark.parametrize("labels", [[False, True], ["no", "yes"], [-1, 1]])
def test_folds_are_those_of_scikit_learn(labels, problem):
    X, y = problem
    name = "squared_kernel_calibration_error"
    y = np.array(labels)[y]
    score = pooled_cross_val_score(GaussianNB(), X, y, measure=name, cv=3)
    expected = cross_val_score(GaussianNB(), X, y, scoring=get_scorer(f"neg_{name}"), cv=3)
    np.testing.assert_allclose(score.folds, -expected, rtol=1e-12)


def test_options_and_callables(three_classes):
    X, y = three_classes
    y = np.array(["a", "b", "c"], dtype=object)[y]
    cv = StratifiedKFold(3)
    folds = predict_by_hand(GaussianNB(), X, y, cv)
    y_all, proba_all = (np.concatenate([fold[i] for fold in folds]) for i in (0, 1))
    for options in ({"reduction": "classwise"}, {"pos_label": "b"}):
        expected = smooth_ece(y_all, proba_all, **options)
        for measure in ("smooth_ece", smooth_ece):
            score = pooled_cross_val_score(GaussianNB(), X, y, measure=measure, cv=cv, **options)
            assert score.pooled == pytest.approx(expected, rel=1e-12)
    gap = pooled_cross_val_score(GaussianNB(), X, y, measure=unweighted_gap, cv=cv)
    assert gap.pooled == pytest.approx(abs((y == "c").mean() - proba_all[:, 2].mean()))


def test_opposite_errors_of_models_cancel():
    """Half of the rows are predicted .25 too low, half .25 too high, at the same predictions."""
    X, y = np.full((80, 1), 0.5), np.repeat([1, 1, 1, 0, 1, 0, 0, 0], 10)
    score = pooled_cross_val_score(FirstColumn(), X, y, measure="smooth_ece", cv=KFold(2))
    np.testing.assert_allclose(score.folds, 0.25, atol=1e-6)
    assert score.pooled == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("names", [np.array(["a", "b", "c"]), np.array([0, 1, 2])])
def test_folds_that_miss_a_class(names, three_classes):
    X, y = three_classes
    X, y = X[:130], y[:130]
    cv = KFold(2)  # the first fold alone has class 0, the second alone class 2
    message = f"GaussianNB was not fitted on, {names.tolist()[::2]}: "
    with pytest.warns(UserWarning, match=re.escape(message)) as record:
        score = pooled_cross_val_score(
            GaussianNB(), X, names[y], measure="expected_calibration_error", cv=cv
        )
    assert len(record) == 1
    assert record[0].filename == __file__
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


def test_the_estimator_is_left_alone_and_other_settings(problem):
    X, y = problem
    model, cv = GaussianNB(), StratifiedKFold(5)
    rows = np.zeros((5, 300), dtype=bool)
    for fold, (_, test) in enumerate(cv.split(X, y)):
        rows[fold, test] = True
    expected = pooled_cross_val_score(model, X, y, measure="smooth_ece")
    assert not hasattr(model, "classes_")
    assert len(expected.folds) == 5
    masks, index = [(~one, one) for one in rows], range(7, 307)
    for data, target, options in (
        (X, y, {"n_jobs": 2}),
        (X, y, {"cv": cv.split(X, y)}),
        (X, y, {"cv": masks}),
        (X.tolist(), y.tolist(), {}),
        (pd.DataFrame(X, index=index), pd.Series(y, index=index), {}),
    ):
        score = pooled_cross_val_score(model, data, target, measure="smooth_ece", **options)
        np.testing.assert_allclose(score.folds, expected.folds, rtol=1e-6)
        assert score.pooled == pytest.approx(expected.pooled, rel=1e-6)


# --------------------------------------------------------------------------- metadata


@pytest.fixture
def first_column(problem):
    y = problem[1]
    rng = np.random.default_rng(5)
    return rng.random((len(y), 1)), y, rng.uniform(0.5, 2, len(y))


@pytest.mark.parametrize("kind", [np.asarray, list, pd.Series])
def test_params_go_to_fit_without_routing(kind, recorder, first_column):
    X, y, weight = first_column
    cv = StratifiedKFold(3)
    options = {"measure": "smooth_ece", "cv": cv}
    params = {"sample_weight": kind(weight), "note": "all"}
    score = pooled_cross_val_score(recorder, X, y, params=params, **options)
    for (rows, share, note), (train, _) in zip(recorder.seen, cv.split(X, y), strict=True):
        np.testing.assert_array_equal(rows, X[train, 0])
        np.testing.assert_array_equal(share, weight[train])
        assert note == "all"
    # Weights of the fit are no weights of the measure, and the other way round.
    assert score.pooled == pytest.approx(smooth_ece(y, X[:, 0]), rel=1e-9)
    recorder.seen.clear()
    score = pooled_cross_val_score(recorder, X, y, sample_weight=kind(weight), **options)
    assert [share for _, share, _ in recorder.seen] == [None] * 3
    assert score.pooled == pytest.approx(smooth_ece(y, X[:, 0], sample_weight=weight), rel=1e-9)


@pytest.mark.usefixtures("routing")
def test_params_go_where_they_are_requested_with_routing(recorder, first_column):
    X, y, weight = first_column
    groups = np.arange(len(y)) % 4
    options = {"measure": "smooth_ece", "cv": GroupKFold(4)}
    params = {"sample_weight": weight, "groups": groups}
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        pooled_cross_val_score(recorder, X, y, params=params, **options)
    recorder.set_fit_request(sample_weight=False)
    with pytest.raises(TypeError, match="sample_weight"):  # as in cross_validate
        pooled_cross_val_score(recorder, X, y, params=params, **options)
    assert recorder.seen == []
    recorder.set_fit_request(sample_weight=True)
    score = pooled_cross_val_score(recorder, X, y, params=params, **options)
    assert len(recorder.seen) == 4
    for rows, share, _ in recorder.seen:
        train = np.flatnonzero(np.isin(X[:, 0], rows))
        assert len(set(groups[train])) == 3
        np.testing.assert_array_equal(share, weight[train])
    assert score.pooled == pytest.approx(smooth_ece(y, X[:, 0]), rel=1e-9)
    score = pooled_cross_val_score(
        recorder, X, y, params={"groups": groups}, sample_weight=weight, **options
    )
    assert score.pooled == pytest.approx(smooth_ece(y, X[:, 0], sample_weight=weight), rel=1e-9)


def test_groups_go_to_the_splitter_without_routing(recorder, first_column):
    X, y, _ = first_column
    params = {"groups": np.arange(len(y)) % 4}
    options = {"measure": "smooth_ece", "cv": LeaveOneGroupOut(), "params": params}
    score = pooled_cross_val_score(recorder, X, y, **options)
    rows = [params["groups"] == k for k in range(4)]
    np.testing.assert_allclose(score.folds, [smooth_ece(y[r], X[r, 0]) for r in rows], rtol=1e-9)
    assert list(params) == ["groups"]


# --------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("model", "options", "error", "message"),
    [
        (GaussianNB(), {"measure": "smoth_ece"}, ValueError, "Did you mean 'smooth_ece'"),
        (GaussianNB(), {"measure": None}, TypeError, "measure must be a function or the name"),
        (GaussianNB(), {"n_bins": 10}, TypeError, "smooth_ece has no option 'n_bins'"),
        (GaussianNB(), {"njobs": 1}, TypeError, "no option 'njobs'.*Did you mean 'n_jobs'"),
        (GaussianNB(), {"labels": [0, 1]}, TypeError, "labels cannot be an option"),
        (GaussianNB(), {"sample_weight": [1]}, ValueError, r"shape \(\d+,\), one weight for each"),
        (GaussianNB(), {"cv": []}, ValueError, "cv must give at least one pair"),
        (GaussianNB(), {"measure": lambda y, p, labels: None}, ValueError, "<lambda> gave None"),
        (GaussianNB(), {"measure": lambda y, p, labels: np.nan}, ValueError, "<lambda> gave nan"),
        (SVC(), {}, ValueError, "which SVC does not have.*CalibratedClassifierCV"),
        (LinearRegression(), {}, ValueError, "LinearRegression is a regressor"),
    ],
)
def test_bad_arguments_of_pooled_scores(model, options, error, message, problem):
    X, y = problem
    with pytest.raises(error, match=message):
        pooled_cross_val_score(model, X, y, **{"measure": "smooth_ece", "cv": 2, **options})


def test_bad_data_of_pooled_scores(problem):
    X, y = problem
    for target, options, message in (
        (None, {}, "requires y to be passed"),
        (y[:-1], {}, "inconsistent numbers of samples"),
        (y + 0.25 * X[:, 0], {}, "continuous"),
        (y, {"measure": unweighted_gap, "sample_weight": y}, "unweighted_gap takes no weights"),
    ):
        with pytest.raises(ValueError, match=message):
            pooled_cross_val_score(GaussianNB(), X, target, **{"measure": "smooth_ece"} | options)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([], r"X and y must hold at least one row; got 0 sample\(s\)"),
        ([0, "a", 0, "a"], "y must hold numbers, booleans or strings, all of one type"),
        (np.array([0, "a", 0.5], dtype=object), "y must hold numbers, booleans or strings"),
        ([0, None, 1, 1], "y must not have missing labels; there is none at row 1"),
        (np.array([0.0, np.nan, 1.0, 1.0]), "Input y contains NaN"),
        ([[0, 1], [1]], "y must hold one label for each row"),
    ],
)
def test_bad_labels_of_pooled_scores(y, message):
    """Labels that NumPy would turn to text, or warn of, are refused by name."""
    with pytest.raises(ValueError, match=message):
        pooled_cross_val_score(DummyClassifier(), np.zeros((len(y), 1)), y, measure="smooth_ece")


def test_numbers_as_objects_are_labels():
    """And a single class everywhere has no error."""
    X, labels = np.zeros((8, 1)), np.array([0, 1] * 4, dtype=object)
    for y in (labels, np.zeros(8)):
        score = pooled_cross_val_score(DummyClassifier(), X, y, measure="smooth_ece", cv=KFold(2))
        assert score.pooled == pytest.approx(0)
