"""Find the messages that a user protocol sends, to which end of a connection, and those that nothing receives.

A message that nothing receives is taken out of the channel and changes nothing: most often a `@receives` is missing. It
is an error, unless the protocol declares that it ignores that message.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType

from zabspec.language.layout.source import annotated
from zabspec.language.python.lang import MessageName
from zabspec.worlds import actor
from zabspec.worlds.steps import CONNECTIONS

ANY, LEADER, FOLLOWER = "anybody", "a leader", "a follower"
# What sends: which argument is the message, and who receives it.
SENDS: Mapping[object, tuple[int, str]] = {
    actor.send: (3, ANY),
    actor.send_to_leader: (2, LEADER),
    actor.send_to_follower: (3, FOLLOWER),
}
TAKES_ALL = {LEADER: "receive_as_leader", FOLLOWER: "receive_as_follower", ANY: "on_message"}


Taken = frozenset[str] | None  # kinds of message; None: all


@dataclass(frozen=True)
class Sending:
    """A message that is created or passed on.

    Attributes:
        kind: its name; empty if it may be of any kind, as one that is passed on or that a field keeps.
        to: the end that receives it; ANY where that is not known.
        function, line: the place in the source.
    """

    kind: str
    to: str
    function: FunctionType
    line: int


class _Text:
    """The syntax of one function, with what its names refer to."""

    def __init__(self, function: FunctionType, node: ast.FunctionDef) -> None:
        self.function, self.node = function, node
        self.params = {a.arg: annotated(a.annotation) for a in node.args.args}
        self.given: dict[str, list[ast.expr]] = {}
        for part in ast.walk(node):
            if isinstance(part, (ast.Assign, ast.AnnAssign)) and part.value is not None:
                for target in part.targets if isinstance(part, ast.Assign) else [part.target]:
                    if isinstance(target, ast.Name):
                        self.given.setdefault(target.id, []).append(part.value)
        self.calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]

    def called(self, call: ast.Call) -> object:
        return self.function.__globals__.get(call.func.id) if isinstance(call.func, ast.Name) else None

    def made(self, e: ast.expr) -> str:
        """Return the kind of message that an expression makes; empty if it makes none."""
        known = self.called(e) if isinstance(e, ast.Call) else None
        return known.name if isinstance(known, MessageName) else ""

    def sources(self, e: ast.expr, seen: frozenset[str] = frozenset()) -> list[ast.Call | str | None]:
        """Return where a message comes from: the expressions that make it, and parameters by name; None: elsewhere."""
        match e:
            case ast.Call() if self.made(e):
                return [e]
            case ast.IfExp():
                return [*self.sources(e.body, seen), *self.sources(e.orelse, seen)]
            case ast.Name(id=name) if name in self.params:
                return [name, *([None] if name in self.given else [])]
            case ast.Name(id=name) if name in self.given and name not in seen:
                return [x for value in self.given[name] for x in self.sources(value, seen | {name})]
        return [None]


def sendings(
    functions: Sequence[FunctionType],
    node_of: Callable[[FunctionType], ast.FunctionDef],
    instead: Mapping[str, Sequence[FunctionType]],
    roots: Iterable[FunctionType] = (),
) -> list[Sending]:
    """Return the messages that some functions send.

    A message that is made, and sent in a way that is not followed here, is sent to ANY.

    Args:
        functions: all that act.
        node_of: returns the syntax of a function.
        instead: by the name of a function those that override it in some variant.
        roots: those that are called from elsewhere, with messages of any kind.
    """
    texts = {f: _Text(f, node_of(f)) for f in functions}
    passes: dict[FunctionType, dict[int, set[str]]] = {f: {} for f in texts}  # by parameter, where it is sent
    out: set[Sending] = set()
    sent: set[ast.Call] = set()
    before = -1
    while before != (before := sum(len(to) for places in passes.values() for to in places.values())):
        for f, text in texts.items():
            order = list(text.params)
            for call in text.calls:
                for e, to in arguments(text, call, passes, instead):
                    for source in text.sources(e):
                        if isinstance(source, ast.Call):
                            sent.add(source)
                            out.add(Sending(text.made(source), to, f, source.lineno))
                        if not isinstance(source, str):
                            continue
                        passes[f].setdefault(order.index(source), set()).add(to)
                        known = f.__globals__.get(text.params[source])
                        if isinstance(known, MessageName):
                            out.add(Sending(known.name, to, f, call.lineno))
    for f, text in texts.items():
        out |= {Sending(text.made(c), ANY, f, c.lineno) for c in text.calls if text.made(c) and c not in sent}
        for call in text.calls:
            for e, to in arguments(text, call, passes, instead):
                if None in text.sources(e):
                    out.add(Sending("", to, f, call.lineno))
    for f in {*roots, *(f for functions in instead.values() for f in functions)} & passes.keys():
        out |= {Sending("", to, f, f.__code__.co_firstlineno) for places in passes[f].values() for to in places}
    return sorted(out, key=lambda s: (s.function.__code__.co_filename, s.line, s.kind, s.to))


def arguments(
    text: _Text,
    call: ast.Call,
    passes: Mapping[FunctionType, Mapping[int, set[str]]],
    instead: Mapping[str, Sequence[FunctionType]],
) -> Iterable[tuple[ast.expr, str]]:
    """Yield the messages among a call's arguments that are sent, each with its receiver."""
    function = text.called(call)
    if not isinstance(function, FunctionType):
        return
    if function in SENDS:
        at, to = SENDS[function]
        if len(call.args) > at:
            yield call.args[at], to
        return
    for other in (function, *instead.get(function.__name__, ())):
        for at, places in [*passes.get(other, {}).items()]:
            if len(call.args) > at:
                yield from ((call.args[at], to) for to in [*places])


