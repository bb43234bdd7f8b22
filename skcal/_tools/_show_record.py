"""How records show themselves, in a terminal and in a notebook."""

from html import escape
from numbers import Integral, Real

# Arrays, lists and dictionaries with more elements are shown by their size alone, and tables by
# their first and last rows.
_MOST_SHOWN = 10
_SCROLLS = '<div style="overflow-x:auto">{}</div>'
_ROW = '<tr><th style="text-align:left">{}</th><td style="text-align:left">{}</td></tr>'


def as_record(cls):
    """Make a named tuple show itself in a few lines, whatever it holds.

    A result has a ``__str__`` of its own, the sentence that `print` and a notebook show.
    """
    cls.__repr__, cls._repr_html_ = show_record, show_html
    return cls


def show_record(record):
    """Text of a named tuple that stays short, without defaults; the ``__repr__`` of records."""
    fields = ", ".join(f"{name}={_show(value)}" for name, value in _list_told(record).items())
    return f"{type(record).__name__}({fields})"


def show_html(record):
    """What a notebook shows: the sentence of a record, if it has one, and tables."""
    fields = {name: value for name, value in _list_told(record).items() if value is not None}
    sentence, frame = str(record) if _has_sentence(record) else None, None
    if hasattr(record, "to_frame"):
        frame = record.to_frame()
        fields = {name: value for name, value in fields.items() if isinstance(value, Real | str)}
    return write_html(sentence, frame, fields)


def write_html(sentence, frame, fields=None):
    """A sentence or None, a data frame or None, and values by name; wide tables scroll."""
    parts = [] if sentence is None else [f"<p>{escape(sentence)}</p>"]
    if frame is not None:
        table = frame.to_html(max_rows=_MOST_SHOWN, float_format="{:.4g}".format, border=0)
        parts.append(_SCROLLS.format(table))
    if fields:
        rows = [_ROW.format(escape(key), escape(_show_cell(cell))) for key, cell in fields.items()]
        parts.append(_SCROLLS.format(f"<table>{''.join(rows)}</table>"))
    return "".join(parts)


def _list_told(record):
    """Fields by name, but those that hold their default, which is None, a number or a text."""
    defaults, fields = record._field_defaults, record._asdict()
    return {
        name: value
        for name, value in fields.items()
        if name not in defaults or repr(value) != repr(defaults[name])
    }


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
