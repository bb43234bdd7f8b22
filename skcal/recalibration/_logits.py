"""What the recalibrators have in common that read logarithms of probabilities."""

from __future__ import annotations

from typing import Literal

from skcal._input._validation import check_number
from skcal._numerics.recalibration._scores import SMALLEST_PROBABILITY, find_floor
from skcal._tools._arrays import namespace
from skcal._tools._typing import ArrayLike
from skcal.recalibration._base import BaseRecalibrator


class LogitRecalibrator(BaseRecalibrator):
    """Base class of recalibrators that read logits, or logarithms of probabilities.

    Probabilities below `min_proba`, such as hard zeros, are raised to it before.
    """

    min_proba_: float

    def __init__(
        self,
        *,
        input: Literal["proba", "logits"] = "proba",
        classes: ArrayLike | Literal["columns"] | None = None,
        min_proba: float | Literal["auto"] = "auto",
    ) -> None:
        super().__init__(input=input, classes=classes)
        self.min_proba = min_proba

    def _learn_floor(self, scores, resolution):
        self._check_min_proba()
        if self.input == "logits":
            self.min_proba_ = 0.0
        elif isinstance(self.min_proba, str):
            self.min_proba_ = find_floor(scores, len(self.classes_), resolution, namespace(scores))
        else:
            self.min_proba_ = max(float(self.min_proba), SMALLEST_PROBABILITY)

    def _check_min_proba(self):
        if isinstance(self.min_proba, str):
            if self.min_proba != "auto":
                raise ValueError(f"min_proba must be 'auto' or a number; got {self.min_proba!r}.")
            return
        # The largest probability of a row is never raised.
        number = check_number("min_proba", self.min_proba, 0, below=1 / len(self.classes_))
        if number > 0 and self.input == "logits":
            raise ValueError(
                "min_proba must be 'auto' or 0 for logits, which are all finite; "
                f"got {self.min_proba!r}."
            )

    def _find_smallest(self):
        return max(self.min_proba_, SMALLEST_PROBABILITY)
