"""Compare cited methods with recorded digests, to find what a change of ZooKeeper's sources affects in the model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from checker.errors import NoVerdict
from checker.zookeeper.citations import CitingFunction, ReleaseRules, cited_methods, functions, releases, rules_of
from checker.zookeeper.java_syntax import NORMALISER, Method
from checker.zookeeper.source_tree import SourceTree

__all__ = [
    "CHANGED",
    "NEW",
    "UNCHANGED",
    "UNKNOWN",
    "Drift",
    "MethodDrift",
    "Uncovered",
    "compare",
    "guessed",
    "look_up",
    "record_all",
    "recorded",
]  # fmt: skip

UNCHANGED, CHANGED, NEW, UNKNOWN, ABSENT = "unchanged", "changed", "new", "unknown", "absent"
DATA = "digests.json"
COMMAND = "python benchmarks/zookeeper_drift.py record REPOSITORY"
NO_CLAIM = {"state.py", "observed.py", "established.py"}  # encodings and ghosts: not from ZooKeeper's code
MOST_PLACES = 3  # classes that are named where a method is missing
LONGEST_CHAIN = 20  # of superclasses

# Of a method: the class that declares it, and by the types of its parameters the digest; or None.
Digests = Mapping[str, Any] | None


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
    """

    method: str
    state: str
    why: str
    place: str
    functions: tuple[CitingFunction, ...]
    steps: tuple[str, ...]
    variants: tuple[str, ...]


@dataclass(frozen=True)
class Uncovered:
    """A function of the release's model that no drift can name.

    Attributes:
        function: the function.
        through: the methods that its callers cite: a drift of these names its steps; empty if none.
        why: what it cites instead of an existing method.
    """

    function: CitingFunction
    through: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class Drift:
    """The comparison of every cited method.

    Attributes:
        release: the one whose model it is.
        against: what the tree was compared with, in words.
        methods: each cited method, in the order of names.
        uncovered: the functions of the release's model that cite none.
    """

    release: str
    against: str
    methods: tuple[MethodDrift, ...]
    uncovered: tuple[Uncovered, ...]

    def of(self, *states: str) -> list[MethodDrift]:
        return [m for m in self.methods if m.state in states]


# --- what is recorded ------------------------------------------------------------------------------


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


def recorded(release: str) -> dict[str, Digests]:
    """Return the recorded digests of a release by cited method.

    A missing method was not cited when the digests were recorded.
    """
    out: dict[str, Digests] = {}
    for method, sets in data()["methods"].items():
        for one in sets:
            if release in one["releases"]:
                out[method] = {k: v for k, v in one.items() if k != "releases"} if one["overloads"] else None
    return out


def record_all(trees: Mapping[str, SourceTree]) -> dict[str, Any]:
    """Return the content of `digests.json`: for every cited method the digests in each release.

    Args:
        trees: by release its sources, the newest first, which determines the files of nested classes.

    Raises:
        NoVerdict: a file of a release could not be read.
    """
    newest = next(iter(trees.values()))
    classes = sorted({method.split(".")[0] for method in cited_methods()})
    nested = {k: v for name in classes if name not in newest.paths for k, v in nesting(newest, name).items()}
    methods: dict[str, list[dict[str, Any]]] = {}
    for method in cited_methods():
        sets = methods.setdefault(method, [])
        for release, tree in trees.items():
            found, why, _ = look_up(tree, method, nested.get(method.split(".")[0], ""))
            if found is None and not why.startswith(MISSING):
                raise NoVerdict(f"{release}: {why}")
            one = found or {"class": "", "overloads": {}}
            same = next((s for s in sets if all(s.get(k) == v for k, v in one.items())), None)
            if same is None:
                sets.append({**one, "releases": [release]})
            else:
                same["releases"].append(release)
    return {"normaliser": NORMALISER, "nested": nested, "methods": methods}


def nesting(tree: SourceTree, name: str) -> dict[str, str]:
    """Return the file that declares a nested class, by its simple name."""
    declares = re.compile(rf"\b(class|interface|enum)\s+{re.escape(name)}\b".encode())
    for stem, paths in tree.paths.items():
        if any(declares.search(tree.read(path)) for path in paths):
            return {name: stem}
    return {}


# --- what a tree has -------------------------------------------------------------------------------

MISSING = "there is no "


def look_up(tree: SourceTree, cited: str, hint: str = "") -> tuple[Digests, str, str]:
    """Return the digests of a method in a tree, why there are none, and its place.

    A class that does not declare it inherits it from the nearest superclass that does.
    """
    name, _, method = cited.partition(".")
    at = name
    for _ in range(LONGEST_CHAIN):
        paths = tree.files_of(at, hint if at == name else "")
        if len(paths) > 1:
            return None, f"there are several files of class {at}: {', '.join(paths[:MOST_PLACES])}", ""
        if not paths:
            return None, f"{MISSING}class {at}", ""
        classes = tree.classes(paths[0])
        if isinstance(classes, str):
            return None, classes, ""
        if at not in classes:
            return None, f"{MISSING}class {at} in {paths[0]}", ""
        found = classes[at].methods(method)
        if found:
            return digests_of(at, found), "", f"{paths[0]}:{found[0].line}"
        at = classes[at].above
        if not at or at not in tree.paths:
            break
    return None, f"{MISSING}method {method} in class {name}", ""


def digests_of(owner: str, found: Iterable[Method]) -> dict[str, Any]:
    """Return the record of the methods of a name: with the digests of their cases if there are any."""
    methods = list(found)
    cases = {m.parameters: m.cases for m in methods if len(m.cases) > 1}
    out = {"class": owner, "overloads": {m.parameters: m.digest for m in methods}}
    return out | {"cases": cases} if cases else out


