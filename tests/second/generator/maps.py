"""Maps, multisets, optional numbers, and records that hold processes and sets of them, in a random protocol: processes
that note what they hear of each other. With roles servers note what they hear of clients."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from tests.second.generator.kinds import Cell, Mail, Number, field_line, key

if TYPE_CHECKING:
    from tests.second.generator.text import Builder

Lines = list[str]


@dataclass(frozen=True)
class Mapped(Cell):
    """A field whose annotation is written out; `of`: the role that has it, if one has; `more`: what else is said."""

    said: str = ""
    of: str = ""
    more: str = ""

    @property
    def declared(self) -> str:
        """As the class `State` has it."""
        keys = [] if self.role in ("ghost", "environment") else [self.of.capitalize() or "Node"]
        return field_line(self.name, keys, self.said or "bool", f'{self.role}("the {self.name}"{self.more})')

    @property
    def of_process(self) -> bool:
        """Nothing else of the protocol uses it."""
        return False


class Said(Number):
    """A kind that is written out."""

    def __init__(self, said: str) -> None:
        super().__init__(0, 1)
        object.__setattr__(self, "said", said)

    @property
    def declared(self) -> str:
        """The annotation."""
        return str(vars(self)["said"])


@dataclass(frozen=True)
class Entry:
    """A record, by its name, with its class."""

    name: str
    definition: str

    @property
    def declared(self) -> str:
        """The annotation."""
        return self.name


def class_of(name: str, parts: list[tuple[str, str]]) -> str:
    """The class of a record."""
    return "\n".join([f"class {name}(RecordType):", *(f"    {part}: {kind}" for part, kind in parts)])


class Maps:
    """Adds them to a protocol.

    Args:
        builder: of the protocol, of which all else is drawn.
    """

    def __init__(self, builder: Builder, random: Random) -> None:
        self.builder, self.parts, self.random = builder, builder.parts, random
        self.roles = builder.roles is not None
        self.owner, self.key = ("Server", "Client") if self.roles else ("Node", "Node")
        self.keys = "processes(s, Client)" if self.roles else "range(s.NODES)"
        self.owners = "processes(s, Server)" if self.roles else "range(s.NODES)"
        self.mailed = builder.words.world == "datagrams" and not any(
            line.startswith("def on_message(") for part in builder.parts for line in part
        )
        self.most = random.choice((1, 2, 2))
        self.rows = random.random() < 0.4  # a sequence of records too
        self.note = random.choice(("s.note[p]", "s.note[p]", "s.note[p][1]"))

    def add(self) -> list[str]:
        """Add fields, steps and properties; return the names of the properties."""
        self.declare()
        if self.mailed:
            self.tells()
            self.hears()
        self.looks_back()
        return [*self.of_states(), *(self.of_mail() if self.mailed and self.random.random() < 0.5 else [])]

    def declare(self) -> None:
        """The fields, the record and the message."""
        random, words = self.random, self.builder.words
        whose = self.key
        of = "server" if self.roles else ""
        level = random.choice(
            (f"Maybe(Range(0, {self.most}))", f"Range(0, {self.most})", "Maybe(OneOf('DIM', 'BRIGHT'))")
        )
        self.optional = level.startswith("Maybe")
        if "OneOf" in level:
            self.most = 1
            words.constants |= {"DIM": 0, "BRIGHT": 1}
        record = [
            ("who", whose),
            ("level", f"Annotated[int, {level}]"),
            ("sure", "bool"),
            ("seen", f"set[{whose}]"),
        ]
        random.shuffle(record)
        words.records.append(Entry("Note", class_of("Note", record)))  # type: ignore[arg-type]
        how = ["stored", "volatile", *(["on_disk"] if words.disks else [])]
        note = "Note" if self.note == "s.note[p]" else f"Each[{key(2)}, Note]"
        optional = "Annotated[int, Maybe(Range(0, 2))]"
        self.deep = random.random() < 0.2
        latest = f"Each[{whose}, Each[{key(2)}, {optional}]]" if self.deep else f"Each[{whose}, {optional}]"
        words.cells += [
            Mapped("latest", Number(0, 2), random.choice(how), said=latest, of=of),
            Mapped(
                "often", Number(0, 2), random.choice(how), said=f"Each[{whose}, Annotated[int, Range(0, 2)]]", of=of
            ),
            Mapped("note", Number(0, 2), random.choice(how), said=note, of=of),
        ]
        if self.rows:
            rows = "Annotated[SeqOf[Note], AtMost(2)]"
            words.cells.append(Mapped("notes", Number(0, 2), random.choice(how), said=rows, of=of))
        if self.mailed:
            words.mails.append(Mail("NOTE", {"note": Said("Note"), "value": Said(optional)}))

    def latest(self, q: str) -> str:
        """What p knows of q last."""
        return f"s.latest[p][{q}]{f'[{self.random.choice((0, 1))}]' if self.deep else ''}"

    def made(self, who: tuple[str, ...], level: tuple[str, ...], sure: tuple[str, ...], seen: tuple[str, ...]) -> str:
        """A record, of alternatives for each of its parts."""
        parts = zip(("who", "level", "sure", "seen"), (who, level, sure, seen), strict=True)
        return f"Note({', '.join(f'{name}={self.random.choice(of)}' for name, of in parts)})"

    @property
    def nothing(self) -> str:
        """A level that is always there."""
        return "NOTHING" if self.optional else "0"

    def gathered(self, *tests: str) -> str:
        """A set of those of which something is so."""
        return f"{{q for q in {self.keys} if {self.random.choice(tests)}}}"

    def tells(self) -> None:
        """A process tells the others, or the servers, of itself."""
        value = self.random.choice(("NOTHING", "0", "1", "choose(s, 3)"))
        seen = self.gathered("q == p", "q != p", "q == p")
        made = self.made(("p", "p", "NOBODY"), ("1", self.nothing), ("True", "False"), (seen,))
        self.parts.append(
            ['@action(budget="requests")', f"def tells(s: State, p: {self.key}) -> None:", f"    note = {made}",
             f"    value = {value}", f"    for r in {self.owners}:",
             "        send(s, p, r, NOTE(note=note, value=value))"]
        )  # fmt: skip

    def hears(self) -> None:
        """Who is told notes it."""
        random, note, latest = self.random, self.note, self.latest("source")
        seen = random.choice(
            (f"{note}.seen", "m.note.seen", self.gathered("q == source or q in m.note.seen", f"q in {note}.seen"))
        )
        made = self.made(
            ("source", "m.note.who", f"{note}.who", "NOBODY"), ("1", self.nothing, f"{note}.level", "m.note.level"),
            ("m.note.sure", f"not {note}.sure", f"source in {note}.seen", f"m.note == {note}"), (seen,),
        )  # fmt: skip
        counts = random.choice(
            (
                [f"    if {latest} != NOTHING and {latest} < 2:", f"        {latest} += 1", "    else:",
                 f"        {latest} = m.value"],
                [f"    v = {latest}", "    if v == NOTHING or m.value == NOTHING:", f"        {latest} = m.value",
                 "    elif m.value > v:", f"        {latest} = max(v, m.value)"],
                [f"    {latest} = m.value"],
            )
        )  # fmt: skip
        keeps = [
            ["    if s.often[p][source] < 2:", "        s.often[p][source] += 1"],
            [f"    {note} = {made}"],
            *([["    if m.note not in s.notes[p] and len(s.notes[p]) < 2:", "        s.notes[p].append(m.note)"],
               ["    if len(s.notes[p]) > 0 and not s.notes[p][0].sure:", "        s.notes[p].pop(0)"]]
              if self.rows else []),
        ]  # fmt: skip
        lines = [line for part in (counts, *keeps) if random.random() < 0.8 for line in part] or ["    pass"]
        self.parts.append(
            ["@receives", f"def on_note(s: State, p: {self.owner}, source: {self.key}, m: NOTE) -> None:", *lines]
        )

    def looks_back(self) -> None:
        """A process goes through its map."""
        random, note, key = self.random, self.note, self.latest("q")
        loop = f"    for q in {self.keys}:"
        through = random.choice((f"    for q in {note}.seen:", loop))
        may = random.choice(
            (f"not {note}.sure", f"{note}.who == NOBODY", f"len({note}.seen) == 0", f"{note}.level == {self.nothing}")
        )
        some = [
            [through, "        s.often[p][q] = min(s.often[p][q] + 1, 2)"],
            [loop, f"        if {key} == NOTHING:", f"            {key} = {random.choice((0, 2))}"],
            [loop, f"        if {key} != NOTHING and {key} * 2 > s.often[p][q]:", "            s.often[p][q] = 0"],
            [
                "    total = 0",
                loop,
                "        total = total + s.often[p][q]",
                "    if total > 1:",
                "        forget(s, p)",
            ],
        ]
        made = self.made(
            (f"{note}.who", "NOBODY"),
            (str(self.most), self.nothing, f"{note}.level"),
            (f"not {note}.sure", "True"),
            (self.gathered("s.often[p][q] > 0", f"{key} != NOTHING"), f"{note}.seen"),
        )
        done = [line for part in some if random.random() < 0.5 for line in part]
        budget = ', budget="requests"' if random.random() < 0.7 else ""
        self.parts += [
            [f"def may_look_back(s: State, p: {self.owner}) -> bool:", f"    return {may}"],
            [f"@action(when=may_look_back{budget})", f"def looks_back(s: State, p: {self.owner}) -> None:", *done,
             f"    {note} = {made}"],
        ]  # fmt: skip

    def of_states(self) -> list[str]:
        """A property of what a process has of another."""
        note, key = self.note, self.latest("q")
        tests = [
            f"{key} == NOTHING and s.often[p][q] == 2", f"{note}.who == q and q not in {note}.seen",
            f"len({note}.seen) == 2 and {note}.sure", f"{key} != NOTHING and {key} > 1",
            f"{note} == Note(who=q, level={self.nothing}, sure=False, seen={note}.seen) and {key} != 0",
        ]  # fmt: skip
        tests += [] if self.roles else [f"p != q and {note} == {note.replace('[p]', '[q]', 1)} and {note}.who == q",
                                        f"is_quorum(s, {note}.seen) and s.often[p][q] == 0"]  # fmt: skip
        if self.rows:
            tests += [f"{note} in s.notes[p] and {key} == NOTHING", "len(s.notes[p]) == 2 and s.notes[p][1].who == q"]
        premise = self.random.choice((f"{note}.who != NOBODY", f"len({note}.seen) > 0", f"{note}.sure"))
        self.parts += [
            ["def claim_of_maps_premise(s: State) -> bool:", '    """Something is noted."""',
             f"    for p in {self.owners}:", f"        if {premise}:", "            return True", "    return False"],
            ["@safety(witness=claim_of_maps_premise)", "def claim_of_maps(s: State) -> bool:",
             '    """Nothing is so of what is noted."""', f"    for p in {self.owners}:",
             f"        for q in {self.keys}:", f"            if {self.random.choice(tests)}:",
             "                return False", "    return True"],
        ]  # fmt: skip
        return ["claim-of-maps"]

    def of_mail(self) -> list[str]:
        """A property of what is in flight."""
        test = self.random.choice(
            ("m.note.who == m.source", "m.source in m.note.seen", "m.value == NOTHING or m.value < 2", "m.note.sure")
        )
        self.parts += [
            ["def claim_of_notes_premise(s: State) -> bool:", '    """Something is in flight."""',
             "    return len(s.in_flight) > 0"],
            ["@safety(witness=claim_of_notes_premise)", "def claim_of_notes(s: State, m: NOTE) -> bool:",
             '    """A note says so."""', f"    return {test}"],
        ]  # fmt: skip
        return ["claim-of-notes"]
