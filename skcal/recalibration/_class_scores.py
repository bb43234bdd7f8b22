"""Class scores: whether a matrix holds them, which label each column has, and one form for all."""

import numpy as np

from skcal._input._advice import COARSE_ROUNDING
from skcal._input._validation import (
    EXPLAIN_ROUNDING,
    ROW_SUM_TOLERANCE,
    check_labels,
    check_option,
    clip_rounding,
    explain_images,
    show_labels,
)
from skcal._numerics.recalibration._row_blocks import RowBlocks, floor_logits
from skcal._numerics.recalibration._scores import find_probabilities
from skcal._numerics.recalibration._temperature import MANY_CLASSES, find_median, fit_temperature
from skcal._tools._arrays import (
    find_device,
    find_distinct,
    find_span,
    is_numpy,
    list_slices,
    move_to,
    namespace,
    search_sorted,
    to_numpy,
)

# Probabilities may leave [0, 1] by this much, also in float64, and are clipped to it: networks
# answer in float32, and what stands around them makes float64 of it.
RANGE_TOLERANCE = 1e-6
# Probabilities no further apart than this share of them agree to rounding: 32 steps of float64.
_ROUNDING = 2.0**-47
# Logits beyond this would overflow in sums and squares.
LARGEST_LOGIT = 1e100
# Logits further than this many temperatures below the largest of their row are raised to there.
# Their probability is 0 either way, but classes masked by -1e9 would drown all other differences.
LOGIT_DEPTH = 700
# A class without rows may lack them by chance where the scores promise no more than this: with ten
# expected rows there is none with a probability of 5e-5. Sums that are ten up to their rounding,
# such as those of 30 thirds, are below it in any order of the rows.
MOST_BY_CHANCE = 10.0 + 1e-6
# Numbers that are worked on at a time: the few float64 arrays of this size stay in the cache.
_CELLS = 1 << 18


class NotClassScoresError(ValueError):
    """Raised if X is not a matrix of class scores: wrong columns, no probabilities, or NaN.

    Examples
    --------
    >>> from skcal.recalibration import NotClassScoresError, TemperatureScaling
    >>> try:
    ...     TemperatureScaling().fit([[5.1, 3.5], [4.9, 3.0]], [0, 1])
    ... except NotClassScoresError as error:
    ...     print(str(error).split(";")[0])
    X must hold class probabilities, rows in [0, 1] that sum to 1
    """


