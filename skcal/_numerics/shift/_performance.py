"""Metrics of predictions whose labels are known by their probabilities alone.

Each is made of the predictions once, and takes the probabilities of the labels, `chances`, and
weights of the rows as often as wanted. Chances of 0 and 1 give the metric of known labels.
"""

import numpy as np
from scipy.special import xlogy

from skcal._numerics.cells._order import unite_rounded

# Between two neighbours among the labelled scores whose values differ by more there is a gap.
_WIDE = 0.2


def make_metric(name, proba, threshold):
    """The function of `chances` and `weights` that gives a metric of these predictions.

    `name` is one of `METRICS`; `proba` and the chances are (n_samples, n_classes), and the last of
    two classes is the positive one. From the probability `threshold` on this class is predicted;
    with three or more, the class with the largest probability is. The metric is a float, or an
    array for the confusion; NaN where it is not defined.
    """
    return METRICS[name](proba, threshold)


def predict_classes(proba, threshold):
    """Column of the predicted class of each row."""
    if proba.shape[1] == 2:
        return (proba[:, 1] >= threshold).astype(np.intp)
    return proba.argmax(axis=1)


def _average_rows(find_values):
    """Metric that is a weighted mean of a value of each row."""

    def make(proba, threshold):
        of_rows = find_values(proba, threshold)
        return lambda chances, weights: float(weights @ of_rows(chances) / weights.sum())

    return make


def _find_hits(proba, threshold):
    predicted = predict_classes(proba, threshold)
    return lambda chances: chances[np.arange(len(chances)), predicted]


def _find_log_losses(proba, threshold):
    return lambda chances: -xlogy(chances, proba).sum(axis=1)


def _find_brier_scores(proba, threshold):
    squares = (proba**2).sum(axis=1)
    half = 0.5 if proba.shape[1] == 2 else 1.0
    return lambda chances: half * (squares - 2 * (chances * proba).sum(axis=1) + 1)


def _find_net_benefits(proba, threshold):
    acts = predict_classes(proba, threshold)
    odds = threshold / (1 - threshold)
    return lambda chances: acts * (chances[:, 1] - odds * chances[:, 0])


def _make_confusion(proba, threshold):
    predicted, n_classes = predict_classes(proba, threshold), proba.shape[1]

    def confusion(chances, weights):
        sums = [np.bincount(predicted, weights * chance, n_classes) for chance in chances.T]
        return np.stack(sums) / weights.sum()

    return confusion


def _divide_sums(count, choose):
    """Ratio of two sums of what predicted classes, 0 and 1, and chances of class 1 give."""

    def make(proba, threshold):
        acts = predict_classes(proba, threshold)

        def ratio(chances, weights):
            positive = chances[:, 1]
            return _divide(weights @ count(acts, positive), weights @ choose(acts, positive))

        return ratio

    return make


def _make_roc_auc(proba, threshold):
    r"""Expected number of pairs in the right order, over the expected number of pairs.

    A pair is a positive and a negative row. Sums of chances by distinct prediction, in order, count
    them; rows paired with themselves are taken off, which have counted as ties.
    """
    _, place = np.unique(unite_rounded(proba[:, 1]), return_inverse=True)

    def roc_auc(chances, weights):
        negative, positive = (np.bincount(place, weights * chance) for chance in chances.T)
        below = np.cumsum(negative) - negative / 2
        alone = weights**2 @ (chances[:, 0] * chances[:, 1])
        return _divide(positive @ below - alone / 2, positive.sum() * negative.sum() - alone)

    return roc_auc


def _make_average_precision(proba, threshold):
    """Expected sum of the precisions at positive rows, over the expected number of these.

    The precision at a row counts all rows with its prediction or a larger one, and the row itself
    as positive, which it is if it counts at all.
    """
    _, place = np.unique(-unite_rounded(proba[:, 1]), return_inverse=True)

    def average_precision(chances, weights):
        positive = chances[:, 1]
        mass, hits, alone = (
            np.bincount(place, weights * values)
            for values in (np.ones(len(place)), positive, weights * positive * (1 - positive))
        )
        kept = mass > 0
        precisions = (hits * np.cumsum(hits) + alone)[kept] / np.cumsum(mass)[kept]
        return _divide(precisions.sum(), hits.sum())

    return average_precision


