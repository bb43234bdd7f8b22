"""Errors of common mistakes name what to pass instead, and the way works."""

import re

import numpy as np
import pandas as pd
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

from skcal.inference import (
    actual_expected_ratio,
    calibration_test,
    compare_calibration,
    confidence_interval,
    cox_recalibration,
    hosmer_lemeshow_test,
    mean_calibration_test,
    mean_recalibration,
    observed_expected_ratio,
    required_samples,
    spiegelhalter_test,
)
from skcal.metrics import smooth_ece
from skcal.model_selection import pooled_cross_val_score
from skcal.recalibration import (
    AutoRecalibration,
    CrossFitProba,
    IsotonicRecalibration,
    RecalibratedClassifierCV,
    TemperatureScaling,
    VectorScaling,
    get_recalibrator,
)
from skcal.scorers import get_scorer
from skcal.survival import RiskRecalibration, aj_calibration

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


# Texts that are numbers, and what reads them.
TEXTS = {
    "numbers": ([f"{p:.3f}" for p in P], "numpy.asarray(y_proba, dtype=float)"),
    "per cent": (
        [f"{100 * p:.1f} %" for p in P],
        "pandas.Series(y_proba).str.rstrip('% ').astype(float) / 100",
    ),
    "per cent with commas": (
        [f"{100 * p:.1f}%".replace(".", ",") for p in P],
        "pandas.Series(y_proba).str.replace(',', '.').str.rstrip('% ').astype(float) / 100",
    ),
    "decimal commas": (
        [f"{p:.3f}".replace(".", ",") for p in P],
        "pandas.Series(y_proba).str.replace(',', '.').astype(float)",
    ),
}


@pytest.mark.parametrize(("texts", "remedy"), TEXTS.values(), ids=TEXTS)
def test_texts_that_are_numbers(texts, remedy):
    with pytest.raises(ValueError, match="got the text .* at row 0.*" + re.escape(remedy)):
        smooth_ece(np.arange(400) % 2, texts)
    found = eval(remedy, {"numpy": np, "pandas": pd, "y_proba": texts})
    np.testing.assert_allclose(found, P, atol=0.00051)


def test_texts_that_are_no_numbers():
    with pytest.raises(
        ValueError, match=r"got the text 'high' at row 0\. 3 of 4 are no numbers\.$"
    ):
        smooth_ece([0, 1, 1, 0], ["high", "low", "low", "0.5"])


NAMES = {
    "sigmoid": (get_recalibrator, "platt"),
    "logistic": (get_recalibrator, "platt"),
    "default": (get_recalibrator, "auto"),
    "isotonic regression": (get_recalibrator, "isotonic"),
    "TemperatureScaling": (get_recalibrator, "temperature"),
    "ece": (get_scorer, "neg_expected_calibration_error"),
    "smece": (get_scorer, "neg_smooth_ece"),
}


@pytest.mark.parametrize(("name", "get", "right"), [(k, *v) for k, v in NAMES.items()], ids=NAMES)
def test_names_that_others_use(name, get, right):
    with pytest.raises(ValueError, match=f"Did you mean '{right}'"):
        get(name)
    assert callable(get(right)) or get(right).get_params()


def test_names_without_a_likely_one():
    """What nothing stands for is not taken for what is spelled alike."""
    options = {"random_state": 0, "n_resamples": 20}
    for name in ("logistic", "sigmoid", "IsotonicRecalibration"):
        with pytest.raises(ValueError, match=rf"got '{name}'\.$"):
            calibration_test(Y, np.full(120, 0.5), statistic=name, **options)
    with pytest.raises(ValueError, match="Did you mean 'omnibus'"):
        calibration_test(Y, np.full(120, 0.5), statistic="default", **options)


def test_strata_are_clusters():
    with pytest.raises(TypeError, match=r"no option 'strata'.* Rows that belong together are"):
        calibration_test(Y, np.full(120, 0.5), strata=Y)
    with pytest.raises(TypeError, match=r"no option 'strata'.* are given as clusters"):
        confidence_interval(Y, np.full(120, 0.5), strata=Y)


