"""Arrays of any library: user input read into them, and what the array API lacks.

Arrays of PyTorch, CuPy, JAX or any other library of the array-API standard are recognised only
where scikit-learn's ``array_api_dispatch`` is on; everywhere else NumPy reads what it can. The
readers below are called once for each argument. After them all arrays of a call are of one library
and on one device, and code takes its functions from `namespace`. What comes back to NumPy is
small: sums over bins, distinct labels, a few order statistics.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn import get_config

from skcal._tools._texts import advise_on_texts
from skcal._tools._words import show_kind

# Rows that NumPy works on at a time, which the cache holds.
_ROWS = 1 << 16
# Rows that a device other than the CPU works on at a time: enough to keep a GPU busy.
_DEVICE_ROWS = 1 << 22
_CPU = 1  # DLPack's number of it
# What NumPy works on: its arrays, its scalars, and Python's.
_OWN = (np.ndarray, np.generic, float, int)
# End of a message about rows without a label.
FEW_LABELS = (
    " If few rows are labelled and all are judged, see "
    "skcal.inference.prediction_powered_calibration."
)


class Device(NamedTuple):
    """Library and device that arrays are on; `name` is None for NumPy."""

    xp: object
    name: object = None


NUMPY = Device(np)


# --------------------------------------------------------------------------- user input


def find_device(values):
    """Device of an array of another library, or None for what NumPy is to read."""
    if isinstance(values, _OWN) or not get_config()["array_api_dispatch"]:
        return None
    if not hasattr(values, "__dlpack__"):  # containers such as data frames, and lazy arrays
        return None
    compat = _import_compat()
    if not compat.is_array_api_obj(values):
        return None
    return Device(compat.array_namespace(values), compat.device(values))


def choose_device(values):
    """Device to compute on for these predictions; NumPy where theirs has no float64."""
    device = find_device(values)
    if device is None:
        return NUMPY
    types = device.xp.__array_namespace_info__().dtypes(device=device.name)
    return device if "float64" in types else NUMPY


def read_rows(names, y_true, y_proba, sample_weight, *, on_device=False):
    """Labels, probabilities and weights (or None) as arrays of one library on one device.

    `names` is what messages call `y_true` and `y_proba`. With `on_device`, arrays of other
    libraries stay on the device of `y_proba`; without, they are refused. Labels that are strings
    stay in NumPy, which alone has them.
    """
    device = choose_device(y_proba) if on_device else None
    target = read_labels(names[0], y_true, device)
    proba = read_numbers(names[1], y_proba, device)
    weights = (
        None if sample_weight is None else read_numbers("sample_weight", sample_weight, device)
    )
    return target, proba, weights


def read_scores(X, y=None, sample_weight=None, *, on_device=False):
    """Class scores, labels and weights of a recalibrator, on the device of the scores.

    X and y keep the form that scikit-learn checks, except what it cannot handle.
    """
    device = choose_device(X) if on_device else None
    X = read("X", X, device)
    if y is not None:
        refuse_missing_labels("y", y)
        # NumPy might turn listed labels of several types to text.
        y = read_labels("y", y) if isinstance(y, list | tuple) else read("y", y, device)
        if find_device(y) is None:
            y = unpack_integers("y", y)
    if sample_weight is not None:
        sample_weight = read_numbers("sample_weight", sample_weight, device)
    return X, y, sample_weight


def read_numbers(name, values, device=None):
    """Array of a real numeric type, in NumPy where `device` is None, or a ValueError."""
    values = read(name, values, device)
    if find_device(values) is None:
        values = _read_numbers(name, values)
        return values if device is None else move(values, device)
    kind = kind_of(values)
    if kind not in "fbiu":
        raise ValueError(f"{name} must hold real numbers; got an array of type {values.dtype}.")
    return values if kind != "b" else as_index(values)


def read_labels(name, values, device=None):
    """Array of numbers, booleans or, in NumPy, strings; of another type if it is not 1-d."""
    if issparse(values):
        raise ValueError(f"{name} must be a dense array; got a sparse one.")
    given = values = read(name, values, device)
    if find_device(values) is None:
        try:
            values = np.asarray(given)
        except ValueError as error:  # ragged lists
            raise ValueError(f"{name} must hold one label for each row; {error}") from None
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    kind = kind_of(values)
    if values.ndim == 1 and kind in "OT":
        values = _unpack_objects(name, values.tolist())
    elif values.ndim == 1 and kind == "U" and not isinstance(given, np.ndarray):
        values = _unpack_objects(name, list(given))  # NumPy turns a list of mixed types to text
    return values if device is None or kind_of(values) not in "biuf" else move(values, device)


def read_labels_beside(name, values, array):
    """The same, on the device of another array, which NumPy or scikit-learn has read."""
    return read_labels(name, values, find_device(array))


def unpack_integers(name, labels):
    """Labels as they are, but integers in NumPy: scikit-learn makes floats of nullable ones."""
    array = np.asarray(labels) if hasattr(labels, "__array__") else None
    if array is None or array.dtype.kind not in "biuO":
        return labels
    if array.dtype.kind == "O":
        array = read_labels(name, array)
    return labels if array.dtype.kind in "UO" else array


def read(name, values, device=None):
    """An array of another library on the device, or refused; anything else as NumPy reads it."""
    (refuse_other_libraries if device is None else refuse_unreadable)(name, values)
    return as_readable(values) if find_device(values) is None else move(values, device)


def refuse_other_libraries(name, values):
    """Raise a TypeError for an array of another library, where only NumPy's are worked on."""
    refuse_unreadable(name, values)
    if find_device(values) is None:
        return
    library, kind = type(values).__module__.partition(".")[0], type(values).__name__
    real = ".float()" if _is_bfloat16(values) else ""
    convert = {
        "torch": f"{name}.detach().cpu(){real}.numpy()",
        "cupy": f"{name}.get()",
    }.get(library, f"numpy.asarray({name})")
    raise TypeError(
        f"{name} must be a NumPy array, because this function works on NumPy arrays alone; got "
        f"{library}.{kind}. Convert it, for instance by {convert}."
    )


