"""Clients of an atomic broadcast: sessions, and operations that are forwarded to the leader (DSN'11, I; LADIS'08, 4).

A client has a session with one server, which forwards its operations to the leader; it issues the next without waiting
for the last. They take effect in the order in which it issued them, and those of one connection up to the first that is
lost. The broadcast is abstract: the leader appends to a history, and another may lead without what is not chosen yet.

    zabcheck --protocol example:clients
    zabcheck --protocol example:clients --variant around         a server goes on behind what it has lost
    zabcheck --protocol example:clients --variant unmoved        the leader takes what a session has left behind
    zabcheck --protocol example:clients --variant unconfirmed    a client does not wait until its session has moved
    zabcheck --protocol example:clients --variant behind         a client reads from a server that has less

The last three are rules of ZooKeeper, which neither paper has: a leader refuses an operation of a session that has
moved to another server, and a client refuses a server that is behind what it has seen.
"""

from __future__ import annotations

from typing import Annotated, NewType

from zabcheck.language import (
    NOBODY, AtMost, Each, Fields, Node, Range, RecordType, SeqOf, Size, Variant, action, any_of, broken, declare, ghost,
    observation, processes, safety, shared, stored,
)  # fmt: skip

Server = NewType("Server", Node)
Client = NewType("Client", Node)


def longest(size: Size) -> int:
    return size.operations + size.connections


Connection = Annotated[int, Range(0, lambda size: size.connections)]
Number = Annotated[int, Range(0, lambda size: size.operations)]


class Operation(RecordType):
    client: Client
    connection: Connection
    number: Number  # within the connection; 0: the connection itself


Operations = Annotated[SeqOf[Operation], AtMost(longest)]
Length = Annotated[int, Range(0, longest)]


class State(Fields):
    leader: Server = shared("who leads; nobody: the first has yet to")
    history: Operations = shared("what the leaders have appended")
    chosen: Length = shared("how much of it no leader lacks")
    owner: Each[Client, Server] = shared("as the leader knows it, the server of a session")
    confirmed: Each[Client, Connection] = shared("the latest connection that a leader has confirmed")
    forwarded: Each[Server, Operations] = shared("what is on its way from a server to the leader")
    applied: Each[Server, Length] = shared("how much of the history a server has applied")
    at: Each[Client, Server] = shared("the server to which a client is connected")
    connection: Each[Client, Connection] = stored("how often it was")
    issued: Each[Client, Number] = stored("operations that it has issued over this connection")
    seen: Each[Client, Length] = stored("the most of the history that it has read")
    back: Each[Client, bool] = ghost("it has read less than before")


# --- a client ----------------------------------------------------------------------------------------------------


@action(budget="connections")
def connect(s: State, c: Client) -> None:
    """A client connects to another server, also if it has only waited too long for the one before."""
    p = any_of(s, {p for p in processes(s, Server) if p != s.at[c] and s.leader != NOBODY and accepts(s, c, p)})
    s.at[c] = p
    s.connection[c] += 1
    s.issued[c] = 0
    s.forwarded[p].append(Operation(client=c, connection=s.connection[c], number=0))


def accepts(s: State, c: Client, p: Server) -> bool:
    return s.applied[p] >= s.seen[c]


@action(when=lambda s, c: s.at[c] != NOBODY and may_issue(s, c), budget="operations")
def issue(s: State, c: Client) -> None:
    s.issued[c] += 1
    s.forwarded[s.at[c]].append(Operation(client=c, connection=s.connection[c], number=s.issued[c]))


def may_issue(s: State, c: Client) -> bool:
    return s.confirmed[c] == s.connection[c]


@action(when=lambda s, c: s.at[c] != NOBODY and s.applied[s.at[c]] != s.seen[c])
def read(s: State, c: Client) -> None:
    reads(s, c, s.applied[s.at[c]])
    s.seen[c] = s.applied[s.at[c]]


@observation
def reads(s: State, c: Client, length: int) -> None:
    s.back[c] = s.back[c] or length < s.seen[c]


# --- servers -----------------------------------------------------------------------------------------------------


@action(when=lambda s, p: len(s.forwarded[p]) > 0)
def order(s: State, p: Server) -> None:
    """The leader takes the next of what p forwards."""
    operation = s.forwarded[p].pop(0)
    c = operation.client
    if operation.number == 0:
        s.owner[c] = p
        s.confirmed[c] = max(s.confirmed[c], operation.connection)
    elif may_take(s, p, c):
        s.history.append(operation)


