"""Names of columns that say which label each column has, and whether these are in order."""

from functools import partial
from reprlib import repr as shorten

import numpy as np

from skcal._input._validation import show_labels


def find_places(columns, labels):
    """Place of each column among the labels by its name; None if columns have no or other names.

    A name is the label itself, the label between texts that all names share, as in "prob_good", or
    a text with exactly one of the labels in it.
    """
    if columns is None or len(columns) != len(labels):
        return None
    readings = _list_readings(columns, labels)
    return next((found for found in readings if sorted(found) == list(range(len(found)))), None)


def find_other_order(columns, labels):
    """The same if columns have another order than the labels, and otherwise None."""
    places = find_places(columns, labels)
    return None if places is None or places == sorted(places) else places


def find_order_of_tables(columns, others):
    """The same for two tables with a column for each label, whose names may all begin alike."""
    if columns is None or others is None:
        return None
    return find_other_order(columns, others) or find_other_order(columns, _strip_shared(others))


def _list_readings(columns, labels):
    """Yield places of the columns among the labels, -1 where there is none; the surest first."""
    for read in (str, _read_number, _fold):
        place = {read(label): at for at, label in enumerate(labels)}
        yield [place.get(read(name), -1) for name in columns]
    names = list(map(_fold, columns))
    for spell in (_fold, _spell_number):
        texts = list(map(spell, labels))
        yield _match_between_shared_texts(names, texts)
        yield list(map(partial(_find_contained, texts=texts), names))


def _read_number(label):
    """A number in whatever type, or text, it came; anything else as text."""
    try:
        return float(label)
    except (TypeError, ValueError):
        return str(label)


def _fold(label):
    return str(label).strip().casefold()


def _spell_number(label):
    """The number 1 as "1", whether it is True, 1 or 1.0."""
    number = _read_number(label)
    return str(int(number)) if isinstance(number, float) and number.is_integer() else _fold(label)


def _match_between_shared_texts(names, texts):
    """Places of names that are all one of the texts between the same two others."""
    first = names[0]
    for text in texts:
        start = first.find(text)
        while start >= 0:
            before, after = first[:start], first[start + len(text) :]
            place = {before + other + after: at for at, other in enumerate(texts)}
            if place.keys() == set(names):
                return [place[name] for name in names]
            start = first.find(text, start + 1)
    return [-1] * len(names)


def _find_contained(name, texts):
    """Place of the longest of the texts that stand in a name as words; -1 if it is not the only."""
    found = [at for at, text in enumerate(texts) if text in name and _has_word(name, text)]
    longest = max((len(texts[at]) for at in found), default=0)
    found = [at for at in found if len(texts[at]) == longest]
    return found[0] if len(found) == 1 else -1


def _has_word(name, text):
    """Whether a text stands in a name with neither a letter beside a letter, nor two digits."""
    start = name.find(text) if text else -1
    while start >= 0:
        stop = start + len(text)
        if not (_is_one_word(name[:start], text) or _is_one_word(text, name[stop:])):
            return True
        start = name.find(text, start + 1)
    return False


def _is_one_word(first, second):
    last, next_ = first[-1:], second[:1]
    return (last.isalpha() and next_.isalpha()) or (last.isdigit() and next_.isdigit())


def _strip_shared(names):
    """Names without the words that all begin with."""
    names = list(map(_fold, names))
    least, greatest = min(names), max(names)  # which differ first of all
    size = 0
    while size < len(least) and least[size] == greatest[size]:
        size += 1
    while size and any(_is_one_word(name[:size], name[size:]) for name in names):
        size -= 1
    return [name[size:] for name in names]


def check_same_columns(name, columns, other_name, others):
    """Raise a ValueError unless two tables, called as named, have the same names of columns.

    `columns` and `others` are what `list_column_names` returned.
    """
    if columns != others:
        raise ValueError(
            f"{name} must have the columns of {other_name}, in the same order; got "
            f"{shorten(columns)} and {shorten(others)}."
        )


def check_column_order(name, columns, labels, argument="labels"):
    """Raise a ValueError if columns bear the names of the labels in another order.

    `labels` are in the order in which columns are read. `argument` can name another order, if any.
    """
    if columns is None:
        return
    labels = np.asarray(labels)
    places = find_other_order(columns, labels.tolist())
    if places is not None:
        order = show_labels(labels[places])
        remedy = "" if argument is None else f", or pass {argument}={order}"
        raise ValueError(
            f"The columns of {name} are named after the labels in the order {order}, but read in "
            f"the order {show_labels(labels)}. Put them into that order{remedy}."
        )
