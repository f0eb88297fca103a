"""The annotators of the general model integrated out by compiled sums, in threads.

What the nodes pull rows by is kept in float32, and of the second half only for annotators who might
be reversed.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import balanced, each_range
from aggcal.models.general.alike import NoParameters
from aggcal.models.general.annotators import (
    AXIS,
    GAP,
    POSITION,
    READINESS,
    RELIABILITY,
    STANCE,
    TIE,
    Integration,
    Known,
    Point,
    RowSums,
)
from aggcal.models.general.outcomes import Outcomes, adjacent
from aggcal.models.general.rows import GeneralRows

_ROLES = (RELIABILITY, POSITION, READINESS, STANCE)
PAIRS = ((GAP, GAP), (GAP, AXIS), (AXIS, AXIS), (GAP, TIE), (AXIS, TIE), (TIE, TIE))
_GRADES = 3
"""Grades that the kernels know."""
_FEWEST_ROWS = 2_500
"""Rows of a range: an integral over a row takes long, so that fewer are worth a thread."""
_MOST_RANGES = 64
"""Ranges at most: they need no memory for sums, and one with a busy annotator takes longer."""
_PIECE = 1 << 20
"""Rows that are looked at together: a weight that is not 1 is most often among the first."""
_MANY_ROWS = 10_000
"""Rows from which float32 saves time that is felt; its rounding shows in the seventh digit."""
_DOUBLES, _FLOATS = 2, 7
"""Numbers of a row that the kernels work out, and those that they keep as float32."""
_COUNT, _NUMBER, _ARRAY = ctypes.c_int64, ctypes.c_double, ctypes.c_void_p
# fmt: off
_ARRAYS = (
    "starts", "second", "gap", "row_sd", "column", "unknown", "variance", "weight", "lean", "tied",
    "axis", "offset", "grades", "mean", "sd", "point", "log_weight", "log_share",
)
_RESULTS = (
    "mode", "node", "chance", "pull", "second_pull", "tie_pull", "second_tie_pull",
)
# fmt: on


def _all_one(weight: FloatArray) -> bool:
    pieces = (weight[k : k + _PIECE] for k in range(0, len(weight), _PIECE))
    return all(bool((piece == 1.0).all()) for piece in pieces)


class _Integral(ctypes.Structure):
    """`Integral` of ``general.c``."""

    _fields_ = (
        *((name, _COUNT) for name in ("n_rows", "n_second")),
        *((name, _COUNT) for name in ("parameters", "halves", "each", "top")),
        ("role", _COUNT * len(_ROLES)),
        *((name, _ARRAY) for name in _ARRAYS),
        *((name, _NUMBER) for name in ("cap", "close")),
        *((name, _ARRAY) for name in _RESULTS),
        ("curve", _ARRAY * len(PAIRS)),
        ("exact", _COUNT),
        ("floats", _COUNT),
    )


@dataclass(frozen=True, eq=False)
class CompiledRowSums:
    """What the nodes pull rows by, and bend them by: until the next evaluation."""

    halves: int
    pulls: np.ndarray
    """Of the first half of the nodes, nodes by rows."""
    second_pulls: np.ndarray
    """Of the second half, for the annotators where it matters."""
    second: IntArray
    """Where the rows of each annotator begin in that; −1 for those who are left out."""
    tie_pulls: np.ndarray | None
    second_tie_pulls: np.ndarray | None
    curves: dict[tuple[str, str], np.ndarray]
    """Expected curvature of each pair of channels, by row."""

    def full(self, sizes: IntArray) -> RowSums:
        """Return tables of all nodes by all rows, for sums in NumPy."""
        looked = np.repeat(self.second >= 0, sizes)

        def joined(first: np.ndarray, second: np.ndarray) -> FloatArray:
            behind = np.zeros(first.shape)
            behind[:, looked] = second
            return np.concatenate([first, behind]) if self.halves > 1 else first

        ties = None
        if self.tie_pulls is not None and self.second_tie_pulls is not None:
            ties = joined(self.tie_pulls, self.second_tie_pulls)
        return RowSums(joined(self.pulls, self.second_pulls), ties, self.curves)


class CompiledIntegration(Integration):
    """`Integration` whose sums run in the compiled kernels; the numbers are nearly the same.

    Where a row's gap is little uncertain it is averaged by derivatives instead of points.
    """

    exact = False
    """Whether points are used in any case."""
    floats: bool
    """Whether float32 is worked in on the way to an optimum."""

    def __init__(self, rows: GeneralRows, names: tuple[str, ...], outcomes: Outcomes) -> None:
        super().__init__(rows, names, outcomes)
        kernels = library()
        if kernels is None:
            raise RuntimeError("the compiled kernels are not there")
        self._kernels = kernels
        self._starts = np.ascontiguousarray(rows.starts, dtype=np.int64)
        self.ranges = [0, rows.n_annotators]
        if rows.whole:
            self.ranges = balanced(self._starts, _FEWEST_ROWS, _MOST_RANGES)
        weight, lean, tied = rows.answers
        plain = len(rows) > 0 and _all_one(weight)
        self._answers = (
            None if plain else np.ascontiguousarray(weight, dtype=np.float64),
            np.ascontiguousarray(lean, dtype=np.float64),
            np.ascontiguousarray(tied, dtype=np.float64),
        )
        self._kept: dict[str, np.ndarray] = {}
        self.floats = len(rows) >= _MANY_ROWS

    def takes_pairs(self, grades: FloatArray) -> bool:
        """Whether gaps need not be worked out where they are differences of two unknowns."""
        return len(grades) <= _GRADES and bool(grades[0] == 1.0)

    def evaluate(self, point: Point) -> Known:
        """Integrate at a point; `found` is then what the nodes do to the rows."""
        grades = np.ones(1) if point.grades is None else np.ascontiguousarray(point.grades)
        if not self.takes_pairs(grades):
            return super().evaluate(point)
        m, k, n = self.rows.n_annotators, len(self.names), len(self.rows)
        if self.modes is None:
            self.modes = self.begin(point)
        sums = self._room(point, n)
        nodes, weights = np.empty((m, self.n_nodes, k)), np.empty((m, self.n_nodes))
        weight, lean, tied = self._answers
        inputs = {
            "starts": self._starts,
            "second": sums.second,
            **_gaps_of(point),
            "weight": weight,
            "lean": lean,
            "tied": tied,
            "axis": _doubles(point.axis),
            "offset": _doubles(point.offset),
            "grades": grades,
            "mean": _doubles(point.means),
            "sd": _doubles(point.sds),
            "point": _doubles(self.points),
            "log_weight": np.log(self.point_weights),
            "log_share": np.array(point.log_shares),
        }
        results = (
            self.modes, nodes, weights,
            sums.pulls, sums.second_pulls, sums.tie_pulls, sums.second_tie_pulls,
        )  # fmt: skip
        pairs = [sums.curves.get(pair) for pair in PAIRS]
        cap = 0.0 if point.pairs is None else point.pairs.cap
        job = _Integral(
            n, sums.second_pulls.shape[1], k, len(self.signs), len(self.points), len(grades),
            (_COUNT * len(_ROLES))(*(self.column.get(name, -1) for name in _ROLES)),
            *at(*(inputs[name] for name in _ARRAYS)), cap, point.close, *at(*results),
            (_ARRAY * len(PAIRS))(*at(*pairs)), -1 if self.roughly else int(self.exact),
            int(self.floats),
        )  # fmt: skip
        evidence = sum(each_range(lambda begin, end: self._work(job, begin, end), self.ranges))
        self.found = sums
        return self.known(nodes, weights, evidence)

    def _work(self, job: _Integral, begin: int, end: int) -> float:
        most = int(self.rows.sizes[begin:end].max(initial=0))
        doubles = np.empty(_DOUBLES * most)
        own, room = (np.empty(most * n, dtype=np.float32) for n in (_FLOATS, 3 * self.n_nodes))
        return float(
            self._kernels.aggcal_general_integrate(
                ctypes.byref(job), begin, end, *at(doubles, own, room)
            )
        )

    def _room(self, point: Point, n: int) -> CompiledRowSums:
        """Return tables for the results, those of the last evaluation where they fit."""
        sizes = self.rows.sizes
        if RELIABILITY not in self.column:
            looked = np.zeros(len(sizes), dtype=bool)
        else:
            looked = np.ones(len(sizes), bool) if point.hopeless is None else ~point.hopeless
        ends = np.cumsum(np.where(looked, sizes, 0))
        second = np.where(looked, ends - sizes, -1).astype(np.int64)
        shape, second_shape = (len(self.points), n), (len(self.points), int(ends[-1]))
        ties = point.offset is not None
        return CompiledRowSums(
            len(self.signs),
            self._table("pulls", shape),
            self._table("second", second_shape),
            second,
            self._table("ties", shape) if ties else None,
            self._table("second ties", second_shape) if ties else None,
            {pair: self._table(" ".join(pair), (n,)) for pair in self.pairs(point)},
        )

    def _table(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        kept = self._kept.get(name)
        if kept is None or kept.shape != shape:
            self._kept.pop(name, None)
            kept = self._kept[name] = np.empty(shape, dtype=np.float32)
        return kept


def _gaps_of(point: Point) -> dict[str, np.ndarray | None]:
    """Return gaps and their sds, or what they are made of."""
    found = dict.fromkeys(("gap", "row_sd", "column", "unknown", "variance"))
    if point.pairs is None:
        # The first says it nearly always: a pass over many takes a while.
        unsure = bool(point.row_sd[:1].any() or point.row_sd.any())
        row_sd = np.ascontiguousarray(point.row_sd, dtype=np.float32) if unsure else None
        return found | {"gap": _doubles(point.gaps), "row_sd": row_sd}
    columns, unknowns, variances, _ = point.pairs
    made = {"column": np.ascontiguousarray(columns), "unknown": _doubles(unknowns)}
    return found | made | {"variance": _doubles(variances) if variances.any() else None}


def _doubles(values: FloatArray | None) -> FloatArray | None:
    return None if values is None else np.ascontiguousarray(values, dtype=np.float64)


@singledispatch
def integration(rows: GeneralRows, names: tuple[str, ...], outcomes: Outcomes) -> Integration:
    """Return what integrates the annotators of some rows out: compiled where it can be.

    An engine registers what does so with rows of its own.
    """
    if not names:
        return NoParameters(rows, outcomes)
    compiled = outcomes is adjacent and library() is not None
    return (CompiledIntegration if compiled else Integration)(rows, names, outcomes)
