"""The bounds of the dependencies: each has one, and ``make oldest`` pins to it."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from oldest import dependencies, oldest


def parts(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:3] if part.isdigit())


def test_every_dependency_is_pinned_to_its_lower_bound() -> None:
    script = Path(__file__).with_name("oldest.py")
    said = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    lines = said.stdout.splitlines()
    assert lines == oldest(dependencies())
    assert {line.split("==")[0] for line in lines} >= {"duckdb", "numpy", "scipy"}
    for line in lines:
        name, bound = line.split("==")
        assert parts(version(name)) >= parts(bound), "what these tests run with is allowed"


@pytest.mark.parametrize("requirement", ["numpy", "numpy<3", "numpy==2.0", "numpy>=2.*"])
def test_a_dependency_without_a_lower_bound_is_refused(requirement: str) -> None:
    with pytest.raises(ValueError, match="has no lower bound"):
        oldest([requirement])
