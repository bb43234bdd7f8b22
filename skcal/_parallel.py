"""Calls side by side, in threads or processes."""

from joblib import Parallel, delayed, effective_n_jobs
from sklearn import config_context, get_config


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
    """
    if effective_n_jobs(n_jobs) == 1:
        return [function(*arguments) for function, *arguments in show(tasks)]
    config = get_config()
    run = Parallel(n_jobs=n_jobs, prefer=prefer, require=require)
    return run(delayed(_call)(config, function, *arguments) for function, *arguments in show(tasks))


def _call(config, function, *arguments):
    with config_context(**config):  # of this thread alone
        return function(*arguments)
