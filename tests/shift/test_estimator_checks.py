"""scikit-learn's estimator checks of PriorShift, in the tiers of those of recalibrators."""

import pytest
from sklearn.ensemble import StackingClassifier
from sklearn.naive_bayes import GaussianNB

from skcal.recalibration import NotClassScoresError, RecalibratedClassifierCV
from skcal.shift import PriorShift
from tests.recalibration.adapter import OnValidScores
from tests.recalibration.test_estimator_checks import (
    EXPECTED,
    for_each,
    list_causes,
    list_failures,
    run_checks,
)

pytestmark = pytest.mark.filterwarnings("ignore")  # the checks try odd input on purpose


@for_each([OnValidScores(PriorShift())])
def test_on_valid_scores(estimator):
    run_checks(estimator)


@pytest.mark.slow
@for_each(
    [
        OnValidScores(PriorShift(input="logits")),
        OnValidScores(PriorShift(), one_column=True),
        RecalibratedClassifierCV(GaussianNB(), PriorShift(), cv=2),
        StackingClassifier([("nb", GaussianNB())], PriorShift(), cv=2),
    ]
)
def test_of_other_kinds_and_behind_a_classifier(estimator):
    run_checks(estimator)


def test_bare_object_fails_for_one_cause():
    names, exceptions = list_failures(PriorShift(), at_least=29)
    for exception in exceptions:
        assert any(isinstance(cause, NotClassScoresError) for cause in list_causes(exception))
    assert names | {"check_array_api_input"} == set(EXPECTED["recalibrator_checks"])
