"""Properties that every measure of the table must have."""

import inspect
from functools import partial

import numpy as np
import pytest

from skcal._reduction import REDUCTIONS
from skcal.metrics import MEASURES
from tests.measures import ACCURACY, MAXIMUM, READ_COUNTS

every_measure = pytest.mark.parametrize("measure", MEASURES.values(), ids=list(MEASURES))
REDUCING = [name for name, measure in MEASURES.items() if measure.reduces]
every_reducing_measure = pytest.mark.parametrize(
    "measure", [MEASURES[name] for name in REDUCING], ids=REDUCING
)

TOLERANCE = {"rtol": 0, "atol": 1e-12}


def check_range(measure, value):
    """The value lies in the range that the row of the table declares, and is not 0."""
    assert type(value) is float
    if measure.is_signed:
        assert -MAXIMUM.get(measure.name, 1) <= value <= MAXIMUM.get(measure.name, 1)
    else:
        assert 0 < value <= MAXIMUM.get(measure.name, 1)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def binary(rng):
    """Labels in {0, 1} and probabilities with ties, mass at 0 and 1, and miscalibration."""
    proba = np.concatenate([rng.random(60), np.round(rng.random(60), 1), [0, 0, 1, 1]])
    y = (rng.random(len(proba)) < proba**1.5).astype(int)
    return y, proba


@pytest.fixture
def multiclass(rng):
    """Column numbers and probabilities of three classes."""
    proba = rng.dirichlet([1, 1, 1], size=120)
    y = np.array([rng.choice(3, p=p) for p in 0.5 * proba + 0.5 / 3])
    return y, proba


@pytest.fixture
def weights(rng):
    return rng.integers(0, 4, 124)


@every_measure
def test_a_float_in_its_range_whatever_holds_the_rows(measure, binary, weights):
    """The same answer again, of arrays of any memory and type, which are left as they were.

    Nothing is lost where they have few bits: in half precision a thousand rows already would be.
    """
    y, proba = binary
    y, proba, weights = np.tile(y, 5), np.tile(proba, 5).astype(np.float16), np.tile(weights, 5)
    expected = measure.function(y, proba.astype(float), sample_weight=weights.astype(float))
    check_range(measure, expected)
    for dtypes in ("i1 f2 u1", "u1 f4 f2", "f2 f8 >i8", "? g f4", ">f8 >f8 g"):
        rows = [a.astype(t) for a, t in zip((y, proba, weights), dtypes.split(), strict=True)]
        for turned in (rows, [np.repeat(a, 3)[::-3][::-1] for a in rows]):
            before = [a.copy() for a in turned]
            value = measure.function(*turned[:2], sample_weight=turned[2])
            assert value == pytest.approx(expected, rel=0, abs=1e-14)
            for array, copy in zip(turned, before, strict=True):
                np.testing.assert_array_equal(array, copy)
                array.flags.writeable = False
            assert measure.function(*turned[:2], sample_weight=turned[2]) == value
    three = np.full((len(y), 3), [0.5, 0.25, 0.25])
    for order in (np.asfortranarray(three, dtype=np.float16), three[:, ::-1].copy()[:, ::-1]):
        assert measure.function(y, order, labels=[0, 1, 2]) == measure.function(
            y, three, labels=[0, 1, 2]
        )


@every_measure
def test_order_of_rows_does_not_matter(measure, binary, weights, rng):
    y, proba = binary
    order = rng.permutation(len(y))
    np.testing.assert_allclose(
        measure.function(y[order], proba[order], sample_weight=weights[order]),
        measure.function(y, proba, sample_weight=weights),
        **TOLERANCE,
    )


@every_measure
@pytest.mark.parametrize("names", [("no", "yes"), (False, True), (-1, 1), (2.0, 7.5)], ids=str)
def test_names_of_labels_do_not_matter(measure, binary, names):
    y, proba = binary
    renamed, expected = np.array(names)[y], measure.function(y, proba)
    assert measure.function(renamed, proba, pos_label=names[1]) == expected
    assert measure.function(renamed.astype(object), proba, labels=list(names)) == expected
    if names in ((False, True), (-1, 1)):
        assert measure.function(renamed, proba) == expected


