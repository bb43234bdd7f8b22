"""What an interval estimate returns."""

from typing import NamedTuple


class Interval(NamedTuple):
    """An estimate with a confidence interval.

    Attributes
    ----------
    estimate : float
        Value of the sample itself.
    low : float
        Lower end of the interval.
    high : float
        Upper end of the interval.
    """

    estimate: float
    low: float
    high: float
