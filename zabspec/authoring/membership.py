"""Support processes that join and leave (docs/decisions/0029): their declaration, and the world's fields.

`declare(..., members=2)` gives the number of initial members, `@joins` marks what another process does when it joins,
and `@leaves` what a member does last. A process that is no member is down. Each joins at most once and leaves at most
once, so that no process number stands for two machines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import FunctionType

from zabspec.authoring.alternatives import CHOICES
from zabspec.authoring.declaration import Action, Declaration, Size
from zabspec.authoring.places import about, misdeclared
from zabspec.language.layout.bytecode import global_names
from zabspec.language.layout.kinds import SetOf
from zabspec.language.layout.schema import Field, Role
from zabspec.language.python.meanings import is_number
from zabspec.roles import type_name
from zabspec.worlds.steps import CONNECTIONS

MEMBERS, DEPARTED = "members", "departed"  # who is one now; who was one, and never will be again
WITHOUT = "a protocol whose members change has none of these"


# --- what is declared -----------------------------------------------------------------------------


def check_membership(
    name: str, declared: Declaration, actions: Iterable[Action], functions: Mapping[str, FunctionType]
) -> None:
    """Check what a protocol declares about members.

    Raises:
        ProtocolError: the declaration is invalid.
    """
    marked = [a for a in actions if a.joins or a.leaves]
    given, at = declared.members, ("argument", "members")
    if given is None:
        for a in marked:
            said = "declare(..., members=2) sets how many processes are initially members"
            mark = "@joins" if a.joins else "@leaves"
            raise misdeclared(name, ("function", a.function.__name__), f"{a.name} is marked {mark}: {said}")
        return
    if bool(declared.roles) != isinstance(given, Mapping):
        said = 'members={"server": 2}, of roles' if declared.roles else "members=2, as there are no roles"
        raise misdeclared(name, at, f"members={given!r}: write {said}")
    for role, count in (begun_with(declared) or {}).items():
        if role and role not in declared.roles:
            raise misdeclared(name, at, f"members: there is no role {role!r}; there are {', '.join(declared.roles)}")
        if not is_number(count) or count < 0:
            raise misdeclared(name, at, f"members is the number of initial members, not {count!r}")
    if not marked:
        raise misdeclared(name, at, f"members={given!r}, but nothing is marked @joins or @leaves")
    for what, there in (
        ('world="connections"', declared.world == CONNECTIONS),
        ("transactions", declared.transactions),
        ("a function is_down", "is_down" in functions),
    ):
        if there:
            raise misdeclared(name, at, f"members and {what}: {WITHOUT}, or omit members")


def begun_with(declared: Declaration) -> Mapping[str, int] | None:
    """Return the initial number of members by role, with "" for all processes; None if members do not change."""
    given = declared.members
    return given if given is None or isinstance(given, Mapping) else {"": given}


def check_counts(name: str, declared: Declaration, size: Size) -> None:
    """Check that no more processes are initially members than there are.

    Raises:
        ProtocolError: more are.
    """
    for role, count in (begun_with(declared) or {}).items():
        there = size.budgets[role] if role else size.nodes
        if count > there:
            said = f"{count} initial members, but there are {there} processes"
            raise misdeclared(name, ("argument", "members"), f"{said}{f' of role {role}' if role else ''}")


def member_fields(nodes: int) -> tuple[Field, ...]:
    """Return the fields for the current members, and for those that have left."""
    kind, around = SetOf(nodes, nodes=True), Role.ENVIRONMENT
    return (
        Field(MEMBERS, kind, around, (), "the processes that are members"),
        Field(DEPARTED, kind, around, (), "those that have left"),
    )


def check_sizes(name: str, fields: Iterable[Field], begins: Iterable[FunctionType]) -> None:
    """Check the fields and start functions of a protocol with members.

    Args:
        name: the protocol.
        fields: its fields.
        begins: the functions that run for every process initially.

    Raises:
        ProtocolError: a field has a name of the world's, or is on a disk; or a process that may be no member sends or
            chooses when it starts.
    """
    for f in fields:
        if f.name in (MEMBERS, DEPARTED):
            raise misdeclared(name, ("field", f.name), f"field {f.name}: the world has one: rename it")
        if f.disk:
            raise misdeclared(name, ("field", f.name), f"{f.name} is on a disk: {WITHOUT}, or omit members")
    for function in begins:
        if not global_names(function.__code__).isdisjoint({"send", *CHOICES}):
            said = "on_start runs for every process, member or not, and cannot send: a member starts with an action"
            raise about(function, f"{said}, and one that joins in @joins", name)


# --- what the world does --------------------------------------------------------------------------


def membership_text(counts: Mapping[str, int], roles: Iterable[str], down: bool) -> list[str]:
    """Return the functions that make a process down that is no member.

    Args:
        counts: the initial number of members by role, with "" for all.
        roles: all roles.
        down: whether processes crash.
    """
    begins = ["def first_members(s: State) -> None:"]
    for role in roles or ("",):
        through = f"processes(s, {type_name(role)})" if role else "range(s.NODES)"
        if role in counts:
            begins += ["    k = 0", f"    for p in {through}:", f"        if k < {counts[role]}:"]
            begins += [f"            s.{MEMBERS}.add(p)", "        k = k + 1"]
        else:
            begins += [f"    for p in {through}:", f"        s.{MEMBERS}.add(p)"]
    crashed = "s.crashed[p] or " if down else ""
    return [
        "\n".join(begins),
        f"def is_down(s: State, p: Node) -> bool:\n    return {crashed}p not in s.{MEMBERS}",
        f"def may_recover(s: State, p: Node) -> bool:\n    return p in s.{MEMBERS}",
    ]


def asks_member(a: Action) -> str:
    """Return the condition for a process to join; that a leaving member is up is a condition of any action."""
    return f"p not in s.{MEMBERS} and p not in s.{DEPARTED}" if a.joins else ""


def begins_member(a: Action) -> list[str]:
    """Return the statements before the function of an action."""
    return [f"s.{MEMBERS}.add(p)"] if a.joins else []


def ends_member(a: Action) -> list[str]:
    """Return the statements after the function of an action."""
    return ["forget(s, p)", f"s.{MEMBERS}.discard(p)", f"s.{DEPARTED}.add(p)"] if a.leaves else []
