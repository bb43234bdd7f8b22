"""Rating grades: a table of what is predicted and observed in each, with its tests."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from skcal._input._independent_rows import reduce_to_present_rows
from skcal._input._validation import check_inside, check_option
from skcal._numerics.inference._default_rates import (
    find_binomial_pvalues,
    find_jeffreys_pvalues,
    find_most_prudent_rates,
)
from skcal._numerics.inference._monte_carlo import adjust_by_holm
from skcal._sources._row_source import check_groups
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike
from skcal._tools._words import show_count, show_label, show_percentages, show_pvalue
from skcal.inference._hosmer_lemeshow import hosmer_lemeshow_test
from skcal.inference._spiegelhalter import spiegelhalter_test
from skcal.inference._test_result import TestResult

# Binomial p-values up to which a light is yellow, or red.
_YELLOW, _RED = 0.05, 0.0001
_ALPHA = 0.05


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
        and the ``most_prudent`` rate.
    pvalue : float
        p-value of the hypothesis that no grade has a wrong rate: the smallest adjusted one.
    hosmer_lemeshow, spiegelhalter : TestResult
        Tests of all grades, and of the single predictions.
    alternative : str
        "greater" or "two-sided": what adjusted p-values and the Hosmer-Lemeshow test are for.
    confidence_level : float
        Confidence of the most prudent rates.
    """

    table: pd.DataFrame
    pvalue: float
    hosmer_lemeshow: TestResult
    spiegelhalter: TestResult
    alternative: str
    confidence_level: float

    def __str__(self) -> str:
        table, n_grades = self.table, len(self.table)
        what = "Too many events" if self.alternative == "greater" else "A wrong rate"
        found = table[table["adjusted_pvalue"] <= _ALPHA]
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
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
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
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
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
        If an argument is invalid, or if labels are soft.

    Warns
    -----
    UserWarning
        If the two-sided Hosmer-Lemeshow test expects too few events.

    See Also
    --------
    audit_groups : Groups that may overlap, with simultaneous intervals and a diagram.
    hosmer_lemeshow_test : With groups of equal size, and weights.
    spiegelhalter_test : With weights and clusters.

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

    All of this takes rows for independent. Defaults of a year depend on the same economy, so that
    rates above the prediction are less surprising than the p-values say, and the most prudent rates
    are not prudent about a worse year.

    References
    ----------
    .. [1] European Central Bank (2019). Instructions for reporting the validation results of
       internal models: IRB Pillar I models for credit risk.
    .. [2] Basel Committee on Banking Supervision (1996). Supervisory framework for the use of
       "backtesting" in conjunction with the internal models approach to market risk capital
       requirements. Bank for International Settlements.
    .. [3] K. Pluto, D. Tasche (2005). Estimating probabilities of default for low default
       portfolios. :doi:`10.48550/arXiv.cond-mat/0411699`

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
    data: dict[str, Any] = {"pos_label": pos_label, "labels": labels}
    sample, _ = reduce_to_present_rows(y_true, y_proba, **data)
    names, member = check_groups("groups", groups, len(sample.predictions))
    table = _describe(sample, names, member, alternative, level)
    return GradeAudit(
        table,
        float(table["adjusted_pvalue"].min()),
        hosmer_lemeshow_test(y_true, y_proba, groups=groups, alternative=alternative, **data),
        spiegelhalter_test(y_true, y_proba, **data),
        alternative,
        level,
    )


def _describe(sample, names, member, alternative, level):
    """The table, from the lowest mean prediction to the highest."""
    n_rows = np.bincount(member)
    rate = np.minimum(np.bincount(member, sample.predictions) / n_rows, 1.0)
    n_events = np.rint(np.bincount(member, sample.outcomes)).astype(np.intp)
    order = np.argsort(rate, kind="stable")
    rate, n_rows, n_events = rate[order], n_rows[order], n_events[order]
    binomial, binomial_two_sided = find_binomial_pvalues(n_events, n_rows, rate)
    jeffreys, jeffreys_two_sided = find_jeffreys_pvalues(n_events, n_rows, rate)
    tested = binomial if alternative == "greater" else binomial_two_sided
    lights = np.array(["green", "yellow", "red"], dtype=object)
    return pd.DataFrame(
        {
            "grade": pd.Series([names[k] for k in order]),
            "n_samples": n_rows,
            "n_events": n_events,
            "mean_prediction": rate,
            "mean_outcome": n_events / n_rows,
            "binomial": binomial,
            "binomial_two_sided": binomial_two_sided,
            "jeffreys": jeffreys,
            "jeffreys_two_sided": jeffreys_two_sided,
            "adjusted_pvalue": adjust_by_holm(tested),
            "light": lights[(binomial <= _YELLOW) * 1 + (binomial <= _RED)],
            "most_prudent": find_most_prudent_rates(n_events, n_rows, level),
        }
    )
