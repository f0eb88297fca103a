"""Around the commands: help, lists, pipes, interrupts."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from aggcal.registry import METHODS
from conftest import Command


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
        "methods",
        "datasets",
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
        "heavy = {'numpy', 'scipy', 'duckdb', 'narwhals', 'jinja2'} & set(sys.modules)\n"
        "sys.exit(repr(heavy) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_methods_lists_every_method(command: Command) -> None:
    done = command("methods")
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(METHODS)
    assert list(json.loads(command("methods", "--json").stdout)) == list(METHODS)


def test_a_reader_that_has_seen_enough_is_no_fault(tmp_path: Path) -> None:
    pipe = subprocess.Popen(
        [sys.executable, "-m", "aggcal", "methods"],
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


@pytest.mark.parametrize("seconds", [1.0, 3.0], ids=["reading", "fitting"])
def test_interruption_writes_nothing_and_exits_130(
    seconds: float, tmp_path: Path, command: Command
) -> None:
    command(
        "simulate",
        "-o",
        "data",
        "--items",
        "2000",
        "--judgments",
        "400000",
        "--annotators",
        "2000",
        "-q",
    )
    arguments = ["aggregate", "data/judgments.csv", "-o", "out", "--prior", "auto"]
    for patience in (1.0, 4.0, 10.0):
        process = subprocess.Popen(
            [sys.executable, "-m", "aggcal", *arguments],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(seconds * patience)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        if process.returncode != -signal.SIGINT:
            break  # else Python itself was still starting, on a busy machine
    assert process.returncode == 130
    assert said.strip().endswith("interrupted.")
    assert "Traceback" not in said
    assert not (tmp_path / "out").exists()
