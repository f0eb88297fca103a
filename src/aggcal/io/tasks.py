"""Pairs to ask, as people can answer them: a sheet to fill in, tasks of Label Studio and Argilla.

What comes back is read by `aggcal.io.judgments`: a sheet as the table that it is, the exports of
the two tools by the ids that their tasks carry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aggcal._core.arrays import TextArray
from aggcal._core.tables import Columns, as_text

LABEL_STUDIO_CONFIG = (
    '<View><Pairwise name="outcome" toName="left,right"/><Text name="left" value="$left_text"/>'
    '<Text name="right" value="$right_text"/></View>'
)
"""The labelling interface for the tasks."""
ARGILLA_SETTINGS = (
    'rg.Settings(fields=[rg.TextField("left"), rg.TextField("right")], '
    'questions=[rg.LabelQuestion("outcome", labels=["left", "right", "tie"])], '
    'metadata=[rg.TermsMetadataProperty("left_id"), rg.TermsMetadataProperty("right_id")])'
)
"""The settings of a dataset for the records."""


def sheet(
    pairs: Columns, *, annotator: str = "", texts: Mapping[str, str] | None = None
) -> Columns:
    """Return a table of pairs with an empty column for the answers.

    Parameters
    ----------
    pairs
        The columns left and right, and others; perhaps who is asked.
    annotator
        Who answers, where the pairs do not say; empty if that is to be filled in, too.
    texts
        What the items say, shown beside them.

    Examples
    --------
    >>> table = sheet({"left": as_text(["a"]), "right": as_text(["b"]), "reason": as_text(["new"])})
    >>> list(table)
    ['annotator', 'left', 'right', 'outcome', 'why']
    """
    n = len(pairs["left"])
    blank = as_text([""] * n)
    who = pairs.get("annotator", as_text([annotator] * n))
    found: Columns = {"annotator": who, "left": pairs["left"], "right": pairs["right"]}
    if texts is not None:
        found |= {f"{side}_text": _texts(pairs[side], texts) for side in ("left", "right")}
    rest = {k: v for k, v in pairs.items() if k not in found}
    # Read back, a column called reason would say why a pair was skipped.
    why = {"why": rest.pop("reason")} if "reason" in rest else {}
    return {**found, "outcome": blank, **rest, **why}


def label_studio_tasks(
    pairs: Columns, texts: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Return tasks to import into Label Studio, for `LABEL_STUDIO_CONFIG`.

    Examples
    --------
    >>> label_studio_tasks({"left": as_text(["a"]), "right": as_text(["b"])}, {"a": "Once"})
    [{'data': {'left_id': 'a', 'right_id': 'b', 'left_text': 'Once', 'right_text': 'b'}}]
    """
    return [
        {"data": ids | {f"{side}_text": said[side] for side in said} | asked}
        for ids, said, asked in _rows(pairs, texts)
    ]


def argilla_records(pairs: Columns, texts: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Return records to log into an Argilla dataset with `ARGILLA_SETTINGS`.

    Examples
    --------
    >>> argilla_records({"left": as_text(["a"]), "right": as_text(["b"])})[0]["metadata"]
    {'left_id': 'a', 'right_id': 'b'}
    """
    return [
        {"id": f"pair-{k}", "fields": said, "metadata": ids | asked}
        for k, (ids, said, asked) in enumerate(_rows(pairs, texts), 1)
    ]


def _rows(
    pairs: Columns, texts: Mapping[str, str] | None
) -> list[tuple[dict[str, str], dict[str, str], dict[str, str]]]:
    """Return of each pair the ids, what is shown, and who is asked if anybody is."""
    who = pairs.get("annotator", np.full(len(pairs["left"]), None))
    return [
        (
            {"left_id": left, "right_id": right},
            {"left": (texts or {}).get(left, left), "right": (texts or {}).get(right, right)},
            {} if asked is None else {"asked_of": asked},
        )
        for left, right, asked in zip(
            pairs["left"].tolist(), pairs["right"].tolist(), who.tolist(), strict=True
        )
    ]


def _texts(ids: Any, texts: Mapping[str, str]) -> TextArray:
    return as_text(texts.get(item, "") for item in ids.tolist())
