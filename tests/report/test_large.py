"""Long tables are packed into a page, and unpacked to what they were."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from zlib import decompress

import numpy as np
import pytest

from aggcal._core.tables import as_text
from aggcal.pages import html
from documents import rendered


@pytest.mark.parametrize("room", [10, 1_000_000])
def test_long_tables_are_packed(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    monkeypatch.setattr(html, "PACKED", room)
    names = [f"item {k}" for k in range(300)]
    summary = {
        "version": "0", "method": "own", "n_items": 300, "n_annotators": 1, "n_judgments": 300,
        "warnings": [],
    }  # fmt: skip
    page = rendered(summary, {"item": as_text(names), "consensus": -np.arange(300.0)})
    found = re.search(r'<script type="application/([a-z-]+)" id="data-items">(.*?)</script>', page)
    assert found is not None
    kind, text = found.groups()
    assert kind == ("octet-stream" if room < 100 else "json")
    if kind != "json":
        text = decompress(b64decode(text)).decode()
    columns = {each["key"]: each for each in json.loads(text)["columns"]}
    assert columns["item"]["values"] == names
    assert columns["consensus"]["values"] == list(range(0, -300, -1))
