"""The copy buttons of the documentation: of a console what was typed, of a session its input."""
# ruff: noqa: F811  # fixtures are imported, and asked for by their names

from __future__ import annotations

from html import escape
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from pages import browser  # noqa: F401

SCRIPT = Path(__file__).parents[2] / "docs" / "_static" / "copy.js"
KEPT = "window.kept = []; Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (text) => { window.kept.push(text); }}});"  # noqa: E501  # one line of script


@pytest.mark.parametrize(
    ("shown", "copied"),
    [
        (
            "$ aggcal demo\n...\n$ cut -d, -f1 \\\n>     x.csv\nitem\n",
            "aggcal demo\ncut -d, -f1 \\\n    x.csv",
        ),
        (">>> def two():\n...     return 2\n>>> two()\n2\n", "def two():\n    return 2\ntwo()"),
        ("import aggcal\n\nx = 1\n", "import aggcal\n\nx = 1"),
        ("annotator,winner,loser\nann,a,b\n", "annotator,winner,loser\nann,a,b"),
    ],
)
def test_a_button_copies_what_a_reader_would_type(
    shown: str, copied: str, browser: Browser
) -> None:
    page = browser.new_page()
    block = f'<div class="highlight"><pre>{escape(shown)}</pre></div>'
    page.set_content(f"{block}<script>{KEPT}{SCRIPT.read_text(encoding='utf-8')}</script>")
    button = page.get_by_role("button", name="Copy")
    button.click()
    expect(page.get_by_role("button")).to_have_text("Copied")
    assert page.evaluate("window.kept") == [copied]
    page.close()
