"""The row type of the table of measures."""

from collections.abc import Callable
from typing import NamedTuple


class Measure(NamedTuple):
    """A calibration measure and what the rest of the package may assume of it.

    Attributes
    ----------
    function : callable
        ``f(y_true, y_proba, *, sample_weight, pos_label, labels, ...) -> float``; 0 means
        calibrated, and larger is worse.
    is_signed : bool
        Whether the value is an unbiased estimate of a square, which may be negative and says
        nothing about a single row.
    is_norm : bool
        Whether the value is a norm of the residuals for given predictions, or a power of one.
    reduces : bool
        Whether the function takes `reduction`; otherwise it reads whole vectors of probabilities,
        and soft labels for all of their components.
    """

    function: Callable[..., float]
    is_signed: bool = False
    is_norm: bool = True
    reduces: bool = True

    @property
    def name(self) -> str:
        """Name of the function, the key of the row in MEASURES."""
        return self.function.__name__
