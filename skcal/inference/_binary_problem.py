"""The entrance of tests for one binary problem whose rows are independent."""

import numpy as np

from skcal._reduction import REDUCTIONS, check_option, reduce_to_samples
from skcal._sample import Sample


def reduce_to_labelled_sample(
    y_true, y_proba, *, sample_weight=None, pos_label=None, labels=None, reduction="auto"
):
    """Check user input of a test of one binary problem; see `reduce_to_samples`.

    Returns
    -------
    Sample
        All arrays float64, outcomes 0 or 1, no row of weight zero; weights None where none
        were given.

    Raises
    ------
    ValueError
        If the input is invalid, if `reduction` gives several problems or dependent rows, or if
        there are soft labels.
    """
    check_option("reduction", reduction, REDUCTIONS)
    if reduction not in ("auto", "confidence"):
        raise ValueError(
            "reduction must be 'auto' or 'confidence' for this test, which needs one binary "
            f"problem and independent rows; got {reduction!r}. Choose one class with pos_label."
        )
    (sample,) = reduce_to_samples(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )
    predictions, outcomes, weights = next(sample.chunks(size=len(sample.predictions)))
    soft = (outcomes != 0) & (outcomes != 1)
    if soft.any():
        row = np.flatnonzero(soft)[0]
        raise ValueError(
            "y_true must hold labels; a soft label has no outcome to test; "
            f"got {outcomes[row]:g} at row {row}."
        )
    if weights is not None and not weights.all():
        present = weights > 0
        predictions, outcomes, weights = predictions[present], outcomes[present], weights[present]
    return Sample(predictions, outcomes, weights)


def list_weights(sample):
    """Weights of all rows of a sample; ones where there are none."""
    return np.ones(len(sample.predictions)) if sample.weights is None else sample.weights


def check_counts(sample):
    """Raise a ValueError unless weights can be numbers of rows."""
    total = sample.total_weight
    if sample.weights is not None and total < min(2, len(sample.weights)):
        raise ValueError(
            "sample_weight is read as counts of rows, which must sum to at least 2; got "
            f"{total:g}. Scale the weights to sum to the number of rows."
        )
