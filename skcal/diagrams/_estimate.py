"""From checked predictions, or from a summary, to the curves of a reliability diagram."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from skcal._estimates._bins import BLIND_STRATEGIES, average_by_bin, find_edges
from skcal._estimates._clinical import describe_clinically
from skcal._estimates._isotonic import regress_isotonically, score_isotonically
from skcal._estimates._smooth import (
    CURVE_SCALES,
    NARROWEST,
    check_curve_bandwidth,
    expect_by_chance,
    measure_sample,
    trace_by_evidence,
    trace_curve,
    trace_density,
)
from skcal._input._clusters import read_clusters
from skcal._input._reduction import ALL_REDUCTIONS, check_predictions
from skcal._input._sample import Sample
from skcal._input._validation import (
    check_bins,
    check_confidence_level,
    check_flag,
    check_option,
    check_rng,
)
from skcal._numerics.curves._adaptive import CLEAR_EVENTS, ENOUGH_EVENTS, N_BANDWIDTHS
from skcal._numerics.errors._binned import count_bins
from skcal._numerics.errors._bregman import squared_difference
from skcal.diagrams._figure import CROWDED
from skcal.diagrams._frame import NEAR
from skcal.diagrams._layer import check_layers
from skcal.diagrams._layers import LAYERS
from skcal.diagrams._layers._band import BANDS
from skcal.diagrams._reliability_curve import KINDS, ReliabilityCurve
from skcal.diagrams._response import name_reduction
from skcal.diagrams._source import DiagramCells, DiagramRows, share_at_ends
from skcal.streaming import CalibrationSummary

# Bins, unless the user says otherwise.
_N_BINS = 15
# Layers that are computed unless the user says otherwise. Fewer rows than these have a rug, and an
# interval of smECE.
_DEFAULT_LAYERS = ("density", "band", "curve_width")
_FEW_ROWS = 50
# The interval of few rows is the same at every call.
_SEED = 0
# Up to this number of distinct predictions each is a point, where they have as many rows each.
_FEW_VALUES, _ROWS_OF_A_VALUE = 20, 5
# Share of the rows that may lie beyond each end of the axes, and cells that they are counted in.
_TAIL, _N_CELLS = 0.005, 1 << 14
# Axes of logits say where they leave out rows. Those of probabilities leave out a handful at most.
_MOST_BEYOND = 4
# Share of the rows that words tell the place of, where that is small.
_MOST_NEAR = 0.9
# Points of the grid of smoothed curves and densities, least and most; two in a bandwidth if the
# scale is long.
_FEWEST, _MOST = 201, 2001
# Standard deviations that smECE must be above its mean by chance for its curve to be drawn, whose
# narrow kernel still shows chance where it is less clear.
_CLEARLY = 4.0
# Share of the rows that a curve may show by windows of few events.
_FEW_SHARE = 0.01
# Bandwidth of the density at the bottom, whatever that of the curve is: it shows where the rows
# are, and those of several models compare. That of logits is about as wide at 1/2. Where axes show
# a part of the probabilities it is finer, and there are more points.
_FINE, _FINER = {"probability": 0.02, "logit": 0.1}, 0.005


class CurveOptions(NamedTuple):
    """Checked options of `ReliabilityDisplay.from_predictions`."""

    kind: str
    n_bins: int | str
    strategy: str
    scale: str
    bandwidth: float | None
    band: str
    interval: bool | None
    confidence_level: float
    random_state: Any
    layers: tuple[str, ...] | None
    annotate: str | None


def check_options(
    *,
    kind="auto",
    n_bins=None,
    strategy=None,
    scale="probability",
    bandwidth=None,
    band="wilson",
    interval=None,
    confidence_level=0.95,
    random_state=None,
    layers=None,
    annotate=None,
):
    """Check the options of `ReliabilityDisplay.from_predictions`."""
    check_option("kind", kind, ("auto", *KINDS))
    for name, value in (("n_bins", n_bins), ("strategy", strategy)):
        if value is not None and kind != "binned":
            raise ValueError(f"{name} needs kind='binned'; got kind={kind!r}, which has no bins.")
    n_bins = _N_BINS if n_bins is None else n_bins
    strategy = "uniform" if strategy is None else strategy
    n_bins = check_bins(n_bins, strategy, ("uniform", "quantile", "sweep"))
    bandwidth = check_curve_bandwidth(bandwidth, scale)
    check_option("band", band, BANDS)
    if band == "consistency" and kind != "binned":
        raise ValueError(
            "band='consistency' needs kind='binned', whose bins it says the range of; "
            f"got kind={kind!r}."
        )
    if band == "consistency" and strategy not in BLIND_STRATEGIES:
        raise ValueError(
            "band='consistency' needs bins that do not depend on the outcomes, strategy='uniform' "
            f"or 'quantile'; got strategy={strategy!r}."
        )
    if interval is not None:
        check_flag("interval", interval)
    level = check_confidence_level(confidence_level)
    if interval:
        check_rng(random_state)
    layers = None if layers is None else check_layers(layers, LAYERS)
    if annotate is not None:
        check_option("annotate", annotate, ("clinical",))
    options = (kind, n_bins, strategy, scale, bandwidth, band)
    return CurveOptions(*options, interval, level, random_state, layers, annotate)


# ------------------------------------------------------------------------- whole displays


def estimate_rows(y_true, y_proba, data, reduction, options, clusters=None):
    """Arguments of a display, without its name.

    `data` holds the arguments `sample_weight`, `pos_label` and `labels`.
    """
    check_option("reduction", reduction, ALL_REDUCTIONS)
    if clusters is not None and options.band in ("isotonic", "consistency"):
        raise ValueError(
            f"band={options.band!r} is exact for independent rows; got clusters, whose rows depend "
            "on each other. Take band='wilson'."
        )
    if options.interval and reduction == "full" and clusters is None:
        raise ValueError(
            "interval=True needs independent rows; got reduction='full', which pools dependent "
            "ones. See skcal.inference.confidence_interval, which keeps them together."
        )
    if options.band != "wilson" and reduction == "full":
        raise ValueError(
            f"band={options.band!r} needs independent rows; got reduction='full', which pools "
            "dependent ones. Choose another reduction, or one class with pos_label."
        )
    if options.interval is None and reduction == "full":
        options = options._replace(interval=False)
    predictions = check_predictions(
        y_true, y_proba, **data, reduction=reduction, for_reduction=True
    )
    sources = _list_sources(predictions, reduction, clusters)
    n_classes = max(predictions.proba.shape[1:], default=2) if reduction == "full" else None
    return _estimate_curves(sources, *name_reduction(predictions, reduction), options, n_classes)


def _list_sources(predictions, reduction, clusters):
    """`DiagramRows` of each binary problem."""
    reduce = ALL_REDUCTIONS[reduction]
    if clusters is None:
        return [DiagramRows(sample) for sample in reduce(predictions)]
    weights = predictions.weights
    present = np.ones(predictions.n_rows, dtype=bool)
    if weights is not None:
        present = weights > 0 if weights.ndim == 1 else (weights > 0).any(axis=1)
    member, predictions = read_clusters(clusters, present), predictions.take(present)
    numbered = predictions._replace(weights=np.arange(1, len(member) + 1))  # 0 would be absent
    return [
        DiagramRows(sample, member[own.weights - 1])
        for sample, own in zip(reduce(predictions), reduce(numbered), strict=True)
    ]


def estimate_summary(summary, options):
    """Arguments of a display of a `CalibrationSummary`, without its name.

    The options are on the scale of probabilities, with bins of equal width.
    """
    if not isinstance(summary, CalibrationSummary):
        raise TypeError(f"summary must be a CalibrationSummary; got {type(summary).__name__}.")
    if options.band in ("belt", "consistency"):
        raise ValueError(
            f"band must be 'wilson' or 'isotonic' for a summary; got {options.band!r}, which needs "
            "single predictions."
        )
    if options.band == "isotonic" and summary.reduction == "full":
        raise ValueError(
            "band='isotonic' needs independent rows; got a summary with reduction='full', which "
            "pools dependent ones."
        )
    if options.interval and summary.reduction == "full":
        raise ValueError(
            "interval=True needs independent rows; got a summary with reduction='full', which "
            "pools dependent ones."
        )
    if options.kind == "values":
        raise ValueError("kind='values' needs single predictions; got a summary.")
    problems = [pair for pair in summary.to_cells() if pair[1].total_weight > 0]
    if not problems:
        raise ValueError("summary must hold rows; got an empty summary.")
    sources = [DiagramCells(cells) for _, cells in problems]
    named = name_problem(summary, [label for label, _ in problems])
    is_pooled = summary.reduction == "full"
    n_classes = (2 if summary.labels is None else len(summary.labels)) if is_pooled else None
    return _estimate_curves(sources, *named, options, n_classes)


def name_problem(summary, labels):
    """What is shown of a summary or a monitor: the reduction, and the label, or those of panels."""
    if summary.reduction in ("classwise", "top-label"):
        return summary.reduction, labels
    if summary.reduction != "auto":
        return summary.reduction, None
    if summary.pos_label is not None:
        return None, summary.pos_label
    if summary.labels is None:
        return None, 1
    return ("confidence", None) if len(summary.labels) > 2 else (None, summary.labels[-1])


def _estimate_curves(sources, reduction, pos_label, options, n_classes=None):
    panels = isinstance(pos_label, list)
    labels = pos_label if panels else [pos_label] * len(sources)
    if panels and options.interval is None:
        options = options._replace(interval=False)
    return {
        "curves": [
            Estimate(source, options).describe(label, n_classes)
            for source, label in zip(sources, labels, strict=True)
        ],
        "scale": options.scale,
        "reduction": reduction,
        "panels": panels,
        "layers": options.layers,
    }


# ------------------------------------------------------------------------- one curve


class Estimate:
    """One curve as it is estimated from a source: what its layers are computed from.

    `smooth` is the smoothed curve with its density, whatever the kind of the curve, and `line` says
    where the predictions lie on the scale of the diagram. `curve` and `curve_line` are those of an
    adaptive curve where that is drawn, whose kernel gathers `n_gathered` events. `edges` and
    `binned_ece` are of the bins of a binned curve, or hold one value each, else None. `prob_pred`
    and `prob_true` are the points of the curve.
    """

    def __init__(self, source, options):
        self.source, self.options = source, options
        rows = source.rows
        self.smooth_ece = measure_sample(rows, None, CURVE_SCALES[options.scale])
        bandwidth = options.bandwidth or max(self.smooth_ece, NARROWEST[options.scale])
        self.prob_range = self.near_ends = None
        if options.scale == "probability":
            self._mass = np.cumsum(rows.weights_on_grid(_N_CELLS, 1))
            self.prob_range = self._find_range(self._mass, min(_TAIL, _MOST_BEYOND / source.n_rows))
            self.near_ends = self._measure_nearness(self._mass)
        n_points = self._count_points(bandwidth, 2)
        self.smooth, self.line = trace_curve(
            rows, self.smooth_ece, options.bandwidth, n_points, options.scale
        )
        if options.scale == "logit":
            mass = np.cumsum(rows.weights_on_grid(_N_CELLS, 1, self.line.place))
            self.prob_range = self._find_range(mass, _TAIL, self.line)
        self.edges = self.binned_ece = None
        self.parts = {}
        self.kind = self._choose_kind() if options.kind == "auto" else options.kind
        self.curve, self.curve_line, self.n_gathered = self.smooth, self.line, None
        if self.kind == "smooth":
            points = self.smooth.prob_pred, self.smooth.prob_true
        elif self.kind == "adaptive":
            self._trace_by_evidence()
            points = self.curve.prob_pred, self.curve.prob_true
        elif self.kind == "nadaraya-watson":
            points = self.smooth.grid, self.smooth.prob_true
        elif self.kind == "isotonic":
            means = regress_isotonically(source.merged.sorted)
            points = _find_isotonic_knots(source.merged.sorted, means)
            self.parts = _decompose_brier(source.merged.sorted, means)
        elif self.kind == "values":
            values = source.list_values(np.inf)
            self.edges = np.concatenate([[0.0], values[:-1], [1.0]])  # bins are right-closed
            points = values, average_by_bin(rows, self.edges)[2]
        else:
            n_bins = count_bins(options.n_bins, source.n_rows)
            self.edges = find_edges(rows, n_bins, options.strategy)
            mass, *points = average_by_bin(rows, self.edges)
            gaps = np.abs(points[1] - points[0])
            self.binned_ece = float(np.average(gaps, weights=mass))
        self.prob_pred, self.prob_true = points

    def _choose_kind(self):
        """Points where few predictions have many rows each: between them a curve shows nothing.

        The curve of SmoothECE where that is clearly more than chance, and has events enough.
        """
        if self.options.bandwidth is not None:
            return "smooth"
        values = self.source.list_values(_FEW_VALUES)
        if values is not None and self.source.n_rows >= _ROWS_OF_A_VALUE * len(values):
            return "values"
        return "smooth" if self._is_clear() and self._has_events() else "adaptive"

    def _is_clear(self):
        """Whether SmoothECE is beyond doubt more than chance."""
        if self.chance is None:
            return False
        mean, deviation = self.chance
        return self.smooth_ece > mean + _CLEARLY * deviation

    def _has_events(self):
        """Whether the kernel of the smooth curve gathers events enough nearly everywhere."""
        density, means = self.smooth.density, self.smooth.prob_true
        n_rows = self.source.n_samples * N_BANDWIDTHS * self.smooth.bandwidth * density
        few = n_rows * np.minimum(means, 1 - means) < ENOUGH_EVENTS
        return density[few].sum() <= _FEW_SHARE * density.sum()

    def _trace_by_evidence(self):
        """The curve whose kernel gathers events enough, in place of that of SmoothECE."""
        source, options = self.source, self.options
        n_rows = source.count_independent(options.confidence_level)
        enough = CLEAR_EVENTS if self._is_clear() else ENOUGH_EVENTS
        self.curve, self.curve_line, self.n_gathered = trace_by_evidence(
            source.rows, source.merged.sorted, n_rows, self.smooth_ece, _FEWEST, enough
        )
        # The largest predictions of a rare event are a small part of a wide square.
        first, last = self.curve.prob_pred[[0, -1]].tolist()
        if options.scale == "probability":
            self.prob_range = self._find_range(self._mass, _TAIL)
        low, high = self.prob_range
        self.prob_range = min(low, first), max(high, last)

    def trace_finely(self):
        """Density and mean outcomes of a narrow bandwidth."""
        bandwidth, n_points, scale = self._choose_fine()
        return trace_curve(self.source.rows, self.smooth_ece, bandwidth, n_points, scale)[0]

    def trace_fine_density(self):
        """Places and density of `trace_finely` alone."""
        return trace_density(self.source.rows, *self._choose_fine())

    def _choose_fine(self):
        scale = self.options.scale
        bandwidth = _FINER if self._is_near else _FINE[scale]
        return bandwidth, self._count_points(bandwidth, 4), scale

    def describe(self, pos_label, n_classes):
        """The curve, with the data of its layers."""
        layers = self.options.layers
        if layers is None:
            layers = (*_DEFAULT_LAYERS, "rug") if self._has_few_rows else _DEFAULT_LAYERS
        data = {name: LAYERS[name].compute(self) for name in layers}
        _, (mean_pred,), (mean_true,) = average_by_bin(self.source.rows, np.array([0.0, 1.0]))
        return ReliabilityCurve(
            prob_pred=self.prob_pred,
            prob_true=self.prob_true,
            density=self.smooth.density,
            n_samples=self.source.n_samples,
            n_rows=self.source.n_rows,
            n_clusters=self.source.n_clusters,
            n_classes=n_classes,
            pos_label=pos_label,
            kind=self.kind,
            density_grid=self.smooth.grid,
            bandwidth=self.smooth.bandwidth,
            n_gathered=self.n_gathered,
            smooth_ece=self.smooth_ece,
            smooth_ece_error=self.source.smooth_ece_error,
            binned_ece=self.binned_ece,
            **self.parts,
            smooth_ece_interval=self._find_interval(),
            smooth_ece_chance=self.chance,
            mean_pred=mean_pred,
            mean_true=mean_true,
            **self._describe_clinically(),
            near_ends=self.near_ends,
            prob_range=self.prob_range,
            layers={name: found for name, found in data.items() if found is not None},
        )

    def _describe_clinically(self):
        if self.options.annotate is None:
            return {}
        if not self.source.is_hard:
            raise ValueError("annotate must be None for soft labels, which have no ROC curve.")
        predictions, outcomes, weights = next(
            self.source.known.present_chunks(size=len(self.source.known.predictions))
        )
        return describe_clinically(Sample(predictions, outcomes, weights))._asdict()

    def _find_interval(self):
        """Confidence interval of smECE, or None if there is to be none."""
        options, seed = self.options, self.options.random_state
        if options.interval is None:
            seed = _SEED if seed is None else seed
        if not (self._has_few_rows if options.interval is None else options.interval):
            return None
        rng = check_rng(seed)
        return self.source.find_interval(options.scale, options.confidence_level, rng)

    @cached_property
    def chance(self):
        """Mean and deviation of smECE of a calibrated model, or None where that is not known."""
        source = self.source
        if source.member is not None or not source.is_counted or not source.is_hard:
            return None
        return expect_by_chance(source, self.line)

    @cached_property
    def _has_few_rows(self):
        """Whether there are so few rows that each can be shown, with the interval of smECE."""
        n_rows = self.source.n_rows
        return n_rows < _FEW_ROWS and self.source.list_rows(_FEW_ROWS) is not None

    def _find_range(self, mass, tail, line=None):
        """Predictions beyond which next to no rows lie, to the width of a cell.

        `mass` is the share of the rows up to each node, on a line of logits if one is given.
        """
        shares = np.searchsorted(mass, (tail * mass[-1], (1 - tail) * mass[-1])) / _N_CELLS
        if line is not None:
            shares = expit(line.find_logits(shares))
        return tuple(np.clip(shares, *map(float, self.source.rows.find_range())).tolist())

    def _measure_nearness(self, mass):
        """Distance to the nearer of 0 and 1 that most rows have at most, to the width of a cell.

        None where it is large, or where many rows are at 0 and 1 themselves.
        """
        half = _N_CELLS // 2
        both = mass[:half] + mass[-1] - mass[-2 : half - 1 : -1]
        distance = np.searchsorted(both, _MOST_NEAR * mass[-1]) / _N_CELLS
        if distance > CROWDED or share_at_ends(self.source.merged) > 1 - _MOST_NEAR:
            return None
        return float(distance)

    @property
    def _is_near(self):
        """Whether the predictions lie in a small part of the probabilities."""
        return self.options.scale == "probability" and np.ptp(self.prob_range) < NEAR

    def _count_points(self, bandwidth, n_within):
        """Number of points, with some in each bandwidth, on the scale of logits."""
        transform = CURVE_SCALES[self.options.scale]
        if transform is None:
            return _MOST if self._is_near else _FEWEST
        low, high = transform(np.array(self.source.rows.find_range()))
        return int(np.clip(n_within * (high - low) / bandwidth + 36, _FEWEST, _MOST))


def _decompose_brier(ties, means):
    """What isotonic means save of the Brier score, and what the base rate scores."""
    own, recalibrated, constant = score_isotonically(ties, squared_difference, means)
    return {
        "miscalibration": own - recalibrated,
        "discrimination": constant - recalibrated,
        "uncertainty": constant,
    }


def _find_isotonic_knots(ties, mean):
    """Both ends of every block of pooled adjacent violators, and the mean outcomes there."""
    starts = np.flatnonzero(np.diff(mean, prepend=-1.0))
    ends = np.append(starts[1:], len(mean)) - 1
    knots = np.union1d(starts, ends)
    return ties.predictions[knots], mean[knots]
