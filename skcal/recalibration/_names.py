"""Names that stand for recalibrators."""

from __future__ import annotations

import re
from typing import Any

from sklearn.utils import get_tags

from skcal._input._validation import check_option
from skcal.recalibration._base import BaseRecalibrator


def get_recalibrator(name: str, **params: Any) -> BaseRecalibrator:
    """Get a new recalibrator by its name.

    Parameters
    ----------
    name : str
        Name of a class in lower case with underscores, without a last word "recalibration",
        "calibration" or "scaling", see :func:`get_recalibrator_names`.
    **params : dict
        Parameters of the recalibrator.

    Returns
    -------
    BaseRecalibrator
        A new recalibrator at every call.

    Raises
    ------
    ValueError
        If `name` is unknown.

    See Also
    --------
    RecalibratedClassifierCV : Takes these names, too.

    Examples
    --------
    >>> from skcal.recalibration import get_recalibrator
    >>> get_recalibrator("isotonic", min_proba=0.01)
    IsotonicRecalibration(min_proba=0.01)
    """
    classes = _list_classes()
    check_option("name", name, tuple(classes))
    return classes[name](**params)


def get_recalibrator_names() -> list[str]:
    """Get the names of all recalibrators.

    Returns
    -------
    list of str
        Sorted names for :func:`get_recalibrator`: of those that are fitted once, to rows in any
        order.

    Examples
    --------
    >>> from skcal.recalibration import get_recalibrator_names
    >>> "venn_abers" in get_recalibrator_names()
    True
    """
    return sorted(_list_classes())


def name_recalibrator(recalibrator):
    """The name of a recalibrator of this package; of any other its class."""
    name = _find_name(type(recalibrator))
    return name if _list_classes().get(name) is type(recalibrator) else type(recalibrator).__name__


def choose_recalibrator(argument, choice):
    """A recalibrator that was given itself or by its name."""
    if isinstance(choice, str):
        check_option(argument, choice, tuple(get_recalibrator_names()))
        kind = _list_classes()[choice]
        # Two calls for one model, `predict` and `predict_proba` say, must not disagree.
        return kind(random_state=0) if is_random(choice) else kind()
    if isinstance(choice, type) or not hasattr(choice, "predict_proba"):
        raise ValueError(
            f"{argument} must be an instance of a recalibrator, such as IsotonicRecalibration(), "
            f"or a name, such as 'isotonic'; got {choice!r}."
        )
    return choice


def is_random(choice):
    """Whether a recalibrator, given itself or by its name, says that it draws random numbers."""
    if isinstance(choice, str):
        kind = _list_classes().get(choice)
        choice = None if kind is None else kind()
    has_tags = hasattr(choice, "__sklearn_tags__") and not isinstance(choice, type)
    return has_tags and get_tags(choice).non_deterministic


def _find_name(kind):
    words = re.sub("(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()
    return re.sub("_(recalibration|calibration|scaling)$", "", words)


def _list_classes():
    """The recalibrators of this package by name."""
    from skcal import recalibration  # whose table of contents is made of this module, too

    exported = [getattr(recalibration, name) for name in recalibration.__all__]
    return {_find_name(kind): kind for kind in exported if _is_recalibrator(kind)}


def _is_recalibrator(kind):
    """Whether a class is a recalibrator that is fitted once, to rows in any order."""
    is_one = isinstance(kind, type) and BaseRecalibrator in kind.__mro__[1:]
    return is_one and not hasattr(kind, "partial_fit")
