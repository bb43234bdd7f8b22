"""Calibration of predicted risks at several horizons: definitions, refusals, and coverage."""

import warnings

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import binom, norm

from skcal._numerics.survival._censoring import average_share
from skcal.inference import (
    actual_expected_ratio,
    confidence_interval,
    mean_calibration_test,
    mean_recalibration,
)
from skcal.metrics import smooth_ece
from skcal.survival import (
    RiskRecalibration,
    aj_calibration,
    at_horizon,
    pseudo_values,
    survival_calibration,
)
from tests.chance import most_of

# Of rows that were drawn without a thought of how many are left.
pytestmark = pytest.mark.filterwarnings("ignore:Up to .*, each row that is left")

TIMES = [0.5, 1.0, 2.0]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def draw_times(rng, n=300, censoring=0.3):
    """Events, times and right risks at `TIMES`; times are exponential, and so are ends."""
    rate = np.exp(rng.normal(-0.5, 0.8, n))
    time, end = rng.exponential(1 / rate), rng.exponential(1 / censoring, n)
    return time <= end, np.minimum(time, end), -np.expm1(-rate[:, None] * TIMES)


def test_equal_risks_have_an_intercept_and_no_slope(rng):
    """It is the difference of the log odds of the observed and the predicted risk."""
    event, time, _ = draw_times(rng)
    options = {"times": [1.0], "n_resamples": 19, "random_state": 0}
    (found,) = survival_calibration(event, time, np.full((300, 1), 0.3), **options).horizons
    expected = logit(found.observed.estimate) - logit(0.3)
    assert found.calibration_in_the_large.estimate == pytest.approx(expected, rel=1e-9)
    assert np.isnan(found.slope.estimate)


def test_numbers_are_those_of_pseudo_values(rng):
    event, time, risk = draw_times(rng)
    strata, clusters = np.arange(300) % 2, np.arange(300) // 3
    found = survival_calibration(
        event,
        time,
        risk,
        times=TIMES,
        strata=strata,
        clusters=clusters,
        confidence_level=0.9,
        n_resamples=19,
        random_state=0,
    )
    y = pseudo_values(event, time, horizon=TIMES, strata=strata)
    options = {"clusters": clusters, "confidence_level": 0.9}
    assert [one.horizon for one in found.horizons] == TIMES
    for one, target, p in zip(found.horizons, y.T, risk.T, strict=True):
        assert one.expected == pytest.approx(p.mean())
        assert one.ratio == actual_expected_ratio(target, p, **options)
        assert one.observed.estimate == pytest.approx(target.mean())
        observed = actual_expected_ratio(target, np.ones(300), **options)
        assert one.observed == pytest.approx(observed)
        scaled = mean_recalibration(target, p, link="logit", **options)
        assert one.slope == scaled.slope
        assert one.calibration_in_the_large == scaled.calibration_in_the_large
        test = mean_calibration_test(target, p, clusters=clusters, n_resamples=19, random_state=0)
        assert one.test.statistic == pytest.approx(test.statistic)
        assert one.smooth_ece.low <= one.smooth_ece.estimate <= one.smooth_ece.high
    # Time lost to the event up to 2: triangles and trapezoids.
    area = np.array([0.5, 0.75, 0.5]) / 2
    ratio = actual_expected_ratio(y @ area, risk @ area, **options)
    np.testing.assert_allclose(found.ratio_over_time, ratio, rtol=1e-12)


def test_without_censoring_it_is_that_of_labels(rng):
    event, time, risk = draw_times(rng, censoring=1e-9)
    found = survival_calibration(event, time, risk, times=TIMES, n_resamples=19, random_state=0)
    for one, p in zip(found.horizons, risk.T, strict=True):
        y = time <= one.horizon
        assert one.smooth_ece.estimate == pytest.approx(smooth_ece(y, p), abs=1e-4)
        interval = confidence_interval(y, p, random_state=0)
        assert one.smooth_ece.high == pytest.approx(interval.high, abs=0.02)


def test_observed_risks_have_about_the_interval_of_greenwood(rng):
    event, time, risk = draw_times(rng, 3000, 1.0)
    found = survival_calibration(event, time, risk, times=TIMES, n_resamples=2).horizons
    for one in found:
        steps = np.sort(time[event & (time <= one.horizon)])
        at_risk = (time >= steps[:, None]).sum(axis=1)
        survival = np.prod(1 - 1 / at_risk)
        error = survival * np.sqrt(np.sum(1 / (at_risk * (at_risk - 1.0))))
        assert one.observed.estimate == pytest.approx(1 - survival)
        length = one.observed.high - one.observed.low
        assert length == pytest.approx(2 * norm.isf(0.025) * error, rel=0.03)


