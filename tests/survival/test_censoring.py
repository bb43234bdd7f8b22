"""Censored outcomes: weights at a horizon, and distributions of survival probabilities."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import chi2
from scipy.stats import norm as normal
from sklearn.metrics import brier_score_loss

from skcal._numerics.survival._censoring import expect_events
from skcal.metrics import expected_calibration_error, smooth_ece
from skcal.survival import aj_calibration, at_horizon, d_calibration, martingale_test


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def follow(event, time, place):
    """Probability not to be censored before a place, by the definition of Kaplan and Meier."""
    followed = 1.0
    for t in np.unique(time[time < place]):
        at_risk = np.sum(time > t) + np.sum((time == t) & ~event)  # events at t come first
        followed *= 1 - np.sum((time == t) & ~event) / max(at_risk, 1)
    return followed


def weigh(event, time, horizon):
    weights = np.zeros(len(time))
    for i in range(len(time)):
        if event[i] and time[i] <= horizon:
            weights[i] = 1 / follow(event, time, time[i])
        elif time[i] >= horizon:
            weights[i] = 1 / follow(event, time, horizon)
    return weights


@pytest.mark.filterwarnings("ignore:Up to 4, each row that is left stands for")
def test_weights_by_their_definition(rng):
    """With ties of all kinds, also at the horizon, and in strata."""
    for _ in range(50):
        time, event = rng.integers(0, 8, 40).astype(float), rng.random(40) < 0.5
        time[:2] = 9
        found = at_horizon(event, time, horizon=4)
        np.testing.assert_allclose(found.sample_weight, weigh(event, time, 4))
        np.testing.assert_array_equal(found.y_true, event & (time <= 4))
        site = np.where(np.arange(40) % 2, "a", "b")
        strata = at_horizon(event.astype(int), pd.Series(time), horizon=4, strata=site)
        for name in "ab":
            rows = site == name
            expected = weigh(event[rows], time[rows], 4)
            np.testing.assert_allclose(strata.sample_weight[rows], expected)


def test_without_censoring_all_weights_are_one(rng):
    time = rng.exponential(size=100)
    found = at_horizon(np.ones(100), time, horizon=1)
    assert (found.sample_weight == 1).all()
    assert (at_horizon(np.ones(100), time, horizon=time.max() + 1).sample_weight == 1).all()
    risk, y = rng.random(100), (time <= 1).astype(int)
    weighted = smooth_ece(found.y_true, risk, sample_weight=found.sample_weight)
    assert weighted == smooth_ece(y, risk)
    # Follow-up that ends at the horizon loses nothing.
    seen = np.minimum(time, 1)
    assert np.array_equal(
        at_horizon(time < 1, seen, horizon=1), at_horizon(time < 1, time, horizon=1)
    )


def test_weights_make_up_for_the_censored_rows():
    """Half of the rows are censored; without them the event seems to be more frequent."""
    rng, n = np.random.default_rng(0), 100_000
    rate = rng.uniform(0.1, 1, n)
    time, end = rng.exponential(1 / rate), rng.exponential(2, n)
    event, seen = time <= end, np.minimum(time, end)
    y, weights = at_horizon(event, seen, horizon=2)
    truth = (time <= 2).mean()
    error = np.sqrt(2 / n)
    assert np.average(y, weights=weights) == pytest.approx(truth, abs=4 * error)
    assert abs(y[weights > 0].mean() - truth) > 10 * error
    risk = 1 - np.exp(-2 * rate)
    assert expected_calibration_error(y, risk, sample_weight=weights) < 0.02
    assert expected_calibration_error(y, risk, sample_weight=weights > 0) > 0.05


def test_kinds_as_r_codes_them(rng):
    """1 = censored, 2 = dead, as in the data of R's survival package, was read as two kinds."""
    dead, time = rng.integers(0, 2, 40), rng.integers(1, 8, 40).astype(float)
    dead[:2] = [0, 1]
    for event in (dead + 1, np.where(dead, 2, 3)):
        with pytest.raises(ValueError, match="event must hold 0 for censored rows; got none"):
            at_horizon(event, time, horizon=4, cause=2)
        with pytest.raises(ValueError, match="event must hold 0 for censored rows; got none"):
            aj_calibration(event, time, np.zeros((40, 1)), times=[4], cause=2)
    found = at_horizon(dead + 1, time, horizon=4, cause=2, censored=1)
    assert np.array_equal(found, at_horizon(dead, time, horizon=4))
    risk = np.tile([0.1, 0.4], (40, 1))
    found = aj_calibration(dead + 1, time, risk, times=[2, 4], cause=2, censored=1)
    np.testing.assert_array_equal(
        found.observed, aj_calibration(dead, time, risk, times=[2, 4]).observed
    )


