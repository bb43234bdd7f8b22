"""Temperature, vector, matrix, Dirichlet and structured scaling: optima and limits."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import log_loss

from skcal import recalibration
from skcal.recalibration import (
    DirichletCalibration,
    StructuredMatrixScaling,
    StructuredVectorScaling,
    TemperatureScaling,
)
from tests.recalibration import family
from tests.recalibration.family import make_scores

EYE = np.eye(3)


def test_minimises_the_brier_score():
    X, y = make_scores(3, 40)
    temperatures = np.exp(np.linspace(-4, 6, 2001))
    proba = softmax(np.log(X) / temperatures[:, None, None], axis=2)
    best = ((proba - EYE[y]) ** 2).sum(axis=2).mean(axis=1).min()
    fitted = TemperatureScaling(loss="brier").fit(X, y)
    ours = ((fitted.predict_proba(X) - EYE[y]) ** 2).sum(axis=1).mean()
    assert best - 1e-5 < ours <= best


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
    X, y = np.resize([0, 0, 0, -5e-324, 0, 1], (40, 1)), np.resize([0, 0, 0, 0, 1, 0], 40)
    found, expected = (
        TemperatureScaling(input="logits").fit(values, y) for values in (X, np.maximum(X, 0))
    )
    assert found.temperature_ == expected.temperature_
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))


# Options, and the derivative of the penalty by W and b, of n rows of classes with information v.
OFF = 1 - EYE


def draw(b, v):
    return v * (b - np.average(b, weights=v))


OPTIMA = {
    recalibration.VectorScaling: ({}, lambda W, b, n, v: (0 * W, 0 * b)),
    recalibration.MatrixScaling: (
        {"ridge": 0.03},
        lambda W, b, n, v: (0.06 * (W - EYE), 0 * b),
    ),
    DirichletCalibration: (
        {"off_diagonal_penalty": 0.3, "intercept_penalty": 0.2},
        lambda W, b, n, v: (
            2 * 0.3 * OFF * W / 6,
            2 * 0.2 / 3 * draw(b, np.minimum(v, 1) ** 2),
        ),
    ),
    StructuredMatrixScaling: (
        {"intercept_penalty": 2.0, "diagonal_penalty": 0.5, "off_diagonal_penalty": 0.7},
        lambda W, b, n, v: (
            6 / n * (0.5 * EYE * (W - 1) + 2 * 0.7 * OFF * W),
            6 / n * 2 * draw(b, v),
        ),
    ),
    StructuredVectorScaling: (
        {"intercept_penalty": 2.0, "diagonal_penalty": 0.5},
        lambda W, b, n, v: (6 / n * 0.5 * EYE * (W - 1), 6 / n * 2 * draw(b, v)),
    ),
}
DIAGONAL = [recalibration.VectorScaling, StructuredVectorScaling]
STRUCTURED = [StructuredMatrixScaling, StructuredVectorScaling]


SMOOTHED = [(R, True) for R in OPTIMA if family.fit_labels(R)]


@pytest.mark.parametrize(("R", "smoothed"), [*((R, False) for R in OPTIMA), *SMOOTHED])
def test_optimum_is_where_the_convex_loss_is_level(R, smoothed):
    options, differentiate = OPTIMA[R]
    options = options | (family.fit_labels(R) and {"target_smoothing": smoothed})
    X, y = make_scores(3)
    weights = np.random.default_rng(0).integers(0, 4, len(y)) * (1 + 2 * (y == 0))
    targets = EYE
    if smoothed:  # one row of each class more that is missed, by either other class alike
        missed = 1 / (np.bincount(y, weights) + 2)[:, None]
        targets = (1 - missed) * EYE + missed / 2 * OFF
    fitted = R(**options).fit(X, y, sample_weight=weights)
    W, b, logits = fitted.coef_, fitted.intercept_, np.log(X)
    if R in STRUCTURED:
        temperature = TemperatureScaling().fit(X, y, sample_weight=weights).temperature_
        assert fitted.temperature_ == pytest.approx(temperature, rel=1e-12)
        logits = logits / temperature
    if R is not DirichletCalibration:
        logits = logits - logits.mean(axis=1, keepdims=True)
    proba = softmax(logits @ W.T + b, axis=1)
    np.testing.assert_allclose(fitted.predict_proba(X), proba, atol=1e-12)
    residual = (weights / weights.sum())[:, None] * (proba - targets[y])
    n, counts = weights.sum(), np.bincount(y, weights)
    shares = (counts + 20) / (n + 60) if R in STRUCTURED else counts @ targets / n
    by_matrix, by_intercept = differentiate(W, b, n, 4.5 * shares * (1 - shares))
    gradient = residual.T @ logits + by_matrix
    if R in DIAGONAL:
        np.testing.assert_array_equal(W[OFF == 1], 0)
        gradient = gradient[EYE == 1]
    assert np.abs(gradient).max() < 1e-6
    assert np.abs(residual.sum(axis=0) + by_intercept).max() < 1e-6
    assert b.sum() == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("R", [R for R in OPTIMA if R not in STRUCTURED])
@pytest.mark.parametrize("smoothed", [False, True])
def test_two_classes_without_penalties(R, smoothed):
    """Vector and matrix scaling are Platt scaling then; Dirichlet calibration is no worse."""
    X, y = make_scores(2)
    options = family.fit_labels(R) and {"target_smoothing": smoothed}
    proba = R(**dict.fromkeys(OPTIMA[R][0], 0), **options).fit(X, y).predict_proba(X)
    smoothed = smoothed and bool(options)
    platt = recalibration.PlattScaling(target_smoothing=smoothed).fit(X, y).predict_proba(X)
    if R is DirichletCalibration:
        assert log_loss(y, proba) <= log_loss(y, platt)
    else:
        np.testing.assert_allclose(proba, platt, atol=1e-9)


@pytest.mark.parametrize("R", [R for R in OPTIMA if R is not recalibration.VectorScaling])
@pytest.mark.parametrize("penalty", [1e12, np.finfo(float).max])
def test_large_penalties(R, penalty):
    """Twice the largest number overflowed, and fits ended far from their optimum."""
    X, y = make_scores(3)
    fitted = R(**dict.fromkeys(OPTIMA[R][0], penalty)).fit(X, y)
    if R is recalibration.MatrixScaling:
        np.testing.assert_allclose(fitted.coef_, EYE, atol=1e-8)
        return
    expected = softmax(np.log(X) * np.diag(fitted.coef_), axis=1)
    if R in STRUCTURED:
        expected = TemperatureScaling().fit(X, y).transform(X)
    np.testing.assert_allclose(fitted.transform(X), expected, atol=1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1e50])
@pytest.mark.parametrize("R", [recalibration.VectorScaling, *STRUCTURED])
def test_scale_of_logits_is_no_obstacle(R, scale):
    X, y = make_scores(3, 100)
    found, expected = (
        R(input="logits").fit(z, y).predict_proba(z) for z in (scale * np.log(X), np.log(X))
    )
    np.testing.assert_allclose(found, expected, atol=1e-7)


@pytest.mark.parametrize("n_classes", [3, 25])
def test_structured_vector_is_the_matrix_without_what_is_off_the_diagonal(n_classes):
    """25 classes have too many coefficients for the Hessian of the matrix to be formed."""
    X, y = make_scores(n_classes, 400)
    options = {"intercept_penalty": 0.7, "diagonal_penalty": 0.2, "classes": "columns"}
    vector = StructuredVectorScaling(**options).fit(X, y)
    matrix = StructuredMatrixScaling(off_diagonal_penalty=1e12, **options).fit(X, y)
    assert vector.temperature_ == matrix.temperature_
    np.testing.assert_allclose(vector.coef_, matrix.coef_, atol=1e-6)
    np.testing.assert_allclose(vector.intercept_, matrix.intercept_, atol=1e-6)
    assert np.ptp(np.diag(vector.coef_)) > 1e-3


def test_structured_vector_without_penalties_is_vector_scaling():
    X, y = make_scores(4)
    found = StructuredVectorScaling(intercept_penalty=0, diagonal_penalty=0).fit(X, y)
    expected = recalibration.VectorScaling(target_smoothing=False).fit(X, y)
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-7)


@pytest.mark.parametrize("R", STRUCTURED)
def test_penalties_keep_separable_classes_finite(R):
    """A temperature near 0 makes the first step, after which little is left to penalise."""
    y = np.tile(np.arange(3), 20)
    X = 0.7 * EYE[y] + 0.1
    fitted = R().fit(X, y)
    assert np.abs(fitted.coef_).max() < 10
    assert np.abs(fitted.intercept_).max() < 10
    assert (fitted.predict(X) == y).all()


def test_separable_scores_of_very_different_scales():
    """The fit goes to infinity by small steps, and warned though nothing was left to gain."""
    X = np.resize([0, 0.1, 0, 0, 1e-7, 0], (40, 1))
    y = (X[:, 0] > 0).astype(int)
    proba = DirichletCalibration(target_smoothing=False).fit(X, y).predict_proba(X)
    assert proba[np.arange(40), y].min() > 1 - 1e-6
