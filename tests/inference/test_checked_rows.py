"""Tests and intervals measure samples that are checked already, and call no public function."""

import functools
import pickle

import numpy as np
import pytest

from skcal.inference import (
    calibration_test,
    calibration_test_from_summary,
    confidence_interval,
    confidence_interval_from_summary,
)
from skcal.metrics import MEASURES
from skcal.streaming import CalibrationSummary
from tests.cases import slow_among
from tests.inference.samples import draw_binary, draw_classes

QUICK = {"n_resamples": 9, "random_state": 0}


@pytest.fixture(params=slow_among(MEASURES, "lower_calibration_distance"))
def name(request, monkeypatch):
    """A measure of the table whose function must not be called."""
    row = MEASURES[request.param]

    @functools.wraps(row.function)
    def refuse(*rows, **options):
        raise AssertionError("the machinery came through the door of the users")

    monkeypatch.setitem(MEASURES, request.param, type("Closed", (row,), {}, function=refuse))
    return request.param


@pytest.mark.parametrize(
    "draw",
    [draw_binary, pytest.param(lambda rng, n: draw_classes(rng, n, 3), marks=pytest.mark.slow)],
)
def test_of_rows(rng, name, draw):
    rows = draw(rng, 60)
    assert 0 < calibration_test(*rows, statistic=name, **QUICK).pvalue <= 1
    for method in ("cross-fit", "percentile"):
        found = confidence_interval(*rows, measure=name, method=method, **QUICK)
        assert found.low <= found.high


@pytest.mark.parametrize(
    "name",
    slow_among([n for n, row in MEASURES.items() if row.reduces], "lower_calibration_distance"),
    indirect=True,
)
def test_of_cells(rng, name):
    y, proba = draw_binary(rng, 60)
    summary = CalibrationSummary(n_cells=64).update(y, proba.round(1))
    assert 0 < calibration_test_from_summary(summary, statistic=name, **QUICK).pvalue <= 1
    found = confidence_interval_from_summary(summary, measure=name, **QUICK)
    assert found.low <= found.estimate <= found.high


@pytest.mark.parametrize("row", MEASURES.values(), ids=MEASURES)
def test_rows_of_the_table_go_to_other_processes(row):
    assert pickle.loads(pickle.dumps(row)) == row


def test_random_numbers_of_a_measure_are_those_of_one_function(rng):
    """The sample and all draws are compared by the same features, whoever calls."""
    rows, options = draw_binary(rng, 60), {"method": "fourier", "n_terms": 5}
    found = [
        calibration_test(*rows, statistic="kernel_calibration_error", **options, **QUICK)
        for _ in range(2)
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("measure", [name for name, row in MEASURES.items() if not row.reduces])
def test_vectors_whose_first_label_is_positive(rng, measure):
    """Which of two labels is called positive does not matter to a measure of vectors."""
    y, proba = draw_binary(rng, 80)
    rows = y, np.column_stack([1 - proba, proba])
    options = {"measure": measure, "n_resamples": 9, "random_state": 0}
    found = confidence_interval(*rows, labels=[0, 1], pos_label=0, **options)
    np.testing.assert_allclose(found, confidence_interval(*rows, **options), atol=1e-12)
