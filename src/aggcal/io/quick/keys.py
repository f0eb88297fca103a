"""The keys of rows, written batch by batch, and the rows that are not fitted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from aggcal._core.arrays import BoolArray, CodeArray, FloatArray, IntArray, TextArray, constant
from aggcal._core.kernels import at
from aggcal.data.acts import Acts, Columns, RankingWeight
from aggcal.data.base import Unfitted
from aggcal.data.judgments import Judgments
from aggcal.io.formats._sides import STRENGTHS
from aggcal.io.quick.merging import KeyArray, Layout, Merged, merged_rows, sorted_keys
from aggcal.io.quick.numbering import WIDEST, Ids, Outcomes
from aggcal.io.quick.streams import NotPlain


@dataclass(frozen=True)
class Codes:
    """What codes mean in a table."""

    items: Ids
    annotators: Ids
    outcomes: Outcomes | None
    weights: FloatArray | None = None
    """The weight of each code; None where there are none, or too many to have codes."""

    @property
    def layout(self) -> Layout:
        """How keys are made up."""
        said = self.outcomes
        number, fitted = (1, 1) if said is None else (said.number, len(said.values))
        weights = 0 if self.weights is None else len(self.weights)
        ids = len(self.annotators.texts), len(self.items.texts)
        return Layout.of(*ids, number, fitted, weights=weights)

    def with_weights(self, weights: FloatArray) -> Codes:
        """Return the same with codes for weights, if a key has room for them."""
        try:
            found = replace(self, weights=weights)
            found.layout  # noqa: B018  # refused if it is too wide
        except NotPlain:
            return self
        return found

    @property
    def as_written(self) -> bool:
        """Whether everything is written in one way, so that equal rows are equal cells."""
        said = self.outcomes
        ids = self.items.as_written and self.annotators.as_written
        return ids and (said is None or said.as_written)


class Scratch(threading.local):
    """Memory of each thread that it uses from batch to batch: fresh memory has to be cleared."""

    def __init__(self) -> None:
        self._held: dict[str, CodeArray] = {}

    def codes(self, rows: int) -> CodeArray:
        """Return room for the codes of five columns."""
        return self._room("codes", 5 * rows).reshape(5, rows)

    def aside(self, rows: int) -> CodeArray:
        """Return room for rows that are not fitted."""
        return self._room("aside", 5 * rows).reshape(rows, 5)

    def _room(self, what: str, cells: int) -> CodeArray:
        held = self._held.get(what)
        if held is None or len(held) < cells:
            held = self._held[what] = np.empty(cells, dtype=np.int32)
        return held[:cells]


class Keys:
    """Keys of a known number of rows, filled by threads."""

    def __init__(
        self,
        kernels: Any,
        codes: Codes,
        rows: int,
        *,
        weighted: bool,
        scratch: Scratch | None = None,
    ) -> None:
        self.kernels, self.codes, self.weighted = kernels, codes, weighted
        self.layout = codes.layout
        self._form = self.layout.array
        self.key: KeyArray = np.empty(rows, dtype=np.uint64)
        numbers = weighted and codes.weights is None
        self.weight: FloatArray | None = np.empty(rows) if numbers else None
        self.scratch = Scratch() if scratch is None else scratch
        self._aside: list[tuple[int, CodeArray]] = []
        self._seen: list[FloatArray] = []
        self.out_of_order = False
        self._acts: Callable[[Judgments], Judgments] | None = None

    def fill(
        self,
        begin: int,
        columns: list[CodeArray | None],
        lists: tuple[CodeArray | None, ...] = (None,) * 5,
    ) -> None:
        """Write the keys of some rows whose weights stand there already.

        Parameters
        ----------
        begin
            Where the rows stand among all.
        columns
            Codes of annotator, left, right, outcome and weight.
        lists
            What each code is translated to; None where it is right already.
        """
        rows = len(columns[0]) if columns[0] is not None else 0
        if begin + rows > len(self.key):
            raise NotPlain
        here = slice(begin, begin + rows)
        aside = self.scratch.aside(rows)
        seen = np.array([np.inf, 0.0])
        weight = None if self.weight is None else self.weight[here]
        number = self.kernels.aggcal_keys(
            rows, *at(*columns, weight, *lists, self.codes.weights, self._form),
            self.layout.nothing,
            *at(self.key[here], aside, seen),
        )  # fmt: skip
        if number < 0:
            raise NotPlain
        self._seen.append(seen)
        if number:
            self._aside.append((begin, aside[:number].copy()))

    def take_sorted(self, key: KeyArray, aside: CodeArray) -> None:
        """Take the sorted keys of all rows, and those rows that are not fitted, as `fill` has them.

        Weights have codes in these keys.
        """
        self.key, self.out_of_order = key, True
        if len(aside):
            self._aside.append((0, aside))

    def recognise_acts(self, kind: RankingWeight) -> None:
        """Look for rankings and ratings that were taken apart, while rows are in their order.

        ``kind`` is what their pairs weigh; ``"pair"`` looks for none.
        """
        if self.out_of_order or kind == "pair":
            return
        layout, codes = self.layout, self.codes
        weight, outcome, item = layout.weight, layout.right, layout.left - layout.right

        def bits(key: KeyArray, begin: int, number: int) -> CodeArray:
            return (key >> np.uint64(begin) & np.uint64((1 << number) - 1)).astype(np.int32)

        def columns(most: int) -> Columns:
            key = self.key[:most]
            key = key[key < np.uint64(layout.nothing)] >> np.uint64(weight)
            said = None
            if codes.outcomes is not None:
                said = codes.outcomes.values[bits(key, 0, outcome)]
            who = (key >> np.uint64(layout.annotator)).astype(np.int32)
            return Columns(who, bits(key, layout.left, item), bits(key, outcome, item), said)

        found = Acts.recognised(len(self.key), columns)
        if found is None:
            return
        fitted = self.key < np.uint64(layout.nothing)
        each, key = None, self.key[fitted]
        if codes.weights is not None:
            each = codes.weights[bits(key, 0, weight)]
        elif self.weight is not None:
            each = self.weight[fitted]
        order = np.argsort(key >> np.uint64(weight), kind="stable")
        self._acts = partial(found.weighing, order=order, weight=each, kind=kind)

    def with_acts(self, judgments: Judgments) -> Judgments:
        """Return these rows, merged, with the acts that were recognised."""
        return judgments if self._acts is None else self._acts(judgments)

    def merged(self, threads: int | None = None) -> Merged:
        """Sort and merge the rows that are fitted."""
        if self.weighted and self.codes.weights is None:
            lightest = min((float(seen[0]) for seen in self._seen), default=1.0)
            heaviest = max((float(seen[1]) for seen in self._seen), default=1.0)
            if lightest < heaviest / WIDEST:
                raise NotPlain
        fitted = len(self.key) - sum(len(rows) for _, rows in self._aside)
        key, weight, self.key, self.weight = self.key, self.weight, self.key[:0], None
        rooms: list[FloatArray] = []
        if not self.out_of_order:
            key, weight, rooms = sorted_keys(self.kernels, key, weight, self.layout.bits, threads)
        said, codes = self.codes.outcomes, self.codes
        return merged_rows(
            self.kernels,
            key[:fitted],
            None if weight is None else weight[:fitted],
            self.layout,
            values=None if said is None else said.values,
            sizes=(len(codes.items.texts), len(codes.annotators.texts)),
            measure=codes.weights,
            rooms=rooms,
            threads=threads,
        )

    def unfitted(self) -> Unfitted:
        """Return the rows that are not fitted, equal ones as one."""
        if not self._aside:
            return Unfitted.none()
        begins = np.repeat([b for b, _ in self._aside], [len(rows) for _, rows in self._aside])
        every = np.concatenate([rows for _, rows in self._aside])
        row = every[:, 0] + begins
        who, left, right = (
            _Ranked.of(ids.texts, every[:, k])
            for ids, k in ((self.codes.annotators, 1), (self.codes.items, 2), (self.codes.items, 3))
        )
        why = _Ranked.of(self._reasons(), every[:, 4] + 2)
        order = np.lexsort((row, right.rank, left.rank, who.rank, why.rank))
        new = np.zeros(len(order), dtype=bool)
        new[0] = True
        for column in (why, who, left, right):
            rank = column.rank[order]
            new[1:] |= rank[1:] != rank[:-1]
        first = order[new]
        count: IntArray = np.diff(np.append(np.flatnonzero(new), len(order)))
        blank: TextArray = np.full(len(first), "", dtype=object)
        location: TextArray = np.array([f"row {k + 1}" for k in row[first].tolist()], dtype=object)
        return Unfitted(
            who.text(first),
            left.text(first),
            right.text(first),
            why.text(first),
            count.astype(np.int64),
            location,
            blank,
        )

    def _reasons(self) -> TextArray:
        """Return the reasons from code -2 on: what the kernels say, then what outcomes do."""
        said = self.codes.outcomes
        fitted = [""] * (1 if said is None else len(said.values))
        others = [] if said is None else [said.reason(k) for k in range(len(fitted), said.number)]
        return np.array(["zero weight", "self-pair", *fitted, *others], dtype=object)


@dataclass(frozen=True)
class _Ranked:
    """A column of texts, each by its place among those that occur."""

    rank: IntArray
    texts: TextArray

    @classmethod
    def of(cls, texts: TextArray, codes: CodeArray) -> _Ranked:
        there, inverse = np.unique(codes, return_inverse=True)
        named = texts[there]
        order = np.argsort(named, kind="stable")
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        return cls(place[inverse], named[order])

    def text(self, rows: IntArray) -> TextArray:
        found: TextArray = self.texts[self.rank[rows]]
        return found


def judgments_of(keys: Keys, merged: Merged, *, notes: tuple[str, ...], **known: Any) -> Judgments:
    """Return merged rows as judgments of those items and annotators that occur."""
    codes, rows = keys.codes, len(merged.annotator)
    said = codes.outcomes
    if said is not None and said.numbers and not said.sides:
        notes = (*notes, STRENGTHS)
    item_ids, annotator_ids = codes.items.texts, codes.annotators.texts
    annotator, left, right = merged.annotator, merged.left, merged.right
    if not merged.judged.all():
        item_ids, (left, right) = item_ids[merged.judged], _closed(merged.judged, left, right)
    if not merged.judging.all():
        annotator_ids = annotator_ids[merged.judging]
        (annotator,) = _closed(merged.judging, annotator)
    if len(item_ids) < 2:  # noqa: PLR2004
        raise NotPlain
    ones = constant(1.0, rows)
    count = np.broadcast_to(np.int64(1), (rows,)) if merged.count is None else merged.count
    weight = merged.weight
    if weight is None:
        # Without a column of weights each row counts as often as it stands.
        counts = None if keys.weighted else merged.count
        weight = ones if counts is None else counts.astype(np.float64)
    found = Judgments(
        item_ids,
        annotator_ids,
        annotator,
        left,
        right,
        ones if merged.outcome is None else merged.outcome,
        weight,
        count,
        unfitted=keys.unfitted(),
        notes=notes,
        **known,
    )
    return keys.with_acts(found)


def _closed(used: BoolArray, *columns: CodeArray) -> tuple[CodeArray, ...]:
    """Give codes new numbers, without those that do not occur."""
    place = np.cumsum(used, dtype=np.int32) - np.int32(1)
    return tuple(place[column] for column in columns)
