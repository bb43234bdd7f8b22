"""What a report holds and how it shows itself, whatever the verdict."""

import warnings
from base64 import b64decode
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import brier_score_loss, log_loss

from skcal._validation import check_rng
from skcal.inference import bootstrap_interval, calibration_test, isotonic_band
from skcal.metrics import MEASURES, corp_decomposition
from skcal.report import calibration_report
from skcal.report._recalibration import N_FOLDS, deal_folds
from skcal.report._sections import list_sections
from skcal.report._sentence import show_percentages

FEW = {"n_resamples": 19, "random_state": 0}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y_proba = rng.random(400)
    return (rng.random(400) < 0.25 + 0.5 * y_proba).astype(int), y_proba


@pytest.fixture(scope="module")
def report(rows):
    return calibration_report(*rows, **FEW)


@pytest.fixture(scope="module")
def pair(rows):
    y_true, y_proba = rows
    return calibration_report(y_true, {"raw": y_proba, "mild": 0.25 + 0.5 * y_proba}, **FEW)


class Reader(HTMLParser):
    """Tags, attributes and text of a page; every tag must be closed."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.images, self.text = [], set(), [], ""
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "img":
            self.images.append(dict(attrs))
        else:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


# --------------------------------------------------------------------------- numbers


def test_numbers_are_those_of_the_package(rows, report):
    y_true, y_proba = rows
    model = report.models[None]
    for name, measure in model.measures.items():
        assert measure.estimate == pytest.approx(MEASURES[name].function(y_true, y_proba))
        assert measure.null_mean > 0
        assert 0 <= measure.excess.low <= measure.excess.high
    assert model.scores["brier_score"].score == pytest.approx(brier_score_loss(y_true, y_proba))
    assert model.scores["log_loss"].score == pytest.approx(log_loss(y_true, y_proba))
    parts = corp_decomposition(y_true, y_proba)
    assert model.scores["brier_score"].miscalibration == parts.miscalibration
    assert model.scores["brier_score"].base_rate == pytest.approx(parts.uncertainty)
    too_low, too_high = isotonic_band(y_true, y_proba).find_deviations()
    np.testing.assert_array_equal(model.direction.too_low, too_low)
    np.testing.assert_array_equal(model.direction.too_high, too_high)
    assert model.direction.bias.estimate == pytest.approx(y_proba.mean() - y_true.mean())
    assert model.direction.slope.estimate == pytest.approx(np.polyfit(y_proba, y_true, 1)[0])


def test_test_and_interval_are_those_of_the_package(rows):
    """Under the seed that the report draws for all that is random."""
    model = calibration_report(*rows, n_resamples=19, random_state=3).models[None]
    options = {"n_resamples": 19, "random_state": int(check_rng(3).integers(1 << 31))}
    assert model.test == calibration_test(*rows, statistic="smooth_ece", **options)
    # Chance adds in squares, and a resample of rows adds the noise of the sample again.
    interval = bootstrap_interval("smooth_ece", *rows, **options)
    expected = [
        np.sqrt(end**2 - times * model.test.null_mean**2)
        for end, times in zip(interval, (1, 2, 2), strict=True)
    ]
    assert expected[1] > 0
    assert model.measures["smooth_ece"].excess == pytest.approx(expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_of_many_classes(weighted):
    rng = np.random.default_rng(0)
    y_proba = rng.dirichlet(np.ones(3), size=90)
    y_true = rng.integers(3, size=90)
    weights = rng.random(90) if weighted else None
    report = calibration_report(y_true, y_proba, sample_weight=weights, **FEW)
    model = report.models[None]
    scores = model.scores
    assert scores["log_loss"].score == pytest.approx(
        log_loss(y_true, y_proba, sample_weight=weights)
    )
    squares = ((y_proba - np.eye(3)[y_true]) ** 2).sum(axis=1)
    assert scores["brier_score"].score == pytest.approx(np.average(squares, weights=weights))
    assert model.recalibration.log_loss == pytest.approx(scores["log_loss"].score)
    assert model.recalibration.brier_score == pytest.approx(scores["brier_score"].score)
    constant = np.tile(model.sample.frequency, (90, 1))
    expected = log_loss(y_true, constant, sample_weight=weights)
    assert scores["log_loss"].base_rate == pytest.approx(expected)
    for score in scores.values():
        assert score.score == pytest.approx(score.miscalibration + score.refinement)
    assert model.sample.pos_label is None
    assert (model.direction.too_low is None) == weighted


def test_weights_of_zero_equal_absence(rows):
    y_true, y_proba = rows
    weights = (np.arange(400) % 3 > 0).astype(float)
    chosen = weights > 0
    weighted = calibration_report(y_true, y_proba, sample_weight=weights, **FEW)
    # Equal weights are as good as none, so that the regions are known too.
    without = calibration_report(y_true[chosen], y_proba[chosen], **FEW)
    pd.testing.assert_frame_equal(weighted.to_frame(), without.to_frame())
    assert str(weighted) == str(without)


def test_one_class_against_the_rest():
    rng = np.random.default_rng(0)
    y_proba = rng.dirichlet(np.ones(3), size=90)
    y_true = np.array(["a", "b", "c"])[rng.integers(3, size=90)]
    report = calibration_report(y_true, y_proba, pos_label="b", **FEW)
    binary = calibration_report(y_true == "b", y_proba[:, 1], **FEW)
    pd.testing.assert_frame_equal(report.to_frame(), binary.to_frame())
    assert report.models[None].sample.pos_label == "b"


def test_positive_label_in_the_first_column(rows, report):
    y_true, y_proba = rows
    names, table = np.where(y_true == 1, "a", "b"), np.column_stack([y_proba, 1 - y_proba])
    found = calibration_report(names, table, pos_label="a", **FEW)
    pd.testing.assert_frame_equal(found.to_frame(), report.to_frame())
    assert found.models[None].sample.labels == ["b", "a"]


# --------------------------------------------------------------------------- recalibration


def test_folds_have_all_classes_in_equal_parts():
    codes = np.repeat([0, 1, 2], [31, 12, 57])
    folds = deal_folds(codes, np.random.default_rng(0))
    for code in range(3):
        counts = np.bincount(folds[codes == code], minlength=N_FOLDS)
        assert counts.max() - counts.min() <= 1


def test_infinite_log_loss_is_shown(rows):
    y_true, y_proba = rows
    y_proba = y_proba.copy()
    y_proba[np.flatnonzero(y_true)[0]] = 0
    report = calibration_report(y_true, y_proba, **FEW)
    model = report.models[None]
    assert model.scores["log_loss"].score == model.recalibration.gain.estimate == np.inf
    assert np.isfinite(model.scores["log_loss"].refinement)
    assert np.isfinite(model.recalibration.log_loss_after)
    assert "infinite" in str(report)
    assert "makes the log loss finite" in str(report)


def test_confidence_of_one_that_is_wrong():
    y_proba = np.eye(3)[[0, 1, 2] * 30]
    report = calibration_report([0, 1, 2] * 29 + [1, 2, 0], y_proba, **FEW)
    assert report.models[None].scores["log_loss"].refinement is None
    assert "undefined" in str(report)


@pytest.mark.parametrize(
    ("y_true", "reason"),
    [([1] * 40, "all rows have the same label"), ([1] * 35 + [0] * 5, "too few rows of a class")],
)
def test_too_few_rows_for_recalibration(y_true, reason):
    report = calibration_report(y_true, np.linspace(0.6, 0.9, 40), **FEW)
    summary = report.models[None].recalibration
    assert summary.reason.startswith(reason)
    assert summary.method is None
    assert reason in str(report)


def test_temperature_alone_needs_no_row_of_each_class():
    rng = np.random.default_rng(0)
    y_proba = rng.dirichlet(np.ones(5), size=60)
    report = calibration_report(rng.integers(2, size=60), y_proba, labels=range(5), **FEW)
    assert list(report.models[None].recalibration.candidates) == ["temperature scaling"]


# --------------------------------------------------------------------------- degenerate samples


@pytest.mark.parametrize(
    ("y_true", "y_proba"),
    [
        ([1], [0.3]),
        ([0], [1.0]),
        ([1] * 50, [0.5] * 50),
        ([0] * 50, [0.0] * 50),
        ([0, 1] * 25, [0.0, 1.0] * 25),
        ([1, 0] * 25, [0.0, 1.0] * 25),
        ([0, 1] * 25, [0.5] * 50),
    ],
)
def test_degenerate_samples_are_reported(y_true, y_proba):
    report = calibration_report(y_true, y_proba, **FEW)
    for text in (str(report), Reader(report._repr_html_()).text):
        assert "nan" not in text.replace("inance", "").lower()
    frame = report.to_frame()
    required = frame[~frame["quantity"].str.contains("slope|recalibrated|gain")]
    assert required["estimate"].notna().all()


# --------------------------------------------------------------------------- frame


def test_frame_is_tidy(report, pair):
    """Several models are as one each."""
    frame = pair.to_frame()
    assert list(frame) == ["model", "quantity", "estimate", "low", "high", "null_mean"]
    assert not frame.duplicated(["model", "quantity"]).any()
    assert frame["model"].value_counts().to_dict() == {"raw": 26, "mild": 26}
    assert (frame.dtypes.iloc[2:] == np.float64).all()
    measure = pair.models["mild"].measures["smooth_ece"]
    found = frame.set_index(["model", "quantity"]).loc[("mild", "smooth_ece")].tolist()
    assert found == [measure.estimate, *measure.excess[1:], measure.null_mean]
    assert pair.verdict == {name: model.verdict for name, model in pair.models.items()}
    alone = frame[frame["model"] == "raw"].drop(columns="model").reset_index(drop=True)
    pd.testing.assert_frame_equal(report.to_frame().drop(columns="model"), alone)


@pytest.mark.parametrize("make", [lambda: 5, lambda: np.random.default_rng(5)])
def test_same_seed_same_report(rows, make):
    first = calibration_report(*rows, n_resamples=39, random_state=make())
    second = calibration_report(*rows, n_resamples=39, random_state=make(), n_jobs=2)
    assert str(first) == str(second)
    assert first._repr_html_() == second._repr_html_()
    pd.testing.assert_frame_equal(first.to_frame(), second.to_frame())


# --------------------------------------------------------------------------- text


def test_text_fits_the_terminal(rows):
    y_true, y_proba = rows
    names = np.where(y_true == 1, "a label of many words that goes on and on", "b" * 90)
    models = {"m" * 100: y_proba, "a model of\nmany words " * 9: y_proba**2}
    report = calibration_report(names, models, pos_label="b" * 90, **FEW)
    lines = str(report).splitlines()
    assert max(map(len, lines)) < 80
    assert not any(line != line.rstrip() for line in lines)


def test_text_begins_with_the_verdict_and_aligns_columns(report, pair):
    lines = str(report).splitlines()
    assert lines[3] == "Verdict: over-confident"
    assert " ".join(lines[4:7]).startswith(report.models[None].sentence[:60])
    start = next(k for k, line in enumerate(lines) if line.startswith("Calibration error"))
    assert len({len(line) for line in lines[start : start + 5]}) == 1
    assert repr(report) == "CalibrationReport(verdict='over-confident')"
    assert repr(pair).startswith("CalibrationReport(verdict={'raw': 'over-confident', 'mild': ")
    with pytest.raises(AttributeError):
        report.tolerance = 1


def test_percentages_can_be_told_apart():
    assert show_percentages(0.5, 0.25) == ("50.0 %", "25.0 %")
    assert show_percentages(0.9996, 0.9991) == ("99.96 %", "99.91 %")
    assert show_percentages(0.3, 0.3) == ("30.0 %", "30.0 %")


# --------------------------------------------------------------------------- HTML


def test_html_holds_all_that_the_text_says(pair):
    page = Reader(pair._repr_html_())
    assert "script" not in page.tags
    for name, model in pair.models.items():
        assert f"{name}: {model.verdict}" in page.text
        assert model.sentence in page.text
        for section in list_sections(model, 0.95):
            assert section.title in page.text
            for row in section.rows:
                assert all(cell in page.text for cell in row)
    for image, name in zip(page.images, ("raw", "mild"), strict=True):
        assert image["alt"] == f"Reliability diagram of {name}"
        kind, data = image["src"].split(",")
        assert kind == "data:image/png;base64"
        assert b64decode(data, validate=True).startswith(b"\x89PNG")


def test_html_escapes_names_and_labels(rows):
    y_true, y_proba = rows
    evil = '<b>"x"&\''
    labels = np.where(y_true == 1, evil, "<i>no")
    report = calibration_report(labels, {evil: 0.5 * y_proba}, pos_label=evil, **FEW)
    page = report._repr_html_()
    assert "<b>" not in page
    assert "<i>" not in page
    read = Reader(page)
    assert f"{evil}: {report.verdict[evil]}" in read.text
    assert repr(evil) in read.text
    assert read.images[0]["alt"] == f"Reliability diagram of {evil}"


def test_diagram_can_be_drawn(report, rows):
    display = report.models[None].diagram
    assert display.smooth_ece == report.models[None].measures["smooth_ece"].estimate
    report._repr_html_()
    assert not hasattr(display, "ax_")  # what the page needs is drawn on a copy
    axes = display.plot(mpl.figure.Figure().add_subplot()).ax_
    assert "(Positive label: 1)" in axes.get_xlabel()


# --------------------------------------------------------------------------- side effects


def test_nothing_is_touched(rows):
    import matplotlib.pyplot as plt

    def look():
        state = np.random.get_state()[1].tolist()  # noqa: NPY002
        return dict(mpl.rcParams), list(warnings.filters), np.geterr(), state, plt.get_fignums()

    y_true, y_proba = (array.copy() for array in rows)
    weights, models = np.arange(400.0), {"a": y_proba}
    for array in (y_true, y_proba, weights):
        array.flags.writeable = False
    before = look()
    report = calibration_report(y_true, models, sample_weight=weights, n_resamples=19)
    assert str(report)
    assert report._repr_html_()
    assert len(report.to_frame())
    assert look() == before
    assert models == {"a": y_proba}


# --------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reduction": "classwise"}, "reduction must be one of 'auto', 'confidence'; got 'cla"),
        ({"tolerance": 0}, "tolerance must be above 0 and below 1; got 0."),
        ({"tolerance": 1}, "tolerance must be at least 0 and below 1; got 1."),
        ({"confidence_level": 0}, "confidence_level must be above 0"),
        ({"n_resamples": 1}, "n_resamples must be at least 2; got 1."),
        ({"random_state": "a"}, "random_state must be .*; got 'a'."),
    ],
)
def test_bad_options(rows, options, message):
    with pytest.raises(ValueError, match=message):
        calibration_report(*rows, **options)


@pytest.mark.parametrize(
    ("y_proba", "message"),
    [
        ({}, "y_proba must hold at least one model"),
        ({1: [0.5, 0.5]}, "y_proba must name its models by strings; got the name 1."),
        ({"a": [0.5, 0.5], "b": [0.5]}, r"y_true and y_proba\['b'\] must have the same length"),
        ({"a": [0.5, 1.5]}, r"y_proba\['a'\] must lie in \[0, 1\]; got 1.5 at row 1."),
        ([0.5, 1.5], r"y_proba must lie in \[0, 1\]; got 1.5 at row 1."),
    ],
)
def test_bad_predictions(y_proba, message):
    with pytest.raises(ValueError, match=message):
        calibration_report([0, 1], y_proba)


def test_soft_labels_are_refused():
    columns = [[0.7, 0.3], [0.4, 0.6]]
    for soft, y_proba in (([0.3, 1], [0.3, 0.6]), ([0.3, 1], columns), (columns, columns)):
        with pytest.raises(ValueError, match="y_true must hold labels; a report needs outcomes"):
            calibration_report(soft, y_proba)
