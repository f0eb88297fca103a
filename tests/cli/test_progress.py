"""Progress: one line on a terminal that is gone in the end, and nothing anywhere else."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from aggcal.cli import progress
from aggcal.cli.progress import Line, Step, duration

# Every step takes its time here, and the line comes at once: which show up does not depend on the
# machine.
SCRIPT = """
import sys, time
from aggcal.cli import progress
progress._PATIENCE, progress._EVERY = {patience}, 0.001
show = progress.Line.show
def slowly(line, what, share=None, detail=""):
    show(line, what, share, detail)
    time.sleep(0.01)
progress.Line.show = slowly
from aggcal.__main__ import start
sys.exit(start())
"""
REWRITE = "\r\x1b[K"


def on_terminal(
    folder: Path, *words: str, code: int = 0, patience: float = 0.0, width: int = 80
) -> str:
    """Run the command with standard error on a terminal, and return what was written there."""
    ours, theirs = pty.openpty()
    os.set_blocking(ours, True)
    subprocess.run(["stty", "cols", str(width)], stdin=theirs, check=True)
    seen: list[bytes] = []

    def listen() -> None:
        try:
            while data := os.read(ours, 1 << 16):
                seen.append(data)
        except OSError:  # the other end is closed
            pass

    listener = threading.Thread(target=listen)
    listener.start()
    command = [sys.executable, "-c", SCRIPT.format(patience=patience), *words]
    with subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
    ) as process:
        os.close(theirs)
        process.communicate(timeout=120)
    listener.join()
    os.close(ours)
    assert process.returncode == code, b"".join(seen)
    return b"".join(seen).decode()


def left_on_screen(written: str) -> list[str]:
    """Return the lines that stay, as a terminal shows them."""
    return [re.split(r"\r(?:\x1b\[K)?", line.rstrip("\r"))[-1] for line in written.split("\n")]


def test_the_line_is_rewritten_and_gone_in_the_end(study_folder: Path) -> None:
    words = ("run", "data/judgments.csv", "data/scores.csv", "-o")
    more = ("--uncertainty", "bootstrap")
    written = on_terminal(study_folder.parent, *words, "seen", *more)
    shown = [part.strip() for part in written.split(REWRITE)]
    for what in ("Starting", "Fitting: iteration", "Standard errors: draw", "Data check, part"):
        assert any(part.startswith(what) for part in shown), what
    assert any(re.search(r"draw 1[0-9]+ of 200 \([0-9]+%", part) for part in shown)
    piped = subprocess.run(
        [sys.executable, "-m", "aggcal", *words, "piped", *more],
        cwd=study_folder.parent,
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    assert "\r" not in piped
    assert "\x1b" not in piped
    kept = [line.replace("seen/", "piped/") for line in left_on_screen(written)]
    assert kept == piped.split("\n")


def test_nothing_when_quiet_or_fast(study_folder: Path) -> None:
    words = ("aggregate", "data/judgments.csv", "--method", "btl", "--no-check", "-o")
    quiet = on_terminal(study_folder.parent, *words, "one", "--quiet")
    assert "\x1b" not in quiet
    assert all(line.startswith("warning: ") for line in quiet.splitlines() if line)
    fast = on_terminal(study_folder.parent, *words, "two", patience=3600.0)
    assert "\x1b" not in fast
    assert "wrote two/report.html" in fast


def test_a_narrow_terminal_is_not_filled(study_folder: Path) -> None:
    written = on_terminal(study_folder.parent, "check", "data/judgments.csv", "--quick", width=24)
    shown = re.findall(r"\r\x1b\[K([^\r\n]+)", written)
    assert any(part.startswith("Data check") for part in shown)
    assert max(len(part) for part in shown if "read as" not in part) < 24


def test_an_error_is_on_a_line_of_its_own(study_folder: Path) -> None:
    (study_folder / "half.csv").write_text("item,score\nnobody,1\nno-one,2\n")
    words = ("run", "data/judgments.csv", "data/half.csv", "-o", "x")
    written = on_terminal(study_folder.parent, *words, code=2)
    assert REWRITE in written
    (said,) = (line for line in left_on_screen(written) if line)
    assert said.startswith("aggcal: error: no item is in both")


def test_the_time_left_comes_from_the_share() -> None:
    step = Step("Drawing", 100.0, share=0.2, updated=110.0)
    assert step.text(110.0) == "Drawing (20%, about 40 s left)"
    assert step.text(125.0) == "Drawing (20%, about 25 s left)"
    assert step.text(999.0) == "Drawing (20%, about 1 s left)"
    assert Step("Drawing", 100.0, share=1.0, updated=110.0).text(110.0) == "Drawing (100%)"
    assert Step("Drawing", 100.0, share=0.5, updated=100.1).text(100.2) == "Drawing (50%)"
    assert duration(119.0) == "119 s"
    assert duration(3600.0) == "1 h 0 min"


def test_work_that_starts_over_is_timed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_is_terminal", lambda: True)
    monkeypatch.setattr(progress, "write", lambda _: None)
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    line = Line()
    for at, share in ((100.0, 0.1), (104.0, 0.5), (108.0, 0.2)):
        now[0] = at
        line.show("Reading", share)
    assert line._step is not None
    assert line._step.began == 108.0
    line.end()
    assert line._step is None


def test_nothing_is_kept_or_started_without_a_terminal() -> None:
    line = Line()
    line.show("Fitting")
    assert line._step is None
    assert line._stop is None
