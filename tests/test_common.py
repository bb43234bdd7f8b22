"""Properties that every measure of the table must have."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
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
def test_returns_a_float_in_its_range(measure, binary):
    check_range(measure, measure.function(*binary))


@every_measure
def test_same_answer_again_and_inputs_unchanged(measure, binary, weights):
    y, proba = binary
    before = y.copy(), proba.copy(), weights.copy()
    first = measure.function(y, proba, sample_weight=weights)
    assert measure.function(y, proba, sample_weight=weights) == first
    for array, copy in zip((y, proba, weights), before, strict=True):
        np.testing.assert_array_equal(array, copy)


@every_measure
def test_read_only_and_strided_inputs(measure, binary):
    y, proba = binary
    expected = measure.function(y, proba)
    y.flags.writeable = proba.flags.writeable = False
    assert measure.function(y, proba) == expected
    assert measure.function(np.repeat(y, 2)[::2], np.repeat(proba, 3)[::3]) == expected


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
@pytest.mark.parametrize(
    "names",
    [("no", "yes"), (False, True), (-1, 1), (3, 8), (0.0, 1.0), (2.0, 7.5)],
    ids=str,
)
def test_names_of_labels_do_not_matter(measure, binary, names):
    y, proba = binary
    renamed = np.array(names)[y]
    expected = measure.function(y, proba)
    assert measure.function(renamed, proba, pos_label=names[1]) == expected
    assert measure.function(renamed, proba, labels=names) == expected
    assert measure.function(renamed.astype(object), proba, labels=list(names)) == expected
    if names in ((False, True), (-1, 1), (0, 1)):
        assert measure.function(renamed, proba) == expected


@every_measure
def test_layouts_of_binary_probabilities(measure, binary):
    y, proba = binary
    both = np.column_stack([1 - proba, proba])
    expected = measure.function(y, proba)
    assert measure.function(y, proba[:, None]) == expected
    assert measure.function(y[:, None], both) == expected
    assert measure.function(y, np.asfortranarray(both)) == expected
    assert measure.function(y, both[:, ::-1], labels=[1, 0], pos_label=1) == expected
    text = np.where(y == 1, "b", "a")
    assert measure.function(text, both) == expected
    np.testing.assert_allclose(
        measure.function(y, both, pos_label=0), measure.function(1 - y, 1 - proba), **TOLERANCE
    )


@every_measure
@pytest.mark.parametrize(
    "convert",
    [list, tuple, pd.Series, pl.Series, lambda a: pd.Series(a, index=a.argsort())],
    ids=["list", "tuple", "pandas", "polars", "pandas-odd-index"],
)
def test_containers_of_rows(measure, binary, weights, convert):
    y, proba = binary
    assert measure.function(
        convert(y), convert(proba), sample_weight=convert(weights)
    ) == measure.function(y, proba, sample_weight=weights)


@every_measure
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, np.ndarray.tolist])
def test_containers_of_columns(measure, multiclass, frame):
    y, proba = multiclass
    text = np.array(["ant", "bee", "cat"])[y]
    expected = measure.function(y, proba)
    assert measure.function(y.tolist(), frame(proba)) == expected
    assert measure.function(pd.Series(text), frame(proba)) == expected
    assert measure.function(pd.Series(text, dtype="category"), frame(proba)) == expected
    assert measure.function(pl.Series(text.tolist()), frame(proba)) == expected


@every_measure
@pytest.mark.parametrize("dtype", ["Int64", "int8", "uint8", "boolean", "Float64"])
def test_pandas_label_types(measure, binary, dtype):
    y, proba = binary
    series = pd.Series(y).astype(dtype)
    expected = measure.function(y, proba)
    assert measure.function(series, pd.Series(proba, dtype="Float64")) == expected


@every_measure
def test_integer_weight_is_repetition(measure, binary, weights):
    y, proba = binary
    np.testing.assert_allclose(
        measure.function(y, proba, sample_weight=weights),
        measure.function(np.repeat(y, weights), np.repeat(proba, weights)),
        **TOLERANCE,
    )


@every_measure
def test_zero_weight_is_absence(measure, binary, rng):
    y, proba = binary
    weights = rng.choice([0.0, 0.5, 2.0], size=len(y))
    present = weights > 0
    np.testing.assert_allclose(
        measure.function(y, proba, sample_weight=weights),
        measure.function(y[present], proba[present], sample_weight=weights[present]),
        **TOLERANCE,
    )


@every_measure
@pytest.mark.parametrize("scale", [1e-3, 7, 1e150, 1e-300])
def test_only_ratios_of_weights_matter(measure, binary, rng, scale):
    if measure.name in READ_COUNTS:
        pytest.skip("the measure reads weights as counts")
    y, proba = binary
    weights = rng.random(len(y)) + 0.1
    np.testing.assert_allclose(
        measure.function(y, proba, sample_weight=weights * scale),
        measure.function(y, proba, sample_weight=weights),
        **TOLERANCE,
    )


@every_measure
def test_weights_of_one_are_no_weights(measure, binary):
    y, proba = binary
    for ones in (np.ones(len(y)), np.ones(len(y), dtype=np.uint8), [1] * len(y)):
        np.testing.assert_allclose(
            measure.function(y, proba, sample_weight=ones), measure.function(y, proba), **TOLERANCE
        )


@every_measure
def test_perfect_forecasts_score_zero(measure):
    y = np.array([0, 1, 1, 0, 1])
    assert measure.function(y, y.astype(float)) == 0
    assert measure.function(y, y) == 0
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
    for weight in (None, [0.2], [5]):
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
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.longdouble])
def test_other_float_types_are_computed_in_double_precision(measure, binary, dtype):
    y, proba = binary
    proba = proba.astype(np.float16 if dtype == np.float16 else np.float32).astype(dtype)
    assert measure.function(y, proba) == measure.function(y, proba.astype(np.float64))
    # Accumulated in half precision, a thousand rows would already be lost.
    many = np.full(5000, 0.1, dtype=dtype)
    assert measure.function(np.zeros(5000), many) == measure.function(
        np.zeros(5000), many.astype(np.float64)
    )


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


@every_reducing_measure
def test_reductions_are_what_they_say(measure, multiclass, rng):
    y, proba = multiclass
    weights = rng.random(len(y)) + 0.5
    top = proba.argmax(axis=1)
    rows = [top == k for k in range(3)]

    def measure_binary(outcomes, predictions, weights=weights):
        return measure.function(outcomes, predictions, sample_weight=weights, reduction="auto")

    expected = {
        "confidence": measure_binary(top == y, proba.max(axis=1)),
        "classwise": np.mean([measure_binary(y == k, proba[:, k]) for k in range(3)]),
        "top-label": np.average(
            [measure_binary(y[r] == k, proba[r, k], weights[r]) for k, r in enumerate(rows)],
            weights=[weights[r].sum() for r in rows],
        ),
        "full": measure_binary(np.eye(3)[y].ravel(), proba.ravel(), np.repeat(weights, 3)),
    }
    assert set(expected) | {"auto"} == set(REDUCTIONS)
    expected["auto"] = expected["confidence"]
    for reduction, value in expected.items():
        np.testing.assert_allclose(
            measure.function(y, proba, sample_weight=weights, reduction=reduction),
            value,
            **TOLERANCE,
        )
    default = inspect.signature(measure.function).parameters["reduction"].default
    np.testing.assert_allclose(
        measure.function(y, proba, sample_weight=weights), expected[default], **TOLERANCE
    )
    assert measure.function(
        y, proba, sample_weight=weights, pos_label=1, reduction="auto"
    ) == measure_binary(y == 1, proba[:, 1])


@every_reducing_measure
def test_predicted_labels_without_rows_count_for_nothing(measure):
    proba = [[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.1, 0.8, 0.1], [0.2, 0.5, 0.3]]
    value = measure.function([0, 1, 2, 1], proba, reduction="top-label")
    parts = [
        measure.function([1, 0], [0.7, 0.6], reduction="auto"),
        measure.function([0, 1], [0.8, 0.5], reduction="auto"),
    ]
    assert value == pytest.approx(np.mean(parts), abs=1e-12)
    weighted = measure.function(
        [0, 1, 2, 1], proba, sample_weight=[1, 1, 0, 0], reduction="top-label"
    )
    assert weighted == pytest.approx(parts[0], abs=1e-12)


@every_reducing_measure
def test_binary_reductions(measure, binary):
    y, proba = binary
    both = np.column_stack([1 - proba, proba])
    top = both.argmax(axis=1)  # a tie goes to the first label
    rows = [top == k for k in (0, 1)]

    def measure_binary(outcomes, predictions):
        return measure.function(outcomes, predictions, reduction="auto")

    expected = {
        "confidence": measure_binary(top == y, both.max(axis=1)),
        "classwise": np.mean([measure_binary(y == k, both[:, k]) for k in (0, 1)]),
        "top-label": np.average(
            [measure_binary(y[r] == k, both[r, k]) for k, r in enumerate(rows)],
            weights=[r.sum() for r in rows],
        ),
        "full": measure_binary(np.eye(2)[y].ravel(), both.ravel()),
    }
    for reduction, value in expected.items():
        for layout in (proba, both):
            for names in ((0, 1), ("no", "yes")):
                np.testing.assert_allclose(
                    measure.function(np.array(names)[y], layout, labels=names, reduction=reduction),
                    value,
                    **TOLERANCE,
                )


@every_measure
def test_missing_class_is_fine_when_columns_are_named(measure, multiclass):
    y, proba = multiclass
    present = y < 2
    value = measure.function(y[present], proba[present], labels=[0, 1, 2])
    check_range(measure, value)
    with pytest.raises(ValueError, match=r"labels=") as caught:
        measure.function(y[present], proba[present])
    assert "2 labels, [0, 1], but y_proba has 3 columns" in str(caught.value)


@every_measure
def test_unknown_option_is_a_type_error(measure, binary):
    with pytest.raises(TypeError):
        measure.function(*binary, bins=3)
