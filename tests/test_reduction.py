"""The entrance: what is refused, and with which words."""

import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.naive_bayes import GaussianNB

from skcal._input._reduction import check_class_vectors, check_predictions, reduce_to_samples
from skcal._input._sample import CHUNK
from skcal._input._validation import check_integer, check_number, check_option, check_sample_weight
from skcal.diagrams import ReliabilityDisplay
from skcal.metrics import smooth_ece

Y = [0, 1, 1, 0]
P = [0.1, 0.8, 0.6, 0.3]
P3 = np.full((4, 3), 1 / 3)

HALVES = np.full((4, 2), 0.5)
FRACTION = "y_true must hold whole numbers where labels are not named, "
STRANGE = "y_true has labels that no column of y_proba accounts for: "
# Arguments, and how the message begins; "..." stands for any words.
BAD_INPUT = [
    (
        Y,
        [0.1, np.nan, 0.6, 0.3],
        {},
        "y_proba ... got nan at row 1. 1 of 4 values is missing. Leave",
    ),
    (
        Y,
        [90, 20, 100, 0],
        {},
        "y_proba must lie in [0, 1]; got 90 at row 0. ...Are these per cent?",
    ),
    (Y, [3.0, -2, 0.5, 1], {}, "y_proba ... got 3.0 ... these logits? ...expit(y_proba)"),
    (Y, np.eye(4, 3) - 2.5, {}, "y_proba ... got -1.5 ... logits? ...softmax(y_proba, axis=1)."),
    (
        Y,
        GaussianNB(),
        {},
        "y_proba must hold real numbers; got a GaussianNB. Pass what its predict_",
    ),
    (
        Y,
        [P, P],
        {},
        "y_proba must have a row for each of 4 labels; got shape (2, 4). ...dictionary",
    ),
    (P3, [0, 1, 1, 0], {}, "y_true has fractions and y_proba integers; are they swapped?"),
    (
        Y,
        ["0.1", "N/A", "0.3", "1"],
        {},
        "y_proba must hold real numbers; got the text '0.1' at row 0",
    ),
    (
        Y,
        pd.Series([0.1, 0.5, "N/A", 1]),
        {},
        "y_proba ... got the text 'N/A' at row 2. 1 of 4 is no number. pandas.to_num",
    ),
    (Y, [0.1, 0.2, np.inf, 0.3], {}, "y_proba must lie in [0, 1]; got inf at row 2."),
    (Y, [0.1, 0.2, 0.3, -1e-9], {}, "y_proba must lie in [0, 1]; got -1e-09 at row 3."),
    (Y, [1.2, 0.2, 0.3, 0.4], {}, "y_proba must lie in [0, 1]; got 1.2 at row 0."),
    (Y, np.where(np.eye(4, 3) == 1, np.nan, P3), {}, "y_proba must lie in ... got nan at row 0."),
    (Y, np.full((4, 2), 0.4), {}, "Rows of y_proba must sum to 1; got a sum of 0.8 at row 0."),
    (Y, P[:3], {}, "y_true and y_proba must have the same length; got 4 labels and 3 rows"),
    ([], [], {}, "y_proba must hold at least one row; it is empty."),
    (Y, np.empty((4, 0)), {}, "y_proba must have shape ... got shape (4, 0)."),
    (Y, np.zeros((4, 2, 2)), {}, "y_proba must have shape ... got shape (4, 2, 2)."),
    ([1], 0.5, {}, "y_proba must have shape ... got shape ()."),
    (Y, sparse.csr_array(np.eye(4)), {}, "y_proba must be a dense array"),
    (sparse.csr_array([Y]), P, {}, "y_true must be a dense array"),
    (Y, np.array(P) + 0j, {}, "y_proba must hold real numbers; ... complex128"),
    (["a", None, "b", "a"], P, {}, "y_true must ... none missing; got NoneType, str. If few"),
    (["a", np.nan, "b", "a"], P, {}, "y_true must ... none missing; got float, str. If few"),
    ([0, 1, np.nan, 0], P, {}, "y_true must hold finite labels; got nan at row 2. If few rows"),
    (["a", 1, "b", 0], P, {}, "y_true must hold ... all of one type ... got int, str."),
    (Y, np.ma.array(P, mask=[1, 0, 0, 0]), {}, "y_proba must not be masked"),
    (np.ma.array(Y, mask=[1, 0, 0, 0]), P, {}, "y_true must not be masked"),
    (Y, [[0.5, 0.5], [1.0], [0.5, 0.5], [1.0]], {}, "y_proba must hold real numbers in a regular"),
    ([[0, 1], [1], [0], [1]], P, {}, "y_true must hold one label for each row"),
    (np.array(Y, "datetime64[D]"), P, {}, "y_true must hold numbers, booleans or strings"),
    (np.eye(4, 3), np.full((4, 3), 0.9), {}, "y_true must be one-dimensional"),
    (np.eye(4, 3), P3, {}, "y_true must be one-dimensional... got shape (4, 3)... argmax(axis=1)"),
    ([0.5, 1.5, 1.5, 0.5], P, {}, FRACTION + "... got 0.5 with pos_label=None."),
    ([0, 1, 2.5, 0], P3, {"pos_label": 1}, FRACTION + "... got 2.5 with pos_label=1."),
    ([0.2, 0.5, 0.5, 0.2], P, {"pos_label": 0.5}, FRACTION + "... got 0.2 with pos_label=0.5."),
    (
        [0.1, 0.2, 1, 0],
        P,
        {"labels": [0, 2]},
        "... (Soft labels in [0, 1] allow only labels=[0, 1]",
    ),
    ([0, 1, 2, 0], P, {}, "y_true has 3 labels, [0, 1, 2], but y_proba has one column; give one"),
    ([0, 1, 2, 0], HALVES, {}, "y_true has 3 labels, [0, 1, 2], but y_proba has two columns; give"),
    ([0, 1, 2, 3], P3, {}, "y_true has 4 labels, [0, 1, 2, 3], but y_proba has 3 columns; ..."),
    (Y, P, {"labels": [0, 2]}, STRANGE + "[1]; the columns are [0, 2]. Name the label of every"),
    ([0, 1, 5, 0], P3, {"labels": [0, 1, 2]}, STRANGE + "[5]; the columns are [0, 1, 2]."),
    (Y, P, {"labels": ["a", "b"]}, STRANGE + "[0, 1]; the columns are ['a', 'b']."),
    (["0", "1", "1", "0"], P, {"labels": [0, 1]}, STRANGE + "['0', '1']; the columns are [0, 1]."),
    # NumPy would turn numbers to text where it sorts so many labels.
    (list(map(str, range(20))), np.full((20, 20), 0.05), {"labels": range(20)}, STRANGE + "['0',"),
    (Y, P, {"labels": [[0, 1], [2, 3]]}, "labels must be one-dimensional"),
    (Y, P, {"labels": [0, 1, 2]}, "labels must name each of the 2 classes of y_proba"),
    (Y, P, {"labels": [1, 1]}, "labels must be distinct; got [1, 1]."),
    (["n", "y", "y", "n"], P, {}, "pos_label must say which of the labels ['n', 'y']"),
    ([10, 11, 11, 10], P, {}, "pos_label must say which ... neither {0, 1} nor {-1, 1}; got None"),
    (["n"] * 4, P, {}, "y_true holds the single label ['n']; name the labels of both classes with"),
    (["n"] * 4, HALVES, {"pos_label": "y"}, "y_true holds the single label ['n']; name"),
    ([5] * 4, P, {}, "y_true holds the single label [5]; name"),
    ([5] * 4, P, {"pos_label": "y"}, "y_true holds the single label [5]; name"),
    (Y, P, {"pos_label": 2}, "pos_label must be one of the labels [0, 1]; got 2."),
    (Y, P, {"pos_label": "1"}, "pos_label must be one of the labels [0, 1]; got '1'."),
    ([0, 1, 2, 0], P3, {"pos_label": 5}, "pos_label must be one of the labels [0, 1, 2]; got 5."),
    ([1, 2, 2, 1], P, {"pos_label": [1, 2]}, "pos_label must be a single label; got [1, 2]."),
    (Y, P, {"sample_weight": [1, 2]}, "sample_weight must have shape (4,) ... got shape (2,)."),
    (Y, P, {"sample_weight": np.ones((4, 1))}, "sample_weight must have ... got shape (4, 1)."),
    (Y, P, {"sample_weight": [1, -1, 1, 1]}, "sample_weight must ... negative; got -1 at row 1."),
    (Y, P, {"sample_weight": [1, 1, np.nan, 1]}, "sample_weight must be ... got nan at row 2."),
    (Y, P, {"sample_weight": [np.inf, 1, 1, 1]}, "sample_weight must be ... got inf at row 0."),
    (Y, P, {"sample_weight": np.zeros(4)}, "sample_weight must hold at least one positive weight"),
]


