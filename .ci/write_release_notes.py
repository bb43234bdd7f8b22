"""Print what the changelog says of a version, if a tag such as ``v0.1.0`` may publish it."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def read_version():
    """The version of the package."""
    text = (ROOT / "skcal" / "__init__.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)[1]


def find_notes(version, changelog):
    """The section of a version, whose heading is such as ``## 0.1.0 (2026-12-01)``."""
    heading = rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)\n"
    found = re.search(rf"{heading}(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found and found[1].strip()


if __name__ == "__main__":
    (tag,) = sys.argv[1:]
    version = read_version()
    notes = find_notes(version, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    if tag != f"v{version}" or not re.fullmatch(r"\d+\.\d+\.\d+", version):
        sys.exit(f"The tag {tag} is not that of version {version}, or this is no release.")
    if not notes:
        sys.exit(f"CHANGELOG.md has no section with the heading '## {version} (YYYY-MM-DD)'.")
    print(notes)
