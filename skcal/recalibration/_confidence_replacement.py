"""Every confidence is replaced by the mean accuracy: the trivial recalibrator."""

from skcal.recalibration._base import BaseRecalibrator
from skcal.recalibration._confidence import mark_correct, measure_accuracy, share_rest


class ConfidenceReplacement(BaseRecalibrator):
    r"""Replace every confidence by the accuracy on the training rows (trivial recalibration).

    Also known as mean replacement [1]_. It makes the confidence calibrated and useless: calibration
    errors of the confidence become small, the accuracy stays, and all rows get the same confidence.
    It demonstrates what a calibration error alone does not detect, and is not for use.

    Parameters
    ----------
    input : {"proba", "logits"}, default="proba"
        What X holds: probabilities, with rows that sum to 1, or logits: any finite numbers, to
        which the softmax is applied.
    classes : None, "columns" or array-like of shape (n_classes,), default=None
        Labels of the columns of X. None takes the sorted labels of y, one for each column.
        An array names the label of every column, and y may miss some of them. "columns" means
        that column j belongs to the integer label j.

    Attributes
    ----------
    accuracy_ : float
        Weighted share of the fitted rows whose largest score is that of their label, but not less
        than 1 / K and a millionth of it, where K is the number of classes.
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns of X, if it has any.

    Warns
    -----
    UserWarning
        If the scores are no better than chance.

    See Also
    --------
    RandomizedSmoothing : Also calibrated by construction, but near the given probabilities.
    HistogramBinning : Means of bins instead of one mean.

    Notes
    -----
    The class with the largest score, the first of several, gets the probability
    :math:`\hat{a}`, the accuracy, and each of the K - 1 others :math:`(1 - \hat{a}) / (K - 1)`
    [1]_; so too for two classes. Calibration errors of the confidence (ECE, SmoothECE)
    get better, log loss and Brier score usually worse: report a proper score next to a calibration
    error.

    With an accuracy of 1 / K or less the predicted class would not stay the most probable one.
    `fit` then warns, and `accuracy_` is 1 / K and a millionth of it. An accuracy of 1
    gives a probability of 1, or rather the number next to it, and a single wrong row then has an
    enormous log loss.

    References
    ----------
    .. [1] M. Chidambaram, R. Ge (2024). Reassessing how to compare and improve the calibration
       of machine learning models. :doi:`10.48550/arXiv.2406.04068`

    Examples
    --------
    >>> from skcal.recalibration import ConfidenceReplacement
    >>> X = [[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.0, 0.1, 0.9], [0.3, 0.2, 0.5], [0.1, 0.5, 0.4]]
    >>> recalibrator = ConfidenceReplacement().fit(X, [0, 1, 2, 2, 0])
    >>> recalibrator.accuracy_
    0.8
    >>> recalibrator.predict_proba([[0.36, 0.33, 0.31]]).round(2)
    array([[0.8, 0.1, 0.1]])
    """

    accuracy_: float
    _serves_unseen = True

    def _select(self, scores, codes, known):
        return scores, codes

    def _fit(self, scores, codes, sample_weight):
        correct = mark_correct(scores, codes)
        self.accuracy_ = measure_accuracy(correct, sample_weight, len(self.classes_))

    def _recalibrate(self, scores):
        return share_rest(scores, self.accuracy_)
