"""Survival probabilities at the rows' own times, from curves on a grid."""

import numpy as np
import pandas as pd
import pytest

from skcal.survival import a_calibration, d_calibration, martingale_test, survival_at

GRID = np.array([0.5, 1.0, 1.5, 2.5, 4.0])


@pytest.mark.parametrize("power", [0.5, 0.7, 1.0, 1.4, 2.0])
@pytest.mark.parametrize("n_times", [2, 5])
def test_weibull_curves_are_exact(power, n_times):
    """Their cumulative hazard is a power of time, one from 1/2 to 2 also before the first time."""
    rng = np.random.default_rng(0)
    grid, rate = GRID[:n_times], rng.uniform(0.05, 2, size=(200, 1))
    places = np.r_[0.0, grid, rng.uniform(0, grid[-1], size=199 - n_times)]
    found = survival_at(places, np.exp(-rate * grid**power), times=grid)
    np.testing.assert_allclose(found, np.exp(-rate[:, 0] * places**power))


def test_one_time_makes_the_hazard_constant():
    found = survival_at([0, 0.5, 1, 2], np.full((4, 1), 0.25), times=[2])
    np.testing.assert_allclose(found, [1, 0.25**0.25, 0.25**0.5, 0.25])


def test_no_hazard_and_no_survivor():
    places, grid = [0.5, 1.5, 1.0, 2.5, 3.0], [1, 2, 3]
    table = np.tile([1.0, 0.64, 0.0], (5, 1))
    np.testing.assert_allclose(survival_at(places, table, times=grid), [1, 0.8, 1, 0.32, 0])
    table = np.tile([0.5, 0.5, 0.5], (5, 1))
    np.testing.assert_allclose(survival_at(places, table, times=grid)[1:], 0.5)
    for level, expected in ((0.0, [0.5, 0, 0, 0, 0]), (1.0, [1, 1, 1, 1, 1])):
        found = survival_at(places, np.full((5, 3), level), times=grid)
        np.testing.assert_array_equal(found, expected)


def test_curves_are_met_at_their_times_and_never_rise():
    rng, n = np.random.default_rng(0), 2001
    for _ in range(20):
        curve = np.sort(rng.choice([0, 1e-300, 0.2, 0.2, 0.7, 1 - 1e-16, 1, rng.random()], 5))[::-1]
        places = np.r_[np.linspace(0, 4, n - 5), GRID]
        found = survival_at(places, np.tile(curve, (n, 1)), times=GRID)
        np.testing.assert_allclose(found[-5:], curve, rtol=1e-12)
        assert (np.diff(found[np.argsort(places, kind="stable")]) <= 1e-15).all()
        assert found[0] == 1


def test_tables_with_time_0_and_single_precision():
    table = np.exp(-np.outer([0.5, 1.0, 2.0], GRID))
    expected = survival_at([0.2, 1.2, 3.0], table, times=GRID)
    frame = pd.DataFrame(table, columns=GRID)
    np.testing.assert_array_equal(survival_at([0.2, 1.2, 3.0], frame, times=GRID), expected)
    whole = np.insert(table, 0, 1.0, axis=1)
    found = survival_at([0.2, 1.2, 3.0], whole, times=np.r_[0, GRID])
    np.testing.assert_array_equal(found, expected)
    one = survival_at(1.2, table, times=GRID)
    np.testing.assert_array_equal(one, survival_at(np.full(3, 1.2), table, times=GRID))
    single = table.astype(np.float32)
    single[:, 3] = single[:, 2] * np.float32(1 + 1e-7)
    survival_at([0.2, 1.2, 3.0], single, times=GRID)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time": [1, -1]}, "^time must be finite and not negative"),
        ({"time": [1, np.inf]}, "^time must be finite and not negative; got inf at row 1"),
        ({"time": [[1, 2]]}, "^time must be one-dimensional"),
        (
            {"time": [1, 3]},
            r"^time must not be later than the last of times, 2; got 3 at row 1\. E",
        ),
        ({"times": [[1, 2]]}, "^times must be one-dimensional and not empty"),
        ({"times": [2, 1]}, "^times must be from 0 on and increasing; got .2.0, 1.0"),
        ({"times": [-1, 2]}, "^times must be from 0 on and increasing"),
        ({"times": [0], "survival": [[1], [1]]}, "^times must be from 0 on and increasing"),
        ({"times": [1, np.inf]}, "^times must be from 0 on and increasing"),
        (
            {"survival": [0.5, 0.2]},
            r"^survival must have shape \(n_samples, n_times\), a row for each of time and",
        ),
        ({"survival": [[0.5, 0.2], [0.5, 1.2]]}, r"^survival must lie in \[0, 1\]; got 1.2"),
        (
            {"survival": [[0.5, 0.2], [0.5, 0.6]]},
            "^survival must not rise .* got 0.5 and then 0.6 at",
        ),
    ],
)
def test_what_is_refused(change, message):
    arguments = {"time": [1, 2], "survival": [[0.5, 0.2], [0.7, 0.1]], "times": [1, 2]} | change
    with pytest.raises(ValueError, match=message):
        survival_at(**arguments)


