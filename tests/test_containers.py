"""Every measure gives one answer, whatever container and type its rows come in.

Values of the rows are multiples of 1/64, which every type here holds exactly, so that nothing but
the container changes and answers must be equal to the last bit.
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
from sklearn.model_selection import cross_val_predict, cross_validate
from sklearn.pipeline import make_pipeline

from skcal import inference
from skcal.metrics import MEASURES, canonical_calibration_error, smooth_ece
from skcal.model_selection import pooled_cross_val_score
from skcal.recalibration import CrossFitProba, RecalibratedClassifierCV, TemperatureScaling
from skcal.scorers import get_scorer
from skcal.streaming import CalibrationSummary
from tests.answers import list_numbers
from tests.recalibration.family import CLASSES, make, make_scores

every_measure = pytest.mark.parametrize("measure", MEASURES.values(), ids=list(MEASURES))


def parametrize(name, table):
    """A test for each row of a table of containers."""
    return pytest.mark.parametrize(name, list(table.values()), ids=list(table))


# ---------------------------------------------------------------------------- containers


def to_strided(array):
    """Every third element of every axis of a larger array."""
    larger = np.zeros([3 * length for length in array.shape], dtype=array.dtype)
    larger[(slice(None, None, 3),) * array.ndim] = array
    return larger[(slice(None, None, 3),) * array.ndim]


def to_reversed(array):
    """A view with negative strides."""
    turn = (slice(None, None, -1),) * array.ndim
    return array[turn].copy()[turn]


def to_field(array):
    """A field of records, at an address that no number should have."""
    records = np.zeros(array.shape, dtype=[("flag", "i1"), ("value", array.dtype)])
    records["value"] = array
    return records["value"]


def to_read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def to_objects(array):
    """An object array of Python's own numbers, whole ones as integers."""
    objects = np.empty(array.shape, dtype=object)
    for place, value in np.ndenumerate(array):
        value = value.item()
        objects[place] = int(value) if value == int(value) else value
    return objects


def to_numpy_scalars(array):
    """An object array of NumPy's numbers, of three types."""
    objects = np.empty(array.shape, dtype=object)
    types = np.float32, np.float64, np.float16
    for number, (place, value) in enumerate(np.ndenumerate(array)):
        objects[place] = types[number % 3](value)
    return objects


def to_odd_index(array):
    """A Series or DataFrame with an index that belongs to other rows."""
    index = np.arange(len(array))[::-1] // 2
    return pd.Series(array, index=index) if array.ndim == 1 else pd.DataFrame(array, index=index)


def to_pandas(dtype):
    def convert(array):
        return (pd.Series if array.ndim == 1 else pd.DataFrame)(array).astype(dtype)

    return convert


def to_mixed_frame(array):
    """Columns of different types, nullable, Arrow and NumPy's."""
    types = ["Float64", "double[pyarrow]", "float64"]
    columns = [pd.Series(c, name=f"p{k}").astype(types[k]) for k, c in enumerate(array.T)]
    return pd.concat(columns, axis=1)


def to_chunks(array):
    return pa.chunked_array([array[:7], array[7:7], array[7:]])


def to_arrow_table(array):
    return pa.table({f"p{k}": to_chunks(column) for k, column in enumerate(array.T)})


def to_polars_chunks(array):
    return pl.concat([pl.Series(array[:7].copy()), pl.Series(array[7:].copy())], rechunk=False)


