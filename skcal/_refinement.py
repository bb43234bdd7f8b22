"""The loss that recalibration leaves, from rows that the recalibrator was not fitted on."""

import numpy as np

from skcal._fitting._classifier_scores import find_input
from skcal._fitting._held_out import predict_held_out, predict_split
from skcal._input._clusters import number_clusters, unite_copies
from skcal._input._reduction import check_class_vectors
from skcal._input._validation import check_integer, check_option
from skcal._numerics.recalibration._deal import deal_clusters, deal_splits
from skcal._numerics.recalibration._losses import find_losses
from skcal.recalibration import (
    PlattScaling,
    TemperatureScaling,
    get_recalibrator,
    get_recalibrator_names,
)

LOSSES = ("brier", "log")


def read_recalibrator(recalibrator, default):
    """The recalibrator of the user, given itself or by its name, or the default one."""
    if recalibrator is None:
        return default
    if isinstance(recalibrator, str):
        check_option("recalibrator", recalibrator, tuple(get_recalibrator_names()))
        return get_recalibrator(recalibrator)
    if isinstance(recalibrator, type) or not hasattr(recalibrator, "predict_proba"):
        raise ValueError(
            "recalibrator must be None, a name such as 'platt', or an instance of a recalibrator, "
            f"such as PlattScaling(); got {recalibrator!r}."
        )
    if find_input(recalibrator) == "logits":
        raise ValueError(
            "recalibrator must read probabilities, with input='proba'; got one with input='logits'."
        )
    return recalibrator


def choose_small(recalibrator, n_classes):
    """The same; the default has one parameter or two."""
    default = PlattScaling() if n_classes == 2 else TemperatureScaling()
    return read_recalibrator(recalibrator, default)


def read_vectors(
    y_true,
    y_proba,
    *,
    sample_weight=None,
    pos_label=None,
    labels=None,
    names=("y_true", "y_proba"),
):
    """Check user input and drop rows of weight zero; see `check_class_vectors`.

    Returns float64 probabilities, whose rows are divided by their sums and whose last column of two
    is the positive class; the column of the true class of each row; and weights or None.
    """
    data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
    return list_vectors(check_class_vectors(y_true, y_proba, **data, names=names), names[0])


def list_vectors(vectors, name="y_true"):
    """The same of checked `Predictions` with a column for each class."""
    vectors = vectors.drop_absent()
    vectors.refuse_one_hot(name)
    if vectors.target.ndim == 2:
        raise ValueError(
            f"{name} must hold labels; soft labels are no outcomes, whose loss after recalibration "
            "this is. Draw labels from them."
        )
    weights = vectors.weights
    if weights is not None:
        # Recalibrators count rows by weight, but a measure knows only the proportions of weights.
        weights = weights.astype(np.float64)
        weights = weights * (weights.sum() / np.sum(weights**2))
        # None vanishes beside large ones: the loss of its row may be infinite.
        weights = np.maximum(weights, np.finfo(np.float64).tiny)
    proba = vectors.proba.astype(np.float64)
    return proba / proba.sum(axis=1, keepdims=True), vectors.target, weights


def list_clustered_vectors(vectors, clusters, name="y_true"):
    """The same, and the cluster of each row; None where rows are independent, as copies are not.

    A row of each cluster of copies stands for it.
    """
    if clusters is None:
        return *list_vectors(vectors, name), None
    weights = vectors.weights
    present = np.ones(len(vectors.target), dtype=bool) if weights is None else weights > 0
    member, vectors = number_clusters(clusters, present), vectors.drop_absent()
    member, chosen, weights = unite_copies(member, vectors.proba, vectors.target, vectors.weights)
    return *list_vectors(vectors.take(chosen)._replace(weights=weights), name), member


def check_n_folds(cv):
    """Return a number of folds as an int, or raise a ValueError."""
    return check_integer("cv", cv, minimum=2)


def has_two_classes(codes):
    """Whether there is something to tell apart."""
    return len(codes) > 0 and codes.min() < codes.max()


def cross_fit(recalibrator, proba, codes, weights, n_folds, member=None):
    """Recalibrated probabilities of each row, by a map fitted on the other folds.

    Where these hold a single class, probabilities stay as they are. `member` are numbers of
    clusters, which no fold cuts.
    """
    if member is None:
        splits = deal_splits(proba, codes, weights, n_folds)
    else:
        splits = deal_clusters(proba, codes, weights, n_folds, member)
    splits = [
        (train, test) for train, test in splits if len(test) and has_two_classes(codes[train])
    ]
    answer = proba.copy()
    parts = predict_held_out(recalibrator, proba, codes, weights, splits, member is None)
    for (_, test), part in zip(splits, parts, strict=True):
        answer[test] = part
    return answer


def fit_or_cross_fit(recalibrator, proba, codes, weights, n_folds):
    """The same, or where `n_folds` is None, probabilities by a map fitted on all rows."""
    if n_folds is not None:
        return cross_fit(recalibrator, proba, codes, weights, n_folds)
    if not has_two_classes(codes):
        return proba
    return predict_split(recalibrator, proba, codes, weights, slice(None), slice(None))


def average_loss(proba, codes, weights, loss):
    """Mean loss of the rows."""
    losses = find_losses(proba, codes, loss)
    return float(losses.mean() if weights is None else np.average(losses, weights=weights))
