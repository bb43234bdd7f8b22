"""The entrances read the same numbers and labels from whatever container and type they come in.

They are `check_predictions` of all that measures, tests and draws, `update` of summaries, `fit` of
recalibrators and `check_rows` of estimators that hold classifiers; test_compatibility.py shows that
everything comes to one of them. Numbers are multiples of 1/64, which every type here holds exactly.

Every container below is made of a list, or of a list of rows, in which None is a missing item.
"""

import re
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

from skcal._fitting._folds import check_rows
from skcal._input._categories import list_categories
from skcal._input._reduction import check_class_vectors, check_predictions
from skcal.recalibration import BaseRecalibrator
from skcal.streaming import CalibrationSummary


def parametrize(name, table):
    """A test for each row of a table of containers."""
    return pytest.mark.parametrize(name, list(table.values()), ids=list(table))


to_floats = partial(np.array, dtype=float)
to_objects = partial(np.array, dtype=object)


def to_mixed_objects(items):
    """Numbers of Python and of NumPy."""
    kinds = float, np.float32, np.float16
    numbers = [kinds[place % 3](item) for place, item in enumerate(np.ravel(items))]
    whole = [int(number) if number == int(number) else number for number in numbers]
    return to_objects(whole).reshape(np.shape(items))


def to_odd_memory(items):
    """Backwards in a field of records, at addresses that no number should have, read-only."""
    array = np.array(items)
    turn = (slice(None, None, -1),) * array.ndim
    records = np.zeros(array.shape, [("flag", "i1"), ("value", array.dtype.newbyteorder(">"))])
    records["value"] = array[turn]
    records.flags.writeable = False
    return records["value"][turn]


def to_pandas(items, dtype=None):
    """An index that belongs to other rows."""
    index = np.arange(len(items))[::-1] // 2
    return (pd.Series if np.ndim(items) == 1 else pd.DataFrame)(items, index, dtype=dtype)


def to_chunks(items):
    items = pa.array(items)
    return pa.chunked_array([items[:7], items[7:7], items[7:]])


def to_codes(items):
    """Chunks with codes; NumPy reads those of a missing item as others."""
    items = pa.array(items)
    return pa.chunked_array([part.dictionary_encode() for part in (items[:2], items[2:])])


def to_arrow_table(rows):
    columns = [to_chunks(column) for column in zip(*rows, strict=True)]
    return pa.table(columns, names=[f"column {at}" for at in range(len(columns))])


def of_types(make, *types):
    return {f"{make.__name__}-{dtype}": partial(make, dtype=dtype) for dtype in types}


