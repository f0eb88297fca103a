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
from aggcal.report.terms import coefficients, joined

_MOST_ROWS, _MOST_MOVED, _NAME = 200, 5, 120
_CAVEAT = (
    "Holding something equal also removes quality that goes with it. If answers are better because "
    "they are longer, for example, holding the length equal takes that out, too. Neither order is "
    "right by itself."
)


def names(run: Run) -> str:
    """Return what is held equal, for a sentence; nothing where nothing is."""
    known = {"rank", "rank_uncontrolled"} <= set(run.items)
    return joined([each["name"] for each in coefficients(run.summary)]) if known else ""


def section(run: Run) -> Section | None:
    """Return the section of both orders; None where nothing is held equal."""
    held = names(run)
    if not held:
        return None
    ranks = (np.asarray(run.items[key], dtype=np.float64) for key in ("rank", "rank_uncontrolled"))
    rank, without = ranks
    judged = np.flatnonzero(np.isfinite(without - rank))
    move = (without - rank)[judged]

    def link(k: int) -> Link:
        name = str(run.items["item"][judged[k]])
        return Link(cut(name, _NAME), f"item={name}")

    def row(k: int) -> tuple[Part, ...]:
        both = (f"{rank[judged[k]]:,.0f}", f"{without[judged[k]]:,.0f}")
        return (link(k), *both, move_words(move[k]))

    farthest = np.argsort(-np.abs(move), kind="stable")[:_MOST_MOVED]
    moved = [row(k) for k in farthest.tolist() if move[k]]
    orders: list[Block] = [
        Heading("Both orders", 2),
        Table(
            ("Item", "Rank, held equal", "Rank as judged", "Move"),
            [row(k) for k in range(min(len(judged), _MOST_ROWS))],
            "flow orders",
            frozenset({1, 2, 3}),
        ),
    ]
    if len(judged) > _MOST_ROWS:
        said = f"The first {_MOST_ROWS:,} of {len(judged):,} items; all are in items.csv."
        orders.append(Text(said, "note"))
    effects = [
        (each["name"], each["says"], f"{each['value']} ({each['interval']})")
        for each in coefficients(run.summary)
    ]
    heads = ("Held equal", "What one standard deviation more does", "Coefficient")
    blocks: list[Block] = [Text(_CAVEAT, "lede"), Table(heads, effects, "flow held")]
    if moved:
        lines: list[Line] = [
            (item, f": {before} → {now} ({said})") for item, now, before, said in moved
        ]
        blocks.append(Group([Heading("Moves most", 2), Bullets(lines, "moved")], "sec"))
    blocks.append(Group(orders, "sec", only="page"))
    return Section("held", "Held equal", _heading(held, move), blocks)


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
