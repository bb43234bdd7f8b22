"""What exact bounds need of a sample: independent rows that count once each."""

import numpy as np

from skcal._reduction import REDUCTIONS, reduce_to_samples
from skcal._validation import check_number, check_option


def reduce_to_rows(y_true, y_proba, *, pos_label, labels, reduction):
    """Check user input and reduce it to one binary sample of independent rows."""
    check_option("reduction", reduction, REDUCTIONS)
    if reduction not in ("auto", "confidence"):
        raise ValueError(
            "reduction must give one binary problem with independent rows, as 'auto' and "
            f"'confidence' do; got {reduction!r}. Choose one class with pos_label."
        )
    (sample,) = reduce_to_samples(
        y_true, y_proba, pos_label=pos_label, labels=labels, reduction=reduction
    )
    check_rows(sample)
    return sample


def check_rows(sample):
    """Raise a ValueError unless all rows count once and have an outcome of 0 or 1."""
    if sample.weights is not None:
        raise ValueError(
            "sample_weight must be None for exact bounds, which hold for rows that count once "
            "each; repeat rows that stand for several."
        )
    for _, outcomes, _ in sample.chunks():
        if not ((outcomes == 0) | (outcomes == 1)).all():
            raise ValueError(
                "y_true must hold labels for exact bounds, which rest on their randomness; got "
                f"the soft label {outcomes[np.flatnonzero(outcomes % 1)[0]]:g}."
            )


def check_confidence_level(confidence_level):
    """Return the level as a float above 0 and below 1, or raise a ValueError."""
    level = check_number("confidence_level", confidence_level, 0, below=1)
    if level == 0:
        raise ValueError("confidence_level must be above 0 and below 1; got 0.")
    return level
