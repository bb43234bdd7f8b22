"""The measure of the rows lies within the bound of the answer of a summary, whatever the rows."""

import numpy as np
import pytest

from skcal._estimates._measure import Measure
from skcal.metrics import MEASURES, smooth_ece
from skcal.streaming import CalibrationSummary
from tests.streaming.calls import CALLS, ask, measure_rows

# Answered only as long as no cell holds two different predictions.
ALONE = [
    ("interval_calibration_error", {}),
    ("adaptive_calibration_error", {"n_bins": 7}),
    ("expected_calibration_error", {"strategy": "quantile"}),
    ("expected_calibration_error", {"strategy": "sweep"}),
    ("squared_calibration_error", {}),
    ("smooth_ece", {"scale": "logit"}),
]
every_call = pytest.mark.parametrize("call", CALLS, ids=str)


def draw_case(seed):
    """Rows of one of many kinds, and a number of cells that is small for them."""
    rng = np.random.default_rng(seed)
    n_cells = int(2 ** rng.integers(4, 9))
    n_rows = int(rng.integers(1, 60) if rng.random() < 0.7 else rng.integers(60, 1000))
    uniform = rng.random(n_rows)
    predictions = [
        uniform,
        np.round(uniform, 2),
        np.round(uniform * n_cells) / n_cells,  # edges of cells
        (rng.integers(0, 3, n_rows) + uniform) / n_cells,  # few cells
        np.clip(np.round(uniform * 15) / 15 + rng.choice([-1e-9, 0, 1e-9], n_rows), 0, 1),
        rng.choice([0, 1, 1 / 3, 0.3, 0.3 + 1e-13, 0.7], n_rows),  # almost equal
        rng.beta(0.1, 0.1, n_rows),
    ][rng.integers(7)]
    place = predictions * n_cells % 1
    drawn, soft = rng.random(n_rows) < predictions, rng.random(n_rows)
    in_order = place < 0.5  # sorted within cells, the worst that can be
    outcomes = [drawn, in_order, place > soft, soft, np.full(n_rows, rng.integers(2))]
    counts = rng.integers(0, 4, n_rows) + (np.arange(n_rows) == 0)
    weights = [None, counts, 10 ** rng.uniform(-4, 4, n_rows)][rng.integers(3)]
    return (outcomes[rng.integers(5)].astype(float), predictions, weights), n_cells


def draw_rows(n_rows, digits=17):
    rng = np.random.default_rng(5)
    proba = np.round(rng.random(n_rows), digits)
    return (rng.random(n_rows) < proba**1.3).astype(int), proba, None


# The first case has more cells than measures take exactly.
CASES = [(draw_rows(40_000), 2**14), *(draw_case(seed) for seed in range(40, 100))]
SUMMARIES = [CalibrationSummary(n_cells=n_cells).update(*rows) for rows, n_cells in CASES]


@every_call
def test_rows_lie_within_the_bound(call):
    (name, options), used = call, 0.0
    step = 4 if name == "lower_calibration_distance" else 1  # which takes its time
    for (rows, _), summary in zip(CASES[::step], SUMMARIES[::step], strict=True):
        bound = summary.error_bound(name, **options)
        error = abs(ask(summary, call) - measure_rows(rows, call))
        assert error <= bound
        used = max(used, error / bound) if error else used
    # A bound that is far from all that happens would pass as well.
    assert used > 0.01 or name in ("smooth_ece", "squared_calibration_error") or "n_bins" in options


@pytest.mark.parametrize("call", CALLS + ALONE, ids=str)
def test_predictions_that_are_alone_in_their_cells_are_kept_exactly(call):
    y, proba, _ = draw_rows(2000, digits=4)
    # Rows of weight zero move the grid of the lower distance.
    weights = np.random.default_rng(2).integers(0 if call in ALONE else 1, 4, len(y))
    name, options = call
    summary = CalibrationSummary().update(y, proba, weights)
    accuracy = 2e-3 if name == "lower_calibration_distance" else 2e-6
    assert summary.error_bound(name, **options) <= accuracy + 1e-12
    reduction = {"reduction": "auto"} if name == "adaptive_calibration_error" else {}
    batch = measure_rows((y, proba, weights), (name, options | reduction))
    assert abs(ask(summary, call) - batch) <= 1e-12
    if call in ALONE:
        summary.update([1, 0], [0.500001, 0.500002])
        with pytest.raises(
            ValueError, match="only as long as no cell holds two different predictions"
        ):
            ask(summary, call)


CURVES = [
    ("integrated_calibration_index", {"curve": curve, "quantile": quantile})
    for curve in ("local", "isotonic", "smooth", "spline")
    for quantile in (None, 0.9, 1)
]


@pytest.mark.parametrize("call", CALLS + ALONE + CURVES, ids=str)
def test_the_bound_includes_the_accuracy_of_the_measure(rng, call):
    """Rows and cells are the same predictions in another order, which some curves answer apart."""
    name, options = call
    own = options | ({"reduction": "auto"} if name == "adaptive_calibration_error" else {})
    for weights in (None, rng.integers(1, 4, 300)):
        y, proba, _ = draw_rows(300, digits=3)
        summary = CalibrationSummary().update(y, proba, weights)
        error = abs(ask(summary, call) - measure_rows((y, proba, weights), (name, own)))
        assert error <= summary.error_bound(name, **options)


@pytest.mark.parametrize("n_bins", [1, 2, 8, 64])
def test_bins_of_whole_cells_are_exact(rng, n_bins):
    proba = np.concatenate([rng.random(5000), rng.integers(0, 65, 500) / 64])
    rows = (rng.random(len(proba)) < proba).astype(int), proba, None
    summary = CalibrationSummary(n_cells=64).update(*rows)
    for name in ("expected_calibration_error", "maximum_calibration_error"):
        call = name, {"n_bins": n_bins}
        assert summary.error_bound(name, n_bins=n_bins) <= 1.1e-12
        assert ask(summary, call) == pytest.approx(measure_rows(rows, call), abs=1e-12)


def test_the_bound_of_smooth_ece_is_small():
    assert SUMMARIES[0].error_bound("smooth_ece") <= 1e-5


def test_measure_without_a_bound(monkeypatch):
    """It is that of the rows where each cell has one prediction, and else refused."""
    row = MEASURES["smooth_ece"]
    own = {"bound": Measure.bound, "refuse": Measure.refuse}
    monkeypatch.setitem(MEASURES, "smooth_ece", type("Unbounded", (row,), own, function=smooth_ece))
    summary = CalibrationSummary(n_cells=16).update([0, 1], [0.26, 0.5])
    assert summary.measure("smooth_ece") == pytest.approx(smooth_ece([0, 1], [0.26, 0.5]), abs=1e-6)
    with pytest.raises(ValueError, match="smooth_ece cannot be computed: no bound is known"):
        summary.update([1], [0.27]).measure("smooth_ece")