# Of any items.
COLUMNS = {
    "list": list,
    "tuple": tuple,
    "objects": to_objects,
    **of_types(to_pandas, None, object, "category"),
    **of_types(pl.Series, None, pl.Object),
    "polars-chunks": lambda items: pl.concat([pl.Series(items[:2]), pl.Series(items[2:])]),
    "pandas-codes": lambda items: pd.Series(pd.arrays.ArrowExtensionArray(to_codes(items))),
    "arrow": pa.array,
    "arrow-chunks": to_chunks,
    "arrow-codes": to_codes,
    "arrow-null-codes": lambda items: pa.array(items).dictionary_encode(null_encoding="encode"),
}
# Of numbers, in one column or in several.
ARRAYS = {
    "list": list,
    "tuple": lambda rows: tuple(map(tuple, rows)) if np.ndim(rows) == 2 else tuple(rows),
    "list-of-arrays": lambda rows: list(to_floats(rows)),
    "odd-memory": lambda rows: to_odd_memory(to_floats(rows)),
    "masked": lambda rows: np.ma.masked_invalid(to_floats(rows)),
    "memoryview": lambda rows: memoryview(to_floats(rows)),
    **of_types(np.array, "float16", "longdouble", object),
    **of_types(to_pandas, None, "Float32", "double[pyarrow]", object),
}
NUMBERS = (
    COLUMNS
    | ARRAYS
    | of_types(pd.Index, float)
    | {"sparse": lambda items: pd.Series(pd.arrays.SparseArray(to_floats(items)))}
)
TABLES = ARRAYS | {
    "pandas-mixed": lambda rows: pd.DataFrame(rows).astype({0: "Float64"}),
    "polars": lambda rows: pl.DataFrame(rows, orient="row"),
    "arrow": to_arrow_table,
    "arrow-batch": lambda rows: to_arrow_table(rows).combine_chunks().to_batches()[0],
}
FLAGS = {"array": np.array} | of_types(to_pandas, "boolean", "bool[pyarrow]")
INTEGERS = {
    **of_types(np.array, "int8", "uint64"),
    **of_types(to_pandas, "Int64", "int8[pyarrow]"),
    **of_types(pl.Series, pl.UInt32),
}
ORDERED = ["zebu", "cat", "bee", "b", "ant", "a"]
# What scikit-learn, which recalibrators and estimators ask, reads too.
TEXT_FOR_ALL = {
    "list": list,
    "odd-memory": to_odd_memory,
    "objects": to_objects,
    **of_types(to_pandas, None, "string[pyarrow]", pd.CategoricalDtype(ORDERED, ordered=True)),
    **of_types(pl.Series, None),
}
TEXT = (
    COLUMNS
    | TEXT_FOR_ALL
    | {
        "column": lambda text: to_objects(text)[:, np.newaxis],
        "pandas-frame": lambda text: pd.DataFrame({"label": text}),
        **of_types(to_pandas, pd.ArrowDtype(pa.large_string())),
        **of_types(pl.Series, pl.Categorical, pl.Enum(ORDERED)),
    }
)
has_strings = hasattr(np.dtypes, "StringDType")
STRINGS = of_types(np.array, np.dtypes.StringDType()) if has_strings else {}

rng = np.random.default_rng(3)
N_ROWS = 32
POSITIVE = rng.integers(0, 65, N_ROWS) / 64
PAIR = np.column_stack([1 - POSITIVE, POSITIVE])
TRIPLE = rng.multinomial(64, [0.5, 0.3, 0.2], size=N_ROWS) / 64
BINARY = (rng.random(N_ROWS) < POSITIVE**2).astype(np.int64)
CODES = np.r_[0, 1, 2, rng.integers(0, 3, N_ROWS - 3)]
WEIGHTS = rng.integers(0, 5, N_ROWS)
LABELS = ["ant", "bee", "cat"]
NAMES = np.array(LABELS)
HALF = np.full((4, 2), 0.5)


class Recorder(BaseRecalibrator):
    """Keeps what it is handed."""

    def _fit(self, scores, codes, sample_weight):
        self.seen = scores, codes, sample_weight

    def _recalibrate(self, scores):
        return scores


def measure(y, proba, weights, **options):
    return check_predictions(y, proba, sample_weight=weights, **options)[:3]


def summarize(y, proba, weights, **options):
    strict, lax = (
        CalibrationSummary(n_cells=64, on_invalid=rule, **options).update(y, proba, weights)
        for rule in ("raise", "drop")
    )
    assert set(lax.dropped_.values()) == {0}
    return strict.to_frame().to_numpy(), lax.to_frame().to_numpy()


def recalibrate(y, proba, weights):
    fitted = Recorder().fit(proba, y, weights)
    return *fitted.seen, fitted.predict_proba(proba)


def check_same(entrance, given, expected, **options):
    """An entrance reads one as the other, which holds NumPy's own arrays."""
    found, wanted = entrance(*given, **options), entrance(*expected, **options)
    for number, other in zip(found, wanted, strict=True):
        assert type(number) is type(other)
        np.testing.assert_array_equal(number, other)


def refuses(name):
    """A ValueError whose message begins with the name of the argument."""
    return pytest.raises(ValueError, match=rf"^{name} must ")


def check_refused(values, names=("y_true", "y_proba", "sample_weight")):
    rows = {"y_true": [0, 1, 0, 1], "y_proba": HALF, "sample_weight": None}
    for name in names:
        with refuses(name):
            check_predictions(**rows | {name: values})
    if "sample_weight" in names:
        with refuses("sample_weight"):
            Recorder().fit(HALF, [0, 1, 0, 1], values)


def check_labels_refused(labels):
    for fit in (Recorder().fit, lambda X, y: check_rows(LogisticRegression(), X, y)):
        with pytest.raises(ValueError, match=r"\by\b"):
            fit(HALF, labels)


