"""Rating grades: published examples, closed forms, and sizes by enumeration."""

import itertools

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


SIZES, SIDES = [2, 3, 1, 2], ("greater", "less")


def list_choices(outcomes):
    """Numbers of events of all choices of one row of each cluster of these sizes."""
    rows = np.split(np.asarray(outcomes), np.cumsum(SIZES)[:-1])
    return [sum(choice) for choice in itertools.product(*rows)]


@pytest.mark.parametrize("outcomes", [[1, 0, 0, 1, 1, 1, 0, 0], [0, 1, 0, 0, 0, 0, 1, 1]])
def test_clusters_by_all_choices(outcomes):
    """Twice the mean p-value of the rows that may be chosen, one of each cluster."""
    member, numbers = np.repeat(np.arange(4), SIZES), list_choices(outcomes)
    found = audit_grades(
        outcomes, np.full(8, 0.2), ["A"] * 8, clusters=member, confidence_level=0.9
    )
    (row,) = found.table.itertuples()
    assert (row.n_samples, row.n_events) == (8, sum(outcomes))
    tails = [[binomtest(k, 4, 0.2, alternative=side).pvalue for k in numbers] for side in SIDES]
    greater, less = np.array(tails)
    assert row.binomial == pytest.approx(min(1, 2 * np.mean(greater)))
    both = np.minimum(1, 2 * np.minimum(greater, less))
    assert row.binomial_two_sided == pytest.approx(min(1, 2 * np.mean(both)))
    share = beta.cdf(0.2, np.array(numbers) + 0.5, 4 - np.array(numbers) + 0.5)
    assert row.jeffreys == pytest.approx(min(1, 2 * np.mean(share)))
    assert 2 * np.mean(binom.cdf(numbers, 4, row.most_prudent)) == pytest.approx(0.1)
    assert found.hosmer_lemeshow is None
    assert found.spiegelhalter is None


@pytest.mark.parametrize("rate", [0.1, 0.4])
@pytest.mark.parametrize("together", [0.0, 0.5, 0.9])
def test_sizes_with_clusters_by_enumeration(rate, together):
    """Rows of four pairs and two single ones; those of a pair are alike with some probability."""
    member = [0, 0, 1, 1, 2, 2, 3, 3, 4, 5]
    pair = {
        (a, b): together * (a == b) * own[a] + (1 - together) * own[a] * own[b]
        for own in [(1 - rate, rate)]
        for a, b in itertools.product((0, 1), repeat=2)
    }
    seen, found = {}, []
    for pairs in itertools.product(pair, repeat=4):
        for single in itertools.product((0, 1), repeat=2):
            chance = np.prod([pair[one] for one in pairs])
            chance *= np.prod([rate if one else 1 - rate for one in single])
            # The order of clusters does not matter, nor that of rows.
            key = tuple(sorted(map(sum, pairs))), sum(single)
            if key not in seen:
                y = [*itertools.chain(*pairs), *single]
                options = {"labels": [0, 1], "clusters": member}
                table = audit_grades(y, [rate] * 10, ["A"] * 10, **options).table
                seen[key] = table["binomial"][0], table["binomial_two_sided"][0]
            found.append((chance, *seen[key]))
    chances, *pvalues = np.transpose(found)
    assert chances.sum() == pytest.approx(1)
    for one in pvalues:
        for level in (0.01, 0.05, 0.2, 0.5):
            assert chances[one <= level].sum() <= level + 1e-12


def test_spiegelhalter_needs_ten_clusters_unless_they_are_single_rows():
    """Tests of grades are exact with few clusters, so that no warning is due."""
    y, p, grade = make_rows([20, 20], [3, 8], [0.1, 0.3])
    member = np.arange(40) // 4
    found = audit_grades(y, p, grade, clusters=member).spiegelhalter
    assert found == spiegelhalter_test(y, p, clusters=member)
    assert audit_grades(y, p, grade, clusters=member % 9).spiegelhalter is None
    rows = y[15:24], p[15:24], grade[15:24]
    assert audit_grades(*rows, clusters=np.arange(9)).spiegelhalter == spiegelhalter_test(*rows[:2])


