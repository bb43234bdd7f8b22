"""smooth_ece and the binned error in sorts and passes, and beside relplot; in CPU time."""

from timing import (
    describe_machine,
    make_predictions,
    make_units,
    median_cpu_times,
    peak_memory,
    print_table,
    show_ratio,
    show_time,
)

from skcal.metrics import expected_calibration_error, smooth_ece

try:
    import relplot
except ImportError:
    relplot = None

HEADER = ("rows", "sort", "pass", "smooth_ece", "passes", "peak MB", "relplot")
HEADER += ("ECE", "passes", "peak MB", "relplot")


def list_functions(y, proba, n):
    """The units, skcal's functions, and those of relplot that end in time."""
    functions = make_units(proba)
    functions += [lambda: smooth_ece(y, proba), lambda: expected_calibration_error(y, proba)]
    if relplot is not None:
        functions.append(lambda: relplot.metrics.binnedECE(proba, y, nbins=15))
        if n <= 10**6:
            functions.append(lambda: relplot.smECE(proba, y))
    return functions


def show_row(exponent):
    n = 10**exponent
    functions = list_functions(*make_predictions(n), n)
    # Few rows are measured many times, relplot's SmoothECE apart: it would empty the cache.
    repeats = {3: 201, 4: 101, 5: 31, 6: 9, 7: 3}[exponent]
    sort, read, smooth, binned, *peer_binned = median_cpu_times(functions[:5], repeats)
    peer_smooth = median_cpu_times(functions[5:], 3) if functions[5:] else []
    peaks = [peak_memory(function) / 1e6 for function in functions[2:4]]
    cells = [f"10^{exponent}", show_time(sort), show_time(read)]
    for ours, peak, peers in ((smooth, peaks[0], peer_smooth), (binned, peaks[1], peer_binned)):
        ratio = show_ratio(peers[0] / ours) if len(peers) else ""
        cells += [show_time(ours), f"{ours / read:.1f}", f"{peak:.1f}", ratio]
    return cells


print(describe_machine())
print()
print_table(HEADER, [show_row(exponent) for exponent in range(3, 8)])
if relplot is None:
    print("\nrelplot is absent: pip install relplot==1.0.3")
