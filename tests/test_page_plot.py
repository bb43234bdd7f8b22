"""The figures of pages: each is drawn by the code above it, also below other figures."""

import importlib.util
from pathlib import Path

import pytest

docutils_core = pytest.importorskip("docutils.core")
directives = pytest.importorskip("docutils.parsers.rst.directives")
pytest.importorskip("jinja2")

FILE = Path(__file__).parents[1] / "doc" / "page_plot.py"
PAGE = """
>>> first = 1

.. page-plot::

   The first figure.

>>> second = 2
>>> second
2

.. page-plot::

   The second figure.

>>> third = 3
>>> 1 / 0
Traceback (most recent call last):
ZeroDivisionError: division by zero
>>> fourth = 4

  .. page-plot::

     A figure in a quotation.

>>> fifth = 5
"""


def test_each_figure_has_its_own_code(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("page_plot", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    shown = []

    def run(self):
        """Insert some lines, as matplotlib's directive does."""
        shown.append("\n".join(self.content).removesuffix(module.SHOW_LAST.rstrip()))
        lines = ["A figure."] + [""] * 40
        self.state_machine.insert_input(lines, source=self.state_machine.input_lines.source(0))
        return []

    monkeypatch.setattr(module.PlotDirective, "run", run)
    monkeypatch.setitem(directives._directives, "page-plot", module.PagePlot)
    path = tmp_path / "page.rst"
    path.write_text(PAGE, encoding="utf-8")
    docutils_core.publish_doctree(PAGE, source_path=str(path))
    assert [code.split("\n")[:-1] for code in shown] == [
        ["first = 1"],
        ["second = 2", "second"],
        ["third = 3", "fourth = 4"],
    ]
