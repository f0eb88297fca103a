"""Datasets from their public sources: downloaded, converted, verified byte for byte, kept."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from aggcal.errors import FileError, OptionError
from aggcal.registry.datasets import READING_LEVEL, SUSHI, DatasetInfo

if TYPE_CHECKING:
    from http.client import HTTPResponse

HOME = "AGGCAL_DATA"
"""The environment variable that names the folder of the datasets."""
MIRROR = "AGGCAL_MIRROR"
"""The environment variable that names a server to ask instead of the public source."""

_SOURCE = "https://raw.githubusercontent.com"
_HRA = "tao-j/hra/995a2439/matlab/data/readinglevel"
_ATC = (
    "CAMELLIAxt/12500_AtC_supp/cf26beca88527e8e051cfd75af1106c22baae213/"
    "Datas/Reading_level_datas_reg10"
)
_SUSHI = "Yuangang-Pan/Robust-Ranking-Aggregation--CoarsenRank/3dccbedd/Sushi3/read_data"
_PATIENCE = 60.0  # seconds without an answer
_AT_LONGEST = 600.0
"""Seconds that one file may take: it is small, and a server may send a byte a minute."""
_LARGEST = 1 << 21
"""Bytes of the largest file that is downloaded, several times over: servers may send forever."""
_PIECE = 1 << 16  # bytes at a time

SUMS = {
    "reading-level/judgments.csv": (
        "ac851ebe1e668b2e925b8f3af153f9fcf68a1dea89ecfd4922a364e322e4103f"
    ),
    "reading-level/items.csv": "925f038cc469dddc6370310c103dadb9545069726a77083fb874f8387dd45d75",
    "sushi/rankings.csv": "3f6ea8a032a12bb90ba238196764849232c1d07005db3bf3097c8ad4cca7a724",
}
"""Checksums of the tables that are made of what is downloaded."""

Say = Callable[[str], None]


def download_dataset(info: DatasetInfo, say: Say) -> Path:
    """Download a dataset into the cache and return its folder; nothing is kept that is not right.

    Parameters
    ----------
    info
        The dataset.
    say
        Called with a line about what is being downloaded.
    """
    files = _SOURCES[info.name](say)
    folder = cache() / info.folder
    for path, content in files.items():
        _verify(f"{info.name}/{path}", content)
    for path, content in files.items():
        _write(folder / path, content)
    return folder


def cache() -> Path:
    """Return the folder for what is downloaded."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "aggcal" / "data"


def _verify(name: str, content: bytes) -> None:
    """Refuse what is not byte for byte what was published."""
    wanted, found = SUMS[name], hashlib.sha256(content).hexdigest()
    if found != wanted:
        raise FileError(
            f"{name}: what was downloaded is not what was expected (checksum {found[:12]}, wanted "
            f"{wanted[:12]}); try again, or set {HOME} to a folder that has it."
        )


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    Path(file.name).replace(path)


def _fetch(path: str) -> bytes:
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError
    from urllib.parse import quote
    from urllib.request import urlopen

    server = os.environ.get(MIRROR, _SOURCE).rstrip("/")
    if not server.startswith(("https://", "http://")):
        raise OptionError(f"{MIRROR} is '{server}'; give an address that starts with https://.")
    address = f"{server}/{quote(path)}"
    try:
        with urlopen(address, timeout=_PATIENCE) as answer:  # noqa: S310  # checked above
            return _body(answer)
    except (URLError, HTTPException, OSError, ValueError) as error:
        if isinstance(error, HTTPError):
            error.close()
        reason = str(getattr(error, "reason", error) or type(error).__name__).split("\n", 1)[0]
        raise FileError(
            f"{address}: cannot be downloaded ({reason}); go online, or set {HOME} to a folder "
            "that has the dataset."
        ) from None


def _body(answer: HTTPResponse) -> bytes:
    """Read what a server sends, which may be too much, too little, or too slow."""
    content, end = bytearray(), time.monotonic() + _AT_LONGEST
    while piece := answer.read1(_PIECE):
        content += piece
        if len(content) > _LARGEST:
            raise OSError(f"the server sends more than {_LARGEST:,} bytes")
        if time.monotonic() > end:
            raise OSError("the server is too slow")
    length = answer.headers.get("Content-Length")
    if length is not None and length != str(len(content)):
        raise OSError(f"the server sent {len(content):,} bytes and spoke of {length}")
    return bytes(content)


def _reading_level(say: Say) -> Mapping[str, bytes]:
    say("downloading Reading Level")
    pairs = [line.replace(",", " ").split() for line in _lines(f"{_HRA}/all_pair.txt")]
    levels = [line.replace(",", " ").split() for line in _lines(f"{_HRA}/doc_info.txt")]
    columns = [
        _lines(f"{_ATC}/{name}")
        for name in ("s_p.txt", *(f"reg10_score_Ones_+_HRA-{k}_s->a.txt" for k in "GEN"))
    ]
    header = ["item", "truth", "s_p", "s_star_hra_g", "s_star_hra_e", "s_star_hra_n"]
    try:
        rows = zip(*(c[-len(levels) :] for c in columns), strict=True)
        items = [[_whole(a), _whole(b), *row] for (a, b, *_), row in zip(levels, rows, strict=True)]
        judgments: list[list[object]] = [[_whole(x) for x in row[:3]] for row in pairs]
    except (ValueError, OverflowError):
        raise FileError(
            "reading-level: what was downloaded is not what was expected (no tables of numbers); "
            f"try again, or set {HOME} to a folder that has it."
        ) from None
    return {
        "judgments.csv": _csv(["annotator", "winner", "loser"], judgments),
        "items.csv": _csv(header, items),
    }


def _sushi(say: Say) -> Mapping[str, bytes]:
    say("downloading Sushi")
    rows = [line.split() for line in _lines(f"{_SUSHI}/sushi3a.5000.10.order")[1:]]
    # A row is 0, the number of items, and the items from the most preferred on.
    rankings: list[list[object]] = [[k, *row[2:]] for k, row in enumerate(rows, 1)]
    header = ["annotator", *(f"r{k}" for k in range(1, 11))]
    return {"rankings.csv": _csv(header, rankings)}


_SOURCES: dict[str, Callable[[Say], Mapping[str, bytes]]] = {
    READING_LEVEL.name: _reading_level,
    SUSHI.name: _sushi,
}


def _lines(path: str) -> list[str]:
    # No checksum of these is known, only of the tables that are made of them: nothing is kept
    # that is not the published table, byte for byte.
    text = _fetch(path).decode("utf-8-sig", errors="replace")
    return [line.strip() for line in text.splitlines() if line.strip() and line[0] != "#"]


def _whole(number: str) -> str:
    return str(int(float(number)))


def _csv(header: list[str], rows: list[list[object]]) -> bytes:
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(header)
    out.writerows(rows)
    return text.getvalue().encode()
