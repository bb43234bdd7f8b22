"""What a monitor has found, in sentences."""

import numpy as np

from skcal._numerics.monitoring._betting_evidence import log_mean_exp
from skcal._tools._words import show_label, show_percentages, show_places, show_pvalue
from skcal.monitoring._frames import find_detector, find_deviations, find_pvalue, list_edges
from skcal.monitoring._state import MOST_ALARMS
from skcal.monitoring._times import show_time

# What is so, how lines go, of deviations that go on and of those that are over.
_WORDS = {False: ("are", ("rise", "fall")), True: ("were", ("rose", "fell"))}
# Beyond this evidence is written as a power of ten.
_LARGEST_PLAIN = 1e4


def describe_monitor(state, settings, labels, log_level):
    """Some sentences: whether there is an alarm, of what, since when, and how large it is."""
    promise = settings["promise"]
    if state.n_rows == 0:
        return "No rows yet." if promise is None else "No accepted rows yet."
    text = _tell_evidence(state, settings["alpha"], promise)
    if settings["run_length"] is not None:
        unit = "rows" if settings["batch"] == "rows" else "batches"
        text += " " + _tell_change(state, settings["run_length"], unit)
    past, current = find_deviations(state, log_level)
    for deviation in filter(None, (past, current)):
        if promise is None:
            subject = _name_subject(settings, labels, deviation.problem)
            text += " " + _tell_deviation(state, deviation, subject)
        else:
            text += " " + _tell_break(state, deviation, promise["at_most"])
    if current is None and past is not None:
        text += " Since then nothing clear is wrong."
    elif current is None and (state.alarm is not None or state.change_alarms):
        text += " Nothing is left of it: the experts have lost again what they had won."
    return text


def _tell_evidence(state, alpha, promise):
    row, what, watched = "row", "calibration", ""
    if promise is not None:
        row, what = "accepted row", "the promise"
        counts = sum(experts.counts for stream in state.experts for experts in stream)
        watched = f", {_tell_rate(counts, promise['at_most'], '{} of them wrong')}"
    rows, evidence = _count(state.n_rows, row), _show(log_mean_exp(state.log_evidence))
    pvalue, level = show_pvalue(find_pvalue(state)), f"{1 / alpha:.4g}"
    # The p-values of several streams are combined, not their evidence.
    is_single = len(state.log_evidence) == 1
    if state.alarm is None:
        needed = f"{level} would be an alarm" if is_single else f"p = {alpha:g} would be an alarm"
        return (
            f"No alarm in {rows}{watched}: the evidence against {what} is {evidence} now, and "
            f"{needed} ({pvalue})."
        )
    reached = f"the evidence against {what} reached {level}"
    if not is_single:
        reached = f"the p-value of {what} fell to {alpha:g}"
    place = _place(state, *state.alarm)
    return f"Alarm at {row} {place}: {reached}. After {rows} the evidence is {evidence} ({pvalue})."


def _tell_rate(counts, at_most, sentence):
    n_rows, _, wrong = counts.sum(axis=1)
    promised, observed = show_percentages(at_most, wrong / n_rows)
    return f"{sentence.format(observed)} where at most {promised} were promised"


def _name_subject(settings, names, problem):
    """What the predictions are called; `names` are those of the problems if there are several."""
    labels, pos_label = settings["labels"], settings["pos_label"]
    is_binary = pos_label is not None or labels is None or len(labels) == 2
    if settings["reduction"] == "confidence" or (names is None and not is_binary):
        return "the confidences of the answers"
    if names is not None:
        label = names[problem]
    else:
        label = labels[-1] if pos_label is None and labels is not None else pos_label
    return "the probabilities" if label is None else f"the probabilities of {show_label(label)}"


def _tell_change(state, run_length, unit):
    price = f"one false alarm in {run_length:,} {unit}, on average"
    if not state.change_alarms:
        now = _show(find_detector(state))
        either = " either" if state.alarm is None else ""
        return f"No alarm at a change{either}: its detector is at {now} ({price})."
    last = _place(state, *state.change_alarms[-1])
    known = len(state.change_alarms)
    which = "" if known == 1 else f", the last of {known if known < MOST_ALARMS else 'many'}"
    return f"Alarm at a change at row {last}{which} ({price})."


