"""The base class of all recalibrators: it alone looks at user input."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from copy import copy
from typing import Any, Literal, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from skcal._fitting._folds import restored_on_error
from skcal._input._column_names import check_column_order
from skcal._input._validation import (
    check_option,
    check_target,
    check_weights,
    refuse_indicator,
    show_labels,
)
from skcal._numerics.recalibration._scores import SMALLEST_PROBABILITY
from skcal._tools._arrays import (
    find_distinct,
    kind_of,
    list_column_names,
    move_back,
    move_to,
    namespace,
    read_labels_beside,
    read_scores,
    search_sorted,
    to_numpy,
)
from skcal._tools._parallel import run_parallel
from skcal._tools._progress import CallbackSupport, as_task
from skcal._tools._typing import ArrayLike
from skcal._tools._warnings import warn
from skcal.recalibration._class_scores import (
    arrange_scores,
    check_scores,
    choose_types,
    find_depth,
    find_float_type,
    find_resolution,
    level_scores,
    list_parts,
    name_columns,
    refuse_other_dimensions,
    restrict_rows,
    restrict_scores,
    share_among_seen,
)
from skcal.recalibration._dict import pack_recalibrator, unpack_recalibrator
from skcal.recalibration._soft_labels import list_soft_labels, read_shares, take_counted


class BaseRecalibrator(
    CallbackSupport,
    OneToOneFeatureMixin,
    ClassifierMixin,
    TransformerMixin,
    BaseEstimator,
    metaclass=ABCMeta,
):
    r"""Base class of recalibrators, maps from class scores to better probabilities.

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
    says that 0 and 1 are intended.

    If y misses classes of the columns, ``_fit`` and ``_recalibrate`` see only the classes in y, as
    if one of them had to come true; `classes_` are then those, too. The probabilities of the other
    classes stay unchanged, and the classes in y share the rest. If y holds a single class, scores
    stay unchanged.

    Weights count rows. Where their sum is less than their effective number of rows,
    :math:`n = (\sum w)^2 / \sum w^2`, as that of shares is, ``_fit`` gets them scaled to the sum n.

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
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns of X, if it has any.

    See Also
    --------
    CrossFitProba : Passes out-of-fold probabilities of a classifier to a recalibrator.

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

    classes_: np.ndarray
    n_features_in_: int
    feature_names_in_: np.ndarray
    _gives_hard_probabilities = False
    _serves_unseen = False  # what is learned of some classes is right for all
    _takes_shares = True  # rows may be copied, as soft labels ask for
    n_jobs: int | None = None
    _near: Self | None = None  # set where rows are those of a fold: the map of another, or None

    def __init__(
        self,
        *,
        input: Literal["proba", "logits"] = "proba",
        classes: ArrayLike | Literal["columns"] | None = None,
    ) -> None:
        self.input = input
        self.classes = classes

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @as_task
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the recalibrator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes) or (n_samples, 1)
            Class scores of rows that the classifier was not fitted on; for two classes one
            column, the score of the second class (of ``classes[1]`` where given), is enough.
            Columns are read by their place: names of columns that are the labels in another order
            than `classes` are an error.
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels, or soft labels: a row of probabilities each, one for each of the classes in the
            order of the columns of X, which `classes` names. A row then counts as copies of it,
            one for each label, whose weights are these probabilities.
            Columns of scores without names are those of the sorted labels, whatever the order of
            categories is; for a model that was fitted to their codes pass them as `classes`.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, which count rows: one of weight 2 is like two rows. Where their
            sum is less than their effective number of rows, (sum w)^2 / sum w^2, they are scaled
            to that sum. A row of weight zero counts for nothing, except that its label is one of
            the classes.

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

        Warns
        -----
        UserWarning
            If there is no row of a class, and nothing is learned of it.
        """
        with restored_on_error(self):
            self._fit_checked(X, y, sample_weight)
        return self

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Recalibrated probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Class scores in the layout of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to 1; columns are in the order of `classes_`. The float type is that of X.
        """
        columns = self._read_columns(X)
        parts = self._list_parts(columns)
        if len(parts) == 1:
            return move_back(self._map_columns(columns), X)
        proba = np.empty((len(columns), len(self.classes_)), find_float_type(columns))

        def map_part(rows):
            proba[rows] = self._map_columns(columns[rows])

        run_parallel([(map_part, rows) for rows in parts], self.n_jobs, require="sharedmem")
        return proba

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Recalibrated probabilities in the layout of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Class scores in the layout of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_columns)
            Probabilities, each in the column of its score. The float type is that of X.
        """
        proba = self.predict_proba(X)
        order = np.argsort(self._order)[-self.n_features_in_ :]
        if np.array_equal(order, np.arange(proba.shape[1])):
            return proba
        return namespace(proba).take(proba, move_to(order, proba), axis=1)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the label with the largest recalibrated probability.

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
        return namespace(top).take(move_to(self.classes_, top), top)

    def to_dict(self) -> dict[str, Any]:
        """Parameters and fitted attributes as JSON types, without loss of precision.

        Returns
        -------
        dict
            To be read by `from_dict`, of this version of skcal or a later one, or by a program of
            your own. What `set_output` and metadata requests have set is left out.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If the recalibrator is not fitted.
        TypeError
            If a parameter or a fitted attribute cannot be written: a RandomState, a splitter, an
            estimator that is not a recalibrator of skcal.
        """
        check_is_fitted(self)
        return pack_recalibrator(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Rebuild a fitted recalibrator from the output of `to_dict`.

        Parameters
        ----------
        data : dict
            What `to_dict` gave, of this class or a subclass. ``BaseRecalibrator.from_dict`` reads
            all classes of skcal.recalibration; other subclasses, such as
            :class:`skcal.shift.PriorShift` or your own, must be called themselves.

        Returns
        -------
        BaseRecalibrator
            A recalibrator of the class that `data` names, which gives the same probabilities to
            the last digit.

        Raises
        ------
        ValueError
            If `data` is not what `to_dict` gives, or comes from a later version.
        """
        return unpack_recalibrator(data, cls)

    @abstractmethod
    def _fit(self, scores, codes, sample_weight):
        """Set the fitted attributes."""

    @abstractmethod
    def _recalibrate(self, scores):
        """Probabilities of shape (n_samples, n_classes)."""

    def _check_options(self):
        """Raise ValueError for an invalid parameter of the subclass."""

    def _to_probabilities(self, scores):
        return scores if self.input == "proba" else softmax(scores, axis=1)

    def _to_logits(self, scores):
        if self.input == "logits":
            return scores
        xp = namespace(scores)
        proba = xp.clip(scores, self._find_smallest(), 1.0)
        return np.log(proba, out=proba) if xp is np else xp.log(proba)

    def _find_smallest(self):
        """What probabilities are raised to before a logarithm."""
        return SMALLEST_PROBABILITY

    # ---------------------------------------------------------------------------- fit

    def _fit_checked(self, X, y, sample_weight):
        X, target, sample_weight = self._read_labelled(X, y, sample_weight, self.classes)
        scores = self._gather(X)
        scores, codes, sample_weight = take_counted(scores, target, sample_weight)
        known = self._find_known(scores, codes, sample_weight)
        self._depth = np.inf
        if self.input == "logits":
            self._depth = self._find_depth(scores, codes, sample_weight, known)
        scores = level_scores(scores, self.input, self._depth)
        self._fit_known(scores, codes, sample_weight, find_resolution(X), known)

    def _read_labelled(self, X, y, sample_weight, classes, *, reset=True, may_vanish=False):
        """Checked rows, the places of their labels or their soft labels, and weights.

        `classes` are as the parameter says, and without `reset` those that columns have already.
        Weights may all be zero if `may_vanish`. Sets what tells of columns.
        """
        check_option("input", self.input, ("proba", "logits"))
        self._check_options()
        columns, names = list_column_names(X), list_column_names(y)
        X, y, sample_weight = self._read(X, y, sample_weight)
        refuse_other_dimensions(X)
        shares = read_shares(y, names, columns) if self._takes_shares else None
        if shares is None:
            refuse_indicator(y, "fit one for each label, on its probabilities and y[:, k]")
            X, y = self._validate(X, y, reset=reset)
            y = check_target("y", read_labels_beside("y", y, X))
            if kind_of(y) == "f":
                check_classification_targets(y)
            found = find_distinct(y)
        else:
            X = self._validate(X, reset=reset)
            check_consistent_length(X, shares)
            found = list_soft_labels(self.classes, shares.shape[1])
        sample_weight = check_weights(sample_weight, X.shape[0], may_vanish=may_vanish)
        labels = name_columns(X.shape[1], found, classes, type(self).__name__)
        check_column_order("X", columns, labels, "classes")
        self._order = np.argsort(labels, kind="stable")
        self.classes_ = labels[self._order]
        self._check_scores(X)
        if shares is not None:
            return X, shares[:, self._order], sample_weight
        return X, move_to(search_sorted(self.classes_, y), X), sample_weight

    def _read(self, X, y=None, sample_weight=None):
        """What the user gives, as what scikit-learn checks."""
        return read_scores(X, y, sample_weight)

    def _validate(self, X, *y, reset):
        """X as scikit-learn checks it, and y if there is one."""
        refuse_other_dimensions(X)
        X, types = choose_types(X, self.input)
        return validate_data(self, X, *y, dtype=types, ensure_all_finite=False, reset=reset)

    def _check_scores(self, X):
        check_scores(X, self.input)

    def _gather(self, X):
        """Scores of rows that are fitted, in the order of `classes_`."""
        return arrange_scores(X, self._order, self.input)

    def _find_known(self, scores, codes, sample_weight):
        """Places of the classes among which `_fit` learns: those that have rows."""
        return find_distinct(codes)

    def _find_depth(self, logits, codes, sample_weight, known):
        """How far logits may lie below the largest of their row and still matter."""
        if len(known) == 1:
            return np.inf
        rows = [(logits, codes)]
        if len(known) < len(self.classes_):
            rows.append(self._select(logits, codes, known))
        return max(self._reach(*some, sample_weight) for some in rows)

    def _reach(self, logits, codes, sample_weight):
        """The same, where all classes have rows."""
        return find_depth(logits, codes, sample_weight)

    def _fit_known(self, scores, codes, sample_weight, resolution, known):
        """Fit with rows that count, which tell of the `known` classes alone.

        `resolution` is that of the type that the scores came in.
        """
        vars(self).pop("_seen", None)
        classes, is_kept = self.classes_, len(known) == 1 or not self._serves_unseen
        if len(known) < len(classes) and "_near" not in vars(self):  # of a fold others have warned
            unseen, done = show_labels(np.delete(classes, known)), "its probability stays unchanged"
            if not is_kept:
                done = "what is learned from other classes is applied to it"
            warn(f"No row is of a class that X has a column for, {unseen}: {done}.")
        rows = self._select(scores, codes, known)
        if len(known) < len(classes) and is_kept:
            self._seen, self.classes_, scores = known, classes[known], rows[0]
        if len(known) > 1:
            self._learn_floor(scores, resolution)
            self._fit(*rows, sample_weight)
        else:
            for name in [name for name in vars(self) if name.endswith("_")]:
                if name not in ("classes_", "n_features_in_", "feature_names_in_"):
                    delattr(self, name)  # of another fit
        self.classes_ = classes

    def _select(self, scores, codes, known):
        """Rows as `_fit` gets them: given that one of the known classes comes true."""
        if len(known) == scores.shape[1]:
            return scores, codes
        return restrict_rows(scores, codes, known, self.input)

    def _learn_floor(self, scores, resolution):
        """Find what probabilities are raised to, where the subclass raises any."""

    # ---------------------------------------------------------------------------- predict

    def _read_columns(self, X):
        check_is_fitted(self)
        columns = list_column_names(X)
        X = self._validate(self._read(X)[0], reset=False)
        check_column_order("X", columns, self.classes_[np.argsort(self._order)], None)
        self._check_scores(X)
        return X

    def _list_parts(self, X):
        """Slices of rows that `_recalibrate` gets at a time."""
        return list_parts(X)

    def _arrange_columns(self, X):
        """Scores as `_recalibrate` gets them."""
        return arrange_scores(X, self._order, self.input, self._depth)

    def _map_columns(self, X):
        """Probabilities of checked rows, of their float type."""
        scores = self._arrange_columns(X)
        proba = self._answer(scores)
        if proba.shape != scores.shape:
            raise ValueError(
                f"{type(self).__name__}._recalibrate must return an array of shape "
                f"{tuple(scores.shape)}; got {proba.shape}."
            )
        return self._finish(proba, scores, find_float_type(X))

    def _answer(self, scores):
        """What `_recalibrate` says, of the classes that it knows."""
        seen = vars(self).get("_seen")
        if seen is None:
            return self._recalibrate(scores)
        proba = self._to_probabilities(scores)
        if len(seen) == 1:
            return proba
        view, part = self._view_seen(scores, seen)
        return share_among_seen(proba, view._recalibrate(part), seen)

    def _view_seen(self, scores, seen):
        """What was learned of the classes that were seen, and the scores of these alone."""
        view = copy(self)
        view.classes_ = self.classes_[seen]
        return view, restrict_scores(scores, seen, self.input)

    def _finish(self, proba, scores, dtype):
        """Probabilities in the given float type, inside (0, 1) unless 0 and 1 are meant."""
        xp = namespace(proba)
        proba, limits = xp.astype(proba, dtype, copy=False), xp.finfo(dtype)
        if self._gives_hard_probabilities:
            return proba
        return xp.clip(proba, float(limits.smallest_normal), 1 - float(limits.eps) / 2)
