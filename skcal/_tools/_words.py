"""Numbers, labels and times in sentences."""

from numbers import Real

import numpy as np

from skcal._tools._least_pvalue import LeastPValue

# A p-value up to this one is called more than chance.
SIGNIFICANT = 0.05
_STATISTICS = {
    "smooth_ece": "SmoothECE",
    "omnibus": "Omnibus statistic",
    "pit_calibration_error": "PIT calibration error",
}
_LONGEST_LABEL = 24
# Distances from 0 or 1 below this are shown as powers of ten.
_TINY = 1e-4
# Whole numbers below this are shown with all digits, such as Unix times in nanoseconds.
_LARGEST_WHOLE = 1e21


def show_label(label):
    """A label as Python shows it, cut if it is long."""
    text = repr(label)
    return text if len(text) <= _LONGEST_LABEL else text[: _LONGEST_LABEL - 3] + "..."


def show_kind(value):
    """The type of a value with its article."""
    name = type(value).__name__
    return f"an {name}" if name[0] in "aeioAEIO" else f"a {name}"


def show_moment(time):
    """A time, which is a number with all of its digits, or a Timestamp with its hour if any."""
    if not isinstance(time, Real):
        return time.strftime("%Y-%m-%d" if time == time.normalize() else "%Y-%m-%d %H:%M")
    time = float(time)
    is_whole = time.is_integer() and abs(time) < _LARGEST_WHOLE
    return str(int(time)) if is_whole else repr(time)


def show_error(value):
    """A number with three decimals, or two digits if it is small."""
    return f"{value:.3f}" if value >= 0.01 or value == 0 else f"{value:.2g}"


def show_bound(value):
    """The same of an upper bound, which is never rounded down."""
    shown = show_error(value)
    if float(shown) < value:
        digits = 3 if value >= 0.01 else 1 - int(np.floor(np.log10(value)))
        shown = show_error(value + 10.0**-digits / 2)
    return shown


def show_bound_and_limit(bound, limit):
    """An upper bound and a limit, with decimals enough that the larger one looks larger."""
    shown, decimals = (show_bound(bound), show_error(limit)), 3
    while (float(shown[0]) > float(shown[1])) != (bound > limit) and decimals < 9:
        decimals += 1
        up = 10.0**-decimals / 2
        shown = f"{bound + up:.{decimals}f}", f"{limit:.{decimals}f}"
    return shown


def show_low(value):
    """The same of a lower bound, which is never rounded up."""
    shown = show_error(value)
    if float(shown) > value:
        digits = 3 if value >= 0.01 else 1 - int(np.floor(np.log10(value)))
        shown = show_error(max(value - 10.0**-digits / 2, 0.0))
    return shown


def show_pvalue(pvalue):
    """A p-value, as in "p = 0.02", or "p <= 0.002" where the draws let it be no smaller."""
    if pvalue < 0.001:
        return "p < 0.001"
    sign = "="
    if isinstance(pvalue, LeastPValue):  # a bound, which is never rounded down
        sign, unit = "<=", 10.0 ** min(np.floor(np.log10(pvalue)) - 1, -2)
        pvalue = np.ceil(pvalue / unit - 1e-6) * unit
    return f"p {sign} {pvalue:.2f}" if pvalue >= 0.1 else f"p {sign} {pvalue:.2g}"


def name_statistic(statistic):
    """The name of a measure, or of a function, in words."""
    name = statistic if isinstance(statistic, str) else getattr(statistic, "__name__", "<unknown>")
    if name.startswith("<"):  # such as that of a lambda
        return "Statistic"
    words = name.replace("_", " ").strip()
    return _STATISTICS.get(name, words[:1].upper() + words[1:])


def show_test(name, statistic, pvalue, hypothesis, null_mean=None):
    """What a test finds at 5 %, by the name of its statistic and what chance gives if it holds."""
    kind = "more" if pvalue <= SIGNIFICANT else "no more"
    extreme = " extreme" if statistic < 0 else ""
    chance = "" if null_mean is None else f", {null_mean:.3g} on average"
    return (
        f"{name} {statistic:.3g}: {kind}{extreme} than {hypothesis} show by chance{chance} "
        f"({show_pvalue(pvalue)})"
    )


def show_interval(estimate, low, high):
    """An estimate and its interval, in decimals that show the width in two digits."""
    estimate, low, high = show_within(low, high, estimate, low, high)
    return f"{estimate} ({low} to {high})"


def show_within(low, high, *values):
    """Values in decimals that show the width of an interval in two digits."""
    low, high, *values = map(float, (low, high, *values))
    digits = ".3g"
    if 0 < high - low < np.inf:
        digits = f"z.{int(np.clip(1 - np.floor(np.log10(high - low)), 0, 17))}f"
    return [f"{value:{digits}}" for value in values]


def show_percentages(*values):
    """Percentages with enough decimals to tell them apart."""
    difference = 100 * (max(values) - min(values))
    decimals = 1
    if 0 < difference < 1:
        # More than two only next to 0 % and 100 %.
        most = 2 if min(values) > 0.01 and max(values) < 0.99 else 4
        decimals = int(min(-np.floor(np.log10(difference)), most))
    return tuple(f"{100 * value:.{decimals}f} %" for value in values)


def show_places(low, high):
    """The range of predictions of a region, with decimals that tell its ends apart."""
    if low == high and low in (0, 1):
        return f"at {low:g}"
    decimals = 2 if high - low >= 0.02 else 4
    first, last = (_show_place(value, decimals) for value in (low, high))
    return f"at {first}" if first == last else f"between {first} and {last}"


def _show_place(value, decimals):
    """A prediction; one near 0 or 1 is not shown as 0 or 1, whose rows are others."""
    distance = min(value, 1 - value)
    if 0 < distance < _TINY:
        return f"{value:.0e}" if value < 0.5 else f"1 - {distance:.0e}"
    if 0 < distance < 10.0**-decimals:
        decimals = int(np.ceil(-np.log10(distance)))
    return f"{value:.{decimals}f}"


def round_up(number):
    """A whole number of two digits and zeros, not below `number`."""
    unit = 10 ** max(int(np.floor(np.log10(number))) - 1, 0)
    return int(np.ceil(number / unit - 1e-9)) * unit


def show_band(predictions, is_inside, confidence_level, where="at all points at once"):
    """Where a band has no room for a calibrated model, and how many of its points say so."""
    level, outside = f"{100 * confidence_level:g} % {where}", predictions[~is_inside]
    if not len(outside):
        return f"The band of {level} excludes a calibrated model nowhere"
    place = show_places(float(outside[0]), float(outside[-1]))
    return (
        f"The band of {level} excludes a calibrated model in {len(outside)} of {len(predictions)}, "
        f"{place}"
    )


def show_threshold(threshold):
    """A probability in a few digits, more of them near 0 and 1."""
    distance = min(threshold, 1 - threshold)
    decimals = 4 if distance <= 0 else max(4, 2 - int(np.floor(np.log10(distance))))
    return f"{threshold:.{min(decimals, 17)}f}".rstrip("0").rstrip(".")


def show_count(number, noun):
    """A number of things, such as "1 row" and "200 rows"."""
    return f"{number:.0f} {noun}{'' if round(number) == 1 else 's'}"
