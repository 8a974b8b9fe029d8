"""Generate the functions between a user protocol and its world, which follow from the protocol's marks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FunctionType, MappingProxyType
from typing import Any

from zabspec.authoring.clocks import CLOCK_NAMES, TICKS, clock_text
from zabspec.authoring.declaration import Action, Declaration
from zabspec.authoring.membership import asks_member, begins_member, ends_member, membership_text
from zabspec.language.layout.bytecode import global_names
from zabspec.language.layout.kinds import MessageUnion
from zabspec.language.layout.schema import Field
from zabspec.language.python.choosing import name_of
from zabspec.language.python.sentences import MARK
from zabspec.worlds.steps import CONNECTIONS

OF_EVERY_MESSAGE = "_of_every_message"
ELECTIONS = "elections"  # the budget of elections, in protocols that have it
FAILING = ("crashes", "power_losses", "outages")  # the budgets that a failure inside a step spends


@dataclass(frozen=True)
class Marked:
    """The marks of a user protocol from which the functions between it and its world follow.

    Attributes:
        declared: the declaration.
        actions, changes: the steps of processes, and of the environment, that need no message, in the source's order.
        receipts: the function that receives each kind of message.
        hooks: for hooks of the world that roles define for themselves, the functions by the types of roles.
        receivers: for each kind of message that only one role receives, the role's type.
        choosing: the functions of steps that may choose of a set.
        initial: the function with which every run begins.
        awaits: whether a deadlock is no state in which a step waits only for its budget.
    """

    declared: Declaration
    actions: tuple[Action, ...]
    changes: tuple[Action, ...]
    receipts: Mapping[str, FunctionType]
    hooks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    receivers: Mapping[str, str] = field(default_factory=dict)
    choosing: frozenset[str] = frozenset()
    initial: Any = None  # a function, or None
    awaits: bool = False

    def beginning(self, start: str) -> list[FunctionType]:
        """Return the functions that set the state that runs begin in, in order."""
        initial = [self.initial] if self.initial is not None else []
        return [*initial, *(s.function for s in self.declared.starts if s.name == start)]


# What a process of each role may have a function of its own for, `on_start_client`, with what the others do instead.
BY_ROLE: Mapping[str, tuple[str, str]] = {
    "on_start": ("", "return"),
    "on_crash": ("", "forget(s, p)"),
    "on_recovery": ("", "return"),
    "timer_armed": ("timer", "return False"),
    "on_timer": ("timer", "return"),
}


def world_text(
    text: Marked,
    union: MessageUnion,
    down: bool,
    budgets: Iterable[str],
    start: str,
    absent: Collection[str] = (),
    fields: Iterable[Field] = (),
    members: Mapping[str, int] | None = None,
) -> str:
    """Return the source of the functions between a protocol and its world.

    Args:
        text: the marks of the protocol.
        union: its messages.
        down: whether the world tracks crashes.
        budgets: the budgets to fill.
        start: the start state; empty for the initial one.
        absent: budgets that the state does not have; a step that spends one is never possible.
        fields: the protocol's fields, at the size of the model.
        members: the initial number of members, by role; None if all processes are members for ever.
    """
    filled = [f"    s.{name}_left = s.{name.upper()}" for name in budgets]
    begin = ["    first_members(s)"] if members is not None else []
    parts = [
        "from __future__ import annotations",
        "\n".join(["def fill_budgets(s: State) -> None:", *filled, *begin, "    return"]),
    ]
    parts += dispatch("may_act", "on_act", "s: State, p: Node", "s, p", text.actions, absent, text.choosing)
    parts += dispatch("may_change", "on_change", "s: State", "s", text.changes, absent, text.choosing)
    if text.awaits:
        parts.append(awaits_budget(text, absent))
    parts += [spent(budget, text.actions) for budget in FAILING if any(a.budget == budget for a in text.actions)]
    if down:
        parts += [
            *(["def is_down(s: State, p: Node) -> bool:\n    return s.crashed[p]"] if members is None else []),
            "def went_down(s: State, p: Node) -> None:\n    if starts_at_once(s, p):\n        on_recovery(s, p)\n"
            "    else:\n        s.crashed[p] = True",
            "def came_up(s: State, p: Node) -> None:\n    s.crashed[p] = False",
        ]
    if calls := [f"    {f.__name__}(s)" for f in text.beginning(start)]:
        # what is on disks there was forced before
        end = ["    for p in range(s.NODES):", "        came_back(s, p)"]
        parts.append("\n".join(["def begin_at(s: State) -> None:", *calls, *end]))
    if text.declared.world == CONNECTIONS:
        parts += between_connections(text, union)
    elif text.receipts:
        parts.append(received("on_message", text.receipts, union, "p, source, ", text.receivers))
    parts += by_role(text.hooks)
    if members is not None:
        parts += membership_text(members, text.declared.roles, down)
        parts[0] += "\n\nfrom zabspec.language.python.lang import forget, processes"
    going_on = [f"k == {k}" for k, a in enumerate(text.actions) if a is TICKS or a.joins]
    if going_on:
        parts.append(f"def goes_on(s: State, k: int) -> bool:\n    return {' or '.join(going_on)}")
    if TICKS in text.actions:
        parts += clock_text(fields)
        parts[0] += "\n\nfrom zabspec.language.python.lang import NOBODY"
    if text.declared.roles:
        parts[0] += "\n\nfrom zabspec.language.python.lang import forget, is_a"
    return "\n\n\n".join(parts) + "\n"


def own_names(text: Marked, start: str, members: Mapping[str, int] | None) -> frozenset[str]:
    """Return the names that the generated functions use as the world's or their own, whatever a protocol means."""
    clocks = ("NOBODY", *CLOCK_NAMES) if TICKS in text.actions else ()
    begins = ("first_members",) if members is not None else ()
    return frozenset((*clocks, *begins, *(("came_back",) if text.beginning(start) else ())))


