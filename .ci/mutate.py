"""Change the formulas in small ways, one at a time, and see whether a test notices.

    python .ci/mutate.py              # every module below: some hours on two cores
    python .ci/mutate.py _binned _cox # or some of them, minutes each

The command needs `pip install "mutmut>=3.8"`. It works on copies of the repository in a temporary
folder, prints each change that no test noticed, and at last the share of those that were noticed.
Each module is tested by its own tests, and what these do not notice by those of the modules that
import it; not by the whole suite, which would take days: a change should be noticed by the tests
that are about the formula. Tests that use polars are left out, and files where helpers do: they
need processes that were not forked, which takes fifteen seconds for each change.
"""

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "skcal"
NUMERICS = PACKAGE / "_numerics"

# What is changed: the formulas, the entrance for user input, and samples.
MODULES = {
    path.stem: path
    for path in (
        *sorted(NUMERICS.rglob("_*.py")),
        *(PACKAGE / "_input" / f"_{n}.py" for n in ("reduction", "sample")),
    )
    if path.stem != "__init__"
}
# Exit codes of a run of the tests, as mutmut keeps them: a test failed, or none came to its end.
# Others, such as those of no tests at all, mean that nobody noticed.
FAILED = {1, 3}
TIMED_OUT = {-24, 24, 36, 152, 255}


@cache
def _read_imports(path):
    """Full names of the modules of skcal that a file imports from, and of what it imports."""
    nodes = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.ImportFrom)]
    return {n.module for n in nodes} | {
        f"{n.module}.{name.name}" for n in nodes for name in n.names
    }


def _find_importers(path, files):
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    return [file for file in files if name in _read_imports(file)]


def _find_own_tests(file):
    """The tests named after a module; where none are, those of its room that name what it holds."""
    room = file.parent.relative_to(PACKAGE).as_posix().removeprefix("_")
    if NUMERICS in file.parents:  # whose tests lie side by side
        room = "numerics"
    own = ROOT / "tests" / room / f"test_{file.stem.removeprefix('_')}.py"
    if own.exists():
        return {own}
    names = [
        node.name
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")
    ]
    tests = [] if room == "." else (ROOT / "tests" / room).rglob("test_*.py")
    return {test for test in tests if set(names) & set(re.findall(r"\w+", test.read_text()))}


def _find_tests(path):
    """The tests of a module, and with them those of what reads it, as lists of files.

    The first have its name or import it. The latter are those of the modules that import it, and in
    turn of what imports formulas or has no tests.
    """
    modules = [file for file in PACKAGE.rglob("*.py") if file.stem != "__init__"]
    own = set(_find_importers(path, (ROOT / "tests").rglob("test_*.py"))) | _find_own_tests(path)
    if path.parent == PACKAGE:
        own.add(ROOT / "tests" / "test_common.py")
    tests = set(own)
    if "skcal._tools._arrays" in _read_imports(path):  # branches for other libraries than NumPy
        tests.add(ROOT / "tests" / "test_array_api.py")
    waiting = [path]
    for file in waiting:  # which grows
        found = _find_own_tests(file)
        tests |= found
        if file == path or NUMERICS in file.parents or not found:
            waiting += [one for one in _find_importers(file, modules) if one not in waiting]
    return [sorted(str(file.relative_to(ROOT)) for file in files) for files in (own, tests)]


def _find_threaded(names):
    """The tests in some files that use polars, or whole files, as pytest calls them.

    A fork of a process in which polars has started threads may wait for them for ever.
    """
    for name in names:
        text = (ROOT / name).read_text()
        tests = {
            node.name: range(
                min(one.lineno for one in [node, *node.decorator_list]), node.end_lineno + 1
            )
            for node in ast.parse(text).body
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        }
        for number, line in enumerate(text.splitlines(), start=1):
            if re.search(r"\bpl\.|import .*\bWAYS\b", line):
                found = [test for test, lines in tests.items() if number in lines]
                yield "::".join([name, *found])


