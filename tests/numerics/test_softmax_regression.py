"""Softmax regression reaches the optimum, by Hessians and products that are sums over rows."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import log_softmax, softmax

from skcal._numerics import _softmax_regression
from skcal._numerics._newton import DAMPING
from skcal._numerics._softmax_regression import _Problem, fit_softmax


def make_problem(n_classes, n_samples=400, seed=0):
    rng = np.random.default_rng(seed)
    features = np.column_stack([3 * rng.normal(size=(n_samples, n_classes)), np.ones(n_samples)])
    codes = (features[:, :-1] + 5 * rng.gumbel(size=(n_samples, n_classes))).argmax(axis=1)
    return features, codes, rng.random(n_samples)


def make_structures(n_classes):
    """What varies, and penalties that make the optimum unique."""
    shape = (n_classes, n_classes + 1)
    diagonal = np.column_stack([np.eye(n_classes) == 1, np.ones(n_classes, dtype=bool)])
    penalty = np.full(shape, 0.01) + 0.02 * np.eye(*shape)
    return {"full": (np.ones(shape, dtype=bool), penalty), "diagonal": (diagonal, penalty)}


@pytest.mark.parametrize(
    ("structure", "n_classes", "largest_hessian"),
    [("full", 3, 500), ("diagonal", 5, 500), ("full", 5, 0), ("diagonal", 2, 0)],
)
def test_optimum_of_softmax_regression(monkeypatch, structure, n_classes, largest_hessian):
    monkeypatch.setattr(_softmax_regression, "_LARGEST_HESSIAN", largest_hessian)
    features, codes, weights = make_problem(n_classes)
    varies, penalty = make_structures(n_classes)[structure]
    centre = np.eye(n_classes, n_classes + 1)
    start = 0.5 * centre

    def objective(free):
        coefficients = start.copy()
        coefficients[varies] = free
        losses = -log_softmax(features @ coefficients.T, axis=1)[np.arange(len(codes)), codes]
        away = (coefficients - centre)[varies]
        return np.average(losses, weights=weights) + (penalty[varies] * away**2).sum()

    found, n_evaluations = fit_softmax(
        features, codes, weights, start=start, varies=varies, penalty=penalty, centre=centre
    )
    assert (found[~varies] == start[~varies]).all()
    assert n_evaluations < 25
    assert np.linalg.norm(approx_fprime(found[varies], objective, 1e-7)) < 1e-6


def state_problem(structure, n_classes=3, n_samples=400, *, scales=1.0, penalised=True):
    """A problem, and at a point of it: coefficients that vary, probabilities, Hessian of the loss.

    The Hessian is summed row by row from the derivatives of softmax.
    """
    features, codes, weights = make_problem(n_classes, n_samples)
    features, mass = features * scales, weights / weights.sum()
    varies, penalty = make_structures(n_classes)[structure]
    penalty = penalty[varies] * penalised
    start = np.eye(*varies.shape)
    problem = _Problem(features, codes, mass, start, varies, penalty, start[varies])
    free = 0.3 * (np.random.default_rng(1).random(varies.sum()) + start[varies])
    free = free / np.broadcast_to(scales, varies.shape)[varies]
    proba = softmax(features @ problem.arrange(free).T, axis=1)
    hessian = 0
    for row, p, share in zip(features, proba, mass, strict=True):
        hessian = hessian + share * np.kron(np.diag(p) - np.outer(p, p), np.outer(row, row))
    return problem, free, proba, hessian[np.ix_(varies.ravel(), varies.ravel())]


def keep_blocks(problem, hessian):
    return hessian * (problem.classes[:, None] == problem.classes)


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize("rows_in_chunk", [4096, 400, 64])
def test_hessian_is_a_sum_over_rows(monkeypatch, structure, rows_in_chunk):
    monkeypatch.setattr(_softmax_regression, "_ROWS_IN_CHUNK", rows_in_chunk)
    problem, _, proba, hessian = state_problem(structure)
    np.testing.assert_allclose(problem.form_hessian(proba), hessian, atol=1e-14)


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize(("largest_hessian", "tolerance"), [(500, 1e-12), (0, 1e-3)])
def test_steps_solve_the_newton_equations(monkeypatch, structure, largest_hessian, tolerance):
    monkeypatch.setattr(_softmax_regression, "_LARGEST_HESSIAN", largest_hessian)
    problem, free, _, hessian = state_problem(structure)
    _, gradient, step = problem.evaluate(free)
    left = hessian @ step(None) + 2 * problem.penalty * step(None) + gradient
    assert np.linalg.norm(left) <= tolerance * np.linalg.norm(gradient)


@pytest.mark.parametrize(
    ("structure", "largest_blocks", "is_diagonal"),
    [
        ("full", 3 * 4**2, False),
        ("full", 3 * 4**2 - 1, True),
        ("diagonal", 3 * 4**2, True),
    ],
)
def test_preconditioner_inverts_blocks_or_the_diagonal(
    monkeypatch, structure, largest_blocks, is_diagonal
):
    monkeypatch.setattr(_softmax_regression, "_LARGEST_BLOCKS", largest_blocks)
    monkeypatch.setattr(_softmax_regression, "_ROWS_PER_COLUMN", 100)  # 400 rows: all are read
    problem, _, proba, hessian = state_problem(structure)
    extra = 1 + np.arange(len(hessian)) / 10
    part = np.diag(np.diag(hessian)) if is_diagonal else keep_blocks(problem, hessian)
    vector = np.random.default_rng(2).normal(size=len(hessian))
    found = problem.form_preconditioner(proba, extra)((part + np.diag(extra)) @ vector)
    np.testing.assert_allclose(found, vector, rtol=1e-6)


def test_preconditioner_of_a_part_of_the_rows():
    """Every tenth row is read and stands for ten, which are equal here."""
    problem, _, proba, hessian = state_problem("full", n_samples=80)
    part = keep_blocks(problem, hessian) + np.diag(problem.penalty)
    rows = (problem.features, problem.codes, problem.mass / 10, proba)
    *rows, proba = (np.repeat(array, 10, axis=0) for array in rows)
    larger = _Problem(*rows, problem.start, problem.varies, problem.penalty, problem.centre)
    vector = np.random.default_rng(2).normal(size=len(hessian))
    precondition = larger.form_preconditioner(proba, problem.penalty)
    np.testing.assert_allclose(precondition(part @ vector), vector, rtol=1e-5)


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_preconditioner_is_definite_where_the_hessian_is_not(structure):
    """A feature of zeros and one that is there twice leave the Hessian without an inverse."""
    problem, _, proba, _ = state_problem(structure, penalised=False)
    problem.features[:, 0] = 0
    problem.features[:, 1] = problem.features[:, 2]
    for scale in 1, 1e6:
        problem.features *= scale
        precondition = problem.form_preconditioner(proba, np.zeros(problem.varies.sum()))
        matrix = np.column_stack([precondition(unit) for unit in np.eye(problem.varies.sum())])
        sizes = np.linalg.eigvalsh((matrix + matrix.T) / 2)
        assert sizes.min() >= 0.9 * np.finfo(np.float64).eps * sizes.max() > 0


def test_steps_do_not_suffer_from_the_scales_of_features(monkeypatch):
    """The preconditioner makes up for them: about one product for each coefficient is enough."""
    monkeypatch.setattr(_softmax_regression, "_MAX_PRODUCTS", 30)
    scales = 10.0 ** (np.arange(13) % 4)
    problem, free, proba, hessian = state_problem("diagonal", n_classes=12, scales=scales)
    extra = 2 * problem.penalty + DAMPING * problem.bound
    step = problem.solve_iteratively(proba, np.ones_like(free), extra)
    left = hessian @ step + extra * step + 1
    assert np.linalg.norm(left) <= 1e-3 * np.sqrt(len(free))


def test_diagonal_problems_are_told_from_others():
    """Others must not be taken for them; they are computed much faster."""
    shape = (3, 4)
    own, last = np.eye(*shape), np.arange(4) == 3
    features, codes, _ = make_problem(3)
    ones = np.ones(shape)

    def is_diagonal(varies, start):
        varies = np.broadcast_to(varies, shape)
        zeros = np.zeros(varies.sum())
        problem = _Problem(features, codes, np.ones(400), start, varies, zeros, zeros)
        product = problem.multiply(start), features @ start.T
        np.testing.assert_allclose(*product, atol=1e-12)
        residual = features[:, :3] ** 2
        np.testing.assert_allclose(problem.gather(residual), (residual.T @ features)[varies])
        return problem.is_diagonal

    assert is_diagonal((own == 1) | last, own + 2 * last)
    assert is_diagonal(own == 1, 0.5 * own)
    assert is_diagonal(last, own)
    assert not is_diagonal((own == 1) | last, ones)  # the others stay, and are not 0
    assert not is_diagonal(last, 0.5 * ones)
    assert not is_diagonal((own == 0) | last, own)
    assert not is_diagonal(True, own)


def test_no_hessian_is_formed_for_many_coefficients(monkeypatch):
    monkeypatch.setattr(_Problem, "form_hessian", None)
    features, codes, _ = make_problem(24, 200)
    options = {"start": np.eye(24, 25), "centre": np.eye(24, 25), "penalty": np.full((24, 25), 0.1)}
    varies = np.ones((24, 25), dtype=bool)
    assert np.isfinite(fit_softmax(features, codes, None, varies=varies, **options)[0]).all()


@pytest.mark.parametrize(("seed", "ridge"), [(0, 0.01), (1, 100), (2, 0.01)])
def test_saturated_starts_reach_the_optimum(seed, ridge):
    """Where all probabilities are 0 or 1 there is no curvature, and Newton's steps are useless."""
    rng = np.random.default_rng(seed)
    features = np.column_stack([[1e2, 1e4, 1e4][seed] * rng.normal(size=(10, 3)), np.ones(10)])
    codes = rng.integers(0, 3, 10)
    centre, varies = np.eye(3, 4), np.ones((3, 4), dtype=bool)
    penalty = np.column_stack([np.full((3, 3), float(ridge)), np.zeros(3)])
    found, _ = fit_softmax(
        features, codes, None, start=centre, varies=varies, penalty=penalty, centre=centre
    )
    residual = softmax(features @ found.T, axis=1) - np.eye(3)[codes]
    gradient = residual.T @ features / 10 + 2 * penalty * (found - centre)
    assert np.abs(gradient / np.abs(features).max(axis=0)).max() < 1e-6
