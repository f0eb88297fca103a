"""Ask for the class of an object without loading the module of the class."""

from __future__ import annotations

import sys
from typing import Any


def is_a(given: Any, home: str, *names: str) -> bool:
    """Tell whether something is of a class, by the module and the name of the class.

    Of a class whose module was never loaded there is no object: nothing need be loaded to say no.

    Examples
    --------
    >>> from fractions import Fraction
    >>> is_a(Fraction(1, 2), "fractions", "Fraction"), is_a(0.5, "aggcal.no_such_module", "Any")
    (True, False)
    """
    module = sys.modules.get(home)
    return module is not None and isinstance(given, tuple(getattr(module, n) for n in names))
