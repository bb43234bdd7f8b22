"""Reports from training rows alone, by models that have not seen the rows they predict."""

import numpy as np

from skcal._fitting._folds import check_rows
from skcal._input._groups import read_groups
from skcal._input._validation import check_flag, check_inside, check_option, check_rng
from skcal.model_selection import internal_validation
from skcal.report._compute import compute_report

_HELD_OUT = "No test set was used: each row was predicted by a model that was fitted on other rows."


def compute_held_out(
    estimator,
    X,
    y,
    *,
    sample_weight,
    pos_label,
    clusters,
    params,
    confidence_level,
    n_resamples,
    n_jobs,
    progress,
    random_state,
    **own,
):
    """The fields of a `CalibrationReport` of the rows that the classifier is fitted on."""
    X, target = check_rows(estimator, X, y)
    _check_options(len(target), **own)
    shared = {
        "sample_weight": sample_weight,
        "clusters": clusters,
        "confidence_level": confidence_level,
        "n_jobs": n_jobs,
        "random_state": check_rng(random_state),
    }
    found = internal_validation(
        estimator,
        X,
        y,
        method="cv",
        n_resamples=n_resamples,
        pos_label=pos_label,
        params=params,
        progress=progress,
        **shared,
    )
    labels = _join_others(target, found.pos_label)
    models, *rest = compute_report(
        labels, found.held_out, pos_label=found.pos_label, **own, **shared
    )
    return {None: _add_validation(models[None], found, target)}, *rest


def _check_options(n_rows, *, groups, scale, tolerance, clinical):
    """Raise what `calibration_report` would, before all of the models are fitted."""
    check_option("scale", scale, ("probability", "logit"))
    check_inside("tolerance", tolerance)
    check_flag("clinical", clinical)
    if groups is not None:
        sizes = {"max_depth": 1, "min_samples": 1, "n_bins": 4, "max_groups": 1 << 24}
        read_groups("groups", groups, np.ones(n_rows, dtype=bool), **sizes)


def _join_others(y, pos_label):
    """Labels of two kinds: all but the positive one are the same."""
    is_other = y != pos_label
    return np.where(is_other, y[is_other][0], y)


def _add_validation(model, validation, y):
    """A `ModelReport` that says how it came about."""
    if len(np.unique(y)) > 2:
        labels = ["other", validation.pos_label]
        model = model._replace(sample=model.sample._replace(labels=labels))
    return model._replace(sentence=f"{_HELD_OUT} {model.sentence}", validation=validation)
