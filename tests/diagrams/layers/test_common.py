"""What holds of every layer of the reliability diagram."""

import copy

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.model_selection import cross_validate

from skcal.diagrams import ReliabilityCurve, ReliabilityDisplay
from skcal.diagrams._layers import LAYERS, document_layers
from skcal.streaming import CalibrationSummary
from tests.diagrams.artists import assert_same_curve, read_vertices

every_layer = pytest.mark.parametrize("name", LAYERS)
draw = ReliabilityDisplay.from_predictions
# Without resamples there is no bootstrap band.
RESAMPLES = {"n_resamples": 5, "random_state": 0}


def list_artists(display, name):
    return np.atleast_1d(getattr(display, f"{name}_")).tolist()


@every_layer
@pytest.mark.parametrize("scale", ["probability", "logit"])
@pytest.mark.parametrize("kind", ["smooth", "binned"])
def test_layer_is_drawn_if_named(name, scale, kind, rows):
    options = {"kind": kind, "scale": scale, **RESAMPLES}
    display = draw(*rows, layers=[name], **options)
    display.figure_.canvas.draw()
    artists = list_artists(display, name)
    assert set(artists) == set(display.ax_.collections)
    for other in set(LAYERS) - {name}:
        assert getattr(display, f"{other}_") is None
    has_data = LAYERS[name].Data is not None
    assert list(display.curves[0].layers) == ([name] if has_data else [])
    for artist in artists:
        assert len(read_vertices(artist)) > 1
    # The display knows what it was made with.
    assert len(list_artists(display.plot(), name)) == len(artists)
    assert getattr(display.plot(layers=()), f"{name}_") is None
    styled = display.plot(layer_kwargs={name: {"zorder": 7}})
    assert {artist.get_zorder() for artist in list_artists(styled, name)} == {7}


@every_layer
def test_layer_of_several_curves(name, rows):
    curve = draw(*rows, layers=[name], **RESAMPLES).curves[0]
    bare = ReliabilityCurve(prob_pred=[0.1, 0.9], prob_true=[0.2, 0.8], pos_label=1)
    alone = ReliabilityDisplay(curves=[curve], layers=[name]).plot()
    several = ReliabilityDisplay(curves=[curve, bare, curve], layers=[name]).plot()
    n_artists = len(list_artists(alone, name))
    assert len(list_artists(several, name)) == 2 * n_artists
    panels = ReliabilityDisplay(curves=[curve, bare, curve], layers=[name], panels=True).plot()
    first, second, third = getattr(panels, f"{name}_")
    assert second is None
    for artists, ax in ((first, panels.ax_[0]), (third, panels.ax_[2])):
        assert len(np.atleast_1d(artists)) == n_artists
        assert {artist.axes for artist in np.atleast_1d(artists)} == {ax}


@every_layer
def test_layer_of_folds_and_of_a_summary(name, binary, rows):
    model, X, y = binary
    results = cross_validate(model, X, y, cv=2, return_estimator=True, return_indices=True)
    if name != "band":
        display = ReliabilityDisplay.from_cv_results(results, X, y, layers=[name])
        artists = getattr(display, f"{name}_")
        assert len(artists) == (4 if name == "split_density" else 2)
    summary = CalibrationSummary().update(*rows)
    display = ReliabilityDisplay.from_summary(summary, layers=[name], **RESAMPLES)
    display.figure_.canvas.draw()
    assert getattr(display, f"{name}_") is not None


@pytest.mark.parametrize("scale", ["probability", "logit"])
@pytest.mark.parametrize("kind", ["smooth", "isotonic", "binned"])
@pytest.mark.parametrize(
    ("y", "proba"),
    [
        ([1], [0.3]),
        ([0, 0], [0.3, 0.3]),
        ([0], [0.0]),
        ([1, 1, 1], [0.0, 1.0, 0.5]),
        ([0, 1], [0, 1]),
        ([1, 0, 1], [1e-300, 1 - 1e-16, 0.5]),
    ],
    ids=["row", "constant", "zero", "one class", "perfect", "extreme"],
)
def test_degenerate_predictions(y, proba, kind, scale):
    display = draw(y, proba, kind=kind, scale=scale, layers=LAYERS.keys(), **RESAMPLES)
    display.figure_.canvas.draw()
    (curve,) = display.curves
    assert np.isfinite(curve.prob_true).all()
    assert np.isfinite(curve.smooth_ece_interval).all()
    if kind != "smooth":
        # Of steps only the ends are kept; a single point is shown by its marker.
        expected = np.unique(proba)[[0, -1]] if kind == "isotonic" else proba
        bins = np.minimum(np.ceil(np.unique(expected) * 15), 15)
        assert len(curve.prob_pred) == len(np.unique(bins))
        assert display.line_.get_marker() == "o"
    low, high = display.ax_.get_xlim()
    assert low < high


