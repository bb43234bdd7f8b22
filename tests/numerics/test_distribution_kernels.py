"""Kernel expectations and distances of distributions, against numerical integration."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.integrate import quad
from scipy.linalg import sqrtm

from skcal._numerics.distributions import _distribution_kernels as kernels
from skcal._numerics.distributions._distribution_kernels import (
    Laplaces,
    Mixtures,
    MultivariateNormals,
    Normals,
)
from tests.cases import slow_among

UNIVARIATE = {Normals: stats.norm, Laplaces: stats.laplace}
every_family = pytest.mark.parametrize("family", [Normals, Laplaces, MultivariateNormals])


def make_normals(mean, covariance):
    return MultivariateNormals(mean, covariance, np.linalg.cholesky(covariance))


def draw_family(rng, family, shape):
    location = rng.normal(size=shape)
    if family is MultivariateNormals:
        root = rng.normal(size=(*shape, shape[-1])) + 0.1 * np.eye(shape[-1])
        return make_normals(location, root @ np.swapaxes(root, -1, -2))
    return family(location, np.exp(rng.normal(size=shape)))


def draw_mixture(rng, family, n, n_components):
    shape = (n, n_components, 2) if family is MultivariateNormals else (n, n_components)
    return Mixtures(rng.dirichlet(np.ones(n_components), n), draw_family(rng, family, shape))


def list_components(mixture, row):
    """Weights and families of one row each, as a mixture holds them."""
    parts = mixture.take([row]).components.flatten()
    return [(w, parts.take([j])) for j, w in enumerate(mixture.weights[row])]


def integrate(function, family, row):
    """Expectation of a function, with the kinks of the integrand kept in mind."""
    location, scale = family.take(row)
    density = UNIVARIATE[type(family)](location, scale).pdf
    points = [-1, 0, 1, *(location + scale * np.array([-5, 0, 5]))]
    ends, options = location + scale * np.array([-45, 45]), {"epsabs": 1e-12, "epsrel": 1e-12}
    return quad(lambda z: function(np.array([z])) * density(z), *ends, points=points, **options)[0]


@pytest.mark.parametrize("family", slow_among(UNIVARIATE, Normals))
def test_expectations_are_integrals(family):
    distributions = family(np.full(4, 0.3), np.array([0.05, 1 - 1e-7, 1.0, 7.0]))
    other, targets = family(np.array([0.0, -1.0]), np.array([1.0, 0.2])), np.array([[-1.0], [0.0]])
    once, pairs = distributions.expect(targets[:, 0]), distributions.expect_pairs(other)
    for i in range(4):
        for j, y in enumerate(targets):
            expected = integrate(lambda z, y=y: family.compare(z, y)[0, 0], distributions, i)
            assert once[i, j] == pytest.approx(expected, abs=1e-10)
            one = distributions.take([i])
            expected = integrate(lambda z, one=one: one.expect(z)[0, 0], other, j)
            assert pairs[i, j] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("n_dimensions", [1, 3])
def test_independent_dimensions_are_products_and_rotations_change_nothing(rng, n_dimensions):
    """The Gaussian kernel of a vector is the product of those of its entries."""
    mean, deviation = rng.normal(size=(5, n_dimensions)), np.exp(rng.normal(size=(5, n_dimensions)))
    marginals, targets = list(map(Normals, mean.T, deviation.T)), rng.normal(size=(4, n_dimensions))
    rotation = np.linalg.qr(rng.normal(size=(n_dimensions, n_dimensions)))[0]
    turned = make_normals(mean @ rotation, rotation.T @ (deviation[..., None] ** 2 * rotation))
    columns = list(zip(marginals, targets.T, mean.T, strict=True))
    for actual, expected in (
        (turned.expect(targets @ rotation), [m.expect(t) for m, t, _ in columns]),
        (turned.expect_pairs(turned), [m.expect_pairs(m) for m in marginals]),
        (turned.compare(targets, mean), [m.compare(t, x) for m, t, x in columns]),
    ):
        assert_allclose(actual, np.prod(expected, axis=0), rtol=1e-12)
    square = sum(m.measure_distance(m) ** 2 for m in marginals)
    assert_allclose(turned.measure_distance(turned), np.sqrt(square), atol=1e-7)


@every_family
def test_mixtures_are_sums(rng, family):
    first, second = draw_mixture(rng, family, 3, 2), draw_mixture(rng, family, 4, 3)
    targets = rng.normal(size=(5, 2) if family is MultivariateNormals else 5)
    once, pairs = first.expect(targets), first.expect_pairs(second)
    for i, j in np.ndindex(3, 4):
        own, others = list_components(first, i), list_components(second, j)
        assert_allclose(once[i], sum(w * part.expect(targets)[0] for w, part in own), rtol=1e-13)
        terms = [w * v * a.expect_pairs(b)[0, 0] for w, a in own for v, b in others]
        assert pairs[i, j] == pytest.approx(sum(terms), rel=1e-13)


def expect_precisely(distance, *scales):
    """Partial fractions with 100 digits; scales that coincide are moved apart by 1e-25."""
    scales = [Decimal(b) * (1 + k * Decimal("1e-25")) for k, b in enumerate((1, *scales))]
    total = Decimal(0)
    for b in scales:
        factors = [b**2 / (b**2 - other**2) for other in scales if other != b]
        total += np.prod(factors) * (-Decimal(distance) / b).exp() / b
    return float(total)


def test_laplace_formulas_keep_all_digits(rng):
    """Of scales that are close or equal to 1, to each other, to both, or to none."""
    gap = 10 ** rng.uniform(-14, -0.5, size=(2, 400)) * rng.choice([-1, 0, 1], size=(2, 400))
    far, kind = np.exp(rng.normal(size=(2, 400))), np.arange(400) % 4
    first = np.where(kind == 0, 1 + gap[0], far[0])
    second = np.select([kind < 2, kind == 2], [1 + gap[1], first * (1 + gap[1])], far[1])
    distance = np.exp(rng.uniform(-6, 4, size=400)) * (rng.random(400) > 0.05)
    once = kernels.expect_laplace(distance, first)
    pairs = kernels.expect_laplace_pairs(distance, first, second)
    with localcontext(prec=100):
        for z, b, other, alone, both in zip(distance, first, second, once, pairs, strict=True):
            assert alone == pytest.approx(expect_precisely(z, b), rel=2e-14)
            assert both == pytest.approx(expect_precisely(z, b, other), rel=2e-14)
    # Hardly any spread: the kernel itself.
    assert_allclose(kernels.expect_laplace(distance, 1e-12), np.exp(-distance), rtol=1e-8)


@pytest.mark.parametrize("family", UNIVARIATE)
def test_distance_on_the_line(rng, family):
    """The Wasserstein-2 distance is that of the quantile functions."""
    first, second = draw_family(rng, family, (2,)), draw_family(rng, family, (1,))
    distance, other = first.measure_distance(second), UNIVARIATE[family](*second.take(0))
    for i in range(2):
        one = UNIVARIATE[family](*first.take(i))
        square = quad(lambda q, one=one: (one.ppf(q) - other.ppf(q)) ** 2, 0, 1, epsabs=1e-10)[0]
        assert distance[i, 0] ** 2 == pytest.approx(square, abs=1e-8)


def test_bures_distance(rng):
    family = draw_family(rng, MultivariateNormals, (4, 3))
    distance = family.measure_distance(family.take([0]))[:, 0]
    for at, own, found in zip(*family[:2], distance, strict=True):
        root, other = sqrtm(own), family.covariance[0]
        bures = np.trace(own + other - 2 * np.real(sqrtm(root @ other @ root)))
        assert found**2 == pytest.approx(((at - family.mean[0]) ** 2).sum() + bures, abs=1e-9)
    # On commuting matrices it is the distance of the roots, however small.
    rotation, deviation = np.linalg.qr(rng.normal(size=(3, 3)))[0], np.array([2.0, 1.0, 0.5])
    for gap in (0, 1e-3, 1e-6, 1e-9):
        covariances = ((rotation * d**2 @ rotation.T)[None] for d in (deviation, deviation + gap))
        one, other = (make_normals(np.zeros((1, 3)), covariance) for covariance in covariances)
        assert one.measure_distance(other)[0, 0] == pytest.approx(np.sqrt(3) * gap, abs=1e-14)


@every_family
def test_distance_of_mixtures(rng, family):
    """Of two components each: plans depend on one mass, and the cost is linear in it."""
    first, second = draw_mixture(rng, family, 4, 2), draw_mixture(rng, family, 3, 2)
    distance = first.measure_distance(second)
    for i, j in np.ndindex(4, 3):
        own, others = list_components(first, i), list_components(second, j)
        w, v = own[0][0], others[0][0]
        cost = [[a.measure_distance(b)[0, 0] ** 2 for _, b in others] for _, a in own]
        plans = ([[p, w - p], [v - p, 1 - w - v + p]] for p in (max(0, w + v - 1), min(w, v)))
        least = min(np.sum(np.multiply(cost, plan)) for plan in plans)
        assert distance[i, j] ** 2 == pytest.approx(least, rel=1e-10)
    # Half of the programs of a mixture with itself are enough.
    expected = second.measure_distance(second.take(slice(None)))
    assert_allclose(second.measure_distance(second), expected, rtol=1e-10, atol=1e-12)


@every_family
def test_rescaled_variables_and_rows_of_parameters(rng, family):
    """Of a component its mean and its scale, or its covariance but not the root; weights first."""
    mixture = draw_mixture(rng, family, 3, 4)
    single, fields = mixture.components.flatten(), (mixture.weights, *mixture.components[:2])
    expected = np.hstack([field[:, j].reshape(3, -1) for j in range(4) for field in fields])
    assert_array_equal(mixture.list_parameters(), expected)
    expected = np.hstack([field.reshape(12, -1) for field in single[:2]])
    assert_array_equal(single.list_parameters(), expected)
    for distributions in (mixture, single):
        scaled = distributions.rescale(2.5)
        expected = 2.5 * distributions.measure_distance(distributions)
        assert_allclose(scaled.measure_distance(scaled), expected, rtol=1e-9, atol=1e-14)
    assert_allclose(scaled.mean, 2.5 * single.mean)
    if family is MultivariateNormals:
        product = scaled.root @ np.swapaxes(scaled.root, -1, -2)
        assert_allclose(product, scaled.covariance, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("size", [1, 3, 4, 100])
def test_estimates_over_any_chunks(rng, size):
    """Means over all pairs, or over those of different rows, where weights are repetitions."""

    def estimate(values, *arguments, **options):
        return kernels.estimate_square(lambda *at: values[at], *arguments, **options)

    values, w = rng.normal(size=(11, 11)), rng.integers(1, 4, 11)
    values += values.T
    for start, stop in ((0, 11), (2, 9), (5, 7)):
        rows = np.repeat(np.arange(start, stop), w[start:stop])
        pairs = values[np.ix_(rows, rows)]
        different = pairs[~np.eye(len(rows), dtype=bool)]
        for unbiased, expected in ((False, pairs.mean()), (True, different.mean())):
            value = estimate(values, w * 1.0, start, stop, size, unbiased=unbiased)
            assert value == pytest.approx(expected, rel=1e-12)
    for mass, expected in ((1.0, 0.0), (1.9, 0.0), (2.0, 1.0)):  # two rows at least
        value = estimate(np.ones((2, 2)), np.full(2, mass / 2), 0, 2, size, unbiased=True)
        assert value == pytest.approx(expected, abs=1e-12)
    embedded = kernels.embed_residuals(lambda *at: values[:7][at], w, 7, size)
    assert_allclose(embedded, values[:7] @ w, rtol=1e-12)


@pytest.mark.parametrize("cells", [1, 2**12, 2**18])
def test_pairs_of_two_chunks_fit_into_an_array(rng, monkeypatch, cells):
    monkeypatch.setattr(kernels, "_CELLS", cells)
    for first, second, most in (
        (draw_family(rng, Normals, (5,)), draw_family(rng, Laplaces, (5,)), 1),
        (draw_mixture(rng, Laplaces, 2, 4), draw_mixture(rng, Laplaces, 2, 3), 4**2),
        (draw_mixture(rng, MultivariateNormals, 2, 2), draw_mixture(rng, Normals, 2, 3), 4 * 2**2),
    ):
        size = kernels.find_chunk_size(first, second)
        assert size == 1 or size**2 * most <= cells
        assert (size + 1) ** 2 * most > cells
