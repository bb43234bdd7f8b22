"""Models that are fitted again, to resamples or to folds of the rows of the first one."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils.parallel import Parallel, delayed

from skcal._fitting._folds import fit_rows
from skcal._sources._resamples import Units

# A draw that lacks an outcome is drawn again so often before the outcome counts as too rare.
_MOST_DRAWS = 1000


class Refits(NamedTuple):
    """An estimator with its rows; ``predict(fitted, X)`` returns a number for each row of X."""

    estimator: Any
    X: Any
    y: Any
    fit_params: dict[str, Any]
    predict: Any

    def run(self, splits, n_jobs, then=None):
        """Yield what models of the training rows predict for the test rows, or an error as a text.

        ``then(predictions, train, *more)`` makes something else of predictions, where they come
        about, with what stands beside the rows of a split.
        """
        run = Parallel(n_jobs=n_jobs, return_as="generator")
        yield from run(delayed(self._try_split)(then, *split) for split in splits)

    def predict_split(self, train, test):
        """A model of the training rows, and what it predicts for the test rows."""
        fitted = clone(self.estimator)
        X = fit_rows(fitted, self.X, self.y, train, test, self.fit_params)
        return fitted, self.predict(fitted, X)

    def _try_split(self, then, train, test, *more):
        try:
            _, found = self.predict_split(train, test)
        except Exception as error:  # of whatever kind: libraries have their own
            return f"{type(error).__name__}: {error}"
        return found if then is None else then(found, train, *more)


class RowDraws:
    """Resamples of rows, or of whole clusters of them, within strata.

    Each holds rows of every kind, which `kinds` numbers from 0, with negative numbers for rows that
    are of none; `n_redrawn` counts draws that did not.
    """

    def __init__(self, kinds, member, strata, rng):
        self._kinds, self._rng, self.n_redrawn = kinds, rng, 0
        strata = np.zeros(len(kinds), dtype=np.intp) if strata is None else strata
        self._parts = []
        for stratum in range(strata.max() + 1):
            rows, own = np.flatnonzero(strata == stratum), None
            if member is not None:
                own = np.unique(member[rows], return_inverse=True)[1]
            self._parts.append((rows, Units(len(rows), own)))

    def __call__(self):
        """Numbers of the rows of one resample."""
        for _ in range(_MOST_DRAWS):
            drawn = np.concatenate(
                [rows[units.draw_rows(self._rng)] for rows, units in self._parts]
            )
            found = np.unique(self._kinds[drawn])
            if (found >= 0).sum() == self._kinds.max() + 1:
                return drawn
            self.n_redrawn += 1
        raise ValueError(
            f"{_MOST_DRAWS} resamples in a row lacked one of the outcomes: it is too rare, or in "
            "too few clusters. Pass stratify=y."
        )


def count_folds(kinds, member, most):
    """Number of folds: no more than rows of any kind, or clusters with such rows."""
    units = np.arange(len(kinds)) if member is None else member
    fewest = min(len(np.unique(units[kinds == kind])) for kind in range(kinds.max() + 1))
    if fewest < 2:
        what = "rows" if member is None else "clusters"
        raise ValueError(f"y must hold each outcome in two {what} at least; got one in {fewest}.")
    return min(most, fewest)


def deal_folds(kinds, member, strata, n_folds, rng):
    """Pairs of train and test rows: random folds with equal shares of every kind and stratum.

    Clusters stay whole.
    """
    labels = kinds if strata is None else kinds + (kinds.max() + 1) * strata
    counts = np.bincount(labels)
    if counts[counts > 0].min() < n_folds:
        labels = kinds
    seed = int(rng.integers(1 << 31))
    splitter = StratifiedKFold if member is None else StratifiedGroupKFold
    folds = splitter(n_folds, shuffle=True, random_state=seed)
    return list(folds.split(np.zeros(len(kinds)), labels, member))
