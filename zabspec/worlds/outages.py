"""Define outages: all processes lose power in one step (LADIS'08, 2), between steps or within one.

What each process keeps of its writes is chosen as by `storage.py`, for all in one number: a digit of each process, the
first one's lowest, is how many of the writes that it has not forced it keeps. One that is down loses what it had not
forced before it crashed.
"""

from __future__ import annotations

from zabspec.language.python.lang import NOBODY, Node, State, Words
from zabspec.worlds.actor import crash, is_down
from zabspec.worlds.step_annotations import emit_nobodys
from zabspec.worlds.steps import OUTAGE
from zabspec.worlds.storage import came_back, choose, take_image


def fill_power_losses(s: State) -> None:
    """Fill the budgets of power losses and outages."""
    s.power_losses_left = s.POWER_LOSSES
    s.outages_left = s.OUTAGES


def outages_now(s: State) -> int:
    """Return how many outages are left."""
    return s.outages_left


def begin_outage(s: State) -> None:
    """Spend an outage."""
    s.outages_left = s.outages_left - 1


def may_lose_all(s: State, out: Words) -> None:
    """List the outage."""
    if s.outages_left > 0:
        emit_nobodys(out, OUTAGE, 0)


def ways_to_keep(s: State) -> int:
    """Return in how many ways processes keep first writes of what they have not forced."""
    ways = 1
    for q in range(s.NODES):
        ways = ways * (s.unforced[q] + 1)
    return ways


def lose_all(s: State, kept: int) -> None:
    """Let all processes lose power, in one of the ways of `ways_to_keep`."""
    rest = kept
    for q in range(s.NODES):
        ways = s.unforced[q] + 1
        if rest % ways < s.unforced[q]:
            take_image(s, q, rest % ways)
        rest = rest // ways
    for q in range(s.NODES):
        came_back(s, q)


def crash_others(s: State, p: Node) -> None:
    """Crash all processes that are up, except p."""
    for q in range(s.NODES):
        if q != p and not is_down(s, q):
            crash(s, q)


def black_out(s: State) -> None:
    """Let all processes lose power, and keep of their writes what is chosen."""
    begin_outage(s)
    lose_all(s, choose(s, ways_to_keep(s)))


def outage(s: State) -> None:
    """Let all processes lose power, and crash."""
    black_out(s)
    crash_others(s, NOBODY)
