"""Recalibration that learns from each label."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from scipy.special import log_softmax
from sklearn.utils.validation import check_is_fitted

from skcal._fitting._folds import restored_on_error
from skcal._input._memories import check_memories
from skcal._input._validation import check_inside, check_labels, check_option, show_labels
from skcal._numerics.monitoring._online import (
    OnlineState,
    average_map,
    learn_at_once,
    learn_in_order,
    list_weights,
    make_state,
    mix_rows,
)
from skcal._numerics.recalibration._scores import SMALLEST_PROBABILITY
from skcal._tools._progress import as_task
from skcal._tools._typing import ArrayLike
from skcal._tools._warnings import warn
from skcal.recalibration._base import BaseRecalibrator
from skcal.recalibration._class_scores import arrange_scores

if TYPE_CHECKING:
    import pandas as pd

_BATCHES = ("rows", "whole", "dependent")
# A row of weight w is learned w times.
_LARGEST_WEIGHT = 1000
# Weights of several rows that all lie outside of these are hardly those of rows.
_USUAL_WEIGHTS = 0.01, 1
# Points of the history; where there are more, every second one is left out.
_MOST_POINTS = 256
_LARGEST_LOG = np.log(np.finfo(np.float64).max)


class OnlineRecalibration(BaseRecalibrator):
    r"""Recalibration that learns from each label, does no harm, follows drift and raises an alarm.

    A mixture of the scores themselves and of sigmoid maps of them, which look back over all rows,
    over the last thousand and over the last hundred. Each row weighs them anew by how probable they
    said its label was, before they learn from it. On scores that are calibrated the mixture loses
    next to nothing, however many rows come; on others it becomes the map that repairs them, and
    follows it where it changes. How much more probable the mixture said that all labels were than
    the scores did is evidence against the scores, at any time: the alarm is a by-product.

    Parameters
    ----------
    input : {"proba", "logits"}, default="proba"
        What X holds: probabilities, with rows that sum to 1, or logits: any finite numbers, to
        which the softmax is applied.
    classes : None, "columns" or array-like of shape (n_classes,), default=None
        Labels of the columns of X. None takes the sorted labels of y, one for each column.
        An array names the label of every column, and y may miss some of them. "columns" means
        that column j belongs to the integer label j.
    memories : tuple of int or None, default=(None, 1000, 100)
        How far the maps look back, in rows, one map for each: rows that are older by this have lost
        two thirds of their weight. None forgets nothing.
    alpha : float, default=0.05
        Bound of the probability of a false alarm, ever; above 0 and below 1.
    batch : {"rows", "whole", "dependent"}, default="rows"
        What the rows of one call are: rows in the order in which their labels became known, so that
        the answer is the same however rows are cut into calls; a whole without order, of rows that
        are independent given the earlier calls; or a whole of rows that may depend on each other.

    Attributes
    ----------
    n_samples_seen_ : int
        Number of rows that were learned, except those of weight zero.
    log_e_value_ : float
        Logarithm of the evidence against the scores now.
    alarm_ : int or None
        The row at which the evidence reached 1 / `alpha`, counted from 1; None as long as it has
        not. It stays.
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns of X, if it has any.

    Warnings
    --------
    The order counts: rows are to be learned as their labels become known, and which labels become
    known must not depend on what they are; see :class:`~skcal.monitoring.CalibrationMonitor`.

    See Also
    --------
    OnlineRecalibratedClassifier : A classifier whose probabilities are repaired while it runs.
    PlattScaling : A map that is fitted once.
    skcal.monitoring.CalibrationMonitor : An alarm that says what is wrong, since when, how much.

    Notes
    -----
    **Maps.** With two classes, a score with the log odds z becomes the log odds
    :math:`(1 + c)\,z + b`: a slope and an intercept. With more classes :math:`\log v_k` becomes
    :math:`(1 + c) \log v_k + b_k`. After each row c and b are those that minimise its log loss plus
    a square, the prior and what is left of the curvature of earlier rows: row s counts
    :math:`e^{-(t - s) / m}` in row t for a memory of m rows, and the prior, that c and b are 0 with
    a variance of 1 (of b, of the log odds of two classes), as much as ever. Probabilities below
    2.2e-16 that are not 0 are raised to it.

    **Mixture.** Let :math:`E_t` be the product of the probabilities that the mixture gave to what
    came true in rows 1 to t, over that of the scores, and :math:`k_t = 1 / (2 + \log(1 + t))`. The
    scores have the weight :math:`k_t / E_t`, that is 1/2 at the start. What they leave goes to a
    pool in even parts: the maps, and the scores once more, for times in which they are right again.
    Members of the pool share a thousandth of their weight evenly after each row [1]_, so that the
    pool follows changes; a map with the memory None shares only as much as the scores leave.

    **It does no harm.** So after any n rows, whatever they are but for scores of 0 and 1, see
    below, if each was predicted after all earlier ones were learned, the sum of log losses is at
    most that of the scores plus :math:`\log(2 + \log(1 + n))`: 2.4 after 10,000 rows, 2.8 after a
    million. For that :math:`E_n \ge k_n` is enough. This holds of weighted sums for weights of at
    most 1, and not above: maps that learn a row several times may believe it too much.

    Compared with a map of the pool instead, over rows in which it is the best, it loses the
    logarithm of one over its weight at their start and a thousandth for each row at most. The maps
    themselves stay near the best constant one: the mixture was 3 nats above it after 100,000
    calibrated rows, and 15 where labels alternated. Newton steps with projections are of the order
    log n above it on every sequence [2]_; of these steps that is not claimed.

    Nothing of the kind holds of predictions of which several are made before their labels come, in
    batches or late: a change of regime within a batch is learned when it is over.

    **Evidence.** If the scores are calibrated, given the past, :math:`E_t` is a nonnegative
    martingale, so that it ever reaches :math:`1 / \alpha` with probability :math:`\alpha` at most
    [3]_. With ``batch="whole"`` a batch multiplies it by the mean, over the members by their
    weights, of the products of their ratios, by which they are weighed then: what a whole batch
    refutes is left. With "dependent" the mean of the ratios over rows takes the place of the
    product, which is valid for any dependence in the batch, learns more slowly and finds much less.
    A row whose weight is above 1 is learned as often, but is evidence only once.

    **Scores of 0 and 1** tell a sigmoid nothing but to be flat. Rows with a 0 have, for each class
    that is the most probable, a mixture of their own, of the scores and of frequencies: that one of
    the impossible classes comes true after all has the probability (e + 1/2) / (n + 50) after e
    such rows of n, all discounted as for the maps. The first bound above holds of each of these
    mixtures by itself. A wrong row multiplies the evidence by :math:`e^3` at most, because it may
    be a wrong label.

    References
    ----------
    .. [1] M. Herbster, M. K. Warmuth (1998). Tracking the best expert. Machine Learning 32.
       :doi:`10.1023/A:1007424614876`
    .. [2] C. Gupta, A. Ramdas (2023). Online Platt scaling with calibeating. ICML 40.
       :doi:`10.48550/arXiv.2305.00070`
    .. [3] A. Ramdas, P. Grünwald, V. Vovk, G. Shafer (2023). Game-theoretic statistics and safe
       anytime-valid inference. Statistical Science 38. :doi:`10.1214/23-STS894`

    Examples
    --------
    The base rate jumps after 2000 rows. Predict each day, then learn its labels:

    >>> import numpy as np
    >>> from scipy.special import expit, logit
    >>> from skcal.recalibration import OnlineRecalibration
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.beta(2, 5, 4000)
    >>> y = rng.random(4000) < expit(logit(scores) + (np.arange(4000) >= 2000))
    >>> recalibrator = OnlineRecalibration(classes=[False, True])
    >>> for start in range(0, 4000, 200):
    ...     day = slice(start, start + 200)
    ...     recalibrator = recalibrator.partial_fit(scores[day, None], y[day])
    >>> 2000 < recalibrator.alarm_ < 2200
    True
    >>> recalibrator.transform([[0.3]]).round(1), expit(logit(0.3) + 1).round(1)
    (array([[0.5]]), np.float64(0.5))
    """

    n_samples_seen_: int
    log_e_value_: float
    alarm_: int | None
    _state: OnlineState
    _takes_shares = False  # copies of a row would be evidence several times

    def __init__(
        self,
        *,
        input: Literal["proba", "logits"] = "proba",
        classes: ArrayLike | Literal["columns"] | None = None,
        memories: tuple[int | None, ...] = (None, 1000, 100),
        alpha: float = 0.05,
        batch: Literal["rows", "whole", "dependent"] = "rows",
    ) -> None:
        super().__init__(input=input, classes=classes)
        self.memories = memories
        self.alpha = alpha
        self.batch = batch

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Forget all, and learn rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes) or (n_samples, 1)
            Class scores; see `partial_fit`.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights in [0, 1000]; see `partial_fit`.

        Returns
        -------
        self : object
            The recalibrator itself.

        Raises
        ------
        NotClassScoresError
            If X holds no scores of the classes in y.
        ValueError
            If another argument is invalid.

        Warns
        -----
        UserWarning
            About the scale of the weights; see `partial_fit`.
        """
        return super().fit(X, y, sample_weight)

    @as_task
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn more rows; if any of them is invalid, nothing changes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_classes) or (n_samples, 1)
            Class scores, as the classifier gave them before labels were known; for two classes one
            column, the score of the second class, is enough.
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like of shape (n_classes,), default=None
            All labels, at the first call, if y holds only some of them and the parameter `classes`
            is None. Columns are in the order of that parameter, or sorted.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights in [0, 1000]: a row of weight 2 is learned like two rows in turn, and one of
            weight 1/2 half as much as one. Evidence counts it as one row at most. Their scale
            counts, unlike that of other recalibrators: memories are in units of weight. Divide
            weights by their mean if they are no counts.

        Returns
        -------
        self : object
            The recalibrator itself.

        Raises
        ------
        NotClassScoresError
            If X holds no scores of the classes.
        ValueError
            If another argument is invalid.

        Warns
        -----
        UserWarning
            If there are several rows with weights above 0, and all these are above 1, or below .01.
        """
        with restored_on_error(self):
            is_new = "classes_" not in vars(self)
            named = self._name_classes(classes)
            self._learn_checked(X, y, sample_weight, named, is_new=is_new, may_vanish=True)
            if classes is not None and is_new:
                self._name_classes(classes)  # which agree with the parameter, too
        return self

    def freeze(self) -> OnlineRecalibration:
        """Copy of the map of now, for serving: it learns nothing more, and has no history.

        Returns
        -------
        OnlineRecalibration
            Its `to_dict` takes a few kB. `partial_fit` raises an error, `fit` starts anew.
        """
        check_is_fitted(self)
        frozen = deepcopy(self)
        frozen._history, frozen._is_frozen = self._history[:0], True
        return frozen

    @property
    def e_value_(self) -> float:
        """Evidence against the scores now; at most the largest float."""
        return float(np.exp(min(self.log_e_value_, _LARGEST_LOG)))

    @property
    def history_(self) -> pd.DataFrame:
        """The course of the map, in at most 256 rows that are spread evenly, and how it is now.

        Columns are ``row``, ``log_e_value``, ``slope`` and ``intercept``, averaged over the members
        by their weights (with more than two classes the intercept that is the largest in size), and
        the weights: ``scores``, and each map as ``all`` or ``last_1000``.
        """
        import pandas as pd

        check_is_fitted(self)
        names = ["all" if rows is None else f"last_{rows}" for rows in self._memories]
        columns = ["row", "log_e_value", "slope", "intercept", "scores", *names]
        points = self._history
        if len(points) == 0 or points[-1, 0] < self.n_samples_seen_:
            points = np.append(points, [self._describe()], axis=0)
        return pd.DataFrame(points, columns=columns).astype({"row": int})

    def _check_options(self):
        check_memories(self.memories)
        check_inside("alpha", self.alpha)
        check_option("batch", self.batch, _BATCHES)

    def _name_classes(self, classes):
        """The labels of columns by what is known of them and what is given, or a ValueError."""
        named = None if classes is None else np.unique(check_labels("classes", classes))
        if "classes_" not in vars(self):
            return named if self.classes is None else self.classes
        if named is not None and not np.array_equal(named, self.classes_):
            raise ValueError(
                f"classes must be those that are known, {show_labels(self.classes_)}; got "
                f"{show_labels(named)}."
            )
        return self.classes_[np.argsort(self._order)]

    def _fit_checked(self, X, y, sample_weight):
        self._learn_checked(X, y, sample_weight, self.classes)

    def _learn_checked(self, X, y, sample_weight, classes, *, is_new=True, may_vanish=False):
        if not is_new and self._is_frozen:
            raise ValueError("The map is frozen; what `freeze` was called of learns on.")
        if not is_new and check_memories(self.memories) != self._memories:
            raise ValueError(
                f"memories must stay as they were, {self._memories}; got {self.memories!r}. Call "
                "fit to start anew."
            )
        X, codes, weights = self._read_labelled(
            X, y, sample_weight, classes, reset=is_new, may_vanish=may_vanish
        )
        if weights is not None and weights.max() > _LARGEST_WEIGHT:
            raise ValueError(
                f"sample_weight must be at most {_LARGEST_WEIGHT}, because a row of weight w is "
                f"learned w times; got {weights.max():g}."
            )
        scores = arrange_scores(X, self._order, self.input)
        if weights is not None:
            scores, codes, weights = scores[weights > 0], codes[weights > 0], weights[weights > 0]
            _warn_of_scale(weights)
        learn = self._fit if is_new else self._learn
        learn(scores, codes, weights)

    def _fit(self, scores, codes, sample_weight):
        self._memories = check_memories(self.memories)
        n_maps, n_classes = len(self._memories), len(self.classes_)
        self._depth, self._is_frozen = np.inf, False
        self._state = make_state(n_maps, n_classes)
        self.n_samples_seen_, self.log_e_value_, self.alarm_ = 0, 0.0, None
        self._n_steps, self._stride, self._history = 0, 1, np.empty((0, 5 + n_maps))
        self._learn(scores, codes, sample_weight)

    def _learn(self, scores, codes, sample_weight):
        logs = self._find_logs(scores)
        weights = np.ones(len(codes)) if sample_weight is None else sample_weight.astype(float)
        if self.batch != "rows" and len(codes) > 0:
            is_dependent = self.batch == "dependent"
            rows = logs, codes, weights, self._memories
            self._state, factor = learn_at_once(self._state, *rows, is_dependent=is_dependent)
            self._add_evidence(np.array([factor]), len(codes))
            return
        start = 0
        while start < len(codes):  # up to the next point of the history
            stop = start + self._stride - self._n_steps % self._stride
            part = (part_of[start:stop] for part_of in (logs, codes, weights))
            self._state, factors = learn_in_order(self._state, *part, self._memories)
            self._add_evidence(factors, len(factors))
            start = stop

    def _add_evidence(self, log_factors, n_rows):
        """Count rows or a batch, look for an alarm, and make a point of the history."""
        path = self.log_e_value_ + np.cumsum(log_factors)
        is_high = path >= -np.log(self.alpha)
        if self.alarm_ is None and is_high.any():
            last = self.n_samples_seen_ + n_rows
            self.alarm_ = last - len(path) + 1 + int(is_high.argmax())
        self.log_e_value_ = float(path[-1])
        self.n_samples_seen_ += n_rows
        self._n_steps += len(path)
        if self._n_steps % self._stride == 0:
            self._history = np.append(self._history, [self._describe()], axis=0)
        if len(self._history) == _MOST_POINTS:
            self._history, self._stride = self._history[1::2], 2 * self._stride

    def _describe(self):
        """A row of the history, of now."""
        slope, intercepts = average_map(self._state)
        still, again, *maps = list_weights(self._state)
        largest = intercepts[np.abs(intercepts).argmax()]
        return [self.n_samples_seen_, self.log_e_value_, slope, largest, still + again, *maps]

    def _recalibrate(self, scores):
        return mix_rows(self._state, self._find_logs(scores))

    def _find_logs(self, scores):
        """Logarithms of probabilities; -inf for 0."""
        if self.input == "logits":
            return log_softmax(scores, axis=1)
        raised = np.where(scores > 0, np.maximum(scores, SMALLEST_PROBABILITY), 0.0)
        with np.errstate(divide="ignore"):
            return np.log(raised) - np.log(raised.sum(axis=1, keepdims=True))


def _warn_of_scale(weights):
    """Warn where positive weights are too large, or too small, to be those of rows."""
    low, high = _USUAL_WEIGHTS
    if len(weights) > 1 and (weights.min() > high or weights.max() < low):
        warn(
            f"sample_weight has a scale that counts: a row of weight w is learned w times. All are "
            f"{f'above {high}' if weights.min() > high else f'below {low}'}; divide weights by "
            "their mean unless they are counts."
        )
