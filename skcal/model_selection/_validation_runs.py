"""How performance is corrected: by models of resamples, or by folds again and again."""

from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from skcal._sources._refits import count_folds, deal_folds
from skcal._tools._warnings import warn

MOST_FOLDS = 10
# Models of folds share most of their rows, so that their predictions vary less than those of models
# of other rows would: intervals are made so much longer.
_STRETCH = 1.2


class Corrected(NamedTuple):
    """Measures and points of the curve, in one array: apparent, corrected, and how both vary.

    `deviations` has a row for each resample of the rows, whose mean is what the drawing adds;
    `n_missing` counts models in which a value is not finite.
    """

    apparent: np.ndarray
    corrected: np.ndarray
    deviations: np.ndarray
    n_missing: np.ndarray
    places: np.ndarray  # of the curve
    resampled: np.ndarray | None
    n_models: int
    n_failed: int
    n_certain: int
    held_out: np.ndarray | None = None


class Run(NamedTuple):
    """An estimator, its rows with what it predicts for them, and how to validate it."""

    refits: Any
    rows: Any
    performance: Any
    draws: Any
    n_resamples: int
    n_jobs: int | None
    show: Any

    def validate(self, method, member, strata, rng, keep=False):
        """`Corrected` by a method; `keep` models of resamples, too."""
        if method == "optimism":
            return self.correct_optimism(keep)
        found = self.cross_validate(member, strata, rng)
        return found._replace(resampled=self.refit_resamples()) if keep else found

    def correct_optimism(self, keep):
        """By models of resamples: apparent in their own rows, minus in those of the data."""
        measure = Assess(self.performance, self.rows.place_points([self.rows.predictions]))
        apparent = measure(self.rows)
        compare = Compare(measure, self.rows, keep)
        found, errors = _part(self._refit(compare, more=self.draws))
        _check_failures(errors, self.n_resamples, "resamples")
        own, others, redrawn, resampled = zip(*found, strict=True)
        mean, n_missing = _average(_subtract(own, others))
        deviations = _subtract(redrawn, _average(others)[0])
        return Corrected(
            apparent,
            apparent - mean,
            deviations,
            n_missing,
            measure.places,
            np.array(resampled).T if keep else None,
            len(found),
            len(errors),
            int(self.rows.is_certain.sum()),
        )

    def cross_validate(self, member, strata, rng):
        """By predictions of folds, all test rows of a repetition together."""
        kinds = self.rows.outcomes
        n_folds = count_folds(kinds, member, MOST_FOLDS)
        n_repetitions = max(self.n_resamples // n_folds, 1)
        steps = self.show(range(n_folds * n_repetitions))
        dealt = chain.from_iterable(
            deal_folds(kinds, member, strata, n_folds, rng) for _ in range(n_repetitions)
        )
        splits = ((train, test, test) for _, (train, test) in zip(steps, dealt, strict=True))
        found = self.refits.run(splits, self.n_jobs, _keep_places)
        pooled, errors = [], []
        for _ in range(n_repetitions):
            parts, wrong = _part(islice(found, n_folds))
            if wrong:
                errors.append(wrong[0])
                continue
            tests, values = map(np.concatenate, zip(*parts, strict=True))
            predictions = np.empty_like(values)
            predictions[tests] = values
            pooled.append(self.rows.replace(predictions))
        _check_failures(errors, n_repetitions, "repetitions of folds")
        places = self.rows.place_points([rows.predictions for rows in pooled])
        measure = Assess(self.performance, places)
        values = np.array([measure(rows) for rows in pooled])
        mean, n_missing = _average(values)
        apparent = measure(self.rows)
        if (np.ptp(self.rows.predictions, axis=0) == 0).all():
            # A constant has no slope; what folds show is that their base rates differ.
            n_measures = len(self.performance.kinds)
            mean[:n_measures][np.isnan(apparent[:n_measures])] = np.nan
        deviations = Parallel(n_jobs=self.n_jobs)(
            delayed(_deviate)(measure, pooled[k % len(pooled)], values[k % len(pooled)], drawn)
            for k, drawn in enumerate(self.draws() for _ in range(self.n_resamples))
        )
        return Corrected(
            apparent,
            mean,
            _STRETCH * np.array(deviations),
            n_missing,
            places,
            None,
            n_folds * len(pooled),
            len(errors),
            round(np.mean([rows.is_certain.sum() for rows in pooled])),
            pooled[0].predictions,
        )

    def refit_resamples(self):
        """Predictions of models of resamples, shape (n_samples, n_models)."""
        found, errors = _part(self._refit())
        _check_failures(errors, self.n_resamples, "resamples")
        return np.array(found).T

    def _refit(self, then=None, more=None):
        everyone = np.arange(len(self.rows.outcomes))
        splits = (
            (self.draws(), everyone, *([] if more is None else [more()]))
            for _ in self.show(range(self.n_resamples))
        )
        return self.refits.run(splits, self.n_jobs, then)


class Assess(NamedTuple):
    """Measures of rows and the points of their curve, in one array."""

    performance: Any
    places: np.ndarray

    def __call__(self, rows):
        return np.concatenate([self.performance(rows), rows.draw_curve(self.places)])


class Compare(NamedTuple):
    """What one model of a resample tells."""

    measure: Assess
    rows: Any
    keep: bool

    def __call__(self, predictions, train, drawn):
        """Measures of its own rows, of those of the data and of others drawn; its predictions."""
        rows = self.rows.replace(predictions)
        measured = (
            self.measure(rows.take(train)),
            self.measure(rows),
            self.measure(rows.take(drawn)),
        )
        return *measured, predictions if self.keep else None


def _keep_places(predictions, train, test):
    return test, predictions


def _deviate(measure, rows, value, drawn):
    return _subtract(measure(rows.take(drawn)), value)


def _subtract(values, others):
    with np.errstate(invalid="ignore"):  # infinity minus infinity
        return np.subtract(values, others)


def _part(found):
    """Results, and the errors among them."""
    found = list(found)
    return (
        [one for one in found if not isinstance(one, str)],
        [one for one in found if isinstance(one, str)],
    )


def _average(values):
    """Mean of finite values, NaN where most are not, and how many are not."""
    values = np.asarray(values)
    known = np.isfinite(values)
    n_known = known.sum(axis=0)
    mean = np.where(known, values, 0.0).sum(axis=0) / np.maximum(n_known, 1)
    return np.where(2 * n_known > len(values), mean, np.nan), len(values) - n_known


def _check_failures(errors, n_tried, what):
    if 2 * len(errors) >= n_tried:
        raise ValueError(
            f"estimator could not be fitted in {len(errors)} of {n_tried} {what}; got {errors[0]}"
        )
    if errors:
        warn(f"{len(errors)} of {n_tried} {what} are left out: the fit failed with {errors[0]}")
