"""Messages in the words of who reads them: options on the command line, arguments in Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

# fmt: off
_ARGUMENTS = {
    "column": "columns", "outcome": "outcomes", "judged-by": "annotator", "alias": "aliases",
    "annotator": "annotators", "new-annotator": "new_annotators", "pairs": "n",
    "precision": "wanted_error", "score-column": "column", "truth-column": "column",
    "reversed": "reversed_share", "number": "judgments",
    "true-scores": "n",
}
"""Options whose argument in Python is called otherwise."""
_FLAGS = {
    "no-check": ("check", "False"), "unweighted": ("weights", "None"),
    **{flag: (flag.replace("-", "_"), "True") for flag in (
        "append", "force", "repeat", "drafts", "normalize-ids", "quick", "centred",
        "spreadsheet-safe", "independent",
    )},
}
"""Flags: what they are in Python."""
PYTHON_ONLY = frozenset((
    *("blank", "drafts", "ranking-weight", "tie-within", "score-sd", "reliability-sd"),
    *("estimator", "draws", "criteria-weights", "second-model", "unweighted", "error"),
    *("influence", "repeat", "sample", "centred", "design", "studies", "link", "new-annotator"),
))
"""Arguments that the command line does not have; messages say so there."""
_PRIOR = {"score-sd", "reliability-sd"}
_NO_VALUE = {
    "alone", "and", "are", "as", "at", "does", "first", "for", "has", "here", "if", "in", "is",
    "leaves", "lets", "merges", "on", "or", "out", "refuses", "says", "takes", "tells", "to",
    "too", "which", "with",
}
"""Words that follow an option in a sentence and are not its value."""
# fmt: on
_OPTION = re.compile(
    r"(?<![\w'])'[^']*'(?!\w)|(?<![\w'\"=-])--([a-z]+(?:-[a-z]+)*)(?![\w/-]|\.\w)"
    r"(?: ('[^']*'|[^\s,;:()]*[^\s,;:().]))?"
)
_SEVERAL = re.compile(r"(columns|outcomes)=\{[^{}]*\}(?: \1=\{[^{}]*\})+")
"""An option that is given more than once, which is one argument in Python."""
_STANDS_FOR = re.compile("[A-Z_]+").fullmatch
"""A word in capitals, such as FILE, stands for what is to be written."""
_voice = {"shell": False}


@contextmanager
def speaking_options() -> Iterator[None]:
    """Speak to the command line: messages name its options, not the arguments of functions."""
    before, _voice["shell"] = _voice["shell"], True
    try:
        yield
    finally:
        _voice["shell"] = before


def option(name: str, value: str = "") -> str:
    """Name an option in a message: the argument of a function where Python was called.

    Examples
    --------
    >>> option("column", "annotator=coder"), option("per-item"), option("repeat")
    ("columns={'annotator': 'coder'}", 'per_item=', 'repeat=True')
    """
    if _voice["shell"] and name not in PYTHON_ONLY:
        return f"--{name} {value}".strip()
    return _argument(name, value)


def spoken(text: str) -> str:
    """Return a message in the words of who reads it.

    Messages are written with the options of the command line. Who calls from Python reads the
    arguments of functions; what stands in quotation marks is left as it is.

    Examples
    --------
    >>> spoken("name it with --column annotator=coder, raise --per-item, or allow --repeat.")
    "name it with columns={'annotator': 'coder'}, raise per_item=, or allow repeat=True."
    >>> with speaking_options():
    ...     spoken("raise --per-item or use --method btl")
    'raise --per-item or use --method btl'
    """
    said = _OPTION.sub(_as_argument, text)
    return said if _voice["shell"] else _SEVERAL.sub(_as_one, said)


def argument_of(option: str) -> str:
    """Return what Python calls an option of the command line, without its dashes.

    Examples
    --------
    >>> argument_of("judged-by"), argument_of("model-sd")
    ('annotator', 'model_sd')
    """
    return _ARGUMENTS.get(option, option.replace("-", "_"))


def _as_one(several: re.Match[str]) -> str:
    return several[0].replace(f"}} {several[1]}={{", ", ")


def _as_argument(match: re.Match[str]) -> str:
    name, value = match[1], match[2]
    if name is None or (_voice["shell"] and name not in PYTHON_ONLY):
        return match[0]  # in quotation marks, or an option of the command line
    if value == "is":  # speaks of the argument, and does not say what to write
        return f"{argument_of(name)} is"
    if value is None or value in _NO_VALUE or name in _FLAGS:
        return _argument(name) + ("" if value is None else f" {value}")
    return _argument(name, value.strip("'"))


def _argument(name: str, value: str = "") -> str:
    """Write an option as the argument of a function, and say that it is one to the shell."""
    return _python(name, value) + (" (in Python)" if _voice["shell"] else "")


def _python(name: str, value: str) -> str:
    """Write an option as the argument of a function; what is in capitals stands for a value."""
    if name in _FLAGS:
        return "=".join(_FLAGS[name])
    argument = argument_of(name)
    if name in _PRIOR:
        return f"prior=Prior({argument}={value or '...'})"
    if name in ("column", "outcome") and value:
        own, _, other = value.rpartition("=") if name == "outcome" else value.partition("=")
        return f"{argument}={{{own!r}: {other if _STANDS_FOR(other) else repr(other)}}}"
    if value == "none":
        return f"{argument}=None"
    return f"{argument}={value if not value or _STANDS_FOR(value) else repr(value)}"
