"""Confidence intervals by the bootstrap: what is drawn, coverage, and input."""

import itertools

import numpy as np
import pytest

from skcal.datasets import make_shrunk
from skcal.inference import Interval, bootstrap_interval
from skcal.inference._resamples import CellResamples, RowResamples, SmoothResamples, Units
from skcal.inference._statistic import check_rows, check_statistic
from skcal.metrics import MEASURES

every_method = pytest.mark.parametrize("method", ["percentile", "basic", "bca"])


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def draw_binary(rng, n, slope=0.5):
    proba = rng.random(n)
    return (rng.random(n) < 0.5 + slope * (proba - 0.5)).astype(int), proba


def draw_classes(rng, n):
    proba = rng.dirichlet([1, 1, 1], n)
    return (rng.random((n, 1)) > np.cumsum(proba, axis=1)[:, :-1]).sum(axis=1), proba


def find_rows(name, y, proba, weights=None):
    statistic = check_statistic("measure", name, {}, "auto", weights)
    return check_rows(statistic, y, proba, sample_weight=weights, pos_label=None, labels=None)


# --------------------------------------------------------------------------- definition


@pytest.mark.parametrize("name", MEASURES)
@every_method
def test_every_measure_for_two_and_more_classes(name, method, rng):
    for y, proba in (draw_binary(rng, 40), draw_classes(rng, 40)):
        interval = bootstrap_interval(
            name, y, proba, method=method, n_resamples=10, random_state=0, reduction="auto"
        )
        assert isinstance(interval, Interval)
        assert interval.estimate == pytest.approx(MEASURES[name].function(y, proba), abs=1e-12)
        assert interval.low <= interval.high
        assert all(type(value) is float for value in interval)


def mean_outcome(y_true, y_proba, *, sample_weight=None):
    return float(np.average(y_true, weights=sample_weight))


def test_quantiles_of_all_resamples():
    """A mean of 4 rows: all 4^4 resamples, read by the three methods."""
    y = np.array([0.0, 0.1, 0.2, 0.9])
    means = [np.mean(rows) for rows in itertools.product(y, repeat=4)]
    options = {"n_resamples": 20_000, "confidence_level": 0.8, "random_state": 0}
    low, high = np.quantile(means, [0.1, 0.9])
    percentile = bootstrap_interval(mean_outcome, y, np.full(4, 0.5), **options)
    np.testing.assert_allclose(percentile, (0.3, low, high), atol=1e-12)
    basic = bootstrap_interval(mean_outcome, y, np.full(4, 0.5), method="basic", **options)
    np.testing.assert_allclose(basic, (0.3, 0.6 - high, 0.6 - low), atol=1e-12)


def test_interval_of_a_mean_is_the_normal_one(rng):
    """For many rows of a symmetric mean all methods tend to the mean +- 1.96 standard errors."""
    y, proba = np.tile([0, 1], 800), np.full(1600, 0.5)
    error = 1.96 * 0.5 / np.sqrt(1600)
    for method in ("percentile", "basic", "bca"):
        low, high = bootstrap_interval(
            mean_outcome, y, proba, method=method, n_resamples=4000, random_state=1
        )[1:]
        np.testing.assert_allclose([low, high], [0.5 - error, 0.5 + error], atol=0.0025)


def test_bca_moves_towards_the_longer_tail(rng):
    """The mean of a right-skewed sample: both ends move up, as Efron (1987) shows."""
    y = np.where(np.arange(60) < 54, 0.0, 1.0)
    options = {"n_resamples": 4000, "random_state": 0}
    plain = bootstrap_interval(mean_outcome, y, np.full(60, 0.1), **options)
    corrected = bootstrap_interval(mean_outcome, y, np.full(60, 0.1), method="bca", **options)
    assert corrected.low > plain.low
    assert corrected.high > plain.high


def test_debias_subtracts_the_mean_of_calibrated_labels(rng):
    """One prediction: ECE is |mean - v|, whose mean over Bernoulli(1/2) labels is known."""
    n, y = 64, np.zeros(64, dtype=int)
    y[:48] = 1
    options = {"n_resamples": 4000, "random_state": 0}
    plain = bootstrap_interval("expected_calibration_error", y, np.full(n, 0.5), **options)
    debiased = bootstrap_interval(
        "expected_calibration_error", y, np.full(n, 0.5), debias=True, **options
    )
    # E|S/n - 1/2| of a binomial S is binom(n, n/2) / 2^(n + 1).
    chance = np.prod((np.arange(1, 33) + 32) / (4 * np.arange(1, 33))) / 2
    shift = plain.estimate - debiased.estimate
    assert shift == pytest.approx(chance, abs=4 * 0.04 / np.sqrt(4000))
    # Resampled values of 1/4 with a standard deviation of .054 hardly ever change sign: their
    # mean is the estimate, so that both ends move as it does, but for the noise of that mean.
    ends = np.subtract(plain[1:], debiased[1:])
    np.testing.assert_allclose(ends, shift, atol=4 * 0.055 / np.sqrt(4000))