def is_query(values):
    """Whether this is a lazy data frame, which has no rows yet."""
    return type(values).__name__ == "LazyFrame"


def refuse_unreadable(name, values):
    """Raise an error for what has no rows yet, or numbers below a mask that NumPy would read."""
    if is_query(values):
        raise TypeError(
            f"{name} must hold rows; got a LazyFrame, which has none yet. Use {name}.collect()."
        )
    parts = values if isinstance(values, list | tuple) else (values,)
    if any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts):
        raise ValueError(f"{name} must not be masked; drop the masked rows or fill them.")


def as_readable(values):
    """What NumPy reads right, in place of what it cannot read or reads wrong.

    A tensor of PyTorch loses its gradients, and bfloat16 becomes float32. A column or table of
    Arrow loses its chunks: in chunks NumPy reads missing codes as others.
    """
    if isinstance(values, np.ndarray):
        return values
    values = read_tensor(values)
    if not hasattr(values, "combine_chunks"):
        return values
    if not hasattr(values, "columns"):
        return values.combine_chunks()
    return np.column_stack([column.combine_chunks() for column in values.columns])


def list_column_names(table):
    """Names of the columns of a data frame, an Arrow table or xarray's array; None without names.

    The numbers 0, 1, ... that pandas gives to columns without names are none.
    """
    if isinstance(table, np.ndarray) or is_query(table):
        return None
    # `columns` of an Arrow table are the arrays themselves.
    names = getattr(table, "column_names", getattr(table, "columns", None))
    if names is None and len(getattr(table, "dims", ())) == 2:  # of xarray
        names = getattr(table, "coords", {}).get(table.dims[1])
        names = None if names is None else np.asarray(names).tolist()
    if names is None or has_default_names(names):
        return None
    try:
        return list(names)
    except TypeError:  # something else that is called columns
        return None


def has_default_names(index):
    """Whether this is the index 0, 1, ... that pandas gives to what has no names."""
    return isinstance(index, pd.RangeIndex) and (index.start, index.step) == (0, 1)


def refuse_missing_labels(name, labels):
    """Raise a ValueError that names missing labels, which scikit-learn stumbles over."""
    if find_device(labels) is not None:
        return
    if isinstance(labels, list | tuple):  # which NumPy might turn to text
        labels = pd.Series(labels, dtype=object)
    labels = np.asarray(as_readable(labels))
    if labels.ndim == 1 and labels.dtype.kind == "O" and pd.isna(labels).any():
        row = np.flatnonzero(pd.isna(labels))[0]
        raise ValueError(f"{name} must not have missing labels; got {labels[row]!r} at row {row}.")


