"""Rows for a power and for a width: closed forms, simulated studies, and the values of others."""

import numpy as np
import pytest
from scipy.special import expit, logit, rel_entr
from scipy.stats import beta, binom, chi2, ncx2, norm

from skcal.inference import (
    calibration_test,
    cox_recalibration,
    required_samples,
    required_samples_for_width,
)

V = np.random.default_rng(0).beta(2, 3, 500)
WEIGHTS = np.arange(500) % 3
RATIO, LARGE = "observed_expected_ratio", "calibration_in_the_large"
STEPS = (np.arange(10**5) + 0.5) / 10**5


def draw_study(rng, v, distort, n):
    """Labels and predictions of a study of n rows."""
    v = rng.choice(v, n)
    return (rng.random(n) < distort(v)).astype(int), v


def assert_found_as_often(power, v, distort, n, n_studies, find_pvalue):
    """An independent simulation has about the wanted power."""
    rng = np.random.default_rng(1)
    pvalues = [find_pvalue(*draw_study(rng, v, distort, n)) for _ in range(n_studies)]
    error = (power * (1 - power) / n_studies) ** 0.5
    # The number of rows has an error of its own, of .01 to .03 in power.
    assert np.mean(np.array(pvalues) <= 0.05) == pytest.approx(power, abs=3 * error + 0.03)


# ---------------------------------------------------------------------------------------- power


def test_likelihood_ratio_by_its_closed_form():
    """Of an error of Cox's form the noncentrality is 2 n KL."""
    for effect in ({"slope": 0.8, "intercept": 0.1}, {"intercept": -0.2}):
        found = required_samples(V, effect=effect, statistic="cox", power=0.9, alpha=0.01)
        truth = expit(effect["intercept"] + effect.get("slope", 1) * logit(V))
        divergence = (rel_entr(truth, V) + rel_entr(1 - truth, 1 - V)).mean()
        powers = ncx2.sf(
            chi2.isf(0.01, 2), 2, 2 * divergence * (found.n_samples - np.array([0, 1]))
        )
        assert powers[0] >= 0.9 > powers[1]
        np.testing.assert_allclose(found.expected, powers[0])
        assert found.n_positives == pytest.approx(found.n_samples * truth.mean())
    found = required_samples(V, effect={"slope": 2.0}, statistic="cox")
    assert found.n_positives == pytest.approx(found.n_samples * V.mean())  # stays right


def test_half_of_the_error_takes_four_times_as_many_rows():
    sizes = [
        required_samples(V, effect={"intercept": shift}, statistic="cox").n_samples
        for shift in (0.02, 0.01)
    ]
    assert sizes[1] / sizes[0] == pytest.approx(4, rel=0.01)


def test_exact_test_of_one_prediction_is_a_binomial_test():
    n, _, (power, low, high) = required_samples([0.5], effect=[0.65], random_state=0)
    counts = np.arange(n + 1)
    distance = abs(counts - n / 2)
    pvalues = np.array([binom.pmf(counts[distance >= d], n, 0.5).sum() for d in distance])
    exact = binom.pmf(counts[pvalues <= 0.05], n, 0.65).sum()
    # p-values of 999 draws are noisy where that of a count is close to .05.
    assert exact == pytest.approx(power, abs=0.06)
    assert low < power < high
    assert 0.8 <= power < 0.83
    assert high - low < 0.1


@pytest.mark.slow
def test_power_of_the_default():
    effect = {"slope": 0.4, "intercept": 0.3}
    found = required_samples(V, effect=effect, random_state=0)
    assert 0.8 <= found.expected.estimate < 0.83
    rng = np.random.default_rng(2)
    assert_found_as_often(
        0.8,
        V,
        lambda v: expit(0.3 + 0.4 * logit(v)),
        found.n_samples,
        250,
        lambda y, v: calibration_test(y, v, random_state=rng, n_resamples=499).pvalue,
    )


STATISTICS = ["expected_calibration_error", "smooth_ece", "adaptive_calibration_error"]
STATISTICS += ["squared_kernel_calibration_error"]


