"""Print the smallest versions of all that skcal reads, by pyproject.toml, as constraints."""

import re
import tomllib
from pathlib import Path

# Tools of the tests are as new as they come.
TOOLS = {"pytest", "pytest-xdist", "pytest-cov", "hypothesis", "numpydoc"}
TOOLS |= {"hatchling", "ruff", "mypy", "codespell"}

project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
for requirement in project["dependencies"] + project["optional-dependencies"]["test"]:
    name, version = re.fullmatch(r"([\w-]+)(?:\[.*\])?[>=]=(.*)", requirement).groups()
    if name not in TOOLS:
        print(f"{name}=={version}")
# What matplotlib was released with; the newest one warns of how it is used.
print("pyparsing==3.1.0")
