"""Scorers as objects that carry weights and requests: routing, copies, equality, names."""

import copy
import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.metrics import check_scoring, log_loss
from sklearn.metrics import get_scorer as get_sklearn_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB

from skcal.metrics import MEASURES, expected_calibration_error, smooth_ece
from skcal.scorers import get_scorer, get_scorer_names, make_calibration_scorer

SKLEARN_VERSION = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
WEIGHTS_REACH_SCORERS = SKLEARN_VERSION >= (1, 7)
UNSET_REQUESTS_ARE_ERRORS = bool(
    get_sklearn_scorer("accuracy").get_metadata_routing().score.requests
)

every_measure = pytest.mark.parametrize("name", list(MEASURES))


@pytest.fixture(scope="module")
def binary():
    return make_classification(
        n_samples=240, n_features=6, n_informative=4, flip_y=0.2, random_state=0
    )


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def unweighted_gap(y_true, y_proba, *, labels=None):
    """A measure that takes no weights and no options."""
    return abs((y_true == labels[-1]).mean() - y_proba[:, -1].mean())


# --------------------------------------------------------------------------- weights


@every_measure
def test_weights_reach_the_measure(name, binary):
    X, y = binary
    weight = np.random.default_rng(0).uniform(0, 4, len(y))
    model = GaussianNB().fit(X, y)
    weighted = get_scorer(f"neg_{name}")(model, X, y, sample_weight=weight)
    proba = model.predict_proba(X)[:, 1]
    expected = -MEASURES[name].function(y, proba, sample_weight=weight)
    assert weighted == pytest.approx(expected, rel=1e-12)
    assert weighted != get_scorer(f"neg_{name}")(model, X, y)


def fold_scores(measure, X, y, weight, cv):
    """Scores of GaussianNB fitted and measured with weights, fold by fold."""
    scores = []
    for train, test in cv.split(X, y):
        model = GaussianNB().fit(X[train], y[train], sample_weight=weight[train])
        scores.append(
            -measure(y[test], model.predict_proba(X[test])[:, 1], sample_weight=weight[test])
        )
    return scores


@pytest.fixture
def weighted_problem(binary):
    X, y = binary
    return X, y, np.random.default_rng(1).uniform(0.1, 3, len(y)), StratifiedKFold(3)


@pytest.mark.skipif(
    not WEIGHTS_REACH_SCORERS, reason="before 1.7 GridSearchCV gives weights to fit alone"
)
def test_grid_search_passes_weights_without_routing(weighted_problem):
    X, y, weight, cv = weighted_problem
    scoring = {"ll": "neg_log_loss", "cal": get_scorer("neg_smooth_ece")}
    search = GridSearchCV(GaussianNB(), {}, scoring=scoring, refit="cal", cv=cv)
    results = search.fit(X, y, sample_weight=weight).cv_results_
    scores = [results[f"split{i}_test_cal"][0] for i in range(3)]
    np.testing.assert_allclose(scores, fold_scores(smooth_ece, X, y, weight, cv), rtol=1e-12)


def test_grid_search_with_weights_runs_in_every_version(weighted_problem):
    X, y, weight, cv = weighted_problem
    scoring = {"ll": "neg_log_loss", "cal": get_scorer("neg_smooth_ece")}
    search = GridSearchCV(GaussianNB(), {}, scoring=scoring, refit="cal", cv=cv)
    search.fit(X, y, sample_weight=weight)
    assert np.isfinite(search.best_score_)


@pytest.mark.skipif(not WEIGHTS_REACH_SCORERS, reason="scikit-learn asks scorers from 1.7 on")
def test_measure_without_weights_is_scored_without_them(weighted_problem):
    X, y, weight, cv = weighted_problem
    scoring = {"gap": make_calibration_scorer(unweighted_gap), "ll": "neg_log_loss"}
    search = GridSearchCV(GaussianNB(), {}, scoring=scoring, refit="gap", cv=cv)
    with pytest.warns(UserWarning, match="gap=.* does not support sample_weight"):
        search.fit(X, y, sample_weight=weight)
    both = check_scoring(scoring=scoring)(search, X, y, sample_weight=weight)
    assert both["gap"] == scoring["gap"](search, X, y)


@pytest.mark.usefixtures("routing")
def test_routing_passes_requested_weights(weighted_problem):
    X, y, weight, cv = weighted_problem
    scoring = {
        "cal": get_scorer("neg_smooth_ece").set_score_request(sample_weight=True),
        "ll": get_sklearn_scorer("neg_log_loss").set_score_request(sample_weight=True),
    }
    model = GaussianNB().set_fit_request(sample_weight=True)
    params = {"sample_weight": weight}
    scores = cross_validate(model, X, y, scoring=scoring, cv=cv, params=params)
    expected = fold_scores(smooth_ece, X, y, weight, cv)
    np.testing.assert_allclose(scores["test_cal"], expected, rtol=1e-12)
    expected = fold_scores(log_loss, X, y, weight, cv)
    np.testing.assert_allclose(scores["test_ll"], expected, rtol=1e-9)
    search = GridSearchCV(model, {}, scoring=scoring, refit="cal", cv=cv)
    search.fit(X, y, sample_weight=weight)
    assert search.best_score_ == pytest.approx(scores["test_cal"].mean(), rel=1e-12)


