"""``aggcal init``: describe a study in a study file, by what its files contain.

What the files do not say is not guessed: it is refused, with the option that says it.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from aggcal.cli import reading
from aggcal.cli.console import Console, print_json
from aggcal.cli.options import READING, columns, outcomes
from aggcal.errors import InputError, OptionError, TableError, count, some

if TYPE_CHECKING:
    from aggcal.data.base import AnyJudgments

Columns = dict[str, list[str | None]]
"""The cells of a table, by the names of its columns."""

_ROLES = {
    "judgments": "judgments",
    "scores": "model scores",
    "truth": "true values: item,truth",
    "texts": "texts of the items: item,text",
    "items": "items to compare, if there are no judgments yet",
}
_LOWER_IS_BETTER = frozenset(("rank", "place", "position", "error", "loss"))
"""Names of columns whose numbers may well have the best item at their low end."""
_MOST_ROWS = 20_000
"""Rows by which columns are told apart; whoever reads the file later looks at all."""
_HEAD = """\
# This study, as 'aggcal init' read it. Correct anything that is wrong.
# In this folder, 'aggcal check', 'run', 'suggest' and 'report' need no arguments.
# Paths are relative to this file. Options on the command line take precedence.
"""
_TITLES = """\
# title = "Essays"                     # shown at the top of the report
# question = "Which essay is better?"  # what annotators were asked
"""
_TAIL = """\
# Options of one command, as on the command line but without dashes, follow its name:
# [run]
# level = 0.9
"""


def init(options: argparse.Namespace) -> int:
    """Look at the files, say what they are taken for, and write the study file."""
    from aggcal.io.writing.write import refuse_existing, refuse_overwriting, write_file

    console = Console(quiet=options.quiet)
    stated = {getattr(options, role): role for role in _ROLES if getattr(options, role) is not None}
    files = dict.fromkeys([*options.files, *stated])
    if not files:
        raise OptionError("no files given; name the files of the study: aggcal init FILE ...")
    reading.choices_from(options)
    refuse_existing(options.output, force=options.force)
    folder, name = os.path.split(options.output)
    refuse_overwriting(folder or ".", [name], files)
    roles = {path: stated.get(path) or _role(path, options) for path in files}
    study = _study(roles, options, console)
    for role in _ROLES.keys() & study.keys():
        found = [os.path.relpath(path, folder or ".") for path in study[role]]
        study[role] = found if len(found) > 1 else found[0]
    text = "\n".join(_lines(study))
    path = write_file(options.output, lambda file: file.write(text), force=options.force)
    after = "'aggcal check', then 'aggcal run'"
    if "scores" not in study:
        after = "'aggcal check', then 'aggcal aggregate' (there are no scores yet)"
    if "judgments" not in study:
        after = "'aggcal suggest', which prints pairs to ask"
    console.say(f"wrote {path}; next: {after}")
    if options.json:
        print_json({"study": study}, [path])
    return 0


def _study(
    roles: Mapping[str, str], options: argparse.Namespace, console: Console
) -> dict[str, Any]:
    """Describe the files, of which all of judgments and one of each other role are taken."""
    of = {role: [path for path in roles if roles[path] == role] for role in _ROLES}
    study, judged = _judgments(of.pop("judgments"), options, console)
    for role, paths in of.items():
        if len(paths) > 1:
            every = ", ".join(paths)
            raise TableError(f"{every} all look like {role}; give one, with --{role} FILE.")
        if paths and role == "scores":
            study |= _scores(paths[0], options, judged, console)
        elif paths:
            study |= _others(role, paths[0], console)
    if study.keys() == {"texts"}:
        study["items"] = study["texts"]
    return study | ({"output": "results"} if "judgments" in study else {})


def _judgments(
    paths: list[str], options: argparse.Namespace, console: Console
) -> tuple[dict[str, Any], frozenset[str]]:
    """Describe the judgments; return the judged items, too."""
    if not paths:
        return {}, frozenset()
    judgments = _read(paths, options, console)
    console.say(
        f"{', '.join(paths)}: {count(judgments.n_judgments, 'judgment')} of "
        f"{count(judgments.n_items, 'item')} by "
        f"{count(len(judgments.annotator_ids), 'annotator')}"
    )
    study: dict[str, Any] = {"judgments": paths}
    for option in READING.options:
        value = getattr(options, option.dest)
        if value not in (option.default, False, []) and option.kept:
            study[option.key] = value
    mapped = {"column": columns(options.column), "outcome": outcomes(options.outcome)}
    return study | {key: value for key, value in mapped.items() if value}, frozenset(
        judgments.item_ids.tolist()
    )


def _read(paths: list[str], options: argparse.Namespace, console: Console) -> AnyJudgments:
    given = vars(options) | {"judgments": paths[0], "more_judgments": paths[1:]}
    return reading.judgments_from(argparse.Namespace(**given), console)


def _role(path: str, options: argparse.Namespace) -> str:
    """Say what a file is for, or refuse it as judgments of which something is missing."""
    from aggcal.io.formats._synonyms import ANNOTATOR

    try:
        _read([path], options, Console(quiet=True, progress=not options.quiet))
    except InputError as refusal:
        try:
            columns = _columns(path)
        except InputError:
            raise refusal from None
        item = next(iter(["item"] if "item" in columns else _keys(columns)), None)
        judged = item != "item" and (not columns.keys().isdisjoint(ANNOTATOR) or _pairs(columns))
        if item is None or judged:
            raise
    else:
        return "judgments"
    if item == "item" and "truth" in columns:
        return "truth"
    if _numbers(columns, item):
        return "scores"
    return "texts" if item == "item" and "text" in columns else "items"


def _pairs(columns: Columns) -> bool:
    """Whether two columns hold about the same names, as those of compared items do."""
    words = [set(cells) - {None} for cells in columns.values() if not _is_numeric(cells)]
    return any(
        2 * len(one & other) >= min(len(one), len(other)) > 1
        for k, one in enumerate(words)
        for other in words[:k]
    )


def _scores(
    path: str, options: argparse.Namespace, judged: frozenset[str], console: Console
) -> dict[str, Any]:
    """Describe the model's scores: of which items, and in which columns."""
    from aggcal.io import read_scores

    columns = _columns(path)
    item, score = options.item_column.strip().lower(), options.score_column.strip().lower()
    if item not in columns or (judged and judged.isdisjoint(columns[item])):
        held = {name: len(judged.intersection(columns[name])) for name in _keys(columns)}
        best = [name for name in held if held[name] == max(held.values())]
        if len(best) != 1 or (judged and not held[best[0]]):
            why = f"no column holds judged items, such as {some(sorted(judged)[:1])}"
            why = why if judged else "cannot tell which column holds the item ids"
            _refuse(path, why, list(columns), "--item-column")
        (item,) = best
    if score not in columns or score == item:
        known = _numbers(columns, item)
        if score != "score" or len(known) != 1 or known[0] in _LOWER_IS_BETTER:
            why = "cannot tell which column holds the model's scores, of which higher is better"
            _refuse(path, why, known, "--score-column")
        (score,) = known
    names = {name.strip().lower(): name.strip() for name in _header(path)}
    scores = read_scores(path, column=names[score], item=names[item])
    both = f", {len(judged.intersection(scores.item_ids.tolist())):,} of them judged"
    console.say(
        f"{path}: model scores of {count(len(scores), 'item')}{both if judged else ''}; "
        f"{names[item]} as item, {names[score]} as score (higher is better)"
    )
    used = {"item": item, "score": score}
    return {"scores": [path]} | {
        f"{own}-column": names[name] for own, name in used.items() if name != own
    }


