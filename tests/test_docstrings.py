"""Docstrings are the contract: numpydoc's rules, every parameter, and the true defaults."""

import ast
import importlib
import inspect
import re

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

from tests.public_objects import ROOMS, is_record, list_functions_and_classes, list_methods

OBJECTS = list_functions_and_classes()
METHODS = list_methods()

IGNORED = {
    "ES01": "a summary of one sentence may be enough",
    "SA01": "not everything has relatives",
    "EX01": "functions and classes are tested for it below; methods are shown by their class",
    "SS05": "it takes a plural at the start, such as 'Names of the columns', for a verb",
    "RT02": "estimators return ``self : object``, as scikit-learn writes it",
}
IGNORED_FOR_RECORDS = {"PR01": "the fields of a NamedTuple are documented as attributes"}

by_room = pytest.mark.parametrize("room", ROOMS)


def list_members(room):
    """Full name and object of all public that a room holds."""
    found = {path: obj for path, obj in (OBJECTS | METHODS).items() if path.split(".")[1] == room}
    return found.items()


def read_sections(obj):
    """Documented names with their types, from Parameters and from Attributes."""
    doc = get_doc_object(obj)
    return [
        {name: item.type for item in doc[section] for name in re.split(r",\s*", item.name)}
        for section in ("Parameters", "Attributes")
    ]


def read_default(text):
    """The value written after ``default=`` in the type of a parameter, as Python would show it."""
    _, _, written = text.partition("default=")
    try:
        return repr(ast.literal_eval(written)) if written else None
    except (SyntaxError, ValueError):
        return written


def list_parameters(obj):
    """Parameters of a function, of a method without self, or of a class's constructor."""
    parameters = list(inspect.signature(obj).parameters.values())
    is_method = inspect.isfunction(obj) and "." in obj.__qualname__
    return parameters[1:] if is_method else parameters


@by_room
def test_numpydoc_rules_and_a_summary_of_one_sentence(room):
    for path, obj in list_members(room):
        ignored = set(IGNORED) | (set(IGNORED_FOR_RECORDS) if is_record(obj) else set())
        errors = [f"{code}: {text}" for code, text in validate(path)["errors"]]
        assert [error for error in errors if error[:4] not in ignored] == [], path
        first, *rest = obj.__doc__.splitlines()
        assert first.strip().endswith("."), path
        assert not "".join(rest[:1]).strip(), path


@by_room
def test_every_parameter_is_documented_with_its_default(room):
    for path, obj in list_members(room):
        documented, attributes = read_sections(obj)
        if is_record(obj):
            assert list(attributes or documented) == list(obj._fields), path
            continue
        if inspect.isclass(obj) and issubclass(obj, Exception):
            continue  # built from a message alone
        for parameter in list_parameters(obj):
            name = str(parameter.replace(annotation=parameter.empty, default=parameter.empty))
            assert name in documented, path
            default = parameter.default
            expected = None if default is parameter.empty else repr(default)
            assert read_default(documented[name]) == expected, f"{path}, {name}"


# How the type of an argument of many functions begins, and what its text says everywhere.
SHARED = {
    "pos_label": ("int, float, bool or str, default=None", r"^(The (positive )?label|See :meth:)"),
    "labels": ("array-like of shape (n_classes,)", r"^(Label of every column|The classes in)"),
    "n_jobs": ("int, default=None", r"joblib"),
    "progress": ("bool or callable, default=None", r"^A progress bar.*tqdm"),
    "random_state": (
        "int, RandomState, Generator or None, default=None",
        r"^(Source|Seed) of",
    ),
    "confidence_level": (
        "float",
        r"in \(0, 1\)|^See|legend|None draws no bands|^Level of intervals",
    ),
}


@pytest.mark.parametrize("name", SHARED)
def test_one_name_means_one_thing(name):
    kind, words = SHARED[name]
    found = 0
    for path, obj in (OBJECTS | METHODS).items():
        for item in get_doc_object(obj)["Parameters"]:
            if item.name == name:
                text = " ".join(item.desc)
                assert item.type.startswith(kind), path
                assert re.search(words, text), (path, text)
                found += 1
    assert found > 10


def test_there_is_an_example():
    """Records are shown by the functions that return them."""
    for path, obj in OBJECTS.items():
        if not is_record(obj):
            assert ">>>" in "\n".join(get_doc_object(obj)["Examples"]), path


def test_every_public_value_has_words():
    """Those that the index reads from the module itself: of an imported list it says "Built-in"."""
    found = 0
    for room in ROOMS:
        module = importlib.import_module(f"skcal.{room}")
        source = inspect.getsource(module)
        for name in module.__all__:
            if not callable(getattr(module, name)):
                assert re.search(rf"^#: .+\n(#: .+\n)*{name}\b", source, re.MULTILINE), room
                found += 1
    assert found >= 4
