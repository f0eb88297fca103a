"""Run commands in children of a process that has loaded everything: a second less for each.

A child is a process of its own, with its own folder, streams, environment and exit code, and ends
as an interpreter does; only loading the modules, which takes longer than most commands, is done
once.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import IO, NoReturn

PRELOADED = (
    "aggcal.advice",
    "aggcal.assessment",
    "aggcal.cli",
    "aggcal.cli.commands.aggregate",
    "aggcal.cli.commands.check",
    "aggcal.cli.commands.convert",
    "aggcal.cli.commands.evaluate",
    "aggcal.cli.commands.report",
    "aggcal.cli.commands.run",
    "aggcal.cli.commands.simulate",
    "aggcal.cli.commands.suggest",
    "aggcal.io.convert",
    "aggcal.io.pictures",
    "aggcal.io.writing.writable",
    "aggcal.report.html",
    "aggcal.simulation",
    "jinja2",
    "scipy.optimize",
    "scipy.sparse.csgraph",
    "scipy.sparse.linalg",
    "scipy.special",
    "scipy.stats",
    "tomllib",
)
_LARGEST = 1 << 20  # bytes of a request
_STREAMS = ("stdin", "stdout", "stderr")

CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    request = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [request + b"\\n"], [0, 1, 2])
    code = int(server.recv(64))
sys.exit(code if code >= 0 else 128 - code)
"""
"""A command that has the server run ``aggcal``."""


class ForkServer:
    """A process that runs commands, each in a fork of itself."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="fork-")
        self.address = str(Path(self._folder.name, "socket"))
        self._process = subprocess.Popen([sys.executable, __file__, self.address])
        while not Path(self.address).exists():
            assert self._process.poll() is None
            time.sleep(0.01)

    def run(
        self,
        arguments: list[str],
        folder: Path,
        *,
        text: str | None = None,
        env: Mapping[str, str] | None = None,
        patience: float = 120.0,
    ) -> subprocess.CompletedProcess[str]:
        """Run ``python -m aggcal`` with these arguments in a folder; ``text`` is its input."""
        with ExitStack() as stack:
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in _STREAMS]
            files[0].write((text or "").encode())
            files[0].seek(0)
            request = json.dumps([arguments, str(folder), dict(env or os.environ)]).encode()
            server = stack.enter_context(socket.socket(socket.AF_UNIX))
            server.settimeout(patience)
            server.connect(self.address)
            socket.send_fds(server, [request + b"\n"], [file.fileno() for file in files])
            code = int(server.recv(64))
            said = [_text(file) for file in files[1:]]
        return subprocess.CompletedProcess(["aggcal", *arguments], code, *said)

    def install(self, path: Path) -> None:
        """Write a command that has this server run ``aggcal``."""
        path.write_text(CLIENT.format(python=sys.executable, address=self.address), "utf-8")
        path.chmod(0o755)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")


def _compile() -> None:
    """Have the templates of the report and the formats ready, as a second command finds them."""
    from aggcal.io.formats import formats
    from aggcal.report.page import templates

    formats()
    report = templates()
    for name in report.list_templates(["html"]):
        report.get_template(name)


def _serve(address: str) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who wait
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{address}.new")
    listener.listen(64)
    Path(f"{address}.new").rename(address)
    while True:
        client, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _wait_for_command(client)
        client.close()


def _wait_for_command(client: socket.socket) -> None:
    """Run a command in a child, and tell its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request, streams, _, _ = socket.recv_fds(client, _LARGEST, len(_STREAMS))
    while not request.endswith(b"\n"):
        request += client.recv(_LARGEST)
    child = os.fork()
    if child == 0:
        client.close()
        arguments, folder, environment = json.loads(request)
        _command(arguments, folder, environment, streams)
    for stream in streams:
        os.close(stream)
    client.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os._exit(0)


def _command(
    arguments: list[str], folder: str, environment: dict[str, str], streams: list[int]
) -> NoReturn:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, name in enumerate(_STREAMS):
        setattr(sys, name, _opened(number))
        setattr(sys, f"__{name}__", getattr(sys, name))
    from aggcal import __main__

    sys.argv = [str(__main__.__file__), *arguments]
    sys.exit(__main__.start())


def _opened(number: int) -> TextIOWrapper:
    """Open a stream as the interpreter does when it starts."""
    error = _STREAMS[number] == "stderr"
    buffered = os.fdopen(number, "wb" if number else "rb", closefd=False)
    return TextIOWrapper(
        buffered,
        "utf-8",
        "backslashreplace" if error else "strict",
        line_buffering=error or bool(os.environ.get("PYTHONUNBUFFERED")),
    )


if __name__ == "__main__":
    sys.path.pop(0)  # the folder of the tests
    for name in PRELOADED:
        __import__(name)
    _compile()
    gc.collect()
    gc.freeze()  # or each child would look through all that is loaded for garbage before it ends
    if int(version("duckdb").split(".")[0]) > 1:
        # A child that uses a DuckDB 1 which was loaded before the fork aborts when it ends, and
        # DuckDB 2 says what it leaks: it must not be frozen.
        import duckdb  # noqa: F401
    _serve(sys.argv[1])
