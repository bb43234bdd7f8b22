"""Measures in multiples of a sort of the predictions and of a pass over them, in CPU time.

Beside them: SciPy's HiGHS on the same linear programs, and relplot's approximations.
"""

import re
from functools import partial

import numpy as np
from scipy import sparse
from scipy.optimize import linprog
from timing import (
    describe_machine,
    make_predictions,
    make_units,
    median_cpu_times,
    print_table,
    show_ratio,
    show_time,
)

from skcal import metrics
from skcal._input._reduction import reduce_to_samples
from skcal._numerics.cells._grid import linear_nodes

try:
    from relplot import metrics as relplot
except ImportError:
    relplot = None


def solve_smooth_calibration(y, proba):
    """smCE by HiGHS: the largest E[w(v) r] over 1-Lipschitz w with values in [-1, 1]."""
    ties = reduce_to_samples(y, proba)[0].sorted
    gaps = np.diff(ties.predictions)
    steps = sparse.diags([-1.0, 1.0], [0, 1], shape=(len(gaps), len(gaps) + 1))
    constraints = sparse.vstack([steps, -steps]).tocsr()
    return -linprog(-ties.residual, A_ub=constraints, b_ub=np.r_[gaps, gaps], bounds=(-1, 1)).fun


def solve_lower_distance(y, proba, n_cells):
    """Lower distance by HiGHS, the dual on a uniform grid."""
    mass, positive = reduce_to_samples(y, proba)[0].mass_in_cells(n_cells)
    mass, positive = linear_nodes(mass[:2]), linear_nodes(positive)
    nodes = np.linspace(0, 1, n_cells + 1)
    steps = sparse.diags([-1.0, 1.0], [0, 1], shape=(n_cells, n_cells + 1))
    steps = sparse.block_diag([steps, steps])
    calibrated = sparse.hstack([sparse.diags(1 - nodes), sparse.diags(nodes)])
    constraints = sparse.vstack([steps, -steps, calibrated]).tocsr()
    limits = np.r_[np.full(4 * n_cells, 1 / n_cells), np.zeros(n_cells + 1)]
    objective = -np.r_[mass - positive, positive]
    return -linprog(objective, A_ub=constraints, b_ub=limits, bounds=(None, None)).fun


MEASURES = {
    "expected_calibration_error": {},
    "expected_calibration_error, quantile": {"strategy": "quantile"},
    "smooth_ece": {},
    "smooth_calibration_error": {},
    "lower_calibration_distance, tol 1e-3": {"tol": 1e-3},
    "kernel_calibration_error (Laplace)": {},
    "surrogate_interval_calibration_error": {},
    "random_interval_calibration_error": {},
    "cumulative_calibration_error": {},
    "averaged_two_bin_calibration_error": {},
    "decision_calibration_error": {},
}


def read_measure(title):
    name = re.match(r"\w+", title).group()
    return partial(metrics.MEASURES[name].function, **MEASURES[title])


def print_sorts():
    print(describe_machine(), end="\n\n")
    rows = {title: [title] for title in MEASURES}
    for n in (10**5, 10**6):
        y, proba = make_predictions(n)
        functions = make_units(proba)
        functions += [partial(read_measure(title), y, proba) for title in MEASURES]
        sort, read, *times = median_cpu_times(functions, repeats=15)
        for cells, seconds in zip(rows.values(), times, strict=True):
            cells += [f"{seconds * 1e3:.1f} ms", f"{seconds / sort:.1f}", f"{seconds / read:.1f}"]
    print_table(("measure", "10^5", "sorts", "passes", "10^6", "sorts", "passes"), rows.values())


def list_peers():
    """How many times as long others take for the same, with the number of rows."""
    y, proba = make_predictions(10**4)
    yield (
        "HiGHS, smooth_calibration_error, exact",
        "10^4",
        find_ratio(
            lambda: metrics.smooth_calibration_error(y, proba, method="exact"),
            lambda: solve_smooth_calibration(y, proba),
        ),
    )
    y, proba = make_predictions(10**5)
    n_cells = 1500  # what lower_calibration_distance takes for tol=1e-3
    pairs = {
        "HiGHS, lower_calibration_distance, tol 1e-3": (
            lambda: metrics.lower_calibration_distance(y, proba, tol=1e-3),
            lambda: solve_lower_distance(y, proba, n_cells),
        )
    }
    if relplot is not None:
        pairs["relplot, laplace_calibration_approx"] = (
            lambda: metrics.kernel_calibration_error(y, proba),
            lambda: relplot.laplace_calibration_approx(proba, y),
        )
        pairs["relplot, intCE_rand"] = (
            lambda: metrics.surrogate_interval_calibration_error(y, proba),
            lambda: relplot.intCE_rand(proba, y),
        )
    for title, pair in pairs.items():
        yield title, "10^5", find_ratio(*pair)


def find_ratio(ours, theirs):
    seconds = median_cpu_times([ours, theirs], repeats=3)
    return show_ratio(seconds[1] / seconds[0])


def shift_in_turns(proba, n_stretches):
    """Soft labels above the predictions in one stretch of them, and below in the next."""
    turn = np.argsort(np.argsort(proba)) * n_stretches // len(proba)
    return np.clip(proba + np.where(turn % 2, 0.3, -0.3), 0, 1)


def list_intervals():
    """The exact interval error, where residuals are noise and where their signs change."""
    times = {}
    for n in (10**5, 10**6):
        y, proba = make_predictions(n)
        problems = {"these data": (y, proba)}
        for n_stretches in (100, 1000, 10**4):
            problems[f"{n_stretches} stretches"] = shift_in_turns(proba, n_stretches), proba
        near = 0.5 + 1e-3 * (proba - 0.5)
        calibrated = np.random.default_rng(1).random(n) < near
        problems["calibrated, all within .0005 of 1/2"] = calibrated, near
        for name, rows in problems.items():
            (seconds,) = median_cpu_times(
                [partial(metrics.interval_calibration_error, *rows)], repeats=1
            )
            times.setdefault(name, [name]).append(show_time(seconds))
    return times.values()


print_sorts()
print("\nThe exact ``interval_calibration_error``:\n")
print_table(("predictions and outcomes", "10^5", "10^6"), list_intervals())
print("\nOther programs, and how many times as long as skcal they take:\n")
print_table(("program", "rows", "time"), list(list_peers()))
if relplot is None:
    print("relplot is absent: pip install relplot==1.0.3")
