"""Layers of the density: at the bottom, by outcome, and on the curve."""

import pickle
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import rgb_to_hsv, to_rgba

from skcal.diagrams import ReliabilityCurve, ReliabilityDisplay
from skcal.metrics import smooth_ece_curve
from tests.diagrams.artists import read_heights, read_vertices

draw = ReliabilityDisplay.from_predictions
# What the user guide and the pictures say of the highest density: about an eighth of the axes.
HEIGHT = 0.13


def read_top(display):
    """Highest point of the density, as a share of the height of the axes."""
    density = display.density_
    points = density.get_transform().transform(read_vertices(density))
    return display.ax_.transAxes.inverted().transform(points)[:, 1].max()


def test_height_is_the_density(rows):
    display = draw(*rows)
    (curve,), density, ax = display.curves, display.density_, display.ax_
    data = curve.layers["density"]
    low, high = read_heights(density, data.prob_pred)
    assert (low == 0).all()
    np.testing.assert_array_equal(high, data.density)
    assert read_top(display) == pytest.approx(HEIGHT, rel=1e-9)
    # x is that of the data.
    ends = density.get_transform().transform([(0.25, 0.0), (0.75, 0.0)])
    np.testing.assert_allclose(ax.transData.inverted().transform(ends)[:, 0], [0.25, 0.75])
    for key in ("color", "facecolor", "fc"):
        style = {key: "green", "lw": 3, "alpha": 0.5}
        density = display.plot(layer_kwargs={"density": style}).density_
        np.testing.assert_allclose(density.get_facecolor()[0], to_rgba("green", 0.5))
        assert density.get_linewidth() == 3


@pytest.mark.parametrize(
    ("scale", "bandwidth"),
    [("probability", 0.02), pytest.param("logit", 0.1, marks=pytest.mark.slow)],
)
def test_density_shows_where_rows_are_whatever_the_error_is(scale, bandwidth, rows):
    """One narrow bandwidth for all models: with that of the curve a wrong one would look vague."""
    y, proba = rows
    for outcomes in (y, 1 - y):
        (curve,) = draw(outcomes, proba, scale=scale).curves
        data = curve.layers["density"]
        expected = smooth_ece_curve(
            y, proba, scale=scale, bandwidth=bandwidth, n_points=len(data.prob_pred)
        )
        np.testing.assert_allclose(data.prob_pred, expected.grid)
        np.testing.assert_allclose(data.density, expected.density)
    # 92 % of the rows are above .99, and so is what is seen of them.
    crowded = np.append(np.full(920, 0.995), np.linspace(0.3, 0.99, 80))
    y = (np.random.default_rng(0).random(1000) < 0.7).astype(int)
    data = draw(y, crowded).curves[0].layers["density"]
    far = np.where(data.prob_pred < 0.9, data.density, 0)
    assert np.trapezoid(far, data.prob_pred) < 0.1


def test_densities_on_shared_axes_share_a_scale(rows):
    """Twice the density is twice as high, whichever came first, and the width tells it.

    Three tenths of the largest width are added to every curve that errs beyond chance, whatever its
    density.
    """
    y, proba = rows
    samples = {"wide": (y, proba), "narrow": (y, 0.4 + 0.1 * proba)}
    for names in (("wide", "narrow"), ("narrow", "wide")):
        ax, found = None, {}
        for name in names:
            found[name] = draw(*samples[name], bandwidth=0.05, ax=ax)
            ax = found[name].ax_
        wide, narrow = found["wide"], found["narrow"]
        ratio, thickened = (
            find(wide.curves[0]).max() / find(narrow.curves[0]).max()
            for find in (lambda one: one.layers["density"].density, lambda one: one.density)
        )
        assert ratio < thickened < 0.5
        assert read_top(narrow) == pytest.approx(HEIGHT, rel=1e-9)
        assert read_top(wide) == pytest.approx(ratio * HEIGHT, rel=1e-9)
        added = [
            (np.array(one.curve_width_.get_linewidths()) - one.line_.get_linewidth()).max()
            for one in (wide, narrow)
        ]
        assert added[0] / added[1] == pytest.approx(0.3 + 0.7 * thickened, rel=0.05)
    # Folds share it too.
    curves = [wide.curves[0], narrow.curves[0]]
    display = ReliabilityDisplay(curves=curves).plot()
    transforms = [density.get_transform().transform((0, 1)) for density in display.density_]
    np.testing.assert_allclose(*transforms)
    # A figure can be kept.
    assert pickle.loads(pickle.dumps(display.figure_)).axes


@pytest.mark.parametrize("density", [[1e-16, 1e-311, 0.5], [1.0, 0.0, 1.0], [0.5, 1.0, 0.5]])
def test_densities_outside_the_scale_of_logits_are_not_drawn(density):
    """Matplotlib warned of 0 and 1, and a density that vanishes inside overflowed."""
    grid = np.array([0.0, 0.5, 1.0])
    curve = ReliabilityCurve(prob_pred=grid, prob_true=grid, density=density)
    display = ReliabilityDisplay(curves=[curve], scale="logit").plot()
    assert (read_vertices(display.density_)[:, 0] == 0.5).all()
    assert read_top(display) <= HEIGHT + 1e-9


