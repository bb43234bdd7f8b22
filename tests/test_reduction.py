"""The entrance: what is refused, and with which words."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skcal._reduction import check_class_vectors, check_predictions, reduce_to_samples
from skcal._sample import CHUNK
from skcal._validation import check_integer, check_number, check_option, check_sample_weight
from skcal.metrics import MEASURES, smooth_ece

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
    "lengths": (
        (Y, P[:3]),
        {},
        "^y_true and y_proba must have the same length; got 4 labels and 3 rows",
    ),
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
    "ragged labels": (([[0, 1], [1], [0], [1]], P), {}, "y_true must hold one label for each row"),
    "list of pos_labels": (
        ([1, 2, 2, 1], P),
        {"pos_label": [1, 2]},
        "pos_label must be a single label",
    ),
    "multilabel with sigmoids": ((np.eye(4, 3), np.full((4, 3), 0.9)), {}, "one-dimensional"),
    "soft labels with other labels": (
        ([0.1, 0.2, 1, 0], P),
        {"labels": [0, 2]},
        r"each label\. \(Soft labels in \[0, 1\] allow only labels=\[0, 1\] and pos_label=1\.\)$",
    ),
    "mixed labels": ((np.array(["a", 1, "b", 0], dtype=object), P), {}, "of one type"),
    "dates": ((np.array(Y, "datetime64[D]"), P), {}, "must hold numbers, booleans or strings"),
    "multilabel": ((np.eye(4, 3), P3), {}, r"one-dimensional.*got shape \(4, 3\).*argmax"),
    "fractions": (
        ([0.5, 1.5, 1.5, 0.5], P),
        {},
        r"^y_true must hold whole numbers where labels are not named, or soft labels in \[0, 1\] "
        r"with pos_label=1; got 0\.5 with pos_label=None\.$",
    ),
    "fractions, two columns": (
        ([0, 1.5, 1.5, 0], np.full((4, 2), 0.5)),
        {},
        "y_true must hold whole numbers where labels are not named, .* got 1.5 with",
    ),
    "fractions, three columns": (
        ([0, 1, 2.5, 0], P3),
        {"pos_label": 1},
        "y_true must hold whole numbers where labels are not named, .* got 2.5 with pos_label=1",
    ),
    "another fraction than pos_label": (
        ([0.25, 0.5, 0.5, 0.25], P),
        {"pos_label": 0.5},
        r"y_true must hold whole numbers .* got 0\.25 with pos_label=0\.5\.$",
    ),
    "three labels, one column": (
        ([0, 1, 2, 0], P),
        {},
        r"^y_true has 3 labels, \[0, 1, 2\], but y_proba has one column; give one column for each",
    ),
    "three labels, two columns": (
        ([0, 1, 2, 0], np.full((4, 2), 0.5)),
        {},
        r"^y_true has 3 labels, \[0, 1, 2\], but y_proba has two columns; give one column for each",
    ),
    "four labels, three columns": (
        ([0, 1, 2, 3], P3),
        {},
        r"^y_true has 4 labels, \[0, 1, 2, 3\], but y_proba has 3 columns; .*labels=\.$",
    ),
    "strange label": (
        (Y, P),
        {"labels": [0, 2]},
        r"^y_true has labels that no column of y_proba accounts for: \[1\]; the columns are "
        r"\[0, 2\]\. Name the label of every column with labels=\.$",
    ),
    "strange label of many": (
        ([0, 1, 5, 0], P3),
        {"labels": [0, 1, 2]},
        r"^y_true has labels that no column of y_proba accounts for: \[5\]; the columns are "
        r"\[0, 1, 2\]\.",
    ),
    "strings against numbers": ((Y, P), {"labels": ["a", "b"]}, "accounts for"),
    "digits as labels": (
        (["0", "1", "1", "0"], P),
        {"labels": [0, 1]},
        r"for: \['0', '1'\]; .* \[0",
    ),
    # NumPy would turn numbers to text where it sorts so many labels.
    "many digits as labels": (
        ([str(k) for k in range(20)], np.full((20, 20), 0.05)),
        {"labels": range(20)},
        r"accounts for: \['0', '1',",
    ),
    "labels of two dimensions": ((Y, P), {"labels": [[0, 1], [2, 3]]}, "labels must be one-dim"),
    "too many labels": ((Y, P), {"labels": [0, 1, 2]}, "labels must name each of the 2 classes"),
    "repeated labels": ((Y, P), {"labels": [1, 1]}, r"labels must be distinct; got \[1, 1\]"),
    "which is positive": ((["n", "y", "y", "n"], P), {}, r"pos_label must say which .*'n', 'y'"),
    "which number is positive": (
        ([10, 11, 11, 10], P),
        {},
        r"pos_label must say which .* \[10, 11\] .* neither \{0, 1\} nor \{-1, 1\}; got None",
    ),
    "one string label": (
        (["n"] * 4, P),
        {},
        r"^y_true holds the single label \['n'\]; name the labels of both classes with labels=\.$",
    ),
    "one string label, two columns": (
        (["n"] * 4, np.full((4, 2), 0.5)),
        {"pos_label": "y"},
        r"single label \['n'\]; name the labels",
    ),
    "one number": (([5] * 4, P), {}, r"single label \[5\]; name the labels"),
    "one number, another type": (([5] * 4, P), {"pos_label": "y"}, r"single label \[5\]; name"),
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
    assert sample.outcomes.tolist() == [False, True, True, False]


def test_outcomes_stay_as_they_are():
    """Nothing is compared where the labels are numbers in [0, 1] or booleans."""
    for y in (np.array(Y), np.array(Y, dtype=bool), np.array([0, 0.25, 1, 0.5])):
        predictions = check_predictions(y, P)
        assert np.shares_memory(predictions.target, y)


def test_fractions_are_labels_where_they_are_named():
    for labels in ([0.5, 1.5], [1.5, 0.5]):
        checked = check_predictions([0.5, 1.5], PAIRS[:2], labels=labels)
        assert (checked.positive_label, checked.positive_column) == (labels[1], 1)
    assert check_predictions([1.0, 1.5], P[:2], pos_label=1.5).positive_label == 1.5


def test_single_label_is_read_as_zero_one_or_plus_minus_one():
    assert check_predictions([1, 1], [0.5, 0.5]).positive_label is None
    assert check_predictions([-1, -1], [0.5, 0.5]).positive_label == 1
    for y, pair in (([0, 0], [0, 1]), ([1, 1], [0, 1]), ([-1, -1], [-1, 1])):
        for label in pair:
            predictions = check_predictions(y, np.full((2, 2), 0.5), pos_label=label)
            if (label, pair) == (1, [0, 1]):  # outcomes already
                continue
            assert predictions.positive_label == label
            assert predictions.positive_column == pair.index(label)
            assert predictions.labels.tolist() == pair
    assert check_predictions(["no", "no"], [0.5, 0.5], pos_label="yes").positive_label == "yes"


@pytest.mark.parametrize("pair", [(-100, 100), (-1, 127), (-128, 127)])
def test_narrow_integer_labels_do_not_overflow(pair):
    y = np.array(pair, dtype=np.int8)[Y]
    assert check_predictions(y, np.column_stack([1 - np.array(P), P])).positive_label == pair[1]


def test_digits_as_strings_are_strings():
    columns = np.column_stack([1 - np.array(P), P])
    predictions = check_predictions(["0", "1", "1", "0"], columns)
    assert predictions.positive_label == "1"
    assert predictions.labels.tolist() == ["0", "1"]
    with pytest.raises(ValueError, match=r"single label \['1'\]"):
        check_predictions(["1"] * 4, columns)


def test_numpy_string_type():
    if not hasattr(np, "dtypes") or not hasattr(np.dtypes, "StringDType"):
        pytest.skip("NumPy has variable-width strings since 2.0")
    y = np.array(["n", "y", "y", "n"], dtype=np.dtypes.StringDType())
    assert check_predictions(y, P, pos_label="y").positive_label == "y"


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


@pytest.mark.parametrize("low", [0, -(10**12)])
def test_integer_labels_far_apart(low):
    y = np.array([low, 10**12, low, 10**12])
    assert check_predictions(y, np.column_stack([1 - np.array(P), P])).positive_label == 10**12


@pytest.mark.parametrize("kind", [int, float, str])
@pytest.mark.parametrize("row", [0, CHUNK, -1])
def test_a_label_of_a_single_row_is_found(kind, row):
    y = np.full(2 * CHUNK + 1, 5).astype(kind)
    y[row] = 7
    predictions = check_predictions(y, np.full((len(y), 2), 0.5))
    assert predictions.labels.tolist() == [kind(5), kind(7)]


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


# --------------------------------------------------------------------------- reductions

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


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 4.0, 8.0]])
@pytest.mark.parametrize("names", [[0, 1], [3, 8], ["a", "b"], [1, 2, 3], ["a", "b", "c"]])
@pytest.mark.parametrize("reduction", ["confidence", "classwise", "top-label", "full"])
def test_reductions_have_the_rows_of_their_definition(reduction, names, weights):
    proba = PAIRS if len(names) == 2 else CHANCES
    y = np.array(names)[[1, -1, 0, 1]]
    expected = reduce_row_by_row(reduction, names, y, proba, weights or [1.0] * 4)
    columns = range(len(names))
    for order in (columns, [*columns][::-1]):
        samples = reduce_to_samples(
            y,
            proba[:, order],
            labels=[names[k] for k in order],
            sample_weight=weights,
            reduction=reduction,
        )
        rows = [sorted(zip(*next(one.present_chunks()), strict=True)) for one in samples]
        assert rows == (expected if order is columns else expected[::-1])


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


# --------------------------------------------------------------------------- other libraries


@pytest.fixture
def put(dispatch):
    """Puts arrays on a device of array-api-strict that refuses to be read by NumPy."""
    pytest.importorskip("array_api_compat", reason="array-api-compat is not installed")
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    return lambda values: strict.asarray(np.array(values), device=strict.Device("device1"))


ELSEWHERE = {
    "outcomes": (Y, P, {}),
    "labels": ([3, 8, 8, 3], P, {"labels": [3, 8]}),
    "other label": (Y, PAIRS, {"pos_label": 0}),
    "single label": ([5] * 4, P, {"pos_label": 7}),
    "three classes": ([0, 1, 2, 0], CHANCES, {}),
    "order of columns": ([4, 9, 6, 4], CHANCES, {"labels": [9, 4, 6]}),
    "one of three": ([4, 9, 6, 4], CHANCES, {"pos_label": 6}),
}


@pytest.mark.parametrize("case", ELSEWHERE)
def test_arrays_of_other_libraries_stay_where_they_are(put, case):
    y, proba, options = ELSEWHERE[case]
    weights = [1.0, 2.0, 4.0, 8.0]
    here = check_predictions(y, proba, sample_weight=weights, **options)
    given = options | ({"labels": put(options["labels"])} if "labels" in options else {})
    device = put([0]).device
    for move_y, move_weights in ((put, put), (list, list), (np.array, np.array)):
        there = check_predictions(
            move_y(y), put(proba), sample_weight=move_weights(weights), on_device=True, **given
        )
        assert there.positive_column == here.positive_column
        back = there.to_numpy()
        for name in ("proba", "target", "weights"):
            assert getattr(there, name).device == device
            assert type(getattr(back, name)) is np.ndarray
            np.testing.assert_array_equal(getattr(back, name), getattr(here, name))


def test_strings_are_read_for_arrays_of_other_libraries(put):
    text = np.array(["b", "a", "b", "b"])
    for proba, options in ((PAIRS, {}), (P, {"pos_label": "b"})):
        checked = check_predictions(text, put(proba), on_device=True, **options).to_numpy()
        np.testing.assert_array_equal(checked.target, [1, 0, 1, 1])
        assert checked.weights is None
    options = {"labels": ["b", "c", "a"]}
    checked = check_predictions(text, put(CHANCES), on_device=True, **options)
    assert checked.target.device == checked.proba.device
    np.testing.assert_array_equal(checked.to_numpy().target, [0, 2, 0, 0])


def test_arrays_of_other_libraries_need_permission(put):
    for function in (check_predictions, reduce_to_samples):
        for name, arguments, options in (
            ("y_true", (put(Y), P), {}),
            ("y_proba", (Y, put(P)), {}),
            ("sample_weight", (Y, P), {"sample_weight": put([1.0] * 4)}),
            ("labels", (Y, P), {"labels": put([0, 1])}),
        ):
            with pytest.raises(TypeError, match=f"^{name} must be a NumPy array"):
                function(*arguments, **options)
    (sample,) = reduce_to_samples(put(Y), put(P), on_device=True)
    assert sample.predictions.device == put(P).device


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
        assert vectors.target.dtype.kind == "i"
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
    vectors = check_class_vectors(soft, P3[:2], sample_weight=[1, 2])
    np.testing.assert_array_equal(vectors.one_hot(slice(None)), soft)
    np.testing.assert_array_equal(vectors.proba, P3[:2])
    np.testing.assert_array_equal(vectors.weights, [1, 2])
    pair = [[0.75, 0.25], [0, 1]]
    for y, proba in (([0.25, 1.0], [0.5, 0.75]), (pair, [[0.5, 0.5], [0.25, 0.75]])):
        binary = check_class_vectors(y, proba, sample_weight=[1, 2])
        np.testing.assert_array_equal(binary.one_hot(slice(None)), pair)
        np.testing.assert_array_equal(binary.proba, [[0.5, 0.5], [0.25, 0.75]])
        np.testing.assert_array_equal(binary.weights, [1, 2])


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


@pytest.mark.parametrize("dtype", ["uint64", "uint8", "int8", "int64", "float32"])
def test_two_labels_of_any_type(dtype):
    """NumPy 1.26 could not look for uint64 among integers, and raised an IndexError."""
    labels, proba = np.array([2, 3, 3, 2], dtype=dtype), [0.1, 0.6, 0.9, 0.4]
    assert smooth_ece(labels, proba, pos_label=3) == smooth_ece([0, 1, 1, 0], proba)
