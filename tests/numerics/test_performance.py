"""Metrics of expected labels: closed forms, brute force, and scikit-learn's of known labels."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    brier_score_loss,
    confusion_matrix,
    f1_score,
    log_loss,
    precision_score,
    recall_score,
    roc_auc_score,
)

from skcal._numerics.shift._performance import (
    BINARY,
    METRICS,
    draw_labels,
    find_ends,
    find_fullest_gap,
    find_share_outside,
    make_metric,
)

rng = np.random.default_rng(0)
N_ROWS = 8
V = np.array([0.1, 0.3, 0.3, 0.45, 0.5, 0.7, 0.9, 0.9])
V = np.column_stack([1 - V, V])
Q = rng.dirichlet([1, 1], N_ROWS)
TRIPLE, TRIPLE_Q = rng.dirichlet([1, 1, 1], (2, N_ROWS))
WEIGHTS = rng.integers(1, 4, N_ROWS).astype(float)


def one_hot(codes, n_classes):
    return np.equal.outer(codes, np.arange(n_classes)).astype(float)


def net_benefit(y, v, sample_weight):
    gain = np.where(y == 1, 1, -0.4 / 0.6) * (v >= 0.4)
    return np.average(gain, weights=sample_weight)


KNOWN = {
    "accuracy": lambda y, v, **w: accuracy_score(y, v >= 0.4, **w),
    "precision": lambda y, v, **w: precision_score(y, v >= 0.4, **w),
    "recall": lambda y, v, **w: recall_score(y, v >= 0.4, **w),
    "specificity": lambda y, v, **w: recall_score(y, v >= 0.4, pos_label=0, **w),
    "f1": lambda y, v, **w: f1_score(y, v >= 0.4, **w),
    "average_precision": average_precision_score,
    "log_loss": log_loss,
    "brier_score": brier_score_loss,
    "roc_auc": roc_auc_score,
    "net_benefit": net_benefit,
    "confusion": lambda y, v, **w: confusion_matrix(y, v >= 0.4, normalize="all", **w),
}


@pytest.mark.parametrize("name", METRICS)
def test_known_labels_have_the_metric_of_everyone(name):
    measure = make_metric(name, V, 0.4)
    for y in ([0, 0, 1, 0, 1, 1, 0, 1], [1, 0, 1, 1, 1, 0, 0, 1]):
        y = np.array(y)
        expected = KNOWN[name](y, V[:, 1], sample_weight=WEIGHTS)
        np.testing.assert_allclose(measure(one_hot(y, 2), WEIGHTS), expected, rtol=1e-12)


def test_known_labels_of_three_classes():
    y, top = np.arange(N_ROWS) % 3, TRIPLE.argmax(axis=1)
    known, data = one_hot(y, 3), {"sample_weight": WEIGHTS}
    assert make_metric("accuracy", TRIPLE, 0.5)(known, WEIGHTS) == pytest.approx(
        accuracy_score(y, top, **data)
    )
    np.testing.assert_allclose(
        make_metric("confusion", TRIPLE, 0.5)(known, WEIGHTS),
        confusion_matrix(y, top, normalize="all", **data),
    )
    assert make_metric("log_loss", TRIPLE, 0.5)(known, WEIGHTS) == pytest.approx(
        log_loss(y, TRIPLE, **data)
    )
    squares = ((known - TRIPLE) ** 2).sum(axis=1)
    assert make_metric("brier_score", TRIPLE, 0.5)(known, WEIGHTS) == pytest.approx(
        np.average(squares, weights=WEIGHTS)
    )


def average_over_labels(find):
    """Mean over all possible labels of the rows, each as likely as it is."""
    return sum(
        np.prod(Q[np.arange(N_ROWS), labels]) * find(np.array(labels))
        for labels in product([0, 1], repeat=N_ROWS)
    )


RATIOS = {"recall", "specificity", "f1", "roc_auc", "average_precision"}


@pytest.mark.parametrize("name", sorted(METRICS.keys() - RATIOS))
def test_means_are_those_of_all_possible_labels(name):
    """Whose ratio has a fixed denominator: the precision too."""
    measure = make_metric(name, V, 0.4)
    expected = average_over_labels(lambda labels: measure(one_hot(labels, 2), WEIGHTS))
    np.testing.assert_allclose(measure(Q, WEIGHTS), expected, rtol=1e-12)


def test_ratios_are_those_of_expected_numbers():
    acts = V[:, 1] >= 0.4
    found, all_positive = (
        average_over_labels(lambda labels, rows=rows: WEIGHTS @ (labels * rows))
        for rows in (acts, 1)
    )
    assert make_metric("recall", V, 0.4)(Q, WEIGHTS) == pytest.approx(found / all_positive)
    left, all_negative = (
        average_over_labels(lambda labels, rows=rows: WEIGHTS @ ((1 - labels) * rows))
        for rows in (~acts, 1)
    )
    assert make_metric("specificity", V, 0.4)(Q, WEIGHTS) == pytest.approx(left / all_negative)
    f1 = 2 * found / (WEIGHTS @ acts + all_positive)
    assert make_metric("f1", V, 0.4)(Q, WEIGHTS) == pytest.approx(f1)

    def add_precisions(labels):
        """The average precision times the weight of positive rows."""
        if not labels.any():
            return 0.0
        mean = average_precision_score(labels, V[:, 1], sample_weight=WEIGHTS)
        return mean * (WEIGHTS @ labels)

    expected = average_over_labels(add_precisions) / all_positive
    assert make_metric("average_precision", V, 0.4)(Q, WEIGHTS) == pytest.approx(expected)
    right, pairs = 0.0, 0.0
    for i, j in product(range(N_ROWS), repeat=2):
        if i != j:
            chance = WEIGHTS[i] * WEIGHTS[j] * Q[i, 1] * Q[j, 0]
            pairs += chance
            right += chance * ((V[i, 1] > V[j, 1]) + (V[i, 1] == V[j, 1]) / 2)
    assert make_metric("roc_auc", V, 0.4)(Q, WEIGHTS) == pytest.approx(right / pairs)


@pytest.mark.parametrize("name", METRICS)
def test_what_is_not_defined(name):
    """Impossible labels of infinite loss, and ratios of nothing."""
    known, ones = one_hot(np.zeros(4, dtype=int), 2), np.ones(4)
    found = make_metric(name, one_hot(np.array([0, 0, 0, 1]), 2), 0.5)(known, ones)
    if name == "log_loss":
        assert found == np.inf
    elif name in ("recall", "roc_auc", "average_precision"):
        assert np.isnan(found)
    else:
        assert np.isfinite(found).all()
    none = make_metric(name, np.tile([0.9, 0.1], (4, 1)), 0.5)(known, ones)
    of_none = {"precision", "recall", "f1", "roc_auc", "average_precision"}
    assert np.isnan(none).any() == (name in of_none)
    assert name not in BINARY or np.ndim(found) == 0


def test_drawn_labels_have_their_chances():
    chances = np.tile([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], (20_000, 1, 1))
    drawn = draw_labels(chances.reshape(-1, 3), np.random.default_rng(0)).reshape(-1, 3, 3)
    assert (drawn.sum(axis=2) == 1).all()
    np.testing.assert_array_equal(drawn[:, 1:].min(axis=0), drawn[:, 1:].max(axis=0))
    np.testing.assert_allclose(drawn.mean(axis=0), chances[0], atol=0.02)


@pytest.mark.parametrize("n_resamples", [2, 39, 200])
def test_ends_are_order_statistics(n_resamples):
    """A value of the same law lies between them as often as their ranks say."""
    values = rng.permutation(n_resamples).astype(float)
    low, high = find_ends(values, 0.95)
    rank = max(int((n_resamples + 1) * 0.025 + 1e-9), 1)
    assert (low, high) == (rank - 1, n_resamples - rank)
    both = np.column_stack([values, -values])
    np.testing.assert_array_equal(find_ends(both, 0.95), [[low, -high], [high, -low]])
    found = find_ends(np.concatenate([values, [np.nan]]), 0.95)
    assert found == (low, high)
    assert find_ends(np.full(5, np.inf), 0.95) == (np.inf, np.inf)


def test_share_outside():
    old, new = np.array([[0.2, 0.8], [0.6, 0.4]]), np.array([[0.1, 0.9], [0.6, 0.4], [0.7, 0.3]])
    assert find_share_outside(old, new, None) == pytest.approx(1 / 3)
    assert find_share_outside(old, new, np.array([1, 1, 2])) == pytest.approx(1 / 2)
    assert find_share_outside(new, old, None) == 0


def test_fullest_gap():
    """Neighbours of distant values alone make a gap, and an old score lies in none."""
    old, values = np.array([[0.1], [0.3], [0.8], [0.3]]), np.array([[0.1], [0.2], [0.9], [0.2]])
    new = np.array([[0.05], [0.2], [0.3], [0.5], [0.7], [0.8], [0.9]])
    assert find_fullest_gap(old, values, new, np.ones(7)) == (pytest.approx(2 / 7), 0.3, 0.8)
    weights = np.array([1, 1, 1, 5, 0, 1, 1])
    assert find_fullest_gap(old, values, new, weights) == (pytest.approx(1 / 2), 0.3, 0.8)
    assert find_fullest_gap(old, values / 5, new, weights)[0] == 0
    assert find_fullest_gap(old, values, old, np.ones(4))[0] == 0
    both = (np.hstack([one, 1 - one]) for one in (old, values, new))
    assert find_fullest_gap(*both, np.ones(7))[0] == pytest.approx(2 / 7)


def test_share_outside_is_rarely_large_by_chance():
    """More than 5 / n of new scores: with a probability of exp(-5) on each side."""
    draws = np.random.default_rng(0).random((4000, 100, 1))
    new = np.linspace(0, 1, 2001)[:, None]
    found = sum(find_share_outside(old, new, None) > 5 / 100 for old in draws)
    assert binom.cdf(found, 4000, 2 * 0.95**100) > 1e-3
    assert binom.sf(found, 4000, 2 * 0.95**100) > 1e-3
