"""Files under our own names: what is opened, known as a format, and named as columns of ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from aggcal.errors import InputError, OptionError, TableError, option, some
from aggcal.io import words
from aggcal.io.choices import Choices, column_of, no_such_column
from aggcal.io.columns import Column, joined, number, numbers, plain_numbers
from aggcal.io.formats import formats, recognised
from aggcal.io.formats.base import Format, Made, Notes, Row, Source, nobody
from aggcal.io.formats.marks import Marks
from aggcal.io.formats.ratings import rated_columns
from aggcal.io.formats.reviews import notes_of
from aggcal.io.guessing import (
    guessed,
    guessed_act,
    refuse_guesses,
    refuse_key,
    refuse_unread,
)
from aggcal.io.saving import digest
from aggcal.io.tables import Cells, Table, opened, such
from aggcal.io.workbooks import Sheet
from aggcal.registry import LABEL_STUDIO, RANKINGS, RATINGS, TABLE

UNSIDED = "no"
"""What the column ``sided`` says of an outcome that does not tell who stood on the left."""
_SAID = ("annotator", "left", "right", "outcome", "criterion", "ranking", "reason", "context")
"""The columns of rows that were taken apart which hold text."""
_PAIRS = {"winner", "loser", "left", "right", "outcome"}
_NEEDED = ("annotator", "left", "right", "outcome")


@dataclass(frozen=True)
class Origin:
    """Where rows stood in their file, and a hash of all that it says of each, where needed."""

    row: np.ndarray
    hashes: np.ndarray | None

    def place(self, row: int) -> str:
        """Return where a row stood."""
        return f"row {self.row[row] + 1}"

    def whole(self, rows: np.ndarray) -> list[Any]:
        """Return what tells rows apart."""
        assert self.hashes is not None  # noqa: S101  # else nobody asks
        return list(self.hashes[rows].tolist())


def _hash(told: object) -> int:
    """Return a number that is the same for the same in every process."""
    if isinstance(told, int):
        return told
    return int.from_bytes(blake2b(repr(told).encode(), digest_size=8).digest())


@dataclass
class Part:
    """The judgments of one file under our own names."""

    name: str
    form: Format
    choices: Choices
    columns: dict[str, Column]
    place: Callable[[int], str]
    notes: Notes
    sided: bool = True
    """Whether left and right are where the items were shown."""
    direct: bool = False
    """Whether the outcome is a column of the file, and not made of some."""
    said: tuple[str, ...] = ()
    """The outcomes that occur, as the file has them."""
    short: bool = False
    """Whether every row puts its left item above the right one, as winner and loser do."""
    table: Table | None = None
    """The table that columns are of; None where records were taken apart."""
    path: Path | None = None
    backend: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    """What the file calls our columns."""
    numbers: dict[str, np.ndarray] = field(default_factory=dict)
    """Weights and seconds."""
    whole: Callable[[np.ndarray], list[Any]] | None = None
    """Returns what tells rows apart by all that the file says; None if that is known anyway."""
    delimiter: str | None = None
    label: str = ""
    content: str | None = None
    """What tells the contents of several files apart."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What labels of outcomes were taken for."""
    by_item: bool = False
    """Whether the outcome is the id of the item that won."""
    steps: Mapping[str, str] = field(default_factory=dict)
    """What labels mean that say how much better an item is."""
    origin: Origin | None = None
    """Which rows of the file these are; None for all of them."""
    ratings: Sequence[Row] = ()
    """The ratings that comparisons were taken from."""

    def __len__(self) -> int:
        return len(self.columns["annotator"])

    def called(self, own: str) -> str:
        """Return what the file calls a column of ours, as it is written there."""
        name = self.names.get(own, own)
        return name if self.table is None else self.table.columns.get(name.lower(), name).strip()

    def rows(self, at: np.ndarray) -> Part:
        """Return some rows, which can be sent to another process: they do without the file."""
        origin = self.origin
        if origin is None:
            every = np.arange(len(self))
            hashes = None if self.whole is None else [*map(_hash, self.whole(every))]
            origin = Origin(every, None if hashes is None else np.array(hashes, dtype=np.uint64))
        origin = Origin(origin.row[at], None if origin.hashes is None else origin.hashes[at])
        return replace(
            self,
            form=Format(name=self.form.name),
            columns={name: column.rows(at).compact() for name, column in self.columns.items()},
            numbers={name: number[at] for name, number in self.numbers.items()},
            table=None,
            place=origin.place,
            whole=None if origin.hashes is None else origin.whole,
            origin=origin,
            ratings=(),
        )

    def refuse(
        self,
        bad: np.ndarray,
        what: str,
        remedy: str,
        error: type[InputError] = TableError,
        value: Column | None = None,
    ) -> None:
        """Refuse rows, if there are some: say where the first is, what it has, and what to do.

        ``VALUE`` stands for what the row holds in a column.
        """
        if bad.any():
            row = int(np.argmax(bad))
            number = int(bad.sum())
            said = f"{what}{f' ({such(number)})' if number > 1 else ''}; {remedy}."
            if value is not None:
                said = said.replace("VALUE", str(value.at(row)))
            raise error(f"{self.name}: {self.place(row)} {said}")


