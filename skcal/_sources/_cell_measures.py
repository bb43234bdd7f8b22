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


def bind_cells(cells, name, options):
    """The measure with its options, of the number of bins for the rows of the cells."""
    if isinstance(options.get("n_bins"), str):
        options = options | {"n_bins": count_bins("cube_root", cells.n_rows)}
    return MEASURES[name](**check_measure(name, options))


def measure_cells(cells, name, options):
    """Value of a measure for the rows that cells stand for."""
    return _measure(cells, bind_cells(cells, name, options))


def _measure(cells, measure):
    reason = measure.refuse()
    if reason and cells.facts.spread.any():
        raise ValueError(
            f"{measure.name} cannot be computed: {reason} A summary has it only as long as no cell "
            "holds two different predictions."
        )
    outcomes, predictions, weights = measure.choose_rows(cells)
    return float(measure.measure(Sample(predictions, outcomes, weights)))


def is_averaged(cells, name, options):
    """Whether a measure is answered for one row in each cell, with a soft outcome."""
    return bind_cells(cells, name, options).choose_rows(cells) is cells.averaged


def bound_cells(cells, name, options):
    """How far `measure_cells` can be from the measure of the rows themselves."""
    measure = bind_cells(cells, name, options)
    value = _measure(cells, measure)
    bound = measure.bound(cells, value) if cells.facts.spread.any() else 0.0
    return float(max(bound, 0.0) + measure.find_accuracy(cells, value) + _ROUNDING)
