"""What a row, or a cluster of rows, may add to a value: of rows, of clusters, or in between."""

import numpy as np
import pytest

from skcal._input._reduction import Predictions
from skcal._sources._bound_measure import bind_measure
from skcal._sources._cross_fit import RowParts
from skcal._sources._resamples import Units
from skcal._sources._row_source import FEW_ROWS, RowSource

MEMBER = np.arange(40) // 4


@pytest.mark.parametrize(
    ("effect", "part"), [(None, 1 / 10), (1.0, 1 / 40), (2.5, 1 / 16), (0.5, 1 / 40), (9.0, 1 / 10)]
)
def test_unit_is_that_of_rows_times_the_effect(effect, part):
    """At least that of single rows, at most that of clusters whose rows are all alike."""
    parts = RowParts(Units(40, MEMBER), np.full(40, 3.0), effect=effect)
    assert parts.unit == pytest.approx(part)
    assert parts.largest_unit == pytest.approx(1 / 10)


def find_units(y, v, member):
    rows = Predictions(v, y, None)
    statistic = bind_measure("measure", "smooth_ece", {}, reduction="auto")
    parts = RowSource(statistic, rows, True, Units(len(y), member)).make_residuals().parts
    return parts.unit, parts.largest_unit


@pytest.mark.parametrize("n_rows", [1200, FEW_ROWS + 4])  # these are merged
def test_it_is_the_design_effect_where_sums_are_nearly_normal(n_rows, rng):
    member = np.arange(n_rows) // 20
    v = np.full(n_rows, 0.5)
    y = (rng.random(n_rows) < v).astype(int)
    sums = np.bincount(member, y - v)
    effect = max(sums @ sums / (n_rows / 4), 1.0)
    unit, largest = find_units(y, v, member)
    assert unit == pytest.approx(effect / n_rows)
    assert largest == pytest.approx(np.sum(np.bincount(member) ** 2.0) / n_rows**2)
    # All outcomes of a cluster are alike.
    y = (rng.random(member.max() + 1) < 0.5).astype(int)[member]
    assert find_units(y, v, member)[0] == pytest.approx(largest)


def test_a_cluster_of_rare_events_may_be_all_events():
    y = (np.arange(1200) % 400 == 0).astype(int)
    unit, largest = find_units(y, np.full(1200, 0.0025), np.arange(1200) // 20)
    assert unit == largest


def test_few_clusters_may_be_of_rows_that_are_all_alike(rng):
    y = rng.integers(2, size=400)
    unit, largest = find_units(y, np.full(400, 0.5), np.arange(400) // 25)
    assert unit == largest == pytest.approx(1 / 16)