@pytest.mark.usefixtures("routing")
def test_routing_of_alias_and_refusal(weighted_problem):
    X, y, weight, cv = weighted_problem
    model = GaussianNB().set_fit_request(sample_weight=True)

    def run(request, **params):
        scorer = get_scorer("neg_smooth_ece").set_score_request(sample_weight=request)
        params["sample_weight"] = weight
        return cross_validate(model, X, y, scoring=scorer, cv=cv, params=params)["test_score"]

    both = run(True)
    fit_only = run(False)
    np.testing.assert_array_equal(run("test_weight", test_weight=weight), both)
    np.testing.assert_array_equal(run("test_weight", test_weight=np.ones_like(weight)), fit_only)
    assert not np.array_equal(both, fit_only)


@pytest.mark.skipif(
    not UNSET_REQUESTS_ARE_ERRORS,
    reason="this scikit-learn scores without weights where a scorer has no request",
)
@pytest.mark.usefixtures("routing")
def test_routing_asks_for_an_answer(weighted_problem):
    X, y, weight, cv = weighted_problem
    model = GaussianNB().set_fit_request(sample_weight=True)
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        cross_validate(
            model,
            X,
            y,
            scoring=get_scorer("neg_smooth_ece"),
            cv=cv,
            params={"sample_weight": weight},
            error_score="raise",
        )


@pytest.mark.parametrize("enabled", [False, True])
def test_direct_call(enabled, weighted_problem):
    X, y, weight, _ = weighted_problem
    model = GaussianNB().fit(X, y)
    unweighted = -smooth_ece(y, model.predict_proba(X)[:, 1])
    weighted = -smooth_ece(y, model.predict_proba(X)[:, 1], sample_weight=weight)
    scorer = get_scorer("neg_smooth_ece")
    with sklearn.config_context(enable_metadata_routing=enabled):
        assert scorer(model, X, y) == unweighted
        assert scorer(model, X, y, sample_weight=weight) == weighted


def test_request_needs_routing():
    with pytest.raises(RuntimeError, match="enable_metadata_routing"):
        get_scorer("neg_smooth_ece").set_score_request(sample_weight=True)


# --------------------------------------------------------------------------- objects


def test_scorer_names():
    names = get_scorer_names()
    assert names == sorted(names)
    assert {name.removeprefix("neg_") for name in names} == set(MEASURES)
    for name in names:
        assert get_scorer(name).__name__ == name
    assert make_calibration_scorer(smooth_ece, greater_is_better=True).__name__ == "smooth_ece"


def test_get_scorer_returns_a_fresh_object(routing):
    first = get_scorer("neg_smooth_ece").set_score_request(sample_weight=True)
    second = get_scorer("neg_smooth_ece")
    assert first is not second
    assert first != second
    assert second == get_scorer("neg_smooth_ece")
    assert second != get_scorer("neg_smooth_ece", bandwidth=0.1)
    assert second != get_scorer("neg_maximum_calibration_error")
    assert second != "neg_smooth_ece"
    assert len({second, get_scorer("neg_smooth_ece")}) == 1


def test_repr():
    scorer = get_scorer("neg_expected_calibration_error", n_bins=20, strategy="quantile")
    text = "make_calibration_scorer(expected_calibration_error, n_bins=20, strategy='quantile')"
    assert repr(scorer) == text
    names = {f.__name__: f for f in (make_calibration_scorer, expected_calibration_error)}
    assert eval(text, names) == scorer
    gain = make_calibration_scorer(smooth_ece, greater_is_better=True)
    assert repr(gain) == "make_calibration_scorer(smooth_ece, greater_is_better=True)"
    assert text in repr(GridSearchCV(GaussianNB(), {}, scoring=scorer)).replace("\n", "").replace(
        "  ", ""
    )


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))]
)
def test_copies_keep_everything(duplicate, routing, binary):
    X, y = binary
    model = GaussianNB().fit(X, y)
    scorer = get_scorer("neg_smooth_ece", bandwidth=0.1).set_score_request(sample_weight="w")
    twin = duplicate(scorer)
    assert twin == scorer
    assert twin.__name__ == scorer.__name__
    assert twin(model, X, y) == scorer(model, X, y)


def test_clone_of_a_search_copies_its_scorer():
    search = GridSearchCV(GaussianNB(), {}, scoring=get_scorer("neg_smooth_ece", bandwidth=0.1))
    twin = clone(search)
    assert twin.scoring == search.scoring
    assert twin.scoring is not search.scoring
