"""Bets on residuals: a plain loop over rows, and factors whose expectation is exact."""

import numpy as np
import pytest
from scipy.special import expit, logit

from skcal._numerics.monitoring import _sequential_bets as bets

EXTREMES = np.array([0, 1e-300, 1e-9, 0.01, 0.3, 0.5, 0.99, 1 - 1e-9, 1])
MEMORIES, N_BINS = (None, 50, 1), 4


def draw_rows(rng, n):
    predictions = np.where(rng.random(n) < 0.2, rng.choice(EXTREMES, n), rng.random(n))
    return predictions, (rng.random(n) < predictions**1.5).astype(float)


def find_cell(v):
    """0 has a cell, then come (0, 1/4], ..., (3/4, 1), and 1 has a cell."""
    if v in (0, 1):
        return "zero" if v == 0 else "one"
    return next(k for k in range(N_BINS) if v <= (k + 1) / N_BINS)


def bet_by_a_loop(predictions, outcomes, weights, v):
    """Newton steps of an intercept, of intercept and slope, and of a cell, drawn towards 0."""
    score, information, own = np.zeros(2), 2.5 * np.eye(2), np.array([0.0, 2.5])
    for p, y, w in zip(predictions, outcomes, weights, strict=False):
        design = np.array([1, np.clip(logit(p), -10, 10)])
        score += w * (y - p) * design
        information += w * p * (1 - p) * np.outer(design, design)
        if find_cell(p) == find_cell(v):
            own += w * np.array([y - p, p * (1 - p)])
    line = np.linalg.solve(information, score) @ [1, np.clip(logit(v), -10, 10)]
    return score[0] / information[0, 0], line, own[0] / own[1]


@pytest.mark.parametrize("n_bins", [10, 25, 50, 100])
def test_edges_belong_to_the_cell_below(n_bins):
    places = np.arange(n_bins + 1) / n_bins
    assert bets.find_cells(places, n_bins).tolist() == [*range(n_bins), n_bins + 1]
    between = (places[1:] + places[:-1]) / 2
    assert bets.find_cells(between, n_bins).tolist() == [*range(1, n_bins + 1)]


@pytest.mark.parametrize("cuts", [[], [1, 2, 90], [255], range(1, 300, 3)])
def test_bets_are_those_of_a_loop(rng, cuts):
    predictions, outcomes = draw_rows(rng, 300)
    cuts = sorted({*cuts, *range(0, 300, bets.choose_block(MEMORIES))} - {0})
    past, found = bets.make_past(len(MEMORIES), N_BINS), []
    for v, y in zip(np.split(predictions, cuts), np.split(outcomes, cuts), strict=True):
        some, past = bets.bet(past, v, y, bets.find_cells(v, N_BINS), MEMORIES)
        found.append(some)
    found = np.concatenate(found, axis=-1)
    for place in (0, 1, 2, 77, 255, 256, 299):
        for number, memory in enumerate(MEMORIES):
            weights = np.exp(-np.arange(place)[::-1] / (memory or np.inf))
            expected = bet_by_a_loop(predictions, outcomes, weights, predictions[place])
            np.testing.assert_allclose(found[number, :, place], expected, rtol=1e-9, atol=1e-12)


def test_bets_at_once_know_the_earlier_batches_alone(rng):
    """Rows of one batch are equally old."""
    predictions, outcomes = draw_rows(rng, 60)
    batches, past = np.array([0] * 20 + [1] * 10 + [2] * 30), bets.make_past(3, N_BINS)
    for number in range(3):
        v, y = predictions[batches == number], outcomes[batches == number]
        cells, start = bets.find_cells(v, N_BINS), np.flatnonzero(batches == number)[0]
        found = bets.bet_at_once(past, v, cells)
        for k, memory in enumerate(MEMORIES):
            # Only the first batch has grown older, by the rows of the second.
            age = np.where((number == 2) & (batches[:start] == 0), 10, 0)
            weights = np.exp(-age / (memory or np.inf))
            for row in (0, 7):
                expected = bet_by_a_loop(predictions, outcomes, weights, v[row])
                np.testing.assert_allclose(found[k, :, row], expected, rtol=1e-9, atol=1e-12)
        past = bets.learn_at_once(bets.discount(past, MEMORIES, len(v)), v, y, cells)


@pytest.mark.parametrize("v", [0.3, 0.999])
def test_log_odds_without_spread(v):
    """With z = (1, logit v), the step is z' A^-1 z u, of A = s z z' + 2.5 I.

    u and s are the sums of residuals and of v (1 - v). It is u |z|^2 / (s |z|^2 + 2.5).
    """
    predictions, past = np.full(10_000, v), bets.make_past(1, N_BINS)
    cells = bets.find_cells(predictions, N_BINS)
    for _ in range(20):
        _, past = bets.bet(past, predictions, np.arange(10_000) % 2 + 0.0, cells, (None,))
    (u, s), size = past.moments[0, :2], 1 + logit(v) ** 2
    found = bets.bet_at_once(past, predictions[:1], cells[:1])[0, 1, 0]
    assert found == pytest.approx(u * size / (s * size + 2.5), rel=1e-11)


