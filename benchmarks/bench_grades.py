"""How often right rating grades are called wrong, and a wrong one is found: exact shares.

    python benchmarks/bench_grades.py    # some seconds

Portfolios have ten grades, with rates from the lowest to the highest in equal steps of the
logarithm. Printed are the chances that a test at 5 % rejects any grade, by the tests of each number
of defaults that a grade may have; "red" is the red light. With Holm's method it is the chance that
a p-value is at most a tenth of 5 %. In the last rows one grade, the seventh, has twice its rate.
"""

import warnings

import numpy as np
from scipy.stats import binom
from timing import print_table, show_progress

from skcal.inference import audit_grades

ALPHA, N_GRADES, WRONG, NEVER = 0.05, 10, 6, 1e-9
TESTS = {
    "binomial": "binomial",
    "two-sided": "binomial_two_sided",
    "Jeffreys": "jeffreys",
    "Jeffreys two-sided": "jeffreys_two_sided",
}
HOLM = {"Holm": "binomial", "Holm two-sided": "binomial_two_sided"}
# Rows of a grade, and the lowest and highest rate.
PORTFOLIOS = {
    "30 rows each, 0.03 to 20 %": (30, 0.0003, 0.2),
    "300 rows each, 0.03 to 1 %": (300, 0.0003, 0.01),
    "300 rows each, 0.03 to 20 %": (300, 0.0003, 0.2),
    "1000 rows each, 0.03 to 20 %": (1000, 0.0003, 0.2),
    "50 rows each, 3 to 47 %": (50, 0.03, 0.47),
}


def find_chances(n_rows, rate, true_rate):
    """Chances that each test rejects a grade."""
    rates = np.array([rate, true_rate])
    first = int(binom.ppf(NEVER, n_rows, rates).min())
    n_events = np.arange(first, int(binom.isf(NEVER, n_rows, rates).max()) + 1)
    y = (np.arange(n_rows) < n_events[:, None]).ravel().astype(int)
    with warnings.catch_warnings():  # of the test of all grades at once, which is not read here
        warnings.filterwarnings("ignore", message="hosmer_lemeshow_test expects few")
        grades = np.repeat(n_events, n_rows)
        table = audit_grades(y, np.full(len(y), rate), grades, labels=[0, 1]).table
    chances = binom.pmf(table["n_events"], n_rows, true_rate)
    rejected = [table[test] <= ALPHA for test in TESTS.values()]
    rejected += [table[test] <= ALPHA / N_GRADES for test in HOLM.values()]
    return np.array([*rejected, table["light"] == "red"]) @ chances


def tabulate():
    for factor in (1, 2):
        for name, (n_rows, low, high) in PORTFOLIOS.items():
            kept = 1.0
            rates = np.geomspace(low, high, N_GRADES)
            for place, rate in enumerate(show_progress(rates, name)):
                true_rate = rate * (factor if place == WRONG else 1)
                kept = kept * (1 - find_chances(n_rows, rate, true_rate))
            title = "right: " if factor == 1 else "one twice: "
            yield [title + name, *(f"{100 * share:.1f}" for share in 1 - kept)]


if __name__ == "__main__":
    print_table(["portfolio", *TESTS, *HOLM, "red"], list(tabulate()))
