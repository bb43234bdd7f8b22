"""Predicted risks of rows at several times, as an estimator reads them."""

import numpy as np
from sklearn.utils.validation import validate_data

from skcal._input._censored_times import check_course, read_causes, read_outcomes
from skcal._input._validation import check_unit_range
from skcal._tools._arrays import read_scores

# What single precision may change of a sum.
_ROUNDING = 1e-6


def read_risk_columns(owner, X, n_kinds, n_times, reset):
    """Risks of shape (n_samples, n_kinds, n_times) from columns that are ordered by kind."""
    X = read_scores(X)[0]
    _refuse_several_axes(X, n_kinds, n_times)
    X = validate_data(owner, X, reset=reset, dtype=np.float64, ensure_all_finite=False)
    if X.shape[1] != n_kinds * n_times:
        by_kind = f" for each of {n_kinds} kinds of events" if n_kinds > 1 else ""
        raise ValueError(
            f"X must have a column for each of the {n_times} times{by_kind}; got {X.shape[1]} "
            "feature(s)."
        )
    risks = check_unit_range("X", X).reshape(len(X), n_kinds, n_times)
    total = risks.sum(axis=1).max(axis=1)
    if (total > 1 + _ROUNDING).any():
        row = total.argmax()
        raise ValueError(
            f"X must hold risks whose sum over kinds of events is at most 1; got {total[row]:.4g} "
            f"at row {row}."
        )
    return risks


def _refuse_several_axes(X, n_kinds, n_times):
    """Raise a ValueError for an array of three axes that says how to make columns of it."""
    if len(getattr(X, "shape", ())) != 3:
        return
    made = {
        (n_kinds, n_times): "X.reshape(len(X), -1)",
        (n_times, n_kinds): "X.transpose(0, 2, 1).reshape(len(X), -1)",
    }.get(X.shape[1:])
    raise ValueError(
        "X must have two dimensions, with a column for each time, by kind of event; got shape "
        f"{X.shape}.{'' if made is None else f' Pass {made}.'}"
    )


def refuse_survival(risks):
    """Raise a ValueError for risks whose mean falls over time, which survival probabilities do."""
    need, advice = (
        "X must hold probabilities of the event",
        "For survival probabilities S pass 1 - S.",
    )
    for kind in range(risks.shape[1]):
        check_course(need, risks[:, kind], advice)


def read_kinds(y, causes):
    """Whether rows have an event, whether it is of each kind, and times."""
    event, time = read_outcomes(y)
    if causes is None:
        is_event, is_kind, time = read_causes(event, time, None, None)
        return is_event, [is_kind], time
    parts = [read_causes(event, time, cause, 0) for cause in causes]
    return parts[0][0], [is_kind for _, is_kind, _ in parts], parts[0][2]
