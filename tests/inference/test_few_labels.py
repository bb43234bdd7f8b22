"""Few labels and many verdicts: identities, refusals, and what intervals know of disagreements."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import binom

from skcal._input._few_labels import read_few_labels
from skcal._numerics.inference._few_labels import fit_guesses, make_targets
from skcal.inference import (
    audit_mean_groups,
    mean_calibration_test,
    mean_recalibration,
    observed_expected_ratio,
    prediction_powered_calibration,
    prediction_powered_targets,
)
from skcal.inference._prediction_powered_calibration import compare_sums
from skcal.metrics import smooth_ece

unhelpful = pytest.mark.filterwarnings("ignore:The verdicts do not help")
QUICK = {"n_resamples": 99, "random_state": 0}


def draw(seed=0, n=2000, n_labels=200, right=0.9, shift=0.0, mean=0.0):
    """Probabilities, labels with NaN, verdicts, and all labels."""
    rng = np.random.default_rng(seed)
    chance = expit(rng.normal(mean, 1.3, n))
    y = 1.0 * (rng.random(n) < chance)
    verdict = np.where(rng.random(n) < right, y, 1 - y)
    label = np.full(n, np.nan)
    rows = rng.choice(n, n_labels, replace=False)
    label[rows] = y[rows]
    return expit(logit(chance) + shift), label, verdict, y


# --------------------------------------------------------------------------- targets


def test_targets_by_hand():
    y, p, f = [1, None, 0, None], np.array([0.8, 0.6, 0.4, 0.2]), [1, 1, 1, 0]
    forgotten = prediction_powered_targets(y, p, f, proxy_weight=0)
    np.testing.assert_allclose(forgotten, [0.8 + 0.2 / 0.5, 0.6, 0.4 - 0.4 / 0.5, 0.2])
    # The estimate of Horvitz and Thompson of the residuals.
    assert forgotten.mean() == pytest.approx(p.mean() + (0.2 - 0.4) / 0.5 / 4)
    taken = prediction_powered_targets(y, p, f, proxy_weight=1)
    np.testing.assert_allclose(taken, [1, 1, 1 - 1 / 0.5, 0])
    # The difference estimator: mean verdict, plus what the labels add to it.
    assert taken.mean() == pytest.approx(np.mean(f) + np.mean([0, -1]))
    chance = np.array([0.25, 0.5, 0.8, 0.5])
    weighted = prediction_powered_targets(y, p, f, sampling_probability=chance, proxy_weight=0.5)
    guess = p + 0.5 * (f - p)
    expected = guess + np.where(np.isin(y, (0, 1)), [1, 0, 0, 0] - guess, 0) / chance
    np.testing.assert_allclose(weighted, expected)


def test_targets_do_not_depend_on_the_verdict_on_average():
    """Over all samples of 3 of 5 rows their mean is that of all labels, exactly."""
    p, y = np.array([0.1, 0.3, 0.6, 0.8, 0.9]), np.array([0.0, 1, 0, 1, 1])
    f = np.array([1.0, 0, 0, 1, 0])
    means = []
    for code in range(32):
        seen = (code >> np.arange(5)) & 1 == 1
        if seen.sum() == 3:
            label = np.where(seen, y, np.nan)
            means.append(prediction_powered_targets(label, p, f, proxy_weight=0.7).mean())
    assert np.mean(means) == pytest.approx(y.mean())


def test_the_weight_of_the_judge_is_found_without_the_label():
    p, label, f, _ = draw(n=60, n_labels=20)
    found = prediction_powered_targets(label, p, f)
    seen = ~np.isnan(label)
    for row in np.flatnonzero(seen)[:5]:
        rest = seen.copy()
        rest[row] = False
        x = np.column_stack([np.ones(60), f - p])
        a = np.linalg.lstsq(x[rest], (label - p)[rest], rcond=None)[0]
        guess = p[row] + x[row] @ a
        assert found[row] == pytest.approx(guess + (label[row] - guess) * 60 / 20, abs=1e-6)
    other = label.copy()
    other[row] = 1 - label[row]
    changed = prediction_powered_targets(other, p, f)
    assert changed[row] - found[row] == pytest.approx((other[row] - label[row]) * 3)


def test_the_weight_of_the_judge_is_found_without_its_cluster():
    p, label, f, _ = draw(n=60, n_labels=30)
    clusters = np.arange(60) // 5
    found = prediction_powered_targets(label, p, f, clusters=clusters)
    seen, x = ~np.isnan(label), np.column_stack([np.ones(60), f - p])
    for cluster in (0, 7):
        rest = seen & (clusters != cluster)
        guess = p + x @ np.linalg.lstsq(x[rest], (label - p)[rest], rcond=None)[0]
        rows = clusters == cluster
        expected = guess + np.where(seen, label - guess, 0) * 2
        np.testing.assert_allclose(found[rows], expected[rows], atol=1e-6)


def test_several_judges_are_regressors():
    p, label, f, y = draw(n_labels=100)
    other = np.where(np.random.default_rng(1).random(2000) < 0.8, y, 1 - y)
    rows, _ = read_few_labels(label, p, np.column_stack([f, other]))
    seen = ~np.isnan(label)
    x = np.column_stack([np.ones(2000), f - p, other - p])[seen]
    expected = np.linalg.lstsq(x, (label - p)[seen], rcond=None)[0]
    np.testing.assert_allclose(fit_guesses(rows)[0], expected, rtol=1e-6)
    found = prediction_powered_calibration(label, p, np.column_stack([f, other]), **QUICK)
    np.testing.assert_allclose(found.proxy_weight, expected[1:], rtol=1e-6)
    assert len(found.sensitivity) == len(found.specificity) == 2
    alone = prediction_powered_calibration(label, p, f, **QUICK)
    assert alone.effective_labels < found.effective_labels


@pytest.mark.parametrize("kind", ["list", "masked", "Series", "Int64", "text", "signs", "columns"])
def test_forms_of_labels(kind):
    p, label, f, _ = draw(n=100, n_labels=20)
    expected = prediction_powered_targets(label, p, f)
    seen, options, y, proba, proxy = ~np.isnan(label), {}, label, p, f
    if kind == "list":
        y = [int(value) if is_seen else None for value, is_seen in zip(label, seen, strict=True)]
    elif kind == "masked":
        y = np.ma.array(np.where(seen, label, 0), mask=~seen)
    elif kind == "Series":
        y, proxy, proba = pd.Series(label), pd.Series(f), pd.Series(p)
    elif kind == "Int64":
        y, proxy = pd.Series(label).astype("Int64"), pd.Series(f).astype("Int64")
    elif kind == "text":
        words = np.array(["no", "yes"], dtype=object)
        y = np.where(seen, words[np.nan_to_num(label).astype(int)], None)
        proxy, options = words[f.astype(int)], {"pos_label": "yes"}
    elif kind == "signs":
        y, proxy = np.where(seen, 2 * label - 1, np.nan), 2 * f - 1
    else:
        proba = pd.DataFrame({0: 1 - p, 1: p})
    np.testing.assert_allclose(prediction_powered_targets(y, proba, proxy, **options), expected)


def test_another_positive_label_turns_everything_around():
    p, label, f, _ = draw(n=100, n_labels=20)
    expected = 1 - prediction_powered_targets(label, p, f)
    found = prediction_powered_targets(label, 1 - p, f, pos_label=0)
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("of_words", [False, True])
def test_labels_of_several_classes_are_verdicts(of_words):
    """Those of one class against the rest."""
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet([1, 1, 1], 200), rng.integers(0, 3, 200)
    f, seen = np.where(rng.random(200) < 0.8, y, 0), rng.random(200) < 0.4
    names = np.array(["a", "b", "c"] if of_words else [0, 1, 2], dtype=object)
    for k in range(3):
        expected = prediction_powered_targets(
            np.where(seen, y == k, np.nan), p[:, k], 1.0 * (f == k)
        )
        found = prediction_powered_targets(
            np.where(seen, names[y], None), p, names[f], pos_label=names[k]
        )
        np.testing.assert_allclose(found, expected)


def test_missing_verdicts_are_predictions():
    p, label, f, _ = draw(n=200, n_labels=60)
    f[::3] = np.nan
    expected = prediction_powered_targets(label, p, np.where(np.isnan(f), p, f))
    np.testing.assert_allclose(prediction_powered_targets(label, p, f), expected)
    found = prediction_powered_calibration(label, p, f, **QUICK)
    assert found.n_verdicts == np.isfinite(f).sum()


def test_weights_of_any_scale_and_rows_without():
    p, label, f, _ = draw(n=300, n_labels=60)
    weights = np.random.default_rng(1).integers(0, 4, 300).astype(float)
    kept = weights > 0
    options = {"sampling_probability": 0.2}
    small = prediction_powered_targets(label, p, f, sample_weight=1e-200 * weights, **options)
    rest = prediction_powered_targets(
        label[kept], p[kept], f[kept], sample_weight=weights[kept], **options
    )
    np.testing.assert_allclose(small[kept], rest)


def test_with_all_labels_they_are_the_labels():
    p, _, f, y = draw(n=300)
    np.testing.assert_allclose(prediction_powered_targets(y, p, f), y)


# --------------------------------------------------------------------------- calibration


def test_with_all_labels_it_is_that_of_the_plain_functions():
    p, _, f, y = draw(n=300, shift=0.3)
    clusters = np.arange(300) // 3
    for member in (None, clusters):
        found = prediction_powered_calibration(y, p, f, clusters=member, **QUICK)
        expected = observed_expected_ratio(y, p, clusters=member)
        np.testing.assert_allclose(found.ratio, expected)
        np.testing.assert_allclose(found.observed, np.multiply(expected, p.mean()))
        scaled = mean_recalibration(y, p, link="logit", clusters=member)
        np.testing.assert_allclose(found.slope, scaled.slope)
        np.testing.assert_allclose(found.calibration_in_the_large, scaled.calibration_in_the_large)
        test = mean_calibration_test(y, p, clusters=member, **QUICK)
        assert found.test.statistic == pytest.approx(test.statistic)
        assert found.smooth_ece.estimate == pytest.approx(smooth_ece(y, p), abs=1e-6)
    assert found.n_labels == 300
    alone = prediction_powered_calibration(y, p, f, **QUICK)
    assert alone.effective_labels == pytest.approx(300, rel=0.01)


def test_estimates_are_those_of_the_targets():
    """The pair of disagreements moves intervals alone."""
    p, label, f, _ = draw(shift=0.3)
    targets = prediction_powered_targets(label, p, f)
    found = prediction_powered_calibration(label, p, f, **QUICK)
    assert found.ratio.estimate == pytest.approx(targets.sum() / p.sum())
    assert found.observed.estimate == pytest.approx(targets.mean())
    scaled = mean_recalibration(targets, p, link="logit")
    assert found.slope.estimate == pytest.approx(scaled.slope.estimate, abs=1e-4)
    level = scaled.calibration_in_the_large
    assert found.calibration_in_the_large.estimate == pytest.approx(level.estimate, abs=1e-4)
    assert found.test.statistic < mean_calibration_test(targets, p, **QUICK).statistic
    assert found.slope.high - found.slope.low > scaled.slope.high - scaled.slope.low


def test_length_without_a_disagreement_is_that_of_the_pair():
    """All labels agree: the variance of O/E is that of the outcomes, and of two labels of 100."""
    p, label, _, y = draw(n=10_000, n_labels=100)
    with pytest.warns(UserWarning, match="agrees with y_true in all 100 rows"):
        found = prediction_powered_calibration(label, p, y, **QUICK)
    own = np.var(y - y.mean() / p.mean() * p) / 10_000
    variance = own + 2 * (1 - 0.01) / 100**2
    length = 2 * 1.98422 * np.sqrt(variance) / p.mean()  # Student's quantile of 99 degrees
    assert found.ratio.high - found.ratio.low == pytest.approx(length, rel=0.02)


@pytest.mark.filterwarnings("ignore:proxy agrees", "ignore:The verdicts")
def test_good_judges_do_not_break_intervals():
    """Right in 99 %, 2 % events, 50 labels, and 300 right models.

    Intervals that cover in 95 % miss more than 38 with a chance below 1e-6; those of the variance
    of the targets alone miss many more.
    """
    n_missed, n_plain = 0, 0
    for seed in range(300):
        p, label, f, _ = draw(seed, 1000, 50, 0.99, mean=-4.7)
        rows, _ = read_few_labels(label, p, f)
        targets = make_targets(rows)[0]
        found = compare_sums(rows, targets, 0.95)[1]
        n_missed += not found.low <= 1 <= found.high
        apart = targets - p
        n_plain += abs(apart.mean()) > 1.96 * apart.std() / np.sqrt(1000)
    assert binom.sf(38, 300, 0.05) < 1e-6
    assert n_missed <= 38 < 60 < n_plain


@unhelpful
def test_targets_whose_sum_is_negative():
    """No event among the labels, and verdicts that are mostly false alarms."""
    p, f = np.full(100, 0.02), np.zeros(100)
    f[:10] = 1
    label = np.full(100, np.nan)
    label[:10:2] = label[10:55] = 0
    found = prediction_powered_calibration(label, p, f, proxy_weight=1, **QUICK)
    assert prediction_powered_targets(label, p, f, proxy_weight=1).sum() < 1
    assert found.observed.estimate >= 0
    assert found.ratio.low == found.observed.low == 0
    assert 0 < found.ratio.high < np.inf


def test_judges_are_measured_by_labels_with_their_weights():
    label = np.array([1, 1, 0, 0, 1, 0] + 6 * [np.nan])
    verdict = np.array([1, 0, 0, 1, 1, 0] + 6 * [1])
    chance = np.array([0.25, 0.5, 0.5, 0.25, 0.5, 0.5] + 6 * [0.5])
    p = np.linspace(0.1, 0.9, 12)
    found = prediction_powered_calibration(
        label, p, verdict, sampling_probability=chance, proxy_weight=1, **QUICK
    )
    assert found.sensitivity[0].estimate == pytest.approx(6 / 8)
    assert found.specificity[0].estimate == pytest.approx(4 / 8)
    assert found.sensitivity[0].low < 0.75 < found.sensitivity[0].high


@unhelpful
def test_labels_of_one_class():
    p, label, f, _ = draw(n=200, n_labels=40)
    label[label == 0] = np.nan
    label[np.flatnonzero(np.isnan(label))[:20]] = 1
    found = prediction_powered_calibration(label, p, f, **QUICK)
    assert np.isnan(found.specificity[0].estimate)
    assert found.specificity[0][1:] == (0, 1)


def test_bad_judges_do_no_harm_and_are_told():
    p, label, _, _ = draw()
    noise = 1.0 * (np.random.default_rng(5).random(2000) < 0.5)
    with pytest.warns(UserWarning, match="do not help: the labels alone tell as much"):
        found = prediction_powered_calibration(label, p, noise, **QUICK)
    alone = prediction_powered_calibration(label, p, **QUICK)
    assert abs(found.proxy_weight[0]) < 0.2
    lengths = [one.ratio.high - one.ratio.low for one in (found, alone)]
    assert lengths[0] < 1.03 * lengths[1]
    # The residuals of the labels themselves, each worth one.
    assert alone.effective_labels == pytest.approx(200, rel=0.03)


def test_probabilities_of_0_and_1():
    p, label, f, _ = draw(shift=0.2)
    p[:20] = 0
    p[20:30] = 1
    found = prediction_powered_calibration(label, p, f, **QUICK)
    assert found.n_certain == 30
    assert np.isfinite(found.slope).all()
    nothing = prediction_powered_calibration(label, np.zeros(2000), f, **QUICK)
    assert np.isnan(nothing.ratio.estimate)
    assert nothing.test.pvalue < 0.05


@unhelpful
def test_large_samples_have_blocks_of_signs_but_single_pairs():
    """Beyond 4096 rows neighbours share signs, which those of the pair must not."""
    p, label, _, y = draw(n=5000, n_labels=20, mean=-4)
    with pytest.warns(UserWarning, match="agrees"):
        found = prediction_powered_calibration(label, 0.9 * p, y, **QUICK)
    assert found.test.pvalue > 0.05
    assert found.test.statistic < 1.0  # beside the pair, whose deviation is 5000 * sqrt(2) / 20


def test_the_sentence():
    p, label, f, _ = draw(n=5000, n_labels=200, shift=-0.7)
    found = prediction_powered_calibration(label, p, f, **QUICK)
    assert re.fullmatch(
        r"[\d.]+ % are expected and [\d.]+ % come true \([\d.]+ % to [\d.]+ %\): probabilities are "
        r"[\d.]+ % too low \(p <?= [\d.]+\), by 200 labels and 5000 verdicts, worth \d+ labels\.",
        str(found),
    )
    assert 200 < found.effective_labels < 5000


def test_groups_by_audit():
    """A judge, and an error in one of two groups."""
    p, label, f, _ = draw(n=4000, n_labels=400)
    group = np.arange(4000) % 2
    wrong = np.where(group == 0, p, expit(logit(p) + 1.5))
    targets = prediction_powered_targets(label, wrong, f)
    audit = audit_mean_groups(targets, wrong, group, n_resamples=199, random_state=0)
    assert audit.find() == [1]


# --------------------------------------------------------------------------- bad input


P, F = np.linspace(0.1, 0.9, 8), np.array([0, 0, 0, 1, 0, 1, 1, 1])
Y = np.array([0, 1, np.nan, 0, 1, 1, np.nan, np.nan])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y_true": np.full(8, np.nan)}, "y_true must hold labels of some rows; all 8 are missing"),
        (
            {"y_true": np.where(np.arange(8) == 1, 1, np.nan)},
            "needs 4 labels or more; y_true has 1",
        ),
        ({"proxy": F[:7]}, "y_true and proxy must have the same length; got 8 and 7"),
        ({"proxy": 2 * F}, r"proxy must hold probabilities .* \[0, 1\]; got \[0, 2\]"),
        ({"proxy": ["a"] * 8}, "proxy must hold probabilities"),
        ({"proxy": np.where(np.isnan(Y), 1, np.nan)}, "verdicts of labelled rows, too"),
        ({"y_true": F, "proxy": np.where(np.arange(8) < 6, np.nan, 1)}, "proxy swapped"),
        ({"y_proba": np.full((8, 3), 1 / 3), "labels": [0, 1, 2]}, "y_proba must be of one event"),
        ({"sampling_probability": 0}, "above 0 and at most 1"),
        ({"sampling_probability": np.where(np.arange(8) == 1, 0, 0.5)}, "got 0.0 at row 1"),
        ({"sampling_probability": [0.5]}, r"one for each of the 8 rows; got shape \(1,\)"),
        ({"sampling_probability": 1}, "sampling_probability is 1 at row 2, which has no label"),
        ({"proxy_weight": "best"}, "proxy_weight must be one of 'auto'"),
        ({"proxy_weight": [1, 2]}, "or one for each of 1 proxies"),
        ({"proxy_weight": np.nan}, "proxy_weight must be a number"),
        ({"sample_weight": 1.0 * np.isnan(Y)}, "labels of rows whose weight is above 0; got none"),
        ({"y_true": np.stack([Y, Y])}, "y_true must be one-dimensional"),
    ],
)
def test_bad_input(change, message):
    with pytest.raises(ValueError, match=message):
        prediction_powered_targets(**{"y_true": Y, "y_proba": P, "proxy": F} | change)


@pytest.mark.parametrize("code", ["", "nan", "None", "<NA>"])
def test_texts_for_nothing_are_no_labels(code):
    """NumPy makes such texts of NaN and None; one of them was taken for a label."""
    seen = np.arange(8) < 4
    for others in (["yes", "no"], ["yes", "yes"]):
        given = np.where(seen, np.resize(others, 8), code)
        message = rf"y_true must hold NaN or None for rows without a label.*got \['{code}'\]"
        for values in (given, given.tolist(), pd.Series(given)):
            with pytest.raises(ValueError, match=message):
                prediction_powered_targets(values, P, F, pos_label="yes")
    named = np.resize([code, "yes"], 8)
    found = prediction_powered_targets(named, P, F, labels=[code, "yes"], pos_label="yes")
    np.testing.assert_allclose(found, named == "yes", atol=1e-12)


def test_minus_one_beside_0_and_1_is_no_label():
    given = np.array([0, 1, -1, -1, 1, 0, -1, 1])
    with pytest.raises(ValueError, match=r"NaN or None for rows without a label.*got \[-1\]"):
        prediction_powered_targets(given, P, F)
    proba = np.full((8, 3), 1 / 3)
    found = prediction_powered_targets(given, proba, F, pos_label=1)
    np.testing.assert_allclose(found, given == 1, atol=1e-12)
    signs = np.array([-1, 1, -1, -1, 1, -1, -1, 1])
    np.testing.assert_allclose(prediction_powered_targets(signs, P, F), signs == 1, atol=1e-12)


def test_calibration_reads_what_targets_read():
    with pytest.raises(ValueError, match="y_true must be one-dimensional"):
        prediction_powered_calibration(np.stack([Y, Y]), P, F)


def test_labels_chosen_by_their_verdict():
    """Without probabilities a simple random sample is assumed, and this is none."""
    p, _, f, y = draw()
    order = np.argsort(-f, kind="stable")
    label = np.full(2000, np.nan)
    label[order[:200]] = y[order[:200]]
    with pytest.warns(UserWarning, match="too far apart for a simple random sample"):
        prediction_powered_targets(label, p, f)
    with pytest.warns(UserWarning, match="sums to 1000, but 200 rows are labelled"):
        prediction_powered_targets(label, p, f, sampling_probability=0.5)


def test_labels_by_strata():
    """Half of the labels for each verdict, of which one is rare: without bias, and no warning."""
    _, _, f, y = draw(n=20_000, right=0.95, mean=-3)
    p, rng = np.full(20_000, 0.1), np.random.default_rng(1)
    label, chance = np.full(20_000, np.nan), np.zeros(20_000)
    for verdict in (0, 1):
        rows = np.flatnonzero(f == verdict)
        seen = rng.choice(rows, 500, replace=False)
        label[seen], chance[rows] = y[seen], 500 / len(rows)
    found = prediction_powered_calibration(label, p, f, sampling_probability=chance, **QUICK)
    assert found.observed.low < y.mean() < found.observed.high
    assert found.effective_labels > 2000


def test_missing_labels_name_the_way_out():
    with pytest.raises(ValueError, match="prediction_powered_calibration"):
        observed_expected_ratio(Y, P)
    with pytest.raises(ValueError, match="prediction_powered_calibration"):
        observed_expected_ratio(["a", None] * 4, P, pos_label="a")


def test_it_is_ppi_plus_plus_for_means():
    """Its estimate and tuning, of labelled rows and others, for predictions that are all alike."""
    _, label, f, _ = draw(n=500, n_labels=100)
    seen = ~np.isnan(label)
    y, own, other = label[seen], f[seen], f[~seen]
    covariance = np.cov(y, own)
    tuned = covariance[0, 1] / ((1 + 100 / 400) * covariance[1, 1])
    published = y.mean() + tuned * (other.mean() - own.mean())
    slope = covariance[0, 1] / covariance[1, 1]
    targets = prediction_powered_targets(label, np.full(500, 0.5), f, proxy_weight=slope)
    assert targets.mean() == pytest.approx(published)
    # Without the own label of each row it is nearly the same.
    cross_fitted = prediction_powered_targets(label, np.full(500, 0.5), f)
    assert cross_fitted.mean() == pytest.approx(published, abs=1e-3)


@unhelpful
@pytest.mark.parametrize("proxy", [None, 0.0, 1.0])
def test_constant_verdicts_and_single_labels(proxy):
    p, label, _, _ = draw(n=200, n_labels=40)
    verdict = None if proxy is None else np.full(200, proxy)
    found = prediction_powered_calibration(label, p, verdict, **QUICK)
    assert found.ratio.low < found.ratio.estimate < found.ratio.high
    one = np.where(np.arange(200) == 7, 1.0, np.nan)
    found = prediction_powered_calibration(one, p, verdict, proxy_weight=0, **QUICK)
    assert found.observed[1:] == (0, 1)
    assert found.test.pvalue > 0.05
    assert np.isfinite(found.effective_labels)
