"""What can be imported: `__all__`, lazily loaded rooms, and no side effects."""

import ast
import inspect
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import skcal
from tests.public_objects import ROOMS, list_functions_and_classes

every_room = pytest.mark.parametrize("room", ROOMS.values(), ids=ROOMS)


# What several rooms take is defined below them, and public in one of them.
SHARED = {
    "skcal.inference": "skcal._input._groups",
    "skcal.metrics": "skcal._estimates._divergences",
    "skcal.regression": "skcal._input._predicted",
}


def is_own(room, module):
    """Whether a module belongs to a room, or holds what it shares with others."""
    return module.startswith((room.__name__, SHARED.get(room.__name__, room.__name__)))


def bound_names(room):
    """Public names that a room defines itself or takes from its own private modules."""
    names = set()
    for node in ast.parse(Path(room.__file__).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom) and is_own(room, node.module or ""):
            names |= {alias.asname or alias.name for alias in node.names}
    return {name for name in names if not name.startswith("_")}


@every_room
def test_all_names_what_is_public(room):
    assert sorted(room.__all__) == sorted(bound_names(room))
    assert set(room.__all__) <= set(dir(room))
    assert room.__doc__.partition("\n")[0].endswith(".")


API = Path(__file__).parents[1] / "doc" / "api"
SECTIONS = tomllib.loads((API / "sections.toml").read_text(encoding="utf-8"))


def test_the_api_pages_have_every_name_once():
    assert set(SECTIONS) == set(ROOMS)
    for room, sections in SECTIONS.items():
        names = [name for section in sections.values() for name in section]
        assert sorted(names) == sorted(ROOMS[room].__all__), room


def test_the_api_index_has_every_section_but_those_of_records():
    index = (API / "index.rst").read_text(encoding="utf-8")
    shown = re.findall(r'^\{\{ table\("(.+)", "(.+)"\) \}\}$', index, re.MULTILINE)
    expected = [
        (room, heading)
        for room, sections in SECTIONS.items()
        for heading in sections
        if not re.match(r"What \w+ (take|return|hold)", heading)
    ]
    assert sorted(shown) == sorted(expected)


def test_the_page_of_every_display_has_a_picture():
    """Programs as users would write them: they run, and draw one figure each."""
    displays = {name for name in ROOMS["diagrams"].__all__ if name.endswith("Display")}
    programs = sorted((API / "pictures").glob("*.py"))
    assert {path.stem for path in programs} == displays
    for path in programs:
        assert f"{path.stem}.from_" in path.read_text(encoding="utf-8")
        plt.close("all")
        runpy.run_path(str(path))
        assert len(plt.get_fignums()) == 1
    plt.close("all")


def test_public_objects_are_our_own_and_name_arguments_after_the_data():
    """Every public function takes at most two arguments by position, or a known triple."""
    triples = (["estimator", "X", "y"], ["measure", "y_true", "y_proba"])
    triples += (["y_true", "y_proba", "groups"], ["y_true", "y_proba", "baseline"])
    triples += (["y_true", "y_proba", "y_proba_new"], ["X_old", "X_new", "classifier"])
    triples += (["event", "time", "risk"], ["y_true", "y_proba", "k"])
    triples += (["y_true", "y_proba", "other"], ["y_true", "y_pred", "groups"])
    triples += (["y_true", "y_proba", "proxy"],)
    triples += (["y_true", "y_proba", "X"], ["y_true", "y_pred", "X"])
    for path, obj in list_functions_and_classes().items():
        assert is_own(ROOMS[path.split(".")[1]], obj.__module__), path
        if inspect.isroutine(obj):
            parameters = inspect.signature(obj).parameters.values()
            names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
            assert len(names) <= 2 or names in triples, path


def test_top_level():
    assert isinstance(skcal.__version__, str)
    assert list(skcal.__all__) == sorted(skcal.__all__)
    assert dir(skcal) == skcal.__all__
    for name, room in ROOMS.items():
        assert getattr(skcal, name) is room
    with pytest.raises(AttributeError, match=r"^module 'skcal' has no attribute 'attic'$"):
        _ = skcal.attic
    described = re.findall(r"^(\w[\w, ]*)\n    \S", skcal.__doc__, re.MULTILINE)
    assert sorted(", ".join(described).split(", ")) == skcal.__all__


def test_what_is_in_a_room_is_not_in_the_package():
    """Every public name tells where it is."""
    names = {name for room in ROOMS.values() for name in room.__all__} - set(skcal.__all__)
    for name in names:
        places = [f"skcal.{place}" for place, room in ROOMS.items() if name in room.__all__]
        hint = f"it is in {' and '.join(places)}: from {places[0]} import {name}$"
        with pytest.raises(
            AttributeError, match=f"^module 'skcal' has no attribute '{name}'; {hint}"
        ):
            getattr(skcal, name)


def test_import_and_random_numbers_leave_the_process_alone():
    """Rooms are loaded on first use, matplotlib never; nothing global is changed."""
    code = """
import sys, warnings
import skcal
loaded = {name.partition(".")[0] for name in sys.modules}
assert loaded.isdisjoint({"numpy", "sklearn", "matplotlib"}), loaded
assert dir(skcal) == skcal.__all__
assert not hasattr(skcal, "__wrapped__")
assert not hasattr(skcal, "_attic")
assert "numpy" not in sys.modules
for room in skcal.__all__:
    assert f"skcal.{room}" not in sys.modules or room in vars(skcal)
import numpy as np
import scipy.optimize, scipy.special, scipy.fft
import sklearn.base, sklearn.metrics, sklearn.model_selection, sklearn.calibration
look = lambda: (list(warnings.filters), np.geterr(), np.random.get_state()[1].tolist())
before = look()
for room in skcal.__all__:
    assert getattr(skcal, room).__name__ == f"skcal.{room}"
assert look() == before
assert {"matplotlib", "onnx", "skl2onnx", "onnxruntime"}.isdisjoint(sys.modules)
import matplotlib
matplotlib.use("Agg")
settings = dict(matplotlib.rcParams)
problem = skcal.datasets.make_temperature_family(50, inverse_temperature=2)
y, X = (problem.y_true > 0.5).astype(int), problem.y_proba[:, None]
skcal.recalibration.RandomizedSmoothing().fit(X, y).transform(X)
skcal.metrics.kernel_calibration_error(y, X, method="subsample")
skcal.diagrams.ReliabilityDisplay.from_predictions(y, X, interval=True)
skcal.inference.confidence_interval(y, X, n_resamples=10)
assert look()[1:] == before[1:]
assert dict(matplotlib.rcParams) == settings
"""
    arguments = [sys.executable, "-W", "error", "-c", code]
    run = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""
