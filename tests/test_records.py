"""Records show themselves in a few lines, whatever they hold."""

import pickle
import re
from html import escape, unescape
from numbers import Real

import numpy as np
import pandas as pd
import pytest

from skcal.inference import (
    CalibrationComparison,
    ConsistencyBand,
    CoxRecalibration,
    Interval,
    IsotonicBand,
    MeanRecalibration,
    NetBenefitDifference,
    PooledEstimate,
    RequiredLabels,
    RequiredSamples,
    RowsToLabel,
    TestResult,
    audit_groups,
)
from skcal.metrics import (
    Bounds,
    CORPDecomposition,
    DecisionCalibrationWitness,
    Decomposition,
    SmoothECECurve,
)
from skcal.model_selection import PooledScore, StagedRefinement
from skcal.monitoring import CalibrationMonitor, GroupedMonitor
from skcal.recalibration._fitted import FITTED
from skcal.refinement import RecalibrationGain
from skcal.regression import IntervalScoreDecomposition, Mixture, MultivariateNormal
from skcal.shift import PerformanceEstimate, PriorEstimate
from skcal.survival import ACalibration, AJCalibration, DCalibration, MartingaleTest
from tests.public_objects import is_record, list_functions_and_classes

RECORDS = {path: obj for path, obj in list_functions_and_classes().items() if is_record(obj)}
HOLD_ARRAYS = [
    path
    for path, record in RECORDS.items()
    if re.search("ndarray|ArrayLike|list", str(record.__annotations__))
]


def test_long_arrays_are_shown_by_their_shape():
    fitted = [record for record in FITTED if "ndarray" in str(record.__annotations__)]
    assert len(fitted) > 3
    for record in (*(RECORDS[path] for path in HOLD_ARRAYS), *fitted):
        fields = record._fields
        text = repr(record(*[np.linspace(0, 1, 900)] * len(fields)))
        shown = ", ".join(f"{name}=<ndarray of shape (900,)>" for name in fields)
        assert text == f"{record.__name__}({shown})"


def test_numbers_are_shown_by_name():
    for path, record in RECORDS.items():
        fields = record._fields
        shown = ", ".join(f"{name}={number}" for number, name in enumerate(fields))
        assert repr(record(*range(len(fields)))) == f"{record.__name__}({shown})", path


def test_defaults_are_not_told():
    """Nor does a notebook show what there is not."""
    test = TestResult(2.5, 0.1, 0.2)
    assert repr(test) == "TestResult(statistic=2.5, pvalue=0.1, estimate=0.2)"
    assert repr(test._replace(name="z")) == repr(test)[:-1] + ", name='z')"
    assert eval(repr(test)) == test
    assert repr(pickle.loads(pickle.dumps(test))) == repr(test)
    assert set(read_cells(test._repr_html_())) == {"statistic", "pvalue", "estimate"}
    empty = PerformanceEstimate(0.9, 0.8, 1.0, None, 0.0, 0.0, test, None, None)
    assert "reason=None" in repr(empty)
    assert "None" not in empty._repr_html_()


def test_tables_scroll():
    """Each table of a notebook is in a box of its own, which no wide one leaves."""
    audit = audit_groups([0, 1] * 20, [0.5] * 40, ["a", "b"] * 20, statistic="mean")
    for record in (INTERVAL, audit):
        html = record._repr_html_()
        assert html.count("<table") == html.count('<div style="overflow-x:auto"><table')


def test_short_values_tables_and_what_lists_hold():
    curve = SmoothECECurve(np.array([0.5]), (), [0.25, None], (), 0.1, (0.2,))
    assert repr(curve) == (
        "SmoothECECurve(grid=array([0.5]), prob_pred=(), prob_true=[0.25, None], density=(), "
        "bandwidth=0.1, value=(0.2,))"
    )
    components = [MultivariateNormal(np.zeros(99), pd.DataFrame(np.zeros((5, 3))))]
    assert repr(Mixture(list(range(11)), components)) == (
        "Mixture(weights=<list of 11>, components=[MultivariateNormal(mean=<ndarray of shape "
        "(99,)>, cov=<DataFrame of shape (5, 3)>)])"
    )


