"""How comparisons connect items: components, what would connect them, and one-way comparisons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aggcal._core.arrays import sums
from aggcal.advice.check.findings import LISTED, Affects, Finding, listed
from aggcal.data.graph import ComparisonGraph
from aggcal.data.judgments import Judgments
from aggcal.errors import count, option, some

_PAIRS_NAMED = 5  # pairs to ask: more make a sentence that nobody reads


def joining_pairs(judgments: Judgments, graph: ComparisonGraph) -> list[tuple[str, str]]:
    """Name pairs of items whose comparison would join the pieces, one for each smaller piece.

    Each joins the most judged item of a piece to the item of the largest piece that won the most
    similar share of its own comparisons: a pair of near equals tells most.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("bob", "b", "a"), ("ann", "c", "d"), ("bob", "d", "c")]
    >>> judgments = aggcal.read_judgments(rows)
    >>> joining_pairs(judgments, ComparisonGraph(judgments))
    [('c', 'a')]
    """
    wins = sums(judgments.left, judgments.count * judgments.outcome, judgments.n_items)
    wins += sums(judgments.right, judgments.count * (1.0 - judgments.outcome), judgments.n_items)
    given = judgments.judgments_per_item
    share = wins / np.maximum(given, 1)
    component = graph.component
    home = np.flatnonzero(component == 0)
    # From the most judged on: of equally near items it is the best known that is named.
    home = home[np.argsort(-given[home], kind="stable")]
    found = []
    for piece in range(1, min(len(graph.component_sizes), _PAIRS_NAMED + 1)):
        inside = np.flatnonzero(component == piece)
        item = inside[np.argmax(given[inside])]
        near = home[np.argmin(np.abs(share[home] - share[item]))]
        found.append((str(judgments.item_ids[item]), str(judgments.item_ids[near])))
    return found


def with_joining_pairs(finding: Finding, judgments: Judgments, graph: ComparisonGraph) -> Finding:
    """Add to the finding of separate pieces which comparisons would join them.

    Examples
    --------
    >>> import aggcal
    >>> judgments = aggcal.read_judgments([("ann", "a", "b"), ("ann", "c", "d")])
    >>> bare = Finding("problem", "disconnected", "in 2 pieces", "join them")
    >>> with_joining_pairs(bare, judgments, ComparisonGraph(judgments)).details["joining_pairs"]
    [['c', 'a']]
    """
    pairs = joining_pairs(judgments, graph)
    named = ", ".join(f"'{a}' with '{b}'" for a, b in pairs)
    sizes = graph.component_sizes
    rest = len(sizes) - 1 - len(pairs)
    more = f", and so on for {count(rest, 'more component')}" if rest else ""
    return replace(
        finding,
        remedy=f"Have several annotators compare {named}{more}.",
        details=finding.details
        | {
            "pieces": len(sizes),
            "sizes": listed_sizes(sizes),
            "joining_pairs": [list(pair) for pair in pairs],
        },
    )


def listed_sizes(sizes: np.ndarray) -> list[int]:
    """Return the first sizes as plain numbers.

    Examples
    --------
    >>> listed_sizes(np.array([3, 1]))
    [3, 1]
    """
    return [int(size) for size in sizes[:LISTED]]


def one_way(judgments: Judgments, graph: ComparisonGraph) -> list[Finding]:
    """Report groups of items that never lose to the rest: their distance has no upper bound.

    Items that never win or lose at all are reported separately (`aggcal.data.warnings`).

    Examples
    --------
    >>> import aggcal
    >>> cycle = lambda x, y, z: [("ann", x, y), ("ann", y, z), ("ann", z, x)]
    >>> rows = [*cycle("a", "b", "c"), *cycle("d", "e", "f"), ("ann", "a", "d")]
    >>> judgments = aggcal.read_judgments(rows)
    >>> [f.code for f in one_way(judgments, ComparisonGraph(judgments))]
    ['one-way']
    """
    alone = set(graph.never_win) | set(graph.never_lose)
    sizes, pieces = graph.strong_sizes, len(graph.component_sizes)
    if len(sizes) <= pieces:
        return []
    outside = [i for i in judgments.item_ids[graph.strong > 0] if i not in alone]
    if not outside or pieces > 1:
        return []
    return [
        Finding(
            "note",
            "one-way",
            f"{count(len(outside), 'item')} ({some(outside)}) won, or lost, every comparison with "
            "a group of other items. Only the prior limits how far apart they are "
            f"({option('prior', 'none')} would put them infinitely far apart).",
            "Have them compared again with items just above and just below them.",
            {"strong_components": len(sizes), "items": listed(outside), "number": len(outside)},
            title=f"{count(len(outside), 'item')} won or lost every comparison with a group of "
            "others",
            why="Only the prior limits how far apart they are "
            f"({option('prior', 'none')} would put them infinitely far apart): {some(outside)}.",
            affects=Affects.by_items(judgments, _positions(judgments, outside)),
        )
    ]


def _positions(judgments: Judgments, ids: list[str]) -> list[int]:
    chosen = set(ids)
    return [k for k, one in enumerate(judgments.item_ids.tolist()) if one in chosen]
