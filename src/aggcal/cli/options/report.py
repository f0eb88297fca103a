"""The report: what the items say in it, and whether the data are looked over for it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console

if TYPE_CHECKING:
    from aggcal.io.texts import Texts


def add_report_options(command: Parser, *, check: bool = True) -> None:
    """Add the options; ``--no-check`` only where there are data to look over."""
    group = command.add_argument_group("the report")
    group.add_argument(
        "--texts",
        metavar="FILE",
        help="table item,text: what the items say, shown beside their ids",
    )
    group.add_argument(
        "--text-column", metavar="NAME", default="text", help="column of FILE that holds the texts"
    )
    if check:
        group.add_argument(
            "--no-check",
            action="store_true",
            help="do not look the data over (as 'aggcal check' does), nor suggest what to ask next",
        )


def text_files(options: argparse.Namespace) -> list[str]:
    """Return the file of texts, if there is one.

    Examples
    --------
    >>> text_files(argparse.Namespace(texts=None))
    []
    """
    return [] if options.texts is None else [options.texts]


def texts_from(options: argparse.Namespace, console: Console) -> Texts | None:
    """Read the texts, if there are any."""
    from aggcal.io.texts import read_texts

    if options.texts is None:
        return None
    texts = read_texts(options.texts, column=options.text_column)
    console.say_notes(options.texts, texts.notes)
    return texts
