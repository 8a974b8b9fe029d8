"""Declared features of a protocol (docs/decisions/0009) that random drawing of its text does not come to: bounds of the
world, room of a channel either way, transactions with an observed history, processes that say themselves who is down,
an oracle that names some only.

Each has random numbers of its own, as patterns have: a protocol without a feature is what its seed gave before.
"""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING

from tests.second.generator.crossed import Crossed
from tests.second.generator.kinds import FLAG, PROCESSES, Cell, Mail, Number
from tests.second.generator.maps import Mapped, Maps
from tests.second.generator.roles import Roles
from tests.second.generator.statements import indented
from tests.second.generator.systems import DRAWS as SYSTEM_DRAWS

if TYPE_CHECKING:
    from tests.second.generator.text import Builder

Lines = list[str]
SPENT = re.compile(r'budget="(\w+)"')
SHARE = 0.12  # of protocols that have a feature
OF_WORLDS = ("timeouts", "heartbeats", "crashes", "power_losses", "losses", "partitions", "drops", "duplicates")
CORE = ("integrity", "total-order", "one-leader-an-epoch", "delivered-is-chosen", "unique-zxid", "po-causal-order")
REVISED = "delivered-stands"


class Amount(Number):
    """An integer of a kind that follows from the size."""

    def __init__(self, kind: str) -> None:
        super().__init__(0, 1)
        object.__setattr__(self, "kind", kind)

    @property
    def declared(self) -> str:
        """The annotation."""
        return str(vars(self)["kind"])


