"""ReliabilityDisplay: density on the curve, split density, rug, strip of the witness."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import rgb_to_hsv, to_rgba

from skcal.diagrams import ReliabilityDisplay
from skcal.diagrams._drawing import DENSITY_HEIGHT
from skcal.metrics import smooth_calibration_error, smooth_calibration_witness


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    proba = rng.beta(2, 4, 500)
    return (rng.random(500) < proba**1.5).astype(int), proba


def _read_heights(collection, places):
    """Largest and smallest y of a filled area at the places."""
    (path,) = collection.get_paths()
    x, y = path.vertices.T
    return np.array([[y[x == place].min(), y[x == place].max()] for place in places]).T


# ------------------------------------------------------------------------- density


def test_density_of_the_outcomes_adds_up(data):
    y, proba = data
    display = ReliabilityDisplay.from_predictions(y, proba)
    # The positive part of the density is a density of the positive rows times their share.
    step = display.density_grid[1]
    total = step * (display.density_positive.sum() - display.density_positive[[0, -1]].mean())
    assert total == pytest.approx(y.mean(), abs=1e-3)
    assert (display.density_positive <= display.density + 1e-12).all()


def test_split_density(data):
    display = ReliabilityDisplay.from_predictions(*data, split_density=True)
    negative, positive = display.density_
    low, high = display.ax_.get_xlim()
    unit = DENSITY_HEIGHT * (high - low) / display.density.max()
    grid = display.density_grid[1:-1]
    base, top = _read_heights(negative, grid)
    np.testing.assert_allclose(base, low, atol=1e-12)
    expected = unit * (display.density - display.density_positive)[1:-1]
    np.testing.assert_allclose(top - base, expected, atol=1e-12)
    bottom, base = _read_heights(positive, grid)
    np.testing.assert_allclose(base, high, atol=1e-12)
    np.testing.assert_allclose(base - bottom, unit * display.density_positive[1:-1], atol=1e-12)


def test_split_density_of_a_hand_made_display():
    display = ReliabilityDisplay(prob_pred=[0, 1], prob_true=[0, 1], density=[1, 1])
    with pytest.raises(ValueError, match="split_density needs density_positive"):
        display.plot(split_density=True)
    assert not plt.get_fignums()


@pytest.mark.parametrize("kind", ["smooth", "isotonic", "binned"])
def test_width_tells_the_density(data, kind):
    display = ReliabilityDisplay.from_predictions(*data, kind=kind, curve_density="width")
    stroke = display.curve_density_
    segments, widths = np.array(stroke.get_segments()), np.array(stroke.get_linewidths())
    assert len(segments) == len(widths) >= 4
    middles = segments[:, :, 0].mean(axis=1)
    density = np.interp(middles, display.density_grid, display.density)
    ends = np.interp(segments[:, :, 0], display.density_grid, display.density).mean(axis=1)
    # Wider where the density is higher; linear in it.
    np.testing.assert_allclose(
        np.diff(np.polyfit(ends, widths, 1) @ [ends, ends**0]), np.diff(widths), atol=1e-9
    )
    if kind == "smooth":
        assert np.corrcoef(density, widths)[0, 1] > 0.999
    # The stroke lies under the line and along it.
    on_line = np.interp(segments[:, :, 0], display.prob_pred, display.prob_true)
    np.testing.assert_allclose(segments[:, :, 1], on_line, atol=1e-12)
    assert stroke.get_zorder() < display.line_.get_zorder()


def test_color_tells_the_density(data):
    display = ReliabilityDisplay.from_predictions(*data, curve_density="color")
    stroke = display.curve_density_
    segments = np.array(stroke.get_segments())
    density = np.interp(segments[:, 0, 0], display.density_grid, display.density)
    saturation = rgb_to_hsv(stroke.get_colors()[:, :3])[:, 1]
    order = np.argsort(density)
    assert np.corrcoef(density, saturation)[0, 1] > 0.9
    assert saturation[order[-1]] > saturation[order[0]]
    assert set(stroke.get_linewidths()) == {stroke.get_linewidths()[0]}


def test_no_density_on_the_curve_by_default(data):
    assert ReliabilityDisplay.from_predictions(*data).curve_density_ is None


# ------------------------------------------------------------------------- rug


def test_rug_of_few_rows_marks_every_row():
    rng = np.random.default_rng(0)
    proba, y = rng.random(100), rng.integers(0, 2, 100)
    display = ReliabilityDisplay.from_predictions(y, proba, rug=True)
    np.testing.assert_array_equal(display.rug_pred, proba)
    np.testing.assert_array_equal(display.rug_true, y)
    segments = np.array(display.rug_.get_segments())
    np.testing.assert_array_equal(segments[:, 0, 0], proba)
    low, high = display.ax_.get_xlim()
    np.testing.assert_allclose(segments[:, 0, 1], np.where(y == 1, high, low))
    # Ticks point inwards.
    assert ((segments[:, 1, 1] < segments[:, 0, 1]) == (y == 1)).all()
    present = np.arange(100) < 30
    display = ReliabilityDisplay.from_predictions(
        y, proba, rug=True, sample_weight=present.astype(float)
    )
    np.testing.assert_array_equal(display.rug_pred, proba[:30])


@pytest.mark.parametrize("weighted", [False, True])
def test_ticks_stand_for_equal_masses(data, weighted):
    y, proba = data
    weight = np.random.default_rng(1).integers(0, 5, 500) if weighted else np.ones(500)
    display = ReliabilityDisplay.from_predictions(y, proba, rug=True, sample_weight=weight)
    assert len(display.rug_pred) == len(display.rug_true) == 100
    share = np.average(y, weights=weight)
    assert display.rug_true.mean() == pytest.approx(share, abs=0.005 + 1e-12)
    for outcome in (0, 1):
        ticks = display.rug_pred[display.rug_true == outcome]
        mass = weight * (y == outcome)
        for place in np.linspace(0, 1, 33):
            below = mass[proba <= place].sum() / mass.sum()
            assert abs((ticks <= place).sum() - below * len(ticks)) <= 0.5 + 1e-9


def test_rare_and_missing_outcomes():
    proba = np.linspace(0, 0.01, 5000)
    for hits, expected in ((0, 0), (1, 1), (4999, 99), (5000, 100)):
        y = np.arange(5000) < hits
        display = ReliabilityDisplay.from_predictions(y, proba, rug=True)
        assert display.rug_true.sum() == expected
        assert len(display.rug_true) == 100


def test_rug_of_soft_labels():
    proba = np.linspace(0.1, 0.9, 50)
    display = ReliabilityDisplay.from_predictions(proba**2, proba, rug=True)
    assert display.rug_true.mean() == pytest.approx((proba**2).mean(), abs=0.005)


def test_rug_options(data):
    display = ReliabilityDisplay.from_predictions(
        *data, rug=True, rug_kwargs={"lw": 3, "color": "red"}
    )
    assert display.rug_.get_linewidth() == 3
    np.testing.assert_array_equal(display.rug_.get_color()[0, :3], to_rgba("red")[:3])
    assert display.plot(plot_rug=False).rug_ is None
    assert ReliabilityDisplay.from_predictions(*data).rug_ is None


# ------------------------------------------------------------------------- witness


@pytest.mark.parametrize("shift", [0.0, 0.002, 0.2])
def test_witness_attains_the_error_with_both_signs_if_it_can(shift):
    # Predictions that are too extreme, and too low besides.
    proba = np.linspace(0, 1, 201)
    y = np.clip(0.5 + 0.5 * (proba - 0.5) + shift, 0, 1)
    display = ReliabilityDisplay.from_predictions(y, proba, witness=True)
    expected = smooth_calibration_witness(y, proba)
    np.testing.assert_array_equal(display.witness_pred, expected.knots)
    # The maximiser but for a constant, which costs 10 % at most.
    assert np.ptp(expected.values - display.witness) < 1e-12
    error = smooth_calibration_error(y, proba)
    value = np.mean(display.witness * (y - proba))
    assert 0.9 * error - 1e-12 <= value <= error + 1e-12
    extremes = display.witness.max() + display.witness.min()
    if shift < 0.1:
        assert extremes == pytest.approx(0, abs=1e-12)
        clear = np.abs(y - proba) > 0.01
        np.testing.assert_array_equal(np.sign(display.witness[clear]), np.sign(y - proba)[clear])
    else:
        assert value == pytest.approx(0.9 * error)
        assert extremes > 0


def test_witness_of_many_rows_attains_the_error():
    rng = np.random.default_rng(0)
    proba = rng.random(40_000)
    y = rng.random(40_000) < 0.5 + 0.5 * (proba - 0.5)
    display = ReliabilityDisplay.from_predictions(y, proba, witness=True)
    assert len(display.witness) == 16385
    slopes = np.diff(display.witness) / np.diff(display.witness_pred)
    assert np.abs(slopes).max() <= 1 + 1e-6
    # A constant away from a function that attains the error but for half a cell.
    weights = np.interp(proba, display.witness_pred, display.witness)
    residual = y - proba
    lowest, highest = -1 - display.witness.min(), 1 - display.witness.max()
    value = np.mean(weights * residual)
    value += max(lowest * residual.mean(), highest * residual.mean())
    error = smooth_calibration_error(y, proba, method="exact")
    assert error - 0.5 / 16384 <= value + 1e-12
    # Its sign tells where predictions are too low.
    truth = 0.5 + 0.5 * (proba - 0.5) - proba
    clear = np.abs(truth) > 0.05
    assert np.mean(np.sign(weights[clear]) == np.sign(truth[clear])) > 0.99


def test_strip_rises_where_predictions_are_too_low():
    proba = np.linspace(0, 1, 500)
    display = ReliabilityDisplay.from_predictions(proba > 0.5, 0.25 + proba / 2, witness=True)
    _, high = display.ax_.get_xlim()
    places = display.witness_pred[1:-1]
    low, top = _read_heights(display.witness_, places)
    assert low.min() > high  # above the square
    middle = np.where(display.witness[1:-1] > 0, low, top)
    assert np.ptp(middle) < 1e-12
    lift = np.where(display.witness[1:-1] > 0, top, low) - middle
    scale = lift[np.argmax(np.abs(lift))] / display.witness[1:-1][np.argmax(np.abs(lift))]
    np.testing.assert_allclose(lift, scale * display.witness[1:-1], atol=1e-12)
    assert scale > 0
    heights = {text.get_text(): text.get_position()[1] for text in display.ax_.texts}
    assert high < heights["too high"] < middle[0] < heights["too low"]
    # The legend stands above the strip.
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.y0 >= display.witness_.get_window_extent().y1 - 1


def test_words_beside_the_strip_stand_there_once():
    y_proba = np.array([[0.2, 0.8], [0.1, 0.9], [0.4, 0.6]])
    options = {"reduction": "confidence", "witness": True, "side_labels": False}
    display = ReliabilityDisplay.from_predictions([0, 1, 1], y_proba, **options)
    ReliabilityDisplay.from_predictions([1, 1, 1], y_proba, ax=display.ax_, **options)
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts == ["under-confident", "over-confident"]
    # Beside the strip, where neither it nor the frame is.
    display.figure_.canvas.draw()
    for text in display.ax_.texts:
        assert text.get_window_extent().x1 < display.ax_.get_window_extent().x0


def test_band_of_a_curve_with_a_stroke_is_its_edges(data):
    options = {"n_resamples": 5, "random_state": 0}
    display = ReliabilityDisplay.from_predictions(*data, curve_density="width", **options)
    assert len(display.band_.get_facecolor()) == 0
    np.testing.assert_array_equal(
        display.band_.get_edgecolor()[0], to_rgba(display.line_.get_color())
    )
    assert display.band_.get_zorder() > display.curve_density_.get_zorder()


def test_strokes_fade_into_the_background(data):
    _, ax = plt.subplots(facecolor="black")
    ax.set_facecolor("black")
    display = ReliabilityDisplay.from_predictions(*data, curve_density="color", ax=ax)
    segments = np.array(display.curve_density_.get_segments())
    density = np.interp(segments[:, 0, 0], display.density_grid, display.density)
    brightness = display.curve_density_.get_colors()[:, :3].sum(axis=1)
    assert np.corrcoef(density, brightness)[0, 1] > 0.9


def test_witness_of_calibrated_predictions():
    display = ReliabilityDisplay.from_predictions([0, 1], [0.0, 1.0], witness=True)
    display.figure_.canvas.draw()
    assert display.witness_ is not None


def test_strip_options(data):
    display = ReliabilityDisplay.from_predictions(
        *data, witness=True, witness_kwargs={"facecolor": "red"}
    )
    np.testing.assert_array_equal(display.witness_.get_facecolor()[0], to_rgba("red"))
    assert display.plot(plot_witness=False).witness_ is None
    assert ReliabilityDisplay.from_predictions(*data).witness_ is None


def test_strips_of_two_displays_share_the_room(data):
    y, proba = data
    first = ReliabilityDisplay.from_predictions(y, proba, witness=True)
    second = ReliabilityDisplay.from_predictions(y, proba**1.5, ax=first.ax_)
    legend = second.ax_.get_legend().get_window_extent()
    assert legend.y0 >= first.witness_.get_window_extent().y1 - 1
    # The words of the strip are no side labels.
    assert [text.get_text() for text in second.side_labels_] == [
        "predicted too low",
        "predicted too high",
    ]
    assert max(text.get_position()[1] for text in second.side_labels_) < 1


# ------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    "half", [{"rug_pred": [0.5]}, {"witness": [0.5, 0.5]}, {"prob_true_low": [0.1, 0.2]}]
)
def test_halves_of_pairs(half):
    display = ReliabilityDisplay(prob_pred=[0, 1], prob_true=[0, 1], **half)
    with pytest.raises(ValueError, match="must be given together"):
        display.plot()
    assert not plt.get_fignums()