def may_take(s: State, p: Server, c: Client) -> bool:
    return s.owner[c] == p


@action(when=lambda s, p: p == s.leader and s.chosen < len(s.history))
def commit(s: State, p: Server) -> None:
    s.chosen += 1


@action(when=lambda s, p: s.applied[p] < s.chosen)
def apply(s: State, p: Server) -> None:
    s.applied[p] += 1


@action(when=lambda s, p: p != s.leader and s.leader != NOBODY, budget="cuts")
def lose(s: State, p: Server) -> None:
    """p loses its connection to the leader, with what is on its way, and closes those of its clients."""
    s.forwarded[p].clear()
    for c in processes(s, Client):
        if s.at[c] == p and is_closed(s, p, c):
            s.at[c] = NOBODY


def is_closed(s: State, p: Server, c: Client) -> bool:
    return True


@action(when=lambda s, p: p != s.leader, budget="elections")
def lead(s: State, p: Server) -> None:
    """p leads from now on, with a history that has all that is chosen; all connections are closed."""
    kept = any_of(s, {k for k in range(len(s.history) + 1) if k >= s.chosen})
    s.history = s.history[:kept]
    s.leader = p
    for q in processes(s, Server):
        s.forwarded[q].clear()
    for c in processes(s, Client):
        s.at[c] = NOBODY
        s.owner[c] = NOBODY


# --- what must hold ----------------------------------------------------------------------------------------------


def follows(s: State, j: int, k: int) -> bool:
    """Whether the operation in place k may be the next of its client behind the one in place j."""
    if s.history[j].connection == s.history[k].connection:
        return s.history[k].number == s.history[j].number + 1
    return s.history[j].connection < s.history[k].connection and s.history[k].number == 1


def is_in_order(s: State, c: Client) -> bool:
    last = 0  # the place behind that of the last operation of c
    for k in range(len(s.history)):
        if s.history[k].client == c:
            if (last == 0 and s.history[k].number > 1) or (last > 0 and not follows(s, last - 1, k)):
                return False
            last = k + 1
    return True


def two_connections(s: State) -> bool:
    """Of one client there are the second operation of a connection, and one of a later connection."""
    return any(
        s.history[j].client == s.history[k].client
        and s.history[j].number == 2
        and s.history[j].connection < s.history[k].connection
        for k in range(len(s.history))
        for j in range(k)
    )


@safety(witness=two_connections)
def client_order(s: State) -> bool:
    """Operations of a client are in the order in which it issued them, those of one connection from the first on."""
    wrong = {c for c in processes(s, Client) if not is_in_order(s, c)}
    return len(wrong) == 0 or broken(f"the operations of {wrong} are not in the order of issue")


def reads_and_moves(s: State) -> bool:
    """A client that has read something is connected to another server than the leader."""
    return any(
        s.seen[c] > 0 and s.connection[c] > 1 and s.at[c] not in (NOBODY, s.leader) for c in processes(s, Client)
    )


@safety(witness=reads_and_moves)
def never_back(s: State) -> bool:
    """A client never reads less of the history than before."""
    back = {c for c in processes(s, Client) if s.back[c]}
    return len(back) == 0 or broken(f"{back} read less than before")


# --- with one rule changed ---------------------------------------------------------------------------------------


def stays_open(s: State, p: Server, c: Client) -> bool:
    return False


def takes_all(s: State, p: Server, c: Client) -> bool:
    return True


def accepts_all(s: State, c: Client, p: Server) -> bool:
    return True


def at_once(s: State, c: Client) -> bool:
    return True


PROTOCOL = declare(
    __name__,
    roles={"server": 2, "client": 1},
    budgets={"connections": 3, "operations": 3, "cuts": 1, "elections": 2},
    variants=[
        Variant("around", "a server goes on behind what it has lost", {"is_closed": stays_open}),
        Variant("unmoved", "the leader takes what a session has left behind", {"may_take": takes_all}),
        Variant("unconfirmed", "a client issues before its session has moved", {"may_issue": at_once}),
        Variant("behind", "a client reads from a server that has less", {"accepts": accepts_all}),
    ],
)
