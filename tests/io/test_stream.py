"""JSON in parts: cut wherever it may be, it reads as it does whole."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator

import pytest

from aggcal.errors import FileError
from aggcal.io.formats._stream import json_records

RECORDS = [{"a": 1, "b": ["]", "}\n{", "\\"]}, [12, 345], {"c": {"d": "é" * 50}}, {"e": 1.5e3}]
TEXTS = {
    "array": json.dumps(RECORDS),
    "pretty array": json.dumps(RECORDS, indent=2),
    "lines": "".join(json.dumps(record) + "\n" for record in RECORDS),
    "pretty objects": "\r\n\r\n".join(json.dumps(record, indent=1) for record in RECORDS),
}


def parts(text: str, size: int) -> Iterator[str]:
    return (text[k : k + size] for k in range(0, len(text), size))


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("layout", TEXTS)
def test_parts_of_any_length(layout: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aggcal.io.formats._stream._AT_FIRST", 30)
    monkeypatch.setattr("aggcal.io.formats._stream._NEAR_THE_END", 8)
    found = list(json_records("f", parts(TEXTS[layout], size)))
    assert [record.value for record in found] == RECORDS


@pytest.mark.parametrize("layout", TEXTS)
def test_a_text_that_is_cut_is_never_read_as_whole(layout: str) -> None:
    text = TEXTS[layout].rstrip()
    for end in range(1, len(text)):
        try:
            found = list(json_records("f", parts(text[:end], 50)))
        except FileError as error:
            assert "f: " in str(error)  # noqa: PT017
        else:
            # Between two lines nobody can tell that there were more.
            assert "array" not in layout
            assert [record.value for record in found] == RECORDS[: len(found)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"a": 1}, {"b": 2}', "ends too early"),
        ('[{"a": 1}] {"b": 2}', "continues after the end"),
        ('[\n{"a": 1}\n{"b": 2}]', "line 3 is not valid JSON"),
        ('{"a": 1}\n\n{"a": }\n{"a": 2}', "line 3 is not valid JSON"),
        ("[1,]", "not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[" + "1" * 5000 + "]", "cannot be read"),
        (" \n", "is empty"),
    ],
)
def test_what_is_wrong_is_told(text: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        list(json_records("f", iter([text])))


def test_an_array_is_not_held_whole() -> None:
    record = json.dumps({"text": "x" * 1000})

    def pieces() -> Iterator[str]:
        yield "[" + record
        for _ in range(20_000):
            yield ", " + record
        yield "]"

    tracemalloc.start()
    number = sum(1 for _ in json_records("f", pieces()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert number == 20_001
    assert peak < 2_000_000
