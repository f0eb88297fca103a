"""The engines beside each other: the same judgments from Parquet files, to the same optimum.

    python benchmarks/engines.py [--largest] [--only JUDGMENTS] [--errors]

Writes each study once as a folder of Parquet files and fits it in one run by the joint mode, the
estimator that every engine has: on this machine (``local``, in threads) and by Dask on a cluster of
2 processes with a thread each. For both it measures reading and fitting, in seconds on the clock
and in CPU seconds of all processes together (what a cluster costs is work, not only time), passes
over the judgments, and how far the two optima are apart. ``--errors`` adds the standard errors,
``--largest`` a study of 1e8 judgments. Prints a table and keeps it as a dated file in
benchmarks/results.
"""

from __future__ import annotations

import argparse
import datetime as dt
import logging
import os
import platform
import resource
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import duckdb
import numpy as np

import aggcal
from aggcal.aggregation.consensus import Consensus
from aggcal.engines import Dask, prepare

HERE = Path(__file__).parent
SIZES = ((10_000, 1_000_000, 10_000), (100_000, 10_000_000, 10_000))
LARGEST = (100_000, 100_000_000, 100_000)
FILES = 8
Result = TypeVar("Result")


@dataclass
class Run:
    """What one engine took for one study."""

    engine: str
    judgments: int
    seconds: dict[str, float] = field(default_factory=dict)
    work: dict[str, float] = field(default_factory=dict)
    passes: dict[str, Counter[str]] = field(default_factory=dict)
    """Passes over the shards in each step, by question."""
    gigabytes: float = 0.0


def make(folder: Path, items: int, judgments: int, annotators: int) -> None:
    """Write a study as Parquet files; scores and reliabilities are functions of the ids."""
    each = -(-judgments // FILES)
    for k in range(FILES):
        begin, end = k * each, min(judgments, (k + 1) * each)
        duckdb.connect().execute(
            f"""COPY (
                WITH drawn AS (
                    SELECT hash(i * 3 + 1) % {annotators} AS u, hash(i * 7 + 2) % {items} AS a,
                        (a + 1 + hash(i * 11 + 5) % {items - 1}) % {items} AS b,
                        (hash(i * 13 + 3) % 1000000) / 1e6 AS coin
                    FROM range({begin}, {end}) t(i)),
                judged AS (
                    SELECT u, a, b, coin < 1 / (1 + exp(-(0.3 + (hash(u + 17) % 1000) / 700.0) *
                        ((hash(a + 5) % 10000) / 3000.0 - (hash(b + 5) % 10000) / 3000.0))) AS ahead
                    FROM drawn)
                SELECT 'annotator-' || u AS annotator,
                    'item-' || CASE WHEN ahead THEN a ELSE b END AS winner,
                    'item-' || CASE WHEN ahead THEN b ELSE a END AS loser FROM judged
            ) TO '{folder}/part-{k}.parquet'"""
        )


class Clock:
    """Adds up the time on the clock and the CPU time of this process and a cluster's workers."""

    def __init__(self, run: Run, engine: Dask | None, asked: Counter[str]) -> None:
        self._run, self._engine, self._asked = run, engine, asked

    def __call__(self, what: str, work: Callable[[], Result]) -> Result:
        """Do one step and write down what it took."""
        self._asked.clear()
        before, began = self._used(), time.perf_counter()
        found = work()
        self._run.seconds[what] = time.perf_counter() - began
        self._run.work[what] = self._used() - before
        self._run.passes[what] = Counter(self._asked)
        return found

    def _used(self) -> float:
        total = time.process_time()
        if self._engine is not None:
            total += sum(self._engine.client.run(time.process_time).values())
        return total


def fitted(name: str, folder: Path, judgments: int, *, errors: bool) -> tuple[Run, Consensus]:
    """Read and fit with one engine."""
    run = Run(name, judgments)
    asked: Counter[str] = Counter()
    engine = cluster = None
    if name == "dask":
        from distributed import Client, LocalCluster

        # Without an address the engine would be this process, and send no messages.
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",  # none would be the usual one, perhaps in use
            silence_logs=logging.CRITICAL,
        )
        client = Client(cluster)
        engine = Dask(client, on_pass=lambda _, question: asked.update([question]))
    clock = Clock(run, engine, asked)
    try:
        read = clock("read", lambda: prepare(folder, engine or "local"))
        found = clock("fit", lambda: aggcal.aggregate(read, estimator="mode", warn=False))
        if errors:
            clock("errors", found.quantify)
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        if engine is not None:
            used += sum(engine.client.run(_peak).values())
        run.gigabytes = used
        return run, found
    finally:
        if engine is not None and cluster is not None:
            engine.close()
            engine.client.close()
            cluster.close()


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def in_a_process(name: str, folder: Path, judgments: int, *, errors: bool) -> tuple[Run, Consensus]:
    """Fit in a process of its own, so that peaks of memory are its own."""
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_bare, name, folder, judgments, errors).result()


