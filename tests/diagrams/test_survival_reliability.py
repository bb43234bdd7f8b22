"""Reliability diagrams of predicted risks up to several horizons."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from skcal.diagrams import MeanReliabilityDisplay, SurvivalReliabilityDisplay
from skcal.survival import pseudo_values, survival_calibration

# Of rows that were drawn without a thought of how many are left.
pytestmark = pytest.mark.filterwarnings("ignore:Up to .*, each row that is left")

draw = SurvivalReliabilityDisplay.from_predictions
TIMES = [0.5, 1.0, 2.0]


def draw_rows(seed=0, n=200):
    """Events, times, and right risks at `TIMES`."""
    rng = np.random.default_rng(seed)
    rate = rng.uniform(0.2, 1, n)
    time, end = rng.exponential(1 / rate), rng.exponential(3, n)
    return time <= end, np.minimum(time, end), -np.expm1(-rate[:, None] * TIMES)


@pytest.mark.parametrize("is_clustered", [False, True])
def test_curves_are_those_of_pseudo_values(is_clustered):
    event, time, risk = draw_rows()
    strata, clusters = np.arange(200) % 2, np.arange(200) // 4 if is_clustered else None
    options = {"clusters": clusters, "confidence_level": 0.9}
    display = draw(event, time, risk, times=TIMES, strata=strata, bandwidth=0.3, **options)
    targets = pseudo_values(event, time, horizon=TIMES, strata=strata)
    for found, y, p in zip(display.curves, targets.T, risk.T, strict=True):
        one = MeanReliabilityDisplay.from_predictions(y, p, bandwidth=0.3, **options).curves[0]
        assert_allclose(found.curve.y_mean, one.y_mean)
        assert_allclose(found.curve.band[1], np.clip(one.band[1], 0, 1))
        assert_allclose(found.curve.band[2], np.clip(one.band[2], 0, 1))


@pytest.mark.parametrize("never", [False, True])
@pytest.mark.parametrize("is_clustered", [False, True])
def test_numbers_are_those_of_survival_calibration(never, is_clustered):
    event, time, risk = draw_rows()
    event = event & (not never)
    time = np.maximum(time, 2) if never else time
    clusters = np.arange(200) // 4 if is_clustered else None
    display = draw(event, time, risk, times=TIMES, clusters=clusters)
    numbers = survival_calibration(
        event, time, risk, times=TIMES, clusters=clusters, n_resamples=2
    ).horizons
    for found, one in zip(display.curves, numbers, strict=True):
        assert found.horizon == one.horizon
        assert found.expected == one.expected
        assert_allclose(found.observed, one.observed)
        assert_allclose(found.ratio, one.ratio)
    expected = display.expected_
    assert_allclose(expected.get_xdata(), [0, *TIMES])
    assert_allclose(expected.get_ydata(), np.append(0, risk.mean(axis=0)))
    drawn = display.observed_.lines[2][0].get_segments()
    assert_allclose(np.array(drawn)[:, :, 1], [one.observed[1:] for one in numbers])


def test_predicted_curve_of_all_times_and_diagrams_of_some():
    grid = np.linspace(0.1, 3, 30)
    grid[[4, 9, 19]] = np.nextafter(TIMES, 0)  # the same but for rounding
    event, time, risk = draw_rows()
    rate = -np.log1p(-risk[:, 1])
    curves = -np.expm1(-rate[:, None] * grid)
    expected = draw(event, time, risk, times=TIMES)
    for options in ({"risk": curves}, {"survival": 1 - curves}):
        display = draw(event, time, times=grid, horizons=TIMES, **options)
        for found, one in zip(display.curves, expected.curves, strict=True):
            assert found.horizon == one.horizon
            assert_allclose(found.curve.y_mean, one.curve.y_mean)
            assert_allclose(found.ratio, one.ratio)
        assert_allclose(display.expected_.get_xdata(), [0, *grid])
        assert_allclose(display.expected_.get_ydata(), np.append(0, curves.mean(axis=0)))
        assert display.expected_.get_linestyle() == "-"
    # What lies between horizons is not the model's: dots, not a line.
    assert expected.expected_.get_linestyle() == ":"
    last = draw(event, time, curves[:, :20], times=grid[:20], horizons=2)  # one diagram
    assert [found.horizon for found in last.curves] == [2]
    later = np.append(grid, 100.0), np.column_stack([curves, np.ones(len(time))])
    draw(event, time, later[1], times=later[0], horizons=TIMES)  # where no row is left
    with pytest.raises(ValueError, match=r"horizons must be among times, .*; got 0.77"):
        draw(event, time, curves, times=grid, horizons=[0.5, 0.77])
    with pytest.raises(ValueError, match="risk must have shape"):
        draw(event, time, risk, times=grid, horizons=TIMES)
    plt.close("all")


def test_one_horizon_is_one_diagram():
    event, time, risk = draw_rows()
    _, ax = plt.subplots()
    display = draw(event, time, risk[:, 1], times=TIMES[1], ax=ax)
    assert display.observed_ is display.expected_ is None
    assert list(display.axes_) == [ax]
    assert ax.get_title().startswith("Up to 1\nO/E ")


@pytest.mark.parametrize("seed", range(20))
def test_observed_risk_of_one_is_drawn(seed):
    """Sums that should be 1 may be above it by rounding, and intervals end at 1."""
    rng = np.random.default_rng(seed)
    time = rng.exponential(size=40)
    event = rng.random(40) < 0.7
    event[time.argmax()] = True
    risk = rng.uniform(0.1, 0.2, 40)[:, None] + [0, 0.3]
    found = draw(event, time, risk, times=[0.1, time.max()]).curves[1]
    assert found.observed == (pytest.approx(1), 0, 1)
    assert found.observed[0] <= 1
    assert found.ratio[1:] == (0, np.inf)
    assert np.isnan(found.curve.band[1:]).all()
    plt.close("all")


def test_nothing_expected_is_drawn():
    event, time, risk = draw_rows()
    display = draw(event, time, 0 * risk, times=TIMES)
    assert "nan (0.00 to inf)" in display.axes_[0].get_title()


def test_axes_for_all_for_the_horizons_and_for_time():
    event, time, risk = draw_rows()
    rows, options = (event, time, risk[:, :2]), {"times": TIMES[:2]}
    whole = draw(*rows, **options)
    _, axes = plt.subplots(1, 4)
    pair = draw(*rows, **options, ax=axes[:2])
    assert list(pair.axes_) == list(axes[:2])
    for one, other in zip(pair.panels_, whole.panels_, strict=True):
        assert_allclose(one.lines_[0].get_xydata(), other.lines_[0].get_xydata())
    assert pair.observed_ is pair.expected_ is None
    course = draw(*rows, **options, ax=axes[2])
    assert list(course.axes_) == [axes[2]]
    assert course.panels_ == []
    assert_allclose(course.expected_.get_xydata(), whole.expected_.get_xydata())
    another = draw(event, time, risk[:, :2] / 2, **options, ax=axes[2])
    assert another.expected_.get_color() != course.expected_.get_color()
    with pytest.raises(
        ValueError, match="ax must be an array of 3 axes, one for each panel; got 4"
    ):
        draw(*rows, **options, ax=axes)
