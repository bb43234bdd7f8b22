"""The exact test of calibration: its definition, its level, and its power."""

import itertools

import numpy as np
import pytest

from skcal._numerics._monte_carlo import find_pvalue
from skcal.datasets import make_shrunk
from skcal.inference import _null_draws, calibration_test
from skcal.inference._null_draws import NullCells, NullRows, draw_null, make_null
from skcal.inference._statistic import check_rows, check_statistic
from skcal.metrics import MEASURES

every_measure = pytest.mark.parametrize("name", MEASURES)
FIVE = (
    "smooth_calibration_error",
    "expected_calibration_error",
    "smooth_ece",
    "cumulative_calibration_error",
    "squared_calibration_error",
)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def draw_binary(rng, n, digits=None):
    """Calibrated labels and their probabilities, with ties where these are rounded."""
    proba = rng.random(n)
    if digits is not None:
        proba = np.round(proba, digits)
    return (rng.random(n) < proba).astype(int), proba


def draw_classes(rng, n, n_classes=3):
    proba = rng.dirichlet(np.ones(n_classes), n)
    codes = (rng.random((n, 1)) > np.cumsum(proba, axis=1)[:, :-1]).sum(axis=1)
    return codes, proba


def find_null(name, y, proba, weights=None, **options):
    """The source of draws that `calibration_test` uses."""
    statistic = check_statistic("statistic", name, options, "auto", weights)
    statistic, rows, is_binary = check_rows(
        statistic, y, proba, sample_weight=weights, pos_label=None, labels=None
    )
    return make_null(statistic, rows, is_binary)


# --------------------------------------------------------------------------- definition


@every_measure
def test_every_measure_for_two_and_more_classes(name, rng):
    measure = MEASURES[name].function
    for y, proba in (draw_binary(rng, 60), draw_classes(rng, 60)):
        result = calibration_test(y, proba, statistic=name, n_resamples=19, random_state=0)
        assert result.estimate == result.statistic == pytest.approx(measure(y, proba), abs=1e-12)
        assert result.pvalue * 20 == pytest.approx(round(result.pvalue * 20))
        assert 0 < result.pvalue <= 1
        assert result.worst_group is None
        assert all(type(value) is float for value in result[:3])


@pytest.mark.parametrize("reduction", ["confidence", "classwise", "top-label", "full"])
def test_every_reduction(reduction, rng):
    y, proba = draw_classes(rng, 80)
    for name in ("expected_calibration_error", "smooth_ece"):
        result = calibration_test(
            y, proba, statistic=name, reduction=reduction, n_resamples=39, random_state=0
        )
        expected = MEASURES[name].function(y, proba, reduction=reduction)
        assert result.estimate == pytest.approx(expected, abs=1e-12)
        wrong = calibration_test(
            (y + 1) % 3, proba, statistic=name, reduction=reduction, n_resamples=39, random_state=0
        )
        assert wrong.pvalue == 1 / 40


@pytest.mark.parametrize("name", ["smooth_calibration_error", "expected_calibration_error"])
@pytest.mark.parametrize("weights", [None, np.array([3, 1, 0.5, 2, 1, 1, 4, 0.2])], ids=str)
def test_binary_pvalue_is_the_probability_of_all_outcomes(name, weights):
    """All 2^8 outcomes and their probabilities, with ties."""
    proba = np.array([0.1, 0.3, 0.3, 0.3, 0.6, 0.6, 0.9, 0.9])
    y = np.array([0, 1, 1, 0, 0, 1, 0, 1])
    measure = MEASURES[name].function
    value, exact = measure(y, proba, sample_weight=weights), 0.0
    for outcomes in itertools.product([0, 1], repeat=8):
        drawn = np.array(outcomes)
        if measure(drawn, proba, sample_weight=weights) >= value - 1e-9:
            exact += np.prod(np.where(drawn == 1, proba, 1 - proba))
    result = calibration_test(
        y, proba, statistic=name, sample_weight=weights, n_resamples=4999, random_state=0
    )
    assert result.pvalue == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 4999))


def test_multiclass_pvalue_is_the_probability_of_all_outcomes(rng):
    y, proba = np.array([0, 2, 1, 1]), rng.dirichlet([1, 1, 1], 4)
    measure = MEASURES["squared_kernel_calibration_error"].function
    value, exact = measure(y, proba, labels=[0, 1, 2]), 0.0
    for codes in itertools.product([0, 1, 2], repeat=4):
        if measure(codes, proba, labels=[0, 1, 2]) >= value - 1e-9:
            exact += np.prod(proba[np.arange(4), codes])
    result = calibration_test(
        y, proba, statistic="squared_kernel_calibration_error", n_resamples=1999, random_state=0
    )
    assert 0.1 < exact < 0.9
    assert result.pvalue == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 1999))


