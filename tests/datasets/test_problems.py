"""Synthetic problems: the population has the true values, and samples come from it."""

import numpy as np
import pytest
from scipy.optimize import linprog
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

MAKERS = {
    make_shifted: [{"shift": 0}, {"shift": 0.01}, {"shift": 0.3}, {"shift": 0.95}, {"shift": 1}],
    make_shrunk: [{"slope": -1}, {"slope": 0}, {"slope": 0.5}, {"slope": 0.99}, {"slope": 1}],
    make_temperature_family: [{"inverse_temperature": b} for b in (0.5, 0.8, 1, 2, 3, 10)],
    make_two_point_gap: [
        {"alpha": alpha, "upper_outcome": outcome}
        for alpha in (0, 0.003, 0.03, 0.2, 0.5)
        for outcome in (None, 0.7, 1)
    ],
}
PROBLEMS = [(maker, options) for maker, cases in MAKERS.items() for options in cases]
NAMES = [f"{maker.__name__}-{options}" for maker, options in PROBLEMS]
KNOWN = [
    (maker, options, known)
    for maker, options in PROBLEMS
    for known in maker(2, **options, population=True).true_values
]
# A multiple of the 15 bins and of 2: no cell lies in two bins.
N_CELLS = 6000

every_problem = pytest.mark.parametrize(("maker", "options"), PROBLEMS, ids=NAMES)
every_maker = pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)


def measure(known, problem):
    """Call the measure of a `TrueValue`."""
    # To a measure that reads weights as counts a population is many rows, not N_CELLS of them.
    scale = 1e9 if known.measure in READ_COUNTS else 1
    return getattr(metrics, known.measure)(
        problem.y_true,
        problem.y_proba,
        sample_weight=scale * problem.sample_weight,
        **known.options,
    )


def allow(known, error):
    """Tolerance: the documented accuracy of the measure, and `error`."""
    return error + ACCURACY.get(known.measure, 1e-12)


@pytest.mark.parametrize(
    ("maker", "options", "known"), KNOWN, ids=[f"{m.__name__}-{o}-{k[:2]}" for m, o, k in KNOWN]
)
def test_population_has_the_true_values(maker, options, known):
    problem = maker(N_CELLS, **options, population=True)
    assert problem.true_value(known.measure, **known.options) == known.value
    # The midpoint rule errs by the order of the squared width of a cell, 3e-8.
    assert measure(known, problem) == pytest.approx(known.value, rel=0, abs=allow(known, 1e-6))


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


# Measures whose sampling error is of the order of n^(-1/2) or smaller.
CONVERGING = [
    ("expected_calibration_error", {"n_bins": 2}),
    ("smooth_ece", {}),
    ("smooth_calibration_error", {}),
    ("kernel_calibration_error", {}),
    ("cumulative_calibration_error", {}),
    ("averaged_two_bin_calibration_error", {}),
]


@every_maker
def test_measures_of_samples_converge_to_the_true_values(maker):
    for n in (400, 40_000):
        problem = maker(n, **MAKERS[maker][2], random_state=1)
        for known in problem.true_values:
            if known[:2] in CONVERGING:
                assert measure(known, problem) == pytest.approx(
                    known.value, rel=0, abs=allow(known, 2 / np.sqrt(n))
                )


def test_unknown_value():
    problem = make_shifted(2, shift=0.1)
    match = r"value of smooth_ece\(scale='logit'\) is not known; known are expected_calib.*n_bins=2"
    with pytest.raises(ValueError, match=match):
        problem.true_value("smooth_ece", scale="logit")


