"""Ends of messages: which name was meant, and what numbers are that are no probabilities.

Of numbers the whole array is looked at, and what fits it by chance as well gets no advice.
"""

import re
from difflib import get_close_matches

import numpy as np

# What others call the source of random numbers, which is `random_state` here.
_GENERATORS = ("rng", "seed", "generator")
# Other words for names; what a function does not have of these is not guessed at.
_ALSO_CALLED = {
    **dict.fromkeys(("sigmoid", "logistic", "logistic_regression"), ("platt",)),
    "default": ("auto", "omnibus"),
    "smece": ("smooth_ece", "neg_smooth_ece"),
    **dict.fromkeys(_GENERATORS, ("random_state",)),
}
# Rows that belong together, which are easily taken for rows that are tested apart.
_ROWS_OF_A_SET = " Rows that belong together are given as clusters."
_SETS_OF_ROWS = ("groups", "strata")

# Probabilities may miss [0, 1], and rows a sum of 1, by this much after coarse rounding, such as
# that of bfloat16 to 8 bits.
COARSE_ROUNDING = 0.02
# Per cent reach further than odds and negative logarithms of probabilities mostly do, and half of
# them are at least this large.
_LARGE_PERCENTAGE, _TYPICAL_PERCENTAGE = 20, 5
# Logits lie outside of [0, 1] in this share of values at least, and this far. Fewer are slips, and
# nearer ones come from a linear regression.
_LEAST_SHARE, _LEAST_REACH = 0.25, 0.5


def advise_on_range(name, values, kind):
    """What numbers outside of [0, 1] may be, by their `kind`.

    "vectors" should have sums of 1, "single" are probabilities of one label in each column,
    "outcomes" say whether labels came true, and None stands for any other numbers in [0, 1].
    """
    is_missing = np.isnan(values)
    values = values[~(is_missing.any(axis=1) if values.ndim == 2 else is_missing)]
    outside = values[(values < 0) | (values > 1)]
    if not len(outside):
        return ""
    codes = np.unique(outside)
    is_whole = (outside == np.rint(outside)).all() and np.isfinite(outside).all()
    if is_whole and set(np.unique(values)) == {-1, 1}:
        remedy = f"{name} > 0" if kind == "outcomes" else "the probabilities of predict_proba"
        return f" These are labels, -1 and 1; pass {remedy}."
    if is_whole and len(codes) == 1 and 2 * len(outside) < values.size:
        return f" If {codes[0]:g} stands for a missing value, leave out its rows."
    advice = _advise_on_vectors(name, values) if kind == "vectors" else ""
    return advice or _advise_on_values(name, values, kind, is_whole)


def _advise_on_vectors(name, values):
    """The same of rows that show by their sums what they are."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        sums = values.sum(axis=1)
        if values.shape[1] == 2 and any(np.allclose(sums, s, atol=1e-4) for s in (0, 1)):
            return (
                f" Is the second column a margin? Of log-odds pass scipy.special.expit({name}[:, "
                "1])."
            )
        if (values <= 0).all() and _are_one(np.exp(values)):
            return f" These are logarithms of probabilities; pass numpy.exp({name})."
        if (values >= 0).all():
            for made, remedy in (
                (np.exp(-values), f"numpy.exp(-{name})"),
                (values / 100, f"{name} / 100"),
                (values / (1 + values), f"{name} / (1 + {name})"),
            ):
                if _are_one(made):
                    return f" The rows sum to 1 in {remedy}."
    return ""


def _are_one(values):
    return (np.abs(values.sum(axis=1) - 1) <= COARSE_ROUNDING).all()


def _advise_on_values(name, values, kind, is_whole):
    """The same by the range of all values."""
    low, high = values.min(), values.max()
    is_percentage = _LARGE_PERCENTAGE < high <= 100 and np.median(values) >= _TYPICAL_PERCENTAGE
    if low >= 0 and is_percentage and kind != "vectors":
        return f" Are these per cent? Pass {name} / 100."
    if is_whole and (values == np.rint(values)).all():
        return " These are whole numbers, as labels and codes are."
    if kind not in ("vectors", "single") or low >= 0:
        return ""
    link = f"softmax({name}, axis=1)" if kind == "vectors" else f"expit({name})"
    if high <= 0 and kind == "single":
        return (
            f" Of logarithms of probabilities pass numpy.exp({name}), of log-odds "
            f"scipy.special.{link}."
        )
    is_far = max(-low, high - 1) > _LEAST_REACH
    if is_far and ((values < 0) | (values > 1)).mean() >= _LEAST_SHARE:
        return f" Are these logits? Pass scipy.special.{link}."
    return ""


def advise_on_sums(name, values):
    """What rows of numbers in [0, 1] with other sums than 1 may be."""
    if (np.abs(values.sum(axis=0) - 1) <= COARSE_ROUNDING).all():
        return " The columns sum to 1: take the softmax over axis=1."
    models = (
        f" Columns of several models are measured one at a time, as {name}[:, k]; functions that "
        "compare models take a dictionary of them, by name."
    )
    if values.shape[1] == 2:
        return models
    return (
        " Of a model that rates every class apart (one-vs-rest, LightGBM's multiclassova) pass "
        f"{name} / {name}.sum(axis=1, keepdims=True).{models}"
    )


# --------------------------------------------------------------------------- names


def suggest_name(name, valid):
    """End of a message: which of the valid names may have been meant."""
    if not isinstance(name, str):
        return ""
    if name in _SETS_OF_ROWS and "clusters" in valid:
        return _ROWS_OF_A_SET
    short = re.sub(r"(?<=[a-z])(?=[A-Z])|[ -]+", "_", name).lower().removeprefix("neg_")
    if short in _ALSO_CALLED:
        near = [v for v in _ALSO_CALLED[short] if v in valid]
    else:
        near = (
            [v for v in valid if _abbreviate(v) == short]
            or [v for v in valid if short.startswith(f"{v}_")]
            or [v for v in valid if len(short) > 2 and v.startswith(short)]
            or _list_close(name.removeprefix("neg_"), valid)
        )
    return f" Did you mean {near[0]!r}?" if near else ""


def _list_close(name, valid):
    """The name that is spelled most alike, if any is; all measures end alike."""
    known = {v.removeprefix("neg_"): v for v in valid}
    return [known[v] for v in get_close_matches(name, known, n=1, cutoff=0.7)]


def _abbreviate(name):
    """What papers call a measure: "ece" is the expected calibration error."""
    return "".join(word[:1] for word in name.removeprefix("neg_").split("_"))
