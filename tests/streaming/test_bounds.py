"""The measure of the rows lies within the bound of the answer of a summary, whatever the rows."""

import numpy as np
import pytest

from skcal._cells._cell_measures import CELL_MEASURES
from skcal.streaming import CalibrationSummary
from tests.streaming.calls import CALLS, ask, measure_rows

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
    outcomes = [
        rng.random(n_rows) < predictions,
        place < 0.5,  # sorted within cells, the worst that can be
        place > rng.random(n_rows),
        rng.random(n_rows),  # soft
        np.full(n_rows, rng.integers(2)),
    ][rng.integers(5)]
    weights = [
        None,
        rng.integers(0, 4, n_rows) + (np.arange(n_rows) == 0),
        10 ** rng.uniform(-4, 4, n_rows),
    ][rng.integers(3)]
    return (outcomes.astype(float), predictions, weights), n_cells


CASES = [draw_case(seed) for seed in range(40, 100)]
SUMMARIES = [CalibrationSummary(n_cells=n_cells).update(*rows) for rows, n_cells in CASES]


@every_call
def test_rows_lie_within_the_bound(call):
    name, options = call
    used = 0.0
    step = 4 if name == "lower_calibration_distance" else 1  # which takes its time
    for (rows, _), summary in zip(CASES[::step], SUMMARIES[::step], strict=True):
        bound = summary.error_bound(name, **options)
        error = abs(ask(summary, call) - measure_rows(rows, call))
        assert error <= bound
        used = max(used, error / bound) if error else used
    # A bound that is far from all that happens would pass as well.
    assert used > 0.01 or name in ("smooth_ece", "squared_calibration_error") or "n_bins" in options


@every_call
def test_more_cells_than_measures_take_exactly(call):
    name, options = call
    rng = np.random.default_rng(5)
    proba = rng.random(40_000)
    rows = (rng.random(40_000) < proba**1.3).astype(int), proba, None
    summary = CalibrationSummary().update(*rows)
    error = abs(ask(summary, call) - measure_rows(rows, call))
    assert error <= summary.error_bound(name, **options)


@every_call
def test_predictions_that_are_alone_in_their_cells_are_kept_exactly(call):
    rng = np.random.default_rng(2)
    proba = np.round(rng.random(2000), 4)
    rows = (rng.random(2000) < proba).astype(int), proba, rng.integers(1, 4, 2000)
    name, options = call
    summary = CalibrationSummary().update(*rows)
    tolerance = 2e-3 if name == "lower_calibration_distance" else 2e-6
    assert summary.error_bound(name, **options) <= tolerance + 1e-12
    assert abs(ask(summary, call) - measure_rows(rows, call)) <= 1e-12


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("interval_calibration_error", {}),
        ("adaptive_calibration_error", {"n_bins": 7}),
        ("expected_calibration_error", {"strategy": "quantile"}),
        ("expected_calibration_error", {"strategy": "sweep"}),
        ("squared_calibration_error", {}),
        ("smooth_ece", {"scale": "logit"}),
    ],
)
def test_without_shared_cells_everything_is_answered(name, options):
    rng = np.random.default_rng(4)
    proba = np.round(rng.random(400), 2)
    rows = (rng.random(400) < proba).astype(int), proba, rng.integers(0, 3, 400)
    reduction = {"reduction": "auto"} if name == "adaptive_calibration_error" else {}
    batch = measure_rows(rows, (name, options | reduction))
    summary = CalibrationSummary().update(*rows)
    assert abs(summary.measure(name, **options) - batch) <= summary.error_bound(name, **options)
    assert summary.error_bound(name, **options) <= 2.1e-6
    summary.update([1, 0], [0.500001, 0.500002])
    with pytest.raises(ValueError, match="only while no cell holds two different predictions"):
        summary.measure(name, **options)


def test_bins_of_whole_cells_are_exact():
    rng = np.random.default_rng(6)
    proba = np.concatenate([rng.random(5000), rng.integers(0, 65, 500) / 64])
    rows = (rng.random(len(proba)) < proba).astype(int), proba, None
    summary = CalibrationSummary(n_cells=64).update(*rows)
    for n_bins in (1, 2, 8, 64):
        for name in ("expected_calibration_error", "maximum_calibration_error"):
            assert summary.error_bound(name, n_bins=n_bins) <= 1.1e-12
            batch = measure_rows(rows, (name, {"n_bins": n_bins}))
            assert summary.measure(name, n_bins=n_bins) == pytest.approx(batch, abs=1e-12)


def test_bounds_are_attained():
    """Outcomes sorted within one cell: the cumulative sum goes all the way up before it falls."""
    proba = np.array([0.5 + 1e-6, 0.5 + 2e-6])
    summary = CalibrationSummary(n_cells=16).update([1, 0], proba)
    call = "cumulative_calibration_error", {"deviation": "max"}
    error = abs(ask(summary, call) - measure_rows(([1, 0], proba, None), call))
    assert error == pytest.approx(summary.error_bound(call[0], deviation="max"), rel=1e-5)


def test_more_cells_give_smaller_bounds():
    rng = np.random.default_rng(8)
    proba = rng.random(20_000)
    y = (rng.random(20_000) < proba).astype(int)
    coarse, fine = (CalibrationSummary(n_cells=n).update(y, proba) for n in (2**8, 2**14))
    for name, options in CALLS:
        if options.get("n_bins") != 16:
            assert fine.error_bound(name, **options) < coarse.error_bound(name, **options)
    assert fine.error_bound("smooth_ece") <= 1e-5


def test_measure_without_a_bound(monkeypatch):
    monkeypatch.delitem(CELL_MEASURES, "smooth_ece")
    with pytest.raises(ValueError, match="smooth_ece has no bound yet"):
        CalibrationSummary().update([0, 1], [0.25, 0.5]).measure("smooth_ece")
