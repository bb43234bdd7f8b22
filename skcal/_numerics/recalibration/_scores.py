"""Class scores on the scales that recalibrators read; all without cancellation near 0 and 1."""

import numpy as np
from scipy.special import expit, logsumexp

from skcal._tools._arrays import namespace

# Probabilities are not taken below this before a logarithm: the logit of a hard 0 or 1 is 36.
SMALLEST_PROBABILITY = float(np.finfo(np.float64).eps)
# What rounding leaves of probabilities that should be 0, as 1 - p - q may be, lies between these
# parts of the resolution of their type.
_RESIDUES = 2.0**-28, 2.0**6
# Sums of exponentials below this have lost digits.
_UNDERFLOW = 1e-290
# Of the mean of several probabilities, which none of them counts below in a mean of log odds.
SMALLEST_SHARE = 0.01


def find_probabilities(logits):
    """The softmax of every row, of an array of any library."""
    xp = namespace(logits)
    parts = xp.exp(logits - xp.max(logits, axis=1, keepdims=True))
    return parts / xp.sum(parts, axis=1, keepdims=True)


def centre_logits(logits):
    """Logits with rows that sum to 0, the same whatever was added to a row."""
    gaps = logits - logits.max(axis=1, keepdims=True)  # exactly 0 where all are equal
    gaps -= gaps.mean(axis=1, keepdims=True)
    return gaps


def log_odds(logits):
    """log(p / (1 - p)) of each class, of the second alone where there are two."""
    if logits.shape[1] == 2:
        return logits[:, 1:] - logits[:, :1]
    rows, top = np.arange(len(logits)), logits.argmax(axis=1)
    rest = logits - logits[rows, top][:, None]
    odds = np.exp(rest)
    odds[rows, top] = 0.0
    others = odds.sum(axis=1)
    log_others = np.log(others, out=np.zeros_like(others), where=others > _UNDERFLOW)
    fades = others <= _UNDERFLOW
    log_others[fades] = _sum_logs_without(rest[fades], np.arange(fades.sum()), top[fades])
    # 1 - p is p of the others: a sum of positive terms, the largest being 1.
    np.subtract(others[:, None], odds, out=odds)
    rest -= np.log1p(odds, out=odds)
    rest[rows, top] = -log_others
    return rest


def combine_odds(odds):
    """Probabilities inside (0, 1) by log-odds of each class, or of the second of two alone."""
    if odds.shape[1] == 1:
        proba = expit(np.column_stack([-odds, odds]))
    else:
        proba = normalize_rows(expit(odds))
    return np.clip(proba, np.finfo(np.float64).tiny, np.nextafter(1.0, 0.0))


def find_floor(proba, n_classes, resolution=SMALLEST_PROBABILITY, xp=np):
    """What a probability of 0 stands for: half of the smallest positive one.

    Where 1 / n is the smallest share of votes that could be seen, 0 means less, and half a vote is
    Haldane's correction of the logarithm of a ratio of counts. `resolution` is that of the type the
    probabilities came in, the distance of 1 to the next larger number.

    The floor is at least 2.2e-16, which is the answer where no probability is smaller, or where
    some are so small that 0 can only be the end of a range. It is at most 1 / (2 n_classes), so
    that the largest probability of a row stays above.
    """
    least, most = (part * resolution for part in _RESIDUES)
    is_fine = (proba > 0) & (proba < least)
    if not xp.any(proba < SMALLEST_PROBABILITY) or xp.any(is_fine):
        return SMALLEST_PROBABILITY
    positive = float(xp.min(xp.where(proba > most, proba, xp.ones_like(proba))))
    return max(SMALLEST_PROBABILITY, min(positive, 1 / n_classes) / 2)


def average_log_odds(parts, slope=1.0, intercepts=0.0):
    """Rows in proportion to the geometric mean of several probabilities, of the type of the first.

    Of two classes that is the mean of the log odds. No part counts for less than a share of the
    mean of all, lest a single one that is next to 0 decide. Sums in order keep ties ties. The mean
    of the logarithms is multiplied by the slope, and intercepts are added.
    """
    ordered = np.sort(np.asarray(parts, dtype=np.float64), axis=0)
    ordered = np.maximum(ordered, SMALLEST_SHARE * ordered.mean(axis=0))
    logs = np.log(ordered, out=np.full_like(ordered, -np.inf), where=ordered > 0).mean(axis=0)
    dtype = parts[0].dtype
    proba = find_probabilities(slope * logs + intercepts).astype(dtype)
    # Rounding does not give a 0 or a 1 that none of the parts gives.
    least = np.where(ordered[0] > 0, np.finfo(dtype).tiny, dtype.type(0))
    most = np.where(ordered[0] < 1, np.nextafter(dtype.type(1), dtype.type(0)), dtype.type(1))
    return np.clip(proba, least, most)


def normalize_rows(parts):
    """Rows divided by their sums; a row of zeros becomes even."""
    total = parts.sum(axis=1, keepdims=True)
    even = np.full_like(parts, 1 / parts.shape[1])
    return np.divide(parts, total, out=even, where=total > 0)


def _sum_logs_without(logits, rows, columns):
    others = logits.copy()
    others[rows, columns] = -np.inf
    return logsumexp(others, axis=1)
