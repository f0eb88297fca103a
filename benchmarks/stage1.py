"""Stage 1 beside its peers, on the same data, in one run.

    python benchmarks/stage1.py [--most JUDGMENTS] [--limit SECONDS] [--only NAME ...]

Installs the peers into an environment of their own (benchmarks/.peers), makes each data set once,
and runs every library on it in a process of its own: plain Bradley-Terry to the same optimum, and
the reliability-aware models there are. Prints a table and keeps it, with a plot, as a dated file
in benchmarks/results. A library that fails, or needs more than the limit, is not tried on larger
data. What counts is a time to within 1e-6 (relative) of the best log-likelihood that any of them
found; a library that stops short of that is shown with how far it is off.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import log, log10
from pathlib import Path
from statistics import median

import numpy as np

from aggcal._core.arrays import FloatArray

HERE = Path(__file__).parent
PEERS = HERE / ".peers"
PACKAGES = ("evalica", "polars", "choix", "scikit-learn", "statsmodels", "arena-rank", "crowd-kit")
SIZES = (
    (500, 13_000, 624),
    (1_000, 100_000, 1_000),
    (10_000, 1_000_000, 10_000),
    (100_000, 10_000_000, 10_000),
    (100_000, 100_000_000, 100_000),
)
PLAIN = ("aggcal btl", "evalica", "choix ilsr", "choix newton", "scikit-learn", "statsmodels",
         "arena-rank", "crowd-kit")  # fmt: skip
AWARE = ("aggcal hra-g", "crowd-kit noisy")
CLOSE = 1e-6
PIECE = 5_000_000


@dataclass(frozen=True)
class Run:
    """What one library did on one data set."""

    name: str
    judgments: int
    seconds: float | None
    gigabytes: float | None
    gap: float | None
    note: str = ""
    swept: float = 0.0
    """Bytes of rows that its sweeps read and wrote."""


def make(folder: Path, items: int, judgments: int, annotators: int) -> str:
    """Write a data set, sorted by annotator; in pieces, so that making it takes little memory."""
    random = np.random.default_rng(judgments)
    scores = random.standard_normal(items).astype(np.float32)
    reliability = np.exp(0.5 * random.standard_normal(annotators)).astype(np.float32)
    reliability /= reliability.mean()
    u = np.sort(random.integers(annotators, size=judgments, dtype=np.int32))
    w, l = np.empty(judgments, np.int32), np.empty(judgments, np.int32)  # noqa: E741
    for begin in range(0, judgments, PIECE):
        rows = slice(begin, min(judgments, begin + PIECE))
        size = rows.stop - begin
        i = random.integers(items, size=size, dtype=np.int32)
        j = random.integers(items - 1, size=size, dtype=np.int32)
        j += j >= i
        ahead = 1.0 / (1.0 + np.exp(-reliability[u[rows]] * (scores[i] - scores[j])))
        wins = random.random(size, dtype=np.float32) < ahead
        w[rows], l[rows] = np.where(wins, i, j), np.where(wins, j, i)
    prefix = str(folder / f"data-{judgments}")
    u = np.unique(u, return_inverse=True)[1].astype(np.int32)
    for part, column in (("u", u), ("w", w), ("l", l)):
        np.save(f"{prefix}-{part}.npy", column)
    return prefix


def log_likelihood(prefix: str, scores: FloatArray) -> float:
    """Bradley-Terry log-likelihood of some scores."""
    w, l = (np.load(f"{prefix}-{part}.npy", mmap_mode="r") for part in ("w", "l"))  # noqa: E741
    total = 0.0
    for begin in range(0, len(w), PIECE):
        rows = slice(begin, begin + PIECE)
        total -= float(np.sum(np.logaddexp(0.0, scores[l[rows]] - scores[w[rows]])))
    return total


def install_peers() -> Path:
    """Make the peers' environment once."""
    python = PEERS / "bin" / "python"
    if not (PEERS / ".done").exists():
        print("installing the peers ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", PEERS], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        (PEERS / ".done").touch()
    return python


def run(name: str, prefix: str, warmup: str, judgments: int, limit: float) -> tuple[Run, Path]:
    """Run one fit in a process of its own."""
    python = Path(sys.executable) if name.startswith("aggcal") else PEERS / "bin" / "python"
    result = Path(f"{prefix}-{name.replace(' ', '-')}.npy")
    repeats = 5 if judgments <= 100_000 and name not in ("statsmodels", "choix newton") else 1
    patience = 20 * limit if name.startswith("aggcal") else limit + 30
    script = str(HERE / "fitters.py")
    command = [str(python), script, name, prefix, warmup, str(result), str(repeats)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=patience, check=False
        )
    except subprocess.TimeoutExpired:
        return Run(name, judgments, None, None, None, f"over {limit:.0f} s"), result
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["killed"])[-1]
        note = "out of memory" if done.returncode < 0 or "llocat" in said else said[:60]
        return Run(name, judgments, None, None, None, note), result
    measured = json.loads(done.stdout.strip().splitlines()[-1])
    used, swept = measured["gigabytes"], measured["swept"]
    return Run(name, judgments, measured["seconds"], used, None, swept=swept), result


