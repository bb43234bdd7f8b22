"""Types of what users hand in, for annotations."""

from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt


class _StandardArray(Protocol):
    """An array of any library that follows the array API standard."""

    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any: ...


# Lists, arrays of NumPy and of other libraries, series and data frames.
ArrayLike = npt.ArrayLike | _StandardArray

RandomState = int | np.random.RandomState | np.random.Generator | None

# How class probabilities become binary problems; measures and diagrams read multilabel ones too.
ClassReduction = Literal["auto", "confidence", "classwise", "top-label", "full"]
Reduction = ClassReduction | Literal["multilabel"]
