"""What of a long table fits into a page that is to stay light: so many rows, names and texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from aggcal.pages.document import Column, Listing
from aggcal.pages.numbers import cut

MOST_ROWS = 200_000
"""Rows of a table: more would make the page too heavy to open."""
_NAMES, _TEXTS = (10_000, 400_000), (20_000, 3_000_000)
"""Where a name and a text is cut, and how many bytes those of a table may take: the page stays
below 5 MB."""
_SHORTEST = 80  # characters that stay of each, however many there are


def fitted(listing: Listing) -> tuple[Listing, list[str]]:
    """Return a table as far as it fits into a page, and what a reader is told of the rest.

    Its numbers have the decimals that are shown of them.

    Examples
    --------
    >>> column = Column("item", "Item", "name", ["a" * 20_000, "b"])
    >>> table, notes = fitted(Listing("t", "item", "", [column], "item", file="items.csv"))
    >>> len(table.columns[0].values[0]), notes[0][:36]
    (10001, 'Names are cut to 10,000 characters h')
    """
    n, notes = listing.n, list[str]()
    where = f"; all are in {listing.file}" if listing.file else ""
    columns, texts, order = list(map(_fitted, listing.columns)), listing.texts, listing.order
    if n > MOST_ROWS:
        texts = None if texts is None else texts[:MOST_ROWS]
        order = None if order is None else [k for k in order if k < MOST_ROWS]
        notes.append(f"This page lists the first {MOST_ROWS:,} of {n:,}{where}.")
    for k, column in enumerate(columns):
        if column.kind == "name":
            names, longest = _cut(column.values, *_NAMES)
            columns[k] = replace(column, values=names)
            if longest is not None:
                whole = f"; {listing.file} has them in full" if listing.file else ""
                said = f"Names are cut to {longest:,} characters here, also for searching"
                notes.append(f"{said}{whole}.")
    if texts is not None:
        texts, longest = _cut(texts, *_TEXTS)
        if longest is not None:
            notes.append(f"Texts are cut to {longest:,} characters here, also for searching.")
    return replace(listing, columns=columns, texts=texts, order=order), notes


def _fitted(column: Column) -> Column:
    kept: dict[str, Any] = {"notes": column.notes[:MOST_ROWS]}
    for name in ("values", "low", "high"):
        values = getattr(column, name)
        if values is None:
            continue
        values = values[:MOST_ROWS]
        if column.decimals is not None and getattr(values, "dtype", None) == np.float64:
            values = np.round(values, column.decimals)
        kept[name] = values
    return replace(column, **kept)


def _cut(texts: Sequence[str], most: int, room: int) -> tuple[list[str], int | None]:
    """Cut texts so that all of them fit into some bytes; return to what length, if any was cut.

    Only the long ones pay for it: what is shorter than that stays whole.
    """
    length = np.array([len(text) for text in texts], dtype=np.float64)
    size = np.array([len(text.encode("utf-8", "replace")) for text in texts], dtype=np.float64)
    each = size / np.maximum(length, 1.0)
    low, high = _SHORTEST, most
    while low < high:
        middle = (low + high + 1) // 2
        fits = float(np.minimum(length, middle) @ each) <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    return [cut(text, low) for text in texts], low if length.max(initial=0.0) > low else None
