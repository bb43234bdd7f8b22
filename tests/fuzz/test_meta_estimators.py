"""Hostile rows for estimators around a classifier: probabilities, or a clear error."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from skcal.recalibration import (
    CrossFitProba,
    HistogramBinning,
    IsotonicRecalibration,
    RecalibratedClassifierCV,
    TemperatureScaling,
)
from tests.fuzz.classifiers import FirstColumns, Hard
from tests.fuzz.hostile import check_call, documented_warnings_ignored
from tests.fuzz.strategies import LABEL_SETS, PROBABILITIES, mostly, outcomes, rarely, weights

RECALIBRATORS = {
    "default": lambda: None,
    "isotonic": lambda: IsotonicRecalibration(min_proba=0.01),
    "bins": lambda: HistogramBinning(n_bins=2),
    "logits": lambda: TemperatureScaling(input="logits"),
    "columns": lambda: TemperatureScaling(classes="columns"),
    "other": lambda: TemperatureScaling(classes=["yes", "no"]),
    "class": lambda: TemperatureScaling,
    "text": lambda: "x",
}
CLASSIFIERS = {"columns": FirstColumns, "hard": Hard, "text": lambda: "x"}
HALVES = [([0, 1, 2], [3, 4]), ([3, 4], [0, 1, 2])]
NO_CV = [1, "x", [], [0, 1], [([0], [1], [2])], [([0, 1, 2, 3], [4, 5])], HALVES]
NO_CV += [[([0, 1], [-1])], [([0, 1], [99])], [([0, 1, 2], []), ([], [0, 1, 2])], [([0.5], "a")]]
ENTRIES = PROBABILITIES | st.sampled_from([-1.0, 2.0, 1e300, np.nan, np.inf])


@st.composite
def features(draw, n_rows):
    """Anything that a classifier might take as X."""
    n_rows = max(n_rows + draw(st.sampled_from([-1, 1])), 0) if draw(rarely()) else n_rows
    values = draw(st.lists(ENTRIES, min_size=1, max_size=8))
    X = np.resize(np.array(values), (n_rows, draw(st.sampled_from([2, 2, 1, 3]))))
    kinds = [np.asarray, pd.DataFrame, csr_matrix, np.ndarray.tolist]
    kinds += [lambda X: X[:, 0], lambda X: X.astype(str), lambda X: X[:, 0].tolist()]
    return draw(st.sampled_from(kinds))(X)


@st.composite
def fits(draw):
    labels = draw(st.sampled_from(LABEL_SETS))
    n_rows = draw(st.sampled_from([12, 20, 6, 5, 2, 1, 0]))
    return {
        "X": draw(features(n_rows)),
        "y": draw(outcomes(labels, n_rows)),
        "sample_weight": draw(weights(n_rows)),
        "classifier": draw(mostly(["columns", "columns", "hard"], ["text"])),
        "cv": draw(mostly([2, 2, 3, None], NO_CV)),
    }


def fit_classifier(estimator, X, y):
    """What a classifier says of labels is not ours."""
    try:
        return estimator.fit(X, y)
    except TypeError as error:
        raise ValueError("the classifier cannot be fitted") from error


@given(
    fits(),
    mostly(["default", "isotonic", "bins", "columns"], ["logits", "other", "class", "text"]),
    mostly(["auto", True, False], ["x"]),
    mostly(["auto", "predict_proba"], ["decision_function", "x"]),
    st.booleans(),
)
def test_hostile_rows_for_a_recalibrated_classifier(
    rows, recalibrator, ensemble, response_method, frozen
):
    def fit_and_predict(X, y, sample_weight, classifier, cv, **options):
        estimator = CLASSIFIERS[classifier]()
        if frozen and classifier != "text":
            estimator = FrozenEstimator(fit_classifier(estimator, X, y))
        options["recalibrator"] = RECALIBRATORS[options["recalibrator"]]()
        model = RecalibratedClassifierCV(estimator, cv=cv, **options)
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
        if classifier == "hard":  # which warns that it takes none
            weighted = {}
        with documented_warnings_ignored():
            model.fit(X, y, **weighted)
        proba = model.predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1, atol=2e-3)
        assert set(model.predict(X)) <= set(model.classes_)
        return proba

    options = {"ensemble": ensemble, "response_method": response_method}
    check_call(fit_and_predict, rows | {"recalibrator": recalibrator} | options)


@given(fits(), mostly(["predict_proba", "decision_function"], ["x"]))
def test_hostile_rows_for_out_of_fold_scores(rows, method):
    def fit_and_transform(X, y, sample_weight, classifier, cv, method):
        model = CrossFitProba(CLASSIFIERS[classifier](), cv=cv, method=method)
        is_weighted = classifier == "columns" and sample_weight is not None
        weighted = {"sample_weight": sample_weight} if is_weighted else {}
        with documented_warnings_ignored():
            scores = model.fit_transform(X, y, **weighted)
            fitted = clone(model).fit(X, y, **weighted)
        assert len(model.get_feature_names_out()) == scores.shape[1]
        transformed = model.transform(X)
        np.testing.assert_array_equal(fitted.transform(X), transformed)
        return scores.astype(float), transformed.astype(float)

    check_call(fit_and_transform, rows | {"method": method})
