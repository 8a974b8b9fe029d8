"""The liveness of local names: against every path through small functions, and on shapes that back ends ask about."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Iterator
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zabspec.language.analysis import tree as t
from zabspec.language.analysis.liveness import Liveness, live_in
from zabspec.language.analysis.liveness import given as given_by
from zabspec.model import Configuration, Model

NAMES = ("a", "b", "c")
ROUNDS = 2  # of a loop: a path that repeats no point goes through the same statement once before its end, once after


def var(name: str) -> t.Expr:
    return t.Var(t.INT, name)


def add(*names: str) -> t.Expr:
    """An expression that reads names."""
    out: t.Expr = t.Const(t.INT, 1)
    for name in names:
        out = t.Binary(t.INT, "+", out, var(name))
    return out


def set_(name: str, *read: str) -> t.Assign:
    return t.Assign(1, name, add(*read))


def when(*read: str, then: list[t.Stmt], other: list[t.Stmt] | None = None) -> t.If:
    return t.If(1, add(*read), then, other or [])


def loop(name: str, *body: t.Stmt, stop: tuple[str, ...] = ()) -> t.For:
    return t.For(1, name, t.Const(t.INT, 0), add(*stop), list(body))


def function(*body: t.Stmt) -> t.Function:
    return t.Function("f", "f.py", 1, [], t.INT, {}, list(body))


# --- every path ----------------------------------------------------------------------------------

# a path: what happens on it, one after the other; ("read", name), ("write", name), or ("end", a statement's number)
Path = tuple[tuple[str, object], ...]
ON, OUT, AGAIN, BACK = "on", "out", "again", "back"  # where control is when statements are over


def read(e: t.Expr) -> Path:
    match e:
        case t.Var():
            return (("read", e.name),)
        case t.Binary():
            return read(e.left) + read(e.right)
    return ()


def paths(body: list[t.Stmt]) -> Iterator[tuple[Path, str]]:
    if not body:
        yield (), ON
        return
    first, rest = body[0], body[1:]
    for done, where in of_one(first):
        if where != ON:
            yield done, where
            continue
        for more, end in paths(rest):
            yield (*done, ("end", id(first)), *more), end


def of_one(s: t.Stmt) -> Iterator[tuple[Path, str]]:
    match s:
        case t.Assign():
            yield (*read(s.value), ("write", s.name)), ON
        case t.If():
            for side in (s.then, s.other):
                for done, where in paths(side):
                    yield read(s.test) + done, where
        case t.For():
            for done, where in rounds(s, (("write", s.name),), (), ROUNDS):
                yield read(s.start) + read(s.stop) + done, where
        case t.While():
            for done, where in rounds(s, (), read(s.test), ROUNDS):
                yield done, where
        case t.Return():
            yield read(s.value) if s.value is not None else (), BACK
        case t.Break():
            yield (), OUT
        case t.Continue():
            yield (), AGAIN


def rounds(s: t.For | t.While, begin: Path, asked: Path, left: int) -> Iterator[tuple[Path, str]]:
    decided: Path = (("head", id(s)), *asked)
    yield decided, ON
    if not left:
        return
    for done, where in paths(s.body):
        whole = (*decided, *begin, *done)
        if where == OUT:
            yield whole, ON
        elif where == BACK:
            yield whole, BACK
        else:
            for more, end in rounds(s, begin, asked, left - 1):
                yield (*whole, *more), end


def by_paths(f: t.Function) -> tuple[dict[int, set[str]], dict[int, set[str]]]:
    """What is live behind each statement and at the head of each loop, by following every path."""
    after: dict[int, set[str]] = {}
    heads: dict[int, set[str]] = {}
    for path, _ in paths(f.body):
        live: set[str] = set()
        for what, which in reversed(path):
            if what == "read":
                live.add(str(which))
            elif what == "write":
                live.discard(str(which))
            else:
                (after if what == "end" else heads).setdefault(which, set()).update(live)  # type: ignore[call-overload]
    return after, heads


def statements(body: list[t.Stmt]) -> Iterator[t.Stmt]:
    for s in body:
        yield s
        if isinstance(s, t.If):
            yield from statements([*s.then, *s.other])
        elif isinstance(s, (t.For, t.While)):
            yield from statements(s.body)


names = st.sampled_from(NAMES)
some = st.lists(names, max_size=2)


def blocks(depth: int, inside: bool) -> st.SearchStrategy[list[t.Stmt]]:
    kinds: list[st.SearchStrategy[t.Stmt]] = [
        st.builds(lambda n, r: set_(n, *r), names, some),
        st.builds(lambda n, r: set_(n, *r), names, some),
        st.builds(lambda r: t.Return(1, add(*r)), some),
    ]
    if inside:
        kinds += [st.builds(lambda: t.Break(1)), st.builds(lambda: t.Continue(1))]
    if depth:
        inner, looped = blocks(depth - 1, inside), blocks(depth - 1, True)
        kinds += [
            st.builds(lambda r, a, b: when(*r, then=a, other=b), some, inner, inner),
            st.builds(lambda n, r, body: loop(n, *body, stop=tuple(r)), names, some, looped),
            st.builds(lambda r, body: t.While(1, add(*r), body), some, looped),
        ]
    return st.lists(st.one_of(kinds), max_size=3)


@pytest.mark.slow(seconds=1)
@settings(max_examples=300, deadline=None)
@given(blocks(2, False))
def test_what_is_live_is_what_some_path_reads(body: list[t.Stmt]) -> None:
    f = function(*body)
    live, (after, heads) = Liveness(f), by_paths(f)
    for s in statements(f.body):
        if id(s) in after:  # control comes there
            assert live.after(s) == after[id(s)], s
        if id(s) in heads:
            assert isinstance(s, (t.For, t.While))
            assert live.head(s) == heads[id(s)], s
            assert live.carried(s) == [n for n in dict.fromkeys(given_by([s])) if n in heads[id(s)]]


# --- shapes --------------------------------------------------------------------------------------


def test_a_function_that_nobody_holds_is_freed_at_once() -> None:
    """Its answers are kept with it and hold no way back: else all that is typed waits for the collector of circles."""
    f = function(set_("a"), when("a", then=[set_("b", "a")]))
    assert live_in(f) is live_in(f)
    freed = weakref.ref(f)
    was = gc.isenabled()
    gc.disable()
    try:
        del f
        assert freed() is None
    finally:
        if was:
            gc.enable()


def test_a_copy_of_a_type_is_the_type_itself() -> None:
    """Types are compared by their addresses: a tree that was copied, or came from another process, asks as before."""
    for kind in (t.INT, t.BOOL, t.VOID, t.STATE, t.WORDS, t.BYTES):
        tree = t.Const(kind, 1)
        for made in (copy.copy(kind), copy.deepcopy(tree).type, pickle.loads(pickle.dumps(tree)).type):
            assert made is kind


# --- what a walk through a tree goes through -----------------------------------------------------


def held(e: object, through: bool) -> Iterator[int]:
    """Every node in one: through all that it holds, or through the fields of which its kind says that they may."""
    if isinstance(e, t.Node):
        yield id(e)
        for name in vars(e) if through else e.nesting:
            yield from held(getattr(e, name), through)
    elif isinstance(e, (list, tuple)):
        for part in e:
            yield from held(part, through)


def test_no_node_is_in_a_field_that_walks_pass_over() -> None:
    for protocol in ("zab", "db19", "zookeeper"):
        program = Model(Configuration(protocol=protocol, nodes=3)).program
        typed = program.typed(["enabled", "apply"])
        bodies = [f.body for f in typed.functions.values()]
        assert len(bodies) > 20
        for body in bodies:
            assert list(held(body, through=True)) == list(held(body, through=False))


def test_every_kind_of_node_says_which_of_its_fields_may_hold_nodes() -> None:
    kinds = [kind for base in (t.Expr, t.Stmt, t.Term) for kind in (base, *base.__subclasses__())]
    passed = {f.type for kind in kinds for f in fields(kind) if f.name not in kind.nesting}
    assert passed == {"int", "str", "bool", "AnyType", "Kind", "Record", "Member"}
    assert t.Memory.nesting == ("base", "terms", "state")
    assert t.Slot.nesting == ("struct", "indices")
    assert t.MakeMessage.nesting == ("parts", "state")
    assert t.For.nesting == ("start", "stop", "body")
