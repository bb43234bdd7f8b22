"""Files for packages, workflows and commits say the same as pyproject.toml and .ci/run."""

import ast
import importlib.util
import re
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import skcal

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read_yaml(path):
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def list_parts():
    """The parts of .ci/run, each of which is a function there."""
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    parts = re.search(r'^parts="(.+)"$', text, re.MULTILINE)[1].split()
    assert set(parts) <= set(re.findall(r"^(\w+)\(\) \{$", text, re.MULTILINE))
    return parts


def test_workflows_call_each_part_once():
    called = []
    for path in WORKFLOWS:
        for job in read_yaml(path)["jobs"].values():
            matrix = job.get("strategy", {}).get("matrix", {})
            for step in job.get("steps", []):
                if step.get("run", "").startswith(".ci/run "):
                    name = step["run"].removeprefix(".ci/run ")
                    called += matrix["part"] if name == "${{ matrix.part }}" else [name]
    assert sorted(called) == sorted(list_parts())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_use_files_that_exist(path):
    text = path.read_text(encoding="utf-8")
    for name in re.findall(r"(\.(?:ci|github)/[\w./]*\w)", text):
        assert (ROOT / name).is_file()


def test_workflows_run_on_each_python_that_is_promised():
    promised = [line.split(" :: ")[-1] for line in PROJECT["classifiers"]]
    promised = {version for version in promised if re.fullmatch(r"3\.\d+", version)}
    for path, job in [("tests", "newest"), ("packages", "wheel")]:
        jobs = read_yaml(f".github/workflows/{path}.yml")["jobs"]
        assert promised <= set(jobs[job]["strategy"]["matrix"]["python"])


def test_commits_are_checked_by_the_versions_of_the_tests():
    hooks = {
        repo["repo"].split("/")[-1]: repo["rev"]
        for repo in read_yaml(".pre-commit-config.yaml")["repos"]
    }
    test = PROJECT["optional-dependencies"]["test"]
    assert f"ruff=={hooks['ruff-pre-commit'].removeprefix('v')}" in test
    for tool, hook in [("mypy", "mirrors-mypy"), ("codespell", "codespell")]:
        (smallest,) = [line.split(">=")[1] for line in test if line.startswith(f"{tool}>=")]
        numbers = [tuple(map(int, v.split("."))) for v in (smallest, hooks[hook].removeprefix("v"))]
        assert numbers == sorted(numbers)


EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_need_only_what_the_package_needs(path):
    """They run where nothing but the package is installed, as the quickstart does."""
    needed = {re.match(r"[\w-]+", line)[0] for line in PROJECT["dependencies"]}
    needed = {"skcal", "sklearn", *needed, *sys.stdlib_module_names}
    imported = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module.split(".")[0])
    assert imported <= needed


def test_conda_recipe():
    recipe = read_yaml("conda/recipe.yaml")
    needed = [f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]]
    # The package of conda-forge that is called matplotlib also has Qt.
    needed = [line.replace("matplotlib", "matplotlib-base") for line in needed]
    requirements = recipe["requirements"]
    assert [line.replace(" ", "") for line in requirements["run"]] == needed
    host = {line.replace(" ", "") for line in requirements["host"]}
    assert {"pip", *PYPROJECT["build-system"]["requires"]} < host
    assert recipe["context"]["version"] == skcal.__version__
    assert recipe["about"]["license"] == PROJECT["license"]
    assert recipe["about"]["summary"] == PROJECT["description"]


def test_release_notes():
    path = ROOT / ".ci" / "write_release_notes.py"
    spec = importlib.util.spec_from_file_location("write_release_notes", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.read_version() == skcal.__version__
    changelog = "# Changelog\n\n## 0.2.0 (2027-01-02)\n\nNew.\n\n### Added\n\n- a\n\n"
    changelog += "## 0.1.0 (2026-12-01)\n\nOld.\n"
    assert module.find_notes("0.2.0", changelog) == "New.\n\n### Added\n\n- a"
    assert module.find_notes("0.1.0", changelog) == "Old."
    assert module.find_notes("0.3.0", changelog) is None
    assert module.find_notes("0.1.0", "## 0.1.0\n\nNo date.\n") is None


def test_messages_install_packages_of_the_extras():
    """By name: an extra of a package that no index has cannot be installed."""
    extras = PROJECT["optional-dependencies"]
    known = {re.match(r"[\w-]+", line)[0] for lines in extras.values() for line in lines}
    paths = [*ROOT.glob("skcal/**/*.py"), *ROOT.glob("doc/user_guide/*.rst")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    named = re.findall(r"""pip install (?:"\s+f?")?["'.]*([\w-]+(?: [\w-]+)*)""", text)
    named = [name for names in named for name in names.split()]
    assert {"skl2onnx", "onnxruntime", "tqdm", "dask", "array-api-compat", "numba"} <= set(named)
    assert set(named) <= known
    assert "skcal[" not in text
