"""What rows tell of their risk where none has had the event, so that nothing is seen to vary."""

import numpy as np


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
