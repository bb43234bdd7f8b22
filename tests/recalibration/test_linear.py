"""Temperature, vector, matrix, Dirichlet and structured matrix scaling: optima, limits, peers."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax, softmax
from sklearn.metrics import log_loss

from skcal.recalibration import (
    DirichletCalibration,
    MatrixScaling,
    PlattScaling,
    StructuredMatrixScaling,
    TemperatureScaling,
    VectorScaling,
)
from tests.recalibration.family import make_scores

EYE = np.eye(3)


# ---------------------------------------------------------------------------------- temperature


def test_minimises_the_brier_score():
    X, y = make_scores(3, 40)
    temperatures = np.exp(np.linspace(-4, 6, 2001))
    proba = softmax(np.log(X) / temperatures[:, None, None], axis=2)
    best = ((proba - EYE[y]) ** 2).sum(axis=2).mean(axis=1).min()
    fitted = TemperatureScaling(loss="brier").fit(X, y)
    ours = ((fitted.predict_proba(X) - EYE[y]) ** 2).sum(axis=1).mean()
    assert best - 1e-5 < ours <= best


@pytest.mark.parametrize(("loss", "tolerance"), [("log", 1e-10), ("brier", 1e-5)])
def test_known_temperature_is_found(loss, tolerance):
    """Labels in the exact proportions of softmax(z), scores z * 2.5: the temperature is 2.5."""
    z = np.array([[0.0, 1.0, 2.0], [1.0, -1.0, 0.5]])
    proba = softmax(z, axis=1)
    X, y, weights = np.repeat(2.5 * z, 3, axis=0), np.tile([0, 1, 2], 2), proba.ravel()
    fitted = TemperatureScaling(input="logits", loss=loss).fit(X, y, sample_weight=weights)
    assert fitted.temperature_ == pytest.approx(2.5, rel=tolerance)
    np.testing.assert_allclose(fitted.predict_proba(2.5 * z), proba, atol=tolerance)
    np.testing.assert_array_equal(fitted.predict(2.5 * z), z.argmax(axis=1))


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_optimum_at_the_ends_gives_finite_temperatures(scale):
    z = scale * np.array([[-1.0], [1.0], [-2.0], [3.0]])
    right = TemperatureScaling(input="logits").fit(z, [0, 1, 0, 1])
    assert 0 < right.temperature_ < scale
    np.testing.assert_allclose(right.transform(z).ravel(), [0, 1, 0, 1], atol=1e-9)
    wrong = TemperatureScaling(input="logits").fit(z, [1, 0, 1, 0])
    assert scale < wrong.temperature_ < np.inf
    np.testing.assert_allclose(wrong.transform(z), 0.5, atol=1e-9)


def test_subnormal_logits_are_none():
    """Where most differences were, the temperature underflowed and logits were divided by 0."""
    X = np.resize([0, 0, 0, -5e-324, 0, 1], 40)[:, np.newaxis]
    y = np.resize([0, 0, 0, 0, 1, 0], 40)
    found, expected = (
        TemperatureScaling(input="logits").fit(values, y) for values in (X, np.maximum(X, 0))
    )
    assert found.temperature_ == expected.temperature_
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


# ------------------------------------------------------------------------- a factor for each logit


def off_diagonal(matrix):
    return matrix[~np.eye(len(matrix), dtype=bool)]


# Each with its penalty as a function of matrix, shift and number of rows.
CASES = {
    "vector": (VectorScaling(), lambda W, b, n: 0.0),
    "matrix": (MatrixScaling(ridge=0.03), lambda W, b, n: 0.03 * ((W - EYE) ** 2).sum()),
    "dirichlet": (
        DirichletCalibration(off_diagonal_penalty=0.3, intercept_penalty=0.2),
        lambda W, b, n: 0.3 * (off_diagonal(W) ** 2).mean() + 0.2 * (b**2).mean(),
    ),
    "structured": (
        StructuredMatrixScaling(
            intercept_penalty=2.0, diagonal_penalty=0.5, off_diagonal_penalty=0.7
        ),
        lambda W, b, n: (
            3 / n * (2 * (b**2).sum() + 0.5 * ((np.diag(W) - 1) ** 2).sum())
            + 3 * 2 / n * 0.7 * (off_diagonal(W) ** 2).sum()
        ),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_optimum(case):
    recalibrator, penalise = CASES[case]
    X, y = make_scores(3)
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    recalibrator.fit(X, y, sample_weight=weights)
    logits = np.log(X)
    if case == "structured":
        temperature = TemperatureScaling().fit(X, y, sample_weight=weights).temperature_
        assert recalibrator.temperature_ == pytest.approx(temperature, rel=1e-12)
        logits = logits / temperature
    if case != "dirichlet":
        logits = logits - logits.mean(axis=1, keepdims=True)
    free = EYE == 1 if case == "vector" else np.ones((3, 3), dtype=bool)

    def objective(parameters):
        W = np.zeros((3, 3))
        W[free], b = parameters[:-3], parameters[-3:]
        losses = -log_softmax(logits @ W.T + b, axis=1)[np.arange(len(y)), y]
        return np.average(losses, weights=weights) + penalise(W, b, weights.sum())

    found = np.concatenate([recalibrator.coef_[free], recalibrator.intercept_])
    assert np.linalg.norm(approx_fprime(found, objective, 1e-7)) < 1e-6
    theirs = minimize(objective, np.append(EYE[free], [0, 0, 0]), options={"gtol": 1e-8})
    assert objective(found) <= theirs.fun + 1e-13
    assert recalibrator.intercept_.sum() == pytest.approx(0, abs=1e-12)
    expected = softmax(logits @ recalibrator.coef_.T + recalibrator.intercept_, axis=1)
    np.testing.assert_allclose(recalibrator.predict_proba(X), expected, atol=1e-12)


@pytest.mark.parametrize("R", [VectorScaling, MatrixScaling, DirichletCalibration])
def test_two_classes_without_penalties(R):
    """Vector and matrix scaling are Platt scaling then; Dirichlet calibration is no worse."""
    X, y = make_scores(2)
    names = [name for name in R().get_params() if "penalty" in name or name == "ridge"]
    proba = R(**dict.fromkeys(names, 0)).fit(X, y).predict_proba(X)
    platt = PlattScaling(target_smoothing=False).fit(X, y).predict_proba(X)
    if R is DirichletCalibration:
        assert log_loss(y, proba) <= log_loss(y, platt)
    else:
        np.testing.assert_allclose(proba, platt, atol=1e-9)


PENALTIES = {
    MatrixScaling: ["ridge"],
    DirichletCalibration: ["off_diagonal_penalty", "intercept_penalty"],
    StructuredMatrixScaling: ["intercept_penalty", "diagonal_penalty", "off_diagonal_penalty"],
}


@pytest.mark.parametrize("R", PENALTIES)
def test_large_penalties(R):
    """Twice the largest number overflowed, and fits ended far from their optimum."""
    X, y = make_scores(3)
    for penalty in (1e12, np.finfo(float).max):
        fitted = R(**dict.fromkeys(PENALTIES[R], penalty)).fit(X, y)
        if R is MatrixScaling:
            np.testing.assert_allclose(fitted.coef_, EYE, atol=1e-8)
        elif R is StructuredMatrixScaling:
            expected = TemperatureScaling().fit(X, y).transform(X)
            np.testing.assert_allclose(fitted.transform(X), expected, atol=1e-9)
        else:
            expected = softmax(np.log(X) * np.diag(fitted.coef_), axis=1)
            np.testing.assert_allclose(fitted.transform(X), expected, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1e50])
@pytest.mark.parametrize("R", [VectorScaling, StructuredMatrixScaling])
def test_scale_of_logits_is_no_obstacle(R, scale):
    X, y = make_scores(3, 100)
    logits = np.log(X)
    np.testing.assert_allclose(
        R(input="logits").fit(scale * logits, y).predict_proba(scale * logits),
        R(input="logits").fit(logits, y).predict_proba(logits),
        atol=1e-7,
    )


def test_separable_scores_of_very_different_scales():
    """The fit goes to infinity by small steps, and warned though nothing was left to gain."""
    X = np.resize([0, 0.1, 0, 0, 1e-7, 0], 40)[:, np.newaxis]
    y = (X[:, 0] > 0).astype(int)
    proba = DirichletCalibration().fit(X, y).predict_proba(X)
    assert proba[np.arange(40), y].min() > 1 - 1e-6
