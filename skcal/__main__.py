"""The calibration report of a file, for the command line: ``python -m skcal report --help``."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from skcal import __version__

_EXAMPLES = """\
examples:
  python -m skcal report predictions.csv --y outcome --p risk --html report.html
  python -m skcal report answers.parquet --y animal --p cat dog bird
  python -m skcal report visits.csv --y died --pos-label yes --p risk --clusters patient
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {' '.join(message.split())}\n")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command that the arguments name; by default they are those of the process."""
    parser = _Parser(prog="python -m skcal", description="Probability calibration of files.")
    parser.add_argument("--version", action="version", version=f"skcal {__version__}")
    commands = parser.add_subparsers(metavar="command", required=True)
    report = commands.add_parser(
        "report",
        help="tell whether predicted probabilities come true",
        # The options --p, --labels and --groups would take a file that follows them.
        usage="%(prog)s FILE --y COLUMN --p COLUMN [COLUMN ...] [options]",
        description="Tell whether predicted probabilities come true, where they are wrong, and "
        "whether\nrecalibration is worth it. The model must not have been fitted on these rows.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = report.add_argument
    add("file", metavar="FILE", help="CSV or Parquet file with one prediction in each row")
    add("--y", required=True, metavar="COLUMN", help="column of true labels")
    add(
        "--p",
        required=True,
        nargs="+",
        metavar="COLUMN",
        help="column of probabilities of the positive label, or one column for each label",
    )
    add(
        "--labels",
        nargs="+",
        metavar="LABEL",
        help="labels of the columns of probabilities, where they are not named by label",
    )
    add(
        "--pos-label",
        metavar="LABEL",
        help="the positive label, which one column needs unless labels are 0 and 1",
    )
    add("--sample-weight", metavar="COLUMN", help="column of weights of rows")
    add(
        "--groups",
        nargs="+",
        metavar="COLUMN",
        help="columns of groups for each of which the model should be right",
    )
    add("--clusters", metavar="COLUMN", help="column that names rows that belong together")
    add(
        "--random-state",
        type=int,
        default=0,
        metavar="SEED",
        help="seed of random draws (default: 0, so that every run gives the same answer)",
    )
    add("--html", metavar="PATH", help="file to write the report to as an HTML page")
    options = parser.parse_args(argv)
    try:
        _report(options)
    except (ImportError, OSError, TypeError, ValueError) as error:
        report.error(str(error))


def _report(options):
    # Imported here, so that help comes at once.
    from skcal.report import calibration_report

    data = _read_table(options.file)
    y_true = _take(data, options.y)
    labels = options.labels
    if labels is None and len(options.p) > 1:
        labels = options.p
    report = calibration_report(
        y_true,
        _take(data, options.p if len(options.p) > 1 else options.p[0]),
        sample_weight=_take(data, options.sample_weight),
        pos_label=None if options.pos_label is None else _read_label(options.pos_label, y_true),
        labels=None if labels is None else [_read_label(label, y_true) for label in labels],
        groups=_take(data, options.groups),
        clusters=_take(data, options.clusters),
        random_state=options.random_state,
    )
    print(report)
    if options.html is not None:
        name = Path(options.file).name
        report.to_html(options.html, title=f"Calibration report of {name}")


def _read_table(path):
    import pandas as pd

    read = pd.read_parquet if Path(path).suffix in (".parquet", ".pq") else pd.read_csv
    return read(path)


def _take(data, names):
    """One column of a table, or a table of several; None without a name."""
    if names is None:
        return None
    from skcal._input._advice import suggest_name

    for name in [names] if isinstance(names, str) else names:
        if name not in data:
            columns = list(map(str, data))
            found = ", ".join(map(repr, columns))
            hint = suggest_name(name, columns)
            raise ValueError(f"The file has no column {name!r}; it has {found}.{hint}")
    return data[names]


def _read_label(text, y_true):
    """A label of the command line as one of its column."""
    import pandas as pd

    known = {str(label): label for label in y_true.unique()}
    if pd.api.types.is_bool_dtype(y_true):
        text = text.capitalize()
    if text in known or not pd.api.types.is_numeric_dtype(y_true):
        return known.get(text, text)
    try:
        number = float(text)
    except ValueError:
        raise ValueError(
            f"The labels of column {y_true.name!r} are {', '.join(known)}; {text!r} is none of "
            "them. Labels of columns of probabilities may be named with --labels."
        ) from None
    return int(number) if number.is_integer() else number


if __name__ == "__main__":
    main()
