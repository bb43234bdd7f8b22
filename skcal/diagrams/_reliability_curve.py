"""From checked predictions to the arrays of a reliability diagram."""

from typing import NamedTuple

import numpy as np

from skcal._numerics._binned import bin_index, find_middles
from skcal._numerics._grid import linear_nodes
from skcal._numerics._resampling import (
    bootstrap_bin_means,
    bootstrap_diagram,
    bootstrap_smooth_ece,
    find_percentile_band,
)
from skcal._numerics._smooth_calibration import balance_witness, find_witness
from skcal._reduction import REDUCTIONS, check_predictions
from skcal._validation import (
    check_confidence_level,
    check_flag,
    check_generator,
    check_integer,
    check_option,
)
from skcal.diagrams._response import count_effectively, name_reduction
from skcal.inference._binary_problem import check_single_rows
from skcal.inference._consistency_band import BLIND_STRATEGIES, bound_bins
from skcal.inference._isotonic_band import bound_sample
from skcal.metrics._binned import find_edges
from skcal.metrics._mean_outcomes import average_by_bin, regress_isotonically
from skcal.metrics._smooth import (
    CURVE_SCALES,
    NARROWEST,
    check_curve_bandwidth,
    measure_sample,
    trace_curve,
)

KINDS = ("smooth", "isotonic", "binned")
_BANDS = ("bootstrap", "isotonic", "consistency")
# Points of the grid of smoothed curves and densities, least and most; two in a bandwidth if the
# scale is long.
N_POINTS = (201, 2001)
# Resamples of smECE need a grid for a bandwidth of smECE, but no finer one than for this share of
# the length of the scale.
FINEST = 1e-3
# Ticks of the rug stand for single rows up to this number.
_MOST_TICKS = 100
# Share of the smooth calibration error that the witness shown attains at least.
_KEPT = 0.9
# Cells that the witness is found on where there are more distinct predictions.
_WITNESS_CELLS = 1 << 14


class Recipe(NamedTuple):
    """Checked options of what is computed for a diagram."""

    kind: str
    n_bins: int
    strategy: str
    scale: str
    bandwidth: float | None
    band: str
    n_resamples: int
    confidence_level: float
    random_state: object
    rug: bool
    witness: bool


def check_recipe(
    *,
    kind="smooth",
    n_bins=15,
    strategy="uniform",
    scale="probability",
    bandwidth=None,
    band="bootstrap",
    n_resamples=0,
    confidence_level=0.95,
    random_state=None,
    rug=False,
    witness=False,
):
    """Check the options of `ReliabilityDisplay.from_predictions`."""
    check_option("kind", kind, KINDS)
    n_bins = check_integer("n_bins", n_bins, minimum=1)
    check_option("strategy", strategy, ("uniform", "quantile", "sweep"))
    bandwidth = check_curve_bandwidth(bandwidth, scale)
    check_band(band, kind)
    if band == "consistency" and strategy not in BLIND_STRATEGIES:
        raise ValueError(
            "band='consistency' needs bins that do not depend on the outcomes, strategy='uniform' "
            f"or 'quantile'; got strategy={strategy!r}."
        )
    n_resamples = check_integer("n_resamples", n_resamples, minimum=0)
    level = check_confidence_level(confidence_level)
    check_flag("rug", rug)
    check_flag("witness", witness)
    if n_resamples:
        check_generator(random_state)
    options = (kind, n_bins, strategy, scale, bandwidth, band)
    return Recipe(*options, n_resamples, level, random_state, rug, witness)


def check_band(band, kind):
    """Check the kind of band, and that this kind of curve can have it."""
    check_option("band", band, _BANDS)
    if band == "consistency" and kind != "binned":
        raise ValueError(
            "band='consistency' needs kind='binned', whose bins it says the range of; "
            f"got kind={kind!r}."
        )


def describe_curves(y_true, y_proba, data, reduction, recipe):
    """Attributes of a display, but for its name.

    Parameters
    ----------
    y_true, y_proba : array-like
    data : dict
        The arguments `sample_weight`, `pos_label` and `labels`.
    reduction : str
    recipe : Recipe

    Returns
    -------
    dict
        Those of several panels are lists.
    """
    check_option("reduction", reduction, REDUCTIONS)
    if recipe.band != "bootstrap" and reduction == "full":
        raise ValueError(
            f"band={recipe.band!r} needs independent rows; got reduction='full', which pools "
            "dependent ones. Choose another reduction, or one class with pos_label."
        )
    predictions = check_predictions(y_true, y_proba, **data)
    samples = REDUCTIONS[reduction](predictions)
    curves = [_describe_sample(sample, recipe) for sample in samples]
    reduction, pos_label = name_reduction(predictions, reduction)
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


