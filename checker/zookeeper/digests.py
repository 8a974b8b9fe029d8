"""Read the digests of cited methods, and of what they use, of a source tree or as recorded of a release."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Any

from checker.errors import NoVerdict
from checker.zookeeper.citations import cited_methods
from checker.zookeeper.java_calls import Calls, Member, Place
from checker.zookeeper.java_normal import METRICS, NORMALISER, Normal
from checker.zookeeper.java_syntax import Method
from checker.zookeeper.source_tree import SourceTree

DATA = "digests.json"
COMMAND = "python benchmarks/zookeeper_drift.py record REPOSITORY"
MISSING = "there is no "
MOST_PLACES = 3  # classes that are named where a method is missing
LONGEST_CHAIN = 20  # of superclasses
FIELD = "field"
DEPTH = 2  # calls that are followed from a cited method


@dataclass(frozen=True)
class Entry:
    """A cited method, or a method or field that one uses, in a source tree.

    Attributes:
        owner: the class that declares it; empty if there is none.
        overloads: by the types of its parameters the digest of a method; of a field by "field".
        cases: by the types of its parameters, the digests of what is done for each type of a packet.
        by: of what is used, the entries that use it.
        level: of what is used, how many calls are between it and a cited method, and one more.
        why: why there is none, or why it is not known; empty if it is there.
        place: its file and line; empty of recorded digests.
    """

    owner: str = ""
    overloads: Mapping[str, str] = field(default_factory=dict)
    cases: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    by: tuple[str, ...] = ()
    level: int = 0
    why: str = ""
    place: str = ""

    @property
    def is_followed(self) -> bool:
        """Whether what it uses is known, too."""
        return is_followed(FIELD in self.overloads, self.level)


@dataclass(frozen=True)
class Side:
    """The methods of a source tree, or of a release.

    Attributes:
        cited: each cited method, as `Class.method`; one that was not cited when the digests were recorded is missing.
        used: what these use and nobody cites: methods as `Class.method()`, fields as `Class.field`.
        users: of a cited method what uses it; empty of recorded digests.
    """

    cited: Mapping[str, Entry]
    used: Mapping[str, Entry]
    users: Mapping[str, frozenset[str]] = field(default_factory=dict)


# --- of a tree -------------------------------------------------------------------------------------


def read_side(tree: SourceTree, nested: Mapping[str, str]) -> Side:
    """Return what a tree has.

    Args:
        tree: the sources.
        nested: by the name of a nested class, the name of the file that declared it in the recorded releases.
    """
    calls, cited, at = Calls(tree), {}, {}
    for method in cited_methods():
        cited[method], place = look_up(tree, method, nested.get(method.split(".")[0], ""))
        if place is not None:
            at[method] = Member(place, method.split(".")[1])
    return Side(cited, *used_by(calls, at))


def look_up(tree: SourceTree, cited: str, hint: str = "") -> tuple[Entry, Place | None]:
    """Return a method of a tree, and the class that declares it, or None.

    A class that does not declare it inherits it from the nearest superclass that does.
    """
    name, _, method = cited.partition(".")
    at = name
    for _ in range(LONGEST_CHAIN):
        paths = tree.files_of(at, hint if at == name else "")
        if len(paths) > 1:
            return Entry(why=f"there are several files of class {at}: {', '.join(paths[:MOST_PLACES])}"), None
        if not paths:
            return Entry(why=f"{MISSING}class {at}"), None
        classes = tree.classes(paths[0])
        if isinstance(classes, str):
            return Entry(why=classes), None
        if at not in classes:
            return Entry(why=f"{MISSING}class {at} in {paths[0]}"), None
        found = classes[at].methods(method)
        if found:
            return entry_of(at, found, f"{paths[0]}:{found[0].line}"), Place(paths[0], at)
        at = next((above.rpartition(".")[2] for above in classes[at].above), "")
        if not at or at not in tree.paths:
            break
    return Entry(why=f"{MISSING}method {method} in class {name}"), None


def entry_of(owner: str, methods: Iterable[Method], place: str) -> Entry:
    """Return the entry of the methods of a name: with the digests of their cases if there are any."""
    cases = {m.parameters: m.cases for m in methods if len(m.cases) > 1}
    return Entry(owner, {m.parameters: m.digest for m in methods}, cases, place=place)


def used_by(calls: Calls, cited: Mapping[str, Member]) -> tuple[dict[str, Entry], dict[str, frozenset[str]]]:
    """Return what the cited methods use, and what that uses, down to a depth; and what uses the cited methods."""
    own = set(cited.values())
    users: dict[Member, set[str]] = {}
    levels: dict[Member, int] = {}
    left = [(0, user, member) for user, member in cited.items()]
    while left:
        left.sort(key=lambda one: one[0], reverse=True)
        level, user, member = left.pop()
        deeper = level if member.is_field else level + 1
        for used in dict.fromkeys(u for body in bodies(calls, member) for u in calls.used(member.place, body)):
            if used.place.name in METRICS:
                continue
            users.setdefault(used, set()).add(user)
            if used not in own and used not in levels:
                levels[used] = deeper
                if is_followed(used.is_field, deeper):
                    left.append((deeper, key_of(calls, used), used))
    return (
        {key_of(calls, member): use_of(calls, member, users[member], level) for member, level in levels.items()},
        {name: frozenset(users.get(member, ())) for name, member in cited.items()},
    )


def is_followed(is_field: bool, level: int) -> bool:
    """Return whether what something uses is read, too: of a field's initial value always, of a method above DEPTH."""
    return is_field or level < DEPTH


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
        return Entry(found.name, {FIELD: one.digest}, {}, tuple(sorted(by)), level, place=f"{path}:{one.line}")
    methods = found.methods(member.name)
    return replace(
        entry_of(found.name, methods, f"{path}:{methods[0].line}"), cases={}, by=tuple(sorted(by)), level=level
    )


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


