"""PrefLib: orders of anonymous voters (.soc, .soi, .toc, .toi), with old and new headers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from aggcal.errors import OptionError, TableError
from aggcal.io.choices import Choices
from aggcal.io.formats.base import Format, Notes, Records, Row
from aggcal.io.formats.orders import Orders

KINDS = ("soc", "soi", "toc", "toi")
"""Strict or with ties, complete or incomplete: the kinds of data that hold orders."""
_PREFLIB = re.compile(r"^#\s*(NUMBER ALTERNATIVES|DATA TYPE)\s*:", re.MULTILINE | re.IGNORECASE)
_HEADER = re.compile(
    r"#\s*(?:(?P<type>DATA TYPE)|(?P<voters>NUMBER VOTERS)|ALTERNATIVE NAME\s+(?P<number>\d+))"
    r"\s*:\s*(?P<is>.*)",
    re.IGNORECASE,
)
_MOST_ROWS = 2_000_000
_MOST_VOTERS = 1e9
"""Of one order: more is more than a weight may be."""
_MOST_RANKS = 5_000_000
"""Of all orders together, which are held in memory at some 200 bytes each."""

_Order: TypeAlias = tuple[str, int, list[list[int]]]
"""Where an order stands, how many voters gave it, and its tiers."""


def _is_preflib(head: str) -> bool:
    start = head.lstrip("\ufeff \t\r\n")
    if start.startswith("#"):
        return bool(_PREFLIB.search(start))
    lines = start.splitlines()
    return len(lines) > 1 and lines[0].strip().isdigit() and bool(re.match(r"\s*1\s*,", lines[1]))


def _rows(records: Records, choices: Choices, notes: Notes) -> Iterator[Row]:
    names, parsed, claimed = _parsed(records)
    twice = Counter(names.values())
    labels = {k: f"{v} ({k})" if twice[v] > 1 else v for k, v in names.items()}
    voters = sum(number for _, number, _ in parsed)
    if claimed not in (None, voters):
        notes.append(f"the header gives {claimed:,} voters, the orders are those of {voters:,}")
    sizes = ((sum(map(len, tiers)), number) for _, number, tiers in parsed)
    as_weights = sum(k * (k - 1) // 2 * n for k, n in sizes) > _MOST_ROWS
    orders, voter = Orders(choices.ranking_weight), 0
    for location, number, tiers in parsed:
        named = [[labels.get(k, str(k)) for k in tier] for tier in tiers]
        for _ in range(1 if as_weights else number):
            voter += 1
            who = f"order {voter} ({number} voters)" if as_weights else f"voter {voter}"
            like = Row(choices.made_up(who), None, None, "", location, ranking=f"order {voter}")
            weight = float(number) if as_weights else 1.0
            yield from orders.apart(named, like._replace(weight=weight))
    orders.number = voters
    each = "each is one annotator"
    if as_weights:
        each = "each order is one annotator, weighted by its voters"
    notes += [*orders.notes, f"voters are anonymous: {each}"]


def _parsed(lines: Records) -> tuple[dict[int, str], list[_Order], int | None]:
    """Return the names of the alternatives, the orders, and the voters that the header tells."""
    names: dict[int, str] = {}
    claimed: int | None = None
    orders: list[_Order] = []
    most: int | None = None  # alternatives of an old header
    counts = False  # whether the next line of an old header holds its counts
    ranks = 0
    for location, raw in lines:
        line = str(raw).strip("\ufeff \t\r\n")
        if line.startswith("#"):
            voters = _header(line, location, names)
            claimed = claimed if voters is None else voters
        elif line and most is None and not orders and line.isdigit():
            most, counts = _number(line, location), True
        elif line and most is not None and len(names) < most:
            number, comma, label = line.partition(",")
            if not comma:
                raise TableError(f"{location}: is not 'number,name of an alternative'.")
            names[_number(number, location)] = label.strip() or number.strip()
        elif line and counts:
            counts, claimed = False, _number(line.split(",")[0], location)
        elif line:
            orders.append(_order(line, location, names))
            ranks += sum(map(len, orders[-1][2]))
            if ranks > _MOST_RANKS:
                raise TableError(
                    f"{location}: the orders so far rank more than {_MOST_RANKS:,} alternatives, "
                    "which is too much to read at once; split the file."
                )
    return names, orders, claimed


def _header(line: str, location: str, names: dict[int, str]) -> int | None:
    """Read a line of the new header; return the voters if it tells them."""
    header = _HEADER.match(line)
    if header is None:
        return None
    said = header["is"].strip()
    if header["type"] and said.lower() not in KINDS:
        raise TableError(
            f"{location}: is PrefLib data of the type '{said}'; those with orders can be read: "
            f"{', '.join(KINDS)}."
        )
    if header["number"]:
        names[_number(header["number"], location)] = said or header["number"]
    voters = re.match(r"\d+", said) if header["voters"] else None
    return None if voters is None else _number(voters[0], location)


def _order(line: str, location: str, names: dict[int, str]) -> _Order:
    number, _, order = line.partition(":" if ":" in line else ",")
    voters = _number(number, location)
    if voters > _MOST_VOTERS:
        raise TableError(f"{location}: gives {voters} voters; correct the line.")
    tiers = []
    for part in re.findall(r"\{[^{}]*\}|[^,{}]+|[{}]", order):
        inside = part[1:-1].split(",") if re.fullmatch(r"\{.*\}", part) else [part]
        tiers.append([_number(k, location) for k in inside if k.strip()])
    tiers = [tier for tier in tiers if tier]
    if not tiers or voters == 0:
        raise TableError(f"{location}: is not 'count: order', such as '3: 1,2,{{3,4}}'.")
    unnamed = next((k for tier in tiers for k in tier if names and k not in names), None)
    if unnamed is not None:
        raise TableError(
            f"{location}: ranks the alternative {unnamed}, which the header does not name; "
            "correct the line."
        )
    return location, voters, tiers


def _number(text: str, location: str) -> int:
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 15:  # noqa: PLR2004
        raise TableError(
            f"{location}: '{digits[:30]}' is not a whole number; PrefLib orders look like "
            "'3: 1,2,{3,4}'."
        )
    return int(digits)


def preflib_lines(orders: Iterable[tuple[tuple[str, ...], ...]], title: str) -> Iterator[str]:
    r"""Write orders (tiers of items, the best first) as a PrefLib file with the new header.

    Examples
    --------
    >>> print("\n".join(preflib_lines([(("b",), ("a",)), (("b",), ("a",))], "two")))
    # FILE NAME: two
    # TITLE: two
    # DATA TYPE: soc
    # NUMBER ALTERNATIVES: 2
    # NUMBER VOTERS: 2
    # NUMBER UNIQUE ORDERS: 1
    # ALTERNATIVE NAME 1: a
    # ALTERNATIVE NAME 2: b
    2: 2,1
    """
    counted = Counter(orders)
    items = sorted({item for order in counted for tier in order for item in tier})
    broken = [item for item in items if "\n" in item or "\r" in item]
    if broken:
        raise OptionError(f"PrefLib names have one line, and {broken[0]!r} has several; rename it.")
    number = {item: k for k, item in enumerate(items, 1)}
    ties = any(len(tier) > 1 for order in counted for tier in order)
    complete = all(sum(map(len, order)) == len(items) for order in counted)
    title = " ".join(title.split())
    yield f"# FILE NAME: {title}"
    yield f"# TITLE: {title}"
    yield f"# DATA TYPE: {'t' if ties else 's'}o{'c' if complete else 'i'}"
    yield f"# NUMBER ALTERNATIVES: {len(items)}"
    yield f"# NUMBER VOTERS: {counted.total()}"
    yield f"# NUMBER UNIQUE ORDERS: {len(counted)}"
    for item, k in number.items():
        yield f"# ALTERNATIVE NAME {k}: {item}"
    for order, voters in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])):
        tiers = [sorted(number[item] for item in tier) for tier in order]
        written = [str(t[0]) if len(t) == 1 else f"{{{','.join(map(str, t))}}}" for t in tiers]
        yield f"{voters}: {','.join(written)}"


PREFLIB = {
    "preflib": Format(
        rows=_rows,
        is_text=_is_preflib,
        summary="PrefLib orders: .soc, .soi, .toc, .toi, old and new headers",
    )
}