def _within_tasks(choices: Choices, stated: Mapping[str, str]) -> Choices:
    """Take the columns of the items for the fields of a task, which are none of the table's."""
    rest = {own: name for own, name in stated.items() if own not in ("left", "right")}
    left, right = stated.get("left"), stated.get("right")
    return replace(choices, left_key=left, right_key=right, columns=rest)


def part_of(data: Any, choices: Choices, format_name: str | None, scratch: Path) -> Part:
    """Open one file, frame or list, know its format, and name its columns as ours."""
    texts = [form.is_text for form in formats() if form.is_text is not None]
    named = {own: other.strip().lower() for own, other in choices.columns.items()}
    stated = choices.columns
    table = opened(
        data,
        scratch,
        names={*words.NAMES, *named.values()},
        is_text=lambda head: any(is_text(head) for is_text in texts),
    )
    inside = (name for row in table.head for note in notes_of(row) for name in note["content"])
    table.columns |= {str(name).strip().lower(): str(name) for name in inside}
    here = {own: other for own, other in named.items() if other in table.columns}
    if choices.origin:
        # One of several files: names of columns are meant for those that have them.
        kept = {own: choices.columns[own] for own in here}
        choices = replace(choices, columns=kept)
    table.columns |= {own: table.columns[other] for own, other in here.items()}
    form = recognised(table, format_name)
    choices = _within_tasks(choices, stated) if form.name == LABEL_STUDIO else choices
    if form.name == TABLE and any(
        isinstance(v, Mapping) for row in table.head for v in row.values()
    ):
        table = _flat(table)
        here = {own: other for own, other in named.items() if other in table.columns}
        table.columns |= {own: table.columns[other] for own, other in here.items()}
        form = recognised(table, format_name)
    general = form.name in (TABLE, RANKINGS, RATINGS)
    if general and not _PAIRS & choices.columns.keys():
        guess = guessed_act(table, choices, known=form.name != TABLE)
        refuse_guesses(table, guess, choices)
        if guess:
            choices = replace(choices, guessed=guess)
            table.columns |= {own: table.columns[name] for own, name in guess.items()}
            kind = {"rank": RANKINGS, "ranking": RANKINGS, "rating": RATINGS}
            form_name = next((kind[own] for own in kind if own in guess), None)
            form = recognised(table, format_name or form_name)
    if form.rows is not None and choices.columns and not form.renames:
        raise OptionError(
            f"{table.name}: {form.name} is not a table with columns to name; "
            f"leave {option('column')} out."
        )
    missing = next((own for own in choices.columns if own not in here), None)
    if missing is not None:
        raise no_such_column(table.name, missing, choices.columns[missing], table.header)
    read = _of_table if form.rows is None else _of_records
    part = read(table, form, choices, [])
    part.notes[:0] = table.notes  # those of loading it are among them
    part.path, part.backend, part.delimiter = table.path, table.backend, table.delimiter
    if choices.origin and isinstance(table, Sheet):
        part.content = repr(table.rows)
    elif choices.origin and table.path is not None:
        part.content = digest(table.path)
    return part


# -------------------------------------------------------------------- records


