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
# Scales around those where the partial fractions of the Laplace expectations break down.
SCALES = [0.05, 0.4, 1 - 1e-3, 1 - 1e-7, 1.0, 1 + 1e-12, 1.3, 7.0]


@pytest.fixture
def rng():
    return np.random.default_rng(17)


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


# --------------------------------------------------------------------------- expectations


@every_univariate
def test_expectation_of_the_kernel(family):
    distributions = family(np.full(len(SCALES), 0.3), np.array(SCALES))
    targets = np.array([-1.0, 0.0, 1.0])
    values = distributions.expect(targets)
    for row in range(len(SCALES)):
        for column, target in enumerate(targets):
            expected = integrate_univariate(
                lambda z, y=target: family.compare(np.array([z]), np.array([y]))[0, 0],
                distributions,
                row,
            )
            assert values[row, column] == pytest.approx(expected, abs=1e-10)


@every_univariate
def test_expectation_over_both(family):
    distributions = family(np.linspace(-1, 1, len(SCALES)), np.array(SCALES))
    other = family(np.array([0.0, 1.0, -1.0]), np.array([1.0, 0.2, 3.0]))
    values = distributions.expect_pairs(other)
    for row in range(3):
        for column in range(len(SCALES)):
            expected = integrate_univariate(
                lambda z, i=column: distributions.take([i]).expect(np.array([z]))[0, 0], other, row
            )
            assert values[column, row] == pytest.approx(expected, abs=1e-10)


def test_expectations_in_two_dimensions(rng):
    distributions = draw_family(rng, MultivariateNormals, (2, 2))
    targets = rng.normal(size=(3, 2))

    def integrate_plane(mean, covariance):
        """E exp(-|X|^2 / 2), over whitened coordinates."""
        root = np.linalg.cholesky(covariance)

        def integrand(u, v):
            x = mean + root @ (u, v)
            return np.exp(-(x @ x) / 2 - (u * u + v * v) / 2) / (2 * np.pi)

        return integrate.dblquad(integrand, -8, 8, -8, 8, epsabs=1e-10, epsrel=1e-10)[0]

    mean, covariance, _ = distributions
    once, pairs = distributions.expect(targets), distributions.expect_pairs(distributions)
    for i in range(2):
        for j, target in enumerate(targets):
            expected = integrate_plane(mean[i] - target, covariance[i])
            assert once[i, j] == pytest.approx(expected, abs=1e-8)
    expected = integrate_plane(mean[0] - mean[1], covariance[0] + covariance[1])
    assert pairs[0, 1] == pytest.approx(expected, abs=1e-8)


def test_independent_dimensions_are_products(rng):
    """The Gaussian kernel of a vector is the product of those of its entries."""
    mean, deviation = rng.normal(size=(5, 3)), np.exp(rng.normal(size=(5, 3)))
    root = deviation[..., None] * np.eye(3)
    distributions = MultivariateNormals(mean, root**2, root)
    marginals = [Normals(mean[:, k], deviation[:, k]) for k in range(3)]
    targets = rng.normal(size=(4, 3))
    for actual, expected in (
        (distributions.expect(targets), [m.expect(targets[:, k]) for k, m in enumerate(marginals)]),
        (distributions.expect_pairs(distributions), [m.expect_pairs(m) for m in marginals]),
        (
            distributions.compare(targets, mean),
            [Normals.compare(targets[:, k], mean[:, k]) for k in range(3)],
        ),
    ):
        np.testing.assert_allclose(actual, np.prod(expected, axis=0), rtol=1e-13)
    square = sum(m.measure_distance(m) ** 2 for m in marginals)
    np.testing.assert_allclose(
        distributions.measure_distance(distributions), np.sqrt(square), rtol=1e-12, atol=1e-14
    )


@pytest.mark.parametrize("family", [Normals, Laplaces, MultivariateNormals])
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


def expect_precisely(distance, scale):
    """The formula of DEFINITIONS.md with 80 digits."""
    z, b = Decimal(distance), Decimal(scale)
    if b == 1:
        return (1 + z) * (-z).exp() / 2
    return (b * (-z / b).exp() - (-z).exp()) / (b * b - 1)


