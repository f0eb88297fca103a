"""Colours are told once: what draws takes them from the palette."""

from __future__ import annotations

import re
from pathlib import Path

import aggcal

SOURCE = Path(aggcal.__file__).parent


def test_no_code_names_a_colour_but_the_palette() -> None:
    colour = re.compile(r"#(?:[0-9a-f]{6}|[0-9a-f]{3})\b", re.IGNORECASE)
    named = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if colour.search(path.read_text())
    }
    assert named == {"_core/palette.py"}
