"""The row type of the table of measures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from skcal._estimates._traits import CellAnswer, Traits
from skcal._tools._show_record import as_record


def _describe_norm(**options):
    return Traits()


@as_record
class Measure(NamedTuple):
    """A calibration measure and its properties, as registered in MEASURES.

    Attributes
    ----------
    function : callable
        ``f(y_true, y_proba, *, sample_weight, pos_label, labels, ...) -> float``; 0 means
        calibrated, and larger is worse.
    bind : callable
        For the package itself: ``bind(**options)`` takes all options of the measure by name, checks
        them, and returns a function that gives the value of rows that are checked already.
    describe : callable
        For the package itself: what tests and intervals may assume of the measure with options that
        `bind` has accepted. By default that it is a norm of the residuals.
    cells : object or None
        For the package itself: how summaries answer the measure; None where they do not.
    is_signed : bool
        Whether the value is an unbiased estimate of a square, which may be negative and says
        nothing about a single row.
    reduces : bool
        Whether the function takes `reduction`; otherwise it reads whole vectors of probabilities,
        and soft labels for all of their components.
    """

    function: Callable[..., float]
    bind: Callable[..., Callable[[Any], float]]
    describe: Callable[..., Traits] = _describe_norm
    cells: CellAnswer | None = None
    is_signed: bool = False
    reduces: bool = True

    @property
    def name(self) -> str:
        """Name of the function, the key of the row in MEASURES."""
        return self.function.__name__
