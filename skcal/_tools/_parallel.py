"""Calls side by side, in threads or processes."""

import os
import warnings
from numbers import Integral

from joblib import Parallel, delayed, effective_n_jobs
from sklearn import config_context, get_config

from skcal._tools._warnings import warn


def run_parallel(tasks, n_jobs, show=iter, *, prefer="threads", require=None):
    """Results of tasks, tuples of a function and its arguments; `show` is from `read_progress`.

    A joblib context of the caller overrides `prefer`. Threads suit calls that spend nearly all
    their time in NumPy, on large arrays. Calls that write into arrays of the caller need
    `require="sharedmem"`, so that no context brings processes.

    scikit-learn's own `Parallel` also hands on the filters of warnings. For that it resets those of
    the whole process in every task, and threads lose filters, the caller's among them.
    """
    if not (n_jobs is None or (isinstance(n_jobs, Integral) and n_jobs)):
        raise ValueError(f"n_jobs must be None or an integer other than 0; got {n_jobs!r}.")
    if effective_n_jobs(n_jobs) == 1:
        return [function(*arguments) for function, *arguments in show(tasks)]
    config, own = get_config(), os.getpid()
    run = Parallel(n_jobs=n_jobs, prefer=prefer, require=require)
    answers = run(
        delayed(_call)(config, own, function, *arguments) for function, *arguments in show(tasks)
    )
    for _, messages in answers:
        for message in messages:
            warn(message)
    return [value for value, _ in answers]


def _call(config, own, function, *arguments):
    """The value, and the warnings of a process that is not the caller's own."""
    with config_context(**config):  # of this thread alone
        if os.getpid() == own:
            return function(*arguments), []
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            value = function(*arguments)
        return value, [one.message for one in caught]
