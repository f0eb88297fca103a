"""Data for the script of a page: JSON that cannot end the element that it stands in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from aggcal._core.arrays import FloatArray, IntArray
from aggcal._core.written import written


def script_json(data: Any) -> str:
    r"""Write JSON that cannot end the script element it stands in, whatever the texts hold.

    Examples
    --------
    >>> script_json(["</script>", "<!--"])
    '["\\u003c/script\\u003e","\\u003c!--"]'
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Only texts hold these characters, and there JSON reads the escape as the character.
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def array_json(values: FloatArray | IntArray, *, rounded: bool = False) -> str:
    """Write an array of numbers, none of them infinite; null for NaN.

    Parameters
    ----------
    values
        The numbers.
    rounded
        Write floats without a fraction: they are whole numbers below 2^53.

    Examples
    --------
    >>> import numpy as np
    >>> array_json(np.array([0.5, -0.0, np.nan])), array_json(np.array([2.0]), rounded=True)
    ('[0.5,-0.0,null]', '[2]')
    """
    text = written([values], end=",", missing="null", rounded=rounded)
    if text is not None:
        return f"[{text[:-1]}]"
    found = [None if x != x else int(x) if rounded else x for x in values.tolist()]  # noqa: PLR0124
    return script_json(found)


def object_json(members: Mapping[str, str]) -> str:
    """Write an object whose members are written already.

    Examples
    --------
    >>> object_json({"key": '"a"', "values": "[1,2]"})
    '{"key":"a","values":[1,2]}'
    """
    return f"{{{','.join(f'{script_json(name)}:{text}' for name, text in members.items())}}}"
