"""Recalibrators on rows that they were not fitted on."""

from numbers import Integral

import numpy as np
from sklearn.base import clone

from skcal._fitting._classifier_scores import spread_columns
from skcal._fitting._folds import make_splits
from skcal._numerics.recalibration._deal import deal_targets
from skcal._numerics.recalibration._losses import find_losses


def fit_to_columns(recalibrator, scores, codes, sample_weight, near=None):
    """A fitted clone, whose classes are the numbers of the columns.

    `near` is the same recalibrator fitted to similar rows, from which searches start.
    """
    fitted = clone(recalibrator)
    if "classes" in fitted.get_params(deep=False):
        fitted.set_params(classes=np.arange(scores.shape[1]))
    weight = {} if sample_weight is None else {"sample_weight": sample_weight}
    if not hasattr(fitted, "_near"):
        return fitted.fit(scores, codes, **weight)
    fitted._near = near
    fitted.fit(scores, codes, **weight)
    del fitted._near
    return fitted


def predict_columns(fitted, scores):
    """Its probabilities, one column for each column of scores, 0 for a class that it missed."""
    columns = np.arange(scores.shape[1])
    return spread_columns(fitted.predict_proba(scores), fitted.classes_, columns)


def take_score_rows(scores, rows):
    """Rows of scores, whose columns stay side by side in memory where they are."""
    if isinstance(rows, slice) or not scores.flags.f_contiguous:
        return scores[rows]
    return np.take(scores.T, rows, axis=1).T


def predict_held_out(recalibrator, scores, codes, sample_weight, splits, is_dealt=False):
    """Probabilities of the test rows of each split by a map fitted on its training rows.

    `codes` has the column of the true class. A mixture has a way of its own, ``_predict_held_out``,
    which fits no member twice. `is_dealt` tells that folds are dealt at random, row by row.
    """
    if hasattr(recalibrator, "_predict_held_out"):
        return recalibrator._predict_held_out(scores, codes, sample_weight, splits, is_dealt)
    return [predict_split(recalibrator, scores, codes, sample_weight, *split) for split in splits]


def predict_split(recalibrator, scores, codes, sample_weight, train, test):
    """The same for one split."""
    fitted = fit_split(recalibrator, scores, codes, sample_weight, train)
    return predict_columns(fitted, take_score_rows(scores, test))


def fit_split(recalibrator, scores, codes, sample_weight, train, near=None):
    """The map of the training rows of one split."""
    weight = None if sample_weight is None else sample_weight[train]
    rows = take_score_rows(scores, train)
    return fit_to_columns(recalibrator, rows, codes[train], weight, near)


def find_rise(before, after, codes, mass):
    """By how much probabilities are worse than before, and the name of the loss that says so.

    That is the log loss, or the Brier score where maps that return 0 and 1 have an infinite log
    loss. 0 unless the rise is larger than its standard error.
    """
    share = mass / mass.sum()
    for loss in ("log", "brier"):
        old, new = find_losses(before, codes, loss), find_losses(after, codes, loss)
        if np.isfinite(new).all() or not np.isfinite(old).all():
            break
    name = {"log": "log loss", "brier": "Brier score"}[loss]
    if not np.isfinite(old).all():
        return 0.0, name
    rises = new - old
    rise = share @ rises
    error = np.sqrt(np.sum((share * (rises - rise)) ** 2))
    return float(rise) if rise > error else 0.0, name


def makes_folds(cv):
    """Whether rows are dealt to folds here, rather than by a splitter of the user."""
    return cv is None or isinstance(cv, Integral)


def split_rows(cv, keys, targets, weights, present):
    """Pairs of train and test places among the rows that count, which `present` marks.

    The first three arrays are those of these rows. `keys` has a number for each by which
    predictions are told apart.
    """
    if makes_folds(cv):
        return deal_targets(keys, targets, weights, 5 if cv is None else int(cv))
    n_samples = len(present)
    empty = np.zeros((n_samples, 1)), np.zeros(n_samples)
    try:
        splits = make_splits(cv, *empty, {}, classifier=False)
    except ValueError as error:
        if "groups" not in str(error):
            raise
        raise ValueError(
            "cv must be a splitter that needs no groups, or pairs of train and test rows: pass "
            f"cv=list({cv!r}.split(X, y, groups))."
        ) from None
    place = np.cumsum(present) - 1
    splits = [[place[part[present[part]]] for part in split] for split in splits]
    return [(train, test) for train, test in splits if len(train) and len(test)]
