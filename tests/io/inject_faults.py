"""Let commands fail, be interrupted or be killed at their system calls; print what went wrong.

Run by `test_faults.py` in an empty folder, with `faults.c` preloaded: one process is forked for
each fault. Arguments are the kinds of faults. AGGCAL_EVERY=1 takes every call (an hour), 20 every
twentieth, and AGGCAL_ROUNDS is how often four writers at once are struck. AGGCAL_CASES picks cases
by a word of their names.
"""

from __future__ import annotations

import ctypes
import errno
import gc
import io
import itertools
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from aggcal.cli import main

MARK = os.fsencode(Path.cwd()) + b"/"
KINDS: dict[str, tuple[int, int, bool]] = {
    # The error, the signal, and whether it stays.
    "KILL": (0, signal.SIGKILL, False),
    "TERM": (0, signal.SIGTERM, False),
    "INT": (0, signal.SIGINT, False),
    "EIO": (errno.EIO, 0, False),
    "EACCES": (errno.EACCES, 0, False),
    "ENOSPC": (errno.ENOSPC, 0, True),
    "none": (0, 0, False),
}
SIZE = ["--items", "5", "--annotators", "3", "--number", "20", "-q"]
OWN = {"target/notes.txt": "mine", "target/mine/kept.csv": "a,b\n"}
"""What the user keeps in the output folder."""
INPUTS = ["study/judgments.csv", "study/scores.csv"]
NEVER = -1
FEWEST, LAST = 5, 120
"""Calls that every command makes; calls that a run makes, at most."""
_ENDS: dict[str, set[int]] = {
    "KILL": {-signal.SIGKILL},
    "TERM": {128 + signal.SIGTERM},
    "INT": {128 + signal.SIGINT},
    "none": set(),
}
_ENDS |= {kind: {2} for kind in KINDS if kind not in _ENDS}
State = dict[str, str]


@dataclass(frozen=True)
class Case:
    """A command, and what is there before it."""

    name: str
    words: list[str]
    before: Callable[[], None]


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    calls: int = 0
    said: str = ""


