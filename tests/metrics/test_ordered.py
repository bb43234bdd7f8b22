"""Classes with an order, and the k most probable classes."""

import itertools
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import brier_score_loss, top_k_accuracy_score

from skcal._input._reduction import reduce_to_samples
from skcal.inference import calibration_test
from skcal.metrics import (
    corp_decomposition,
    cumulative_predictions,
    ranked_probability_score,
    smooth_ece,
    top_k_predictions,
)
from skcal.regression import Ensemble, continuous_ranked_probability_score

rng = np.random.default_rng(3)
P = rng.dirichlet([1, 1, 1, 1], 300)
Y = np.array([rng.choice(4, p=p) for p in P])
WEIGHTS = rng.integers(0, 4, len(Y))

# A. C. Constantinou, N. E. Fenton (2012). Solving the problem of inadequate scoring rules for
# assessing probabilistic football forecast models. Journal of Quantitative Analysis in Sports 8(1),
# doi 10.1515/1559-0410.1418, the table of five matches: probabilities of a home win, a draw and an
# away win, what happened, and the score, which they divide by 2.
MATCHES = [
    ([1.0, 0.0, 0.0], 0, 0.0),
    ([0.9, 0.1, 0.0], 0, 0.005),
    ([0.8, 0.1, 0.1], 0, 0.025),
    ([0.5, 0.25, 0.25], 0, 0.1563),
    ([0.35, 0.3, 0.35], 1, 0.1225),
    ([0.6, 0.3, 0.1], 1, 0.185),
    ([0.6, 0.25, 0.15], 0, 0.0913),
    ([0.6, 0.15, 0.25], 0, 0.1113),
    ([0.57, 0.33, 0.1], 0, 0.0975),
    ([0.6, 0.2, 0.2], 0, 0.1),
]


def test_published_scores():
    for proba, happened, score in MATCHES:
        found = ranked_probability_score([happened], [proba], labels=[0, 1, 2]) / 2
        assert found == pytest.approx(score, abs=5.1e-5)


def test_score_of_two_classes_is_the_brier_score():
    p = P[:, 0]
    y = (rng.random(len(p)) < p).astype(int)
    for weights in (None, WEIGHTS):
        expected = brier_score_loss(y, p, sample_weight=weights)
        for proba in (p, np.column_stack([1 - p, p])):
            found = ranked_probability_score(y, proba, sample_weight=weights)
            assert found == pytest.approx(expected, rel=1e-13)
    soft = rng.random(len(p))
    expected = np.mean(soft * (1 - p) ** 2 + (1 - soft) * p**2)
    assert ranked_probability_score(soft, p) == pytest.approx(expected, rel=1e-13)
    both = np.column_stack([1 - soft, soft]), np.column_stack([1 - p, p])
    assert ranked_probability_score(*both) == pytest.approx(expected, rel=1e-13)


def test_score_is_the_integral_of_squared_distances_of_distributions():
    """With classes at 0, 1, 2, 3 it is the CRPS, also of many rows that come in pieces."""
    counts = np.array([np.bincount(rng.integers(4, size=80), minlength=4) for _ in range(10)])
    ensemble = Ensemble(np.array([np.repeat(np.arange(4.0), count) for count in counts]))
    expected = continuous_ranked_probability_score(Y[:10].astype(float), ensemble)
    found = ranked_probability_score(Y[:10], counts / 80, labels=range(4))
    assert found == pytest.approx(expected, rel=1e-12)
    many = ranked_probability_score(np.tile(Y, 100), np.tile(P, (100, 1)))
    assert many == pytest.approx(ranked_probability_score(Y, P), rel=1e-12)


