"""Arrays of other libraries: where they live, and what NumPy has by another name.

Arrays of PyTorch, CuPy, JAX or any other library of the array-API standard are recognised only
where scikit-learn's ``array_api_dispatch`` is on; everywhere else NumPy reads what it can. A
function that computes where the data are takes its functions from `namespace`, and those below for
what the standard lacks or NumPy 1.26 does not have yet. What comes back to NumPy is small: sums
over bins, distinct labels, a few order statistics.
"""

from typing import NamedTuple

import numpy as np
from sklearn import get_config

# Rows that a device other than the CPU works on at a time: enough to keep a GPU busy.
_DEVICE_ROWS = 1 << 22
_CPU = 1  # DLPack's number of it
# What NumPy works on: its arrays, its scalars, and Python's.
_OWN = (np.ndarray, np.generic, float, int)


class Home(NamedTuple):
    """Library and device that the arrays of one call live in; of NumPy `device` is None."""

    xp: object
    device: object = None

    @property
    def has_float64(self):
        """Whether the device knows float64, which some GPUs do not."""
        types = self.xp.__array_namespace_info__().dtypes(device=self.device)
        return "float64" in types

    def receive(self, values):
        """An array of any library as one of this library, on this device."""
        if self.xp is np:
            return to_numpy(values)
        values = _detach(values)
        if not isinstance(values, _OWN) and namespace(values) is self.xp:
            return self.xp.asarray(values, device=self.device)
        values = to_numpy(values)
        if values.dtype.kind in "iu":
            values = values.astype(np.int64)
        elif values.dtype.kind == "f" and values.dtype != np.float32:
            values = values.astype(np.float64 if self.has_float64 else np.float32)
        # A copy, as libraries do not take read-only arrays nor all strides.
        return self.xp.asarray(np.array(values, order="C"), device=self.device)


NUMPY = Home(np)


def find_home(values):
    """Home of an array of another library, or None for what NumPy is to read."""
    if isinstance(values, _OWN) or not get_config()["array_api_dispatch"]:
        return None
    if not hasattr(values, "__dlpack__"):  # containers such as data frames, and lazy arrays
        return None
    compat = _import_compat()
    if not compat.is_array_api_obj(values):
        return None
    return Home(compat.array_namespace(values), compat.device(values))


def choose_home(values):
    """Home to compute in for these predictions; NumPy's where theirs has no float64."""
    home = find_home(values)
    return home if home is not None and home.has_float64 else NUMPY


def refuse_foreign(name, values):
    """Raise a TypeError for an array of another library, where only NumPy's are worked on."""
    if find_home(values) is None:
        return
    library, kind = type(values).__module__.partition(".")[0], type(values).__name__
    convert = {
        "torch": f"{name}.detach().cpu().numpy()",
        "cupy": f"{name}.get()",
    }.get(library, f"numpy.asarray({name})")
    raise TypeError(
        f"{name} must be a NumPy array, because this function works on NumPy arrays alone; got "
        f"{library}.{kind}. Convert it, for instance by {convert}."
    )


# --------------------------------------------------------------------------- both libraries


def is_foreign(array):
    """Whether an array that has passed the entrance is of another library."""
    return not isinstance(array, _OWN)


def namespace(array):
    """The functions for an array: NumPy itself, or the standard's for its library."""
    return np if isinstance(array, _OWN) else _import_compat().array_namespace(array)


def home_of(array):
    """Home of an array that has passed the entrance."""
    if isinstance(array, _OWN):
        return NUMPY
    compat = _import_compat()
    return Home(compat.array_namespace(array), compat.device(array))


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
    return array.astype(np.float64, copy=False) if isinstance(array, _OWN) else _cast(array)


def as_index(array):
    """The array as integers that index and count."""
    return array.astype(np.intp) if isinstance(array, _OWN) else _cast(array, "int64")


def _cast(array, name="float64"):
    xp = namespace(array)
    return xp.astype(array, getattr(xp, name), copy=False)


def concat(arrays, axis=0):
    """Arrays of one library joined along an axis."""
    xp = namespace(arrays[0])
    return np.concatenate(arrays, axis=axis) if xp is np else xp.concat(arrays, axis=axis)


def list_slices(array, size):
    """Slices that cut the rows of an array into pieces of `size`, larger ones for a GPU."""
    n_rows = array.shape[0]
    if is_foreign(array) and array.__dlpack_device__()[0] != _CPU:
        size = max(size, _DEVICE_ROWS)
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


# --------------------------------------------------------------------------- small answers


def find_span(array):
    """Smallest and largest element, as scalars of the array's own type."""
    if isinstance(array, _OWN):
        return array.min(), array.max()  # faster than NumPy's functions, for few rows
    xp = namespace(array)
    return xp.min(array), xp.max(array)


def count_nonzero(array):
    """Number of elements that are not zero."""
    if isinstance(array, _OWN):
        return int(np.count_nonzero(array))
    return int(namespace(array).sum(as_index(array != 0)))


def bincount(index, weights, n_bins):
    """Sums of the weights (None for ones) in each bin, as a NumPy array."""
    if isinstance(index, _OWN):
        return np.bincount(index, weights, n_bins)
    count = getattr(namespace(index), "bincount", None)
    if count is None:  # the standard has none, but most libraries do
        return np.bincount(to_numpy(index), None if weights is None else to_numpy(weights), n_bins)
    return to_numpy(count(index, weights, minlength=n_bins))


def find_distinct(array):
    """Sorted distinct values, as a NumPy array."""
    if not isinstance(array, _OWN):
        array = to_numpy(namespace(array).unique_values(array))
    return np.unique(array)


def read_at(array, positions):
    """The elements at a few positions, both of NumPy, of an array of any library."""
    if isinstance(array, _OWN):
        return array[positions]
    home = home_of(array)
    return to_numpy(home.xp.take(array, home.receive(positions)))


# --------------------------------------------------------------------------- NumPy beside rows


def search_sorted(ends, values):
    """np.searchsorted of the values of an array among a few sorted ends, which are NumPy's."""
    if isinstance(values, _OWN):
        return np.searchsorted(ends, values)
    ends, values = _match_types(ends, values)
    if hasattr(values, "contiguous"):  # PyTorch warns of anything else
        values = values.contiguous()
    return namespace(values).searchsorted(home_of(values).receive(ends), values)


def take_columns(array, order):
    """The columns of a matrix in the order of a NumPy array of their numbers."""
    if isinstance(array, _OWN):
        return array[:, order]
    home = home_of(array)
    return home.xp.take(array, home.receive(order), axis=1)


def equals(values, label):
    """Where the values are a label, which is a NumPy or Python scalar."""
    if isinstance(values, _OWN):
        return values == label
    label, values = _match_types(np.asarray(label), values)
    return values == label.item()


def take_from(table, index):
    """table[index] for a NumPy table and an array of indices of any library."""
    if isinstance(index, _OWN):
        return table[index]
    return namespace(index).take(home_of(index).receive(table), index)


def _match_types(table, values):
    """A NumPy array and one of another library as float64 or as int64, both alike."""
    name = "float64" if "f" in (table.dtype.kind, kind_of(values)) else "int64"
    return table.astype(name), _cast(values, name)


def _detach(values):
    """A PyTorch tensor without its gradients, anything else as it is."""
    return values.detach() if hasattr(values, "detach") else values


def _import_compat():
    try:
        import array_api_compat
    except ImportError as error:
        raise ImportError(
            "Arrays of other libraries than NumPy need the package array-api-compat; install it "
            "by pip install 'skcal[array-api]', or turn array_api_dispatch off."
        ) from error
    return array_api_compat
