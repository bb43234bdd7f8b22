"""
Monitor a model in production, day by day
=========================================

A model is well calibrated when it goes into production. After three weeks the data drift: the
predicted events become less and less frequent. Batches of predictions are summarized as they
arrive and then discarded; the summaries, one for each day, are enough for every measure
afterwards.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.dates import DateFormatter
from scipy.special import expit, logit

from skcal.streaming import CalibrationSummary, GroupedSummary

N_DAYS, DRIFT_FROM, BATCHES_A_DAY, BATCH_SIZE = 35, 21, 12, 5_000
rng = np.random.default_rng(0)
days = pd.date_range("2026-03-02", periods=N_DAYS).strftime("%Y-%m-%d")


def read_batches():
    """Yield labels, predictions and days, batch by batch; some rows are a day late."""
    for number in range(N_DAYS * BATCHES_A_DAY):
        late = rng.random(BATCH_SIZE) < 0.1
        day = np.maximum(number // BATCHES_A_DAY - late, 0)
        proba = rng.beta(1.2, 2.0, BATCH_SIZE)
        drift = 0.06 * np.maximum(day - DRIFT_FROM + 1, 0)
        yield rng.random(BATCH_SIZE) < expit(logit(proba) - drift), proba, days[day]


# %%
# A batch updates the summaries of the days of its rows. It does not matter when a row arrives.
monitor = GroupedSummary(n_cells=1024)
for y_true, y_proba, day in read_batches():
    monitor.update(y_true, y_proba, by=day)
print(monitor)

# %%
# Every measure has a value for each day, with a bound on its distance from the measure of the
# discarded rows. The bounds are too small to be seen in the picture below.
table = pd.DataFrame(
    {
        "rows": {day: summary.n_samples_ for day, summary in monitor.items()},
        "smooth_ece": monitor.measure("smooth_ece"),
        "bound": monitor.error_bound("smooth_ece"),
    }
).sort_index()
print(table.iloc[::5].to_string(float_format="{:.1e}".format))

# %%
# Summaries of days add up to those of weeks.
weeks = {
    f"week {week + 1}": CalibrationSummary(n_cells=1024).merge(
        *(monitor[day] for day in days[7 * week : 7 * week + 7])
    )
    for week in (0, 4)
}


def average_in_bins(summary, n_bins=16):
    """Mean prediction and mean outcome in bins that are made up of whole cells."""
    cells = summary.to_frame()
    sums = pd.DataFrame(
        {
            "weight": cells["weight"],
            "prediction": cells["weight"] * cells["mean_prediction"],
            "outcome": cells["weight"] * cells["mean_outcome"],
        }
    )
    sums = sums.groupby((cells["low"] * n_bins).astype(int)).sum()
    return sums["prediction"] / sums["weight"], sums["outcome"] / sums["weight"]


# %%
# No day of the first three weeks stands out. From then on the error grows day by day, and the
# curve of the last week shows why: the predicted probabilities are too high.
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
left.errorbar(
    pd.to_datetime(table.index), table["smooth_ece"], yerr=table["bound"], color="C0", marker="o"
)
usual = table["smooth_ece"].iloc[:14].max()
left.axhline(usual, color="0.4", linestyle="--", label="worst day of the first two weeks")
left.axvline(
    pd.Timestamp(days[DRIFT_FROM]), color="0.4", linestyle=":", label="the world begins to change"
)
left.set(ylabel="SmoothECE", title="By day")
left.set_ylim(bottom=0)
left.set_xticks(pd.to_datetime(days[::7]))
left.xaxis.set_major_formatter(DateFormatter("%d %b"))
left.legend(loc="upper left")

right.plot([0, 1], [0, 1], color="0.4", linestyle="--", label="perfectly calibrated")
for (name, summary), marker in zip(weeks.items(), "os", strict=True):
    right.plot(*average_in_bins(summary), marker=marker, label=name)
right.set(xlabel="mean prediction", ylabel="frequency of the outcome", title="By prediction")
right.set_aspect("equal")
right.legend()
figure.savefig("streaming_monitor.png", dpi=150)
print("The picture is in streaming_monitor.png.")
