"""p-values that the draws let be no smaller are printed as bounds."""

import copy
import json
import pickle

import numpy as np
import pytest
from scipy.stats import norm

from skcal._tools._least_pvalue import LeastPValue, carry_least, mark_least
from skcal._tools._words import show_pvalue
from skcal.inference import (
    audit_groups,
    audit_mean_groups,
    calibration_test,
    compare_summaries,
    mean_calibration_test,
    squared_kernel_calibration_test,
    t_cal_test,
)
from skcal.regression import distribution_calibration_test
from skcal.report import calibration_report
from skcal.streaming import CalibrationSummary

rng = np.random.default_rng(0)
V = rng.uniform(0.1, 0.9, 400)
WRONG = (rng.random(400) < 1 - V).astype(int)
RIGHT = (rng.random(400) < V).astype(int)
GROUPS, CLUSTERS = np.arange(400) % 4, np.arange(400) // 4
PAIRS = np.column_stack([1 - V, V])
FEW = {"n_resamples": 19, "random_state": 0}


def compare(y):
    summaries = (CalibrationSummary().update(labels, V) for labels in (RIGHT, y))
    return compare_summaries(*summaries, **FEW)


def test_distributions(y):
    location = V + 2 * (y != RIGHT).any()
    return distribution_calibration_test(V + rng.normal(size=400), norm(location), **FEW)


test_distributions.__test__ = False
TESTS = {
    "rows": lambda y: calibration_test(y, V, **FEW),
    "measure": lambda y: calibration_test(y, V, statistic="smooth_ece", **FEW),
    "groups": lambda y: calibration_test(y, V, groups=GROUPS, **FEW),
    "clusters": lambda y: calibration_test(y, V, clusters=CLUSTERS, **FEW),
    "kernel": lambda y: squared_kernel_calibration_test(y, PAIRS, method="bootstrap", **FEW),
    "bins": lambda y: t_cal_test(y, V, **FEW),
    "summaries": compare,
    "distributions": test_distributions,
}


@pytest.mark.parametrize("test", TESTS.values(), ids=TESTS)
def test_bounds_are_said_to_be_bounds(test):
    assert "(p <= 0.05)" in str(test(WRONG))
    assert "<=" not in str(test(RIGHT))


def test_both_sides_and_single_rows_of_clusters_double_it():
    assert "(p <= 0.10)" in str(mean_calibration_test(WRONG, V, **FEW))
    one_side = mean_calibration_test(WRONG, V, alternative="greater", **FEW)
    assert "(p <= 0.05)" in str(one_side)
    few = np.arange(400) // 40  # clusters too few for signs of their own
    always_wrong = calibration_test(V < 0.5, np.where(V < 0.5, 0.001, 0.999), clusters=few, **FEW)
    assert "(p <= 0.10)" in str(always_wrong)
    # All signs of five rows are known, and no draw would add any.
    exact = mean_calibration_test(V[:5] + 1, V[:5], n_resamples=99, random_state=0)
    assert "(p = " in str(exact)


@pytest.mark.parametrize("adjust", ["min-p", "holm"])
@pytest.mark.parametrize("clusters", [None, CLUSTERS, np.arange(400) // 2])
def test_groups(adjust, clusters, capsys):
    draws = {"n_resamples": 99, "random_state": 0, "adjust": adjust, "clusters": clusters}
    mixed = np.where(GROUPS, RIGHT, WRONG)
    audit = audit_groups(mixed, V, GROUPS, **draws)
    factor = 4 if adjust == "holm" else 1
    assert audit.pvalue == pytest.approx(factor / 100)
    audit.print()
    head, _, table = capsys.readouterr().out.partition("n_samples")
    _, first, *others = table.splitlines()
    assert f"4 groups (p <= 0.0{factor})" in head
    assert first.endswith(f"<= 0.0{factor}")
    assert not any("<=" in row for row in others)
    for y in (RIGHT, 1.0 * RIGHT):
        audit = audit_mean_groups if y.dtype.kind == "f" else audit_groups
        audit(y, V, GROUPS, **draws).print()
        assert "<=" not in capsys.readouterr().out


def test_reports():
    """Each p-value counts with its part of the level, and draws are as many more."""
    wrong, right = (calibration_report(y, V, **FEW) for y in (WRONG, RIGHT))
    assert "more than chance (p <= 0.05)" in str(wrong).replace("\n", " ")
    assert "p &lt;= 0.05" in wrong.to_html()
    assert str(wrong).count("(p <= 0.05)") == 4  # with all tests
    assert "p <=" not in str(right)


def test_numbers_are_plain():
    found = TESTS["rows"](WRONG).pvalue
    assert isinstance(found, float)
    assert found == 0.05
    assert repr(found) == json.dumps(found) == "0.05"
    for same in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert type(same) is LeastPValue
        assert same == found
    assert type(2 * found) is float


def test_what_is_made_of_them():
    least, other = mark_least(0.02, 1 / 50), mark_least(0.02, 1 / 100)
    assert (type(least), type(other)) == (LeastPValue, float)
    assert type(carry_least(0.04, least, least)) is LeastPValue
    assert type(carry_least(0.04, least, other)) is type(carry_least(1.0, least)) is float


@pytest.mark.parametrize(
    ("pvalue", "text"),
    [
        (1 / 500, "p <= 0.002"),
        (1 / 1000, "p <= 0.001"),
        (1 / 300, "p <= 0.0034"),  # not rounded down
        (1 / 20, "p <= 0.05"),
        (1 / 3, "p <= 0.34"),
        (1 / 99, "p <= 0.011"),
        (1 / 2000, "p < 0.001"),
        (0.5, "p <= 0.50"),
    ],
)
def test_bounds_are_not_rounded_down(pvalue, text):
    assert show_pvalue(LeastPValue(pvalue)) == text
