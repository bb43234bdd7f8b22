"""What pools of recalibrators of regressors share: rows held out, and weights of members."""

from __future__ import annotations

from numbers import Integral
from typing import NamedTuple

import numpy as np

from skcal._fitting._held_out import makes_folds, split_rows
from skcal._input._validation import check_integer, check_number
from skcal._numerics.recalibration._deal import repeat_ties
from skcal._numerics.recalibration._pooling import fit_pool
from skcal._numerics.recalibration._weights import count_as_rows
from skcal._tools._warnings import warn

NAMES = ["identity", "scaling", "isotonic"]
# Prior counts are between these, beyond which sums would not be exact.
_FEWEST_ROWS, _MOST_ROWS = 1e-6, 1e12
# By how much more than the best member another one may lose: so many units, or per prior count.
_REFUTED, _REFUTED_PER_ROW = 10.0, 2.0


class HeldOut(NamedTuple):
    """Rows held out: what members predict, targets, masses, and the split that tests the row."""

    members: np.ndarray
    targets: np.ndarray
    masses: np.ndarray
    split: np.ndarray

    def take(self, chosen):
        """Some of the rows."""
        return HeldOut(self.members[:, chosen], *(part[chosen] for part in self[1:]))


def check_pool(cv, prior_rows):
    """Raise ValueError for options that make no folds, or no prior."""
    if isinstance(cv, Integral):
        check_integer("cv", cv, 2)
    check_number("prior_rows", prior_rows, _FEWEST_ROWS)


def hold_out(cv, rows, keys, predict, lack="", show=iter):
    """`HeldOut` rows, or None, with a warning, where there is too little to learn from.

    ``predict(train, predictions)`` returns what members that are fitted to `Rows` say of others, an
    array with the members on its first axis, or None if they cannot be fitted, for want of what
    `lack` says. `keys` has a number for each row by which predictions are told apart, and `show`
    the splits.
    """
    masses = count_as_rows(rows.weights)
    if makes_folds(cv):
        places, parts = repeat_ties(keys, rows.targets, masses)
        keys, masses = keys[places], masses[places] * parts
        rows = rows.take(places)._replace(weights=rows.weights[places] * parts)
    splits = split_rows(cv, keys, rows.targets, rows.weights, rows.present)
    parts = [predict(rows.take(train), rows.predictions[test]) for train, test in show(splits)]
    if not parts:
        lack = f"There is too little to learn from, {len(rows.targets)} rows"
    if not parts or any(part is None for part in parts):
        warn(f"{lack}: predictions are left unchanged.")
        return None
    tested = np.concatenate([test for _, test in splits])
    # A row that several splits test counts once in all.
    masses = masses / np.bincount(tested, minlength=len(rows.targets)).clip(1)
    numbers = np.repeat(np.arange(len(splits)), [len(test) for _, test in splits])
    return HeldOut(np.concatenate(parts, axis=1), rows.targets[tested], masses[tested], numbers)


def weigh_members(held_out, find_losses, prior_rows):
    """Weights of the members from all rows, and how much the pool gains on those held out.

    ``find_losses(held_out)`` returns losses of the members alone and the function that `fit_pool`
    takes. The second answer has the weights for the rows of each split, from those of the others.
    """
    prior_rows, n_others = min(float(prior_rows), _MOST_ROWS), len(held_out.members) - 1
    prior = np.array([prior_rows, *[1 / n_others] * n_others])
    limits = np.array([_REFUTED_PER_ROW * prior_rows, *[_REFUTED] * n_others])

    def weigh(chosen):
        totals, evaluate = find_losses(held_out.take(chosen))
        return fit_pool(evaluate, totals, prior, limits)

    own = weigh(np.ones(len(held_out.split), dtype=bool))
    n_splits = held_out.split[-1] + 1
    others = [weigh(held_out.split != k) for k in range(n_splits)] if n_splits > 1 else [own]
    return own, np.array(others)
