"""Hard zeros and ones: what recalibrators on logits read instead, and that it serves."""

import numpy as np
import pytest
import sklearn
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.fixes import parse_version

from skcal.metrics import smooth_ece
from skcal.recalibration import (
    AutoRecalibration,
    BetaCalibration,
    PlattScaling,
    RecalibratedClassifierCV,
    SplineRecalibration,
    TemperatureScaling,
    get_recalibrator,
    get_recalibrator_names,
)
from skcal.streaming import CalibrationSummary
from tests.recalibration.family import LOGIT_CLASSES, both_counts, make, make_scores

EPS = np.finfo(float).eps
every_class = pytest.mark.parametrize("R", LOGIT_CLASSES)


def make_votes(n_classes, n_votes=20, n_samples=300):
    """Shares of votes, many of them 0, and labels."""
    X, y = make_scores(n_classes, n_samples)
    rng = np.random.default_rng(2)
    return np.array([rng.multinomial(n_votes, row / row.sum()) for row in X]) / n_votes, y


def predict_raised(R, X, y, new, floor, **options):
    """Probabilities of new rows where zeros were raised by hand."""
    fitted = make(R, input="logits", **options).fit(np.log(np.maximum(X, floor)), y)
    return fitted.predict_proba(np.log(np.maximum(new, floor)))


@pytest.mark.parametrize("name", get_recalibrator_names())
def test_logits_are_log_odds_also_of_rows_that_are_all_right(name):
    """Where the best temperature is next to 0, other maps do without it."""
    y = np.arange(60) % 2
    z = np.where(y == 1, 1, -1) * np.exp(np.random.default_rng(0).normal(size=60))
    z[:2] = -0.05, 0.05
    new, recalibrator = np.array([-6, -1, 0.3, 3, 8])[:, None], get_recalibrator(name)
    if "random_state" in recalibrator.get_params():
        recalibrator.set_params(random_state=0)
    expected = recalibrator.fit(expit(z)[:, None], y).predict_proba(expit(new))
    found = recalibrator.set_params(input="logits").fit(z[:, None], y).predict_proba(new)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


def test_a_mixture_that_leaves_logits_as_they_are():
    X, y = np.array([[-9.0], [-2], [-0.01], [0.01], [2], [9]] * 9), np.array([0, 0, 0, 1, 1, 1] * 9)
    kept = AutoRecalibration(input="logits", prior_rows=1e12).fit(X, y)
    np.testing.assert_allclose(kept.predict_proba(X)[:, 1], expit(X[:, 0]), rtol=1e-6)


@pytest.mark.parametrize("unit", [1e-103, 1e-200])
def test_logits_that_are_next_to_none(unit):
    X, y = make_scores(2, 60)
    fitted = SplineRecalibration(input="logits").fit(unit * X, y)
    assert np.isfinite(fitted.predict_proba(unit * X)).all()


@every_class
@both_counts
def test_zeros_are_raised_by_the_resolution_of_the_scores_or_as_was_asked(R, n_classes):
    X, y = make_votes(n_classes)
    new = np.vstack([np.eye(n_classes), X[:20]])
    for given, floor in (("auto", 1 / 40), (0.1, 0.1), (1e-300, EPS), (0, EPS)):
        fitted = make(R, min_proba=given).fit(X, y)
        assert fitted.min_proba_ == floor
        found = fitted.predict_proba(new)
        np.testing.assert_allclose(found, predict_raised(R, X, y, new, floor), rtol=0, atol=1e-9)
    weights = np.r_[np.ones(len(X)), 0]
    more, labels = np.vstack([X, [[1e-3, 1 - 1e-3] + [0] * (n_classes - 2)]]), np.r_[y, 0]
    assert make(R).fit(more, labels, weights).min_proba_ == 1 / 40  # weight zero is absence
    assert make(R, input="logits").fit(np.log(np.maximum(X, 0.1)), y).min_proba_ == 0


@every_class
@both_counts
def test_scores_inside_are_fitted_as_they_are(R, n_classes):
    """Zeros of later rows have the floor of all then."""
    X, y = make_scores(n_classes)
    auto, off = make(R).fit(X, y), make(R, min_proba=0).fit(X, y)
    assert auto.min_proba_ == off.min_proba_ == EPS
    new = np.vstack([np.eye(n_classes), X])
    np.testing.assert_array_equal(auto.predict_proba(new), off.predict_proba(new))


@every_class
def test_limits_of_the_floor(R):
    X, y = make_votes(4)
    for value, message in (
        (0.25, "at least 0 and below 0.25; got 0.25"),
        (True, "a number; got True"),
        ("floor", "'auto' or a number; got 'floor'"),
    ):
        with pytest.raises(ValueError, match=f"min_proba must be {message}"):
            make(R, min_proba=value).fit(X, y)
    with pytest.raises(ValueError, match=r"min_proba must be 'auto' or 0 for logits, .* got 0\.01"):
        make(R, min_proba=0.01, input="logits").fit(X, y)


