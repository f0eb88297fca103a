"""The commands that the page names: to make it again, to check the data, to ask further."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from aggcal.registry import BOOTSTRAP, CALIBRATORS


def files(summary: Mapping[str, Any]) -> str:
    """Return the files of the run, as they were given; in capitals where none is known.

    Examples
    --------
    >>> files({"judgments": "my answers.csv", "scores": "scores.csv"})
    "'my answers.csv' scores.csv"
    >>> files({"judgments": "judgments", "scores": None})
    'JUDGMENTS'
    """
    settings = summary.get("settings") or {}
    if "files" in settings:
        return without_folders(str(settings["files"]))
    judgments, scores = _file("judgments", summary) or "JUDGMENTS", _file("scores", summary)
    return judgments if scores is None else f"{judgments} {scores}"


def without_folders(command: str) -> str:
    """Return a command with the names of files alone where it has them from the root of a disk.

    A report is passed on: where its files were on somebody's machine is no business of others.

    Examples
    --------
    >>> without_folders("aggcal run /home/ann/j.csv marks/s.csv -o DIR --title 'a/b c'")
    "aggcal run j.csv marks/s.csv -o DIR --title 'a/b c'"
    """
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    return " ".join(
        shlex.quote(PurePath(w).name or w) if w.startswith("/") else shlex.quote(w) for w in words
    )


def _file(name: str, summary: Mapping[str, Any]) -> str | None:
    """Return a file of the run, quoted for a shell; what did not come from one in capitals."""
    source = str(summary.get(name) or "")
    if not source:
        return None
    return shlex.quote(source) if PurePath(source).suffix else name.upper()


def again(summary: Mapping[str, Any]) -> str | None:
    """Return the command that makes these results again; None if the settings do not tell it.

    Where a command made them, that one; else one that says the same.

    Examples
    --------
    >>> again({"method": "btl", "judgments": "j.csv", "settings":
    ...        {"method": "btl", "prior": "none", "uncertainty": None, "level": 0.9, "seed": 1}})
    'aggcal aggregate j.csv -o DIR --method btl --prior none --uncertainty none --seed 1 --no-check'
    """
    settings = summary.get("settings")
    if settings and "command" in settings:
        return without_folders(str(settings["command"]))
    calibrator = summary.get("calibrator")
    if not settings or settings["method"] is None or calibrator not in {None, *CALIBRATORS}:
        return None
    uncertainty = settings["uncertainty"]
    options = {
        "method": settings["method"],
        "features": summary.get("features"),
        **_prior(summary),
        "estimator": settings.get("estimator"),
        "uncertainty": uncertainty or "none",
        "draws": settings["draws"] if uncertainty == BOOTSTRAP.name else None,
        "calibrator": calibrator,
        "model-sd": settings.get("model_sd"),
        "anchors": "ANCHORS" if summary.get("n_anchors") else None,
        "second-model": "SECOND" if summary.get("second_model") else None,
        "level": settings["level"] if uncertainty or calibrator else None,
        "seed": settings["seed"],
    }
    words = ["aggcal", "run" if calibrator else "aggregate", files(summary), "-o DIR"]
    words += [f"--{k} {shlex.quote(str(v))}" for k, v in options.items() if v is not None]
    texts = _file("texts", summary)
    if texts is not None:
        words.append(f"--texts {texts}")
    if calibrator and settings["weights"] is None:
        words.append("--unweighted")
    if "check" not in summary:
        words.append("--no-check")
    return " ".join(words)


def _prior(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that choose the prior."""
    chosen, prior = summary["settings"]["prior"], summary.get("prior")
    if chosen in {"auto", "none"}:
        return {"prior": chosen}
    if chosen != "own" or not prior:
        return {}
    # Only these methods have reliabilities with a prior of their own.
    hetero = summary["method"].startswith("hra")
    return {
        "score-sd": prior["score_sd"],
        "reliability-sd": prior["reliability_sd"] if hetero else None,
    }
