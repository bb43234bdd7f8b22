"""The measure of the rows lies within the bound of the answer of a summary, whatever the rows."""

import numpy as np
import pytest

from skcal._cells._cell_measures import CELL_MEASURES
from skcal.metrics import MEASURES
from skcal.streaming import CalibrationSummary
from tests.streaming.calls import CALLS, ask, measure_rows

every_call = pytest.mark.parametrize("call", CALLS, ids=str)


def draw_predictions(rng, kind, n_rows, n_cells):
    """Predictions of one of many kinds, hard ones for cells among them."""
    uniform = rng.random(n_rows)
    if kind == "rounded":
        return np.round(uniform, 2)
    if kind == "edges of cells":
        return np.round(uniform * n_cells) / n_cells
    if kind == "few cells":
        return (rng.integers(0, 3, n_rows) + uniform) / n_cells
    if kind == "edges of bins":
        near = np.round(uniform * 15) / 15 + rng.choice([-1e-9, 0, 1e-9], n_rows)
        return np.clip(near, 0, 1)
    if kind == "almost equal":
        return rng.choice([0, 1, 1 / 3, 0.3, 0.3 + 1e-13, 0.7], n_rows)
    if kind == "extreme":
        return rng.beta(0.1, 0.1, n_rows)
    return uniform


def draw_outcomes(rng, kind, predictions, n_cells):
    """Outcomes of one of many kinds; those sorted within cells are the worst that can be."""
    place = predictions * n_cells % 1
    if kind == "sorted in cells":
        return (place < 0.5) * 1.0
    if kind == "tilted in cells":
        return (place > rng.random(len(place))) * 1.0
    if kind == "soft":
        return rng.random(len(place))
    if kind == "one class":
        return np.full(len(place), float(rng.integers(2)))
    return (rng.random(len(place)) < predictions) * 1.0


def draw_weights(rng, kind, n_rows):
    if kind == "counts":
        return rng.integers(0, 4, n_rows) + (np.arange(n_rows) == 0)
    if kind == "heavy":
        return 10 ** rng.uniform(-4, 4, n_rows)
    return None


def draw_case(seed):
    """Rows and a number of cells that is small for them."""
    rng = np.random.default_rng(seed)
    n_cells = int(2 ** rng.integers(4, 9))
    n_rows = int(rng.integers(1, 60) if rng.random() < 0.7 else rng.integers(60, 1000))
    places = ["plain", "rounded", "edges of cells", "few cells", "edges of bins", "almost equal"]
    predictions = draw_predictions(rng, rng.choice([*places, "extreme"]), n_rows, n_cells)
    kinds = ["plain", "sorted in cells", "tilted in cells", "soft", "one class"]
    outcomes = draw_outcomes(rng, rng.choice(kinds), predictions, n_cells)
    weights = draw_weights(rng, rng.choice(["none", "counts", "heavy"]), n_rows)
    return (outcomes, predictions, weights), n_cells


CASES = [draw_case(seed) for seed in range(120)]
SUMMARIES = [CalibrationSummary(n_cells=n_cells).update(*rows) for rows, n_cells in CASES]


@every_call
def test_rows_lie_within_the_bound(call):
    name, options = call
    used = 0.0
    for (rows, _), summary in zip(CASES, SUMMARIES, strict=True):
        bound = summary.error_bound(name, **options)
        error = abs(ask(summary, call) - measure_rows(rows, call))
        assert 0 < error <= bound or error == 0
        used = max(used, error / bound)
    # A bound that is far from all that happens would pass as well.
    assert used > 0.01 or name in ("smooth_ece", "squared_calibration_error") or "n_bins" in options


@every_call
@pytest.mark.parametrize("kind", ["miscalibrated", "calibrated", "rare", "sharp"])
def test_default_size(call, kind):
    rng = np.random.default_rng(5)
    proba = rng.random(40_000)
    if kind == "rare":
        proba = 0.01 * proba
    elif kind == "sharp":
        proba = rng.beta(0.2, 0.2, len(proba))
    y = rng.random(len(proba)) < (proba**1.3 if kind == "miscalibrated" else proba)
    rows = y.astype(int), proba, None
    name, options = call
    summary = CalibrationSummary().update(*rows)
    bound = summary.error_bound(name, **options)
    assert abs(ask(summary, call) - measure_rows(rows, call)) <= bound
    if call == ("smooth_ece", {}):
        assert bound <= 1e-5


@every_call
def test_predictions_that_are_alone_in_their_cells_are_kept_exactly(call):
    rng = np.random.default_rng(2)
    proba = np.round(rng.random(5000), 4)
    rows = (rng.random(5000) < proba).astype(int), proba, rng.integers(1, 4, 5000)
    name, options = call
    summary = CalibrationSummary().update(*rows)
    tolerance = 2 * options.get("tol", 1e-3) if name == "lower_calibration_distance" else 2e-6
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
@pytest.mark.parametrize("weighted", [False, True])
def test_without_shared_cells_everything_is_answered(name, options, weighted):
    rng = np.random.default_rng(4)
    proba = np.round(rng.random(400), 2)
    weights = rng.integers(0, 3, 400) if weighted else None
    rows = (rng.random(400) < proba).astype(int), proba, weights
    if name == "adaptive_calibration_error":
        options = options | {"reduction": "auto"}
    batch = MEASURES[name].function(rows[0], proba, sample_weight=weights, **options)
    options.pop("reduction", None)
    summary = CalibrationSummary().update(*rows)
    assert abs(summary.measure(name, **options) - batch) <= summary.error_bound(name, **options)
    assert summary.error_bound(name, **options) <= 2.1e-6
    summary.update([1, 0], [0.500001, 0.500002])
    with pytest.raises(ValueError, match="only while no cell holds two different predictions"):
        summary.measure(name, **options)


def test_bins_of_whole_cells_are_exact():
    rng = np.random.default_rng(6)
    proba = np.concatenate([rng.random(5000), rng.integers(0, 65, 500) / 64])
    y = (rng.random(len(proba)) < proba).astype(int)
    summary = CalibrationSummary(n_cells=64).update(y, proba)
    for n_bins in (1, 2, 8, 64):
        for name in ("expected_calibration_error", "maximum_calibration_error"):
            assert summary.error_bound(name, n_bins=n_bins) <= 1.1e-12
            batch = MEASURES[name].function(y, proba, n_bins=n_bins)
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
        if "n_bins" not in options or options["n_bins"] not in (16, 64):
            assert fine.error_bound(name, **options) < coarse.error_bound(name, **options)


def test_measure_without_a_bound(monkeypatch):
    monkeypatch.delitem(CELL_MEASURES, "smooth_ece")
    with pytest.raises(ValueError, match="smooth_ece has no bound yet"):
        CalibrationSummary().update([0, 1], [0.25, 0.5]).measure("smooth_ece")