def _divide(count, total):
    return float(count / total) if total > 0 else np.nan


METRICS = {
    "accuracy": _average_rows(_find_hits),
    "confusion": _make_confusion,
    "precision": _divide_sums(lambda acts, q: acts * q, lambda acts, q: acts),
    "recall": _divide_sums(lambda acts, q: acts * q, lambda acts, q: q),
    "specificity": _divide_sums(lambda acts, q: (1 - acts) * (1 - q), lambda acts, q: 1 - q),
    "f1": _divide_sums(lambda acts, q: 2 * acts * q, lambda acts, q: acts + q),
    "log_loss": _average_rows(_find_log_losses),
    "brier_score": _average_rows(_find_brier_scores),
    "roc_auc": _make_roc_auc,
    "average_precision": _make_average_precision,
    "net_benefit": _average_rows(_find_net_benefits),
}
# Those that have a positive class.
BINARY = (
    *("precision", "recall", "specificity", "f1"),
    *("roc_auc", "average_precision", "net_benefit"),
)


def draw_labels(chances, rng):
    """Labels of these chances, as chances of 0 and 1."""
    ends = np.cumsum(chances, axis=1)[:, :-1]
    drawn = (rng.random((len(chances), 1)) >= ends).sum(axis=1)
    return np.equal.outer(drawn, np.arange(chances.shape[1])).astype(np.float64)


def find_ends(values, confidence_level):
    """Percentiles of resampled values, as if the truth were one more of them.

    They are the order statistics at (n + 1) times the tails, and the outermost ones where these are
    fewer than one. Resamples, on the first axis, are NaN where they have no value; so are the ends
    where none has.
    """
    # A value is not defined in whole resamples, never in parts of one.
    defined = values[~np.isnan(values.reshape(len(values), -1)).any(axis=1)]
    ordered = np.sort(defined, axis=0)
    if len(ordered) == 0:
        return values[0], values[0]
    # Rounding would make a whole number of ranks one less.
    rank = int((len(ordered) + 1) * (1 - confidence_level) / 2 + 1e-9)
    place = max(rank, 1) - 1
    return ordered[place], ordered[len(ordered) - 1 - place]


def find_share_outside(old, new, weights):
    """Largest share of new scores below, or above, all old ones of the same column."""
    weights = np.ones(len(new)) if weights is None else weights
    outside = [new < old.min(axis=0), new > old.max(axis=0)]
    return float(max((weights @ side).max() for side in outside) / weights.sum())


def find_fullest_gap(old, values, new, weights):
    """Largest share of new scores between two neighbours among old ones with distant values.

    `old` and `new` have a column for each score, and `values`, of the shape of `old`, is what is
    known of the old ones. Returns the share, for the column where it is largest, and the two
    neighbours; 0 and NaN without gaps.
    """
    fullest = 0.0, np.nan, np.nan
    for scores, known, places in zip(old.T, values.T, new.T, strict=True):
        scores, first = np.unique(scores, return_index=True)
        is_wide = np.abs(np.diff(known[first])) > _WIDE
        if not is_wide.any():
            continue
        above = np.searchsorted(scores, places)
        inside = (above > 0) & (above < len(scores))
        inside[inside] = scores[above[inside]] > places[inside]
        mass = np.bincount(above[inside] - 1, weights[inside], len(is_wide)) / weights.sum()
        gap = np.argmax(np.where(is_wide, mass, -1.0))
        low, high = scores[gap : gap + 2]
        fullest = max(fullest, (float(mass[gap]), float(low), float(high)))
    return fullest
