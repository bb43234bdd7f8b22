"""from_dict: what was written comes back, and nothing else is taken for a summary."""

import json

import numpy as np
import pytest

from skcal.streaming import CalibrationSummary

MISSING = "(missing)"


def write(**settings):
    """Data of four cells, of which the third holds several predictions."""
    summary = CalibrationSummary(n_cells=64, **settings)
    summary.update([0, 1, 1, 0, 1], [0.0, 0.25, 0.5, 0.495, 1.0])
    return json.loads(json.dumps(summary.to_dict()))


def replace(data, path, value):
    for step in path[:-1]:
        data = data[step]
    if value is MISSING:
        del data[path[-1]]
    else:
        data[path[-1]] = value


CELLS = ("problems", 0)
NOT_FINITE = "sums must be finite and not negative"
OUTSIDE = "places must lie in their cells"
NOT_WHOLE = "cells must be whole numbers"
CHANGES = [
    (("format",), "skcal.GroupedSummary", r"with format 'skcal\.CalibrationSummary'"),
    (("version",), 2, "version 2 of the format; this skcal reads versions up"),
    (("version",), True, "version True of the format"),
    (("n_samples",), -1, "n_samples must be at least 0"),
    (("n_samples",), MISSING, "it lacks 'n_samples'"),
    (("dropped", "y_true"), -1, "dropped y_true must be at least 0"),
    (("dropped", "y_true"), None, "dropped y_true must be an integer; got None"),
    (("dropped",), [], r"not a complete skcal\.CalibrationSummary"),
    (("negative",), 1, "negative must be 0, -1 or null; got 1"),
    (("settings",), None, "not a complete"),
    (("settings", "n_cells"), 128, "n_cells is 64 here and 128 there"),
    (("settings", "n_cells"), 2**50, "n_cells must be at most 16777216"),
    (("settings", "pos_label"), [1], r"pos_label must be a single label.*got \[1\]"),
    (("settings", "reduction"), "classwise", "its settings ask for 2 problems"),
    (("settings", "on_invalid"), MISSING, "it lacks 'on_invalid'"),
    (("problems",), 3, "not a complete"),
    (("problems",), [], "its settings ask for 1 problems"),
    ((*CELLS, "n_rows"), -3, "n_rows must be at least 0"),
    ((*CELLS, "is_counted"), 1, "is_counted must be a boolean; got 1"),
    ((*CELLS, "cells"), [0, 16, 32], "places must be 3"),
    ((*CELLS, "cells", 1), 16.5, NOT_WHOLE),
    ((*CELLS, "cells", 1), 0, "cells must be increasing"),
    ((*CELLS, "cells", 0), -1, "cells must be increasing"),
    ((*CELLS, "cells", 3), 65, "cells must be increasing numbers from 0 to 64"),
    ((*CELLS, "cells", 1), 17, OUTSIDE),
    ((*CELLS, "places", 1), 0.75, OUTSIDE),
    ((*CELLS, "places", 1), np.nan, OUTSIDE),
    ((*CELLS, "places", 1), "0.25", "places must be numbers"),
    ((*CELLS, "places"), [], "places must be 4"),
    ((*CELLS, "sums", 0, 2, 0), np.nan, NOT_FINITE),
    ((*CELLS, "sums", 0, 2, 0), np.inf, NOT_FINITE),
    ((*CELLS, "sums", 0, 2, 0), -1.0, NOT_FINITE),
    ((*CELLS, "sums", 0, 2, 0), 1.5, "sums of counted rows must be whole"),
    ((*CELLS, "sums", 1, 2, 0), 1.5, "sums of higher powers must not be larger"),
    ((*CELLS, "sums", 3), [], "not a complete"),
]


@pytest.mark.parametrize(("path", "value", "message"), CHANGES)
def test_corrupt_data_are_refused(path, value, message):
    data = write()
    assert CalibrationSummary.from_dict(data).n_samples_ == 5
    replace(data, path, value)
    with pytest.raises(ValueError, match=message):
        CalibrationSummary.from_dict(data)


@pytest.mark.parametrize("data", [{"version": 1}, [1, 2]])
def test_what_is_no_summary_at_all(data):
    with pytest.raises(ValueError, match=r"format 'skcal\.CalibrationSummary'"):
        CalibrationSummary.from_dict(data)


def test_whole_numbers_may_have_lost_their_points():
    """JavaScript writes 1.0 as 1."""
    data = write()
    cells = data["problems"][0]
    cells["places"] = [int(v) if v in (0.0, 1.0) else v for v in cells["places"]]
    cells["sums"] = [
        [[int(v) if v == int(v) else v for v in pair] for pair in power] for power in cells["sums"]
    ]
    expected = CalibrationSummary.from_dict(write())
    assert CalibrationSummary.from_dict(json.loads(json.dumps(data))) == expected


@pytest.mark.parametrize("weights", ["none", "zeros and ones", "any", "tiny"])
@pytest.mark.parametrize(
    ("reduction", "soft"), [("auto", True), ("classwise", False), ("top-label", True)]
)
def test_what_was_written_comes_back(weights, reduction, soft):
    rng = np.random.default_rng(11)
    n = 10_000
    proba = np.where(rng.random(n) < 0.1, np.round(rng.random(n), 1), rng.random(n) ** 30)
    w = {
        "none": None,
        "zeros and ones": rng.integers(0, 2, n),
        "any": rng.exponential(size=n),
        "tiny": 10.0 ** rng.uniform(-320, -99, n),
    }[weights]
    y = rng.random(n) if soft else rng.integers(0, 2, n)
    empty = summary = CalibrationSummary(n_cells=256, reduction=reduction)
    for i in np.array_split(np.arange(n), 3):
        part = CalibrationSummary(n_cells=256, reduction=reduction)
        summary = summary + part.update(y[i], proba[i], None if w is None else w[i])
    for one in (summary, empty):
        text = json.dumps(one.to_dict(), allow_nan=False)
        assert CalibrationSummary.from_dict(json.loads(text)) == one