INTERVAL = Interval(0.05862, 0.01854, 0.09783)
THREE, PLACES = np.array([0.1, -0.2, 0.3]), np.array([0.1, 0.2, 0.5])
TESTS = [TestResult(9, pvalue, 1) for pvalue in (0.0002, 0.07, 0.03)]
SENTENCES = [
    (INTERVAL, "0.059 (0.019 to 0.098)"),
    # Two digits of the width, at any scale, without a sign before zero.
    (Interval(1234.56, 1000, 1456.7), "1235 (1000 to 1457)"),
    (Interval(-1e-4, -0.02, 0.03), "0.000 (-0.020 to 0.030)"),
    (Interval(np.float64(3e-9), 1e-9, 5e-9), "0.0000000030 (0.0000000010 to 0.0000000050)"),
    (Interval(0.25, 0.25, 0.25), "0.25 (0.25 to 0.25)"),
    (Interval(1.5, 0.1234, np.inf), "1.5 (0.123 to inf)"),
    (Interval(np.inf, np.inf, np.inf), "inf (inf to inf)"),
    (
        TestResult(3.14159, 0.0421, 0.1),
        "Statistic 3.14: more than calibrated predictions show by chance (p = 0.042).",
    ),
    (
        TestResult(-1.2, 0.23, 0.1, name="z", hypothesis="unchanged rates"),
        "z -1.2: no more extreme than unchanged rates show by chance (p = 0.23).",
    ),
    (
        TestResult(0.1154, 1e-5, 0.1, worst_group="south", null_mean=0.02134),
        "Statistic 0.115: more than calibrated predictions show by chance, 0.0213 on average "
        "(p < 0.001); the worst group is 'south'.",
    ),
    (
        # Each p-value stands beside what it is one of: of both, of the intercept, of the slope.
        CoxRecalibration(INTERVAL, Interval(0.8, 0.7, 0.9), INTERVAL, *TESTS),
        "The slope of the log odds is 0.80 (0.70 to 0.90), and 1 if calibrated (p = 0.03); "
        "calibration in the large is 0.059 (0.019 to 0.098), and 0 if calibrated (p = 0.07); of "
        "both together p < 0.001.",
    ),
    (
        MeanRecalibration(*[INTERVAL] * 3, *TESTS),
        "The slope of the means is 0.059 (0.019 to 0.098), and 1 if calibrated (p = 0.03); "
        "calibration in the large is 0.059 (0.019 to 0.098), and 0 if calibrated (p = 0.07); of "
        "both together p < 0.001.",
    ),
    (
        CalibrationComparison(
            "smooth_ece", ["a", "b"], [INTERVAL] * 2, [("a", "b")], *[THREE[:1]] * 5, 0.95, THREE
        ),
        "The smooth_ece of 'a' minus that of 'b' is 0.1 (0.1 to 0.1), p = 0.10.",
    ),
    (
        CalibrationComparison(
            "smooth_ece",
            ["a", "b", "c"],
            [INTERVAL] * 3,
            [("a", "b"), ("a", "c"), ("b", "c")],
            THREE,
            THREE - 0.125,
            THREE + 0.125,
            np.array([0.3, 0.01, 0.2]),
            np.array([0.4, 0.03, 0.4]),
            0.95,
            THREE,
        ),
        "The smooth_ece of 'a' minus that of 'c' is -0.20 (-0.33 to -0.08), p = 0.03 (adjusted), "
        "the least of 3 pairs.",
    ),
    # All survival tests and those of other hypotheses say what the statistic is compared with.
    (
        DCalibration(471.2, 1e-9, THREE),
        "D-calibration chi-squared 471: more than right survival curves show by chance "
        "(p < 0.001).",
    ),
    (
        ACalibration(3.14159, 0.53, THREE, 12.0, THREE),
        "A-calibration chi-squared 3.14: no more than right survival curves show by chance "
        "(p = 0.53).",
    ),
    (
        AJCalibration(0.0123, THREE, THREE, THREE, 0.02),
        "AJ-calibration error 0.0123: more than right mean risks show by chance (p = 0.02).",
    ),
    (
        MartingaleTest(-2.51, 0.012, 150, 184.23),
        "150 events where 184.2 were expected; z -2.51: more extreme than right hazards show by "
        "chance (p = 0.012).",
    ),
    (
        Decomposition(0.21, 0.0131, 0.1969),
        "Of the mean loss of 0.21, 0.013 is calibration error; recalibration would leave 0.197.",
    ),
    (
        CORPDecomposition(0.18, 0.0131, 0.0831, 0.25),
        "Score 0.18: 0.013 of miscalibration, less 0.0831 of discrimination, plus 0.25 of "
        "uncertainty.",
    ),
    (
        IntervalScoreDecomposition(3.33, 1.5, 0.5, 1.33),
        "Of the mean score of 3.33, 1.5 is dispersion, 0.5 overprediction and 1.3 underprediction.",
    ),
    (
        DecisionCalibrationWitness(0.3, ">=", 0.0123),
        "Who acts at predictions >= 0.3 loses most by miscalibration: 0.0123.",
    ),
    (
        StagedRefinement(1, np.array([0.5, 0.3, 0.4]), THREE),
        "Stage 1 of 3 has the smallest refinement, 0.3 (the last stage 0.4).",
    ),
    (
        PriorEstimate([0.75, 0.25], [0.71, 0.21], [0.79, 0.29], TESTS[0], TESTS[1]),
        "Rate of the positive class 0.250 (0.210 to 0.290): a change (p < 0.001); new rates "
        "explain the new scores (p = 0.07).",
    ),
    (
        PriorEstimate(np.ones(9) / 9, np.zeros(9), np.ones(9), TESTS[1], TESTS[2]),
        "Rates of 9 classes, 0 apart at most: no change beyond chance (p = 0.07); but more than "
        "rates has changed, so that the estimate means nothing (p = 0.03).",
    ),
    (
        PerformanceEstimate(0.9, 0.85, 0.95, None, 0.0, 0.0, TESTS[1], None, None),
        "Estimated as 0.90 (0.85 to 0.95); nothing speaks against it.",
    ),
    (
        PerformanceEstimate(np.nan, np.nan, np.nan, "it is off", 0.3, 0.0, TESTS[1], None, None),
        "No estimate: it is off.",
    ),
    (
        PerformanceEstimate(np.eye(3) / 4, 0.0, 1.0, None, 0.0, 0.0, TESTS[1], None, None),
        "Confusion of 3 classes, 0.75 of it on the diagonal.",
    ),
    (
        IsotonicBand(PLACES, np.zeros(3), np.ones(3), 0.9),
        "The band of 90 % at all points at once excludes a calibrated model nowhere.",
    ),
    (
        ConsistencyBand(PLACES, np.ones(3), np.zeros(3), np.array([1, 0.9, 0.9]), 0.95),
        "The band of 95 % at each point by itself excludes a calibrated model in 2 of 3, between "
        "0.20 and 0.50.",
    ),
    (
        PooledEstimate(0.9, 0.8, 1.0, 0.5, 123.4, 0.1),
        "0.90 (0.80 to 1.00) on average, and 0.500 to 123 expected in another group",
    ),
    # Bounds are rounded away from each other.
    (Bounds(0.123456, 0.234561), "At least 0.12345 and at most 0.23457."),
    (Bounds(0.0, 1.0), "At least 0 and at most 1."),
    (
        NetBenefitDifference(THREE, THREE, THREE - 0.15, THREE + 0.15),
        "The net benefit is above that of the baseline at 1 of 3 thresholds, and below it at 1, by "
        "a band that holds at all of them.",
    ),
    (
        RecalibrationGain(0.02031, 0.01, 0.00968, 0.2334, "brier", 0.95, 100),
        "Recalibration lowers the Brier score by 0.0203, to 0.233; a calibration error of at least "
        "0.0096 is certified (95 % confidence).",
    ),
    (
        RecalibrationGain(-0.001, 0.0, 0.0, 0.5, "log", 0.9, 100),
        "Recalibration raises the log loss by 0.001, to 0.5; a calibration error of at least 0 is "
        "certified (90 % confidence).",
    ),
    (
        RequiredSamples(12345, 617.4, INTERVAL),
        "12,345 rows, about 617 of them positive; with them the expected result is 0.059 (0.019 to "
        "0.098).",
    ),
    (
        RequiredSamples(2486, 12.4, Interval(*[0.80012] * 3)),  # a power without Monte Carlo error
        "2,486 rows, about 12 of them positive; with them the expected result is 0.8.",
    ),
    (
        RequiredLabels(1234, 20000, 0.1, 4567, 5678.9),
        "1,234 labels and 20,000 verdicts, for 5,678.9, in place of 4,567 labels alone.",
    ),
    (
        RowsToLabel(np.array([1, 2]), np.array([0.25, 0.8333, 0.5, 0.4167])),
        "2 of 4 rows to label, each chosen with a probability of 0.25 to 0.83.",
    ),
    (
        PooledScore(0.02177, 0.0506, THREE),
        "0.0218 for all test rows together; 0.0506 as the mean of 3 folds.",
    ),
]


