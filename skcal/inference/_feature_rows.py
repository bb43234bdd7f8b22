"""Rows of an audit by features: probabilities with outcomes, or means with targets."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.special import expit, logit

from skcal._input._clusters import unite_copies
from skcal._numerics.inference._rule_search import PRIOR

# Steps of Newton's method to the error of a rule, shrunk as in the search for rules; each is one
# unit of log odds at most, so that none goes too far.
_N_STEPS = 8
# Log odds of predictions beyond these are alike for a learner.
_LARGEST = 30.0


class AuditedRows:
    """Outcomes, predictions, weights with a mean of 1, and clusters; None where there are none."""

    loss: str
    # What the residual is multiplied by in the change of the loss, for a small shift.
    slope: float

    def __init__(self, outcomes, predictions, weights=None, member=None):
        self.outcomes, self.predictions, self.member = outcomes, predictions, member
        self.weights = None if weights is None else weights / weights.mean()

    def __len__(self):
        return len(self.outcomes)

    def take(self, rows):
        """Some of the rows, whose clusters are numbered anew."""
        weights, member = (
            None if values is None else values[rows] for values in (self.weights, self.member)
        )
        if member is not None:
            member = np.unique(member, return_inverse=True)[1]
        return type(self)(self.outcomes[rows], self.predictions[rows], weights, member)

    def unite_copies(self, places):
        """Rows of which each stands for its copies in a cluster, and which rows they are.

        Those of a cluster are sorted by what they hold.
        """
        if self.member is None:
            return self, slice(None)
        places = np.column_stack([self.predictions, places])
        member, kept, weights = unite_copies(self.member, places, self.outcomes, self.weights)
        return type(self)(self.outcomes[kept], self.predictions[kept], weights, member), kept

    @cached_property
    def residuals(self):
        """Outcomes minus predictions."""
        return self.outcomes - self.predictions

    def list_weights(self):
        """The weights, ones if there are none."""
        return np.ones(len(self)) if self.weights is None else self.weights

    def sum_units(self, values):
        """Values of rows, or their sums in clusters."""
        return values if self.member is None else np.bincount(self.member, values)

    def spread_units(self, values):
        """A value for each row from one for each independent unit."""
        return values if self.member is None else values[self.member]

    @property
    def n_units(self):
        """How many rows or clusters there are."""
        return len(self) if self.member is None else int(self.member.max()) + 1


class ProbabilityRows(AuditedRows):
    """Outcomes 0 and 1 and their probabilities, which are shifted on the scale of log odds."""

    loss, slope = "log", 1.0

    @cached_property
    def variances(self):
        """Variances of the outcomes if the predictions are right."""
        return self.predictions * (1 - self.predictions)

    @property
    def least_variances(self):
        """What outcomes vary by at least, whatever residuals show."""
        return self.variances

    @property
    def information(self):
        """What a unit of the direction changes predictions by."""
        return self.variances

    @cached_property
    def places(self):
        """Log odds of the predictions."""
        with np.errstate(divide="ignore"):
            return np.clip(logit(self.predictions), -_LARGEST, _LARGEST)

    def shift(self, direction):
        """Shifted predictions; 0 and 1 stay."""
        with np.errstate(divide="ignore"):
            return expit(logit(self.predictions) + direction)

    def find_gains(self, direction):
        """By how much a shift lowers the log loss of each row; 0 for predictions of 0 and 1."""
        gains, moved = np.zeros(len(self)), self.variances > 0
        sign, place = 1 - 2 * self.outcomes[moved], logit(self.predictions[moved])
        shifted = place + direction[moved]
        gains[moved] = np.logaddexp(0, sign * place) - np.logaddexp(0, sign * shifted)
        return gains

    def find_losses(self):
        """Log loss of each row, without those that are infinite."""
        moved = self.variances > 0
        own = np.where(self.outcomes == 1, self.predictions, 1 - self.predictions)
        return np.where(moved, -np.log(np.where(moved, own, 1.0)), 0.0)

    def make_search(self):
        """Pulls and information of rows, and a function that corrects the predictions of some."""
        weights, total = self.list_weights(), np.zeros(len(self))

        def describe(predictions):
            pulls = weights * (self.outcomes - predictions)
            return pulls, weights**2 * predictions * (1 - predictions)

        def shift(inside):
            rows = np.flatnonzero(inside & (self.variances > 0))
            for _ in range(_N_STEPS):
                predictions = expit(logit(self.predictions[rows]) + total[rows])
                information = weights[rows] @ (predictions * (1 - predictions))
                pull = weights[rows] @ (self.outcomes[rows] - predictions)
                total[rows] += np.clip(pull / (information + PRIOR), -1, 1)
            return describe(self.shift(total))

        return *describe(self.predictions), shift


class TargetRows(AuditedRows):
    """Real targets and their predicted means."""

    loss, slope = "squared", 2.0
    variances = None

    @property
    def least_variances(self):
        """Variances of rare events of the mean size; 0 where targets or means are negative."""
        total = self.outcomes.sum()
        if min(self.outcomes.min(), self.predictions.min()) < 0 or total == 0:
            return np.zeros(len(self))
        return (self.outcomes @ self.outcomes) / total * self.predictions

    @property
    def information(self):
        """What a unit of the direction changes predictions by."""
        return np.ones(len(self))

    @property
    def places(self):
        """The predictions."""
        return self.predictions

    def find_gains(self, direction):
        """By how much a shift lowers the squared error of each row."""
        return self.residuals**2 - (self.residuals - direction) ** 2

    def find_losses(self):
        """Squared error of each row."""
        return self.residuals**2

    def make_search(self):
        """Pulls and information of rows, and a function that corrects the predictions of some."""
        weights, rest = (
            self.list_weights(),
            self.residuals / (np.sqrt(np.mean(self.residuals**2)) or 1.0),
        )

        def describe():
            pulls = weights * rest
            return pulls, pulls**2

        def shift(inside):
            own = weights[inside]
            rest[inside] -= own @ rest[inside] / (own.sum() + PRIOR)
            return describe()

        return *describe(), shift
