"""Time Stage 1 on a GPU, where the data is made: ``python benchmarks/gpu.py --sizes 1e8,1e9``.

Each line of the output is a JSON object. Needs CuPy and a GPU, NumPy and SciPy, and nothing else
that aggcal needs. ``--table FILE`` prints the lines of an earlier run as a table of Markdown, and
needs neither CuPy nor a GPU.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from aggcal.aggregation.laplace import laplace
from aggcal.engines.gpu.information import DeviceInformation
from aggcal.engines.gpu.layout import DeviceRows
from aggcal.engines.gpu.objective import DeviceLikelihood, DeviceThurstone
from aggcal.models.rows import Rows

from aggcal._core.arrays import constant
from aggcal.aggregation.links import link as named_link
from aggcal.aggregation.newton import minimise

_CHUNK = 1 << 26
_ROUGH = 1e-3


def made(n_rows: int, n_items: int, n_annotators: int, seed: int) -> tuple[Rows, Any]:
    """Judgments on the device: scores N(0, 1), log-normal reliabilities and activities."""
    import cupy

    random = cupy.random.default_rng(seed)
    score = random.standard_normal(n_items)
    slope = cupy.exp(0.5 * random.standard_normal(n_annotators))
    share = cupy.exp(0.5 * random.standard_normal(n_annotators))
    sizes = cupy.maximum(cupy.rint(share / share.sum() * n_rows), 1).astype(cupy.int64)
    starts = cupy.concatenate([cupy.zeros(1, dtype=cupy.int64), cupy.cumsum(sizes)])
    total = int(starts[-1])
    winner, loser = (cupy.empty(total, dtype=cupy.int32) for _ in range(2))
    for k in range(0, total, _CHUNK):
        end = min(k + _CHUNK, total)
        owner = cupy.searchsorted(starts, cupy.arange(k, end), side="right") - 1
        i = random.integers(0, n_items, end - k, dtype=cupy.int32)
        j = random.integers(0, n_items - 1, end - k, dtype=cupy.int32)
        j += j >= i
        chance = 1.0 / (1.0 + cupy.exp(-slope[owner] * (score[i] - score[j])))
        won = random.random(end - k) < chance
        winner[k:end], loser[k:end] = cupy.where(won, i, j), cupy.where(won, j, i)
        del owner, i, j, chance, won
    cupy.get_default_memory_pool().free_all_blocks()
    return Rows(winner, loser, constant(1.0, total), starts.get(), n_items), score


def seconds(work: Callable[[], Any], times: int = 5) -> float:
    """Median time of a piece of work on the device."""
    import cupy

    taken = []
    for k in range(times + 1):
        cupy.cuda.Device().synchronize()
        began = time.perf_counter()
        work()
        cupy.cuda.Device().synchronize()
        if k:
            taken.append(time.perf_counter() - began)
    return float(np.median(taken))


def copy_speed() -> float:
    """Bytes per second that a copy within the device reads and writes."""
    import cupy

    source, target = (cupy.ones(1 << 30, dtype=cupy.float32) for _ in range(2))
    return 2.0 * float(source.nbytes) / seconds(lambda: cupy.copyto(target, source))


def fitted(rows: DeviceRows, tolerance: float) -> dict[str, Any]:
    """Fit from nothing, as `aggregate` does: the rough homogeneous optimum, then the whole."""
    import cupy

    logistic = named_link("logistic")
    cupy.cuda.Device().synchronize()
    began = time.perf_counter()
    plain = DeviceThurstone(rows, logistic, 1.0, None)
    begin = cupy.zeros(rows.n_items)
    start, _ = minimise(plain, begin, tolerance=_ROUGH, shared_scale=False)
    passes = [plain.data_passes, plain.products]
    del plain
    problem = DeviceThurstone(rows, logistic, 1.0, 4.0)
    scores, record = minimise(problem, start, tolerance=tolerance)
    cupy.cuda.Device().synchronize()
    return {
        "seconds": time.perf_counter() - began,
        "norms": record.gradient_norms,
        "rough_passes": passes,
        "passes": [problem.data_passes, problem.slope_passes, problem.products],
        "objective": record.objectives[-1],
        "scores": scores,
        "problem": problem,
    }


def parts(fit: dict[str, Any]) -> dict[str, float]:
    """Milliseconds of each kind of sweep."""
    problem, scores = fit["problem"], fit["scores"]
    curvature = problem._rows_curvature  # noqa: SLF001
    vector = scores + 0.1
    eliminated = problem._eliminated  # noqa: SLF001
    slopes = problem._slopes  # noqa: SLF001
    problem._eliminated = lambda *_: slopes  # noqa: SLF001
    taken = {"evaluate": seconds(lambda: problem.evaluate(scores))}
    problem._eliminated = eliminated  # noqa: SLF001
    problem._last = None  # noqa: SLF001
    problem._last_norm = 1.0  # noqa: SLF001
    reach = float(scores.max() - scores.min())
    taken["slopes"] = seconds(lambda: eliminated(scores, reach))
    taken["product"] = seconds(lambda: curvature.curvature_product(vector))
    taken["border"] = seconds(lambda: curvature.borders(vector[None]))
    return {name: round(1e3 * value, 3) for name, value in taken.items()}


def errors(rows: DeviceRows, fit: dict[str, Any]) -> float:
    """Seconds that the standard errors of all scores and reliabilities take."""
    began = time.perf_counter()
    problem = DeviceLikelihood(rows, named_link("logistic"), 1.0, 4.0)
    reliabilities = fit["problem"].reliabilities
    held = DeviceInformation(problem, fit["scores"].get(), reliabilities)
    # As after a fit: the typical reliability is the unit.
    laplace(held, unit=np.sign(reliabilities) * rows.given / rows.given.sum())
    return time.perf_counter() - began


def libraries(n_rows: int, n: int) -> None:
    """One product with the curvature, written in the usual operations of three libraries."""
    import cupy
    import jax
    import jax.numpy as jnp
    import torch

    rows, _ = made(n_rows, n, n, 0)
    sizes = np.diff(rows.starts)
    owner = cupy.repeat(cupy.arange(n, dtype=cupy.int32), sizes.tolist())
    near, cross = (cupy.full(len(rows), value, dtype=cupy.float32) for value in (0.2, -0.4))
    vector = cupy.random.default_rng(1).standard_normal(n, dtype=cupy.float32)
    columns = (rows.winner, rows.loser, owner, near, cross, vector)

    def by_cupy(columns: Any) -> Any:
        i, j, u, a, b, v = columns
        gap = v[i] - v[j]
        shared, out = cupy.zeros_like(v), cupy.zeros_like(v)
        cupy.add.at(shared, u, b * gap)
        curvature_product = a * gap - b * shared[u]
        cupy.add.at(out, i, curvature_product)
        cupy.add.at(out, j, -curvature_product)
        return out

    def by_torch(columns: Any) -> Any:
        i, j, u, a, b, v = columns
        gap = v[i] - v[j]
        shared = torch.zeros_like(v).index_add_(0, u, b * gap)
        curvature_product = a * gap - b * shared[u]
        return (
            torch.zeros_like(v)
            .index_add_(0, i, curvature_product)
            .index_add_(0, j, -curvature_product)
        )

    def by_jax(columns: Any) -> Any:
        i, j, u, a, b, v = columns
        gap = v[i] - v[j]
        shared = jnp.zeros_like(v).at[u].add(b * gap)
        curvature_product = a * gap - b * shared[u]
        return jnp.zeros_like(v).at[i].add(curvature_product).at[j].add(-curvature_product)

    taken = {"cupy": seconds(lambda: by_cupy(columns), 3)}
    tensors = [torch.from_dlpack(column) for column in columns]
    taken["torch"] = seconds(lambda: by_torch(tensors), 3)
    arrays = [jnp.from_dlpack(column) for column in columns]
    compiled = jax.jit(by_jax)
    taken["jax"] = seconds(lambda: compiled(arrays).block_until_ready(), 3)
    print(json.dumps({"plain_product_ms": {k: 1e3 * v for k, v in taken.items()}}), flush=True)


def table(path: Path) -> str:
    """Write what a run has printed as a table."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    heads = (
        *("judgments", "items = annotators", "sorted in (s)", "fitted in (s)", "errors in (s)"),
        *("sweeps: full, slopes, products", "ms each", "copy of 16 bytes a row (ms)"),
    )
    out = [f"| {' | '.join(heads)} |", "|--:" * len(heads) + "|"]
    for line in lines:
        if "rows" not in line:
            continue
        ms, passes = line["ms"], line["passes"]
        out.append(
            f"| {line['rows']:,} | {line['items']:,} | {line['layout_seconds']:.3f} "
            f"| {line['again_seconds']:.3f} | {line['standard_errors_seconds']:.1f} "
            f"| {passes[0]}, {passes[1]}, {passes[2]} "
            f"| {ms['evaluate']:.1f}, {ms['slopes']:.1f}, {ms['product']:.1f} "
            f"| {line['copy_ms']:.2f} |"
        )
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1e8,1e9")
    parser.add_argument("--items", default="1e5,1e6", help="of each size; as many annotators")
    parser.add_argument("--tolerance", type=float, default=1e-8)
    parser.add_argument("--libraries", action="store_true", help="compare three libraries, too")
    parser.add_argument("--table", type=Path, metavar="FILE", help="print an earlier run's lines")
    options = parser.parse_args()
    if options.table is not None:
        print(table(options.table))
        return
    import cupy

    speed = copy_speed()
    print(json.dumps({"copy_TB_per_s": speed / 1e12}), flush=True)
    cupy.get_default_memory_pool().free_all_blocks()
    for size in options.sizes.split(","):
        for items in options.items.split(","):
            one(int(float(size)), int(float(items)), options.tolerance, speed)
            cupy.get_default_memory_pool().free_all_blocks()
    if options.libraries:
        libraries(100_000_000, 100_000)


def one(n_rows: int, n: int, tolerance: float, speed: float) -> None:
    import cupy

    # Once at a small size, so that no time is spent on compiling.
    small = DeviceRows.of(made(100_000, n, 1_000, 0)[0])
    errors(small, fitted(small, tolerance))
    del small
    rows, _ = made(n_rows, n, n, 0)
    cupy.cuda.Device().synchronize()
    began = time.perf_counter()
    placed = DeviceRows.of(rows)
    cupy.cuda.Device().synchronize()
    laid = time.perf_counter() - began
    del rows
    fit = fitted(placed, tolerance)
    apart = parts(fit)
    took = errors(placed, fit)
    fit["problem"] = None
    again = fitted(placed, tolerance)
    print(json.dumps({
        "rows": len(placed), "items": n, "annotators": n, "layout_seconds": laid,
        "again_seconds": again["seconds"],
        **{key: value for key, value in fit.items() if key not in ("scores", "problem")},
        "same_bits": bool((again["scores"] == fit["scores"]).all()), "ms": apart,
        "standard_errors_seconds": took, "copy_ms": 16e3 * len(placed) / speed,
        "peak_GB": cupy.get_default_memory_pool().total_bytes() / 1e9,
    }), flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
