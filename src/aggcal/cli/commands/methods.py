"""``aggcal methods``: the methods of Stage 1."""

from __future__ import annotations

import argparse

from aggcal.cli.arguments import Parser
from aggcal.cli.options.common import add_json, print_json


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=methods)
    add_json(command, "the list")


def methods(options: argparse.Namespace) -> int:
    """Print a line for each."""
    from aggcal.registry import METHODS

    if options.json:
        print_json({name: method.summary for name, method in METHODS.items()})
        return 0
    for name, method in METHODS.items():
        print(f"{name:9} {method.summary}")
    return 0
