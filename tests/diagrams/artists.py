"""What tests read off displays and their artists."""

import numpy as np


def read_values(line):
    """y data of a line without their mask."""
    return np.ma.getdata(line.get_ydata())


def find_shown(line):
    """Which points of a line are not masked."""
    return ~np.ma.getmaskarray(line.get_ydata())


def list_legend(ax):
    """Legend entries, each on one line."""
    return [text.get_text().replace("\n", " ") for text in ax.get_legend().get_texts()]


def read_vertices(collection):
    return np.concatenate([path.vertices for path in collection.get_paths()])


def read_edges(area):
    """Lower and upper edge of a filled area as functions of x, each a dictionary."""
    low, high = {}, {}
    for x, y in read_vertices(area):
        low[x], high[x] = min(low.get(x, y), y), max(high.get(x, y), y)
    return low, high


def read_heights(area, places):
    """Lower and upper edge of a filled area at some x of its vertices."""
    low, high = read_edges(area)
    return np.array([[low[x] for x in places], [high[x] for x in places]])


def assert_vertices(collection, places, values):
    """Every point is a vertex of what is drawn."""
    points = np.column_stack([places, values])
    distances = np.abs(read_vertices(collection)[:, None] - points).max(axis=2).min(axis=0)
    np.testing.assert_allclose(distances, 0, atol=1e-12)


def assert_same_curve(one, other):
    """All that two curves hold is the same, to the last bit."""
    assert type(one) is type(other)
    mine, its = dict(vars(one)), dict(vars(other))
    layers, others = mine.pop("layers", {}), its.pop("layers", {})
    for name, value in mine.items():
        np.testing.assert_array_equal(value, its[name], err_msg=name)
    assert list(layers) == list(others)
    for name, data in layers.items():
        for field, value in vars(data).items():
            np.testing.assert_array_equal(value, getattr(others[name], field), err_msg=field)


def assert_same_drawing(one, other, layers=("density", "band")):
    """Curves and artists of two displays with one curve are equal; masks and legends included."""
    for curve, expected in zip(one.curves, other.curves, strict=True):
        assert_same_curve(curve, expected)
    for line, expected in ((one.line_, other.line_), (one.ref_line_, other.ref_line_)):
        np.testing.assert_array_equal(line.get_xdata(), expected.get_xdata())
        np.testing.assert_array_equal(read_values(line), read_values(expected))
        np.testing.assert_array_equal(find_shown(line), find_shown(expected))
        assert line.get_label() == expected.get_label()
        assert line.get_color() == expected.get_color()
    for name in layers:
        artist, expected = getattr(one, f"{name}_"), getattr(other, f"{name}_")
        assert (artist is None) == (expected is None)
        if artist is not None:
            np.testing.assert_array_equal(read_vertices(artist), read_vertices(expected))
    assert one.ax_.get_xlabel() == other.ax_.get_xlabel()
    assert one.ax_.get_ylabel() == other.ax_.get_ylabel()
    assert one.ax_.get_ylim() == other.ax_.get_ylim()
    assert list_legend(one.ax_) == list_legend(other.ax_)
