"""What a protocol provides to the world: the handlers and guards of an actor.

A program binds these names to the functions of its protocol (`Program.load`); here they only say
what each means, so that the text of a world can be read, and checked, without a protocol.
"""

from __future__ import annotations

from zabspec.language.lang import AnyMessage, Node, State

# The roles a world knows.
ELECTION, FOLLOWING, LEADING, DOWN = 0, 1, 2, 3


def on_oracle(s: State, p: Node, l: Node) -> None:
    """The leader oracle of p, which is in ELECTION, names l."""


def receivable(s: State, p: Node, f: Node, m: AnyMessage) -> bool:
    """Whether leader p takes m, at the head of its channel from f, now."""
    return True


def receive_as_leader(s: State, l: Node, f: Node, m: AnyMessage) -> None:
    """Leader l receives m from follower f."""


def receive_as_follower(s: State, f: Node, m: AnyMessage) -> None:
    """Process f receives m from the leader it follows."""


def on_follower_lost(s: State, l: Node, f: Node) -> None:
    """Leader l learns that its connection with f is lost."""


def on_leader_lost(s: State, f: Node) -> None:
    """Process f learns that its connection to its leader is lost."""


def may_abcast(s: State, p: Node) -> bool:
    """Whether the application at p, which leads, may abcast."""
    return False


def on_abcast(s: State, p: Node) -> None:
    """The application at p abcasts a transaction."""


def may_time_out(s: State, p: Node) -> bool:
    """Whether p waits for anything that a timeout would end."""
    return True


def on_timeout(s: State, p: Node) -> None:
    """Process p has waited too long."""


def on_crash(s: State, p: Node) -> None:
    """Process p crashes; its connections are closed already."""


def on_recovery(s: State, p: Node) -> None:
    """Process p, which had crashed, starts again."""


def durable_points(s: State, m: AnyMessage) -> int:
    """How many points inside the handler of m a crash may fall at (see `durable`)."""
    return 0
