"""How often tests reject: calibrated models as often as they say, others ever more often."""

import inspect
from functools import partial

import numpy as np
import pytest

from skcal.inference import (
    calibration_test,
    cox_recalibration,
    cumulative_calibration_test,
    hosmer_lemeshow_test,
    kernel_calibration_test,
    mean_embedding_test,
    spiegelhalter_test,
    t_cal_test,
)
from tests.inference.samples import draw_binary, draw_classes

slow = pytest.mark.slow


@pytest.fixture
def rng():
    return np.random.default_rng(13)


def cox(y_true, y_proba, **options):
    return cox_recalibration(y_true, y_proba, **options).test


def name_case(value):
    if isinstance(value, partial):
        options = [str(option) for option in value.keywords.values() if isinstance(option, str)]
        return "-".join([value.func.__name__, *options])
    return getattr(value, "__name__", None)


kuiper = partial(cumulative_calibration_test, deviation="range")
smirnov = partial(cumulative_calibration_test, deviation="max")
exact = partial(calibration_test, statistic="expected_calibration_error")


def find_pvalues(test, rng, n_runs, draw, **options):
    """p-values of many samples, by a test that may draw from the same random numbers."""
    if "random_state" in inspect.signature(test).parameters:
        options |= {"random_state": rng, "n_resamples": 99}
    return np.array([test(*draw(), **options).pvalue for _ in range(n_runs)])


def points_between(n_classes):
    labels = [n_classes - 1, 0] if n_classes > 2 else [1, 1]
    return {"test_proba": 0.6 * np.eye(n_classes)[:2] + 0.4 / n_classes, "test_labels": labels}


def of_blocks(size):
    return partial(kernel_calibration_test, method="block", block_size=size)


def of_bounds(unbiased):
    return partial(kernel_calibration_test, method="distribution-free", unbiased=unbiased)


# The standard error of a level of 5 % among 2000 samples is 0.5 %.
@pytest.mark.parametrize(
    ("test", "n", "weighted"),
    [
        (spiegelhalter_test, 1000, False),
        (spiegelhalter_test, 1000, True),
        *(
            pytest.param(*case, marks=slow)
            for case in (
                *((test, 2000, w) for test in (kuiper, smirnov) for w in (False, True)),
                *((t_cal_test, n, w) for n in (30, 200) for w in (False, True)),
                (hosmer_lemeshow_test, 2000, False),
                (cox, 1000, False),
            )
        ),
    ],
    ids=name_case,
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
        (kuiper, 40, 1),  # sums of few rows pass over the extremes of Brownian motion
        (smirnov, 40, 1),
        (t_cal_test, 7, 9),
        *((of_bounds(unbiased), n, 9) for unbiased in (True, False) for n in (2, 20)),
        *(
            pytest.param(*case, marks=slow)
            for case in ((t_cal_test, 30, 1), (exact, 50, 9), (exact, 50, 1))
        ),
    ],
    ids=name_case,
)
def test_never_above_the_level(rng, test, n, digits):
    """For few rows and ties; 3.5 standard errors are left for noise."""
    pvalues = find_pvalues(test, rng, 700, lambda: draw_binary(rng, n, digits=digits))
    for level in (0.05, 0.2):
        noise = np.sqrt(level * (1 - level) / 700)
        assert np.mean(pvalues <= level) <= level + 3.5 * noise


@slow
@pytest.mark.parametrize(
    ("test", "n", "n_classes"),
    [
        (kernel_calibration_test, 150, 2),
        (partial(kernel_calibration_test, bandwidth="median"), 150, 3),
        (kernel_calibration_test, 150, 10),
        (kernel_calibration_test, 100, 50),
        *((of_blocks(size), 400, k) for k, size in ((2, 2), (3, 2), (10, 5), (50, 5))),
        *((partial(mean_embedding_test, **points_between(k)), 400, k) for k in (2, 3)),
    ],
    ids=name_case,
)
def test_level_of_kernel_tests(rng, test, n, n_classes):
    """Many classes make them cautious."""

    def draw():
        return draw_classes(rng, n, n_classes)

    pvalues = find_pvalues(test, rng, 1000, draw, labels=range(n_classes))
    assert np.mean(pvalues <= 0.05) <= 0.07
    assert np.mean(pvalues <= 0.05) >= 0.03 or n_classes == 50


@pytest.mark.parametrize(
    "test",
    [
        kuiper,
        smirnov,
        spiegelhalter_test,
        hosmer_lemeshow_test,
        cox,
        t_cal_test,
        kernel_calibration_test,
        of_blocks(lambda n: n // 10),
        partial(mean_embedding_test, test_proba=[0.2, 0.8], test_labels=[1, 1]),
        pytest.param(calibration_test, marks=slow),
        pytest.param(partial(calibration_test, statistic="smooth_ece"), marks=slow),
    ],
    ids=name_case,
)
def test_power_grows(rng, test):
    """Over-confidence: y = 1/2 + (v - 1/2) / 2 for uniform predictions."""
    powers = [
        np.mean(find_pvalues(test, rng, 60, lambda n=n: draw_binary(rng, n, slope=0.5)) <= 0.05)
        for n in (50, 200, 800)
    ]
    assert powers[0] < powers[2]
    assert (np.diff(powers) >= 0).all()
    assert powers[2] > 0.8
