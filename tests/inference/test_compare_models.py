"""Which of several models is better calibrated on the same rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.metrics import brier_score_loss

from skcal._numerics.inference._differences import find_pvalue_of_interval
from skcal.inference import calibration_test, compare_calibration
from skcal.metrics import MEASURES, expected_calibration_error
from tests.chance import most_of


def draw(rng, n):
    """Outcomes of a logistic model, and its log odds."""
    log_odds = 1.5 * rng.normal(size=n)
    return (rng.random(n) < expit(log_odds)).astype(int), log_odds


def test_pairs_of_models(rng):
    y, z = draw(rng, 400)
    models = {"twice": expit(2 * z), "true": expit(z), "half": expit(z / 2)}
    found = compare_calibration(y, models, random_state=0)
    assert found.names == list(models)
    assert found.pairs == [("twice", "true"), ("twice", "half"), ("true", "half")]
    assert (found.low <= found.difference).all()
    assert (found.difference <= found.high).all()
    assert (found.adjusted_pvalues >= found.pvalues).all()
    assert found.pvalue == found.adjusted_pvalues.min()
    np.testing.assert_array_equal(
        found.difference, np.subtract.outer(found.errors, found.errors)[np.triu_indices(3, 1)]
    )
    assert (found.measure, found.confidence_level) == ("smooth_ece", 0.95)
    table = found.to_frame()
    assert table.shape == (3, 7)
    pd.testing.assert_series_equal(table["low"], pd.Series(found.low, name="low"))
    for proba, interval in zip(models.values(), found.intervals, strict=True):
        assert interval.estimate == MEASURES["smooth_ece"].function(y, proba)


def test_a_pair_is_the_reverse_of_its_reverse(rng):
    y, z = draw(rng, 300)
    options = {"measure": "expected_calibration_error", "random_state": 0, "n_bins": 8}
    one, other = expit(2 * z), expit(0.8 * z)
    found = compare_calibration(y, one, other, **options)
    back = compare_calibration(y, other, one, **options)
    assert (found.names, found.pairs) == ([0, 1], [(0, 1)])
    np.testing.assert_allclose(
        (found.difference, found.low, found.high),
        (-back.difference, -back.high, -back.low),
        atol=1e-12,
    )
    np.testing.assert_allclose(found.pvalues, back.pvalues)


@pytest.mark.parametrize("name", MEASURES)
def test_a_model_differs_from_itself_by_nothing(name, rng):
    y, z = draw(rng, 60)
    options = {"measure": name, "n_resamples": 20, "random_state": 0}
    found = compare_calibration(y, expit(z), expit(z), **options)
    assert (found.difference[0], found.pvalue) == (0, 1)
    assert found.low[0] <= 0 <= found.high[0]


def test_pairs_know_more_than_their_models(rng):
    """Both are off in one way, so that their errors vary together."""
    y, z = draw(rng, 1500)
    found = compare_calibration(y, expit(z + 1), expit(z + 0.9), random_state=0)
    lengths = [interval.high - interval.low for interval in found.intervals]
    assert found.high[0] - found.low[0] < min(lengths) / 3
    assert found.low[0] > 0


def test_a_function_of_the_user(rng):
    y, z = draw(rng, 300)
    models = expit(z), expit(z) * 0 + y.mean()
    found = compare_calibration(y, *models, measure=brier_score_loss, random_state=0)
    scores = [brier_score_loss(y, proba) for proba in models]
    assert found.measure == "brier_score_loss"
    assert found.difference[0] == pytest.approx(scores[0] - scores[1])
    np.testing.assert_allclose(found.errors, scores)
    assert found.high[0] < 0
    # Nothing but the interval tells its p-value.
    ends = found.difference[0], found.low[0], found.high[0]
    assert found.pvalues[0] == find_pvalue_of_interval(*ends, 0.95)


def exaggerate(chances, size):
    return np.clip(chances + size * (2 * chances - 1), 0.001, 0.999)


@pytest.mark.parametrize("name", ["smooth_ece", "cumulative_calibration_error"])
def test_small_errors_are_told_from_none(name):
    """The interval of the measure holds 0 still; the log loss is surer of over-confidence."""
    rng = np.random.default_rng(1)
    chances = rng.uniform(0.001, 0.999, 4000)
    y = np.where(rng.random(4000) < chances, "yes", "no")
    models = {"true": chances, "bold": exaggerate(chances, 0.06)}
    found = compare_calibration(y, models, measure=name, pos_label="yes", random_state=0)
    assert found.low[0] < found.difference[0] < 0 < found.high[0]
    assert found.pvalue < 0.01


def test_none_is_worse_without_an_error_of_its_own():
    """Gains differ by chance most often where one of two calibrated models is constant."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        chances = rng.random(500)
        y, rate = (rng.random(500) < chances).astype(int), np.full(500, 0.5)
        options = {"measure": "expected_calibration_error", "random_state": seed}
        assert compare_calibration(y, chances, rate, **options).pvalue > 0.01


