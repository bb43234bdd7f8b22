"""Synthetic problems: the population has the true values, and samples come from it."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

from skcal import metrics
from skcal.datasets import (
    CalibrationProblem,
    make_shifted,
    make_shrunk,
    make_temperature_family,
    make_two_point_gap,
)
from tests.measures import ACCURACY, READ_COUNTS
from tests.reference_distance import lower_distance

PROBLEMS = [(make_shifted, {"shift": d}) for d in (0, 0.01, 0.3, 1)]
PROBLEMS += [(make_shrunk, {"slope": s}) for s in (-1, 0, 0.5, 1)]
PROBLEMS += [(make_temperature_family, {"inverse_temperature": b}) for b in (0.5, 1, 3, 10)]
PROBLEMS += [
    (make_two_point_gap, {"alpha": alpha, "upper_outcome": outcome})
    for alpha, outcome in ((0, 1), (0.003, 0.7), (0.03, None), (0.2, 1), (0.2, 0.7), (0.5, None))
]
# A multiple of the 15 bins and of 2: no cell lies in two bins.
N_CELLS = 6000

every_problem = pytest.mark.parametrize(
    ("maker", "options"),
    PROBLEMS,
    ids=[f"{maker.__name__}-{options}" for maker, options in PROBLEMS],
)
every_maker = pytest.mark.parametrize(("maker", "options"), PROBLEMS[1:14:4])  # one of each


def measure(known, problem):
    """Call the measure of a `TrueValue`."""
    # To a measure that reads weights as counts a population is many rows, not N_CELLS of them.
    weights = problem.sample_weight * (1e9 if known.measure in READ_COUNTS else 1)
    function = getattr(metrics, known.measure)
    return function(problem.y_true, problem.y_proba, sample_weight=weights, **known.options)


@every_problem
def test_population_has_the_true_values(maker, options):
    problem = maker(N_CELLS, **options, population=True)
    assert type(problem) is CalibrationProblem
    assert problem.y_true.dtype == np.float64
    for known in problem.true_values:
        assert type(known.value) is float
        assert problem.true_value(known.measure, **known.options) == known.value
        # The midpoint rule errs by the order of the squared width of a cell, 3e-8.
        allowed = 1e-6 + ACCURACY.get(known.measure, 1e-12)
        assert measure(known, problem) == pytest.approx(known.value, rel=0, abs=allowed), known


@every_problem
def test_sample_comes_from_the_population(maker, options):
    n = 40_000
    sample = maker(n, **options, random_state=0)
    population = maker(n, **options, population=True)
    # Moments of bounded variables, at most four standard errors apart.
    for power in (0, 1, 2, 3):
        drawn, expected = (np.mean(p.y_true * p.y_proba**power) for p in (sample, population))
        assert drawn == pytest.approx(expected, rel=0, abs=4 * 0.5 / np.sqrt(n))
    assert ks_2samp(sample.y_proba, population.y_proba).statistic < 1.95 / np.sqrt(n)
    assert sample.y_true.dtype == np.int64
    assert set(sample.y_true) <= {0, 1}
    np.testing.assert_array_equal(sample.sample_weight, np.ones(n))
    assert sample.true_values == population.true_values


def test_unknown_value():
    problem = make_shifted(2, shift=0.1)
    match = r"value of smooth_ece\(scale='logit'\) is not known; known are expected_calib.*n_bins=2"
    with pytest.raises(ValueError, match=match):
        problem.true_value("smooth_ece", scale="logit")


# ------------------------------------------------- closed forms and independent computations


def test_shrunk_predictions():
    true = make_shrunk(1, slope=0.5).true_value
    assert true("smooth_ece") == pytest.approx(0.118034013, rel=0, abs=1e-9)
    assert true("kernel_calibration_error") ** 2 == pytest.approx(0.0028022955, abs=2e-10)
    # The double integral over u < v by Gauss-Legendre quadrature, u = v t.
    nodes, weights = np.polynomial.legendre.leggauss(40)
    t, w = (nodes + 1) / 2, weights / 2
    v, u = t[:, None], t[:, None] * t
    integral = w @ ((u - 0.5) * (v - 0.5) * np.exp(u - v) * v) @ w
    expected = 0.5 * np.sqrt(2 * integral)
    assert true("kernel_calibration_error") == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("beta", [1e-6, 1e-3, 0.3, 0.999])
def test_temperature_and_its_inverse_have_the_same_expected_error(beta):
    """Their graphs are mirror images, and the error is the area between one and its mirror."""
    cold, hot = (make_temperature_family(1, inverse_temperature=b) for b in (1 / beta, beta))
    key = {"measure": "expected_calibration_error", "n_bins": 2}
    assert cold.true_value(**key) == pytest.approx(hot.true_value(**key), rel=0, abs=1e-12)


@pytest.mark.parametrize(
    ("beta", "error", "smooth", "atol"),
    # Predictions of 0 and 1, or of 1/2 alone, against a uniform mean outcome, and a closed form.
    [
        (1e6, 0.25, 0.125, 1e-6),
        (1e-6, 0.25, 0, 1e-6),
        (2, np.log(2) / 2 - 1 / 4, np.pi / 4 - 3 / 4, 1e-12),
    ],
)
def test_temperatures(beta, error, smooth, atol):
    true = make_temperature_family(1, inverse_temperature=beta).true_value
    assert true("expected_calibration_error", n_bins=2) == pytest.approx(error, abs=atol)
    assert true("smooth_calibration_error") == pytest.approx(smooth, abs=atol)


@pytest.mark.parametrize("alpha", [0.001, 0.25, 0.5])
def test_lemma_of_crossed_outcomes(alpha):
    true = make_two_point_gap(1, alpha=alpha).true_value
    for name, value in (
        ("lower_calibration_distance", 4 * alpha**2 / (1 + 2 * alpha)),
        ("smooth_calibration_error", 2 * alpha**2),
        ("interval_calibration_error", 2 * alpha),
    ):
        assert true(name) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(("maker", "options"), PROBLEMS[-6:])
def test_upper_distance_of_two_points(maker, options):
    """Either both become their mean outcome, or both 1/2."""
    problem = maker(N_CELLS, **options, population=True)
    gap = np.abs(problem.y_true - problem.y_proba).max() * (options["alpha"] > 0)
    rows = {"sample_weight": problem.sample_weight, "distance": "upper"}
    bounds = metrics.calibration_distance_bounds(problem.y_true, problem.y_proba, **rows)
    assert bounds == pytest.approx([min(gap, options["alpha"])] * 2, rel=0, abs=1e-12)


@pytest.mark.parametrize("alpha", [0.01, 0.2, 0.5])
@pytest.mark.parametrize("outcome", [0, 0.3, 1])
def test_lower_distance_of_two_points_is_the_best_coupling(alpha, outcome):
    """The linear program over couplings, on a grid that holds its solution."""
    true = make_two_point_gap(1, alpha=alpha, upper_outcome=outcome).true_value
    predictions = np.array([0.5 - alpha, 0.5 + alpha])
    outcomes = np.array([1 - outcome, outcome])
    targets = np.union1d(np.linspace(0, 1, 21), np.concatenate([predictions, outcomes]))
    expected = lower_distance(targets, predictions, (1 - outcomes) / 2, outcomes / 2)
    assert true("lower_calibration_distance") == pytest.approx(expected, rel=0, abs=1e-9)


def test_calibrated_members_of_the_families():
    for problem in (
        make_shifted(1, shift=0),
        make_shrunk(1, slope=1),
        make_temperature_family(1, inverse_temperature=1),
        make_two_point_gap(1, alpha=0.25, upper_outcome=0.75),
        make_two_point_gap(1, alpha=0, upper_outcome=1),
    ):
        assert {known.value for known in problem.true_values} == {0}


# ------------------------------------------------------------------------------- rows, arguments


@every_maker
def test_seed(maker, options):
    def draw(random_state):
        return np.concatenate(maker(50, **options, random_state=random_state)[:2])

    np.testing.assert_array_equal(draw(3), draw(np.random.RandomState(3)))
    assert not np.array_equal(draw(3), draw(4))
    # A population draws nothing.
    generator = np.random.RandomState(3)
    maker(50, **options, population=True, random_state=generator)
    np.testing.assert_array_equal(draw(generator), draw(3))


@pytest.mark.parametrize("n", [2, 3, 7])
def test_two_points_share_the_mass_evenly(n):
    problem = make_two_point_gap(n, alpha=0.2, population=True)
    upper = problem.y_proba > 0.5
    for half in (upper, ~upper):
        assert problem.sample_weight[half].sum() == pytest.approx(n / 2)


def test_predictions_of_a_pair_of_points():
    problem = make_two_point_gap(1000, alpha=0.1, upper_outcome=1, random_state=0)
    np.testing.assert_array_equal(np.unique(problem.y_proba), [0.4, 0.6])
    np.testing.assert_array_equal(problem.y_true, problem.y_proba > 0.5)
    assert len(make_two_point_gap(1, alpha=0.1).y_true) == 1
    with pytest.raises(ValueError, match="n_samples must be at least 2; got 1"):
        make_two_point_gap(1, alpha=0.1, population=True)


def test_bad_parameters():
    for maker, options, message in (
        (make_shifted, {"shift": -0.1}, r"shift must be at least 0 and finite; got -0\.1\."),
        (make_shifted, {"shift": 1.1}, r"shift must be at most 1; got 1\.1\."),
        (make_shrunk, {"slope": 1.5}, r"slope must be at most 1; got 1\.5\."),
        (make_shrunk, {"slope": -1.5}, r"slope must be at least -1 and finite; got -1\.5\."),
        (make_temperature_family, {"inverse_temperature": 0}, "must be at least 1e-06"),
        (make_temperature_family, {"inverse_temperature": 1e7}, r"must be at most 1000000\.0"),
        (make_two_point_gap, {"alpha": 0.6}, r"alpha must be at most 0\.5; got 0\.6\."),
        (make_two_point_gap, {"alpha": -0.1}, "alpha must be at least 0"),
        (make_two_point_gap, {"alpha": 0.1, "upper_outcome": 1.2}, "upper_outcome must be at most"),
        (make_two_point_gap, {"alpha": 0.1, "upper_outcome": "1"}, "upper_outcome must be a num"),
    ):
        with pytest.raises(ValueError, match=message):
            maker(10, **options)


@every_maker
def test_bad_common_arguments(maker, options):
    for arguments, message in (
        ({"n_samples": 0}, "n_samples must be at least 1; got 0"),
        ({"population": "yes"}, "population must be True or False; got 'yes'"),
        ({"random_state": "today"}, "random_state must be .* got 'today'"),
    ):
        with pytest.raises(ValueError, match=message):
            maker(**{"n_samples": 10} | options | arguments)
