"""What a report holds and how it shows itself, whatever the verdict."""

import json
import re
from base64 import b64decode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import brier_score_loss, log_loss

import skcal
from skcal._tools._words import show_interval, show_percentages
from skcal.diagrams import ReliabilityCurve, ReliabilityDisplay
from skcal.inference import calibration_test, compare_calibration, confidence_interval
from skcal.metrics import MEASURES, corp_decomposition, smooth_ece
from skcal.refinement import recalibration_gain, refinement_decomposition
from skcal.report import ModelReport, _recalibration, calibration_report
from skcal.report._sections import list_sections, show_number

FEW = {"n_resamples": 19, "random_state": 0}
SOFT = [[0.7, 0.3], [0.4, 0.6]]
# A name and labels that HTML must escape.
EVIL, WORSE = '<b>"x"&\'', "<i>no"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y_proba = rng.random(400)
    return (rng.random(400) < 0.4 + 0.2 * y_proba).astype(int), y_proba


@pytest.fixture(scope="module")
def triple():
    rng = np.random.default_rng(0)
    y_proba = rng.dirichlet(np.ones(3), size=90)
    return rng.integers(3, size=90), y_proba


@pytest.fixture(scope="module")
def report(rows):
    return calibration_report(*rows, **FEW)


@pytest.fixture(scope="module")
def pair(rows):
    y_true, models = np.where(rows[0] == 1, EVIL, WORSE), {"raw": rows[1], EVIL: 0.5 * rows[1]}
    return calibration_report(y_true, models, pos_label=EVIL, **FEW)


def read_page(page):
    """Text, and attributes of the images; every other tag must be closed."""
    assert "<script" not in page
    root = ElementTree.fromstring(re.sub("(<img[^>]*)>", r"\1/>", page))
    return "".join(root.itertext()), [image.attrib for image in root.iter("img")]


def pass_through_json(report):
    """The dictionary of the only model; strict JSON must hold all without loss."""
    plain = report.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["confidence_level"] == report.confidence_level
    assert plain["tolerance"] == report.tolerance
    (found,) = plain["models"]
    return found


def assert_same_numbers(one, other):
    pd.testing.assert_frame_equal(one.to_frame(), other.to_frame())


def test_numbers_are_those_of_the_package(rows, report):
    y_true, y_proba = rows
    model = report.models[None]
    for name, measure in model.measures.items():
        options = {"strategy": "quantile"} if name.endswith("equal_mass") else {}
        function = MEASURES[name.removesuffix("_equal_mass")].function
        assert measure.estimate == pytest.approx(function(y_true, y_proba, **options))
        assert measure.null_mean > 0
        assert 0 <= measure.low <= measure.estimate <= measure.high
    brier = model.scores["brier_score"]
    assert brier.score == pytest.approx(brier_score_loss(y_true, y_proba))
    assert model.scores["log_loss"].score == pytest.approx(log_loss(y_true, y_proba))
    parts = refinement_decomposition(y_true, y_proba)
    assert brier.miscalibration == pytest.approx(parts.calibration, rel=1e-9)
    assert brier.refinement == model.recalibration.brier_score_after
    assert brier.base_rate == pytest.approx(corp_decomposition(y_true, y_proba).uncertainty)
    gain = recalibration_gain(y_true, y_proba, loss="log", random_state=0).gain
    assert model.recalibration.gain.estimate == pytest.approx(gain, rel=1e-9)
    direction = model.direction
    assert direction.bias.estimate == pytest.approx(y_proba.mean() - y_true.mean())
    assert direction.slope.estimate == pytest.approx(np.polyfit(y_proba, y_true, 1)[0])


def test_two_folds_do_for_many_rows(rows, monkeypatch):
    monkeypatch.setattr(_recalibration, "_MANY_ROWS", 400)
    score = calibration_report(*rows, **FEW).models[None].scores["brier_score"]
    parts = refinement_decomposition(*rows, cv=2)
    assert score.miscalibration == pytest.approx(parts.calibration, rel=1e-9)


def test_without_a_number_as_random_state_a_seed_is_drawn(rows):
    model = calibration_report(*rows, n_resamples=19, random_state=np.random.default_rng(3))
    seed = int(np.random.default_rng(3).integers(1 << 31))
    found = model.models[None].measures["smooth_ece"]
    assert found[:3] == confidence_interval(*rows, random_state=seed)


