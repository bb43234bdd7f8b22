"""Losses of accepting rows: whether what is predicted comes true, or numbers of the user."""

import numpy as np

from skcal._input._independent_rows import check_reduction
from skcal._input._reduction import reduce_to_samples
from skcal._input._sample import Sample
from skcal._input._validation import check_unit_range
from skcal._tools._arrays import as_float64, read_numbers


def check_losses(risk, n_rows):
    """Losses of all rows in [0, 1] as float64; None for the risk "error"."""
    if isinstance(risk, str) and risk == "error":
        return None
    if isinstance(risk, str) or risk is None:
        raise ValueError(f"risk must be 'error' or an array of losses; got {risk!r}.")
    losses = read_numbers("risk", risk).astype(np.float64)
    if losses.shape != (n_rows,):
        raise ValueError(
            f"risk must have shape {(n_rows,)}, a loss for each row; got {losses.shape}."
        )
    return check_unit_range("risk", losses)


def reduce_to_losses(y_true, y_proba, *, risk, reduction, **data):
    """Check user input; return a sample with losses for outcomes, and which rows it holds."""
    check_reduction(reduction)
    (sample,) = reduce_to_samples(y_true, y_proba, reduction=reduction, **data)
    return find_losses(sample, risk)


def find_losses(sample, risk):
    """A sample with losses for outcomes, and which rows it holds, those of positive weight.

    An error is 1 minus the share of what was predicted.
    """
    predictions, outcomes, weights = sample.predictions, sample.outcomes, sample.weights
    losses = check_losses(risk, len(predictions))
    if losses is None:
        losses = outcomes == 0 if outcomes.dtype.kind in "bui" else 1.0 - as_float64(outcomes)
    present = np.ones(len(predictions), dtype=bool) if weights is None else weights > 0
    return Sample(predictions, losses, weights).drop_absent(), present
