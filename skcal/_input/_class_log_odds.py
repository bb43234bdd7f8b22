"""The entrance of models of the log odds of several classes against a reference."""

from typing import NamedTuple

import numpy as np

from skcal._input._advice import suggest_name
from skcal._input._clusters import read_clusters, unite_copies
from skcal._input._independent_rows import check_weight_ratio
from skcal._input._reduction import check_class_vectors
from skcal._tools._words import show_label


class ClassLogOdds(NamedTuple):
    """Rows whose weight is above 0; `member` numbers clusters, None where rows are independent."""

    names: list[object]  # of the classes but the reference
    reference: object
    log_odds: np.ndarray  # (n_classes - 1, n_rows)
    targets: np.ndarray  # of the same shape, 0 or 1
    weights: np.ndarray
    member: np.ndarray | None


def read_class_log_odds(y_true, y_proba, sample_weight, labels, reference, clusters):
    """Check user input; the first class is the reference unless a label says so."""
    data = {"sample_weight": sample_weight, "labels": labels, "has_pos_label": False}
    found = check_class_vectors(y_true, y_proba, **data)
    is_bool = labels is None and isinstance(np.asarray(y_true).flat[0], bool | np.bool_)
    found = found.to_numpy()
    found.refuse_one_hot()
    if found.is_soft:
        raise ValueError("y_true must hold labels; a soft label has no outcome to test.")
    present = np.ones(found.n_rows, dtype=bool) if found.weights is None else found.weights > 0
    found = found.drop_absent()
    proba, target, weights = found.proba.astype(np.float64), found.target, found.weights
    _check_inside(proba)
    names = found.labels
    if names is None:  # outcomes of two classes
        names = [0, 1] if labels is None else labels
        names = [False, True] if is_bool else names
    names = np.asarray(names).tolist()
    member = None
    if clusters is not None:
        member = read_clusters(clusters, present)
        member, chosen, weights = unite_copies(member, proba, target, weights)
        proba, target = proba[chosen], target[chosen]
    weights = np.ones(len(proba)) if weights is None else weights.astype(np.float64)
    check_weight_ratio(weights)
    place = 0 if reference is None else _find_reference(reference, names)
    _check_classes(names, target)
    others = np.delete(np.arange(len(names)), place)
    log_odds = np.log(proba[:, others]) - np.log(proba[:, [place]])
    targets = np.equal.outer(others, target).astype(np.float64)
    own = [names[k] for k in others]
    return ClassLogOdds(own, names[place], log_odds.T, targets, weights, member)


def _find_reference(reference, names):
    if np.isscalar(reference) and reference in names:
        return names.index(reference)
    shown = ", ".join(show_label(name) for name in names)
    hint = suggest_name(reference, [name for name in names if isinstance(name, str)])
    raise ValueError(f"reference must be one of {shown}; got {reference!r}.{hint}")


def _check_classes(names, target):
    counts = np.bincount(target, minlength=len(names))
    if not counts.all():
        raise ValueError(
            "y_true must hold each class, or its intercept is infinite; "
            f"no row is of {show_label(names[counts.argmin()])}."
        )
    n_coefficients = len(names) * (len(names) - 1)
    if len(target) < n_coefficients:
        raise ValueError(
            f"y_proba must have as many rows as there are coefficients, {n_coefficients} of "
            f"{len(names)} classes; got {len(target)} rows."
        )


def _check_inside(proba):
    is_certain = ((proba <= 0) | (proba >= 1)).any(axis=1)
    if is_certain.any():
        raise ValueError(
            "y_proba must lie between 0 and 1, both excluded, because log odds of 0 and 1 are "
            f"infinite; got {np.count_nonzero(is_certain)} rows with such predictions. Give "
            "probabilities that were not rounded (float64 rather than float32), or leave these "
            "rows out."
        )
