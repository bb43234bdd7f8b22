"""Pages of the API reference, written before each build from `__all__` and `MEASURES`.

Nothing public has to be listed by hand: a page for every module, function, class and record, and
the table of measures, go to ``doc/api/generated``.
"""

import importlib
import inspect
import re
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref

import skcal
from skcal.metrics import MEASURES

# Arguments that all measures share; what else a measure takes are its own options.
SHARED = {"y_true", "y_proba", "sample_weight", "pos_label", "labels", "reduction"}
# What every documentation of `reduction` ends with, wherever the names are explained.
REDUCTIONS = ":doc:`Many classes </user_guide/multiclass>` shows what each reduction means."
# Headings under which a room shows what it offers.
HEADINGS = ("Measures", "Functions", "Classes", "Records", "Data")


def setup(app):
    """Write the pages before Sphinx looks for them, and link names in single backticks."""
    app.connect("builder-inited", write_pages)
    # Before numpydoc, which turns the parameters into markup.
    app.connect("autodoc-process-docstring", explain_reductions, priority=400)
    app.add_role("name", link_name)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_pages(app):
    """Write all pages, touching only what has changed, and remove those that went stale."""
    folder = Path(app.srcdir) / "api" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    texts = {"rooms.inc": _describe_rooms(), "measures.inc": _tabulate_measures()}
    for room_name in skcal.__all__:
        room = importlib.import_module(f"skcal.{room_name}")
        texts[f"{room.__name__}.rst"] = _describe_room(room)
        for name in room.__all__:
            texts[f"{room.__name__}.{name}.rst"] = _describe_object(room.__name__, name)
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in folder.iterdir():
        if path.suffix in {".rst", ".inc"} and path.name not in texts:
            path.unlink()


def explain_reductions(app, what, name, obj, options, lines):
    """Tell in the documentation of every parameter `reduction` where reductions are explained."""
    for start, line in enumerate(lines):
        if not re.match(r" *reduction : \{", line):
            continue
        indent = line[: len(line) - len(line.lstrip())]
        end = start + 1
        while end < len(lines) and lines[end].startswith(f"{indent} "):
            end += 1
        lines.insert(end, f"{indent}    {REDUCTIONS}")
        return


def link_name(name, rawtext, text, lineno, inliner, options=None, content=None):
    """Show a name in single backticks as code, with a link where it is public in skcal.

    `smooth_ece` and `skcal.metrics.smooth_ece` have one; names of arguments have none.
    """
    literal = nodes.literal(rawtext, text, classes=["name"])
    target = _public_names().get(text.removesuffix("()"))
    if target is None:
        return [literal], []
    env = inliner.document.settings.env
    reference = pending_xref(
        rawtext, literal, refdomain="py", reftype="obj", reftarget=target, refdoc=env.docname
    )
    return [reference], []


def _public_names():
    """Short and full names of everything public, each with its full name."""
    full_names = [
        f"skcal.{room}.{name}"
        for room in skcal.__all__
        for name in importlib.import_module(f"skcal.{room}").__all__
    ]
    return {name.rpartition(".")[2]: name for name in full_names} | {n: n for n in full_names}


def _classify(room_name, name):
    """Heading under which a room shows one of its names."""
    value = getattr(importlib.import_module(room_name), name)
    if name in MEASURES and room_name == "skcal.metrics":
        return "Measures"
    if inspect.isclass(value):
        return "Records" if hasattr(value, "_fields") else "Classes"
    return "Functions" if inspect.isroutine(value) else "Data"


def _describe_rooms():
    """The rooms with their first sentences, and the table of contents."""
    rows = []
    for name in skcal.__all__:
        room = importlib.import_module(f"skcal.{name}")
        rows.append((f":mod:`skcal.{name}`", _first_sentence(room)))
    toctree = "".join(f"   generated/skcal.{name}\n" for name in skcal.__all__)
    table = _table(("Module", "What it holds"), rows)
    return f"{table}\n.. toctree::\n   :hidden:\n\n{toctree}"