def _of_records(table: Table, form: Format, choices: Choices, notes: Notes) -> Part:
    """Take the records of a file apart."""
    assert form.rows is not None  # noqa: S101  # only those come here
    if form.name == RATINGS and not choices.order:
        lowest, highest = option("order", "lowest"), option("order", "highest")
        refuse_key(table, f"{lowest} or {highest}, or {option('order')} and all labels")
    if isinstance(table, Cells):
        _refuse_repeated_header(table, table.load(name for name in table.columns if name))
        _write_numbers(table, form, choices, notes)
    marks, whole = Marks(choices, form), dict[str, int]()

    def seen() -> Iterable[tuple[str, Any]]:
        for location, record in table.records():
            whole[location] = hash(repr(record))
            yield location, record

    try:
        every = list(marks.on(form.rows(marks.seen(iter(seen())), choices, notes)))
    except InputError as error:
        said = str(error)
        raise type(error)(
            said if said.startswith(table.name) else f"{table.name}: {said}"
        ) from None
    rows = [row for row in every if row.rating is None]
    columns = _columns(rows, choices)
    _refuse_unknown_parting(table, columns, choices, marks)
    notes += marks.notes() if choices.context is not None else []
    who = choices.annotator
    if who is not None and who not in columns["annotator"].texts:
        notes.append(f"annotator '{who}' is not used: the file names who judged")
    weight = np.array([row.weight for row in rows])
    seconds = np.array([np.nan if row.seconds is None else row.seconds for row in rows], float)
    part = Part(
        table.name,
        form,
        choices,
        columns,
        lambda row: rows[row].location,
        notes,
        sided=form.sided(table) and "ranking" not in columns,
        names=_names_of_act(table, choices) if form.renames else {},
        whole=lambda at: [_told_apart(rows[k], whole) for k in at.tolist()],
        ratings=[row for row in every if row.rating is not None],
    )
    if (weight != 1.0).any():
        part.numbers["weight"] = weight
    if not np.isnan(seconds).all():
        part.numbers["seconds"] = seconds
    return part


def _names_of_act(table: Table, choices: Choices) -> dict[str, str]:
    """Return what the columns of ratings and ranks are called."""
    usual = {"annotator": words.ANNOTATOR, "item": words.ITEM, "rating": words.RATING}
    found = {
        own: next((table.columns[n] for n in names if n in table.columns), None)
        for own, names in usual.items()
    }
    said = {**choices.guessed, **choices.columns}
    typed = {own: table.columns.get(name.strip().lower(), name) for own, name in said.items()}
    return {own: name for own, name in {**found, **typed}.items() if name is not None}


def _told_apart(row: Row, whole: Mapping[str, int]) -> Any:
    record, _, within = row.location.partition(", ")
    return (whole[record], within) if record in whole else row.location


def _columns(rows: list[Row], choices: Choices) -> dict[str, Column]:
    """Put rows below each other; columns that are blank throughout are left out."""

    def column(cells: Iterable[str | None]) -> Column:
        # Halves of characters, where a tool cut a text, are no text that can be written again.
        return Column.of(
            None
            if cell is None
            else cell.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            for cell in cells
        )

    columns = {name: column(getattr(row, name) for row in rows) for name in _SAID}
    for k, name in enumerate(choices.by):
        columns[f"by_{k + 1}"] = column(row.by[k] if row.by else None for row in rows)
        if name.strip().lower() == "criterion" and not columns[f"by_{k + 1}"].texts:
            columns[f"by_{k + 1}"] = columns["criterion"]
    if choices.by_ranking:
        columns["context"] = columns["ranking"].map(choices.made_up)
    return {own: each for own, each in columns.items() if own in _NEEDED or each.texts}


def _refuse_unknown_parting(
    table: Table, columns: Mapping[str, Column], choices: Choices, marks: Marks
) -> None:
    for own, name in choices.wished.items():
        if own not in columns and len(columns["annotator"]) and not choices.origin:
            offered = ["ranking"] if "ranking" in columns else []
            raise no_such_column(table.name, own, name, [*marks.fields, *offered])


def _write_numbers(table: Cells, form: Format, choices: Choices, notes: Notes) -> None:
    """Write the numbers of ratings, ranks and weights in the usual way, in place."""
    rated = rated_columns(table.head) if form.name == RATINGS else []
    numeric = {*words.RATING, "rank", "weight", "confidence", *rated}
    renamed = {other.strip().lower(): own for own, other in choices.columns.items()}
    for k, name in enumerate(name.strip().lower() for name in table.header):
        if renamed.get(name, name) in numeric:
            column = Column.of(row[k] for row in table.rows)
            plain, said = plain_numbers(column, table.header[k], table)
            notes += said
            if said:
                for row, cell in zip(table.rows, plain.cells(), strict=True):
                    row[k] = cell or ""


