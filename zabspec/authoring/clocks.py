"""Provide clocks that count down, leases, and the step in which time passes (docs/decisions/0026).

A clock is a number of a process that each tick of that process's clock decreases, down to 0. No absolute time is kept
anywhere, so time has no end and the states are finite. Clocks of processes differ by at most a declared drift; for
that, each process has how far it is ahead of the slowest. A lease is a field with a clock beside it, which ends it.

The step is an internal step of a process (`clock-ticks`), also of one that is down. Its functions are generated here
from the fields of a size, and override the world: they write what no handler may.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from types import FunctionType
from typing import cast

from zabspec.authoring.declaration import Action, Declaration, ProtocolError, Size
from zabspec.authoring.places import misdeclared
from zabspec.language.layout.kinds import Bool, Int, Kind, NodeId, SetOf
from zabspec.language.layout.place import SourcePlace
from zabspec.language.layout.schema import NODE, Field, Role
from zabspec.language.python.lang import Node, State
from zabspec.language.python.meanings import is_number
from zabspec.roles import type_name
from zabspec.worlds.steps import CONNECTIONS

AHEAD = "clock_ahead"  # of each process: by how many ticks its clock is ahead of the slowest
STEP = "clock-ticks"
MOST_DRIFT = 15
LEFT = "_left"


def clock_ticks(s: State, p: Node) -> None:
    """Advance the clock of p by one tick; the body is generated for each size."""


def clock_may_tick(s: State, p: Node) -> bool:
    """Return whether the clock of p may advance without getting too far ahead; generated for each size."""
    return False


# The functions that are written here.
CLOCK_NAMES = ("clock_all_ahead", "clock_counts", "clock_is_there", "clock_may_tick", "clock_ticks")
TICKS = Action(STEP, cast(FunctionType, clock_ticks), cast(FunctionType, clock_may_tick), "", 10)


# --- what is declared -----------------------------------------------------------------------------


def check_drift(name: str, declared: Declaration, actions: Iterable[Action]) -> None:
    """Check what a protocol declares about clocks.

    Raises:
        ProtocolError: the declaration is invalid.
    """
    drift = declared.drift
    if drift is None:
        return
    at = ("argument", "drift")
    if isinstance(drift, str):
        if drift not in declared.parameters:
            said = f"drift={drift!r} names no parameter of State: {drift.upper()}: int = parameter(..., 1)"
            raise misdeclared(name, at, said)
    elif not is_number(drift) or not 0 <= drift <= MOST_DRIFT:
        said = f"drift is 0 to {MOST_DRIFT}, the number of ticks by which clocks may differ, or the name of a parameter"
        raise misdeclared(name, at, f"{said}, not {drift!r}")
    if declared.world == CONNECTIONS:
        raise misdeclared(name, at, "clocks need datagrams: omit drift, or world")
    for a in actions:
        if a.name == STEP:
            said = f"two steps are called {STEP}, the step by which time passes: rename yours"
            raise misdeclared(name, ("function", a.function.__name__), said)


def drift_of(name: str, declared: Declaration, size: Size) -> int:
    """Return by how many ticks clocks may differ at a size.

    Raises:
        ProtocolError: by too many.
    """
    drift = declared.drift
    if isinstance(drift, str):
        amount = size.budgets.get(drift, 0)
        if amount > MOST_DRIFT:
            raise ProtocolError(f"--{drift.replace('_', '-')} {amount}: clocks differ by at most {MOST_DRIFT} ticks")
        return amount
    return drift or 0


def with_clocks(fields: Iterable[Field]) -> Iterator[Field]:
    """Yield the fields, each lease followed by its clock."""
    for f in fields:
        yield f
        if f.lasts:
            doc = f"of {f.name}: how many ticks are left"
            kind = Int(0, f.lasts, f.lasts_widen)
            yield Field(f"{f.name}{LEFT}", kind, f.role, (NODE,), doc, of=f.of, clock=True, ends=f.name)


def ahead_field(drift: int) -> Field:
    """Return the field with the number of ticks that each process's clock is ahead of the slowest."""
    return Field(AHEAD, Int(0, drift), Role.ENVIRONMENT, (NODE,), "by how many ticks its clock is ahead of the slowest")


