"""Vector, matrix, Dirichlet and structured matrix scaling: optimum, closed forms, limits."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression
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


def off_diagonal(matrix):
    return matrix[~np.eye(len(matrix), dtype=bool)]


# Each with the logits that it maps and its penalty as a function of matrix and shift.
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


@pytest.mark.parametrize("R", [VectorScaling, MatrixScaling])
def test_known_map_is_found(R):
    """Labels in the exact proportions of softmax(W z + b)."""
    z = np.random.default_rng(0).normal(size=(8, 3))
    z -= z.mean(axis=1, keepdims=True)
    W = np.diag([2.0, 0.5, 1.0])
    if R is MatrixScaling:
        W[0, 1], W[2, 0] = 0.4, -0.3
    proba = softmax(z @ W.T + [0.5, -0.7, 0.2], axis=1)
    options = {"ridge": 0} if R is MatrixScaling else {}
    fitted = R(input="logits", **options).fit(
        np.repeat(z, 3, axis=0), np.tile([0, 1, 2], 8), sample_weight=proba.ravel()
    )
    np.testing.assert_allclose(fitted.predict_proba(z), proba, atol=1e-9)
    np.testing.assert_allclose(fitted.intercept_, [0.5, -0.7, 0.2], atol=1e-8)


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


def test_large_penalties():
    X, y = make_scores(3)
    stiff = MatrixScaling(ridge=1e9).fit(X, y)
    np.testing.assert_allclose(stiff.coef_, EYE, atol=1e-8)
    names = ("intercept_penalty", "diagonal_penalty", "off_diagonal_penalty")
    structured = StructuredMatrixScaling(**dict.fromkeys(names, 1e12)).fit(X, y)
    temperature = TemperatureScaling().fit(X, y)
    np.testing.assert_allclose(structured.transform(X), temperature.transform(X), atol=1e-9)
    dirichlet = DirichletCalibration(off_diagonal_penalty=1e12, intercept_penalty=1e12).fit(X, y)
    factors = np.diag(dirichlet.coef_)
    np.testing.assert_allclose(dirichlet.coef_, np.diag(factors), atol=1e-9)
    expected = softmax(np.log(X) * factors, axis=1)
    np.testing.assert_allclose(dirichlet.transform(X), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("R", "names"),
    [
        (MatrixScaling, ["ridge"]),
        (DirichletCalibration, ["off_diagonal_penalty", "intercept_penalty"]),
        (
            StructuredMatrixScaling,
            ["intercept_penalty", "diagonal_penalty", "off_diagonal_penalty"],
        ),
    ],
)
def test_largest_penalties(R, names):
    """Twice a penalty overflowed, and fits ended far from their optimum."""
    X, y = make_scores(3)
    large, largest = (
        R(**dict.fromkeys(names, penalty)).fit(X, y) for penalty in (1e200, np.finfo(float).max)
    )
    np.testing.assert_allclose(largest.transform(X), large.transform(X), atol=1e-12)


def test_structured_penalties_fade_with_rows():
    X, y = make_scores(3, 200)
    free = MatrixScaling(ridge=0).fit(X, y).predict_proba(X)
    distances = [
        np.abs(
            StructuredMatrixScaling()
            .fit(X, y, sample_weight=np.full(len(y), repeats))
            .predict_proba(X)
            - free
        ).max()
        for repeats in (1, 10, 1000, 10**6)
    ]
    assert (np.diff(distances) < 0).all()
    assert distances[-1] < 1e-5


def test_matrix_scaling_agrees_with_logistic_regression():
    """Their ridge pulls towards 0, ours towards the identity: without one both agree."""
    X, y = make_scores(3)
    logits = np.log(X) - np.log(X).mean(axis=1, keepdims=True)
    theirs = LogisticRegression(C=1e12, tol=1e-10, max_iter=10000).fit(logits, y)
    ours = MatrixScaling(ridge=0).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(logits), atol=1e-6)


@pytest.mark.parametrize(
    "R", [VectorScaling, MatrixScaling, DirichletCalibration, StructuredMatrixScaling]
)
def test_real_network(shared_data, R):
    """More parameters than a temperature, and still better than the network's own."""
    table = pd.read_csv(shared_data / "cifar10_vgg16_proba.csv.gz")
    X, y = table.filter(regex=r"^p\d$").to_numpy(), table.y_true.to_numpy()
    X /= X.sum(axis=1, keepdims=True)
    fitted = R().fit(X[:5000], y[:5000])
    temperature = TemperatureScaling().fit(X[:5000], y[:5000])
    assert log_loss(y[:5000], fitted.transform(X[:5000])) < log_loss(
        y[:5000], temperature.transform(X[:5000])
    )
    after = log_loss(y[5000:], fitted.transform(X[5000:]))
    assert after < log_loss(y[5000:], X[5000:])
    if R is StructuredMatrixScaling:
        assert after < log_loss(y[5000:], temperature.transform(X[5000:]))


@pytest.mark.parametrize("scale", [1e-6, 1e6, 1e50])
def test_scale_of_logits_is_no_obstacle(scale):
    X, y = make_scores(3, 100)
    logits = np.log(X)
    for R in (VectorScaling, StructuredMatrixScaling):
        np.testing.assert_allclose(
            R(input="logits").fit(scale * logits, y).predict_proba(scale * logits),
            R(input="logits").fit(logits, y).predict_proba(logits),
            atol=1e-7,
        )


@pytest.mark.parametrize(
    ("recalibrator", "message"),
    [
        (MatrixScaling(ridge=-1), "ridge must be at least 0 and finite; got -1"),
        (MatrixScaling(ridge="l2"), "ridge must be a number; got 'l2'"),
        (DirichletCalibration(off_diagonal_penalty=-1), "off_diagonal_penalty must be at least 0"),
        (DirichletCalibration(intercept_penalty=np.inf), "intercept_penalty must be .* finite"),
        (StructuredMatrixScaling(diagonal_penalty=None), "diagonal_penalty must be a number"),
    ],
)
def test_bad_options(recalibrator, message):
    with pytest.raises(ValueError, match=message):
        recalibrator.fit([[0.2, 0.8], [0.8, 0.2]], [0, 1])


def test_separable_scores_of_very_different_scales():
    """The fit goes to infinity by small steps, and warned though nothing was left to gain."""
    X = np.resize([0, 0.1, 0, 0, 1e-7, 0], 40)[:, np.newaxis]
    y = (X[:, 0] > 0).astype(int)
    proba = DirichletCalibration().fit(X, y).predict_proba(X)
    assert proba[np.arange(40), y].min() > 1 - 1e-6
