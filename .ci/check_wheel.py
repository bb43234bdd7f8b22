"""Check that a wheel holds the package and its metadata, and nothing else."""

import sys
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).parent.parent

(wheel,) = sys.argv[1:]
found = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
wanted = {
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "skcal").rglob("*")
    if path.suffix == ".py" or path.name == "py.typed"
}
if found != wanted:
    sys.exit(f"{wheel} lacks {sorted(wanted - found)}; too many: {sorted(found - wanted)}.")
print(f"{wheel} holds {len(found)} files of the package and nothing else.")
