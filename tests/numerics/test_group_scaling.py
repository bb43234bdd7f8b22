"""Corrections that are linear in groups, against a dense design."""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from skcal._numerics.recalibration import _group_scaling
from skcal._numerics.recalibration._group_losses import LogLoss, find_log_loss
from skcal._numerics.recalibration._group_scaling import (
    GroupDesign,
    choose_pairs,
    find_factor,
    fit_group_scaling,
    score_interactions,
)


def draw(rng, n=600):
    """A design of four partitions, some rows in none, and offset, targets, weights, splits."""
    sizes = [1, 3, 4, 5]
    codes = [np.zeros(n, dtype=int), *(rng.integers(0, size + 1, n) for size in sizes[1:])]
    design = GroupDesign(codes, sizes, rng.normal(size=n), n_sloped=3)
    offset = rng.normal(size=n)
    truth = 0.5 * offset + 0.8 * (codes[1] == 0) + design.scores * (codes[2] == 1)
    targets = (rng.random(n) < expit(truth)) + 0.0
    folds = rng.integers(0, 3, n)
    splits = [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in range(3)]
    return design, offset, targets, rng.integers(1, 4, n) / 2, splits


def densify(design):
    """A column for each intercept, then for each slope."""
    pairs = zip(design.codes, design.sizes, strict=True)
    parts = [own[:, None] == np.arange(size) for own, size in pairs]
    sloped = [part * design.scores[:, None] for part in parts[: design.n_sloped]]
    return np.hstack([*parts, *sloped]) + 0.0


def number_cells(n_rows, n_columns):
    """A cell for each pair of levels, none for rows without a level."""
    cells = np.full((n_rows + 1, n_columns + 1), n_rows * n_columns)
    cells[:-1, :-1] = np.arange(n_rows * n_columns).reshape(n_rows, n_columns)
    return cells


def draw_columns(rng, n, effect, n_columns=6, size=4):
    """Levels, all pairs of columns, scores and outcomes; the first two columns interact."""
    numbers = rng.integers(0, size, (n, n_columns))
    pairs = [(j, k, number_cells(size, size)) for j, k in combinations(range(n_columns), 2)]
    scores = rng.normal(size=n)
    truth = scores + effect * np.where(numbers[:, 0] % 2 == numbers[:, 1] % 2, 1, -1)
    return numbers, pairs, scores, (rng.random(n) < expit(truth)) + 0.0


def test_design(rng):
    design = draw(rng)[0]
    dense = densify(design)
    assert dense.shape[1] == design.n_coefficients
    coefficients, values = rng.normal(size=design.n_coefficients), rng.normal(size=len(dense))
    rows = rng.permutation(len(dense))[:50]
    for found, expected in (
        (design.correct(coefficients), dense @ coefficients),
        (design.sum_rows(values), dense.T @ values),
        (design.sum_pairs(values), dense.T * values @ dense),
        (design.take(rows).correct(coefficients), dense[rows] @ coefficients),
    ):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_gradient_is_zero_at_the_optimum(rng):
    design, offset, targets, mass, splits = draw(rng)
    coefficients, penalties, *_ = fit_group_scaling(design, LogLoss(offset, targets), mass, splits)
    dense, common = densify(design), find_common(targets, mass)
    each = [common, *penalties[:3], common, *penalties[3:]]
    spread = np.repeat(each, [1, 3, 4, 5, 1, 3, 4])
    residual = mass * (expit(offset + dense @ coefficients) - targets)
    np.testing.assert_allclose(dense.T @ residual + spread * coefficients, 0, atol=1e-5)
    assert np.abs(dense.T @ (mass * (expit(offset) - targets))).max() > 10


def find_common(targets, mass):
    """The penalty of what all rows have in common, 10 times the information in a row."""
    rate = (mass @ targets + 0.5) / (mass.sum() + 1)
    return 40 * rate * (1 - rate)


def find_posterior(log_penalties, design, curvature, pull, common):
    """The log density of penalties, by the normal integral over coefficients."""
    spread = design.penalise(np.exp(log_penalties), common)
    precision = curvature + np.diag(spread)
    sizes = [own.stop - own.start for own in design.list_families()]
    prior = (np.array(sizes) + 1) @ log_penalties  # a density of 1/s adds 1
    return (pull @ np.linalg.solve(precision, pull) - np.linalg.slogdet(precision)[1] + prior) / 2


