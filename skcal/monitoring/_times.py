"""Times of rows: numbers, or dates in nanoseconds of UTC."""

from numbers import Real

import numpy as np
import pandas as pd

from skcal._input._batches._batch_rows import as_array
from skcal._input._validation import check_number
from skcal._tools._words import show_moment

NUMBERS, DATES = "numbers", "dates"


def read_times(time, n_rows):
    """Kind and values of the times of rows, or one time for all; or a ValueError.

    "numbers" are float64, "dates" int64. Both are None without times.
    """
    if time is None:
        return None, None
    values = read_time_values(time)
    if values.ndim > 1 or (values.ndim == 1 and len(values) != n_rows):
        raise ValueError(
            f"time must be one for all rows, or one for each of {n_rows} rows; got shape "
            f"{values.shape}."
        )
    values = np.broadcast_to(values, n_rows)
    return (NUMBERS, values) if values.dtype.kind == "f" else (DATES, values.astype(np.int64))


def read_time_values(time):
    """Times as float64 or datetime64[ns], in the shape in which they came, or a ValueError."""
    try:
        time = as_array(time)
        if np.ma.getmaskarray(time).any():
            raise ValueError("some are masked")
        values = _read_objects(np.asarray(time))
        times = values.astype(np.float64) if values.dtype.kind in "iuf" else _read_dates(values)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"time must hold finite numbers or dates; {error}.") from None
    bad = times[~np.isfinite(times)]  # NaT is none either
    if len(bad):
        raise ValueError(f"time must hold finite numbers or dates; got {bad[0]}.")
    return times


def _read_objects(values):
    """Objects that pandas takes for others: numbers, and periods, which stand for their start."""
    is_number = [isinstance(one, Real) for one in values.flat] if values.dtype == object else []
    if all(is_number):
        return values.astype(np.float64) if is_number else values
    if any(is_number):
        raise ValueError("some are numbers, others are not")
    if values.dtype == object and all(isinstance(one, pd.Period) for one in values.flat):
        starts = [one.to_timestamp() for one in values.flat]
        return np.array(starts, dtype="M8[ns]").reshape(values.shape)
    return values


def _read_dates(values):
    """Dates of any kind that pandas reads, in nanoseconds of UTC."""
    if values.ndim == 0:  # a tenth of the time
        date = pd.Timestamp(values[()] if values.dtype.kind == "M" else values.item())
        date = date if date.tz is None else date.tz_convert(None)
        return np.array(date.as_unit("ns").to_numpy())
    dates = pd.to_datetime(values.reshape(-1), utc=True)
    # Other units may reach farther than nanoseconds, which as_unit refuses.
    return dates.tz_localize(None).as_unit("ns").to_numpy().reshape(values.shape)


def check_order_of_times(kind, times, stream):
    """Raise a ValueError unless times go on where those of the rows before ended."""
    if stream.n_rows and kind != stream.time_kind:
        raise ValueError(
            f"time must be given for all rows or for none, and be {stream.time_kind or 'None'} as "
            f"before; got {kind or 'None'}."
        )
    if times is None:
        return
    last = stream.last_time
    earlier = np.append(times[:1], times[:-1])
    if last is not None:
        earlier[0] = last
    backwards = np.flatnonzero(times < earlier)
    if len(backwards):
        row = backwards[0]
        before = earlier[row]
        raise ValueError(
            "time must not go back, because rows count in the order in which their labels became "
            f"known; got {show_time(kind, times[row])} at row {row} after "
            f"{show_time(kind, before)}."
        )


def make_time(kind, value):
    """A time as the user knows it: a number, a Timestamp of pandas, or None."""
    if kind is None or value is None:
        return None
    return float(value) if kind == NUMBERS else pd.Timestamp(int(value))


def make_times(kind, values):
    """Times as a column of a table."""
    return values if kind == NUMBERS else pd.DatetimeIndex(values.astype("datetime64[ns]"))


def show_time(kind, value):
    """A time in words."""
    return show_moment(make_time(kind, value))


def check_plain_time(name, kind, value):
    """A time from plain data, None where there is none, or a ValueError."""
    if value is None:
        return None
    if kind == DATES:
        if type(value) is not int:
            raise ValueError(f"{name} must be a whole number of nanoseconds; got {value!r}.")
        return value
    return check_number(name, value, -np.inf)
