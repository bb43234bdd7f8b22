"""Features of the rows, as columns of a regression."""

import numpy as np

from skcal._tools._arrays import read_numbers


def read_design(name, features, present):
    """Columns (n_features, n_rows) of the rows that the mask `present` marks, float64."""
    columns = read_numbers(name, features)
    if columns.ndim == 1:
        columns = columns[:, None]
    if columns.ndim != 2 or columns.shape[0] != len(present):
        raise ValueError(
            f"{name} must have the shape (n_samples, n_features) with a row for each of the "
            f"{len(present)} rows; got {columns.shape}."
        )
    columns = columns.astype(np.float64)[present]
    unknown = np.flatnonzero(~np.isfinite(columns).all(axis=1))
    if len(unknown):
        raise ValueError(f"{name} must be finite; got {columns[unknown[0]]} at row {unknown[0]}.")
    return columns.T
