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
from aggcal.cli.options import READING, SCORE_COLUMN
from aggcal.errors import InputError, OptionError, TableError, count

_ROLES = ("judgments", "scores", "truth", "texts", "items")
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
    after = "'aggcal check', then 'aggcal run'"
    if "judgments" not in study:
        after = "'aggcal suggest', which prints pairs to ask"
    console.say(f"wrote {path}; next: {after}")
    if options.json:
        print_json({"study": study}, [path])
    return 0


def _role(path: str, options: argparse.Namespace) -> str:
    """Say what a file is for: judgments if it reads as such, else what reads it."""
    from aggcal.io import read_judgments, read_scores
    from aggcal.io.items import read_items, read_texts, read_truth
    from aggcal.io.words import ANNOTATOR, paired

    try:
        read_judgments(path, **READING.given(options))
    except InputError as refusal:
        said = str(refusal)
    else:
        return "judgments"
    readers: dict[str, Any] = {"truth": read_truth, "texts": read_texts, "items": read_items}
    readers |= {"scores": lambda data: read_scores(data, column=options.score_column)}
    columns = _columns(path)
    if columns is None or paired(columns) or not columns.isdisjoint(ANNOTATOR):
        raise TableError(said)  # judgments, of which something is missing
    # What a table is by its own words comes first.
    words = {"truth": {"item", "truth"}, "texts": {"item", "text"}, "scores": set[str]()}
    for role, needed in (words | {"items": {"item"}}).items():
        if columns >= needed:
            try:
                readers[role](path)
            except InputError as refusal:
                if role == "scores" and "no column of numbers" not in str(refusal):
                    raise
            else:
                return role
    raise TableError(f"{said} If no judgments are in it, name what is, as in --scores FILE.")


def _columns(path: str) -> set[str] | None:
    """Return what the columns of a table are called in small letters; None if it is none."""
    from aggcal.io.saving import scratch_folder
    from aggcal.io.tables import opened

    try:
        with scratch_folder() as scratch:
            return {name for name in opened(path, scratch, what="tables").columns if name}
    except InputError:
        return None


def _study(roles: dict[str, str], options: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Describe the files, of which all of judgments and one of each other role are taken."""
    files = {role: [path for path in roles if roles[path] == role] for role in _ROLES}
    study: dict[str, Any] = {role: paths for role, paths in files.items() if paths}
    judged: frozenset[str] = frozenset()
    for role, paths in study.items():
        if role == "judgments":
            options.judgments = paths
            judgments = reading.judgments_from(options, console)
            console.say()
            judged = frozenset(judgments.item_ids.tolist())
            continue
        if len(paths) > 1:
            raise TableError(f"{', '.join(paths)} look like {role}; give one, with --{role} FILE.")
        said = role
        if role == "scores":
            (options.scores,) = paths
            scores = reading.scores_from(options, console)
            ids = [] if scores is None else scores.item_ids.tolist()
            said = f"model scores of {count(len(ids), 'item')} (higher is better)"
            if judged and judged.isdisjoint(ids):
                raise TableError(
                    f"{paths[0]}: no item of it is judged, such as '{min(judged)}'; check that "
                    "both files use the same ids."
                )
        console.say(f"{paths[0]}: {said}")
    if study.keys() == {"texts"}:
        study["items"] = study["texts"]
    study["output"] = "results"
    for option in (*READING.options, SCORE_COLUMN):
        value = option.given(options)
        if value and value != option.default:
            study[option.key] = value
    return study


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
