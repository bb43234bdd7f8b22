"""Samplers of imbalanced-learn: right inside the classifier, wrong before it."""

import textwrap
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from skcal.metrics import smooth_ece
from skcal.recalibration import (
    CrossFitProba,
    PlattScaling,
    RecalibratedClassifierCV,
    TemperatureScaling,
)

pytest.importorskip("imblearn", reason="the test needs imbalanced-learn")

from imblearn.over_sampling import SMOTE
from imblearn.pipeline import make_pipeline as make_resampled_pipeline
from imblearn.under_sampling import RandomUnderSampler

PAGE = Path(__file__).parents[2] / "doc" / "user_guide" / "recalibration.rst"
# Without smoothed targets the first-order condition of its constant says that the mean of the
# fitted probabilities is the share of the class among the fitted rows.
PLATT = PlattScaling(target_smoothing=False)


@pytest.fixture(scope="module")
def rows():
    """Training and test rows, a tenth of them of the rare class."""
    X, y = make_classification(
        6000, n_features=10, n_informative=5, weights=[0.9], flip_y=0.02, random_state=0
    )
    return X[:2000], y[:2000], X[2000:], y[2000:]


@pytest.mark.parametrize("sampler", [SMOTE(random_state=0), RandomUnderSampler(random_state=0)])
def test_a_sampler_inside_resamples_training_rows_alone(rows, sampler):
    X, y, X_test, _ = rows
    inside = CrossFitProba(make_resampled_pipeline(sampler, GaussianNB()))
    model = make_pipeline(inside, PLATT).fit(X, y)
    fitted = model[-1].predict_proba(clone(inside).fit_transform(X, y))
    np.testing.assert_allclose(fitted[:, 1].mean(), y.mean(), rtol=1e-6)
    members = []
    for train, test in StratifiedKFold(5).split(X, y):
        classifier = GaussianNB().fit(*clone(sampler).fit_resample(X[train], y[train]))
        fitted = clone(PLATT).fit(classifier.predict_proba(X[test]), y[test])
        members.append(fitted.predict_proba(classifier.predict_proba(X_test)))
    model = RecalibratedClassifierCV(inside.estimator, PLATT).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X_test), np.mean(members, axis=0), atol=1e-9)
    # Before it, the recalibrator learns from resampled rows.
    model = make_resampled_pipeline(sampler, CrossFitProba(GaussianNB()), PLATT).fit(X, y)
    scores = CrossFitProba(GaussianNB()).fit_transform(*clone(sampler).fit_resample(X, y))
    np.testing.assert_allclose(model[-1].predict_proba(scores)[:, 1].mean(), 0.5, rtol=1e-6)


def test_the_user_guide(rows):
    """What its examples give is as good, or as bad, as it says."""
    X, y, X_test, y_test = rows
    names = {
        "CrossFitProba": CrossFitProba,
        "GaussianNB": GaussianNB,
        "RecalibratedClassifierCV": RecalibratedClassifierCV,
        "make_pipeline": make_pipeline,
    }
    page = PAGE.read_text(encoding="utf-8")
    section = page[page.index(".. _resampled-classes:") : page.index(".. _zeros-and-ones:")]
    for block in section.split(".. code-block:: python\n")[1:]:
        lines = block.split("\n")
        end = next((k for k, line in enumerate(lines) if line and line[0] != " "), len(lines))
        exec(textwrap.dedent("\n".join(lines[:end])), names)
    models = [names[name] for name in ("resampled", "in_steps", "in_one", "wrong")]
    errors = [smooth_ece(y_test, m.fit(X, y).predict_proba(X_test)) for m in models]
    assert [f"{error:.2f}" for error in errors if f"{error:.2f}" not in section] == []
    unrepaired, in_steps, in_one, wrong = errors
    assert max(in_steps, in_one) < 0.03 < 0.14 < unrepaired < wrong


def test_a_temperature_leaves_the_share_of_predicted_labels_where_it_was(rows):
    X, y, X_test, y_test = rows
    resampled = make_resampled_pipeline(SMOTE(random_state=0), GaussianNB())
    model = make_pipeline(CrossFitProba(resampled), TemperatureScaling()).fit(X, y)
    np.testing.assert_array_equal(model.predict(X_test), clone(resampled).fit(X, y).predict(X_test))
    assert smooth_ece(y_test, model.predict_proba(X_test)) > 0.1
