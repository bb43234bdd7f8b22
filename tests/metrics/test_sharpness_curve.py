"""The curves of calibration-sharpness diagrams: definition, identities, laws, infinities, input."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.special import rel_entr

from skcal.metrics import (
    BregmanDivergence,
    calibration_decomposition,
    calibration_sharpness_curve,
    smooth_ece,
)

every_kernel = pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
every_divergence = pytest.mark.parametrize("divergence", ["brier", "log"])
# Nodes and the Fourier transform move means by this much at most; see the docstring.
ACCURACY = 1e-8


def divergence_of(name, y, v):
    """d(y, v) as in the definition; of one component."""
    return (y - v) ** 2 if name == "brier" else rel_entr(y, v) + rel_entr(1 - y, 1 - v)


def compute_slowly(y, v, values, divergence, *, weights=None, bandwidth=0.05, kernel, n_points=201):
    """Mean outcome, gap and density from all pairs of a point and a row.

    `values` are the divergences of the rows. Gaussian kernel values are divided by the largest at
    each point, so that they never underflow.
    """
    w = np.ones(len(v)) if weights is None else np.asarray(weights, dtype=float)
    grid = np.linspace(0, 1, n_points)
    z = (grid[:, None] - v) / bandwidth
    if kernel == "gaussian":
        exponent = -0.5 * z**2
        largest = exponent.max(axis=1, keepdims=True)
        weight, scale = np.exp(exponent - largest), np.exp(largest[:, 0])
    else:
        weight, scale = np.maximum(1 - z**2, 0), 1.0
        weight[weight < 1e-12] = 0  # one bandwidth away, but for rounding
    mass = weight @ w
    with np.errstate(invalid="ignore"):
        eta = np.clip(weight @ (w * y) / mass, 0, 1)
        gap = weight @ (w * values) / mass - divergence_of(divergence, eta, grid)
    return eta, gap, scale * mass / w.sum()


def assert_close(curve, expected, tolerance=ACCURACY):
    eta, gap, density = expected
    np.testing.assert_allclose(curve.prob_true, eta, rtol=0, atol=tolerance)
    np.testing.assert_allclose(curve.sharpness_gap, gap, rtol=0, atol=tolerance)
    np.testing.assert_allclose(curve.density, density, rtol=1e-6, atol=1e-10)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def binary(rng):
    """Miscalibrated predictions with ties, apart from 0 and 1."""
    v = np.concatenate([rng.uniform(0.05, 0.6, 150), np.round(rng.uniform(0.1, 0.9, 100), 1)])
    return (rng.random(len(v)) < v**1.5).astype(int), v


@pytest.fixture
def multiclass(rng):
    proba = rng.dirichlet([0.5, 1, 1, 2], size=300)
    return np.array([rng.choice(4, p=p) for p in 0.6 * proba + 0.1]), proba


class TestDefinition:
    @every_divergence
    @every_kernel
    @pytest.mark.parametrize("bandwidth", [0.001, 0.02, 0.05, 2.0])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_binary(self, binary, rng, divergence, kernel, bandwidth, weighted):
        y, v = binary
        weights = rng.exponential(1, len(y)) if weighted else None
        options = {"bandwidth": bandwidth, "kernel": kernel}
        curve = calibration_sharpness_curve(
            y, v, sample_weight=weights, divergence=divergence, **options
        )
        values = divergence_of(divergence, y, v)
        assert_close(curve, compute_slowly(y, v, values, divergence, weights=weights, **options))
        assert type(curve.bandwidth) is float
        assert curve.bandwidth == bandwidth
        np.testing.assert_array_equal(curve.grid, np.linspace(0, 1, 201))

    @every_divergence
    @every_kernel
    @pytest.mark.parametrize("weighted", [False, True])
    def test_multiclass(self, multiclass, rng, divergence, kernel, weighted):
        """Confidences, but the divergence of all classes."""
        y, proba = multiclass
        weights = rng.integers(0, 3, len(y)) if weighted else None
        v, hit = proba.max(axis=1), proba.argmax(axis=1) == y
        if divergence == "brier":
            values = ((np.eye(4)[y] - proba) ** 2).sum(axis=1)
        else:
            values = -np.log(proba[np.arange(len(y)), y])
        curve = calibration_sharpness_curve(
            y, proba, sample_weight=weights, divergence=divergence, kernel=kernel
        )
        assert_close(
            curve, compute_slowly(hit, v, values, divergence, weights=weights, kernel=kernel)
        )

    @every_kernel
    def test_one_class_against_the_rest(self, multiclass, kernel):
        y, proba = multiclass
        names = np.array(list("dbca"))
        for column, name in enumerate(names):
            curve = calibration_sharpness_curve(
                names[y], proba, pos_label=name, labels=names, kernel=kernel
            )
            hit = (y == column).astype(int)
            expected = calibration_sharpness_curve(hit, proba[:, column], kernel=kernel)
            for one, other in zip(curve, expected, strict=True):
                np.testing.assert_array_equal(one, other)

    @every_kernel
    def test_users_divergence(self, binary, multiclass, kernel):
        square = BregmanDivergence(np.square, lambda v: 2 * v)
        for data in (binary, multiclass):
            one = calibration_sharpness_curve(*data, divergence=square, kernel=kernel)
            other = calibration_sharpness_curve(*data, kernel=kernel)
            np.testing.assert_allclose(
                one.sharpness_gap, other.sharpness_gap, rtol=0, atol=ACCURACY
            )

    @every_divergence
    @every_kernel
    def test_many_rows_in_several_chunks(self, rng, divergence, kernel):
        n = 70_000
        v = rng.beta(2, 2, n)
        y = (rng.random(n) < v).astype(int)
        curve = calibration_sharpness_curve(y, v, divergence=divergence, kernel=kernel, n_points=7)
        values = divergence_of(divergence, y, v)
        assert_close(curve, compute_slowly(y, v, values, divergence, kernel=kernel, n_points=7))

    def test_many_rows_of_three_classes(self, rng):
        """Divergences keep to their rows, over chunks and absent rows."""
        n = 70_000
        proba = rng.dirichlet([2, 3, 4], n)
        y, w = rng.integers(0, 3, n), rng.integers(0, 3, n)
        curve = calibration_sharpness_curve(y, proba, sample_weight=w, n_points=7)
        values = ((np.eye(3)[y] - proba) ** 2).sum(axis=1)
        v, hit = proba.max(axis=1), proba.argmax(axis=1) == y
        options = {"weights": w, "kernel": "gaussian", "n_points": 7}
        assert_close(curve, compute_slowly(hit, v, values, "brier", **options))

    def test_bandwidth_none_takes_smooth_ece(self, rng):
        v = rng.random(500)
        y = (rng.random(500) < v**3).astype(int)
        curve = calibration_sharpness_curve(y, v, bandwidth=None)
        assert curve.bandwidth == pytest.approx(smooth_ece(y, v), abs=1e-5)
        expected = calibration_sharpness_curve(y, v, bandwidth=curve.bandwidth)
        for one, other in zip(curve, expected, strict=True):
            np.testing.assert_array_equal(one, other)

    @pytest.mark.parametrize("n_points", [2, 3, 1001])
    @every_kernel
    def test_n_points(self, binary, kernel, n_points):
        """Also a grid that misses all predictions by many bandwidths."""
        y, v = binary
        options = {"kernel": kernel, "n_points": n_points, "bandwidth": 0.001}
        curve = calibration_sharpness_curve(y, v, **options)
        assert len(curve.grid) == n_points
        assert_close(curve, compute_slowly(y, v, (y - v) ** 2, "brier", **options))


class TestIdentities:
    @every_divergence
    @every_kernel
    @pytest.mark.parametrize("n_distinct", [20, 1100])
    def test_mean_over_rows_is_the_decomposition(self, rng, divergence, kernel, n_distinct):
        """Predictions lie on grid points, so that the curve is known at every row."""
        n_points = 2001
        index = rng.choice(np.arange(1, n_points - 1), n_distinct)[
            rng.integers(0, n_distinct, 3000)
        ]
        v = np.linspace(0, 1, n_points)[index]
        y, w = (rng.random(3000) < v**2).astype(int), rng.integers(1, 4, 3000)
        options = {"sample_weight": w, "divergence": divergence, "kernel": kernel}
        curve = calibration_sharpness_curve(y, v, n_points=n_points, **options)
        parts = calibration_decomposition(y, v, **options)
        values = divergence_of(divergence, curve.prob_true[index], v)
        assert np.average(values, weights=w) == pytest.approx(parts.calibration, abs=ACCURACY)

    @every_divergence
    @pytest.mark.parametrize(
        ("kernel", "integral"), [("gaussian", np.sqrt(2 * np.pi)), ("epanechnikov", 4 / 3)]
    )
    def test_integral_is_the_total(self, rng, divergence, kernel, integral):
        """Density times mean divergence integrates to the total, away from the ends."""
        v = rng.uniform(0.4, 0.6, 500)
        y, w = rng.integers(0, 2, 500), rng.exponential(1, 500)
        options = {"sample_weight": w, "divergence": divergence, "kernel": kernel}
        options["bandwidth"] = 0.04
        curve = calibration_sharpness_curve(y, v, n_points=4001, **options)
        known = curve.density > 0
        own = divergence_of(divergence, curve.prob_true[known], curve.grid[known])
        own[~np.isfinite(own)] = 0  # at 0 and 1, where the density is nil
        gap = np.where(np.isfinite(curve.sharpness_gap[known]), curve.sharpness_gap[known], 0)
        mean = np.sum(curve.density[known] * (gap + own)) / 4000
        total = calibration_decomposition(y, v, **options).total
        # The trapezoid rule is exact but for the kinks of the Epanechnikov kernel.
        assert mean / (0.04 * integral) == pytest.approx(
            total, rel=1e-9 if kernel == "gaussian" else 1e-4
        )
        mass = curve.density.sum() / 4000
        assert mass == pytest.approx(0.04 * integral, rel=1e-4 if kernel != "gaussian" else 1e-9)

    @every_divergence
    @every_kernel
    def test_constant_predictions(self, divergence, kernel):
        y, v = np.repeat([1, 0], [6, 2]), np.full(8, 0.6)
        curve = calibration_sharpness_curve(y, v, divergence=divergence, kernel=kernel)
        parts = calibration_decomposition(y, v, divergence=divergence, kernel=kernel)
        at = np.argmin(np.abs(curve.grid - 0.6))
        assert curve.density[at] == pytest.approx(1, rel=1e-9)
        assert curve.sharpness_gap[at] == pytest.approx(parts.sharpness_gap, rel=1e-7)
        near = curve.density > 0
        np.testing.assert_allclose(curve.prob_true[near], 0.75, rtol=ACCURACY)

    def test_gap_of_the_squared_error_in_closed_form(self, rng):
        """Var(y - v) + (eta - mean v)^2 - (eta - t)^2, as the docstring says."""
        v = rng.uniform(0.2, 0.6, 200)
        y = (rng.random(200) < v**1.5).astype(int)
        curve = calibration_sharpness_curve(y, v)
        k = np.exp(-0.5 * ((curve.grid[:, None] - v) / 0.05) ** 2)
        k /= k.sum(axis=1, keepdims=True)
        eta, mean = k @ y, k @ v
        variance = k @ (y - v) ** 2 - (eta - mean) ** 2
        expected = variance + (eta - mean) ** 2 - (eta - curve.grid) ** 2
        np.testing.assert_allclose(curve.sharpness_gap, expected, rtol=0, atol=ACCURACY)
        assert curve.sharpness_gap[-1] < 0  # beyond the predictions

    @every_kernel
    def test_gap_of_calibrated_predictions_is_the_variance(self, kernel):
        """In the population, away from the ends; the kernel blurs v by a bandwidth."""
        v = (np.arange(20_000) + 0.5) / 20_000
        curve = calibration_sharpness_curve(v, v, kernel=kernel, bandwidth=0.005)
        inner = slice(10, -10)
        t = curve.grid[inner]
        np.testing.assert_allclose(curve.sharpness_gap[inner], t * (1 - t), rtol=0, atol=5e-5)
        np.testing.assert_allclose(curve.prob_true[inner], t, rtol=0, atol=1e-6)


class TestLaws:
    @every_divergence
    @every_kernel
    @pytest.mark.parametrize("columns", [1, 3])
    def test_weights_are_repetitions_and_order_is_nothing(self, rng, divergence, kernel, columns):
        n = 400
        if columns == 1:
            proba = rng.uniform(0.02, 0.98, n)
            y = (rng.random(n) < proba).astype(int)
            proba[:2], y[:2] = [0, 1], [1, 0]  # infinite, but absent below
        else:
            proba, y = rng.dirichlet([1, 1, 1], n), rng.integers(0, 3, n)
            proba[:2], y[:2] = [[0, 1, 0], [0, 0.5, 0.5]], 0
        w = rng.integers(0, 3, n)
        w[:2] = 0
        options = {"divergence": divergence, "kernel": kernel}
        expected = calibration_sharpness_curve(
            np.repeat(y, w), np.repeat(proba, w, axis=0), **options
        )
        assert not np.isinf(expected.sharpness_gap[1:-1]).any()
        for rows in (slice(None), rng.permutation(n)):
            curve = calibration_sharpness_curve(
                y[rows], proba[rows], sample_weight=w[rows], **options
            )
            for one, other in zip(curve, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=0, atol=ACCURACY)

    @every_divergence
    @every_kernel
    def test_the_other_label_has_the_mirrored_curve(self, binary, divergence, kernel):
        y, v = binary
        v = np.clip(np.round(v * 64), 1, 63) / 64  # 1 - v is exact
        options = {"divergence": divergence, "kernel": kernel, "n_points": 65}
        one = calibration_sharpness_curve(y, v, **options)
        other = calibration_sharpness_curve(1 - y, 1 - v, **options)
        np.testing.assert_allclose(one.prob_true, 1 - other.prob_true[::-1], atol=ACCURACY)
        np.testing.assert_allclose(one.sharpness_gap, other.sharpness_gap[::-1], atol=ACCURACY)
        np.testing.assert_allclose(one.density, other.density[::-1], rtol=1e-6)

    @every_divergence
    @every_kernel
    def test_soft_labels_are_outcomes_in_proportion(self, rng, divergence, kernel):
        v, soft = np.round(rng.uniform(0.05, 0.95, (2, 50)), 2)
        options = {"divergence": divergence, "kernel": kernel}
        one = calibration_sharpness_curve(soft, v, **options)
        other = calibration_sharpness_curve(
            np.repeat([1, 0], 50),
            np.tile(v, 2),
            sample_weight=np.concatenate([soft, 1 - soft]),
            **options,
        )
        for part, expected in zip(one, other, strict=True):
            np.testing.assert_allclose(part, expected, rtol=0, atol=ACCURACY)

    def test_labels_and_containers(self, binary):
        y, v = binary
        expected = calibration_sharpness_curve(y, v)
        names = np.where(y == 1, "wet", "dry")
        both = np.column_stack([v, 1 - v])
        for arguments, extra in (
            ((names, v), {"pos_label": "wet"}),
            (
                (pd.Series(names), pd.DataFrame(both)),
                {"labels": ["wet", "dry"], "pos_label": "wet"},
            ),
            ((y.tolist(), v.tolist()), {}),
            ((y.astype(bool), v[:, None]), {}),
        ):
            curve = calibration_sharpness_curve(*arguments, **extra)
            for one, other in zip(curve, expected, strict=True):
                np.testing.assert_allclose(one, other, rtol=0, atol=ACCURACY)

    def test_memory_does_not_grow_with_the_rows(self, rng):
        peaks = []
        for n in (200_000, 800_000):
            v = rng.uniform(0.3, 0.5, n)  # with far tails
            y = (rng.random(n) < v).astype(int)
            tracemalloc.start()
            calibration_sharpness_curve(y, v, bandwidth=0.01)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert peaks[1] < 1.2 * peaks[0]


class TestEdges:
    @every_divergence
    @every_kernel
    @pytest.mark.parametrize("label", [0, 1])
    def test_one_row(self, divergence, kernel, label):
        curve = calibration_sharpness_curve(
            [label], [0.3], divergence=divergence, kernel=kernel, n_points=11
        )
        expected = {"brier": (label - 0.3) ** 2, "log": -np.log([0.7, 0.3][label])}[divergence]
        known = curve.density > 0
        assert known[3]
        np.testing.assert_array_equal(curve.prob_true[known], label)
        own = divergence_of(divergence, float(label), curve.grid[known])
        np.testing.assert_allclose(curve.sharpness_gap[known], expected - own, rtol=0, atol=1e-8)
        assert curve.sharpness_gap[3] == pytest.approx(0, abs=1e-8)

    @every_divergence
    @every_kernel
    @pytest.mark.parametrize("label", [0, 1])
    @pytest.mark.parametrize("n", [5, 3000])
    def test_one_class(self, rng, divergence, kernel, label, n):
        v = rng.uniform(0.05, 0.95, n)
        curve = calibration_sharpness_curve(
            np.full(n, label), v, divergence=divergence, kernel=kernel
        )
        np.testing.assert_array_equal(curve.prob_true[curve.density > 0], label)

    @pytest.mark.parametrize("bandwidth", [0.001, 0.005, 0.05])
    @every_divergence
    def test_far_tails_are_those_of_the_nearest_predictions(self, rng, divergence, bandwidth):
        v = np.append(rng.uniform(0.5, 0.52, 5000), [0.49, 0.53])
        y = np.append(rng.integers(0, 2, 5000), [0, 1])
        options = {"divergence": divergence, "bandwidth": bandwidth}
        curve = calibration_sharpness_curve(y, v, **options)
        assert np.isfinite(curve.prob_true).all()
        assert np.isfinite(curve.sharpness_gap[1:-1]).all()
        values = divergence_of(divergence, y, v)
        eta, gap, _ = compute_slowly(
            y, v, values, divergence, bandwidth=bandwidth, kernel="gaussian"
        )
        np.testing.assert_allclose(curve.prob_true, eta, rtol=0, atol=ACCURACY)
        np.testing.assert_allclose(curve.sharpness_gap[1:-1], gap[1:-1], rtol=0, atol=ACCURACY)
        if bandwidth == 0.001:
            assert curve.density[0] == curve.density[-1] == 0
            assert curve.prob_true[0] == 0
            assert curve.prob_true[-1] == 1

    def test_epanechnikov_ends_where_predictions_end(self):
        curve = calibration_sharpness_curve(
            [0, 1, 1], [0.25, 0.25, 0.75], kernel="epanechnikov", bandwidth=0.125, n_points=17
        )
        known = np.abs(curve.grid - 0.25) < 0.125
        known |= np.abs(curve.grid - 0.75) < 0.125
        np.testing.assert_array_equal(np.isnan(curve.prob_true), ~known)
        np.testing.assert_array_equal(np.isnan(curve.sharpness_gap), ~known)
        np.testing.assert_array_equal(curve.density == 0, ~known)

    @every_kernel
    def test_a_huge_divergence_stays_where_it_is(self, kernel):
        """Rounding of what is enormous elsewhere must not reach the rest of the curve."""
        root = BregmanDivergence(lambda v: -np.sqrt(v), lambda v: -0.5 / np.sqrt(v))
        v = np.array([1e-300, 0.5, 0.5])
        y = np.array([1, 0, 1])
        options = {"divergence": root, "kernel": kernel, "bandwidth": 0.01}
        curve = calibration_sharpness_curve(y, v, **options)
        alone = calibration_sharpness_curve(y[1:], v[1:], **options)
        near = np.abs(curve.grid - 0.5) < 0.01
        np.testing.assert_allclose(
            curve.sharpness_gap[near], alone.sharpness_gap[near], rtol=0, atol=ACCURACY
        )
        assert curve.sharpness_gap[1] > 1e140


class TestInfinities:
    def test_certain_and_wrong(self):
        """Infinite as far as the kernel reaches."""
        y, v = [1, 0, 1, 1], [0.0, 0.0, 0.8, 0.8]
        curve = calibration_sharpness_curve(y, v, divergence="log")
        assert (curve.sharpness_gap == np.inf).all()
        assert np.isfinite(curve.prob_true).all()
        curve = calibration_sharpness_curve(y, v, divergence="log", kernel="epanechnikov")
        near, there = curve.grid < 0.05, np.abs(curve.grid - 0.8) < 0.0499
        assert (curve.sharpness_gap[near] == np.inf).all()
        assert np.isfinite(curve.sharpness_gap[there]).all()
        curve = calibration_sharpness_curve(y, v, divergence="log", bandwidth=0.01)
        assert (curve.sharpness_gap[curve.grid < 0.38] == np.inf).all()
        assert np.isfinite(curve.sharpness_gap[curve.grid > 0.6][:-1]).all()
        assert np.isfinite(calibration_sharpness_curve(y, v).sharpness_gap).all()

    @every_kernel
    @pytest.mark.parametrize("end", [0, 1])
    def test_certain_and_right(self, kernel, end):
        """No outcome within reach denies it: a gap of 0, not 0 times infinity."""
        curve = calibration_sharpness_curve(
            [end] * 3, [float(end)] * 3, divergence="log", kernel=kernel, bandwidth=0.001
        )
        assert curve.sharpness_gap[-end] == 0
        assert curve.prob_true[-end] == end

    @every_kernel
    def test_ends_of_the_grid(self, kernel):
        """0 and 1 are infinitely far from a mean outcome in between, whatever the rows say."""
        y, v = [0, 1, 0, 1], [0.02, 0.02, 0.98, 0.98]
        curve = calibration_sharpness_curve(y, v, divergence="log", kernel=kernel)
        assert curve.sharpness_gap[0] == curve.sharpness_gap[-1] == -np.inf
        assert curve.prob_true[0] == curve.prob_true[-1] == 0.5
        # The kernel of width 0.02 does not reach them with Epanechnikov.
        narrow = calibration_sharpness_curve(
            y, v, divergence="log", kernel="epanechnikov", bandwidth=0.01
        )
        assert np.isnan(narrow.sharpness_gap[0])

    @every_kernel
    def test_rounding_does_not_decide_between_certain_and_not(self, rng, kernel):
        """Weights like 0.1 cancel exactly where all outcomes within reach agree."""
        v = np.repeat([0.0, 0.5, 1.0], 50)
        y = np.repeat([0, 1, 1], 50)
        y[50:75] = 0
        w = rng.choice([0.1, 0.3, 0.7], 150)
        curve = calibration_sharpness_curve(
            y, v, sample_weight=w, divergence="log", kernel=kernel, bandwidth=0.01
        )
        assert curve.sharpness_gap[0] == curve.sharpness_gap[-1] == 0
        # With Epanechnikov, 0.5 is exactly one bandwidth away: out of reach.
        wide = calibration_sharpness_curve(
            y, v, sample_weight=w, divergence="log", kernel="epanechnikov", bandwidth=0.5
        )
        assert wide.sharpness_gap[0] == wide.sharpness_gap[-1] == 0

    def test_multiclass(self):
        """The true class has probability 0, the confidence is not 1."""
        proba = [[0.0, 0.4, 0.6], [0.1, 0.1, 0.8], [0.2, 0.7, 0.1]]
        curve = calibration_sharpness_curve(
            [0, 2, 1], proba, divergence="log", kernel="epanechnikov", bandwidth=0.05
        )
        infinite = curve.sharpness_gap == np.inf
        np.testing.assert_array_equal(infinite, np.abs(curve.grid - 0.6) < 0.05 - 1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"divergence": "briar"}, "divergence must be one of .* Did you mean 'brier'"),
        ({"divergence": np.square}, "divergence must be 'brier', 'log' or a BregmanDivergence"),
        ({"kernel": "gauss"}, "kernel must be one of .* Did you mean 'gaussian'"),
        ({"bandwidth": 0}, "bandwidth must be at least 0.001 and finite; got 0"),
        ({"bandwidth": np.inf}, "bandwidth must be at least 0.001 and finite; got inf"),
        ({"bandwidth": "wide"}, "bandwidth must be a number; got 'wide'"),
        ({"n_points": 1}, "n_points must be at least 2; got 1"),
        ({"n_points": 2.5}, "n_points must be an integer; got 2.5"),
        ({"sample_weight": [1, -1]}, "sample_weight must be finite and not negative"),
        ({"sample_weight": [0, 0]}, "sample_weight must hold at least one positive weight"),
        ({"pos_label": "yes"}, "pos_label"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        calibration_sharpness_curve([0, 1], [0.2, 0.7], **options)


@pytest.mark.parametrize(
    ("y_true", "y_proba", "message"),
    [
        ([0, 1], [0.2, 1.2], r"y_proba must lie in \[0, 1\]; got 1.2 at row 1"),
        ([0, 1], [0.2, np.nan], "y_proba"),
        ([0, 1, 1], [0.2, 0.9], "same length"),
        ([], [], "empty"),
        ([10, 11, 12], [0.2, 0.9, 0.5], "y_true has 3 labels"),
    ],
)
def test_bad_data(y_true, y_proba, message):
    with pytest.raises(ValueError, match=message):
        calibration_sharpness_curve(y_true, y_proba)
