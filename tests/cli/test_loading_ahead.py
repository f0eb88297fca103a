"""What a command prepares in threads: no more than it needs, and nothing else goes differently."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from aggcal._core import database
from aggcal._core.machine import cores
from aggcal.cli import ahead

_BROKEN = """
import sys
sys.modules["jinja2"] = None  # as if it were not installed
from aggcal.__main__ import start
sys.exit(start())
"""
_ENDED = """
import atexit, sys, threading
atexit.register(print, "cleared away")
from aggcal.__main__ import start
sys.exit(start())
"""
_INTERRUPTED = """
import sys, time
from importlib.util import spec_from_loader
class Slow:
    def find_spec(self, name, path=None, target=None):
        # Which nothing but the thread loads.
        return spec_from_loader(name, self) if name == "aggcal.report.ready" else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        print("loading", flush=True)
        time.sleep(60)
sys.meta_path.insert(0, Slow())
from aggcal.__main__ import start
sys.exit(start())
"""

_AT_ONCE = """
import sys, threading, time
from types import SimpleNamespace
from aggcal.cli import ahead
import aggcal.aggregation  # as after a fit
reached, faults = threading.Event(), []
class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "aggcal.advice.check.survey":
            reached.set()
            time.sleep(0.5)
def load():
    try:
        import aggcal.advice.advising
    except ImportError as error:
        faults.append(error)
sys.meta_path.insert(0, Slow())
other = threading.Thread(target=load)
other.start()
reached.wait(30)
ahead._begin_check(SimpleNamespace(local=None), SimpleNamespace(prior=None), 0)
other.join()
sys.exit(repr(faults) if faults else 0)
"""


@pytest.fixture
def tables(tmp_path: Path) -> list[str]:
    rows = [(u, a, b) for u in "uvw" for a, b in ("ab", "bc", "cd", "ad")]
    judged = "".join(f"{u},{a},{b}\n" for u, a, b in rows)
    (tmp_path / "judgments.csv").write_text(f"annotator,winner,loser\n{judged}")
    (tmp_path / "scores.csv").write_text("item,score\na,4\nb,3\nc,2\nd,1\n")
    return [str(tmp_path / name) for name in ("judgments.csv", "scores.csv")]


def test_modules_are_loaded_in_turn_and_what_is_wrong_is_not_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ahead, "_alone", True)
    monkeypatch.setattr(ahead, "cores", lambda: 2)
    done, seen, usual = threading.Event(), list[str](), sys.getswitchinterval()

    def load(name: str) -> None:
        seen.append(name)
        if name == "second":
            done.set()
            raise ImportError(name)

    monkeypatch.setattr(ahead, "import_module", load)
    monkeypatch.setattr(gc, "freeze", lambda: None)  # DuckDB would complain at the end
    with ahead.loaded_ahead("first", "second", "third"):
        assert sys.getswitchinterval() < usual
        assert done.wait(timeout=60)
    assert seen == ["first", "second"]
    assert sys.getswitchinterval() == usual


def test_a_program_that_calls_the_command_gets_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "import_module", pytest.fail)
    monkeypatch.setattr(database, "begin", pytest.fail)
    ahead.begin_database()
    with ahead.loaded_ahead("first"):
        pass


def test_a_module_that_is_missing_is_told_of_as_ever(tables: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-c", _BROKEN, "run", *tables, "-o", str(tmp_path / "out")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "jinja2" in ended.stderr.splitlines()[-1]


def test_the_check_is_begun_while_its_modules_are_loaded() -> None:
    command = [sys.executable, "-c", _AT_ONCE]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_what_waits_for_the_end_is_done(tables: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-c", _ENDED, "run", *tables, "-o", str(tmp_path / "out"), "--json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout.startswith("{")
    assert ended.stdout.endswith("}\ncleared away\n")
    assert (tmp_path / "out" / "report.html").is_file()


@pytest.mark.skipif(cores() == 1, reason="with one core nothing is loaded ahead")
def test_an_interrupted_command_does_not_wait_for_modules(
    tables: list[str], tmp_path: Path
) -> None:
    command = [sys.executable, "-c", _INTERRUPTED, "run", *tables, "-o", str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "loading\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) in (0, 130)  # it may have ended before
    process.communicate()
