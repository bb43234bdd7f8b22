"""A graph of ONNX that is written as formulas of arrays, in double precision."""

import numpy as np

from skcal import __version__


class Graph:
    """Inputs, constants and nodes, to which operations on `Value` add.

    `dtype` is the float type of the answer: probabilities stay where it has numbers inside (0, 1).
    `rounding` is the relative error of class scores that are not the input itself.
    """

    def __init__(self, dtype, target_opset):
        self.dtype, self.rounding = dtype, 0.0
        self.smallest = float(np.finfo(dtype).tiny)
        self.largest = float(np.nextafter(dtype.type(1), dtype.type(0)))
        self._inputs, self._constants, self._nodes = {}, [], []
        self._opsets = {"": target_opset}
        self._n_names = 0

    def declare(self, name, dtype, n_columns):
        """A new input."""
        from onnx.helper import make_tensor_value_info

        self._inputs[name] = make_tensor_value_info(name, _find_kind(dtype), [None, n_columns])
        return Value(self, name)

    def add(self, kind, *inputs, output=None, n_outputs=1, **attributes):
        """The output of a new node, or a list of several; numbers and arrays become constants."""
        from onnx.helper import make_node

        names = [one.name if isinstance(one, Value) else self.store(one).name for one in inputs]
        outputs = [output or self._make_name() for _ in range(n_outputs)]
        self._nodes.append(make_node(kind, names, outputs, name=outputs[0], **attributes))
        values = [Value(self, name) for name in outputs]
        return values if n_outputs > 1 else values[0]

    def include(self, part, inputs):
        """The output of another graph, which becomes a part of this one.

        `part` is a ModelProto with one output; its inputs by name are cast to the types that it
        takes.
        """
        from onnx.compose import add_prefix

        prefix = self._make_name() + "_"
        part = add_prefix(part, prefix)
        for one in part.graph.input:
            given = inputs[one.name.removeprefix(prefix)]
            self.add("Cast", given, to=one.type.tensor_type.elem_type, output=one.name)
        self._nodes += part.graph.node
        self._constants += part.graph.initializer
        for opset in part.opset_import:
            self._opsets[opset.domain] = max(self._opsets.get(opset.domain, 0), opset.version)
        return Value(self, part.graph.output[0].name)

    def finish(self, proba, classes, name):
        """A model of ONNX with the outputs "label" and "probabilities"."""
        from onnx import helper

        if taken := {"label", "probabilities"} & set(self._inputs):
            raise ValueError(
                f"X must not have columns with the names of outputs; got {taken.pop()!r}."
            )
        kind = classes.dtype.kind
        labels = classes.astype({"f": "f8", "b": "i8", "i": "i8", "u": "i8"}.get(kind, "U"))
        proba = proba.cast(self.dtype, output="probabilities")
        self.add("Gather", labels, proba.argmax(keepdims=0), output="label")
        graph = helper.make_graph(
            self._nodes,
            name,
            list(self._inputs.values()),
            [
                helper.make_tensor_value_info("label", _find_kind(labels.dtype), [None]),
                helper.make_tensor_value_info(
                    "probabilities", _find_kind(self.dtype), [None, len(classes)]
                ),
            ],
            self._constants,
        )
        opsets = [helper.make_opsetid(*opset) for opset in self._opsets.items()]
        return helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=helper.find_min_ir_version_for(opsets),
            producer_name="skcal",
            producer_version=__version__,
        )

    def _make_name(self):
        self._n_names += 1
        return f"skcal_{self._n_names}"

    def store(self, content):
        """A constant."""
        from onnx.helper import make_tensor
        from onnx.numpy_helper import from_array

        content, name = np.asarray(content), self._make_name()
        if content.dtype.kind == "U":
            values = [one.encode() for one in content.tolist()]
            tensor = make_tensor(name, _find_kind(content.dtype), content.shape, values)
        else:
            tensor = from_array(content, name)
        self._constants.append(tensor)
        return Value(self, name)


def _find_kind(dtype):
    """The number of a type in ONNX."""
    from onnx import TensorProto
    from onnx.helper import np_dtype_to_tensor_dtype

    dtype = np.dtype(dtype)
    return TensorProto.STRING if dtype.kind in "OU" else np_dtype_to_tensor_dtype(dtype)


