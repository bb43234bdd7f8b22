"""Corrections that are linear in groups, against a dense design."""

import numpy as np
import pytest
from scipy.special import expit

from skcal._numerics import _group_scaling
from skcal._numerics._group_scaling import (
    GroupDesign,
    find_factor,
    find_log_loss,
    fit_group_scaling,
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
    coefficients, penalties, _ = fit_group_scaling(design, offset, targets, mass, splits)
    dense, common = densify(design), 10.0  # of what all rows have
    each = [common, *penalties[:3], common, *penalties[3:]]
    spread = np.repeat(each, [1, 3, 4, 5, 1, 3, 4])
    residual = mass * (expit(offset + dense @ coefficients) - targets)
    np.testing.assert_allclose(dense.T @ residual + spread * coefficients, 0, atol=1e-5)
    assert np.abs(dense.T @ (mass * (expit(offset) - targets))).max() > 10


def find_posterior(log_penalties, design, curvature, pull):
    """The log density of penalties, by the normal integral over coefficients."""
    spread = design.penalise(np.exp(log_penalties))
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
    coefficients, penalties, _ = fit_group_scaling(design, offset, targets, mass, splits)
    dense, proba = densify(design), expit(offset + design.correct(coefficients))
    curvature = dense.T * (mass * proba * (1 - proba)) @ dense
    pull = curvature @ coefficients + dense.T @ (mass * (targets - proba))
    slopes = [
        find_posterior(np.log(penalties) + step, design, curvature, pull)
        - find_posterior(np.log(penalties) - step, design, curvature, pull)
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
    coefficients, penalties, held_out = fit_group_scaling(design, offset, targets, mass, splits)
    for train, test in splits:
        part = _group_scaling._Problem(
            design.take(train), offset[train], targets[train], mass[train]
        )
        own = part.estimate_penalties(np.full(len(penalties), 100.0), coefficients)
        assert not np.allclose(own, penalties, rtol=0.01)
        expected = part.minimise(own, np.zeros(design.n_coefficients))
        np.testing.assert_allclose(held_out[test], design.take(test).correct(expected), atol=3e-3)


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
        fit_group_scaling(design, offset, y, mass, splits)[2] for y in (targets, flipped)
    )
    np.testing.assert_allclose(after[own], before[own], atol=1e-3)
    assert np.abs(after[other] - before[other]).max() > 0.3


def test_weights_count_rows(rng):
    design, offset, targets, _, splits = draw(rng, 200)
    counts = rng.integers(0, 3, 200)
    rows = np.repeat(np.arange(200), counts)
    copies = [tuple(np.flatnonzero(np.isin(rows, part)) for part in split) for split in splits]
    coefficients, penalties, held_out = fit_group_scaling(design, offset, targets, counts, splits)
    repeated = design.take(rows), offset[rows], targets[rows], np.ones(len(rows)), copies
    expected = fit_group_scaling(*repeated)
    np.testing.assert_allclose(coefficients, expected[0], atol=1e-6)
    np.testing.assert_allclose(penalties, expected[1], rtol=1e-6)
    np.testing.assert_allclose(held_out[rows], expected[2], atol=1e-6)


def test_no_groups_and_sure_scores():
    """The intercept alone, whose penalty is 10: 10 a = sum of m (y - p)."""
    design = GroupDesign([np.zeros(30, dtype=int)], [1], np.zeros(30), n_sloped=1)
    targets = np.repeat([0.0, 1.0], [3, 27])
    halves = [np.arange(30) % 2 == k for k in range(2)]
    splits = [(np.flatnonzero(~half), np.flatnonzero(half)) for half in halves]
    for offset in (0.0, 40.0, -800.0):
        problem = design, np.full(30, offset), targets, np.ones(30), splits
        (a, slope), *_ = fit_group_scaling(*problem)
        assert 10 * a == pytest.approx(27 - 30 * expit(offset + a), abs=1e-5)
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
    held_out = fit_group_scaling(design, offset, targets, np.ones(60), splits)[2]
    assert max(counts) < 150
    for train, test in splits:
        part = design.take(train), offset[train], targets[train], np.ones(30)
        expected = _group_scaling._Problem(*part).minimise([1.0, 1.0], np.zeros(8))
        expected = design.take(test).correct(expected)
        np.testing.assert_allclose(held_out[test], expected, rtol=1e-3)


def test_factor_has_the_least_loss_with_some_doubt(rng):
    odds, corrections = rng.normal(size=(2, 400, 1))
    codes = (rng.random(400) < expit(odds + 0.4 * corrections)[:, 0]).astype(int)
    mass, grid = rng.integers(1, 4, 400) / 8, np.linspace(0, 1, 1001)
    scores = odds + grid * corrections
    losses = mass @ find_log_loss(codes[:, None], scores) + 5 * grid**2
    best = grid[losses.argmin()]
    assert 0.1 < best < 0.9
    assert find_factor(odds, corrections, codes, mass) == pytest.approx(best, abs=1e-3)
    assert find_factor(odds, -corrections, codes, mass) == 0
