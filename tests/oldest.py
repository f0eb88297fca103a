"""Print the lowest version that each dependency of the core may have, for ``make oldest``."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def oldest(requirements: list[str]) -> list[str]:
    """Return constraints that pin each requirement to its lower bound.

    Examples
    --------
    >>> oldest(["numpy>=2.0", "dask[distributed]>=2025.1"])
    ['numpy==2.0', 'dask==2025.1']
    """
    pinned = []
    for requirement in requirements:
        found = re.fullmatch(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?>=([0-9.]+)(?:,.*)?", requirement)
        if found is None:
            raise ValueError(f"{requirement}: has no lower bound of the form name>=version")
        pinned.append(f"{found[1]}=={found[2]}")
    return pinned


def dependencies() -> list[str]:
    """Return what aggcal itself and the baselines depend on, without other extras."""
    project = tomllib.loads(PROJECT.read_text("utf-8"))["project"]
    return [*project["dependencies"], *project["optional-dependencies"]["baselines"]]


if __name__ == "__main__":
    print("\n".join(oldest(dependencies())))