def test_bad_input_is_refused_with_the_reason():
    for y_true, y_proba, options, message in BAD_INPUT:
        pattern = "^" + re.escape(message).replace(r"\.\.\.", ".*").replace(r"\ ", " *")
        with pytest.raises(ValueError, match=pattern):
            check_predictions(y_true, y_proba, **options)
        # Messages take the names of the arguments.
        with pytest.raises(ValueError, match=r"first|second|labels|pos_label|sample_w") as error:
            check_class_vectors(y_true, y_proba, names=("first", "second"), **options)
        assert "y_true" not in str(error.value)
        assert "y_proba" not in str(error.value)


def test_swapped_arguments():
    """Predictions of integers and outcomes of fractions; other soft labels are as good as any."""
    for y_proba in (Y, np.array(Y) == 1):
        with pytest.warns(UserWarning, match="y_true has fractions and y_proba integers; are they"):
            check_predictions(P, y_proba)
    check_predictions(P, np.array(Y, float))
    check_predictions(np.array(Y, float), Y)
    with pytest.warns(UserWarning, match="are they swapped"):
        smooth_ece(P, Y)
    with pytest.warns(UserWarning, match="are they swapped"):
        ReliabilityDisplay.from_predictions(P, Y)


def test_unknown_reductions():
    with pytest.raises(ValueError, match="Did you mean 'classwise'"):
        reduce_to_samples(Y, P, reduction="class-wise")
    with pytest.raises(ValueError, match=r"reduction must be one of .* got None"):
        reduce_to_samples(Y, P, reduction=None)


