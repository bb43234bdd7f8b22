"""T-Cal: the squared calibration error on many scales at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from skcal._input._censoring_weights import refuse_censoring_weights
from skcal._input._independent_rows import list_weights, reduce_to_labelled_sample
from skcal._input._validation import check_integer, check_rng
from skcal._numerics.inference._dyadic import DyadicErrors
from skcal._numerics.inference._monte_carlo import find_smallest_pvalue
from skcal._tools._least_pvalue import LeastPValue
from skcal._tools._progress import count_steps, read_progress
from skcal._tools._typing import ArrayLike, RandomState
from skcal.inference._test_result import TestResult


def t_cal_test(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: Literal["auto", "confidence"] = "auto",
    n_resamples: int = 999,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
) -> TestResult:
    r"""T-Cal test of calibration: debiased squared errors on 2, 4, 8 and more bins at once.

    Few bins find errors that are small and wide, many bins those that are large and narrow. The
    test adapts to either, and is exact at every sample size. Rows must be independent, see
    :ref:`without-clusters`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1]: of the positive label, or one column per label with
        rows that sum to 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights that do not depend on outcomes, see :ref:`weights-in-inference`. A
        weight of 2 is not the same as two rows.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : {"auto", "confidence"}, default="auto"
        How class probabilities become one binary problem: "confidence" takes the largest
        probability and whether its label came true, "auto" the positive label of a binary problem
        (or `pos_label`) and the confidence otherwise.
    n_resamples : int, default=999
        Number of draws of outcomes from the predictions, at most 2^24.
    progress : bool or callable, default=None
        A progress bar over draws: True for a tqdm bar (tqdm must be installed), or a
        function that takes an iterable and returns one, such as ``tqdm.tqdm``.
    random_state : int, RandomState, Generator or None, default=None
        Source of randomness of the draws.

    Returns
    -------
    TestResult
        The statistic is :math:`-\log_{10}` of the smallest p-value of a single number of bins, the
        p-value takes into account that it is the smallest, ``null_mean`` is the mean of the
        statistic over the draws, and the estimate is the debiased squared error for that number of
        bins: too large on average, because that number of bins was selected.

    Raises
    ------
    ValueError
        If an argument is invalid, if labels are soft, or if `sample_weight` comes from
        :func:`skcal.survival.at_horizon`.

    See Also
    --------
    skcal.metrics.squared_calibration_error : With ``strategy="uniform", debias="residuals"`` the
        error for one number of bins.
    cumulative_calibration_test : Needs no draws.

    Notes
    -----
    With m bins of equal width, and r = y - v, the squared error without its bias is [1]_

    .. math:: T_m = \frac{1}{\sum_i w_i} \sum_b \frac{(\sum_{i \in b} w_i r_i)^2
              - \sum_{i \in b} w_i^2 r_i^2}{\sum_{i \in b} w_i},

    of mean 0 for a calibrated model. It is computed for the sample and for `n_resamples` draws of
    outcomes :math:`y_i^* \sim \mathrm{Bernoulli}(v_i)`. For each m, the rank of a sample or draw
    among all of them is a p-value; the smallest one over m is again ranked among all (Westfall and
    Young [2]_). Equal ones are ranked by the distance of :math:`T_m` from its mean over all of them
    in standard deviations. All ranks count the sample itself, hence the p-value is at least
    ``1 / (n_resamples + 1)``, and at most u with a probability of at most u if the model is
    calibrated.

    This differs from the adaptive test of the authors, who draw predictions anew as well and
    reject where a p-value is at most the level over the number of scales (Bonferroni). The rank of
    the smallest p-value is at most that p-value times the number of scales, so that for given
    draws this test never gives a larger p-value. They go on to about :math:`n^2 / \log n` bins;
    here m ends with the largest power of two up to n, which suffices for calibration curves of
    Hölder smoothness 1/4 and more, whose best m is :math:`n^{2 / (4 s + 1)}`.

    A bin with a single row adds nothing: where no two rows share a bin, the p-value is 1. But a
    single label against a prediction of 0 or 1 is impossible if the model is calibrated: the
    p-value is then the smallest possible one, ``1 / (n_resamples + 1)``.

    References
    ----------
    .. [1] D. Lee, X. Huang, H. Hassani, E. Dobriban (2023). T-Cal: an optimal test for the
       calibration of predictive models. JMLR 24(335). :doi:`10.48550/arXiv.2203.01850`
    .. [2] P. H. Westfall, S. S. Young (1993). Resampling-based multiple testing.
       Wiley.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.inference import t_cal_test
    >>> rng = np.random.default_rng(0)
    >>> y_proba = rng.random(1000)
    >>> calibrated = (rng.random(1000) < y_proba).astype(int)
    >>> t_cal_test(calibrated, y_proba, random_state=0).pvalue > 0.05
    True
    >>> waves = y_proba + 0.2 * np.sin(50 * y_proba)
    >>> t_cal_test((rng.random(1000) < waves).astype(int), y_proba, random_state=0).pvalue < 0.01
    True
    """
    n_resamples = check_integer("n_resamples", n_resamples, minimum=1)
    rng, show = check_rng(random_state), read_progress(progress)
    refuse_censoring_weights(sample_weight)
    sample = reduce_to_labelled_sample(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        labels=labels,
        reduction=reduction,
    )
    weights = list_weights(sample)
    weights = weights / weights.max()  # their fourth powers could overflow or vanish
    order = np.lexsort((weights, sample.predictions))  # the draws do not depend on the rows' order
    errors = DyadicErrors(sample.predictions[order], weights[order])
    observed = errors.evaluate(sample.outcomes[None, order] > 0)
    drawn = errors.draw(n_resamples, rng, lambda sizes: count_steps(show, sizes, sizes))
    values = np.concatenate([observed, drawn])
    pvalue, scale, smallest = find_smallest_pvalue(values.T)
    if (sample.predictions == 1 - sample.outcomes).any():  # no draw has such a label
        smallest[0] = pvalue = LeastPValue(1 / (n_resamples + 1))
    statistic = np.log10(1 / smallest)
    chance = float(statistic[1:].mean())
    estimate = float(observed[0, scale])
    return TestResult(float(statistic[0]), pvalue, estimate, null_mean=chance, name="T-Cal")
