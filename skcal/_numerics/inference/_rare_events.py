"""Numbers of events with Poisson's law, and the bounds of what is expected (F. Garwood, 1936)."""

import numpy as np
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv


def find_tails(n_events, expected):
    """Chances of at most, and of at least this number of events."""
    at_least = np.where(n_events > 0, gammainc(np.maximum(n_events, 1.0), expected), 1.0)
    return gammaincc(n_events + 1.0, expected), at_least


def bound_expected(n_events, tail):
    """The expected numbers for which at least, and at most so many have the chance `tail`."""
    low = np.where(n_events > 0, gammaincinv(np.maximum(n_events, 1.0), tail), 0.0)
    return low, gammainccinv(n_events + 1.0, tail)