def _read_numbers(name, values):
    """NumPy array of a real numeric type."""
    if issparse(values):
        raise ValueError(f"{name} must be a dense array; got a sparse one. Use {name}.toarray().")
    if hasattr(values, "class_probs"):  # of NGBoost
        raise ValueError(
            f"{name} must hold real numbers; got a distribution. Use {name}.class_probs()."
        )
    if hasattr(values, "predict_proba"):
        raise ValueError(
            f"{name} must hold real numbers; got {show_kind(values)}. Pass what its "
            "predict_proba returns, or take the function from_estimator where there is one."
        )
    try:
        values = np.asarray(values)
    except ValueError as error:  # ragged lists
        raise ValueError(f"{name} must hold real numbers in a regular array; {error}") from None
    if values.dtype.kind in "fbiu":
        return values if values.dtype.kind != "b" else values.view(np.uint8)
    if values.dtype.name == "bfloat16":  # of ml_dtypes, in which JAX hands it over
        return values.astype(np.float32)
    if values.dtype.kind == "O" and not any(isinstance(v, str | bytes) for v in values.flat):
        try:
            return values.astype(np.float64)
        except (TypeError, ValueError):
            pass
    for place, value in np.ndenumerate(values):
        if isinstance(value, str | bytes) and values.ndim:
            raise ValueError(
                f"{name} must hold real numbers; got the text {str(value)!r} at row {place[0]}."
                f"{advise_on_texts(name if values.ndim == 1 else 'column', values.flat)}"
            )
    got = f"an array of type {values.dtype}" if values.ndim else show_kind(values.item())
    raise ValueError(f"{name} must hold real numbers; got {got}.")


def _unpack_objects(name, items):
    """List of strings, or of numbers and booleans, as an array of that type."""
    kinds = {type(item) for item in items}
    is_text = {issubclass(kind, str) for kind in kinds}
    is_number = all(issubclass(kind, int | float | np.number | np.bool_) for kind in kinds)
    if is_text == {True} or is_number:
        return np.asarray(items)
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    is_missing = (
        item is None or (pd.api.types.is_scalar(item) and pd.isna(item)) for item in items
    )
    hint = FEW_LABELS if name == "y_true" and any(is_missing) else ""
    raise ValueError(
        f"{name} must hold numbers, booleans or strings, all of one type and none missing; "
        f"got {names}.{hint}"
    )


# --------------------------------------------------------------------------- any library


def is_numpy(array):
    """Whether an array, or a scalar, is for NumPy."""
    return isinstance(array, _OWN)


def namespace(array):
    """The functions of the array API for an array: NumPy itself, or those for its library."""
    return np if isinstance(array, _OWN) else _import_compat().array_namespace(array)


def move(values, device):
    """An array of any library on a device."""
    if device.xp is np:
        return to_numpy(values)
    values = _detach(values)
    if not isinstance(values, _OWN) and namespace(values) is device.xp:
        return device.xp.asarray(values, device=device.name)
    values = to_numpy(values)
    if values.dtype.kind in "iu":
        values = values.astype(np.int64)
    elif values.dtype.kind == "f" and values.dtype != np.float32:
        values = values.astype(np.float64)
    # A copy, as libraries do not take read-only arrays nor all strides.
    return device.xp.asarray(np.array(values, order="C"), device=device.name)


def move_to(values, array):
    """An array of any library on the device of another array."""
    if isinstance(array, _OWN):
        return to_numpy(values)
    compat = _import_compat()
    return move(values, Device(compat.array_namespace(array), compat.device(array)))


def move_back(values, given):
    """An array where the user gave another; in NumPy for what NumPy reads."""
    return move(values, find_device(given) or NUMPY)


def to_numpy(array):
    """The array as one of NumPy."""
    if isinstance(array, np.ndarray):
        return array
    array = _detach(array)
    if kind_of(array) == "f":
        xp = namespace(array)
        if array.dtype not in (xp.float32, xp.float64):  # NumPy does not have them all
            array = xp.astype(array, xp.float64)
    for name in ("cpu", "get"):  # of PyTorch, of CuPy
        if hasattr(array, name):
            return np.asarray(getattr(array, name)())
    try:
        return np.asarray(array)
    except (TypeError, ValueError, RuntimeError):  # not on the CPU
        return np.from_dlpack(array)


