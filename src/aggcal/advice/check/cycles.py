"""Cycles: a above b, b above c, c above a, more often than chance explains."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, sums
from aggcal._core.progress import counted
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.findings import Affects, Finding
from aggcal.advice.check.pair_answers import TIE

_MOST_ITEMS = 400  # triples grow with their cube; these are the most judged
_DRAWS = 40  # simulated studies: more sharpen the expected share and take longer
_SURE = 4.0  # deviations: lower ones find circles in clean studies
_LEAST_EXCESS = 0.02  # share of the triples below which circles do not matter
FEWEST_TRIPLES = 30  # triples: of fewer a share says little
_WORD = 64  # bits of a word
_CLEAR = 1.7  # deviations from a tie at which a pair has a clear majority


@dataclass(frozen=True)
class Cycles:
    """Triples of items of which all three pairs were judged, and how many go round in a circle.

    ``expected`` and ``sd`` are of the share of circular ones under the fitted model. Between
    equal items a quarter of the triples is circular by chance alone, but hardly ever by clear
    majorities: ``clear`` counts the circles in which all three are.
    """

    triads: int
    circular: int
    expected: float
    sd: float
    clear: int
    expected_clear: float
    sd_clear: float
    items: int
    """Items that were looked at: the most judged ones where there are many."""

    @property
    def share(self) -> float:
        """Share of triples that go round in a circle."""
        return self.circular / self.triads if self.triads else 0.0


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Pairs of a few items, numbered from 0."""

    items: int
    first: IntArray
    second: IntArray

    @classmethod
    def among(cls, chosen: BoolArray, first: IntArray, second: IntArray) -> _Pairs:
        position = np.cumsum(chosen) - 1
        first, second = (np.ascontiguousarray(position[x], dtype=np.int64) for x in (first, second))
        return cls(int(chosen.sum()), first, second)

    def count(self, majority: FloatArray) -> tuple[int, int]:
        """Count triples with three decided pairs, and the circular ones among them.

        Of each item those below and those above it are bits of a row, and what two rows have in
        common is counted 64 items at a time.
        """
        ahead, behind = majority > 0.0, majority < 0.0
        up = np.concatenate([self.first[ahead], self.second[behind]])
        down = np.concatenate([self.second[ahead], self.first[behind]])
        below, above = _bits(self.items, up, down), _bits(self.items, down, up)
        either = below | above
        # Of each triple, every pair sees the third item: a circle is closed three times.
        circular = int(np.bitwise_count(below[down] & above[up]).sum()) // 3
        triads = int(np.bitwise_count(either[down] & either[up]).sum()) // 3
        return triads, circular


def _bits(items: int, row: IntArray, column: IntArray) -> npt.NDArray[np.uint64]:
    """Return a table of so many items by as many, each cell a bit."""
    table = np.zeros((items, -(-items // _WORD) * _WORD), dtype=bool)
    table[row, column] = True
    return np.packbits(table, axis=1).view(np.uint64)


def cycles(fitted: Fitted, *, seed: int = 0) -> Cycles:
    """Compare the share of circular triples with that of studies drawn from the fitted model.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal.simulation import simulate
    >>> study = simulate(items=12, annotators=8, judgments=800, seed=2)
    >>> found = cycles(Fitted.of(aggcal.read_judgments(study.judgments)))
    >>> found.triads, abs(found.share - found.expected) < 4 * found.sd
    (182, True)
    """
    answers, judgments = fitted.answers, fitted.judgments
    given = judgments.judgments_per_item
    chosen = np.zeros(judgments.n_items, dtype=bool)
    chosen[np.argsort(-given, kind="stable")[:_MOST_ITEMS]] = True
    rows = np.flatnonzero(chosen[judgments.left] & chosen[judgments.right])
    among, pair = np.unique(answers.pair[rows], return_inverse=True)
    pairs, size = _Pairs.among(chosen, answers.first[among], answers.second[among]), len(among)
    number = judgments.count[rows]
    times = sums(pair, number, size)
    net = sums(pair, number * (answers.up[rows] - TIE), size)
    triads, circular = pairs.count(net)
    clear = pairs.count(_clear(net, times))[1]
    random = np.random.default_rng(seed)
    toward = np.where(answers.first_is_left, fitted.probability, 1.0 - fitted.probability)[rows]
    tied = judgments.outcome[rows] == TIE
    shares, clears = [], []
    for _ in counted(range(_DRAWS if triads >= FEWEST_TRIPLES else 0), "looking for cycles"):
        drawn = random.binomial(number, toward) - TIE * number
        net = sums(pair, np.where(tied, 0.0, drawn), size)
        of, round_ = pairs.count(net)
        shares.append(round_ / max(of, 1))
        clears.append(pairs.count(_clear(net, times))[1])
    usual, usual_clear = ((float(np.mean(x)), float(np.std(x))) if x else (0.0, 0.0)
                          for x in (shares, clears))  # fmt: skip
    return Cycles(triads, circular, *usual, clear, *usual_clear, int(chosen.sum()))


def _clear(net: FloatArray, times: FloatArray) -> FloatArray:
    """Keep majorities that a fair coin gives once in ten times, and seldomer."""
    return np.where(2.0 * np.abs(net) >= _CLEAR * np.sqrt(times), net, 0.0)


def cycle_findings(found: Cycles) -> list[Finding]:
    """Report where there are too many cycles.

    Examples
    --------
    >>> cycle_findings(Cycles(1000, 200, 0.08, 0.01, 9, 8.0, 3.0, 20))[0].code
    'circular'
    """
    excess = found.share - found.expected
    more = found.clear - found.expected_clear
    many = excess >= _LEAST_EXCESS and excess >= _SURE * found.sd
    firm = more >= _LEAST_EXCESS * found.triads and more >= _SURE * max(found.sd_clear, 1.0)
    if found.triads < FEWEST_TRIPLES or not (many or firm):
        return []
    return [
        Finding(
            "note",
            "circular",
            f"Majorities put a above b, b above c, yet c above a in {found.share:.1%} of "
            f"{found.triads:,} triples; close items and chance explain {found.expected:.1%}. In "
            f"{found.clear:,} of these cycles all three majorities are clear "
            f"({found.expected_clear:.0f} expected), so a single ranking misses something.",
            "Find out whether different pairs are compared by different criteria, and ask about "
            "one criterion at a time.",
            {
                "triads": found.triads,
                "circular": found.circular,
                "expected_share": round(found.expected, 4),
                "spread": round(found.sd, 4),
                "clear": found.clear,
                "expected_clear": round(found.expected_clear, 2),
                "spread_clear": round(found.sd_clear, 2),
                "items": found.items,
            },
            title=f"{found.circular:,} of {found.triads:,} triples of items are cycles "
            f"({found.expected:.1%} expected, {found.share:.1%} found)",
            affects=Affects(items=found.items),
        )
    ]
