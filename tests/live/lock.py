"""A lock as a user protocol, and one whose client never gives it back."""

from __future__ import annotations

LOCK = '''"""A lock: whoever wants it waits, whoever has it lets it go."""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import (
    Each, Fields, MessageType, Node, OneOf, Variant, action, broken, declare, progress, receives, safety, send,
    stored, volatile,
)

FREE, WAITING, HOLDING = range(3)


class ASK(MessageType): ...


class GRANT(MessageType): ...


class RELEASE(MessageType): ...


class State(Fields):
    taken: Each[Node, bool] = stored("of the server: somebody has it")
    mode: Each[Node, Annotated[int, OneOf("FREE", "WAITING", "HOLDING")]] = volatile("of a client")


def may_ask(s: State, p: Node) -> bool:
    return p != 0 and s.mode[p] == FREE


@action(when=may_ask, fair=False)
def ask(s: State, p: Node) -> None:
    s.mode[p] = WAITING
    send(s, p, 0, ASK())


@receives
def on_ask(s: State, p: Node, source: Node, m: ASK) -> None:
    if not s.taken[p]:
        s.taken[p] = True
        send(s, p, source, GRANT())


@receives
def on_grant(s: State, p: Node, m: GRANT) -> None:
    s.mode[p] = HOLDING


def holds(s: State, p: Node) -> bool:
    return s.mode[p] == HOLDING


@action(when=holds)
def let_go(s: State, p: Node) -> None:
    s.mode[p] = FREE
    send(s, p, 0, RELEASE())


@receives
def on_release(s: State, p: Node, m: RELEASE) -> None:
    s.taken[p] = False


def someone_holds(s: State) -> bool:
    """Somebody holds the lock."""
    return s.mode[1] == HOLDING


@safety(witness=someone_holds)
def one_holder(s: State) -> bool:
    """One process holds the lock."""
    if s.NODES > 2 and s.mode[1] == HOLDING and s.mode[2] == HOLDING:
        return broken("two do")
    return True


@progress
def served(s: State, p: Node) -> bool:
    """Whoever asks for the lock gets it."""
    return s.mode[p] == WAITING


PROTOCOL = declare(__name__, nodes=2, network="fifo")
'''
MODE = 'volatile("of a client")'
# A client that lets the lock go tells nobody; meanwhile the server goes on by itself, for ever.
FORGETS = (
    LOCK.replace("    s.mode[p] = FREE\n    send(s, p, 0, RELEASE())", "    s.mode[p] = FREE")
    .replace(MODE, f'{MODE}\n    tick: Each[Node, bool] = volatile("of the server")')
    .replace(
        "def holds(s: State, p: Node)",
        """def is_server(s: State, p: Node) -> bool:
    return p == 0


@action(when=is_server)
def goes_on(s: State, p: Node) -> None:
    s.tick[p] = not s.tick[p]


def holds(s: State, p: Node)""",
    )
)
