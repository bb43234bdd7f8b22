"""Rows dealt to folds: k copies of a row are one row of weight k, wherever it stands."""

import sys

import numpy as np
import pytest

from skcal._numerics.recalibration._deal import (
    deal_clusters,
    deal_rows,
    deal_splits,
    deal_targets,
)
from tests.recalibration.family import both_counts, make_scores


def make_leaves(n_classes, n_samples=400):
    """Scores that are few, as those of a tree, and labels that follow from them."""
    X, _ = make_scores(n_classes, 12)
    rng = np.random.default_rng(1)
    X = X[rng.integers(0, len(X), n_samples)]
    return X, (rng.random((n_samples, 1)) >= X.cumsum(axis=1)[:, :-1]).sum(axis=1)


def show(X, y, dealt):
    """Rows of each training set as sorted tuples of scores, label and mass."""
    rows = np.column_stack([X[dealt.rows], y[dealt.rows], dealt.mass])
    return [np.unique(rows[train], axis=0) for train, _ in dealt.splits]


def check_alike(first, second):
    for a, b in zip(first, second, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


@both_counts
@pytest.mark.parametrize("make", [make_scores, make_leaves])
def test_repetition_and_weight_agree(make, n_classes):
    X, y = make(n_classes, 60)
    weights = np.random.default_rng(0).integers(1, 9, 60)
    expected = show(X, y, deal_rows(X, y, weights.astype(float), 5))
    copies = np.random.default_rng(1).permutation(np.repeat(np.arange(60), weights))
    check_alike(show(X[copies], y[copies], deal_rows(X[copies], y[copies], None, 5)), expected)
    # The order of the classes does not matter, either, nor the last bits of the scores.
    turned, names = X[copies][:, ::-1], n_classes - 1 - y[copies]
    found = show(X[copies], y[copies], deal_rows(turned * (1 + 1e-15), names, None, 5))
    check_alike(found, expected)


def test_rows_are_dealt_under_a_tracer():
    """Tracers that look at variables hold on to the arrays, which can no longer be resized."""
    X, y = make_leaves(3)
    expected = deal_rows(X, y, None, 5)
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, argument: frame.f_locals)
    try:
        found = deal_rows(X, y, None, 5)
    finally:
        sys.setprofile(before)
    check_alike(show(X, y, found), show(X, y, expected))


def test_every_row_is_tested_once_and_trained_on_otherwise():
    for make in (make_scores, make_leaves):
        X, y = make(3, 200)
        dealt = deal_rows(X, y, None, 5)
        tests = np.concatenate([test for _, test in dealt.splits])
        np.testing.assert_array_equal(np.sort(tests), np.arange(len(dealt.rows)))
        for train, test in dealt.splits:
            np.testing.assert_array_equal(np.setdiff1d(np.arange(len(dealt.rows)), test), train)
            assert 20 < dealt.mass[test].sum() < 60
        assert dealt.mass.sum() == 200


def test_copies_stay_together_and_leaves_do_not():
    X, y = make_scores(3, 40)
    copies = np.repeat(np.arange(40), 10)
    dealt = deal_rows(X[copies], y[copies], None, 5)
    np.testing.assert_array_equal(dealt.mass, np.full(40, 10))
    for train, test in deal_splits(X[copies], y[copies], None, 5):
        assert not set(copies[train]) & set(copies[test])
    X, y = make_leaves(2)
    for train, test in deal_splits(X, y, None, 5):
        assert set(X[train, 0]) == set(X[test, 0])
    dealt = deal_rows(X, y, None, 5)
    for train, test in dealt.splits:
        assert set(X[dealt.rows[train], 0]) == set(X[dealt.rows[test], 0])


def test_a_single_score_is_dealt_as_single_rows_are():
    """The number of events of a fold is hypergeometric: its variance is known."""
    y = np.arange(1000) < 100
    events = []
    for n in range(100, 300):
        y = (np.arange(1000) < n).astype(int)
        dealt = deal_rows(np.full((1000, 2), 0.5), y, None, 5)
        for _, test in dealt.splits:
            assert dealt.mass[test].sum() == 200
            rate = n / 1000
            variance = 200 * rate * (1 - rate) * 800 / 999
            is_event = y[dealt.rows[test]] == 1
            events.append((dealt.mass[test][is_event].sum() - 200 * rate) ** 2 / variance)
    # 1000 squares of about normal numbers, five of each sample with the sum 0: error .055 at most.
    assert abs(np.mean(events) - 1) < 4 * np.sqrt(2 * 5 / 4 / 1000)