def files(folder: str = "target") -> State:
    """Return every file below a folder, hidden leftovers of ours left out."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file() and not any(part.startswith(".aggcal-") for part in path.parts):
            found[str(path)] = path.read_bytes().decode("utf-8", "surrogateescape")
    return found


def leftovers() -> list[str]:
    return [str(path) for path in (*Path().rglob(".aggcal-*"), *Path("tmp").iterdir())]


def restore(source: str | None, *, own: bool = False) -> None:
    """Make the state before a command: a set that is there already, or nothing."""
    for path in ("target", *leftovers()):
        shutil.rmtree(path, ignore_errors=True)
        if os.path.lexists(path):
            Path(path).unlink()
    if source is not None:
        shutil.copytree(source, "target")
    if own:
        for name, text in OWN.items():
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(text)


def start(words: list[str], number: int = NEVER, kind: str = "none") -> tuple[int, int]:
    """Run a command in a child that is struck at a call; return it, and where it tells how."""
    read, write = os.pipe()
    child = os.fork()
    if child:
        os.close(write)
        return child, read
    os.close(read)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_DFL)
    shim, said = ctypes.CDLL(None), io.StringIO()
    error, signalled, stays = KINDS[kind]
    shim.faults_arm(MARK, number, error, signalled, stays)
    with redirect_stderr(said), redirect_stdout(io.TextIOWrapper(io.BytesIO())):
        try:
            code = main(words)
        except BaseException:  # noqa: BLE001  # as the interpreter would show it
            said.write(f"Traceback: {traceback.format_exc()[-600:]}")
            code = 1
    calls = shim.faults_calls()
    shim.faults_arm(None, NEVER, 0, 0, 0)
    with os.fdopen(write, "wb") as told:
        told.write(json.dumps([calls, said.getvalue()]).encode())
    os._exit(code)


def end(child: int, read: int) -> Ended:
    with os.fdopen(read, "rb") as told:
        text = told.read()
    _, status = os.waitpid(child, 0)
    calls, said = json.loads(text) if text else (0, "")
    return Ended(os.waitstatus_to_exitcode(status), calls, said)


def one(words: list[str], number: int = NEVER, kind: str = "none") -> Ended:
    return end(*start(words, number, kind))


def complaints(case: Case, kinds: list[str], step: int, starts: Iterator[int]) -> Iterator[str]:
    """Strike at the calls in turn; yield each state that must not be."""
    case.before()
    before = files()
    last = one(case.words)
    assert last.code == 0, last.said
    assert last.calls > FEWEST, "the shim is at work"
    after = files()
    assert before != after
    print(f"{case.name}: {last.calls} calls", file=sys.stderr)
    for kind in kinds:
        for number in range(next(starts), last.calls + 1, step):
            case.before()
            ended = one(case.words, number, kind)
            for each in after_a_fault(case, ended, kind, before, after):
                yield f"{case.name}, {kind} at call {number} of {last.calls}: {each}"


def after_a_fault(
    case: Case, ended: Ended, kind: str, before: State, after: State
) -> Iterator[str]:
    yield from wrong_end(ended, kind)
    if kind == "KILL":
        yield from _after_a_kill(case, before, after)
        return
    allowed = {0: [after], 2: [before]}.get(ended.code, [before, after])
    if files() not in allowed:
        yield f"ended with {ended.code}, but {told_apart(files(), before, after)}"
    if ended.code != 0 and leftovers():
        yield f"ended with {ended.code}, leftovers: {leftovers()}"


def wrong_end(ended: Ended, kind: str) -> Iterator[str]:
    if ended.code not in {0, *_ENDS[kind]}:
        yield f"ended with {ended.code}: {ended.said}"
    last = [line for line in ended.said.splitlines() if not line.startswith("warning: ")]
    if ended.code == 2 and (len(last) != 1 or not last[0].startswith("aggcal: error: ")):
        yield f"said {ended.said!r}"
    if ended.code > 128 and last != ["aggcal: interrupted."]:
        yield f"said {ended.said!r}"


def _after_a_kill(case: Case, before: State, after: State) -> Iterator[str]:
    if Path("target/summary.json").exists() and "target/annotators.csv" in after:
        # Whoever reads the folder undoes what was begun.
        seen = one(["report", "target", "-o", "-", "-q"])
        if seen.code != 0 or files() not in (before, after):
            yield f"a reader does not mend it: {told_apart(files(), before, after)}; {seen.said}"
    again = one(case.words)
    made = "already exists. Choose another name" in again.said and files() == after
    if not made and (again.code != 0 or files() != after):
        yield f"the next write does not mend it: {again.said}"
    if made:
        one([*case.words, "--force"])
    if leftovers():
        yield f"leftovers are not swept: {leftovers()}"


def told_apart(found: State, before: State, after: State) -> str:
    for name in sorted({*found, *before, *after}):
        kinds = [
            word
            for word, state in (("old", before), ("new", after))
            if state.get(name) == found.get(name)
        ]
        if len(kinds) < 2:
            print(f"  {name}: {kinds or 'neither'}", file=sys.stderr)
    return "neither the old set nor the new one" if found not in (before, after) else "wrong set"


def at_once(rounds: int, kinds: list[str]) -> Iterator[str]:
    """Let four writers be struck at random calls at the same time."""
    dice = random.Random(rounds)  # noqa: S311
    methods = ("hra-n", "btl", "tcv", "hra-e")
    run = ["run", *INPUTS, "-o", "target", *QUICK]
    if not rounds:
        return
    sets = []
    for own, method in itertools.product((False, True), methods):
        restore("results", own=own)
        sets.append(files())
        assert one([*run, "--method", method]).code == 0
        sets.append(files())
    for number in range(rounds):
        restore("results", own=bool(number % 2))
        struck = [(dice.choice([*kinds, "none"]), dice.randint(1, LAST)) for _ in methods]
        running = [
            start([*run, "--method", method], call, kind)
            for method, (kind, call) in zip(methods, struck, strict=True)
        ]
        where = f"four writers, {struck}"
        for child, (kind, _) in zip(running, struck, strict=True):
            for each in wrong_end(end(*child), kind):
                yield f"{where}: {each}"
        seen = one(["report", "target", "-o", "-", "-q"])
        if seen.code != 0 or files() not in sets:
            yield f"{where}: a mixture; {seen.said}"
        if one(run).code != 0 or leftovers():
            yield f"{where}: leftovers {leftovers()}"


QUICK = ["--no-check", "-q", "--uncertainty", "none"]


def cases() -> list[Case]:
    simulate = ["simulate", "-o", "target", *SIZE, "--seed", "2"]
    run = ["run", *INPUTS, "-o", "target", *QUICK, "--method", "btl"]
    aggregate = ["aggregate", INPUTS[0], "-o", "target", *QUICK, "--method", "btl"]
    calibrate = ["calibrate", "results/items.csv", INPUTS[1], "-o", "target", "-q", "--seed", "3"]
    report = ["report", "target", "--texts", "texts.csv", "-q"]
    convert = ["convert", INPUTS[0], "-o", "target/new.csv", "-q"]
    suggest = ["suggest", INPUTS[0], "-o", "target/new.csv", "-q"]
    return [
        Case("run into a new folder", run, lambda: restore(None)),
        Case("run over old results", run, lambda: restore("results")),
        Case("run beside files of the user", run, lambda: restore("results", own=True)),
        Case("aggregate over old results", aggregate, lambda: restore("results")),
        Case("aggregate beside files", aggregate, lambda: restore("results", own=True)),
        Case("calibrate over old results", calibrate, lambda: restore("results")),
        Case("calibrate beside files", calibrate, lambda: restore("results", own=True)),
        Case("simulate into a new folder", simulate, lambda: restore(None)),
        Case("simulate over an old study", simulate, lambda: restore("study")),
        Case("simulate beside files of the user", simulate, lambda: restore("study", own=True)),
        Case("report", report, lambda: restore("results")),
        Case("report beside files of the user", report, lambda: restore("results", own=True)),
        Case("convert to a new file", convert, lambda: restore(None)),
        Case("convert over an old file", [*convert, "--force"], _old_file),
        Case("convert to preflib", [*convert[:3], "target/new.soc", "-q"], lambda: restore(None)),
        Case("suggest to a new file", suggest, lambda: restore(None)),
        Case("suggest over an old file", [*suggest, "--force"], _old_file),
    ]


def _old_file() -> None:
    restore("study")
    Path("target/new.csv").write_text("old")


def prepare() -> None:
    """Make what is read, and what is the same in every child: a clock."""
    Path("tmp").mkdir()
    tempfile.tempdir = str(Path("tmp").absolute())
    time.perf_counter = lambda: 0.0
    assert main(["simulate", "-o", "study", *SIZE, "--seed", "1"]) == 0
    assert main(["run", *INPUTS, "-o", "results", *QUICK, "--method", "hra-n"]) == 0
    Path("texts.csv").write_text("item,text\nitem-1,An essay\n")
    restore("results")
    for words in (
        ["report", "target", "-q"],
        ["calibrate", "results/items.csv", INPUTS[1], "-o", "target", "-q"],
        ["suggest", INPUTS[0], "-o", "target/new.csv", "-q"],
        ["convert", INPUTS[0], "-o", "target/other.csv", "-q"],
    ):
        assert main(words) == 0, words  # so that the modules are loaded
    gc.collect()
    gc.freeze()  # or each child would copy all that is loaded when it looks for garbage


if __name__ == "__main__":
    prepare()
    step = int(os.environ.get("AGGCAL_EVERY", "1"))
    wanted = [case for case in cases() if os.environ.get("AGGCAL_CASES", "") in case.name]
    # Another start each time, so that no call is left out in all of them.
    starts = ((k * 7) % step + 1 for k in itertools.count())
    found = [text for case in wanted for text in complaints(case, sys.argv[1:], step, starts)]
    found += at_once(int(os.environ.get("AGGCAL_ROUNDS", "0")), sys.argv[1:])
    print(json.dumps(found, indent=1))
    sys.exit(bool(found))
