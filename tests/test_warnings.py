"""Warnings show the line of the program that called, however deep they come from."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from skcal.recalibration import AutoRecalibration, CrossFitProba, RecalibratedClassifierCV
from skcal.report import CalibrationReport
from skcal.scorers import get_scorer

X, Y = np.arange(12.0)[:, None] % 5, np.array([0, 1, 2, 0, 1, 2, 0, 1, 1, 0, 1, 0])
FEW = np.array([[0.3, 0.7], [0.6, 0.4]]), [1, 0]
CROSS_FIT = CrossFitProba(GaussianNB(), cv=KFold(2))
CALLS = {
    "fit": lambda: AutoRecalibration().fit(*FEW),
    "in a pipeline": lambda: make_pipeline("passthrough", AutoRecalibration()).fit(*FEW),
    "in a search": lambda: GridSearchCV(AutoRecalibration(), {}, cv=[([0, 1], [0, 1])]).fit(*FEW),
    "fit_transform": lambda: CROSS_FIT.fit_transform(X, Y),
    "meta-estimator": lambda: RecalibratedClassifierCV(
        GaussianNB(), cv=KFold(2), ensemble=False
    ).fit(X, Y),
    "scorer": lambda: get_scorer("neg_smooth_ece")(GaussianNB().fit(X[6:], Y[6:]), X, Y),
    "report": lambda: CalibrationReport.from_estimator(GaussianNB().fit(X[6:], Y[6:]), X, Y),
}


@pytest.mark.parametrize("call", CALLS)
def test_file_of_warnings(call):
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        CALLS[call]()
    assert {warning.filename for warning in record} == {__file__}
