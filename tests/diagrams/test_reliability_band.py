"""ReliabilityDisplay: the bootstrap band and the interval of smECE."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from skcal.diagrams import ReliabilityDisplay
from skcal.inference import consistency_band, isotonic_band
from skcal.metrics import smooth_ece


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    proba = rng.random(500)
    return (rng.random(500) < proba**1.5).astype(int), proba


OPTIONS = {"n_resamples": 60, "random_state": 0}


def test_no_band_without_resamples(data):
    display = ReliabilityDisplay.from_predictions(*data)
    assert display.band_ is None
    assert display.prob_true_low is display.prob_true_high is display.smooth_ece_interval is None


def test_band_surrounds_the_curve_and_is_drawn_from_the_attributes(data):
    display = ReliabilityDisplay.from_predictions(*data, **OPTIONS)
    low, high = display.prob_true_low, display.prob_true_high
    assert low.shape == high.shape == display.prob_true.shape
    assert (low <= high).all()
    inside = slice(20, -20)
    assert (low[inside] < display.prob_true[inside]).all()
    assert (display.prob_true[inside] < high[inside]).all()
    drawn = display.band_.get_paths()[0].vertices
    supported = ~display.line_.get_ydata().mask
    for ends in (low, high):
        points = np.column_stack([display.prob_pred, ends])[supported]
        distances = np.abs(drawn[:, None] - points).max(axis=2).min(axis=0)
        np.testing.assert_allclose(distances, 0, atol=1e-12)


def test_interval_is_of_percentiles_of_resampled_rows(data):
    """Against smECE of redrawn rows: equal laws, so equal percentiles up to chance."""
    y, proba = data
    low, high = ReliabilityDisplay.from_predictions(
        y, proba, n_resamples=400, random_state=0
    ).smooth_ece_interval
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 500, (400, 500))
    errors = [smooth_ece(y[i], proba[i]) for i in rows]
    spread = np.std(errors)
    np.testing.assert_allclose([low, high], np.quantile(errors, [0.025, 0.975]), atol=0.5 * spread)


def test_interval_in_the_legend(data):
    display = ReliabilityDisplay.from_predictions(*data, **OPTIONS, name="model")
    low, high = display.smooth_ece_interval
    expected = f"model (smECE = {display.smooth_ece:.3f} [{low:.3f}, {high:.3f}])"
    assert display.line_.get_label() == expected


def test_seeds_and_levels(data):
    first = ReliabilityDisplay.from_predictions(*data, **OPTIONS)
    again = ReliabilityDisplay.from_predictions(*data, **OPTIONS)
    other = ReliabilityDisplay.from_predictions(*data, n_resamples=60, random_state=1)
    narrow = ReliabilityDisplay.from_predictions(*data, **OPTIONS, confidence_level=0.5)
    np.testing.assert_array_equal(first.prob_true_low, again.prob_true_low)
    assert first.smooth_ece_interval == again.smooth_ece_interval
    assert (first.prob_true_low != other.prob_true_low).any()
    assert (narrow.prob_true_high <= first.prob_true_high).all()
    assert (narrow.prob_true_low >= first.prob_true_low).all()


def test_constructors_agree(data):
    y, proba = data
    X = (proba**1.5)[:, None]
    model = LogisticRegression().fit(X, y)
    from_estimator = ReliabilityDisplay.from_estimator(model, X, y, **OPTIONS)
    direct = ReliabilityDisplay.from_predictions(y, model.predict_proba(X), **OPTIONS)
    names = ("prob_pred", "prob_true", "density", "prob_true_low", "prob_true_high")
    parts = {name: getattr(direct, name) for name in names}
    for name, value in parts.items():
        np.testing.assert_array_equal(getattr(from_estimator, name), value)
    by_hand = ReliabilityDisplay(
        **parts, smooth_ece=direct.smooth_ece, smooth_ece_interval=direct.smooth_ece_interval
    ).plot()
    assert by_hand.line_.get_label() in direct.line_.get_label()
    assert by_hand.plot(plot_band=False).band_ is None


def test_several_curves_have_several_bands(data):
    one = ReliabilityDisplay.from_predictions(*data, **OPTIONS)
    several = ReliabilityDisplay(
        prob_pred=[one.prob_pred] * 2,
        prob_true=[one.prob_true] * 2,
        prob_true_low=[one.prob_true_low] * 2,
        prob_true_high=[one.prob_true_high] * 2,
        smooth_ece=[one.smooth_ece] * 2,
        smooth_ece_interval=[one.smooth_ece_interval] * 2,
    ).plot(curve_kwargs=[{"color": "red"}, {"color": "blue"}])
    assert len(several.band_) == 2
    assert several.line_[0].get_label() == one.line_.get_label().partition("(")[2].rstrip(")")


def test_band_style(data):
    _, ax = plt.subplots()
    display = ReliabilityDisplay.from_predictions(
        *data, **OPTIONS, ax=ax, band_kwargs={"facecolor": "red", "alpha": 0.4}
    )
    np.testing.assert_allclose(display.band_.get_facecolor()[0], (1, 0, 0, 0.4))


@pytest.mark.parametrize(
    ("y", "proba"),
    [([1], [0.3]), ([0, 0], [0.3, 0.3]), ([1, 1, 1], [0.0, 1.0, 0.5]), ([0, 1, 1], [0, 1, 1])],
)
def test_few_rows(y, proba):
    display = ReliabilityDisplay.from_predictions(y, proba, **OPTIONS)
    assert np.isfinite(display.prob_true_low).all()
    assert np.isfinite(display.smooth_ece_interval).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_resamples": -1}, "n_resamples must be at least 0; got -1"),
        ({"n_resamples": 2.5}, "n_resamples must be an integer"),
        ({"confidence_level": 95}, "confidence_level must be at least 0 and below 1; got 95"),
        ({"confidence_level": 0}, "confidence_level must be above 0 and below 1; got 0"),
        (
            {"n_resamples": 2, "random_state": "a"},
            "random_state must be None, an integer",
        ),
    ],
)
def test_bad_options(data, options, message):
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay.from_predictions(*data, **options)


# ------------------------------------------------------------------------- exact bands


def find_vertices(collection):
    return np.concatenate([path.vertices for path in collection.get_paths()])


def assert_drawn(vertices, places, values):
    """Every point is a vertex of what is drawn."""
    points = np.column_stack([places, values])
    distances = np.abs(vertices[:, None] - points).max(axis=2).min(axis=0)
    np.testing.assert_allclose(distances, 0, atol=1e-12)


@pytest.mark.parametrize("kind", ["smooth", "isotonic", "binned"])
def test_isotonic_band_is_the_one_of_inference(data, kind):
    display = ReliabilityDisplay.from_predictions(
        *data, kind=kind, band="isotonic", confidence_level=0.9
    )
    band = isotonic_band(*data, confidence_level=0.9)
    np.testing.assert_array_equal(display.band_pred, band.prediction)
    np.testing.assert_array_equal(display.prob_true_low, band.low)
    np.testing.assert_array_equal(display.prob_true_high, band.high)
    assert display.smooth_ece_interval is None
    vertices = find_vertices(display.band_)
    for values in (display.prob_true_low, display.prob_true_high):
        assert_drawn(vertices, display.band_pred, values)


def test_isotonic_band_is_drawn_in_steps():
    """Between knots the lower end of the left one, the upper end of the right one."""
    display = ReliabilityDisplay(
        prob_pred=[0.2, 0.8],
        prob_true=[0.3, 0.6],
        band="isotonic",
        band_pred=[0.2, 0.5, 0.8],
        prob_true_low=[0.1, 0.2, 0.4],
        prob_true_high=[0.5, 0.7, 0.9],
    ).plot()
    (path,) = display.band_.get_paths()
    places = np.array([0.25, 0.45, 0.55, 0.75])
    for below, above, inside in ((0.11, 0.69, [1, 1, 0, 0]), (0.21, 0.89, [0, 0, 1, 1])):
        corners = [path.contains_points(np.c_[places, np.full(4, y)]) for y in (below, above)]
        np.testing.assert_array_equal(corners[0] & corners[1], inside)


def test_isotonic_band_of_one_prediction_is_seen():
    display = ReliabilityDisplay.from_predictions([1] * 8 + [0] * 2, [0.7] * 10, band="isotonic")
    np.testing.assert_allclose(display.prob_true_low, 0.443905, atol=5e-7)
    np.testing.assert_allclose(display.prob_true_high, 0.974789, atol=5e-7)
    ends = [*display.prob_true_low, *display.prob_true_high]
    assert_drawn(find_vertices(display.band_), [0.7, 0.7], ends)
    assert display.band_.get_edgecolor()[0, 3] > 0


def test_isotonic_band_has_a_gap_where_its_ends_cross(data):
    y, proba = data
    display = ReliabilityDisplay.from_predictions(1 - y, proba, kind="isotonic", band="isotonic")
    crossed = display.prob_true_low > display.prob_true_high
    assert crossed.sum() > 100
    vertices = find_vertices(display.band_)
    crossed_places = display.band_pred[crossed][1:-1]
    assert not np.isin(crossed_places, vertices[:, 0]).any()


def test_resamples_of_an_isotonic_band_are_for_smooth_ece_alone(data):
    exact = ReliabilityDisplay.from_predictions(*data, band="isotonic")
    both = ReliabilityDisplay.from_predictions(*data, band="isotonic", **OPTIONS)
    np.testing.assert_array_equal(exact.prob_true_low, both.prob_true_low)
    low, high = both.smooth_ece_interval
    assert low < high


def test_consistency_bars_are_those_of_inference(data):
    options = {"n_bins": 6, "strategy": "quantile", "confidence_level": 0.8}
    display = ReliabilityDisplay.from_predictions(
        *data, kind="binned", band="consistency", **options
    )
    band = consistency_band(*data, **options)
    np.testing.assert_array_equal(display.prob_pred, band.prediction)
    np.testing.assert_array_equal(display.prob_true, band.outcome)
    np.testing.assert_array_equal(display.prob_true_low, band.low)
    np.testing.assert_array_equal(display.prob_true_high, band.high)
    assert display.band_pred is None
    ends = np.stack([np.c_[band.prediction, band.low], np.c_[band.prediction, band.high]], axis=1)
    np.testing.assert_array_equal(display.band_.get_segments(), ends)
    assert display.band_.get_linewidth()[0] > display.line_.get_linewidth()
    assert display.band_.get_zorder() < display.ref_line_.get_zorder()


@pytest.mark.parametrize(("kind", "band"), [("smooth", "isotonic"), ("binned", "consistency")])
@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_constructors_agree_on_exact_bands(data, kind, band, scale):
    y, proba = data
    X = (proba**1.5)[:, None]
    model = LogisticRegression().fit(X, y)
    options = {"kind": kind, "band": band, "scale": scale}
    from_estimator = ReliabilityDisplay.from_estimator(model, X, y, **options)
    direct = ReliabilityDisplay.from_predictions(y, model.predict_proba(X), **options)
    names = ("prob_pred", "prob_true", "band_pred", "prob_true_low", "prob_true_high")
    parts = {name: getattr(direct, name) for name in names}
    by_hand = ReliabilityDisplay(**parts, **options).plot()
    for other in (from_estimator, by_hand):
        np.testing.assert_array_equal(other.prob_true_low, direct.prob_true_low)
        if scale == "probability":
            vertices = find_vertices(other.band_)
            np.testing.assert_array_equal(vertices, find_vertices(direct.band_))
        other.figure_.canvas.draw()
    assert by_hand.plot(plot_band=False).band_ is None


def test_panels_have_a_band_each():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.ones(3), 200)
    y = rng.integers(0, 3, 200)
    display = ReliabilityDisplay.from_predictions(
        y, proba, reduction="classwise", kind="binned", band="consistency"
    )
    assert len(display.band_) == 3
    for k in range(3):
        band = consistency_band(y, proba, pos_label=k)
        np.testing.assert_array_equal(display.prob_true_low[k], band.low)


def test_exact_bands_beside_a_stroke_and_with_a_style(data):
    display = ReliabilityDisplay.from_predictions(*data, band="isotonic", curve_density="width")
    assert len(display.band_.get_facecolor()) == 0
    display = ReliabilityDisplay.from_predictions(
        *data, kind="binned", band="consistency", band_kwargs={"color": "red", "lw": 3}
    )
    np.testing.assert_allclose(display.band_.get_color()[0], (1, 0, 0, 1))
    assert display.band_.get_linewidth()[0] == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"band": "isotonik"}, "band must be one of .*Did you mean 'isotonic'"),
        ({"band": "consistency"}, "band='consistency' needs kind='binned'.*got kind='smooth'"),
        ({"band": "consistency", "kind": "isotonic"}, "needs kind='binned'"),
        (
            {"band": "consistency", "kind": "binned", "strategy": "sweep"},
            "bins that do not depend on the outcomes.*got strategy='sweep'",
        ),
        ({"band": "isotonic", "reduction": "full"}, "band='isotonic' needs independent rows"),
        ({"band": "isotonic", "sample_weight": np.ones(500)}, "sample_weight must be None"),
        ({"band": "isotonic", "confidence_level": 0}, "confidence_level must be above 0"),
    ],
)
def test_bands_that_cannot_be(data, options, message):
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay.from_predictions(*data, **options)
    assert not plt.get_fignums()


def test_exact_bands_need_labels(data):
    _, proba = data
    with pytest.raises(ValueError, match="y_true must hold labels"):
        ReliabilityDisplay.from_predictions(proba**2, proba, band="isotonic")


def test_hand_made_bands_that_cannot_be():
    ends = {"prob_true_low": [0, 0.5], "prob_true_high": [0.5, 1]}
    points = {"prob_pred": [0.2, 0.8], "prob_true": [0.3, 0.7]}
    with pytest.raises(ValueError, match="needs kind='binned'"):
        ReliabilityDisplay(**points, **ends, band="consistency").plot()
    with pytest.raises(ValueError, match="band must be one of"):
        ReliabilityDisplay(**points, **ends, band=None).plot()
    with pytest.raises(ValueError, match="prob_true_low must be as long as band_pred; got 2 and 3"):
        ReliabilityDisplay(**points, **ends, band="isotonic", band_pred=[0, 0.5, 1]).plot()
    with pytest.raises(ValueError, match="prob_true_low must be as long as prob_pred"):
        ReliabilityDisplay(**points, prob_true_low=[0], prob_true_high=[1]).plot()
