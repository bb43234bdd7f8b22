"""Areas and words stand out from what lies behind them, on bright and on dark axes."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb, to_rgba
from scipy.stats import norm

from skcal import diagrams
from skcal.diagrams._style import CURVE_STYLES, make_transparent

rng = np.random.default_rng(0)
P = rng.uniform(0.05, 0.95, 200)
Y = (rng.random(200) < P).astype(int)
TWO = {"one": P, "two": P**2}
FEW = [0.0, 1.0, 2.0, 3.0], [0.5, 1.0, 2.5, 3.0]
AREAS = {
    "wilson": lambda: diagrams.ReliabilityDisplay.from_predictions(Y, P).band_,
    "several": lambda: diagrams.ReliabilityDisplay.from_predictions(Y, TWO).band_,
    "density": lambda: diagrams.ReliabilityDisplay.from_predictions(Y, TWO).density_,
    "consistency": lambda: (
        diagrams.ReliabilityDisplay.from_predictions(
            Y, P, kind="binned", n_bins=5, band="consistency"
        ).band_
    ),
    "sharpness": lambda: diagrams.CalibrationSharpnessDisplay.from_predictions(Y, P).band_,
    "decisions": lambda: diagrams.DecisionCurveDisplay.from_predictions(Y, TWO).bands_,
    "risks": lambda: diagrams.RiskCoverageDisplay.from_predictions(Y, TWO).bands_,
    "means": lambda: (
        diagrams.MeanReliabilityDisplay.from_predictions(P + Y, {"one": P, "two": P + 0.1}).bands_
    ),
    "pit": lambda: diagrams.PITDisplay.from_predictions(FEW[0], norm(1, 1)).bands_,
    "coverage": lambda: (
        diagrams.IntervalCoverageDisplay.from_predictions(
            FEW[0], np.add.outer(FEW[1], [-1, 1])
        ).bars_
    ),
    "widths": lambda: (
        diagrams.CoverageWidthDisplay.from_predictions(FEW[0], np.add.outer(FEW[1], [-1, 1])).band_
    ),
}


def measure_luminance(color):
    """As the Web Content Accessibility Guidelines 2 define it, channel by channel."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def measure_contrast(color, behind):
    *color, alpha = to_rgba(color)
    behind = to_rgb(behind)
    mixed = [alpha * c + (1 - alpha) * b for c, b in zip(color, behind, strict=True)]
    low, high = sorted(measure_luminance(one) + 0.05 for one in (mixed, behind))
    return high / low


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("name", AREAS)
def test_areas_are_seen_and_pale(name, style):
    with plt.style.context(style):
        areas = AREAS[name]()
    for area in areas if isinstance(areas, list) else [areas]:
        face = area.get_facecolor()
        color = face[0] if len(face) else area.get_color()[0]
        assert 1.5 <= measure_contrast(color, area.axes.get_facecolor()) < 1.56


def test_areas_of_one_colour_are_seen_where_they_overlap():
    ax = plt.figure().add_subplot()
    for color in [style["color"] for style in CURVE_STYLES] + ["0.5"]:
        alone, part = make_transparent(ax, color), make_transparent(ax, color, n_areas=5)
        assert 1 - (1 - part[3]) ** 5 == pytest.approx(alone[3])


def test_transparent_axes_show_the_figure_and_that_the_paper():
    figure = plt.figure(facecolor="black")
    ax = figure.add_subplot(facecolor="none")
    assert measure_contrast(make_transparent(ax, "white"), "black") == pytest.approx(1.5, abs=0.06)
    figure.set_facecolor("none")
    assert measure_contrast(make_transparent(ax, "black"), "white") == pytest.approx(1.5, abs=0.06)
    assert make_transparent(ax, "white")[3] == 1  # never seen on white
    panel = plt.figure(facecolor="black").subfigures(1, 2)[0].add_subplot(facecolor="none")
    assert measure_contrast(make_transparent(panel, "white"), "black") < 1.6


@pytest.mark.parametrize("style", ["default", "dark_background", "ggplot"])
def test_words_on_the_square_are_read(style):
    with plt.style.context(style):
        display = diagrams.ReliabilityDisplay.from_predictions(Y, P)
        behind = display.ax_.get_facecolor()
        for text in display.side_labels_:
            assert measure_contrast(text.get_color(), behind) >= 4.5
