"""Levels of the tests of all times where curves are known on a grid.

    python benchmarks/bench_survival.py    # three minutes

How many of 1000 samples of 1000 rows a test rejects at 5 % although the model is right: with the
curves themselves / with steps, which keep the value of the last time of the grid / with
`survival_at`. The last test is `d_calibration`.

Times are Weibull, with hazards that fall or rise, or log-normal. Rows are followed up to time 4 at
most, where the grid ends; its times are equally far apart, or have as many events between them.
"""

import sys
import warnings
from itertools import product

import numpy as np
from scipy.stats import norm
from timing import print_table, show_progress

from skcal.survival import a_calibration, d_calibration, martingale_test, survival_at

N_ROWS, LAST = 1000, 4.0
POWERS = {"hazards fall": 0.7, "hazards rise": 1.4}
GRIDS = (10, "times"), (10, "events"), (20, "times")
HEADER = ["model", "grid", "``martingale_test``", "``a_calibration``", "``randomized=True``"]


def predict(name, rate, t):
    """Survival probabilities."""
    if name in POWERS:
        return np.exp(-rate * t ** POWERS[name])
    return norm.sf((np.log(t) - 1 + 2 * rate) / 0.8)


def draw(rng, name):
    """Rates, events and times."""
    rate = rng.uniform(0.1, 0.6, N_ROWS)
    if name in POWERS:
        time = (rng.exponential(size=N_ROWS) / rate) ** (1 / POWERS[name])
    else:
        time = np.exp(1 - 2 * rate + 0.8 * rng.normal(size=N_ROWS))
    end = np.minimum(rng.exponential(4, size=N_ROWS), LAST)
    return rate, time <= end, np.minimum(time, end)


def try_sample(rng, name, n_times, kind):
    """Whether each of three tests rejects, with each of three ways to read curves."""
    rate, event, seen = draw(rng, name)
    shares = np.arange(1, n_times + 1) / n_times
    grid = LAST * shares if kind == "times" else np.append(np.quantile(seen[event], shares), LAST)
    table = predict(name, rate[:, None], grid)
    whole = np.insert(table, 0, 1.0, axis=1)
    steps = whole[np.arange(N_ROWS), np.searchsorted(grid, seen, side="right")]
    found = []
    for survival in (predict(name, rate, seen), steps, survival_at(seen, table, times=grid)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of steps
            tests = (
                martingale_test(event, survival),
                a_calibration(event, survival, random_state=rng),
                d_calibration(event, survival, randomized=True, random_state=rng),
            )
        found.append([test.pvalue <= 0.05 for test in tests])
    return found


def tabulate(n_samples):
    rng = np.random.default_rng(0)
    for name, (n_times, kind) in show_progress(product((*POWERS, "log-normal"), GRIDS), "levels"):
        rates = np.mean([try_sample(rng, name, n_times, kind) for _ in range(n_samples)], axis=0)
        grid = f"{n_times} equal {'steps' if kind == 'times' else 'shares of events'}"
        yield [name, grid, *(" / ".join(f"{rate:.3f}" for rate in test) for test in rates.T)]


if __name__ == "__main__":
    print_table(HEADER, list(tabulate(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)))