# Arrays of any shape.
ARRAYS = {
    "list": np.ndarray.tolist,
    "tuple": lambda array: tuple(map(tuple, array)) if array.ndim == 2 else tuple(array.tolist()),
    "list-of-arrays": list,
    "fortran": np.asfortranarray,
    "strided": to_strided,
    "reversed": to_reversed,
    "unaligned": to_field,
    "read-only": to_read_only,
    "subclass": lambda array: np.ma.array(array),
    "big-endian": lambda array: array.astype(array.dtype.newbyteorder(">")),
    "memoryview": lambda array: memoryview(np.ascontiguousarray(array)),
    "float16": lambda array: array.astype(np.float16),
    "float32": lambda array: array.astype(np.float32),
    "longdouble": lambda array: array.astype(np.longdouble),
    "objects": to_objects,
    "numpy-scalars": to_numpy_scalars,
    "pandas-odd-index": to_odd_index,
    "pandas-float32": to_pandas("float32"),
    "pandas-Float32": to_pandas("Float32"),
    "pandas-Float64": to_pandas("Float64"),
    "pandas-arrow": to_pandas("double[pyarrow]"),
    "pandas-object": to_pandas(object),
}
ROWS = ARRAYS | {
    "column-of-matrix": lambda array: np.column_stack([array, array])[:, 1],
    "pandas-category": to_pandas("category"),
    "pandas-sparse": lambda array: pd.Series(pd.arrays.SparseArray(array)),
    "pandas-index": pd.Index,
    "pandas-array": lambda array: pd.array(array, dtype="Float64"),
    "polars": pl.Series,
    "polars-chunks": to_polars_chunks,
    "polars-objects": lambda array: pl.Series(array.tolist(), dtype=pl.Object),
    "arrow": pa.array,
    "arrow-chunks": to_chunks,
    "arrow-dictionary": lambda array: pa.array(array).dictionary_encode(),
    "arrow-dictionary-chunks": lambda array: to_chunks(array).dictionary_encode(),
}
TABLES = ARRAYS | {
    "matrix": lambda array: array.view(np.matrix),  # its constructor warns
    "transposed": lambda array: array.T.copy().T,
    "pandas-mixed": to_mixed_frame,
    "pandas-names": lambda array: pd.DataFrame(array, columns=[f"p{k}" for k in array[0]]),
    "polars": pl.DataFrame,
    "polars-array": lambda array: pl.Series(array, dtype=pl.Array(pl.Float64, array.shape[1])),
    "arrow": to_arrow_table,
    "arrow-batch": lambda array: to_arrow_table(array).combine_chunks().to_batches()[0],
}
# Whole numbers: labels of two and of three classes, and weights.
WHOLE = {
    name: lambda array, dtype=name: array.astype(dtype)
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
} | {
    "pandas-Int64": to_pandas("Int64"),
    "pandas-UInt8": to_pandas("UInt8"),
    "pandas-arrow-int": to_pandas("int64[pyarrow]"),
    "pandas-arrow-int8": to_pandas("int8[pyarrow]"),
    "polars-Int8": lambda array: pl.Series(array, dtype=pl.Int8),
    "polars-UInt32": lambda array: pl.Series(array, dtype=pl.UInt32),
    "arrow-int16": lambda array: pa.array(array, type=pa.int16()),
    "range-of-objects": lambda array: array.astype(object),
}
BOOLEAN = {
    "bool": lambda array: array.astype(bool),
    "bool-list": lambda array: array.astype(bool).tolist(),
    "bool-strided": lambda array: to_strided(array.astype(bool)),
    "bool-objects": lambda array: array.astype(bool).astype(object),
    "pandas-bool": to_pandas(bool),
    "pandas-boolean": to_pandas("boolean"),
    "pandas-arrow-bool": lambda array: pd.Series(array.astype(bool)).astype("bool[pyarrow]"),
    "polars-bool": lambda array: pl.Series(array.astype(bool)),
    "arrow-bool": lambda array: pa.array(array.astype(bool)),
    "arrow-bool-chunks": lambda array: to_chunks(array.astype(bool)),
}
TEXT = {
    "list": np.ndarray.tolist,
    "tuple": lambda text: tuple(text.tolist()),
    "strided": to_strided,
    "reversed": to_reversed,
    "unaligned": to_field,
    "read-only": to_read_only,
    "big-endian": lambda text: text.astype(text.dtype.newbyteorder(">")),
    "objects": lambda text: text.astype(object),
    "column": lambda text: text[:, np.newaxis],
    "pandas": pd.Series,
    "pandas-odd-index": to_odd_index,
    "pandas-object": to_pandas(object),
    "pandas-string": to_pandas("string"),
    "pandas-string-arrow": to_pandas("string[pyarrow]"),
    "pandas-arrow-string": lambda text: pd.Series(text).astype(pd.ArrowDtype(pa.string())),
    "pandas-arrow-dictionary": lambda text: pd.Series(
        pd.arrays.ArrowExtensionArray(pa.array(text).dictionary_encode())
    ),
    "pandas-category": to_pandas("category"),
    "pandas-category-of-more": lambda text: pd.Series(
        pd.Categorical(text, categories=["zebu", "cat", "bee", "ant"], ordered=True)
    ),
    "pandas-frame": lambda text: pd.DataFrame({"label": text}),
    "polars": lambda text: pl.Series(text.tolist()),
    "polars-categorical": lambda text: pl.Series(text.tolist()).cast(pl.Categorical),
    "polars-enum": lambda text: pl.Series(
        text.tolist(), dtype=pl.Enum(["zebu", "cat", "bee", "ant"])
    ),
    "arrow": lambda text: pa.array(text.tolist()),
    "arrow-large": lambda text: pa.array(text.tolist(), type=pa.large_string()),
    "arrow-chunks": lambda text: to_chunks(text.tolist()),
    "arrow-dictionary": lambda text: pa.array(text.tolist()).dictionary_encode(),
    "arrow-dictionary-chunks": lambda text: to_chunks(text.tolist()).dictionary_encode(),
}

# ---------------------------------------------------------------------------------- rows

N_ROWS = 96
LABELS = ["ant", "bee", "cat"]


@pytest.fixture(scope="module")
def rows():
    """Binary labels, weights, and probabilities of two classes and of three."""
    rng = np.random.default_rng(3)
    positive = rng.integers(0, 65, N_ROWS) / 64
    pair = np.column_stack([1 - positive, positive])
    triple = rng.multinomial(64, [0.5, 0.3, 0.2], size=N_ROWS) / 64
    return {
        "binary": (rng.random(N_ROWS) < positive**2).astype(np.int64),
        "classes": rng.integers(0, 3, N_ROWS),
        "weights": rng.integers(0, 5, N_ROWS).astype(np.float64),
        "positive": positive,
        "pair": pair,
        "triple": triple,
    }


# ------------------------------------------------------------------------------- numbers


