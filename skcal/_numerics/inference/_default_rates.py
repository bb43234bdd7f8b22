"""Numbers of events in grades: what predictions allow, and rates that are prudent."""

import numpy as np
from scipy.special import bdtr, bdtrc, betainc, betaincinv

_LEAST = np.finfo(np.float64).tiny


def find_binomial_pvalues(n_events, n_rows, rate):
    """Of too many events, and of a number as far in either tail."""
    greater = bdtrc(n_events - 1.0, n_rows, rate)
    greater = np.where(n_events == 0, 1.0, greater)
    less = bdtr(n_events.astype(np.float64), n_rows, rate)
    return _bound(greater), _bound(2 * np.minimum(greater, less))


def find_jeffreys_pvalues(n_events, n_rows, rate):
    """Posterior probability that the rate is too high, with Jeffreys' prior; and two-sided."""
    greater = betainc(n_events + 0.5, n_rows - n_events + 0.5, rate)
    less = betainc(n_rows - n_events + 0.5, n_events + 0.5, 1 - rate)
    return _bound(greater), _bound(2 * np.minimum(greater, less))


def find_most_prudent_rates(n_events, n_rows, confidence_level):
    """Upper bounds of the rates of grades from the best to the worst.

    That of a grade is the bound of Clopper and Pearson for its rows and those of all worse grades,
    which have no lower rates.
    """
    events, rows = (np.cumsum(values[::-1])[::-1] for values in (n_events, n_rows))
    is_open = events < rows
    zeros = np.where(is_open, rows - events, 1)
    return np.where(is_open, betaincinv(events + 1.0, zeros, confidence_level), 1.0)


def _bound(pvalues):
    return np.clip(pvalues, _LEAST, 1.0)
