"""A process that has put something on its disk starts again in the step in which it crashes."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import Each, Fields, Node, Range, action, declare, on_disk, safety, volatile


class State(Fields):
    has: Each[Node, Annotated[int, Range(0, 2)]] = on_disk("what it has")
    busy: Each[Node, bool] = volatile("it has put something since it started")


@action(budget="puts")
def put(s: State, p: Node) -> None:
    s.has[p] = 1
    s.busy[p] = True


def starts_at_once(s: State, p: Node) -> bool:
    """As it is behind the crash, in which `busy` is forgotten."""
    return s.has[p] == 1 and not s.busy[p]


def on_recovery(s: State, p: Node) -> None:
    s.has[p] = 2


@safety
def not_all(s: State) -> bool:
    """Not all have started again."""
    return not all(s.has[p] == 2 for p in range(s.NODES))


PROTOCOL = declare(__name__, nodes=2, budgets={"puts": 2, "crashes": 2})
