"""IsotonicRecalibration: agreement with scikit-learn, several classes, edges."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from skcal.recalibration import IsotonicRecalibration
from tests.recalibration.family import make_scores


def test_two_classes_agree_with_isotonic_regression():
    X, y = make_scores(2)
    weights = np.random.default_rng(0).random(len(y))
    regression = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
    expected = regression.fit(X[:, 1], y, sample_weight=weights).predict(X[:, 1])
    proba = IsotonicRecalibration().fit(X, y, sample_weight=weights).predict_proba(X)
    np.testing.assert_array_equal(proba[:, 1], expected)
    np.testing.assert_array_equal(proba[:, 0], 1 - expected)


def test_several_classes_are_mapped_one_against_the_rest_and_normalised():
    X, y = make_scores(3)
    parts = np.column_stack(
        [
            IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
            .fit(X[:, k], y == k)
            .predict(X[:, k])
            for k in range(3)
        ]
    )
    np.testing.assert_allclose(
        IsotonicRecalibration().fit(X, y).predict_proba(X),
        parts / parts.sum(axis=1, keepdims=True),
        atol=1e-15,
    )


def test_row_that_all_maps_send_to_zero_becomes_uniform():
    # Every class came true at a score of .6 and failed at .4, so that all maps vanish up to .4.
    X = [[0.6, 0.4, 0.0], [0.0, 0.6, 0.4], [0.4, 0.0, 0.6]]
    recalibrator = IsotonicRecalibration().fit(X, [0, 1, 2])
    for score in (0.0, 1 / 3, 0.4):
        assert [m.predict([score])[0] for m in recalibrator.maps_] == [0, 0, 0]
    proba = recalibrator.predict_proba([[1 / 3, 1 / 3, 1 / 3], [0.35, 0.4, 0.25], [0.6, 0.4, 0]])
    np.testing.assert_array_equal(proba, [[1 / 3] * 3, [1 / 3] * 3, [1, 0, 0]])


def test_output_does_not_decrease_with_the_score():
    X, y = make_scores(2)
    for scores, input in ((X, "proba"), (60 * np.log(X), "logits")):
        recalibrator = IsotonicRecalibration(input=input).fit(scores, y)
        order = np.argsort(scores[:, 1] - scores[:, 0], kind="stable")
        assert (np.diff(recalibrator.transform(scores)[order, 1]) >= 0).all()


def test_large_logits_do_not_saturate():
    """Beyond 37 the probabilities of all logits are 1; the maps still tell them apart."""
    z = np.array([[50.0], [60.0], [70.0], [80.0]])
    recalibrator = IsotonicRecalibration(input="logits").fit(z, [0, 0, 1, 1])
    np.testing.assert_array_equal(recalibrator.transform(z).ravel(), [0, 0, 1, 1])


def test_constant_scores_give_the_base_rate():
    recalibrator = IsotonicRecalibration().fit(np.full((4, 2), 0.5), [0, 1, 1, 1])
    np.testing.assert_allclose(recalibrator.predict_proba([[0.9, 0.1]]), [[0.25, 0.75]])


@pytest.mark.parametrize("scores", [[[0.0, 1.0]], [[1.0, 0.0]]])
def test_scores_outside_the_training_range_are_clipped(scores):
    recalibrator = IsotonicRecalibration().fit([[0.6, 0.4], [0.4, 0.6]], [0, 1])
    np.testing.assert_array_equal(recalibrator.predict_proba(scores), scores)
