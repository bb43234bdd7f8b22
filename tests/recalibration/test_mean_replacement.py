"""MeanReplacement: its definition, its one error, and what it does to the measures."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

from skcal.metrics import expected_calibration_error, smooth_ece
from skcal.recalibration import MeanReplacement, TemperatureScaling
from tests.recalibration.family import make_scores


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("input", ["proba", "logits"])
def test_definition(n_classes, input):
    X, y = make_scores(n_classes)
    weights = np.random.default_rng(0).random(len(y))
    accuracy = weights[X.argmax(axis=1) == y].sum() / weights.sum()
    scores = X if input == "proba" else np.log(X) - 4
    recalibrator = MeanReplacement(input=input).fit(scores, y, sample_weight=weights)
    assert recalibrator.accuracy_ == pytest.approx(accuracy, rel=1e-12)
    proba = recalibrator.predict_proba(scores)
    for row, top in zip(proba, X.argmax(axis=1), strict=True):
        expected = np.full(n_classes, (1 - accuracy) / (n_classes - 1))
        expected[top] = accuracy
        np.testing.assert_allclose(row, expected, rtol=1e-12)
    np.testing.assert_array_equal(recalibrator.predict(scores), X.argmax(axis=1))


def test_confidence_is_calibrated_on_the_fitted_rows():
    for n_classes in (2, 4):
        X, y = make_scores(n_classes)
        proba = MeanReplacement().fit(X, y).predict_proba(X)
        assert smooth_ece(y, X, reduction="confidence") > 0.02
        assert smooth_ece(y, proba, reduction="confidence") < 1e-12


def test_ties_go_to_the_first_class():
    X = [[0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [0.6, 0.2, 0.2], [1 / 3, 1 / 3, 1 / 3]]
    recalibrator = MeanReplacement(classes=["a", "b", "c"]).fit(X, ["a", "b", "a", "b"])
    assert recalibrator.accuracy_ == 0.75
    assert list(recalibrator.predict(X)) == ["a", "b", "a", "a"]


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_error_exactly_where_the_accuracy_is_no_better_than_chance(n_classes, weight):
    n_samples = 12 * n_classes
    X = np.tile([0.6] + [0.4 / (n_classes - 1)] * (n_classes - 1), (n_samples, 1))
    for n_right in (0, 11, 12, 13, n_samples - 1):
        y = np.resize(np.arange(1, n_classes), n_samples)
        y[:n_right] = 0
        recalibrator = MeanReplacement(classes="columns")
        arguments = X, y, np.full(n_samples, weight)
        if n_right > 12:
            assert recalibrator.fit(*arguments).accuracy_ == pytest.approx(n_right / n_samples)
            for scores in (X, X.astype(np.float32)):
                assert set(recalibrator.predict(scores)) == {0}
            continue
        numbers = f"{n_right / n_samples:.7g} of the fitted rows", f"= {1 / n_classes:.7g},"
        with pytest.raises(ValueError, match="The predicted class cannot be kept") as error:
            recalibrator.fit(*arguments)
        assert all(re.search(re.escape(number), str(error.value)) for number in numbers)


def test_predicted_class_survives_float32():
    """A lead in accuracy that float32 cannot hold counts as none."""
    X = np.array([[0.4, 0.6], [0.4, 0.6]])
    for lead in (1e-5, 1e-6, 3e-7, 1e-7, 1e-9):
        try:
            recalibrator = MeanReplacement().fit(X, [0, 1], sample_weight=[1.0, 1.0 + lead])
        except ValueError:
            assert lead < 1e-5
        else:
            assert list(recalibrator.predict(X.astype(np.float32))) == [1, 1]


def test_accuracy_of_one_stays_inside():
    X = np.array([[0.9, 0.05, 0.05], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
    recalibrator = MeanReplacement().fit(X, [0, 1, 2])
    assert recalibrator.accuracy_ == 1
    for dtype in (np.float32, np.float64):
        proba = recalibrator.predict_proba(X.astype(dtype))
        assert (proba > 0).all()
        assert (proba.max(axis=1) == np.nextafter(dtype(1), dtype(0))).all()


@pytest.mark.filterwarnings(r"ignore:The y_pr\w+ values do not sum to one")  # rounded in the file
def test_real_network(shared_data):
    """VGG16 on CIFAR-10; ECE and log loss of DEFINITIONS.md, section 6."""
    table = pd.read_csv(shared_data / "cifar10_vgg16_proba.csv.gz")
    X, y = table.filter(regex=r"^p\d$").to_numpy(), table.y_true.to_numpy()
    fitting, rest = slice(None, 5000), slice(5000, None)
    replaced = MeanReplacement().fit(X[fitting], y[fitting]).predict_proba(X[rest])
    assert expected_calibration_error(y[rest], replaced) == pytest.approx(0.0090, abs=5e-5)
    assert log_loss(y[rest], replaced) == pytest.approx(0.3575, abs=5e-5)
    scaled = TemperatureScaling().fit(X[fitting], y[fitting]).predict_proba(X[rest])
    for other in (X[rest], scaled):  # best on calibration of the confidence, worst on proper scores
        for measure in (expected_calibration_error, smooth_ece):
            assert measure(y[rest], replaced) < measure(y[rest], other)
        assert log_loss(y[rest], replaced) > log_loss(y[rest], other)
        brier = [((p - np.eye(10)[y[rest]]) ** 2).sum(axis=1).mean() for p in (replaced, other)]
        assert brier[0] > brier[1]
        np.testing.assert_array_equal(replaced.argmax(axis=1), other.argmax(axis=1))
