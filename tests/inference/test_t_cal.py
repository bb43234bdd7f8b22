"""T-Cal: exact moments, the combination of scales, level at every size, and power."""

from itertools import product

import numpy as np
import pytest

from skcal._numerics._dyadic import DyadicErrors, combine_scales
from skcal.inference import cumulative_calibration_test, t_cal_test
from skcal.metrics import squared_calibration_error


@pytest.fixture
def rng():
    return np.random.default_rng(19)


def compute_slowly(y, v, w, n_bins):
    """The sum over all pairs of different rows that share a bin."""
    index = np.maximum(np.ceil(v * n_bins) - 1, 0)
    total = 0.0
    for b in np.unique(index):
        rows = np.flatnonzero(index == b)
        terms = w[rows] * (y[rows] - v[rows])
        pairs = np.outer(terms, terms)
        total += (pairs.sum() - np.trace(pairs)) / w[rows].sum()
    return total / w.sum()


def list_scales(n_rows):
    n_scales = max(int(np.log2(n_rows)), 1)
    return [2**k for k in range(n_scales, 0, -1)]


@pytest.mark.parametrize("n", [1, 2, 3, 63, 64, 65, 300])
def test_errors_of_all_scales(rng, n):
    v = np.sort(np.concatenate([[0.0, 0.5, 1.0], np.round(rng.random(n), 2)])[-n:])
    y, w = rng.random(n) < 0.4, rng.uniform(0.1, 3, n)
    plain = DyadicErrors(v, np.ones(n)).evaluate(y[None])[0]
    weighted = DyadicErrors(v, w).evaluate(y[None])[0]
    assert len(plain) == len(list_scales(n))
    for value, other, n_bins in zip(plain, weighted, list_scales(n), strict=True):
        expected = squared_calibration_error(
            y, v, n_bins=n_bins, strategy="uniform", debias="residuals"
        )
        assert value == pytest.approx(expected, abs=1e-12)
        assert other == pytest.approx(compute_slowly(y, v, w, n_bins), abs=1e-12)


def test_errors_do_not_depend_on_how_many_are_computed_at_once(rng):
    """To the bit: else equal draws and samples would be ranked by rounding."""
    v, w = np.sort(rng.random(37)), rng.random(37)
    errors, outcomes = DyadicErrors(v, w), rng.random((50, 37)) < 0.5
    single = [errors.evaluate(row[None])[0] for row in outcomes]
    np.testing.assert_array_equal(errors.evaluate(outcomes), single)


def test_mean_and_deviation_of_calibrated_models(rng):
    """Of all 2^8 outcomes, by their probabilities."""
    v, w = np.sort(rng.random(8)), rng.uniform(0.5, 2, 8)
    errors = DyadicErrors(v, w)
    outcomes = np.array(list(product([False, True], repeat=8)))
    chance = np.where(outcomes, v, 1 - v).prod(axis=1)
    values = errors.evaluate(outcomes)
    np.testing.assert_allclose(chance @ values, 0, atol=1e-12)
    np.testing.assert_allclose(np.sqrt(chance @ values**2), errors.errors, rtol=1e-9, atol=1e-15)


def test_draws_are_bernoulli(rng):
    v = np.sort(rng.random(16))
    errors = DyadicErrors(v, np.ones(16))
    values = errors.draw(20000, rng)
    deviation = errors.errors / np.sqrt(20000)
    assert (np.abs(values.mean(axis=0)) < 4 * deviation).all()
    np.testing.assert_allclose(values.std(axis=0), errors.errors, rtol=0.05)


def test_combination_of_scales(rng):
    """By loops: ranks at each scale, the smallest of them, and its rank."""
    values, errors = rng.normal(size=(41, 3)).round(1), np.array([1.0, 2.0, 3.0])
    pvalues = np.array([[np.mean(column >= x) for x in column] for column in values.T]).T
    smallest = pvalues.min(axis=1)
    strongest = [
        max(x / e for x, e, p in zip(row, errors, ps, strict=True) if p == least)
        for row, ps, least in zip(values, pvalues, smallest, strict=True)
    ]
    for first in range(41):
        order = np.r_[first, np.delete(np.arange(41), first)]
        found, scale, pvalue = combine_scales(values[order], errors)
        assert found == pytest.approx(smallest[first])
        assert pvalues[first, scale] == smallest[first]
        beaten = [
            (p, -x) <= (smallest[first], -strongest[first])
            for p, x in zip(smallest, strongest, strict=True)
        ]
        assert pvalue == pytest.approx(np.mean(beaten))
        assert pvalue <= 3 * found + 1e-12  # Bonferroni


@pytest.mark.parametrize("n_scales", [1, 4])
def test_combined_pvalue_of_exchangeable_values_is_uniform(rng, n_scales):
    """The combined ranks of continuous values take 1/20, ..., 1 equally often."""
    pvalues = np.array(
        [combine_scales(rng.normal(size=(20, n_scales)), np.ones(n_scales))[2] for _ in range(4000)]
    )
    shares = np.bincount(np.round(20 * pvalues).astype(int), minlength=21)[1:] / 4000
    assert np.abs(shares - 1 / 20).max() < 4.5 * np.sqrt(0.0475 / 4000)