def bandwidth() -> float:
    """Bytes a second that this machine copies (read and written)."""
    source = np.ones(1 << 27)
    target = np.empty_like(source)
    best = 0.0
    for _ in range(5):
        began = time.perf_counter()
        np.copyto(target, source)
        best = max(best, 2 * source.nbytes / (time.perf_counter() - began))
    return best


def compare(names: Iterable[str], sizes: Iterable[tuple[int, int, int]], limit: float) -> list[Run]:
    """Run every library on every size."""
    runs: list[Run] = []
    given_up: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        warmup = make(folder, 50, 2_000, 20)
        for items, judgments, annotators in sizes:
            prefix = make(folder, items, judgments, annotators)
            found: list[tuple[Run, float | None]] = []
            for name in names:
                if name in given_up:
                    found.append((Run(name, judgments, None, None, None, given_up[name]), None))
                    continue
                done, result = run(name, prefix, warmup, judgments, limit)
                value = None
                late = done.seconds is not None and done.seconds > limit
                if done.seconds is None or (late and not name.startswith("aggcal")):
                    given_up[name] = done.note or f"over {limit:.0f} s"
                if done.seconds is not None and name in PLAIN:
                    scores = np.load(result)
                    value = log_likelihood(prefix, scores) if np.isfinite(scores).all() else -np.inf
                found.append((done, value))
                print(f"{judgments:>11,} {name:16} {done.seconds or done.note}", file=sys.stderr)
            best = max((v for _, v in found if v is not None), default=None)
            for done, value in found:
                gap = None if value is None or best is None else (best - value) / abs(best)
                runs.append(replace(done, gap=gap))
            for path in folder.glob(f"data-{judgments}-*"):
                if judgments != 2_000:  # the warm-up is needed again
                    path.unlink()
    return runs


def cell(done: Run | None) -> str:
    """Write one cell of the table."""
    if done is None:
        return ""
    if done.seconds is None:
        return done.note
    text = f"{done.seconds:.3g} s, {done.gigabytes:.2g} GB"
    if done.gap is not None and done.gap > CLOSE:
        text += f" (off by {done.gap:.0e})"
    return text


def table(runs: list[Run], sizes: list[tuple[int, int, int]]) -> str:
    """Write the results as Markdown."""
    names = list(dict.fromkeys(r.name for r in runs))
    by = {(r.name, r.judgments): r for r in runs}
    head = "| | " + " | ".join(f"{n:,} items, {k:,} judgments" for n, k, _ in sizes) + " |"
    lines = [head, "|---" * (len(sizes) + 1) + "|"]
    lines += [
        f"| {name} | " + " | ".join(cell(by.get((name, k))) for _, k, _ in sizes) + " |"
        for name in names
    ]
    return "\n".join(lines)


def ratios(runs: list[Run]) -> list[str]:
    """Compare aggcal with the peers that reached the optimum."""
    lines = []
    for judgments in dict.fromkeys(r.judgments for r in runs):
        mine = [r for r in runs if r.judgments == judgments and r.name == "aggcal btl"]
        peers = sorted(
            r.seconds
            for r in runs
            if r.judgments == judgments and r.name in PLAIN and not r.name.startswith("aggcal")
            and r.seconds is not None and r.gap is not None and r.gap <= CLOSE
        )  # fmt: skip
        if mine and mine[0].seconds and peers:
            fastest, middle = peers[0] / mine[0].seconds, median(peers) / mine[0].seconds
            lines.append(
                f"- {judgments:,} judgments: {fastest:.1f} times as fast as the fastest peer that "
                f"reaches the optimum, {middle:.1f} times the median of {len(peers)}"
            )
        hra = [r for r in runs if r.judgments == judgments and r.name == "aggcal hra-g"]
        if mine and hra and mine[0].seconds and hra[0].seconds:
            lines.append(
                f"- {judgments:,} judgments: hra-g takes {hra[0].seconds / mine[0].seconds:.2f} "
                "times the plain fit"
            )
    return lines


