"""Audits of groups: closed forms, enumeration, forms of groups, and what may not be."""

from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import coo_array, csr_array
from scipy.special import logit
from scipy.stats import binom, chi2, norm

from skcal._input import _groups
from skcal._numerics.inference._brownian import exceed_range
from skcal._numerics.inference._monte_carlo import adjust_by_holm, step_down
from skcal._numerics.inference._poisson_binomial import find_law, find_laws
from skcal.inference import (
    audit_groups,
    audit_groups_from_summary,
    cumulative_calibration_test,
    make_groups,
)
from skcal.metrics import multicalibration_error
from skcal.streaming import GroupedSummary
from tests.answers import list_numbers
from tests.inference.samples import FEW, STATISTICS, draw_binary, draw_classes, every_statistic


def assert_same(one, other):
    assert one.names == other.names
    for first, second in zip(list_numbers(one), list_numbers(other), strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-9, atol=1e-12)


def assert_alike(one, other):
    """The same but for the draws, whose order depends on how groups were given."""
    columns = ["group", "n_samples", "difference", "low", "high", "statistic"]
    tables = (audit.to_frame()[columns].sort_values("group") for audit in (one, other))
    pd.testing.assert_frame_equal(*(table.reset_index(drop=True) for table in tables))


def find_statistic(statistic, y, v, weights):
    """Statistic and asymptotic p-value of the rows of one group, by their definitions."""
    residual, variance = weights * (y - v), weights**2 * v * (1 - v)
    if statistic == "mean":
        value = residual.sum() / np.sqrt(variance.sum())
        return value, 2 * norm.sf(abs(value))
    if statistic == "kuiper":
        running = np.append(
            0, np.cumsum(np.bincount(np.unique(v, return_inverse=True)[1], residual))
        )
        value = np.ptp(running) / np.sqrt(variance.sum())
        return value, exceed_range(value)
    terms = np.column_stack([np.ones(len(v)), logit(v)])
    if np.ptp(v) == 0:
        terms = terms[:, :1]
    score = terms.T @ residual
    value = score @ np.linalg.solve(terms.T * variance @ terms, score)
    return value, chi2.sf(value, terms.shape[1])


@every_statistic
@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_of_overlapping_groups(rng, statistic, weighted):
    y, v = draw_binary(rng, 60)
    weights = rng.exponential(size=60) if weighted else np.ones(60)
    inside = rng.random((60, 5)) < 0.6
    inside[:, 4] = v == v[7]  # one prediction alone
    audit = audit_groups(y, v, inside, sample_weight=weights, statistic=statistic, **FEW)
    for group, value in zip(audit.names, audit.statistics, strict=True):
        rows = inside[:, group]
        expected = find_statistic(statistic, y[rows], v[rows], weights[rows])[0]
        assert value == pytest.approx(expected, rel=1e-9)


def test_columns_that_make_no_group_are_named(rng):
    """Dates and durations are put into bins; texts of which none is frequent are named."""
    days = pd.Series(pd.date_range("2024-01-01", periods=400))
    table = {"day": days, "stay": days - days[0], "postcode": [f"{k:05}" for k in range(400)]}
    few = {"ward": ["a", "b"] * 200, "few": np.arange(400)}
    with pytest.warns(
        UserWarning, match=r"No group uses \['postcode'\], because none of their values has min"
    ):
        groups = make_groups(table, max_depth=1, n_bins=2)
    assert groups.names == [
        "all rows",
        "day in [2024-01-01, 2024-07-19)",
        "day in [2024-07-19, 2025-02-03]",
    ]  # those of the stay hold the same rows
    with pytest.warns(
        UserWarning, match=r"\['few'\], because none of their values has min_samples=150"
    ):
        audit = audit_groups(*draw_binary(rng, 400), few, min_samples=150, **FEW)
    assert set(audit.names) == {"all rows", "ward = a", "ward = b"}


def test_one_group_of_all_rows_is_the_test_of_kuiper(rng):
    y, v = draw_binary(rng, 300, digits=1)  # eleven predictions
    known = cumulative_calibration_test(y, v)
    assert audit_groups(y, v, [0] * 300, statistic="kuiper", **FEW).statistics == pytest.approx(
        known.statistic
    )
    y, v = draw_binary(rng, 30_000)
    known = cumulative_calibration_test(y, v)
    (found,) = audit_groups(y, v, [0] * 30_000, statistic="kuiper", **FEW).statistics
    assert known.statistic - 0.5 < found <= known.statistic  # cells miss some extremes


