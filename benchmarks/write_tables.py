"""Write the tables of the documentation that benchmarks print, to ``doc/tables``.

``python benchmarks/write_tables.py`` runs all of `TABLES`; arguments choose some by their names.
"""

import subprocess
import sys
from pathlib import Path

# What each benchmark prints is reStructuredText, up to its last table.
TABLES = {
    "smooth_ece": "bench_smooth_ece.py",
    "distance": "bench_distance.py",
    "peers": "bench_peers.py",
}
HERE = Path(__file__).parent
TARGET = HERE.parent / "doc" / "tables"


def main(names):
    for name in names:
        command = [sys.executable, str(HERE / TABLES[name])]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        table, rule, _ = printed.rpartition("==\n")
        (TARGET / f"{name}.txt").write_text(table + rule)
        print(printed)


if __name__ == "__main__":
    main(sys.argv[1:] or list(TABLES))
