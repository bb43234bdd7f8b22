"""Print the smallest versions of the dependencies that pyproject.toml allows, as constraints."""

import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
for dependency in project["dependencies"]:
    print(dependency.replace(">=", "=="))