@every_statistic
@pytest.mark.parametrize("weighted", [False, True])
def test_pvalues_tend_to_those_of_all_outcomes(rng, statistic, weighted):
    """All 2^8 outcomes of eight rows, with their probabilities."""
    v = np.array([0.1, 0.25, 0.25, 0.4, 0.6, 0.7, 0.7, 0.9])
    weights = rng.exponential(size=8) if weighted else np.ones(8)
    inside = np.array([[1] * 8, [1, 1, 1, 1, 0, 0, 0, 0], [0, 1, 0, 1, 1, 1, 0, 1]]).T
    outcomes = np.array(list(product([0, 1], repeat=8)))
    chances = np.prod(np.where(outcomes, v, 1 - v), axis=1)
    logs = np.log(
        [
            [find_statistic(statistic, y[g], v[g], weights[g])[1] for g in inside.T.astype(bool)]
            for y in outcomes
        ]
    )
    number = 2**7 + 2**5 + 3
    observed = logs[number]
    audit = audit_groups(
        outcomes[number], v, inside, sample_weight=weights, statistic=statistic,
        n_resamples=20_000, random_state=0,
    )  # fmt: skip
    alone = [chances[logs[:, g] <= observed[g] + 1e-9].sum() for g in audit.names]
    np.testing.assert_allclose(audit.pvalues, alone, atol=0.015)
    adjusted, left = [], list(np.argsort(observed))
    while left:
        hit = logs[:, left].min(axis=1) <= observed[left[0]] + 1e-9
        adjusted.append(max(*adjusted, chances[hit].sum(), 0.0))
        left = left[1:]
    np.testing.assert_allclose(audit.adjusted_pvalues, adjusted, atol=0.015)
    assert audit.pvalue == audit.adjusted_pvalues[0]


def test_step_down_and_holm(rng):
    """By their definitions, over draws that tie."""
    observed, drawn = rng.integers(-5, 0, 6) * 1.0, rng.integers(-5, 0, (6, 200)) * 1.0
    order = np.argsort(observed, kind="stable")
    expected, largest = np.empty(6), 0.0
    for rank, group in enumerate(order):
        count = (drawn[order[rank:]].min(axis=0) <= observed[group]).sum()
        largest = max(largest, (1 + count) / 201)
        expected[group] = largest
    np.testing.assert_allclose(step_down(observed, drawn), expected)
    # Holm (1979): .01 * 4, .02 * 3, .03 * 2 below the one before, .9.
    np.testing.assert_allclose(
        adjust_by_holm(np.array([0.03, 0.01, 0.9, 0.02])), [0.06, 0.04, 0.9, 0.06]
    )
    assert adjust_by_holm(np.array([0.6, 0.9])).tolist() == [1, 1]


def test_laws_of_several_sums(rng):
    trials = rng.random((5, 256)) ** 4
    trials[0] = 0.0
    first, laws = find_laws(trials)
    for k in range(5):
        start, law = find_law(trials[k])
        padded = np.zeros(257 + laws.shape[1])
        padded[first[k] : first[k] + laws.shape[1]] = laws[k]
        np.testing.assert_allclose(padded[start : start + len(law)], law, rtol=1e-9, atol=1e-13)
    assert laws.sum(axis=1) == pytest.approx(1)


def test_published_law_of_the_range():
    """Of Brownian motion on [0, 1], at its mean, 2 sqrt(2 / pi), and usual levels (Feller 1951)."""
    np.testing.assert_allclose(
        exceed_range(np.array([2 * np.sqrt(2 / np.pi)])), 0.4308603, atol=1e-7
    )
    critical = np.array([2.241175, 2.497672, 3.023341])
    np.testing.assert_allclose(exceed_range(critical), [0.1, 0.05, 0.01], rtol=1e-4)


