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
    """A copy of what the tests of the package need, without what is made up."""
    root = tmp_path_factory.mktemp("walk")
    for folder in ("skcal", "tests", "doc"):
        ignored = shutil.ignore_patterns("__pycache__", "_build", "auto_examples", "generated")
        shutil.copytree(ROOT / folder, root / folder, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", root)
    return root


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_what_the_walk_adds_passes_the_common_tests(page, checkout):
    paths, commands = follow(page, checkout)
    assert commands
    for arguments in commands:
        result = run([*arguments, "-q", "-p", "no:cacheprovider"], checkout)
        assert result.returncode == 0, result.stdout + result.stderr
        # The doctest, the tests of its own and the common ones.
        assert int(re.search(r"^(\d+) passed", result.stdout, re.MULTILINE)[1]) > 10
    modules = [path for path in paths if path.endswith(".py")]
    for check in (["check"], ["format", "--check"]):
        result = run(["-m", "ruff", *check, "--no-cache", *modules], checkout)
        assert result.returncode == 0, result.stdout + result.stderr


def test_change():
    assert change("a\nb\nc\n", " b\n+d\n") == "a\nb\nd\nc\n"
    assert change("a\n\nb\nc\n", "-a\n\n+d\n b\n") == "\nd\nb\nc\n"
    for text in ("a\n", "b\nc\nb\n", "ab\n"):
        with pytest.raises(AssertionError):
            change(text, " b\n+d\n")