@every_problem
def test_true_values_are_ordered_as_the_theorems_say(maker, options):
    """The inequalities between the measures, where both sides are known."""
    values = {
        name: value
        for name, given, value in maker(2, **options, population=True).true_values
        if given == ({"n_bins": 2} if name == "expected_calibration_error" else {})
    }
    missing = object()

    def compare(smaller, larger, bound=lambda value: value):
        low, high = values.get(smaller, missing), values.get(larger, missing)
        if missing not in (low, high):
            assert low <= bound(high) + 1e-12

    smooth, lower = "smooth_calibration_error", "lower_calibration_distance"
    interval, surrogate = "interval_calibration_error", "surrogate_interval_calibration_error"
    compare(smooth, lower, lambda value: 2 * value)
    compare(lower, smooth, lambda value: 2 * value)
    compare(lower, "upper_calibration_distance")
    compare("upper_calibration_distance", interval)
    compare(interval, surrogate)
    compare(interval, lower, lambda value: 4 * np.sqrt(value))
    compare(surrogate, lower, lambda value: 6 * np.sqrt(value))
    compare("random_interval_calibration_error", lower, lambda value: 21 * value)
    compare(lower, "expected_calibration_error")
    compare(smooth, "kernel_calibration_error", lambda value: 3 * value)
    compare("kernel_calibration_error", smooth, np.sqrt)
    compare("smooth_ece", smooth, lambda value: max(value, (2 / np.pi) ** 0.25 * value**0.5))
    compare(smooth, "smooth_ece", lambda value: (1 + np.sqrt(2 / np.pi)) * value)


class TestClosedForms:
    """Special cases and independent computations that the general formulas must reproduce."""

    def test_shift(self):
        d = 0.25
        true = make_shifted(1, shift=d).true_value
        length = 1 - d
        mean_kernel = 2 * (length - 1 + np.exp(-length)) / length**2
        assert true("kernel_calibration_error") ** 2 == pytest.approx(d**2 * mean_kernel)
        assert true("averaged_two_bin_calibration_error") == pytest.approx(d**2 * (2 + d) / 3)

    def test_shrink(self):
        true = make_shrunk(1, slope=0.5).true_value
        assert true("smooth_ece") == pytest.approx(0.118034013, rel=0, abs=1e-9)
        assert true("kernel_calibration_error") ** 2 == pytest.approx(0.0028022955, abs=2e-10)
        # The double integral over u < v by Gauss-Legendre quadrature, u = v t.
        nodes, weights = np.polynomial.legendre.leggauss(40)
        t, w = (nodes + 1) / 2, weights / 2
        v, u = t[:, None], t[:, None] * t
        integrand = (u - 0.5) * (v - 0.5) * np.exp(u - v) * v
        assert true("kernel_calibration_error") == pytest.approx(
            0.5 * np.sqrt(2 * w @ integrand @ w), rel=1e-12
        )

    def test_temperature(self):
        true = make_temperature_family(1, inverse_temperature=2).true_value
        error = np.log(2) / 2 - 1 / 4
        assert true("expected_calibration_error", n_bins=2) == pytest.approx(error, abs=1e-12)
        assert true("smooth_calibration_error") == pytest.approx(np.pi / 4 - 3 / 4, abs=1e-12)
        assert true("cumulative_calibration_error") == pytest.approx(error / 2, abs=1e-12)

    @pytest.mark.parametrize("beta", [1e-6, 1e-3, 0.3, 0.999])
    def test_temperature_and_its_inverse_have_the_same_expected_error(self, beta):
        """Their graphs are mirror images, and the error is the area between one and its mirror."""
        cold, hot = (make_temperature_family(1, inverse_temperature=b) for b in (1 / beta, beta))
        key = {"measure": "expected_calibration_error", "n_bins": 2}
        assert cold.true_value(**key) == pytest.approx(hot.true_value(**key), rel=0, abs=1e-12)

    @pytest.mark.parametrize(("beta", "error", "smooth"), [(1e6, 0.25, 0.125), (1e-6, 0.25, 0)])
    def test_extreme_temperatures(self, beta, error, smooth):
        """Predictions of 0 and 1, or of 1/2 alone, against a uniform mean outcome."""
        true = make_temperature_family(1, inverse_temperature=beta).true_value
        assert true("expected_calibration_error", n_bins=2) == pytest.approx(error, abs=1e-6)
        assert true("smooth_calibration_error") == pytest.approx(smooth, abs=1e-6)

    @pytest.mark.parametrize("alpha", [0.001, 0.1, 0.25, 0.5])
    def test_lemma_of_crossed_outcomes(self, alpha):
        true = make_two_point_gap(1, alpha=alpha).true_value
        assert true("lower_calibration_distance") == pytest.approx(
            4 * alpha**2 / (1 + 2 * alpha), rel=1e-12
        )
        assert true("smooth_calibration_error") == pytest.approx(2 * alpha**2, rel=1e-12)
        assert true("interval_calibration_error") == pytest.approx(2 * alpha, rel=1e-12)
        assert true("upper_calibration_distance") == pytest.approx(alpha, rel=1e-12)

    @pytest.mark.parametrize("e", [0.001, 0.1, 0.25, 0.4])
    def test_certain_outcomes(self, e):
        true = make_two_point_gap(1, alpha=e, upper_outcome=1).true_value
        assert true("expected_calibration_error", n_bins=2) == pytest.approx(0.5 - e)
        assert true("lower_calibration_distance") == pytest.approx(e - 2 * e**2)
        assert true("smooth_calibration_error") == pytest.approx(e * (0.5 - e))
        assert true("upper_calibration_distance") == pytest.approx(min(e, 0.5 - e))

    @pytest.mark.parametrize("alpha", [0.01, 0.2, 0.5])
    @pytest.mark.parametrize("outcome", [0, 0.3, 0.6, 1])
    def test_lower_distance_of_two_points_is_the_best_coupling(self, alpha, outcome):
        """The linear program over couplings, on a grid that holds its solution."""
        true = make_two_point_gap(1, alpha=alpha, upper_outcome=outcome).true_value
        predictions = np.array([0.5 - alpha, 0.5 + alpha])
        outcomes = np.array([1 - outcome, outcome])
        targets = np.union1d(np.linspace(0, 1, 21), np.concatenate([predictions, outcomes]))
        assert true("lower_calibration_distance") == pytest.approx(
            find_best_coupling(predictions, outcomes, targets), rel=0, abs=1e-9
        )

    @pytest.mark.parametrize(
        ("maker", "options"),
        [
            (make_shifted, {"shift": 0}),
            (make_shrunk, {"slope": 1}),
            (make_temperature_family, {"inverse_temperature": 1}),
            (make_two_point_gap, {"alpha": 0.25, "upper_outcome": 0.75}),
            (make_two_point_gap, {"alpha": 0, "upper_outcome": 1}),
        ],
    )
    def test_calibrated_member_of_the_family(self, maker, options):
        problem = maker(1, **options)
        assert {known.value for known in problem.true_values} == {0}


