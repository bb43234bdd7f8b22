"""Layers of the reliability diagram, one module for each: whatever lies here can be drawn."""

import re
from importlib import import_module
from inspect import cleandoc, isclass
from pkgutil import iter_modules
from textwrap import indent

from skcal.diagrams._layer import Layer


def _find_layers():
    """Layers by name: one of each class that a module of this folder defines."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    classes = [
        value
        for module in modules
        for value in vars(module).values()
        if isclass(value) and issubclass(value, Layer) and value.__module__ == module.__name__
    ]
    return {layer.name: layer() for layer in classes}


LAYERS = _find_layers()


def document_layers(cls):
    """Class decorator: put the names and docstrings of the layers where ``%(layers)s`` stands."""
    if cls.__doc__ is not None:  # python -OO has none
        entries = [
            f'"{name}"\n{indent(cleandoc(layer.__doc__), "    ")}' for name, layer in LAYERS.items()
        ]
        (line,) = re.findall(r"^ *%\(layers\)s$", cls.__doc__, re.MULTILINE)
        spaces = line.removesuffix("%(layers)s")
        cls.__doc__ = cls.__doc__.replace(line, indent("\n".join(entries), spaces))
    return cls
