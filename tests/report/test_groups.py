"""What a report says of groups."""

import json
from html import escape

import numpy as np
import pandas as pd
import pytest

from skcal._tools._words import show_bound
from skcal.inference import audit_groups
from skcal.report import CalibrationReport, calibration_report

FEW = {"n_resamples": 39, "random_state": 0}


@pytest.fixture(scope="module")
def rows():
    """Right on average; two of three regions are not."""
    rng = np.random.default_rng(0)
    v, region = rng.uniform(0.2, 0.8, 1500), rng.choice(["east", "north", "south"], size=1500)
    shift = 0.15 * ((region == "north") - 1.0 * (region == "south"))
    return (rng.random(1500) < v + shift).astype(int), v, pd.DataFrame({"region": region})


@pytest.fixture(scope="module")
def plain(rows):
    return calibration_report(*rows[:2], **FEW)


def test_groups_in_all_forms(rows, plain):
    y, v, table = rows
    report = calibration_report(y, v, groups=table, **FEW)
    model = report.models[None]
    assert report.verdict == plain.verdict  # which is of all rows
    assert sorted(model.groups.find()) == ["region = north", "region = south"]
    worst = model.groups.names[0]
    sentence = f"Wrong in 2 of 4 groups (p <= 0.025), most clearly in {worst}: "
    assert sentence in model.sentence
    given, seen = model.groups.mean_prediction[0], model.groups.mean_outcome[0]
    story = f"{100 * given:.1f} % are predicted on average, where {100 * seen:.1f} % come true."
    assert model.sentence.endswith(story)
    text = " ".join(str(report).split())
    for part in (sentence, f"{worst} ({model.groups.n_samples[0]})", "Groups true - pred."):
        assert part in text
        assert escape(part) in report.to_html() or part.startswith("Groups")
    frame = report.to_frame().set_index("quantity")
    assert frame.loc["groups_pvalue", "estimate"] == model.groups.pvalue
    (found,) = json.loads(json.dumps(report.to_dict()))["models"]
    assert found["groups"]["names"] == model.groups.names


def test_audit_is_that_of_inference(rows):
    """Of each model, weights, classes and the reduction included."""
    y, v, table = rows
    weights = np.where(np.arange(1500) % 3, 1.0, 0.0)
    proba = np.column_stack([0.3 * (1 - v), 0.7 * (1 - v), v])
    models = {"three": proba, "other": proba[:, [1, 0, 2]]}
    data = {"sample_weight": weights, "groups": table["region"]}
    report = calibration_report(2 * y, models, labels=[0, 1, 2], **data, **FEW)
    for name, found in models.items():
        expected = audit_groups(2 * y, found, n_resamples=39, labels=[0, 1, 2], **data)
        audit = report.models[name].groups
        assert set(audit.names) == {"east", "north", "south"}
        np.testing.assert_allclose(np.sort(audit.statistics), np.sort(expected.statistics))


def test_groups_that_are_all_right(rows):
    y, v, table = rows
    y = np.random.default_rng(1).random(1500) < v
    model = calibration_report(y, v, groups=table, **FEW).models[None]
    assert "No error beyond chance in 4 groups (p = " in model.sentence
    reach = np.maximum(-model.groups.low, model.groups.high).max()
    assert f"may be off by up to {show_bound(reach)}." in model.sentence
    one = calibration_report(y[:200], v[:200], groups=np.ones(200), **FEW).models[None]
    assert "No error beyond chance in the group (p = " in one.sentence


def test_errors_that_cancel_out():
    rng = np.random.default_rng(2)
    v = rng.random(2000)
    y = rng.random(2000) < 0.5 + 0.3 * (v - 0.5)
    model = calibration_report(y, v, groups=np.ones(2000), **FEW).models[None]
    assert "Wrong in the group (p <= 0.025), most clearly in 1.0: " in model.sentence
    assert model.sentence.endswith("the means may be equal, but single predictions are wrong.")


def test_report_of_an_estimator(rows, plain):
    y, v, table = rows

    class Fitted:
        classes_ = np.array([0, 1])

        def predict_proba(self, X):
            return np.column_stack([1 - X[:, 0], X[:, 0]])

    found = CalibrationReport.from_estimator(Fitted(), v[:, None], y, groups=table, **FEW)
    assert found.models[None].groups.pvalue == 0.025
    assert plain.models[None].groups is None
    with pytest.raises(ValueError, match="groups must have one entry for each of the 1500 rows"):
        calibration_report(y, v, groups=table[:10], **FEW)


@pytest.mark.parametrize(
    ("features", "error", "message"),
    [
        ({"a": [1.0]}, ValueError, "features must have one row for each of the 1500 labels; got 1"),
        (np.zeros(1500), TypeError, "features must be a data frame"),
    ],
)
def test_features_are_refused_by_their_name_and_at_once(
    rows, monkeypatch, features, error, message
):
    monkeypatch.setattr("skcal.report._compute._report_model", None)
    with pytest.raises(error, match=message):
        calibration_report(*rows[:2], features=features, **FEW)
