"""Importance weights: how much more frequent a row is in another population."""

import numpy as np


def weigh_rows(chances, n_old, n_new, clip):
    r"""Density ratios of old rows, clipped and with mean 1, and their mean as they are.

    Parameters
    ----------
    chances : ndarray of shape (n_old,)
        Probability p that such a row is a new one, among `n_old` old and `n_new` new rows.
    n_old, n_new : int
    clip : float
        Largest ratio.

    Returns
    -------
    weights : ndarray of shape (n_old,)
        :math:`p / (1 - p) \cdot n_{old} / n_{new}`, at most `clip`, over their mean; NaN where all
        ratios are 0 or one is infinite.
    covered : float
        The mean of the ratios: 1 where there are old rows like all new ones, and else the share of
        the new population that is like some old rows.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = chances / (1 - chances) * (n_old / n_new)
        clipped = np.minimum(ratios, clip)
        return clipped / clipped.mean(), float(ratios.mean())
