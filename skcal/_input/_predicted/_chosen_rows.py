"""Predictions of some of the rows."""

import numpy as np
from scipy.stats.distributions import rv_frozen

from skcal._input._predicted._distributions import Mixture, describe, unwrap
from skcal._input._predicted._points import Ensemble, Quantiles, read_members


def take_rows(distribution, rows, n_rows):
    """Predictions of some of `n_rows` rows; what serves for all of them stays as it is."""
    if type(distribution) is tuple:  # means and standard deviations; records are tuples, too
        return tuple(_take(np.asarray(values), rows, n_rows) for values in distribution)
    distribution = unwrap(distribution)
    if isinstance(distribution, Ensemble):
        return Ensemble(read_members("distribution", distribution, n_rows, missing=True)[rows])
    if isinstance(distribution, Quantiles):
        return Quantiles(np.asarray(distribution.values)[rows], distribution.levels)
    if isinstance(distribution, Mixture) and isinstance(distribution.components, list | tuple):
        parts = [take_rows(component, rows, n_rows) for component in distribution.components]
        weights = np.asarray(distribution.weights)
        return Mixture(weights[rows] if weights.ndim == 2 else weights, parts)
    if isinstance(distribution, rv_frozen):
        args, values = (
            [_take(np.asarray(value), rows, n_rows) for value in part]
            for part in (distribution.args, distribution.kwds.values())
        )
        return distribution.dist(*args, **dict(zip(distribution.kwds, values, strict=True)))
    if hasattr(distribution, "iloc"):  # of skpro
        return distribution.iloc[rows]
    raise ValueError(
        "distribution must be a frozen distribution of scipy.stats, a tuple of means and standard "
        "deviations, a Mixture of a list, or an Ensemble, for single rows of it to be taken; got "
        f"{describe(distribution)}."
    )


def _take(values, rows, n_rows):
    return values[rows] if values.shape[:1] == (n_rows,) else values
