"""Peterson's lock for N processes (the filter).

Peterson, *Myths about the mutual exclusion problem*, 1981, with N processes and N - 1 levels.

- A process is idle, claims a level, waits at it, or is inside; `level` is 0 when it is idle. `last[l]` is the process
  that came to level l last (nobody, at first).
- **climb**: an idle process claims level 1.
- **mark**: a process that claims level l becomes `last[l]`, and waits.
- **pass**: a process that waits at level l, and is not `last[l]`, or no other process is at level l or above, claims
  the next level; at level N - 1 it is inside.
- **leave**: a process that is inside becomes idle.

At most one is inside. N = 3: 356 states; 6: 2,111,008.
"""

from __future__ import annotations

from typing import Annotated

from zabcheck.language import Each, Fields, Node, OneOf, Range, any_of, declare, environment, environment_step, safety

IDLE, CLAIMING, WAITING, INSIDE = range(4)

Phase = Annotated[int, OneOf("IDLE", "CLAIMING", "WAITING", "INSIDE")]
Level = Annotated[int, Range(0, lambda size: size.nodes - 1)]


class State(Fields):
    phase: Each[Node, Phase] = environment("what a process does")
    level: Each[Node, Level] = environment("the level that it claims or waits at")
    last: Each[Level, Node] = environment("who came to a level last")


@environment_step
def climb(s: State) -> None:
    p = any_of(s, {p for p in range(s.NODES) if s.phase[p] == IDLE})
    s.phase[p] = CLAIMING
    s.level[p] = 1


@environment_step
def mark(s: State) -> None:
    p = any_of(s, {p for p in range(s.NODES) if s.phase[p] == CLAIMING})
    s.phase[p] = WAITING
    s.last[s.level[p]] = p


def may_pass(s: State, p: Node) -> bool:
    ahead = any(q != p and s.level[q] >= s.level[p] for q in range(s.NODES))
    return s.phase[p] == WAITING and (s.last[s.level[p]] != p or not ahead)


@environment_step(name="pass")
def pass_level(s: State) -> None:
    p = any_of(s, {p for p in range(s.NODES) if may_pass(s, p)})
    if s.level[p] == s.NODES - 1:
        s.phase[p] = INSIDE
    else:
        s.phase[p] = CLAIMING
        s.level[p] += 1


@environment_step
def leave(s: State) -> None:
    p = any_of(s, {p for p in range(s.NODES) if s.phase[p] == INSIDE})
    s.phase[p] = IDLE
    s.level[p] = 0


@safety(witness=lambda s: any(s.phase[p] == INSIDE for p in range(s.NODES)))
def one_inside(s: State) -> bool:
    """At most one process is inside."""
    return len({p for p in range(s.NODES) if s.phase[p] == INSIDE}) <= 1


PROTOCOL = declare(__name__, nodes=3)
