"""Layers of the density: at the bottom, by outcome, and on the curve."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import rgb_to_hsv, to_rgba

from skcal.diagrams import ReliabilityCurve, ReliabilityDisplay
from tests.diagrams.artists import read_heights, read_vertices

draw = ReliabilityDisplay.from_predictions
# What the user guide and the pictures say of the highest density: about an eighth of the axes.
HEIGHT = 0.13


def test_height_is_the_density(rows):
    display = draw(*rows)
    (curve,) = display.curves
    low, high = read_heights(display.density_, curve.density_grid)
    assert (low == 0).all()
    np.testing.assert_allclose(high, HEIGHT * curve.density / curve.density.max(), rtol=1e-12)
    for key in ("color", "facecolor", "fc"):
        style = {key: "green", "lw": 3, "alpha": 0.5}
        density = display.plot(layer_kwargs={"density": style}).density_
        np.testing.assert_allclose(density.get_facecolor()[0], to_rgba("green", 0.5))
        assert density.get_linewidth() == 3


@pytest.mark.parametrize("density", [[1e-16, 1e-311, 0.5], [1.0, 0.0, 1.0], [0.5, 1.0, 0.5]])
def test_densities_outside_the_scale_of_logits_are_not_drawn(density):
    """Matplotlib warned of 0 and 1, and a density that vanishes inside overflowed."""
    grid = np.array([0.0, 0.5, 1.0])
    curve = ReliabilityCurve(prob_pred=grid, prob_true=grid, density=density)
    display = ReliabilityDisplay(curves=[curve], scale="logit").plot()
    vertices = read_vertices(display.density_)
    assert (vertices[:, 0] == 0.5).all()
    assert vertices[:, 1].max() <= HEIGHT


def test_split_density(rows):
    display = draw(*rows, layers=["split_density"])
    (curve,) = display.curves
    data = curve.layers["split_density"]
    np.testing.assert_array_equal(data.prob_pred, curve.density_grid)
    np.testing.assert_allclose(data.negative + data.positive, curve.density, rtol=1e-12)
    # The part of outcome 1 is a density of its rows times their share.
    total = np.trapezoid(data.positive, data.prob_pred)
    assert total == pytest.approx(rows[0].mean(), abs=1e-3)
    low, high = display.ax_.get_xlim()
    unit = HEIGHT * (high - low) / curve.density.max()
    bottom, top = (read_heights(area, data.prob_pred) for area in display.split_density_)
    zero = 0 * data.prob_pred
    np.testing.assert_allclose(bottom - low, [zero, unit * data.negative], atol=1e-12)
    np.testing.assert_allclose(high - top, [unit * data.positive, zero], atol=1e-12)


def read_density(display, places):
    (curve,) = display.curves
    known = curve.prob_pred if curve.kind == "smooth" else curve.density_grid
    return np.interp(places, known, curve.density)


@pytest.mark.parametrize("kind", ["smooth", "isotonic", "binned"])
def test_width_tells_the_density(kind, rows):
    display = draw(*rows, kind=kind, layers=["curve_width"])
    broad = display.curve_width_
    segments, widths = np.array(broad.get_segments()), np.array(broad.get_linewidths())
    assert len(segments) == len(widths) >= 4
    # Linear in the density, and rising with it.
    density = read_density(display, segments[:, :, 0]).mean(axis=1)
    slope, start = np.polyfit(density, widths, 1)
    assert slope > 0
    np.testing.assert_allclose(slope * density + start, widths, atol=1e-9)
    # It lies under the line and along it.
    on_line = np.interp(segments[:, :, 0], display.prob_pred, display.prob_true)
    np.testing.assert_allclose(segments[:, :, 1], on_line, atol=1e-12)
    assert broad.get_zorder() < display.line_.get_zorder()


@pytest.mark.parametrize("background", ["white", "black"])
def test_colors_tell_the_density_and_fade_into_the_background(background, rows):
    _, ax = plt.subplots(subplot_kw={"facecolor": background})
    display = draw(*rows, layers=["curve_color"], ax=ax)
    broad = display.curve_color_
    density = read_density(display, np.array(broad.get_segments())[:, 0, 0])
    hsv = rgb_to_hsv(broad.get_colors()[:, :3])
    strength = hsv[:, 1 if background == "white" else 2]
    assert np.corrcoef(density, strength)[0, 1] > 0.9
    assert len(set(broad.get_linewidths())) == 1


@pytest.mark.parametrize("layer", ["curve_width", "curve_color"])
def test_band_of_a_broad_curve_is_its_edges(layer, rows):
    for options in ({}, {"band": "isotonic"}, {"kind": "binned"}):
        display = draw(*rows, layers=[layer, "band"], **options)
        assert display.band_.get_zorder() > getattr(display, f"{layer}_").get_zorder()
        assert len(display.band_.get_facecolor()) == 0
        color = to_rgba(display.line_.get_color())
        np.testing.assert_array_equal(display.band_.get_edgecolor()[0], color)
