"""The p-value of AJ-calibration: how far mean risks and curves are apart by chance."""

import numpy as np
import pytest
from scipy.stats import norm as normal

from skcal.survival import aj_calibration, pseudo_values

TIMES = np.array([0.25, 0.5, 1, 1.5, 2])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def draw(rng, n=300, rate=0.5):
    """Hazards, events and times, some followed up to the last of the times."""
    while True:
        hazard = rng.uniform(0.1, 0.5, n)
        time, end = rng.exponential(1 / hazard), rng.exponential(1 / rate, n)
        seen = np.minimum(time, end)
        if seen.max() >= TIMES[-1]:
            return hazard, time <= end, seen


def predict(hazard, factor=1.0):
    return 1 - np.exp(-factor * np.outer(hazard, TIMES))


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_one_time_without_censoring_is_a_test_of_a_mean(rng, norm):
    """Residuals are outcomes minus risks, and the value grows with the size of their mean."""
    time, risk = rng.exponential(size=200), rng.uniform(0.3, 0.7, 200)
    gap = (time <= 0.7) - risk
    expected = 2 * normal.sf(abs(gap.mean()) / (gap.std(ddof=1) / np.sqrt(200)))
    assert 0.02 < expected < 0.98
    settings = {"norm": norm, "n_resamples": 9999, "random_state": 0}
    found = aj_calibration(np.ones(200), time, risk[:, None], times=[0.7], **settings)
    assert found.pvalue == pytest.approx(expected, abs=4 * 0.5 / np.sqrt(9999))
    # Another time with the same outcomes and risks adds nothing.
    time = np.where(time <= 0.7, 0.1, 2)
    found = aj_calibration(np.ones(200), time, risk[:, None][:, [0, 0]], times=[0.7, 1], **settings)
    assert found.pvalue == pytest.approx(expected, abs=4 * 0.5 / np.sqrt(9999))


def test_the_largest_gap_with_censoring_by_the_covariance_of_pseudo_values(rng):
    hazard, event, seen = draw(rng)
    gaps = pseudo_values(event, seen, horizon=TIMES) - predict(hazard, 1.1)
    found = aj_calibration(
        event,
        seen,
        predict(hazard, 1.1),
        times=TIMES,
        norm=np.inf,
        random_state=0,
        n_resamples=9999,
    )
    assert found.value == pytest.approx(np.abs(gaps.mean(axis=0)).max())
    drawn = rng.multivariate_normal(np.zeros(5), np.cov(gaps.T) / 300, 20_000)
    expected = np.mean(np.abs(drawn).max(axis=1) >= found.value)
    assert 0.01 < expected < 0.99
    assert found.pvalue == pytest.approx(expected, abs=4 * np.sqrt(0.25 / 9999 + 0.25 / 20_000))


def test_copies_of_rows_are_clusters(rng):
    hazard, event, seen = draw(rng, 60)
    risk = predict(hazard, 1.2)
    settings = {"times": TIMES, "random_state": 0}
    found = aj_calibration(event, seen, risk, **settings)
    rows = rng.permutation(np.tile(np.arange(60), 3))
    names = np.array([f"patient {k}" for k in range(60)])
    copies = aj_calibration(event[rows], seen[rows], risk[rows], **settings, clusters=names[rows])
    assert copies.pvalue == found.pvalue
    assert copies.value == pytest.approx(found.value)
    assert aj_calibration(event[rows], seen[rows], risk[rows], **settings).pvalue < found.pvalue


def test_neither_order_nor_unit_matter_and_seeds_repeat(rng):
    hazard, event, seen = draw(rng)
    risk = predict(hazard, 1.2)
    found = aj_calibration(event, seen, risk, times=TIMES, random_state=1)
    order = rng.permutation(300)
    shuffled = aj_calibration(event[order], seen[order], risk[order], times=TIMES, random_state=1)
    days = aj_calibration(event, 365 * seen, risk, times=365 * TIMES, random_state=1)
    survival = aj_calibration(event, seen, survival=1 - risk, times=TIMES, random_state=1)
    assert found.pvalue == shuffled.pvalue == days.pvalue == survival.pvalue
    other = {
        aj_calibration(event, seen, risk, times=TIMES, random_state=k).pvalue for k in range(5)
    }
    assert len(other) > 1


def test_kinds_of_events(rng):
    """Twice the right hazard of one of two kinds, and the right one."""
    rates = rng.uniform(0.1, 0.5, (2, 2000))
    total = rates.sum(axis=0)
    time, end = rng.exponential(1 / total), rng.exponential(2, 2000)
    kinds = np.where(time > end, 0, np.where(rng.random(2000) < rates[0] / total, 1, 2))
    pvalues = []
    for factor in (1, 2):
        whole = factor * rates[0] + rates[1]
        risk = (1 - np.exp(-np.outer(whole, TIMES))) * (factor * rates[0] / whole)[:, None]
        found = aj_calibration(
            kinds, np.minimum(time, end), risk, times=TIMES, cause=1, random_state=0
        )
        pvalues.append(found.pvalue)
    assert pvalues[0] > 0.01
    assert pvalues[1] == 0.001


