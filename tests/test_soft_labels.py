"""Soft labels of several classes count as copies of each row, weighted by the probabilities."""

import numpy as np
import pandas as pd
import pytest

from skcal import metrics
from skcal.diagrams import ReliabilityDisplay
from skcal.inference import multinomial_recalibration, squared_kernel_calibration_test
from skcal.metrics import calibration_decomposition, expected_calibration_error, smooth_ece
from skcal.recalibration import AutoRecalibration, PlattScaling, TemperatureScaling
from skcal.refinement import recalibration_gain
from skcal.report import calibration_report
from skcal.shift import PriorShift
from tests.recalibration.family import CLASSES, make
from tests.test_compatibility import CALLS

rng = np.random.default_rng(0)
N_ROWS = 60
PROBA = rng.dirichlet([1, 1, 1], N_ROWS)
SHARES = rng.dirichlet([0.6, 0.6, 0.6], N_ROWS)
SHARES[::3, 0] = 0
SHARES[1::3, :2] = 0
SHARES /= SHARES.sum(axis=1, keepdims=True)
WEIGHTS = rng.integers(0, 4, N_ROWS)
ROWS, LABELS = np.nonzero(SHARES)
COPIES = SHARES[ROWS, LABELS]
NAMES = ["expected_calibration_error", "maximum_calibration_error", "adaptive_calibration_error"]
NAMES += ["smooth_ece", "corp_decomposition", "cumulative_calibration_error"]
REDUCTIONS = ["auto", "confidence", "classwise", "top-label", "full"]
weighted = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])


def doc_of_y_true(name):
    """What the docstring of a measure says of `y_true`, up to the next argument."""
    doc = getattr(getattr(metrics, name, None), "__doc__", None)
    return doc and doc.partition("y_true : ")[2].partition(" : ")[0]


def copy_weights(weights):
    return COPIES if weights is None else COPIES * weights[ROWS]


@weighted
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("name", NAMES)
def test_measures(name, reduction, weights):
    """smooth_ece is within 1e-8 of the exact value either way."""
    function = getattr(metrics, name)
    found = function(SHARES, PROBA, sample_weight=weights, reduction=reduction)
    copies = {"sample_weight": copy_weights(weights), "labels": [0, 1, 2]}
    expected = function(LABELS, PROBA[ROWS], **copies, reduction=reduction)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


@weighted
@pytest.mark.parametrize("loss", ["brier", "log"])
@pytest.mark.parametrize("estimator", ["kernel", "binned", "isotonic"])
def test_decompositions(estimator, loss, weights):
    options = {"estimator": estimator, "loss": loss}
    found = calibration_decomposition(SHARES, PROBA, sample_weight=weights, **options)
    copies = {"sample_weight": copy_weights(weights), "labels": [0, 1, 2]}
    expected = calibration_decomposition(LABELS, PROBA[ROWS], **copies, **options)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    "name", [name for name in CALLS if "or (n_samples, n_classes)\n" in (doc_of_y_true(name) or "")]
)
def test_what_is_documented_is_taken(name):
    call, arrays = CALLS[name]
    call(**arrays | {"y_true": arrays["y_proba"][::-1]})


def test_true_probabilities_leave_no_error():
    assert expected_calibration_error(PROBA, PROBA) == pytest.approx(0, abs=1e-15)
    assert smooth_ece(PROBA, PROBA, reduction="classwise") == pytest.approx(0, abs=1e-8)


def test_certain_labels_are_labels():
    labels = SHARES.argmax(axis=1)
    for one_hot in (np.eye(3)[labels], np.eye(3, dtype=bool)[labels], np.eye(3)[labels].tolist()):
        for reduction in REDUCTIONS:
            found = expected_calibration_error(one_hot, PROBA, reduction=reduction)
            expected = expected_calibration_error(labels, PROBA, reduction=reduction)
            assert found == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    "function",
    [
        calibration_report,
        multinomial_recalibration,
        recalibration_gain,
        squared_kernel_calibration_test,
    ],
)
def test_where_outcomes_are_needed_one_hot_rows_are_named_as_such(function):
    """Nobody need draw labels from them, as from soft labels."""
    labels, pair = SHARES.argmax(axis=1), np.column_stack([1 - PROBA[:, 0], PROBA[:, 0]])
    for proba, one_hot in ((PROBA, np.eye(3)[labels]), (pair, np.eye(2)[labels.clip(max=1)])):
        for y_true in (one_hot, one_hot.astype(int), pd.DataFrame(one_hot == 1)):
            with pytest.raises(ValueError, match=r"got one-hot rows. .* numpy.argmax\(y_true, axi"):
                function(y_true, proba)


