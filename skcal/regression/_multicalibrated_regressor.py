"""A regressor whose predicted means are recalibrated in groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from skcal._fitting._folds import get_regressor
from skcal._fitting._group_columns import ReadsGroups
from skcal._tools._typing import ArrayLike
from skcal.regression._base_regressor import BaseRecalibratedRegressor, predict_columns
from skcal.regression._group_mean_correction import GroupMeanBoosting, GroupMeanScaling

_METHODS = {"scaling": GroupMeanScaling, "boosting": GroupMeanBoosting}
# What is fitted consists of these, and of what a multicalibrated classifier consists of.
PARTS = tuple(_METHODS.values())


class MulticalibratedRegressorCV(ReadsGroups, BaseRecalibratedRegressor):
    r"""Regressor whose predicted means are recalibrated within groups, not only on average.

    The groups are made of columns of X: of values, of bins of numbers, of missing values, and of
    pairs of these. A correction of the predicted means, a factor for counts and amounts, is learned
    from rows that the regressor was not fitted on, and shrunk by what it gains in others.

    Parameters
    ----------
    estimator : regressor, default=None
        The regressor; None takes `LinearRegression`. A `FrozenEstimator`, fitted elsewhere, is not
        fitted again; pass rows that it has not seen. To keep columns of groups from a regressor,
        let it be a pipeline that drops them.
    features : list of str or int, default=None
        Names or numbers of the columns of X that define groups, at most 50; None takes all, or
        none where `groups` are given.
    groups : list of callable, default=None
        Functions of X that return a boolean for each row, such as the rules that
        :func:`~skcal.inference.audit_mean_features` finds: each is one more column that defines
        groups.
    method : {"scaling", "boosting"}, default="scaling"
        "scaling" is linear in the groups: it adds an intercept and a slope for each level of a
        column, and an intercept for each pair of levels of two columns, of those pairs of columns
        that tell something. "boosting" adds a sum of trees of the columns and the predictions,
        which find intersections of more columns, but may miss what no single column shows.
    link : {"auto", "log", "identity"}, default="auto"
        The scale. "log" is for means of what is never negative, such as counts, rates and amounts:
        means stay above 0. "identity" takes any numbers. "auto" is "log" if all predictions are
        above 0 and no target is below 0; a prediction of 0 or less then gets the repaired mean of
        the smallest fitted one, where "log" raises an error.
    power : float, default=1.0
        With the log link, the variance of the targets is proportional to their mean to this power,
        from 1, as for counts (Poisson), to 2, as for amounts (gamma). A power of 2 refuses targets
        of 0. Ignored with the identity link.
    cv : int, cross-validation generator or iterable, default=None
        Splits as in `sklearn.model_selection.cross_val_predict`; None takes 5 folds of rows in
        their order. Every row must be in exactly one test fold.
    n_jobs : int, default=None
        Number of folds fitted in parallel, as in joblib.
    progress : bool or callable, default=None
        A progress bar over folds: True for a tqdm bar (tqdm must be installed), or a function that
        takes an iterable and returns one, such as ``tqdm.tqdm``.

    Attributes
    ----------
    estimator_ : regressor
        The regressor, fitted on all rows.
    recalibrator_ : recalibrator
        The correction, fitted on out-of-fold predictions: ``recalibrator_.factor_`` is the share of
        it that is applied, 0 where it does not help, and ``recalibrator_.link_`` the link that is
        used; with "scaling" ``recalibrator_.to_frame()`` shows the correction of each group.
    n_features_in_ : int
        Number of features, if the regressor has it.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the features, if the regressor has them.

    See Also
    --------
    RecalibratedRegressorCV : With `AutoMeans`, repair on average, which needs fewer rows.
    skcal.recalibration.MulticalibratedClassifierCV : The same for classifiers.
    skcal.inference.audit_mean_groups : Find the groups in which means are wrong.
    skcal.metrics.mean_multicalibration_error : The largest error over groups.

    Notes
    -----
    With the link g, the prediction m of a row, and g(m) standardised to t, "scaling" predicts

    .. math:: g(\hat\mu) = g(m) + \lambda \Big( a + b t
        + \sum_g (a_g + b_g t) + \sum_{g, h} a_{g h} \Big),

    where sums are over the levels g of the row, and over some pairs of them. So with the log link
    means are multiplied by factors, and with the identity link numbers are added to them.
    Coefficients minimise

    .. math:: \sum_i \frac{w_i\, d(y_i, \hat\mu_i)}{2 \phi}
        + \sum_c \frac{\lVert c \rVert^2}{2 s^2},

    the deviance d of Tweedie's law with the `power`, or the squared error, plus a ridge penalty of
    each family c of coefficients: the :math:`a_g` of a column, the :math:`b_g` of a column, and the
    :math:`a_{g h}` of two columns. The weights :math:`w_i` count rows, and :math:`\phi` is the
    dispersion, the mean of :math:`(y - \hat\mu)^2 / \hat\mu^p`, with one row less for each
    coefficient that the rows determine; so the deviance is measured like a log likelihood, in any
    unit of the targets. This is quasi-likelihood: the mean alone must be right [1]_. Each s is
    estimated, from its start at .1 for the log link, and at a tenth of the standard deviation of
    the errors for the identity link; small groups are shrunk. The penalty of a and b is that of 40
    rows. How s is estimated, pairs of columns are chosen, numbers are put into bins, and values
    that were not seen are treated is said at
    :class:`~skcal.recalibration.MulticalibratedClassifierCV`, whose algorithm this is, with another
    loss. "boosting" replaces the bracket by an intercept and a sum of trees.

    In both :math:`\lambda \in [0, 1]` minimises the first sum over rows held out, plus
    :math:`5 \lambda^2`; so a regressor that is right is left nearly as it is. In simulations with
    1000 rows and means that were right, of counts, amounts and real numbers, two columns of groups
    raised the deviance by 0.04 % or less on average, and 0.8 % at most.

    Means that are right in each of many groups that overlap, also given the prediction, are what
    [2]_ call multicalibrated; [3]_ treat targets that are no events. Their algorithms correct one
    group at a time until none is wrong by more than a tolerance, which comes with a guarantee. Here
    all groups are fitted at once and shrunk, which comes with none; a slope in each group stands
    for the prediction that is given.

    If all targets are 0, the log link learns nothing, and means stay as they are, with a warning.

    The folds of `cv` also choose the number of rounds and :math:`\lambda`. Rows that belong
    together, such as the years of one policy, need a splitter that keeps them together, such as
    `GroupKFold`. Exposures are weights of rates: for counts n of times t, y is n / t and
    `sample_weight` is t. Their unit tells how many rows they count: let them be about 1 on average,
    such as years, not days.

    References
    ----------
    .. [1] R. W. M. Wedderburn (1974). Quasi-likelihood functions, generalized linear models, and
       the Gauss-Newton method. Biometrika 61(3), 439-447. :doi:`10.1093/biomet/61.3.439`
    .. [2] U. Hébert-Johnson, M. P. Kim, O. Reingold, G. N. Rothblum (2018). Multicalibration:
       calibration for the (computationally-identifiable) masses. ICML 35.
       :doi:`10.48550/arXiv.1711.08513`
    .. [3] C. Jung, C. Lee, M. M. Pai, A. Roth, R. Vohra (2021). Moment multicalibration for
       uncertainty estimation. COLT 34. :doi:`10.48550/arXiv.2008.08037`

    Examples
    --------
    Claims of policies. The regressor reads only the power of the car, and does not know that the
    young have twice as many claims.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.linear_model import PoissonRegressor
    >>> from sklearn.pipeline import make_pipeline
    >>> from skcal.regression import MulticalibratedRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> age, power = rng.choice(["old", "young"], size=8000), rng.normal(size=8000)
    >>> X = pd.DataFrame({"power": power, "age": age})
    >>> claims = rng.poisson(0.2 * np.exp(0.3 * power) * np.where(age == "young", 2, 1))
    >>> reads = make_column_transformer(("passthrough", ["power"]))
    >>> regressor = make_pipeline(reads, PoissonRegressor(alpha=0))
    >>> model = MulticalibratedRegressorCV(regressor, features=["age"]).fit(X, claims)
    >>> before, after = regressor.fit(X, claims).predict(X), model.predict(X)
    >>> for name in ["old", "young"]:
    ...     means = [values[age == name].mean() for values in (before, after, claims)]
    ...     print(name, *(f"{mean:.2f}" for mean in means))
    old 0.31 0.22 0.21
    young 0.31 0.40 0.41
    """

    _reads_folds = True

    def __init__(
        self,
        estimator: Any = None,
        *,
        features: ArrayLike | None = None,
        groups: list[Any] | None = None,
        method: Literal["scaling", "boosting"] = "scaling",
        link: Literal["auto", "log", "identity"] = "auto",
        power: float = 1.0,
        cv: Any = None,
        n_jobs: int | None = None,
        progress: bool | Callable[..., Any] | None = None,
    ) -> None:
        self.estimator = estimator
        self.features = features
        self.groups = groups
        self.method = method
        self.link = link
        self.power = power
        self.cv = cv
        self.n_jobs = n_jobs
        self.progress = progress

    def predict(self, X: Any) -> np.ndarray:
        """Means, repaired in groups.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Features, passed to the regressor unchanged.

        Returns
        -------
        ndarray of shape (n_samples,)
            Repaired means.
        """
        check_is_fitted(self)
        means = predict_columns(self.estimator_, X, self.recalibrator_)
        return self.recalibrator_.predict(means, **self._read_groups(X))

    def _choose_recalibrator(self):
        self._check_method()
        if get_tags(get_regressor(self.estimator)).input_tags.pairwise:
            raise ValueError(
                "estimator must take features, which define the groups; got one that takes "
                "pairwise X, a kernel or distances."
            )
        recalibrator = _METHODS[self.method](link=self.link, power=self.power)
        recalibrator._check_options()
        return recalibrator

    def _prepare(self, recalibrator, X):
        self._choose_columns(X)

    def _learn_rows(self, recalibrator, X, sample_weight, splits):
        found = self._learn_groups(X, sample_weight, splits)
        recalibrator.set_params(levels=self._levels)
        return found
