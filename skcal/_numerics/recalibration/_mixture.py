"""Weights of a mixture of forecasts, or of classes, that make what was seen likeliest."""

import numpy as np

from skcal._numerics.recalibration._newton import DAMPING, minimize_convex, solve_newton_step
from skcal._tools._arrays import list_slices

# Numbers that are worked on at a time, which the cache holds.
_CELLS = 1 << 16
# With many more rows, the search starts from the optimum for this many, evenly spread.
_FEW_ROWS = 20_000
# The last step promises this gain, or less, in the mean log-likelihood. Steps are Newton's, so that
# what is left after it is far below the digits of a weight.
_LAST_DECREMENT = 1e-17
# At the optimum no likelihood of a row is below its share of the mass; steps keep near that.
_TOO_FAR = 1e-20
# A row has at least this share of the mass: curvature grows with the inverse of it.
_LEAST_MASS = 1e-200
# A part with this many rows refutes members for all rows by this many standard errors.
_FEWEST_ROWS, _SURE = 1000, 6.0


def judge(likelihoods, mass, n_rows):
    """Log likelihood of each member on some of `n_rows` rows.

    Each is judged with a share of 1 / (1 + n_rows) of the mean of all, so that a row that it
    holds for impossible counts for some nats, and not for infinitely many. `likelihoods` is
    (n_members, n_samples).
    """
    logs, mass = _list_logs(likelihoods, mass, n_rows)
    return logs @ mass


def find_refuted(likelihoods, mass, limits, n_rows):
    """Which members a random part of `n_rows` rows shows to be beyond `limits` for all rows.

    They are behind the best member by six standard errors more than that; none if rows are few.
    """
    logs, mass = _list_logs(likelihoods, mass, n_rows)
    if len(mass) < _FEWEST_ROWS:
        return np.zeros(len(likelihoods), dtype=bool)
    gaps = logs[np.argmax(logs @ mass)] - logs
    total = gaps @ mass
    error = np.sqrt((gaps - total[:, None] / mass.sum()) ** 2 @ mass**2)
    return total > limits + _SURE * error


def _list_logs(likelihoods, mass, n_rows):
    """Log likelihoods of members with their shares, and masses, of rows that tell of any."""
    told = likelihoods.max(axis=0) > 0
    likelihoods, mass = likelihoods[:, told], mass[told]
    share = 1 / (1 + n_rows)
    return np.log((1 - share) * likelihoods + share * likelihoods.mean(axis=0)), mass


def fit_mixture_weights(likelihoods, prior, mass):
    """Weights w that maximise sum_i m_i log(sum_k w_k p_ki) + sum_k a_k log w_k on the simplex.

    `likelihoods` has the probabilities p_ki that each member gave to what came true. Rows to which
    all members gave 0 say nothing about the weights, and are left out. `prior` has the positive
    a_k, counts of rows that each member is taken to have explained before, and `mass` the weights
    m_i of the rows.
    """
    if len(prior) == 1:
        return np.ones(1)
    largest = likelihoods.max(axis=0)
    told = largest > 0
    if not told.all():
        likelihoods, largest, mass = likelihoods[:, told], largest[told], mass[told]
    rows = np.concatenate([likelihoods / largest, np.eye(len(prior))], axis=1)
    return fit_mixture(rows.T, np.concatenate([mass, prior]))


def fit_mixture(likelihoods, mass):
    """Weights w that maximise sum_i m_i log(p_i @ w) on the simplex, by Newton's method.

    `likelihoods`, (n_samples, n_members), has rows whose largest number is 1. Where the masses sum
    to 1, the weights minimise sum_k w_k - sum_i m_i log(p_i @ w) over all w >= 0: at the minimum
    they sum to 1 without a constraint.
    """
    if not mass.all():  # rows of no mass may have a likelihood of 0
        likelihoods, mass = likelihoods[mass > 0], mass[mass > 0]
    mass, n_members = np.maximum(mass / mass.sum(), _LEAST_MASS), likelihoods.shape[1]
    start = np.full(n_members, 1 / n_members)
    step = len(mass) // _FEW_ROWS
    if step > 1 and mass[::step].any():
        # From inside, where no row that was left out has a likelihood of 0.
        start = 0.99 * fit_mixture(likelihoods[::step], mass[::step]) + 0.01 * start
    weights = _minimize(likelihoods.T, mass, start)
    return weights / weights.sum()


def _minimize(likelihoods, mass, start):
    """The best weights; a member has a row, as few are read faster side by side."""
    n_members = len(start)
    size = max(_CELLS // n_members, n_members)  # products of small matrices are slow
    parts = list_slices(mass, size)

    def evaluate(weights):
        value, gradient = weights.sum(), np.ones(n_members)
        for rows in parts:
            mixed = weights @ likelihoods[:, rows]
            if not (mixed > _TOO_FAR * mass[rows]).all():  # the search comes back from there
                return np.inf, np.zeros(n_members), None
            value -= mass[rows] @ np.log(mixed)
            gradient -= likelihoods[:, rows] @ (mass[rows] / mixed)

        def step(free):
            members = slice(None) if free.all() else free  # a slice is no copy
            shares = (
                likelihoods[:, rows][members]
                * (np.sqrt(mass[rows]) / (weights @ likelihoods[:, rows]))
                for rows in parts
            )
            hessian = sum(share @ share.T for share in shares)
            # Where columns are proportional nothing tells which of them a weight belongs to.
            hessian += np.diag(DAMPING * np.diag(hessian))
            return solve_newton_step(hessian, gradient[free])

        return value, gradient, step

    return minimize_convex(evaluate, start, 0.0, _LAST_DECREMENT)[0]


def expect_an_error(weights, errors):
    """Weights for which one error is expected among the rows, or as many as by the first member.

    Where `weights` expect fewer errors, the first member gets more. `errors` has the number of
    errors that each member expects: the sum over rows of one minus the probability of what came
    true.

    Rows that are all right do not tell how often others will be wrong. The map that is best for the
    former, such as a temperature near 0, would be nearly infinitely wrong for the latter.
    """
    expected, least = weights @ errors, min(1.0, errors[0])
    if expected >= least:
        return weights
    share = (least - expected) / (errors[0] - expected)
    raised = (1 - share) * weights
    raised[0] += share
    return raised
