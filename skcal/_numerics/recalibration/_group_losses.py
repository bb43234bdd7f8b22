"""Losses of corrections, on the scale of a link: the log loss, and deviances of means.

A loss knows the rows. `evaluate(corrections)` returns the loss of each row, its slope and its
curvature; `find_residuals` minus the slope, and its variance where means are right.
`find_information(mass)` is the curvature of a row where all have one mean.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from skcal._numerics.recalibration._intercepts import fit_intercepts
from skcal._numerics.recalibration._mean_scaling import half_deviance, to_means

# Rows that tell more, by their number and how little they vary, would swamp the penalties.
MOST_INFORMATION = 1e9
# What is added to both sides of a ratio of sums, so that it is a number: half an event.
_PRIOR = 0.5


class LogLoss(NamedTuple):
    """The log loss of outcomes 0 and 1, by log-odds."""

    offset: np.ndarray
    targets: np.ndarray

    def take(self, rows):
        """The loss of some of the rows."""
        return LogLoss(self.offset[rows], self.targets[rows])

    def evaluate(self, corrections):
        """Loss, slope and curvature of each row."""
        scores = self.offset + corrections
        residuals, variances = self._find_residuals(scores)
        return find_log_loss(self.targets, scores), -residuals, variances

    def find_residuals(self, corrections):
        """What is left of the outcomes, and its variance."""
        return self._find_residuals(self.offset + corrections)

    def _find_residuals(self, scores):
        proba = expit(scores)
        return self.targets - proba, proba * (1 - proba)

    def find_information(self, mass):
        """The variance of an outcome of the rate of all."""
        rate = (mass @ self.targets + _PRIOR) / (mass.sum() + 2 * _PRIOR)
        return rate * (1 - rate)

    def fit_constant(self, mass):
        """The best correction that is the same in all rows."""
        proba = expit(np.column_stack([-self.offset, self.offset]))
        first, second = fit_intercepts(proba, self.targets.astype(np.intp), mass).values
        return second - first

    def measure_dispersion(self, corrections, mass, n_determined=0.0):
        """The same loss: outcomes have no variance of their own."""
        return self


class MeanLoss(NamedTuple):
    """Half the deviance of means, in units of the dispersion.

    `power` is that of the variance for the log link, 0 for squared errors; targets are about 1 in
    size, so that the information of a row is 1 / dispersion.
    """

    offset: np.ndarray
    targets: np.ndarray
    power: float
    dispersion: float = 1.0

    def take(self, rows):
        """The loss of some of the rows."""
        return self._replace(offset=self.offset[rows], targets=self.targets[rows])

    def evaluate(self, corrections):
        """Loss, slope and curvature of each row."""
        with np.errstate(over="ignore", invalid="ignore"):  # of steps that are too long
            parts = half_deviance(self.offset + corrections, self.targets, self.power)
        return tuple(part / self.dispersion for part in parts)

    def find_residuals(self, corrections):
        """What is left of the targets, as minus the slope, and its variance."""
        means = to_means(self.offset + corrections, self.power)
        variances = means ** (2 - self.power) if self.power else np.ones(len(means))
        return -self.evaluate(corrections)[1], variances / self.dispersion

    def find_information(self, mass):
        """The curvature of a row with the mean of all."""
        return 1 / self.dispersion

    def fit_constant(self, mass):
        """The best correction that is the same in all rows, with half an event more as predicted.

        So it is a number where all targets are 0. Where targets are larger than predictions it is
        the share of an event that these have for one of those.
        """
        if self.power == 0:
            return float(mass @ (self.targets - self.offset) / mass.sum())
        found = mass @ (self.targets * np.exp((1 - self.power) * self.offset))
        expected = mass @ np.exp((2 - self.power) * self.offset)
        prior = _PRIOR * self.dispersion * expected / max(expected, found)
        return float(np.log((found + prior) / (expected + prior)))

    def measure_dispersion(self, corrections, mass, n_determined=0.0):
        """The loss with the dispersion about corrections with this many parameters."""
        means = to_means(self.offset + corrections, self.power)
        with np.errstate(all="ignore"):
            squares = (self.targets - means) ** 2 / means**self.power
        n_rows = mass.sum()
        found = np.nan_to_num(mass @ squares) / max(n_rows - n_determined, n_rows / 2)
        return self._replace(dispersion=float(max(found, n_rows / MOST_INFORMATION)))


def find_log_loss(targets, scores):
    """Log loss of each row, by log-odds."""
    return -(targets * log_expit(scores) + (1 - targets) * log_expit(-scores))
