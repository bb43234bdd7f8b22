"""The public rooms of skcal and what they offer, found by walking `skcal.__all__`."""

import importlib
import inspect

import skcal

ROOMS = {name: importlib.import_module(f"skcal.{name}") for name in skcal.__all__}


def list_functions_and_classes():
    """Full name and object of every public function and class."""
    return {
        f"{room.__name__}.{name}": getattr(room, name)
        for room in ROOMS.values()
        for name in room.__all__
        if inspect.isroutine(getattr(room, name)) or inspect.isclass(getattr(room, name))
    }


def list_methods():
    """Full name and function of every public method and property that skcal itself defines."""
    methods = {}
    for path, cls in list_functions_and_classes().items():
        if not inspect.isclass(cls):
            continue
        for name in dir(cls):
            method = inspect.getattr_static(cls, name)
            method = method.fget if isinstance(method, property) else getattr(cls, name)
            is_own = (getattr(method, "__module__", None) or "").startswith("skcal.")
            if not name.startswith("_") and inspect.isroutine(method) and is_own:
                methods[f"{path}.{name}"] = method
    return methods


def is_record(obj):
    """Whether a public class is a NamedTuple."""
    return inspect.isclass(obj) and issubclass(obj, tuple) and hasattr(obj, "_fields")
