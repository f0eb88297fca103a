r"""Where `aggcal run` of a small study spends its time: processor seconds by part and by function.

    python benchmarks/profile_run.py [--items N] [--judgments N] [--annotators N] [-o FILE]
    python benchmarks/profile_run.py -o profile-13k.md
    python benchmarks/profile_run.py --items 1000 --judgments 20000 --annotators 200 \
        -o profile-20k.md

Writes the study that benchmarks/whole.py would (Parquet, text ids, 1% ties, weights), runs the
command on it in processes of their own, and says what its parts cost: the seconds of all threads
together, so that other work on the machine counts little. Loading modules is a part of its own, by
library, wherever they are loaded. Of all runs, the cheapest is shown.
"""

from __future__ import annotations

import sys
import time

START = time.process_time()
if __name__ == "__main__":
    sys.path.append(sys.path.pop(0))  # whole.py is needed, but nothing of it before others

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

TOLD = ("numpy", "scipy", "duckdb", "aggcal")
PARTS = (
    ("aggcal.cli.reading", "judgments_from", "reading"),
    ("aggcal.cli.reading", "scores_from", "reading"),
    ("aggcal.aggregation.consensus.Consensus", "quantify", "uncertainty"),
    ("aggcal.assessment", "calibrated", "Stage 2"),
    ("aggcal.advice.advising", "check", "check"),
    ("aggcal.advice.advising", "suggest_pairs", "suggestions"),
    ("aggcal.advice.advising", "influence_of", "influence"),
    ("aggcal.assessment.result", "guarantees", "guarantees"),
    ("aggcal.assessment.result", "comparisons", "comparisons.json"),
    ("aggcal.assessment.result", "RENDERERS", "reports"),
    ("aggcal.assessment.result", "write_files", "files"),
)
FUNCTIONS = 25


class Clock:
    """Processor seconds by part; what one part calls of another counts for that one only."""

    def __init__(self) -> None:
        self.parts: dict[str, float] = {}

    def timed(self, name: str, what: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, its seconds added to a part."""

        def called(*args: Any, **options: Any) -> Any:
            inside, began = sum(self.parts.values()), time.process_time()
            try:
                return what(*args, **options)
            finally:
                spent = time.process_time() - began
                own = spent - (sum(self.parts.values()) - inside)
                self.parts[name] = self.parts.get(name, 0.0) + own

        return called

    def watch_imports(self) -> None:
        """Count what loading modules takes, by library."""
        from importlib.machinery import ExtensionFileLoader, SourceFileLoader

        def counted(loader: type, method: str) -> None:
            load = getattr(loader, method)

            def loaded(this: Any, module: Any) -> Any:
                name = getattr(module, "__name__", None) or module.name
                top = name.split(".")[0].lstrip("_")
                part = f"modules of {top if top in TOLD else 'Python and others'}"
                return self.timed(part, load)(this, module)

            setattr(loader, method, loaded)

        for loader in (SourceFileLoader, ExtensionFileLoader):
            counted(loader, "exec_module")
        counted(ExtensionFileLoader, "create_module")

    def watch(self) -> None:
        """Count the parts of a run, as far as their functions are there by these names."""
        from importlib import import_module

        for place, name, part in PARTS:
            module, _, owner = place.partition(".Consensus")
            where = import_module(module)
            where = where.Consensus if owner or place.endswith(".Consensus") else where
            what = getattr(where, name)
            if isinstance(what, dict):
                changed: Any = {key: self.timed(part, value) for key, value in what.items()}
            else:
                changed = self.timed(part, what)
            setattr(where, name, changed)
        assessment = import_module("aggcal.assessment")
        method_of = assessment.aggregator_of

        def timed_method(*args: Any, **options: Any) -> Any:
            found = method_of(*args, **options)
            return type("Timed", (), {"fit": staticmethod(self.timed("fitting", found.fit))})

        vars(assessment)["aggregator_of"] = timed_method


def run(command: list[str], *, functions: bool) -> None:
    """Run the command in this process and print what its parts took."""
    clock = Clock()
    clock.parts["Python"] = START
    clock.watch_imports()
    if functions:
        import cProfile
        import io
        import pstats

        from aggcal.cli import main as called

        sys.argv = ["aggcal", *command]
        profile = cProfile.Profile(time.process_time)
        profile.runcall(called)
        out = io.StringIO()
        pstats.Stats(profile, stream=out).strip_dirs().sort_stats("tottime").print_stats(FUNCTIONS)
        print(out.getvalue())
        return
    from aggcal.cli import main as called

    clock.watch()
    sys.argv = ["aggcal", *command]
    if code := called():
        raise SystemExit(code)
    parts = clock.parts
    parts["all else"] = time.process_time() - sum(parts.values())
    import json

    print(json.dumps(parts))


def shown(command: list[str]) -> str:
    """Return what a run of this file as a child process printed."""
    import subprocess

    done = subprocess.run(
        [sys.executable, __file__, *command], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def main() -> None:
    """Make the study, run the command several times, and write the tables."""
    import argparse
    import json
    import os
    import platform
    import tempfile
    from pathlib import Path

    import whole

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=500)
    parser.add_argument("--judgments", type=int, default=13_000)
    parser.add_argument("--annotators", type=int, default=624)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        files = whole.make(folder, asked.items, asked.judgments, asked.annotators)
        command = ["run", *map(str, files), "-o", str(folder / "out"), "--force", "--quiet"]
        shown(["--child", *command])  # so that everything that can be kept compiled is
        found = [json.loads(shown(["--child", *command])) for _ in range(asked.repeat)]
        functions = shown(["--functions", *command])
    parts: dict[str, float] = min(found, key=lambda parts: sum(parts.values()))
    total = sum(parts.values())
    head = (
        f"`aggcal run` of {asked.judgments:,} judgments of {asked.items:,} items by "
        f"{asked.annotators:,} annotators: {total:.2f} processor seconds, the least of "
        f"{asked.repeat} runs (all: {', '.join(f'{sum(p.values()):.2f}' for p in found)}); "
        f"{os.cpu_count()} cores, {platform.machine()}; Python {platform.python_version()}. "
        f"`python benchmarks/profile_run.py --items {asked.items} --judgments {asked.judgments} "
        f"--annotators {asked.annotators}`"
    )
    lines = [
        head,
        "",
        "| part | seconds | share |",
        "|---|---|---|",
        *(
            f"| {name} | {spent:.3f} | {spent / total:.0%} |"
            for name, spent in sorted(parts.items(), key=lambda part: -part[1])
        ),
        "",
        "Functions by their own time, in a run that is slower for being watched:",
        "",
        "```text",
        *(line.rstrip() for line in functions.strip().splitlines()),
        "```",
    ]
    text = "\n".join(lines) + "\n"
    if asked.output is not None:
        asked.output.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    if sys.argv[1:2] in (["--child"], ["--functions"]):
        run(sys.argv[2:], functions=sys.argv[1] == "--functions")
    else:
        main()
