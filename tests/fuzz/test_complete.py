"""Nothing public that takes data is left out of the fuzz, and no option of it."""

import importlib
import inspect
from pathlib import Path

from skcal.export import to_onnx
from skcal.recalibration import (
    BaseRecalibrator,
    NotClassScoresError,
    get_recalibrator,
    get_recalibrator_names,
)
from skcal.regression import NotPredictionsError
from skcal.report import CalibrationReport
from skcal.scorers import get_scorer_names
from tests.fuzz.options import OPTIONS, find_values
from tests.public_objects import is_record, list_functions_and_classes

# An abstract class, errors, names, and what calibration_report makes: no data go there. to_onnx
# hands over data to a fitted model, and needs packages that may be missing.
EXEMPT = {BaseRecalibrator, NotClassScoresError, get_scorer_names, CalibrationReport}
EXEMPT |= {NotPredictionsError}
EXEMPT |= {get_recalibrator, get_recalibrator_names, to_onnx}
PUBLIC = [
    obj for obj in list_functions_and_classes().values() if not is_record(obj) and obj not in EXEMPT
]
# Arguments that are data, or made of them; and jobs, which change nothing.
DATA = {"sample_weight", "labels", "pos_label", "reduction", "groups", "clusters", "classes"}
DATA |= {"input", "cv", "other"}
DATA |= {"params", "by", "time", "monitor", "progress", "n_jobs", "recalibrator"}
DATA |= {"upper_outcome", "y_true", "y_proba", "sample_weight_new", "classifier"}
DATA |= {"y_true_check", "y_proba_check", "evidence", "strata", "cause"}
DATA |= {"censored", "risk", "survival", "survival_before", "survival_entry", "causes", "times"}
DATA |= {"proxy", "X", "censoring"}


def test_everything_public_gets_hostile_arguments():
    """It is imported by a test, or stands in a list there."""
    names = {path.stem for path in Path(__file__).parent.glob("test_*.py")} - {"test_complete"}
    values = [
        v for name in names for v in vars(importlib.import_module(f"tests.fuzz.{name}")).values()
    ]
    values += [part for value in values if isinstance(value, list) for part in value]
    used = {part if isinstance(part, str) else getattr(part, "__name__", None) for part in values}
    assert {obj.__name__ for obj in PUBLIC} <= used


def test_every_option_has_values():
    unknown = {
        (obj.__name__, name)
        for obj in PUBLIC
        if not obj.__module__.startswith("skcal.diagrams")
        for name, parameter in inspect.signature(obj).parameters.items()
        if parameter.default is not parameter.empty and find_values(obj, name) is None
    }
    assert {pair for pair in unknown if pair[1] not in DATA} == set()
    assert OPTIONS.keys() & DATA == set()
