"""The benchmark of every call finds what is public, and can call it; nothing is timed here."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

from skcal import metrics
from tests.public_objects import is_record, list_functions_and_classes

# They hold what others have computed, or what a caller has thought of.
WITHOUT_CALLS = {
    "metrics.BregmanDivergence",
    "inference.FeatureRule",
    "diagrams.ReliabilityCurve",
    "diagrams.SharpnessCurve",
}
# A measure, not a test; `blocks` keep its time down.
WITHOUT_PROGRESS = {"regression.distribution_kernel_calibration_error"}


@pytest.fixture
def calls(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    return importlib.import_module("calls")


def test_all_that_is_public_has_a_call(calls):
    """A function by its name, a class by a way to make or use it with rows."""
    found = {name for call in calls.list_calls() for name in (call, call.rpartition(".")[0])}
    expected = {
        path.partition(".")[2]
        for path, member in list_functions_and_classes().items()
        if not (is_record(member) or path.endswith("Error") or inspect.isabstract(member))
    }
    assert expected - found == WITHOUT_CALLS


def test_every_call_can_be_made(calls):
    """All arguments that it needs are known, which are computed here for a few rows."""
    few = {}
    for name in calls.list_calls():
        kind = calls.choose_rows(name)
        rows = few.setdefault(kind, kind(40))
        if not ("dask" in name and importlib.util.find_spec("dask") is None):
            assert callable(calls.make_call(name, rows))


def test_a_new_function_has_a_call_or_is_named(calls, monkeypatch):
    def new_measure(y_true, y_proba, *, option=None):
        return y_true, y_proba

    def strange_measure(y_true, unheard_of):
        raise AssertionError

    for function in (new_measure, strange_measure):
        monkeypatch.setattr(metrics, function.__name__, function, raising=False)
    monkeypatch.setattr(metrics, "__all__", [*metrics.__all__, "new_measure", "strange_measure"])
    rows = calls.Rows(40)
    assert {"metrics.new_measure", "metrics.strange_measure"} <= {*calls.list_calls()}
    assert calls.make_call("metrics.new_measure", rows)() == (rows.y_true, rows.y_proba)
    with pytest.raises(LookupError, match=r"strange_measure needs unheard_of, which calls\.py"):
        calls.make_call("metrics.strange_measure", rows)


def test_calls_that_take_long_show_progress(calls):
    """Those that the page names: more than 5 s with 10^5 rows."""
    table = Path(__file__).parents[1] / "doc" / "tables" / "every_call.txt"
    (line,) = re.findall(r"^More than 5 s with 10\^5 rows: (.*)\.$", table.read_text("utf-8"), re.M)
    named = re.findall("``(.*?)``", line)
    assert named
    for name in {*named} - WITHOUT_PROGRESS:
        members = [one for one in calls.find_members(name) if one]
        assert any("progress" in inspect.signature(one).parameters for one in members), name