@pytest.mark.parametrize(
    ("low", "high", "answer"),
    [
        (0.25, 0.55, "yes (Brier score and log loss)"),
        (0.0, 0.6, "yes (Brier score); no (log loss)"),  # some rows of the first are events
        pytest.param(
            0.4, 0.4, "no (Brier score and log loss)", marks=pytest.mark.slow
        ),  # the base rate itself
        (0.6, 0.9, "no (Brier score and log loss)"),  # tells rows apart, with a worse score
    ],
)
def test_to_beat_the_base_rate_is_to_have_a_better_score(low, high, answer):
    """40 % are events: an eighth of one half, two thirds of the other."""
    y_true = np.repeat([1, 0, 1, 0], [25, 175, 135, 65])
    report = calibration_report(y_true, np.repeat([low, high], 200), **FEW)
    (line,) = (line for line in str(report).splitlines() if "beats the base rate" in line)
    assert line.split("rate", 1)[1].strip() == answer
    for score in report.models[None].scores.values():
        gain = score.advantage
        expected = pytest.approx(score.base_rate - score.score, abs=1e-15)
        assert gain.low <= gain.estimate == expected
        assert gain.estimate <= gain.high


@pytest.mark.parametrize("weighted", [pytest.param(False, marks=pytest.mark.slow), True])
def test_scores_of_many_classes(triple, weighted):
    y_true, y_proba = triple
    weights = np.random.default_rng(1).random(90) if weighted else None
    options = FEW | {"n_resamples": 199}
    report = calibration_report(y_true, y_proba, sample_weight=weights, **options)
    model = report.models[None]
    squares = ((y_proba - np.eye(3)[y_true]) ** 2).sum(axis=1)
    for name, expected in (
        ("log_loss", log_loss(y_true, y_proba, sample_weight=weights)),
        ("brier_score", np.average(squares, weights=weights)),
    ):
        assert model.scores[name].score == pytest.approx(expected)
        assert getattr(model.recalibration, name) == pytest.approx(expected)
    constant = np.tile(model.sample.frequency, (90, 1))
    expected = log_loss(y_true, constant, sample_weight=weights)
    assert model.scores["log_loss"].base_rate == pytest.approx(expected)
    for score in model.scores.values():
        assert score.score == pytest.approx(score.miscalibration + score.refinement)
    assert model.sample.pos_label is None
    assert model.direction.too_high
    if weighted:
        size = weights.sum() ** 2 / (weights**2).sum()
        assert f"90, weighted like {size:.1f} of equal weight" in str(report)


def test_weights_of_zero_equal_absence(rows):
    y_true, y_proba = rows
    chosen = np.arange(400) % 3 > 0
    weighted = calibration_report(y_true, y_proba, sample_weight=chosen.astype(float), **FEW)
    without = calibration_report(y_true[chosen], y_proba[chosen], **FEW)
    assert_same_numbers(weighted, without)
    assert str(weighted) == str(without)


def test_positive_labels(triple, rows, report):
    y_true, y_proba = triple
    names = np.array(["a", "b", "c"])[y_true]
    found = calibration_report(names, y_proba, pos_label="b", **FEW)
    assert_same_numbers(found, calibration_report(y_true == 1, y_proba[:, 1], **FEW))
    assert found.models[None].sample.pos_label == "b"
    # In the first column.
    names, table = np.where(rows[0] == 1, "a", "b"), np.column_stack([rows[1], 1 - rows[1]])
    found = calibration_report(names, table, pos_label="a", **FEW)
    assert_same_numbers(found, report)
    assert found.models[None].sample.labels == ["b", "a"]


LEAST = [0.0, 1e-300, 1e-30, 1e-10, 1e-3]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", ["column", "table", "classes"])
def test_log_loss_is_that_of_scikit_learn(rows, dtype, form):
    """Also where a label comes true that had next to no probability, or none."""
    y_true, column = rows[0].copy(), rows[1].copy()
    column[:5], y_true[:5] = LEAST, 1
    if form == "classes":
        y_proba = np.stack([column / 2, column / 2, 1 - column], axis=1)
        y_true = np.where(y_true == 1, np.arange(400) % 2, 2)
    else:
        y_proba = column if form == "column" else np.stack([1 - column, column], axis=1)
    y_proba = y_proba.astype(dtype)
    model = calibration_report(y_true, y_proba, **FEW).models[None]
    expected = log_loss(y_true, y_proba)
    assert model.recalibration.log_loss == pytest.approx(expected, rel=1e-6)
    found = model.scores["log_loss"]
    assert found.score == model.recalibration.log_loss
    assert found.score - found.refinement == pytest.approx(model.recalibration.gain.estimate)
    assert 0 < found.miscalibration < np.inf


