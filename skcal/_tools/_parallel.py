"""Calls side by side, in threads or processes."""

import os
import warnings
from numbers import Integral

from joblib import Parallel, delayed, effective_n_jobs
from sklearn import config_context, get_config

from skcal._tools._warnings import warn


def run_parallel(tasks, n_jobs, show=iter, *, prefer="threads", require=None):
    """Results of calls, where `prefer` says unless the caller's joblib context has another backend.

    scikit-learn's own `Parallel` also hands on the filters of warnings, and for that resets those
    of the whole process in every task: threads then lose filters, the caller's among them.

    Parameters
    ----------
    tasks : iterable of tuple
        A function and its arguments.
    n_jobs : int or None
    show : callable, default=iter
        What `read_progress` returned.
    prefer : {"threads", "processes"}, default="threads"
        Threads are for calls that are busy in NumPy, with large arrays, nearly all the time.
    require : "sharedmem" or None
        The former for calls that write into arrays of the caller: no context brings processes.

    Returns
    -------
    list

    Raises
    ------
    ValueError
        If `n_jobs` is no number of jobs.
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