@pytest.mark.parametrize(
    ("n", "digits"),
    [
        (7, 9),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in ((30, 1), (30, 9), (200, 9))),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_level(rng, n, digits, weighted):
    v = rng.random(n).round(digits)
    weights = rng.exponential(size=n) if weighted else None
    pvalues = np.array(
        [
            t_cal_test(
                (rng.random(n) < v).astype(int),
                v,
                sample_weight=weights,
                n_resamples=99,
                random_state=rng,
            ).pvalue
            for _ in range(700)
        ]
    )
    for level in (0.05, 0.2):
        share, noise = np.mean(pvalues <= level), np.sqrt(level * (1 - level) / 700)
        assert share <= level + 3.5 * noise
        if n >= 30 and digits > 1:
            assert share >= level - 3.5 * noise


def test_power_grows(rng):
    """Closed form B of DEFINITIONS.md: y = 1/2 + (v - 1/2) / 2."""
    shares = []
    for n in (50, 200, 800):
        v = rng.random((100, n))
        y = (rng.random(v.shape) < 0.25 + 0.5 * v).astype(int)
        pvalues = [
            t_cal_test(*row, n_resamples=99, random_state=rng).pvalue
            for row in zip(y, v, strict=True)
        ]
        shares.append(np.mean(np.array(pvalues) <= 0.05))
    assert shares[0] < shares[1] < shares[2]
    assert shares[2] > 0.9


def test_narrow_errors_are_found(rng):
    """Waves that nearly cancel in the cumulative residuals, and do in few bins."""
    found = np.zeros(2)
    for _ in range(20):
        v = rng.uniform(0.3, 0.7, 2000)
        truth = v + 0.2 * np.sign(np.sin(2 * np.pi * 32 * v))
        y = (rng.random(2000) < truth).astype(int)
        result = t_cal_test(y, v, n_resamples=99, random_state=rng)
        assert result.estimate == pytest.approx(0.04, abs=0.015)
        found += [result.pvalue <= 0.05, cumulative_calibration_test(y, v).pvalue <= 0.05]
    assert found[0] == 20
    assert found[1] <= 10


def test_statistic_and_bonferroni(rng):
    v = rng.random(100)
    for _ in range(20):
        y = (rng.random(100) < 0.2 + 0.6 * v).astype(int)
        result = t_cal_test(y, v, n_resamples=199, random_state=0)
        smallest = 10**-result.statistic
        assert smallest <= result.pvalue <= min(6 * smallest, 1) + 1e-12
        assert any(
            result.estimate
            == pytest.approx(
                squared_calibration_error(y, v, n_bins=m, strategy="uniform", debias="residuals"),
                abs=1e-11,
            )
            for m in list_scales(100)
        )


def test_seed_decides(rng):
    v = rng.random(60)
    y = (rng.random(60) < v).astype(int)
    assert t_cal_test(y, v, random_state=3) == t_cal_test(y, v, random_state=3)
    results = {t_cal_test(y, v, random_state=seed).pvalue for seed in range(5)}
    assert len(results) > 1
    first, second = (t_cal_test(y, v, random_state=np.random.default_rng(3)) for _ in range(2))
    assert first == second
    assert 0 < t_cal_test(y, v, n_resamples=1).pvalue <= 1


def test_a_single_row_in_each_bin_tells_nothing():
    for y, v in (([1], [0.2]), ([0, 1], [0.0, 1.0]), ([1, 1], [0.2, 0.8])):
        assert t_cal_test(y, v, random_state=0)[:3] == (0.0, 1.0, 0.0)


def test_single_class_and_certain_predictions():
    result = t_cal_test([1] * 50, [0.5] * 50, random_state=0)
    assert result.pvalue == 1 / 1000
    assert result.estimate == pytest.approx(0.25 * 49 / 50)
    assert t_cal_test([1] * 9, [1.0] * 9, random_state=0)[:3] == (0.0, 1.0, 0.0)
    assert t_cal_test([0] * 9, [1.0] * 9, random_state=0).pvalue == 1 / 1000


@pytest.mark.parametrize(
    ("y", "v"),
    [
        ([0, 1, 0, 0], [0.0, 1.0, 1.0, 0.0]),
        ([1, 0], [0.0, 1.0]),
        ([1] + [0, 1] * 50, [0.0] + [0.5] * 100),
    ],
)
def test_impossible_outcome(y, v):
    """One is enough, whatever the other rows; but not with a weight of zero."""
    result = t_cal_test(y, v, random_state=0)
    assert result.pvalue == 1 / 1000
    assert result.statistic == pytest.approx(3)
    assert np.isfinite(result.estimate)
    possible = np.array(y) != 1 - np.array(v)
    if possible.any():
        assert t_cal_test(y, v, sample_weight=1.0 * possible, random_state=0).pvalue > 0.1


@pytest.mark.parametrize("light", [1e-160, 1e-305, 1e-315])
def test_weights_of_very_different_sizes(light):
    """The squares of the small ones, or what they are divided by, leave the range of floats."""
    v = np.linspace(0.01, 0.99, 100)
    y = np.tile([0, 1], 50)
    expected, result = (
        t_cal_test(y, v, sample_weight=np.where(v > 0.6, small, 1.0), random_state=0)
        for small in (1e-100, light)
    )
    np.testing.assert_allclose(result[:3], expected[:3], rtol=1e-12)


def test_bad_input():
    with pytest.raises(ValueError, match="n_resamples must be at least 1"):
        t_cal_test([0, 1], [0.2, 0.8], n_resamples=0)
    with pytest.raises(ValueError, match="n_resamples must be an integer"):
        t_cal_test([0, 1], [0.2, 0.8], n_resamples=99.0)
    with pytest.raises(ValueError, match="random_state must be"):
        t_cal_test([0, 1], [0.2, 0.8], random_state="seed")
