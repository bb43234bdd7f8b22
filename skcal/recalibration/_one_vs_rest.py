"""Methods for two classes, applied to each class against the rest."""

from abc import abstractmethod
from copy import copy
from typing import Any, Literal

import numpy as np
from scipy.special import expit

from skcal._numerics.recalibration._intercepts import add_intercepts, fit_intercepts
from skcal._numerics.recalibration._scores import log_odds, normalize_rows
from skcal._tools._parallel import run_parallel
from skcal._tools._typing import ArrayLike
from skcal.recalibration._base import BaseRecalibrator
from skcal.recalibration._class_scores import list_parts


class OneVsRestRecalibrator(BaseRecalibrator):
    """Base class of recalibrators that map one score to one probability.

    Two classes need one map, that of the second class. More classes get a map each, and the rows
    are divided by their sums. Where that moves the means away from the shares of the classes, as
    it does for a rare class of a balanced model, intercepts bring them back.

    A subclass implements ``_fit_map``, which returns what `maps_` is to hold for one class, and
    ``_apply_map``; and ``_read_scale`` where its maps read another scale than probabilities. Maps
    that end in a sigmoid return its argument and set ``_gives_log_odds``: the complement of a
    probability next to 1 is then as exact as the probability of one next to 0.
    """

    maps_: list[Any]
    intercepts_: np.ndarray
    _gives_log_odds = False
    _fewest_rows = 1 << 10  # so that calls for each class are few
    _values_together = 1  # values that `_fit_maps` gets at a time, or those of one class

    def __init__(
        self,
        *,
        input: Literal["proba", "logits"] = "proba",
        classes: ArrayLike | Literal["columns"] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(input=input, classes=classes)
        self.n_jobs = n_jobs

    @abstractmethod
    def _fit_map(self, values, outcomes, sample_weight):
        """Map of one class, from its scores and whether the class came true (float, 0 or 1)."""

    def _fit_maps(self, values, outcomes, sample_weight, near=None):
        """Maps of several classes; the arguments have a row for each.

        `near` has maps of similar rows, from which searches may start.
        """
        pairs = zip(values, outcomes, strict=True)
        return [self._fit_map(*pair, sample_weight) for pair in pairs]

    @abstractmethod
    def _apply_map(self, fitted, values):
        """Probabilities, or log-odds, of one class by its fitted map."""

    def _list_parts(self, X):
        return list_parts(X, self._fewest_rows)

    def _read_scale(self, scores):
        """Values that the maps read, a column for each map."""
        proba = self._to_probabilities(scores)
        return proba[:, 1:] if proba.shape[1] == 2 else proba

    def _to_log_odds(self, scores):
        """The usual other choice for ``_read_scale``."""
        n_classes = scores.shape[1]
        values = np.empty((len(scores), n_classes if n_classes > 2 else 1), order="F")
        for rows in list_parts(scores):
            values[rows] = log_odds(self._to_logits(scores[rows]))
        return values

    def _fit(self, scores, codes, sample_weight):
        values = self._read_scale(scores)
        first = len(self.classes_) - values.shape[1]
        bare = copy(self)  # what a process gets: neither the maps of another fit nor callbacks
        for name in ("maps_", "intercepts_", "_skl_callbacks", "_callback_fit_ctx", "_near"):
            vars(bare).pop(name, None)
        near = getattr(self._near, "maps_", [])
        if len(near) != values.shape[1]:
            near = None
        step = max(1, self._values_together // len(values))
        parts = np.split(np.arange(values.shape[1]), range(step, values.shape[1], step))
        tasks = (
            (
                bare._fit_maps,
                values.T[part],
                (codes == first + part[:, None]).astype(np.float64),
                sample_weight,
                near and near[part[0] : part[-1] + 1],
            )
            for part in parts
        )
        found = run_parallel(tasks, self.n_jobs, prefer="processes")
        self.maps_ = [fitted for part in found for fitted in part]
        self.intercepts_ = np.zeros(len(self.classes_))
        if len(self.maps_) > 1:
            fitted = fit_intercepts(self._recalibrate(scores), codes, sample_weight)
            self.intercepts_ = fitted.shrink()

    def _recalibrate(self, scores):
        values = self._read_scale(scores)
        proba = np.empty_like(scores)
        first = len(self.classes_) - len(self.maps_)
        for k, (fitted, column) in enumerate(zip(self.maps_, values.T, strict=True), first):
            mapped = self._apply_map(fitted, column)
            proba[:, k] = expit(mapped) if self._gives_log_odds else mapped
        if len(self.maps_) > 1:
            return add_intercepts(normalize_rows(proba), self.intercepts_)
        proba[:, 0] = expit(-mapped) if self._gives_log_odds else 1 - mapped
        return proba
