"""Importance weights: how much more frequent a row is in another population."""

import numpy as np


def weigh_rows(chances, n_old, n_new, clip):
    """Density ratios of old rows, clipped and with mean 1, and their mean as they are.

    With the probability p (`chances`) that an old row is a new one, its ratio is
    p / (1 - p) * n_old / n_new. Weights are the ratios, at most `clip`, over their mean; NaN where
    all are 0 or one is infinite. The mean of the ratios without a limit is 1 where there are old
    rows like all new ones, and else the share of the new population that is like some old rows.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = chances / (1 - chances) * (n_old / n_new)
        clipped = np.minimum(ratios, clip)
        return clipped / clipped.mean(), float(ratios.mean())
