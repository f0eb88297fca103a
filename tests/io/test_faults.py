"""Every system call of a write may fail or be the last: the old set or the new one is there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs Linux and a C compiler"
)


def test_no_fault_at_any_call_leaves_a_mixture(tmp_path: Path) -> None:
    shim = tmp_path / "faults.so"
    built = f"cc -shared -fPIC -O1 -w -o {shim} {HERE / 'faults.c'} -ldl"
    subprocess.run(built.split(), check=True)
    done = subprocess.run(
        [sys.executable, HERE / "inject_faults.py", "EIO"],
        cwd=tmp_path,
        env={"AGGCAL_EVERY": "11", **os.environ, "LD_PRELOAD": str(shim)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert json.loads(done.stdout) == []
