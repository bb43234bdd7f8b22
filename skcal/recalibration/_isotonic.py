"""Isotonic recalibration."""

import numpy as np
from scipy.special import logsumexp
from sklearn.isotonic import IsotonicRegression

from skcal.recalibration._base import BaseRecalibrator


class IsotonicRecalibration(BaseRecalibrator):
    """Map each class's score by the non-decreasing function with the least squared error.

    Parameters
    ----------
    input : {"proba", "logits"}, default="proba"
        What X holds: probabilities, with rows that sum to 1, or logits, any finite numbers whose
        softmax is meant.
    classes : None, "columns" or array-like of shape (n_classes,), default=None
        Labels of the columns of X. None takes the sorted labels of y, one for each column.
        An array names the label of every column, and y may miss some of them. "columns" means
        that column j belongs to the integer label j.

    Attributes
    ----------
    regressions_ : list of IsotonicRegression
        One map for two classes, that of the second; else one for each class.
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of X, where it has names.

    See Also
    --------
    TemperatureScaling : One parameter; keeps the order of the classes.
    CrossFitProba : Hands out-of-fold probabilities of a classifier to a recalibrator.

    Notes
    -----
    The map is constant outside the scores seen in `fit` and linear between its steps. With more
    than two classes each class is mapped against the rest, and rows are divided by their sums; a
    row that all maps send to 0 becomes uniform. The map yields hard zeros and ones, with which
    a single unlucky row has infinite log loss.

    References
    ----------
    .. [1] B. Zadrozny, C. Elkan (2002). Transforming classifier scores into accurate multiclass
       probability estimates. KDD 8. :doi:`10.1145/775047.775151`

    Examples
    --------
    >>> from skcal.recalibration import IsotonicRecalibration
    >>> X = [[0.9, 0.1], [0.7, 0.3], [0.6, 0.4], [0.2, 0.8]]
    >>> IsotonicRecalibration().fit(X, [0, 1, 0, 1]).predict_proba(X)
    array([[1. , 0. ],
           [0.5, 0.5],
           [0.5, 0.5],
           [0. , 1. ]])
    """

    def _fit(self, scores, codes, sample_weight):
        columns = self._compare_with_rest(scores)
        first = len(self.classes_) - len(columns)
        self.regressions_ = [
            IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(
                column, codes == first + k, sample_weight=sample_weight
            )
            for k, column in enumerate(columns)
        ]

    def _recalibrate(self, scores):
        columns = self._compare_with_rest(scores)
        proba = np.column_stack(
            [
                regression.predict(column)
                for regression, column in zip(self.regressions_, columns, strict=True)
            ]
        )
        if proba.shape[1] == 1:
            return np.hstack([1 - proba, proba])
        total = proba.sum(axis=1, keepdims=True)
        uniform = np.full_like(proba, 1 / proba.shape[1])
        return np.divide(proba, total, out=uniform, where=total > 0)

    def _compare_with_rest(self, scores):
        """Scores of each class against the rest, of the second class alone where there are two."""
        classes = range(1, 2) if scores.shape[1] == 2 else range(scores.shape[1])
        if self.input == "proba":
            return [scores[:, k] for k in classes]
        # Log-odds, which order rows as the probabilities do and do not saturate.
        return [scores[:, k] - logsumexp(np.delete(scores, k, axis=1), axis=1) for k in classes]
