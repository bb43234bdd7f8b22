"""What the recalibrators have in common that map all logits of a row together."""

from abc import abstractmethod

import numpy as np

from skcal._input._validation import check_number
from skcal._numerics.recalibration._information import measure_information
from skcal._numerics.recalibration._newton import centre_features
from skcal._numerics.recalibration._scores import centre_logits, find_probabilities
from skcal._numerics.recalibration._softmax_regression import fit_softmax
from skcal._numerics.recalibration._target_smoothing import share_of_others
from skcal._numerics.recalibration._temperature import fit_temperature
from skcal.recalibration._class_scores import find_plausible
from skcal.recalibration._logits import LogitRecalibrator

# Logits nearer to 0 than this are fitted as 0: no factor of theirs could be squared.
_SMALLEST_LOGIT = 1e-100
# Rows of each class that are added to those counted where a penalty is the less the rarer a class:
# a handful of events, or none, tells too little of its share to do without the penalty.
_MORE_ROWS = 20.0


class AffineRecalibrator(LogitRecalibrator):
    """Base class of recalibrators softmax(W z + b), fitted by penalised log loss.

    A subclass implements ``_penalise``, and ``_read_scale`` where z are not centred logits.
    One that fits to Platt's targets stores ``target_smoothing``.
    """

    coef_: np.ndarray
    intercept_: np.ndarray
    n_iter_: int
    target_smoothing = False

    @abstractmethod
    def _penalise(self, counts):
        """Penalties of (W - 1)^2 and b^2, of shapes (n_classes, n_classes) and (n_classes,).

        NaN marks the coefficients of W that stay 0. ``counts`` are how many rows have
        each class, by their weights and targets.
        """

    def _read_scale(self, scores):
        return centre_logits(self._to_logits(scores))

    def _fit(self, scores, codes, sample_weight):
        values = self._read_scale(scores)
        values[(values < _SMALLEST_LOGIT) & (values > -_SMALLEST_LOGIT)] = 0.0
        weights = np.ones(len(values)) if sample_weight is None else sample_weight
        n_classes = values.shape[1]
        identity = np.eye(n_classes, n_classes + 1)
        even, counts = None, np.bincount(codes, weights, n_classes)
        if self.target_smoothing:  # what all classes have evenly leaves the others their share
            others = share_of_others(codes, sample_weight)
            even = others * n_classes / (n_classes - 1)
            counts = np.bincount(codes, weights * (1 - even), n_classes)
            counts += weights @ even / n_classes
        penalty, offset = np.column_stack(self._penalise(counts)), np.zeros(n_classes)
        if not penalty[:, -1].any():
            # A common offset would hide how the values differ; free intercepts make up for it.
            values, offset = centre_features(values, weights / weights.sum())
        coefficients, self.n_iter_ = fit_softmax(
            np.column_stack([values, np.ones(len(values))]),
            codes,
            sample_weight,
            start=self._find_start(values, codes, sample_weight, identity, offset),
            varies=~np.isnan(penalty),
            penalty=penalty,
            centre=identity,
            even=even,
        )
        self.coef_ = coefficients[:, :n_classes]
        intercept = coefficients[:, n_classes] - self.coef_ @ offset
        self.intercept_ = intercept - intercept.mean()  # what is added to all changes nothing

    def _find_start(self, values, codes, sample_weight, identity, offset):
        """Coefficients of the map that is near, or else of a temperature."""
        near = self._find_near(len(identity))
        if near is None:
            return self._find_scale(values, codes, sample_weight) * identity
        coefficients = near.coef_ * self._compare_units(near)
        return np.column_stack([coefficients, near.intercept_ + coefficients @ offset])

    def _find_scale(self, values, codes, sample_weight):
        """The factor of all values that fits best."""
        return 1 / fit_temperature(values, codes, sample_weight)[0]

    def _find_near(self, n_classes):
        """The map that is near, if it is of the same classes."""
        coefficients = getattr(self._near, "coef_", np.empty(0))
        return self._near if coefficients.shape == (n_classes, n_classes) else None

    def _compare_units(self, near):
        """How much larger the unit of the values is than that of another map."""
        return 1.0

    def _recalibrate(self, scores):
        values, factors = self._read_scale(scores), np.diag(self.coef_)
        is_diagonal = np.count_nonzero(self.coef_) == np.count_nonzero(factors)
        if is_diagonal and len(factors) == values.shape[1]:
            return find_probabilities(values * factors + self.intercept_)
        return find_probabilities(values @ self.coef_.T + self.intercept_)


class StructuredRecalibrator(AffineRecalibrator):
    """Base class of recalibrators that fit a temperature, then how W and b depart from it.

    A subclass stores ``intercept_penalty`` and ``diagonal_penalty`` and implements
    ``_penalise_off_diagonal``. All its options whose names end in "_penalty" are checked.
    """

    temperature_: float

    @abstractmethod
    def _penalise_off_diagonal(self, n_classes):
        """Penalty off the diagonal, in units of n_classes / n_samples; NaN holds it at 0."""

    def _check_options(self):
        for name in self._list_penalties():
            check_number(name, getattr(self, name), 0)

    def _find_known(self, scores, codes, sample_weight):
        """A class without rows is known if penalties hold what would make its probability 0."""
        if all(getattr(self, name) > 0 for name in self._list_penalties()):
            return find_plausible(scores, codes, sample_weight, self.input)
        return super()._find_known(scores, codes, sample_weight)

    def _list_penalties(self):
        return [name for name in self.get_params() if name.endswith("_penalty")]

    def _fit(self, scores, codes, sample_weight):
        logits = self._to_logits(scores)
        start = getattr(self._near, "temperature_", None)
        self.temperature_, _ = fit_temperature(logits, codes, sample_weight, start=start)
        super()._fit(scores, codes, sample_weight)

    def _find_scale(self, values, codes, sample_weight):
        return 1.0  # they are divided by the temperature

    def _compare_units(self, near):
        return self.temperature_ / near.temperature_

    def _read_scale(self, scores):
        values = super()._read_scale(scores)
        values /= self.temperature_
        return values

    def _penalise(self, counts):
        n_classes, n_samples = len(counts), counts.sum()
        # In Python's floats, which overflow to infinity without a word: it holds as fast.
        share = n_classes / float(n_samples)
        diagonal = share * float(self.diagonal_penalty)
        off_diagonal = share * self._penalise_off_diagonal(n_classes)
        intercept = share * float(self.intercept_penalty)
        shares = (counts + _MORE_ROWS) / (n_samples + n_classes * _MORE_ROWS)
        information = measure_information(shares)
        penalty = np.where(np.eye(n_classes) == 1, diagonal, off_diagonal)
        return penalty, intercept * information
