"""Files and folders with hostile names, through the real command: what was named is read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import Command, table

ROWS = [("u", "a", "b"), ("v", "b", "c"), ("u", "c", "a"), ("v", "a", "c"), ("w", "a", "b")]
CSV = "annotator,winner,loser\n" + "".join(f"{','.join(row)}\n" for row in ROWS)
JSON = "".join(
    f'{{"annotator": "{who}", "winner": "{winner}", "loser": "{loser}"}}\n'
    for who, winner, loser in ROWS
)
DECOY = "annotator,winner,loser\nx,evil,worse\ny,worse,evil\n"


def parquet(
    path: Path, who: str = "", *, columns: tuple[str, ...] = ("annotator", "winner", "loser")
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = rows_of(who)
    cells = dict(zip(("annotator", "winner", "loser"), zip(*rows, strict=True), strict=True))
    with path.open("wb") as file:
        pq.write_table(pa.table({name: list(cells[name]) for name in columns}), file)


def items(command: Command, folder: Path, *names: str | Path, **options: object) -> set[str]:
    """Aggregate a file and return the items that came of it."""
    done = command("aggregate", *names, "-o", "out", "--no-check", "--quiet", **options)
    assert done.returncode == 0, done.stderr
    return {row["item"] for row in table(folder / "out" / "items.csv")}


def rows_of(who: str) -> list[tuple[str, str, str]]:
    """Rows by annotators of that name: files with the same rows would be refused."""
    return [(f"{annotator}{who}", winner, loser) for annotator, winner, loser in ROWS]


def write(path: Path, kind: str, who: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "parquet":
        parquet(path, who)
        return
    text = CSV if kind == "csv" else JSON
    for annotator in "uvw":
        name = f"{annotator}{who}"
        text = text.replace(f"\n{annotator},", f"\n{name},")
        text = text.replace(f'"annotator": "{annotator}"', f'"annotator": "{name}"')
    path.write_text(text)


def test_a_folder_named_like_a_partition_changes_nothing(tmp_path: Path, command: Command) -> None:
    paths = [
        tmp_path / folder / f"j.{kind}"
        for kind in ("csv", "json", "parquet")
        for folder in ("winner=evil", "c1=evil", "annotator=x", "json=1", "c0=0")
    ]
    for number, path in enumerate(paths):
        write(path, path.suffix[1:], str(number))
    done = command("convert", "-o", "out.csv", *(path.relative_to(tmp_path) for path in paths))
    assert done.returncode == 0, done.stderr
    expected = [row for number in range(len(paths)) for row in rows_of(str(number))]
    assert [tuple(row.values()) for row in table(tmp_path / "out.csv")] == expected


def test_partitions_inside_a_folder_of_parquet(tmp_path: Path, command: Command) -> None:
    parquet(tmp_path / "votes" / "winner=evil" / "part.parquet")
    assert items(command, tmp_path, "votes") == {"a", "b", "c"}, "the column of the files counts"


@pytest.mark.parametrize("column", ["annotator", "criterion", "weight"])
def test_a_column_that_only_folders_name_is_refused(
    column: str, tmp_path: Path, command: Command
) -> None:
    kept = tuple(name for name in ("annotator", "winner", "loser") if name != column)
    parquet(tmp_path / "votes" / f"{column}=2" / "part.parquet", columns=kept)
    done = command("aggregate", "votes", "-o", "out")
    assert done.returncode == 2
    assert f"has the column '{column}' in the names of its folders" in done.stderr
    assert done.stderr.count("\n") == 1


NAMES = [
    "~", "~/j", "file:", "file:/j", "s3:/j", "a*", "a?", "[ab]", "[!b]", "{a,b}", "a\\*", "a\\[x]",
    "**", "it's", 'a "b"', "a b", "a\nb", "a\tb", "日本", "e\u0301", "\u202ea", "\U0001f600", "-",
    "x=y", "winner=evil/a*", "a;b", "a%2fb", "a#b", "$(a)", "a|b", "c\u0085d",
]  # fmt: skip


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_exactly_what_was_named_is_read(kind: str, tmp_path: Path, command: Command) -> None:
    """Decoys lie where a pattern, a home folder or an address would lead."""
    for decoy in ("home/j.csv", "ab.csv", "a.csv", "b.csv", "ax.csv", "j.csv", "j"):
        (tmp_path / decoy).parent.mkdir(exist_ok=True)
        (tmp_path / decoy).write_text(DECOY)
    paths = [tmp_path / f"{name}.{kind}" for name in NAMES if "/" not in name or kind == "csv"]
    for number, path in enumerate(paths):
        write(path, kind, str(number))
    done = command(
        "convert", "-o", "out.csv", "--quiet", "--", *(p.relative_to(tmp_path) for p in paths),
        env={**os.environ, "HOME": str(tmp_path / "home")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = [row for number in range(len(paths)) for row in rows_of(str(number))]
    assert [tuple(row.values()) for row in table(tmp_path / "out.csv")] == expected


def test_a_relative_path_up_from_a_link_is_the_file_systems(
    tmp_path: Path, command: Command
) -> None:
    (tmp_path / "elsewhere" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere" / "inner")
    (tmp_path / "j.csv").write_text(DECOY)
    (tmp_path / "elsewhere" / "j.csv").write_text(CSV)
    assert items(command, tmp_path, "link/../j.csv") == {"a", "b", "c"}


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_a_name_that_is_not_utf_8(kind: str, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9." + kind.encode())
    write(path, kind)
    (tmp_path / "scores.csv").write_text("item,score\na,1\nb,2\nc,3\n")
    done = subprocess.run(
        [sys.executable, "-m", "aggcal", "run", path.name, "scores.csv", "-o", "out", "--json"],
        cwd=tmp_path, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"caf" in (tmp_path / "out" / "summary.json").read_bytes()
    (tmp_path / "out" / "report.html").read_text("utf-8")
    done.stdout.decode("utf-8")


def test_names_that_are_not_utf_8_everywhere_else(tmp_path: Path, command: Command) -> None:
    strange = os.fsdecode(b"caf\xe9")
    (tmp_path / "j.csv").write_text("winner,loser\na,b\nb,c\nc,a\n")
    (tmp_path / f"{strange}.csv").write_text("item,score\na,1\nb,2\nc,3\n")
    (tmp_path / f"{strange}-texts.csv").write_text("item,text\na,A\n")
    done = command("aggregate", "j.csv", "-o", "out", "--judged-by", strange)
    assert done.returncode == 2
    assert "--judged-by" in done.stderr
    assert "not UTF-8" in done.stderr
    assert done.stderr.count("\n") == 1
    done = command(
        "run", "j.csv", f"{strange}.csv", "-o", strange, "--judged-by", "me", "--texts",
        f"{strange}-texts.csv", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / strange / "report.html").is_file()
    written = json.loads(done.stdout)["files_written"]
    assert f"{strange}/report.html" in written
    assert command("report", strange).returncode == 0
    assert (
        command("suggest", "j.csv", "--judged-by", "me", "-o", f"{strange}/s.csv").returncode == 0
    )
    again = command("convert", f"{strange}/no.csv", "-o", "x.csv")
    assert again.returncode == 2
    assert "no such file" in again.stderr
    assert again.stderr.count("\n") == 1
