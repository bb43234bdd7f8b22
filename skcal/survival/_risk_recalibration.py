"""Risks predicted at several times, repaired by pseudo-values."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from skcal._fitting._folds import restored_on_error
from skcal._fitting._held_out import makes_folds, split_rows
from skcal._input._censored_times import read_horizons
from skcal._input._risk_curves import read_kinds, read_risk_columns, refuse_survival
from skcal._input._strata import read_strata
from skcal._input._validation import check_integer, check_number, check_sample_weight
from skcal._numerics.recalibration._deal import repeat_ties
from skcal._numerics.recalibration._pooling import fit_pool
from skcal._numerics.recalibration._weights import count_as_rows
from skcal._numerics.survival._pseudo_values import find_pseudo_values
from skcal._numerics.survival._risk_curves import cap_total, raise_curves
from skcal._numerics.survival._risk_scaling import find_losses, fit_lines, measure_pool
from skcal._tools._progress import CallbackSupport, as_task
from skcal._tools._typing import ArrayLike
from skcal._tools._warnings import warn

# Prior counts are between these, beyond which sums would not be exact.
_FEWEST_ROWS, _MOST_ROWS = 1e-6, 1e12
# By how much more than the best member another one may lose, or per prior count.
_REFUTED, _REFUTED_PER_ROW = 10.0, 2.0
# Risks that are not 0 or 1 stay apart from these.
_SMALLEST, _LARGEST = np.finfo(np.float64).tiny, 1 - np.finfo(np.float64).epsneg


class RiskRecalibration(CallbackSupport, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Repair predicted risks at several times, with censored outcomes.

    At each time the log odds of the risk get an intercept and a slope. The repair follows what
    predicts held-out rows best, and stays near the predictions where the rows do not show that any
    change is better. Repaired risks never fall over time.

    Parameters
    ----------
    times : float or array-like of shape (n_times,)
        The event up to each of these times is predicted. Positive, increasing; the last one may be
        later than all times of y only if the last rows had an event.
    causes : array-like of int of shape (n_causes,), default=None
        Kinds of events whose risks are predicted, positive integers, where an event of one kind
        makes the others impossible. None says that there is one kind.
    cv : int or iterable, default=5
        A number of folds, 2 or more: rows are then assigned at random, but always the same way for
        the same rows in any order. Or a splitter of scikit-learn, or pairs of train and test rows,
        which keep rows that belong together on one side.
    prior_rows : float, default=5.0
        Number of rows that the predictions themselves are taken to have explained before, at least
        1e-6; the other maps share 1. A larger one needs more evidence to change the predictions.

    Attributes
    ----------
    intercepts_ : ndarray of shape (n_columns,)
        Intercepts of the log odds of each column of X.
    slopes_ : ndarray of shape (n_columns,)
        Slopes of the log odds, 0 or more; below 1 for risks that were too far from each other.
    names_ : list of str
        "identity", the predictions themselves, "levels", "slope" and "slopes", see Notes.
    weights_ : ndarray of shape (4,)
        Weights of these maps; they sum to 1.
    log_losses_ : ndarray of shape (4,)
        Mean log loss, over times, on the rows that a map was not fitted on, with pseudo-values as
        outcomes. NaN without folds.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the columns of X, if it has any.

    Warns
    -----
    UserWarning
        If there are too few rows to learn from and the predictions are left unchanged, if no event
        is of one of the kinds, or if a row that is left at a time stands for more than a tenth of
        all, because others were censored.

    See Also
    --------
    RecalibratedSurvivalCV : The same around a survival model, on rows that it has not seen.
    pseudo_values : The outcomes from which it learns.
    survival_calibration : What is to be repaired, and what is left.
    aj_calibration : Measures what is repaired, for the mean of all rows.

    Notes
    -----
    Let :math:`p_{ij}` be the risk of row i up to time j, and :math:`\theta_{ij}` its pseudo-value,
    a real number whose mean is the risk. The repaired risk q and the loss are

    .. math:: \operatorname{logit} q_{ij} = a_j + b_j \operatorname{logit} p_{ij}, \quad b_j \ge 0,
              \qquad -\theta_{ij} \log q_{ij} - (1 - \theta_{ij}) \log(1 - q_{ij}),

    which is convex in a and b for all real :math:`\theta`. Its mean is that of the log loss of the
    uncensored outcomes: the regression on pseudo-values of [1]_, fitted by quasi-likelihood. The
    map is a pool of four, with weights that are not negative and sum to 1, on the scale of the log
    odds: no change; "levels", with all slopes 1; "slope", one slope for all times of a kind; and
    "slopes". A weak penalty, :math:`(a_j^2 + (b_j - 1)^2) / 20` with log odds that are centred at
    their mean, is added to the sum of the losses, and bounds fits to few events.

    Weights minimise the loss L on rows that the maps were not fitted on, which is stacking,

    .. math:: \frac{L}{\phi} - \sum_k c_k \log w_k , \qquad
              \phi = \frac{\sum_i (\sum_j \theta_{ij} - p_{ij})^2}{\sum_{ij} p_{ij} (1 - p_{ij})}.

    Outcomes of a row at all times go together, and pseudo-values vary more than outcomes.
    :math:`\phi` measures both for the map with the least loss, so that the same change at all times
    counts as in a log likelihood; with several kinds, inner sums are over the times of one kind.
    :math:`c_0` is `prior_rows` and the others are 1/3. A map takes no part if its own
    :math:`L / \phi` is larger than the least by more than 10; no change, if it is so by more than
    ``2 * prior_rows``.

    Each row is then projected on curves that never fall, in the mean square over the times, which
    never increases a mean Brier score over these times. Where risks of several kinds would sum to
    more than 1, they stop growing when the sum is 1. Risks of 0 and 1 stay as they are.

    AJ-recalibration subtracts from all risks the gap of their mean to the Aalen-Johansen curve at
    each time [2]_. The map "levels" does this on the scale of the log odds, on which no risk leaves
    [0, 1]; slopes also repair risks that are too far from each other.

    Censoring must depend neither on the event nor on the predictions. With `sample_weight`, read as
    counts, pseudo-values are those of the repeated rows.

    References
    ----------
    .. [1] P. K. Andersen, J. P. Klein, S. Rosthøj (2003). Generalised linear models for correlated
       pseudo-observations, with applications to multi-state models. Biometrika 90.
       :doi:`10.1093/biomet/90.1.15`
    .. [2] J. Alberge, T. Haugomat, G. Varoquaux, J. Abecassis (2026). On the calibration of
       survival models with competing risks. AISTATS 29, PMLR 300.
       :doi:`10.48550/arXiv.2602.00194`

    Examples
    --------
    A model whose hazards are too high by half:

    >>> import numpy as np
    >>> from skcal.survival import RiskRecalibration, aj_calibration
    >>> rng = np.random.default_rng(0)
    >>> rate = rng.uniform(0.05, 0.5, size=(2000, 1))
    >>> time, end = rng.exponential(1 / rate[:, 0]), rng.exponential(5, size=2000)
    >>> y, times = np.column_stack([time <= end, np.minimum(time, end)]), [1, 2, 3, 4]
    >>> risk = 1 - np.exp(-1.5 * rate * times)
    >>> model = RiskRecalibration(times).fit(risk[:1000], y[:1000])
    >>> new = y[1000:].T
    >>> before = aj_calibration(*new, risk[1000:], times=times)
    >>> after = aj_calibration(*new, model.transform(risk[1000:]), times=times)
    >>> before.value > 0.08, after.value < 0.03
    (True, True)
    """

    intercepts_: np.ndarray
    slopes_: np.ndarray
    names_: list[str]
    weights_: np.ndarray
    log_losses_: np.ndarray
    n_features_in_: int
    feature_names_in_: np.ndarray

    def __init__(
        self,
        times: ArrayLike,
        *,
        causes: ArrayLike | None = None,
        cv: Any = 5,
        prior_rows: float = 5.0,
    ) -> None:
        self.times = times
        self.causes = causes
        self.cv = cv
        self.prior_rows = prior_rows

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = False
        tags.target_tags.two_d_labels = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    @as_task
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the recalibrator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Predicted risks of rows that the model was not fitted on, a column for each of `times`;
            with `causes` the columns of the first of these, then those of the second, and so on.
        y : array-like of shape (n_samples, 2), or structured array of shape (n_samples,)
            Events and times, as columns or as the fields of scikit-survival. Events are 1 or True,
            with `causes` the kind, and 0 or False for rows that were censored then.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights, read as counts: a row of weight 2 counts as two rows, a row of
            weight zero as none.

        Returns
        -------
        self : object
            The fitted recalibrator.

        Raises
        ------
        ValueError
            If an argument is invalid, or if the last rows are censored before the last of `times`.
        """
        with restored_on_error(self):
            self._fit_checked(X, y, sample_weight)
        return self

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Repaired risks.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)
            Predicted risks in the layout of `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_columns)
            Risks from 0 to 1 that do not fall over time, and whose sum over kinds is at most 1.
        """
        check_is_fitted(self)
        times, causes = self._check_options()
        n_kinds = 1 if causes is None else len(causes)
        risks = read_risk_columns(self, X, n_kinds, len(times), reset=False)
        repaired = risks
        if self.weights_[0] < 1:
            lines = (part.reshape(n_kinds, -1) for part in (self.intercepts_, self.slopes_))
            repaired = _move(risks, *lines)
        repaired = raise_curves(repaired)
        return (cap_total(repaired) if n_kinds > 1 else repaired).reshape(len(risks), -1)

    def _check_options(self):
        """Times and causes of valid options."""
        times = read_horizons("times", self.times)
        if isinstance(self.cv, Integral):
            check_integer("cv", self.cv, 2)
        check_number("prior_rows", self.prior_rows, _FEWEST_ROWS)
        if self.causes is None:
            return times, None
        causes = [check_integer("causes", cause, 1) for cause in np.atleast_1d(self.causes)]
        if not causes or len(set(causes)) < len(causes):
            raise ValueError(f"causes must be different kinds of events; got {self.causes!r}.")
        return times, causes

    def _fit_checked(self, X, y, sample_weight):
        times, causes = self._check_options()
        n_kinds = 1 if causes is None else len(causes)
        if y is None:
            raise ValueError("RiskRecalibration requires y to be passed, but the target y is None.")
        risks = read_risk_columns(self, X, n_kinds, len(times), reset=True)
        is_event, kinds, time = read_kinds(y, causes)
        if len(time) != len(risks):
            raise ValueError(
                f"y must have a row for each of the {len(risks)} rows of X; got {len(time)}."
            )
        weights = check_sample_weight(sample_weight, len(time))
        weights = np.ones(len(time)) if weights is None else weights.astype(np.float64)
        present = weights > 0
        risks, is_event, time = risks[present], is_event[present], time[present]
        refuse_survival(risks)
        rows = read_strata(None, is_event, time)
        rows.check_followed("times", times[-1])
        rows.warn_of_few(times)
        weights = count_as_rows(weights[present])
        targets = [find_pseudo_values(is_event, k[present], time, times, weights) for k in kinds]
        risks = risks.reshape(len(risks), -1)
        groups = np.repeat(np.arange(n_kinds), len(times))
        self._fit(_Cells(risks, np.hstack(targets), weights), groups, present)

    def _fit(self, cells, groups, present):
        n_columns = len(groups)
        self.names_ = ["identity", "levels", "slope", "slopes"]
        self.weights_, self.log_losses_ = np.array([1.0, 0.0, 0.0, 0.0]), np.full(4, np.nan)
        self.intercepts_, self.slopes_ = np.zeros(n_columns), np.ones(n_columns)
        keys, outcomes = cells.values.mean(axis=1), cells.targets.mean(axis=1)
        if makes_folds(self.cv):
            rows, parts = repeat_ties(keys, outcomes, cells.weights)
            cells, keys, outcomes = cells.take(rows), keys[rows], outcomes[rows]
            cells.weights, cells.masses = cells.weights * parts, cells.masses * parts[:, None]
        splits = split_rows(self.cv, keys, outcomes, cells.weights, present)
        if not splits:
            warn(
                f"There is too little to learn from, {len(keys)} rows: predictions are left "
                "unchanged."
            )
            return
        parts = [
            _apply(_fit_members(cells.take(train), groups), cells.values[test])
            for train, test in splits
        ]
        tested = np.concatenate([test for _, test in splits])
        held_out = cells.take(tested)
        # A row that several splits test counts once in all.
        masses = held_out.masses / np.bincount(tested)[tested][:, None]
        members = np.concatenate(parts, axis=1)
        totals, evaluate = measure_pool(members, held_out.targets, masses, groups)
        rows, others = min(float(self.prior_rows), _MOST_ROWS), [1 / 3] * 3
        limits = np.array([_REFUTED_PER_ROW * rows] + [_REFUTED] * 3)
        self.weights_ = fit_pool(evaluate, totals, np.array([rows, *others]), limits)
        if masses.any():
            losses = find_losses(members, held_out.targets)
            self.log_losses_ = np.array([np.average(one, weights=masses) for one in losses])
        lines = _fit_members(cells, groups)
        self.intercepts_, self.slopes_ = np.einsum("k,ktj->tj", self.weights_, lines)


