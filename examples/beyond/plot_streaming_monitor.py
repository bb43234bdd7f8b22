"""
Monitor a model in production, day by day
=========================================

A model is well calibrated when it goes into production. After three weeks its customers begin to
change, slowly: the predicted events become less and less frequent. Every day somebody looks at the
labels that became known. When is there reason to worry?
"""

import json
import textwrap

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from skcal.diagrams import MonitorDisplay
from skcal.inference import spiegelhalter_test
from skcal.monitoring import CalibrationMonitor

N_DAYS, DRIFT_FROM, ROWS_A_DAY = 48, 21, 500
DAYS = pd.date_range("2026-03-02", periods=N_DAYS)


def read_days(rng, drift):
    """Yield the labels that became known on each day, and what had been predicted."""
    for day in range(N_DAYS):
        proba = rng.beta(1.2, 2.0, ROWS_A_DAY)
        change = drift * max(day - DRIFT_FROM, 0)
        yield rng.random(ROWS_A_DAY) < expit(logit(proba) - change), proba


# %%
# A test that is repeated every day loses its level. Here is how many of 100 models that stay
# calibrated on all 48 days are rejected on some day at the 5 % level, by the rows of that day, or
# by all rows so far. You may look at the monitor every day: it raises a false alarm for at most one
# model in twenty.
accused = {"rows of the day": 0, "all rows so far": 0, "monitor": 0}
for seed in range(100):
    stream = list(read_days(np.random.default_rng(seed), drift=0))
    y_true, y_proba = map(np.concatenate, zip(*stream, strict=True))
    ends = ROWS_A_DAY * np.arange(1, N_DAYS + 1)
    of_days = [spiegelhalter_test(*rows).pvalue for rows in stream]
    so_far = [spiegelhalter_test(y_true[:end], y_proba[:end]).pvalue for end in ends]
    accused["rows of the day"] += min(of_days) <= 0.05
    accused["all rows so far"] += min(so_far) <= 0.05
    accused["monitor"] += CalibrationMonitor().update(y_true, y_proba).alarm_ is not None
for name, count in accused.items():
    print(f"{name:16s} {count} %")

# %%
# The job of a day reads the monitor of the day before, updates it with the labels that became
# known, and writes it again: less than 100 kB, however many rows there were. ``run_length`` asks
# for an alarm at changes too, here with a false one in ten years, on average. It is the quicker
# one after many calm days, and is raised again as long as the model is wrong; we read the first.
TEN_YEARS = 10 * 365 * ROWS_A_DAY
saved = json.dumps(CalibrationMonitor(run_length=TEN_YEARS).to_dict())
for day, (y_true, y_proba) in zip(DAYS, read_days(np.random.default_rng(0), 0.02), strict=True):
    monitor = CalibrationMonitor.from_dict(json.loads(saved))
    monitor.update(y_true, y_proba, time=day)
    saved = json.dumps(monitor.to_dict())
    first_change = monitor.change_alarms_["time"].min()
    if day in (first_change, monitor.alarm_time_):
        print(textwrap.fill(f"{day:%d %B}: {monitor.describe()}", width=95), end="\n\n")

# %%
# The evidence falls while nothing is wrong, because bets on nothing are lost, and grows
# exponentially from the change on. The detector below it starts anew after each of its alarms. On
# the right are the rows before and after the estimated change.
display = MonitorDisplay.from_monitor(monitor)
left = display.axes_[0]
left.axvline(DAYS[DRIFT_FROM], color="0.7", label="Customers begin to change", zorder=0)
left.legend(
    loc="upper center", bbox_to_anchor=(0.5, -0.02), ncols=2, fontsize="small", frameon=False
)
display.figure_.savefig("streaming_monitor.png", dpi=150)
print("The picture is in streaming_monitor.png.")
