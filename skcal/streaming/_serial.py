"""Summaries as plain data, for JSON, and as tables."""

from copy import deepcopy

import numpy as np
import pandas as pd

from skcal._estimates._cells import Cells
from skcal._input._batches._batch_rows import REASONS
from skcal._input._batches._plain_data import (
    check_format,
    errors_named,
    read_plain_numbers,
    require,
)
from skcal._input._validation import check_integer
from skcal._numerics.cells._cell_moments import (
    ORDER,
    SEVERAL,
    average_cells,
    make_cells,
    split_pairs,
)

FORMAT = "skcal.CalibrationSummary"
VERSION = 1


def pack_summary(settings, state, cells):
    """Settings, counts and cells of a summary as a dict of plain types; see `unpack_state`."""
    packed = {"format": FORMAT, "version": VERSION, "settings": deepcopy(settings), **state}
    return packed | {"problems": [_pack_cells(one) for one in cells]}


def unpack_settings(data, names):
    """Settings from the dict that `pack_summary` made; `names` are those of all settings."""
    check_format(data, FORMAT, VERSION)
    with errors_named(FORMAT):
        return {name: data["settings"][name] for name in names}


def unpack_state(data, n_cells, n_problems):
    """Counts and cells from the dict that `pack_summary` made, or a ValueError.

    `n_cells` and `n_problems` are what the settings ask for.
    """
    with errors_named(FORMAT):
        negative, problems = data["negative"], data["problems"]
        dropped = {
            key: check_integer(f"dropped {key}", data["dropped"][key], 0, np.inf) for key in REASONS
        }
        n_samples = check_integer("n_samples", data["n_samples"], 0, np.inf)
        is_label = negative is None or (type(negative) is int and negative in (0, -1))
        require(is_label, f"negative must be 0, -1 or null; got {negative!r}")
        require(len(problems) == n_problems, f"its settings ask for {n_problems} problems")
        cells = [_unpack_cells(one, n_cells) for one in problems]
    return {"n_samples": n_samples, "dropped": dropped, "negative": negative}, cells


def _pack_cells(cells):
    """The cells that are not empty; a place of None stands for several predictions."""
    filled = np.flatnonzero(~np.isnan(cells.places))
    places = cells.places[filled]
    return {
        "n_cells": len(cells.places) - 1,
        "n_rows": cells.n_rows,
        "is_counted": cells.is_counted,
        "cells": filled.tolist(),
        "places": [None if place == SEVERAL else place for place in places.tolist()],
        "sums": split_pairs(cells.sums[:, filled]).tolist(),
    }


def _unpack_cells(data, n_cells):
    require(data["n_cells"] == n_cells, f"n_cells is {data['n_cells']!r} here and {n_cells} there")
    n_rows, is_counted = check_integer("n_rows", data["n_rows"], 0, np.inf), data["is_counted"]
    require(isinstance(is_counted, bool), f"is_counted must be a boolean; got {is_counted!r}")
    n_filled = len(data["cells"])
    filled = read_plain_numbers("cells", data["cells"], (n_filled,), "iu").astype(np.intp)
    is_increasing = ((filled >= 0) & (filled <= n_cells)).all() and (np.diff(filled) > 0).all()
    require(is_increasing, f"cells must be increasing numbers from 0 to {n_cells}")
    alone = np.array([place is not None for place in data["places"]], dtype=bool)
    require(len(alone) == n_filled, f"places must be {n_filled}, one for each cell")
    known = [place for place in data["places"] if place is not None]
    known = read_plain_numbers("places", known, (len(known),), "iuf")
    is_inside = ((known >= 0) & (known <= 1)).all()
    is_inside = is_inside and (np.ceil(known * n_cells) == filled[alone]).all()
    require(is_inside, "places must lie in their cells")
    powers = read_plain_numbers("sums", data["sums"], (ORDER, n_filled, 2), "iuf").astype(
        np.float64
    )
    require(((powers >= 0) & (powers < np.inf)).all(), "sums must be finite and not negative")
    # Places in a cell are at most 1, measured in cells.
    require((np.diff(powers, axis=0) <= 0).all(), "sums of higher powers must not be larger")
    require(not is_counted or (powers[0] % 1 == 0).all(), "sums of counted rows must be whole")
    sums, places = make_cells(n_cells)
    places[filled] = SEVERAL
    places[filled[alone]] = known
    sums.real[:, filled], sums.imag[:, filled] = powers[0::2], powers[1::2]
    return Cells(sums, places, n_rows, is_counted)


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
