"""Curves of displays: what they hold, and where they are drawn."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from skcal.diagrams import ReliabilityCurve, ReliabilityDisplay, SharpnessCurve
from skcal.diagrams._curve import find_supported
from tests.diagrams.artists import assert_same_curve, find_shown

CURVES = (ReliabilityCurve, SharpnessCurve)
POINTS = {"prob_pred": [0.1, 0.5, 0.9], "prob_true": [0.2, np.nan, 0.8]}
GRID = np.linspace(0, 1, 1001)


@pytest.mark.parametrize("Curve", CURVES)
def test_arrays_are_kept_or_made(Curve):
    places = np.array([0.1, 0.5, 0.9])
    curve = Curve(prob_pred=places, prob_true=[0, 0.5, 1], density=np.ones(3, np.float32))
    assert curve.prob_pred is curve.density_grid is places
    assert curve.prob_true.dtype == curve.density.dtype == np.float64
    with pytest.raises(AttributeError, match="cannot assign"):
        curve.prob_pred = places
    assert_same_curve(pickle.loads(pickle.dumps(curve)), curve)


def test_repr_is_short():
    curve = ReliabilityCurve(**POINTS, smooth_ece=1 / 30, pos_label="yes")
    expected = "n_points=3, kind='smooth', smooth_ece=0.03333, pos_label='yes'"
    assert repr(curve) == f"ReliabilityCurve({expected})"
    curve = SharpnessCurve(**POINTS, total=0.25, calibration=0)
    assert repr(curve) == "SharpnessCurve(n_points=3, total=0.25, calibration=0)"


BAD = [
    ({"prob_pred": None}, "prob_pred must be a one-dimensional array"),
    ({"prob_pred": [], "prob_true": []}, r"not empty; got shape \(0,\)"),
    ({"prob_pred": np.ones((2, 3))}, r"prob_pred must be a one-dim.* shape \(2, 3\)"),
    ({"prob_true": [0.1, 0.2]}, "prob_true must be as long as prob_pred; got 2 and 3"),
    ({"prob_pred": [0.0, 0.5, 1.5]}, r"prob_pred must lie in \[0, 1\]; got 1\.5"),
    ({"prob_pred": [0.0, np.nan, 1.0]}, r"prob_pred must lie in \[0, 1\]; got nan"),
    ({"density": [-1.0, 0.5, 0.5]}, r"density must lie in \[0, 1e\+100\]; got -1"),
    ({"density": [0, 0, 5e-324]}, "positive somewhere, above 1e-100; .* is 4.94"),
    ({"n_samples": "many"}, "n_samples must be a number; got 'many'"),
]
BAD_RELIABILITY = [
    ({"kind": "step"}, "kind must be one of 'smooth', .*'isotonic', 'binned'"),
    ({"density": [1, 2], "density_grid": [0.1, 0.2, 0.3]}, "density must be as long as"),
    ({"bandwidth": -1}, "bandwidth must be at least 0"),
    ({"smooth_ece": np.nan}, "smooth_ece must be a number"),
    ({"smooth_ece_interval": [1, 2, 3]}, "must be a pair of numbers"),
    ({"smooth_ece_interval": ("a", "b")}, "smooth_ece_interval must be a number"),
]
BAD_SHARPNESS = [
    ({"sharpness_gap": [0.1]}, "sharpness_gap must be as long as prob_pred; got 1 and 3"),
    ({"total": "x"}, "total must be a number"),
]


@pytest.mark.parametrize(
    ("Curve", "bad"), [(ReliabilityCurve, BAD + BAD_RELIABILITY), (SharpnessCurve, BAD_SHARPNESS)]
)
def test_what_does_not_fit_is_refused(Curve, bad):
    for changes, message in bad:
        with pytest.raises(ValueError, match=message):
            Curve(**{**POINTS, **changes})


def make_curve(n_samples, bandwidth, centre=0.5):
    """The curve of n equal predictions; the kernel's reflections are far away."""
    density = np.exp(-0.5 * ((GRID - centre) / bandwidth) ** 2) / (bandwidth * np.sqrt(2 * np.pi))
    values = {"density": density, "bandwidth": bandwidth, "n_samples": n_samples}
    return ReliabilityCurve(prob_pred=GRID, prob_true=np.full_like(GRID, 0.3), **values)


@pytest.mark.parametrize(
    ("n_samples", "bandwidth", "needed"), [(100, 0.03, 5), (10_000, 0.03, 5), (9, 0.05, 4.5)]
)
def test_supported_where_the_kernel_gathers_enough(n_samples, bandwidth, needed):
    # n exp(-d^2 / 2 s^2) >= 5, or n / 2, up to the distance s sqrt(2 log(n / 5)), and one point.
    supported = find_supported(make_curve(n_samples, bandwidth))
    expected = np.abs(GRID - 0.5) <= bandwidth * np.sqrt(2 * np.log(n_samples / needed))
    assert supported.sum() == expected.sum() + 2
    assert supported[expected].all()


def test_supported_everywhere_if_nothing_is_known_or_smoothed():
    curve = make_curve(100, 0.01)
    for change in ({"density": None}, {"bandwidth": None}, {"n_samples": None}, {"kind": "binned"}):
        assert find_supported(replace(curve, **change)).all()


def test_support_is_read_where_the_curve_is():
    """The density of a curve may be known at other points."""
    points = np.linspace(0.5, 1, 101)
    curve = replace(make_curve(1000, 0.05, centre=0.8), prob_pred=points, prob_true=points)
    display = ReliabilityDisplay(curves=[curve]).plot()
    drawn = points[find_shown(display.line_)]
    reach = 0.05 * np.sqrt(2 * np.log(1000 / 5))
    assert [drawn.min(), drawn.max()] == pytest.approx([0.8 - reach, 0.8 + reach], abs=0.011)
