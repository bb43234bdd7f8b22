"""Hostile labels, probabilities and weights for scorers and for cross-validated measures."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skcal.metrics import MEASURES, smooth_ece
from skcal.model_selection import calibrated_within_one_se, pooled_cross_val_score
from skcal.scorers import get_scorer, get_scorer_names, make_calibration_scorer
from tests.fuzz.classifiers import Echo
from tests.fuzz.hostile import check_call, documented_warnings_ignored
from tests.fuzz.strategies import (
    LABEL_SETS,
    PROBABILITIES,
    mostly,
    outcomes,
    probabilities,
    rarely,
    weights,
)

OPTIONS = mostly(
    [{}, {"reduction": "confidence"}, {"reduction": "classwise"}],
    [
        {"pos_label": 1},
        {"pos_label": "yes"},
        {"n_bins": 3},
        {"n_bins": 0},
        {"labels": [0, 1]},
        {"no_option": 1},
    ],
)
NAMES = mostly(get_scorer_names(), ["neg_ece", "neg_log_loss", 1])


@st.composite
def scored(draw):
    """A fitted classifier's labels, and rows to score."""
    labels = draw(st.sampled_from([*LABEL_SETS, [0], ["a"]]))
    n_rows = draw(st.integers(0, 6) | st.just(20))
    others = draw(st.sampled_from(LABEL_SETS)) if draw(rarely()) else labels
    return {
        "labels": draw(st.permutations(labels)) if draw(rarely()) else labels,
        "X": draw(probabilities(len(labels), n_rows)),
        "y": draw(outcomes(others, n_rows)),
        "sample_weight": draw(weights(n_rows)),
    }


def score_by_name(name, options, labels, X, y, sample_weight):
    scorer = get_scorer(name, **options)
    with documented_warnings_ignored():
        return scorer(Echo(labels).fit(None, None), X, y, sample_weight=sample_weight)


def score_by_function(options, labels, X, y, sample_weight):
    scorer = make_calibration_scorer(smooth_ece, greater_is_better=True, **options)
    with documented_warnings_ignored():
        return scorer(Echo(labels).fit(None, None), X, y, sample_weight=sample_weight)


@given(scored(), NAMES, OPTIONS)
def test_hostile_rows_for_a_scorer(rows, name, options):
    check_call(score_by_name, rows | {"name": name, "options": options})


@given(scored(), OPTIONS)
def test_hostile_rows_for_a_scorer_of_a_function(rows, options):
    check_call(score_by_function, rows | {"options": options})


SCORES = PROBABILITIES | st.sampled_from([np.nan, -np.inf, np.inf, -1e300, 1e300, -1.7e308])


@st.composite
def results(draw):
    """What a search hands to a rule, some of it incomplete."""
    n_candidates, n_splits = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    found = {}
    scores = st.lists(
        draw(mostly([PROBABILITIES], [SCORES])), min_size=n_candidates, max_size=n_candidates
    )
    for name in ("loss", "error"):
        for split in range(n_splits):
            found[f"split{split}_test_{name}"] = np.array(draw(scores))
        if not draw(rarely()):
            found[f"mean_test_{name}"] = np.array(draw(scores))
    return found


@given(results(), mostly(["loss"], ["los", 1]), st.sampled_from(["error", "loss"]))
def test_hostile_results_of_a_search(cv_results, score, calibration):
    def choose(score, calibration, cv_results):
        return calibrated_within_one_se(score, calibration)(cv_results)

    arguments = {"score": score, "calibration": calibration, "cv_results": cv_results}
    check_call(choose, arguments)


CV = mostly(
    [2, 3],
    [
        None,
        1,
        0,
        "x",
        2.5,
        [],
        [([0, 1, 2], [3])],
        [(np.array([0, 1, 2]), np.array([3])), (np.array([3, 2]), np.array([0, 1]))],
        [(np.array([0, 1]), np.array([], dtype=int))],
        [(np.array([0, 1]), np.array([99]))],
    ],
)


def pool(labels, **arguments):
    estimator = Echo(labels)
    with documented_warnings_ignored():
        return pooled_cross_val_score(estimator, **arguments)


@given(scored(), st.sampled_from([*MEASURES, smooth_ece, "ece"]), CV, OPTIONS, st.data())
def test_hostile_rows_for_cross_validation(rows, measure, cv, options, data):
    drawn = {name: value for name, value in options.items() if name != "labels"}
    if data.draw(st.booleans()):
        rows["labels"] = None
    if isinstance(measure, str) and data.draw(st.booleans()):
        drawn["sample_weight"] = rows["sample_weight"]
    del rows["sample_weight"]
    check_call(pool, rows | {"measure": measure, "cv": cv} | drawn)
