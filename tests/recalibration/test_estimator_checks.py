"""scikit-learn's estimator checks in three tiers; see doc/user_guide/estimator_checks.rst."""

import doctest
from pathlib import Path

import pytest
import sklearn
from sklearn.ensemble import StackingClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks
from sklearn.utils.fixes import parse_version

from skcal.recalibration import CrossFitProba, NotClassScoresError
from tests.recalibration.adapter import OnValidScores
from tests.recalibration.family import CLASSES

NAMES = ("recalibrator_checks", "cross_fit_checks", "pipeline_checks")
PAGE = Path(__file__).parents[2] / "doc" / "user_guide" / "estimator_checks.rst"


def read_expected_failures():
    """The dictionaries of expected failures as the user guide shows them."""
    namespace = {}
    for example in doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8")):
        if example.source.split()[0] in ("reason", *NAMES):
            exec(compile(example.source, str(PAGE), "exec"), namespace)
    return namespace


EXPECTED = read_expected_failures()


def with_checks(estimators):
    """parametrize_with_checks, whose generator of cases new versions of pytest deprecate."""
    mark = parametrize_with_checks(estimators)
    names, cases = mark.args
    return pytest.mark.parametrize(names, list(cases), **mark.kwargs)


@pytest.mark.filterwarnings("ignore")  # the checks try deprecated and odd input on purpose
class TestTiers:
    @with_checks(
        [
            CrossFitProba(GaussianNB()),
            *[StackingClassifier([("nb", GaussianNB())], R(), cv=2) for R in CLASSES],
        ]
    )
    def test_on_features(self, estimator, check):
        check(estimator)

    @with_checks(
        [
            *[OnValidScores(R()) for R in CLASSES],
            *[OnValidScores(R(input="logits")) for R in CLASSES],
            *[OnValidScores(R(), one_column=True) for R in CLASSES],
        ]
    )
    def test_on_valid_scores(self, estimator, check):
        check(estimator)

    @pytest.mark.parametrize("recalibrator", [R() for R in CLASSES], ids=str)
    def test_bare_recalibrator_fails_for_one_cause(self, recalibrator):
        results = check_estimator(recalibrator, on_fail=None, on_skip=None)
        failed = [result for result in results if result["status"] == "failed"]
        for result in failed:
            causes = list_causes(result["exception"])
            assert any(isinstance(cause, NotClassScoresError) for cause in causes), result
        assert {result["check_name"] for result in failed} == set(EXPECTED["recalibrator_checks"])
        assert sum(result["status"] == "passed" for result in results) >= 29

    def test_cross_fitting_differs_from_transform(self):
        results = check_estimator(CrossFitProba(), on_fail=None, on_skip=None)
        failed = [result for result in results if result["status"] == "failed"]
        assert {result["check_name"] for result in failed} == set(EXPECTED["cross_fit_checks"])
        for result in failed:
            assert "fit_transform and transform outcomes not consistent" in str(result["exception"])

    @pytest.mark.parametrize("recalibrator", [R() for R in CLASSES], ids=str)
    def test_pipelines(self, recalibrator):
        pipeline = make_pipeline(CrossFitProba(GaussianNB(), cv=2), recalibrator)
        results = check_estimator(pipeline, on_fail=None, on_skip=None)
        failed = [result for result in results if result["status"] == "failed"]
        messages = {result["check_name"]: str(result["exception"]) for result in failed}
        # Old versions of the pipeline vouch for the float type of their first step.
        if "check_transformer_preserve_dtypes" in messages:
            assert "does not preserve dtype" in messages.pop("check_transformer_preserve_dtypes")
            assert parse_version(sklearn.__version__) < parse_version("1.9")
        assert all("steps" in message for message in messages.values())
        assert {*messages, "check_transformer_preserve_dtypes"} == set(EXPECTED["pipeline_checks"])


def list_causes(exception):
    causes = []
    while exception is not None:
        causes.append(exception)
        exception = exception.__cause__ or exception.__context__
    return causes
