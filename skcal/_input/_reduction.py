"""The entrance: user arrays to checked, weighted binary samples.

Every measure comes through `reduce_to_samples`; nothing below this module looks at user input,
except for the checks of single arguments in `_validation`. Labels and ranges of the common cases
are decided by minima and maxima alone, because scikit-learn's `check_array`, `type_of_target` and
`unique` cost more than the measures.
"""

from typing import Any, NamedTuple

import numpy as np

from skcal._input._categories import refuse_unclear_order
from skcal._input._column_names import check_column_order
from skcal._input._outcome_matrix import (
    are_shares,
    has_columns,
    name_columns,
    read_indicator,
    read_soft_labels,
)
from skcal._input._sample import Sample
from skcal._input._validation import (
    check_labels,
    check_option,
    check_proba,
    check_target,
    check_weights,
    clip_rounding,
    is_inside,
    refuse_list_of_models,
    show_labels,
    warn_of_swap,
)
from skcal._tools._arrays import (
    NUMPY,
    as_float64,
    as_index,
    as_one_type,
    find_distinct,
    is_numpy,
    kind_of,
    list_column_names,
    move_to,
    namespace,
    read_rows,
    search_sorted,
    to_numpy,
)

# What messages call the outcomes and the predictions.
_NAMES = ("y_true", "y_proba")
# Pairs of labels in which 1 is positive by default.
_PAIRS = ([0, 1], [-1, 1])


class Predictions(NamedTuple):
    """Checked rows: probabilities, what came true, and weights.

    `proba` has a value of the positive label for each row, or a column for each label. With at most
    two columns `target` is the outcome of the positive label, in [0, 1]; with more it is the number
    of the column that came true. A matrix of `target` holds soft labels of all columns.
    """

    proba: np.ndarray
    target: np.ndarray
    weights: np.ndarray | None
    positive_label: object = None  # None if `y_true` held its outcomes, 1 for true
    positive_column: int = 1  # of two
    labels: np.ndarray | list[Any] | None = None  # of all columns, as far as they are known
    is_multilabel: bool = False  # each column is a problem of its own, with its own outcomes
    given_type: np.dtype[Any] | None = None  # of the numbers, if not that of `proba`

    @property
    def n_rows(self):
        """Number of rows."""
        return self.proba.shape[0]

    @property
    def resolution(self):
        """The smallest step at 1 of the floats that were given, or of float64."""
        given = self.given_type or self.proba.dtype
        return float(np.finfo(given if given.kind == "f" else np.float64).eps)

    @property
    def is_multiclass(self):
        """Whether there are more than two mutually exclusive columns."""
        return self.proba.ndim == 2 and self.proba.shape[1] > 2 and not self.is_multilabel

    @property
    def is_soft(self):
        """Whether some labels are probabilities."""
        if self.target.ndim == 2 and not self.is_multilabel:
            return True
        if self.target.dtype.kind != "f":
            return False
        return not ((self.target == 0) | (self.target == 1)).all()

    def refuse_one_hot(self, name="y_true"):
        """Raise a ValueError for outcomes with a column for each class, of which one is true."""
        target = self.target
        if target.ndim == 2 and not self.is_multilabel and ((target == 0) | (target == 1)).all():
            raise ValueError(
                f"{name} must hold one label for each row; got one-hot rows. Pass the labels, such "
                f"as numpy.argmax({name}, axis=1)."
            )

    def to_numpy(self):
        """The same rows in NumPy."""
        weights = None if self.weights is None else to_numpy(self.weights)
        return self._replace(
            proba=to_numpy(self.proba), target=to_numpy(self.target), weights=weights
        )

    def take(self, rows):
        """Some of the rows, by number, mask or slice."""
        weights = None if self.weights is None else self.weights[rows]
        return self._replace(proba=self.proba[rows], target=self.target[rows], weights=weights)

    def drop_absent(self):
        """The rows without those of weight zero."""
        if self.weights is None or self.weights.all():
            return self
        return self.take(self.weights > 0)

    def to_vectors(self):
        """The same rows with a column for each class, of two the positive one last."""
        if self.is_multiclass or self.target.ndim == 2:
            return self
        proba, target = self.proba, self.target
        if proba.ndim == 1:
            proba = np.column_stack([1.0 - proba.astype(np.float64), proba])
        elif self.positive_column == 0:
            proba = proba[:, ::-1]
        if self.is_soft:
            positive = target.astype(np.float64)
            target = np.column_stack([1.0 - positive, positive])
        else:
            target = target.astype(np.intp)
        labels = self.labels
        if labels is not None and self.positive_column == 0:
            labels = labels[::-1]
        return self._replace(
            proba=proba,
            target=target,
            positive_column=1,
            labels=labels,
            given_type=self.proba.dtype,
        )

    def one_hot(self, rows):
        """Outcomes of some rows of vectors as float64, one column for each class."""
        target = self.target[rows]
        if target.ndim == 2:
            return target.astype(np.float64, copy=False)
        return np.equal.outer(target, np.arange(self.proba.shape[1])).astype(np.float64)