def test_pvalue_counts_draws_at_least_as_large(rng):
    """The p-value is that of the draws, which do not depend on the labels."""
    y, proba = draw_binary(rng, 100, digits=1)
    for name in FIVE:
        result = calibration_test(y, proba, statistic=name, n_resamples=200, random_state=3)
        null = find_null(name, 1 - y, proba)
        (drawn,) = draw_null([null], 200, np.random.RandomState(3), None)
        assert result.pvalue == find_pvalue(result.statistic, drawn)


# --------------------------------------------------------------------------- level and power


@pytest.mark.slow
@pytest.mark.parametrize("name", FIVE)
def test_level_of_calibrated_rows(name, rng):
    """300 tests of new rows each: at most 3.5 standard errors above 5 %."""
    rejected = [
        calibration_test(*draw_binary(rng, 50), statistic=name, n_resamples=19, random_state=rng)
        for _ in range(300)
    ]
    assert np.mean([result.pvalue <= 0.05 for result in rejected]) <= 0.05 + 3.5 * 0.0126


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 500])
@pytest.mark.parametrize("kind", ["plain", "ties", "weights"])
def test_level_of_2000_samples(n, kind):
    """2000 samples at the same predictions, compared with the same 4999 draws."""
    rng = np.random.default_rng(n)
    _, proba = draw_binary(rng, n, digits=1 if kind == "ties" else None)
    weights = rng.exponential(size=n) if kind == "weights" else None
    samples = (rng.random((2000, n)) < proba).astype(int)
    for name in FIVE:
        measure = MEASURES[name].function
        null = find_null(name, samples[0], proba, weights)
        (drawn,) = draw_null([null], 4999, rng, None)
        if name == "smooth_ece":  # the value of a sample does not depend on the others
            values = null.measure(samples)
        else:
            values = [measure(y, proba, sample_weight=weights) for y in samples]
        level = np.mean([find_pvalue(value, drawn) <= 0.05 for value in values])
        assert level <= 0.065, name
        assert level >= 0.035 or kind == "ties", name


@pytest.mark.slow
@pytest.mark.parametrize("name", ["smooth_calibration_error", "smooth_ece"])
def test_power_grows_with_the_number_of_rows(name):
    """Over-confidence of closed form B in DEFINITIONS.md, section 10."""
    powers = []
    for n in (30, 120, 500):
        problems = [make_shrunk(n, slope=0.4, random_state=seed) for seed in range(40)]
        pvalues = [
            calibration_test(p.y_true, p.y_proba, statistic=name, n_resamples=39, random_state=0)[1]
            for p in problems
        ]
        powers.append(np.mean(np.array(pvalues) <= 0.05))
    assert powers[0] < powers[1] < powers[2]
    assert powers[2] > 0.9


# --------------------------------------------------------------------------- many rows


@pytest.fixture
def many(rng):
    proba = rng.beta(1.2, 2.0, 12_000)
    return (rng.random(12_000) < proba).astype(int), proba


