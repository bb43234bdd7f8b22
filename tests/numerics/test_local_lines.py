"""Local lines: their definition, in extended precision, and what moments may lose."""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit

from skcal._numerics.curves import _local_lines
from skcal._numerics.curves._local_lines import fit_local_lines
from tests.cases import slow_among


def fit_by_definition(places, weight, total, span, chosen):
    """Weighted least squares at the chosen places, from all rows, in long double."""
    v, w, mean = (np.asarray(one, np.longdouble) for one in (places, weight, total / weight))
    heights = []
    for x in v[chosen]:
        distance = np.abs(v - x)
        order = np.argsort(distance, kind="stable")
        within = np.cumsum(w[order]) >= (span - 1e-9) * w.sum()
        reach = distance[order][np.argmax(within)]
        counts = np.clip(1 - (distance / reach) ** 3, 0, None) ** 3 if reach else distance == 0
        counts = counts * w / (counts @ w)
        height, middle = counts @ mean, counts @ (v - x)
        along = v - x - middle
        spread = counts @ along**2
        slope = counts @ (along * (mean - height)) / spread if spread else 0
        heights.append(float(height - slope * middle))
    return heights


SHAPES = {
    "uniform": lambda u: u,
    "rare": lambda u: u**12,
    "decades": lambda u: np.exp(-700 * u),
    "narrow": lambda u: 0.49 + 1e-6 * u,
    "clump": lambda u: np.where(u < 0.74, 0.3 + 1e-7 * u, u),
    "three quarters": lambda u: np.where(u < 0.78, 0.3 + 1e-9 * u, u),
    "far away": lambda u: np.where(u < 0.999, 1e-3 * u, u),
    "few": lambda u: np.round(u, 1),
}


@pytest.mark.parametrize("shape", slow_among(SHAPES, "clump", "uniform", "far away"))
# From all pairs, and by moments.
@pytest.mark.parametrize("n", [1, 2, 3, 7, 300, 3000])
def test_definition(shape, n):
    for power in (0, 1, 6):  # of exponential weights
        rng = np.random.default_rng([n, power])
        places = np.unique(SHAPES[shape](rng.random(n)))
        weight = rng.exponential(size=len(places)) ** power
        total = weight * ((rng.random(len(places)) < places) - places)
        chosen = np.arange(len(places)) if n < 1000 else rng.integers(len(places), size=40)
        found = fit_local_lines(places, weight, total, 0.75)
        assert np.isfinite(found).all()
        expected = fit_by_definition(places, weight, total, 0.75, chosen)
        share = weight[chosen] / weight.max()
        # Where a row of next to no weight stands alone, its neighbours decide by rounding.
        tolerance = np.where(share > 1e-6, 1e-9, 1e-9 / share)
        assert (np.abs(found[chosen] - expected) <= tolerance).all()


@pytest.mark.parametrize("n", [300, 3000, 30_000])
def test_several_values_of_the_same_rows(n):
    """From all pairs, by moments and by interpolation."""
    rng = np.random.default_rng(n)
    places, weight = np.unique(rng.random(n) ** 3), rng.exponential(size=n)
    totals = rng.normal(size=(3, n)) * weight
    found = fit_local_lines(places, weight, totals, 0.75)
    for heights, total in zip(found, totals, strict=True):
        np.testing.assert_allclose(
            heights, fit_local_lines(places, weight, total, 0.75), rtol=0, atol=1e-12
        )


def test_lines_are_kept_and_places_without_neighbours_have_their_mean():
    places = np.sort(np.random.default_rng(0).random(5000)) ** 3
    weight = np.ones(5000)
    found = fit_local_lines(places, weight, 0.3 - 0.7 * places, 0.75)
    np.testing.assert_allclose(found, 0.3 - 0.7 * places, atol=1e-12)
    weight[2000] = 1e5
    assert fit_local_lines(places, weight, weight * (np.arange(5000) == 2000), 0.75)[2000] == 1


