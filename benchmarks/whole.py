"""The whole way, from a file to files: `aggcal run` beside what people write by hand.

    python benchmarks/whole.py [--most JUDGMENTS] [--limit SECONDS] [--engine ENGINE]
    python benchmarks/whole.py --sizes 1e8 --jobs 16 --limit 900 --data /scratch [--engine ...]

Writes studies as Parquet files (text ids, activity by Zipf's law, 1% ties, weights) with a table of
model scores, and measures, each in a process of its own, `aggcal run` from the command to its end:
seconds on the clock and of all processors (up to a million judgments the median of five runs), peak
memory, and how the clock's seconds split, in a run of its own that takes a little longer for being
watched. Beside it what a user would write by hand: polars reads the file, evalica (or scikit-learn
where evalica runs out of memory) fits plain Bradley-Terry, scikit-learn projects the scores; no
reliabilities, no uncertainty, no checks and no report. The peers run in the environment that
stage1.py makes for them, up to --peers-most judgments.

--jobs keeps to so many cores (and, with dask, as many workers). --data keeps the studies in a
folder: those that are there are not made again. With dask, judgments are a folder of 16 Parquet
files, and with cluster they are on processes of one thread each, as many as cores, to which Dask
sends messages; of these, the table counts neither processors nor memory. Writes --output,
or benchmarks/results/whole.md and whole-ENGINE.md.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, NamedTuple

# The command sets up NumPy's threads before it loads it: nothing here may load it earlier.
HERE = Path(__file__).parent
SIZES = (
    (500, 13_000, 624),
    (1_000, 100_000, 1_000),
    (10_000, 1_000_000, 10_000),
    (100_000, 10_000_000, 10_000),
    (100_000, 100_000_000, 100_000),
)
PARTS = ("start", "reading", "fitting", "uncertainty", "Stage 2", "check", "writing")
BY_HAND = ("by hand: polars, evalica", "by hand: polars, scikit-learn")
PIECE = 10_000_000
PARTS_OF_FOLDER = 16
TIES = 0.01
REPEATED, REPEATS = 1_000_000, 5
"""Judgments up to which the seconds are the median of so many runs."""


class Run(NamedTuple):
    """A command that ended well."""

    seconds: float
    work: float
    """Seconds of all processors."""
    gigabytes: float
    printed: list[str]


def make(
    folder: Path, items: int, judgments: int, annotators: int, *, parted: bool = False
) -> tuple[Path, Path]:
    """Write a study, unless it is there: judgments as Parquet, model scores as CSV.

    Judgments are one file, or a folder of several (``parted``) with the same rows.
    """
    import duckdb
    import numpy as np

    file, table = folder / f"{judgments}.parquet", folder / f"{judgments}.csv"
    if parted:
        whole, _ = make(folder, items, judgments, annotators)
        return taken_apart(whole, judgments), table
    if file.exists() and table.exists():
        return file, table
    rng = np.random.default_rng(judgments)
    scores, strength = rng.normal(size=items), np.exp(rng.normal(0.0, 0.5, annotators))
    share = np.arange(1, annotators + 1.0) ** -0.8
    steps = np.cumsum(share / share.sum())
    pieces = []
    for k, begin in enumerate(range(0, judgments, PIECE)):
        size = min(PIECE, judgments - begin)
        who = np.minimum(np.searchsorted(steps, rng.random(size)), annotators - 1).astype(np.int32)
        left = rng.integers(0, items, size, dtype=np.int32)
        right = (left + rng.integers(1, items, size, dtype=np.int32)) % items
        chance = 1.0 / (1.0 + np.exp(-strength[who] * (scores[left] - scores[right])))
        won = np.where(rng.random(size) < TIES, 2, (rng.random(size) < chance).astype(np.int8))
        weight = rng.integers(1, 4, size).astype(np.float64)
        codes = {"u": who, "l": left, "r": right, "won": won.astype(np.int8), "weight": weight}
        part = folder / f"part-{k}.parquet"
        con = duckdb.connect()
        con.register(
            "codes", {name: np.ascontiguousarray(column) for name, column in codes.items()}
        )
        con.execute(
            "copy (select 'annotator-' || u as annotator, 'item-' || l as left, 'item-' || r as "
            "right, case won when 1 then 'left' when 0 then 'right' else 'tie' end as outcome, "
            f"weight from codes) to '{part}'"
        )
        con.close()
        pieces.append(part)
    con = duckdb.connect()
    con.execute(f"copy (from read_parquet({[str(p) for p in pieces]})) to '{file}'")
    con.close()
    for part in pieces:
        part.unlink()
    model = scores + rng.normal(0.0, 0.5, items)
    lines = (f"item-{i},{value:.6f}\n" for i, value in enumerate(model.tolist()))
    table.write_text("item,score\n" + "".join(lines))
    return file, table


def taken_apart(whole: Path, judgments: int) -> Path:
    """Write the rows of a file as a folder of several, unless it is there."""
    import duckdb

    folder = whole.with_name(f"{judgments}-parts")
    if folder.exists():
        return folder
    folder.mkdir()
    each, con = -(-judgments // PARTS_OF_FOLDER), duckdb.connect()
    for k in range(PARTS_OF_FOLDER):
        con.execute(
            "copy (select * exclude (file_row_number) from "
            f"read_parquet('{whole}', file_row_number = true) where file_row_number >= {k * each} "
            f"and file_row_number < {(k + 1) * each}) to '{folder}/{k}.parquet'"
        )
    con.close()
    return folder


def timed(parts: dict[str, float], name: str, what: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, its seconds added to a part; what it calls of other parts, taken out."""

    def called(*args: Any, **options: Any) -> Any:
        inside, began = sum(parts.values()), time.perf_counter()
        try:
            return what(*args, **options)
        finally:
            spent = time.perf_counter() - began
            parts[name] = parts.get(name, 0.0) + spent - (sum(parts.values()) - inside)

    return called


