"""Summaries as plain data, for JSON, and as tables."""

from copy import deepcopy

import numpy as np
import pandas as pd

from skcal._numerics._cell_moments import ORDER, SEVERAL, average_cells, make_cells, split_pairs
from skcal.streaming._cells import Cells
from skcal.streaming._rows import REASONS

FORMAT = "skcal.CalibrationSummary"
VERSION = 1


def pack_summary(settings, state, cells):
    """Settings, counts and cells of a summary as a dict of plain types; see `unpack_summary`."""
    packed = {"format": FORMAT, "version": VERSION, "settings": deepcopy(settings), **state}
    return packed | {"problems": [_pack_cells(one) for one in cells]}


def unpack_summary(data, names):
    """Settings, counts and cells from the dict that `pack_summary` made.

    Parameters
    ----------
    data : dict
    names : tuple of str
        Names of the settings.

    Returns
    -------
    settings, state : dict
    cells : list of Cells
    """
    check_format(data, FORMAT, VERSION)
    try:
        settings = {name: data["settings"][name] for name in names}
        dropped = {reason: int(data["dropped"][reason]) for reason in REASONS}
        state = {"n_samples": int(data["n_samples"]), "dropped": dropped}
        cells = [_unpack_cells(one, settings["n_cells"]) for one in data["problems"]]
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise ValueError(f"data is not a complete {FORMAT}: {error!r}.") from None
    return settings, state, cells


def check_format(data, name, latest):
    """Raise a ValueError unless `data` has this format in a version that is known."""
    if not isinstance(data, dict) or data.get("format") != name:
        raise ValueError(f"data must be what to_dict gave, with format {name!r}.")
    version = data.get("version")
    if not isinstance(version, int) or not 1 <= version <= latest:
        raise ValueError(
            f"data has version {version!r} of the format; this skcal reads versions up to "
            f"{latest}. Update skcal."
        )


def _pack_cells(cells):
    """The cells that are not empty; a place of None stands for several predictions."""
    filled = np.flatnonzero(~np.isnan(cells.places))
    places = cells.places[filled]
    return {
        "n_rows": cells.n_rows,
        "is_counted": cells.is_counted,
        "cells": filled.tolist(),
        "places": [None if place == SEVERAL else place for place in places.tolist()],
        "sums": split_pairs(cells.sums[:, filled]).tolist(),
    }


def _unpack_cells(data, n_cells):
    sums, places = make_cells(n_cells)
    filled = np.array(data["cells"], dtype=np.intp)
    if len(filled) and not 0 <= filled.min() <= filled.max() <= n_cells:
        raise ValueError("cells lie outside [0, 1]")
    places[filled] = [SEVERAL if place is None else place for place in data["places"]]
    powers = np.array(data["sums"], dtype=np.float64).reshape(ORDER, len(filled), 2)
    sums.real[:, filled], sums.imag[:, filled] = powers[0::2], powers[1::2]
    if data["is_counted"] is not True and data["is_counted"] is not False:
        raise TypeError("is_counted is neither true nor false")
    return Cells(sums, places, int(data["n_rows"]), data["is_counted"])


def tabulate_cells(problems, labels):
    """Table of the cells that are not empty, problem by problem."""
    tables = []
    for number, cells in enumerate(problems):
        n_cells = len(cells.places) - 1
        predictions, outcomes, weights, filled = average_cells(*cells.moments_and_places)
        table = pd.DataFrame(
            {
                "low": filled / n_cells,
                "high": (filled + 1) / n_cells,
                "weight": weights,
                "mean_prediction": predictions,
                "mean_outcome": outcomes,
            }
        )
        if labels is not None:
            table.insert(0, "label", [labels[number]] * len(table))
        tables.append(table)
    return pd.concat(tables, ignore_index=True) if len(tables) > 1 else tables[0]
