"""Check whether a protocol always closes its end of a connection before it follows another process, or none.

Then no end is ever left open, and the override for such ends (`zabspec/worlds/left_open.py`) is not needed: the world's
shorter functions, whose reads and writes reductions know, do the same. The invariant that is shown for every function
of the protocol is: **a process has its end of a connection only to the process in `leader`, and while `role` is not
0.**

A function may write `role` or `leader`, or `forget` where these are volatile, only where its process has closed: after
`disconnect`, or where the world calls it for a process without connections. It may `connect` only where the oracle or
an election names a leader, to that one, and after `s.leader[p] = l` and a `role` of 1 or 2. Whatever is not of this
form counts as leaving an end open: that costs reductions, and is never wrong.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from types import FunctionType

from zabspec.language.layout.bytecode import global_names
from zabspec.language.layout.source import annotated, definition
from zabspec.language.python import lang
from zabspec.worlds import actor

WRITTEN = ("role", "leader")
WORKING = (1, 2)  # a process with this role does not look for a leader
NAMED = ("on_oracle", "on_follow")  # the hooks that tell a process without connections whom to follow
WITHOUT = (*NAMED, "on_elected", "on_start", "on_crash", "on_recovery")  # called for a process without connections
WORDS = ("connect", "disconnect", "forget")


@dataclass(frozen=True)
class At:
    """The facts about a function's process at one point of the function.

    Attributes:
        closed: it has no end of a connection.
        fresh: whom it may open one to: who it was told to follow, by the name of the first function; empty for nobody.
        leader: whom `leader` names, in the same words; empty if it is not known.
        working: `role` is 1 or 2.
    """

    closed: bool = False
    fresh: str = ""
    leader: str = ""
    working: bool = False

    def joined(self, other: At) -> At:
        """Return what is known where either may be so."""
        return At(
            self.closed and other.closed,
            self.fresh if self.fresh == other.fresh else "",
            self.leader if self.leader == other.leader else "",
            self.working and other.working,
        )


class LeftOpen(Exception):
    """A function may leave an end open, or is not understood; the message says where."""


def leaves_open(
    text: Mapping[str, object],
    overrides: Mapping[str, FunctionType],
    starts: Collection[str],
    volatile: Collection[str],
) -> str:
    """Return where a text may leave an end of a connection open; empty if it never does.

    Args:
        text: the names of its module.
        overrides: functions of a variant, by the names of those that they replace.
        starts: the functions that a run begins with.
        volatile: the volatile ones among `role` and `leader`.
    """
    words = [*vars(actor).values(), *vars(lang).values()]
    there = {name: f for name, f in text.items() if isinstance(f, FunctionType) and f not in words}
    there |= overrides
    walk = Walk(there, volatile)
    try:
        for name in there:
            if walk.matters(name) and (name in starts or walk.begins(name)):
                walk.root(name)
    except LeftOpen as found:
        return str(found)
    return ""


class Walk:
    """Walks through the functions of a protocol."""

    def __init__(self, functions: Mapping[str, FunctionType], volatile: Collection[str]) -> None:
        self.functions, self.volatile = functions, volatile
        self.known: dict[str, bool] = {}
        self.called = {n for f in functions.values() for n in global_names(f.__code__) if n in functions}

    # --- which functions --------------------------------------------------------------------------

    def matters(self, name: str) -> bool:
        """Return whether a function may open or close an end, or write whom its process follows."""
        if name not in self.known:
            self.known[name] = False  # there is no recursion
            function = self.functions[name]
            names = global_names(function.__code__)
            parts = list(ast.walk(definition(function)))
            writes = any(field_of(target) in WRITTEN for part in parts for target in targets(part))
            calls = any(n in WORDS and n not in self.functions for n in names)
            self.known[name] = writes or calls or any(n in self.functions and self.matters(n) for n in names)
        return self.known[name]

    def begins(self, name: str) -> bool:
        """Return whether it is called from outside the protocol's functions: by the world, or through a mark."""
        function = self.functions[name]
        if len(definition(function).args.args) == 1 and not hasattr(function, "made_change"):
            return False  # the function that a run begins with; it is checked there
        marked = any(hasattr(function, mark) for mark in ("made_action", "made_change", "receives"))
        return marked or name not in self.called or name in vars(actor)

    # --- what is known ----------------------------------------------------------------------------

    def root(self, name: str) -> None:
        """Walk through a function that the world calls.

        Raises:
            LeftOpen: an end may stay open.
        """
        node = definition(self.functions[name])
        given = [a.arg for a in node.args.args]
        at = At(closed=name in WITHOUT and (name != "on_recovery" or self.told_down()))
        if name in NAMED and len(given) > 2:
            at = replace(at, fresh=given[2])
        self.inside(name, at, {word: word for word in given[1:]})

    def told_down(self) -> bool:
        """Return whether a process is down only after a crash, or by a `role` that it writes after closing."""
        if "is_down" not in self.functions:
            return True
        body = definition(self.functions["is_down"]).body
        match [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]:
            case [ast.Return(value=ast.Compare(left=left, ops=[ast.Eq()], comparators=[other]))]:  # and nothing before
                return field_of(left) == "role" and number(self.functions["is_down"], other) not in (None, *WORKING)
        return False

    def inside(self, name: str, at: At, names: Mapping[str, str]) -> At:
        """Walk through a function, and return what is known at its end.

        Args:
            names: its parameters, by what the first function calls them.
        """
        body = Body(self, name, names)
        end = body.block(definition(self.functions[name]).body, at)
        for other in body.ends:
            end = other if end is None else end.joined(other)
        assert end is not None, f"{name} has no end"
        return end


