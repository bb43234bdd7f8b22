"""Coverage against mean width of several models."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import binom

from skcal.diagrams import CoverageWidthDisplay
from tests.diagrams.artists import list_legend

rng = np.random.default_rng(0)
MEAN = rng.normal(size=200)
Y = rng.normal(MEAN)
MODELS = {
    "right": np.add.outer(MEAN, [-1.28, 1.28]),
    "narrow": np.add.outer(MEAN, [-0.5, 0.5]),
    "spread": np.column_stack([MEAN - np.exp(MEAN), MEAN + np.exp(MEAN)]),
}
DRAW = CoverageWidthDisplay.from_predictions


@pytest.mark.parametrize("weights", [None, np.arange(200) % 3])
def test_points_are_coverage_and_mean_width(weights):
    options = {"level": 0.8, "sample_weight": weights}
    display = DRAW(Y, MODELS, n_resamples=99, random_state=0, **options)
    for k, (name, ends) in enumerate(MODELS.items()):
        inside = (ends[:, 0] <= Y) & (ends[:, 1] >= Y)
        expected = [np.average(one, weights=weights) for one in (np.ptp(ends, axis=1), inside)]
        np.testing.assert_allclose(display.points_[k].get_xydata()[0], expected)
        assert display.points_[k].get_label().startswith(name)
    assert display.low < 0.8 < display.high
    assert set(display.ref_line_.get_ydata()) == {0.8}
    low, high = display.band_.get_datalim(display.ax_.transData).intervaly
    np.testing.assert_allclose((low, high), (display.low, display.high))


@pytest.mark.parametrize(("level", "confidence_level"), [(0.9, 0.95), (0.5, 0.8)])
def test_band_has_the_binomial_probability(level, confidence_level):
    """No smaller tail would do: one count less on a side, and it is too large."""
    display = DRAW(Y, MODELS, level=level, confidence_level=confidence_level)
    low, high = round(200 * display.low), round(200 * display.high)
    law, most = binom(200, level), (1 - confidence_level) / 2
    assert law.cdf(low - 1) <= most < law.cdf(low)
    assert law.sf(high) <= most < law.sf(high - 1)
    words = f"{100 * confidence_level:g} % of models that cover {100 * level:g} %, each by itself"
    assert words in list_legend(display.ax_)


def test_infinite_widths_are_arrows():
    ends = MODELS["right"].copy()
    ends[3, 0] = -np.inf
    models = {
        "one": ends,
        "all": np.tile([-np.inf, np.inf], (200, 1)),
        "far": np.full((200, 2), np.inf),
    }
    models["huge"] = np.tile([-1e308, 1e308], (200, 1))
    display = DRAW(Y, MODELS | models)
    np.testing.assert_array_equal(display.width[3:], np.inf)
    np.testing.assert_array_equal(display.coverage[4:], [1, 0, 1])
    assert {point.get_marker() for point in display.points_[3:]} == {">"}
    assert display.ax_.get_xlim()[1] > display.width[:3].max()
    display = DRAW(Y, models["all"])
    assert display.points_[0].get_marker() == ">"
    assert display.ax_.get_xlim()[0] == 0  # widths are not negative
    # A row without weight is not there.
    weights = np.where(np.arange(200) == 3, 0.0, 1.0)
    found = DRAW(Y, ends, sample_weight=weights, n_resamples=9, random_state=0).width[0]
    assert found == pytest.approx(2.56)


def test_regressors_by_name():
    models = {
        name: SimpleNamespace(predict_interval=lambda X, ends=ends: ends)
        for name, ends in MODELS.items()
    }
    display = CoverageWidthDisplay.from_estimator(models, MEAN[:, None], Y, level=0.8)
    expected = DRAW(Y, MODELS, level=0.8)
    np.testing.assert_array_equal(display.coverage, expected.coverage)
    np.testing.assert_array_equal(display.width, expected.width)
    assert display.name == list(MODELS)
    one = CoverageWidthDisplay.from_estimator(models["right"], MEAN[:, None], Y, name="mine")
    assert one.name == ["mine"]
    ask = SimpleNamespace(other=lambda X, at: MODELS[at])
    options = {"response": "other", "response_params": {"at": "narrow"}}
    found = CoverageWidthDisplay.from_estimator(ask, MEAN[:, None], Y, **options)
    assert found.name == ["SimpleNamespace"]
    assert found.width[0] == pytest.approx(1)


def test_models_on_shared_axes():
    first = DRAW(Y, MODELS["right"], name="right")
    second = DRAW(Y, MODELS["narrow"], name="narrow", ax=first.ax_)
    assert second.band_ is first.band_
    assert second.ref_line_ is first.ref_line_
    together = DRAW(Y, {name: MODELS[name] for name in ("right", "narrow")})
    assert set(list_legend(together.ax_)) == set(list_legend(first.ax_))
    assert together.ax_.get_xlim() == first.ax_.get_xlim()
    assert together.ax_.get_ylim() == first.ax_.get_ylim()
    with pytest.raises(ValueError, match="ax must be empty, or show the quantities"):
        DRAW(Y, MODELS["right"], level=0.5, ax=first.ax_)
    other = DRAW(Y[:50], MODELS["right"][:50], ax=first.ax_)
    assert other.band_ is not first.band_


def test_looks():
    looks = {"point_kwargs": {"c": "red"}, "band_kwargs": {"fc": "blue"}}
    display = DRAW(Y, MODELS, ref_line_kwargs={"ls": "-"}, despine=True, **looks)
    assert {point.get_color() for point in display.points_} == {"red"}
    np.testing.assert_array_equal(display.band_.get_facecolor()[0], [0, 0, 1, 1])
    assert display.ref_line_.get_linestyle() == "-"
    plain = CoverageWidthDisplay(coverage=np.array([0.5]), width=np.array([2.0]), level=0.9).plot(
        name="other"
    )
    assert plain.band_ is None
    assert plain.points_[0].get_label() == "other"
    _, axes = plt.subplots(2, 3, figsize=(9, 6), layout="constrained")
    small = DRAW(Y, MODELS, ax=axes[0, 1])
    assert list_legend(small.ax_) == list(MODELS)


def test_bad_input():
    for options, error, message in (
        ({"level": 1}, ValueError, "level must be"),
        ({"confidence_level": 0}, ValueError, "confidence_level must be"),
        ({"name": "x"}, ValueError, "name must be None: the keys of y_interval"),
        ({"n_resamples": 0}, ValueError, "n_resamples must be"),
        ({"point_kwargs": [{}]}, ValueError, "point_kwargs must be None, .* of 3"),
        ({"color": "k"}, TypeError, "unexpected keyword arguments: color"),
    ):
        with pytest.raises(error, match=message):
            DRAW(Y, MODELS, **options)
        assert not plt.get_fignums()
    with pytest.raises(ValueError, match="y_interval must have shape"):
        DRAW(Y, {"a": MODELS["right"][:, 0]})
    arrays = {"coverage": np.zeros(2), "width": np.zeros(3), "level": 0.9}
    with pytest.raises(ValueError, match="coverage and width must have one number"):
        CoverageWidthDisplay(**arrays).plot()
