"""Places and bandwidths by evidence: where rows and events are few a kernel reaches further."""

import numpy as np

# Events, or non-events where these are fewer, that a kernel gathers at least.
ENOUGH_EVENTS = 25.0
# So few where the error is beyond doubt: more would reach over what it differs between.
CLEAR_EVENTS = 10.0
# Bandwidths, as parts of the evidence: a twentieth shows waves, half shows a slope at most.
_NARROWEST, _WIDEST = 0.05, 0.5
# A mean under a Gaussian kernel varies as that of the rows in so many bandwidths.
N_BANDWIDTHS = 2 * np.sqrt(np.pi)


def place_by_evidence(predictions, weight):
    """Where distinct, sorted predictions lie on [0, 1], by rows and by information alike.

    Half of it is the share of the rows up to the middle of those with the same prediction, and half
    their share of the information, the sum of w v (1 - v).
    """
    parts = weight, weight * predictions * (1 - predictions)
    shares = [(np.cumsum(part) - part / 2) / part.sum() for part in parts if part.sum() > 0]
    return sum(shares) / len(shares)


def find_evidence(ties):
    """Variance of an outcome, by the predictions or by the outcomes, whichever is larger.

    Times a number of rows it is about that of events, or of non-events where these are fewer.
    Outcomes that are far from their predictions are evidence that no prediction knows of.
    """
    predictions, weight, positive, total = ties
    expected = weight * predictions * (1 - predictions)
    observed = positive * (1 - predictions) ** 2 + (weight - positive) * predictions**2
    return float(max(expected.sum(), observed.sum()) / total)


def choose_bandwidth(n_events, enough):
    """Bandwidth of a kernel on [0, 1] that gathers `enough` of so many events, if that can be."""
    needed = enough / (N_BANDWIDTHS * max(n_events, 1.0))
    return float(np.clip(needed, _NARROWEST, _WIDEST))
