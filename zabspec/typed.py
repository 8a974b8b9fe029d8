"""Read JSON and TOML as types: refuse what is wrong in one sentence, and derive the JSON schema from the same types."""

from __future__ import annotations

import dataclasses
import datetime
import difflib
import inspect
import re
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
from msgspec import Meta

Natural = Annotated[int, Meta(ge=0)]
Text = Annotated[str, Meta(min_length=1, description="text")]
Path = tuple[str | int, ...]
T = typing.TypeVar("T")
DATES = (datetime.date, datetime.datetime)  # what TOML has besides the values of JSON
WANTED = {
    int: "a whole number", float: "a number", bool: "true or false", str: "text", Mapping: "numbers by name",
    tuple: "a list of names", list: "a list",
}  # fmt: skip
ATTRIBUTE = re.compile(r"^    (\w[\w, ]*): (.+(?:\n {8}.+)*)", re.MULTILINE)


class Typed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the objects of a file. The docstring describes each key under `Attributes`, and so does the schema."""


class WrongValue(ValueError):
    """A value is not of its type: `must be 0 or more, not -1`, or a sentence about its keys.

    Attributes:
        path: the keys and numbers that lead to the value.
    """

    def __init__(self, path: Path, says: str) -> None:
        super().__init__(says)
        self.path = path

    def at(self, place: str) -> str:
        """Return the sentence with its place, which is empty for the whole."""
        if str(self).startswith("must be"):
            return f"{place or 'it'} {self}"
        return f"{place}: {self}" if place else str(self)


def read(value: Any, kind: type[T]) -> T:
    """Return values of JSON or TOML as a type; nothing is converted.

    Raises:
        WrongValue: one is of another type, beyond its limits, unknown or missing: the first that is.
    """
    try:
        return msgspec.convert(value, kind, builtin_types=DATES)
    except msgspec.ValidationError:
        raise next(wrong(value, kind)) from None


def wrong(value: Any, hint: Any, path: Path = ()) -> Iterator[WrongValue]:
    """Yield what is wrong with a value: inner values first, for they say where."""
    options = [each for each in alternatives(hint) if each[0] is not types.NoneType] or alternatives(hint)
    kinds = [kind for kind, _ in options if isinstance(kind, type) and issubclass(kind, Typed)]
    if isinstance(value, Mapping) and len(kinds) > 1:  # of which each has its tag
        tags = {str(kind.__struct_config__.tag): kind for kind in kinds}
        field = str(kinds[0].__struct_config__.tag_field)
        tag = value.get(field)
        if tag not in tags:
            hint = near(str(tag), tags) or f"; there are {', '.join(tags)}"
            yield WrongValue(path, f"there is no {field} {shown(tag)}{hint}")
        else:
            yield from wrong_keys(value, tags[tag], path)
    for kind, _ in options:
        inner = get_args(kind)
        if isinstance(value, Mapping) and kinds == [kind]:
            yield from wrong_keys(value, kind, path)
        elif isinstance(value, Mapping) and get_origin(kind) in (dict, Mapping):
            yield from (found for key, each in value.items() for found in wrong(each, inner[1], (*path, key)))
        elif isinstance(value, list | tuple) and get_origin(kind) in (list, tuple):
            yield from (found for k, each in enumerate(value) for found in wrong(each, inner[0], (*path, k)))
    try:
        msgspec.convert(value, hint, builtin_types=DATES)
    except msgspec.ValidationError:
        said = dict.fromkeys(wanted(kind, limit_in(marks), value) for kind, marks in options)
        yield WrongValue(path, f"must be {' or '.join(said)}, not {shown(value)}")


def wrong_keys(value: Mapping[str, Any], kind: type[Typed], path: Path) -> Iterator[WrongValue]:
    """Yield what is wrong with an object: an unknown key, one that is missing, or a value."""
    known = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    for name in value:
        if name not in known and name != kind.__struct_config__.tag_field:
            hint = near(name, known) or f"; there are {', '.join(known)}"
            yield WrongValue(path, f"there is no key {shown(name)}{hint}")
    for name, field in known.items():
        if name in value:
            yield from wrong(value[name], field.type, (*path, name))
        elif field.required:
            yield WrongValue(path, f"{name!r} is missing")


def alternatives(hint: Any, marks: tuple[Any, ...] = ()) -> list[tuple[Any, tuple[Any, ...]]]:
    """Return the types that a value may have, each with the marks of its annotation."""
    if get_origin(hint) is Annotated:
        return alternatives(get_args(hint)[0], (*marks, *get_args(hint)[1:]))
    if get_origin(hint) is typing.Union or isinstance(hint, types.UnionType):
        return [found for each in get_args(hint) for found in alternatives(each, marks)]
    return [] if hint is msgspec.UnsetType else [(hint, marks)]


def one_of(*choices: str) -> Meta:
    """Return the limits of a text that is one of some; to type checkers it stays text."""
    pattern = f"^({'|'.join(map(re.escape, choices))})$"
    said = f"{', '.join(choices[:-1])} or {choices[-1]}"
    return Meta(pattern=pattern, description=said, extra_json_schema={"enum": list(choices)})


def limit_in(marks: Iterable[Any]) -> Meta | None:
    """Return the limits among the marks of an annotation."""
    return next((mark for mark in marks if isinstance(mark, Meta)), None)


def wanted(kind: Any, limit: Meta | None, value: Any) -> str:
    """Return what a wrong value must be, as the end of a sentence: of its type, or else within its limits."""
    if limit is not None and limit.description:
        return limit.description
    if get_origin(kind) is Literal:
        *others, last = map(str, get_args(kind))
        return f"{', '.join(others)} or {last}" if others else last
    within = type(value) is kind or (kind is float and type(value) is int)
    if limit is not None and limit.ge is not None and within:
        return f"{limit.ge} or more" if limit.le is None else f"{limit.ge} to {limit.le}"
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return f"an object with {' and '.join(f.name for f in msgspec.structs.fields(kind) if f.required) or 'keys'}"
    return WANTED.get(get_origin(kind) or kind, "an object")


def shown(value: Any) -> str:
    """Return a wrong value for a sentence, shortened."""
    return f"{value:g}" if isinstance(value, float) else f"{value!r:.60}"


def near(name: str, names: Iterable[str]) -> str:
    """Return a suggestion for a wrong name, as the end of a sentence."""
    found = difflib.get_close_matches(name, list(names), 3, 0.5)
    return f"; did you mean {' or '.join(found)}?" if found else ""


def object_type(name: str, hints: Mapping[str, Any], optional: Iterable[str] = (), tag: str = "") -> Any:
    """Return the type of an object whose keys are known only when it is read.

    Args:
        optional: the keys that may be missing.
        tag: the key whose value is the name, by which a union tells its types apart; empty for none.
    """
    keys = [(key, h | msgspec.UnsetType, msgspec.UNSET) if key in optional else (key, h) for key, h in hints.items()]
    tagged: dict[str, Any] = {"tag_field": tag, "tag": name} if tag else {}
    return msgspec.defstruct(name, keys, bases=(Typed,), kw_only=True, **tagged)


def list_of(hint: Any, **limits: Any) -> Any:
    """Return the type of a list whose elements' type is known only when it is read, with its limits."""
    return Annotated[list[hint], Meta(**limits)]


def hints_of(kind: type) -> dict[str, Any]:
    """Return the types of the fields of a dataclass."""
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def schema(kind: type[Typed]) -> dict[str, Any]:
    """Return the JSON schema of a type, with the descriptions of docstrings."""
    found = msgspec.json.schema(kind)
    for each in typed_classes(Typed):
        if (part := found["$defs"].get(each.__name__)) is not None:
            docs = (k.__doc__ for k in each.__mro__[:-3] if k.__doc__ != msgspec.Struct.__doc__)
            texts = [inspect.cleandoc(text) for text in docs if text]
            keys = {field.name: field.encode_name for field in msgspec.structs.fields(each)}
            part["description"] = " ".join(texts[0].partition("\n\n")[0].split()) if texts else ""
            for names, says in (pair for text in texts for pair in ATTRIBUTE.findall(text)):
                for name in keys.keys() & names.split(", "):
                    part["properties"][keys[name]]["description"] = " ".join(says.split())
    return found


def typed_classes(kind: type[Typed]) -> Iterator[type[Typed]]:
    """Yield every class below one."""
    for each in kind.__subclasses__():
        yield each
        yield from typed_classes(each)
