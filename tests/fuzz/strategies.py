"""Rows as nobody would hand them over, most of them valid all the same."""

from functools import partial

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from scipy.sparse import csr_array

# Numbers at and beside the ends of [0, 1], subnormal, and at edges of bins.
SPECIAL = [0.0, -0.0, 5e-324, 1e-310, 1e-300, 1e-16, 0.1, 0.25, 1 / 3, 0.5, 0.75, 1.0]
SPECIAL += [float(np.nextafter(0.5, 1)), float(np.nextafter(1, 0))]
PROBABILITIES = st.sampled_from(SPECIAL) | st.floats(0, 1)
INSIDE = st.sampled_from([0.1, 0.25, 0.5, 0.75]) | st.floats(1e-3, 1 - 1e-3)
NO_PROBABILITIES = st.sampled_from([np.nan, np.inf, -np.inf, 1.5, -1e-300, 1 + 2e-16])
WEIGHTS = st.sampled_from([0.0, 1e-300, 1e-5, 0.5, 1.0, 1.0, 2.0, 3.0, 1e5, 1e300])
WEIGHTS |= st.floats(0, 10)
NO_WEIGHTS = st.sampled_from([np.nan, np.inf, -1.0])
LABEL_SETS = [[0, 1], [0, 1], [-1, 1], [1, 2], [False, True], [0.0, 1.0], ["no", "yes"]]
LABEL_SETS += [[0, 1, 2], ["a", "b", "c"], [3, 1, 2, 0]]
# Real numbers whose squares, sums and differences overflow or vanish, and plain ones.
SPECIAL_REALS = [0.0, -0.0, 5e-324, -1e-300, 1e-160, 1e5, -1e5, 1e160, -1e300, 1.7e308, -1.7e308]
REALS = st.sampled_from([0.0, 1.0, -1.0, 2.0, 2.0]) | st.sampled_from(SPECIAL_REALS)
REALS |= st.floats(-10, 10)
NO_REALS = st.sampled_from([np.nan, np.inf, -np.inf])
SCALES = st.sampled_from([1.0, 1.0, 2.0, 5e-324, 1e-300, 1e-160, 1e-75, 1e75, 1e160, 1.7e308])
SCALES |= st.floats(0.1, 10)
NO_SCALES = st.sampled_from([0.0, -1.0, np.nan, np.inf])
REDUCTIONS = ["auto", "auto", "confidence", "classwise", "top-label", "full"]
ONE_PROBLEM = ["auto", "confidence"]  # with independent rows
FLOATS = [np.float64, np.float64, np.float32, np.float16, np.longdouble]


def rarely():
    """True once in twenty draws."""
    return st.sampled_from([False] * 19 + [True])


def mostly(usual, unusual):
    """One of the usual values, rarely one of the others."""
    return rarely().flatmap(lambda is_rare: st.sampled_from(unusual if is_rare else usual))


# Splits of five rows and more, or none at all.
HALVES = [([0, 1, 2], [3, 4]), ([3, 4], [0, 1, 2])]
CV = mostly(
    [2, 2, 3, None],
    [
        *[0, 1, 2.5, "x", [], [0, 1], HALVES],
        *[[([0, 1, 2], [3])], [([0, 1, 2, 3], [4, 5])], [(np.array([0, 1]), np.array([99]))]],
        *[[([0, 1], [-1])], [([0, 1, 2], []), ([], [0, 1, 2])], [([0.5], "a")], [([0], [1], [2])]],
    ],
)


NUMBERS = st.sampled_from([0, 1, 2.5, -0.0, 5e-324, -1e300, 1.7e308]) | st.floats(-3, 3)
NO_NUMBERS = st.sampled_from([np.nan, np.inf, -np.inf])
DATES = st.sampled_from(list(pd.date_range("2024-12-28", periods=4)))
TEXTS, NO_TEXTS = st.sampled_from(["a", "b", ""]), st.sampled_from([None, np.nan, 3, True])


@st.composite
def tables(draw, n_rows):
    """Columns of numbers, texts and booleans by name, some of them missing or of other types."""
    columns = st.sampled_from([(NUMBERS, NO_NUMBERS), (TEXTS, NO_TEXTS), (st.booleans(), NO_TEXTS)])
    table = {}
    for name in draw(st.lists(st.sampled_from(["x", "y", 3]), max_size=3, unique=True)):
        usual, unusual = draw(columns)
        values = usual | unusual if draw(st.booleans()) else usual
        length = n_rows + draw(rarely())
        table[name] = draw(st.lists(values, min_size=length, max_size=length))
    is_frame = len({len(column) for column in table.values()}) == 1 and draw(st.booleans())
    return pd.DataFrame(table) if is_frame else table


