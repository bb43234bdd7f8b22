"""Distributions and targets that do not fit, mixtures, and distributions of other packages."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.stats import laplace, norm

from skcal.regression import (
    Ensemble,
    Mixture,
    MultivariateNormal,
    continuous_ranked_probability_score,
    distribution_kernel_calibration_error,
    distribution_kernel_mean_embedding_error,
    interval_coverage,
    miscalibration_area,
    pit_calibration_error,
    probability_integral_transform,
)

UNIT, ZEROS, BELL = np.eye(2), np.zeros((2, 2)), norm()
NORMAL_2D, NORMAL_1D = MultivariateNormal(ZEROS, UNIT), MultivariateNormal([0.0], [[1.0]])
ASYMMETRIC, INDEFINITE = [UNIT, [[1, 0.5], [0.4, 1]]], [UNIT, [[1, 2], [2, 1]]]
OF_TWO_AND_OF_ONE = [MultivariateNormal([0.0] * k, np.eye(k)) for k in (2, 1)]
KERNEL_ERROR = distribution_kernel_calibration_error
# Targets that are their own levels.
AS_THEY_ARE, LAW = SimpleNamespace(cdf=np.asarray), norm([0.0, 1.0, 2.0], 1.0)

# Targets and a distribution that do not fit, and what is said.
OF_KERNELS = [
    ([0, 1], norm([0, 1], [1, -2.0]), "scale of distribution .* positive; got -2.0 at row 1"),
    ([0, 1], laplace(0, 0), r"scale of distribution must be positive; got 0.0\."),
    ([0, 1], norm([0, np.nan], 1), "loc of distribution must be finite; got nan at row 1"),
    ([0, 1], norm(["a", "b"], 1), "loc of distribution must hold real numbers"),
    ([0, 1, 2], norm([0, 1], 1), r"each of the 3 rows, or a single one.*shape \(2,\)"),
    ([0, 1], norm([[0, 1]], 1), r"each of the 2 rows.*\(1, 2\)"),
    ([0, 1, 2], norm([0, 1], [1, 2, 3]), r"loc and scale for the same rows; got shapes \(2,\)"),
    ([0, np.inf], BELL, "y_true must be finite; got inf at row 1"),
    (["a"], BELL, "y_true must hold real numbers"),
    ([], BELL, r"y_true must have shape .* at least one row; got shape \(0,\)"),
    (ZEROS, BELL, r"y_true must have shape \(n_samples,\).*got shape \(2, 2\)"),
    ([0, 1], stats.gamma(1.0), "distribution must be .*got scipy.stats.gamma"),
    ([0, 1], stats.poisson(1.0), "distribution must be .*got scipy.stats.poisson"),
    ([0, 1], stats.multivariate_normal(), "got scipy.stats.multivariate_normal, which is a"),
    ([0, 1], norm, "distribution must be .*got scipy.stats.norm_gen"),
    ([0, 1], [0.0, 1.0], "distribution must be .*got list"),
    ([0, 1], NORMAL_2D, r"shape \(n_samples, 2\)"),
    (np.zeros((2, 3)), NORMAL_2D, r"shape \(n_samples, 2\)"),
    (np.zeros((3, 2)), NORMAL_2D, "each of the 3 rows"),
    (ZEROS, MultivariateNormal(np.zeros((2, 3)), UNIT), r"shapes \(2, 3\) and \(2, 2\)"),
    (ZEROS, MultivariateNormal(ZEROS, [UNIT] * 3), "mean and cov for the"),
    (ZEROS, MultivariateNormal(ZEROS, ASYMMETRIC), "cov .* symmetric; .* by 0.1 at row 1"),
    (ZEROS, MultivariateNormal(ZEROS, INDEFINITE), "cov .* eigenvalue is -1 at row 1"),
    (ZEROS, MultivariateNormal(ZEROS, -UNIT), r"positive definite; .*eigenvalue is -1\."),
    ([[0.0]], MultivariateNormal([0.0], [[1.7e308]]), "cov of distribution must be at most"),
    ([[0.0]], MultivariateNormal([1e200], [[1.0]]), "mean of distribution must be at most"),
    ([0, 1], Mixture([0.5, 0.4], [BELL] * 2), "weights of distribution must sum to 1"),
    ([0, 1], Mixture([1.5, -0.5], [BELL] * 2), r"negative; got -0.5 at index \(0, 1\)"),
    ([0, 1], Mixture([1.0], [BELL] * 2), r"weights of distribution must have shape \(2, 2\)"),
    ([0, 1], Mixture([0.5, 0.5], [BELL, laplace()]), "of one kind; got Laplaces, Normals"),
    ([0, 1], Mixture([], []), "of one kind; got none"),
    ([0, 1], Mixture([1.0], BELL), r"components of distribution must be a list .*\(\)"),
    ([0, 1], Mixture([1.0], [norm(0, -1)]), "scale of component 0 of distribution"),
    ([0, 1], Mixture([1.0], [norm([1, 2, 3])]), "component 0 of distribution must hold one"),
    ([0], Mixture([1.0], [norm(1e200, 1)]), "parameters of distribution must be at most"),
    ([0, 1], Mixture([1.0], [stats.t(3)]), r"component 0 of distribution must be .*stats.t\."),
    ([0, 1], Mixture([1.0], [Mixture([1.0], [BELL])]), "component 0 of dist.*got Mixture"),
    (ZEROS, Mixture([0.5] * 2, OF_TWO_AND_OF_ONE), "components .* one number of dimensions"),
]
OF_SMALL_BANDWIDTHS = [
    ([1e300], BELL, "y_true must be at most .* divided by target_bandw"),
    ([0], norm(1e300), "parameters of distribution must be at most .* divided by target_bandw"),
]
OF_TEST_POINTS = [
    ([0.0], laplace(), "^test_distribution must hold .*, normal; got Laplace"),
    ([0.0], norm([0, 1]), "^test_distribution must hold one .* for each of the 1"),
    ([[0.0, 1.0]], BELL, r"^test_targets must have shape \(n_samples,\)"),
    ([np.nan], BELL, "^test_targets must be finite"),
    ([0.0], norm(0, -1), "^The scale of test_distribution must be positive"),
    ([0.0], Mixture([1.0], [BELL]), "normal; got mixtures of normal"),
    ([0.0], NORMAL_1D, "normal; got 1-dimensional normal"),
]
OF_VECTORS = [
    ([[0.0]], NORMAL_1D, "2-dimensional .*; got 1-dimensional normal"),
    (ZEROS, Mixture([1.0], [NORMAL_2D]), "got mixtures of 2-dimensional normal"),
]
OF_MIXTURES = [
    ([0.0], [None], "components must be univariate for a cdf; got NoneType"),
    ([0.0], [norm], "components must have parameters, .* got scipy.stats.norm_gen"),
    ([0.0], [], "components must hold at least one distribution; got none"),
    ([0.0], [norm(0, -1)], r"cdf of components must lie in \[0, 1\]; got nan at row 0"),
    ([0.0, 1.0], [norm([1, 2, 3])], "one distribution for each of the 2 rows, or a single one"),
    ([0.0], [stats.multivariate_normal([0, 0])], "one distribution for each of the 1 rows"),
    ([0.0], NORMAL_2D, "components must be univariate for a cdf; got MultivariateNormal"),
    (["a"], [norm()], "x must hold real numbers"),
    (0.0, [norm()], r"x must be one-dimensional; got shape \(\)"),
]
OF_EITHER = [
    ([0.0, 1.0, np.inf], LAW, "y_true must hold finite numbers; got inf at row 2"),
    ([0.0, None, 1.0], LAW, "y_true must hold finite numbers; got nan at row 1"),
    (["a", "b", "c"], LAW, "y_true must hold real numbers"),
    ([[0.0, 1.0]] * 3, LAW, r"y_true must be one-dimensional.*; got shape \(3, 2\)"),
    ([], LAW, "y_true must be one-dimensional, with at least one row"),
    ([0.0, 1.0], LAW, "distribution must predict one number for each of the 2 rows"),
    ([0.0] * 3, norm(0, [1.0, -1.0, 1.0]), "got nan at row 1"),
    ([0.0] * 3, norm(np.zeros((3, 1)), 1.0), r"of the 3 rows of y_true; .* shape \(3, .\)"),
    ([0.0] * 3, np.zeros(3), r"distribution must have a method (cdf|ppf).*; got ndarray"),
]
OF_LEVELS = [
    ([0.0, 1.0], stats.poisson([1.0, 2.0]), "distribution must be continuous"),
    ([1, 2], SimpleNamespace(dist=stats.poisson([1, 2])), "must be continuous"),
    ([0.0, 1.0], stats.rv_discrete(values=([0, 1], [0.5, 0.5])), "must be continuous"),
    ([1.0, 2.0], AS_THEY_ARE, r"cdf must lie in \[0, 1\]; got 2.0 at row 1"),
    ([1.0], norm(0.0, 0.0), r"cdf must lie in \[0, 1\]; got nan at row 0"),
    # SciPy meets shapes that do not fit with an IndexError.
    ([0.0], stats.multivariate_normal([0.0, 0.0]), "one number for each of the 1 rows"),
]


def evaluate_cdf(x, components):
    return Mixture([1.0], components).cdf(x)


def embed(y, distribution, targets, tests):
    options = {"test_distribution": tests, "test_targets": targets}
    return distribution_kernel_mean_embedding_error(y, distribution, **options)


REFUSED = [
    (KERNEL_ERROR, OF_KERNELS),
    (partial(KERNEL_ERROR, target_bandwidth=1e-50), OF_SMALL_BANDWIDTHS),
    (partial(embed, [0.0, 1.0], BELL), OF_TEST_POINTS),
    (partial(embed, ZEROS, NORMAL_2D), OF_VECTORS),
    (evaluate_cdf, OF_MIXTURES),
    (interval_coverage, OF_EITHER),
    (probability_integral_transform, OF_EITHER + OF_LEVELS),
    (miscalibration_area, OF_LEVELS),
]
CASES = [(function, *row) for function, rows in REFUSED for row in rows]


def test_what_does_not_fit():
    for function, targets, distribution, message in CASES:
        with pytest.raises(ValueError, match=message):
            function(targets, distribution)


@pytest.mark.parametrize("layout", ["list", "columns"])
def test_cdf_of_mixtures(rng, layout):
    loc, x, weights = rng.normal(size=(6, 2)), rng.normal(size=6), rng.dirichlet([1, 1], size=6)
    parts = norm(loc, 0.5) if layout == "columns" else [norm(loc[:, k], 0.5) for k in (0, 1)]
    for share in (weights, weights[0]):
        expected = (share * norm.cdf(x[:, None], loc, 0.5)).sum(axis=1)
        mixture = Mixture(share, parts)
        np.testing.assert_allclose(mixture.cdf(x), expected, rtol=1e-14)
        np.testing.assert_allclose(probability_integral_transform(x, mixture), expected)
    with pytest.raises(ValueError, match="weights must sum to 1 in each row"):
        Mixture([0.5, 0.4], parts).cdf(x)


@pytest.mark.parametrize("layout", ["list", "columns"])
def test_quantiles_of_mixtures(rng, layout):
    loc, weights, levels = rng.normal(size=(6, 2)), rng.dirichlet([1, 1], size=6), rng.random(6)
    parts = norm(loc, 0.5) if layout == "columns" else [norm(loc[:, 0], 0.5), norm(loc[:, 1], 0.5)]
    mixture = Mixture(weights, parts)
    for q in (1e-6, 0.5, levels):
        np.testing.assert_allclose(mixture.cdf(mixture.ppf(q)), np.broadcast_to(q, 6), rtol=1e-9)
    covered = np.abs(mixture.cdf(Y[:6]) - 0.5) <= 0.4
    np.testing.assert_array_equal(interval_coverage(Y[:6], mixture, levels=0.8), [covered.mean()])
    assert Mixture([0.5, 0.5], [norm(), norm(3)]).ppf(0.5) == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("mixture", "q", "message"),
    [
        (Mixture([1.0], [BELL]), 1.0, "q must be one number, or .* strictly between 0 and 1; got"),
        (Mixture([1.0], [LAW]), [0.5] * 2, "components and q must be for the same rows; ppf raise"),
        (
            Mixture([0.5] * 2, [LAW, norm([1, 2])]),
            0.5,
            r"same rows; got arrays of shapes \[\(2,\), ",
        ),
        (Mixture([1.0], NORMAL_2D), 0.5, "must be univariate for a ppf; got MultivariateNormal"),
        (Mixture([], []), 0.5, "at least one distribution; got none"),
        (Mixture([0.5], [BELL]), 0.5, "weights must sum to 1"),
        (Mixture([1.0], [norm(0, -1)]), 0.5, "ppf of components must be finite; got nan"),
    ],
)
def test_quantiles_that_mixtures_refuse(mixture, q, message):
    with pytest.raises(ValueError, match=message):
        mixture.ppf(q)


def in_ngboost(law):
    """What `pred_dist` of NGBoost returns: a frozen distribution inside, methods passed on."""
    return SimpleNamespace(dist=law, cdf=law.cdf, ppf=law.ppf)


def in_skpro(name, law, **parameters):
    """What `predict_proba` of skpro returns: a table of distributions with one column.

    Read by the name of its class and its parameters.
    """

    def evaluate(method, x):
        x = np.broadcast_to(x, (9, 1))  # which a plain row of targets cannot be
        return pd.DataFrame(method(x[:, 0])[:, None])

    made = type(name, (), {})()
    methods = {method: partial(evaluate, getattr(law, method)) for method in ("cdf", "ppf")}
    vars(made).update(methods, shape=(9, 1), **parameters)
    return made


LOC, SCALE = np.arange(9.0), np.linspace(1, 2, 9)
Y = LOC + np.linspace(-2, 1, 9)


NORMAL, LAPLACE, STUDENT = (family(LOC, SCALE) for family in (norm, laplace, partial(stats.t, 5)))
COLUMNS = {"mu": LOC[:, None], "sigma": SCALE[:, None]}


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        *((in_ngboost(law), law) for law in (NORMAL, LAPLACE, STUDENT)),
        (in_skpro("Normal", NORMAL, **COLUMNS), NORMAL),
        (in_skpro("Normal", norm(LOC, np.ones(9)), mu=LOC[:, None], sigma=1), norm(LOC, 1)),
        (in_skpro("Laplace", LAPLACE, mu=LOC[:, None], scale=SCALE[:, None]), LAPLACE),
        (in_skpro("Laplace", laplace(LOC, 1), mu=LOC[:, None], scale=[[1]]), laplace(LOC, 1)),
        (in_skpro("Student", STUDENT), STUDENT),
    ],
)
def test_distributions_of_other_packages(theirs, ours):
    measures = [probability_integral_transform, interval_coverage, miscalibration_area]
    measures += [lambda y, d: Mixture([0.5, 0.5], [d, norm(LOC, 1)]).cdf(y)]
    if ours is STUDENT:
        with pytest.raises(ValueError, match=r"distribution must be scipy\.stats\.norm"):
            KERNEL_ERROR(Y, theirs)
    else:
        measures += [KERNEL_ERROR, lambda y, d: KERNEL_ERROR(y, Mixture([0.5, 0.5], [d, ours]))]
    for measure in measures:
        np.testing.assert_array_equal(measure(Y, theirs), measure(Y, ours))


def make_discrete(kind):
    """Binomial distributions as another package, and the new ones of SciPy, have them."""
    law = stats.binom(10, SCALE / 4)
    if kind == "skpro":
        theirs = in_skpro("Binomial", law, get_tag={"distr:measuretype": "discrete"}.get)
        theirs.pmf = lambda x: pd.DataFrame(law.pmf(x[:, 0])[:, None])
        return theirs, law
    if not hasattr(stats, "Binomial"):
        pytest.skip("the new discrete distributions came with SciPy 1.16")
    return stats.Binomial(n=np.full(9, 10), p=SCALE / 4), law


@pytest.mark.parametrize("kind", ["skpro", "new SciPy"])
def test_discrete_distributions_of_others(kind):
    theirs, ours = make_discrete(kind)
    y = np.arange(9.0)
    for measure in (pit_calibration_error, continuous_ranked_probability_score, interval_coverage):
        np.testing.assert_allclose(measure(y, theirs), measure(y, ours), rtol=1e-12)
    with pytest.raises(ValueError, match="must be continuous"):
        probability_integral_transform(y, theirs)


def test_empirical_distributions_of_skpro(rng):
    """A table of draws, with the labels of draw and row in any order, is an ensemble."""
    members, labels = rng.normal(size=(9, 4)), pd.Index(list("abcdefghi"))
    draws = pd.DataFrame({"y": members.T.ravel()}, pd.MultiIndex.from_product([range(4), labels]))
    made = type("Empirical", (), {})()
    options = {"shape": (9, 1), "index": labels, "weights": None}
    vars(made).update(options, spl=draws.sample(frac=1, random_state=0))
    for measure in (pit_calibration_error, continuous_ranked_probability_score, interval_coverage):
        expected = measure(Y, Ensemble(members))
        np.testing.assert_allclose(measure(Y, made), expected, rtol=1e-12)
    made.spl = draws[1:]
    with pytest.raises(ValueError, match="as many draws for each row; got 3 to 4"):
        pit_calibration_error(Y, made)
    made.weights = np.ones(36)
    with pytest.raises(ValueError, match="weights of an Empirical distribution must be None"):
        pit_calibration_error(Y, made)


@pytest.mark.parametrize("measure", [probability_integral_transform, KERNEL_ERROR])
@pytest.mark.parametrize("method", ["pred_dist", "predict_proba"])
def test_model_in_place_of_its_predictions(measure, method):
    model = type("Model", (), {method: None})()
    with pytest.raises(ValueError, match=rf"got Model\. Pass what its {method}\(X\) returns"):
        measure([1, 2], model)