def _copy_tracked(copy):
    """Copy the repository, and return the names of what lies in it."""
    tracked = subprocess.run(
        ["git", "ls-files", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    names = tracked.stdout.split("\0")[:-1]
    for name in names:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    return names


def _run(source, copy, tests, mutants=()):
    """The exit code of the tests for each change of a file, or for some of them."""
    shutil.rmtree(copy, ignore_errors=True)  # mutmut would keep what other tests had found
    names = _copy_tracked(copy)
    deselected = [f"--deselect={test}" for test in _find_threaded(tests)]
    others = sorted({name.split("/")[0] for name in names} - {"skcal"})  # tests read some of them
    with open(copy / "pyproject.toml", "a") as file:
        file.write(
            "\n[tool.mutmut]\n"
            'source_paths = ["skcal"]\n'
            f"also_copy = {json.dumps(others)}\n"
            f"only_mutate = {json.dumps([source])}\n"
            f"pytest_add_cli_args_test_selection = {json.dumps(tests)}\n"
            "timeout_multiplier = 3.0\n"
            "timeout_constant = 15.0\n"
            f"pytest_add_cli_args = {json.dumps(deselected)}\n"
        )
    # One thread for each process, because the processes already use all cores.
    alone = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    with open(copy / "mutmut.log", "w") as log:
        subprocess.run(
            [sys.executable, "-m", "mutmut", "run", "--max-children", "1", *mutants],
            cwd=copy,
            env=os.environ | alone,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    results = copy / "mutants" / f"{source}.meta"
    codes = json.loads(results.read_text())["exit_code_by_key"] if results.exists() else {}
    wanted = {name: codes.get(name) for name in mutants or codes}
    if not wanted or None in wanted.values():
        end = (copy / "mutmut.log").read_text()[-2000:]
        raise RuntimeError(f"mutmut did not finish {source}:\n{end}")
    return wanted


def _is_survivor(code):
    return code not in FAILED | TIMED_OUT


def _mutate(module, folder):
    """The exit code of the tests for each change of one module; the copy holds the changes."""
    source, codes = str(MODULES[module].relative_to(ROOT)), {}
    own, tests = _find_tests(MODULES[module])
    if own:
        codes = _run(source, folder / module, own)
    survivors = [name for name, code in codes.items() if _is_survivor(code)]
    if tests != own and (survivors or not codes):
        codes |= _run(source, folder / module, tests, survivors)
    return codes


def _show(copy, mutant):
    shown = subprocess.run(
        [sys.executable, "-m", "mutmut", "show", mutant],
        cwd=copy,
        check=True,
        capture_output=True,
        text=True,
    )
    return "\n".join(shown.stdout.splitlines()[3:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", metavar="module", help=" ".join(MODULES))
    parser.add_argument("--keep", type=Path, help="where to leave the copies and their results")
    arguments = parser.parse_args()
    if unknown := set(arguments.modules) - set(MODULES):
        parser.error(f"no such module: {' '.join(sorted(unknown))}")
    modules = arguments.modules or list(MODULES)
    noticed = changes = late = 0
    with (
        tempfile.TemporaryDirectory() as temporary,
        ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        folder = (arguments.keep or Path(temporary)).resolve()
        for module, codes in zip(
            modules, pool.map(lambda module: _mutate(module, folder), modules), strict=True
        ):
            survivors = [name for name, code in codes.items() if _is_survivor(code)]
            for mutant in survivors:
                print(f"--- {mutant}", _show(folder / module, mutant), sep="\n")
            n_late = sum(code in TIMED_OUT for code in codes.values())
            n_noticed = len(codes) - len(survivors)
            print(f"== {module}: {n_noticed} of {len(codes)} noticed, {n_late} by time", flush=True)
            noticed, changes, late = noticed + n_noticed, changes + len(codes), late + n_late
    print(f"== {noticed} of {changes} noticed, {noticed / changes:.1%}; {late} by time")


if __name__ == "__main__":
    main()
