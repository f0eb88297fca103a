"""Ids under one spelling: aliases read from a table, and rows of judgments changed in place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from aggcal.data.spelling import KINDS, Kind, Spelling, merged_note
from aggcal.errors import OptionError, TableError, some
from aggcal.io.formats._labels import is_label
from aggcal.io.formats._synonyms import LEFT_RIGHT, OUTCOME
from aggcal.io.tables.opening import opened
from aggcal.io.tables.source import Source, cell

_ALIAS = ("alias", "from", "old", "variant", "spelling", "nickname", "aka", "also known as")
_ID = ("id", "to", "new", "canonical", "item", "annotator", "name", "is", "person", "standard")
_KIND = ("kind", "of")
_COLUMNS = 2  # of a table of aliases


def read_spelling(aliases: Any = None, *, normalize: bool = False) -> Spelling | None:
    """Return how ids are to be spelt; None if as they are.

    Parameters
    ----------
    aliases
        Who is who: a table of two columns, ``alias`` and ``id`` (or of any names: the first is the
        alias), and perhaps ``kind`` (item or annotator); or a mapping.
    normalize
        Whether ids that differ only in case, spacing, punctuation or Unicode form are one.

    Examples
    --------
    >>> spelling = read_spelling({"Bob": "Robert"})
    >>> spelling.of("annotator", "Bob"), spelling.of("item", "Bob")
    ('Robert', 'Robert')
    """
    if aliases is None:
        return Spelling(normalize=True) if normalize else None
    if isinstance(aliases, Mapping) and not isinstance(next(iter(aliases.values()), None), list):
        pairs = [(str(alias), str(label), "") for alias, label in aliases.items()]
        return Spelling(_by_kind(pairs, "aliases"), normalize)
    name, pairs = _read_pairs(aliases)
    return Spelling(_by_kind(pairs, name), normalize)


class _EveryColumn(dict[str, str]):
    """Wants every column, under its own name in hexadecimal digits."""

    def __missing__(self, name: str) -> str:
        return f"a{name.encode().hex()}"

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ARG002
        return self[name]

    def __contains__(self, name: object) -> bool:
        return True


def _read_pairs(data: Any) -> tuple[str, list[tuple[str, str, str]]]:
    """Read a table of aliases: alias, id, and the kind where it is told."""
    own = _EveryColumn()
    with opened(data, own, what="aliases", shapes={2: ("alias", "id")}) as source:
        names = [name.strip().lower() for name in source.found if name.strip()]
        kind = next((name for name in names if name in _KIND), None)
        two = [name for name in names if name != kind]
        if len(two) != _COLUMNS:
            raise TableError(
                f"{source.name}: a table of aliases has two columns, alias and id (found: "
                f"{source.columns_found}); leave the others out."
            )
        told = any(name in (*_ALIAS, *_ID) for name in two)
        if two[0] in _ID and two[1] not in _ID:
            two.reverse()
        cells = ", ".join(cell(own[name]) for name in two)
        last = cell(own[kind]) if kind is not None else "''"
        found = source.connection.execute(
            f"SELECT {cells}, coalesce({last}, '') FROM raw ORDER BY rowid"
        ).fetchall()
        if not told:
            # No header that we know: the first line may be a pair like the others.
            original = [name.strip() for name in source.found if name.strip().lower() in two]
            found.insert(0, (*original, ""))
        half = next((row for row in found if not (row[0] and row[1])), None)
        if half is not None:
            raise TableError(
                f"{source.name}: {some([half[0] or half[1]])} is alone in its row; give the "
                "alias and the id that it means."
            )
        pairs = [(str(a), str(b), str(of).strip().lower()) for a, b, of in found]
        return source.name, pairs if told else _directed(pairs)


def _directed(pairs: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Turn pairs round where the first of them stands for several others."""
    first, second = {a for a, _, _ in pairs}, {b for _, b, _ in pairs}
    if len(first) < len(pairs) and len(second) == len(pairs):
        return [(b, a, of) for a, b, of in pairs]
    return pairs


