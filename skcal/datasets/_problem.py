"""What every synthetic problem consists of, and how its rows come about."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skcal._input._validation import check_flag, check_integer, check_number, check_rng
from skcal._tools._show_record import as_record


@as_record
class TrueValue(NamedTuple):
    """True value of a measure, on the population.

    Attributes
    ----------
    measure : str
    options : dict
    value : float
    """

    measure: str
    options: dict[str, object]
    value: float


@as_record
class CalibrationProblem(NamedTuple):
    """Labels and predictions whose true calibration error is known.

    The first three fields are what a measure takes: ``measure(problem.y_true, problem.y_proba,
    sample_weight=problem.sample_weight)``.

    Attributes
    ----------
    y_true : ndarray of shape (n_samples,)
        Labels 0 and 1 of a random sample; mean outcomes in [0, 1] of a population.
    y_proba : ndarray of shape (n_samples,)
        Predicted probabilities of label 1.
    sample_weight : ndarray of shape (n_samples,)
        Weights, which sum to the number of rows; all 1 in a random sample.
    true_values : list of TrueValue
        What measures return on a population of many rows, where that is known: records of
        ``measure`` (a name in :mod:`skcal.metrics`), ``options`` (those that are not left at their
        defaults) and ``value``.

    Examples
    --------
    >>> from skcal.datasets import make_shrunk
    >>> problem = make_shrunk(100, slope=0.6)
    >>> problem.true_value("expected_calibration_error", n_bins=2)
    0.1
    """

    y_true: np.ndarray
    y_proba: np.ndarray
    sample_weight: np.ndarray
    true_values: list[TrueValue]

    def true_value(self, measure: str, **options: Any) -> float:
        """True value of a measure, on the population.

        Parameters
        ----------
        measure : str
            Name of a function of :mod:`skcal.metrics`.
        **options
            Options of the measure that are not left at their defaults.

        Returns
        -------
        float
            Its value for the population.

        Raises
        ------
        ValueError
            If it is not known; the message lists what is.
        """
        for known in self.true_values:
            if (known.measure, known.options) == (measure, options):
                return known.value
        names = ", ".join(_show_call(*known[:2]) for known in self.true_values)
        asked = _show_call(measure, options)
        raise ValueError(f"The true value of {asked} is not known; known are {names}.")


def _show_call(measure, options):
    return f"{measure}({', '.join(f'{key}={value!r}' for key, value in options.items())})"


class Rows:
    """The rows of a problem: ranks in (0, 1) and labels, drawn or spread evenly."""

    def __init__(self, n_samples, population, random_state, *, minimum=1):
        check_flag("population", population)
        self.population = bool(population)
        self.n_samples = check_integer("n_samples", n_samples, minimum if population else 1, 10**12)
        self.rng = check_rng(random_state)

    def draw_ranks(self):
        """Uniform numbers, or the midpoints of equal cells of [0, 1]."""
        if self.population:
            return (np.arange(self.n_samples) + 0.5) / self.n_samples
        return self.rng.uniform(size=self.n_samples)

    def draw_labels(self, mean_outcome):
        """Labels with the given means, or the means themselves."""
        if self.population:
            return mean_outcome
        return (self.rng.uniform(size=self.n_samples) < mean_outcome).astype(np.int64)


def check_between(name, value, minimum, maximum):
    """Return `value` as a float in [minimum, maximum], or raise a ValueError."""
    value = check_number(name, value, minimum)
    if value > maximum:
        raise ValueError(f"{name} must be at most {maximum}; got {value!r}.")
    return value