def unreceived(
    found: Iterable[Sending], world: str, receipts: Mapping[str, FunctionType], hooks: Mapping[str, Sequence[Taken]]
) -> Iterable[Sending]:
    """Yield the messages that nothing receives at an end to which they are sent.

    Args:
        world: the world of the protocol.
        receipts: the function that receives each kind; over connections a leader's receipt takes the follower too.
        hooks: of the hooks that are given messages of all kinds, those that the protocol or a variant has, with what
            each takes (`taken`).
    """
    ends = (LEADER, FOLLOWER) if world == CONNECTIONS else (ANY,)
    for s in (s for s in found if s.kind):
        there = [end for end in ends if s.to in (ANY, end)]
        by_hook = (kinds is None or s.kind in kinds for end in there for kinds in hooks.get(TAKES_ALL[end], ()))
        if not any(by_hook) and not any(takes(receipts.get(s.kind), end) for end in there):
            yield s


def taken(node: ast.FunctionDef) -> Taken:
    """Return the kinds of message that a hook handles: those that it names.

    This holds if it is a chain of `if m.kind == KIND` and nothing else.
    """
    kinds: set[str] = set()
    for s in node.body:
        if isinstance(s, (ast.Return, ast.Pass)) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)):
            continue
        branch: ast.stmt | None = s
        while branch is not None:
            match branch:
                case ast.If(
                    test=ast.Compare(left=ast.Attribute(attr="kind"), ops=[ast.Eq()], comparators=[ast.Name(id=kind)]),
                    orelse=[] | [ast.If()] as rest,
                ):
                    kinds.add(kind)
                    branch = rest[0] if rest else None
                case _:
                    return None
    return frozenset(kinds)


def takes(receipt: FunctionType | None, end: str) -> bool:
    """Return whether a function marked `@receives` receives at an end."""
    if receipt is None or end == ANY:
        return receipt is not None
    return receipt.__code__.co_argcount == (4 if end == LEADER else 3)