@pytest.mark.parametrize(
    ("form", "dtype"),
    [("column", bool), ("column", int), ("table", int), ("classes", np.int8), ("multilabel", int)],
)
def test_predicted_labels_are_probabilities_of_0_and_1(rows, form, dtype):
    """`predict` gives whole numbers or booleans, which are read as floats are."""
    y_true, answer = rows[0][:100], (rows[1][:100] > 0.5).astype(int)
    options = FEW | ({"reduction": "multilabel"} if form == "multilabel" else {})
    if form == "classes":
        y_true, answer = y_true + answer, np.eye(3)[2 * answer]
    elif form == "multilabel":
        y_true, answer = np.stack([y_true, 1 - y_true], axis=1), np.eye(2)[answer]
    elif form == "table":
        answer = np.eye(2)[answer]
    found = calibration_report(y_true, answer.astype(dtype), **options)
    assert_same_numbers(found, calibration_report(y_true, answer.astype(float), **options))


def test_log_loss_of_a_single_label_that_is_certain():
    found = calibration_report([1] * 30, np.linspace(0.5, 1, 30), **FEW).models[None]
    assert found.scores["log_loss"].base_rate == found.scores["brier_score"].base_rate == 0


@pytest.mark.parametrize("weights", [None, np.arange(400) % 3])
def test_measures_and_tests_are_those_of_their_functions(rows, weights):
    """With the same integer as random state, also for two columns and labels that are text."""
    y_true, y_proba = rows
    report = calibration_report(y_true, y_proba, sample_weight=weights, **FEW).models[None]
    seed, data = FEW["random_state"], {"sample_weight": weights}
    names, table = np.where(y_true == 1, "b", "a"), np.stack([1 - y_proba, y_proba], axis=1)
    for name, found in report.measures.items():
        options = data | {"measure": name, "random_state": seed}
        if name.endswith("equal_mass"):
            options |= {"measure": "expected_calibration_error", "strategy": "quantile"}
            if weights is not None:  # as many as rows, whatever their unit
                options["sample_weight"] = weights / weights[weights > 0].mean()
        expected = confidence_interval(names, table, **options)
        np.testing.assert_allclose((found.estimate, found.low, found.high), expected, rtol=1e-12)
    # It reads three of five scales: its p-values have to be smaller by 3/5.
    draws = {"n_resamples": int(np.ceil((FEW["n_resamples"] + 1) * 5 / 3)) - 1}
    draws["random_state"] = seed
    assert report.test == calibration_test(names, table, **draws, **data)


def test_too_few_rows_for_recalibration():
    for y_true, reason in (
        ([1] * 40, "all rows have the same label"),
        ([1] * 39 + [0], "too few rows of a class"),
    ):
        report = calibration_report(y_true, np.linspace(0.6, 0.9, 40), **FEW)
        summary = report.models[None].recalibration
        assert summary.reason.startswith(reason)
        assert summary.method is None
        assert reason in str(report)
        assert pass_through_json(report)["recalibration"]["gain"] is None
        assert report.models[None].scores["log_loss"].refinement is None
        assert "undefined" in str(report)


@pytest.mark.slow  # some of them are among the hostile rows, too
@pytest.mark.parametrize("y_true", [[1], [0] * 50, [0, 1] * 25])
@pytest.mark.parametrize("y_proba", [lambda y: y, lambda y: 1 - y, lambda y: 0 * y + 0.5])
def test_degenerate_samples_are_reported(y_true, y_proba):
    report = calibration_report(y_true, y_proba(np.array(y_true, dtype=float)), **FEW)
    for text in (str(report), read_page(report._repr_html_())[0]):
        assert "nan" not in text.replace("inance", "").lower()
    frame = report.to_frame()
    required = frame[
        ~frame["quantity"].str.contains("slope|recalibrated|gain|miscalibration|refinement")
    ]
    assert required["estimate"].notna().all()


