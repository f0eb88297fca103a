"""Give ids their numbers, and merge equal rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, TextArray, constant
from aggcal.data.acts import Acts, Columns, RankingWeight
from aggcal.data.base import Unfitted
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import Categories
from aggcal.errors import TooLittleDataError, count
from aggcal.io.duplicates import duplicate_rows
from aggcal.io.row_checks import GRADES, NOT_ANSWERED, is_graded, unanswered
from aggcal.io.rows import Reading
from aggcal.io.tables.source import Source, quoted

_STRONG = "".join(
    f"WHEN '{label}' THEN {1.0 if step > 0 else 0.0} "
    for label, step in GRADES.items()
    if abs(step) > 1
)
"""The SQL of outcomes that say how much better an item is."""

_FEW_ROWS = 100_000
"""Up to so many, what rows mean is worked out once and kept: planning it for each of the questions
that follow takes longer than they do. Of more rows the memory counts."""

NATURAL = "ORDER BY try_cast(id AS BIGINT) NULLS LAST, id"
"""The order in which ids are numbered: numbers as numbers, then text."""


def encoded(
    reading: Reading,
    pair: tuple[str, str],
    means: str | None,
    criteria: tuple[str, ...],
    *,
    chosen: bool,
    part: bool = False,
    acts: RankingWeight = "pair",
    surely: bool = False,
) -> Judgments:
    """Give ids their numbers, merge equal rows, and fetch them as compact columns.

    Ids are numbered in their natural order (numbers as numbers, then text), not in that of
    the rows. A part of a table may hold nothing that can be fitted.

    Parameters
    ----------
    reading, pair, means
        What was read: the columns of the two items, and the SQL of the outcome.
    criteria
        Those that the table has.
    chosen
        Whether one of them was.
    part
        Whether others hold the rest of the table.
    acts
        What pairs of a ranking or screen weigh that stands in the table as pairs: see
        `aggcal.data.acts`. ``"pair"`` looks for none.
    surely
        See `Acts.recognised`.
    """
    source = reading.source
    further = _Further.of(reading, means)
    _number_ids(source, pair, means, further, chosen=chosen)
    merged, unfitted = _merged(source, means, further), _set_aside(source)
    item_ids, annotator_ids = _ids(source, "item"), _ids(source, "annotator_id")
    if len(item_ids) < 2 and not part:  # noqa: PLR2004
        raise TooLittleDataError(_too_little(source, unfitted))
    annotator, left, right = (
        np.ascontiguousarray(merged[name], dtype=np.int32) for name in ("annotator", "l", "r")
    )
    outcome, weight, number = _row_values(merged)
    found = Judgments(
        item_ids,
        annotator_ids,
        annotator,
        left,
        right,
        outcome,
        weight,
        number,
        unfitted=unfitted,
        criteria=criteria,
        source=Path(source.name).name if source.path else source.name,
        backend=source.backend,
        seconds=_seconds(source, len(annotator_ids)),
        # Pairs out of a ranking, and winners before losers, say nothing of who stood where.
        sided=reading.sided and means is not None and "ranking" not in source.columns,
        format=reading.format.info.name,
        spelling=reading.spelling,
        notes=(*reading.notes, *further.notes(merged, taken_apart="ranking" in source.columns)),
        duplicates=duplicate_rows(source, merged, respelt=reading.spelling is not None),
        **_screens(source, means, further),
        **further.columns(source, merged),
    )
    return found if acts == "pair" else _with_acts(found, source, further, acts, surely=surely)


def without_note(number: int, name: str, *, context: bool, taken_apart: bool = False) -> str:
    """Say how many judgments have no context, or no category of a name.

    Examples
    --------
    >>> print(without_note(2, "prompt", context=True))
    2 judgments have no context ('prompt' is blank there)
    """
    verb, what = "has" if number == 1 else "have", "context" if context else "category"
    why = "is blank there" + (", or differs between the two items" if taken_apart else "")
    return f"{count(number, 'judgment')} {verb} no {what} ('{name}' {why})"


def is_without(note: str) -> bool:
    """Whether a note says how many judgments have no context or category.

    Examples
    --------
    >>> is_without(without_note(1, "topic", context=False))
    True
    """
    return re.match(r"[\d,]+ judgments? (has|have) no (context|category) \('", note) is not None


@dataclass(frozen=True)
class _Further:
    """The columns that part rows beyond annotator, items and outcome, where there are any."""

    context: str | None
    by: tuple[str, ...]
    graded: bool

    @classmethod
    def of(cls, reading: Reading, means: str | None) -> _Further:
        graded = means is not None and is_graded(reading.source, means)
        return cls(reading.context, reading.by, graded)

    @property
    def coded(self) -> dict[str, str]:
        """The columns whose values are numbered, and what the user calls them."""
        context = {} if self.context is None else {"context": self.context}
        return context | {f"by_{k}": name for k, name in enumerate(self.by, 1)}

    @property
    def keys(self) -> list[str]:
        """The numbers by which rows are merged and sorted, after the outcome."""
        return [*(["grade"] if self.graded else []), *(f"{name}_code" for name in self.coded)]

    def judged(self, means: str | None) -> str:
        """Write the SQL of these columns of the view ``judged``."""
        steps = " ".join(f"WHEN {quoted(label)} THEN {n}" for label, n in GRADES.items())
        number = f"sign(try_cast({means} AS DOUBLE) - 0.5)"
        grade = f", (CASE {means} {steps} ELSE {number} END)::INTEGER AS grade"
        return "".join(f', "{name}"' for name in self.coded) + (grade if self.graded else "")

    @property
    def selected(self) -> list[str]:
        """Write the SQL of the columns of merged rows."""
        codes = [f"coalesce({name}_id.code, -1)::INTEGER AS {name}_code" for name in self.coded]
        return [*(["grade"] if self.graded else []), *codes]

    @property
    def joined(self) -> str:
        """Write the SQL of the joins that these need."""
        return "".join(f' LEFT JOIN {name}_id ON {name}_id.id = "{name}"' for name in self.coded)

    def notes(self, merged: dict[str, Any], *, taken_apart: bool) -> list[str]:
        """Say how many judgments have none."""
        said = []
        for column, name in self.coded.items():
            without = int(merged["n"][np.asarray(merged[f"{column}_code"]) < 0].sum())
            if without:
                context = column == "context"
                apart = taken_apart and not context
                said.append(without_note(without, name, context=context, taken_apart=apart))
        return said

    def columns(self, source: Source, merged: dict[str, Any]) -> dict[str, Any]:
        """Return these columns as arguments of judgments."""

        def codes(column: str) -> CodeArray:
            return np.ascontiguousarray(merged[f"{column}_code"], dtype=np.int32)

        found: dict[str, Any] = {}
        if self.context is not None:
            found["context"] = codes("context")
            found["context_ids"] = _ids(source, "context_id")
            found["context_name"] = self.context
        found["categories"] = tuple(
            Categories(name, _ids(source, f"by_{k}_id"), codes(f"by_{k}"))
            for k, name in enumerate(self.by, 1)
        )
        if self.graded:
            found["grade"] = np.asarray(merged["grade"], dtype=np.int8)
        return found


def _number_ids(
    source: Source, pair: tuple[str, str], means: str | None, further: _Further, *, chosen: bool
) -> None:
    """Say what each row means (``judged``), and number items and annotators."""
    run, (left, right) = source.connection.execute, pair
    weighted = "weight" in source.columns
    strength, rows = "1.0", "(SELECT *, rowid AS _row FROM raw)"
    if means is not None:
        # What a row means, named: written out wherever it is used, it would be planned each time.
        means, rows = "_means", f"(SELECT *, rowid AS _row, {means} AS _means FROM raw)"
    reasons = [
        f"WHEN {unanswered(pair, means)} THEN {quoted(NOT_ANSWERED)}",
        f'WHEN "{left}" = "{right}" THEN \'self-pair\'',
    ]
    if means is not None:
        strength = (
            f"CASE {means} WHEN 'left' THEN 1.0 WHEN 'right' THEN 0.0 WHEN 'tie' THEN 0.5 "
            f"{_STRONG if further.graded else ''}ELSE try_cast({means} AS DOUBLE) END"
        )
        reasons.insert(0, f"WHEN {means} IN ('skip', 'failed') THEN {means}")
    if chosen:
        reasons.insert(0, "WHEN other THEN 'other criterion'")
    if weighted:
        reasons.append("WHEN weight::DOUBLE = 0 THEN 'zero weight'")
    kind = "TABLE" if source.rows() <= _FEW_ROWS else "VIEW"
    run(
        f'CREATE TEMP {kind} judged AS SELECT annotator, "{left}" AS l, "{right}" AS r, '
        f"{strength}::DOUBLE AS outcome, {'weight::DOUBLE' if weighted else '1.0'} AS weight, "
        f"CASE {' '.join(reasons)} END AS reason, _row AS n, "
        f"{'location' if 'location' in source.columns else 'NULL'} AS location, "
        f"{'reason' if 'reason' in source.columns else 'NULL'} AS detail, "
        f"{'seconds' if 'seconds' in source.columns else 'NULL'} AS seconds, "
        f"{_screen_column(source) or 'NULL'} AS screen{further.judged(means)} FROM {rows}"
    )
    # Items in two steps: DuckDB 1 knows no groups of what it takes apart.
    sides = "SELECT unnest([l, r]) AS id FROM judged WHERE reason IS NULL"
    for table, ids in (
        ("item", f"SELECT id FROM ({sides}) GROUP BY id"),
        ("annotator_id", "SELECT DISTINCT annotator AS id FROM judged WHERE reason IS NULL"),
        *((f"{name}_id", _distinct(name)) for name in further.coded),
    ):
        run(
            f"CREATE TEMP TABLE {table} AS SELECT id, (row_number() OVER ({NATURAL}) - 1)::INTEGER "
            f"AS code FROM ({ids})"
        )


def _distinct(name: str) -> str:
    return f'SELECT DISTINCT "{name}" AS id FROM judged WHERE reason IS NULL AND "{name}" NOT NULL'


def _merged(source: Source, means: str | None, further: _Further) -> dict[str, Any]:
    """Fetch the rows that can be fitted, equal ones as one."""
    # An ordered sum, so that the same weights add up to the same bits whatever the threads did.
    # Columns that are constant are not fetched: they would be most of the memory.
    columns = ["a.code AS annotator", "x.code AS l", "y.code AS r", "count(*)::INTEGER AS n"]
    columns += ["outcome"] if means is not None else []
    columns += ["sum(weight ORDER BY weight) AS weight"] if "weight" in source.columns else []
    columns += further.selected
    order = ["1", "2", "3", *(["outcome"] if means is not None else []), *further.keys]
    found: dict[str, Any] = source.connection.execute(
        f"SELECT {', '.join(columns)} FROM judged JOIN annotator_id a ON a.id = annotator "
        f"JOIN item x ON x.id = l JOIN item y ON y.id = r{further.joined} WHERE reason IS NULL "
        f"GROUP BY ALL ORDER BY {', '.join(order)}"
    ).fetchnumpy()
    return found


def _set_aside(source: Source) -> Unfitted:
    """Fetch the rows that cannot be fitted, and why."""
    # Of a table without such a column, they are NULLs that older DuckDBs take for integers.
    aside = source.connection.execute(
        "SELECT coalesce(annotator, '') AS annotator, coalesce(l, '') AS l, coalesce(r, '') AS r, "
        "reason, count(*) AS times, coalesce(detail::VARCHAR, '') AS detail, "
        "coalesce(min_by(location::VARCHAR, n), 'row ' || (min(n) + 1)) AS location "
        "FROM judged WHERE reason IS NOT NULL "
        "GROUP BY annotator, l, r, reason, detail ORDER BY reason, annotator, l, r, detail"
    ).fetchnumpy()
    return Unfitted(
        _objects(aside["annotator"]),
        _objects(aside["l"]),
        _objects(aside["r"]),
        _objects(aside["reason"]),
        np.asarray(aside["times"], dtype=np.int64),
        _objects(aside["location"]),
        _objects(aside["detail"]),
    )


def _ids(source: Source, table: str) -> TextArray:
    """Fetch the ids of a table in the order of their codes."""
    found = source.connection.execute(f"SELECT id FROM {table} ORDER BY code").fetchnumpy()
    return _objects(found["id"])


def _row_values(merged: dict[str, Any]) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return outcomes, weights and counts of the rows; those that are all 1 take no memory."""
    rows = len(merged["n"])
    number: IntArray = np.broadcast_to(np.int64(1), (rows,))
    if (merged["n"] != 1).any():
        number = np.asarray(merged["n"], dtype=np.int64)
    ones = constant(1.0, rows)
    counted = ones if number.strides == (0,) else number
    outcome = np.asarray(merged.get("outcome", ones), dtype=np.float64)
    weight = np.asarray(merged.get("weight", counted), dtype=np.float64)
    return (
        ones if (outcome == 1.0).all() else outcome,
        ones if (weight == 1.0).all() else weight,
        number,
    )


