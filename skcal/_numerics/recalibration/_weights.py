"""Weights as numbers of rows."""

from skcal._tools._arrays import namespace


def count_as_rows(weights):
    """Positive weights that claim no fewer rows than their effective number, (sum w)^2 / sum w^2.

    Weights whose sum is smaller, such as shares, are raised to it, and others, such as numbers of
    copies, stay as they are.
    """
    xp = namespace(weights)
    largest = xp.max(weights)
    shares = weights / largest  # whose squares neither overflow nor vanish
    unit = xp.sum(shares) / xp.sum(shares * shares)
    return weights if unit <= largest else shares * unit
