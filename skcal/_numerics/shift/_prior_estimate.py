"""Base rates of unlabelled rows from labelled ones of another population, with their chance.

Functions h of the scores have the mean sum_k rate_k E[h | k] in every population that shares the
laws of the scores within the classes. The means of both samples therefore tell the rates, whatever
the functions are; how they were found has no say in the chance of the rates, to first order.
"""

from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import legvander
from scipy.special import fdtrc, ndtri
from scipy.stats import rankdata

from skcal._numerics.inference._classical_tests import clip_pvalue

# Degrees of the polynomials of the ranks of the scores, for two classes and for more.
_DEGREES, _FEW_DEGREES = 5, 3
# Rows that the covariance needs for each polynomial: means of fewer have a skewed distribution.
_ROWS_EACH = 40
# Up to this many classes have ranks of their own; else the largest score of each row has.
_MANY_CLASSES = 10
# Eigenvalues of a correlation matrix below this are those of functions that repeat others.
_SMALLEST_EIGENVALUE = 1e-6


class Moments(NamedTuple):
    """Means of functions of the scores, and the covariance matrices of these means."""

    means: np.ndarray  # (n_groups, n_functions)
    covariances: np.ndarray  # (n_groups, n_functions, n_functions)
    sizes: np.ndarray  # effective numbers of rows, (n_groups,)


def find_moments(values, weights, codes=None, n_groups=1):
    """Moments of rows in groups that each have at least two rows of positive weight.

    `values` has a column for each function, and `codes` the number of the group of each row; by
    default all are in one.
    """
    weights = np.ones(len(values)) if weights is None else weights
    means, covariances, sizes = [], [], []
    for group in range(n_groups):
        rows = slice(None) if codes is None else codes == group
        share, group_values = weights[rows] / weights[rows].sum(), values[rows]
        low = group_values.min(axis=0)
        # What does not vary has no variance, not even that of rounding its mean.
        mean = np.where(low == group_values.max(axis=0), low, share @ group_values)
        spread = (group_values - mean) * share[:, None]
        # With equal weights the divisor of the sum of squares is n (n - 1), as usual.
        left = max(share @ (1 - share), np.finfo(np.float64).tiny)
        covariances.append(spread.T @ spread / left)
        means.append(mean)
        sizes.append(1 / (share @ share))
    return Moments(np.array(means), np.array(covariances), np.array(sizes))


def solve_rates(old, new):
    """Rates at which the means of the classes mix to that of the new rows, and an inverse matrix.

    `old` has the moments of the classes. There are as many functions as classes, and they sum to 1
    in every row. The rates sum to 1; some may be negative by chance. `inverse @ functions` has the
    mean 1 in its own class and 0 in others.
    """
    inverse = np.linalg.inv(old.means.T)
    return inverse @ new.means[0], inverse


def clip_rates(rates, floor=0.0):
    """Rates that are not below a floor and sum to 1."""
    rates = np.maximum(rates, floor)
    return rates / rates.sum()


def bound_rates(rates, inverse, old, new, confidence_level):
    """Ends of the interval of each rate: as in Fieller's and Wilson's, what a test does not reject.

    With a rate r of a class the estimate has a variance of the old rows, b r^2 + c (1 - r)^2, of
    this class and of the others in their estimated proportions; and one of the new rows. These are
    of the class with the probability r, so that a row's contribution, of mean 1 there and of mean 0
    elsewhere, has the variance r s + (1 - r) t + r (1 - r). What was seen of few rows may be much
    less: where a class is rare, perhaps none of them was seen. If it is more, that is added.
    """
    z = -ndtri((1 - confidence_level) / 2)
    own = np.einsum("ki,cij,kj->ck", inverse, old.covariances, inverse)  # class, coordinate
    seen = np.einsum("ki,ij,kj->k", inverse, new.covariances[0], inverse)
    within = own * old.sizes[:, None]
    positive, share = clip_rates(rates), 1 / new.sizes[0]
    ends = []
    for k, rate in enumerate(rates):
        others = np.delete(positive, k)
        total = others.sum()
        others = others / total if total > 0 else np.full(len(others), 1 / len(others))
        mixed, spread = others**2 @ np.delete(own[:, k], k), others @ np.delete(within[:, k], k)
        # The variance as a polynomial of r.
        drawn = share * np.array([spread, within[k, k] - spread + 1, -1.0])
        drawn[0] += max(seen[k] - drawn @ positive[k] ** np.arange(3), 0.0)
        learned = np.array([mixed, -2 * mixed, own[k, k] + mixed])
        ends.append(_solve_interval(rate, z**2 * (drawn + learned)))
    low, high = np.array(ends).T
    return np.minimum(low, positive), np.maximum(high, positive)


def _solve_interval(rate, variance):
    """The r in [0, 1] with (rate - r)^2 <= variance(r), a square; all where there is no end."""
    rest, slope, square = np.array([rate**2, -2 * rate, 1.0]) - variance
    if square <= 0:  # the classes can hardly be told apart
        return 0.0, 1.0
    half = -slope / 2
    root = np.sqrt(max(half**2 - square * rest, 0.0))
    return tuple(np.clip([(half - root) / square, (half + root) / square], 0.0, 1.0))