@parametrize("make", NUMBERS | {"mixed-objects": to_mixed_objects})
def test_numbers(make):
    rows = BINARY.astype(float), POSITIVE, WEIGHTS.astype(float)
    given = [make(row.tolist()) for row in rows]
    for entrance in (measure, summarize):
        check_same(entrance, given, rows)
    check_same(recalibrate, (CODES, TRIPLE, given[2]), (CODES, TRIPLE, rows[2]))
    if make is not to_mixed_objects:
        check_refused(make([0.0, 1.0, None, 1.0]))


@parametrize("make", TABLES | {"mixed-objects": to_mixed_objects})
def test_tables_of_probabilities(make):
    for y, proba in ((BINARY, POSITIVE[:, np.newaxis]), (BINARY, PAIR), (CODES, TRIPLE)):
        options = {"labels": [0, 1, 2]} if proba is TRIPLE else {}
        for entrance in (measure, summarize):
            check_same(entrance, (y, make(proba.tolist()), None), (y, proba, None), **options)
    check_same(recalibrate, (CODES, make(TRIPLE.tolist()), None), (CODES, TRIPLE, None))
    column = make(BINARY[:, np.newaxis].astype(float).tolist())
    check_same(measure, (column, PAIR, None), (BINARY, PAIR, None))


@parametrize("make", TABLES | {"arrow-codes": lambda rows: pa.table({"p": to_codes(rows[1])})})
def test_missing_cells_are_refused(make):
    table = make([[0.5, 0.5], [None, 1.0]])
    for function in (check_predictions, CalibrationSummary().update):
        with refuses("y_proba"):
            function([0, 1], table)
    if not np.ma.is_masked(table):
        summary = CalibrationSummary(on_invalid="drop").update([0, 1], table)
        assert summary.dropped_ == {"y_true": 0, "y_proba": 1, "sample_weight": 0}
    if isinstance(table, pd.DataFrame):
        fitted = Recorder().fit(make([[0.5, 0.5], [0.0, 1.0]]), [0, 1])
        for function in (lambda X: Recorder().fit(X, [0, 1]), fitted.predict_proba):
            with refuses("X"):
                function(table)


def check_whole(make, kind):
    """As labels, as weights, and as probabilities that are certain."""
    rows = [row.astype(kind) for row in (BINARY, POSITIVE.round(), WEIGHTS > 1)]
    for entrance in (measure, summarize):
        check_same(entrance, [make(row.tolist()) for row in rows], [row * 1.0 for row in rows])


@parametrize("make", COLUMNS | FLAGS)
def test_flags(make):
    check_whole(make, bool)
    flags = make(BINARY.astype(bool).tolist())
    for options in ({}, {"pos_label": True}, {"labels": [False, True]}):
        assert check_predictions(flags, PAIR, **options).target.tolist() == list(BINARY)
    check_refused(make([False, True, None, True]))


@parametrize("make", COLUMNS | INTEGERS)
def test_integers(make):
    check_whole(make, int)
    given = make(CODES.tolist()), TRIPLE, make(WEIGHTS.tolist())
    check_same(measure, given, (CODES, TRIPLE, WEIGHTS))


@pytest.mark.parametrize("number", [Decimal, Fraction])
def test_exact_numbers_are_probabilities_and_weights_but_no_labels(number):
    def convert(array):
        return to_objects([number(float(item)) for item in array.flat]).reshape(array.shape)

    for proba in (POSITIVE, PAIR):
        for wrap in (np.asarray, np.ndarray.tolist, to_pandas):
            rows = BINARY, wrap(convert(proba)), wrap(convert(WEIGHTS))
            check_same(measure, rows, (BINARY, proba, WEIGHTS.astype(float)))
    with pytest.raises(ValueError, match=f"y_true must hold .* got {number.__name__}"):
        check_predictions(convert(BINARY), POSITIVE)
    decimals = pa.array(map(Decimal, POSITIVE.tolist()), type=pa.decimal128(12, 6))
    for proba in (decimals, pd.Series(decimals, dtype=pd.ArrowDtype(decimals.type))):
        check_same(measure, (BINARY, proba, None), (BINARY, POSITIVE, None))


