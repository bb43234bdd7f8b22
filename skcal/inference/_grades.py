"""Rating grades: a table of what is predicted and observed in each, with its tests."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from skcal._input._clusters import are_few, number_clusters, unite_copies
from skcal._input._independent_rows import list_unequal_weights, reduce_to_present_rows
from skcal._input._validation import check_inside, check_option
from skcal._numerics.inference._default_rates import (
    count_events,
    find_binomial_pvalues,
    find_jeffreys_pvalues,
    find_most_prudent_rate,
)
from skcal._numerics.inference._monte_carlo import adjust_by_holm
from skcal._sources._row_source import check_groups
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike
from skcal._tools._words import (
    SIGNIFICANT,
    show_count,
    show_label,
    show_percentages,
    show_pvalue,
)
from skcal.inference._hosmer_lemeshow import hosmer_lemeshow_test
from skcal.inference._spiegelhalter import spiegelhalter_test
from skcal.inference._test_result import TestResult

# Binomial p-values up to which a light is yellow, or red.
_YELLOW, _RED = 0.05, 0.0001


@as_record
class GradeAudit(NamedTuple):
    """Rating grades, what is predicted and observed in each, and tests of all of them.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    table : DataFrame
        A row for each grade, from the lowest mean prediction to the highest: ``grade``,
        ``n_samples``, ``n_events``, ``mean_prediction``, ``mean_outcome``, the p-values
        ``binomial``, ``binomial_two_sided``, ``jeffreys`` and ``jeffreys_two_sided``, the
        ``adjusted_pvalue`` that accounts for all grades, the ``light``, "green", "yellow" or "red",
        and the ``most_prudent`` rate. In means each cluster of a grade counts alike.
    pvalue : float
        p-value of the hypothesis that no grade has a wrong rate: the smallest adjusted one.
    hosmer_lemeshow : TestResult or None
        Test of all grades; None with clusters, for which it is not made.
    spiegelhalter : TestResult or None
        Test of the single predictions; None with fewer than ten clusters, whose variation is hardly
        known.
    alternative : str
        "greater" or "two-sided": what adjusted p-values and the Hosmer-Lemeshow test are for.
    confidence_level : float
        Confidence of the most prudent rates.
    """

    table: pd.DataFrame
    pvalue: float
    hosmer_lemeshow: TestResult | None
    spiegelhalter: TestResult | None
    alternative: str
    confidence_level: float

    def __str__(self) -> str:
        table, n_grades = self.table, len(self.table)
        what = "Too many events" if self.alternative == "greater" else "A wrong rate"
        found = table[table["adjusted_pvalue"] <= SIGNIFICANT]
        chance = show_pvalue(self.pvalue)
        if found.empty:
            more = "more events" if self.alternative == "greater" else "another rate"
            grades = show_count(n_grades, "grade")
            return f"No grade has {more} than chance explains ({chance}, {grades})."
        worst = int(np.argmin(table["adjusted_pvalue"]))
        rates = (table[name].tolist()[worst] for name in ("mean_prediction", "mean_outcome"))
        predicted, seen = show_percentages(*rates)
        name = table["grade"].tolist()[worst]
        name = name if isinstance(name, str) else show_label(name)
        return (
            f"{what} in {len(found)} of {n_grades} grades ({chance}), most clearly in {name}: "
            f"{predicted} are predicted, where {seen} come true."
        )

    def to_frame(self) -> pd.DataFrame:
        """Table of the grades.

        Returns
        -------
        DataFrame
            A copy of ``table``.
        """
        return self.table.copy()


def audit_grades(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    groups: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    alternative: Literal["greater", "two-sided"] = "greater",
    confidence_level: float = 0.95,
) -> GradeAudit:
    r"""Validation of rating grades: observed and predicted rates, tests and prudent estimates.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels: who defaulted.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
        Predicted probabilities in [0, 1], such as the PD of the grade: of the positive label, or
        one column per label with rows that sum to 1.
    groups : array-like of shape (n_samples,)
        Grade of each row.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of any scale, see :ref:`weights-in-inference`. A weight of 2 is not the
        same as two rows. If they differ, p-values and prudent rates are approximate, and there must
        be no `clusters`.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    clusters : array-like of shape (n_samples,), default=None
        Label of the cluster of each row, such as a borrower with several loans or years: rows of a
        cluster may depend on each other in any way, see :ref:`clusters`. None means independent
        rows.
    alternative : {"greater", "two-sided"}, default="greater"
        "greater" looks for more events than a grade promises, "two-sided" for any other number.
    confidence_level : float, default=0.95
        Confidence of the most prudent rate of each grade, in (0, 1).

    Returns
    -------
    GradeAudit
        Named tuple of a ``table`` with a row for each grade, ``pvalue``, ``hosmer_lemeshow``,
        ``spiegelhalter``, ``alternative`` and ``confidence_level``.

    Raises
    ------
    ValueError
        If an argument is invalid, if labels are soft, or if there are both unequal
        weights and clusters.

    Warns
    -----
    UserWarning
        If the two-sided Hosmer-Lemeshow test expects too few events.

    See Also
    --------
    audit_groups : Groups that may overlap, with simultaneous intervals and a diagram.
    hosmer_lemeshow_test : With groups of equal size.
    spiegelhalter_test : The test of the single predictions.

    Notes
    -----
    A grade of n rows with k events and the mean prediction v has these p-values:

    - ``binomial``, of too many events: :math:`P(X \ge k)` of a binomial variable X of n and v. It
      is exact, and on the safe side where predictions differ within the grade. Two-sided it is
      twice the smaller tail.
    - ``jeffreys``: the probability that the rate is at most v under Jeffreys' prior, that of a beta
      variable of :math:`k + 1/2` and :math:`n - k + 1/2`, which European banks report to their
      supervisors [1]_. Two-sided it is twice the smaller tail. It keeps no level: at 5 % it rejects
      up to 16 % of right grades, those that expect .17 events, with the first one.
    - ``adjusted_pvalue``: the binomial one for `alternative`, adjusted for the number of grades by
      Holm's method.

    The ``light`` is yellow where ``binomial`` is at most 5 %, and red where it is at most 0.01 %.
    These are the levels of Basel's backtesting [2]_, which takes :math:`1 - P(X \le k)` for the
    p-value and so turns yellow or red one event earlier: of 250 right rows at 1 % that would be 11
    % in place of 4 %.

    The ``most_prudent`` rate [3]_ of a grade is the upper bound, with the given confidence, that
    the rows and events of this grade and all worse ones together leave, since worse grades have no
    lower rates. Grades without any event get a rate above 0 and keep their order. It takes grades
    in the order of their mean predictions.

    With `clusters`, one row of each cluster of a grade is chosen at random: chosen rows are
    independent, with any dependence within clusters, so that the p-value of their number of events
    is as exact as above. Its mean over all choices, which is computed without drawing any, is
    doubled where clusters have several rows in the grade; twice the mean of p-values is one. Grades
    count as many rows as clusters. Most prudent rates are the largest that this test does not
    reject. Where each cluster is copies of one row, results are those of these rows.

    With unequal weights w, n is the effective number of rows of the grade, the sum of the weights
    over :math:`(1 - v) q_1 + v q_0`, with :math:`q_k` the ratio :math:`\sum w^2 / \sum w` over
    rows of outcome k, as in :func:`hosmer_lemeshow_test`; k is n times the weighted mean outcome,
    and tails are those of the beta distribution [4]_. This is approximate.

    Without clusters rows are taken for independent, and in all cases clusters are. Defaults of a
    year depend on the same economy, so that rates above the prediction are less surprising than the
    p-values say, and the most prudent rates are not prudent about a worse year.

    References
    ----------
    .. [1] European Central Bank (2019). Instructions for reporting the validation results of
       internal models: IRB Pillar I models for credit risk.
    .. [2] Basel Committee on Banking Supervision (1996). Supervisory framework for the use of
       "backtesting" in conjunction with the internal models approach to market risk capital
       requirements. Bank for International Settlements.
    .. [3] K. Pluto, D. Tasche (2005). Estimating probabilities of default for low default
       portfolios. :doi:`10.48550/arXiv.cond-mat/0411699`
    .. [4] E. L. Korn, B. I. Graubard (1998). Confidence intervals for proportions with small
       expected number of positive counts estimated from survey data. Survey Methodology 24.

    Examples
    --------
    Three grades, of which the worst defaults more often than it should:

    >>> import numpy as np
    >>> from skcal.inference import audit_grades
    >>> grade = np.repeat(["A", "B", "C"], [300, 200, 100])
    >>> rating = np.repeat([0.01, 0.03, 0.1], [300, 200, 100])
    >>> defaults = np.concatenate([np.arange(300) < 2, np.arange(200) < 7, np.arange(100) < 18])
    >>> audit = audit_grades(defaults, rating, grade, pos_label=True)
    >>> print(audit)
    Too many events in 1 of 3 grades (p = 0.03), most clearly in C: 10.0 % are predicted, where
    18.0 % come true.
    >>> audit.table[["grade", "n_events", "light", "most_prudent"]].round(4)
      grade  n_events   light  most_prudent
    0     A         2   green        0.0615
    1     B         7   green        0.1144
    2     C        18  yellow        0.2551
    """
    check_option("alternative", alternative, ("greater", "two-sided"))
    level = check_inside("confidence_level", confidence_level)
    data: dict[str, Any] = {"sample_weight": sample_weight, "pos_label": pos_label}
    data["labels"] = labels
    sample, present = reduce_to_present_rows(y_true, y_proba, **data)
    if clusters is not None and list_unequal_weights(sample) is not None:
        raise ValueError(
            "sample_weight must be None, or the same for all rows, with clusters, of which one row "
            "each is chosen; repeat rows that stand for several."
        )
    names, grade = check_groups("groups", groups, len(present))
    grade = grade[present]
    member = None if clusters is None else number_clusters(clusters, present)
    if member is not None and len(member) == member.max() + 1:
        member = clusters = None  # clusters of single rows are rows
    table = _describe(sample, names, grade, member, alternative, level)
    of_grades = of_rows = None
    if member is None:
        options = data | {"groups": groups, "alternative": alternative}
        of_grades = hosmer_lemeshow_test(y_true, y_proba, **options)
    if member is None or not are_few(member):
        of_rows = spiegelhalter_test(y_true, y_proba, clusters=clusters, **data)
    pvalue = float(table["adjusted_pvalue"].min())
    return GradeAudit(table, pvalue, of_grades, of_rows, alternative, level)


def _describe(sample, names, grade, member, alternative, level):
    """The table, from the lowest mean prediction to the highest."""
    n_rows = np.bincount(grade, minlength=len(names))
    found = np.flatnonzero(n_rows)  # others have rows of weight zero alone
    weights = list_unequal_weights(sample)
    mass = np.ones(len(grade)) if weights is None else weights
    if member is not None:  # a row of each cluster is chosen
        _, own, counts = np.unique(
            member * len(names) + grade, return_inverse=True, return_counts=True
        )
        mass = 1 / counts[own]
    sums = [
        np.bincount(grade, values, len(names))[found]
        for values in (mass * sample.predictions, mass * sample.outcomes, mass)
    ]
    rate, outcome = np.minimum(sums[0] / sums[2], 1.0), sums[1] / sums[2]
    order = np.argsort(rate, kind="stable")
    found, rate, outcome = found[order], rate[order], outcome[order]
    rank = np.empty(len(names), dtype=np.intp)
    rank[found] = np.arange(len(found))
    grade = rank[grade]
    own, with_worse = _count_rows(sample, grade, weights, member)
    binomial, binomial_two_sided = np.transpose([find_binomial_pvalues(one) for one in own])
    jeffreys, jeffreys_two_sided = np.transpose([find_jeffreys_pvalues(one) for one in own])
    tested = binomial if alternative == "greater" else binomial_two_sided
    lights = np.array(["green", "yellow", "red"], dtype=object)
    return pd.DataFrame(
        {
            "grade": pd.Series([names[k] for k in found]),
            "n_samples": n_rows[found],
            "n_events": np.rint(np.bincount(grade, sample.outcomes)).astype(np.intp),
            "mean_prediction": rate,
            "mean_outcome": outcome,
            "binomial": binomial,
            "binomial_two_sided": binomial_two_sided,
            "jeffreys": jeffreys,
            "jeffreys_two_sided": jeffreys_two_sided,
            "adjusted_pvalue": adjust_by_holm(tested),
            "light": lights[(binomial <= _YELLOW) * 1 + (binomial <= _RED)],
            "most_prudent": [find_most_prudent_rate(one, level) for one in with_worse],
        }
    )


def _count_rows(sample, grade, weights, member):
    """`EventCounts` of each grade, and of it and all worse ones together."""
    predictions, outcomes, n_grades = sample.predictions, sample.outcomes, grade.max() + 1
    if member is not None:
        places = np.column_stack([predictions, grade])
        member, kept, _ = unite_copies(member, places, outcomes, None)
        predictions, outcomes, grade = predictions[kept], outcomes[kept], grade[kept]

    def count(rows):
        parts = (None if values is None else values[rows] for values in (weights, member))
        return count_events(predictions[rows], outcomes[rows], *parts)

    numbers = range(n_grades)
    return [count(grade == k) for k in numbers], [count(grade >= k) for k in numbers]
