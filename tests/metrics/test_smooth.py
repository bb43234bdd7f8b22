"""SmoothECE: the definition, closed forms, published values, accuracy at the edges."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import trapezoid
from scipy.special import logit
from scipy.stats import norm

from skcal.metrics import (
    expected_calibration_error,
    smooth_ece,
    smooth_ece_curve,
    squared_calibration_error,
)
from tests import reference


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def population(n=40_000):
    """Midpoints of n equal cells of [0, 1]."""
    return (np.arange(n) + 0.5) / n


def test_closed_form_of_a_shift():
    for d in (0.3, 0.01):
        v = population() * (1 - d)
        assert smooth_ece(v + d, v) == pytest.approx(d, abs=1e-6)


def test_closed_form_of_shrunk_predictions():
    v = population()
    y = 0.5 + 0.5 * (v - 0.5)
    assert smooth_ece(y, v, bandwidth=0.05) == pytest.approx(0.12375, abs=1e-5)
    assert smooth_ece(y, v) == pytest.approx(0.118034013, abs=1e-6)


def test_closed_form_of_the_temperature_family():
    f = population()
    v = f**2 / (f**2 + (1 - f) ** 2)
    assert smooth_ece(f, v) == pytest.approx(0.0942867, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("solar_flares_c1", 0.0674017),
        ("rain_finland_2003", 0.1338150),
        ("cifar10_densenet40_confidence", 0.0549309),
        ("imagenet_resnet34_confidence", 0.0778723),
    ],
)
def test_real_predictions(shared_data, name, value):
    table = pd.read_csv(shared_data / f"{name}.csv")
    assert smooth_ece(table.y_true, table.y_prob) == pytest.approx(value, abs=6e-8)


CASES = {
    "random": lambda rng, n: (rng.random(n), rng.integers(0, 2, n), None),
    "only 0 and 1": lambda rng, n: (rng.choice([0.0, 1.0], n), rng.integers(0, 2, n), None),
    "ties": lambda rng, n: (np.round(rng.random(n), 1), rng.integers(0, 2, n), None),
    "weights": lambda rng, n: (
        rng.beta(0.2, 0.2, n),
        rng.integers(0, 2, n),
        rng.exponential(1, n) * rng.integers(0, 2, n) + 1e-9,
    ),
    "beside 0 and 1": lambda rng, n: (
        rng.choice([0, 1e-300, 0.5, np.nextafter(1, 0), 1], n),
        rng.integers(0, 2, n),
        None,
    ),
    "slightly off": lambda rng, n: (v := rng.random(n), v + 0.01 * (rng.random(n) - v), None),
    "one rare error": lambda rng, n: (
        v := rng.choice([0.0, 1.0], n),
        np.where(np.arange(n) == 0, 1 - v, v),
        np.where(np.arange(n) == 0, 2e-4 * n, 1),
    ),
    "cancelling neighbours": lambda rng, n: (
        v := 0.5 + 2e-4 * np.arange(min(n, 8)),
        v + 0.3 * (-1) ** np.arange(len(v)),
        None,
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n", [1, 2, 7, 25])
def test_agrees_with_direct_quadrature(rng, case, n):
    predictions, outcomes, weights = CASES[case](rng, n)
    assert smooth_ece(outcomes, predictions, sample_weight=weights) == pytest.approx(
        reference.smooth_ece(predictions, outcomes, weights), abs=1e-6
    )


@pytest.mark.parametrize("bandwidth", [1e-3, 0.02, 0.3, 5])
@pytest.mark.parametrize("case", ["random", "only 0 and 1", "weights"])
def test_given_bandwidth_agrees_with_direct_quadrature(rng, case, bandwidth):
    predictions, outcomes, weights = CASES[case](rng, 60)
    mass = np.ones(60) if weights is None else weights
    residuals = mass / mass.sum() * (outcomes - predictions)
    assert smooth_ece(
        outcomes, predictions, sample_weight=weights, bandwidth=bandwidth
    ) == pytest.approx(reference.smooth_error_at(predictions, residuals, bandwidth), abs=1e-6)


def test_residuals_of_one_sign_are_never_smoothed_away(rng):
    v = rng.random(50)
    for y in (np.zeros(50), np.ones(50)):
        for bandwidth in (None, 1e-4, 0.1, 3.0):
            assert smooth_ece(y, v, bandwidth=bandwidth) == pytest.approx(
                abs(np.mean(y - v)), abs=1e-6
            )


def test_does_not_increase_with_the_bandwidth(rng):
    v = rng.random(200)
    y = rng.integers(0, 2, 200)
    values = [smooth_ece(y, v, bandwidth=s) for s in np.geomspace(1e-4, 10, 20)]
    assert (np.diff(values) <= 1e-6).all()
    assert values[0] <= np.mean(np.abs(y - v)) + 1e-6
    assert values[-1] == pytest.approx(abs(np.mean(y - v)), abs=1e-6)


def test_is_the_fixed_point(rng):
    v = rng.random(500)
    y = (rng.random(500) < v**2).astype(int)
    value = smooth_ece(y, v)
    assert smooth_ece(y, v, bandwidth=value) == pytest.approx(value, abs=1e-6)


def test_is_continuous_where_binned_error_jumps():
    """Two predictions around 1/2 whose outcomes are opposite: the gap between them closes."""
    y = np.array([1, 0])
    for gap in (1e-2, 1e-4, 1e-6):
        v = np.array([0.5 - gap, 0.5 + gap])
        assert expected_calibration_error(y, v, n_bins=2) >= 0.5
        together = smooth_ece(y, [0.5, 0.5])
        assert together == 0
        # smECE is at most sqrt(2 sqrt(2 / pi) times the distance from calibration).
        assert smooth_ece(y, v) <= np.sqrt(2 * np.sqrt(2 / np.pi) * gap)


def test_memory_does_not_grow_with_the_data(rng):
    n = 4_000_000
    v, y, w = rng.random(n), rng.integers(0, 2, n), rng.random(n)
    for measure in (smooth_ece, expected_calibration_error):
        tracemalloc.start()
        measure(y, v, sample_weight=w)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < n  # less than one byte a row: no copy, not even of booleans


def test_tiny_bandwidths_stay_affordable():
    """Two predictions 2e-11 apart have a smECE of some 1e-6; no grid may follow it all the way."""
    tracemalloc.start()
    value = smooth_ece([1, 0], [0.5 - 1e-11, 0.5 + 1e-11])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0 <= value <= 1e-5
    assert peak < 1e9


def peak_memory(function, *arguments, **options):
    tracemalloc.start()
    function(*arguments, **options)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


@pytest.mark.parametrize("names", [[0, 1], [-1, 1], [0.0, 1.0], [False, True], ["n", "y"]], ids=str)
def test_labels_of_any_kind_cost_a_byte_a_row(rng, names):
    """Outcomes as they are cost nothing; other labels become booleans."""
    n = 3_000_000
    v, y = rng.random(n), np.array(names)[rng.integers(0, 2, n)]
    outcomes = 0 if names == [0, 1] else n
    for measure in (smooth_ece, expected_calibration_error):
        assert peak_memory(measure, y, v, labels=names) < outcomes + n


@pytest.mark.parametrize("measure", [expected_calibration_error, squared_calibration_error])
def test_quantile_bins_hold_one_sorted_copy_and_uniform_bins_none(rng, measure):
    n = 2_000_000
    v, y = rng.random(n), rng.integers(0, 2, n)
    assert peak_memory(measure, y, v, strategy="quantile", labels=[0, 1]) < 8.5 * n + 3e6
    assert peak_memory(measure, y, v, strategy="uniform") < 1.5 * n


class TestScale:
    def test_published_value(self, shared_data):
        """DEFINITIONS.md, section 2."""
        table = pd.read_csv(shared_data / "solar_flares_c1.csv")
        y, v = table.y_true, table.y_prob
        assert smooth_ece(y, v, scale="logit") == pytest.approx(0.086153, abs=1.5e-6)
        quarter = smooth_ece(y, v, scale=lambda p: logit(np.clip(p, 1e-15, 1 - 1e-15)) / 4)
        assert quarter == pytest.approx(0.073098, abs=1.5e-6)

    @pytest.mark.parametrize("case", ["random", "ties", "weights", "slightly off"])
    @pytest.mark.parametrize("n", [1, 2, 12])
    @pytest.mark.parametrize("scale", [np.sqrt, lambda v: 10 * v, lambda v: v])
    def test_agrees_with_direct_quadrature(self, rng, case, n, scale):
        v, y, w = CASES[case](rng, n)
        assert smooth_ece(y, v, sample_weight=w, scale=scale) == pytest.approx(
            reference.smooth_ece(v, y, w, scale), abs=1e-6
        )

    def test_given_bandwidth(self, rng):
        v, y = rng.random(50), rng.integers(0, 2, 50)
        residuals = (y - v) / 50
        for bandwidth in (0.01, 0.3, 20):
            assert smooth_ece(y, v, scale="logit", bandwidth=bandwidth) == pytest.approx(
                reference.unreflected_error_at(logit(v), residuals, bandwidth), abs=1e-6
            )

    def test_hard_predictions_have_finite_logits(self):
        assert smooth_ece([0, 1, 1, 0], [0, 1, 0, 1], scale="logit") == pytest.approx(0.5, abs=1e-6)

    @pytest.mark.parametrize(
        ("scale", "message"),
        [
            ("logits", "Did you mean 'logit'"),
            (np.negative, "scale must be an increasing function"),
            (np.zeros_like, "scale must be an increasing function"),
            (lambda v: np.where(v > 0.5, np.nan, v), "scale must map .* NaN or infinity"),
            (lambda v: v[:1], "scale must map an array of predictions"),
        ],
    )
    def test_bad_scale(self, scale, message):
        with pytest.raises(ValueError, match=message):
            smooth_ece([0, 1], [0.2, 0.7], scale=scale)

    def test_scales_too_wide_to_resolve_are_refused(self):
        with pytest.raises(ValueError, match="over a range above 100; got 5e"):
            smooth_ece([0, 1], [0.2, 0.7], scale=lambda v: 1e8 * v)
        with pytest.raises(ValueError, match="bandwidth must be at least 1e-5 times the range"):
            smooth_ece([0, 1], [0.2, 0.7], scale="logit", bandwidth=1e-5)
        assert smooth_ece([0, 1], [0, 1 - 1e-9], scale="logit") <= 1e-3


class TestCurve:
    def test_agrees_with_direct_sums(self, rng):
        v, y = rng.beta(2, 5, 80), rng.integers(0, 2, 80)
        w = rng.random(80)
        curve = smooth_ece_curve(y, v, sample_weight=w, bandwidth=0.04, n_points=41)
        mass = w / w.sum()
        density = reference.reflected_kernel_sum(curve.grid, v, mass, 0.04)
        positive = reference.reflected_kernel_sum(curve.grid, v, mass * y, 0.04)
        np.testing.assert_allclose(curve.density, density, rtol=1e-4, atol=1e-9)
        np.testing.assert_allclose(curve.prob_true, positive / density, rtol=0, atol=1e-4)

    def test_agrees_with_direct_sums_at_a_fine_bandwidth(self, rng):
        v, y = 0.3 + 0.02 * rng.random(50), rng.integers(0, 2, 50)
        curve = smooth_ece_curve(y, v, bandwidth=5e-4, n_points=2001)
        inside = (curve.grid > 0.3) & (curve.grid < 0.32)
        density = reference.reflected_kernel_sum(curve.grid[inside], v, np.full(50, 0.02), 5e-4)
        positive = reference.reflected_kernel_sum(curve.grid[inside], v, y * 0.02, 5e-4)
        np.testing.assert_allclose(curve.prob_true[inside], positive / density, atol=1e-3)

    def test_fields(self, rng):
        v = rng.random(300)
        y = (rng.random(300) < v**2).astype(int)
        curve = smooth_ece_curve(y, v)
        assert curve.value == curve.bandwidth == smooth_ece(y, v)
        np.testing.assert_array_equal(curve.grid, np.linspace(0, 1, 201))
        assert trapezoid(curve.density, curve.grid) == pytest.approx(1, abs=1e-3)
        assert ((curve.prob_true >= 0) & (curve.prob_true <= 1)).all()

    def test_tends_to_the_nearest_outcome_far_from_the_data(self):
        curve = smooth_ece_curve([0, 1], [0.4, 0.5], bandwidth=0.001, n_points=11)
        np.testing.assert_allclose(curve.prob_true, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1], atol=1e-12)
        assert curve.density[0] == 0

    def test_perfect_forecasts_still_have_a_curve(self):
        curve = smooth_ece_curve([0, 1, 1], [0, 1, 1])
        assert curve.value == 0
        assert curve.bandwidth == 0.001
        assert np.isfinite(curve.prob_true).all()

    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_tiny_samples(self, n):
        curve = smooth_ece_curve(np.ones(n), np.linspace(0, 1, n), n_points=2)
        np.testing.assert_allclose(curve.prob_true, 1, atol=1e-12)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_logits_agree_with_direct_sums(self, rng, weighted):
        v, y = rng.beta(0.5, 5, 80), rng.integers(0, 2, 80)
        w = rng.integers(0, 3, 80) if weighted else np.ones(80)
        curve = smooth_ece_curve(y, v, sample_weight=w, bandwidth=0.4, n_points=41, scale="logit")
        places = logit(curve.grid)
        seen = logit(v[w > 0])
        np.testing.assert_allclose(places, np.linspace(seen.min(), seen.max(), 41), atol=1e-9)
        kernel = norm.pdf(places[:, None] - logit(v), scale=0.4) * w / w.sum()
        density = kernel.sum(axis=1)
        np.testing.assert_allclose(curve.density, density, rtol=1e-3)
        np.testing.assert_allclose(curve.prob_true, kernel @ y / density, atol=1e-3)

    def test_fields_on_the_scale_of_logits(self, rng):
        v = rng.beta(2, 20, 400)
        y = rng.random(400) < v
        curve = smooth_ece_curve(y, v, scale="logit", n_points=4001)
        assert curve.value == smooth_ece(y, v, scale="logit") < 0.25 == curve.bandwidth
        far = smooth_ece_curve(1 - y, v, scale="logit", n_points=11)
        assert far.value == far.bandwidth == smooth_ece(1 - y, v, scale="logit")
        # What is missing lies beyond the smallest and the largest prediction.
        assert 0.9 < trapezoid(curve.density, logit(curve.grid)) < 1
        given = smooth_ece_curve(y, v, scale="logit", bandwidth=0.2)
        assert given.value == smooth_ece(y, v, scale="logit", bandwidth=0.2)

    @pytest.mark.parametrize("v", [[0.3], [0.3, 0.3], [0, 1], [0, 0], [1e-300, 1]])
    def test_odd_predictions_on_the_scale_of_logits(self, v):
        curve = smooth_ece_curve(np.ones(len(v)), v, scale="logit", bandwidth=0.1, n_points=5)
        np.testing.assert_allclose(curve.prob_true, 1, atol=1e-12)
        assert (np.diff(curve.grid) >= 0).all()
        assert np.ptp(logit(curve.grid[[0, -1]])) >= 0.2 - 1e-6

    @pytest.mark.parametrize("scale", ["log", None, logit])
    def test_scales_that_a_curve_cannot_have(self, scale):
        with pytest.raises(ValueError, match="scale must be one of 'probability', 'logit'"):
            smooth_ece_curve([0, 1], [0.2, 0.7], scale=scale)

    def test_needs_one_binary_problem(self):
        with pytest.raises(ValueError, match=r"reduction must give one binary problem.*got 'class"):
            smooth_ece_curve([0, 1, 2], np.eye(3), reduction="classwise")

    @pytest.mark.parametrize("n_points", [1, 3.0, "many"])
    def test_bad_n_points(self, n_points):
        with pytest.raises(ValueError, match="n_points must be"):
            smooth_ece_curve([0, 1], [0.2, 0.7], n_points=n_points)


@pytest.mark.parametrize("bandwidth", [0, -1, 1e-7, np.nan, np.inf, "auto"])
@pytest.mark.parametrize("function", [smooth_ece, smooth_ece_curve])
def test_bad_bandwidth(function, bandwidth):
    with pytest.raises(ValueError, match="bandwidth must be"):
        function([0, 1], [0.2, 0.7], bandwidth=bandwidth)
