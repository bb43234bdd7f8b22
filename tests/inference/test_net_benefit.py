"""Differences of net benefits: what they are, and what is the same."""

import numpy as np
import pytest
from scipy.stats import norm

from skcal.inference import net_benefit_difference
from skcal.metrics import elementary_score_curve, net_benefit_curve

THRESHOLDS = [0.3, 0.1, 0.5, 0.8]


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    v = rng.random(400).round(2)
    return (rng.random(400) < v).astype(int), v, np.clip(v + rng.normal(0, 0.2, 400), 0, 1)


@pytest.mark.parametrize("act", [">", ">="])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_differences_are_those_of_the_curves(rows, act, is_weighted):
    y, v, other = rows
    options = {"thresholds": THRESHOLDS, "act": act}
    options["sample_weight"] = np.arange(400) % 5 if is_weighted else None
    own, others = (net_benefit_curve(y, p, **options) for p in (v, other))
    for baseline, expected in (
        ("all", own.treat_all),
        ("none", own.treat_none),
        (other, others.net_benefit),
    ):
        found = net_benefit_difference(y, v, baseline, **options)
        assert found.thresholds.tolist() == THRESHOLDS
        np.testing.assert_allclose(found.difference, own.net_benefit - expected, atol=1e-12)
        assert (found.low < found.difference).all()
        assert (found.difference < found.high).all()


def test_exchanged_models_have_the_opposite_difference(rows):
    y, v, other = rows
    there, back = net_benefit_difference(y, v, other), net_benefit_difference(y, other, v)
    np.testing.assert_allclose(there.difference, -back.difference, atol=1e-12)
    np.testing.assert_allclose(there.low, -back.high, atol=1e-9)
    same = net_benefit_difference(y, v, v)
    assert (same.low < 0).all()
    assert (same.high > 0).all()
    assert not same.difference.any()


def test_one_threshold_and_many_rows_have_the_normal_interval():
    rng, t = np.random.default_rng(1), 0.3
    v, w = rng.random((2, 200_000))
    y = (rng.random(200_000) < v).astype(int)
    gains = np.where(v >= t, np.where(y == 1, 1.0, -t / (1 - t)), 0.0)
    for weight in (np.ones(len(v)), w):
        found = net_benefit_difference(y, v, "none", thresholds=[t], sample_weight=weight)
        mean = np.average(gains, weights=weight)
        error = np.sqrt((weight**2) @ (gains - mean) ** 2) / weight.sum()
        width = norm.ppf(0.975) * error
        np.testing.assert_allclose(found.low, mean - width, atol=0.01 * width)
        np.testing.assert_allclose(found.high, mean + width, atol=0.01 * width)


def test_unit_of_weights_and_rows_without_weight_do_not_matter(rows):
    y, v, other = rows
    weight = (np.arange(400) % 3).astype(float)
    options = {"thresholds": THRESHOLDS}
    expected = net_benefit_difference(y, v, other, sample_weight=weight, **options)
    scaled = net_benefit_difference(y, v, other, sample_weight=weight * 1e-30, **options)
    np.testing.assert_allclose(scaled, expected, atol=1e-9)
    kept = weight > 0
    rest = net_benefit_difference(
        y[kept], v[kept], other[kept], sample_weight=weight[kept], **options
    )
    np.testing.assert_allclose(rest, expected, atol=1e-12)


def test_fewer_thresholds_and_lower_levels_have_narrower_bands(rows):
    y, v, _ = rows
    wide = net_benefit_difference(y, v, "all", confidence_level=0.99)
    usual = net_benefit_difference(y, v, "all")
    few = net_benefit_difference(y, v, "all", thresholds=usual.thresholds[19:40])
    assert (wide.low < usual.low).all()
    assert (usual.high < wide.high).all()
    assert (usual.low[19:40] < few.low).all()
    assert (few.high < usual.high[19:40]).all()


def test_what_is_certain_stays_within_what_is_possible():
    """One row, one class, and predictions of 0 and 1: no more than any outcome could bring."""
    for y, v in (([1], [0.3]), ([1, 1, 1], [0, 0.5, 1]), ([0, 1], [0, 1])):
        found = net_benefit_difference(y, v, "none", thresholds=[0.2, 0.5], pos_label=1)
        odds = found.thresholds / (1 - found.thresholds)
        assert (found.low >= -odds - 1e-9).all()
        assert (found.high <= 1 + 1e-9).all()
        assert (found.low < found.high).all()