def kind_of(array):
    """The `kind` that NumPy gives to such a type."""
    if isinstance(array, np.ndarray):
        return array.dtype.kind
    xp = namespace(array)
    kinds = {"bool": "b", "signed integer": "i", "unsigned integer": "u", "real floating": "f"}
    return next((kind for name, kind in kinds.items() if xp.isdtype(array.dtype, name)), "c")


def as_float64(array):
    """The array as float64; itself where it is."""
    xp = namespace(array)
    return xp.astype(array, xp.float64, copy=False)


def as_index(array):
    """The array as integers that index and count."""
    xp = namespace(array)
    return xp.astype(array, xp.int64, copy=False)


def list_slices(array, size, n_rows=None):
    """Slices that cut the rows of an array into pieces of `size`, larger ones for a GPU.

    `n_rows` is the number of rows where some of the array's are left out.
    """
    n_rows = array.shape[0] if n_rows is None else n_rows
    if not is_numpy(array) and array.__dlpack_device__()[0] != _CPU:
        size = max(size, _DEVICE_ROWS)
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def find_span(array):
    """Smallest and largest element, as scalars of the array's own type."""
    if isinstance(array, _OWN):
        return array.min(), array.max()  # faster than NumPy's functions, for few rows
    xp = namespace(array)
    return xp.min(array), xp.max(array)


def bincount(index, weights, n_bins):
    """Sums of the weights (None for ones) in each bin, as a NumPy array."""
    if isinstance(index, _OWN):
        return np.bincount(index, weights, n_bins)
    count = getattr(namespace(index), "bincount", None)
    if count is None:  # the standard has none, but most libraries do
        return np.bincount(to_numpy(index), None if weights is None else to_numpy(weights), n_bins)
    return to_numpy(count(index, weights, minlength=n_bins))


def search_sorted(ends, values):
    """np.searchsorted of the values of an array among a few sorted ends, which are NumPy's."""
    if isinstance(values, _OWN):
        return np.searchsorted(ends, values)
    ends, values = as_one_type(ends, values)
    if hasattr(values, "contiguous"):  # PyTorch warns of anything else
        values = values.contiguous()
    return namespace(values).searchsorted(move_to(ends, values), values)


def find_distinct(array):
    """Sorted distinct values of an array of one dimension, as a NumPy array."""
    if not is_numpy(array):
        return np.sort(to_numpy(namespace(array).unique_values(array)))
    slices = list_slices(array, _ROWS)
    if array.dtype.kind in "iu" and len(array):
        low, high = int(array.min()), int(array.max())
        if high - low < _ROWS and high < 1 << 63:  # counting is many times faster than sorting
            present = np.zeros(high - low + 1, dtype=bool)
            for rows in slices:
                present[array[rows].astype(np.int64) - low] = True
            return (np.flatnonzero(present) + low).astype(array.dtype)
    # Part by part, so that no sorted copy of all rows is held.
    return np.unique(np.concatenate([array[:0], *(np.unique(array[rows]) for rows in slices)]))


def as_one_type(few, values):
    """A NumPy array and one of another library, both as float64 or both as int64."""
    cast = as_float64 if "f" in (few.dtype.kind, kind_of(values)) else as_index
    return cast(few), cast(values)


def read_tensor(values):
    """A PyTorch tensor on the CPU as a NumPy array, anything else as it is.

    Gradients are left behind, and bfloat16, which NumPy has not, becomes float32.
    """
    if not hasattr(values, "detach"):
        return values
    values = _detach(values)
    return np.asarray(values.float() if _is_bfloat16(values) else values)


def _is_bfloat16(values):
    return str(getattr(values, "dtype", "")) == "torch.bfloat16"


def _detach(values):
    """A PyTorch tensor without its gradients, anything else as it is."""
    return values.detach() if hasattr(values, "detach") else values


def _import_compat():
    try:
        import array_api_compat
    except ImportError as error:
        raise ImportError(
            "Arrays of other libraries than NumPy need the package array-api-compat: pip install "
            "array-api-compat, or turn array_api_dispatch off."
        ) from error
    return array_api_compat
