"""Change the formulas in small ways, one at a time, and see whether a test notices.

    python .ci/mutate.py              # every module below: some hours on two cores
    python .ci/mutate.py _binned _cox # or some of them, minutes each

The command needs `pip install "mutmut>=3.8"`. It works on copies of the repository in a temporary
folder, prints each change that no test noticed, and at last the share of those that were noticed.
Each module is tested by the files named here, not by the whole suite, which would take days: a
change of a formula should be noticed by the tests that are about this formula.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NUMERICS = ROOT / "skcal" / "_numerics"

# Tests of each module besides tests/numerics/test<module>.py, where that exists.
TESTS = {
    "_binned": [
        "numerics/test_bin_index",
        "metrics/test_binned",
        "metrics/test_fractional_weights",
    ],
    "_bootstrap": ["inference/test_bootstrap"],
    "_bregman": ["metrics/test_decomposition"],
    "_brownian": ["inference/test_cumulative_test"],
    "_cell_bins": ["numerics/test_cell_moments", "streaming/test_bounds", "streaming/test_summary"],
    "_cell_bounds": ["numerics/test_cell_moments", "streaming/test_bounds"],
    "_cell_moments": ["streaming/test_bounds", "streaming/test_summary", "streaming/test_serial"],
    "_classical_tests": ["inference/test_spiegelhalter", "inference/test_hosmer_lemeshow"],
    "_coupling": ["metrics/test_distance"],
    "_cox": ["inference/test_cox"],
    "_cumulative": ["metrics/test_cumulative"],
    "_decomposition": ["metrics/test_decomposition"],
    "_distance": ["metrics/test_distance"],
    "_distribution_kernels": ["metrics/test_distribution"],
    "_dyadic": ["inference/test_t_cal"],
    "_grid": ["numerics/test_smooth", "metrics/test_fractional_weights", "metrics/test_rounding"],
    "_histogram": ["recalibration/test_histogram", "recalibration/test_scaling_binning"],
    "_hypergeometric": ["inference/test_compare"],
    "_interval": ["metrics/test_interval"],
    "_isotonic_band": ["inference/test_isotonic_band"],
    "_kernel": ["metrics/test_kernel"],
    "_kernel_curve": ["recalibration/test_kernel"],
    "_kernel_regression": ["numerics/test_smooth", "metrics/test_smooth"],
    "_kernel_tests": ["inference/test_kernel_tests"],
    "_logistic": ["recalibration/test_platt_scaling", "recalibration/test_beta"],
    "_merging": ["inference/test_bootstrap"],
    "_monte_carlo": ["inference/test_calibration_test"],
    "_newton": ["recalibration/test_affine"],
    "_place_resampling": ["inference/test_from_summary"],
    "_poisson_binomial": ["inference/test_consistency_band"],
    "_regression": ["metrics/test_regression"],
    "_resampling": ["inference/test_bootstrap"],
    "_scores": ["recalibration/test_affine"],
    "_sharpness_curve": ["metrics/test_sharpness_curve"],
    "_simplex_binning": ["metrics/test_canonical"],
    "_smooth": ["metrics/test_smooth"],
    "_smooth_calibration": ["metrics/test_smooth_calibration"],
    "_softmax_regression": ["recalibration/test_affine"],
    "_spline": ["recalibration/test_spline"],
    "_squared_gap": ["metrics/test_decomposition"],
    "_squared_kernel": ["metrics/test_squared_kernel"],
    "_temperature": [],
    "_transport": ["metrics/test_distribution"],
    "_venn_abers": ["recalibration/test_venn_abers"],
    "_verdict": [],
    "_reduction": ["test_reduction", "test_common"],
    "_sample": [
        "test_sample",
        "test_common",
        "test_missing_values",
        "metrics/test_binned",
        "metrics/test_smooth",
    ],
}
# Exit codes of a run of the tests, as mutmut keeps them: a test failed, or none came to its end.
# Others, such as those of no tests at all, mean that nobody noticed.
FAILED = {1, 3}
TIMED_OUT = {-24, 24, 36, 152, 255}


def _source(module):
    inside = NUMERICS / f"{module}.py"
    return (inside if inside.exists() else ROOT / "skcal" / f"{module}.py").relative_to(ROOT)


def _tests(module):
    own = ROOT / "tests" / "numerics" / f"test{module}.py"
    files = [ROOT / "tests" / f"{name}.py" for name in TESTS[module]]
    return [str(file.relative_to(ROOT)) for file in ([own] if own.exists() else []) + files]


def _mutate(module, folder):
    """The exit code of the tests for each change of one module; the copy holds the changes."""
    copy = folder / module
    shutil.rmtree(copy, ignore_errors=True)  # mutmut would keep what older tests had found
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "skcal", "tests", "pyproject.toml"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in tracked.stdout.split("\0")[:-1]:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    # A fork of a process in which polars has started threads may wait for them for ever.
    threaded = any("polars" in (ROOT / name).read_text() for name in _tests(module))
    isolation = "forkserver" if threaded else "fork"
    with open(copy / "pyproject.toml", "a") as file:
        file.write(
            "\n[tool.mutmut]\n"
            'source_paths = ["skcal"]\n'
            f"only_mutate = {json.dumps([str(_source(module))])}\n"
            f"pytest_add_cli_args_test_selection = {json.dumps(_tests(module))}\n"
            "timeout_multiplier = 3.0\n"
            "timeout_constant = 15.0\n"
            f'process_isolation = "{isolation}"\n'
        )
    # One thread for each process, because the processes already use all cores.
    alone = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    with open(copy / "mutmut.log", "w") as log:
        subprocess.run(
            [sys.executable, "-m", "mutmut", "run", "--max-children", "1"],
            cwd=copy,
            env=os.environ | alone,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    results = copy / "mutants" / f"{_source(module)}.meta"
    codes = json.loads(results.read_text())["exit_code_by_key"] if results.exists() else {}
    if not codes or None in codes.values():
        end = (copy / "mutmut.log").read_text()[-2000:]
        raise RuntimeError(f"mutmut did not finish {module}:\n{end}")
    return codes


def _show(copy, mutant):
    shown = subprocess.run(
        [sys.executable, "-m", "mutmut", "show", mutant],
        cwd=copy,
        check=True,
        capture_output=True,
        text=True,
    )
    return "\n".join(shown.stdout.splitlines()[3:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", metavar="module", help=" ".join(TESTS))
    parser.add_argument("--keep", type=Path, help="where to leave the copies and their results")
    arguments = parser.parse_args()
    if unknown := set(arguments.modules) - set(TESTS):
        parser.error(f"no such module: {' '.join(sorted(unknown))}")
    modules = arguments.modules or list(TESTS)
    noticed = changes = late = 0
    with (
        tempfile.TemporaryDirectory() as temporary,
        ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        folder = (arguments.keep or Path(temporary)).resolve()
        for module, codes in zip(
            modules, pool.map(lambda module: _mutate(module, folder), modules), strict=True
        ):
            survivors = [n for n, code in codes.items() if code not in FAILED | TIMED_OUT]
            for mutant in survivors:
                print(f"--- {mutant}", _show(folder / module, mutant), sep="\n")
            n_late = sum(code in TIMED_OUT for code in codes.values())
            n_noticed = len(codes) - len(survivors)
            print(f"== {module}: {n_noticed} of {len(codes)} noticed, {n_late} by time", flush=True)
            noticed, changes, late = noticed + n_noticed, changes + len(codes), late + n_late
    print(f"== {noticed} of {changes} noticed, {noticed / changes:.1%}; {late} by time")


if __name__ == "__main__":
    main()