class _Cells:
    """Log odds, pseudo-values and masses of cells; those of risks of 0 and 1 have no mass."""

    def __init__(self, risks, targets, weights):
        inside = (risks > 0) & (risks < 1)
        self.values = logit(np.where(inside, risks, 0.5))
        self.targets, self.weights = targets, weights
        self.masses = np.where(inside, weights[:, None], 0.0)

    def take(self, chosen):
        """Some of the rows."""
        part = object.__new__(_Cells)
        for name, values in vars(self).items():
            setattr(part, name, values[chosen])
        return part


def _fit_members(cells, groups):
    """Intercepts and slopes of all members, of shape (n_members, 2, n_columns)."""
    n_columns = len(groups)
    which = (None, groups, np.arange(n_columns))
    lines = [fit_lines(cells.values, cells.targets, cells.masses, one) for one in which]
    return np.array([(np.zeros(n_columns), np.ones(n_columns)), *lines])


def _apply(lines, values):
    """Log odds of all members, of shape (n_members, n_rows, n_columns)."""
    return lines[:, 0, None] + lines[:, 1, None] * values


def _move(risks, intercepts, slopes):
    """Repaired risks; those of 0 and 1 stay."""
    inside = (risks > 0) & (risks < 1)
    moved = expit(intercepts + slopes * logit(np.where(inside, risks, 0.5)))
    return np.where(inside, np.clip(moved, _SMALLEST, _LARGEST), risks)
