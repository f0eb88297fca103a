"""Run commands in children of a process that has loaded everything: a second less for each.

A child is a process of its own, with its own folder, streams and exit code, and ends as an
interpreter does; only loading the modules, which takes longer than most commands, is done once.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from io import TextIOWrapper
from pathlib import Path
from typing import IO

PRELOADED = (
    "aggcal.cli",
    "aggcal.advice",
    "aggcal.assessment",
    "aggcal.report.html",
    "aggcal.simulation",
    "duckdb",
    "jinja2",
    "scipy.optimize",
    "scipy.sparse.linalg",
    "scipy.special",
)
_LARGEST = 1 << 20  # bytes of a request


class ForkServer:
    """A process that runs commands, one at a time, each in a fork of itself."""

    def __init__(self) -> None:
        self._socket, other = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(other.fileno())], pass_fds=[other.fileno()]
        )
        other.close()

    def run(
        self, arguments: list[str], folder: Path, text: str | None, patience: float
    ) -> subprocess.CompletedProcess[str]:
        """Run ``python -m aggcal`` with these arguments in a folder; ``text`` is its input."""
        with ExitStack() as stack:
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            files[0].write((text or "").encode())
            files[0].seek(0)
            request = json.dumps([arguments, str(folder)]).encode()
            socket.send_fds(self._socket, [request], [file.fileno() for file in files])
            self._socket.settimeout(patience)
            code = int(self._socket.recv(64))
            said = [_text(file) for file in files[1:]]
        return subprocess.CompletedProcess(["aggcal", *arguments], code, *said)

    def close(self) -> None:
        """End the process."""
        self._socket.close()
        self._process.kill()
        self._process.wait()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")


def _serve(requests: socket.socket) -> None:
    while True:
        request, streams, _, _ = socket.recv_fds(requests, _LARGEST, 3)
        if not request:
            return
        child = os.fork()
        if child:
            for stream in streams:
                os.close(stream)
            requests.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            continue
        arguments, folder = json.loads(request)
        requests.close()
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(folder)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = [_main_file(), *arguments]
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            setattr(sys, name, _stream(name, mode))
            setattr(sys, f"__{name}__", getattr(sys, name))
        from aggcal.__main__ import start

        sys.exit(start())


def _stream(name: str, mode: str) -> TextIOWrapper:
    """Open a stream as the interpreter does when it starts."""
    number = ("stdin", "stdout", "stderr").index(name)
    errors = "backslashreplace" if name == "stderr" else "strict"
    buffered = os.fdopen(number, f"{mode}b", closefd=False)
    return TextIOWrapper(buffered, "utf-8", errors, line_buffering=name == "stderr")


def _main_file() -> str:
    import aggcal

    return str(Path(str(aggcal.__file__)).with_name("__main__.py"))


if __name__ == "__main__":
    sys.path.pop(0)  # the folder of the tests
    for name in PRELOADED:
        __import__(name)
    _serve(socket.socket(fileno=int(sys.argv[1])))
