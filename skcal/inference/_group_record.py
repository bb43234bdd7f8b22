"""What an audit of groups found, of probabilities or of means, and which tests it can make."""

from __future__ import annotations

from textwrap import fill
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skcal._input._validation import (
    check_confidence_level,
    check_integer,
    check_number,
    check_option,
)
from skcal._numerics.inference._group_statistics import fit_to_tests
from skcal._numerics.inference._monte_carlo import adjust_by_holm
from skcal._tools._least_pvalue import mark_least
from skcal._tools._show_record import as_record
from skcal._tools._words import show_bound, show_label, show_percentages, show_pvalue

_STATISTICS = ("mean", "slope", "kuiper")
# Holm's method can find nothing with fewer draws: the least p-value times the number of groups.
_LEAST = 0.05
_N_SHOWN = 10
# Characters of a printed line.
_LINE = 100
# A bound of this level or a lower one is no further out than the estimate.
_LEAST_ONE_SIDED_LEVEL = 0.5


@as_record
class GroupAudit(NamedTuple):
    """Results of `audit_groups` or `audit_mean_groups` for each group, the most significant first.

    ``print`` shows it as a sentence, :meth:`print` with a table.

    Attributes
    ----------
    pvalue : float
        p-value of the hypothesis that the model is calibrated in all groups.
    names : list
        Names of the groups.
    n_samples : ndarray of int of shape (n_groups,)
        Numbers of rows.
    mean_outcome, mean_prediction : ndarray of shape (n_groups,)
        Share of outcomes 1, or mean of the targets, and what was predicted.
    low, high : ndarray of shape (n_groups,)
        Ends of simultaneous intervals of the difference, the mean outcome minus the prediction;
        approximate with unequal weights. Where the mean is what is tested, they agree with the
        adjusted p-values.
    statistics : ndarray of shape (n_groups,)
        Statistics of the groups.
    pvalues : ndarray of shape (n_groups,)
        p-value of each group, if it were the only one.
    adjusted_pvalues : ndarray of shape (n_groups,)
        p-value of each group that accounts for all of them.
    statistic, adjust, alternative : str
        How groups were tested.
    confidence_level : float
        Probability that all intervals hold at once.
    is_of_means : bool
        Whether means of targets are predicted, rather than probabilities.
    left_out : tuple of str
        Values of the columns of a table that have too few rows for a group, with their numbers
        of rows.
    """

    pvalue: float
    names: list[Any]
    n_samples: np.ndarray
    mean_outcome: np.ndarray
    mean_prediction: np.ndarray
    low: np.ndarray
    high: np.ndarray
    statistics: np.ndarray
    pvalues: np.ndarray
    adjusted_pvalues: np.ndarray
    statistic: str
    adjust: str
    alternative: str
    confidence_level: float
    is_of_means: bool = False
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        found, n_groups = self.find(1 - self.confidence_level), len(self.names)
        chance = show_pvalue(self.pvalue)
        if not found:
            groups = "the group" if n_groups == 1 else f"{n_groups} groups"
            reach = np.maximum(-self.low, self.high).max()
            which = "it" if n_groups == 1 else "one of them"
            bound = f"; the mean prediction of {which} may be off by up to {show_bound(reach)}"
            return (
                f"No error beyond chance in {groups} ({chance})"
                f"{bound if np.isfinite(reach) else ''}."
            )
        where = "the group" if n_groups == 1 else f"{len(found)} of {n_groups} groups"
        story = f"Wrong in {where} ({chance}), most clearly in {_name(found[0])}: {self._compare()}"
        if self.low[0] <= 0 <= self.high[0]:
            story += "; the means may be equal, but single predictions are wrong"
        return f"{story}."

    def _compare(self):
        """The means of the group that stands out most."""
        given, seen = float(self.mean_prediction[0]), float(self.mean_outcome[0])
        if self.is_of_means:
            return f"{given:.3g} is predicted on average, where {seen:.3g} is observed"
        given, seen = show_percentages(given, seen)
        return f"{given} are predicted on average, where {seen} come true"

    def find(self, alpha: float = 0.05) -> list[Any]:
        """Groups in which the model is miscalibrated: adjusted p-value of at most `alpha`.

        Parameters
        ----------
        alpha : float, default=0.05
            At least 0 and below 1: the probability to name a group in which the model is right.

        Returns
        -------
        list
            Names, the most significant group first.
        """
        alpha = check_number("alpha", alpha, 0, below=1)
        found = np.flatnonzero(self.adjusted_pvalues <= alpha)
        return [self.names[k] for k in found]

    def to_frame(self) -> pd.DataFrame:
        """Table with a row for each group, the most significant first.

        Returns
        -------
        DataFrame
            Columns group, n_samples, mean_outcome, mean_prediction, difference, low, high,
            statistic, pvalue, adjusted_pvalue.
        """
        return pd.DataFrame(
            {
                "group": self.names,
                "n_samples": self.n_samples,
                "mean_outcome": self.mean_outcome,
                "mean_prediction": self.mean_prediction,
                "difference": self.mean_outcome - self.mean_prediction,
                "low": self.low,
                "high": self.high,
                "statistic": self.statistics,
                "pvalue": self.pvalues,
                "adjusted_pvalue": self.adjusted_pvalues,
            }
        )

    def print(self, n_groups: int = _N_SHOWN) -> None:
        """Print the sentence and the most significant groups.

        Parameters
        ----------
        n_groups : int, default=10
            How many groups are shown at most.
        """
        n_groups = check_integer("n_groups", n_groups, minimum=1)
        print(fill(str(self), _LINE))
        table = self.to_frame().head(n_groups)
        # The smallest knows whether the draws let it be smaller.
        shown = [show_pvalue(max(self.pvalue, pvalue)) for pvalue in table["adjusted_pvalue"]]
        table["adjusted_pvalue"] = [text.removeprefix("p ").removeprefix("= ") for text in shown]
        columns = ["group", "n_samples", "difference", "low", "high", "adjusted_pvalue"]
        print(table[columns].to_string(index=False, float_format=lambda value: f"{value:.3g}"))