def _tabulate_measures():
    """A row for every measure: what it is, what it can be and what it takes."""
    rows = []
    for name, measure in sorted(MEASURES.items()):
        options = [o for o in inspect.signature(measure.function).parameters if o not in SHARED]
        listed = ", ".join(f"``{option}``" for option in options)
        span = f"0 to {measure.maximum:g}"
        if measure.is_signed:
            span = f"up to {measure.maximum:g}; unbiased, may be negative"
        rows.append(
            (
                f"| :func:`~skcal.metrics.{name}`\n       | ``neg_{name}``",
                _first_sentence(measure.function)
                + (f"\n\n       Options: {listed}." if options else ""),
                span,
                "one number a row, by ``reduction``" if measure.reduces else "whole vectors",
            )
        )
    heads = ("Measure and scorer", "What it measures", "Range", "Reads")
    return _table(heads, rows, "measures")


def _describe_room(room):
    """Docstring of a room and a table of what it offers under each heading."""
    title = room.__name__
    parts = [f"{title}\n{'=' * len(title)}\n", f".. automodule:: {title}\n"]
    for heading in HEADINGS:
        names = [name for name in sorted(room.__all__) if _classify(title, name) == heading]
        if not names:
            continue
        entries = "".join(f"   {name}\n" for name in names)
        pages = "".join(f"   {title}.{name}\n" for name in names)
        parts.append(f"{heading}\n{'-' * len(heading)}\n")
        if heading == "Data":
            parts.append("".join(f"- :data:`~{title}.{name}`\n" for name in names))
        else:
            parts.append(f".. autosummary::\n   :nosignatures:\n\n{entries}")
        parts.append(f".. toctree::\n   :hidden:\n\n{pages}")
    return "\n".join(parts)


def _describe_object(room_name, name):
    """The page of one function, class, record or table."""
    kind = _classify(room_name, name)
    body = {
        "Classes": _describe_class,
        "Records": _describe_class,
        "Data": _describe_data,
    }.get(kind, _describe_function)(room_name, name)
    return (
        f"{name}\n{'=' * len(name)}\n\n.. currentmodule:: {room_name}\n\n{body}\n"
        f".. minigallery:: {room_name}.{name}\n   :add-heading: Examples in the gallery\n"
    )


def _describe_function(room_name, name):
    return f".. autofunction:: {name}\n"


def _describe_data(room_name, name):
    value = getattr(importlib.import_module(room_name), name)
    if value is not MEASURES:
        return f".. autodata:: {name}\n   :no-value:\n"
    return (
        f".. data:: {name}\n   :type: dict[str, Measure]\n\n"
        "   Every measure by its name, each a row with what the rest of the package may assume of "
        "it:\n   scorers, tests and the report follow from the rows, and so does the table "
        ":ref:`below <table-of-measures>`.\n\n"
        "   A row's function is called as ``f(y_true, y_proba)``.\n\n"
        ".. _table-of-measures:\n\nTable of measures\n-----------------\n\n"
        ".. include:: measures.inc\n"
    )


def _describe_class(room_name, name):
    cls = getattr(importlib.import_module(room_name), name)
    own, foreign = _split_methods(cls)
    lines = [f".. autoclass:: {name}", ""]
    if own:
        lines += ["   .. rubric:: Methods and properties", "", "   .. autosummary::"]
        lines += ["      :nosignatures:", ""]
        lines += [f"      {method}" for method in own] + [""]
    if foreign:
        listed = ", ".join(f"``{method}``" for method in foreign)
        lines += [f"   Inherited from scikit-learn: {listed}.", ""]
    for method, directive in own.items():
        lines += [f"   .. {directive}:: {method}", ""]
    return "\n".join(lines)


def _split_methods(cls):
    """Public methods of skcal with their directives, and names of those of scikit-learn."""
    own, foreign = {}, []
    for name in sorted(dir(cls)):
        if name.startswith("_"):
            continue
        raw = inspect.getattr_static(cls, name)
        is_property = isinstance(raw, property)
        method = raw.fget if is_property else getattr(cls, name, None)
        if not inspect.isroutine(method):
            continue
        module = getattr(method, "__module__", None) or ""
        if module.startswith("skcal."):
            own[name] = "autoproperty" if is_property else "automethod"
        elif module.startswith("sklearn."):
            foreign.append(name)
    return own, foreign


def _first_sentence(obj):
    return inspect.getdoc(obj).partition("\n")[0]


def _table(heads, rows, css_class="rooms"):
    lines = [".. list-table::", "   :header-rows: 1", "   :widths: auto"]
    lines += [f"   :class: {css_class}", ""]
    for row in (heads, *rows):
        lines += [f"   {'*' if column == 0 else ' '} - {text}" for column, text in enumerate(row)]
    return "\n".join(lines) + "\n"