@pytest.mark.slow
@pytest.mark.parametrize("statistic", STATISTICS)
def test_power_of_other_statistics(statistic):
    """Binned, smooth, of labels that problems share, and of whole vectors."""
    options = {"statistic": statistic, "random_state": 0}
    found = required_samples(V, effect=np.sqrt, n_resamples=128, **options)
    options |= {"random_state": np.random.default_rng(2), "n_resamples": 199}
    assert_found_as_often(
        0.8, V, np.sqrt, found.n_samples, 100, lambda *rows: calibration_test(*rows, **options)[1]
    )


@pytest.mark.slow
@pytest.mark.parametrize("effect", [{"slope": 0.7}, {"intercept": 0.4}])
def test_power_of_the_likelihood_ratio(effect):
    n = required_samples(V, effect=effect, statistic="cox").n_samples
    truth = expit(effect.get("intercept", 0) + effect.get("slope", 1) * logit(V))
    if "slope" in effect:
        shift = np.linspace(-0.5, 0.5, 10_001)
        means = expit(shift[:, None] + 0.7 * logit(V)).mean(axis=1)
        truth = expit(shift[abs(means - V.mean()).argmin()] + 0.7 * logit(V))
    known = dict(zip(V, truth, strict=True))
    assert_found_as_often(
        0.8,
        V,
        np.vectorize(known.get),
        n,
        500,
        lambda *rows: cox_recalibration(*rows).test.pvalue,
    )


def test_forms_of_the_effect_and_of_predictions():
    def distort(v):
        return expit(0.5 * logit(v) - 0.3)

    for options in ({"statistic": "cox"}, {"random_state": 0, "n_resamples": 200}):
        expected = required_samples(V, effect={"slope": 0.5, "intercept": -0.3}, **options)
        for y_proba in (V[:, None], np.column_stack([1 - V, V])):
            assert required_samples(y_proba, effect=distort, **options) == expected
        assert required_samples(V.tolist(), effect=distort(V).tolist(), **options) == expected
    classes = np.random.default_rng(0).dirichlet([1, 1, 1], 100)
    options = {"effect": {"slope": 0.5}, "statistic": "cox"}
    assert required_samples(classes, **options) == required_samples(classes.max(axis=1), **options)


def test_weights_are_how_often_rows_come():
    """A weight of 0 is absence, whatever the row holds."""
    repeated, absent = np.repeat(V, WEIGHTS), np.where(WEIGHTS, V, 0.0)
    for plan, options in (
        (required_samples, {"effect": {"slope": 0.5}, "statistic": "cox"}),
        (required_samples_for_width, {"effect": {"slope": 0.5}, "width": 0.2}),
    ):
        expected = plan(repeated, **options)
        for scale in (1, 1e-90, 1e90):
            found = plan(absent, sample_weight=scale * WEIGHTS, **options)
            assert found.n_samples == expected.n_samples
            np.testing.assert_allclose(found.expected, expected.expected)
    options = {"effect": {"slope": 0.5}, "random_state": 0, "n_resamples": 500}
    found = required_samples(absent, sample_weight=WEIGHTS, **options)
    assert found.n_samples == pytest.approx(
        required_samples(repeated, **options).n_samples, rel=0.15
    )


def test_jobs_do_not_matter():
    options = {"effect": {"slope": 0.3}, "random_state": 0, "n_resamples": 300}
    assert required_samples(V, **options) == required_samples(V, n_jobs=2, **options)