class Value:
    """An array in a graph. Operators and the functions below add nodes.

    Axis 1 is that of classes; sums and maxima are columns.
    """

    __array_ufunc__ = None  # operators of NumPy leave the operation to those here

    def __init__(self, graph, name):
        self.graph, self.name = graph, name

    def __add__(self, other):
        return apply("Add", self, other)

    def __sub__(self, other):
        return apply("Sub", self, other)

    def __mul__(self, other):
        return apply("Mul", self, other)

    def __truediv__(self, other):
        return apply("Div", self, other)

    def __matmul__(self, other):
        return apply("MatMul", self, other)

    def __lt__(self, other):
        return apply("Less", self, other)

    def __gt__(self, other):
        return apply("Greater", self, other)

    def __radd__(self, other):
        return apply("Add", other, self)

    def __rsub__(self, other):
        return apply("Sub", other, self)

    def __rmul__(self, other):
        return apply("Mul", other, self)

    def __rtruediv__(self, other):
        return apply("Div", other, self)

    def __neg__(self):
        return apply("Neg", self)

    def take(self, columns):
        return apply("Gather", self, np.atleast_1d(columns), axis=1)

    def split(self, n_columns):
        """Each column by itself."""
        if n_columns == 1:
            return [self]
        return apply("Split", self, axis=1, num_outputs=n_columns, n_outputs=n_columns)

    def sum(self):
        return apply("ReduceSum", self, np.array([1]), keepdims=1)

    def max(self):
        return apply("ReduceMax", self, np.array([1]), keepdims=1)

    def mean(self):
        return apply("ReduceMean", self, np.array([1]), keepdims=1)

    def argmax(self, *, keepdims=1):
        """The first column of the largest number."""
        return apply("ArgMax", self, axis=1, keepdims=keepdims)

    def cast(self, dtype, **output):
        return apply("Cast", self, to=_find_kind(dtype), **output)


def apply(kind, *inputs, **attributes):
    graph = next(one.graph for one in inputs if isinstance(one, Value))
    return graph.add(kind, *inputs, **attributes)


def exp(x):
    return apply("Exp", x)


def log(x):
    return apply("Log", x)


def expit(x):
    return 1.0 / (1.0 + exp(-x))  # "Sigmoid" of onnxruntime is 0 where this is below 2e-16


def softmax(x):
    return apply("Softmax", x, axis=1)


def absolute(x):
    return apply("Abs", x)


def maximum(x, y):
    return apply("Max", x, y)


def minimum(x, y):
    return apply("Min", x, y)


def clip(x, low, high):
    return minimum(maximum(x, low), high)


def where(condition, x, y):
    return apply("Where", condition, x, y)


def concat(columns):
    return apply("Concat", *columns, axis=1) if len(columns) > 1 else columns[0]


def look_up(table, index):
    """Entries of a constant at the numbers in a column."""
    return index.graph.add("Gather", table, index)


def count(ends, x, *, equal):
    """How many of sorted numbers are below every entry of a column, or at most there.

    By halving: a table of all comparisons would take much memory.
    """
    found = where(x < x, 0, 0)
    if len(ends) == 0:
        return found
    step = 1 << len(ends).bit_length() - 1
    padded = np.full(2 * step, np.inf)
    padded[0], padded[1 : len(ends) + 1] = -np.inf, ends
    padded = x.graph.store(padded)
    while step:
        tried = found + step
        end = look_up(padded, tried)
        fits = apply("LessOrEqual", end, x) if equal else end < x
        found, step = where(fits, tried, found), step // 2
    return found


def interpolate(x, places, values):
    """Straight lines between points, level beyond."""
    if len(places) == 1:
        return 0.0 * x + float(values[0])
    x = clip(x, float(places[0]), float(places[-1]))
    piece = count(places[1:-1], x, equal=True)
    start, width = look_up(places[:-1], piece), look_up(np.diff(places), piece)
    return look_up(values[:-1], piece) + (x - start) / width * look_up(np.diff(values), piece)
