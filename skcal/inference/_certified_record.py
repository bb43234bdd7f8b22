"""A threshold with what is promised for it, and several of them together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skcal._tools._show_record import as_record
from skcal._tools._words import show_label, show_threshold


@as_record
class CertifiedThreshold(NamedTuple):
    """A threshold, and the risk guaranteed for the rows it accepts.

    ``print`` shows it as a sentence, or as one for each of its parts.

    Attributes
    ----------
    threshold : float
        Rows at it or above may be accepted, or below for the side "below". Infinite where nothing
        can be promised, so that no row is accepted. NaN where groups or sides have thresholds of
        their own.
    coverage : float
        Share of the rows that are accepted, in [0, 1].
    risk : float or None
        Mean loss of these; None without any, and where parts have their own.
    n_accepted : int
        Their number.
    at_most : float
        What their risk is promised not to exceed.
    confidence_level : float
        Confidence that this promise holds, together with all others of the same call.
    side : str
        "above" or "below", or "both" for parts of both sides.
    kind : str
        What the risk is the mean of: "error", or "loss" if losses were given.
    attainable : float
        `at_most` where that is promised; else a larger limit that could have been promised, about
        the smallest one, and 1 where there is none; of parts the largest. It is chosen by the
        outcomes, and no promise.
    n_required : float or None
        Number of rows at which a promise is to be expected four times in five, about, if the
        predictions are right; infinite where they expect none. None for clusters, losses and parts.
    n_rows : int
        Number of rows that the threshold was found on.
    n_clusters : int or None
        Number of clusters, which the promise counts instead of rows. None for independent rows.
    parts : dict
        Thresholds of the same type by the labels of groups, or by the sides "above" and "below";
        empty where there is a single one.
    """

    threshold: float
    coverage: float
    risk: float | None
    n_accepted: int
    at_most: float
    confidence_level: float
    side: str
    kind: str
    attainable: float
    n_required: float | None
    n_rows: int
    n_clusters: int | None = None
    parts: dict[Any, Any] = {}  # noqa: RUF012 (never changed)

    def __str__(self) -> str:
        if self.parts:
            return "\n".join(self._tell_parts())
        limit, level = f"{100 * self.at_most:.3g} %", f"{100 * self.confidence_level:g} %"
        if not self.feasible:
            start = f"No threshold: a risk of at most {limit} cannot be promised."
            if self.attainable < 1:
                start += f" {100 * self.attainable:.3g} % could have been."
            return start + self._tell_rows()
        verb = "Accept" if self.side == "above" else "Rule out"
        share = f"{100 * self.coverage:.3g} % of rows"
        risk = f"at most {limit} of them are wrong"
        if self.kind == "loss":
            risk = f"their mean loss is at most {self.at_most:.3g}"
        place = show_threshold(self.threshold)
        where = "" if self.n_clusters is None else ", with equal weight for each cluster"
        return f"{verb} at {place} or {self.side}: {share}, and {risk}{where} ({level} confidence)."

    def _tell_parts(self):
        for name, part in self.parts.items():
            lines = str(part).split("\n")
            is_side = self.side == "both" and not part.parts
            yield from lines if is_side else (f"{show_label(name)}: {line}" for line in lines)

    def _tell_rows(self):
        if self.n_required is None:
            return ""
        if np.isinf(self.n_required):
            return " If the predictions are right, no number of rows suffices."
        needed = f"about {float(f'{self.n_required:.2g}'):,.0f} rows"
        if self.n_required <= self.n_rows:
            return f" If the predictions were right, {needed} would mostly suffice."
        return f" If the predictions are right, {needed} are needed."

    @property
    def feasible(self) -> bool:
        """Whether any row can be accepted."""
        return self.n_accepted > 0
