"""``aggcal init``: describe a study in a study file, by what its files contain.

What the files do not say is not guessed: it is refused, with the option that says it.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from aggcal.cli import reading
from aggcal.cli.console import Console, print_json
from aggcal.cli.options import ITEM_COLUMN, READING, SCORE_COLUMN
from aggcal.cli.table import Option
from aggcal.errors import InputError, OptionError, TableError, count, some

_ROLES = ("judgments", "scores", "truth", "texts", "items")
_LOWER_IS_BETTER = frozenset(("rank", "place", "position", "error", "loss"))
"""Names of columns whose numbers may well have the best item at their low end."""
_MOST_ROWS = 20_000
"""Rows by which columns are told apart; whoever reads the file later looks at all."""
_HEAD = """\
# This study, as 'aggcal init' read it. Correct anything that is wrong.
# In this folder, 'aggcal check', 'run', 'suggest' and 'report' need no arguments.
# Paths are relative to this file. Options on the command line take precedence.
# Add others, such as title = "Essays"; those of one command last, below its name: [run]
"""


def init(options: argparse.Namespace) -> int:
    """Look at the files, say what they are taken for, and write the study file."""
    from aggcal.io.saving import refuse_existing, refuse_overwriting, write_file

    console = Console(quiet=options.quiet)
    stated = {path: role for role in _ROLES if (path := getattr(options, role)) is not None}
    files = dict.fromkeys([*options.files, *stated])
    if not files:
        raise OptionError("no files given; name the files of the study: aggcal init FILE ...")
    reading.choices_from(options)
    refuse_existing(options.output, force=options.force)
    folder, name = os.path.split(options.output)
    refuse_overwriting(folder or ".", [name], files)
    roles = {path: stated.get(path) or _role(path, options) for path in files}
    study = _study(roles, options, console)
    for role in _ROLES & study.keys():
        found = [os.path.relpath(path, folder or ".") for path in study[role]]
        study[role] = found if len(found) > 1 else found[0]
    text = "".join([_HEAD, *(f"{key} = {_toml(value)}\n" for key, value in study.items())])
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise OptionError("a study file is UTF-8 text, which a name here is not; rename the file.")
    path = write_file(options.output, text.encode(), force=options.force)
    after = "'aggcal suggest', which prints pairs to ask"
    if "judgments" in study:
        after = f"'aggcal check', then 'aggcal {'run' if 'scores' in study else 'aggregate'}'"
    console.say(f"wrote {path}; next: {after}")
    if options.json:
        print_json({"study": study}, [path])
    return 0


def _role(path: str, options: argparse.Namespace) -> str:
    """Say what a file is for: judgments if it reads as such, else what its columns tell."""
    from aggcal.io.words import ANNOTATOR, paired

    try:
        options.judgments = [path]
        reading.judgments_from(options, Console(quiet=True, progress=not options.quiet))
    except InputError as refusal:
        try:
            columns = _columns(path)
        except InputError:
            raise refusal from None
        names = {name.lower() for name in columns}
        if paired(names) or not names.isdisjoint(ANNOTATOR):
            raise  # judgments, of which something is missing
        if names >= {"item", "truth"}:
            return "truth"
        if any(_are_numbers(cells) for name, cells in columns.items() if name.lower() != "item"):
            return "scores"
        if "item" in names:
            return "texts" if "text" in names else "items"
        otherwise = "If no judgments are in it, name what is, as in --scores FILE."
        raise TableError(f"{refusal} {otherwise}") from None
    return "judgments"


def _study(roles: dict[str, str], options: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Describe the files, of which all of judgments and one of each other role are taken."""
    from aggcal.io.items import read_items, read_texts, read_truth

    files = {role: [path for path in roles if roles[path] == role] for role in _ROLES}
    study: dict[str, Any] = {role: paths for role, paths in files.items() if paths}
    judged: frozenset[str] = frozenset()
    if "judgments" in study:
        options.judgments = study["judgments"]
        judgments = reading.judgments_from(options, console)
        judged = frozenset(judgments.item_ids.tolist())
        console.say(
            f"{', '.join(study['judgments'])}: {count(judgments.n_judgments, 'judgment')} of "
            f"{count(len(judged), 'item')} by {count(len(judgments.annotator_ids), 'annotator')}"
        )
    readers: dict[str, Any] = {"truth": read_truth, "texts": read_texts, "items": read_items}
    for role, paths in list(study.items()):
        if len(paths) > 1 and role != "judgments":
            raise TableError(f"{', '.join(paths)} look like {role}; give one, with --{role} FILE.")
        if role in readers:
            readers[role](paths[0])
            console.say(f"{paths[0]}: {role}")
        elif role == "scores":
            study |= _scores(paths[0], options, judged, console)
    if study.keys() == {"texts"}:
        study["items"] = study["texts"]
    study["output"] = "results"
    for option in READING.options:
        value = option.given(options)
        if option.kept and value and value != option.default:
            study[option.key] = value
    return study


