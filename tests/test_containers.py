"""The entrances read the same numbers and labels from whatever container and type they come in.

They are `check_predictions` of all that measures, tests and draws, `update` of summaries, `fit` of
recalibrators and `check_rows` of estimators that hold classifiers; test_compatibility.py shows that
everything comes to one of them. Numbers are multiples of 1/64, which every type here holds exactly.
"""

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

from skcal._folds import check_rows
from skcal._reduction import check_class_vectors, check_predictions
from skcal.recalibration import BaseRecalibrator
from skcal.streaming import CalibrationSummary


def parametrize(name, table):
    """A test for each row of a table of containers."""
    return pytest.mark.parametrize(name, list(table.values()), ids=list(table))


# ---------------------------------------------------------------------------- containers


def to_odd_memory(array):
    """Backwards in a field of records, at addresses that no number should have, read-only."""
    turn = (slice(None, None, -1),) * array.ndim
    dtype = array.dtype.newbyteorder(">")
    records = np.zeros(array.shape, dtype=[("flag", "i1"), ("value", dtype)])
    records["value"] = array[turn]
    records.flags.writeable = False
    return records["value"][turn]


def to_objects(array):
    """Python's own numbers, whole ones as integers."""
    items = [int(item) if item == int(item) else item for item in array.ravel().tolist()]
    return np.array([*items, None], dtype=object)[:-1].reshape(array.shape)


def to_numpy_scalars(array):
    """An object array of NumPy's numbers, of three types."""
    types = np.float32, np.float64, np.float16
    items = [types[place % 3](item) for place, item in enumerate(array.flat)]
    return np.array([*items, None], dtype=object)[:-1].reshape(array.shape)


def to_pandas(dtype=None):
    """An index that belongs to other rows."""

    def convert(array):
        index = np.arange(len(array))[::-1] // 2
        made = (pd.Series if array.ndim == 1 else pd.DataFrame)(array, index=index)
        return made if dtype is None else made.astype(dtype)

    return convert


def to_mixed_frame(array):
    """Columns of different types, nullable, Arrow and NumPy's."""
    types = ["Float64", "double[pyarrow]", "float64"]
    columns = [pd.Series(c, name=f"p{k}").astype(types[k]) for k, c in enumerate(array.T)]
    return pd.concat(columns, axis=1)


def to_chunks(array):
    return pa.chunked_array([array[:7], array[7:7], array[7:]])


def to_codes(array):
    """Chunks with codes; NumPy reads those of a missing item as others."""
    items = pa.array(array if isinstance(array, list) else array.tolist())
    return pa.chunked_array([part.dictionary_encode() for part in (items[:2], items[2:])])


def to_arrow_table(array):
    return pa.table({f"p{k}": to_chunks(column) for k, column in enumerate(array.T)})


def to_type(dtype):
    return lambda array: array.astype(dtype)