@pytest.mark.parametrize("power", [0.7, 1.43])
def test_right_models_on_a_coarse_grid_are_not_rejected(power):
    """Steps are, by all tests. By chance a right one would be in less than 1e-6."""
    rng, n, grid = np.random.default_rng(0), 4000, np.arange(0.4, 4.1, 0.4)
    rate = rng.uniform(0.1, 0.6, size=n)
    time, end = rng.exponential(1 / rate) ** (1 / power), np.minimum(rng.exponential(4, size=n), 4)
    event, seen = time <= end, np.minimum(time, end)
    table = np.exp(-rate[:, None] * grid**power)
    steps = np.insert(table, 0, 1.0, axis=1)[np.arange(n), np.searchsorted(grid, seen, "right")]
    right = survival_at(seen, table, times=grid)
    for test in (martingale_test, a_calibration, d_calibration):
        options = {} if test is martingale_test else {"random_state": 0}
        assert test(event, right, **options).pvalue > 1e-6
        with pytest.warns(UserWarning, match="in continuous time read curves between the times"):
            assert test(event, steps, **options).pvalue < 1e-6


def test_entry_is_read_from_the_same_curves():
    rate, entry = np.array([0.2, 0.5, 0.9]), np.array([0.0, 0.7, 1.3])
    table = np.exp(-np.outer(rate, GRID))
    seen = np.array([0.3, 0.8, 1.4])
    found, start = (survival_at(one, table, times=GRID) for one in (seen, entry))
    expected = martingale_test([1, 0, 1], found, survival_entry=start).expected
    assert expected == pytest.approx(rate @ (seen - entry))


@pytest.mark.parametrize("test", [martingale_test, a_calibration, d_calibration])
def test_steps_of_groups_are_warned_of(test):
    """90 curve values have 500 events, of which none has 5 %."""
    event, survival = np.ones(500), np.arange(1, 501) % 90 / 100 + 0.05
    with pytest.warns(UserWarning, match="^6 of the 500 events have .* by survival_at"):
        test(event, survival)
    with pytest.raises(ValueError, match=r"got shape \(500, 2\)\. survival_at reads curves"):
        test(event, np.column_stack([survival, survival]))


def test_one_time_serves_all_rows():
    curves = [[0.9, 0.5], [0.8, 0.4]]
    expected = survival_at([2.0, 2.0], curves, times=[1, 2])
    for time in (2.0, np.float32(2), np.array(2.0)):
        np.testing.assert_array_equal(survival_at(time, curves, times=[1, 2]), expected)


def test_all_survive_at_time_0():
    with pytest.raises(ValueError, match=r"^survival must be 1 at time 0; got 0\.5 at row 0\.$"):
        survival_at([1.0], [[0.5, 0.4]], times=[0, 2])