def reduce_to_samples(
    y_true,
    y_proba,
    *,
    sample_weight=None,
    pos_label=None,
    labels=None,
    reduction="auto",
    names=_NAMES,
    on_device=False,
):
    """Check user input and reduce it to a list of binary samples, by a key of `ALL_REDUCTIONS`.

    `y_true` holds labels, or soft labels in [0, 1], a column for each of several classes;
    `y_proba` has one column per label, in the order of
    `labels`, or the column of `pos_label` alone. Names of columns that are exactly the labels must
    not be in another order. "multilabel" takes what `read_indicator` reads.

    `names` is what messages call the two. With `on_device`, arrays of other libraries than NumPy
    are worked on where those of `y_proba` are.
    """
    check_option("reduction", reduction, ALL_REDUCTIONS)
    predictions = check_predictions(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
        names=names,
        on_device=on_device,
        for_reduction=True,
    )
    return ALL_REDUCTIONS[reduction](predictions)


def average_over_samples(function, samples):
    """Mean of a function of a Sample, weighted by the samples' mass."""
    return float(np.dot(list_shares(samples), [function(sample) for sample in samples]))


def list_shares(samples):
    """What each sample counts in a mean over all of them; the sum is 1."""
    mass = [sample.total_weight if sample.share is None else sample.share for sample in samples]
    return np.array(mass) / np.sum(mass)


def average_over_rows(function, y_true, y_proba, **data):
    """The same for user input; `data` are further arguments of `reduce_to_samples`."""
    return average_over_samples(function, reduce_to_samples(y_true, y_proba, **data))


# --------------------------------------------------------------------------- whole vectors


def check_class_vectors(
    y_true,
    y_proba,
    *,
    sample_weight=None,
    pos_label=None,
    labels=None,
    names=_NAMES,
    has_pos_label=True,
):
    """Check user input of a measure that takes the whole vector of probabilities.

    `y_true` may also be a matrix with a row of probabilities for each sample. With more than two
    classes `pos_label` selects that class against the rest; `has_pos_label` is False for callers
    without this argument, whose errors must not advise it. The result has a column for each class;
    of two, the last is that of the positive label.
    """
    if has_columns(y_true):
        return Predictions(
            *read_soft_labels(y_true, y_proba, sample_weight, pos_label, labels, names)
        )
    return check_predictions(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        names=names,
        has_pos_label=has_pos_label,
    ).to_vectors()


# --------------------------------------------------------------------------- reductions


def _reduce_positive(predictions):
    """One sample: the positive label's column."""
    proba = predictions.proba
    if proba.ndim == 2:
        proba = proba[:, predictions.positive_column]
    return [Sample(proba, predictions.target, predictions.weights)]


def _came_true(target, columns):
    """Whether, or how often, the label of one column of each row came true."""
    if target.ndim == 1:
        return columns == target
    return namespace(target).take_along_axis(target, columns[:, None], axis=1)[:, 0]


def _reduce_confidence(predictions):
    """One sample: the largest probability, and whether its label came true."""
    if predictions.is_multiclass:
        proba, target = predictions.proba, predictions.target
        xp = namespace(proba)
        top = xp.argmax(proba, axis=1)
        return [Sample(xp.max(proba, axis=1), _came_true(target, top), predictions.weights)]
    # A tie of two labels goes to the first column.
    (first, second) = _reduce_classwise(predictions)
    top_is_first = first.predictions >= second.predictions
    where = namespace(top_is_first).where
    confidence = where(top_is_first, first.predictions, second.predictions)
    outcomes = where(top_is_first, as_float64(first.outcomes), as_float64(second.outcomes))
    return [Sample(confidence, outcomes, predictions.weights)]


