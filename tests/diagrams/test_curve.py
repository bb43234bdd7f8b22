"""Curves of displays: what they hold, and where they are drawn."""

import pickle

import numpy as np
import pytest

from skcal.diagrams import ReliabilityCurve, ReliabilityDisplay, SharpnessCurve
from skcal.diagrams._curve import find_supported
from tests.diagrams.artists import assert_same_curve, find_shown

CURVES = (ReliabilityCurve, SharpnessCurve)
every_curve = pytest.mark.parametrize("Curve", CURVES)
POINTS = {"prob_pred": [0.1, 0.5, 0.9], "prob_true": [0.2, np.nan, 0.8]}
GRID = np.linspace(0, 1, 1001)


@every_curve
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


BAD = {
    "no points": ({"prob_pred": None}, "prob_pred must be a one-dimensional array"),
    "empty": ({"prob_pred": [], "prob_true": []}, r"not empty; got shape \(0,\)"),
    "matrix": ({"prob_pred": np.ones((2, 3))}, r"prob_pred must be a one-dim.* shape \(2, 3\)"),
    "short": ({"prob_true": [0.1, 0.2]}, "prob_true must be as long as prob_pred; got 2 and 3"),
    "outside": ({"prob_pred": [0.0, 0.5, 1.5]}, r"prob_pred must lie in \[0, 1\]; got 1\.5"),
    "unknown": ({"prob_pred": [0.0, np.nan, 1.0]}, r"prob_pred must lie in \[0, 1\]; got nan"),
    "huge": ({"prob_true": [0.0, 0.5, 1.7e308]}, r"prob_true must lie in .* got 1\.7e\+308"),
    "text": ({"prob_true": ["a", "b", "c"]}, "prob_true must hold real numbers"),
    "density": ({"density": [1, 2]}, "density must be as long as density_grid; got 2 and 3"),
    "negative": ({"density": [-1.0, 0.5, 0.5]}, r"density must lie in \[0, 1e\+100\]; got -1"),
    "zero": ({"density": [0, 0, 5e-324]}, "positive somewhere, above 1e-100; .* is 4.94"),
    "rows": ({"n_samples": "many"}, "n_samples must be a number; got 'many'"),
}
BAD_RELIABILITY = {
    "kind": ({"kind": "step"}, "kind must be one of 'smooth', 'isotonic', 'binned'"),
    "grid": ({"density": [1, 2], "density_grid": [0.1, 0.2, 0.3]}, "density must be as long as"),
    "bandwidth": ({"bandwidth": -1}, "bandwidth must be at least 0"),
    "error": ({"smooth_ece": np.nan}, "smooth_ece must be a number"),
    "interval": ({"smooth_ece_interval": [1, 2, 3]}, "must be a pair of low and high"),
    "ends": ({"smooth_ece_interval": ("a", "b")}, "smooth_ece_interval must be a number"),
}
BAD_SHARPNESS = {
    "gap": ({"sharpness_gap": [0.1]}, "sharpness_gap must be as long as prob_pred; got 1 and 3"),
    "total": ({"total": "x"}, "total must be a number"),
}


@pytest.mark.parametrize(
    ("Curve", "changes", "message"),
    [(Curve, *case) for Curve in CURVES for case in BAD.values()]
    + [(ReliabilityCurve, *case) for case in BAD_RELIABILITY.values()]
    + [(SharpnessCurve, *case) for case in BAD_SHARPNESS.values()],
)
def test_what_does_not_fit_is_refused(Curve, changes, message):
    with pytest.raises(ValueError, match=message):
        Curve(**{**POINTS, **changes})


# ------------------------------------------------------------------------- support


def make_curve(n_samples, bandwidth, centre=0.5, changes=None):
    """The curve of n equal predictions; the kernel's reflections are far away."""
    density = np.exp(-0.5 * ((GRID - centre) / bandwidth) ** 2) / (bandwidth * np.sqrt(2 * np.pi))
    values = {"density": density, "bandwidth": bandwidth, "n_samples": n_samples}
    points = {"prob_pred": GRID, "prob_true": np.full_like(GRID, 0.3)}
    return ReliabilityCurve(**{**points, **values, **(changes or {})})


@pytest.mark.parametrize(
    ("n_samples", "bandwidth", "needed"),
    [(100, 0.03, 5), (10_000, 0.03, 5), (40, 0.08, 5), (1, 0.05, 0.5), (9, 0.05, 4.5)],
)
def test_supported_where_the_kernel_gathers_enough(n_samples, bandwidth, needed):
    # n exp(-d^2 / 2 s^2) >= 5, or n / 2, up to the distance s sqrt(2 log(n / 5)), and one point.
    supported = find_supported(make_curve(n_samples, bandwidth))
    expected = np.abs(GRID - 0.5) <= bandwidth * np.sqrt(2 * np.log(n_samples / needed))
    assert not supported.all()
    assert supported.sum() == expected.sum() + 2
    assert supported[expected].all()


def test_supported_point_is_visible_however_small_the_bandwidth():
    supported = find_supported(make_curve(1000, 1e-6))
    np.testing.assert_array_equal(np.flatnonzero(supported), [499, 500, 501])


@pytest.mark.parametrize(
    "change",
    [{"density": None}, {"bandwidth": None}, {"n_samples": None}, {"kind": "binned"}],
    ids=str,
)
def test_supported_everywhere_if_nothing_is_known_or_smoothed(change):
    assert find_supported(make_curve(100, 0.01, changes=change)).all()


def test_support_is_read_where_the_curve_is():
    """The density of a curve may be known at other points."""
    known = make_curve(1000, 0.05, centre=0.8)
    points = np.linspace(0.5, 1, 101)
    numbers = {"bandwidth": 0.05, "n_samples": 1000, "density": known.density}
    curve = ReliabilityCurve(prob_pred=points, prob_true=points, density_grid=GRID, **numbers)
    display = ReliabilityDisplay(curves=[curve]).plot()
    drawn = points[find_shown(display.line_)]
    reach = 0.05 * np.sqrt(2 * np.log(1000 / 5))
    assert drawn.min() == pytest.approx(0.8 - reach, abs=0.011)
    assert drawn.max() == pytest.approx(0.8 + reach, abs=0.011)