@every_measure
@parametrize("convert", ROWS)
def test_rows_of_numbers(measure, rows, convert):
    y, positive, weights = rows["binary"].astype(float), rows["positive"], rows["weights"]
    expected = measure.function(y, positive, sample_weight=weights)
    assert measure.function(convert(y), positive, sample_weight=weights) == expected
    assert measure.function(y, convert(positive), sample_weight=weights) == expected
    assert measure.function(y, positive, sample_weight=convert(weights)) == expected
    all_three = convert(y), convert(positive)
    assert measure.function(*all_three, sample_weight=convert(weights)) == expected
    classes, triple = rows["classes"].astype(float), rows["triple"]
    expected = measure.function(classes, triple, sample_weight=weights)
    assert measure.function(convert(classes), triple, sample_weight=convert(weights)) == expected


@every_measure
@parametrize("convert", TABLES)
def test_tables_of_probabilities(measure, rows, convert):
    y, weights = rows["binary"], rows["weights"]
    column = rows["positive"][:, np.newaxis]
    for proba in (column, rows["pair"]):
        expected = measure.function(y, proba, sample_weight=weights)
        assert measure.function(y, convert(proba), sample_weight=weights) == expected
    expected = measure.function(y, column)
    assert measure.function(convert(y[:, np.newaxis].astype(float)), convert(column)) == expected
    classes, triple = rows["classes"], rows["triple"]
    expected = measure.function(classes, triple, sample_weight=weights)
    assert measure.function(classes, convert(triple), sample_weight=weights) == expected


# Tables whose columns have names; tables of Arrow and of polars take text alone.
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
with_labels = parametrize("pair_and_triple", SORTED_LABELS)


@every_measure
def test_columns_named_after_the_labels_in_another_order(measure, rows):
    """They would be read as other classes than their names say."""
    for codes, proba, labels in (
        (rows["binary"], rows["pair"], ["benign", "malignant"]),
        (rows["classes"], rows["triple"], LABELS),
    ):
        y, turned = np.array(labels)[codes], labels[::-1]
        table = pd.DataFrame(proba, columns=labels)
        options = {"pos_label": labels[1]} if len(labels) == 2 else {}
        expected = measure.function(y, proba, **options)
        assert measure.function(y, table, **options) == expected
        message = rf"y_proba are named .* order {re.escape(str(turned))}, but read in the order"
        with pytest.raises(ValueError, match=message):
            measure.function(y, table[turned], **options)
        with pytest.raises(ValueError, match=r"y_proba are named .* pass labels=\["):
            measure.function(y, table, labels=turned, **options)
        assert measure.function(y, table[turned], labels=turned, **options) == measure.function(
            y, proba[:, ::-1], labels=turned, **options
        )


@by_name
@with_labels
def test_order_of_named_columns(make_table, pair_and_triple, rows):
    for labels, codes, proba in zip(
        pair_and_triple,
        (rows["binary"], rows["classes"]),
        (rows["pair"], rows["triple"]),
        strict=True,
    ):
        y, named = np.array(labels)[codes], {"labels": labels}
        expected = smooth_ece(y, proba, **named)
        assert smooth_ece(y, make_table(proba, labels), **named) == expected
        orders = [[1, 0]] if len(labels) == 2 else [[0, 2, 1], [2, 0, 1], [2, 1, 0]]
        for order in orders:
            turned = [labels[k] for k in order]
            table = make_table(proba[:, order], turned)
            with pytest.raises(ValueError, match="columns of y_proba are named after the labels"):
                smooth_ece(y, table, **named)
            if 0.5 not in labels:  # fractions have to be named
                with pytest.raises(ValueError, match=r"columns of y_proba are named after"):
                    smooth_ece(y, table)
            positive = {"pos_label": labels[1]}
            assert smooth_ece(y, table, labels=turned, **positive) == smooth_ece(
                y, proba, labels=labels, **positive
            )


@by_name
def test_names_that_are_not_exactly_the_labels(make_table, rows):
    y, proba = np.array(LABELS)[rows["classes"]], rows["triple"]
    expected = smooth_ece(y, proba)
    for names in (["c", "b", "a"], ["cat", "bee", "emu"], ["P(cat)", "P(bee)", "P(ant)"]):
        assert smooth_ece(y, make_table(proba, names)) == expected
    single = make_table(rows["positive"][:, np.newaxis], ["0"])
    assert smooth_ece(rows["binary"], single) == smooth_ece(rows["binary"], rows["positive"])


def test_numbers_that_pandas_gives_to_columns_are_no_names(rows):
    y, proba = rows["classes"], rows["triple"]
    options = {"labels": [2, 0, 1]}
    expected = smooth_ece(y, proba, **options)
    assert smooth_ece(y, pd.DataFrame(proba), **options) == expected
    for frame in (pd.DataFrame(proba).iloc[:, ::-1], pd.DataFrame(proba)[[1, 2, 0]]):
        with pytest.raises(ValueError, match="columns of y_proba are named after the labels"):
            smooth_ece(y, frame)


