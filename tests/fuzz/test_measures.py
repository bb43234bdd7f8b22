"""Hostile rows for all that takes labels and probabilities, and hostile synthetic problems."""

import inspect

import numpy as np
import pytest
from hypothesis import strategies as st

from skcal import datasets, inference, metrics, refinement
from skcal.inference import FeatureRule, make_groups, pool_imputations
from tests.fuzz.hostile import hostile, hostile_calls
from tests.fuzz.options import OPTIONS, options
from tests.fuzz.strategies import (
    DATES,
    NO_PROBABILITIES,
    NO_REALS,
    NO_TEXTS,
    ONE_PROBLEM,
    PROBABILITIES,
    REALS,
    REDUCTIONS,
    TEXTS,
    clusters,
    features,
    groups,
    indicators,
    mostly,
    problems,
    rarely,
    reals,
    tables,
)

FEW = mostly([1, 2], [0, 100])
# Those of test_few_labels.py: coefficients may be unknown.
FEW_LABELS = ("choose_rows", "required_labels", "prediction_powered_calibration")
FEW_LABELS += ("prediction_powered_targets",)
FUNCTIONS = [
    function
    for room in (metrics, refinement, inference)
    for name in room.__all__
    if inspect.isroutine(function := getattr(room, name))
    and "y_proba" in inspect.signature(function).parameters
    and not function.__module__.endswith(FEW_LABELS)
]


@st.composite
def calls(draw, function):
    """Arguments of a function: a problem, some options, and what keeps the call quick."""
    is_inference = function.__module__.startswith(("skcal.inference", "skcal.refinement._recal"))
    parameters = inspect.signature(function).parameters
    if "reduction" in parameters and draw(rarely()):
        problem = draw(indicators())
    else:
        problem = draw(problems(reductions=ONE_PROBLEM if is_inference else REDUCTIONS))
    places = {} if "test_proba" not in parameters else make_test_places(**problem)
    given = problem | places
    found = {name: value for name, value in given.items() if name in parameters}
    if function in (inference.audit_groups, metrics.multicalibration_error):
        found["groups"] = draw(groups(len(problem["y_proba"])))
        found["min_samples"] = draw(FEW)
    if function is inference.audit_features:
        found["X"] = draw(features(len(problem["y_proba"])))
        found |= {"learner": draw(OPTIONS["learner"]), "cv": draw(mostly([2, 3], [1, 99, "x"]))}
    if "clusters" in parameters:
        found["clusters"] = draw(clusters(len(problem["y_proba"])))
    if "risk" in parameters and draw(st.booleans()):
        found["risk"] = draw(reals((len(problem["y_proba"]),), PROBABILITIES, NO_PROBABILITIES))
    if function is inference.pooled_validation:
        if draw(st.booleans()):  # predictions that have log-odds, and outcomes of both kinds
            found |= {
                "y_true": np.resize([0, 1, 1], 40),
                "y_proba": np.resize([0.2, 1e-9, 0.9], 40),
            }
            found |= {"labels": None, "sample_weight": None}
        found["groups"] = np.arange(len(found["y_proba"])) % draw(mostly([2, 4], [1, 3]))
    if function is inference.audit_grades:
        names = draw(clusters(len(problem["y_proba"])))
        found["groups"] = ["A"] * len(problem["y_proba"]) if names is None else names
    if function is inference.hosmer_lemeshow_test and draw(st.booleans()):
        found["groups"] = np.arange(len(problem["y_proba"])) % draw(FEW)
    if function is inference.net_benefit_difference:
        found["baseline"] = draw(st.sampled_from(["all", "none", "x", problem["y_proba"]]))
    if function is inference.compare_calibration:
        found["other"] = problem["y_proba"][::-1]
    return draw(options(function, n_resamples=9, random_state=0)) | found


def make_test_places(y_true, y_proba, labels, **_):
    """Two predictions with as many columns as the rows have, and labels for them."""
    n_columns = np.shape(y_proba)[1] if np.ndim(y_proba) > 1 else 1
    proba = [[0.5] * n_columns, [0.25] + [0.75] * (n_columns - 1)]
    if n_columns > 2:
        proba = [[1 / n_columns] * n_columns, [1.0] + [0.0] * (n_columns - 1)]
    known = list(y_true if labels is None else labels) or [0]
    return {"test_proba": proba, "test_labels": [known[0], known[-1]]}


# What is told of each function but what may not be known, such as slopes, and what is no number.
TOLD = {
    inference.audit_grades: lambda found: found.table.drop(columns=["grade", "light"]),
    inference.choose_update: lambda found: (found.table["log_loss"], found.table["pvalue"][:-1]),
    inference.cox_recalibration: lambda found: found[2:],
    inference.multinomial_recalibration: lambda found: found[2:5],
    inference.pooled_validation: lambda found: found.calibration_in_the_large,
}