ARRAYS = {
    "list": np.ndarray.tolist,
    "tuple": lambda array: tuple(map(tuple, array)) if array.ndim == 2 else tuple(array.tolist()),
    "list-of-arrays": list,
    "odd-memory": to_odd_memory,
    "subclass": np.ma.array,
    "memoryview": lambda array: memoryview(np.ascontiguousarray(array)),
    "float16": to_type(np.float16),
    "longdouble": to_type(np.longdouble),
    "objects": to_objects,
    "numpy-scalars": to_numpy_scalars,
    "pandas": to_pandas(),
    "pandas-Float32": to_pandas("Float32"),
    "pandas-arrow": to_pandas("double[pyarrow]"),
    "pandas-object": to_pandas(object),
}
ROWS = ARRAYS | {
    "pandas-category": to_pandas("category"),
    "pandas-sparse": lambda array: pd.Series(pd.arrays.SparseArray(array)),
    "pandas-index": pd.Index,
    "polars": pl.Series,
    "polars-chunks": lambda array: pl.concat([pl.Series(array[:7]), pl.Series(array[7:])]),
    "polars-objects": lambda array: pl.Series(array.tolist(), dtype=pl.Object),
    "arrow": pa.array,
    "arrow-chunks": to_chunks,
    "arrow-codes": to_codes,
}
TABLES = ARRAYS | {
    "pandas-mixed": to_mixed_frame,
    "polars": pl.DataFrame,
    "arrow": to_arrow_table,
    "arrow-batch": lambda array: to_arrow_table(array).combine_chunks().to_batches()[0],
}
BOOLEAN = {
    "bool": to_type(bool),
    "bool-list": lambda array: array.astype(bool).tolist(),
    "bool-objects": lambda array: array.astype(bool).astype(object),
    "pandas-boolean": to_pandas("boolean"),
    "pandas-arrow-bool": lambda array: pd.Series(array.astype(bool)).astype("bool[pyarrow]"),
    "polars-bool": lambda array: pl.Series(array.astype(bool)),
    "arrow-bool": lambda array: to_chunks(array.astype(bool)),
}
WHOLE = BOOLEAN | {
    "int8": to_type(np.int8),
    "uint64": to_type(np.uint64),
    "int-objects": to_type(object),
    "pandas-Int64": to_pandas("Int64"),
    "pandas-arrow-int": to_pandas("int8[pyarrow]"),
    "polars-UInt32": lambda array: pl.Series(array, dtype=pl.UInt32),
    "arrow-int": lambda array: pa.array(array, type=pa.int16()),
}
ORDERED = ["zebu", "cat", "bee", "ant"]
# What scikit-learn, which recalibrators and estimators ask, reads too.
TEXT_FOR_ALL = {
    "list": np.ndarray.tolist,
    "odd-memory": to_odd_memory,
    "objects": to_type(object),
    "pandas": to_pandas(),
    "pandas-string": to_pandas("string[pyarrow]"),
    "pandas-category": lambda text: pd.Series(pd.Categorical(text, ORDERED, ordered=True)),
    "polars": lambda text: pl.Series(text.tolist()),
}
TEXT = TEXT_FOR_ALL | {
    "tuple": lambda text: tuple(text.tolist()),
    "column": lambda text: text[:, np.newaxis],
    "pandas-frame": lambda text: pd.DataFrame({"label": text}),
    "pandas-arrow": to_pandas(pd.ArrowDtype(pa.string())),
    "pandas-arrow-codes": lambda text: pd.Series(pd.arrays.ArrowExtensionArray(to_codes(text))),
    "polars-categorical": lambda text: pl.Series(text.tolist()).cast(pl.Categorical),
    "polars-enum": lambda text: pl.Series(text.tolist(), dtype=pl.Enum(ORDERED)),
    "arrow-large": lambda text: pa.array(text.tolist(), type=pa.large_string()),
    "arrow-chunks": lambda text: to_chunks(text.tolist()),
    "arrow-codes": to_codes,
}
if hasattr(np.dtypes, "StringDType"):
    TEXT["StringDType"] = to_type(np.dtypes.StringDType())

# ---------------------------------------------------------------------------------- entrances

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


# ----------------------------------------------------------------------------------- numbers


@parametrize("convert", ROWS)
def test_rows_of_numbers(convert):
    rows = BINARY.astype(float), POSITIVE, WEIGHTS.astype(float)
    for entrance in (measure, summarize):
        check_same(entrance, map(convert, rows), rows)
    check_same(recalibrate, (CODES, TRIPLE, convert(rows[2])), (CODES, TRIPLE, rows[2]))


@parametrize("convert", TABLES)
def test_tables_of_probabilities(convert):
    for y, proba in ((BINARY, POSITIVE[:, np.newaxis]), (BINARY, PAIR), (CODES, TRIPLE)):
        options = {"labels": [0, 1, 2]} if proba is TRIPLE else {}
        for entrance in (measure, summarize):
            given = y, convert(proba), WEIGHTS
            check_same(entrance, given, (y, proba, WEIGHTS), **options)
    check_same(recalibrate, (CODES, convert(TRIPLE), None), (CODES, TRIPLE, None))
    column = convert(BINARY[:, np.newaxis].astype(float))
    check_same(measure, (column, PAIR, None), (BINARY, PAIR, None))