def _refuse(path: str, why: str, known: list[str], option: str) -> NoReturn:
    listed = ", ".join(known) or "none holds numbers"
    raise OptionError(f"{path}: {why} (found: {listed}); name it with {option}.")


def _others(role: str, path: str, console: Console) -> dict[str, Any]:
    """Describe a table that is read by a column ``item``."""
    if "item" not in _columns(path):
        raise OptionError(
            f"{path}: no column is called item; rename the one with the ids, or name what the "
            "file contains, as in --scores FILE."
        )
    console.say(f"{path}: {_ROLES[role]}")
    return {role: [path]}


def _columns(path: str) -> Columns:
    """Return the cells of a table by the names of its columns in small letters."""
    from aggcal.io.tables.opening import opened

    # Named after its own columns, a table is parted where its header is.
    wanted = {name.strip().lower(): f"c{k}" for k, name in enumerate(_header(path))}
    with opened(path, wanted, what="tables", shapes={}) as source:
        own = {name: column for name, column in wanted.items() if column in source.columns}
        listed = ", ".join(own.values())
        select = f"SELECT {listed} FROM raw LIMIT {_MOST_ROWS}"
        rows = source.connection.execute(select).fetchall() if own else []
    return dict(zip(own, map(list, zip(*rows, strict=True)), strict=True)) if rows else {}


def _header(path: str) -> tuple[str, ...]:
    from aggcal.io.known_columns import KnownColumns
    from aggcal.io.tables.opening import opened

    with opened(path, KnownColumns(), what="tables", shapes={}) as source:
        return tuple(name for name in source.found if name.strip())


def _keys(columns: Columns) -> list[str]:
    """Return the columns that may name the rows: all there and different, no measurements."""
    return [
        name
        for k, (name, cells) in enumerate(columns.items())
        if None not in cells and len(set(cells)) == len(cells) and not (k and _is_numeric(cells))
    ]


def _numbers(columns: Columns, item: str) -> list[str]:
    return [n for n, cells in columns.items() if n not in (item, "sd") and _is_numeric(cells)]


def _is_numeric(cells: list[str | None]) -> bool:
    try:
        return [float(cell) for cell in cells if cell is not None] != []
    except ValueError:
        return False


def _lines(study: Mapping[str, Any]) -> Iterator[str]:
    """Write the file: its options, then the names of columns and the meanings of outcomes."""
    yield _HEAD
    tables = {key: value for key, value in study.items() if isinstance(value, Mapping)}
    yield from (f"{key} = {_toml(study[key])}" for key in study if key not in tables)
    yield _TITLES
    for key, table in tables.items():
        yield f"[{key}]"
        yield from (f"{_toml(own)} = {_toml(other)}" for own, other in table.items())
        yield ""
    yield _TAIL


def _toml(value: Any) -> str:
    r"""Write a value as TOML.

    Examples
    --------
    >>> print(_toml("a \"b\"\n"), _toml(True), _toml(["c"]))
    "a \"b\"\n" true ["c"]
    """
    text = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise OptionError(
            f"{text} is not UTF-8 text, which a study file must be; rename the file."
        ) from None
    return text
