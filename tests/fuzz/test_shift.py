"""Hostile rows and rates for what adapts to another population."""

import json
import pickle

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from sklearn.model_selection import KFold

from skcal.shift import PriorShift, domain_weights, estimate_performance, estimate_prior
from tests.fuzz import strategies as some
from tests.fuzz.classifiers import Echo
from tests.fuzz.hostile import few, hostile
from tests.fuzz.options import options
from tests.fuzz.test_estimators import predict, scored


@hostile(scored(PriorShift), new=some.problems())
def test_prior_shift(R, X, y, sample_weight, new, **settings):
    model = R(**settings).fit(X, y, sample_weight=sample_weight)
    state = pickle.dumps(model)
    proba = predict(model, X)
    adapted = model.adapt(X, sample_weight=sample_weight)
    assert pickle.dumps(model) == state, "predicting or adapting changed the estimator"
    assert (adapted.prior_ >= 0).all()
    np.testing.assert_allclose(adapted.prior_.sum(), 1)
    again = PriorShift.from_dict(json.loads(json.dumps(adapted.to_dict(), allow_nan=False)))
    np.testing.assert_array_equal(predict(again, X), predict(adapted, X), strict=True)
    return proba, adapted.adapt(new["y_proba"]).prior_


# Rows that tell classes apart, which few hostile ones do.
TELLING = {
    "y_true": np.resize([0, 1, 1], 40),
    "y_proba": np.resize([0.2, 0.9, 0.7, 0.1], 40),
    "sample_weight": None,
    "labels": None,
    "pos_label": None,
    "reduction": "auto",
}


@hostile(
    some.problems() | st.just(TELLING),
    options(estimate_prior),
    new=st.none() | st.none() | some.problems(),
    recalibrator=st.sampled_from([None, None, None, "temperature", "x"]),
)
def test_estimate_prior(new, reduction, **arguments):
    new = arguments if new is None else new
    found = estimate_prior(
        **arguments,
        y_proba_new=new["y_proba"],
        sample_weight_new=new["sample_weight"],
    )
    assert ((found.low <= found.estimate) & (found.estimate <= found.high)).all()
    assert 0 < found.change_test.pvalue <= 1
    assert 0 < found.fit_test.pvalue <= 1
    return found[:3]


@st.composite
def features(draw):
    """Few columns of numbers, and rarely of others, with some rows more or less."""
    shape = draw(st.tuples(st.integers(0, 8), some.mostly([2], [0, 1])))
    entries = st.sampled_from([0.0, 1.0, 0.25, -3.0, 1e300, 5e-324])
    if draw(some.rarely()):
        entries |= st.sampled_from([np.nan, np.inf, "x", None])
    values = draw(st.lists(entries, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    return draw(st.sampled_from([np.array, pd.DataFrame]))(np.array(values).reshape(shape))


@hostile(
    options(domain_weights, random_state=0),
    X_old=features(),
    X_new=features(),
    classifier=st.sampled_from([None, None, Echo(), Echo, "x"]),
    cv=st.sampled_from([2, 3, 3, KFold(2), 1, "x", [([0], [1])]]),
)
def test_domain_weights(**arguments):
    weights = domain_weights(**arguments)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.mean(), 1)
    return weights


@hostile(
    some.problems(),
    options(estimate_performance, n_resamples=3, random_state=0),
    new=st.none() | some.problems(),
    check=st.none() | st.none() | some.problems(),
    recalibrator=st.sampled_from([None, None, "temperature", "isotonic", "x", 1]),
    evidence=st.sampled_from([None, None, [], "x"]),
    amount=few,
)
def test_estimate_performance(new, check, reduction, **arguments):
    new = arguments if new is None else new
    if check is not None:
        arguments |= {f"{name}_check": check[name] for name in ("y_true", "y_proba")}
    found = estimate_performance(
        **arguments,
        y_proba_new=new["y_proba"],
        sample_weight_new=new["sample_weight"],
    )
    assert 0 <= found.share_outside <= 1
    if found.reason is None:
        assert np.all(found.low <= found.high)
        return found[:3]
    assert np.isnan(found[:3]).all()
    return found.share_outside