def test_outcomes_that_were_predicted_to_be_certain():
    options = {"random_state": 0, "n_resamples": 500}
    # One row in ten holds the prediction 0, which comes true in half of the cases: 31 rows have one
    # of these with a probability of 1 - .95^31 = .8.
    proba, truth = np.repeat([0.0, 0.5], [1, 9]), np.repeat(0.5, 10)
    assert required_samples(proba, effect=truth, **options).n_samples == pytest.approx(31, abs=3)
    # Here of one row in 5000, so that 8047 rows are needed.
    weights, options["n_resamples"] = np.repeat([1, 4999 / 9], [1, 9]), 100
    proba, truth = np.append(0.0, proba[1:]), np.append(1.0, truth[1:])
    found = required_samples(proba, effect=truth, sample_weight=weights, **options)
    assert found.n_samples == pytest.approx(8047, rel=0.4)
    # Where a recalibration of the log odds leaves them certain, they say nothing.
    certain = np.append(V, np.repeat([0.0, 1.0], 250))
    found, half = (required_samples(v, effect={"slope": 0.4}, **options) for v in (certain, V))
    assert found.n_samples == pytest.approx(2 * half.n_samples, rel=0.15)


def test_an_error_that_the_statistic_does_not_see():
    options = {"effect": {"slope": 0.2}, "random_state": 0, "n_resamples": 20}
    with pytest.raises(ValueError, match=r"detected with a power of 0\.8 in at most .* needs more"):
        required_samples(V, statistic="expected_calibration_error", n_bins=1, **options)
    with pytest.raises(ValueError, match=r"at most 4194304 rows; .* best test needs about .*e\+"):
        required_samples(V, effect={"slope": 1 - 1e-5})
    # Residuals .05, -.1 and .05 are uncorrelated with 1 and with the log odds.
    with pytest.raises(ValueError, match=r"that logistic recalibration reduces .*'omnibus'"):
        required_samples([0.2, 0.5, 0.8], effect=[0.25, 0.4, 0.85], statistic="cox")


# ---------------------------------------------------------------------------------------- width


def test_a_design_effect_multiplies_rows():
    options = {"effect": {"slope": 0.5}, "statistic": "cox"}
    plain, wide = (required_samples(V, **options, design_effect=d) for d in (1.0, 2.5))
    assert wide.n_samples == np.ceil(2.5 * plain.n_samples)
    assert wide.n_positives == pytest.approx(wide.n_samples * V.mean())
    assert wide.expected == plain.expected
    for quantity in ("slope", RATIO):
        plain, wide = (
            required_samples_for_width(V, width=0.2, quantity=quantity, design_effect=d)
            for d in (1.0, 3)
        )
        assert wide.n_samples == 3 * plain.n_samples
    assert required_samples(V, **options, design_effect=1e-9).n_samples == 1


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_widths_by_their_formulas(weights):
    """Formulas of Riley et al. (2021), with the matrix of information."""
    truth, x, z = expit(0.2 + 0.7 * logit(V)), logit(V), norm.ppf(0.95)
    mass = truth * (1 - truth)
    a, ab, b = (np.average(mass * x**k, weights=weights) for k in range(3))
    determinant = a * b - ab**2
    options = {"effect": {"slope": 0.7, "intercept": 0.2}, "confidence_level": 0.9}
    options |= {"sample_weight": weights, "width": 0.3}
    found = required_samples_for_width(V, **options)
    assert found.n_samples == np.ceil(a / determinant / (0.3 / (2 * z)) ** 2)
    half = z * (a / determinant / found.n_samples) ** 0.5
    np.testing.assert_allclose(found.expected, 0.7 + np.array([0, -half, half]))
    shift, level = {"effect": {"intercept": -0.4}}, expit(x - 0.4)
    found = required_samples_for_width(V, quantity=LARGE, **options | shift)
    variance = 1 / np.average(level * (1 - level), weights=weights)
    assert found.n_samples == np.ceil(variance / (0.3 / (2 * z)) ** 2)
    assert found.expected.estimate == pytest.approx(-0.4)
    frequency = np.average(truth, weights=weights)
    found = required_samples_for_width(V, quantity=RATIO, **options)
    assert found.n_positives == pytest.approx(found.n_samples * frequency)
    error = z * ((1 - frequency) / (frequency * found.n_samples)) ** 0.5
    ratio = frequency / np.average(V, weights=weights)
    np.testing.assert_allclose(found.expected, ratio * np.exp([0, -error, error]))
    assert found.expected.high - found.expected.low <= 0.3
    fewer = error * (found.n_samples / (found.n_samples - 1)) ** 0.5
    assert 2 * ratio * np.sinh(fewer) > 0.3