def test_frame_is_tidy(report, pair):
    """Several models are as one each."""
    frame = pair.to_frame()
    assert list(frame) == ["model", "quantity", "estimate", "low", "high", "null_mean"]
    assert not frame.duplicated(["model", "quantity"]).any()
    assert frame["model"].value_counts().to_dict() == {"raw": 32, EVIL: 32}
    assert (frame.dtypes.iloc[2:] == np.float64).all()
    measure = pair.models[EVIL].measures["smooth_ece"]
    found = frame.set_index(["model", "quantity"]).loc[(EVIL, "smooth_ece")].tolist()
    assert found == list(measure)
    assert frame["quantity"].str.endswith("pvalue").sum() == 2 * 5
    pvalue = frame.set_index(["model", "quantity"]).estimate[(EVIL, "pvalue")]
    assert pvalue == pair.models[EVIL].pvalue != pair.models[EVIL].test.pvalue
    alone = frame[frame["model"] == "raw"].drop(columns="model").reset_index(drop=True)
    pd.testing.assert_frame_equal(report.to_frame().drop(columns="model"), alone)


def test_text_fits_the_terminal_and_aligns_columns(rows, report):
    """It begins with the verdict."""
    names = np.where(rows[0] == 1, "a label of many words that goes on and on", "b" * 90)
    models = {"m" * 100: rows[1], "a model of\nmany words " * 9: rows[1] ** 2}
    lines = str(calibration_report(names, models, pos_label="b" * 90, **FEW)).splitlines()
    assert max(map(len, lines)) < 80
    assert not any(line != line.rstrip() for line in lines)
    lines = str(report).splitlines()
    assert lines[3] == "Verdict: over-confident"
    assert " ".join(lines[4:7]).startswith(report.models[None].sentence[:60])
    start = next(k for k, line in enumerate(lines) if line.startswith("Calibration error"))
    assert len({len(line) for line in lines[start : start + 6]}) == 1


def test_reports_are_short_and_constant(report, pair):
    assert repr(report) == report.sentence
    (model,) = report.models.values()
    for record in (model.sample, model.direction):
        assert repr(record).startswith(f"{type(record).__name__}(")
    lines = [f"{name}: {model.sentence}" for name, model in pair.models.items()]
    assert repr(pair).splitlines() == lines
    with pytest.raises(AttributeError):
        report.tolerance = 1


def test_verdict_and_sentence_are_texts_of_one_model(rows, report, pair):
    named = calibration_report(rows[0], {"raw": rows[1]}, **FEW)
    for name in ("verdict", "sentence"):
        assert getattr(named, name) == getattr(report, name) == getattr(report.models[None], name)
        told = rf"report of 2 models has no {name} .* report.models\['raw'\].{name}\.$"
        with pytest.raises(AttributeError, match=told):
            getattr(pair, name)


def test_frame_for_a_paper(report, pair):
    """Texts with intervals, free of signs that TeX or Markdown read, and the numbers in them."""
    one, two = (found.to_frame(kind="paper") for found in (report, pair))
    assert list(one.columns) == ["Estimate"]
    assert list(two.columns) == list(pair.models)
    text = "".join([*one.index, *one["Estimate"], one.index.name])
    assert not set("\\{}$&#^_%~<>|*") & set(text)
    model = report.models[None]
    error, slope = model.measures["smooth_ece"], model.direction.slope
    assert one.loc["Smooth ECE", "Estimate"] == show_interval(*error[:3])
    assert float(one.loc["Smooth ECE, by chance", "Estimate"]) == pytest.approx(
        error.null_mean, rel=0.05
    )
    assert one.loc["Slope", "Estimate"] == str(slope)
    assert one.loc["Verdict", "Estimate"] == report.verdict
    assert one.loc["Rows", "Estimate"] == str(model.sample.n_rows)
    assert one.index.name == "95 per cent intervals"
    with pytest.raises(ValueError, match="kind must be"):
        report.to_frame(kind="latex")