def test_order_is_that_of_the_labels():
    names = np.array(["low", "medium", "high", "extreme"])
    expected = ranked_probability_score(Y, P, sample_weight=WEIGHTS)
    found = ranked_probability_score(names[Y], P, labels=names, sample_weight=WEIGHTS)
    assert found == expected
    frame = pd.DataFrame(P, columns=names)
    assert ranked_probability_score(names[Y], frame, labels=names, sample_weight=WEIGHTS) == found
    turned = ranked_probability_score(3 - Y, P[:, ::-1], sample_weight=WEIGHTS)
    assert turned == pytest.approx(expected, rel=1e-13)
    other = ranked_probability_score(Y, P[:, [1, 0, 2, 3]], labels=[1, 0, 2, 3])
    assert other != pytest.approx(ranked_probability_score(Y, P), rel=1e-3)
    for function in (ranked_probability_score, cumulative_predictions):
        with pytest.raises(ValueError, match=r"labels must give the order .*'extreme', 'high'"):
            function(names[Y], P)
        assert function(names[Y % 2], P[:, 0], labels=["low", "medium"]) is not None


def test_weights_are_repetition_and_zero_is_absence():
    found = ranked_probability_score(Y, P, sample_weight=WEIGHTS)
    repeated = ranked_probability_score(np.repeat(Y, WEIGHTS), np.repeat(P, WEIGHTS, axis=0))
    assert found == pytest.approx(repeated, rel=1e-12)
    for scale in (1e-300, 1e150):
        scaled = ranked_probability_score(Y, P, sample_weight=WEIGHTS * scale)
        assert scaled == pytest.approx(found, rel=1e-12)


def test_cumulative_predictions_decompose_the_score():
    pair = cumulative_predictions(Y, P)
    assert pair.outcomes.shape == pair.predictions.shape == (len(Y), 3)
    np.testing.assert_array_equal(pair.outcomes, Y[:, None] <= np.arange(3))
    np.testing.assert_allclose(pair.predictions, P.cumsum(axis=1)[:, :3], rtol=1e-14)
    for weights in (None, WEIGHTS):
        parts = corp_decomposition(*pair, reduction="multilabel", sample_weight=weights)
        score = ranked_probability_score(Y, P, sample_weight=weights)
        assert 3 * parts.score == pytest.approx(score, rel=1e-12)
        single = [
            corp_decomposition(pair.outcomes[:, k], pair.predictions[:, k], sample_weight=weights)
            for k in range(3)
        ]
        np.testing.assert_allclose(parts, np.mean(single, axis=0), rtol=1e-12)
    soft = rng.dirichlet([1, 1, 1, 1], len(P))
    pair = cumulative_predictions(soft, P)
    np.testing.assert_allclose(pair.outcomes, soft.cumsum(axis=1)[:, :3], rtol=1e-14)
    score = 3 * corp_decomposition(*pair, reduction="multilabel").score
    assert score == pytest.approx(ranked_probability_score(soft, P), rel=1e-12)
    assert calibration_test(pair.outcomes[:, 0] > 0.5, pair.predictions[:, 0]).pvalue > 0


def test_cumulative_predictions_are_exact_at_both_ends():
    tenths = np.array([[0.1] * 10 + [0.0, 0.0], [0.0, 0.0] + [0.1] * 10])
    tenths = np.vstack([tenths, np.full((1, 12), np.float32(1 / 12)), [0.25003] * 4 + [0.0] * 8])
    for proba in (tenths, tenths.astype(np.float32), np.asfortranarray(tenths)):
        found = cumulative_predictions([0, 1, 2, 3], proba, labels=range(12)).predictions
        assert (found[0, 9:] == 1).all()
        assert found[0, 8] < 1
        assert (found[1, :2] == 0).all()
        assert found.max() == 1
        assert (np.diff(found, axis=1) >= 0).all()


# ---------------------------------------------------------------------------- the k most probable


