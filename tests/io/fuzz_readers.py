"""Throw random and mutated files at every reader: a clear error or a right result, never else.

Names of files and folders are random, too: they must make no difference. So are folders of results,
of which a report is made.

It runs for a bounded time; ``make fuzz`` calls this.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import resource
import sys
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path

from test_readings import EXAMPLES, ONE_OF_EACH

import aggcal
from aggcal.cli import main as run_command
from aggcal.errors import AggcalError

SEEDS = {name: EXAMPLES[name].content.encode() for name in ONE_OF_EACH} | {
    "short form": b"annotator,winner,loser,weight,criterion\nu,a,b,1,c\nv,b,a,2,c\n",
    "long form": b"annotator,left,right,outcome\nu,a,b,left\nv,b,a,0.3\nv,b,a,skip\n",
}
MEMORY = 4 << 30
SLOW = 20.0


def one_input(data: bytes, folder: Path, name: str = "input") -> str:
    """Read a file of these bytes; return what came of it, or raise what must not happen."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    began = time.perf_counter()
    try:
        judgments = aggcal.read_judgments(path)
    except AggcalError as error:
        message = str(error)
        if "\n" in message.strip() or not message.strip():
            raise AssertionError(f"not one sentence: {message!r}") from error
        found = type(error).__name__
    else:
        check(judgments)
        assert "decoy" not in judgments.item_ids, "another file was read"
        found = judgments.format
    if time.perf_counter() - began > SLOW:
        raise AssertionError(f"took {time.perf_counter() - began:.0f} s")
    return found


def check(judgments: aggcal.Judgments) -> None:
    """Assert what holds of every result."""
    n, m = judgments.n_items, judgments.n_annotators
    assert n >= 2
    assert m >= 1
    assert len(set(judgments.item_ids)) == n
    assert all(isinstance(label, str) and label for label in judgments.item_ids)
    assert judgments.left.max() < n
    assert judgments.right.max() < n
    assert (judgments.left != judgments.right).all()
    assert ((judgments.outcome >= 0.0) & (judgments.outcome <= 1.0)).all()
    assert (judgments.weight > 0.0).all()
    assert (judgments.count >= 1).all()


def same_under_another_name(data: bytes, folder: Path, name: str) -> str:
    """Read these bytes under a plain and under another name; what comes of it must be the same."""
    plain = one_input(data, folder)
    with tempfile.TemporaryDirectory(dir=folder) as inner:
        for decoy in ("a", "b", "c", "ab", "input", "x"):
            Path(inner, decoy).write_bytes(b"annotator,winner,loser\nu,decoy,d\nu,d,decoy\n")
        os.chdir(inner)  # so that the name is all that is given
        try:
            found = one_input(data, Path(), name)
        finally:
            os.chdir(folder)
    if found != plain:
        raise AssertionError(f"as {name!r}: {found}, otherwise {plain}")
    return found


def random_name(dice: random.Random) -> str:
    """Return the name of a file, perhaps in a folder, of pieces that mean something to somebody."""
    pieces = [dice.choice((_of_a_class, _piece))(dice) for _ in range(dice.randint(1, 5))]
    name = "".join(pieces).strip("/").replace("//", "/").replace("\0", "")
    longest = dice.choice((60, 60, LONGEST_NAME))
    if longest == LONGEST_NAME:
        name *= LONGEST_NAME
    parts = [part.encode("utf-8", "surrogateescape")[:longest] for part in name.split("/")[:6]]
    whole = [os.fsdecode(part) for part in parts if part not in (b"", b".", b"..")]
    # Standard input has a name of its own; and a decoy is no folder.
    ending = dice.choice(("_", ".csv", ".json", ".parquet", ".gz", ".soc"))
    return "/".join("n" + part if part.isalpha() else part for part in whole or ["n"]) + ending


class Results:
    """Folders of results, with a mutated file each, under random names."""

    def __init__(self, folder: Path, dice: random.Random) -> None:
        self._folder, self._dice = folder, dice
        study = folder / "study"
        size = ("--items", "4", "--annotators", "3", "--number", "15", "-q")
        assert call("simulate", "-o", str(study), *size)[0] == 0
        inputs = (str(study / "judgments.csv"), str(study / "scores.csv"))
        made = ("-o", str(folder / "results"), "--method", "btl", "-q")
        assert call("run", *inputs, *made)[0] == 0
        self._files = {
            name: (folder / "results" / name).read_bytes()
            for name in ("summary.json", "items.csv", "annotators.csv")
        }

    def one(self) -> str:
        """Make the report of a folder; return what came of it, or raise what must not happen."""
        dice = self._dice
        name = dice.choice(list(self._files))
        data = mutated(self._files[name], dice.choice(list(self._files.values())), dice)
        with tempfile.TemporaryDirectory(dir=self._folder) as inner:
            folder = Path(inner, random_name(dice))
            folder.mkdir(parents=True)
            for each, content in (self._files | {name: data}).items():
                (folder / each).write_bytes(content)
            code, said = call(
                "report", "-o", f"{self._folder}/seen.{dice.choice(('html', 'md', 'json'))}",
                "--force", "--", str(folder),
            )  # fmt: skip
            left = {path.name for path in folder.iterdir()}
        if code not in (0, 2) or (code == 2 and said.strip().count("\n")) or left != {*self._files}:
            (self._folder / "fuzz-crash").write_bytes(data)
            raise AssertionError(f"{name} mutated: exit code {code}, {said!r}, {left}")
        return f"report, exit code {code}"


