"""What an audit by features found: whether, how much, where, and which features tell."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skcal._tools._show_record import as_record
from skcal._tools._words import show_low, show_pvalue
from skcal.inference._feature_rule import FeatureRule
from skcal.inference._group_record import GroupAudit

_N_TOLD = 2
# Standard errors that the importance of a feature that is seen to tell exceeds.
_SURE = 2


@as_record
class FeatureAudit(NamedTuple):
    """Results of `audit_features` or `audit_mean_features`.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    pvalue : float
        p-value of the hypothesis that predictions are right whatever the features are. Errors that
        are alike for everybody, or depend on the prediction alone, count.
    error, error_low : float
        Mean absolute error that features explain, an estimate that is rather too small, and a
        lower bound; not negative.
    gain, gain_low : float
        By how much the mean loss falls if predictions are corrected by what features tell, which
        is negative if it rises, and a lower bound that is not negative.
    loss : str
        "log" or "squared": which loss.
    rules : list of FeatureRule
        Rules of up to three conditions, the most significant first.
    slices : GroupAudit or None
        The rows that each rule holds, in the same order, of those that did not find the rules; None
        if no rule holds enough rows.
    features : list of str
        Columns that tell rows apart.
    importances, importance_errors : ndarray of shape (n_features,)
        By how much the gain falls if a column is shuffled, and the standard error of that.
    n_samples, n_judged : int
        Numbers of rows (with clusters, copies count once): of all, and of those that judge the
        rules.
    alpha : float
        Level of the tests; bounds and intervals have 1 - alpha.
    """

    pvalue: float
    error: float
    error_low: float
    gain: float
    gain_low: float
    loss: str
    rules: list[FeatureRule]
    slices: GroupAudit | None
    features: list[str]
    importances: np.ndarray
    importance_errors: np.ndarray
    n_samples: int
    n_judged: int
    alpha: float

    def find(self) -> list[FeatureRule]:
        """Rules whose rows are miscalibrated: those of an adjusted p-value of at most `alpha`.

        Returns
        -------
        list of FeatureRule
            The most significant rule first.
        """
        if self.slices is None:
            return []
        found = self.slices.adjusted_pvalues <= self.alpha
        return [rule for rule, is_found in zip(self.rules, found, strict=True) if is_found]

    def to_frame(self) -> pd.DataFrame:
        """Table with a row for each rule, the most significant first.

        Returns
        -------
        DataFrame
            Columns rule, share (of the rows that judge), and those of :meth:`GroupAudit.to_frame`
            but the first.
        """
        if self.slices is None:
            return pd.DataFrame({"rule": []})
        table = self.slices.to_frame().rename(columns={"group": "rule"})
        table.insert(1, "share", table["n_samples"] / self.n_judged)
        return table

    def rank_features(self) -> pd.DataFrame:
        """Table with a row for each feature, the most important first.

        Returns
        -------
        DataFrame
            Columns feature, importance and standard_error.
        """
        order = np.argsort(-self.importances, kind="stable")
        return pd.DataFrame(
            {
                "feature": [self.features[k] for k in order],
                "importance": self.importances[order],
                "standard_error": self.importance_errors[order],
            }
        )

    def __str__(self) -> str:
        told, n_found = show_pvalue(self.pvalue), len(self.find())
        if self.pvalue > self.alpha:
            sentence = f"No error is found that features tell ({told})"
            sentence += ", but a rule stands out." if n_found else "."
        else:
            low = show_low(self.error_low)
            is_told = (self.importances > _SURE * self.importance_errors).any()
            start = (
                "Features tell where predictions are wrong" if is_told else "Predictions are wrong"
            )
            sentence = f"{start} ({told}), by at least {low} on average"
            if not is_told:
                sentence += ", but no feature is seen to tell where"
            elif not n_found:
                sentence += ", but no short rule stands out"
            sentence += "."
        if n_found:
            shown = "; ".join(map(self._describe, range(min(n_found, _N_TOLD))))
            sentence += f" Wrong: {shown}."
            if n_found > _N_TOLD:
                sentence += f" {n_found} rules in all."
        return sentence

    def _describe(self, place: int) -> str:
        slices: Any = self.slices
        share = 100 * slices.n_samples[place] / self.n_judged
        told, came = slices.mean_prediction[place], slices.mean_outcome[place]
        ends = told + slices.low[place], told + slices.high[place]
        if self.loss == "squared":
            told, came, low, high = (f"{value:.3g}" for value in (told, came, *ends))
            return (
                f"{share:.0f} % of rows, {self.rules[place]}, are predicted {told}, and are {came} "
                f"({low} to {high})"
            )
        decimals = 1 if min(told, came) < 0.1 else 0
        told, came, low, high = (f"{100 * value:.{decimals}f}" for value in (told, came, *ends))
        return (
            f"{share:.0f} % of rows, {self.rules[place]}, are told {told} %, {came} % come true "
            f"({low} to {high})"
        )
