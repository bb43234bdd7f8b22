"""What tests, intervals and summaries need to know of a measure, see `skcal.metrics.Measure`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class FixedPoint(NamedTuple):
    """A measure whose value is the bandwidth at which it was measured.

    Attributes
    ----------
    transform : callable or None
        From predictions to the scale that is smoothed; None for that of probabilities.
    """

    transform: Callable[..., Any] | None

    @property
    def is_plain(self) -> bool:
        """Whether the scale is that of probabilities."""
        return self.transform is None


class Traits(NamedTuple):
    """What tests and intervals may assume of a measure with its options.

    Attributes
    ----------
    is_norm : bool
        Whether the value is a norm of the residuals for given predictions, or a power of one.
    is_square : bool
        Whether the value is of the second order in the residuals where these are small.
    fixed_point : FixedPoint or None
        Set if the bandwidth is the value.
    measure_sums : callable or None
        A faster form for outcomes that are drawn many times:
        ``measure_sums(places, mass, noise) -> (sums -> values)``.
    find_weights : callable or None
        ``find_weights(sample) -> ndarray``, the weights of the residuals in the value, row by row.
    bound_by_smooth : callable or None
        A lower bound of the value from one of the smooth calibration error, where it is no norm.
    n_cells : int or None
        Cells in which rows are merged for draws; None leaves the number to the machinery.
    biased : dict or None
        Options that leave in the value the bias that it is freed of.
    alone : dict or None
        Options for which the value is the mean of each row by itself.
    """

    is_norm: bool = True
    is_square: bool = False
    fixed_point: FixedPoint | None = None
    measure_sums: Callable[..., Callable[..., Any]] | None = None
    find_weights: Callable[..., Any] | None = None
    bound_by_smooth: Callable[[float], float] | None = None
    n_cells: int | None = None
    biased: dict[str, Any] | None = None
    alone: dict[str, Any] | None = None


class CellAnswer(NamedTuple):
    """How a summary answers a measure: with what it gives for rows that stand for the cells.

    Attributes
    ----------
    rows : callable
        ``rows(cells, options) -> outcomes, predictions, weights`` that the measure is taken of.
    bound : callable or None
        ``bound(cells, value, options) -> float``, what several predictions in a cell can do; None
        where such cells are refused.
    refuse : callable or None
        ``refuse(options) -> str or None``, why no bound is known that is of use.
    find_accuracy : callable or None
        ``find_accuracy(cells, value, options) -> float``, how far the values of the rows and of the
        cells may be from the definition, in all; None where they are exact.
    """

    rows: Callable[..., tuple[Any, ...]]
    bound: Callable[..., float] | None = None
    refuse: Callable[..., str | None] | None = None
    find_accuracy: Callable[..., float] | None = None


def take_averages(cells, options):
    """One row in each cell, with a soft outcome."""
    return cells.averaged


def take_matches(cells, options):
    """Rows of hard outcomes with the moments of every cell."""
    return cells.matched


def take_quarter(value):
    """A lower bound of SmoothECE and of interval errors from the smooth calibration error."""
    return 0.25 * value
