"""Isotonic recalibration."""

from __future__ import annotations

from typing import Literal

import numpy as np
from sklearn.isotonic import IsotonicRegression

from skcal._input._validation import check_number
from skcal._tools._typing import ArrayLike
from skcal.recalibration._one_vs_rest import OneVsRestRecalibrator
from skcal.recalibration._summary_fit import SummaryFitMixin


class IsotonicRecalibration(SummaryFitMixin, OneVsRestRecalibrator):
    r"""Isotonic regression of each class on its score.

    Parameters
    ----------
    input : {"proba", "logits"}, default="proba"
        What X holds: probabilities, with rows that sum to 1, or logits: any finite numbers, to
        which the softmax is applied.
    classes : None, "columns" or array-like of shape (n_classes,), default=None
        Labels of the columns of X. None takes the sorted labels of y, one for each column.
        An array names the label of every column, and y may miss some of them. "columns" means
        that column j belongs to the integer label j.
    min_proba : float, default=0.0
        Maps stay within [min_proba, 1 - min_proba], before rows are divided by their sums. Any
        positive number, such as 1 / (n_samples + 2), keeps the log loss finite. In [0, 0.5).
    n_jobs : int, default=None
        Number of joblib jobs: `fit` handles the classes, each against the rest, in parallel
        processes, and parts of the rows are mapped in parallel threads; None is one. It pays off
        with hundreds of classes.

    Attributes
    ----------
    maps_ : list of IsotonicRegression
        One map for two classes, that of the second; else one for each class.
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
    TemperatureScaling : One parameter; keeps the order of the classes.
    CrossFitProba : Passes out-of-fold probabilities of a classifier to a recalibrator.

    Notes
    -----
    The map reads the probability of the class, or with logits its log-odds, for class k
    :math:`z_k - \log \sum_{j \ne k} e^{z_j}`. It is linear between the points (`X_thresholds_`,
    `y_thresholds_`), the ends of its steps, and constant outside the scores seen in `fit`. With
    more than two classes each class is mapped against the rest [1]_, and rows are divided by their
    sums; a row that all maps send to 0 becomes uniform. The map returns exact zeros and ones, with
    which a single row may have an infinite log loss; `min_proba` prevents this.

    After rows are divided by their sums, mean probabilities may no longer match the class
    frequencies, especially for a rare class after training on balanced classes. If a test at level
    0.1 rejects them, `intercepts_` restore the means, as in `AutoRecalibration`.

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

    maps_: list[IsotonicRegression]
    _gives_hard_probabilities = True
    _is_monotone = True

    def __init__(
        self,
        *,
        input: Literal["proba", "logits"] = "proba",
        classes: ArrayLike | Literal["columns"] | None = None,
        min_proba: float = 0.0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(input=input, classes=classes, n_jobs=n_jobs)
        self.min_proba = min_proba

    def _check_options(self):
        check_number("min_proba", self.min_proba, 0, below=0.5)

    def _read_scale(self, scores):
        if self.input == "proba":
            return super()._read_scale(scores)
        return self._to_log_odds(scores)  # in the same order, and they do not saturate

    def _fit_map(self, values, outcomes, sample_weight):
        regression = IsotonicRegression(
            y_min=self.min_proba, y_max=1 - self.min_proba, out_of_bounds="clip"
        )
        return regression.fit(values, outcomes, sample_weight=sample_weight)

    def _apply_map(self, fitted, values):
        return np.interp(values, fitted.X_thresholds_, fitted.y_thresholds_)
