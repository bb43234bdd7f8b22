"""The first sentence of a report tells what is wrong, where and by how much."""

import re

import numpy as np
import pytest
from scipy.special import expit

from skcal._numerics.inference._verdict import bound_mean_error
from skcal._tools._words import show_bound, show_low
from skcal.inference import Interval
from skcal.report._evidence import AverageError, Evidence
from skcal.report._records import Direction, Region
from skcal.report._sections import judge_recalibration
from skcal.report._sentence import show_region, write_sentence
from skcal.report._verdict import (
    Signs,
    find_signs,
)
from tests.report.samples import (
    draw_labels,
    draw_leaves,
    draw_rows,
    draw_wave,
    judge,
    judge_one,
    report_case,
    report_one,
    tell,
)


def test_confidences_of_answers():
    """Of questions: too high, so that answers are over-confident."""
    rng = np.random.default_rng(0)
    for least, words in ((0.6, ", so the usual answer is"), (0.4, "; its answers are")):
        confidence = rng.uniform(least, 1.0, 2000)
        model = judge_one(draw_labels(confidence - 0.2, rng), confidence)
        assert model.verdict == "too high"
        assert f"{words} over-confident" in model.sentence


def test_sentence_tells_what_is_wrong():
    model = report_case("too high").models[None]
    assert model.verdict == "too high"
    assert model.sentence.startswith("Too high: the probability of 1 is ")
    assert "usual answer" not in model.sentence
    assert model.direction.bias.low < 0.1 < model.direction.bias.high
    model = judge_one(*draw_rows("odds squared, and too high", 2000, seed=1))
    assert model.sentence.startswith("Over-confident in its answers: the most probable label is ")
    assert "; class 1 is over-predicted: " in model.sentence
    model = judge_one(*draw_rows("in turn", 2000, seed=1))
    start = "Miscalibrated, in places too low and in others too high: between "
    assert model.sentence.startswith(start)
    rng = np.random.default_rng(0)
    unrelated = draw_labels(np.full(20_000, 0.005), rng), expit(rng.normal(-1, 1, 20_000))
    assert "rise by 10 points, outcomes hardly change" in judge_one(*unrelated).sentence


@pytest.mark.parametrize(
    ("region", "confidence", "expected"),
    [
        (
            Region(0.7, 0.95, 0.83, 0.75, 0.2),
            False,
            "between 0.70 and 0.95 (20 % of rows) outcomes are 8 points rarer than predicted",
        ),
        (
            Region(0.7, 0.95, 0.8, 0.807, 1.0),
            False,
            "between 0.70 and 0.95 outcomes are 0.7 points more frequent than predicted",
        ),
        (
            Region(0.9, 0.9, 0.9, 0.8, 0.001),
            True,
            "at 0.9000 (few rows) answers are right 10 points less often than expected",
        ),
        (
            Region(0.004, 0.3, 0.021, 0.004, 0.5),
            False,
            "between 0.004 and 0.30 (50 % of rows) outcomes are rarer than predicted: 0.4 % "
            "instead of 2.1 %",
        ),
        (
            Region(0.0, 0.9996, 0.3, 0.4, 1.0),
            False,
            "between 0.00 and 0.9996 outcomes are 10 points more frequent than predicted",
        ),
        (
            Region(2e-9, 1 - 3e-6, 0.3, 0.4, 0.5),
            False,
            "between 2e-09 and 1 - 3e-06 (50 % of rows) outcomes are 10 points more frequent than "
            "predicted",
        ),
    ],
)
def test_regions_in_words(region, confidence, expected):
    assert show_region(region, confidence) == expected


def test_where_is_told_only_of_errors():
    model = report_case("calibrated").models[None]
    assert model.direction.too_low == model.direction.too_high == ()
    text = " ".join(str(report_case("too high")).split())
    assert "points rarer than predicted" in text


def test_sentences_name_what_the_bound_sees():
    rng = np.random.default_rng(1)
    y_proba, truth = draw_leaves(rng, 6000)
    verdict, sentence, error = tell(draw_labels(y_proba, rng), y_proba)
    assert verdict == "calibrated"
    assert error.scale == 0
    bound = show_bound(error.bound)
    assert sentence.endswith(f"are off by at most {bound} on average, each value by itself.")
    _, sentence, error = tell(draw_labels(truth, rng), y_proba)
    assert error.size == pytest.approx(0.1, abs=0.02)
    assert "on average (single values; at least 0.0" in sentence
    _, sentence, error = tell(*draw_rows("calibrated", 2000, seed=1))
    bound = show_bound(error.bound)
    assert f"off by at most {bound} on average, smoothed over a distance of {bound}." in sentence
    _, sentence, _ = tell(*draw_rows("odds squared", 2000, seed=1))
    assert " on average (smooth ECE; at least 0." in sentence
    y_proba, truth = draw_wave(rng, 6000)
    _, sentence, error = tell(draw_labels(truth, rng), y_proba)
    assert 0 < error.scale < 0.01
    assert f"on average (cells of {error.scale:.2g}; " in sentence


@pytest.mark.parametrize("pvalue", [0.01, 0.5])
@pytest.mark.parametrize("size", [1, 0.1])
def test_a_bound_above_the_tolerance_looks_above_it_and_others_do_not(pvalue, size):
    """Of three decimals, 0.01284 and 0.01279 are equal, and 0.01235 is rounded up above 0.01238."""
    _, facts = judge(*draw_rows("calibrated", 300, seed=0))

    def tell_numbers(verdict, bound, tolerated):
        error = facts["evidence"].error._replace(low=0.0, bound=size * bound)
        evidence = facts["evidence"]._replace(error=error, pvalue=pvalue)
        given = facts | {"evidence": evidence, "tolerated": size * tolerated, "error": "too high"}
        sentence = write_sentence(verdict, given)
        pattern = "(?:at most|up to|, and) (0[.][0-9]+) .* (?:than|of) (0[.][0-9]+)"
        shown, limit = re.search(pattern, sentence).groups()
        assert float(shown) >= size * bound
        return float(shown) - float(limit)

    assert tell_numbers("inconclusive", 0.01284, 0.01279) > 0
    assert tell_numbers("nearly calibrated", 0.01235, 0.01238) <= 0