def run_aggcal(
    began: float,
    judgments: str,
    scores: str,
    output: str,
    *,
    engine: str,
    jobs: int | None,
    scheduler: str | None,
) -> None:
    """Run the command in this process, its steps timed."""
    from aggcal.cli import main as command  # isort: skip  # see above: this sets up the threads

    from aggcal import assessment
    from aggcal.aggregation.consensus import Consensus
    from aggcal.assessment.result import Assessment
    from aggcal.cli import reading

    parts: dict[str, float] = {}
    for where, name, part in (
        (reading, "judgments_from", "reading"),
        (reading, "scores_from", "reading"),
        (Consensus, "quantify", "uncertainty"),
        (assessment, "calibrated", "Stage 2"),
        (Assessment, "with_advice", "check"),
        (Assessment, "save", "writing"),
    ):
        setattr(where, name, timed(parts, part, getattr(where, name)))
    method_of = vars(assessment)["aggregator_of"]

    def timed_method(*args: Any, **options: Any) -> Any:
        return SimpleNamespace(fit=timed(parts, "fitting", method_of(*args, **options).fit))

    vars(assessment)["aggregator_of"] = timed_method
    sys.argv = [*aggcal_run(engine, jobs, scheduler)[2:], judgments, scores, "-o", output]
    if code := command():
        raise SystemExit(code)
    parts["start"] = time.time() - began - sum(parts.values())
    print(json.dumps({"parts": parts, "gigabytes": peak()}))


def aggcal_run(engine: str, jobs: int | None, scheduler: str | None) -> list[str]:
    """Return the command, without files."""
    command = [sys.executable, "-m", "aggcal", "run", "--quiet"]
    command += ["--engine", engine] if engine in ("gpu", "dask") else []
    command += ["--workers", str(jobs)] if engine == "dask" and jobs else []
    return command + (["--engine", "dask", "--scheduler", scheduler] if scheduler else [])


