"""The command line: parse, call, print.

Data goes to standard output or to files, messages go to standard error. Exit codes: 0 success, 1
internal error (or, with ``check --strict``, problems found), 2 bad input or usage, 130 interrupted
by Ctrl-C, 143 terminated (SIGTERM), 129 because the terminal was closed (SIGHUP).
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress

from aggcal._core.interrupts import handled, received
from aggcal._core.machine import BLAS_VARIABLES
from aggcal._core.progress import listening
from aggcal.cli.commands import COMMANDS
from aggcal.cli.console import Console, Terminal, failing, prepare
from aggcal.cli.parser import parse
from aggcal.cli.progress import LINE
from aggcal.errors import InputError, OutputError, command_line, printable

_SIGNALLED = 128
"""What shells add to the number of the signal that ended a command."""
_UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF, errno.EIO}

_LEAST_MEMORY = 700 << 20
"""Bytes of addresses that a small study takes: the C library reserves 64 MB or 128 for each thread,
so that with fewer it is luck whether a library fails, tries for ever, or works."""
_UNMAPPED = re.compile("failed to map|cannot allocate memory", re.IGNORECASE)
_LITTLE_MEMORY = (
    "there is too little memory; close other programs, raise the limit (ulimit -v), or use a "
    "machine with more."
)

for _variable in BLAS_VARIABLES:  # see there
    os.environ.setdefault(_variable, "1")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Examples
    --------
    >>> main(["list", "methods", "--quiet"])
    hra-g ...
    0
    """
    prepare()
    if sys.stdout.isatty():
        sys.stdout = Terminal(sys.stdout)
    try:
        with handled(), command_line():
            code = _call(arguments)
    except KeyboardInterrupt:
        _say("aggcal: interrupted.")
        code = _SIGNALLED + received()
    finally:
        LINE.end()
    lost = failing(sys.stdout)
    if lost is not None and not isinstance(lost, BrokenPipeError):
        _say(_lost(lost))
        code = code or 2
    failing(sys.stderr)
    return code


def _call(arguments: Sequence[str] | None) -> int:
    """Run one command; what goes wrong with the input or the output is reported in one sentence."""
    try:
        _refuse_little_memory()
        words = sys.argv[1:] if arguments is None else list(arguments)
        options = parse(words)
        console = Console(quiet=options.quiet)
        if "study_used" in options:
            console.say(options.study_used)
        console.on_step("starting")
        with listening(console.on_report):
            code: int = COMMANDS[options.command].call(options)
    except (InputError, OutputError) as error:
        _say(f"aggcal: error: {printable(str(error))}")
        return 2
    except (MemoryError, ImportError) as error:
        if isinstance(error, ImportError) and not _UNMAPPED.search(str(error)):
            raise
        _say(f"aggcal: error: {_LITTLE_MEMORY}")
        return 2
    except BrokenPipeError:
        # The reader of our output (head, less) has seen enough.
        failing(sys.stdout)
        return 0
    except OSError as error:
        # Files have names, and what goes wrong with them is reported above.
        if error.filename is not None or error.errno not in _UNWRITABLE:
            raise
        failing(sys.stdout)
        _say(_lost(error))
        return 2
    return code


def _refuse_little_memory() -> None:
    """Refuse a limit of memory with which libraries fail to load, or try for ever."""
    with suppress(ImportError):
        import resource  # which Windows does not have

        if 0 <= resource.getrlimit(resource.RLIMIT_AS)[0] < _LEAST_MEMORY:
            raise InputError(_LITTLE_MEMORY)


def _lost(error: OSError) -> str:
    return f"aggcal: error: standard output cannot be written to ({error.strerror})."


def _say(text: str) -> None:
    """Say a last word, if anybody can hear it."""
    LINE.end()
    LINE.say(f"{text}\n")
