"""`dataclass` at a fraction of its cost: a command loads hundreds of them, and makes few of each.

The standard library writes and compiles up to six methods for every class, which took a third of
the time in which the modules were loaded. Here it collects the fields only: `__init__` is compiled
for a class that has many instances, and the other methods are plain functions.
"""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import asdict, field, replace
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["asdict", "dataclass", "field", "replace"]

_FEW = 30
"""Instances of a class that are filled field by field: to compile takes as long as so many."""

_NO_FIELDS = ("ClassVar", "InitVar", "KW_ONLY")

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass
    from inspect import Signature
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        frozen: bool = False,
        eq: bool = True,
        repr: bool = True,  # noqa: A002  # as it is known
    ) -> type | Callable[[type], type]:
        """Make a class what `dataclasses.dataclass` would, with the same fields and options.

        Examples
        --------
        >>> @dataclass(frozen=True)
        ... class Place:
        ...     row: int
        ...     column: int = 0
        >>> Place(3), Place(3) == Place(3, 0), {Place(3), Place(3)} == {Place(row=3)}
        (Place(row=3, column=0), True, True)
        >>> Place(3).row = 4
        Traceback (most recent call last):
        ...
        dataclasses.FrozenInstanceError: cannot assign to field 'row'
        """
        wanted = {"frozen": frozen, "eq": eq, "repr": repr}
        return (lambda cls: _made(cls, **wanted)) if cls is None else _made(cls, **wanted)


def _made(cls: type, *, frozen: bool, eq: bool, repr: bool) -> type:  # noqa: A002
    own, before = cls.__dict__, set(cls.__dict__)
    unset = own.get("__hash__") is None and ("__hash__" not in before or "__eq__" in before)
    if own.get("__doc__") is None:
        cls.__doc__ = cls.__name__  # or it would be the signature, which takes long to work out
    _fields_collected(cls)
    params = own["__dataclass_params__"]
    params.init, params.repr, params.eq, params.frozen = True, repr, eq, frozen
    fields, methods = dataclasses.fields(cls), dict[str, Any]()
    if "__init__" not in before:
        methods |= {"__init__": _first_init(cls), "__signature__": _OfInit(cls)}
    if repr and "__repr__" not in before:
        methods["__repr__"] = _repr_of([f.name for f in fields if f.repr])
    if eq and "__eq__" not in before:
        methods["__eq__"] = _equal_of([f.name for f in fields if f.compare])
    if eq and unset:
        counted = [f.name for f in fields if (f.compare if f.hash is None else f.hash)]
        methods["__hash__"] = _hash_of(counted) if frozen else None
    if frozen:
        names = frozenset(f.name for f in fields)
        methods["__setattr__"] = _no_setting(cls, names)
        methods["__delattr__"] = _no_deleting(cls, names)
    for name, method in methods.items():
        setattr(cls, name, method)
    return cls


def _fields_collected(cls: Any) -> None:
    """Let the standard library find the fields, those of the bases with them."""
    # It would compile what freezes a class, and takes frozen and other classes for incompatible.
    above = [p for c in cls.__mro__ if (p := c.__dict__.get("__dataclass_params__")) and p.frozen]
    for params in above:
        params.frozen = False
    # Of every type that is a text it would work out whether it is one of a few that make no field.
    types: dict[str, Any] = cls.__dict__.get("__annotations__", {})  # noqa: RUF063
    known = {name: kind if _is_special(kind) else object for name, kind in types.items()}
    try:
        cls.__annotations__ = known
        dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    finally:
        cls.__annotations__ = types
        for params in above:
            params.frozen = True
    for name, kind in types.items():
        if known[name] is object:
            cls.__dataclass_fields__[name].type = kind


def _is_special(kind: object) -> bool:
    """Tell whether a type may make no field: by its own name, or because it is no text."""
    return not isinstance(kind, str) or any(word in kind for word in _NO_FIELDS)


def _first_init(cls: type) -> Callable[..., None]:
    """Return what fills the first instances field by field, and then gives way to a compiled one.

    What is wrong with the arguments, the compiled one says.
    """
    left = _FEW

    def __init__(self: Any, *given: Any, **named: Any) -> None:  # noqa: N807
        nonlocal left
        left -= 1
        values = None if left < 0 else _filled(cls, given, named)
        if values is None:
            _compiled_init(cls)(self, *given, **named)
            return
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if hasattr(cls, "__post_init__"):
            self.__post_init__()

    return __init__


