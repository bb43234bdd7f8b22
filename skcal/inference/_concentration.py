"""Do predicted means differ too much or too little: a test of the area between two curves."""

from __future__ import annotations

from typing import Literal

from skcal._input._predicted._means import read_shares
from skcal._input._validation import check_option
from skcal._numerics.inference._concentration import assess_area
from skcal._tools._typing import ArrayLike
from skcal.inference._test_result import TestResult


def concentration_test(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    alternative: Literal["two-sided", "greater", "less"] = "two-sided",
) -> TestResult:
    r"""Test of the area between the concentration and the Lorenz curve (ABC) of predicted means.

    It asks whether predictions are as dispersed as the true means, whatever their level: pure
    premiums of good and of bad risks, before they are loaded.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True targets, whose sum is above 0.
    y_pred : array-like of shape (n_samples,)
        Predicted means, not negative, and not all 0.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of any scale, see :ref:`weights-in-inference`. Exposures are weights of
        rates: for counts n of times t, `y_true` is n / t and `sample_weight` is t.
    clusters : array-like of shape (n_samples,), default=None
        Label of the cluster of each row, such as a customer: rows of a cluster may depend on each
        other in any way, see :ref:`clusters`. None means independent rows.
    alternative : {"two-sided", "greater", "less"}, default="two-sided"
        "greater" tests against predictions that differ too much, "less" against those that differ
        too little.

    Returns
    -------
    TestResult
        The area over its standard error, the p-value, and as estimate the area.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    skcal.regression.area_between_curves : The area alone, with a definition.
    mean_calibration_test : Finds errors of any shape, and of the level.
    mean_recalibration : The slope, which is below 1 where predictions differ too much.

    Notes
    -----
    The hypothesis is that the mean of the targets is proportional to the prediction, as it is for
    calibrated predictions and those that are off by a factor. With the shares :math:`a_i` and
    :math:`e_i` of row or cluster i in the sums of targets and predictions, and its rank
    :math:`F_i`, the area [1]_ is the sum of

    .. math:: u_i = (e_i - a_i) \Bigl(F_i - \sum_j e_j F_j\Bigr),

    whose second factor makes it linear in the targets, so that its mean is 0 under the hypothesis
    and the estimated sum of the targets adds no variance. The area is divided by the root of
    :math:`\sum_i u_i^2 / (1 - e_i)^2`. Few large claims, or few claims at all, decide it: Student's
    distribution has :math:`(\sum u^2)^2 / \sum u^4 - 1` degrees of freedom.

    At 5 % the two-sided test rejected 0 to 5 % of 2000 samples of right means: of 50 to 1000 rows,
    of counts with exposures, log-normal amounts with a standard deviation of logarithms of 1, with
    and without 80 % zeros, and clusters of five counts. Where few claims are expected it rejects
    fewer: :ref:`the guide <area-between-curves>` has a table, with its power.

    References
    ----------
    .. [1] M. Denuit, D. Sznajder, J. Trufin (2019). Model selection based on Lorenz and
       concentration curves, Gini indices and convex order. Insurance: Mathematics and Economics 89.
       :doi:`10.1016/j.insmatheco.2019.09.001`

    Examples
    --------
    Rates that differ too much are found, and a factor for all of them does not matter:

    >>> import numpy as np
    >>> from skcal.inference import concentration_test
    >>> rng = np.random.default_rng(0)
    >>> rate = rng.gamma(4, 1 / 4, size=1000)
    >>> claims = rng.poisson(rate)
    >>> concentration_test(claims, 1.2 * rate).pvalue > 0.05
    True
    >>> found = concentration_test(claims, rate**2)
    >>> found.pvalue < 0.001, found.estimate > 0
    (True, True)
    """
    check_option("alternative", alternative, ("two-sided", "greater", "less"))
    rows = read_shares(y_true, y_pred, sample_weight, clusters)
    data = rows.targets, rows.predictions, rows.list_weights(), rows.member
    name, hypothesis = "Area (ABC) over its standard error", "means proportional to predictions"
    statistic, pvalue, area = assess_area(*data, alternative)
    return TestResult(statistic, pvalue, area, name=name, hypothesis=hypothesis)
