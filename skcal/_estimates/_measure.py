"""What a measure is: its value, and what tests, intervals and summaries may assume of it."""

from collections.abc import Callable
from typing import Any, ClassVar


class Measure:
    """A measure of calibration with its options, of rows that are checked.

    A subclass is a row of `skcal.metrics.MEASURES`. It is told all options of its public `function`
    by name, checks them, and implements ``measure``. What may be assumed of it are attributes, of
    the class or of the object where options decide. By default it is a norm of the residuals.

    A summary takes it of rows that stand for its cells. What several predictions in a cell can do
    to it is known by ``bound``; else ``refuse`` says why not, or by default that it is not known.
    """

    name: ClassVar[str]
    function: ClassVar[Callable[..., float]]
    # Whether it is an unbiased estimate of a square, which may be negative.
    is_signed: ClassVar[bool] = False
    # Whether the function has a reduction; otherwise it reads whole vectors of probabilities.
    reduces: ClassVar[bool] = True

    # The value is a norm of the residuals for given predictions, or a power of one.
    is_norm = True
    # The value is of the second order in the residuals where these are small.
    is_square = False
    # The value is the bandwidth at which it is measured, on the scale of this transform: None for
    # probabilities.
    is_fixed_point = False
    transform: Callable[..., Any] | None = None
    # Faster for many draws of outcomes: ``measure_sums(places, mass, noise) -> (sums -> values)``.
    measure_sums: Callable[..., Callable[..., Any]] | None = None
    # ``find_weights(sample) -> ndarray``, the weights of the residuals in the value, row by row.
    find_weights: Callable[..., Any] | None = None
    # A lower bound of the value from one of the smooth calibration error, where it is no norm.
    bound_by_smooth: Callable[..., float] | None = None
    # Number of cells to merge rows in for draws; None leaves it to the machinery.
    n_cells: int | None = None
    # Options that leave in the value the bias that it is freed of.
    biased: dict[str, Any] | None = None
    # Options for which the value is the mean of each row by itself.
    alone: dict[str, Any] | None = None

    def __init_subclass__(cls, function=None):
        if function is not None:
            cls.name, cls.function = function.__name__, staticmethod(function)

    def measure(self, rows):
        """The value for a Sample, or for vectors where the measure does not reduce."""
        raise NotImplementedError

    def measure_each(self, samples):
        """Values for samples of the same predictions and weights; they may share some work."""
        return [self.measure(sample) for sample in samples]

    def choose_rows(self, cells):
        """Outcomes, predictions and weights that stand for cells: one soft outcome in each."""
        return cells.averaged

    def bound(self, cells, value):
        """How much several predictions in a cell can change the value."""
        raise NotImplementedError

    def refuse(self):
        """Why no bound is known that is of use, or None."""
        return "no bound is known." if type(self).bound is Measure.bound else None

    def find_accuracy(self, cells, value):
        """How far the values of the rows and of the cells may be from the definition, in all."""
        return 0.0


def take_quarter(value):
    """A lower bound of SmoothECE and of interval errors from the smooth calibration error."""
    return 0.25 * value
