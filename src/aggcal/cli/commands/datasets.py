"""``aggcal datasets``: the real datasets, and where they are."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from aggcal.cli.arguments import Parser
from aggcal.cli.options.common import add_json, print_json
from aggcal.errors import count

if TYPE_CHECKING:
    from aggcal.registry.datasets import DatasetInfo

_DOWNLOAD, _REPOSITORY = "download", "in the repository only"


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=datasets)
    command.describe(
        "'aggcal demo' and 'aggcal reproduce' use them; in Python, aggcal.datasets.load(NAME) "
        "returns the judgments, scores and truth of one. They are looked up in the folder that "
        "AGGCAL_DATA names, the repository, the installed package and the download cache."
    )
    add_json(command, "the list")


def datasets(options: argparse.Namespace) -> int:
    """Print what each is, how large, under which licence, and where it is found."""
    from aggcal.registry.datasets import DATASETS

    listed = {name: _entry(info) for name, info in DATASETS.items()}
    if options.json:
        print_json(listed)
        return 0
    for name, each in listed.items():
        sizes = (
            f"{count(each['items'], 'item')}, {count(each['annotators'], 'annotator')}, "
            f"{count(each['judgments'], 'judgment')}"
        )
        print(f"{name:20}{each['what']}")
        print(f"{'':20}{sizes}; {each['licence']}; {each['found']}")
    return 0


def _entry(info: DatasetInfo) -> dict[str, Any]:
    from aggcal.datasets.places import located

    here = located(info, info.needs)
    missing = _DOWNLOAD if info.downloads else _REPOSITORY
    return {
        "what": info.summary,
        "items": info.items,
        "annotators": info.annotators,
        "judgments": info.judgments,
        "licence": info.licence,
        "source": info.source,
        "found": missing if here is None else here[0],
        "folder": None if here is None else str(here[1]),
    }
