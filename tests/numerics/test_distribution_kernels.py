"""Kernel expectations and distances of distributions, against numerical integration."""

from decimal import Decimal, localcontext
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.linalg import sqrtm

from skcal._numerics import _distribution_kernels
from skcal._numerics._distribution_kernels import (
    Laplaces,
    Mixtures,
    MultivariateNormals,
    Normals,
    embed_residuals,
    estimate_square,
    expect_laplace,
    expect_laplace_pairs,
    find_chunk_size,
)

UNIVARIATE = {Normals: stats.norm, Laplaces: stats.laplace}
every_univariate = pytest.mark.parametrize("family", UNIVARIATE)
every_family = pytest.mark.parametrize("family", [Normals, Laplaces, MultivariateNormals])
SCALES = [0.05, 1 - 1e-7, 1.0, 7.0]


def draw_family(rng, family, shape):
    location = rng.normal(size=shape)
    if family is MultivariateNormals:
        root = rng.normal(size=(*shape, shape[-1])) + 0.1 * np.eye(shape[-1])
        covariance = root @ np.swapaxes(root, -1, -2)
        return family(location, covariance, np.linalg.cholesky(covariance))
    return family(location, np.exp(rng.normal(size=shape)))


def draw_mixture(rng, family, n, n_components, n_dimensions=2):
    shape = (n, n_components, n_dimensions)[: 3 if family is MultivariateNormals else 2]
    return Mixtures(rng.dirichlet(np.ones(n_components), n), draw_family(rng, family, shape))


def list_components(mixture, row):
    """Weights and families of one row each, as a mixture holds them."""
    parts = mixture.take([row]).components.flatten()
    return [(w, parts.take([j])) for j, w in enumerate(mixture.weights[row])]


# --------------------------------------------------------------------------- expectations


def integrate_univariate(function, family, row):
    """Expectation of a function of a random variable, with the kink of its density kept in mind."""
    location, scale = family.take(row)
    density = UNIVARIATE[type(family)](location, scale).pdf
    span = location + scale * np.array([-45, -5, 0, 5, 45])
    pieces = np.unique([*span, *np.clip([-1.0, 0.0, 1.0], span[0], span[-1])])
    return sum(
        integrate.quad(lambda z: function(z) * density(z), a, b, epsabs=1e-12, epsrel=1e-12)[0]
        for a, b in pairwise(pieces)
    )


@every_univariate
def test_expectations_are_integrals(family):
    distributions = family(np.full(4, 0.3), np.array(SCALES))
    other = family(np.array([0.0, -1.0]), np.array([1.0, 0.2]))
    targets = np.array([-1.0, 0.0])
    once, pairs = distributions.expect(targets), distributions.expect_pairs(other)
    for i in range(4):
        for j, target in enumerate(targets):
            expected = integrate_univariate(
                lambda z, y=target: family.compare(np.array([z]), np.array([y]))[0, 0],
                distributions,
                i,
            )
            assert once[i, j] == pytest.approx(expected, abs=1e-10)
            expected = integrate_univariate(
                lambda z, i=i: distributions.take([i]).expect(np.array([z]))[0, 0], other, j
            )
            assert pairs[i, j] == pytest.approx(expected, abs=1e-10)


def test_kernels_of_targets():
    y, others = np.array([0.0, 3.0]), np.array([1.0, 3.0])
    np.testing.assert_allclose(Laplaces.compare(y, others), np.exp([[-1, -3], [-2, 0]]))
    np.testing.assert_allclose(Normals.compare(y, others), np.exp([[-0.5, -4.5], [-2, 0]]))


@pytest.mark.parametrize("n_dimensions", [1, 3])
def test_independent_dimensions_are_products_and_rotations_change_nothing(rng, n_dimensions):
    """The Gaussian kernel of a vector is the product of those of its entries."""
    mean, deviation = rng.normal(size=(5, n_dimensions)), np.exp(rng.normal(size=(5, n_dimensions)))
    marginals = [Normals(mean[:, k], deviation[:, k]) for k in range(n_dimensions)]
    targets = rng.normal(size=(4, n_dimensions))
    rotation = np.linalg.qr(rng.normal(size=(n_dimensions, n_dimensions)))[0]
    covariance = rotation.T @ (deviation[..., None] ** 2 * rotation)
    turned = MultivariateNormals(mean @ rotation, covariance, np.linalg.cholesky(covariance))
    columns = list(zip(marginals, targets.T, mean.T, strict=True))
    for actual, expected in (
        (turned.expect(targets @ rotation), [m.expect(t) for m, t, _ in columns]),
        (turned.expect_pairs(turned), [m.expect_pairs(m) for m in marginals]),
        (turned.compare(targets, mean), [m.compare(t, x) for m, t, x in columns]),
    ):
        np.testing.assert_allclose(actual, np.prod(expected, axis=0), rtol=1e-12)
    square = sum(m.measure_distance(m) ** 2 for m in marginals)
    np.testing.assert_allclose(turned.measure_distance(turned), np.sqrt(square), atol=1e-7)


