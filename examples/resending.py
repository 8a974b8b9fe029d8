"""Fair-lossy links with resending: the channels that DSN'11, II asks for, from datagrams.

A datagram overtakes others, is lost, or arrives twice. A sender numbers what it sends within a connection, and resends
what is not acknowledged; a receiver takes the next number of the connection, and refuses an older connection. So it
takes what was sent (integrity), in that order from the first on (prefix), of one connection at a time (single
iteration). If a link loses only some of what is sent again and again, everything sent is taken in the end.

    zabcheck --protocol example:resending --drops 1 --duplicates 1
    zabcheck --protocol example:resending --drops 1 --variant gaps             takes what comes
    zabcheck --protocol example:resending --duplicates 1 --variant again       takes a number twice
    zabcheck --protocol example:resending --variant stale                      takes from an older connection
"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each, Fields, MessageType, Node, Range, Variant, action, broken, declare, ghost, observation, receives, safety,
    send, stored,
)  # fmt: skip

Number = Annotated[int, Range(0, lambda size: size.puts)]
Connection = Annotated[int, Range(0, lambda size: size.openings)]


class DATA(MessageType):
    connection: Connection
    number: Number


class ACK(MessageType):
    connection: Connection
    number: Number


class State(Fields):
    connection: Each[Node, Connection] = stored("connections that it has opened, as a sender")
    sent: Each[Node, Number] = stored("messages that it has sent over the last one")
    acknowledged: Each[Node, Number] = stored("of these, how many are acknowledged")
    source: Each[Node, Connection] = stored("the connection that it takes messages of, as a receiver")
    taken: Each[Node, Number] = stored("messages of it that it has taken")
    last_connection: Each[Node, Connection] = ghost("of the last message taken")
    last_number: Each[Node, Number] = ghost("of the last message taken")
    wrong: Each[Node, bool] = ghost("it has taken another message than the next")


def receiver(s: State, p: Node) -> int:
    """Each sends to the next process."""
    return (p + 1) % s.NODES


@action(budget="puts")
def put(s: State, p: Node) -> None:
    s.sent[p] += 1
    send(s, p, receiver(s, p), DATA(connection=s.connection[p], number=s.sent[p]))


@action(when=lambda s, p: s.acknowledged[p] < s.sent[p], budget="resends")
def resend(s: State, p: Node) -> None:
    """The oldest message without an acknowledgement is sent again."""
    send(s, p, receiver(s, p), DATA(connection=s.connection[p], number=s.acknowledged[p] + 1))


@action(budget="openings")
def reopen(s: State, p: Node) -> None:
    """What is not acknowledged is given up, with the connection."""
    s.connection[p] += 1
    s.sent[p] = 0
    s.acknowledged[p] = 0


@receives
def on_data(s: State, p: Node, q: Node, m: DATA) -> None:
    if is_newer(s, p, m):
        s.source[p] = m.connection
        s.taken[p] = 0
    if m.connection == s.source[p] and is_next(s, p, m):
        s.taken[p] = m.number
        takes(s, p, m.connection, m.number)
    if m.connection == s.source[p]:
        send(s, p, q, ACK(connection=m.connection, number=s.taken[p]))


def is_newer(s: State, p: Node, m: DATA) -> bool:
    return m.connection > s.source[p]


def is_next(s: State, p: Node, m: DATA) -> bool:
    return m.number == s.taken[p] + 1


@receives
def on_ack(s: State, p: Node, m: ACK) -> None:
    if m.connection == s.connection[p]:
        s.acknowledged[p] = max(s.acknowledged[p], m.number)


@observation
def takes(s: State, p: Node, connection: int, number: int) -> None:
    """p takes a message: the next one of a connection, or the first one of a later connection."""
    if connection == s.last_connection[p]:
        s.wrong[p] = s.wrong[p] or number != s.last_number[p] + 1
    else:
        s.wrong[p] = s.wrong[p] or connection < s.last_connection[p] or number != 1
    s.last_connection[p] = connection
    s.last_number[p] = number


# --- what must hold --------------------------------------------------------------------------------


def second_of_second(s: State) -> bool:
    """A process has taken the second message of a later connection."""
    return any(s.last_connection[p] > 0 and s.last_number[p] > 1 for p in range(s.NODES))


@safety(witness=second_of_second)
def fifo_of_one_connection(s: State) -> bool:
    """What is taken are the first messages of a connection, in the order of sending, and then those of a later one."""
    wrong = {p for p in range(s.NODES) if s.wrong[p]}
    return len(wrong) == 0 or broken(f"{wrong} took another message than the next")


def both_taken(s: State) -> bool:
    """An acknowledgement of two messages has arrived."""
    return any(s.acknowledged[p] > 1 for p in range(s.NODES))


@safety(witness=both_taken)
def acknowledged_is_taken(s: State) -> bool:
    """What a sender has as acknowledged, the receiver has taken."""
    return all(
        s.acknowledged[p] <= s.last_number[receiver(s, p)] or s.connection[p] != s.last_connection[receiver(s, p)]
        for p in range(s.NODES)
    )


# --- with one rule changed -------------------------------------------------------------------------


def is_later(s: State, p: Node, m: DATA) -> bool:
    """A gap is no reason to wait."""
    return m.number > s.taken[p]


def is_no_earlier(s: State, p: Node, m: DATA) -> bool:
    """The last number is taken once more."""
    return m.number == s.taken[p] + 1 or m.number == s.taken[p]


def is_another(s: State, p: Node, m: DATA) -> bool:
    """Any other connection is the next one."""
    return m.connection != s.source[p]


PROTOCOL = declare(
    __name__,
    nodes=2,
    budgets={"puts": 3, "resends": 1, "openings": 1, "drops": 0, "duplicates": 0},
    flight=lambda size: 2 * (size.puts + size.resends + size.duplicates),
    variants=[
        Variant("gaps", "takes what comes", {"is_next": is_later}, rule="on_data"),
        Variant("again", "takes a number twice", {"is_next": is_no_earlier}, rule="on_data"),
        Variant("stale", "takes from an older connection", {"is_newer": is_another}, rule="on_data"),
    ],
)
