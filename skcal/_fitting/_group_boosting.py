"""Corrections by a sum of trees."""

from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

_LEARNING_RATE = 0.1
_MAX_ROUNDS = 300
# Boosting ends after this many rounds without this gain of the mean loss.
_PATIENCE, _LEAST_GAIN = 10, 1e-5
# Bins of scores, which are a feature of the trees.
_N_BINS = 64
_MAX_LEAVES = 31
_FEWEST_ROWS = 20
_PENALTY = 20.0
# Trees of fewer rows are grown by one thread.
_MANY_ROWS = 100_000
# No variance of a residual is taken to be smaller.
_SMALLEST_VARIANCE = 1e-6


class GroupBoostingMap(NamedTuple):
    """A correction, and which levels of each column it was learned from."""

    intercept: float
    edges: np.ndarray
    trees: list[HistGradientBoostingRegressor]
    seen: list[np.ndarray]


class TreesOfGroups:
    """Newton boosting of trees of the columns and the scores, from these and an intercept on.

    The number of rounds is that with the least loss in rows held out.
    """

    def _fit_map(self, loss, mass, numbers, splits):
        with _limit_threads(len(mass)):
            return self._choose_rounds(loss, mass, numbers, splits)

    def _choose_rounds(self, loss, mass, numbers, splits):
        paths = [
            self._boost(loss, mass, numbers, train, _MAX_ROUNDS, test) for train, test in splits
        ]
        losses = np.full((len(splits), _MAX_ROUNDS + 1), np.inf)
        for own, (_, _, found) in zip(losses, paths, strict=True):
            own[: len(found)] = found
        n_rounds = int(losses.sum(axis=0).argmin())
        held_out = np.zeros(len(mass))
        for (_, steps, _), (_, test) in zip(paths, splits, strict=True):
            held_out[test] = steps[n_rounds]
        fitted, *_ = self._boost(loss, mass, numbers, slice(None), n_rounds)
        return fitted, held_out

    def _apply(self, fitted, odds, numbers):
        features = self._make_features(odds, numbers, fitted.edges)
        with _limit_threads(len(odds)):
            correction = sum((tree.predict(features) for tree in fitted.trees), np.zeros(len(odds)))
        return fitted.intercept + np.where(_are_known(numbers, fitted.seen), correction, 0.0)

    def _boost(self, loss, mass, numbers, rows, n_rounds, test=None):
        """Trees grown on some rows, and after each the correction and the loss of test rows.

        With test rows it ends once their loss has not fallen for some rounds.
        """
        odds, own = loss.offset, loss.take(rows)
        edges = np.unique(np.quantile(own.offset, np.arange(1, _N_BINS) / _N_BINS))
        seen = [
            np.bincount(column, minlength=len(levels.titles) + 1) > 0
            for column, levels in zip(numbers[rows].T, self.levels, strict=True)
        ]
        # To the optimum: a single Newton step, as trees take it for what all rows have in common,
        # is far too long where probabilities are next to 0 and 1.
        fitted = GroupBoostingMap(own.fit_constant(mass[rows]), edges, [], seen)
        is_known, features = _are_known(numbers, seen), self._make_features(odds, numbers, edges)
        correction = np.full(len(odds), fitted.intercept)
        held_out = None if test is None else loss.take(test)
        steps, losses, best = [], [], 0
        for number in range(n_rounds + 1):
            if held_out is not None:
                steps.append(correction[test])
                losses.append(mass[test] @ held_out.evaluate(correction[test])[0])
                if losses[best] - losses[number] > _LEAST_GAIN * mass[test].sum():
                    best = number
                elif number - best >= _PATIENCE:
                    break
            if number < n_rounds:
                tree = self._grow(features[rows], own, correction[rows], mass[rows])
                fitted.trees.append(tree)
                correction += np.where(is_known, tree.predict(features), 0.0)
        return fitted, steps, losses

    def _grow(self, features, loss, correction, mass):
        """A tree of Newton steps."""
        residuals, variances = loss.find_residuals(correction)
        variances = np.maximum(variances, _SMALLEST_VARIANCE)
        tree = HistGradientBoostingRegressor(
            learning_rate=_LEARNING_RATE,
            max_iter=1,
            max_leaf_nodes=_MAX_LEAVES,
            min_samples_leaf=_FEWEST_ROWS,
            l2_regularization=_PENALTY,
            categorical_features=[*(own.edges is None for own in self.levels), False],
            early_stopping=False,
            random_state=0,  # for the rows that define the bins; all are alike
        )
        return tree.fit(features, residuals / variances, sample_weight=mass * variances)

    def _make_features(self, odds, numbers, edges):
        """Numbers of levels, NaN for none, and of bins of scores."""
        known = numbers < [len(own.titles) for own in self.levels]
        columns = np.where(known, numbers, np.nan)
        return np.column_stack([columns, np.searchsorted(edges, odds, side="right")])


def _are_known(numbers, seen):
    """Rows all of whose levels were seen; a tree would take others for the most frequent ones."""
    known = [own[column] for own, column in zip(seen, numbers.T, strict=True)]
    return np.logical_and.reduce(known)


def _limit_threads(n_rows):
    """A context of one thread for few rows.

    Several would wait for each other hundreds of times, and for long where other processes run.
    """
    return nullcontext() if n_rows >= _MANY_ROWS else threadpool_limits(1, user_api="openmp")
