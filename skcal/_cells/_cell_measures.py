"""What a summary answers: measures of the rows that its cells stand for, and how far they are off.

No measure is computed here. The function of the measure is called for a few weighted rows that have
the same sums in each cell as the rows of the stream.
"""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from skcal._numerics.cells._cell_bins import limit_gap_norm, limit_squared_gaps, range_bins
from skcal._numerics.cells._cell_bounds import (
    bound_decisions,
    bound_fixed_point,
    bound_gaussian,
    bound_intervals,
    bound_laplace,
    bound_maximum,
    bound_range,
    bound_smoothed,
    bound_surrogate,
    bound_two_bins,
)
from skcal._numerics.errors._binned import count_bins, uniform_edges
from skcal._validation import check_option
from skcal.metrics import MEASURES, random_interval_calibration_error

# What rounding may add, for the rows and for the cells.
_ROUNDING = 1e-12
# How far curves that are interpolated, or fitted step by step, may be from their definitions.
_CURVE_ACCURACY = {"smooth": 1e-4, "spline": 1e-6}
# Rows up to which smooth_calibration_error with method="auto" is exact.
_FEW_ROWS = 1 << 14
# Widths 2^-k of intervals that are looked at for a lower bound.
_N_WIDTHS = 24

_SET_BY_SUMMARY = ("sample_weight", "pos_label", "labels", "reduction")


class CellMeasure(NamedTuple):
    """How a summary answers a measure.

    Attributes
    ----------
    rows : callable
        ``rows(cells, options) -> outcomes, predictions, weights`` that the measure is called for.
    bound : callable
        ``bound(cells, value, options) -> float``, what several predictions in a cell can do.
    refuse : callable or None
        ``refuse(options) -> str or None``, why no bound is known that is of use.
    """

    rows: Callable[..., tuple[Any, ...]]
    bound: Callable[..., float]
    refuse: Callable[..., str | None] | None = None


def check_measure(name, options):
    """Return all options of a measure that cells can answer, or raise a ValueError."""
    check_option("name", name, tuple(MEASURES))
    if not MEASURES[name].reduces:
        raise ValueError(
            f"name must be a measure of binary problems; {name} reads whole vectors of "
            "probabilities, which a summary does not keep."
        )
    if name not in CELL_MEASURES:
        raise ValueError(f"name must be a measure that summaries answer; {name} has no bound yet.")
    parameters = inspect.signature(MEASURES[name].function).parameters.values()
    known = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    for option in options:
        if option in _SET_BY_SUMMARY:
            raise ValueError(f"{option} is a setting of the summary, not an option of measures.")
        check_option("option", option, [key for key in known if key not in _SET_BY_SUMMARY])
    known.update(options)
    if known.get("method") in ("subsample", "fourier", "binning"):
        raise ValueError(f'method must be "exact" for a summary; got {known["method"]!r}.')
    return known


def _fix_bins(cells, options):
    """Options with the number of bins for the rows of the cells, for those that depend on it."""
    if options.get("n_bins") != "cube_root":
        return options
    return options | {"n_bins": count_bins("cube_root", cells.n_rows)}


def measure_cells(cells, name, options):
    """Value of a measure for the rows that cells stand for."""
    options = _fix_bins(cells, options)
    known = check_measure(name, options)
    measure = CELL_MEASURES[name]
    reason = measure.refuse and measure.refuse(known)
    if reason and cells.facts.spread.any():
        raise ValueError(
            f"{name} cannot be answered: {reason} A summary answers this only while no cell holds "
            "two different predictions."
        )
    outcomes, predictions, weights = measure.rows(cells, known)
    return MEASURES[name].function(
        outcomes, predictions, sample_weight=weights, reduction="auto", **options
    )


def is_averaged(cells, name, options):
    """Whether a measure is answered for one row in each cell, with a soft outcome."""
    measure = CELL_MEASURES[name]
    return measure.rows(cells, check_measure(name, options)) is cells.averaged


def bound_cells(cells, name, options):
    """How far `measure_cells` can be from the measure of the rows themselves."""
    options = _fix_bins(cells, options)
    value, known = measure_cells(cells, name, options), check_measure(name, options)
    bound = CELL_MEASURES[name].bound(cells, value, known) if cells.facts.spread.any() else 0.0
    return float(max(bound, 0.0) + _find_accuracy(cells, name, value, known) + _ROUNDING)


def _find_accuracy(cells, name, value, options):
    """How far the measures of the rows and of the cells may be from their definitions, in all."""
    if name == "smooth_ece":
        return 2 * _find_smooth_accuracy(value, options)
    if name == "smooth_calibration_error":
        return sum(
            0.0 if options["method"] == "exact" else 1e-5
            for n_rows in (cells.n_rows, len(cells.averaged[0]))
            if options["method"] == "grid" or n_rows > _FEW_ROWS
        )
    if name == "lower_calibration_distance":
        return 2 * options["tol"]
    if name == "kernel_calibration_error" and options["kernel"] == "gaussian":
        error = 2e-7 * cells.facts.absolute
        return error * (2 * np.sqrt(value) + error) if options["squared"] else error
    if name == "integrated_calibration_index" and isinstance(options["curve"], str):
        return 2 * _CURVE_ACCURACY.get(options["curve"], 0.0)
    return 0.0


