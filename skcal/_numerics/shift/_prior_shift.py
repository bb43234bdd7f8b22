"""Class probabilities for other base rates, and the rates that unlabelled rows make likeliest."""

import numpy as np
from scipy.special import softmax

from skcal._numerics.recalibration._newton import DAMPING, minimize_convex, solve_newton_step

# Numbers that are worked on at a time, which the cache holds.
_CELLS = 1 << 16
# The search starts from the optimum for so many rows, evenly spread, where there are many more.
_FEW_ROWS = 20_000
# The last step promises this gain, or less, in the mean log-likelihood. Steps are Newton's, so that
# what is left after it is far below the digits of a rate.
_LAST_DECREMENT = 1e-17
# At the optimum no likelihood of a row is below its share of the mass; steps keep near that.
_TOO_FAR = 1e-20
# Ratios of smaller rates are found by their logarithms, which takes longer.
_TINY = 1e-100


def shift_probabilities(proba, old, new):
    """Probabilities where classes have the rates `new` in place of `old`, rows divided by sums.

    Probabilities of 0 and 1 stay as they are. So do rows of classes whose new rate is 0 alone: they
    have no limit as these rates vanish, but for those that are sure.

    Parameters
    ----------
    proba : ndarray of shape (n_samples, n_classes)
    old, new : ndarray of shape (n_classes,)
        Where an old rate is 0, the new one is 0, too.
    """
    factor = find_factors(old, new)
    shifted = proba * (factor / factor.max())  # of products of 1 at most none overflows
    total = shifted.sum(axis=1, keepdims=True)
    return np.where(total > 0, shifted / np.where(total > 0, total, 1.0), proba)


def shift_logits(logits, old, new):
    """The same of finite logits, to which logarithms of the ratios of rates are added."""
    with np.errstate(divide="ignore"):
        return softmax(logits + np.log(find_factors(old, new)), axis=1)


def find_factors(old, new):
    """New rates over old ones, by which odds are multiplied; 0 / 0 is 0."""
    return np.divide(new, old, out=np.zeros_like(old), where=old > 0)


def fit_prior(proba, old, weights=None):
    """Rates that maximise sum_i w_i log(sum_k rate_k proba_ik / old_k), by Newton's method.

    Parameters
    ----------
    proba : ndarray of shape (n_samples, n_classes)
        Every row has a positive entry in a column whose old rate is positive.
    old : ndarray of shape (n_classes,)
        Rates for which the probabilities are made. Where one is 0, the new one is 0.
    weights : ndarray of shape (n_samples,) or None

    Returns
    -------
    ndarray of shape (n_classes,)
        The sum is 1.

    Notes
    -----
    With q_ik = proba_ik / old_k this is the minimum over rates >= 0 of their sum minus
    mean log(q @ rates), without a further constraint: it scales them so that they sum to 1. The
    factor of a row makes no difference; with a largest entry of 1 none overflows.
    """
    known = old > 0
    if not known.all():
        rates = np.zeros_like(old)
        rates[known] = fit_prior(proba[:, known], old[known], weights)
        return rates
    mass = np.full(len(proba), 1 / len(proba)) if weights is None else weights / weights.sum()
    ratios = _find_ratios(proba, old)
    start = np.full(len(old), 1 / len(old))
    step = len(proba) // _FEW_ROWS
    if step > 1 and mass[::step].sum() > 0:
        few = mass[::step] / mass[::step].sum()
        # From inside, where no row that was left out has a likelihood of 0.
        start = 0.99 * _minimize(ratios[::step], few, start) + 0.01 * start
    rates = _minimize(ratios, mass, start)
    return rates / rates.sum()


def _find_ratios(proba, old):
    """Probabilities over rates, in units of the largest of each row."""
    smallest = old.min()
    if smallest > _TINY:
        ratios = proba * (smallest / old)
    else:
        with np.errstate(divide="ignore"):
            logs = np.log(proba) - np.log(old)
        ratios = np.exp(logs - logs.max(axis=1, keepdims=True))
    return ratios / ratios.max(axis=1, keepdims=True)


def _minimize(ratios, mass, start):
    n_classes = len(start)
    size = max(_CELLS // n_classes, n_classes)  # products of small matrices are slow
    parts = [slice(first, first + size) for first in range(0, len(ratios), size)]

    def evaluate(rates):
        value, gradient = rates.sum(), np.ones(n_classes)
        for rows in parts:
            mixed = ratios[rows] @ rates
            if not (mixed > _TOO_FAR * mass[rows]).all():  # the search comes back from there
                return np.inf, np.zeros(n_classes), None
            value -= mass[rows] @ np.log(mixed)
            gradient -= (mass[rows] / mixed) @ ratios[rows]

        def step(free):
            hessian = 0.0
            for rows in parts:
                share = ratios[rows] if free.all() else ratios[rows][:, free]
                share = share * (np.sqrt(mass[rows]) / (ratios[rows] @ rates))[:, None]
                hessian = hessian + share.T @ share
            # Where columns are proportional nothing tells which of them a rate belongs to.
            hessian += np.diag(DAMPING * np.diag(hessian))
            return solve_newton_step(hessian, gradient[free])

        return value, gradient, step

    return minimize_convex(evaluate, start, 0.0, _LAST_DECREMENT)[0]