def test_the_most_probable_one_is_the_confidence():
    """With ties, soft labels, numbers of few bits and other orders of columns."""
    ties = np.array([[0.5, 0.5, 0.0], [0.25, 0.375, 0.375], [1 / 3] * 3, [0.0, 0.5, 0.5]])
    pairs = np.array([[0.5, 0.5], [0.25, 0.75], [0.5, 0.5], [0.75, 0.25]])
    for y, proba, labels in (
        (Y, P, None),
        (Y, P.astype(np.float32), None),
        ([1, 2, 2, 2], ties, [0, 1, 2]),
        (["b", "c", "a", "a"], ties, ["c", "a", "b"]),
        ([0, 1, 1, 0], pairs, None),
        ([0, 1, 1, 0], pairs, [1, 0]),
        ([0.25, 1, 0.5, 0], pairs[:, 1], None),
        (["n", "y", "y", "n"], pairs[:, 1], ["n", "y"]),
    ):
        (sample,) = reduce_to_samples(y, proba, labels=labels, reduction="confidence")
        found = top_k_predictions(y, proba, 1, labels=labels)
        np.testing.assert_array_equal(found.outcomes, sample.outcomes)
        np.testing.assert_array_equal(found.predictions, sample.predictions)
        expected = smooth_ece(y, proba, labels=labels, reduction="confidence")
        assert smooth_ece(*found) == expected


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_the_most_probable_ones_by_definition(k):
    grid = np.array([p for p in itertools.product(range(5), repeat=4) if sum(p) == 4]) / 4
    proba = np.repeat(grid, 4, axis=0)
    y = np.tile(np.arange(4), len(grid))
    found = top_k_predictions(y, proba, k)
    for row, label, outcome, prediction in zip(proba, y, *found, strict=True):
        first = sorted(range(4), key=lambda j: (-row[j], j))[:k]
        assert outcome == (label in first)
        assert prediction == sum(row[first])
    assert found.outcomes.dtype.kind == "i"
    # Without ties the outcomes are those of scikit-learn, also of many rows in pieces.
    y, proba = np.tile(Y, 50), np.tile(P, (50, 1))
    found = top_k_predictions(y, proba, k)
    if k < 4:
        assert found.outcomes.mean() == pytest.approx(top_k_accuracy_score(y, proba, k=k))
    assert found.predictions.dtype == np.float64
    assert top_k_predictions(Y, P.astype(np.float32), min(k, 3)).predictions.dtype == np.float32


def test_sums_are_not_above_one_and_all_classes_are_certain():
    proba = np.array([[0.2503, 0.2503, 0.2503, 0.2499], [0.5, 0.5, 0.0, 0.0]])
    assert top_k_predictions([0, 1], proba, 3, labels=range(4)).predictions.max() <= 1
    for n_classes, given in ((4, proba), (2, [0.3, 0.9])):
        found = top_k_predictions([0, 1], given, n_classes, labels=range(n_classes))
        assert found.outcomes.tolist() == found.predictions.tolist() == [1, 1]


def test_a_calibrated_model_is_calibrated_for_its_most_probable_classes():
    """The p-value of an exact test; labels are drawn from the predictions."""
    pair = top_k_predictions(Y, P, 2)
    assert calibration_test(*pair, random_state=0).pvalue > 0.01
    wrong = top_k_predictions(Y, P**3 / np.sum(P**3, axis=1, keepdims=True), 2)
    assert calibration_test(*wrong, random_state=0).pvalue < 0.01


def test_bad_arguments():
    for k in (0, 5, 1.0, True, "1"):
        with pytest.raises(ValueError, match=r"^k must be"):
            top_k_predictions(Y, P, k)
    for function in (ranked_probability_score, cumulative_predictions):
        with pytest.raises(ValueError, match="Rows of y_proba must sum to 1"):
            function(Y, P / 2)
        with pytest.raises(ValueError, match="dense"):
            function(sparse.csr_array(np.eye(4)[Y]), P)
    calls = ranked_probability_score, cumulative_predictions, partial(top_k_predictions, k=1)
    for call in calls:  # none takes a pos_label
        with pytest.raises(ValueError, match=r"^labels must name both classes of y_true"):
            call(["a", "b"], [0.5, 0.25])
