"""Draws from the laws of SciPy on whole numbers, whose own quantiles take a search each."""

import numpy as np
from scipy import stats
from scipy.stats.distributions import rv_frozen

from skcal._numerics.distributions._lattice_table import LatticeTable

# What is left out of the table on either side; numbers there are found by SciPy.
_TAIL = 1e-9


def make_lattice_source(distribution, n_rows):
    """Function of uniform numbers to drawn targets and both ends of their PITs, or None.

    None stands for all distributions but frozen ones of SciPy on whole numbers, of any location,
    that tell their probabilities in closed form. Distinct laws are tabulated once.
    """
    parameters = _read_parameters(distribution, n_rows)
    if parameters is None:
        return None
    law, shapes, location = parameters
    distinct, number = np.unique(shapes, axis=1, return_inverse=True)
    number = number.reshape(n_rows)
    if distinct.shape[1] == n_rows:  # neighbours stay neighbours in the table
        distinct, number = shapes, np.arange(n_rows)
    with np.errstate(all="ignore"):
        first, last = (law.ppf(p, *distinct) for p in (_TAIL, 1 - _TAIL))
        if not (np.isfinite(first).all() and np.isfinite(last).all()):
            return None
        table = LatticeTable(first, last, lambda k, laws: law.cdf(k, *distinct[:, laws]))

    def draw(u):
        targets, low, high = table.invert(u, number)
        rows = np.flatnonzero(np.isinf(high))
        if len(rows):
            with np.errstate(all="ignore"):
                targets[rows] = law.ppf(u[rows], *shapes[:, rows])
                high[rows] = law.cdf(targets[rows], *shapes[:, rows])
                low[rows] = law.cdf(targets[rows] - 1, *shapes[:, rows])
        return targets + location, low, high

    return draw


def _read_parameters(distribution, n_rows):
    """The family, its shapes of shape (n_shapes, n_rows) and the location, or None."""
    law = getattr(distribution, "dist", None)
    is_lattice = isinstance(distribution, rv_frozen) and isinstance(law, stats.rv_discrete)
    if not is_lattice or hasattr(law, "xk") or type(law)._cdf is stats.rv_discrete._cdf:
        return None
    shapes, location, _ = law._parse_args(*distribution.args, **distribution.kwds)
    # The shape of a Poisson binomial is a vector.
    if len(shapes) != law.numargs or law.numargs == 0:
        return None
    values = [np.asarray(value) for value in (*shapes, location)]
    if any(v.dtype.kind not in "biuf" or v.shape not in ((), (1,), (n_rows,)) for v in values):
        return None
    *shapes, location = (np.broadcast_to(v.astype(np.float64), (n_rows,)) for v in values)
    return law, np.stack(shapes), location
