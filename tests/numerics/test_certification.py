"""A promise is broken with the probability that it states, at most, whatever the predictions."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from skcal._numerics.inference import _certification as module
from skcal._numerics.inference._certification import (
    choose_one_each,
    find_betting_pvalues,
    find_binary_pvalues,
    find_rejected,
    find_stakes,
    is_any_rejected,
    plan_rows,
    sort_places,
    split_level,
    trace_accepted,
)

ALPHA, LIMIT, N = 0.2, 0.3, 10
SCORES = {
    "spread": np.linspace(1, 0.1, N),
    "sure": np.linspace(1, 0.9, N),
    "unsure": np.linspace(0.6, 0.5, N),
    "ties": np.repeat([0.95, 0.8, 0.3], [4, 3, 3]),
    "alike": np.full(N, 0.8),
}
# Chances of a loss, from the largest prediction on.
CHANCES = {
    "on the edge": np.full(N, LIMIT + 1e-9),
    "falling": np.linspace(0.6, 0.02, N),
    "rising": np.linspace(0.05, 0.95, N),
    "some surely": np.repeat([0.0, 1.0, 0.0], [3, 2, 5]),
    "just beyond": np.concatenate([np.full(5, 0.29), np.full(5, 0.33)]),
}


def certify(scores, losses, limit, alpha, member=None, *, is_binary=True):
    """The last place that is promised, or 0, and the numbers of rows at all places."""
    path, stakes = trace(scores, losses, member)
    pvalues = find_binary_pvalues(path, limit) if is_binary else find_betting_pvalues(stakes, limit)
    is_rejected = find_rejected(pvalues.__getitem__, split_level(path, limit, alpha))
    return np.flatnonzero(is_rejected).max(initial=-1) + 1, path.counts.astype(int)


def trace(scores, losses, member=None):
    """Counts of rows and their losses at all places, and what is bet on them."""
    places = sort_places(scores)
    weights = 1.0 if member is None else module.weigh_in_clusters(member)
    stakes = find_stakes(places, weights, weights * losses, member)
    return trace_accepted(places, losses, 1 - scores, 1.0), stakes


def sum_false_promises(
    scores, chances, outcomes, probabilities, limit=LIMIT, alpha=ALPHA, **options
):
    """Probability that the mean chance above the threshold exceeds the limit."""
    total = 0.0
    for losses, probability in zip(outcomes, probabilities, strict=True):
        place, counts = certify(scores, losses, limit, alpha, **options)
        if place and chances[: counts[place - 1]].mean() > limit:
            total += probability
    return total


@pytest.mark.parametrize("is_binary", [True, False])
@pytest.mark.parametrize("chances", CHANCES.values(), ids=CHANCES)
@pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES)
def test_all_outcomes(scores, chances, is_binary):
    outcomes = np.array(list(product([0.0, 1.0], repeat=N)))
    probabilities = np.where(outcomes == 1, chances, 1 - chances).prod(axis=1)
    assert probabilities.sum() == pytest.approx(1)
    found = sum_false_promises(scores, chances, outcomes, probabilities, is_binary=is_binary)
    assert found <= ALPHA


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("limit", [0.5, 0.78, 0.93, 0.985])
@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.4])
def test_limits_next_to_one(n, limit, alpha):
    """All rows but one are surely lost: the binomial law is no bound of such outcomes."""
    last = n * (limit + 1e-9) - (n - 1)
    for chances in ([*np.ones(n - 1), max(last, 0)], np.full(n, limit + 1e-9)):
        chances = np.array(chances)
        outcomes = np.array(list(product([0.0, 1.0], repeat=n)))
        probabilities = np.where(outcomes == 1, chances, 1 - chances).prod(axis=1)
        rows = np.full(n, 0.5), chances, outcomes, probabilities
        assert sum_false_promises(*rows, limit, alpha) <= alpha


@pytest.mark.parametrize("chances", ["on the edge", "falling", "rising"])
def test_all_outcomes_of_clusters(chances):
    """Rows of a cluster are lost together: the first with the last, and so on."""
    member = np.minimum(np.arange(N), N - 1 - np.arange(N))
    chance = CHANCES[chances][:5]
    outcomes = np.array(list(product([0.0, 1.0], repeat=5)))
    probabilities = np.where(outcomes == 1, chance, 1 - chance).prod(axis=1)
    options = {"member": member, "is_binary": False}
    rows = SCORES["spread"], chance[member], outcomes[:, member]
    assert sum_false_promises(*rows, probabilities, **options) <= ALPHA


def test_binary_pvalues_are_binomial():
    rng = np.random.default_rng(0)
    scores, losses = rng.random(60).round(1), rng.integers(2, size=60).astype(float)
    path, _ = trace(scores, losses)
    expected = [
        binomtest(int(k), int(n), 0.4, alternative="less").pvalue if k <= 0.4 * n - 1 else 1.0
        for k, n in zip(path.losses, path.counts, strict=True)
    ]
    np.testing.assert_allclose(find_binary_pvalues(path, 0.4), expected, rtol=1e-12)


def test_betting_by_its_definition():
    rng = np.random.default_rng(1)
    scores, losses, member = rng.random(40).round(1), rng.random(40), rng.integers(9, size=40)
    for own, size in ((None, np.ones(40)), (member, np.bincount(member))):
        found = find_betting_pvalues(trace(scores, losses, own)[1], 0.4)
        for value, pvalue in zip(np.unique(scores)[::-1], found, strict=True):
            kept = scores >= value
            unit = np.arange(40) if own is None else member
            gains = np.bincount(unit[kept], 0.4 - losses[kept], len(size)) / size
            bets = module._BETS / 0.6
            wealth = np.mean([np.prod(1 + bet * gains) for bet in bets])
            assert pvalue == pytest.approx(min(1, 1 / wealth))


def test_clusters_of_one_row_are_rows():
    rng = np.random.default_rng(2)
    scores, losses = rng.random(50), rng.random(50)
    clusters, rows = (trace(scores, losses, member)[1] for member in (rng.permutation(50), None))
    found = find_betting_pvalues(clusters, 0.4)
    np.testing.assert_allclose(found, find_betting_pvalues(rows, 0.4))
    places = np.array([3, 0, 40])
    np.testing.assert_array_equal(find_betting_pvalues(clusters, 0.4, places), found[places])


def test_fallback_by_hand():
    parts = np.array([0.01, 0, 0.02, 0, 0.03])
    for pvalues, last in (
        ([0.005, 0.01, 0.03, 0.03, 0.06], 5),  # what is passed on adds up
        ([0.005, 0.02, 0.02, 0.03, 0.031], 3),  # nothing comes from a rejection that failed
        ([0.02, 0, 0.03, 0, 0.03], 5),
        ([0.02, 0, 0.03, 0, 0.031], 0),
        ([0.01, 0.011, 0.02, 0.02, 0.05], 5),
    ):
        pvalues = np.array(pvalues)
        found = np.flatnonzero(find_rejected(pvalues.__getitem__, parts))
        assert found.max(initial=-1) + 1 == last
        assert is_any_rejected(pvalues.__getitem__, parts) == (last > 0)


@pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES)
def test_parts_share_the_level(scores):
    path, _ = trace(scores, np.zeros(N))
    parts = split_level(path, LIMIT, ALPHA)
    assert (parts >= 0).all()
    assert parts.sum() == pytest.approx(ALPHA)


def test_planned_rows_have_their_power():
    rng = np.random.default_rng(3)
    scores = 0.5 + 0.5 * rng.random(5000)
    path, _ = trace(scores, np.zeros(5000))
    n = int(plan_rows(path, 0.1, 0.05, 0.8))
    found = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        drawn = rng.choice(scores, n)
        found += certify(drawn, (rng.random(n) < 1 - drawn).astype(float), 0.1, 0.05)[0] > 0
    # A normal approximation of the power of the main part.
    assert binom.ppf(0.001, 200, 0.72) <= found <= binom.ppf(0.999, 200, 0.88)


def find_holm(path, limit, alpha):
    """Coverage by Holm's method at a hundred thresholds."""
    places = np.unique(np.searchsorted(path.counts, np.linspace(1, path.counts[-1], 100)))
    pvalues = find_binary_pvalues(path, limit, places)
    order = np.argsort(pvalues)
    passed = pvalues[order] <= alpha / np.arange(len(order), 0, -1)
    n_passed = len(passed) if passed.all() else int(passed.argmin())
    return path.counts[places[order[:n_passed]]].max(initial=0)