class Features:
    """Adds features to a protocol.

    Args:
        builder: of the protocol, of which all else is drawn.
        wanted: features that it has, whatever its numbers say.
    """

    def __init__(self, builder: Builder, wanted: frozenset[str] = frozenset()) -> None:
        self.builder = builder
        self.words = builder.words
        self.wanted = wanted

    def add(self) -> list[str]:
        """Add to the functions, fields and declarations; return the names of further properties."""
        names: list[str] = []
        for way in (self.transactions, self.own_down, self.choosy, self.binding, self.room, self.bounded_by_world):
            random = Random(f"{self.builder.seed} feature {way.__name__}")
            chance = random.random()  # drawn in any case: what is drawn after it does not depend on `wanted`
            if chance < SHARE or way.__name__ in self.wanted:
                names += way(random)
        if "roles" in self.wanted and self.words.world == "datagrams":
            names += Roles(self.builder).add(Random(f"{self.builder.seed} feature roles"))
        if "maps" in self.wanted:
            names += Maps(self.builder, Random(f"{self.builder.seed} feature maps")).add()
        if "crossed" in self.wanted:
            names += Crossed(self.builder, Random(f"{self.builder.seed} feature crossed")).add()
        if "timers" in self.wanted:
            names += self.timers(Random(f"{self.builder.seed} feature timers"))
        if "clocks" in self.wanted and self.words.world == "datagrams":
            names += self.clocks(Random(f"{self.builder.seed} feature clocks"))
        if "members" in self.wanted and self.words.world == "datagrams":
            names += self.members(Random(f"{self.builder.seed} feature members"))
        if "quorums" in self.wanted:  # and in no other: what the seeds of usual campaigns give stays as it is
            names += self.quorums(Random(f"{self.builder.seed} feature quorums"))
        return names

    def defined(self, name: str) -> bool:
        """Return whether a function of this name is drawn already."""
        return any(line.startswith(f"def {name}(") for part in self.builder.parts for line in part)

    def into(self, names: tuple[str, ...], own: str, lines: Lines) -> bool:
        """Put statements at the front of the first of some functions that there is; return whether there is one.

        Args:
            own: the name of the process in `lines`, which is replaced by the one that acts in the function.
        """
        for part in self.builder.parts:
            at = next(
                (k for k, line in enumerate(part) if any(line.startswith(f"def {n}(s: State, ") for n in names)), -1
            )
            if at >= 0:
                acts = part[at].split("s: State, ")[1].split(":")[0]
                part[at + 1 : at + 1] = [f"    {line}".replace(f"[{own}]", f"[{acts}]").replace(
                    f"(s, {own}", f"(s, {acts}") for line in lines]  # fmt: skip
                return True
        return False

    # --- bounds -----------------------------------------------------------------------------------

    def bounded_by_world(self, random: Random) -> list[str]:
        """It has every budget of its world, and declares those of its own, and at times one of the world's."""
        self.builder.bounded = True
        self.builder.declared.append("bounded_by_world=True")
        self.builder.world_budgets = set(OF_WORLDS) if random.random() < 0.2 else set()
        spent = {name for part in self.builder.parts for name in SPENT.findall("\n".join(part))}
        self.builder.world_budgets |= spent  # a step that spends one of the world's says that it is declared
        if random.random() < 0.35:
            self.builder.room = ""  # the room in channels follows from its world
        self.builder.usual = random.random() < 0.3  # the request leaves out what is usual of the world's budgets
        return []

    def room(self, random: Random) -> list[str]:
        """Room in a channel to a leader, and in one to a follower."""
        if self.words.world == "connections":
            self.builder.room = f"({random.choice((6, 9))}, {random.choice((7, 10))})"
        return []

    # --- budgets that bind ---------------------------------------------------------------------------

    def binding(self, random: Random) -> list[str]:
        """Several steps race for the last of one budget, which a fault may cost too; the environment, and properties of
        states and of steps, look at what is left of it."""
        words, parts = self.words, self.builder.parts
        faults = [
            name for name in ("crashes", "timeouts", "losses") if words.world == "connections" or name == "crashes"
        ]
        budget = random.choice(("requests", "requests", "requests", random.choice(faults)))
        if budget in faults:
            words.budgets.setdefault(budget, 1)
        self.builder.least[budget] = random.choice((1, 1, 2))
        self.builder.most[budget] = self.builder.least[budget]  # it stays as small as it is
        words.cells += [
            Cell("taken", Number(0, 2), random.choice(("stored", "volatile"))),
            Cell("after", FLAG, "stored"),
        ]
        left = f"s.{budget}_left"
        if random.random() < 0.7:
            parts.append([f'@action(budget="{budget}")', "def takes_one(s: State, p: Node) -> None:",
                          "    s.taken[p] = min(s.taken[p] + 1, 2)"])  # fmt: skip
        when = random.choice(("s.role[p] == LEADING", "s.role[p] == FOLLOWING", "s.taken[p] == 0", "not s.after[p]"))
        when = when if words.world == "connections" else "s.taken[p] == 0"
        gives = ["    s.after[p] = True", *self.some(random, ("    disconnect(s, p)", "    s.role[p] = LOOKING"))]
        gives = gives if words.world == "connections" else gives[:1]
        parts += [
            ["def may_take_other(s: State, p: Node) -> bool:", f"    return {when}"],
            [f'@action(when=may_take_other, budget="{budget}")', "def takes_other(s: State, p: Node) -> None:", *gives],
            ["def may_go_on(s: State, p: Node) -> bool:", "    return s.taken[p] > 0 and not s.after[p]"],
            ["@action(when=may_go_on)", "def goes_on(s: State, p: Node) -> None:", "    s.after[p] = True"],
        ]
        if random.random() < 0.5:
            self.season(random, budget, left)
        return self.claims_of_budget(random, budget, left)

    def season(self, random: Random, budget: str, left: str) -> None:
        """The environment changes once, by what is left of the budget, or at its cost; a process may act only then."""
        self.words.cells.append(Cell("season", Number(0, 1), "environment"))
        may = random.choice((f"s.season == 0 and {left} == 0", f"s.season == 0 and {left} > 0", "s.season == 0"))
        costs = f', budget="{budget}"' if random.random() < 0.3 else ""
        self.builder.parts += [
            ["def season_may_change(s: State) -> bool:", f"    return {may}"],
            [f"@environment_step(when=season_may_change{costs})", "def season_changes(s: State) -> None:",
             "    s.season = 1"],
            ["def may_in_season(s: State, p: Node) -> bool:", "    return s.season == 1 and s.taken[p] < 2"],
            ["@action(when=may_in_season)", "def acts_in_season(s: State, p: Node) -> None:",
             f"    s.taken[p] = {random.choice(('2', 'min(s.taken[p] + 1, 2)'))}"],
        ]  # fmt: skip

    def claims_of_budget(self, random: Random, budget: str, left: str) -> list[str]:
        """A property of states that reads what is left, and one of steps that spend."""
        words = self.words
        names: list[str] = []
        loop, end = "    for p in range(s.NODES):", ["            return False", "    return True"]
        if random.random() < 0.6:
            tests = ["s.after[p]", "s.taken[p] == 2", "s.taken[p] == 0 and s.after[p]"]
            if words.world == "connections":
                tests += ["s.role[p] == FOLLOWING and s.taken[p] == 2", "s.role[p] == FOLLOWING and s.after[p]"]
            test = random.choice(tests)
            over = random.choice(("== 0", "> 0", "== 1"))
            self.builder.parts += [
                ["def claim_of_budget_premise(s: State) -> bool:", '    """The last is spent."""',
                 f"    return {left} == 0"],
                ["@safety(witness=claim_of_budget_premise)", "def claim_of_budget(s: State) -> bool:",
                 f'    """What {budget} are left says what a process has."""', loop,
                 f"        if {left} {over} and {test}:", *end],
            ]  # fmt: skip
            names.append("claim-of-budget")
        if random.random() < 0.4:
            given = "(before: State, event: State, after: State) -> bool:"
            spends = f"after.{budget}_left < before.{budget}_left"
            test = random.choice(("before.after[p]", "after.taken[p] == 1 and before.taken[p] == 1",
                                  f"after.{budget}_left == 0 and before.taken[p] > 0"))  # fmt: skip
            self.builder.parts += [
                [f"def claim_of_spending_premise{given}", '    """A step spends."""', f"    return {spends}"],
                ['@safety(over="step", witness=claim_of_spending_premise)', f"def claim_of_spending{given}",
                 '    """Nothing is spent where it should not be."""', f"    if {spends}:",
                 "        for p in range(after.NODES):", f"            if {test}:", "                return False",
                 "    return True"],
            ]  # fmt: skip
            names.append("claim-of-spending")
        return names

    # --- timers ---------------------------------------------------------------------------------------

    def timers(self, random: Random) -> list[str]:
        """A timer that is armed, may fire, and may arm itself again; a property of what it has done."""
        kind, of = ("Server", "server") if self.builder.roles else ("Node", "")
        parts = self.builder.parts
        self.words.cells += [
            Mapped("alarm", FLAG, "timer", said="", of=of),
            Mapped(
                "rang", Number(0, 2), random.choice(("stored", "volatile")), said="Annotated[int, Range(0, 2)]", of=of
            ),
        ]
        test = random.choice(("s.rang[p] < 2", "not s.alarm[p] and s.rang[p] < 2", "s.rang[p] == 0"))
        again = random.choice(([], ["    if s.rang[p] < 2:", "        s.alarm[p] = True"]))
        more = [f"budget={name!r}" for name in ("requests",) if random.random() < 0.4]
        more += ["when=may_fire"] if random.random() < 0.4 else []
        if "when=may_fire" in more:
            said = random.choice(("s.rang[p] == 0", "s.rang[p] < 2", "s.alarm[p]"))
            parts.append([f"def may_fire(s: State, p: {kind}) -> bool:", f"    return {said}"])
        parts += [
            [f"def may_arm(s: State, p: {kind}) -> bool:", f"    return {test}"],
            [f"@action(when=may_arm{random.choice(('', ', budget=' + repr('requests')))})",
             f"def arms(s: State, p: {kind}) -> None:", "    s.alarm[p] = True"],
            [f"@fires({', '.join([repr('alarm'), *more])})", f"def rings(s: State, p: {kind}) -> None:",
             f"    s.rang[p] = min(s.rang[p] + {random.choice(('1', '2', '(1 if s.alarm[p] else 2)'))}, 2)", *again],
        ]  # fmt: skip
        if not of:
            self.into(random.choice((("on_recovery",), ("on_crash",), ("on_start",))), "p", ["s.alarm[p] = True"])
        loop = "processes(s, Server)" if of else "range(s.NODES)"
        claim = random.choice(("s.alarm[p] and s.rang[p] == 2", "s.rang[p] == 2", "s.alarm[p] and s.rang[p] == 1"))
        parts += [
            ["def claim_of_timers_premise(s: State) -> bool:", '    """A timer is armed."""', f"    for p in {loop}:",
             "        if s.alarm[p]:", "            return True", "    return False"],
            ["@safety(witness=claim_of_timers_premise)", "def claim_of_timers(s: State) -> bool:",
             '    """Nothing is so of a timer."""', f"    for p in {loop}:", f"        if {claim}:",
             "            return False", "    return True"],
        ]  # fmt: skip
        return ["claim-of-timers"]

    # --- clocks -----------------------------------------------------------------------------------------

    def clocks(self, random: Random) -> list[str]:
        """A clock that is set and asked, and a lease that ends; a property of what is left of both."""
        kind, of = ("Server", "server") if self.builder.roles else ("Node", "")
        parts, most = self.builder.parts, random.choice((1, 2))
        kept = random.choice(("", ", kept=True"))
        held, given = random.choice((("bool", "True"), ("Annotated[int, Range(0, 2)]", "2"), ("Node", "p")))
        whose = of if random.random() < 0.7 else ""
        self.words.cells += [
            Mapped("wait", FLAG, "clock", said="int", of=whose, more=f", {most}{kept}"),
            Mapped("own", FLAG, "lease", said=held, of=whose, more=f", {most}{random.choice(('', kept))}"),
        ]  # fmt: skip
        test = random.choice(("s.wait[p] == 0", "s.own_left[p] == 0", "s.wait[p] < s.own_left[p]", "s.wait[p] == 0"))
        does = random.choice((
            ["    s.wait[p] = 1"], [f"    s.wait[p] = {most}", f"    s.own_left[p] = {most}"],
            ["    if s.wait[p] == 0:", f"        s.own_left[p] = {most}", f"    s.wait[p] = {most}"],
        ))  # fmt: skip
        budget = random.choice(("", ", budget='requests'"))
        parts += [
            [f"def may_wait(s: State, p: {kind}) -> bool:", f"    return {test}"],
            [f"@action(when=may_wait{budget})", f"def waits(s: State, p: {kind}) -> None:",
             "    s.own_left[p] = 1", "    s.wait[p] = 1", *does, f"    s.own[p] = {given}"],
        ]  # fmt: skip
        self.into((random.choice(("on_recovery", "on_crash")),), "p", [f"s.wait[p] = {most}"]) if not of else None
        loop = "processes(s, Server)" if of else "range(s.NODES)"
        claim = random.choice(("s.wait[p] > s.own_left[p]", "s.wait[p] == 0 and s.own_left[p] > 0", "s.wait[p] > 0"))
        parts += [
            ["def claim_of_clocks_premise(s: State) -> bool:", '    """A clock runs."""', f"    for p in {loop}:",
             "        if s.wait[p] > 0:", "            return True", "    return False"],
            ["@safety(witness=claim_of_clocks_premise)", "def claim_of_clocks(s: State) -> bool:",
             '    """Nothing is so of a clock."""', f"    for p in {loop}:", f"        if {claim}:",
             "            return False", "    return True"],
        ]  # fmt: skip
        self.builder.declared.append(f"drift={random.choice((0, 1, 1, 2))}")
        return ["claim-of-clocks"]

    # --- members ----------------------------------------------------------------------------------------

    def members(self, random: Random) -> list[str]:
        """Processes that join and leave, with a view of who is a member; a property of who is one."""
        roles, parts = self.builder.roles, self.builder.parts
        kind, of = ("Server", "server") if roles else ("Node", "")
        kept = random.choice(("stored", "volatile"))
        self.words.cells.append(Mapped("knows", FLAG, kept, said="set[Node]", of=of))
        more = [f"budget={'requests'!r}"] if random.random() < 0.3 else []
        more += ["when=may_move"] if random.random() < 0.5 else []
        more += ["fair=True"] if random.random() < 0.2 and "budget" not in "".join(more) else []
        test = random.choice(
            ("p not in s.knows[p]", "len(s.members) > 1", "len(s.departed) == 0", "len(s.members) < 2")
        )
        enough = random.choice(("s.members", "s.knows[p]", "s.departed"))
        does = random.choice(
            (["    s.knows[p].add(p)"], ["    s.knows[p] = s.members"], ["    s.knows[p] = s.departed"])
        )
        joins, leaves = (random.random() < share for share in (0.9, 0.8))
        parts.append([f"def may_move(s: State, p: {kind}) -> bool:", f"    return {test}"])
        if joins or not leaves:
            parts.append([f"@joins({', '.join(more)})", f"def comes_in(s: State, p: {kind}) -> None:", *does])
        if leaves:
            said = random.choice((", when=may_move", ""))
            parts.append(
                [f"@leaves(name='goes'{said})", f"def goes(s: State, p: {kind}) -> None:", "    s.knows[p].clear()"]
            )
        parts += [
            [f"def knows_enough(s: State, p: {kind}) -> bool:", f"    return is_quorum(s, s.knows[p], {enough})"],
            ["@action(when=may_move)", f"def looks_round(s: State, p: {kind}) -> None:",
             "    if not knows_enough(s, p):", "        s.knows[p] = s.members", "        s.knows[p].discard(p)"],
        ]  # fmt: skip
        loop = "processes(s, Server)" if of else "range(s.NODES)"
        claim = random.choice(("is_down(s, p) and p in s.members", "p in s.departed", "knows_something(s, p)"))
        parts += [
            [f"def knows_something(s: State, p: {kind}) -> bool:", "    return is_quorum(s, s.members, s.knows[p])"],
            ["def claim_of_members_premise(s: State) -> bool:", '    """Somebody has left."""', f"    for p in {loop}:",
             "        if p in s.departed:", "            return True", "    return False"],
            ["@safety(witness=claim_of_members_premise)", "def claim_of_members(s: State) -> bool:",
             '    """Nothing is so of a member."""', f"    for p in {loop}:", f"        if {claim}:",
             "            return False", "    return True"],
        ]  # fmt: skip
        count = random.choice((0, 1, 1, 2)) if not of else random.choice((0, 1))
        self.builder.declared.append(f"members={{'server': {count}}}" if of else f"members={count}")
        return ["claim-of-members"]

    # --- quorums --------------------------------------------------------------------------------------

    def quorums(self, random: Random) -> list[str]:
        """Processes gather others, and decide once these are a quorum; properties ask whether sets are quorums."""
        self.builder.system = random.randrange(SYSTEM_DRAWS)
        self.words.cells += [
            Cell("backers", PROCESSES, random.choice(("stored", "volatile"))),
            Cell("backed", FLAG, random.choice(("stored", "volatile"))),
        ]
        for part in self.builder.parts:
            if part[0] == "@receives" and random.random() < 0.8:
                self.heard(random, part)
        others = ["    for q in range(s.NODES):", "        if q != p:", "            s.backers[p].add(q)"]
        gathers = random.choice((["    s.backers[p].add(p)"], ["    s.backers[p].add(p)"], others))
        may = random.choice(("p not in s.backers[p]", "not is_quorum(s, s.backers[p])", "len(s.backers[p]) == 0"))
        may = "len(s.backers[p]) == 0" if gathers is others else may
        decides = random.choice(("enough(s, s.backers[p])", "is_quorum(s, s.backers[p])",
                                 "not enough(s, s.backers[p]) and p in s.backers[p]"))  # fmt: skip
        clears = ["    s.backers[p].clear()"] if random.random() < 0.3 else []
        self.builder.parts += [
            ["def enough(s: State, members: Members) -> bool:", "    return is_quorum(s, members)"],
            ["def may_gather(s: State, p: Node) -> bool:", f"    return not s.backed[p] and {may}"],
            ["@action(when=may_gather)", "def gathers(s: State, p: Node) -> None:", *gathers],
            ["def may_decide(s: State, p: Node) -> bool:", f"    return not s.backed[p] and {decides}"],
            ["@action(when=may_decide)", "def decides(s: State, p: Node) -> None:", "    s.backed[p] = True", *clears],
        ]
        return self.claims_of_quorums(random)

    def heard(self, random: Random, part: Lines) -> None:
        """A receipt adds its sender, or the process itself, to a set, and may decide."""
        at = next(k for k, line in enumerate(part) if line.startswith("def "))
        given = part[at].split("s: State, ")[1]
        own = given.split(":")[0]
        who = [word for word in ("source", "f", "l", "p") if f"{word}: Node" in given]
        more = [f"    if enough(s, s.backers[{own}]):", f"        s.backed[{own}] = True"]
        part[at + 1 : at + 1] = [
            f"    s.backers[{own}].add({random.choice(who)})", *(more if random.random() < 0.4 else []),
        ]  # fmt: skip

    def claims_of_quorums(self, random: Random) -> list[str]:
        """A property of states that asks of sets whether they are quorums."""
        these = "{q for q in range(s.NODES) if s.backed[q]}"
        alone = "s.backed[p] and not is_quorum(s, s.backers[p])"
        tests = [
            alone,
            alone,
            "s.backed[p] and not among",
            "is_quorum(s, s.backers[p]) and s.backed[p]",
        ]
        self.builder.parts += [
            ["def claim_of_quorums_premise(s: State) -> bool:", '    """Those that have decided are a quorum."""',
             f"    return is_quorum(s, {these})"],
            ["@safety(witness=claim_of_quorums_premise)", "def claim_of_quorums(s: State) -> bool:",
             '    """Who has decided has what it needs."""', f"    among = is_quorum(s, {these})",
             "    for p in range(s.NODES):",
             f"        if {random.choice(tests)}:", "            return False", "    return True"],
        ]  # fmt: skip
        return ["claim-of-quorums"]

    # --- who is down, and whom an oracle names -------------------------------------------------------

    def own_down(self, random: Random) -> list[str]:
        """A field of the protocol says who is down."""
        if self.words.disks or self.defined("on_crash") or self.defined("on_recovery"):
            return []
        self.words.cells.append(Cell("gone", FLAG, "stored"))
        forgets = ["    forget(s, p)"] if random.random() < 0.8 else []
        if self.words.world == "connections" and not forgets:
            forgets = ["    s.role[p] = LOOKING", "    s.leader[p] = NOBODY"]
        self.builder.parts += [
            ["def is_down(s: State, p: Node) -> bool:", "    return s.gone[p]"],
            ["def on_crash(s: State, p: Node) -> None:", *forgets, "    s.gone[p] = True"],
            ["def on_recovery(s: State, p: Node) -> None:", "    s.gone[p] = False"],
        ]
        self.builder.parts = [p for p in self.builder.parts if not p[0].startswith("def starts_at_once(")]
        return []

    def choosy(self, random: Random) -> list[str]:
        """The oracle names those only of which something is so: it may look at every process."""
        if self.words.world != "connections" or not self.defined("on_oracle"):
            return []
        numbers = [c.name for c in self.words.cells if c.of_process and not c.axes and type(c.kind) is Number
                   and c.name not in ("role", "leader")]  # fmt: skip
        tests = ["s.role[l] != FOLLOWING", "l == p or s.role[l] == LEADING"]
        tests += [f"s.{name}[l] >= s.{name}[p]" for name in numbers[:2]]
        self.builder.parts.append(
            ["def oracle_may_name(s: State, p: Node, l: Node) -> bool:", f"    return {random.choice(tests)}"]
        )
        return []

    # --- transactions -------------------------------------------------------------------------------

    def transactions(self, random: Random) -> list[str]:
        """Leaders abcast what others accept and deliver; the world keeps what a run shows of it."""
        connected = self.words.world == "connections"
        if not connected and self.defined("on_message"):
            return []
        words, builder = self.words, self.builder
        builder.transactions = True
        builder.declared.append("transactions=True")
        words.cells += [Cell("age", Amount("Epoch"), "stored"), Cell("chain", Amount("History"), "stored")]
        words.mails.append(Mail("PROPOSE", {"t": Amount("Txn")}, up=False))
        counter = "s.age[p]", random.choice(("min(len(s.chain[p]) + 1, s.TXNS)", "1", "min(s.age[p], s.TXNS)"))
        leads = "s.role[p] == LEADING" if connected else random.choice(("True", "s.age[p] > 0", "s.age[p] == 0"))
        fits = "len(s.chain[p]) < s.TXNS"
        builder.parts += [
            ["def may_abcast(s: State, p: Node) -> bool:", f"    return {leads} and {fits}"],
            ["def on_abcast(s: State, p: Node) -> None:", f"    t = abcast(s, p, {', '.join(counter)})",
             "    s.chain[p].append(t)",
             *self.some(random, ("    accept(s, p, s.age[p], t)", "    abdeliver(s, p, t)")),
             "    for q in range(s.NODES):", "        if q != p:",
             f"            {'send_to_follower' if connected else 'send'}(s, p, q, PROPOSE(t=t))"],
        ]  # fmt: skip
        own = "f" if connected else "p"
        heard = self.some(random, (
            f"    accept(s, {own}, min(s.age[{own}], m.t.epoch), m.t)", f"    abdeliver(s, {own}, m.t)",
            f"    if len(s.chain[{own}]) < s.TXNS:\n        s.chain[{own}].append(m.t)",
        ))  # fmt: skip
        lines = [line for part in heard or ["    pass"] for line in part.split("\n")]
        builder.parts.append(["@receives", f"def on_propose(s: State, {own}: Node, m: PROPOSE) -> None:", *lines])
        self.ages(random, connected)
        return self.judged(random)

    @staticmethod
    def some(random: Random, lines: tuple[str, ...]) -> Lines:
        """Some of several lines, in their order."""
        return [line for line in lines if random.random() < 0.75]

    def ages(self, random: Random, connected: bool) -> None:
        """A process begins an epoch, and what it shows then and as it gives up."""
        begins = ["if s.age[p] < s.EPOCHS:", "    s.age[p] += 1"]
        begins += self.some(random, ("establish(s, s.age[p], s.chain[p])", "end_synchronization(s, p)"))
        ends = self.some(random, ("end_pass(s, p)", "end_leadership(s, p)"))
        if self.revises(random):
            ends += ["revise(s, p, s.chain[p])"] if random.random() < 0.5 else [
                "if len(s.chain[p]) > 0:", "    s.chain[p].pop(0)", "    revise(s, p, s.chain[p])",
            ]  # fmt: skip
        if connected:
            self.into(("on_elected", "on_oracle"), "p", begins)
            self.into(("on_leader_lost",), "p", ends)
            self.into(("on_timeout", "on_follower_lost"), "p", ends)
        else:
            body = [*begins, *ends]
            self.builder.parts.append(
                [
                    '@action(budget="requests")',
                    "def begins_epoch(s: State, p: Node) -> None:",
                    *indented(body),
                ]
            )

    def revises(self, random: Random) -> bool:
        """Return whether a process may replace what it has delivered; the protocol then declares it."""
        if random.random() < 0.4:
            self.builder.declared.append("revises=True")
            return True
        return False

    def judged(self, random: Random) -> list[str]:
        """Some of the properties of atomic broadcast, and the epochs that there are."""
        if random.random() < 0.6:
            most = random.choice(("size.nodes", "2", "1 + size.crashes"))
            self.builder.declared.append(f"epochs=lambda size: {most}")
        names = random.sample(CORE, 3)
        return [*names, REVISED] if "revises=True" in self.builder.declared else names