def test_clusters_of_single_rows_and_of_copies():
    y, p, grade = make_rows(ROWS, EVENTS, RATES)
    plain = audit_grades(y, p, grade)
    single = audit_grades(y, p, grade, clusters=np.arange(600))
    pd.testing.assert_frame_equal(single.table, plain.table)
    assert single.hosmer_lemeshow == plain.hosmer_lemeshow
    twice = [np.repeat(values, 2) for values in (y, p, grade, np.arange(600))]
    copies = audit_grades(*twice[:3], clusters=twice[3])
    tested = plain.table.columns[5:]
    pd.testing.assert_frame_equal(copies.table[tested], plain.table[tested])
    assert copies.table["n_samples"].tolist() == [600, 400, 200]


def test_clusters_across_grades_are_chosen_in_each():
    """A borrower of two grades has a row in both."""
    y, p, grade = make_rows([40, 40], [1, 5], [0.02, 0.1])
    both = audit_grades(y, p, grade, clusters=np.tile(np.arange(40), 2))
    plain = audit_grades(y, p, grade)
    for name in ("binomial", "jeffreys_two_sided"):
        np.testing.assert_allclose(both.table[name], plain.table[name])
    # Of both grades together one row of each borrower is chosen.
    assert both.table["most_prudent"][0] > plain.table["most_prudent"][0]
    assert both.table["most_prudent"][1] == pytest.approx(plain.table["most_prudent"][1])


def test_weights():
    """Those of outcomes 1 and 0 make n = sum w / ((1 - v) w_1 + v w_0) rows, of any scale."""
    y, p, grade = make_rows([60, 40], [3, 8], [0.05, 0.1])
    w = np.where(y == 1, 0.5, 2.0)
    table = audit_grades(y, p, grade, sample_weight=w).table
    for row, n, k, v in zip(table.itertuples(), (60, 40), (3, 8), (0.05, 0.1), strict=True):
        mass = 0.5 * k + 2 * (n - k)
        assert row.mean_outcome == pytest.approx(0.5 * k / mass)
        assert (row.n_samples, row.n_events) == (n, k)
        rows = mass / ((1 - v) * 0.5 + v * 2)
        events = rows * row.mean_outcome
        assert row.binomial == pytest.approx(beta.cdf(v, events, rows - events + 1))
        assert row.jeffreys == pytest.approx(beta.cdf(v, events + 0.5, rows - events + 0.5))
    scaled = audit_grades(y, p, grade, sample_weight=1e30 * w)
    np.testing.assert_allclose(scaled.table["binomial"], table["binomial"])
    equal, plain = audit_grades(y, p, grade, sample_weight=3 + 0 * w), audit_grades(y, p, grade)
    np.testing.assert_allclose(equal.table["binomial"], plain.table["binomial"])
    assert equal.hosmer_lemeshow[:3] == pytest.approx(plain.hosmer_lemeshow[:3])
    expected = hosmer_lemeshow_test(y, p, groups=grade, alternative="greater", sample_weight=w)
    found = audit_grades(y, p, grade, sample_weight=w).hosmer_lemeshow
    assert found[:3] == pytest.approx(expected[:3])
    only = audit_grades(y, p, grade, sample_weight=1.0 * (grade == "B"))
    assert only.table["grade"].tolist() == ["B"]
    np.testing.assert_allclose(only.table["binomial"], plain.table["binomial"][1:])


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
        (
            {"clusters": [1, 1, 2], "sample_weight": [1, 2, 1]},
            "sample_weight must be None, or the same for all rows, with clus",
        ),
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


def test_rates_of_a_grade_are_those_that_are_tested():
    """Large borrowers without a default do not hide that small ones default too often."""
    y = np.concatenate([np.arange(100) < 20, np.zeros(1000)]).astype(int)
    borrower = np.concatenate([np.arange(100), np.repeat(np.arange(100, 110), 100)])
    rows = y, np.full(1100, 0.05), np.full(1100, "A")
    (rate,) = audit_grades(*rows, clusters=borrower).table["mean_outcome"]
    assert rate == pytest.approx(20 / 110)
    weighted = audit_grades(*rows, clusters=borrower, sample_weight=np.full(1100, 3.0)).table
    pd.testing.assert_frame_equal(weighted, audit_grades(*rows, clusters=borrower).table)
