"""Every block of README and of the documentation runs, and prints what the page shows.

A page is run from top to bottom in an empty folder. What the kinds of blocks mean:

- ``python``: code in one namespace a page; with ``>>>`` a doctest
- ``console``: commands after ``$ `` (``> `` goes on), what is printed beneath if anything is shown
- ``{code-block}`` with a caption: a file of that name
- other directives, such as ``{toctree}``: the documentation's own, nothing to run

Sybil would make a test of each block; here a page is one, so that processes can share the pages.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

import aggcal
from fork_server import ForkServer

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
GENERATED = (DOCS / "_build", DOCS / "examples")
PAGES = sorted(
    path
    # Beside the tests the documentation may be built: folders come and go, which rglob fails at.
    for path in (
        ROOT / "README.md",
        *(Path(at, n) for at, _, names in os.walk(DOCS) for n in names),
    )
    if path.suffix == ".md" and not any(path.is_relative_to(folder) for folder in GENERATED)
)
EXTRA = {"docs/how-to/scale.md": "distributed"}
"""Pages that need a library which not everybody has: without it they are not run."""

NOT_RUN = {
    "make demo": "would set up an environment; tests/cli runs the demo itself",
    "make test": "would run these tests within themselves",
    "pip install": "would change this environment",
}
"""The commands that are not run, by how they begin, each with the reason."""

DIRECTIVES = {"{include}", "{toctree}", "{commands}", "{methods}", "{image}", "{eval-rst}"}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    kind: str
    text: str
    line: int
    file: str | None = None


def blocks(page: Path) -> list[Block]:
    found = []
    for token in MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8")):
        if token.type == "code_block":
            raise AssertionError(f"{page.name}: an indented block says no kind: {token.content!r}")
        if token.type == "fence":
            kind, *_ = token.info.split() or [""]
            line = token.map[0] + 2 if token.map else 0
            caption = re.match(r":caption: (\S+)\n\n?", token.content)
            text = token.content[caption.end() :] if caption else token.content
            found.append(Block(kind, text, line, caption and caption[1]))
    return found


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Split a console block into commands and what is shown beneath each."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        end = next((k for k, line in enumerate(lines[1:], 1) if line[:2] != "> "), len(lines))
        command = "\n".join([lines[0], *(line[2:] for line in lines[1:end])])
        yield command, "\n".join(lines[end:])


@pytest.fixture(scope="session")
def commands_folder(tmp_path_factory: pytest.TempPathFactory, fork_server: ForkServer) -> Path:
    """The command that pages run, without lines of progress: which appear depends on the load."""
    folder = tmp_path_factory.mktemp("commands")
    fork_server.install(folder / "aggcal")
    return folder


def run_command(command: str, shown: str, folder: Path, place: str) -> None:
    if any(command.startswith(beginning) for beginning in NOT_RUN):
        return
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"{place}: {command}\n{done.stdout}"
    if shown.strip():
        checker, example = doctest.OutputChecker(), doctest.Example(command, f"{shown}\n")
        if not checker.check_output(example.want, done.stdout, FLAGS):
            difference = checker.output_difference(example, done.stdout, FLAGS)
            pytest.fail(f"{place}: {command}\n{difference}")


def run_python(text: str, names: dict[str, Any], place: str) -> None:
    if not text.startswith(">>>"):
        exec(compile(text, place, "exec"), names)  # noqa: S102  # our own pages
        return
    test = doctest.DocTestParser().get_doctest(text, {}, place, place, 0)
    test.globs = names
    said: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS, verbose=False).run(
        test, out=said.append, clear_globs=False
    )
    assert not said, "".join(said)


def named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_block_of_a_page_runs(
    page: Path,
    tmp_path: Path,
    commands_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if named(page) in EXTRA:
        pytest.importorskip(EXTRA[named(page)])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")  # what is said and what is printed stay in order
    monkeypatch.setenv("MPLBACKEND", "agg")
    first = (str(commands_folder), str(Path(sys.executable).parent))
    monkeypatch.setenv("PATH", os.pathsep.join((*first, os.environ["PATH"])))
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks(page):
        place = f"{named(page)}:{block.line}"
        if block.file is not None:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
        elif block.kind == "console":
            for command, shown in commands(block.text):
                run_command(command, shown, tmp_path, place)
        elif block.kind == "python":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", aggcal.AggcalWarning)
                run_python(block.text, names, place)
        else:
            assert block.kind in DIRECTIVES, f"{place}: a block of kind '{block.kind}' is not run"


def test_the_runner_notices_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        run_command("false", "", tmp_path, "page")
    with pytest.raises(pytest.fail.Exception):
        run_command("echo one two", "one three", tmp_path, "page")
    run_command("echo one two three", "one ... three", tmp_path, "page")
    with pytest.raises(AssertionError, match="Expected"):
        run_python(">>> 1 + 1\n3\n", {}, "page")
    assert list(commands("$ a \\\n>   b\nshown\n$ c\n")) == [("a \\\n  b", "shown"), ("c", "")]


def test_commands_of_pages_are_those_of_this_environment(commands_folder: Path) -> None:
    aggcal_command = str(commands_folder / "aggcal")
    said = subprocess.check_output([aggcal_command, "--version"], text=True)
    assert said.split()[-1] == aggcal.__version__


def test_every_command_that_is_not_run_is_in_a_page() -> None:
    texts = [block.text for page in PAGES for block in blocks(page) if block.kind == "console"]
    for beginning in NOT_RUN:
        assert any(f"$ {beginning}" in text for text in texts), f"'{beginning}' is in no page"
