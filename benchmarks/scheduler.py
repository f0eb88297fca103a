"""Where Dask's scheduler stops scaling: passes over ever more workers that hold next to nothing.

    python benchmarks/scheduler.py [WORKERS ...]

Starts a scheduler in a process of its own and so many workers, with one shard of a single judgment
each, in this one, and makes passes: a function is called with every shard. The workers
share this process, so the time of a pass is theirs; what is the scheduler's is the CPU time of its
process, which divides by nothing. Prints seconds per pass, and CPU milliseconds of the scheduler
per pass and per shard.
"""

from __future__ import annotations

import sys
import tempfile
import time

import dask
import numpy as np
from distributed import Client, SpecCluster, Worker
from distributed.deploy.subprocess import SubprocessScheduler

from aggcal import Judgments
from aggcal.engines import Dask

PASSES = 5
QUIET = {
    # So many workers in one process would do nothing but watch themselves.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "60s",
}


def measured(workers: int) -> tuple[float, float]:
    """Return seconds and CPU seconds of the scheduler per pass."""
    codes = np.arange(workers, dtype=np.int32)
    rows = codes, np.zeros(workers, dtype=np.int32), np.ones(workers, dtype=np.int32)
    judgments = Judgments.of_codes(*rows)
    with dask.config.set(QUIET), tempfile.TemporaryDirectory() as folder:
        options = {
            "nthreads": 1,
            "local_directory": folder,
            "dashboard": False,
            "memory_limit": 0,
        }
        settings = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
        with (
            SpecCluster(
                scheduler={
                    "cls": SubprocessScheduler,
                    "options": {"scheduler_kwargs": settings},
                },
                workers={k: {"cls": Worker, "options": options} for k in range(workers)},
                silence_logs=50,
            ) as cluster,
            Client(cluster) as client,
            Dask(client, shards=workers) as engine,
        ):
            shards = engine.distribute(judgments).shards
            assert shards is not None  # noqa: S101
            before, began = client.run_on_scheduler(time.process_time), time.perf_counter()
            for _ in range(PASSES):
                shards.each(lambda shard: shard.first)
            seconds = (time.perf_counter() - began) / PASSES
            used = (client.run_on_scheduler(time.process_time) - before) / PASSES
    return seconds, used


def main(sizes: list[int]) -> None:
    print("workers: a pass (s), of the scheduler (CPU ms), per shard (CPU ms)")
    for workers in sizes:
        seconds, used = measured(workers)
        print(
            f"{workers:7,}: {seconds:6.3f}, {1e3 * used:8.1f}, {1e3 * used / workers:6.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [10, 30, 100, 300, 1000])
