"""What tests and intervals ask of a summary."""

from skcal.streaming import CalibrationSummary


def check_summary(argument, summary):
    """Return the cells of a summary of one binary problem with independent rows, or raise."""
    if not isinstance(summary, CalibrationSummary):
        raise TypeError(f"{argument} must be a CalibrationSummary; got {type(summary).__name__}.")
    if summary.reduction not in ("auto", "confidence"):
        raise ValueError(
            f"{argument} must hold one binary problem with independent rows, as with "
            f"reduction='auto' or 'confidence'; got reduction={summary.reduction!r}."
        )
    ((_, cells),) = summary.to_cells()
    if cells.total_weight == 0:
        raise ValueError(f"{argument} must hold rows; got an empty summary.")
    return cells
