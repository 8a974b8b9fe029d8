"""Find which functions of the ZooKeeper model cite which Java methods in their docstrings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from zabspec.protocols.registry import PROTOCOLS
from zabspec.worlds.actor import HOOKS

PROTOCOL = "zookeeper"
CITATION = re.compile(r"\b([A-Z]\w*)\.([a-z]\w*)\b")
SECTION = "# --- "
RECEIVES, ACTION = "receives", "action"
ELECTION = "election"  # a step of the world


@dataclass(frozen=True)
class CitingFunction:
    """A function of the model.

    Attributes:
        name: of the function.
        file: of the model.
        line: where it begins.
        cites: the Java methods that its docstring, or the heading above it, names, as `Class.method`.
        names: the functions that it may call, by their names there.
        step: the step that it is: an action, or the message that it receives, or a hook of the world; empty if none.
    """

    name: str
    file: str
    line: int
    cites: tuple[str, ...]
    names: frozenset[str]
    step: str


@dataclass(frozen=True)
class ReleaseRules:
    """The functions of a release.

    Attributes:
        release: its number.
        steps: by function that a step of the release runs, the steps.
        others: by function that runs in none, the variants that it belongs to.
    """

    release: str
    steps: Mapping[CitingFunction, tuple[str, ...]]
    others: Mapping[CitingFunction, tuple[str, ...]]


def releases() -> dict[str, str]:
    """Return the variant of each known release, by its number."""
    declared = PROTOCOLS[PROTOCOL].declared.releases
    return {number: variant for variant, numbers in declared.items() for number in numbers}


@cache
def functions() -> dict[str, CitingFunction]:
    """Return the functions of the model by their names."""
    out: dict[str, CitingFunction] = {}
    protocol = PROTOCOLS[PROTOCOL]  # once: each time its files are compared with what was read of them
    for module in protocol.modules:
        path = Path(str(module.__file__))
        text = path.read_text()
        sections = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.startswith(SECTION)]
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef):
                section = max(((n, line) for n, line in sections if n < node.lineno), default=(0, ""))[1]
                out[node.name] = read(node, path.name, section)
        # the step of the world for which the declaration names a method: who wins an election
        weighed = protocol.declared.leaders_weigh
        for n, line in enumerate(text.splitlines(), 1) if weighed else ():
            if f'leaders_weigh="{weighed}"' in line:
                out["leaders_weigh"] = CitingFunction("leaders_weigh", path.name, n, (weighed,), frozenset(), ELECTION)
    return out


def read(node: ast.FunctionDef, file: str, section: str) -> CitingFunction:
    """Return the description of a function.

    Args:
        section: the heading above it in its file: all functions below it cite what it cites.
    """
    doc = " ".join(f"{ast.get_docstring(node) or ''} {section}".split())
    cites = tuple(dict.fromkeys(".".join(found) for found in CITATION.findall(doc)))
    names = frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    return CitingFunction(node.name, file, node.lineno, cites, names, step_of(node))


def step_of(node: ast.FunctionDef) -> str:
    """Return the name of the step that a function is; empty if it is none."""
    for given in node.decorator_list:
        if isinstance(given, ast.Name) and given.id == RECEIVES:
            return str(ast.unparse(node.args.args[-1].annotation)) if node.args.args[-1].annotation else node.name
        if isinstance(given, ast.Call) and isinstance(given.func, ast.Name) and given.func.id == ACTION:
            named = [k.value for k in given.keywords if k.arg == "name"]
            return str(ast.literal_eval(named[0])) if named else node.name
    return node.name if node.name in HOOKS else ""


@cache
def cited_methods() -> tuple[str, ...]:
    """Return every method that the model cites, as `Class.method`."""
    return tuple(sorted({method for f in functions().values() for method in f.cites}))


@cache
def rules_of(release: str) -> ReleaseRules:
    """Return the functions of a release with their steps."""
    protocol, known = PROTOCOLS[PROTOCOL], functions()
    stand_in = {name: named(f.__name__) for name, f in protocol.overrides(releases()[release]).items()}
    steps: dict[str, list[str]] = {}
    for f in known.values():
        if f.step:
            for name in reached([f.name], stand_in):
                steps.setdefault(name, []).append(f.step)
    others: dict[str, list[str]] = {}
    for variant in protocol.variants.values():
        own = {name: named(f.__name__) for name, f in variant.overrides.items()}
        for name in reached(own.values(), own):
            if name not in steps:
                others.setdefault(name, []).append(variant.name)
    return ReleaseRules(
        release,
        {known[name]: tuple(dict.fromkeys(found)) for name, found in steps.items()},
        {known[name]: tuple(found) for name, found in others.items()},
    )


def reached(first: Iterable[str], stand_in: Mapping[str, str]) -> Iterator[str]:
    """Yield the functions that these may call, and they themselves, each once.

    Args:
        stand_in: by the name of a function the one that replaces it.
    """
    known, seen, left = functions(), set(), [stand_in.get(name, name) for name in first]
    while left:
        name = left.pop()
        if name not in seen and name in known:
            seen.add(name)
            yield name
            left += [stand_in.get(called, called) for called in sorted(known[name].names)]


def named(name: str) -> str:
    """Return the name that a function has in its file, which may differ from its name in the program."""
    return name.removesuffix("__own")
