"""What rows tell of the risk up to a horizon, also where nothing is seen to vary."""

import numpy as np

from skcal._numerics.inference._actual_expected import bound_ratio


def bound_horizon(actual, expected, counts, confidence_level, telling=None):
    """Observed risk, and observed over expected events, with intervals, and perhaps a p-value.

    The first three are sums over units. Where outcomes are not seen to vary, `telling` are the
    predicted risks of the rows that tell of them. The ratio is NaN where nothing was expected.
    """
    risk, ratio, pvalue = bound_ratio(actual, counts, confidence_level), (np.nan, 0.0, np.inf), None
    if expected.any():
        ratio = bound_ratio(actual, expected, confidence_level)
    if telling is not None:
        *ends, pvalue = bound_without_event(telling, confidence_level)
        risk, ratio = ((one[0], 0.0, end) for one, end in zip((risk, ratio), ends, strict=True))
    return tuple(min(end, 1.0) for end in risk), ratio, pvalue


def bound_without_event(risks, confidence_level):
    """Upper ends of the risk and of the ratio of observed to expected events, and the p-value.

    `risks` are the predicted ones of the rows that were followed up to the horizon. That none of
    them has the event has the probability prod (1 - p), at most exp(-sum p).
    """
    if len(risks) == 0:
        return 1.0, np.inf, 1.0
    tail = (1 - confidence_level) / 2
    risk = -np.expm1(np.log(tail) / len(risks))
    expected = risks.sum()
    ratio = -np.log(tail) / expected if expected > 0 else np.inf
    with np.errstate(divide="ignore"):  # of what was certain
        pvalue = min(1.0, float(2 * np.exp(np.log1p(-risks).sum())))
    return float(risk), float(ratio), max(pvalue, float(np.finfo(np.float64).tiny))