def test_penalties_are_at_a_mode_of_their_posterior(rng, monkeypatch):
    """Or the strongest, and the stronger the better."""
    monkeypatch.setattr(_group_scaling, "_N_HESSIANS", 20)
    monkeypatch.setattr(_group_scaling, "_MOST_STEPS", 2000)
    monkeypatch.setattr(_group_scaling, "_LEAST_CHANGE", 1e-10)
    design, offset, targets, mass, splits = draw(rng)
    coefficients, penalties, *_ = fit_group_scaling(design, LogLoss(offset, targets), mass, splits)
    dense, proba = densify(design), expit(offset + design.correct(coefficients))
    curvature = dense.T * (mass * proba * (1 - proba)) @ dense
    pull = curvature @ coefficients + dense.T @ (mass * (targets - proba))
    rest = design, curvature, pull, find_common(targets, mass)
    slopes = [
        find_posterior(np.log(penalties) + step, *rest)
        - find_posterior(np.log(penalties) - step, *rest)
        for step in 1e-4 * np.eye(len(penalties))
    ]
    limit = penalties > 2.9e4
    assert (penalties[[0, 4]] < 100).all()  # of what draw makes
    assert limit.any()
    np.testing.assert_allclose(np.array(slopes)[~limit] / 2e-4, 0, atol=1e-3)
    assert (np.array(slopes)[limit] > 0).all()


def test_corrections_of_rows_held_out_are_the_optimum_of_the_others(rng):
    """With penalties that are estimated from these alone; to a few digits."""
    design, offset, targets, mass, splits = draw(rng)
    problem = design, LogLoss(offset, targets), mass, splits
    coefficients, penalties, held_out, _ = fit_group_scaling(*problem)
    for train, test in splits:
        rows = LogLoss(offset[train], targets[train])
        part = _group_scaling._Problem(design.take(train), rows, mass[train])
        own = part.estimate_penalties(coefficients)
        assert not np.allclose(own, penalties, rtol=0.01)
        expected = part.minimise(own, np.zeros(design.n_coefficients))
        np.testing.assert_allclose(held_out[test], design.take(test).correct(expected), atol=3e-3)


@pytest.mark.parametrize("shape", [(2, 2), (5, 9)])
def test_scores_of_cells_without_interaction_are_normal(rng, shape):
    """Sums of effects of rows and columns do not change them, which leave nothing of one row."""
    weights = np.broadcast_to(rng.uniform(50, 200, shape), (4000, *shape))
    residuals = np.sqrt(weights) * rng.normal(size=weights.shape)
    scores = score_interactions(residuals, weights)
    for limit in (0.5, 1.0, 1.645):
        assert np.mean(scores > limit) == pytest.approx(norm.sf(limit), abs=0.02)
    effects = rng.normal(size=(shape[0], 1)) + rng.normal(size=shape[1])
    moved = score_interactions(residuals + weights * effects, weights)
    np.testing.assert_allclose(moved, scores, atol=1e-4)
    assert (score_interactions(residuals[:, :1], weights[:, :1]) == -np.inf).all()


@pytest.mark.slow
def test_rare_outcomes_are_no_interaction(rng):
    """Where the variance of a cell is far below that of its square."""
    chance = np.broadcast_to(rng.uniform(0.001, 0.1, (6, 40)), (4000, 6, 40))
    residuals = rng.poisson(chance) - chance
    assert np.mean(score_interactions(residuals, chance) > 1.645) < 0.07


def test_mean_and_variance_of_squares(rng):
    """The approximation, by dense algebra."""
    weights, residuals = rng.uniform(1, 9, (3, 5)), rng.normal(size=(3, 5)) * 3
    rows, columns = np.indices((3, 5)).reshape(2, 15)
    effects = np.column_stack([rows[:, None] == range(3), columns[:, None] == range(5)]) + 0.0
    spread = np.diag(weights.ravel())
    hat = spread @ effects @ np.linalg.pinv(effects.T @ spread @ effects) @ effects.T
    left, covariance = residuals.ravel() - hat @ residuals.ravel(), spread - hat @ spread
    mean = np.trace(covariance)
    variance = 2 * np.trace(covariance @ covariance) + weights.sum()
    share = variance / (9 * mean**2)
    expected = ((left @ left / mean) ** (1 / 3) - 1 + share) / np.sqrt(share)
    found = score_interactions(residuals[None], weights[None])
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_cells_of_any_weights_have_scores(rng):
    """Also where one has nearly all weight, beside which the variances of others round to 0."""
    weights = 10.0 ** rng.uniform(-12, 12, (2000, 4, 3))
    scores = score_interactions(np.sqrt(weights) * rng.normal(size=weights.shape), weights)
    assert not np.isnan(scores).any()