def test_values_of_pmvalsampsize():
    """Python's version 0.2.1, called with its documented examples and those of R's 0.1.0.

    It draws a million log odds, in place of which there are quantiles here: two seeds of the first
    example gave 4544 and 4554. Its standard errors of O:E are rounded up to 1e-4.
    """
    for v, theirs in (
        (expit(norm.ppf(STEPS, -5, 2.5)), 4544),
        (beta.ppf(STEPS, 0.5, 0.5), 1644),
        (beta.ppf(STEPS, 1.33, 1.75), 2136),
    ):
        found = required_samples_for_width(v, width=0.2).n_samples
        assert found == pytest.approx(theirs, rel=0.003)
    for prevalence, width, theirs in ((0.018, 1.0, 905), (0.43, 0.2, 510)):
        found = required_samples_for_width([prevalence], quantity=RATIO, width=width)
        assert found.n_samples - theirs in (0, 1)


@pytest.mark.parametrize("quantity", [pytest.param("slope", marks=pytest.mark.slow), LARGE])
def test_widths_of_simulated_studies(quantity):
    """The effect is none of Cox's form, so that the best recalibration has to be found."""

    def distort(v):
        return np.sqrt(v) ** 1.5

    plan = required_samples_for_width(V, quantity=quantity, width=0.5, effect=distort)
    rng = np.random.default_rng(3)
    studies = [cox_recalibration(*draw_study(rng, V, distort, plan.n_samples)) for _ in range(60)]
    found = np.array([getattr(study, quantity) for study in studies])
    assert np.mean(found[:, 2] - found[:, 1]) == pytest.approx(0.5, rel=0.03)
    # The estimates of studies vary by a quarter of the width, about.
    assert found[:, 0].mean() == pytest.approx(plan.expected.estimate, abs=0.05)


def test_certain_and_equal_predictions_have_a_ratio():
    options = {"quantity": RATIO, "width": 0.5}
    found = required_samples_for_width([0.0, 1.0, 0.3, 0.3], **options)
    assert found == required_samples_for_width([0.4], **options)


# -------------------------------------------------------------------------------------- refusals

ROWS = [0.2, 0.3, 0.6, 0.5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"effect": {}}, "effect must have a slope, an intercept or both; got an empty dict"),
        ({"effect": {"slop": 1}}, "key of effect must be one of .* Did you mean 'slope'"),
        ({"effect": {"slope": 1.0}}, "effect must make predictions wrong"),
        ({"effect": {"slope": 0}}, r"slope of effect must lie in \[1e-06, 1e\+06\]; got 0"),
        ({"effect": {"intercept": "x"}}, "intercept of effect must be a number; got 'x'"),
        ({"effect": {"intercept": np.inf}}, "intercept of effect must .* finite; got inf"),
        ({"effect": "slope"}, r"effect must be a dict .*\{'slope': 0.8\}.*; got 'slope'"),
        ({"effect": [0.1]}, r"effect must have shape \(4,\).*; got \(1,\)"),
        ({"effect": [0.1, 0.2, 0.3, 1.3]}, r"effect must lie in \[0, 1\]; got 1.3 at row 3"),
        ({"effect": lambda v: v - 1}, r"value of effect must lie in \[0, 1\]; got -0.8"),
        ({"effect": ROWS}, "effect must make predictions wrong"),
        ({"design_effect": 0}, "design_effect must be above 0; got 0"),
        (
            {"design_effect": 1e20, "statistic": "cox"},
            r"design_effect must be small enough for at most 1e\+15 rows; this one needs",
        ),
        ({"power": 1}, "power must be at least 0 and below 1; got 1"),
        ({"power": 0.05}, "power must be above alpha, .*; got 0.05 and 0.05"),
        ({"alpha": 0}, "power must be above alpha, and alpha above 0; got 0.8 and 0"),
        ({"alpha": 1e-4}, "alpha must be at least 0.001, .* unless statistic='cox'; got 0.0001"),
        ({"statistic": "omni"}, "statistic must be one of 'omnibus', 'cox'.*mean 'omnibus'"),
        ({"y_proba": []}, "y_proba must hold at least one row"),
        ({"y_proba": [0.1, np.nan]}, r"y_proba must lie in \[0, 1\]; got nan at row 1"),
        ({"sample_weight": [1]}, r"sample_weight must have shape \(4,\)"),
        ({"y_proba": [0.2] * 4, "effect": {"slope": 0.5}}, "effect must make predictions wrong"),
        *(
            ({"statistic": "cox", **arguments}, message)
            for arguments, message in (
                ({"y_proba": [0.2] * 4}, "y_proba must hold at least two different .*'cox'; all"),
                ({"y_proba": [0.2, 1]}, "y_proba must lie between .* for statistic='cox'; got 1"),
                ({"effect": np.ones(4)}, "both outcomes possible .*'cox'; all .* are 1"),
            )
        ),
    ],
)
def test_arguments_that_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        required_samples(**{"y_proba": ROWS, "effect": {"intercept": 1}, **arguments})


