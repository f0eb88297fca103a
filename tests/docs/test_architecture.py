"""The page on the architecture is true of the code."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "aggcal"


def test_the_picture_is_drawn_from_this_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    import make_architecture

    drawn = make_architecture.drawn()
    sys.modules.pop("make_architecture")
    kept = (ROOT / "docs" / "explanation" / "architecture.svg").read_text(encoding="utf-8")
    assert drawn == kept, "run: make picture"


@pytest.mark.parametrize("page", ["docs/explanation/architecture.md", "CONTRIBUTING.md"])
def test_every_file_that_is_named_is_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(
        r"`((?:src/aggcal/|tests/|benchmarks/|docs/)?[\w/]+(?:\.py|\.c|\.toml|/))`", text
    )
    found = {path.name for path in SOURCE.rglob("*")}
    for name in named:
        here = (ROOT / name, SOURCE / name)
        assert any(path.exists() for path in here) or name.rstrip("/") in found, name


def test_every_package_says_what_it_is_for() -> None:
    for path in SOURCE.rglob("__init__.py"):
        first = path.read_text(encoding="utf-8").splitlines()[0]
        assert first.startswith('"""'), path
        assert "TODO" not in first, path
