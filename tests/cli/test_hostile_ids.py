"""Ids that steer terminals or spreadsheets, through the real command: shown as text, kept as is."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from aggcal.cli import main
from conftest import Command, table
from fork_server import ForkServer

ESCAPES = (
    "\x1b]0;owned\x07",
    "\x9b2J",
    "\u202edcba",
    "\u2028warning: fake",
    "\x1b[2Kx",
    "\x85e\x08",
)
"""C0, C1, bidi, a line separator: what may not reach a terminal."""
_RAW = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def clean(text: str) -> None:
    found = _RAW.search(text)
    assert found is None, (found, text[max(0, found.start() - 40) : found.end() + 40])


def judgments(folder: Path) -> Path:
    """Write a study in which hostile items never win, are islands, and meet themselves."""
    ids = [f"i{k}{text}" for k, text in enumerate(ESCAPES)]
    people = [f"p{k}{text}" for k, text in enumerate(ESCAPES)]
    rows = [(who, "good", item, "left") for who in people for item in ids]
    rows += [(people[0], ids[0], ids[0], "left"), (people[1], ids[1], ids[2], "skip")]
    rows += [(who, f"far {who}", f"away {who}", "left") for who in people]
    rows += [("back\x1b[1m", item, "good", "left") for item in ids] * 4
    path = folder / "j.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["annotator", "left", "right", "outcome"])
        out.writerows(rows)
    return path


def test_what_people_read_holds_no_control_characters(tmp_path: Path, command: Command) -> None:
    judgments(tmp_path)
    for words in (
        ("aggregate", "j.csv", "-o", "out"),
        ("check", "j.csv"),
        ("check", "j.csv", "--verbose"),
        ("aggregate", "j.csv", "-o", "no", "--outcome", "\x1b[2J=tie", "--criterion", "\x1b[2J"),
        ("aggregate", "\x1b[2J.csv", "-o", "no"),
        ("aggregate", "j.csv", "-o", "no", "--\x1b[2J"),
    ):
        done = command(*words)
        clean(done.stderr)
        if words[0] == "check":
            clean(done.stdout)
    kept = {row["item"] for row in table(tmp_path / "out" / "items.csv")}
    assert {f"i{k}{text}".strip() for k, text in enumerate(ESCAPES)} <= kept, "files keep ids"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("annotator,left,right,outcome\nu,a,b,\x1b[2J\n", ()),
        ("annotator,winner,loser,weight\nu,a,b,\x9b2J\n", ()),
        ("annotator,winner\x1b[2J,lo\u202eser\nu,a,b\n", ()),
        ("annotator,winner,loser,criterion\nu,a,b,\x1b[2J\nu,b,a,\x9b2J\n", ("--criterion", "x")),
        ('{"annotator": "u", "left": "\\u001b[2J", "right": "b", "outcome": "\\u202e"}\n', ()),
    ],
)
def test_errors_quote_without_control_characters(
    content: str, words: tuple[str, ...], tmp_path: Path, command: Command
) -> None:
    (tmp_path / "j.csv").write_text(content, encoding="utf-8")
    done = command("aggregate", "j.csv", "-o", "out", *words)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    clean(done.stderr)


def on_a_terminal(aggcal: Path, folder: Path, *words: str) -> str:
    """Run the command with standard output and error on a terminal; return what it shows."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [aggcal, *words], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            shown += piece
    os.close(ours)
    assert process.returncode == 0, shown
    # Our own line of progress, and what the terminal makes of a line's end.
    return shown.decode().replace("\r\x1b[K", "").replace("\r\n", "\n")


@pytest.mark.parametrize(
    "words",
    [("suggest", "j.csv"), ("suggest", "j.csv", "--json"), ("convert", "j.csv", "-o", "-"),
     ("check", "j.csv", "--json", "--quick"), ("aggregate", "j.csv", "-o", "out", "--json")],
    ids=" ".join,
)  # fmt: skip
def test_tables_are_cleaned_only_on_a_terminal(
    words: tuple[str, ...], tmp_path: Path, command: Command, fork_server: ForkServer
) -> None:
    judgments(tmp_path)
    fork_server.install(tmp_path / "aggcal")
    clean(on_a_terminal(tmp_path / "aggcal", tmp_path, *words))
    piped = command(*words).stdout
    if "--json" in words:
        assert any("\x9b" in text for text in texts(json.loads(piped)))
    else:
        assert "\x9b" in piped


def texts(data: object) -> list[str]:
    if isinstance(data, dict):
        return [text for value in data.values() for text in texts(value)]
    if isinstance(data, list):
        return [text for value in data for text in texts(value)]
    return [str(data)]


def of_every_class() -> list[str]:
    """Return ids with characters of every class of Unicode, and others that mean something."""
    first: dict[str, str] = {}
    last: dict[str, str] = {}
    for sign in map(chr, range(1, sys.maxunicode + 1)):
        category = unicodedata.category(sign)
        first.setdefault(category, sign)
        last[category] = sign
    del first["Cs"]  # halves of characters, which no text file can hold
    signs = [sign for category in first for sign in (first[category], last[category])]
    signs += (
        "\x1b\x85\x9b\xa0\u0301\u061c\u200b\u200d\u2028\u202e\u2066\ue000\ufeff\ufffe\U0001f600"
    )
    words = [
        "a,b",
        '"',
        "'",
        "a;b",
        "a\tb",
        "NaN",
        "None",
        "1",
        "1.0",
        "01",
        "-",
        "#",
        "{1,2}",
        "é",
    ]
    return [*dict.fromkeys(f"i{sign}{k}" for k, sign in enumerate(signs)), *words, "e\u0301"]


