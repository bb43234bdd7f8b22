"""The curves of calibration-sharpness diagrams: definition, identities, laws, infinities."""

import numpy as np
import pytest
from scipy.special import rel_entr

from skcal.metrics import (
    BregmanDivergence,
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


def assert_near(curve, expected, rows=slice(None)):
    """A curve and another one, or three arrays of it."""
    if len(expected) > 3:
        expected = expected.prob_true, expected.sharpness_gap, expected.density
    eta, gap, density = (values[rows] for values in expected)
    np.testing.assert_allclose(curve.prob_true[rows], eta, rtol=0, atol=ACCURACY)
    np.testing.assert_allclose(curve.sharpness_gap[rows], gap, rtol=0, atol=ACCURACY)
    np.testing.assert_allclose(curve.density[rows], density, rtol=1e-6, atol=1e-10)


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
    @pytest.mark.parametrize("bandwidth", [0.001, 0.05, 2.0])
    @pytest.mark.parametrize("n_points", [2, 201])
    def test_binary(self, binary, rng, divergence, kernel, bandwidth, n_points):
        """Also a grid that misses all predictions by many bandwidths."""
        y, v = binary
        weights = rng.exponential(1, len(y))
        options = {"bandwidth": bandwidth, "kernel": kernel, "n_points": n_points}
        curve = calibration_sharpness_curve(
            y, v, sample_weight=weights, divergence=divergence, **options
        )
        values = divergence_of(divergence, y, v)
        assert_near(curve, compute_slowly(y, v, values, divergence, weights=weights, **options))
        assert curve.bandwidth == bandwidth
        np.testing.assert_array_equal(curve.grid, np.linspace(0, 1, n_points))

    @every_divergence
    @every_kernel
    def test_multiclass(self, multiclass, rng, divergence, kernel):
        """Confidences, but the divergence of all classes."""
        y, proba = multiclass
        weights = rng.integers(0, 3, len(y))
        v, hit = proba.max(axis=1), proba.argmax(axis=1) == y
        values = ((np.eye(4)[y] - proba) ** 2).sum(axis=1)
        if divergence == "log":
            values = -np.log(proba[np.arange(len(y)), y])
        options = {"divergence": divergence, "kernel": kernel}
        curve = calibration_sharpness_curve(y, proba, sample_weight=weights, **options)
        assert_near(curve, compute_slowly(hit, v, values, weights=weights, **options))
        names = np.array(list("dbca"))
        one = calibration_sharpness_curve(names[y], proba, pos_label="c", labels=names, **options)
        assert_near(one, calibration_sharpness_curve(y == 2, proba[:, 2], **options))

    @every_kernel
    def test_users_divergence(self, binary, multiclass, kernel):
        square = BregmanDivergence(np.square, lambda v: 2 * v)
        for data in (binary, multiclass):
            curve = calibration_sharpness_curve(*data, divergence=square, kernel=kernel)
            assert_near(curve, calibration_sharpness_curve(*data, kernel=kernel))

    @every_kernel
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_many_rows_in_several_chunks(self, rng, kernel, n_classes):
        """Divergences keep to their rows, over chunks and absent rows."""
        n = 70_000
        proba = rng.dirichlet([2, 3, 4][:n_classes], n)
        y, w = rng.integers(0, n_classes, n), rng.integers(0, 3, n)
        v, hit, values = proba[:, 1], y, (y - proba[:, 1]) ** 2
        if n_classes == 3:
            v, hit = proba.max(axis=1), proba.argmax(axis=1) == y
            values = ((np.eye(3)[y] - proba) ** 2).sum(axis=1)
        curve = calibration_sharpness_curve(y, proba, sample_weight=w, kernel=kernel, n_points=7)
        options = {"weights": w, "kernel": kernel, "n_points": 7}
        assert_near(curve, compute_slowly(hit, v, values, "brier", **options))

    def test_bandwidth_none_takes_smooth_ece(self, rng):
        v = rng.random(500)
        y = (rng.random(500) < v**3).astype(int)
        curve = calibration_sharpness_curve(y, v, bandwidth=None)
        assert curve.bandwidth == pytest.approx(smooth_ece(y, v), abs=1e-5)
        assert_near(curve, calibration_sharpness_curve(y, v, bandwidth=curve.bandwidth))


@every_divergence
@every_kernel
@pytest.mark.parametrize("columns", [1, 3])
def test_weights_are_repetitions_and_order_is_nothing(rng, divergence, kernel, columns):
    """Also of soft labels, which are outcomes in proportion."""
    n = 400
    proba, y = rng.uniform(0.02, 0.98, n), rng.integers(0, 2, n)
    proba[:2], y[:2] = [0, 1], [1, 0]  # infinite, but absent below
    if columns == 3:
        proba, y = rng.dirichlet([1, 1, 1], n), rng.integers(0, 3, n)
        proba[:2], y[:2] = [[0, 1, 0], [0, 0.5, 0.5]], 0
    w = rng.integers(0, 3, n)
    w[:2] = 0
    options = {"divergence": divergence, "kernel": kernel}
    rows = rng.permutation(np.repeat(np.arange(n), w))
    expected = calibration_sharpness_curve(y[rows], proba[rows], **options)
    assert not np.isinf(expected.sharpness_gap[1:-1]).any()
    assert_near(calibration_sharpness_curve(y, proba, sample_weight=w, **options), expected)
    if columns == 1:
        v, soft = rng.uniform(0.05, 0.95, (2, 50))
        weights = np.concatenate([soft, 1 - soft])
        both = np.repeat([1, 0], 50), np.tile(v, 2)
        expected = calibration_sharpness_curve(*both, sample_weight=weights, **options)
        assert_near(calibration_sharpness_curve(soft, v, **options), expected)


@every_divergence
@every_kernel
@pytest.mark.parametrize(("label", "n"), [(0, 1), (1, 3000)])
def test_one_class(rng, divergence, kernel, label, n):
    v = np.append(0.3, rng.uniform(0.05, 0.95, n - 1))
    curve = calibration_sharpness_curve(
        np.full(n, label), v, divergence=divergence, kernel=kernel, n_points=11
    )
    known = curve.density > 0
    assert known[3]
    np.testing.assert_array_equal(curve.prob_true[known], label)


class TestInfinities:
    @every_kernel
    def test_a_huge_divergence_stays_where_it_is(self, kernel):
        """Rounding of what is enormous elsewhere must not reach the rest of the curve."""
        root = BregmanDivergence(lambda v: -np.sqrt(v), lambda v: -0.5 / np.sqrt(v))
        y, v = np.array([1, 0, 1]), np.array([1e-300, 0.5, 0.5])
        options = {"divergence": root, "kernel": kernel, "bandwidth": 0.01}
        curve = calibration_sharpness_curve(y, v, **options)
        alone = calibration_sharpness_curve(y[1:], v[1:], **options)
        near = np.abs(curve.grid - 0.5) < 0.01
        np.testing.assert_allclose(
            curve.sharpness_gap[near], alone.sharpness_gap[near], rtol=0, atol=ACCURACY
        )
        assert curve.sharpness_gap[1] > 1e140

    @pytest.mark.parametrize(
        ("options", "reached", "not_reached"),
        [
            ({}, (0, 1), None),
            ({"kernel": "epanechnikov"}, (0, 0.0499), (0.7501, 0.8499)),
            ({"bandwidth": 0.01}, (0, 0.38), (0.6, 0.999)),
        ],
    )
    def test_certain_and_wrong(self, options, reached, not_reached):
        """Infinite as far as the kernel reaches."""
        y, v = [1, 0, 1, 1], [0.0, 0.0, 0.8, 0.8]
        curve = calibration_sharpness_curve(y, v, divergence="log", **options)

        def between(low, high):
            return curve.sharpness_gap[(low <= curve.grid) & (curve.grid <= high)]

        assert (between(*reached) == np.inf).all()
        assert not_reached is None or np.isfinite(between(*not_reached)).all()
        assert not np.isinf(calibration_sharpness_curve(y, v, **options).sharpness_gap).any()

    @every_kernel
    @pytest.mark.parametrize("end", [0, 1])
    def test_certain_and_right(self, kernel, end):
        """No outcome within reach denies it: a gap of 0, not 0 times infinity."""
        options = {"divergence": "log", "kernel": kernel, "bandwidth": 0.001}
        curve = calibration_sharpness_curve([end] * 3, [float(end)] * 3, **options)
        assert curve.sharpness_gap[-end] == 0
        assert curve.prob_true[-end] == end

    @pytest.mark.parametrize(
        ("kernel", "bandwidth"),
        # 0.5 is exactly one bandwidth away in the last case: out of reach.
        [("gaussian", 0.01), ("epanechnikov", 0.01), ("epanechnikov", 0.5)],
    )
    def test_rounding_does_not_decide_between_certain_and_not(self, rng, kernel, bandwidth):
        """Weights like 0.1 cancel exactly where all outcomes within reach agree."""
        v, y = np.repeat([0.0, 0.5, 1.0], 50), np.repeat([0, 1, 0, 1], [50, 25, 25, 50])
        options = {"divergence": "log", "kernel": kernel, "bandwidth": bandwidth}
        options["sample_weight"] = rng.choice([0.1, 0.3, 0.7], 150)
        curve = calibration_sharpness_curve(y, v, **options)
        assert curve.sharpness_gap[0] == curve.sharpness_gap[-1] == 0

    def test_multiclass(self):
        """The true class has probability 0, the confidence is not 1."""
        proba = [[0.0, 0.4, 0.6], [0.1, 0.1, 0.8], [0.2, 0.7, 0.1]]
        curve = calibration_sharpness_curve(
            [0, 2, 1], proba, divergence="log", kernel="epanechnikov", bandwidth=0.05
        )
        infinite = curve.sharpness_gap == np.inf
        np.testing.assert_array_equal(infinite, np.abs(curve.grid - 0.6) < 0.05 - 1e-12)