@parametrize("convert", WHOLE)
def test_whole_numbers_and_flags(convert):
    """As labels, as weights, and as probabilities that are certain."""
    rows = [BINARY, POSITIVE.round().astype(int), (WEIGHTS > 1).astype(int)]
    for entrance in (measure, summarize):
        check_same(entrance, map(convert, rows), [row.astype(float) for row in rows])
    if convert not in BOOLEAN.values():
        given = convert(CODES), TRIPLE, convert(WEIGHTS)
        check_same(measure, given, (CODES, TRIPLE, WEIGHTS))
        return
    for options in ({}, {"pos_label": True}, {"labels": [False, True]}):
        assert check_predictions(convert(BINARY), PAIR, **options).target.tolist() == list(BINARY)


@pytest.mark.parametrize("number", [Decimal, Fraction])
def test_exact_numbers_are_probabilities_and_weights_but_no_labels(number):
    def convert(array):
        items = [number(float(value)) for value in array.flat]
        return np.array([*items, None], dtype=object)[:-1].reshape(array.shape)

    for proba in (POSITIVE, PAIR):
        for wrap in (np.asarray, np.ndarray.tolist, to_pandas()):
            rows = BINARY, wrap(convert(proba)), wrap(convert(WEIGHTS))
            check_same(measure, rows, (BINARY, proba, WEIGHTS.astype(float)))
    with pytest.raises(ValueError, match=f"y_true must hold .* got {number.__name__}"):
        check_predictions(convert(BINARY), POSITIVE)
    decimals = pa.array([Decimal(value) for value in POSITIVE.tolist()], type=pa.decimal128(12, 6))
    for proba in (decimals, pd.Series(decimals, dtype=pd.ArrowDtype(decimals.type))):
        check_same(measure, (BINARY, proba, None), (BINARY, POSITIVE, None))


# ------------------------------------------------------------------------------------ labels


@parametrize("convert", TEXT)
def test_labels_of_text(convert):
    pair, triple = convert(NAMES[BINARY]), convert(NAMES[CODES])
    for y, proba, options, target in (
        (pair, POSITIVE, {"pos_label": "bee"}, BINARY),
        (pair, PAIR, {"labels": convert(NAMES[:2])}, BINARY),
        (triple, TRIPLE, {}, CODES),
        (triple, TRIPLE, {"labels": convert(NAMES)}, CODES),
    ):
        np.testing.assert_array_equal(check_predictions(y, proba, **options).target, target)
    check_same(summarize, (triple, TRIPLE, None), (NAMES[CODES], TRIPLE, None), labels=LABELS)
    if convert in TEXT_FOR_ALL.values():
        check_same(recalibrate, (triple, TRIPLE, None), (NAMES[CODES], TRIPLE, None))
        _, y = check_rows(LogisticRegression(), TRIPLE, triple)
        np.testing.assert_array_equal(y, NAMES[CODES])


# --------------------------------------------------------------------------- names of columns

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


@by_name
def test_names_that_are_not_exactly_the_labels(make_table):
    y = NAMES[CODES]
    for names in (["c", "b", "a"], ["cat", "bee", "emu"], ["P(cat)", "P(bee)", "P(ant)"]):
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


# ----------------------------------------------------------------------------------- missing


def fill(missing, convert=list):
    """Makes a column of items, of which some are None."""
    return lambda items: convert([missing if item is None else item for item in items])


def as_flags(convert):
    return lambda items: convert([None if item is None else item == 1 for item in items])


def to_object_array(items):
    return np.array(items, dtype=object)


