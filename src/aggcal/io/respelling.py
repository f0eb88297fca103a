"""Who is who: aliases, read from a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from aggcal.data.spelling import KINDS, Kind, Spelling
from aggcal.errors import TableError, some
from aggcal.io.saving import scratch_folder
from aggcal.io.tables import listed, opened

_ALIAS = ("alias", "from", "old", "variant", "spelling", "nickname", "aka", "also known as")
_ID = ("id", "to", "new", "canonical", "item", "annotator", "name", "is", "person", "standard")
_KIND = ("kind", "of")
_SHAPES = {2: ("alias", "id")}


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
        found: Iterable[tuple[Any, ...]] = [(*pair, "") for pair in aliases.items()]
        name, header = "aliases", None
    else:
        name, found, header = _read_cells(aliases)
    pairs = _checked(found, name)
    if header is not None:
        # No header that we know: the first line may be a pair like the others.
        pairs = _directed([(*header, ""), *pairs])
    by_kind, notes = _by_kind(pairs, name)
    doubtful = frozenset() if header is None else frozenset(header)
    return Spelling(by_kind, normalize, notes=notes, header=doubtful)


def _read_cells(
    data: Any,
) -> tuple[str, list[tuple[str | None, ...]], tuple[str, str] | None]:
    """Read a table of aliases: alias, id, and the kind where it is told.

    Returns what the table is called, its rows, and the names of its columns where they may be a
    pair like the others.
    """
    with scratch_folder() as scratch:
        names = {*_ALIAS, *_ID, *_KIND}
        table = opened(data, scratch, names=names, what="aliases", shapes=_SHAPES)
        header = {name: spelt.strip() for name, spelt in table.columns.items() if name}
        kind = next((name for name in header if name in _KIND), None)
        two = [name.strip().lower() for name in table.header if name.strip()]
        two = [name for name in two if name != kind]
        told = any(name in (*_ALIAS, *_ID) for name in two)
        if two and not told and table.delimiter is None and len(table) == 1 and table.path:
            # One object of JSON, which maps each alias to its id.
            cells = [table.load([name])[name].at(0) for name in two]
            pairs = zip((header[name] for name in two), cells, strict=True)
            return table.name, [(*pair, "") for pair in pairs], None
        if len(two) != len(_SHAPES[2]):
            raise TableError(
                f"{table.name}: a table of aliases has two columns, alias and id (found: "
                f"{listed(table.header)}); leave the others out."
            )
        if two[0] in _ID and two[1] not in _ID:
            two.reverse()
        loaded = table.load([*two, *([kind] if kind else [])])
        columns = [column.cells() for column in loaded.values()]
        columns += [] if kind else [[""] * len(table)]
        rows = [row for row in zip(*columns, strict=True) if any(row)]
        if not rows and told:
            raise TableError(f"{table.name}: has a header but no row; add aliases.")
        one, other = (header[name] for name in two)
        return table.name, rows, None if told else (one, other)


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
