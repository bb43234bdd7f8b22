"""The sections of the page "With other libraries" run, each where its library is installed."""

import ast
import doctest
import re
import sys
import warnings
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "doc/user_guide/other_libraries.rst"
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
# Libraries that warn of themselves, by the headings of their sections.
WARN_OF_THEMSELVES = {
    "MLflow": r"mlflow\.",
    "Ray": r"(ray|joblib)\.",
}


def list_sections():
    """By heading up to its colon, the examples of each section that has some."""
    pieces = re.split(r"^(.+)\n([=~-])\2+\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    parser = doctest.DocTestParser()
    sections = {
        heading.split(":")[0]: parser.get_examples(text)
        for heading, text in zip(pieces[1::3], pieces[3::3], strict=True)
    }
    return {heading: examples for heading, examples in sections.items() if examples}


def list_imports(examples):
    """The packages that examples import: what a section needs."""
    for node in ast.walk(ast.parse("".join(example.source for example in examples))):
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.split(".")[0]


# joblib's backend for Dask may forget a call twice: a KeyError while objects are destroyed.
@pytest.mark.filterwarnings("ignore:Exception ignored in. <function _WeakKeyDictionary")
@pytest.mark.parametrize("heading", SECTIONS := list_sections())
def test_section_runs(heading, monkeypatch, capsys):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # Ray would write a token into the home folder
    examples = SECTIONS[heading]
    with warnings.catch_warnings():
        if heading in WARN_OF_THEMSELVES:
            warnings.filterwarnings("ignore", module=WARN_OF_THEMSELVES[heading])
        for package in sorted(set(list_imports(examples)) - sys.stdlib_module_names):
            pytest.importorskip(package, exc_type=ModuleNotFoundError)
        test = doctest.DocTest(examples, {"__name__": "page"}, heading, str(PAGE), None, None)
        failed, _ = doctest.DocTestRunner(optionflags=OPTIONS).run(test)
    assert not failed, capsys.readouterr().out


def test_every_library_has_a_version():
    table = PAGE.read_text(encoding="utf-8").split("\nVersions\n")[1]
    versions = dict(re.findall(r"(\S+)  +(\d[\d.]+)(?=\s)", table))
    assert sorted(versions) == sorted(SECTIONS)