def _bare(name: str, folder: Path, judgments: int, errors: bool) -> tuple[Run, Consensus]:  # noqa: FBT001
    from dataclasses import replace

    run, found = fitted(name, folder, judgments, errors=errors)
    return run, replace(found, quantifier=None, stated=None)


def main(options: argparse.Namespace) -> None:
    sizes = [*SIZES, LARGEST] if options.largest else list(SIZES)
    if options.only:
        sizes = [size for size in (*SIZES, LARGEST) if size[1] == int(options.only)]
    steps = ["read", "fit", "errors"] if options.errors else ["read", "fit"]
    load = os.getloadavg()[0]
    when = (
        f"Engines, {dt.datetime.now(tz=dt.UTC).date()}: {os.cpu_count()} cores "
        f"({platform.machine()}), load average {load:.1f} before the run; hra-g by the mode."
    )
    lines = [
        when,
        "",
        "| judgments | engine | " + " | ".join(f"{s} (s)" for s in steps) + " | "
        + " | ".join(f"{s} (CPU s)" for s in steps) + " | peak (GB) |",
        "|---" * (2 * len(steps) + 3) + "|",
    ]  # fmt: skip
    notes: list[str] = []
    for items, judgments, annotators in sizes:
        folder = Path(tempfile.mkdtemp(prefix="aggcal-engines-"))
        try:
            make(folder, items, judgments, annotators)
            runs, found = zip(
                *(
                    in_a_process(name, folder, judgments, errors=options.errors)
                    for name in ("local", "dask")
                ),
                strict=True,
            )
        finally:
            shutil.rmtree(folder)
        for run in runs:
            cells = [f"{run.seconds[s]:.1f}" for s in steps]
            cells += [f"{run.work[s]:.1f}" for s in steps]
            lines.append(
                f"| {judgments:.0e} | {run.engine} | {' | '.join(cells)} | {run.gigabytes:.2f} |"
            )
        counts = (
            f"{step}: " + ", ".join(f"{n} {question}" for question, n in asked.most_common())
            for step, asked in runs[1].passes.items()
        )
        notes.append(f"- {judgments:.0e} judgments, passes over the shards: {'; '.join(counts)}")
        total = [sum(run.work.values()) for run in runs]
        wall = [sum(run.seconds.values()) for run in runs]
        fits = [run.work["fit"] for run in runs]
        apart = float(np.abs(found[0].scores - found[1].scores).max())
        notes.append(
            f"- {judgments:.0e} judgments, dask over local: work {total[1] / total[0]:.2f}, "
            f"time {wall[1] / wall[0]:.2f}, work of the fit alone {fits[1] / fits[0]:.2f}; "
            f"scores differ by {apart:.0e} at most"
        )
        print("\n".join([*lines, "", *notes]), flush=True)
    name = f"engines-{options.only:.0e}" if options.only else "engines"
    kept = HERE / "results" / f"{name}-{dt.datetime.now(tz=dt.UTC).date()}.md"
    kept.write_text("\n".join([*lines, "", *notes]) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--largest", action="store_true")
    parser.add_argument("--only", type=float)
    parser.add_argument("--errors", action="store_true")
    main(parser.parse_args())
