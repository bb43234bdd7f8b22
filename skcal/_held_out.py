"""Recalibrators on rows that they were not fitted on."""

import numpy as np
from sklearn.base import clone

from skcal._folds import spread_columns
from skcal._numerics.recalibration._losses import find_losses


def deal_splits(scores, codes, sample_weight, n_folds):
    """Pairs of train and test rows: folds drawn at random, but always alike for the same rows.

    Rows are put into an order of their own first, and then shuffled with a fixed seed, so that
    folds depend on what the rows hold, and but for ties neither on where they stand nor on the
    names of classes. The outcomes have no say: with equal shares of every class in each fold, or of
    neighbouring scores, what a map learned by chance from other folds would hold in the test rows.
    """
    own = scores[np.arange(len(codes)), codes]
    codes = _rank_classes(own, codes, scores.shape[1])[codes]
    keys = [own] if sample_weight is None else [sample_weight, own]
    order = np.lexsort((*keys, codes))
    alike = (own[order][1:] == own[order][:-1]) & (codes[order][1:] == codes[order][:-1])
    if scores.shape[1] > 2 and alike.any():
        order = np.lexsort((*keys[:-1], *scores.T, *np.sort(scores, axis=1).T, own, codes))
    # Another seed for other rows: one permutation of all would favour certain places.
    rng = np.random.default_rng(np.bincount(codes))
    folds = np.empty(len(codes), dtype=np.intp)
    folds[order[rng.permutation(len(order))]] = np.arange(len(codes)) % n_folds
    return [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(n_folds)]


def _rank_classes(own, codes, n_classes):
    """Places of the classes in an order that does not depend on their names."""
    largest = np.full(n_classes, -np.inf)
    np.maximum.at(largest, codes, own)
    order = np.lexsort((largest, np.bincount(codes, minlength=n_classes)))
    return np.argsort(order)


def fit_to_columns(recalibrator, scores, codes, sample_weight):
    """A fitted clone, whose classes are the numbers of the columns."""
    fitted = clone(recalibrator)
    if "classes" in fitted.get_params(deep=False):
        fitted.set_params(classes=np.arange(scores.shape[1]))
    weight = {} if sample_weight is None else {"sample_weight": sample_weight}
    return fitted.fit(scores, codes, **weight)


def predict_columns(fitted, scores):
    """Its probabilities, one column for each column of scores, 0 for a class that it missed."""
    columns = np.arange(scores.shape[1])
    return spread_columns(fitted.predict_proba(scores), fitted.classes_, columns)


def predict_held_out(recalibrator, scores, codes, sample_weight, splits):
    """Probabilities of the test rows of each split by a map fitted on its training rows.

    Parameters
    ----------
    recalibrator : recalibrator
        A mixture has a way of its own, ``_predict_held_out``, which fits no member twice.
    scores : ndarray of shape (n_samples, n_classes)
    codes : ndarray of shape (n_samples,)
        Column of the true class.
    sample_weight : ndarray of shape (n_samples,) or None
    splits : list of pairs of train and test rows

    Returns
    -------
    list of ndarray of shape (n_test, n_classes)
    """
    if hasattr(recalibrator, "_predict_held_out"):
        return recalibrator._predict_held_out(scores, codes, sample_weight, splits)
    return [predict_split(recalibrator, scores, codes, sample_weight, *split) for split in splits]


def predict_split(recalibrator, scores, codes, sample_weight, train, test):
    """The same for one split."""
    weight = None if sample_weight is None else sample_weight[train]
    fitted = fit_to_columns(recalibrator, scores[train], codes[train], weight)
    return predict_columns(fitted, scores[test])


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
