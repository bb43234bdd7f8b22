"""The verdict in a sentence that needs no other line of the report."""

import numpy as np

from skcal._numerics.inference._verdict import find_excess
from skcal._tools._words import (
    show_bound,
    show_bound_and_limit,
    show_error,
    show_interval,
    show_label,
    show_low,
    show_percentages,
    show_places,
    show_pvalue,
)
from skcal.report._evidence import SMOOTH
from skcal.report._verdict import MAIN, VERDICTS, is_reversed

# A predicted label is the usual one if it is that of this share of the rows.
_USUAL = 0.9
_SHIFTED = ("too high", "too low")
_SIDES = {"over-confident": 1, "under-confident": -1}
# Points of difference say little about probabilities nearer than this to 0 or to 1.
_RARE = 0.05
# A slope of log odds is told if it is farther from 1 than that of probabilities by this factor.
_MUCH = 1.5
# A region of a larger share is as good as all rows.
_ALL = 0.995
# Pairs of models that are told apart in words, and labels that are named.
_N_PAIRS, _N_NAMES = 3, 5
# Verdicts in the order in which labels are named: what is wrong first.
_ORDER = (*VERDICTS[2:7], "inconclusive", "uninformative", *VERDICTS[1::-1])


def write_sentence(verdict, facts):
    """One sentence for a newcomer, from the facts that `judge_rows` finds."""
    writers = {
        "calibrated": _write_calibrated,
        "nearly calibrated": _write_nearly,
        "uninformative": _write_uninformative,
        "inconclusive": _write_inconclusive,
    }
    return writers.get(verdict, _write_wrong)(facts) + _tell_plain(facts)


def _tell_plain(facts):
    """What would have been said of rows that are taken for independent, if it is the opposite."""
    plain, alpha = facts["plain_pvalue"], 1 - facts["confidence_level"]
    if plain is None or (plain <= alpha) == (facts["evidence"].pvalue <= alpha):
        return ""
    found = "an error beyond chance" if plain <= alpha else "no error beyond chance"
    return f" Taken for independent, these rows would show {found} ({show_pvalue(plain)})."


def _write_calibrated(facts):
    evidence = facts["evidence"]
    reads_confidence = facts["summary"].pos_label is None
    where = " in its answers" if reads_confidence and evidence.worst is None else ""
    return (
        f"Calibrated{where}: no error beyond chance ({show_pvalue(evidence.pvalue)}); "
        f"{_tell_bound(facts)}."
    )


def _tell_bound(facts):
    verb = "are" if facts["summary"].pos_label is not None else "is"
    bound, _ = _show_bound_and_tolerance(facts)
    return (
        f"{_name_probabilities(facts)} {verb} off by at most {bound} on average{_tell_scale(facts)}"
    )


def _show_bound_and_tolerance(facts):
    return show_bound_and_limit(facts["evidence"].error.bound, facts["tolerated"])


def _name_probabilities(facts):
    """What the average error is one of."""
    if facts["summary"].pos_label is not None:
        return "the probabilities"
    others = "" if facts["evidence"].worst is None else ", or that of any one label,"
    return f"the largest probability of a row{others}"


def _tell_scale(facts):
    """What the average error sees."""
    scale = facts["evidence"].error.scale
    if not scale:
        return ", each value by itself"
    return f", smoothed over a distance of {show_bound(scale)}"


def _write_nearly(facts):
    _, tolerance = _show_bound_and_tolerance(facts)
    return (
        f"Nearly calibrated: an error is detectable ({show_pvalue(facts['evidence'].pvalue)}), but "
        f"{_tell_bound(facts)}, within the tolerance of {tolerance}; it is "
        f"slightly {facts['error']}{_tell_story(facts)}."
    )


def _write_uninformative(facts):
    if facts["evidence"].pvalue > 1 - facts["confidence_level"]:
        start = "Calibrated but uninformative: the probabilities are right on average"
    else:
        start = f"Nearly calibrated but uninformative: {_tell_bound(facts)}"
    return f"{start}, but say no more about a row than the base rate of all rows does."