def _refuse_repeated_header(table: Table, columns: Mapping[str, Column]) -> None:
    """Refuse a row that repeats the header."""
    if not all(name in map(str.lower, column.texts) for name, column in columns.items()):
        return
    again = [column.has(lambda t: t.lower() == name) for name, column in columns.items()]  # noqa: B023
    rows = np.logical_and.reduce(again)
    if rows.any():
        row = int(np.argmax(rows))
        shown = ",".join(str(column.at(row)) for column in columns.values())
        raise TableError(
            f"{table.name}: {table.place(row)} repeats the header ({shown}); remove such rows, or "
            "give the files that were put together one by one."
        )


# -------------------------------------------------------------------- tables


def _of_table(table: Table, form: Format, choices: Choices, notes: Notes) -> Part:
    """Name the columns of a table as ours."""
    sources = _sources(table, form, choices, notes)
    used = {name for source in sources.values() for name in _names(source)} & table.columns.keys()
    table.refuse_twice(used)
    loaded = table.load(sorted(used))
    rows = len(next(iter(loaded.values())))
    _refuse_repeated_header(table, loaded)
    _refuse_halves(table, loaded.values())
    blank = Column.fill(None, rows)

    def column(source: Source) -> Column:
        if isinstance(source, str):
            return loaded[source]
        if len(source.names) == 1:
            return loaded[source.names[0]].map(source.say, source.say(None))
        return joined([loaded.get(name, blank) for name in source.names], source.say)

    columns = {own: column(source) for own, source in sources.items()}
    names = {own: _names(source)[0] for own, source in sources.items()}
    if "annotator" not in columns:
        columns["annotator"] = Column.fill(nobody(choices, notes), rows)
    notes += _judge_not_used(choices, names.get("annotator"))
    notes += [form.says[name] for name in names.values() if name in form.says]
    if not choices.wished and "criterion" not in names:
        notes += _questions(table, used)
    part = Part(
        table.name,
        form,
        choices,
        columns,
        table.place,
        notes,
        sided=form.sided(table) and "ranking" not in columns,
        table=table,
        names={own: choices.columns.get(own, name) for own, name in names.items()},
        direct=isinstance(sources.get("outcome"), str),
        whole=table.whole,
    )
    if {name.strip().lower() for name in table.header} in (
        {"annotator", "winner", "loser"},
        {"annotator", "left", "right", "outcome"},
    ) and choices.spelling is None:
        part.whole = None
    if "winner" in columns:
        part.short, part.sided = True, False
        columns["left"], columns["right"] = columns.pop("winner"), columns.pop("loser")
        columns["outcome"] = Column.fill("left", rows)
    elif "sided" in columns and columns["sided"].has(UNSIDED.__eq__).any():
        part.sided = False
    _number_columns(part, table)
    _say_unused(table, notes)
    if "swapped" in columns:
        _put_where_shown(part)
    return _by_side(part, table) if words.TALLIES.keys() & columns.keys() else part


def _judge_not_used(choices: Choices, column: str | None) -> Notes:
    """Say that the annotator whom the user named judged nothing, as a column names who did."""
    if choices.annotator is None or column is None:
        return []
    return [f"annotator '{choices.annotator}' is not used: '{column}' names who judged"]


def _put_where_shown(part: Part) -> None:
    """Exchange items in the rows where a column says that they were shown the other way round.

    It holds yes or no, or which item was shown first.
    """
    columns = part.columns
    swapped, left, right = columns.pop("swapped"), columns["left"], columns["right"]

    def yes(text: str) -> float:
        side = {"left": 0.0, "right": 1.0}.get(words.LABELS.get(words.spelt(text), ""))
        return words.TRUTH.get(text.lower(), number(text) if side is None else side)

    turned = swapped.look_up([*map(yes, swapped.texts)], np.nan, float)
    turned = np.where(swapped.same(left), 0.0, np.where(swapped.same(right), 1.0, turned))
    part.refuse(
        ~np.isin(turned, (0.0, 1.0)),
        f"has 'VALUE' in column '{part.called('swapped')}', which is neither yes nor no nor one of "
        "its items",
        "correct it",
        value=swapped,
    )
    texts = [*dict.fromkeys((*left.texts, *right.texts))]
    one, other = left.within(texts), right.within(texts)
    columns["left"] = Column(texts, np.where(turned == 1.0, other, one))
    columns["right"] = Column(texts, np.where(turned == 1.0, one, other))


