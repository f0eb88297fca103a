"""Tables that are read at the same time, in children, and what they leave behind."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import pytest

import aggcal
from aggcal.io.tables import database

_FORKED = """
import os, sys, aggcal
rows = [("ann", "a", "b"), ("bob", "b", "c")]
first = aggcal.read_judgments(rows)
child = os.fork()
again = aggcal.read_judgments(rows)
if not child:
    if sys.argv[1] == "killed":
        os._exit(7)
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
@pytest.mark.parametrize("end", ["ended", "killed"])
def test_a_forked_child_reads_too_and_nothing_is_left_behind(tmp_path: Path, end: str) -> None:
    if end == "ended" and int(version("duckdb").split(".")[0]) < 2:
        pytest.skip("a DuckDB 1 that was loaded before a fork aborts when the child ends by itself")
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-W", "ignore", "-c", _FORKED, end]
    done = subprocess.run(
        command, check=True, timeout=60, env=environment, capture_output=True, text=True
    )
    assert not done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_forks_do_not_disturb_threads_that_read() -> None:
    code = (
        "import os, threading, aggcal\n"
        "rows = [(f'u{k % 7}', f'a{k % 50}', f'b{k % 31}') for k in range(20_000)]\n"
        "read, over = [], threading.Event()\n"
        "def reader():\n"
        "    while not over.is_set(): read.append(aggcal.read_judgments(rows).n_items)\n"
        "thread = threading.Thread(target=reader)\n"
        "thread.start()\n"
        "for _ in range(8):\n"
        "    before = len(read)\n"
        "    while len(read) == before and thread.is_alive(): pass\n"
        "    child = os.fork()\n"
        "    if not child: os._exit(aggcal.read_judgments(rows[:50]).n_items != 81)\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
        "assert thread.is_alive()\n"
        "over.set()\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)


def test_small_tables_and_large_ones_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {"annotator": ["u", "v"], "winner": ["a", "b"], "loser": ["b", "c"]}
    small = aggcal.read_judgments(rows)
    monkeypatch.setattr("aggcal.io.tables.database._FEW_CELLS", 1)
    large = aggcal.read_judgments(rows)
    assert small.item_ids.tolist() == large.item_ids.tolist()
    assert small.left.tolist() == large.left.tolist()


def test_an_interrupt_while_a_database_starts_is_one_of_the_users(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """DuckDB reports it as a fault of the statement that it was at."""

    def interrupted(_: Path) -> None:
        raise RuntimeError("Query interrupted")

    monkeypatch.setattr(database, "_opened", interrupted)
    with pytest.raises(KeyboardInterrupt), database.connected(Path("no-such-file.parquet")):
        pass
