"""Hostile rows for recalibrators: probabilities, or a clear error and an estimator as before."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.hostile import check_call, documented_warnings_ignored
from tests.fuzz.options import options
from tests.fuzz.strategies import NO_PROBABILITIES, problems, rarely
from tests.recalibration.family import CLASSES, make

SCORES = [0.0, 1e-300, -5e-324, 1.0, -30.0, 800.0, -1e6, 1e300, -1e308]
LOGITS = st.sampled_from(SCORES) | st.floats(-20, 20)


@st.composite
def fits(draw):
    """A matrix of scores, labels, weights and what they are."""
    problem = draw(problems())
    X, kind = problem["y_proba"], draw(st.sampled_from(["proba", "proba", "logits"]))
    if kind == "logits":
        entries = LOGITS | NO_PROBABILITIES if draw(rarely()) else LOGITS
        X = np.resize(np.array(draw(st.lists(entries, min_size=1, max_size=8))), np.shape(X))
    return {
        "X": X,
        "y": problem["y_true"],
        "sample_weight": problem["sample_weight"],
        "input": kind,
        "classes": draw(st.sampled_from([None, None, "columns", problem["labels"]])),
    }


@pytest.mark.parametrize("R", CLASSES, ids=lambda R: R.__name__)
def test_hostile_rows(R):
    def fit_and_predict(X, y, sample_weight, **settings):
        with documented_warnings_ignored():
            model = make(R, **settings).fit(X, y, sample_weight=sample_weight)
        state = pickle.dumps(model)
        proba = model.predict_proba(X)
        assert ((proba >= 0) & (proba <= 1)).all()
        np.testing.assert_allclose(proba.sum(axis=1, dtype=float), 1, atol=2e-3)
        assert set(model.predict(X)) <= set(model.classes_)
        assert pickle.dumps(model) == state, "predicting changed the estimator"
        interval = model.predict_interval(X) if hasattr(model, "predict_interval") else ()
        return proba.astype(float), model.transform(X).astype(float), interval

    @given(fits(), options(R, skip=["random_state"]))
    def check(arguments, settings):
        check_call(fit_and_predict, arguments | settings)

    check()
