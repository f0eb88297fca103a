"""The Dots pictures: corrupted as in the paper, and their dots counted by contours.

A picture's dots are counted as the external contours of the dark areas (grey below 240). Four
pictures share a number of dots; the model's score of an item is the mean of their counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal.errors import FileError, OptionError

FOLDERS = ("dots2", "dots3", "dots5", "dots6")
COUNTS = range(50, 80)

BLUR, WHITEOUT, NOISE, LOCAL_BLUR = "BLUR", "WHITEOUT", "LOCAL_NOISE", "LOCAL_BLUR"
CORRUPTIONS = (BLUR, LOCAL_BLUR, NOISE, WHITEOUT)
CLEAN = "CLEAN"

Picture = np.ndarray


def levels(corruption: str) -> list[float]:
    """Return the levels of a corruption: widths of the blur, or sides of the damaged part.

    Examples
    --------
    >>> len(levels("BLUR")), len(levels("WHITEOUT"))
    (11, 13)
    """
    if corruption == BLUR:
        return [round(0.5 * k, 2) for k in range(11)]
    return [round(0.2 + 0.05 * k, 2) for k in range(13)]


def opencv() -> Any:
    """Return OpenCV, or say how to get it."""
    try:
        import cv2
    except ImportError:
        raise OptionError(
            "counting dots in pictures needs OpenCV; install it with "
            "pip install 'aggcal[reproduce]'."
        ) from None
    return cv2


def counts(folder: Path, corruption: str, level: float, seed: int = 0) -> FloatArray:
    """Return the model's score of each item: mean number of contours over its pictures.

    Parameters
    ----------
    folder
        The dataset's folder, with ``images`` in it.
    corruption
        One of `CORRUPTIONS`, or ``CLEAN``.
    level
        See `levels`.
    seed
        Seed for the noise of ``LOCAL_NOISE``.
    """
    cv2 = opencv()
    damage = _damage(cv2, corruption, level, np.random.default_rng(seed))
    found = np.zeros((len(COUNTS), len(FOLDERS)))
    for k, picture in _pictures(folder).items():
        found[k] = count_dots(cv2, damage(picture))
    return np.asarray(found.mean(axis=1))


@lru_cache(maxsize=1)
def _pictures(folder: Path) -> dict[tuple[int, int], Picture]:
    """Read the pictures once for all levels: 50 MB."""
    found = {}
    for k, path in _paths(folder):
        picture = opencv().imread(str(path))
        if picture is None:
            raise FileError(f"{path}: is not a picture that can be read; download Dots again.")
        found[k] = picture
    return found


def count_dots(cv2: Any, picture: Picture) -> int:
    """Count the external contours of the dark areas."""
    grey = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)
    _, dark = cv2.threshold(grey, 240, 255, cv2.THRESH_BINARY_INV)
    contours, _ = cv2.findContours(dark, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    return len(contours)


def examples(folder: Path) -> dict[str, bytes]:
    """Return one picture, clean and under each corruption at a middle level, as PNG."""
    cv2 = opencv()
    picture = cv2.imread(str(folder / "images" / FOLDERS[0] / f"{COUNTS[0]}.png"))
    if picture is None:
        return {}
    made = {}
    for corruption in (CLEAN, *CORRUPTIONS):
        level = 0.0 if corruption == CLEAN else levels(corruption)[len(levels(corruption)) // 2]
        damaged = _damage(cv2, corruption, level, np.random.default_rng(0))(picture)
        _, content = cv2.imencode(".png", damaged)
        made[f"corruption-{corruption.lower()}"] = content.tobytes()
    return made


def _paths(folder: Path) -> Iterator[tuple[tuple[int, int], Path]]:
    for j, name in enumerate(FOLDERS):
        for i, dots in enumerate(COUNTS):
            yield (i, j), folder / "images" / name / f"{dots}.png"


def _damage(
    cv2: Any, corruption: str, level: float, random: np.random.Generator
) -> Callable[[Picture], Picture]:
    if corruption == CLEAN:
        return lambda picture: picture
    if corruption == BLUR:
        # At a width of 0 OpenCV chooses one itself: the paper's level 0 is not clean.
        return lambda picture: cv2.GaussianBlur(picture, (7, 7), level)
    if corruption not in CORRUPTIONS:
        raise OptionError(f"corruption '{corruption}' is unknown; choose {', '.join(CORRUPTIONS)}.")

    def damaged(picture: Picture) -> Picture:
        height, width = picture.shape[:2]
        top, left = int(height * (1.0 - level)), int(width * (1.0 - level))
        out = picture.copy()
        part = out[top:, left:]
        if corruption == WHITEOUT:
            out[top:, left:] = 255
        elif corruption == NOISE:
            noisy = part + random.normal(0.0, 6.0, part.shape)
            out[top:, left:] = np.clip(noisy, 0, 255).astype(np.uint8)
        else:
            out[top:, left:] = cv2.GaussianBlur(part, (11, 11), 6)
        return out

    return damaged
