"""Two processes, each of which sends FIRST and then SECOND to the other, and what they do with these.

As it stands a SECOND is answered. On an ordered network a SECOND that overtakes a FIRST loses it, and with the answer
as many messages are in flight as if FIRST alone had been received, and ignored. The variants do other things.
"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each, Fields, MessageType, Node, Range, Variant, action, choose, declare, ghost, observation, on_disk, receives,
    safety, send, volatile,
)  # fmt: skip


class FIRST(MessageType): ...


class SECOND(MessageType): ...


class ANSWER(MessageType): ...


class State(Fields):
    begun: Each[Node, bool] = volatile("it has sent")
    answered: Each[Node, Annotated[int, Range(0, 3)]] = volatile("how often it was answered")
    seen: Each[Node, Annotated[int, Range(0, 2)]] = ghost("whether a SECOND was received")
    stored: Each[Node, bool] = on_disk("it has received a SECOND")


def on_start(s: State, p: Node) -> None:
    s.begun[p] = False


def may_begin(s: State, p: Node) -> bool:
    return not s.begun[p]


@action(when=may_begin, budget="begins")
def begin(s: State, p: Node) -> None:
    s.begun[p] = True
    opens(s, p)


def opens(s: State, p: Node) -> None:
    send(s, p, 1 - p, FIRST())
    send(s, p, 1 - p, SECOND())


def opens_to_itself(s: State, p: Node) -> None:
    send(s, p, p, FIRST())
    send(s, p, p, SECOND())


@receives
def on_first(s: State, p: Node, m: FIRST) -> None:
    return


def says_the_first_again(s: State, p: Node, m: FIRST) -> None:
    if s.answered[p] == 0:
        send(s, p, p, FIRST())


@receives
def on_second(s: State, p: Node, source: Node, m: SECOND) -> None:
    send(s, p, source, ANSWER())


def sends_a_first(s: State, p: Node, source: Node, m: SECOND) -> None:
    send(s, p, source, FIRST())


def passes(s: State, p: Node, source: Node, m: SECOND) -> None:
    return


def notes_it(s: State, p: Node, source: Node, m: SECOND) -> None:
    sees(s, p)


@observation
def sees(s: State, p: Node) -> None:
    """A SECOND was received."""
    s.seen[p] = 1


def keeps_it(s: State, p: Node, source: Node, m: SECOND) -> None:
    s.stored[p] = True


def chooses(s: State, p: Node, source: Node, m: SECOND) -> None:
    if choose(s, 2) == 1:
        send(s, p, source, ANSWER())


def changes_its_mind(s: State, p: Node, source: Node, m: SECOND) -> None:
    s.answered[p] = s.answered[p] + 1
    s.answered[p] = s.answered[p] - 1


@receives
def on_answer(s: State, p: Node, m: ANSWER) -> None:
    s.answered[p] = min(s.answered[p] + 1, 3)


def counts_firsts(s: State, p: Node, m: FIRST) -> None:
    if s.begun[p]:
        s.answered[p] = min(s.answered[p] + 1, 3)


def someone_began(s: State) -> bool:
    """Somebody has begun."""
    return s.begun[0] or s.begun[1]


@safety(witness=someone_began)
def nobody_is_answered(s: State) -> bool:
    """Nobody is answered."""
    return s.answered[0] == 0 and s.answered[1] == 0


@safety(witness=someone_began)
def not_thrice(s: State) -> bool:
    """Nobody is answered three times."""
    return s.answered[0] < 3 and s.answered[1] < 3


@safety(witness=someone_began)
def nothing_seen(s: State) -> bool:
    """Nobody has seen a SECOND."""
    return s.seen[0] == 0 and s.seen[1] == 0


@safety(witness=someone_began)
def nothing_stored(s: State) -> bool:
    """Nobody has stored anything."""
    return not s.stored[0] and not s.stored[1]


@safety(witness=someone_began)
def nothing_ahead(s: State, m: SECOND) -> bool:
    """Ahead of every SECOND in flight there is a message."""
    return m.ahead > 0


PROTOCOL = declare(
    __name__,
    budgets={"begins": 1},
    variants=[
        Variant(
            "equal",
            "a SECOND is answered by a FIRST, which counts",
            {"on_second": sends_a_first, "on_first": counts_firsts},
        ),
        Variant("itself", "all goes to the sender itself", {"opens": opens_to_itself}),
        Variant(
            "again", "a FIRST to oneself is sent again", {"opens": opens_to_itself, "on_first": says_the_first_again}
        ),
        Variant("passes", "a SECOND is ignored too", {"on_second": passes}),
        Variant("ghost", "a ghost notes a SECOND", {"on_second": notes_it}),
        Variant("disk", "a SECOND goes to the disk", {"on_second": keeps_it}),
        Variant("chooses", "a SECOND is answered, or not", {"on_second": chooses}),
        Variant("back", "a SECOND is counted, and is not", {"on_second": changes_its_mind}),
    ],
    nodes=2,
)
