"""Venn-Abers prediction."""

from __future__ import annotations

import numpy as np

from skcal._numerics.recalibration._venn_abers import VennAbersMap, fit_venn_abers
from skcal._tools._typing import ArrayLike
from skcal.recalibration._one_vs_rest import OneVsRestRecalibrator


class VennAbers(OneVsRestRecalibrator):
    r"""Venn-Abers prediction: two isotonic regressions bracket each probability.

    The inductive Venn-Abers predictor: either outcome is tried on the new row, and isotonic
    regression of the training rows with the new one gives a probability for each.

    Parameters
    ----------
    input : {"proba", "logits"}, default="proba"
        What X holds: probabilities, with rows that sum to 1, or logits: any finite numbers, to
        which the softmax is applied.
    classes : None, "columns" or array-like of shape (n_classes,), default=None
        Labels of the columns of X. None takes the sorted labels of y, one for each column.
        An array names the label of every column, and y may miss some of them. "columns" means
        that column j belongs to the integer label j.
    n_jobs : int, default=None
        Number of joblib jobs: `fit` handles the classes, each against the rest, in parallel
        processes, and parts of the rows are mapped in parallel threads; None is one. It pays off
        with hundreds of classes.

    Attributes
    ----------
    maps_ : list of named tuples
        The steps of the lower and the upper probability. At each of `knots`, scores in increasing
        order, one of the two takes its next value, the upper one where `is_upper` is True; the
        values are `lower` and `upper`, the first of them below all knots. One for two classes, that
        of the second; else one for each class.
    intercepts_ : ndarray of shape (n_classes,)
        Added to the log probabilities of more than two classes, which are then normalized again; 0
        unless a test calls for them (see Notes).
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns of X, if it has any.

    See Also
    --------
    IsotonicRecalibration : One isotonic regression, without the new row.
    CrossFitProba : Passes out-of-fold probabilities of a classifier to a recalibrator.

    Notes
    -----
    For a score s let :math:`p_0` and :math:`p_1` be the values at s of the isotonic regressions
    of the training rows with one more row (s, 0) or (s, 1). Then :math:`p_0 \le p_1`, and one of
    them, that of the true outcome, is perfectly calibrated if rows are exchangeable [1]_. They
    are merged to

    .. math:: p = \frac{p_1}{1 - p_0 + p_1},

    which is strictly between 0 and 1, does not decrease with s, and whose log loss is the least
    in the worst case. With more than two classes each class is treated against the rest, and
    rows are divided by their sums.

    Both values are found for all scores at once in :math:`O(n \log n)`, exactly, and only the
    steps where one of them changes are kept: if r of the m knots up to s are of the upper
    probability, :math:`p_1` is ``upper[r]`` and :math:`p_0` is ``lower[m - r]``, or
    :math:`p_1` if that is less. There are few where the outcomes are mixed, and as
    many as distinct scores where they are separated. Only the order of the scores matters;
    scores that differ by rounding, a relative 1e-13, are tied. A score is the probability of the
    class, or with logits its log-odds, for class k :math:`z_k - \log \sum_{j \ne k} e^{z_j}`.

    The probabilities of two classes lean to 1/2, as if there were one row more of either outcome on
    every step: where events are few, the sum of their probabilities is larger than their number by
    about one for each step of the map.

    The new row has weight 1, so that weights are read as counts: twice the weights is twice the
    data, and brings :math:`p_0` and :math:`p_1` nearer to each other.

    After rows are divided by their sums, mean probabilities may no longer match the class
    frequencies, especially for a rare class after training on balanced classes. If a test at level
    0.1 rejects them, `intercepts_` restore the means, as in `AutoRecalibration`.

    References
    ----------
    .. [1] V. Vovk, I. Petej, V. Fedorova (2015). Large-scale probabilistic predictors with and
       without guarantees of validity. NeurIPS 28. :doi:`10.48550/arXiv.1511.00213`

    Examples
    --------
    >>> from skcal.recalibration import VennAbers
    >>> X = [[0.9, 0.1], [0.7, 0.3], [0.6, 0.4], [0.2, 0.8]]
    >>> recalibrator = VennAbers().fit(X, [0, 1, 0, 1])
    >>> recalibrator.predict_proba([[0.2, 0.8]]).round(3)
    array([[0.333, 0.667]])
    >>> recalibrator.predict_interval([[0.2, 0.8]]).round(3)
    array([[[0. , 0.5],
            [0.5, 1. ]]])
    """

    maps_: list[VennAbersMap]
    _is_monotone = True
    _fewest_rows = 1 << 12  # so that steps are tabulated few times

    def predict_interval(self, X: ArrayLike) -> np.ndarray:
        """Lower and upper probability of every class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Class scores in the layout of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes, 2)
            Lower and upper probability, in [0, 1]; classes are in the order of `classes_`. With
            more than two classes each class is against the rest, before rows are divided by
            their sums, so that the output of `predict_proba` may lie outside. The float type is
            that of X. A class that no row was of keeps its probability, as both ends, and so do
            all classes where all rows were of one.
        """
        columns = self._read_columns(X)
        scores = self._arrange_columns(columns)
        seen = vars(self).get("_seen")
        if seen is None:
            return self._find_interval(scores).astype(columns.dtype, copy=False)
        proba = self._to_probabilities(scores)
        interval = np.stack([proba, proba], axis=2)
        if len(seen) > 1:
            view, part = self._view_seen(scores, seen)
            ends = view._find_interval(part)
            interval[:, seen] = ends * proba[:, seen].sum(axis=1)[:, None, None]
        return interval.astype(columns.dtype, copy=False)

    def _find_interval(self, scores):
        values = self._read_scale(scores)
        interval = np.empty((*scores.shape, 2))
        first = scores.shape[1] - len(self.maps_)
        for k, (fitted, column) in enumerate(zip(self.maps_, values.T, strict=True), start=first):
            interval[:, k] = np.column_stack(fitted.tabulate())[fitted.find(column)]
        if first:
            interval[:, 0] = 1 - interval[:, 1, ::-1]
        return interval

    def _read_scale(self, scores):
        if self.input == "proba":
            return super()._read_scale(scores)
        return self._to_log_odds(scores)  # in the same order, and they do not saturate

    def _fit_map(self, values, outcomes, sample_weight):
        # Rounding is relative to a probability, but absolute on its logarithm.
        unit = {} if self.input == "proba" else {"unit": 1.0}
        return fit_venn_abers(values, outcomes, sample_weight, **unit)

    def _apply_map(self, fitted, values):
        lower, upper = fitted.tabulate()
        return (upper / (1 - lower + upper))[fitted.find(values)]
