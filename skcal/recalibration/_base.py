"""The base class of all recalibrators: it alone looks at user input."""

from abc import ABCMeta, abstractmethod
from contextlib import contextmanager

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from skcal._arrays import (
    NUMPY,
    as_float64,
    choose_home,
    concat,
    find_distinct,
    find_home,
    home_of,
    is_foreign,
    kind_of,
    namespace,
    refuse_foreign,
    search_sorted,
    take_columns,
    take_from,
    to_numpy,
)
from skcal._numerics._temperature import fit_temperature
from skcal._validation import (
    ROW_SUM_TOLERANCE,
    check_labels,
    check_option,
    check_sample_weight,
    receive,
    refuse_missing_labels,
    show_labels,
)

# Probabilities are not taken below this before a logarithm: the logit of a hard 0 or 1 is 36.
SMALLEST_PROBABILITY = float(np.finfo(np.float64).eps)
# Probabilities may leave [0, 1] by this much, and are clipped to it.
RANGE_TOLERANCE = 1e-6
# Logits beyond this would overflow in sums and squares.
LARGEST_LOGIT = 1e100
# Logits further than this many temperatures below the largest of their row are raised to there.
# Their probability is nil either way, but classes masked by -1e9 would drown all other differences.
LOGIT_DEPTH = 700


class NotClassScoresError(ValueError):
    """X is not a matrix of class scores: a wrong number of columns, no probabilities, or NaN.

    Examples
    --------
    >>> from skcal.recalibration import NotClassScoresError, TemperatureScaling
    >>> try:
    ...     TemperatureScaling().fit([[5.1, 3.5], [4.9, 3.0]], [0, 1])
    ... except NotClassScoresError as error:
    ...     print(str(error).split(";")[0])
    X must hold class probabilities, rows in [0, 1] that sum to 1
    """