def test_where_all_outcomes_are_alike():
    """The probability that no row has the event, or that all have it, tells of one kind of it."""
    risk = np.linspace(0.1, 0.3, 20)[:, None]
    rising = np.hstack([risk / 2, risk])
    left_early = np.r_[1, np.full(19, 3)]
    for event, seen, risks, times, expected in (
        (np.zeros(20), left_early, risk, [2], 2 * np.prod(1 - risk[1:])),
        (np.zeros(20), left_early, rising, [0.5, 2], 2 * np.prod(1 - risk[1:])),
        (np.ones(20), np.full(20, 3), risk, [2], 2 * np.prod(1 - risk)),
        (np.ones(20), np.r_[np.full(19, 1), 2], rising, [1, 2], None),
        (np.ones(20), np.full(20, 2), risk, [2], 2 * np.prod(risk)),
    ):
        found = aj_calibration(event, seen, risks, times=times, random_state=0).pvalue
        if expected is None:
            assert found == pytest.approx(0.001)  # one row varies
        else:
            assert found == pytest.approx(expected, rel=1e-9)


def test_no_event_up_to_one_time_and_all_by_another():
    """Twice the smaller p-value of the two times; where rows leave, the first one tells."""
    event, seen, times = np.ones(20), np.full(20, 3), [1, 2, 3]
    risk = np.tile([0.01, 0.02, 0.97], (20, 1))
    assert aj_calibration(event, seen, risk, times=times).pvalue == 1
    wrong = np.tile([0.01, 0.3, 0.97], (20, 1))
    found = aj_calibration(event, seen, wrong, times=times).pvalue
    assert found == pytest.approx(4 * 0.7**20)
    wrong[:, 2] = 0.5
    found = aj_calibration(event, seen, wrong, times=times).pvalue
    assert found == pytest.approx(4 * 0.5**20)
    event[0], seen[0] = 0, 2.5
    found = aj_calibration(event, seen, wrong, times=times).pvalue
    assert found == pytest.approx(2 * 0.7**20)


def test_where_nothing_tells_of_alike_outcomes():
    """With clusters, several kinds of events, or a curve that reaches 1 after censored rows."""
    risk = np.full((20, 1), 0.4)
    seen, none = np.full(20, 3), np.zeros(20)
    members = np.repeat(np.arange(10), 2)
    unequal = risk + 0.1 * (np.arange(20) % 2)[:, None]
    assert aj_calibration(none, seen, unequal, times=[2], clusters=members).pvalue == 1
    copies = aj_calibration(none, seen, risk, times=[2], clusters=members)
    assert copies.pvalue == pytest.approx(2 * 0.6**10)
    with pytest.warns(UserWarning, match="No event is of the kind"):
        assert aj_calibration(none, seen, risk, times=[2], cause=1).pvalue == 1
    assert aj_calibration(none, seen, risk, times=[2]).pvalue < 1e-3
    last = np.r_[np.zeros(19), 1], np.r_[np.full(19, 1), 2]
    with pytest.warns(UserWarning, match="each row that is left stands for 100% of all rows"):
        assert aj_calibration(*last, risk, times=[2]).pvalue == 1
    assert aj_calibration([1], [2], [[0.5]], times=[2]).pvalue == 1
    # One event of twenty is known to be one.
    assert aj_calibration(np.ones(20), np.r_[1, np.full(19, 3)], risk, times=[2]).pvalue < 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_resamples": 0}, "n_resamples must be at least 1"),
        ({"clusters": ["a", "b"]}, "clusters must hold one label for each of the 3 rows; got 2"),
        ({"clusters": ["a", "a", "a"]}, "clusters must hold at least two clusters"),
        ({"random_state": "x"}, "random_state"),
    ],
)
def test_what_is_refused(change, message):
    arguments = {"event": [0, 1, 1], "time": [1, 2, 3], "risk": np.zeros((3, 2)), "times": [1, 2]}
    with pytest.raises(ValueError, match=message):
        aj_calibration(**arguments | change)


def test_few_clusters_are_warned_of():
    with pytest.warns(UserWarning, match="clusters holds 2 clusters"):
        aj_calibration([0, 1, 1], [1, 2, 3], np.zeros((3, 1)), times=[2], clusters=[0, 0, 1])


@pytest.mark.slow
@pytest.mark.parametrize(("rate", "norm"), [(0.15, 2), (0.5, np.inf), (1.2, 2), (1.2, 1)])
def test_level(rate, norm):
    """5 % of 300 rows whose predicted risks are right, with 20, 50 and 75 % lost up to 2."""
    rng, n_samples, rejected = np.random.default_rng(0), 600, 0
    for _ in range(n_samples):
        hazard, event, seen = draw(rng, rate=rate)
        settings = {"times": TIMES, "norm": norm, "n_resamples": 199, "random_state": rng}
        rejected += aj_calibration(event, seen, predict(hazard), **settings).pvalue <= 0.05
    assert abs(rejected / n_samples - 0.05) < 4 * np.sqrt(0.05 * 0.95 / n_samples)