def call(*words: str) -> tuple[int, str]:
    """Run a command; return its exit code and what it said."""
    said, out = io.StringIO(), io.TextIOWrapper(io.BytesIO(), "utf-8")
    with redirect_stderr(said), redirect_stdout(out):
        code = run_command(words)
    return code, said.getvalue()


def _of_a_class(dice: random.Random) -> str:
    """Return a character of a class of Unicode, each class as likely, or a byte that is none."""
    return dice.choice(dice.choice(_classes()))


def _piece(dice: random.Random) -> str:
    return dice.choice(_PIECES)


@cache
def _classes() -> list[list[str]]:
    found: dict[str, list[str]] = {}
    for code in range(1, sys.maxunicode + 1):
        kind = unicodedata.category(chr(code))
        if kind != "Cs" and chr(code) != "/" and len(found.setdefault(kind, [])) < MANY:
            found[kind].append(chr(code))
    return [*found.values(), [chr(0xDC00 + byte) for byte in range(0x80, 0x100)]]


MANY = 200
LONGEST_NAME = 240
"""Bytes of a name; few file systems have longer ones."""
_PIECES = [
    "winner=decoy", "annotator=x", "c0=1", "c1=decoy", "json=1", "criterion=style", "=", "/", "a/",
    "*", "?", "[ab]", "[!x]", "[", "]", "{a,b}", "**", "\\", "\\*", "~", "~/", "file:", "file:/",
    "s3:", "https:", "-", "--", "-o", "\n", "\r", "\t", " ", "'", '"', "%20", "$HOME", "`", ";",
    "#", "\u202e", "\x1b[2J", "\u2028", "a", "b", "ab", "x", "..", ".", "é", "e\u0301", "日本",
]  # fmt: skip


def mutated(seed: bytes, other: bytes, dice: random.Random) -> bytes:
    """Change a file here and there: bytes, lines, tokens, pieces of another file."""
    data = bytearray(seed)
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(data) + 1)
        kind = dice.randrange(8)
        if kind == 0:
            data[at : at + dice.randint(1, 8)] = b""
        elif kind == 1:
            data[at:at] = bytes(dice.randrange(256) for _ in range(dice.randint(1, 4)))
        elif kind == 2:
            data[at:at] = dice.choice(TOKENS)
        elif kind == 3:
            end = at + dice.randint(1, 60)
            data[at:at] = data[at:end] * dice.randint(1, 20)
        elif kind == 4:
            cut = dice.randrange(len(other) + 1)
            data[at:at] = other[cut : cut + dice.randint(1, 80)]
        elif kind == 5:
            lines = bytes(data).split(b"\n")
            dice.shuffle(lines)
            data = bytearray(b"\n".join(lines))
        elif kind == 6:
            del data[at:]
        else:
            token = dice.choice(TOKENS)
            data = bytearray(bytes(data).replace(token, dice.choice(TOKENS), 1))
    return bytes(data)


TOKENS = [
    b",", b'"', b"'", b"\n", b"\r\n", b"\t", b";", b"{", b"}", b"[", b"]", b":", b"null", b"NaN",
    b"Infinity", b"-1", b"0", b"1e309", b"99999999999999999999", b"true", b"\x00", b"\xff\xfe",
    b"\xef\xbb\xbf", b"left", b"right", b"tie", b"winner", b"annotator", b"#", b"{1,2}", b"\\u0000",
    "é".encode(), "日".encode(), b"1.5", b"[[", b"]]", b"{}", b"[]", b'""', b"selected", b"ranker",
]  # fmt: skip


def by_ourselves(seconds: float, seed: int, try_one: Callable[[bytes], str]) -> Counter[str]:
    """Mutate the seeds for so long."""
    dice = random.Random(seed)  # noqa: S311
    seeds = list(SEEDS.values())
    found: Counter[str] = Counter()
    end = time.monotonic() + seconds
    here = Path.cwd()
    while time.monotonic() < end:
        data = mutated(dice.choice(seeds), dice.choice(seeds), dice)
        try:
            found[try_one(data)] += 1
        except BaseException:
            (here / "fuzz-crash").write_bytes(data)
            print("the input that did it: fuzz-crash", file=sys.stderr)
            raise
    return found


def main() -> None:
    """Fuzz for a bounded time with what there is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with tempfile.TemporaryDirectory() as folder:
        names = random.Random(options.seed)  # noqa: S311
        results = Results(Path(folder), names)

        def try_one(data: bytes) -> str:
            if names.randrange(3) == 0:
                return results.one()
            return same_under_another_name(data, Path(folder), random_name(names))

        found = by_ourselves(options.seconds, options.seed, try_one)
    print(f"{found.total():,} files, no fault; what came of them:")
    for name, number in found.most_common():
        print(f"{number:8,} {name}")


if __name__ == "__main__":
    main()