@parametrize("make", TEXT | STRINGS)
def test_labels_of_text(make):
    pair, triple = (make(NAMES[codes].tolist()) for codes in (BINARY, CODES))
    for y, proba, options, target in (
        (pair, POSITIVE, {"pos_label": "bee"}, BINARY),
        (pair, PAIR, {"labels": make(LABELS[:2])}, BINARY),
        (triple, TRIPLE, {}, CODES),
        (triple, TRIPLE, {"labels": make(LABELS)}, CODES),
    ):
        if not options and list_categories(y) == ORDERED:
            continue  # which of two orders the columns have is open, see test_categories.py
        np.testing.assert_array_equal(check_predictions(y, proba, **options).target, target)
    check_same(summarize, (triple, TRIPLE, None), (NAMES[CODES], TRIPLE, None), labels=LABELS)
    if make in TEXT_FOR_ALL.values():
        check_same(recalibrate, (triple, TRIPLE, None), (NAMES[CODES], TRIPLE, None))
        _, y = check_rows(LogisticRegression(), TRIPLE, triple)
        np.testing.assert_array_equal(y, NAMES[CODES])


@parametrize("make", TEXT)
def test_missing_text_is_refused(make):
    text = make(["a", "b", None, "b"])
    check_refused(text, ["y_true"])
    if np.ndim(text) == 1:  # scikit-learn warns of columns
        check_labels_refused(text)


@pytest.mark.parametrize("make", [list, to_objects, partial(to_pandas, dtype=object)])
@pytest.mark.parametrize(
    "missing", [None, np.nan, pd.NA, np.datetime64("NaT", "s"), Decimal("NaN")]
)
def test_missing_items(missing, make):
    """scikit-learn answers with TypeErrors about NoneType or NAType, or does not name y."""
    for labels in ([0, 1, missing, 1], ["a", "b", missing, "b"]):
        check_refused(make(labels), ["y_true"])
        check_labels_refused(make(labels))
    check_refused(make([0, 1, missing, 1]))


# Tables of Arrow and of polars take text alone.
NAMED = {
    "pandas": lambda array, names: pd.DataFrame(array, columns=names),
    "polars": lambda array, names: pl.DataFrame(array, schema=list(map(str, names))),
    "arrow": lambda array, names: pa.table(list(array.T), names=list(map(str, names))),
    "arrow-batch": lambda array, names: pa.record_batch(list(array.T), names=list(map(str, names))),
}
# Labels of two and of three classes, sorted.
SORTED_LABELS = {
    "text": (["benign", "malignant"], LABELS),
    "integers": ([0, 1], [2, 10, 11]),
    "signs": ([-1, 1], [-1, 0, 1]),
    "whole-floats": ([0.0, 1.0], [1.0, 2.0, 3.0]),
    "fractions": ([0.5, 2.0], [0.25, 0.5, 0.75]),
    "booleans": ([False, True], LABELS),
}
by_name = parametrize("make_table", NAMED)


@by_name
@parametrize("pair_and_triple", SORTED_LABELS)
def test_columns_named_after_the_labels_in_another_order(make_table, pair_and_triple):
    """They would be read as other classes than their names say."""
    for labels, codes, proba in zip(pair_and_triple, (BINARY, CODES), (PAIR, TRIPLE), strict=True):
        y, named = np.array(labels)[codes], {"labels": labels}
        check_same(measure, (y, make_table(proba, labels), None), (y, proba, None), **named)
        for order in [[1, 0]] if len(labels) == 2 else [[0, 2, 1], [2, 0, 1]]:
            turned = [labels[k] for k in order]
            table = make_table(proba[:, order], turned)
            shown = re.escape(str(turned)).replace(r"\.0", r"(\.0)?")
            message = rf"y_proba are named .* order {shown}, but read in .*, or pass labels={shown}"
            with pytest.raises(ValueError, match=message):
                check_predictions(y, table, **named)
            if 0.5 not in labels:  # fractions have to be named
                with pytest.raises(ValueError, match="The columns of y_proba are named after"):
                    check_predictions(y, table)
            options = {"labels": turned, "pos_label": labels[1]}
            check_same(measure, (y, table, None), (y, proba[:, order], None), **options)
            with pytest.raises(ValueError, match=r"y_proba are named .* pass labels=\["):
                check_predictions(y, make_table(proba, labels), **options)


