"""Is one model better calibrated than another one, on the same rows?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from skcal._input._clusters import read_clusters, unite_copies
from skcal._numerics.inference._differences import (
    correlate,
    find_pvalue_of_interval,
    subtract_estimates,
)
from skcal._numerics.inference._monte_carlo import adjust_by_holm
from skcal._numerics.inference._verdict import subtract_in_squares
from skcal._sources._bound_measure import bind_for_rows, bind_rows
from skcal._sources._resamples import Units
from skcal._sources._row_source import RowSource
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike, ClassReduction, RandomState
from skcal._tools._words import show_interval, show_label, show_pvalue
from skcal.inference._confidence_interval import METHODS, check_form, find_interval
from skcal.inference._interval_result import Interval

# Parts of the rows that are left out in turn, to see how values vary together.
_N_PARTS = 100
# Draws of outcomes that show what chance adds to an error.
_N_DRAWS = 100
# What copies of a row share.
_COLUMNS = "proba", "target"


@as_record
class CalibrationComparison(NamedTuple):
    """Differences between the calibration errors of models on the same rows.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    measure : str
        Name of the measure.
    names : list
        Names of the models.
    intervals : list of Interval Error of each model.
    pairs : list of tuple
        Names of the models of each pair, the first minus the second.
    difference : ndarray of shape (n_pairs,)
        Error of the first model minus that of the second, each without what chance adds: above 0
        where the second is better calibrated.
    low, high : ndarray of shape (n_pairs,)
        Ends of the (unadjusted) confidence interval of each difference.
    pvalues : ndarray of shape (n_pairs,)
        p-value of each pair, if it were the only one.
    adjusted_pvalues : ndarray of shape (n_pairs,)
        p-values that account for all pairs (Holm).
    confidence_level : float
        Level of the intervals.
    """

    measure: str
    names: list[Any]
    intervals: list[Interval]
    pairs: list[tuple[Any, Any]]
    difference: np.ndarray
    low: np.ndarray
    high: np.ndarray
    pvalues: np.ndarray
    adjusted_pvalues: np.ndarray
    confidence_level: float

    def __str__(self) -> str:
        pair = int(self.pvalues.argmin())
        first, second = map(show_label, self.pairs[pair])
        difference = show_interval(self.difference[pair], self.low[pair], self.high[pair])
        pvalue = show_pvalue(self.adjusted_pvalues[pair])
        text = f"The {self.measure} of {first} minus that of {second} is {difference}, {pvalue}"
        n_pairs = len(self.pairs)
        return f"{text}." if n_pairs == 1 else f"{text} (adjusted), the least of {n_pairs} pairs."

    @property
    def pvalue(self) -> float:
        """The p-value of the hypothesis that all models have the same error."""
        return float(self.adjusted_pvalues.min())

    def to_frame(self) -> pd.DataFrame:
        """One row for each pair of models.

        Returns
        -------
        DataFrame
            Columns ``first``, ``second``, ``difference``, ``low``, ``high``, ``pvalue`` and
            ``adjusted_pvalue``.
        """
        first, second = zip(*self.pairs, strict=True)
        return pd.DataFrame(
            {
                "first": first,
                "second": second,
                "difference": self.difference,
                "low": self.low,
                "high": self.high,
                "pvalue": self.pvalues,
                "adjusted_pvalue": self.adjusted_pvalues,
            }
        )


def compare_calibration(
    y_true: ArrayLike,
    y_proba: ArrayLike | Mapping[Any, ArrayLike],
    other: ArrayLike | None = None,
    *,
    measure: str | Callable[..., Any] = "smooth_ece",
    sample_weight: ArrayLike | None = None,
    pos_label: object = None,
    labels: ArrayLike | None = None,
    reduction: ClassReduction | Literal["multilabel"] = "auto",
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
    random_state: RandomState = None,
    **options: Any,
) -> CalibrationComparison:
    r"""Compare the calibration errors of models on the same rows.

    Errors of two models on the same rows vary together, so that their difference is known better
    than either of them. The intervals and p-values allow for that, and for models that are
    calibrated, or nearly so, whose errors are above 0 by chance.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes), or dict
        Predicted probabilities of a model, in the form that the measure takes; or a dictionary of
        those of two models or more, by name.
    other : array-like of the shape of `y_proba`, default=None
        Predicted probabilities of the model that it is compared with; None with a dictionary.
        Without names the models are numbered 0 and 1.
    measure : str or callable, default="smooth_ece"
        A name in :data:`skcal.metrics.MEASURES`, or a function as in :func:`confidence_interval`.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of any scale, see :ref:`weights-in-inference`.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns; by default the sorted
        labels of `y_true`.
    reduction : str, default="auto"
        How class probabilities become binary predictions, see
        :func:`skcal.metrics.expected_calibration_error`.
    clusters : array-like of shape (n_samples,), default=None
        Label of the cluster of each row, such as a patient or a question: rows of a cluster may
        depend on each other in any way, see :ref:`clusters`. None means independent rows.
    confidence_level : float, default=0.95
        Level of each interval, in (0, 1).
    random_state : int, RandomState, Generator or None, default=None
        Source of the halves of the rows.
    **options : dict
        Keyword arguments of the measure, such as ``n_bins=20``.

    Returns
    -------
    CalibrationComparison
        Differences of all pairs of models, with intervals and p-values; ``to_frame()`` makes a
        table of it, ``pvalue`` is that of the hypothesis that all errors are equal.

    Raises
    ------
    ValueError
        If an argument is invalid, or if there are fewer than two models.
    TypeError
        If the measure has no argument of the name of an option.

    See Also
    --------
    confidence_interval : The error of one model.
    compare_summaries : The same model in two periods, on other rows.
    net_benefit_difference : Whether decisions gain by another model.

    Notes
    -----
    Let :math:`[l_a, u_a]` and :math:`[l_b, u_b]` be the intervals of :func:`confidence_interval` of
    two models, which hold near calibration and far from it. An estimate is above 0 for a calibrated
    model, too: :math:`\hat a` and :math:`\hat b` are the estimates without what chance adds, the
    root of the difference of the squares of the estimate and of its mean over 100 draws of outcomes
    from the predictions. With the correlation :math:`\rho` of the estimates over samples, the
    interval of the difference has the ends [1]_

    .. math::

       l &= \hat a - \hat b - \sqrt{(\hat a - l_a)^2 - 2 \rho (\hat a - l_a)(u_b - \hat b)
            + (u_b - \hat b)^2}, \\
       u &= \hat a - \hat b + \sqrt{(u_a - \hat a)^2 - 2 \rho (u_a - \hat a)(\hat b - l_b)
            + (\hat b - l_b)^2}.

    The correlation is that of the values without each of 100 random parts of the rows, or of the
    clusters. Where what chance adds is not known (few clusters, or rare events in them) the ends
    are :math:`l_a - u_b` and :math:`u_a - l_b`. The p-value is that of a normal difference whose
    interval has the end next to 0 [2]_: it is below 1 minus `confidence_level` where the interval
    does not hold 0, and only there. Adjusted p-values are those of Holm's method over all pairs.

    A smaller error does not make a better model: a constant base rate has none. Compare proper
    scores as well, see :ref:`the-trap-of-calibration`.

    References
    ----------
    .. [1] G. Y. Zou, A. Donner (2008). Construction of confidence limits about effect measures: a
       general approach. Statistics in Medicine 27. :doi:`10.1002/sim.3095`
    .. [2] D. G. Altman, J. M. Bland (2011). How to obtain the P value from a confidence interval.
       BMJ 343:d2304. :doi:`10.1136/bmj.d2304`

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.inference import compare_calibration
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(1000)
    >>> y_true = (rng.random(1000) < truth).astype(int)
    >>> models = {"shrunk": 0.25 + 0.5 * truth, "calibrated": truth}
    >>> found = compare_calibration(y_true, models, random_state=0)
    >>> found.to_frame().round(2)[["first", "second", "difference"]]
        first      second  difference
    0  shrunk  calibrated         0.1
    >>> bool(found.low[0] > 0.05), found.pvalue < 0.001
    (True, True)
    """
    models = _name_models(y_proba, other)
    statistic = bind_for_rows(
        "measure", measure, options, reduction, sample_weight, compare_calibration
    )
    draws, method, level = check_form(
        statistic, "auto", METHODS, confidence_level, None, random_state, None, None
    )
    data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
    problems = [bind_rows(statistic, y_true, proba, **data) for proba in models.values()]
    kept, units = _find_units([rows for _, rows, _ in problems], clusters)
    seed = int(draws.rng.integers(1 << 32))
    intervals, freed, parts = [], [], []
    for (bound, _, is_binary), rows in zip(problems, kept, strict=True):
        source = RowSource(bound, rows, is_binary, units)
        same = [np.random.default_rng(seed) for _ in range(3)]  # as for all other models
        interval = find_interval(source, draws.restart(draws.n_resamples, same[0]), method, level)
        intervals.append(interval)
        freed.append(_take_chance_off(source, interval.low, same[1]))
        parts.append(source.leave_parts_out(_N_PARTS, same[2]))
    names, pairs = list(models), list(combinations(range(len(models)), 2))
    correlations = correlate(np.array(parts))
    differences = [
        _subtract((intervals[i], freed[i]), (intervals[j], freed[j]), correlations[i, j])
        for i, j in pairs
    ]
    difference, low, high = np.array(differences).T
    pvalues = np.array(
        [find_pvalue_of_interval(*ends, level) for ends in zip(difference, low, high, strict=True)]
    )
    return CalibrationComparison(
        statistic.name,
        names,
        intervals,
        [(names[i], names[j]) for i, j in pairs],
        difference,
        low,
        high,
        pvalues,
        adjust_by_holm(pvalues),
        level,
    )


def _name_models(y_proba, other):
    if not isinstance(y_proba, Mapping):
        if other is None:
            raise ValueError("other must be given, unless y_proba is a dictionary of models.")
        return {0: y_proba, 1: other}
    if other is not None:
        raise ValueError("other must be None if y_proba is a dictionary of all models.")
    if len(y_proba) < 2:
        raise ValueError(f"y_proba must hold at least two models; got {len(y_proba)}.")
    return dict(y_proba)


def _find_units(problems, clusters):
    """The rows of all models that count, and what of them is independent."""
    weights = problems[0].weights
    present = np.ones(problems[0].n_rows, dtype=bool) if weights is None else weights > 0
    kept = [rows.take(present) for rows in problems]
    if clusters is None:
        return kept, Units(kept[0].n_rows)
    # Rows stand for their clusters if they are copies for all models.
    columns = [np.column_stack([getattr(rows, name) for rows in kept]) for name in _COLUMNS]
    member = read_clusters(clusters, present)
    member, chosen, weights = unite_copies(member, *columns, kept[0].weights)
    kept = [rows.take(chosen)._replace(weights=weights) for rows in kept]
    return kept, Units(kept[0].n_rows, member)


def _take_chance_off(source, low, rng):
    """The estimate without what chance adds, no less than its lower end; None where unknown."""
    row, traits, value = source.statistic.row, source.statistic.traits, source.estimate
    if row is None or row.is_signed or source.is_soft:
        return value
    if not source.has_known_law():
        return None
    chance = float(source.make_null().draw(rng, _N_DRAWS).mean())
    freed = value - chance if traits.is_square else subtract_in_squares(value, chance)
    return max(freed, low)


def _subtract(first, second, correlation):
    """Difference of two intervals, each with its estimate without what chance adds."""
    (one, freed), (other, other_freed) = first, second
    if freed is None or other_freed is None:  # how errors vary together is not known either
        return one.estimate - other.estimate, one.low - other.high, one.high - other.low
    one, other = one._replace(estimate=freed), other._replace(estimate=other_freed)
    return subtract_estimates(one, other, correlation)
