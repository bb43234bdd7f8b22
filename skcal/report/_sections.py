"""The numbers of a report as tables of text, which the text and the HTML form share."""

from typing import NamedTuple

import numpy as np

from skcal._tools._words import (
    show_bound_and_limit,
    show_error,
    show_label,
    show_low,
    show_percentages,
    show_pvalue,
)
from skcal.report._evidence import adjust_pvalue
from skcal.report._judgement import count_pvalue
from skcal.report._sentence import show_region

MEASURE_TITLES = {
    "smooth_ece": "smooth ECE",
    "expected_calibration_error": "ECE, 15 bins",
    "expected_calibration_error_equal_mass": "ECE, bins of equal mass",
    "smooth_calibration_error": "smooth calibration error",
    "cumulative_calibration_error": "cumulative error, Kuiper",
}
# Groups that stand out most.
_N_GROUPS, _LONGEST_NAME = 5, 28
# Features that tell most of where a model is wrong.
_N_FEATURES = 3
# A gain of a smaller part of the log loss is called small.
_SMALL_GAIN = 0.005
# Of a score: the base rate itself does not beat it.
_ROUNDING = 1e-12
SCORE_TITLES = {"brier_score": "Brier score", "log_loss": "log loss"}


class Section(NamedTuple):
    """A titled table; the first cell of a row names it."""

    title: str
    # Heads of the columns after the first; none where each row has one text.
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def list_sections(model, confidence_level):
    """All sections about a model."""
    interval = f"{100 * confidence_level:g} % interval"
    if model.n_labels > 1:
        interval += ", all labels"
    return [
        _show_sample(model.sample),
        _show_measures(model, interval),
        _show_tests(model, confidence_level),
        _show_scores(model.scores),
        _show_direction(model, interval),
        _show_regions(model),
        *([] if model.groups is None else [_show_groups(model.groups)]),
        *([] if model.features is None else _show_features(model.features)),
        *([] if model.clinical is None else [_show_clinical(model.clinical, interval)]),
        *([] if model.validation is None else [_show_validation(model.validation, interval)]),
        _show_recalibration(model.recalibration),
    ]