def test_soft_labels_whose_columns_have_another_order(rows):
    soft = np.roll(rows["triple"], 1, axis=0)
    expected = canonical_calibration_error(soft, rows["triple"])
    for make_table in NAMED.values():
        table, names = make_table(soft, LABELS), LABELS[::-1]
        assert canonical_calibration_error(table, make_table(rows["triple"], LABELS)) == expected
        assert (
            canonical_calibration_error(table, make_table(rows["triple"], list("abc"))) == expected
        )
        assert canonical_calibration_error(table, rows["triple"]) == expected
        message = "y_true and y_proba must have the same order; got 'ant', 'bee', 'cat' and 'cat',"
        with pytest.raises(ValueError, match=message):
            canonical_calibration_error(table, make_table(rows["triple"], names))


@every_measure
@parametrize("convert", WHOLE)
def test_whole_numbers(measure, rows, convert):
    weights = rows["weights"]
    for y, proba in ((rows["binary"], rows["pair"]), (rows["classes"], rows["triple"])):
        expected = measure.function(y, proba, sample_weight=weights)
        whole = convert(weights.astype(np.int64))
        assert measure.function(convert(y), proba, sample_weight=whole) == expected


@every_measure
@parametrize("convert", WHOLE | BOOLEAN)
def test_hard_predictions(measure, rows, convert):
    y, classes = rows["binary"], rows["classes"]
    hard, weights = rows["positive"].round().astype(np.int64), rows["weights"] > 1
    expected = measure.function(y, hard.astype(float), sample_weight=weights.astype(float))
    assert measure.function(y, convert(hard), sample_weight=convert(weights)) == expected
    assert measure.function(convert(y), convert(hard), sample_weight=weights) == expected
    one_hot = np.eye(3)[rows["triple"].argmax(axis=1)]
    expected = measure.function(classes, one_hot)
    frame = pd.DataFrame({k: np.asarray(convert(column)) for k, column in enumerate(one_hot.T)})
    assert measure.function(classes, frame) == expected
    assert measure.function(classes, frame.to_numpy()) == expected


@every_measure
def test_memory_maps(measure, rows, tmp_path):
    def to_map(name, mode="r"):
        written = np.memmap(tmp_path / name, rows[name].dtype, "w+", shape=rows[name].shape)
        written[:] = rows[name]
        written.flush()
        return np.memmap(tmp_path / name, rows[name].dtype, mode, shape=rows[name].shape)

    for names in (("binary", "positive"), ("binary", "pair"), ("classes", "triple")):
        expected = measure.function(*(rows[name] for name in names), sample_weight=rows["weights"])
        for mode in ("r", "c", "r+"):
            y, proba, weights = (to_map(name, mode) for name in (*names, "weights"))
            assert measure.function(y, proba, sample_weight=weights) == expected
            np.testing.assert_array_equal(proba, rows[names[1]])


@every_measure
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
def test_rounded_numbers_are_computed_in_double_precision(measure, rows, dtype):
    """The value is that of the numbers that the type holds."""
    rng = np.random.default_rng(4)
    weights = (rng.random(N_ROWS) + 0.1).astype(dtype)
    binary = rng.random(N_ROWS).astype(dtype)
    triple = rng.dirichlet([1, 1, 1], N_ROWS).astype(dtype)
    for y, proba in (
        (rows["binary"], binary),
        (rows["binary"], np.column_stack([1 - binary, binary])),
        (rows["classes"], triple),
    ):
        expected = measure.function(
            y, proba.astype(np.float64), sample_weight=weights.astype(np.float64)
        )
        for convert in (np.asarray, np.asfortranarray, to_strided, to_reversed, to_read_only):
            value = measure.function(y, convert(proba), sample_weight=convert(weights))
            np.testing.assert_allclose(value, expected, rtol=0, atol=1e-14)
        if proba.ndim == 1:
            soft = rng.random(N_ROWS).astype(dtype)
            np.testing.assert_allclose(
                measure.function(soft, proba),
                measure.function(soft.astype(np.float64), proba.astype(np.float64)),
                rtol=0,
                atol=1e-14,
            )


@every_measure
@pytest.mark.parametrize("number", [Decimal, Fraction])
def test_exact_numbers_are_probabilities_and_weights_but_no_labels(measure, rows, number):
    y, weights = rows["binary"], rows["weights"]

    def convert(array):
        objects = np.empty(array.shape, dtype=object)
        for place, value in np.ndenumerate(array):
            objects[place] = number(float(value))
        return objects

    for labels, proba in (
        (y, rows["positive"]),
        (y, rows["pair"]),
        (rows["classes"], rows["triple"]),
    ):
        expected = measure.function(labels, proba, sample_weight=weights)
        for wrap in (np.asarray, np.ndarray.tolist, to_odd_index):
            exact = wrap(convert(proba)), wrap(convert(weights))
            assert measure.function(labels, exact[0], sample_weight=exact[1]) == expected
    with pytest.raises(ValueError, match=f"y_true must hold .* got {number.__name__}"):
        measure.function(convert(y), rows["positive"])


@every_measure
def test_exact_numbers_of_arrow(measure, rows):
    def convert(array):
        return pa.array([Decimal(value) for value in array.tolist()], type=pa.decimal128(12, 6))

    expected = measure.function(rows["binary"], rows["positive"], sample_weight=rows["weights"])
    proba, weights = convert(rows["positive"]), convert(rows["weights"])
    assert measure.function(rows["binary"], proba, sample_weight=weights) == expected
    series = (pd.Series(values, dtype=pd.ArrowDtype(values.type)) for values in (proba, weights))
    assert measure.function(rows["binary"], next(series), sample_weight=next(series)) == expected