def expect_pairs_precisely(distance, scale, other_scale):
    """Partial fractions with 80 digits; all scales must differ."""
    scales = [Decimal(1), Decimal(scale), Decimal(other_scale)]
    total = Decimal(0)
    for i, b in enumerate(scales):
        factor = Decimal(1)
        for other in scales[:i] + scales[i + 1 :]:
            factor *= b**2 / (b**2 - other**2)
        total += factor * (-Decimal(distance) / b).exp() / b
    return total


def draw_close_scales(rng, n=400):
    """Scales that are close to 1, to each other, to both, or to none."""
    gap = 10 ** rng.uniform(-14, -0.5, size=(2, n)) * rng.choice([-1, 1], size=(2, n))
    far = np.exp(rng.normal(size=(2, n)))
    kind = np.arange(n) % 4
    first = np.where(kind == 0, 1 + gap[0], far[0])
    second = np.select([kind < 2, kind == 2], [1 + gap[1], first * (1 + gap[1])], far[1])
    distinct = (first != 1) & (second != 1) & (first != second)
    return first[distinct], second[distinct]


def test_laplace_formulas_keep_all_digits(rng):
    scale, other_scale = draw_close_scales(rng)
    distance = np.exp(rng.uniform(-6, 4, size=len(scale)))
    once = expect_laplace(distance, scale)
    pairs = expect_laplace_pairs(distance, scale, other_scale)
    with localcontext(prec=80):
        for i, arguments in enumerate(zip(distance, scale, other_scale, strict=True)):
            assert once[i] == pytest.approx(float(expect_precisely(*arguments[:2])), rel=2e-14)
            assert pairs[i] == pytest.approx(float(expect_pairs_precisely(*arguments)), rel=2e-14)


def test_laplace_limits():
    z = np.array([0.0, 1e-9, 0.3, 1.0, 20.0, 700.0])
    one = np.ones(len(z))
    np.testing.assert_allclose(expect_laplace(z, one), (1 + z) * np.exp(-z) / 2, rtol=1e-14)
    # Three scales of 1: the density of a sum of three standard Laplace variables, twice.
    expected = (3 + 3 * z + z**2) * np.exp(-z) / 8
    np.testing.assert_allclose(expect_laplace_pairs(z, one, one), expected, rtol=1e-13)
    # Hardly any spread: the kernel itself. Hardly any distance: the mean of exp(-|Z|).
    np.testing.assert_allclose(expect_laplace(z, 1e-12 * one), np.exp(-z), rtol=1e-8)
    np.testing.assert_allclose(
        expect_laplace_pairs(z, 1e-12 * one, 0.5 * one), expect_laplace(z, 0.5 * one), rtol=1e-8
    )
    assert expect_laplace(z, 3 * one)[0] == pytest.approx(1 / 4, rel=1e-15)


@pytest.mark.parametrize("gap", [1e-9, -1e-9, 1e-12])
def test_coinciding_scales_are_no_jump(gap):
    z = np.linspace(0, 10, 21)
    for b in (0.5, 1.0, 2.0):
        near, at = np.full(21, b * (1 + gap)), np.full(21, b)
        np.testing.assert_allclose(expect_laplace(z, near), expect_laplace(z, at), atol=1e-8)
        for other in (0.5, 1.0, 2.0):
            other = np.full(21, other)
            np.testing.assert_allclose(
                expect_laplace_pairs(z, near, other), expect_laplace_pairs(z, at, other), atol=1e-8
            )