@every_family
def test_mixtures_are_sums(rng, family):
    first, second = draw_mixture(rng, family, 3, 2), draw_mixture(rng, family, 4, 3)
    targets = rng.normal(size=(5, 2) if family is MultivariateNormals else 5)
    once, pairs = first.expect(targets), first.expect_pairs(second)
    for i in range(3):
        expected = sum(w * part.expect(targets)[0] for w, part in list_components(first, i))
        np.testing.assert_allclose(once[i], expected, rtol=1e-13)
        for j in range(4):
            expected = sum(
                w * v * part.expect_pairs(other)[0, 0]
                for w, part in list_components(first, i)
                for v, other in list_components(second, j)
            )
            assert pairs[i, j] == pytest.approx(expected, rel=1e-13)


# --------------------------------------------------------------------------- coinciding scales


def expect_precisely(distance, *scales):
    """Partial fractions with 100 digits; scales that coincide are moved apart by 1e-25."""
    scales = [Decimal(1), *map(Decimal, scales)]
    scales = [b * (1 + k * Decimal("1e-25")) for k, b in enumerate(scales)]
    total = Decimal(0)
    for i, b in enumerate(scales):
        factor = Decimal(1)
        for other in scales[:i] + scales[i + 1 :]:
            factor *= b**2 / (b**2 - other**2)
        total += factor * (-Decimal(distance) / b).exp() / b
    return float(total)


def draw_close_scales(rng, n=400):
    """Scales that are close or equal to 1, to each other, to both, or to none."""
    gap = 10 ** rng.uniform(-14, -0.5, size=(2, n)) * rng.choice([-1, 0, 1], size=(2, n))
    far = np.exp(rng.normal(size=(2, n)))
    kind = np.arange(n) % 4
    first = np.where(kind == 0, 1 + gap[0], far[0])
    second = np.select([kind < 2, kind == 2], [1 + gap[1], first * (1 + gap[1])], far[1])
    return first, second


def test_laplace_formulas_keep_all_digits(rng):
    first, second = draw_close_scales(rng)
    distance = np.exp(rng.uniform(-6, 4, size=400)) * (rng.random(400) > 0.05)
    once = expect_laplace(distance, first)
    pairs = expect_laplace_pairs(distance, first, second)
    with localcontext(prec=100):
        for z, b, other, alone, both in zip(distance, first, second, once, pairs, strict=True):
            assert alone == pytest.approx(expect_precisely(z, b), rel=2e-14)
            assert both == pytest.approx(expect_precisely(z, b, other), rel=2e-14)
    # Hardly any spread: the kernel itself.
    np.testing.assert_allclose(expect_laplace(distance, 1e-12), np.exp(-distance), rtol=1e-8)


# --------------------------------------------------------------------------- distances


def integrate_quantiles(first, second):
    """Squared Wasserstein-2 distance on the line, from the two quantile functions.

    The integral runs over the logit of the level, which tames the infinite ends.
    """

    def integrand(t):
        level, other = 1 / (1 + np.exp(-t)), 1 / (1 + np.exp(t))
        both = [d.ppf(level) if t < 0 else d.isf(other) for d in (first, second)]
        return (both[0] - both[1]) ** 2 * level * other

    return sum(
        integrate.quad(integrand, a, b, epsabs=1e-12, epsrel=1e-12)[0]
        for a, b in ((-40, -5), (-5, 0), (0, 5), (5, 40))
    )


@every_univariate
def test_distance_on_the_line(rng, family):
    first, second = draw_family(rng, family, (2,)), draw_family(rng, family, (1,))
    distance = first.measure_distance(second)
    for i in range(2):
        pair = [UNIVARIATE[family](*d.take(k)) for d, k in ((first, i), (second, 0))]
        assert distance[i, 0] ** 2 == pytest.approx(integrate_quantiles(*pair), abs=1e-8)


def test_bures_distance(rng):
    family = draw_family(rng, MultivariateNormals, (4, 3))
    distance = family.measure_distance(family.take([0]))[:, 0]
    for at, own, found in zip(*family[:2], distance, strict=True):
        root, other = sqrtm(own), family.covariance[0]
        bures = np.trace(own + other - 2 * np.real(sqrtm(root @ other @ root)))
        assert found**2 == pytest.approx(((at - family.mean[0]) ** 2).sum() + bures, abs=1e-9)


def test_bures_distance_of_near_covariances(rng):
    """On commuting matrices it is the distance of the roots, however small."""
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    deviation = np.array([2.0, 1.0, 0.5])
    for gap in (0, 1e-3, 1e-6, 1e-9):
        covariances = [rotation * d**2 @ rotation.T for d in (deviation, deviation + gap)]
        families = [
            MultivariateNormals(np.zeros((1, 3)), c[None], np.linalg.cholesky(c)[None])
            for c in covariances
        ]
        distance = families[0].measure_distance(families[1])[0, 0]
        assert distance == pytest.approx(np.sqrt(3) * gap, abs=1e-14)


