"""Rules of conditions on columns of all kinds, and how they are found, told, kept and read."""

import json
import pickle
from time import process_time

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

from skcal.inference import FeatureRule, audit_features

FEW = {"n_resamples": 99, "random_state": 0, "learner": DecisionTreeRegressor(max_depth=2)}


def list_columns():
    """Columns of all kinds, of 200 rows, some of them missing."""
    numbers = np.arange(200)
    missing = numbers % 10 == 3
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(numbers, "D")
    return {
        "numbers": np.where(missing, np.nan, numbers * 1.37),
        "large": numbers * 10**6,
        "few": numbers % 3,
        "dates": pd.Series(day).mask(missing),
        "durations": pd.Series(pd.to_timedelta(numbers, "h")).mask(missing),
        "texts": pd.Series(np.array(["x", "y", "z"])[numbers % 3], dtype=object).mask(
            missing, None
        ),
        "categories": pd.Categorical(np.array(["low", "high"])[numbers // 100]),
        "flags": numbers % 4 == 1,
    }


def test_rules_of_all_kinds_of_columns_survive_json_and_pickle():
    columns = list_columns()
    rng = np.random.default_rng(0)
    for name, column in columns.items():
        found = audit_features(rng.random(200) < 0.5, np.full(200, 0.5), {name: column}, **FEW)
        for rule in found.rules:
            again = FeatureRule(json.loads(json.dumps(rule.to_list())))
            assert again == rule == pickle.loads(pickle.dumps(rule))
            inside = rule({name: column})
            assert inside.dtype == bool
            np.testing.assert_array_equal(inside, again(pd.DataFrame({name: column})))
            assert 20 <= inside.sum() <= 180
            assert str(rule) in repr(rule)


def make_rule(column, operator, value, kind):
    condition = {"column": column, "operator": operator, "value": value, "kind": kind}
    return FeatureRule([condition])


NUMBERS = np.arange(200)
MISSING = NUMBERS % 10 == 3


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (("numbers", ">=", 137, "numbers"), (NUMBERS >= 100) & ~MISSING),
        (("numbers", "<", 137, "numbers"), (NUMBERS < 100) & ~MISSING),
        (("numbers", "missing", None, "numbers"), MISSING),
        (("few", "=", 2, "numbers"), NUMBERS % 3 == 2),
        (("dates", ">=", "2024-01-31", "dates"), (NUMBERS >= 30) & ~MISSING),
        (("durations", "<", "1 days 06:00:00", "durations"), (NUMBERS < 30) & ~MISSING),
        (("texts", "=", "y", None), (NUMBERS % 3 == 1) & ~MISSING),
        (("texts", "!=", "y", None), (NUMBERS % 3 != 1) & ~MISSING),
        (("categories", "=", "high", None), NUMBERS >= 100),
        (("flags", "=", "True", None), NUMBERS % 4 == 1),
    ],
    ids=lambda value: " ".join(map(str, value[:3])) if isinstance(value, tuple) else "",
)
def test_what_rules_hold(condition, expected):
    np.testing.assert_array_equal(make_rule(*condition)(list_columns()), expected)


def test_rules_that_are_refused():
    rule = make_rule("age", ">=", 60, "numbers")
    with pytest.raises(ValueError, match=r"X must have the columns of the rule .*none named 'age'"):
        rule({"dose": [1]})
    with pytest.raises(ValueError, match=r"'age' must hold numbers, as the rule .*; got"):
        rule({"age": ["old"]})
    with pytest.raises(ValueError, match="conditions must be a list of dictionaries; got"):
        FeatureRule([])
    for wrong in (
        ("age", "~", 1, "numbers"),
        ("age", "<", "1", "numbers"),
        ("age", "<", "1", None),
    ):
        with pytest.raises(ValueError, match=r"conditions must have a column, an operator among"):
            make_rule(*wrong)
    with pytest.raises(ValueError, match="conditions must hold dictionaries with the items"):
        FeatureRule([{"column": "age"}])


# Outcomes, where 0.5 was predicted: those of the first half of the rows are 0, but every fifth.
HALVES = np.where(np.arange(400) % 5, np.arange(400) >= 200, np.arange(400) < 200)


def find_first(column):
    """The first rule of a column that rises with the rows."""
    found = audit_features(HALVES, np.full(400, 0.5), {"x": column}, **FEW)
    rule = found.rules[0]
    inside = rule({"x": column})
    assert inside[:180].all() != inside[-180:].all()  # one of the sides
    return str(rule)


