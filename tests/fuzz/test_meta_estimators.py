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
from tests.fuzz.options import options
from tests.fuzz.strategies import CV, LABEL_SETS, PROBABILITIES, mostly, outcomes, rarely, weights

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
        "cv": draw(CV),
    }


def fit_classifier(estimator, X, y):
    """What a classifier says of labels is not ours."""
    try:
        return estimator.fit(X, y)
    except TypeError as error:
        raise ValueError("the classifier cannot be fitted") from error


def choose_weights(classifier, sample_weight):
    """The other one takes none, and is warned of."""
    is_weighted = classifier == "columns" and sample_weight is not None
    return {"sample_weight": sample_weight} if is_weighted else {}


@given(
    fits(),
    mostly(["default", "isotonic", "bins", "columns"], ["logits", "other", "class", "text"]),
    options(RecalibratedClassifierCV, skip=["estimator"]),
    st.booleans(),
)
def test_hostile_rows_for_a_recalibrated_classifier(rows, recalibrator, settings, frozen):
    def fit_and_predict(X, y, sample_weight, classifier, cv, recalibrator, **settings):
        estimator, recalibrator = CLASSIFIERS[classifier](), RECALIBRATORS[recalibrator]()
        if frozen and classifier != "text":
            estimator = FrozenEstimator(fit_classifier(estimator, X, y))
        model = RecalibratedClassifierCV(estimator, recalibrator=recalibrator, cv=cv, **settings)
        with documented_warnings_ignored():
            model.fit(X, y, **choose_weights(classifier, sample_weight))
        proba = model.predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1, atol=2e-3)
        assert set(model.predict(X)) <= set(model.classes_)
        return proba

    check_call(fit_and_predict, rows | {"recalibrator": recalibrator} | settings)


@given(fits(), options(CrossFitProba, skip=["estimator"]))
def test_hostile_rows_for_out_of_fold_scores(rows, settings):
    def fit_and_transform(X, y, sample_weight, classifier, cv, **settings):
        model = CrossFitProba(CLASSIFIERS[classifier](), cv=cv, **settings)
        weighted = choose_weights(classifier, sample_weight)
        with documented_warnings_ignored():
            scores = model.fit_transform(X, y, **weighted)
            fitted = clone(model).fit(X, y, **weighted)
        assert len(model.get_feature_names_out()) == scores.shape[1]
        transformed = model.transform(X)
        np.testing.assert_array_equal(fitted.transform(X), transformed)
        return scores.astype(float), transformed.astype(float)

    check_call(fit_and_transform, rows | settings)
