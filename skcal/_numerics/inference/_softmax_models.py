r"""Multinomial logistic models of outcomes, one within the other, on the log odds of predictions.

The log odds of class k against the reference are, with the log odds l of the predictions,

    l_k + sum_c theta_kc x_c .

The x are orthonormal: the constant, then what each further column adds. A model is a matrix of
rows, each a direction of all theta; the smaller of two has directions of the larger one.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import fdtrc, logsumexp, stdtrit

from skcal._numerics.inference._classical_tests import chi_squared_pvalue, clip_pvalue
from skcal._numerics.inference._cluster_signs import sum_clusters
from skcal._numerics.inference._effective_rows import (
    LEAST_REST,
    Telling,
    count_in_clusters,
    count_jointly,
    divide_squares,
    find_degrees,
    find_shares,
)
from skcal._numerics.recalibration._newton import (
    DAMPING,
    centre_features,
    minimize_convex,
    solve_newton_step,
)

# A column that differs by less from what others say, beside its own spread, adds nothing: that is
# the rounding of predictions in single precision.
_NOTHING_NEW = 1e-6
# Directions in which the information is a smaller share of the largest are not told apart.
_FLAT = 1e-12
_SMALLEST = 1e-15
# An estimate is infinite if its error from one average row is more than this times the estimate and
# its unit: a finite one would rest on 1 row in 1e6.
_LARGEST_ERROR = 1e3
_LEAST_DEGREES = 0.1
# Mean losses that differ by less do so by rounding.
_NO_GAIN = 1e-14
#: What `SoftmaxModels.bound` gives of infinite parameters.
UNKNOWN = np.nan, np.inf, -np.inf, np.inf


class SoftmaxFit(NamedTuple):
    """Maximum of the likelihood of a model."""

    basis: np.ndarray  # (n_parameters, n_equations * n_columns)
    values: np.ndarray  # the parameters
    loss: float  # mean log loss
    residuals: np.ndarray  # (n_equations, n_rows): targets minus chances
    chances: np.ndarray  # of the classes but the reference
    information: np.ndarray  # of all theta, per row of weight 1


class Gain(NamedTuple):
    """What a larger model takes off the mean log loss, and the test of it."""

    statistic: float
    n_terms: int
    pvalue: float
    gain: float


class SoftmaxModels:
    """Weighted rows, of which `log_odds` (n_equations, n_rows) are those of the predictions.

    `targets` of the same shape are 1 where the class came true, and else 0, or between them.
    `features` are further columns, (n_features, n_rows). Weights have any scale, and unequal ones
    tell as many rows as `_effective_rows` says. `member` are numbers of clusters, None where rows
    are independent.
    """

    def __init__(self, log_odds, targets, weights, features=None, *, member=None):
        self.log_odds, self.targets, self.member = log_odds, targets, member
        self.shares = find_shares(weights)
        is_counted = member is None and (weights == weights[0]).all()
        self._counted = float(len(weights)) if is_counted else None
        given = [np.ones((1, len(weights))), log_odds, *([] if features is None else [features])]
        self.columns = orthonormalize(np.concatenate(given), self.shares)
        #: Of the log odds of each equation along the columns, without what they are on average.
        self.places = (log_odds * self.shares) @ self.columns.T
        self.places[:, 0] = 0.0
        self.places[np.abs(self.places).max(axis=1) <= _NOTHING_NEW] = 0.0

    @property
    def intercepts(self):
        """Basis of an intercept for each equation."""
        n_equations, n_columns = len(self.log_odds), len(self.columns)
        return np.eye(n_equations * n_columns)[::n_columns]

    @property
    def slopes(self):
        """Basis of a slope for each equation, of its own log odds; 0 where these are constant."""
        return np.einsum("kl,kc->klc", np.eye(len(self.places)), self.places).reshape(
            len(self.places), -1
        )

    @property
    def everything(self):
        """Basis of all coefficients."""
        return np.eye(self.places.size)

    def find_terms(self):
        """Coefficients of the columns times this are those of the constant and of the log odds.

        None where log odds depend on each other.
        """
        n_columns = len(self.columns)
        if n_columns != len(self.log_odds) + 1:
            return None
        along = (self.log_odds * self.shares) @ self.columns.T
        return np.linalg.inv(np.vstack([np.eye(1, n_columns), along]))

    def fit(self, basis):
        """The `SoftmaxFit` of a model."""

        def evaluate(values):
            loss, residuals, chances, rests = self._expand(values @ basis)
            gradient = -basis @ ((residuals * self.shares) @ self.columns.T).ravel()

            def step(_):  # all are free, as none has a bound
                damping = np.diag(DAMPING * (basis**2).sum(axis=1))
                hessian = basis @ self._form_information(chances, rests) @ basis.T
                return solve_newton_step(hessian + damping, gradient)

            return loss, gradient, step

        values = np.zeros(len(basis))
        if len(basis):
            values, _ = minimize_convex(evaluate, values)
        loss, residuals, chances, rests = self._expand(values @ basis)
        information = self._form_information(chances, rests)
        return SoftmaxFit(basis, values, float(loss), residuals, chances, information)

    def compare(self, small, large):
        """The `Gain` of a larger model over a smaller one that lies within it."""
        n_terms, gain = len(large.basis) - len(small.basis), small.loss - large.loss
        if gain <= _NO_GAIN:
            return Gain(0.0, n_terms, 1.0, 0.0)
        telling = Telling(self._counted or 0.0)
        if self._counted is None:
            telling = self._count_terms(small, large.basis)
        statistic = float(2 * telling.n_rows * gain)
        if np.isinf(telling.degrees):
            pvalue = chi_squared_pvalue(statistic, n_terms)
        else:  # Hotelling's law
            known = max(telling.degrees - n_terms + 1, _LEAST_DEGREES)
            scaled = statistic * known / (telling.degrees * n_terms)
            pvalue = clip_pvalue(fdtrc(n_terms, known, scaled))
        return Gain(statistic, n_terms, pvalue, gain)

    def determines(self, fit, contrast, spread=1.0):
        """Whether a contrast of the parameters of a fit has an estimate, in units of 1 / `spread`.

        Where outcomes are separated the likelihood rises for ever, and the search for its maximum
        stops where next to no information is left. Residuals, of which nothing is left either,
        cannot tell.
        """
        variance = contrast @ self._invert(fit, contrast)
        largest = _LARGEST_ERROR * (1 / spread + abs(contrast @ fit.values))
        return bool(0 <= variance < largest**2)

    def tell(self, fit, contrast, *, is_restricted=False):
        """Variance of a contrast of the parameters of a fit, and its degrees of freedom.

        A model that is restricted may be wrong, so that outcomes vary more than it says.
        """
        moves = self._move((self._invert(fit, contrast) @ fit.basis)[None])
        pulls, spread = self._pull(fit, moves)[0], self._spread(fit, moves)[0]
        variance = float(self.shares @ spread)
        squares = self.shares @ pulls**2, self.shares**2 @ pulls**2
        mean_square = min(squares[0], variance) if is_restricted else squares[0]
        if self.member is None:
            n_rows = divide_squares(mean_square, squares[1], self.shares, self.shares**2)
            return variance / n_rows, np.inf
        telling = count_in_clusters(
            mean_square, self.shares * pulls, self.shares * spread, self.shares, self.member
        )
        return variance / telling.n_rows, telling.degrees

    def bound(self, fit, contrast, level, hypothesis=0.0, spread=1.0, *, is_restricted=False):
        """A contrast beside what it is without recalibration, its standard error and interval."""
        if not self.determines(fit, contrast, spread):
            return UNKNOWN
        variance, degrees = self.tell(fit, contrast, is_restricted=is_restricted)
        error = float(np.sqrt(variance))
        estimate = hypothesis + float(contrast @ fit.values)
        half = -error * float(stdtrit(degrees, (1 - level) / 2))
        return estimate, error, estimate - half, estimate + half

    def _invert(self, fit, contrast):
        """The inverse information of a fit times a contrast."""
        information = fit.basis @ fit.information @ fit.basis.T
        # Of separated outcomes nothing is left; the variance is then as good as infinite.
        information += _SMALLEST * np.diag(np.diag(information) + _SMALLEST)
        return np.linalg.solve(information, contrast)

    def _count_terms(self, small, basis):
        """A `Telling` of what the larger model has beyond the smaller one."""
        whole = basis @ small.information
        if len(small.basis):
            own = small.basis @ small.information @ small.basis.T
            shift = np.linalg.lstsq(own, small.basis @ whole.T, rcond=_FLAT)[0]
            basis = basis - shift.T @ small.basis
        sizes, axes = np.linalg.eigh(basis @ small.information @ basis.T)
        told = sizes > _FLAT * max(sizes.max(), 0.0)
        if not told.any():
            return Telling(0.0)
        directions = (axes[:, told] / np.sqrt(sizes[told])).T @ basis
        moves = self._move(directions)
        pulls = self._pull(small, moves)
        scores, mean_squares = pulls @ self.shares, (pulls * self.shares) @ pulls.T
        pulls = pulls * self.shares
        if self.member is None:
            n_rows, degrees = count_jointly(scores, mean_squares, pulls @ pulls.T), np.inf
        else:
            parts = np.bincount(self.member, self.shares * self._spread(small, moves).sum(axis=0))
            parts /= parts.sum()
            sums = np.array([sum_clusters(one, self.member) for one in pulls])
            sums /= np.maximum(1 - parts, LEAST_REST)
            n_rows = count_jointly(scores, mean_squares, sums @ sums.T)
            degrees = float(find_degrees(parts @ parts))
        return Telling(0.0 if np.isnan(n_rows) else n_rows, degrees)

    def _expand(self, theta):
        """Mean log loss, residuals, chances, and what they leave to all other classes."""
        scores = self.log_odds + theta.reshape(self.places.shape) @ self.columns
        top = np.concatenate([np.zeros((1, scores.shape[1])), scores])
        total = logsumexp(top, axis=0)
        chances = np.exp(scores - total)
        loss = self.shares @ (total - (self.targets * scores).sum(axis=0))
        # Not 1 minus a chance: where outcomes are separated these are all that is left.
        everyone = np.exp(top - total)
        rests = np.array([np.delete(everyone, k, axis=0).sum(axis=0) for k in range(1, len(top))])
        return loss, self.targets - chances, chances, rests

    def _form_information(self, chances, rests):
        """sum_i s_i p_k (1{k = l} - p_l) x_c x_d for the coefficients (k, c) and (l, d)."""
        n_equations, n_columns = self.places.shape
        found = np.empty((n_equations, n_columns, n_equations, n_columns))
        for k in range(n_equations):
            for other in range(n_equations):
                factor = -chances[other] if k != other else rests[k]
                curvature = self.shares * chances[k] * factor
                found[k, :, other] = (self.columns * curvature) @ self.columns.T
        return found.reshape(self.places.size, self.places.size)

    def _move(self, directions):
        """How scores of rows move along directions, (n_directions, n_equations, n_rows)."""
        return directions.reshape(-1, *self.places.shape) @ self.columns

    def _pull(self, fit, moves):
        """Derivatives of the log likelihood of each row along directions."""
        return np.einsum("ki,dki->di", fit.residuals, moves)

    def _spread(self, fit, moves):
        """Information of each row on directions: the variance of its moves."""
        mean = np.einsum("ki,dki->di", fit.chances, moves)
        return np.maximum(np.einsum("ki,dki->di", fit.chances, moves**2) - mean**2, 0.0)


def orthonormalize(columns, shares):
    """Orthonormal columns with the same linear combinations; the first one is constant."""
    found = columns[:1] / columns[0, 0]
    centred, _ = centre_features(columns[1:].T, shares)
    for column in centred.T:
        size = np.abs(column).max()
        rest = column / (size or 1.0)
        spread = np.sqrt(shares @ rest**2)
        for _ in range(2):  # the second time for what rounding has left
            rest = rest - (found @ (shares * rest)) @ found
        left = np.sqrt(shares @ rest**2)
        if left > _NOTHING_NEW * spread:
            found = np.concatenate([found, rest[None] / left])
    return found
