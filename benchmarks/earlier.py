"""`aggcal run` from file to files, today and as it was at an earlier commit, in turns.

    python benchmarks/earlier.py [COMMIT] [--sizes 13e3 2e4] [--repeat 7] [--data FOLDER]
    python benchmarks/earlier.py --source FOLDER --sizes 1e8 --repeat 1 --output FILE

A second on one machine is half a second on another; how many times as fast as an earlier commit is
nearly the same on both. The commit is unpacked beside this one, or its ``src`` is in a FOLDER
already (where there is no Git). Both run in this environment on the studies of whole.py, each in a
process of its own, modules and kernels compiled before. The least of the repeats counts.

Without COMMIT it is the one before reading and uncertainty were made faster. Runs of 13,000, 20,000
and 100 million judgments took it 2.6, 4.5 and 141 s where 1, 2 and 25 s were then asked for: 2.6,
2.3 and 5.6 times as fast.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from whole import SIZES as OF_WHOLE
from whole import make

HERE = Path(__file__).parent
BEFORE = "ecca692e"
SIZES = (*OF_WHOLE, (1_000, 20_000, 200))


def unpacked(commit: str, folder: Path) -> Path:
    """Write the package as it was at a commit; return where it is."""
    archive = folder / "earlier.tar"
    with archive.open("wb") as file:
        subprocess.run(["git", "archive", commit, "src"], cwd=HERE.parent, stdout=file, check=True)
    shutil.unpack_archive(archive, folder / "earlier", filter="data")
    return folder / "earlier" / "src"


def seconds(source: Path, files: tuple[Path, Path], output: Path) -> float:
    """Return how long the command of one package takes."""
    others = os.environ.get("PYTHONPATH", "")
    environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{others}"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "aggcal", "run", *map(str, files), "-o", str(output)]
    began = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    spent = time.perf_counter() - began
    shutil.rmtree(output, ignore_errors=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return spent


def main() -> None:
    """Measure both in turns, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", nargs="?", default=BEFORE)
    parser.add_argument("--sizes", type=float, nargs="+", default=[13e3, 2e4], help="of judgments")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--source", type=Path, help="src of the earlier commit")
    parser.add_argument("--data", type=Path, help="where studies are kept")
    parser.add_argument("--output", type=Path, default=HERE / "results" / "earlier.md")
    asked = parser.parse_args()
    machine = f"{os.cpu_count()} cores, {platform.machine()}; Python {platform.python_version()}"
    which = f"Seconds of `aggcal run` at {asked.commit} and today, the least of {asked.repeat}"
    lines = [
        f"{which} in turns; {machine}. `python benchmarks/earlier.py`",
        "",
        "| judgments | items | annotators | then | today | times as fast |",
        "|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        packages = (asked.source or unpacked(asked.commit, folder), HERE.parent / "src")
        data = asked.data or folder
        data.mkdir(parents=True, exist_ok=True)
        small = make(data, *OF_WHOLE[0])
        for package in packages:
            seconds(package, small, folder / "output")
        for items, judgments, annotators in sorted(SIZES, key=lambda size: size[1]):
            if judgments not in asked.sizes:
                continue
            files = make(data, items, judgments, annotators)
            both = [
                [seconds(package, files, folder / "output") for package in packages]
                for _ in range(asked.repeat)
            ]
            then, today = (min(each) for each in zip(*both, strict=True))
            sizes = f"{judgments:,} | {items:,} | {annotators:,}"
            lines.append(f"| {sizes} | {then:.2f} | {today:.2f} | {then / today:.1f} |")
            print(lines[-1], flush=True)
    asked.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
