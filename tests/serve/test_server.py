"""`aggcal serve`: what it shows, that it follows changes, and what it refuses."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlencode

import pytest

import aggcal
from aggcal.cli import main
from aggcal.errors import InputError
from aggcal.serve.runs import Library
from aggcal.serve.server import Server

ROWS = [("u", "a", "b"), ("u", "b", "c"), ("v", "a", "b"), ("v", "a", "c"), ("w", "b", "c")]
HOSTILE = '<img src=x onerror="alert(1)">&"\''


def save(folder: Path, rows: list[tuple[str, str, str]] | None = None) -> Path:
    aggcal.assess(ROWS if rows is None else rows, warn=False).save(folder, check=False)
    return folder


@contextmanager
def served(folder: Path) -> Iterator[Server]:
    with Server(Library(folder), port=0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run: made once, copied where a test changes it."""
    return save(tmp_path_factory.mktemp("results") / "one")


@pytest.fixture(scope="module")
def shown(one: Path) -> Iterator[Server]:
    """The server of a folder with two runs, beside one that it does not show."""
    folder = one.parent / "shown"
    for name in ("one", "two", ".hidden"):
        shutil.copytree(one, folder / name)
    shutil.copytree(one, one.parent / "secret")
    with served(folder) as server:
        yield server


def ask(
    server: Server, path: str, method: str = "GET", host: str | None = None
) -> tuple[HTTPResponse, str]:
    link = HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    named = {"Host": host or f"127.0.0.1:{server.server_port}"}
    link.putrequest(method, path, skip_host=True)
    for name, value in named.items():
        link.putheader(name, value)
    link.endheaders()
    answer = link.getresponse()
    text = answer.read().decode("utf-8")
    link.close()
    return answer, text


def files_in(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_runs_are_listed_shown_and_compared(tmp_path: Path) -> None:
    save(tmp_path / "one")
    save(tmp_path / "two", [(who, b, a) for who, a, b in ROWS])
    before = files_in(tmp_path)
    with served(tmp_path) as server:
        answer, text = ask(server, "/")
        assert answer.status == 200
        assert "2 runs" in text
        assert 'href="/run/one"' in text
        assert "Use with care" in text
        assert "3 items, 3 annotators, 5 judgments" in text
        assert "All runs" in ask(server, "/run/one")[1]
        compared = ask(server, "/compare?a=one&b=two")[1]
        assert "3 items are in both runs" in compared
        assert "No item changed places" in compared
    assert files_in(tmp_path) == before


def test_one_folder_of_results_is_its_report(tmp_path: Path) -> None:
    save(tmp_path)
    with served(tmp_path) as server:
        _, text = ask(server, "/")
        assert "3 items compared by 3 annotators" in text
        assert "All runs" not in text
        save(tmp_path / "another")
        assert "2 runs" in ask(server, "/")[1]


def test_a_change_changes_the_state_and_the_page(tmp_path: Path) -> None:
    save(tmp_path / "one")
    with served(tmp_path) as server:
        states = {path: ask(server, path)[0].headers["ETag"] for path in ("/", "/run/one")}
        for path, state in states.items():
            head, text = ask(server, path, "HEAD")
            assert (head.status, head.headers["ETag"], text) == (200, state, "")
            assert f"data-state={state}" in ask(server, path)[1]
        save(tmp_path / "one", [*ROWS, ("x", "d", "a")])
        for path, state in states.items():
            assert ask(server, path, "HEAD")[0].headers["ETag"] != state
            assert "4 items" in ask(server, path)[1]
        listed = ask(server, "/", "HEAD")[0].headers["ETag"]
        save(tmp_path / "two")
        assert ask(server, "/", "HEAD")[0].headers["ETag"] != listed


def test_half_a_folder_is_one_sentence(tmp_path: Path, one: Path) -> None:
    for name in ("good", "changed", "odd", "killed"):
        shutil.copytree(one, tmp_path / name)
    (tmp_path / "empty").mkdir()
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "summary.json").write_text("{", encoding="utf-8")
    (tmp_path / "changed" / "items.csv").write_text("item\n", encoding="utf-8")
    summary = json.loads((tmp_path / "odd" / "summary.json").read_text(encoding="utf-8"))
    del summary["files"]
    summary["check"] = 7
    (tmp_path / "odd" / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    killed = tmp_path / "killed" / ".aggcal-1.new"
    killed.mkdir()
    (killed / "journal.json").write_text("{}", encoding="utf-8")
    with served(tmp_path) as server:
        _, text = ask(server, "/")
        assert "5 runs" in text
        assert "holds no items.csv" in text
        assert "is not the file that summary.json lists" in text
        assert "do not fit together" in text
        for name in ("half", "changed", "odd"):
            answer, page = ask(server, f"/run/{name}")
            assert answer.status == 200
            assert "Nothing to show" in page
            assert "Nothing to show" in ask(server, f"/compare?a=good&b={name}")[1]
    assert (killed / "journal.json").exists()


@pytest.mark.parametrize(
    "path",
    [
        "/..", "/../", "/%2e%2e/", "/run/..", "/run/%2e%2e", "/run/..%2f..%2fetc", "/run/.hidden",
        "/run/one/../../secret", "/run/one%2fitems.csv", "/run/one/items.csv", "/one/items.csv",
        "/run/%00", "/run/%ff", "//etc/passwd", "http://evil/run/one/", "/run/" + "x" * 5000,
        "/compare", "/compare?a=one", "/compare?a=..&b=one", "/compare?" + "a=1&" * 99, "/secret",
    ],
)  # fmt: skip
def test_no_address_leads_out_of_the_list(shown: Server, path: str) -> None:
    answer, text = ask(shown, path)
    assert answer.status == 404
    assert "3 items" not in text


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1:1",
    "127.0.0.1", "127.0.0.1.evil.example:{port}", "localhost.evil:{port}", "10.0.0.1:{port}",
    "[::1", ":{port}", "localhost:{port}@evil", ""])  # fmt: skip
