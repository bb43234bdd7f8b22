"""Confidence: the probability of the predicted class; the other classes share the rest."""

import numpy as np

from skcal._tools._warnings import warn

# A lead of the predicted class below this share of 1 / n_classes would drown in float32.
_SMALLEST_LEAD = 1e-6


def mark_correct(scores, codes):
    """Whether the largest score, the first of several, is that of the true label; 0 or 1."""
    return (scores.argmax(axis=1) == codes).astype(np.intp)


def measure_accuracy(correct, sample_weight, n_classes):
    """Weighted accuracy, raised, with a warning, to what keeps a class the most probable one."""
    accuracy = float(np.average(correct, weights=sample_weight))
    if accuracy * n_classes <= 1 + _SMALLEST_LEAD:
        warn(
            f"The accuracy on the fitted rows is {accuracy:.7g}, which is not above "
            f"1 / n_classes = {1 / n_classes:.7g}: the scores are worthless, or columns and "
            "labels are mixed up.",
        )
    return max(accuracy, (1 + _SMALLEST_LEAD) / n_classes)


def share_rest(scores, confidence):
    """Rows with `confidence` for the largest score; the other classes share the rest evenly."""
    n_samples, n_classes = scores.shape
    proba = np.empty((n_samples, n_classes))
    proba[:] = np.reshape((1 - confidence) / (n_classes - 1), (-1, 1))
    proba[np.arange(n_samples), scores.argmax(axis=1)] = confidence
    return proba
