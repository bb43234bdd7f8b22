"""What people hand in: rows that no function may misread, over every public function.

test_compatibility.py lists the calls, and test_containers.py tests what the entrances read.
"""

from datetime import timedelta

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.naive_bayes import GaussianNB

from skcal.inference import cox_recalibration, make_groups
from skcal.metrics import multicalibration_error
from skcal.model_selection import AbstainingClassifierCV
from skcal.recalibration import (
    AutoRecalibration,
    CrossFitProba,
    MulticalibratedClassifierCV,
    OnlineRecalibratedClassifier,
    OnlineRecalibration,
    RecalibratedClassifierCV,
    TemperatureScaling,
)
from skcal.regression import ConformalInterval
from skcal.shift import PriorShift
from tests.recalibration.family import may_harm
from tests.test_compatibility import CALLS, OF_FEW_LABELS, PREDICTIONS, read_answer

pytestmark = may_harm

# Displays hand rows to classifiers, which NumPy reads for them.
OWN = [name for name in CALLS if not name.endswith((".from_estimator", ".from_cv_results"))]
# Arguments with a column of probabilities for each label; X is one of maps of classes.
PROBABILITIES = {"y_proba", "other", "y_proba_new", "y_proba_check", "test_proba", "baseline"}
MAPS = (
    "BaseRecalibrator.",
    "VennAbers.",
    "PriorShift.",
    "AutoRecalibration.",
    "OnlineRecalibration.",
)
# Of these the labels of columns are named from the start.
WITH_LABELS = ("CalibrationSummary.", "GroupedSummary.", "CalibrationMonitor.", "GroupedMonitor.")
WITH_LABELS += ("summarize_batches", "monitor_batches")
REAL = {name for name in OWN if "Regressor" in name or "Survival" in name or "Risk" in name}
FEW_LABELS = [name for name in OWN if name.split(".")[0] in OF_FEW_LABELS]
MAY_BE_MISSING = {"y_true", "proxy"}  # of few labels
ONE_COLUMN = {"required_labels"}  # a vector alone, whose columns have no names and no order
SAME = None  # outcome: the answer is that to the rows as they are


def list_arguments(name):
    return CALLS[name][1].keys()


def find_tables(name):
    """Arguments with a column for each label."""
    arguments = list_arguments(name)
    if name in ONE_COLUMN:
        return set()
    return PROBABILITIES & arguments if "y_true" in arguments else {"X"} if is_map(name) else set()


def list_complete(name):
    """Arguments of which nothing may be masked."""
    return list_arguments(name) - (MAY_BE_MISSING if name in FEW_LABELS else set())


def is_map(name):
    return name.startswith(MAPS) and "X" in list_arguments(name)


def find_labels(name):
    """The argument with the labels that columns without names are read by, if there is one."""
    if "y_proba" not in list_arguments(name) or name.startswith(WITH_LABELS):
        return set()
    if name in ONE_COLUMN:
        return set()
    return {"y_true", "y"} & list_arguments(name)


def find_labels_of_estimators(name):
    has_classes = {"X", "y"} <= list_arguments(name) and name not in REAL
    return {"y"} if has_classes and name.split(".")[0] not in PREDICTIONS else set()


def mask(array, what):
    """A masked array, of which the first row, or nothing, is masked."""
    masked = np.ma.array(array, mask=np.zeros(array.shape, dtype=bool))
    masked[:what] = np.ma.masked
    return masked


def name_columns(array):
    names = [f".pred_{label}" for label in range(array.shape[1])]
    return pd.DataFrame(array, columns=names)


def to_categories(array):
    return pd.Series(pd.Categorical(array, categories=[2, 1, 0], ordered=True))