def test_moments_of_parts_are_those_of_all(rng):
    predictions, outcomes = draw_rows(rng, 200)
    cells, blank = bets.find_cells(predictions, N_BINS), bets.make_past(2, N_BINS)
    whole = bets.learn_at_once(blank, predictions, outcomes, cells).moments
    for cut in (0, 1, 77, 200):
        parts = (slice(cut), slice(cut, None))
        one, other = (
            bets.learn_at_once(blank, predictions[k], outcomes[k], cells[k]).moments for k in parts
        )
        np.testing.assert_allclose(bets.join_moments(one, other), whole, rtol=1e-10, atol=1e-10)


def test_cells_hold_their_right_ends():
    cells = bets.find_cells(np.array([0, 5e-324, 0.25, 0.2500001, 0.999, 1]), N_BINS)
    np.testing.assert_array_equal(cells, [0, 1, 1, 2, 4, 5])


def draw_bets(rng):
    """Small and huge, none at all, and infinite ones."""
    drawn = rng.normal(size=(300, len(EXTREMES))) * 10.0 ** rng.uniform(-3, 30, (300, 1))
    return np.concatenate([drawn, np.outer([0, np.inf, -np.inf], np.ones(len(EXTREMES)))])


def find_factors(drawn, tolerance, **options):
    """Factors of the outcomes 0 and 1."""
    for y in (np.zeros_like(EXTREMES), np.ones_like(EXTREMES)):
        yield np.exp(bets.find_log_factors(drawn, EXTREMES, y, tolerance, **options))


@pytest.mark.parametrize("tolerance", [0.0, 0.01, 0.3, 2.9])
def test_expected_factors_of_allowed_probabilities(rng, tolerance):
    """At most 1 between the ends of what is allowed, and 1 at the nearer end if any bet is made."""
    drawn = draw_bets(rng)
    wrong, right = find_factors(drawn, tolerance)
    for factors in (wrong, right):
        assert factors.min() >= np.exp(-3) * (1 - 1e-12)
        assert factors.max() <= np.exp(3) * (1 + 1e-12)
    means = []
    for shift in tolerance * np.linspace(-1, 1, 9):
        # Of v = 1 - 1e-9 the odds, and of 1e-300 too.
        truth = EXTREMES / (EXTREMES + (1 - EXTREMES) * np.exp(-shift))
        means.append((1 - truth) * wrong + truth * right)
    assert np.max(means) <= 1 + 1e-12
    np.testing.assert_allclose(np.maximum(means[0], means[-1]), 1, rtol=1e-12)


@pytest.mark.parametrize("tolerance", [0.0, 0.3])
def test_expected_factors_below_a_bound(rng, tolerance):
    """At most 1 down to 0, and 1 at the bound; a bet on less is none."""
    drawn = draw_bets(rng)
    wrong, right = find_factors(drawn, tolerance, is_one_sided=True)
    for factors in (wrong, right):
        assert factors.min() >= np.exp(-3) * (1 - 1e-12)
        assert factors.max() <= np.exp(3) * (1 + 1e-12)
        assert (factors[drawn <= 0] == 1).all()
    bound = EXTREMES / (EXTREMES + (1 - EXTREMES) * np.exp(-tolerance))
    for share in (0, 0.3, 0.99, 1):
        means = (1 - share * bound) * wrong + share * bound * right
        assert means.max() <= 1 + 1e-12
    np.testing.assert_allclose(means, 1, rtol=1e-12)


@pytest.mark.parametrize("is_one_sided", [False, True])
@pytest.mark.parametrize("tolerance", [0.0, 0.3])
def test_factors_are_likelihood_ratios(tolerance, is_one_sided):
    """Of q = v + n v (1 - v), and of the allowed probability that is nearest to it."""
    v, n = np.array([0.1, 0.4, 0.4, 0.4, 0.8, 0.8]), np.array([2.0, -0.5, 0.1, 0.0, 0.5, -2.0])
    q = v + n * v * (1 - v)
    low = 0 if is_one_sided else expit(logit(v) - tolerance)
    p = np.clip(q, low, expit(logit(v) + tolerance))
    for y, ratio in ((1.0, q / p), (0.0, (1 - q) / (1 - p))):
        rows = v, np.full(6, y), tolerance
        found = bets.find_log_factors(n, *rows, is_one_sided=is_one_sided)
        np.testing.assert_allclose(found, np.log(ratio), rtol=1e-12, atol=1e-15)