def test_results_print_as_sentences():
    """And show themselves by their fields, as all records do."""
    for record, sentence in SENTENCES:
        assert str(record) == f"{record}" == sentence
        assert repr(record).startswith(f"{type(record).__name__}({record._fields[0]}=")


# The records of reports are parts of them, and a report shows itself as a whole.
SHOWN = [record for path, record in RECORDS.items() if not path.startswith("skcal.report.")]


def read_cells(html):
    """What is in the rows of the last table, by the heads of the rows."""
    rows = re.findall(r"<th[^>]*>([^<]*)</th><td[^>]*>([^<]*)</td>", html.split("<table>")[-1])
    return {unescape(name): unescape(value) for name, value in rows}


def test_notebooks_show_tables():
    """Fields by name, numbers in four digits, and long arrays by their shape; see `as_record`."""
    assert [record for record in SHOWN if not hasattr(record, "_repr_html_")] == []
    for record in SHOWN:
        if hasattr(record, "to_frame") or "__str__" in vars(record):
            continue
        fields = record._fields
        html = record(*[1 / 3] * len(fields))._repr_html_()
        assert read_cells(html) == dict.fromkeys(fields, "0.3333"), record
        html = record(*[np.zeros(900)] * len(fields))._repr_html_()
        assert read_cells(html) == dict.fromkeys(fields, "<ndarray of shape (900,)>")
        html = record(*[np.int64(1234567)] * len(fields))._repr_html_()  # a count has all digits
        assert read_cells(html) == dict.fromkeys(fields, "1234567")


