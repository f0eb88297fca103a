"""What is worked out for all rows at once is what each row says, and long tables are packed."""

from __future__ import annotations

import json
from base64 import b64decode
from threading import current_thread
from zlib import decompress

import numpy as np
import pytest

from aggcal._core.kernels.threads import begun
from aggcal.report import packing
from aggcal.report.contents import item_listing
from aggcal.report.packing import ScriptTable
from aggcal.report.rows import STATES, ItemRows


def rows_of(seed: int) -> ItemRows:
    """Return items of which some share blocks, not always side by side, and some have no rank."""
    random = np.random.default_rng(seed)
    n = 60
    low = np.sort(random.integers(1, n, n)).astype(np.float64)
    high = low + random.integers(0, 9, n)
    high[random.random(n) < 0.1] = np.nan
    block = np.floor(np.arange(n) / 3.0) + random.integers(0, 2, n)
    block[random.random(n) < 0.2] = np.nan
    table = {
        "item": np.array([f"i{k}" for k in range(n)], dtype=object),
        "consensus": -np.arange(float(n)),
        "rank": np.arange(1, n + 1),
        "sure_low": low,
        "sure_high": high,
        "block": block,
    }
    return ItemRows(item_listing(table))


@pytest.mark.parametrize("seed", range(5))
def test_states_are_counted_as_each_row_has_them(seed: int) -> None:
    rows = rows_of(seed)
    each = [rows.state(k, rows.first_stop) for k in range(rows.n)]
    assert rows.counts == {state: each.count(state) for state in STATES}
    assert all(rows.counts.values())


@pytest.mark.parametrize("seed", range(5))
def test_blocks_are_numbered_from_the_top(seed: int) -> None:
    rows = rows_of(seed)
    column = rows.listing.column("block")
    assert column is not None
    members: dict[float, list[int]] = {}
    for k, value in enumerate(column.values.tolist()):
        if value == value:  # noqa: PLR0124  # NaN
            members.setdefault(value, []).append(k)
    several = [own for own in members.values() if len(own) > 1]
    expected = {
        k: [place, len(own), turn]
        for turn, own in enumerate(several, 1)
        for place, k in enumerate(own)
    }
    assert rows.blocks.tolist() == [expected.get(k, [0, 1, 0]) for k in range(rows.n)]
    assert rows.has_blocks
    for own in several:
        assert all(rows.mates(k).tolist() == own for k in own)


@pytest.mark.parametrize("room", [10, 1000])
def test_long_tables_are_packed(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    monkeypatch.setattr(packing, "_UNPACKED", room)
    text = json.dumps(list(range(100)))
    table = ScriptTable(text)
    assert table.is_packed is (room < len(text))
    held = table.__html__()
    assert (decompress(b64decode(held)).decode() if table.is_packed else held) == text


def test_what_fails_in_a_thread_is_raised_where_it_is_waited_for() -> None:
    names: list[str] = []

    def work() -> None:
        names.append(current_thread().name)
        raise ValueError("odd")

    wait = begun(work)
    with pytest.raises(ValueError, match="odd"):
        wait()
    assert names != [current_thread().name]