def test_holm(rng):
    """The smallest of three p-values is multiplied by 3, the next by 2, and none falls below.

    Each is twice the smaller one of two tests.
    """
    event, time, risk = draw_times(rng)
    risk[:, 1] **= 0.8
    found = survival_calibration(event, time, risk, times=TIMES, n_resamples=99, random_state=0)
    tests = [(one.test.pvalue, one.slope_test.pvalue) for one in found.horizons]
    raw = np.minimum(2 * np.min(tests, axis=1), 1)
    order = np.argsort(raw)
    expected = np.minimum(np.maximum.accumulate(raw[order] * [3, 2, 1]), 1)
    assert [found.horizons[k].pvalue for k in order] == pytest.approx(expected)
    assert found.pvalue == pytest.approx(expected[0])


def test_frame_of_equal_risks_has_no_test_of_the_slope(rng):
    event, time, _ = draw_times(rng)
    frame = survival_calibration(event, time, np.full(300, 0.3), times=1, random_state=0).to_frame()
    assert frame["slope_test"].dtype == float
    assert frame["slope_test"].isna().all()
    assert (frame["pvalue"] == frame["test"]).all()


def test_risks_that_are_too_extreme_are_found(rng):
    """Sums of residuals alone find them in one sample of three; see the docstring for levels."""
    event, time, risk = draw_times(rng, 2000)
    odds = logit(risk)
    extreme = expit(odds.mean(axis=0) + 1.5 * (odds - odds.mean(axis=0)))
    found = survival_calibration(event, time, extreme, times=TIMES, random_state=0).horizons
    assert all(one.slope_test.pvalue < 1e-3 for one in found)
    assert all(one.pvalue < 0.01 for one in found)


def test_sentences(rng):
    event, time, risk = draw_times(rng, 2000)
    odds = logit(risk)
    for wrong, words in (
        (risk, "no more than chance"),
        (risk / 1.3, "too low"),
        (risk ** (1 / 1.5), "too high"),
        (expit(2.5 * (odds - odds.mean(axis=0)) + odds.mean(axis=0)), "too extreme"),
        (expit(0.3 * (odds - odds.mean(axis=0)) + odds.mean(axis=0)), "not extreme enough"),
    ):
        wrong = wrong * (risk.mean(axis=0) / wrong.mean(axis=0) if "extreme" in words else 1)
        wrong = np.clip(wrong, 1e-3, 1 - 1e-3)
        found = survival_calibration(event, time, wrong, times=TIMES, random_state=0)
        (sentence,) = str(found.horizons[1]).splitlines()
        assert words in sentence, sentence
        assert str(found).count("Up to") == 3
    found = survival_calibration([0] * 30, [3] * 30, np.full((30, 1), 0.5), times=[1])
    assert "0.0 % have the event and 50.0 % were expected: risks are too high (p" in str(found)


def test_no_event_at_all():
    """30 rows were followed, and none has an event of risk .5: 2^-30, and twice that."""
    time = np.append(np.full(30, 3), [0.2, 0.5])
    found = survival_calibration(np.zeros(32), time, np.full((32, 1), 0.5), times=[1]).horizons[0]
    assert found.pvalue == pytest.approx(2**-29)
    assert found.observed == (0, 0, pytest.approx(1 - 0.025 ** (1 / 30)))
    assert found.ratio == (0, 0, pytest.approx(-np.log(0.025) / 15))
    pairs = np.arange(32) // 2
    found = survival_calibration(
        np.zeros(32), time, np.full((32, 1), 0.5), times=[1], clusters=pairs
    ).horizons[0]
    assert 2**-15 <= found.pvalue < 2**-12  # of 15 pairs that were followed, each of one kind
    assert found.observed.high == 1


