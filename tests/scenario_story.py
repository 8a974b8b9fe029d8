"""What a scenario's commands are given to, and how it shows a cluster and verdicts.

A story is a run that goes on with each command; `scenario_steps` has those of the explorer's world
and `scenario_ticks` those of the simulator.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable
from typing import ClassVar, TypeVar

from invariants.registry import Property
from traces.explain.names import history_text, process_name
from traces.record.values import value_json
from zabspec.language.layout.notation import value_text
from zabspec.language.python.reference import StateView

WIDTH = 110  # of what `check` lists


class Trouble(Exception):
    """A command that is none, or asks for what there is not: one sentence."""


Output = list[str]
Method = TypeVar("Method", bound=Callable[..., Output])

# What stands for an operand in the pattern of a command. A list of processes is one or more.
OPERANDS = {
    "P": r"(p\d)",
    "PS": r"(p\d(?:, p\d)*(?: and p\d)?)",
    "KIND": r"(\w+(?:\(.*\))?)",
    "KINDS": r"(\w+(?:, \w+)*(?: and \w+)?)",
    "N": r"(\d{1,9})",
}
CRASHES = {"crashes": "crash", "recovers": "recover"}


def command(pattern: str) -> Callable[[Method], Method]:
    """Marks what carries out the commands of a pattern; its arguments are the operands, as text."""

    def mark(method: Method) -> Method:
        made = re.sub(r"\b(?:PS?|KINDS?|N)\b", lambda m: OPERANDS[m.group()], pattern)
        method.__dict__.setdefault("patterns", []).append(re.compile(made))
        return method

    return mark


class Story:
    """A run that commands are given to."""

    nodes: int
    commands: ClassVar[list[tuple[re.Pattern[str], str]]]

    def __init_subclass__(cls) -> None:
        marked = [(name, f) for c in reversed(cls.__mro__) for name, f in vars(c).items() if hasattr(f, "patterns")]
        cls.commands = [(pattern, name) for name, f in marked for pattern in f.patterns]

    def do(self, text: str) -> Output:
        """Carry out a command.

        Raises:
            Trouble: it is none, or asks for what there is not.
        """
        for pattern, name in self.commands:
            found = pattern.fullmatch(text)
            if found:
                output: Output = getattr(self, name)(*found.groups())
                return output
        raise Trouble(f"there is no command {text!r} here")

    def process(self, name: str) -> int:
        p = int(name.removeprefix("p"))
        if p >= self.nodes:
            raise Trouble(f"there is no process {name}")
        return p

    def processes(self, names: str) -> list[int]:
        return [self.process(name) for name in re.findall(r"p\d", names)]


def verdict_lines(properties: Iterable[Property], met: Iterable[str], broken: Iterable[str]) -> Output:
    """Which properties hold, and which were not put to the test."""
    unbroken = [p.name for p in properties if p.name not in broken]
    lists = {
        "holds": [name for name in unbroken if name in met],
        "premise not reached": [name for name in unbroken if name not in met],
    }
    return [
        line
        for head, names in lists.items()
        if names
        for line in textwrap.wrap(f"{head}: {', '.join(names)}", WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    ]


# --- a state in a few words ----------------------------------------------------------------------

# The columns of a process for each protocol: a word before it, and the field.
COLUMNS = {
    "zab": (("", "role"), ("of", "leader"), ("f.p", "promised_epoch"), ("f.a", "current_epoch")),
    "ladis": (("", "role"), ("of", "leader"), ("promised", "promised_epoch"), ("leads epoch", "new_epoch")),
    "db19": (
        ("", "role"),
        ("of", "leader_id"),
        ("accepted", "accepted_epoch"),
        ("current", "current_epoch"),
        ("committed", "last_committed"),
    ),
}


def view(protocol: str, s: StateView) -> Output:
    """A line for each process: role, epochs, history, and what it has ever delivered (Delta_p)."""
    fields = s.layout.fields
    rows = []
    for p in range(s.layout.schema.nodes):
        row = [process_name(p)]
        for word, name in COLUMNS[protocol]:
            kind = fields[name].kind
            value = value_text(kind, value_json(kind, getattr(s, name)[p]))
            row.append(f"{word} {value}".strip())
        history, delivered = (value_json(fields[name].kind, getattr(s, name)[p]) for name in ("history", "delivered"))
        row += [
            f"history {history_text(history)}",
            "delivered " + (" ".join(f"t{t['value']}" for t in delivered) or "-"),
        ]
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
