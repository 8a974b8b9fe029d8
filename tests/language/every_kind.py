"""A protocol whose state and messages hold every kind of value, packed tightly and across words."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    NODE, Bool, Int, MessageType, Node, NodeId, Processes, Record, Seq, State, action, declare, environment, ghost,
    receives, stored, volatile,
)  # fmt: skip

Wide = Annotated[int, Int(0, 2**40)]


class PLAIN(MessageType):
    flag: bool


class NAMED(MessageType):
    who: Node
    those: set[Node]


class HELD(MessageType):
    pair: Annotated[object, lambda size: Record("Pair", {"value": Int(0, 3), "who": NodeId.of(size.nodes)})]


class LONG(MessageType):
    first: Wide
    second: Wide
    who: Node


def state(size):
    entry = Record("Entry", {"term": Int(0, 3), "value": Int(-2, 300)}, ordered=True)
    process = NodeId.of(size.nodes)
    held = {"sure": Bool(), "who": process, "value": Int(0, 300), "those": Processes(size.nodes)}
    return [
        environment("bytes", Int(0, 255), "full words", 19),
        environment("chief", process, "a process"),
        environment("some", Processes(size.nodes), "a set"),
        environment("chain", Seq(process, 5), "processes in order"),
        environment("book", Seq(entry, 3), "records"),
        environment("many", Seq(Int(0, 1), 17), "a longer sequence"),
        environment("more", Seq(Int(0, 1), 200), "whose length takes a whole byte"),
        environment("grid", Int(0, 3), "a number of each pair", NODE, NODE),
        environment("known", Processes(size.nodes), "a set of each pair", NODE, NODE),
        environment("pairs", Seq(Record("Pair", held), 3), "records that hold processes"),
        environment("about", Record("About", held | {"n": Int(0, 5)}), "one of each pair", NODE, NODE),
        stored("word", Int(0, 2**40), "a wide number"),
        stored("votes", process, "a process of each process"),
        volatile("heard", Processes(size.nodes), "a set of each process"),
        volatile("line", Seq(process, 2), "processes of each process"),
        ghost("seen", Int(0, 5), "a number that observations write", NODE),
        ghost("last", process, "a process that observations write"),
    ]


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


PROTOCOL = declare(__name__, state=state, budgets={"turns": 1}, nodes=3)
