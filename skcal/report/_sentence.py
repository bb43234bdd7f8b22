"""The verdict in a sentence that needs no other line of the report."""

import numpy as np

# Of the tolerated error: what is clear but smaller than this is called small.
_SMALL = 1 / 3
# A predicted label is the usual one if it is that of this share of the rows.
_USUAL = 0.9
LONGEST_LABEL = 24


def write_sentence(verdict, facts):
    """One sentence for a newcomer.

    Parameters
    ----------
    verdict : str
    facts : dict
        `summary` (SampleSummary), `test`, `signs`, `direction`, `size`, `bound`, `tolerated`,
        `tolerance`, `confidence_level`, and what `Problem.describe_accuracy` finds.
    """
    writers = {
        "calibrated": _write_calibrated,
        "uninformative": _write_uninformative,
        "inconclusive": _write_inconclusive,
    }
    return writers.get(verdict, _write_wrong)(verdict, facts)


def _write_calibrated(_, facts):
    return (
        "Calibrated: no error beyond chance is found "
        f"({show_pvalue(facts['test'].pvalue)}), and on average the probabilities are off by "
        f"{show_error(facts['bound'])} at most."
    )


def _write_uninformative(_, facts):
    return (
        "Calibrated but uninformative: the probabilities are right on average, but say no more "
        "about a row than the base rate of all rows does."
    )


def _write_inconclusive(_, facts):
    n_rows = facts["summary"].n_rows
    rows = "1 row is" if n_rows == 1 else f"{n_rows} rows are"
    is_rare = facts["tolerated"] < facts["tolerance"]
    rarer = ", the share that the rarer label is predicted," if is_rare else ""
    return (
        f"Cannot tell: {rows} too few; no error beyond chance is found "
        f"({show_pvalue(facts['test'].pvalue)}), but the probabilities may be off by up to "
        f"{show_error(facts['bound'])} on average, and more than "
        f"{show_error(facts['tolerated'])}{rarer} counts as miscalibrated."
    )


def _write_wrong(verdict, facts):
    """What is wrong, by the respect in which it shows best; and by how much."""
    signs = facts["signs"]
    has_bias = facts["summary"].pos_label is not None and abs(signs.bias) > 1
    if abs(signs.gap) > 1:
        story = _tell_gap(facts)
    elif abs(signs.spread) > 1:
        story = _tell_spread(facts)
    else:
        story = ", in no direction that the rows make clear"
    # A gap is the bias itself where all rows are given the same answer.
    strongest = max(abs(signs.gap), abs(signs.spread)) * (1 - 1e-9)
    if has_bias and verdict == "miscalibrated" and abs(signs.bias) >= strongest:
        story = f" because {_tell_bias(facts)}{_tell_answer(facts)}"
    elif has_bias:
        story = f"{story}, and {_tell_bias(facts)}"
    size = "clear but small" if facts["size"] < _SMALL * facts["tolerated"] else "clear"
    return (
        f"{verdict.capitalize()}{story}; the error is {size}, "
        f"{show_error(facts['size'])} on average, and more than chance "
        f"({show_pvalue(facts['test'].pvalue)})."
    )


def _tell_bias(facts):
    summary = facts["summary"]
    where = "high" if facts["signs"].bias > 0 else "low"
    predicted, observed = show_percentages(summary.mean_prediction, summary.mean_outcome)
    return (
        f"the probability of {show_label(summary.pos_label)} is too {where}: "
        f"{predicted} on average, where it comes true in {observed} of rows"
    )


def _tell_answer(facts):
    gap = facts["signs"].gap
    if facts["usual"] < _USUAL or abs(gap) <= 1:
        return ""
    return f", so the usual answer deserves {'less' if gap > 0 else 'more'} confidence"


def _tell_gap(facts):
    gap, accuracy = facts["direction"].overconfidence.estimate, facts["accuracy"]
    expected, observed = show_percentages(accuracy + gap, accuracy)
    return (
        f" in its answers: the most probable label is right in {'only ' if gap > 0 else ''}"
        f"{observed} of rows, where the model expects {expected}"
    )


def _tell_spread(facts):
    kind = "too extreme" if facts["signs"].spread > 0 else "not extreme enough"
    slope = facts["direction"].slope.estimate
    return (
        f" because its probabilities are {kind}: where they rise by 10 points, outcomes rise "
        f"by {10 * slope:.1f}"
    )


# --------------------------------------------------------------------------- words and numbers


def show_label(label):
    """A label as Python shows it, cut if it is long."""
    text = repr(label)
    return text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 3] + "..."


def show_error(value):
    """A number with two digits, or three decimals."""
    return f"{value:.3f}" if value >= 0.01 or value == 0 else f"{value:.1g}"


def show_pvalue(pvalue):
    """A p-value, as in "p = 0.02"."""
    if pvalue < 0.001:
        return "p < 0.001"
    return f"p = {pvalue:.2f}" if pvalue >= 0.1 else f"p = {pvalue:.2g}"


def show_percentages(*values):
    """Percentages with enough decimals to tell them apart."""
    difference = 100 * (max(values) - min(values))
    decimals = 1
    if 0 < difference < 1:
        # More than two only next to 0 % and 100 %.
        most = 2 if min(values) > 0.01 and max(values) < 0.99 else 4
        decimals = int(min(-np.floor(np.log10(difference)), most))
    return tuple(f"{100 * value:.{decimals}f} %" for value in values)