MISSING = {
    "None": fill(None),
    "NaN": fill(np.nan),
    "NA": fill(pd.NA),
    "objects-NaN": fill(np.nan, to_object_array),
    "objects-NaT": fill(np.datetime64("NaT", "s"), to_object_array),
    "pandas": fill(None, pd.Series),
    "pandas-NA": fill(pd.NA, lambda items: pd.Series(items, dtype=object)),
    "pandas-category": fill(None, lambda items: pd.Series(items, dtype="category")),
    "polars": fill(None, pl.Series),
    "polars-objects": fill(None, lambda items: pl.Series(items, dtype=pl.Object)),
    "arrow": fill(None, pa.array),
    "arrow-codes": fill(None, to_codes),
    "arrow-null-codes": fill(
        None, lambda items: pa.array(items).dictionary_encode(null_encoding="encode")
    ),
    "pandas-arrow-codes": fill(
        None, lambda items: pd.Series(pd.arrays.ArrowExtensionArray(to_codes(items)))
    ),
}
MISSING_NUMBERS = MISSING | {
    "NumPy": fill(np.nan, np.array),
    "Decimal-NaN": fill(Decimal("NaN"), to_object_array),
    "masked": fill(np.nan, np.ma.masked_invalid),
    "pandas-Float64": fill(None, lambda items: pd.Series(items, dtype="Float64")),
    "pandas-arrow": fill(None, lambda items: pd.Series(items, dtype="double[pyarrow]")),
    "pandas-sparse": fill(np.nan, lambda items: pd.Series(pd.arrays.SparseArray(items))),
    "polars-NaN": fill(np.nan, lambda items: pl.Series(items, dtype=pl.Float64)),
}
MISSING_FLAGS = {
    "pandas-Int64": fill(None, lambda items: pd.Series(items, dtype="Int64")),
    "pandas-arrow-bool": as_flags(lambda flags: pd.Series(flags, dtype="bool[pyarrow]")),
    "polars-bool": as_flags(pl.Series),
    "arrow-bool": as_flags(pa.array),
    "arrow-bool-codes": as_flags(to_codes),
}
MISSING_TEXT = MISSING | {
    "pandas-string": fill(None, lambda items: pd.Series(items, dtype="string[pyarrow]")),
    "pandas-arrow": fill(None, lambda items: pd.Series(items, dtype=pd.ArrowDtype(pa.string()))),
    "polars-enum": fill(None, lambda items: pl.Series(items, dtype=pl.Enum(["a", "b"]))),
    "arrow-large": fill(None, lambda items: pa.array(items, type=pa.large_string())),
}
HALF = np.full((4, 2), 0.5)


def refuses(name):
    """A ValueError whose message begins with the name of the argument."""
    return pytest.raises(ValueError, match=rf"^{name} must ")


def check_rows_of(X, y):
    return check_rows(LogisticRegression(), X, y)


@parametrize("convert", MISSING_NUMBERS | MISSING_FLAGS)
def test_missing_numbers_are_refused(convert):
    flags = convert([0, 1, None, 1])
    for proba in (HALF[:, 0], HALF):
        with refuses("y_true"):
            check_predictions(flags, proba)
    numbers = flags if convert in MISSING_FLAGS.values() else convert([0.25, 0.5, None, 0.75])
    for gaps in (flags, numbers):
        with refuses("y_proba"):
            check_predictions([0, 1, 0, 1], gaps)
        with refuses("sample_weight"):
            check_predictions([0, 1, 0, 1], HALF, sample_weight=gaps)
        with refuses("sample_weight"):
            Recorder().fit(HALF, [0, 1, 0, 1], gaps)


@parametrize("convert", MISSING_TEXT)
def test_missing_text_is_refused(convert):
    text = convert(["a", "b", None, "b"])
    for proba, options in ((HALF[:, 0], {"pos_label": "b"}), (HALF, {})):
        with refuses("y_true"):
            check_predictions(text, proba, **options)
    for function in (Recorder().fit, check_rows_of):
        with pytest.raises(ValueError, match=r"\by\b"):
            function(HALF, text)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=["None", "NaN", "NA"])
