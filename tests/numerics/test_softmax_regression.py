"""Softmax regression reaches the optimum, by Hessians and products that are sums over rows."""

import numpy as np
import pytest
from scipy.special import softmax

from skcal._numerics.recalibration import _newton, _softmax_regression
from skcal._numerics.recalibration._newton import DAMPING
from skcal._numerics.recalibration._softmax_regression import _Problem, _thin_out, fit_softmax


def make_problem(n_classes, n_samples=400, seed=0):
    rng = np.random.default_rng(seed)
    features = np.column_stack([3 * rng.normal(size=(n_samples, n_classes)), np.ones(n_samples)])
    codes = (features[:, :-1] + 5 * rng.gumbel(size=(n_samples, n_classes))).argmax(axis=1)
    return features, codes, rng.random(n_samples)


def make_structure(structure, n_classes):
    """What varies, and penalties that make the optimum unique."""
    own = np.eye(n_classes, n_classes + 1)
    varies = np.ones(own.shape) if structure == "full" else own.copy()
    varies[:, -1] = 1
    return varies == 1, 0.01 + 0.02 * own


def fit(features, codes, weights, start, varies, penalty):
    """Coefficients, the number of evaluations, and the gradient of the penalised log loss."""
    options = {"start": start, "varies": varies, "penalty": penalty, "centre": np.eye(*start.shape)}
    found, n_evaluations = fit_softmax(features, codes, weights, **options)
    residual = softmax(features @ found.T, axis=1) - np.eye(len(start))[codes]
    slopes = np.average(residual[:, :, None] * features[:, None], axis=0, weights=weights)
    return found, n_evaluations, slopes + 2 * penalty * (found - options["centre"])


@pytest.mark.parametrize(
    ("structure", "n_classes", "largest_hessian"),
    [("full", 3, 500), ("diagonal", 5, 500), ("full", 5, 0), ("diagonal", 2, 0)],
)
def test_optimum_of_softmax_regression(monkeypatch, structure, n_classes, largest_hessian):
    """The Hessian of many coefficients is not formed."""
    monkeypatch.setattr(_softmax_regression, "LARGEST_HESSIAN", largest_hessian)
    if not largest_hessian:
        monkeypatch.setattr(_Problem, "form_hessian", None)
    start, (varies, penalty) = (
        np.eye(n_classes, n_classes + 1) / 2,
        make_structure(structure, n_classes),
    )
    found, n_evaluations, gradient = fit(*make_problem(n_classes), start, varies, penalty)
    assert (found[~varies] == start[~varies]).all()
    assert n_evaluations < 25
    assert np.linalg.norm(gradient[varies]) < 1e-6


@pytest.mark.parametrize(("scale", "ridge"), [(1e2, 0.01), (1e4, 100.0), (1e4, 0.01)])
def test_saturated_starts_reach_the_optimum(rng, scale, ridge):
    """Where all probabilities are 0 or 1 there is no curvature, and Newton's steps are useless."""
    features = np.column_stack([scale * rng.normal(size=(10, 3)), np.ones(10)])
    codes, start, varies = rng.integers(0, 3, 10), np.eye(3, 4), np.ones((3, 4), dtype=bool)
    *_, gradient = fit(features, codes, None, start, varies, np.tile([ridge] * 3 + [0], (3, 1)))
    assert np.abs(gradient / np.abs(features).max(axis=0)).max() < 1e-6


def state_problem(structure, n_classes=3, n_samples=400, *, scales=1.0):
    """A problem, and at a point of it: coefficients that vary, probabilities, Hessian of the loss.

    The Hessian is summed row by row from the derivatives of softmax.
    """
    features, codes, weights = make_problem(n_classes, n_samples)
    features, mass = features * scales, weights / weights.sum()
    varies, penalty = make_structure(structure, n_classes)
    start = np.eye(*varies.shape)
    penalty = penalty[varies]
    problem = _Problem(features, codes, mass, start, varies, penalty, start[varies])
    free = (0.3 * (np.random.default_rng(1).random(varies.shape) + start) / scales)[varies]
    proba = softmax(features @ problem.arrange(free).T, axis=1)
    hessian = 0
    for row, p, share in zip(features, proba, mass, strict=True):
        hessian = hessian + share * np.kron(np.diag(p) - np.outer(p, p), np.outer(row, row))
    return problem, free, proba, hessian[np.ix_(varies.ravel(), varies.ravel())]


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize(("cells", "tolerance"), [(1 << 16, 1e-12), (3000, 1e-12), (0, 1e-3)])
def test_steps_solve_the_newton_equations(monkeypatch, structure, cells, tolerance):
    """By the Hessian, summed in chunks of 400 rows or fewer, or by conjugate gradients."""
    monkeypatch.setattr(_softmax_regression, "LARGEST_HESSIAN", 500 * (cells > 0))
    monkeypatch.setattr(_softmax_regression, "_CELLS_IN_HESSIAN_CHUNK", cells)
    problem, free, _, hessian = state_problem(structure)
    _, gradient, step = problem.evaluate(free)
    left = hessian @ step(None) + 2 * problem.penalty * step(None) + gradient
    assert np.linalg.norm(left) <= tolerance * np.linalg.norm(gradient)


