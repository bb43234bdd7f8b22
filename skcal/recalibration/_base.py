"""The base class of all recalibrators: it alone looks at user input."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from copy import copy
from functools import partial
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
from skcal._numerics.recalibration._row_blocks import RowBlocks, floor_logits
from skcal._numerics.recalibration._scores import SMALLEST_PROBABILITY
from skcal._numerics.recalibration._weights import count_as_rows
from skcal._tools._arrays import (
    NUMPY,
    as_float64,
    find_device,
    find_distinct,
    is_numpy,
    kind_of,
    list_column_names,
    move,
    move_to,
    namespace,
    read_labels,
    read_scores,
    search_sorted,
    to_numpy,
)
from skcal._tools._parallel import run_parallel
from skcal._tools._progress import CallbackSupport, as_task
from skcal._tools._typing import ArrayLike
from skcal._tools._warnings import warn
from skcal.recalibration._class_scores import (
    MOST_BY_CHANCE,
    arrange_scores,
    check_scores,
    clip_half,
    count_expected,
    find_depth,
    find_float_type,
    keep_impossible,
    level_columns,
    list_parts,
    name_columns,
    read_blocks,
    refuse_other_dimensions,
    refuse_ruled_out,
    restrict_scores,
    share_among_seen,
)
from skcal.recalibration._dict import pack_recalibrator, unpack_recalibrator
from skcal.recalibration._soft_labels import copy_rows, list_soft_labels, read_shares


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
    says that 0 and 1 are intended. ``_learns_classes_apart = False`` says that nothing is learned
    of each class by itself, so that y may miss some. ``_maps_rows_apart = False`` says that
    ``_recalibrate`` must get all rows at once, because it draws random numbers for instance; else
    it gets them part by part. ``_is_monotone = True`` promises that maps of
    one class do not decrease, or that the order of the classes is kept in every row.
    ``_is_for_other_rows = True`` says that probabilities are meant for rows of another population,
    so that those of the fitted rows may well become worse.
    ``_takes_shares = False`` says that rows must not be copied, as soft labels ask for.
    ``_reads_blocks = True`` says that ``_fit`` takes logits as RowBlocks, which read a few rows at
    a time, and that those of impossible classes may be -inf. With
    ``_is_on_device`` both methods get arrays of any library under scikit-learn's
    ``array_api_dispatch``; otherwise X must then be read by NumPy.

    If y misses classes of the columns, ``_fit`` and ``_recalibrate`` see only the classes in y, as
    if one of them had to come true; `classes_` are then those, too. The probabilities of the other
    classes stay unchanged, and the classes in y share the rest. ``_if_unseen`` may be other than
    "keep": "share" for a map of all classes, whose ``_recalibrate`` sees all columns, and "apply"
    where ``_fit`` does so, too. ``_learns_from_absence = True`` says that ``_fit`` learns also from
    classes that have no row by chance: the scores promise some rows of each, and at most ten. If y
    holds a single class, scores stay unchanged, unless "own" says that the subclass handles all of
    this itself.

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
    _is_on_device = False
    _reads_blocks = False
    _learns_classes_apart = True
    _learns_from_absence = False
    _is_monotone = False
    _is_for_other_rows = False
    _takes_shares = True
    _if_unseen: Literal["keep", "share", "apply", "own"] = "keep"
    _warns_of_unseen = True
    _maps_rows_apart = True
    _fewest_rows = 1
    n_jobs: int | None = None
    _near: Self | None = None  # the same map of similar rows, from which searches start

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
        tags.array_api_support = self._is_on_device
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
        columns, device, answer = self._read_columns(X)
        if not (self._maps_rows_apart and is_numpy(columns)):
            return move(self._map_columns(columns, device), answer)
        proba = np.empty((len(columns), len(self.classes_)), find_float_type(columns))

        def map_part(rows):
            proba[rows] = self._map_columns(columns[rows], device)

        if self._in_blocks():
            parts = RowBlocks(columns).list_slices()
        else:
            parts = list_parts(columns, self._fewest_rows)
        tasks = [(map_part, rows) for rows in parts]
        run_parallel(tasks, self.n_jobs if len(tasks) > 1 else 1, require="sharedmem")
        return move(proba, answer)

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

    def _fit_checked(self, X, y, sample_weight):
        check_option("input", self.input, ("proba", "logits"))
        self._check_options()
        columns, names = list_column_names(X), list_column_names(y)
        X, y, sample_weight, device = read_scores(X, y, sample_weight, on_device=self._is_on_device)
        xp = device.xp
        refuse_other_dimensions(X)
        shares = read_shares(y, names, columns) if self._takes_shares else None
        X, y, found = self._read_rows(X, y, shares, device)
        sample_weight = check_weights(sample_weight, X.shape[0])
        labels = name_columns(X.shape[1], found, self.classes, type(self).__name__)
        check_column_order("X", columns, labels, "classes")
        self._order = np.argsort(labels, kind="stable")
        self.classes_ = labels[self._order]
        self._depth = np.inf
        check_scores(X, xp, self.input, self._in_blocks())
        if shares is None:
            codes = move(search_sorted(self.classes_, y), device)
        else:
            X, codes, sample_weight = copy_rows(X, shares[:, self._order], sample_weight)
        order = move(self._order, device)
        # A weight of zero equals absence.
        present = True if sample_weight is None else sample_weight > 0
        if self._in_blocks():
            refuse_ruled_out(X, xp.take(order, codes), present, labels, xp)
            scores = read_blocks(X, order, xp)
        else:
            scores = arrange_scores(X, order, xp, self.input)
        if sample_weight is not None:
            scores = scores.take_rows(present) if self._in_blocks() else scores[present]
            codes = codes[present]
            sample_weight = as_float64(sample_weight[present])
            sample_weight = count_as_rows(sample_weight) if shares is None else sample_weight
        known = self._find_known(scores, codes, sample_weight)
        if self.input == "logits":
            self._depth = self._learn_depth(scores, codes, sample_weight, known, xp)
            floor = scores.floor if self._in_blocks() else partial(floor_logits, scores, xp=xp)
            scores = floor(self._depth)
        else:
            scores = level_columns(scores, xp)
        # Of one column the other one is computed exactly.
        kind = X.dtype if X.shape[1] > 1 else xp.float64
        self._fit_present(scores, codes, sample_weight, float(xp.finfo(kind).eps), known)

    def _read_rows(self, X, y, shares, device):
        """Scores and labels checked, and the distinct labels; those of soft labels are named."""
        types = self._list_types(device.xp)
        if shares is not None:
            X = validate_data(self, clip_half(X, self.input), **types)
            check_consistent_length(X, shares)
            return X, None, list_soft_labels(self.classes, shares.shape[1])
        refuse_indicator(y, "fit one for each label, on its probabilities and y[:, k]")
        X, y = validate_data(self, clip_half(X, self.input), y, **types)
        y = check_target("y", read_labels("y", y, device))
        if kind_of(y) == "f":
            check_classification_targets(y)
        return X, y, find_distinct(y)

    def _find_known(self, scores, codes, sample_weight):
        """Places of the classes among which `_fit` learns: those of the rows, and maybe others."""
        seen, n_classes = find_distinct(codes), len(self.classes_)
        if not self._learns_from_absence or not 1 < len(seen) < n_classes:
            return seen
        expected = count_expected(scores, sample_weight, self.input)
        is_known = (expected > 0) & (expected <= MOST_BY_CHANCE)
        is_known[seen] = True
        return np.flatnonzero(is_known)

    def _learn_depth(self, logits, codes, sample_weight, seen, xp):
        if len(seen) == 1 and self._if_unseen != "own":
            return np.inf
        depth = self._find_depth(logits, codes, sample_weight, xp)
        if len(seen) < len(self.classes_) and self._if_unseen in ("keep", "share"):
            logits = restrict_scores(logits, seen, "logits")
            codes = self._restrict_codes(codes, seen)
            depth = max(depth, self._find_depth(logits, codes, sample_weight, xp, depth))
        return depth

    def _fit_present(self, scores, codes, sample_weight, resolution, seen):
        """Fit with rows of positive weight, of all classes or of some."""
        vars(self).pop("_seen", None)
        if len(seen) < len(self.classes_) and self._if_unseen != "own":
            self._fit_seen(scores, codes, sample_weight, seen, resolution)
        else:
            self._learn_floor(scores, resolution)
            self._fit(scores, codes, sample_weight)

    def _fit_seen(self, scores, codes, sample_weight, seen, resolution):
        """Fit with rows of some classes alone."""
        classes, self._seen = self.classes_, seen
        is_kept = len(seen) == 1 or self._if_unseen == "keep"
        if self._warns_of_unseen:
            done = "its probability stays unchanged"
            if not is_kept:
                done = "what is learned from other classes is applied to it"
            unseen = show_labels(np.delete(classes, seen))
            warn(f"No row is of a class that X has a column for, {unseen}: {done}.")
        if len(seen) == 1:  # nothing to learn
            for name in [name for name in vars(self) if name.endswith("_")]:
                if name not in ("classes_", "n_features_in_", "feature_names_in_"):
                    delattr(self, name)  # of another fit
            return
        if not is_kept:
            self._learn_floor(scores, resolution)
        if self._if_unseen != "apply":
            scores = restrict_scores(scores, seen, self.input)
            codes, self.classes_ = self._restrict_codes(codes, seen), classes[seen]
        if is_kept:
            self._learn_floor(scores, resolution)
        self._fit(scores, codes, sample_weight)
        self.classes_ = classes

    def _restrict_codes(self, codes, seen):
        """Places among the classes that have rows."""
        return move(search_sorted(seen, codes), find_device(codes) or NUMPY)

    @abstractmethod
    def _fit(self, scores, codes, sample_weight):
        """Set the fitted attributes."""

    @abstractmethod
    def _recalibrate(self, scores):
        """Probabilities of shape (n_samples, n_classes)."""

    def _find_depth(self, logits, codes, sample_weight, xp, guess=None):
        """How far logits may lie below the largest of their row and still matter.

        `guess` is what was found with the logits of other classes as well.
        """
        return find_depth(logits, codes, sample_weight, xp)

    def _learn_floor(self, scores, resolution):
        """Find what probabilities are raised to, where the subclass raises any.

        `resolution` is that of the type that the scores came in.
        """

    def _check_options(self):
        """Raise ValueError for an invalid parameter of the subclass."""

    def _read_columns(self, X):
        """X checked, its device and that of the answer."""
        check_is_fitted(self)
        columns, answer = list_column_names(X), find_device(X) or NUMPY
        X, _, _, device = read_scores(X, on_device=self._is_on_device)
        xp = device.xp
        refuse_other_dimensions(X)
        X = validate_data(self, clip_half(X, self.input), reset=False, **self._list_types(xp))
        check_column_order("X", columns, self.classes_[np.argsort(self._order)], None)
        check_scores(X, xp, self.input, self._in_blocks())
        return X, device, answer

    def _in_blocks(self):
        return self._reads_blocks and self.input == "logits"

    def _list_types(self, xp):
        """What scikit-learn is to make of X: logits of float16 are read a few rows at a time."""
        half = [np.float16] if self.input == "logits" and xp is np else []
        return {"dtype": [xp.float64, xp.float32, *half], "ensure_all_finite": False}

    def _arrange_columns(self, X, device):
        """Scores as `_recalibrate` gets them."""
        scores = arrange_scores(X, move(self._order, device), device.xp, self.input)
        return floor_logits(scores, self._depth, device.xp)

    def _map_columns(self, X, device):
        """Probabilities of checked rows, of their float type."""
        scores = self._arrange_columns(X, device)
        proba = self._answer(scores)
        if proba.shape != (X.shape[0], len(self.classes_)):
            raise ValueError(
                f"{type(self).__name__}._recalibrate must return an array of shape "
                f"{(X.shape[0], len(self.classes_))}; got {proba.shape}."
            )
        proba = self._finish(proba, find_float_type(X))
        return keep_impossible(proba, scores, device.xp) if self._in_blocks() else proba

    def _answer(self, scores):
        """What `_recalibrate` says, of the classes that it knows."""
        seen = vars(self).get("_seen")
        if seen is None or (len(seen) > 1 and self._if_unseen != "keep"):
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

    def _finish(self, proba, dtype):
        """Probabilities in the given float type, inside (0, 1) unless 0 and 1 are meant."""
        if not is_numpy(proba):
            xp, limits = namespace(proba), namespace(proba).finfo(dtype)
            below_one = 1 - float(limits.eps) / 2
            return xp.clip(xp.astype(proba, dtype), float(limits.smallest_normal), below_one)
        proba = proba.astype(dtype, copy=False)
        if self._gives_hard_probabilities:
            return proba
        below_one = np.nextafter(dtype.type(1), dtype.type(0))
        return np.clip(proba, np.finfo(dtype).tiny, below_one)

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
