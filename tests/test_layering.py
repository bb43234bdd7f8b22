"""Imports point downwards only, and each kind of import stays where it belongs."""

import ast
import re
from pathlib import Path

import skcal

# From the bottom up. Rooms of one level do not know each other.
LEVELS = (
    {"__version__", "_tools"},
    {"_numerics"},
    {"_input"},
    {"_estimates", "_fitting"},
    {"recalibration", "metrics", "datasets"},
    {"_refinement", "_sources"},
    {"refinement", "streaming", "monitoring"},
    {"inference"},
    {"regression"},
    {"shift", "survival"},
    {"model_selection"},
    {"diagrams", "scorers"},
    {"report", "export", "_command"},
    {"__main__"},
)
LEVEL = {room: height for height, rooms in enumerate(LEVELS) for room in rooms}

# The modules that look at the values of user input, and what they look with. Checks of lengths
# and of fitted attributes see no values and are free.
ENTRANCES = {"skcal._input._reduction", "skcal._input._validation", "skcal._fitting._folds"}
ENTRANCES |= {"skcal.recalibration._base", "skcal.regression._base_regression"}
ENTRANCES |= {"skcal._input._risk_curves"}
VALIDATION = ("sklearn.utils.validation", "sklearn.utils.multiclass", "sklearn.utils.check_array")
VALIDATION += ("sklearn.utils.check_X_y", "sklearn.utils.column_or_1d", "sklearn.utils.indexable")
FREE = ("check_consistent_length", "check_is_fitted", "check_random_state")

PACKAGE = Path(skcal.__file__).parent


def name_module(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_module(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def list_imports(tree, package):
    """Yield the full name of every import, and whether it runs when the module is imported.

    What only annotations need is left out.
    """
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    deferred, for_types = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, functions):
            deferred |= set(map(id, ast.walk(node)))
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for_types |= set(map(id, ast.walk(node)))
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) + 1 - node.level]
            base = ".".join([*(parents if node.level else ()), *filter(None, [node.module])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            yield name, id(node) not in deferred


def explain_import(module, name, immediate):
    """What is wrong with the import of `name` in `module`, or None."""
    (_, room, *_), (root, *path) = (*module.split("."), "__init__"), name.split(".")
    if root == "skcal" and room != "__init__":
        target = path[0] if path else "__init__"
        if room not in LEVEL or (target not in LEVEL and target != room):
            return "has no level in LEVELS of this test"
        if target != room and LEVEL[target] >= LEVEL[room]:
            return "does not point downwards"
        if target != room and any(part.startswith("_") for part in path[1:]):
            return "is private to another room" if not target.startswith("_") else None
    if root == "sklearn":
        if room == "_numerics":
            return "does not belong into formulas"
        if any(part.startswith("_") for part in path):
            return "is private to scikit-learn"
        if name.startswith(VALIDATION) and path[-1] not in FREE and module not in ENTRANCES:
            return "belongs to the entrance, _reduction"
    if root in ("matplotlib", "mpl_toolkits") and immediate:
        return "must wait until something is drawn"
    return None


def find_violations(module, source, *, is_package=False):
    package = module if is_package else module.rpartition(".")[0]
    found = [
        (name, explain_import(module, name, immediate))
        for name, immediate in list_imports(ast.parse(source), package)
    ]
    return [f"{module}: {name} {reason}" for name, reason in found if reason]


def test_imports_of_every_module():
    found = [
        violation
        for module, path in MODULES.items()
        for violation in find_violations(
            module, path.read_text(encoding="utf-8"), is_package=path.name == "__init__.py"
        )
    ]
    assert found == []


def test_the_table_of_the_contributing_guide_is_the_tree():
    """All rooms and no others, each above those that it may import."""
    text = (PACKAGE.parent / "doc" / "contributing.rst").read_text(encoding="utf-8")
    _, table = text.split("Where things are\n----------------\n", 1)
    shown = re.findall(r"^``(\w+)``  ", table.split("Releasing\n")[0], re.MULTILINE)
    rooms = {module.split(".")[1] for module in MODULES if "." in module}
    assert sorted(shown) == sorted(rooms)
    heights = [LEVEL[room] for room in shown]
    assert heights == sorted(heights, reverse=True)


FORBIDDEN = [
    ("metrics._smooth", "from skcal.scorers import get_scorer"),
    ("metrics._smooth", "def f():\n    import skcal.diagrams"),
    ("metrics._smooth", "from ..datasets import make_shrunk"),
    ("recalibration._beta", "from ..metrics import smooth_ece"),
    ("metrics._smooth", "from ..recalibration import PlattScaling"),
    ("scorers", "from skcal.report import calibration_report"),
    ("_numerics.cells._grid", "from ..._input._sample import Sample"),
    ("_numerics.cells._grid", "from sklearn.isotonic import IsotonicRegression"),
    ("attic", "from skcal._input._sample import Sample"),
    ("metrics._smooth", "from skcal.attic import anything"),
    ("metrics._smooth", "from sklearn.utils.multiclass import type_of_target"),
    ("recalibration._base", "from sklearn.utils._param_validation import Interval"),
    ("diagrams._reliability", "class Display:\n    from matplotlib.axes import Axes"),
]
SOUND = [
    ("metrics._smooth", "from ._binned import expected_calibration_error"),
    ("report._page", "from skcal.diagrams import ReliabilityDisplay"),
    ("_input._reduction", "from sklearn.utils.validation import check_array"),
    ("diagrams._reliability", "def f():\n    import matplotlib.pyplot as plt"),
    ("diagrams._reliability", "from sklearn.utils.validation import check_is_fitted"),
]


def test_forbidden_imports_are_found_and_sound_ones_pass():
    assert set(skcal.__all__) <= set(LEVEL)
    for n_expected, cases in ((1, FORBIDDEN), (0, SOUND)):
        for module, source in cases:
            assert len(find_violations(f"skcal.{module}", source)) == n_expected, source