# ---------------------------------------------------------------------------------------- bounds


def _bound_binned(cells, value, options):
    edges = uniform_edges(options["n_bins"])
    norm = options.get("norm", np.inf)
    lower, upper = limit_gap_norm(range_bins(cells.facts, edges), norm)
    penalty = 1 / options["n_bins"] if options.get("bin_width_penalty") else 0.0
    return max(upper - (value - penalty), (value - penalty) - lower)


def _bound_squared_gaps(cells, value, options):
    ranges = range_bins(cells.facts, uniform_edges(options["n_bins"]))
    lower, upper = limit_squared_gaps(ranges, cells.facts.total, options["debias"])
    return max(upper - value, value - lower)


def _bound_smooth_ece(cells, value, options):
    facts = cells.facts
    if options["bandwidth"] is not None:
        bound = bound_smoothed(facts, options["bandwidth"])
    else:
        bound = bound_fixed_point(facts, value, _find_smooth_accuracy(value, options))
    return min(bound, max(facts.absolute, value))


def _find_smooth_accuracy(value, options):
    """How far smooth_ece is from its definition; see its documentation."""
    return 1e-5 if options["bandwidth"] is None and value < 2e-5 else 1e-6


def _bound_kernel(cells, value, options):
    bandwidth, squared = options["bandwidth"], options["squared"]
    if options["kernel"] == "laplace":
        return bound_laplace(cells.facts, value, bandwidth, squared)
    error = min(bound_gaussian(cells.facts, bandwidth), 1.0)
    return error * (2 * np.sqrt(value) + error) if squared else error


def _bound_cumulative(cells, value, options):
    return (bound_range if options["deviation"] == "range" else bound_maximum)(cells.facts)


def _bound_surrogate(cells, value, options):
    outcomes, predictions, weights = cells.averaged
    errors = [
        random_interval_calibration_error(
            outcomes, predictions, sample_weight=weights, width=0.5**k
        )
        for k in range(_N_WIDTHS)
    ]
    return bound_surrogate(cells.facts, value, np.array(errors))


# -------------------------------------------------------------------------------------- refusals


def _refuse_unequal_bins(options):
    if options["strategy"] == "uniform":
        return None
    return (
        f"the edges of bins with strategy={options['strategy']!r} depend on the order of single "
        'predictions; strategy="uniform" has an answer.'
    )


def _refuse_equal_mass(options):
    return (
        "the edges of bins of equal mass depend on the order of single predictions; "
        'expected_calibration_error with strategy="uniform" has an answer.'
    )


def _refuse_intervals(options):
    return (
        "the error jumps when predictions move across each other; "
        "surrogate_interval_calibration_error has an answer."
    )


def _refuse_curve(options):
    return "its curves depend on the order of single predictions; smooth_ece has an answer."


def _refuse_scale(options):
    if options["scale"] == "probability":
        return None
    return 'cells of equal width have no bound on another scale; scale="probability" has an answer.'


def _average(cells, options):
    return cells.averaged


def _match(cells, options):
    return cells.matched


def _choose_for_kernel(cells, options):
    return cells.averaged if options["kernel"] == "laplace" else cells.matched


CELL_MEASURES = {
    "expected_calibration_error": CellMeasure(_match, _bound_binned, _refuse_unequal_bins),
    "maximum_calibration_error": CellMeasure(_match, _bound_binned, _refuse_unequal_bins),
    "adaptive_calibration_error": CellMeasure(_average, _bound_binned, _refuse_equal_mass),
    "squared_calibration_error": CellMeasure(_match, _bound_squared_gaps, _refuse_unequal_bins),
    "smooth_ece": CellMeasure(_match, _bound_smooth_ece, _refuse_scale),
    "smooth_calibration_error": CellMeasure(
        _average, lambda cells, value, options: cells.facts.displacement
    ),
    "lower_calibration_distance": CellMeasure(
        _average, lambda cells, value, options: cells.facts.distance
    ),
    "interval_calibration_error": CellMeasure(_average, _bound_binned, _refuse_intervals),
    "random_interval_calibration_error": CellMeasure(
        _average, lambda cells, value, options: bound_intervals(cells.facts, options["width"])
    ),
    "surrogate_interval_calibration_error": CellMeasure(_average, _bound_surrogate),
    "kernel_calibration_error": CellMeasure(_choose_for_kernel, _bound_kernel),
    "cumulative_calibration_error": CellMeasure(_average, _bound_cumulative),
    "averaged_two_bin_calibration_error": CellMeasure(
        _average, lambda cells, value, options: bound_two_bins(cells.facts)
    ),
    "integrated_calibration_index": CellMeasure(_average, _bound_binned, _refuse_curve),
    "decision_calibration_error": CellMeasure(
        _average, lambda cells, value, options: bound_decisions(cells.facts)
    ),
}
