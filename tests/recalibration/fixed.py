"""A recalibrator whose answer is known, for tests of mixtures."""

from skcal.recalibration import BaseRecalibrator


class Fixed(BaseRecalibrator):
    """Says the same whatever it was fitted to: the scores to a power, or it fails."""

    _gives_hard_probabilities = True

    def __init__(self, power=1.0, *, input="proba", classes=None):
        super().__init__(input=input, classes=classes)
        self.power = power

    def _fit(self, scores, codes, sample_weight):
        if self.power == 0:
            raise ValueError("no power")

    def _recalibrate(self, scores):
        proba = self._to_probabilities(scores) ** self.power
        return proba / proba.sum(axis=1, keepdims=True) if self.power != 1 else proba
