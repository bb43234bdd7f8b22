"""The HTML form of a report, for notebooks."""

import os
from base64 import b64encode
from copy import copy
from html import escape
from io import BytesIO
from pathlib import Path

from skcal.report._sections import judge_recalibration, list_sections
from skcal.report._sentence import write_comparison
from skcal.report._text import LEGEND, list_overview

# Colours are those of the page, so that light and dark ones both do.
_TABLE = "border-collapse:collapse;margin:0.5em 1.5em 0.5em 0;font-size:90%;background:none"
_HEAD = "text-align:right;padding:0.1em 0.8em;border-bottom:1px solid;background:none;color:inherit"
_CELL = "text-align:right;padding:0.1em 0.8em;background:none;color:inherit;border:none"
_LEFT = ";text-align:left"
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Calibration report</title>
</head>
<body style="font-family:sans-serif;margin:2em">
{}
</body>
</html>
"""


def write_html(report):
    """The whole report as HTML that needs no style sheet."""
    parts = ["<strong>Calibration report</strong>"]
    if len(report.models) > 1:
        parts.append(_write_table(*list_overview(report.models), n_left=2))
        parts.append(f"<p>{escape(write_comparison(report.comparison))}</p>")
    parts += [
        _write_model(name, model, report.confidence_level) for name, model in report.models.items()
    ]
    parts.append(f'<p style="font-size:85%;max-width:60em">{escape(LEGEND)}</p>')
    return f'<div style="color:inherit;max-width:75em">{"".join(parts)}</div>'


def write_page(report, path):
    """The report as a page by itself; None if it is written to a file."""
    path = None if path is None else _check_path(path)
    page = _PAGE.format(write_html(report))
    if path is None:
        return page
    path.write_text(page, encoding="utf-8")
    return None


def _check_path(path):
    if not isinstance(path, str | os.PathLike):
        raise ValueError(f"path must be a path of a file, or None; got {path!r}.")
    checked = Path(path)
    if checked.is_dir():
        raise ValueError(f"path must be a path of a file; got the folder {str(path)!r}.")
    if not checked.parent.is_dir():
        raise ValueError(f"path must lie in a folder that exists; got {str(path)!r}.")
    return checked


def _write_model(name, model, confidence_level):
    title = model.verdict if name is None else f"{name}: {model.verdict}"
    tables = []
    for section in list_sections(model, confidence_level):
        head = (section.title, *(section.columns or ("",)))
        n_left = 1 if section.columns else 2
        tables.append(_write_table(head, section.rows, n_left=n_left))
    return (
        f'<h4 style="margin:1em 0 0.3em;color:inherit">{escape(title)}</h4>'
        f'<p style="max-width:60em;margin:0.3em 0">{escape(model.sentence)} '
        f"{escape(judge_recalibration(model))}</p>"
        '<div style="display:flex;flex-wrap:wrap;align-items:flex-start">'
        f"{_write_image(name, model.diagram)}<div>{''.join(tables)}</div></div>"
    )


def _write_table(head, rows, n_left):
    styles = [_LEFT if column < n_left else "" for column in range(len(head))]
    lines = [_write_row("th", head, [_HEAD + style for style in styles])]
    lines += [_write_row("td", row, [_CELL + style for style in styles]) for row in rows]
    return f'<table style="{_TABLE}">{"".join(lines)}</table>'


def _write_row(tag, cells, styles):
    texts = [
        f'<{tag} style="{style}">{escape(cell)}</{tag}>'
        for cell, style in zip(cells, styles, strict=True)
    ]
    return f'<tr style="background:none">{"".join(texts)}</tr>'


def _write_image(name, display):
    text = "Reliability diagram" if name is None else f"Reliability diagram of {name}"
    data = b64encode(draw_diagram(display)).decode("ascii")
    return (
        f'<img alt="{escape(text)}" src="data:image/png;base64,{data}" '
        'style="width:320px;background:#fff;margin:0.5em 1.5em 0.5em 0">'
    )


def draw_diagram(display):
    """A small reliability diagram as PNG, on a figure that pyplot does not know of."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2, 4.2), layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    # What is drawn would be kept as attributes, and the figure with them.
    copy(display).plot(figure.add_subplot())
    stream = BytesIO()
    figure.savefig(stream, format="png", dpi=144, metadata={"Software": None})
    return stream.getvalue()
