"""A report as plain values that JSON can hold."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pytest

from skcal.diagrams import ReliabilityCurve, ReliabilityDisplay
from skcal.report import ModelReport, calibration_report


def make_report(n=300, labels=(0, 1), **options):
    rng = np.random.default_rng(0)
    y_proba = rng.random(n)
    y_true = np.asarray(labels)[(rng.random(n) < 0.25 + 0.5 * y_proba).astype(int)]
    return calibration_report(
        y_true, y_proba, n_resamples=19, random_state=0, labels=labels, **options
    )


def pass_through_json(report):
    """The dictionary, which strict JSON must hold without loss."""
    plain = report.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    return plain


def test_every_section_is_there():
    report = make_report()
    plain = pass_through_json(report)
    assert plain["confidence_level"] == report.confidence_level
    assert plain["tolerance"] == report.tolerance
    (found,), model = plain["models"], report.models[None]
    assert list(found) == ["name", *ModelReport._fields]
    assert found["name"] is None
    for name in ("verdict", "sentence", "error", "error_bound", "tolerated", "skill_pvalue"):
        assert found[name] == getattr(model, name)
    for name in ("sample", "test", "direction", "recalibration"):
        assert list(found[name]) == list(getattr(model, name)._fields)
    assert found["sample"]["labels"] == [0, 1]
    assert found["sample"]["frequency"] == model.sample.frequency.tolist()
    assert found["measures"].keys() == model.measures.keys()
    for name, measure in model.measures.items():
        assert found["measures"][name] == {
            "estimate": measure.estimate,
            "null_mean": measure.null_mean,
            "excess": measure.excess._asdict(),
        }
    assert found["scores"]["log_loss"] == model.scores["log_loss"]._asdict()
    assert found["direction"]["too_low"] == model.direction.too_low.tolist()
    assert found["recalibration"]["gain"] == model.recalibration.gain._asdict()


def test_diagram_can_be_drawn_from_it():
    report = make_report()
    display = report.models[None].diagram
    display.plot()  # what is drawn is no part of the dictionary
    plain = pass_through_json(report)["models"][0]["diagram"]
    curves = [ReliabilityCurve(**curve) for curve in plain.pop("curves")]
    again = ReliabilityDisplay(curves=curves, **plain).plot()
    np.testing.assert_array_equal(again.line_.get_ydata(), display.line_.get_ydata())
    assert again.line_.get_label() == display.line_.get_label()
    plt.close("all")


@pytest.mark.parametrize(
    "labels", [("no", "yes"), (False, True), np.array([2, 7]), np.array([0.5, 1.5], np.float32)]
)
def test_labels_are_plain(labels):
    found = pass_through_json(make_report(labels=labels, pos_label=labels[1]))["models"][0]
    assert found["sample"]["labels"] == list(labels)
    (curve,) = found["diagram"]["curves"]
    assert found["sample"]["pos_label"] == curve["pos_label"] == labels[1]


def test_what_json_has_no_number_for():
    """An infinite log loss, also as the refinement, and what is not known."""
    report = calibration_report(
        [0, 1, 1, 0] * 4, [0.2, 0.0, 0.9, 0.4] * 4, n_resamples=19, random_state=0
    )
    (found,) = pass_through_json(report)["models"]
    score = report.models[None].scores["log_loss"]
    assert np.isinf(score.score)
    assert float(found["scores"]["log_loss"]["score"]) == np.inf
    assert found["scores"]["log_loss"]["score"] == "Infinity"
    assert found["recalibration"]["method"] is None
    assert found["recalibration"]["gain"] is None
