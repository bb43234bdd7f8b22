"""What holds of every layer of the reliability diagram."""

import copy
from dataclasses import fields, replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from skcal.diagrams import ReliabilityCurve, ReliabilityDisplay
from skcal.diagrams._layers import LAYERS, document_layers
from skcal.streaming import CalibrationSummary
from tests.cases import slow_among
from tests.diagrams.artists import assert_same_curve, read_vertices

every_layer = pytest.mark.parametrize("name", LAYERS)
# One that has two artists, and one that only smooth curves have; the others are slow tests.
few_layers = pytest.mark.parametrize(
    "name", slow_among(LAYERS, *(LAYERS.keys() - {"split_density", "curve_width"}))
)
draw = ReliabilityDisplay.from_predictions
INTERVAL = {"interval": True, "random_state": 0}
# Layers that only smooth curves have.
ON_CURVE = ("curve_width", "curve_color")
POINTS = {"prob_pred": [0.2, 0.8], "prob_true": [0.3, 0.7]}


def list_artists(display, name):
    return np.atleast_1d(getattr(display, f"{name}_")).tolist()


@every_layer
@pytest.mark.parametrize(
    ("kind", "scale"),
    [
        ("smooth", "logit"),
        *(
            pytest.param(*pair, marks=pytest.mark.slow)
            for pair in (("smooth", "probability"), ("binned", "probability"), ("binned", "logit"))
        ),
    ],
)
def test_layer_is_drawn_if_named(name, kind, scale, rows):
    if name in ON_CURVE and kind == "binned":
        assert getattr(draw(*rows, layers=[name], kind=kind), f"{name}_") is None
        return
    display = draw(*rows, layers=[name], kind=kind, scale=scale)
    display.figure_.canvas.draw()
    artists = list_artists(display, name)
    assert set(artists) == set(display.ax_.collections)
    assert all(getattr(display, f"{other}_") is None for other in set(LAYERS) - {name})
    has_data = LAYERS[name].Data is not None
    assert list(display.curves[0].layers) == ([name] if has_data else [])
    assert all(len(read_vertices(artist)) > 1 for artist in artists)
    # The display knows what it was made with.
    assert len(list_artists(display.plot(), name)) == len(artists)
    assert getattr(display.plot(layers=()), f"{name}_") is None
    styled = display.plot(layer_kwargs={name: {"zorder": 7}})
    assert {artist.get_zorder() for artist in list_artists(styled, name)} == {7}


@few_layers
def test_layer_of_several_curves(name, rows):
    curve = draw(*rows, layers=[name]).curves[0]
    curves = [curve, ReliabilityCurve(**POINTS, pos_label=1), curve]
    alone = ReliabilityDisplay(curves=[curve], layers=[name]).plot()
    several = ReliabilityDisplay(curves=curves, layers=[name]).plot()
    n_artists = len(list_artists(alone, name))
    assert len(list_artists(several, name)) == 2 * n_artists
    panels = ReliabilityDisplay(curves=curves, layers=[name], panels=True).plot()
    first, second, third = getattr(panels, f"{name}_")
    assert second is None
    for artists, ax in ((first, panels.ax_[0]), (third, panels.ax_[2])):
        assert [artist.axes for artist in np.atleast_1d(artists)] == [ax] * n_artists


@few_layers
def test_layer_of_folds_and_of_a_summary(name, binary, rows):
    model, X, y = binary
    results = {"estimator": [model] * 2, "indices": {"test": np.split(np.arange(150), 2)}}
    display = ReliabilityDisplay.from_cv_results(results, X, y, layers=[name])
    assert len(list_artists(display, name)) == (4 if name == "split_density" else 2)
    summary = CalibrationSummary().update(*rows)
    display = ReliabilityDisplay.from_summary(summary, layers=[name])
    display.figure_.canvas.draw()
    assert getattr(display, f"{name}_") is not None


