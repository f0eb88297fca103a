"""Read what the items look like: one picture per item, put into the report itself."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path

from aggcal.errors import FileError, count, printable

MOST_BYTES = 12_000_000
"""Bytes of all pictures together: a page that is larger cannot be sent or opened with ease."""
_MOST_FILES = 20_000
"""Files of a folder that are looked at: more are no folder of pictures."""
_KINDS = {
    b"\x89PNG\r\n\x1a\n": "png",
    b"\xff\xd8\xff": "jpeg",
    b"GIF8": "gif",
    b"RIFF": "webp",
}
"""How the files of each kind begin; drawings that can hold a script are not among them."""
_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")


def read_pictures(folder: Path | str) -> Mapping[str, str]:
    """Return the pictures of a folder by the names of their files, as addresses a page can hold.

    Parameters
    ----------
    folder
        Holds a file for each item, named after it: ``ID.png``, ``.jpg``, ``.gif`` or ``.webp``.

    Examples
    --------
    >>> read_pictures("nowhere")
    Traceback (most recent call last):
    aggcal.errors.FileError: nowhere: no such folder; give one with a picture for each item.
    """
    folder = Path(folder)
    shown = printable(str(folder))
    if not folder.is_dir():
        raise FileError(f"{shown}: no such folder; give one with a picture for each item.")
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix.lower() in _ENDINGS)
        if not files:
            raise FileError(
                f"{shown}: holds no picture; name them after the items, such as ID.png, or .jpg, "
                ".gif, .webp."
            )
        if len(files) > _MOST_FILES:
            raise FileError(f"{shown}: holds {count(len(files), 'picture')}; give fewer.")
        return {path.stem: _address(path) for path in _small_enough(files, shown)}
    except PermissionError:
        raise FileError(f"{shown}: no permission to read it.") from None
    except OSError as error:
        raise FileError(f"{shown}: cannot be read ({error.strerror}).") from None


def _small_enough(files: list[Path], shown: str) -> list[Path]:
    files = [path for path in files if path.is_file()]
    whole = sum(path.stat().st_size for path in files)
    if whole > MOST_BYTES:
        raise FileError(
            f"{shown}: its pictures have {whole / 1e6:.0f} MB, and a page has room for "
            f"{MOST_BYTES / 1e6:.0f}; make them smaller."
        )
    return files


def _address(path: Path) -> str:
    data = path.read_bytes()
    kind = next((kind for begin, kind in _KINDS.items() if data.startswith(begin)), None)
    if kind is None:
        raise FileError(f"{printable(str(path))}: is no PNG, JPEG, GIF or WebP picture.")
    return f"data:image/{kind};base64,{b64encode(data).decode()}"
