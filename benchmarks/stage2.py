"""Stage 2 at size: seconds and memory of calibrating up to ten million items.

    python benchmarks/stage2.py [ITEMS ...] [CALIBRATOR ...]

Calibrates the scores of a noisy model onto an order of as many items with standard errors, by each
calibrator, in a process of its own; prints seconds, those of all processors, seconds per million
items and peak memory.
"""

from __future__ import annotations

import resource
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

import aggcal
from aggcal._core.tables import as_text
from aggcal.data.scores import Scores
from aggcal.registry.literals import CalibratorName

CALIBRATORS = ("atc", "fused", "safe")


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def calibrated(items: int, method: CalibratorName) -> tuple[float, float, float, float, float]:
    """Return seconds of calibrating, of all processors and of its table, memory before and most."""
    random = np.random.default_rng([items, 77])
    truth = random.standard_normal(items)
    ids = as_text(range(items))
    se = random.uniform(0.1, 0.4, items)
    # A posterior mean and its sd, as Stage 1 gives them.
    shrink = 1.0 / (1.0 + se**2)
    found = shrink * (truth + se * random.standard_normal(items))
    order = Scores(ids, found, np.sqrt(shrink) * se, "consensus")
    mixed = random.permutation(items)
    noisy = 50.0 + 10.0 * truth + 8.0 * random.standard_normal(items)
    model = Scores(ids[mixed], noisy[mixed], None, "model")
    before, began, busy = peak(), time.perf_counter(), time.process_time()
    result = aggcal.calibrate(model, order, method=method, model_sd=8.0, warn=False)
    seconds, busy = time.perf_counter() - began, time.process_time() - busy
    began = time.perf_counter()
    result.item_columns()
    return seconds, busy, time.perf_counter() - began, before, peak()


def main(sizes: list[int], calibrators: list[Any]) -> None:
    print("items, calibrator: calibrate (s), CPU (s), table (s), s per million items, memory (GB)")
    for items in sizes:
        for method in calibrators:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                took, busy, table, before, most = pool.submit(calibrated, items, method).result()
            each = (took + table) / items * 1e6
            print(
                f"{items:>10,}, {method:5}: {took:7.2f}, {busy:7.2f}, {table:6.2f}, {each:6.2f}, "
                f"{before:.2f} -> {most:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    names = [name for name in sys.argv[1:] if name in CALIBRATORS]
    wanted = [int(float(size)) for size in sys.argv[1:] if size not in CALIBRATORS]
    main(wanted or [100_000, 1_000_000, 10_000_000], names or list(CALIBRATORS))
