"""Validation of groups: each by itself, pooled, and which are left out."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import binom
from sklearn.metrics import roc_auc_score

from skcal._numerics.inference._concordance import find_concordance
from skcal._numerics.inference._few_events import correct_level, correct_ratio
from skcal._numerics.inference._random_effects import pool_effects
from skcal.inference import (
    cox_recalibration,
    observed_expected_ratio,
    pool_estimates,
    pooled_validation,
)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    site = rng.choice(["a", "b", "c", "d"], size=4000)
    log_odds = rng.normal(-1, 1, 4000)
    shift = pd.Series({"a": 0.5, "b": -0.4, "c": 0.0, "d": 0.2})[site].to_numpy()
    y = (rng.random(4000) < expit(shift + 0.8 * log_odds)).astype(int)
    return y, expit(log_odds), site


def test_coefficients_are_those_of_each_group(rows):
    y, v, site = rows
    found = pooled_validation(y, v, site, confidence_level=0.9)
    assert found.table["group"].tolist() == ["a", "b", "c", "d"]
    assert (found.table["left_out"] == "").all()
    for row in found.table.itertuples():
        part = site == row.group
        own = cox_recalibration(y[part], v[part])
        assert (row.n_samples, row.n_events) == (part.sum(), y[part].sum())
        for interval, estimate, error in (
            (own.calibration_in_the_large, row.calibration_in_the_large, row.intercept_error),
            (own.slope, row.slope, row.slope_error),
        ):
            np.testing.assert_allclose(estimate, interval.estimate, atol=1e-7)
            width = (interval.high - interval.low) / 2 / 1.959964
            np.testing.assert_allclose(error, width, rtol=0.01)  # the likelihood is nearly normal
        ratio = observed_expected_ratio(y[part], v[part])
        assert row.observed_expected == pytest.approx(ratio.estimate)
        n, n_events = row.n_samples, row.n_events
        error = ratio.estimate * np.sqrt((1 - n_events / n) / n_events)  # Debray et al. (2017)
        assert row.ratio_error == pytest.approx(error)
        assert row.c_statistic == pytest.approx(roc_auc_score(y[part], v[part]))
    table, level = found.table, {"confidence_level": 0.9}
    expected = pool_estimates(table["c_statistic"], table["c_error"], scale="logit", **level)
    assert found.c_statistic == expected
    expected = pool_effects(table["slope"].to_numpy(), table["slope_error"].to_numpy(), 0.9)
    np.testing.assert_array_equal(found.slope[:6], expected)
    # With 200 events and more in each group chance has hardly a say in errors.
    expected = pool_estimates(
        table["observed_expected"], table["ratio_error"], scale="log", **level
    )
    np.testing.assert_allclose(found.observed_expected[:6], expected[:6], rtol=0.02)
    expected = pool_estimates(table["calibration_in_the_large"], table["intercept_error"], **level)
    np.testing.assert_allclose(found.calibration_in_the_large[:6], expected[:6], atol=0.02)


def test_groups_with_many_events_by_chance_have_no_more_weight():
    """Groups of one size with the same prediction: a plain mean, however many events each has."""
    n, v, events = 100, 0.1, np.array([6, 9, 10, 12, 17])
    y = np.concatenate([np.arange(n) < k for k in events]).astype(int)
    predictions = v + 1e-9 * (np.arange(len(y)) % 2)  # a slope needs two
    found = pooled_validation(y, predictions, np.repeat(np.arange(5), n))
    ratios = (events + (1 - events / n) / 2) / (n * v)
    assert found.observed_expected.estimate == pytest.approx(np.exp(np.log(ratios).mean()))
    shares = events / n
    levels = logit(shares) - logit(v) + (0.5 - shares) / (n * shares * (1 - shares))
    assert found.calibration_in_the_large.estimate == pytest.approx(levels.mean(), abs=1e-6)
    assert found.table["observed_expected"].tolist() == pytest.approx(
        (events / (n * v)).tolist(), rel=1e-6
    )


@pytest.mark.parametrize("mean", [5, 10, 30])
def test_the_bias_of_few_events_is_gone(mean):
    """Means over all numbers of events of a group, by enumeration."""
    n, v = 200, mean / 200
    k = np.arange(1, n)
    chances = binom.pmf(k, n, v) / binom.pmf(k, n, v).sum()
    shares = k / n
    ratio, error = correct_ratio(shares / v, np.sqrt((1 - shares) / k) * shares / v, shares, v)
    seen = chances @ np.log(shares / v)
    assert abs(chances @ np.log(ratio)) < 0.25 * abs(seen)
    # That of the events expected, if these are not off by more than chance.
    likely = np.abs(k - mean) < 2 * np.sqrt(mean)
    expected = np.sqrt((1 - v) / (n * v))
    np.testing.assert_allclose((error / ratio)[likely & (k > mean / 3)], expected, rtol=1e-12)
    levels = logit(shares) - logit(v)
    shift = np.array(
        [
            correct_level(own, (n * p * (1 - p)) ** -0.5, logit([v]), np.ones(1), 0.0)[0]
            for own, p in zip(levels, shares, strict=True)
        ]
    )
    assert abs(chances @ shift) < 0.25 * abs(chances @ levels)


def test_a_group_far_from_all_others_keeps_its_own_error():
    """Errors of expected events are trusted up to a factor of two."""
    _, error = correct_ratio(1e6, 1e6, 0.5, 1e-6)
    assert error / (1.5e6) == pytest.approx(2.0)
    _, error = correct_ratio(1e-6, 1e-6, 1e-6, 0.5)
    assert error / 1.5e-6 == pytest.approx(0.5)


def test_equal_weights_are_none_and_labels_have_names(rows):
    y, v, site = rows
    expected = pooled_validation(y, v, site)
    weighted = pooled_validation(y, v, site, sample_weight=np.full(len(y), 2))
    np.testing.assert_allclose(weighted.slope[:6], expected.slope[:6], rtol=1e-9)
    rng = np.random.default_rng(0)
    weighted = pooled_validation(y, v, site, sample_weight=rng.lognormal(0, 1, len(y)))
    # Rows are worth exp(-1) of their number.
    longer = weighted.table["slope_error"] / expected.table["slope_error"]
    np.testing.assert_allclose(longer, np.exp(0.5), rtol=0.25)
    assert weighted.table["n_samples"].sum() == len(y)
    names = np.where(y == 1, "ill", "well")
    named = pooled_validation(names, v, site, pos_label="ill")
    assert named.slope == expected.slope
    table = named.table
    assert table["n_samples"].sum() == len(y)


def test_groups_without_coefficients_are_left_out_and_named(rows):
    y, v, site = rows
    y, v, site = y.copy(), v.copy(), site.astype("<U9")
    site[:30], y[:30] = "all well", 0
    site[30:60], v[30:60] = "equal", 0.25
    y[30:60] = np.arange(30) % 2
    site[60:90], y[60:90] = "parted", v[60:90] > 0.3
    found = pooled_validation(y, v, site)
    reasons = dict(zip(found.table["group"], found.table["left_out"], strict=True))
    assert reasons.pop("all well") == "one outcome"
    assert reasons.pop("equal") == "slope: equal predictions; C statistic: equal predictions"
    assert reasons.pop("parted") == ("slope: separated outcomes; C statistic: separated outcomes")
    assert set(reasons.values()) == {""}
    table = found.table.set_index("group")
    assert np.isnan(table.loc["all well", "calibration_in_the_large"])
    # Of equal predictions: the log odds of the outcomes, 0, minus those of the predictions.
    assert table.loc["equal", "calibration_in_the_large"] == pytest.approx(np.log(3))
    rest = ~np.isin(site, ["all well", "equal", "parted"])
    kept = pooled_validation(y[rest], v[rest], site[rest])
    np.testing.assert_allclose(found.slope[:6], kept.slope[:6], rtol=1e-9)


def test_level_without_slopes(rows):
    """Predictions that are equal in all groups but one have levels alone."""
    y, v, site = rows
    v = np.where(site == "a", v, 0.25)
    found = pooled_validation(y, v, site)
    assert np.isnan(found.slope[:6]).all()
    assert np.isfinite(found.calibration_in_the_large[:6]).all()
    assert np.isfinite(found.observed_expected[:6]).all()
    assert np.isnan(found.c_statistic[:6]).all()
    assert found.table["left_out"].str.startswith("slope: equal predictions").sum() == 3


def test_one_prediction_for_all(rows):
    """A base rate has levels in all groups, and no slope or order."""
    y, _, site = rows
    found = pooled_validation(y, np.full(len(y), 0.25), site)
    assert np.isfinite(found.calibration_in_the_large[:6]).all()
    assert np.isnan(found.slope[:6]).all()
    assert np.isnan(found.c_statistic[:6]).all()
    assert "Too few groups have a slope of the log odds; calibration in the large is" in str(found)


def test_a_group_of_certain_predictions():
    """Of which nothing is expected that comes: its weight is bounded, and nothing warns."""
    y = np.concatenate([np.arange(100) % 10 > 0, np.arange(3000) % 10 < 5]).astype(int)
    v = np.concatenate([np.full(100, 1 - 1e-16), np.full(3000, 0.05)])
    site = np.concatenate([np.zeros(100), 1 + np.arange(3000) % 3])
    assert np.isfinite(pooled_validation(y, v, site).calibration_in_the_large[:3]).all()


def test_what_is_refused(rows):
    y, v, site = rows
    with pytest.raises(ValueError, match="groups must hold at least two groups"):
        pooled_validation(y, v, np.full(len(y), "a"))
    with pytest.raises(ValueError, match="with both outcomes; got 1 of 4"):
        pooled_validation(np.where(site == "a", y, 0), v, site)
    with pytest.raises(ValueError, match="groups must hold one label for each row; got"):
        pooled_validation(y, v, pd.DataFrame({"site": site, "even": np.arange(len(y)) % 2}))
    with pytest.raises(ValueError, match="y_proba must lie between 0 and 1, both excluded"):
        pooled_validation(y, np.round(v), site)
    with pytest.raises(ValueError, match="groups must"):
        pooled_validation(y, v, site[:5])
    with pytest.raises(ValueError, match="confidence_level must be"):
        pooled_validation(y, v, site, confidence_level=95)


def test_an_outcome_with_a_single_row(rows):
    y, v, site = rows
    y = np.where(site == "a", np.arange(len(y)) == np.flatnonzero(site == "a")[0], y)
    found = pooled_validation(y, v, site)
    reason = found.table["left_out"][0]
    assert reason.endswith("C statistic: an outcome has a single row")
    assert np.isfinite(found.table["observed_expected"]).all()
    assert np.isnan(found.table["c_error"][0])
    assert "The C statistic is 0." in str(found)
    assert str(found).startswith("O:E is ")


def test_c_statistics_by_pairs():
    """Each pair of outcomes, and the scatter over rows, by their definitions."""
    rng = np.random.default_rng(0)
    y, v = rng.integers(2, size=40), rng.random(40).round(1)
    weights = rng.lognormal(size=40)
    pairs = np.sign(v[y == 1][:, None] - v[y == 0]) / 2 + 0.5
    for given in (np.ones(40), weights):
        value, error = find_concordance(v, y, given)
        w1, w0 = given[y == 1] / given[y == 1].sum(), given[y == 0] / given[y == 0].sum()
        assert value == pytest.approx(w1 @ pairs @ w0)
        squares = 0
        for shares, w in ((pairs @ w0, w1), (w1 @ pairs, w0)):
            n_rows = 1 / (w**2).sum()
            squares += ((w * (shares - value)) ** 2).sum() * n_rows / (n_rows - 1)
        assert error == pytest.approx(np.sqrt(squares))
    s1, s0 = np.var((pairs.mean(axis=1)), ddof=1), np.var(pairs.mean(axis=0), ddof=1)
    expected = np.sqrt(s1 / (y == 1).sum() + s0 / (y == 0).sum())  # DeLong et al. (1988)
    assert find_concordance(v, y, np.ones(40))[1] == pytest.approx(expected)