@pytest.mark.parametrize(
    ("n_events", "n_rows", "risk"), [(1, 200, 0.9), (5, 2000, 0.02), (3, 300, 0.0)]
)
def test_few_events_have_the_law_of_binomial_numbers(n_events, n_rows, risk):
    """Without censoring; p-values are corrected for two horizons that are alike."""
    event = np.arange(n_rows) < n_events
    time = np.where(event, 0.5, 3.0)
    law = binom(n_rows, risk)
    pvalue = 2 * (law.cdf(n_events) if risk else law.sf(n_events - 1))
    found = survival_calibration(
        event, time, np.full((n_rows, 2), risk), times=[1, 2], n_resamples=99, random_state=0
    )
    assert found.pvalue <= 2 * pvalue * (1 + 1e-6)
    times = f"{n_rows * risk / n_events:.0f} times as high as they should be"
    assert (times if risk else "risks are too low") in str(found)


def test_few_events_of_censored_rows():
    """Half of the rows leave at once: the others are all that tells."""
    event = np.arange(400) < 5
    time = np.where(event, 0.5, np.where(np.arange(400) < 200, 3.0, 0.1))
    found = survival_calibration(
        event, time, np.full((400, 1), 0.2), times=[1], n_resamples=99, random_state=0
    )
    low, high = (2 * binom(n, 0.2).cdf(5) for n in (220, 180))
    assert low < found.pvalue < high


def test_events_count_as_greenwood_says():
    """Half of the rows leave at .5, and the hazard is the same before and after."""
    event, time = np.zeros(100, dtype=bool), np.repeat([0.5, 2.0], 50)
    survival = np.exp(-3 * np.array([0.0, 1.0]))
    places = np.array([0.0, 1.0])
    middle, end = np.exp(1.5), np.exp(3)
    expected = ((middle - 1) + 2 * (end - middle)) / (end - 1)
    assert average_share(event, time, places, survival) == pytest.approx(expected)
    assert average_share(event, time + 2, places, survival) == pytest.approx(1)
    assert average_share(event, time, places, np.ones(2)) == pytest.approx(1.5)


def test_last_event_after_censored_rows():
    """One row is left, and its event takes the observed risk to 1, of which nothing is known."""
    event, time = [1, 1, 1] + 20 * [0], np.append([0.1, 0.3, 1.0], np.linspace(0.05, 0.95, 20))
    risk = np.linspace(0.1, 0.2, 23)[:, None] + [0, 0.3]
    first, last = survival_calibration(event, time, risk, times=[0.5, 1]).horizons
    assert first.observed.high < 1
    assert last.observed == (pytest.approx(1), 0, 1)
    assert last.ratio == (pytest.approx(1 / risk[:, 1].mean()), 0, np.inf)
    assert last.smooth_ece[1:] == (0, 1)
    assert last.pvalue == 1


def test_all_rows_have_the_event():
    """All of 30 rows have an event of risk .9: .9^30 = .042, and twice that."""
    risk = np.full((30, 1), 0.9)
    found = survival_calibration(np.ones(30), np.full(30, 0.5), risk, times=[1]).horizons[0]
    assert found.pvalue == pytest.approx(2 * 0.9**30)
    low = 0.025 ** (1 / 30)
    assert found.observed == (1, pytest.approx(low), 1)
    assert found.ratio == (pytest.approx(1 / 0.9), pytest.approx(low / 0.9), pytest.approx(1 / 0.9))
    assert found.smooth_ece[1:] == (0, pytest.approx(0.1 + 1 - low))
    pairs = np.arange(30) // 2
    for risks, pvalue in ((risk, 2 * 0.9**15), (risk + 0.01 * (np.arange(30) % 2)[:, None], 1)):
        found = survival_calibration(
            np.ones(30), np.full(30, 0.5), risks, times=[1], clusters=pairs
        ).horizons[0]
        assert found.pvalue == pytest.approx(pvalue)
    assert found.observed == (1, 0, 1)


def test_right_risks_near_1(rng):
    """Nobody may be left at a horizon by chance, of which tests at 5 % must not be sure."""
    errors = np.zeros(2)
    for _ in range(30):
        rate = rng.uniform(3.5, 4.5, 40)
        found = survival_calibration(
            np.ones(40),
            rng.exponential(1 / rate),
            -np.expm1(-rate[:, None]),
            times=[1],
            n_resamples=99,
            random_state=0,
        ).horizons[0]
        errors += found.pvalue < 0.05, not found.ratio.low <= 1 <= found.ratio.high
    assert (errors <= most_of(30, 0.05)).all()


def test_nothing_expected(rng):
    event, time, risk = draw_times(rng)
    found = survival_calibration(event, time, 0 * risk, times=TIMES, random_state=0).horizons[2]
    assert found.ratio == (pytest.approx(np.nan, nan_ok=True), 0, np.inf)
    assert "% have the event and 0.0 % were expected: risks are too low (p" in str(found)


