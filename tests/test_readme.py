"""What the README shows and links to exists; its tour is run as a doctest."""

import re
import shutil
from email import message_from_string
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
    assert [target for target in targets if not (ROOT / target.partition("#")[0]).exists()] == []


def test_anchors_are_headings():
    anchors = re.findall(r"\]\(([^)#]+)#([^)]+)\)", README)
    assert anchors
    for page, anchor in anchors:
        headings = re.findall(
            r"^(.+)\n([-=~^])\2+$", (ROOT / page).read_text("utf-8"), re.MULTILINE
        )
        assert anchor in {re.sub(r"[^a-z0-9]+", "-", text.lower()) for text, _ in headings}


def test_the_picture_is_small():
    (picture,) = re.findall(r'<img src="([^"]+)"', README)
    content = (ROOT / picture).read_bytes()
    assert content.startswith(b"\x89PNG")
    assert len(content) < 60_000


@pytest.mark.parametrize("version", ["1.2.3.dev0", "1.2.3"])
@pytest.mark.parametrize("source", [None, "https://host.example/skcal"])
def test_readme_in_the_packages(source, version, tmp_path, monkeypatch):
    """Links are as in the README, or lead to the public repository if there is one."""
    build = pytest.importorskip("hatchling.build", reason="the extra test is not installed")
    for name in ("hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "skcal").mkdir()
    (tmp_path / "skcal" / "__init__.py").write_text(f'__version__ = "{version}"\n')
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    pyproject = re.sub(r"\[project\.urls\]\n(.+\n)*", "", pyproject)
    if source:
        pyproject += f'\n[project.urls]\nSource = "{source}"\n'
    (tmp_path / "pyproject.toml").write_text(pyproject, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / build.prepare_metadata_for_build_wheel(str(tmp_path))
    metadata = message_from_string((folder / "METADATA").read_text(encoding="utf-8"))
    text = metadata.get_payload()
    if source is None:
        assert text == README
        return
    assert metadata["Project-URL"] == f"Source, {source}"
    where = "v1.2.3" if version == "1.2.3" else "main"
    assert f"]({source}/blob/{where}/doc/peers.rst)" in text
    assert f'src="{source}/raw/{where}/doc/_static/quickstart.png"' in text
    assert re.findall(r'(?:\]\(|src=")(?!https://)', text) == []
