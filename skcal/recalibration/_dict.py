"""Recalibrators as dicts of plain JSON types, and back.

A dict holds the class, the parameters and all that `fit` has set. What JSON does not know is a dict
of its own, told by its keys:

- ``{"dtype", "shape", "array"}``, an array, with nested lists; NaN and infinity are strings there;
- ``{"class", <field>, ...}``, a named tuple of `FITTED`;
- ``{"class", "params", "fitted"}``, an estimator: a recalibrator or an IsotonicRegression;
- ``{"float"}``, ``{"tuple"}``, ``{"dict"}``: NaN or infinity, a tuple, a dict with text as keys;
- ``{"pairs"}``: a dict with other keys, such as labels that are numbers.

Nothing that a dict names is imported or called, except the classes of `_list_types`.
"""

import inspect
import re

import numpy as np
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression

from skcal import __version__
from skcal._input._rates import list_rates
from skcal._input._validation import check_option
from skcal._tools._arrays import as_readable, find_device, to_numpy
from skcal.recalibration._fitted import FITTED

FORMAT = "skcal.BaseRecalibrator"
VERSION = 1

# Types of arrays that are written; others, such as long double, have no spelling that stays exact.
_DTYPE = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)|U\d{1,4}|object")
_SPECIAL = {repr(number): number for number in (np.nan, np.inf, -np.inf)}
# Parameters that may hold rates by label.
_RATES = {"prior", "prior_train", "mean"}
# Sums of the rows that a recalibrator gives differ from 1 by rounding alone.
_TOLERANCE = 1e-6
# Classes that are tried one by one, a row of scores for each.
_MOST_CERTAIN = 100


def pack_recalibrator(recalibrator):
    """A dict of plain types; see `unpack_recalibrator`."""
    types = _list_types(type(recalibrator))
    head = {"format": FORMAT, "version": VERSION, "skcal": __version__}
    return head | _pack_estimator(recalibrator, type(recalibrator).__name__, types)


def unpack_recalibrator(data, expected):
    """A fitted recalibrator of the class `expected` or a subclass, or a ValueError."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        hint = " Use json.loads first." if isinstance(data, str | bytes) else ""
        raise ValueError(f"data must be the output of to_dict, with format {FORMAT!r}.{hint}")
    version, writer = data.get("version"), data.get("skcal")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise ValueError(
            f"data['version'] is {version!r}; this skcal reads versions up to {VERSION}. "
            "Update skcal."
        )
    _require(isinstance(writer, str), "data['skcal']", "be the version that wrote it")
    try:
        body = {key: data[key] for key in data.keys() - {"format", "version", "skcal"}}
        types = _list_types(expected)
        kind = _find_type(body, "data", types)
        if not issubclass(kind, expected):
            raise ValueError(
                f"data['class'] must be {expected.__name__} or a subclass; got {kind.__name__!r}."
            )
        with np.errstate(all="ignore"):  # what comes of bad numbers is refused
            return _unpack_estimator(body, "data", types, must_be_fitted=True)
    except RecursionError:
        raise ValueError("data is nested deeper than the output of to_dict.") from None
    except ValueError as error:
        if writer == __version__:
            raise
        raise ValueError(
            f"{error} It was written by skcal {writer!r}, and this is {__version__!r}."
        ) from error


def _list_types(*others):
    """Classes by name that a dict may hold: exported ones, what they hold, and those given."""
    from skcal import recalibration  # which imports this module

    exported = [getattr(recalibration, name) for name in recalibration.__all__]
    return {
        kind.__name__: kind
        for kind in [IsotonicRegression, *exported, *FITTED, *others]
        if inspect.isclass(kind)
        and issubclass(kind, (IsotonicRegression, recalibration.BaseRecalibrator, tuple))
        and not inspect.isabstract(kind)
    }


# ------------------------------------------------------------------------------- writing


def _pack_estimator(estimator, path, types):
    # What a clone lacks has been set by `fit`; how the answer is wrapped is not part of the map.
    before, state = clone(estimator).__getstate__(), estimator.__getstate__()
    params = estimator.get_params(deep=False)
    for name in params.keys() & _RATES:  # an array would lose their labels
        pairs = list_rates(params[name])
        params[name] = params[name] if pairs is None else dict(pairs)
    fitted = {name: state[name] for name in sorted(state.keys() - before.keys())}
    return {
        "class": type(estimator).__name__,
        "params": {k: _pack(v, f"{path}.{k}", types) for k, v in params.items()},
        "fitted": {k: _pack(v, f"{path}.{k}", types) for k, v in fitted.items()},
    }


def _pack(value, path, types):
    """Plain types for a value; `path` tells where it is."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return value if np.isfinite(value) else {"float": repr(value)}
    if isinstance(value, list | range):
        return [_pack(part, f"{path}[{i}]", types) for i, part in enumerate(value)]
    if type(value) is tuple:
        return {"tuple": _pack(list(value), path, types)}
    if type(value) is dict and all(isinstance(key, str) for key in value):
        return {"dict": {k: _pack(v, f"{path}[{k!r}]", types) for k, v in value.items()}}
    if type(value) is dict:
        pairs = [[_pack(key, f"{path} (a key)", types), part] for key, part in value.items()]
        if all(isinstance(key, bool | int | float | str) for key, _ in pairs):
            return {"pairs": [[k, _pack(v, f"{path}[{k!r}]", types)] for k, v in pairs]}
    if types.get(type(value).__name__) is type(value):
        if not isinstance(value, tuple):
            return _pack_estimator(value, path, types)
        fields = value._asdict().items()
        name = {"class": type(value).__name__}
        return name | {k: _pack(v, f"{path}.{k}", types) for k, v in fields}
    if hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        on_device = find_device(value) is not None
        array = to_numpy(value) if on_device else np.asarray(as_readable(value))
        return _pack_array(array, path, types)
    raise _refuse(value, path)


