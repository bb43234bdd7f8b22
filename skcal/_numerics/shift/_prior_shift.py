"""What other populations ask for: probabilities for other base rates, the rates, and weights."""

import numpy as np
from scipy.special import softmax

from skcal._numerics.recalibration._mixture import fit_mixture

# Ratios of smaller rates are found by their logarithms, which takes longer.
_TINY = 1e-100


def shift_probabilities(proba, old, new):
    """Probabilities where classes have the rates `new` in place of `old`, rows divided by sums.

    Probabilities of 0 and 1 stay unchanged. So do rows in which only classes with a new rate of 0
    are possible: unless they are certain, they have no limit as these rates vanish. If an old rate
    is 0, so is the new one.
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

    Every row has a positive entry in a column whose old rate is positive. Where an old rate is 0,
    the new one is 0. The rates are the weights of a mixture whose members have the likelihoods
    proba_ik / old_k. The factor of a row makes no difference; with a largest entry of 1 none
    overflows.
    """
    known = old > 0
    if not known.all():
        rates = np.zeros_like(old)
        rates[known] = fit_prior(proba[:, known], old[known], weights)
        return rates
    mass = np.ones(len(proba)) if weights is None else weights
    return fit_mixture(_find_ratios(proba, old), mass)


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


def weigh_rows(chances, n_old, n_new, clip):
    """Density ratios of old rows, clipped and with mean 1, and their mean as they are.

    With the probability p (`chances`) that an old row is a new one, its ratio is
    p / (1 - p) * n_old / n_new. Weights are the ratios, at most `clip`, over their mean; NaN where
    all are 0 or one is infinite. The mean of the ratios without a limit is 1 where there are old
    rows like all new ones, and else the share of the new population that is like some old rows.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = chances / (1 - chances) * (n_old / n_new)
        clipped = np.minimum(ratios, clip)
        return clipped / clipped.mean(), float(ratios.mean())
