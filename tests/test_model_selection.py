"""The refit rule: hand-made results, where the answer is known, and searches of scikit-learn."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    RepeatedStratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from skcal.model_selection import calibrated_within_one_se
from skcal.scorers import calibration_scorers, get_scorer

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


@pytest.mark.parametrize(("shift", "expected"), [(-1e-6, 1), (0.0, 1), (1e-6, 0)])
def test_the_limit_is_one_paired_standard_error(shift, expected):
    """Losses of 0 and 2 have mean 1 and standard error sqrt(2) / sqrt(2) = 1."""
    score = [[0.0, 0.0], [0.0 - shift, -2.0 - shift]]
    assert RULE(make_results(score, [[-0.2, -0.2], [-0.1, -0.1]])) == expected


def test_best_score_wins_where_nothing_else_is_near():
    score = [[-0.9, -0.8, -0.9], [-0.1, -0.2, -0.1], [-0.5, -0.4, -0.5]]
    assert RULE(make_results(score, [[-0.1] * 3, [-0.3] * 3, [-0.2] * 3])) == 1


def test_splits_are_paired():
    """Folds of very different difficulty do not hide a small but steady loss."""
    folds = np.array([-1.0, -5.0, -9.0])
    score = [folds, folds - 0.01]
    calibration = [[-0.2] * 3, [-0.1] * 3]
    unpaired_error = folds.std(ddof=1) / np.sqrt(3)
    assert unpaired_error > 0.01
    assert RULE(make_results(score, calibration)) == 0


def test_calibration_is_averaged_over_splits():
    score = [[0.0, 0.0]] * 3
    calibration = [[-0.1, -0.5], [-0.2, -0.3], [-0.4, -0.2]]
    assert RULE(make_results(score, calibration)) == 1


def test_ties_go_to_the_first_candidate():
    score = [[-2.0, -2.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]]
    calibration = [[-0.1, -0.1], [-0.3, -0.3], [-0.2, -0.2], [-0.2, -0.2]]
    assert RULE(make_results(score, calibration)) == 2


def test_order_of_candidates_does_not_matter():
    rng = np.random.default_rng(0)
    score, calibration = rng.normal(size=(2, 8, 5))
    best = RULE(make_results(score, calibration))
    order = rng.permutation(8)
    assert order[RULE(make_results(score[order], calibration[order]))] == best


def test_single_split_keeps_the_best_score_only():
    assert RULE(make_results([[-0.1], [-0.1001]], [[-0.2], [-0.1]])) == 0
    assert RULE(make_results([[-0.1], [-0.1]], [[-0.2], [-0.1]])) == 1


def test_more_than_ten_splits():
    """Twelve losses of 0 or 1 in turn: mean 0.5, standard error sqrt(3 / 11 / 12) = 0.15."""
    loss = np.arange(12) % 2
    calibration = [[-0.2] * 12, [-0.1] * 12]
    assert RULE(make_results([np.zeros(12), -loss], calibration)) == 0
    assert RULE(make_results([np.zeros(12), 0.35 - loss], calibration)) == 1
    assert RULE(make_results([np.zeros(12), 0.34 - loss], calibration)) == 0


@pytest.mark.parametrize("bad", [np.nan, -np.inf, np.inf])
@pytest.mark.parametrize("where", ["score", "calibration"])
def test_incomplete_candidates_are_left_out(bad, where):
    score = np.array([[0.0, 0.0], [-1.0, -1.0], [-2.0, -2.0]])
    calibration = np.array([[-0.1, -0.1], [-0.3, -0.3], [-0.2, -0.2]])
    {"score": score, "calibration": calibration}[where][0, 1] = bad
    assert RULE(make_results(score, calibration)) == 1


def test_no_complete_candidate_is_an_error():
    with pytest.raises(ValueError, match="No candidate has finite values of 'll' and 'cal'"):
        RULE(make_results([[np.nan, 0.0], [0.0, 0.0]], [[-0.1, -0.1], [np.nan, -0.1]]))


def test_unknown_metrics_are_named():
    results = make_results([[0.0, 0.0]], [[0.0, 0.0]])
    with pytest.raises(
        ValueError, match=r"score must be one of .*\['ll', 'cal'\]; got 'nll'\. Did you mean 'll'"
    ):
        calibrated_within_one_se("nll", "cal")(results)
    with pytest.raises(ValueError, match=r"calibration must be one of the metrics"):
        calibrated_within_one_se("ll", "neg_smooth_ece")(results)
    single = {"split0_test_score": np.zeros(1), "mean_test_score": np.zeros(1)}
    with pytest.raises(ValueError, match=r"\['score'\].*Give both metrics in `scoring`"):
        RULE(single)


@pytest.mark.parametrize("name", [None, get_scorer("neg_smooth_ece")])
def test_metrics_are_names(name):
    with pytest.raises(ValueError, match="score must be the name of a metric"):
        calibrated_within_one_se(name, "cal")
    with pytest.raises(ValueError, match="calibration must be the name of a metric"):
        calibrated_within_one_se("ll", name)


def test_result_is_an_int_and_input_is_unchanged():
    results = make_results([[0.0, 0.0], [0.0, 0.0]], [[-0.2, -0.2], [-0.1, -0.1]])
    before = copy.deepcopy(results)
    assert type(RULE(results)) is int
    for key, values in before.items():
        np.testing.assert_array_equal(results[key], values)


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
    alone = GridSearchCV(pipeline, {"model": candidates}, scoring=SCORING["cal"], cv=5)
    assert isinstance(alone.fit(X, y).best_estimator_["model"], DummyClassifier)
    search = clone(search).set_params(refit=RULE).fit(X, y)
    assert not isinstance(search.best_estimator_["model"], DummyClassifier)
    assert search.best_index_ == RULE(search.cv_results_)
    assert search.predict_proba(X).shape == (len(X), 2)
    assert not hasattr(search, "best_score_")


def test_rule_weighs_calibration(problem):
    """Among neighbours of about the same log loss it may leave the very best one."""
    X, y = problem
    grid = {"n_neighbors": [5, 10, 15, 20, 30, 40, 60, 100]}
    search = GridSearchCV(
        KNeighborsClassifier(), grid, scoring=calibration_scorers(SCORING), refit=RULE, cv=5
    ).fit(X, y)
    results, chosen = search.cv_results_, search.best_index_
    splits = np.array([results[f"split{i}_test_ll"] for i in range(5)])
    loss = splits[:, splits.mean(axis=0).argmax()] - splits[:, chosen]
    assert loss.mean() <= loss.std(ddof=1) / np.sqrt(5)
    best = results["mean_test_ll"].argmax()
    assert results["mean_test_cal"][chosen] >= results["mean_test_cal"][best]


def test_failed_fits_are_left_out(problem):
    X, y = problem
    search = GridSearchCV(
        KNeighborsClassifier(), {"n_neighbors": [-1, 20]}, scoring=SCORING, refit=RULE, cv=3
    )
    with (
        pytest.warns(FitFailedWarning),
        pytest.warns(UserWarning, match="test scores are non-finite"),
    ):
        search.fit(X, y)
    assert search.best_params_ == {"n_neighbors": 20}


@pytest.mark.parametrize(
    "cv",
    [
        RepeatedStratifiedKFold(n_splits=3, n_repeats=4, random_state=0),
        StratifiedShuffleSplit(1, random_state=0),
    ],
)
def test_other_splitters_and_searches(cv, problem):
    X, y = problem
    search = RandomizedSearchCV(
        KNeighborsClassifier(),
        {"n_neighbors": [1, 20, 50]},
        n_iter=3,
        random_state=0,
        scoring=SCORING,
        refit=RULE,
        cv=cv,
    ).fit(X, y)
    assert search.best_params_["n_neighbors"] != 1
    assert search.n_splits_ == cv.get_n_splits()