def test_debiased_estimate_of_calibrated_rows_has_mean_zero(rng):
    estimates = []
    for _ in range(40):
        proba = rng.random(100)
        y = (rng.random(100) < proba).astype(int)
        estimates.append(
            bootstrap_interval(
                "expected_calibration_error", y, proba, debias=True, n_resamples=50, random_state=0
            ).estimate
        )
    assert min(estimates) < 0 < max(estimates)
    assert abs(np.mean(estimates)) <= 3.5 * np.std(estimates) / np.sqrt(40)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["interval_calibration_error", "expected_calibration_error"])
def test_debiased_estimate_of_merged_rows_has_mean_zero(rng, name):
    """Beyond 4096 rows chance is that of merged rows, and so is the value that it is taken off."""
    estimates = []
    for _ in range(12):
        proba = rng.random(6000)
        y = (rng.random(6000) < proba).astype(int)
        options = {"debias": True, "n_resamples": 20, "random_state": 0}
        estimates.append(bootstrap_interval(name, y, proba, **options).estimate)
    assert abs(np.mean(estimates)) <= 3.5 * np.std(estimates, ddof=1) / np.sqrt(12)


@pytest.mark.slow
@pytest.mark.parametrize("n", [200, 2000])
def test_debiased_interval_of_calibrated_rows_covers_zero(n):
    """Far more often than a share of .85: 100 samples of a share of .95 hardly show less."""
    hits = 0
    for seed in range(100):
        problem = make_shrunk(n, slope=1.0, random_state=seed)
        low, high = bootstrap_interval(
            "smooth_ece",
            problem.y_true,
            problem.y_proba,
            debias=True,
            n_resamples=100,
            random_state=seed,
        )[1:]
        hits += low <= 0 <= high
    assert hits >= 85


# --------------------------------------------------------------------------- coverage


@pytest.mark.slow
@pytest.mark.parametrize("name", ["averaged_two_bin_calibration_error", "smooth_ece"])
def test_coverage_of_the_population_value(name):
    """Closed form B of DEFINITIONS.md, far from calibrated: 95 % up to 3.5 standard errors."""
    problems = [make_shrunk(600, slope=0, random_state=seed) for seed in range(120)]
    truth, hits = problems[0].true_values[name], []
    for problem in problems:
        low, high = bootstrap_interval(
            name, problem.y_true, problem.y_proba, n_resamples=100, random_state=0
        )[1:]
        hits.append(low <= truth <= high)
    assert np.mean(hits) >= 0.95 - 3.5 * np.sqrt(0.95 * 0.05 / 120)


