"""Every system call of a write may fail or be the last: the old set or the new one is there."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs Linux and a C compiler"
)
def test_no_fault_at_any_call_leaves_a_mixture(tmp_path: Path) -> None:
    """Of every command that writes, alone and four at once; a sample of what can be struck."""
    shim = tmp_path / "faults.so"
    built = f"cc -shared -fPIC -O1 -w -o {shim} {HERE / 'faults.c'} -ldl"
    subprocess.run(built.split(), check=True)
    done = subprocess.run(
        [
            sys.executable,
            HERE / "inject_faults.py",
            "KILL",
            "TERM",
            "INT",
            "EIO",
            "EACCES",
            "ENOSPC",
        ],
        cwd=tmp_path,
        env={"AGGCAL_EVERY": "150", "AGGCAL_ROUNDS": "2", **os.environ, "LD_PRELOAD": str(shim)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert json.loads(done.stdout) == []


STRUCK = """
import os, signal, sys
def strike(event, arguments):
    if event == "import" and arguments[0] == sys.argv[1] and sys.argv[2] in sys.modules:
        os.kill(os.getpid(), signal.SIGTERM)
sys.addaudithook(strike)
from aggcal.cli import main
sys.exit(main(sys.argv[3:]))
"""


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize(
    ("importing", "after"),
    # The first is imported by NumPy's extension module, which takes a failure for a bad install.
    [("datetime", "numpy._core.multiarray"), ("scipy", "aggcal")],
)
def test_a_signal_during_an_import_is_put_off(importing: str, after: str, tmp_path: Path) -> None:
    # What is quoted is read by DuckDB.
    (tmp_path / "j.csv").write_text('annotator,winner,loser\nu,a,"b"\nv,b,c\n')
    done = subprocess.run(
        [sys.executable, "-c", STRUCK, importing, after, "aggregate", "j.csv", "-o", "out"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 128 + signal.SIGTERM, done.stderr
    assert done.stderr == "aggcal: interrupted.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["j.csv"]
