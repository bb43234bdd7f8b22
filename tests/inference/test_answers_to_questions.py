"""Rows are all answers to questions, one of them right, or matched sets with one case each.

Residuals of such a cluster sum to 0 by design, and what rounding leaves of them has no law.
"""

from functools import partial

import numpy as np
import pytest
from scipy.special import softmax

from skcal.inference import (
    audit_groups,
    audit_mean_groups,
    calibration_belt_test,
    calibration_test,
    cox_recalibration,
    mean_calibration_test,
    multinomial_recalibration,
    spiegelhalter_test,
)
from tests.chance import most_of

FEW = {"n_resamples": 99, "random_state": 0}
OF_LEVELS = {
    "mean_calibration_test": partial(mean_calibration_test, **FEW),
    "spiegelhalter_test": spiegelhalter_test,
    "cox_recalibration": lambda *rows, **options: cox_recalibration(*rows, **options).test,
    "audit_groups": lambda y, v, clusters: audit_groups(
        y, v, clusters // 30, clusters=clusters, **FEW
    ),
    "audit_mean_groups": lambda y, v, clusters: audit_mean_groups(
        y, v, clusters // 30, clusters=clusters, **FEW
    ),
}
OF_SLOPES = {
    "calibration_test": partial(calibration_test, **FEW),
    "calibration_belt_test": calibration_belt_test,
    "mean_calibration_test": OF_LEVELS["mean_calibration_test"],
    "cox_recalibration": OF_LEVELS["cox_recalibration"],
    "multinomial_recalibration": lambda *rows, **options: (
        multinomial_recalibration(*rows, **options).test
    ),
}


def draw(rng, sharper, dtype):
    """Which of four answers to each of 100 questions is right, and what is predicted."""
    scores = rng.normal(size=(100, 4))
    best = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
    proba = softmax(sharper * scores, axis=1).astype(dtype)
    return np.eye(4, dtype=int)[best].ravel(), proba.ravel()


@pytest.mark.parametrize("n_rows", [3, 5, 7, 10, 20])
@pytest.mark.parametrize("test", OF_LEVELS)
def test_means_of_answers_are_right_by_design(test, n_rows):
    y, v = np.tile(np.arange(n_rows) == 0, 60), np.full(60 * n_rows, 1 / n_rows)
    found = OF_LEVELS[test](y.astype(int), v, clusters=np.repeat(np.arange(60), n_rows))
    assert np.all(found.pvalue == 1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("test", OF_SLOPES)
def test_sharp_answers_are_rejected_and_right_ones_are_not(test, dtype):
    rng, question, rejected = np.random.default_rng(0), np.repeat(np.arange(100), 4), 0
    for _ in range(8):
        found = OF_SLOPES[test](*draw(rng, 1, dtype), clusters=question)
        rejected += found.pvalue <= 0.05
    assert rejected <= most_of(8, 0.05)
    assert OF_SLOPES[test](*draw(rng, 3, dtype), clusters=question).pvalue <= 0.02