def _pack_array(array, path, types):
    kind = array.dtype.kind
    if kind in "OT":
        name, items = "object", _pack(array.tolist(), path, types)
    else:
        name = array.dtype.str[1:] if kind == "U" else array.dtype.name
        items = array.tolist() if kind != "f" else _spell(array.tolist())
    if not _DTYPE.fullmatch(name):
        raise _refuse(array, path)
    return {"dtype": name, "shape": list(array.shape), "array": items}


def _spell(items):
    """Nested lists of floats, with NaN and infinity replaced for JSON."""
    if isinstance(items, list):
        return [_spell(item) for item in items]
    return items if np.isfinite(items) else repr(items)


def _refuse(value, path):
    name = type(value).__name__ + (f" of {value.dtype}" if isinstance(value, np.ndarray) else "")
    return TypeError(
        f"{path} must be None, a boolean, a number, text, an array of these, a list or tuple of "
        f"these or a recalibrator of skcal.recalibration to be written to a dict; got a {name}."
    )


# ------------------------------------------------------------------------------- reading


def _unpack(data, path, types):
    """The value that `_pack` has written, or a ValueError."""
    if isinstance(data, list):
        return [_unpack(part, f"{path}[{i}]", types) for i, part in enumerate(data)]
    if not isinstance(data, dict):
        _require(data is None or type(data) in (bool, int, float, str), path, "be of a JSON type")
        return data
    if "class" in data:
        kind = _find_type(data, path, types)
        if not issubclass(kind, tuple):
            return _unpack_estimator(data, path, types)
        _check_keys(data, path, ["class", *kind._fields])
        fields = [_unpack(data[name], f"{path}[{name!r}]", types) for name in kind._fields]
        _refuse_nan(fields, path)
        return kind(*fields)
    if "array" in data:
        return _unpack_array(data, path, types)
    if data.keys() == {"float"}:
        known = isinstance(data["float"], str) and data["float"] in _SPECIAL
        _require(known, f"{path}['float']", f"be one of {', '.join(map(repr, _SPECIAL))}")
        return _SPECIAL[data["float"]]
    if data.keys() == {"tuple"} and isinstance(data["tuple"], list):
        return tuple(_unpack(data["tuple"], f"{path}['tuple']", types))
    if data.keys() == {"pairs"}:
        return _unpack_pairs(data["pairs"], f"{path}['pairs']", types)
    _require(data.keys() == {"dict"}, path, "be written as to_dict writes it", data)
    _require(isinstance(data["dict"], dict), f"{path}['dict']", "be a dict")
    return {k: _unpack(v, f"{path}['dict'][{k!r}]", types) for k, v in data["dict"].items()}


def _unpack_pairs(pairs, path, types):
    is_right = isinstance(pairs, list) and all(
        isinstance(pair, list) and len(pair) == 2 and type(pair[0]) in (bool, int, float, str)
        for pair in pairs
    )
    _require(is_right, path, "hold pairs of a key and a value", pairs)
    return {key: _unpack(part, f"{path}[{key!r}]", types) for key, part in pairs}


def _unpack_array(data, path, types):
    _check_keys(data, path, ["dtype", "shape", "array"])
    dtype, shape, items = data["dtype"], data["shape"], data["array"]
    is_known = isinstance(dtype, str) and _DTYPE.fullmatch(dtype)
    _require(is_known, f"{path}['dtype']", "be the type of an array", dtype)
    if dtype == "object":
        items = _unpack(items, f"{path}['array']", types)
    try:
        array = np.array(items, dtype=dtype).reshape(shape)
        is_exact = _pack_array(array, path, types) == data
    except (TypeError, ValueError, OverflowError, MemoryError):  # what NumPy says of no arrays
        is_exact = False
    _require(is_exact, path, f"hold {dtype} of shape {shape!r}")
    return array