def _tell_break(state, deviation, at_most):
    counts, lag = deviation.rise.within, len(state.experts)
    since = _tell_period(state, deviation.rise, is_over=deviation.is_over)
    rate = _tell_rate(counts, at_most, "{} of the accepted rows were wrong")
    n_rows = _count_part(counts[0].sum(), lag)
    return f"{since} the promise {'was' if deviation.is_over else 'is'} broken: {rate} {n_rows}."


def _count_part(n_rows, lag):
    part = "" if lag == 1 else f", one in {lag}"
    return f"({_count(int(n_rows))}{part})"


def _tell_deviation(state, deviation, subject):
    rise, (are, lines) = deviation.rise, _WORDS[deviation.is_over]
    since = _tell_period(state, rise, is_over=deviation.is_over)
    # Rows that deviate alike explain most of what the expert has gained.
    is_alike = (_standardize(rise.within) ** 2).sum() / 2 >= rise.gain / 4
    n_rows, lag = rise.within[0], len(state.experts)
    if deviation.name == "cell":
        low, high = list_edges(len(n_rows))
        cell = int(np.argmax(np.abs(_standardize(rise.within))))
        place = show_places(low[cell], high[cell])
        gap = _compare(rise.within[:, cell], is_alike)
        return f"{since} {subject} {place} {are} {gap} {_count_part(n_rows[cell], lag)}."
    rows = _count_part(n_rows.sum(), lag)
    gap = _compare(rise.within.sum(axis=1), is_alike)
    if deviation.name == "shift" or not is_alike or _is_shift(rise.within):
        return f"{since} {subject} {are} {gap} {rows}."
    slope = _find_rise(rise.within)
    kind = "too extreme" if slope < 1 else "not extreme enough"
    return (
        f"{since} {subject} {are} {kind}: where they {lines[0]} by 10 points, outcomes "
        f"{lines[0 if slope >= 0 else 1]} by {10 * abs(slope):.1f}; on average they {are} {gap} "
        f"{rows}."
    )


def _tell_period(state, rise, *, is_over):
    """From when until when, or since when."""
    place = _place(state, rise.since, rise.since_time)
    if not is_over:
        return f"Since about row {place}" if rise.since else "Since the start"
    end = f"to about row {_place(state, rise.until, rise.until_time)}"
    return f"From about row {place} {end}" if rise.since else f"From the start {end}"


def _compare(counts, is_alike):
    """On which side predictions are, and what came true."""
    n_rows, predicted, observed = counts
    side = "too high" if predicted > observed else "too low"
    if not is_alike:
        side = "wrong, more for some rows than for others"
    given, seen = show_percentages(predicted / n_rows, observed / n_rows)
    return f"{side}: {seen} came true where {given} were predicted"


def _find_variance(counts):
    """Variance of the number of events in each cell, with one event more than expected."""
    n_rows, predicted, _ = counts
    return predicted * (1 - predicted / np.maximum(n_rows, 1)) + 1


def _standardize(counts):
    """Deviations of cells in standard deviations."""
    return (counts[2] - counts[1]) / np.sqrt(_find_variance(counts))


def _is_shift(counts):
    """Whether a shift of all predictions is clearer than a change of their spread."""
    counts = counts[:, counts[0] > 0]
    variance, gap = _find_variance(counts), counts[2] - counts[1]
    place = counts[1] / counts[0]
    place = place - np.average(place, weights=variance)
    spread = np.sqrt(variance @ place**2)
    return abs(gap.sum()) / np.sqrt(variance.sum()) * spread >= abs(gap @ place)


def _find_rise(counts):
    """Slope of the outcomes over the predictions, from the means of the cells."""
    counts = counts[:, counts[0] > 0]
    weights = counts[0] / counts[0].sum()
    x, y = counts[1] / counts[0], counts[2] / counts[0]
    x = x - weights @ x
    spread = weights @ x**2
    return weights @ (x * y) / spread if spread > 0 else 1.0


def _place(state, row, time):
    """A row and its time."""
    if time is None or state.time_kind is None:
        return f"{row:,}"
    return f"{row:,} ({show_time(state.time_kind, time)})"


def _count(n_rows, name="row"):
    return f"1 {name}" if n_rows == 1 else f"{n_rows:,} {name}s"


def _show(log_value):
    """Evidence in two digits, as a whole number, or as a power of ten."""
    if log_value < np.log(_LARGEST_PLAIN):
        value = np.exp(log_value)
        return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
    return f"10^{log_value / np.log(10):.0f}"