def _write_inconclusive(facts):
    """That rows are too few to find an error, or to tell whether it is a large one."""
    if facts["evidence"].pvalue > 1 - facts["confidence_level"]:
        return _write_unknown(facts)
    error, chance = facts["evidence"].error, show_pvalue(facts["evidence"].pvalue)
    size = f" and at least {show_low(error.low)} on average, and" if error.low else ", and"
    bound, tolerance = _show_bound_and_tolerance(facts)
    return (
        f"Cannot tell how large the error is: it is more than chance ({chance}){size} "
        f"{bound} cannot be excluded; more than {tolerance}{_tell_tolerated(facts)} counts as "
        f"miscalibrated. It looks {facts['error']}{_tell_story(facts)}."
    )


def _tell_tolerated(facts):
    """Where the tolerance comes from if it is that of a rare label."""
    is_rare = facts["tolerated"] < facts["tolerance"]
    return ", a quarter of what the rarer label is predicted," if is_rare else ""


def _write_unknown(facts):
    n_rows, n_effective = facts["summary"].n_rows, facts["summary"].effective_sample_size
    rows = "1 row is" if n_rows == 1 else f"{n_rows} rows are"
    clusters = facts["summary"].n_clusters
    of_clusters = "" if clusters is None else f" of {clusters} clusters"
    if n_effective < 0.999 * n_rows:
        rows = f"{n_rows} rows{of_clusters}, which count as {n_effective:.0f}, are"
    bound, tolerance = _show_bound_and_tolerance(facts)
    return (
        f"Cannot tell: {rows} too few; no error beyond chance is found "
        f"({show_pvalue(facts['evidence'].pvalue)}), but {_name_probabilities(facts)} may be off "
        f"by up to {bound} on average{_tell_scale(facts)}, and more than {tolerance}"
        f"{_tell_tolerated(facts)} counts as miscalibrated. If the model is calibrated, about "
        f"{facts['n_enough']:,} rows would do."
    )


def _write_wrong(facts):
    """What is wrong, by the respect that the verdict names, what else is clear, and by how much."""
    evidence = facts["evidence"]
    size, kind = evidence.error.size, evidence.error.kind
    low, bound = evidence.error.low, evidence.error.bound
    if _is_about_labels(facts):
        size, kind, low, bound = (
            evidence.worst.size,
            SMOOTH,
            evidence.worst.low,
            evidence.worst.bound,
        )
    return (
        f"{facts['error'].capitalize()}{_tell_story(facts)}; the error is clear, "
        f"{show_error(size)} on average ({kind}; at least {show_low(low)}, at most "
        f"{show_bound(bound)}), and more than chance ({show_pvalue(evidence.pvalue)})."
    )


def _is_about_labels(facts):
    """Whether what is wrong is that of single labels, rather than of the answers."""
    evidence = facts["evidence"]
    if not evidence.finds_classes or facts["error"] != "miscalibrated":
        return False
    return not evidence.finds_answers or bool(evidence.worst.size >= evidence.error.size)


def _tell_story(facts):
    """What is wrong, after its name."""
    if _is_about_labels(facts):
        return _tell_worst_class(facts)
    signs, verdict, story = facts["signs"], facts["error"], ""
    if verdict in _SHIFTED:
        story = f": {_tell_shift(facts)}{_tell_answer(facts)}"
        if abs(signs.spread) > 1:
            story += f"; {_tell_spread(facts)}"
    else:
        story = _tell_spread_or_gap(verdict, facts)
        if facts["summary"].pos_label is not None and abs(signs.bias) > 1:
            side = "over" if signs.bias > 0 else "under"
            label = show_label(facts["summary"].pos_label)
            story += f"; class {label} is {side}-predicted: {_compare_means(facts['summary'])}"
    if facts["evidence"].finds_classes:
        worst = facts["evidence"].worst
        label = show_label(worst.label)
        story += f"; among single labels, {label} is furthest off: {_tell_worst(worst)}"
    return story


