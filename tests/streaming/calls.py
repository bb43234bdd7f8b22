"""Calls of `measure` that a summary answers whatever the rows are: measures and options."""

import inspect

import numpy as np

from skcal.metrics import MEASURES
from skcal.streaming import CalibrationSummary

# Values of options beside the defaults.
VALUES = {
    "bandwidth": [0.003, 0.1],
    "bin_width_penalty": [True],
    "debias": [False, "residuals"],
    "deviation": ["max"],
    "kernel": ["gaussian"],
    "n_bins": [7, 16, 100],
    "norm": [3, np.inf],
    "squared": [True],
    "strategy": ["uniform"],
    "width": [0.01, 2.0],
}


def list_calls():
    """Every measure with its defaults, and with each value of its options beside random ones."""
    rng = np.random.default_rng(0)
    calls = []
    for name, measure in MEASURES.items():
        known = [key for key in inspect.signature(measure.function).parameters if key in VALUES]
        tried = [({}, 1), *(({key: value}, 10) for key in known for value in VALUES[key])]
        for options, n_tries in tried:
            for _ in range(n_tries):  # for some options exclude others
                call = name, (draw_options(rng, known) if options else {}) | options
                if is_answered(*call):
                    calls += [call] if call not in calls else []
                    break
    return calls


def draw_options(rng, known):
    chosen = [key for key in known if rng.random() < 0.5]
    return {key: VALUES[key][rng.integers(len(VALUES[key]))] for key in chosen}


def is_answered(name, options):
    # Two different predictions in one cell: what is answered for them is answered for any.
    summary = CalibrationSummary(n_cells=16).update([0, 1], [0.51, 0.52])
    try:
        summary.measure(name, **options)
    except ValueError:
        return False
    return True


CALLS = list_calls()


def ask(summary, call):
    """The answer of a summary."""
    name, options = call
    return summary.measure(name, **options)


def measure_rows(rows, call):
    """The value of the measure for the rows themselves."""
    name, options = call
    y, proba, weights = rows
    return MEASURES[name].function(y, proba, sample_weight=weights, **options)
