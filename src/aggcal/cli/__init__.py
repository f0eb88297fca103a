"""The command line: parse, call, print.

Data goes to standard output or to files, talk to standard error. Exit codes: 0 done, 1 a fault
of ours (or, with ``check --strict``, problems found), 2 bad input or usage, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from aggcal.cli.console import Terminal
from aggcal.cli.parser import parse
from aggcal.errors import InputError, OutputError, printable

INTERRUPTED = 130

# Matrices here are small: threads of the linear algebra would wait for each other more than they
# work, and the last bits would depend on their number. (Sums over judgments have their own.)
for _library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Examples
    --------
    >>> main(["methods", "--quiet"])
    hra-g ...
    0
    """
    if sys.stdout.isatty():
        sys.stdout = Terminal(sys.stdout)
    try:
        words = sys.argv[1:] if arguments is None else list(arguments)
        options = parse(words)
        options.words = words
        code: int = options.call(options)
        sys.stdout.flush()
    except (InputError, OutputError) as error:
        print(f"aggcal: error: {printable(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("aggcal: interrupted; nothing was written.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output (head, less) has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code
