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
        ("animal", [], ["bird", "cat", "dog"]),
        ("animal", ["--labels", "dog", "bird", "cat"], ["dog", "bird", "cat"]),
        ("code", ["--labels", "0", "1.0", "2", "--pos-label", "1"], [0, 1, 2]),
    ],
)
def test_a_column_for_each_label(y, options, labels, animals, write, capsys):
    columns = ["dog", "bird", "cat"]
    main(["report", write(animals), "--y", y, "--p", *columns, *options])
    pos_label = 1 if "--pos-label" in options else None
    proba = animals[columns if options else labels].to_numpy()
    expected = calibration_report(
        animals[y], proba, labels=labels, pos_label=pos_label, random_state=0
    )
    assert capsys.readouterr().out == f"{expected}\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--y", "outcom", "--p", "risk"], "no column 'outcom'.*Did you mean 'outcome'?"),
        (["--y", "outcome", "--p", "risk", "nil"], "The file has no column 'nil'"),
        (
            ["--y", "outcome", "--p", "died"],
            "'died' has 260 of 260 cells without a number, .*line 2",
        ),
        (["--y", "died", "--p", "risk"], "pos_label must say"),
        (["--y", "died", "--p", "risk", "--pos-label", "maybe"], r"pos_label .*'maybe'"),
        (
            ["--y", "outcome", "--p", "risk", "weight"],
            "'risk' is none of .* --labels, .* its own --p",
        ),
        (
            ["--y", "outcome"],
            "--p must name .* no column is called p, y_proba, score. The file has",
        ),
        (["--p", "risk"], "--y must name .* no column is called y, y_true, label. The file has"),
        (["--y", "outcome", "--p", "risk", "risk"], "--p must name a column once; got risk, risk"),
        (["--y", "outcome", "--p", "risk", "--p", "risk"], "--p must name other columns for each"),
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
    (tmp_path / "text.csv").write_text("outcome,risk\nb,c\nd,e,f\n")
    assert "tokenizing" in fail(capsys, "report", str(tmp_path / "text.csv"), *columns)[1]
    page = str(tmp_path / "nowhere" / "report.html")
    out, message = fail(capsys, "report", write(binary), *columns, "--html", page)
    assert "must lie in a folder that exists" in message
    assert out.startswith("Calibration report")


@pytest.mark.parametrize("labels", ["0", "0 0 2", "0 1 2 0"])
def test_labels_name_each_column_once(labels, animals, write, capsys):
    columns = ["--y", "code", "--p", "dog", "bird", "cat", "--labels", *labels.split()]
    with pytest.raises(SystemExit):
        main(["report", write(animals), *columns])
    assert "--labels must name each of the 3 columns of --p once" in capsys.readouterr().err


def test_labels_that_contradict_the_names_of_columns(animals, write, capsys):
    columns = ["--y", "animal", "--p", "dog", "bird", "cat", "--labels", "cat", "dog", "bird"]
    _, message = fail(capsys, "report", write(animals), *columns)
    assert "columns of y_proba are named after the labels in the order" in message