@pytest.mark.parametrize("weighted", [False, True])
def test_merged_rows_give_nearly_the_statistic_of_all_rows(many, rng, weighted):
    y, proba = many
    weights = rng.random(len(y)) if weighted else None
    # (measure, what a move of all predictions by less than 1/1024 can change it by)
    bounds = {
        "expected_calibration_error": 1e-12,  # bins keep their sums
        "maximum_calibration_error": 1e-12,
        "smooth_calibration_error": 2 / 1024,
        "cumulative_calibration_error": 2 * 120 / 12_000,  # what the rows of two cells may hold
    }
    for name, bound in bounds.items():
        null = find_null(name, y, proba, weights)
        assert isinstance(null, NullCells)
        value = MEASURES[name].function(y, proba, sample_weight=weights)
        assert abs(null.observed - value) <= bound
    for n_bins in (7, 100):
        null = find_null("expected_calibration_error", y, proba, weights, n_bins=n_bins)
        value = MEASURES["expected_calibration_error"].function(
            y, proba, sample_weight=weights, n_bins=n_bins
        )
        assert null.observed == pytest.approx(value, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", FIVE)
def test_merged_rows_give_nearly_the_pvalue_of_all_rows(many, name, monkeypatch):
    """Two p-values of 299 draws each; their standard error is at most sqrt(2 * .25 / 299)."""
    y, proba = many[0][:4200], many[1][:4200]
    merged = calibration_test(y, proba, statistic=name, n_resamples=299, random_state=0)
    monkeypatch.setattr(_null_draws, "FEW_ROWS", 10**6)
    monkeypatch.setattr(_null_draws, "is_plain_smooth_ece", lambda statistic: False)
    assert isinstance(find_null(name, y, proba), NullRows)
    apart = calibration_test(y, proba, statistic=name, n_resamples=299, random_state=1)
    assert merged.estimate == apart.estimate
    assert merged.pvalue == pytest.approx(apart.pvalue, abs=3.5 * 0.041)


def test_level_of_merged_rows(many):
    """500 samples against 999 draws, with all rows alike and with weights."""
    rng = np.random.default_rng(3)
    proba = many[1][:5000]
    for weights in (None, rng.exponential(size=5000)):
        samples = (rng.random((500, 5000)) < proba).astype(int)
        null = find_null("expected_calibration_error", samples[0], proba, weights)
        (drawn,) = draw_null([null], 999, rng, None)
        measure = MEASURES["expected_calibration_error"].function
        values = [measure(y, proba, sample_weight=weights) for y in samples]
        level = np.mean([find_pvalue(value, drawn) <= 0.05 for value in values])
        assert level == pytest.approx(0.05, abs=3.5 * 0.012)


def test_equal_weights_are_no_weights(many):
    options = {"n_resamples": 50, "random_state": 0, "statistic": "expected_calibration_error"}
    weighted = calibration_test(*many, sample_weight=np.full(12_000, 0.3), **options)
    plain = calibration_test(*many, **options)
    assert weighted.pvalue == plain.pvalue
    assert weighted.estimate == pytest.approx(plain.estimate, abs=1e-12)


# --------------------------------------------------------------------------- groups


@pytest.mark.slow
def test_level_over_groups(rng):
    """Three groups of different sizes, 250 samples: at most 3.5 standard errors above 5 %."""
    site = rng.choice(3, 100, p=[0.6, 0.3, 0.1])
    pvalues = [
        calibration_test(
            *draw_binary(rng, 100),
            statistic="expected_calibration_error",
            groups=site,
            n_resamples=39,
            random_state=rng,
        ).pvalue
        for _ in range(250)
    ]
    assert np.mean(np.array(pvalues) <= 0.05) <= 0.05 + 3.5 * 0.0138


@pytest.mark.parametrize("names", [["north", "south", "west"], [1, 2, 3], [1.5, 2.5, 3.5]], ids=str)
def test_worst_group_is_named(names, rng):
    y, proba = draw_binary(rng, 600)
    site = np.repeat(names, 200)
    bad = site == names[1]
    y[bad] = rng.random(200) < 0.5
    options = {
        "statistic": "expected_calibration_error",
        "n_resamples": 199,
        "random_state": 0,
    }
    result = calibration_test(y, proba, groups=site, **options)
    assert result.worst_group == names[1]
    assert result.pvalue == 1 / 200  # groups do not raise the smallest possible p-value
    measure = MEASURES["expected_calibration_error"].function
    assert result.estimate == result.statistic == measure(y[bad], proba[bad])
    order = rng.permutation(600)
    again = calibration_test(y[order], proba[order], groups=site[order].tolist(), **options)
    assert (again.worst_group, again.pvalue) == (result.worst_group, result.pvalue)


def test_one_group_is_no_group(rng):
    y, proba = draw_binary(rng, 80, digits=1)
    options = {"n_resamples": 99, "random_state": 0}
    result = calibration_test(y, proba, groups=["all"] * 80, **options)
    assert result[:3] == calibration_test(y, proba, **options)[:3]
    assert result.worst_group == "all"


def test_groups_of_classes_and_groups_without_weight(rng):
    y, proba = draw_classes(rng, 90)
    site = np.repeat(["a", "b", "c"], 30)
    weights = np.where(site == "c", 0.0, 1.0)
    y[site == "a"] = (proba[site == "a"].argmax(axis=1) + 1) % 3
    names = np.array(["ant", "bee", "cat"])
    result = calibration_test(
        names[y],
        proba,
        labels=names,
        groups=site,
        sample_weight=weights,
        statistic="expected_calibration_error",
        n_resamples=99,
        random_state=0,
    )
    assert result.worst_group == "a"
    assert result.pvalue == 0.01


# --------------------------------------------------------------------------- invariances


def test_same_seed_same_answer_for_any_number_of_jobs(rng, many):
    y, proba = draw_classes(rng, 60)
    site = rng.choice(2, 60)
    for sample, options in (
        ((y, proba), {"statistic": "smooth_ece"}),
        ((y, proba), {"statistic": "squared_kernel_calibration_error", "groups": site}),
        (many, {"statistic": "expected_calibration_error"}),
        (many, {"statistic": "smooth_ece"}),
    ):
        results = [
            calibration_test(*sample, n_resamples=150, n_jobs=n_jobs, random_state=5, **options)
            for n_jobs in (None, 1, 2)
        ]
        assert results[0] == results[1] == results[2]


def test_sources_of_randomness(rng):
    y, proba = draw_binary(rng, 40)
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    calibration_test(y, proba, n_resamples=9)
    first, second = (
        calibration_test(y, proba, n_resamples=99, random_state=np.random.default_rng(1))
        for _ in range(2)
    )
    assert first == second
    pvalues = {calibration_test(y, proba, random_state=seed).pvalue for seed in range(4)}
    assert len(pvalues) > 1
    state = np.random.RandomState(0)
    assert calibration_test(y, proba, random_state=state) == calibration_test(
        y, proba, random_state=0
    )
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_inputs_stay_as_they_are(many, rng):
    for y, proba in (draw_binary(rng, 30), draw_classes(rng, 30), many):
        weights, groups = rng.random(len(y)), rng.choice(2, len(y))
        arrays = (y, proba, weights, groups)
        copies = [array.copy() for array in arrays]
        for array in arrays:
            array.flags.writeable = False
        calibration_test(y, proba, sample_weight=weights, groups=groups, n_resamples=3)
        for array, copy in zip(arrays, copies, strict=True):
            np.testing.assert_array_equal(array, copy)


def test_layouts_and_names_of_labels(rng):
    y, proba = draw_binary(rng, 50)
    options = {"n_resamples": 99, "random_state": 0, "statistic": "kernel_calibration_error"}
    expected = calibration_test(y, proba, **options)
    both, text = np.column_stack([1 - proba, proba]), np.array(["no", "yes"])[y]
    assert calibration_test(y, both, **options) == expected
    assert calibration_test(text, both, **options) == expected
    assert calibration_test(text, proba, pos_label="yes", **options) == expected
    assert calibration_test(y, both[:, ::-1], labels=[1, 0], pos_label=1, **options) == expected
    only = np.array(["yes"] * 50)
    assert calibration_test(only, proba, pos_label="yes", **options) == calibration_test(
        np.ones(50), proba, **options
    )


def test_one_class_against_the_rest(rng):
    y, proba = draw_classes(rng, 50)
    options = {"n_resamples": 99, "random_state": 0}
    for name in ("kernel_calibration_error", "squared_kernel_calibration_error"):
        result = calibration_test(y, proba, pos_label=1, statistic=name, **options)
        apart = calibration_test((y == 1).astype(int), proba[:, 1], statistic=name, **options)
        assert result == apart


@pytest.mark.parametrize("n", [40, 5000])
def test_zero_weight_is_absence(rng, n):
    y, proba = draw_binary(rng, n)
    weights = rng.choice([0.0, 0.5, 2.0], n)
    present = weights > 0
    options = {"n_resamples": 30, "random_state": 0, "statistic": "expected_calibration_error"}
    result = calibration_test(y, proba, sample_weight=weights, **options)
    kept = calibration_test(y[present], proba[present], sample_weight=weights[present], **options)
    assert result.pvalue == kept.pvalue
    assert result.estimate == pytest.approx(kept.estimate, abs=1e-12)


def test_rows_that_nearly_sum_to_one(rng):
    y, proba = draw_classes(rng, 100)
    half = proba.astype(np.float16)
    assert (half.sum(axis=1, dtype=float) != 1).any()
    for name in ("canonical_calibration_error", "smooth_ece"):
        result = calibration_test(y, half, statistic=name, n_resamples=99, random_state=0)
        exact = calibration_test(y, proba, statistic=name, n_resamples=99, random_state=0)
        assert result.pvalue == pytest.approx(exact.pvalue, abs=0.1)


# --------------------------------------------------------------------------- degenerate samples


@pytest.mark.parametrize("name", FIVE)
@pytest.mark.parametrize("n", [6, 6000])
def test_certain_predictions(name, n):
    proba = np.tile([0.0, 1.0, 1.0], n // 3)
    options = {"statistic": name, "n_resamples": 19, "random_state": 0}
    assert calibration_test(proba, proba, **options)[:3] == (0, 1, 0)
    if name != "squared_calibration_error" or n > 6:
        assert calibration_test(1 - proba, proba, **options).pvalue == 1 / 20
    single = calibration_test(np.zeros(n), np.zeros(n), **options)
    assert single[:3] == (0, 1, 0)


@every_measure
def test_single_row(name):
    """The outcome against the odds has its own probability, 0.2."""
    options = {"statistic": name, "n_resamples": 999, "random_state": 0}
    expected = calibration_test([0], [0.2], **options)
    surprising = calibration_test([1], [0.2], **options)
    assert expected.pvalue == 1
    if MEASURES[name].is_signed:
        assert surprising[:3] == (0, 1, 0)  # one row says nothing about a square
    else:
        assert surprising.pvalue == pytest.approx(0.2, abs=4 * 0.0127)


@pytest.mark.parametrize("name", FIVE)
def test_single_class(name, rng):
    proba = rng.uniform(0.4, 0.6, 40)
    result = calibration_test(np.zeros(40), proba, statistic=name, n_resamples=99, random_state=0)
    assert result.pvalue == 0.01
