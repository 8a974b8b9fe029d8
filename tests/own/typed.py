"""What mypy knows of a protocol's state, messages and marks: checked where mypy is run, and never executed.

An editor's completion and its jump to a definition rest on the same types. Each `type: ignore` below stands where a
mistake is reported: mypy says so, too, when one of them is not needed any more.
"""

from __future__ import annotations

from typing import NewType, assert_type

import tpc as start
from zabcheck.language import (
    NOBODY, Each, Fields, MessageType, Node, RecordType, SeqOf, Txn, action, any_of, only, processes, receives, safety,
    send,
)  # fmt: skip

Client = NewType("Client", Node)
Server = NewType("Server", Node)


class Entry(RecordType):
    term: int
    value: int


class PUT(MessageType):
    entry: Entry
    owner: Client


class State(Fields):
    holder: Each[Server, Client]
    waiting: Each[Server, set[Client]]
    log: Each[Server, SeqOf[Entry]]
    acks: Each[Server, Each[int, set[Server]]]
    now: int
    SERVER: int


def fields(s: State, p: Server, c: Client, m: PUT) -> None:
    assert_type(s.holder[p], Client)
    assert_type(s.waiting[p], set[Client])
    assert_type(s.log[p][0].term, int)
    assert_type(s.acks[p][0], set[Server])
    assert_type(s.log[p].pop(0), Entry)
    s.log[p] = [*s.log[p][1:], Entry(term=1, value=1)]
    s.log[p] += s.log[p][1:]
    s.log[p] = [Entry(term=1, value=1)]
    assert_type(s.now + s.SERVER + s.NODES, int)
    assert_type(m.entry, Entry)
    assert_type(m.entry < Entry(term=1, value=2), bool)
    assert_type(only(s, Server), Server)
    assert_type(any_of(s, Client), Client)
    assert_type(any_of(s, {q for q in processes(s, Client) if q != c}), Client)
    assert_type(Txn(epoch=1, counter=1, value=1).counter, int)
    s.holder[p] = NOBODY
    send(s, p, c, PUT(entry=Entry(term=1, value=1), owner=c))
    for q in processes(s, Client):
        assert_type(q, Client)


def mistakes(s: State, p: Server, c: Client) -> None:
    s.missing = 1  # type: ignore[attr-defined]
    s.holder[c] = c  # type: ignore[index]
    s.holder[p] = p  # type: ignore[assignment]
    s.log[p] = [1]  # type: ignore[list-item]
    PUT(entry=1, owner=c)  # type: ignore[arg-type]
    PUT(owner=c)  # type: ignore[call-arg]
    Entry(term=True, valeu=1)  # type: ignore[call-arg]


def is_free(s: State, p: Server) -> bool:
    return s.holder[p] == NOBODY


@action(when=is_free)
def of_its_role(s: State, p: Server) -> None: ...


@receives  # type: ignore[type-var]
def gives_something_back(s: State, p: Server, m: PUT) -> int:
    return m.entry.term


@safety(witness=is_free)  # type: ignore[type-var]
def says_nothing(s: State) -> int:
    return s.now


def start_file(s: start.State, p: Node, m: start.VOTE) -> None:
    """What `zabcheck init` writes."""
    assert_type(s.agreed[p], set[Node])
    assert_type(m.yes, bool)
    assert_type(s.begins_left, int)
