"""Compiled code leaves the sums of NumPy, and is used where it pays."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from skcal._estimates import _cells
from skcal._numerics.cells import _compiled
from skcal._numerics.cells._cell_moments import add_rows, make_cells
from skcal.streaming import CalibrationSummary

# Ends, edges of cells and their neighbours, the smallest number, and ties.
LUMPS = [0, 0, 1, 1, 1, 0.5, np.nextafter(0.5, 1), np.nextafter(0.5, 0), 5e-324, 1e-310, 0.3, 0.3]


@pytest.fixture(params=["interpreted", "compiled"])
def kernel(request):
    """The pass over rows as Python runs it, which needs no numba, and as numba compiles it."""
    if request.param == "interpreted":
        return _compiled.add_chunk
    pytest.importorskip("numba", reason="numba is not installed", exc_type=ImportError)
    compiled = _compiled.load_kernel()
    assert compiled.py_func is _compiled.add_chunk
    return compiled


def make_rows(rng, kind, n=400):
    """Predictions, outcomes and weights, or None."""
    predictions = np.concatenate([LUMPS, rng.random(n), np.round(rng.random(n), 2)])
    outcomes = rng.random(len(predictions)) < predictions
    if "soft" in kind:
        outcomes = np.where(rng.random(len(predictions)) < 0.3, outcomes, predictions[::-1])
    weights = rng.exponential(size=len(predictions)) if "weight" in kind else None
    return predictions, outcomes, weights


@pytest.mark.parametrize("n_cells", [16, 2**14])
@pytest.mark.parametrize("kind", ["hard", "soft", "hard, weighted", "soft, weighted"])
def test_sums_are_those_of_numpy_to_the_last_bit(rng, kernel, kind, n_cells):
    chunks = [make_rows(rng, kind, n) for n in (400, 30, 500)]
    expected, found = make_cells(n_cells), make_cells(n_cells)
    assert add_rows(*expected, chunks) is add_rows(*found, chunks, kernel) is ("hard" in kind)
    for one, other in zip(found, expected, strict=True):
        assert_array_equal(one, other)
    assert expected[0].any()


def test_columns_and_arrays_that_are_not_to_be_written(rng, kernel):
    columns = np.column_stack(make_rows(rng, "soft, weighted"))
    columns.flags.writeable = False
    expected, found = make_cells(16), make_cells(16)
    add_rows(*expected, [tuple(columns.T)])
    add_rows(*found, [tuple(columns.T)], kernel)
    assert_array_equal(found[0], expected[0])


@pytest.mark.parametrize("kind", ["hard", "soft", "hard, weighted"])
def test_long_streams_are_compiled(rng, kernel, kind, monkeypatch):
    """From some number of rows on, however they are cut; nothing else tells."""
    batches, used = [make_rows(rng, kind) for _ in range(4)], []
    if "weight" in kind:
        batches[2][2][::3] = 0
    batches = [(y, proba, weights) for proba, y, weights in batches]
    expected = CalibrationSummary()
    for batch in batches:
        expected.update(*batch)

    def load_kernel():
        return lambda *args: (used.append(len(args[2])), kernel(*args))

    monkeypatch.setattr(_cells, "load_kernel", load_kernel)
    monkeypatch.setattr(_cells, "MANY_ROWS", 3 * len(batches[0][0]))
    summary = CalibrationSummary()
    for k, batch in enumerate(batches):
        summary.update(*batch)
        assert len(used) == max(k - 1, 0)
    assert summary == expected


def test_numba_is_not_needed(monkeypatch):
    load = _compiled.load_kernel.__wrapped__
    monkeypatch.setitem(sys.modules, "numba", None)  # what is not installed
    assert load() is None

    def refuse(**options):
        assert options == {"cache": True, "nogil": True}
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setitem(sys.modules, "numba", SimpleNamespace(njit=refuse))
    assert load() is None


def test_short_streams_do_not_import_numba(monkeypatch):
    monkeypatch.setattr(_cells, "load_kernel", pytest.fail)
    CalibrationSummary().update([0, 1], [0.25, 0.5])
