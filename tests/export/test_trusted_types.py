"""Types that saved models may hold: of every room, and nobody else's."""

import inspect

import numpy as np
import pytest
import skops.io
from sklearn.base import BaseEstimator
from sklearn.naive_bayes import GaussianNB

from skcal.export import TRUSTED_TYPES
from skcal.model_selection import AbstainingClassifierCV
from skcal.recalibration import TRUSTED_TYPES as OF_RECALIBRATORS
from skcal.shift import PriorShift
from skcal.survival import RecalibratedSurvivalCV, RiskRecalibration
from tests.public_objects import list_functions_and_classes
from tests.recalibration.family import make_scores
from tests.survival.toy_models import Constant

TIMES = [0.5, 1.0]


def test_every_public_estimator_is_trusted():
    kinds = [kind for kind in list_functions_and_classes().values() if inspect.isclass(kind)]
    estimators = [kind for kind in kinds if issubclass(kind, BaseEstimator)]
    assert len(estimators) > 30
    for kind in estimators:
        assert f"{kind.__module__}.{kind.__qualname__}" in TRUSTED_TYPES
    assert set(OF_RECALIBRATORS) < set(TRUSTED_TYPES)
    assert len(set(TRUSTED_TYPES)) == len(TRUSTED_TYPES)
    assert all(name.startswith("skcal.") for name in TRUSTED_TYPES)


def draw_times():
    rng = np.random.default_rng(0)
    X, end = rng.normal(size=(200, 2)), rng.exponential(2.0, size=200)
    time = rng.exponential(np.exp(-X[:, 0]))
    return X, np.column_stack([time <= end, np.minimum(time, end)])


def fit_abstaining():
    X, y = make_scores(2, 1000)
    return AbstainingClassifierCV(GaussianNB(), at_most=0.4, random_state=0).fit(X, y), X


def fit_shift():
    X, y = make_scores(3, 200)
    return PriorShift([0.2, 0.3, 0.5]).fit(X, y), X


def fit_risks():
    X, y = draw_times()
    risks = -np.expm1(-np.exp(X[:, :1]) * TIMES)
    return RiskRecalibration(TIMES).fit(risks, y), risks


def fit_survival():
    X, y = draw_times()
    return RecalibratedSurvivalCV(Constant(1.5), times=TIMES).fit(X, y), X


@pytest.mark.parametrize("fit", [fit_abstaining, fit_shift, fit_risks, fit_survival])
def test_models_of_other_rooms_come_back_the_same(fit):
    fitted, X = fit()
    data = skops.io.dumps(fitted)
    found = set(skops.io.get_untrusted_types(data=data))
    mine = {f"{kind.__module__}.{kind.__qualname__}" for kind in (Constant,)}
    assert type(fitted).__name__ in " ".join(found)
    assert found - mine <= set(TRUSTED_TYPES)
    again = skops.io.loads(data, trusted=[*TRUSTED_TYPES, *mine])
    for name in ("predict", "transform"):
        if hasattr(fitted, name):
            expected = getattr(fitted, name)(X)
            np.testing.assert_array_equal(getattr(again, name)(X), expected)