def _by_kind(pairs: Iterable[tuple[str, str, str]], name: str) -> dict[Kind, dict[str, str]]:
    found: dict[Kind, dict[str, str]] = {kind: {} for kind in KINDS}
    for alias, label, of in pairs:
        if of and of not in KINDS:
            raise TableError(
                f"{name}: '{of}' is not a kind of id; write item or annotator, or leave it blank."
            )
        for kind in KINDS:
            if of in ("", kind) and alias != label:
                before = found[kind].setdefault(alias, label)
                if before != label:
                    raise TableError(
                        f"{name}: '{alias}' is an alias of both '{before}' and '{label}'; keep one."
                    )
    return {kind: _resolved(mapping, name) for kind, mapping in found.items()}


def _resolved(aliases: Mapping[str, str], name: str) -> dict[str, str]:
    """Follow aliases of aliases to their ends."""
    found = {}
    for alias in aliases:
        label, seen = aliases[alias], {alias}
        while label in aliases:
            if label in seen:
                raise TableError(
                    f"{name}: '{alias}' and '{aliases[alias]}' are aliases of each other; keep one "
                    "of the two."
                )
            seen.add(label)
            label = aliases[label]
        found[alias] = label
    return found


def respell_sides(source: Source, spelling: Spelling) -> list[str]:
    """Respell the items of a table whose outcome may name one of them, and that outcome."""
    sides = next((pair for pair in LEFT_RIGHT if set(pair) <= source.columns), None)
    if sides is None:
        return []
    notes = _respelt(source, sides, "item", spelling)
    said = next((n for n in OUTCOME if n in source.columns and n not in sides), None)
    if said is not None:
        values = {
            v: spelling.of("item", v) for v, _ in source.frequencies(cell(said), _given(said))
        }
        changed = {v: now for v, now in values.items() if v != now and not is_label(v)}
        _change(source, (said,), changed)
    return notes


def respell(source: Source, spelling: Spelling) -> list[str]:
    """Respell items and annotators of rows that have our own columns."""
    items = [name for name in ("left", "right", "winner", "loser") if name in source.columns]
    notes = _respelt(source, items, "item", spelling)
    notes += _respelt(source, ("annotator",), "annotator", spelling)
    _refuse_both(source, items, spelling)
    return notes


def _refuse_both(source: Source, items: Sequence[str], spelling: Spelling) -> None:
    """Refuse an alias that may mean an item or an annotator."""
    both = spelling.aliases.get("item", {}).keys() & spelling.aliases.get("annotator", {}).keys()
    changed = set(spelling.aliases.get("item", {}).values()) if both else set()
    if not changed:
        return
    there = {v for c in items for v, _ in source.frequencies(cell(c), _given(c))}
    who = {v for v, _ in source.frequencies("annotator", "annotator IS NOT NULL")}
    doubtful = sorted(changed & there & who)
    if doubtful:
        raise OptionError(
            f"the alias of {some(doubtful)} may mean an item or an annotator; add a column 'kind' "
            "to the aliases that says item or annotator."
        )


def _respelt(source: Source, columns: Sequence[str], kind: Kind, spelling: Spelling) -> list[str]:
    counts: dict[str, int] = {}
    for column in columns:
        for value, number in source.frequencies(cell(column), _given(column)):
            counts[value] = counts.get(value, 0) + number
    changed = spelling.learn(kind, counts)
    _change(source, columns, changed)
    return [merged_note(kind, changed)] if changed else []


def _given(column: str) -> str:
    return f"{cell(column)} IS NOT NULL"


def _change(source: Source, columns: Sequence[str], changed: Mapping[str, str]) -> None:
    if not changed:
        return
    table = {"was": [*changed], "now": [*changed.values()]}
    connection = source.connection
    arrays = {name: np.array(values, dtype=object) for name, values in table.items()}
    connection.register("respelt", arrays)
    try:
        for column in columns:
            name = cell(column)
            connection.execute(
                f"UPDATE raw SET {name} = respelt.now FROM respelt WHERE raw.{name} = respelt.was"
            )
    finally:
        connection.unregister("respelt")
