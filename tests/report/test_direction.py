"""Directions of errors are named where they are true, and there alone."""

import numpy as np
import pytest
from scipy.special import expit, logit

from skcal.inference import Interval, cox_recalibration
from skcal.report import calibration_report
from skcal.report._binary_problem import read_problem
from skcal.report._records import Direction
from skcal.report._verdict import (
    VERDICTS,
    describe_direction,
    find_side,
    find_signs,
)
from tests.chance import most_of
from tests.report.samples import (
    DIRECTION,
    DRAWS,
    NO_DIRECTION,
    count_verdicts,
    draw_labels,
    draw_rows,
    draw_wave,
    every_seed,
    judge,
    judge_one,
)


@every_seed
@pytest.mark.parametrize(
    ("factor", "side", "answer"),
    [(2, "high", "under"), (0.5, "low", "over")],
)
def test_rare_events(factor, side, answer, seed):
    """Their base rate is wrong, not how far predictions are apart."""
    rng = np.random.default_rng(seed)
    truth = rng.beta(2, 198, size=10_000)
    y_true = np.where(draw_labels(truth, rng) == 1, "fraud", "none")
    model = judge_one(y_true, factor * truth, pos_label="fraud")
    assert model.verdict == f"too {side}"
    assert model.sentence.startswith(f"Too {side}: the probability of 'fraud' is ")
    assert f", so the usual answer is {answer}-confident" in model.sentence
    assert "small" not in model.sentence


# Clear-cut models: predictions and the true probabilities from uniform numbers, and verdicts.
CLEAR = {
    "shifted up": (lambda u: (0.9 * u + 0.1, 0.9 * u), "too high"),
    "shifted down": (lambda u: (0.9 * u, 0.9 * u + 0.08), "too low"),
    "odds doubled": (lambda u: (expit(logit(u) + np.log(2)), u), "too high"),
    "says 35 % of an event of .5 %": (lambda u: (0.2 + 0.3 * u, 0 * u + 0.005), "too high"),
    "rare, odds times a hundred": (
        lambda u: (expit(logit(u**9 / 20) + 4.6), u**9 / 20),
        "too high",
    ),
    "odds squared": (lambda u: (expit(2 * logit(u)), u), "over-confident"),
    "odds squared, at 15 %": (
        lambda u: (expit(2 * logit(u) - 3.6), expit(logit(u) - 1.8)),
        "over-confident",
    ),
    "roots of odds": (lambda u: (expit(logit(u) / 2), u), "under-confident"),
}


@every_seed
@pytest.mark.parametrize("case", CLEAR)
def test_clear_verdicts(case, seed):
    draw, verdict = CLEAR[case]
    rng = np.random.default_rng(seed)
    y_proba, truth = draw(rng.random(5000))
    model = judge_one(draw_labels(truth, rng), y_proba)
    assert model.verdict == verdict
    assert model.verdict in VERDICTS
    assert model.sentence.lower().startswith(verdict)
    for regions, side in ((model.direction.too_low, 1), (model.direction.too_high, -1)):
        for region in regions:
            rows = (y_proba >= region.low) & (y_proba <= region.high)
            assert side * (truth - y_proba)[rows].mean() > 0


def find_error(case, n_samples, seed):
    """What is wrong, whether it is within the tolerance or not; None where no error is found."""
    rng = np.random.default_rng(seed)
    y_proba, truth = DRAWS[case](rng.random(n_samples))
    _, facts = judge(draw_labels(truth, rng), y_proba, seed, n_resamples=39)
    return facts["error"] if facts["evidence"].pvalue <= 0.05 else None


def test_waves_have_no_direction():
    """Outcomes are spread evenly, so that chance gives none."""
    places = (np.arange(5000) + 0.5) / 5000
    y_proba, truth = DRAWS["in turn"](places)
    y_true = np.diff(np.floor(np.cumsum(truth)), prepend=0).astype(int)
    model = judge_one(y_true, y_proba)
    assert model.verdict == "miscalibrated"
    signs = [(region.low, 1) for region in model.direction.too_low]
    signs += [(region.low, -1) for region in model.direction.too_high]
    assert [sign for _, sign in sorted(signs)] == [1, -1, 1, -1, 1]


# Directions that are true of these models; none is of the others.
TRUE = {
    "too low": {"too low"},
    "too high": {"too high"},
    "rare and doubled": {"too high"},
    "rare and halved": {"too low"},
    "odds doubled": {"too high"},
    "likely label too likely": {"too high"},
}


@pytest.mark.slow
@pytest.mark.parametrize("case", NO_DIRECTION)
def test_false_verdicts_are_rare(case):
    """At 5 %; shares of verdicts are in the table of `benchmarks/bench_verdicts.py`."""
    sizes, n_times = (200, 1000), 12
    found = [find_error(case, n, seed) for n in sizes for seed in range(n_times)]
    named = [error for error in found if error not in (None, "miscalibrated")]
    assert sum(error not in TRUE.get(case, ()) for error in named) <= most_of(2 * n_times, 0.05)


@pytest.mark.slow
def test_small_means_do_not_name_large_errors():
    """The mean is 1 point off, and parts are 12 points off."""
    rng = np.random.default_rng(0)
    y_proba, truth = DRAWS["in turn"](rng.random(50_000))
    model = judge_one(draw_labels(truth - 0.01, rng), y_proba)
    assert model.direction.bias.low > 0
    assert model.verdict == "miscalibrated"
    assert "class 1 is over-predicted" in model.sentence


