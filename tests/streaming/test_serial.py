"""from_dict: what was written comes back, and nothing else is taken for a summary or groups."""

import json

import numpy as np
import pytest

from skcal.streaming import CalibrationSummary, GroupedSummary
from tests.damage import MISSING, change
from tests.streaming.calls import pass_through_json

CELLS = ("problems", 0)
OUTSIDE = "places must lie in their cells"
INCOMPLETE = r"not a complete skcal\.CalibrationSummary"
CHANGES = [
    (("format",), "skcal.GroupedSummary", r"with format 'skcal\.CalibrationSummary'"),
    (("version",), 2, "version 2 of the format; this skcal reads versions up"),
    (("n_samples",), -1, "n_samples must be at least 0"),
    (("n_samples",), MISSING, "it lacks 'n_samples'"),
    (("dropped", "y_true"), None, "dropped y_true must be an integer; got None"),
    (("dropped",), [], INCOMPLETE),
    (("negative",), 1, "negative must be 0, -1 or null; got 1"),
    (("settings", "n_cells"), 128, "n_cells is 64 here and 128 there"),
    (("settings", "pos_label"), [1], r"pos_label must be a single label.*got \[1\]"),
    (("settings", "reduction"), "classwise", "its settings ask for 2 problems"),
    (("settings", "on_invalid"), MISSING, "it lacks 'on_invalid'"),
    (("problems",), [], "its settings ask for 1 problems"),
    ((*CELLS, "n_rows"), -3, "n_rows must be at least 0"),
    ((*CELLS, "is_counted"), 1, "is_counted must be a boolean; got 1"),
    ((*CELLS, "cells"), [0, 16, 32], "places must be 3"),
    ((*CELLS, "cells", 1), 16.5, "cells must be whole numbers"),
    ((*CELLS, "cells", 1), 0, "cells must be increasing"),
    ((*CELLS, "cells", 3), 65, "cells must be increasing numbers from 0 to 64"),
    ((*CELLS, "cells", 1), 17, OUTSIDE),
    ((*CELLS, "places", 1), 0.75, OUTSIDE),
    ((*CELLS, "places", 1), "0.25", "places must be numbers"),
    ((*CELLS, "places"), [], "places must be 4"),
    ((*CELLS, "sums", 0, 2, 0), np.inf, "sums must be finite and not negative"),
    ((*CELLS, "sums", 0, 2, 0), -1.0, "sums must be finite and not negative"),
    ((*CELLS, "sums", 0, 2, 0), 1.5, "sums of counted rows must be whole"),
    ((*CELLS, "sums", 1, 2, 0), 1.5, "sums of higher powers must not be larger"),
]


def make_summary(**settings):
    """Four cells, of which the third holds several predictions."""
    summary = CalibrationSummary(n_cells=64, **settings)
    return summary.update([0, 1, 1, 0, 1], [0.0, 0.25, 0.5, 0.495, 1.0])


GROUPS = GroupedSummary(n_cells=64).update([0, 1], [0.25, 0.5], by=["a", "b"])
GROUP = GROUPS["a"].to_dict()
KEY = ("groups", 0, 0)
OTHER = ("groups", 1, 1)
NEGATIVE = CalibrationSummary(n_cells=64).update([-1], [0.5]).to_dict()
CHANGES_OF_GROUPS = [
    (("groups", 1), ["a", GROUP], "keys must be distinct"),
    *((KEY, key, "Keys must be text") for key in ({"a": 1}, [["a"], 1], None)),
    (KEY, [], "keys must have parts"),
    (OTHER, CalibrationSummary(n_cells=32).to_dict(), "n_cells is 64 in one and 32 in another"),
    (OTHER, make_summary(on_invalid="drop").to_dict(), "on_invalid is 'raise' in one and 'drop'"),
    (OTHER, NEGATIVE, "got both 0 and -1"),
    (("groups",), 3, r"not a complete skcal\.GroupedSummary"),
    (("empty",), GROUP, "empty must hold no rows"),
    (("empty",), MISSING, "it lacks 'empty'"),
]


def test_corrupt_data_are_refused():
    for summary, changes in ((make_summary(), CHANGES), (GROUPS, CHANGES_OF_GROUPS)):
        data = summary.to_dict()
        assert type(summary).from_dict(json.loads(json.dumps(data))) == summary
        for path, value, message in changes:
            with pytest.raises(ValueError, match=message):
                type(summary).from_dict(change(data, path, value))


def test_what_is_no_summary_at_all():
    for data in ({"version": 1}, [1, 2]):
        with pytest.raises(ValueError, match=r"format 'skcal\.CalibrationSummary'"):
            CalibrationSummary.from_dict(data)


def test_whole_numbers_may_have_lost_their_points():
    """JavaScript writes 1.0 as 1."""

    def shorten(part):
        if isinstance(part, list):
            return [shorten(one) for one in part]
        return int(part) if isinstance(part, float) and part == int(part) else part

    data = make_summary().to_dict()
    cells = data["problems"][0]
    cells |= {name: shorten(cells[name]) for name in ("places", "sums")}
    assert CalibrationSummary.from_dict(json.loads(json.dumps(data))) == make_summary()


@pytest.mark.parametrize("weights", ["zeros and ones", "any", "tiny"])
@pytest.mark.parametrize("reduction", ["auto", "classwise", "top-label"])
def test_what_was_written_comes_back(rng, weights, reduction):
    n = 10_000
    proba = np.where(rng.random(n) < 0.1, np.round(rng.random(n), 1), rng.random(n) ** 30)
    w = {
        "zeros and ones": rng.integers(0, 2, n),
        "any": rng.exponential(size=n),
        "tiny": 10.0 ** rng.uniform(-320, -99, n),
    }[weights]
    y = rng.integers(0, 2, n) if reduction == "classwise" else rng.random(n)
    empty = CalibrationSummary(n_cells=256, reduction=reduction)
    parts = np.array_split(np.arange(n), 3)
    summary = sum(pass_through_json(empty).update(y[i], proba[i], w[i]) for i in parts)
    for one in (summary, empty):
        assert pass_through_json(one) == one