@every_statistic
def test_forms_of_groups(rng, statistic):
    y, v = draw_binary(rng, 200)
    labels = rng.choice(["a", "b", "c"], size=200)
    expected = audit_groups(y, v, labels, statistic=statistic, **FEW)
    assert expected.names[0] in ("a", "b", "c")
    inside = labels[:, None] == np.array(["a", "b", "c"])
    forms = [inside, inside.tolist(), inside.astype(int), csr_array(inside), coo_array(inside)]
    for form in forms:
        found = audit_groups(y, v, form, statistic=statistic, **FEW)
        assert_alike(found._replace(names=["abc"[k] for k in found.names]), expected)
    groups = make_groups({"x": labels}, min_samples=1)
    np.testing.assert_array_equal(groups.to_matrix().toarray()[:, 1:], inside)
    expected = audit_groups(y, v, groups, statistic=statistic, **FEW)
    assert sorted(expected.names) == ["all rows", "x = a", "x = b", "x = c"]
    for table in ({"x": labels}, pd.DataFrame({"x": labels}), pl.DataFrame({"x": labels})):
        assert_alike(audit_groups(y, v, table, statistic=statistic, min_samples=1, **FEW), expected)


TABLE = {
    "age": [30, 41, None, 52, 30, 41, 52, 75],
    "sex": ["F", "M", "F", None, "F", "M", "M", "F"],
    "old": [False, False, False, True, False, False, True, True],
}


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame(TABLE),
        pd.DataFrame(TABLE, index=list("hgfedcba")),
        pd.DataFrame(TABLE).astype({"age": "Int64", "sex": "category"}),
        pl.DataFrame(TABLE),
        pa.table(TABLE),
        {name: np.array(column) for name, column in TABLE.items()},
    ],
    ids=["pandas", "index", "categories", "polars", "arrow", "dict"],
)
def test_groups_of_a_table(table):
    """Values in order, bins that equal values share, missing values; intersections that differ."""
    groups = make_groups(table, min_samples=2, n_bins=2, max_depth=2)
    expected = {
        "all rows": [0, 1, 2, 3, 4, 5, 6, 7],
        "age in [30, 41)": [0, 4],
        "age in [41, 75]": [1, 3, 5, 6, 7],
        "sex = F": [0, 2, 4, 7],
        "sex = M": [1, 5, 6],
        "old = False": [0, 1, 2, 4, 5],
        "old = True": [3, 6, 7],
        "age in [41, 75] and old = False": [1, 5],
        "sex = F and old = False": [0, 2, 4],
    }
    inside = groups.to_matrix().toarray()
    found = {name: np.flatnonzero(inside[:, k]) for k, name in enumerate(groups.names)}
    assert list(found) == list(expected)
    for name, rows in expected.items():
        np.testing.assert_array_equal(found[name], rows)
    np.testing.assert_array_equal(groups.n_samples, [len(rows) for rows in expected.values()])
    assert "age is missing" in make_groups(table, min_samples=1).names


def test_groups_of_many_columns(rng, monkeypatch):
    """Patterns are numbered again before their numbers overflow."""
    table = pd.DataFrame({f"x{k}": rng.integers(0, 3, 500) for k in range(5)})
    options = {"max_depth": 3, "min_samples": 12}
    expected = make_groups(table, **options)
    assert any(name.count(" and ") == 2 for name in expected.names)
    for name, size in zip(expected.names[1:], expected.n_samples[1:], strict=True):
        assert len(table.query(name.replace(" = ", " == "))) == size >= 12
    monkeypatch.setattr(_groups, "_LARGEST", 30)
    again = make_groups(table, **options)
    assert again.names == expected.names
    np.testing.assert_array_equal(again.to_matrix().toarray(), expected.to_matrix().toarray())
    # The order of rows, and of columns, does not matter.
    order = rng.permutation(500)
    moved = make_groups(table.iloc[order, ::-1], **options)
    np.testing.assert_array_equal(np.sort(moved.n_samples), np.sort(expected.n_samples))


def test_names_of_values():
    """In an order that does not depend on the rows, also where values are of several types."""
    column = pd.Series(["b", 3, None, True, "a", 2.5], dtype=object)
    names = ["all rows", *(f"x = {value}" for value in (2.5, 3, True, "a", "b")), "x is missing"]
    for rows in (column, column[::-1]):
        assert make_groups({"x": rows}, min_samples=1).names == names
    clash = make_groups({"x": pd.Series([1, "1"], dtype=object)}, min_samples=1)
    assert clash.names[1:] == ["x = '1'", "x = 1"]


