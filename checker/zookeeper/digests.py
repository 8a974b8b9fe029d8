"""Read the digests of cited methods, and of what they use, of a source tree or as recorded of a release."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

from checker.errors import NoVerdict
from checker.zookeeper.citations import cited_methods
from checker.zookeeper.java_calls import Calls, ClassPlace, Member
from checker.zookeeper.java_normal import NORMALISER, Normal
from checker.zookeeper.java_syntax import Method
from checker.zookeeper.source_tree import SourceTree

DATA = "digests.json"
COMMAND = "python benchmarks/zookeeper_drift.py record REPOSITORY"
MISSING = "there is no "
FIELD = "field"
DEPTH = 2  # calls that are followed from a cited method
METRICS = "ServerMetrics"  # what it uses is not followed


@dataclass(frozen=True)
class Entry:
    """A cited method, or a method or field that one uses, in a source tree.

    Attributes:
        owner: the class that declares it; empty if there is none.
        overloads: by the types of its parameters the digest of a method; of a field by "field".
        by: of what is used, the entries that use it.
        level: of what is used, how many calls are between it and a cited method, and one more.
        why: why there is none, or why it is not known; empty if it is there.
        place: its file and line; empty of recorded digests.
    """

    owner: str = ""
    overloads: Mapping[str, str] = field(default_factory=dict)
    by: tuple[str, ...] = ()
    level: int = 0
    why: str = ""
    place: str = ""

    @property
    def is_followed(self) -> bool:
        """Whether what it uses is read, too: of a field's initial value always, of a method above DEPTH."""
        return FIELD in self.overloads or self.level < DEPTH


@dataclass(frozen=True)
class Side:
    """The methods of a source tree, or of a release.

    Attributes:
        cited: each cited method, as `Class.method`; one that was not cited when the digests were recorded is missing.
        used: what these use and nobody cites: methods as `Class.method()`, fields as `Class.field`.
    """

    cited: Mapping[str, Entry]
    used: Mapping[str, Entry]


# --- of a tree -------------------------------------------------------------------------------------


def read_side(tree: SourceTree) -> Side:
    """Return what a tree has."""
    calls, cited, at = Calls(tree), {}, {}
    for method in cited_methods():
        cited[method], place = look_up(calls, method)
        if place is not None:
            at[method] = Member(place, method.split(".")[1])
    return Side(cited, used_by(calls, at))


def look_up(calls: Calls, cited: str) -> tuple[Entry, ClassPlace | None]:
    """Return a method of a tree, and the class that declares it, or None.

    A class that does not declare it inherits it from the nearest one above that does.
    """
    name, _, method = cited.partition(".")
    paths = calls.tree.files_of(name)
    if len(paths) != 1:
        several = f"there are several files of class {name}: {', '.join(paths)}"
        return Entry(why=several if paths else f"{MISSING}class {name}"), None
    classes = calls.tree.classes(paths[0])
    if isinstance(classes, str):
        return Entry(why=classes), None
    found = calls.methods(ClassPlace(paths[0], name), method, None)
    if found is None:
        where = f"method {method} in class {name}" if name in classes else f"class {name} in {paths[0]}"
        return Entry(why=f"{MISSING}{where}"), None
    at, methods = found
    return entry_of(at.name, methods, f"{at.path}:{methods[0].line}"), at


def entry_of(owner: str, methods: Iterable[Method], place: str) -> Entry:
    """Return the entry of the methods of a name."""
    return Entry(owner, {m.parameters: m.normal.digest for m in methods}, place=place)


def used_by(calls: Calls, cited: Mapping[str, Member]) -> dict[str, Entry]:
    """Return what the cited methods use, and what that uses, down to a depth."""
    own = set(cited.values())
    users: dict[Member, set[str]] = {}
    levels: dict[Member, int] = {}
    left = [(0, user, member) for user, member in cited.items()]
    while left:
        left.sort(key=lambda one: one[0], reverse=True)
        level, user, member = left.pop()
        deeper = level if member.is_field else level + 1
        for used in dict.fromkeys(u for body in bodies(calls, member) for u in calls.used(member.place, body)):
            if used.place.name == METRICS:
                continue
            users.setdefault(used, set()).add(user)
            if used not in own and used not in levels:
                levels[used] = deeper
                if used.is_field or deeper < DEPTH:
                    left.append((deeper, key_of(calls, used), used))
    return {key_of(calls, member): use_of(calls, member, users[member], level) for member, level in levels.items()}


def key_of(calls: Calls, member: Member) -> str:
    """Return the name of what is used: `Class.method()`, `Class.field`, of a nested class after that of its file."""
    path = PurePosixPath(member.place.path)
    name = member.place.name if member.place.name == path.stem else f"{path.stem}.{member.place.name}"
    if len(calls.tree.paths[path.stem]) > 1:
        name = f"{path.parent.name}.{name}"
    return f"{name}.{member.name}{'' if member.is_field else '()'}"


def bodies(calls: Calls, member: Member) -> Sequence[Normal]:
    """Return the normal forms of a method's overloads, or of a field."""
    found = calls.class_at(member.place)
    if found is None:
        return []
    return [found.fields[member.name].normal] if member.is_field else [m.normal for m in found.methods(member.name)]


def use_of(calls: Calls, member: Member, by: Iterable[str], level: int) -> Entry:
    """Return the entry of a method or field that others use."""
    found, path = calls.class_at(member.place), member.place.path
    assert found is not None  # the members come from the classes
    if member.is_field:
        one = found.fields[member.name]
        place = f"{path}:{one.node.start_point[0] + 1}"
        return Entry(found.name, {FIELD: one.normal.digest}, tuple(sorted(by)), level, place=place)
    methods = found.methods(member.name)
    return replace(entry_of(found.name, methods, f"{path}:{methods[0].line}"), by=tuple(sorted(by)), level=level)


# --- of the recorded releases ----------------------------------------------------------------------


@cache
def data() -> Mapping[str, Any]:
    """Return the recorded digests.

    Raises:
        NoVerdict: they are of another normal form.
    """
    given: dict[str, Any] = json.loads(files("checker.zookeeper").joinpath(DATA).read_text())
    if given["normaliser"] != NORMALISER:
        raise NoVerdict(f"the recorded digests use another normal form; `{COMMAND}` records them again")
    return given


@cache
def recorded(release: str) -> Side:
    """Return the recorded digests of a release. A method that the release does not have has no owner."""
    return Side(dict(chosen("cited", release)), dict(chosen("used", release)))


def chosen(kind: str, release: str) -> Iterator[tuple[str, Entry]]:
    """Yield the entries of a kind that a release has."""
    for name, sets in data()[kind].items():
        for one in sets:
            if release in one["in"].split():
                why = "" if one["owner"] else f"{MISSING}{name} in the release"
                yield name, Entry(one["owner"], one["overloads"], tuple(one.get("by", ())), one.get("level", 0), why)