def test_the_worse_model_has_the_larger_error():
    """Sigmoids do not see a wave, and gain on log odds that are a little too large."""
    rng = np.random.default_rng(0)
    chances = rng.uniform(0.001, 0.999, 2000)
    y = (rng.random(2000) < chances).astype(int)
    wave = np.clip(chances + 0.2 * np.sin(12 * chances), 0.001, 0.999)
    found = compare_calibration(y, wave, expit(1.1 * logit(chances)), random_state=0)
    ends = found.difference[0], found.low[0], found.high[0]
    assert ends[0] > 0
    assert found.pvalues[0] == min(1, 2 * find_pvalue_of_interval(*ends, 0.95))


def test_errors_are_without_the_chance_of_the_test(rng):
    y, z = draw(rng, 300)
    models, options = (expit(2 * z), expit(z / 2)), {"n_resamples": 200, "random_state": 3}
    found = compare_calibration(y, *models, **options)
    for error, proba in zip(found.errors, models, strict=True):
        test = calibration_test(y, proba, statistic="smooth_ece", **options)
        assert error == pytest.approx(np.sqrt(test.estimate**2 - test.null_mean**2))


def test_votes_of_a_forest(rng):
    """Predictions of 0 and 1 have a log loss, too."""
    chances = expit(3 * rng.normal(size=400))
    y = (rng.random(400) < chances).astype(int)
    votes = rng.binomial(10, chances) / 10
    found = compare_calibration(y, np.round(votes), votes, random_state=0)
    assert found.difference[0] > 0
    assert found.pvalue < 0.01