def _reduce_classwise(predictions):
    """One sample for each label: its column, and whether it came true."""
    proba, target, weights = predictions.proba, predictions.target, predictions.weights
    if predictions.is_multiclass:
        of_label = (lambda k: target == k) if target.ndim == 1 else lambda k: target[:, k]
        return [Sample(proba[:, k], of_label(k), weights) for k in range(proba.shape[1])]
    (positive,) = _reduce_positive(predictions)
    if proba.ndim == 2:
        other = proba[:, 1 - predictions.positive_column]
    else:
        other = 1.0 - as_float64(proba)
    negative = Sample(other, 1.0 - as_float64(positive.outcomes), weights)
    pair = [negative, positive]
    return pair if predictions.positive_column == 1 else pair[::-1]


def split_by_top_label(predictions):
    """Pairs of a column that is predicted and a sample: its rows, and whether it came true."""
    if predictions.is_multiclass and is_numpy(predictions.proba):
        return _split_rows(predictions)
    columns = _reduce_classwise(predictions)
    if predictions.is_multiclass:
        top = namespace(predictions.proba).argmax(predictions.proba, axis=1)
    else:
        top = as_index(columns[0].predictions < columns[1].predictions)
    pairs = []
    xp = namespace(top)
    for k, column in enumerate(columns):
        rows = top == k
        weights = None if column.weights is None else column.weights[rows]
        if xp.any(rows) and (weights is None or xp.any(weights > 0)):
            outcomes = column.outcomes[rows]
            sample = Sample(column.predictions[rows], outcomes, weights)
            pairs.append((k, sample))
    return pairs


def _split_rows(predictions):
    """The same of many columns in NumPy, by one sort of the predicted columns."""
    proba, target, weights = predictions.proba, predictions.target, predictions.weights
    top = proba.argmax(axis=1)
    order = np.argsort(top, kind="stable")
    starts = np.flatnonzero(np.diff(top[order], prepend=-1))
    confidence, came_true = proba[order, top[order]], _came_true(target, top)[order]
    weights = None if weights is None else weights[order]
    pairs = []
    for start, stop in zip(starts, [*starts[1:], len(top)], strict=True):
        rows = slice(start, stop)
        part = None if weights is None else weights[rows]
        if part is None or part.any():
            pairs.append((int(top[order[start]]), Sample(confidence[rows], came_true[rows], part)))
    return pairs


def _reduce_top_label(predictions):
    """One sample for each label that is predicted."""
    return [sample for _, sample in split_by_top_label(predictions)]


def _reduce_full(predictions):
    """One sample: all pairs of a row and a label, and whether it came true."""
    if predictions.is_multiclass and is_numpy(predictions.proba):
        return [_pool_columns(predictions)]
    columns, weights = _reduce_classwise(predictions), predictions.weights
    xp = namespace(columns[0].predictions)
    return [
        Sample(
            xp.concat([sample.predictions for sample in columns]),
            xp.concat([as_float64(sample.outcomes) for sample in columns]),
            None if weights is None else xp.concat([weights] * len(columns)),
        )
    ]


def _pool_columns(predictions):
    """The same of many columns in NumPy, column by column."""
    proba, weights = predictions.proba, predictions.weights
    came_true = predictions.target
    if came_true.ndim == 1:
        came_true = np.zeros(proba.shape, dtype=bool, order="F")
        came_true[np.arange(len(proba)), predictions.target] = True
    if weights is not None:
        weights = np.tile(weights, proba.shape[1])
    return Sample(proba.ravel("F"), came_true.ravel("F"), weights)


def _reduce_auto(predictions):
    if predictions.is_multiclass:
        return _reduce_confidence(predictions)
    return _reduce_positive(predictions)


def _reduce_labels(predictions):
    """One sample for each of the labels that do not exclude one another.

    A label has the rows in which its outcome is known, and counts as much as any other.
    """
    proba, target, weights = predictions.proba, predictions.target, predictions.weights
    xp, is_float = namespace(target), kind_of(target) == "f"
    has_holes = is_float and bool(xp.any(xp.isnan(target)))
    if not has_holes and (weights is None or weights.ndim == 1):
        return [Sample(proba[:, k], target[:, k], weights) for k in range(proba.shape[1])]
    samples = []
    for k in range(proba.shape[1]):
        rows = ~xp.isnan(target[:, k]) if is_float else slice(None)
        own = weights if weights is None or weights.ndim == 1 else weights[:, k]
        own = None if own is None else own[rows]
        samples.append(Sample(proba[:, k][rows], target[:, k][rows], own, share=1.0))
    return samples


# For mutually exclusive classes.
REDUCTIONS = {
    "auto": _reduce_auto,
    "confidence": _reduce_confidence,
    "classwise": _reduce_classwise,
    "top-label": _reduce_top_label,
    "full": _reduce_full,
}
# Those that measures, intervals and diagrams take.
ALL_REDUCTIONS = REDUCTIONS | {"multilabel": _reduce_labels}