def find_best_coupling(predictions, outcomes, targets):
    """Smallest mean move of two equally heavy predictions to calibrated targets."""
    shape = (len(targets), 2, 2)  # target, prediction, label
    cost = np.broadcast_to(np.abs(targets[:, None] - predictions)[..., None], shape)
    mass = np.stack([1 - outcomes, outcomes], axis=1) / 2
    marginals = np.tile(np.eye(4), len(targets))
    balance = np.zeros((len(targets), *shape))
    for i, target in enumerate(targets):
        balance[i, i] = [-target, 1 - target]
    solution = linprog(
        cost.ravel(),
        A_eq=np.vstack([marginals, balance.reshape(len(targets), -1)]),
        b_eq=np.concatenate([mass.ravel(), np.zeros(len(targets))]),
        method="highs",
    )
    return solution.fun


@every_problem
@pytest.mark.parametrize("population", [False, True])
def test_fields(maker, options, population):
    problem = maker(101, **options, population=population, random_state=0)
    assert type(problem) is CalibrationProblem
    for array in problem[:3]:
        assert array.shape == (101,)
    assert ((problem.y_proba >= 0) & (problem.y_proba <= 1)).all()
    assert problem.sample_weight.sum() == pytest.approx(101)
    if population:
        assert problem.y_true.dtype == np.float64
        assert ((problem.y_true >= 0) & (problem.y_true <= 1)).all()
    else:
        assert problem.y_true.dtype == np.int64
        assert set(problem.y_true) <= {0, 1}
        assert (problem.sample_weight == 1).all()
    for _, _, value in problem.true_values:
        assert type(value) is float
        assert 0 <= value <= 1


@every_maker
def test_known_measures_do_not_depend_on_the_parameters(maker):
    keys = {
        tuple((name, *given) for name, given, _ in maker(2, **options).true_values)
        for options in MAKERS[maker]
    }
    assert len(keys) == 1


