"""A run loads what it needs and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

_RUN = """
import json, sys
from aggcal.cli import main
code = main(["run", *sys.argv[1:], "--quiet"])
print(json.dumps([code, sorted(sys.modules)]))
"""
_BROKEN = """
import sys
sys.modules["aggcal.report.report"] = None  # as if it were not installed
from aggcal.__main__ import start
sys.exit(start())
"""
_ENDED = """
import atexit, sys, threading
atexit.register(print, "cleared away")
from aggcal.__main__ import start
sys.exit(start())
"""
_NEEDLESS = (
    "aggcal.aggregation.features",
    "aggcal.aggregation.selection",
    "aggcal.datasets",
    "aggcal.engines.dask",
    "aggcal.engines.gpu",
    "aggcal.plot",
    "aggcal.simulation",
    "matplotlib",
    "pandas",
    "polars",
    "pyarrow",
    "scipy.stats",
    "sklearn",
)


def test_a_run_of_plain_tables_loads_no_more_than_it_needs(tmp_path: Path) -> None:
    """Half of a second of modules, for a fit of a tenth: more rows than all checks are made of."""
    random, items, rows = np.random.default_rng(1), 210, 10_500
    left = random.integers(items, size=rows)
    right = (left + random.integers(1, items, rows)) % items
    score = random.normal(size=items)
    won = random.random(rows) < 1.0 / (1.0 + np.exp(score[right] - score[left]))
    who = random.integers(40, size=rows)
    first, second = np.where(won, left, right), np.where(won, right, left)
    table = zip(who.tolist(), first.tolist(), second.tolist(), strict=True)
    lines = "".join(f"u{u},i{a},i{b}\n" for u, a, b in table)
    (tmp_path / "judgments.csv").write_text(f"annotator,winner,loser\n{lines}")
    scored = "".join(f"i{k},{value:.4f}\n" for k, value in enumerate(score.tolist()))
    (tmp_path / "scores.csv").write_text(f"item,score\n{scored}")
    given = [str(tmp_path / name) for name in ("judgments.csv", "scores.csv")]
    command = [sys.executable, "-c", _RUN, *given, "-o", str(tmp_path / "out")]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    code, loaded = json.loads(said.splitlines()[-1])
    assert code == 0
    # DuckDB 1 loads what is there to see whether it was given a frame.
    older = ("pandas", "pyarrow") if version("duckdb").startswith("1.") else ()
    assert [name for name in _NEEDLESS if name in loaded and name not in older] == []


@pytest.fixture
def tables(tmp_path: Path) -> list[str]:
    rows = [(u, a, b) for u in "uvw" for a, b in ("ab", "bc", "cd", "ad")]
    judged = "".join(f"{u},{a},{b}\n" for u, a, b in rows)
    (tmp_path / "judgments.csv").write_text(f"annotator,winner,loser\n{judged}")
    (tmp_path / "scores.csv").write_text("item,score\na,4\nb,3\nc,2\nd,1\n")
    return [str(tmp_path / name) for name in ("judgments.csv", "scores.csv")]


def test_a_missing_module_is_an_internal_error(tables: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-c", _BROKEN, "run", *tables, "-o", str(tmp_path / "out")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "aggcal.report.report" in ended.stderr.splitlines()[-1]


def test_what_waits_for_the_end_is_done(tables: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-c", _ENDED, "run", *tables, "-o", str(tmp_path / "out"), "--json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout.startswith("{")
    assert ended.stdout.endswith("}\ncleared away\n")
    assert (tmp_path / "out" / "report.html").is_file()
