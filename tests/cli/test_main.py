"""Around the commands: help, lists, pipes, interrupts."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from aggcal.cli.commands import COMMANDS
from aggcal.cli.parser import parse
from aggcal.registry import METHODS
from conftest import Command, MadeOnce
from fork_server import ForkServer


def test_help_and_version(command: Command) -> None:
    done = command("--help")
    assert done.returncode == 0
    for name in (
        "run",
        "aggregate",
        "calibrate",
        "check",
        "evaluate",
        "simulate",
        "list",
        "demo",
    ):
        assert name in done.stdout
        assert command(name, "--help").returncode == 0
    assert command("--version").stdout.startswith("aggcal 0.")


def test_help_does_not_wait_for_the_numbers() -> None:
    """What makes ``--help`` fast: none of the heavy libraries is imported for it."""
    code = (
        "import sys\nfrom aggcal.cli import main\n"
        "try: main(['run', '--help'])\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'duckdb', 'narwhals'} & set(sys.modules)\n"
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_misspelt_command_is_held_against_all_of_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert parse(["list", "methods", "--quiet"]).quiet
    with pytest.raises(SystemExit):
        parse(["simlate"])
    assert f"(did you mean 'simulate'?); choose {', '.join(COMMANDS)};" in capsys.readouterr().err


def test_methods_lists_every_method(command: Command) -> None:
    done = command("list", "methods")
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(METHODS)
    assert list(json.loads(command("list", "methods", "--json").stdout)) == list(METHODS)


def test_a_reader_that_has_seen_enough_is_no_fault(tmp_path: Path) -> None:
    pipe = subprocess.Popen(
        [sys.executable, "-m", "aggcal", "list", "methods"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert pipe.stdout is not None
    assert pipe.stderr is not None
    pipe.stdout.close()
    assert pipe.stderr.read() == ""
    assert pipe.wait(timeout=60) == 0
    pipe.stderr.close()


# The line of progress comes at once and tells of reading, so that both can be waited for.
AT_ONCE = """
import sys
from aggcal import io
from aggcal.cli import progress
progress._PATIENCE, progress._EVERY = 0.0, 0.001
read = io.read_judgments
def told(*given, **options):
    progress.LINE.show("Reading")
    return read(*given, **options)
io.read_judgments = told
from aggcal.__main__ import start
sys.exit(start())
"""


@pytest.fixture
def large_study(made_once: MadeOnce, fork_server: ForkServer) -> Path:
    """Judgments that take seconds to read and to fit."""
    words = "simulate -o data --items 2000 --number 400000 --annotators 2000 -q"

    def make(folder: Path) -> None:
        assert fork_server.run(words.split(), folder).returncode == 0

    return made_once("large-study", make) / "data" / "judgments.csv"


@pytest.mark.parametrize("what", ["Reading", "Fitting"])
def test_interruption_writes_nothing_and_exits_130(
    what: str, large_study: Path, tmp_path: Path
) -> None:
    ours, theirs = pty.openpty()
    words = ("aggregate", large_study, "-o", "out", "--prior", "auto")
    process = subprocess.Popen(
        [sys.executable, "-c", AT_ONCE, *words],
        cwd=tmp_path,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    said = b""
    with suppress(OSError):  # the command has ended
        while data := os.read(ours, 1 << 16):
            if what.encode() in said + data and what.encode() not in said:
                process.send_signal(signal.SIGINT)
            said += data
    os.close(ours)
    assert process.wait(timeout=60) == 130, said
    assert said.strip().endswith(b"interrupted.")
    assert b"Traceback" not in said
    assert not (tmp_path / "out").exists()
