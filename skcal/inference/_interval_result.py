"""What an interval estimate returns."""

from typing import NamedTuple

import numpy as np

from skcal._tools._show_record import as_record
from skcal._tools._words import show_interval


@as_record
class Interval(NamedTuple):
    """An estimate with a confidence interval.

    ``print`` shows it as a sentence.

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

    def __str__(self) -> str:
        return show_interval(*self)


#: An interval of what the rows do not tell.
UNKNOWN = Interval(np.nan, -np.inf, np.inf)
