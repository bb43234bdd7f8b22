"""How many labels, and how many verdicts, a study needs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skcal._input._few_labels import read_few_labels, read_proxy_weight
from skcal._input._validation import (
    check_confidence_level,
    check_inside,
    check_integer,
    check_number,
    check_proba,
)
from skcal._numerics.inference._few_labels import (
    fit_guesses,
    measure_label_variance,
    measure_unexplained_variance,
)
from skcal._numerics.inference._label_plan import (
    MOST,
    count_labels,
    count_labels_alone,
    expect_variances,
    find_cheapest,
    find_width,
)
from skcal._tools._arrays import as_float64, read_numbers
from skcal._tools._show_record import as_record
from skcal._tools._typing import ArrayLike


@as_record
class RequiredLabels(NamedTuple):
    """Result of `required_labels`.

    ``print`` shows it as a sentence.

    Attributes
    ----------
    n_labels : int
        Number of labels, of a simple random sample of the rows.
    n_rows : int
        Number of rows, all of which have a verdict.
    width : float
        Expected length of the interval of observed over expected.
    n_labels_alone : int
        Number of labels that would be needed without a judge.
    cost : float or None
        What labels and verdicts cost; None where prices are not given.
    """

    n_labels: int
    n_rows: int
    width: float
    n_labels_alone: int
    cost: float | None = None

    def __str__(self) -> str:
        cost = "" if self.cost is None else f", for {self.cost:,.6g}"
        if self.n_labels >= self.n_labels_alone:
            return f"A judge does not pay: {self.n_labels_alone:,} labels alone do."
        return (
            f"{self.n_labels:,} labels and {self.n_rows:,} verdicts{cost}, in place of "
            f"{self.n_labels_alone:,} labels alone."
        )


def required_labels(
    y_proba: ArrayLike,
    *,
    width: float,
    agreement: float | None = None,
    y_true: ArrayLike | None = None,
    proxy: ArrayLike | None = None,
    n_rows: int | None = None,
    label_cost: float | None = None,
    verdict_cost: float | None = None,
    confidence_level: float = 0.95,
) -> RequiredLabels:
    r"""Number of labels, and of verdicts, for an interval of observed over expected.

    Parameters
    ----------
    y_proba : array-like of shape (n_samples,) or (n_samples, 1)
        Predicted probabilities of the rows of a pilot, or of any rows like those of the study.
    width : float
        Length of the interval of observed over expected, above 0.
    agreement : float, default=None
        Share of rows in which the judge is right, whatever the label, in (0, 1), if predictions
        are calibrated. Needed without a pilot.
    y_true : array-like of shape (n_samples,), default=None
        Labels of a pilot, 0 and 1; NaN or None where there is none.
    proxy : array-like of shape (n_samples,) or (n_samples, n_proxies), default=None
        Verdicts of the pilot.
    n_rows : int, default=None
        Number of rows of the study that can be judged. None means as many as pay.
    label_cost, verdict_cost : float, default=None
        What a label and a verdict cost, above 0. Needed without `n_rows`; with it, fewer rows are
        judged where this is cheaper.
    confidence_level : float, default=0.95
        Level of the interval, in (0, 1).

    Returns
    -------
    RequiredLabels
        Named tuple of ``n_labels``, ``n_rows``, ``width``, ``n_labels_alone`` and ``cost``.

    Raises
    ------
    ValueError
        If an argument is invalid or missing, if `n_rows` are too few even with all labels, or if
        more than 10^7 labels would be needed without a judge.

    See Also
    --------
    prediction_powered_calibration : The interval that is planned.
    required_samples_for_width : The same without a judge, for the slope, too.

    Notes
    -----
    With the variance A of the residual y - p of a label, the part B of it that the regression on
    verdicts leaves, n labels of N rows, and the quantile q of Student's distribution with n - 1
    degrees of freedom, the length is

    .. math::
        \frac{2 q}{\bar p} \sqrt{\frac{A}{N} + \left(1 - \frac{n}{N}\right)
        \left(\frac{B}{n} + \frac{2}{n^2}\right)} ,

    whose last term counts the pair of disagreements of :func:`prediction_powered_calibration`. A
    and B are those of the pilot, or of calibrated predictions and a judge who is right with the
    probability `agreement`.

    Examples
    --------
    A judge who is right in 95 % of the answers saves more than two thirds of the labels:

    >>> import numpy as np
    >>> from skcal.inference import required_labels
    >>> y_proba = np.random.default_rng(0).beta(2, 2, 1000)
    >>> print(required_labels(y_proba, width=0.1, agreement=0.95, n_rows=20000))
    312 labels and 20,000 verdicts, in place of 1,141 labels alone.
    >>> costs = {"label_cost": 5, "verdict_cost": 0.01}
    >>> print(required_labels(y_proba, width=0.1, agreement=0.95, **costs))
    321 labels and 11,223 verdicts, for 1,717.23, in place of 1,141 labels alone.
    """
    level = check_confidence_level(confidence_level)
    width = check_number("width", width, 0)
    if width == 0:
        raise ValueError("width must be above 0; got 0.")
    whole, left, mean = _read_plan(y_proba, agreement, y_true, proxy)
    if n_rows is not None:
        n_rows = check_integer("n_rows", n_rows, 5, MOST)
    costs = _read_costs(label_cost, verdict_cost, n_rows)
    alone = count_labels_alone(whole, mean, width, level)
    if alone is None:
        raise ValueError(
            f"width must be larger, or more than {MOST} labels are needed; got {width:g}."
        )
    most = MOST if n_rows is None else n_rows
    if costs is None:
        found = count_labels(whole, left, most, mean, width, level)
    else:
        found = find_cheapest(whole, left, mean, width, costs, alone, most, level)
    if found is None:
        length = find_width(whole, whole, most, most, mean, level)
        raise ValueError(
            f"width must be at least {length:.3g} with {most} rows, all of them labelled; got "
            f"{width:g}."
        )
    cost = None if costs is None else float(np.dot(costs, found))
    n_labels, n_rows = found
    expected = float(find_width(whole, left, n_labels, n_rows, mean, level))
    return RequiredLabels(n_labels, n_rows, expected, alone, cost)


def _read_plan(y_proba, agreement, y_true, proxy):
    """Variance of a residual, what verdicts leave of it, and the mean prediction."""
    if (agreement is None) == (y_true is None):
        raise ValueError("Either agreement, or y_true and proxy of a pilot must be given.")
    if y_true is None and proxy is not None:
        raise ValueError("proxy must be None beside agreement, which stands for it.")
    proba = as_float64(check_proba("y_proba", read_numbers("y_proba", y_proba)))
    if proba.ndim == 2:
        raise ValueError(f"y_proba must have one column; got {proba.shape[1]}.")
    if y_true is None:
        whole, left = expect_variances(proba, check_inside("agreement", agreement))
        mean = proba.mean()
    else:
        if proxy is None:
            raise ValueError("proxy must hold the verdicts of the pilot; got None.")
        rows, _ = read_few_labels(y_true, proba, proxy)
        rows = rows._replace(probability=np.minimum(rows.probability, 0.5))
        read_proxy_weight("auto", rows)
        whole, mean = measure_label_variance(rows), rows.predictions.mean()
        left = min(measure_unexplained_variance(rows, fit_guesses(rows)[1]), whole)
    if not (mean > 0 and whole > 0):
        raise ValueError("y_proba must not be certain in all rows, or there is nothing to plan.")
    return whole, left, float(mean)


def _read_costs(label_cost, verdict_cost, n_rows):
    """Both costs, None without."""
    given = {"label_cost": label_cost, "verdict_cost": verdict_cost}
    if label_cost is None and verdict_cost is None:
        if n_rows is None:
            raise ValueError("n_rows, or label_cost and verdict_cost, must be given; all are None.")
        return None
    for name, value in given.items():
        if value is None or check_number(name, value, 0) == 0:
            raise ValueError(f"{name} must be above 0 beside the other cost; got {value!r}.")
    return float(label_cost), float(verdict_cost)
