"""A report as plain values."""

from dataclasses import is_dataclass

import numpy as np


def make_dict(report):
    """Dictionaries, lists, strings, numbers, True, False and None alone, as JSON has them."""
    models = [{"name": name, **_simplify(model)} for name, model in report.models.items()]
    return {
        "confidence_level": report.confidence_level,
        "tolerance": report.tolerance,
        "models": models,
        "comparison": _simplify(report.comparison),
    }


def _simplify(value):
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif hasattr(value, "plot") or is_dataclass(value):  # what drawing has added ends in _
        value = {name: part for name, part in vars(value).items() if not name.endswith("_")}
    elif isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {name: _simplify(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_simplify(part) for part in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
    return value