def _screen_column(source: Source) -> str | None:
    return next((name for name in ("ranking", "screen") if name in source.columns), None)


def _screens(source: Source, means: str | None, further: _Further) -> dict[str, Any]:
    """Return which ranking or screen each fitted judgment is of, in the order of the merged rows.

    A judgment that names none is a screen of its own. What each weighs is told where judgments that
    are merged weigh differently: the sum of a row does not tell.
    """
    if _screen_column(source) is None:
        return {}
    keys = ["a.code AS a", "x.code AS x", "y.code AS y"]
    keys += ["outcome"] if means is not None else []
    names = ["a", "x", "y", *(["outcome"] if means is not None else []), *further.keys]
    found = source.connection.execute(
        "SELECT dense_rank() OVER (ORDER BY annotator, screen, CASE WHEN screen IS NULL THEN n END)"
        f" - 1 AS screen, weight, {', '.join([*keys, *further.selected])} FROM judged "
        "JOIN annotator_id a ON a.id = annotator JOIN item x ON x.id = l "
        f"JOIN item y ON y.id = r{further.joined} WHERE reason IS NULL "
        f"ORDER BY {', '.join(names)}, 1, weight"
    ).fetchnumpy()
    weight = np.asarray(found["weight"], dtype=np.float64)
    again = np.ones(max(len(weight) - 1, 0), dtype=bool)
    for name in names:
        again &= np.asarray(found[name][1:] == found[name][:-1])
    unequal = bool((again & (weight[1:] != weight[:-1])).any())
    return {
        "screen": np.asarray(found["screen"], dtype=np.int64),
        "screen_weight": weight if unequal else None,
    }


