"""Softmax regression with structured coefficients and penalties, to the optimum."""

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from skcal._numerics._newton import DAMPING, LARGEST_PENALTY, minimize_convex, solve_newton_step

# Up to this many coefficients the Hessian is formed; beyond, Newton steps come from conjugate
# gradients, which only need its products with vectors.
_LARGEST_HESSIAN = 500
# Newton's method corrects in the next step what a step is short of.
_STEP_TOLERANCE = 1e-3
_MAX_PRODUCTS = 500
# Their preconditioner is made of blocks, one for each class, up to this many numbers in all. It
# guides the search and not its end, so that a few rows for each column are enough for it.
_LARGEST_BLOCKS = 30_000_000
_ROWS_PER_COLUMN = 20
_ROWS_IN_CHUNK = 4096


def fit_softmax(features, codes, weights, *, start, varies, penalty, centre, even=None):
    """Coefficients that minimise mean log loss + sum penalty (coefficients - centre)^2.

    Parameters
    ----------
    features : ndarray of shape (n_samples, n_features)
    codes : ndarray of shape (n_samples,)
        Column of the true class.
    weights : ndarray of shape (n_samples,) or None
    start : ndarray of shape (n_classes, n_features)
    varies : ndarray of shape (n_classes, n_features)
        Which coefficients are fitted; the others stay as they start.
    penalty, centre : ndarray of shape (n_classes, n_features)
    even : ndarray of shape (n_samples,) or None
        Share of each target that all classes have in equal parts; the true class has the rest.

    Returns
    -------
    coefficients : ndarray of shape (n_classes, n_features)
        Of the logits, features @ coefficients.T.
    n_evaluations : int
        Evaluations of the loss and its derivatives.
    """
    mass = np.full(len(codes), 1 / len(codes)) if weights is None else weights / weights.sum()
    penalty = np.minimum(penalty[varies], LARGEST_PENALTY)
    problem = _Problem(features, codes, mass, start, varies, penalty, centre[varies], even)
    best, n_evaluations = minimize_convex(problem.evaluate, start[varies])
    return problem.arrange(best), n_evaluations