# Input: which arguments, and what is made of each. Outcome: what is said, or nothing.
CASES = {
    "masked": (list_complete, lambda array: mask(array, 1), "must not be masked"),
    "masked-rows": (find_tables, lambda array: list(mask(array, 1)), "must not be masked"),
    "mask-of-nothing": (find_tables, lambda array: mask(array, 0), SAME),
    "names-turned": (find_tables, lambda array: name_columns(array).iloc[:, ::-1], "named after"),
    "names": (find_tables, name_columns, SAME),
    "categories": (find_labels, to_categories, r"labels=model.classes_, here \[0, 1, 2\]; of a"),
    "categories-of-estimators": (find_labels_of_estimators, to_categories, SAME),
}


@pytest.mark.filterwarnings("ignore:X (has|does not have valid) feature names, but")
@pytest.mark.parametrize(
    ("case", "name"),
    [(case, name) for case, (find, *_) in CASES.items() for name in OWN if find(name) - {"by"}],
)
def test_case(case, name):
    call, arrays = CALLS[name]
    find, convert, outcome = CASES[case]
    for argument in find(name) - {"by"}:  # keys may be of any type
        given = arrays | {argument: convert(arrays[argument])}
        if outcome is SAME:
            answers = read_answer(call(**given)), read_answer(call(**arrays))
            for number, other in zip(*answers, strict=True):
                np.testing.assert_allclose(number, other, rtol=1e-12, atol=1e-15)
        else:
            with pytest.raises(ValueError, match=outcome):
                call(**given)


@pytest.mark.parametrize("name", FEW_LABELS)
@pytest.mark.parametrize("argument", sorted(MAY_BE_MISSING))
@pytest.mark.parametrize("convert", [np.ma.array, list], ids=["array", "list"])
def test_masked_labels_are_missing(name, argument, convert):
    """Those of few labels, and verdicts, which may be missing."""
    call, arrays = CALLS[name]
    hole = arrays[argument].astype(float)
    hole[:1] = np.nan
    expected = read_answer(call(**arrays | {argument: hole}))
    found = read_answer(call(**arrays | {argument: convert(mask(arrays[argument], 1))}))
    for number, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(number, other, rtol=1e-12, atol=1e-15)


# Integers that floats do not tell apart, in what has integers of its own, and booleans.
HUGE = 10**17 + np.array([1, 2, 3])
CODES = np.resize([0, 1, 2, 0, 2, 1, 1], 70)
PROBA = np.random.default_rng(0).dirichlet([1, 1, 1], 70)
EXACT = {
    "nullable": lambda y: pd.Series(y).convert_dtypes(),
    "array": lambda y: pd.Series(y).convert_dtypes().array,
    "frame": lambda y: pd.DataFrame({"y": y}).convert_dtypes(),
    "arrow-in-pandas": lambda y: pd.Series(y).convert_dtypes(dtype_backend="pyarrow"),
    "category": lambda y: pd.Series(y, dtype="category"),
    "polars": lambda y: pl.Series(y),
    "arrow": lambda y: pa.array(y),
    "objects": lambda y: y.astype(object),
    "list": lambda y: y.tolist(),
}
FITTED = {
    "temperature": TemperatureScaling,
    "shift": PriorShift,
    "online": OnlineRecalibration,
    "choice": lambda: AutoRecalibration(["temperature", "platt"]),
    "cross-fit": lambda: CrossFitProba(GaussianNB(), cv=2),
    "wrapper": lambda: RecalibratedClassifierCV(GaussianNB(), cv=2),
    "groups": lambda: MulticalibratedClassifierCV(GaussianNB(), cv=2),
    "learning": lambda: OnlineRecalibratedClassifier(GaussianNB()),
    "abstaining": lambda: AbstainingClassifierCV(GaussianNB(), at_most=0.9, random_state=0),
}


@pytest.mark.filterwarnings("ignore:A column-vector y")
@pytest.mark.parametrize("make", FITTED.values(), ids=FITTED)
@pytest.mark.parametrize("contain", EXACT.values(), ids=EXACT)
def test_labels_stay_integers(make, contain):
    found = make().fit(PROBA, contain(HUGE[CODES]))
    assert found.classes_.dtype == np.int64
    np.testing.assert_array_equal(found.classes_, HUGE)
    flags = make().fit(PROBA[:, :2] / PROBA[:, :2].sum(axis=1)[:, None], contain(CODES > 0))
    assert flags.classes_.dtype == bool


