"""A pool of recalibrators of ensembles and of leaving ensembles as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from skcal._numerics.distributions._ensemble_scaling import count_members, measure_pool
from skcal._numerics.distributions._predictive_scores import score_ensemble
from skcal.regression._base_ensembles import EnsembleRecalibrator
from skcal.regression._ensemble_scaling import EnsembleScaling
from skcal.regression._isotonic_distributional import IsotonicDistributionalRegression
from skcal.regression._pool import NAMES, check_pool, hold_out, weigh_members


class AutoEnsemble(EnsembleRecalibrator):
    r"""Pool of scaled ensembles, isotonic distributions and the unchanged ensembles.

    It follows the map that predicts held-out rows best, and stays near the ensembles where the
    rows do not show that any map is better.

    Parameters
    ----------
    cv : int or iterable, default=5
        A number of folds, 2 or more: rows are then assigned at random, but always the same way for
        the same rows in any order. Or a splitter of scikit-learn, or pairs of train and test rows,
        which keep rows that belong together on one side.
    prior_rows : float, default=5.0
        Number of rows that the ensembles themselves are taken to have explained before, at least
        1e-6; both maps share 1. A larger one needs more evidence to change the ensembles.

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
    and the quantiles of levels :math:`(j - 1/2) / m`, which have the least CRPS [1]_, of isotonic
    distributional regression on the mean of the ensemble [2]_. The j-th smallest members are
    averaged with weights that are not negative and sum to 1: it is the quantile functions that are
    pooled. Members keep their places, so that the first one stays the smallest if it was. If no
    fitted member and no target is below 0, repaired members below 0 are set to 0.

    Weights minimise, over rows that the maps were not fitted on,

    .. math:: \sum_i \frac{\omega_i\, \operatorname{CRPS}_i}{s} - \sum_k a_k \log w_k,

    which is convex, where :math:`\omega_i` are the weights of the rows, which count as repetitions,
    and s is the mean CRPS of the member with the least. In these units a bias costs as much as in
    the log likelihood of normal distributions. :math:`a_0` is `prior_rows` and the other
    :math:`a_k` are 1/2. That rows not used in the fit choose the weights makes it stacking [3]_.

    A member that the rows refute takes no part: one whose part of the sum is larger than that of
    the best member by more than 10, or by more than ``2 * prior_rows`` for the ensembles
    themselves.

    The time of a fit grows with the square of the number of rows, as that of isotonic distributions
    does: 10,000 rows with 50 members take about 12 seconds.

    References
    ----------
    .. [1] J. Bröcker (2012). Evaluating raw ensembles with the continuous ranked probability score.
       Quarterly Journal of the Royal Meteorological Society 138, 1611-1617.
       :doi:`10.1002/qj.1891`
    .. [2] E.-M. Walz, A. Henzi, J. Ziegel, T. Gneiting (2024). Easy uncertainty quantification
       (EasyUQ): generating predictive distributions from single-valued model output. SIAM Review
       66(1), 91-122. :doi:`10.1137/22M1541915`
    .. [3] D. H. Wolpert (1992). Stacked generalization. Neural Networks 5, 241-259.
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

    def __init__(self, *, cv: Any = 5, prior_rows: float = 5.0) -> None:
        self.cv = cv
        self.prior_rows = prior_rows

    def _check_options(self):
        check_pool(self.cv, self.prior_rows)

    def _fit(self, rows):
        self.names_, self.weights_ = [*NAMES], np.array([1.0, 0.0, 0.0])
        self.scores_, self.gain_ = np.full(3, np.nan), 0.0
        keys = np.nanmean(rows.predictions, axis=1)
        held_out = hold_out(
            self.cv, rows, keys, lambda train, members: _sort_all(_fit_members(train), members)
        )
        if held_out is not None:
            self._weigh(held_out)
        self.recalibrators_ = _fit_members(rows)

    def _weigh(self, held_out):
        self.weights_, others = weigh_members(
            held_out,
            lambda part: measure_pool(part.members, part.targets, part.masses),
            self.prior_rows,
        )
        pooled = np.einsum("nk,knm->nm", others[held_out.split], held_out.members)
        scores = [
            score_ensemble(held_out.targets, members, is_fair=False)
            for members in [*held_out.members, pooled]
        ]
        *scores, pool = np.average(scores, axis=1, weights=held_out.masses)
        self.scores_, self.gain_ = np.array(scores), float(scores[0] - pool)

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


def _sort_all(recalibrators, members):
    """Sorted members of each map, the ensembles themselves first; NaN at the end if missing."""
    scaling, isotonic = recalibrators
    ordered = np.sort(members, axis=1)
    levels = (np.arange(members.shape[1]) + 0.5) / count_members(members)[:, None]
    quantiles = isotonic._find_distribution(members).ppf(np.minimum(levels, 1 - 1e-9))
    quantiles[np.isnan(ordered)] = np.nan
    return np.array([ordered, np.sort(scaling._repair(ordered), axis=1), quantiles])
