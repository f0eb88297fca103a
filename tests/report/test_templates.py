"""Compiled templates are kept beside compiled modules, where that is possible."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError
from markupsafe import Markup, escape

from aggcal.report import page, templates


def test_templates_that_cannot_be_kept_are_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And those that are kept are taken, unless they are damaged."""

    def shown() -> str:
        return page.page("message.html", style="", script="", title="None", detail="Look.")

    said = shown()
    monkeypatch.setattr(page, "environment", templates.environment.__wrapped__)
    monkeypatch.setattr(templates, "folder_of", lambda _: tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    folder = tmp_path / "__pycache__"
    assert shown() == said
    folder.mkdir()
    assert shown() == said
    kept = {path: path.read_bytes() for path in folder.iterdir()}
    assert {path.suffix for path in kept} == {".template"}
    assert shown() == said
    for path in kept:
        path.write_bytes(b"j2\0")
    assert shown() == said
    assert {path: path.read_bytes() for path in folder.iterdir()} == kept
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    shutil.rmtree(folder)
    folder.mkdir()
    assert shown() == said
    assert not list(folder.iterdir())
    folder.rmdir()
    folder.write_text("")  # no folder at all
    assert shown() == said


def test_a_dictionary_shows_what_it_holds_and_keeps_its_methods() -> None:
    """Templates look into a dictionary first; what it does not hold is as strict as ever."""
    render = templates.environment("aggcal.report").from_string
    assert render("{{ row.items }} {{ row.get('a') }}").render(row={"items": 3, "a": "<b>"}) == (
        "3 &lt;b&gt;"
    )
    assert render("{{ row.b.c }}").render(row={"b": {"c": 1}}) == "1"
    with pytest.raises(UndefinedError):
        render("{{ row.c }}").render(row={"b": 1})


@given(st.text() | st.integers() | st.none() | st.builds(Markup, st.text()))
def test_values_are_escaped_as_markupsafe_does(value: object) -> None:
    assert str(templates.escaped(value)) == str(escape(value))


@given(st.text(st.sampled_from("ab&<>\"'")))
def test_texts_are_escaped_in_every_template(value: str) -> None:
    shown = page.page("message.html", style="", script="", title="Nothing", detail=value)
    assert str(escape(value)) in shown