def test_kinds_without_censored_rows(rng):
    """All had an event where that is said."""
    time, kinds = rng.exponential(size=40), np.arange(40) % 2 + 1
    y, weights = at_horizon(kinds, time, horizon=1, cause=2, censored=0)
    assert (weights == 1).all()
    np.testing.assert_array_equal(y, (time <= 1) & (kinds == 2))


def list_incidence(kinds, time, kind, places):
    """Probability of a kind of event up to each place, by the definition of Aalen and Johansen."""
    found = np.zeros(len(places))
    free = 1.0
    for t in np.unique(time):
        at_risk = np.sum(time >= t)
        found[places >= t] += free * np.sum((time == t) & (kinds == kind)) / at_risk
        free *= 1 - np.sum((time == t) & (kinds > 0)) / at_risk
    return found


def draw_kinds(rng):
    """Censored rows and three kinds of events, all with ties."""
    kinds, time = rng.integers(0, 4, 40), rng.integers(1, 8, 40).astype(float)
    kinds[:3], time[3] = [1, 2, 3], 9
    return kinds, time


def test_weighted_means_are_the_curves_of_kaplan_meier_and_aalen_johansen(rng):
    for _ in range(50):
        kinds, time = draw_kinds(rng)
        for kind in (1, 2, 3):
            y, weights = at_horizon(kinds, time, horizon=4, cause=kind)
            assert weights.sum() == pytest.approx(40)
            expected = list_incidence(kinds, time, kind, np.array([4]))
            assert np.average(y, weights=weights) == pytest.approx(expected[0], abs=1e-12)
        y, weights = at_horizon(kinds > 0, time, horizon=4)
        expected = list_incidence(kinds > 0, time, True, np.array([4]))
        assert np.average(y, weights=weights) == pytest.approx(expected[0], abs=1e-12)


def test_one_kind_of_event_is_one_event(rng):
    event, time = rng.integers(0, 2, 40), rng.exponential(size=40)
    assert np.array_equal(
        at_horizon(event, time, horizon=0.5), at_horizon(7 * event, time, horizon=0.5, cause=7)
    )


def test_events_of_another_kind_are_no_censoring():
    """The other kind comes early, to half of the rows, and its rows cannot have this one."""
    rng, n = np.random.default_rng(0), 100_000
    kinds = rng.integers(1, 3, n)
    time, end = rng.uniform(size=n) + (kinds == 1), rng.exponential(2, n)
    kinds_seen, seen = np.where(time <= end, kinds, 0), np.minimum(time, end)
    truth = ((kinds == 1) & (time <= 1.8)).mean()
    y, weights = at_horizon(kinds_seen, seen, horizon=1.8, cause=1)
    assert np.average(y, weights=weights) == pytest.approx(truth, abs=5 / np.sqrt(n))
    y, weights = at_horizon(kinds_seen == 1, seen, horizon=1.8)
    assert np.average(y, weights=weights) > truth + 0.2


