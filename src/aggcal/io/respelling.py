"""Who is who: aliases, read from a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from aggcal.data.spelling import KINDS, Kind, Spelling
from aggcal.errors import TableError, some
from aggcal.io.saving import scratch_folder
from aggcal.io.tables import listed, opened

_COLUMNS = {
    "alias": ("alias", "from", "old", "variant", "spelling", "nickname", "aka", "also known as"),
    "id": ("id", "to", "new", "canonical", "item", "annotator", "name", "is", "person", "standard"),
    "kind": ("kind", "of"),
}
"""What the columns of a table of aliases may be called, the surest name first."""


def read_spelling(aliases: Any = None, *, normalize: bool = False) -> Spelling | None:
    """Return how ids are to be spelt; None if as they are.

    Parameters
    ----------
    aliases
        Who is who: a table of two columns, ``alias`` and ``id``, and perhaps ``kind`` (item or
        annotator); or a mapping.
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
        found: Iterable[tuple[Any, ...]] = [(*pair, "") for pair in aliases.items()]
        name = "aliases"
    else:
        name, found = _rows(aliases)
    by_kind = _by_kind(found, name)
    ends = {kind: _resolved(mapping, name) for kind, mapping in by_kind.items()}
    chains = [
        f"'{alias}' is '{label}' is '{ends[kind][alias]}'"
        for kind, mapping in by_kind.items()
        for alias, label in mapping.items()
        if ends[kind][alias] != label
    ]
    notes = (f"aliases of aliases were followed ({chains[0]})",) if chains else ()
    return Spelling(ends, normalize, notes=notes)


def _rows(data: Any) -> tuple[str, list[tuple[str | None, ...]]]:
    """Return what a table is called, and of each row the alias, the id, and the kind."""
    every = {name for names in _COLUMNS.values() for name in names}
    with scratch_folder() as scratch:
        table = opened(data, scratch, names=every, what="aliases", shapes={2: ("alias", "id")})
        have = [name for name in table.columns if name]
        named = {
            own: next((name for name in names if name in have), None)
            for own, names in _COLUMNS.items()
        }
        asked = [name for name in named.values() if name is not None]
        if named["alias"] is None or named["id"] is None or len(asked) < len(have):
            raise TableError(
                f"{table.name}: the first line must name two columns, alias and id (found: "
                f"{listed(table.header)}); leave others out."
            )
        loaded = {name: column.cells() for name, column in table.load(asked).items()}
        blank: list[str | None] = [""] * len(table)
        cells = (blank if name is None else loaded[name] for name in named.values())
        rows = [row for row in zip(*cells, strict=True) if any(row)]
        if not rows:
            raise TableError(f"{table.name}: has a header but no row; add aliases.")
        return table.name, rows


def _by_kind(rows: Iterable[tuple[Any, ...]], name: str) -> dict[Kind, dict[str, str]]:
    """Return what the aliases of each kind stand for."""
    found: dict[Kind, dict[str, str]] = {kind: {} for kind in KINDS}
    for row in rows:
        alias, label, of = ("" if cell is None else str(cell).strip() for cell in row)
        if not (alias and label):
            raise TableError(
                f"{name}: {some([alias or label])} is alone in its row; give the alias and the id "
                "that it means."
            )
        if of and of.lower() not in KINDS:
            raise TableError(
                f"{name}: '{of}' is not a kind of id; write item or annotator, or leave it blank."
            )
        for kind in KINDS:
            if of.lower() in ("", kind) and alias != label:
                before = found[kind].setdefault(alias, label)
                if before != label:
                    raise TableError(
                        f"{name}: '{alias}' is an alias of both '{before}' and '{label}'; keep one."
                    )
    return found


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
