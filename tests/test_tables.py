"""Tables of the documentation: each is written by a benchmark, says of what, and is shown."""

import importlib.util
import re
from pathlib import Path

import pytest

from tests.chance import most_of

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "doc").rglob("*.rst")


def list_tables():
    """Which benchmark writes which table."""
    path = ROOT / "benchmarks" / "write_tables.py"
    spec = importlib.util.spec_from_file_location("write_tables", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.TABLES


def test_errors_of_the_table_are_no_more_than_chance():
    """Of tests at 5 %, and of intervals and bands at 95 %."""
    _, _, table = (ROOT / "doc" / "tables" / "coverage.txt").read_text("utf-8").partition("===\n")
    rows = re.findall(r"  (\d+) +(\w.*)$", table, re.MULTILINE)
    assert len(rows) > 40
    for n_samples, found in rows:
        for what, share in re.findall(r"([^,]+?) (\d+\.\d)(?:,|$)", found):
            assert float(share) * int(n_samples) / 100 <= most_of(int(n_samples), 0.05) + 1, what


def test_tables_are_those_that_pages_show():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    shown = re.findall(r"include:: (?:../)?tables/(\w+)\.txt", text)
    assert sorted(shown) == sorted(list_tables())
    assert sorted(shown) == sorted(path.stem for path in (ROOT / "doc" / "tables").glob("*.txt"))


@pytest.mark.parametrize("name", list_tables())
def test_table_names_its_machine(name):
    """Or, where it holds no times, the commit and its day."""
    assert (ROOT / "benchmarks" / list_tables()[name]).exists()
    first = (ROOT / "doc" / "tables" / f"{name}.txt").read_text(encoding="utf-8").splitlines()[0]
    of_times = r"a sort takes [\d.]+ ms and a pass [\d.]+ ms\.$"
    of_errors = r"^Commit \w+ of [\d-]{10}\.$"
    assert re.search(of_errors if name in ("coverage", "few_events") else of_times, first)