# -------------------------------------------------------------------------------- labels


@every_measure
@parametrize("convert", BOOLEAN)
def test_labels_that_are_true_or_false(measure, rows, convert):
    y = rows["binary"]
    for proba in (rows["positive"], rows["pair"]):
        expected = measure.function(y, proba)
        assert measure.function(convert(y), proba) == expected
        assert measure.function(convert(y), proba, pos_label=True) == expected
        assert measure.function(convert(y), proba, labels=[False, True]) == expected


@every_measure
@parametrize("convert", TEXT)
def test_labels_of_text(measure, rows, convert):
    names = np.array(LABELS)
    y, binary, classes = rows["binary"], names[rows["binary"]], names[rows["classes"]]
    expected = measure.function(y, rows["positive"])
    assert measure.function(convert(binary), rows["positive"], pos_label="bee") == expected
    assert measure.function(convert(binary), rows["pair"]) == expected
    assert measure.function(convert(binary), rows["pair"], labels=convert(names[:2])) == expected
    expected = measure.function(rows["classes"], rows["triple"])
    assert measure.function(convert(classes), rows["triple"]) == expected
    assert measure.function(convert(classes), rows["triple"], labels=convert(names)) == expected


@every_measure
def test_labels_of_numpy_strings_of_variable_width(measure, rows):
    if not hasattr(np.dtypes, "StringDType"):
        pytest.skip("NumPy has variable-width strings since 2.0")
    text = np.array(LABELS)[rows["classes"]].astype(np.dtypes.StringDType())
    expected = measure.function(rows["classes"], rows["triple"])
    assert measure.function(text, rows["triple"]) == expected
    assert measure.function(to_reversed(text), rows["triple"]) == expected


@every_measure
def test_indexes_of_pandas_are_never_aligned(measure, rows):
    """Rows belong together by their place; four different indexes change nothing."""
    rng = np.random.default_rng(5)
    y, weights = rows["classes"], rows["weights"]
    indexes = [rng.permutation(N_ROWS) for _ in range(3)]
    assert measure.function(
        pd.Series(y, index=indexes[0]),
        pd.DataFrame(rows["triple"], index=indexes[1], columns=["cat", "ant", "bee"]),
        sample_weight=pd.Series(weights, index=indexes[2]),
    ) == measure.function(y, rows["triple"], sample_weight=weights)


# ------------------------------------------------------------------------------- missing


def fill(missing, convert=None):
    """A column of Python's objects with its missing values put in."""

    def build(items):
        items = [missing if item is None else item for item in items]
        return items if convert is None else convert(items)

    return build


def fill_flags(convert):
    """A column of True, False and None."""
    return lambda items: convert([None if item is None else item == 1 for item in items])


MISSING = {
    "None": fill(None),
    "NaN": fill(np.nan),
    "NA": fill(pd.NA),
    "objects-None": fill(None, lambda items: np.array(items, dtype=object)),
    "objects-NaN": fill(np.nan, lambda items: np.array(items, dtype=object)),
    "objects-NA": fill(pd.NA, lambda items: np.array(items, dtype=object)),
    "objects-NaT": fill(np.datetime64("NaT", "s"), lambda items: np.array(items, dtype=object)),
    "pandas": fill(None, pd.Series),
    "pandas-NA": fill(pd.NA, lambda items: pd.Series(items, dtype=object)),
    "pandas-category": fill(None, lambda items: pd.Series(items, dtype="category")),
    "polars": fill(None, pl.Series),
    "polars-objects": fill(None, lambda items: pl.Series(items, dtype=pl.Object)),
    "arrow": fill(None, pa.array),
    "arrow-chunks": fill(None, lambda items: pa.chunked_array([pa.array(items), pa.array(items)])),
    "arrow-dictionary": fill(None, lambda items: pa.array(items).dictionary_encode()),
    "arrow-dictionary-null": fill(
        None, lambda items: pa.array(items).dictionary_encode(null_encoding="encode")
    ),
    "pandas-arrow-dictionary": fill(
        None,
        lambda items: pd.Series(pd.arrays.ArrowExtensionArray(pa.array(items).dictionary_encode())),
    ),
}
MISSING_NUMBERS = MISSING | {
    "NumPy": fill(np.nan, np.array),
    "float32": fill(np.nan, lambda items: np.array(items, dtype=np.float32)),
    "Decimal-NaN": fill(Decimal("NaN"), lambda items: np.array(items, dtype=object)),
    "masked": fill(np.nan, np.ma.masked_invalid),
    "pandas-Float64": fill(None, lambda items: pd.Series(items, dtype="Float64")),
    "pandas-arrow": fill(None, lambda items: pd.Series(items, dtype="double[pyarrow]")),
    "pandas-sparse": fill(np.nan, lambda items: pd.Series(pd.arrays.SparseArray(items))),
    "polars-NaN": fill(np.nan, lambda items: pl.Series(items, dtype=pl.Float64)),
    "arrow-NaN": fill(np.nan, pa.array),
}
MISSING_WHOLE = {
    "pandas-Int64": fill(None, lambda items: pd.Series(items, dtype="Int64")),
    "pandas-boolean": fill(None, lambda items: pd.Series(items, dtype="boolean")),
    "pandas-arrow-int": fill(None, lambda items: pd.Series(items, dtype="int64[pyarrow]")),
    "pandas-arrow-bool": fill_flags(lambda flags: pd.Series(flags, dtype="bool[pyarrow]")),
    "polars-int": fill(None, lambda items: pl.Series(items, dtype=pl.Int64)),
    "polars-bool": fill_flags(pl.Series),
    "arrow-int": fill(None, lambda items: pa.array(items, type=pa.int8())),
    "arrow-bool": fill_flags(pa.array),
}
MISSING_TEXT = MISSING | {
    "pandas-string": fill(None, lambda items: pd.Series(items, dtype="string")),
    "pandas-string-arrow": fill(None, lambda items: pd.Series(items, dtype="string[pyarrow]")),
    "pandas-arrow-string": fill(
        None, lambda items: pd.Series(items, dtype=pd.ArrowDtype(pa.string()))
    ),
    "polars-categorical": fill(None, lambda items: pl.Series(items).cast(pl.Categorical)),
    "polars-enum": fill(None, lambda items: pl.Series(items, dtype=pl.Enum(["a", "b"]))),
    "arrow-large": fill(None, lambda items: pa.array(items, type=pa.large_string())),
}
NUMBERS = [0.25, 0.5, None, 0.75]
FLAGS = [0, 1, None, 1]


