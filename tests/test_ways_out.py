"""Errors of common mistakes name what to pass instead, and the way works."""

import re

import numpy as np
import pytest
import scipy
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_multilabel_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB

from skcal.inference import compare_calibration
from skcal.metrics import smooth_ece
from skcal.model_selection import pooled_cross_val_score
from skcal.recalibration import (
    AutoRecalibration,
    CrossFitProba,
    RecalibratedClassifierCV,
    TemperatureScaling,
    VectorScaling,
)
from skcal.scorers import get_scorer

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 2))
Y = (rng.random(120) < 0.5).astype(int)
PROBA = rng.dirichlet(np.ones(3), (4, 30))
PIXELS = rng.integers(0, 3, (4, 30))
MANY, INDICATOR = make_multilabel_classification(60, n_classes=3, random_state=0)


class Booster:
    """A fitted model of its own library."""

    def predict(self, X):
        return np.full(len(X), 0.5)


class Lists(ClassifierMixin, BaseEstimator):
    """Its predict_proba gives lists of numbers."""

    def fit(self, X, y):
        self.inner_ = GaussianNB().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict_proba(self, X):
        return self.inner_.predict_proba(X).tolist()


def test_groups_of_a_splitter():
    options = {"measure": "smooth_ece", "cv": GroupKFold(3)}
    groups = np.arange(120) % 6
    with pytest.raises(TypeError, match=r"pass params=\{'groups': groups\}"):
        pooled_cross_val_score(GaussianNB(), X, Y, groups=groups, **options)
    assert len(pooled_cross_val_score(GaussianNB(), X, Y, params={"groups": groups}, **options)[2])


def test_logits_of_impossible_classes():
    logits = np.where(PROBA[0] < 0.1, -np.inf, np.log(PROBA[0]))
    classes = [0, 1, 2]
    affine = VectorScaling(input="logits", classes=classes)
    fitted = TemperatureScaling(input="logits", classes=classes)
    with pytest.raises(ValueError, match=r"has -inf. For classes .* or take TemperatureScaling"):
        affine.fit(logits, PIXELS[0])
    with pytest.raises(ValueError, match=r"row \d of X has -inf for \d, its label in y"):
        fitted.fit(logits, PIXELS[0])
    proba = fitted.fit(np.maximum(logits, -1e9), PIXELS[0]).predict_proba(np.maximum(logits, -1e9))
    assert (proba[PROBA[0] < 0.1] < 1e-100).all()
    with pytest.raises(ValueError, match=r"has inf\.$"):
        fitted.fit(-logits, PIXELS[0])


def test_images():
    with pytest.raises(ValueError, match=r"images pass y_true.ravel\(\), and y_proba.ravel\(\) or"):
        smooth_ece(PIXELS, PROBA)
    with pytest.raises(ValueError, match=r"For images pass y_proba.reshape\(-1, n_classes\)"):
        smooth_ece(PIXELS.ravel(), PROBA)
    with pytest.raises(ValueError, match=r"For images pass X.reshape\(-1, n_classes\)"):
        TemperatureScaling().fit(PROBA, PIXELS)
    flat = PIXELS.ravel(), PROBA.reshape(-1, 3)
    assert smooth_ece(*flat) > 0
    TemperatureScaling().fit(*flat[::-1])


def test_probabilities_in_lists():
    found = get_scorer("neg_smooth_ece")(Lists().fit(X, Y), X, Y)
    assert found == get_scorer("neg_smooth_ece")(GaussianNB().fit(X, Y), X, Y)


@pytest.mark.parametrize("wrap", [lambda booster: booster, FrozenEstimator])
@pytest.mark.parametrize(
    "make",
    [
        lambda booster: RecalibratedClassifierCV(booster, TemperatureScaling()),
        lambda booster: RecalibratedClassifierCV(booster, AutoRecalibration()),
        CrossFitProba,
    ],
)
def test_boosters(make, wrap):
    with pytest.raises(ValueError, match=r"estimator must be .*Booster.*such as LGBMClassifier or"):
        make(wrap(Booster())).fit(X, Y)


def test_scores_of_a_booster():
    with pytest.raises(ValueError, match=r"needs predict_proba, which Booster does not have"):
        get_scorer("neg_smooth_ece")(FrozenEstimator(Booster()), X, Y)


@pytest.mark.parametrize(
    ("estimator", "way_out"),
    [
        (RecalibratedClassifierCV(GaussianNB()), r"MultiOutputClassifier\(RecalibratedClassif"),
        (CrossFitProba(LogisticRegression()), r"fit one for each label, on y\[:, k\]"),
    ],
)
def test_several_labels_of_a_row(estimator, way_out):
    with pytest.raises(ValueError, match=r"shape \(60, 3\).*" + way_out):
        estimator.fit(MANY, INDICATOR)
    with pytest.raises(ValueError, match="fit one for each label, on its probabilities and y"):
        TemperatureScaling().fit(np.full((60, 3), 1 / 3), INDICATOR)
    if hasattr(estimator, "predict"):
        fitted = MultiOutputClassifier(estimator).fit(MANY, INDICATOR)
        assert len(fitted.predict_proba(MANY)) == 3