@pytest.mark.parametrize(
    ("baseline", "options", "message"),
    [
        ("best", {}, "baseline must be one of 'all', 'none'; got 'best'"),
        ([0.1], {}, "y_true and baseline must have the same length; got 400 labels and 1 rows"),
        ("all", {"thresholds": [0, 0.5]}, "thresholds must lie strictly between 0 and 1"),
        ("all", {"thresholds": np.full(1001, 0.5)}, "thresholds must hold at most 1000"),
        ("all", {"confidence_level": 95}, "confidence_level must be"),
        ("all", {"reduction": "full"}, "reduction must give one binary problem .*; got 'full'"),
        ("all", {"reduction": "ful"}, "reduction must be one of .* Did you mean 'full'?"),
        ("all", {"thresholds": np.linspace(0, 1, 2001)}, r"got 0, the first of 2 that do not\.$"),
        ("all", {"thresholds": [0.5, 1]}, r"strictly between 0 and 1; got 1\.$"),
        ("all", {"act": "=>"}, "act must be one of '>', '>='; got '=>'. Did you mean '>='?"),
    ],
)
def test_what_is_refused(rows, baseline, options, message):
    y, v, _ = rows
    with pytest.raises(ValueError, match=message):
        net_benefit_difference(y, v, baseline, **options)


def test_models_must_predict_the_same_outcomes():
    rng = np.random.default_rng(0)
    first, second = rng.dirichlet([1, 1, 1], size=(2, 50))
    y = rng.integers(0, 3, 50)
    with pytest.raises(ValueError, match="baseline must predict the same outcomes"):
        net_benefit_difference(y, first, second)
    found = net_benefit_difference(y, first, second, pos_label=1, thresholds=[0.4])
    expected = net_benefit_difference(y == 1, first[:, 1], second[:, 1], thresholds=[0.4])
    np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="y_true must hold labels"):
        net_benefit_difference([0.5, 0.1], [0.2, 0.3], "all")


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_thresholds_have_the_precision_of_predictions(rows, kind):
    """0.7 in float32 is below 0.7, but reaches a threshold of 0.7."""
    y, v, _ = rows
    for act in (">", ">="):
        expected = net_benefit_difference(y, v, "none", act=act)
        found = net_benefit_difference(y, v.astype(kind), "none", act=act)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        curves = [net_benefit_curve(y, p, act=act).net_benefit for p in (v, v.astype(kind))]
        np.testing.assert_allclose(*curves, atol=1e-12)


def test_thresholds_keep_their_precision_beside_round_predictions():
    """0.5 in float64 is below a threshold of 0.5001, though float16 could hold it."""
    y, v = [0, 1, 1], np.array([0.5, 0.25, 0.75])
    for t in (0.5001, np.nextafter(0.5, 1)):
        options = {"thresholds": [t], "pos_label": 1}
        assert net_benefit_curve(y, v, **options).net_benefit == [1 / 3]
        assert net_benefit_difference(y, v, "none", **options).difference == pytest.approx(1 / 3)
        assert elementary_score_curve(y, v, **options).score == pytest.approx((1 - t) / 3)


def test_models_of_different_precision(rows):
    y, v, _ = rows
    found = net_benefit_difference(y, v, v.astype(np.float32), thresholds=THRESHOLDS)
    assert not found.difference.any()


def test_reduction():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1, 1], 50)
    y = (rng.random(50) < proba[:, 1]).astype(int)
    confidence, right = proba.max(axis=1), (proba.argmax(axis=1) == y).astype(int)
    found = net_benefit_difference(y, proba, "all", reduction="confidence")
    np.testing.assert_array_equal(found, net_benefit_difference(right, confidence, "all"))
    for curve in (net_benefit_curve, elementary_score_curve):
        np.testing.assert_array_equal(
            curve(y, proba, reduction="confidence"), curve(right, confidence)
        )
        with pytest.raises(ValueError, match="reduction must give one binary problem"):
            curve(y, proba, reduction="classwise")


def test_weights_far_apart():
    """The law of an end may have no chance of what was seen: infinitely unlikely, no warning."""
    options = {"thresholds": [0.5], "sample_weight": [1e8, 1], "pos_label": 1}
    found = net_benefit_difference([0, 0], [0.6, 0.3], "none", **options)
    assert -1 <= found.low[0] < found.difference[0] < found.high[0] <= 1
