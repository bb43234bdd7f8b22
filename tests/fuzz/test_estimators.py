"""Hostile rows for recalibrators: probabilities, or a clear error and an estimator as before."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.hostile import check_call, documented_warnings_ignored
from tests.fuzz.strategies import NO_PROBABILITIES, mostly, problems
from tests.recalibration.family import CLASSES, make

SCORES = [0.0, 1e-300, -5e-324, 1.0, -30.0, 800.0, -1e6, 1e300, -1e308]
LOGITS = st.sampled_from(SCORES) | st.floats(-20, 20)
PENALTY = mostly([0, 5e-324, 1e-3, 1.0, np.finfo(float).max], [-1.0, np.inf, np.nan, "x"])
OPTIONS = {
    "bandwidth": mostly([None, 1e-3, 0.1, np.finfo(float).max], [0.0, 1e-9, np.nan, "x"]),
    "diagonal_penalty": PENALTY,
    "intercept_penalty": PENALTY,
    "loss": mostly(["log", "brier"], ["x"]),
    "min_proba": mostly([0.0, 5e-324, 0.01, np.nextafter(0.5, 0)], [0.5, -1.0, np.nan]),
    "monotone": mostly([True, False], [1]),
    "multiclass": mostly(["one-vs-rest", "top-label"], ["x"]),
    "n_bins": mostly([1, 2, 15, 1000], [0, 2.0, 2**63, None]),
    "n_knots": mostly([2, 6, 100], [1, 2.0, 2**63]),
    "off_diagonal_penalty": PENALTY,
    "parameters": mostly(["abm", "am", "ab"], ["x"]),
    "penalty": PENALTY,
    "ridge": PENALTY,
    "strategy": mostly(["uniform", "quantile"], ["x"]),
    "target_smoothing": mostly([True, False], [0]),
}
# They are drawn for all recalibrators, and have nothing to do with the options of each.
COMMON = {"input", "classes", "random_state"}


@st.composite
def fits(draw):
    """A matrix of scores, labels, weights and options of a recalibrator."""
    problem = draw(problems())
    X = problem["y_proba"]
    kind = draw(st.sampled_from(["proba", "proba", "logits"]))
    if kind == "logits":
        shape = np.shape(X)
        entries = LOGITS | NO_PROBABILITIES if draw(st.integers(0, 9)) == 0 else LOGITS
        size = int(np.prod(shape))
        X = np.resize(np.array(draw(st.lists(entries, min_size=1, max_size=8))), size).reshape(
            shape
        )
    return {
        "X": X,
        "y": problem["y_true"],
        "sample_weight": problem["sample_weight"],
        "input": kind,
        "classes": draw(st.sampled_from([None, None, "columns", problem["labels"]])),
    }


def _fit_and_predict(R):
    def run(X, y, sample_weight, **options):
        with documented_warnings_ignored():
            model = make(R, **options).fit(X, y, sample_weight=sample_weight)
        state = pickle.dumps(model)
        proba = model.predict_proba(X)
        assert ((proba >= 0) & (proba <= 1)).all()
        np.testing.assert_allclose(proba.sum(axis=1, dtype=float), 1, atol=2e-3)
        assert set(model.predict(X)) <= set(model.classes_)
        assert pickle.dumps(model) == state, "predicting changed the estimator"
        interval = model.predict_interval(X) if hasattr(model, "predict_interval") else ()
        return proba.astype(float), model.transform(X).astype(float), interval

    return run


@pytest.mark.parametrize("R", CLASSES, ids=lambda R: R.__name__)
def test_hostile_rows(R):
    names = R().get_params().keys() - COMMON

    @given(
        fits(), st.fixed_dictionaries({}, optional={name: OPTIONS[name] for name in sorted(names)})
    )
    def check(arguments, options):
        check_call(_fit_and_predict(R), arguments | options)

    check()
