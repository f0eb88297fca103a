"""The manual page and the help: every command and option, in an order that can be read."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess

import pytest

from aggcal.cli.commands import COMMANDS
from aggcal.cli.manual import page
from aggcal.cli.parser import EXIT_CODES, parse
from conftest import ROOT


def plain(text: str) -> str:
    """Return roff as text, without fonts and escapes."""
    text = re.sub(r"\\f.", "", text).replace(r"\-", "-").replace(r"\(aq", "'")
    return text.replace(r"\&", "").replace(r"\e", "\\")


def test_every_command_and_option_is_there() -> None:
    text = plain(page())
    sections = dict(re.findall(r'(?ms)^\.SS "aggcal (\w+)"\n(.*?)(?=^\.S[SH])', text))
    assert list(sections) == list(COMMANDS)
    for name, command in COMMANDS.items():
        assert command.example in sections[name]
        for option in command.options:
            for word in option.names:
                assert word in sections[name], f"{name} {word}"
            assert option.help.split("(")[0] in sections[name]
    for code in EXIT_CODES:
        assert f"\n{code}\n" in text


@pytest.mark.skipif(shutil.which("groff") is None, reason="needs groff")
@pytest.mark.parametrize("device", ["utf8", "ascii"])
def test_groff_renders_it_without_warnings(device: str) -> None:
    done = subprocess.run(
        ["groff", "-man", f"-T{device}", "-ww"],
        input=page(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert "aggcal suggest" in done.stdout


def test_the_page_is_the_same_every_time() -> None:
    assert page() == page()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_help_begins_with_what_the_command_does_and_an_example(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse([name, "--help"])
    text = capsys.readouterr().out
    first, _, example, shown, _, usage, call = text.splitlines()[:7]
    line = COMMANDS[name].line
    assert first == f"{line[0].upper()}{line[1:]}."
    assert (example, shown) == ("Example:", f"  {COMMANDS[name].example}")
    assert usage == "Usage:"
    assert call.startswith(f"  aggcal {name}")
    assert max(map(len, text.splitlines())) < 100


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_can_be_typed(name: str) -> None:
    (words,) = re.findall(r"aggcal ([^|)]+)", COMMANDS[name].example)
    assert parse(shlex.split(words)).command == name


def test_help_is_in_plain_english() -> None:
    """Words of a dialect that readers stumbled over; shared with whoever writes the next help."""
    text = page()
    for word in ("stands", "tells", "told", "goes on", "by hand", "as ever", "look over", "dear"):
        assert not re.search(rf"\b{word}\b", text), word


def test_exit_codes_are_documented() -> None:
    text = (ROOT / "docs/reference/command-line.md").read_text(encoding="utf-8")
    for code in EXIT_CODES:
        assert f"| {code} |" in text