def _filled(cls: Any, given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any] | None:
    """Return the value of each field, in their order; None if the arguments do not fit."""
    fields = dataclasses.fields(cls)
    taken = [f.name for f in fields if f.init and not f.kw_only]
    told = dict(zip(taken, given, strict=False)) | named
    if len(given) > len(taken) or len(told) < len(given) + len(named):
        return None
    found: dict[str, Any] = {}
    for f in fields:
        if f.init and f.name in told:
            found[f.name] = told.pop(f.name)
        elif f.default_factory is not dataclasses.MISSING:
            found[f.name] = f.default_factory()
        elif f.init and f.default is dataclasses.MISSING:
            return None
        elif f.init:
            found[f.name] = f.default
    return None if told else found


def _compiled_init(cls: Any) -> Callable[..., None]:
    """Write and compile the method that fills a new instance, and give it to the class."""
    fields = dataclasses.fields(cls)
    taken = [f for f in fields if f.init and not f.kw_only]
    named = [f for f in fields if f.init and f.kw_only]
    values: dict[str, Any] = {"_set": object.__setattr__, "_new": _NEW}
    body, heads = [], {}
    for f in fields:
        value, heads[f.name] = f.name, f.name
        if f.default_factory is not dataclasses.MISSING:
            values[f"_new_{f.name}"] = f.default_factory
            heads[f.name] += "=_new"
            value = f"_new_{f.name}()" + (f" if {f.name} is _new else {f.name}" if f.init else "")
        elif f.default is not dataclasses.MISSING:
            values[f"_of_{f.name}"] = f.default
            heads[f.name] += f"=_of_{f.name}"
        if f.init or f.default_factory is not dataclasses.MISSING:
            body.append(f"_set(self, {f.name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    head = ["self", *(heads[f.name] for f in taken)]
    head += ["*", *(heads[f.name] for f in named)] if named else []
    lines = "\n  ".join(body or ["pass"])
    text = f"def make({', '.join(values)}):\n def __init__({', '.join(head)}):\n  {lines}"
    here: dict[str, Any] = {}
    exec(f"{text}\n return __init__", vars(sys.modules[cls.__module__]), here)  # noqa: S102
    found: Any = here["make"](**values)
    found.__qualname__ = f"{cls.__qualname__}.__init__"
    found.__annotations__ = {f.name: f.type for f in (*taken, *named)} | {"return": None}
    cls.__init__ = found
    return found  # type: ignore[no-any-return]


class _New:
    """Stands in a signature for what is made anew for each instance."""

    def __repr__(self) -> str:
        return "<factory>"


_NEW = _New()


class _OfInit:
    """The signature of a class, worked out when it is asked for."""

    def __init__(self, cls: type) -> None:
        self.cls = cls

    def __get__(self, instance: object, owner: Any) -> Signature:
        if instance is not None or owner.__init__ is not self.cls.__init__:  # type: ignore[misc]
            raise AttributeError("__signature__")
        from inspect import signature

        found = signature(_compiled_init(self.cls))
        return found.replace(parameters=list(found.parameters.values())[1:])


def _repr_of(names: list[str]) -> Callable[[Any], str]:
    @recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({shown})"

    return __repr__


def _values_of(names: list[str]) -> Callable[[Any], Any]:
    return attrgetter(*names) if names else lambda _: ()


def _equal_of(names: list[str]) -> Callable[[Any, object], bool]:
    values = _values_of(names)

    def __eq__(self: Any, other: object) -> bool:  # noqa: N807
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(self is other or values(self) == values(other))

    return __eq__


def _hash_of(names: list[str]) -> Callable[[Any], int]:
    values = _values_of(names)

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(values(self))

    return __hash__


def _no_setting(cls: Any, names: frozenset[str]) -> Callable[[Any, str, object], None]:
    def __setattr__(self: Any, name: str, value: object) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    return __setattr__


def _no_deleting(cls: Any, names: frozenset[str]) -> Callable[[Any, str], None]:
    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __delattr__