def _with_acts(
    judgments: Judgments, source: Source, further: _Further, kind: RankingWeight, *, surely: bool
) -> Judgments:
    """Weigh the pairs of rankings and screens that the table names, or that are recognised."""
    weighed = "weight" in source.columns
    if judgments.screen is not None:
        named, columns = Acts.named(judgments)
        dependent = "ranking" in source.columns or named.depend(columns)
        if weighed or not named.several.any() or not dependent:
            return judgments
        return named.weighing(judgments, np.arange(judgments.n_judgments), None, kind)
    keys = ["a.code AS annotator", "x.code AS l", "y.code AS r", "outcome", "weight"]

    def fetched(most: int) -> dict[str, Any]:
        found: dict[str, Any] = source.connection.execute(
            f"SELECT {', '.join([*keys, *further.selected])} FROM judged "
            "JOIN annotator_id a ON a.id = annotator JOIN item x ON x.id = l "
            f"JOIN item y ON y.id = r{further.joined} WHERE reason IS NULL AND n < {most:d} "
            "ORDER BY n"
        ).fetchnumpy()
        return found

    def columns_of(most: int) -> Columns:
        rows = fetched(most)
        annotator, left, right = (np.asarray(rows[k], np.int32) for k in ("annotator", "l", "r"))
        for name in further.coded:  # what is of two contexts or categories is not one ranking
            code = np.asarray(rows[f"{name}_code"], np.int64) + 1
            whose = annotator * (int(code.max(initial=0)) + 1) + code
            annotator = np.unique(whose, return_inverse=True)[1].astype(np.int32)
        return Columns(annotator, left, right, np.asarray(rows["outcome"], np.float64))

    acts = Acts.recognised(source.rows(), columns_of, surely=surely)
    if acts is None:
        return judgments
    rows = fetched(source.rows())
    names = ["annotator", "l", "r", "outcome", *further.keys]
    order = np.lexsort([np.asarray(rows[name]) for name in reversed(names)])
    weight = np.asarray(rows["weight"], np.float64) if weighed else None
    return acts.weighing(judgments, order, weight, kind)


def _seconds(source: Source, annotators: int) -> FloatArray | None:
    """Return the median time that each annotator took for a judgment, where it is known."""
    if "seconds" not in source.columns:
        return None
    found = source.connection.execute(
        "SELECT a.code, median(t) FROM (SELECT annotator, try_cast(seconds AS DOUBLE) AS t "
        "FROM judged WHERE reason IS NULL) JOIN annotator_id a ON a.id = annotator "
        "WHERE isfinite(t) AND t >= 0 GROUP BY a.code"
    ).fetchall()
    seconds = np.full(annotators, np.nan)
    for code, median in found:
        seconds[code] = median
    return None if np.isnan(seconds).all() else seconds


def _objects(column: Any) -> TextArray:
    return np.asarray(column, dtype=object)


def _too_little(source: Source, unfitted: Unfitted) -> str:
    aside = ", ".join(f"{n:,} {reason}" for reason, n in unfitted.counts.items())
    return (
        f"{source.name}: fewer than two items have a judgment that can be fitted "
        f"({count(source.rows(), 'row')} read; set aside: {aside or 'none'}); "
        "add judgments between different items."
    )