def test_split_density(rows):
    display = draw(*rows, layers=["split_density"])
    (curve,) = display.curves
    data = curve.layers["split_density"]
    whole = draw(*rows).curves[0].layers["density"]
    np.testing.assert_array_equal(data.prob_pred, whole.prob_pred)
    np.testing.assert_allclose(data.negative + data.positive, whole.density, rtol=1e-12)
    # The part of outcome 1 is a density of its rows times their share.
    total = np.trapezoid(data.positive, data.prob_pred)
    assert total == pytest.approx(rows[0].mean(), abs=1e-3)
    low, high = display.ax_.get_xlim()
    unit = HEIGHT * (high - low) / whole.density.max()
    bottom, top = (read_heights(area, data.prob_pred) for area in display.split_density_)
    zero = 0 * data.prob_pred
    np.testing.assert_allclose(bottom - low, [zero, unit * data.negative], atol=1e-12)
    np.testing.assert_allclose(high - top, [unit * data.positive, zero], atol=1e-12)


def read_density(display, places):
    (curve,) = display.curves
    known = curve.prob_pred if curve.kind == "smooth" else curve.density_grid
    return np.interp(places, known, curve.density)


def read_ribbon(display, name):
    """Segments under a curve, and the mean density of each."""
    (curve,), ribbon = display.curves, getattr(display, f"{name}_")
    segments = np.array(ribbon.get_segments())
    known = curve.prob_pred if curve.kind == "smooth" else curve.density_grid
    density = np.interp(segments[:, :, 0], known, curve.density).mean(axis=1)
    return ribbon, segments, density


@pytest.mark.parametrize("kind", ["smooth", "nadaraya-watson"])
def test_width_tells_the_density(kind, rows):
    display = draw(*rows, kind=kind)
    ribbon, segments, density = read_ribbon(display, "curve_width")
    widths = np.array(ribbon.get_linewidths())
    assert len(segments) == len(widths) >= 4
    # Linear in the density, rising with it from a width that is more than that of the line.
    thin = display.line_.get_linewidth()
    slope, start = np.polyfit(density, widths, 1)
    assert slope * density.max() > thin
    # Three tenths of what the highest density adds are added everywhere.
    peak = slope * display.curves[0].density.max()
    assert start - thin == pytest.approx(0.3 / 0.7 * peak, rel=1e-4)
    np.testing.assert_allclose(slope * density + start, widths, atol=1e-9)
    # It lies under the line and along it.
    on_line = np.interp(segments[:, :, 0], display.prob_pred, display.prob_true)
    np.testing.assert_allclose(segments[:, :, 1], on_line, atol=1e-12)
    assert display.density_.get_zorder() < ribbon.get_zorder() < display.line_.get_zorder()
    assert display.band_.get_zorder() < ribbon.get_zorder()


def test_curve_within_chance_is_thin():
    """The mean and the standard deviation by chance decide."""
    curve = ReliabilityDisplay.estimate(*make_rows(1.0)).curves[0]
    for chance, is_thin in (((0.05, 0.0201), True), ((0.05, 0.0199), False), (None, False)):
        changed = replace(curve, smooth_ece=0.1, smooth_ece_chance=chance)
        display = ReliabilityDisplay(curves=[changed]).plot()
        widths = np.array(display.curve_width_.get_linewidths())
        assert (widths == display.line_.get_linewidth()).all() == is_thin
    for slope, is_thin in ((1.0, True), (0.5, False)):
        display = draw(*make_rows(slope))
        widths = np.array(display.curve_width_.get_linewidths())
        assert (widths == display.line_.get_linewidth()).all() == is_thin


def make_rows(slope):
    rng = np.random.default_rng(0)
    proba = rng.random(2000)
    return (rng.random(2000) < 0.5 + slope * (proba - 0.5)).astype(int), proba


def test_line_without_a_width_of_its_own_is_as_usual(rows):
    """Where the density is not shown, or the width is given."""
    usual = draw(*rows, layers=["density", "band"]).line_.get_linewidth()
    display = draw(*rows)
    assert display.line_.get_linewidth() < usual
    assert display.plot(layers=["band"]).line_.get_linewidth() == usual
    assert display.plot(layers=["band"]).curve_width_ is None
    for key in ("linewidth", "lw"):
        display.plot(curve_kwargs={key: 5})
        assert display.line_.get_linewidth() == 5
        assert np.min(display.curve_width_.get_linewidths()) >= 5
    for key in ("linewidth", "linewidths", "lw"):
        display.plot(layer_kwargs={"curve_width": {key: 5}})
        assert set(display.curve_width_.get_linewidths()) == {5}
    assert draw(*rows, kind="binned").curve_width_ is None


def test_dashes_are_seen_on_a_wide_line(rows):
    """The line under solid curves has their colour, that under dashed ones a paler one."""
    for style in ({}, {"color": "red"}, {"color": "red", "alpha": 0.5}):
        display = draw(*rows, curve_kwargs=style)
        alpha = style.get("alpha", 1.0)
        mixed = alpha * np.array(to_rgba(display.line_.get_color()))[:3] + 1 - alpha
        np.testing.assert_allclose(display.curve_width_.get_color()[0, :3], mixed)
    dashed = draw(*rows, curve_kwargs={"color": "black", "ls": "--"})
    assert 0.3 < dashed.curve_width_.get_color()[0, 0] < 0.7


@pytest.mark.parametrize("background", ["white", "black"])
def test_colors_tell_the_density_and_fade_into_the_background(background, rows):
    _, ax = plt.subplots(subplot_kw={"facecolor": background})
    display = draw(*rows, layers=["curve_color"], ax=ax)
    ribbon, _, density = read_ribbon(display, "curve_color")
    hsv = rgb_to_hsv(ribbon.get_colors()[:, :3])
    strength = hsv[:, 1 if background == "white" else 2]
    assert np.corrcoef(density, strength)[0, 1] > 0.9
    assert len(set(ribbon.get_linewidths())) == 1
    display.plot(layer_kwargs={"curve_color": {"color": "red"}})
    assert np.unique(display.curve_color_.get_colors(), axis=0).tolist() == [[1, 0, 0, 1]]