# --------------------------------------------------------------------------- many rows


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("grouped", [False, True])
def test_merged_rows_vary_like_all_rows(rng, weighted, grouped):
    """Mean and deviation of 300 resamples of either kind, within 4 standard errors."""
    n = 6000
    y, proba = draw_binary(rng, n)
    weights = rng.exponential(size=n) if weighted else None
    units = Units(n, np.arange(n) // 20) if grouped else Units(n)
    statistic, rows, _ = find_rows("expected_calibration_error", y, proba, weights)
    merged, apart = CellResamples(statistic, rows, units), RowResamples(statistic, rows, units)
    assert merged.observed == pytest.approx(apart.observed, abs=1e-12)  # bins keep their sums
    first, second = merged.draw(rng, 300), apart.draw(rng, 300)
    spread = second.std()
    assert first.mean() == pytest.approx(second.mean(), abs=4 * spread * np.sqrt(2 / 300))
    assert first.std() / spread == pytest.approx(1, abs=4 / np.sqrt(300))
    mask = np.arange(n) % 7 > 0
    # Predictions stay at the means of their cells, which are narrower than 1/1024.
    assert merged.measure(mask) == pytest.approx(apart.measure(mask), abs=1 / 1024)


def test_smooth_ece_varies_like_all_rows(rng):
    y, proba = draw_binary(rng, 40_000)
    statistic, rows, _ = find_rows("smooth_ece", y, proba)
    fast = SmoothResamples(rows, None, rows.measure(statistic)).draw(rng, 200)
    slow = RowResamples(statistic, rows, Units(40_000)).draw(rng, 60)
    error = slow.std() * np.sqrt(1 / 200 + 1 / 60)
    assert fast.mean() == pytest.approx(slow.mean(), abs=4 * error)
    assert fast.std() / slow.std() == pytest.approx(1, abs=4 * np.sqrt(1 / 400 + 1 / 120))


# --------------------------------------------------------------------------- groups


def test_whole_groups_are_drawn(rng):
    """Rows repeated in groups carry no more information than one of them."""
    y, proba = draw_binary(rng, 300)
    options = {"n_resamples": 400, "random_state": 0}
    single = bootstrap_interval(mean_outcome, y, proba, **options)
    groups = np.repeat(np.arange(300), 5)
    repeated = np.repeat(y, 5), np.repeat(proba, 5)
    whole = bootstrap_interval(mean_outcome, *repeated, groups=groups, **options)
    np.testing.assert_allclose(whole, single, atol=1e-12)  # the same seed draws the same groups
    apart = bootstrap_interval(mean_outcome, *repeated, **options)
    assert whole.high - whole.low > 1.5 * (apart.high - apart.low)


def test_groups_may_have_any_size_and_name(rng):
    y, proba = draw_binary(rng, 90)
    sizes = np.repeat(np.arange(12), rng.multinomial(90, np.ones(12) / 12))
    options = {"n_resamples": 50, "random_state": 0}
    by_number = bootstrap_interval("kernel_calibration_error", y, proba, groups=sizes, **options)
    by_name = bootstrap_interval(
        "kernel_calibration_error",
        y,
        proba,
        groups=[f"site {number:02}" for number in sizes],
        **options,
    )
    assert by_number == by_name


# --------------------------------------------------------------------------- invariances


def test_same_seed_same_answer_for_any_number_of_jobs(rng):
    for name, sample, options in (
        ("smooth_ece", draw_binary(rng, 300), {"method": "bca"}),
        ("smooth_ece", draw_binary(rng, 40_000), {}),
        ("expected_calibration_error", draw_binary(rng, 6000), {"debias": True}),
        ("canonical_calibration_error", draw_classes(rng, 60), {"groups": np.arange(60) // 2}),
    ):
        intervals = [
            bootstrap_interval(
                name, *sample, n_resamples=150, n_jobs=n_jobs, random_state=4, **options
            )
            for n_jobs in (None, 1, 2)
        ]
        assert intervals[0] == intervals[1] == intervals[2]


def test_randomness_and_inputs(rng):
    y, proba = draw_binary(rng, 50)
    weights, groups = rng.random(50), np.arange(50) // 3
    copies = [array.copy() for array in (y, proba, weights, groups)]
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    for array in (y, proba, weights, groups):
        array.flags.writeable = False
    results = [
        bootstrap_interval(
            "expected_calibration_error",
            y,
            proba,
            sample_weight=weights,
            groups=groups,
            method="bca",
            n_resamples=20,
            random_state=np.random.default_rng(2),
        )
        for _ in range(2)
    ]
    assert results[0] == results[1]
    bootstrap_interval("expected_calibration_error", y, proba, n_resamples=3)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    for array, copy in zip((y, proba, weights, groups), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_labels_weights_and_soft_labels(rng):
    y, proba = draw_binary(rng, 60)
    options = {"n_resamples": 30, "random_state": 0}
    name = "cumulative_calibration_error"
    expected = bootstrap_interval(name, y, proba, **options)
    text = np.array(["no", "yes"])[y]
    assert bootstrap_interval(name, text, proba, pos_label="yes", **options) == expected
    weights = rng.choice([0.0, 1.0, 2.0], 60)
    present = weights > 0
    np.testing.assert_allclose(
        bootstrap_interval(name, y, proba, sample_weight=weights, **options),
        bootstrap_interval(
            name, y[present], proba[present], sample_weight=weights[present], **options
        ),
        rtol=1e-12,
    )
    soft = bootstrap_interval(name, rng.random(60), proba, **options)
    assert soft.low < soft.high


@every_method
def test_equal_rows_give_no_length(method):
    for n in (1, 30, 5000):
        interval = bootstrap_interval(
            "expected_calibration_error",
            np.ones(n),
            np.full(n, 0.25),
            method=method,
            n_resamples=10,
            random_state=0,
        )
        np.testing.assert_allclose(interval, 0.75, atol=1e-12)


# --------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence_level": 95}, "confidence_level must be at least 0 and below 1; got 95"),
        ({"confidence_level": 0}, "confidence_level must be above 0 and below 1; got 0"),
        ({"confidence_level": 1.0}, "confidence_level must be"),
        ({"confidence_level": "95 %"}, "confidence_level must be a number"),
        ({"n_resamples": 1}, "n_resamples must be at least 2; got 1"),
        ({"method": "bc"}, r"method must be one of .*Did you mean 'bca'\?"),
        ({"debias": True, "groups": [0, 0, 1, 1]}, "groups must be None for debias=True"),
        ({"debias": "yes"}, "debias must be True or False"),
        ({"groups": [1, 2]}, "groups must hold one name for each of the 4 rows; got 2"),
        ({"groups": [1, 1, 1, 1]}, "groups must hold at least two groups with rows; got 1"),
        ({"groups": ["a", None, "b", "b"]}, "groups must hold numbers, booleans or strings"),
        ({"y_true": [0.5, 1, 1, 0], "debias": True}, "y_true must hold labels for debias=True"),
        ({"measure": "smooth_ec"}, r"measure must be one of .*Did you mean 'smooth_ece'\?"),
        ({"measure": lambda y_true, y_proba: "x"}, "measure must return a finite float"),
    ],
)
def test_bad_values(options, message):
    arguments = {"measure": "smooth_ece", "y_true": [0, 1, 1, 0], "y_proba": [0.2, 0.3, 0.6, 0.5]}
    with pytest.raises(ValueError, match=message):
        bootstrap_interval(**{**arguments, **options})


def test_unknown_option():
    with pytest.raises(TypeError, match="smooth_ece has no option 'n_bins'"):
        bootstrap_interval("smooth_ece", [0, 1], [0.2, 0.3], n_bins=3)