def check_refused(function, name, *arguments, **keywords):
    """A ValueError whose message begins with the name of the argument."""
    with pytest.raises(ValueError, match=rf"^{name} must "):
        function(*arguments, **keywords)


@every_measure
@parametrize("convert", MISSING_NUMBERS | MISSING_WHOLE)
def test_missing_numbers_are_refused(measure, convert):
    flags = convert(FLAGS)
    proba = np.full(len(flags), 0.5)
    y = np.arange(len(flags)) % 2
    check_refused(measure.function, "y_true", flags, proba)
    check_refused(measure.function, "y_true", flags, np.column_stack([proba, proba]))
    check_refused(measure.function, "y_proba", y, flags)
    check_refused(measure.function, "sample_weight", y, proba, sample_weight=flags)
    if convert in MISSING_NUMBERS.values():
        check_refused(measure.function, "y_proba", y, convert(NUMBERS))
        check_refused(measure.function, "sample_weight", y, proba, sample_weight=convert(NUMBERS))


@every_measure
@parametrize("convert", MISSING_TEXT)
def test_missing_text_is_refused(measure, convert):
    text = convert(["a", "b", None, "b"])
    proba = np.full(len(text), 0.5)
    check_refused(measure.function, "y_true", text, proba, pos_label="b")
    check_refused(measure.function, "y_true", text, np.column_stack([proba, proba]))


@every_measure
@pytest.mark.parametrize(
    "convert",
    [
        list,
        lambda columns: np.array(columns, dtype=object),
        lambda columns: pd.DataFrame(columns, dtype="Float64"),
        lambda columns: pd.DataFrame(columns, dtype="double[pyarrow]"),
        lambda columns: pd.DataFrame(columns, dtype=object),
        lambda columns: pl.DataFrame(columns, schema=["a", "b"], orient="row"),
        lambda columns: pa.table({"a": [0.5, None], "b": [0.5, 1.0]}),
    ],
    ids=["list", "objects", "nullable", "pandas-arrow", "pandas-object", "polars", "arrow"],
)
def test_missing_cells_are_refused(measure, convert):
    check_refused(measure.function, "y_proba", [0, 1], convert([[0.5, 0.5], [None, 1.0]]))


# ------------------------------------------------------------------- what is no such column

