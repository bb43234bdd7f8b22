"""Metrics of rows without labels, with intervals, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from skcal._fitting._held_out import fit_to_columns, predict_columns
from skcal._input._reduction import check_predictions
from skcal._input._validation import (
    check_confidence_level,
    check_flag,
    check_inside,
    check_integer,
    check_option,
    check_rng,
)
from skcal._numerics.shift._performance import (
    BINARY,
    METRICS,
    draw_labels,
    find_ends,
    find_fullest_gap,
    find_share_outside,
    make_metric,
)
from skcal._numerics.shift._prior_shift import fit_prior, shift_probabilities
from skcal._refinement import cross_fit, list_vectors, read_recalibrator
from skcal._tools._progress import read_progress
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike, RandomState
from skcal._tools._words import show_interval, show_pvalue
from skcal.inference import GroupAudit, TestResult, calibration_test
from skcal.monitoring import CalibrationMonitor
from skcal.recalibration import SplineRecalibration, TemperatureScaling
from skcal.shift._estimate_prior import test_label_shift
from skcal.shift._new_rows import check_counts, read_new

Metric = Literal[
    "accuracy",
    "confusion",
    "precision",
    "recall",
    "specificity",
    "f1",
    "log_loss",
    "brier_score",
    "roc_auc",
    "average_precision",
    "net_benefit",
]

# Labelled rows are recalibrated by maps fitted on the others.
_N_FOLDS = 5
# Evidence of a smaller p-value refuses.
_LEVEL = 0.01
# Largest share of new scores beyond all labelled ones; with few labelled rows, this multiple of
# what one row in them is. Without any change more are with a probability of exp(-5), and about so
# in one of all gaps with log(n) more.
_MOST_OUTSIDE, _MOST_ROWS_OUTSIDE = 0.01, 5


@as_record
class PerformanceEstimate(NamedTuple):
    """Estimated metric on unlabelled rows, or the reason not to trust it.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    estimate : float or ndarray of shape (n_classes, n_classes)
        Value of the metric. The confusion has the true classes in rows, the predicted ones in
        columns, and the sum 1. NaN where there is a `reason`.
    low, high : float or ndarray of shape (n_classes, n_classes)
        Ends of the interval; for the confusion matrix one interval for each entry.
    reason : str or None
        Why the estimate is refused; None where nothing speaks against it.
    share_outside : float
        Share of new scores that lie below all labelled ones, or above: the larger of the two, for
        the class with the largest share.
    share_in_gap : float
        Largest share of new scores in one gap of the labelled ones, between two neighbours whose
        recalibrated probabilities (of three classes or more: scores) differ by more than 0.2.
    fit_test : TestResult
        Test of the hypothesis that the recalibrated labelled rows are calibrated, each by a map
        that was fitted on others.
    check_test : TestResult or None
        The same of the recalibrated rows of `y_true_check`; None where none were given.
    shift_test : TestResult or None
        Test of the hypothesis that new rates explain the new scores, see :class:`PriorEstimate`;
        None for ``shift="covariate"``.
    """

    estimate: float | np.ndarray
    low: float | np.ndarray
    high: float | np.ndarray
    reason: str | None
    share_outside: float
    share_in_gap: float
    fit_test: TestResult
    check_test: TestResult | None
    shift_test: TestResult | None

    def __str__(self) -> str:
        if self.reason is not None:
            return f"No estimate: {self.reason}."
        if not isinstance(self.estimate, float):
            right = float(np.trace(self.estimate))
            return f"Confusion of {len(self.estimate)} classes, {right:.3g} of it on the diagonal."
        shown = show_interval(self.estimate, self.low, self.high)
        return f"Estimated as {shown}; nothing speaks against it."


def estimate_performance(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    y_proba_new: ArrayLike,
    *,
    metric: Metric,
    shift: Literal["covariate", "label"] = "covariate",
    threshold: float | None = None,
    population: bool = True,
    sample_weight: ArrayLike | None = None,
    sample_weight_new: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    y_true_check: ArrayLike | None = None,
    y_proba_check: ArrayLike | None = None,
    evidence: Any = None,
    recalibrator: Any = None,
    confidence_level: float = 0.95,
    n_resamples: int = 200,
    progress: bool | Callable[..., Any] | None = None,
    random_state: RandomState = None,
) -> PerformanceEstimate:
    r"""Estimate the performance of a model on new rows before their labels arrive.

    A recalibrator learns from labelled rows what scores mean, and new rows have the labels that
    recalibrated scores lead one to expect. That is right where rows of a score have the classes as
    often as before (covariate shift), or where only the rates of the classes have changed (label
    shift); only labels can prove which of them. Rows must be independent, see
    :ref:`without-clusters`, and the classifier must not have seen the labelled ones.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Labels of rows of the old population, with at least two rows of each class.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Their predicted probabilities, out of fold if the classifier was fitted on them: of the
        positive label, or one column per label.
    y_proba_new : array-like of shape (n_new,), (n_new, 1) or (n_new, n_classes)
        Predicted probabilities of the new rows, in the same columns. They are judged as they are.
    metric : str
        What is estimated: "accuracy", "confusion", "log_loss", "brier_score", or of two classes
        "precision", "recall" (sensitivity), "specificity", "f1", "roc_auc" (area under the ROC
        curve), "average_precision" or "net_benefit".
    shift : {"covariate", "label"}, default="covariate"
        What is the same in both populations: with "covariate" the probabilities of the classes
        given a score; with "label" the scores of each class, while the rates of the classes may be
        others. These are found in the new rows, as by :meth:`PriorShift.adapt`.
    threshold : float, default=None
        Probability from which on the positive one of two classes is predicted, in (0, 1); None
        takes 0.5. With more classes the one of largest probability is predicted.
    population : bool, default=True
        Whether the interval is for all rows from which the new ones were drawn. False: for these
        rows alone, whatever labels they will get.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of the labelled rows, such as those of :func:`domain_weights`; only
        their proportions matter.
    sample_weight_new : array-like of shape (n_new,), default=None
        Non-negative weights of the new rows; only their proportions matter. They are no counts:
        two rows are a pair for the area under the ROC curve, and a row of weight 2 is none.
    pos_label : int, float, bool or str, default=None
        The positive label of two classes; by default the last label. A single column needs it, or
        `labels`, unless labels are {0, 1} or {-1, 1}.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    y_true_check : array-like of shape (n_check,), default=None
        Labels of a few rows of the new population. If their recalibrated predictions are not
        calibrated, the estimate is refused.
    y_proba_check : array-like of shape (n_check,) or (n_check, n_classes), default=None
        Predicted probabilities of these rows.
    evidence : TestResult, GroupAudit, CalibrationMonitor or list of them, default=None
        What else may speak against the recalibrated model: the estimate is refused at a p-value of
        0.01 or less, or after an alarm.
    recalibrator : recalibrator, str or None, default=None
        Itself or by its name. None takes splines for two classes, which follow the shapes that
        scores have and are as quick as Platt scaling, and temperature scaling for more.
    confidence_level : float, default=0.95
        Level of the interval, in (0, 1).
    n_resamples : int, default=200
        Number of fits of the recalibrator to labelled rows with random weights; at least 2.
    progress : bool or callable, default=None
        A progress bar over fits to random weights: True for a tqdm bar (tqdm must be installed), or
        a function that takes an iterable and returns one, such as ``tqdm.tqdm``.
    random_state : int, RandomState, Generator or None, default=None
        Source of the weights. An integer makes the result repeatable.

    Returns
    -------
    PerformanceEstimate
        Named tuple of ``estimate``, ``low``, ``high``, the ``reason`` of a refusal, and what was
        checked; see :class:`PerformanceEstimate`.

    Raises
    ------
    ValueError
        If an argument is invalid, if a class has fewer than two labelled rows, or if the metric is
        not defined, such as the precision where no row is predicted positive.

    See Also
    --------
    domain_weights : Weights of labelled rows, for metrics whose labels are known.
    PriorShift : Where the rates of the classes have changed.
    skcal.monitoring.CalibrationMonitor : Watches calibration as labels arrive.

    Notes
    -----
    For the recalibrated probabilities :math:`q_k(i)` of the new rows, a metric that is a mean of
    losses is expected to be [1]_

    .. math:: \frac{1}{\sum_i w_i} \sum_i w_i \sum_k q_k(i)\, \ell(k, v(i)) ,

    with the raw predictions v. Precision, recall, specificity and F1 are ratios of such sums, and
    with :math:`q = q_1` the area under the ROC curve is the ratio of expected pairs

    .. math:: \frac{\sum_{i \neq j} w_i w_j\, q(i) (1 - q(j))\,
              (\mathbb{1}[v(i) > v(j)] + \frac{1}{2} \mathbb{1}[v(i) = v(j)])}
              {\sum_{i \neq j} w_i w_j\, q(i) (1 - q(j))} ,

    found by one sort. So is the average precision, the ratio of the expected sum of precisions at
    positive rows to the expected number of these. The net benefit of a threshold t is the mean of
    :math:`\mathbb{1}[v \geq t]\, (q - (1 - q)\, t / (1 - t))`.

    The interval holds percentiles of a Bayesian bootstrap [2]_: the recalibrator is fitted again to
    labelled rows with independent exponential weights, which leave no class without rows. For the
    population the new rows get such weights, too; for these rows alone labels are drawn from the
    new map instead. The first interval counts the errors of the recalibrator and of the choice of
    new rows, the second one those of the recalibrator and of the labels. Bands that account only
    for the rows, such as the three standard errors that the documentation of NannyML gives for its
    confidence-based performance estimation (CBPE), do not widen if the recalibrator has seen few
    rows.

    For ``shift="label"`` the recalibrated probabilities are corrected for the rates under which the
    new rows are likeliest. Each refit has its own rates, estimated with random weights of the new
    rows, so that the interval includes their error.

    **When it must not be believed.** The estimate is NaN, and ``reason`` says why,

    - if more than 1 % of the new scores (of few labelled rows, 5 out of their number) lie below all
      labelled ones, or above, where the recalibrator has seen nothing;
    - if more than 1 % of them (or :math:`(5 + \log n) / n` of n labelled rows) lie between two
      neighbours among the labelled scores whose recalibrated probabilities differ by more than 0.2,
      for three classes or more: whose scores do. The recalibrator has seen nothing there either;
    - if the test of the recalibrated labelled rows rejects at 1 %, because the recalibrator does
      not fit: another one may, such as "spline" for many classes;
    - if the same test of the rows of `y_true_check` does, because scores mean something else now;
    - for ``shift="label"``, if the test of the fit of :func:`estimate_prior` rejects at 1 %: no new
      rates explain the new scores;
    - if `evidence` does.

    Without labels of new rows nothing can be said against a change of what scores mean.

    References
    ----------
    .. [1] J. Białek, J. Kivimäki, W. Kuberski, N. Perrakis (2025). Estimating model performance
       under covariate shift without labels. NeurIPS 38. :doi:`10.48550/arXiv.2401.08348`
    .. [2] D. B. Rubin (1981). The Bayesian bootstrap. Annals of Statistics 9.
       :doi:`10.1214/aos/1176345338`

    Examples
    --------
    Log-odds that are twice too large look better than they are, and new rows are harder:

    >>> import numpy as np
    >>> from skcal.shift import estimate_performance
    >>> rng = np.random.default_rng(0)
    >>> log_odds, new = rng.normal(size=2000), rng.normal(-0.5, 0.7, size=2000)
    >>> y, y_new = (rng.random(2000) < 1 / (1 + np.exp(-s)) for s in (log_odds, new))
    >>> y_proba, y_proba_new = (1 / (1 + np.exp(-2 * s)) for s in (log_odds, new))
    >>> data = (y, y_proba, y_proba_new)
    >>> found = estimate_performance(*data, metric="accuracy", random_state=0)
    >>> bool(found.low < np.mean((y_proba_new >= 0.5) == y_new) < found.high)
    True
    >>> bool(found.high < np.maximum(y_proba_new, 1 - y_proba_new).mean())
    True

    A few labels say that scores mean something else now:

    >>> check = {"y_true_check": ~y_new[:200], "y_proba_check": y_proba_new[:200]}
    >>> estimate_performance(*data, metric="roc_auc", **check, random_state=0).reason
    'the recalibrated rows of y_true_check are not calibrated (p <= 0.001)'
    """
    check_option("metric", metric, tuple(METRICS))
    check_option("shift", shift, ("covariate", "label"))
    check_flag("population", population)
    confidence_level = check_confidence_level(confidence_level)
    n_resamples = check_integer("n_resamples", n_resamples, minimum=2)
    rng, evidence = check_rng(random_state), _read_evidence(evidence)
    show = read_progress(progress)
    rows = check_predictions(
        y_true, y_proba, sample_weight=sample_weight, pos_label=pos_label, labels=labels
    )
    old, codes, weights = list_vectors(rows.to_vectors())
    new, new_weights = read_new(y_proba_new, y_proba, rows, sample_weight_new)
    check_counts(codes, old.shape[1], rows.labels)
    threshold = _read_threshold(threshold, metric, old.shape[1])
    labels = rows.labels if labels is None else labels
    check = _read_check(y_true_check, y_proba_check, pos_label, labels, old.shape[1])
    share = find_share_outside(old, new, new_weights)
    new_weights = np.ones(len(new)) if new_weights is None else new_weights
    problem = _Problem(_choose_map(recalibrator, old.shape[1]), shift == "label", rng)
    problem.fit(old, codes, weights, new, new_weights)
    gap = problem.find_gap()
    fit_test = problem.test_fit()
    check_test = None if check is None else problem.test_map(*check)
    shift_test = problem.test_shift()
    reason = _explain(share, gap, len(old), fit_test, check_test, shift_test, evidence)
    estimate = problem.estimate(make_metric(metric, new, threshold))
    ends: Sequence[Any] = ()
    if reason is None:
        resamples = show(range(n_resamples))
        ends = problem.find_interval(metric, threshold, population, resamples, confidence_level)
    if np.isnan([estimate, *ends]).any():
        raise ValueError(
            f"metric={metric!r} is not defined: no row of y_proba_new is expected to count."
        )
    if reason is not None:
        estimate, *ends = 3 * [np.full_like(estimate, np.nan)]
    estimate, low, high = (_show(value) for value in (estimate, *ends))
    shares = share, gap[0]
    return PerformanceEstimate(
        estimate, low, high, reason, *shares, fit_test, check_test, shift_test
    )


def _show(value):
    """A float, or the array of the confusion."""
    return value if np.ndim(value) else float(value)


class _Problem:
    """A recalibrator, the labelled rows that it learns from, new rows, and chance."""

    def __init__(self, recalibrator, finds_rates, rng):
        self._recalibrator, self._finds_rates, self._rng = recalibrator, finds_rates, rng

    def fit(self, old, codes, weights, new, new_weights):
        self._old, self._codes, self._weights = old, codes, weights
        self._new, self._new_weights = (
            new,
            np.ones(len(new)) if new_weights is None else new_weights,
        )
        self._map = None
        self._map = self._fit_map(old, codes, weights, new, self._new_weights)

    def find_gap(self):
        """The fullest gap of the labelled scores, see `find_fullest_gap`."""
        old, new, values = self._old, self._new, self._old
        if old.shape[1] == 2:  # what a score means is known by itself
            old, new, values = old[:, 1:], new[:, 1:], self._map.recalibrate(old)[:, 1:]
        return find_fullest_gap(old, values, new, self._new_weights)

    def test_fit(self):
        """Test of labelled rows, by maps fitted on the others."""
        rows = self._old, self._codes, self._weights
        return self._test(cross_fit(self._recalibrator, *rows, _N_FOLDS), *rows[1:])

    def test_map(self, proba, codes):
        """Test of other rows of the new population, by the map fitted on all labelled ones."""
        return self._test(self._map(proba), codes, None)

    def test_shift(self):
        """Test whether new rates explain the new scores; None where the same rates should."""
        if not self._finds_rates:
            return None
        old_rows = self._old, self._codes, self._weights
        return test_label_shift(self._map.rates, old_rows, (self._new, self._new_weights))

    def estimate(self, measure):
        """The metric of the new rows."""
        return measure(self._map(self._new), self._new_weights)

    def find_interval(self, metric, threshold, population, resamples, level):
        """The ends of its interval, with a fit for each of `resamples`."""
        rng, resampled = self._rng, []
        old_order, new_order = _order_rows(self._old), _order_rows(self._new)
        old, codes = np.asfortranarray(self._old[old_order]), self._codes[old_order]
        new, fixed_weights = np.asfortranarray(self._new[new_order]), self._new_weights[new_order]
        measure = make_metric(metric, new, threshold)
        for _ in resamples:
            weights, new_weights = rng.exponential(size=len(codes)), fixed_weights
            if self._weights is not None:
                weights = weights * self._weights
            if population or self._finds_rates:
                new_weights = new_weights * rng.exponential(size=len(new))[new_order]
            fitted = self._fit_map(old, codes, weights[old_order], new, new_weights)
            chances = fitted(new)
            if population:
                resampled.append(measure(chances, new_weights))
            else:
                resampled.append(measure(draw_labels(chances, rng), fixed_weights))
        return find_ends(np.array(resampled), level)

    def _fit_map(self, old, codes, weights, new, new_weights):
        near = None if self._map is None else self._map.fitted
        fitted = fit_to_columns(self._recalibrator, old, codes, weights, near)
        if not self._finds_rates:
            return _Map(fitted)
        counts = np.bincount(codes, weights, minlength=old.shape[1])
        train = counts / counts.sum()
        rates = fit_prior(predict_columns(fitted, new), train, new_weights)
        return _Map(fitted, train, rates)

    def _test(self, proba, codes, weights):
        labels = np.arange(proba.shape[1])
        options = {"sample_weight": weights, "labels": labels, "random_state": self._rng}
        return calibration_test(codes, proba, **options)


def _order_rows(proba):
    """Rows by the score of the second of two classes, which maps of one score read faster."""
    return np.argsort(proba[:, 1]) if proba.shape[1] == 2 else slice(None)


class _Map:
    """Probabilities of scores in the new population, whose rates may be others."""

    def __init__(self, fitted, train=None, rates=None):
        self.fitted, self._train, self.rates = fitted, train, rates

    def recalibrate(self, proba):
        """Probabilities under the old rates."""
        return predict_columns(self.fitted, proba)

    def __call__(self, proba):
        chances = self.recalibrate(proba)
        return (
            chances if self.rates is None else shift_probabilities(chances, self._train, self.rates)
        )


def _choose_map(recalibrator, n_classes):
    default = SplineRecalibration() if n_classes == 2 else TemperatureScaling()
    return read_recalibrator(recalibrator, default)


def _read_threshold(threshold, metric, n_classes):
    if n_classes > 2 and metric in BINARY:
        raise ValueError(
            f"metric={metric!r} needs two classes; got {n_classes}. Give the column of one class "
            "as y_proba, and say it with pos_label."
        )
    if n_classes > 2 and threshold is not None:
        raise ValueError(
            f"threshold must be None for more than two classes; got {threshold!r} and {n_classes} "
            "classes."
        )
    return 0.5 if threshold is None else check_inside("threshold", threshold)


def _read_check(y_true, y_proba, pos_label, labels, n_classes):
    """A few rows of the new population as vectors and the columns of their classes, or None."""
    if (y_true is None) != (y_proba is None):
        raise ValueError("y_true_check and y_proba_check must be given together, or neither.")
    if y_true is None:
        return None
    names = ("y_true_check", "y_proba_check")
    rows = check_predictions(y_true, y_proba, pos_label=pos_label, labels=labels, names=names)
    proba, codes, _ = list_vectors(rows.to_vectors(), names[0])
    if proba.shape[1] != n_classes:
        raise ValueError(
            f"y_proba_check must have the {n_classes} classes of y_proba; got {proba.shape[1]}."
        )
    return proba, codes


def _read_evidence(evidence):
    """A list of what may speak against the recalibrated model."""
    if evidence is None:
        return []
    is_list = isinstance(evidence, Sequence) and not isinstance(evidence, str)
    evidence = list(evidence) if is_list and not hasattr(evidence, "_fields") else [evidence]
    for one in evidence:
        if not isinstance(one, TestResult | GroupAudit | CalibrationMonitor):
            raise ValueError(
                "evidence must be a TestResult, a GroupAudit, a CalibrationMonitor or a list of "
                f"them; got {one!r}."
            )
    return evidence


def _explain(share, gap, n_old, fit_test, check_test, shift_test, evidence):
    """Why the estimate must not be believed, or None."""
    reasons = []
    if share > max(_MOST_OUTSIDE, _MOST_ROWS_OUTSIDE / n_old):
        reasons.append(f"{share:.1%} of the new scores are beyond all labelled ones on one side")
    share, low, high = gap
    if share > max(_MOST_OUTSIDE, (_MOST_ROWS_OUTSIDE + np.log(n_old)) / n_old):
        reasons.append(
            f"{share:.1%} of the new scores lie between {low:.3g} and {high:.3g}, where no "
            "labelled score is"
        )
    if fit_test.pvalue <= _LEVEL:
        reasons.append(
            "the recalibrator does not fit: labelled rows that it has not seen are not calibrated "
            f"({show_pvalue(fit_test.pvalue)})"
        )
    if check_test is not None and check_test.pvalue <= _LEVEL:
        reasons.append(
            "the recalibrated rows of y_true_check are not calibrated "
            f"({show_pvalue(check_test.pvalue)})"
        )
    if shift_test is not None and shift_test.pvalue <= _LEVEL:
        reasons.append(
            f"new rates do not explain the new scores ({show_pvalue(shift_test.pvalue)})"
        )
    reasons += [found for found in map(_find_objection, evidence) if found is not None]
    return "; ".join(reasons) or None


def _find_objection(evidence):
    """What a test, an audit or a monitor says against the model, or None."""
    if isinstance(evidence, CalibrationMonitor):
        if evidence.alarm_ is None:
            return None
        return f"the monitor has given an alarm at row {evidence.alarm_}"
    if not evidence.pvalue <= _LEVEL:
        return None
    name = "audit" if isinstance(evidence, GroupAudit) else "test"
    return f"the {name} in evidence rejects ({show_pvalue(evidence.pvalue)})"
