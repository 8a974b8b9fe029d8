"""Compare cited methods with recorded digests, to find what a change of ZooKeeper's sources affects in the model."""

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
from checker.zookeeper.citations import CitingFunction, ReleaseRules, cited_methods, releases, rules_of
from checker.zookeeper.java_calls import Calls, ClassPlace, Member
from checker.zookeeper.java_normal import NORMALISER, Normal
from checker.zookeeper.java_syntax import Method
from checker.zookeeper.source_tree import SourceTree

# --- read the digests of cited methods, and of what they use, of a source tree or as recorded of a release ---

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


UNCHANGED, CHANGED, NEW, UNKNOWN, ABSENT = "unchanged", "changed", "new", "unknown", "absent"
NO_CLAIM = {"state.py", "observed.py", "established.py"}  # encodings and ghosts: not from ZooKeeper's code


@dataclass(frozen=True)
class MethodDrift:
    """The comparison of a cited method with what is recorded of it.

    Attributes:
        method: `Class.method`.
        state: unchanged, changed, new (not there in the recorded release), absent (in both) or unknown.
        why: what is different, or why it is not known.
        place: its file and line in the tree; empty if it is not there.
        functions: those of the release's model that cite it.
        steps: those that run these functions.
        variants: the other variants whose functions cite it.
        by: of what is used and not cited, what uses it; its functions cite what does, directly or not.
    """

    method: str
    state: str
    why: str
    place: str
    functions: tuple[CitingFunction, ...]
    steps: tuple[str, ...]
    variants: tuple[str, ...]
    by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Drift:
    """The comparison of every cited method.

    Attributes:
        release: the one whose model it is.
        against: what the tree was compared with, in words.
        methods: each cited method, in the order of names.
        used: the methods and fields that they use and nobody cites, in the order of names.
        uncovered: the functions of the release's model that no drift can name, each with what it cites instead of a
            method that exists.
    """

    release: str
    against: str
    methods: tuple[MethodDrift, ...]
    used: tuple[MethodDrift, ...]
    uncovered: tuple[tuple[CitingFunction, str], ...]

    def of(self, *states: str) -> list[MethodDrift]:
        """Return the cited methods in some states."""
        return [m for m in self.methods if m.state in states]

    def used_of(self, *states: str) -> list[MethodDrift]:
        """Return what the cited methods use, in some states."""
        return [m for m in self.used if m.state in states]


def compare(tree: SourceTree, release: str, base: SourceTree | None = None) -> Drift:
    """Compare a tree with what is recorded of a release, or with another tree.

    Args:
        tree: the sources.
        release: the one whose model is affected.
        base: the sources before the change; None for the recorded digests of the release.
    """
    rules, before, now = rules_of(release), recorded(release) if base is None else read_side(base), read_side(tree)
    cited = []
    for method in cited_methods():
        state, why = judged(before.cited.get(method), now.cited[method])
        cited.append(touched(rules, method, state, why, now.cited[method].place, (method,)))
    there = {m.method for m in cited if m.state != ABSENT}
    against = f"the recorded digests of {release}" if base is None else base.words
    same = {m.method for m in cited if m.state == UNCHANGED}
    used = tuple(what_is_used(rules, before, now, same))
    return Drift(release, against, tuple(cited), used, tuple(uncovered(rules, there)))


def judged(before: Entry | None, now: Entry) -> tuple[str, str]:
    """Return the state of a cited method, and how it differs."""
    if before is None:
        return UNKNOWN, f"no digest of it is recorded; `{COMMAND}` records all"
    if not before.owner and not before.why.startswith(MISSING):
        return UNKNOWN, f"before the change: {before.why}"
    if not now.owner:
        if not now.why.startswith(MISSING):
            return UNKNOWN, now.why
        if not before.owner:
            return ABSENT, now.why
        return UNKNOWN, now.why
    if not before.owner:
        return NEW, f"it is declared in {now.owner}; it was not before"
    if before.owner != now.owner:
        return CHANGED, f"it is declared in {now.owner}, and was in {before.owner}"
    return different(before, now)