# Names of columns and labels, sorted, that the columns bear in another order.
LABELS_IN_NAMES = {
    "tidymodels": ([".pred_poor", ".pred_good"], ["good", "poor"]),
    "predict.ranger": (["prob.poor", "prob.good"], ["good", "poor"]),
    "digits": (["p1", "p0"], [0, 1]),
    "words": (["class_1", "class_0"], [0, 1]),
    "signs": (["p_1", "p_-1"], [-1, 1]),
    "floats": (["p1", "p0"], [0.0, 1.0]),
    "flags": (["p1", "p0"], [False, True]),
    "true": (["is_true", "is_false"], [False, True]),
    "capitals": (["Poor", "Good"], ["good", "poor"]),
    "spaces": (["poor ", "good"], ["good", "poor"]),
    "results": ([".pred_H", ".pred_D", ".pred_A"], ["A", "D", "H"]),
    "letters": (["prob_b", "prob_a"], ["a", "b"]),
    "version": (["v1_p1", "v1_p0"], [0, 1]),
    "longest": (["noise: yes", "noise: no"], ["no", "yes"]),
    "one-in-the-other": (["p_male", "p_female"], ["female", "male"]),
    "two-digits": (["P(11)", "P(10)", "P(1)"], [1, 10, 11]),
    "apart": (["poor, in %", "good (model)"], ["good", "poor"]),
}
# Those that hold none of the labels, two of them, or one of them twice.
OTHER_NAMES = {
    "others": (["cat", "bee", "emu"], LABELS),
    "parts-of-words": (["catalogue", "bees", "antics"], LABELS),
    "both": (["1_or_0", "0_or_1"], [0, 1]),
    "twice": (["m2_p1", "m1_p1"], [0, 1]),
    "parts-of-numbers": (["p21", "p10"], [0, 1]),
    "few": (["bee", "ant", "x"], LABELS),
}


def make_rows(labels):
    codes, proba = (BINARY, PAIR) if len(labels) == 2 else (CODES, TRIPLE)
    return np.array(labels)[codes], proba


@by_name
@parametrize("names_and_labels", LABELS_IN_NAMES)
def test_columns_that_have_labels_in_their_names(make_table, names_and_labels):
    names, labels = names_and_labels
    y, proba = make_rows(labels)
    table = make_table(proba[:, ::-1], names)
    for named in ({}, {"labels": labels}):
        with pytest.raises(ValueError, match=r"y_proba are named after .*, or pass labels="):
            check_predictions(y, table, **named)
        check_same(measure, (y, make_table(proba, names[::-1]), None), (y, proba, None), **named)
    with pytest.raises(ValueError, match=r"X are named after .*, or pass classes="):
        Recorder().fit(table, y)


@by_name
@parametrize("names_and_labels", OTHER_NAMES)
def test_names_that_do_not_say_the_labels(make_table, names_and_labels):
    names, labels = names_and_labels
    y, proba = make_rows(labels)
    check_same(measure, (y, make_table(proba, names), None), (y, proba, None))


class LabelledArray:
    """As far as it matters here, xarray's array of two dimensions with coordinates."""

    def __init__(self, values, names):
        self.values, self.dims = values, ("row", "label")
        self.coords = {} if names is None else {"label": np.array(names)}

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype)


def test_coordinates_are_names():
    names, labels = LABELS_IN_NAMES["tidymodels"]
    y, proba = make_rows(labels)
    with pytest.raises(ValueError, match="columns of y_proba are named after"):
        check_predictions(y, LabelledArray(proba[:, ::-1], names))
    for other in (names[::-1], None):
        check_same(measure, (y, LabelledArray(proba, other), None), (y, proba, None))