P = rng.uniform(0.01, 0.99, 400)
VECTORS = rng.dirichlet(np.ones(3), 400)
MARGIN = logit(P)
# What stands in place of probabilities, and what makes those of it; the message shows both ways
# where the numbers may be either.
SCALES = {
    "log-odds": (MARGIN, "scipy.special.expit(y_proba)", P),
    "logits": (np.log(VECTORS) + 2, "scipy.special.softmax(y_proba, axis=1)", VECTORS),
    "logarithms": (np.log(P), "numpy.exp(y_proba)", P),
    "log-odds of a rare event": (MARGIN - 6, "scipy.special.expit(y_proba)", expit(MARGIN - 6)),
    "logarithms of rows": (np.log(VECTORS), "numpy.exp(y_proba)", VECTORS),
    "logarithms of 0": (np.where(np.eye(3) == 1, 0, -np.inf), "numpy.exp(y_proba)", np.eye(3)),
    "negative logarithms": (-np.log(VECTORS), "numpy.exp(-y_proba)", VECTORS),
    "odds of rows": (VECTORS / (1 - VECTORS), "y_proba / (1 + y_proba)", VECTORS),
    "per cent": (100 * P, "y_proba / 100", P),
    "per cent of rows": (100 * VECTORS, "y_proba / 100", VECTORS),
    "logitraw of XGBoost": (
        np.column_stack([1 - MARGIN, MARGIN]),
        "scipy.special.expit(y_proba[:, 1])",
        P,
    ),
    "margins of both classes": (
        np.column_stack([-MARGIN, MARGIN]),
        "scipy.special.expit(y_proba[:, 1])",
        P,
    ),
}


def put(values, row, value):
    values = values.copy()
    values[row] = value
    return values


# What no function makes probabilities of, and the end of the message.
NO_SCALE = {
    "indicator": (2 * (P > 0.5) - 1, r"These are labels, -1 and 1; pass the .* of predict_proba\."),
    "code": (put(P, 17, -1), r"-1.0 at row 17\. 1 of 400 values is outside\. .*leave out its rows"),
    "codes": (put(P, [3, 5], 999), r"2 of 400 .* If 999 stands for a missing value, leave out its"),
    "code in rows": (put(VECTORS, 17, -1), "3 of 1200 .* If -1 stands for a missing value"),
    "slips": (put(put(P, 3, 1.5), 7, -0.5), r"1.5 at row 3. 2 of 400 values are outside\.$"),
    "odds": (P / (1 - P), r"values are outside\.$"),
    "negative logarithms": (-np.log(P), r"values are outside\.$"),
    "stars": (1 + np.arange(400) % 5, r"320 of 400 .* whole numbers, as labels and codes are\.$"),
    "linear regression": (1.4 * P - 0.2, r"values are outside\.$"),
    "counts": (3 * P, r"values are outside\.$"),
}


@pytest.mark.parametrize(("given", "remedy", "right"), SCALES.values(), ids=SCALES)
def test_other_scales(given, remedy, right):
    labels = np.arange(len(given)) % (right.ndim + 1)
    with pytest.raises(ValueError, match=re.escape(remedy)):
        smooth_ece(labels, given)
    found = eval(remedy, {"numpy": np, "scipy": scipy, "y_proba": given})
    np.testing.assert_allclose(found, right, rtol=1e-12)


@pytest.mark.parametrize(("given", "message"), NO_SCALE.values(), ids=NO_SCALE)
def test_numbers_that_are_no_probabilities(given, message):
    labels = np.arange(400) % (given.shape[1] if given.ndim == 2 else 2)
    with pytest.raises(ValueError, match=message) as error:
        smooth_ece(labels, given)
    assert not re.search("expit|softmax|exp|/ 100", str(error.value))


def test_tables_that_are_turned_or_of_several_models():
    labels = np.arange(400) % 3
    with pytest.raises(ValueError, match=r"Pass y_proba\.T\.$"):
        smooth_ece(labels, VECTORS.T)
    with pytest.raises(ValueError, match=r"columns sum to 1: take the softmax over axis=1"):
        smooth_ece(labels, scipy.special.softmax(VECTORS, axis=0))
    models = np.column_stack([P, P[::-1]])
    with pytest.raises(ValueError, match="functions that compare models take a dictionary"):
        smooth_ece(labels > 0, models)
    compare_calibration(labels > 0, {"a": P, "b": P[::-1]}, random_state=0, n_resamples=20)


def test_one_vs_rest():
    """Rows that do not sum to 1: divided by their sums, or as logits."""
    labels, raw = np.arange(400) % 3, np.sqrt(VECTORS)
    remedy = "y_proba / y_proba.sum(axis=1, keepdims=True)"
    with pytest.raises(ValueError, match=re.escape(remedy)):
        smooth_ece(labels, raw)
    with pytest.raises(ValueError, match=r"divide the rows by their sums, or .* input='logits'"):
        TemperatureScaling().fit(raw, labels)
    made = eval(remedy, {"y_proba": raw})
    fits = (
        TemperatureScaling().fit(made, labels),
        TemperatureScaling(input="logits").fit(np.log(raw), labels),
    )
    np.testing.assert_allclose(fits[0].temperature_, fits[1].temperature_, rtol=1e-6)