def _by_side(part: Part, table: Table) -> Part:
    """Make a row of each side that won, and of a tie, which weighs as often as it occurred."""
    times: dict[str, np.ndarray] = {}
    for own in words.TALLIES.keys() & part.columns.keys():
        column = part.columns.pop(own)
        said_so = column.map(lambda text: str(words.TRUTH.get(text.lower(), text)))
        plain, said = plain_numbers(said_so, part.called(own), table)
        part.notes += said
        times[words.TALLIES[own]] = n = np.where(plain.blank, 0.0, numbers(plain))
        what = f"has 'VALUE' in column '{part.called(own)}', which is not how often a side won"
        part.refuse(~(n >= 0.0), what, "correct it", value=column)
    counts = np.vstack([*times.values()])
    every = np.vstack([counts, ~counts.any(axis=0)])  # nobody answered there
    row, side = np.nonzero(every.T)
    shown = some([part.called(own) for own in words.TALLIES if own in part.names], 3)
    part.notes.append(f"{shown} say how often each side won: as often it counts")
    weight = part.numbers.get("weight", np.ones(every.shape[1]))
    place, whole = part.place, part.whole
    columns = {own: column.rows(row) for own, column in part.columns.items()}
    codes = np.where(side == len(times), -1, side).astype(np.int32)
    return replace(
        part,
        columns=columns | {"outcome": Column([*times], codes)},
        numbers={own: n[row] for own, n in part.numbers.items()}
        | {"weight": weight[row] * every[side, row]},
        place=lambda k: place(int(row[k])),
        whole=None if whole is None else lambda at: whole(row[at]),
    )


def _number_columns(part: Part, table: Table) -> None:
    """Read weights and seconds as numbers."""
    for own in ("weight", "seconds"):
        if own in part.columns:
            plain, said = plain_numbers(part.columns[own], part.names[own], table)
            part.columns[own], part.numbers[own] = plain, numbers(plain)
            part.notes += said


def _refuse_halves(table: Table, columns: Iterable[Column]) -> None:
    """Refuse halves of characters, which are no text that can be written again."""
    try:
        for column in columns:
            "".join(column.texts).encode()
    except UnicodeEncodeError:
        raise TableError(
            f"the {table.name} hold text that is not valid Unicode (half of a character); clean it."
        ) from None


def _flat(table: Table) -> Table:
    """Return records whose parts are columns: ``{"left": {"id": 1}}`` has "left.id"."""

    def parts(record: Any, before: str = "") -> dict[str, Any]:
        cells: dict[str, Any] = {}
        for name, value in record.items():
            nested = isinstance(value, Mapping)
            cells |= parts(value, f"{before}{name}.") if nested else {f"{before}{name}": value}
        return cells

    rows = [parts(row) if isinstance(row, Mapping) else row for row in table.rows]
    header = dict.fromkeys(name for row in rows if isinstance(row, dict) for name in row)
    return Table(
        table.name, [*header], rows, places=table.place, notes=table.notes, path=table.path
    )


def _call_by_last_word(table: Table) -> None:
    """Let columns such as "Input.left" and "answer:winner" be called by their last word."""
    last: dict[str, list[str]] = {}
    for name in table.columns:
        *before, word = re.split(r"[.:/]", name)
        shown = {*map(str.lower, table.first(name))}  # Prodigy says so which was accepted
        named = word in words.NAMES and word not in table.columns
        if before and named and not (shown and shown <= {"accept", "reject"}):
            last.setdefault(word, []).append(name)
    table.columns |= {w: table.columns[names[0]] for w, names in last.items() if len(names) == 1}


def _names(source: Source) -> tuple[str, ...]:
    return (source,) if isinstance(source, str) else source.names


