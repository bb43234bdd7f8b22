"""The bibliography holds what is cited in docstrings, pages and examples, and nothing else."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "doc" / "bibliography.rst"
BUILT = {"_build", "auto_examples", "generated"}
DOI = re.compile(r":doi:`([^`]+)`")
# An entry of one line that begins with an initial, which would be read as a list: "C. Elkan".
INITIAL = re.compile(r"^( *)(?:- |\.\. \[\d+\] )([A-Z]\. .*)\n(?!\1 +\S)", re.MULTILINE)
# Authors and year of a numbered reference.
REFERENCE = re.compile(r"^ *\.\. \[\d+\] (.+?\(\d{4}\))\.", re.MULTILINE | re.DOTALL)


def list_sources():
    """Modules, pages but the bibliography, and examples."""
    patterns = ("skcal/**/*.py", "doc/**/*.rst", "examples/**/*.py", "examples/**/*.rst")
    paths = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    return [p for p in paths if p != PAGE and BUILT.isdisjoint(p.relative_to(ROOT).parts)]


def read(path):
    return path.read_text(encoding="utf-8")


def test_every_doi_is_listed_once_and_every_listed_one_is_cited():
    listed = DOI.findall(read(PAGE))
    assert len(listed) == len(set(listed))
    cited = {doi for path in list_sources() for doi in DOI.findall(read(path))}
    assert set(listed) - cited == set()
    assert cited - set(listed) == set()
    assert all(re.fullmatch(r"10\.\d{4,}/\S+", doi) for doi in listed)


def test_every_reference_is_listed():
    known = " ".join(read(PAGE).split())
    references = {
        (str(path.relative_to(ROOT)), " ".join(reference.split()))
        for path in list_sources()
        for reference in REFERENCE.findall(read(path))
    }
    assert len(references) > 60
    missing = {(path, name) for path, name in references if f"- {name}." not in known}
    assert missing == set()


def test_no_entry_is_read_as_a_list():
    assert INITIAL.search("- C. Elkan (2001). Costs.\n- D. Day")
    assert not INITIAL.search("- C. Elkan (2001). Costs.\n  IJCAI 17.\n")
    found = [found[1] for path in (PAGE, *list_sources()) for found in INITIAL.findall(read(path))]
    assert found == []


def test_first_authors_are_in_order():
    entries = re.findall(r"^- (.+?)(?:,| \()", read(PAGE), re.MULTILINE)
    plain = str.maketrans("łé", "le")
    surnames = [re.sub(r"^(?:\S+\. )+", "", name).translate(plain) for name in entries]
    assert len(surnames) > 40
    assert surnames == sorted(surnames)
