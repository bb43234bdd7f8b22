"""Rules of a few conditions on columns, that a person can read and a file can hold."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from skcal._input._conditions import OPERATORS, Condition
from skcal._input._levels import read_table

_KINDS = ("numbers", "dates", "durations", None)


@dataclass(frozen=True, repr=False)
class FeatureRule:
    """Rows that meet all of a few conditions, as :func:`audit_features` finds them.

    ``rule(X)`` says which rows of a table these are, and ``print`` shows the conditions. A rule
    can be pickled, and :meth:`to_list` is what JSON holds.

    Parameters
    ----------
    conditions : tuple of Condition
        Named tuples of a ``column``, an ``operator`` ("=", "!=", ">=", "<" or "missing"), a
        ``value`` (a number or a text) and the ``kind`` of the column ("numbers", "dates",
        "durations", or None for all others). A missing value meets "missing" alone.

    Examples
    --------
    >>> from skcal.inference import FeatureRule
    >>> rule = FeatureRule.from_list(
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

    conditions: tuple[Any, ...]

    def __call__(self, X: Any) -> np.ndarray:
        """Which rows of a table meet the conditions.

        Parameters
        ----------
        X : data frame or dict of array-like
            A table that has the columns of the rule.

        Returns
        -------
        ndarray of bool of shape (n_samples,)
            Whether a row meets all conditions.
        """
        columns = {str(name): column for name, column in read_table("X", X)}
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

    @classmethod
    def from_list(cls, conditions: list[dict[str, Any]]) -> FeatureRule:
        """The rule of what :meth:`to_list` returned.

        Parameters
        ----------
        conditions : list of dict
            A dictionary for each condition, one at least.

        Returns
        -------
        FeatureRule
            The rule.
        """
        if not isinstance(conditions, list | tuple) or not len(conditions):
            raise ValueError(f"conditions must be a list of dictionaries; got {conditions!r}.")
        return cls(tuple(map(_read_condition, conditions)))

    def __str__(self) -> str:
        return " and ".join(map(str, self.conditions))

    def __repr__(self) -> str:
        return f"FeatureRule({str(self)!r})"


def _read_condition(given):
    fields = set(Condition._fields)
    if not isinstance(given, dict) or set(given) != fields:
        raise ValueError(
            f"conditions must hold dictionaries with the items {sorted(fields)}; got {given!r}."
        )
    condition = Condition(**given)
    is_number, is_text = isinstance(condition.value, Real), isinstance(condition.value, str)
    is_line = condition.kind == "numbers"
    has_value = is_number if is_line else is_text
    if condition.operator == "missing":
        has_value = True
    is_compared = condition.operator in ("=", "!=", "missing") or condition.kind is not None
    known = condition.operator in OPERATORS and condition.kind in _KINDS
    if not (isinstance(condition.column, str) and known and has_value and is_compared):
        raise ValueError(
            "conditions must have a column, an operator among "
            f"{list(OPERATORS)}, a kind among {list(_KINDS)}, and a value that is a number for "
            f"'numbers' and else a text; got {given!r}."
        )
    return condition
