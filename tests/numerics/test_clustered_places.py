"""How many rows clusters tell as much as, at several places."""

import numpy as np
import pytest
from scipy.stats import norm, t

from skcal._numerics.curves._kernel_regression import share_on_kernel
from skcal._numerics.inference._clustered_places import share_in_clusters


def count_directly(kernel, member, residuals, level):
    """Share at one place, from the rows as they are."""
    names, mass = np.unique(member), kernel.sum()
    gaps = residuals - kernel @ residuals / mass
    parts = np.array([kernel[member == c].sum() for c in names]) / mass
    pulls = np.array([kernel[member == c] @ gaps[member == c] for c in names]) / mass
    squares = (kernel / mass) ** 2
    variance = ((pulls / (1 - parts)) ** 2).sum() + squares.sum() * (parts**2).sum()
    of_rows = squares @ gaps**2 + squares.sum() ** 2
    degrees, high = 1 / (parts**2).sum() - 1, (1 + level) / 2
    share = of_rows / variance * (norm.ppf(high) / t.ppf(high, degrees)) ** 2
    return np.clip(share, squares.sum() / (parts**2).sum(), 1.0)


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.8])
def test_definition_in_bins_and_under_a_kernel(correlation, rng):
    member = rng.integers(40, size=500)
    v, weights = rng.random(500), rng.exponential(size=500)
    latent = np.where(rng.random(500) < correlation, rng.random(40)[member], rng.random(500))
    residuals = (latent < v) - v
    kind = rng.integers(3, size=500)
    found = share_in_clusters(member, kind, weights, residuals, 0.9)
    expected = [count_directly(weights * (kind == k), member, residuals, 0.9) for k in range(3)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    # Rows are moved to nodes that are a sixteenth of the bandwidth apart.
    for bandwidth in (0.05, 0.3, 5.0):
        found = share_on_kernel((v, residuals, weights / weights.sum()), member, bandwidth, 5, 0.9)
        for place, share in zip(np.linspace(0, 1, 5), found, strict=True):
            images = (
                place - v[:, None] + np.arange(-40, 41, 2),
                place + v[:, None] + np.arange(-40, 41, 2),
            )
            kernel = sum(norm.pdf(image, scale=bandwidth).sum(axis=1) for image in images)
            expected = count_directly(weights * kernel, member, residuals, 0.9)
            assert share == pytest.approx(expected, rel=0.03)


def test_a_cluster_tells_as_much_as_one_row_at_least(rng):
    """Twelve copies of each row, and what is far from all rows but those of one cluster."""
    v = np.repeat(0.2 * rng.random(50), 12)
    member, residuals = np.repeat(np.arange(50), 12), np.repeat(rng.random(50) < 0.5, 12) - v
    found = share_in_clusters(member, np.zeros(600, dtype=int), np.ones(600), residuals, 0.95)
    assert found == pytest.approx(1 / 12)
    found = share_on_kernel((v, residuals, np.full(600, 1 / 600)), member, 0.01, 11, 0.95)
    np.testing.assert_allclose(found, 1 / 12, rtol=1e-9)


def test_nothing_moves_or_weighs():
    """Clusters count as one row each without any event; places without mass have all rows."""
    member, kind = np.repeat(np.arange(30), 4), np.zeros(120, dtype=int)
    found = share_in_clusters(member, kind, np.ones(120), np.zeros(120), 0.95)
    assert found == pytest.approx(1 / 4)
    weights = np.where(np.arange(120) < 60, 1.0, 1e-200)
    found = share_in_clusters(member, kind + (weights < 1), weights, np.zeros(120), 0.95)
    np.testing.assert_allclose(found, 1 / 4)
    found = share_in_clusters(
        member,
        kind,
        weights,
        np.zeros(120),
        0.95,
        n_places=2,
        blocks=[(np.arange(2), np.array([[0.0, 1.0]]))],
    )
    np.testing.assert_allclose(found, [1.0, 1 / 4])


def test_a_level_that_is_rounded_to_one(rng):
    member, residuals = np.repeat(np.arange(20), 3), rng.normal(size=60)
    (share,) = share_in_clusters(member, np.zeros(60, dtype=int), np.ones(60), residuals, 1.0)
    assert share == pytest.approx(1 / 3)  # one row for each cluster