def nested_classes() -> Mapping[str, str]:
    """Return by the name of a nested class the name of the file that declares it."""
    found: Mapping[str, str] = data()["nested"]
    return found


@cache
def recorded(release: str) -> Side:
    """Return the recorded digests of a release. A method that the release does not have has no owner."""
    number = list(data()["commits"]).index(release)
    return Side(dict(chosen("cited", number)), dict(chosen("used", number)))


def chosen(kind: str, number: int) -> Iterator[tuple[str, Entry]]:
    """Yield the entries of a kind that a release has, by the release's place in the list of releases."""
    for name, sets in data()[kind].items():
        for one in sets:
            if number in numbers(one["in"]):
                why = "" if one["owner"] else f"{MISSING}{name} in the release"
                cases, by, level = one.get("cases", {}), tuple(one.get("by", ())), one.get("level", 0)
                yield name, Entry(one["owner"], one["overloads"], cases, by, level, why)


@cache
def numbers(ranges: str) -> frozenset[int]:
    """Return the numbers of ranges such as "0-3 7"."""
    found: set[int] = set()
    for one in ranges.split():
        first, _, last = one.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)


def ranges(chosen: Iterable[int]) -> str:
    """Return numbers as ranges, such as "0-3 7"."""
    out: list[list[int]] = []
    for number in sorted(chosen):
        if out and out[-1][1] == number - 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in out)


def record_all(trees: Mapping[str, SourceTree]) -> dict[str, Any]:
    """Return the content of `digests.json`, but for the commits: every cited method, and what is used, by release.

    Args:
        trees: by release its sources, the newest first, which determines the files of nested classes.

    Raises:
        NoVerdict: a file of a release could not be read.
    """
    newest = next(iter(trees.values()))
    classes = sorted({method.split(".")[0] for method in cited_methods()})
    nested = {k: v for name in classes if name not in newest.paths for k, v in nesting(newest, name).items()}
    sides = [read_side(tree, nested) for tree in trees.values()]
    for release, side in zip(trees, sides, strict=True):
        for method, entry in side.cited.items():
            if entry.why and not entry.why.startswith(MISSING):
                raise NoVerdict(f"{release}: {method}: {entry.why}")
    return {
        "normaliser": NORMALISER,
        "nested": nested,
        "cited": {name: together([side.cited.get(name) for side in sides]) for name in cited_methods()},
        "used": {
            name: together([side.used.get(name) for side in sides])
            for name in sorted({name for side in sides for name in side.used})
        },
    }


def together(entries: Sequence[Entry | None]) -> list[dict[str, Any]]:
    """Return the different entries of a name, each with the releases that have it."""
    sets: dict[str, tuple[dict[str, Any], list[int]]] = {}
    for number, entry in enumerate(entries):
        if entry is not None:
            one: dict[str, Any] = {"owner": entry.owner, "overloads": entry.overloads}
            one |= {"cases": entry.cases, "by": entry.by, "level": entry.level}
            one = {k: v for k, v in one.items() if v or k in ("owner", "overloads")}
            sets.setdefault(json.dumps(one), (one, []))[1].append(number)
    return [{**one, "in": ranges(of)} for one, of in sets.values()]


def nesting(tree: SourceTree, name: str) -> dict[str, str]:
    """Return the file that declares a nested class, by its simple name."""
    declares = re.compile(rf"\b(class|interface|enum)\s+{re.escape(name)}\b".encode())
    for stem, paths in tree.paths.items():
        if any(declares.search(tree.read(path)) for path in paths):
            return {name: stem}
    return {}


def written(content: Mapping[str, Any]) -> str:
    """Return the text of `digests.json`: a line for each set, so that a change of one is a change of a line."""
    parts = [f" {json.dumps(k)}: {json.dumps(v)}" for k, v in content.items() if k not in ("cited", "used")]
    for kind in ("cited", "used"):
        rows = [
            f"  {json.dumps(name)}: [\n   " + ",\n   ".join(json.dumps(one) for one in sets) + "\n  ]"
            for name, sets in content[kind].items()
        ]
        parts.append(f" {json.dumps(kind)}: {{\n" + ",\n".join(rows) + "\n }")
    return "{\n" + ",\n".join(parts) + "\n}\n"
