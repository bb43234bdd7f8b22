"""estimate_performance: what labels will show, intervals that cover, and refusals with a reason."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit, softmax
from scipy.stats import binom
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    brier_score_loss,
    confusion_matrix,
    f1_score,
    log_loss,
    recall_score,
    roc_auc_score,
)
from sklearn.pipeline import make_pipeline

from skcal._numerics.shift._performance import make_metric
from skcal.inference import audit_groups, calibration_test
from skcal.monitoring import CalibrationMonitor
from skcal.recalibration import BetaCalibration, PlattScaling, TemperatureScaling
from skcal.shift import PriorShift, domain_weights, estimate_performance
from skcal.shift import _estimate_performance as module
from tests.chance import most_of
from tests.recalibration.family import NAMES
from tests.shift.populations import NEW, OLD, draw_five, draw_two

METRICS = ["accuracy", "precision", "recall", "log_loss", "brier_score", "roc_auc", "net_benefit"]


def draw(seed, n_old=2000, n_new=2000, distort=lambda s: 2 * s):
    """Old labels and scores, new scores and the labels that will come: P(y | score) stays."""
    rng = np.random.default_rng(seed)
    old, new = rng.normal(0, 1.5, n_old), rng.normal(-0.5, 1.2, n_new)
    y, y_new = ((rng.random(len(s)) < expit(s)).astype(int) for s in (old, new))
    return y, expit(distort(old)), expit(distort(new)), y_new


def estimate(*data, metric="accuracy", **options):
    return estimate_performance(
        *data, metric=metric, **{"n_resamples": 9, "random_state": 0} | options
    )


def assert_alike(found, expected, **tolerance):
    for one, other in zip(found[:3], expected[:3], strict=True):
        np.testing.assert_allclose(one, other, **tolerance)
    assert found.reason == expected.reason


# --------------------------------------------------------------------------- the estimate


def test_it_is_the_metric_that_labels_show():
    y, old, new, y_new = draw(0, 20_000, 20_000)
    known = {
        "accuracy": accuracy_score(y_new, new >= 0.5),
        "log_loss": log_loss(y_new, new),
        "brier_score": brier_score_loss(y_new, new),
        "roc_auc": roc_auc_score(y_new, new),
        "average_precision": average_precision_score(y_new, new),
        "f1": f1_score(y_new, new >= 0.5),
        "specificity": recall_score(y_new, new >= 0.5, pos_label=0),
    }
    for metric, expected in known.items():
        found = estimate(y, old, new, metric=metric)
        assert found.estimate == pytest.approx(expected, abs=0.015)
        assert found.low < found.estimate < found.high
        assert found.reason is None
    naive = np.maximum(new, 1 - new).mean()  # predictions taken at their word
    assert naive > known["accuracy"] + 0.03


@pytest.mark.slow
def test_the_log_loss_of_a_calibrated_model_is_its_entropy():
    y, old, new, _ = draw(1, 20_000, distort=lambda s: s)
    entropy = -np.mean(new * np.log(new) + (1 - new) * np.log(1 - new))
    assert estimate(y, old, new, metric="log_loss").estimate == pytest.approx(entropy, abs=0.01)
    assert estimate(y, old, new).estimate == pytest.approx(
        np.maximum(new, 1 - new).mean(), abs=0.01
    )


def test_metrics_agree_with_the_confusion():
    y, old, new, _ = draw(2, 500, 400)
    data = {"threshold": 0.3, "population": False}
    table = estimate(y, old, new, metric="confusion", **data)
    (tn, fp), (fn, tp) = table.estimate
    assert table.estimate.sum() == pytest.approx(1)
    assert ((table.low <= table.estimate) & (table.estimate <= table.high)).all()
    expected = {
        "accuracy": tp + tn,
        "precision": tp / (tp + fp),
        "recall": tp / (tp + fn),
        "net_benefit": tp - fp * 0.3 / 0.7,
    }
    for metric, value in expected.items():
        assert estimate(y, old, new, metric=metric, **data).estimate == pytest.approx(value)


@pytest.mark.slow
def test_more_rows_of_one_kind_alone_leave_the_error_of_the_others():
    widths = []
    for n_old, n_new in ((300, 40), (300, 3000), (5000, 40)):
        y, old, new, _ = draw(3, n_old, n_new)
        found = estimate(y, old, new, n_resamples=100)
        widths.append(found.high - found.low)
    assert widths[0] > widths[1] > widths[0] / 4
    assert widths[0] > widths[2] > widths[0] / 4


@pytest.mark.slow
def test_the_labels_of_these_rows_are_the_less_certain():
    """The variance of labels adds up, that of new rows does not: here all new rows are alike."""
    y, old, _, _ = draw(4, 3000)
    options = {"n_resamples": 199, "recalibrator": "platt"}
    found, alone = (
        estimate(y, old, np.full(50, 0.6), population=p, **options) for p in (True, False)
    )
    assert found.estimate == alone.estimate
    rate = found.estimate
    expected = binom.interval(0.95, 50, rate)
    np.testing.assert_allclose([alone.low, alone.high], np.divide(expected, 50), atol=0.045)
    assert found.high - found.low < (alone.high - alone.low) / 3


def test_weights_of_the_new_population_teach_the_recalibrator():
    """Where the map is too simple it fits where rows are."""
    rng = np.random.default_rng(5)
    x, x_new = rng.normal(size=(4000, 1)), rng.normal(1, 0.5, size=(4000, 1))
    chance, chance_new = (expit(3 * np.abs(s[:, 0]) - 2) for s in (x, x_new))
    y, v, v_new = (rng.random(4000) < chance).astype(int), expit(x[:, 0]), expit(x_new[:, 0])
    true = np.where(v_new >= 0.5, chance_new, 1 - chance_new).mean()
    weights = domain_weights(x, x_new, random_state=0)
    plain = estimate(y, v, v_new, recalibrator="platt")
    assert "the recalibrator does not fit" in plain.reason
    assert plain.fit_test.pvalue < 0.01
    weighted = estimate(y, v, v_new, sample_weight=weights, recalibrator="spline")
    assert weighted.estimate == pytest.approx(true, abs=0.03)


@pytest.mark.slow
def test_layouts_labels_weights_and_maps():
    y, old, new, _ = draw(6, 300, 200)
    expected = estimate(y, old, new)
    both, both_new = (np.column_stack([1 - v, v]) for v in (old, new))
    near = {"rtol": 1e-6}
    assert_alike(estimate(y, both, both_new), expected, **near)
    assert_alike(estimate(NAMES[y], both, both_new), expected, **near)
    assert_alike(estimate(NAMES[y], old, new, pos_label="bee"), expected, **near)
    assert_alike(estimate(NAMES[y], old, new, labels=["ant", "bee"]), expected, **near)
    ones = {"sample_weight": np.full(300, 2), "sample_weight_new": np.full(200, 7.0)}
    assert_alike(estimate(y, old, new, **ones), expected, rtol=1e-4)
    for name, recalibrator in (("platt", PlattScaling()), ("beta", BetaCalibration())):
        one, other = (estimate(y, old, new, recalibrator=r) for r in (name, recalibrator))
        assert_alike(one, other)
    assert_alike(estimate(y, old, new, recalibrator="spline"), expected)
    keep, keep_new = np.arange(300) % 3 > 0, np.arange(200) % 3 > 0
    dropped = estimate(y, old, new, sample_weight=keep, sample_weight_new=keep_new)
    kept = estimate(y[keep], old[keep], new[keep_new])
    np.testing.assert_allclose(dropped.estimate, kept.estimate, rtol=1e-6)


def test_weights_of_new_rows_are_no_counts_of_pairs():
    """The area under the ROC curve pairs different rows, of which two of weight 1 are two."""
    new, counts = np.array([0.2, 0.4, 0.7, 0.9]), np.array([1.0, 2, 1, 3])
    measure = make_metric("roc_auc", both(new), 0.5)
    pairs = np.outer(counts * new, counts * (1 - new)) * (1 - np.eye(4))
    order = (new[:, None] > new) + 0.5 * (new[:, None] == new)
    expected = np.sum(pairs * order) / np.sum(pairs)
    for unit in (1.0, 7.0):
        assert measure(both(new), unit * counts) == pytest.approx(expected)
    copies = new.repeat(counts.astype(int))
    repeated = make_metric("roc_auc", both(copies), 0.5)(both(copies), np.ones(7))
    assert repeated < expected - 0.01


def test_the_other_class():
    y, old, new, _ = draw(7, 300, 200)
    both, both_new = (np.column_stack([1 - v, v]) for v in (old, new))
    table, turned = (
        estimate(y, both, both_new, metric="confusion", pos_label=label) for label in (1, 0)
    )
    np.testing.assert_allclose(turned.estimate[::-1, ::-1], table.estimate, rtol=1e-5)


def test_three_classes():
    rng = np.random.default_rng(8)
    logits, logits_new = rng.normal(size=(2, 5000, 3)) * [[[2.0]], [[1.0]]]
    y, y_new = (
        (rng.random((5000, 1)) > softmax(z, axis=1).cumsum(axis=1)).sum(axis=1)
        for z in (logits, logits_new)
    )
    old, new = (softmax(2 * z, axis=1) for z in (logits, logits_new))
    known, ones = np.equal.outer(y_new, np.arange(3)).astype(float), np.ones(5000)
    for metric in ("accuracy", "confusion", "log_loss", "brier_score"):
        found = estimate(y, old, new, metric=metric)
        expected = make_metric(metric, new, 0.5)(known, ones)
        np.testing.assert_allclose(found.estimate, expected, atol=0.03)
    assert estimate(y, old, new).estimate < new.max(axis=1).mean() - 0.05


# --------------------------------------------------------------------------- other rates


@pytest.mark.slow
def test_other_rates_are_found():
    """A third of the positives: tables of labels that come, where scores mean something else."""
    rng = np.random.default_rng(13)
    (y, old), (y_new, new) = (draw_two(rng, 10_000, rate, 2.0) for rate in (0.3, 0.1))
    plain, shifted = (
        estimate(y, old, new, metric="confusion", shift=s) for s in ("covariate", "label")
    )
    known = confusion_matrix(y_new, new >= 0.5, normalize="all")
    np.testing.assert_allclose(shifted.estimate, known, atol=0.015)
    assert abs(plain.estimate - known).min() > 0.02
    assert (shifted.low < shifted.estimate).all()
    assert (shifted.estimate < shifted.high).all()
    assert plain.shift_test is None
    assert shifted.shift_test.pvalue > 0.01


def test_rates_that_stay_leave_the_metric():
    y, old, _, _ = draw(14, 3000, distort=lambda s: s)
    plain, shifted = (estimate(y, old, old, shift=s) for s in ("covariate", "label"))
    assert shifted.estimate == pytest.approx(plain.estimate, abs=0.002)


def test_rates_that_are_found_are_those_of_prior_shift():
    rng = np.random.default_rng(15)
    (y, old), (_, new) = draw_five(rng, 3000, OLD), draw_five(rng, 2000, NEW)
    found = estimate(y, old, new, metric="confusion", shift="label")
    steps = make_pipeline(TemperatureScaling(), PriorShift()).fit(old, y)
    expected = steps[-1].adapt(steps[:-1].transform(new)).prior_
    np.testing.assert_allclose(found.estimate.sum(axis=1), expected, atol=1e-6)


def test_new_scores_that_no_rates_explain():
    y, old = draw_two(np.random.default_rng(16), 2000, 0.3)
    noisy = expit(logit(old) + 2 * np.random.default_rng(17).normal(size=2000))
    inside = np.clip(noisy, old.min(), old.max())
    found = estimate(y, old, inside, shift="label")
    assert found.reason.startswith("new rates do not explain the new scores (p < 0.001)")
    assert found.shift_test.pvalue < 0.01
    assert np.isnan(found.estimate)


# --------------------------------------------------------------------------- what is refused


def test_scores_beyond_the_labelled_ones():
    y, old, new, _ = draw(9, 500, 500)
    low = estimate(y, old, np.where(np.arange(500) < 20, old.min() / 2, new))
    assert low.share_outside == pytest.approx(0.04)
    assert low.reason == "4.0% of the new scores are beyond all labelled ones on one side"
    assert np.isnan(low[:3]).all()
    few = estimate(y, old, np.where(np.arange(500) < 5, old.min() / 2, new))
    assert few.reason is None
    assert few.share_outside == pytest.approx(0.01)
    table = estimate(y, old, np.full(9, old.max() / 2 + 0.5), metric="confusion")
    assert table.estimate.shape == (2, 2)
    assert np.isnan(table.low).all()


@pytest.mark.parametrize("shift", ["covariate", "label"])
def test_scores_in_a_gap_of_the_labelled_ones(shift):
    """Labelled log odds near -3 and 3; nothing is known of 0, whatever joins the two."""
    rng = np.random.default_rng(0)
    old = np.append(rng.normal(-3, 0.3, 300), rng.normal(3, 0.3, 300))
    y = (rng.random(600) < expit(old)).astype(int)
    found = estimate(y, expit(old), expit(rng.normal(0, 0.3, 200)), shift=shift)
    assert found.share_in_gap == 1
    assert "100.0% of the new scores lie between " in found.reason
    assert ", where no labelled score is" in found.reason
    assert np.isnan(found[:3]).all()
    # The same places, and one row in a hundred and fifty elsewhere.
    few = estimate(y, expit(old), expit(np.append(old, [0.0, 0.1, -0.1, 0.2])), shift=shift)
    assert few.share_in_gap == pytest.approx(4 / 604)
    assert few.reason is None


def test_scores_in_a_gap_of_one_of_three_classes():
    rng = np.random.default_rng(1)
    old = rng.dirichlet([40, 30, 30], 400)
    old[200:] = rng.dirichlet([2, 1, 97], 200)
    y = (rng.random((400, 1)) > np.cumsum(old, axis=1)[:, :2]).sum(axis=1)
    found = estimate(y, old, rng.dirichlet([20, 15, 65], 100))
    assert found.share_in_gap > 0.9
    assert "where no labelled score is" in found.reason
    assert estimate(y, old, old[::2]).share_in_gap == 0


def test_new_labels_that_contradict():
    y, old, new, y_new = draw(10)
    check = {"y_proba_check": new[:300]}
    right = estimate(y, old, new, y_true_check=y_new[:300], **check)
    assert right.reason is None
    assert right.check_test.pvalue > 0.01
    wrong = estimate(y, old, new, y_true_check=1 - y_new[:300], **check)
    assert wrong.reason.startswith("the recalibrated rows of y_true_check are not calibrated (p")
    assert wrong.check_test.pvalue < 0.01
    assert np.isnan(wrong.estimate)
    assert estimate(y, old, new).check_test is None


def test_fits_of_resamples_start_at_the_map_of_all_rows(monkeypatch):
    """They end where all other searches do."""
    data, fit, starts = draw(0, 500, 500)[:3], module.fit_to_columns, []

    def note(*rows):
        starts.append(rows[4])
        return fit(*rows)

    monkeypatch.setattr(module, "fit_to_columns", note)
    found = estimate(*data, n_resamples=20)
    assert [near is None for near in starts] == [True] + 20 * [False]
    monkeypatch.setattr(module, "fit_to_columns", lambda *rows: fit(*rows[:4]))
    assert_alike(found, estimate(*data, n_resamples=20), atol=1e-8)


def test_evidence():
    y, old, new, _ = draw(11, 1000, 100)
    groups = np.where(y == 1, "a", "b")
    audit = audit_groups(y, old, groups, n_resamples=199, random_state=0)
    test = calibration_test(y, old, random_state=0)
    monitor = CalibrationMonitor().update(y, old)
    calm = CalibrationMonitor()
    assert estimate(y, old, new, evidence=[calm]).reason is None
    for one, said in ((audit, "the audit in"), (test, "the test in"), (monitor, "the monitor has")):
        assert estimate(y, old, new, evidence=one).reason.startswith(said)
    found = estimate(y, old, new, evidence=[calm, monitor, test]).reason
    assert found.count(";") == 1


def test_bad_input():
    y, old, new, _ = draw(12, 40, 40)
    cases = {
        r"^metric must be": {"metric": "mcc"},
        r"^threshold must be above 0": {"threshold": 0},
        r"^threshold must be above 0 and below 1; got 1": {"threshold": 1},
        r"^population must be True or False": {"population": "x"},
        r"^shift must be one of 'covariate', 'label'": {"shift": "x"},
        r"^n_resamples must be": {"n_resamples": 1},
        r"^recalibrator must be": {"recalibrator": "plat"},
        r"^evidence must be": {"evidence": 0.01},
        r"^evidence must be a .* list": {"evidence": ["x"]},
        r"^confidence_level": {"confidence_level": 95},
        r"must be given together": {"y_true_check": y},
        r"^y_proba_check must": {"y_true_check": y, "y_proba_check": old + 1},
        r"^sample_weight_new must have shape": {"sample_weight_new": [1]},
        r"'precision' is not defined": {"metric": "precision", "threshold": 1 - 1e-9},
    }
    for message, options in cases.items():
        with pytest.raises(ValueError, match=message):
            estimate(y, old, new, **options)
    with pytest.raises(ValueError, match=r"at least two rows of each class"):
        estimate(np.eye(40, dtype=int)[0], old, new)
    with pytest.raises(ValueError, match=r"^y_proba_new must have the columns of y_proba"):
        estimate(y, old, np.column_stack([1 - new, new]))
    triple = np.full((40, 3), 1 / 3)
    with pytest.raises(ValueError, match=r"^metric='roc_auc' needs two classes; got 3"):
        estimate(np.arange(40) % 3, triple, triple, metric="roc_auc")
    with pytest.raises(ValueError, match=r"^threshold must be None for more than two classes"):
        estimate(np.arange(40) % 3, triple, triple, threshold=0.3)
    tables = [pd.DataFrame({"ant": 1 - v, "bee": v}) for v in (old, new)]
    with pytest.raises(ValueError, match=r"^The columns of y_proba_new are named"):
        estimate(NAMES[y], tables[0], tables[1][["bee", "ant"]])


# --------------------------------------------------------------------------- coverage


def list_metrics(_, proba, threshold):
    """All metrics at once, so that coverage of each costs no more than of one."""
    found = [make_metric(name, proba, 0.2 if name == "net_benefit" else 0.5) for name in METRICS]
    return lambda chances, weights: np.array([measure(chances, weights) for measure in found])


def both(positive):
    return np.column_stack([1 - positive, positive])


def halve(scores):
    return 0.5 * scores + 1


@pytest.mark.slow
@pytest.mark.parametrize("population", [True, False])
def test_intervals_cover(population, monkeypatch):
    """2000 rows each, under covariate shift, with few refusals.

    `benchmarks/bench_shift.py` has shares of 200 samples, and other models.
    """
    monkeypatch.setattr(module, "make_metric", list_metrics)
    n_samples, found = 8, []
    scores = np.random.default_rng(99).normal(-0.5, 1.2, 10**6)
    true = list_metrics(None, both(expit(halve(scores))), None)(both(expit(scores)), np.ones(10**6))
    for seed in range(n_samples):
        y, old, new, y_new = draw(seed, distort=halve)
        if not population:
            true = list_metrics(None, both(new), None)(both(y_new.astype(float)), np.ones(2000))
        options = {"metric": "accuracy", "n_resamples": 99, "random_state": seed}
        result = estimate_performance(y, old, new, population=population, **options)
        if result.reason is None:
            found.append((result.low <= true) & (true <= result.high))
    assert n_samples - len(found) <= most_of(n_samples, 0.02)
    assert (np.sum(~np.array(found), axis=0) <= most_of(len(found), 0.07)).all()


def check_coverage(draw_rows, true, find, monkeypatch, **options):
    """Both intervals hold all metrics; `true` is that of the population."""
    monkeypatch.setattr(module, "make_metric", find)
    n_samples, found = 5, []
    options |= {"metric": "accuracy", "n_resamples": 99}
    for seed in range(n_samples):
        y, old, new, y_new = draw_rows(np.random.default_rng(seed))
        vectors = new if new.ndim == 2 else both(new)
        known = np.equal.outer(y_new, np.arange(vectors.shape[1])).astype(float)
        truths = true, find(None, vectors, 0.5)(known, np.ones(len(new)))
        for truth, population in zip(truths, (True, False), strict=True):
            result = estimate_performance(
                y, old, new, population=population, random_state=seed, **options
            )
            if result.reason is None:
                found.append((result.low <= truth) & (truth <= result.high))
    assert 2 * n_samples - len(found) <= most_of(2 * n_samples, 0.04)
    assert (np.sum(~np.array(found), axis=0) <= most_of(len(found), 0.07)).all()


@pytest.mark.slow
def test_intervals_cover_where_rates_are_found(monkeypatch):
    """2000 rows each, of which a third of the positives are left; see `bench_coverage.py`."""

    def draw_rows(rng):
        (y, old), (y_new, new) = (draw_two(rng, 2000, rate, 2.0) for rate in (0.3, 0.1))
        return y, old, new, y_new

    y, new = draw_two(np.random.default_rng(99), 10**6, 0.1, 2.0)
    true = list_metrics(None, both(new), 0.5)(both(y.astype(float)), np.ones(10**6))
    check_coverage(draw_rows, true, list_metrics, monkeypatch, shift="label")


def list_metrics_of_three(_, proba, threshold):
    names = ("accuracy", "log_loss", "brier_score", "confusion")
    found = [make_metric(name, proba, threshold) for name in names]
    return lambda chances, weights: np.hstack([np.ravel(f(chances, weights)) for f in found])


@pytest.mark.slow
def test_intervals_of_three_classes_cover(monkeypatch):
    """2000 rows each, of which the new ones are nearer to the borders, and one class is rarer."""

    def draw_three(rng, n_rows, spread, middle):
        logits = rng.normal(middle, spread, size=(n_rows, 3))
        chances = softmax(logits, axis=1)
        y = (rng.random((n_rows, 1)) > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)
        return y, softmax(2 * logits, axis=1), chances

    def draw_rows(rng):
        y, old, _ = draw_three(rng, 2000, 1.8, 0)
        y_new, new, _ = draw_three(rng, 2000, 1.2, [-1, 0, 1])
        return y, old, new, y_new

    _, new, chances = draw_three(np.random.default_rng(99), 300_000, 1.2, [-1, 0, 1])
    true = list_metrics_of_three(None, new, 0.5)(chances, np.ones(len(new)))
    check_coverage(draw_rows, true, list_metrics_of_three, monkeypatch)
