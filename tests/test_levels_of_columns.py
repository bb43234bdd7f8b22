"""Levels of columns that are learned from some rows and number others."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from skcal._input._levels import find_levels

NONE = None  # what stands for a row that is in no level


def number(learned, new=None, *, n_bins=3, min_samples=1, most=None):
    """Titles of the levels of rows, without the name of the column; None for no level."""
    learned = learned if isinstance(learned, pd.Series) else pd.Series(learned)
    levels, _ = find_levels("x", learned, n_bins, min_samples, most)
    new = learned if new is None else new
    found = levels.number(new if isinstance(new, pd.Series) else pd.Series(new))
    titles = [*(title.removeprefix("x ") for title in levels.titles), NONE]
    return [titles[code] for code in found]


MANY = [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("learned", "new", "expected"),
    [
        (["b", "a"], ["a", "z", None], ["= a", NONE, NONE]),
        (["b", None], [None, np.nan], ["is missing", "is missing"]),
        (MANY, [-9, 2.9, 3, 1e300, np.inf], ["in [1, 3)"] * 2 + ["in [3, 5)"] + ["in [5, 6]"] * 2),
        (MANY, pd.Series([3.0, 6.5], dtype=object), ["in [3, 5)", "in [5, 6]"]),
        (MANY, pd.Series([None, None], dtype=object), [NONE, NONE]),
        ([0.5, np.nan], pd.Series([None], dtype=object), ["is missing"]),
        ([None, None], [1.0, 2.0], [NONE, NONE]),
        ([True, False], [True, None], ["= True", NONE]),
        (
            pd.Series(["b", "a"], dtype=pd.CategoricalDtype(["b", "a"])),
            pd.Series(["a", "c", "b"], dtype=pd.CategoricalDtype(["c", "a", "b"])),
            ["= a", NONE, "= b"],
        ),
        (pd.Series(["b", "a"], dtype="category"), ["a", "c"], ["= a", NONE]),
        (["b", "a"], pd.Series(["a", "c"], dtype="category"), ["= a", NONE]),
        (
            [datetime.date(2020, 1, 2), datetime.date(2020, 1, 1)],
            [datetime.date(2020, 1, 1)],
            ["= 2020-01-01"],
        ),
        (["b", "a"], [], []),
        (
            [datetime.date(2020, 1, k) for k in range(1, 7)],
            [datetime.date(1900, 1, 1), datetime.date(2020, 1, 4), None],
            ["in [2020-01-01, 2020-01-03)", "in [2020-01-03, 2020-01-05)", NONE],
        ),
        (
            [datetime.timedelta(hours=12 * k) for k in range(6)],
            [datetime.timedelta(days=2)],
            ["in [2 days, 2 days 12:00:00]"],
        ),
        ([Decimal(k) for k in MANY], [Decimal("2.9"), Decimal(3)], ["in [1, 3)", "in [3, 5)"]),
        (pd.Series(MANY, dtype=object), [2.9], ["in [1, 3)"]),
    ],
)
def test_levels_of_new_rows(learned, new, expected):
    assert number(learned, new) == expected


DAYS = pd.Series(pd.date_range("2020-01-01", periods=6))
DATES = {
    "nanoseconds": DAYS.astype("datetime64[ns]"),
    "time zone": DAYS.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
    "periods": DAYS.dt.to_period("D"),
    "Arrow": DAYS.astype(pd.ArrowDtype(pa.timestamp("ms"))),
    "Arrow days": DAYS.dt.date.astype(pd.ArrowDtype(pa.date32())),
}


@pytest.mark.parametrize("kind", DATES)
def test_dates_of_all_kinds_are_alike(kind):
    titles = ["in [2020-01-01, 2020-01-03)"] * 2 + ["in [2020-01-03, 2020-01-05)"] * 2
    titles += ["in [2020-01-05, 2020-01-06]"] * 2
    assert number(DATES[kind]) == titles
    assert number(DAYS, DATES[kind]) == titles
    assert number(DATES[kind], DAYS) == titles


def test_times_of_day_are_shown_where_they_matter():
    hours = pd.Series(pd.date_range("2020-01-01", periods=6, freq="h"))
    assert number(hours)[0] == "in [2020-01-01T00:00, 2020-01-01T02:00)"


@pytest.mark.parametrize(
    ("learned", "kind"), [(MANY, "numbers"), (DAYS, "dates"), (DAYS - DAYS[0], "durations")]
)
def test_values_of_another_kind_are_refused(learned, kind):
    with pytest.raises(ValueError, match=f"'x' must hold {kind}, as it did in fit; got"):
        number(learned, ["a"])


def test_rare_levels_are_none():
    column = ["a"] * 3 + ["b"] * 2 + ["c"] + [None] * 2
    assert number(column, ["a", "b", "c", None], min_samples=2) == [
        "= a",
        "= b",
        NONE,
        "is missing",
    ]
    assert number(column, ["a", "b", "c", None], min_samples=3) == ["= a", NONE, NONE, NONE]


def test_the_most_frequent_levels_count():
    """Of equally frequent ones the first, in the order of values and with missing ones last."""
    column = ["c"] * 3 + ["b"] * 2 + ["a"] * 2 + [None] * 2
    for rows in (column, column[::-1]):
        assert number(rows, ["a", "b", "c", None], most=2) == ["= a", NONE, "= c", NONE]
    assert NONE not in number(column, most=4)


@pytest.mark.parametrize(
    ("learned", "new", "message"),
    [
        (MANY, ["1", "2"], "Column 'x' must hold numbers, as it did in fit; got (object|str)"),
        (MANY, [True], "Column 'x' must hold numbers, as it did in fit; got bool"),
        (["a", "b"], [["a"], ["b"]], "Column 'x' must hold values to group by; unhashable"),
    ],
)
def test_columns_that_have_become_others(learned, new, message):
    with pytest.raises(ValueError, match=message):
        number(learned, new)


def test_neighbouring_bins_are_merged():
    numbers = [*range(1, 21), None]
    levels, codes = find_levels("x", pd.Series(numbers), 10, 1)
    titles, union = levels.merge(4)
    assert titles == [
        "x in [1, 7)",
        "x in [7, 11)",
        "x in [11, 17)",
        "x in [17, 20]",
        "x is missing",
    ]
    for number, code in zip(numbers[:-1], codes, strict=False):
        low, high = titles[union[code]].removeprefix("x in [")[:-1].split(", ")
        assert int(low) <= number < int(high) + titles[union[code]].endswith("]")
    assert titles[union[codes[-1]]] == "x is missing"
    assert union[len(levels.titles)] == len(titles)


# The last bin has 19 rows; with missing values the one before it has 19, too.
LAST_IS_SMALL = [*np.repeat(np.arange(10), 28), 9, *range(20, 39)]
TWO_ARE_SMALL = [*np.repeat(np.arange(9), 28), *19 * [9], *range(20, 39), *20 * [None]]


@pytest.mark.parametrize(
    ("column", "n_bins", "min_samples"),
    [
        (list("abcdef"), 9, 1),
        ([1, 2, 3, 4, 5, 6], 9, 1),
        (range(40), 9, 5),
        ([None, None], 9, 1),
        (LAST_IS_SMALL, 16, 20),
        (TWO_ARE_SMALL, 16, 20),
    ],
)
def test_values_and_few_bins_are_not_merged(column, n_bins, min_samples):
    """Nor are bins of which some have too few rows to be levels."""
    levels, _ = find_levels("x", pd.Series(column), n_bins, min_samples)
    assert levels.merge(4) is None
