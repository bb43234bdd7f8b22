"""Hostile labels, probabilities and weights for scorers and for cross-validated measures."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from skcal.metrics import MEASURES, smooth_ece
from skcal.model_selection import calibrated_within_one_se, pooled_cross_val_score
from skcal.scorers import get_scorer, make_calibration_scorer
from tests.fuzz.classifiers import Echo
from tests.fuzz.hostile import check_call, documented_warnings_ignored
from tests.fuzz.options import find_values
from tests.fuzz.strategies import (
    CV,
    LABEL_SETS,
    PROBABILITIES,
    SPECIAL_REALS,
    mostly,
    outcomes,
    probabilities,
    rarely,
    weights,
)

SETTINGS = mostly(
    [{}, {"reduction": "confidence"}, {"reduction": "classwise"}],
    [{"pos_label": 1}, {"pos_label": "yes"}, {"n_bins": 3}, {"n_bins": 0}, {"no_option": 1}],
)
NAMES = find_values(get_scorer, "name")


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


@given(scored(), NAMES | st.none(), SETTINGS)
def test_hostile_rows_for_a_scorer(rows, name, settings):
    """By name or, without one, of a function."""

    def score(labels, X, y, sample_weight):
        scorer = get_scorer(name, **settings)
        if name is None:
            scorer = make_calibration_scorer(smooth_ece, greater_is_better=True, **settings)
        with documented_warnings_ignored():
            return scorer(Echo(labels).fit(None, None), X, y, sample_weight=sample_weight)

    check_call(score, rows)


@given(scored(), st.sampled_from([*MEASURES, smooth_ece, "ece"]), CV, SETTINGS, st.data())
def test_hostile_rows_for_cross_validation(rows, measure, cv, settings, data):
    def pool(labels, **arguments):
        with documented_warnings_ignored():
            return pooled_cross_val_score(Echo(labels), **arguments)

    given = dict(settings)
    if data.draw(st.booleans()):
        rows["labels"] = None
    if isinstance(measure, str) and data.draw(st.booleans()):
        given["sample_weight"] = rows["sample_weight"]
    del rows["sample_weight"]
    check_call(pool, rows | {"measure": measure, "cv": cv} | given)


SCORES = PROBABILITIES | st.sampled_from([np.nan, -np.inf, np.inf, *SPECIAL_REALS])


@st.composite
def results(draw):
    """What a search hands to a rule, some of it incomplete."""
    n_candidates, n_splits = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    entries = draw(mostly([PROBABILITIES], [SCORES]))
    scores = st.lists(entries, min_size=n_candidates, max_size=n_candidates).map(np.array)
    found = {}
    for name in ("loss", "error"):
        for split in range(n_splits):
            found[f"split{split}_test_{name}"] = draw(scores)
        if not draw(rarely()):
            found[f"mean_test_{name}"] = draw(scores)
    return found


@given(results(), mostly(["loss"], ["los", 1]), st.sampled_from(["error", "loss"]))
def test_hostile_results_of_a_search(cv_results, score, calibration):
    def choose(score, calibration, cv_results):
        return calibrated_within_one_se(score, calibration)(cv_results)

    arguments = {"score": score, "calibration": calibration, "cv_results": cv_results}
    check_call(choose, arguments)
