"""The walks of the contributing guide, followed in a copy of the package."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ("add_a_measure", "add_a_recalibrator", "add_a_diagram")
# How many files of the package each walk makes or changes.
FILES = {"add_a_measure": 3, "add_a_recalibrator": 2, "add_a_diagram": 3}
# What the pages add, and the tests that look at all public objects at once.
NEW = (
    "threshold or Threshold or shrinkage or Shrinkage or cumulative_residual or CumulativeResidual"
    " or center or every or all or public or documented or docstring or tables or listed"
)
# The export asks for a formula; the others do not know what is new.
UNAWARE = ("export", "monitoring", "numerics", "survival")
PYTEST = ["-m", "pytest", "-q", "-n", "auto", "-p", "no:cacheprovider"]
BLOCK = re.compile(
    r"^\.\. code-block:: (?P<language>python|diff|console)\n"
    r"(?:   :caption: (?P<path>\S+)\n)?"
    r"\n(?P<body>(?:   .*\n|\n)+)",
    re.MULTILINE,
)


def read_blocks(page):
    """Language, path and text of the code blocks of a page."""
    text = (ROOT / "doc" / "contributing" / f"{page}.rst").read_text(encoding="utf-8")
    assert text.count(".. code-block::") == len(BLOCK.findall(text)) > 0
    return [
        (found["language"], found["path"], textwrap.dedent(found["body"]).strip("\n") + "\n")
        for found in BLOCK.finditer(text)
    ]


def change(text, difference):
    """A text with the change of one block: its other lines must occur exactly once."""
    lines = [line or " " for line in difference.splitlines()]
    assert {line[0] for line in lines} <= set(" +-")
    before = "".join(f"{line[1:]}\n" for line in lines if line[0] != "+")
    after = "".join(f"{line[1:]}\n" for line in lines if line[0] != "-")
    assert f"\n{text}".count(f"\n{before}") == 1, before
    return f"\n{text}".replace(f"\n{before}", f"\n{after}")[1:]


def follow(page, root):
    """Do what a page says to the files under `root`; return the files and its commands."""
    paths, commands = [], []
    for language, path, text in read_blocks(page):
        if language == "console":
            joined = text.replace("\\\n", " ")
            assert all(line.startswith("$ python -m ") for line in joined.splitlines())
            commands += [shlex.split(line)[2:] for line in joined.splitlines()]
            continue
        paths.append(path)
        if language == "diff":
            text = change((root / path).read_text(encoding="utf-8"), text)
        else:
            assert not (root / path).exists(), path
        (root / path).write_text(text, encoding="utf-8")
    return list(dict.fromkeys(paths)), commands


def run(arguments, root):
    """Run a Python module in the copy, which comes before the installed package."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root), "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the checkout, without what is made."""
    root = tmp_path_factory.mktemp("walk") / "skcal"
    made = "__pycache__", "_build", "auto_examples", "generated", ".git", ".venv", ".*_cache"
    shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(*made))
    data = ROOT.parent / "shared"
    if data.exists():
        (root.parent / "shared").symlink_to(data)
    return root


@pytest.mark.slow
def test_what_all_walks_add_is_green(checkout):
    product = {}
    for page in PAGES:
        paths, commands = follow(page, checkout)
        product[page] = {path for path in paths if path.startswith("skcal/")}
        counts = []
        for arguments in commands:
            result = run([*arguments, "-q", "-p", "no:cacheprovider"], checkout)
            assert result.returncode == 0, result.stdout + result.stderr
            counts.append(int(re.search(r"^(\d+) passed", result.stdout, re.MULTILINE)[1]))
        # The doctest, the tests of its own and the common ones.
        assert min(counts) > 1
        assert sum(counts) > 10
    assert {page: len(paths) for page, paths in product.items()} == FILES
    for arguments in (
        ["-m", "ruff", "check", "--no-cache"],
        ["-m", "ruff", "format", "--check", "--no-cache"],
        ["-m", "mypy"],
        [*PYTEST, "-k", NEW, "tests", *(f"--ignore=tests/{room}" for room in UNAWARE)],
    ):
        result = run(arguments, checkout)
        assert result.returncode == 0, result.stdout + result.stderr


def test_change():
    assert change("a\nb\nc\n", " b\n+d\n") == "a\nb\nd\nc\n"
    assert change("a\n\nb\nc\n", "-a\n\n+d\n b\n") == "\nd\nb\nc\n"
    for text in ("a\n", "b\nc\nb\n", "ab\n"):
        with pytest.raises(AssertionError):
            change(text, " b\n+d\n")
