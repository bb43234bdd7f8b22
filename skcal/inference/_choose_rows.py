"""Which rows to label, where labels are few."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skcal._input._validation import (
    check_integer,
    check_proba,
    check_rng,
    check_unit_range,
)
from skcal._numerics.inference._label_plan import sample_systematically, spread_labels
from skcal._sources._row_source import check_groups
from skcal._tools._arrays import as_float64, read_numbers
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike, RandomState


@as_record
class RowsToLabel(NamedTuple):
    """Result of `choose_rows_to_label`.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    rows : ndarray of int of shape (budget,)
        Numbers of the rows to label, in ascending order.
    sampling_probability : ndarray of shape (n_samples,)
        The probability of each row to be among them, above 0, for
        :func:`prediction_powered_calibration`.
    """

    rows: np.ndarray
    sampling_probability: np.ndarray

    def __str__(self) -> str:
        low, high = self.sampling_probability.min(), self.sampling_probability.max()
        return (
            f"{len(self.rows):,} of {len(self.sampling_probability):,} rows to label, each chosen "
            f"with a probability of {low:.2g} to {high:.2g}."
        )


def choose_rows_to_label(
    y_proba: ArrayLike,
    budget: int,
    *,
    proxy: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    random_state: RandomState = None,
) -> RowsToLabel:
    r"""Choose rows to label, more often those whose verdicts are likely to be wrong.

    Parameters
    ----------
    y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, 2)
        Predicted probabilities; of two columns the last one counts.
    budget : int
        Number of rows to label.
    proxy : array-like of shape (n_samples,) or (n_samples, n_proxies), default=None
        Verdicts of a judge, or of several, as probabilities of the same event, in [0, 1].
    groups : array-like of shape (n_samples,), default=None
        Label of the group of each row, for which results are wanted: half of all labels are spread
        evenly over groups.
    random_state : int, RandomState, Generator or None, default=None
        Source of the choice.

    Returns
    -------
    RowsToLabel
        Named tuple of ``rows`` and ``sampling_probability``.

    Raises
    ------
    ValueError
        If an argument is invalid, or if `budget` exceeds the number of rows.

    See Also
    --------
    prediction_powered_calibration : What the labels of these rows tell.
    required_labels : How many of them are needed.

    Notes
    -----
    The variance of the mean of :func:`prediction_powered_targets` is smallest if the probability of
    a row is proportional to the root of the expected square of what its label adds [1]_. If
    predictions are right, the expected squared error of a verdict f is

    .. math:: m = p (1 - p) + (p - f)^2,

    the mean of it for several judges, and with f = p for none. Half of the labels are spread by
    :math:`\sqrt m`, which is only a guess. The other half is spread evenly, over all rows or over
    groups, and within each of them over its rows. So no row has less than half the probability that
    an even choice gives it, and no weight is more than twice as large as then. Probabilities that
    would exceed 1 are 1.

    Rows are chosen at equal steps of the sum of their probabilities, from a random start, in the
    order of groups and predictions (systematic sampling): exactly `budget` rows, and in each range
    of predictions about as many as expected. Intervals take rows as drawn independently; the true
    variance is at most about as large, since what rises or falls with predictions does not vary.

    References
    ----------
    .. [1] T. Zrnic, E. J. Candès (2024). Active statistical inference. Proceedings of the 41st
       International Conference on Machine Learning. :doi:`10.48550/arXiv.2403.03208`

    Examples
    --------
    The judge contradicts the first three predictions, and is not sure of the last one:

    >>> from skcal.inference import choose_rows_to_label
    >>> y_proba, proxy = [0.1, 0.1, 0.9, 0.1, 0.1, 0.9, 0.9, 0.5], [1, 1, 0, 0, 0, 1, 1, 0.5]
    >>> chosen = choose_rows_to_label(y_proba, 3, proxy=proxy, random_state=0)
    >>> chosen.sampling_probability.round(2)
    array([0.5 , 0.5 , 0.5 , 0.29, 0.29, 0.29, 0.29, 0.35])
    """
    rng = check_rng(random_state)
    proba = as_float64(check_proba("y_proba", read_numbers("y_proba", y_proba)))
    if proba.ndim == 2:
        if proba.shape[1] > 2:
            raise ValueError(f"y_proba must be of one event; got {proba.shape[1]} columns.")
        proba = proba[:, 1]
    budget = check_integer("budget", budget, 1, len(proba))
    squares = proba * (1 - proba)
    if proxy is not None:
        verdicts = as_float64(check_unit_range("proxy", read_numbers("proxy", proxy)))
        verdicts = verdicts[:, None] if verdicts.ndim == 1 else verdicts
        if verdicts.ndim != 2 or len(verdicts) != len(proba):
            raise ValueError(
                f"proxy must have a row for each of {len(proba)} predictions; "
                f"got shape {verdicts.shape}."
            )
        squares = squares + np.mean((proba[:, None] - verdicts) ** 2, axis=1)
    group = np.zeros(len(proba), dtype=np.intp)
    if groups is not None:
        _, group = check_groups("groups", groups, len(proba))
    even = 1 / np.bincount(group)[group]
    probability = spread_labels(np.sqrt(squares), even, budget)
    order = np.lexsort((rng.random(len(proba)), proba, group))
    rows = sample_systematically(probability, order, budget, rng.random())
    return RowsToLabel(rows, probability)
