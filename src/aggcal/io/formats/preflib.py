"""PrefLib: orders of anonymous voters (.soc, .soi, .toc, .toi), with old and new headers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from aggcal.errors import OptionError, TableError
from aggcal.io.formats._base import Choices, Notes, Row, TextFormat
from aggcal.io.formats._orders import Opinion, pairs_of_order, stated
from aggcal.io.formats._sample import Sample

KINDS = ("soc", "soi", "toc", "toi")
"""Strict or with ties, complete or incomplete: the kinds of data that hold orders."""

_NAME = re.compile(r"#\s*ALTERNATIVE NAME\s+(\d+)\s*:\s*(.*)", re.IGNORECASE)
_KIND = re.compile(r"#\s*DATA TYPE\s*:\s*(\w+)", re.IGNORECASE)
_PREFLIB = re.compile(r"^#\s*(NUMBER ALTERNATIVES|DATA TYPE)\s*:", re.MULTILINE | re.IGNORECASE)
_VOTERS = re.compile(r"#\s*NUMBER VOTERS\s*:\s*(\d+)", re.IGNORECASE)
_MOST_ROWS = 2_000_000
_MOST_VOTERS = 1e9
"""Of one order: more is more than a weight may be."""
_MOST_RANKS = 5_000_000
"""Of all orders together, which are held in memory at some 200 bytes each."""

_Order: TypeAlias = tuple[str, int, list[list[int]]]
"""Where an order stands, how many voters gave it, and its tiers."""


def _is_mine(sample: Sample) -> bool:
    text = sample.text.lstrip("\ufeff \t\r\n")
    if text.startswith("#"):
        return bool(_PREFLIB.search(text))
    lines = text.splitlines()
    return len(lines) > 1 and lines[0].strip().isdigit() and bool(re.match(r"\s*1\s*,", lines[1]))


def _rows(lines: Iterator[tuple[int, str]], choices: Choices, notes: Notes) -> Iterator[Row]:
    names, orders, claimed = _parsed(lines)
    repeated = {label for label, n in Counter(names.values()).items() if n > 1}
    labels = {k: f"{v} ({k})" if v in repeated else v for k, v in names.items()}
    _refuse_unnamed(names, orders)
    voters = sum(number for _, number, _ in orders)
    if claimed is not None and claimed != voters:
        notes.append(f"the header gives {claimed:,} voters, the orders are those of {voters:,}")
    sizes = [(sum(map(len, tiers)), number) for _, number, tiers in orders]
    as_weights = sum(k * (k - 1) // 2 * n for k, n in sizes) > _MOST_ROWS
    pairs = voter = 0
    for location, number, tiers in orders:
        named = [[labels.get(k, str(k)) for k in tier] for tier in tiers]
        copies, each = (1, float(number)) if as_weights else (number, 1.0)
        for _ in range(copies):
            voter += 1
            who = f"voter {voter}" if not as_weights else f"order {voter} ({number} voters)"
            opinion = Opinion(choices.made_up(who), location, f"order {voter}", voters=each)
            for row in pairs_of_order(named, opinion, choices.ranking_weight):
                pairs += row.outcome != "skip"
                yield row
    notes.append(stated(voters, pairs, "ranking", choices.ranking_weight))
    notes.append(
        "voters are anonymous: "
        + (
            "each order is one annotator, weighted by its voters"
            if as_weights
            else "each is one annotator"
        )
    )


def _parsed(
    lines: Iterator[tuple[int, str]],
) -> tuple[dict[int, str], list[_Order], int | None]:
    """Return the names of the alternatives, the orders, and the voters that the header tells."""
    names: dict[int, str] = {}
    claimed: int | None = None
    orders: list[_Order] = []
    old: list[int] = []
    ranks = 0
    for n, raw in lines:
        line = raw.strip("\ufeff \t\r\n")
        location = f"line {n}"
        if not line:
            continue
        if line.startswith("#"):
            _header(line, location, names)
            if (found := _VOTERS.match(line)) is not None:
                claimed = _number(found[1], location)
        elif not old and not orders and line.isdigit():
            old.append(_number(line, location))
        elif old and len(names) < old[0]:
            number, comma, label = line.partition(",")
            if not comma:
                raise TableError(f"{location}: is not 'number,name of an alternative'.")
            names[_number(number, location)] = label.strip() or number.strip()
        elif old and len(old) == 1:
            old.append(n)  # the voters, the sum of their orders, and the unique orders
            claimed = _number(line.split(",")[0], location)
        else:
            orders.append(_order(line, location))
            ranks += sum(map(len, orders[-1][2]))
            if ranks > _MOST_RANKS:
                raise TableError(
                    f"{location}: the orders so far rank more than {_MOST_RANKS:,} alternatives, "
                    "which is too much to read at once; split the file."
                )
    return names, orders, claimed


def _refuse_unnamed(names: dict[int, str], orders: list[_Order]) -> None:
    for location, _, tiers in orders:
        unnamed = next((k for tier in tiers for k in tier if names and k not in names), None)
        if unnamed is not None:
            raise TableError(
                f"{location}: ranks the alternative {unnamed}, which the header does not name; "
                "correct the line."
            )


def _header(line: str, location: str, names: dict[int, str]) -> None:
    kind, found = _KIND.match(line), _NAME.match(line)
    if kind and kind[1].lower() not in KINDS:
        raise TableError(
            f"{location}: is PrefLib data of the type '{kind[1]}'; those with orders can be read: "
            f"{', '.join(KINDS)}."
        )
    if found:
        names[_number(found[1], location)] = found[2].strip() or found[1]


def _order(line: str, location: str) -> _Order:
    number, _, order = line.partition(":") if ":" in line else line.partition(",")
    voters = _number(number, location)
    if voters > _MOST_VOTERS:
        raise TableError(f"{location}: gives {voters} voters; correct the line.")
    tiers: list[list[int]] = []
    for part in re.findall(r"\{[^{}]*\}|[^,{}]+|[{}]", order):
        if part.startswith("{") and part.endswith("}") and len(part) > 1:
            tier = [_number(k, location) for k in part[1:-1].split(",") if k.strip()]
            tiers += [tier] if tier else []
        elif part.strip():
            tiers.append([_number(part, location)])
    if not tiers or voters == 0:
        raise TableError(f"{location}: is not 'count: order', such as '3: 1,2,{{3,4}}'.")
    return location, voters, tiers


def _number(text: str, location: str) -> int:
    stripped = text.strip()
    if not (stripped.isascii() and stripped.isdigit()) or len(stripped) > 15:  # noqa: PLR2004
        raise TableError(
            f"{location}: '{stripped[:30]}' is not a whole number; PrefLib orders look like "
            "'3: 1,2,{3,4}'."
        )
    return int(stripped)


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


FORMAT = TextFormat(_is_mine, _rows)
