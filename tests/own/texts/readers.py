"""Readers and writers in a fair queue: who asks waits behind all who asked before."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import AtMost, Fields, Node, RecordType, SeqOf, action, declare, progress, safety, shared


class Ask(RecordType):
    who: Node
    writes: bool


class State(Fields):
    readers: set[Node] = shared("who reads")
    writers: set[Node] = shared("who writes")
    waiting: Annotated[SeqOf[Ask], AtMost(lambda size: 2 * size.nodes)] = shared("who waits, and to do what")


@action(when=lambda s, p: not any(a.who == p and not a.writes for a in s.waiting), fair=False)
def ask_to_read(s: State, p: Node) -> None:
    s.waiting += [Ask(who=p, writes=False)]


@action(when=lambda s, p: not any(a.who == p and a.writes for a in s.waiting), fair=False)
def ask_to_write(s: State, p: Node) -> None:
    s.waiting += [Ask(who=p, writes=True)]


def is_next(s: State, p: Node) -> bool:
    first = len(s.waiting) > 0 and s.waiting[0].who == p
    return first and len(s.writers) == 0 and (not s.waiting[0].writes or len(s.readers) == 0)


@action(when=is_next)
def enter(s: State, p: Node) -> None:
    first = s.waiting.pop(0)
    if first.writes:
        s.writers.add(p)
    else:
        s.readers.add(p)


@action(when=lambda s, p: p in s.readers | s.writers)
def stop(s: State, p: Node) -> None:
    if p in s.readers:
        s.readers.discard(p)
    else:
        s.writers.discard(p)


def both_ask(s: State) -> bool:
    """One writes while another waits."""
    return len(s.writers) > 0 and len(s.waiting) > 0


@safety(witness=both_ask)
def exclusion(s: State) -> bool:
    """Who writes is alone."""
    return len(s.writers) == 0 or (len(s.readers) == 0 and len(s.writers) == 1)


@progress
def waits_to_read(s: State, p: Node) -> bool:
    """Who asks to read does."""
    return any(a.who == p and not a.writes for a in s.waiting)


@progress
def waits_to_write(s: State, p: Node) -> bool:
    """Who asks to write does."""
    return any(a.who == p and a.writes for a in s.waiting)


PROTOCOL = declare(__name__)
