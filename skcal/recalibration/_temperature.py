"""Temperature scaling."""

from __future__ import annotations

from typing import Literal

from skcal._input._validation import check_option
from skcal._numerics.recalibration._scores import find_probabilities
from skcal._numerics.recalibration._temperature import fit_temperature
from skcal._tools._arrays import namespace
from skcal._tools._typing import ArrayLike
from skcal.recalibration._class_scores import LOGIT_DEPTH, find_plausible
from skcal.recalibration._row_blocks import BlockRecalibrator
from skcal.recalibration._summary_fit import SummaryFitMixin


class TemperatureScaling(SummaryFitMixin, BlockRecalibrator):
    r"""Temperature scaling: divide all logits by one number that minimizes the log loss.

    A temperature above 1 makes predictions less confident, one below 1 more confident. The order
    of the classes in a row never changes, up to ties by rounding and of probabilities raised to
    `min_proba_`.

    Parameters
    ----------
    input : {"proba", "logits"}, default="proba"
        What X holds: probabilities, with rows that sum to 1, or logits: any finite numbers, to
        which the softmax is applied. Logarithms of probabilities serve as logits.
    classes : None, "columns" or array-like of shape (n_classes,), default=None
        Labels of the columns of X. None takes the sorted labels of y, one for each column.
        An array names the label of every column, and y may miss some of them. "columns" means
        that column j belongs to the integer label j.
    min_proba : "auto" or float, default="auto"
        Probabilities below it, such as the zeros of forests, are raised to it before logarithms
        are taken. "auto" takes half of the smallest positive probability of the fitted rows, at
        most 1 / (2 n_classes), if some of them are 0, and else 0. In [0, 1 / n_classes); 0 means
        2.2e-16. Logits are taken as they are.
    loss : {"log", "brier"}, default="log"
        What the temperature minimises: the mean log loss or the Brier score.

    Attributes
    ----------
    temperature_ : float
        The temperature, positive.
    n_iter_ : int
        Evaluations of the loss or its derivatives on all rows.
    min_proba_ : float
        Probabilities below it are raised to it; 0 for logits.
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns of X, if it has any.

    See Also
    --------
    IsotonicRecalibration : Any non-decreasing map, class by class.
    CrossFitProba : Passes out-of-fold probabilities of a classifier to a recalibrator.

    Notes
    -----
    With logits z and temperature T the probabilities are
    :math:`\operatorname{softmax}(z / T)`, and T minimises their mean log loss [1]_, which is
    convex in 1/T, or their Brier score [2]_, which may have several minima: the lowest within a
    factor of 54 of the temperature of the log loss is taken. Where every row is predicted right
    the optimum of the log loss is T = 0, and T stops where less than 1e-12 is left to gain. Where
    the scores are worse than uninformative ones it is infinity, and T stops at 1e12 times the
    largest difference of two logits of a row. Differences beyond 1e6 times their median count as
    that, and where most are so large, those beyond 1e8 times the largest of a true class: they mask
    classes that are ruled out.

    A class without rows takes part, as do tokens of a vocabulary that a text lacks, if the scores
    promise some rows of it, at most ten. If they promise more, the rows were not drawn from all
    classes: the temperature is that of the other classes, given that one of them comes true, and
    `fit` warns. It also warns if the scores rule the class out in all rows.

    There is no shift: a class that is too probable in all rows stays so. For a rare event behind a
    model with balanced classes, take a recalibrator with intercepts, such as `PlattScaling` for two
    classes and `StructuredMatrixScaling` for more.

    Under scikit-learn's ``array_api_dispatch`` X may be an array of any library, which `fit` reads
    where it is, and `transform` and `predict_proba` return arrays of that library, device and
    float type; so does `predict`, unless labels are strings. `temperature_` is still a Python float
    and `classes_` a NumPy array, so that the fit can be applied to X of any library.

    Logits z are X, or the logarithms of its probabilities, after raising those below `min_proba_`
    to it. If rounding yields 0 or 1, the nearest number inside is returned.

    A logit of -inf says that a class is impossible for a row, as masks of a vocabulary do. Its
    probability is exactly 0, and those of the other classes are what they are without it. The true
    class of a fitted row must be possible.

    From 256 classes on, logits are read a few rows at a time. Beside X, which may be float16, `fit`
    needs next to no memory, and `transform` that of the answer. Tensors of bfloat16 become float32.

    References
    ----------
    .. [1] C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger (2017). On calibration of modern neural
       networks. ICML 34. :doi:`10.48550/arXiv.1706.04599`
    .. [2] J. Zhang, B. Kailkhura, T. Y.-J. Han (2020). Mix-n-match: ensemble and compositional
       methods for uncertainty calibration in deep learning. ICML 37.
       :doi:`10.48550/arXiv.2003.07329`

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.pipeline import make_pipeline
    >>> from skcal.recalibration import CrossFitProba, TemperatureScaling
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(CrossFitProba(GaussianNB()), TemperatureScaling()).fit(X, y)
    >>> model[-1].temperature_ > 1  # naive Bayes is over-confident
    True
    """

    temperature_: float
    n_iter_: int
    _is_monotone = True
    _serves_unseen = True

    def __init__(
        self,
        *,
        input: Literal["proba", "logits"] = "proba",
        classes: ArrayLike | Literal["columns"] | None = None,
        min_proba: float | Literal["auto"] = "auto",
        loss: Literal["log", "brier"] = "log",
    ) -> None:
        super().__init__(input=input, classes=classes, min_proba=min_proba)
        self.loss = loss

    def _check_options(self):
        check_option("loss", self.loss, ("log", "brier"))

    def _find_known(self, scores, codes, sample_weight):
        return find_plausible(scores, codes, sample_weight, self.input)

    def _reach(self, logits, codes, sample_weight):
        """What lies deeper has the probability 0 at the temperature, however small that is."""
        return LOGIT_DEPTH * self._search(logits, codes, sample_weight)[0]

    def _search(self, logits, codes, sample_weight, loss="log"):
        """The temperature, from what was found last of the same or similar rows."""
        last = vars(self).get("_found", [getattr(self._near, "temperature_", None)])
        self._found = fit_temperature(
            logits, codes, sample_weight, loss=loss, start=last[0], xp=namespace(codes)
        )
        return self._found

    def _fit(self, scores, codes, sample_weight):
        # What was found before some logits were raised is right where none were.
        if "_found" not in vars(self) or self.loss == "brier" or scores.top is not None:
            self._search(self._to_logits(scores), codes, sample_weight, self.loss)
        self.temperature_, self.n_iter_ = vars(self).pop("_found")

    def _recalibrate(self, scores):
        return find_probabilities(self._to_logits(scores) / self.temperature_)