class _Problem:
    def __init__(self, features, codes, mass, start, varies, penalty, centre, even=None):
        self.features, self.codes, self.mass = features, codes, mass
        self.start, self.varies, self.penalty, self.centre = start, varies, penalty, centre
        self.classes, self.columns = np.nonzero(varies)
        self.rows = np.arange(len(codes))
        self.even = np.zeros(len(codes)) if even is None else even
        n_classes = len(start)
        beside = ~np.eye(*start.shape, dtype=bool)
        beside[:, n_classes:] = False
        self.bound = (self.mass @ features**2)[self.columns] / 4 + 2 * penalty
        self.is_diagonal = not (varies | (start != 0))[beside].any()

    def arrange(self, free):
        coefficients = self.start.copy()
        coefficients[self.varies] = free
        return coefficients

    def multiply(self, coefficients):
        """features @ coefficients.T"""
        if not self.is_diagonal:
            return self.features @ coefficients.T
        n_classes = len(coefficients)
        rest = self.features[:, n_classes:] @ coefficients[:, n_classes:].T
        return self.features[:, :n_classes] * np.diag(coefficients) + rest

    def gather(self, residual):
        """Those elements of residual.T @ features that belong to coefficients that vary."""
        if not self.is_diagonal:
            return (residual.T @ self.features)[self.varies]
        n_classes = residual.shape[1]
        sums = np.zeros_like(self.start)
        own = np.einsum("ik,ik->k", residual, self.features[:, :n_classes])
        sums[np.diag_indices(n_classes)] = own
        sums[:, n_classes:] = residual.T @ self.features[:, n_classes:]
        return sums[self.varies]

    def evaluate(self, free):
        """Value, gradient, and the function that solves for the Newton step."""
        logits = self.multiply(self.arrange(free))
        logits -= logits.max(axis=1, keepdims=True)
        target_logits = (1 - self.even) * logits[self.rows, self.codes]
        target_logits += self.even * logits.mean(axis=1)
        proba = np.exp(logits, out=logits)
        total = proba.sum(axis=1)
        proba /= total[:, None]
        away = free - self.centre
        value = self.mass @ (np.log(total) - target_logits) + self.penalty @ away**2
        residual = proba * self.mass[:, None]
        residual -= (self.mass * self.even / len(self.start))[:, None]
        residual[self.rows, self.codes] -= self.mass * (1 - self.even)
        gradient = self.gather(residual) + 2 * self.penalty * away

        def step(_):
            extra = 2 * self.penalty + DAMPING * self.bound
            if len(free) > _LARGEST_HESSIAN:
                return self.solve_iteratively(proba, gradient, extra)
            return solve_newton_step(self.form_hessian(proba) + np.diag(extra), gradient)

        return value, gradient, step

    def form_hessian(self, proba):
        """sum_i m_i p_k (1{k = l} - p_l) x_j x_h for coefficients (k, j) and (l, h)."""
        n_coefficients = len(self.classes)
        hessian = np.zeros((n_coefficients, n_coefficients))
        within = np.zeros((n_coefficients, self.features.shape[1]))
        for first in range(0, len(proba), _ROWS_IN_CHUNK):
            rows = slice(first, first + _ROWS_IN_CHUNK)
            features, mass = self.features[rows], self.mass[rows, None]
            moved = proba[rows][:, self.classes] * features[:, self.columns]
            moved_mass = moved * mass
            within += moved_mass.T @ features
            hessian -= moved_mass.T @ moved
        same_class = self.classes[:, None] == self.classes
        hessian += np.where(same_class, within[:, self.columns], 0)
        return hessian

    def solve_iteratively(self, proba, gradient, extra):
        def multiply(direction):
            change = np.zeros_like(self.start)
            change[self.varies] = direction
            shift = self.multiply(change)
            shift -= np.einsum("ik,ik->i", proba, shift)[:, None]
            shift *= proba
            shift *= self.mass[:, None]
            return self.gather(shift) + extra * direction

        shape = (len(gradient), len(gradient))
        step, _ = cg(
            LinearOperator(shape, multiply),
            -gradient,
            atol=_STEP_TOLERANCE * np.linalg.norm(gradient),  # beside the default, which is smaller
            maxiter=_MAX_PRODUCTS,
            M=LinearOperator(shape, self.form_preconditioner(proba, extra)),
        )
        return step

    def form_preconditioner(self, proba, extra):
        """Function that multiplies by an approximate inverse of Hessian + diag(extra)."""
        spread = self.mass[:, None] * proba * (1 - proba)
        n_classes, n_columns = self.start.shape
        penalty = np.zeros_like(self.start)
        penalty[self.varies] = extra
        if self.is_diagonal or n_classes * n_columns**2 > _LARGEST_BLOCKS:
            diagonal = (spread.T @ self.features**2 + penalty)[self.varies]
            diagonal = np.maximum(diagonal, np.finfo(np.float64).eps * diagonal.max())
            return lambda vector: vector / diagonal
        stride = max(1, len(spread) // (_ROWS_PER_COLUMN * n_columns))
        features, spread = self.features[::stride], stride * spread[::stride]
        inverses = np.empty((n_classes, n_columns, n_columns))
        for k in range(n_classes):
            block = features.T @ (spread[:, k, None] * features) + np.diag(penalty[k])
            diagonal = np.diag_indices(n_columns)
            block[diagonal] += 1e-8 * max(block[diagonal].max(), np.finfo(np.float64).tiny)
            inverses[k] = np.linalg.inv(block)

        def precondition(vector):
            full = np.zeros_like(self.start)
            full[self.varies] = vector
            return np.einsum("kij,kj->ki", inverses, full)[self.varies]

        return precondition