# Of four days, by their number, in all that holds times.
DAYS = pd.date_range("2024-12-28", periods=4)
DATES = [day.date() for day in DAYS]
TIMES = {
    "dates": lambda days: DAYS[days],
    "zones": lambda days: pd.Series(DAYS.tz_localize("Europe/Vienna")[days]),
    "numpy": lambda days: DAYS.to_numpy()[days],
    "days": lambda days: DAYS.to_numpy().astype("datetime64[D]")[days],
    "list": lambda days: [DATES[day] for day in days],
    "weeks": lambda days: pd.period_range("2024-12-28", periods=4, freq="W")[days],
    "months": lambda days: pd.Series(pd.period_range("2024-12", periods=4, freq="M")[days]),
    "durations": lambda days: pd.to_timedelta(days, unit="D"),
    "categories": lambda days: pd.Series(DAYS[days]).astype("category"),
    "polars": lambda days: pl.Series([DATES[day] for day in days]),
    "polars-durations": lambda days: pl.Series([timedelta(int(day)) for day in days]),
    "arrow": lambda days: pa.array([DATES[day] for day in days]),
    "arrow-in-pandas": lambda days: pd.Series(DAYS[days]).astype("timestamp[ns][pyarrow]"),
    "frame": lambda days: pd.DataFrame({"day": DAYS[days]}),
}
WEEKDAYS = np.arange(80) * 7 % 20 % 4
Y, P = WEEKDAYS * np.arange(80) % 3 == 0, np.linspace(0.05, 0.9, 80)
of_times = pytest.mark.parametrize("contain", TIMES.values(), ids=TIMES)


@pytest.mark.filterwarnings("ignore:clusters holds 4 clusters")
@of_times
def test_times_are_clusters(contain):
    expected = cox_recalibration(Y, P, clusters=WEEKDAYS)
    assert cox_recalibration(Y, P, clusters=contain(WEEKDAYS)) == expected


@of_times
def test_times_are_groups(contain):
    """Of maps, too, which know them again in rows of some of the days."""
    given = contain(WEEKDAYS)
    expected = multicalibration_error(Y, P, groups=WEEKDAYS, min_samples=1)
    if not isinstance(given, pd.DataFrame):  # of which there would be a group of all rows
        assert multicalibration_error(Y, P, groups=given, min_samples=1) == expected
    X = P[:, None]
    plain = ConformalInterval().fit(X, P, groups=WEEKDAYS)
    model = ConformalInterval().fit(X, P, groups=given)
    some = np.array([3, 1, 1])
    expected = plain.transform(X[:3], groups=some)
    np.testing.assert_array_equal(model.transform(X[:3], groups=contain(some)), expected)


@pytest.mark.parametrize("missing", [None, pd.NaT])
def test_missing_times_are_refused(missing):
    for labels in ([DATES[0], missing] * 40, pd.Series([DAYS[0], missing] * 40)):
        with pytest.raises(ValueError, match="clusters must"):
            cox_recalibration(Y, P, clusters=labels)


def test_tables_without_names_are_groups():
    """The numbers that pandas gives to columns are their names here, for memberships too."""
    columns = np.column_stack([WEEKDAYS, WEEKDAYS % 2])
    for table in (columns, columns > 0):
        frame = pd.DataFrame(table)
        found = make_groups(frame, min_samples=1)
        expected = make_groups({"0": table[:, 0], "1": table[:, 1]}, min_samples=1)
        assert found.names == expected.names
        value = multicalibration_error(Y, P, groups=frame, min_samples=1)
        assert value == multicalibration_error(Y, P, groups=expected)
