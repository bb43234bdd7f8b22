"""estimate_prior: intervals that count both samples, and tests that hold their level."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import binom, binomtest

from skcal.recalibration import PlattScaling
from skcal.shift import PriorShift, estimate_prior
from tests.recalibration.family import NAMES
from tests.shift.populations import NEW, OLD, draw_five, draw_two


def draw(seed, rate=0.1, n_rows=2000, sharpness=1.0):
    """Old rows at a rate of .3, and new scores."""
    rng = np.random.default_rng(seed)
    y, old = draw_two(rng, n_rows, 0.3, sharpness)
    return y, old, draw_two(rng, n_rows, rate, sharpness)[1]


def assert_alike(found, expected, **tolerance):
    for one, other in zip(found[:3], expected[:3], strict=True):
        np.testing.assert_allclose(one, other, **tolerance)
    for one, other in zip(found[3:], expected[3:], strict=True):
        np.testing.assert_allclose(one[:3], other[:3], **tolerance)


# --------------------------------------------------------------------------- the estimate


def solve_notes(y, old, new, rate):
    """The rate of two classes by the posterior probabilities at a rate, of these rows."""
    odds = rate / (1 - rate) / (y.mean() / (1 - y.mean()))
    found, found_new = (odds * v / (odds * v + 1 - v) for v in (old, new))
    negative, positive = (found[y == k].mean() for k in (0, 1))
    return (found_new.mean() - negative) / (positive - negative)


def test_the_steps_of_the_notes():
    """Functions at the rates of maximum likelihood, and at those that their equations give."""
    y, old, new = draw(3, 0.1, 500, sharpness=2.0)
    likeliest = PriorShift().fit(old[:, None], y).adapt(new[:, None]).prior_[1]
    first = solve_notes(y, old, new, likeliest)
    estimate = estimate_prior(y, old, new).estimate[1]
    assert estimate == pytest.approx(solve_notes(y, old, new, first), rel=1e-6)
    assert estimate != pytest.approx(first, rel=1e-3)


def test_it_needs_no_calibration():
    """Where maximum likelihood finds .18 and more instead of .1."""
    y, old, new = draw(0, 0.1, 50_000, sharpness=2.0)
    raw = PriorShift().fit(old[:, None], y).adapt(new[:, None]).prior_[1]
    found = estimate_prior(y, old, new)
    assert raw > 0.15
    assert abs(found.estimate[1] - 0.1) < 0.01
    assert found.low[1] < 0.1 < found.high[1] < 0.12


def test_calibrated_scores_are_near_maximum_likelihood():
    y, old, new = draw(1, 0.1, 20_000)
    likeliest = PriorShift().fit(old[:, None], y).adapt(new[:, None]).prior_[1]
    found = estimate_prior(y, old, new)
    assert abs(found.estimate[1] - likeliest) < found.high[1] - found.low[1]


@pytest.mark.parametrize("recalibrator", [None, "platt", PlattScaling()])
def test_the_same_rows_have_the_same_rates(recalibrator):
    y, old, _ = draw(2)
    found = estimate_prior(y, old, old, recalibrator=recalibrator)
    tolerance = 1e-12 if recalibrator is None else 1e-3
    np.testing.assert_allclose(found.estimate[1], y.mean(), atol=tolerance)
    assert found.change_test.pvalue > 0.9
    assert found.fit_test.pvalue > 0.9


def test_a_recalibrator_shortens_intervals():
    """Scores that are in a wrong order on both sides of 1/2 hide what they tell."""
    y, old, new = draw(3, 0.1, 4000)
    old, new = (np.where(v < 0.5, 0.5 - v, 1.5 - v) for v in (old, new))
    plain, mapped = (estimate_prior(y, old, new, recalibrator=r) for r in (None, "isotonic"))
    for found in (plain, mapped):
        assert found.low[1] < 0.1 < found.high[1]
    assert mapped.high[1] - mapped.low[1] < (plain.high[1] - plain.low[1]) / 2


def test_more_rows_of_one_sample_alone_do_not_make_the_interval_vanish():
    rng = np.random.default_rng(4)
    y, old = draw_two(rng, 500, 0.3)
    widths = [
        np.ptp([found.low[1], found.high[1]])
        for n_new in (500, 5000, 200_000)
        for found in [estimate_prior(y, old, draw_two(rng, n_new, 0.1)[1])]
    ]
    assert widths[0] > widths[1] > widths[2] > widths[1] / 2


def test_layouts_labels_and_weights():
    y, old, new = draw(5, n_rows=300)
    both, both_new = (np.column_stack([1 - v, v]) for v in (old, new))
    expected = estimate_prior(y, old, new)
    assert_alike(estimate_prior(y, both, both_new), expected, rtol=1e-9)
    labels = NAMES[y]
    assert_alike(estimate_prior(labels, both, both_new), expected, rtol=1e-9)
    assert_alike(estimate_prior(labels, old, new, pos_label="bee"), expected, rtol=1e-9)
    assert_alike(estimate_prior(labels, old, new, labels=["ant", "bee"]), expected, rtol=1e-9)
    assert_alike(estimate_prior(labels, old[:, None], new[:, None], pos_label="bee"), expected)
    other = estimate_prior(labels, both, both_new, pos_label="ant")
    np.testing.assert_allclose(other.estimate[::-1], expected.estimate, rtol=1e-9)
    np.testing.assert_allclose(other.low[::-1], expected.low, atol=1e-9)
    ones = {"sample_weight": np.ones(300), "sample_weight_new": np.full(300, 7.0)}
    assert_alike(estimate_prior(y, old, new, **ones), expected, rtol=1e-9)
    keep = np.arange(300) % 3 > 0
    zeros = {"sample_weight": keep, "sample_weight_new": keep}
    kept = estimate_prior(y[keep], old[keep], new[keep])
    assert_alike(estimate_prior(y, old, new, **zeros), kept, rtol=1e-9)


def test_weights_move_the_rates_to_those_of_what_they_count():
    y, old, new = draw(6, n_rows=400)
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 4, (2, 400))
    found = estimate_prior(y, old, new, sample_weight=counts[0], sample_weight_new=counts[1])
    repeated = estimate_prior(
        np.repeat(y, counts[0]), np.repeat(old, counts[0]), np.repeat(new, counts[1])
    )
    np.testing.assert_allclose(found.estimate, repeated.estimate, atol=1e-3)
    assert np.ptp([found.low[1], found.high[1]]) > np.ptp([repeated.low[1], repeated.high[1]])


def test_classes_have_no_order():
    rng = np.random.default_rng(7)
    (y, old), (_, new) = draw_five(rng, 3000, OLD), draw_five(rng, 3000, NEW)
    found = estimate_prior(y, old, new)
    turned = estimate_prior(4 - y, old[:, ::-1], new[:, ::-1])
    for one, other in zip(found[:3], turned[:3], strict=True):
        np.testing.assert_allclose(one, other[::-1], atol=1e-9)
    assert found.fit_test.pvalue == pytest.approx(turned.fit_test.pvalue, rel=1e-6)
    assert found.change_test.pvalue < 1e-6
    assert found.estimate.sum() == pytest.approx(1)
    assert ((found.low <= found.estimate) & (found.estimate <= found.high)).all()


def test_sure_scores_are_counted():
    y = np.arange(60) % 3
    found = estimate_prior(y, np.eye(3)[y], np.eye(3)[[0, 0, 0, 1, 2]])
    np.testing.assert_allclose(found.estimate, [0.6, 0.2, 0.2])
    assert found.fit_test.pvalue == 1


@pytest.mark.parametrize("n_positive", [0, 1, 30, 60])
def test_sure_scores_have_the_interval_of_wilson(n_positive):
    """Also where a class is seen in no new row. Variances have the divisor n - 1, but for this."""
    y, new = np.arange(200) % 2, np.arange(60) < n_positive
    found = estimate_prior(y, y, new.astype(float))
    wilson = binomtest(n_positive, 60).proportion_ci(method="wilson")
    np.testing.assert_allclose([found.low[1], found.high[1]], wilson, atol=2e-3)
    np.testing.assert_allclose(found.low + found.high[::-1], 1)
    assert found.fit_test.pvalue == 1


# --------------------------------------------------------------------------- what is refused


def test_bad_input():
    y, old, new = draw(8, n_rows=40)
    with pytest.raises(ValueError, match=r"^y_proba_new must have the columns of y_proba"):
        estimate_prior(y, old, np.column_stack([1 - new, new]))
    tables = [pd.DataFrame({"p_no": 1 - v, "p_yes": v}) for v in (old, new)]
    with pytest.raises(ValueError, match=r"^y_proba_new must have the columns of y_proba, in the"):
        estimate_prior(y, tables[0], tables[1][["p_yes", "p_no"]])
    # Other names say nothing of an order.
    renamed = tables[1].set_axis(["new_no", "new_yes"], axis=1)
    found = estimate_prior(y, tables[0], renamed)
    np.testing.assert_array_equal(found.estimate, estimate_prior(y, *tables).estimate)
    with pytest.raises(ValueError, match=r"^y_proba_new must lie in \[0, 1\]"):
        estimate_prior(y, old, new + 1)
    with pytest.raises(ValueError, match=r"^sample_weight_new must have shape \(40,\)"):
        estimate_prior(y, old, new, sample_weight_new=[1, 2])
    with pytest.raises(ValueError, match=r"at least two rows of each class.*got fewer of \[1\]"):
        estimate_prior([0, 0, 0, 1], [0.1, 0.2, 0.3, 0.4], new)
    with pytest.raises(ValueError, match=r"at least two rows with a positive weight"):
        estimate_prior(y, old, new[:1])
    with pytest.raises(ValueError, match="cannot tell the classes apart"):
        estimate_prior(y, np.full(40, 0.3), new)
    with pytest.raises(ValueError, match="soft labels"):
        estimate_prior(old, old, new)
    with pytest.raises(ValueError, match=r"confidence_level"):
        estimate_prior(y, old, new, confidence_level=95)
    with pytest.raises(ValueError, match=r"^recalibrator must be"):
        estimate_prior(y, old, new, recalibrator="plat")
    tables = [pd.DataFrame({"ant": 1 - v, "bee": v}) for v in (old, new)]
    with pytest.raises(ValueError, match=r"^The columns of y_proba_new are named"):
        estimate_prior(NAMES[y], tables[0], tables[1][["bee", "ant"]])


# --------------------------------------------------------------------------- levels and coverage


def check_share(hits, n_samples, low, high):
    """The true share is in [low, high], as far as so many samples can say."""
    assert binom.cdf(hits, n_samples, low) > 1e-3
    assert binom.sf(hits - 1, n_samples, high) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("recalibrator", [None, "platt"])
@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_intervals_cover_and_tests_hold_their_level(rate, recalibrator):
    """2000 rows each of an over-confident model; between 93 and 97 %, and 5 % within 1.5.

    Other models and rates are in the table of `benchmarks/bench_shift.py`.
    """
    n_samples = 400
    found = [
        estimate_prior(*draw(seed, rate, sharpness=2.0), recalibrator=recalibrator)
        for seed in range(n_samples)
    ]
    check_share(sum(f.low[1] <= rate <= f.high[1] for f in found), n_samples, 0.93, 0.97)
    check_share(sum(f.fit_test.pvalue <= 0.05 for f in found), n_samples, 0.035, 0.065)
    rejected = sum(f.change_test.pvalue <= 0.05 for f in found)
    if rate == 0.3:
        check_share(rejected, n_samples, 0.035, 0.065)
    else:
        assert rejected == n_samples
    error = np.mean([f.estimate[1] for f in found]) - rate
    assert abs(error) < 4 * np.std([f.estimate[1] for f in found]) / np.sqrt(n_samples) + 0.001


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sure", "sharp", "forest", "normal"])
def test_intervals_of_a_rare_class_cover(kind):
    """Two of a hundred new rows; intervals by the variance of these rows held 79-91 %."""
    rng, hits = np.random.default_rng(11), 0
    scores = {
        "sure": lambda y: y.astype(float),
        "sharp": lambda y: expit(4 * rng.normal(4 * y) - 8),
        "forest": lambda y: rng.binomial(20, np.where(y, 0.6, 0.05)) / 20,
        "normal": lambda y: expit(1.6 * rng.normal(1.6 * y) - 1.28),
    }
    for _ in range(300):
        y, y_new = rng.random(500) < 0.3, rng.random(100) < 0.02
        found = estimate_prior(y, scores[kind](y), scores[kind](y_new))
        hits += found.low[1] <= 0.02 <= found.high[1]
    check_share(hits, 300, 0.93, 0.99)


@pytest.mark.slow
@pytest.mark.parametrize("sharpness", [1.0, 2.0])
def test_intervals_of_five_classes_cover(sharpness):
    n_samples, rng, hits, rejected = 300, np.random.default_rng(9), 0, 0
    for _ in range(n_samples):
        y, old = draw_five(rng, 2000, OLD, sharpness)
        found = estimate_prior(y, old, draw_five(rng, 2000, NEW, sharpness)[1])
        hits = hits + ((found.low <= NEW) & (found.high >= NEW))
        rejected += found.fit_test.pvalue <= 0.05
    for hit in hits:
        check_share(hit, n_samples, 0.93, 0.975)
    check_share(rejected, n_samples, 0.03, 0.07)


def test_other_shifts_are_seen():
    """Noise in the features, and a threshold that cuts off rows, are no new rates."""
    y, old, new = draw(10, 0.1)
    noise = 1.6 * np.random.default_rng(0).normal(size=len(new))
    noisy = expit(logit(new) + noise)
    assert estimate_prior(y, old, noisy).fit_test.pvalue < 1e-4
    assert estimate_prior(y, old, new[new < 0.5]).fit_test.pvalue < 1e-4
    assert estimate_prior(y, old, new).fit_test.pvalue > 0.01