@pytest.mark.parametrize(
    ("structure", "largest", "has_blocks"),
    [("full", 48, True), ("full", 47, False), ("diagonal", 48, True)],
)
def test_preconditioner_inverts_blocks_or_the_diagonal(
    rng, monkeypatch, structure, largest, has_blocks
):
    """For 3 blocks of 4^2 all of 40 rows are read.

    What all classes have in common is inverted by itself: there the Hessian of the loss is 0.
    """
    monkeypatch.setattr(_softmax_regression, "_LARGEST_BLOCKS", largest)
    problem, _, proba, hessian = state_problem(structure, n_samples=40)
    extra, vector = 1 + np.arange(len(hessian)) / 10, rng.normal(size=len(hessian))
    kept = problem.classes if has_blocks else extra
    part = hessian * (kept[:, None] == kept) + np.diag(extra)
    expected = np.linalg.solve(part, vector)
    if structure == "full":
        same_column = np.equal.outer(problem.columns, problem.columns)
        expected += same_column @ vector / (same_column @ extra)
    found = problem.form_preconditioner(proba, extra)(vector)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_rows_stand_for_others_by_what_they_weigh(rng):
    shares = rng.exponential(size=1000) ** 3
    rows, new = _thin_out(shares, 100)
    assert len(rows) == len(new) == 100
    assert new.sum() == pytest.approx(shares.sum())
    drawn = np.bincount(rows, new, 1000)
    assert np.abs(drawn - shares).max() <= (1 + 1e-9) * shares.sum() / 100
    rows, new = _thin_out(shares, 1000)
    np.testing.assert_array_equal(shares[rows], new)


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_preconditioner_is_definite_where_the_hessian_is_not(structure):
    """A feature of zeros and one that is there twice leave the Hessian without an inverse."""
    problem, _, proba, _ = state_problem(structure)
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
    monkeypatch.setattr(_newton, "_MAX_PRODUCTS", 30)
    scales = 10.0 ** (np.arange(13) % 4)
    problem, free, proba, hessian = state_problem("diagonal", n_classes=12, scales=scales)
    extra = 2 * problem.penalty + DAMPING * problem.bound
    step = problem.solve_iteratively(proba, np.ones_like(free), extra)
    left = hessian @ step + extra * step + 1
    assert np.linalg.norm(left) <= 1e-3 * np.sqrt(len(free))


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_what_blocks_hide_takes_few_products(monkeypatch, structure):
    """Weak penalties alone hold what all classes have in common; columns look like intercepts."""
    monkeypatch.setattr(_newton, "_MAX_PRODUCTS", 25)
    problem, free, *_ = state_problem(structure, n_classes=12)
    problem.features[:, :-1] -= 100
    _, gradient, _ = problem.evaluate(free)
    proba = softmax(problem.features @ problem.arrange(free).T, axis=1)
    extra = 1e-5 * (1 + np.arange(len(free)) % 2)
    step = problem.solve_iteratively(proba, gradient, extra)
    change = problem.multiply(problem.spread_out(step), slice(None))
    change -= (proba * change).sum(axis=1, keepdims=True)
    curvature = ((problem.mass[:, None] * proba * change).T @ problem.features)[problem.varies]
    left = curvature + extra * step + gradient
    assert np.linalg.norm(left) <= 1e-3 * np.linalg.norm(gradient)


OWN, LAST = np.eye(3, 4), np.outer(np.ones(3), np.arange(4) == 3)


@pytest.mark.parametrize(
    ("varies", "start", "is_diagonal"),
    [
        (OWN + LAST, OWN + 2 * LAST, True),
        (LAST, OWN, True),
        (LAST, np.full((3, 4), 0.5), False),  # the others stay, and are not 0
        (1 - OWN, OWN, False),
    ],
)
def test_diagonal_problems_are_told_from_others(varies, start, is_diagonal):
    """Others must not be taken for them; they are computed much faster."""
    features, codes, _ = make_problem(3)
    varies, zeros = varies == 1, np.zeros(int(varies.sum()))
    problem = _Problem(features, codes, np.ones(400), start, varies, zeros, zeros)
    assert problem.is_diagonal == is_diagonal
    rows = slice(10, 300)
    product = problem.multiply(problem.pack(start), rows)
    np.testing.assert_allclose(product, features[rows] @ start.T, atol=1e-12)
    residual = features[rows, :3] ** 2
    found = problem.gather(residual, rows)[problem.is_free]
    np.testing.assert_allclose(found, (residual.T @ features[rows])[varies])
