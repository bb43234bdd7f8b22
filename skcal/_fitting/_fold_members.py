"""What members of folds say of rows that they were not fitted on, more of them than one."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from skcal._fitting._classifier_scores import score_rows, spread_columns
from skcal._fitting._folds import fit_fold, take_rows
from skcal._numerics.recalibration._fold_average import (
    Pooled,
    average_probabilities,
    find_disagreement,
)
from skcal._numerics.recalibration._scores import average_log_odds
from skcal._tools._warnings import warn

# Models that are fitted for that purpose alone.
_MOST_FITS = 5
# Share of the rows of a split that they need.
_SMALLEST = 1 / 3
# Share of the rows that others must know well enough from the folds alone.
_ENOUGH = 0.5
# Two models whose mean is by no larger share of its entropy more uncertain than each are alike.
_ALIKE = 0.004


class Folds(NamedTuple):
    """Models of folds, what they were fitted to, and what recalibrates their scores.

    ``recalibrate([scores], X)`` returns probabilities of rows, in a list.
    """

    estimator: Any
    classifiers: list[Any]
    X: Any
    y: np.ndarray
    classes: np.ndarray
    splits: list[tuple[np.ndarray, np.ndarray]] | None  # of a single model that is given
    method: str
    fit_params: dict[str, Any]
    recalibrate: Any

    def predict(self, classifier, rows):
        """Rows, and what a model says of them."""
        X = take_rows(self.X, rows)
        scores = score_rows(classifier, X, self.method)
        return rows, self.find_proba(self.spread(scores, classifier.classes_), X)

    def find_proba(self, scores, X):
        """Probabilities of rows by their scores."""
        return self.recalibrate([scores], X)[0]

    def spread(self, scores, labels):
        """Scores in the columns of all classes."""
        return spread_columns(scores, labels, self.classes)

    def find_last(self):
        """The split of each row that was the last one to test it, -1 for none."""
        last = np.full(len(self.y), -1)
        for split, (_, test) in enumerate(self.splits):
            last[test] = split
        return last


def pool_held_out(folds, rows, scores, mass, n_jobs, show):
    """Rows and the `Pooled` forecasts of them; None where models agree or nothing can be learned.

    `rows` have out-of-fold scores and masses. Splits may overlap, so that several models have not
    seen a row. Otherwise a few more are fitted, if models that have seen it disagree with the one
    that has not: each to what two splits have in common, so that rows are new to two or three.
    """
    counts = mass > 0
    rows, scores, mass = rows[counts], scores[counts], mass[counts]
    own = rows, folds.find_proba(scores, take_rows(folds.X, rows))
    last = folds.find_last()
    others = _find_others(folds, rows, last)
    if len(np.unique(np.concatenate([found for _, found in others]))) >= _ENOUGH * len(rows):
        parts = [folds.predict(folds.classifiers[k], found) for k, found in others if len(found)]
    elif _agree(folds, own, last, mass):
        return None
    else:
        parts = _fit_pairs(folds, rows, last, n_jobs, show)
    return _pool([own, *parts]) if parts else None


def _find_others(folds, rows, last):
    """Rows that each split tests but for those whose scores are of it.

    Rows that are neither trained on nor tested may be too near: of the same group, or in time.
    """
    return [
        (k, np.setdiff1d(np.intersect1d(rows[last[rows] != k], test), train))
        for k, (train, test) in enumerate(folds.splits)
    ]


def _agree(folds, own, last, mass):
    """Whether it hardly matters how two models are averaged, one of which may have seen the row."""
    rows, first = own
    second = np.empty_like(first)
    for k in np.unique(last[rows]):
        tested = last[rows] == k
        neighbour = folds.classifiers[(k + 1) % len(folds.splits)]
        second[tested] = folds.predict(neighbour, rows[tested])[1]
    return find_disagreement([first, second], mass) <= _ALIKE


def _fit_pairs(folds, rows, last, n_jobs, show):
    """Rows, and what models say of them that were fitted without the rows of two splits.

    Nothing if one of them cannot be fitted, which the models of the folds could.
    """
    jobs = list(_list_pairs(folds, rows, last))
    found = Parallel(n_jobs=n_jobs)(
        delayed(_try_fold)(
            clone(folds.estimator), folds.X, folds.y, *job, folds.method, folds.fit_params
        )
        for job in show(jobs)
    )
    errors = [one for one in found if isinstance(one, Exception)]
    if errors:
        warn(
            "The classifier could not be fitted to fewer folds, to learn which average suits it: "
            "that of probabilities is taken. With average='probabilities' no such fit is tried. "
            f"Got {type(errors[0]).__name__}: {errors[0]}"
        )
        return []
    return [
        (held_out, folds.find_proba(folds.spread(scores, labels), take_rows(folds.X, held_out)))
        for (_, held_out), (scores, labels, _) in zip(jobs, found, strict=True)
    ]


def _list_pairs(folds, rows, last):
    """Train and test rows of neighbouring splits, evenly spread where there are many."""
    n_splits = len(folds.splits)
    n_pairs = min(n_splits, _MOST_FITS) if n_splits > 2 else 0
    for first in np.arange(n_pairs) * n_splits // max(n_pairs, 1):
        pair = first, (first + 1) % n_splits
        parts = [folds.splits[k][0] for k in pair]
        train = np.intersect1d(*parts)
        # With three splits the models left in common are so small that two of them differ too much.
        tested = pair if n_splits > 3 else pair[:1]
        held_out = np.setdiff1d(rows[np.isin(last[rows], tested)], train)
        if len(held_out) and _is_model_alike(train, parts, folds.y):
            yield train, held_out


def _is_model_alike(train, parts, y):
    """Whether rows in common give a new model that knows nearly as much as those of the splits."""
    fewest = min(len(part) for part in parts)
    known = np.unique(y[train])
    return _SMALLEST * fewest <= len(train) < fewest and all(
        np.array_equal(np.unique(y[part]), known) for part in parts
    )


def _try_fold(*fold):
    """What `fit_fold` returns, or what went wrong, of whatever kind: libraries have their own."""
    try:
        return fit_fold(*fold, keep=False)
    except Exception as error:
        return error


def _pool(parts):
    """Averages over the models that each row is new to, of rows with two of them at least."""
    places = np.concatenate([rows for rows, _ in parts])
    proba = np.concatenate([found for _, found in parts])
    order = np.argsort(places, kind="stable")
    rows, starts, counts = np.unique(places[order], return_index=True, return_counts=True)
    means, log_means = (np.empty((len(rows), proba.shape[1])) for _ in range(2))
    for count in np.unique(counts[counts > 1]):
        own = counts == count
        members = [proba[order[starts[own] + number]] for number in range(count)]
        means[own] = average_probabilities(members)
        log_means[own] = average_log_odds(members)
    several = counts > 1
    return rows[several], Pooled(means[several], log_means[several], counts[several])
