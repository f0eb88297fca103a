"""What commands may write over, take away and leave behind, through the real command."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from aggcal.cli import main
from conftest import Command
from fork_server import ForkServer

SIZE = ("--items", "8", "--annotators", "4", "--number", "60", "-q")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    assert main(["simulate", "-o", str(folder / "s"), *SIZE]) == 0
    return folder / "s"


@pytest.fixture
def call(command: Command) -> Command:
    return command


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def refused(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("aggcal: error: ")
    assert done.stderr.count("\n") == 1
    for part in parts:
        assert part in done.stderr


@pytest.mark.parametrize("name", ["predictions.csv", "report.md", "items.csv", "summary.json"])
def test_a_file_of_the_user_is_neither_replaced_nor_removed(
    study: Path, tmp_path: Path, call: Command, name: str
) -> None:
    (tmp_path / name).write_text('{"my": "own"}')
    before = contents(tmp_path)
    refused(call("aggregate", study / "judgments.csv", "-o", "."), name, "--force")
    refused(call("run", study / "judgments.csv", study / "scores.csv", "-o", "."), name)
    assert contents(tmp_path) == before
    assert call("aggregate", study / "judgments.csv", "-o", ".", "--force", "-q").returncode == 0
    if name == "predictions.csv":  # no file of these results: it is left alone
        assert (tmp_path / name).read_text() == '{"my": "own"}'
    assert call("aggregate", study / "judgments.csv", "-o", ".", "--force", "-q").returncode == 0


def test_calibrate_takes_away_only_what_an_earlier_run_wrote(
    study: Path, tmp_path: Path, call: Command
) -> None:
    order = tmp_path / "order.csv"
    order.write_text((study / "truth.csv").read_text().replace("truth", "score", 1))
    words = ("calibrate", order, study / "scores.csv")
    out = tmp_path / "out"
    out.mkdir()
    (out / "annotators.csv").write_text("mine")
    refused(call(*words, "-o", "out"), "annotators.csv")
    assert contents(out) == {"annotators.csv": b"mine"}
    (out / "annotators.csv").unlink()
    assert call("run", study / "judgments.csv", study / "scores.csv", "-o", out).returncode == 0
    (out / "notes.txt").write_text("mine")
    assert call(*words, "-o", "out", "-q").returncode == 0
    assert set(contents(out)) == {"items.csv", "summary.json", "notes.txt"}


def test_results_that_were_changed_are_not_replaced(
    study: Path, tmp_path: Path, call: Command
) -> None:
    words = ("aggregate", study / "judgments.csv", "-o", "out", "-q")
    assert call(*words).returncode == 0
    assert call(*words).returncode == 0
    with (tmp_path / "out" / "items.csv").open("a") as file:
        file.write("mine,1\n")
    before = contents(tmp_path / "out")
    refused(call(*words), "items.csv", "changed since")
    assert contents(tmp_path / "out") == before
    assert call(*words, "--force").returncode == 0


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("simulate", "-o", "out", *SIZE), "truth.csv"),
        (("demo", "--data", "dots", "-o", "out", "-q"), "data/dots/scores.csv"),
        (("demo", "--data", "dots", "-o", "out", "-q"), "items.csv"),
    ],
)
def test_other_commands_ask_too(
    tmp_path: Path, call: Command, words: tuple[str, ...], name: str
) -> None:
    path = tmp_path / "out" / name
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    refused(call(*words), name)
    assert path.read_text() == "mine"


def test_a_study_is_made_again_but_not_over_results(call: Command) -> None:
    assert call("simulate", "-o", "s", *SIZE).returncode == 0
    assert call("simulate", "-o", "s", *SIZE, "--seed", "5").returncode == 0
    # Both have annotators.csv: here it holds the true reliabilities.
    refused(call("run", "s/judgments.csv", "s/scores.csv", "-o", "s"), "annotators.csv")


@pytest.mark.parametrize("words", [("report", "out", "-o")])
def test_single_files_are_replaced_only_by_force(
    study: Path, tmp_path: Path, call: Command, words: tuple[str, ...]
) -> None:
    (tmp_path / "s").symlink_to(study)
    assert call("aggregate", "s/judgments.csv", "-o", "out", "-q").returncode == 0
    (tmp_path / "mine.md").write_text("mine")
    (tmp_path / "link.md").symlink_to("mine.md")
    refused(call(*words, "mine.md"), "already exists")
    refused(call(*words, "link.md"), "already exists")
    assert (tmp_path / "mine.md").read_text() == "mine"
    (tmp_path / "mine.md").chmod(0o600)
    assert call(*words, "link.md", "--force", "-q").returncode == 0
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "mine.md").read_text() != "mine"
    assert stat.S_IMODE((tmp_path / "mine.md").stat().st_mode) == 0o600
    refused(call(*words, "out"), "is a folder")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.md", "mine.md", "out", "s"]


def test_devices_and_pipes_are_written_into(study: Path, tmp_path: Path, call: Command) -> None:
    assert call("aggregate", study / "judgments.csv", "-o", "out", "-q").returncode == 0
    assert call("report", "out", "-o", "/dev/null", "--force", "-q").returncode == 0
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    done = call("report", "out", "-o", "/dev/stdout", "-q")
    assert done.stdout.startswith("<!doctype html>")
    refused(call("report", "out", "-o", "/dev/full", "-q"), "disk is full")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        assert call("report", "out", "-o", "pipe", "-q").returncode == 0
        assert reader.stdout is not None
        assert reader.stdout.read().startswith(b"<!doctype html>")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with socket.socket(socket.AF_UNIX) as there:
        there.bind(str(tmp_path / "socket"))
        refused(call("report", "out", "-o", "socket", "--force"), "socket")
    assert stat.S_ISSOCK((tmp_path / "socket").stat().st_mode)
    (tmp_path / "out" / "report.html").unlink()
    os.mkfifo(tmp_path / "out" / "report.html")
    refused(call("aggregate", study / "judgments.csv", "-o", "out", "--force"), "report.html")


def test_a_link_to_a_folder_and_the_mode_of_the_folder_stay(
    study: Path, tmp_path: Path, call: Command
) -> None:
    (tmp_path / "real").mkdir(mode=0o750)
    (tmp_path / "link").symlink_to("real")
    for _ in range(2):
        assert call("aggregate", study / "judgments.csv", "-o", "link", "-q").returncode == 0
        assert (tmp_path / "link").is_symlink()
        assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o750
    assert (tmp_path / "real" / "items.csv").exists()
    (tmp_path / "file").write_text("mine")
    refused(call("aggregate", study / "judgments.csv", "-o", "file", "--force"), "is a file")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("name", ["report.html", "items.csv", "summary.json"])
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_no_link_in_a_folder_of_results_leads_out_of_it(
    study: Path, tmp_path: Path, call: Command, name: str, force: tuple[str, ...]
) -> None:
    judgments = study / "judgments.csv"
    assert call("aggregate", judgments, "-o", "out", "-q").returncode == 0
    # The same as what is listed: only the link tells that it is a file of the user.
    (tmp_path / "out" / name).rename(tmp_path / "mine")
    (tmp_path / "out" / name).symlink_to("../mine")
    before = (tmp_path / "mine").read_bytes()
    refused(call("aggregate", judgments, "-o", "out", *force), f"out/{name} leads out of")
    (tmp_path / "link").symlink_to("out")
    refused(call("aggregate", judgments, "-o", "link", *force), f"link/{name} leads out of")
    if name != "items.csv":
        refused(call("report", "out", "--title", "New", *force), f"out/{name} leads out of")
    assert (tmp_path / "mine").read_bytes() == before
    (tmp_path / "mine").unlink()
    refused(call("aggregate", judgments, "-o", "out", "--force"), "leads out of its folder")
    assert not (tmp_path / "mine").exists()


def test_a_link_that_leads_nowhere_makes_no_file(
    study: Path, tmp_path: Path, call: Command
) -> None:
    (tmp_path / "next.csv").symlink_to("elsewhere")
    refused(call("suggest", study / "judgments.csv", "-o", "next.csv"), "already exists")
    assert not (tmp_path / "elsewhere").exists()


def test_a_mixture_is_refused_by_name(study: Path, tmp_path: Path, call: Command) -> None:
    inputs = (study / "judgments.csv", study / "scores.csv")
    assert call("run", *inputs, "-o", "a", "-q").returncode == 0
    assert call("run", *inputs, "-o", "b", "-q", "--method", "btl").returncode == 0
    (tmp_path / "a" / "items.csv").write_bytes((tmp_path / "b" / "items.csv").read_bytes())
    before = contents(tmp_path / "a")
    refused(call("evaluate", "a/items.csv", study / "truth.csv"), "a/items.csv", "another run")
    refused(call("calibrate", "a/items.csv", study / "scores.csv", "-o", "c"), "a/items.csv")
    (tmp_path / "items.csv").write_bytes(before["items.csv"])
    for items in ("items.csv", "b/items.csv"):
        assert call("evaluate", items, study / "truth.csv", "-q").returncode == 0
    for more in ((), ("-o", "a.json"), ("-o", "-"), ("-o", "page.html")):
        refused(call("report", "a", *more), "a/items.csv", "--force")
    assert contents(tmp_path / "a") == before
    assert not (tmp_path / "page.html").exists()
    assert call("report", "a", "--force", "-o", "page.html").returncode == 0


def test_a_report_is_listed_with_the_results(study: Path, tmp_path: Path, call: Command) -> None:
    words = ("run", study / "judgments.csv", study / "scores.csv", "-o", "out", "-q")
    assert call(*words).returncode == 0
    for _ in range(2):
        assert call("report", "out", "-o", "out/report.json", "-q").returncode == 0
    listed = json.loads((tmp_path / "out" / "summary.json").read_text())["files"]
    assert set(listed) == set(contents(tmp_path / "out")) - {"summary.json"}
    assert call(*words).returncode == 0
    assert not (tmp_path / "out" / "report.json").exists()
    (tmp_path / "out" / "report.html").write_text("mine")
    refused(call("report", "out"), "report.html")


def test_writers_at_once_leave_one_set(
    study: Path, tmp_path: Path, call: Command, fork_server: ForkServer
) -> None:
    """And so they do beside a file of the user, where the folder cannot be exchanged."""
    out, aggcal = tmp_path / "out", tmp_path / "aggcal"
    fork_server.install(aggcal)
    for own in (False, True):
        if own:
            (out / "notes.txt").write_text("mine")
        for _ in range(2):
            writers = [
                subprocess.Popen(
                    [
                        *(aggcal, "aggregate", study / "judgments.csv"),
                        *("-o", out, "-q", "--no-check", "--method", method),
                    ]
                )
                for method in ("hra-g", "btl", "tcv", "hra-n")
            ]
            assert [writer.wait() for writer in writers] == [0, 0, 0, 0]
            assert call("report", out, "-o", "-", "-q").returncode == 0
            left = {path.name for path in out.iterdir()} - {"notes.txt"}
            assert left == {
                "items.csv",
                "annotators.csv",
                "comparisons.json",
                "report.html",
                "report.md",
                "summary.json",
            }
            assert not list(tmp_path.glob(".aggcal*"))
    assert (out / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)]
)
def test_a_signal_leaves_nothing_behind(
    study: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    judgments = str(study / "judgments.csv")
    # Progress is printed, to know when the draws have begun.
    script = (
        "import sys, time\nfrom aggcal.cli.console import Console\n"
        "def wait(*_):\n    print('draws', file=sys.stderr, flush=True)\n    time.sleep(0.01)\n"
        "Console.on_draw = wait\n"
        "from aggcal.__main__ import start\nsys.exit(start())"
    )
    command = [sys.executable, "-c", script, "aggregate", judgments, "-o", "out"]
    ended = set()
    for delay in (0.2,):
        process = subprocess.Popen(
            [*command, "--uncertainty", "bootstrap"],
            cwd=tmp_path,
            env={**os.environ, "TMPDIR": str(temporary)},
            stderr=subprocess.PIPE,
            text=True,
            # Whoever runs the tests may ignore the signal, and children would, too.
            preexec_fn=partial(signal.signal, number, signal.SIG_DFL),  # noqa: PLW1509
        )
        assert process.stderr is not None
        while "draws" not in process.stderr.readline():
            assert process.poll() is None
        time.sleep(delay)
        process.send_signal(number)
        _, said = process.communicate()
        assert "Traceback" not in said or process.returncode == -number
        ended.add(process.returncode)
        assert list(temporary.iterdir()) == []
        assert sorted(path.name for path in tmp_path.iterdir()) == ["tmp"]
    assert code in ended
    assert ended <= {code, -number}  # a signal before Python has begun ends it at once


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs root")
def test_a_file_that_cannot_be_replaced_stops_the_whole_set(
    study: Path, tmp_path: Path, call: Command
) -> None:
    words = ("aggregate", study / "judgments.csv", "-o", "out", "-q")
    assert call(*words).returncode == 0
    fixed = tmp_path / "out" / "report.html"
    if subprocess.run(["chattr", "+i", fixed], check=False, capture_output=True).returncode:
        pytest.skip("the file system has no immutable files")
    try:
        before = contents(tmp_path / "out")
        refused(call(*words, "--method", "btl"), "permission")
        assert contents(tmp_path / "out") == before
        assert [path.name for path in tmp_path.iterdir()] == ["out"]
    finally:
        subprocess.run(["chattr", "-i", fixed], check=True)
