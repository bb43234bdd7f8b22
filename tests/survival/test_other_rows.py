"""Censoring that is learned from other rows, such as those on which the model was fitted."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import brier_score_loss

from skcal.survival import at_horizon, pseudo_values
from tests.survival.test_pseudo_values import find_risk

# Of rows that were drawn without a thought of how many are left.
pytestmark = pytest.mark.filterwarnings("ignore:Up to .*, each row that is left")

# The probability not to be censored before t is 1 up to time 1, 4/5 up to 3, and then 8/15.
KNOWN = [0, 1, 0, 1, 1], [1.0, 2, 3, 4, 6]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def draw_kinds(rng, n):
    """Censored rows and two kinds of events, all with ties."""
    kinds, time = rng.integers(0, 3, n), rng.integers(1, 9, n).astype(float)
    kinds[:3], time[:3] = [0, 1, 2], 9
    return kinds, time


def test_weights_by_hand():
    event, time = [1, 1, 0, 1, 0, 1], [0.5, 3, 3.5, 3.5, 5, 5.5]
    y, weights = at_horizon(event, time, horizon=4.5, censoring=KNOWN)
    assert y.tolist() == [1, 1, 0, 1, 0, 0]
    expected = [1, Fraction(5, 4), 0, Fraction(15, 8), Fraction(15, 8), Fraction(15, 8)]
    np.testing.assert_allclose(weights, np.array(expected, dtype=float), rtol=1e-15)


def test_brier_score_by_the_formula_of_scikit_survival():
    """Squares over the probability not to be censored, divided by the number of rows."""
    event, time, risk = [1, 1, 0, 0], [0.5, 3.5, 3.5, 5], np.array([0.5, 0.25, 0.5, 0.5])
    y, weights = at_horizon(event, time, horizon=4.5, censoring=KNOWN)
    found = brier_score_loss(y, risk, sample_weight=weights) * weights.mean()
    parts = Fraction(1, 4) + Fraction(9, 16) / Fraction(8, 15) + Fraction(1, 4) / Fraction(8, 15)
    assert found == pytest.approx(float(parts / 4), rel=1e-14)


def test_pseudo_values_by_hand():
    """One of the four that are followed up to 2 has the event then, so that F(2.5) is 1/4.

    A row of weight w that is censored before changes nothing. One that is followed for longer
    makes it 1 / (4 + w), of which the derivative is -1/16. One with an event before has
    w / (5 + w) + 5 / (5 + w) / 4, with the derivative 3/20, and one with an event at 2
    (1 + w) / (4 + w), with 3/16.
    """
    found = pseudo_values([0, 0, 1, 1], [1.5, 2.5, 0.5, 2], horizon=2.5, censoring=KNOWN)
    np.testing.assert_allclose(found, 1 / 4 + 5 * np.array([0, -1 / 16, 3 / 20, 3 / 16]))


def test_the_rows_themselves_change_nothing(rng):
    """With ties, kinds, strata, and a horizon after the last event."""
    for _ in range(20):
        kinds, time = draw_kinds(rng, 40)
        site = np.where(np.arange(40) % 2, "a", "b")
        time[3], kinds[3:5], time[4] = 10, 1, 10
        kinds[time == 10] = 1
        one = {"event": kinds, "time": time, "cause": 1}
        for horizon in (3, 4.5, 9, 11):
            own, same = (
                [f(**one, horizon=horizon, **more) for f in (pseudo_values, at_horizon)]
                for more in ({}, {"censoring": (kinds, time)})
            )
            np.testing.assert_allclose(same[0], own[0], atol=1e-12)
            np.testing.assert_array_equal(same[1], own[1])
        own, same = (
            [f(**one, strata=site, horizon=4, **more) for f in (pseudo_values, at_horizon)]
            for more in ({}, {"censoring": (kinds, time, site)})
        )
        np.testing.assert_allclose(same[0], own[0], atol=1e-12)
        np.testing.assert_array_equal(same[1], own[1])


def test_derivatives_of_the_estimate_of_the_other_rows(rng):
    """F + n dF/dw of a row that is added with weight 0, by a complex step."""
    step = 1e-20
    for _ in range(5):
        others, known = draw_kinds(rng, 30)
        kinds, time = draw_kinds(rng, 12)
        time += 0.5 * (np.arange(12) % 2)  # at times of the others, and between them
        time[::2] = np.minimum(time[::2], 8)
        time[1::2] = np.minimum(time[1::2], 8.5)
        time[0] = 9
        horizons, everybody = [0.5, 2, 2.5, 7, 9], np.append(others, 0)
        found = pseudo_values(kinds, time, horizon=horizons, cause=1, censoring=(others, known))
        for i in range(12):
            everybody[-1], times = kinds[i], np.append(known, time[i])
            weights = np.append(np.ones(30), 1j * step)
            risks = [find_risk(everybody, times, 1, h, weights) for h in horizons]
            expected = np.real(risks) + 30 * np.imag(risks) / step
            np.testing.assert_allclose(found[i], expected, atol=1e-11)


def test_a_row_depends_on_no_other_of_its_sample(rng):
    others, (kinds, time) = draw_kinds(rng, 50), draw_kinds(rng, 30)
    options = {"horizon": 5, "cause": 2, "censoring": others}
    values = pseudo_values(kinds, time, **options)
    weights = at_horizon(kinds, time, **options).sample_weight
    rows = rng.permutation(30)[:11]
    rows[0] = 2  # one is followed up to the horizon
    some = kinds[rows], time[rows]
    options["censored"] = 0
    np.testing.assert_allclose(pseudo_values(*some, **options), values[rows], atol=1e-12)
    np.testing.assert_array_equal(at_horizon(*some, **options).sample_weight, weights[rows])


@pytest.mark.parametrize("factor", [0.5, 1, 2])
def test_means_are_risks_whatever_those_of_the_others_are(factor):
    """They are censored alike, and have another hazard; a mean is off by 5 standard errors."""
    rng, n = np.random.default_rng(0), 20_000

    def draw(rate):
        time, end = rng.exponential(1 / rate), rng.exponential(2, len(rate))
        return time <= end, np.minimum(time, end)

    others = draw(np.full(4 * n, 0.5 * factor))
    rate = rng.uniform(0.2, 1, n)
    event, time = draw(rate)
    y = pseudo_values(event, time, horizon=1.5, censoring=others)
    residuals = y - (1 - np.exp(-1.5 * rate))
    # What is estimated of the others adds at most as much as this.
    error = 1.25 * residuals.std() / np.sqrt(n / 2)
    for rows in (rate < 0.6, rate >= 0.6):
        assert abs(residuals[rows].mean()) < 5 * error
    y, weights = at_horizon(event, time, horizon=1.5, censoring=others)
    assert abs(weights.mean() - 1) < 5 * weights.std() / np.sqrt(n) * 1.25
    values = weights * (y - (1 - np.exp(-1.5 * rate)))
    assert abs(values.mean()) < 5 * 1.25 * values.std() / np.sqrt(n)


def test_forms_of_other_rows(rng):
    others, known = draw_kinds(rng, 30)
    dead = others > 0
    fields = np.array(list(zip(dead, known, strict=True)), dtype=[("cens", bool), ("time", float)])
    table = np.column_stack([dead, known])
    event, time = [1, 0, 1, 0], [1, 2, 4, 5]
    found = [
        pseudo_values(event, time, horizon=3, censoring=rows)
        for rows in ((dead, known), fields, table, pd.DataFrame(table))
    ]
    for one in found[1:]:
        np.testing.assert_array_equal(one, found[0])
    codes = 1 + np.array(event), 1 + dead
    found_2 = pseudo_values(
        codes[0], time, horizon=3, cause=2, censored=1, censoring=(codes[1], known)
    )
    np.testing.assert_array_equal(found_2, found[0])


def test_strata_are_learned_from_their_own(rng):
    (others, known), (kinds, time) = draw_kinds(rng, 60), draw_kinds(rng, 30)
    site, own = np.arange(60) % 3, np.arange(30) % 2  # nobody of the third is weighted
    found = [
        f(kinds, time, horizon=4, cause=1, strata=own, censoring=(others, known, site))
        for f in (pseudo_values, lambda *a, **b: at_horizon(*a, **b).sample_weight)
    ]
    for k in (0, 1):
        rows, part = own == k, site == k
        options = {"horizon": 4, "cause": 1, "censoring": (others[part], known[part])}
        one = pseudo_values(kinds[rows], time[rows], **options)
        np.testing.assert_allclose(found[0][rows], one, atol=1e-12)
        one = at_horizon(kinds[rows], time[rows], **options).sample_weight
        np.testing.assert_array_equal(found[1][rows], one)


@pytest.mark.parametrize("function", [at_horizon, pseudo_values])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"horizon": 7},
            "^horizon must not be later than the last time in censoring, 6, beyond which nothing "
            "is known of it; got 7",
        ),
        # Nobody of the rows is followed for as long, which the other rows cannot help.
        ({"time": [1, 2, 3], "horizon": 5}, "^horizon must not be later than the last time, 3"),
        ({"censoring": ([0, 2], [1, 2])}, "^censoring: event must hold 0 and 1.*got 2 at row 1"),
        ({"censoring": ([0, 1], [1, -2])}, "^censoring: time must be finite.*got -2.0 at row 1"),
        ({"censoring": ([0, 1], [1, 2, 3])}, "^censoring: event must have the shape of time"),
        ({"censoring": ([0, 1],)}, "^censoring: must be .event, time.* got 1 part"),
        ({"censoring": [[0, 1, 1], [1, 2, 3]]}, "^censoring: the array must have two columns"),
        ({"censoring": 5.0}, "^censoring: the array must have two columns"),
        ({"strata": [0, 0, 1]}, "^censoring must be .event, time, strata. with strata"),
        ({"censoring": (*KNOWN, [0] * 5)}, "^censoring must be .event, time. without strata"),
        (
            {"strata": list("abb"), "censoring": (*KNOWN, list("accca"))},
            "^strata must all have rows in censoring; got 'b'",
        ),
        (
            {"strata": list("abb"), "censoring": (*KNOWN, list("ab"))},
            "^censoring: strata must hold a label for each of the 5 rows; got 2",
        ),
    ],
)
def test_what_is_refused(function, change, message):
    arguments = {"event": [1, 1, 0], "time": [1, 2, 8], "horizon": 2, "censoring": KNOWN}
    with pytest.raises(ValueError, match=message):
        function(**arguments | change)


def test_other_rows_have_no_weights():
    with pytest.raises(ValueError, match="sample_weight must be None with censoring"):
        pseudo_values([1, 0], [1, 3], horizon=2, censoring=KNOWN, sample_weight=[1, 2])
    weights = at_horizon([1, 0], [2, 3], horizon=2, censoring=KNOWN, sample_weight=[1, 2])[1]
    np.testing.assert_allclose(weights, [5 / 4, 2 * 5 / 4])


def test_times_after_all_others_are_not_needed():
    """Up to the horizon each row is followed no longer than the others are."""
    found = at_horizon([1, 0, 1], [5, 9, 6], horizon=6, censoring=KNOWN)
    np.testing.assert_allclose(found.sample_weight, 15 / 8)
    found = at_horizon([1, 1], [1, 2], horizon=9, censoring=KNOWN)  # nobody is left
    np.testing.assert_allclose(found.sample_weight, [1, 5 / 4])


@pytest.mark.filterwarnings("default:Up to .*, each row that is left")
def test_few_of_the_others_are_left():
    """Of ten other rows one is left at the horizon, which decides of thousands."""
    others = np.zeros(10), np.arange(1.0, 11)
    event, time = np.arange(2000) % 2, np.full(2000, 9.5)
    for function in (at_horizon, pseudo_values):
        with pytest.warns(UserWarning, match="each row that is left stands for 50% of all rows"):
            function(event, time, horizon=9, censoring=others)
