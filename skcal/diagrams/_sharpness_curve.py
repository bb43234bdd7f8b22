"""One curve of a calibration-sharpness diagram, and its band."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skcal.diagrams._curve import Curve, find_supported, store_array, store_number
from skcal.diagrams._drawing import style_band, take_color
from skcal.diagrams._figure import cut_at_frame
from skcal.diagrams._layer import Layer

# The frame rises with the bands, but not above this; what is higher is cut.
HIGHEST = 1.5
# An infinite band is drawn with this length, beyond every frame.
_INFINITE = 1e3


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SharpnessCurve(Curve):
    r"""One curve of a calibration-sharpness diagram.

    Arguments are checked and converted to arrays; arrays of float64 stay the same objects.

    Parameters
    ----------
    prob_pred : array-like of shape (n_points,)
        Predicted probabilities at which the curve is known.
    prob_true : array-like of shape (n_points,)
        Mean outcome at `prob_pred`; NaN where it is not known.
    density : array-like of shape (n_points,), default=None
        Mean of kernel values at `prob_pred`, not divided by the integral of the kernel. None
        draws neither band nor density.
    n_samples : float, default=None
        Number of predictions behind the curve; with weights w the effective number
        :math:`(\sum w)^2 / \sum w^2`. Together with `density` it decides where the curve is
        drawn, see Notes of :class:`CalibrationSharpnessDisplay`.
    pos_label : int, float, bool or str, default=None
        The label whose probability is shown; part of the axis labels unless None.
    n_rows : int, default=None
        Number of rows with a positive weight. If it is more than `n_samples`, because weights
        differ, the legend shows `n_samples`.
    sharpness_gap : array-like of shape (n_points,), default=None
        Sharpness gap at `prob_pred`, NaN where it is not known. None draws no band.
    total : float, default=None
        Mean loss of the model, shown in the legend.
    calibration : float, default=None
        The part of `total` that recalibration removes, shown in the legend.
    bandwidth : float, default=None
        Width of the kernel behind the curve.

    See Also
    --------
    CalibrationSharpnessDisplay : Draws curves.

    Examples
    --------
    >>> from skcal.diagrams import SharpnessCurve
    >>> SharpnessCurve(prob_pred=[0.2, 0.8], prob_true=[0.3, 0.7], total=0.2, calibration=0.01)
    SharpnessCurve(n_points=2, total=0.2, calibration=0.01)
    """

    sharpness_gap: Any = None
    total: Any = None
    calibration: Any = None
    bandwidth: Any = None

    # The density is that of kernels with a maximum of 1.
    _kernel_width = 1.0

    def __post_init__(self):
        super().__post_init__()
        options = {"like": "prob_pred", "allow_nan": True, "optional": True}
        store_array(self, "sharpness_gap", -np.inf, np.inf, **options)
        store_number(self, "bandwidth")
        for name in ("total", "calibration"):
            store_number(self, name, -np.inf)

    def _list_facts(self):
        facts = super()._list_facts()
        facts[1:1] = [("total", self.total), ("calibration", self.calibration)]
        return facts


class SharpnessBandLayer(Layer):
    """Band whose length is the sharpness gap times the density."""

    name = "band"

    def is_known(self, curve):
        return curve.sharpness_gap is not None and curve.density is not None

    def draw(self, ax, curve, line, user_style, view):
        from matplotlib.colors import to_rgba

        color, style = take_color(line, user_style)
        default = style_band(ax, color, view.n_alike)
        if view.separate:  # thin edges in the dashes of the curve tell it from others
            default |= {
                "edgecolor": to_rgba(color, 0.6),
                "linestyle": line.get_linestyle(),
                "linewidth": 0.7,
            }
        low, high = _find_ends(curve)
        shown = find_supported(curve)
        band = ax.fill_between(curve.prob_pred, low, high, where=shown, **{**default, **style})
        cut_at_frame([band])
        return [band]

    def describe(self, curve, view):
        return "Sharpness gap × density: no confidence band"

    def find_top(self, curve):
        if not self.is_known(curve):
            return 0.0
        high = _find_ends(curve)[1][find_supported(curve)]
        return max(high[high < _INFINITE / 2], default=0.0)


def _find_ends(curve):
    """Lower and upper edge of the band of a curve."""
    gap, density = curve.sharpness_gap, curve.density
    length = np.zeros(gap.shape)
    with np.errstate(over="ignore"):
        np.multiply(np.maximum(gap, 0.0), density, where=density > 0, out=length)
    half = np.minimum(length, _INFINITE) / 2
    return np.maximum(curve.prob_true - half, 0.0), curve.prob_true + half
