"""What can be imported: `__all__`, lazily loaded rooms, and no side effects."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import skcal
from tests.public_objects import ROOMS, list_functions_and_classes, list_methods

every_room = pytest.mark.parametrize("room", ROOMS.values(), ids=ROOMS)


def bound_names(room):
    """Public names that a room defines itself or takes from its own private modules."""
    names = set()
    for node in ast.parse(Path(room.__file__).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(room.__name__):
            names |= {alias.asname or alias.name for alias in node.names}
    return {name for name in names if not name.startswith("_")}


@every_room
def test_all_names_what_is_public(room):
    assert len(room.__all__) == len(set(room.__all__))
    assert set(room.__all__) == bound_names(room)
    for name in room.__all__:
        assert hasattr(room, name)
        assert name in dir(room)


@every_room
def test_room_says_what_it_is(room):
    assert room.__doc__
    assert room.__doc__.partition("\n")[0].endswith(".")


def test_public_objects_are_our_own():
    objects = list_functions_and_classes()
    assert objects
    for path, obj in objects.items():
        assert obj.__module__.startswith(path.rpartition(".")[0]), path


def test_every_public_callable_has_a_docstring():
    for path, obj in (list_functions_and_classes() | list_methods()).items():
        assert inspect.getdoc(obj), path


def test_arguments_after_the_data_are_named():
    """Every public function takes at most two arguments by position, or a known triple."""
    triples = (["estimator", "X", "y"], ["measure", "y_true", "y_proba"])
    for path, function in list_functions_and_classes().items():
        if inspect.isroutine(function):
            parameters = inspect.signature(function).parameters.values()
            names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
            assert len(names) <= 2 or names in triples, path


def test_top_level():
    assert isinstance(skcal.__version__, str)
    assert list(skcal.__all__) == sorted(skcal.__all__)
    assert set(skcal.__all__) < set(dir(skcal))
    for name, room in ROOMS.items():
        assert getattr(skcal, name) is room
    with pytest.raises(AttributeError, match="module 'skcal' has no attribute 'attic'"):
        _ = skcal.attic


def test_names_are_listed_once():
    assert skcal.metrics  # which is then among the globals too
    assert len(dir(skcal)) == len(set(dir(skcal)))


def test_docstring_tells_of_every_room():
    described = re.findall(r"^(\w[\w, ]*)\n    \S", skcal.__doc__, re.MULTILINE)
    assert sorted(", ".join(described).split(", ")) == skcal.__all__


def run_in_fresh_python(code):
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_import_loads_rooms_on_first_use_and_matplotlib_never():
    code = """
import sys
import skcal
loaded = {name.partition(".")[0] for name in sys.modules}
assert loaded.isdisjoint({"numpy", "sklearn", "matplotlib"}), loaded
assert set(skcal.__all__) < set(dir(skcal))
for room in skcal.__all__:
    assert f"skcal.{room}" not in sys.modules or room in vars(skcal)
    assert getattr(skcal, room).__name__ == f"skcal.{room}"
assert "sklearn" in sys.modules
assert "matplotlib" not in sys.modules
"""
    assert run_in_fresh_python(code) == ""


def test_import_leaves_global_state_alone():
    code = """
import warnings
import numpy as np
import scipy.optimize, scipy.special, scipy.fft
import sklearn.base, sklearn.metrics, sklearn.model_selection, sklearn.calibration
before = list(warnings.filters), np.geterr(), np.random.get_state()[1].tolist()
import skcal
rooms = [getattr(skcal, room) for room in skcal.__all__]
assert (list(warnings.filters), np.geterr(), np.random.get_state()[1].tolist()) == before
"""
    assert run_in_fresh_python(code) == ""


def test_random_numbers_leave_the_global_state_alone():
    code = """
import numpy as np
from skcal.datasets import make_temperature_family
from skcal.metrics import kernel_calibration_error
from skcal.recalibration import RandomizedSmoothing
import matplotlib
matplotlib.use("Agg")
from skcal.diagrams import ReliabilityDisplay
before = np.random.get_state()[1].tolist()
problem = make_temperature_family(50, inverse_temperature=2)
y = (problem.y_true > 0.5).astype(int)
RandomizedSmoothing().fit(problem.y_proba[:, None], y).transform(problem.y_proba[:, None])
kernel_calibration_error(y, problem.y_proba, method="subsample")
ReliabilityDisplay.from_predictions(y, problem.y_proba, n_resamples=2)
assert np.random.get_state()[1].tolist() == before
"""
    assert run_in_fresh_python(code) == ""
