"""What is missing, or text, is refused in every container."""

from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from skcal.metrics import MEASURES
from skcal.streaming import CalibrationSummary
from tests.recalibration.family import CLASSES, make, make_scores

every_measure = pytest.mark.parametrize("measure", MEASURES.values(), ids=list(MEASURES))


def to_dictionary_chunks(items):
    """Chunks with codes; NumPy reads a missing code as a valid one."""
    kind = pa.array(items).type
    parts = [pa.array(items[:2], type=kind), pa.array(items[2:], type=kind)]
    return pa.chunked_array([part.dictionary_encode() for part in parts])


@every_measure
def test_missing_codes_of_arrow_are_refused(measure):
    for items in ([0, 1, 1, None], [0.0, 1.0, None, 0.5], [True, False, None, True]):
        with pytest.raises(ValueError, match=r"^y_true must "):
            measure.function(to_dictionary_chunks(items), [0.5] * 4)
    text = to_dictionary_chunks(["a", "b", "b", None])
    with pytest.raises(ValueError, match=r"^y_true must "):
        measure.function(text, [0.5] * 4, pos_label="b")
    numbers = to_dictionary_chunks([0.5, 0.25, 0.75, None])
    with pytest.raises(ValueError, match=r"^y_proba must "):
        measure.function([0, 1, 1, 0], numbers)
    with pytest.raises(ValueError, match=r"^y_proba must "):
        measure.function([0, 1, 1, 0], pa.table({"p": numbers}))
    with pytest.raises(ValueError, match=r"^sample_weight must "):
        measure.function([0, 1, 1, 0], [0.5] * 4, sample_weight=numbers)


def test_missing_codes_in_a_table_for_a_summary():
    """A column is read right here already, a table of one column is not."""
    numbers = to_dictionary_chunks([0.5, 0.25, 0.75, None])
    with pytest.raises(ValueError, match=r"^y_proba must "):
        CalibrationSummary(n_cells=16).update([0, 1, 1, 0], pa.table({"p": numbers}))
    summary = CalibrationSummary(n_cells=16, on_invalid="drop")
    summary.update([0, 1, 1, 0], pa.table({"p": numbers}))
    assert summary.dropped_ == {"y_true": 0, "y_proba": 1, "sample_weight": 0}


@every_measure
@pytest.mark.parametrize(
    "convert",
    [
        lambda text: np.array(text, dtype=object),
        lambda text: pd.Series(text, dtype=object),
        lambda text: pd.Series(text, dtype="string"),
        lambda text: pd.Series(text, dtype="category"),
        lambda text: pd.DataFrame({"p": text}),
        lambda text: np.array([item.encode() for item in text], dtype=object),
        lambda text: pa.array(text),
    ],
    ids=["objects", "pandas-object", "pandas-string", "category", "frame", "bytes", "arrow"],
)
def test_text_is_no_number_in_any_container(measure, convert):
    """A list and a NumPy array of text are refused; the same text in a column of objects is not."""
    text = convert(["0.5", "0.25", "1.0", "0.5"])
    with pytest.raises(ValueError, match=r"^y_proba must hold real numbers"):
        measure.function([0, 1, 1, 0], text)
    if getattr(text, "ndim", 1) == 1:
        with pytest.raises(ValueError, match=r"^sample_weight must hold real numbers"):
            measure.function([0, 1, 1, 0], [0.5] * 4, sample_weight=text)


@pytest.mark.parametrize("R", CLASSES)
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=["None", "NaN", "NA"])
@pytest.mark.parametrize("names", ["abc", [0, 1, 2]], ids=["text", "numbers"])
def test_recalibrators_refuse_missing_labels(R, missing, names):
    """scikit-learn answers with TypeErrors about NoneType or NAType, or does not name y."""
    X, y = make_scores(3, 60)
    labels = np.array(list(names), dtype=object)[y]
    labels[3] = missing
    for convert in (np.asarray, list, pd.Series, partial(pd.Series, dtype=object)):
        with pytest.raises(ValueError, match=r"\by\b"):
            make(R).fit(X, convert(labels))
