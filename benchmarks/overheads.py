r"""What suggestions take, and what `aggregate` and standard errors take beside the bare fit.

    python benchmarks/overheads.py [-o benchmarks/results/overheads.md]
    python benchmarks/overheads.py --sizes 500,13000,624 1000,100000,1000 --repeat 5

Suggestions: `suggest_pairs` for a simulated study of 1,000 items that is fitted already, in a
process of its own for each number of pairs, the first time and the second.

Fits: reliabilities by their mode, and integrated out, which is the default. The bare fit is the
search for the optimum alone; `aggregate` also lays out and checks the judgments; errors are the
standard errors of scores and reliabilities, with the covariance of the scores; all of `quantify`
adds intervals of ranks, by draws, and looks for groups of items that are weakly joined. By default,
what counts as the fit is `aggregate`. Every time judgments are new objects, so that nothing is
remembered; the least of all repeats counts, in seconds of all processors together, so that other
work on the machine counts little.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

STUDY = (1_000, 20_000, 200)
PAIRS = (40, 400)
SIZES = (
    "200,4000,50",
    "500,13000,624",
    "1000,20000,200",
    "1000,100000,1000",
    "2000,100000,1000",
    "3000,100000,1000",
    "10000,1000000,10000",
)


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Return seconds on the clock and of all processors."""
    began, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - began, time.process_time() - used


def judged(items: int, judgments: int, annotators: int) -> Any:
    """Return the judgments of a simulated study, sorted by annotator."""
    from standard_errors import sorted_by_annotator

    from aggcal.simulation import simulate

    made = simulate(items=items, annotators=annotators, judgments=judgments)
    return sorted_by_annotator(made)


def suggestions(pairs: int) -> list[tuple[float, float]]:
    """Time the suggestions of a fitted study twice."""
    import aggcal

    rows = judged(*STUDY)
    consensus = aggcal.aggregate(rows, warn=False)
    if consensus.uncertainty is None:
        raise SystemExit("no uncertainty")
    return [
        timed(lambda: aggcal.suggest_pairs(rows, n=pairs, consensus=consensus)) for _ in range(2)
    ]


def fits(size: str, repeat: int, estimator: Any) -> list[float]:
    """Return processor seconds: the bare fit, `aggregate`, standard errors, all of `quantify`."""
    import aggcal
    from aggcal.aggregation import estimate, thurstone

    bare: list[float] = []
    alone: list[float] = []

    def watched(work: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
        def called(*args: Any, **options: Any) -> Any:
            used = time.process_time()
            found = work(*args, **options)
            seconds.append(time.process_time() - used)
            return found

        return called

    vars(thurstone)["fit_thurstone"] = watched(vars(thurstone)["fit_thurstone"], bare)
    errors = estimate.Quantify._result  # noqa: SLF001
    estimate.Quantify._result = watched(errors, alone)  # type: ignore[method-assign]  # noqa: SLF001
    rows = judged(*(int(number) for number in size.split(",")))
    whole, errors = [], []
    for _ in range(repeat + 1):
        fresh = type(rows).of_codes(rows.annotator, rows.left, rows.right)
        used = time.process_time()
        consensus = aggcal.aggregate(fresh, estimator=estimator, warn=False)
        whole.append(time.process_time() - used)
        errors.append(timed(consensus.quantify)[1])
    # The first time also loads modules.
    found = [min(seconds[1:]) for seconds in (whole, alone, errors)]
    return [min(bare[1:]), *found] if estimator == "mode" else found


def child(*arguments: str) -> Any:
    """Run a part of this file in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--child", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def main() -> None:
    """Measure, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="*", default=SIZES, help="ITEMS,JUDGMENTS,ANNOTATORS ...")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    machine = f"{os.cpu_count()} cores, {platform.machine()}; Python {platform.python_version()}"
    study = "{:,} items, {:,} judgments and {:,} annotators".format(*STUDY)
    lines = [
        f"Written by `python benchmarks/overheads.py`: {machine}.",
        "",
        f"Suggestions for a fitted study of {study}, in seconds on the clock (of all processors):",
        "",
        "| pairs | first time | second time |",
        "|---|---|---|",
    ]
    for pairs in PAIRS:
        cells = [f"{clock:.2f} ({used:.2f})" for clock, used in child("suggest", str(pairs))]
        lines.append(f"| {pairs} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    how = f"in processor seconds, the least of {asked.repeat} repeats"
    for estimator, title, fit in (
        ("mode", "Reliabilities by their mode", ("bare fit", "`aggregate`")),
        ("marginal", "By default, reliabilities integrated out", ("`aggregate`",)),
    ):
        columns = ("items", "judgments", "annotators", *fit, "errors", "`quantify`")
        lines += ["", f"{title}, {how}; in brackets over the first:", ""]
        lines += [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
        for size in asked.sizes:
            first, *others = child("fit", size, str(asked.repeat), estimator)
            counts = " | ".join(f"{int(number):,}" for number in size.split(","))
            over = " | ".join(f"{each:.4f} ({each / first:.1f})" for each in others)
            lines.append(f"| {counts} | {first:.4f} | {over} |")
            print(lines[-1], flush=True)
    text = "\n".join(lines) + "\n"
    if asked.output is not None:
        asked.output.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    if sys.argv[1:3] == ["--child", "suggest"]:
        print(json.dumps(suggestions(int(sys.argv[3]))))
    elif sys.argv[1:3] == ["--child", "fit"]:
        print(json.dumps(fits(sys.argv[3], int(sys.argv[4]), sys.argv[5])))
    else:
        main()