def test_how_many_rows_would_do():
    """As many as give a calibrated model a bound within the tolerance, or more as the rows say."""
    v = np.random.default_rng(0).random(60)
    model = judge_one(draw_labels(v, np.random.default_rng(1)), v)
    end = r"; no error .* If the model is calibrated, about ([\d,]+) rows would do\.$"
    (n_enough,) = re.findall(end, model.sentence)
    rows = np.tile(v, int(n_enough.replace(",", "")) // 60)
    assert bound_mean_error(np.full(60, 1 / 60), v, 0.0, 1.645) > model.tolerated
    assert bound_mean_error(np.full(len(rows), 1 / len(rows)), rows, 0.0, 1.645) < model.tolerated
    # Bounds shrink as the root of the number of rows.
    assert len(rows) >= 0.9 * 60 * (model.error_bound / model.tolerated) ** 2


def test_effective_rows_are_too_few():
    rng = np.random.default_rng(0)
    v = rng.random(2000)
    model = judge_one(draw_labels(v, rng), v, sample_weight=np.where(np.arange(2000) < 20, 1e3, 1))
    assert model.sentence.startswith("Cannot tell: 2000 rows, which count as 24, are too few; ")


def test_the_scale_on_which_it_is_wrong_is_told():
    """Near 0 and 1 predictions that are far too extreme differ little in points."""
    interval, none = Interval(0.25, 0.2, 0.3), Interval(0, -0.1, 0.1)
    for slope, of_odds, words in (
        (0.94, 0.25, "when log odds rise by 1, those of outcomes rise by 0.25"),
        (0.94, -0.1, "when they rise by 10 points, outcomes rise by 9.4"),
        (0.8, 0.7, "when they rise by 10 points, outcomes rise by 8.0"),
        (0.2, 0.25, "when they rise by 10 points, outcomes rise by 2.0"),
    ):
        slopes = (interval._replace(estimate=one) for one in (slope, of_odds))
        model = report_case("calibrated").models[None]
        error = AverageError(0.1, 0.08, 0.12, 0.12, "smooth ECE")
        evidence = Evidence(None, None, None, None, 0.01, True, False, error, 0.1, None)
        facts = {"summary": model.sample, "signs": Signs(0, 0, 2.0), "evidence": evidence}
        facts |= {"plain_pvalue": None, "confidence_level": 0.95}
        facts |= {"direction": Direction(none, none, *slopes, (), ()), "error": "over-confident"}
        assert words in write_sentence("over-confident", facts)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0.000"), (0.05, "0.050"), (0.0161, "0.017"), (0.00137, "0.0014"), (0.00141, "0.0015")],
)
def test_bounds_are_never_rounded_down(value, shown):
    assert show_bound(value) == shown


def test_gains_of_recalibration_in_words():
    model = report_one(*draw_rows("calibrated", 400, seed=1))
    rest = model.scores["log_loss"].base_rate / 2
    for gain, words in (
        ((0.1, 0.05, 0.15), "Worth it: AutoRecalibration lowers the log loss by 0.1000 (0.0500"),
        ((0.001, 0.0005, 0.0015), "A small gain: AutoRecalibration lowers"),
        ((0.0, -0.1, 0.1), "No clear gain: AutoRecalibration changes the log loss"),
        ((-0.2, -0.3, -0.1), "Not worth it: AutoRecalibration raises the log loss by 0.2000 (0.1"),
    ):
        loss = rest + gain[0]
        found = model.recalibration._replace(
            gain=Interval(*gain), log_loss=loss, log_loss_after=rest
        )
        assert judge_recalibration(model._replace(recalibration=found)).startswith(words)


def test_calibrated_predictions_may_tell_nothing():
    rng = np.random.default_rng(0)
    y_proba = rng.uniform(0.29, 0.31, 3000)
    model = report_one((rng.random(3000) < 0.3).astype(int), y_proba)
    assert "uninformative" in model.sentence
    assert "say no more about a row than the base rate" in model.sentence


def test_what_a_single_interval_shows_is_told():
    """A slope of log odds that excludes 1, where that of probabilities does not."""
    none, slope = Interval(0, -0.1, 0.1), Interval(0.66, 0.4, 0.94)
    model = report_case("calibrated").models[None]
    error = AverageError(0.1, 0.06, 0.12, 0.12, "smooth ECE")
    evidence = Evidence(None, None, None, None, 0.01, True, False, error, 0.1, None)
    for slopes in ((slope, Interval(1, 0.9, 1.1)), (Interval(1, 0.9, 1.1), slope)):
        direction = Direction(none, none, *slopes, (), ())
        facts = {"summary": model.sample, "signs": find_signs(direction), "evidence": evidence}
        facts |= {"plain_pvalue": None, "confidence_level": 0.95, "error": "miscalibrated"}
        sentence = write_sentence("miscalibrated", facts | {"direction": direction})
        assert "too far apart (slope 0.66 (0.40 to 0.94), calibrated 1)" in sentence
        assert "no direction" not in sentence


@pytest.mark.parametrize(("value", "shown"), [(0, "0.000"), (0.0169, "0.016"), (0.00138, "0.0013")])
def test_lower_bounds_are_never_rounded_up(value, shown):
    assert show_low(value) == shown
