"""Recalibrators that keep the predicted class and move its probability.

Theorem 20 of the SmoothECE paper is tested by many draws.
"""

import re
from contextlib import ExitStack

import numpy as np
import pytest

from skcal.metrics import smooth_ece
from skcal.recalibration import ConfidenceReplacement, KernelRecalibration, RandomizedSmoothing
from tests.recalibration.family import both_counts, in_two_columns, make_scores
from tests.reference import reflected_kernel_sum

N_DRAWS = 2000
STEP = np.sqrt(2 / np.pi)  # mean size of a standard normal number


@both_counts
@pytest.mark.parametrize("input", ["proba", "logits"])
def test_mean_replacement_follows_its_definition(n_classes, input):
    X, y = make_scores(n_classes)
    weights = np.random.default_rng(0).random(len(y))
    accuracy = weights[X.argmax(axis=1) == y].sum() / weights.sum()
    scores = X if input == "proba" else np.log(X) - 4
    recalibrator = ConfidenceReplacement(input=input).fit(scores, y, sample_weight=weights)
    assert recalibrator.accuracy_ == pytest.approx(accuracy, rel=1e-12)
    rest = (1 - accuracy) / (n_classes - 1)
    expected = np.where(X.max(axis=1, keepdims=True) == X, accuracy, rest)
    np.testing.assert_allclose(recalibrator.predict_proba(scores), expected, rtol=1e-12)


def test_ties_go_to_the_first_class():
    X = [[0.4, 0.4, 0.2], [0.2, 0.4, 0.4], [0.6, 0.2, 0.2], [1 / 3, 1 / 3, 1 / 3]]
    recalibrator = ConfidenceReplacement(classes=["a", "b", "c"])
    with pytest.warns(
        UserWarning, match=r"No row is of .*\['c'\]: what is learned from other class"
    ):
        recalibrator.fit(X, ["a", "b", "a", "b"])
    assert recalibrator.accuracy_ == 0.75
    assert list(recalibrator.predict(X)) == ["a", "b", "a", "a"]


@pytest.mark.parametrize("R", [ConfidenceReplacement, RandomizedSmoothing])
@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_warning_exactly_where_the_accuracy_is_no_better_than_chance(R, weight):
    """The predicted class stays the most probable one of `ConfidenceReplacement`, if barely."""
    X = np.tile([0.6, 0.3, 0.1], (36, 1))
    for n_right in (0, 11, 12, 13, 34):
        y = np.where(np.arange(36) < n_right, 0, 1 + np.arange(36) % 2)
        recalibrator, arguments = R(classes="columns"), (X, y, np.full(36, weight))
        if n_right > 12:
            assert recalibrator.fit(*arguments).classes_.tolist() == [0, 1, 2]
            continue
        message = (
            rf"accuracy on the fitted rows is {re.escape(f'{n_right / 36:.7g}')}, .*= 0\.3333333:"
        )
        with ExitStack() as stack:
            stack.enter_context(pytest.warns(UserWarning, match=message))
            if n_right == 0:
                stack.enter_context(pytest.warns(UserWarning, match=r"No row is of .*\[0\]"))
            recalibrator.fit(*arguments)
        if R is ConfidenceReplacement:
            assert recalibrator.predict(X[:1]) == [0]
            np.testing.assert_allclose(recalibrator.predict_proba(X[:1]), 1 / 3, rtol=2e-6)
    # Of two classes the probability of the second is smoothed, which need not be kept.
    assert RandomizedSmoothing().fit(X[:3, :2] / 0.9, [1, 1, 0]).bandwidth_ > 0


def test_predicted_class_survives_float32():
    """A lead in accuracy that float32 cannot hold counts as none."""
    X = np.array([[0.4, 0.6], [0.4, 0.6]], dtype=np.float32)
    for lead in (1e-5, 1e-7, 1e-9):
        recalibrator, weights = ConfidenceReplacement(), [1.0, 1.0 + lead]
        if lead < 1e-5:
            with pytest.warns(UserWarning, match="columns and labels are mixed up"):
                recalibrator.fit(X, [0, 1], sample_weight=weights)
        else:
            recalibrator.fit(X, [0, 1], sample_weight=weights)
        assert list(recalibrator.predict(X)) == [1, 1]


