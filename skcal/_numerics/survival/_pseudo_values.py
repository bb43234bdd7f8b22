r"""Pseudo-values of censored rows: numbers that stand for outcomes at horizons.

The Aalen-Johansen estimate F of the risk up to a horizon is a function of the weights of the rows,
all 1 here. The pseudo-value of row i is F + n dF/dw_i, the infinitesimal jackknife. Their mean is
F, and where censoring does not depend on the features, the mean for given features is the risk of
these, up to terms that vanish like 1/n. With S the Kaplan-Meier estimate of no event of any kind,
and the hazards L = d/Y of all events and L_k of those of the kind at each time,

    dF/dw_i = sum_{t <= h} S(t-) (dL_k(t)/dw_i + L_k(t) dlog S(t-)/dw_i),

in which the derivative of a hazard is (1{i has the event at t} - 1{i at risk at t} L(t)) / Y(t).
A row of weight w counts as w rows, and n is then the sum of the weights. A row that is not among
those of the estimate is added with weight 0: what it has is a function of itself alone.
"""

import numpy as np


def find_pseudo_values(event, is_kind, time, horizons, weights=None, others=None):
    """Pseudo-values of all rows at ascending horizons, of shape (n_rows, n_horizons).

    The estimate is that of the same rows with weights, or of `others`: events, whether these are of
    the kind, and times.
    """
    if others is None:
        others = event, is_kind, time
        times, number = np.unique(time, return_inverse=True)
        known = number
    else:
        times, number = np.unique(np.append(others[2], time), return_inverse=True)
        known, number = np.split(number, [len(others[2])])
    weights = np.ones(len(known)) if weights is None else weights
    at_risk = np.cumsum(np.bincount(known, weights, len(times))[::-1])[::-1]
    events, of_kind = (np.bincount(known, weights * which, len(times)) for which in others[:2])
    hazard = _divide(events, at_risk)
    free = np.append(1.0, np.cumprod(1 - hazard)[:-1])
    one = _divide(free, at_risk)  # by how much an event of the kind then raises the risk
    # -dlog(1 - L) of a row with an event; where no row is left, S is 0 after it, and stays so.
    fall = _divide(1.0, np.where(hazard < 1, at_risk * (1 - hazard), 0.0))
    gain = np.cumsum(hazard * fall)
    steps = free * _divide(of_kind, at_risk)
    risk, lost = np.cumsum(steps), np.cumsum(_divide(steps, at_risk))
    early = np.cumsum(steps * np.append(0.0, gain[:-1]))
    # The sums up to the last time before each horizon, or up to that of the row if it is earlier.
    values = np.empty((len(time), len(horizons)))
    for k, last in enumerate(np.searchsorted(times, horizons, side="right") - 1):
        if last < 0:
            values[:, k] = 0.0
            continue
        place = np.minimum(np.arange(len(times)), last)
        left = risk[last] - risk[place]
        followed = early[place] - lost[place] + gain[place] * left
        is_seen = number <= last
        moved = followed[number] - (event & is_seen) * (fall * left)[number]
        moved += (is_kind & is_seen) * one[number]
        values[:, k] = risk[last] + weights.sum() * moved
    return values


def _divide(numbers, at_risk):
    """Ratios, 0 where nobody is left at risk."""
    out = np.zeros(len(at_risk))
    return np.divide(numbers, at_risk, where=at_risk > 0, out=out)


def average_over_time(curves, times):
    """Mean over time of each row's curve, from 0 at 0 to the last time, by the trapezoidal rule."""
    widths = np.diff(np.append(0.0, times)) / times[-1]
    return curves @ (widths + np.append(widths[1:], 0.0)) / 2
