"""Regressors that learn residuals from parts of the rows, to be judged by the next part."""

from __future__ import annotations

from inspect import signature
from typing import NamedTuple

import numpy as np
from sklearn.base import clone, is_regressor

from skcal._tools._parallel import run_parallel

# Information of the prior that draws leaves to 0, and what one leaf has at least.
_PRIOR, _LEAST_ROWS = 5.0, 40
# Variances below this share of the mean count as this share, so that no single row outweighs all.
_LEAST_VARIANCE = 1e-3
# Bins of numbers; weighted bins take most of the time.
_N_BINS = 32
# Log odds, or standard deviations, that an error has at most.
_LARGEST = 8.0


class Learned(NamedTuple):
    """Directions of the rows of all parts but the first, 0 in that one.

    `shuffled` has those after each column was shuffled within the part, a row for each column.
    """

    direction: np.ndarray
    shuffled: np.ndarray


def choose_learner(learner, seed):
    """The regressor that learns residuals; by default small boosted trees."""
    if learner is None:
        from sklearn.ensemble import HistGradientBoostingRegressor

        return HistGradientBoostingRegressor(
            max_iter=60,
            learning_rate=0.05,
            max_leaf_nodes=8,
            max_bins=_N_BINS,
            min_samples_leaf=_LEAST_ROWS,
            l2_regularization=_PRIOR,
            early_stopping=False,
            random_state=seed,
        )
    if not (hasattr(learner, "fit") and is_regressor(learner)):
        raise ValueError(f"learner must be a regressor of scikit-learn; got {learner!r}.")
    return learner


def learn_directions(learner, features, rows, part, rng, n_jobs, show):
    """`Learned` errors of the rows: those of each part from all parts before it.

    `rows` have residuals, variances and weights. Errors are in units of residuals over variances,
    which are log odds of probabilities.
    """
    matrix = np.column_stack([features.values, rows.places])
    n_parts, n_columns = part.max() + 1, len(features.names)
    seeds = rng.integers(1 << 32, size=n_parts - 1)
    tasks = [
        (_learn_part, learner, matrix, features.owners, rows, part, number, n_columns, seed)
        for number, seed in zip(range(1, n_parts), seeds, strict=True)
    ]
    direction = np.zeros(len(part))
    shuffled = np.zeros((n_columns, len(part)))
    for number, found in enumerate(run_parallel(tasks, n_jobs, show), start=1):
        tested = part == number
        direction[tested], shuffled[:, tested] = found
    return Learned(direction, shuffled)


def _learn_part(learner, matrix, owners, rows, part, number, n_columns, seed):
    known, tested = part < number, np.flatnonzero(part == number)
    fitted = clone(learner)
    unit = _fit(fitted, matrix[known], rows.take(known))

    def predict(values):
        found = np.asarray(fitted.predict(values), dtype=np.float64).reshape(len(values))
        return unit * np.clip(np.nan_to_num(found), -_LARGEST, _LARGEST)

    own, rng, shuffled = matrix[tested], np.random.default_rng(seed), []
    direction = predict(own)
    for column in range(n_columns):
        places, mixed = np.flatnonzero(owners == column), own.copy()
        mixed[:, places] = own[rng.permutation(len(own))][:, places]
        shuffled.append(predict(mixed))
    return direction, np.reshape(shuffled, (n_columns, len(own)))


def _fit(learner, matrix, rows):
    """Fit errors, and return their unit: 1 for log odds, or what residuals of means vary by."""
    residuals, variances, weights = rows.residuals, rows.variances, rows.list_weights()
    unit = 1.0
    if variances is None:
        unit = np.sqrt(np.average(residuals**2, weights=weights)) or 1.0
        residuals, variances = residuals / unit, np.ones(len(residuals))
    variances = np.maximum(variances, _LEAST_VARIANCE * variances.mean() or 1.0)
    mass = weights * variances
    if "sample_weight" in signature(learner.fit).parameters:
        learner.fit(matrix, residuals / variances, sample_weight=mass)
    else:  # a pipeline, or neighbours
        learner.fit(matrix, residuals / variances.mean())
    return unit