@contextmanager
def restored_on_error(estimator):
    """Give an estimator its attributes back if what it does inside fails."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


class BaseRecalibrator(
    OneToOneFeatureMixin, ClassifierMixin, TransformerMixin, BaseEstimator, metaclass=ABCMeta
):
    """Base class of recalibrators, maps from class scores to better probabilities.

    A recalibrator is a transformer and a classifier at once, so that a pipeline that ends in it
    is a classifier. `transform` keeps the layout of X; `predict_proba` has a column for each of
    `classes_`.

    A subclass defines ``_fit(scores, codes, sample_weight)``, which sets fitted attributes, and
    ``_recalibrate(scores)``, which returns probabilities of shape (n_samples, n_classes). Both
    get float64 scores of shape (n_samples, n_classes) with columns in the order of `classes_`,
    checked; ``codes`` are the columns of the true labels, and ``sample_weight`` is None or an
    array. ``_to_logits(scores)`` and ``_to_probabilities(scores)`` read scores as what they need.
    ``_check_options()`` may be overridden to check the subclass's own parameters. Where rounding
    yields 0 or 1 the nearest number between is returned, unless ``_gives_hard_probabilities``
    says that 0 and 1 are meant. With ``_is_on_device`` both methods get arrays of any library
    under scikit-learn's ``array_api_dispatch``; otherwise X must then be read by NumPy.

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
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns of X, where it has names.

    See Also
    --------
    CrossFitProba : Hands out-of-fold probabilities of a classifier to a recalibrator.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.recalibration import BaseRecalibrator
    >>> class Shrink(BaseRecalibrator):
    ...     def _fit(self, scores, codes, sample_weight):
    ...         counts = np.bincount(codes, sample_weight, minlength=len(self.classes_))
    ...         self.base_rate_ = counts / counts.sum()
    ...
    ...     def _recalibrate(self, scores):
    ...         return (self._to_probabilities(scores) + self.base_rate_) / 2
    >>> Shrink().fit([[0.9, 0.1], [0.1, 0.9]], ["no", "yes"]).predict_proba([[1, 0]])
    array([[0.75, 0.25]])
    """

    _gives_hard_probabilities = False
    _is_on_device = False

    def __init__(self, *, input="proba", classes=None):
        self.input = input
        self.classes = classes

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.array_api_support = self._is_on_device
        return tags

    def fit(self, X, y, sample_weight=None):
        """Fit the recalibrator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes) or (n_samples, 1)
            Class scores of rows that the classifier was not fitted on; for two classes one
            column, the score of the second class (of ``classes[1]`` where given), is enough.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights. A row of weight zero counts for nothing, except that its label
            is one of the classes.

        Returns
        -------
        self : object
            The fitted recalibrator.

        Raises
        ------
        NotClassScoresError
            If X holds no scores of the classes in y.
        ValueError
            If another argument is invalid.
        """
        with restored_on_error(self):
            self._fit_checked(X, y, sample_weight)
        return self

    def predict_proba(self, X):
        """Recalibrated probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Class scores in the layout of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1; columns are in the order of `classes_`. Of the float type of X.
        """
        scores, dtype = self._read_scores(X)
        proba = self._finish(self._recalibrate(scores), dtype)
        return (find_home(X) or NUMPY).receive(proba)

    def transform(self, X):
        """Recalibrated probabilities in the layout of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Class scores in the layout of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_columns)
            Probabilities, each in the column of its score. Of the float type of X.
        """
        proba = self.predict_proba(X)
        return take_columns(proba, np.argsort(self._order))[:, -self.n_features_in_ :]

    def predict(self, X):
        """Label of the largest recalibrated probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Class scores in the layout of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The first of `classes_` where several are equally probable.
        """
        proba = self.predict_proba(X)
        top = namespace(proba).argmax(proba, axis=1)
        if self.classes_.dtype.kind == "U":  # which only NumPy has
            top = to_numpy(top)
        return take_from(self.classes_, top)

    def _fit_checked(self, X, y, sample_weight):
        check_option("input", self.input, ("proba", "logits"))
        self._check_options()
        home = self._choose_home(X)
        refuse_missing_labels("y", y)
        if isinstance(y, list | tuple):  # NumPy might turn labels of several types to text
            y = check_labels("y", y)
        X, y = self._validate(X, home, y=receive("y", y, home))
        if kind_of(y) == "O":  # scikit-learn wants no numbers as objects, nor several types
            y = check_labels("y", y, home)
        check_classification_targets(y)
        sample_weight = check_sample_weight(sample_weight, X.shape[0], home)
        y = check_labels("y", y, home)
        labels = self._name_columns(X, y)
        self._check_scores(X)
        self._order = np.argsort(labels, kind="stable")
        self.classes_ = labels[self._order]
        self._depth = np.inf
        scores = self._arrange(X)
        codes = home_of(scores).receive(search_sorted(self.classes_, y))
        if sample_weight is not None:
            present = sample_weight > 0  # a weight of zero equals absence
            scores, codes = scores[present], codes[present]
            sample_weight = as_float64(sample_weight[present])
        if self.input == "logits":
            temperature, _ = fit_temperature(scores, codes, sample_weight)
            self._depth = LOGIT_DEPTH * temperature
            scores = self._raise_logits(scores)
        self._fit(scores, codes, sample_weight)

    @abstractmethod
    def _fit(self, scores, codes, sample_weight):
        """Set the fitted attributes."""

    @abstractmethod
    def _recalibrate(self, scores):
        """Probabilities of shape (n_samples, n_classes)."""

    def _check_options(self):
        """Raise ValueError for an invalid parameter of the subclass."""

    def _read_scores(self, X):
        """Scores as `_recalibrate` gets them, and the float type of X."""
        check_is_fitted(self)
        X = self._validate(X, self._choose_home(X), reset=False)
        self._check_scores(X)
        return self._raise_logits(self._arrange(X)), X.dtype

    def _choose_home(self, X):
        """Where to compute, None for NumPy alone; X is then refused if it is not for NumPy."""
        if self._is_on_device:
            return choose_home(X)
        refuse_foreign("X", X)
        return None

    def _validate(self, X, home, **options):
        """X, and y if given, as scikit-learn checks them; X at its home."""
        xp = np if home is None else home.xp
        X, floats = receive("X", X, home), [xp.float64, xp.float32]
        return validate_data(self, X, dtype=floats, ensure_all_finite=False, **options)

    def _finish(self, proba, dtype):
        """Probabilities in the given float type, inside (0, 1) unless 0 and 1 are meant."""
        if is_foreign(proba):
            xp, limits = namespace(proba), namespace(proba).finfo(dtype)
            below_one = 1 - float(limits.eps) / 2
            return xp.clip(xp.astype(proba, dtype), float(limits.smallest_normal), below_one)
        proba = proba.astype(dtype, copy=False)
        if self._gives_hard_probabilities:
            return proba
        below_one = np.nextafter(dtype.type(1), dtype.type(0))
        return np.clip(proba, np.finfo(dtype).tiny, below_one, out=proba)

    def _to_probabilities(self, scores):
        return scores if self.input == "proba" else softmax(scores, axis=1)

    def _to_logits(self, scores):
        if self.input == "logits":
            return scores
        xp = namespace(scores)
        return xp.log(xp.clip(scores, SMALLEST_PROBABILITY, 1.0))

    def _raise_logits(self, scores):
        if not np.isfinite(self._depth):
            return scores
        xp = namespace(scores)
        floor = xp.max(scores, axis=1, keepdims=True) - self._depth
        return xp.maximum(scores, floor)

    def _arrange(self, X):
        """Scores as float64, a column for each of `classes_` in their order."""
        X, xp = as_float64(X), namespace(X)
        if self.input == "proba":
            X = xp.clip(X, 0.0, 1.0)
        if X.shape[1] == 1:
            X = concat([1 - X if self.input == "proba" else xp.zeros_like(X), X], axis=1)
        return take_columns(X, self._order)

    def _name_columns(self, X, y):
        """Label of every column of X, of both classes for a single column."""
        n_columns = max(X.shape[1], 2)
        found = find_distinct(y)
        if self.classes is None:
            labels = found
            if len(labels) < 2:
                raise ValueError(
                    "y must hold at least two classes; got only one class, "
                    f"{show_labels(found)}. Name the labels of all columns with classes=."
                )
        elif isinstance(self.classes, str):
            check_option("classes", self.classes, ("columns",))
            labels = np.arange(n_columns)
        else:
            labels = check_labels("classes", self.classes)
            if len(np.unique(labels)) != len(labels) or len(labels) < 2:
                raise ValueError(
                    f"classes must be two or more distinct labels; got {show_labels(labels)}."
                )
        if len(labels) != n_columns:
            raise NotClassScoresError(
                f"X has {X.shape[1]} columns but there are {len(labels)} classes. "
                f"{type(self).__name__} takes class scores, one column for each class, not raw "
                "features: put CrossFitProba(classifier) before it in a pipeline. If y misses "
                "some of the classes, name the labels of all columns with classes=."
            )
        same_kind = (found.dtype.kind == "U") == (labels.dtype.kind == "U")
        if not same_kind or not np.isin(found, labels).all():
            raise ValueError(
                f"y has labels that are not among the {len(labels)} classes of the columns of X, "
                f"{show_labels(labels)}; got {show_labels(found)}."
            )
        return labels

    def _check_scores(self, X):
        xp = namespace(X)
        finite = xp.isfinite(X)
        if not xp.all(finite):
            X, finite = to_numpy(X), to_numpy(finite)
            row = np.flatnonzero(~finite.all(axis=1))[0]
            raise NotClassScoresError(
                "X must be finite; Input X contains NaN or infinity: row "
                f"{row} has {X[row][~finite[row]][0]}."
            )
        if self.input == "logits":
            low, high = float(xp.min(X)), float(xp.max(X))
            if max(high, -low) > LARGEST_LOGIT:
                raise NotClassScoresError(
                    f"X must hold logits between -{LARGEST_LOGIT:g} and {LARGEST_LOGIT:g}; got "
                    f"values from {low:.7g} to {high:.7g}."
                )
            return
        # A softmax in float32 misses [0, 1] by its rounding.
        in_range = xp.all((X >= -RANGE_TOLERANCE) & (X <= 1 + RANGE_TOLERANCE), axis=1)
        bad = ~in_range
        if X.shape[1] > 1:
            bad |= xp.abs(xp.sum(X, axis=1, dtype=xp.float64) - 1) > ROW_SUM_TOLERANCE
        if xp.any(bad):
            X, row = to_numpy(X), np.flatnonzero(to_numpy(bad))[0]
            raise NotClassScoresError(
                f"X must hold class probabilities, rows in [0, 1] that sum to 1; row {row} "
                f"of {X.shape[1]} columns has values from {X[row].min():.7g} to "
                f"{X[row].max():.7g} and sums to {X[row].sum():.7g}. For scores such as those of "
                "decision_function say input='logits'. For raw features put "
                "CrossFitProba(classifier) before this step in a pipeline."
            )