@pytest.mark.parametrize(
    ("column", "n_bins", "names"),
    [
        (1 + 1e-9 * np.arange(40), 2, ["in [1, 1.00000002)", "in [1.00000002, 1.00000004]"]),
        ([94107, 10115], 4, ["= 10115", "= 94107"]),
        ([0.3, 0.1 + 0.2], 4, ["= 0.3", "= 0.30000000000000004"]),
        (np.arange(10_000, 90_000, 100), 2, ["in [10000, 50000)", "in [50000, 89900]"]),
        ([2**53, 2**53 + 1], 4, ["= 9007199254740992", "= 9007199254740993"]),
        (np.array([2**64 - 1, 1], dtype=np.uint64), 4, ["= 1", "= 18446744073709551615"]),
        ([0.0, -0.0, -1.0], 4, ["= -1", "= 0"]),
        ([0.0, -0.0, -1.0, 2.0, -0.0, 0.0], 2, ["in [-1, 0)", "in [0, 2]"]),
        ([1e-9, 1e30, np.inf], 4, ["= 1e-09", "= 1e+30", "= inf"]),
        ([0] * 90 + [1, 2, 3], 3, ["in [0, 1)", "in [1, 3]"]),
        (np.arange(1, 8) / 7, 1, []),
        (
            2**60 + np.arange(8),
            2,
            [
                "in [1152921504606846976, 1152921504606846980)",
                "in [1152921504606846980, 1152921504606846983]",
            ],
        ),
        (["a", np.nan, "nan"], 4, ["= a", "= nan", "is missing"]),
        ([("a", 1), ("b", 2)], 4, ["= ('a', 1)", "= ('b', 2)"]),
        ([1.5, 12345.678, 123456.0, 7e5], 2, ["in [1.5, 123500)", "in [123500, 700000]"]),
        (np.ma.array([1, 2, 999], mask=[0, 0, 1]), 4, ["= 1", "= 2", "is missing"]),
    ],
)
def test_names_of_levels(column, n_bins, names):
    """They look different, are exact for values, and do not depend on the order of the rows."""
    for rows in (column, column[::-1]):
        groups = make_groups({"x": rows}, n_bins=n_bins, min_samples=1)
        assert groups.names == ["all rows", *(f"x {name}" for name in names)]


def test_order_of_rows_and_of_groups_does_not_matter(rng):
    y, v = draw_binary(rng, 300)
    inside, weights = rng.random((300, 4)) < 0.5, rng.integers(1, 4, 300) / 3
    order, columns = rng.permutation(300), np.array([2, 0, 3, 1])
    for options in (FEW, FEW | {"sample_weight": weights}):
        expected = audit_groups(y, v, inside, **options)
        if "sample_weight" in options:
            options = options | {"sample_weight": weights[order]}
        found = audit_groups(y[order], v[order], inside[order], **options)
        assert_same(found, expected)
        # Other columns are other draws: within 4 standard errors of a difference.
        options = options | {"n_resamples": 2000}
        first = audit_groups(y[order], v[order], inside[order], **options)
        second = audit_groups(y[order], v[order], inside[order][:, columns], **options)
        assert first.pvalue == pytest.approx(second.pvalue, abs=4 * np.sqrt(0.5 / 2000))
        np.testing.assert_allclose(np.sort(first.statistics), np.sort(second.statistics))


