"""The HTML form of a report, for notebooks."""

import os
from base64 import b64encode
from copy import copy
from html import escape
from io import BytesIO
from pathlib import Path

from skcal.report._sections import judge_recalibration, list_sections
from skcal.report._text import LEGEND, list_overview, write_overall

TITLE = "Calibration report"
# Colours are those of the page, so that light and dark ones both do.
_TABLE = "border-collapse:collapse;font-size:85%;line-height:1.35;background:none;margin:0"
_HEAD = "padding:0.1em 0 0.1em 0.8em;border:none;border-bottom:1px solid"
_CELL = "padding:0.1em 0 0.1em 0.8em;border:none"
_LEFT, _RIGHT = ";text-align:left;padding-left:0", ";text-align:right"
_PLAIN = ";background:none;color:inherit"
# Tables stand beside the diagram in as many columns as fit, and below it on narrow screens.
_BESIDE = "display:flex;flex-wrap:wrap;align-items:flex-start;gap:0.5em 2em"
_COLUMNS = "flex:1 1 20em;min-width:0;columns:23em;column-gap:2.5em"
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
</head>
<body style="font-family:sans-serif;line-height:1.4;max-width:80em;margin:1.5em auto;padding:0 1em">
<h1 style="font-size:1.5em;margin:0">{title}</h1>
<p style="font-size:85%;margin:0.2em 0 1.5em">{origin}</p>
{report}
</body>
</html>
"""


def write_html(report):
    """The whole report as HTML that needs no style sheet."""
    return f'<div style="color:inherit"><strong>{TITLE}</strong>{_write_parts(report)}</div>'


def write_page(report, path, title):
    """The report as a page by itself; None if it is written to a file."""
    path = None if path is None else _check_path(path)
    if not isinstance(title, str) or not title.strip():
        raise ValueError(f"title must be a string that is not empty; got {title!r}.")
    made = [] if report.created is None else [f"{report.created:%Y-%m-%d}"]
    made += [] if report.version is None else [f"skcal {report.version}"]
    page = _PAGE.format(title=escape(title), origin=", ".join(made), report=_write_parts(report))
    if path is None:
        return page
    path.write_text(page, encoding="utf-8")
    return None


def _write_parts(report):
    """All but the title."""
    parts = []
    if len(report.models) > 1:
        table = _write_table(*list_overview(report), n_left=2)
        parts.append(f'<div style="overflow-x:auto">{table}</div>')
        parts.append(f"<p>{escape(write_overall(report))}</p>")
    parts += [
        _write_model(name, model, report.confidence_level) for name, model in report.models.items()
    ]
    parts.append(f'<p style="font-size:85%;max-width:60em;margin:1.5em 0">{escape(LEGEND)}</p>')
    return "".join(parts)


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
    title = f"{'Verdict' if name is None else name}: {model.verdict}"
    tables = []
    for section in list_sections(model, confidence_level):
        head = (section.title, *(section.columns or ("",)))
        table = _write_table(head, section.rows, 1 if section.columns else 2, ";width:100%")
        tables.append(f'<div style="break-inside:avoid;padding-bottom:0.8em">{table}</div>')
    return (
        f'<h2 style="font-size:1.15em;margin:1.5em 0 0.3em;color:inherit">{escape(title)}</h2>'
        f'<p style="max-width:60em;margin:0.3em 0 0.8em">{escape(model.sentence)} '
        f"{escape(judge_recalibration(model))}</p>"
        f'<div style="{_BESIDE}">{_write_figure(name, model.diagram, confidence_level)}'
        f'<div style="{_COLUMNS}">{"".join(tables)}</div></div>'
    )


def _write_table(head, rows, n_left, style=""):
    styles = [_PLAIN + (_LEFT if column < n_left else _RIGHT) for column in range(len(head))]
    if n_left == 2:
        styles[1] += ";padding-left:0.8em"
    if len(head) == 2:  # the second cell is a text
        styles[0] += ";white-space:nowrap;vertical-align:top"
    lines = [_write_row("th", head, [f"{_HEAD}{style};vertical-align:bottom" for style in styles])]
    styles[n_left:] = [f"{style};white-space:nowrap" for style in styles[n_left:]]
    lines += [_write_row("td", row, [_CELL + style for style in styles]) for row in rows]
    return f'<table style="{_TABLE}{style}">{"".join(lines)}</table>'


def _write_row(tag, cells, styles):
    texts = [
        f'<{tag} style="{style}">{escape(cell)}</{tag}>'
        for cell, style in zip(cells, styles, strict=True)
    ]
    return f'<tr style="background:none">{"".join(texts)}</tr>'


def _write_figure(name, display, confidence_level):
    text = "Reliability diagram" if name is None else f"Reliability diagram of {name}"
    data = b64encode(draw_diagram(display)).decode("ascii")
    caption = _describe_band(display, confidence_level)
    return (
        '<figure style="margin:0;flex:0 1 24em;min-width:0">'
        f'<img alt="{escape(text)}" src="data:image/png;base64,{data}" '
        'style="width:100%;background:#fff;display:block">'
        f'<figcaption style="font-size:85%;margin-top:0.3em">{caption}</figcaption></figure>'
    )


def _describe_band(display, confidence_level):
    """What the band of the diagram holds."""
    (curve,) = display.curves
    if "band" not in curve.layers:
        return ""
    level = f"{100 * confidence_level:g} %"
    if curve.layers["band"].kind == "isotonic":
        return f"The band contains the whole curve with {level} confidence, if that increases."
    return f"The band has {level} confidence at each prediction by itself."


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
