"""Datasets from their public sources: downloaded, converted, verified byte for byte, kept."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import cache as remembered
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from aggcal._core.progress import counted
from aggcal.datasets.tables import ranked_pairs
from aggcal.errors import FileError, OptionError
from aggcal.registry.datasets import DOTS, READING_LEVEL, SUSHI, DatasetInfo

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
_DOTS = "ryankemmer/dotsactivity-data/2465d2d9"
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
    "dots/all_data.json": "8f8d1c1e8b8f5b2749aa7aaaa489907f250ae364132ab75abf70830e1cebd0cd",
    "dots/judgments.csv": "7a37c45a4b26020c3fa567bf55319b500bdb79d1bdc0ec54e95008b810c32be6",
    "dots/ratings.csv": "ec6f1067d7d81a38c5783bcf636b9579d53f29229ae33767416a4ca34d81971f",
    "sushi/rankings.csv": "3f6ea8a032a12bb90ba238196764849232c1d07005db3bf3097c8ad4cca7a724",
}
"""Checksums of what is downloaded or made from it; those of the pictures lie in dots.sha256."""

PICTURES = [f"dots{frames}/{count}.png" for frames in (2, 3, 5, 6) for count in range(50, 80)]
"""The pictures of the Dots study: of each question size, one for each number of dots."""

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
    # The file by which a whole copy is known comes last: an interrupted download is none.
    for path in sorted(files, key=lambda path: path == info.mark):
        _write(folder / path, files[path])
    return folder


def cache() -> Path:
    """Return the folder for what is downloaded."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "aggcal" / "data"


@remembered
def _picture_sums() -> dict[str, str]:
    kept = resources.files("aggcal").joinpath("datasets", "dots.sha256")
    lines = kept.read_text("ascii").splitlines()
    return {f"dots/{name}": found for found, name in (line.split() for line in lines)}


def _verify(name: str, content: bytes) -> None:
    """Refuse what is not byte for byte what was published."""
    wanted = SUMS.get(name) or _picture_sums()[name]
    found = hashlib.sha256(content).hexdigest()
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


def _dots(say: Say) -> Mapping[str, bytes]:
    say("downloading Dots")
    raw = _fetch(f"{_DOTS}/data/all_data.json")
    _verify("dots/all_data.json", raw)
    judgments, ratings = dots_tables(raw)
    files = {"all_data.json": raw, "judgments.csv": judgments, "ratings.csv": ratings}
    for picture in counted(PICTURES, "downloading the pictures of Dots"):
        found = _fetch(f"{_DOTS}/public/images/dots/{picture}")
        _verify(f"dots/images/{picture}", found)
        files[f"images/{picture}"] = found
    return files


def dots_tables(raw: bytes) -> tuple[bytes, bytes]:
    """Turn the participants' answers into judgments and ratings, as CSV.

    An entry ranks 2, 3, 5 or 6 pictures (rank 1 has the most dots) and estimates their dots; four
    entries in a row are one participant's. Item k has 49 + k dots.

    Examples
    --------
    >>> answers = [{"frames": 2, "rankings": [2, 1], "groundtruth": [50, 52], "batch": 0,
    ...             "ratings": [40, 60]}]
    >>> dots_tables(json.dumps(answers).encode())[0].decode().splitlines()
    ['annotator,winner,loser,entry,frames', '1,3,1,1,2']
    """
    judgments: list[list[object]] = []
    ratings: list[list[object]] = []
    for k, entry in enumerate(json.loads(raw)):
        who, number = k // 4 + 1, k + 1
        items = [str(truth - 49) for truth in entry["groundtruth"]]
        ranks = entry["rankings"]
        for item, rank, rating in zip(items, ranks, entry["ratings"], strict=True):
            ratings.append([who, number, entry["frames"], entry["batch"], item, rank, rating])
        for winner, loser in ranked_pairs(items, ranks):
            judgments.append([who, winner, loser, number, entry["frames"]])
    return (
        _csv(["annotator", "winner", "loser", "entry", "frames"], judgments),
        _csv(["annotator", "entry", "frames", "batch", "item", "rank", "rating"], ratings),
    )


def _sushi(say: Say) -> Mapping[str, bytes]:
    say("downloading Sushi")
    rows = [line.split() for line in _lines(f"{_SUSHI}/sushi3a.5000.10.order")[1:]]
    # A row is 0, the number of items, and the items from the most preferred on.
    rankings: list[list[object]] = [[k, *row[2:]] for k, row in enumerate(rows, 1)]
    header = ["annotator", *(f"r{k}" for k in range(1, 11))]
    return {"rankings.csv": _csv(header, rankings)}


_SOURCES: dict[str, Callable[[Say], Mapping[str, bytes]]] = {
    READING_LEVEL.name: _reading_level,
    DOTS.name: _dots,
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
