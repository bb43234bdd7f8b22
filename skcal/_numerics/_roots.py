"""Roots of functions that hold rows."""

from scipy.optimize import brentq


def find_root(function, low, high, **options):
    """Brent's root of a function between two ends, where its signs differ.

    SciPy leaves a cycle of references behind, which would keep what the function reads until Python
    looks for garbage.
    """
    held = [function]
    try:
        return brentq(lambda *x: held[0](*x), low, high, **options)
    finally:
        held.clear()
