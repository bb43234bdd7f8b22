"""Properties that every measure of the table must have."""

import inspect
from itertools import product

import numpy as np
import pytest

from skcal._input._reduction import REDUCTIONS, reduce_to_samples
from skcal.metrics import MEASURES
from tests.measures import ACCURACY, MAXIMUM, READ_COUNTS

every_measure = pytest.mark.parametrize("measure", MEASURES.values(), ids=list(MEASURES))

rng = np.random.default_rng(7)
# Labels in {0, 1} and probabilities with ties, mass at 0 and 1, and miscalibration.
P = np.concatenate([rng.random(60), np.round(rng.random(60), 1), [0, 0, 1, 1]])
Y = (rng.random(len(P)) < P**1.5).astype(int)
BOTH = np.column_stack([1 - P, P])
# Column numbers and probabilities of three classes.
P3 = rng.dirichlet([1, 1, 1], size=120)
Y3 = np.array([rng.choice(3, p=p) for p in 0.5 * P3 + 0.5 / 3])
COUNTS = rng.integers(0, 4, len(P))
FRACTIONS = rng.random(len(P)) + 0.1
SOME = rng.choice([0.0, 0.5, 2.0], size=len(P))
SOFT = rng.random(len(P))


def assert_close(found, expected, atol=1e-12):
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def check_range(measure, value):
    """The value lies in the range that the row of the table declares, and is not 0."""
    assert type(value) is float
    most = MAXIMUM.get(measure.name, 1)
    assert (-most if measure.is_signed else 0) <= value <= most
    assert value != 0 or measure.is_signed


@every_measure
def test_a_float_in_its_range_whatever_holds_the_rows(measure):
    """The same answer again, of arrays of any memory and type, which are left as they were.

    Nothing is lost where they have few bits: in half precision a thousand rows already would be.
    """
    given = np.tile(Y, 5), np.tile(P, 5).astype(np.float16), np.tile(COUNTS, 5)
    expected = measure.function(*given[:2], sample_weight=given[2].astype(float))
    check_range(measure, expected)
    for dtypes in ("i8 f8 f8", "i1 f2 u1", "u1 f4 f2", "f2 f8 >i8", "? g f4", ">f8 >f8 g"):
        rows = [a.astype(t) for a, t in zip(given, dtypes.split(), strict=True)]
        for y, proba, weights in (rows, [np.repeat(a, 3)[::-3][::-1] for a in rows]):
            before = [array.copy() for array in (y, proba, weights)]
            value = measure.function(y, proba, sample_weight=weights)
            assert_close(value, expected, atol=1e-14)
            for array, copy in zip((y, proba, weights), before, strict=True):
                np.testing.assert_array_equal(array, copy)
                array.flags.writeable = False
            assert measure.function(y, proba, sample_weight=weights) == value
    three = np.full((len(Y), 3), [0.5, 0.25, 0.25])
    expected = measure.function(Y, three, labels=[0, 1, 2])
    for order in (np.asfortranarray(three, dtype=np.float16), three[:, ::-1].copy()[:, ::-1]):
        assert measure.function(Y, order, labels=[0, 1, 2]) == expected


@every_measure
def test_order_of_rows_and_of_columns_does_not_matter(measure):
    order = np.argsort(SOFT)
    assert_close(
        measure.function(Y[order], P[order], sample_weight=COUNTS[order]),
        measure.function(Y, P, sample_weight=COUNTS),
    )
    names, turned = np.array(["ant", "bee", "cat"]), [2, 0, 1]
    for option in [{"reduction": r} for r in REDUCTIONS] if measure.reduces else [{}]:
        labelled = {"labels": names[turned], **option}
        found = measure.function(names[Y3], P3[:, turned], **labelled)
        assert_close(found, measure.function(Y3, P3, **option))


@every_measure
def test_names_of_labels_do_not_matter(measure):
    for names in (("no", "yes"), (False, True), (-1, 1), (2.0, 7.5)):
        renamed, expected = np.array(names)[Y], measure.function(Y, P)
        assert measure.function(renamed, P, pos_label=names[1]) == expected
        assert measure.function(renamed.astype(object), P, labels=list(names)) == expected
        if names in ((False, True), (-1, 1)):
            assert measure.function(renamed, P) == expected


