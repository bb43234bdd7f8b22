"""`python -m skcal report` says of a file what `calibration_report` says of its columns."""

import re
import runpy
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import skcal
from skcal.__main__ import main
from skcal.report import calibration_report

N_ROWS = 260  # groups of columns have 100 rows at least


@pytest.fixture(scope="module")
def binary():
    rng = np.random.default_rng(0)
    risk = rng.random(N_ROWS)
    outcome = (rng.random(N_ROWS) < risk).astype(int)
    return pd.DataFrame(
        {
            "outcome": outcome,
            "died": np.where(outcome == 1, "yes", "no"),
            "risk": risk,
            "weight": rng.uniform(0.5, 2, N_ROWS),
            "site": rng.choice(["north", "south"], N_ROWS),
            "sex": rng.choice(["f", "m"], N_ROWS),
            "patient": np.arange(N_ROWS) // 2,
        }
    )


@pytest.fixture(scope="module")
def animals():
    """Probabilities of three labels, as text and as numbers, in columns that are not sorted."""
    rng = np.random.default_rng(1)
    names = ["dog", "bird", "cat"]
    proba = pd.DataFrame(rng.dirichlet(np.ones(3), N_ROWS), columns=names)
    code = [rng.choice(3, p=row) for row in proba.to_numpy()]
    return proba.assign(code=code, animal=np.array(names)[code])


@pytest.fixture
def write(tmp_path):
    def write(table, name="rows.csv"):
        path = str(tmp_path / name)
        table.to_parquet(path) if name.endswith(".parquet") else table.to_csv(path, index=False)
        return path

    return write


def fail(capsys, *argv):
    """The message of a call that fails: one line, by itself."""
    with pytest.raises(SystemExit) as stopped:
        main(argv)
    out, message = capsys.readouterr()
    assert stopped.value.code == 2
    assert message.count("\n") == 1
    assert "Traceback" not in message
    return out, message


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz", "rows.parquet"])
def test_one_column(name, binary, write, capsys):
    main(["report", write(binary, name), "--y", "outcome", "--p", "risk"])
    expected = calibration_report(binary["outcome"], binary["risk"], random_state=0)
    assert capsys.readouterr().out == f"{expected}\n"


def test_all_options(binary, write, capsys, tmp_path):
    page = tmp_path / "report.html"
    argv = ["report", write(binary), "--y", "died", "--p", "risk", "--pos-label", "no"]
    argv += ["--sample-weight", "weight", "--groups", "site", "sex", "--clusters", "patient"]
    main([*argv, "--random-state", "7", "--html", str(page)])
    expected = calibration_report(
        binary["died"],
        binary["risk"],
        pos_label="no",
        sample_weight=binary["weight"],
        groups=binary[["site", "sex"]],
        clusters=binary["patient"],
        random_state=7,
    )
    assert capsys.readouterr().out == f"{expected}\n"
    written = page.read_text(encoding="utf-8")
    assert written.startswith("<!DOCTYPE html>")
    assert "<title>Calibration report of rows.csv</title>" in written


@pytest.mark.parametrize(
    ("y", "options", "labels"),
    [
        ("animal", [], ["dog", "bird", "cat"]),
        ("animal", ["--labels", "dog", "bird", "cat"], ["dog", "bird", "cat"]),
        ("code", ["--labels", "0", "1", "2"], [0, 1, 2]),
        ("code", ["--labels", "0", "1.0", "2", "--pos-label", "1"], [0, 1, 2]),
    ],
)
def test_a_column_for_each_label(y, options, labels, animals, write, capsys):
    columns = ["dog", "bird", "cat"]
    main(["report", write(animals), "--y", y, "--p", *columns, *options])
    pos_label = 1 if "--pos-label" in options else None
    proba = animals[columns].to_numpy()
    expected = calibration_report(
        animals[y], proba, labels=labels, pos_label=pos_label, random_state=0
    )
    assert capsys.readouterr().out == f"{expected}\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--y", "outcom", "--p", "risk"], "no column 'outcom'.*Did you mean 'outcome'?"),
        (["--y", "outcome", "--p", "risk", "nil"], "The file has no column 'nil'"),
        (["--y", "outcome", "--p", "died"], "y_proba must hold real numbers"),
        (["--y", "died", "--p", "risk"], "pos_label must say"),
        (["--y", "died", "--p", "risk", "--pos-label", "maybe"], r"pos_label .*'maybe'"),
        (["--y", "outcome", "--p", "risk", "weight"], "'risk' is none of them. .* with --labels"),
        (["--y", "outcome"], "the following arguments are required: --p"),
        (["--y", "outcome", "--p", "risk", "--random-state", "x"], "invalid int value: 'x'"),
    ],
)
def test_errors_are_one_line(options, message, binary, write, capsys):
    out, found = fail(capsys, "report", write(binary), *options)
    assert out == ""
    assert found.startswith("python -m skcal report: error: ")
    assert re.search(message, found)


def test_files_that_cannot_be_read_or_written(binary, write, capsys, tmp_path):
    columns = ["--y", "outcome", "--p", "risk"]
    assert "No such file" in fail(capsys, "report", str(tmp_path / "none.csv"), *columns)[1]
    (tmp_path / "text.csv").write_text("a\nb,c\nd,e,f\n")
    assert "tokenizing" in fail(capsys, "report", str(tmp_path / "text.csv"), *columns)[1]
    page = str(tmp_path / "nowhere" / "report.html")
    out, message = fail(capsys, "report", write(binary), *columns, "--html", page)
    assert "must lie in a folder that exists" in message
    assert out.startswith("Calibration report")


def test_labels_that_contradict_the_names_of_columns(animals, write, capsys):
    columns = ["--y", "animal", "--p", "dog", "bird", "cat", "--labels", "cat", "dog", "bird"]
    _, message = fail(capsys, "report", write(animals), *columns)
    assert "columns of y_proba are named after the labels in the order" in message


def test_help_and_version(capsys):
    for argv, expected in [
        (["--help"], "tell whether predicted probabilities come true"),
        (["report", "--help"], "usage: python -m skcal report FILE --y COLUMN --p COLUMN"),
        (["--version"], f"skcal {skcal.__version__}\n"),
    ]:
        with pytest.raises(SystemExit) as stopped:
            main(argv)
        assert stopped.value.code == 0
        shown = capsys.readouterr().out
        assert expected in shown
        assert max(map(len, shown.splitlines())) <= 88
    assert "required: command" in fail(capsys)[1]


def test_module(monkeypatch, capsys):
    """As a process, and in this one."""
    run = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-m",
            "skcal",
            "report",
            "none.csv",
            "--y",
            "y",
            "--p",
            "p",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert run.stderr.startswith("python -m skcal report: error: ")
    assert run.stderr.count("\n") == 1
    monkeypatch.setattr(sys, "argv", ["skcal", "--version"])
    monkeypatch.delitem(sys.modules, "skcal.__main__")
    with pytest.raises(SystemExit):
        runpy.run_module("skcal", run_name="__main__")
    assert capsys.readouterr().out == f"skcal {skcal.__version__}\n"


def test_labels_that_are_true_and_false(binary, write, capsys):
    table = binary.assign(died=binary["died"] == "yes")
    main(["report", write(table), "--y", "died", "--p", "risk", "--pos-label", "true"])
    expected = calibration_report(table["died"], table["risk"], pos_label=True, random_state=0)
    assert capsys.readouterr().out == f"{expected}\n"