def _tell_worst_class(facts):
    evidence = facts["evidence"]
    answers = "" if evidence.finds_answers else "; of its answers no error is shown"
    return (
        " in the probabilities of single labels, most of all that of "
        f"{show_label(evidence.worst.label)}: {_tell_worst(evidence.worst)}{answers}"
    )


def _tell_worst(worst):
    """The means of a label where their difference is most of its error, else this."""
    if abs(worst.mean_prediction - worst.mean_outcome) < MAIN * worst.size:
        return f"{show_error(worst.size)} on average ({SMOOTH})"
    return _compare_means(worst)


def _tell_spread_or_gap(verdict, facts):
    """How confident a model is, by whatever is clear and does not contradict the verdict."""
    signs, side = facts["signs"], _SIDES.get(verdict)
    if is_reversed(facts["direction"], facts["summary"].pos_label):
        return ": outcomes become rarer as predictions rise, as if the labels were swapped"
    region = "" if side else _tell_largest_region(facts)
    if not region and abs(signs.gap) > 1 and side in (None, np.sign(signs.gap)):
        return _tell_gap(facts)
    if not region and abs(signs.spread) > 1:
        return f": {_tell_spread(facts)}"
    return region or _tell_single_slope(facts["direction"]) or _tell_nowhere(facts)


def _tell_single_slope(direction):
    """The slope whose interval excludes 1, where that of the other one does not agree."""
    slopes = {"probabilities": direction.slope, "log odds": direction.log_odds_slope}
    scale, excess = max(
        ((scale, find_excess(slope, 1.0)) for scale, slope in slopes.items()),
        key=lambda found: abs(found[1]),
    )
    slope = slopes[scale]
    if abs(excess) <= 1 or not np.isfinite(slope.estimate):
        return ""
    kind = "too far apart" if excess < 0 else "too close"
    return f": its {scale} are {kind} (slope {show_interval(*slope)}, calibrated 1)"


def _tell_nowhere(facts):
    """That nothing is clear about what is wrong, unless the mean is."""
    is_biased = facts["summary"].pos_label is not None and abs(facts["signs"].bias) > 1
    return "" if is_biased else ", in no direction that the rows make clear"


def _tell_shift(facts):
    label = show_label(facts["summary"].pos_label)
    return f"the probability of {label} is {_compare_means(facts['summary'])}"


def _compare_means(summary):
    predicted, observed = show_percentages(summary.mean_prediction, summary.mean_outcome)
    return f"{predicted} on average, observed {observed}"


def _tell_answer(facts):
    gap = facts["signs"].gap
    if abs(gap) <= 1:
        return ""
    kind = "over-confident" if gap > 0 else "under-confident"
    if facts["usual"] < _USUAL:
        return f"; its answers are {kind}"
    return f", so the usual answer is {kind}"


def _tell_gap(facts):
    gap, accuracy = facts["direction"].overconfidence.estimate, facts["accuracy"]
    expected, observed = show_percentages(accuracy + gap, accuracy)
    answer = "the most probable label"
    if "n_labels" in facts:  # one of several
        answer = "yes or no, whichever is more probable,"
    return (
        f" in its answers: {answer} is right in {'only ' if gap > 0 else ''}"
        f"{observed} of rows, while the model expects {expected}"
    )


def _tell_spread(facts):
    kind = "too extreme" if facts["signs"].spread > 0 else "not extreme enough"
    slope, of_odds = facts["direction"].slope, facts["direction"].log_odds_slope
    if slope is None:  # where one row has nearly all weight
        return f"its probabilities are {kind}"
    if of_odds is not None and _is_farther(of_odds.estimate, slope.estimate):
        change = f"rise by {of_odds.estimate:.2f}" if of_odds.estimate >= 0.005 else "do not rise"
        return f"its probabilities are {kind}: when log odds rise by 1, those of outcomes {change}"
    points = f"{10 * abs(slope.estimate):.1f}"
    verb = "rise" if slope.estimate >= 0 else "fall"
    change = f"{verb} by {points}" if float(points) else "hardly change"
    return f"its probabilities are {kind}: when they rise by 10 points, outcomes {change}"


