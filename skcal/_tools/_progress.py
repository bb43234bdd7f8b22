"""Progress of long work, where a caller asks for it: bars, and callbacks of scikit-learn."""

from collections import deque
from collections.abc import Callable
from functools import wraps
from itertools import islice
from typing import Any, TypeVar

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9
    CallbackSupportMixin, with_callbacks = object, None

Method = TypeVar("Method", bound=Callable[..., Any])


class CallbackSupport(CallbackSupportMixin):
    """Adds `set_callbacks` to an estimator, where the installed scikit-learn has callbacks."""


def as_task(fit: Method) -> Method:
    """Make a method that fits one task of scikit-learn's callbacks, which has no parts."""
    if with_callbacks is None:
        return fit

    @with_callbacks
    @wraps(fit)
    def fit_as_task(self, X, y, *args, **params):
        task = self._init_callback_context()  # public by scikit-learn's guide for developers
        task.call_on_fit_task_begin(estimator=self, X=X, y=y)
        fitted = fit(self, X, y, *args, **params)
        task.call_on_fit_task_end(estimator=self, X=X, y=y)
        return fitted

    return fit_as_task


def read_progress(progress):
    """A function that wraps an iterable and shows how far it is; see `summarize_batches`."""
    if progress is None or progress is False:
        return _show_nothing
    if callable(progress):
        return progress
    if progress is not True:
        raise ValueError(f"progress must be a bool, a function or None; got {progress!r}.")
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError(
            "progress=True needs tqdm: pip install tqdm, or pass a function as progress."
        ) from error
    return tqdm


def count_steps(show, tasks, sizes):
    """Yield tasks; the bar counts the steps that each of them takes, such as draws of a block."""
    steps = iter(show(range(sum(sizes))))
    next(steps, None)  # which starts the bar
    for task, size in zip(tasks, sizes, strict=True):
        yield task
        deque(islice(steps, size), maxlen=0)


def _show_nothing(items):
    return items
