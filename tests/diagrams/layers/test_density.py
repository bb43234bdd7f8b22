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


@pytest.mark.parametrize("key", ["color", "facecolor", "fc"])
def test_color_of_the_density(key, rows):
    style = {key: "green", "lw": 3, "alpha": 0.5}
    display = draw(*rows, layer_kwargs={"density": style})
    np.testing.assert_allclose(display.density_.get_facecolor()[0], to_rgba("green", 0.5))
    assert display.density_.get_linewidth() == 3


@pytest.mark.parametrize("density", [[1e-16, 1e-311, 0.5], [1.0, 0.0, 1.0], [0.5, 1.0, 0.5]])
def test_densities_outside_the_scale_of_logits_are_not_drawn(density):
    """Matplotlib warned of 0 and 1, and a density that vanishes inside overflowed."""
    grid = np.array([0.0, 0.5, 1.0])
    curve = ReliabilityCurve(prob_pred=grid, prob_true=grid, density=density)
    display = ReliabilityDisplay(curves=[curve], scale="logit").plot()
    vertices = read_vertices(display.density_)
    assert (vertices[:, 0] == 0.5).all()
    assert vertices[:, 1].max() <= HEIGHT


# ------------------------------------------------------------------------- by outcome


def test_parts_of_the_density_add_up(rows):
    display = draw(*rows, layers=["split_density"])
    (curve,) = display.curves
    data = curve.layers["split_density"]
    np.testing.assert_array_equal(data.prob_pred, curve.density_grid)
    np.testing.assert_allclose(data.negative + data.positive, curve.density, rtol=1e-12)
    # The part of outcome 1 is a density of its rows times their share.
    step = data.prob_pred[1]
    total = step * (data.positive.sum() - data.positive[[0, -1]].mean())
    assert total == pytest.approx(rows[0].mean(), abs=1e-3)


def test_split_density(rows):
    display = draw(*rows, layers=["split_density"])
    data = display.curves[0].layers["split_density"]
    negative, positive = display.split_density_
    low, high = display.ax_.get_xlim()
    unit = HEIGHT * (high - low) / display.curves[0].density.max()
    base, top = read_heights(negative, data.prob_pred[1:-1])
    np.testing.assert_allclose(base, low, atol=1e-12)
    np.testing.assert_allclose(top - base, unit * data.negative[1:-1], atol=1e-12)
    bottom, base = read_heights(positive, data.prob_pred[1:-1])
    np.testing.assert_allclose(base, high, atol=1e-12)
    np.testing.assert_allclose(base - bottom, unit * data.positive[1:-1], atol=1e-12)


# ------------------------------------------------------------------------- on the curve


def read_density(curve, places):
    return np.interp(places, curve.density_grid, curve.density)


@pytest.mark.parametrize("kind", ["smooth", "isotonic", "binned"])
def test_width_tells_the_density(kind, rows):
    display = draw(*rows, kind=kind, layers=["curve_width"])
    (curve,), broad = display.curves, display.curve_width_
    segments, widths = np.array(broad.get_segments()), np.array(broad.get_linewidths())
    assert len(segments) == len(widths) >= 4
    density = read_density(curve, segments[:, :, 0]).mean(axis=1)
    # Linear in the density, and rising with it.
    slope, start = np.polyfit(density, widths, 1)
    assert slope > 0
    np.testing.assert_allclose(slope * density + start, widths, atol=1e-9)
    # It lies under the line and along it.
    on_line = np.interp(segments[:, :, 0], curve.prob_pred, curve.prob_true)
    np.testing.assert_allclose(segments[:, :, 1], on_line, atol=1e-12)
    assert broad.get_zorder() < display.line_.get_zorder()


def test_color_tells_the_density(rows):
    display = draw(*rows, layers=["curve_color"])
    broad = display.curve_color_
    density = read_density(display.curves[0], np.array(broad.get_segments())[:, 0, 0])
    saturation = rgb_to_hsv(broad.get_colors()[:, :3])[:, 1]
    assert np.corrcoef(density, saturation)[0, 1] > 0.9
    assert len(set(broad.get_linewidths())) == 1


def test_colors_fade_into_the_background(rows):
    _, ax = plt.subplots(facecolor="black")
    ax.set_facecolor("black")
    display = draw(*rows, layers=["curve_color"], ax=ax)
    broad = display.curve_color_
    density = read_density(display.curves[0], np.array(broad.get_segments())[:, 0, 0])
    brightness = broad.get_colors()[:, :3].sum(axis=1)
    assert np.corrcoef(density, brightness)[0, 1] > 0.9


@pytest.mark.parametrize("layer", ["curve_width", "curve_color"])
def test_band_of_a_broad_curve_is_its_edges(layer, rows):
    for options in ({"n_resamples": 5, "random_state": 0}, {"band": "isotonic"}):
        display = draw(*rows, layers=[layer, "band"], **options)
        assert len(display.band_.get_facecolor()) == 0
        color = to_rgba(display.line_.get_color())
        np.testing.assert_array_equal(display.band_.get_edgecolor()[0], color)
        assert display.band_.get_zorder() > getattr(display, f"{layer}_").get_zorder()
    bars = draw(*rows, kind="binned", layers=["band", layer], n_resamples=5, random_state=0)
    assert bars.band_.get_zorder() > getattr(bars, f"{layer}_").get_zorder()