def test_another_name_is_refused(shown: Server, host: str) -> None:
    for method in ("GET", "HEAD"):
        given = host.format(port=shown.server_port) or " "
        answer, text = ask(shown, "/", method, given)
        assert answer.status == 421
        assert "/run/" not in text


def test_its_own_names_are_answered(shown: Server) -> None:
    for ours in ("localhost", "LOCALHOST", "127.0.0.1", "[::1]"):
        answer, text = ask(shown, "/", host=f"{ours}:{shown.server_port}")
        assert answer.status == 200
        assert "/run/one" in text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_only_reading_is_allowed(shown: Server, method: str) -> None:
    answer, _ = ask(shown, "/", method)
    assert answer.status == 405
    assert answer.headers["Allow"] == "GET, HEAD"


def test_pages_are_strict(shown: Server) -> None:
    for path in ("/", "/run/one", "/compare?a=one&b=two", "/nothing"):
        answer, text = ask(shown, path)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        policy = re.search('http-equiv="Content-Security-Policy" content="([^"]+)"', text)
        assert policy is not None
        assert policy[1].startswith("default-src 'none'")
        assert "connect-src 'self'" in policy[1]
        assert "unsafe" not in policy[1]


def test_hostile_names_are_text(tmp_path: Path) -> None:
    odd = [HOSTILE.replace("/", ""), "a?b#c%41", "üñí", "line\nbreak"]
    made = save(tmp_path / odd[0], [("u", HOSTILE, "b"), ("v", HOSTILE, "b")])
    for name in odd[1:]:
        shutil.copytree(made, tmp_path / name)
    raw = os.fsencode(tmp_path) + b"/bytes-\xff"
    os.mkdir(raw)  # noqa: PTH102
    (Path(os.fsdecode(raw)) / "summary.json").write_text("{}")
    with served(tmp_path) as server:
        _, text = ask(server, "/")
        assert "5 runs" in text
        assert "<img" not in text
        links = re.findall('href="(/run/[^"]+)"', text)
        assert len(links) == 5
        for link in links:
            answer, page = ask(server, link)
            assert answer.status == 200
            assert "<img" not in page
        keys = re.findall('<option value="([^"]+)"', text)
        for a, b in itertools.pairwise(dict.fromkeys(keys)):
            query = urlencode({"a": a, "b": b})
            assert "2 items are in both runs" in ask(server, f"/compare?{query}")[1]


def test_what_cannot_be_served_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", str(tmp_path / "nowhere")]) == 2
    assert "no such folder" in capsys.readouterr().err
    assert main(["serve", str(tmp_path), "--port", "70000"]) == 2
    assert main(["serve", str(tmp_path), "--host", "192.0.2.1", "--port", "0"]) == 2
    with (
        served(tmp_path) as server,
        pytest.raises(InputError, match="is in use"),
    ):
        Server(Library(tmp_path), port=server.server_port)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_command_ends_by_a_signal(one: Path, number: int, code: int) -> None:
    words = [sys.executable, "-m", "aggcal", "serve", str(one), "--port", "0", "--json",
             "--no-open"]  # fmt: skip
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    ) as process:  # fmt: skip
        assert process.stdout is not None
        lines: list[str] = []
        while not lines or lines[-1] != "}\n":
            lines.append(process.stdout.readline())
        about = json.loads("".join(lines))
        assert about["runs"] == 1
        port = int(about["address"].rstrip("/").rsplit(":", 1)[1])
        link = HTTPConnection("127.0.0.1", port, timeout=30)
        link.request("GET", "/")
        assert link.getresponse().status == 200
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
        assert process.returncode == code
        assert "Traceback" not in said
