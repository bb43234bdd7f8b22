"""RandomizedSmoothing: Theorem 20 of the SmoothECE paper, and what the noise and the seed do."""

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.utils import get_tags

from skcal.metrics import smooth_ece
from skcal.recalibration import RandomizedSmoothing, RecalibratedClassifierCV
from tests.recalibration.family import make_scores
from tests.reference import reflected_kernel_sum

N_DRAWS = 2000
STEP = np.sqrt(2 / np.pi)  # mean size of a standard normal number

both_counts = pytest.mark.parametrize("n_classes", [2, 4])


def read_sample(X, y, proba=None):
    """Predictions that are smoothed and their outcomes; and the answers, if given."""
    if X.shape[1] == 2:
        return X[:, 1], y == 1, None if proba is None else proba[:, 1]
    top = X.argmax(axis=1)
    return X.max(axis=1), y == top, None if proba is None else proba[np.arange(len(X)), top]


def draw_answers(recalibrator, X, y):
    """Predictions, outcomes and many draws of the answer, of shape (n_draws, n_samples)."""
    repeated = np.tile(X, (N_DRAWS, 1))
    proba = recalibrator.predict_proba(repeated)
    _, _, answers = read_sample(repeated, np.tile(y, N_DRAWS), proba)
    predictions, outcomes, _ = read_sample(X, y)
    return predictions, outcomes, answers.reshape(N_DRAWS, len(X))


@both_counts
@pytest.mark.parametrize("bandwidth", [None, 0.01, 0.3])
def test_answers_are_calibrated_on_the_fitted_rows(n_classes, bandwidth):
    """E[(y - answer) g(answer)] vanishes for every g; for the predictions it does not."""
    X, y = make_scores(n_classes, 200)
    recalibrator = RandomizedSmoothing(bandwidth=bandwidth, random_state=0).fit(X, y)
    predictions, outcomes, answers = draw_answers(recalibrator, X, y)

    def list_residuals(values):
        tests = (np.ones_like(values), values, values > 0.5, values > 0.8, np.cos(9 * values))
        return np.array([((outcomes - values) * test).mean(axis=-1) for test in tests])

    residuals = list_residuals(answers)
    error = residuals.std(axis=1) / np.sqrt(N_DRAWS)
    tolerance = 4 * error + 4e-4  # the curve is kept to 4e-4
    assert (np.abs(residuals.mean(axis=1)) < tolerance).all()
    assert np.abs(list_residuals(predictions)).max() > 10 * tolerance.max()


@both_counts
@pytest.mark.parametrize("bandwidth", [None, 0.01, 0.3])
def test_predictions_move_little_on_average(n_classes, bandwidth):
    X, y = make_scores(n_classes, 200)
    recalibrator = RandomizedSmoothing(bandwidth=bandwidth, random_state=0).fit(X, y)
    predictions, outcomes, answers = draw_answers(recalibrator, X, y)
    movement = np.abs(answers - predictions).mean()
    used = recalibrator.bandwidth_
    error = smooth_ece(outcomes.astype(int), predictions, bandwidth=used)
    assert movement <= error + 2 * STEP * used
    # The answers are calibrated, so that the smooth error is a lower bound of the way there.
    assert movement >= smooth_ece(outcomes.astype(int), predictions) / (1 + 2 * STEP)
    if bandwidth is None:
        assert movement <= (1 + 2 * STEP) * used


@both_counts
def test_bandwidth_is_smooth_ece(n_classes):
    X, y = make_scores(n_classes)
    weights = np.random.default_rng(0).random(len(y))
    recalibrator = RandomizedSmoothing().fit(X, y, sample_weight=weights)
    assert recalibrator.bandwidth_ == pytest.approx(
        smooth_ece(y, X, sample_weight=weights), abs=2e-6
    )


def test_smallest_bandwidth():
    recalibrator = RandomizedSmoothing().fit([[1.0, 0.0], [0.0, 1.0]], [0, 1])
    assert recalibrator.bandwidth_ == 0.001
    np.testing.assert_allclose(
        recalibrator.predict_proba([[1, 0], [0.9, 0.1], [0, 1]]),
        [[1, 0], [1, 0], [0, 1]],
        atol=1e-9,
    )