def slope(runs: list[Run], name: str) -> float | None:
    """Fit log seconds against log judgments, from 100,000 on."""
    points = [(log(r.judgments), log(r.seconds)) for r in runs
              if r.name == name and r.seconds and r.judgments >= 100_000]  # fmt: skip
    if len(points) < 2:
        return None
    x, y = np.array(points).T
    return float(np.polyfit(x, y, 1)[0])


def plot(runs: list[Run]) -> str:
    """Draw seconds against judgments, both in powers of ten, as SVG."""
    shown = [r for r in runs if r.seconds and (r.gap is None or r.gap <= CLOSE)]
    names = list(dict.fromkeys(r.name for r in shown))
    left, top, width, height = 60, 20, 520, 360
    xs, ys = [log10(r.judgments) for r in shown], [log10(r.seconds or 1) for r in shown]
    x0, x1, y0, y1 = min(xs) - 0.2, max(xs) + 0.2, min(ys) - 0.2, max(ys) + 0.2
    parts = []
    for power in range(int(np.ceil(x0)), int(x1) + 1):
        at = left + (power - x0) / (x1 - x0) * width
        parts.append(
            f'<text x="{at:.0f}" y="{top + height + 18}" text-anchor="middle">1e{power}</text>'
        )
    for power in range(int(np.ceil(y0)), int(np.floor(y1)) + 1):
        at = top + (y1 - power) / (y1 - y0) * height
        parts.append(
            f'<text x="{left - 6}" y="{at + 4:.0f}" text-anchor="end">{10.0**power:g} s</text>'
            f'<path d="M{left} {at:.0f}h{width}" stroke="#ddd"/>'
        )
    for k, name in enumerate(names):
        colour = f"hsl({k * 360 // len(names)} 65% 42%)"
        mine = [(log10(r.judgments), log10(r.seconds or 1)) for r in shown if r.name == name]
        dots = [(left + (x - x0) / (x1 - x0) * width, top + (y1 - y) / (y1 - y0) * height)
              for x, y in mine]  # fmt: skip
        path = "L".join(f"{x:.0f} {y:.0f}" for x, y in dots)
        bold = 3 if name.startswith("aggcal") else 1.5
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="{bold}"/>')
        parts += [f'<circle cx="{x:.0f}" cy="{y:.0f}" r="3" fill="{colour}"/>' for x, y in dots]
        parts.append(
            f'<text x="{left + width + 10}" y="{top + 16 + 18 * k}" fill="{colour}">{name}</text>'
        )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 150} '
        f'{top + height + 30}" font-family="sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--most", type=float, default=1e8, help="largest number of judgments")
    parser.add_argument("--limit", type=float, default=135.0, help="seconds a fit may take")
    parser.add_argument("--only", nargs="*", help="libraries to run")
    options = parser.parse_args()
    names = [n for n in (*PLAIN, *AWARE) if not options.only or n in options.only]
    if any(not n.startswith("aggcal") for n in names):
        install_peers()
    sizes = [size for size in SIZES if size[1] <= options.most]
    speed = bandwidth()
    runs = compare(names, sizes, options.limit)
    about = (
        f"{os.cpu_count()} cores, {platform.machine()}; Python {platform.python_version()}; copies "
        f"{speed / 1e9:.1f} GB/s. Time and peak memory from integer codes to scores; plain models "
        "at the unpenalised optimum, each library within 1e-6 of the best log-likelihood unless "
        "it says how far it is off."
    )
    lines = [
        f"# Stage 1, {dt.datetime.now(tz=dt.UTC).date()}",
        "",
        about,
        "",
        table(runs, sizes),
        "",
        *ratios(runs),
    ]
    for name in sorted({r.name for r in runs if r.seconds} & {"aggcal btl", "aggcal hra-g"}):
        grown = slope(runs, name)
        if grown is not None:
            lines.append(f"- {name}: time grows as judgments to the power {grown:.2f}")
        largest = max((r for r in runs if r.name == name and r.seconds), key=lambda r: r.judgments)
        share = largest.swept / speed / (largest.seconds or 1)
        lines.append(
            f"- {name}: {share:.1%} of the speed at which memory could stream its rows at "
            f"{largest.judgments:,} judgments ({largest.swept / 1e9:.1f} GB of rows in all sweeps, "
            "counted)"
        )
    text = "\n".join(lines) + "\n"
    print(text)
    some = "-some" if options.only else ""
    stem = HERE / "results" / f"stage1{some}-{dt.datetime.now(tz=dt.UTC).date()}"
    stem.with_suffix(".md").write_text(text, encoding="utf-8")
    stem.with_suffix(".svg").write_text(plot(runs), encoding="utf-8")


if __name__ == "__main__":
    main()
