"""Datasets that are nowhere: downloaded from a server, verified, kept."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest

import aggcal
from aggcal import datasets
from aggcal.datasets import download
from aggcal.registry.literals import DatasetName


class Mirror:
    """A local server that has some files and counts what is asked of it; it may misbehave."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.manners: Callable[[BaseHTTPRequestHandler], None] | None = None
        self.asked: list[str] = []
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # the library's name
                path = unquote(self.path).lstrip("/")
                mirror.asked.append(path)
                if mirror.manners is not None:
                    mirror.manners(self)
                    return
                found = mirror.files.get(path)
                self.send_response(404 if found is None else 200)
                self.end_headers()
                if found is not None:
                    self.wfile.write(found)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    """Serve from here; nothing is found on this machine."""
    server = Mirror()
    monkeypatch.setenv("AGGCAL_MIRROR", server.address)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("AGGCAL_DATA", raising=False)
    monkeypatch.setattr(datasets, "__file__", str(tmp_path / "a" / "b" / "c" / "d.py"))
    yield server
    server.close()


def reading_level_files() -> dict[str, bytes]:
    scores = "0.5\n-0.25\n1.0"
    files = {
        f"{download._HRA}/all_pair.txt": b"1 2 1\n1 3 2\n2 3 1\n",
        f"{download._HRA}/doc_info.txt": b"1 4\n2 5\n3 9\n",
        f"{download._ATC}/s_p.txt": f"# Design_point\n{scores}\n".encode(),
    }
    for kind in "GEN":
        name = f"{download._ATC}/reg10_score_Ones_+_HRA-{kind}_s->a.txt"
        files[name] = scores.encode()
    return files


def test_what_is_downloaded_is_converted_verified_and_kept(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.files = reading_level_files()
    judgments = b"annotator,winner,loser\n1,2,1\n1,3,2\n2,3,1\n"
    items = (
        b"item,truth,s_p,s_star_hra_g,s_star_hra_e,s_star_hra_n\n1,4,0.5,0.5,0.5,0.5\n"
        b"2,5,-0.25,-0.25,-0.25,-0.25\n3,9,1.0,1.0,1.0,1.0\n"
    )
    for name, content in (("judgments", judgments), ("items", items)):
        sum_ = hashlib.sha256(content).hexdigest()
        monkeypatch.setitem(download.SUMS, f"reading-level/{name}.csv", sum_)
    folder = datasets.folder_of("reading-level", None)
    assert (folder / "judgments.csv").read_bytes() == judgments
    assert (folder / "items.csv").read_bytes() == items
    asked = len(mirror.asked)
    assert datasets.folder_of("reading-level", None) == folder
    assert len(mirror.asked) == asked, "it is in the cache now"


def test_sushi_is_converted_verified_and_loaded(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = f"{download._SUSHI}/sushi3a.5000.10.order"
    mirror.files = {at: b"10 1\n0 10 5 0 3 4 6 9 8 1 7 2\n0 10 0 9 6 3 7 2 8 1 5 4\n"}
    made = (
        b"annotator,r1,r2,r3,r4,r5,r6,r7,r8,r9,r10\n1,5,0,3,4,6,9,8,1,7,2\n2,0,9,6,3,7,2,8,1,5,4\n"
    )
    monkeypatch.setitem(download.SUMS, "sushi/rankings.csv", hashlib.sha256(made).hexdigest())
    said: list[str] = []
    sushi = datasets.load("sushi", say=said.append)
    assert (sushi.folder / "rankings.csv").read_bytes() == made
    assert sushi.judgments.n_judgments == 90
    assert (sushi.scores, sushi.truth) == (None, None)
    assert said == ["downloading Sushi"]


def test_something_else_than_expected_is_refused_and_not_kept(
    mirror: Mirror, tmp_path: Path
) -> None:
    mirror.files = reading_level_files()
    with pytest.raises(aggcal.AggcalError, match="is not what was expected"):
        datasets.folder_of("reading-level", None)
    assert not list((tmp_path / "cache").rglob("*.csv"))


@pytest.mark.usefixtures("mirror")
def test_what_is_not_there_is_named() -> None:
    with pytest.raises(aggcal.AggcalError, match=r"5000.10.order: cannot be downloaded"):
        datasets.load("sushi")


def short_body(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b"1 2 3\n")


def short_chunks(handler: BaseHTTPRequestHandler) -> None:
    handler.protocol_version = "HTTP/1.1"
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.wfile.write(b"100\r\n1 2 3\n")
    handler.close_connection = True


def endless_body(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    with suppress(OSError):
        while True:
            handler.wfile.write(b"1 2 3\n" * 10_000)


def slow_body(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    with suppress(OSError):
        for _ in range(200):
            handler.wfile.write(b"1 2 3\n")
            time.sleep(0.01)


def wrong_content(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    handler.wfile.write(b"\xff\xfe<html>" + b"{" * 100_000)


def not_found(handler: BaseHTTPRequestHandler) -> None:
    handler.send_error(404)


def redirect_loop(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(302)
    handler.send_header("Location", handler.path)
    handler.end_headers()


def redirect_to_a_file(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(302)
    handler.send_header("Location", "file:///etc/passwd")
    handler.end_headers()


def closes_early(handler: BaseHTTPRequestHandler) -> None:
    handler.close_connection = True


def talks_nonsense(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"\x1b[2J nonsense\r\n\r\n")


@pytest.mark.parametrize("name", ["reading-level", "sushi"])
@pytest.mark.parametrize(
    ("manners", "said"),
    [
        (short_body, "sent 6 bytes and spoke of 1000"),
        (short_chunks, "cannot be downloaded"),
        (endless_body, "sends more than 2,097,152 bytes"),
        (slow_body, "the server is too slow"),
        (wrong_content, "is not what was expected"),
        (not_found, "cannot be downloaded (Not Found)"),
        (redirect_loop, "cannot be downloaded"),
        (redirect_to_a_file, "cannot be downloaded"),
        (closes_early, "cannot be downloaded"),
        (talks_nonsense, "cannot be downloaded"),
    ],
)
def test_a_bad_server_is_one_sentence(  # noqa: PLR0917
    manners: Callable[[BaseHTTPRequestHandler], None],
    said: str,
    name: DatasetName,
    mirror: Mirror,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if manners is slow_body:
        monkeypatch.setattr(download, "_AT_LONGEST", 0.1)
    mirror.manners = manners
    with pytest.raises(aggcal.AggcalError) as caught:
        datasets.folder_of(name, None)
    message = str(caught.value)
    assert said in message
    assert "AGGCAL_DATA" in message
    assert "\n" not in message
    assert "\x1b" not in message
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_folder_that_is_named_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine" / "dots"
    folder.mkdir(parents=True)
    for name in ("items.csv", "ratings.csv", "model_scores.csv"):
        (folder / name).write_text("item\n")
    monkeypatch.setenv("AGGCAL_DATA", str(tmp_path / "mine"))
    assert datasets.folder_of("dots", None) == folder