class MeanTest(NamedTuple):
    """A squared distance between means in units of chance, and its law if they are equal.

    `n_functions` means are compared. `n_rows` are the degrees of freedom of the estimated
    covariance, infinite where nothing varies.
    """

    statistic: float
    n_functions: int
    n_rows: float

    def find_pvalue(self):
        """That of Hotelling's law; nothing is said against no functions, or by too few rows."""
        free = self.n_rows - self.n_functions + 1
        if self.n_functions == 0 or free <= 0:
            return 1.0
        ratio = self.statistic / self.n_functions * free / self.n_rows
        return clip_pvalue(fdtrc(self.n_functions, free, ratio))


def compare_means(first, second):
    """Test equal laws of two groups by their means: both have the covariance of all rows."""
    (one, other), gap = (first.sizes[0], second.sizes[0]), first.means[0] - second.means[0]
    degrees = one - 1, other - 1
    spread = degrees[0] * one * first.covariances[0] + degrees[1] * other * second.covariances[0]
    n_rows = sum(degrees)
    if n_rows <= 0:
        return MeanTest(0.0, 0, np.inf)
    whitened = _whiten(spread / n_rows * (1 / one + 1 / other))
    left = whitened @ gap
    return MeanTest(float(left @ left), len(left), float(n_rows) if len(left) else np.inf)


def fit_means(rates, old, new):
    """Test whether some rates mix the means of the classes to that of the new rows.

    The statistic is the smallest over all rates that sum to 1, negative ones too, with the
    covariance of the given ones [Hansen's test of overidentifying restrictions].
    """
    differences = old.means[:-1] - old.means[-1]
    return _test_gap(new.means[0] - old.means[-1], differences, _scale_covariances(rates, old), new)


def count_rows(rates, old, new):
    """Degrees of freedom of the covariance of all functions in the test of these rates."""
    n_functions = old.means.shape[1]
    none = np.zeros(n_functions), np.empty((0, n_functions))
    return _test_gap(*none, _scale_covariances(rates, old), new).n_rows


def _scale_covariances(rates, old):
    return old._replace(covariances=clip_rates(rates)[:, None, None] ** 2 * old.covariances)


def _test_gap(gap, directions, first, second):
    """Test whether a gap between means is one of given directions and chance."""
    parts = np.concatenate([first.covariances, second.covariances])
    whitened = _whiten(parts.sum(axis=0))
    _, values, basis = np.linalg.svd(directions @ whitened.T)
    smallest = np.finfo(np.float64).eps * max(directions.shape) * values.max(initial=0.0)
    others = basis[int((values > smallest).sum()) :] @ whitened
    left, parts = others @ gap, others @ parts @ others.T
    # Nel's and van der Merwe's law of an estimated covariance, with Krishnamoorthy's and Yu's
    # degrees: those of one group's covariance with the same moments. In one dimension Welch's.
    squares, traces = np.einsum("gij,gji->g", parts, parts), np.trace(parts, axis1=1, axis2=2)
    n_left = np.maximum(np.append(first.sizes, second.sizes) - 1, np.finfo(np.float64).tiny)
    spread = np.sum((squares + traces**2) / n_left)
    n_rows = len(left) * (len(left) + 1) / spread if spread > 0 else np.inf
    return MeanTest(float(left @ left), len(left), float(n_rows))


def _whiten(covariance):
    """A matrix W with W C W' = 1, without the functions that vary no more or repeat others."""
    scale = np.sqrt(np.diag(covariance))
    varies = scale > 0
    scale = scale[varies]
    correlation = covariance[np.ix_(varies, varies)] / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(correlation)
    kept = values > _SMALLEST_EIGENVALUE * len(values)
    whitened = np.zeros((kept.sum(), len(covariance)))
    whitened[:, varies] = vectors[:, kept].T / np.sqrt(values[kept])[:, None] / scale
    return whitened


def describe_scores(old, new, n_rows):
    """Polynomials of the ranks of class scores among those of all rows, for both samples.

    Scores have a column for each class, and the answers one for each polynomial. The covariance of
    the means is known from `n_rows` rows.
    """
    n_classes, both = old.shape[1], np.concatenate([old, new])
    most = max(min(n_rows, len(both)) // _ROWS_EACH, 1)  # infinite where nothing varies
    if n_classes == 2:
        columns, degree = both[:, 1:], _DEGREES
    elif n_classes <= min(_MANY_CLASSES, most):
        columns, degree = both, _FEW_DEGREES
    else:
        columns, degree = both.max(axis=1, keepdims=True), _DEGREES
    degree = int(min(degree, most // columns.shape[1]))
    ranks = (2 * rankdata(columns, axis=0) - 1) / len(both) - 1  # inside (-1, 1)
    functions = legvander(ranks, degree)[:, :, 1:].reshape(len(both), -1)
    return functions[: len(old)], functions[len(old) :]


def find_largest_gap(rates, old, codes, old_weights, new, new_weights):
    """Largest gap between the distribution functions of a class's scores and of the mixture.

    `old` and `new` have a column for each class, and `codes` the classes of the old rows.
    """
    old_weights = np.ones(len(old)) if old_weights is None else old_weights
    new_weights = np.ones(len(new)) if new_weights is None else new_weights
    mass = np.bincount(codes, old_weights, minlength=len(rates))
    mixed = (clip_rates(rates) / mass)[codes] * old_weights
    signed = np.concatenate([mixed, -new_weights / new_weights.sum()])
    largest = 0.0
    for scores in np.concatenate([old, new])[:, int(len(rates) == 2) :].T:
        order = np.argsort(scores)
        gaps = np.cumsum(signed[order])
        is_last = np.append(np.diff(scores[order]) > 0, True)  # of equal scores
        largest = max(largest, float(np.abs(gaps[is_last]).max()))
    return largest