def test_aj_calibration_by_its_definition(rng):
    times = np.array([0.5, 2, 4, 7])
    for _ in range(20):
        kinds, time = draw_kinds(rng)
        risk = np.sort(rng.random((40, 4)))
        for kind in (1, 2, 3):
            observed = list_incidence(kinds, time, kind, times)
            gaps = np.abs(np.append(0, risk.mean(axis=0) - observed))
            for norm in (1, 2, 3.5):
                found = aj_calibration(kinds, time, risk, times=times, cause=kind, norm=norm)
                np.testing.assert_allclose(found.observed, observed, atol=1e-12)
                np.testing.assert_allclose(found.predicted, risk.mean(axis=0))
                mean = np.trapezoid(gaps**norm, np.append(0, times)) / 7
                assert found.value == pytest.approx(mean ** (1 / norm))
            found = aj_calibration(kinds, time, risk, times=times, cause=kind, norm=np.inf)
            assert found.value == gaps.max()


def test_the_risks_that_are_seen_have_no_gap(rng):
    kinds, time = draw_kinds(rng)
    found = aj_calibration(kinds > 0, time, np.zeros((40, 3)), times=[1, 3, 9])
    risk = np.tile(found.observed, (40, 1))
    again = aj_calibration(kinds > 0, time, risk, times=[1, 3, 9])
    assert again.value == pytest.approx(0, abs=1e-15)
    # The unit of time does not matter.
    days = aj_calibration(kinds > 0, 1e3 * time, np.zeros((40, 3)), times=[1e3, 3e3, 9e3])
    assert days.value == pytest.approx(found.value)


def test_aj_calibration_finds_what_a_model_misses():
    """Twice the right hazard of one of two kinds, with half of the rows censored."""
    rng, n, times = np.random.default_rng(0), 20_000, np.linspace(0.2, 2, 10)
    rates = rng.uniform(0.1, 0.5, (2, n))
    total = rates.sum(axis=0)
    time, end = rng.exponential(1 / total), rng.exponential(2, n)
    kinds = np.where(time > end, 0, np.where(rng.random(n) < rates[0] / total, 1, 2))
    shape = 1 - np.exp(-np.outer(total, times))
    right = shape * (rates[0] / total)[:, None]
    total = total + rates[0]
    wrong = (1 - np.exp(-np.outer(total, times))) * (2 * rates[0] / total)[:, None]
    seen = np.minimum(time, end)
    assert aj_calibration(kinds, seen, right, times=times, cause=1).value < 4 / np.sqrt(n)
    found = aj_calibration(kinds, seen, wrong, times=times, cause=1)
    gap = (wrong - right).mean(axis=0)
    np.testing.assert_allclose(found.predicted - found.observed, gap, atol=4 / np.sqrt(n))


def test_survival_in_place_of_risk(rng):
    """Survival that was taken for risk had a value of its own, without a word."""
    event, time, times = rng.random(40) < 0.5, rng.exponential(size=40), np.array([0.2, 0.5, 1])
    time[0] = 2
    survival = np.exp(-np.outer(rng.uniform(0.5, 2, 40), times))
    found = aj_calibration(event, time, survival=survival, times=times)
    expected = aj_calibration(event, time, 1 - survival, times=times)
    np.testing.assert_array_equal(found.observed, expected.observed)
    np.testing.assert_allclose(found.predicted, expected.predicted, rtol=1e-12)
    assert found.value == pytest.approx(expected.value, rel=1e-12)
    with pytest.raises(ValueError, match=r"risk must be .* cannot fall.* as survival"):
        aj_calibration(event, time, survival, times=times)
    with pytest.raises(ValueError, match=r"survival must be .* cannot rise.* as risk"):
        aj_calibration(event, time, survival=1 - survival, times=times)
    # Constant curves neither rise nor fall, whatever rounding does to their means.
    for risk in (np.full((40, 3), 0.1), np.float32(0.3) + np.zeros((40, 3), np.float32)):
        found = aj_calibration(event, time, risk, times=times)
        np.testing.assert_allclose(found.predicted, risk[0, 0])


def share(event, survival, n_bins):
    """Bins of Haider et al. (2020), row by row."""
    counts = np.zeros(n_bins)
    for seen, s in zip(event, survival, strict=True):
        own = min(int(s * n_bins), n_bins - 1)
        if seen or s == 0:
            counts[own] += 1
        else:
            counts[own] += (s - own / n_bins) / s
            counts[:own] += 1 / (n_bins * s)
    return counts


