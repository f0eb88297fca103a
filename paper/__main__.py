"""The paper's tables and figures beside ours: ``python -m paper all -o out``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from aggcal.errors import AggcalError
from paper.reproduce import EXPERIMENTS, reproduce


def main(arguments: list[str] | None = None) -> int:
    """Reproduce an experiment, or all of them, and print where the page is."""
    parser = argparse.ArgumentParser(
        prog="python -m paper",
        description="Write the paper's tables and figures beside ours: index.html, index.md, "
        "cells.csv, levels.csv, consensus/ and figures/.",
    )
    parser.add_argument("what", nargs="?", default="all", choices=(*EXPERIMENTS, "all"))
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="folder for the page")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions: about a minute")
    parser.add_argument(
        "--force", action="store_true", help="replace files of these names whoever wrote them"
    )
    options = parser.parse_args(arguments)
    try:
        reproduce(options.what, options.output, quick=options.quick, force=options.force)
    except AggcalError as error:
        print(f"paper: error: {error}", file=sys.stderr)
        return 2
    print((Path(options.output) / "index.html").resolve())
    return 0


if __name__ == "__main__":
    sys.exit(main())
