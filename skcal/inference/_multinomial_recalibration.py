"""Multinomial recalibration: intercepts and slopes of the log odds of several classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from skcal._input._class_log_odds import read_class_log_odds
from skcal._input._validation import check_confidence_level
from skcal._numerics.inference._softmax_models import UNKNOWN, SoftmaxModels
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike
from skcal._tools._words import show_interval, show_label, show_pvalue
from skcal.inference._test_result import CALIBRATED, TestResult

_HYPOTHESES = CALIBRATED, "predictions right as a whole", "predictions with slopes 1"


@as_record
class MultinomialRecalibration(NamedTuple):
    """Multinomial logistic recalibration, with tests of the hypothesis that none is needed.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    table : DataFrame
        A row for each class but the reference: ``class``, ``calibration_in_the_large``, its
        intercept if all slopes are 1, 0 for a calibrated model, and ``slope``, that of its own log
        odds, 1 for a calibrated model. Each has a standard error and an interval,
        ``intercept_error``, ``intercept_low``, ``intercept_high``, ``slope_error``, ``slope_low``
        and ``slope_high``.
    coefficients : DataFrame
        A row for each coefficient of the full model: ``class``, ``term``, "intercept" or "log odds
        of" a class, ``estimate``, ``error``, ``low`` and ``high``. For a calibrated model
        intercepts are 0, slopes of the log odds of the same class 1, and all others 0.
    test : TestResult
        Likelihood-ratio test that the full model is not needed. Its estimate is the log loss that
        this gains on these rows.
    intercept_test : TestResult
        The part of it that tests the intercepts, at slopes of 1.
    slope_test : TestResult
        The rest of it, which tests the slopes.
    reference : label
        The class to which log odds refer.
    """

    table: pd.DataFrame
    coefficients: pd.DataFrame
    test: TestResult
    intercept_test: TestResult
    slope_test: TestResult
    reference: object

    def __str__(self) -> str:
        words = [
            f"for {_show_class(name)} {show_interval(slope, low, high)}"
            for name, slope, low, high in zip(
                *(self.table[key] for key in ("class", "slope", "slope_low", "slope_high")),
                strict=True,
            )
            if not np.isnan(slope)
        ]
        slopes = "No slope is identified"
        if words:
            chance = show_pvalue(self.slope_test.pvalue)
            slopes = f"Slopes of log odds are {', '.join(words)}, and 1 if calibrated ({chance})"
        return (
            f"{slopes}; intercepts, 0 if calibrated: {show_pvalue(self.intercept_test.pvalue)}; of "
            f"all together {show_pvalue(self.test.pvalue)}."
        )

    def to_frame(self) -> pd.DataFrame:
        """Table of the classes.

        Returns
        -------
        DataFrame
            A copy of ``table``.
        """
        return self.table.copy()


def multinomial_recalibration(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    reference: Any = None,
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
) -> MultinomialRecalibration:
    r"""Calibration intercepts and slopes of several classes, with standard errors and tests.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples, n_classes), (n_samples,) or (n_samples, 1)
        Predicted probabilities, neither 0 nor 1, a column per label with rows that sum to 1. Of
        two classes one column is enough, that of the last label; it needs `labels`, unless these
        are {0, 1} or {-1, 1}.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of any scale, see :ref:`weights-in-inference`. A weight of 2 is not the
        same as two rows. Those above 0 must lie within a factor of 1e250 of each other.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reference : int, float, bool or str, default=None
        Label of the class to which log odds refer; by default the first one. The tests do not
        depend on it.
    clusters : array-like of shape (n_samples,), default=None
        Label of the cluster of each row, such as a patient or a question: rows of a cluster may
        depend on each other in any way, see :ref:`clusters`. None means independent rows.
    confidence_level : float, default=0.95
        Level of each interval, in (0, 1).

    Returns
    -------
    MultinomialRecalibration
        Named tuple of the data frames ``table`` and ``coefficients``, of ``test``,
        ``intercept_test`` and ``slope_test``, each a :class:`TestResult`, and of the ``reference``.

    Raises
    ------
    ValueError
        If an argument is invalid, if a prediction is 0 or 1, if labels are soft, if weights
        differ by more than a factor of 1e250, if a class has no row, or if there are fewer rows
        than coefficients, K (K - 1) of K classes.

    See Also
    --------
    cox_recalibration : The same for two classes, with intervals by the likelihood.
    choose_update : Which of these coefficients a model needs.
    skcal.recalibration.MatrixScaling : The recalibration itself.

    Notes
    -----
    With the log odds :math:`l_k = \log(v_k / v_r)` of class k against the reference r, the full
    model is

    .. math:: \log \frac{P(y = k)}{P(y = r)} = a_k + \sum_{j \ne r} b_{kj}\, l_j

    for each class but the reference, fitted by maximum likelihood without a penalty [1]_. A model
    is calibrated in this sense if all :math:`a_k = 0, b_{kk} = 1` and other :math:`b_{kj} = 0`.
    Calibration in the large fits :math:`a_k` alone. ``slope`` is :math:`b_{kk}` of the model with
    :math:`b_{kj} = 0` for other j. With K classes the tests have K (K - 1), K - 1 and
    :math:`(K - 1)^2` degrees of freedom; without unequal weights or clusters the first statistic
    is the sum of the others. Log odds that are constant, or that depend on the others, have no
    slopes of their own, and no degrees of freedom. For two classes estimates and tests are those
    of :func:`cox_recalibration`.

    Intervals are estimates plus and minus a multiple of the standard error, which is that of the
    information; for the two smaller models, which may be wrong, that of the sandwich [2]_ if it is
    larger. With unequal weights, or clusters, it is multiplied as the sandwich says, whose parts
    are divided by 1 minus the share :math:`h_c` of a cluster in the information; quantiles are
    those of Student's distribution with :math:`1 / \sum_c h_c^2 - 1` degrees of freedom, and
    statistics are read as Hotelling's. Tests count as many rows as make the score statistic
    chi-squared. All are approximations for many rows, of the rarest class as well: at 5 % the tests
    reject 4 to 6 % of calibrated samples of 200 rows with three classes, or of 1000 with three or
    five, and 1 to 3 % of 1000 rows in 40 clusters; 4 to 5 % of the intervals of slopes miss
    (``benchmarks/bench_model_updates.py``).

    Where outcomes are separated, coefficients are infinite. Estimates are NaN then, and intervals
    hold all numbers.

    References
    ----------
    .. [1] K. Van Hoorde, Y. Vergouwe, D. Timmerman, S. Van Huffel, E. W. Steyerberg, B. Van Calster
       (2014). Assessing calibration of multinomial risk prediction models. Statistics in Medicine
       33. :doi:`10.1002/sim.6114`
    .. [2] D. A. Freedman (2006). On the so-called "Huber sandwich estimator" and "robust standard
       errors". The American Statistician 60. :doi:`10.1198/000313006X152207`

    Examples
    --------
    Predictions of three classes with log odds that are twice too large:

    >>> import numpy as np
    >>> from scipy.special import softmax
    >>> from skcal.inference import multinomial_recalibration
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(3000, 3))
    >>> y_true = np.array(["a", "b", "c"])[(logits + rng.gumbel(size=(3000, 3))).argmax(axis=1)]
    >>> found = multinomial_recalibration(y_true, softmax(2 * logits, axis=1))
    >>> found.table[["class", "calibration_in_the_large", "slope", "slope_error"]].round(2)
      class  calibration_in_the_large  slope  slope_error
    0     b                     -0.16   0.50         0.02
    1     c                     -0.09   0.51         0.02
    """
    level = check_confidence_level(confidence_level)
    rows = read_class_log_odds(y_true, y_proba, sample_weight, labels, reference, clusters)
    models = SoftmaxModels(rows.log_odds, rows.targets, rows.weights, member=rows.member)
    small, large = models.fit(models.intercepts[:0]), models.fit(models.everything)
    shifted = models.fit(models.intercepts)
    pairs = (small, large), (small, shifted), (shifted, large)
    test, intercept_test, slope_test = (
        _test(models.compare(*pair), hypothesis)
        for pair, hypothesis in zip(pairs, _HYPOTHESES, strict=True)
    )
    return MultinomialRecalibration(
        _describe_classes(rows.names, models, shifted, level),
        _describe_coefficients(rows.names, models, large, level),
        test,
        intercept_test,
        slope_test,
        rows.reference,
    )


def _test(found, hypothesis):
    numbers = found.statistic, found.pvalue, found.gain
    return TestResult(*numbers, name="Likelihood ratio", hypothesis=hypothesis)


def _describe_classes(names, models, shifted, level):
    """The table of calibration in the large and slopes."""
    has_slope = models.places.any(axis=1)
    stretched = models.fit(np.concatenate([models.intercepts, models.slopes[has_slope]]))
    table, numbers = [], len(names) + np.cumsum(has_slope) - 1
    for k, name in enumerate(names):
        intercept = models.bound(shifted, np.eye(len(names))[k], level, is_restricted=True)
        slope = UNKNOWN
        if has_slope[k]:
            contrast, spread = np.eye(len(stretched.basis))[numbers[k]], models.places[k]
            slope = models.bound(
                stretched, contrast, level, 1.0, np.linalg.norm(spread), is_restricted=True
            )
        table.append((name, *intercept, *slope))
    columns = ["class", "calibration_in_the_large", "intercept_error", "intercept_low"]
    columns += ["intercept_high", "slope", "slope_error", "slope_low", "slope_high"]
    return pd.DataFrame(table, columns=columns)


def _describe_coefficients(names, models, large, level):
    """The table of all coefficients of the full model."""
    terms = ["intercept", *(f"log odds of {_show_class(name)}" for name in names)]
    back, table = models.find_terms(), []
    for k, name in enumerate(names):
        for place, term in enumerate(terms):
            found = UNKNOWN
            if back is not None:
                contrast = np.outer(np.eye(len(names))[k], back[:, place]).ravel()
                spread = 1 / np.linalg.norm(back[:, place])
                found = models.bound(large, contrast, level, float(place == k + 1), spread)
            table.append((name, term, *found))
    return pd.DataFrame(table, columns=["class", "term", "estimate", "error", "low", "high"])


def _show_class(name):
    return name if isinstance(name, str) else show_label(name)
