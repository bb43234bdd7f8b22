"""Nothing public that takes data is left out of the fuzz."""

import importlib
from pathlib import Path

from skcal.recalibration import BaseRecalibrator, NotClassScoresError
from skcal.report import CalibrationReport
from skcal.scorers import get_scorer_names
from tests.public_objects import is_record, list_functions_and_classes

# An abstract class, an error, a list of names, and what calibration_report makes: no data go there.
EXEMPT = {BaseRecalibrator, NotClassScoresError, get_scorer_names, CalibrationReport}


def list_used_names(module):
    """Names of what a module imports, and of what stands in its tables."""
    for value in vars(module).values():
        parts = value.values() if isinstance(value, dict) else value
        for part in parts if isinstance(value, dict | list) else [value]:
            yield part if isinstance(part, str) else getattr(part, "__name__", None)


def test_everything_public_gets_hostile_arguments():
    others = [path.stem for path in Path(__file__).parent.glob("test_*.py")]
    others.remove(Path(__file__).stem)
    used = {
        name
        for stem in others
        for name in list_used_names(importlib.import_module(f"tests.fuzz.{stem}"))
    }
    public = {
        obj.__name__
        for obj in list_functions_and_classes().values()
        if not is_record(obj) and obj not in EXEMPT
    }
    assert public <= used
