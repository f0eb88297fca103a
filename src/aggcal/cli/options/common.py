"""Options of a line that many commands take."""

from __future__ import annotations

from aggcal.cli.arguments import Parser


def add_output(command: Parser, what: str) -> None:
    """Add ``--output``, a folder that must be given."""
    command.add_argument("-o", "--output", metavar="DIR", required=True, help=f"folder for {what}")
    add_force(command, "files in DIR that aggcal did not write, or that were changed since")


def add_force(command: Parser, what: str) -> None:
    """Add ``--force``."""
    command.add_argument("--force", action="store_true", help=f"replace {what}")


def add_json(command: Parser, what: str) -> None:
    """Add ``--json``."""
    command.add_argument("--json", action="store_true", help=f"print {what} as JSON")


def add_spreadsheet_safe(command: Parser) -> None:
    """Add ``--spreadsheet-safe``."""
    command.add_argument(
        "--spreadsheet-safe",
        action="store_true",
        help="in CSV files, write an apostrophe before ids that a spreadsheet would run as a "
        "formula (they begin with =, +, - or @); other programs then read other ids",
    )


def add_level(command: Parser) -> None:
    """Add ``--level``."""
    command.add_argument(
        "--level", type=float, default=0.95, metavar="P", help="level of the intervals"
    )


def add_seed(command: Parser) -> None:
    """Add ``--seed``."""
    command.add_argument("--seed", type=int, default=0, help="seed for all random numbers")
