"""The report: its title, the texts of the items, and whether the data are checked for it."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console

if TYPE_CHECKING:
    from aggcal.assessment.titles import Titles
    from aggcal.io.texts import Texts


def add_report_options(command: Parser, *, check: bool = True) -> None:
    """Add the options; ``--no-check`` only where there are data to check."""
    group = command.add_argument_group("report")
    add_titles(group)
    add_texts(group)
    group.add_argument(
        "--pictures",
        metavar="FOLDER",
        help="pictures of the items, shown in their rows: ID.png, .jpg, .gif or .webp",
    )
    if check:
        group.add_argument(
            "--no-check",
            action="store_true",
            help="skip the data check (see 'aggcal check') and the suggestions of what to ask next",
        )
        group.add_argument(
            "--influence",
            action="store_true",
            help="refit without each of the ten annotators and items that the result depends on "
            "most; without it, the effect of leaving each out is estimated",
        )


def add_titles(group: argparse._ActionsContainer) -> None:
    """Add ``--title`` and ``--question``."""
    group.add_argument("--title", metavar="TEXT", help="title of the report, kept in summary.json")
    group.add_argument(
        "--question",
        metavar="TEXT",
        help="the question that annotators were asked, such as 'Which essay is better?'",
    )


def add_texts(group: argparse._ActionsContainer) -> None:
    """Add ``--texts`` and ``--text-column``."""
    group.add_argument(
        "--texts", metavar="FILE", help="table item,text: the items' texts, shown beside their ids"
    )
    group.add_argument(
        "--text-column", metavar="NAME", default="text", help="column of FILE with the texts"
    )


def titles_from(options: argparse.Namespace) -> Titles:
    """Return the title and the question that were given.

    Examples
    --------
    >>> titles_from(argparse.Namespace(title="Essays", question=None))
    {'title': 'Essays'}
    """
    from aggcal.assessment.titles import checked_titles

    return checked_titles(options.title, options.question)


def text_files(options: argparse.Namespace) -> list[str]:
    """Return the file of texts, if there is one.

    Examples
    --------
    >>> text_files(argparse.Namespace(texts=None))
    []
    """
    return [] if options.texts is None else [options.texts]


def texts_from(options: argparse.Namespace, console: Console) -> Texts | None:
    """Read the texts and the pictures, if there are any."""
    from aggcal.io.pictures import read_pictures
    from aggcal.io.texts import Texts, read_texts

    folder = getattr(options, "pictures", None)
    pictures = {} if folder is None else read_pictures(folder)
    if options.texts is None:
        return Texts({}, pictures=pictures) if pictures else None
    texts = read_texts(options.texts, column=options.text_column)
    console.say_notes(options.texts, texts.notes)
    return replace(texts, pictures=pictures)
