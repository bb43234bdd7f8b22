"""How records show themselves."""

# Arrays, lists and dictionaries with more elements are shown by their size alone.
_MOST_SHOWN = 10


def show_record(record):
    """Text of a named tuple that stays short whatever it holds; the ``__repr__`` of records."""
    fields = ", ".join(f"{name}={_show(value)}" for name, value in record._asdict().items())
    return f"{type(record).__name__}({fields})"


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
