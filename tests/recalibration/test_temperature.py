"""TemperatureScaling: the optimum, published values, agreement with others."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.optimize import minimize_scalar
from scipy.special import softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.utils.fixes import parse_version

from skcal.recalibration import TemperatureScaling
from tests.recalibration.family import make_scores


@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("power", [0.3, 1, 4])
def test_minimises_the_log_loss(n_classes, power):
    X, y = make_scores(n_classes)
    X = X**power + 1e-9  # clear of the clip at 2e-16
    X /= X.sum(axis=1, keepdims=True)
    weights = np.random.default_rng(0).random(len(y))

    def loss(log_temperature):
        scaled = softmax(np.log(X) / np.exp(log_temperature), axis=1)
        return log_loss(y, scaled, sample_weight=weights)

    best = minimize_scalar(loss, bounds=(-5, 5), method="bounded", options={"xatol": 1e-10})
    fitted = TemperatureScaling().fit(X, y, sample_weight=weights).temperature_
    assert np.log(fitted) == pytest.approx(best.x, abs=1e-6)
    assert loss(np.log(fitted)) <= best.fun + 1e-15


@pytest.mark.parametrize("seed", range(6))
def test_minimises_the_brier_score(seed):
    X, y = make_scores(3, 40, seed)
    outcomes = np.eye(3)[y]
    temperatures = np.exp(np.linspace(-4, 6, 2001))
    scores = [
        ((softmax(np.log(X) / t, axis=1) - outcomes) ** 2).sum(axis=1).mean() for t in temperatures
    ]
    fitted = TemperatureScaling(loss="brier").fit(X, y)
    ours = ((fitted.predict_proba(X) - outcomes) ** 2).sum(axis=1).mean()
    assert min(scores) - 1e-5 < ours <= min(scores)


def test_brier_score_and_log_loss_agree_on_a_true_temperature():
    z = np.array([[0.0, 1.0, 2.0], [1.0, -1.0, 0.5]])
    X, y, weights = np.repeat(2.5 * z, 3, axis=0), np.tile([0, 1, 2], 2), softmax(z, axis=1).ravel()
    fitted = TemperatureScaling(input="logits", loss="brier").fit(X, y, sample_weight=weights)
    assert fitted.temperature_ == pytest.approx(2.5, rel=1e-5)
    with pytest.raises(ValueError, match="loss must be one of 'log', 'brier'; got 'mse'"):
        TemperatureScaling(loss="mse").fit([[0.2], [0.8]], [0, 1])


@pytest.mark.parametrize("n_classes", [2, 10])
@pytest.mark.parametrize("power", [0.01, 1, 100])
def test_few_iterations(n_classes, power):
    X, y = make_scores(n_classes)
    assert TemperatureScaling(input="logits").fit(power * np.log(X), y).n_iter_ <= 15


def test_known_temperature_is_found():
    """Labels in the exact proportions of softmax(z), scores z * 2.5: the temperature is 2.5."""
    z = np.array([[0.0, 1.0, 2.0], [1.0, -1.0, 0.5]])
    proba = softmax(z, axis=1)
    X, y, weights = np.repeat(2.5 * z, 3, axis=0), np.tile([0, 1, 2], 2), proba.ravel()
    fitted = TemperatureScaling(input="logits").fit(X, y, sample_weight=weights)
    assert fitted.temperature_ == pytest.approx(2.5, rel=1e-10)
    np.testing.assert_allclose(fitted.predict_proba(2.5 * z), proba, atol=1e-10)


def test_keeps_the_predicted_class():
    X, y = make_scores(5)
    np.testing.assert_array_equal(TemperatureScaling().fit(X, y).predict(X), X.argmax(axis=1))


@pytest.mark.parametrize("scale", [1e-3, 1, 1e3])
def test_optimum_at_the_ends_gives_finite_temperatures(scale):
    z = scale * np.array([[-1.0], [1.0], [-2.0], [3.0]])
    right = TemperatureScaling(input="logits").fit(z, [0, 1, 0, 1])
    assert 0 < right.temperature_ < scale
    np.testing.assert_allclose(right.transform(z).ravel(), [0, 1, 0, 1], atol=1e-9)
    assert (right.predict_proba(z) > 0).all()
    wrong = TemperatureScaling(input="logits").fit(z, [1, 0, 1, 0])
    assert scale < wrong.temperature_ < np.inf
    np.testing.assert_allclose(wrong.transform(z), 0.5, atol=1e-9)


def test_scores_without_information_keep_temperature_one():
    fitted = TemperatureScaling(input="logits").fit(np.full((4, 3), 7.0), [0, 1, 2, 0])
    assert fitted.temperature_ == 1


@pytest.mark.filterwarnings(r"ignore:The y_pr\w+ values do not sum to one")  # rounded in the file
def test_real_network(shared_data):
    """Kumar et al. 2019, VGG16 on CIFAR-10; values of DEFINITIONS.md, section 11."""
    table = pd.read_csv(shared_data / "cifar10_vgg16_proba.csv.gz")
    X, y = table.filter(regex=r"^p\d$").to_numpy(), table.y_true.to_numpy()
    fitted = TemperatureScaling().fit(X, y)
    assert fitted.temperature_ == pytest.approx(1.686309, abs=6e-7)
    assert log_loss(y, fitted.transform(X)) == pytest.approx(0.200574, abs=6e-7)
    fitted = TemperatureScaling().fit(X[:5000], y[:5000])
    assert fitted.temperature_ == pytest.approx(1.735878, abs=6e-7)
    assert log_loss(y[5000:], X[5000:]) == pytest.approx(0.226969, abs=6e-7)
    assert log_loss(y[5000:], fitted.transform(X[5000:])) == pytest.approx(0.183060, abs=6e-7)


@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.8"),
    reason="scikit-learn has temperature scaling since 1.8",
)
def test_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 4)), rng.integers(0, 3, 400)
    X[:, 0] += y
    model = LogisticRegression(C=100).fit(X[:100], y[:100])
    theirs = CalibratedClassifierCV(FrozenEstimator(model), method="temperature").fit(
        X[100:], y[100:]
    )
    ours = TemperatureScaling(input="logits").fit(model.decision_function(X[100:]), y[100:])
    np.testing.assert_allclose(
        ours.transform(model.decision_function(X)), theirs.predict_proba(X), atol=1e-6
    )


def test_subnormal_logits_are_none():
    """Where most differences were, the temperature underflowed and logits were divided by 0."""
    X = np.resize([0, 0, 0, -5e-324, 0, 1], 40)[:, np.newaxis]
    y = np.resize([0, 0, 0, 0, 1, 0], 40)
    found, expected = (
        TemperatureScaling(input="logits").fit(values, y) for values in (X, np.maximum(X, 0))
    )
    assert found.temperature_ == expected.temperature_
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
