"""``aggcal serve``: show a folder of results in a browser, as it changes."""

from __future__ import annotations

import argparse
import sys

from aggcal.cli.arguments import Parser
from aggcal.cli.console import Console
from aggcal.cli.options.common import add_json


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=serve)
    command.describe(
        "Pages refresh when the results change; two runs can be compared. Nothing is written, and "
        "only this machine can reach it. Ctrl-C ends it. Example: aggcal serve results"
    )
    command.add_argument(
        "results", metavar="DIR", help="a folder of results, or a folder with such folders in it"
    )
    command.add_argument(
        "--port", type=int, default=8585, help="port to listen on; 0 takes a free one"
    )
    command.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on; others than the default let other machines read the results",
    )
    command.add_argument(
        "--open",
        action=argparse.BooleanOptionalAction,
        help="open the page in a browser (default: if this is a terminal)",
    )
    command.add_argument(
        "--force", action="store_true", help="show files that were changed since they were written"
    )
    add_json(command, "the address")


def serve(options: argparse.Namespace) -> int:
    """Answer until somebody ends it."""
    import threading
    import webbrowser

    from aggcal.io.writing.write import to_json
    from aggcal.serve.runs import Library
    from aggcal.serve.server import Server

    console = Console(quiet=options.quiet)
    library = Library(options.results, force=options.force)
    runs = len(library.runs())
    with Server(library, options.host, options.port) as server:
        if options.json:
            about = {"address": server.address, "folder": str(options.results), "runs": runs}
            print(to_json(about), flush=True)
        console.say(f"{options.results} is shown at {server.address} (Ctrl-C ends it)")
        if not server.local:
            console.say("warning: whoever reaches this machine can read these results.")
        if sys.stderr.isatty() if options.open is None else options.open:
            threading.Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
        server.serve_forever(poll_interval=0.2)
    return 0
