"""Threads of skcal leave filters of warnings alone, and keep the configuration of the caller."""

import threading
import warnings
from functools import partial

import numpy as np
import sklearn
from joblib import parallel_config

from skcal import inference, metrics
from skcal._tools._parallel import run_parallel


def test_filters_of_warnings_that_come_while_a_measure_runs_are_kept():
    """scikit-learn's Parallel resets the filters of the whole process, also for a single job."""
    inside, go_on = threading.Event(), threading.Event()

    def kernel(first, second):
        inside.set()
        assert go_on.wait(10)
        return np.ones((len(first), len(second)))

    rows = [0, 1, 1, 0], [0.25, 0.5, 0.75, 0.5]
    measure = partial(metrics.squared_kernel_calibration_error, *rows, kernel=kernel)
    with warnings.catch_warnings():
        call = threading.Thread(target=measure)
        call.start()
        assert inside.wait(10)
        warnings.filterwarnings("ignore", message="a filter of the main thread")
        expected = list(warnings.filters)
        go_on.set()
        call.join()
        assert warnings.filters == expected


def test_jobs_leave_the_filters_of_warnings():
    """In two threads at once the reset leaves a part of the filters, or none."""
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1, 1], 400)
    y = (rng.random(400) < proba[:, 1]).astype(int)
    options = {"n_resamples": 300, "random_state": 0}
    with warnings.catch_warnings(), parallel_config(n_jobs=4):
        expected = list(warnings.filters)
        for _ in range(3):
            inference.calibration_test(y, proba, **options)
            inference.confidence_interval(y, proba, measure="expected_calibration_error", **options)
            metrics.squared_kernel_calibration_error(y, proba, block_size=2)
            assert warnings.filters == expected


def test_configuration_of_the_caller_holds_in_its_threads():
    with sklearn.config_context(working_memory=7):
        configurations = run_parallel([(sklearn.get_config,)] * 4, n_jobs=2)
    assert [found["working_memory"] for found in configurations] == [7] * 4