@every_layer
def test_layer_is_documented(name):
    text = ReliabilityDisplay.__doc__
    assert f'    "{name}"\n' in text or f'\n"{name}"\n' in text
    assert "%(layers)s" not in text
    assert LAYERS[name].name == name
    assert LAYERS[name].__doc__.partition("\n")[0].endswith(".")


def test_python_without_docstrings():
    class Bare:
        __doc__ = None

    assert document_layers(Bare).__doc__ is None


# ------------------------------------------------------------------------- by hand

POINTS = {"prob_pred": [0.2, 0.8], "prob_true": [0.3, 0.7]}


@pytest.mark.parametrize("name", [name for name, layer in LAYERS.items() if layer.Data])
def test_data_by_hand(name, rows):
    computed = vars(draw(*rows, layers=[name], **RESAMPLES).curves[0].layers[name])
    fields = {key: np.asarray(value).tolist() for key, value in computed.items()}
    before = copy.deepcopy(fields)
    by_dictionary = ReliabilityCurve(**POINTS, layers={name: fields})
    by_record = ReliabilityCurve(**POINTS, layers={name: LAYERS[name].Data(**fields)})
    assert_same_curve(by_dictionary, by_record)
    assert fields == before
    first, *_ = fields
    data = by_dictionary.layers[name]
    assert repr(data) == f"{type(data).__name__}({len(fields[first])} x {first})"
    display = ReliabilityDisplay(curves=[by_dictionary]).plot()
    assert getattr(display, f"{name}_") is not None  # all that the curves hold
    with pytest.raises(AttributeError, match="cannot assign"):
        data.prob_pred = None


def test_on_curve_layers_are_not_drawn_by_default():
    curve = ReliabilityCurve(**POINTS, density=[1, 2])
    display = ReliabilityDisplay(curves=[curve]).plot()
    assert display.density_ is not None
    assert display.curve_width_ is display.curve_color_ is None


DATA = {
    "band": {"prob_pred": [0.2, 0.8], "low": [0.1, 0.5], "high": [0.4, 0.9]},
    "split_density": {"prob_pred": [0.2, 0.8], "negative": [2, 0.5], "positive": [0, 1]},
    "rug": {"prob_pred": [0.3], "prob_true": [1]},
    "witness": {"prob_pred": [0.3, 0.8], "weight": [-1, 1]},
}
BAD_DATA = {
    "long": ("band", {"low": [0.1]}, "low must be as long as prob_pred; got 1 and 2"),
    "outside": ("rug", {"prob_pred": [1.5]}, r"prob_pred must lie in \[0, 1\]; got 1\.5"),
    "huge": ("band", {"high": [0.5, 1.7e308]}, r"high must lie in \[-1e\+100, 1e\+100\]"),
    "negative": ("split_density", {"positive": [-1, 1]}, r"positive must lie in \[0, 1e\+100\]"),
    "weight": ("witness", {"weight": [0, 2]}, r"weight must lie in \[-1, 1\]; got 2"),
    "text": ("rug", {"prob_true": ["a"]}, "prob_true must hold real numbers"),
    "none": ("rug", {"prob_true": None}, "prob_true must be a one-dimensional array"),
    "kind": ("band", {"kind": "isotonik"}, "kind of a band .* Did you mean 'isotonic'"),
    "field": ("rug", {"outcomes": [1]}, "unexpected keyword argument 'outcomes'"),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data(case):
    name, changes, message = BAD_DATA[case]
    with pytest.raises(ValueError, match=rf"layers\['{name}'\]: .*{message}"):
        ReliabilityCurve(**POINTS, layers={name: DATA[name] | changes})


def test_bad_layers(rows):
    with pytest.raises(ValueError, match=r"layers must be None or a dictionary; got \['rug'\]"):
        ReliabilityCurve(**POINTS, layers=["rug"])
    with pytest.raises(ValueError, match=r"key of layers must be .* Did you mean 'rug'"):
        ReliabilityCurve(**POINTS, layers={"rugs": {}})
    with pytest.raises(ValueError, match="must be a Rug or a dictionary of its fields; got 3"):
        ReliabilityCurve(**POINTS, layers={"rug": 3})
    with pytest.raises(ValueError, match=r"Each of layers must be .* Did you mean 'witness'"):
        draw(*rows, layers=["withness"])
    display = draw(*rows)
    plt.close("all")
    with pytest.raises(ValueError, match=r"name what the curves hold, \(.*\); got 'rug'"):
        display.plot(layers=["density", "rug"])
    assert not plt.get_fignums()
