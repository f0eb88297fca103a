"""What the tests share: the real command, real data, small studies."""

from __future__ import annotations

import csv
import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

import aggcal
from aggcal.simulation import Simulation, simulate
from fork_server import ForkServer

ROOT = Path(__file__).resolve().parents[1]
SCREENSHOTS = ROOT / "build" / "screenshots"
_STARTING = {"LC_ALL", "LANG", "LANGUAGE", "PYTHONIOENCODING", "PYTHONUTF8"}
_BEFORE = frozenset(os.environ)
MadeOnce = Callable[[str, Callable[[Path], object]], Path]
Command = Callable[..., "subprocess.CompletedProcess[str]"]

# The same examples every time, and none fails because the machine is busy.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

# It is somebody else's package: on the path of the tests its formats would count as installed.
collect_ignore = ["example_package"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say where the pictures of the pages are, if any were taken."""
    if any("browser" in each.nodeid for each in terminalreporter.getreports("passed")):
        terminalreporter.write_line(f"screenshots: {SCREENSHOTS}")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Let the first of several processes compile what the others then load."""
    with _in_turn() if _cold(session.config) else nullcontext():
        return (yield)


def pytest_collection_finish() -> None:
    """Keep thousands of tests and modules from being looked through for garbage again and again."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let them go in the end, or DuckDB says that they leaked."""
    gc.unfreeze()


def _cold(config: pytest.Config) -> bool:
    """Whether several processes are about to compile all tests and what they import."""
    if not hasattr(config, "workerinput") or sys.dont_write_bytecode or os.name != "posix":
        return False
    compiled = Path(cache_from_source(str(ROOT / "tests" / "test_theory.py"))).parent
    return not any(compiled.glob("test_theory.*"))


@contextmanager
def _in_turn() -> Iterator[None]:
    """Let one process at a time go on."""
    import fcntl

    with Path(__file__).open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(autouse=True)
def plain_tables(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let tables be plain columns, except in the pages, which run as a reader runs them."""
    pages = request.path.is_relative_to(ROOT / "tests" / "docs")
    with aggcal.options.using(frame="auto" if pages else "columns"):
        yield


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The real datasets of the repository, or where AGGCAL_DATA says."""
    folder = Path(os.environ.get("AGGCAL_DATA", ROOT / "datasets"))
    if not (folder / "reading_level" / "judgments.csv").is_file():
        pytest.skip("needs all of datasets/, which only the repository has: set AGGCAL_DATA to it")
    return folder


@pytest.fixture(scope="session")
def reading_level(data_folder: Path) -> Path:
    return data_folder / "reading_level"


@pytest.fixture(scope="session")
def reading_judgments(reading_level: Path) -> aggcal.Judgments:
    return aggcal.read_judgments(reading_level / "judgments.csv")


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> MadeOnce:
    """Make a folder once for all processes of a run: whoever asks meanwhile waits for it.

    What is in it must be the same whoever makes it, and is read only.
    """
    own = tmp_path_factory.getbasetemp()
    root = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "made-once"

    def made(name: str, make: Callable[[Path], object]) -> Path:
        fcntl = pytest.importorskip("fcntl")
        root.mkdir(exist_ok=True)
        with (root / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (root / f"{name}.done").exists():
                # Half of it may be there: another process failed.
                shutil.rmtree(root / name, ignore_errors=True)
                (root / name).mkdir()
                make(root / name)
                (root / f"{name}.done").touch()
        return root / name

    return made


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    server = ForkServer()
    yield server
    server.close()


@pytest.fixture
def command(tmp_path: Path, fork_server: ForkServer) -> Command:
    """Run the real command in an empty folder."""

    def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        given = [str(argument) for argument in arguments]
        # What an interpreter looks at when it starts needs one that starts.
        if options.keys() <= {"input"} and not _STARTING & (os.environ.keys() - _BEFORE):
            return fork_server.run(given, tmp_path, text=options.get("input"))
        return subprocess.run(
            [sys.executable, "-m", "aggcal", *given],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120.0,
            check=False,
            **options,
        )

    return run


@pytest.fixture
def small_files_only(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """What keeps the files that a new process writes below 1 KB, as a full disk would."""
    resource = pytest.importorskip("resource")
    # Python would leave modules that it compiles half-written, for all processes to come.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def study_folder(tmp_path: Path, made_once: MadeOnce, fork_server: ForkServer) -> Path:
    """The tables of a simulated study, in the folder where the command runs."""
    words = "simulate -o data --items 25 --annotators 12 --number 1500 --reversed 0.1 --seed 3"

    def make(folder: Path) -> None:
        done = fork_server.run(words.split(), folder)
        assert done.returncode == 0, done.stderr
        assert done.stdout == ""

    shutil.copytree(made_once("study", make) / "data", tmp_path / "data")
    return tmp_path / "data"


@pytest.fixture(scope="session")
def study() -> Simulation:
    """A study in which one annotator in ten answers the other way round."""
    return simulate(items=30, annotators=20, judgments=3000, reversed_share=0.1, seed=7)


@pytest.fixture(scope="session")
def study_judgments(study: Simulation) -> aggcal.Judgments:
    return aggcal.read_judgments(study.judgments)


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(20240501)
