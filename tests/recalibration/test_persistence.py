"""Saving: what is fitted comes back the same from every format, and is made of plain types."""

import io
import pickle

import cloudpickle
import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from skcal import recalibration, regression
from skcal._fitting import _group_boosting
from skcal.recalibration import (
    CrossFitProba,
    MulticalibratedClassifierCV,
    RecalibratedClassifierCV,
    TemperatureScaling,
)
from skcal.regression import MulticalibratedRegressorCV
from skcal.streaming import CalibrationSummary
from tests.recalibration.family import NAMES, every_class, make, make_scores, may_harm

pytestmark = may_harm
TRUSTED_TYPES = [*recalibration.TRUSTED_TYPES, *regression.TRUSTED_TYPES]


def check_every_format(fitted, X, trusted=TRUSTED_TYPES):
    file = io.BytesIO()
    joblib.dump(fitted, file)
    file.seek(0)
    for again in (
        pickle.loads(pickle.dumps(fitted)),
        cloudpickle.loads(cloudpickle.dumps(fitted)),
        joblib.load(file),
        skops.io.loads(skops.io.dumps(fitted), trusted=trusted),
    ):
        for name in ("predict_proba", "predict"):
            if hasattr(fitted, name):  # a regressor has the second alone
                expected = getattr(fitted, name)(X)
                np.testing.assert_array_equal(getattr(again, name)(X), expected, strict=True)


@every_class
@pytest.mark.parametrize("n_classes", [pytest.param(2, marks=pytest.mark.slow), 3])
def test_recalibrators_come_back_the_same(R, n_classes):
    X, y = make_scores(n_classes)
    check_every_format(make(R).fit(X, NAMES[y]), X)


def test_composed_models_come_back_the_same():
    X, y = make_scores(3)  # scores are features as good as any
    for model in (
        RecalibratedClassifierCV(GaussianNB(), recalibration.VennAbers(), ensemble=False),
        RecalibratedClassifierCV(LogisticRegression(), TemperatureScaling(input="logits")),
        RecalibratedClassifierCV(FrozenEstimator(GaussianNB().fit(X, y)), ensemble=True),
        make_pipeline(CrossFitProba(GaussianNB()), TemperatureScaling()),
        recalibration.HistogramBinning(multiclass="top-label", strategy="quantile"),
    ):
        check_every_format(model.fit(X, y), X)
    X, y = make_scores(2)
    summary = CalibrationSummary().update(y, X[:, 1])
    check_every_format(recalibration.KernelRecalibration().fit_summary(summary), X)


@pytest.mark.parametrize("method", ["scaling", pytest.param("boosting", marks=pytest.mark.slow)])
def test_corrections_in_groups_come_back_the_same(method, monkeypatch):
    """Types beyond the trusted ones are scikit-learn's: boosted trees, columns of a transformer."""
    monkeypatch.setattr(_group_boosting, "_MAX_ROUNDS", 3)  # skops takes long for many trees
    X, y = make_scores(2, 150)
    X = pd.DataFrame(X, columns=["p", "q"]).assign(group=NAMES[y + np.arange(150) % 3])
    reads = make_column_transformer(("passthrough", ["p"]))
    for kind, inner in (
        (MulticalibratedClassifierCV, GaussianNB()),
        (MulticalibratedRegressorCV, LinearRegression()),
    ):
        fitted = kind(make_pipeline(reads, inner), method=method, cv=2).fit(X, y)
        found = set(skops.io.get_untrusted_types(data=skops.io.dumps(fitted))) - set(TRUSTED_TYPES)
        # Trees of categories hold a check of scikit-learn with its arguments.
        assert all(name.startswith("sklearn.") for name in found - {"functools.partial"}), found
        check_every_format(fitted, X, [*TRUSTED_TYPES, *found])


def list_parts(value):
    """A fitted object of skcal and all that it holds, but for what is inside of other objects."""
    yield value
    parts = value if isinstance(value, list | tuple) else ()
    if type(value).__module__.startswith("skcal.") and not parts:
        parts = vars(value).values()
    for part in parts:
        yield from list_parts(part)


@every_class
def test_fitted_state_is_of_trusted_types(R):
    X, y = make_scores(3)
    for fitted in (make(R).fit(X, y), RecalibratedClassifierCV(GaussianNB(), make(R)).fit(X, y)):
        for part in list_parts(fitted):
            kind = type(part)
            if kind.__module__.startswith("skcal."):
                assert f"{kind.__module__}.{kind.__qualname__}" in TRUSTED_TYPES
            elif isinstance(part, np.ndarray):
                assert part.dtype.kind != "O"
            elif not kind.__module__.startswith("sklearn."):
                assert part is None or isinstance(part, list | str | int | float), kind


@every_class
def test_docstrings_name_the_fields_of_what_is_held(R):
    """Named tuples in fitted attributes have no page of their own."""
    X, y = make_scores(3)
    model = RecalibratedClassifierCV(GaussianNB(), make(R)).fit(X, y)
    holders = [part for part in list_parts(model) if hasattr(part, "get_params")]
    for holder in holders:
        for value in vars(holder).values():
            for part in value if isinstance(value, list) else [value]:
                for field in getattr(part, "_fields", ()):
                    assert f"`{field}`" in type(holder).__doc__, (type(holder), field)


def test_no_type_is_trusted_but_our_own():
    assert all(name.startswith("skcal.") for name in TRUSTED_TYPES)
    model = skops.io.dumps(make_pipeline(CrossFitProba(), TemperatureScaling()))
    assert set(skops.io.get_untrusted_types(data=model)) == {
        f"{kind.__module__}.{kind.__name__}" for kind in (CrossFitProba, TemperatureScaling)
    }


@pytest.mark.filterwarnings("ignore")  # MLflow warns of itself
def test_mlflow_saves_by_skops(tmp_path):
    mlflow = pytest.importorskip("mlflow.sklearn")
    X, y = make_scores(3)
    fitted, path = RecalibratedClassifierCV(GaussianNB()).fit(X, y), str(tmp_path / "model")
    mlflow.save_model(fitted, path, serialization_format="skops", skops_trusted_types=TRUSTED_TYPES)
    again = mlflow.load_model(path)
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X), strict=True)
