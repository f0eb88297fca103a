"""How often items that stayed are called moved by ``aggcal report A B``.

    python benchmarks/moves.py [STUDIES]

Every study is simulated, so that nothing moves between its two runs: both are about the same
items and the same annotators. They share none, half or all of their judgments, or one is a small
part of the other. Of the items, at most 5% may be called moved at level 0.95.
``benchmarks/results/moves.md`` keeps the rates.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import aggcal
from aggcal.report.two_runs import Comparison
from aggcal.simulation import simulate

DESIGNS = {
    "no shared judgments": (slice(0, 0.5), slice(0.5, 1)),
    "half of each shared": (slice(0, 0.67), slice(0.33, 1)),
    "second run has all of the first": (slice(0, 0.5), slice(0, 1)),
    "no shared judgments, sizes 1 to 9": (slice(0, 0.1), slice(0.1, 1)),
    "the same judgments": (slice(0, 1), slice(0, 1)),
}
"""Which part of the judgments each of the two runs has."""
STUDIES = ((30, 10, 900), (100, 20, 3000))
"""Items, annotators and judgments."""

Rows = list[tuple[str, str, str]]


def rows_of(items: int, annotators: int, judgments: int, seed: int) -> Rows:
    """Return the judgments of a study, in random order."""
    study = simulate(items=items, annotators=annotators, judgments=judgments, seed=seed)
    columns = (study.judgments[name].tolist() for name in ("annotator", "winner", "loser"))
    rows = list(zip(*columns, strict=True))
    return [rows[k] for k in np.random.default_rng(seed).permutation(len(rows))]


def compared(rows: Rows, design: str, *, independent: bool = False) -> Comparison:
    """Return two runs of one study, compared."""
    a, b = (
        aggcal.assess(rows[int(part.start * len(rows)) : int(part.stop * len(rows))], warn=False)
        for part in DESIGNS[design]
    )
    return Comparison(a.to_run(), b.to_run(), independent=independent)


def rates(design: str, studies: int, size: tuple[int, int, int], *, independent: bool) -> str:
    """Return how many items are called moved, as a row."""
    n, moved, claimed = 0, 0, 0
    for seed in range(studies):
        found = compared(rows_of(*size, seed), design, independent=independent)
        n += len(found.items)
        moved += found.moved
        claimed += found.moved > 0 and not found.by_chance
    cells = [
        " / ".join(map(str, size)),
        f"{design}{' (--independent)' if independent else ''}",
        f"{moved / n:.2%}",
        f"{claimed / studies:.1%}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    lines = [
        "# Items that stayed and are called moved",
        "",
        f"`python benchmarks/moves.py {studies}`: {studies} simulated studies a row, level 0.95.",
        "At most 5% of the items may be called moved. A verdict claims moves unless chance could",
        "explain as many.",
        "",
        "| items / annotators / judgments | the two runs | called moved | verdicts |",
        "|:--|:--|--:|--:|",
    ]
    for size in STUDIES:
        for design in DESIGNS:
            for independent in (False, True):
                if not independent or design.startswith("no shared"):
                    lines.append(rates(design, studies, size, independent=independent))
                    print(lines[-1], flush=True)
    target = Path(__file__).parent / "results" / "moves.md"
    target.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