def test_effect_that_is_a_number():
    with pytest.raises(ValueError, match=r"got 0.5. {'intercept': 0.5} shifts log-odds"):
        required_samples(P, effect=0.5, statistic="cox")
    assert required_samples(P, effect={"intercept": 0.5}, statistic="cox").n_samples > 0


def test_parameters_of_a_recalibrator_that_has_only_a_name():
    for given, way_out in [("isotonic", "IsotonicRecalibration"), (None, "AutoRecalibration")]:
        model = RecalibratedClassifierCV(GaussianNB(), given)
        with pytest.raises(ValueError, match=rf"got {given!r}. Set recalibrator={way_out}\(\)"):
            model.set_params(recalibrator__min_proba=0.1)
    model.set_params(recalibrator=IsotonicRecalibration(), recalibrator__min_proba=0.1)
    assert model.set_params(estimator__var_smoothing=1e-6).recalibrator.min_proba == 0.1


def test_counts():
    means = 3 * P
    counts = np.random.default_rng(0).poisson(means)
    for measure, predicted, way_out in [
        (cox_recalibration, means, mean_recalibration),
        (observed_expected_ratio, means, actual_expected_ratio),
        (observed_expected_ratio, P, actual_expected_ratio),
    ]:
        with pytest.raises(ValueError, match=f"Counts and their means go into {way_out.__name__}"):
            measure(counts, predicted)
        way_out(counts, predicted)
    with pytest.raises(ValueError, match=r"outside\.$"):
        cox_recalibration(counts > 1, means)


def test_outcomes_of_one_half():
    draws = np.random.default_rng(0).choice([0, 0.5, 1], 400)
    for test in (calibration_test, spiegelhalter_test, hosmer_lemeshow_test):
        with pytest.raises(ValueError, match="0, 1/2 and 1 go into mean_calibration_test"):
            test(draws, P)
    assert mean_calibration_test(draws, P, random_state=0, n_resamples=20).pvalue <= 1


def test_risks_of_several_kinds_of_events():
    kinds, time = np.arange(120) % 3, np.arange(120) + 1.0
    curves = rng.dirichlet(np.ones(3), (120, 4))[:, :, :2].cumsum(axis=1) / 4
    options = {"cause": 1, "times": [20, 40, 60, 80], "random_state": 0}
    for risk, way in [
        (curves, "risk[:, :, k]"),
        (curves.transpose(0, 2, 1), "risk[:, k, :]"),
        (curves.T, "risk[k, :, :].T"),
    ]:
        with pytest.raises(ValueError, match=re.escape(f"pass those of one: {way}.")):
            aj_calibration(kinds, time, risk, **options)
        aj_calibration(kinds, time, eval(way, {"risk": risk, "k": 0}), **options)


def test_columns_of_several_kinds_of_events():
    kinds, time = np.arange(120) % 3, np.arange(120) + 1.0
    curves = rng.dirichlet(np.ones(3), (120, 4))[:, :, :2].cumsum(axis=1) / 4
    outcomes = np.column_stack([kinds, time])
    model = RiskRecalibration([20, 40, 60, 80], causes=[1, 2])
    for X, way in [
        (curves, "X.transpose(0, 2, 1).reshape(len(X), -1)"),
        (curves.transpose(0, 2, 1), "X.reshape(len(X), -1)"),
    ]:
        with pytest.raises(ValueError, match=re.escape(f"Pass {way}.")):
            model.fit(X, outcomes)
        model.fit(eval(way, {"X": X}), outcomes)


def test_holes_of_multilabel_predictions():
    """Hardly a row would be left without any; every label has rows of its own."""
    proba = np.where(rng.random((60, 3)) < 0.5, np.nan, 0.5)
    with pytest.raises(ValueError, match=r"one label at a time, y_proba\[:, k\], without its rows"):
        smooth_ece(INDICATOR, proba, reduction="multilabel")
    present = ~np.isnan(proba[:, 0])
    smooth_ece(INDICATOR[present, 0], proba[present, 0])
