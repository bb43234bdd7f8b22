"""How records show themselves, in a terminal and in a notebook."""

from html import escape
from numbers import Integral, Real

# Arrays, lists and dictionaries with more elements are shown by their size alone, and tables by
# their first and last rows.
_MOST_SHOWN = 10
_ROW = '<tr><th style="text-align:left">{}</th><td style="text-align:left">{}</td></tr>'


def as_record(cls):
    """Make a named tuple show itself in a few lines, whatever it holds."""
    cls.__repr__, cls._repr_html_ = show_record, show_html
    return cls


def show_record(record):
    """Text of a named tuple that stays short; the ``__repr__`` of records."""
    fields = ", ".join(f"{name}={_show(value)}" for name, value in record._asdict().items())
    return f"{type(record).__name__}({fields})"


def show_html(record):
    """What a notebook shows: the sentence of a record, if it has one, and tables."""
    fields, parts = record._asdict(), []
    if _has_sentence(record):
        parts.append(f"<p>{escape(str(record))}</p>")
    if hasattr(record, "to_frame"):
        frame = record.to_frame()
        parts.append(frame.to_html(max_rows=_MOST_SHOWN, float_format="{:.4g}".format, border=0))
        fields = {name: value for name, value in fields.items() if isinstance(value, Real | str)}
    rows = [_ROW.format(escape(name), escape(_show_cell(value))) for name, value in fields.items()]
    return "".join([*parts, f"<table>{''.join(rows)}</table>"])


def _has_sentence(value):
    return type(value).__str__ is not object.__str__ and hasattr(value, "_fields")


def _show_cell(value):
    if isinstance(value, str | Integral) or _has_sentence(value):
        return str(value)
    return f"{value:.4g}" if isinstance(value, Real) else _show(value)


def _show(value):
    kind = type(value).__name__
    shape = getattr(value, "shape", ())
    if isinstance(shape, tuple) and len(shape) and value.size > _MOST_SHOWN:
        return f"<{kind} of shape {shape}>"
    if type(value) in (list, tuple):
        if len(value) > _MOST_SHOWN:
            return f"<{kind} of {len(value)}>"
        items = ", ".join(map(_show, value)) + ("," if kind == "tuple" and len(value) == 1 else "")
        return f"[{items}]" if kind == "list" else f"({items})"
    return repr(value)