@every_family
def test_distance_of_mixtures(rng, family):
    """Of two components each: plans depend on one mass, and the cost is linear in it."""
    first, second = draw_mixture(rng, family, 4, 2), draw_mixture(rng, family, 3, 2)
    distance = first.measure_distance(second)
    for i in range(4):
        for j in range(3):
            own, others = list_components(first, i), list_components(second, j)
            w, v = own[0][0], others[0][0]
            cost = [[a.measure_distance(b)[0, 0] ** 2 for _, b in others] for _, a in own]
            ends = [
                np.sum(np.multiply(cost, [[p, w - p], [v - p, 1 - w - v + p]]))
                for p in (max(0, w + v - 1), min(w, v))
            ]
            assert distance[i, j] ** 2 == pytest.approx(min(ends), rel=1e-10)
    # Half of the programs of a mixture with itself are enough.
    np.testing.assert_allclose(
        second.measure_distance(second),
        second.measure_distance(second.take(slice(None))),
        rtol=1e-10,
        atol=1e-12,
    )


# --------------------------------------------------------------------------- shapes and scales


@every_family
def test_rescaling(rng, family):
    """Distances scale along; the distributions are those of the scaled variable."""
    single = draw_family(rng, family, (5, 2)[: 2 if family is MultivariateNormals else 1])
    for distributions in (single, draw_mixture(rng, family, 5, 2)):
        scaled = distributions.rescale(2.5)
        expected = 2.5 * distributions.measure_distance(distributions)
        np.testing.assert_allclose(scaled.measure_distance(scaled), expected, rtol=1e-9, atol=1e-14)
        inner, scaled_inner = (getattr(d, "components", d) for d in (distributions, scaled))
        np.testing.assert_allclose(scaled_inner.mean, 2.5 * inner.mean)
        if family is MultivariateNormals:
            product = scaled_inner.root @ np.swapaxes(scaled_inner.root, -1, -2)
            np.testing.assert_allclose(product, scaled_inner.covariance, rtol=1e-10, atol=1e-15)


@every_family
def test_parameters_are_rows_of_numbers(rng, family):
    """Of a component its mean and its scale, or its covariance but not the root; weights first."""
    mixture = draw_mixture(rng, family, 3, 4)
    parts = [
        part
        for j in range(4)
        for part in (
            mixture.weights[:, j],
            *(field[:, j] for field in mixture.components[:2]),
        )
    ]
    expected = np.hstack([part.reshape(3, -1) for part in parts])
    np.testing.assert_array_equal(mixture.list_parameters(), expected)
    single = mixture.components.flatten()
    expected = np.hstack([field.reshape(12, -1) for field in single[:2]])
    np.testing.assert_array_equal(single.list_parameters(), expected)


# --------------------------------------------------------------------------- chunks


@pytest.mark.parametrize("size", [1, 3, 4, 100])
def test_estimates_over_any_chunks(rng, size):
    """Means over all pairs, or over those of different rows, where weights are repetitions."""
    values, w = rng.normal(size=(11, 11)), rng.integers(1, 4, 11)
    values += values.T

    def evaluate(rows, others):
        return values[rows, others]

    for start, stop in ((0, 11), (2, 9), (5, 7)):
        rows = np.repeat(np.arange(start, stop), w[start:stop])
        pairs = values[np.ix_(rows, rows)]
        different = pairs[~np.eye(len(rows), dtype=bool)]
        for unbiased, expected in ((False, pairs.mean()), (True, different.mean())):
            value = estimate_square(evaluate, w * 1.0, start, stop, size, unbiased=unbiased)
            assert value == pytest.approx(expected, rel=1e-12)
    embedded = embed_residuals(lambda tests, rows: values[:7][tests, rows], w, 7, size)
    np.testing.assert_allclose(embedded, values[:7] @ w, rtol=1e-12)


def test_unbiased_estimate_needs_two_rows():
    for mass, expected in ((1.0, 0.0), (1.9, 0.0), (2.0, 1.0)):
        w = np.full(2, mass / 2)
        value = estimate_square(lambda i, j: np.ones((2, 2)), w, 0, 2, 5, unbiased=True)
        assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("cells", [1, 2**12, 2**18])
def test_pairs_of_two_chunks_fit_into_an_array(rng, monkeypatch, cells):
    monkeypatch.setattr(_distribution_kernels, "_CELLS", cells)
    for first, second, most in (
        (draw_family(rng, Normals, (5,)), draw_family(rng, Laplaces, (5,)), 1),
        (draw_mixture(rng, Laplaces, 2, 4), draw_mixture(rng, Laplaces, 2, 3), 4**2),
        (draw_mixture(rng, MultivariateNormals, 2, 2), draw_mixture(rng, Normals, 2, 3), 4 * 2**2),
    ):
        size = find_chunk_size(first, second)
        assert size == 1 or size**2 * most <= cells
        assert (size + 1) ** 2 * most > cells
