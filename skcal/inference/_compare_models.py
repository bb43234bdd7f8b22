"""Is one model better calibrated than another one, on the same rows?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from skcal._input._clusters import read_clusters, unite_copies
from skcal._input._reduction import REDUCTIONS
from skcal._numerics.inference._differences import (
    correlate,
    find_pvalue_of_interval,
    subtract_estimates,
)
from skcal._numerics.inference._effective_rows import find_shares
from skcal._numerics.inference._monte_carlo import adjust_by_holm
from skcal._numerics.inference._sigmoid_gains import (
    compare_gains,
    cross_fit_gains,
    find_log_odds,
    find_sigmoid_pvalue,
)
from skcal._numerics.inference._verdict import subtract_in_squares
from skcal._sources._bound_measure import bind_for_rows, bind_rows
from skcal._sources._draws import Draws
from skcal._sources._resamples import Units
from skcal._sources._row_source import RowSource
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike, ClassReduction, RandomState
from skcal._tools._words import show_interval, show_label, show_pvalue
from skcal.inference._confidence_interval import METHODS, check_form, find_interval
from skcal.inference._interval_result import Interval

# Parts of the rows that are left out in turn, to see how values vary together.
_N_PARTS = 100
# Folds of the sigmoids.
_N_FOLDS = 5
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
    intervals : list of Interval
        Error of each model.
    pairs : list of tuple
        Names of the models of each pair, the first minus the second.
    difference : ndarray of shape (n_pairs,)
        Error of the first model minus that of the second, of `errors`: above 0 where the second is
        better calibrated.
    low, high : ndarray of shape (n_pairs,)
        Ends of the (unadjusted) confidence interval of each difference.
    pvalues : ndarray of shape (n_pairs,)
        p-value of each pair, if it were the only one.
    adjusted_pvalues : ndarray of shape (n_pairs,)
        p-values that account for all pairs (Holm).
    confidence_level : float
        Level of the intervals.
    errors : ndarray of shape (n_models,)
        The estimates without what chance adds to each, as far as that is known.
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
    errors: np.ndarray

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
        """The p-value of the hypothesis that all models are equally calibrated."""
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
    pos_label: int | float | bool | str | None = None,
    labels: ArrayLike | None = None,
    reduction: ClassReduction | Literal["multilabel"] = "auto",
    clusters: ArrayLike | None = None,
    confidence_level: float = 0.95,
    n_resamples: int = 499,
    random_state: RandomState = None,
    **options: Any,
) -> CalibrationComparison:
    r"""Compare the calibration errors of models on the same rows.

    Errors of two models on the same rows vary together, so that their difference is known better
    than either of them. The intervals and p-values allow for that, and for models that are
    calibrated, or nearly so, whose errors are above 0 by chance. What recalibration takes off the
    log loss of either, row by row, tells small differences.

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
    n_resamples : int, default=499
        Number of draws of labels, at most 2^24, whose mean error is what chance adds.
    random_state : int, RandomState, Generator or None, default=None
        Source of the halves and folds of the rows, and of what chance adds.
    **options : dict
        Keyword arguments of the measure, such as ``n_bins=20``.

    Returns
    -------
    CalibrationComparison
        Differences of all pairs of models, with intervals and p-values; ``to_frame()`` makes a
        table of it, ``pvalue`` is that of the hypothesis that all are equally calibrated.

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
    model, too: :math:`\hat a` and :math:`\hat b`, the ``errors``, are the estimates without what
    chance adds, the root of the difference of the squares of the estimate and of the ``null_mean``
    of :func:`calibration_test` with the same `n_resamples` and `random_state`. With the correlation
    :math:`\rho` of the estimates over samples, the interval of the difference has the ends [1]_

    .. math::

       l &= \hat a - \hat b - \sqrt{(\hat a - l_a)^2 - 2 \rho (\hat a - l_a)(u_b - \hat b)
            + (u_b - \hat b)^2}, \\
       u &= \hat a - \hat b + \sqrt{(u_a - \hat a)^2 - 2 \rho (u_a - \hat a)(\hat b - l_b)
            + (\hat b - l_b)^2}.

    The correlation is that of the values without each of 100 random parts of the rows, or of the
    clusters. Where what chance adds is not known (few clusters, or rare events in them) the errors
    are the estimates, and the ends :math:`l_a - u_b` and :math:`u_a - l_b`.

    **The p-value** of a pair is twice the smaller one of two tests:

    - of the measure: the p-value of a normal difference whose interval has the end next to 0 [2]_;
    - of the log loss, which sees small errors of confidence or of the mean on fewer rows. The gain
      of a row is its log loss minus that after Platt scaling on the other four of five random
      folds, which keep clusters together. Student's t test compares the gains of two models, row by
      row or cluster by cluster. So that no calibrated model is called worse, the p-value is at
      least that of the likelihood-ratio test of calibration of the model that gains more (as in
      :func:`cox_recalibration`, with finite log odds for 0 and 1); and it is 1 unless this model
      has the larger one of the errors, too.

    A measure of several columns has Platt scaling for each, the sum of their gains, and the
    smallest of their p-values times their number. A function of yours has the first test alone, at
    the full level. The interval is of the measure alone: it may hold 0 where the log loss tells the
    models apart. Adjusted p-values are those of Holm's method over all pairs.

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
    named = _name_models(y_proba, other)
    statistic = bind_for_rows(
        "measure", measure, options, reduction, sample_weight, compare_calibration
    )
    draws, method, level = check_form(
        statistic, "auto", METHODS, confidence_level, None, random_state, None, None
    )
    data = {"sample_weight": sample_weight, "pos_label": pos_label, "labels": labels}
    problems = [bind_rows(statistic, y_true, proba, **data) for proba in named.values()]
    kept, units = _find_units([rows for _, rows, _ in problems], clusters)
    # What chance adds is the same as in `calibration_test`.
    chance = Draws(n_resamples, deepcopy(draws.rng), None)
    seed = int(draws.rng.integers(1 << 32))
    models = []
    for (bound, _, is_binary), rows in zip(problems, kept, strict=True):
        source = RowSource(bound, rows, is_binary, units)
        same = [np.random.default_rng(seed) for _ in range(3)]  # as for all other models
        interval = find_interval(source, draws.restart(draws.n_resamples, same[0]), method, level)
        error = _take_chance_off(source, deepcopy(chance))
        parts = source.leave_parts_out(_N_PARTS, same[1])
        models.append(_Model(interval, error, parts, *_find_gains(bound, rows, units, same[2])))
    names, pairs = list(named), list(combinations(range(len(models)), 2))
    errors = _list_errors(models)
    differences = _subtract_pairs(models, errors, pairs)
    shares = _weigh(kept[0])
    pvalues = np.array(
        [
            _test_pair(models[i], models[j], ends, level, shares, units.member)
            for (i, j), ends in zip(pairs, differences, strict=True)
        ]
    )
    difference, low, high = np.array(differences).T
    return CalibrationComparison(
        statistic.name,
        names,
        [model.interval for model in models],
        [(names[i], names[j]) for i, j in pairs],
        difference,
        low,
        high,
        pvalues,
        adjust_by_holm(pvalues),
        level,
        errors,
    )


