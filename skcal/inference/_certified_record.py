"""A threshold with what is promised for it, and several of them together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skcal._tools._show_record import as_record
from skcal._tools._words import show_label, show_threshold

# What a risk is called in a sentence.
_NAMES = {
    "miss": "miss rate",
    "false_positive": "false positive rate",
    "misclassification": "misclassification rate",
}


@as_record
class CertifiedThreshold(NamedTuple):
    """A threshold, and the risk that is guaranteed for it.

    ``print`` shows it as a sentence, or as one for each of its parts.

    Attributes
    ----------
    threshold : float
        Rows at it or above may be accepted, or below for the side "below". Infinite where nothing
        can be promised: no row is accepted, or all of them where only misses count (for the side
        "below", false positives). NaN where groups or sides have thresholds of their own.
    coverage : float
        Share of the rows that are accepted, in [0, 1].
    risk : float or None
        What the promise is about, on these rows; None without any that it counts, and where parts
        have their own.
    n_accepted : int
        Number of rows that are accepted.
    at_most : float
        What the risk is promised not to exceed; NaN for several risks, whose parts have it.
    confidence_level : float
        Confidence that this promise holds, together with all others of the same call.
    side : str
        "above" or "below", or "both" for parts of both sides.
    kind : str
        "error", "miss", "false_positive", "misclassification", or "loss" if losses were given;
        several are joined by " and ".
    attainable : float
        `at_most` where that is promised; else a larger limit that could have been promised, about
        the smallest one, and 1 where there is none; of groups and sides the largest, and NaN for
        several risks. It is chosen by the outcomes, and no promise.
    n_required : float or None
        Number of rows at which a promise is to be expected four times in five, about, if the
        predictions are right; infinite where they expect none. None for clusters, losses and parts.
    n_rows : int
        Number of rows that the threshold was found on.
    n_clusters : int or None
        Number of clusters, which the promise counts instead of rows. None for independent rows.
    parts : dict
        Records of the same type: by the labels of groups, by the sides "above" and "below", or by
        the kinds of several risks, each with the threshold that keeps this one. Empty for a single
        promise.
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
    n_clusters: int | None
    parts: dict[Any, Any]

    def __str__(self) -> str:
        if np.isnan(self.threshold):
            return "\n".join(self._tell_parts())
        # What is said of accepted rows comes before what is said of events.
        kinds = sorted(self.parts, key=lambda kind: kind != "error")
        promises = [self.parts[kind]._tell_promise() for kind in kinds] or [self._tell_promise()]
        level = f"{100 * self.confidence_level:g} %"
        if self.feasible:
            verb = "Accept" if self.side == "above" else "Rule out"
            place = f"{verb} at {show_threshold(self.threshold)} or {self.side}"
            where = "" if self.n_clusters is None else ", with equal weight for each cluster"
            told = [f"{100 * self.coverage:.3g} % of rows", *promises[:-1]]
            return f"{place}: {', '.join(told)}, and {promises[-1]}{where} ({level} confidence)."
        if self.parts:
            lines = "\n".join(map(str, self.parts.values()))
            return f"No threshold keeps all promises at once ({level} confidence).\n{lines}"
        name = _NAMES.get(self.kind, "risk")
        start = f"No threshold: a {name} of at most {100 * self.at_most:.3g} % cannot be promised."
        if self.attainable < 1:
            start += f" {100 * self.attainable:.3g} % could have been."
        return start + self._tell_rows()

    def _tell_parts(self):
        for name, part in self.parts.items():
            lines = str(part).split("\n")
            is_side = self.side == "both" and not part.parts
            yield from lines if is_side else (f"{show_label(name)}: {line}" for line in lines)

    def _tell_promise(self):
        limit, is_above = f"at most {100 * self.at_most:.3g} %", self.side == "above"
        return {
            "error": f"{limit} of them are wrong",
            "loss": f"their mean loss is at most {self.at_most:.3g}",
            "miss": f"{limit} of events are {'below' if is_above else 'among them'}",
            "false_positive": f"{limit} of non-events are {'among them' if is_above else 'above'}",
            "misclassification": f"{limit} of all rows are on the wrong side",
        }[self.kind]

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
        """Whether there is a threshold with a promise, at least for a group or a side."""
        if np.isnan(self.threshold):
            return any(part.feasible for part in self.parts.values())
        return bool(np.isfinite(self.threshold))
