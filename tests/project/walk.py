"""A static walk over calls: which functions lie on a way from one to another.

A call is followed by its name: through imports, at the top and inside functions, through classes (their constructors
and methods), and through values whose class is annotated, constructed or returned where they come from. What is passed
as a value counts as called. What is found by its name at run time is not followed.

    python -m tests.project.walk                the ways of `zabcheck.explore` to the engine
"""

from __future__ import annotations

import ast
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("zabcheck", "checker", "traces", "invariants", "zabspec")
ROOT = Path(__file__).parents[2]
START = "checker.requests.explore.Explore.answer"
# Where the engine begins: the first level is expanded, and machine code is looked for.
ENGINE = ("checker.explore.breadth_first.Explorer.expand_all", "zabspec.language.tiered.TieredCode.__init__")
# What is put beside a report that there is already, by requests of other kinds: they have ways of their own.
BESIDE = ("checker.evidence.gathered.with_evidence",)
BEGIN = ("__init__", "__post_init__", "__enter__")  # of a class that is called


@dataclass(frozen=True)
class Function:
    """A function: its module, its syntax, and the class that it is of; empty: none."""

    module: str
    node: ast.FunctionDef
    owner: str = ""


class Sources:
    """The functions and classes of the packages, and what names mean in each module."""

    def __init__(self) -> None:
        self.functions: dict[str, Function] = {}
        self.classes: dict[str, tuple[str, ast.ClassDef]] = {}
        self.names: dict[str, dict[str, str]] = {}
        for package in PACKAGES:
            for file in sorted((ROOT / package).rglob("*.py")):
                module = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
                self.names[module] = {}
                self.read(module, ast.parse(file.read_text(encoding="utf-8")).body)

    def read(self, module: str, body: Iterable[ast.stmt]) -> None:
        for x in body:
            match x:
                case ast.Import() | ast.ImportFrom():
                    self.names[module] |= imported(x)
                case ast.If():  # `if TYPE_CHECKING`
                    self.read(module, x.body)
                case ast.FunctionDef(name=name):
                    self.names[module][name] = f"{module}.{name}"
                    self.functions[f"{module}.{name}"] = Function(module, x)
                case ast.ClassDef(name=name):
                    self.names[module][name] = f"{module}.{name}"
                    self.classes[f"{module}.{name}"] = module, x
                    for y in x.body:
                        if isinstance(y, ast.FunctionDef):
                            self.functions[f"{module}.{name}.{y.name}"] = Function(module, y, f"{module}.{name}")

    def meant(self, name: str) -> str:
        """What a dotted name stands for, through modules that import it."""
        while name not in self.functions and name not in self.classes:
            module, _, last = name.rpartition(".")
            other = self.names.get(module, {}).get(last, name)
            if other == name:
                return name
            name = other
        return name

    def named(self, e: ast.expr | None, names: dict[str, str]) -> str:
        """What an expression names; empty: nothing that is known."""
        match e:
            case ast.Constant(value=str(text)) if text.isidentifier():
                return self.named(ast.parse(text, mode="eval").body, names)
            case ast.Name(id=name):
                return self.meant(names[name]) if name in names else ""
            case ast.Attribute(value=value, attr=attr):
                before = self.named(value, names)
                return self.meant(f"{before}.{attr}") if before else ""
            case ast.Subscript(value=value):
                return self.named(value, names)
            case ast.BinOp(left=left, right=right):
                return self.named(left, names) or self.named(right, names)
        return ""

    def line(self, owner: str) -> Iterator[str]:
        """A class, and those that it is made from."""
        if owner in self.classes:
            yield owner
            module, node = self.classes[owner]
            for base in node.bases:
                yield from self.line(self.named(base, self.names[module]))

    def member(self, owner: str, name: str) -> str:
        """The method or property of a class; empty: it has none."""
        return next((f"{c}.{name}" for c in self.line(owner) if f"{c}.{name}" in self.functions), "")

    def field(self, owner: str, name: str) -> str:
        """The class of a field that a class annotates; empty: it is not known."""
        for each in self.line(owner):
            module, node = self.classes[each]
            for x in node.body:
                if isinstance(x, ast.AnnAssign) and isinstance(x.target, ast.Name) and x.target.id == name:
                    return self.named(x.annotation, self.names[module])
        return ""

    def called(self, name: str) -> frozenset[str]:
        """The functions that a function calls."""
        f = self.functions[name]
        names = dict(self.names[f.module])
        for x in ast.walk(f.node):
            if isinstance(x, ast.Import | ast.ImportFrom):
                names |= imported(x)
        kinds = {a.arg: self.named(a.annotation, names) for a in (*f.node.args.args, *f.node.args.kwonlyargs)}
        if f.owner:
            kinds[f.node.args.args[0].arg if f.node.args.args else ""] = f.owner

        def kind(e: ast.expr) -> str:
            """The class of a value."""
            match e:
                case ast.Name(id=given):
                    return kinds.get(given, "")
                case ast.Call(func=func):
                    return self.returned(target(func), f.owner)
                case ast.Attribute(value=value, attr=attr):
                    owner = kind(value)
                    return self.returned(self.member(owner, attr), owner) or self.field(owner, attr)
            return ""

        def target(e: ast.expr) -> str:
            """The function or class that an expression names."""
            if isinstance(e, ast.Name) and e.id == "cls":
                return f.owner
            if isinstance(e, ast.Attribute) and (found := self.member(kind(e.value), e.attr)):
                return found
            found = self.named(e, names)
            owner, _, last = found.rpartition(".")
            found = self.member(owner, last) or found
            return found if found in self.functions or found in self.classes else ""

        for x in ast.walk(f.node):
            if isinstance(x, ast.Assign) and isinstance(x.targets[0], ast.Name):
                kinds.setdefault(x.targets[0].id, kind(x.value))
        found = {target(x) for x in ast.walk(f.node) if isinstance(x, ast.Name | ast.Attribute)}
        begun = {self.member(c, begin) for c in found & self.classes.keys() for begin in BEGIN}
        return frozenset(((found & self.functions.keys()) | begun) - {name, ""})

    def returned(self, name: str, owner: str) -> str:
        """The class of what a function returns, or that a class makes."""
        if name in self.classes or name not in self.functions:
            return name if name in self.classes else ""
        f = self.functions[name]
        if isinstance(f.node.returns, ast.Name) and f.node.returns.id == "Self":
            return owner
        return self.named(f.node.returns, self.names[f.module])


def imported(x: ast.Import | ast.ImportFrom) -> dict[str, str]:
    """What an import gives names to."""
    before = f"{x.module}." if isinstance(x, ast.ImportFrom) else ""
    return {a.asname or a.name: f"{before}{a.name}" for a in x.names}


def ways(sources: Sources, start: str = START, ends: Iterable[str] = ENGINE) -> list[str]:
    """Return the functions on any way of calls from one to one of others, in the order in which they are met."""
    met, ahead, callers = {start: None}, deque([start]), defaultdict[str, set[str]](set)
    while ahead:
        at = ahead.popleft()
        for other in sorted(set(sources.called(at)) - set(BESIDE)):
            callers[other].add(at)
            if other not in met:
                met[other] = None
                ahead.append(other)
    on, ahead = set(ends), deque(ends)
    while ahead:
        for caller in callers[ahead.popleft()] - on:
            on.add(caller)
            ahead.append(caller)
    return [name for name in met if name in on]


if __name__ == "__main__":
    known = Sources()
    stops = ways(known)
    print(f"{len(stops)} functions in {len({known.functions[s].module for s in stops})} modules", *stops, sep="\n")