@st.composite
def groups(draw, n_rows):
    """Labels, memberships, or a table, rarely of other lengths or types."""
    shape = n_rows + draw(rarely()), draw(st.integers(0, 3))
    kind = draw(st.sampled_from(["labels", "matrix", "sparse", "table"]))
    if kind == "table":
        return draw(tables(n_rows))
    of_labels = st.sampled_from([TEXTS, st.integers(0, 2), DATES])
    values = draw(of_labels) if kind == "labels" else st.booleans()
    size = shape[0] * (1 if kind == "labels" else shape[1])
    values = draw(st.lists(values, min_size=size, max_size=size))
    if kind == "labels":
        return values
    matrix = np.array(values, dtype=bool).reshape(shape)
    if draw(rarely()):
        matrix = matrix * draw(st.sampled_from([2, np.nan]))
    return csr_array(matrix) if kind == "sparse" else draw(mostly([matrix], [pd.DataFrame(matrix)]))


@st.composite
def features(draw, n_rows):
    """A table, or an array of numbers, rarely of another length."""
    if draw(st.booleans()):
        return draw(tables(n_rows))
    shape = n_rows + draw(rarely()), draw(st.integers(0, 3))
    size = shape[0] * shape[1]
    values = draw(st.lists(REALS | NO_REALS, min_size=size, max_size=size))
    return np.array(values, dtype=float).reshape(shape)


@st.composite
def clusters(draw, n_rows):
    """None, or labels of clusters; rarely of other lengths or types."""
    if draw(st.booleans()):
        return None
    n_labels = n_rows + draw(rarely())
    labels = [TEXTS, st.integers(0, 2), st.integers(0, 30), DATES]
    kind = draw(mostly(labels, [REALS, st.none(), DATES | st.none()]))
    labels = draw(st.lists(kind, min_size=n_labels, max_size=n_labels))
    return labels if draw(st.booleans()) else pd.Series(labels, dtype=object)


@st.composite
def indicators(draw, max_rows=6):
    """The same arguments for labels that do not exclude one another."""
    shape = draw(st.integers(0, max_rows) | st.just(40)), draw(st.integers(1, 3))
    size = shape[0] * shape[1]
    whole = st.sampled_from([0, 1])
    holes = st.sampled_from([0, 1, 1, np.nan])
    outcomes = draw(mostly([whole, whole, PROBABILITIES, holes], [NO_PROBABILITIES]))
    entries = draw(mostly([PROBABILITIES, INSIDE], [PROBABILITIES | NO_PROBABILITIES]))
    y_true, y_proba = (
        np.array(draw(lists(of, size)), dtype=float).reshape(shape) for of in (outcomes, entries)
    )
    if draw(st.booleans()):
        y_proba = [np.column_stack([1 - column, column]) for column in y_proba.T]
    if draw(rarely()):
        y_proba = y_proba[:1]
    return {
        "y_true": csr_array(y_true) if draw(st.booleans()) else y_true,
        "y_proba": y_proba,
        "sample_weight": draw(weights(shape[0]) | arrays(WEIGHTS, size).map(reshape(shape))),
        "pos_label": draw(mostly([None], [1])),
        "labels": draw(st.none() | st.just(["a", "b", "c"][: shape[1]])),
        "reduction": draw(mostly(["multilabel"], ["auto", "classwise"])),
    }


def reshape(shape):
    return lambda array: array.reshape(shape)


@st.composite
def problems(draw, max_rows=6, reductions=REDUCTIONS):
    """Arguments `y_true`, `y_proba`, `sample_weight`, `pos_label`, `labels` and `reduction`."""
    labels = draw(st.sampled_from(LABEL_SETS))
    n_rows = draw(st.integers(0, max_rows) | st.just(40))
    if draw(rarely()):
        names = [f"p_{label}" for label in draw(st.permutations(labels))]
        return {
            "y_true": draw(shares(n_rows, len(labels)) | outcomes(labels, n_rows)),
            "y_proba": pd.DataFrame(draw(shares(n_rows, len(labels))), columns=names),
            "sample_weight": draw(weights(n_rows)),
            "pos_label": None,
            "labels": draw(st.sampled_from([None, labels])),
            "reduction": draw(mostly(reductions, REDUCTIONS)),
        }
    return {
        "y_true": draw(outcomes(labels, n_rows)),
        "y_proba": draw(probabilities(len(labels), n_rows)),
        "sample_weight": draw(weights(n_rows)),
        "pos_label": draw(st.none() | st.none() | st.sampled_from([*labels, 1, "other"])),
        "labels": draw(st.none() | st.just(labels) | st.just(labels) | st.permutations(labels)),
        "reduction": draw(mostly(reductions, REDUCTIONS)),
    }


def lists(entries, n_rows, most=6):
    """Lists of which at most so many items are drawn, and repeated."""
    n_drawn = min(n_rows, most)
    drawn = st.lists(entries, min_size=n_drawn, max_size=n_drawn)
    return drawn.map(lambda values: [values[i % most] for i in range(n_rows)])


def arrays(entries, length):
    return st.lists(entries, min_size=length, max_size=length).map(np.array)


