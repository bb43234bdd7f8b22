"""Rules of a few conditions on columns, that a person can read and a file can hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skcal._input._conditions import OPERATORS, Condition, list_features

_KINDS = ("numbers", "dates", "durations", None)


@dataclass(frozen=True, repr=False)
class FeatureRule:
    """Rows that meet all of a few conditions, as :func:`audit_features` finds them.

    ``rule(X)`` says which rows of a table these are, and ``print`` shows the conditions. A rule
    can be pickled, and :meth:`to_list` is what JSON holds.

    Parameters
    ----------
    conditions : list of dict
        One condition at least, with the items ``column``, ``operator`` ("=", "!=", ">=", "<" or
        "missing"), ``value`` and ``kind``, that of the column: "numbers", whose value is a number,
        "dates", "durations", or None for all others, whose values are texts. A missing value meets
        "missing" alone. They are kept as a tuple of named tuples.

    Examples
    --------
    >>> from skcal.inference import FeatureRule
    >>> rule = FeatureRule(
    ...     [
    ...         {"column": "age", "operator": ">=", "value": 61, "kind": "numbers"},
    ...         {"column": "drug", "operator": "=", "value": "B", "kind": None},
    ...     ]
    ... )
    >>> print(rule)
    age >= 61 and drug = B
    >>> rule({"age": [70, 70, 30], "drug": ["A", "B", "B"]})
    array([False,  True, False])
    """

    conditions: Any

    def __post_init__(self) -> None:
        given = self.conditions
        if not isinstance(given, list | tuple) or not len(given):
            raise ValueError(f"conditions must be a list of dictionaries; got {given!r}.")
        object.__setattr__(self, "conditions", tuple(map(_read_condition, given)))

    def __call__(self, X: Any) -> np.ndarray:
        """Which rows of a table meet the conditions.

        Parameters
        ----------
        X : data frame, dict of array-like, or array-like of shape (n_samples, n_features)
            A table that has the columns of the rule, or an array, whose columns are called x0, x1
            and so on.

        Returns
        -------
        ndarray of bool of shape (n_samples,)
            Whether a row meets all conditions.
        """
        columns = dict(list_features("X", X))
        missing = [one.column for one in self.conditions if one.column not in columns]
        if missing:
            raise ValueError(
                f"X must have the columns of the rule {str(self)!r}; got none named {missing[0]!r}."
            )
        masks = [one.read(columns[one.column]) for one in self.conditions]
        return np.logical_and.reduce(masks)

    def to_list(self) -> list[dict[str, Any]]:
        """The conditions as dictionaries of texts and numbers, which JSON holds.

        Returns
        -------
        list of dict
            A dictionary for each condition.
        """
        return [one._asdict() for one in self.conditions]

    def __str__(self) -> str:
        return " and ".join(map(str, self.conditions))

    def __repr__(self) -> str:
        return f"FeatureRule({str(self)!r})"


def _read_condition(given):
    if isinstance(given, Condition):
        given = given._asdict()
    if not isinstance(given, dict) or set(given) != set(Condition._fields):
        raise ValueError(
            f"conditions must hold dictionaries with the items {sorted(Condition._fields)}; got "
            f"{given!r}."
        )
    value = given["value"]
    condition = Condition(
        **given | {"value": value.item() if isinstance(value, np.generic) else value}
    )
    if not _is_known(condition):
        raise ValueError(
            "conditions must have a column, an operator among "
            f"{list(OPERATORS)}, a kind among {list(_KINDS)}, and a value that is a number for "
            f"'numbers' and else a text; got {given!r}."
        )
    try:
        condition.find_place()
    except ValueError as error:
        raise ValueError(f"conditions must hold values of their kind; {error}.") from None
    return condition


def _is_known(condition):
    column, operator, value, kind = condition
    if not (isinstance(column, str) and operator in OPERATORS and kind in _KINDS):
        return False
    if operator == "missing":
        return value is None
    if kind is None and operator not in ("=", "!="):
        return False
    if kind != "numbers":
        return isinstance(value, str)
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value
