"""Where Dask's scheduler stops scaling: passes over ever more workers that hold next to nothing.

    python benchmarks/scheduler.py [WORKERS ...]

Starts a scheduler, a client and so many workers with one shard each, all in this one process (so
nothing is left but messages and bookkeeping, those of the workers included), and times passes: a
question to every shard, the answers added in a tree. Prints milliseconds per pass and per shard.
The work on the judgments of a pass divides by the number of workers, this does not: where the two
are equal, more workers stop helping.
"""

from __future__ import annotations

import sys
import tempfile
import time

import dask
import numpy as np
from distributed import Client

from aggcal import Judgments
from aggcal.engines.dask import Dask

PASSES = 5


def measured(workers: int) -> tuple[float, float]:
    """Return seconds to spread the shards and seconds per pass."""
    codes = np.arange(workers, dtype=np.int32)
    rows = codes, np.zeros(workers, dtype=np.int32), np.ones(workers, dtype=np.int32)
    judgments = Judgments.of_codes(*rows)
    # So many workers in one process would do nothing but watch themselves.
    quiet = {
        "distributed.worker.profile.enabled": False,
        "distributed.admin.system-monitor.interval": "60s",
    }
    with (
        dask.config.set(quiet),
        tempfile.TemporaryDirectory() as folder,
        Client(
            processes=False,
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            local_directory=folder,
            silence_logs=50,
        ) as client,
        Dask(client, shards=workers) as engine,
    ):
        began = time.perf_counter()
        shards = engine.spread(judgments).rows.shards
        spread = time.perf_counter() - began
        best = np.inf
        for _ in range(PASSES):
            began = time.perf_counter()
            shards.total("degrees")
            best = min(best, time.perf_counter() - began)
    return spread, best


def main(sizes: list[int]) -> None:
    print("workers: spreading (s), a pass (ms), per shard (ms)")
    for workers in sizes:
        spread, each = measured(workers)
        print(
            f"{workers:7,}: {spread:6.2f}, {1e3 * each:8.1f}, {1e3 * each / workers:6.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [10, 30, 100, 300, 1000])
