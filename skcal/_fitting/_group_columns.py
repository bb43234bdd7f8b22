"""What models that are repaired in groups share: levels of columns of X, and folds of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from skcal._fitting._feature_columns import choose_features, list_columns
from skcal._input._levels import Levels, find_levels
from skcal._input._validation import check_option

# Numbers of bins of a column, and the fewest rows of a level.
_METHODS = {"scaling": (16, 20), "boosting": (64, 1)}
# Categories of a column that count; HistGradientBoostingRegressor knows no more.
_MOST_LEVELS = 254


class ReadsGroups:
    """Reads columns of X, those that `features` names, as levels; the `method` says how fine.

    So are the rows that each of the `groups`, which are functions of X, holds, and all others.
    """

    features: Any
    groups: Any
    method: str
    _features: list[tuple[int, Any]]
    _rules: list[Any]
    _levels: list[Levels]

    def _check_method(self):
        check_option("method", self.method, tuple(_METHODS))

    def _choose_columns(self, X):
        self._rules = _read_rules(self.groups)
        has_columns = not self._rules or self.features is not None
        self._features = choose_features(X, self.features) if has_columns else []

    def _list_columns(self, X):
        """Yield names and columns: those of X that define groups, and the memberships of rules."""
        yield from list_columns(X, self._features)
        for rule in self._rules:
            n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
            inside = np.asarray(rule(X))
            if inside.dtype != bool or inside.shape != (n_rows,):
                raise ValueError(
                    "groups must hold functions that return a boolean for each row of X; "
                    f"{str(rule)!r} returned an array of {inside.dtype} of shape {inside.shape}."
                )
            yield f"[{rule}]", pd.Series(inside)

    def _learn_groups(self, X, sample_weight, splits):
        """Levels of rows, and the fold of each: what a correction is fitted to."""
        columns = list(self._list_columns(X))
        present = slice(None) if sample_weight is None else sample_weight > 0
        self._levels = [
            find_levels(name, column[present], *_METHODS[self.method], _MOST_LEVELS)[0]
            for name, column in columns
        ]
        # Rows that are never tested are of one fold, as those of a single model are.
        fold = np.full(len(columns[0][1]), len(splits or ()), dtype=np.intp)
        for number, (_, test) in enumerate(splits or ()):
            fold[test] = number
        return {"numbers": self._number(columns), "fold": fold}

    def _read_groups(self, X):
        return {"numbers": self._number(self._list_columns(X))}

    def _number(self, columns):
        pairs = zip(self._levels, columns, strict=True)
        return np.column_stack([levels.number(column) for levels, (_, column) in pairs])


def _read_rules(groups):
    """Functions of X, as a list; none where groups is None."""
    if groups is None:
        return []
    if callable(groups) or not isinstance(groups, list | tuple) or not len(groups):
        raise ValueError(f"groups must be None or a list of rules, at least one; got {groups!r}.")
    for rule in groups:
        if not callable(rule):
            raise ValueError(
                "groups must hold rules, functions of X that return a boolean for each row; got "
                f"{rule!r}."
            )
    return list(groups)
