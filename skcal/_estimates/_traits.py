"""What tests, intervals and summaries need to know of a measure, see `skcal.metrics.Measure`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class FixedPoint(NamedTuple):
    """A measure whose value is the bandwidth at which it was measured.

    `transform` maps predictions to the scale that is smoothed; None for that of probabilities.
    """

    transform: Callable[..., Any] | None

    @property
    def is_plain(self) -> bool:
        """Whether the scale is that of probabilities."""
        return self.transform is None


class Traits(NamedTuple):
    """What tests and intervals may assume of a measure with its options."""

    # The value is a norm of the residuals for given predictions, or a power of one.
    is_norm: bool = True
    # The value is of the second order in the residuals where these are small.
    is_square: bool = False
    fixed_point: FixedPoint | None = None  # set if the bandwidth is the value
    # Faster for many draws of outcomes: ``measure_sums(places, mass, noise) -> (sums -> values)``.
    measure_sums: Callable[..., Callable[..., Any]] | None = None
    # ``find_weights(sample) -> ndarray``, the weights of the residuals in the value, row by row.
    find_weights: Callable[..., Any] | None = None
    # A lower bound of the value from one of the smooth calibration error, where it is no norm.
    bound_by_smooth: Callable[[float], float] | None = None
    # Number of cells to merge rows in for draws; None leaves it to the machinery.
    n_cells: int | None = None
    # Options that leave in the value the bias that it is freed of.
    biased: dict[str, Any] | None = None
    # Options for which the value is the mean of each row by itself.
    alone: dict[str, Any] | None = None


class CellAnswer(NamedTuple):
    """How a summary answers a measure: with what it gives for rows that stand for the cells."""

    # ``rows(cells, options) -> outcomes, predictions, weights`` that the measure is taken of.
    rows: Callable[..., tuple[Any, ...]]
    # ``bound(cells, value, options) -> float``, what several predictions in a cell can do; None
    # where such cells are refused.
    bound: Callable[..., float] | None = None
    # ``refuse(options) -> str or None``, why no bound is known that is of use.
    refuse: Callable[..., str | None] | None = None
    # ``find_accuracy(cells, value, options) -> float``, how far the values of the rows and of the
    # cells may be from the definition, in all; None where they are exact.
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
