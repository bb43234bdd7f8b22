"""Bounds by betting: the capital by a loop, its mean over all sequences, and how tight it is."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from skcal._numerics.monitoring._betting import choose_bets, find_lower_bound, log_capital

FLOORS = np.array([0.25, 1.0])


def draw_gains(rng, n_rounds=60):
    return rng.uniform(-1, 1.3, (2, n_rounds)) * FLOORS[:, None]


def test_bets_and_capital_by_a_loop(rng):
    gains, goal, m = draw_gains(rng), np.log(20), 0.1
    expected = np.zeros(60)
    for floor, row in zip(FLOORS, gains, strict=True):
        capital, squares = 1.0, 0.05 * floor**2
        for t, gain in enumerate(row):
            bet = np.sqrt(2 * (goal + np.log(2)) / 60 / (squares / (t + 1)))
            capital *= 1 + min(bet, 0.75 / (floor + m)) * (gain - m)
            squares += gain**2
            expected[t] += capital / 2
    found = np.exp(log_capital(gains, FLOORS, choose_bets(gains, FLOORS, goal), m))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_capital_falls_as_the_bound_grows(rng):
    for _ in range(20):
        gains = draw_gains(rng)
        bets = choose_bets(gains, FLOORS, np.log(20))
        capital = [log_capital(gains, FLOORS, bets, m) for m in np.linspace(0, 1.3, 40)]
        assert (np.diff(capital, axis=0) < 0).all()


@pytest.mark.parametrize(
    ("low", "high", "share"),
    [(-1.0, 1.2, 0.5), pytest.param(-1.0, 9.0, 0.2, marks=pytest.mark.slow)],
)
def test_a_fair_game_over_all_sequences(low, high, share):
    """At the true mean capital does not grow, above it falls, and few bounds exceed the mean."""
    floors, mean = np.array([1.0]), (1 - share) * low + share * high
    wins = np.array(list(product([False, True], repeat=8)))
    mass = np.where(wins, share, 1 - share).prod(axis=1)
    for level in (0.5, 0.8):
        bounds, fair, unfair = [], 0.0, 0.0
        for gains, weight in zip(np.where(wins, high, low)[:, None], mass, strict=True):
            bets = choose_bets(gains, floors, -np.log1p(-level))
            fair += weight * np.exp(log_capital(gains, floors, bets, mean))
            unfair += weight * np.exp(log_capital(gains, floors, bets, mean + 0.3))
            bounds.append(find_lower_bound(gains, floors, level))
        np.testing.assert_allclose(fair, 1, rtol=1e-12)
        assert (np.diff(unfair) < 0).all()
        assert 0 < mass[np.array(bounds) > mean].sum() <= 1 - level


def test_bounds_of_many_rounds_are_near_the_mean(rng):
    """Within 1.4 of the distance of the normal bound, which is no bound of few rounds."""
    gains = rng.uniform(-1, 1.4, (2, 10**5)) * FLOORS[:, None]
    distance = norm.ppf(0.95) * gains[1].std() / np.sqrt(10**5)
    bound = find_lower_bound(gains, FLOORS, 0.95)
    assert gains[1].mean() - 2 * distance < bound < gains[1].mean()
    assert find_lower_bound(gains, FLOORS, 0.999) < bound < find_lower_bound(gains, FLOORS, 0.5)


def test_nothing_to_be_won():
    assert find_lower_bound(np.empty((2, 0)), FLOORS, 0.95) == 0
    assert find_lower_bound(np.zeros((2, 50)), FLOORS, 0.95) == 0
    assert find_lower_bound(np.full((2, 50), -0.25), FLOORS, 0.95) == 0
