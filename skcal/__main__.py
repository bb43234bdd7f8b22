"""The calibration report of a file, for the command line: ``python -m skcal report --help``."""

import argparse
import os
import sys
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import NoReturn

from skcal import __version__

_EXAMPLES = """\
examples:
  python -m skcal report predictions.csv --y outcome --p risk --html report.html
  python -m skcal report predictions.csv --y outcome --p model_a --p model_b
  python -m skcal report answers.parquet --y animal --p cat dog bird
  python -m skcal report visits.csv --y died --pos-label yes --p risk --clusters patient
  python -m skcal report sheet.csv --sep semicolon --y outcome --p chance --percent
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {' '.join(message.split())}\n")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command that the arguments name; by default they are those of the process."""
    parser = _Parser(
        prog="python -m skcal",
        description="Probability calibration of files.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"skcal {__version__}")
    commands = parser.add_subparsers(metavar="command", required=True)
    report = commands.add_parser(
        "report",
        help="tell whether predicted probabilities come true",
        # The options --p, --labels and --groups would take a file that follows them.
        usage="%(prog)s FILE [--y COLUMN] [--p COLUMN [COLUMN ...]] [options]",
        description="Tell whether predicted probabilities come true, where they are wrong, and "
        "whether\nrecalibration is worth it. The model must not have been fitted on these rows.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = report.add_argument
    add("file", metavar="FILE", help="CSV or Parquet file with one prediction in each row")
    add("--y", metavar="COLUMN", help="column of true labels (default: y, y_true or label)")
    add(
        "--p",
        nargs="+",
        action="append",
        metavar="COLUMN",
        help="column of probabilities of the positive label, or one column for each label; once "
        "for each model (default: p, y_proba or score, or columns that are named by label)",
    )
    add("--percent", action="store_true", help="probabilities are per cent, with or without signs")
    add(
        "--sep",
        metavar="TEXT",
        help="separator of columns: comma, semicolon, tab or any text (default: what is found)",
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
    from skcal._command._columns import find_labels, find_probabilities, read_label, read_numbers
    from skcal._command._table_file import TableFile
    from skcal.report import calibration_report

    file = TableFile(options.file, options.sep)
    name = options.y or find_labels(file)
    y_true = file.read([name])[name]
    file.refuse_missing(y_true)
    models = options.p or [find_probabilities(file, y_true)]
    if options.y is None or options.p is None:
        print(f"Labels: {name}. Probabilities: {', '.join(models[0])}.", file=sys.stderr)
    labels = None if options.labels is None else [read_label(v, y_true) for v in options.labels]
    y_proba, labels = _read_models(file, models, y_true, labels, options.percent)
    single = {v: file.read([v])[v] for v in (options.sample_weight, options.clusters) if v}
    groups = options.groups and file.read(options.groups)
    for column in [*single.values(), *(groups[v] for v in options.groups or ())]:
        file.refuse_missing(column)
    weight = options.sample_weight and read_numbers(file, single[options.sample_weight])
    report = calibration_report(
        y_true,
        y_proba,
        sample_weight=weight,
        pos_label=None if options.pos_label is None else read_label(options.pos_label, y_true),
        labels=labels,
        groups=groups,
        clusters=single.get(options.clusters),
        random_state=options.random_state,
    )
    _print(report)
    if options.html is not None:
        report.to_html(options.html, title=f"Calibration report of {Path(options.file).name}")


def _read_models(file, models, y_true, labels, percent):
    """Probabilities of one model, or of several by name, and the labels of their columns."""
    from skcal._command._columns import match_labels, read_label, read_probabilities

    found, order = {}, labels
    for columns in models:
        table, own = file.read(columns), None
        if len(set(columns)) < len(columns):
            raise ValueError(f"--p must name a column once; got {', '.join(columns)}.")
        if len(columns) > 1:
            own = labels or match_labels(columns, y_true)
            own = own or [read_label(name, y_true) for name in columns]
            if len(own) != len(columns) or len(set(own)) < len(own):
                raise ValueError(
                    f"--labels must name each of the {len(columns)} columns of --p once; got "
                    f"{len(own)}."
                )
            order = order or sorted(own)
            if set(own) != set(order):
                raise ValueError("--p must have columns of the same labels for each model.")
        proba = read_probabilities(file, table, percent=percent)
        if own is not None:
            proba = proba.iloc[:, [own.index(label) for label in order]]
        found[_name_model(columns)] = proba
    if len(found) < len(models):
        raise ValueError("--p must name other columns for each model, which begin differently.")
    return (found if len(models) > 1 else proba), order


def _name_model(columns):
    """What the names of the columns of a model share."""
    if len(columns) == 1:
        return columns[0]
    shared = takewhile(lambda letters: len(set(letters)) == 1, zip(*columns, strict=False))
    return "".join(letters[0] for letters in shared).rstrip("._- ") or ", ".join(columns)


def _print(text):
    """Print a text; whoever reads it may stop before its end."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit


if __name__ == "__main__":
    main()