def cut_text(text, width):
    """A text on one line, cut if it is long."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 3] + "..."


def show_number(value):
    """A number with four decimals, or two digits if it is tiny."""
    if value is None or np.isnan(value):
        return "undefined"
    if np.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    return f"{value:.4f}" if abs(value) >= 0.001 or value == 0 else f"{value:.1e}"


def _show_interval(interval):
    return show_number(interval.low) + " to " + show_number(interval.high)


def _show_sample(sample):
    size = f"{sample.n_rows}"
    if sample.n_clusters is not None:
        size += (
            f" in {sample.n_clusters} clusters, which count as {sample.effective_sample_size:.0f} "
            f"independent rows (design effect {sample.design_effect:.1f})"
        )
    elif sample.effective_sample_size < sample.n_rows * (1 - 1e-9):
        size += f", weighted like {sample.effective_sample_size:.1f} of equal weight"
    rows = [("rows", size)]
    if len(sample.labels) > 2:
        top = int(np.argmax(sample.frequency))
        (share,) = show_percentages(sample.frequency[top])
        rows += [
            ("classes", str(len(sample.labels))),
            ("most frequent", f"{show_label(sample.labels[top])}, {share} of rows"),
        ]
    else:
        rate, mean = show_percentages(sample.frequency[1], sample.mean_probability[1])
        rows += [
            ("base rate", f"{rate} of rows are {show_label(sample.labels[1])}"),
            ("predicted", f"{mean} on average"),
        ]
    if sample.pos_label is not None:
        return Section("Sample", (), rows)
    confidence, accuracy = show_percentages(sample.mean_prediction, sample.mean_outcome)
    rows.append(("confidence", f"{confidence} on average, right in {accuracy} of rows"))
    return Section("Sample", (), rows)


def _show_measures(model, interval):
    scaled = "smooth_ece" if model.diagram.scale == "logit" else None
    rows = [
        (
            MEASURE_TITLES[name] + (", logit" if name == scaled else ""),
            show_number(measure.estimate),
            show_number(measure.null_mean),
            _show_interval(measure),
        )
        for name, measure in model.measures.items()
    ]
    return Section("Calibration error", ("value", "by chance", interval), rows)


def _show_tests(model, confidence_level):
    alpha, has_classes = 1 - confidence_level, model.class_test is not None
    tells_apart = "yes" if model.discrimination_pvalue <= alpha else "not shown"
    bound, tolerated = show_bound_and_limit(model.error_bound, model.tolerated)
    ends = f"{show_low(model.error_low)} to {bound}"
    names = {"test of answers" if has_classes else "exact test": "test"}
    names |= {"test of all classes": "class_test"} if has_classes else {}
    names |= {"test of cells": "cell_test", "fine test": "fine_test"}
    rows = [
        *((title, _describe_test(model, name, alpha)) for title, name in names.items()),
        (
            "average error",
            f"{show_error(model.error)} ({ends}; tolerated: {tolerated})",
        ),
        ("tells rows apart", f"{tells_apart} ({show_pvalue(model.discrimination_pvalue)})"),
        ("beats the base rate", _show_advantages(model.scores)),
    ]
    return Section("Tests", (), rows)


def _describe_test(model, name, alpha):
    """One of several tests, whose p-value counts for its part of the level (Bonferroni)."""
    pvalue = adjust_pvalue(name, getattr(model, name).pvalue, model.class_test is not None)
    pvalue = count_pvalue(pvalue, model.n_labels)
    found = "an error" if pvalue <= alpha else "no error"
    return f"{found} beyond chance ({show_pvalue(pvalue)})"


def _show_advantages(scores):
    """Whether each score is better than that of the base rate, and one answer if all agree."""
    answers = {}
    for name, score in scores.items():
        gain, least = score.advantage, _ROUNDING * score.base_rate
        answer = "yes" if gain.low > least else "not shown" if gain.estimate > least else "no"
        answers.setdefault(answer, []).append(SCORE_TITLES[name])
    return "; ".join(f"{answer} ({' and '.join(names)})" for answer, names in answers.items())


def _show_scores(scores):
    rows = [(SCORE_TITLES[name], *map(show_number, score[:-1])) for name, score in scores.items()]
    return Section("Proper score", ("value", "miscalibr.", "refinement", "base rate"), rows)


def _show_direction(model, interval):
    direction = model.direction
    rows = [("confidence - accuracy", direction.overconfidence)]
    if model.sample.pos_label is not None:
        rows.append(("prediction - outcome", direction.bias))
    if direction.slope is not None:
        rows.append(("slope (calibrated: 1)", direction.slope))
    if direction.log_odds_slope is not None:
        rows.append(("slope of log odds (calibrated: 1)", direction.log_odds_slope))
    cells = [(title, show_number(value.estimate), _show_interval(value)) for title, value in rows]
    return Section("Direction", ("value", interval), cells)


def _show_clinical(clinical, interval):
    rows = [("observed / expected (O:E)", clinical.observed_expected)]
    cox = clinical.recalibration
    if cox is not None:
        rows += [
            ("calibration in the large (0)", cox.calibration_in_the_large),
            ("calibration slope (1)", cox.slope),
        ]
    rows.append(("ICI", clinical.ici))
    cells = [(title, show_number(value.estimate), _show_interval(value)) for title, value in rows]
    for title, value in (("E50", clinical.e50), ("E90", clinical.e90), ("Emax", clinical.emax)):
        # Nothing is known of the lower end of an interval of a quantile.
        cells.append((title, show_number(value.estimate), f"at most {show_number(value.high)}"))
    if cox is None:
        cells.insert(1, ("calibration intercept and slope", "undefined", ""))
    else:
        tests = {"intercept": cox.intercept_test, "slope": cox.slope_test, "both": cox.test}
        cells[3:3] = [
            (f"test, {name}", show_pvalue(test.pvalue), "") for name, test in tests.items()
        ]
    return Section("For a clinical paper", ("value", interval), cells)


def _show_validation(validation, interval):
    rows = [
        (
            name,
            *map(show_number, (one.apparent, one.corrected.estimate)),
            _show_interval(one.corrected),
        )
        for name, one in validation.measures.items()
    ]
    return Section("Model of all rows", ("apparent", "corrected", interval), rows)


def _show_regions(model):
    direction, reads_confidence = model.direction, model.sample.pos_label is None
    rows = [
        (title, "; ".join(show_region(region, reads_confidence) for region in regions))
        for title, regions in (("too low", direction.too_low), ("too high", direction.too_high))
        if regions
    ]
    return Section("Where", (), rows or [("no region", "none in which the rows show an error")])


def _show_features(audit):
    """What features tell, and the rules that others than those who found them have judged."""
    told = f"{'yes' if audit.pvalue <= audit.alpha else 'not shown'} ({show_pvalue(audit.pvalue)})"
    leading = audit.rank_features().head(_N_FEATURES)
    rows = [
        ("they tell errors", told),
        ("error they explain", f"at least {show_low(audit.error_low)}"),
        ("log loss to gain", f"{show_number(audit.gain)}, at least {show_low(audit.gain_low)}"),
        ("most telling", ", ".join(leading["feature"])),
    ]
    sections = [Section("Features", (), rows)]
    if audit.slices is not None:
        sections.append(_show_groups(audit.slices)._replace(title="Rules found in features"))
    return sections


def _show_groups(audit):
    gap = audit.mean_outcome - audit.mean_prediction
    rows = [
        (
            f"{cut_text(str(audit.names[k]), _LONGEST_NAME)} ({audit.n_samples[k]})",
            show_number(gap[k]),
            f"{show_number(audit.low[k])} to {show_number(audit.high[k])}",
            # The smallest knows whether the draws let it be smaller.
            show_pvalue(max(audit.pvalue, audit.adjusted_pvalues[k])),
        )
        for k in range(min(_N_GROUPS, len(gap)))
    ]
    interval = f"{100 * audit.confidence_level:g} % interval"
    return Section("Groups", ("true - pred.", interval, "adjusted"), rows)


def _show_recalibration(summary):
    title = "Recalibration"
    if summary.method is None:
        return Section(title, (), [("not tried", summary.reason)])
    before = (show_number(summary.log_loss), show_number(summary.brier_score))
    after = (show_number(summary.log_loss_after), show_number(summary.brier_score_after))
    rows = [("log loss", before[0], after[0]), ("Brier score", before[1], after[1])]
    return Section(title, ("now", f"after {summary.method}"), rows)


def judge_recalibration(model):
    """In words, what recalibration would gain."""
    summary, score = model.recalibration, model.scores["log_loss"]
    gain = summary.gain
    if gain is None:
        return f"What recalibration would gain is not known: {summary.reason}."
    if gain.low > 0:
        is_small = gain.estimate < _SMALL_GAIN * summary.log_loss
        useless = ""
        if summary.log_loss_after >= score.base_rate:
            useless = ", but a constant base rate is as good"
        return (
            f"{'A small gain' if is_small else 'Worth it'}: {summary.method} lowers the log loss "
            f"by {show_number(gain.estimate)} ({_show_interval(gain)}){useless}."
        )
    loss = f"{show_number(-gain.estimate)} ({show_number(-gain.high)} to {show_number(-gain.low)})"
    if gain.high < 0:
        return f"Not worth it: {summary.method} raises the log loss by {loss}."
    return f"No clear gain: {summary.method} changes the log loss by {loss}; below 0 is a gain."
