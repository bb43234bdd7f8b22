"""Certified bounds of measures."""

from typing import NamedTuple

import numpy as np


class Bounds(NamedTuple):
    """Two numbers that a measure is proven to lie between.

    Attributes
    ----------
    low : float
        The measure is not smaller.
    high : float
        The measure is not larger.
    """

    low: float
    high: float


def average_bounds(bracket, samples):
    """Bounds of the mean over samples, weighted by mass; `bracket` gives those of a sample."""
    mass = np.array([sample.total_weight for sample in samples])
    brackets = [bracket(sample) for sample in samples]
    return Bounds(*(float(np.dot(mass / mass.sum(), ends)) for ends in zip(*brackets, strict=True)))