def check_clocks(name: str, declared: Declaration, fields: Iterable[Field]) -> None:
    """Check the clocks and leases of a protocol.

    Raises:
        ProtocolError: one is invalid, or no drift is declared.
    """
    there = [f for f in fields if f.clock or f.lasts]
    for f in there:
        what, at = ("lease" if f.lasts or f.ends else "clock"), ("field", f.name)
        if declared.drift is None:
            said = "declare(..., drift=0) sets by how many ticks the clocks of processes may differ"
            raise misdeclared(name, at, f"{what} {f.name} counts ticks, but the declaration has no drift: {said}")
        if f.lasts and reset(f) is None:
            said = "a number, a truth value, a process or a set of processes, which is reset to its initial value"
            raise misdeclared(
                name, at, f"lease {f.name} is of a {type(f.kind).__name__}, but a lease can only be of {said}"
            )
    if declared.drift is not None and not there:
        said = "declare a clock(...) or lease(...) in class State"
        raise misdeclared(name, ("argument", "drift"), f"drift={declared.drift!r}, but there is no clock: {said}")


def refuse_unset(name: str, fields: Iterable[Field], assigned: Collection[str], asks: SourcePlace | None) -> None:
    """Check that every clock is set somewhere, and that no function reads how far clocks are ahead.

    Args:
        name: the protocol.
        fields: its fields.
        assigned: the fields that its functions assign to.
        asks: where a function reads how far clocks are ahead, or None.

    Raises:
        ProtocolError: a clock is never set, so that it never runs, or a function reads what no process knows.
    """
    if asks is not None:
        said = f"{name}:{asks.line}: {AHEAD} is the world's: no process knows how far its clock is ahead"
        raise ProtocolError(said, asks)
    for f in fields:
        if f.clock and f.name not in assigned:
            if f.ends:
                said = f"nothing sets s.{f.name}[p]: lease {f.ends} is given no time, so it never ends"
                raise misdeclared(name, ("field", f.ends), said)
            raise misdeclared(name, ("field", f.name), f"nothing sets s.{f.name}[p]: clock {f.name} never runs")


# --- what time does -------------------------------------------------------------------------------


def reset(f: Field) -> str | None:
    """Return the statement that resets a field of process p, or None if its kind has none."""
    kind: Kind = f.kind
    match kind:
        case NodeId():
            return f"s.{f.name}[p] = NOBODY"
        case Bool():
            return f"s.{f.name}[p] = False"
        case Int(lo=low):
            return f"s.{f.name}[p] = {low}"
        case SetOf():
            return f"s.{f.name}[p].clear()"
    return None


def clock_text(fields: Iterable[Field]) -> list[str]:
    """Return the functions of the step in which time passes, for the fields of a size."""
    by_name = {f.name: f for f in fields}
    clocks = [f for f in by_name.values() if f.clock]
    drift = by_name[AHEAD].kind if AHEAD in by_name else None
    down = ["def clock_counts(s: State, p: Node) -> None:"]
    for f in clocks:
        if f.ends:
            down += [f"    if s.{f.name}[p] == 1:", f"        {reset(by_name[f.ends])}"]
        down += [f"    if s.{f.name}[p] > 0:", f"        s.{f.name}[p] = s.{f.name}[p] - 1"]
    runs = " or ".join(f"s.{f.name}[p] > 0" for f in clocks)
    if not isinstance(drift, Int):
        may = ["def clock_may_tick(s: State, p: Node) -> bool:", f"    return {runs}"]
        ticks = ["def clock_ticks(s: State, p: Node) -> None:"]
        ticks += ["    for q in range(s.NODES):", "        clock_counts(s, q)"]
        return ["\n".join(lines) for lines in (down, may, ticks)]
    roles = dict.fromkeys(f.of for f in clocks)
    has = "True" if "" in roles else " or ".join(f"is_a(s, p, {type_name(role)})" for role in roles)
    texts = [
        down,
        ["def clock_is_there(s: State, p: Node) -> bool:", f"    return {has}"],
        [
            "def clock_may_tick(s: State, p: Node) -> bool:",
            f"    return clock_is_there(s, p) and s.{AHEAD}[p] < {drift.hi}",
        ],
        [
            "def clock_all_ahead(s: State) -> bool:",
            "    for q in range(s.NODES):",
            f"        if clock_is_there(s, q) and s.{AHEAD}[q] == 0:",
            "            return False",
            "    return True",
        ],
        [
            "def clock_ticks(s: State, p: Node) -> None:",
            f"    s.{AHEAD}[p] = s.{AHEAD}[p] + 1",
            "    if clock_all_ahead(s):",
            "        for q in range(s.NODES):",
            "            if clock_is_there(s, q):",
            f"                s.{AHEAD}[q] = s.{AHEAD}[q] - 1",
            "    clock_counts(s, p)",
        ],
    ]
    return ["\n".join(lines) for lines in texts]
