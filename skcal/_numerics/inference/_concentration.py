"""A test of the area between the concentration and the Lorenz curve."""

import numpy as np
from scipy.special import stdtr

from skcal._numerics.distributions._concentration import list_parts
from skcal._numerics.inference._classical_tests import clip_pvalue
from skcal._numerics.inference._effective_rows import LEAST_REST, find_degrees


def assess_area(targets, predictions, weights, member, alternative):
    """Studentised area, its p-value, and the area; `member` numbers clusters, or is None.

    The variance is that of the jackknife. Amounts and rare events have few parts that matter, so
    that Student's law has the degrees of freedom of as many as these.
    """
    parts, expected = list_parts(targets, predictions, weights)
    area = float(parts.sum())
    if member is not None:
        parts, expected = (np.bincount(member, values) for values in (parts, expected))
    pulls = parts / np.maximum(1 - expected, LEAST_REST)
    unit = np.abs(pulls).max()
    if unit == 0:
        return 0.0, 1.0, area
    squares = (pulls / unit) ** 2
    variance = squares.sum()
    statistic = float(parts.sum() / (unit * np.sqrt(variance)))
    degrees = find_degrees(squares @ squares / variance**2)
    signs = {"two-sided": -abs(statistic), "greater": -statistic, "less": statistic}
    n_tails = 2 if alternative == "two-sided" else 1
    return statistic, clip_pvalue(n_tails * stdtr(degrees, signs[alternative])), area
