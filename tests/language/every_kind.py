"""A protocol whose state and messages hold every kind of value, packed tightly and across words."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    AtMost, Each, Fields, MessageType, Node, Range, RecordType, SeqOf, action, declare, environment, ghost,
    receives, stored, volatile,
)  # fmt: skip

Grid = Annotated[int, Range(0, 3)]
Seen = Annotated[int, Range(0, 5)]
Value = Annotated[int, Range(0, 300)]
Wide = Annotated[int, Range(0, 2**40)]


class PLAIN(MessageType):
    flag: bool


class NAMED(MessageType):
    who: Node
    those: set[Node]


class HELD(MessageType):
    pair: Short


class LONG(MessageType):
    first: Wide
    second: Wide
    who: Node


class Short(RecordType):
    value: Grid
    who: Node


class Entry(RecordType, ordered=True):
    term: Grid
    value: Annotated[int, Range(-2, 300)]


class Pair(RecordType):
    sure: bool
    who: Node
    value: Value
    those: set[Node]


class About(RecordType):
    sure: bool
    who: Node
    value: Value
    those: set[Node]
    n: Seen


class State(Fields):
    bytes: Each[Annotated[int, Range(0, 18)], Annotated[int, Range(0, 255)]] = environment("full words")
    chief: Node = environment("a process")
    some: set[Node] = environment("a set")
    chain: Annotated[SeqOf[Node], AtMost(5)] = environment("processes in order")
    book: Annotated[SeqOf[Entry], AtMost(3)] = environment("records")
    many: Annotated[SeqOf[Annotated[int, Range(0, 1)]], AtMost(17)] = environment("a longer sequence")
    more: Annotated[SeqOf[Annotated[int, Range(0, 1)]], AtMost(200)] = environment("whose length takes a whole byte")
    grid: Each[Node, Each[Node, Grid]] = environment("a number of each pair")
    known: Each[Node, Each[Node, set[Node]]] = environment("a set of each pair")
    pairs: Annotated[SeqOf[Pair], AtMost(3)] = environment("records that hold processes")
    about: Each[Node, Each[Node, About]] = environment("one of each pair")
    word: Each[Node, Annotated[int, Range(0, 1099511627776)]] = stored("a wide number")
    votes: Each[Node, Node] = stored("a process of each process")
    heard: Each[Node, set[Node]] = volatile("a set of each process")
    line: Each[Node, Annotated[SeqOf[Node], AtMost(2)]] = volatile("processes of each process")
    seen: Each[Node, Seen] = ghost("a number that observations write")
    last: Node = ghost("a process that observations write")


@action(budget="turns")
def nothing(s: State, p: Node) -> None:
    s.word[p] = 0


@receives
def on_plain(s: State, p: Node, source: Node, m: PLAIN) -> None:
    s.word[p] = 1 if m.flag else 0


@receives
def on_named(s: State, p: Node, source: Node, m: NAMED) -> None:
    s.votes[p] = m.who


@receives
def on_held(s: State, p: Node, source: Node, m: HELD) -> None:
    s.votes[p] = m.pair.who


@receives
def on_long(s: State, p: Node, source: Node, m: LONG) -> None:
    s.votes[p] = m.who


PROTOCOL = declare(__name__, budgets={"turns": 1}, nodes=3)