NOT_NUMBERS = {
    "text": lambda n: np.full(n, "0.5"),
    "text-list": lambda n: ["0.5"] * n,
    "bytes": lambda n: np.full(n, b"0.5"),
    "complex": lambda n: np.full(n, 0.5 + 0j),
    "complex-objects": lambda n: np.full(n, 0.5 + 0j, dtype=object),
    "dates": lambda n: np.full(n, np.datetime64("2024-01-01")),
    "durations": lambda n: np.full(n, np.timedelta64(1, "s")),
    "pandas-durations": lambda n: pd.Series(pd.to_timedelta([1] * n, unit="s")),
    "records": lambda n: np.zeros(n, dtype=[("a", float)]),
    "polars-text": lambda n: pl.Series(["0.5"] * n),
    "polars-list": lambda n: pl.Series([[0.5], [0.5, 0.5]] * (n // 2)),
    "dictionary": lambda n: {"a": [0.5] * n},
    "generator": lambda n: (0.5 for _ in range(n)),
    "number": lambda n: 0.5,
    "None": lambda n: None,
}


@every_measure
@parametrize("build", NOT_NUMBERS)
def test_what_holds_no_numbers_is_refused(measure, build):
    check_refused(measure.function, "y_proba", [0, 1, 1, 0], build(4))
    if build(4) is not None:
        check_refused(
            measure.function, "sample_weight", [0, 1, 1, 0], [0.5] * 4, sample_weight=build(4)
        )
    with pytest.raises(ValueError, match=r"^(y_true|pos_label) "):
        measure.function(build(4), [0.5] * 4)


@every_measure
def test_rows_of_a_matrix_are_refused_as_a_column(measure, rows):
    """np.matrix has no one-dimensional arrays: a column it must be."""
    y, proba, weights = (
        rows[name][:, np.newaxis].view(np.matrix) for name in ("binary", "positive", "weights")
    )
    assert measure.function(y, proba) == measure.function(rows["binary"], rows["positive"])
    with pytest.raises(ValueError, match=r"y_true must be one-dimensional|Rows of y_true must"):
        measure.function(y.T, proba)
    with pytest.raises(ValueError, match=r"sample_weight must have shape \(96,\)"):
        measure.function(y, proba, sample_weight=weights)


# ------------------------------------------------------------------------------- groups


@pytest.mark.parametrize("function", [inference.calibration_test, inference.bootstrap_interval])
@pytest.mark.parametrize(
    "convert",
    [
        np.ndarray.tolist,
        to_odd_index,
        to_pandas("category"),
        to_pandas("string"),
        to_pandas("string[pyarrow]"),
        lambda groups: pl.Series(groups.tolist()),
        lambda groups: to_chunks(groups.tolist()),
    ],
    ids=["list", "odd-index", "category", "string", "string-arrow", "polars", "arrow"],
)
def test_groups(function, rows, convert):
    groups = np.array(["north", "south", "west"])[np.arange(N_ROWS) % 3]
    arguments = {"y_true": rows["binary"], "y_proba": rows["positive"]}
    arguments |= {"n_resamples": 19, "random_state": 0}
    if function is inference.bootstrap_interval:
        arguments["measure"] = "expected_calibration_error"
    expected = function(groups=groups, **arguments)
    found = function(groups=convert(groups), **arguments)
    for number, other in zip(list_numbers(found), list_numbers(expected), strict=True):
        np.testing.assert_array_equal(number, other)


@parametrize("convert", ROWS)
def test_summaries(rows, convert):
    y, positive, weights = rows["binary"].astype(float), rows["positive"], rows["weights"]
    expected = CalibrationSummary(n_cells=64).update(y, positive, weights)
    for on_invalid in ("raise", "drop"):
        summary = CalibrationSummary(n_cells=64, on_invalid=on_invalid)
        summary.update(convert(y), convert(positive), convert(weights))
        for name in ("expected_calibration_error", "smooth_ece"):
            assert summary.measure(name) == expected.measure(name)


# -------------------------------------------------------------------------- recalibrators

FRAMES = {
    "list": np.ndarray.tolist,
    "fortran": np.asfortranarray,
    "strided": to_strided,
    "reversed": to_reversed,
    "read-only": to_read_only,
    "big-endian": lambda array: array.astype(">f8"),
    "objects": to_objects,
    "longdouble": lambda array: array.astype(np.longdouble),
    "pandas-odd-index": to_odd_index,
    "pandas-nullable": to_pandas("Float64"),
    "pandas-arrow": to_pandas("double[pyarrow]"),
    "pandas-mixed": to_mixed_frame,
    "polars": pl.DataFrame,
}
TARGETS = {
    "list": np.ndarray.tolist,
    "pandas-odd-index": to_odd_index,
    "pandas-object": to_pandas(object),
    "pandas-string": to_pandas("string"),
    "pandas-category": to_pandas("category"),
    "polars": lambda text: pl.Series(text.tolist()),
    "polars-categorical": lambda text: pl.Series(text.tolist()).cast(pl.Categorical),
}


@pytest.fixture(scope="module")
def scores():
    X, y = make_scores(3, 60)
    return X, np.array(LABELS)[y], np.random.default_rng(6).integers(0, 3, 60)


@pytest.mark.parametrize("R", CLASSES)
def test_recalibrators_read_every_container(R, scores):
    X, y, weights = scores
    expected = make(R).fit(X, y, sample_weight=weights).predict_proba(X)
    for name, convert in FRAMES.items():
        recalibrator = make(R).fit(convert(X), y, sample_weight=to_odd_index(weights))
        proba = recalibrator.predict_proba(convert(X))
        np.testing.assert_array_equal(proba, expected, err_msg=name)
        assert type(proba) is np.ndarray
        assert proba.dtype == np.float64
    for name, convert in TARGETS.items():
        recalibrator = make(R).fit(X, convert(y), sample_weight=pl.Series(weights))
        np.testing.assert_array_equal(recalibrator.classes_, LABELS, err_msg=name)
        np.testing.assert_array_equal(recalibrator.predict_proba(X), expected, err_msg=name)


@pytest.mark.parametrize("R", CLASSES)
def test_recalibrators_read_memory_maps(R, scores, tmp_path):
    X, y, _ = scores
    written = np.memmap(tmp_path / "X", X.dtype, "w+", shape=X.shape)
    written[:] = X
    written.flush()
    mapped = np.memmap(tmp_path / "X", X.dtype, "r", shape=X.shape)
    expected = make(R).fit(X, y).transform(X)
    found = make(R).fit(mapped, y).transform(mapped)
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("R", CLASSES)
def test_outputs_of_recalibrators(R, scores):
    X, y, _ = scores
    expected = make(R).fit(X, y).transform(X)
    index = np.arange(len(y))[::-1]
    frame = pd.DataFrame(X, columns=LABELS, index=index)
    out = make(R).set_output(transform="pandas").fit(frame, y).transform(frame)
    assert list(out.columns) == LABELS
    np.testing.assert_array_equal(out.index, index)
    np.testing.assert_array_equal(out.to_numpy(), expected)
    polars = pl.DataFrame(X, schema=LABELS)
    out = make(R).set_output(transform="polars").fit(polars, y).transform(polars)
    assert isinstance(out, pl.DataFrame)
    assert out.columns == LABELS
    np.testing.assert_array_equal(out.to_numpy(), expected)


@pytest.mark.parametrize("R", CLASSES)
def test_recalibrators_refuse_missing_values(R, scores):
    X, y, weights = scores
    gaps = X.copy()
    gaps[3] = np.nan
    for convert in (np.asarray, to_pandas("Float64"), to_pandas("double[pyarrow]"), pl.DataFrame):
        check_refused(make(R).fit, "X", convert(gaps), y)
        check_refused(make(R).fit(convert(X), y).predict_proba, "X", convert(gaps))
    gaps = np.where(np.arange(len(y)) == 3, np.nan, weights)
    for convert in (np.asarray, to_pandas("Float64"), to_pandas("double[pyarrow]"), pl.Series):
        check_refused(make(R).fit, "sample_weight", X, y, sample_weight=convert(gaps))
    gaps = np.where(np.arange(len(y)) == 3, np.nan, np.arange(len(y)) % 3)
    for convert in (np.asarray, to_pandas("Float64"), pl.Series):
        with pytest.raises(ValueError, match=r"\by\b"):
            make(R).fit(X, convert(gaps))


# ------------------------------------------------------------------ scorers and estimators


@pytest.fixture(scope="module")
def features():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(120, 2))
    y = np.array(["no", "yes"])[(X[:, 0] + rng.normal(size=120) > 0).astype(int)]
    return X, y, rng.integers(1, 4, 120)


TARGETS_OF_ESTIMATORS = {name: TARGETS[name] for name in TARGETS if not name.startswith("polars")}
FRAMES_OF_FEATURES = {
    "odd-index": to_odd_index,
    "nullable": to_pandas("Float64"),
    "arrow": to_pandas("double[pyarrow]"),
    "polars": lambda array: pl.DataFrame(array, schema=["a", "b"]),
}


@parametrize("to_frame", FRAMES_OF_FEATURES)
@parametrize("to_target", TARGETS_OF_ESTIMATORS)
def test_scorers(features, to_frame, to_target):
    X, y, weights = features
    model = LogisticRegression().fit(X, y)
    named = LogisticRegression().fit(to_frame(X), to_target(y))
    for name in ("neg_smooth_ece", "neg_expected_calibration_error"):
        expected = get_scorer(name)(model, X, y, sample_weight=weights)
        found = get_scorer(name)(
            named, to_frame(X), to_target(y), sample_weight=to_odd_index(weights)
        )
        assert found == expected


@pytest.mark.parametrize("convert", [to_odd_index, to_pandas("string"), to_pandas("category")])
def test_cross_validation_of_pandas(features, convert):
    X, y, weights = features
    model = LogisticRegression()
    scoring = {"ece": get_scorer("neg_expected_calibration_error")}
    expected = cross_validate(model, X, y, scoring=scoring)["test_ece"]
    found = cross_validate(model, to_odd_index(X), convert(y), scoring=scoring)["test_ece"]
    np.testing.assert_array_equal(found, expected)
    measure = {"measure": "smooth_ece", "cv": 3}
    expected = pooled_cross_val_score(model, X, y, sample_weight=weights, **measure)
    found = pooled_cross_val_score(
        model, to_odd_index(X), convert(y), sample_weight=to_odd_index(weights), **measure
    )
    for number, other in zip(list_numbers(found), list_numbers(expected), strict=True):
        np.testing.assert_array_equal(number, other)


@pytest.mark.parametrize("convert", [to_odd_index, to_pandas("string"), to_pandas("category")])
def test_meta_estimators_of_pandas(features, convert):
    X, y, weights = features
    frame, target, gaps = to_odd_index(X), convert(y), to_odd_index(weights)
    for build in (
        lambda: RecalibratedClassifierCV(LogisticRegression(), cv=3),
        lambda: RecalibratedClassifierCV(LogisticRegression(), cv=3, ensemble=False),
        lambda: CrossFitProba(LogisticRegression(), cv=3),
    ):
        model, named = build(), build()
        model.fit(X, y, sample_weight=weights)
        named.fit(frame, target, sample_weight=gaps)
        read = "predict_proba" if hasattr(model, "predict_proba") else "transform"
        np.testing.assert_array_equal(getattr(named, read)(frame), getattr(model, read)(X))
    pipeline = make_pipeline(CrossFitProba(LogisticRegression(), cv=3), TemperatureScaling())
    expected = cross_val_predict(pipeline, X, y, method="predict_proba", cv=3)
    found = cross_val_predict(pipeline, frame, target, method="predict_proba", cv=3)
    np.testing.assert_array_equal(found, expected)