def test_rows_that_nearly_sum_to_one_are_accepted():
    """Also where a sum of few bits, one column after another, would not."""
    rounded = np.round(np.full((2, 3), 1 / 3), 3)
    many = np.asfortranarray(np.full((2, 1000), 1 / 1000, dtype=np.float16))
    for proba in (rounded, many):
        labels = range(proba.shape[1])
        assert check_predictions([0, 1], proba, labels=labels).proba.shape == proba.shape


def test_common_input_is_not_copied():
    """Binary NumPy input reaches the measures as views: memory stays flat at any length."""
    y, proba, weights = np.array(Y), np.array(P), np.array([1.0, 2.0, 1.0, 1.0])
    (sample,) = reduce_to_samples(y, proba, sample_weight=weights)
    assert np.shares_memory(sample.outcomes, y)
    assert np.shares_memory(sample.predictions, proba)
    assert np.shares_memory(sample.weights, weights)
    # Nothing is compared where the labels are numbers in [0, 1] or booleans.
    for y in (np.array(Y, dtype=bool), np.array([0, 0.25, 1, 0.5])):
        assert np.shares_memory(check_predictions(y, P).target, y)


def test_fractions_are_labels_where_they_are_named():
    for labels in ([0.5, 1.5], [1.5, 0.5]):
        checked = check_predictions([0.5, 1.5], PAIRS[:2], labels=labels)
        assert (checked.positive_label, checked.positive_column) == (labels[1], 1)
    assert check_predictions([1.0, 1.5], P[:2], pos_label=1.5).positive_label == 1.5


def test_single_label_is_read_as_zero_one_or_plus_minus_one():
    assert check_predictions([1, 1], [0.5, 0.5]).positive_label is None
    assert check_predictions([-1, -1], [0.5, 0.5]).positive_label == 1
    for label, pos_label, column, pair in (
        (0, 0, 0, [0, 1]),
        (1, 0, 0, [0, 1]),
        (-1, -1, 0, [-1, 1]),
        (-1, 1, 1, [-1, 1]),
    ):
        found = check_predictions([label] * 4, HALVES, pos_label=pos_label)
        assert (found.positive_label, found.positive_column) == (pos_label, column)
        assert found.labels.tolist() == pair
    assert check_predictions(["no", "no"], [0.5, 0.5], pos_label="yes").positive_label == "yes"