@pytest.mark.parametrize(
    "R", [TemperatureScaling, PlattScaling, BetaCalibration, SplineRecalibration]
)
def test_more_votes_give_a_larger_probability(R):
    X, y = make_votes(2)
    after = make(R).fit(X[:, 1:], y).transform(np.linspace(0, 1, 21)[:, None])
    assert (np.diff(after[:, 0]) > 0).all()


def test_votes_in_one_column_whose_complement_is_rounded():
    X, y = make_votes(2)
    rounded = np.where(X[:, 1:] == 1, np.nextafter(1, 0), X[:, 1:])
    assert (rounded != X[:, 1:]).any()
    expected = TemperatureScaling().fit(X, y)
    found = TemperatureScaling().fit(rounded, y)
    assert found.min_proba_ == expected.min_proba_ == 1 / 40
    np.testing.assert_allclose(found.temperature_, expected.temperature_, rtol=1e-12)


@pytest.mark.parametrize("min_proba", ["auto", 0, 0.1])
def test_votes_in_a_summary(min_proba):
    X, y = make_votes(2)
    recalibrator = TemperatureScaling(min_proba=min_proba)
    found = clone(recalibrator).fit_summary(CalibrationSummary().update(y, X[:, 1]))
    expected = recalibrator.fit(X, y)
    assert found.min_proba_ == pytest.approx(expected.min_proba_, rel=1e-12)
    np.testing.assert_allclose(found.temperature_, expected.temperature_, rtol=1e-8)


def test_floors_of_the_folds_of_a_classifier():
    X, y = make_classification(300, flip_y=0.1, random_state=0)
    model = RecalibratedClassifierCV(KNeighborsClassifier(4), "temperature")
    for recalibrator, floor in (("temperature", 0.125), (TemperatureScaling(min_proba=0.01), 0.01)):
        model.set_params(recalibrator=recalibrator).fit(X, y)
        assert [pair.recalibrator.min_proba_ for pair in model.calibrated_classifiers_] == [
            floor
        ] * 5


def make_problem(n_classes, n_samples):
    """Training, held-out and test rows of classes that overlap."""
    X, y = make_classification(
        n_samples,
        n_features=10,
        n_informative=8,
        n_classes=n_classes,
        n_clusters_per_class=1,
        class_sep=0.8,
        flip_y=0.1,
        random_state=0,
    )
    return zip(np.array_split(X, 3), np.array_split(y, 3), strict=True)


@pytest.mark.parametrize(
    ("classifier", "n_classes"),
    [
        (KNeighborsClassifier(), 2),
        pytest.param(KNeighborsClassifier(), 5, marks=pytest.mark.slow),
        pytest.param(RandomForestClassifier(30, random_state=0), 26, marks=pytest.mark.slow),
    ],
    ids=["neighbors-2", "neighbors-5", "forest-26"],
)
def test_a_temperature_helps_trees_and_neighbors(classifier, n_classes):
    """Without a floor it doubles the error of neighbours; scikit-learn adds 1e-12 to zeros."""
    train, held_out, test = make_problem(n_classes, 6000)
    frozen = FrozenEstimator(classifier.fit(*train))
    ours = RecalibratedClassifierCV(frozen).fit(*held_out)
    others = [RecalibratedClassifierCV(frozen, TemperatureScaling(min_proba=0))]
    if parse_version(sklearn.__version__) >= parse_version("1.8"):
        others.append(CalibratedClassifierCV(frozen, method="temperature"))
    X, y = test
    after = ours.predict_proba(X)
    for other in others:
        harmed = other.fit(*held_out).predict_proba(X)
        assert log_loss(y, after) < log_loss(y, harmed)
        assert smooth_ece(y, after) < smooth_ece(y, harmed)
    assert smooth_ece(y, after) < smooth_ece(y, classifier.predict_proba(X))


def test_a_sigmoid_of_log_odds_of_votes_is_no_worse_than_one_of_votes():
    """By at most 5 %, which it is without a floor."""
    train, held_out, (X, y) = make_problem(5, 6000)
    frozen = FrozenEstimator(KNeighborsClassifier().fit(*train))
    theirs = CalibratedClassifierCV(frozen, method="sigmoid").fit(*held_out)
    losses = [
        log_loss(y, RecalibratedClassifierCV(frozen, r).fit(*held_out).predict_proba(X))
        for r in (PlattScaling(), PlattScaling(min_proba=0))
    ]
    limit = 1.05 * log_loss(y, theirs.predict_proba(X))
    assert losses[0] < limit < losses[1]