# --------------------------------------------------------------------------- user input


def check_predictions(
    y_true,
    y_proba,
    *,
    sample_weight=None,
    pos_label=None,
    labels=None,
    reduction="auto",
    names=_NAMES,
    on_device=False,
    for_reduction=False,
    has_pos_label=True,
):
    """Check user input; see `reduce_to_samples`, and `check_class_vectors` for `names`.

    Only the reduction "multilabel" changes what is read. Rows that go to a reduction alone may also
    have soft labels of several classes, a row of probabilities each, and with "multilabel" outcomes
    that are missing, or a weight for each of them.
    """
    if reduction == "multilabel":
        proba, *rows = read_indicator(
            y_true,
            y_proba,
            sample_weight,
            pos_label,
            names,
            on_device=on_device,
            takes_holes=for_reduction,
        )
        if labels is not None:
            labels = _check_column_labels(labels, proba, names, on_device)
        labels = name_columns(y_true, y_proba, labels, names)
        return Predictions(proba, *rows, labels=labels, is_multilabel=True)
    target, proba, weights = read_rows(names, y_true, y_proba, sample_weight, on_device=on_device)
    warn_of_swap(target, proba, names)
    if for_reduction and proba.ndim == 2 and are_shares(target):
        data = sample_weight, pos_label, labels, names
        proba, target, weights = read_soft_labels(y_true, y_proba, *data, on_device=on_device)
        return Predictions(proba, target if proba.shape[1] > 2 else target[:, 1], weights)
    target = check_target(names[0], target)
    refuse_list_of_models(target, proba, names)
    proba = check_proba(names[1], proba)
    n_samples = proba.shape[0]
    if target.shape[0] != n_samples:
        raise ValueError(
            f"{names[0]} and {names[1]} must have the same length; "
            f"got {target.shape[0]} labels and {n_samples} rows of probabilities."
        )
    weights = check_weights(weights, n_samples)
    if labels is not None:
        labels = _check_column_labels(labels, proba, names, on_device)
    match = _match_multiclass if proba.ndim == 2 and proba.shape[1] > 2 else _match_binary
    columns = list_column_names(y_proba)
    if labels is None and proba.ndim == 2:
        refuse_unclear_order(y_true, target, columns, names)
    if not has_pos_label and labels is None and proba.ndim == 1:
        _refuse_unnamed_column(target, names)
    return match(proba, target, weights, pos_label, labels, names, columns)


def _refuse_unnamed_column(target, names):
    """Raise where two labels of a single column have no order, and no pos_label can tell."""
    found = find_distinct(target) if _find_outcomes(target) is None else ()
    if len(found) == 2 and found.tolist() not in _PAIRS:
        raise ValueError(
            f"labels must name both classes of {names[0]}, that of the single column of {names[1]} "
            f"last, unless they are {{0, 1}} or {{-1, 1}}; got {show_labels(found)}."
        )


def _check_column_labels(labels, proba, names, on_device):
    """Distinct labels of the columns of the predictions, in NumPy."""
    labels = check_labels("labels", labels, NUMPY if on_device else None)
    n_classes = proba.shape[1] if proba.ndim == 2 else 2
    if len(np.unique(labels)) != len(labels):
        raise ValueError(f"labels must be distinct; got {show_labels(labels)}.")
    if len(labels) != n_classes:
        raise ValueError(
            f"labels must name each of the {n_classes} classes of {names[1]}, in the order of its "
            f"columns; got {len(labels)}: {show_labels(labels)}."
        )
    return labels


# --------------------------------------------------------------------------- labels


def _match_binary(proba, target, weights, pos_label, labels, names, columns):
    """Predictions for one or two columns, which may have names."""
    outcomes = _find_outcomes(target) if _are_outcomes(pos_label, labels) else None
    if outcomes is not None:
        check_column_order(names[1], columns, [False, True] if kind_of(target) == "b" else [0, 1])
        return Predictions(proba, outcomes, weights)  # by far the most common
    found = find_distinct(target)
    _check_fractions(found, pos_label, labels, names)
    if len(found) > 2:
        raise ValueError(
            f"{names[0]} has {len(found)} labels, {show_labels(found)}, but {names[1]} has "
            f"{'one column' if proba.ndim == 1 else 'two columns'}; give one column for each "
            "label. (Soft labels in [0, 1] allow only labels=[0, 1] and pos_label=1.)"
        )
    named = labels is not None
    if not named:
        labels = _guess_binary_labels(found)
    if labels is None:
        if proba.ndim == 2 or pos_label is None or not _is_comparable(pos_label, found):
            raise ValueError(
                f"{names[0]} holds the single label {show_labels(found)}; name the labels of both "
                "classes with labels=."
            )
        return Predictions(proba, *_select_outcomes(proba, target, weights, pos_label))
    _check_accounted(found, labels, names)
    check_column_order(names[1], columns, labels)
    if pos_label is not None:
        column = _find_label(pos_label, labels)
    elif not named and proba.ndim == 1 and labels.tolist() not in _PAIRS:
        raise ValueError(
            f"pos_label must say which of the labels {show_labels(labels)} the single column of "
            f"{names[1]} belongs to, where they are neither {{0, 1}} nor {{-1, 1}}; got None. "
            "labels= may name both."
        )
    else:
        column = 1
    selected = _select_outcomes(proba, target, weights, labels[column])
    return Predictions(proba, *selected, column, labels)


