"""Split conformal prediction: which score a new row exceeds with a given probability."""

import numpy as np


def conformal_quantile(scores, weights, level):
    """The smallest score at or below which lies a share `level` of all rows and a new one.

    Infinite where the rows are too few. Weights are counts.
    """
    order = np.argsort(scores)
    mass = np.cumsum(weights[order])
    # A count that should be whole is not raised by the rounding of its product.
    needed = level * (mass[-1] + 1) * (1 - 4 * np.finfo(np.float64).eps)
    place = np.searchsorted(mass, needed)
    return float(scores[order[place]]) if place < len(scores) else np.inf
