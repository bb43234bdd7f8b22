"""What is told to users who pass distributions and targets that do not fit."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.stats import laplace, norm

from skcal.metrics import (
    Mixture,
    MultivariateNormal,
    distribution_kernel_calibration_error,
    distribution_mean_embedding_error,
    interval_coverage,
    miscalibration_area,
    probability_integral_transform,
)

UNIT, ZEROS, BELL = np.eye(2), np.zeros((2, 2)), norm()
NORMAL_2D = MultivariateNormal(ZEROS, UNIT)


@pytest.mark.parametrize(
    ("y", "distribution", "message"),
    [
        (
            [0, 1],
            norm([0, 1], [1, -2.0]),
            "scale of distribution must be positive; got -2.0 at row 1",
        ),
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
        (
            ZEROS,
            MultivariateNormal(ZEROS, [UNIT, [[1, 0.5], [0.4, 1]]]),
            "cov of distribution must be symmetric; .* differ by 0.1 at row 1",
        ),
        (
            ZEROS,
            MultivariateNormal(ZEROS, [UNIT, [[1, 2], [2, 1]]]),
            "cov of distribution must be positive definite; .*eigenvalue is -1 at row 1",
        ),
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
        (
            [0, 1],
            Mixture([1.0], [Mixture([1.0], [BELL])]),
            "component 0 of distribution must be .*got Mixture",
        ),
        (
            ZEROS,
            Mixture([0.5] * 2, [MultivariateNormal([0.0] * k, np.eye(k)) for k in (2, 1)]),
            "components of distribution must have one number of dimensions",
        ),
    ],
)
def test_bad_predictions_and_targets(y, distribution, message):
    with pytest.raises(ValueError, match=message):
        distribution_kernel_calibration_error(y, distribution)


def test_numbers_that_a_small_target_bandwidth_makes_too_large():
    for y, law, name in ((1e300, BELL, "y_true"), (0, norm(1e300), "parameters of distribution")):
        with pytest.raises(ValueError, match=f"{name} must be at most .* divided by target_bandw"):
            distribution_kernel_calibration_error([y], law, target_bandwidth=1e-50)


@pytest.mark.parametrize(
    ("tests", "targets", "message"),
    [
        (laplace(), [0.0], "^test_distribution must hold .*, normal; got Laplace"),
        (norm([0, 1]), [0.0], "^test_distribution must hold one distribution for each of the 1"),
        (BELL, [[0.0, 1.0]], r"^test_targets must have shape \(n_samples,\)"),
        (BELL, [np.nan], "^test_targets must be finite"),
        (norm(0, -1), [0.0], "^The scale of test_distribution must be positive"),
        (Mixture([1.0], [BELL]), [0.0], "normal; got mixtures of normal"),
        (MultivariateNormal([0.0], [[1.0]]), [0.0], "normal; got 1-dimensional normal"),
    ],
)
def test_bad_test_points(tests, targets, message):
    with pytest.raises(ValueError, match=message):
        distribution_mean_embedding_error(
            [0.0, 1.0], BELL, test_distribution=tests, test_targets=targets
        )


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        (MultivariateNormal(np.zeros(3), np.eye(3)), "2-dimensional .*; got 3-dimensional normal"),
        (Mixture([1.0], [NORMAL_2D]), "got mixtures of 2-dimensional normal"),
    ],
)
def test_test_points_of_another_dimension(tests, message):
    targets = np.zeros((2, 3 if "3" in message else 2))
    with pytest.raises(ValueError, match=message):
        distribution_mean_embedding_error(
            ZEROS, NORMAL_2D, test_distribution=tests, test_targets=targets
        )


@pytest.mark.parametrize("layout", ["list", "columns"])
def test_cdf_of_mixtures(layout):
    rng = np.random.default_rng(0)
    loc, x, weights = rng.normal(size=(6, 2)), rng.normal(size=6), rng.dirichlet([1, 1], size=6)
    parts = norm(loc, 0.5) if layout == "columns" else [norm(loc[:, k], 0.5) for k in (0, 1)]
    for share in (weights, weights[0]):
        expected = (share * norm.cdf(x[:, None], loc, 0.5)).sum(axis=1)
        mixture = Mixture(share, parts)
        np.testing.assert_allclose(mixture.cdf(x), expected, rtol=1e-14)
        np.testing.assert_allclose(probability_integral_transform(x, mixture), expected)
    with pytest.raises(ValueError, match="weights must sum to 1 in each row"):
        Mixture([0.5, 0.4], parts).cdf(x)


@pytest.mark.parametrize(
    ("components", "x", "message"),
    [
        ([None], [0.0], "components must be univariate for a cdf; got NoneType"),
        ([norm], [0.0], "components must have parameters, .* got scipy.stats.norm_gen"),
        ([], [0.0], "components must hold at least one distribution; got none"),
        ([norm(0, -1)], [0.0], r"cdf of components must lie in \[0, 1\]; got nan at row 0"),
        ([norm([1, 2, 3])], [0.0, 1.0], "one distribution for each of the 2 rows, or a single one"),
        ([stats.multivariate_normal([0, 0])], [0.0], "one distribution for each of the 1 rows"),
        (NORMAL_2D, [0.0], "components must be univariate for a cdf; got MultivariateNormal"),
        ([norm()], ["a"], "x must hold real numbers"),
        ([norm()], 0.0, r"x must be one-dimensional; got shape \(\)"),
    ],
)
def test_bad_components_of_a_cdf(components, x, message):
    with pytest.raises(ValueError, match=message):
        Mixture([1.0], components).cdf(x)


# --------------------------------------------------------------------------- other packages


class InNGBoost:
    """What `pred_dist` of NGBoost returns: a frozen distribution inside, methods passed on."""

    def __init__(self, dist):
        self.dist = dist

    def __getattr__(self, name):
        return getattr(self.dist, name)


class InSkpro:
    """What `predict_proba` of skpro returns: a table of distributions with one column."""

    def __init__(self, law, **parameters):
        self.law, self.shape = law, (len(law.mean()), 1)
        vars(self).update(parameters)

    def __getattr__(self, name):
        if name not in ("cdf", "ppf"):
            raise AttributeError(name)

        def evaluate(x):
            x = np.broadcast_to(x, self.shape)  # which a plain row of targets cannot be
            return pd.DataFrame(getattr(self.law, name)(x[:, 0])[:, None])

        return evaluate


class Normal(InSkpro):
    """Read by the name of its class and its parameters."""


class Laplace(InSkpro):
    """The same."""


LOC, SCALE = np.arange(9.0), np.linspace(1, 2, 9)
Y = LOC + np.linspace(-2, 1, 9)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (InNGBoost(norm(LOC, SCALE)), norm(LOC, SCALE)),
        (InNGBoost(laplace(LOC, SCALE)), laplace(LOC, SCALE)),
        (Normal(norm(LOC, SCALE), mu=LOC[:, None], sigma=SCALE[:, None]), norm(LOC, SCALE)),
        (Normal(norm(LOC, np.ones(9)), mu=LOC[:, None], sigma=1), norm(LOC, 1)),
        (Laplace(laplace(LOC, np.ones(9)), mu=LOC[:, None], scale=[[1]]), laplace(LOC, 1)),
    ],
)
def test_normal_and_laplace_distributions_of_other_packages(theirs, ours):
    measures = (
        probability_integral_transform,
        interval_coverage,
        miscalibration_area,
        distribution_kernel_calibration_error,
        lambda y, d: distribution_kernel_calibration_error(y, Mixture([0.5, 0.5], [d, ours])),
        lambda y, d: Mixture([0.5, 0.5], [d, ours]).cdf(y),
    )
    for measure in measures:
        np.testing.assert_array_equal(measure(Y, theirs), measure(Y, ours))


def test_other_families_of_other_packages():
    law = stats.t(5, LOC, SCALE)
    for theirs in (InNGBoost(law), InSkpro(law)):
        np.testing.assert_array_equal(
            probability_integral_transform(Y, theirs), probability_integral_transform(Y, law)
        )
        np.testing.assert_array_equal(interval_coverage(Y, theirs), interval_coverage(Y, law))
        mixture = Mixture([0.5, 0.5], [theirs, norm()])
        np.testing.assert_allclose(mixture.cdf(Y), (law.cdf(Y) + norm.cdf(Y)) / 2, rtol=1e-15)
        with pytest.raises(ValueError, match=r"distribution must be scipy\.stats\.norm"):
            distribution_kernel_calibration_error(Y, theirs)
    with pytest.raises(ValueError, match="must be continuous; got a discrete one"):
        probability_integral_transform([1, 2], InNGBoost(stats.poisson([1, 2])))


@pytest.mark.parametrize(
    "measure", [probability_integral_transform, distribution_kernel_calibration_error]
)
@pytest.mark.parametrize("method", ["pred_dist", "predict_proba"])
def test_model_in_place_of_its_predictions(measure, method):
    model = type("Model", (), {method: None})()
    with pytest.raises(ValueError, match=rf"got Model\. Pass what its {method}\(X\) returns"):
        measure([1, 2], model)