def test_rows_without_weight_are_absent(rng):
    y, v = draw_binary(rng, 200)
    weights = np.where(np.arange(200) < 150, 1.0, 0.0)
    table = pd.DataFrame({"x": rng.normal(size=200), "late": np.arange(200) >= 150})
    options = {"min_samples": 20, **FEW}
    found = audit_groups(y, v, table, sample_weight=weights, **options)
    assert_same(found, audit_groups(y[:150], v[:150], table[:150], **options))
    found = audit_groups(y, v, np.arange(200) // 50, sample_weight=weights, **FEW)
    assert sorted(found.names) == [0, 1, 2]


def test_weights_that_are_equal_change_nothing(rng):
    y, v = draw_binary(rng, 5000)
    groups = np.arange(5000) % 3
    expected = audit_groups(y, v, groups, **FEW)
    assert_same(audit_groups(y, v, groups, sample_weight=np.full(5000, 7.0), **FEW), expected)
    # A row has one outcome, whatever its weight: half of the weights are as good as absent.
    weights = np.where(np.arange(5000) % 2, 1.0, 1e-200)
    found = audit_groups(y, v, groups, sample_weight=weights, statistic="mean", **FEW)
    kept = audit_groups(y[1::2], v[1::2], groups[1::2], statistic="mean", **FEW)
    np.testing.assert_allclose(found.statistics, kept.statistics)


def test_impossible_outcomes(rng):
    y, v = draw_binary(rng, 100)
    groups = np.arange(100) < 40
    audit = audit_groups(y, v, groups, **FEW)
    assert audit.pvalue > 1 / 40
    v[[0, 70]] = 1 - y[0], y[70]
    audit = audit_groups(y, v, groups, **FEW)
    assert audit.names[0] is True
    assert (audit.pvalue, audit.statistics[0]) == (1 / 40, np.inf)
    assert audit.adjusted_pvalues[1] > 1 / 40
    certain = np.array([0.0, 1.0, 1.0])
    for statistic in STATISTICS:
        for y, pvalue in (([0, 1, 1], 1.0), ([0, 1, 0], 1 / 40)):
            audit = audit_groups(y, certain, [[1, 0], [1, 1], [0, 1]], statistic=statistic, **FEW)
            assert audit.pvalue == pvalue


@pytest.mark.parametrize("of_rows", [True, False])
@pytest.mark.parametrize(("alternative", "sign"), [("greater", 1), ("less", -1)])
def test_impossible_outcomes_of_one_sign(of_rows, alternative, sign):
    """Those for the alternative decide; those against it are residuals of 1 like all others."""
    v = np.concatenate([np.full(90, 0.5), [0.0, 1.0, 0.0, 1.0]])
    y = np.concatenate([np.arange(90) % 2, [1, 0, 1, 0]])
    group = np.append(np.repeat(["one", "zero", "both"], 30), ["one", "zero", "both", "both"])
    options = {"statistic": "mean", "alternative": alternative, "n_resamples": 39}
    if of_rows:
        audit = audit_groups(y, v, group, random_state=0, **options)
    else:
        summary = GroupedSummary(n_cells=64).update(y, v, by=group)
        options |= {"key_names": ["site"], "min_samples": 1, "random_state": 0}
        audit = audit_groups_from_summary(summary, **options)
    table = audit.to_frame().set_index("group").rename(index=lambda name: name.split(" = ")[-1])
    named, other = ("one", "zero") if sign == 1 else ("zero", "one")
    assert table["statistic"][[named, "both"]].tolist() == [sign * np.inf, sign * np.inf]
    assert table["statistic"][other] == pytest.approx(-sign / np.sqrt(30 / 4))
    assert table["pvalue"][[named, "both"]].tolist() == [1 / 40, 1 / 40]
    assert table["pvalue"][other] > 0.3


def test_an_impossible_outcome_hides_no_others(rng):
    """One outcome 0 that was predicted as 1 does not outweigh hundreds of outcomes 1 too many."""
    y, v = np.append(rng.random(1000) < 0.3, False), np.append(np.full(1000, 0.1), 1.0)
    options = {"statistic": "mean", "alternative": "greater", **FEW}
    audit = audit_groups(y, v, np.zeros(1001), **options)
    almost = audit_groups(y, np.append(v[:-1], 1 - 1e-12), np.zeros(1001), **options)
    assert audit.pvalue == almost.pvalue == 1 / 40
    assert audit.low[0] > 0
    assert audit.statistics[0] == pytest.approx(almost.statistics[0], rel=1e-6)


@every_statistic
def test_predictions_next_to_one(rng, statistic):
    """Recalibrators end there; a weighted mean of such predictions may round to 1."""
    v = np.append(np.full(300, 1 - 2.0**-53), rng.random(300))
    y, groups = rng.random(600) < v, np.arange(600) // 20
    for seed in range(5):
        weights = np.random.default_rng(seed).uniform(0.2, 1, 600)
        options = {"sample_weight": weights, "statistic": statistic, **FEW}
        audit = audit_groups(y, v, groups, **options)
        assert np.isfinite(audit.statistics).all()
        assert audit.pvalue > 1 / 40


def test_table_of_the_audit(rng, capsys):
    y, v = draw_binary(rng, 2000, slope=0.4)
    good = rng.random(2000) < v
    region = rng.choice(["east", "north", "south"], 2000)
    y = np.where(region == "north", y, good)
    audit = audit_groups(y, v, region, random_state=0, n_resamples=99, n_jobs=2)
    assert_same(audit, audit_groups(y, v, region, random_state=0, n_resamples=99))
    assert (audit.find(), audit.pvalue) == (["north"], 0.01)
    table = audit.to_frame()
    assert table["group"].tolist() == audit.names
    assert (table["adjusted_pvalue"].diff().dropna() >= 0).all()
    gap = table["mean_outcome"] - table["mean_prediction"]
    np.testing.assert_array_equal(table["difference"], gap)
    audit.print(n_groups=2)
    *lines, columns, first, second = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    head, rows = " ".join(lines), [first, second]
    assert head == str(audit)
    given, seen = audit.mean_prediction[0], audit.mean_outcome[0]
    assert head == (
        "Wrong in 1 of 3 groups (p <= 0.01), most clearly in north: "
        f"{100 * given:.1f} % are predicted on average, where {100 * seen:.1f} % come true; the "
        "means may be equal, but single predictions are wrong."
    )
    assert "adjusted_pvalue" in columns
    assert [row.split()[0] for row in rows] == audit.names[:2]
    assert rows[0].endswith("<= 0.01")
    assert float(rows[1].split()[-1]) == pytest.approx(audit.adjusted_pvalues[1], rel=0.05)
    for alpha in (-1, 1, "x"):
        with pytest.raises(ValueError, match="alpha must be"):
            audit.find(alpha)


def test_several_classes(rng):
    """The confidence, and whether its label came true."""
    y, proba = draw_classes(rng, 300, 4)
    groups = rng.random((300, 2)) < 0.5
    right = proba.argmax(axis=1) == y
    assert_same(
        audit_groups(y, proba, groups, **FEW),
        audit_groups(right, proba.max(axis=1), groups, **FEW),
    )


V = np.linspace(0.1, 0.9, 120)
Y = np.arange(120) % 2
TWO = {"x": np.arange(120)}
ONE_SIDED = {"statistic": "mean", "alternative": "less"}


@pytest.mark.parametrize(
    ("groups", "options", "message"),
    [
        (np.ones((119, 2), bool), {}, "groups must have one entry for each of the 120 rows; got 1"),
        ([1, 2], {}, "groups must have one entry for each of the 120 rows; got 2"),
        ({"x": [1, 2]}, {}, "groups must have one entry for each of the 120 rows; got 2"),
        ({"x": [1, 2], "y": [1]}, {}, r"groups must have columns of one length; got \[1, 2\]"),
        ({"x": np.eye(120)}, {}, "groups must have columns of one dimension; got 2 of 'x'"),
        ({}, {}, "groups must have a column at least"),
        (pd.DataFrame(np.eye(120)[:, :2], columns=["a", "a"]), {}, "one column of each name"),
        (np.eye(120)[:, :0], {}, "groups must have a column for each group, with rows; got no gro"),
        (np.eye(120)[:, :2] * [1, 0], {}, "with rows; got no rows in column 1"),
        (np.eye(120) / 2, {}, "groups must be a table, a label .* of type float64 with other val"),
        (np.full((120, 1), np.nan), {}, "groups must be a table, a label for each row, or a matr"),
        (["a", None] * 60, {}, "groups must hold numbers, booleans or strings"),
        (TWO, {"min_samples": 121}, "min_samples must be at most the number of rows; got 121"),
        (TWO, {"max_groups": 4, "min_samples": 1}, "max_groups must be at least the number of gr"),
        (TWO, {"max_depth": 0}, "max_depth must be at least 1"),
        (TWO, {"adjust": "bonferroni"}, "adjust must be one of"),
        (TWO, {"statistic": "ece"}, "statistic must be one of"),
        (TWO, {"alternative": "larger"}, "alternative must be one of"),
        (TWO, {"alternative": "less"}, "alternative must be 'two-sided' for statistic='slope'"),
        (TWO, ONE_SIDED | {"confidence_level": 0.5}, "confidence_level must be above 0.5 for"),
        ([[1, 2], [3]], {}, "groups must be a table, a label for each row, or a matrix of bool"),
        (np.ma.array(np.eye(120), mask=np.eye(120)), {}, "groups must not be masked"),
        ({"x": pd.Series([[1]] * 120)}, {}, "Column 'x' must hold values to group by; unhashable"),
        ({1: V, "1": V}, {}, "groups must have one column of each name"),
        (np.eye(120), {"adjust": "holm"}, "n_resamples must be at least 2399 for adjust='holm'"),
    ],
)  # fmt: skip
def test_what_groups_may_not_be(groups, options, message):
    with pytest.raises(ValueError, match=message):
        audit_groups(Y, V, groups, **options)


def test_sparse_matrices_may_hold_zeros_and_twins():
    inside = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    zeros = csr_array(np.ones((4, 2)))
    zeros.data[:] = inside.ravel()
    twins = coo_array((np.ones(6, bool), ([0, 0, 2, 1, 3, 3], [0, 0, 0, 1, 1, 1])), shape=(4, 2))
    rows = [0, 1, 0, 1], [0.1, 0.8, 0.3, 0.7]
    for call in (multicalibration_error, partial(audit_groups, **FEW)):
        expected = list_numbers(call(*rows, inside))
        for matrix in (zeros, twins):
            for one, other in zip(list_numbers(call(*rows, matrix)), expected, strict=True):
                np.testing.assert_array_equal(one, other)


def test_tables_of_no_known_kind():
    for table in ([1, 2], np.eye(3), None):
        with pytest.raises(TypeError, match="table must be a data frame with names of columns"):
            make_groups(table)
    with pytest.raises(TypeError, match=r"Use groups.collect\(\)"):
        audit_groups(Y, V, pl.LazyFrame(TWO))


# ------------------------------------------------------------------- frequencies of false alarms


def draw_groups(rng, n, kind):
    """Predictions, weights and overlapping groups."""
    v = {"plain": rng.random(n), "ties": rng.integers(1, 10, n) / 10, "rare": rng.beta(0.5, 20, n)}
    v = v.get(kind, rng.beta(0.5, 0.5, n))
    weights = rng.exponential(size=n) if kind == "weights" else None
    n_groups = int(rng.choice([10, 60, 300]))
    return v, weights, rng.random((n, n_groups)) < rng.uniform(0.1, 0.9, n_groups)


@pytest.mark.slow
@every_statistic
@pytest.mark.parametrize("kind", ["plain", "ties", "rare", "weights"])
@pytest.mark.parametrize(("n", "n_times"), [(200, 400), (2000, 100)])
def test_level(statistic, kind, n, n_times):
    rng = np.random.default_rng(0)
    false = np.zeros(3)
    for _ in range(n_times):
        v, weights, inside = draw_groups(rng, n, kind)
        y = rng.random(n) < v
        options = {"sample_weight": weights, "statistic": statistic, "random_state": rng}
        audit = audit_groups(y, v, inside, n_resamples=99, pos_label=True, **options)
        false += audit.pvalue <= np.array([0.05, 0.2, 0.5])
    assert (false <= binom.ppf(0.9995, n_times, [0.05, 0.2, 0.5])).all()


@pytest.mark.slow
@pytest.mark.parametrize("adjust", ["min-p", "holm"])
def test_right_groups_are_named_once_in_twenty_times(adjust):
    """Where others are wrong, whose rows none of them shares."""
    rng, false, found = np.random.default_rng(1), 0, 0
    for _ in range(300):
        region = rng.integers(5, size=1000)
        table = {"region": region, "age": rng.normal(size=1000)}
        v = rng.uniform(0.2, 0.8, 1000)
        y = rng.random(1000) < v + 0.18 * (region == 3)
        inside = make_groups(table, n_bins=5, min_samples=30).to_matrix().toarray()
        right = ~inside[region == 3].any(axis=0)
        inside = inside[:, right | (inside[region != 3].sum(axis=0) == 0)]
        right = ~inside[region == 3].any(axis=0)
        audit = audit_groups(y, v, inside, adjust=adjust, n_resamples=999, random_state=rng)
        named = audit.find()
        false += right[named].any()
        found += (~right)[named].any()
    assert false <= binom.ppf(0.9995, 300, 0.05)
    assert found > 200
