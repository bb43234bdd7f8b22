"""What every synthetic problem consists of, and how its rows come about."""

from typing import NamedTuple

import numpy as np

from skcal._records import show_record
from skcal._validation import check_flag, check_integer, check_number, check_rng


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
    true_values : dict of str to float
        What measures return on the population, where that is known. A key reads as the call of
        the measure: its name in :data:`skcal.metrics.MEASURES`, followed by the options that
        are not left at their defaults, such as ``"expected_calibration_error(n_bins=2)"``.
    """

    y_true: np.ndarray
    y_proba: np.ndarray
    sample_weight: np.ndarray
    true_values: dict[str, float]

    __repr__ = show_record


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