def test_shares_by_their_definition(rng):
    for n_bins in (1, 2, 4, 10):
        event, survival = rng.random(200) < 0.5, rng.random(200)
        survival[:6] = [0, 0, 1, 1, 0.5, 0.5]
        event[:6] = [0, 1] * 3
        found = d_calibration(event, survival, n_bins=n_bins)
        counts = share(event, survival, n_bins)
        np.testing.assert_allclose(found.shares, counts / 200, atol=1e-12)
        assert found.shares.sum() == pytest.approx(1)
        statistic = ((counts - 200 / n_bins) ** 2 / (200 / n_bins)).sum()
        assert found.statistic == pytest.approx(statistic, abs=1e-9)
        if n_bins > 1:
            assert found.pvalue == pytest.approx(chi2.sf(statistic, n_bins - 1))


def test_the_lower_end_of_a_bin_belongs_to_it():
    for n_bins in range(2, 101):
        ends = np.arange(n_bins) / n_bins
        shares = d_calibration(np.ones(n_bins, dtype=bool), ends, n_bins=n_bins).shares
        np.testing.assert_allclose(shares, 1 / n_bins)


def spread(low, high, n_bins):
    """Shares of intervals in bins, row by row."""
    counts = np.zeros(n_bins)
    for a, b in zip(low, high, strict=True):
        for k in range(n_bins):
            overlap = min(b, (k + 1) / n_bins) - max(a, k / n_bins)
            counts[k] += max(overlap, 0) / (b - a)
    return counts


def test_shares_in_discrete_time_by_their_definition(rng):
    for n_bins in (1, 2, 4, 10):
        event, ends = rng.random(200) < 0.5, np.sort(rng.random((2, 200)), axis=0)
        event[:4], ends[:, :4] = True, [[0, 0.5, 0.1, 0.3 - 1e-9], [1, 1, 0.2, 0.3 + 1e-9]]
        found = d_calibration(event, ends[0], survival_before=ends[1], n_bins=n_bins)
        expected = spread(np.where(event, ends[0], 0), np.where(event, ends[1], ends[0]), n_bins)
        np.testing.assert_allclose(found.shares, expected / 200, atol=1e-12)


def test_two_times_as_predicted():
    """Half of the rows at each of two times, as predicted: all of [0, 1] is evenly covered."""
    event, survival = np.ones(20, dtype=int), np.r_[np.full(10, 0.5), np.zeros(10)]
    found = d_calibration(event, survival, survival_before=survival + 0.5)
    np.testing.assert_allclose(found.shares, 0.1)
    assert found.pvalue == 1
    found = martingale_test(event, survival, survival_before=survival + 0.5)
    assert found[:2] == (pytest.approx(0, abs=1e-12), pytest.approx(1))
    # Nobody sees from S(t) alone that time is discrete, but for ties.
    for test in (d_calibration, martingale_test):
        with pytest.warns(
            UserWarning, match="10 of the 20 events .* 0.5. In discrete time also give"
        ):
            test(event, survival)


def draw_steps(rng, n=300):
    """Geometric times of different rates, half of them censored, and both probabilities."""
    rate = rng.uniform(0.2, 1, n)
    time, end = np.ceil(rng.exponential(1 / rate)), np.ceil(rng.exponential(2, n))
    seen = np.minimum(time, end)
    return time <= end, np.exp(-rate * seen), np.exp(-rate * (seen - 1))


