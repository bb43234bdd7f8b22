"""Samplers of imbalanced-learn: right inside the classifier, wrong before it."""

import re
import textwrap
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from skcal import recalibration
from skcal.metrics import smooth_ece
from skcal.recalibration import CrossFitProba, RecalibratedClassifierCV, TemperatureScaling

pytest.importorskip("imblearn", reason="the test needs imbalanced-learn")

from imblearn.over_sampling import SMOTE
from imblearn.pipeline import make_pipeline as make_resampled_pipeline
from imblearn.under_sampling import RandomUnderSampler

PAGE = Path(__file__).parents[2] / "doc" / "user_guide" / "recalibration.rst"
# Without smoothed targets the first-order condition of its constant says that the mean of the
# fitted probabilities is the share of the class among the fitted rows.
PLATT = recalibration.PlattScaling(target_smoothing=False)
# A tenth of the rows are of the rare class.
DATA = {"n_features": 10, "n_informative": 5, "weights": [0.9], "flip_y": 0.02, "random_state": 0}
(X, X_TEST), (Y, Y_TEST) = (np.split(rows, [2000]) for rows in make_classification(6000, **DATA))


@pytest.mark.parametrize("sampler", [SMOTE(random_state=0), RandomUnderSampler(random_state=0)])
def test_a_sampler_inside_resamples_training_rows_alone(sampler):
    inside = CrossFitProba(make_resampled_pipeline(sampler, GaussianNB()))
    model = make_pipeline(inside, PLATT).fit(X, Y)
    fitted = model[-1].predict_proba(clone(inside).fit_transform(X, Y))
    np.testing.assert_allclose(fitted[:, 1].mean(), Y.mean(), rtol=1e-6)
    classifiers, scores = [], np.empty((len(Y), 2))
    for train, test in StratifiedKFold(5).split(X, Y):
        classifiers.append(GaussianNB().fit(*clone(sampler).fit_resample(X[train], Y[train])))
        scores[test] = classifiers[-1].predict_proba(X[test])
    fitted = clone(PLATT).fit(scores, Y)
    members = [fitted.predict_proba(one.predict_proba(X_TEST))[:, 1] for one in classifiers]
    expected = expit(np.mean(logit(members), axis=0))
    model = RecalibratedClassifierCV(inside.estimator, PLATT, average="log_odds").fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X_TEST)[:, 1], expected, atol=1e-9)
    # Before it, the recalibrator learns from resampled rows.
    model = make_resampled_pipeline(sampler, CrossFitProba(GaussianNB()), PLATT).fit(X, Y)
    scores = CrossFitProba(GaussianNB()).fit_transform(*clone(sampler).fit_resample(X, Y))
    np.testing.assert_allclose(model[-1].predict_proba(scores)[:, 1].mean(), 0.5, rtol=1e-6)


def test_the_user_guide():
    """What its examples give is as good, or as bad, as it says."""
    names = {**vars(recalibration), "GaussianNB": GaussianNB, "make_pipeline": make_pipeline}
    page = PAGE.read_text(encoding="utf-8")
    section = page[page.index(".. _resampled-classes:") : page.index(".. _zeros-and-ones:")]
    for block in re.findall(r"\.\. code-block:: python\n((?:\n|    .*\n)+)", section):
        exec(textwrap.dedent(block), names)
    models = [names[name] for name in ("resampled", "in_steps", "in_one", "wrong")]
    errors = [smooth_ece(Y_TEST, m.fit(X, Y).predict_proba(X_TEST)) for m in models]
    assert [f"{error:.2f}" for error in errors if f"{error:.2f}" not in section] == []
    unrepaired, in_steps, in_one, wrong = errors
    assert max(in_steps, in_one) < 0.03 < 0.14 < unrepaired < wrong


def test_a_temperature_leaves_the_share_of_predicted_labels_where_it_was():
    resampled = make_resampled_pipeline(SMOTE(random_state=0), GaussianNB())
    model = make_pipeline(CrossFitProba(resampled), TemperatureScaling()).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X_TEST), clone(resampled).fit(X, Y).predict(X_TEST))
    assert smooth_ece(Y_TEST, model.predict_proba(X_TEST)) > 0.1