def test_options_that_are_refused():
    for statistic in ("cox", "omnibus"):
        with pytest.raises(TypeError, match=f"{statistic} has no option 'n_bins'"):
            required_samples(V, effect={"slope": 0.5}, statistic=statistic, n_bins=5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quantity": "slop"}, "quantity must be one of .* Did you mean 'slope'"),
        ({"design_effect": np.inf}, "design_effect must be at least 0 and finite; got inf"),
        ({"width": 0}, "width must be above 0; got 0"),
        ({"width": 1e-9}, r"width must be large enough for at most 1e\+15 rows; this one needs"),
        ({"width": 1e-300}, "width must be large enough .*; this one needs inf"),
        ({"confidence_level": 1}, "confidence_level must be above 0 and below 1"),
        ({"effect": np.zeros(4)}, "both outcomes possible .* all true probabilities are 0"),
        ({"effect": [0, 0, 1, 1]}, "effect must not decide .* quantity='slope'"),
        ({"y_proba": [0.0, 0.5]}, "y_proba must lie between .*quantity='slope'; got 0"),
        ({"y_proba": [0.5]}, "two different predictions for quantity='slope'; all are 0.5"),
        ({"y_proba": [0], "effect": [0.5], "quantity": RATIO}, "y_proba must not be 0 in all"),
    ],
)
def test_widths_that_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        required_samples_for_width(**{"y_proba": ROWS, "width": 0.2, **arguments})


@pytest.mark.parametrize("is_common", [False, True])
def test_design_effect_of_a_slope_is_that_of_residuals_and_log_odds(is_common, rng):
    """Clusters have normal effects, and log odds of their own or of their rows."""
    size, width = 10, 0.2
    nodes, masses = np.polynomial.hermite_e.hermegauss(40)

    def draw(n_clusters):
        score = rng.normal(size=(n_clusters, 1 if is_common else size)) + np.zeros((1, size))
        proba = expit(score[..., None] + nodes) @ masses / masses.sum()
        y = rng.random(score.shape) < expit(score + rng.normal(size=(n_clusters, 1)))
        return y.astype(int), proba

    y, proba = draw(4000)
    residual = y - proba
    between = np.mean(residual.sum(axis=1) ** 2) / np.mean(residual**2) / size  # 1 + (m - 1) r
    assert 2 < between < 4
    effect = between if is_common else 1.0
    plan = required_samples_for_width(proba.ravel(), width=width, design_effect=effect)
    y, proba = draw(plan.n_samples // size)
    member = np.arange(y.size) // size
    found = cox_recalibration(y.ravel(), proba.ravel(), clusters=member).slope
    assert found.high - found.low == pytest.approx(width, rel=0.25)
