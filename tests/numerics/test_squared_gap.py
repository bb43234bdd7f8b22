"""Squared gaps summed at the nodes of a grid: against sums over all pairs of rows."""

import numpy as np
import pytest

from skcal._numerics.cells._grid import sum_moments
from skcal._numerics.errors import _decomposition as kernels
from skcal._numerics.errors._bregman import mean_outcome
from skcal._numerics.errors._squared_gap import (
    CELLS,
    average_epanechnikov,
    average_gaussian,
    sum_at_nodes,
)

CASES = {
    "uniform": lambda rng, n: rng.random(n),
    "near the ends": lambda rng, n: rng.beta(0.1, 0.1, n),
    "a crowd and stragglers": lambda rng, n: np.where(
        rng.random(n) < 0.99, 0.3 + 1e-3 * rng.random(n), rng.random(n)
    ),
    "ends": lambda rng, n: rng.choice([0.0, 1.0, np.nextafter(1, 0), 5e-324, 0.5], n),
}
every_case = pytest.mark.parametrize("case", CASES)


def draw_masses(rng, n):
    weight = rng.exponential(1, n) ** 3
    y = rng.random(n) < 0.4
    return weight[:, None] * np.column_stack([y, ~y])


def measure_directly(places, masses, bandwidth, kernel):
    sums = kernels.sum_directly(places, places, masses, bandwidth, kernel)
    gaps = mean_outcome(*sums.T) - places
    return np.average(gaps**2, weights=masses.sum(axis=1))


def read_cells(places, masses, bandwidth):
    n_cells = int(np.ceil(CELLS / bandwidth))
    placed = places * CELLS / (bandwidth * n_cells)
    return np.stack([sum_moments([(placed, m.copy())], n_cells, order=3) for m in masses.T])


@every_case
@pytest.mark.parametrize("bandwidth", [0.001, 0.05, 30.0])
def test_gaussian_stays_within_its_bound(rng, case, bandwidth):
    places, masses = CASES[case](rng, 600), draw_masses(rng, 600)
    n_cells = kernels.count_cells(bandwidth)
    placed = kernels.place_on_grid(places, n_cells)
    moments = [sum_moments([(placed, m.copy())], n_cells + 2, order=4) for m in masses.T]
    expected = measure_directly(places, masses, bandwidth, kernels.gaussian_kernel)
    value = average_gaussian(moments, bandwidth)
    assert value == pytest.approx(expected, abs=2e-8 * (1 + 1 / bandwidth))


def bound_directly(places, masses, bandwidth):
    """The bound of the docstring, cell by cell, from sums over all rows at the ends of the cell."""
    length, mass, error = bandwidth / CELLS, masses.sum(axis=1), 0.0
    cells = np.minimum((places / length).astype(int), np.ceil(CELLS / bandwidth) - 1)
    for cell in np.unique(cells):
        ends = np.array([cell, cell + 1]) * length
        sums = kernels.sum_directly(ends, places, masses, bandwidth, kernels.epanechnikov_kernel)
        (g0, g1), (d0, d1) = mean_outcome(*sums.T) - ends, sums.sum(axis=1)
        away = np.abs(cells - cell)
        slack = mass @ ((away <= CELLS) / CELLS**2 / 4 + (away == CELLS) / CELLS / 2)
        least, off = min(d0, d1) - slack, 1.0
        if least > 0:
            # The regression is a ratio of two sums, each within `slack` of its chord, and the
            # ratio of two chords is off its own by |d1 - d0| |r1 - r0| / (4 least), r = g + place.
            rise = abs(g1 - g0) + length
            off = min(1.0, (2 * slack + abs(d1 - d0) * rise / 4) / least)
        # (g + off)^2 against the chord of g^2, which is off by a quarter of the squared step.
        worst = 2 * max(abs(g0), abs(g1)) * off + off**2 + (g1 - g0) ** 2 / 4
        error += mass[cells == cell].sum() * worst
    return error / mass.sum()


@every_case
@pytest.mark.parametrize("bandwidth", [0.05, 0.3, 1.0, 30.0])
def test_epanechnikov_knows_its_error(rng, case, bandwidth):
    """The error is that of the docstring, and not exceeded; sums at nodes are direct sums."""
    sample = CASES[case](rng, 300), draw_masses(rng, 300), bandwidth
    moments = read_cells(*sample)
    nodes = np.arange(moments.shape[2] + 1) * bandwidth / CELLS
    direct = kernels.sum_directly(nodes, *sample, kernels.epanechnikov_kernel)
    np.testing.assert_allclose(
        sum_at_nodes(moments).T, direct, rtol=0, atol=1e-11 * sample[1].sum()
    )
    value, error = average_epanechnikov(moments, bandwidth)
    expected = measure_directly(*sample, kernels.epanechnikov_kernel)
    assert abs(value - expected) <= error + 1e-12
    assert error == pytest.approx(bound_directly(*sample), rel=1e-8)


@pytest.mark.parametrize("crowd", [20.0, 200.0, 2000.0])
def test_error_of_a_row_just_one_bandwidth_from_a_crowd(crowd):
    """Its regression is known but roughly, to less than nothing, and not at all."""
    sample = np.array([0.5, CELLS + 0.5]) / (4 * CELLS), np.diag([1.0, crowd]), 0.25
    _, error = average_epanechnikov(read_cells(*sample), 0.25)
    assert error == pytest.approx(bound_directly(*sample), rel=1e-8)
    # At the end of its reach a crowd comes and goes within a cell: a grid is worst, and says so.
    sample = np.array([0.2502, 0.2502 + 0.25 * (1 - 0.4 / CELLS)]), np.eye(2), 0.25
    value, error = average_epanechnikov(read_cells(*sample), 0.25)
    assert 1e-5 < abs(value - measure_directly(*sample, kernels.epanechnikov_kernel)) <= error
