"""Two runs side by side: what moved, and how sure that is. Plain data; no HTML."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import bdtr

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, ranks
from aggcal._core.text import brief
from aggcal.errors import OptionError, TableError, option, some
from aggcal.metrics import kendall, spearman
from aggcal.report.moves import RankBeliefs, apart, confidence, confidence_if_independent
from aggcal.report.run import Run
from aggcal.report.terms import level_of

_SELDOM = 0.2
"""Of the items that stayed, how many are called moved where the runs may share judgments, as a
share of what the level allows: benchmarks/moves.py finds at most this. A larger one would withhold
verdicts, a smaller one claim what chance explains."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two runs, the earlier first, and what differs between them.

    Parameters
    ----------
    a, b
        The two runs.
    names
        What to call them.
    independent
        Whether the user says that no judgment is in both: then more can be claimed.

    Examples
    --------
    >>> def run(*order):
    ...     rank = np.arange(1, len(order) + 1)
    ...     items = {"item": np.array(order, dtype=object), "consensus": -1.0 * rank,
    ...              "rank": rank, "rank_low": rank, "rank_high": rank, "sure_low": rank}
    ...     return Run({"method": "own", "n_items": len(order), "n_annotators": 1,
    ...                    "n_judgments": 9, "warnings": [], "converged": True}, items)
    >>> found = Comparison(run("x", "y", "z"), run("y", "x", "z"))
    >>> found.items, found.direction
    (['y', 'x', 'z'], array([ 1, -1,  0]))
    """

    a: Run
    b: Run
    names: tuple[str, str] = ("A", "B")
    independent: bool = False

    __repr__ = brief

    def __post_init__(self) -> None:
        if not self.items:
            ours, theirs = (some(map(str, each.items["item"])) for each in self.runs)
            raise TableError(
                f"the two runs have no item in common ({self.names[0]}: {ours}; {self.names[1]}: "
                f"{theirs}); compare runs of the same items."
            )
        if self.independent and self.same_judgments:
            raise OptionError(
                f"{option('independent')} does not hold: every item has the same record in both "
                "runs, so they share their judgments; leave it out."
            )

    @property
    def runs(self) -> tuple[Run, Run]:
        """Both."""
        return self.a, self.b

    @cached_property
    def _rows(self) -> tuple[dict[str, int], dict[str, int]]:
        """The row of each judged item, in both runs."""
        first, second = (
            {run.names[k]: int(k) for k in np.flatnonzero(_judged(run))} for run in self.runs
        )
        return first, second

    @cached_property
    def items(self) -> list[str]:
        """The items that both runs have, in the order of B."""
        first, second = self._rows
        return [item for item in second if item in first]

    @property
    def only_a(self) -> list[str]:
        """The items that A alone has."""
        return [item for item in self._rows[0] if item not in self._rows[1]]

    @property
    def only_b(self) -> list[str]:
        """The items that B alone has."""
        return [item for item in self._rows[1] if item not in self._rows[0]]

    @cached_property
    def positions(self) -> tuple[IntArray, IntArray]:
        """The rows of the common items, in both tables."""
        first, second = (
            np.array([rows[item] for item in self.items], dtype=np.int64) for rows in self._rows
        )
        return first, second

    def columns(self, key: str) -> tuple[FloatArray, FloatArray] | None:
        """Return a column of both tables for the common items; None unless both have it."""
        if not all(key in each.items for each in self.runs):
            return None
        first, second = (
            _floats(each.items[key])[rows]
            for each, rows in zip(self.runs, self.positions, strict=True)
        )
        return first, second

    @cached_property
    def ranks(self) -> tuple[IntArray, IntArray]:
        """Ranks among the common items."""
        consensus = self.columns("consensus")
        assert consensus is not None  # noqa: S101  # every result has one
        return ranks(consensus[0]), ranks(consensus[1])

    @property
    def score_key(self) -> str:
        """Which scores both runs have in the same unit."""
        return "calibrated" if all(each.calibrated for each in self.runs) else "consensus"

    @cached_property
    def same_judgments(self) -> bool:
        """Whether all records agree, so that both runs very likely had the same judgments."""
        if self.only_a or self.only_b:
            return False
        records = [self.columns(key) for key in ("n_judgments", "win_rate")]
        known = [each for each in records if each is not None]
        if len(known) < len(records) or not all(np.array_equal(*each) for each in known):
            return False
        given = [
            dict(zip(each.annotators["annotator"], each.annotators["n_judgments"], strict=True))
            for each in self.runs
            if "n_judgments" in each.annotators
        ]
        return len(given) == 2 and given[0] == given[1]  # noqa: PLR2004

    @cached_property
    def withheld(self) -> str:
        """Why nothing is claimed of any move; empty where something is."""
        for name, each in zip("AB", self.runs, strict=True):
            if each.summary.get("converged") is False:
                return f"the fit of {name} did not converge"
            if "rank_low" not in each.items or "rank_high" not in each.items:
                return f"{name} has no likely ranks"
        return ""

    @cached_property
    def beliefs(self) -> tuple[RankBeliefs, RankBeliefs]:
        """What each run says of the ranks of the common items."""
        first, second = (_beliefs(*each) for each in zip(self.runs, self.positions, strict=True))
        return first, second

    @cached_property
    def direction(self) -> IntArray:
        """Which items moved: 1 up, -1 down, 0 where the judgments leave it open."""
        if self.withheld:
            return np.zeros(len(self.items), dtype=np.int64)
        a, b = self.beliefs
        if not self.independent:
            return apart(b, a)
        level = min(a.level, b.level)
        up = confidence_if_independent(b, a) >= level
        down = confidence_if_independent(a, b) >= level
        return up.astype(np.int64) - down.astype(np.int64)

    @cached_property
    def confidence(self) -> FloatArray:
        """How confident the change of each rank is; see `moves`. NaN where nothing is claimed."""
        if self.withheld:
            return np.full(len(self.items), np.nan)
        a, b = self.beliefs
        how = confidence_if_independent if self.independent else confidence
        before, after = self.ranks
        found = np.where(after < before, how(b, a), np.where(after > before, how(a, b), 0.0))
        # A thousand draws that all say the same do not make it certain.
        return np.minimum(found, 0.999)

    @property
    def moved(self) -> int:
        """How many items moved."""
        return int(np.count_nonzero(self.direction))

    @property
    def by_chance(self) -> bool:
        """Whether as many could be called moved if none had.

        Not so where a pair is certified in opposite orders: certified pairs are right all at once.
        """
        if not self.moved or self.order.get("certified_opposite"):
            return False
        level, n = min(each.level for each in self.beliefs), len(self.items)
        rate = (1.0 - level) * (1.0 if self.independent else _SELDOM)
        return bool(bdtr(self.moved - 1, n, rate) < level)

    @cached_property
    def order(self) -> dict[str, Any]:
        """How alike the two orders are."""
        a, b = (each.astype(np.float64) for each in self.ranks)
        n = len(a)
        pairs = n * (n - 1) // 2
        tau_a, tau_b = kendall(a, b) if n > 1 else (np.nan, np.nan)
        found: dict[str, Any] = {
            "tau_a": tau_a,
            "tau_b": tau_b,
            "spearman": spearman(a, b) if n > 1 else np.nan,
            "pairs": pairs,
            "changed": changed_pairs(a, b, tau_a),
        }
        first, second = (
            _certified(each, rows) for each, rows in zip(self.runs, self.positions, strict=True)
        )
        if first is not None and second is not None:
            found |= certified_changes(a, b, first, second)
        return found


def _certified(run: Run, rows: IntArray) -> BoolArray | None:
    """Return which common items are certified above which; None where it is not known."""
    claim = (run.summary.get("guarantees") or {}).get("certified_pairs") or {}
    masks = run.comparisons.get("certified")
    if masks is None or (claim.get("values") or {}).get("certified") is None:
        return None
    if not _sorted(run):
        return None
    found: BoolArray = certified_matrix(masks)[np.ix_(rows, rows)]
    return found


def _sorted(run: Run) -> bool:
    """Whether the rows are in the order of ``comparisons.json``: nobody sorted the table."""
    listed = [str(item) for item in run.comparisons.get("items") or ()]
    return listed == run.names[: len(listed)]


def _beliefs(run: Run, rows: IntArray) -> RankBeliefs:
    items = run.items
    top = run.comparisons.get("top") if _sorted(run) else None
    low, high = _floats(items["rank_low"]), _floats(items["rank_high"])
    return RankBeliefs.of(rows, low, high, level_of(run.summary), top)


def _judged(run: Run) -> BoolArray:
    return ~np.isnan(_floats(run.items["consensus"]))


def _floats(column: np.ndarray) -> FloatArray:
    return np.asarray(column, dtype=np.float64)


def changed_pairs(a: FloatArray, b: FloatArray, tau_a: float) -> int:
    """Return how many pairs two rankings order in opposite ways, from their tau-a.

    Examples
    --------
    >>> changed_pairs(np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.0, 3.0]), 1 / 3)
    1
    """
    pairs = len(a) * (len(a) - 1) / 2.0
    if not pairs:
        return 0
    tied = [_tied(np.unique(each, return_counts=True)[1]) for each in (a, b)]
    both = _tied(np.unique(np.column_stack([a, b]), axis=0, return_counts=True)[1])
    return round((pairs - sum(tied) + both - tau_a * pairs) / 2.0)


def _tied(sizes: Any) -> float:
    return float(np.sum(sizes * (sizes - 1.0) / 2.0))


def certified_matrix(masks: list[str]) -> BoolArray:
    """Return which item is certified above which, from ``certified`` of ``comparisons.json``.

    Examples
    --------
    >>> certified_matrix(["0", "1", "1"]).astype(int).tolist()
    [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
    """
    found = np.zeros((len(masks), len(masks)), dtype=np.bool_)
    for k, bits in enumerate(masks):
        found[:, k] = [int(bits, 16) >> i & 1 for i in range(len(masks))]
    return found


def certified_changes(
    a: FloatArray, b: FloatArray, in_a: BoolArray, in_b: BoolArray
) -> dict[str, int]:
    """Return how many of the pairs that changed order are certified in A, in B and in both.

    Examples
    --------
    >>> above = np.array([[False, True], [False, False]])
    >>> certified_changes(np.array([1.0, 2.0]), np.array([2.0, 1.0]), above, above.T)
    {'certified_in_a': 1, 'certified_in_b': 1, 'certified_opposite': 1}
    """
    changed = np.triu(np.sign(a[:, None] - a) * np.sign(b[:, None] - b) < 0)
    first, second = in_a | in_a.T, in_b | in_b.T
    return {
        "certified_in_a": int((changed & first).sum()),
        "certified_in_b": int((changed & second).sum()),
        "certified_opposite": int((changed & first & second).sum()),
    }
