"""aggcal: aggregate judgments into a consensus, then calibrate a model's scores onto it."""

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from aggcal._version import __version__ as __version__

_MODULES = ("datasets", "methods", "plot", "sklearn")


@cache
def _homes() -> dict[str, str]:
    """Return the module of each public name, as the stub beside this file has it.

    Names are imported when first used: ``aggcal --help`` does not wait for SciPy.
    """
    stub = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    named = re.findall(r"^from (aggcal\.[\w.]+) import ([a-zA-Z]\w*)", stub, flags=re.MULTILINE)
    return {name: home for home, name in named}


def __dir__() -> list[str]:
    return sorted([*_homes(), "__version__"])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"aggcal.{name}")
    if name == "__all__":
        return sorted(_homes())
    # What begins with an underscore is asked for by tools, not by people.
    if name.startswith("_") or name not in _homes():
        raise AttributeError(f"module 'aggcal' has no attribute '{name}'")
    return getattr(import_module(_homes()[name]), name)
