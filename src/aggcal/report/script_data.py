"""Data for the script of a page: JSON that cannot end the element that it stands in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray


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


def array_json(values: FloatArray) -> str:
    """Write an array of finite numbers; rounded ones repeat, and each is worked out once.

    Examples
    --------
    >>> array_json(np.array([0.5, -0.0, 0.0, 0.5]))
    '[0.5,-0.0,0.0,0.5]'
    """
    # By their bits, as 0 and -0 are equal but not written alike.
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.int64)
    distinct, which = np.unique(bits, return_inverse=True)
    texts = list(map(repr, distinct.view(np.float64).tolist()))
    return f"[{','.join([texts[k] for k in which.tolist()])}]"


def object_json(members: Mapping[str, str]) -> str:
    """Write an object whose members are written already.

    Examples
    --------
    >>> object_json({"key": '"a"', "values": "[1,2]"})
    '{"key":"a","values":[1,2]}'
    """
    return f"{{{','.join(f'{script_json(name)}:{text}' for name, text in members.items())}}}"
