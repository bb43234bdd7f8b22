"""Lower bounds of the mean size of the error: signs that other rows chose."""

import numpy as np
import pytest

from skcal._numerics.inference._least_error import find_least_error


def find(predictions, outcomes, cell, member=None, shares=None, seed=0):
    n_rows = len(predictions)
    shares = np.full(n_rows, 1 / n_rows) if shares is None else shares
    rng = np.random.default_rng(seed)
    return find_least_error(predictions, outcomes, shares, cell, member, reach=1.645, rng=rng)


def draw(rng, n_rows, n_cells, error):
    """Cells of one prediction each, whose truth is off by an error, up or down."""
    cell = rng.integers(n_cells, size=n_rows)
    values = np.linspace(0.3, 0.7, n_cells)
    signs = rng.choice([-1, 1], n_cells)
    return values[cell], (rng.random(n_rows) < (values + error * signs)[cell]) * 1.0, cell


def test_certain_errors_have_their_size():
    """Outcomes that are all 1 for .7 and all 0 for .2 are off by .3 and .2."""
    predictions = np.repeat([0.2, 0.7], 500)
    found = find(predictions, np.repeat([0.0, 1.0], 500), np.repeat([0, 1], 500))
    assert found.size == pytest.approx(0.25)
    # As far below as Wilson's interval and a standard deviation of .05 put it.
    assert 0.24 < found.low < 0.25
    assert find(np.ones(9), np.ones(9), np.zeros(9, int)) == (0, 0)
    assert find(np.full(1, 0.5), np.ones(1), np.zeros(1, int)) == (0, 0)


@pytest.mark.parametrize(("n_cells", "error"), [(1, 0.0), (1, 0.03), (20, 0.0), (20, 0.1)])
def test_bound_is_seldom_above_the_error(n_cells, error):
    """At 5 % more than 29 of 200 have a probability below 1e-6."""
    rng = np.random.default_rng(0)
    rows = [draw(rng, 400, n_cells, error) for _ in range(200)]
    assert sum(find(*one).low > error + 1e-12 for one in rows) <= 29


def test_bound_of_clusters_is_that_of_their_number(rng):
    """Copies of rows say no more than one of each."""
    predictions, outcomes, cell = draw(rng, 300, 1, 0.2)
    single = find(predictions, outcomes, cell)
    copies = np.repeat(np.arange(300), 4)
    found = find(predictions[copies], outcomes[copies], cell[copies], member=copies)
    # The jackknife takes the rest without a cluster for the whole.
    assert found.low == pytest.approx(single.low, abs=0.003)
    assert find(predictions[copies], outcomes[copies], cell[copies]).low > found.low + 0.02


def test_neither_order_nor_sorted_outcomes_matter(rng):
    predictions, outcomes, cell = draw(rng, 500, 10, 0.1)
    first = find(predictions, outcomes, cell)
    for order in (rng.permutation(500), np.argsort(outcomes, kind="stable")):
        again = find(predictions[order], outcomes[order], cell[order])
        np.testing.assert_allclose(again, first, rtol=1e-12)


def test_errors_are_found_at_the_resolution_that_shows_them(rng):
    """One sign for all, or one for each cell: of 50 cells of 40 rows."""
    for signs in (np.ones(50), np.resize([1, -1], 50)):
        cell = np.repeat(np.arange(50), 40)
        outcomes = (rng.random(2000) < 0.5 + 0.2 * signs[cell]) * 1.0
        found = find(np.full(2000, 0.5), outcomes, cell)
        # The standard error is .011.
        assert found.size == pytest.approx(0.2, abs=0.06)
        assert found.low > 0.12