@pytest.mark.parametrize("n_times", [5, pytest.param(40, marks=pytest.mark.slow)])
def test_waves_are_not_over_confident_for_a_stretch(n_times):
    """A stretch changes predictions by a quarter of their error: 7 % of the Brier score."""
    _, errors = count_verdicts(lambda *args: draw_wave(*args, 0.1, 3), 6000, n_times)
    assert errors == {"miscalibrated": n_times}


def test_confidences_must_be_wrong_mainly_in_their_mean():
    """Where a wave of .06 lies over a gap of .015."""
    rng = np.random.default_rng(0)
    confidence, truth = (0.5 + values / 2 for values in draw_wave(rng, 20_000))
    y = draw_labels(truth - 0.015, rng)
    proba = np.column_stack([confidence, (1 - confidence) / 2, (1 - confidence) / 2])
    _, facts = judge(np.where(y == 1, 0, rng.integers(1, 3, 20_000)), proba)
    assert facts["direction"].overconfidence.low > 0
    assert facts["error"] == "miscalibrated"


def test_the_column_of_the_other_label_is_recognised():
    rng = np.random.default_rng(0)
    v = rng.beta(2, 2, 3000)
    report = calibration_report(draw_labels(v, rng), 1 - v, n_resamples=39, random_state=0)
    assert report.verdict == "miscalibrated"
    start = (
        "Miscalibrated: outcomes become rarer as predictions rise, as if the labels were swapped"
    )
    assert report.models[None].sentence.startswith(start)
    assert "Worth it: " in str(report)
    assert "but a constant base rate is as good." in " ".join(str(report).split())


def find_sides(case, n_samples, n_times):
    """Sides that the intervals support in some samples, whether a test rejects or not."""
    arguments = {"sample_weight": None, "pos_label": None, "labels": None, "reduction": "auto"}
    rows = [draw_rows(case, n_samples, seed) for seed in range(n_times)]
    problems = [read_problem(*one, None, **arguments) for one in rows]
    directions = [describe_direction(problem, 0.95) for problem in problems]
    return np.array([find_side(found, find_signs(found), 1, 1.0) for found in directions])


@pytest.mark.parametrize("n_samples", [300, 3000])
@pytest.mark.parametrize("case", NO_DIRECTION)
def test_no_direction_is_named_that_is_not_there(case, n_samples):
    # Intervals of slopes are approximations for many.
    n_samples = max(n_samples, int(20 / DRAWS[case](0.5)[1]))
    assert np.count_nonzero(find_sides(case, n_samples, 25)) <= most_of(25, 0.05)


@pytest.mark.parametrize("case", ["too low", "rare and doubled"])
def test_no_direction_is_named_of_a_wrong_base_rate(case):
    """By the gap alone, of 60 the first was over-confident 35 times and under-confident 22."""
    assert np.count_nonzero(find_sides(case, 4000, 20)) <= 4


@pytest.mark.parametrize("case", DIRECTION)
def test_directions_are_named(case):
    assert (find_sides(case, 4000, 5) == DIRECTION[case][1]).all()


def test_slopes_must_agree_and_the_gap_must_not_object():
    within, over, under = Interval(1, 0.9, 1.1), Interval(0.5, 0.4, 0.6), Interval(2, 1.5, 2.5)
    gaps = {0: Interval(0.0, -0.1, 0.1), 1: Interval(0.2, 0.1, 0.3), -1: Interval(-0.2, -0.3, -0.1)}
    for slope, log_odds_slope, gap, expected in (
        (over, over, 0, 1),
        (over, over, -1, 0),
        (under, under, 0, -1),
        (over, within, 1, 0),
        (within, over, 1, 0),
        (over, under, 1, 0),
        (over, None, 0, 0),
        (over, None, 1, 1),
        (under, None, -1, -1),
        (under, None, 1, 0),
        (None, None, 1, 0),
        (under, Interval(np.inf, 1.2, np.inf), 0, -1),
        (under, Interval(np.inf, 0.8, np.inf), 0, 0),
    ):
        direction = Direction(gaps[gap], gaps[0], slope, log_odds_slope, (), ())
        signs = find_signs(direction)
        assert find_side(direction, signs, "label", 1.0) == expected
        assert find_side(direction, signs, None, 1.0) == gap


def test_slope_of_log_odds_is_that_of_cox():
    rng = np.random.default_rng(0)
    y_proba, weights = rng.random(400), rng.integers(0, 3, 400)
    y_true, options = draw_labels(y_proba, rng), {"confidence_level": 0.9}
    direction = judge_one(y_true, y_proba, sample_weight=7.0 * weights, **options).direction
    # The effective number of rows is the square of the sum over the sum of squares.
    counts = weights * weights.sum() / (weights**2).sum()
    expected = cox_recalibration(y_true, y_proba, sample_weight=counts, **options).slope
    np.testing.assert_allclose(direction.log_odds_slope, expected, rtol=1e-6)
    constant = judge_one([0, 1, 1], [0.4, 0.4, 0.4]).direction
    assert constant.slope is constant.log_odds_slope is None


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize("clusters", [None, np.arange(60) // 4])
def test_outcomes_of_one_class_have_no_slope(label, clusters):
    y_proba = np.random.default_rng(0).random(60)
    found = judge_one(np.full(60, label), y_proba, pos_label=1, clusters=clusters)
    assert found.direction.slope is found.direction.log_odds_slope is None
    assert "extreme" not in found.sentence