def test_help_and_version(capsys):
    for argv, expected in [
        (["--help"], "tell whether predicted probabilities come true"),
        (["report", "--help"], "usage: python -m skcal report FILE [--y COLUMN] [--p COLUMN"),
        (["--help"], "examples:\n  python -m skcal report predictions.csv --y outcome --p risk"),
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


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """What the command asks `calibration_report` for a file with this text."""

    def ask(text, *options, encoding="utf-8", name="file.csv"):
        found = []
        monkeypatch.setattr(
            "skcal.report.calibration_report", lambda *data, **rest: found.append((data, rest))
        )
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        main(["report", str(path), *options])
        (((y_true, y_proba), rest),) = found
        return y_true, y_proba, rest

    return ask


# The outcomes 1, 0, 1 and the probabilities .5, .25, .75 in columns y and p.
FORMATS = {
    "commas": "y,p\n1,0.5\n0,0.25\n1,0.75\n",
    "semicolons": "y;p\n1;0.5\n0;0.25\n1;0.75\n",
    "tabs": "y\tp\n1\t0.5\n0\t0.25\n1\t0.75\n",
    "decimal commas": "y;p\n1;0,5\n0;,25\n1;0,75\n",
    "decimal commas in quotes": 'y,p\n1,"0,5"\n0,"0,25"\n1,"0,75"\n',
    "names of rows, as in R": '"y"\t"p"\n"1"\t1\t0.5\n"2"\t0\t0.25\n"3"\t1\t0.75\n',
    "commas in texts": 'y,p,note\n1,0.5,"a; b, c"\n0,0.25,d\n1,0.75,e;f\n',
    "semicolons and a comma in a name": "y;p;risk, in a year\n1;0,5;1,5\n0;0,25;2,5\n1;0,75;3,5\n",
    "lines of Windows": "y;p\r\n1;0,5\r\n0;0,25\r\n1;0,75\r\n",
    "byte order mark": "\ufeffy;p\n1;0,5\n0;0,25\n1;0,75\n",
    "names": "Label,Score,id\n1,0.5,7\n0,0.25,8\n1,0.75,9\n",
    "long names": "y_true,y_proba\n1,0.5\n0,0.25\n1,0.75\n",
    "exponents": "y;p\n1;5e-1\n0;2,5E-1\n1;7.5e-1\n",
}


@pytest.mark.parametrize("text", FORMATS.values(), ids=FORMATS)
def test_formats(text, asked, capsys):
    y_true, y_proba, _ = asked(text)
    assert y_true.tolist() == [1, 0, 1]
    assert y_proba.tolist() == [0.5, 0.25, 0.75]
    assert re.fullmatch(r"Labels: \w+. Probabilities: \w+.\n", capsys.readouterr().err)


def test_separator_that_is_named(asked, capsys):
    text = "y|p\n1|0.5\n0|0.25\n"
    assert asked(text, "--sep", "|")[1].tolist() == [0.5, 0.25]
    with pytest.raises(SystemExit):
        asked(text, "--y", "y")
    assert "Is --sep needed" in capsys.readouterr().err


def test_code_page_of_windows(asked):
    text = "y;p\nmüde;0,5\nwach;0,25\nmüde;0,75\n"
    for encoding in ("cp1252", "utf-8"):
        assert asked(text, encoding=encoding)[0].tolist() == ["müde", "wach", "müde"]


@pytest.mark.parametrize(
    "cells", [["50", "25", "75"], ["50 %", "25%", "75 %"], ["50,0%", "25,0", "75"]]
)
def test_per_cent(cells, asked, capsys):
    text = "y;p\n" + "".join(f"{y};{p}\n" for y, p in zip([1, 0, 1], cells, strict=True))
    assert asked(text, "--percent")[1].tolist() == [0.5, 0.25, 0.75]
    with pytest.raises(SystemExit):
        asked(text)
    message = capsys.readouterr().err
    assert re.search(r"'p' has [13] of 3 cells .* in line 2\. .*add --percent", message, re.I)
    assert not re.search("100|coerce|y_proba", message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y,p\n1,0.5\n0,NA\n1,\n0,.5\n", r"'p' has 1 of 4 cells empty, the first in line 4. Re"),
        ("y,p\n1,0.5\n0,NA\n1,.5\n0,?\n", r"'p' has 2 of 4 cells without .* 'NA' in line 3. Re"),
        (
            "y,p\n1,a\n0,b\n",
            r"'p' has 2 of 2 cells without a number, the first 'a' in line 2\.\s*$",
        ),
        ("y,p\n1,0.5\n,0.2\n,0.2\n", r"'y' has 2 of 3 cells empty, the first in line 3\.\s*$"),
        (
            "y,p\n1,0.5\n0,-1.5\n",
            r"'p' has 1 of 2 cells outside of 0 to 1, .* -1.5 in line 3\.\s*$",
        ),
        (
            "y,p,q\n1,.5,.2\n0,.5,.5\n",
            "must sum to 1 in each row; 'p', 'q' sum to 0.7 in line 2. Gi",
        ),
        ("y,p\n1,0.5\n0,nan\n", r"'p' has 1 of 2 cells (empty|without a number), .*in line 3"),
        ("y,y_true,p\n1,1,.5\n", "'y' and 'y_true' may both be it"),
    ],
)
def test_cells_that_are_refused(text, message, asked, capsys):
    options = ["--p", "p", "q", "--labels", "0", "1"] if "q" in text else []
    with pytest.raises(SystemExit):
        asked(text, *options)
    assert re.search(message, capsys.readouterr().err)