@pytest.mark.parametrize(
    ("dtype", "pair"),
    [
        ("int8", (-128, 127)),
        ("int64", (0, 10**12)),
        ("int64", (-(10**12), 10**12)),
        ("uint64", (2, 3)),  # NumPy 1.26 raised an IndexError
        ("uint8", (2, 3)),
        ("float32", (2, 3)),
    ],
)
def test_two_labels_of_any_type(dtype, pair):
    checked = check_predictions(np.array(pair, dtype=dtype)[Y], HALVES)
    assert checked.positive_label == pair[1]
    assert checked.target.tolist() == Y


def test_digits_as_strings_are_strings():
    found = check_predictions(["0", "1", "1", "0"], HALVES)
    assert (found.positive_label, found.labels.tolist()) == ("1", ["0", "1"])
    with pytest.raises(ValueError, match=r"single label \['1'\]"):
        check_predictions(["1"] * 4, HALVES)


def test_soft_labels_with_the_labels_zero_and_one():
    soft = [0.1, 0.9, 0.6, 0.2]
    for options in ({"labels": [0, 1]}, {"pos_label": 1}, {"labels": [0, 1], "pos_label": 1}):
        assert check_predictions(soft, P, **options).positive_label is None


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


@pytest.mark.parametrize("kind", [int, float, str])
@pytest.mark.parametrize("row", [0, CHUNK, -1])
def test_a_label_of_a_single_row_is_found(kind, row):
    y = np.full(2 * CHUNK + 1, 5).astype(kind)
    y[row] = 7
    predictions = check_predictions(y, np.full((len(y), 2), 0.5))
    assert predictions.labels.tolist() == [kind(5), kind(7)]


@pytest.mark.parametrize(
    ("check", "bad", "good"),
    [
        (check_integer, [0, -3, 2.0, "2", True, None, np.nan, 2**24 + 1, 10**30], np.int64(2**24)),
        (check_number, [0.5, -np.inf, np.nan, "1", None, True, [1.0], np.inf, -(10**400)], 10**20),
    ],
)
def test_integers_and_numbers(check, bad, good):
    for value in bad:
        with pytest.raises(ValueError, match="n_bins must be"):
            check("n_bins", value, 1)
    assert check("n_bins", good, 1) == good
    # NumPy cannot look at integers beyond 64 bits, and floats end at 1024 bits.
    for infinite in (np.inf, 10**400):
        assert check_number("n_bins", infinite, 1, allow_infinity=True) == np.inf


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


CHANCES = np.array([[4, 2, 2], [1, 2, 5], [2, 4, 2], [4, 3, 1]]) / 8
PAIRS = np.array([[2, 6], [6, 2], [5, 3], [1, 7]]) / 8


def reduce_row_by_row(reduction, names, y, proba, weights):
    """Triples (prediction, outcome, weight) of each binary problem, from their definition."""
    problems = {}
    for label, row, weight in zip(y, proba, weights, strict=True):
        top = names[np.argmax(row)]
        for name, chance in zip(names, row, strict=True):
            key = {"classwise": name, "top-label": top, "confidence": 0, "full": 0}[reduction]
            if reduction in ("classwise", "full") or name == top:
                problems.setdefault(key, []).append((chance, float(label == name), weight))
    return [sorted(problems[key]) for key in sorted(problems)]


@pytest.mark.parametrize("reduction", ["confidence", "classwise", "top-label", "full"])
def test_reductions_have_the_rows_of_their_definition(reduction):
    for names, weights, step in product(
        ([0, 1], [3, 8], ["a", "b"], [1, 2, 3], ["a", "b", "c"]),
        (None, [1.0, 2.0, 4.0, 8.0]),
        (1, -1),
    ):
        proba = PAIRS if len(names) == 2 else CHANCES
        y = np.array(names)[[1, -1, 0, 1]]
        expected = reduce_row_by_row(reduction, names, y, proba, weights or [1.0] * 4)
        options = {"sample_weight": weights, "reduction": reduction}
        samples = reduce_to_samples(y, proba[:, ::step], labels=names[::step], **options)
        rows = [sorted(zip(*next(one.present_chunks()), strict=True)) for one in samples]
        assert rows == expected[::step]