def different(before: Entry, now: Entry) -> tuple[str, str]:
    """Return the state of a method or field that there was and is, and how it differs."""
    old, new = before.overloads, now.overloads
    if old == new:
        return UNCHANGED, ""
    differ = [
        "its type or initial value is different" if k == FIELD else f"({k}) is different"
        for k in new
        if k in old and old[k] != new[k]
    ]
    differ += [f"({k}) is new" for k in new if k not in old]
    differ += [f"({k}) is gone" for k in old if k not in new]
    return CHANGED, ", ".join(differ)


def touched(
    rules: ReleaseRules, method: str, state: str, why: str, place: str, cited: tuple[str, ...], by: tuple[str, ...] = ()
) -> MethodDrift:
    """Return a method with the functions that cite it, or that cite a method that uses it."""
    names = set(cited)
    citing = tuple(f for f in rules.steps if names & set(f.cites))
    steps = tuple(dict.fromkeys(step for f in citing for step in rules.steps[f]))
    variants = tuple(dict.fromkeys(v for f, of in rules.others.items() if names & set(f.cites) for v in of))
    return MethodDrift(method, state, why, place, citing, steps, variants, by)


# --- what cited methods use ------------------------------------------------------------------------


def what_is_used(rules: ReleaseRules, before: Side, now: Side, same: set[str]) -> Iterator[MethodDrift]:
    """Yield what cited methods use, and what that uses, in the order of names.

    What is used only before or only now is left out if all that use it have changed: they are reported. Otherwise the
    same words mean another method or field now, or one that is not found.

    Args:
        same: the cited methods that are unchanged.
    """
    both = before.used.keys() & now.used.keys()
    for name in both:
        old, new = before.used[name], now.used[name]
        if old.overloads == new.overloads and old.is_followed and new.is_followed:
            same = same | {name}
    for name in sorted(before.used.keys() | now.used.keys()):
        was, is_now = before.used.get(name), now.used.get(name)
        by = tuple(sorted({*(was.by if was else ()), *(is_now.by if is_now else ())}))
        if was is not None and is_now is not None:
            state, why = different(was, is_now)
        elif not (users := [user for user in by if user in same]):
            continue
        elif is_now is None:
            state, why = UNKNOWN, f"{users[0]}, which is unchanged, means another method or field now, or none"
        else:
            state, why = NEW, f"{users[0]}, which is unchanged, did not use it"
        yield touched(rules, name, state, why, is_now.place if is_now else "", roots(by, before, now), by)


def roots(by: Iterable[str], before: Side, now: Side) -> tuple[str, ...]:
    """Return the cited methods that use something, directly or through what they use."""
    seen, left = set(by), list(by)
    while left:
        name = left.pop()
        for side in (before, now):
            for user in side.used[name].by if name in side.used else ():
                if user not in seen:
                    seen.add(user)
                    left.append(user)
    return tuple(sorted(name for name in seen if name in now.cited))


# --- what no drift can name ------------------------------------------------------------------------


def uncovered(rules: ReleaseRules, there: set[str]) -> Iterable[tuple[CitingFunction, str]]:
    """Yield the functions of a release that cite no existing method."""
    for f in rules.steps:
        if f.file not in NO_CLAIM and not there & set(f.cites):
            why = f"cites {', '.join(f.cites)}, which the release does not have" if f.cites else ""
            yield f, why


# --- which release a tree is of --------------------------------------------------------------------


def guessed(version: str) -> str:
    """Return the recorded release that a version is nearest to, or an empty string.

    It is the version itself, or the last before it of its line, or else the first of its line, or, for a line that is
    later than all that are known, master.

    Args:
        version: that of the tree's build file, such as 3.9.6-SNAPSHOT.
    """
    known = releases()
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if numbers is None:
        return ""
    wanted = tuple(map(int, numbers.groups()))
    lines = {tuple(map(int, r.split("."))): r for r in known if r[0].isdigit()}
    line = [n for n in lines if n[:2] == wanted[:2]]
    if line:
        return lines[max((n for n in line if n <= wanted), default=min(line))]
    if wanted > max(lines) and "master" in known:
        return "master"
    return ""
