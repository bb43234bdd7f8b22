r"""Pseudo-values of censored rows: numbers that stand for outcomes at horizons.

The Aalen-Johansen estimate F of the risk up to a horizon is a function of the weights of the rows,
all 1 here. The pseudo-value of row i is F + n dF/dw_i, the infinitesimal jackknife. Their mean is
F, and where censoring does not depend on the features, the mean for given features is the risk of
these, up to terms that vanish like 1/n. With S the Kaplan-Meier estimate of no event of any kind,
and the hazards L = d/Y of all events and L_k of those of the kind at each time,

    dF/dw_i = sum_{t <= h} S(t-) (dL_k(t)/dw_i + L_k(t) dlog S(t-)/dw_i),

in which the derivative of a hazard is (1{i has the event at t} - 1{i at risk at t} L(t)) / Y(t).
A row of weight w counts as w rows, and n is then the sum of the weights.
"""

import numpy as np


def find_pseudo_values(event, is_kind, time, horizons, weights=None):
    """Pseudo-values of all rows at ascending horizons, of shape (n_rows, n_horizons)."""
    weights = np.ones(len(time)) if weights is None else weights
    times, number = np.unique(time, return_inverse=True)
    at_risk = np.cumsum(np.bincount(number, weights)[::-1])[::-1]
    hazard, of_kind = (
        np.bincount(number, weights * which, len(times)) / at_risk for which in (event, is_kind)
    )
    free = np.append(1.0, np.cumprod(1 - hazard)[:-1])
    # -dlog(1 - L) of a row with an event; where no row is left, S is 0 after it, and stays so.
    fall = np.divide(1.0, at_risk * (1 - hazard), where=hazard < 1, out=np.zeros(len(times)))
    gain = np.cumsum(hazard * fall)
    risk = np.cumsum(free * of_kind)
    early = np.cumsum(free * of_kind * np.append(0.0, gain[:-1]))
    lost = np.cumsum(free * of_kind / at_risk)
    # The sums up to the last time before each horizon, or up to that of the row if it is earlier.
    values = np.empty((len(time), len(horizons)))
    for k, last in enumerate(np.searchsorted(times, horizons, side="right") - 1):
        if last < 0:
            values[:, k] = 0.0
            continue
        place = np.minimum(np.arange(len(times)), last)
        left = risk[last] - risk[place]
        followed = early[place] - lost[place] + gain[place] * left
        seen = np.arange(len(times)) <= last
        moved = followed[number] - (event & seen[number]) * (fall * left)[number]
        moved += (is_kind & seen[number]) * (free / at_risk)[number]
        values[:, k] = risk[last] + weights.sum() * moved
    return values


def average_over_time(curves, times):
    """Mean over time of each row's curve, from 0 at 0 to the last time, by the trapezoidal rule."""
    widths = np.diff(np.append(0.0, times)) / times[-1]
    return curves @ (widths + np.append(widths[1:], 0.0)) / 2
