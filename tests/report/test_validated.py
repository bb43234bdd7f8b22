"""Reports from training rows alone."""

import json

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from skcal.model_selection import internal_validation
from skcal.report import CalibrationReport, calibration_report

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 8))
Y = np.array(["ill", "well"])[(RNG.random(200) < expit(X[:, 0])).astype(int)]
MODEL, SEEDED = LogisticRegression(), {"n_resamples": 20, "random_state": 0}


@pytest.fixture(scope="module")
def report():
    return CalibrationReport.from_internal_validation(MODEL, X, Y, pos_label="ill", **SEEDED)


def test_the_report_is_that_of_held_out_predictions(report):
    found = internal_validation(MODEL, X, Y, method="cv", pos_label="ill", **SEEDED)
    (model,) = report.models.values()
    assert model.sample.pos_label == "ill"
    assert model.sample.mean_prediction == pytest.approx(found.held_out.mean())
    assert model.validation.measures == found.measures
    expected = calibration_report(Y, found.held_out, pos_label="ill", random_state=0)
    measures = (model.measures["smooth_ece"], expected.models[None].measures["smooth_ece"])
    assert measures[0].estimate == measures[1].estimate


def test_the_report_says_that_there_was_no_test_set(report):
    assert report.sentence.startswith("No test set was used: ")
    text = str(report)
    assert "No test set was used" in text.replace("\n", " ")
    slope = report.models[None].validation.measures["slope"]
    line = next(line for line in text.splitlines() if line.startswith("  slope  "))
    assert line.split()[1:3] == [f"{slope.apparent:.4f}", f"{slope.corrected.estimate:.4f}"]
    frame = report.to_frame().set_index("quantity")
    assert tuple(frame.loc["corrected_slope", ["estimate", "low", "high"]]) == slope.corrected
    assert "Model of all rows" in report.to_html()
    found = json.loads(json.dumps(report.to_dict()))["models"][0]["validation"]
    assert found["measures"]["slope"]["corrected"]["estimate"] == slope.corrected.estimate


def test_one_class_against_the_rest_and_clusters():
    labels = np.where(X[:, 1] > 0.8, "dead", Y)
    report = CalibrationReport.from_internal_validation(
        MODEL, X, labels, pos_label="dead", clusters=np.arange(200) // 2, **SEEDED
    )
    sample = report.models[None].sample
    assert (sample.pos_label, sample.labels) == ("dead", ["other", "dead"])
    assert sample.n_clusters == 100
    assert sample.mean_outcome == pytest.approx((labels == "dead").mean())
    with pytest.raises(ValueError, match=r"^pos_label must be one of the 3 labels"):
        CalibrationReport.from_internal_validation(MODEL, X, labels)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"scale": "log"}, "scale must be one of"),
        ({"tolerance": 5}, "tolerance must"),
        ({"clinical": "yes"}, "clinical must be"),
        ({"groups": np.arange(7)}, "groups must have one entry for each of the 200 rows; got 7"),
    ],
)
def test_bad_options_are_refused_before_models_are_fitted(options, error):
    class Costly(LogisticRegression):
        def fit(self, X, y):
            raise AssertionError("fitted")

    with pytest.raises(ValueError, match=f"^{error}"):
        CalibrationReport.from_internal_validation(Costly(), X, Y, **options)