def _describe_sample(sample, recipe):
    value = measure_sample(sample, None, CURVE_SCALES[recipe.scale])
    smooth, line = trace_curve(
        sample, value, recipe.bandwidth, _count_points(sample, value, recipe), recipe.scale
    )
    edges = None
    if recipe.kind == "smooth":
        points = {"prob_pred": smooth.grid, "prob_true": smooth.calibration}
    elif recipe.kind == "isotonic":
        points = find_isotonic_knots(sample.sorted)
    else:
        edges = find_edges(sample, recipe.n_bins, recipe.strategy)
        _, mean_prediction, mean_outcome = average_by_bin(sample, edges)
        points = {"prob_pred": mean_prediction, "prob_true": mean_outcome}
    return {
        **points,
        "density_grid": smooth.grid,
        "density": smooth.density,
        "density_positive": smooth.density * smooth.calibration,
        "smooth_ece": value,
        "bandwidth": smooth.bandwidth,
        "n_samples": count_effectively(sample),
        **_find_exact_band(sample, edges, recipe),
        **_resample(sample, smooth, line, edges, recipe),
        **(_pick_rug(sample) if recipe.rug else {}),
        **(trace_witness(sample) if recipe.witness else {}),
    }


def _count_points(sample, value, recipe):
    least, most = N_POINTS
    transform = CURVE_SCALES[recipe.scale]
    if transform is None:
        return least
    low, high = transform(np.array(sample.find_range()))
    bandwidth = recipe.bandwidth or max(value, NARROWEST[recipe.scale])
    return int(np.clip(2 * (high - low) / bandwidth, least, most))


def find_isotonic_knots(ties):
    """Both ends of every block of pooled adjacent violators."""
    mean = regress_isotonically(ties)
    starts = np.flatnonzero(np.diff(mean, prepend=-1.0))
    ends = np.append(starts[1:], len(mean)) - 1
    knots = np.union1d(starts, ends)
    return {"prob_pred": ties.predictions[knots], "prob_true": mean[knots]}


def _find_exact_band(sample, edges, recipe):
    """Attributes of a band that needs no resamples; none for the bootstrap band."""
    if recipe.band == "bootstrap":
        return {}
    check_single_rows(sample)
    if recipe.band == "isotonic":
        places, low, high, _ = bound_sample(sample, recipe.confidence_level)
        return {"band_pred": places, "prob_true_low": low, "prob_true_high": high}
    low, high = bound_bins(sample, edges, recipe.confidence_level)
    return {"prob_true_low": low, "prob_true_high": high}


def _resample(sample, smooth, line, edges, recipe):
    """Attributes that come from bootstrap resamples; none without resamples."""
    if recipe.n_resamples == 0:
        return {}
    finest = min(smooth.bandwidth, max(smooth.value, FINEST * line.width))
    resampler = sample.resampler(finest, line.place, line.width)
    size, rng = recipe.n_resamples, check_generator(recipe.random_state)
    attributes = {}
    # The bootstrap of an isotonic regression is not consistent: no band is better than that.
    has_band = recipe.band == "bootstrap" and recipe.kind != "isotonic"
    if has_band and recipe.kind == "smooth":
        errors, curves = bootstrap_diagram(
            resampler, smooth.bandwidth / line.width, line.n_points, size, rng
        )
        curves = curves[:, line.inside]
    else:
        errors = bootstrap_smooth_ece(resampler, size, rng)
    if has_band and recipe.kind == "binned":
        rows = next(sample.present_chunks(size=len(sample.predictions)))
        filled, index = np.unique(bin_index(rows[0], edges), return_inverse=True)
        curves = bootstrap_bin_means(index, *rows[1:], len(filled), size, rng)
    if has_band:
        low, high = find_percentile_band(curves, recipe.confidence_level)
        attributes = {"prob_true_low": low, "prob_true_high": high}
    tail = (1 - recipe.confidence_level) / 2
    attributes["smooth_ece_interval"] = tuple(np.quantile(errors, [tail, 1 - tail]).tolist())
    return attributes


def _pick_rug(sample):
    """Predictions and outcomes of single rows, or of 100 that stand for an equal mass each."""
    v, y, _ = next(sample.present_chunks(size=len(sample.predictions)))
    if len(v) <= _MOST_TICKS and np.isin(y, (0, 1)).all():
        return {"rug_pred": v, "rug_true": y}
    ties = sample.sorted
    share = ties.positive.sum() / ties.total_weight
    # A rare outcome has one tick at least.
    n_positive = int(np.clip(round(_MOST_TICKS * share), share > 0, _MOST_TICKS - (share < 1)))
    counts = (_MOST_TICKS - n_positive, n_positive)
    picked = [
        find_middles(ties.predictions, mass, count)
        for mass, count in zip((ties.weight - ties.positive, ties.positive), counts, strict=True)
    ]
    return {"rug_pred": np.concatenate(picked), "rug_true": np.repeat([0.0, 1.0], counts)}


def trace_witness(sample):
    """A weight function that shows the smooth calibration error, for many rows on a grid."""
    if sample.n_present <= _WITNESS_CELLS:
        knots, residual = sample.sorted.predictions, sample.sorted.residual
    else:
        moments, _ = sample.residual_in_cells(_WITNESS_CELLS)
        residual = linear_nodes(moments)
        knots = np.linspace(0.0, 1.0, _WITNESS_CELLS + 1)
    witness = balance_witness(find_witness(knots, residual), residual, _KEPT)
    return {"witness_pred": knots, "witness": witness}