def _is_farther(slope, other):
    """Whether a slope is much farther from 1 than another one: the scale that shows what is wrong.

    Near 0 and 1 large differences of log odds are small ones of probabilities.
    """
    if min(slope, other) <= 0:
        return False
    return max(slope, 1 / slope) > _MUCH * max(other, 1 / other)


def _tell_largest_region(facts):
    direction = facts["direction"]
    regions = [*direction.too_low, *direction.too_high]
    if not regions:
        return ""
    largest = max(
        regions, key=lambda region: region.share * abs(region.mean_prediction - region.mean_outcome)
    )
    both = ", in places too low and in others too high"
    where = both if direction.too_low and direction.too_high else ""
    return f"{where}: {show_region(largest, facts['summary'].pos_label is None)}"


def write_labels(models):
    """Which of several labels have which verdict, what is wrong first."""
    found = {}
    for name, model in models.items():
        found.setdefault(model.verdict, []).append(name)
    parts = []
    for verdict in sorted(found, key=_ORDER.index):
        names = found[verdict]
        rest = len(names) - _N_NAMES
        more = f" and {rest} more" if rest > 0 else ""
        parts.append(f"{len(names)} {verdict} ({', '.join(names[:_N_NAMES])}{more})")
    return (
        f"Of {len(models)} labels: {'; '.join(parts)}. Tests, bounds and intervals hold for all "
        "labels at once (Bonferroni)."
    )


def write_comparison(comparison):
    """Which models are better calibrated than others, and by how much."""
    order = np.argsort(comparison.adjusted_pvalues, kind="stable")
    order = order[comparison.adjusted_pvalues[order] <= 1 - comparison.confidence_level]
    if not len(order):
        return (
            "No model is shown to be better calibrated than another one "
            f"({show_pvalue(comparison.pvalue)})."
        )
    found = [_tell_pair(comparison, k) for k in order[:_N_PAIRS]]
    rest = len(order) - len(found)
    more = f" Models of {rest} more pairs differ." if rest else ""
    return " ".join(found) + more


def _tell_pair(comparison, k):
    worse, better = comparison.pairs[k]
    gap, ends = comparison.difference[k], (comparison.low[k], comparison.high[k])
    if gap < 0:
        worse, better, gap, ends = better, worse, -gap, (-ends[1], -ends[0])
    low, high = map(show_error, ends)
    return (
        f"{better} is better calibrated than {worse} "
        f"({show_pvalue(comparison.adjusted_pvalues[k])}): its error, {SMOOTH} without chance, is "
        f"lower by {show_error(gap)} ({low} to {high})."
    )


def show_region(region, reads_confidence):
    """In words where outcomes differ from predictions, and by how much."""
    predicted, observed = region.mean_prediction, region.mean_outcome
    place, share = show_places(region.low, region.high), ""
    if region.share < _ALL:
        share = f" ({100 * region.share:.0f} % of rows)" if region.share >= 0.01 else " (few rows)"
    if reads_confidence:
        subject, verb = "answers", "are right {} often than expected"
        kind = "more" if observed > predicted else "less"
    else:
        subject, verb = "outcomes", "are {} than predicted"
        kind = "more frequent" if observed > predicted else "rarer"
    nearest = min(predicted, observed, 1 - predicted, 1 - observed)
    if nearest < _RARE:
        given, found = show_percentages(predicted, observed)
        return f"{place}{share} {subject} {verb.format(kind)}: {found} instead of {given}"
    points = 100 * abs(observed - predicted)
    size = f"{points:.0f}" if points >= 1.5 else f"{points:.1f}"
    unit = "point" if size == "1.0" else "points"
    return f"{place}{share} {subject} {verb.format(f'{size} {unit} {kind}')}"