def test_texts_that_others_take_for_missing(asked):
    """They are texts in a column of texts: Namibia is NA."""
    text = "y,p,country,team\nNone,0.5,NA,a\nnull,0.25,DE,nan\nNone,0.75,NA,a\n"
    y_true, _, rest = asked(
        text, "--pos-label", "null", "--groups", "country", "--clusters", "team"
    )
    assert y_true.tolist() == ["None", "null", "None"]
    assert rest["pos_label"] == "null"
    assert rest["groups"]["country"].tolist() == ["NA", "DE", "NA"]
    assert rest["clusters"].tolist() == ["a", "nan", "a"]


@pytest.mark.parametrize("is_named", [False, True])
@pytest.mark.parametrize("spell", ["p_{}", ".pred_{}", "{}", "prob {} in %", "P_{}"])
def test_labels_in_the_names_of_columns(is_named, spell, asked):
    """In any order of the columns; y may be numbers."""
    for labels in (["a", "b", "c"], [0, 1, 2]):
        names = {label: spell.format(label) for label in labels}
        header = [names[labels[1]], names[labels[0]], "y", names[labels[2]]]
        text = ",".join(header) + "".join(f"\n.25,.125,{label},.625" for label in labels)
        own = ["--p", *(name for name in header if name != "y")] if is_named else []
        _, y_proba, rest = asked(text + "\n", *own)
        assert rest["labels"] == labels
        assert y_proba.to_numpy().tolist() == 3 * [[0.125, 0.25, 0.625]]
        assert list(y_proba) == [names[label] for label in labels]


def test_ten_classes_of_which_one_has_no_row(asked):
    names = [f"digit_{k}" for k in range(9, -1, -1)]
    text = ",".join(["y", *names]) + "".join(f"\n{y}" + 10 * ",.1" for y in range(9)) + "\n"
    _, y_proba, rest = asked(text, "--p", *names)
    assert rest["labels"] == list(range(10))
    assert list(y_proba) == names[::-1]


def test_several_models(asked):
    text = "y,old,new,a_no,a_yes,b_yes,b_no\n1,.5,.25,.5,.5,.75,.25\n0,.5,.75,.5,.5,.75,.25\n"
    _, y_proba, rest = asked(text, "--p", "old", "--p", "new")
    assert {name: p.tolist() for name, p in y_proba.items()} == {
        "old": [0.5] * 2,
        "new": [0.25, 0.75],
    }
    assert rest["labels"] is None
    text = text.replace("\n1", "\nyes").replace("\n0", "\nno")
    _, y_proba, rest = asked(text, "--p", "a_no", "a_yes", "--p", "b_yes", "b_no")
    assert rest["labels"] == ["no", "yes"]
    assert y_proba["b"].to_numpy().tolist() == 2 * [[0.25, 0.75]]
    assert y_proba["a"].to_numpy().tolist() == 2 * [[0.5, 0.5]]


def test_pipes_that_break(binary, write):
    """The reader of a pipe may stop: `python -m skcal report ... | head -0`."""
    argv = ["report", write(binary), "--y", "outcome", "--p", "risk"]
    run = subprocess.Popen(
        [sys.executable, "-m", "skcal", *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    run.stdout.close()
    assert run.stderr.read() == b""
    assert run.wait() == 0
    run.stderr.close()