def by_role(hooks: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Yield the source of the hooks of the world that have a function per role.

    Args:
        hooks: for each hook, the function of a role by the role's type.
    """
    for hook, functions in hooks.items():
        more, otherwise = BY_ROLE[hook]
        takes, passed = (", timer: int", ", timer") if more else ("", "")
        returns = "bool" if otherwise == "return False" else "None"
        lines = [f"def {hook}(s: State, p: Node{takes}) -> {returns}:"]
        for role, function in functions.items():
            call = f"{function}(s, p{passed})"
            lines += [f"    if is_a(s, p, {role}):"]
            lines += [f"        return {call}"] if returns == "bool" else [f"        {call}", "        return"]
        yield "\n".join([*lines, f"    {otherwise}"])


def between_connections(text: Marked, union: MessageUnion) -> list[str]:
    """Return the additional functions over connections: receipts at either end, and the comparison in an election."""
    ends = [{n: f for n, f in text.receipts.items() if f.__code__.co_argcount == count} for count in (4, 3)]
    parts = []
    if ends[0]:
        parts.append(received("receive_as_leader", ends[0], union, "p, source, "))
    if ends[1]:
        parts.append(received("receive_as_follower", ends[1], union, "p, "))
    if text.declared.elects:
        asks = ["def outranks(s: State, p: Node, q: Node) -> bool:"]
        for name in text.declared.elects:
            asks += [f"    if s.{name}[p] != s.{name}[q]:", f"        return s.{name}[p] > s.{name}[q]"]
        parts.append("\n".join([*asks, "    return True"]))
        if ELECTIONS in text.declared.budgets:
            left = f"s.{ELECTIONS}_left"
            parts.append(f"def elections_left(s: State) -> bool:\n    return {left} > 0")
            parts.append(f"def spend_election(s: State) -> None:\n    {left} = {left} - 1")
    return parts


def received(
    name: str,
    receipts: Mapping[str, FunctionType],
    union: MessageUnion,
    given: str,
    receivers: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the source that passes each kind of message to its function; a process of another role ignores it."""
    processes = ", ".join(f"{p}: Node" for p in given.strip(", ").split(", "))
    lines = [f"def {name}(s: State, {processes}, m: AnyMessage) -> None:"]
    for message in union.messages:
        function = receipts.get(message.name)
        if function is not None:
            passed = given if function.__code__.co_argcount == 4 else "p, "
            role = receivers.get(message.name)
            asks = f" and is_a(s, p, {role})" if role else ""
            lines += [f"    if m.kind == {message.name}{asks}:", f"        {function.__name__}(s, {passed}m)"]
    return "\n".join([*lines, "    return"])


def asks_of_messages(function: FunctionType) -> bool:
    """Return whether a property takes messages in flight beside the state."""
    return function.__code__.co_argcount > 1 and [*function.__annotations__.values()][1:2] != ["State"]


def name_of_every(function: FunctionType) -> str:
    """Return the name of the function that evaluates a property for every message."""
    return f"{function.__name__}{OF_EVERY_MESSAGE}"


def every_message(function: FunctionType, kinds: list[str]) -> str:
    """Return the source that evaluates a property for all messages in flight, or all combinations of several."""
    lines, inside = [f"def {name_of_every(function)}(s: State) -> bool:"], "    "
    places = [f"s.in_flight[k{n}]" for n, _ in enumerate(kinds)]
    for n, kind in enumerate(kinds):
        lines.append(f"{inside}for k{n} in range(len(s.in_flight)):")
        inside += "    "
        if kind != "AnyMessage":
            lines.append(f"{inside}if {places[n]}.kind == {kind}:")
            inside += "    "
    asked = f"{function.__name__}({', '.join(['s', *places])})"
    sent = " and ".join(f"{{{m}}} from p{{{m}.source}} to p{{{m}.target}}" for m in places)
    said = f"{{{asked}}}" if MARK in global_names(function.__code__) else f"{sent} cannot be in flight"
    lines += [f"{inside}if not {asked}:", f'{inside}    return broken(f"{said}")', "    return True"]
    return "\n".join(lines)


def spent(budget: str, actions: Iterable[Action]) -> str:
    """Return the source that gives how much of a budget each internal step spends itself, by its number."""
    lines = [f"def {budget}_spent(s: State, k: int) -> int:"]
    for k, a in enumerate(actions):
        lines += [f"    if k == {k}:", "        return 1"] if a.budget == budget else []
    return "\n".join([*lines, "    return 0"])


def awaits_budget(text: Marked, absent: Collection[str]) -> str:
    """Return the source that checks whether a step would be possible if its budget were not spent."""
    up = "not is_down(s, p)"
    lines = ["def awaits_budget(s: State) -> bool:", "    for p in range(s.NODES):"]
    lines += [f"        if {up} and (timer_armed(s, p, 0) or timer_armed(s, p, 1)):", "            return True"]
    for steps, passed, inside in ((text.actions, "s, p", "        "), (text.changes, "s", "    ")):
        for a in steps:
            if a.budget and a.budget not in absent:
                first = [up] if passed != "s" and not a.joins else []
                possible = " and ".join([*first, *conditions(a, passed, text.choosing)]) or "True"
                lines += [f"{inside}if {possible}:", f"{inside}    return True"]
    return "\n".join([*lines, "    return False"])


def no_deadlock(finals: Mapping[str, str]) -> str:
    """Return the source of the property that a state without a step is one in which a run may end.

    Args:
        finals: by the name of a function that says where runs may end, what it is of: the type of a role, `Node` for
            all processes, or nothing for a state.
    """
    lines = ["def deadlock(s: State) -> bool:"]
    if not finals:
        lines += ["    if not awaits_budget(s):", '        return broken("no step is possible")']
    for name, whose in finals.items():
        if not whose:
            lines += [f"    if not {name}(s):", f'        return broken("no step is possible, and {name} is False")']
            continue
        every = "range(s.NODES)" if whose == "Node" else f"processes(s, {whose})"
        lines += [f"    for p in {every}:", f"        if not {name}(s, p):"]
        lines += [f'            return broken(f"no step is possible, and {name} is False of p{{p}}")']
    return "\n".join([*lines, "    return True"])


def conditions(a: Action, passed: str, choosing: Collection[str], left: str = "") -> list[str]:
    """Return the conditions of a step; that its budget is not spent is one only if it is given."""
    armed = f"s.{a.timer}[p]" if a.timer else ""
    when = f"{a.when.__name__}({passed})" if a.when is not None else ""
    before = a.joins or a.timer  # the step itself changes what its choice reads
    chooses = f"{name_of(a.function.__name__)}({passed})" if a.function.__name__ in choosing and not before else ""
    whose = f"is_a(s, p, {a.role})" if a.role else ""
    return [*filter(None, (whose, left, armed, asks_member(a), when, chooses))]


def dispatch(
    may: str,
    on: str,
    parameters: str,
    passed: str,
    steps: Iterable[Action],
    absent: Collection[str],
    choosing: Collection[str],
) -> list[str]:
    """Return the source of three functions: whether a step is possible, what it does, and its pace in the simulator.

    The pace is the number of ticks that the simulator leaves, on average, between two of these steps.
    """
    asks, does = [f"def {may}({parameters}, k: int) -> bool:"], [f"def {on}({parameters}, k: int) -> None:"]
    for k, a in enumerate(steps):
        if a.budget in absent:
            continue
        left = f"s.{a.budget}_left > 0" if a.budget else ""
        possible = " and ".join(conditions(a, passed, choosing, left)) or "True"
        asks += [f"    if k == {k}:", f"        return {possible}"]
        does += [f"    if k == {k}:"]
        if a.budget:
            does += [f"        s.{a.budget}_left = s.{a.budget}_left - 1"]
        if a.timer:
            does += [f"        s.{a.timer}[p] = False"]
        called = [*begins_member(a), f"{a.function.__name__}({passed})", *ends_member(a)]
        does += [f"        {statement}" for statement in called]
    often = [f"def {on}_every(s: State, k: int) -> int:"]
    often += [line for k, a in enumerate(steps) for line in (f"    if k == {k}:", f"        return {max(1, a.every)}")]
    texts = ([*asks, "    return False"], [*does, "    return"], [*often, "    return 1"])
    return ["\n".join(lines) for lines in texts]