def test_frame_for_a_paper_names_what_there_is():
    """Clusters, groups, clinical quantities, and confidences of three classes."""
    rng = np.random.default_rng(0)
    v = rng.random(300)
    y, some = rng.random(300) < v, {"clusters": np.arange(300) // 2, "groups": np.arange(300) % 2}
    frame = calibration_report(y, v, clinical=True, **some, **FEW).to_frame(kind="paper")
    extra = {"Clusters", "Calibrated in all groups, p-value", "Calibration slope", "ICI", "Emax"}
    assert set(frame.index) >= extra
    assert not set("<>=") & set("".join(frame["Estimate"]))
    proba = rng.dirichlet(np.ones(3), size=300)
    frame = calibration_report(rng.integers(0, 3, 300), proba, **FEW).to_frame(kind="paper")
    assert {"Mean confidence", "Accuracy"} <= set(frame.index)
    assert not {"Prediction minus outcome", *extra} & set(frame.index)


def test_percentages_can_be_told_apart():
    assert show_percentages(0.5, 0.25) == ("50.0 %", "25.0 %")
    assert show_percentages(0.9996, 0.9991) == ("99.96 %", "99.91 %")
    assert show_percentages(0.3, 0.3) == ("30.0 %", "30.0 %")


def test_html_holds_all_that_the_text_says(pair):
    page = pair._repr_html_()
    assert "<b>" not in page
    assert "<i>" not in page
    text, images = read_page(page)
    assert repr(EVIL) in text
    for (name, model), image in zip(pair.models.items(), images, strict=True):
        assert f"{name}: {model.verdict}" in text
        assert model.sentence in text
        for section in list_sections(model, 0.95):
            assert section.title in text
            assert all(cell in text for row in section.rows for cell in row)
        assert image["alt"] == f"Reliability diagram of {name}"
        kind, data = image["src"].split(",")
        assert kind == "data:image/png;base64"
        assert b64decode(data, validate=True).startswith(b"\x89PNG")


def test_dictionary_holds_every_section(report):
    found, model = pass_through_json(report), report.models[None]
    assert list(found) == ["name", *ModelReport._fields]
    assert found["name"] is None
    names = [name for name, kind in ModelReport.__annotations__.items() if kind in (str, float)]
    assert {"verdict", "sentence", "pvalue", "discrimination_pvalue"} <= set(names)
    for name in names:
        assert found[name] == getattr(model, name)
    for name in ("sample", "test", "direction", "recalibration"):
        assert list(found[name]) == list(getattr(model, name)._fields)
    assert found["sample"]["frequency"] == model.sample.frequency.tolist()
    assert found["measures"].keys() == model.measures.keys()
    measure = model.measures["smooth_ece"]
    expected = measure._asdict()
    assert found["measures"]["smooth_ece"] == expected
    score = model.scores["log_loss"]
    assert found["scores"]["log_loss"] == score._asdict() | {"advantage": score.advantage._asdict()}
    assert model.direction.too_high
    for name in ("too_low", "too_high"):
        regions = [region._asdict() for region in getattr(model.direction, name)]
        assert found["direction"][name] == regions


def test_diagram_can_be_drawn(report):
    display = report.models[None].diagram
    before, open_figures = dict(vars(display)), plt.get_fignums()
    assert display.smooth_ece == report.models[None].measures["smooth_ece"].estimate
    page = report._repr_html_()
    assert page == report._repr_html_()
    # What the page needs is drawn on a copy, and on a figure that pyplot does not know of.
    assert vars(display) == before
    assert plt.get_fignums() == open_figures
    axes = display.plot(mpl.figure.Figure().add_subplot()).ax_
    assert "(Positive label: 1)" in axes.get_xlabel()
    # What is drawn is no part of the dictionary, which it can be drawn from.
    plain = pass_through_json(report)["diagram"]
    curves = [ReliabilityCurve(**curve) for curve in plain.pop("curves")]
    again = ReliabilityDisplay(curves=curves, **plain).plot(mpl.figure.Figure().add_subplot())
    np.testing.assert_array_equal(again.line_.get_ydata(), display.line_.get_ydata())
    assert again.line_.get_label() == display.line_.get_label()


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param(("no", "yes"), marks=pytest.mark.slow),
        pytest.param((False, True), marks=pytest.mark.slow),
        np.array([2, 7]),
        pytest.param(np.array([0.5, 1.5], np.float32), marks=pytest.mark.slow),
    ],
)
def test_labels_of_a_dictionary_are_plain(rows, labels):
    options = {"labels": labels, "pos_label": labels[1], **FEW}
    found = pass_through_json(calibration_report(np.array(labels)[rows[0]], rows[1], **options))
    assert found["sample"]["labels"] == list(labels)
    (curve,) = found["diagram"]["curves"]
    assert found["sample"]["pos_label"] == curve["pos_label"] == labels[1]


