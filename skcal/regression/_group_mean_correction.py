"""Corrections of predicted means by what else is known of a row."""

from abc import abstractmethod
from functools import partial

import numpy as np
import pandas as pd

from skcal._fitting._group_boosting import TreesOfGroups
from skcal._fitting._group_folds import count_limited, split_folds
from skcal._fitting._group_scaling import LinearInGroups
from skcal._numerics.recalibration._deal import deal_targets
from skcal._numerics.recalibration._group_losses import MeanLoss
from skcal._numerics.recalibration._group_scaling import find_factor
from skcal._numerics.recalibration._mean_scaling import to_link
from skcal._tools._warnings import warn
from skcal.regression._base_means import LinkedMeanRecalibrator

# Differences between targets and predictions that are this share of them come of rounding.
_ROUNDING = 1e-12


class GroupMeanCorrection(LinkedMeanRecalibrator):
    """Base class of corrections of means, shrunk by what they gain in rows held out.

    `levels` has the levels of each column that is read. A subclass implements ``_fit_map`` and
    ``_apply`` as for `GroupCorrection`. `map_` holds the correction, None where there is nothing to
    learn from; `factor_`, in [0, 1], multiplies it: 0 leaves means as they are.
    """

    def __init__(self, levels=None, link="auto", power=1.0):
        self.levels = levels
        self.link = link
        self.power = power

    @abstractmethod
    def _fit_map(self, loss, mass, numbers, splits):
        """The correction, and that of each row by corrections that have not seen it."""

    @abstractmethod
    def _apply(self, fitted, values, numbers):
        """What is added to means, standardised, on the scale of the link."""

    def fit(self, X, y, sample_weight=None, *, numbers, fold):
        """Fit the correction to means; `numbers` and `fold` as for `GroupCorrection`."""
        rows = self._check_rows(X, y, sample_weight)
        self._fit(rows, numbers=numbers[rows.present], fold=fold[rows.present])
        return self

    def predict(self, X, *, numbers):
        """Repaired means."""
        return self._repair(self._read(X)[:, 0], numbers=numbers)

    def transform(self, X, *, numbers):
        """Repaired means in the shape of X, a column."""
        return self.predict(X, numbers=numbers)[:, None]

    def _fit_linked(self, rows, power, numbers, fold):
        values, targets = to_link(rows.predictions[:, 0], power), rows.targets
        mass = count_limited(rows.weights)
        self.map_, self.factor_ = None, 0.0
        level = mass @ targets / mass.sum()
        if power:
            if level == 0:
                warn("All of y is 0, so that the log link learns nothing: means stay unchanged.")
                return
            self._centre, self._unit = float(np.log(level)), 1.0
            targets = targets / level
        else:
            errors = targets - values
            spread = np.sqrt(np.average((errors - mass @ errors / mass.sum()) ** 2, weights=mass))
            if spread <= _ROUNDING * max(np.abs(values).max(), np.abs(targets).max()):
                spread = np.abs(errors).max() or 1.0
            self._centre, self._unit = float(level), float(spread)
            targets = (targets - level) / spread
        loss = MeanLoss(self._standardise(values), targets, power)
        loss = loss.measure_dispersion(loss.fit_constant(mass), mass)
        splits = split_folds(fold, partial(deal_targets, values, targets, mass))
        self.map_, held_out = self._fit_map(loss, mass, numbers, splits)
        loss = loss.measure_dispersion(held_out, mass)
        self.factor_ = find_factor(lambda factor: mass @ loss.evaluate(factor * held_out)[0])

    def _repair(self, means, **more):
        return super()._repair(means, **more) if self.factor_ else self._lift(means)

    def _repair_linked(self, means, power, numbers):
        values = to_link(means, power)
        correction = self._apply(self.map_, self._standardise(values), numbers)
        return values + self.factor_ * self._unit * correction

    def _standardise(self, values):
        return (values - self._centre) / self._unit


class GroupMeanBoosting(TreesOfGroups, GroupMeanCorrection):
    """Of means, on the scale of a link, by a sum of trees."""


class GroupMeanScaling(LinearInGroups, GroupMeanCorrection):
    """Of means, on the scale of a link."""

    def to_frame(self):
        """Corrections by group, on the scale of the link.

        Returns
        -------
        DataFrame
            Columns "intercept", at the mean of the predictions, and "slope"; NaN where there is
            none.
        """
        if self.map_ is None:
            return pd.DataFrame(columns=["intercept", "slope"], dtype=np.float64)
        return self._show(self.map_, self._unit)