class Body:
    """Walks through one function.

    Args:
        names: its parameters, each with its name in the first function.
    """

    def __init__(self, walk: Walk, name: str, names: Mapping[str, str]) -> None:
        self.walk, self.name, self.names = walk, name, names
        self.function = walk.functions[name]
        parameters = definition(self.function).args.args
        self.own = next((a.arg for a in parameters[1:2] if annotated(a.annotation) == "Node"), "")
        self.ends: list[At] = []  # where it returns
        self.breaks: list[At] = []  # where it leaves the loop that it is in, or begins a round

    def fail(self, node: ast.AST, said: str) -> LeftOpen:
        return LeftOpen(f"{said} ({self.function.__code__.co_filename}:{getattr(node, 'lineno', 0)})")

    def block(self, statements: list[ast.stmt], at: At) -> At | None:
        """Return what is known after some statements; None if nothing follows them."""
        known: At | None = at
        for statement in statements:
            if known is None:
                return None
            known = self.statement(statement, known)
        return known

    def statement(self, node: ast.stmt, at: At) -> At | None:
        match node:
            case ast.Expr(value=ast.Call(func=ast.Name(id=called), args=args) as call):
                self.only_looks(*args)
                return self.call(call, called, at)
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign():
                return self.assign(node, at)
            case ast.If(test=test, body=body, orelse=other):
                self.only_looks(test)
                return either(self.block(body, at), self.block(other, at))
            case ast.For(iter=through, body=body):
                self.only_looks(through)
                return self.loop(body, at)
            case ast.Return(value=value):
                self.only_looks(*([value] if value is not None else []))
                self.ends.append(at)
                return None
            case ast.Break() | ast.Continue():
                self.breaks.append(at)
                return None
        self.only_looks(node)
        return at

    def loop(self, body: list[ast.stmt], at: At) -> At:
        """Walk through a loop of any number of iterations; what is known before each is kept by all."""
        outer, known = self.breaks, at
        while True:
            self.breaks = []
            end = self.block(body, known)
            after = known
            for other in [*self.breaks, *([end] if end is not None else [])]:
                after = after.joined(other)
            if after == known:
                self.breaks = outer
                return known
            known = after

    def only_looks(self, *parts: ast.AST) -> None:
        """Check that expressions neither open or close an end, nor write whom a process follows.

        Raises:
            LeftOpen: one does.
        """
        for part in parts:
            for inner in ast.walk(part):
                if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name):
                    called = inner.func.id
                    theirs = called in self.walk.functions
                    if (theirs and self.walk.matters(called)) or (not theirs and called in WORDS):
                        raise self.fail(inner, f"{called} is called in an expression")

    def assign(self, node: ast.Assign | ast.AugAssign | ast.AnnAssign, at: At) -> At:
        value = node.value
        if value is not None:
            self.only_looks(value)
        for target in targets(node):
            field = field_of(target)
            if field not in WRITTEN:
                continue
            assert isinstance(target, ast.Subscript)
            whose = ast.unparse(target.slice)
            if not self.own or whose != self.own or not isinstance(node, ast.Assign):
                raise self.fail(node, f"{field} of {whose} is changed")
            if not at.closed:
                raise self.fail(node, f"{field} is changed where its process may have a connection open")
            if field == "role":
                at = replace(at, working=self.is_working(value))
            else:
                known = self.names.get(value.id, "") if isinstance(value, ast.Name) else ""
                at = replace(at, leader=known)
        return at

    def is_working(self, value: ast.expr | None) -> bool:
        """Return whether a value of `role` is 1 or 2."""
        if isinstance(value, ast.IfExp):
            return self.is_working(value.body) and self.is_working(value.orelse)
        return value is not None and number(self.function, value) in WORKING

    def call(self, node: ast.Call, called: str, at: At) -> At:
        """Return what is known after a statement that calls a function."""
        own = bool(self.own) and len(node.args) > 1 and ast.unparse(node.args[1]) == self.own
        if called in self.walk.functions:
            if not self.walk.matters(called):
                return at
            if not own:
                raise self.fail(node, f"{called} is called for another process")
            given = [a.arg for a in definition(self.walk.functions[called]).args.args[1:]]
            passed = zip(given, node.args[1:], strict=True)
            names = {n: self.names.get(v.id, "") if isinstance(v, ast.Name) else "" for n, v in passed}
            return self.walk.inside(called, at, names)
        if called not in WORDS:
            return at
        if not own:
            raise self.fail(node, f"{called} is called for another process")
        if called == "disconnect":
            return replace(at, closed=True, fresh="")
        if called == "forget":
            if self.walk.volatile and not at.closed:
                raise self.fail(node, f"{' and '.join(self.walk.volatile)} may be reset with a connection open")
            leader = "" if "leader" in self.walk.volatile else at.leader
            return replace(at, leader=leader, working=at.working and "role" not in self.walk.volatile)
        whom = self.names.get(node.args[2].id, "") if isinstance(node.args[2], ast.Name) else ""
        if not (at.closed and at.working and whom and whom == at.fresh == at.leader):
            raise self.fail(node, "it connects to a process that it does not yet follow, or that no oracle named")
        return replace(at, closed=False, fresh="")


def either(one: At | None, other: At | None) -> At | None:
    if one is None or other is None:
        return one or other
    return one.joined(other)


def targets(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the targets of an assignment."""
    if isinstance(node, ast.Assign):
        yield from node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        yield node.target


def field_of(node: ast.expr) -> str:
    """Return the field of a place such as `s.role[p]`; empty for anything else."""
    match node:
        case ast.Subscript(value=ast.Attribute(value=ast.Name(), attr=name)):
            return name
    return ""


def number(function: FunctionType, node: ast.expr) -> int | None:
    """Return the number that an expression means, or None if it does not follow from the source."""
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() as value):
            return value
        case ast.Name(id=name) if name not in function.__code__.co_varnames:
            known = function.__globals__.get(name)
            return known if type(known) is int else None
    return None