@pytest.mark.parametrize("convert", [np.asarray, list, pd.Series])
def test_missing_numbers_as_labels_of_estimators(missing, convert):
    """scikit-learn answers with TypeErrors about NoneType or NAType, or does not name y."""
    for function in (Recorder().fit, check_rows_of):
        with pytest.raises(ValueError, match=r"\by\b"):
            function(HALF, convert(np.array([0, 1, missing, 1], dtype=object)))


CELLS = {
    "list": list,
    "nullable": lambda columns: pd.DataFrame(columns, dtype="Float64"),
    "pandas-arrow": lambda columns: pd.DataFrame(columns, dtype="double[pyarrow]"),
    "objects": lambda columns: pd.DataFrame(columns, dtype=object),
    "polars": lambda columns: pl.DataFrame(columns, schema=["0", "1"], orient="row"),
    "arrow": lambda columns: pa.table({"0": [0.5, None], "1": [0.5, 1.0]}),
    "arrow-codes": lambda columns: pa.table({"p": to_codes([0.5, None])}),
}


@parametrize("convert", CELLS)
def test_missing_cells_are_refused(convert):
    table = convert([[0.5, 0.5], [None, 1.0]])
    for function in (check_predictions, CalibrationSummary().update):
        with refuses("y_proba"):
            function([0, 1], table)
    summary = CalibrationSummary(on_invalid="drop").update([0, 1], table)
    assert summary.dropped_ == {"y_true": 0, "y_proba": 1, "sample_weight": 0}
    if isinstance(table, pd.DataFrame):
        fitted = Recorder().fit(convert([[0.5, 0.5], [0.0, 1.0]]), [0, 1])
        for function in (lambda X: Recorder().fit(X, [0, 1]), fitted.predict_proba):
            with refuses("X"):
                function(table)


# ----------------------------------------------------------------------- what is no such column

NOT_NUMBERS = {
    "text": np.full(4, "0.5"),
    "text-list": ["0.5"] * 4,
    "text-objects": to_object_array(["0.5"] * 4),
    "bytes": np.full(4, b"0.5"),
    "bytes-objects": to_object_array([b"0.5"] * 4),
    "complex": np.full(4, 0.5 + 0j),
    "complex-objects": to_object_array([0.5 + 0j] * 4),
    "dates": np.full(4, np.datetime64("2024-01-01")),
    "durations": pd.Series(pd.to_timedelta([1] * 4, unit="s")),
    "records": np.zeros(4, dtype=[("a", float)]),
    "pandas-text": pd.Series(["0.5"] * 4, dtype="string"),
    "pandas-category": pd.Series(["0.5"] * 4, dtype="category"),
    "pandas-frame": pd.DataFrame({"p": ["0.5"] * 4}),
    "polars-text": pl.Series(["0.5"] * 4),
    "polars-list": pl.Series([[0.5], [0.5, 0.5]] * 2),
    "arrow-text": pa.array(["0.5"] * 4),
    "dictionary": {"a": [0.5] * 4},
    "generator": (0.5 for _ in range(4)),
    "number": 0.5,
    "nothing": None,
}


@parametrize("values", NOT_NUMBERS)
def test_what_holds_no_numbers_is_refused(values):
    with refuses("y_proba"):
        check_predictions([0, 1, 1, 0], values)
    if values is not None:
        with refuses("sample_weight"):
            check_predictions([0, 1, 1, 0], HALF, sample_weight=values)
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


@pytest.mark.parametrize("library", [pd, pl])
def test_recalibrators_answer_in_the_tables_that_are_asked_for(library):
    frame = NAMED[library.__name__](TRIPLE, LABELS)
    if library is pd:
        frame.index = np.arange(N_ROWS)[::-1]
    recorder = Recorder().set_output(transform=library.__name__).fit(frame, NAMES[CODES])
    out = recorder.transform(frame)
    assert isinstance(out, library.DataFrame)
    assert list(out.columns) == LABELS
    np.testing.assert_allclose(out.to_numpy(), TRIPLE, rtol=0, atol=1e-15)
    if library is pd:
        np.testing.assert_array_equal(out.index, frame.index)
