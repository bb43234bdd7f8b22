"""Searches that start from a map of similar rows end where others do."""

import numpy as np
import pytest

from skcal._fitting._held_out import fit_to_columns, predict_columns
from skcal.recalibration import (
    BetaCalibration,
    SplineRecalibration,
    StructuredMatrixScaling,
    StructuredVectorScaling,
    TemperatureScaling,
    VectorScaling,
)
from tests.recalibration.family import both_counts, make_scores


@pytest.mark.parametrize(
    "R",
    [
        BetaCalibration,
        SplineRecalibration,
        StructuredMatrixScaling,
        StructuredVectorScaling,
        TemperatureScaling,
        VectorScaling,
    ],
)
@both_counts
def test_a_start_that_is_near_changes_nothing(R, n_classes):
    X, y = make_scores(n_classes, 900)
    near = fit_to_columns(R(), X[:400], y[:400], None)
    alone = fit_to_columns(R(), X[300:], y[300:], None)
    found = fit_to_columns(R(), X[300:], y[300:], None, near)
    np.testing.assert_allclose(
        predict_columns(found, X), predict_columns(alone, X), rtol=0, atol=1e-7
    )
    assert "_near" not in vars(found)


@pytest.mark.parametrize("R", [SplineRecalibration, StructuredMatrixScaling, TemperatureScaling])
def test_a_map_of_other_classes_is_none_to_start_from(R):
    X, y = make_scores(4, 600)
    for seen in ([0], [0, 1]):
        some = np.isin(y, seen)
        near = fit_to_columns(R(), X[some], y[some], None)
        found = fit_to_columns(R(), X, y, None, near)
        alone = fit_to_columns(R(), X, y, None)
        np.testing.assert_allclose(
            predict_columns(found, X), predict_columns(alone, X), rtol=0, atol=1e-7
        )
