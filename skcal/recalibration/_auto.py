"""A mixture of recalibrators and of leaving scores as they are."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.parallel import Parallel, delayed

from skcal._fitting._folds import check_rows, make_splits, restored_on_error, route_metadata
from skcal._fitting._held_out import fit_split, fit_to_columns, predict_columns, take_score_rows
from skcal._input._validation import check_flag, check_integer, check_number, check_sample_weight
from skcal._numerics.recalibration._deal import deal_rows
from skcal._numerics.recalibration._intercepts import (
    add_intercepts,
    find_holding_intercept,
    fit_intercepts,
)
from skcal._numerics.recalibration._stack import Stack, take_own
from skcal._tools._arrays import list_slices
from skcal._tools._progress import as_task, read_progress
from skcal._tools._typing import ArrayLike
from skcal._tools._warnings import warn
from skcal.recalibration._base import BaseRecalibrator
from skcal.recalibration._beta import BetaCalibration
from skcal.recalibration._class_scores import MOST_BY_CHANCE, count_expected, restrict_scores
from skcal.recalibration._names import choose_recalibrator, is_random, name_recalibrator
from skcal.recalibration._one_vs_rest import OneVsRestRecalibrator
from skcal.recalibration._spline import SplineRecalibration
from skcal.recalibration._structured_matrix_scaling import StructuredMatrixScaling
from skcal.recalibration._structured_vector_scaling import StructuredVectorScaling
from skcal.recalibration._temperature import TemperatureScaling
from skcal.recalibration._venn_abers import VennAbers

_IDENTITY = "identity"  # the scores as they are
# A member of less weight changes no probability by more than this, and is not fitted again.
_SMALLEST_WEIGHT = 1e-4
# Splits after which members are judged, beside the first one.
_N_FIRST = 3
# With another prior count intercepts need as many times the evidence.
_DEFAULT_COUNT = 5.0
# The least prior count of the scores, below which sums would not be exact.
_FEWEST_ROWS = 1e-6
# From this number of classes on a matrix has too many coefficients for its time.
_MANY_CLASSES = 50
# Rows for each value of the scores from which on their rates are a map.
_ROWS_OF_VALUE = 20
# Beyond this number of classes the square `coef_` is a burden unless the scores are a larger one.
_MOST_CLASSES = 2000
# Probabilities that are mixed at a time, which the cache holds.
_MIXED = 1 << 16


class AutoRecalibration(BaseRecalibrator):
    r"""Weighted mixture of several recalibrators and the unchanged scores.

    It follows the maps that predict held-out rows best, and stays near the scores where the rows
    do not show that any map is better.

    Parameters
    ----------
    recalibrators : list of recalibrators or str, default=None
        What is mixed: recalibrators, or names of :func:`get_recalibrator_names`. None takes
        `TemperatureScaling`, `SplineRecalibration`, and for two classes `BetaCalibration`, for
        more `StructuredMatrixScaling`, from 50 classes on `StructuredVectorScaling`. Beyond 2000
        classes with fewer rows than classes, it takes only the first two. Where scores of two
        classes have 20 rows or more for each of their values, as those of a small tree have,
        `VennAbers` is added unless `monotone`: smooth maps cannot jump between values that lie
        close together.
    input : {"proba", "logits"}, default="proba"
        What X holds: probabilities, with rows that sum to 1, or logits: any finite numbers, to
        which the softmax is applied. The recalibrators get the same input.
    classes : None, "columns" or array-like of shape (n_classes,), default=None
        Labels of the columns of X. None takes the sorted labels of y, one for each column.
        An array names the label of every column, and y may miss some of them. "columns" means
        that column j belongs to the integer label j.
    cv : int, cross-validation generator or iterable, default=5
        A number of folds, 2 or more: rows are then assigned at random, but always the same way for
        the same rows in any order. Or splits as in scikit-learn; None takes 5 folds.
    prior_rows : float, default=5.0
        Number of rows that the scores themselves are taken to have explained before, at least
        1e-6; the recalibrators share 1. A larger one needs more evidence to change the scores.
    monotone : bool, default=False
        Whether a larger score may never become a smaller probability: for two classes, all maps
        are non-decreasing; for more classes, they keep the order of the classes in every row.
        Recalibrators that do not promise this are then left out of the default, and are an error
        in a list.
    n_jobs : int, default=None
        Number of maps fitted in parallel, as in joblib; None fits one after the other.
    progress : bool or callable, default=None
        A progress bar over maps and folds: True for a tqdm bar (tqdm must be installed), or a
        function that takes an iterable and returns one, such as ``tqdm.tqdm``.

    Attributes
    ----------
    names_ : list of str
        "identity", the scores themselves, and the name of each recalibrator, of others than those
        of this package the name of their class; a second one of the same name ends in "-2".
    weights_ : ndarray of shape (n_recalibrators + 1,)
        Weights of the mixture in the order of `names_`; they sum to 1.
    intercepts_ : ndarray of shape (n_classes,)
        Added to the logarithms of the mixed probabilities of the classes that are learned of, which
        are then normalised. Their mean is 0.
    log_losses_ : ndarray of shape (n_recalibrators + 1,)
        Mean log loss on the rows that a map was not fitted on, of the scores first; those of the
        first folds where these refute the map (see Notes). NaN for recalibrators that could not be
        fitted.
    gain_ : float
        By how much the mean log loss of such rows is lower for the mixture, before intercepts, than
        for the scores, with weights from the held-out rows of the other folds. Infinite where the
        loss of the scores is, 0 where both are.
    recalibrators_ : list of recalibrators
        Fitted on all rows, in the order of `names_` after the first; None where the weight is 0.
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns of X, if it has any.

    Warns
    -----
    UserWarning
        If recalibrators of a list cannot be fitted and are left out, or if there are too few rows
        to learn from and the scores are left unchanged.

    See Also
    --------
    RecalibratedClassifierCV : Takes it by default.

    Notes
    -----
    Let :math:`p_0` be the given probabilities and :math:`p_k` those of recalibrator k, for each
    row from a fit to other folds. The weights maximise the penalised log likelihood

    .. math:: \sum_i \omega_i \log \sum_k w_k\, p_k(y_i \mid x_i) + \sum_k a_k \log w_k,
       \qquad w_k > 0, \quad \sum_k w_k = 1,

    which is concave; :math:`\omega_i` are the weights of the rows, which count as repetitions,
    :math:`a_0` is `prior_rows` and the other :math:`a_k` are equal and sum to 1. A mixture of
    forecasts by their likelihood is known as a linear pool [1]_; that rows not used in the fit
    choose the weights makes it stacking [2]_.

    A member that the rows refute takes no part: one whose log likelihood is lower than that of the
    best member by more than 10, or by more than ``2 * prior_rows`` for the scores themselves. With
    n rows each member is judged with a share of 1/(n + 1) of the mean of all, so that a single
    probability of 0 of what came true does not decide. A linear pool cannot tell a refuted member
    from a weak one: a hundredth of a score of .5 is as much as an event of .5 %. Weights of
    recalibrators below 0.0001 become 0. Each remaining recalibrator is fitted again, on all rows.
    A recalibrator is not fitted to other folds if the first one of a number of folds, or the first
    three, refute it for all rows: if they have at least 1000 rows, and these are less likely under
    it than under the best member by more than 10 and six standard errors of the difference. Where a
    row of any fold weighs more than 1, which copies count for, 10 is multiplied by the largest
    weight: the first folds do not show what a heavy row of another one tells.

    If all rows are right, they do not show how often others will be wrong. So the scores get the
    weight for which the mixture gives :math:`\sum_i \omega_i (1 - p(y_i \mid x_i)) \ge 1`, one
    error among the held-out rows, or as many as the scores expect if these are fewer.

    The mixture then gets an intercept for each class, so that it predicts as many rows of each
    class as there are: those of largest likelihood, times :math:`\max(0, 1 - c / D)` [3]_. Here D
    is their deviance, twice the log likelihood that they gain, and c the 90 % quantile of the
    :math:`\chi^2` distribution with as many degrees of freedom as there are classes but one, times
    ``prior_rows / 5``. So they are 0 where a test of calibration in the large does not ask for
    them, and no such test at the level of 5 % rejects what they leave. A monotone mixture for three
    or more classes has none, because they change the order of the classes. Classes without rows
    share one intercept, which leaves the number of rows that the mixture expects of them as it is.
    If this number is more than ten, there are no intercepts: most classes then have few rows, and
    those that happened to get one look more frequent than they are.

    A class of `classes` that y misses takes part if the scores promise some rows of it, at most
    ten, and a recalibrator learns from its absence, as `TemperatureScaling` and the structured maps
    do. If they promise more, the rows were not drawn from all classes. Where the class takes no
    part, the mixture is that of the others, as if one of them had to come true: the probability of
    the class stays unchanged, the others share the rest, and `fit` warns. With `monotone`, what is
    learned of the others is applied to it.

    Copies of a row are in one fold, so that k copies are like one row of weight k. Different rows
    with equal scores, such as those in a leaf of a tree, are assigned to folds one by one. Which of
    the two they are is judged by their outcomes, which agree among copies.

    With metadata routing `groups` reach the splitter, ``cv=GroupKFold()``.

    References
    ----------
    .. [1] C. Genest, J. V. Zidek (1986). Combining probability distributions: a critique and an
       annotated bibliography. Statistical Science 1, 114-135. :doi:`10.1214/ss/1177013825`

    .. [2] D. H. Wolpert (1992). Stacked generalization. Neural Networks 5, 241-259.
       :doi:`10.1016/S0893-6080(05)80023-1`

    .. [3] B. Efron, C. Morris (1973). Stein's estimation rule and its competitors: an empirical
       Bayes approach. Journal of the American Statistical Association 68, 117-130.
       :doi:`10.1080/01621459.1973.10481350`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.recalibration import AutoRecalibration
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(1000)
    >>> y = (rng.random(1000) < truth).astype(int)
    >>> extreme = truth**2 / (truth**2 + (1 - truth) ** 2)
    >>> recalibrator = AutoRecalibration().fit(np.c_[1 - extreme, extreme], y)
    >>> recalibrator.names_
    ['identity', 'temperature', 'beta', 'spline']
    >>> bool(recalibrator.weights_[0] < 0.25 and recalibrator.gain_ > 0)
    True
    """

    names_: list[str]
    weights_: np.ndarray
    intercepts_: np.ndarray
    log_losses_: np.ndarray
    gain_: float
    recalibrators_: list[BaseRecalibrator]
    _takes_shares = False  # copies of a row would be in several folds

    def __init__(
        self,
        recalibrators: list[Any] | None = None,
        *,
        input: Literal["proba", "logits"] = "proba",
        classes: ArrayLike | Literal["columns"] | None = None,
        cv: Any = 5,
        prior_rows: float = 5.0,
        monotone: bool = False,
        n_jobs: int | None = None,
        progress: bool | Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(input=input, classes=classes)
        self.recalibrators = recalibrators
        self.cv = cv
        self.prior_rows = prior_rows
        self.monotone = monotone
        self.n_jobs = n_jobs
        self.progress = progress

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        members = self.recalibrators
        if isinstance(members, list | tuple):
            tags.non_deterministic = any(is_random(member) for member in members)
        return tags

    @property
    def _is_monotone(self):
        return self.monotone

    @property
    def _serves_unseen(self):
        return self.monotone

    @as_task
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any
    ) -> Self:
        """Fit the recalibrators and their weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes) or (n_samples, 1)
            Class scores of rows that the classifier was not fitted on; for two classes one
            column, the score of the second class (of ``classes[1]`` where given), is enough.
            Columns are read by their place: names of columns that are the labels in another order
            than `classes` are an error.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, which count rows: one of weight 2 is like two rows. Where their
            sum is less than their effective number of rows, (sum w)^2 / sum w^2, they are scaled
            to that sum. A row of weight zero counts for nothing, except that its label is one of
            the classes.
        **params : dict
            With metadata routing, arguments of the splitter, such as `groups`.

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
            self._splits = self._make_splits(X, y, sample_weight, params)
            self._fit_checked(X, y, sample_weight)
            del self._splits
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Get the metadata routing of this estimator and its splitter.

        Returns
        -------
        MetadataRouter
            The router.
        """
        splitting = MethodMapping().add(caller="fit", callee="split")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(splitter=self.cv, method_mapping=splitting)
        )

    def _check_options(self):
        if isinstance(self.cv, Integral):
            check_integer("cv", self.cv, 2)
        check_number("prior_rows", self.prior_rows, _FEWEST_ROWS)
        check_flag("monotone", self.monotone)
        read_progress(self.progress)
        if self.recalibrators is not None:
            self._list_members()

    def _make_splits(self, X, y, sample_weight, params):
        """Splits of a splitter among the rows of positive weight; None for a number of folds."""
        others, split_params, _ = route_metadata(self, "fit", params)
        if others:
            raise TypeError(f"fit got an unexpected keyword argument {next(iter(others))!r}.")
        if isinstance(self.cv, Integral | np.bool_) or self.cv is None:
            return None
        X, target = check_rows(self, X, y)
        weights = check_sample_weight(sample_weight, len(target))
        splits = make_splits(self.cv, X, target, split_params)
        if weights is None:
            return splits
        place = np.cumsum(weights > 0) - 1
        splits = [[place[rows[weights[rows] > 0]] for rows in split] for split in splits]
        return [(train, test) for train, test in splits if len(train) and len(test)]

    def _list_members(self, scores=None, sample_weight=None):
        """Recalibrators by name, for scores; without these they need not be monotone."""
        if self.recalibrators is None:
            return self._list_default(scores, sample_weight)
        n_classes = None if scores is None else scores.shape[1]
        members = self.recalibrators
        if isinstance(members, str) or not isinstance(members, list | tuple) or not members:
            raise ValueError(
                "recalibrators must be None or a list of at least one recalibrator, given itself "
                f"or by its name; got {members!r}."
            )
        named = {}
        for number, member in enumerate(members):
            member = choose_recalibrator(f"recalibrators[{number}]", member)
            if hasattr(member, "_check_options"):
                member._check_options()
            if n_classes and self.monotone and not _is_monotone(member, n_classes):
                raise ValueError(
                    f"recalibrators must be monotone for {n_classes} classes with monotone=True; "
                    f"recalibrators[{number}] is {member!r}, which need not be."
                )
            base = name = name_recalibrator(member)
            count = 1
            while name in (_IDENTITY, *named):
                count += 1
                name = f"{base}-{count}"
            named[name] = member
        return named

    def _list_default(self, scores, sample_weight):
        n_rows, n_classes = scores.shape
        members = {"temperature": TemperatureScaling()}
        if n_classes == 2:
            members |= {"beta": BetaCalibration(), "spline": SplineRecalibration()}
            if self._has_few_values(scores, sample_weight) and not self.monotone:
                members["venn_abers"] = VennAbers()
            return members
        if self.monotone:
            return members
        if n_classes < _MANY_CLASSES:
            members["structured_matrix"] = StructuredMatrixScaling()
        elif n_classes <= max(_MOST_CLASSES, n_rows):
            members["structured_vector"] = StructuredVectorScaling()
        return members | {"spline": SplineRecalibration()}

    def _has_few_values(self, scores, sample_weight):
        """Whether scores of two classes have rows enough for each of their values."""
        n_rows = len(scores) if sample_weight is None else sample_weight.sum()
        # Logits of a row are known but for a constant.
        values = scores[:, 1] - scores[:, 0] if self.input == "logits" else scores[:, 1]
        return _ROWS_OF_VALUE * len(np.unique(values)) <= n_rows

    def _find_known(self, scores, codes, sample_weight):
        """Those that a member knows."""
        members = map(self._prepare, self._list_members(scores, sample_weight).values())
        rows = scores, codes, sample_weight
        known = [one._find_known(*rows) for one in members if isinstance(one, BaseRecalibrator)]
        return np.unique(np.concatenate([codes, *known]))

    def _select(self, scores, codes, known):
        return (scores, codes) if self.monotone else super()._select(scores, codes, known)

    def _list_parts(self, X):
        return [slice(None)]

    def _fit_known(self, scores, codes, sample_weight, resolution, known):
        if len(known) > 1:
            return super()._fit_known(scores, codes, sample_weight, resolution, known)
        vars(self).pop("_seen", None)
        return self._fit(scores, codes, sample_weight)  # which warns

    def _fit(self, scores, codes, sample_weight):
        members = self._list_members(scores, sample_weight)
        rows, sample_weight, splits = self._choose_splits(scores, codes, sample_weight)
        scores, codes = take_score_rows(scores, rows), codes[rows]
        held_out, near = self._hold_out(
            members, scores, codes, sample_weight, splits, take_own, self._splits is None
        )
        stack = Stack(held_out, codes, sample_weight, splits, self.prior_rows)
        weights = stack.weigh(range(len(splits)))
        fitted = self._refit(members, weights, scores, codes, sample_weight, near)
        self.names_ = [_IDENTITY, *members]
        self.recalibrators_ = [fitted.get(name) for name in members]
        kept = [name == _IDENTITY or name in fitted for name in self.names_]
        self.weights_ = np.where(kept, [weights.get(name, 0.0) for name in self.names_], 0.0)
        if not self.weights_.any():  # what the rows do not refute cannot be fitted to all of them
            self.weights_[0] = 1.0
        self.weights_ /= self.weights_.sum()
        self.intercepts_ = np.zeros(scores.shape[1])
        if splits:
            self.intercepts_ = self._fit_intercepts(self._mix(scores), codes, sample_weight)
        losses, after = stack.measure() if splits else ({}, 0.0)
        self.log_losses_ = np.array([losses.get(name, np.nan) for name in self.names_])
        before = losses.get(_IDENTITY, 0.0)
        self.gain_ = before - after if before != after else 0.0  # also where both are infinite

    def _predict_held_out(self, scores, codes, sample_weight, splits, is_dealt):
        """Probabilities of the test rows of each split; its weights come from the other splits.

        What the first folds refute by six standard errors takes part in none: the others would not
        say otherwise. Else the outcomes of a fold have no say in its own mixture.
        """
        self._check_options()
        members = self._list_members(scores, sample_weight)
        held_out, _ = self._hold_out(
            members, scores, codes, sample_weight, splits, _take_all, is_dealt
        )
        stack = Stack(held_out, codes, sample_weight, splits, self.prior_rows)
        mixed = [
            _mix(
                stack.weigh_others(k),
                {name: parts[k] for name, parts in held_out.items() if k < len(parts)},
            )
            for k in range(len(splits))
        ]
        codes_of = [codes[test] for _, test in splits]
        return [self._correct(k, mixed, codes_of, stack.masses) for k in range(len(splits))]

    def _correct(self, split, mixed, codes, masses):
        """Mixed probabilities of a test fold, with intercepts from the other test folds."""
        others = [k for k in range(len(mixed)) if k != split]
        if not others:
            return mixed[split]
        intercepts = self._fit_intercepts(
            *(np.concatenate([parts[k] for k in others]) for parts in (mixed, codes, masses))
        )
        return add_intercepts(mixed[split], intercepts)

    def _fit_intercepts(self, proba, codes, weights):
        n_classes, seen = proba.shape[1], np.unique(codes)
        intercepts = np.zeros(n_classes)
        if (self.monotone and n_classes > 2) or len(seen) == 1:
            return intercepts
        doubt = self.prior_rows / _DEFAULT_COUNT
        if len(seen) == n_classes:
            return fit_intercepts(proba, codes, weights).shrink(doubt)
        unseen = np.setdiff1d(np.arange(n_classes), seen)
        expected = count_expected(proba, weights, "proba")[unseen].sum()
        if expected > MOST_BY_CHANCE:
            return intercepts
        part, codes = restrict_scores(proba, seen, "proba"), np.searchsorted(seen, codes)
        intercepts[seen] = fit_intercepts(part, codes, weights).shrink(doubt)
        if intercepts.any():
            intercepts[unseen] = find_holding_intercept(
                proba, intercepts, unseen, expected, weights
            )
        return intercepts - intercepts.mean()

    def _recalibrate(self, scores):
        return add_intercepts(self._mix(scores), self.intercepts_)

    def _mix(self, scores):
        """Probabilities of the mixture, before intercepts."""
        proba = {_IDENTITY: self._to_probabilities(scores)}
        for name, fitted in zip(self.names_[1:], self.recalibrators_, strict=True):
            if fitted is not None:
                proba[name] = predict_columns(fitted, scores)
        return _mix(dict(zip(self.names_, self.weights_, strict=True)), proba)

    def _choose_splits(self, scores, codes, sample_weight):
        """Rows that are fitted, their weights, and pairs of train and test places among them.

        Equal rows are merged, except for a splitter, which has seen them apart.
        """
        everything, n_folds = slice(None), 5 if self.cv is None else self.cv
        if codes.min() == codes.max():
            found = "one class"
        elif self._splits is not None:
            if self._splits:
                return everything, sample_weight, self._splits
            found = "no split with rows of positive weight on both sides"
        else:
            dealt = deal_rows(scores, codes, sample_weight, n_folds, self.input)
            n_rows = dealt.mass.sum()
            if dealt.splits and n_rows >= n_folds:
                is_plain = (dealt.mass == 1).all()
                return dealt.rows, None if is_plain else dealt.mass, dealt.splits
            found = f"{len(dealt.rows)} rows for {n_folds} folds"
            if dealt.splits:
                found = f"weights, which count rows, with a sum of {n_rows:.3g}"
        warn(
            f"There is too little to learn from, {found}: the scores are left unchanged.",
        )
        return everything, sample_weight, []

    def _hold_out(self, members, scores, codes, sample_weight, splits, take, is_dealt):
        """By name, what is taken of the probabilities of the test rows of each split, and a fit.

        With folds that are dealt at random, only of the first splits where these refute a member.
        """
        given = self._to_probabilities(scores)
        held_out = {_IDENTITY: [take(given[test], codes[test]) for _, test in splits]}
        failures, near, left = {}, {}, list(members)
        # What one fold tells is where the searches of the others start.
        for first, last in ((0, 1), (1, _N_FIRST), (_N_FIRST, len(splits))):
            some = splits[first:last]
            if not (left and some):
                break
            if is_dealt and first:
                own = {name: held_out[name] for name in (_IDENTITY, *left)}
                stack = Stack(own, codes, sample_weight, splits, self.prior_rows)
                left = stack.list_hopeful(first)[1:]
            jobs = [(name, *split) for name in left for split in some]
            common = scores, codes, sample_weight, take
            arguments = [
                (self._prepare(members[name]), *common, train, test, near.get(name))
                for name, train, test in jobs
            ]
            found = self._run(_try_split, arguments)
            for (name, *_), (part, fitted) in zip(jobs, found, strict=True):
                if isinstance(part, Exception):
                    failures[name] = part
                near.setdefault(name, fitted)
                held_out.setdefault(name, []).append(part)
            left = [name for name in left if name not in failures]
        _warn_of_failures(failures)
        return {name: parts for name, parts in held_out.items() if name not in failures}, near

    def _refit(self, members, weights, scores, codes, sample_weight, near):
        """Recalibrators of some weight, fitted on all rows."""
        chosen = [name for name in members if weights.get(name, 0.0) > _SMALLEST_WEIGHT]
        common = scores, codes, sample_weight
        fitted = self._run(
            _try_fit, [(self._prepare(members[name]), *common, near.get(name)) for name in chosen]
        )
        by_name = dict(zip(chosen, fitted, strict=True))
        failures = {name: one for name, one in by_name.items() if isinstance(one, Exception)}
        _warn_of_failures(failures)
        return {name: one for name, one in by_name.items() if name not in failures}

    def _run(self, function, arguments):
        """What a function returns for each of several lists of arguments."""
        arguments = read_progress(self.progress)(arguments)
        if self.n_jobs in (None, 1):  # a parallel run sets warning filters, for all threads
            return [function(*each) for each in arguments]
        return Parallel(n_jobs=self.n_jobs)(delayed(function)(*each) for each in arguments)

    def _prepare(self, member):
        """A clone that reads the same input."""
        prepared = clone(member)
        if "input" in prepared.get_params(deep=False):
            prepared.set_params(input=self.input)
        return prepared


def _is_monotone(recalibrator, n_classes):
    """Whether it promises an order: of the scores for two classes, of the classes for more."""
    of_one = n_classes > 2 and isinstance(recalibrator, OneVsRestRecalibrator)
    return getattr(recalibrator, "_is_monotone", False) and not of_one


def _take_all(proba, codes):
    return proba


def _try_split(member, scores, codes, sample_weight, take, train, test, near):
    """What is taken of the test rows and the fit, or the error that it ends with and no fit."""
    try:
        fitted = fit_split(member, scores, codes, sample_weight, train, near)
        proba = predict_columns(fitted, take_score_rows(scores, test))
    except (ValueError, ArithmeticError) as error:
        return error, None
    return take(proba, codes[test]), fitted


def _try_fit(member, scores, codes, sample_weight, near):
    try:
        return fit_to_columns(member, scores, codes, sample_weight, near)
    except (ValueError, ArithmeticError) as error:
        return error


def _warn_of_failures(failures):
    if failures:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in failures.items())
        warn(
            f"These recalibrators are left out of the mixture, because they cannot be fitted: "
            f"{reasons}",
        )


def _mix(weights, proba):
    """The weighted mean of probabilities by name, which lies between the least and the largest.

    Rounding is kept from moving it out of there: what all say is said by the mixture.
    """
    first, total = next(iter(proba.values())), sum(weights[name] for name in proba)
    answer = np.empty_like(first)
    for rows in list_slices(first, max(1, _MIXED // first.shape[1])):
        mixed, low, high = 0.0, np.inf, -np.inf
        for name, one in proba.items():
            mixed = mixed + weights[name] * one[rows]
            low, high = np.minimum(low, one[rows]), np.maximum(high, one[rows])
        np.clip(mixed / total, low, high, out=answer[rows])
    return answer
