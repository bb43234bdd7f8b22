"""Corrections of a classifier's log-odds by what else is known of a row."""

from abc import ABCMeta, abstractmethod
from functools import partial

import numpy as np
import pandas as pd
from scipy.special import softmax
from sklearn.base import BaseEstimator

from skcal._fitting._group_boosting import TreesOfGroups
from skcal._fitting._group_folds import count_limited, split_folds
from skcal._fitting._group_scaling import LinearInGroups
from skcal._input._validation import show_labels
from skcal._numerics.recalibration._deal import deal_splits
from skcal._numerics.recalibration._group_losses import LogLoss
from skcal._numerics.recalibration._group_scaling import find_factor
from skcal._numerics.recalibration._losses import find_losses
from skcal._numerics.recalibration._row_blocks import floor_logits
from skcal._numerics.recalibration._scores import combine_odds, find_floor, log_odds
from skcal._tools._parallel import run_parallel
from skcal._tools._warnings import warn
from skcal.recalibration._class_scores import (
    arrange_scores,
    check_scores,
    find_depth,
    restrict_rows,
    restrict_scores,
    share_among_seen,
)


class GroupCorrection(BaseEstimator, metaclass=ABCMeta):
    """Base class of corrections of log-odds, shrunk by what they gain in rows held out.

    With more than two classes each class is corrected against the rest. `levels` has the levels of
    each column that is read; `classes` labels the columns of scores; `input` says what scores are.

    A subclass implements ``_fit_map(loss, mass, numbers, splits)``, which returns the correction of
    one class, and what those of other rows say of each row; and ``_apply(fitted, odds, numbers)``.
    `maps_` holds the correction of the second of two classes, or of each class;
    `factor_`, in [0, 1], multiplies corrections: 0 leaves scores as they are.
    """

    def __init__(self, levels=None, classes=None, input="proba", n_jobs=None):
        self.levels = levels
        self.classes = classes
        self.input = input
        self.n_jobs = n_jobs

    @abstractmethod
    def _fit_map(self, loss, mass, numbers, splits):
        """The correction of one class, and of each row by corrections that have not seen it."""

    @abstractmethod
    def _apply(self, fitted, odds, numbers):
        """What is added to the log-odds of one class."""

    def fit(self, scores, y, sample_weight=None, *, numbers, fold):
        """Fit the corrections to scores of shape (n_samples, n_classes) or (n_samples, 1).

        Weights count rows. `numbers` has the level of each row in each column. Rows of one `fold`
        have been scored by one classifier, which has not seen them.
        """
        self.classes_ = self.classes
        vars(self).pop("_seen", None)
        codes = np.searchsorted(self.classes_, y)
        check_scores(scores, self.input)
        resolution = float(np.finfo(np.result_type(scores, np.float32)).eps)
        scores = self._arrange(scores)
        mass = np.ones(len(y)) if sample_weight is None else sample_weight
        present = mass > 0
        scores, codes = scores[present], codes[present]
        mass = count_limited(mass[present].astype(np.float64))
        numbers, fold = numbers[present], fold[present]
        self._depth, self._smallest = np.inf, 0.0
        if self.input == "logits":
            self._depth = find_depth(scores, codes, mass)
        else:
            self._smallest = find_floor(scores, len(self.classes_), resolution)
        seen = np.unique(codes)
        if len(seen) < len(self.classes_):
            self._seen = seen
            warn(
                f"No row is of {show_labels(np.delete(self.classes_, seen))}, which the "
                "classifier knows: its probabilities stay unchanged.",
            )
            scores, codes = restrict_rows(scores, codes, seen, self.input)
        self.maps_, self.factor_ = [], 0.0
        if len(seen) > 1:
            self._fit_classes(scores, codes, mass, numbers, fold)
        return self

    def _fit_classes(self, scores, codes, mass, numbers, fold):
        odds = self._to_log_odds(scores)
        splits = split_folds(fold, partial(deal_splits, scores, codes, mass))
        first = scores.shape[1] - odds.shape[1]
        tasks = (
            (self._fit_map, LogLoss(own, (codes == first + k) + 0.0), mass, numbers, splits)
            for k, own in enumerate(odds.T)
        )
        fits = run_parallel(tasks, self.n_jobs)
        self.maps_ = [fitted for fitted, _ in fits]
        held_out = np.column_stack([corrections for _, corrections in fits])

        def lose(factor):
            return mass @ find_losses(combine_odds(odds + factor * held_out), codes, "log")

        self.factor_ = find_factor(lose)

    def predict_proba(self, scores, *, numbers):
        """Corrected probabilities, a column for each class; `scores` and `numbers` as in `fit`."""
        check_scores(scores, self.input)
        scores = self._arrange(scores)
        seen = vars(self).get("_seen")
        if seen is None:
            return self._correct(scores, numbers)
        proba = scores if self.input == "proba" else softmax(scores, axis=1)
        if len(seen) == 1:
            return proba
        part = self._correct(restrict_scores(scores, seen, self.input), numbers)
        return share_among_seen(proba, part, seen)

    def _correct(self, scores, numbers):
        odds = self._to_log_odds(scores)
        pairs = zip(self.maps_, odds.T, strict=True)
        corrections = [self._apply(fitted, own, numbers) for fitted, own in pairs]
        return combine_odds(odds + self.factor_ * np.column_stack(corrections))

    def _arrange(self, scores):
        return arrange_scores(scores, np.arange(len(self.classes_)), self.input)

    def _to_log_odds(self, scores):
        if self.input == "logits":
            return log_odds(floor_logits(scores, self._depth))
        return log_odds(np.log(np.clip(scores, self._smallest, 1.0)))


class GroupBoosting(TreesOfGroups, GroupCorrection):
    """Of the log-odds of classes, by a sum of trees."""


class GroupScaling(LinearInGroups, GroupCorrection):
    """Of the log-odds of classes."""

    def to_frame(self):
        """Corrections by group, those of several classes side by side.

        Returns
        -------
        DataFrame
            Columns "intercept", at the mean log-odds, and "slope"; NaN where there is none.
        """
        if not self.maps_:
            return pd.DataFrame(columns=["intercept", "slope"], dtype=np.float64)
        classes = self.classes_[vars(self).get("_seen", slice(None))]
        names = classes[-len(self.maps_) :].tolist()
        frames = [self._show(fitted) for fitted in self.maps_]
        return frames[0] if len(frames) == 1 else pd.concat(frames, axis=1, keys=names)
