"""Options of a line that many commands take."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping
from typing import Any

from aggcal.cli.arguments import Parser
from aggcal.errors import OptionError

_HALVES = re.compile("[\ud800-\udfff]")
_STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
"""How a file is called that is standard output."""


def add_output(command: Parser, what: str) -> None:
    """Add ``--output``, a folder that must be given."""
    command.add_argument("-o", "--output", metavar="DIR", required=True, help=f"folder for {what}")
    add_force(command, "files in DIR that aggcal did not write, or that have changed since")


def add_force(command: Parser, what: str) -> None:
    """Add ``--force``."""
    command.add_argument("--force", action="store_true", help=f"replace {what}")


def add_json(command: Parser, what: str) -> None:
    """Add ``--json``: standard output then holds one JSON document and nothing else."""
    command.add_argument(
        "--json", action="store_true", help=f"print {what} as JSON on standard output"
    )


def print_json(what: Mapping[str, Any], written: Iterable[object] = ()) -> None:
    """Print what a command made as one JSON document, with the files that it wrote, if any.

    Examples
    --------
    >>> print_json({"n": 2}, ["out/items.csv"])
    {
      "n": 2,
      "files_written": [
        "out/items.csv"
      ]
    }
    """
    from aggcal.io.writing.write import to_json

    files = [str(path) for path in written]
    text = to_json({**what, "files_written": files} if files else what)
    # A file name may hold bytes that are no text; JSON can hold them escaped.
    print(_HALVES.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def refuse_two_documents(options: argparse.Namespace) -> None:
    """Refuse ``--json`` where standard output already gets the file itself."""
    if options.json and options.output in _STANDARD_OUTPUT:
        raise OptionError(
            f"--json and -o {options.output} would both print to standard output; write to a file "
            "or omit --json."
        )


def add_spreadsheet_safe(command: Parser) -> None:
    """Add ``--spreadsheet-safe``."""
    command.add_argument(
        "--spreadsheet-safe",
        action="store_true",
        help="in CSV files, put an apostrophe before ids that a spreadsheet would run as a formula "
        "(those starting with =, +, - or @); other programs then see different ids",
    )


def add_level(command: Parser) -> None:
    """Add ``--level``."""
    command.add_argument(
        "--level", type=float, default=0.95, metavar="P", help="level of the intervals"
    )


def add_seed(command: Parser) -> None:
    """Add ``--seed``."""
    command.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed for all random numbers"
    )
