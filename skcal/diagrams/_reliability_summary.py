"""From the cells of a summary to the arrays of a reliability diagram."""

import numpy as np

from skcal._numerics._binned import bin_index, uniform_edges
from skcal._numerics._resampling import (
    bootstrap_diagram,
    bootstrap_smooth_ece,
    find_percentile_band,
)
from skcal._sample import Sample
from skcal._validation import check_generator
from skcal.diagrams._reliability_curve import (
    FINEST,
    N_POINTS,
    find_isotonic_knots,
    trace_witness,
)
from skcal.inference._isotonic_band import bound_sample
from skcal.inference._summary_counts import count_rows, make_resampler
from skcal.metrics._mean_outcomes import average_by_bin
from skcal.metrics._smooth import measure_sample, trace_curve
from skcal.streaming import CalibrationSummary
from skcal.streaming._summary import list_problems

_PROBABILITY = "probability"


def describe_summary(summary, recipe):
    """Attributes of a display of a summary, but for its name.

    Parameters
    ----------
    summary : CalibrationSummary
    recipe : Recipe
        On the scale of probabilities, with equal bins and no rug.

    Returns
    -------
    dict
        Those of several panels are lists.
    """
    if not isinstance(summary, CalibrationSummary):
        raise TypeError(f"summary must be a CalibrationSummary; got {type(summary).__name__}.")
    if recipe.band == "consistency":
        raise ValueError(
            "band must be 'bootstrap' or 'isotonic' for a summary; got 'consistency', which needs "
            "single predictions."
        )
    if recipe.band == "isotonic" and summary.reduction == "full":
        raise ValueError(
            "band='isotonic' needs independent rows; got a summary with reduction='full', which "
            "pools dependent ones."
        )
    problems = [pair for pair in list_problems(summary) if pair[1].total_weight > 0]
    if not problems:
        raise ValueError("summary must hold rows; got an empty summary.")
    reduction, pos_label = _name_reduction(summary, [label for label, _ in problems])
    curves = [_describe_cells(cells, recipe) for _, cells in problems]
    shared = {
        "kind": recipe.kind,
        "band": recipe.band,
        "scale": recipe.scale,
        "pos_label": pos_label,
        "reduction": reduction,
    }
    if not isinstance(pos_label, list):
        return {**curves[0], **shared}
    return {**{name: [curve[name] for curve in curves] for name in curves[0]}, **shared}


def _name_reduction(summary, labels):
    """What is shown, and the label or the list of labels of panels, None where there is none."""
    if summary.reduction in ("classwise", "top-label"):
        return summary.reduction, labels
    if summary.reduction != "auto":
        return summary.reduction, None
    if summary.pos_label is not None:
        return None, summary.pos_label
    if summary.labels is None:
        return None, 1
    return ("confidence", None) if len(summary.labels) > 2 else (None, summary.labels[-1])


def _describe_cells(cells, recipe):
    outcomes, predictions, weights = cells.matched
    sample = Sample(predictions, outcomes, weights)
    outcomes, predictions, weights = cells.averaged
    averaged = Sample(predictions, outcomes, weights)
    value = measure_sample(sample, None)
    smooth, line = trace_curve(sample, value, recipe.bandwidth, N_POINTS[0], _PROBABILITY)
    edges = uniform_edges(recipe.n_bins)
    if recipe.kind == "smooth":
        points = {"prob_pred": smooth.grid, "prob_true": smooth.calibration}
    elif recipe.kind == "isotonic":
        points = find_isotonic_knots(averaged.sorted)
    else:
        _, mean_prediction, mean_outcome = average_by_bin(sample, edges)
        points = {"prob_pred": mean_prediction, "prob_true": mean_outcome}
    band = {}
    if recipe.band == "isotonic":
        count_rows("summary", cells)
        places, low, high, _ = bound_sample(averaged, recipe.confidence_level)
        band = {"band_pred": places, "prob_true_low": low, "prob_true_high": high}
    if recipe.n_resamples:
        count_rows("summary", cells)
        band |= _resample(sample, smooth, line, edges, recipe)
    return {
        **points,
        "density_grid": smooth.grid,
        "density": smooth.density,
        "density_positive": smooth.density * smooth.calibration,
        "smooth_ece": value,
        "bandwidth": smooth.bandwidth,
        "n_samples": float(cells.total_weight if cells.is_counted else cells.n_rows),
        **band,
        **(trace_witness(averaged) if recipe.witness else {}),
    }


def _resample(sample, smooth, line, edges, recipe):
    """Attributes that come from bootstrap resamples of the numbers of rows."""
    finest = min(smooth.bandwidth, max(smooth.value, FINEST))
    resampler = make_resampler(sample.predictions, sample.outcomes, sample.weights, finest)
    size, rng = recipe.n_resamples, check_generator(recipe.random_state)
    has_band = recipe.band == "bootstrap" and recipe.kind != "isotonic"
    if has_band and recipe.kind == "smooth":
        errors, curves = bootstrap_diagram(resampler, smooth.bandwidth, line.n_points, size, rng)
        curves = curves[:, line.inside]
    else:
        errors = bootstrap_smooth_ece(resampler, size, rng)
    if has_band and recipe.kind == "binned":
        curves = _resample_bins(sample, edges, size, rng)
    attributes = {}
    if has_band:
        low, high = find_percentile_band(curves, recipe.confidence_level)
        attributes = {"prob_true_low": low, "prob_true_high": high}
    tail = (1 - recipe.confidence_level) / 2
    attributes["smooth_ece_interval"] = tuple(np.quantile(errors, [tail, 1 - tail]).tolist())
    return attributes


def _resample_bins(sample, edges, size, rng):
    """Mean outcomes of filled bins in resamples; NaN where no row of the bin was drawn."""
    filled, index = np.unique(bin_index(sample.predictions, edges), return_inverse=True)
    kind = 2 * index + sample.outcomes.astype(np.intp)
    counts = np.bincount(kind, sample.weights, 2 * len(filled))
    n_rows = round(counts.sum())
    drawn = rng.multinomial(n_rows, counts / counts.sum(), size=size).reshape(size, -1, 2)
    mass = drawn.sum(axis=2)
    return np.divide(drawn[..., 1], mass, where=mass > 0, out=np.full(mass.shape, np.nan))
