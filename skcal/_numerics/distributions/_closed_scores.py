"""CRPS of Student, gamma and Poisson distributions in closed form: E|X - y| - E|X - X'| / 2.

They are for one target and its shape each, without units, and NaN where they lose many digits.
"""

import numpy as np
from scipy import special

# Shapes that are far enough from those where terms cancel, or are not computed accurately.
_STUDENT, _GAMMA, _POISSON = (1.1, 1e8), (1e-3, 1e5), (1e-3, 1e5)
# A score below this part of its largest term has lost digits.
_CANCELLED = 1e-5


def score_student(y, df):
    """CRPS of Student's t distribution."""
    inside = np.clip(df, *_STUDENT)
    density = np.exp(-(inside + 1) / 2 * np.log1p(y**2 / inside) - special.betaln(0.5, inside / 2))
    density /= np.sqrt(inside)
    size = special.betaln(0.5, inside - 0.5) - 2 * special.betaln(0.5, inside / 2)
    return _add(
        df == inside,
        np.abs(y) * (1 - 2 * special.stdtr(inside, -np.abs(y))),
        2 * density * (inside + y**2) / (inside - 1),
        -2 * np.sqrt(inside) / (inside - 1) * np.exp(size),
    )


def score_gamma(y, shape):
    """CRPS of the gamma distribution."""
    inside, positive = np.clip(shape, *_GAMMA), np.maximum(y, 0.0)
    return _add(
        shape == inside,
        y * (2 * special.gammainc(inside, positive) - 1),
        -inside * (2 * special.gammainc(inside + 1, positive) - 1),
        -np.exp(-special.betaln(0.5, inside)),
    )


def score_poisson(y, mean):
    """CRPS of the Poisson distribution."""
    inside, count = np.clip(mean, *_POISSON), np.floor(y)
    known = np.maximum(count, 0.0)
    mass = np.exp(special.xlogy(known, inside) - inside - special.gammaln(known + 1))
    is_reached = count >= 0
    return _add(
        mean == inside,
        (y - inside) * (2 * is_reached * special.pdtr(known, inside) - 1),
        2 * inside * is_reached * mass,
        -inside * (special.i0e(2 * inside) + special.i1e(2 * inside)),
    )


def _add(is_inside, *terms):
    """Sum of the terms, NaN where the shape is not inside or they cancel."""
    total = sum(terms)
    largest = np.max(np.abs(np.broadcast_arrays(*terms)), axis=0)
    return np.where(is_inside & (total > _CANCELLED * largest), total, np.nan)
