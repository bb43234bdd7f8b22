"""Threads for functions of NumPy arrays."""

from joblib import Parallel, delayed
from sklearn import config_context, get_config


def run_in_threads(tasks, n_jobs, show=iter):
    """Results of calls, in threads unless the caller's joblib context asks for another backend.

    scikit-learn's own `Parallel` also hands on the filters of warnings, and for that resets those
    of the whole process in every task: threads then lose filters, the caller's among them.

    Parameters
    ----------
    tasks : iterable of tuple
        A function and its arguments.
    n_jobs : int or None
    show : callable, default=iter
        What `read_progress` returned.

    Returns
    -------
    list
    """
    config = get_config()
    run = Parallel(n_jobs=n_jobs, prefer="threads")
    return run(delayed(_call)(config, function, *arguments) for function, *arguments in show(tasks))


def _call(config, function, *arguments):
    with config_context(**config):  # of this thread alone
        return function(*arguments)