def _sources(table: Table, form: Format, choices: Choices, notes: Notes) -> dict[str, Source]:
    """Choose what each column of ours is: the first of several that is there."""
    have = table.columns.keys()
    known: dict[str, Any] = {**form.columns}
    if form.name == TABLE:
        _call_by_last_word(table)
        known |= {
            name: name for name in ("weight", "criterion", *words.EXTRA) if name in have
        } | plain_pair(have)
        known |= guessed(table, known, choices)
        if not {"winner", "outcome", "left_wins"} & {*known, *choices.columns}:
            refuse_unread(table)
    of_tables = words.OF_TABLES if form.name == TABLE else ()
    for own in choices.columns:
        if own not in known and own not in (*words.EXTRA, *of_tables, "weight", "criterion"):
            raise OptionError(
                f"{table.name}: {form.name} has no '{own}' (it has "
                f"{', '.join(known)}); leave it out or read the file with "
                f"{option('format', TABLE)}."
            )
        known[own] = own
    known |= _parting(table, form, choices, notes)
    chosen = {}
    for own, sources in known.items():
        several = isinstance(sources, tuple) and not isinstance(sources, Made)
        there = [one for one in (sources if several else (sources,)) if have & {*_names(one)}]
        if there:
            chosen[own] = _people(table, there) if own == "annotator" else there[0]
    times = None if "weight" in chosen else _counts(table, choices)
    if times is not None and "annotator" in chosen:
        by_it = option("column", f"weight={times}")
        notes.append(f"the column '{times}' is not used; {by_it} weighs by it")
    elif times is not None:
        chosen["weight"] = times
    return chosen


def _people(table: Table, sources: Sequence[Source]) -> Source:
    """Choose who judged: the first column, unless it holds one name and another some."""
    for source in sources:
        cells = table.first(_names(source)[0])
        if 1 < len({*cells}) < len(cells):
            return source
    return sources[0]


def _parting(
    table: Table, form: Format, choices: Choices, notes: Notes
) -> dict[str, Source | tuple[Source, ...]]:
    """Choose what the context and the categories are, or refuse what is not there."""
    parting: dict[str, Source | tuple[Source, ...]] = {}
    for own, name in choices.wished.items():
        said = name.strip().lower()
        column = column_of(own, name, table.columns, form.contexts)
        # Of our own columns it is what the format makes of them.
        parting[own] = form.columns.get(column, column) if column in words.OWN else column
        if parting[own] == column and column not in table.columns and not choices.origin:
            raise no_such_column(table.name, own, name, table.header)
        if own == "context" and column != said:
            notes.append(f"the context ({name}) is the column '{column}'")
    return parting


def plain_pair(have: Iterable[str]) -> dict[str, str]:
    """Choose the columns of the items: sides with an outcome before winner and loser.

    Examples
    --------
    >>> plain_pair(["item_a", "item_b", "label"])
    {'left': 'item_a', 'right': 'item_b', 'outcome': 'label'}
    """
    have = {*have}
    sides = next((pair for pair in words.LEFT_RIGHT if words.paired(have & {*pair}, have)), None)
    beaten = next((pair for pair in words.WINNER_LOSER if {*pair} <= have), None)
    if sides is not None and (beaten is None or have & ({*words.OUTCOME} - {*beaten})):
        outcome = next((name for name in words.OUTCOME if name in have), None)
        decided = {} if outcome is None else {"outcome": outcome}
        return dict(zip(("left", "right"), sides, strict=True)) | decided
    return {} if beaten is None else dict(zip(("winner", "loser"), beaten, strict=True))


def _questions(table: Table, used: set[str]) -> list[str]:
    """Tell of columns with a few questions, whose answers are taken together."""
    said = []
    for name in filter(words.ASKED.search, table.columns.keys() - used):
        cells = table.first(name)
        if 1 < len({*cells}) <= len(cells) // 3:
            spelt = table.columns[name]
            said.append(
                f"answers to all values of the column '{spelt}' are taken together; "
                f"{option('column', f'criterion={spelt}')} {option('by', 'criterion')} tells them "
                "apart"
            )
    return sorted(said)


def _say_unused(table: Table, notes: Notes) -> None:
    """Say that rows which somebody rejected are read like the others."""
    status = next((name for name in sorted(table.columns) if name.endswith("status")), "")
    rejected = next((v for v in table.first(status) if v.lower() == "rejected"), None)
    if rejected is not None:
        notes.append(
            f"rows that are '{rejected}' in the column '{status}' are read like the others"
        )


def _counts(table: Table, choices: Choices) -> str | None:
    """Return the column that says how often a judgment was made, if it holds such numbers."""
    asked = {other.strip().lower() for other in choices.columns.values()}
    names = (name for name in words.TIMES if name in table.columns.keys() - asked)
    return next((name for name in names if any(number(n) > 1.0 for n in table.first(name))), None)