class _Model(NamedTuple):
    interval: Interval
    error: float | None  # without what chance adds, where that is known
    parts: np.ndarray  # values without parts of the rows
    gains: np.ndarray | None  # of each row by sigmoids of the others; None of a user's function
    pvalue: float | None  # of no gain


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


def _take_chance_off(source, draws):
    """The estimate without what chance adds; None where that is unknown."""
    row, traits, value = source.statistic.row, source.statistic.traits, source.estimate
    if row is None or row.is_signed or source.is_soft:
        return value
    if not source.has_known_law():
        return None
    chance = float(draws.run(source.make_null().draw).mean())
    return value - chance if traits.is_square else subtract_in_squares(value, chance)


def _find_gains(statistic, rows, units, rng):
    """What sigmoids of other rows take off the log loss of each row, and whether one gains."""
    if statistic.row is None:
        return None, None
    predictions, outcomes = _list_columns(statistic, rows)
    log_odds, weights = find_log_odds(predictions), _weigh(rows)
    folds = units.split(min(_N_FOLDS, units.n_units), rng) if units.n_units > 1 else ()
    gains = cross_fit_gains(log_odds, outcomes, weights, folds)
    return gains, find_sigmoid_pvalue(log_odds, outcomes, weights, units.member)


def _list_columns(statistic, rows):
    """Predictions and outcomes of what the measure reads, a column for each label."""
    if statistic.find_reduction() == "top-label":
        (sample,) = REDUCTIONS["confidence"](rows)
        rows = rows._replace(proba=sample.predictions, target=sample.outcomes)
    if rows.proba.ndim == 1:
        columns = rows.proba[:, None], rows.target[:, None]
    else:
        rows = rows.to_vectors()
        first = int(rows.proba.shape[1] == 2 and not rows.is_multilabel)  # the other tells the same
        columns = rows.proba[:, first:], rows.one_hot(slice(None))[:, first:]
    return tuple(column.astype(np.float64) for column in columns)


def _weigh(rows):
    return np.ones(rows.n_rows) if rows.weights is None else find_shares(rows.weights)


def _list_errors(models):
    """Errors without what chance adds, if that is known of all models."""
    if any(model.error is None for model in models):
        return np.array([model.interval.estimate for model in models])
    return np.array([model.error for model in models])


def _subtract_pairs(models, errors, pairs):
    """The difference of each pair of models, with its ends."""
    intervals = [model.interval for model in models]
    if any(model.error is None for model in models):  # nor is known how errors vary together
        return [
            (
                errors[i] - errors[j],
                intervals[i].low - intervals[j].high,
                intervals[i].high - intervals[j].low,
            )
            for i, j in pairs
        ]
    freed = [
        (error, min(interval.low, error), interval.high)
        for error, interval in zip(errors, intervals, strict=True)
    ]
    correlations = correlate(np.array([model.parts for model in models]))
    return [subtract_estimates(freed[i], freed[j], correlations[i, j]) for i, j in pairs]


def _test_pair(first, second, ends, level, weights, member):
    """p-value of the measure and of gains, each at half the level."""
    pvalue = find_pvalue_of_interval(*ends, level)
    if first.gains is None:
        return pvalue
    more, of_gains = compare_gains(first.gains, second.gains, weights, member)
    worse = first if more > 0 else second
    # The worse model must have an error of its own, and the larger one.
    of_gains = max(of_gains, worse.pvalue) if more * ends[0] > 0 else 1.0
    return min(1.0, 2 * min(pvalue, of_gains))
