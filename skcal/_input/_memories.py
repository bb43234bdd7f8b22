"""How far those look back who learn from a stream."""

from skcal._input._validation import check_integer


def check_memories(memories):
    """Memories as a tuple, or a ValueError."""
    if not isinstance(memories, tuple | list) or not memories:
        raise ValueError(
            f"memories must be a tuple of numbers of rows, or None for all; got {memories!r}."
        )
    checked = tuple(
        None if rows is None else check_integer("memories", rows, minimum=1, maximum=10**12)
        for rows in memories
    )
    if len(set(checked)) < len(checked):
        raise ValueError(f"memories must be distinct; got {memories!r}.")
    return checked
