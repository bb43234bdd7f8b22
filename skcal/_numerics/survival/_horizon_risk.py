"""What rows tell of the risk up to a horizon, also where nothing is seen to vary."""

import numpy as np

from skcal._numerics.inference._actual_expected import bound_ratio
from skcal._numerics.inference._rare_events import EventLaw


def bound_horizon(actual, expected, counts, confidence_level, telling=None):
    """Observed risk, and observed over expected events, with intervals, and perhaps a p-value.

    The first three are sums over units. Where outcomes are not seen to vary, `telling` are the
    predicted risks of the rows that tell of them. The ratio is NaN where nothing was expected.
    """
    risk, ratio, pvalue = bound_ratio(actual, counts, confidence_level), (np.nan, 0.0, np.inf), None
    if expected.any():
        ratio = bound_ratio(actual, expected, confidence_level)
    if telling is not None:
        is_certain = actual.sum() > counts.sum() / 2
        *ends, pvalue = bound_alike(telling, confidence_level, is_certain)
        risk, ratio = ((one[0], *both) for one, both in zip((risk, ratio), ends, strict=True))
    return tuple(min(end, 1.0) for end in risk), ratio, pvalue


def judge_mean_risk(actual, counts, expected, share, weight=1.0):
    """p-value of the mean risk, where few rows have the event, or few have none.

    `actual` and `counts` are sums of pseudo-values and numbers of rows in units. The rows tell as
    much as fewer rows without censoring do, by which a binomial number is taken (F. J. Dorey, E. L.
    Korn, 1987, Statistics in Medicine 6): as `share`, how much an event counts, times its mean
    `weight`, or as what is seen of their variance demands.
    """
    n_rows = counts.sum()
    risk = min(max(actual.sum() / n_rows, 0.0), 1.0)
    gaps, spread = actual - risk * counts, n_rows * risk * (1 - risk)
    clumped = counts @ counts / n_rows  # if all rows of a cluster have the event, or none
    size = max(share * weight, gaps @ gaps / spread) if spread > 0 else share * clumped
    sums = risk * n_rows, expected, n_rows
    return float(EventLaw(size, True).find_pvalues(*sums, "two-sided"))


def weigh_event(risks, weights):
    """Mean weight of an event, if weights do not depend on events."""
    spread = weights * (risks * (1 - risks))
    if not spread.any():  # all risks are 0 or 1
        spread = weights
    return float(np.average(weights, weights=spread / spread.max()))  # the least products stay


def bound_error(error, observed, expected):
    """Ends of the SmoothECE where outcomes do not vary, from those of the observed risk.

    It lies between the difference of the mean risks and their sum; where all rows have the event,
    the sum of the probabilities not to have it.
    """
    estimate, low, high = observed
    least = max(0.0, expected - high, low - expected)
    most = expected + high if estimate < 0.5 else 2 - expected - low
    return min(least, error), min(max(most, error), 1.0)


@np.errstate(over="ignore")  # of risks next to 0
def bound_alike(risks, confidence_level, is_certain):
    """Ends of the risk, and of the ratio of observed to expected events, and the p-value.

    `risks` are the predicted ones of rows with known outcomes, all without the event, or with it if
    `is_certain`. The probability of this is prod (1 - p), at most exp(-sum p), or prod p, at most
    the power n of the mean of p.
    """
    pvalue = find_alike_pvalue(risks, is_certain)
    if len(risks) == 0:
        return (0.0, 1.0), (0.0, np.inf), pvalue
    tail, expected = (1 - confidence_level) / 2, risks.sum()
    ratio = 0.0, np.inf
    if is_certain:
        risk = np.exp(np.log(tail) / len(risks)), 1.0
        if expected > 0:
            ratio = risk[0] * len(risks) / expected, len(risks) / expected
    else:
        risk = 0.0, -np.expm1(np.log(tail) / len(risks))
        if expected > 0:
            ratio = 0.0, -np.log(tail) / expected
    return tuple(map(float, risk)), tuple(map(float, ratio)), pvalue


def find_alike_pvalue(risks, is_certain):
    """Twice the probability that all rows of these risks have the event, or that none has it."""
    with np.errstate(divide="ignore"):  # of what was certain, or impossible
        chance = np.log(risks).sum() if is_certain else np.log1p(-risks).sum()
    return max(min(1.0, float(2 * np.exp(chance))), float(np.finfo(np.float64).tiny))
