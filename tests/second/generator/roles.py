"""Roles in a random protocol: clients that ask servers, which answer; each with fields, steps and hooks of its own."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from tests.second.generator.kinds import FLAG, PROCESS, PROCESSES, Cell, Kind, Mail, Number, field_line

if TYPE_CHECKING:
    from tests.second.generator.text import Builder

Lines = list[str]
TO_ONE = "any_of(s, Server)"


@dataclass(frozen=True)
class OfRole(Cell):
    """A field that the processes of a role have; `holds`: of which role the processes are that it holds."""

    of: str = ""
    holds: str = ""

    @property
    def declared(self) -> str:
        """As the class `State` has it."""
        kind = held(self.kind, self.holds)
        return field_line(self.name, [self.of.capitalize()], kind, f'{self.role}("the {self.name}")')

    @property
    def of_process(self) -> bool:
        """Nothing else of the protocol uses it."""
        return False


class Held(Number):
    """A process, or a set of some, of a role, in a message."""

    def __init__(self, kind: Kind, role: str) -> None:
        super().__init__(0, 1)
        object.__setattr__(self, "said", held(kind, role))

    @property
    def declared(self) -> str:
        """The annotation."""
        return str(vars(self)["said"])


def held(kind: Kind, role: str) -> str:
    """The declared kind of what holds processes of a role."""
    plain: str = kind.declared  # type: ignore[union-attr]
    return plain.replace("Node", role.capitalize()) if role else plain


class Roles:
    """Adds roles to a protocol.

    Args:
        builder: of the protocol, of which all else is drawn: of processes that may be of either role.
    """

    def __init__(self, builder: Builder) -> None:
        self.builder, self.parts = builder, builder.parts

    def add(self, random: Random) -> list[str]:
        """Add roles; return the names of further properties."""
        builder, words = self.builder, self.builder.words
        builder.roles = ("client", "server")
        builder.declared.append('roles={"client": 1, "server": 1}')
        storing = random.choice(("stored", "volatile"))
        words.cells += [
            OfRole("asked", FLAG, "volatile", (), "client"),
            OfRole("told_by", PROCESSES, storing, (), "client", "server"),
            OfRole("served", Number(0, 2), random.choice(("stored", "volatile")), (), "server"),
            OfRole("owner", PROCESS, "stored", (), "server", "client"),
            OfRole("rival", PROCESS, "volatile", (), "server", ""),
        ]
        words.mails += [
            Mail("REQUEST", {"who": Held(PROCESS, "client")}),
            Mail("REPLY", {"yes": FLAG}),
        ]
        self.asks(random)
        self.answers(random)
        self.hears(random)
        self.typed(random)
        self.hooks(random)
        return self.claims(random)

    def asks(self, random: Random) -> None:
        """A client asks one server, or all."""
        one = [f"    send(s, p, {TO_ONE}, REQUEST(who=p))"]
        each = ["    for q in processes(s, Server):", "        send(s, p, q, REQUEST(who=p))"]
        self.parts += [
            ["def may_ask(s: State, p: Client) -> bool:", "    return not s.asked[p]"],
            ['@action(when=may_ask, budget="requests")',
             "def asks(s: State, p: Client) -> None:", "    s.asked[p] = True", *random.choice((one, each))],
        ]  # fmt: skip

    def answers(self, random: Random) -> None:
        """A server answers, and keeps who asked."""
        says = random.choice(("s.owner[p] == source", "s.owner[p] == NOBODY", "True", "s.served[p] > 0"))
        keeps = random.choice(("source", "m.who", "any_of(s, Client)"))
        among = "{c for c in processes(s, Client) if c == source or s.owner[p] == NOBODY}"
        of_set = [f"    chosen = any_of(s, {among})", "    s.rival[p] = chosen"]
        rival = random.choice((["    s.rival[p] = any_process(s)"], ["    s.rival[p] = source"], [], of_set))
        self.parts.append(
            ["@receives", "def on_request(s: State, p: Server, source: Client, m: REQUEST) -> None:",
             f"    yes = {says}", "    if yes and s.owner[p] == NOBODY:", f"        s.owner[p] = {keeps}", *rival,
             "    s.served[p] = min(s.served[p] + 1, 2)", "    send(s, p, source, REPLY(yes=yes))"]
        )  # fmt: skip

    def hears(self, random: Random) -> None:
        """A client hears of servers, and goes on once these are a majority, or all."""
        enough = random.choice(
            ("is_quorum(s, s.told_by[p], Server)", "len(s.told_by[p]) == s.SERVER", "s.SERVER > len(s.told_by[p])")
        )
        self.parts.append(
            ["@receives", "def on_reply(s: State, p: Client, source: Server, m: REPLY) -> None:", "    if m.yes:",
             "        s.told_by[p].add(source)", f"    if {enough}:",
             random.choice(("        s.asked[p] = False", "        s.told_by[p].clear()", "        forget(s, p)"))]
        )  # fmt: skip

    def typed(self, random: Random) -> None:
        """Some of the steps that are drawn already are of one role alone, and what they call asks for it."""
        for part in self.parts:
            for k, line in enumerate(part):
                if line.startswith("def act_") and random.random() < 0.6:
                    part[k] = line.replace("p: Node", f"p: {random.choice(('Client', 'Server'))}")
                elif line.startswith("def helper_") and "-> bool:" in line and random.random() < 0.4:
                    role = random.choice(("Client", "Server"))
                    part[k + 1 : k + 1] = [
                        f"    if is_a(s, p, {role}):",
                        f"        return {random.choice(('True', 'False'))}",
                    ]

    def hooks(self, random: Random) -> None:
        """What the processes of one role do as they start, crash and start again."""
        known = {line for part in self.parts for line in part}
        taken = {name for name in ("on_start", "on_crash", "on_recovery") if any(f"def {name}(" in x for x in known)}
        ways = {
            "on_start_server": "    s.served[p] = 1",
            "on_crash_client": "    s.asked[p] = True",
            "on_crash_server": "    forget(s, p)",
            "on_recovery_client": "    s.told_by[p].clear()",
        }
        for name, line in ways.items():
            hook, _, role = name.rpartition("_")
            if hook not in taken and random.random() < 0.5:
                self.parts.append([f"def {name}(s: State, p: {role.capitalize()}) -> None:", line])

    def claims(self, random: Random) -> list[str]:
        """A property of the processes of each role."""
        test = random.choice((
            "s.owner[q] == c and c in own", "s.served[q] == 2 and s.asked[c]", "q in s.told_by[c] and s.owner[q] != c",
            "is_quorum(s, s.told_by[c], Server) and q not in s.told_by[c]", "s.rival[q] == c or s.rival[q] == q",
        )).replace("c in own", random.choice(("s.asked[c]", "len(s.told_by[c]) == 0")))  # fmt: skip
        busy = "{q for q in processes(s, Server) if s.served[q] > 0}"
        self.parts += [
            ["def claim_of_roles_premise(s: State) -> bool:", '    """Most servers have served."""',
             f"    return is_quorum(s, {busy}, Server)"],
            ["@safety(witness=claim_of_roles_premise)", "def claim_of_roles(s: State) -> bool:",
             '    """Nothing is so of a client and a server."""', "    for c in processes(s, Client):",
             "        for q in processes(s, Server):", f"            if {test}:", "                return False",
             "    return True"],
        ]  # fmt: skip
        return ["claim-of-roles"]