@pytest.mark.parametrize("bandwidth", [0.003, 0.05, 2.0])
def test_curve_is_the_kernel_regression(bandwidth):
    X, y = make_scores(2, 50)
    weights = np.random.default_rng(0).random(50)
    recalibrator = RandomizedSmoothing(bandwidth=bandwidth).fit(X, y, sample_weight=weights)
    points = np.linspace(0, 1, 5001)
    density = reflected_kernel_sum(points, X[:, 1], weights, bandwidth)
    positive = reflected_kernel_sum(points, X[:, 1], weights * y, bandwidth)
    seen = density > 1e-200
    np.testing.assert_allclose(
        np.interp(points, recalibrator.curve_.knots, recalibrator.curve_.values)[seen],
        positive[seen] / density[seen],
        atol=5e-4,
    )


def test_far_clusters_answer_their_base_rate():
    X = np.repeat([[0.8, 0.2], [0.3, 0.7]], [10, 5], axis=0)
    y = np.array([1] * 3 + [0] * 7 + [1] * 4 + [0])
    recalibrator = RandomizedSmoothing(bandwidth=0.01).fit(X, y)
    np.testing.assert_allclose(
        recalibrator.predict_proba(X)[:, 1], np.repeat([0.3, 0.8], [10, 5]), atol=1e-9
    )


@pytest.mark.parametrize("bandwidth", [5, 1e5, np.finfo(float).max])
def test_much_noise_leaves_the_base_rate(bandwidth):
    """The reflected kernel tends to the uniform density; the largest noise overflowed."""
    X, y = make_scores(2)
    proba = RandomizedSmoothing(bandwidth=bandwidth).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(proba[:, 1], y.mean(), atol=1e-9)


def test_noise_has_the_density_of_the_kernel():
    """With outcome 1 exactly above 1/2, the noisy prediction can be read off the curve."""
    grid = (np.arange(1000) + 0.5) / 1000
    bandwidth = 0.3
    recalibrator = RandomizedSmoothing(bandwidth=bandwidth, random_state=0)
    recalibrator.fit(np.column_stack([1 - grid, grid]), grid > 0.5)
    curve = recalibrator.curve_
    assert (np.diff(curve.values) > 0).all()
    for prediction in (0.0, 0.3, 1.0):
        answers = recalibrator.transform(np.tile([1 - prediction, prediction], (40000, 1)))[:, 1]
        noisy = np.interp(answers, curve.values, curve.knots)
        for end in (0.1, 0.5, 0.9):
            share = (noisy < end).mean()
            expected = reflected_kernel_sum(
                np.array([end]), np.array([prediction]), np.ones(1), bandwidth, antiderivative=True
            )[0]
            assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / 40000)


def test_the_other_classes_share_the_rest():
    X, y = make_scores(4)
    proba = RandomizedSmoothing(random_state=0).fit(X, y).predict_proba(X)
    rows, top = np.arange(len(X)), X.argmax(axis=1)
    rest = (1 - proba[rows, top]) / 3
    proba[rows, top] = rest
    np.testing.assert_allclose(proba, np.tile(rest[:, None], 4), atol=1e-15)


def test_answers_below_chance_predict_the_first_other_class():
    """A cluster of rows whose predicted class, the last, never came true."""
    X = np.repeat([[0.9, 0.05, 0.05], [0.1, 0.3, 0.6]], 10, axis=0)
    y = np.array([0] * 10 + [1] * 9 + [2])
    recalibrator = RandomizedSmoothing(bandwidth=0.01, random_state=0).fit(X, y)
    proba = recalibrator.predict_proba(X)
    np.testing.assert_allclose(proba[10:], np.tile([0.45, 0.45, 0.1], (10, 1)), atol=1e-9)
    np.testing.assert_array_equal(recalibrator.predict(X), [0] * 20)