def choose(numbers, pairs, scores, targets, fold=None):
    """By what is left of outcomes."""
    proba = expit(scores)
    fold = np.zeros(len(scores), dtype=int) if fold is None else fold
    rest = targets - proba, proba * (1 - proba)
    return [[pairs[k][:2] for k in own] for own in choose_pairs(numbers, pairs, *rest, fold)]


@pytest.mark.slow
def test_the_pair_that_tells_something_is_the_first(rng):
    *columns, _ = drawn = draw_columns(rng, 4000, 0.3)
    assert choose(*drawn)[0][0] == (0, 1)
    numbers, pairs, scores = columns
    proba = expit(scores)
    none = [choose(numbers, pairs, scores, (rng.random(4000) < proba) + 0.0)[0] for _ in range(200)]
    # Where nothing tells, any is found in half of the samples at most; three standard errors more.
    assert np.mean([len(own) > 0 for own in none]) <= 0.5 + 3 * np.sqrt(0.25 / 200)


def test_pairs_of_rows_out_of_a_fold_are_chosen_by_these(rng):
    numbers, pairs, scores, targets = draw_columns(rng, 900, 0.25)
    fold = rng.integers(0, 3, 900)
    _, *found = choose(numbers, pairs, scores, targets, fold)
    for k, own in enumerate(found):
        rest = fold != k
        assert own == choose(numbers[rest], pairs, scores[rest], targets[rest])[0]


def test_no_more_cells_are_chosen_than_fit(rng, monkeypatch):
    monkeypatch.setattr(_group_scaling, "MOST_CELLS", 40)
    monkeypatch.setattr(_group_scaling, "_FALSE_SHARE", 1.0)
    drawn = draw_columns(rng, 2000, 0.4)
    (chosen, _) = choose(*drawn)
    assert len(chosen) == 2  # of 16 cells
    assert chosen[0] == (0, 1)


def test_pairs_that_few_folds_choose_are_left_out(rng, monkeypatch):
    numbers, pairs, scores, targets = draw_columns(rng, 300, 0.0)
    one = GroupDesign([np.zeros(300, dtype=int)], [1], scores, n_sloped=1)
    fold = np.arange(300) % 3
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    choices = [[5, 2, 7], [2], [7, 2], [1]]
    monkeypatch.setattr(_group_scaling, "choose_pairs", lambda *_: choices)
    problem = one, LogLoss(scores, targets), np.ones(300), splits
    *_, chosen = fit_group_scaling(*problem, numbers, pairs)
    assert [pair[:2] for pair in chosen] == [pairs[2][:2]]


def test_pairs_join_the_design(rng):
    numbers, pairs, scores, targets = draw_columns(rng, 4000, 0.8)
    one = GroupDesign([np.zeros(4000, dtype=int)], [1], scores, n_sloped=1)
    fold = np.arange(4000) % 2
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(2)]
    problem = one, LogLoss(scores, targets), np.ones(4000), splits
    coefficients, _, held_out, chosen = fit_group_scaling(*problem, numbers, pairs)
    assert chosen[0][:2] == (0, 1)
    joint = one.add(numbers, chosen)
    assert len(coefficients) == joint.n_coefficients == 2 + 16 * len(chosen)
    truth = 0.8 * np.where(numbers[:, 0] % 2 == numbers[:, 1] % 2, 1, -1)
    for found in (joint.correct(coefficients), held_out):
        assert np.mean((found - truth) ** 2) < 0.1 * 0.8**2
    alone = fit_group_scaling(*problem)
    assert len(alone[0]) == 2
    assert alone[3] == []


def fix_penalties(monkeypatch, penalty):
    monkeypatch.setattr(_group_scaling, "_MOST_STEPS", 0)
    monkeypatch.setattr(_group_scaling, "_FIRST", penalty)