def test_page_is_a_file(report, tmp_path):
    """It says what a notebook shows, and needs nothing else."""
    page = report.to_html()
    assert page.startswith("<!DOCTYPE html>")
    assert '<meta charset="utf-8">' in page
    assert "<title>Calibration report</title>" in page
    shown = report._repr_html_().partition("</strong>")[2].removesuffix("</div>")
    assert shown in page
    for path in (tmp_path / "ä.html", str(tmp_path / "b.html")):
        assert report.to_html(path) is None
        assert Path(path).read_text(encoding="utf-8") == page
    for path, message in (
        (3, "path must be a path of a file, or None; got 3."),
        (tmp_path, "path must be a path of a file; got the folder "),
        (tmp_path / "none" / "a.html", "path must lie in a folder that exists; got "),
    ):
        with pytest.raises(ValueError, match=message):
            report.to_html(path)


def test_page_tells_its_title_and_origin(report, rows):
    """Nothing else depends on the day, so that equal rows make equal pages on one day."""
    assert datetime.now().astimezone() - report.created < timedelta(days=1)
    assert report.version == skcal.__version__
    old = replace(report, created=datetime(2021, 3, 4, tzinfo=UTC), version="0.0.7")
    page = old.to_html(title=f"On {EVIL}")
    for tag in ("title", "h1"):
        (text,) = re.findall(f"<{tag}[^>]*>(.*)</{tag}>", page)
        assert unescape(text) == f"On {EVIL}"
    assert ">2021-03-04, skcal 0.0.7<" in page
    assert ">skcal 0.0.7<" in replace(old, created=None).to_html()
    assert ">2021-03-04<" in replace(old, version=None).to_html()
    again = calibration_report(*rows, **FEW)
    assert again.to_html() == replace(report, created=again.created).to_html()
    assert old._repr_html_() == report._repr_html_() == again._repr_html_()
    assert str(old) == str(report)
    assert old.to_dict() == report.to_dict()
    for title in ("", " ", None, 3):
        with pytest.raises(ValueError, match="title must be a string that is not empty; got"):
            report.to_html(title=title)


def test_tables_stand_with_the_diagram_of_their_model(pair):
    page = re.sub("(<img[^>]*)>", r"\1/>", pair._repr_html_())
    parts = list(ElementTree.fromstring(page))
    heads = [k for k, part in enumerate(parts) if part.tag == "h2"]
    for k, (name, model) in zip(heads, pair.models.items(), strict=True):
        heading, _, body = parts[k : k + 3]
        assert heading.text == f"{name}: {model.verdict}"
        (image,) = body.iter("img")
        assert image.attrib["alt"] == f"Reliability diagram of {name}"
        titles = [next(table.iter("th")).text for table in body.iter("table")]
        assert titles == [section.title for section in list_sections(model, 0.95)]


def test_band_shows_what_the_verdict_says(rows):
    """It leaves the diagonal where an error is found, and holds it where none is."""
    truth = np.linspace(0.02, 0.98, 2000)
    y_true = (np.random.default_rng(0).random(2000) < truth).astype(int)
    models = {"right": truth, "wrong": 0.3 + 0.4 * truth}
    for weights, kinds in ((None, ("isotonic", "wilson")), (1 + truth, ("wilson", "wilson"))):
        report = calibration_report(y_true, models, sample_weight=weights, **FEW)
        verdicts = [model.verdict for model in report.models.values()]
        assert verdicts == ["calibrated", "under-confident"]
        for model, kind in zip(report.models.values(), kinds, strict=True):
            (curve,) = model.diagram.curves
            band = curve.layers["band"]
            assert band.kind == kind
            outside = (band.low > band.prob_pred) | (band.high < band.prob_pred)
            if model.verdict == "under-confident":
                assert outside.mean() > 0.5
            elif kind == "isotonic":
                assert not outside.any()
    page, _ = read_page(report._repr_html_())
    assert page.count("The band has 95 % confidence at each prediction by itself.") == 2


def test_scale_is_that_of_smooth_ece_and_of_the_diagram(rows, report):
    model = calibration_report(*rows, scale="logit", **FEW).models[None]
    assert model.measures["smooth_ece"].estimate == smooth_ece(*rows, scale="logit")
    assert model.diagram.scale == "logit"
    assert model.diagram.smooth_ece == model.measures["smooth_ece"].estimate
    (section,) = (s for s in list_sections(model, 0.95) if s.title == "Calibration error")
    assert section.rows[0][0] == "smooth ECE, logit"
    # Sizes and the verdict are on the scale of probabilities.
    other = report.models[None]
    for name in ("verdict", "sentence", "test", "error", "error_bound", "direction", "scores"):
        assert getattr(model, name) == getattr(other, name)