def test_series_meets_the_closed_form(rng, monkeypatch):
    """Both sides of the switch agree where each of them is accurate."""
    last = rng.uniform(0.1, 0.5, size=100)
    middle = last * rng.uniform(size=100)
    monkeypatch.setattr(_distribution_kernels, "_CLOSE", 1.0)
    monkeypatch.setattr(_distribution_kernels, "_TERMS", 20)
    series = _distribution_kernels._divide_twice(middle, last)
    monkeypatch.setattr(_distribution_kernels, "_CLOSE", 0.0)
    np.testing.assert_allclose(
        _distribution_kernels._divide_twice(middle, last), series, rtol=1e-13
    )


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
    first, second = draw_family(rng, family, (3,)), draw_family(rng, family, (2,))
    distance = first.measure_distance(second)
    for i in range(3):
        for j in range(2):
            pair = [UNIVARIATE[family](*d.take(k)) for d, k in ((first, i), (second, j))]
            assert distance[i, j] ** 2 == pytest.approx(integrate_quantiles(*pair), abs=1e-8)


@pytest.mark.parametrize("n_dimensions", [1, 2, 5])
def test_bures_distance(rng, n_dimensions):
    first, second = (draw_family(rng, MultivariateNormals, (n, n_dimensions)) for n in (4, 3))
    distance = first.measure_distance(second)
    for i, (mean, covariance) in enumerate(zip(*first[:2], strict=True)):
        root = sqrtm(covariance)
        for j, (other_mean, other) in enumerate(zip(*second[:2], strict=True)):
            bures = np.trace(covariance + other - 2 * np.real(sqrtm(root @ other @ root)))
            expected = np.sum((mean - other_mean) ** 2) + bures
            assert distance[i, j] ** 2 == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(np.diag(first.measure_distance(first)), 0, atol=1e-13)


def test_bures_distance_of_near_covariances(rng):
    """On commuting matrices it is the distance of the roots, however small."""
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    deviation = np.array([2.0, 1.0, 0.5])
    for gap in (1e-3, 1e-6, 1e-9):
        near = deviation + gap
        covariances = [rotation * d**2 @ rotation.T for d in (deviation, near)]
        families = [
            MultivariateNormals(np.zeros((1, 3)), c[None], np.linalg.cholesky(c)[None])
            for c in covariances
        ]
        distance = families[0].measure_distance(families[1])[0, 0]
        assert distance == pytest.approx(np.sqrt(3) * gap, abs=1e-14)


