"""Rows dealt to folds: k copies of a row are one row of weight k, wherever it stands."""

import numpy as np
import pytest

from skcal._numerics.recalibration._deal import deal_rows, deal_splits
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