@pytest.mark.parametrize("mass", [5e4, 1e12, 1e200])
def test_a_large_mass_is_split_nearly_evenly(mass):
    X, y = np.full((2, 2), 0.5), np.array([0, 1])
    dealt = deal_rows(X, y, np.full(2, mass), 5)
    assert dealt.mass.sum() == pytest.approx(2 * mass, rel=1e-12)
    np.testing.assert_allclose(dealt.mass, mass / 5, rtol=5 / np.sqrt(min(mass, 1e15) / 5))


def test_fewer_rows_than_folds():
    X, y = make_scores(2, 3)
    assert deal_rows(X, y, None, 5).splits == []
    assert len(deal_rows(X, y, np.full(3, 10.0), 5).splits) == 5  # thirty rows
    assert [len(test) for _, test in deal_splits(X, y, None, 3)] == [1, 1, 1]


@both_counts
@pytest.mark.parametrize("make", [make_scores, make_leaves])
def test_clusters_are_dealt_whole(make, n_classes):
    """To folds of about as many rows, whatever their order and the names of clusters and classes.

    Many rows of leaves are equal, and clusters are known by all that they hold.
    """
    X, y = make(n_classes, 200)
    rng = np.random.default_rng(2)
    member = rng.choice(40, size=len(y), p=rng.dirichlet(np.ones(40)))
    member = np.unique(member, return_inverse=True)[1]
    weights = rng.integers(1, 3, len(y)).astype(float)
    order, names = rng.permutation(len(y)), rng.permutation(member.max() + 1)
    turned, classes = X[order][:, ::-1] * (1 + 1e-15), n_classes - 1 - y[order]
    for w in (None, weights):
        splits = deal_clusters(X, y, w, 5, member)
        own = None if w is None else w[order]
        again = deal_clusters(turned, classes, own, 5, names[member[order]])
        tests = np.concatenate([test for _, test in splits])
        assert sorted(tests) == list(range(len(y)))
        for (train, test), (_, other) in zip(splits, again, strict=True):
            assert not np.intersect1d(member[train], member[test]).size
            assert sorted([*train, *test]) == list(range(len(y)))
            np.testing.assert_array_equal(np.sort(order[other]), test)
        sizes = [len(test) for _, test in splits]
        assert max(sizes) <= max(len(y) / 5 + 1, np.bincount(member).max())
    assert not np.array_equal(splits[0][1], deal_clusters(X, y, None, 5, member)[0][1])


def test_clusters_of_a_size_are_dealt_at_random():
    """Neither by their scores nor by their outcomes; as many to each fold."""
    rng = np.random.default_rng(0)
    v, member = np.sort(rng.random(2000)), np.arange(2000) // 5
    y = (rng.random(2000) < v).astype(int)
    splits = deal_clusters(np.column_stack([1 - v, v]), y, None, 5, member)
    assert [len(test) for _, test in splits] == [400] * 5
    fold = np.empty(400)
    for k, (_, test) in enumerate(splits):
        fold[member[test]] = k
    # Neighbours meet as often as any two of them, in 79 of 399 pairs; 8 is the standard error.
    assert abs(np.sum(fold[1:] == fold[:-1]) - 79) < 28
    assert abs(np.mean(v[splits[0][1]]) - 0.5) < 4 * 0.29 / np.sqrt(80)
    # Fewer clusters than folds leave folds without rows.
    few = deal_clusters(np.column_stack([1 - v, v]), y, None, 5, member // 200)
    assert [len(test) for _, test in few] == [1000, 1000, 0, 0, 0]


def test_targets_are_dealt_by_what_rows_hold():
    """Whatever their order; copies are in one fold, and rows of one prediction in several."""
    rng = np.random.default_rng(0)
    predictions, weights = rng.normal(size=60), np.ones(60)
    targets = rng.normal(size=60)

    def number(*rows):
        folds = np.empty(len(rows[0]), dtype=int)
        for fold, (train, test) in enumerate(deal_targets(*rows, 4)):
            folds[test] = fold
            np.testing.assert_array_equal(np.sort([*train, *test]), np.arange(len(folds)))
        return folds

    folds, order = number(predictions, targets, weights), rng.permutation(60)
    np.testing.assert_array_equal(np.bincount(folds), [15, 15, 15, 15])
    rows = (predictions[order], targets[order], weights)
    np.testing.assert_array_equal(number(*rows), folds[order])
    copies = [np.repeat(part, 3) for part in (predictions, targets, weights)]
    np.testing.assert_array_equal(number(*copies), np.repeat(folds, 3))
    leaf = np.repeat([0.0, 1.0], 30)
    assert len(np.unique(number(leaf, targets.round(), weights)[:30])) == 4
    assert deal_targets(leaf, leaf, weights, 4) == []
