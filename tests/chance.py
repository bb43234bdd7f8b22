"""What chance alone does in one of ten million runs: the limit of small simulations."""

from scipy.stats import binom


def most_of(n_samples, share):
    """A number of errors that is exceeded with a probability below 1e-7, if `share` err."""
    return binom.isf(1e-7, n_samples, share)
