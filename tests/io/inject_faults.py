"""Let commands fail, or be killed, at each of their system calls in turn; print what went wrong.

Run by `test_faults.py`, with `faults.c` preloaded: one process is forked for each call. Arguments
are the errors to inject besides a kill; AGGCAL_EVERY=1 takes every call (minutes), 7 every seventh.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path

from aggcal.cli import main
from aggcal.io.writing.locks import locked
from aggcal.io.writing.swap import undo_interrupted

MARK = os.fsencode(Path.cwd()) + b"/"
KILL = 0
SIZE = ["--items", "5", "--annotators", "3", "--judgments", "20", "-q"]
OWN = {"target/notes.txt": "mine", "target/mine/kept.csv": "a,b\n"}
"""What the user keeps in the output folder."""


@dataclass(frozen=True)
class Case:
    """A command, and what is there before it."""

    name: str
    words: list[str]
    before: Callable[[], None]


def files(folder: str = "target") -> dict[str, str]:
    """Return every file below a folder, hidden leftovers of ours left out."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file() and not any(part.startswith(".aggcal-") for part in path.parts):
            found[str(path)] = path.read_text()
    return found


def leftovers() -> list[str]:
    return [str(path) for path in Path().rglob(".aggcal-*")]


def restore(source: str | None, *, own: bool = False) -> None:
    """Make the state before a command: a set that is there already, or nothing."""
    shutil.rmtree("target", ignore_errors=True)
    for path in leftovers():
        shutil.rmtree(path, ignore_errors=True)
    if source is not None:
        shutil.copytree(source, "target")
    if own:
        for name, text in OWN.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(text)


def one(case: Case, number: int, error: int) -> tuple[int, int]:
    """Run a command in a child that fails at a call; return its exit code and how many it made."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        shim = ctypes.CDLL(None)
        shim.faults_arm(MARK, number, error)
        with Path(os.devnull).open("w") as nowhere, redirect_stderr(nowhere):
            code = main(case.words)
        shim.faults_arm(None, -1, 0)
        os.write(write, str(shim.faults_calls()).encode())
        os._exit(code)
    os.close(write)
    _, status = os.waitpid(child, 0)
    calls = os.read(read, 20)
    os.close(read)
    return os.waitstatus_to_exitcode(status), int(calls or 0)


def complaints(case: Case, error: int) -> list[str]:
    """Fail at every call in turn; return each state that must not be."""
    case.before()
    before = files()
    assert main(case.words) == 0
    after = files()
    assert before != after
    wrong: list[str] = []
    step = int(os.environ.get("AGGCAL_EVERY", "1"))
    for number in range(step, 1000, step):
        case.before()
        code, _ = one(case, number, error)
        where = f"{case.name}, call {number}, error {error}"
        if error == KILL and code == -signal.SIGKILL:
            said = _after_a_kill(case, before, after)
        else:
            said = {0: _after_success, 2: _after_an_error}[code](before, after)
        wrong += [f"{where}: {each}" for each in said]
        if code == 0 and _was_last(case, number):
            return wrong
    return [*wrong, f"{case.name}: does not end"]


def _after_a_kill(case: Case, before: dict[str, str], after: dict[str, str]) -> Iterator[str]:
    if Path("target").is_dir():
        with locked(Path("target")):
            undo_interrupted(Path("target"))
    if files() not in (before, after):
        yield "neither the old set nor the new one after a kill"
    if main([*case.words, "--force"]) != 0 or files() != after:
        yield "the next write does not mend it"
    if leftovers():
        yield f"leftovers are not swept: {leftovers()}"


def _after_an_error(before: dict[str, str], after: dict[str, str]) -> Iterator[str]:
    del after
    if files() != before:
        yield "refused, but not as before"
    if leftovers():
        yield f"leftovers after an error: {leftovers()}"


def _after_success(before: dict[str, str], after: dict[str, str]) -> Iterator[str]:
    del before
    if files() != after:
        yield "done, but not the new set"


def _was_last(case: Case, number: int) -> bool:
    """Whether a command makes fewer calls than this."""
    case.before()
    _, calls = one(case, -1, KILL)
    return number > calls


def cases() -> list[Case]:
    simulate = ["simulate", "-o", "target", *SIZE, "--seed", "2"]
    report = ["report", "target", "--texts", "texts.csv", "-q"]
    convert = ["convert", "study/judgments.csv", "-o", "target/new.csv", "-q"]
    return [
        Case("a new folder", simulate, lambda: restore(None)),
        Case("an old set", simulate, lambda: restore("study")),
        Case("an old set and files of the user", simulate, lambda: restore("study", own=True)),
        Case("a report", report, lambda: restore("results")),
        Case("a report beside files of the user", report, lambda: restore("results", own=True)),
        Case("one new file", convert, lambda: restore(None)),
        Case("one old file", [*convert, "--force"], _old_file),
    ]


def _old_file() -> None:
    restore("study")
    Path("target/new.csv").write_text("old")


def prepare() -> None:
    main(["simulate", "-o", "study", *SIZE, "--seed", "1"])
    main(["run", "study/judgments.csv", "study/scores.csv", "-o", "results", "--no-check", "-q"])
    Path("texts.csv").write_text("item,text\nitem-1,An essay\n")


if __name__ == "__main__":
    prepare()
    found = [
        complaint
        for case in cases()
        for error in (KILL, *(getattr(errno, name) for name in sys.argv[1:]))
        for complaint in complaints(case, error)
    ]
    print(json.dumps(found))
    sys.exit(bool(found))
