"""Texts where numbers are needed."""

import re

_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?\s*%?", re.IGNORECASE)


def is_number(text):
    """Whether Python reads the text as a number, NaN among them."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def has_decimal_comma(text):
    """Whether the text is a number with a decimal comma, or per cent of one."""
    return _DECIMAL_COMMA.fullmatch(text.strip()) is not None


def advise_on_texts(name, items):
    """End of a message about items of which some are texts: how to read numbers from them."""
    texts = [
        item.decode(errors="replace") if isinstance(item, bytes) else str(item) for item in items
    ]
    if any(text.strip().endswith("%") for text in texts):
        comma = ".str.replace(',', '.')" if any(map(has_decimal_comma, texts)) else ""
        return (
            f" Of per cent pass pandas.Series({name}){comma}.str.rstrip('% ').astype(float) / 100."
        )
    if any(map(has_decimal_comma, texts)):
        return f" Of decimal commas pass pandas.Series({name}).str.replace(',', '.').astype(float)."
    n_strange = sum(not is_number(text) for text in texts)
    if n_strange == 0:
        return f" Pass numpy.asarray({name}, dtype=float)."
    are_none = "is no number" if n_strange == 1 else "are no numbers"
    found = f" {n_strange} of {len(texts)} {are_none}."
    if 2 * n_strange > len(texts):
        return found
    return (
        f"{found} pandas.to_numeric(..., errors='coerce') has NaN for these; leave out their rows, "
        "and report how many there are."
    )