def _match_multiclass(proba, target, weights, pos_label, labels, names, columns):
    """Predictions for three or more columns, which may have names."""
    found = find_distinct(target)
    _check_fractions(found, pos_label, labels, names)
    if labels is None:
        if len(found) != proba.shape[1]:
            raise ValueError(
                f"{names[0]} has {len(found)} labels, {show_labels(found)}, but {names[1]} has "
                f"{proba.shape[1]} columns; name the label of every column with labels=."
            )
        labels = found
    _check_accounted(found, labels, names)
    check_column_order(names[1], columns, labels)
    if pos_label is not None:
        # One class against the rest.
        column = _find_label(pos_label, labels)
        selected = _select_outcomes(proba, target, weights, labels[column])
        return Predictions(proba[:, column], *selected)
    order = np.argsort(labels)
    position = search_sorted(labels[order], target)
    columns = move_to(namespace(position).take(move_to(order, position), position), proba)
    return Predictions(proba, columns, weights, labels=labels)


def _select_outcomes(proba, target, weights, positive):
    """Outcomes, weights and positive label."""
    if is_numpy(target):  # labels that are strings, too, until here
        outcomes = target == positive
    else:
        label, target = as_one_type(np.asarray(positive), target)
        outcomes = target == label.item()
    return move_to(outcomes, proba), weights, positive


def _are_outcomes(pos_label, labels):
    """Whether 0 and 1 keep their meaning: no other labels are named."""
    if labels is not None and labels.tolist() != [0, 1]:
        return False
    return pos_label is None or (np.isscalar(pos_label) and pos_label == 1)


def _find_outcomes(target):
    """Labels that are outcomes already, numbers in [0, 1], soft labels included; else None."""
    kind = kind_of(target)
    if kind == "b" or (kind in "iuf" and is_inside(target)):
        return target
    target = clip_rounding(target)  # floats alone
    return target if kind == "f" and is_inside(target) else None


def _guess_binary_labels(found):
    """The two labels in the order of the columns, or None where y_true does not tell."""
    if len(found) <= 2:
        for pair in _PAIRS:
            if set(found.tolist()) <= set(pair):
                return np.array(pair)
    return found if len(found) == 2 else None


def _check_fractions(found, pos_label, labels, names):
    """Raise for fractions that no one calls labels: they are more likely to be measurements."""
    if labels is not None or found.dtype.kind != "f":
        return
    for label in found[found != np.floor(found)].tolist():
        if not (np.isscalar(pos_label) and label == pos_label):
            raise ValueError(
                f"{names[0]} must hold whole numbers where labels are not named, or soft labels in "
                f"[0, 1] with pos_label=1; got {label:g} with pos_label={pos_label!r}."
            )


def _find_label(pos_label, labels):
    if not np.isscalar(pos_label):
        raise ValueError(f"pos_label must be a single label; got {pos_label!r}.")
    match = np.flatnonzero(labels == pos_label)
    if len(match) == 0:
        raise ValueError(
            f"pos_label must be one of the labels {show_labels(labels)}; got {pos_label!r}."
        )
    return int(match[0])


def _check_accounted(found, labels, names):
    same_kind = (found.dtype.kind == "U") == (labels.dtype.kind == "U")
    strange = np.setdiff1d(found, labels) if same_kind else found
    if len(strange):
        raise ValueError(
            f"{names[0]} has labels that no column of {names[1]} accounts for: "
            f"{show_labels(strange)}; the columns are {show_labels(labels)}. "
            "Name the label of every column with labels=."
        )


def _is_comparable(label, labels):
    return isinstance(label, str) == (labels.dtype.kind == "U")
