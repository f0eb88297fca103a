"""The columns that formats know, which are worked out only where somebody asks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from aggcal.io.known_columns import NAMED, KnownColumns

_READ = """
import sys, aggcal
aggcal.read_judgments(sys.argv[1])
print("aggcal.io.formats.gavel" in sys.modules)
"""


def test_columns_of_every_kind_of_format_are_known() -> None:
    known = KnownColumns()
    assert {*NAMED, "best", "worker"} <= {*known}
    assert len(known) == len({*known})
    assert all(known[name] == name for name in known)
    with pytest.raises(KeyError):
        known["shoe size"]


def test_other_formats_are_not_loaded_for_parquet_of_our_own_columns(tmp_path: Path) -> None:
    parquet, csv = tmp_path / "judgments.parquet", tmp_path / "judgments.csv"
    row = "SELECT 'ann' AS annotator, 'a' AS winner, 'b' AS loser"
    duckdb.execute(f"COPY ({row}) TO '{parquet}' (FORMAT parquet)")
    csv.write_text("annotator,winner,loser,note\nann,a,b,x\n")
    for path, loaded in ((parquet, "False\n"), (csv, "True\n")):
        command = [sys.executable, "-c", _READ, str(path)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        assert said == loaded
