"""Kernel expectations of predicted distributions, and distances between them.

A family is a NamedTuple of arrays whose first axis is that of the rows; a mixture holds its
components with a second axis. All families offer the same methods:

- `shape`, without the axes of vectors and matrices, `broadcast(shape)` and `flatten()` (not of a
  mixture), `take(rows)` and `list_parameters()`, a row of numbers for each distribution;
- `rescale(factor)`, the distributions of factor * Y;
- `compare(y, y')`, the kernel k of the family between targets;
- `expect(y')`, E k(Z, y'), and `expect_pairs(other)`, E k(Z, Z'), with Z and Z' independent draws;
- `measure_distance(other)`, the Wasserstein-2 distance of each pair.

The last four return matrices with a row for each of the first and a column for each of the second.
The kernels have scale 1: `rescale` serves for all others.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import exprel

from skcal._numerics.distributions._transport import transport_cost
from skcal._numerics.errors._binned import TWO_ROWS

# Numbers in one array of a chunk of pairs.
_CELLS = 2**18
# Where a difference of nearly equal rates is a series, and the terms that it then takes.
_CLOSE = 0.25
_TERMS = 13


class Normals(NamedTuple):
    """Normal distributions, with the Gaussian kernel exp(-(y - y')^2 / 2) on targets."""

    mean: np.ndarray
    deviation: np.ndarray

    @property
    def shape(self):
        return self.mean.shape

    def take(self, rows):
        return Normals(self.mean[rows], self.deviation[rows])

    def broadcast(self, shape):
        return Normals(*(np.broadcast_to(field, shape) for field in self))

    def flatten(self):
        return Normals(self.mean.ravel(), self.deviation.ravel())

    def rescale(self, factor):
        return Normals(factor * self.mean, factor * self.deviation)

    def list_parameters(self):
        return np.stack(self, axis=-1)

    @property
    def cells(self):
        return 1

    @staticmethod
    def compare(targets, others):
        return np.exp(-(np.subtract.outer(targets, others) ** 2) / 2)

    def expect(self, targets):
        width = np.hypot(1.0, self.deviation)[:, None]
        return np.exp(-((np.subtract.outer(self.mean, targets) / width) ** 2) / 2) / width

    def expect_pairs(self, other):
        width = np.hypot(np.hypot(1.0, self.deviation)[:, None], other.deviation)
        return np.exp(-((np.subtract.outer(self.mean, other.mean) / width) ** 2) / 2) / width

    def measure_distance(self, other):
        return np.hypot(
            np.subtract.outer(self.mean, other.mean),
            np.subtract.outer(self.deviation, other.deviation),
        )


class Laplaces(NamedTuple):
    """Laplace distributions, with the exponential kernel exp(-|y - y'|) on targets."""

    mean: np.ndarray
    scale: np.ndarray

    @property
    def shape(self):
        return self.mean.shape

    def take(self, rows):
        return Laplaces(self.mean[rows], self.scale[rows])

    def broadcast(self, shape):
        return Laplaces(*(np.broadcast_to(field, shape) for field in self))

    def flatten(self):
        return Laplaces(self.mean.ravel(), self.scale.ravel())

    def rescale(self, factor):
        return Laplaces(factor * self.mean, factor * self.scale)

    def list_parameters(self):
        return np.stack(self, axis=-1)

    @property
    def cells(self):
        return 1

    @staticmethod
    def compare(targets, others):
        return np.exp(-np.abs(np.subtract.outer(targets, others)))

    def expect(self, targets):
        distance = np.abs(np.subtract.outer(self.mean, targets))
        return expect_laplace(distance, self.scale[:, None])

    def expect_pairs(self, other):
        distance = np.abs(np.subtract.outer(self.mean, other.mean))
        return expect_laplace_pairs(distance, self.scale[:, None], other.scale)

    def measure_distance(self, other):
        return np.hypot(
            np.subtract.outer(self.mean, other.mean),
            np.sqrt(2.0) * np.subtract.outer(self.scale, other.scale),
        )


class MultivariateNormals(NamedTuple):
    """Multivariate normal distributions, with the kernel exp(-|y - y'|^2 / 2) on targets.

    `root` holds the Cholesky factors of the covariances.
    """

    mean: np.ndarray
    covariance: np.ndarray
    root: np.ndarray

    @property
    def shape(self):
        return self.mean.shape[:-1]

    def take(self, rows):
        return MultivariateNormals(self.mean[rows], self.covariance[rows], self.root[rows])

    def broadcast(self, shape):
        size = len(self.shape)
        return MultivariateNormals(
            *(np.broadcast_to(field, shape + field.shape[size:]) for field in self)
        )

    def flatten(self):
        size = self.mean.shape[-1]
        return MultivariateNormals(
            self.mean.reshape(-1, size),
            self.covariance.reshape(-1, size, size),
            self.root.reshape(-1, size, size),
        )

    def rescale(self, factor):
        return MultivariateNormals(
            factor * self.mean, factor**2 * self.covariance, factor * self.root
        )

    def list_parameters(self):
        flat = self.covariance.reshape(*self.mean.shape[:-1], -1)
        return np.concatenate([self.mean, flat], axis=-1)

    @property
    def cells(self):
        return self.mean.shape[-1] ** 2

    @staticmethod
    def compare(targets, others):
        return np.exp(-np.square(targets[:, None] - others).sum(axis=-1) / 2)

    def expect(self, targets):
        return _expect_gaussian(self.mean[:, None] - targets, self.covariance[:, None])

    def expect_pairs(self, other):
        covariance = self.covariance[:, None] + other.covariance
        return _expect_gaussian(self.mean[:, None] - other.mean, covariance)

    def measure_distance(self, other):
        shift = np.square(self.mean[:, None] - other.mean).sum(axis=-1)
        return np.sqrt(shift + _squared_bures(self.root[:, None], other.root[None]))


class Mixtures(NamedTuple):
    """Mixtures of distributions of one family, with its kernel on targets.

    weights is (n, m) with rows that sum to 1, components one of the families above with arrays of
    shape (n, m, ...). The distance is that of optimal transport between the components, at the
    cost of their squared distances; the Wasserstein distance of the mixtures may be smaller.
    """

    weights: np.ndarray
    components: NamedTuple

    def take(self, rows):
        return Mixtures(self.weights[rows], self.components.take(rows))

    def rescale(self, factor):
        return Mixtures(self.weights, self.components.rescale(factor))

    def list_parameters(self):
        parts = [self.weights[..., None], self.components.list_parameters()]
        return np.concatenate(parts, axis=-1).reshape(len(self.weights), -1)

    @property
    def cells(self):
        return self.weights.shape[1] ** 2 * self.components.cells

    def compare(self, targets, others):
        return self.components.compare(targets, others)

    def expect(self, targets):
        values = self.components.flatten().expect(targets)
        return np.einsum("im,imj->ij", self.weights, values.reshape(*self.weights.shape, -1))

    def expect_pairs(self, other):
        values = self.components.flatten().expect_pairs(other.components.flatten())
        values = values.reshape(*self.weights.shape, *other.weights.shape)
        return np.einsum("im,imjl,jl->ij", self.weights, values, other.weights, optimize=True)

    def measure_distance(self, other):
        (n, m), (n_others, m_others) = self.weights.shape, other.weights.shape
        cost = self.components.flatten().measure_distance(other.components.flatten()) ** 2
        cost = cost.reshape(n, m, n_others, m_others).swapaxes(1, 2)
        is_same = other is self  # half of the programs are enough
        rows, others = (
            np.triu_indices(n, 1) if is_same else np.indices((n, n_others)).reshape(2, -1)
        )
        distance = np.zeros((n, n_others))
        least = transport_cost(cost[rows, others], self.weights[rows], other.weights[others])
        distance[rows, others] = np.sqrt(least)
        return distance + distance.T if is_same else distance


# --------------------------------------------------------------------------- closed forms


def expect_laplace(distance, scale):
    """E exp(-|Z - y|) of a Laplace distribution whose mean is `distance` away from y.

    (b e^(-z/b) - e^-z) / (b^2 - 1), written as a sum of positive terms, so that b may be 1.
    """
    slowest = np.exp(-distance / np.maximum(scale, 1.0))
    between = distance * slowest * exprel(-np.abs(scale - 1.0) * distance / scale)
    return (np.exp(-distance) + between) / (1.0 + scale)


def expect_laplace_pairs(distance, scale, other_scale):
    """E exp(-|Z - Z'|) of two Laplace distributions whose means are `distance` apart.

    Twice the density of a sum of three Laplace variables with scales 1, b and b'. Its partial
    fractions cancel where scales are close. With the rates p <= q <= r, the inverses of the
    scales, and the divided differences of exp(-rate * distance), it is the sum of positive terms

        p^2 q^2 r / (q + r) * ((1/q + 1/(p+r)) (e[p]/p + e[p,q]) / (p+q) + e[p,q,r] / (p+r)).
    """
    first, second = 1.0 / scale, 1.0 / other_scale
    low, high = np.minimum(first, second), np.maximum(first, second)
    p, q, r = np.minimum(low, 1.0), np.clip(1.0, low, high), np.maximum(high, 1.0)
    one = np.exp(-p * distance)
    two = distance * one * exprel((p - q) * distance)
    three = one * distance * (distance * _divide_twice((q - p) * distance, (r - p) * distance))
    inner = (1.0 / q + 1.0 / (p + r)) * (one / p + two) / (p + q) + three / (p + r)
    return p**2 * q**2 * (r / (q + r)) * inner


def _divide_twice(middle, last):
    """Second divided difference of exp(-x) at 0 <= middle <= last."""
    close = last < _CLOSE
    spread = np.where(close, 1.0, last)
    values = (exprel(-middle) - np.exp(-middle) * exprel(middle - last)) / spread
    if close.any():
        values[close] = _sum_series(middle[close], last[close])
    return values


def _sum_series(middle, last):
    """The same, as a series in the complete symmetric polynomials of the two."""
    polynomial, power, total, factor = np.ones_like(last), np.ones_like(last), 0.0, 0.5
    for term in range(_TERMS):
        total = total + factor * polynomial
        power = power * middle
        polynomial = last * polynomial + power
        factor /= -(term + 3.0)
    return total


def _expect_gaussian(difference, covariance):
    """E exp(-|X|^2 / 2) of normal X with the given means and covariances."""
    root = np.linalg.cholesky(covariance + np.eye(difference.shape[-1]))
    white = np.linalg.solve(root, difference[..., None])[..., 0]
    determinant = np.diagonal(root, axis1=-2, axis2=-1).prod(axis=-1)
    return np.exp(-np.square(white).sum(axis=-1) / 2) / determinant


def _squared_bures(root, other_root):
    """Squared Bures distance of covariances A A' and B B', the smallest |A - B Q|^2.

    Q runs over the orthogonal matrices. The usual difference of traces loses half of the digits
    where the covariances are close; a sum of squares does not.
    """
    left, _, right = np.linalg.svd(np.swapaxes(root, -1, -2) @ other_root)
    rotation = np.swapaxes(left @ right, -1, -2)
    return np.square(root - other_root @ rotation).sum(axis=(-2, -1))


# --------------------------------------------------------------------------- estimates


def residual_kernel(first, targets, second, other_targets):
    """k(y, y') - E k(Z, y') - E k(y, Z') + E k(Z, Z') of all pairs of rows."""
    values = first.compare(targets, other_targets)
    values -= first.expect(other_targets)
    values -= second.expect(targets).T
    values += first.expect_pairs(second)
    return values


def find_chunk_size(*families):
    """Number of rows such that an array over all pairs of two chunks stays small."""
    return max(1, int(np.sqrt(_CELLS / max(family.cells for family in families))))


def split_rows(start, stop, size):
    """Slices of at most `size` rows."""
    return [slice(i, min(i + size, stop)) for i in range(start, stop, size)]


def estimate_square(evaluate, weights, start, stop, size, *, unbiased):
    """Squared kernel calibration error of the rows from `start` to `stop`.

    evaluate(rows, others) returns the matrix of h for two slices; it is symmetric, so that each
    pair of chunks is visited once.
    """
    chunks = split_rows(start, stop, size)
    total = diagonal = 0.0
    for number, rows in enumerate(chunks):
        for others in chunks[number:]:
            values = evaluate(rows, others)
            part = weights[rows] @ values @ weights[others]
            total += part if others is rows else 2.0 * part
            if others is rows:
                diagonal += weights[rows] @ np.diagonal(values)
    mass = weights[start:stop].sum()
    if not unbiased:
        return total / mass**2
    return (total - diagonal) / (mass * (mass - 1.0)) if mass >= TWO_ROWS else 0.0


def embed_residuals(evaluate, share, n_tests, size):
    """Mean over the rows of evaluate(tests, rows), for each test point."""
    means = np.zeros(n_tests)
    for tests in split_rows(0, n_tests, size):
        for rows in split_rows(0, len(share), size):
            means[tests] += evaluate(tests, rows) @ share[rows]
    return means
