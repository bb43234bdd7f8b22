"""The section for a clinical paper."""

import json

import numpy as np
import pytest
from scipy.special import expit

from skcal.inference import confidence_interval, cox_recalibration, observed_expected_ratio
from skcal.report import calibration_report

FEW = {"n_resamples": 9, "random_state": 0, "clinical": True}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    log_odds = rng.normal(-1, 1, 60)
    return (rng.random(60) < expit(log_odds)).astype(int), expit(log_odds).round(1).clip(0.1, 0.9)


def test_numbers_are_those_of_the_functions(rows):
    report = calibration_report(*rows, confidence_level=0.9, **FEW)
    found = report.models[None].clinical
    ratio = observed_expected_ratio(*rows, confidence_level=0.9)
    np.testing.assert_allclose(found.observed_expected, ratio, rtol=1e-12)
    expected = cox_recalibration(*rows, confidence_level=0.9)
    np.testing.assert_allclose(found.recalibration.slope, expected.slope, rtol=1e-9)
    for name, quantile in (("ici", None), ("e50", 0.5), ("e90", 0.9), ("emax", 1)):
        interval = confidence_interval(
            *rows, measure="integrated_calibration_index", quantile=quantile, random_state=0
        )
        assert getattr(found, name).estimate == pytest.approx(interval.estimate, rel=1e-9)
    assert found.e50.estimate <= found.e90.estimate <= found.emax.estimate
    text, frame = str(report), report.to_frame().set_index("quantity")
    for words in ("For a clinical paper", "observed / expected (O:E)", "test, slope", "Emax"):
        assert words in text
        assert words in report.to_html()
    # Nothing is known of the lower ends of quantiles.
    rows = {line.split()[0]: line for line in text.splitlines() if line.strip()}
    assert " to " in rows["ICI"]
    for name in ("E50", "E90", "Emax"):
        assert " at most " in rows[name]
        assert " to " not in rows[name]
    assert frame.loc["ici", "high"] == found.ici.high
    slope_test = found.recalibration.slope_test
    assert slope_test.pvalue == pytest.approx(expected.slope_test.pvalue, rel=1e-6)
    assert frame.loc["clinical_slope_test", "estimate"] == slope_test.pvalue
    (model,) = json.loads(json.dumps(report.to_dict()))["models"]
    assert model["clinical"]["emax"]["estimate"] == found.emax.estimate


def test_predictions_of_0_have_no_log_odds(rows):
    y, v = rows
    report = calibration_report(y, np.where(v < 0.2, 0.0, v), **FEW)
    assert report.models[None].clinical.recalibration is None
    assert "calibration intercept and slope" in str(report)
    assert np.isnan(report.to_frame().set_index("quantity").loc["clinical_slope", "estimate"])
    nothing = calibration_report(y, np.zeros(60), **FEW).models[None].clinical
    assert nothing.observed_expected.estimate == np.inf


def test_equal_predictions_have_an_intercept(rows):
    y, _ = rows
    report = calibration_report(y, np.full(60, 0.4), **FEW)
    found = report.models[None].clinical.recalibration
    frame = report.to_frame().set_index("quantity")
    level = frame.loc["clinical_calibration_in_the_large", "estimate"]
    assert level == found.calibration_in_the_large.estimate
    line = next(line for line in str(report).splitlines() if "calibration slope (1)" in line)
    assert "undefined" in line


def test_the_scale_of_weights_does_not_matter(rows):
    plain = calibration_report(*rows, **FEW).models[None].clinical
    weighted = calibration_report(*rows, sample_weight=np.full(60, 25.0), **FEW)
    found = weighted.models[None].clinical
    np.testing.assert_allclose(found.observed_expected, plain.observed_expected, rtol=1e-9)
    np.testing.assert_allclose(found.recalibration.slope, plain.recalibration.slope, rtol=1e-9)
    np.testing.assert_allclose(found.ici, plain.ici, rtol=1e-9)
    alone = calibration_report(*rows, sample_weight=np.r_[1e6, np.ones(59)], **FEW)
    assert alone.models[None].clinical.observed_expected.high > 1


def test_it_needs_one_label(rows):
    assert calibration_report(*rows, n_resamples=9, random_state=0).models[None].clinical is None
    with pytest.raises(ValueError, match="clinical must be False where measures read the conf"):
        calibration_report(*rows, reduction="confidence", **FEW)
    with pytest.raises(ValueError, match="clinical must be True or False"):
        calibration_report(*rows, clinical="yes")
