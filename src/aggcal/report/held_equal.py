"""The order with something held equal beside the order as it was judged."""

from __future__ import annotations

import numpy as np

from aggcal.pages.document import (
    Block,
    Bullets,
    Group,
    Heading,
    Line,
    Link,
    Part,
    Section,
    Table,
    Text,
)
from aggcal.pages.numbers import cut
from aggcal.report.run import Run
from aggcal.report.terms import effects, joined

_MOST_ROWS, _MOST_MOVED, _NAME = 200, 5, 120  # items listed, items named; characters of a name
_CAVEAT = (
    "Holding something equal also removes quality that goes with it. If answers are better because "
    "they are longer, for example, holding the length equal takes that out, too. Neither order is "
    "right by itself."
)


def names(run: Run) -> str:
    """Return what is held equal, for a sentence; nothing where nothing is."""
    known = {"rank", "rank_uncontrolled"} <= set(run.items)
    return joined([name for name, *_ in effects(run.summary)]) if known else ""


def section(run: Run) -> Section | None:
    """Return the section of both orders; None where nothing is held equal."""
    held = names(run)
    if not held:
        return None
    keys = ("rank", "rank_uncontrolled")
    rank, without = (np.asarray(run.items[key], dtype=np.float64) for key in keys)
    move = without - rank
    judged = np.flatnonzero(np.isfinite(move))

    def row(k: int) -> tuple[Part, ...]:
        link = Link(cut(run.names[k], _NAME), f"item={run.names[k]}")
        return link, f"{rank[k]:,.0f}", f"{without[k]:,.0f}", move_words(move[k])

    farthest = judged[np.argsort(-np.abs(move[judged]), kind="stable")][:_MOST_MOVED]
    moved = [row(k) for k in farthest.tolist() if move[k]]
    rows = [row(k) for k in judged[:_MOST_ROWS].tolist()]
    heads = ("Item", "Rank, held equal", "Rank as judged", "Move")
    orders: list[Block] = [
        Heading("Both orders", 2),
        Table(heads, rows, "flow orders", frozenset({1, 2, 3})),
    ]
    if len(judged) > len(rows):
        said = f"The first {_MOST_ROWS:,} of {len(judged):,} items; all are in items.csv."
        orders.append(Text(said, "note"))
    columns = ("Held equal", "What one standard deviation more does", "Coefficient")
    table = Table(columns, effects(run.summary), "flow held")
    blocks: list[Block] = [Text(_CAVEAT, "lede"), table]
    if moved:
        lines: list[Line] = [
            (item, f": {before} → {now} ({change})") for item, now, before, change in moved
        ]
        blocks.append(Group([Heading("Moves most", 2), Bullets(lines, "moved")], "sec"))
    blocks.append(Group(orders, "sec", only="page"))
    return Section("held", "Held equal", _heading(held, move[judged]), blocks)


def _heading(held: str, move: np.ndarray) -> str:
    """Say how much holding something equal changes."""
    changed = int((move != 0).sum())
    if not changed:
        return f"With {held} held equal, the order stays the same."
    verb = "changes" if changed == 1 else "change"
    return (
        f"With {held} held equal, {changed:,} of {len(move):,} items {verb} rank; "
        f"the largest move is {np.abs(move).max():,.0f}."
    )


def move_words(move: float) -> str:
    """Return a change of rank in words; positive is upwards.

    Examples
    --------
    >>> move_words(2), move_words(-1), move_words(0)
    ('up 2', 'down 1', 'same')
    """
    if move == 0:
        return "same"
    return f"{'up' if move > 0 else 'down'} {abs(move):,.0f}"
