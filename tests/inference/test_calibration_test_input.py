"""The exact test of calibration: what it accepts as a statistic, and what it refuses."""

import numpy as np
import pytest

from skcal.inference import calibration_test
from skcal.metrics import MEASURES
from tests.inference.test_calibration_test import draw_binary, draw_classes


@pytest.fixture
def rng():
    return np.random.default_rng(8)


# --------------------------------------------------------------------------- callables


def test_callable_is_given_what_it_takes(rng):
    y, proba = draw_classes(rng, 30)
    names = np.array(["ant", "bee", "cat"])
    seen = []

    def count_last(y_true, y_proba, *, labels, power=1):
        seen.append((set(y_true), tuple(labels), y_proba.shape, power))
        return float(np.mean(y_true == labels[-1])) ** power

    result = calibration_test(
        names[y], proba, labels=names, statistic=count_last, power=2, n_resamples=9
    )
    assert result.estimate == np.mean(y == 2) ** 2
    assert {row[1:] for row in seen} == {(("ant", "bee", "cat"), (30, 3), 2)}
    assert set.union(*(row[0] for row in seen)) == set(names)


def test_callable_of_two_arrays_and_numpy_floats(rng):
    y, proba = draw_binary(rng, 50)
    options = {"n_resamples": 99, "random_state": 0}

    def brier(y_true, y_proba):
        return np.mean((y_true - y_proba) ** 2)

    result = calibration_test(y, proba, statistic=brier, **options)
    assert result.estimate == brier(y, proba)
    assert type(result.estimate) is float
    text = np.array(["no", "yes"])[y]

    def brier_of_text(y_true, y_proba, *, pos_label, sample_weight=None):
        return np.average(((y_true == pos_label) - y_proba) ** 2, weights=sample_weight)

    same = calibration_test(text, proba, pos_label="yes", statistic=brier_of_text, **options)
    assert same == result
    weighted = calibration_test(
        text,
        proba,
        pos_label="yes",
        statistic=brier_of_text,
        sample_weight=np.ones(50),
        **options,
    )
    assert weighted.pvalue == result.pvalue


def test_function_of_the_table_is_its_name(rng):
    y, proba = draw_binary(rng, 5000)
    function = MEASURES["expected_calibration_error"].function
    results = [
        calibration_test(y, proba, statistic=statistic, n_bins=5, n_resamples=20, random_state=0)
        for statistic in (function, "expected_calibration_error")
    ]
    assert results[0] == results[1]


@pytest.mark.parametrize("value", ["0.1", None, np.nan, np.inf, np.zeros(2), 1j], ids=str)
def test_callable_must_return_a_finite_float(value):
    with pytest.raises(ValueError, match=r"statistic must return a finite float; .*returned"):
        calibration_test([0, 1], [0.2, 0.3], statistic=lambda y_true, y_proba: value)


# --------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"statistic": "smooth_ec"}, r"statistic must be one of .*Did you mean 'smooth_ece'\?"),
        ({"n_resamples": 0}, "n_resamples must be at least 1; got 0"),
        ({"n_resamples": 9.5}, "n_resamples must be an integer"),
        ({"groups": ["a", "b"]}, "groups must hold one name for each of the 4 rows; got 2"),
        ({"groups": ["a", None, "b", "a"]}, "groups must hold numbers, .*none missing"),
        ({"groups": [1.0, np.nan, 2.0, 1.0]}, "groups must hold finite labels; got nan at row 1"),
        ({"random_state": "seed"}, "random_state must be None, an integer from 0"),
        ({"reduction": "all"}, "reduction must be one of"),
        ({"statistic": "expected_calibration_error", "n_bins": 0}, "n_bins must be at least 1"),
        ({"sample_weight": [1, 1]}, r"sample_weight must have shape \(4,\)"),
    ],
)
def test_bad_values(options, message):
    with pytest.raises(ValueError, match=message):
        calibration_test([0, 1, 1, 0], [0.2, 0.3, 0.6, 0.5], **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"statistic": 3}, "statistic must be a function or the name of a measure; got 3"),
        ({"bins": 5}, "smooth_calibration_error has no option 'bins'"),
        (
            {"statistic": "expected_calibration_error", "n_bin": 5},
            r"has no option 'n_bin'; .* Did you mean 'n_bins'\?",
        ),
        (
            {"statistic": "canonical_calibration_error", "reduction": "full"},
            "canonical_calibration_error has no argument reduction",
        ),
        (
            {"statistic": lambda y_true, y_proba: 0.0, "sample_weight": [1, 1, 1, 1]},
            "has no argument sample_weight",
        ),
        ({"statistic": lambda y_true, y_proba: 0.0, "power": 2}, "no option 'power'"),
    ],
)
def test_arguments_that_do_not_exist(options, message):
    with pytest.raises(TypeError, match=message):
        calibration_test([0, 1, 1, 0], [0.2, 0.3, 0.6, 0.5], **options)


def test_soft_labels_are_refused(rng):
    for y, proba in (
        (np.array([0.2, 0.8]), np.array([0.3, 0.6])),
        (np.array([0.2, 0.8]), np.array([[0.7, 0.3], [0.4, 0.6]])),
        (rng.dirichlet([1, 1, 1], 4), rng.dirichlet([1, 1, 1], 4)),
    ):
        with pytest.raises(ValueError, match="y_true must"):
            calibration_test(y, proba)
