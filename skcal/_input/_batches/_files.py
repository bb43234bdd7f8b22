"""Batches of rows of files: Parquet files and datasets, read by pyarrow."""

import os
from importlib import import_module

# Rows of a batch, and numbers of one that may be longer. For arrays of a megabyte, as short batches
# have, the system hands out new memory again and again, which takes more time than the sums.
_N_ROWS, _N_NUMBERS = 2**17, 2**21


def read_files(batches, names, any_length=False):
    """Batches of the columns of Parquet files or of a dataset of pyarrow; else what was given.

    `names` is what `check_names` returned. With `any_length` it does not matter how rows are cut
    into batches, and few columns come in long ones.
    """
    is_path, is_file = isinstance(batches, str | os.PathLike), hasattr(batches, "iter_batches")
    if not (is_path or is_file or _is_dataset(batches)):
        return batches
    if names is None:
        raise ValueError("y_true and y_proba must name columns of files; got None.")
    source = _open(os.fspath(batches)) if is_path else batches
    schema = source.schema_arrow if is_file else source.schema
    columns, known = _list_columns(names), schema.names
    missing = [name for name in columns if name not in known]
    if missing:
        found = ", ".join(map(repr, known))
        raise ValueError(f"There is no column {missing[0]!r} in files of the columns {found}.")
    n_rows = max(_N_ROWS, _N_NUMBERS // len(columns)) if any_length else _N_ROWS
    if is_file:
        return source.iter_batches(n_rows, columns=columns)
    # With threads that read ahead the process grows with the file, and takes more time in all.
    return source.to_batches(
        columns=columns,
        batch_size=n_rows,
        batch_readahead=1,
        fragment_readahead=1,
        use_threads=False,
    )


def _is_dataset(batches):
    return type(batches).__module__.startswith("pyarrow._dataset") and hasattr(batches, "schema")


def _open(path):
    """The Parquet file, or folder of them, as a dataset."""
    if os.path.isfile(path) and not path.endswith((".parquet", ".pq")):
        raise ValueError(
            f"batches must be a Parquet file, a folder of them or an iterable; got {path!r}. "
            "pandas.read_csv(path, chunksize=10**5) gives batches of a CSV file."
        )
    try:
        dataset = import_module("pyarrow.dataset")
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install pyarrow") from error
    read = dataset.ParquetFragmentScanOptions(pre_buffer=False)
    form = dataset.ParquetFileFormat(default_fragment_scan_options=read)
    return dataset.dataset(path, format=form)


def _list_columns(names):
    """Distinct names of the columns that are read."""
    lists = [name if isinstance(name, list | tuple) else [name] for name in names]
    parts = [part for name in lists for part in name]
    return [part for part in dict.fromkeys(parts) if part is not None]
