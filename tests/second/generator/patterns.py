"""Patterns that protocols have and random drawing makes seldom: processes that stand in line, a round that is over.

Each has random numbers of its own, drawn from the seed and its name: all else of a protocol is what its seed gave
before the pattern was there.
"""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING

from tests.second.generator.kinds import FLAG, PROCESS, Cell, Mail, Number, Process, Row

if TYPE_CHECKING:
    from tests.second.generator.text import Builder

__all__ = ["Patterns"]

Lines = list[str]
SHARE = 0.12  # of protocols that have a pattern
RECEIVER = re.compile(r"def \w+\(s: State, (\w+): Node(?:, (\w+): Node)?, m: \w+\)")


class Patterns:
    """Adds patterns to a protocol.

    Args:
        builder: of the protocol, of which all else is drawn.
    """

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.words = builder.words

    def add(self) -> list[str]:
        """Add to the functions and fields; return the names of further properties."""
        return [name for way in (self.line, self.round) for name in way(Random(f"{self.builder.seed} {way.__name__}"))]

    def processes(self) -> list[str]:
        """Fields of a process, without an axis, that hold a process."""
        return [c.name for c in self.words.cells if c.of_process and isinstance(c.kind, Process) and not c.axes]

    # --- a line of processes ------------------------------------------------------------------------

    def line(self, random: Random) -> list[str]:
        """Processes stand in a line, until it is full: who asks, who follows, whom a field names."""
        if random.random() > SHARE:
            return []
        size = random.choice((1, 2, 2, 3))
        shown = random.random() < 0.4
        axes = random.choice(((), ("NODE",))) if shown else ()
        role = "ghost" if shown else random.choice(("stored", "volatile"))
        cell = Cell("shown_line" if shown else "line", Row(PROCESS, size), role, axes)
        self.words.cells.append(cell)
        place = f"s.{cell.name}" + "[p]" * len(cell.indices)
        full = [f"if len({place}) == {size}:", f"    {place}.remove(0)", f"{place}.append(q)"]
        enter = random.choice((full, [f"if len({place}) < {size}:", f"    {place}.append(q)"]))
        head = [*(["@observation"] if shown else []), "def enters(s: State, p: Node, q: Node) -> None:"]
        doc = ['    """The outside sees who stands in line."""'] if shown else []
        self.builder.parts.insert(0, [*head, *doc, *(f"    {line}" for line in enter)])
        self.enter_at_receipts(random)
        self.enter_by_action(random)
        return self.claim_of_line(random, place, size)

    def enter_at_receipts(self, random: Random) -> None:
        """Who has sent a message enters the line of who receives it."""
        for part in self.builder.parts:
            found = RECEIVER.match(part[1]) if part[0] == "@receives" else None
            if found is not None and random.random() < 0.7:
                own, other = found.groups()
                part.insert(2, f"    enters(s, {own}, {other or own})")

    def enter_by_action(self, random: Random) -> None:
        """A process enters its own line, or one that it knows of does."""
        known = self.processes()
        body = ["    enters(s, p, p)"]
        if known and random.random() < 0.7:
            other = f"s.{random.choice(known)}[p]"
            body = [f"    if {other} != NOBODY:", f"        enters(s, p, {other})", *body * random.randint(0, 1)]
        self.builder.parts.append(
            ['@action(budget="requests")', "def stands_in_line(s: State, p: Node) -> None:", *body]
        )

    def claim_of_line(self, random: Random, place: str, size: int) -> list[str]:
        """A property of who stands at an end of a line."""
        if random.random() < 0.4:
            return []
        at = random.choice((0, size - 1))
        wrong = random.choice((f"{place}[{at}] == p", f"{place}[{at}] != p", f"{place}[0] == {place}[{size - 1}]"))
        loop = "    for p in range(s.NODES):"
        self.builder.parts += [
            ["def claim_of_line_premise(s: State) -> bool:", '    """A line is full."""', loop,
             f"        if len({place}) == {size}:", "            return True", "    return False"],
            ["@safety(witness=claim_of_line_premise)", "def claim_of_line(s: State) -> bool:",
             '    """Nobody stands where a line says that they do not."""', loop,
             f"        if len({place}) == {size} and {wrong}:", "            return False", "    return True"],
        ]  # fmt: skip
        return ["claim-of-line"]

    # --- a round of messages ------------------------------------------------------------------------

    def round(self, random: Random) -> list[str]:
        """A process asks others, and a property speaks of the round as over when all that was sent has arrived."""
        taken = any("def on_message(" in line for part in self.builder.parts for line in part)
        if random.random() > SHARE or self.words.world != "datagrams" or taken:
            return []
        self.words.mails.append(Mail("ROUND", {}))
        self.words.cells += [Cell("begun", FLAG, "stored"), Cell("heard", Number(0, 2), "volatile")]
        once = "        s.heard[p] = 1"
        heard = random.choice((
            ["    pass"], ["    if s.begun[p]:", once], ["    if s.heard[p] < 1:", once],
            ["    s.heard[p] = max(s.heard[p], 1)"],
        ))  # fmt: skip
        to = random.choice(("        if q != p:\n            send(s, p, q, ROUND())", "        send(s, p, q, ROUND())"))
        self.builder.parts += [
            ["@receives", "def on_round(s: State, p: Node, m: ROUND) -> None:", *heard],
            ['@action(budget="requests")', "def begins_round(s: State, p: Node) -> None:", "    s.begun[p] = True",
             "    for q in range(s.NODES):", *to.split("\n")],
        ]  # fmt: skip
        return self.claim_of_round(random)

    def claim_of_round(self, random: Random) -> list[str]:
        """A property whose premise looks at what is in flight, and which does not itself."""
        left = random.choice((0, 0, 1))
        wrong = random.choice(("s.heard[p] > 1", "s.begun[p] and s.heard[p] == 0", "not s.begun[p] and s.heard[p] > 0"))
        self.builder.parts += [
            ["def claim_of_round_wants(s: State) -> bool:", "    for p in range(s.NODES):", "        if s.begun[p]:",
             "            return True", "    return False"],
            ["def claim_of_round_premise(s: State) -> bool:", '    """A round is over."""', "    n = 0",
             "    for k in range(len(s.in_flight)):", "        if s.in_flight[k].kind == ROUND:",
             "            n = n + 1", f"    return n == {left} and claim_of_round_wants(s)"],
            ["@safety(witness=claim_of_round_premise)", "def claim_of_round(s: State) -> bool:",
             '    """What everybody has heard is so."""', "    for p in range(s.NODES):", f"        if {wrong}:",
             "            return False", "    return True"],
        ]  # fmt: skip
        return ["claim-of-round"]