def test_level_in_discrete_time():
    """5 % of drawn places, never more of shared rows; without S(t-) all are rejected."""
    rng, n_samples, rejected = np.random.default_rng(0), 300, np.zeros(4)
    for _ in range(n_samples):
        event, survival, before = draw_steps(rng)
        both = {"survival_before": before}
        rejected += [
            test.pvalue <= 0.05
            for test in (
                d_calibration(event, survival, randomized=True, random_state=rng, **both),
                d_calibration(event, survival, **both),
                martingale_test(event, survival, **both),
                martingale_test(event, survival),
            )
        ]
    error = np.sqrt(0.05 * 0.95 / n_samples)
    drawn, shared, right, wrong = rejected / n_samples
    assert abs(drawn - 0.05) < 4 * error
    assert shared < 0.05 + 3 * error
    assert abs(right - 0.05) < 4 * error
    assert wrong > 0.9


def test_draws_are_repeated_with_their_seed(rng):
    event, survival, before = draw_steps(rng)
    data = {"event": event, "survival": survival, "survival_before": before, "randomized": True}
    one, again, other = (d_calibration(**data, random_state=k) for k in (0, 0, 1))
    np.testing.assert_array_equal(one.shares, again.shares)
    assert one.statistic != other.statistic
    assert np.allclose(300 * one.shares, np.round(300 * one.shares))


# --------------------------------------------------------------------------- events


def test_expected_events_by_their_definition(rng):
    """(O - E) / sqrt(E) with E the sum of -log S, the root of `LR` of R's survexp.fr."""
    rate, seen = rng.uniform(0.1, 1, 50), rng.exponential(size=50)
    event = rng.random(50) < 0.4
    found = martingale_test(event, np.exp(-rate * seen))
    expected = rate @ seen
    assert found.observed == event.sum()
    assert found.expected == pytest.approx(expected)
    assert found.statistic == pytest.approx((event.sum() - expected) / np.sqrt(expected))
    assert found.pvalue == pytest.approx(2 * normal.sf(abs(found.statistic)))


@pytest.mark.parametrize("ends", [(0.5, 1), (0.2, 0.7), (0, 0.4), (1e-300, 0.5), (0.999, 1)])
def test_moments_within_an_interval_by_quadrature(ends):
    low, high = np.array([ends], dtype=float).T
    moments = [
        quad(lambda u, k=k: (-np.log(u)) ** k, *ends, limit=200)[0] / (ends[1] - ends[0])
        for k in (1, 2)
    ]
    found, variance = expect_events(np.array([True]), low, high)
    assert found[0] == pytest.approx(moments[0])
    assert variance[0] == pytest.approx(moments[0] - moments[1] + moments[0] ** 2)


@pytest.mark.parametrize("survival", [0.01, 0.5, 0.75, 0.99])
def test_one_step_is_a_binomial_test(survival):
    """Residuals of two kinds of rows: their sum is c (D - n (1 - s)), c = -log(s) / (1 - s)."""
    n, scale = 100, -np.log(survival) / (1 - survival)
    for n_events in (1, 25, 50, 99):
        event = np.arange(n) < n_events
        one = np.full(n, survival)
        found = martingale_test(event, one, survival_before=np.ones(n))
        gap = scale * (n_events - n * (1 - survival))
        assert found.observed - found.expected == pytest.approx(gap, abs=1e-9)
    event = np.arange(n) < round(n * (1 - survival))
    _, variance = expect_events(event, one, np.ones(n))
    assert variance.sum() == pytest.approx(scale**2 * n * survival * (1 - survival))


def test_events_that_are_certain_or_impossible():
    assert martingale_test([1, 1], [0, 0], survival_before=[1, 1])[:2] == (0, 1)
    assert martingale_test([0, 0], [1, 1]) == (0, 1, 0, 0)
    tiny = np.finfo(float).tiny
    assert martingale_test([1, 0], [1, 1])[:2] == (np.inf, tiny)
    assert martingale_test([1, 0], [0.5, 0]) == (-np.inf, tiny, 1, np.inf)


def test_published_one_sample_logrank_test():
    """Deaths in the data on free light chains, by survdiff of R's survival, see its help page.

    It has the sum of the deaths that the population's mortality makes expect, not those of each
    row, and the other sign.
    """
    hazard = np.linspace(0.5, 1.5, 8000)
    survival = np.exp(-hazard * 2076.8776 / hazard.sum())
    found = martingale_test(np.arange(8000) < 2169, survival)
    np.testing.assert_allclose(found[:2], (2.0214, 0.0432), atol=5e-5)
    np.testing.assert_allclose(found[2:], (2169, 2076.8776))


