"""Reports of rows that depend on others of their cluster."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from skcal.diagrams import ReliabilityDisplay
from skcal.inference import calibration_test, confidence_interval, cox_recalibration
from skcal.report import calibration_report
from tests.chance import most_of

FEW = {"n_resamples": 19, "random_state": 0}


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def draw_answers(rng, n_clusters, size=8, correlation=0.5):
    """Calibrated answers to questions: outcomes of one question depend on each other."""
    question = np.repeat(np.arange(n_clusters), size)
    y_proba = rng.random(len(question))
    shared, own = rng.normal(size=n_clusters)[question], rng.normal(size=len(question))
    scores = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
    return (norm.cdf(scores) < y_proba).astype(int), y_proba, question


def test_clusters_of_one_row_are_rows(rng):
    y_true, y_proba, _ = draw_answers(rng, 40)
    plain = calibration_report(y_true, y_proba, **FEW)
    found = calibration_report(y_true, y_proba, clusters=rng.permutation(320), **FEW)
    first, second = (report.models[None] for report in (plain, found))
    assert second.sample.n_clusters == 320
    assert second.sample.design_effect == pytest.approx(1)
    assert second.sentence == first.sentence
    frame = found.to_frame().set_index("quantity").drop(index=["n_clusters", "design_effect"])
    pd.testing.assert_frame_equal(frame, plain.to_frame().set_index("quantity"))


def test_copies_of_a_row_are_that_row(rng):
    y_true, y_proba, _ = draw_answers(rng, 30)
    single = calibration_report(y_true, y_proba, **FEW)
    order = rng.permutation(np.repeat(np.arange(240), 5))
    found = calibration_report(y_true[order], y_proba[order], clusters=order, **FEW)
    sample = found.models[None].sample
    assert (sample.n_rows, sample.n_clusters) == (1200, 240)
    assert sample.design_effect == pytest.approx(5)
    assert sample.effective_sample_size == pytest.approx(240)
    first, second = (
        report.to_frame().set_index("quantity")["estimate"] for report in (single, found)
    )
    for name in ("pvalue", "fine_test_pvalue", "smooth_ece", "log_loss", "bias", "slope"):
        assert second[name] == pytest.approx(first[name], abs=1e-9)
    bounds = (report.models[None].error_bound for report in (single, found))
    assert next(bounds) == pytest.approx(next(bounds), abs=1e-9)


def test_order_and_names_of_clusters_change_nothing(rng):
    y_true, y_proba, question = draw_answers(rng, 40)
    first = calibration_report(y_true, y_proba, clusters=question, **FEW)
    order, names = rng.permutation(len(question)), rng.permutation(40).astype(str)
    second = calibration_report(
        y_true[order], y_proba[order], clusters=names[question[order]], **FEW
    )
    pd.testing.assert_frame_equal(first.to_frame(), second.to_frame(), rtol=1e-9, atol=1e-12)


def test_parts_are_those_of_the_functions(rng):
    y_true, y_proba, question = draw_answers(rng, 60)
    model = calibration_report(y_true, y_proba, clusters=question, clinical=True, **FEW).models[
        None
    ]
    cox = cox_recalibration(y_true, y_proba, clusters=question)
    assert model.clinical.recalibration.slope == pytest.approx(cox.slope)
    plain = calibration_report(y_true, y_proba, clinical=True, **FEW).models[None]
    for read in (
        lambda found: found.direction.bias,
        lambda found: found.clinical.observed_expected,
    ):
        wide, narrow = read(model), read(plain)
        assert wide.high - wide.low > narrow.high - narrow.low
    assert model.sample.design_effect > 1.5
    assert model.error_bound > plain.error_bound
    display = ReliabilityDisplay.estimate(y_true, y_proba, clusters=question)
    expected, band = (found.curves[0].layers["band"] for found in (display, model.diagram))
    np.testing.assert_allclose(band.high, expected.high)


def test_opposite_verdicts_of_independent_rows_are_told():
    """Ten equal answers to each question: a calibrated model seems to be wrong."""
    told, n_samples = 0, 5
    for seed in range(n_samples):
        rng = np.random.default_rng(seed)
        confidence, question = rng.random(100), np.repeat(np.arange(100), 10)
        answers = (rng.random(100) < confidence).astype(int)
        rows = answers[question], confidence[question]
        plain = calibration_test(*rows, random_state=0).pvalue
        model = calibration_report(*rows, clusters=question, n_resamples=99, random_state=0).models[
            None
        ]
        told += "Taken for independent, these rows would show an error" in model.sentence
        assert plain < 0.05 or "independent" not in model.sentence
    assert told > n_samples / 2


def test_one_sentence_of_few_clusters(rng):
    y_true, y_proba, question = draw_answers(rng, 5)
    with pytest.warns(UserWarning, match="clusters holds 5 clusters"):
        report = calibration_report(y_true, y_proba, clusters=question, **FEW)
    assert report.verdict == "inconclusive"
    assert "40 rows of 5 clusters, which count as" in report.models[None].sentence
    assert "in 5 clusters, which count as" in str(report)


def test_several_classes_groups_and_models(rng):
    proba = rng.dirichlet(np.ones(3), 240)
    labels = np.array([rng.choice(3, p=row) for row in proba])
    question = np.repeat(np.arange(60), 4)
    report = calibration_report(
        labels,
        {"one": proba, "other": proba[:, ::-1]},
        clusters=question,
        groups={"part": question % 2},
        sample_weight=rng.uniform(0.5, 2, 240),
        **FEW,
    )
    for model in report.models.values():
        assert model.class_test is not None
        assert model.sample.n_clusters == 60
        assert 0 < model.groups.pvalue <= 1
    assert report.models["other"].pvalue <= 0.05


def test_a_class_in_one_cluster_tells_no_map(rng):
    question = np.repeat(np.arange(30), 5)
    report = calibration_report(question == 0, rng.random(150), clusters=question, **FEW)
    summary = report.models[None].recalibration
    assert (summary.method, summary.gain) == (None, None)
    assert summary.reason == "too few clusters with a class: fewer than 2"


@pytest.mark.parametrize("wrong", [[0] * 80, range(79), [0.5] * 80])
def test_bad_clusters(rng, wrong):
    y_true, y_proba, _ = draw_answers(rng, 10)
    with pytest.raises(ValueError, match="clusters must hold"):
        calibration_report(y_true, y_proba, clusters=wrong, **FEW)


@pytest.mark.parametrize("seed", range(3))
def test_what_the_test_finds_in_few_clusters_intervals_find(seed):
    """Clusters of 20 rows, predicted .1 too high; all alike, each would count as one."""
    rng = np.random.default_rng(seed)
    y_true, y_proba, question = draw_answers(rng, 30, size=20, correlation=0.05)
    y_proba = 0.1 + 0.9 * y_proba
    y_true &= rng.random(600) < 1 - 0.1 / y_proba
    model = calibration_report(y_true, y_proba, clusters=question, **FEW).models[None]
    assert model.pvalue <= 0.05
    assert min(measure.low for measure in model.measures.values()) > 0


def test_intervals_of_calibrated_clusters_begin_at_zero():
    """All but one in twenty or fewer."""
    found, n_samples = 0, 30
    for seed in range(n_samples):
        rng = np.random.default_rng(seed)
        y_true, y_proba, question = draw_answers(rng, 30, size=10, correlation=0.1)
        error = confidence_interval(
            y_true, y_proba, clusters=question, random_state=seed, n_resamples=10
        )
        found += error.low > 0
    assert found <= most_of(n_samples, 0.05)


def test_intervals_exclude_0_where_tests_reject():
    """30 clusters of 20 rows: one cluster as a whole seldom turns."""
    n_times, begin = 6, 0
    for seed in range(n_times):
        rng = np.random.default_rng(seed)
        question, y_proba = np.repeat(np.arange(30), 20), rng.random(600)
        normal = np.sqrt(0.3) * rng.normal(size=30)[question] + np.sqrt(0.7) * rng.normal(size=600)
        y_true = (norm.cdf(normal) < 0.25 + 0.5 * y_proba).astype(int)
        rows = {"clusters": question, "random_state": seed}
        assert calibration_test(y_true, y_proba, **rows).pvalue <= 0.005
        begin += all(
            confidence_interval(y_true, y_proba, measure=name, **rows).low > 0
            for name in ("smooth_ece", "expected_calibration_error")
        )
    assert begin >= n_times - 1
