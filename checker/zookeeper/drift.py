"""Compare cited methods with recorded digests, to find what a change of ZooKeeper's sources affects in the model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from checker.zookeeper.citations import CitingFunction, ReleaseRules, cited_methods, releases, rules_of
from checker.zookeeper.digests import (
    COMMAND,
    FIELD,
    MISSING,
    Entry,
    Side,
    read_side,
    recorded,
)
from checker.zookeeper.source_tree import SourceTree

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