def _unpack_estimator(data, path, types, *, must_be_fitted=False):
    kind = _find_type(data, path, types)
    _check_keys(data, path, ["class", "params", "fitted"])
    params, fitted = (
        {
            name: _unpack(value, f"{path}[{part!r}][{name!r}]", types)
            for name, value in _as_dict(data[part], f"{path}[{part!r}]").items()
        }
        for part in ("params", "fitted")
    )
    _check_keys(params, f"{path}['params']", inspect.signature(kind).parameters)
    for name in fitted:
        is_free = name.isidentifier() and not name.startswith("__") and not hasattr(kind, name)
        _require(
            is_free and name not in params, f"{path}['fitted']", "hold fitted attributes", name
        )
    if issubclass(kind, IsotonicRegression):
        _refuse_nan(fitted.values(), f"{path}['fitted']")
    try:
        estimator = kind(**params)
        # As unpickling does it, which also makes what follows from the attributes.
        estimator.__setstate__(fitted | estimator.__getstate__())
        if issubclass(kind, IsotonicRegression):
            return estimator
        _check_parameters(estimator)
        if fitted or must_be_fitted:
            _check_fitted(estimator)
    except Exception as error:  # whatever wrong attributes lead to
        name = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        raise ValueError(f"{path} is no valid {kind.__name__}: {name}{error}") from error
    return estimator


def _refuse_nan(values, path):
    """Raise a ValueError for NaN in a map of one class: the sum of a row may hide it."""
    is_right = not any(np.any(value != value) for value in values)
    _require(is_right, path, "hold numbers that are not NaN")


def _find_type(data, path, types):
    name = data.get("class")
    is_known = isinstance(name, str) and name in types
    _require(
        is_known,
        f"{path}['class']",
        "name a class of skcal.recalibration (for a recalibrator of your own call from_dict of it)",
        name,
    )
    return types[name]


def _check_parameters(recalibrator):
    check_option("input", recalibrator.input, ("proba", "logits"))
    recalibrator._check_options()


def _check_fitted(recalibrator):
    """Raise an error unless the attributes fit together and give probabilities."""
    attributes = vars(recalibrator)
    for name in ("classes_", "n_features_in_", "_order", "_depth"):
        _require(name in attributes, f"fitted[{name!r}]", "be there")
    classes, order = recalibrator.classes_, recalibrator._order
    is_right = isinstance(classes, np.ndarray) and classes.ndim == 1 and len(classes) >= 2
    is_right = is_right and np.array_equal(classes, np.unique(classes))
    _require(is_right, "fitted['classes_']", "be an array of two or more sorted labels", classes)
    n_classes, n_columns = len(classes), recalibrator.n_features_in_
    is_right = isinstance(order, np.ndarray) and order.dtype.kind == "i"
    is_right = is_right and np.array_equal(np.sort(order), np.arange(n_classes))
    _require(is_right, "fitted['_order']", f"order {n_classes} columns", order)
    is_right = type(n_columns) is int and max(n_columns, 2) == n_classes and n_columns > 0
    _require(is_right, "fitted['n_features_in_']", f"suit {n_classes} classes", n_columns)
    depth = recalibrator._depth
    is_right = isinstance(depth, float | int) and (0 < depth < 2.0**1023 or depth == np.inf)
    _require(is_right, "fitted['_depth']", "be a positive number", depth)
    names = attributes.get("feature_names_in_", np.empty(n_columns))
    is_right = isinstance(names, np.ndarray) and names.shape == (n_columns,)
    _require(is_right, "fitted['feature_names_in_']", f"be an array of {n_columns} names", names)
    scores = _make_scores(n_classes, recalibrator.input)
    proba = np.asarray(recalibrator._answer(scores))
    is_right = proba.shape == scores.shape and (proba >= -_TOLERANCE).all()
    is_right = is_right and (abs(proba.sum(axis=1) - 1) <= _TOLERANCE).all()
    _require(is_right, "fitted", "give rows of probabilities that sum to 1")


def _make_scores(n_classes, kind):
    """Rows that do not prefer a class, prefer one, or know it, of the first classes of many."""
    certain = np.eye(min(n_classes, _MOST_CERTAIN), n_classes)
    even = np.full((1, n_classes), 1 / n_classes)
    proba = np.concatenate([even, (certain + even) / 2, certain])
    return proba if kind == "proba" else np.log(np.maximum(proba, np.finfo(np.float64).eps))


def _as_dict(data, path):
    is_right = isinstance(data, dict) and all(isinstance(key, str) for key in data)
    _require(is_right, path, "be a dict with text as keys", type(data).__name__)
    return data


def _check_keys(data, path, names):
    missing, unknown = set(names) - set(data), set(data) - set(names)
    _require(not missing, path, "be complete", f"no {_show_keys(missing)}")
    _require(not unknown, path, f"hold {_show_keys(names)} alone", f"also {_show_keys(unknown)}")


def _show_keys(keys):
    return ", ".join(sorted(map(repr, keys)))


def _require(is_right, path, rule, got=None):
    if not is_right:
        raise ValueError(f"{path} must {rule}" + (f"; got {got!r}." if got is not None else "."))