@every_measure
def test_layouts_of_binary_probabilities(measure):
    expected = measure.function(Y, P)
    assert measure.function(Y, P[:, None]) == expected
    assert measure.function(Y, BOTH) == expected
    assert measure.function(Y, BOTH[:, ::-1], labels=[1, 0], pos_label=1) == expected
    assert measure.function(np.where(Y == 1, "b", "a"), BOTH) == expected
    assert_close(measure.function(Y, BOTH, pos_label=0), measure.function(1 - Y, 1 - P))


@every_measure
def test_integer_weight_is_repetition_zero_is_absence_and_one_is_none(measure):
    some = SOME > 0
    for (y, proba, weight), (other_y, other_proba, other) in (
        ((Y, P, COUNTS), (np.repeat(Y, COUNTS), np.repeat(P, COUNTS), None)),
        ((Y, P, SOME), (Y[some], P[some], SOME[some])),
        ((Y, P, [1] * len(Y)), (Y, P, None)),
    ):
        found = measure.function(y, proba, sample_weight=weight)
        assert_close(found, measure.function(other_y, other_proba, sample_weight=other))


@every_measure
def test_only_ratios_of_weights_matter(measure):
    for scale in (7, 1e150, 1e-300):
        if measure.name in READ_COUNTS:
            pytest.skip("the measure reads weights as counts")
        found = measure.function(Y, P, sample_weight=FRACTIONS * scale)
        assert_close(found, measure.function(Y, P, sample_weight=FRACTIONS))


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
def test_single_row(measure):
    for label, prediction in ((0, 0.3), (1, 0.3), (1, 0.0), (0, 1.0)):
        for weight in (None, [0.2]):
            check_range(measure, measure.function([label], [prediction], sample_weight=weight))


@every_measure
def test_single_class(measure):
    for label in (0, 1):
        value = measure.function(np.full(len(P), label), P)
        check_range(measure, value)
        text = np.full(len(P), ["no", "yes"][label])
        assert measure.function(text, P, pos_label="yes") == value
        assert measure.function(text, BOTH, labels=["no", "yes"]) == value


@every_measure
def test_soft_label_is_a_weighted_pair_of_labels(measure):
    labels, weights = np.repeat([1, 0], len(P)), np.concatenate([SOFT, 1 - SOFT])
    expected = measure.function(labels, np.tile(P, 2), sample_weight=weights)
    assert_close(measure.function(SOFT, P), expected, ACCURACY.get(measure.name, 1e-12))


@pytest.mark.parametrize("name", [name for name, measure in MEASURES.items() if measure.reduces])
def test_reductions_are_means_over_their_samples(name):
    """Of which test_reduction.py tests the rows; top labels count by their weight."""
    function = MEASURES[name].function
    default = inspect.signature(function).parameters["reduction"].default
    rows = ((Y3, P3, FRACTIONS[:120]), (Y, BOTH, FRACTIONS), (Y, P, None))
    for (y, proba, weights), reduction in product(rows, [*REDUCTIONS, None]):
        samples = reduce_to_samples(y, proba, sample_weight=weights, reduction=reduction or default)
        values = [
            function(one.outcomes, one.predictions, sample_weight=one.weights, reduction="auto")
            for one in samples
        ]
        shares = [one.total_weight for one in samples] if reduction == "top-label" else None
        option = {} if reduction is None else {"reduction": reduction}
        found = function(y, proba, sample_weight=weights, **option)
        assert_close(found, np.average(values, weights=shares))
    one = function(Y3 == 1, P3[:, 1], sample_weight=FRACTIONS[:120], reduction="auto")
    options = {"pos_label": 1, "reduction": "auto"}
    assert function(Y3, P3, sample_weight=FRACTIONS[:120], **options) == one


@every_measure
def test_missing_class_is_fine_when_columns_are_named(measure):
    present = Y3 < 2
    check_range(measure, measure.function(Y3[present], P3[present], labels=[0, 1, 2]))
    with pytest.raises(ValueError, match=r"labels=") as caught:
        measure.function(Y3[present], P3[present])
    assert "2 labels, [0, 1], but y_proba has 3 columns" in str(caught.value)