def column(path: Path, *names: str) -> set[str]:
    with path.open(encoding="utf-8", newline="") as file:
        return {row[name] for row in csv.DictReader(file) for name in names if name in row}


def test_ids_of_every_class_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ids = of_every_class()
    n = len(ids)
    judged = [(ids[-k], ids[k], ids[(k + s) % n]) for k in range(n) for s in (1, 3)]
    for name, head, rows in (
        ("j", ["annotator", "winner", "loser"], judged),
        ("s", ["item", "score", "truth"], [(each, k, k) for k, each in enumerate(ids)]),
    ):
        with Path(f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, quoting=csv.QUOTE_ALL).writerows([head, *rows])

    def call(*words: str) -> str:
        assert main([*words]) == 0, capsys.readouterr().err
        out, err = capsys.readouterr()
        clean(err)
        return out

    call("run", "j.csv", "s.csv", "-o", "run", "--method", "btl", "--no-check")
    assert column(Path("run/items.csv"), "item") == {*ids}
    assert column(Path("run/annotators.csv"), "annotator") == {*ids}
    call("calibrate", "run/items.csv", "s.csv", "-o", "calibrated")
    assert column(Path("calibrated/items.csv"), "item") == {*ids}
    assert json.loads(call("evaluate", "run/items.csv", "s.csv", "--json"))["n"] == n
    assert json.loads(call("check", "j.csv", "--json", "--quick", "--method", "btl"))
    call("suggest", "j.csv", "-o", "pairs.csv", "-n", "300", "--method", "btl")
    assert column(Path("pairs.csv"), "left", "right") <= {*ids}
    for kind in ("json", "md", "html"):
        call("report", "run", "-o", f"run/report.{kind}")
    assert {*ids} & {*texts(json.loads(Path("run/report.json").read_bytes()))}
    for name, to in (("own.csv", "aggcal"), ("kit.csv", "crowd-kit"), ("order.soi", "preflib")):
        call("convert", "j.csv", "-o", name, "--to", to)
        call("convert", name, "-o", f"{to}.csv")
        assert column(Path(f"{to}.csv"), "winner", "loser", "left", "right") == {*ids}, to


def test_a_name_of_two_lines_is_not_written_to_preflib(tmp_path: Path, command: Command) -> None:
    (tmp_path / "j.csv").write_text('annotator,winner,loser\nu,"a\nb",c\nu,c,d\n')
    done = command("convert", "j.csv", "-o", "x.soi")
    assert done.returncode == 2
    assert "names have one line" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "x.soi").exists()


FORMULAS = ("=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "＝1+1", "a=b", "plain")


def study(folder: Path) -> None:
    with (folder / "j.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["annotator", "winner", "loser", "criterion"])
        for k in range(len(FORMULAS)):
            out.writerow([FORMULAS[k], FORMULAS[k - 1], FORMULAS[k - 2], "=style"])
            out.writerow([FORMULAS[k - 3], FORMULAS[k - 1], FORMULAS[k - 2], "=style"])
    lines = "".join(f'"{item}",{k}\n' for k, item in enumerate([*FORMULAS, "=unjudged"]))
    (folder / "s.csv").write_text(f"item,score\n{lines}", encoding="utf-8")


def tables(folder: Path) -> list[str]:
    return [path.read_text("utf-8") for path in sorted(folder.rglob("*.csv"))]


def test_formulas_are_kept_unless_a_spreadsheet_is_asked_for(
    tmp_path: Path, command: Command
) -> None:
    study(tmp_path)
    for flag in ((), ("--spreadsheet-safe",)):
        out = tmp_path / f"out{len(flag)}"
        out.mkdir()
        for words in (
            ("run", "j.csv", "s.csv", "-o", out / "run"),
            ("aggregate", "j.csv", "-o", out / "aggregate"),
            ("suggest", "j.csv", "-o", out / "pairs.csv", "--per-annotator", 2),
            ("convert", "j.csv", "-o", out / "same.csv"),
            ("convert", "j.csv", "-o", out / "kit.csv", "--to", "crowd-kit"),
        ):
            done = command(*words, *flag)
            assert done.returncode == 0, done.stderr
    for text in tables(tmp_path / "out1"):
        cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
        assert any(cell.startswith("'=") for cell in cells), text
        dangerous = [c for c in cells if re.match(r"[=+\-@\t\r\n＝＋－＠]", c) and not number(c)]
        assert not dangerous
    kept = (tmp_path / "out0" / "run" / "items.csv").read_text("utf-8")
    assert "'=" not in kept
    assert (tmp_path / "out0" / "same.csv").read_text("utf-8") == (tmp_path / "j.csv").read_text(
        "utf-8"
    ).replace("\r\n", "\n"), "ids come back as they were"


def number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    "words",
    [("convert", "j.csv", "-o", "x.soc"), ("suggest", "j.csv", "--json")],
    ids=" ".join,
)
def test_what_is_no_table_cannot_be_made_safe(
    words: tuple[str, ...], tmp_path: Path, command: Command
) -> None:
    study(tmp_path)
    done = command(*words, "--spreadsheet-safe")
    assert done.returncode == 2
    assert "--spreadsheet-safe" in done.stderr
    assert done.stderr.count("\n") == 1