def test_top_labels_that_no_row_of_any_weight_predicts_are_left_out():
    y, weights = [0, 1, 2, 1], [1, 0, 0, 2]
    proba = np.array([[6, 1, 1], [5, 2, 1], [1, 6, 1], [4, 3, 1]]) / 8
    (sample,) = reduce_to_samples(y, proba, sample_weight=weights, reduction="top-label")
    np.testing.assert_array_equal(sample.predictions, [0.75, 0.625, 0.5])
    np.testing.assert_array_equal(sample.outcomes, [1, 0, 0])


def test_checked_predictions_keep_weights_and_labels():
    weights = [1.0, 2.0, 4.0, 8.0]
    for y, proba, options, expected in (
        (Y, P, {}, (None, 1, None)),
        (Y, PAIRS, {"pos_label": 0}, (0, 0, [0, 1])),
        (["b", "a", "b", "b"], PAIRS, {}, ("b", 1, ["a", "b"])),
        (["b", "a", "b", "b"], P, {"pos_label": "a"}, ("a", 0, ["a", "b"])),
        (["n"] * 4, P, {"pos_label": "y"}, ("y", 1, None)),
        (Y, CHANCES, {"labels": [1, 0, 2]}, (None, 1, [1, 0, 2])),
        ([0, 1, 2, 0], CHANCES, {}, (None, 1, [0, 1, 2])),
        ([0, 1, 2, 0], CHANCES, {"pos_label": 2}, (2, 1, None)),
    ):
        checked = check_predictions(y, proba, sample_weight=weights, **options)
        assert checked.weights.tolist() == weights
        labels = None if checked.labels is None else checked.labels.tolist()
        assert (checked.positive_label, checked.positive_column, labels) == expected


def check_vectors(vectors, proba, one_hot, weights=None):
    np.testing.assert_allclose(vectors.proba, proba, atol=1e-15)
    np.testing.assert_array_equal(vectors.one_hot(slice(None)), one_hot)
    np.testing.assert_array_equal(vectors.one_hot([1, 0]), np.array(one_hot)[[1, 0]])
    assert (vectors.weights is None) == (weights is None)
    if weights is not None:
        np.testing.assert_array_equal(vectors.weights, weights)


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
        check_vectors(vectors, expected, [[1, 0], [0, 1], [0, 1]])
        np.testing.assert_array_equal(vectors.target, [0, 1, 1])
        assert vectors.target.dtype.kind == "i"


def test_vectors_of_many_classes():
    proba = np.array([[0.5, 0.3, 0.2], [0.1, 0.8, 0.1]])
    options = {"labels": ["b", "a", "c"], "sample_weight": [1, 2]}
    vectors = check_class_vectors(["c", "a"], proba, **options)
    check_vectors(vectors, proba, [[0, 0, 1], [0, 1, 0]], [1, 2])
    rest = check_class_vectors(["c", "a"], proba, pos_label="a", **options)
    check_vectors(rest, [[0.7, 0.3], [0.2, 0.8]], [[1, 0], [0, 1]], [1, 2])


def test_soft_labels_of_vectors():
    soft, pair, proba = [[0.5, 0.25, 0.25], [0, 0, 1]], [[0.75, 0.25], [0, 1]], PAIRS[:2]
    check_vectors(check_class_vectors(soft, P3[:2], sample_weight=[1, 2]), P3[:2], soft, [1, 2])
    for y, given in (([0.25, 1.0], proba[:, 1]), (pair, proba)):
        check_vectors(check_class_vectors(y, given, sample_weight=[1, 2]), proba, pair, [1, 2])


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


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.0, 0.0, 4.0])])
def test_full_pools_all_pairs_in_any_order_of_memory(order, weights):
    proba = np.array([[6, 1, 1], [5, 2, 1], [1, 6, 1], [4, 3, 1]], order=order) / 8
    (sample,) = reduce_to_samples([0, 1, 2, 1], proba, sample_weight=weights, reduction="full")
    rows = np.ones(4) if weights is None else weights
    pairs = [(row, column) for column in range(3) for row in range(4)]
    expected = [(proba[k, j], j == [0, 1, 2, 1][k], rows[k]) for k, j in pairs]
    own = np.ones(12) if sample.weights is None else sample.weights
    assert list(zip(sample.predictions, sample.outcomes, own, strict=True)) == expected
    assert np.shares_memory(sample.predictions, proba) == (order == "F")