@pytest.mark.parametrize(
    ("kind", "scale"),
    [
        ("isotonic", "probability"),
        ("binned", "logit"),
        *(
            pytest.param(*pair, marks=pytest.mark.slow)
            for pair in (
                ("smooth", "logit"),
                ("smooth", "probability"),
                ("isotonic", "logit"),
                ("binned", "probability"),
            )
        ),
    ],
)
@pytest.mark.parametrize(
    ("y", "proba", "n_steps"),
    [
        pytest.param([0, 0], [0.3, 0.3], 1, marks=pytest.mark.slow),
        ([0], [0.0], 1),
        ([1, 1, 1], [0.0, 1.0, 0.5], 2),
        ([1, 0, 1], [1e-300, 1 - 1e-16, 0.5], 2),
    ],
)
def test_degenerate_predictions(y, proba, n_steps, kind, scale):
    display = draw(y, proba, kind=kind, scale=scale, layers=LAYERS.keys(), **INTERVAL)
    display.figure_.canvas.draw()
    (curve,) = display.curves
    assert np.isfinite(curve.prob_true).all()
    assert np.isfinite(curve.smooth_ece_interval).all()
    if kind != "smooth":
        # Of steps only the ends are kept; a single point is shown by its marker.
        assert len(curve.prob_pred) == (n_steps if kind == "isotonic" else len(set(proba)))
        assert display.line_.get_marker() == "o"
    low, high = display.ax_.get_xlim()
    assert low < high


@every_layer
def test_layer_is_documented(name):
    text = ReliabilityDisplay.__doc__
    assert f'    "{name}"\n' in text or f'\n"{name}"\n' in text
    assert "%(layers)s" not in text
    assert LAYERS[name].name == name
    bare = type("WithoutDocstring", (), {"__doc__": None})  # as python -OO has it
    assert document_layers(bare).__doc__ is None


@pytest.mark.parametrize("name", [name for name, layer in LAYERS.items() if layer.Data])
def test_data_by_hand(name, rows):
    computed = vars(draw(*rows, layers=[name]).curves[0].layers[name])
    plain = {key: np.asarray(value).tolist() for key, value in computed.items()}
    before = copy.deepcopy(plain)
    by_dictionary = ReliabilityCurve(**POINTS, layers={name: plain})
    by_record = ReliabilityCurve(**POINTS, layers={name: LAYERS[name].Data(**plain)})
    assert_same_curve(by_dictionary, by_record)
    assert plain == before
    data = by_dictionary.layers[name]
    assert repr(data) == f"{type(data).__name__}({len(data.prob_pred)} x prob_pred)"
    # All that the curve holds is drawn, but for another look of what is drawn already.
    curve = replace(by_dictionary, density=[1, 2])
    display = ReliabilityDisplay(curves=[curve]).plot()
    drawn = {other for other in LAYERS if getattr(display, f"{other}_") is not None}
    assert drawn == {name, "density", "curve_width"}
    with pytest.raises(AttributeError, match="cannot assign"):
        data.prob_pred = None


def test_bad_data():
    for name, changes, message in (
        ("band", {"low": [0.1]}, "low must be as long as prob_pred; got 1 and 2"),
        ("band", {"high": [0.5, 1.7e308]}, r"high must lie in \[-1e\+100, 1e\+100\]"),
        ("band", {"kind": "isotonik"}, "kind of a band .* Did you mean 'isotonic'"),
        ("split_density", {"positive": [-1, 1]}, r"positive must lie in \[0, 1e\+100\]"),
        ("witness", {"weight": [0, 2]}, r"weight must lie in \[-1, 1\]; got 2"),
        ("rug", {"prob_pred": [1.5]}, r"prob_pred must lie in \[0, 1\]; got 1\.5"),
        ("rug", {"prob_true": None}, "prob_true must be a one-dimensional array"),
        ("rug", {"outcomes": [1]}, "unexpected keyword argument 'outcomes'"),
    ):
        names = [field.name for field in fields(LAYERS[name].Data) if field.name != "kind"]
        with pytest.raises(ValueError, match=rf"layers\['{name}'\]: .*{message}"):
            ReliabilityCurve(**POINTS, layers={name: {key: [0.2, 0.8] for key in names} | changes})


def test_bad_layers(rows):
    for layers, message in (
        (["rug"], r"layers must be None or a dictionary; got \['rug'\]"),
        ({"rugs": {}}, r"key of layers must be .* Did you mean 'rug'"),
        ({"rug": 3}, "must be a Rug or a dictionary of its fields; got 3"),
    ):
        with pytest.raises(ValueError, match=message):
            ReliabilityCurve(**POINTS, layers=layers)
    with pytest.raises(ValueError, match=r"Each of layers must be .* Did you mean 'witness'"):
        draw(*rows, layers=["withness"])
    display = draw(*rows)
    plt.close("all")
    with pytest.raises(ValueError, match=r"name what the curves hold, \(.*\); got 'rug'"):
        display.plot(layers=["density", "rug"])
    assert not plt.get_fignums()