POPULATIONS = {
    "calibrated": lambda v: 1 - v,
    "over-confident": lambda v: 1 - 0.7 * v - 0.15,
    "under-confident": lambda v: (1 - v) ** 1.5,
    "on the edge": lambda v: np.full(len(v), 0.1),
    "worse where it is surer": lambda v: np.where(v > 0.95, 0.4, 0.08),
}


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 500, 2000])
@pytest.mark.parametrize("find_chance", POPULATIONS.values(), ids=POPULATIONS)
def test_populations(find_chance, n):
    """Promises of the population hold, and reach farther than Holm's method."""
    grid = -np.sort(-(0.5 + 0.5 * (np.arange(100_000) + 0.5) / 100_000))
    risks = np.cumsum(find_chance(grid)) / np.arange(1, len(grid) + 1)
    n_samples, broken, covered = 1000, 0, np.zeros(2)
    for seed in range(n_samples):
        rng = np.random.default_rng(seed)
        v = 0.5 + 0.5 * rng.random(n)
        losses = (rng.random(n) < find_chance(v)).astype(float)
        place, counts = certify(v, losses, 0.1, 0.05)
        path, _ = trace(v, losses)
        covered += counts[place - 1] if place else 0, find_holm(path, 0.1, 0.05)
        if place:
            threshold = np.sort(v)[-counts[place - 1]]
            reached = np.searchsorted(-grid, -threshold, side="right")
            broken += risks[max(reached - 1, 0)] > 0.1 + 1e-9
    assert broken <= binom.ppf(0.999, n_samples, 0.05)
    assert covered[0] >= covered[1] - 0.002 * n * n_samples


@pytest.mark.parametrize("n_rows", [2, 3, 5, 8])
def test_places_in_clusters_are_chosen_equally_often(n_rows):
    """Not by chance: what the same random numbers prefer, they prefer in every sample."""
    for n_clusters in (10, 100, 401):
        chosen = choose_one_each(np.repeat(np.arange(n_clusters), n_rows))
        assert (chosen // n_rows == np.arange(n_clusters)).all()
        counts = np.bincount(chosen % n_rows, minlength=n_rows)
        assert np.abs(counts - n_clusters / n_rows).max() <= 2


def test_places_in_clusters_of_several_sizes_are_chosen_about_equally_often():
    """Sizes that alternate, or rise and fall with the multiples of the golden ratio taken."""
    for sizes in ([2, 3], [2, 3, 5, 8], [1, 2, 2, 8]):
        size = np.resize(sizes, 1000)
        place = choose_one_each(np.repeat(np.arange(1000), size)) - np.cumsum(size) + size
        for one in set(sizes) - {1}:
            counts = np.bincount(place[size == one], minlength=one)
            assert np.abs(counts - (size == one).sum() / one).max() <= 3