@st.composite
def outcomes(draw, labels, n_rows):
    """Labels, sometimes soft, mixed or missing, in some container.

    Repeated after seven, so that equal predictions of many rows have different outcomes.
    """
    entries = st.sampled_from(labels)
    if draw(rarely()):
        entries = st.sampled_from([*labels, None, np.nan, "x", 0.5, 7, True])
    elif len(labels) == 2 and draw(rarely()):
        entries = PROBABILITIES
    kinds = [np.array, np.array, list, pd.Series, to_nullable, lambda v: np.array(v, dtype=object)]
    contain = draw(mostly(kinds, [mask_last, partial(to_categories, labels=labels)]))
    return contain(draw(lists(entries, n_rows, 7)))


def to_nullable(items):
    return pd.Series(items, dtype=object).convert_dtypes()


def to_categories(items, labels):
    """In another order than the sorted one; items that are no labels are missing."""
    categories = pd.Index(sorted(labels, reverse=True))
    codes = categories.get_indexer_for(pd.Series(items, dtype=object))
    return pd.Categorical.from_codes(codes, categories, ordered=True)


def mask_last(items):
    """A masked array; of no rows it has no mask."""
    array = np.array(items)
    return np.ma.array(array, mask=np.arange(array.size).reshape(array.shape) == array.size - 1)


@st.composite
def shares(draw, n_rows, n_classes):
    """Soft labels with a column for each class, rarely with a number missing."""
    row = st.lists(INSIDE | PROBABILITIES, min_size=n_classes, max_size=n_classes)
    values = _share(np.array(draw(lists(row, n_rows)), dtype=float).reshape(n_rows, n_classes))
    if n_rows and draw(rarely()):
        values[0, 0] = np.nan
    return values


@st.composite
def probabilities(draw, n_classes, n_rows):
    """Probabilities of the positive label, or a column per label, of some type."""
    n_columns = draw(st.sampled_from([1, 2] if n_classes == 2 else [n_classes, n_classes, 1]))
    entries = draw(mostly([PROBABILITIES, INSIDE], [PROBABILITIES | NO_PROBABILITIES]))
    row = st.lists(entries, min_size=n_columns, max_size=n_columns)
    values = np.array(draw(lists(row, n_rows)), dtype=float).reshape(n_rows, n_columns)
    if n_columns > 1 and not draw(rarely()):
        values = _share(values)
    if not draw(rarely()):
        with np.errstate(over="ignore"):
            values = values.astype(draw(st.sampled_from(FLOATS)))
    elif draw(st.booleans()):
        values = values.astype(object)
    elif np.isfinite(values).all():
        values = values.round().astype(draw(st.sampled_from([bool, np.int8, np.uint16, np.int64])))
    if n_columns == 1 and draw(st.booleans()):
        values = values[:, 0]
    return draw(contained(values))


@st.composite
def weights(draw, n_rows):
    if draw(st.booleans()):
        return None
    entries = WEIGHTS | NO_WEIGHTS if draw(rarely()) else WEIGHTS
    values = draw(lists(entries, draw(st.integers(0, 6)) if draw(rarely()) else n_rows))
    return draw(st.sampled_from([np.array, list, pd.Series]))(values)


@st.composite
def reals(draw, shape, entries=REALS, no_entries=NO_REALS):
    """Real numbers in an array of some type, rarely invalid or of another shape."""
    if draw(rarely()):
        shape = draw(st.sampled_from([(), (2,), (*shape, 1), (*shape, 2), (3, *shape[1:])]))
    entries = entries | no_entries if draw(rarely()) else entries
    drawn = draw(st.lists(entries, min_size=1, max_size=8))
    values = np.resize(np.array(drawn, dtype=float), shape)
    with np.errstate(over="ignore"):
        values = values.astype(draw(mostly([np.float64], [*FLOATS, object])))
    if np.abs(values.astype(float)).max(initial=0) < 100 and draw(rarely()):
        values = values.astype(float).round().astype(np.int64)
    return values[()] if values.ndim == 0 else draw(contained(values))


def contained(values):
    """An array, a list, or an object of pandas."""
    frame = {1: pd.Series, 2: pd.DataFrame}.get(values.ndim, np.ndarray.tolist)
    return mostly([values, values, values, values.tolist(), frame(values)], [mask_last(values)])


def walk(part):
    """All parts of nested data, each by what holds it and its key there."""
    for key in part if isinstance(part, dict) else range(len(part)):
        yield part, key
        if isinstance(part[key], dict | list):
            yield from walk(part[key])


def _share(values):
    """Rows that sum to 1, where they can."""
    with np.errstate(invalid="ignore", over="ignore"):
        total = values.sum(axis=1, keepdims=True)
        shares = values / np.where(total > 1e-300, total, 1)
    return np.where(total > 1e-300, shares, np.eye(values.shape[1])[0])
