"""What recalibrators do that read logits of many classes a few rows at a time, where they are."""

import numpy as np

from skcal._numerics.recalibration._row_blocks import RowBlocks
from skcal._numerics.recalibration._temperature import pick_true
from skcal._tools._arrays import is_numpy, move_to, namespace, read_scores
from skcal.recalibration._class_scores import NotClassScoresError, arrange_scores, check_scores
from skcal.recalibration._logits import LogitRecalibrator


class BlockRecalibrator(LogitRecalibrator):
    """Base class of recalibrators that take arrays of any library, and logits as `RowBlocks`.

    Logits of classes that are impossible for a row may be -inf; their probability is 0.
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags

    def _read(self, X, y=None, sample_weight=None):
        return read_scores(X, y, sample_weight, on_device=True)

    def _check_scores(self, X):
        check_scores(X, self.input, impossible=self.input == "logits")

    def _read_labelled(self, *rows, **options):
        rows = super()._read_labelled(*rows, **options)
        if self.input == "logits":
            _refuse_ruled_out(*rows, self._order, self.classes_)
        return rows

    def _gather(self, X):
        if self.input == "proba":
            return super()._gather(X)
        if X.shape[1] == 1:
            return RowBlocks(arrange_scores(X, self._order, "logits"))
        in_order = (np.diff(self._order) > 0).all()
        return RowBlocks(X, columns=None if in_order else move_to(self._order, X))

    def _list_parts(self, X):
        if not is_numpy(X):
            return [slice(None)]
        return super()._list_parts(X) if self.input == "proba" else RowBlocks(X).list_slices()

    def _finish(self, proba, scores, dtype):
        proba = super()._finish(proba, scores, dtype)
        return proba if self.input == "proba" else _keep_impossible(proba, scores)


def _refuse_ruled_out(X, target, sample_weight, order, classes):
    """Raise a NotClassScoresError where the logit of a true class is -inf, in rows that count."""
    xp, rows = namespace(X), slice(None)
    if target.ndim == 2:
        rows, target = np.nonzero(target)
    places = xp.take(move_to(order, X), target)
    if X.shape[1] == 1:  # the logit of the first class is 0
        true = xp.where(places == 1, X[rows, 0], xp.zeros_like(X[rows, 0]))
    else:
        true = pick_true(X[rows, ...], places, xp)
    is_bad = true == -np.inf
    if sample_weight is not None:
        is_bad = is_bad & (sample_weight[rows] > 0)
    if xp.any(is_bad):
        copy = int(xp.argmax(xp.astype(is_bad, xp.int8)))
        row = copy if isinstance(rows, slice) else rows[copy]
        label = classes[int(target[copy])]
        raise NotClassScoresError(
            "X must have a logit above -inf for the true class, as no temperature makes up for "
            f"an impossible one; row {row} of X has -inf for {label.item()!r}, its label in y."
        )


def _keep_impossible(proba, scores):
    """Probabilities that are 0 where the logit is -inf, and 1 where no other class is possible."""
    xp = namespace(proba)
    possible = scores > -np.inf
    if xp.all(possible):
        return proba
    n_possible = xp.sum(xp.astype(possible, xp.int64), axis=1, keepdims=True)
    proba = xp.where(n_possible == 1, xp.ones_like(proba), proba)
    return xp.where(possible, proba, xp.zeros_like(proba))
