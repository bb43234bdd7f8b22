"""A pool of recalibrators of ensembles and of leaving ensembles as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skcal._numerics.distributions._ensemble_scaling import (
    count_members,
    measure_pool,
    swap_target,
)
from skcal._numerics.distributions._predictive_scores import score_ensemble
from skcal._tools._progress import read_progress
from skcal.regression._base_ensembles import EnsembleRecalibrator
from skcal.regression._ensemble_scaling import EnsembleScaling
from skcal.regression._isotonic_distributional import IsotonicDistributionalRegression
from skcal.regression._pool import NAMES, check_pool, hold_out, weigh_members

# A map must gain more on targets than on members in their place, by so many standard errors; at
# most so many members of a row take its place.
_STANDARD_ERRORS, _MOST_SWAPS = 2.0, 4


class AutoEnsemble(EnsembleRecalibrator):
    r"""Pool of scaled ensembles, isotonic distributions and the unchanged ensembles.

    It follows the map that predicts held-out rows best. Ensembles are left as they are unless the
    rows show that members and target are not exchangeable.

    Parameters
    ----------
    cv : int or iterable, default=5
        A number of folds, 2 or more: rows are then assigned at random, but always the same way for
        the same rows in any order. Or a splitter of scikit-learn, or pairs of train and test rows,
        which keep rows that belong together on one side.
    prior_rows : float, default=5.0
        Number of rows that the ensembles themselves are taken to have explained before, at least
        1e-6; both maps share 1. A larger one needs more evidence to change the ensembles.
    progress : bool or callable, default=None
        A progress bar over folds: True for a tqdm bar (tqdm must be installed), or a function that
        takes an iterable and returns one, such as ``tqdm.tqdm``.

    Attributes
    ----------
    names_ : list of str
        "identity", the ensembles themselves, "scaling" and "isotonic".
    weights_ : ndarray of shape (3,)
        Weights of the pool in the order of `names_`; they sum to 1.
    scores_ : ndarray of shape (3,)
        Mean CRPS on the rows that a map was not fitted on, of the ensembles first. NaN without
        folds.
    gain_ : float
        By how much the mean CRPS of such rows is lower for the pool than for the ensembles, with
        weights from the held-out rows of the other folds.
    recalibrators_ : list of recalibrators
        `EnsembleScaling` and `IsotonicDistributionalRegression`, fitted on all rows.
    n_features_in_ : int
        Number of columns of X, one for each member.
    feature_names_in_ : ndarray of shape (n_members,)
        Names of the columns of X, where it has names.

    Warns
    -----
    UserWarning
        If there are too few rows to learn from and the ensembles are left unchanged.

    See Also
    --------
    EnsembleScaling : Three numbers; better with few rows than isotonic distributions.
    AutoMeans : The same for predicted means.

    Notes
    -----
    Each map turns the ensemble of a row into one with as many members: that of `EnsembleScaling`,
    and the quantiles of levels :math:`j / (m + 1)` of isotonic distributional regression on the
    mean of the ensemble [1]_: with this probability a target is below the j-th of m exchangeable
    members. The j-th smallest members are averaged with weights that are not negative and sum to 1:
    it is the quantile functions that are pooled. Members keep their places, so that the first one
    stays the smallest if it was. If no fitted member and no target is below 0, repaired members
    below 0 are set to 0.

    Weights minimise, over rows that the maps were not fitted on,

    .. math:: \sum_i \frac{\omega_i\, \operatorname{CRPS}_i}{s} - \sum_k a_k \log w_k,

    which is convex, where :math:`\omega_i` are the weights of the rows, which count as repetitions,
    and s is the mean CRPS of the best map. In these units a bias costs as much as in
    the log likelihood of normal distributions. :math:`a_0` is `prior_rows` and the other
    :math:`a_k` are 1/2. That rows not used in the fit choose the weights makes it stacking [2]_.

    The mean of a few members varies, so that maps gain by shrinking it even if the ensembles are
    right. So the gain of each map, and of the pool, is compared with the same gain where a member
    takes the place of the target and the target that of the member. The expected gains are equal
    if target and members are exchangeable, and the ensembles stay unchanged unless one of the
    differences is above 0 by 2 standard errors.

    A map that the rows refute takes no part: one whose part of the sum is larger than that of the
    best map by more than 10, or by more than ``2 * prior_rows`` for the ensembles themselves.

    Most of the time of a fit is that of isotonic distributions: 10,000 rows with 50 members take
    about ten seconds.

    References
    ----------
    .. [1] E.-M. Walz, A. Henzi, J. Ziegel, T. Gneiting (2024). Easy uncertainty quantification
       (EasyUQ): generating predictive distributions from single-valued model output. SIAM Review
       66(1), 91-122. :doi:`10.1137/22M1541915`
    .. [2] D. H. Wolpert (1992). Stacked generalization. Neural Networks 5, 241-259.
       :doi:`10.1016/S0893-6080(05)80023-1`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.regression import AutoEnsemble
    >>> rng = np.random.default_rng(0)
    >>> signal = rng.normal(size=300)
    >>> members = signal[:, None] + rng.normal(size=(300, 20))
    >>> y = signal + rng.normal(size=300)
    >>> good, narrow = AutoEnsemble().fit(members, y), AutoEnsemble().fit(members / 5, y)
    >>> bool(good.weights_[0] > 0.5 and narrow.weights_[0] == 0)
    True
    """

    names_: list[str]
    weights_: np.ndarray
    scores_: np.ndarray
    gain_: float
    recalibrators_: list[Any]

    def __init__(
        self,
        *,
        cv: Any = 5,
        prior_rows: float = 5.0,
        progress: bool | Callable[..., Any] | None = None,
    ) -> None:
        self.cv = cv
        self.prior_rows = prior_rows
        self.progress = progress

    def _check_options(self):
        check_pool(self.cv, self.prior_rows)
        read_progress(self.progress)

    def _fit(self, rows):
        self.names_, self.weights_ = [*NAMES], np.array([1.0, 0.0, 0.0])
        self.scores_, self.gain_ = np.full(3, np.nan), 0.0
        keys = np.nanmean(rows.predictions, axis=1)
        fitted = []

        def predict(train, members):
            fitted.append(_fit_members(train))
            return _sort_all(fitted[-1], members)

        held_out = hold_out(self.cv, rows, keys, predict, show=read_progress(self.progress))
        if held_out is not None:
            self._weigh(held_out, fitted)
        self.recalibrators_ = _fit_members(rows)

    def _weigh(self, held_out, fitted):
        weights, others = weigh_members(
            held_out,
            lambda part: measure_pool(part.members, part.targets, part.masses),
            self.prior_rows,
        )
        scores = _score_all(held_out, others)
        *means, pool = np.average(scores, axis=1, weights=held_out.masses)
        self.scores_ = np.array(means)
        if weights[0] < 1 and _beats_chance(scores, held_out, others, fitted):
            self.weights_, self.gain_ = weights, float(means[0] - pool)

    def _repair(self, members):
        if self.weights_[0] == 1:
            return members
        pooled = np.tensordot(self.weights_, _sort_all(self.recalibrators_, members), axes=1)
        pooled = np.maximum(pooled, self.recalibrators_[0]._lowest)
        places = np.argsort(np.argsort(members, axis=1, kind="stable"), axis=1)
        return np.take_along_axis(pooled, places, axis=1)


def _fit_members(rows):
    members = [EnsembleScaling(), IsotonicDistributionalRegression(input="ensemble")]
    for member in members:
        member._fit(rows)
    return members


def _score_all(held_out, weights):
    """CRPS of each map and of the pool, whose weights each split has, for every row."""
    pooled = np.einsum("nk,knm->nm", weights[held_out.split], held_out.members)
    return np.array(
        [
            score_ensemble(held_out.targets, members, is_fair=False)
            for members in [*held_out.members, pooled]
        ]
    )


def _beats_chance(scores, held_out, weights, fitted):
    """Whether a map, or the pool, gains more on targets than on members that take their place.

    Both gains are the same on average if members and target are exchangeable.
    """
    n_members = held_out.members.shape[2]
    n_swaps = min(n_members, _MOST_SWAPS)
    excess = scores[0] - scores[1:]
    for number in range(n_swaps):
        members, targets = swap_target(
            held_out.members[0], held_out.targets, (number + 1) / (n_swaps + 1)
        )
        mapped = np.empty_like(held_out.members)
        for split, recalibrators in enumerate(fitted):
            rows = held_out.split == split
            mapped[:, rows] = _sort_all(recalibrators, members[rows])
        swapped = _score_all(held_out._replace(members=mapped, targets=targets), weights)
        excess -= (swapped[0] - swapped[1:]) / n_swaps
    errors = np.sqrt(excess**2 @ held_out.masses)
    return bool((excess @ held_out.masses > _STANDARD_ERRORS * errors).any())


def _sort_all(recalibrators, members):
    """Sorted members of each map, the ensembles themselves first; NaN at the end if missing."""
    scaling, isotonic = recalibrators
    ordered = np.sort(members, axis=1)
    levels = np.arange(1, members.shape[1] + 1) / (count_members(members) + 1)[:, None]
    quantiles = isotonic._find_distribution(members).ppf(np.minimum(levels, 1 - 1e-9))
    quantiles[np.isnan(ordered)] = np.nan
    return np.array([ordered, np.sort(scaling._repair(ordered), axis=1), quantiles])
