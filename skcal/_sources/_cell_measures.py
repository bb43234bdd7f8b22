"""What a summary answers: measures of the rows that its cells stand for, and how far they are off.

No measure is computed here. It is taken of a few weighted rows that have the same sums in each cell
as the rows of the stream.
"""

from skcal._input._sample import Sample
from skcal._input._validation import check_option
from skcal._numerics.errors._binned import count_bins
from skcal._sources._bound_measure import DATA, find_defaults
from skcal.metrics import MEASURES

# What rounding may add, for the rows and for the cells.
_ROUNDING = 1e-12


def check_measure(name, options):
    """Return all options of a measure that cells can answer, or raise a ValueError."""
    check_option("name", name, tuple(MEASURES))
    if not MEASURES[name].reduces:
        raise ValueError(
            f"name must be a measure of binary problems; {name} needs whole vectors of "
            "probabilities, which a summary does not keep."
        )
    if MEASURES[name].cells is None:
        raise ValueError(f"name must be a measure that summaries support; {name} has no bound yet.")
    known = find_defaults(MEASURES[name].function)
    known = {option: known[option] for option in known if option != "reduction"}
    for option in options:
        if option in (*DATA, "reduction"):
            raise ValueError(f"{option} is a setting of the summary, not an option of measures.")
        check_option("option", option, list(known))
    known.update(options)
    if known.get("method") in ("subsample", "fourier", "binning"):
        raise ValueError(f'method must be "exact" for a summary; got {known["method"]!r}.')
    return known


def _fix_bins(cells, options):
    """Options with the number of bins for the rows of the cells, for those that depend on it."""
    if not isinstance(options.get("n_bins"), str):
        return options
    return options | {"n_bins": count_bins("cube_root", cells.n_rows)}


def measure_cells(cells, name, options):
    """Value of a measure for the rows that cells stand for."""
    options = _fix_bins(cells, options)
    known = check_measure(name, options)
    answer, measure = MEASURES[name].cells, MEASURES[name].bind(**known)
    reason = answer.refuse and answer.refuse(known)
    if reason and cells.facts.spread.any():
        raise ValueError(
            f"{name} cannot be computed: {reason} A summary has it only as long as no cell holds "
            "two different predictions."
        )
    outcomes, predictions, weights = answer.rows(cells, known)
    return float(measure(Sample(predictions, outcomes, weights)))


def is_averaged(cells, name, options):
    """Whether a measure is answered for one row in each cell, with a soft outcome."""
    return MEASURES[name].cells.rows(cells, check_measure(name, options)) is cells.averaged


def bound_cells(cells, name, options):
    """How far `measure_cells` can be from the measure of the rows themselves."""
    options = _fix_bins(cells, options)
    value, known = measure_cells(cells, name, options), check_measure(name, options)
    answer = MEASURES[name].cells
    bound = answer.bound(cells, value, known) if cells.facts.spread.any() else 0.0
    accuracy = answer.find_accuracy(cells, value, known) if answer.find_accuracy else 0.0
    return float(max(bound, 0.0) + accuracy + _ROUNDING)