@pytest.mark.parametrize(("n", "is_known"), [(2000, True), (20, False)])
def test_sentences_say_where_chance_may_hide_what_matters(rng, n, is_known):
    event, time, risk = (values[:n] for values in draw_times(rng, 2000))
    found = survival_calibration(event, time, risk, times=TIMES, random_state=0).horizons[1]
    low, high = found.ratio[1:]
    assert is_known == (low >= 0.8 and high <= 1.25)
    more = "" if is_known else f", but O/E may be {low:.2g} to {high:.2g}"
    assert f": no more than chance{more} (p = " in str(found)


def test_causes_survival_and_one_horizon(rng):
    event, time, risk = draw_times(rng)
    options = {"times": TIMES, "n_resamples": 19, "random_state": 0}
    found = survival_calibration(event, time, risk, **options)
    same = survival_calibration(event, time, survival=1 - risk, **options)
    np.testing.assert_allclose(same.to_frame(), found.to_frame(), rtol=1e-9)
    kinds = np.where(event, 1 + np.arange(300) % 2, 0)
    one = survival_calibration(kinds, time, risk / 2, cause=2, **options)
    y = pseudo_values(kinds, time, horizon=2.0, cause=2)
    assert one.horizons[2].observed.estimate == pytest.approx(y.mean())


