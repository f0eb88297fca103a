"""``aggcal init``: look at the files of a study and describe it in a study file."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console
from aggcal.cli.options.common import add_force, add_json, print_json
from aggcal.cli.options.formats import choices_from
from aggcal.cli.options.judgments import add_judgment_options
from aggcal.cli.options.scores import add_score_columns
from aggcal.cli.study import STUDY_FILE
from aggcal.errors import OptionError

if TYPE_CHECKING:
    from aggcal.cli.study.looking import Role
    from aggcal.cli.study.writing import Described

_ROLES: dict[Role, str] = {
    "judgments": "judgments",
    "scores": "model scores",
    "truth": "true values: item,truth",
    "texts": "texts of the items: item,text",
    "items": "items to compare, if there are no judgments yet",
}
_NOT_WRITTEN = {"column", "outcome", "verbose"}
"""Options that are no plain line of the file."""


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=init)
    command.describe(
        f"Shows how each column and label is read, asks what the files do not say, and writes "
        f"{STUDY_FILE}. In that folder, 'aggcal run', 'check', 'suggest' and 'report' then need no "
        "arguments."
    )
    command.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="files of the study: judgments, scores, truth, texts",
    )
    command.add_argument(
        "-y",
        "--yes",
        action="store_true",
        help="ask nothing; refuse what is not certain",
    )
    command.add_argument(
        "-o", "--output", metavar="FILE", default=STUDY_FILE, help="study file to write"
    )
    add_force(command, "FILE if it already exists")
    group = command.add_argument_group("what a file contains, if it is not recognised")
    for role, what in _ROLES.items():
        group.add_argument(f"--{role}", metavar="FILE", help=what)
    add_score_columns(group)
    add_judgment_options(command)
    add_json(command, "the study and the file written")


def init(options: argparse.Namespace) -> int:
    """Look, ask, show, write."""
    from aggcal.cli.study.describing import Describer
    from aggcal.io.writing.write import refuse_existing, refuse_overwriting, write_file

    console = Console(quiet=options.quiet)
    files: dict[str, Role | None] = dict.fromkeys(options.files)
    files |= {getattr(options, role): role for role in _ROLES if getattr(options, role) is not None}
    if not files:
        raise OptionError("no files given; name the files of the study: aggcal init FILE ...")
    choices_from(options)
    refuse_existing(options.output, force=options.force)
    folder, name = os.path.split(options.output)
    refuse_overwriting(folder or ".", [name], files)
    study = Describer(options, files, _reading(), console).described()
    for key in _ROLES:
        if key in study.options:
            study.options[key] = _from(folder or ".", study.options[key])
    text = study.text()
    path = write_file(options.output, lambda file: file.write(text), force=options.force)
    console.say(f"wrote {path}; {_next(study)}")
    if options.json:
        print_json({"study": study.options}, [path])
    return 0


def _from(folder: str, path: str | list[str]) -> str | list[str]:
    """Return a path, or several, as seen from a folder."""
    if isinstance(path, list):
        return [os.path.relpath(each, folder) for each in path]
    return os.path.relpath(path, folder)


def _reading() -> dict[str, object]:
    """Return how judgments may be read, and how they are where nobody says anything."""
    command = Parser()
    add_judgment_options(command)
    usual = vars(command.parse_args([]))
    return {name: value for name, value in usual.items() if name not in _NOT_WRITTEN}


def _next(study: Described) -> str:
    if "judgments" not in study.options:
        return "next: 'aggcal suggest', which prints pairs to ask"
    if "scores" not in study.options:
        return "next: 'aggcal check', then 'aggcal aggregate' (there are no scores yet)"
    return "next: 'aggcal check', then 'aggcal run'"
