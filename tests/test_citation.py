"""The citation file has what its format demands, and says what the package says of itself."""

import tomllib
from pathlib import Path

import yaml

import skcal

ROOT = Path(__file__).parents[1]


def test_citation_file():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert citation["authors"] == project["authors"]
    assert citation["version"] == skcal.__version__
    assert citation["license"] == project["license"]
    assert citation["keywords"] == project["keywords"]
    source = project.get("urls", {}).get("Source")
    assert citation.get("repository-code", source) == source
