"""Run commands in children of a process that has loaded everything: a second less for each.

A child is a process of its own, with its own folder, streams, environment and exit code, and ends
as an interpreter does; only loading the modules, which takes longer than most commands, is done
once.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import IO, NoReturn

PRELOADED = (
    "aggcal.advice.advising",
    "aggcal.advice.guarantees",
    "aggcal.aggregation.scales",
    "aggcal.assessment",
    "aggcal.assessment.comparisons",
    "aggcal.assessment.decisions",
    "aggcal.assessment.result",
    "aggcal.assessment.tables",
    "aggcal.cli",
    "aggcal.cli.report",
    "aggcal.cli.results",
    "aggcal.cli.run",
    "aggcal.cli.studies",
    "aggcal.cli.suggest",
    "aggcal.cli.tables",
    "aggcal.io.convert",
    "aggcal.io.pictures",
    "aggcal.io.results",
    "aggcal.io.tasks",
    "aggcal.io.items",
    "aggcal.io.saving",
    "aggcal.report.report",
    "aggcal.simulation",
    "encodings.utf_8_sig",
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
    """Have the formats ready, as a second command finds them."""
    from aggcal.io.formats import formats

    formats()


def _serve(address: str) -> None:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{address}.new")
    listener.listen(64)
    woken, waking = socket.socketpair()
    waking.settimeout(0)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # only so that the loop is woken
    signal.set_wakeup_fd(waking.fileno())
    Path(f"{address}.new").rename(address)
    running: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([listener, woken], [], [])
        if woken in ready:
            woken.recv(_LARGEST)
            _tell_ended(running)
        if listener in ready:
            client, _ = listener.accept()
            child = os.fork()
            if child == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for each in (listener, woken, waking, *running.values()):
                    each.close()
                _command(client)
            running[child] = client


def _tell_ended(running: dict[int, socket.socket]) -> None:
    """Send the exit codes of the commands that have ended to those who wait for them."""
    while running:
        child, status = os.waitpid(-1, os.WNOHANG)
        if child == 0:
            return
        with running.pop(child) as client, suppress(BrokenPipeError):
            client.send(b"%d" % os.waitstatus_to_exitcode(status))


def _command(client: socket.socket) -> NoReturn:
    request, streams, _, _ = socket.recv_fds(client, _LARGEST, len(_STREAMS))
    while not request.endswith(b"\n"):
        request += client.recv(_LARGEST)
    client.close()
    arguments, folder, environment = json.loads(request)
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
    try:
        code = __main__.start()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    _end(code)


def _end(code: int) -> NoReturn:
    """End as an interpreter does, except that modules are not taken apart one by one.

    That takes longer than most commands, as each page of the server's memory is copied for it. What
    it would show (of leaks, say) takes a command in a process of its own.
    """
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if not stream.closed:
            stream.flush()
    os._exit(code)


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
