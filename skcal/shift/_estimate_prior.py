"""Base rates of rows without labels, with intervals, and whether they explain the scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from skcal._fitting._held_out import fit_to_columns, predict_columns
from skcal._input._reduction import check_predictions
from skcal._input._validation import check_confidence_level
from skcal._numerics.recalibration._deal import deal_splits
from skcal._numerics.shift._prior_estimate import (
    bound_rates,
    clip_rates,
    compare_means,
    count_rows,
    describe_scores,
    find_largest_gap,
    find_moments,
    fit_means,
    solve_rates,
)
from skcal._numerics.shift._prior_shift import fit_prior, shift_probabilities
from skcal._refinement import list_vectors, read_recalibrator
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike
from skcal._tools._words import SIGNIFICANT, show_interval, show_pvalue
from skcal.inference import TestResult
from skcal.shift._new_rows import check_counts, read_new

# Rows of y_true are recalibrated by maps fitted on the others.
_N_FOLDS = 5
# Functions are made at the rates of maximum likelihood, and again at those that these give.
_N_STEPS = 2
# The means of the classes differ by less than this share in their least different direction.
_SMALLEST_DIFFERENCE = 1e-10
# Beyond this many classes a sentence does not list rates.
_MOST_SHOWN = 5
# What the rows are like if the hypotheses hold.
_UNCHANGED, _SHIFTED = "unchanged rates", "rows of which only the rates changed"


@as_record
class PriorEstimate(NamedTuple):
    """Estimated base rates of unlabelled rows.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    estimate : ndarray of shape (n_classes,)
        Rate of each class among the new rows, in the order of the columns; of two classes the
        positive one is last. The sum is 1.
    low : ndarray of shape (n_classes,)
        Lower ends of the intervals, one for each class.
    high : ndarray of shape (n_classes,)
        Upper ends.
    change_test : TestResult
        Test of the hypothesis that the rates are those of the labelled rows. Its estimate is half
        the sum of the absolute differences.
    fit_test : TestResult
        Test of the hypothesis that new rates explain the new scores. Its estimate is the largest
        gap between the distribution function of a class's scores and what the rates make of it. A
        small p-value says that something else has changed, and that the estimate means nothing.
    """

    estimate: np.ndarray
    low: np.ndarray
    high: np.ndarray
    change_test: TestResult
    fit_test: TestResult

    def __str__(self) -> str:
        rates = zip(self.estimate, self.low, self.high, strict=True)
        shown = [show_interval(*rate) for rate in rates]
        what = f"Rates of the classes {', '.join(shown)}"
        if len(shown) == 2:
            what = f"Rate of the positive class {shown[1]}"
        elif len(shown) > _MOST_SHOWN:
            what = f"Rates of {len(shown)} classes, {np.ptp(self.estimate):.3g} apart at most"
        change, fit = self.change_test.pvalue, self.fit_test.pvalue
        changed = "a change" if change <= SIGNIFICANT else "no change beyond chance"
        trust = "new rates explain the new scores"
        if fit <= SIGNIFICANT:
            trust = "but more than rates has changed, so that the estimate means nothing"
        return f"{what}: {changed} ({show_pvalue(change)}); {trust} ({show_pvalue(fit)})."


def estimate_prior(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    y_proba_new: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    sample_weight_new: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    recalibrator: Any = None,
    confidence_level: float = 0.95,
) -> PriorEstimate:
    r"""Estimate the base rates of unlabelled rows (label shift).

    The classes must look the same in both samples (label shift); the scores allow a partial test.
    Scores need not be calibrated, and labelled rows may have any rates, such as those of a sampler;
    rows must be independent, see :ref:`without-clusters`, and the classifier must not have seen the
    labelled ones.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels of rows of the old population, with at least two rows of each class.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Their predicted probabilities, out of fold if the classifier was fitted on them: of the
        positive label, or one column per label.
    y_proba_new : array-like of shape (n_new,), (n_new, 1) or (n_new, n_classes)
        Predicted probabilities of the new rows, in the same columns.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of the labelled rows; only their proportions matter.
    sample_weight_new : array-like of shape (n_new,), default=None
        Non-negative weights of the new rows.
    pos_label : int, float, bool or str, default=None
        The positive label of two classes; by default the last label. A single column needs it, or
        `labels`, unless labels are {0, 1} or {-1, 1}.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    recalibrator : recalibrator, str or None, default=None
        Cross-fitted on the labelled rows first, which makes intervals shorter where scores are far
        from calibrated; itself or by its name.
    confidence_level : float, default=0.95
        Level of each interval, in (0, 1). All of K > 2 classes hold together at this level where
        each has the level 1 - (1 - level) / K.

    Returns
    -------
    PriorEstimate
        Named tuple of ``estimate``, ``low`` and ``high``, one for each class, and of
        ``change_test`` and ``fit_test``; see :class:`PriorEstimate`.

    Raises
    ------
    ValueError
        If an argument is invalid, if a class has fewer than two labelled rows, or if the scores
        cannot tell the classes apart.

    See Also
    --------
    PriorShift : Corrects probabilities for new rates.
    skcal.monitoring.CalibrationMonitor : Watches calibration as labels arrive.

    Notes
    -----
    Label shift says that every function h of the scores has the mean
    :math:`\sum_k \pi_k\, \mathbb{E}[h \mid k]` in the new population. With one function for each
    class this is a system of linear equations for the rates, whose coefficients are means of the
    labelled rows [1]_ [2]_. The functions are posterior probabilities, which for calibrated scores
    lose nothing; for others the equations hold as well, so that no error of calibration enters.
    They are made twice: at the rates of maximum likelihood, which :meth:`PriorShift.adapt` finds,
    and again at the rates that the equations of the first ones give, because where scores are not
    calibrated the former may be far off. For this, rates below 1 / (n_new + K), with K classes, are
    raised to it, and all are divided by their sum.

    The variance of the estimate is that of the mean of the new rows plus, for each class,
    :math:`\pi_k^2` times that of its mean of labelled rows; that the functions are estimated
    adds nothing in first order, because the equations hold for all functions. The interval of a
    class holds the rates that are within the normal quantile of the estimate with their own
    variance, and is [0, 1] where the scores hardly tell the classes apart; estimate and ends are
    cut to [0, 1]. So a class that is seen in no new row has an interval, too: if scores are 0 and 1
    and right, it is the Wilson interval [4]_. Intervals that account only for the new rows are too
    short.

    The test of a change compares the means of these functions in both samples by Hotelling's
    statistic, with K - 1 degrees of freedom and the covariance of all rows, whose law is one if
    nothing changed: for two classes it is that of Student. The test of the fit adds Legendre
    polynomials of the ranks of the scores, up to five for two classes and three for each of more
    (from 11 classes on five of the largest score), of few rows fewer; its statistic is the smallest
    squared distance, in units of chance, of their means in the new rows from all mixtures of those
    of the classes, with one degree for each function less K - 1 [3]_. It sees whether scores look
    as label shift makes them look; a shift that acts on scores as other rates do cannot be seen
    without labels.

    The covariance of the latter has the law of one that is estimated from as many rows of one class
    as give it the same variance [5]_. Both are approximations for many rows. With 2000 new rows of
    two classes whose rates are .3, and nothing changed, tests at 1 % reject 1 to 2 % of samples of
    60 to 500 labelled rows; with weights of 1 and 5, or log-normal ones, the test of the fit
    rejects 3 to 4 % with 60 and 2 to 3 % with 200. With 400 labelled rows and 3 to 20 new ones the
    test of a change rejects 0 to 2 %, that of the fit up to 6 %.

    Out-of-fold scores are those of other fits than the scores of new rows. Where fits differ much,
    because they learn from few rows, as behind an undersampler, the test of the fit sees that, and
    the estimate suffers: hold labelled rows out, and score them and the new ones by one classifier.
    With a recalibrator each labelled row is mapped by a fit on the other folds, and functions of
    new rows are averaged over the folds; the test of the fit uses the raw scores.

    References
    ----------
    .. [1] M. Saerens, P. Latinne, C. Decaestecker (2002). Adjusting the outputs of a classifier to
       new a priori probabilities: a simple procedure. Neural Computation 14.
       :doi:`10.1162/089976602753284446`
    .. [2] Z. C. Lipton, Y.-X. Wang, A. Smola (2018). Detecting and correcting for label shift with
       black box predictors. ICML 35. :doi:`10.48550/arXiv.1802.03916`
    .. [3] L. P. Hansen (1982). Large sample properties of generalized method of moments estimators.
       Econometrica 50. :doi:`10.2307/1912775`
    .. [4] E. B. Wilson (1927). Probable inference, the law of succession, and statistical
       inference. Journal of the American Statistical Association 22.
       :doi:`10.1080/01621459.1927.10502953`
    .. [5] K. Krishnamoorthy, J. Yu (2004). Modified Nel and Van der Merwe test for the multivariate
       Behrens-Fisher problem. Statistics & Probability Letters 66.
       :doi:`10.1016/j.spl.2003.10.012`

    Examples
    --------
    Log-odds that are twice too large, and half as many positives as before:

    >>> import numpy as np
    >>> from skcal.shift import estimate_prior
    >>> rng = np.random.default_rng(0)
    >>> y, y_new = (rng.random(2000) < 0.3).astype(int), rng.random(2000) < 0.15
    >>> scores, new = (rng.normal(2 * label - 1) for label in (y, y_new))
    >>> proba, proba_new = (1 / (1 + np.exp(-4 * s + 1.7)) for s in (scores, new))
    >>> found = estimate_prior(y, proba, proba_new)
    >>> bool(found.low[1] < 0.15 < found.high[1] < 0.2)
    True
    >>> found.change_test.pvalue < 1e-6 < 0.01 < found.fit_test.pvalue
    True

    Noisier scores are not a change of rates:

    >>> noisy = 1 / (1 + np.exp(-4 * (new + rng.normal(size=2000)) + 1.7))
    >>> estimate_prior(y, proba, noisy).fit_test.pvalue < 1e-6
    True
    """
    confidence_level = check_confidence_level(confidence_level)
    rows = check_predictions(
        y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels
    )
    old, codes, weights = list_vectors(rows.to_vectors())
    new, new_weights = read_new(y_proba_new, y_proba, rows, sample_weight_new)
    check_counts(codes, old.shape[1], rows.labels)
    functions = _find_functions(recalibrator, (old, codes, weights), (new, new_weights))
    of_classes = find_moments(functions[0], weights, codes, old.shape[1])
    of_new = find_moments(functions[1], new_weights)
    rates, inverse = solve_rates(of_classes, of_new)
    low, high = bound_rates(rates, inverse, of_classes, of_new, confidence_level)
    estimate = clip_rates(rates)
    counts = np.bincount(codes, weights, minlength=len(rates))
    change = np.abs(estimate - counts / counts.sum()).sum() / 2
    return PriorEstimate(
        estimate,
        low,
        high,
        _make_result(
            compare_means(find_moments(functions[0], weights), of_new), change, _UNCHANGED
        ),
        test_label_shift(rates, (old, codes, weights), (new, new_weights)),
    )


def _find_functions(recalibrator, old_rows, new_rows):
    """Functions of the scores, one for each class, of the old rows and of the new ones.

    They are posterior probabilities at the best rates that were found.
    """
    (old, codes, weights), (new, new_weights) = old_rows, new_rows
    old, versions = _recalibrate(recalibrator, old, codes, weights, new)
    counts = np.bincount(codes, weights, minlength=old.shape[1])
    train = counts / counts.sum()
    rates = fit_prior(np.mean(versions, axis=0), train, new_weights)
    for _ in range(_N_STEPS):
        rates = clip_rates(rates, _find_floor(new))
        shifted = shift_probabilities(old, train, rates)
        shifted_new = np.mean([shift_probabilities(v, train, rates) for v in versions], axis=0)
        of_classes = find_moments(shifted, weights, codes, old.shape[1])
        _check_differences(of_classes.means)
        rates = solve_rates(of_classes, find_moments(shifted_new, new_weights))[0]
    return shifted, shifted_new


def _recalibrate(recalibrator, old, codes, weights, new):
    """Old rows by maps that were fitted on other ones, and the new rows by each of the maps."""
    if recalibrator is None:
        return old, [new]
    recalibrator = read_recalibrator(recalibrator, None)
    versions, held_out = [], np.empty_like(old)
    for train, test in deal_splits(old, codes, weights, _N_FOLDS):
        weight = None if weights is None else weights[train]
        fitted = fit_to_columns(recalibrator, old[train], codes[train], weight)
        held_out[test] = predict_columns(fitted, old[test])
        versions.append(predict_columns(fitted, new))
    return held_out, versions


def _check_differences(means):
    values = np.linalg.svd(means, compute_uv=False)
    if values[-1] <= _SMALLEST_DIFFERENCE * values[0]:
        raise ValueError(
            "y_proba cannot tell the classes apart: the mean scores of a class equal those of a "
            "mixture of others, so new scores tell nothing about its rate."
        )


def test_label_shift(rates, old_rows, new_rows):
    """Test whether rates, near the given ones, explain the new scores.

    It reads scores as they are: maps of several folds would not be one function.
    """
    (old, codes, weights), (new, new_weights) = old_rows, new_rows
    counts = np.bincount(codes, weights, minlength=len(rates))
    pair = counts / counts.sum(), clip_rates(rates, _find_floor(new))
    # The last function follows from the others.
    shifted = [shift_probabilities(scores, *pair)[:, :-1] for scores in (old, new)]

    def find(functions, functions_new):
        """Moments of functions of the old rows, class by class, and of the new ones."""
        of_classes = find_moments(functions, weights, codes, len(rates))
        return of_classes, find_moments(functions_new, new_weights)

    ranked = describe_scores(old, new, count_rows(rates, *find(*shifted)))
    functions = [np.hstack(both) for both in zip(shifted, ranked, strict=True)]
    gap = find_largest_gap(rates, old, codes, weights, new, new_weights)
    return _make_result(fit_means(rates, *find(*functions)), gap, _SHIFTED)


def _find_floor(new):
    """Lowest rate of a function: at 0 it would be 0, and would tell nothing."""
    return 1 / np.sum(new.shape)


def _make_result(test, estimate, hypothesis):
    pvalue, name = test.find_pvalue(), "Distance of mean scores"
    return TestResult(test.statistic, pvalue, float(estimate), name=name, hypothesis=hypothesis)
