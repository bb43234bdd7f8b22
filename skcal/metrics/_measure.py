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
    maximum : float
        The largest value that the measure can take.
    soft_labels : bool
        Whether y_true may hold probabilities of the positive label.
    accuracy : float
        Documented distance of the value from its definition.
    reads_counts : bool
        Whether weights are read as counts, so that not only their ratios matter.
    is_signed : bool
        Whether the value is an unbiased estimate of a square, which may be negative and says
        nothing about a single row.
    reduces : bool
        Whether the function takes `reduction`; otherwise it reads whole vectors of probabilities,
        and soft labels for all of their components.
    on_device : bool
        Whether the function computes on arrays of other libraries, where they are, under
        scikit-learn's ``array_api_dispatch``; otherwise it takes NumPy's alone.
    """

    function: Callable[..., float]
    maximum: float = 1.0
    soft_labels: bool = True
    accuracy: float = 1e-12
    reads_counts: bool = False
    is_signed: bool = False
    reduces: bool = True
    on_device: bool = False

    @property
    def name(self):
        """Name of the function, the key of the row in MEASURES."""
        return self.function.__name__
