"""The entrance: what is refused, and with which words."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skcal._reduction import check_class_vectors, check_predictions, reduce_to_samples
from skcal._sample import CHUNK
from skcal._validation import check_integer, check_number, check_option, check_sample_weight
from skcal.metrics import MEASURES

Y = [0, 1, 1, 0]
P = [0.1, 0.8, 0.6, 0.3]
P3 = np.full((4, 3), 1 / 3)

BAD_INPUT = {
    "nan": ((Y, [0.1, np.nan, 0.6, 0.3]), {}, r"y_proba must lie in \[0, 1\]; got nan at row 1"),
    "inf": ((Y, [0.1, 0.2, np.inf, 0.3]), {}, r"y_proba must lie in .* got inf at row 2"),
    "negative": ((Y, [0.1, 0.2, 0.3, -1e-9]), {}, r"y_proba must lie in .* got -1e-09 at row 3"),
    "above one": ((Y, [1.2, 0.2, 0.3, 0.4]), {}, r"y_proba must lie in .* got 1.2 at row 0"),
    "nan in a matrix": ((Y, np.where(np.eye(4, 3) == 1, np.nan, P3)), {}, "got nan at row 0"),
    "row sums": ((Y, np.full((4, 2), 0.4)), {}, "must sum to 1; got a sum of 0.8 at row 0"),
    "lengths": ((Y, P[:3]), {}, "same length; got 4 labels and 3 rows"),
    "empty": (([], []), {}, "y_proba must hold at least one row; it is empty"),
    "empty matrix": (([], np.empty((0, 2))), {}, "it is empty"),
    "no columns": ((Y, np.empty((4, 0))), {}, r"got shape \(4, 0\)"),
    "3-D": ((Y, np.zeros((4, 2, 2))), {}, r"y_proba must have shape .* got shape \(4, 2, 2\)"),
    "scalar": (([1], 0.5), {}, r"y_proba must have shape .* got shape \(\)"),
    "sparse": ((Y, sparse.csr_array(np.eye(4))), {}, "y_proba must be a dense array"),
    "sparse labels": ((sparse.csr_array([Y]), P), {}, "y_true must be a dense array"),
    "text": ((Y, ["a", "b", "c", "d"]), {}, "y_proba must hold real numbers"),
    "digits as text": ((Y, ["0.1", "0.2", "0.3", "0.4"]), {}, "y_proba must hold real numbers"),
    "complex": ((Y, np.array(P) + 0j), {}, "y_proba must hold real numbers; .* complex128"),
    "missing": ((Y, pd.array([0.1, None, 0.2, 0.3])), {}, "y_proba must (hold real|lie)"),
    "missing label": ((["a", None, "b", "a"], P), {}, "none missing; got NoneType, str"),
    "nan label": (([0, 1, np.nan, 0], P), {}, "y_true must hold finite labels; got nan at row 2"),
    "nan in a list of strings": (
        (["a", np.nan, "b", "a"], P),
        {},
        "none missing; got float",
    ),
    "mixed list": ((["a", 1, "b", 0], P), {}, "all of one type .* got int, str"),
    "masked": ((Y, np.ma.array(P, mask=[1, 0, 0, 0])), {}, "y_proba must not be masked"),
    "masked labels": ((np.ma.array(Y, mask=[1, 0, 0, 0]), P), {}, "y_true must not be masked"),
    "ragged": (
        (Y, [[0.5, 0.5], [1.0], [0.5, 0.5], [1.0]]),
        {},
        "y_proba must hold real numbers in a",
    ),
    "list of pos_labels": (
        ([1, 2, 2, 1], P),
        {"pos_label": [1, 2]},
        "pos_label must be a single label",
    ),
    "multilabel with sigmoids": ((np.eye(4, 3), np.full((4, 3), 0.9)), {}, "one-dimensional"),
    "soft labels with other labels": (([0.1, 0.2, 1, 0], P), {"labels": [0, 2]}, "Soft labels"),
    "mixed labels": ((np.array(["a", 1, "b", 0], dtype=object), P), {}, "of one type"),
    "dates": ((np.array(Y, "datetime64[D]"), P), {}, "must hold numbers, booleans or strings"),
    "multilabel": ((np.eye(4, 3), P3), {}, r"one-dimensional.*got shape \(4, 3\).*argmax"),
    "three labels, one column": (([0, 1, 2, 0], P), {}, r"3 labels, \[0, 1, 2\].*one column"),
    "three labels, two columns": (([0, 1, 2, 0], np.c_[P, P]), {}, "row|two columns"),
    "four labels, three columns": (([0, 1, 2, 3], P3), {}, "4 labels, .* 3 columns; .*labels="),
    "strange label": ((Y, P), {"labels": [0, 2]}, r"accounts for: \[1\]; the columns are \[0, 2\]"),
    "strings against numbers": ((Y, P), {"labels": ["a", "b"]}, "accounts for"),
    "too many labels": ((Y, P), {"labels": [0, 1, 2]}, "labels must name each of the 2 classes"),
    "repeated labels": ((Y, P), {"labels": [1, 1]}, r"labels must be distinct; got \[1, 1\]"),
    "which is positive": ((["n", "y", "y", "n"], P), {}, r"pos_label must say which .*'n', 'y'"),
    "one string label": ((["n"] * 4, P), {}, r"single label \['n'\]; name the labels"),
    "unknown pos_label": ((Y, P), {"pos_label": 2}, r"pos_label must be one of .* \[0, 1\]; got 2"),
    "pos_label of another type": ((Y, P), {"pos_label": "1"}, "pos_label must be one of"),
    "pos_label of many": (([0, 1, 2, 0], P3), {"pos_label": 5}, "pos_label must be one of"),
    "weight length": ((Y, P), {"sample_weight": [1, 2]}, r"shape \(4,\).*got shape \(2,\)"),
    "weight shape": ((Y, P), {"sample_weight": np.ones((4, 1))}, r"got shape \(4, 1\)"),
    "negative weight": ((Y, P), {"sample_weight": [1, -1, 1, 1]}, "not negative; got -1 at row 1"),
    "nan weight": ((Y, P), {"sample_weight": [1, 1, np.nan, 1]}, "finite .* got nan at row 2"),
    "inf weight": ((Y, P), {"sample_weight": [np.inf, 1, 1, 1]}, "finite .* got inf at row 0"),
    "zero weights": ((Y, P), {"sample_weight": np.zeros(4)}, "at least one positive weight"),
    "text weights": ((Y, P), {"sample_weight": list("abcd")}, "sample_weight must hold real"),
    "reduction": ((Y, P), {"reduction": "class-wise"}, "Did you mean 'classwise'"),
    "reduction type": ((Y, P), {"reduction": None}, "reduction must be one of .* got None"),
}


ABOUT_REDUCTIONS = ("reduction", "reduction type", "multilabel", "multilabel with sigmoids")


@pytest.mark.parametrize("measure", MEASURES.values(), ids=list(MEASURES))
@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_refused_with_the_reason(measure, case):
    if case in ABOUT_REDUCTIONS and not measure.reduces:
        pytest.skip("the measure takes whole vectors, and soft labels for all of their components")
    arguments, options, message = BAD_INPUT[case]
    with pytest.raises(ValueError, match=message):
        measure.function(*arguments, **options)


@pytest.mark.parametrize("case", sorted(set(BAD_INPUT) - {"reduction", "reduction type"}))
def test_messages_take_the_names_of_the_arguments(case):
    (y_true, y_proba), options, _ = BAD_INPUT[case]
    others = "first|second|labels|pos_label|sample_weight"
    with pytest.raises(ValueError, match=others) as error:
        check_class_vectors(y_true, y_proba, names=("first", "second"), **options)
    assert "y_true" not in str(error.value)
    assert "y_proba" not in str(error.value)


def test_rows_that_nearly_sum_to_one_are_accepted():
    rounded = np.round(np.full((4, 3), 1 / 3), 3)
    assert check_predictions([0, 1, 2, 0], rounded).proba.shape == (4, 3)


def test_common_input_is_not_copied():
    """Binary NumPy input reaches the measures as views: memory stays flat at any length."""
    y, proba, weights = np.array(Y), np.array(P), np.array([1.0, 2.0, 1.0, 1.0])
    (sample,) = reduce_to_samples(y, proba, sample_weight=weights)
    assert np.shares_memory(sample.outcomes, y)
    assert np.shares_memory(sample.predictions, proba)
    assert np.shares_memory(sample.weights, weights)
    (sample,) = reduce_to_samples(np.array(["a", "b", "b", "a"]), np.c_[1 - proba, proba])
    assert sample.positive == "b"
    assert sample.outcomes.dtype.kind == "U"


def test_single_label_is_read_as_zero_one_or_plus_minus_one():
    assert check_predictions([1, 1], [0.5, 0.5]).positive is None
    assert check_predictions([-1, -1], [0.5, 0.5]).positive == 1
    assert check_predictions(["no", "no"], [0.5, 0.5], pos_label="yes").positive == "yes"


@pytest.mark.parametrize("pair", [(-100, 100), (-1, 127), (-128, 127)])
def test_narrow_integer_labels_do_not_overflow(pair):
    y = np.array(pair, dtype=np.int8)[Y]
    assert check_predictions(y, P).positive == pair[1]


def test_numpy_string_type():
    if not hasattr(np, "dtypes") or not hasattr(np.dtypes, "StringDType"):
        pytest.skip("NumPy has variable-width strings since 2.0")
    y = np.array(["n", "y", "y", "n"], dtype=np.dtypes.StringDType())
    assert check_predictions(y, P, pos_label="y").positive == "y"


def test_soft_labels_with_the_labels_zero_and_one():
    soft = [0.1, 0.9, 0.6, 0.2]
    for options in ({"labels": [0, 1]}, {"pos_label": 1}, {"labels": [0, 1], "pos_label": 1}):
        assert check_predictions(soft, P, **options).positive is None


@pytest.mark.parametrize("pos_label", [0, 1])
@pytest.mark.parametrize("as_columns", [False, True])
def test_a_tie_in_confidence_goes_to_the_first_column(pos_label, as_columns):
    proba = np.full((3, 2), 0.5) if as_columns else np.full(3, 0.5)
    (sample,) = reduce_to_samples([0, 0, 1], proba, pos_label=pos_label, reduction="confidence")
    np.testing.assert_array_equal(sample.outcomes, [1, 1, 0])


def test_every_chunk_of_rows_is_checked():
    proba = np.full((CHUNK + 2, 2), 0.5)
    proba[-1] = [0.5, 0.505]
    with pytest.raises(ValueError, match=f"sum of 1.005 at row {CHUNK + 1}"):
        check_predictions(np.arange(CHUNK + 2) % 2, proba)


def test_integer_labels_far_apart():
    y = np.array([0, 10**12, 0, 10**12])
    assert check_predictions(y, P).positive == 10**12


@pytest.mark.parametrize("value", [0, -3, 2.0, "2", True, None, np.nan])
def test_check_integer(value):
    with pytest.raises(ValueError, match="n_bins must be"):
        check_integer("n_bins", value, minimum=1)
    assert check_integer("n_bins", np.int64(3), minimum=1) == 3


@pytest.mark.parametrize("value", [0.5, -np.inf, np.nan, "1", None, True, [1.0], np.inf])
def test_check_number(value):
    with pytest.raises(ValueError, match="norm must be"):
        check_number("norm", value, minimum=1)
    assert check_number("norm", np.inf, minimum=1, allow_infinity=True) == np.inf


def test_check_option_names_the_nearest():
    with pytest.raises(ValueError, match=r"strategy must be one of 'uniform', 'quantile'.*Did you"):
        check_option("strategy", "quantiles", ("uniform", "quantile"))
    with pytest.raises(ValueError, match=r"got 3\.$"):
        check_option("strategy", 3, ("uniform", "quantile"))


def test_check_sample_weight_keeps_what_needs_no_change():
    weights = np.array([0.5, 2.0], dtype=np.float32)
    assert check_sample_weight(weights, 2) is weights
    assert check_sample_weight(None, 2) is None


@pytest.mark.parametrize(("high", "expected"), [(1e300, 1e100), (1e-300, 1e-100)])
def test_extreme_weights_move_to_what_products_can_hold(high, expected):
    """They stay large or small, as it must be where they are counts."""
    weights = check_sample_weight([high, high / 2], 2)
    np.testing.assert_allclose(weights, [expected, expected / 2], rtol=1e-12)


# ------------------------------------------------------------------------- whole vectors


def test_vectors_of_two_classes_end_with_the_positive_one():
    expected = np.array([[0.8, 0.2], [0.4, 0.6], [0.3, 0.7]])
    for y, proba, options in (
        ([0, 1, 1], expected[:, 1], {}),
        ([0, 1, 1], expected, {}),
        ([-1, 1, 1], expected, {}),
        (["a", "b", "b"], expected, {}),
        (["a", "b", "b"], expected[:, ::-1], {"labels": ["b", "a"], "pos_label": "b"}),
        (["b", "a", "a"], expected[:, 1], {"pos_label": "a"}),
    ):
        vectors = check_class_vectors(y, proba, **options)
        np.testing.assert_allclose(vectors.proba, expected, atol=1e-15)
        np.testing.assert_array_equal(vectors.target, [0, 1, 1])
        np.testing.assert_array_equal(vectors.one_hot(slice(1, 3)), [[0, 1], [0, 1]])


def test_vectors_of_many_classes():
    proba = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]])
    vectors = check_class_vectors(["c", "a"], proba, labels=["b", "a", "c"], sample_weight=[1, 2])
    np.testing.assert_array_equal(vectors.target, [2, 1])
    np.testing.assert_array_equal(vectors.one_hot([0, 1]), [[0, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(vectors.weights, [1, 2])
    rest = check_class_vectors(["c", "a"], proba, labels=["b", "a", "c"], pos_label="a")
    np.testing.assert_allclose(rest.proba, [[0.7, 0.3], [0.2, 0.8]])
    np.testing.assert_array_equal(rest.target, [0, 1])


def test_soft_labels_of_vectors():
    soft = [[0.5, 0.25, 0.25], [0, 0, 1]]
    vectors = check_class_vectors(soft, P3[:2])
    np.testing.assert_array_equal(vectors.one_hot(slice(None)), soft)
    binary = check_class_vectors([0.25, 1.0], [0.5, 0.75])
    np.testing.assert_array_equal(binary.one_hot(slice(None)), [[0.75, 0.25], [0, 1]])


@pytest.mark.parametrize(
    ("y_true", "options", "message"),
    [
        (np.eye(3), {}, r"the same shape where .* got \(3, 3\) and \(4, 3\)"),
        (np.eye(4), {}, r"the same shape where .* got \(4, 4\) and \(4, 3\)"),
        (np.full((4, 3), 0.5), {}, "Rows of y_true must sum to 1; got a sum of 1.5 at row 0"),
        (np.eye(4, 3) - 0.1, {}, r"y_true must lie in \[0, 1\]; got -0.1 at row 0"),
        (P3, {"labels": [0, 1, 2]}, "labels must be None where y_true has a column"),
        (P3, {"pos_label": 1}, "pos_label must be None where y_true has a column"),
        (sparse.csr_array(P3), {}, "y_true must be a dense array"),
        (P3, {"sample_weight": [1]}, "sample_weight must have shape"),
    ],
)
def test_bad_soft_labels_of_vectors(y_true, options, message):
    with pytest.raises(ValueError, match=message):
        check_class_vectors(y_true, P3, **options)
