"""Reports from training rows alone, by models that have not seen the rows they predict."""

import numpy as np

_HELD_OUT = "No test set was used: each row was predicted by a model that was fitted on other rows."


def read_held_out(validation, y):
    """Labels, held-out probabilities and the positive label, as `calibration_report` takes them."""
    labels, risk = np.asarray(y), validation.held_out
    if len(np.unique(labels)) == 2:
        return labels, risk, validation.pos_label
    return (labels == validation.pos_label).astype(int), risk, None


def add_validation(model, validation):
    """A `ModelReport` that says how it came about."""
    return model._replace(sentence=f"{_HELD_OUT} {model.sentence}", validation=validation)