@by_name
def test_columns_of_an_indicator_that_have_labels_in_their_names(make_table):
    indicator, options = np.eye(3)[CODES], {"reduction": "multilabel"}
    table = make_table(TRIPLE[:, ::-1], ["p_cat", "p_bee", "p_ant"])
    for names in (LABELS, [f"y_{label}" for label in LABELS]):
        with pytest.raises(ValueError, match="y_true and y_proba must have the same order"):
            check_predictions(make_table(indicator, names), table, **options)
    with pytest.raises(ValueError, match="columns of y_proba are named after"):
        check_predictions(indicator, table, labels=LABELS, **options)


@by_name
def test_names_that_are_not_exactly_the_labels(make_table):
    y = NAMES[CODES]
    for names in (["c", "b", "a"], ["cat", "bee", "emu"]):
        check_same(measure, (y, make_table(TRIPLE, names), None), (y, TRIPLE, None))
    single = make_table(POSITIVE[:, np.newaxis], ["0"])
    check_same(measure, (BINARY, single, None), (BINARY, POSITIVE, None))


def test_numbers_that_pandas_gives_to_columns_are_no_names():
    frame = pd.DataFrame(TRIPLE)
    check_same(measure, (CODES, frame, None), (CODES, TRIPLE, None), labels=[2, 0, 1])
    for other in (frame.iloc[:, ::-1], frame[[1, 2, 0]]):
        with pytest.raises(ValueError, match="columns of y_proba are named after the labels"):
            check_predictions(CODES, other)


@by_name
def test_soft_labels_whose_columns_have_another_order(make_table):
    soft = np.roll(TRIPLE, 1, axis=0)
    table = make_table(soft, LABELS)
    for other in (make_table(TRIPLE, LABELS), make_table(TRIPLE, list("abc")), TRIPLE):
        checked = check_class_vectors(table, other)
        np.testing.assert_array_equal(checked.target, soft)
        np.testing.assert_array_equal(checked.proba, TRIPLE)
    message = "y_true and y_proba must have the same order; got 'ant', 'bee', 'cat' and 'cat',"
    with pytest.raises(ValueError, match=message):
        check_class_vectors(table, make_table(TRIPLE, LABELS[::-1]))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_recalibrators_answer_in_the_tables_that_are_asked_for(library):
    frame = NAMED[library](TRIPLE, LABELS)
    if library == "pandas":
        frame.index = np.arange(N_ROWS)[::-1]
    out = Recorder().set_output(transform=library).fit(frame, NAMES[CODES]).transform(frame)
    assert type(out) is type(frame)
    assert list(out.columns) == LABELS
    np.testing.assert_allclose(out.to_numpy(), TRIPLE, rtol=0, atol=1e-15)
    if library == "pandas":
        np.testing.assert_array_equal(out.index, frame.index)


NOT_NUMBERS = [
    ["0.5"] * 4,
    to_objects(["0.5"] * 4),
    to_objects([b"0.5"] * 4),
    to_objects([0.5 + 0j] * 4),
    np.full(4, 0.5 + 0j),
    np.full(4, np.datetime64("2024-01-01")),
    np.zeros(4, dtype=[("a", float)]),
    pd.DataFrame({"p": ["0.5"] * 4}),
    pl.Series([[0.5], [0.5, 0.5]] * 2),
    pa.array(["0.5"] * 4),
    {"a": [0.5] * 4},
    (0.5 for _ in range(4)),
    0.5,
    None,
]


@pytest.mark.parametrize("values", NOT_NUMBERS)
def test_what_holds_no_numbers_is_refused(values):
    check_refused(values, ["y_proba", "sample_weight"][: 1 if values is None else 2])
    with pytest.raises(ValueError, match=r"^(y_true|pos_label) "):
        check_predictions(values, [0.5] * 4)


def test_rows_of_a_matrix_are_refused_as_a_column():
    """np.matrix has no one-dimensional arrays: a column it must be."""
    y, proba, weights = (a[:, np.newaxis].view(np.matrix) for a in (BINARY, POSITIVE, WEIGHTS))
    check_same(measure, (y, proba, None), (BINARY, POSITIVE, None))
    with pytest.raises(ValueError, match="y_true must be one-dimensional"):
        check_predictions(y.T, proba)
    with pytest.raises(ValueError, match=r"sample_weight must have shape \(32,\)"):
        check_predictions(y, proba, sample_weight=weights)
