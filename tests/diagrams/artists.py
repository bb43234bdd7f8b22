"""What tests read off displays and their artists."""

import numpy as np

from skcal.diagrams._entries import list_notes


def read_values(line):
    """y data of a line without their mask."""
    return np.ma.getdata(line.get_ydata())


def find_shown(line):
    """Which points of a line are not masked."""
    return ~np.ma.getmaskarray(line.get_ydata())


def list_legend(ax):
    """Legend entries, each on one line, but for those that explain what stands beside curves."""
    entries = [text.get_text().replace("\n", " ") for text in ax.get_legend().get_texts()]
    return [entry for entry in entries if entry not in list_notes(ax)]


def read_vertices(collection):
    return np.concatenate([path.vertices for path in collection.get_paths()])


def read_heights(area, places):
    """Lower and upper edge of a filled area at some x of its vertices."""
    x, y = read_vertices(area).T
    return np.array([[end(y[x == place]) for place in places] for end in (np.min, np.max)])


def assert_vertices(collection, places, values):
    """Every point is a vertex of what is drawn."""
    points = np.column_stack([places, values])
    distances = np.abs(read_vertices(collection)[:, None] - points).max(axis=2).min(axis=0)
    np.testing.assert_allclose(distances, 0, atol=1e-12)


def describe_curve(curve):
    layers = {name: vars(data) for name, data in getattr(curve, "layers", {}).items()}
    return {**vars(curve), "type": type(curve), "layers": layers, "names": list(layers)}


def describe_drawing(display, layers):
    """Curves, artists and labels of a display with one curve; masks and legends included."""
    ax, lines = display.ax_, (display.line_, display.ref_line_)
    artists = [getattr(display, f"{name}_") for name in layers]
    return {
        "curves": [describe_curve(curve) for curve in display.curves],
        "points": [(line.get_xdata(), read_values(line), find_shown(line)) for line in lines],
        "looks": [(line.get_label(), line.get_color()) for line in lines],
        "layers": [None if artist is None else read_vertices(artist) for artist in artists],
        "axes": [ax.get_xlabel(), ax.get_ylabel(), ax.get_ylim(), list_legend(ax)],
    }


def assert_same_curve(one, other):
    """All that two curves hold is the same, to the last bit."""
    np.testing.assert_equal(describe_curve(one), describe_curve(other))


def assert_same_drawing(one, other, layers=("density", "band")):
    np.testing.assert_equal(describe_drawing(one, layers), describe_drawing(other, layers))
