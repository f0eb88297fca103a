"""The pages run as a reader runs them: tables are what `aggcal.options` says by default."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def plain_tables() -> None:
    """Leave the options as they are."""
