"""Patterns that protocols have and random drawing makes seldom: processes that stand in line, a round that is over, a
leader that leaves, ballots of which the later counts, a loop that acts on some processes by their count.

Each has random numbers of its own, drawn from the seed and its name: all else of a protocol is what its seed gave
before the pattern was there.
"""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING

from tests.second.generator.kinds import FLAG, PROCESS, PROCESSES, Cell, Mail, Number, Process, Record, Row

if TYPE_CHECKING:
    from tests.second.generator.text import Builder

Lines = list[str]
SHARE = 0.12  # of protocols that have a pattern
RARE = 0.06  # of those that have one which tells processes apart: symmetry is compared on none of them
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
        names: list[str] = []
        for way in (self.line, self.round, self.farewell, self.ballots, self.counting, self.question):
            names += way(Random(f"{self.builder.seed} {way.__name__}"))
        return names

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
        full = [f"if len({place}) == {size}:", f"    {place}.pop(0)", f"{place}.append(q)"]
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

    # --- a leader that leaves -----------------------------------------------------------------------

    def farewell(self, random: Random) -> list[str]:
        """A leader closes its connections and goes on with something else, while its followers have yet to read what it
        sent, and to learn of it: what they do meanwhile is nobody else's concern."""
        if random.random() > SHARE or self.words.world != "connections":
            return []
        self.words.mails.append(Mail("FAREWELL", {}, up=False))
        self.words.cells += [Cell("left", FLAG, "stored"), Cell("rested", FLAG, "stored"), Cell("told", FLAG, "stored")]
        told = random.choice((
            ["    s.told[f] = True"], ["    if not s.left[f]:", "        s.told[f] = True"], ["    pass"],
        ))  # fmt: skip
        sends = [
            "    for q in range(s.NODES):", "        if q != p:", "            send_to_follower(s, p, q, FAREWELL())",
        ]  # fmt: skip
        marks = 'when=may_leave, budget="requests"' if random.random() < 0.5 else "when=may_leave"
        self.builder.parts += [
            ["@receives", "def on_farewell(s: State, f: Node, m: FAREWELL) -> None:", *told],
            ["def may_leave(s: State, p: Node) -> bool:", "    return s.role[p] == LEADING and not s.left[p]"],
            [f"@action({marks})", "def leaves(s: State, p: Node) -> None:",
             *(sends if random.random() < 0.8 else []), "    disconnect(s, p)", "    s.role[p] = LOOKING",
             "    s.left[p] = True"],
            ["def may_rest(s: State, p: Node) -> bool:", "    return s.left[p] and not s.rested[p]"],
            ["@action(when=may_rest)", "def rests(s: State, p: Node) -> None:", "    s.rested[p] = True"],
        ]  # fmt: skip
        return self.claim_of_farewell(random)

    def claim_of_farewell(self, random: Random) -> list[str]:
        """A property of a leader that has left and of another process, which may not know yet."""
        wrong = random.choice((
            "s.left[p] and s.told[q]", "s.rested[p] and not s.told[q]", "s.rested[p] and s.role[q] == FOLLOWING",
            "s.rested[p] and s.leader[q] == p",
        ))  # fmt: skip
        two = ["    for p in range(s.NODES):", "        for q in range(s.NODES):"]
        test = f"            if p != q and {wrong}:"
        self.builder.parts += [
            ["def claim_of_farewell_premise(s: State) -> bool:", '    """A leader has left."""', two[0],
             "        if s.left[p]:", "            return True", "    return False"],
            ["@safety(witness=claim_of_farewell_premise)", "def claim_of_farewell(s: State) -> bool:",
             '    """Nobody rests while another does what it should not."""', *two, test,
             "                return False", "    return True"],
        ]  # fmt: skip
        return ["claim-of-farewell"]

    # --- ballots ------------------------------------------------------------------------------------

    def ballots(self, random: Random) -> list[str]:
        """A process takes the later of two ballots, the parts of which point in different directions at times."""
        if random.random() > SHARE:
            return []
        kind = Record("Ballot", (("turn", Number(0, 1)), ("number", Number(0, random.choice((1, 2))))), ordered=True)
        self.words.records.append(kind)
        self.words.cells.append(Cell("ballot", kind, random.choice(("stored", "volatile"))))
        n = kind.parts[1][1].high + 1
        fixed = f"Ballot(turn={random.randint(0, 1)}, number={random.randint(0, 1)})"
        other = random.choice(("s.ballot[p]", fixed, fixed))
        test = f"made {random.choice(('<', '<=', '>', '>='))} {other}"
        otherwise = random.choice(([], ["    else:", f"        s.ballot[p] = {fixed}"]))
        self.builder.parts.append([
            '@action(budget="requests")', "def takes_ballot(s: State, p: Node) -> None:",
            f"    c = choose(s, {2 * n})", f"    made = Ballot(turn=c // {n}, number=c % {n})", f"    if {test}:",
            "        s.ballot[p] = made", *otherwise,
        ])  # fmt: skip
        return []

    # --- a loop that counts -------------------------------------------------------------------------

    def counting(self, random: Random) -> list[str]:
        """A loop over processes counts its rounds, or some, and acts by the count: on the first, or on all but it."""
        if random.random() > RARE:
            return []
        self.words.cells.append(Cell("picked", PROCESSES, random.choice(("stored", "volatile"))))
        test = random.choice(("n == 0", "n < 1", "n > 0", "n != 0"))
        count = random.choice(
            (["n = n + 1"], ["if q != p:", "    n = n + 1"], ["if q not in s.picked[p]:", "    n += 1"])
        )
        act = [f"if {test}:", f"    s.picked[p].{random.choice(('add', 'add', 'discard'))}(q)"]
        body = [*act, *count] if random.random() < 0.7 else [*count, *act]
        self.builder.parts.append([
            '@action(budget="requests")', "def picks_some(s: State, p: Node) -> None:", "    n = 0",
            "    for q in range(s.NODES):", *(f"        {line}" for line in body),
        ])  # fmt: skip
        return []

    # --- a question behind a notice -------------------------------------------------------------------

    def question(self, random: Random) -> list[str]:
        """A process sends a notice, which mostly changes nothing, and a question behind it that is answered."""
        taken = any("def on_message(" in line for part in self.builder.parts for line in part)
        if random.random() > SHARE or self.words.world != "datagrams" or taken:
            return []
        self.words.mails += [Mail("NOTICE", {}), Mail("QUESTION", {}), Mail("ANSWER", {})]
        self.words.cells.append(Cell("answered", FLAG, "stored"))
        noticed = random.choice((["    pass"], ["    pass"], ["    s.answered[p] = False"]))
        sends = ["            send(s, p, q, NOTICE())"] * random.choice((1, 1, 2))
        self.builder.parts += [
            ["@receives", "def on_notice(s: State, p: Node, m: NOTICE) -> None:", *noticed],
            ["@receives", "def on_question(s: State, p: Node, source: Node, m: QUESTION) -> None:",
             "    send(s, p, source, ANSWER())"],
            ["@receives", "def on_answer(s: State, p: Node, m: ANSWER) -> None:", "    s.answered[p] = True"],
            ['@action(budget="requests")', "def asks_question(s: State, p: Node) -> None:",
             "    for q in range(s.NODES):", "        if q != p:", *sends, "            send(s, p, q, QUESTION())"],
        ]  # fmt: skip
        return []