def test_worthless_scores_are_refused_for_several_classes():
    X = np.tile([0.6, 0.3, 0.1], (3, 1))
    with pytest.raises(ValueError, match=r"cannot be kept: it is right in a share of 0\.3333333"):
        RandomizedSmoothing().fit(X, [0, 1, 2])
    with pytest.raises(ValueError, match=r"a share of 0\.2 of the fitted rows"):
        RandomizedSmoothing().fit(X, [0, 1, 2], sample_weight=[1, 2, 2])
    assert RandomizedSmoothing().fit(X, [0, 1, 2], sample_weight=[3, 2, 2]).bandwidth_ > 0
    assert RandomizedSmoothing().fit(X[:, :2] / 0.9, [1, 1, 0]).bandwidth_ > 0


def test_integer_gives_the_same_answer_at_every_call():
    X, y = make_scores(4)
    recalibrator = RandomizedSmoothing(random_state=7).fit(X, y)
    first = recalibrator.predict_proba(X)
    np.testing.assert_array_equal(recalibrator.predict_proba(X), first)
    np.testing.assert_array_equal(recalibrator.transform(X), first)
    np.testing.assert_array_equal(recalibrator.predict(X), first.argmax(axis=1))
    other = RandomizedSmoothing(random_state=8).fit(X, y)
    np.testing.assert_array_equal(other.curve_.values, recalibrator.curve_.values)
    assert not np.allclose(other.predict_proba(X), first)
    assert not np.allclose(recalibrator.predict_proba(X[::-1])[::-1], first)


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(0)])
def test_other_random_states_draw_anew(random_state):
    X, y = make_scores(2)
    recalibrator = RandomizedSmoothing(random_state=random_state).fit(X, y)
    assert not np.allclose(recalibrator.predict_proba(X), recalibrator.predict_proba(X))


@both_counts
def test_fitted_attributes_know_no_order_and_read_weights_as_repetition(n_classes):
    X, y = make_scores(n_classes, 80)
    rng = np.random.default_rng(1)
    weights, order = rng.integers(0, 4, len(y)), rng.permutation(len(y))
    weighted = RandomizedSmoothing().fit(X, y, sample_weight=weights)
    for other in (
        RandomizedSmoothing().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)),
        RandomizedSmoothing().fit(X[order], y[order], sample_weight=0.1 * weights[order]),
    ):
        assert other.bandwidth_ == pytest.approx(weighted.bandwidth_, abs=1e-9)
        np.testing.assert_allclose(other.curve_.values, weighted.curve_.values, atol=1e-9)


def test_tag():
    assert get_tags(RandomizedSmoothing(random_state=0)).non_deterministic
    model = RecalibratedClassifierCV(GaussianNB(), RandomizedSmoothing(random_state=0))
    assert get_tags(model).non_deterministic


def test_bad_parameters():
    X, y = make_scores(2)
    for bandwidth in (0, 0.0009, -1, np.nan, np.inf, "smooth"):
        with pytest.raises(ValueError, match="bandwidth must be"):
            RandomizedSmoothing(bandwidth=bandwidth).fit(X, y)
    with pytest.raises(ValueError, match="random_state must be None, an integer"):
        RandomizedSmoothing(random_state="noise").fit(X, y)


def test_real_network(shared_data):
    """Confidence of DenseNet-40 on CIFAR-10: smECE .0549309 (DEFINITIONS.md, section 11)."""
    table = pd.read_csv(shared_data / "cifar10_densenet40_confidence.csv")
    X, y = table[["y_prob"]].to_numpy(), table.y_true.to_numpy()
    recalibrator = RandomizedSmoothing(random_state=0).fit(X, y)
    assert recalibrator.bandwidth_ == pytest.approx(0.0549309, abs=1e-6)
    X, y = np.tile(X, (10, 1)), np.tile(y, 10)
    answers = recalibrator.transform(X)
    assert smooth_ece(y, answers) < 0.0549309 / 10
    assert np.abs(answers - X).mean() < (1 + 2 * STEP) * 0.0549309