def compare(tree: SourceTree, release: str, base: SourceTree | None = None) -> Drift:
    """Compare a tree with what is recorded of a release, or with another tree.

    Args:
        tree: the sources.
        release: the one whose model is affected.
        base: the sources before the change; None for the recorded digests of the release.
    """
    rules, known = rules_of(release), recorded(release)
    nested = data()["nested"]
    methods = []
    for method in cited_methods():
        hint = nested.get(method.split(".")[0], "")
        if base is not None:
            before, trouble, _ = look_up(base, method, hint)
            if trouble and not trouble.startswith(MISSING):
                methods.append(touched(rules, method, UNKNOWN, f"before the change: {trouble}", ""))
                continue
        elif method not in known:
            why = f"no digest of it is recorded for {release}; `{COMMAND}` records all"
            methods.append(touched(rules, method, UNKNOWN, why, ""))
            continue
        else:
            before = known[method]
        now, why, place = look_up(tree, method, hint)
        methods.append(touched(rules, method, *judged(tree, method, before, now, why), place))
    there = {m.method for m in methods if m.state != ABSENT}
    against = f"the recorded digests of {release}" if base is None else base.words
    return Drift(release, against, tuple(methods), tuple(uncovered(rules, there)))


def judged(tree: SourceTree, method: str, before: Digests, now: Digests, why: str) -> tuple[str, str]:
    """Return the state of a method, and how it differs."""
    if now is None:
        if not why.startswith(MISSING):
            return UNKNOWN, why
        if before is None:
            return ABSENT, why
        places = [place for place, _ in zip(tree.declaring(method.split(".")[1]), range(MOST_PLACES), strict=False)]
        where = f"; one of that name is in {', '.join(places)}" if places else "; no class has one of that name"
        return UNKNOWN, why + where
    if before is None:
        return NEW, f"it is declared in {now['class']}; it was not before"
    if before["class"] != now["class"]:
        return CHANGED, f"it is declared in {now['class']}, and was in {before['class']}"
    old, new = before["overloads"], now["overloads"]
    if old == new:
        return UNCHANGED, ""
    differ = [
        f"({k}) is different" + in_cases(before.get("cases", {}).get(k, {}), now.get("cases", {}).get(k, {}))
        for k in new
        if k in old and old[k] != new[k]
    ]
    differ += [f"({k}) is new" for k in new if k not in old]
    differ += [f"({k}) is gone" for k in old if k not in new]
    return CHANGED, ", ".join(differ)


def in_cases(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Return in which cases of a packet's type a method differs, in words.

    The result is empty if it has no cases, or only their order is different.
    """
    names = [case for case in dict.fromkeys((*before, *now)) if before.get(case) != now.get(case)]
    if not names or len(before) + len(now) == 0:
        return ""
    cases = ", ".join(f"case {case}" for case in names if case)
    outside = "outside of its cases" if "" in names else ""
    return ", in " + " and ".join(filter(None, (cases, outside))) if cases else f", {outside}"


def touched(rules: ReleaseRules, method: str, state: str, why: str, place: str) -> MethodDrift:
    """Return a method with the functions that cite it."""
    citing = tuple(f for f in rules.steps if method in f.cites)
    steps = tuple(dict.fromkeys(step for f in citing for step in rules.steps[f]))
    variants = tuple(dict.fromkeys(v for f, names in rules.others.items() if method in f.cites for v in names))
    return MethodDrift(method, state, why, place, citing, steps, variants)


# --- what no drift can name ------------------------------------------------------------------------


def uncovered(rules: ReleaseRules, there: set[str]) -> Iterable[Uncovered]:
    """Yield the functions of a release that cite no existing method."""
    callers = callers_of(rules)
    for f in rules.steps:
        if f.file not in NO_CLAIM and not there & set(f.cites):
            through = sorted({m for c in above(f, callers, there) for m in c.cites if m in there})
            why = f"cites {', '.join(f.cites)}, which the release does not have" if f.cites else ""
            yield Uncovered(f, tuple(through), why)


def callers_of(rules: ReleaseRules) -> dict[str, list[CitingFunction]]:
    """Return by the name of a function those that call it; a replacement is called by the name of the replaced one."""
    stand_in = rules.stand_in
    out: dict[str, list[CitingFunction]] = {}
    for f in rules.steps:
        for name in f.names:
            called = stand_in.get(name, name)
            if called in functions():
                out.setdefault(called, []).append(f)
    return out


def above(f: CitingFunction, callers: Mapping[str, list[CitingFunction]], there: set[str]) -> set[CitingFunction]:
    """Return the nearest direct or indirect callers of a function that cite an existing method."""
    seen, out, left = {f}, set(), [f]
    while left:
        for caller in callers.get(left.pop().name, ()):
            if caller not in seen:
                seen.add(caller)
                if there & set(caller.cites):
                    out.add(caller)
                else:
                    left.append(caller)
    return out


# --- which release a tree is of --------------------------------------------------------------------


def guessed(version: str) -> str:
    """Return the recorded release that a version is nearest to, or an empty string.

    It is the version itself, or the last before it of its line, or, for a line that has none, master.

    Args:
        version: that of the tree's build file, such as 3.9.6-SNAPSHOT.
    """
    known = releases()
    numbers = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if numbers is None:
        return ""
    wanted = tuple(map(int, numbers.groups()))
    lines = {tuple(map(int, r.split("."))): r for r in known if r[0].isdigit()}
    earlier = [n for n in lines if n[:2] == wanted[:2] and n <= wanted]
    if earlier:
        return lines[max(earlier)]
    if wanted > max(lines) and "master" in known:
        return "master"
    return ""
