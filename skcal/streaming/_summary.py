"""A summary of predictions and outcomes that is updated, merged and asked for measures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from skcal._estimates._cells import Cells
from skcal._input._batches._batch_rows import (
    REASONS,
    agree_on_negative,
    check_named_columns,
    check_names,
    check_weights,
    count_problems,
    drop_invalid,
    is_absent,
    is_empty,
    list_samples,
)
from skcal._input._batches._grouped import check_same_settings
from skcal._input._reduction import REDUCTIONS
from skcal._input._validation import check_integer, check_option
from skcal._sources._cell_measures import bound_cells, check_measure, measure_cells
from skcal._tools._arrays import list_column_names
from skcal._tools._typing import ArrayLike, ClassReduction
from skcal.streaming._serial import (
    pack_summary,
    tabulate_cells,
    unpack_settings,
    unpack_state,
)

if TYPE_CHECKING:
    import pandas as pd

    from skcal._input._sample import Sample

SETTINGS = ("n_cells", "reduction", "pos_label", "labels", "on_invalid")
_DEFAULTS = {"n_cells": 2**14, "reduction": "auto", "on_invalid": "raise"}


class CalibrationSummary:
    r"""Summary of a stream, for calibration measures without the rows.

    Predictions are sorted into equal cells of [0, 1], and a few sums are kept for each cell. Their
    size does not depend on the number of rows; summaries of parts of the data add up to the
    summary of all of it.

    Parameters
    ----------
    n_cells : int, default=16384
        Number of cells, a power of two from 16 to 2^24.
    reduction : {"auto", "confidence", "classwise", "top-label", "full"}, default="auto"
        How class probabilities become binary predictions, see
        :func:`skcal.metrics.expected_calibration_error`. "classwise" and "top-label" keep a set of
        cells for each class, the others one.
    pos_label : int, float, bool or str, default=None
        The positive label; by default the last label. A single column needs it, or `labels`,
        unless labels are {0, 1} or {-1, 1}. With more than two classes it selects that class
        against the rest. Without `labels`, and with one column of `y_proba`,
        that of this label, all other labels of `y_true` are the rest, however many there are.
    labels : array-like of shape (n_classes,), default=None
        Label of every column of `y_proba`, in the order of the columns. To be given unless labels
        are 0 and 1 (or -1 and 1, or probabilities) throughout, or `y_proba` is the one column of
        `pos_label`: a part of the rows may not hold all labels, and all parts must agree.
    on_invalid : {"raise", "drop"}, default="raise"
        What to do with rows without a finite label, with probabilities that are missing, outside
        [0, 1] or do not sum to 1, or with weights that are missing, infinite or negative (masked
        values are missing ones): raise and leave the summary unchanged, or leave out the row and
        count it in `dropped_`.

    Attributes
    ----------
    n_samples_ : int
        Number of rows taken in, those of weight zero included.
    total_weight_ : float
        Sum of their weights.
    dropped_ : dict
        Number of rows left out because of ``"y_true"``, ``"y_proba"`` or ``"sample_weight"``.

    Raises
    ------
    ValueError
        If an argument is invalid.

    See Also
    --------
    summarize_batches : Summary of an iterable of batches.
    GroupedSummary : A summary for each group of rows.

    Notes
    -----
    For both outcomes each cell holds the sums of :math:`w\, a^k, k < 4`, w the weights and a the
    place of the prediction inside the cell, in float64 whatever the type of the input, and its one
    prediction as long as there is only one. So predictions that are alone in their cells, such as
    all predictions rounded to four decimals, are kept exactly.

    Cells are closed on the right, like bins, and include 0 at the start: bins whose edges are
    edges of cells, such as 2, 4, 8, ... bins, are made up of whole cells.

    A measure is computed by its own function, from few weighted rows with the same sums in each
    cell. :meth:`error_bound` bounds the change if rows move within their cells.

    Whether rows are accepted never depends on how they are cut into parts. To this end a summary
    without `labels` remembers whether it saw 0 or -1 beside the label 1, and refuses the other.

    Numbers of unweighted rows are exact up to :math:`2^{53}`, in whatever order summaries are
    merged. Other sums carry the rounding of float64, as sums over the rows themselves do: for
    :math:`10^9` rows a relative error below :math:`10^{-10}` at the worst.

    Examples
    --------
    >>> import numpy as np
    >>> from skcal.streaming import CalibrationSummary
    >>> rng = np.random.default_rng(0)
    >>> summary = CalibrationSummary()
    >>> for _ in range(10):
    ...     proba = rng.random(10_000)
    ...     summary = summary.update(rng.random(10_000) < proba**1.2, proba)
    >>> round(summary.measure("smooth_ece"), 3)
    0.047
    >>> summary.error_bound("smooth_ece") < 1e-5
    True

    Summaries of two days, and of both:

    >>> monday = CalibrationSummary().update([0, 1, 1], [0.25, 0.5, 0.75])
    >>> tuesday = CalibrationSummary().update([1, 0], [0.5, 0.25])
    >>> monday + tuesday
    CalibrationSummary(n_samples=5)
    """

    n_samples_: int
    dropped_: dict[str, int]

    def __init__(
        self,
        *,
        n_cells: int = 2**14,
        reduction: ClassReduction = "auto",
        pos_label: int | float | bool | str | None = None,
        labels: ArrayLike | None = None,
        on_invalid: Literal["raise", "drop"] = "raise",
    ) -> None:
        check_integer("n_cells", n_cells, minimum=16)
        if int(n_cells).bit_count() != 1:
            raise ValueError(f"n_cells must be a power of two; got {n_cells}.")
        check_option("reduction", reduction, REDUCTIONS)
        check_option("on_invalid", on_invalid, ("raise", "drop"))
        self.n_cells, self.reduction, self.on_invalid = int(n_cells), reduction, on_invalid
        self.pos_label, self.labels = check_names(pos_label, labels)
        self.n_samples_ = 0
        self.dropped_ = dict.fromkeys(REASONS, 0)
        self._negative = None  # the label beside 1 that came, where none are named: 0 or -1
        self._cells = [Cells.empty(self.n_cells) for _ in range(count_problems(self._settings))]

    # ------------------------------------------------------------------------------- taking in

    def update(
        self, y_true: ArrayLike, y_proba: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add rows in place; if any row is invalid, nothing changes.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True labels, or soft labels: probabilities of the positive label in [0, 1].
        y_proba : array-like of shape (n_samples,), (n_samples, 1) or (n_samples, n_classes)
            Predicted probabilities in [0, 1]: of the positive label, or one column per label with
            rows that sum to 1.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights.

        Returns
        -------
        self : CalibrationSummary
            The summary itself. No rows, or rows of weight zero, do not change its results.

        Raises
        ------
        ValueError
            If an argument is invalid.
        """
        check_named_columns(list_column_names(y_proba), self.labels)
        dropped = dict.fromkeys(REASONS, 0)
        if self.on_invalid == "drop":
            y_true, y_proba, sample_weight, dropped = drop_invalid(y_true, y_proba, sample_weight)
        if not is_empty(y_true, y_proba, sample_weight):
            self._take_in(y_true, y_proba, sample_weight)
        self.dropped_ = {reason: self.dropped_[reason] + dropped[reason] for reason in REASONS}
        return self

    def _take_in(self, y_true, y_proba, sample_weight):
        """Add rows, none to be dropped."""
        weights = check_weights(sample_weight)
        absent = is_absent(weights)
        if absent:
            weights = np.ones(len(weights))  # the rows are looked at all the same
        samples, n_rows, negative = list_samples(
            y_true, y_proba, weights, self._settings, self._negative
        )
        cells = list(self._cells)
        for problem, sample in samples if not absent else ():
            cells[problem] = cells[problem].add(sample)
        self._cells, self._negative, self.n_samples_ = cells, negative, self.n_samples_ + n_rows

    def merge(self, *others: CalibrationSummary) -> CalibrationSummary:
        """Merge this summary with others into a new one.

        Parameters
        ----------
        *others : CalibrationSummary
            Summaries with the same settings.

        Returns
        -------
        CalibrationSummary
            A new summary. The order does not matter.

        Raises
        ------
        ValueError
            If settings differ, or labels are 0 and 1 in one and -1 and 1 in another.
        TypeError
            If one of `others` is not a `CalibrationSummary`.
        """
        merged = self.__copy__()
        for other in others:
            if not isinstance(other, CalibrationSummary):
                raise TypeError(f"others must be CalibrationSummary objects; got {other!r}.")
            check_same_settings(self, other)
            merged._negative = agree_on_negative(merged._negative, other._negative)
            merged._cells = [
                one.merge(more) for one, more in zip(merged._cells, other._cells, strict=True)
            ]
            merged.n_samples_ += other.n_samples_
            for reason in REASONS:
                merged.dropped_[reason] += other.dropped_[reason]
        return merged

    def __add__(self, other):
        return self.merge(other) if isinstance(other, CalibrationSummary) else NotImplemented

    def __radd__(self, other):
        # sum() starts from 0.
        return self.__copy__() if isinstance(other, int) and other == 0 else NotImplemented

    # ------------------------------------------------------------------------------- answering

    @property
    def total_weight_(self) -> float:
        """Sum of the weights of all rows."""
        if self.reduction == "top-label":
            return sum(cells.total_weight for cells in self._cells)
        if self.reduction == "full":
            return self._cells[0].total_weight / self._count_classes()
        return self._cells[0].total_weight

    def measure(self, name: str, **options: Any) -> float:
        """Value of a measure for all rows seen so far, up to `error_bound`.

        Parameters
        ----------
        name : str
            A key of `skcal.metrics.MEASURES`.
        **options : dict
            Options of the measure, such as ``n_bins=20``, except `reduction`: the summary's own
            applies even if the measure has another default.

        Returns
        -------
        float
            What the measure returns, from the cells.

        Raises
        ------
        ValueError
            If the summary is empty, or if it cannot compute the measure: measures of whole
            vectors, random estimates, and, unless every cell holds a single prediction, bins of
            equal mass and the interval calibration error.
        """
        check_measure(name, options)
        return self._average(lambda cells: measure_cells(cells, name, options))

    def error_bound(self, name: str, **options: Any) -> float:
        r"""Bound on the difference between `measure` and the exact value for the rows.

        Parameters
        ----------
        name : str
            A key of `skcal.metrics.MEASURES`.
        **options : dict
            Options of the measure, such as ``n_bins=20``.

        Returns
        -------
        float
            The bound, which holds for all rows with the sums that were kept. It includes how
            far the measure itself may be from its definition; infinity means that none is known.

        Raises
        ------
        ValueError
            If `measure` raises it.

        Notes
        -----
        Cells that hold one prediction alone add nothing. Let h be the width of the cells, r the
        residuals, p their weights as shares, and d the distances of predictions from the mean of
        their cell.

        - ``smooth_ece`` at the bandwidth s, from two places for each outcome and cell that have
          the moments of the rows: :math:`b(s) = h^4 (2.801 / s^4 \sum p |r| + 6.04 / s^3) / 1536`.
          The fixed point moves by the solution of :math:`\delta = b(s \pm \delta)`: with 16384
          cells by less than 1e-5 from a value of 2e-4 on, and below it by up to the value itself;
          more cells help. With the Gaussian ``kernel_calibration_error`` it is alike.
        - ``smooth_calibration_error``: :math:`D = \sum p |r| d`, and
          ``lower_calibration_distance``: :math:`\sum p d`, both by Cauchy and Schwarz for each
          cell.
        - ``random_interval_calibration_error``: 2 D / width; for the surrogate the least and the
          largest value over all widths.
        - ``kernel_calibration_error``, squared: D times the slopes of :math:`\sum p r k(v, \cdot)`,
          at most 2 / bandwidth times the range of the cumulative residual C each.
        - ``cumulative_calibration_error``: how far C may wander inside one cell;
          ``averaged_two_bin_calibration_error``: :math:`4 \sum_c D_c \max |C - C_1 / 2|`.
        - ``decision_calibration_error``: the largest weight of a cell, about which a threshold
          inside it decides, and the largest smaller one of both outcomes, by which fewer
          places to start to act can increase the loss.
        - Binned measures: the least and the largest value with any part of the cells that an edge
          cuts on either side.
        """
        check_measure(name, options)
        return self._average(lambda cells: bound_cells(cells, name, options))

    def _average(self, function):
        """Mean over the binary problems, weighted by mass."""
        filled = [cells for cells in self._cells if cells.total_weight > 0]
        if not filled:
            raise ValueError("The summary holds no rows; update it with some first.")
        mass = np.array([cells.total_weight for cells in filled])
        return float(np.dot(mass / mass.sum(), [function(cells) for cells in filled]))

    # ---------------------------------------------------------------------------- passing on

    def to_frame(self) -> pd.DataFrame:
        """Table of the non-empty cells.

        Returns
        -------
        pandas.DataFrame
            ``low`` and ``high``, between which the predictions lie, ``weight``,
            ``mean_prediction`` and ``mean_outcome``; for one problem per class also its
            ``label``.
        """
        return tabulate_cells(self._cells, self._list_labels())

    def to_samples(self) -> list[Sample]:
        """Rows of the binary problems, with each prediction replaced by the mean of its cell.

        Returns
        -------
        list of Sample
            One for each binary problem, in the order of `labels` where there is one for each
            label; without `labels` the positive label comes last. Each has the arrays
            ``predictions``, ``outcomes``, 0 or 1, and ``weights``, at most one row for each
            outcome and cell, and none for a label that was never predicted.

        Examples
        --------
        >>> from skcal.streaming import CalibrationSummary
        >>> summary = CalibrationSummary(n_cells=16).update([0, 1, 1], [0.25, 0.5, 0.46875])
        >>> (sample,) = summary.to_samples()
        >>> sample.predictions, sample.outcomes, sample.weights
        (array([0.25    , 0.484375]), array([0., 1.]), array([1., 2.]))
        """
        return [cells.collapsed for cells in self._cells]

    def to_cells(self) -> list[tuple[object, Cells]]:
        """Stored sums of each binary problem, for functions that need more than measures do.

        Returns
        -------
        list of (label, Cells)
            In the order of `labels`; the label is None where one problem stands for all labels.
            Cells never change; they have the attributes ``n_rows``, ``total_weight`` and
            ``is_counted``, which tells whether weights were 0 and 1 and labels hard throughout.
        """
        labels = self._list_labels() or [None]
        return list(zip(labels, self._cells, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Complete state as JSON types, without loss of precision.

        Returns
        -------
        dict
            To be read by `from_dict`, of this version of skcal or a later one.
        """
        state = {
            "n_samples": self.n_samples_,
            "dropped": dict(self.dropped_),
            "negative": self._negative,
        }
        return pack_summary(self._settings, state, self._cells)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> CalibrationSummary:
        """Rebuild a summary from the output of `to_dict`.

        Parameters
        ----------
        data : dict
            What `to_dict` gave.

        Returns
        -------
        CalibrationSummary
            A summary equal to the first one.

        Raises
        ------
        ValueError
            If `data` is not what `to_dict` gives, or comes from a later version.
        """
        summary = cls(**unpack_settings(data, SETTINGS))
        state, cells = unpack_state(data, summary.n_cells, len(summary._cells))
        summary._cells, summary._negative = cells, state["negative"]
        summary.n_samples_, summary.dropped_ = state["n_samples"], state["dropped"]
        return summary

    # ------------------------------------------------------------------------------- the rest

    @property
    def _settings(self):
        return {name: getattr(self, name) for name in SETTINGS}

    def _count_classes(self):
        is_binary = self.labels is None or self.pos_label is not None
        return 2 if is_binary else len(self.labels)

    def _list_labels(self):
        """Labels of the problems, or None where there is one for all."""
        if self.reduction not in ("classwise", "top-label"):
            return None
        if self.labels is None or len(self._cells) != len(self.labels):
            return ["rest", 1 if self.pos_label is None else self.pos_label]
        return self.labels

    def __copy__(self):
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__, dropped_=dict(self.dropped_), _cells=list(self._cells))
        return new

    def __eq__(self, other):
        if not isinstance(other, CalibrationSummary):
            return NotImplemented
        return (
            self._settings == other._settings
            and self.n_samples_ == other.n_samples_
            and self.dropped_ == other.dropped_
            and self._negative == other._negative
            and all(map(Cells.equals, self._cells, other._cells))
        )

    def __repr__(self):
        shown = {
            name: value
            for name, value in self._settings.items()
            if value is not None and value != _DEFAULTS.get(name)
        }
        shown["n_samples"] = self.n_samples_
        if any(self.dropped_.values()):
            shown["n_dropped"] = sum(self.dropped_.values())
        return f"CalibrationSummary({', '.join(f'{k}={v!r}' for k, v in shown.items())})"
