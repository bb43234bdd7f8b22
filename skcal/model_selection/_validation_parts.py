"""What validations of classifiers and of survival models share: checks before, intervals after."""

from collections.abc import Mapping

import numpy as np
from sklearn.frozen import FrozenEstimator

from skcal._input._clusters import read_clusters
from skcal._sources._row_source import check_groups
from skcal.inference import Interval
from skcal.model_selection._validated import ValidatedCurve, ValidatedMeasure


def refuse_frozen(estimator, kind, method):
    """Raise a ValueError unless the whole fit of a model can be repeated."""
    methods = ("fit", method, "get_params")
    if isinstance(estimator, type) or not all(hasattr(estimator, name) for name in methods):
        raise ValueError(
            f"estimator must be an instance of a {kind} with {method}, which scikit-learn can "
            f"clone: with fit and get_params; got {estimator!r}."
        )
    parts = [estimator, *estimator.get_params().values()]
    if any(isinstance(part, FrozenEstimator) for part in parts):
        raise ValueError(
            "estimator must hold no FrozenEstimator: internal validation fits the whole model "
            "again in every resample. Pass the estimator that was frozen, unfitted."
        )


def read_params(params):
    """What goes to the fit, as a dictionary."""
    if not (params is None or isinstance(params, Mapping)):
        raise ValueError(
            f"params must be a dictionary of what goes to estimator.fit, by name; got {params!r}."
        )
    return {name: value for name, value in (params or {}).items() if value is not None}


def read_units(n_rows, clusters, stratify):
    """Numbers of the clusters and of the strata of all rows, None where there are none."""
    member = None if clusters is None else read_clusters(clusters, np.ones(n_rows, dtype=bool))
    if stratify is None:
        return member, None
    _, strata = check_groups("stratify", stratify, n_rows)
    if member is not None and len(np.unique([member, strata], axis=1).T) > member.max() + 1:
        raise ValueError("stratify must be alike in all rows of a cluster, which is drawn whole.")
    return member, strata


def choose_method(fitted, rows):
    """Optimism for linear classifiers without inner folds that do not separate the outcomes."""
    has_folds = any(name.split("__")[-1] in ("cv", "probability") for name in fitted.get_params())
    last = fitted[-1] if hasattr(fitted, "named_steps") else fitted
    is_linear = hasattr(last, "coef_") and not has_folds
    return "optimism" if is_linear and rows.has_slope else "cv"


def summarize(performance, found, level):
    """Measures by name, and the curve."""
    kinds, n_measures = performance.kinds, len(performance.kinds)
    is_error = np.array([kind.is_error for kind in kinds] + [False] * len(found.places))
    parts = [found.apparent, found.corrected, *_bound_measures(found, level, is_error)]
    curve = [np.clip(part[n_measures:], 0.0, 1.0) for part in parts]
    measures = {}
    rows = zip(performance.names, kinds, *parts, found.n_missing, strict=False)
    for name, kind, apparent, corrected, low, high, n_missing in rows:
        ends = np.clip([low, high], kind.low, kind.high).tolist()
        interval = Interval(float(corrected), *ends)
        optimism = float(apparent - corrected)
        measures[name] = ValidatedMeasure(float(apparent), optimism, interval, int(n_missing))
    return measures, ValidatedCurve(found.places, *curve)


def _bound_measures(found, level, is_error):
    """Ends of intervals: how far values of resamples are from their mean, around the corrected one.

    Errors of calibration grow by drawing rows again: their ends are as far away on both sides as
    the farther one.
    """
    values = np.where(np.isfinite(found.deviations), found.deviations, np.nan)
    enough = 2 * np.isfinite(values).sum(axis=0) > len(values)
    low, high = np.full((2, len(enough)), np.nan)
    values, corrected = values[:, enough], found.corrected[enough]
    ends = np.nanquantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)
    centred = ends - np.nanmean(values, axis=0)
    farther = np.abs(ends).max(axis=0) * np.array([[-1.0], [1.0]])
    low[enough], high[enough] = corrected + np.where(is_error[enough], farther, centred)
    return low, high