def call(function):
    """The function, but for what may not be known."""
    if function not in TOLD:
        return function
    return lambda **arguments: TOLD[function](function(**arguments))


test_hostile_rows = hostile_calls({f.__name__: (call(f), calls(f)) for f in FUNCTIONS})


@hostile(calls(inference.isotonic_band), places=reals((3,), PROBABILITIES, NO_PROBABILITIES))
def test_hostile_places_in_a_band(places, **arguments):
    band = inference.isotonic_band(**arguments)
    return band.evaluate(places), band.find_deviations()


@hostile(options(make_groups, min_samples=1), table=st.integers(0, 6).flatmap(tables))
def test_hostile_tables(table, **arguments):
    found = make_groups(table, **arguments)
    assert (found.to_matrix().sum(axis=0) == found.n_samples).all()
    return found.n_samples


LINES = {"operator": mostly(["=", "!=", ">=", "<"], ["~"])}
KINDS = {
    "numbers": LINES | {"column": st.just("x"), "value": REALS | st.sampled_from([np.nan, "x"])},
    "dates": LINES | {"column": st.just("d"), "value": mostly(["2024-12-29"], ["soon", 3])},
    "durations": LINES | {"column": st.just("x"), "value": st.just("1 days")},
    None: {"operator": mostly(["=", "!="], ["<"]), "column": mostly(["y"], ["x", 3, "?"])}
    | {"value": mostly(["a", "b", "1.0"], [1, None])},
}
CONDITIONS = st.one_of(
    [st.fixed_dictionaries({"kind": st.just(kind)} | parts) for kind, parts in KINDS.items()]
)


@hostile(
    conditions=st.lists(CONDITIONS, min_size=1, max_size=3)
    | st.sampled_from([[], "x", [1], None, [{"column": "x"}]]),
    numbers=st.lists(REALS | NO_REALS, min_size=4, max_size=4),
    texts=st.lists(TEXTS | NO_TEXTS, min_size=4, max_size=4),
    days=st.lists(DATES | st.none(), min_size=4, max_size=4),
)
def test_hostile_rules(conditions, numbers, texts, days):
    rule = FeatureRule(conditions)
    assert FeatureRule(rule.to_list()) == rule
    return rule({"x": numbers, "y": texts, "d": days})


# ---------------------------------------------------------------------------- synthetic problems

NUMBERS = PROBABILITIES | st.sampled_from([-0.5, 0.3, 1e-6, 1e6, 1e7, np.float32(0.1)])
NO_NUMBERS = NO_PROBABILITIES | REALS | st.sampled_from(["x", None, True, [0.1], 1j])
LENGTHS = st.sampled_from([1, 2, 3, 4, 9, 10, 11, np.int8(5), 0, -1, 3.0, True, "x"])
MAKERS = [f for name in datasets.__all__ if inspect.isroutine(f := getattr(datasets, name))]


def make(maker, n_samples, **arguments):
    """Rows of a problem, checked, and its true values."""
    problem = maker(n_samples, **arguments)
    assert len(problem.y_true) == n_samples
    for values in (problem.y_true, problem.y_proba):
        assert ((values >= 0) & (values <= 1)).all()
    assert problem.sample_weight.sum() == pytest.approx(n_samples)
    assert np.isfinite([known.value for known in problem.true_values]).all()
    return problem


@st.composite
def parameters(draw, maker):
    found = {"maker": maker, "random_state": 0, "n_samples": draw(LENGTHS)} | draw(options(maker))
    for name in inspect.signature(maker).parameters:
        if name not in found and name != "population":
            found[name] = draw(NO_NUMBERS if draw(rarely()) else NUMBERS)
    return found


test_hostile_problems = hostile_calls({f.__name__: (make, parameters(f)) for f in MAKERS})


ENDS = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, 2.0, 1e300, 5e-324])


@hostile(
    options(pool_imputations),
    intervals=st.lists(st.tuples(ENDS, ENDS, ENDS).map(sorted), max_size=3)
    | st.sampled_from(["x", None, [[1]], [1, 2], [["a", "b", "c"]] * 2, [[np.nan] * 3] * 2]),
    scale=st.sampled_from(["identity", "identity", "log", "logit", "x", None]),
)
def test_pool_imputations(intervals, **arguments):
    if isinstance(intervals, list) and all(len(np.ravel(one)) == 3 for one in intervals):
        intervals = [(one[1], one[0], one[2]) for one in intervals]
    found = pool_imputations(intervals, **arguments)
    assert found.low <= found.estimate <= found.high
    return found
