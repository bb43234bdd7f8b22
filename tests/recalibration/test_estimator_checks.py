"""scikit-learn's estimator checks in three tiers; see doc/user_guide/estimator_checks.rst."""

import doctest
from pathlib import Path

import pytest
import sklearn
from sklearn.ensemble import StackingClassifier
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.fixes import parse_version

from skcal import recalibration
from skcal.recalibration import (
    CrossFitProba,
    MulticalibratedClassifierCV,
    NotClassScoresError,
    RecalibratedClassifierCV,
)
from skcal.regression import (
    MulticalibratedRegressorCV,
    NotPredictionsError,
    QuantileRecalibration,
    RecalibratedRegressorCV,
)
from skcal.regression._base_means import MeanRecalibrator
from tests.recalibration.adapter import AllRows, OnValidPredictions, OnValidScores
from tests.recalibration.family import CLASSES, REGRESSION_CLASSES, make

RANDOM = [R for R in CLASSES if get_tags(make(R)).non_deterministic]
STEADY = [R for R in CLASSES if R not in RANDOM]
TWO = [recalibration.TemperatureScaling, recalibration.IsotonicRecalibration]
# One of each base class; the others are slow tests.
FAMILIES = ("HistogramBinning", "TemperatureScaling", "VectorScaling")
PAGE = Path(__file__).parents[2] / "doc" / "user_guide" / "estimator_checks.rst"


def read_expected_failures():
    """The dictionaries of expected failures as the user guide shows them."""
    namespace = {}
    for example in doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8")):
        name = example.source.split()[0]
        if name == "reason" or (name.endswith("_checks") and "check_" in example.source):
            exec(compile(example.source, str(PAGE), "exec"), namespace)
    return namespace


EXPECTED = read_expected_failures()


def for_each(estimators):
    return pytest.mark.parametrize(
        "estimator", estimators, ids=[" ".join(repr(one).split()) for one in estimators]
    )


def run_checks(estimator):
    """All of them: the first that fails raises."""
    check_estimator(estimator, on_skip=None)


def list_failures(estimator, at_least):
    """Names of the failed checks, and their exceptions; `at_least` so many must pass."""
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    assert sum(result["status"] == "passed" for result in results) >= at_least
    failed = [result for result in results if result["status"] == "failed"]
    return {result["check_name"] for result in failed}, [r["exception"] for r in failed]


def list_causes(exception):
    while exception is not None:
        yield exception
        exception = exception.__cause__ or exception.__context__


def behind_a_classifier(R):
    yield RecalibratedClassifierCV(GaussianNB(), make(R), cv=2)
    yield StackingClassifier([("nb", GaussianNB())], make(R), cv=2)


def adapt_otherwise(R):
    return OnValidScores(make(R, input="logits")), OnValidScores(make(R), one_column=True)


@pytest.mark.filterwarnings("ignore")  # the checks try deprecated and odd input on purpose
class TestTiers:
    @for_each(
        [
            CrossFitProba(GaussianNB()),
            RecalibratedRegressorCV(),
            MulticalibratedRegressorCV(cv=2),
            RecalibratedClassifierCV(GaussianNB(), "temperature", cv=2),
        ]
    )
    def test_on_features(self, estimator):
        run_checks(estimator)

    @pytest.mark.slow
    @for_each(
        [
            RecalibratedClassifierCV(),
            MulticalibratedClassifierCV(),
            MulticalibratedClassifierCV(GaussianNB(), features=[0], cv=2),
            MulticalibratedRegressorCV(features=[0], link="identity", cv=2),
            RecalibratedClassifierCV(recalibrator="isotonic"),  # all others: see below
            RecalibratedRegressorCV(GaussianProcessRegressor(), QuantileRecalibration()),
            *(next(behind_a_classifier(R)) for R in RANDOM),
        ]
    )
    def test_on_features_with_other_options(self, estimator):
        run_checks(estimator)

    @pytest.mark.slow
    @for_each([model for R in STEADY for model in behind_a_classifier(R)])
    def test_every_recalibrator_behind_a_classifier(self, estimator):
        run_checks(estimator)

    @for_each([OnValidScores(make(R)) for R in CLASSES if R.__name__ in FAMILIES])
    def test_on_valid_scores(self, estimator):
        run_checks(estimator)

    @pytest.mark.slow
    @for_each(
        [OnValidScores(make(R)) for R in CLASSES if R.__name__ not in FAMILIES]
        + [adapted for R in CLASSES for adapted in adapt_otherwise(R)]
    )
    def test_on_valid_scores_of_others_and_of_other_kinds(self, estimator):
        run_checks(estimator)

    @pytest.mark.parametrize("R", [*TWO, *RANDOM])
    def test_bare_recalibrator_fails_for_one_cause(self, R):
        names, exceptions = list_failures(make(R), at_least=29)
        for exception in exceptions:
            causes = list_causes(exception)
            assert any(isinstance(cause, NotClassScoresError) for cause in causes), exception
        expected = set(EXPECTED["recalibrator_checks"])
        if R in RANDOM:  # the suite leaves these out
            expected -= {*EXPECTED["order_checks"], "check_pipeline_consistency"}
        # Run for TemperatureScaling where scikit-learn and array-api-strict can work together.
        assert names | {"check_array_api_input"} == expected

    @for_each([OnValidPredictions(R()) for R in REGRESSION_CLASSES])
    def test_on_valid_predictions(self, estimator):
        run_checks(estimator)

    @pytest.mark.parametrize("R", REGRESSION_CLASSES)
    def test_bare_recalibrator_of_regressors_fails_for_one_cause(self, R):
        takes_one_dimension = issubclass(R, MeanRecalibrator)  # which check_fit1d forbids
        names, exceptions = list_failures(R(), at_least=25 - takes_one_dimension)
        others = [
            exception
            for exception in exceptions
            if not any(isinstance(cause, NotPredictionsError) for cause in list_causes(exception))
        ]
        if R()._reads == "ensemble":  # as whose members features are read, at a poor score
            assert names == {"check_regressors_train"}
            return
        assert len(others) == takes_one_dimension
        assert ("check_fit1d" in names) == takes_one_dimension
        assert set() < names - {"check_fit1d"} <= set(EXPECTED["regression_checks"])

    @pytest.mark.parametrize("name", EXPECTED["cross_fit_checks"])
    def test_cross_fitting_differs_from_transform(self, name):
        check = getattr(sklearn.utils.estimator_checks, name)
        with pytest.raises(AssertionError, match="fit_transform and transform outcomes not consis"):
            check("CrossFitProba", CrossFitProba(cv=2))

    @pytest.mark.slow
    @pytest.mark.parametrize("R", CLASSES)
    def test_pipelines(self, R):
        splits = 3 if R in RANDOM else AllRows()  # so that transform agrees with fit_transform
        pipeline = make_pipeline(CrossFitProba(GaussianNB(), cv=splits), make(R))
        names, exceptions = list_failures(pipeline, at_least=54)
        expected = set(EXPECTED["pipeline_checks"])
        reasons = ["steps"]
        if parse_version(sklearn.__version__) >= parse_version("1.9"):
            expected.remove("check_transformer_preserve_dtypes")
        else:  # the pipeline vouches for the float type of its first step
            names.add("check_transformer_preserve_dtypes")
            reasons.append("does not preserve dtype")
        if R in RANDOM:
            expected |= set(EXPECTED["order_checks"])
            reasons.append("is not invariant")
        assert names == expected
        for exception in exceptions:
            assert any(reason in str(exception) for reason in reasons)