def test_level_and_power_of_the_number_of_events():
    """With two thirds censored, and hazards that are 30 % too high or right."""
    rng, n, n_samples, rejected = np.random.default_rng(0), 500, 400, np.zeros(3)
    for _ in range(n_samples):
        rate = rng.uniform(0.05, 0.5, n)
        time, end = rng.exponential(1 / rate), rng.exponential(2, n)
        event, hazard = time <= end, rate * np.minimum(time, end)
        rejected += (
            martingale_test(event, np.exp(-hazard)).pvalue <= 0.05,
            martingale_test(event, np.exp(-1.3 * hazard)).pvalue <= 0.05,
            d_calibration(event, np.exp(-1.3 * hazard)).pvalue <= 0.05,
        )
    level, power, of_shape = rejected / n_samples
    error = 0.5 / np.sqrt(n_samples)
    assert abs(level - 0.05) < 4 * np.sqrt(0.05 * 0.95 / n_samples)
    assert power - 3 * error > 0.8
    assert of_shape + 3 * error < power - 0.2


# What SurvivalEVAL 0.9.0 gives, by d_calibration(SURVIVAL, SEEN, num_bins); its bins are counted
# from 1 downwards.
SURVIVAL = [0.03, 0.12, 0.18, 0.27, 0.35, 0.41, 0.48, 0.55, 0.63, 0.77, 0.86, 0.94, 0.22, 0.58]
SURVIVAL += [0.71, 0.99]
SEEN = [1, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1]
D_CALIBRATION = {
    4: (1.995275748107054, 0.5733878194697706),
    5: (2.112376105517221, 0.7150990288440257),
    10: (4.329159455356698, 0.8884441179096921),
}
COUNTS_OF_4 = [2.228101685548, 3.886407419371, 3.707626399921, 6.177864495159]


@pytest.mark.parametrize("n_bins", D_CALIBRATION)
def test_values_of_survival_eval(n_bins):
    found = d_calibration(SEEN, SURVIVAL, n_bins=n_bins)
    np.testing.assert_allclose(found[:2], D_CALIBRATION[n_bins], rtol=1e-12)
    if n_bins == 4:
        np.testing.assert_allclose(16 * found.shares[::-1], COUNTS_OF_4)


def test_values_of_survival_eval_at_the_ends_of_bins():
    survival, event = [0, 0, 1, 1, 0.2, 0.2, 0.4, 0.5, 0.5], [0, 1, 0, 1, 0, 1, 1, 0, 1]
    found = d_calibration(event, survival, n_bins=5)
    np.testing.assert_allclose(found[:2], (3.644444444444445, 0.4562576415906078))
    np.testing.assert_allclose(9 * found.shares[::-1], [1.2, 0.2, 2.4, 1.6, 3.6])


# By tests/test_ipcw.py of soda-inria/hazardous, which has them from scikit-survival: 1 / G of these
# rows, or of one kind of event, at four equal steps up to the last event.
WEIGHTS = [1.0579567311513456, 1.0930129482665436, 1.1861020893150818, 2.1586149135044597]


@pytest.mark.parametrize("n_kinds", [1, 3])
def test_weights_of_hazardous(n_kinds):
    rng = np.random.default_rng(0)
    kinds, time = rng.choice(4, size=100), rng.uniform(1, 1000, size=100)
    kinds = np.minimum(kinds, n_kinds)
    horizons = np.linspace(0, time[kinds > 0].max(), 5)[1:]
    found = [at_horizon(kinds, time, horizon=h, cause=1).sample_weight.max() for h in horizons]
    np.testing.assert_allclose(found, WEIGHTS, rtol=1e-14)


