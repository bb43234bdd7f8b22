"""Arguments of monitors: which are refused, and the rows that they take in."""

import numpy as np

from skcal._input._batches._batch_rows import list_samples
from skcal._input._validation import refuse_unknown_options
from skcal.monitoring._promise import accept_rows
from skcal.monitoring._times import check_order_of_times, read_times


def refuse_options(name, unknown):
    """Raise a TypeError for arguments that a method does not have, with the reason for weights."""
    if "sample_weight" in unknown:
        raise TypeError(
            "Monitors have no sample_weight: a row of weight 2 would be two rows with the same "
            "label, which are not independent, so that false alarms would be more frequent than "
            "alpha. Leave the weights out, or feed rows that were drawn with them."
        )
    refuse_unknown_options(name, unknown, ["time"])


def check_given(**columns):
    """Raise a ValueError for rows that are None, as those of a read that failed."""
    for name, values in columns.items():
        if values is None:
            raise ValueError(f"{name} must hold the rows; got None. For no rows pass empty lists.")


def read_rows(y_true, y_proba, time, settings, stream):
    """Rows that follow those of a stream, as far as they count; there may be none.

    Returns predictions and outcomes of each binary problem, times, the negative label, see
    `agree_on_negative`, and the kind of times.
    """
    samples, n_rows, negative = list_samples(y_true, y_proba, None, settings, stream.negative)
    problems = [_read_sample(sample) for _, sample in samples]
    kind, times = read_times(time, n_rows)
    check_order_of_times(kind, times, stream)
    if settings["promise"] is not None:
        ((_, sample),), ((_, outcomes),) = samples, problems
        accepted, *problem = accept_rows(settings["promise"], sample.predictions, outcomes)
        problems, times = [problem], None if times is None else times[accepted]
    return problems, times, negative, kind


def _read_sample(sample):
    """Predictions and outcomes of a binary problem as float64, or a ValueError for soft labels."""
    predictions = np.array(sample.predictions, dtype=np.float64)  # which may wait: a copy
    outcomes = np.array(sample.outcomes, dtype=np.float64)
    soft = (outcomes != 0) & (outcomes != 1)
    if soft.any():
        row = int(soft.argmax())
        raise ValueError(
            "y_true must hold hard labels, which settle the bets of a monitor; "
            f"got the soft label {outcomes[row]:g} at row {row}."
        )
    return predictions, outcomes