@every_measure
def test_layouts_of_binary_probabilities(measure, binary):
    y, proba = binary
    both = np.column_stack([1 - proba, proba])
    expected = measure.function(y, proba)
    assert measure.function(y, proba[:, None]) == expected
    assert measure.function(y, both) == expected
    assert measure.function(y, both[:, ::-1], labels=[1, 0], pos_label=1) == expected
    assert measure.function(np.where(y == 1, "b", "a"), both) == expected
    np.testing.assert_allclose(
        measure.function(y, both, pos_label=0), measure.function(1 - y, 1 - proba), **TOLERANCE
    )


@every_measure
def test_integer_weight_is_repetition(measure, binary, weights):
    y, proba = binary
    np.testing.assert_allclose(
        measure.function(y, proba, sample_weight=weights),
        measure.function(np.repeat(y, weights), np.repeat(proba, weights)),
        **TOLERANCE,
    )


@every_measure
def test_zero_weight_is_absence_and_one_is_none(measure, binary, rng):
    y, proba = binary
    weights = rng.choice([0.0, 0.5, 2.0], size=len(y))
    present = weights > 0
    for found, expected in (
        ((y, proba, weights), (y[present], proba[present], weights[present])),
        ((y, proba, [1] * len(y)), (y, proba, None)),
    ):
        found, expected = (
            measure.function(*rows, sample_weight=weight) for *rows, weight in (found, expected)
        )
        assert found == pytest.approx(expected, rel=0, abs=1e-12)


@every_measure
@pytest.mark.parametrize("scale", [7, 1e150, 1e-300])
def test_only_ratios_of_weights_matter(measure, binary, rng, scale):
    if measure.name in READ_COUNTS:
        pytest.skip("the measure reads weights as counts")
    weights = rng.random(len(binary[0])) + 0.1
    np.testing.assert_allclose(
        measure.function(*binary, sample_weight=weights * scale),
        measure.function(*binary, sample_weight=weights),
        **TOLERANCE,
    )


@every_measure
def test_perfect_forecasts_score_zero(measure):
    y = np.array([0, 1, 1, 0, 1])
    assert measure.function(y, y.astype(float)) == 0
    assert measure.function(y, y) == 0
    flags = np.array([True, False, True, True, False])  # from which nothing can be subtracted
    expected = measure.function(y, flags.astype(float), sample_weight=flags.astype(float))
    assert measure.function(y, flags, sample_weight=flags) == expected
    assert measure.function(np.array([2, 0, 1, 1]), np.eye(3)[[2, 0, 1, 1]]) == 0


@every_measure
def test_outcomes_as_often_as_predicted_score_zero(measure):
    proba = np.repeat([0.25, 0.5, 0.75], 4)
    y = np.array([0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1])
    if measure.is_signed:
        assert measure.function(y, proba) <= 0
    else:
        assert measure.function(y, proba) == pytest.approx(0, abs=1e-12)


@every_measure
@pytest.mark.parametrize(("label", "prediction"), [(0, 0.3), (1, 0.3), (1, 0.0), (0, 1.0)])
def test_single_row(measure, label, prediction):
    for weight in (None, [0.2]):
        check_range(measure, measure.function([label], [prediction], sample_weight=weight))


@every_measure
@pytest.mark.parametrize("label", [0, 1])
def test_single_class(measure, binary, label):
    _, proba = binary
    y = np.full(len(proba), label)
    value = measure.function(y, proba)
    check_range(measure, value)
    text = np.full(len(proba), ["no", "yes"][label])
    assert measure.function(text, proba, pos_label="yes") == value
    assert measure.function(text, np.c_[1 - proba, proba], labels=["no", "yes"]) == value


