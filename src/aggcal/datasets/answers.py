"""The answers to the questions of Dots: a ranking of a few pictures, and an estimate of each."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from itertools import combinations


def ranked_pairs(items: Sequence[str], ranks: Sequence[int]) -> Iterator[tuple[str, str]]:
    """Take a ranking apart into (winner, loser), rank 1 the highest; the first shown come first.

    Examples
    --------
    >>> list(ranked_pairs(["a", "b", "c"], [2, 3, 1]))
    [('a', 'b'), ('c', 'a'), ('c', 'b')]
    """
    for (one, above), (other, below) in combinations(zip(items, ranks, strict=True), 2):
        yield (one, other) if above < below else (other, one)


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
        as_csv(["annotator", "winner", "loser", "entry", "frames"], judgments),
        as_csv(["annotator", "entry", "frames", "batch", "item", "rank", "rating"], ratings),
    )


def as_csv(header: list[str], rows: list[list[object]]) -> bytes:
    r"""Return a table as the text of a CSV file.

    Examples
    --------
    >>> as_csv(["a", "b"], [[1, "x"]])
    b'a,b\n1,x\n'
    """
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(header)
    out.writerows(rows)
    return text.getvalue().encode()