def test_corrections_of_rows_held_out_have_not_seen_them(rng, monkeypatch):
    design, offset, targets, mass, splits = draw(rng)
    (_, own), other = splits[0], splits[1][1]
    flipped = targets.copy()
    flipped[own] = 1 - flipped[own]
    fix_penalties(monkeypatch, 10.0)
    before, after = (
        fit_group_scaling(design, LogLoss(offset, y), mass, splits)[2] for y in (targets, flipped)
    )
    np.testing.assert_allclose(after[own], before[own], atol=1e-3)
    assert np.abs(after[other] - before[other]).max() > 0.3


def test_weights_count_rows(rng):
    design, offset, targets, _, splits = draw(rng, 200)
    counts = rng.integers(0, 3, 200)
    rows = np.repeat(np.arange(200), counts)
    copies = [tuple(np.flatnonzero(np.isin(rows, part)) for part in split) for split in splits]
    problem = design, LogLoss(offset, targets), counts, splits
    coefficients, penalties, held_out, _ = fit_group_scaling(*problem)
    loss = LogLoss(offset, targets).take(rows)
    repeated = design.take(rows), loss, np.ones(len(rows)), copies
    expected = fit_group_scaling(*repeated)
    np.testing.assert_allclose(coefficients, expected[0], atol=1e-6)
    np.testing.assert_allclose(penalties, expected[1], rtol=1e-6)
    np.testing.assert_allclose(held_out[rows], expected[2], atol=1e-6)


def test_no_groups_and_sure_scores():
    """The intercept alone, whose penalty is c = 40 r (1 - r): c a = sum of m (y - p)."""
    design = GroupDesign([np.zeros(30, dtype=int)], [1], np.zeros(30), n_sloped=1)
    targets = np.repeat([0.0, 1.0], [3, 27])
    halves = [np.arange(30) % 2 == k for k in range(2)]
    splits = [(np.flatnonzero(~half), np.flatnonzero(half)) for half in halves]
    for offset in (0.0, 40.0, -800.0):
        problem = design, LogLoss(np.full(30, offset), targets), np.ones(30), splits
        (a, slope), *_ = fit_group_scaling(*problem)
        pull = find_common(targets, np.ones(30)) * a
        assert pull == pytest.approx(27 - 30 * expit(offset + a), abs=1e-5)
        assert slope == 0


@pytest.mark.parametrize("offset", [-30.0, 30.0])
def test_scores_that_are_sure_and_wrong(rng, monkeypatch, offset):
    """Log-odds at which the loss hardly bends, where steps are long."""
    groups, scores = rng.integers(0, 3, 60), rng.normal(size=60)
    design = GroupDesign([np.zeros(60, dtype=int), groups], [1, 3], scores, n_sloped=2)
    offset, targets = np.full(60, offset), (scores + (groups == 0) > 0) + 0.0
    halves = [np.arange(60) // 30 == k for k in range(2)]
    splits = [(np.flatnonzero(~half), np.flatnonzero(half)) for half in halves]
    counts, minimize = [], _group_scaling.minimize_convex

    def count_evaluations(*args, **options):
        counts.append((found := minimize(*args, **options))[1])
        return found

    monkeypatch.setattr(_group_scaling, "minimize_convex", count_evaluations)
    fix_penalties(monkeypatch, 1.0)
    loss = LogLoss(offset, targets)
    held_out = fit_group_scaling(design, loss, np.ones(60), splits)[2]
    assert max(counts) < 150
    for train, test in splits:
        part = design.take(train), loss.take(train), np.ones(30)
        expected = _group_scaling._Problem(*part).minimise([1.0, 1.0], np.zeros(8))
        expected = design.take(test).correct(expected)
        np.testing.assert_allclose(held_out[test], expected, rtol=1e-3)


def test_factor_has_the_least_loss_with_some_doubt(rng):
    odds, corrections = rng.normal(size=(2, 400))
    targets = (rng.random(400) < expit(odds + 0.4 * corrections)) + 0.0
    mass, grid = rng.integers(1, 4, 400) / 8, np.linspace(0, 1, 1001)

    def lose(factor):
        return mass @ find_log_loss(targets, odds + factor * corrections)

    losses = [lose(factor) + 5 * factor**2 for factor in grid]
    best = grid[np.argmin(losses)]
    assert 0.1 < best < 0.9
    assert find_factor(lose) == pytest.approx(best, abs=1e-3)
    assert find_factor(lambda factor: lose(-factor)) == 0
