"""p-values of draws know whether they are as small as the draws let them be."""

# Shares of draws that differ by less, relative to their size, are equal up to rounding.
_ROUNDING = 1e-9


class LeastPValue(float):
    """The smallest p-value that so many draws can give: a bound, as more could give a smaller."""

    __slots__ = ()


def mark_least(pvalue, least):
    """A p-value, a `LeastPValue` if it is `least`, the smallest that was possible."""
    return LeastPValue(pvalue) if abs(pvalue - least) <= _ROUNDING * least else float(pvalue)


def carry_least(pvalue, *sources):
    """A p-value that is made of others, a `LeastPValue` if it could be smaller if each could."""
    is_least = pvalue < 1 and all(isinstance(source, LeastPValue) for source in sources)
    return LeastPValue(pvalue) if is_least else float(pvalue)
