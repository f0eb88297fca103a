"""A small web server for one reader on this machine: it reads, answers GET and HEAD, no more."""

from __future__ import annotations

import errno
import socket
import sys
import traceback
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address

from aggcal.errors import OptionError
from aggcal.serve.pages import Pages, message
from aggcal.serve.runs import Library

LOCAL = "127.0.0.1"
"""Where it listens unless somebody says otherwise: nobody else can reach it."""
PORT = 8585
"""A port that few programs use; any does, as long as it stays the same for bookmarks."""
_LARGEST_PORT = 65535  # TCP has no more
_HEADERS = {
    # The page states which of its own scripts may run; this adds what only a header can.
    "Content-Security-Policy": "frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Server(ThreadingHTTPServer):
    """The server of a folder.

    Parameters
    ----------
    library
        The folder.
    host, port
        Where to listen; port 0 takes a free one.

    Examples
    --------
    >>> server = Server(Library("."), port=0)
    >>> server.address.startswith("http://127.0.0.1:")
    True
    >>> server.server_close()
    """

    daemon_threads = True

    def __init__(self, library: Library, host: str = LOCAL, port: int = PORT) -> None:
        if not 0 <= port <= _LARGEST_PORT:
            raise OptionError(f"--port {port} must be between 0 (any free port) and 65535.")
        self.pages = Pages(library)
        self.host = host
        if ":" in host:
            self.address_family = socket.AF_INET6
        try:
            super().__init__((host, port), Handler)
        except OSError as error:
            raise OptionError(_refused(host, port, error)) from None

    def server_bind(self) -> None:
        """Bind, without asking the network for this machine's name as its parent does."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = self.host, int(self.server_address[1])

    @property
    def address(self) -> str:
        """The address to open in a browser."""
        host = {"0.0.0.0": LOCAL, "::": "::1"}.get(self.host, self.host)  # noqa: S104
        return f"http://{f'[{host}]' if ':' in host else host}:{self.server_port}/"

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host == "localhost" or (_is_ip(self.host) and ip_address(self.host).is_loopback)

    def answers_to(self, host: str) -> bool:
        """Whether a request's Host is one of ours.

        A page elsewhere can make its own name lead to this machine, and would then be allowed to
        read what we answer. Such a name is not ours.
        """
        name, port = _split(host)
        if port != str(self.server_port):
            return False
        if name in {"localhost", LOCAL, "::1"}:
            return True
        return not self.local and (name == self.host.lower() or _is_ip(name))

    def handle_error(self, *_: object) -> None:
        """Keep quiet about readers that went away; say what else went wrong."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            traceback.print_exc()


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    server: Server
    server_version, sys_version = "aggcal", ""
    timeout = 30
    """Seconds that a reader may take to ask: one that says nothing must not keep a thread."""

    def do_GET(self) -> None:
        """Send a page."""
        self._answer(body=True)

    def do_HEAD(self) -> None:
        """Send the state of a page: cheap, since nothing is rendered."""
        self._answer(body=False)

    def _refuse(self) -> None:
        self.close_connection = True
        self._send(HTTPStatus.METHOD_NOT_ALLOWED, message("This server only shows pages."))

    do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = _refuse  # noqa: N815

    def _answer(self, *, body: bool) -> None:
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or not self.server.answers_to(hosts[0]):
            said = "This server does not go by that name; use the address that it printed."
            self._send(HTTPStatus.MISDIRECTED_REQUEST, message(said), body=body)
            return
        if self.path == "/favicon.ico":
            self._send(HTTPStatus.NO_CONTENT, "", body=False)
            return
        try:
            found = self.server.pages.answer(self.path)
            page = found.render() if body else ""
        except Exception:  # noqa: BLE001  # one page that fails must not end the server
            traceback.print_exc()
            said = "aggcal failed to make this page; what happened is in its terminal."
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, message(said), body=body)
            return
        self._send(found.status, page, found.state, body=body)

    def _send(self, status: HTTPStatus, page: str, state: str = "", *, body: bool = True) -> None:
        # A name may hold half a character, which no page can.
        content = page.encode("utf-8", "replace")
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        if state:
            self.send_header("ETag", f'"{state}"')
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET, HEAD")
        if body:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            with suppress(ConnectionError):
                self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing about every request: pages ask every moment."""


def _split(host: str) -> tuple[str, str]:
    """Return the name and the port of a Host header.

    Examples
    --------
    >>> _split("LocalHost:80"), _split("[::1]:8080"), _split("localhost")
    (('localhost', '80'), ('::1', '8080'), ('localhost', '80'))
    """
    host = host.strip().lower()
    if host.startswith("["):
        name, _, rest = host[1:].partition("]")
        return name, rest.removeprefix(":") or "80"
    name, _, port = host.partition(":")
    return name, port or "80"


def _is_ip(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _refused(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"--port {port} is in use; choose another, or 0 for a free one."
    if error.errno in {errno.EACCES, errno.EPERM}:
        return f"--port {port} needs more rights than you have; choose one above 1023."
    return f"--host {host} cannot be used ({error.strerror or error}); leave it out."
