"""Ids under one spelling: aliases read from a table, and rows of judgments changed in place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from aggcal.data.spelling import KINDS, Kind, Spelling, merged_note
from aggcal.errors import OptionError, TableError, count, some
from aggcal.io.formats._labels import is_label
from aggcal.io.formats._synonyms import LEFT_RIGHT, OUTCOME
from aggcal.io.tables.opening import opened
from aggcal.io.tables.reading import peek
from aggcal.io.tables.source import Source, cell

_ALIAS = ("alias", "from", "old", "variant", "spelling", "nickname", "aka", "also known as")
_ID = ("id", "to", "new", "canonical", "item", "annotator", "name", "is", "person", "standard")
_KIND = ("kind", "of")
_COLUMNS = 2  # of a table of aliases, and of a pair


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
        name, found, header = "aliases", [(*pair, "") for pair in aliases.items()], None
    else:
        name, found, header = _read_cells(aliases)
    pairs = _checked(found, name)
    if header is not None:
        # No header that we know: the first line may be a pair like the others.
        pairs = _directed([(*header, ""), *pairs])
    by_kind, notes = _by_kind(pairs, name)
    doubtful = frozenset() if header is None else frozenset(header)
    return Spelling(by_kind, normalize, notes=notes, header=doubtful)


class _EveryColumn(dict[str, str]):
    """Wants every column, under its own name in hexadecimal digits."""

    def __missing__(self, name: str) -> str:
        return f"a{name.encode().hex()}"

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ARG002
        return self[name]

    def __contains__(self, name: object) -> bool:
        return True

    def of(self, names: Iterable[str]) -> list[str]:
        """Return several names."""
        return [self[name] for name in names]


def _read_cells(data: Any) -> tuple[str, list[tuple[Any, ...]], tuple[str, str] | None]:
    """Read a table of aliases: alias, id, and the kind where it is told.

    Returns what the table is called, its rows, and the names of its columns where they may be a
    pair like the others.
    """
    own = _EveryColumn()
    with opened(data, own, what="aliases", shapes={2: ("alias", "id")}) as source:
        names = [name.strip().lower() for name in source.found if name.strip()]
        kind = next((name for name in names if name in _KIND), None)
        two = [name for name in names if name != kind]
        told = any(name in (*_ALIAS, *_ID) for name in two)
        if two and not told and _is_mapping(source) and source.rows() == 1:
            row = source.connection.execute(f"SELECT {', '.join(map(cell, own.of(two)))} FROM raw")
            original = {name.strip().lower(): name.strip() for name in source.found}
            spelt = [original[name] for name in two]
            return source.name, list(zip(spelt, row.fetchall()[0], [""] * len(two))), None  # noqa: B905
        if len(two) != _COLUMNS:
            raise TableError(
                f"{source.name}: a table of aliases has two columns, alias and id (found: "
                f"{source.columns_found}); leave the others out."
            )
        if two[0] in _ID and two[1] not in _ID:
            two.reverse()
        cells = ", ".join(map(cell, own.of(two)))
        last = cell(own[kind]) if kind is not None else "''"
        found = source.connection.execute(
            f"SELECT {cells}, coalesce({last}, '') FROM raw ORDER BY rowid"
        ).fetchall()
        if not found and told:
            raise TableError(f"{source.name}: has a header but no row; add aliases.")
        header = [name.strip() for name in source.found if name.strip().lower() in two]
        return source.name, found, None if told else (header[0], header[1])


def _is_mapping(source: Source) -> bool:
    """Whether a file is one object of JSON, which maps each alias to its id."""
    if source.path is None or source.path.is_dir():
        return False
    return peek(source.path, source.name, 16).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def _checked(rows: Iterable[tuple[Any, ...]], name: str) -> list[tuple[str, str, str]]:
    """Refuse an alias without an id, and an id without an alias."""
    found = [tuple("" if value is None else str(value).strip() for value in row) for row in rows]
    half = next((row for row in found if not (row[0] and row[1])), None)
    if half is not None:
        raise TableError(
            f"{name}: {some([half[0] or half[1]])} is alone in its row; give the alias and the id "
            "that it means."
        )
    return [(alias, label, of.lower()) for alias, label, of in found]


def _directed(pairs: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Turn pairs round where the first of them stands for several others."""
    first, second = {a for a, _, _ in pairs}, {b for _, b, _ in pairs}
    if len(first) < len(pairs) and len(second) == len(pairs):
        return [(b, a, of) for a, b, of in pairs]
    return pairs


def _by_kind(
    pairs: Iterable[tuple[str, str, str]], name: str
) -> tuple[dict[Kind, dict[str, str]], tuple[str, ...]]:
    """Return what the aliases of each kind stand for, and a note on aliases of aliases."""
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
    ends = {kind: _resolved(mapping, name) for kind, mapping in found.items()}
    chains = {
        alias: f"'{alias}' is '{label}' is '{ends[kind][alias]}'"
        for kind, mapping in found.items()
        for alias, label in mapping.items()
        if ends[kind][alias] != label
    }
    if not chains:
        return ends, ()
    return ends, (f"aliases of aliases were followed ({next(iter(chains.values()))})",)


def _resolved(aliases: Mapping[str, str], name: str) -> dict[str, str]:
    """Follow aliases of aliases to their ends."""
    found = {}
    for alias in aliases:
        label, seen = aliases[alias], [alias]
        while label in aliases:
            if label in seen:
                circle = some(seen[seen.index(label) :], 5)
                raise TableError(
                    f"{name}: {circle} are aliases of each other; remove one of these rows."
                )
            seen.append(label)
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
    if not changed:
        return []
    same = " = ".join(map(cell, columns)) if len(columns) == _COLUMNS else "false"
    before = source.one("count(*)", same)
    _change(source, columns, changed)
    notes = [merged_note(kind, changed)]
    if merged := source.one("count(*)", same) - before:
        verb, are = ("compares", "is") if merged == 1 else ("compare", "are")
        notes.append(
            f"{count(merged, 'judgment')} {verb} two spellings of one item and {are} set aside"
        )
    return notes


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
