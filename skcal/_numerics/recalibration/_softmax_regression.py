"""Softmax regression with structured coefficients and penalties, to the optimum."""

import numpy as np

from skcal._numerics.recalibration._newton import (
    DAMPING,
    LARGEST_HESSIAN,
    LARGEST_PENALTY,
    KeptHessian,
    minimize_convex,
    solve_by_products,
)

# The preconditioner is made of blocks, one for each class, up to this many numbers in all. It
# guides the search and not its end, so that a few rows for each column are enough for it.
_LARGEST_BLOCKS = 30_000_000
_ROWS_PER_COLUMN = 10
# A smaller share of the largest possible curvature is taken for rounding.
_SMALLEST_SHARE = 1e-12
_CELLS_IN_CHUNK, _CELLS_IN_HESSIAN_CHUNK = 1 << 17, 1 << 16


def fit_softmax(features, codes, weights, *, start, varies, penalty, centre, even=None):
    """Coefficients that minimise mean log loss + sum penalty (coefficients - centre)^2.

    All matrices of coefficients are (n_classes, n_features), and the logits
    features @ coefficients.T. `varies` tells which coefficients are fitted; the others stay as they
    start. All classes have the share `even` of each target in equal parts; the true class has the
    rest. The second number returned counts evaluations of the loss and its derivatives.
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
        self.even = even
        n_classes = len(start)
        beside = ~np.eye(*start.shape, dtype=bool)
        beside[:, n_classes:] = False
        squares = np.einsum("i,ij,ij->j", mass, features, features)
        self.bound = squares[self.columns] / 4 + 2 * penalty
        self.steps = KeptHessian()
        self.is_diagonal = not (beside & (varies | (start != 0))).any()
        self.is_free, self.fixed = self.pack(varies), self.pack(start)

    def arrange(self, free):
        """The matrix of all coefficients."""
        coefficients = self.start.copy()
        coefficients[self.varies] = free
        return coefficients

    def pack(self, matrix):
        """A matrix itself; of a diagonal one that, in a column, and the columns beside it."""
        if not self.is_diagonal:
            return matrix
        n_classes = len(matrix)
        return np.column_stack([matrix.diagonal(), matrix[:, n_classes:]])

    def spread_out(self, free):
        """A packed matrix of coefficients, 0 where they are fixed."""
        packed = np.zeros(self.fixed.shape)
        packed[self.is_free] = free
        return packed

    def list_chunks(self):
        """Slices of rows whose logits fit in the cache."""
        size = max(_CELLS_IN_CHUNK // len(self.start), 1)
        return [slice(first, first + size) for first in range(0, len(self.rows), size)]

    def multiply(self, packed, rows):
        """features @ coefficients.T for some rows."""
        features, n_classes = self.features[rows], len(self.start)
        if not self.is_diagonal:
            return (packed @ features.T).T  # classes side by side, which is faster if they are few
        product = features[:, :n_classes] * packed[:, 0]
        for column, row in zip(features[:, n_classes:].T, packed[:, 1:].T, strict=True):
            product += column[:, None] * row  # of a single column far faster than a product
        return product

    def gather(self, residual, rows):
        """residual.T @ features of some rows, packed."""
        features, n_classes = self.features[rows], len(self.start)
        if not self.is_diagonal:
            return residual.T @ features
        own = np.einsum("ik,ik->k", residual, features[:, :n_classes])
        return np.column_stack([own, residual.T @ features[:, n_classes:]])

    def evaluate(self, free):
        """Value, gradient, and the function that solves for the Newton step."""
        packed, away = self.fixed.copy(), free - self.centre
        packed[self.is_free] = free
        order = "C" if self.is_diagonal else "F"
        proba = np.empty((len(self.rows), len(self.start)), order=order)
        value, slopes = self.penalty @ away**2, 0.0
        for rows in self.list_chunks():
            loss, slope, proba[rows] = self.evaluate_rows(packed, rows)
            value, slopes = value + loss, slopes + slope
        gradient = slopes[self.is_free] + 2 * self.penalty * away

        def step(_):
            extra = 2 * self.penalty + DAMPING * self.bound
            if len(free) > LARGEST_HESSIAN:
                return self.solve_iteratively(proba, gradient, extra)
            return self.steps.solve(lambda: self.form_hessian(proba) + np.diag(extra), gradient)

        return value, gradient, step

    def evaluate_rows(self, packed, rows):
        """Loss of some rows, its gradient, packed, and their probabilities."""
        codes, mass = self.codes[rows], self.mass[rows]
        numbers = np.arange(len(codes))
        logits = self.multiply(packed, rows)
        logits -= logits.max(axis=1, keepdims=True)
        target_logits, own = logits[numbers, codes], mass
        if self.even is not None:
            even = self.even[rows]
            target_logits += even * (logits.mean(axis=1) - target_logits)
            own = mass * (1 - even)
        proba = np.exp(logits, out=logits)
        total = proba.sum(axis=1)
        proba /= total[:, None]
        residual = proba * mass[:, None]
        if self.even is not None:
            residual -= (mass * even / len(self.start))[:, None]
        residual[numbers, codes] -= own
        return mass @ (np.log(total) - target_logits), self.gather(residual, rows), proba

    def form_hessian(self, proba):
        """sum_i m_i p_k (1{k = l} - p_l) x_j x_h for coefficients (k, j) and (l, h)."""
        n_coefficients = len(self.classes)
        hessian = np.zeros((n_coefficients, n_coefficients))
        within = np.zeros((n_coefficients, self.features.shape[1]))
        size = max(_CELLS_IN_HESSIAN_CHUNK // n_coefficients, 1)
        for first in range(0, len(proba), size):
            rows = slice(first, first + size)
            features = self.features[rows].T * np.sqrt(self.mass[rows])
            moved = proba[rows].T[self.classes]
            moved *= features[self.columns]
            if not self.is_diagonal:
                within += moved @ features.T
            hessian -= moved @ moved.T  # NumPy computes one half of it
        same_class = self.classes[:, None] == self.classes
        if self.is_diagonal:  # of `within` two columns of each class would be needed
            blocks = self.sum_small_blocks(lambda rows: proba[rows] * self.mass[rows, None])
            hessian[same_class] += blocks[self.is_free[:, :, None] & self.is_free[:, None]]
        else:
            hessian += np.where(same_class, within[:, self.columns], 0)
        return hessian

    def solve_iteratively(self, proba, gradient, extra):
        def multiply(direction):
            packed, sums = self.spread_out(direction), 0.0
            for rows in self.list_chunks():
                shift = self.multiply(packed, rows)
                shift -= np.einsum("ik,ik->i", proba[rows], shift)[:, None]
                shift *= proba[rows]
                shift *= self.mass[rows, None]
                sums = sums + self.gather(shift, rows)
            return sums[self.is_free] + extra * direction

        return solve_by_products(multiply, self.form_preconditioner(proba, extra), gradient)

    def form_preconditioner(self, proba, extra):
        """Function that multiplies by an approximate inverse of Hessian + diag(extra)."""
        n_classes, n_columns = self.start.shape
        extra = self.spread_out(extra)
        if self.is_diagonal:
            return self.invert_small_blocks(proba, extra)
        spread = self.find_spread(proba, slice(None))
        if n_classes * n_columns**2 > _LARGEST_BLOCKS:
            solve = self.invert_diagonal(spread, extra)
        else:
            solve = self.invert_blocks(spread, extra)
        # What the coefficients of all classes have in common changes no probability. Blocks, which
        # hold each class by itself, do not know that only penalties count in these directions.
        common, bound = extra.sum(axis=0), self.spread_out(self.bound).sum(axis=0)
        is_held = self.varies.all(axis=0) & (common > _SMALLEST_SHARE * bound)
        share = np.divide(1, common, out=np.zeros(n_columns), where=is_held)

        def precondition(vector):
            matrix = self.spread_out(vector)
            return (solve(matrix) + share * matrix.sum(axis=0))[self.varies]

        return precondition

    def find_spread(self, proba, rows):
        """Variance of each class in some rows, times their mass."""
        spread = proba[rows] * (1 - proba[rows])
        spread *= self.mass[rows, None]
        return spread

    def invert_diagonal(self, spread, extra):
        diagonal = spread.T @ self.features**2 + extra
        diagonal = np.maximum(diagonal, np.finfo(np.float64).eps * diagonal[self.varies].max())
        return lambda matrix: matrix / diagonal

    def invert_blocks(self, spread, extra):
        """By the columns of each class, from rows that are drawn by how much they weigh."""
        n_classes, n_columns = extra.shape
        inverses = np.empty((n_classes, n_columns, n_columns))
        diagonal = np.diag_indices(n_columns)
        for k, shares in enumerate(np.ascontiguousarray(spread.T)):
            rows, shares = _thin_out(shares, _ROWS_PER_COLUMN * n_columns)
            part = np.sqrt(shares)[:, None] * self.features[rows]
            block = part.T @ part
            block[diagonal] += extra[k]
            block[diagonal] += 1e-8 * max(block[diagonal].max(), np.finfo(np.float64).tiny)
            inverses[k] = np.linalg.inv(block)
        return lambda matrix: np.matmul(inverses, matrix[:, :, None])[:, :, 0]

    def sum_small_blocks(self, weigh):
        """sum_i s_ik x_j x_h of each class k, for its own column and those that all classes have.

        `weigh(rows)` are s for some rows. Only of diagonal matrices.
        """
        n_classes, n_columns = self.fixed.shape
        blocks = np.zeros((n_classes, n_columns, n_columns))
        for rows in self.list_chunks():
            own, rest = np.split(self.features[rows], [n_classes], axis=1)
            shares = weigh(rows)
            moved = shares * own
            blocks[:, 0, 0] += np.einsum("ik,ik->k", moved, own)
            blocks[:, 0, 1:] += moved.T @ rest
            blocks[:, 1:, 1:] += np.tensordot(shares, rest[:, :, None] * rest[:, None], (0, 0))
        blocks[:, 1:, 0] = blocks[:, 0, 1:]
        return blocks

    def invert_small_blocks(self, proba, extra):
        """By the coefficients of each class."""
        blocks = self.sum_small_blocks(lambda rows: self.find_spread(proba, rows))
        is_free, diagonal = self.is_free, np.einsum("kjj->kj", blocks)
        blocks *= is_free[:, :, None] & is_free[:, None]
        diagonal += np.where(is_free, extra, 1)
        # Columns may be of very different scales, and one may be nearly a multiple of another.
        least = np.finfo(np.float64).eps * diagonal[is_free].max()
        scale = np.sqrt(np.maximum(diagonal, max(least, np.finfo(np.float64).tiny)))
        diagonal[...] = (1 + _SMALLEST_SHARE) * scale**2
        inverses = np.linalg.inv(blocks / (scale[:, :, None] * scale[:, None]))

        def precondition(vector):
            packed = self.spread_out(vector) / scale
            return (np.matmul(inverses, packed[:, :, None])[:, :, 0] / scale)[is_free]

        return precondition


def _thin_out(shares, n_rows):
    """At most n_rows rows that stand for all, and the shares that they have then.

    They are taken at even steps through the shares, so that a row that weighs much is taken for
    sure and as often as it weighs.
    """
    if len(shares) <= n_rows:
        return slice(None), shares
    heaped = np.cumsum(shares)
    rows = np.searchsorted(heaped, heaped[-1] * (np.arange(n_rows) + 0.5) / n_rows)
    return rows, np.full(n_rows, heaped[-1] / n_rows)
