"""One curve of a reliability diagram."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from skcal._input._validation import check_number, check_option
from skcal.diagrams._curve import SMOOTHED, Curve, store_array, store_number
from skcal.diagrams._layers import LAYERS

# Where all predictions are 0 or 1 chance does nothing.
_LEAST_DEVIATION = 1e-12
KINDS = (*SMOOTHED, "adaptive", "isotonic", "binned", "values")
_NUMBERS = (
    "n_clusters",
    "n_classes",
    "bandwidth",
    "n_gathered",
    "smooth_ece",
    "smooth_ece_error",
    "binned_ece",
    "miscalibration",
    "discrimination",
    "uncertainty",
    "mean_pred",
    "mean_true",
    "near_ends",
)
_WITH_DATA = tuple(name for name, layer in LAYERS.items() if layer.Data is not None)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReliabilityCurve(Curve):
    r"""One curve of a reliability diagram, and what is shown beside it.

    Arguments are checked and converted to arrays; arrays of float64 stay the same objects.

    Parameters
    ----------
    prob_pred : array-like of shape (n_points,)
        Predicted probabilities at which the curve is known.
    prob_true : array-like of shape (n_points,)
        Mean outcome at `prob_pred`; NaN where it is not known.
    density : array-like of shape (n_grid,), default=None
        Density of the predictions, at most 1e100.
    n_samples : float, default=None
        Number of predictions behind the curve; with weights w the effective number
        :math:`(\sum w)^2 / \sum w^2`. Together with `density` and `bandwidth` it decides
        where the curve is drawn, see Notes of :class:`ReliabilityDisplay`.
    pos_label : int, float, bool or str, default=None
        The label whose probability is shown; part of the axis labels unless None.
    n_rows : int, default=None
        Number of rows with a positive weight. If it is more than `n_samples`, because weights
        differ, the legend shows `n_samples`.
    kind : str, default="smooth"
        One of "smooth", "adaptive", "nadaraya-watson", "isotonic", "binned" and "values":
        how `prob_true` was estimated, see :meth:`ReliabilityDisplay.from_predictions`.
    n_clusters : int, default=None
        Number of clusters that the rows are in, shown in the legend.
    n_classes : int, default=None
        Number of classes whose probabilities are pooled, shown in the legend: `n_rows` and
        `n_samples` count each row so often, the legend once.
    density_grid : array-like of shape (n_grid,), default=None
        Predictions at which `density` is known; None stands for `prob_pred`. Where a smooth curve
        has as many points, each belongs to the point of the grid with the same number.
    bandwidth : float, default=None
        Standard deviation of the kernel behind the density, and behind the curve if that is
        smooth.
    n_gathered : float, default=None
        Events, or non-events where these are fewer, behind each point of an adaptive curve, shown
        in the legend.
    smooth_ece : float, default=None
        SmoothECE, shown in the legend.
    smooth_ece_error : float, default=None
        How far it may be from that of the rows, for a summary. Shown in the legend from 0.0005 on.
    binned_ece : float, default=None
        Expected calibration error of the bins of a binned curve, shown in the legend.
    miscalibration, discrimination, uncertainty : float, default=None
        Parts of the Brier score of an isotonic curve, MCB - DSC + UNC, shown in the legend.
    smooth_ece_interval : tuple (low, high), default=None
        Its interval, shown in the legend.
    smooth_ece_chance : tuple (mean, deviation), default=None
        What smECE would be for a calibrated model: its mean and standard deviation where outcomes
        are drawn from the predictions. Panels show the mean. A curve whose smECE is no more than
        two deviations above it is thin throughout.
    in_the_large, slope, auc : float, default=None
        Calibration in the large (the level of Cox's regression at slope 1), its slope, and the area
        under the ROC curve, shown in the legend.
    mean_pred, mean_true : float, default=None
        Means of the predictions and of the outcomes. The legend of a rare event shows their ratio.
    near_ends : float, default=None
        Distance from 0 or 1, whichever is nearer, that 90 % of the rows have at most, where it is
        small. Where the axes hardly show so small a part words tell it.
    prob_range : tuple (low, high), default=None
        Predictions between which nearly all rows lie: where it is known the axes end there, if that
        is a small part of them.
    layers : dict, default=None
        What is shown beside the curve, by name of the layer: its data, or a dictionary of their
        fields, see Notes of :class:`ReliabilityDisplay`. None stands for nothing.

    See Also
    --------
    ReliabilityDisplay : Draws curves.

    Examples
    --------
    >>> from skcal.diagrams import ReliabilityCurve
    >>> band = {"prob_pred": [0.2, 0.8], "low": [0.1, 0.5], "high": [0.4, 0.9]}
    >>> curve = ReliabilityCurve(prob_pred=[0.2, 0.8], prob_true=[0.3, 0.7], layers={"band": band})
    >>> curve
    ReliabilityCurve(n_points=2, kind='smooth', layers=['band'])
    >>> curve.layers["band"].low
    array([0.1, 0.5])
    """

    kind: str = "smooth"
    n_clusters: Any = None
    n_classes: Any = None
    density_grid: Any = None
    bandwidth: Any = None
    n_gathered: Any = None
    smooth_ece: Any = None
    smooth_ece_error: Any = None
    binned_ece: Any = None
    miscalibration: Any = None
    discrimination: Any = None
    uncertainty: Any = None
    smooth_ece_interval: Any = None
    smooth_ece_chance: Any = None
    in_the_large: Any = None
    slope: Any = None
    auc: Any = None
    mean_pred: Any = None
    mean_true: Any = None
    near_ends: Any = None
    prob_range: Any = None
    layers: Any = None

    def __post_init__(self):
        check_option("kind", self.kind, KINDS)
        store_array(self, "prob_pred")
        if self.density_grid is None:
            object.__setattr__(self, "density_grid", self.prob_pred)
        store_array(self, "density_grid")
        super().__post_init__()
        for name in _NUMBERS:
            store_number(self, name)
        for name in ("in_the_large", "slope", "auc"):
            store_number(self, name, -np.inf)
        for name in ("smooth_ece_interval", "smooth_ece_chance", "prob_range"):
            object.__setattr__(self, name, _read_pair(name, getattr(self, name)))
        object.__setattr__(self, "layers", _read_layers(self.layers))

    @property
    def excess(self) -> float | None:
        """How many standard deviations smECE is above its mean for a calibrated model, or None."""
        if self.smooth_ece is None or self.smooth_ece_chance is None:
            return None
        mean, deviation = self.smooth_ece_chance
        return (self.smooth_ece - mean) / max(deviation, _LEAST_DEVIATION)

    def _list_facts(self):
        facts = super()._list_facts()
        facts[1:1] = [("kind", self.kind), ("smooth_ece", self.smooth_ece)]
        return [*facts, ("layers", list(self.layers) or None)]

    @property
    def _kernel_width(self):
        return None if self.bandwidth is None else self.bandwidth * float(np.sqrt(2 * np.pi))


def _read_pair(name, ends):
    """A pair of floats; None stays None."""
    if ends is None:
        return None
    if np.shape(ends) != (2,):
        raise ValueError(f"{name} must be a pair of numbers; got {ends!r}.")
    return tuple(check_number(name, end, minimum=0.0) for end in ends)


def _read_layers(layers):
    """Data of layers by name, made of dictionaries of their fields where that is what came."""
    if not isinstance(layers, Mapping | None):
        raise ValueError(f"layers must be None or a dictionary; got {layers!r}.")
    found = {}
    for name, data in (layers or {}).items():
        check_option("A key of layers", name, _WITH_DATA)
        kind = LAYERS[name].Data
        if isinstance(data, Mapping):
            try:
                data = kind(**data)
            except (TypeError, ValueError) as error:
                raise ValueError(f"layers[{name!r}]: {error}") from None
        if not isinstance(data, kind):
            raise ValueError(
                f"layers[{name!r}] must be a {kind.__name__} or a dictionary of its fields; got "
                f"{data!r}."
            )
        found[name] = data
    return found
