"""``aggcal man``: the manual page, made from the parser."""

from __future__ import annotations

import argparse

from aggcal.cli.arguments import Parser
from aggcal.cli.options.common import add_json, print_json


def add(command: Parser) -> None:
    """Add its options."""
    command.set_defaults(call=man)
    command.describe(
        "One page in roff format covers all commands. An installed package has it as aggcal(1)."
    )
    add_json(command, "the page")


def man(options: argparse.Namespace) -> int:
    """Print the page."""
    from aggcal.cli.manual import page

    text = page(options.whole())
    if options.json:
        print_json({"name": "aggcal.1", "page": text})
    else:
        print(text, end="")
    return 0
