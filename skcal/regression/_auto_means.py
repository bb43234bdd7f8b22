"""A pool of recalibrators of means and of leaving means as they are."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from skcal._numerics.distributions._isotonic_functionals import score_mean
from skcal._numerics.recalibration._mean_scaling import measure_pool, to_link, to_means
from skcal.regression._base_means import LinkedMeanRecalibrator
from skcal.regression._isotonic_means import IsotonicMeans
from skcal.regression._mean_scaling import MeanScaling
from skcal.regression._pool import NAMES, check_pool, hold_out, weigh_members


class AutoMeans(LinkedMeanRecalibrator):
    r"""Pool of scaled means, isotonic means and the unchanged predictions.

    It follows the map that predicts held-out rows best, and stays near the predictions where the
    rows do not show that any map is better.

    Parameters
    ----------
    link : {"auto", "log", "identity"}, default="auto"
        The scale. "log" is for means of what is never negative, such as counts, rates and amounts:
        means stay above 0. "identity" takes any numbers. "auto" is "log" if all predictions are
        above 0 and no target is below 0; a prediction of 0 or less then gets the repaired mean of
        the smallest fitted one, where "log" raises an error.
    power : float, default=1.0
        With the log link, the variance of the targets is proportional to their mean to this power,
        from 1, as for counts (Poisson), to 2, as for amounts (gamma). A power of 2 refuses targets
        of 0. Ignored with the identity link.
    cv : int or iterable, default=5
        A number of folds, 2 or more: rows are then assigned at random, but always the same way for
        the same rows in any order. Or a splitter of scikit-learn, or pairs of train and test rows,
        which keep rows that belong together on one side.
    prior_rows : float, default=5.0
        Number of rows that the predictions themselves are taken to have explained before, at least
        1e-6; both maps share 1. A larger one needs more evidence to change the predictions.

    Attributes
    ----------
    link_ : str
        The link that is used, "log" or "identity".
    names_ : list of str
        "identity", the predictions themselves, "scaling" and "isotonic".
    weights_ : ndarray of shape (3,)
        Weights of the pool in the order of `names_`; they sum to 1.
    deviances_ : ndarray of shape (3,)
        Mean deviance on the rows that a map was not fitted on, of the predictions first. NaN
        without folds.
    gain_ : float
        By how much the mean deviance of such rows is lower for the pool than for the predictions,
        with weights from the held-out rows of the other folds.
    recalibrators_ : list of recalibrators
        `MeanScaling` and `IsotonicMeans`, fitted on all rows; with the log link none if all targets
        are 0.
    n_features_in_ : int
        Number of columns of X, 1.
    feature_names_in_ : ndarray of shape (1,)
        Name of the column of X, where it has one.

    Warns
    -----
    UserWarning
        If there is too little to learn from and the predictions are left unchanged: too few rows,
        or with the log link no target above 0 in the train rows of a fold.

    See Also
    --------
    skcal.recalibration.AutoRecalibration : The same for probabilities.
    AutoEnsemble : The same for ensembles.

    Notes
    -----
    Let :math:`m_0` be a prediction and :math:`m_1, m_2` its means by `MeanScaling` and by
    ``IsotonicMeans(prior_rows=1)``, for each row from a fit to other folds. The pool is

    .. math:: g(\hat\mu) = \sum_k w_k\, g(m_k), \qquad w_k \ge 0, \quad \sum_k w_k = 1,

    with the link g. Weights minimise the penalised deviance, which is convex,

    .. math:: \sum_i \frac{\omega_i\, d(y_i, \hat\mu_i)}{2 \phi} - \sum_k a_k \log w_k,

    where d is the deviance of Tweedie's law with the `power`, or the squared error;
    :math:`\omega_i` are the weights of the rows, which count as repetitions; and :math:`\phi` is
    the dispersion of the member with the least deviance, the mean of
    :math:`(y - \mu)^2 / \mu^p`. So the deviance is measured like a log likelihood, in any unit of
    the targets. :math:`a_0` is `prior_rows` and the other :math:`a_k` are 1/2. That rows not used
    in the fit choose the weights makes it stacking [1]_.

    A member that the rows refute takes no part: one whose part of the sum is larger than that of
    the best member by more than 10, or by more than ``2 * prior_rows`` for the predictions
    themselves.

    Exposures are weights of rates, and their unit tells how many rows they count: let them be about
    1 on average, such as years, not days.

    References
    ----------
    .. [1] D. H. Wolpert (1992). Stacked generalization. Neural Networks 5, 241-259.
       :doi:`10.1016/S0893-6080(05)80023-1`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.regression import AutoMeans
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.gamma(2.0, size=2000)
    >>> y = rng.poisson(truth)
    >>> good, bad = AutoMeans().fit(truth, y), AutoMeans().fit(truth**2, y)
    >>> bool(good.weights_[0] > 0.8 and bad.weights_[0] < 0.01)
    True
    >>> bad.transform([1.0, 4.0]).round(1)
    array([1., 2.])
    """

    names_: list[str]
    weights_: np.ndarray
    deviances_: np.ndarray
    gain_: float
    recalibrators_: list[Any]

    def __init__(
        self,
        link: Literal["auto", "log", "identity"] = "auto",
        *,
        power: float = 1.0,
        cv: Any = 5,
        prior_rows: float = 5.0,
    ) -> None:
        self.link = link
        self.power = power
        self.cv = cv
        self.prior_rows = prior_rows

    def _check_options(self):
        super()._check_options()
        check_pool(self.cv, self.prior_rows)

    def _fit_linked(self, rows, power):
        self.names_, self.weights_ = [*NAMES], np.array([1.0, 0.0, 0.0])
        self.deviances_, self.gain_ = np.full(3, np.nan), 0.0

        def predict(train, predictions):
            if power and not train.targets.any():
                return None
            members = self._fit_members(train)
            return self._list_values(members, predictions[:, 0], power)

        lack = (
            "y must have a target above 0 in the train rows of every fold; got "
            f"{np.count_nonzero(rows.targets)} in {len(rows.targets)} rows"
        )
        held_out = hold_out(self.cv, rows, rows.predictions[:, 0], predict, lack)
        if held_out is not None:
            self._weigh(held_out, power)
        is_fitted = not power or rows.targets.any()
        self.recalibrators_ = self._fit_members(rows) if is_fitted else []

    def _weigh(self, held_out, power):
        self.weights_, others = weigh_members(
            held_out,
            lambda part: measure_pool(part.members, part.targets, part.masses, power),
            self.prior_rows,
        )
        pooled = np.einsum("nk,kn->n", others[held_out.split], held_out.members)
        means = to_means(np.vstack([held_out.members, pooled]), power)
        scores = score_mean(held_out.targets, means, power)
        *deviances, pool = np.average(scores, axis=1, weights=held_out.masses)
        self.deviances_, self.gain_ = np.array(deviances), float(deviances[0] - pool)

    def _fit_members(self, rows):
        members = [MeanScaling(self.link_, power=self.power), IsotonicMeans(prior_rows=1)]
        for member in members:
            member._fit(rows)
        return members

    def _list_values(self, members, means, power):
        """On the scale of the link, the predictions themselves and what members make of them."""
        repaired = [means, *(member._repair(means) for member in members)]
        return to_link(np.array(repaired), power)

    def _repair(self, means):
        return self._lift(means) if self.weights_[0] == 1 else super()._repair(means)

    def _repair_linked(self, means, power):
        return self.weights_ @ self._list_values(self.recalibrators_, means, power)