def test_bad_input():
    for options, message in (
        ({"reduction": "classwise"}, "must be one of 'auto', 'confidence', 'multilabel'; got 'cla"),
        ({"scale": "log"}, "scale must be one of 'probability', 'logit'; got 'log'."),
        ({"tolerance": 0}, "tolerance must be above 0 and below 1; got 0."),
        ({"tolerance": 1}, "tolerance must be above 0 and below 1; got 1."),
        ({"confidence_level": 0}, "confidence_level must be above 0"),
        ({"n_resamples": 1}, "n_resamples must be at least 2; got 1."),
        ({"random_state": "a"}, "random_state must be .*; got 'a'."),
        ({"y_proba": {}}, "y_proba must hold at least one model"),
        ({"y_proba": {1: [0.5]}}, "y_proba must name its models by strings; got the name 1."),
        ({"y_proba": {"a": [0.5]}}, r"y_true and y_proba\['a'\] must have the same length"),
        ({"y_proba": {"a": [0.5, 1.5]}}, r"y_proba\['a'\] must lie in \[0, 1\]; got 1.5 at row 1."),
        ({"y_proba": [0.5, 1.5]}, r"y_proba must lie in \[0, 1\]; got 1.5 at row 1."),
        ({"y_true": [0.3, 1]}, "y_true must hold labels; a report needs outcomes"),
        ({"y_true": SOFT, "y_proba": SOFT}, "y_true must hold labels; a report needs outcomes"),
    ):
        with pytest.raises(ValueError, match=message):
            calibration_report(**{"y_true": [0, 1], "y_proba": [0.5, 0.5], **options})


def test_models_are_compared_on_their_rows(rows):
    y_true, y_proba = rows
    sharp = np.clip(1.5 * y_proba - 0.25, 0, 1)
    models = {"sharp": sharp, "shrunk": 0.25 + 0.5 * y_proba, "again": 0.25 + 0.5 * y_proba}
    report = calibration_report(y_true, models, **FEW)
    expected = compare_calibration(y_true, models, **FEW)
    np.testing.assert_array_equal(report.comparison.low, expected.low)
    for text in (" ".join(str(report).split()), read_page(report._repr_html_())[0]):
        assert re.search(r"(shrunk|again) is better calibrated than sharp \(p ", text)
        assert "than shrunk" not in text
        for error in report.comparison.errors:
            assert show_number(error) in text.split("is better")[0]
    assert report.to_dict()["comparison"]["names"] == list(models)
    # The difference is that of the errors in the table, and of what the verdicts say.
    for error, model in zip(report.comparison.errors, report.models.values(), strict=True):
        smooth = model.measures["smooth_ece"]
        free = np.sqrt(max(smooth.estimate**2 - smooth.null_mean**2, 0))
        assert error == pytest.approx(free)
    equal = calibration_report(y_true, {"one": y_proba, "other": y_proba}, **FEW)
    assert "No model is shown to be better calibrated than another one (p = 1" in str(equal)
    assert calibration_report(y_true, y_proba, **FEW).comparison is None


def test_many_pairs_are_counted(rows):
    y_true, _ = rows
    truth = 0.25 + 0.5 * rows[1]
    models = {str(k): np.clip(truth + k / 10, 0, 1) for k in range(5)}
    text = str(calibration_report(y_true, models, **FEW))
    assert text.count("is better calibrated than") == 3
    assert re.search(r"Models of \d more pairs differ", " ".join(text.split()))


@pytest.mark.parametrize("unit", [7.0, 1e-3])
def test_the_unit_of_weights_means_nothing(rows, unit):
    weights = np.random.default_rng(1).uniform(0.5, 2, 400)
    for own in (np.ones(400), weights):
        first, second = (
            calibration_report(*rows, sample_weight=w, **FEW).to_frame() for w in (own, unit * own)
        )
        pd.testing.assert_frame_equal(first, second, rtol=1e-6)
    plain = calibration_report(*rows, **FEW).to_frame()
    found = calibration_report(*rows, sample_weight=np.full(400, unit), **FEW).to_frame()
    pd.testing.assert_frame_equal(found, plain, rtol=1e-9)
