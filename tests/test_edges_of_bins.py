"""Edges of bins in place of their number, wherever the strategy may be chosen."""

import json

import numpy as np
import pytest

from skcal.diagrams import ReliabilityDisplay
from skcal.inference import confidence_interval, consistency_band, hosmer_lemeshow_test
from skcal.metrics import (
    adaptive_calibration_error,
    calibration_decomposition,
    expected_calibration_error,
    maximum_calibration_error,
    squared_calibration_error,
)
from skcal.recalibration import HistogramBinning
from skcal.scorers import get_scorer
from skcal.streaming import CalibrationSummary

rng = np.random.default_rng(2)
P = np.r_[rng.random(300) ** 2, 0, 0.25, 0.25, 0.5, 1]
Y = rng.random(len(P)) < P**1.3
EDGES = [0, 0.1, 0.25, 0.5, 1]
BIN = np.searchsorted(EDGES[1:-1], P)
COUNTS, HITS, SUMS = (np.bincount(BIN, values) for values in (np.ones(len(P)), Y, P))
GAPS = np.abs(HITS - SUMS) / COUNTS
SHARES = COUNTS / len(P)
FORMS = {"list": EDGES, "tuple": tuple(EDGES), "array": np.array(EDGES)}
forms = pytest.mark.parametrize("edges", FORMS.values(), ids=FORMS)


@forms
def test_measures(edges):
    """By the definitions; a prediction on an edge belongs to the bin below it."""
    found = expected_calibration_error(Y, P, n_bins=edges)
    assert found == pytest.approx(SHARES @ GAPS, rel=1e-12)
    found = expected_calibration_error(Y, P, n_bins=edges, bin_width_penalty=True)
    assert found == pytest.approx(SHARES @ (GAPS + np.diff(EDGES)), rel=1e-12)
    found = maximum_calibration_error(Y, P, n_bins=edges)
    assert found == pytest.approx(GAPS.max(), rel=1e-12)
    found = squared_calibration_error(Y, P, n_bins=edges, debias=False)
    assert found == pytest.approx(SHARES @ GAPS**2, rel=1e-12)
    found = calibration_decomposition(Y, P, estimator="binned", n_bins=edges).calibration
    assert found == pytest.approx(SHARES @ GAPS**2, rel=1e-12)


@forms
def test_diagrams_bands_tests_and_intervals(edges):
    curve = ReliabilityDisplay.from_predictions(Y, P, kind="binned", n_bins=edges).curves[0]
    np.testing.assert_allclose(curve.prob_pred, SUMS / COUNTS, rtol=1e-12)
    np.testing.assert_allclose(curve.prob_true, HITS / COUNTS, rtol=1e-12)
    band = consistency_band(Y, P, n_bins=edges)
    np.testing.assert_allclose(band.prob_true, HITS / COUNTS, rtol=1e-12)
    assert hosmer_lemeshow_test(Y, P, n_bins=edges) == hosmer_lemeshow_test(Y, P, groups=BIN)
    options = {"n_bins": edges, "random_state": 0, "n_resamples": 19}
    found = confidence_interval(Y, P, measure="expected_calibration_error", **options)
    assert found.low <= found.high


@forms
def test_maps(edges):
    model = HistogramBinning(n_bins=edges).fit(P[:, None], Y)
    np.testing.assert_allclose(model.maps_[0].values, HITS / COUNTS, rtol=1e-12)
    again = HistogramBinning.from_dict(json.loads(json.dumps(model.to_dict())))
    np.testing.assert_array_equal(again.transform(P[:, None]), model.transform(P[:, None]))
    np.testing.assert_array_equal(again.fit(P[:, None], Y).maps_[0].edges, EDGES)


@forms
def test_summaries_and_scorers(edges):
    """Of cells that the edges do not cut."""
    summary = CalibrationSummary(n_cells=64, labels=[0, 1]).update(Y, P)
    options = {"n_bins": [0, 0.125, 0.25, 0.5, 1]}
    found = summary.measure("expected_calibration_error", **options)
    expected = expected_calibration_error(Y, P, **options)
    bound = summary.error_bound("expected_calibration_error", **options)
    assert abs(found - expected) <= bound + 1e-12
    assert get_scorer("neg_expected_calibration_error", n_bins=edges) is not None


def test_equal_widths_are_the_number():
    for function in (expected_calibration_error, maximum_calibration_error):
        assert function(Y, P, n_bins=np.arange(9) / 8) == function(Y, P, n_bins=8)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([0, 0.5], "n_bins must rise from 0 to 1 .* got"),
        ([0.1, 1], "n_bins must rise from 0 to 1"),
        ([0, 0.5, 0.5, 1], "n_bins must rise from 0 to 1"),
        ([0, np.nan, 1], "n_bins must rise from 0 to 1"),
        ([], "n_bins must rise from 0 to 1"),
        ([[0, 1]], "n_bins must rise from 0 to 1"),
        (["0", "1"], "n_bins must hold real numbers"),
        ({0: 1}, "n_bins must"),
    ],
)
def test_what_are_no_edges(edges, message):
    for function in (expected_calibration_error, consistency_band, hosmer_lemeshow_test):
        with pytest.raises(ValueError, match=message):
            function(Y, P, n_bins=edges)


def test_edges_leave_no_strategy():
    for function in (expected_calibration_error, maximum_calibration_error):
        with pytest.raises(ValueError, match="strategy must be 'uniform', its default"):
            function(Y, P, n_bins=EDGES, strategy="quantile")
    with pytest.raises(ValueError, match="strategy must be 'quantile', its default"):
        hosmer_lemeshow_test(Y, P, n_bins=EDGES, strategy="uniform")
    with pytest.raises(ValueError, match="n_bins must be an integer"):
        adaptive_calibration_error(Y, P, n_bins=EDGES)
