"""Legends say what is drawn beside curves; on small axes words stay inside, or leave."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba

from skcal.diagrams import CalibrationSharpnessDisplay, ReliabilityCurve, ReliabilityDisplay
from skcal.diagrams._entries import list_notes
from skcal.diagrams._layers._band import Band
from tests.diagrams.artists import list_legend

rng = np.random.default_rng(0)
P = rng.uniform(0.05, 0.95, 300)
Y = (rng.random(300) < P).astype(int)
DENSITY = "Density of the predictions"


def list_words(Display=ReliabilityDisplay, y_proba=P, **options):
    ax = Display.from_predictions(Y, y_proba, **options).ax_
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    return [word for word in words if word in list_notes(ax)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"layers": ["band"]}, "95 % band, each point by itself"),
        ({"layers": ["band"], "confidence_level": 0.9}, "90 % band, each point by itself"),
        ({"kind": "binned", "layers": ["band"]}, "95 % intervals, each by itself"),
        (
            {"kind": "binned", "band": "consistency", "layers": ["band"]},
            "95 % of calibrated bins, each by itself",
        ),
        ({"band": "isotonic", "layers": ["band"]}, "95 % band, all points at once"),
        ({"band": "belt", "layers": ["band"]}, "95 % GiViTI belt, all points at once"),
        ({"kind": "binned", "layers": ["density"]}, DENSITY),
        ({"layers": ["rug"]}, "Ticks: outcome 0 below, 1 above"),
        ({"layers": ["witness"]}, "Strip: where predictions are too low or too high"),
        ({"layers": ["split_density"]}, f"{DENSITY}: outcome 0 below, 1 above"),
        ({"layers": ["curve_color"]}, "Dark curve: many predictions"),
        ({"layers": ["curve_width"]}, "Thin curve: no more than chance"),
        ({"layers": ["curve_width"], "y_proba": P**3}, "Wide curve: many predictions"),
        (
            {"layers": ["density", "curve_width"]},
            f"{DENSITY} (thin curve: no more than chance)",
        ),
        (
            {"layers": ["density", "curve_width"], "y_proba": P**3},
            f"{DENSITY}, also as width of the curve",
        ),
    ],
)
def test_every_layer_has_words(options, words):
    assert list_words(**options) == [words]


def test_a_band_of_sharpness_is_no_confidence_band():
    assert list_words(CalibrationSharpnessDisplay) == [
        DENSITY,
        "Sharpness gap × density: no confidence band",
    ]


def test_models_share_an_entry_that_has_the_colours_of_all():
    display = ReliabilityDisplay.from_predictions(Y, {"a": P, "b": P**3}, layers=["band"])
    (areas,) = list_notes(display.ax_).values()
    colors = [to_rgba(line.get_color())[:3] for line in display.line_]
    assert [tuple(area.get_facecolor()[0, :3]) for area in areas] == colors


def test_words_of_the_user_win_and_bands_by_hand_have_no_level():
    display = ReliabilityDisplay.from_predictions(
        Y, P, layers=["band"], layer_kwargs={"band": {"label": "mine"}}
    )
    assert list_legend(display.ax_)[-1] == "mine"
    band = Band(prob_pred=[0.2, 0.8], low=[0.1, 0.7], high=[0.3, 0.9])
    curve = ReliabilityCurve(prob_pred=[0.2, 0.8], prob_true=[0.2, 0.8], layers={"band": band})
    ax = ReliabilityDisplay(curves=[curve]).plot().ax_
    assert list(list_notes(ax)) == ["Band, each point by itself"]


@pytest.mark.parametrize("names", [["a"], ["a", "b", "c"]])
def test_legends_of_small_axes_stay_inside_and_name_every_model(names):
    figure, axes = plt.subplots(3, 3, figsize=(7, 7))
    models = {name: P ** (k + 1) for k, name in enumerate(names)}
    for ax in axes[:2, 0]:
        ReliabilityDisplay.from_predictions(Y, models, ax=ax)
    figure.canvas.draw()
    for ax in axes[:2, 0]:
        legend = ax.get_legend().get_window_extent()
        place = ax.get_position(original=True).transformed(figure.transFigure)
        assert place.y0 <= legend.y0 < legend.y1 <= place.y1 + 1
        assert not list_legend(ax)[0].startswith(DENSITY)
        assert [entry.split()[0] for entry in list_legend(ax)][-len(names) :] == names
    # What the label of the x axis says besides is told by the other axis.
    assert axes[0, 0].get_xlabel() == "Predicted probability"
    assert axes[0, 0].get_ylabel() == "Fraction of positives\n(Positive label: 1)"


def test_words_on_the_sides_are_never_on_a_curve():
    """Curves pass through the usual places, or leave no room at all."""
    for shape, n_shown in (
        (lambda p: np.clip(p + 0.45, 0, 1), 2),
        (lambda p: np.clip(p - 0.45, 0, 1), 2),
        (lambda p: 0.5 + 0.5 * np.sin(80 * p), 0),
    ):
        places = np.linspace(0, 1, 400)
        curve = ReliabilityCurve(prob_pred=places, prob_true=shape(places))
        display = ReliabilityDisplay(curves=[curve]).plot()
        display.figure_.canvas.draw()
        shown = [text for text in display.side_labels_ if text.get_visible()]
        assert len(shown) == n_shown
        points = display.ax_.transData.transform(np.column_stack(display.line_.get_data()))
        for text in shown:
            box = text.get_window_extent()
            assert not any(box.contains(*point) for point in points)
            x, y = text.get_position()
            assert (y > x) == (text.get_text() == "predicted too low")