@pytest.mark.parametrize(("record", "sentence"), SENTENCES)
def test_notebooks_show_sentences(record, sentence):
    html = record._repr_html_()
    assert html.startswith(f"<p>{escape(sentence)}</p>")
    told = [name for name in record._fields if f"{name}=" in repr(record)]  # but defaults
    scalars = [name for name in told if isinstance(getattr(record, name), Real | str)]
    assert set(read_cells(html)) >= set(scalars)


def test_results_have_a_sentence():
    """All but inputs, curves that are drawn, and what a report is made of."""
    silent = [path for path in RECORDS if "__str__" not in vars(RECORDS[path])]
    named = re.compile("Curve$|Problem$|^Groups|Witness$|Outcomes$|Predictions$|Report$|Value$")
    rest = [name for path in silent if not named.search(name := path.split(".")[-1])]
    assert sorted(rest) == ["Ensemble", "Mixture", "MultivariateNormal", "Quantiles"]


def test_monitors_show_sentences():
    rng = np.random.default_rng(0)
    monitor, groups = CalibrationMonitor(), GroupedMonitor()
    for name, y in (("a", rng.random(400) < 0.5), ("b", np.ones(400, bool))):
        groups.update(y, np.full(400, 0.5), by=[name] * 400)
    monitor.update(np.ones(400, bool), np.full(400, 0.5))
    assert str(monitor) == monitor.describe()
    assert str(groups).startswith(
        "Alarms in 1 of 2 groups, after 800 rows in all; most evidence in 'b': "
    )
    assert str(groups).endswith(groups["b"].describe())
    for found in (monitor, groups):
        html = found._repr_html_()
        assert html.startswith(f"<p>{escape(str(found))}</p>")
        assert html.count("<table") == 1
    assert str(GroupedMonitor()) == "Alarms in 0 of 0 groups, after 0 rows in all."
    assert "No rows yet." in CalibrationMonitor()._repr_html_()


def test_notebooks_show_tables_of_groups():
    """Those of `to_frame`, whose long ones are cut, and below them what is one value."""
    table = [f"<site {k}>" for k in range(40)]
    audit = audit_groups([0, 1] * 20, [0.5] * 40, table, min_samples=1, statistic="mean")
    html = audit._repr_html_()
    shown = [name for name in audit.names if escape(name) in html]
    assert len(shown) == 10
    assert "<site" not in html
    scalars = {"pvalue", "statistic", "adjust", "alternative", "confidence_level"}
    assert set(read_cells(html)) == scalars
    assert read_cells(html)["confidence_level"] == "0.95"
