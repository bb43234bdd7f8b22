"""Annotations of public signatures and attributes say what the docstrings say."""

import ast
import inspect
import re
import sys
from typing import Literal, get_args, get_origin

from numpydoc.docscrape import NumpyDocString

import skcal
from tests.public_objects import list_functions_and_classes, list_methods

FUNCTIONS = {
    path: member
    for path, member in (list_functions_and_classes() | list_methods()).items()
    if inspect.isroutine(member)
}


def read_choices(function, annotation):
    """The strings that an annotation lists."""
    found = eval(annotation, dict(vars(sys.modules[function.__module__])))
    parts = [found] if get_origin(found) is Literal else get_args(found)
    return {choice for part in parts if get_origin(part) is Literal for choice in get_args(part)}


def list_faults(function):
    """What is wrong with the annotations of a function."""
    signature = inspect.signature(function)
    documented = {
        name.strip().lstrip("*"): (field.type, " ".join(field.desc))
        for field in NumpyDocString(inspect.getdoc(function))["Parameters"]
        for name in field.name.split(",")
    }
    if signature.return_annotation is signature.empty:
        yield "what it returns has no annotation"
    for name, parameter in signature.parameters.items():
        if name in ("self", "cls"):
            continue
        if parameter.annotation is parameter.empty:
            yield f"{name} has no annotation"
            continue
        kind, text = documented[name]
        # In a line of its own, or at the start of the text where that is too long.
        choices = re.match(r'\{(".*")\}', kind) or re.match(r'One of (".*?"):', text)
        if choices:
            expected = {choice.strip(' "') for choice in re.split(r",| and ", choices[1])}
            if read_choices(function, parameter.annotation) != expected:
                yield f"{name} has other choices than {expected}"
        optional = re.search(r"\b(None|Any|object|RandomState)\b", str(parameter.annotation))
        if parameter.default is None and not optional:
            yield f"{name} may be None"


def test_annotations():
    faults = [
        f"{path}: {fault}"
        for path, function in FUNCTIONS.items()
        for fault in list_faults(inspect.unwrap(function))
    ]
    assert faults == []


def test_the_positive_label_has_one_type():
    """As an argument and in records."""
    found = set()
    for obj in list_functions_and_classes().values():
        kind = inspect.get_annotations(obj).get("pos_label")
        found.add(getattr(kind, "__forward_arg__", kind))  # of a named tuple
    for function in FUNCTIONS.values():
        parameter = inspect.signature(function).parameters.get("pos_label")
        found.add(parameter and parameter.annotation)
    assert found == {None, "int | float | bool | str | None"}


def test_no_function_returns_a_dictionary_in_place_of_what_it_returns_elsewhere():
    returned = {
        path: str(inspect.get_annotations(one)["return"]) for path, one in FUNCTIONS.items()
    }
    assert not [
        path for path, kind in returned.items() if re.search(r"\| dict\b|^dict.*\] \|", kind)
    ]


def test_attributes_are_annotated():
    for path, cls in list_functions_and_classes().items():
        if inspect.isclass(cls):
            annotated = {name for base in cls.__mro__ for name in inspect.get_annotations(base)}
            for field in NumpyDocString(inspect.getdoc(cls))["Attributes"]:
                for name in field.name.replace(", ...", "").split(", "):
                    getter = getattr(inspect.getattr_static(cls, name, None), "fget", None)
                    assert name in annotated or "return" in inspect.get_annotations(getter), (
                        f"{path}.{name}"
                    )


def test_type_checkers_know_the_rooms():
    parsed = ast.parse(inspect.getsource(skcal))
    imported = [
        name.name
        for part in ast.walk(parsed)
        if isinstance(part, ast.ImportFrom) and part.module == "skcal"
        for name in part.names
    ]
    assert imported == skcal.__all__
