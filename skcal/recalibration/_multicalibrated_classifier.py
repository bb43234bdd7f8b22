"""A classifier whose probabilities are recalibrated in groups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from sklearn.utils import get_tags

from skcal._fitting._folds import get_classifier
from skcal._fitting._group_boosting import GroupBoostingMap
from skcal._fitting._group_columns import ReadsGroups
from skcal._fitting._group_scaling import GroupScalingMap
from skcal._input._levels import Levels
from skcal._tools._typing import ArrayLike
from skcal.recalibration._base_classifier import BaseRecalibratedClassifier
from skcal.recalibration._group_correction import GroupBoosting, GroupScaling

_METHODS = {"scaling": GroupScaling, "boosting": GroupBoosting}
# What is fitted consists of these.
PARTS = (GroupBoosting, GroupBoostingMap, GroupScaling, GroupScalingMap, Levels)


class MulticalibratedClassifierCV(ReadsGroups, BaseRecalibratedClassifier):
    r"""Classifier whose probabilities are recalibrated within groups, not only on average.

    The groups are made of columns of X: of values, of bins of numbers, of missing values, and of
    pairs of these. A correction of the classifier's log-odds is learned from rows that it was not
    fitted on, and shrunk by what it gains in others.

    Parameters
    ----------
    estimator : classifier, default=None
        The classifier; None takes `LogisticRegression`. A `FrozenEstimator`, fitted elsewhere,
        is not fitted again; pass rows that it has not seen. To keep columns of groups from a
        classifier, let it be a pipeline that drops them.
    features : list of str or int, default=None
        Names or numbers of the columns of X that define groups, at most 50; None takes all, or
        none where `groups` are given.
    groups : list of callable, default=None
        Functions of X that return a boolean for each row, such as the rules that
        :func:`~skcal.inference.audit_features` finds: each is one more column that defines groups.
    method : {"scaling", "boosting"}, default="scaling"
        "scaling" is linear in the groups: it adds an intercept and a slope for each level of a
        column, and an intercept for each pair of levels of two columns, of those pairs of columns
        that tell something. "boosting" adds a sum of trees of the columns and the log-odds, which
        find intersections of more columns, but may miss what no single column shows.
    cv : int, cross-validation generator or iterable, default=None
        Splits as in `sklearn.model_selection.cross_val_predict`; None takes 5 stratified folds.
        The correction learns from the rows that are in a test fold, in the last one of several.
    ensemble : {"auto", True, False}, default="auto"
        The correction is fitted on out-of-fold scores, those of classifiers that were fitted
        without the row. False, and "auto", keep one classifier, fitted on all rows. True keeps
        those of the splits, corrects the scores of each and averages them. A `FrozenEstimator` is
        one classifier either way.
    average : {"auto", "probabilities", "log_odds"}, default="auto"
        How the classifiers of an ensemble are averaged, see :class:`RecalibratedClassifierCV`.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Which scores of the classifier are corrected. "auto" takes `decision_function` only if the
        classifier has no `predict_proba`.
    n_jobs : int, default=None
        Number of folds, and of classes, fitted in parallel, as in joblib.
    progress : bool or callable, default=None
        A progress bar over folds: True for a tqdm bar (tqdm must be installed), or a function that
        takes an iterable and returns one, such as ``tqdm.tqdm``.

    Attributes
    ----------
    calibrated_classifiers_ : list of named tuples
        Pairs of an `estimator` and its `recalibrator`, both fitted: one for each split, or one in
        all where ``ensemble=False``. The recalibrator is the same in all:
        ``recalibrator.factor_`` is the share of the correction that is applied, 0 where it does
        not help; with "scaling" ``recalibrator.to_frame()`` shows the correction of each group.
    average_ : named tuple
        The average that was chosen: the `share` of the mean of the probabilities, and the `slope`
        and `intercepts` of the mean of the log odds, which has the rest.
    classes_ : ndarray of shape (n_classes,)
        Sorted labels.
    response_method_ : str
        The method of the classifier that gives the scores.
    n_features_in_ : int
        Number of features, if the classifier has it.
    feature_names_in_ : ndarray of shape (n_columns,)
        Names of the features, if the classifier has them.

    See Also
    --------
    RecalibratedClassifierCV : Calibration on average, which needs fewer rows.
    skcal.regression.MulticalibratedRegressorCV : The same for the means of a regressor.
    skcal.inference.audit_groups : Find the groups for which a model is wrong.

    Notes
    -----
    With the log-odds z of a row, standardised to t, "scaling" predicts

    .. math:: \operatorname{logit} q = z + \lambda \Big( a + b t
        + \sum_g (a_g + b_g t) + \sum_{g, h} a_{g h} \Big),

    where sums are over the levels g of the row, and over some pairs of them [1]_. Coefficients
    minimise the log loss plus a ridge penalty :math:`\lVert c \rVert^2 / 2 s^2` of each family c of
    coefficients: the :math:`a_g` of a column, the :math:`b_g` of a column, and the :math:`a_{g h}`
    of two columns. So those that tell much are shrunk little, and others to almost nothing. s has
    the largest marginal likelihood times 1/s near its start at .1: coefficients are normal with the
    standard deviation s, whose own density is 1/s, and integrated out by Laplace's approximation
    [2]_. It is kept between .006 and 1. The penalty of a and b is weak: 10 for events of rate 1/2,
    and else less, in proportion to r (1 - r) with the rate r.

    Pairs of columns are chosen by what a fit without any leaves. Residuals are summed over the rows
    of each pair of levels. Their squares, less what effects of the two columns explain, are
    compared with chance; this is the score test of the variance of random effects [3]_. Pairs are
    selected at a false discovery rate of 1/2 [4]_, the most significant first, as long as they have
    no more than 1000 pairs of levels. The choice is made again without each fold, and pairs count
    that most of these choices hold, too.

    "boosting" replaces the bracket by an intercept and a sum of trees, which are grown by Newton
    steps until the log loss of rows held out falls no more [5]_. In both
    :math:`\lambda \in [0, 1]` minimises the log loss of corrections of rows held out, plus a
    penalty of :math:`5 \lambda^2`; so a calibrated classifier is left nearly as it is.

    Numbers with more than 16 different values are put into 16 bins ("boosting": 64), with about
    equal numbers of rows. Missing values are a level of their own. For "scaling" a level has at
    least 20 rows, and so has a pair of levels; in pairs 16 bins are also merged into 4. If a column
    has no numbers, its 254 most frequent values count. A value that was not seen gets no
    correction; with "boosting" the whole row gets the intercept alone, unless the column had more
    than 254 values: then it is taken for one of the rarer ones.

    With more than two classes each class is corrected against the rest, because a group may be
    wrong in only one class, and rows are normalized to sum to 1.

    The folds of `cv` also choose the number of rounds and :math:`\lambda`. Rows that belong
    together, such as visits of one patient, need a splitter that keeps them together, such as
    `GroupKFold`. Weights count rows: one of weight 2 is like two rows, except that it is in one
    fold and in no bin twice.

    The correction answers for the rows that it has seen; whether a group is served can be
    asked of new rows with :func:`~skcal.inference.audit_groups`.

    References
    ----------
    .. [1] J. C. Platt (1999). Probabilistic outputs for support vector machines and comparisons to
       regularized likelihood methods. Advances in Large Margin Classifiers, 61-74.
    .. [2] D. J. C. MacKay (1992). Bayesian interpolation. Neural Computation 4(3), 415-447.
       :doi:`10.1162/neco.1992.4.3.415`
    .. [3] X. Lin (1997). Variance component testing in generalised linear models with random
       effects. Biometrika 84(2), 309-326. :doi:`10.1093/biomet/84.2.309`
    .. [4] Y. Benjamini, Y. Hochberg (1995). Controlling the false discovery rate: a practical and
       powerful approach to multiple testing. Journal of the Royal Statistical Society B 57(1),
       289-300. :doi:`10.1111/j.2517-6161.1995.tb02031.x`
    .. [5] J. H. Friedman (2001). Greedy function approximation: a gradient boosting machine.
       Annals of Statistics 29(5), 1189-1232. :doi:`10.1214/aos/1013203451`

    Examples
    --------
    The classifier uses only the income, and does not know that people in the north are late more
    often.

    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn.compose import make_column_transformer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from skcal.recalibration import MulticalibratedClassifierCV
    >>> rng = np.random.default_rng(0)
    >>> region, income = rng.choice(["north", "south"], size=4000), rng.normal(size=4000)
    >>> X = pd.DataFrame({"income": income, "region": region})
    >>> late = rng.random(4000) < 1 / (1 + np.exp(income - 1.5 * (region == "north") + 1))
    >>> reads = make_column_transformer(("passthrough", ["income"]))
    >>> classifier = make_pipeline(reads, LogisticRegression())
    >>> model = MulticalibratedClassifierCV(classifier, features=["region"]).fit(X, late)
    >>> proba = model.predict_proba(X)[:, 1]
    >>> for name in ["north", "south"]:
    ...     inside = region == name
    ...     before = classifier.fit(X, late).predict_proba(X)[inside, 1].mean()
    ...     print(f"{name} {before:.2f} {proba[inside].mean():.2f} {late[inside].mean():.2f}")
    north 0.45 0.60 0.60
    south 0.44 0.30 0.29
    >>> model.calibrated_classifiers_[0].recalibrator.to_frame()["intercept"].round(2)
    all rows         -0.01
    region = north    0.72
    region = south   -0.74
    Name: intercept, dtype: float64
    """

    _prefers_ensemble = False
    _reads_folds = True

    def __init__(
        self,
        estimator: Any = None,
        *,
        features: ArrayLike | None = None,
        groups: list[Any] | None = None,
        method: Literal["scaling", "boosting"] = "scaling",
        cv: Any = None,
        ensemble: bool | Literal["auto"] = "auto",
        average: Literal["auto", "probabilities", "log_odds"] = "auto",
        response_method: Literal["auto", "predict_proba", "decision_function"] = "auto",
        n_jobs: int | None = None,
        progress: bool | Callable[..., Any] | None = None,
    ) -> None:
        self.estimator = estimator
        self.features = features
        self.groups = groups
        self.method = method
        self.cv = cv
        self.ensemble = ensemble
        self.average = average
        self.response_method = response_method
        self.n_jobs = n_jobs
        self.progress = progress

    def _choose_recalibrator(self):
        self._check_method()
        if get_tags(get_classifier(self.estimator)).input_tags.pairwise:
            raise ValueError(
                "estimator must take features, which define the groups; got one that takes "
                "pairwise X, a kernel or distances."
            )
        return _METHODS[self.method]()

    def _prepare(self, recalibrator, X):
        self._choose_columns(X)
        by_function = self.response_method_ == "decision_function"
        return recalibrator.set_params(
            classes=self.classes_,
            input="logits" if by_function else "proba",
            n_jobs=self.n_jobs,
        )

    def _learn_rows(self, recalibrator, X, sample_weight, splits):
        found = self._learn_groups(X, sample_weight, splits)
        recalibrator.set_params(levels=self._levels)
        return found

    def _read_rows(self, X):
        return self._read_groups(X)
