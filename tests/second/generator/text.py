"""A random protocol: what it declares, what its functions do, what must hold, and a request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.second.generator.claims import Claims
from tests.second.generator.features import OF_WORLDS, Features
from tests.second.generator.kinds import (
    FLAG,
    PROCESS,
    PROCESSES,
    Cell,
    Function,
    Kind,
    Mail,
    Number,
    Numbers,
    Record,
    Row,
)  # fmt: skip
from tests.second.generator.patterns import Patterns
from tests.second.generator.requests import request_for
from tests.second.generator.scope import (
    EVERYWHERE,
    GUARD,
    HANDLER,
    OBSERVATION,
    PURE,
    START,
    SURROUNDINGS,
    Scope,
    Vocabulary,
)
from tests.second.generator.shapes import Shapes
from tests.second.generator.statements import INDENT, Lines, indented
from tests.second.generator.worlds import over_connections, over_datagrams

MORE_TRIES = 8  # of a model that is small: to find a request of which all states are explored
ALTERNATIVELY = "if any_of(s, {False, True}):"  # what begins a run may do, or leave
HEAD = '''"""A random protocol: seed {seed}."""

from __future__ import annotations

from zabcheck.language import (
    {names}
)
'''
NAMES = [
    "abcast",
    "abdeliver",
    "accept",
    "end_leadership",
    "end_pass",
    "end_synchronization",
    "establish",
    "revise",
    "NOBODY",
    "NOTHING",
    "AnyMessage",
    "AtMost",
    "Each",
    "Epoch",
    "Fields",
    "History",
    "Range",
    "RecordType",
    "SeqOf",
    "Txn",
    "Maybe",
    "Members",
    "MessageType",
    "Node",
    "OneOf",
    "Start",
    "Variant",
    "action",
    "any_of",
    "initial",
    "any_process",
    "arm_timer",
    "broken",
    "choose",
    "clock",
    "connect",
    "declare",
    "disconnect",
    "durable",
    "environment",
    "shared",
    "environment_step",
    "fires",
    "force",
    "forget",
    "ghost",
    "progress",
    "invariant",
    "joins",
    "lease",
    "leaves",
    "is_a",
    "is_down",
    "is_quorum",
    "observation",
    "on_disk",
    "only",
    "processes",
    "receives",
    "safety",
    "send",
    "send_to_follower",
    "send_to_leader",
    "step",
    "stored",
    "timer",
    "parameter",
    "volatile",
]
FIELDS = [
    "level",
    "mark",
    "seen",
    "votes",
    "lease",
    "phase",
    "last",
    "log",
    "ready",
    "best",
    "held",
    "count",
    "round",
    "peers",
    "twin",
    "pending",
]
MAILS = ["ASK", "TELL", "VOTE", "ACK", "COPY", "DONE"]
SMALL = 0.0  # of the usual growth of shapes, where budgets that bind are wanted: such models are to be explored whole
PARTS = ["amount", "flag", "who", "pair", "rows", "some"]


@dataclass(frozen=True)
class Generated:
    """A protocol and what is asked of it.

    Attributes:
        seed: what it was drawn from.
        text: the file.
        request: as the reference takes it (`docs/reference/semantics.md`), but for the path.
        asks: properties by name; `goals` apart.
        features: what the drawing decided, for reports.
    """

    seed: int
    text: str
    request: Mapping[str, Any]
    goals: tuple[str, ...] = ()
    features: Mapping[str, Any] = field(default_factory=dict)


def protocol(seed: int) -> Generated:
    """The protocol of a seed. Shapes grow with it: the first of every 16 are the smallest."""
    return Builder(seed).built()


WITH_SETS = 1_000_000  # the first of the seeds whose protocols make sets of processes in every place


class Builder:
    """Draws one protocol.

    Args:
        seed: what it is drawn from.
        wanted: declared features that it has (`Features`), whatever the seed says of them.

    Attributes:
        bounded: it declares `bounded_by_world`; `world_budgets`: and these of its world's budgets nevertheless.
        room: the text of `flight`; empty: what follows from its world.
        usual: the request does not say how much there is of its world's usual budgets.
        transactions: it abcasts and abdelivers.
        system: which quorum system a request has; None: it counts majorities.
        roles: the roles of its processes; None: all are alike.
        small: its request has little of its budgets, and 3 processes at least of half: two of a role that are alike.
        least, most: of some budgets how much a request has at least, and at most.
    """

    def __init__(self, seed: int, wanted: frozenset[str] = frozenset()) -> None:
        self.seed, self.wanted = seed, wanted
        self.bounded = self.usual = self.transactions = self.small = False
        self.world_budgets: set[str] = set()
        self.room: str | None = None
        self.least: dict[str, int] = {}
        self.most: dict[str, int] = {}
        self.system: int | None = None
        self.roles: tuple[str, str] | None = None
        self.random = random = Random(f"second {seed}")
        self.growth = (seed % 16) / 15 * (SMALL if wanted & {"binding", "quorums"} else 1)
        self.words = Vocabulary(
            sets=0.5 if seed >= WITH_SETS else 0.0,
            world="connections" if random.random() < 0.45 else "datagrams",
            symmetric=random.random() < 0.7,
            errors=random.random() < 0.06,
        )
        self.words.disks = random.random() < 0.35 and "binding" not in wanted
        # messages say which end receives them; of those that do not, no receipt is known to commute
        self.ends = self.words.world == "connections" and Random(f"{seed} ends").random() < 0.7
        self.draw = Claims(random, self.words)
        self.parts: list[Lines] = []  # functions
        self.declared: list[str] = []  # what `declare` is given

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def between(self, low: int, high: int) -> int:
        """A number that grows with the shape."""
        top = low + round((high - low) * self.growth)
        return self.random.randint(low, max(low, top))

    # --- declarations -------------------------------------------------------------------------------

    def element(self) -> Number | Record:
        return self.random.choice([Number(0, self.random.randint(1, 3)), *self.words.records])

    def kind(self) -> Kind:
        """What a field of a process holds."""
        roll = self.random.random()
        if roll < 0.34:
            return Number(0, self.random.randint(1, 3)) if self.chance(0.85) else Number(-1, 2)
        if roll < 0.48:
            return FLAG
        if roll < 0.58:
            return PROCESS
        if roll < 0.7:
            return PROCESSES
        if roll < 0.77:
            return Numbers(self.random.randint(2, 4))
        if roll < 0.86 and self.words.records:
            return self.random.choice(self.words.records)
        if roll < 0.95 and self.words.rows:
            return self.random.choice(self.words.rows)
        return Number(0, 2, names=("IDLE", "BUSY", "OVER"))

    def declare_types(self) -> None:
        words = self.words
        for k in range(self.random.choice((0, 1, 1, 2))):
            parts = tuple(
                (f"{'ab'[j]}", Number(0, self.random.randint(1, 2))) for j in range(self.random.randint(1, 2))
            )
            words.records.append(Record(("Pair", "Entry")[k], parts, self.chance(0.5)))
        for k in range(self.random.choice((0, 1, 1, 2))):
            element = self.random.choice([self.element(), self.element(), PROCESS, FLAG])
            words.rows.append(Row(element, self.random.randint(1, 3), ("Line", "Queue")[k]))
        if self.chance(0.4):
            words.constants["LIMIT"] = self.random.randint(1, 3)

    def declare_fields(self) -> None:
        words = self.words
        names = list(FIELDS)
        self.random.shuffle(names)
        if words.world == "connections":
            words.cells.append(Cell("role", Number(0, 2, names=("LOOKING", "FOLLOWING", "LEADING")), "volatile"))
            words.cells.append(Cell("leader", PROCESS, "volatile"))
        for k in range(self.between(2, 5)):
            role = self.random.choice(("stored", "volatile", "volatile"))
            if words.disks and (k == 0 or self.chance(0.3)):
                role = "on_disk"
            kind = self.kind()
            axes = self.random.choice(((), (), (), (2,), ("NODE",)))
            words.cells.append(Cell(names.pop(), kind, role, axes))
        for _ in range(self.between(1, 2)):
            kind = self.random.choice((Number(0, 3), PROCESSES, FLAG, PROCESS, *words.rows, *words.records))
            axes = self.random.choice(((), ("NODE",), ("NODE",), (2,), ("NODE", 2)))
            words.cells.append(Cell(f"shown_{names.pop()}", kind, "ghost", axes))
        if self.chance(0.35):
            axes = self.random.choice(((), ("NODE",)))
            words.cells.append(
                Cell("weather", self.random.choice((Number(0, 2), FLAG, PROCESSES)), "environment", axes)
            )

        if words.sets and not words.disks and self.chance(0.5):
            kind = self.random.choice((Number(0, 2), FLAG, PROCESS, PROCESSES))
            words.cells.append(Cell("turn", kind, "shared", self.random.choice(((), (), ("NODE",), (2,)))))

    def declare_messages(self) -> None:
        words = self.words
        for k in range(self.between(1 + (words.world == "connections"), 4)):
            kinds: list[Kind] = [Number(0, self.random.randint(1, 3)), FLAG, PROCESS, *words.records]
            kinds += [c.kind for c in words.cells if c.of_process and not isinstance(c.kind, Number)]
            chosen = [self.random.choice(kinds) for _ in range(self.random.choice((0, 1, 1, 2)))]
            parts = dict(zip(self.random.sample(PARTS, len(chosen)), chosen, strict=True))
            up = words.world == "connections" and (k % 2 == 0)
            words.mails.append(Mail(MAILS[k], parts, up))

    def declare_budgets(self) -> None:
        for k in range(self.between(1, 2)):
            self.words.budgets[("requests", "ticks")[k]] = self.random.choice((1, 1, 2))

    # --- functions ----------------------------------------------------------------------------------

    def annotated(self, parameters: tuple[tuple[str, Kind], ...]) -> str:
        return "".join(f", {name}: {kind.annotated}" for name, kind in parameters)  # type: ignore[union-attr]

    def simple_parameters(self, count: int) -> tuple[tuple[str, Kind], ...]:
        kinds: list[Kind] = [Number(0, 3), FLAG, PROCESS, *self.words.records]
        return tuple((f"a{k}", self.random.choice(kinds)) for k in range(count))

    def add_helpers(self) -> None:
        """Helpers: of numbers alone, that look, that write."""
        draw, words = self.draw, self.words
        if self.chance(0.4):
            scope = Scope(PURE, state="")
            given = (("a", Number(0, 3)), ("b", Number(0, 3)))
            for name, kind in given:
                scope.bind(name, kind)
            lines = ["def mixed(a: int, b: int) -> int:", f"    if {draw.truth(scope, 1)}:"]
            lines += [
                f"        return {draw.within(scope, Number(0, 5))}",
                f"    return {draw.within(scope, Number(0, 5))}",
            ]
            self.parts.append(lines)
            words.pures.append(Function("mixed", False, False, given, Number(0, 5)))
        rows = [r for r in words.rows if r.name]
        if rows and self.chance(0.4):
            self.parts.append(self.helper_of_row(rows[0]))
        for k in range(self.between(1, 3)):
            returns = self.random.choice([FLAG, Number(0, 4), PROCESS, *words.records])
            given = self.simple_parameters(self.random.choice((0, 1, 1, 2)))
            self.parts.append(self.helper(f"helper_{k}", given, returns))
            words.helpers.append(Function(f"helper_{k}", True, True, given, returns))

    def helper_of_row(self, row: Row) -> Lines:
        """What takes a sequence: how many of its elements are so."""
        scope = Scope(PURE, state="")
        scope.bind("line", row)
        with scope.block(loop=True):
            head = self.draw.over_row(scope)
            test = self.draw.truth(scope, 0)
        name = f"in_{row.name.lower()}"
        self.row_helper = name, row
        lines = ["    n = 0", f"    {head}", f"        if {test}:", "            n = n + 1", "    return n"]
        return [f"def {name}(line: {row.name}) -> int:", *lines]

    def helper(self, name: str, given: tuple[tuple[str, Kind], ...], returns: Kind) -> Lines:
        """A helper that looks at its process, in one of three forms."""
        draw, scope = self.draw, Scope(GUARD, own="p")
        for parameter, kind in given:
            scope.bind(parameter, kind)
        head = f"def {name}(s: State, p: Node{self.annotated(given)}) -> {returns.annotated}:"  # type: ignore[union-attr]
        if self.chance(0.3):
            return [head, f"    return {draw.argument(scope, returns, 2)}"]
        lines = [head]
        if self.chance(0.5):
            with scope.block(loop=True):
                loop = draw.one(draw.over_numbers, draw.over_processes, draw.over_row, draw.over_set)(scope)
                if loop is not None:
                    lines += [INDENT + loop, f"{INDENT * 2}if {draw.truth(scope, 1)}:"]
                    lines += [f"{INDENT * 3}return {draw.argument(scope, returns, 1)}"]
        if len(lines) == 1:
            lines += [f"    if {draw.led(scope, 1)}:", f"        return {draw.argument(scope, returns, 1)}"]
        return [*lines, f"    return {draw.argument(scope, returns, 1)}"]

    def add_observations(self) -> None:
        """What handlers show."""
        for k in range(self.between(1, 2)):
            given = tuple(
                (f"a{j}", self.random.choice([Number(0, 3), FLAG, PROCESS]))
                for j in range(self.random.choice((0, 1, 1)))
            )
            scope = Scope(OBSERVATION)
            scope.names.processes.append("p")
            for name, kind in given:
                scope.bind(name, kind)
            lines = ["@observation", f"def shows_{k}(s: State, p: Node{self.annotated(given)}) -> None:"]
            lines += [
                f'    """The outside sees shows_{k}."""',
                *indented(self.draw.body(scope, self.random.randint(1, 2), 1)),
            ]
            self.parts.append(lines)
            self.words.observations.append(Function(f"shows_{k}", True, True, given, None))

    def add_doers(self) -> None:
        """Helpers that write."""
        for k in range(self.between(0, 2)):
            given = self.simple_parameters(self.random.choice((0, 1)))
            scope = self.handler_scope((), False)
            for name, kind in given:
                scope.bind(name, kind)
            lines = [f"def does_{k}(s: State, p: Node{self.annotated(given)}) -> None:"]
            self.parts.append([*lines, *indented(self.draw.body(scope, 1, 1))])
            self.words.doers.append(Function(f"does_{k}", True, True, given, None))

    def handler_scope(self, may_send: tuple[Mail, ...], may_choose: bool, own: str = "p") -> Scope:
        return Scope(HANDLER, own=own, may_send=may_send, may_choose=may_choose)

    def later(self, k: int) -> tuple[Mail, ...]:
        """The messages that the receipt of the k-th may send: later ones, so that it ends."""
        return tuple(self.words.mails[k + 1 :])

    def use_row_helper(self, scope: Scope) -> Lines:
        """The helper that takes a sequence is called."""
        name, row = getattr(self, "row_helper", ("", None))
        cells = [c for c in self.words.cells if c.kind == row and scope.reads(c)] if row is not None else []
        if not cells or not self.chance(0.3):
            return []
        place = self.draw.place(scope, cells[0])
        return (
            [f"if {name}({place}) {self.draw.one('>', '==')} 1:", *indented(self.draw.body(scope, 1, 0))]
            if place
            else []
        )

    def handled(self, scope: Scope, least: int = 1) -> Lines:
        """The body of a handler."""
        first = [f"if {self.draw.led(scope, 1)}:", f"{INDENT}return"] if self.chance(0.12) else []
        lines = self.draw.body(scope, self.between(least, 3), 2)
        return indented([*first, *lines, *self.use_row_helper(scope)])

    def add_environment(self) -> None:
        words, draw = self.words, self.draw
        if not any(c.role == "environment" for c in words.cells) and not self.chance(0.12):
            return
        everywhere = self.chance(0.3) or not any(c.role == "environment" for c in words.cells)
        scope = Scope(EVERYWHERE if everywhere else SURROUNDINGS)
        guard = Scope(SURROUNDINGS)
        words.budgets["storms"] = 1
        self.parts.append(["def may_change_now(s: State) -> bool:", f"    return {draw.led(guard, 1)}"])
        marks = f'when=may_change_now, budget="storms"{", everywhere=True" if everywhere else ""}'
        lines = [f"@environment_step({marks})", "def changes_now(s: State) -> None:"]
        body = draw.over_processes(scope) if self.chance(0.7) else None
        inner = draw.body(scope, 1, 1)
        if not any(line.strip() != "pass" for line in inner):
            inner = ["pass"]
        lines += [INDENT + body, *indented(indented(inner))] if body else indented(inner)
        self.parts.append(lines)

    def add_actions(self) -> None:
        draw, words = self.draw, self.words
        for k in range(self.between(1, 3)):
            budget = list(words.budgets)[k % len(words.budgets)] if k < 2 or self.chance(0.6) else ""
            guard = Scope(GUARD, own="p")
            test = draw.led(guard, 1)
            may_send = tuple(words.mails) if budget else ()
            scope = self.handler_scope(may_send, self.chance(0.2))
            if k > 0:
                self.parts.append([f"def may_act_{k}(s: State, p: Node) -> bool:", f"    return {test}"])
                marks = [f"when=may_act_{k}"]
            else:
                marks = []
            marks += [f'budget="{budget}"'] if budget else []
            marks += ["fair=False"] if self.chance(0.05) else []
            if self.chance(0.1):
                marks.append(f'name="act number {k}"')
            mark = [f"@action({', '.join(marks)})"]
            if self.chance(0.08):
                mark.append(f'@step("part {k}")')
            sends = draw.send(scope) if budget and words.mails and words.world == "datagrams" else []
            body = self.handled(scope)
            self.parts.append([*mark, f"def act_{k}(s: State, p: Node) -> None:", *body, *indented(sends)])

    def add_start(self) -> None:
        if not self.chance(0.12):
            return
        scope = Scope(START)
        body = self.draw.over_processes(scope)
        inner = self.draw.body(scope, self.random.randint(1, 2), 0)
        self.parts.append(
            [
                "def already(s: State) -> None:",
                '    """Something is so at first."""',
                INDENT + body,
                *indented(indented(inner)),
            ]
        )
        self.declared.append('starts=[Start("already", "something is so at first", already)]')

    def add_initial(self, random: Random) -> None:
        """Let every run begin with a function, and choose in it, or in a start."""
        drawn = random.random()
        for part in self.parts if drawn < 0.5 else []:
            if part[0] == "def already(s: State) -> None:" and part[-1].startswith(INDENT):
                inside = next(k for k, line in enumerate(part) if line.startswith(f"{INDENT}for ")) + 1
                part[inside:] = [2 * INDENT + ALTERNATIVELY, *indented(part[inside:])]
        if drawn > 0.2:
            return
        scope = Scope(START)
        body = self.draw.over_processes(scope)
        inner = indented(indented(self.draw.body(scope, random.randint(1, 2), 0)))
        number = random.choice(("{0, 1, 2}", "range(3)", "range(1, 4)"))
        chosen = [f"{INDENT}a = any_of(s, {number})", f"{INDENT}if a > {random.randint(0, 2)}:"]
        inner = [2 * INDENT + ALTERNATIVELY, *indented(inner)] if random.random() < 0.6 else inner
        whole = [INDENT + body, *inner]
        whole = [*chosen, *indented(whole)] if random.random() < 0.5 else whole
        self.parts.append(["@initial", "def begins(s: State) -> None:", *whole])

    def add_variant(self) -> None:
        helpers = [f for f in self.words.helpers if f.returns == FLAG]
        if not helpers or not self.chance(0.3):
            return
        f = helpers[0]
        head = f"def otherwise(s: State, p: Node{self.annotated(f.parameters)}) -> bool:"
        self.parts.append([head, '    """Always, or never."""', f"    return {self.draw.one('True', 'False')}"])
        self.declared.append(f'variants=[Variant("other", "a rule changed", {{"{f.name}": otherwise}})]')

    # --- the whole ----------------------------------------------------------------------------------

    def built(self) -> Generated:
        words = self.words
        self.declare_types()
        self.declare_fields()
        self.declare_messages()
        self.declare_budgets()
        self.add_helpers()
        self.add_observations()
        self.add_doers()
        world = over_connections if words.world == "connections" else over_datagrams
        world(self)
        self.add_environment()
        self.add_actions()
        self.add_start()
        drawn = self.random.getstate()  # what follows is as without it
        self.add_initial(Random(f"{self.seed} begins"))
        self.random.setstate(drawn)
        shapes = Shapes(self)
        if (action := shapes.action()) is not None:
            self.parts.append(action)
        self.parts += self.draw.judges(self.between(0, 1))
        claims, names = self.draw.claims(self.between(1, 3))
        self.parts += claims
        self.order = words.world == "datagrams" and self.chance(0.03)
        if self.order:
            self.parts += self.draw.of_order("first_of_all")
            names.append("first-of-all")
        if (shaped := shapes.claim("claim_of_shape")) is not None:
            self.parts += shaped
            names.append("claim-of-shape")
        names += Patterns(self).add()
        goals, goal_names = self.draw.goals(1 if self.chance(0.15) else 0)
        self.parts += goals
        self.add_variant()
        names += Features(self, self.wanted).add()
        request = request_for(self, names)
        return Generated(
            self.seed,
            self.text(),
            request,
            tuple(goal_names),
            {"growth": self.growth, "world": words.world, "order": self.order, **self.kept},
        )

    @property
    def kept(self) -> dict[str, Any]:
        """What of the request is neither made larger nor smaller; nothing: whatever it has may be."""
        found = {}
        if self.least:
            found["least"] = {"nodes": 2, "budgets": self.least}
        if self.most:
            found["most"] = self.most
        if self.small:
            found["tries"] = MORE_TRIES
            found.setdefault("least", {"nodes": Random(f"{self.seed} fewest").choice((2, 3)), "budgets": {}})
        return found

    @property
    def parameters(self) -> dict[str, int]:
        """What was drawn as a budget, and no step spends: it only sizes the model."""
        marks = "\n".join(line for lines in self.parts for line in lines)
        spent = {*OF_WORLDS, "elections", *re.findall(r'budget="(\w+)"', marks)}
        return {name: n for name, n in self.words.budgets.items() if name not in spent}

    @property
    def declared_budgets(self) -> dict[str, int]:
        """The budgets that are declared: of a protocol that its world bounds those alone that are not the world's."""
        dropped = {*self.parameters, *({*OF_WORLDS} - self.world_budgets if self.bounded else ())}
        return {name: n for name, n in self.words.budgets.items() if name not in dropped}

    def text(self) -> str:
        words = self.words
        constants = [f"{name} = {value}" for name, value in words.constants.items()]
        enums = {k.names for c in words.cells if isinstance(k := c.kind, Number) and k.names}
        constants += [f"{', '.join(names)} = range({len(names)})" for names in sorted(enums)]
        constants += [f'{role.capitalize()} = NewType("{role.capitalize()}", Node)' for role in self.roles or ()]
        mails = []
        for mail in words.mails:
            parts = [f"    {name}: {kind.declared}" for name, kind in mail.parts.items()]
            to = f', to="{"leader" if mail.up else "follower"}"' if self.ends else ""
            mails.append([f"class {mail.name}(MessageType{to}):", *(parts or ["    pass"])])
        records = [[record.definition] for record in words.records]
        rows = [f"{row.name} = {row.declared}" for row in words.rows]
        state = ["class State(Fields):", *(f"    {c.declared}" for c in words.cells)]
        state += [f'    {name.upper()}: int = parameter("a size", {n})' for name, n in self.parameters.items()]
        given = [f"budgets={self.declared_budgets!r}", *self.declared]
        room = self.room if self.room is not None else str(8 if words.disks else 14)
        given += [f"flight=lambda size: {room}"] if room else []
        if words.world == "connections":
            given.append('world="connections"')
        whole = ["PROTOCOL = declare(", "    __name__,", *(f"    {g}," for g in given), ")"]
        pieces = [constants, *records, rows, *mails, state, *self.parts, whole]
        body = "\n\n\n".join("\n".join(lines) for lines in pieces if lines) + "\n"
        for name in self.parameters:  # of which nothing is left, as nothing spends it
            body = body.replace(f"{name}_left", name.upper())
        named = set(tokens(body))
        used = [n for n in NAMES if n in named and f"def {n}(" not in body]
        head = HEAD.format(seed=self.seed, names="\n    ".join(f"{n}," for n in used))
        typing = [name for name in ("Annotated", "NewType") if name in named]
        if typing:
            line = f"from typing import {', '.join(typing)}"
            head = head.replace("from zabcheck.language", f"{line}\n\nfrom zabcheck.language", 1)
        return head + "\n" + body


def tokens(text: str) -> list[str]:
    """The names in a text."""
    out, word = [], ""
    for c in text:
        if c.isidentifier() or (word and c.isalnum()):
            word += c
        else:
            out.append(word)
            word = ""
    return out
