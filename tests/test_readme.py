"""What the README shows and links to exists; its tour is run as a doctest."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "pattern", [r"\]\(([^)]+)\)", r'<img src="([^"]+)"'], ids=["links", "images"]
)
def test_relative_targets_exist(pattern):
    targets = [t for t in re.findall(pattern, README) if not t.startswith("https://")]
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_the_picture_is_small():
    (picture,) = re.findall(r'<img src="([^"]+)"', README)
    content = (ROOT / picture).read_bytes()
    assert content.startswith(b"\x89PNG")
    assert len(content) < 60_000