def peak() -> float | None:
    """Return the peak memory of this process; what waits for it would count its own in."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    lines = status.read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e9


def by_hand(judgments: str, scores: str, output: str, name: str) -> None:
    """Do the same by hand, as far as these libraries go."""
    import numpy as np
    import polars as pl
    from sklearn.isotonic import IsotonicRegression

    rows, model = pl.read_parquet(judgments), pl.read_csv(scores)
    ids = pl.concat([rows["left"], rows["right"]]).unique().sort()
    code = dict(zip(ids.to_list(), range(len(ids)), strict=True))
    left, right = (rows[side].replace_strict(code).to_numpy() for side in ("left", "right"))
    if name == BY_HAND[0]:
        import evalica
        import pandas as pd

        words = {"left": evalica.Winner.X, "right": evalica.Winner.Y, "tie": evalica.Winner.Draw}
        won = [words[word] for word in rows["outcome"].to_list()]
        found = evalica.bradley_terry(
            left, right, won, weights=rows["weight"].to_numpy(), index=pd.Index(range(len(ids)))
        )
        fitted = np.log(found.scores.reindex(range(len(ids))).to_numpy())
    else:
        from scipy.sparse import csr_matrix
        from sklearn.linear_model import LogisticRegression

        at = np.arange(len(rows))
        ones = np.ones(len(rows))
        x = csr_matrix(
            (np.concatenate([ones, -ones]), (np.tile(at, 2), np.concatenate([left, right]))),
            shape=(len(rows), len(ids)),
        )
        outcome = rows["outcome"].to_numpy()
        keep = outcome != "tie"
        fit = LogisticRegression(C=1e3, fit_intercept=False, solver="newton-cg", max_iter=100)
        fit.fit(x[keep], outcome[keep] == "left", sample_weight=rows["weight"].to_numpy()[keep])
        fitted = fit.coef_[0]
    consensus = pl.DataFrame({"item": ids, "consensus": fitted})
    both = model.join(consensus, on="item", how="inner")
    calibrated = IsotonicRegression().fit_transform(both["consensus"], both["score"])
    both.with_columns(pl.Series("calibrated", calibrated)).write_csv(output)
    print(json.dumps({"parts": {}, "gigabytes": peak()}))


def run_of(command: list[str], limit: float) -> Run | str:
    """Run a command to its end; say what it ended with, if that is a failure."""
    began = time.time()
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen(command, stdout=out, stderr=out)
        while True:
            pid, status, used = os.wait4(child.pid, os.WNOHANG)
            if pid:
                break
            if time.time() - began > limit:
                child.kill()
                os.wait4(child.pid, 0)
                return f"over {limit:.0f} s"
            time.sleep(0.002)
        seconds = time.time() - began
        out.seek(0)
        printed = out.read().strip().splitlines()
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        return "out of memory" if child.returncode in {-9, 137} else (printed or ["failed"])[-1]
    unit = 1 if platform.system() == "Darwin" else 1024
    return Run(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * unit / 1e9, printed)


def measure(command: list[str], again: list[list[str]], limit: float) -> dict[str, Any] | str:
    """Run a command that tells of itself, and others whose clocks count in its place."""
    found = run_of([*command, "--began", str(time.time())], limit)
    if isinstance(found, str):
        return found
    told = json.loads(found.printed[-1])
    runs = [run_of(each, limit) for each in again]
    times = [each for each in runs if not isinstance(each, str)] or [found]
    return {
        "seconds": median(each.seconds for each in times),
        "work": median(each.work for each in times),
        "gigabytes": told["gigabytes"] or found.gigabytes,
        "parts": told["parts"],
    }


def line(judgments: int, name: str, found: dict[str, Any] | str) -> str:
    """Return a row of the table."""
    if isinstance(found, str):
        return f"| {judgments:,} | {name} | {found} |" + " |" * (2 + len(PARTS))
    parts = [f"{found['parts'][part]:.2f}" if found["parts"] else "" for part in PARTS]
    cells = f"{found['seconds']:.2f} | {found['work']:.2f} | {found['gigabytes']:.2f}"
    return f"| {judgments:,} | {name} | {cells} | {' | '.join(parts)} |"


def main() -> None:
    """Measure every size and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=float, default=1e6)
    parser.add_argument("--sizes", type=float, nargs="+", help="of judgments, instead of --most")
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--engine", default="local", choices=("local", "gpu", "dask", "cluster"))
    parser.add_argument("--jobs", type=int, help="cores to use (all)")
    parser.add_argument("--data", metavar="FOLDER", help="where studies are kept")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--peers-most", type=float, default=1e7)
    parser.add_argument("--output", metavar="FILE", help="for the table")
    parser.add_argument("--only", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--began", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--scheduler", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.only:
        name, judgments_file, scores_file, output = asked.only
        if name in BY_HAND:
            by_hand(judgments_file, scores_file, output, name)
        else:
            told = {"engine": name, "jobs": asked.jobs, "scheduler": asked.scheduler}
            run_aggcal(asked.began, judgments_file, scores_file, output, **told)
        return
    if asked.jobs:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: asked.jobs])
    with tempfile.TemporaryDirectory() as temporary:
        data = Path(asked.data or temporary)
        data.mkdir(parents=True, exist_ok=True)
        with cluster(asked.jobs) if asked.engine == "cluster" else nullcontext() as address:
            asked.scheduler = address
            write(asked, measured(asked, data, Path(temporary)))


