"""`aggcal run` from file to files, today and as it was at an earlier commit, in turns.

    python benchmarks/earlier.py [COMMIT] [--sizes 13e3 1e6] [--repeat 7] [--data FOLDER]
    python benchmarks/earlier.py --python PYTHON ...

A second on one machine is half a second on another; the ratio to an earlier commit is nearly the
same on both. Today is the environment that runs this. The earlier commit is installed, kernels
compiled, in an environment of its own that has the same libraries; or PYTHON is one that has it
already (where there is no Git, or no network). Both work on the studies of whole.py, each in a
process of its own, modules compiled before. Of the repeats the least seconds count, on the clock
and of all processors. Writes --output, or benchmarks/results/earlier.md.

Without COMMIT it is the one before standard errors became robust and results state claims. Since
then a whole run may take 1.5 times the processors' seconds at 13,000 judgments, and 1.8 times at a
million.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from whole import SIZES as OF_WHOLE
from whole import Run, make, run_of

HERE = Path(__file__).parent
BEFORE = "4e4f14ed"
SIZES = (*OF_WHOLE, (1_000, 20_000, 200))
LIMIT = 3600.0  # seconds: a run that takes longer hangs
ASKED = "from aggcal._core.kernels import library; print(getattr(library(), '_name', ''))"


def installed(commit: str, folder: Path) -> str:
    """Install the package as it was at a commit beside today's libraries; return its Python.

    It is kept in ``build``: compiling it takes minutes.
    """
    command = ["git", "rev-parse", "--short", commit]
    done = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=True)
    home = HERE.parent / "build" / f"earlier-{done.stdout.strip()}"
    python = str(home / "bin" / "python")
    if (home / "done").exists():
        return python
    archive, source = folder / "earlier.tar", folder / "source"
    with archive.open("wb") as file:
        subprocess.run(["git", "archive", commit], cwd=HERE.parent, stdout=file, check=True)
    shutil.unpack_archive(archive, source, filter="data")
    subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
    pip = [python, "-E", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", source], check=True)
    # The libraries come after its own packages, so that of two aggcals it finds its own. A folder
    # that a .pth file names is not searched for further ones: today's editable aggcal stays out.
    places = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    (own,) = (home / "lib").glob("python*/site-packages")
    (own / "libraries.pth").write_text("\n".join(sorted(places)) + "\n", encoding="utf-8")
    (home / "done").touch()
    return python


def kernels(python: list[str]) -> str:
    """Return the name of the compiled library that a side loads."""
    done = subprocess.run([*python, "-c", ASKED], capture_output=True, text=True, check=True)
    if not done.stdout.strip():
        raise SystemExit(
            f"{python[0]} has an aggcal without compiled kernels, and every comparison with it "
            "would be unfair: install it where there is a C compiler."
        )
    return Path(done.stdout.strip()).name


def measured(python: list[str], files: tuple[Path, Path], output: Path) -> Run:
    """Run the command of one side."""
    command = [*python, "-m", "aggcal", "run", "--quiet", *map(str, files), "-o", str(output)]
    found = run_of(command, LIMIT)
    shutil.rmtree(output, ignore_errors=True)
    if isinstance(found, str):
        raise SystemExit(f"{python[0]}: {found}")
    return found


def main() -> None:
    """Measure both in turns, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commit", nargs="?", default=BEFORE)
    parser.add_argument("--sizes", type=float, nargs="+", default=[13e3, 1e6], help="of judgments")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--python", help="of an environment that has the earlier commit")
    parser.add_argument("--data", type=Path, help="where studies are kept")
    parser.add_argument("--output", type=Path, default=HERE / "results" / "earlier.md")
    asked = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        earlier = asked.python or installed(asked.commit, folder)
        # Without PYTHONPATH, which may lead to today's sources.
        sides = ([earlier, "-E"], [sys.executable])
        loaded = [kernels(side) for side in sides]
        data = asked.data or folder
        data.mkdir(parents=True, exist_ok=True)
        head = (
            f"Seconds of `aggcal run` at {asked.commit} ({loaded[0]}) and today ({loaded[1]}), on "
            f"the clock and of all processors, the least of {asked.repeat} in turns; "
            f"{os.cpu_count()} cores, {platform.machine()}; Python {platform.python_version()}. "
            "`python benchmarks/earlier.py`"
        )
        titles = ["judgments", "items", "annotators", "then", "today", "ratio"]
        titles += ["CPU then", "CPU today", "ratio"]
        lines = [head, "", f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
        print("\n".join(lines), flush=True)
        small = make(data, *OF_WHOLE[0])
        for side in sides:
            measured(side, small, folder / "output")
        for items, judgments, annotators in sorted(SIZES, key=lambda size: size[1]):
            if judgments not in asked.sizes:
                continue
            files = make(data, items, judgments, annotators)
            runs = [
                [measured(side, files, folder / "output") for side in sides]
                for _ in range(asked.repeat)
            ]
            cells = [f"{judgments:,}", f"{items:,}", f"{annotators:,}"]
            for kind in ("seconds", "work"):
                then, today = (
                    min(getattr(run, kind) for run in side) for side in zip(*runs, strict=True)
                )
                cells += [f"{then:.2f}", f"{today:.2f}", f"{today / then:.2f}"]
            lines.append(f"| {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    asked.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