@every_measure
def test_soft_label_is_a_weighted_pair_of_labels(measure, binary, rng):
    _, proba = binary
    soft = rng.random(len(proba))
    np.testing.assert_allclose(
        measure.function(soft, proba),
        measure.function(
            np.repeat([1, 0], len(proba)),
            np.tile(proba, 2),
            sample_weight=np.concatenate([soft, 1 - soft]),
        ),
        rtol=0,
        atol=ACCURACY.get(measure.name, 1e-12),
    )


@every_measure
def test_order_of_columns_does_not_matter(measure, multiclass, rng):
    y, proba = multiclass
    names = np.array(["ant", "bee", "cat"])
    options = [{"reduction": reduction} for reduction in REDUCTIONS] if measure.reduces else [{}]
    for option in options:
        expected = measure.function(y, proba, **option)
        order = [2, 0, 1]
        np.testing.assert_allclose(
            measure.function(names[y], proba[:, order], labels=names[order], **option),
            expected,
            **TOLERANCE,
        )


def check_reductions(measure, y, proba, weights, call):
    """Each reduction is a call of the measure on binary rows, or a mean of such."""
    n_classes = proba.shape[1]
    top = proba.argmax(axis=1)  # a tie goes to the first label
    rows = [top == k for k in range(n_classes)]

    def measure_binary(outcomes, predictions, weights=weights):
        return measure.function(outcomes, predictions, sample_weight=weights, reduction="auto")

    tops = {
        k: measure_binary(y[r] == k, proba[r, k], weights[r]) for k, r in enumerate(rows) if any(r)
    }
    classes = [measure_binary(y == k, proba[:, k]) for k in range(n_classes)]
    everything = np.eye(n_classes)[y].ravel(), proba.ravel(), np.repeat(weights, n_classes)
    expected = {
        "confidence": measure_binary(top == y, proba.max(axis=1)),
        "classwise": np.mean(classes),
        "top-label": np.average([*tops.values()], weights=[weights[rows[k]].sum() for k in tops]),
        "full": measure_binary(*everything),
    }
    expected["auto"] = expected["confidence"] if n_classes > 2 else classes[1]
    assert set(expected) == set(REDUCTIONS)
    for reduction, value in expected.items():
        np.testing.assert_allclose(call(reduction=reduction), value, **TOLERANCE)
    default = inspect.signature(measure.function).parameters["reduction"].default
    np.testing.assert_allclose(call(), expected[default], **TOLERANCE)


@every_reducing_measure
def test_reductions_are_what_they_say(measure, multiclass, binary, rng):
    y, proba = multiclass
    weights = rng.random(len(y)) + 0.5
    call = partial(measure.function, y, proba, sample_weight=weights)
    check_reductions(measure, y, proba, weights, call)
    one = measure.function(y == 1, proba[:, 1], sample_weight=weights, reduction="auto")
    assert call(pos_label=1, reduction="auto") == one
    never = np.array([[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.2, 0.5, 0.3]])
    call = partial(measure.function, [0, 1, 2, 1], never, sample_weight=[1, 1, 2, 3])
    check_reductions(measure, np.array([0, 1, 2, 1]), never, np.array([1, 1, 2, 3]), call)
    absent = call(sample_weight=[1, 1, 0, 0], reduction="top-label")
    assert absent == pytest.approx(measure.function([1, 0], [0.7, 0.6], reduction="auto"))
    y, proba = binary
    both, weights = np.column_stack([1 - proba, proba]), np.ones(len(y))
    for layout in (proba, both):
        for names in ((0, 1), ("no", "yes")):
            call = partial(measure.function, np.array(names)[y], layout, labels=names)
            check_reductions(measure, y, both, weights, call)


@every_measure
def test_missing_class_is_fine_when_columns_are_named(measure, multiclass):
    y, proba = multiclass
    present = y < 2
    value = measure.function(y[present], proba[present], labels=[0, 1, 2])
    check_range(measure, value)
    with pytest.raises(ValueError, match=r"labels=") as caught:
        measure.function(y[present], proba[present])
    assert "2 labels, [0, 1], but y_proba has 3 columns" in str(caught.value)
