"""The band around a risk-coverage curve covers the mean expected losses at all places at once."""

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from skcal._numerics.curves._risk_band import band_risks, choose_places


def find_means(v, expected, weights=None):
    """Mean expected losses of the rows at each distinct prediction or above, from the largest."""
    weights = np.ones(len(v)) if weights is None else weights
    places = sorted(set(v), reverse=True)
    return np.array([np.average(expected[v >= t], weights=weights[v >= t]) for t in places])


def band(v, losses, weights=None, member=None, level=0.95, are_errors=True):
    return band_risks(v, losses, weights, member, level, are_errors=are_errors)


@pytest.mark.parametrize("n_rows", [1, 2, 5, 8])
@pytest.mark.parametrize("level", [0.3, 0.5, 0.9])
def test_errors_by_enumeration(n_rows, level):
    """Errors whose band does not cover on one side have half of what is left of the level."""
    rng = np.random.default_rng(n_rows)
    outcomes = np.array(list(itertools.product([0.0, 1.0], repeat=n_rows)))
    certain = np.append(np.ones(n_rows - 1), 0.6)
    for v in (rng.random(n_rows), rng.integers(1, 4, n_rows) / 4, np.full(n_rows, 0.5)):
        low, high = np.transpose([band(v, one, level=level) for one in outcomes], (1, 0, 2))
        for chances in (
            rng.random(n_rows),
            rng.random(n_rows) ** 5,
            np.full(n_rows, 0.5),
            np.full(n_rows, 0.99),
            certain,
            1 - certain,
        ):
            means = find_means(v, chances)
            probability = np.prod(np.where(outcomes == 1, chances, 1 - chances), axis=1)
            for missed in (means < low - 1e-12, means > high + 1e-12):
                assert probability[missed.any(axis=1)].sum() <= (1 - level) / 2 + 1e-12


def test_bounds_of_all_rows_are_those_of_clopper_and_pearson():
    """Tied rows are one place, whose two ends have half of the level each."""
    for n, k in ((40, 3), (40, 0), (40, 40), (7, 7)):
        losses = np.append(np.ones(k), np.zeros(n - k))
        (low,), (high,) = band(np.full(n, 0.5), losses, level=0.9)
        if k < n:
            assert binom.cdf(k, n, high) == pytest.approx(0.05)
        if k > 0:
            assert binom.sf(k - 1, n, low) == pytest.approx(0.05)
        assert (low == 0) == (k == 0)
        assert (high == 1) == (k == n)


def test_bounds_of_losses_are_those_of_maurer_and_pontil():
    rng = np.random.default_rng(0)
    losses, weights = rng.random(300) / 3, rng.uniform(1, 2, 300)
    member = rng.permutation(300) % 90
    for w, clusters in itertools.product((None, weights), (None, member)):
        values = losses if w is None else losses * w
        mass = np.ones(300) if w is None else w
        if clusters is not None:
            values, mass = (np.bincount(clusters, one) for one in (values, mass))
        x = values / mass.max()
        told = np.log(2 / 0.05)
        radius = np.sqrt(2 * x.var(ddof=1) * told / len(x)) + 7 * told / (3 * (len(x) - 1))
        ends = (x.mean() + np.array([-radius, radius])) * len(x) * mass.max() / mass.sum()
        options = {"weights": w, "member": clusters, "level": 0.9, "are_errors": False}
        found = np.ravel(band(np.full(300, 0.5), losses, **options))
        np.testing.assert_allclose(found, np.clip(ends, 0, 1), rtol=1e-9)


def test_places_in_between_lose_little():
    """No row adds less than 0, or more than its weight: the band holds all there is to tell."""
    rng = np.random.default_rng(0)
    n = 3000
    v = np.linspace(1, 0, n)
    losses = (rng.random(n) < 0.2).astype(float)
    low, high = band(v, losses)
    seen = np.cumsum(losses) / np.arange(1, n + 1)
    assert (low <= seen).all()
    assert (seen <= high).all()
    rows = np.arange(1, n + 1)
    sums = rows * low, rows * high
    for one in sums:
        assert np.diff(one).min() > -1e-9
        assert np.diff(one).max() < 1 + 1e-9
    places = choose_places(rows)
    alpha = 0.05 / (2 * len(places))
    single = binom.isf(alpha, n, seen[-1]) / n - seen[-1]
    assert high[-1] - seen[-1] < 1.15 * single
    for k in (500, 2900):  # between places
        assert high[k] - seen[k] < 1.15 * (
            high[places[places >= k][0]] - seen[places[places >= k][0]]
        )


def test_weights_of_any_size():
    """Rows of next to no weight before the others do not change what is known of all."""
    rng = np.random.default_rng(0)
    v, losses, weights = rng.random(60) / 2, rng.random(60), rng.uniform(1, 2, 60)
    expected = np.array(band(v, losses, weights, are_errors=False))
    many = np.append(v, np.full(60, 0.9)), np.append(losses, rng.random(60))
    light = np.append(weights, np.full(60, 1e-290))
    found = np.array(band(*many, light, are_errors=False))
    np.testing.assert_allclose(found[:, 0], [0, 1])
    assert (np.ptp(found, axis=0)[1:] >= np.ptp(expected, axis=0) - 1e-12).all()


def test_rows_in_any_order_and_clusters_by_any_name():
    rng = np.random.default_rng(0)
    v, losses = rng.integers(0, 30, 200) / 30, rng.random(200)
    member, order = rng.integers(0, 50, 200), rng.permutation(200)
    names = rng.permutation(50)[member]
    for chosen in (None, member):
        expected = band(v, losses, member=chosen, are_errors=False)
        renamed = None if chosen is None else names[order]
        found = band(v[order], losses[order], member=renamed, are_errors=False)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


SIMULATED = {
    "calibrated": {},
    "over-confident": {"power": 0.3},
    "rare": {"power": 6.0},
    "ties": {"decimals": 1},
    "weights": {"weighted": True},
    "clusters": {"size": 5},
    "losses": {"are_errors": False},
    "few": {"n_rows": 12, "decimals": 1},
}


@pytest.mark.slow
@pytest.mark.parametrize("case", SIMULATED.values(), ids=list(SIMULATED))
def test_simulated_bands_cover(case):
    options = {"n_rows": 300, "power": 1.0, "decimals": 9, "size": 1, "are_errors": True} | case
    rng, n, level, n_draws = np.random.default_rng(0), options["n_rows"], 0.8, 2000
    v = rng.uniform(0.3, 1, n).round(options["decimals"])
    expected = (1 - v) ** options["power"]
    weights = rng.exponential(size=n) if "weighted" in case else None
    member = np.arange(n) // options["size"] if options["size"] > 1 else None
    means, covered = find_means(v, expected, weights), 0
    for _ in range(n_draws):
        # Rows of a cluster have the same luck.
        luck = np.repeat(rng.random(n), options["size"])[:n]
        losses = (luck < expected).astype(float)
        if not options["are_errors"]:  # beta variables of the same mean
            losses = rng.beta(2 * expected + 1e-9, 2 * (1 - expected) + 1e-9)
        low, high = band(v, losses, weights, member, level, options["are_errors"])
        covered += bool((low <= means + 1e-12).all() and (means <= high + 1e-12).all())
    assert covered / n_draws >= level - 3 * np.sqrt(level * (1 - level) / n_draws)
