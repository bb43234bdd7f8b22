"""Displays as the last line of a notebook's cell."""

import matplotlib.pyplot as plt
import pytest

from skcal import diagrams
from skcal.monitoring import CalibrationMonitor
from tests.public_objects import list_functions_and_classes

Y, PROBA = [0, 1, 1, 0, 1], [0.2, 0.7, 0.6, 0.4, 0.9]
PNG = b"\x89PNG\r\n\x1a\n"


def test_every_display_shows_itself():
    for path, Display in list_functions_and_classes().items():
        if path.endswith("Display"):
            bare = Display.__new__(Display)  # never drawn
            assert repr(bare) == f"{Display.__name__}()"
            assert bare._repr_png_() is None


@pytest.mark.parametrize("part", [False, True])
def test_the_figure_is_shown_once(part):
    """By pyplot in the cell that draws it, and as a picture in later ones."""
    figure = plt.figure()
    ax = (figure.subfigures(1, 2)[0] if part else figure).subplots()
    display = diagrams.ReliabilityDisplay.from_predictions(Y, PROBA, name="A", ax=ax)
    assert repr(display) == "ReliabilityDisplay(name='A')"
    assert display._repr_png_() is None
    plt.close(figure)
    other = plt.figure()
    assert other.number == figure.number
    assert display._repr_png_().startswith(PNG)
    assert plt.get_fignums() == [other.number]


def test_displays_of_several_axes():
    monitor = CalibrationMonitor().update(Y, PROBA)
    display = diagrams.MonitorDisplay.from_monitor(monitor)
    plt.close("all")
    assert display._repr_png_().startswith(PNG)
