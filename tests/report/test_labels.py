"""A report on several labels is one on each of them, at a level that they share."""

import numpy as np
import pandas as pd
import pytest
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB

from skcal._tools._least_pvalue import LeastPValue
from skcal.report import CalibrationReport, calibration_report

RNG = np.random.default_rng(0)
P = RNG.random((300, 2))
Y = (RNG.random((300, 2)) < np.column_stack([P[:, 0], 0.3 + 0.4 * P[:, 1]])).astype(int)
MULTI = {"reduction": "multilabel", "n_resamples": 19, "random_state": 0}
NAMES = ["rain", "wind"]


@pytest.fixture(scope="module")
def report():
    return calibration_report(pd.DataFrame(Y, columns=NAMES), P, **MULTI)


@pytest.mark.parametrize("k", [0, 1])
def test_each_label_has_its_part_of_the_level(report, k):
    """Two labels at 95 % are one label each at 97.5 %, with p-values that count twice."""
    single = calibration_report(
        Y[:, k], P[:, k], confidence_level=0.975, n_resamples=39, random_state=0
    ).models[None]
    found = report.models[NAMES[k]]
    assert (found.verdict, found.n_labels) == (single.verdict, 2)
    assert found.sample.labels == ["other", NAMES[k]]
    assert found.pvalue == pytest.approx(min(2 * single.pvalue, 1), rel=1e-12)
    assert isinstance(found.pvalue, LeastPValue) == isinstance(single.pvalue, LeastPValue)
    assert found.discrimination_pvalue == pytest.approx(
        min(2 * single.discrimination_pvalue, 1), rel=1e-12
    )
    assert found.error_low == pytest.approx(single.error_low, rel=1e-9)
    for pair in (
        (found.direction.bias, single.direction.bias),
        (found.recalibration.gain, single.recalibration.gain),
        (found.measures["smooth_ece"][:3], single.measures["smooth_ece"][:3]),
    ):
        np.testing.assert_allclose(*pair, rtol=1e-9, atol=1e-12)


def test_the_upper_bound_has_its_part_too(report):
    """What chance gives to SmoothECE is the mean of as many draws as for one label."""
    options = {"confidence_level": 0.975, "n_resamples": 19, "random_state": 0}
    single = calibration_report(Y[:, 0], P[:, 0], **options).models[None]
    found = report.models["rain"]
    assert min(found.pvalue, single.pvalue) > 0.05
    assert found.error_bound == pytest.approx(single.error_bound, rel=1e-9)


def test_it_says_what_holds_for_all_labels(report):
    with pytest.raises(AttributeError, match=r"of 2 labels has no verdict.*models\['rain'\]"):
        _ = report.verdict
    assert (report.comparison, report.confidence_level) == (None, 0.95)
    (wind,) = (name for name, model in report.models.items() if model.verdict == "over-confident")
    start = f"Of 2 labels: 1 over-confident ({wind}); "
    assert wind == "wind"
    assert repr(report).startswith(start)
    assert start in " ".join(str(report).split())
    assert start in report.to_html()
    assert "an error beyond chance (p <= 0.05)" in str(report)  # the smallest of 19 draws
    assert [one["n_labels"] for one in report.to_dict()["models"]] == [2, 2]
    assert list(report.to_frame(kind="paper").columns) == NAMES
    assert "yes or no, whichever is more probable, is right" in report.models["wind"].sentence
    assert "95 % interval, all labels" in str(report)


def test_many_labels_are_named_in_part():
    from skcal.report._sentence import write_labels

    models = dict.fromkeys("abcdefg", calibration_report([0, 1] * 9, [0.5] * 18).models[None])
    assert write_labels(models).startswith("Of 7 labels: 7 inconclusive (a, b, c, d, e and 2 more)")


@pytest.mark.parametrize("by", ["holes", "weights"])
def test_each_label_has_the_rows_in_which_it_is_known(by):
    known = np.random.default_rng(1).random(Y.shape) < 0.7
    options, y_true = {}, Y.astype(float)
    if by == "holes":
        y_true = np.where(known, y_true, np.nan)
    else:
        options["sample_weight"] = known.astype(float)
    found = calibration_report(y_true, P, **options, **MULTI)
    assert list(found.models) == ["label 0", "label 1"]
    for k, model in enumerate(found.models.values()):
        rows = known[:, k]
        own = calibration_report(Y[rows, k][:, None], P[rows, k][:, None], **MULTI)
        (single,) = own.models.values()
        assert model.sample.n_rows == rows.sum()
        np.testing.assert_array_equal(model.sample.frequency, single.sample.frequency)
        assert model.measures["smooth_ece"].estimate == single.measures["smooth_ece"].estimate


def test_a_single_label_shares_nothing():
    found = calibration_report(Y[:, 1:], P[:, 1:], **MULTI)
    single = calibration_report(Y[:, 1], P[:, 1], n_resamples=19, random_state=0)
    assert found.to_frame().drop(columns="model").equals(single.to_frame().drop(columns="model"))


def test_clusters_are_those_of_each_label():
    clusters = np.repeat(np.arange(100), 3)
    found = calibration_report(Y, P, clusters=clusters, **MULTI)
    assert [model.sample.n_clusters for model in found.models.values()] == [100, 100]


def test_estimators_of_several_labels():
    X, y = np.random.default_rng(2).normal(size=(300, 2)), pd.DataFrame(Y, columns=NAMES)
    model = MultiOutputClassifier(GaussianNB()).fit(X[:150], y[:150])
    found = CalibrationReport.from_estimator(model, X[150:], y[150:], **MULTI)
    given = calibration_report(y[150:], model.predict_proba(X[150:]), **MULTI)
    pd.testing.assert_frame_equal(found.to_frame(), given.to_frame())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"groups": Y[:, 0]},
            "groups must be None for reduction='multilabel'.*one label at a time",
        ),
        ({"features": {"x": np.arange(3)}}, "features must be None for reduction"),
        ({"clinical": True}, "clinical must be False for reduction='multilabel'"),
        ({"pos_label": 1}, "pos_label must be None for reduction='multilabel'"),
        ({"y_proba": {"a": P, "b": P}}, "y_proba must be that of one model"),
        ({"y_true": 0.5 * Y}, "y_true must hold labels"),
        ({"y_true": Y[:, 0]}, "y_true must be an indicator"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        calibration_report(**{"y_true": Y, "y_proba": P} | MULTI | options)


def test_one_estimator_at_a_time():
    with pytest.raises(ValueError, match="estimator must be one classifier"):
        CalibrationReport.from_estimator({"a": GaussianNB()}, Y, Y, **MULTI)
