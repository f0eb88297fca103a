"""Numbers as people of many countries write them: decimal commas, thousands, percent signs."""

from __future__ import annotations

from aggcal.errors import TableError, count
from aggcal.io.tables.source import Source, cell, quoted

_SIGN, _END = "^[+-]?", "([eE][+-]?[0-9]+)?$"
_SPACES = " \u00a0\u202f\u2009'’"
"""What stands between thousands in France, Switzerland and elsewhere."""
_SHAPES = {
    "point": rf"{_SIGN}[0-9]*\.[0-9]+{_END}",
    "point_or_thousand": rf"{_SIGN}[1-9][0-9]{{0,2}}\.[0-9]{{3}}$",
    "comma": rf"{_SIGN}[0-9]*,[0-9]+{_END}",
    "comma_or_thousand": rf"{_SIGN}[1-9][0-9]{{0,2}},[0-9]{{3}}$",
    "thousand_points": rf"{_SIGN}[0-9]{{1,3}}(\.[0-9]{{3}})+,[0-9]+$",
    "many_points": rf"{_SIGN}[0-9]{{1,3}}(\.[0-9]{{3}}){{2,}}$",
    "thousand_commas": rf"{_SIGN}[0-9]{{1,3}}(,[0-9]{{3}})+\.[0-9]+$",
    "many_commas": rf"{_SIGN}[0-9]{{1,3}}(,[0-9]{{3}}){{2,}}$",
    "whole": rf"{_SIGN}[0-9]+{_END}",
}
_BLANK = ("na", "n/a", "null", "none", "nil")
"""What R, databases and people write where there is no number."""


def plain_numbers(source: Source, column: str, shown: str | None = None) -> list[str]:
    """Write the numbers of a column in the usual way, in place; return what was made of them.

    A comma is a decimal comma where the column or the delimiter tells so: '1,5' and '1.234,5' do,
    and '1,234' does in a file whose values are parted by semicolons. Where it may part thousands as
    well, and where points and commas are mixed, the column is refused. What is no number stays.

    Parameters
    ----------
    source
        The table.
    column
        The reader's own name of the column.
    shown
        What the user calls it.
    """
    name, shown = cell(column), shown or column
    odd = f"{name} IS NOT NULL AND try_cast({name} AS DOUBLE) IS NULL"
    bare = _bare(name)
    shapes = f"regexp_matches({bare}, {quoted('|'.join(_SHAPES.values()))})"
    # Names and words are as odd as a decimal comma: only numbers are worth the questions below.
    if not source.one("count(*)", f"{odd} AND {shapes}"):
        return []
    counts = _counted(source, name, bare)
    if counts["percent"]:
        _refuse_mixed_percent(source, name, shown, counts)
    decimal = _decimal_sign(source, name, shown, counts, bare)
    plain = f"replace({bare}, ',', '')"
    if decimal == ",":
        plain = f"replace(replace({bare}, '.', ''), ',', '.')"
    hundredths = f"(try_cast({plain} AS DOUBLE) / 100)::VARCHAR"
    plain = f"CASE WHEN ends_with({name}, '%') THEN {hundredths} ELSE {plain} END"
    first = source.connection.execute(
        f"SELECT {name}, {plain} FROM raw WHERE {odd} AND {shapes} ORDER BY rowid LIMIT 1"
    ).fetchone()
    if first is None:
        raise LookupError(column)
    source.connection.execute(f"UPDATE raw SET {name} = {plain} WHERE {shapes}")
    return [f"column '{shown}': '{first[0]}' is read as {first[1]}, and others like it"]


def blank_words(source: Source, column: str) -> None:
    """Take 'NA' and other words for nothing as blank cells."""
    words = ", ".join(map(quoted, _BLANK))
    name = cell(column)
    source.connection.execute(f"UPDATE raw SET {name} = NULL WHERE lower({name}) IN ({words})")


def _bare(name: str) -> str:
    """Write the SQL of a number without its percent sign, and without spaces between thousands."""
    text = f"replace(trim(rtrim({name}, '%')), '\u2212', '-')"
    spaced = rf"^[+-]?[0-9]{{1,3}}([{_SPACES}][0-9]{{3}})+([.,][0-9]+)?$"
    joined = f"translate({text}, {quoted(_SPACES)}, '')"
    return f"(CASE WHEN regexp_matches({text}, {quoted(spaced)}) THEN {joined} ELSE {text} END)"


def _counted(source: Source, name: str, bare: str) -> dict[str, int]:
    """Return how many cells have each shape."""
    whole = f"regexp_matches({bare}, {quoted('|'.join(_SHAPES.values()))})"
    cells = [f"count_if(regexp_matches({bare}, {quoted(s)}))" for s in _SHAPES.values()]
    cells.append(f"count_if(ends_with({name}, '%') AND {whole})")
    cells.append(f"count_if(NOT ends_with({name}, '%') AND {whole} AND {bare} <> '0')")
    found = source.connection.execute(f"SELECT {', '.join(cells)} FROM raw").fetchall()[0]
    return dict(zip((*_SHAPES, "percent", "without"), map(int, found), strict=True))


def _refuse_mixed_percent(source: Source, name: str, shown: str, counts: dict[str, int]) -> None:
    if counts["without"]:
        location, value = source.first(f"ends_with({name}, '%')", name)
        raise TableError(
            f"{source.name}: column '{shown}' has numbers with a percent sign ('{value}' in "
            f"{location}; {count(counts['percent'], 'such row')}) and without; write all of them "
            "in one way."
        )


def _decimal_sign(source: Source, name: str, shown: str, counts: dict[str, int], bare: str) -> str:
    """Return the decimal sign of a column, a point where none is told."""
    commas = counts["comma"] - counts["comma_or_thousand"]
    commas += counts["thousand_points"] + counts["many_points"]
    points = counts["point"] - counts["point_or_thousand"]
    points += counts["thousand_commas"] + counts["many_commas"]
    if source.delimiter == ";" and source.first_row is None:
        commas += counts["comma_or_thousand"]
    grouped = counts["thousand_points"] + counts["many_points"]
    doubtful = counts["point_or_thousand"] and not grouped
    if commas and (points or doubtful):
        kind = "thousand_commas" if counts["thousand_commas"] else "point"
        location, value = source.first(f"regexp_matches({bare}, {quoted(_SHAPES[kind])})", name)
        raise TableError(
            f"{source.name}: column '{shown}' has numbers with a decimal comma and others with a "
            f"point, such as '{value}' in {location}; write all of them in one way."
        )
    if commas:
        return ","
    if not points and counts["comma_or_thousand"]:
        shape = quoted(_SHAPES["comma_or_thousand"])
        location, value = source.first(f"regexp_matches({bare}, {shape})", name)
        raise TableError(
            f"{source.name}: {location}: '{value}' in column '{shown}' may be a decimal number or "
            f"thousands; write {value.replace(',', '.')} or {value.replace(',', '')}."
        )
    return "."