def test_frame(rng):
    event, time, risk = draw_times(rng)
    found = survival_calibration(event, time, risk, times=TIMES, n_resamples=19, random_state=0)
    frame = found.to_frame()
    assert frame.index.tolist() == TIMES
    assert frame["ratio_high"].tolist() == [one.ratio.high for one in found.horizons]
    assert frame["test"].tolist() == [one.test.pvalue for one in found.horizons]


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("n_certain", [1, 4])
def test_risks_of_0_and_1_have_no_log_odds(rng, n_certain, clustered):
    """Intercept and slope are those of the other rows, and the sentence says so."""
    event, time, risk = draw_times(rng)
    risk[:n_certain] = np.tile([0, 1, 1], (n_certain, 1))
    options = {"clusters": np.arange(300) // 3} if clustered else {}
    found = survival_calibration(event, time, risk, times=TIMES, n_resamples=2, **options)
    y = pseudo_values(event, time, horizon=TIMES)[n_certain:]
    if clustered:
        options["clusters"] = options["clusters"][n_certain:]
    for one, target, p in zip(found.horizons, y.T, risk[n_certain:].T, strict=True):
        scaled = mean_recalibration(target, p, link="logit", **options)
        assert one.slope == scaled.slope
        assert one.calibration_in_the_large == scaled.calibration_in_the_large
        assert one.n_certain == n_certain
        count = "1 row" if n_certain == 1 else "4 rows"
        assert str(one).endswith(
            f" Intercept and slope leave out {count} with a risk of exactly 0 or 1."
        )
    assert found.to_frame()["n_certain"].tolist() == [n_certain] * 3


def test_where_no_slope_exists(rng):
    event, time, _ = draw_times(rng)
    found = survival_calibration(event, time, np.zeros((300, 1)), times=[1], n_resamples=2)
    (one,) = found.horizons
    assert np.isnan(one.ratio.estimate)
    assert np.isnan(one.slope.estimate)
    assert one.slope[1:] == (-np.inf, np.inf)
    assert str(one).endswith(" 300 rows with a risk of exactly 0 or 1 have no log odds.")


def test_refusals():
    event, time, risk = [1, 0, 1], [1, 2, 3], np.full((3, 1), 0.5)
    for change, message in (
        ({"times": [4]}, None),
        (
            {"event": [1, 1, 0], "times": [4]},
            "^times must not be later than the last time, 3",
        ),
        ({"times": [[1]]}, "^times must be one-dimensional"),
        ({"times": [1, 2]}, r"^risk must have shape \(3, 2\)"),
        ({"risk": None}, "^Give either risk or survival; got neither"),
        ({"strata": [0, 1]}, "^strata must hold a label for each of the 3 rows; got 2"),
        ({"clusters": [0, 1]}, "^clusters must hold one label for each of the 3 rows; got 2"),
        ({"confidence_level": 1}, "^confidence_level must"),
    ):
        arguments = {"event": event, "time": time, "risk": risk, "times": [2]} | change
        if message is None:
            assert survival_calibration(**arguments).horizons[0].observed.estimate == 1
            continue
        with pytest.raises(ValueError, match=message):
            survival_calibration(**arguments)


@pytest.mark.parametrize(("share", "slope"), [(0.5, 1.0), (0.75, 1.5)])
def test_coverage(share, slope):
    """Ratio, intercept, slope and SmoothECE, where a share of the rows is censored before 2.

    Shares of 200 samples are in the table of `benchmarks/bench_coverage.py`.
    """
    rng, n_samples = np.random.default_rng(0), 16
    rate = np.exp(rng.normal(-1.5, 1, 100_000))
    time, unit = rng.exponential(1 / rate), rng.exponential(size=100_000)
    end_rate = brentq(lambda c: np.mean(unit / c < np.minimum(time, 2)) - share, 1e-3, 50)

    def predict(rate):
        return expit(slope * logit(np.clip(-np.expm1(-2 * rate), 1e-9, 1 - 1e-9)))

    risk, p = -np.expm1(-2 * rate), predict(rate)
    scaled = mean_recalibration(risk, p, link="logit")
    truth = {
        "ratio": risk.mean() / p.mean(),
        "calibration_in_the_large": scaled.calibration_in_the_large.estimate,
        "slope": scaled.slope.estimate,
        "smooth_ece": smooth_ece(risk, p),
    }
    missed, rejected = dict.fromkeys(truth, 0), 0
    for _ in range(n_samples):
        rate = np.exp(rng.normal(-1.5, 1, 300))
        time, end = rng.exponential(1 / rate), rng.exponential(1 / end_rate, 300)
        found = survival_calibration(
            time <= end,
            np.minimum(time, end),
            predict(rate)[:, None],
            times=[2],
            n_resamples=99,
            random_state=rng,
        ).horizons[0]
        for name, value in truth.items():
            interval = getattr(found, name)
            missed[name] += not interval.low <= value <= interval.high
        rejected += found.pvalue <= 0.05
    for name, count in missed.items():
        assert count <= most_of(n_samples, 0.06), name
    if slope == 1:
        assert rejected <= most_of(n_samples, 0.05)


def test_one_horizon_takes_a_number_and_a_risk_for_each_row(rng):
    event, seen = rng.random(100) < 0.7, rng.exponential(size=100)
    risk = rng.uniform(0.2, 0.8, size=100)
    for function in (survival_calibration, aj_calibration):
        table = function(event, seen, risk[:, None], times=[0.5], random_state=0)
        for given in ({"risk": risk}, {"survival": 1 - risk}, {"risk": risk[:, None]}):
            for times in (0.5, np.float32(0.5), [0.5]):
                found = function(event, seen, **given, times=times, random_state=0)
                assert found.pvalue == table.pvalue
    with pytest.raises(ValueError, match=r"^risk must have shape \(100, 2\)"):
        survival_calibration(event, seen, risk, times=[0.5, 1])
    y = np.column_stack([event, seen])
    one, other = (RiskRecalibration(times).fit(risk[:, None], y) for times in (0.5, [0.5]))
    np.testing.assert_array_equal(one.intercepts_, other.intercepts_)


def test_rows_that_stand_for_many():
    """One of 20 rows is left where every second one was censored; or all had the event."""
    time, event = np.append(np.linspace(0.1, 0.9, 19), 2.0), np.arange(20) % 2
    share = 1 / np.prod(1 - 1 / np.arange(20, 1, -2)) / 20
    message = rf"^Up to 1, each row that is left stands for {share:.0%} of "
    with pytest.warns(UserWarning, match=message + "all rows"):
        survival_calibration(event, time, np.full((20, 1), 0.5), times=[1], n_resamples=2)
    with pytest.warns(UserWarning, match=message + "stratum 'b'"):
        pseudo_values(event, time, horizon=[0.05, 1], strata=20 * ["b"])
    risk, y = np.full((20, 1), 0.5), np.column_stack([event, time])
    with pytest.warns(UserWarning, match=message + "all rows"):
        aj_calibration(event, time, risk, times=[1], n_resamples=2)
    with pytest.warns(UserWarning, match=message + "stratum 'b'"):
        at_horizon(event, time, horizon=1, strata=20 * ["b"])
    with pytest.warns(UserWarning, match=message + "all rows"):
        RiskRecalibration(1).fit(risk, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pseudo_values(np.ones(20), time, horizon=1)
        pseudo_values(event, time, horizon=0.5)
