"""The verdict is right where the truth is known."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit, softmax
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from skcal._tools._words import show_bound, show_low
from skcal.metrics import smooth_ece
from skcal.recalibration import AutoRecalibration
from skcal.report import CalibrationReport, calibration_report
from skcal.report._binary_problem import read_problem
from skcal.report._evidence import find_largest_error
from tests.report.samples import (
    FEW,
    count_verdicts,
    draw_labels,
    draw_leaves,
    draw_network,
    draw_rows,
    draw_shifted,
    draw_wave,
    every_seed,
    judge_one,
    report_case,
    report_one,
    tell,
)


@pytest.mark.slow
@pytest.mark.parametrize(("n_samples", "n_classes"), [(2000, 2), (2000, 4), (20_000, 2)])
def test_calibrated(n_samples, n_classes):
    """One in twenty calibrated models is rejected by a test at 5 %."""
    n_times = 12 if n_samples == 2000 else 4
    verdicts = []
    for seed in range(n_times):
        rows = draw_rows("calibrated", n_samples, seed)
        if n_classes > 2:
            rows = draw_network(n_samples, n_classes, 1, np.random.default_rng(seed))
        model = judge_one(*rows)
        verdicts.append(model.verdict)
        if model.verdict == "calibrated":
            assert model.sentence.startswith("Calibrated: ")
            assert model.error <= model.error_bound <= model.tolerated == 0.05
    # More than 3 of 12 have a probability of 0.2 %, more than 2 of 4 one of 0.05 %.
    assert verdicts.count("calibrated") >= (9 if n_times == 12 else 2)
    assert "inconclusive" not in verdicts


@every_seed
@pytest.mark.parametrize("n_classes", [2, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("temperature", "verdict"), [(0.5, "over-confident"), (2, "under-confident")]
)
def test_temperature_of_a_network(temperature, verdict, n_classes, seed):
    rng = np.random.default_rng(seed)
    model = report_one(*draw_network(1000, n_classes, temperature, rng))
    assert model.verdict == verdict
    assert model.sentence.startswith(f"{verdict.capitalize()} in its answers: ")
    assert (model.direction.overconfidence.low > 0) == (verdict == "over-confident")
    assert model.recalibration.gain.low > 0


@pytest.mark.slow
def test_real_network(shared_data):
    table = pd.read_csv(shared_data / "cifar10_vgg16_proba.csv.gz")
    rows = table["y_true"], table.filter(regex=r"^p\d$").to_numpy()
    assert report_one(*rows, tolerance=0.03).verdict == "over-confident"
    model = report_one(*rows)
    # Its error is 4 points.
    assert model.verdict == "nearly calibrated"
    assert "it is slightly over-confident in its answers: " in model.sentence
    assert model.scores["log_loss"].score == pytest.approx(0.257065, abs=1e-6)
    assert model.scores["brier_score"].score == pytest.approx(0.105446, abs=1e-6)
    measures = {name: summary.estimate for name, summary in model.measures.items()}
    assert measures["expected_calibration_error"] == pytest.approx(0.039780, abs=1e-6)
    assert measures["smooth_calibration_error"] == pytest.approx(0.039699, abs=1e-5)
    assert measures["cumulative_calibration_error"] == pytest.approx(0.040017, abs=1e-6)


@pytest.mark.slow
@every_seed
def test_forest_pulls_probabilities_to_the_middle(seed):
    X, y = make_classification(3000, 20, n_informative=8, random_state=seed)
    forest = RandomForestClassifier(60, min_samples_leaf=3, random_state=seed, n_jobs=2)
    y_proba = forest.fit(X[:1000], y[:1000]).predict_proba(X[1000:])
    assert judge_one(y[1000:], y_proba).verdict == "under-confident"


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0, 0.01])
def test_base_rate(noise):
    """The test at 5 % rejects more than 3 of 8 with a probability of 0.04 %."""
    verdicts = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        y_true = (rng.random(2000) < 0.3).astype(int)
        model = judge_one(y_true, 0.3 + noise * rng.normal(size=2000))
        verdicts.append(model.verdict)
        if model.verdict == "uninformative":
            is_clear = model.pvalue <= 0.05
            start = "Nearly calibrated" if is_clear else "Calibrated"
            assert model.sentence.startswith(f"{start} but uninformative: ")
    assert verdicts.count("uninformative") >= 5
    assert not {"calibrated", "inconclusive"} & set(verdicts)


def test_base_rates_of_many_classes():
    y_proba = np.tile([0.5, 0.3, 0.2], (3000, 1))
    y_true = draw_labels(y_proba, np.random.default_rng(0))
    assert judge_one(y_true, y_proba).verdict == "uninformative"


@pytest.mark.slow
def test_few_rows():
    verdicts = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y_proba = rng.random(30)
        model = judge_one(draw_labels(y_proba, rng), y_proba)
        verdicts.append(model.verdict)
        assert model.error_bound > 0.05
        if model.verdict == "inconclusive":
            assert model.sentence.startswith("Cannot tell: 30 rows are too few; ")
    # The test at 5 % rejects more than 3 of 12 with a probability of 0.2 %.
    assert verdicts.count("inconclusive") >= 9
    assert not {"calibrated", "uninformative"} & set(verdicts)
    # They may suffice against a model.
    model = judge_one([0] * 30, [0.9] * 30)
    assert model.verdict == "too high"
    assert "the probability of 1 is 90.0 % on average" in model.sentence
    assert judge_one([0] * 30, [0.9] * 30, reduction="confidence").verdict == "over-confident"


def test_small_errors_are_nearly_calibrated():
    rng = np.random.default_rng(0)
    y_proba, truth = draw_shifted(rng, 12_000)
    model = report_one(draw_labels(truth, rng), y_proba)
    assert model.verdict == "nearly calibrated"
    assert model.pvalue <= 0.05
    assert 0.02 < model.error_bound < model.tolerated == 0.05
    assert model.sentence.startswith("Nearly calibrated: an error is detectable (p <= 0.025), but ")
    assert (
        f"off by at most {show_bound(model.error_bound)} on average, smoothed over"
        in model.sentence
    )
    assert "within the tolerance of 0.050; it is slightly too low: the probab" in model.sentence
    for tolerance, verdict in ((0.02, "inconclusive"), (0.001, "too low")):
        strict = judge_one(draw_labels(truth, rng), y_proba, tolerance=tolerance)
        assert strict.verdict == verdict


@pytest.mark.parametrize("n_times", [8, pytest.param(60, marks=pytest.mark.slow)])
def test_two_points_are_within_five(n_times):
    """Their bound is .031 +- .0055, and the test finds them in 85 %: .0195 / .0054 is 3.6."""
    verdicts, errors = count_verdicts(draw_shifted, 6000, n_times)
    assert verdicts["calibrated"] + verdicts["nearly calibrated"] >= n_times - 1
    assert verdicts["nearly calibrated"] >= n_times // 2
    assert set(errors) <= {"too low", "miscalibrated"}


@pytest.mark.slow
def test_errors_at_the_tolerance_are_seldom_called_nearly_calibrated():
    """At 5 % more than 8 of 60 have a probability of .3 %."""
    for n_samples in (1000, 6000):
        verdicts, _ = count_verdicts(lambda *args: draw_shifted(*args, 0.05), n_samples, 60)
        assert verdicts["calibrated"] + verdicts["nearly calibrated"] <= 8


@pytest.mark.slow
def test_models_that_the_default_repairs_are_calibrated_or_nearly():
    """The map learns from 1000 rows, and its error is some .02."""

    def draw(rng, n_samples):
        fitted, truth = rng.random(1000), rng.random(n_samples)
        raw = [expit(2 * logit(proba))[:, None] for proba in (fitted, truth)]
        repairer = AutoRecalibration().fit(raw[0], draw_labels(fitted, rng))
        return repairer.predict_proba(raw[1])[:, 1], truth

    verdicts, _ = count_verdicts(draw, 6000, 12)
    assert verdicts["calibrated"] + verdicts["nearly calibrated"] >= 10


@pytest.mark.parametrize("n_times", [8, pytest.param(60, marks=pytest.mark.slow)])
def test_values_that_are_off_are_not_calibrated(n_times):
    """SmoothECE alone passed every second sample."""
    verdicts, _ = count_verdicts(draw_leaves, 1000, n_times)
    assert not {"calibrated", "nearly calibrated"} & set(verdicts)


@pytest.mark.slow
def test_fast_waves_are_seldom_calibrated():
    """SmoothECE alone passed 70 %; at 8 % more than 11 of 60 have a probability of .3 %."""
    verdicts, _ = count_verdicts(draw_wave, 1000, 60)
    assert verdicts["calibrated"] + verdicts["nearly calibrated"] <= 11


@pytest.mark.parametrize("n_samples", [1000, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("answers_differ", [False, True])
def test_the_most_wrong_label_is_named_whatever_the_test_of_answers_says(n_samples, answers_differ):
    """Of five labels one is predicted in 25.5 % and comes true in 41.1 % of rows."""
    rng = np.random.default_rng(n_samples)
    concentration = [1.0, 0.75, 0.75, 0.75, 0.75]
    y_proba = rng.dirichlet(concentration, n_samples)
    truth = y_proba * [2.75, 1, 1, 1, 1]
    truth /= truth.sum(axis=1, keepdims=True)
    if answers_differ:  # they are a little too confident as well
        truth = 0.97 * truth + 0.03 * truth.mean(axis=0)
    y = draw_labels(truth, rng)
    y = np.array(list("abcde"))[np.minimum(y, 4)]
    verdict, sentence, error = tell(y, y_proba)
    mean, rate = 100 * y_proba[:, 0].mean(), 100 * (y == "a").mean()
    assert mean == pytest.approx(25.5, abs=1.5)
    assert rate == pytest.approx(41.1, abs=3)
    assert verdict == "miscalibrated"
    start = "Miscalibrated in the probabilities of single labels, most of all that of 'a': "
    assert sentence.startswith(f"{start}{mean:.1f} % on average, observed {rate:.1f} %")
    assert error.bound > 0.1


def test_tolerance_decides():
    assert report_case("calibrated").verdict == "calibrated"
    rows = draw_rows("calibrated", 2000, seed=1)
    assert judge_one(*rows, tolerance=0.01).verdict == "inconclusive"
    # With three events among 300 rows nobody knows the base rate.
    rare = judge_one(np.arange(300) < 3, np.full(300, 0.01))
    assert (rare.verdict, rare.tolerated) == ("inconclusive", pytest.approx(0.0025))
    assert "more than 0.0025, a quarter of what the rarer label is predicted," in rare.sentence
    # A label that is never predicted has no share to compare with.
    certain = judge_one(np.ones(3000, dtype=int), np.ones(3000), labels=[0, 1])
    assert (certain.verdict, certain.tolerated) == ("uninformative", 0.05)


@every_seed
def test_rare_events_that_are_predicted_half_as_often_again_are_not_called_calibrated(seed):
    rng = np.random.default_rng(seed)
    truth = rng.beta(1, 199, 3000)
    model = judge_one(draw_labels(truth, rng), 1.5 * truth)
    assert model.verdict in ("inconclusive", "too high")
    assert model.tolerated == pytest.approx(0.25 * 1.5 * truth.mean())


@pytest.mark.parametrize("case", ["calibrated", "biased", "equal", "hard", "weights"])
def test_worst_class_has_the_largest_error(case):
    """The first one of equals."""
    rng = np.random.default_rng(0)
    proba = softmax(rng.normal(size=(400, 12)) * 2, axis=1)
    y = draw_labels(proba, rng)
    if case == "biased":
        y = np.where((y == 3) & (rng.random(400) < 0.5), 4, y)
    if case == "equal":
        proba, y = np.full((400, 12), 1 / 12), np.arange(400) % 3
    if case == "hard":
        proba = np.eye(12)[y]
    weights = rng.exponential(size=400) if case == "weights" else None
    data = {"sample_weight": weights, "pos_label": None, "labels": range(12)}
    problem = read_problem(y, proba, None, reduction="auto", **data)
    shares, hits = problem.shares, np.eye(12)[y]
    errors = np.array(
        [smooth_ece(hits[:, k], proba[:, k], sample_weight=weights) for k in range(12)]
    )
    means = shares @ proba, shares @ hits
    worst, error = find_largest_error(problem, *means)
    assert worst == np.argmax(np.maximum(errors, np.abs(means[0] - means[1])))
    assert error == pytest.approx(errors[worst], abs=1e-12)


@pytest.mark.parametrize("weighted", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_other_labels_than_the_answer_are_judged_too(weighted):
    """The largest probability is right, and those of the two others are exchanged."""
    rng = np.random.default_rng(1)
    truth = -np.sort(-rng.dirichlet([4, 1, 1], 3000), axis=1)
    y = draw_labels(truth, rng)
    options = {"sample_weight": rng.uniform(0.5, 1, 3000)} if weighted else {}
    model = report_one(np.array(["a", "b", "c"])[y], truth[:, [0, 2, 1]], **options)
    assert model.test.pvalue > 0.05 > model.class_test.pvalue
    assert model.verdict == "miscalibrated"
    assert model.sentence.startswith("Miscalibrated in the probabilities of single labels, most")
    errors = [smooth_ece(y == k, truth[:, j], **options) for k, j in ((1, 2), (2, 1))]
    worst = int(np.argmax(errors))
    mean, rate = 100 * truth[:, 2 - worst].mean(), 100 * (y == 1 + worst).mean()
    if not weighted:
        story = f"{mean:.1f} % on average, observed {rate:.1f} %"
        assert f"that of '{'bc'[worst]}': {story}; of its answers no error" in model.sentence
    of_answers = report_one(y, truth[:, [0, 2, 1]], reduction="confidence", **options)
    assert of_answers.class_test is None
    assert of_answers.sentence.startswith("Calibrated in its answers: no error beyond chance")
    right = report_one(y, truth, **options)
    assert right.class_test.pvalue > 0.05
    assert right.verdict == "calibrated"
    assert "the largest probability of a row, or that of any one label, is off" in right.sentence


def test_two_tests_may_reject_with_few_draws():
    """p-values count for their parts of the level, so that the smallest ones have to be smaller."""
    y, proba = draw_network(600, 3, 0.3, np.random.default_rng(0))
    report = calibration_report(y, proba, n_resamples=19, random_state=0)
    assert report.verdict == "over-confident"
    model = report.models[None]
    assert model.test.pvalue == model.class_test.pvalue == 1 / 67  # below 3 / 10 of 1 / 20
    assert model.cell_test.pvalue == model.fine_test.pvalue == 1 / 100
    assert model.pvalue == pytest.approx(10 / 3 / 67)
    assert "test of answers" in str(report)
    assert "test of all classes" in str(report)
    assert str(report).count("an error beyond chance (p <= 0.05)") == 4


def test_hard_predictions_bound_the_error_by_three_in_n():
    bound = judge_one([0, 1] * 50, [0.0, 1.0] * 50).error_bound
    assert bound == pytest.approx(1.6448536**2 / 100, rel=1e-6)


@pytest.mark.slow
def test_error_bound_covers_a_known_error():
    """Outcomes of probability 1/2 + (v - 1/2) (1 - a): an average error near a / 4."""
    rng = np.random.default_rng(0)
    grid = (np.arange(20_000) + 0.5) / 20_000
    covered = 0
    for _ in range(30):
        a = rng.uniform(0, 0.6)
        y_proba = rng.random(400)
        y_true = draw_labels(0.5 + (1 - a) * (y_proba - 0.5), rng)
        truth = smooth_ece(0.5 + (1 - a) * (grid - 0.5), grid)
        covered += judge_one(y_true, y_proba, n_resamples=20).error_bound >= truth
    assert covered >= 25  # 95 % of 30 is 28.5; below 25 has a probability of 0.3 %


def draw_quarter(rng, n_samples):
    """A quarter of the rows, at .40 to .42, is off by .25 up or down: .0625 on average."""
    is_there = rng.random(n_samples) < 0.25
    values = rng.random(n_samples)
    y_proba = np.where(is_there, 0.4 + 0.02 * values, 0.05 + 0.9 * values)
    return y_proba, y_proba + is_there * np.where(y_proba < 0.41, -0.25, 0.25)


def draw_narrow(rng, n_samples):
    """Predictions from .495 to .505 of events of probability .2 and .8: .3 on average."""
    y_proba = rng.uniform(0.495, 0.505, n_samples)
    return y_proba, np.where(y_proba < 0.5, 0.2, 0.8)


@pytest.mark.parametrize("scale", [1, 0.01])
def test_predictions_that_lie_close_together_are_not_nearly_calibrated(scale):
    """SmoothECE is no larger than their range."""
    rng = np.random.default_rng(0)
    y_proba, truth = draw_narrow(rng, 2000)
    model = judge_one(draw_labels(truth, rng), 0.5 + scale * (y_proba - 0.5))
    assert model.verdict == "under-confident"
    # The standard error is .01.
    assert 0.2 < model.error_low < model.error < model.error_bound < 0.4
    assert f"{model.error:.3f} on average (cells of " in model.sentence


def test_a_logistic_regression_that_is_shrunk_to_the_base_rate_is_under_confident():
    X, y = make_classification(6000, n_features=8, n_informative=5, random_state=0)
    shrunk = LogisticRegression(C=1e-6).fit(X[:3000], y[:3000])
    report = CalibrationReport.from_estimator(shrunk, X[3000:], y[3000:], **FEW)
    model = report.models[None]
    assert report.verdict == "under-confident"
    assert model.error_low > 0.2
    # The table beside shows an error of that size.
    in_bins = model.measures["expected_calibration_error_equal_mass"]
    assert model.error_low < in_bins.estimate < model.error_bound
    assert "(0." in str(report).split("average error")[1].splitlines()[0]


@pytest.mark.parametrize(
    ("n_samples", "verdicts"),
    [(3000, {"inconclusive", "miscalibrated"}), (40_000, {"miscalibrated"})],
)
def test_errors_at_a_quarter_of_the_rows_are_not_smoothed_away(n_samples, verdicts):
    rng = np.random.default_rng(0)
    y_proba, truth = draw_quarter(rng, n_samples)
    model = judge_one(draw_labels(truth, rng), y_proba)
    assert model.verdict in verdicts
    assert model.error_low < 0.0625 < model.error_bound
    if model.verdict == "inconclusive":
        low, bound = show_low(model.error_low), show_bound(model.error_bound)
        assert f"at least {low} on average, and {bound} cannot be excluded" in model.sentence


@pytest.mark.parametrize(
    ("n_samples", "verdict"), [(3000, "inconclusive"), (20_000, "miscalibrated")]
)
def test_errors_at_values_that_rows_share_are_not_smoothed_away(n_samples, verdict):
    """30 % of the rows, at 200 values a ten-thousandth apart, are off by .25 up or down in turn."""
    rng = np.random.default_rng(0)
    shared, number = rng.random(n_samples) < 0.3, rng.integers(200, size=n_samples)
    y_proba = np.where(shared, 0.4 + number / 10_000, rng.random(n_samples))
    truth = y_proba + shared * np.where(number % 2, 0.25, -0.25)
    model = judge_one(draw_labels(truth, rng), y_proba)
    assert model.verdict == verdict
    assert model.error_low < 0.075 < model.error_bound


def test_few_rows_that_are_far_off_are_a_small_error():
    """2 % of the rows are off by .4: .008 on average, and .057 in squares."""
    rng = np.random.default_rng(0)
    y_proba = 0.05 + 0.9 * rng.random(40_000)
    truth = y_proba - 0.4 * ((y_proba > 0.5) & (y_proba < 0.518))
    model = judge_one(draw_labels(truth, rng), y_proba)
    assert model.verdict == "nearly calibrated"
    assert model.error_low < 0.008 < model.error_bound < 0.05