def test_one_dimension_is_the_univariate_family(rng):
    univariate = draw_family(rng, Normals, (6,))
    root = univariate.deviation[:, None, None]
    multivariate = MultivariateNormals(univariate.mean[:, None], root**2, root)
    targets = rng.normal(size=4)
    for actual, expected in (
        (multivariate.expect(targets[:, None]), univariate.expect(targets)),
        (multivariate.expect_pairs(multivariate), univariate.expect_pairs(univariate)),
        (multivariate.measure_distance(multivariate), univariate.measure_distance(univariate)),
    ):
        np.testing.assert_allclose(actual, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("family", [Normals, Laplaces, MultivariateNormals])
def test_distance_of_mixtures(rng, family):
    first, second = draw_mixture(rng, family, 4, 2), draw_mixture(rng, family, 4, 3)
    distance = first.measure_distance(second)
    # A distance: to itself 0, symmetric, and the triangle inequality.
    copy = second.take(slice(None))
    np.testing.assert_allclose(np.diag(second.measure_distance(copy)), 0, atol=1e-12)
    np.testing.assert_allclose(
        second.measure_distance(second), second.measure_distance(copy), rtol=1e-10, atol=1e-12
    )
    np.testing.assert_allclose(second.measure_distance(first).T, distance, rtol=1e-10)
    within = second.measure_distance(second)
    assert (np.diag(within) == 0).all()
    for i in range(4):
        assert (distance[i] <= distance[i][:, None] + within + 1e-12).all()
    # Two components against one: the only plan.
    single = Mixtures(np.ones((4, 1)), second.components.take((slice(None), slice(0, 1))))
    for i in range(4):
        expected = sum(
            w * part.measure_distance(single.components.flatten())[0] ** 2
            for w, part in list_components(first, i)
        )
        np.testing.assert_allclose(first.measure_distance(single)[i] ** 2, expected, rtol=1e-12)


def test_distance_of_mixtures_bounds_wasserstein(rng):
    """From below, by the quantile functions of the mixtures themselves."""
    first, second = draw_mixture(rng, Normals, 3, 2), draw_mixture(rng, Normals, 3, 2)
    distance = first.measure_distance(second)
    z = np.linspace(-60, 60, 400_001)
    for row in range(3):
        quantiles = []
        level = (np.arange(20_000) + 0.5) / 20_000
        for mixture in (first, second):
            parts = list_components(mixture, row)
            cdf = sum(w * stats.norm(*part).cdf(z) for w, part in parts)
            quantiles.append(np.interp(level, cdf, z))
        wasserstein = np.sqrt(np.mean((quantiles[0] - quantiles[1]) ** 2))
        assert wasserstein <= distance[row, row] + 1e-3
        # The metric cannot see that mixtures of different components are close; it can see means.
        means = [np.sum(m.weights[row] * m.components.mean[row]) for m in (first, second)]
        assert abs(means[0] - means[1]) <= distance[row, row] + 1e-12


# --------------------------------------------------------------------------- shapes and scales


@pytest.mark.parametrize("family", [Normals, Laplaces, MultivariateNormals])
@pytest.mark.parametrize("factor", [1e-3, 2.5])
def test_rescaling(rng, family, factor):
    """Distances scale along; the distributions are those of the scaled variable."""
    for distributions in (
        draw_family(rng, family, (5, 2)[: 2 if family is MultivariateNormals else 1]),
        draw_mixture(rng, family, 5, 2),
    ):
        scaled = distributions.rescale(factor)
        np.testing.assert_allclose(
            scaled.measure_distance(scaled),
            factor * distributions.measure_distance(distributions),
            rtol=1e-9,
            atol=1e-14,
        )
        inner, scaled_inner = (getattr(d, "components", d) for d in (distributions, scaled))
        np.testing.assert_allclose(scaled_inner.mean, factor * inner.mean)
        if family is MultivariateNormals:
            product = scaled_inner.root @ np.swapaxes(scaled_inner.root, -1, -2)
            np.testing.assert_allclose(product, scaled_inner.covariance, rtol=1e-10, atol=1e-15)


def test_parameters_are_rows_of_numbers(rng):
    for family in UNIVARIATE:
        univariate = draw_family(rng, family, (3,))
        np.testing.assert_array_equal(univariate.list_parameters(), np.column_stack(univariate))
    multivariate = draw_family(rng, MultivariateNormals, (3, 2))
    parameters = multivariate.list_parameters()
    np.testing.assert_array_equal(parameters[:, :2], multivariate.mean)
    np.testing.assert_array_equal(parameters[:, 2:].reshape(3, 2, 2), multivariate.covariance)
    for family in UNIVARIATE:
        mixture = draw_mixture(rng, family, 3, 4)
        parts = [
            np.column_stack([mixture.weights[:, j], *(field[:, j] for field in mixture.components)])
            for j in range(4)
        ]
        np.testing.assert_array_equal(mixture.list_parameters(), np.hstack(parts))
    mixture = draw_mixture(rng, MultivariateNormals, 3, 2)
    expected = [
        np.concatenate([[mixture.weights[i, j]], mean, covariance.ravel()])
        for i in range(3)
        for j, (mean, covariance) in enumerate(
            zip(mixture.components.mean[i], mixture.components.covariance[i], strict=True)
        )
    ]
    np.testing.assert_array_equal(mixture.list_parameters(), np.reshape(expected, (3, -1)))


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
    for first, second in (
        (draw_family(rng, Normals, (5,)), draw_family(rng, Laplaces, (5,))),
        (draw_mixture(rng, Laplaces, 2, 4), draw_mixture(rng, Laplaces, 2, 3)),
        (draw_mixture(rng, MultivariateNormals, 2, 2), draw_mixture(rng, Normals, 2, 3)),
    ):
        size, most = find_chunk_size(first, second), max(first.cells, second.cells)
        assert size == 1 or size**2 * most <= cells
        assert (size + 1) ** 2 * most > cells
