"""Steps put together, or put in an order, against the text that has each by itself: what can be seen is the same.

Seen of a state: every store on every disk, what was observed, and the tree of each server that serves; and of each
server that looks for a leader, by itself, what it has in memory. It says nothing of budgets, of packets, and of servers
that follow or lead and do not serve yet. Both texts are explored from state to state without symmetry; what is seen in
one has to be seen in the other. So a step that is merged with another, or taken first, hides nothing that a property
asks about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from checker.explore.compiled import Compiled
from zabspec.language.layout.schema import Role
from zabspec.limits import Deadline
from zabspec.model import Configuration, Model
from zabspec.zookeeper.state import IDLE, SERVING

MEMORY = ("tree", "last_processed", "committed_log")


@dataclass(frozen=True)
class Compared:
    """What came of it.

    Attributes:
        states: of the one text and of the other.
        seen: how many different things are seen of the one.
        hidden: what is seen of the one and not of the other.
        added: what is seen of the other alone.
        complete: every state of both was looked at.
    """

    states: tuple[int, int]
    seen: int
    hidden: frozenset[bytes]
    added: frozenset[bytes]
    complete: bool

    @property
    def alike(self) -> bool:
        return self.complete and not self.hidden and not self.added


def looks(code: Compiled, besides: frozenset[str]) -> Callable[[bytes], list[bytes]]:
    """What is seen of a state: of all servers together, and of each that looks for a leader."""
    layout, nodes = code.layout, range(code.model.configuration.nodes)
    of = {f.name: list(layout.elements(f.name)) for f in layout.schema.fields}
    fields = layout.fields
    unseen = besides | {"crashed"}
    lasts = [f for f in layout.schema.fields if f.role in (Role.PERSISTENT, Role.GHOST) and f.name not in unseen]
    joint = [(at, f.kind.size) for f in lasts for _, at in of[f.name]]
    phase = [layout.offset("phase", p) for p in nodes]
    tree = [(layout.offset("tree", p), fields["tree"].kind.size) for p in nodes]
    memory = [[(layout.offset(name, p), fields[name].kind.size) for name in MEMORY] for p in nodes]
    crashed = [layout.offset("crashed", p) for p in nodes] if "crashed" in fields else None

    def look(state: bytes) -> list[bytes]:
        together = [state[at : at + n] for at, n in joint]
        out = []
        for p in nodes:
            at, n = tree[p]
            together.append(state[at : at + n] if state[phase[p]] == SERVING else b"-")
            if state[phase[p]] == IDLE and not (crashed and state[crashed[p]]):
                out.append(b"%d" % p + b"".join(state[a : a + k] for a, k in memory[p]))
        return [*out, b"|".join(together)]

    return look


def all_seen(configuration: Configuration, end: Deadline, besides: frozenset[str]) -> tuple[int, set[bytes], bool]:
    """What is seen of every state: how many states, what, and whether that is all."""
    code = Compiled(Model(configuration), (), False)
    size, look = code.layout.size, looks(code, besides)
    first = code.model.program.initial().key()
    known, level, seen = {first}, [first], set(look(first))
    while level:
        following: list[bytes] = []
        for state in level:
            if end.over():
                return len(known), seen, False
            for _, after in code.next_states(state):
                new = after[:size]
                if new not in known:
                    known.add(new)
                    following.append(new)
                    seen.update(look(new))
        level = following
    return len(known), seen, True


def compare(
    split: Configuration, merged: Configuration, seconds: float = float("inf"), besides: frozenset[str] = frozenset()
) -> Compared:
    """Whether as much is seen of one text as of another.

    Args:
        besides: fields that are not looked at.
        seconds: how long it may take; then nothing is said.
    """
    end = Deadline(seconds)
    one, there, whole = all_seen(split, end, besides)
    other, here, all_of_it = all_seen(merged, end, besides)
    return Compared((one, other), len(there), frozenset(there - here), frozenset(here - there), whole and all_of_it)
