"""What is promised of the rows that are accepted, and which rows these are."""

from collections.abc import Mapping

import numpy as np

from skcal._input._advice import suggest_name
from skcal._input._validation import check_inside, check_number, check_option

_NAMES = ("threshold", "at_most", "side")


def check_promise(promise, reduction, labels, pos_label):
    """A promise as a dict of threshold, at_most and side, None without one, or a ValueError.

    The other arguments are settings that were checked.
    """
    if promise is None:
        return None
    given = _read_promise(promise)
    at_most = check_inside("at_most of promise", given["at_most"])
    threshold = check_number(
        "threshold of promise", given["threshold"], -np.inf, allow_infinity=True
    )
    if np.isinf(threshold):
        raise ValueError(
            f"promise must be feasible, or no row is accepted; got a threshold of {threshold}."
        )
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold of promise must lie in [0, 1]; got {threshold}.")
    side = given.get("side", "above")
    check_option("side of promise", side, ("above", "below"))
    if reduction == "classwise":
        raise ValueError(
            "reduction must be 'auto' or 'confidence' with a promise, whose threshold applies to "
            "one prediction per row; got 'classwise'. Name a label with pos_label."
        )
    is_multiclass = labels is not None and len(labels) > 2 and pos_label is None
    if side != "above" and (reduction == "confidence" or is_multiclass):
        raise ValueError(
            "side of promise must be 'above' for a confidence; name the label whose probability is "
            f"meant with pos_label. Got {side!r}."
        )
    return {"threshold": threshold, "at_most": at_most, "side": side}


def _read_promise(promise):
    """A `CertifiedThreshold`, whose room is above this one, or a mapping, as a mapping."""
    given = promise._asdict() if hasattr(promise, "_asdict") else promise
    if not isinstance(given, Mapping):
        raise ValueError(
            "promise must be what certified_threshold returned, or a dict of threshold and "
            f"at_most; got {promise!r}."
        )
    parts = given.get("parts", given)
    if any(isinstance(value, Mapping) or hasattr(value, "threshold") for value in parts.values()):
        raise ValueError(
            "promise must be a single one; make one monitor for each, and update all of them. Got "
            f"those of {', '.join(map(repr, parts))}."
        )
    if given.get("kind", "error") != "error":
        raise ValueError(
            "promise must be one of the error rate of accepted rows, which are all that a monitor "
            f"looks at, and of their labels alone; got one of kind {given['kind']!r}."
        )
    unknown = [] if "kind" in given else [name for name in given if name not in _NAMES]
    if unknown or not {"threshold", "at_most"} <= given.keys():
        hint = suggest_name(unknown[0], _NAMES) if unknown else ""
        raise ValueError(
            "promise must have threshold and at_most, and may have side; got "
            f"{', '.join(map(repr, given)) or 'nothing'}.{hint}"
        )
    return given


def accept_rows(promise, predictions, outcomes):
    """Which rows are accepted, the promised bound for each of these, and whether it is wrong.

    Predictions have the type that they came in: the threshold, a number of Python, is rounded to
    it, so that it accepts what it was found on.
    """
    is_above = promise["side"] == "above"
    threshold = promise["threshold"]
    accepted = np.asarray(predictions >= threshold if is_above else predictions <= threshold)
    outcomes = outcomes[accepted]
    bound = np.full(len(outcomes), promise["at_most"])
    return accepted, bound, 1 - outcomes if is_above else outcomes