def check_test(statistic, adjust, alternative, confidence_level):
    """The level of the intervals."""
    check_option("statistic", statistic, _STATISTICS)
    check_option("adjust", adjust, ("min-p", "holm"))
    check_option("alternative", alternative, ("two-sided", "greater", "less"))
    level = check_confidence_level(confidence_level)
    if alternative == "two-sided":
        return level
    if statistic != "mean":
        raise ValueError(
            f"alternative must be 'two-sided' for statistic={statistic!r}, which detects errors "
            f"of both signs; got {alternative!r}, which needs statistic='mean'."
        )
    if level <= _LEAST_ONE_SIDED_LEVEL:
        raise ValueError(
            f"confidence_level must be above {_LEAST_ONE_SIDED_LEVEL} for "
            f"alternative={alternative!r}; got {level}."
        )
    return level


def check_draws(adjust, n_resamples, n_groups):
    """Raise a ValueError if there are too few draws for Holm's method."""
    least = int(np.ceil(n_groups / _LEAST)) - 1
    if adjust == "holm" and n_resamples < least:
        raise ValueError(
            f"n_resamples must be at least {least} for adjust='holm' and {n_groups} groups, or no "
            f"p-value can be below {_LEAST}; got {n_resamples}."
        )


def _name(group):
    """A group of a table as it is called, any other label as Python shows it."""
    return group if isinstance(group, str) else show_label(group)


def make_audit(
    groups, found, of_mean, means, statistic, alternative, adjust, level, *, is_of_means=False
):
    """What is found, from the comparison with the draws."""
    adjusted = found.adjusted if adjust == "min-p" else adjust_by_holm(found.pvalues)
    outcome, prediction, low, high = means
    fitted = fit_to_tests(outcome - prediction, low, high, adjusted, 1 - level, alternative)
    low, high = np.where(of_mean, fitted, (low, high))
    order = np.lexsort([found.log_pvalues, adjusted])
    least = found.least_adjusted if adjust == "min-p" else len(order) * found.least
    return GroupAudit(
        pvalue=mark_least(adjusted[order[0]], least[order[0]]),
        names=[groups.names[k] for k in order],
        n_samples=groups.n_samples[order],
        mean_outcome=outcome[order],
        mean_prediction=prediction[order],
        low=low[order],
        high=high[order],
        statistics=found.statistics[order],
        pvalues=found.pvalues[order],
        adjusted_pvalues=adjusted[order],
        statistic=statistic,
        adjust=adjust,
        alternative=alternative,
        confidence_level=level,
        is_of_means=is_of_means,
        left_out=groups.left_out,
    )