def test_rows_of_a_cluster_are_not_rows_of_their_own(rng):
    chances = np.repeat(rng.uniform(0.1, 0.9, 60), 20)
    y = (np.repeat(rng.random(60), 20) < chances).astype(int)
    models, few = (chances, exaggerate(chances, 0.12)), {"n_resamples": 50}
    noisy = [expit(logit(proba) + 0.01 * rng.normal(size=1200)) for proba in models]
    plain = compare_calibration(y, *noisy, random_state=0, **few)
    found = compare_calibration(y, *noisy, clusters=np.arange(1200) // 20, random_state=0, **few)
    assert found.pvalue > plain.pvalue


def test_weights_clusters_and_absent_rows(rng):
    y, z = draw(rng, 150)
    models, few = (expit(2 * z), expit(z / 2)), {"n_resamples": 50, "random_state": 0}
    single = compare_calibration(y, *models, **few)
    row = np.repeat(np.arange(150), 4)
    copies = compare_calibration(y[row], *(proba[row] for proba in models), clusters=row, **few)
    absent = compare_calibration(
        np.append(y, 1),
        *(np.append(proba, 0.1) for proba in models),
        sample_weight=np.append(np.full(150, 3.0), 0.0),
        **few,
    )
    for found in (copies, absent):
        np.testing.assert_allclose(found.difference, single.difference, atol=1e-9)
        np.testing.assert_allclose((found.low, found.high), (single.low, single.high), atol=1e-9)
        np.testing.assert_allclose(found.pvalues, single.pvalues, rtol=1e-6)
    # Copies for one model are none for the other one.
    noisy = expit(z[row] / 2 + 0.1 * rng.normal(size=600))
    found = compare_calibration(y[row], models[0][row], noisy, clusters=row, **few)
    plain = compare_calibration(y[row], models[0][row], noisy, **few)
    assert found.high[0] - found.low[0] > 1.5 * (plain.high[0] - plain.low[0])


def test_few_clusters_take_the_ends_of_both(rng):
    y, z = draw(rng, 120)
    options = {"clusters": np.arange(120) // 10, "random_state": 0}
    found = compare_calibration(y, expit(2 * z), expit(z), **options)
    first, second = found.intervals
    assert found.low[0] == pytest.approx(first.low - second.high)
    assert found.high[0] == pytest.approx(first.high - second.low)
    np.testing.assert_array_equal(found.errors, [first.estimate, second.estimate])
    assert found.pvalue >= 2.0**-10  # what equal signs of 12 clusters tell, at half the level


def test_soft_labels_and_classes(rng):
    _, z = draw(rng, 300)
    found = compare_calibration(expit(z), expit(z), expit(2 * z), random_state=0)
    assert found.high[0] < 0
    proba = rng.dirichlet([1, 1, 1], 300)
    labels = np.array([rng.choice(3, p=row) for row in proba])
    bold = proba**3 / (proba**3).sum(axis=1, keepdims=True)
    for options in (
        {},
        {"measure": "canonical_calibration_error"},
        {"measure": "expected_calibration_error", "reduction": "classwise"},
    ):
        options |= {"n_resamples": 50, "random_state": 0}
        found = compare_calibration(labels, bold, proba, **options)
        assert 0 < found.difference[0] <= found.high[0]
        assert found.pvalue < 0.01


def test_labels_that_a_row_may_have_together(rng):
    proba = rng.random((400, 3))
    labels = (rng.random((400, 3)) < proba).astype(int)
    off = 0.5 * proba
    few = {"n_resamples": 50, "random_state": 0}
    found = compare_calibration(labels, off, proba, reduction="multilabel", **few)
    assert found.difference[0] == pytest.approx(0.25, abs=0.04)  # the mean of p / 2
    assert found.low[0] <= found.difference[0] <= found.high[0]
    # One label is what its column is.
    options = few | {"measure": "expected_calibration_error"}
    single = compare_calibration(labels[:, 0], off[:, 0], proba[:, 0], **options)
    (label, *models) = (values[:, :1] for values in (labels, off, proba))
    found = compare_calibration(label, *models, reduction="multilabel", **options)
    assert found.difference[0] == pytest.approx(single.difference[0], abs=0.01)


@pytest.mark.parametrize(
    ("y_true", "proba", "weights"),
    [
        ([0, 0], [0.0, 1e-310], [1e-300, 1e-300]),
        ([0, 0, 1], [0.0, 0.0, 1e-310], None),
        ([0] * 40, [*[0.0] * 4, 1e-310, 1e-16] * 6 + [0.0] * 4, [*[0.0] * 4, 1e-300, 1e-5] * 7),
        ([0, 0, 0], [0.0, 0.0, 0.1], [1e-5, 1e-5, 1e300]),
    ],
)
@pytest.mark.parametrize("measure", ["smooth_ece", "maximum_calibration_error"])
def test_the_smallest_numbers(y_true, proba, weights, measure):
    weights = None if weights is None else weights[: len(y_true)]
    found = compare_calibration(
        y_true,
        proba,
        proba[::-1],
        measure=measure,
        sample_weight=weights,
        labels=[0, 1],
        random_state=0,
    )
    assert found.low[0] <= found.difference[0] <= found.high[0]


def test_bad_calls(rng):
    y, z = draw(rng, 50)
    with pytest.raises(ValueError, match="other must be given, unless y_proba is a dictionary"):
        compare_calibration(y, expit(z))
    with pytest.raises(ValueError, match="other must be None if y_proba is a dictionary"):
        compare_calibration(y, {"a": expit(z), "b": expit(z)}, expit(z))
    with pytest.raises(ValueError, match="at least two models"):
        compare_calibration(y, {"only": expit(z)})
    with pytest.raises(ValueError, match="measure must be one of"):
        compare_calibration(y, expit(z), expit(z), measure="smoth_ece")
    with pytest.raises(ValueError, match="y_proba"):
        compare_calibration(y, expit(z), expit(z)[1:])
    with pytest.raises(TypeError, match="n_bin"):
        compare_calibration(y, expit(z), expit(z), n_bin=3)
    with pytest.raises(ValueError, match="confidence_level"):
        compare_calibration(y, expit(z), expit(z), confidence_level=1)


def draw_two_calibrated(rng, n):
    """Two models that know different things; both are calibrated."""
    one, other = rng.normal(size=(2, n))
    y = rng.random(n) < norm.cdf(one + other)
    return y.astype(int), norm.cdf(one / np.sqrt(2)), norm.cdf(other / np.sqrt(2))


def test_intervals_cover():
    """The difference between the errors of the population; `bench_coverage.py` draws more."""
    places = expit(1.5 * norm.ppf((np.arange(20_000) + 0.5) / 20_000))
    n_samples, misses, error = 7, 0, expected_calibration_error
    for distort in (
        None,
        (lambda t: t**2, lambda t: t),
        (lambda t: 0.8 * t, lambda t: 0.8 * t + 0.2),
    ):
        truth = 0.0
        if distort is not None:
            truth = error(places, distort[0](places)) - error(places, distort[1](places))
        for seed in range(n_samples):
            rng = np.random.default_rng(seed)
            if distort is None:
                y, *models = draw_two_calibrated(rng, 500)
            else:
                y, log_odds = draw(rng, 500)
                models = [one(expit(log_odds)) for one in distort]
            options = {"measure": "expected_calibration_error", "n_resamples": 20}
            found = compare_calibration(y, *models, random_state=seed, **options)
            misses += not found.low[0] <= truth <= found.high[0]
    assert misses <= most_of(3 * n_samples, 0.07)


def test_a_single_row_tells_nothing():
    found = compare_calibration([1], [0.7], [0.2], random_state=0, labels=[0, 1], pos_label=1)
    assert found.low[0] < found.difference[0] < found.high[0]
    measure = "squared_kernel_calibration_error"
    found = compare_calibration([1], [0.7], [0.2], measure=measure, random_state=0)
    assert (found.low[0], found.pvalue) == (-np.inf, 1)
