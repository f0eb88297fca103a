"""`dataclass` of aggcal does what the standard library's does, for every class of the package."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
from typing import Any

import pytest

import aggcal
from aggcal._core.records import dataclass


def both(body: dict[str, Any], annotations: dict[str, str], **options: bool) -> tuple[Any, Any]:
    """Return a class made by the standard library, and the same one made by ours."""
    made: list[Any] = []
    for decorator in (dataclasses.dataclass, dataclass):
        parts = {"__annotations__": annotations, "__module__": __name__, "__doc__": "x", **body}
        made.append(decorator(**options)(type("Made", (), dict(parts))))
    return made[0], made[1]


FIELDS = {"a": "int", "b": "list[int]", "c": "str", "_": "dataclasses.KW_ONLY", "d": "int"}
BODY = {
    "b": dataclasses.field(default_factory=list, repr=False),
    "c": dataclasses.field(default="c", compare=False),
    "d": 4,
}


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("eq", [False, True])
@pytest.mark.parametrize("shown", [False, True])
def test_instances_are_alike(frozen: bool, eq: bool, shown: bool) -> None:
    theirs, ours = both(BODY, FIELDS, frozen=frozen, eq=eq, repr=shown)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert ours.__match_args__ == theirs.__match_args__
    for cls in (theirs, ours):
        one, same, other = cls(1), cls(1, [], "else"), cls(2, d=5)
        assert vars(one) == {"a": 1, "b": [], "c": "c", "d": 4}
        assert one.b is not same.b
        assert (one == same) is eq
        assert one != other
        assert one != (1, [], "c", 4)
        assert repr(one).startswith("Made(a=1, c='c', d=4)") is shown
        assert dataclasses.replace(one, a=2, d=5) == other or not eq
        assert vars(copy.copy(one)) == vars(one)
        given: list[tuple[Any, ...]] = [(), (1, [], "c", 4), (1, [], "c", 4, 5)]
        for wrong in given:
            with pytest.raises(TypeError):
                cls(*wrong)
        with pytest.raises(TypeError):
            cls(1, unknown=2)
        if not frozen:
            one.a, one.new = 3, 4
            continue
        for name in ("a", "new"):
            with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign"):
                setattr(one, name, 3)
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete"):
            del one.a
    assert (ours.__hash__ is None) is (theirs.__hash__ is None)


LATER: dict[str, Any] = {"__post_init__": lambda self: self.__dict__.update(e=self.a + self.d)}
UNASKED: dict[str, Any] = {"f": dataclasses.field(init=False, default_factory=list)}


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((1,), {}),
        ((), {"a": 1, "c": "else"}),
        ((1, [2], "c"), {"d": 5}),
    ],
)
def test_first_and_later_instances_are_alike(given: Any, named: Any) -> None:
    """The first are filled field by field, those beyond by what is compiled."""
    theirs, ours = both(BODY | LATER | UNASKED, FIELDS | {"f": "list[int]"}, frozen=True)
    expected = list(vars(theirs(*given, **named)).items())
    first = ours.__init__
    assert all(list(vars(ours(*given, **named)).items()) == expected for _ in range(50))
    assert ours.__init__ is not first


@pytest.mark.parametrize(
    ("given", "named"),
    [((1, [2], "c", 4), {}), ((), {}), ((1,), {"a": 1}), ((1,), {"f": []}), ((1,), {"g": 1})],
)
def test_the_first_instance_refuses_what_the_standard_library_does(given: Any, named: Any) -> None:
    theirs, ours = both(BODY | UNASKED, FIELDS | {"f": "list[int]"}, frozen=True)
    with pytest.raises(TypeError) as expected:
        theirs(*given, **named)
    with pytest.raises(TypeError) as found:
        ours(*given, **named)
    assert str(found.value) == str(expected.value)


def test_hashes_follow_what_is_compared() -> None:
    theirs, ours = both({"b": dataclasses.field(compare=False)}, {"a": "int", "b": "list[int]"})
    assert ours.__hash__ is None is theirs.__hash__
    body = {"b": dataclasses.field(compare=False)}
    for cls in both(body, {"a": "int", "b": "list[int]"}, frozen=True):
        assert hash(cls(1, [])) == hash(cls(1, [2]))
        assert hash(cls(1, [])) != hash(cls(2, []))
        assert cls(1, [2]) == cls(1, [])


def test_own_methods_are_kept() -> None:
    body = {"__eq__": lambda *_: True, "__repr__": lambda _: "me", "__hash__": lambda _: 7}
    for cls in both(body, {"a": "int"}, frozen=True):
        assert (cls(1) == cls(2), repr(cls(1)), hash(cls(1))) == (True, "me", 7)
    for cls in both({"__eq__": lambda *_: True}, {"a": "int"}, frozen=True):
        assert hash(cls(1)) == hash(cls(1))
    for cls in both(
        {"__post_init__": lambda self: self.__dict__.update(b=self.a + 1)}, {"a": "int"}
    ):
        assert cls(1).b == 2


@dataclass(frozen=True)
class Base:
    """A class to inherit from."""

    a: int
    b: int = 2


@dataclass(frozen=True)
class Derived(Base):
    """One that inherits."""

    c: int = 3


@dataclasses.dataclass(frozen=True)
class Theirs(Base):
    """One of the standard library that does."""

    c: int = 3


class Plain(Base):
    """One that is no dataclass itself."""

    def __init__(self) -> None:
        super().__init__(5)


@dataclass
class Node:
    """One that can hold itself."""

    other: object = None


def test_classes_inherit() -> None:
    assert repr(Derived(1)) == "Derived(a=1, b=2, c=3)"
    assert repr(Theirs(1)) == "Theirs(a=1, b=2, c=3)"
    assert Base(1) != Derived(1)
    assert pickle.loads(pickle.dumps(Derived(1))) == Derived(1)  # noqa: S301
    assert Plain().a == 5
    assert list(inspect.signature(Plain).parameters) == []
    Plain().more = 1  # type: ignore[attr-defined]
    with pytest.raises(dataclasses.FrozenInstanceError):
        Plain().a = 1  # type: ignore[misc]


def test_what_holds_itself_can_be_shown() -> None:
    node = Node()
    node.other = node
    assert repr(node) == "Node(other=...)"


def test_all_classes_of_the_package_have_the_same_signatures() -> None:
    seen = 0
    for module in pkgutil.walk_packages(aggcal.__path__, "aggcal."):
        # The compiled kernels (on x86-64 one file for each level of it) are no modules.
        compiled = module.name.startswith("aggcal._core.kernels.kernels")
        if compiled or ".gpu" in module.name or module.name.endswith("__main__"):
            continue
        for cls in vars(importlib.import_module(module.name)).values():
            if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
                continue
            if "__signature__" not in vars(cls):
                continue
            fields = [f for f in dataclasses.fields(cls) if f.init]
            shown = inspect.signature(cls).parameters
            taken = [f for f in fields if not f.kw_only] + [f for f in fields if f.kw_only]
            assert list(shown) == [f.name for f in taken], cls
            for f in fields:
                given = (
                    f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
                )
                assert (shown[f.name].default is inspect.Parameter.empty) is given, (cls, f.name)
                if f.default is not dataclasses.MISSING:
                    assert shown[f.name].default is f.default
            seen += 1
    assert seen > 200
