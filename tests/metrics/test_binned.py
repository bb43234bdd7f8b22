"""Binned measures: closed forms, published values, agreement with scikit-learn."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import calibration_curve

from skcal._estimates._bins import find_edges
from skcal._numerics._binned import bin_index, percentile_edges, sweep_edges
from skcal._reduction import reduce_to_samples
from skcal.metrics import (
    adaptive_calibration_error,
    expected_calibration_error,
    maximum_calibration_error,
    squared_calibration_error,
)


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def shrunk(a, n=30_000):
    """Family B of DEFINITIONS.md: v uniform on (0, 1), mean outcome 1/2 + (1 - a) (v - 1/2)."""
    v = (np.arange(n) + 0.5) / n
    return 0.5 + (1 - a) * (v - 0.5), v


def test_by_hand():
    y, v = [0, 1, 1, 1], [0.1, 0.3, 0.6, 0.8]
    # Bins (0, .5] and (.5, 1]: mean outcomes .5 and 1, mean predictions .2 and .7.
    for norm, value in ((1, 0.3), (2, 0.3), (np.inf, 0.3)):
        assert expected_calibration_error(y, v, n_bins=2, norm=norm) == pytest.approx(value)
    y = [0, 1, 1, 0]
    # The second bin has mean outcome .5: gaps .3 and .2.
    assert expected_calibration_error(y, v, n_bins=2) == pytest.approx(0.25)
    assert expected_calibration_error(y, v, n_bins=2, norm=2) == pytest.approx(
        np.sqrt((0.3**2 + 0.2**2) / 2)
    )
    assert maximum_calibration_error(y, v, n_bins=2) == pytest.approx(0.3)


@pytest.mark.parametrize("n_bins", [1, 2, 3, 10, 15])
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("a", [0.5, 1.0, 0.1])
def test_closed_form_of_shrunk_predictions(n_bins, strategy, a):
    y, v = shrunk(a)
    odd = 0 if n_bins % 2 == 0 else 1 / n_bins**2

    def measure(norm):
        return expected_calibration_error(y, v, n_bins=n_bins, strategy=strategy, norm=norm)

    assert measure(1) == pytest.approx(a / 4 * (1 - odd), abs=1e-6)
    assert measure(2) ** 2 == pytest.approx(a**2 / 12 * (1 - 1 / n_bins**2), abs=1e-6)
    largest = a / 2 * (1 - 1 / n_bins)
    assert measure(np.inf) == pytest.approx(largest, abs=1e-6)
    assert maximum_calibration_error(y, v, n_bins=n_bins, strategy=strategy) == measure(np.inf)
    assert measure(2000) == pytest.approx(largest, abs=2e-3)


def test_closed_form_of_a_shift():
    d = 0.2
    v = (np.arange(30_000) + 0.5) / 30_000 * (1 - d)
    for strategy in ("uniform", "quantile"):
        for norm in (1, 2, 7.5, np.inf):
            assert expected_calibration_error(
                v + d, v, strategy=strategy, norm=norm
            ) == pytest.approx(d, abs=1e-12)


def test_closed_form_of_the_temperature_family():
    """Family C with b = 2: ECE = log(2) / 2 - 1 / 4 for an even number of bins."""
    f = (np.arange(30_000) + 0.5) / 30_000
    v = f**2 / (f**2 + (1 - f) ** 2)
    for n_bins in (2, 10, 16):
        assert expected_calibration_error(f, v, n_bins=n_bins) == pytest.approx(
            np.log(2) / 2 - 1 / 4, abs=1e-6
        )


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
@pytest.mark.parametrize("n_bins", [1, 5, 10, 15, 100])
@pytest.mark.parametrize("kind", ["plain", "edges", "tenths", "few", "ends"])
def test_bins_are_those_of_calibration_curve(rng, strategy, n_bins, kind):
    n = 500
    v = {
        "plain": rng.random(n),
        "edges": rng.integers(0, n_bins + 1, n) / n_bins,
        "tenths": np.round(rng.random(n), 1),
        "few": rng.choice([0.3, 0.1 + 0.2, 0.5], n),
        "ends": rng.choice([0.0, 1.0, 0.5, np.nextafter(0, 1), np.nextafter(1, 0)], n),
    }[kind]
    y = rng.integers(0, 2, n)
    (sample,) = reduce_to_samples(y, v)
    edges = find_edges(sample, n_bins, strategy)
    mass, residual = sample.sum_by_bin(lambda x: bin_index(x, edges), n_bins)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mean_outcome, mean_prediction = calibration_curve(y, v, n_bins=n_bins, strategy=strategy)
    filled = mass > 0
    np.testing.assert_allclose(
        residual[filled] / mass[filled], mean_outcome - mean_prediction, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("n_bins", [1, 3, 7, 15, 64])
@pytest.mark.parametrize("digits", [1, 2, 17])
def test_percentile_edges_are_percentiles_to_the_bit(rng, n_bins, digits):
    v = np.sort(np.round(rng.random(101), digits))
    expected = np.percentile(v, np.linspace(0, 1, n_bins + 1) * 100)
    np.testing.assert_array_equal(percentile_edges(v, None, n_bins), expected)
    distinct, counts = np.unique(v, return_counts=True)
    np.testing.assert_array_equal(percentile_edges(distinct, counts, n_bins), expected)


def test_a_prediction_of_one_shares_the_last_bin():
    # Several packages give 1.0 a bin of its own, or drop 0.0.
    assert maximum_calibration_error([0, 1], [0.99, 1.0], n_bins=10) == pytest.approx(0.495)
    assert maximum_calibration_error([1, 0], [0.01, 0.0], n_bins=10) == pytest.approx(0.495)


def test_quantile_bins_never_split_ties():
    y = np.array([0, 1] * 20)
    v = np.full(40, 0.5)
    for order in (np.arange(40), np.argsort(y, kind="stable")):
        assert expected_calibration_error(y[order], v, n_bins=4, strategy="quantile") == 0


def test_quantile_weights_are_counts(rng):
    y, v = rng.integers(0, 2, 50), np.round(rng.random(50), 1)
    counts = rng.integers(0, 5, 50)
    weighted = expected_calibration_error(y, v, sample_weight=counts, strategy="quantile", n_bins=7)
    assert weighted == pytest.approx(
        expected_calibration_error(
            np.repeat(y, counts), np.repeat(v, counts), strategy="quantile", n_bins=7
        ),
        abs=1e-12,
    )
    with pytest.raises(ValueError, match=r"sample_weight as counts.* got 1\."):
        expected_calibration_error(y, v, sample_weight=np.full(50, 0.02), strategy="quantile")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bins": 0}, "n_bins must be at least 1; got 0"),
        ({"n_bins": 2.5}, "n_bins must be an integer; got 2.5"),
        ({"strategy": "quantiles"}, "Did you mean 'quantile'"),
        ({"bin_width_penalty": "yes"}, "bin_width_penalty must be True or False; got 'yes'"),
        ({"bin_width_penalty": True, "norm": 2}, "bin_width_penalty needs norm=1"),
        ({"norm": 0.5}, "norm must be at least 1; got 0.5"),
        ({"norm": "l1"}, "norm must be a number; got 'l1'"),
        ({"norm": np.nan}, "norm must be a number; got nan"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        expected_calibration_error([0, 1], [0.2, 0.7], **options)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("solar_flares_c1", 0.0752006),
        ("rain_finland_2003", 0.1395954),
        ("cifar10_densenet40_confidence", 0.0550027),
        ("imagenet_resnet34_confidence", 0.0779846),
    ],
)
def test_real_predictions(shared_data, name, value):
    table = pd.read_csv(shared_data / f"{name}.csv")
    assert expected_calibration_error(table.y_true, table.y_prob) == pytest.approx(value, abs=6e-8)


def test_real_multiclass_predictions(shared_data):
    table = pd.read_csv(shared_data / "cifar10_vgg16_proba.csv.gz")
    proba = table.filter(regex=r"^p\d$")
    assert expected_calibration_error(table.y_true, proba) == pytest.approx(0.039780, abs=6e-7)
    assert expected_calibration_error(table.y_true, proba, reduction="classwise") == pytest.approx(
        0.008837, abs=6e-7
    )


def sweep_directly(y, v):
    """Bins of the sweep by its words, one number of bins after the other."""
    n_bins = 1
    while n_bins < len(y):
        edges = np.percentile(v, np.linspace(0, 1, n_bins + 2) * 100)
        index = np.searchsorted(edges[1:-1], v, side="left")
        means = [y[index == b].mean() for b in np.unique(index)]
        if (np.diff(means) < 0).any():
            break
        n_bins += 1
    return n_bins


@pytest.mark.parametrize("seed", range(30))
def test_sweep_takes_the_last_monotone_number_of_bins(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    v = rng.random(n) if seed % 3 else np.round(rng.random(n), 1)
    y = (rng.random(n) < v ** rng.choice([0.2, 1, 3])).astype(float)
    if seed % 5 == 0:  # nearly or wholly separated, many bins
        y = (v > 0.5).astype(float)
        y[rng.integers(0, n, seed % 2)] = 1
    n_bins = sweep_directly(y, v)
    (sample,) = reduce_to_samples(y, v)
    ties = sample.sorted
    edges = sweep_edges(ties.predictions, ties.weight, ties.positive)
    expected = percentile_edges(ties.predictions, ties.weight, n_bins)
    shared, shared_expected = (
        np.diff(bin_index(ties.predictions, cuts)) == 0 for cuts in (edges, expected)
    )
    np.testing.assert_array_equal(shared, shared_expected)
    assert expected_calibration_error(y, v, strategy="sweep") == pytest.approx(
        expected_calibration_error(y, v, strategy="quantile", n_bins=n_bins), abs=1e-15
    )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("strategy", ["quantile", "sweep"])
def test_rows_of_weight_zero_leave_no_trace(seed, strategy):
    rng = np.random.default_rng(seed)
    v, counts = rng.random(80), rng.integers(0, 3, 80)
    y = (rng.random(80) < v).astype(int)
    assert expected_calibration_error(
        y, v, sample_weight=counts, strategy=strategy
    ) == pytest.approx(
        expected_calibration_error(np.repeat(y, counts), np.repeat(v, counts), strategy=strategy),
        abs=1e-12,
    )


@pytest.mark.parametrize("n_bins", [2, 15])
def test_width_penalty_adds_the_mean_width(n_bins, rng):
    y, v = rng.integers(0, 2, 200), rng.random(200)

    def penalty(strategy):
        options = {"n_bins": n_bins, "strategy": strategy}
        with_penalty = expected_calibration_error(y, v, bin_width_penalty=True, **options)
        return with_penalty - expected_calibration_error(y, v, **options)

    assert penalty("uniform") == pytest.approx(1 / n_bins, abs=1e-12)
    # Equal masses: the widths of the bins add up to the range of the predictions.
    assert penalty("quantile") == pytest.approx(np.ptp(v) / n_bins, rel=0.1)


def test_adaptive_error_by_hand():
    y = [0, 1, 1, 1]
    v = [0.1, 0.3, 0.6, 0.8]
    # Two bins of two rows: gaps .3 and .3 for the positive class, the same for the other.
    assert adaptive_calibration_error(y, v, n_bins=2) == pytest.approx(0.3)
    # Ties leave a bin of three rows and one of a single row; gaps 1/3 and .1, plain mean.
    y, v = [0, 1, 1, 1], [0.5, 0.5, 0.5, 0.9]
    for reduction in ("auto", "classwise"):
        assert adaptive_calibration_error(y, v, n_bins=4, reduction=reduction) == pytest.approx(
            (2 / 3 - 0.5 + 0.1) / 2
        )


def test_adaptive_error_is_the_mean_over_classes(rng):
    proba = rng.dirichlet(np.ones(4), 300)
    y = rng.integers(0, 4, 300)
    # Without ties every bin has the same mass, and the plain mean equals the weighted one.
    assert adaptive_calibration_error(y, proba, n_bins=10) == pytest.approx(
        expected_calibration_error(y, proba, n_bins=10, strategy="quantile", reduction="classwise"),
        abs=1e-12,
    )


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_plain_squared_error_is_the_square_of_norm_two(strategy, rng):
    y, v = rng.integers(0, 2, 100), np.round(rng.random(100), 2)
    assert squared_calibration_error(y, v, strategy=strategy, debias=False) == pytest.approx(
        expected_calibration_error(y, v, strategy=strategy, norm=2) ** 2, abs=1e-12
    )


def test_debiased_squares_by_hand():
    y = np.array([0, 1, 1, 1, 0])
    v = np.array([0.1, 0.3, 0.6, 0.8, 0.9])
    # Bins of two and three rows: mean outcomes 1/2 and 2/3, mean predictions .2 and 23/30.
    plain = 0.4 * 0.3**2 + 0.6 * 0.1**2
    outcomes = 0.4 * (1 / 4) + 0.6 * (2 / 9) / 2
    residuals = 0.4 * (0.01 + 0.49) / 4 + 0.6 * (0.16 + 0.04 + 0.81) / 9
    options = {"n_bins": 2, "strategy": "uniform"}
    for debias, expected in (
        (False, plain),
        (True, plain - outcomes),
        ("outcomes", plain - outcomes),
        ("residuals", plain - residuals),
    ):
        assert squared_calibration_error(y, v, debias=debias, **options) == pytest.approx(expected)
    # Bins of one row tell nothing.
    assert squared_calibration_error([1, 0], [0.1, 0.9], n_bins=2) == 0
    assert squared_calibration_error([1, 0], [0.1, 0.9], n_bins=2, debias="residuals") == 0


def test_bias_of_the_squares_on_calibrated_data():
    """Means over all outcomes of a small sample, weighted by their probability: no simulation."""
    v = np.array([0.2, 0.3, 0.6, 0.9])
    outcomes = (np.arange(16)[:, None] >> np.arange(4)) & 1
    chance = np.prod(np.where(outcomes == 1, v, 1 - v), axis=1)

    def expect(debias):
        values = [
            squared_calibration_error(y, v, n_bins=2, strategy="uniform", debias=debias)
            for y in outcomes
        ]
        return chance @ values

    assert expect("residuals") == pytest.approx(0, abs=1e-15)
    # The bias is minus the variance of the true probabilities within bins, over n_b.
    spread = np.mean([np.var(v[:2], ddof=1), np.var(v[2:], ddof=1)])
    assert expect("outcomes") == pytest.approx(-spread / 2, abs=1e-15)
    assert expect(False) == pytest.approx(
        np.mean([np.sum(p * (1 - p)) / 4 for p in (v[:2], v[2:])])
    )


def test_bad_debias():
    with pytest.raises(ValueError, match="Did you mean 'residuals'"):
        squared_calibration_error([0, 1], [0.2, 0.7], debias="residual")
