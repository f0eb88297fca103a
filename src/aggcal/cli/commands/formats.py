"""``aggcal formats``: the formats that judgments are read from."""

from __future__ import annotations

import argparse

from aggcal.cli.arguments import Parser
from aggcal.cli.options.common import add_json, print_json


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=formats)
    add_json(command, "the list")


def formats(options: argparse.Namespace) -> int:
    """Print a line for each."""
    from aggcal.registry import FORMATS

    if options.json:
        print_json({name: known.summary for name, known in FORMATS.items()})
        return 0
    for name, known in FORMATS.items():
        print(f"{name:24} {known.summary}")
    return 0
