"""Tables that are read at the same time, in children, and what they leave behind."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import aggcal

_FORKED = """
import os, sys, aggcal
rows = [("ann", "a", "b"), ("bob", "b", "c")]
first = aggcal.read_judgments(rows)
child = os.fork()
again = aggcal.read_judgments(rows)
if not child:
    sys.exit(7 if again.n_items == 3 else 1)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 7
assert aggcal.read_judgments(rows).n_items == 3
"""


def test_threads_read_tables_of_their_own(tmp_path: Path) -> None:
    def read(k: int) -> tuple[int, float]:
        rows = [("ann", f"{k}-{i}", f"{k}-{i + 1}") for i in range(k + 1)]
        path = tmp_path / f"{k}.csv"
        path.write_text("item,score\n" + "".join(f"{i},{k}\n" for i in range(3)))
        return aggcal.read_judgments(rows).n_items, float(aggcal.read_scores(path).values.mean())

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(read, range(24))) == [(k + 2, float(k)) for k in range(24)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_reads_too_and_nothing_is_left_behind(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-W", "ignore", "-c", _FORKED]
    subprocess.run(command, check=True, timeout=60, env=environment)
    assert not list(tmp_path.iterdir())


def test_small_tables_and_large_ones_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"annotator": ["u", "v"], "winner": ["a", "b"], "loser": ["b", "c"]}
    small = aggcal.read_judgments(rows)
    monkeypatch.setattr("aggcal.io.database._FEW_ROWS", 1)
    large = aggcal.read_judgments(rows)
    assert small.item_ids.tolist() == large.item_ids.tolist()
    assert small.left.tolist() == large.left.tolist()
