"""Rating grades: published examples, closed forms, and sizes by enumeration."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, binom, binomtest

from skcal.inference import (
    GradeAudit,
    audit_grades,
    hosmer_lemeshow_test,
    spiegelhalter_test,
)


def make_rows(n_rows, n_events, rates, names=None):
    """Outcomes, predictions and grades of single rows."""
    names = list("ABCDEFGHIJ")[: len(n_rows)] if names is None else names
    outcomes = [np.arange(n) < k for n, k in zip(n_rows, n_events, strict=True)]
    return np.concatenate(outcomes).astype(int), np.repeat(rates, n_rows), np.repeat(names, n_rows)


ROWS, EVENTS, RATES = [300, 200, 100], [2, 7, 18], [0.01, 0.03, 0.1]


def test_a_table_of_grades():
    y, p, grade = make_rows(ROWS, EVENTS, RATES)
    order = np.random.default_rng(0).permutation(600)
    found = audit_grades(y[order], p[order], grade[order])
    assert isinstance(found, GradeAudit)
    table = found.table
    assert table["grade"].tolist() == ["A", "B", "C"]
    assert table["n_samples"].tolist() == ROWS
    assert table["n_events"].tolist() == EVENTS
    np.testing.assert_allclose(table["mean_prediction"], RATES)
    np.testing.assert_allclose(table["mean_outcome"], np.divide(EVENTS, ROWS))
    for k, n, v, row in zip(EVENTS, ROWS, RATES, table.itertuples(), strict=True):
        greater, less = (
            binomtest(k, n, v, alternative=side).pvalue for side in ("greater", "less")
        )
        assert row.binomial == pytest.approx(greater)
        assert row.binomial_two_sided == pytest.approx(min(1, 2 * min(greater, less)))
        share = beta.cdf(v, k + 0.5, n - k + 0.5)
        assert row.jeffreys == pytest.approx(share)
        assert row.jeffreys_two_sided == pytest.approx(2 * min(share, 1 - share))
    smallest, middle, largest = np.sort(table["binomial"])
    adjusted = [3 * smallest, max(3 * smallest, 2 * middle), max(2 * middle, largest)]
    np.testing.assert_allclose(np.sort(table["adjusted_pvalue"]), adjusted)
    assert found.pvalue == table["adjusted_pvalue"].min()
    expected = hosmer_lemeshow_test(y, p, groups=grade, alternative="greater")
    assert found.hosmer_lemeshow[:3] == pytest.approx(expected[:3])
    assert found.spiegelhalter[:3] == pytest.approx(spiegelhalter_test(y, p)[:3])
    frame = found.to_frame()
    pd.testing.assert_frame_equal(frame, table)
    assert frame is not table


def test_ten_grades_of_mathworks():
    """Decisions of risk.validation.jeffreysTest of MATLAB's Risk Management Toolbox, R2026a.

    https://www.mathworks.com/help/risk/risk.validation.jeffreystest.html has the counts and means.
    """
    n = [56, 79, 68, 54, 45, 40, 40, 34, 37, 47]
    k = [6, 18, 16, 21, 11, 14, 10, 13, 19, 22]
    v = [0.027845, 0.07689, 0.12764, 0.17523, 0.2268, 0.27502, 0.327, 0.37635, 0.41964, 0.47274]
    y, p, grade = make_rows(n, k, v, np.arange(1, 11))
    table = audit_grades(y, p, grade).table
    np.testing.assert_allclose(table["mean_outcome"], np.divide(k, n))
    assert (table["jeffreys"] <= 0.05).tolist() == [True] * 4 + [False] * 6


@pytest.mark.parametrize(
    ("level", "rates"),
    [
        (0.5, [0.09, 0.10, 0.23]),
        (0.75, [0.17, 0.20, 0.46]),
        (0.9, [0.29, 0.33, 0.76]),
        (0.95, [0.37, 0.43, 0.99]),
        (0.99, [0.57, 0.66, 1.52]),
        (0.999, [0.86, 0.98, 2.28]),
    ],
)
def test_most_prudent_rates_without_defaults(level, rates):
    """Pluto and Tasche (2005), section 3: 100, 400 and 300 borrowers, in per cent."""
    y, p, grade = make_rows([100, 400, 300], [0, 0, 0], [0.001, 0.002, 0.005])
    table = audit_grades(y, p, grade, labels=[0, 1], confidence_level=level).table
    np.testing.assert_array_equal(np.round(100 * table["most_prudent"], 2), rates)
    closed = 1 - (1 - level) ** (1 / np.array([800, 700, 300]))
    np.testing.assert_allclose(table["most_prudent"], closed)
    assert set(table["light"]) == {"green"}


def test_most_prudent_rates_by_their_definition():
    """No larger rate leaves so few events their part of the probability."""
    y, p, grade = make_rows(ROWS, EVENTS, RATES)
    rates = audit_grades(y, p, grade, confidence_level=0.9).table["most_prudent"]
    events, rows = np.cumsum(EVENTS[::-1])[::-1], np.cumsum(ROWS[::-1])[::-1]
    np.testing.assert_allclose(binom.cdf(events, rows, rates), 0.1)
    everybody = audit_grades([1, 1, 0], [0.2, 0.3, 0.1], ["b", "b", "a"]).table
    assert everybody["most_prudent"].tolist()[1] == 1
    assert everybody["grade"].tolist() == ["a", "b"]


def test_traffic_lights():
    """One event later than those of Basel (BCBS 1996, table 2): 5 to 9 of 250 yellow, 10 red."""
    lights = [
        audit_grades(*make_rows([250], [k], [0.01]), labels=[0, 1]).table["light"][0]
        for k in range(13)
    ]
    assert lights == ["green"] * 6 + ["yellow"] * 5 + ["red"] * 2
    few = audit_grades(*make_rows([1, 10], [1, 1], [0.6, 0.01])).table
    assert few["light"].tolist() == ["green"] * 2


@pytest.mark.parametrize("rate", [0.004, 0.05, 0.3, 0.97])
@pytest.mark.parametrize("n", [30, 250])
def test_exact_sizes(n, rate):
    """Of right grades no more than a part is rejected at that level, by all outcomes."""
    outcomes = np.arange(n + 1)
    tables = [
        audit_grades(*make_rows([n], [k], [rate]), labels=[0, 1]).table
        for k in outcomes[: min(n, 60) + 1]
    ]
    chances = binom.pmf(outcomes[: len(tables)], n, rate)
    for name in ("binomial", "binomial_two_sided"):
        pvalues = np.array([table[name][0] for table in tables])
        for level in (0.01, 0.05, 0.2):
            assert chances[pvalues <= level].sum() <= level + 1e-12


def test_sentences():
    y, p, grade = make_rows(ROWS, EVENTS, RATES)
    assert str(audit_grades(y, p, grade)) == (
        "Too many events in 1 of 3 grades (p = 0.03), most clearly in C: 10.0 % are predicted, "
        "where 18.0 % come true."
    )
    found = audit_grades(y, p, grade, alternative="two-sided")
    assert str(found).startswith("No grade has another rate than chance explains (p = 0.06")
    assert str(found).endswith(", 3 grades).")
    number = audit_grades(*make_rows([50], [30], [0.1], [7]))
    assert "most clearly in 7: 10.0 % are predicted" in str(number)


def test_grades_in_which_nothing_may_happen():
    y, p, grade = make_rows([20, 20, 20], [0, 1, 20], [0.0, 0.0, 1.0])
    table = audit_grades(y, p, grade).table
    assert table["light"].tolist() == ["green", "red", "green"]
    assert table["binomial"].tolist()[0] == table["binomial"].tolist()[2] == 1
    assert 0 < table["binomial"][1] <= np.finfo(float).tiny
    assert np.isfinite(table.drop(columns=["grade", "light"]).to_numpy(dtype=float)).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"groups": ["a"]}, "groups must hold one name for each of the 3 rows; got 1"),
        ({"alternative": "less"}, "alternative must be one of 'greater', 'two-sided'; got 'less'"),
        ({"confidence_level": 1}, "confidence_level must be above 0 and below 1; got 1"),
        ({"y_true": [0.5, 0, 1]}, "y_true must hold labels"),
        ({"y_proba": [0.5, 0, 1.1]}, r"y_proba must lie in \[0, 1\]"),
    ],
)
def test_bad_arguments(arguments, message):
    rows = {"y_true": [0, 0, 1], "y_proba": [0.1, 0.2, 0.3], "groups": ["a", "a", "b"]}
    with pytest.raises(ValueError, match=message):
        audit_grades(**(rows | arguments), labels=[0, 1])


def test_jeffreys_test_keeps_no_level():
    """A right grade that expects .17 events is rejected by the first one, as documented."""
    n, numbers = 200, np.arange(16)
    y = (np.arange(n) < numbers[:, None]).ravel().astype(int)
    table = audit_grades(y, np.full(len(y), 0.17 / n), np.repeat(numbers, n), labels=[0, 1]).table
    chances = binom.pmf(table["n_events"], n, 0.17 / n)
    found = chances @ (table["jeffreys"] <= 0.05)
    assert found == pytest.approx(1 - np.exp(-0.17), abs=2e-3)