def test_rows_that_are_censored_at_the_horizon():
    """A Brier score of .03 by tests/test_multiple_brier.py of shi-ang/SurvivalEVAL."""
    y, weights = at_horizon([1, 0, 0], [1, 2, 3], horizon=2)
    assert brier_score_loss(y, [0.8, 0.2, 0.1], sample_weight=weights) == pytest.approx(0.03)


# By aj_calibration_per_event of SurvivalEVAL 0.9.0 with alpha=norm and min_prop_at_risk=0.
AJ_CALIBRATION = {
    (1, 1): 0.0525297619047619,
    (1, 2): 0.0034061437074829927,
    (2, 1): 0.09806547619047618,
    (2, 2): 0.012475021258503399,
}


@pytest.mark.parametrize(("kind", "norm"), AJ_CALIBRATION)
def test_aj_values_of_survival_eval(kind, norm):
    kinds, time = [1, 0, 2, 1, 0, 1, 2, 0, 1, 0], [1, 2, 2, 3, 4, 4, 5, 6, 7, 8]
    risk = [[0.05, 0.1, 0.2, 0.3]] * 5 + [[0.1, 0.2, 0.3, 0.5]] * 5
    found = aj_calibration(kinds, time, risk, times=[1, 2.5, 4, 6], cause=kind, norm=norm)
    assert found.value**norm == pytest.approx(AJ_CALIBRATION[kind, norm], rel=1e-12)


def test_level_of_the_test():
    """5 % without censoring, and never more with it."""
    rng, n_samples = np.random.default_rng(0), 1000
    rejected = np.zeros(2)
    for _ in range(n_samples):
        uniform, end = rng.random((2, 300))
        rejected += (
            d_calibration(np.ones(300), uniform).pvalue <= 0.05,
            d_calibration(uniform >= end, np.maximum(uniform, end)).pvalue <= 0.05,
        )
    error = np.sqrt(0.05 * 0.95 / n_samples)
    assert abs(rejected[0] / n_samples - 0.05) < 4 * error
    assert rejected[1] / n_samples < 0.05 + 3 * error


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time": [1, -2, 3]}, "time must be finite and not negative; got -2.0 at row 1"),
        ({"time": [1, np.nan, 3]}, "time must be finite and not negative; got nan at row 1"),
        ({"time": []}, "time must be one-dimensional and not empty"),
        ({"event": [0, 2, 1]}, "event must hold 0 and 1, or booleans; got 2 at row 1"),
        ({"event": [0, 1]}, r"event must have the shape of time, \(3,\); got shape \(2,\)"),
        (
            {"event": [1, 1, 0], "horizon": 4},
            "horizon must not be later than the last time, 3, when rows were censored; got 4",
        ),
        ({"horizon": 0}, "horizon must be above 0"),
        ({"horizon": "1"}, "horizon must be a number"),
        ({"strata": ["a", "b"]}, "strata must hold a label for each of the 3 rows; got 2"),
        (
            {"strata": ["a", "b", "b"], "horizon": 2},
            "horizon must not be later than the last time of stratum 'a', 1, when rows were",
        ),
        ({"cause": 0}, "cause must be at least 1; got 0"),
        ({"cause": "x"}, "cause must be an integer"),
        ({"event": [0, 1, 1.5], "cause": 1}, "event must hold kinds of events.*got 1.5 at row 2"),
        ({"event": [0, -1, 1], "cause": 1}, "event must hold kinds of events.*got -1 at row 1"),
        (
            {"event": [0, 1, 2], "cause": 2, "censored": 1},
            "event must hold .* and 1 for censored rows; got 0 at row 0",
        ),
        ({"cause": 1, "censored": 1}, "cause must be another kind than censored, 1; got 1"),
        ({"cause": 1, "censored": -1}, "censored must be at least 0; got -1"),
        ({"censored": 1}, "censored needs cause, the kind of the event; got 1 alone"),
    ],
)
def test_horizons_that_are_refused(change, message):
    arguments = {"event": [0, 1, 1], "time": [1, 2, 3], "horizon": 1} | change
    with pytest.raises(ValueError, match=message):
        at_horizon(**arguments)


