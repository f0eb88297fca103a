"""Closed and full streams, no home, a terminal of ASCII: what can be written is written."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from aggcal.cli import main
from fork_server import ForkServer

FILES = [
    "annotators.csv",
    "comparisons.json",
    "items.csv",
    "report.html",
    "report.md",
    "summary.json",
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    rows = "".join(f"é{k % 3},ä,ö\n" for k in range(9))
    (folder / "j.csv").write_text(f"annotator,winner,loser\n{rows}", encoding="utf-8")
    return folder


def shell(
    data: Path,
    tmp_path: Path,
    text: str,
    *,
    server: ForkServer | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a line; only streams that are open as usual can be handed to a server."""
    aggcal = f"{sys.executable} -m aggcal"
    if server is not None:
        server.install(tmp_path / "aggcal")
        aggcal = "./aggcal"
    command = text.replace("aggcal", aggcal, 1).replace("IN", f"{data}/j.csv")
    return subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=tmp_path,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("how", "code"),
    [
        (">&-", 0),
        ("--json >&-", 2),
        ("--json > /dev/full", 2),
        ("2>&-", 0),
        ("2> /dev/full", 0),
        ("<&-", 0),
        ("<&- >&- 2>&-", 0),
        ("--json | head -c 0", 0),
    ],
)
def test_the_results_are_written_whatever_the_streams_are(
    data: Path, tmp_path: Path, how: str, code: int, fork_server: ForkServer
) -> None:
    server = None if "&-" in how else fork_server
    done = shell(data, tmp_path, f"aggcal aggregate IN -o out {how}", server=server)
    assert done.returncode == code, done.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == FILES
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if code:
        assert "standard output cannot be written to" in done.stderr


def test_neither_a_home_nor_a_locale_is_needed(data: Path, tmp_path: Path) -> None:
    bare = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "HOME": ""}
    for text in ("aggregate IN -o out --json", "convert IN -o -", "check IN", "suggest IN -n 1"):
        done = shell(data, tmp_path, f"env -u HOME aggcal {text}", env=bare)
        assert done.returncode == 0, done.stderr
    assert shell(data, tmp_path, "aggcal convert IN -o - -q", env=bare).stdout.count("ä") == 9


def test_a_full_stream_is_told_of_help_too(
    data: Path, tmp_path: Path, fork_server: ForkServer
) -> None:
    done = shell(data, tmp_path, "aggcal list methods > /dev/full", server=fork_server)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_the_mask_of_new_files_is_never_set(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def umask(_: int) -> int:
        raise AssertionError("other threads make files, too")

    monkeypatch.setattr(os, "umask", umask)
    out = str(tmp_path / "out")
    assert main(["aggregate", str(data / "j.csv"), "-o", out, "--no-check", "-q"]) == 0
