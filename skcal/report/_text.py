"""The text form of a report."""

from textwrap import TextWrapper

from skcal._tools._words import show_pvalue
from skcal.report._sections import cut_text, judge_recalibration, list_sections, show_number
from skcal.report._sentence import write_comparison, write_labels

_WIDTH = 79
_INDENT = 2
_LABELS = 26
LEGEND = (
    "Even a calibrated model shows an error: 'by chance' is its mean for one with these "
    "predictions. Intervals are for the population. Miscalibration is what recalibration takes off "
    "a score, on rows that the map was not fitted on. The average error, unless the verdict names "
    "another, is smooth ECE without the part due to chance; errors of opposite sign at nearby "
    "predictions cancel in it."
)


def write_report(report):
    """The whole report as text."""
    blocks = ["Calibration report\n" + "=" * 18]
    if len(report.models) > 1:
        blocks.append(_write_overview(report))
        blocks.append(_wrap(write_overall(report), 0))
    for name, model in report.models.items():
        blocks.append(_write_heading(name, model))
        blocks += [
            _write_section(section) for section in list_sections(model, report.confidence_level)
        ]
        blocks[-1] += "\n" + _wrap(judge_recalibration(model), _INDENT)
    return "\n\n".join([*blocks, _wrap(LEGEND, 0)])


def write_overall(report):
    """What there is to say of several models, or labels, together."""
    if report.comparison is None:
        return write_labels(report.models)
    return write_comparison(report.comparison)


def list_overview(report):
    """Cells of the table of models, or of labels, with its head."""
    errors = [model.error for model in report.models.values()]
    if report.comparison is not None:
        errors = report.comparison.errors.tolist()
    head = ("", "verdict", "log loss", "Brier", "error", "test")
    rows = [
        (
            name,
            model.verdict,
            show_number(model.scores["log_loss"].score),
            show_number(model.scores["brier_score"].score),
            show_number(error),
            show_pvalue(model.pvalue),
        )
        for (name, model), error in zip(report.models.items(), errors, strict=True)
    ]
    return head, rows


def _write_overview(report):
    head, rows = list_overview(report)
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    room = _WIDTH - sum(widths[1:]) - 2 * (len(widths) - 1)
    rows = [(cut_text(row[0], room), *row[1:]) for row in rows]
    widths[0] = max(len(row[0]) for row in rows)
    lines = []
    for row in (head, *rows):
        texts = [row[0].ljust(widths[0]), row[1].ljust(widths[1])]
        texts += [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
        lines.append("  ".join(texts).rstrip())
    return "\n".join(lines)


def _write_heading(name, model):
    title = f"{'Verdict' if name is None else cut_text(name, 60)}: {model.verdict}"
    underline = "" if name is None else "-" * len(title) + "\n"
    return f"{title}\n{underline}{_wrap(model.sentence, 0)}"


def _write_section(section):
    if not section.columns:
        lines = [section.title]
        lines += [_wrap(text, _LABELS, f"{'':{_INDENT}}{label}") for label, text in section.rows]
        return "\n".join(lines)
    cells = [section.columns, *(row[1:] for row in section.rows)]
    widths = [max(map(len, column)) + 2 for column in zip(*cells, strict=True)]
    labels = [section.title, *(f"{'':{_INDENT}}{row[0]}" for row in section.rows)]
    width = max(_LABELS, *(len(label) + 1 for label in labels))
    lines = (
        label.ljust(width)
        + "".join(text.rjust(max(w, 11)) for text, w in zip(row, widths, strict=True))
        for label, row in zip(labels, cells, strict=True)
    )
    return "\n".join(line.rstrip() for line in lines)


def _wrap(text, indent, label=""):
    wrapper = TextWrapper(
        _WIDTH, initial_indent=label.ljust(indent), subsequent_indent=" " * indent
    )
    return wrapper.fill(text)