@pytest.mark.parametrize(
    ("event", "survival", "message"),
    [
        ([0, 1], [0.5, 1.1], r"survival must lie in \[0, 1\]; got 1.1 at row 1"),
        ([0, 1], [[0.5, 0.1]], "survival must be one-dimensional"),
        ([0, 3], [0.5, 0.1], "event must hold 0 and 1"),
        ([0, 1], [0.5, 40], "survival must hold .*, neither times nor per cent; got 40"),
        ([0], [0.5, 0.1], r"event must have the shape of survival, \(2,\); got shape \(1,\)"),
    ],
)
def test_survival_that_is_refused(event, survival, message):
    for test in (d_calibration, martingale_test):
        with pytest.raises(ValueError, match=message):
            test(event, survival)


@pytest.mark.parametrize(
    ("before", "message"),
    [
        ([0.5, 1.1], r"survival_before must lie in \[0, 1\]; got 1.1 at row 1"),
        ([0.6], "survival_before must hold a number for each of the 2 rows of survival; got 1"),
        ([[0.6, 0.6]], "survival_before must be one-dimensional"),
        ([0.6, 0.3], "survival_before must not be below survival, 0.4 at row 1; got 0.3"),
    ],
)
def test_survival_before_that_is_refused(before, message):
    for test in (d_calibration, martingale_test):
        with pytest.raises(ValueError, match=message):
            test([0, 1], [0.5, 0.4], survival_before=before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"time": [1, -2, 3]}, "time must be finite and not negative; got -2.0 at row 1"),
        ({"event": [0, 1, 2]}, "event must hold 0 and 1, or booleans; got 2 at row 2"),
        ({"times": [0, 2]}, r"times must be positive and increasing; got \[0.0, 2.0\]"),
        ({"times": [2, 1]}, "times must be positive and increasing"),
        ({"times": [1, np.nan]}, "times must be positive and increasing"),
        ({"times": []}, "times must be one-dimensional and not empty"),
        ({"times": [1, 4]}, "times must not be later than the last time, 3; got 4"),
        ({"risk": [0.1, 0.2, 0.3]}, r"risk must have shape \(3, 2\).*got shape \(3,\)"),
        ({"risk": np.full((3, 2), 1.1)}, r"risk must lie in \[0, 1\]; got 1.1 at row 0"),
        ({"risk": np.full((3, 2), np.nan)}, r"risk must lie in \[0, 1\]; got nan at row 0"),
        ({"norm": 0.5}, "norm must be at least 1"),
        ({"risk": None}, "Give either risk or survival; got neither"),
        ({"survival": np.zeros((3, 2))}, "Give either risk or survival; got both"),
        ({"risk": None, "survival": np.zeros((3, 1))}, r"survival must have shape \(3, 2\)"),
        (
            {"risk": None, "survival": np.zeros((3, 2)), "cause": 1},
            "survival is for one kind of event; with cause give risk",
        ),
    ],
)
def test_risks_that_are_refused(change, message):
    arguments = {"event": [0, 1, 1], "time": [1, 2, 3], "risk": np.zeros((3, 2)), "times": [1, 2]}
    with pytest.raises(ValueError, match=message):
        aj_calibration(**arguments | change)


def test_a_kind_that_does_not_occur():
    """As in a fold without a rare kind of event: nobody had it, and its risk is 0."""
    event, time = [0, 1, 2], [3, 1, 2]
    with pytest.warns(UserWarning, match=r"No event is of the kind cause=3; .*\[0, 1, 2\]"):
        found = at_horizon(event, time, horizon=3, cause=3)
    assert found.y_true.tolist() == [0, 0, 0]
    np.testing.assert_array_equal(
        found.sample_weight, at_horizon(event, time, horizon=3, cause=2)[1]
    )
    with pytest.warns(UserWarning, match="No event is of the kind cause=3"):
        curves = aj_calibration(event, time, np.zeros((3, 1)), times=[2], cause=3)
    assert curves.observed.tolist() == [0.0]