def test_moments_are_those_of_all_pairs(monkeypatch):
    """Where both ways are open they agree; the rows that moments leave over are few."""
    rng = np.random.default_rng(1)
    places = np.sort(expit(rng.normal(-3, 2, 2000)))
    arguments = places, np.ones(2000), rng.normal(size=2000), 0.75
    found = fit_local_lines(*arguments)
    monkeypatch.setattr(_local_lines, "_FEW_PLACES", 2000)
    np.testing.assert_allclose(found, fit_local_lines(*arguments), atol=1e-12)


MANY = {
    **{name: SHAPES[name] for name in ("uniform", "rare", "narrow", "clump", "far away")},
    "certain": lambda u: np.where(u < 0.6, 1e-4 * u**3, 1 - 1e-6 * u),
    "next to certain": lambda u: np.where(u < 0.6, 1e-3 * u, np.where(u < 0.99, 1 - 1e-3 * u, u)),
    "comb": lambda u: (np.floor(30 * u) + 1e-3 * (30 * u % 1)) / 30,
    "atoms": lambda u: np.where(u < 0.5, np.round(2 * u, 1), (u - 0.5) * 2),
}


@pytest.mark.parametrize("shape", slow_among(MANY, "uniform", "certain", "atoms"))
@pytest.mark.parametrize("power", [0, 2])  # of exponential weights
def test_many_places_are_interpolated(shape, power, monkeypatch):
    """To 1e-6 of the definition, from fewer heights than there are places."""
    rng = np.random.default_rng([1, power])
    rows = np.append(MANY[shape](rng.random(40_000)), [0.0, 1.0])
    places, place = np.unique(rows, return_inverse=True)
    row_weight = rng.exponential(size=len(rows)) ** power
    weight = np.bincount(place, row_weight)
    total = np.bincount(place, row_weight * ((rng.random(len(rows)) < rows**2) - rows))
    fit, n_points = _local_lines._fit_by_moments, []

    def count_points(*arguments):
        n_points.append(len(arguments[3]))
        return fit(*arguments)

    monkeypatch.setattr(_local_lines, "_fit_by_moments", count_points)
    found = fit_local_lines(places, weight, total, 0.75)
    assert sum(n_points) < len(places)
    heaviest = np.argsort(weight)[-5:]
    chosen = np.concatenate([[0, len(places) - 1], heaviest, rng.integers(len(places), size=20)])
    expected = fit_by_definition(places, weight, total, 0.75, chosen)
    np.testing.assert_allclose(found[chosen], expected, rtol=0, atol=1e-7)


def test_interpolation_keeps_lines():
    places = np.linspace(0, 1, 20_001)
    found = fit_local_lines(places, np.ones(20_001), 0.3 - 0.7 * places, 0.75)
    np.testing.assert_allclose(found, 0.3 - 0.7 * places, atol=1e-12)


@pytest.mark.parametrize("own", [True, False])
def test_sums_over_windows(own):
    """Against sums over all rows: what is wrong here would only be summed row by row."""
    rng = np.random.default_rng(0)
    places, mass, total = np.sort(rng.random(200)), rng.random(200), rng.normal(size=200)
    reach = rng.choice([1e-3, 0.1, 0.6], 200) * (1 + rng.random(200))
    places[:2], reach[0] = (0, 4e-26), 1e-25
    distance = (places - places[:, None]) / reach[:, None]
    counts = np.where((distance >= 0) & (distance <= 1), (1 - distance**3) ** 3, 0.0)
    counts[np.diag_indices(200)] = own
    expected = np.zeros((3, 2, 200))
    for power, value in product(range(3), range(2)):
        if power + value < 3:
            sums = counts * (mass, total)[value] * distance**power
            expected[power, value] = sums.sum(axis=1)
    side = "left" if own else "right"
    found = _local_lines._sum_onwards(places, np.stack([mass, total]), places, reach, side=side)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_weights_that_vanish_beside_the_largest():
    places, weight = np.array([0.0, 0.25, 1.0]), np.array([2.0, 5e-324, 2.0])
    found = fit_local_lines(places, weight, weight * [0.5, -1.0, 0.25], 0.75)
    np.testing.assert_allclose(found[[0, 2]], [0.5, 0.25], atol=1e-12)
    assert -1 <= found[1] <= 1
    assert fit_local_lines(places[:2], weight[:2], weight[:2] * -1.0, 0.75)[0] == -1
