"""Randomized smoothing: Theorem 20 of the SmoothECE paper."""

from __future__ import annotations

from typing import Literal

import numpy as np

from skcal._input._validation import check_number, check_rng
from skcal._numerics.curves._kernel_curve import SMALLEST_BANDWIDTH
from skcal._tools._typing import ArrayLike, RandomState
from skcal.recalibration._base import BaseRecalibrator
from skcal.recalibration._confidence import mark_correct, measure_accuracy, share_rest
from skcal.recalibration._fitted import KernelMap
from skcal.recalibration._kernel import KernelRecalibration

# From here on the curve is level, wherever the noise leads; that of the largest would overflow.
_WIDEST = 1e3


class RandomizedSmoothing(BaseRecalibrator):
    r"""Randomized smoothing: add noise, then take the smoothed curve; calibrated by construction.

    On the fitted rows the result is perfectly calibrated in distribution, whatever their
    predictions were, and it stays within a small multiple of SmoothECE from them, on average.
    That makes SmoothECE a distance to calibration. The result for a row is random;
    `KernelRecalibration` reads the same curve without noise.

    Parameters
    ----------
    input : {"proba", "logits"}, default="proba"
        What X holds: probabilities, with rows that sum to 1, or logits: any finite numbers, to
        which the softmax is applied.
    classes : None, "columns" or array-like of shape (n_classes,), default=None
        Labels of the columns of X. None takes the sorted labels of y, one for each column.
        An array names the label of every column, and y may miss some of them. "columns" means
        that column j belongs to the integer label j.
    bandwidth : float, default=None
        Standard deviation s of the noise and of the kernel, at least 0.001. None takes SmoothECE
        of the fitted rows, but not less than 0.001.
    random_state : int, RandomState, Generator or None, default=None
        Source of the noise. With an integer every call draws the same numbers, one for
        each row in their order; otherwise every call draws new ones, so that `predict` and
        `predict_proba` may disagree.

    Attributes
    ----------
    bandwidth_ : float
        The bandwidth.
    curve_ : named tuple
        The smoothed mean outcome: `bandwidth`, a float, `knots`, predictions in increasing order,
        and `values`, the curve at them, both of shape (n_knots,); it is straight in between.
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns of X, if it has any.

    Warns
    -----
    UserWarning
        If scores of more than two classes are no better than chance.

    See Also
    --------
    KernelRecalibration : The smoothed curve without noise, and class by class.
    ConfidenceReplacement : Calibrated by construction, but far from the given probabilities.
    skcal.metrics.smooth_ece : The measure whose meaning this shows.

    Notes
    -----
    Let v be the probability of the second class of two. With standard normal :math:`\eta` the
    noisy prediction :math:`u`, that is :math:`v + s \eta` reflected into [0, 1], has the density
    :math:`K_s(u, v)` of the reflected Gaussian kernel. The answer is
    :math:`\mu(u) = \mathbb{E}[K_s(u, v) y] / \mathbb{E}[K_s(u, v)]`, the mean taken over the
    fitted rows. It is the mean outcome given u, so that the answers to the fitted rows are
    calibrated, and

    .. math:: \mathbb{E} |\mu(u) - v| \le \mathrm{smECE}_s + 2 \sqrt{2 / \pi}\, s,

    which at SmoothECE, where the first term is s, is :math:`(1 + 2 \sqrt{2 / \pi})\, s`
    [1]_. Both hold in the mean over rows and noise, not row by row.

    With K > 2 classes v is the confidence, the probability of the class with the largest score,
    and y whether that class is right; the other classes share the rest evenly. Where the answer
    is below 1 / K, each of the others becomes more probable than the class that was predicted,
    and `predict` takes the first of them. `fit` warns if the accuracy on the fitted rows is 1 / K
    or less.

    The curve is that of `KernelRecalibration`, kept at knots between which linear interpolation
    errs by at most 4e-4; the theorem holds up to that. Where rounding yields 0 or 1, the nearest
    number inside is returned.

    References
    ----------
    .. [1] J. Błasiok, P. Nakkiran (2024). Smooth ECE: principled reliability diagrams via
       kernel smoothing. ICLR. Theorem 20. :doi:`10.48550/arXiv.2309.12236`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.metrics import smooth_ece
    >>> from skcal.recalibration import RandomizedSmoothing
    >>> rng = np.random.default_rng(0)
    >>> v = rng.random(2000)
    >>> X, y = np.column_stack([1 - v, v]), rng.random(2000) < 0.25 + v / 2
    >>> recalibrator = RandomizedSmoothing(random_state=0).fit(X, y)
    >>> answers = recalibrator.predict_proba(X)
    >>> smooth_ece(y, answers) < smooth_ece(y, X) / 2
    True
    >>> bool(np.abs(answers - X).mean() < 2.6 * recalibrator.bandwidth_)
    True
    """

    bandwidth_: float
    curve_: KernelMap
    _serves_unseen = True

    def __init__(
        self,
        *,
        input: Literal["proba", "logits"] = "proba",
        classes: ArrayLike | Literal["columns"] | None = None,
        bandwidth: float | None = None,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(input=input, classes=classes)
        self.bandwidth = bandwidth
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags

    def _check_options(self):
        if self.bandwidth is not None:
            check_number("bandwidth", self.bandwidth, SMALLEST_BANDWIDTH)
        check_rng(self.random_state)

    def _select(self, scores, codes, known):
        return scores, codes

    def _fit(self, scores, codes, sample_weight):
        proba = self._to_probabilities(scores)
        if len(self.classes_) == 2:
            predictions, outcomes = proba[:, 1], codes
        else:
            predictions, outcomes = proba.max(axis=1), mark_correct(scores, codes)
            measure_accuracy(outcomes, sample_weight, len(self.classes_))
        kernel = KernelRecalibration(bandwidth=self.bandwidth)
        self.curve_ = kernel._fit_map(predictions, outcomes.astype(np.float64), sample_weight)
        self.bandwidth_ = self.curve_.bandwidth

    def _list_parts(self, X):
        return [slice(None)]  # one after the other they would get other random numbers

    def _recalibrate(self, scores):
        proba = self._to_probabilities(scores)
        if len(self.classes_) > 2:
            return share_rest(scores, self._smooth(proba.max(axis=1)))
        positive = self._smooth(proba[:, 1])
        return np.column_stack([1 - positive, positive])

    def _smooth(self, predictions):
        noise = check_rng(self.random_state).standard_normal(len(predictions))
        noise *= min(self.bandwidth_, _WIDEST)
        noise += predictions
        return np.interp(reflect(noise), self.curve_.knots, self.curve_.values)


def reflect(points):
    """Fold the real line onto [0, 1]."""
    return np.abs((points + 1) % 2 - 1)