@every_maker
def test_seed(maker):
    options = MAKERS[maker][1]

    def draw(random_state):
        return np.concatenate(maker(50, **options, random_state=random_state)[:2])

    np.testing.assert_array_equal(draw(3), draw(3))
    np.testing.assert_array_equal(draw(3), draw(np.random.RandomState(3)))
    assert not np.array_equal(draw(3), draw(4))
    generator = np.random.RandomState(3)
    assert not np.array_equal(draw(generator), draw(generator))


@every_maker
def test_population_needs_no_seed_and_draws_nothing(maker):
    options = MAKERS[maker][1]
    generator = np.random.RandomState(0)
    before = generator.get_state()[1].copy()
    problem = maker(50, **options, population=True, random_state=generator)
    np.testing.assert_array_equal(generator.get_state()[1], before)
    np.testing.assert_array_equal(problem.y_proba, maker(50, **options, population=True).y_proba)


@pytest.mark.parametrize("n", [2, 3, 7])
def test_two_points_share_the_mass_evenly(n):
    problem = make_two_point_gap(n, alpha=0.2, population=True)
    upper = problem.y_proba > 0.5
    assert problem.sample_weight[upper].sum() == pytest.approx(n / 2)
    assert problem.sample_weight[~upper].sum() == pytest.approx(n / 2)


def test_predictions_of_a_pair_of_points():
    problem = make_two_point_gap(1000, alpha=0.1, upper_outcome=1, random_state=0)
    np.testing.assert_array_equal(np.unique(problem.y_proba), [0.4, 0.6])
    np.testing.assert_array_equal(problem.y_true, problem.y_proba > 0.5)


@pytest.mark.parametrize(
    ("maker", "options", "message"),
    [
        (make_shifted, {"shift": -0.1}, r"shift must be at least 0 and finite; got -0\.1\."),
        (make_shifted, {"shift": 1.1}, r"shift must be at most 1; got 1\.1\."),
        (make_shifted, {"shift": np.nan}, "shift must be a number; got nan"),
        (make_shifted, {"shift": "much"}, "shift must be a number; got 'much'"),
        (make_shrunk, {"slope": 1.5}, r"slope must be at most 1; got 1\.5\."),
        (make_shrunk, {"slope": -1.5}, r"slope must be at least -1 and finite; got -1\.5\."),
        (make_shrunk, {"slope": None}, "slope must be a number; got None"),
        (make_temperature_family, {"inverse_temperature": 0}, "must be at least 1e-06"),
        (make_temperature_family, {"inverse_temperature": -2}, "must be at least 1e-06"),
        (make_temperature_family, {"inverse_temperature": 1e7}, r"must be at most 1000000\.0"),
        (make_temperature_family, {"inverse_temperature": np.inf}, "must be at least .* finite"),
        (make_two_point_gap, {"alpha": 0.6}, r"alpha must be at most 0\.5; got 0\.6\."),
        (make_two_point_gap, {"alpha": -0.1}, "alpha must be at least 0"),
        (make_two_point_gap, {"alpha": 0.1, "upper_outcome": 1.2}, "upper_outcome must be at most"),
        (make_two_point_gap, {"alpha": 0.1, "upper_outcome": "1"}, "upper_outcome must be a num"),
    ],
)
def test_bad_parameter(maker, options, message):
    with pytest.raises(ValueError, match=message):
        maker(10, **options)


@every_maker
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, "n_samples must be at least 1; got 0"),
        ({"n_samples": 10.0}, r"n_samples must be an integer; got 10\.0"),
        ({"n_samples": "many"}, "n_samples must be an integer; got 'many'"),
        ({"n_samples": True}, "n_samples must be an integer; got True"),
        ({"population": "yes"}, "population must be True or False; got 'yes'"),
        ({"population": 1}, "population must be True or False; got 1"),
        ({"random_state": "today"}, "random_state must be .* got 'today'"),
    ],
)
def test_bad_common_argument(maker, arguments, message):
    arguments = {"n_samples": 10} | MAKERS[maker][1] | arguments
    with pytest.raises(ValueError, match=message):
        maker(**arguments)


def test_two_points_need_two_rows():
    assert len(make_two_point_gap(1, alpha=0.1).y_true) == 1
    with pytest.raises(ValueError, match="n_samples must be at least 2; got 1"):
        make_two_point_gap(1, alpha=0.1, population=True)