def test_two_columns_are_those_of_the_second():
    pair, shares = (np.column_stack([1 - p[:, 0], p[:, 0]]) for p in (PROBA, SHARES))
    expected = smooth_ece(SHARES[:, 0], PROBA[:, 0])
    assert smooth_ece(shares, pair) == pytest.approx(expected, rel=1e-12)


def test_tables():
    labels = ["a", "b", "c"]
    true, predicted = (pd.DataFrame(table, columns=labels) for table in (SHARES, PROBA))
    assert smooth_ece(true, predicted) == smooth_ece(SHARES, PROBA)
    with pytest.raises(ValueError, match="must have the same order"):
        smooth_ece(true, predicted[["c", "a", "b"]])
    with pytest.raises(ValueError, match="must have the same order"):
        TemperatureScaling().fit(predicted[["c", "a", "b"]], true)


def test_a_diagram():
    shown = ReliabilityDisplay.from_predictions(SHARES, PROBA)
    assert shown.curves[0].smooth_ece == smooth_ece(SHARES, PROBA)


def with_hole(table):
    table = table.copy()
    table[3, 1] = np.nan
    return table


@pytest.mark.parametrize(
    ("true", "message"),
    [
        (SHARES[:, :2], "y_true must be one-dimensional"),
        (2 * SHARES, "y_true must be one-dimensional"),
        (SHARES - [1, -1, 0], "y_true must be one-dimensional"),
        (with_hole(SHARES), r"y_true must lie in \[0, 1\]; got nan at row 3"),
        (np.where(SHARES > 0, "a", "b"), "y_true must be one-dimensional"),
    ],
)
def test_what_is_no_matrix_of_probabilities(true, message):
    with pytest.raises(ValueError, match=message):
        smooth_ece(true, PROBA)
    with pytest.raises(ValueError, match=r"y must|X has 3 columns"):
        TemperatureScaling().fit(PROBA, true)


@pytest.mark.filterwarnings("ignore:The accuracy on the fitted rows")
@pytest.mark.parametrize("R", [R for R in CLASSES if R is not AutoRecalibration])
def test_maps(R):
    """A row of weight 4 and quarters as soft labels is like four rows with a label each."""
    counts = np.random.default_rng(1).multinomial(4, [0.5, 0.3, 0.2], size=N_ROWS)
    model = make(R).fit(PROBA, counts / 4, np.full(N_ROWS, 4))
    rows, labels = np.nonzero(counts)
    rows, labels = (np.repeat(part, counts[rows, labels]) for part in (rows, labels))
    expected = make(R).fit(PROBA[rows], labels)
    np.testing.assert_allclose(
        model.predict_proba(PROBA), expected.predict_proba(PROBA), rtol=0, atol=1e-6
    )


def test_rates_of_soft_labels():
    found = PriorShift().fit(PROBA, SHARES, WEIGHTS).prior_train_
    np.testing.assert_allclose(found, np.average(SHARES, axis=0, weights=WEIGHTS), rtol=1e-12)


def test_labels_of_columns_are_named():
    model = PlattScaling(classes=["c", "a", "b"]).fit(PROBA, SHARES)
    plain = PlattScaling().fit(PROBA, SHARES)
    assert model.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(plain.classes_, [0, 1, 2])
    np.testing.assert_allclose(model.transform(PROBA), plain.transform(PROBA), atol=1e-9)
    single = PlattScaling().fit(PROBA[:, :1], np.column_stack([1 - SHARES[:, 0], SHARES[:, 0]]))
    assert single.classes_.tolist() == [0, 1]


def test_folds_take_no_copies():
    with pytest.raises(ValueError, match="y must be one-dimensional"):
        AutoRecalibration().fit(PROBA, SHARES)
