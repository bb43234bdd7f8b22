"""Reports from training rows alone, by models that have not seen the rows they predict."""

import numpy as np

from skcal._input._groups import read_groups
from skcal._input._validation import check_flag, check_inside, check_option

_HELD_OUT = "No test set was used: each row was predicted by a model that was fitted on other rows."


def check_options(n_rows, *, groups, scale, tolerance, clinical):
    """Raise what `calibration_report` would, before all of the models are fitted."""
    check_option("scale", scale, ("probability", "logit"))
    check_inside("tolerance", tolerance)
    check_flag("clinical", clinical)
    if groups is not None:
        sizes = {"max_depth": 1, "min_samples": 1, "n_bins": 4, "max_groups": 1 << 24}
        read_groups("groups", groups, np.ones(n_rows, dtype=bool), **sizes)


def read_held_out(validation, y):
    """Labels of two kinds, all others being one of them, and the column of probabilities."""
    is_other = y != validation.pos_label
    return np.where(is_other, y[is_other][0], y), validation.held_out


def add_validation(model, validation, y):
    """A `ModelReport` that says how it came about."""
    if len(np.unique(y)) > 2:
        labels = ["other", validation.pos_label]
        model = model._replace(sample=model.sample._replace(labels=labels))
    return model._replace(sentence=f"{_HELD_OUT} {model.sentence}", validation=validation)
