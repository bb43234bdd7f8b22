"""Warnings that show the line of the caller's own program."""

import os
import sys
import warnings
from pathlib import Path

import joblib
import sklearn

_SKCAL = Path(__file__).parents[1]
_PACKAGES = tuple(
    str(folder) + os.sep
    for folder in (_SKCAL, Path(sklearn.__file__).parent, Path(joblib.__file__).parent)
)


def warn(message, category=UserWarning):
    """Warn at the last call that was made outside this package, scikit-learn and joblib.

    How many calls lie between depends on scikit-learn's version, and on the pipeline or the search
    that an estimator is in. A thread of several jobs knows no such call.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGES):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
