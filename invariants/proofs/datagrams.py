"""State facts about messages in flight of any protocol, as clauses that its author need not write."""

from __future__ import annotations

from collections.abc import Callable, Collection

from invariants.registry import STATE, Property
from zabspec.language.python.lang import NOBODY, State, broken


def sent_by_someone(s: State) -> bool:
    """Every message in flight was sent by a process."""
    return all(
        s.in_flight[k].source != NOBODY
        or broken(f"{s.in_flight[k]} is in flight from p{s.in_flight[k].source} to p{s.in_flight[k].target}")
        for k in range(len(s.in_flight))
    )


def sent_to_someone(s: State) -> bool:
    """Every message in flight was sent to a process."""
    return all(
        s.in_flight[k].target != NOBODY
        or broken(f"{s.in_flight[k]} is in flight from p{s.in_flight[k].source} to p{s.in_flight[k].target}")
        for k in range(len(s.in_flight))
    )


def sent_within_the_line(s: State) -> bool:
    """No message's place is beyond the end of its line."""
    for k in range(len(s.in_flight)):
        for p in range(s.NODES):
            for q in range(s.NODES):
                of_them = s.in_flight[k].source == p and s.in_flight[k].target == q
                if of_them and s.in_flight[k].ahead >= s.in_line[p][q]:
                    return broken(f"{s.in_flight[k]} from p{p} to p{q} is beyond the end of the line")
    return True


def line_counted(s: State) -> bool:
    """As many messages are in flight from one process to another as are in their line."""
    for p in range(s.NODES):
        for q in range(s.NODES):
            count = 0
            for k in range(len(s.in_flight)):
                if s.in_flight[k].source == p and s.in_flight[k].target == q:
                    count = count + 1
            if count != s.in_line[p][q]:
                return broken(f"{count} messages are in flight from p{p} to p{q}, and {s.in_line[p][q]} in line")
    return True


def sent_in_line(s: State) -> bool:
    """No two messages that one process sent another have one place in line."""
    for k in range(len(s.in_flight)):
        for j in range(len(s.in_flight)):
            same = s.in_flight[k].source == s.in_flight[j].source and s.in_flight[k].target == s.in_flight[j].target
            if k != j and same and s.in_flight[k].ahead == s.in_flight[j].ahead:
                return broken(f"{s.in_flight[k]} and {s.in_flight[j]} have one place in line")
    return True


def clause(holds: Callable[..., bool]) -> Property:
    name = holds.__name__.replace("_", "-")
    return Property(name, STATE, "the network", "any state", holds, holds, default=False)


# By the field of the network that each is about; all say the same of a bag in any order.
FIELDS = {
    "in_flight": (clause(sent_by_someone), clause(sent_to_someone)),
    "in_line": (clause(sent_within_the_line), clause(line_counted), clause(sent_in_line)),
}
CLAUSES = tuple(c for several in FIELDS.values() for c in several)


def beside(fields: Collection[str]) -> tuple[Property, ...]:
    """Return the clauses about a network with these fields."""
    return tuple(c for name, several in FIELDS.items() if name in fields for c in several)
