"""Importance weights: how much more frequent a row is in another population."""

import numpy as np


def weigh_rows(chances, n_old, n_new, clip):
    r"""Density ratios of old rows, clipped and with mean 1.

    Parameters
    ----------
    chances : ndarray of shape (n_old,)
        Probability p that such a row is a new one, among `n_old` old and `n_new` new rows.
    n_old, n_new : int
    clip : float
        Largest ratio.

    Returns
    -------
    ndarray of shape (n_old,)
        :math:`p / (1 - p) \cdot n_{old} / n_{new}`, at most `clip`, over their mean; NaN where all
        ratios are 0 or one is infinite.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.minimum(chances / (1 - chances) * (n_old / n_new), clip)
        return ratios / ratios.mean()