def _scores(
    path: str, options: argparse.Namespace, judged: frozenset[str], console: Console
) -> dict[str, str]:
    """Say which columns of the model's scores hold the items and the scores, if not so called."""
    from aggcal.io import read_scores

    columns = _columns(path)
    held = {name: len(judged.intersection(cells)) for name, cells in columns.items()}
    most = [name for name in held if held[name] == max(held.values()) > 0]
    why = f"{path}: looks like scores, but which column holds the item ids is unclear"
    if judged and not most:
        why = f"{path}: no column holds judged items, such as {some(sorted(judged)[:1])}"
    item = _chosen([n for n in held if held[n] or not judged], most, ITEM_COLUMN, options, why)
    others = (item.lower(), "sd")
    numbers = [n for n in columns if n.lower() not in others and _are_numbers(columns[n])]
    why = f"{path}: unclear which column holds the model's scores, of which higher is better"
    score = _chosen(list(columns), numbers, SCORE_COLUMN, options, why)
    scores = read_scores(path, column=score, item=item)
    both = f", {len(judged.intersection(scores.item_ids)):,} of them judged" if judged else ""
    console.say(
        f"{path}: model scores of {count(len(scores), 'item')}{both}; "
        f"{item} as item, {score} as score (higher is better)"
    )
    chosen = {ITEM_COLUMN: item, SCORE_COLUMN: score}
    return {o.key: name for o, name in chosen.items() if name.lower() != o.default}


def _chosen(
    among: list[str], likely: list[str], option: Option, options: argparse.Namespace, why: str
) -> str:
    """Return the column that is called as the option says, else the only likely one."""
    called = option.given(options).strip().lower()
    named = [name for name in among if name.lower() == called]
    if named:
        return named[0]
    if called == option.default and len(likely) == 1 and likely[0].lower() not in _LOWER_IS_BETTER:
        return likely[0]
    listed = ", ".join(likely or among) or "none"
    raise OptionError(f"{why} (found: {listed}); name it with --{option.key}.")


def _columns(path: str) -> dict[str, list[Any]]:
    """Return the cells of a table by the names of its columns."""
    from aggcal.io.saving import scratch_folder
    from aggcal.io.tables import opened

    with scratch_folder() as scratch:
        table = opened(path, scratch, what="tables")
        loaded = table.load([name for name in table.columns if name])
    return {
        table.columns[name].strip(): column.cells()[:_MOST_ROWS] for name, column in loaded.items()
    }


def _are_numbers(cells: list[Any]) -> bool:
    try:
        return [float(cell) for cell in cells if cell is not None] != []
    except ValueError:
        return False


def _toml(value: Any) -> str:
    r"""Write a value as TOML.

    Examples
    --------
    >>> print(_toml("a \"b\"\n"), _toml(True), _toml({"left": "Draft A"}))
    "a \"b\"\n" true {"left" = "Draft A"}
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