@both_counts
@pytest.mark.parametrize("bandwidth", [None, 0.01, 0.3])
def test_answers_are_calibrated_and_near(n_classes, bandwidth):
    """E[(y - answer) g(answer)] vanishes for every g; for the predictions it does not."""
    X, y = make_scores(n_classes, 200)
    recalibrator = RandomizedSmoothing(bandwidth=bandwidth, random_state=0).fit(X, y)
    # Predictions that are smoothed, and their outcomes.
    read = np.ones(200, dtype=int) if n_classes == 2 else X.argmax(axis=1)
    predictions, outcomes = X[np.arange(200), read], (y == read).astype(int)
    proba = recalibrator.predict_proba(np.tile(X, (N_DRAWS, 1)))
    answers = proba[np.arange(len(proba)), np.tile(read, N_DRAWS)].reshape(N_DRAWS, 200)

    def list_residuals(values):
        tests = (np.ones_like(values), values, values > 0.5, values > 0.8, np.cos(9 * values))
        return np.array([((outcomes - values) * test).mean(axis=-1) for test in tests])

    residuals = list_residuals(answers)
    tolerance = 4 * residuals.std(axis=1) / np.sqrt(N_DRAWS) + 4e-4  # the curve is kept to 4e-4
    assert (np.abs(residuals.mean(axis=1)) < tolerance).all()
    assert np.abs(list_residuals(predictions)).max() > 10 * tolerance.max()
    used, movement = recalibrator.bandwidth_, np.abs(answers - predictions).mean()
    assert movement <= smooth_ece(outcomes, predictions, bandwidth=used) + 2 * STEP * used
    # The answers are calibrated, so that the smooth error is a lower bound of the way there.
    assert movement >= smooth_ece(outcomes, predictions) / (1 + 2 * STEP)
    if bandwidth is None:
        assert used == pytest.approx(smooth_ece(outcomes, predictions), abs=2e-6)


@pytest.mark.parametrize("bandwidth", [5, 1e5, np.finfo(float).max])
def test_much_noise_leaves_the_base_rate(bandwidth):
    """The reflected kernel tends to the uniform density; the largest noise overflowed."""
    X, y = make_scores(2)
    proba = RandomizedSmoothing(bandwidth=bandwidth).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(proba[:, 1], y.mean(), atol=1e-9)


def test_noise_has_the_density_of_the_kernel():
    """With outcome 1 exactly above 1/2, the noisy prediction can be read off the smoothed curve."""
    grid, ends = (np.arange(1000) + 0.5) / 1000, np.array([0.1, 0.5, 0.9])
    recalibrator = RandomizedSmoothing(bandwidth=0.3, random_state=0)
    curve = recalibrator.fit(in_two_columns(grid), grid > 0.5).curve_
    (other,) = KernelRecalibration(bandwidth=0.3).fit(in_two_columns(grid), grid > 0.5).maps_
    np.testing.assert_array_equal([curve.knots, curve.values], [other.knots, other.values])
    assert (np.diff(curve.values) > 0).all()
    for prediction in (0.0, 0.3, 1.0):
        answers = recalibrator.transform(in_two_columns(np.full(40000, prediction)))[:, 1]
        noisy = np.interp(answers, curve.values, curve.knots)
        shares = (noisy[:, None] < ends).mean(axis=0)
        expected = reflected_kernel_sum(ends, np.array([prediction]), [1], 0.3, antiderivative=True)
        assert (np.abs(shares - expected) < 4 * np.sqrt(expected * (1 - expected) / 40000)).all()


def test_the_other_classes_share_the_rest_evenly():
    """In the second half of the rows the predicted class, the last, never came true."""
    X = np.repeat([[0.9, 0.05, 0.05], [0.1, 0.3, 0.6]], 10, axis=0)
    recalibrator = RandomizedSmoothing(bandwidth=0.01, random_state=0)
    proba = recalibrator.fit(X, np.repeat([0, 1, 2], [10, 9, 1])).predict_proba(X)
    np.testing.assert_allclose(proba[10:], np.tile([0.45, 0.45, 0.1], (10, 1)), atol=1e-9)
    np.testing.assert_array_equal(recalibrator.predict(X), [0] * 20)


@both_counts
def test_random_states(n_classes):
    """An integer draws the same numbers at every call, one for each row in their order."""
    X, y = make_scores(n_classes)
    predict, *others = (
        RandomizedSmoothing(random_state=seed).fit(X, y).predict_proba
        for seed in (7, 8, None, np.random.RandomState(0))
    )
    np.testing.assert_array_equal(predict(X), predict(X))
    assert not np.allclose(predict(X[::-1])[::-1], predict(X))
    for other in others:
        assert not np.allclose(other(X), predict(X))
    for other in others[1:]:
        assert not np.allclose(other(X), other(X))