def test_times_are_as_round_as_they_can_be():
    minute = pd.Timestamp("2024-03-01") + pd.to_timedelta(np.arange(400), "min")
    assert len(find_first(minute).split()[-1]) <= len("2024-03-01T03:20")
    day = pd.Timestamp("2024-03-01") + pd.to_timedelta(np.arange(400), "D")
    assert len(find_first(day).split()[-1]) == len("2024-09-17")
    hours = pd.to_timedelta(np.arange(400), "h")
    assert find_first(hours).endswith(":00:00")
    zone = day.tz_localize("Europe/Vienna")
    assert find_first(zone).startswith("x ")


def test_numbers_of_any_size_are_compared():
    for column in (
        np.r_[np.full(100, -np.inf), np.arange(200), np.full(100, np.inf)],
        10**17 + np.arange(400),
        np.arange(400) * 1e300,
        np.arange(400) * 1e-320,
        [10**30 * row for row in range(400)],
        np.arange(400, dtype=np.uint64) + 2**63,
    ):
        find_first(column)


def test_columns_of_arrays_are_called_as_scikit_learn_calls_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y, v = (rng.random(400) < np.where(X[:, 2] > 0, 0.8, 0.2)).astype(int), np.full(400, 0.5)
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    found, named = (audit_features(y, v, table, **FEW) for table in (X, frame))
    assert found.rules == named.rules
    assert found.pvalue == named.pvalue
    assert found.rank_features()["feature"][0] == "x2"
    np.testing.assert_array_equal(found.rules[0](X), found.rules[0](frame))
    rows = [[1, "a"], [2, "b"]]
    np.testing.assert_array_equal(make_rule("x1", "=", "b", None)(rows), [False, True])
    np.testing.assert_array_equal(make_rule("x0", "<", 2, "numbers")(rows), [True, False])
    with pytest.raises(TypeError, match="X must be a data frame, a dict of columns, or an array"):
        make_rule("x0", "<", 2, "numbers")([1, 2])


def test_identifiers_take_no_time():
    """Each text is looked at once, and not once for each other."""
    n = 20_000
    table = {"id": [f"patient {row}" for row in range(n)], "x": np.arange(n) % 2}
    start = process_time()
    with pytest.warns(UserWarning, match=r"X has columns that are left out, \['id'\]"):
        audit_features(np.arange(n) % 3 == 0, np.full(n, 1 / 3), table, n_slices=1, **FEW)
    assert process_time() - start < 10


@pytest.mark.parametrize("operator", ["=", "!="])
@pytest.mark.parametrize("dtype", ["float64", "float32", "Float64", object])
def test_values_that_became_floats_are_no_texts(operator, dtype):
    """Integers with a missing value, say: "1" is 1.0, which no text equals."""
    rule = make_rule("ward", operator, "1", None)
    with pytest.raises(
        ValueError, match=r"'ward' must hold texts or categories, as the rule .*; got numbers"
    ):
        rule({"ward": pd.Series([1.0, None, 2.0], dtype=dtype)})
    for kept in ([1, 2], ["1", "2"], pd.Series([1, None, 2], dtype="Int64").dropna()):
        np.testing.assert_array_equal(
            rule({"ward": kept}), np.array([True, False]) ^ (operator == "!=")
        )
    categories = pd.Series([1.0, 2.0], dtype="category")
    np.testing.assert_array_equal(
        make_rule("x", "=", "1.0", None)({"x": categories}), [True, False]
    )


def test_values_that_look_alike_are_alike():
    """1 and "1" are written the same in a rule."""
    column = pd.Series([1, "1", 2.5, None] * 10, dtype=object)
    np.testing.assert_array_equal(make_rule("x", "=", "1", None)({"x": column}), [1, 1, 0, 0] * 10)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        *[("soon", "dates"), ("soon", "durations"), (3, "dates"), (3, None), (None, None)],
        *[(np.nan, "numbers"), (True, "numbers"), ("3", "numbers"), (1j, "numbers")],
    ],
)
def test_values_that_are_not_of_their_kind(value, kind):
    with pytest.raises(
        ValueError, match=r"conditions must have a column|hold values of their kind"
    ):
        make_rule("x", "=", value, kind)


def test_numbers_of_numpy_go_into_json():
    rule = make_rule("x", ">=", np.int64(3), "numbers")
    assert FeatureRule(json.loads(json.dumps(rule.to_list()))) == rule
    assert FeatureRule(rule.conditions) == rule
    assert hash(rule) == hash(make_rule("x", ">=", 3, "numbers"))
