"""Nothing public that takes data is left out of the fuzz."""

import importlib
from pathlib import Path

from skcal.recalibration import BaseRecalibrator, NotClassScoresError
from skcal.scorers import get_scorer_names
from tests.public_objects import is_record, list_functions_and_classes

# An abstract class, an error and a list of names take no data.
EXEMPT = {BaseRecalibrator, NotClassScoresError, get_scorer_names}


def test_everything_public_gets_hostile_arguments():
    """Each file of this folder lists in FUZZED what its tests call."""
    fuzzed = set()
    for path in Path(__file__).parent.glob("test_*.py"):
        module = importlib.import_module(f"tests.fuzz.{path.stem}")
        fuzzed |= set(getattr(module, "FUZZED", []))
    public = list_functions_and_classes()
    taking_data = {name for name, obj in public.items() if not is_record(obj) and obj not in EXEMPT}
    assert fuzzed <= set(public.values())
    assert taking_data == {name for name, obj in public.items() if obj in fuzzed}