@contextmanager
def cluster(workers: int | None) -> Iterator[str]:
    """Start a scheduler and workers as processes; return the address of the scheduler."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=workers or os.cpu_count(),
        threads_per_worker=1,
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL,
    ) as found:
        yield found.scheduler_address


def measured(asked: argparse.Namespace, data: Path, folder: Path) -> list[str]:
    """Measure the sizes that were asked for; return the rows of the table."""
    rows: list[str] = []
    peers = None
    chosen = [each for each in SIZES if each[1] <= asked.most]
    if asked.sizes:
        chosen = [each for each in SIZES if each[1] in asked.sizes]
    if not chosen:
        raise SystemExit(f"sizes are {', '.join(f'{each[1]:,}' for each in SIZES)}")
    if not asked.no_peers and chosen[0][1] <= asked.peers_most:
        from stage1 import install_peers

        peers = install_peers()
    more = ["--jobs", str(asked.jobs)] if asked.jobs else []
    more += ["--scheduler", asked.scheduler] if asked.scheduler else []
    for items, judgments, annotators in chosen:
        by_hand_too = peers is not None and judgments <= asked.peers_most
        runs = [(f"aggcal run ({asked.engine})", Path(sys.executable), asked.engine)]
        runs += [(name, peers, name) for name in BY_HAND if peers and by_hand_too]
        for name, python, kind in runs:
            parted = kind in ("dask", "cluster")
            files = make(data, items, judgments, annotators, parted=parted)
            ending = ".csv" if kind in BY_HAND else ""
            output = str(folder / f"{judgments}-{len(rows)}{ending}")
            told = [str(python), __file__, "--only", kind, *map(str, files), output, *more]
            command = [*aggcal_run(kind, asked.jobs, asked.scheduler), *map(str, files), "-o"]
            times = REPEATS if judgments <= REPEATED else 0
            if kind in BY_HAND:
                again = [told] * times
            else:
                again = [[*command, f"{output}-{k}"] for k in range(times)]
            rows.append(line(judgments, name, measure(told, again, asked.limit)))
            print(rows[-1], flush=True)
    return rows


def write(asked: argparse.Namespace, rows: list[str]) -> None:
    """Write the table."""
    used = asked.jobs or os.cpu_count()
    head = (
        f"Seconds on the clock, seconds of all processors, peak memory in GB, and the clock's "
        f"seconds by part (in a run that is watched); {used} cores, {platform.machine()}; Python "
        f"{platform.python_version()}. `python benchmarks/whole.py`"
    )
    titles = ["judgments", "", "seconds", "CPU", "GB", *PARTS]
    text = [head, "", f"| {' | '.join(titles)} |", "|---" * len(titles) + "|", *rows]
    name = "whole.md" if asked.engine == "local" else f"whole-{asked.engine}.md"
    file = Path(asked.output or HERE / "results" / name)
    file.write_text("\n".join(text) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
