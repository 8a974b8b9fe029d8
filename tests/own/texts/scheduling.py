"""Clients request sets of resources, and get them one by one, in the order of a schedule."""

from __future__ import annotations

from typing import Annotated, NewType

from zabcheck.language import (
    NOBODY, AtMost, Each, Fields, Node, SeqOf, action, any_of, declare, processes, progress, safety, shared,
)  # fmt: skip

Client = NewType("Client", Node)
Resource = NewType("Resource", Node)
Allocator = NewType("Allocator", Node)


class State(Fields):
    wants: Each[Client, set[Resource]] = shared("what it has requested, and has not got")
    has: Each[Client, set[Resource]] = shared("what it has")
    schedule: Annotated[SeqOf[Client], AtMost(lambda size: size.client)] = shared("who is served in which order")


@action(when=lambda s, p: len(s.wants[p] | s.has[p]) == 0, fair=False)
def request(s: State, p: Client) -> None:
    for _ in range(s.RESOURCE):
        s.wants[p].add(any_of(s, Resource))


def gets(s: State, r: Resource) -> Client:
    """Who may have it: the first in the schedule who wants it, if no client has it."""
    if any(r in s.has[c] for c in processes(s, Client)):
        return NOBODY
    for c in s.schedule:
        if r in s.wants[c]:
            return c
    return NOBODY


@action
def allocate(s: State, p: Client) -> None:
    r = any_of(s, {r for r in processes(s, Resource) if gets(s, r) == p})
    s.has[p].add(r)
    s.wants[p].discard(r)
    if len(s.wants[p]) == 0:
        s.schedule = [c for c in s.schedule if c != p]


@action(when=lambda s, p: len(s.wants[p]) == 0)
def give_back(s: State, p: Client) -> None:
    s.has[p] -= {any_of(s, s.has[p])}


@action(fair=False)
def give_back_early(s: State, p: Client) -> None:
    s.has[p] -= {any_of(s, s.has[p])}


def waits(s: State, p: Client) -> bool:
    return len(s.wants[p]) > 0 and p not in s.schedule


@action
def plan(s: State, p: Allocator) -> None:
    """Add all that wait, in any order."""
    s.schedule += [any_of(s, {c for c in processes(s, Client) if waits(s, c)})]
    for _ in range(s.CLIENT):
        rest = {c for c in processes(s, Client) if waits(s, c)}
        if len(rest) > 0:
            s.schedule += [any_of(s, rest)]


@safety
def exclusive(s: State) -> bool:
    """No resource is of two clients."""
    return sum(len(s.has[c]) for c in processes(s, Client)) <= s.RESOURCE


@progress
def satisfied(s: State, p: Client) -> bool:
    """A client gets all that it has requested."""
    return len(s.wants[p]) > 0


@progress
def returned(s: State, p: Client) -> bool:
    """What a client has it returns."""
    return len(s.has[p]) > 0


PROTOCOL = declare(__name__, roles={"client": 3, "resource": 2, "allocator": 1})