def list_parts(X, fewest_rows=1):
    """Slices of rows that are worked on at a time."""
    return list_slices(X, max(_CELLS // max(X.shape[1], 1), fewest_rows))


def refuse_other_dimensions(X):
    """Say how to make rows or a column of numbers, by what X is."""
    try:
        shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
    except ValueError:  # ragged lists, which scikit-learn reports
        return
    if len(shape) > 2:
        raise NotClassScoresError(
            "X must have two dimensions, rows and classes; got the shape "
            f"{tuple(shape)}.{explain_images('X')}"
        )
    if len(shape) != 1:
        return
    if hasattr(X, "to_frame"):
        advice = "X.to_frame()"
    elif hasattr(X, "reshape"):
        advice = "X.reshape(-1, 1) or X[:, None]; of a single row X.reshape(1, -1)"
    else:
        advice = "numpy.reshape(X, (-1, 1)); of a single row [X]"
    raise NotClassScoresError(
        "X must have a column for each class, or one, that of the second of two classes; got the "
        f"shape {tuple(shape)}. Reshape your data: {advice}."
    )


def choose_types(X, kind):
    """X, and the float types in which scikit-learn is to leave it.

    Probabilities of float16 become float64, in which what their rounding leaves outside of [0, 1]
    would be an error. Logits of float16 stay: they are read a few rows at a time.
    """
    xp = np if find_device(X) is None else find_device(X).xp
    types = [xp.float64, xp.float32]
    if kind == "logits" and xp is np:
        types.append(np.float16)
    elif isinstance(X, np.ndarray) and X.dtype == np.float16:
        X = clip_rounding(X)
    return X, types


def check_scores(X, kind, impossible=False):
    """Raise a NotClassScoresError unless X holds finite scores of the kind "proba" or "logits".

    With `impossible` logits of some classes of a row may be -inf.
    """
    xp = namespace(X)
    parts = RowBlocks(X).list_slices() if kind == "logits" else list_parts(X)
    if all(_are_scores(X[rows, ...], xp, kind, impossible) for rows in parts):
        return
    finite = xp.isfinite(X) | (xp.isinf(X) & (X < 0) & impossible)
    if not xp.all(finite):  # row by row it would take several times as long
        row = _find_first(~xp.all(finite, axis=1), xp)
        value = next(v for v in _list_row(X, row) if not (np.isfinite(v) or (impossible and v < 0)))
        hint = ""
        if kind == "logits" and value == -np.inf:
            hint = (
                " For classes that are impossible pass numpy.maximum(X, -1e9), or take "
                "TemperatureScaling."
            )
        raise NotClassScoresError(
            f"X must be finite; Input X contains NaN or infinity: row {row} has {value}.{hint}"
        )
    if kind == "logits":
        is_out = _have_no_class(X, xp)
        if impossible and xp.any(is_out):
            raise NotClassScoresError(
                "X must have a logit above -inf in every row, as some class comes true; row "
                f"{_find_first(is_out, xp)} has none."
            )
        low, high = _find_finite_span(X, xp)
        raise NotClassScoresError(
            f"X must hold logits between -{LARGEST_LOGIT:g} and {LARGEST_LOGIT:g}; got "
            f"values from {low:.7g} to {high:.7g}."
        )
    is_bad = ~xp.all((X >= -RANGE_TOLERANCE) & (X <= 1 + RANGE_TOLERANCE), axis=1)
    row = _find_first(is_bad | _miss_one(X, xp), xp)
    values = _list_row(X, row)
    in_range = min(values) >= -RANGE_TOLERANCE and max(values) <= 1 + RANGE_TOLERANCE
    hint = ""
    if in_range and len(values) > 1 and abs(sum(values) - 1) <= COARSE_ROUNDING:
        hint = EXPLAIN_ROUNDING
    elif in_range and len(values) > 2:
        hint = (
            " Of one-vs-rest models, such as LightGBM's multiclassova, divide the rows by their "
            "sums, or take the logarithm and input='logits'."
        )
    raise NotClassScoresError(
        f"X must hold class probabilities, rows in [0, 1] that sum to 1; row {row} "
        f"of {len(values)} columns has values from {min(values):.7g} to "
        f"{max(values):.7g} and sums to {sum(values):.7g}. For scores such as those of "
        "decision_function say input='logits'. For raw features put "
        f"CrossFitProba(classifier) before this step in a pipeline.{hint}"
    )


def _are_scores(X, xp, kind, impossible):
    """Whether all rows are fine; NaN never is."""
    if kind == "logits":
        X = xp.astype(X, xp.float64, copy=False)  # NumPy finds the least of float16 slowly
    low, high = map(float, find_span(X))
    if kind == "logits":
        if impossible and low == -np.inf:
            if xp.any(_have_no_class(X, xp)):
                return False
            low, high = _find_finite_span(X, xp)
        return low >= -LARGEST_LOGIT and high <= LARGEST_LOGIT
    # A softmax in float32 misses [0, 1] by its rounding.
    in_range = low >= -RANGE_TOLERANCE and high <= 1 + RANGE_TOLERANCE
    return in_range and not xp.any(_miss_one(X, xp))


def _have_no_class(X, xp):
    """Whether all classes of a row are impossible; with a single column the first one never is."""
    if X.shape[1] == 1:
        return xp.zeros_like(X[:, 0], dtype=xp.bool)
    return xp.max(X, axis=1) == -np.inf


def _find_finite_span(X, xp):
    return map(float, find_span(xp.where(xp.isinf(X) & (X < 0), xp.zeros_like(X), X)))


def _miss_one(X, xp):
    """Whether rows do not sum to 1, where there is more than one column."""
    if X.shape[1] == 1:
        return xp.zeros_like(X[:, 0], dtype=xp.bool)
    return xp.abs(xp.sum(X, axis=1, dtype=xp.float64) - 1) > ROW_SUM_TOLERANCE


def _find_first(flags, xp):
    return int(xp.argmax(xp.astype(flags, xp.int8)))


def _list_row(X, row):
    return [float(X[row, column]) for column in range(X.shape[1])]


def find_float_type(X):
    """The float type of answers to logits or probabilities in X."""
    return np.dtype(np.float64) if is_numpy(X) and X.dtype == np.float16 else X.dtype


def find_resolution(X):
    """The resolution of the scores in X."""
    xp = namespace(X)
    # Of one column the other one is computed exactly.
    return float(xp.finfo(X.dtype if X.shape[1] > 1 else xp.float64).eps)


def arrange_scores(X, order, kind, depth=np.inf):
    """Scores as float64 in one column for each class, in the order of the classes.

    A single column is that of the second class. Logits are raised as by `floor_logits`.
    """
    parts = list_parts(X)
    if not is_numpy(X) or len(parts) == 1:
        return floor_logits(_arrange_rows(X, order, kind), depth)
    scores = np.empty((len(X), len(order)), order="F" if len(order) < MANY_CLASSES else "C")
    for rows in parts:
        scores[rows] = floor_logits(_arrange_rows(X[rows], order, kind), depth)
    return scores


def level_scores(scores, kind, depth):
    """Logits raised as by `floor_logits`, or probabilities.

    Columns of probabilities that are constant up to rounding are made constant.

    No map learns from what an average in another order leaves. Of two columns one tells of both:
    that of a rare class may have fewer digits.
    """
    if kind == "logits":
        return floor_logits(scores, depth)
    xp = namespace(scores)
    low, high = xp.min(scores, axis=0), xp.max(scores, axis=0)
    alike = high - low <= _ROUNDING * high
    if scores.shape[1] == 2 and xp.any(alike):
        alike = xp.ones_like(alike)
    return xp.where(alike, high, scores) if xp.any(alike & (low < high)) else scores


def _arrange_rows(X, order, kind):
    xp = namespace(X)
    X = xp.astype(X, xp.float64, copy=False)
    if kind == "proba":
        X = xp.clip(X, 0.0, 1.0)
    if X.shape[1] == 1:
        X = xp.concat([1 - X if kind == "proba" else xp.zeros_like(X), X], axis=1)
    # NumPy's index puts columns side by side in memory, which most fits read faster.
    return X[:, order] if is_numpy(X) else xp.take(X, move_to(order, X), axis=1)


def find_depth(logits, codes, sample_weight):
    """How far logits may lie below the largest of their row and still matter.

    The best temperature may be next to 0, where all rows are right. Other maps leave logits nearly
    as they are, so that no temperature counts that is below 1, as log-odds have it, or below the
    median difference of the logits where most are small.
    """
    xp = namespace(codes)
    temperature, _ = fit_temperature(logits, codes, sample_weight, xp=xp)
    unit = 1.0
    if temperature < unit:
        gaps = xp.max(logits, axis=1, keepdims=True) - logits
        n_gaps, n_large = (int(xp.count_nonzero(found)) for found in (gaps > 0, gaps >= unit))
        if 2 * n_large < n_gaps:  # so that the median, which takes longer, is below
            unit = find_median(gaps[gaps > 0], xp)
    return LOGIT_DEPTH * max(temperature, unit)


def count_expected(scores, sample_weight, kind):
    """Rows of each class that scores promise, as a NumPy array."""
    is_blocks = isinstance(scores, RowBlocks)
    total = 0.0
    for rows in scores.list_slices() if is_blocks else [slice(None)]:
        part = scores[rows] if is_blocks else scores
        proba = part if kind == "proba" else find_probabilities(part)
        if sample_weight is not None:
            proba = proba * sample_weight[rows, None]
        total = total + namespace(proba).sum(proba, axis=0)
    return to_numpy(total)


def find_plausible(scores, codes, sample_weight, kind):
    """Places of the classes that have rows, and of those that may lack them by chance."""
    seen, n_classes = find_distinct(codes), scores.shape[1]
    if not 1 < len(seen) < n_classes:
        return seen
    expected = count_expected(scores, sample_weight, kind)
    is_known = (expected > 0) & (expected <= MOST_BY_CHANCE)
    is_known[seen] = True
    return np.flatnonzero(is_known)


def restrict_scores(scores, seen, kind):
    """Scores of some classes, given that one of these comes true; even where all are 0."""
    if isinstance(scores, RowBlocks):
        return scores.take_columns(seen)
    xp = namespace(scores)
    part = xp.take(scores, move_to(seen, scores), axis=1)
    if kind == "logits":
        return part
    total = xp.sum(part, axis=1, keepdims=True)
    return xp.where(total > 0, part / xp.where(total > 0, total, 1.0), 1 / len(seen))


def restrict_rows(scores, codes, seen, kind):
    """The same for rows of these classes, with the places of their labels among them."""
    return restrict_scores(scores, seen, kind), search_sorted(seen, codes)


def share_among_seen(proba, part, seen):
    """Probabilities in which some classes share what they had before in other proportions."""
    answer = proba.copy()
    answer[:, seen] = proba[:, seen].sum(axis=1, keepdims=True) * part
    return answer


def name_columns(n_columns, found, classes, owner):
    """Label of every column, of both classes for a single one.

    `found` are the sorted distinct labels of y, `classes` the parameter of the recalibrator, and
    `owner` its name.
    """
    n_classes = max(n_columns, 2)
    if classes is None:
        labels = found
        if len(labels) < 2:
            raise ValueError(
                "y must hold at least two classes; got only one class, "
                f"{show_labels(found)}. Name the labels of all columns with classes=."
            )
    elif isinstance(classes, str):
        check_option("classes", classes, ("columns",))
        labels = np.arange(n_classes)
    else:
        labels = check_labels("classes", classes)
        if len(np.unique(labels)) != len(labels) or len(labels) < 2:
            raise ValueError(
                f"classes must be two or more distinct labels; got {show_labels(labels)}."
            )
    if len(labels) != n_classes:
        raise NotClassScoresError(
            f"X has {n_columns} columns but there are {len(labels)} classes. "
            f"{owner} takes class scores, one column for each class, not raw "
            "features: put CrossFitProba(classifier) before it in a pipeline. If y misses "
            "some of the classes, name the labels of all columns with classes=."
        )
    same_kind = (found.dtype.kind == "U") == (labels.dtype.kind == "U")
    if not same_kind or not np.isin(found, labels).all():
        raise ValueError(
            f"y has labels that are not among the {len(labels)} classes of the columns of X, "
            f"{show_labels(labels)}; got {show_labels(found)}."
        )
    return labels
