"""How often tests reject: calibrated models as often as they say, others ever more often."""

import inspect
from functools import partial

import numpy as np
import pytest

from skcal import inference
from skcal.inference import calibration_test, squared_kernel_calibration_test, t_cal_test
from tests.inference.samples import check_level, draw_binary, draw_classes, summarize

spiegelhalter, hosmer_lemeshow = inference.spiegelhalter_test, inference.hosmer_lemeshow_test
kuiper = partial(inference.cumulative_calibration_test, deviation="range")
smirnov = partial(inference.cumulative_calibration_test, deviation="max")
blocks = partial(squared_kernel_calibration_test, method="block")
biased = partial(squared_kernel_calibration_test, method="distribution-free", unbiased=False)
unbiased = partial(squared_kernel_calibration_test, method="distribution-free", unbiased=True)
belt = inference.calibration_belt_test
embedding = partial(inference.kernel_mean_embedding_test, test_proba=[0.2, 0.8], test_labels=[1, 1])
slow = partial(pytest.param, marks=pytest.mark.slow)


def cox(y_true, y_proba, **options):
    return inference.cox_recalibration(y_true, y_proba, **options).test


def find_pvalues(test, rng, n_runs, draw, **options):
    """p-values of many samples, by a test that may draw from the same random numbers."""
    if "random_state" in inspect.signature(test).parameters:
        options |= {"random_state": rng, "n_resamples": 99}
    return np.array([test(*draw(), **options).pvalue for _ in range(n_runs)])


# The standard error of a level of 5 % among 2000 samples is 0.5 %.
@pytest.mark.parametrize(
    ("test", "n", "weighted"),
    [
        slow(spiegelhalter, 1000, False),
        (spiegelhalter, 1000, True),
        *(slow(test, 2000, weighted) for test in (kuiper, smirnov) for weighted in (False, True)),
        *(slow(t_cal_test, n, weighted) for n in (30, 200) for weighted in (False, True)),
        *(slow(test, n, False) for test, n in ((hosmer_lemeshow, 2000), (cox, 1000), (belt, 1000))),
    ],
)
def test_level(rng, test, n, weighted):
    v = np.clip(rng.beta(2, 3, n), 0.001, 0.999)
    options = {"sample_weight": rng.uniform(0.2, 2, n)} if weighted else {}
    pvalues = find_pvalues(test, rng, 2000, lambda: ((rng.random(n) < v).astype(int), v), **options)
    assert 0.03 <= np.mean(pvalues <= 0.05) <= 0.07
    assert abs(np.mean(pvalues <= 0.5) - 0.5) < 0.05


@pytest.mark.parametrize(
    ("test", "n", "digits"),
    [
        # Sums of few rows pass over the extremes of Brownian motion.
        (kuiper, 40, 1),
        slow(smirnov, 40, 1),
        *((bound, 2, 9) for bound in (unbiased, biased)),
        *(slow(bound, 20, 9) for bound in (unbiased, biased)),
        *(slow(t_cal_test, n, digits) for n, digits in ((7, 9), (30, 1))),
    ],
)
def test_never_above_the_level(rng, test, n, digits):
    check_level(find_pvalues(test, rng, 700, lambda: draw_binary(rng, n, digits=digits)))


@pytest.mark.slow
def test_never_above_the_level_of_wide_cells(rng):
    """The binomial law is wider than the Poisson binomial one, hence at most the level."""
    options, pvalues = {"statistic": "cumulative_calibration_error", "n_resamples": 39}, []
    for seed in range(200):
        v = rng.beta(1, 8, 600)
        summary = summarize(rng.random(600) < v, v, n_cells=16)
        result = inference.calibration_test_from_summary(summary, random_state=seed, **options)
        pvalues.append(result.pvalue)
    check_level(pvalues)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "n", "n_classes", "options"),
    [
        *((squared_kernel_calibration_test, n, k, {}) for k, n in ((2, 150), (10, 150), (50, 100))),
        (squared_kernel_calibration_test, 150, 3, {"bandwidth": "median"}),
        *((blocks, 400, k, {"block_size": size}) for k, size in ((2, 2), (3, 2), (10, 5), (50, 5))),
        (embedding, 400, 2, {"test_proba": [[0.8, 0.2], [0.2, 0.8]]}),
        (embedding, 400, 3, {"test_proba": np.eye(3)[:2] / 2 + 1 / 6, "test_labels": [2, 0]}),
    ],
)
def test_level_of_kernel_tests(rng, test, n, n_classes, options):
    """Many classes make them cautious."""
    options = {"labels": range(n_classes), **options}
    pvalues = find_pvalues(test, rng, 1000, lambda: draw_classes(rng, n, n_classes), **options)
    assert np.mean(pvalues <= 0.05) <= 0.07
    assert np.mean(pvalues <= 0.05) >= 0.03 or n_classes == 50


@pytest.mark.parametrize(
    "test",
    [
        *(kuiper, smirnov, spiegelhalter, hosmer_lemeshow),
        *(partial(blocks, block_size=lambda n: n // 10), embedding),
        *(
            slow(belt),
            slow(t_cal_test),
            slow(cox),
            slow(squared_kernel_calibration_test),
            slow(calibration_test),
            slow(partial(calibration_test, statistic="smooth_ece")),
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:hosmer_lemeshow_test expects few outcomes")
def test_power_grows(rng, test):
    """Over-confidence: y = 1/2 + (v - 1/2) / 2 for uniform predictions."""
    powers = [
        np.mean(find_pvalues(test, rng, 60, lambda n=n: draw_binary(rng, n, slope=0.5)) <= 0.05)
        for n in (50, 200, 800)
    ]
    assert powers[0] < powers[2]
    assert (np.diff(powers) >= 0).all()
    assert powers[2] > 0.8
