"""Warnings of examples are errors when the gallery is built; those of Sphinx are not."""

import warnings
from contextlib import ExitStack

_filters = ExitStack()


def raise_warnings(gallery_conf, fname, when):
    """Change the filters before an example and change them back after it."""
    _filters.close()
    if when == "before":
        _filters.enter_context(warnings.catch_warnings())
        warnings.simplefilter("error")
