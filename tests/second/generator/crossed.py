"""Roles, maps, timers, faults, observers and budgets together: servers (or processes) that tell each other records with
sets in them, keep one for each client, show what they keep, and answer clients, whose timers fire.

What `roles`, `maps` and `timers` draw each for itself, a protocol with `crossed` has in one step: a map keyed by a role
whose values are records or sets, a record in a message between two of one role, a member that is chosen, a volatile map
that a crash takes and what runs at recovery fills, a map that is shown, one that the environment changes, a bag of
records, a third role."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from tests.second.generator.kinds import FLAG, Mail, Number, key
from tests.second.generator.maps import Entry, Mapped, Said, class_of

if TYPE_CHECKING:
    from tests.second.generator.text import Builder

Lines = list[str]


class Crossed:
    """Adds them to a protocol.

    Args:
        builder: of the protocol, of which all else is drawn.
    """

    def __init__(self, builder: Builder, random: Random) -> None:
        self.builder, self.parts, self.words, self.random = builder, builder.parts, builder.words, random
        self.roles = builder.roles is not None
        self.owner, self.key = ("Server", "Client") if self.roles else ("Node", "Node")
        self.keys = "processes(s, Client)" if self.roles else "range(s.NODES)"
        self.owners = "processes(s, Server)" if self.roles else "range(s.NODES)"
        self.some_key = "any_of(s, Client)" if self.roles else "any_process(s)"
        self.some_owner = "any_of(s, Server)" if self.roles else "any_process(s)"
        self.mailed = self.words.world == "datagrams" and not any(
            line.startswith("def on_message(") for part in builder.parts for line in part
        )
        self.has = {what: random.random() < 0.55 for what in (
            "groups", "ring", "bag", "tally", "shown", "board", "patience", "keeper", "start", "hears",
        )}  # fmt: skip
        self.has["keeper"] &= self.roles and self.mailed and random.random() < 0.6
        self.has["patience"] &= self.mailed
        self.has["hears"] |= self.has["patience"]
        self.how = ["stored", "volatile", "volatile", *(["on_disk"] if self.words.disks else [])]

    def add(self) -> list[str]:
        """Add fields, steps and properties; return the names of the properties."""
        self.builder.small = True
        self.declare()
        if self.has["shown"]:
            self.shows()
        self.names_one()
        if self.mailed:
            self.gossips()
            self.merges()
            self.is_told()
        if self.has["keeper"]:
            self.keeps()
        if self.has["patience"]:
            self.is_patient()
        if self.has["board"]:
            self.board_changes()
        self.tidies()
        self.comes_back()
        if self.has["start"] and not any("starts=" in d for d in self.builder.declared):
            self.begins()
        names = [*self.of_states(), *self.of_steps(), *self.of_shown(), *self.of_mail()]
        self.waits(Random(f"{self.builder.seed} waits"))
        return names

    def waits(self, random: Random) -> None:
        """What nobody of a role should wait for in vain."""
        if random.random() < 0.5:
            return
        own = ["len(s.groups[p][0]) > 0"] if self.has["groups"] else []
        own += ["s.tally[p][0] > 0"] if self.has["tally"] else []
        own += ["len(s.pile[p]) > 0"] if self.has["bag"] else []
        of_owner = [*own, "any_kept(s, p)"]
        of_key = ["s.patience[p]", "s.patience[p] and unheard(s, p)"] if self.has["patience"] else []
        of_key += ["unheard(s, p)"] if self.has["hears"] else []
        kind, test = random.choice([(self.owner, t) for t in of_owner] + [(self.key, t) for t in of_key])
        if "any_kept" in test:
            row = random.choice(("s.ledger[p][c].hot", "s.ledger[p][c].stamp == NOTHING", "s.ledger[p][c].who == c"))
            self.parts.append([f"def any_kept(s: State, p: {kind}) -> bool:", f"    for c in {self.keys}:",
                               f"        if {row}:", "            return True", "    return False"])  # fmt: skip
        if "unheard" in test:
            self.parts.append([f"def unheard(s: State, p: {kind}) -> bool:", f"    for q in {self.owners}:",
                               "        if s.hears[p][q] == NOTHING:", "            return True",
                               "    return False"])  # fmt: skip
        self.parts.append(["@progress", f"def is_done_with(s: State, p: {kind}) -> bool:", '    """It is done with."""',
                           f"    return {test}"])  # fmt: skip

    # --- what there is ------------------------------------------------------------------------------

    def declare(self) -> None:
        """The fields, the record, the messages and a budget."""
        random, words = self.random, self.words
        keyed, ringed = ("Client", "Server") if self.roles else ("Node", "Node")
        optional = "Annotated[int, Maybe(Range(0, 1))]"
        of, of_key = ("server", "client") if self.roles else ("", "")
        record = [
            ("who", keyed),
            ("members", f"set[{ringed}]"),
            ("stamp", optional),
            ("hot", "bool"),
        ]
        random.shuffle(record)
        words.records.append(Entry("Item", class_of("Item", record)))  # type: ignore[arg-type]
        fields = [("ledger", f"Each[{keyed}, Item]", of)]
        fields += [("groups", f"Each[{key(2)}, set[{keyed}]]", of)] if self.has["groups"] else []
        fields += [("ring", f"Each[{ringed}, {optional}]", of)] if self.has["ring"] else []
        fields += [("pile", "Annotated[SeqOf[Item], AtMost(2, bag=True)]", of)] if self.has["bag"] else []
        fields += [("tally", f"Each[{key(2)}, Annotated[int, Range(0, 2)]]", of)] if self.has["tally"] else []
        fields += [("hears", f"Each[{ringed}, {optional}]", of_key)] if self.has["hears"] else []
        for name, kind, whose in fields:
            how = random.choice(self.how)  # a bag is on no disk
            how = "stored" if name == "pile" and how == "on_disk" else how
            words.cells.append(Mapped(name, Number(0, 2), how, said=kind, of=whose))
        if self.has["patience"]:
            words.cells.append(Mapped("patience", FLAG, "timer", of=of_key))
        if self.has["keeper"]:
            self.builder.roles = (*self.builder.roles, "keeper")  # type: ignore[misc]
            at = self.builder.declared.index('roles={"client": 1, "server": 1}')
            self.builder.declared[at] = 'roles={"client": 1, "server": 1, "keeper": 1}'
            kind = f"Each[Client, set[{ringed}]]"
            words.cells.append(Mapped("holders", Number(0, 2), random.choice(self.how), said=kind, of="keeper"))
            words.mails.append(Mail("KEEP", {"item": Said("Item")}))
        numbers, flags = "Annotated[int, Range(0, 2)]", "Annotated[int, Range(0, 1)]"
        if self.has["shown"]:
            words.cells.append(Mapped("shown_items", Number(0, 2), "ghost", said=f"Each[{keyed}, {numbers}]"))
        if self.has["board"]:
            words.cells.append(Mapped("board", Number(0, 2), "environment", said=f"Each[{keyed}, {flags}]"))
        if self.mailed:
            words.mails.append(Mail("GOSSIP", {"item": Said("Item"), "again": FLAG}))
            words.mails.append(Mail("TOLD", {"item": Said("Item"), "of": Said(f"set[{ringed}]")}))
        words.budgets["gossips"] = random.choice((1, 1, 2))

    def made(self, who: str, members: tuple[str, ...], stamp: tuple[str, ...], hot: tuple[str, ...]) -> str:
        """A record, of alternatives for each of its parts."""
        parts = [("who", who), *((name, self.random.choice(of)) for name, of in
                                 (("members", members), ("stamp", stamp), ("hot", hot)))]  # fmt: skip
        self.random.shuffle(parts)
        return f"Item({', '.join(f'{name}={value}' for name, value in parts)})"

    def gathered(self, *tests: str) -> str:
        """A set of servers of which something is so."""
        return f"{{q for q in {self.owners} if {self.random.choice(tests)}}}"

    def shown(self, of: str, own: str = "p") -> Lines:
        """What is shown of a client, perhaps."""
        if not self.has["shown"] or self.random.random() < 0.4:
            return []
        return [f"shows_item(s, {own}, {of}, {self.random.choice(('1', '2', f's.ledger[{own}][{of}].stamp'))})"]

    # --- steps --------------------------------------------------------------------------------------

    def shows(self) -> None:
        """The outside sees what is kept of a client: a number, which is -1 of an optional one that is not there."""
        body = self.random.choice((
            ["    if n != NOTHING:", "        s.shown_items[c] = n"],
            ["    if n != NOTHING and n > 0 and s.shown_items[c] < 2:", "        s.shown_items[c] += 1"],
            ["    s.shown_items[c] = max(n if n != NOTHING else 0, s.shown_items[c])"],
        ))  # fmt: skip
        self.parts.append(
            ["@observation", f"def shows_item(s: State, p: {self.owner}, c: {self.key}, n: int) -> None:",
             '    """What is kept of a client."""', *body]
        )  # fmt: skip

    def marks(self, when: str, budget: str = "") -> str:
        """What an action is marked with: when, its price, and how it is fair."""
        said = [f"when={when}"] if when else []
        said += [f'budget="{budget}"'] if budget else []
        if not budget:
            said += self.random.choice(([], [], ['fair="strong"'], ['fair_to="action"'], ["fair=False"]))
        return f"@action({', '.join(said)})" if said else "@action"

    def names_one(self) -> None:
        """A server begins to keep something of a client that it chooses."""
        random = self.random
        may = random.choice(("len(s.ledger[p][c].members) == 0", "s.ledger[p][c].stamp == NOTHING",
                             "s.ledger[p][c].who == NOBODY"))  # fmt: skip
        made = self.made("c", (self.gathered("q == p", "q != p"),), ("NOTHING", "0", "n"), ("True", "n == 1"))
        chosen = ["    n = choose(s, 2)"] if "n == 1" in made or "=n" in made else []
        lines = [f"    c = {self.some_key}", *chosen, f"    if {may}:", f"        s.ledger[p][c] = {made}",
                 *(f"        {line}" for line in self.shown("c"))]  # fmt: skip
        if self.has["groups"]:
            lines.append(f"    s.groups[p][{random.choice((0, 1))}].add(c)")
        self.parts.append([self.marks("", "gossips"), f"def names_one(s: State, p: {self.owner}) -> None:", *lines])

    def gossips(self) -> None:
        """A server tells another of its role, or all, what it keeps of some client."""
        random = self.random
        test = random.choice(("s.ledger[p][c].who != NOBODY", "s.ledger[p][c].hot", "len(s.ledger[p][c].members) > 0"))
        item = random.choice(("s.ledger[p][c]", self.made("c", ("s.ledger[p][c].members", self.gathered("q == p")), (
            "s.ledger[p][c].stamp", "1"), ("False", "s.ledger[p][c].hot"))))  # fmt: skip
        again = random.choice(("True", "False", "s.ledger[p][c].hot"))
        one = [f"        item = {item}", f"        send(s, p, {self.some_owner}, GOSSIP(item=item, again={again}))"]
        every = [f"        item = {item}", f"        for r in {self.owners}:", "            if r != p:",
                 f"                send(s, p, r, GOSSIP(item=item, again={again}))"]  # fmt: skip
        self.parts.append(
            [self.marks("", "requests"), f"def gossips(s: State, p: {self.owner}) -> None:", f"    c = {self.some_key}",
             f"    if {test}:", *random.choice((one, every))]
        )  # fmt: skip

    def merges(self) -> None:
        """Who is told merges it with what it keeps, and tells the client, and others once more."""
        random, row = self.random, "s.ledger[p][c]"
        stamp = random.choice((
            ["        n = m.item.stamp",
             f"        if {row}.stamp != NOTHING and m.item.stamp != NOTHING and {row}.stamp > m.item.stamp:",
             f"            n = {row}.stamp"],
            ["        n = m.item.stamp"],
            [f"        n = {row}.stamp", "        if m.item.stamp != NOTHING and (n == NOTHING or m.item.stamp > n):",
             "            n = m.item.stamp"],
            [f"        n = {row}.stamp", "        if newer(s, p, m.item.stamp, n):", "            n = m.item.stamp"],
        ))  # fmt: skip
        if any("newer(" in line for line in stamp):
            test = random.choice(
                (
                    "one != NOTHING and (other == NOTHING or one > other)",
                    "one == NOTHING or one == other",
                    "one != NOTHING and other != NOTHING and one * 2 > other + 1",
                )
            )
            head = "def newer(s: State, p: Node, one: int, other: int) -> bool:"
            self.parts.append([head, f"    return {test}"])
        union = self.gathered(f"q in m.item.members or q in {row}.members", f"q == source or q in {row}.members",
                              "q == p or q in m.item.members")  # fmt: skip
        hot = (f"{row}.hot or m.again", "m.item.hot", f"m.item == {row}", f"{row}.who == NOBODY")
        lines = ["    c = m.item.who", "    if c != NOBODY:", *stamp,
                 f"        {row} = {self.made('c', (union, 'm.item.members'), ('n',), hot)}"]  # fmt: skip
        if self.has["ring"]:
            lines.append("        s.ring[p][source] = n")
        if self.has["tally"]:
            lines += ["        if n != NOTHING and s.tally[p][n] < 2:", "            s.tally[p][n] += 1"]
        if self.has["bag"]:
            lines += ["        if m.item not in s.pile[p] and len(s.pile[p]) < 2:",
                      "            s.pile[p].append(m.item)"]  # fmt: skip
        lines += [f"        {line}" for line in self.shown("c")]
        many = self.random.choice((f"{row}.members", "m.item.members"))
        lines += [f"        send(s, p, c, TOLD(item={random.choice((row, 'm.item'))}, of={many}))"]
        if random.random() < 0.4:
            lines += ["    if m.again:", f"        send(s, p, {self.some_owner}, GOSSIP(item=m.item, again=False))"]
        if self.has["keeper"]:
            lines += [f"    send(s, p, {random.choice(('any_of(s, Keeper)', 'any_of(s, Keeper)'))}, KEEP(item=m.item))"]
        self.parts.append(
            ["@receives", f"def on_gossip(s: State, p: {self.owner}, source: {self.owner}, m: GOSSIP) -> None:", *lines]
        )

    def is_told(self) -> None:
        """A client hears of servers."""
        random = self.random
        lines: Lines = []
        if self.has["hears"]:
            lines += random.choice((
                ["    s.hears[p][source] = m.item.stamp"],
                ["    for q in m.item.members:", "        if s.hears[p][q] == NOTHING:",
                 "            s.hears[p][q] = 0"],
                ["    for q in m.of:", "        s.hears[p][q] = 1"],
            ))  # fmt: skip
        if self.has["patience"]:
            lines += random.choice((
                ["    s.patience[p] = True"], ["    s.patience[p] = m.item.hot"],
                ["    if s.hears[p][source] != NOTHING and s.hears[p][source] > 0:", "        s.patience[p] = True"],
            ))  # fmt: skip
        self.parts.append(
            ["@receives", f"def on_told(s: State, p: {self.key}, source: {self.owner}, m: TOLD) -> None:",
             *(lines or ["    pass"])]
        )  # fmt: skip

    def keeps(self) -> None:
        """A process of a third role keeps of each client which servers have it."""
        self.parts.append(
            ["@receives", "def on_keep(s: State, p: Keeper, source: Server, m: KEEP) -> None:",
             "    c = m.item.who", "    if c != NOBODY:",
             *self.random.choice((["        s.holders[p][c].add(source)"],
                                  ["        for q in m.item.members:", "            s.holders[p][c].add(q)"],
                                  ["        s.holders[p][c] = m.item.members"] * 1))]
        )  # fmt: skip

    def is_patient(self) -> None:
        """The timer of a client fires: it forgets, or asks on."""
        random = self.random
        lines = [f"    for q in {self.owners}:"]
        lines += random.choice((["        s.hears[p][q] = NOTHING"], ["        if s.hears[p][q] == 0:",
                                                                       "            s.hears[p][q] = 1"]))  # fmt: skip
        said = ['"patience"']
        if random.random() < 0.5:
            members = self.gathered("s.hears[p][q] != NOTHING", "True" if self.roles else "q != p")
            lines += [f"    item = {self.made('p', (members,), ('NOTHING', '0'), ('False',))}",
                      f"    send(s, p, {self.some_owner}, GOSSIP(item=item, again=False))"]  # fmt: skip
            said.append('budget="gossips"')
        lines += ["    s.patience[p] = True"] if random.random() < 0.2 else []
        if self.roles and any("GOSSIP" in line for line in lines):  # clients send it too: it may be of either role
            for part in self.parts:
                for k, line in enumerate(part):
                    part[k] = line.replace("def on_gossip(s: State, p: Server, source: Server,",
                                           "def on_gossip(s: State, p: Server, source: Node,")  # fmt: skip
            self.of_either()
        self.parts.append([f"@fires({', '.join(said)})", f"def is_impatient(s: State, p: {self.key}) -> None:", *lines])

    def of_either(self) -> None:
        """What only holds servers asks who a source is."""
        for part in self.parts:
            if any("def on_gossip(" in line for line in part):
                for k, line in enumerate(part):
                    part[k] = line.replace("        s.ring[p][source] = n", "        if is_a(s, source, Server):\n"
                                           "            s.ring[p][source] = n")  # fmt: skip

    def board_changes(self) -> None:
        """The environment changes what stands of a client on a board, once; servers go by it."""
        random = self.random
        self.words.budgets["storms"] = 1
        test = random.choice(("s.board[c] == 0", "True"))
        self.parts += [
            ['@environment_step(budget="storms")', "def board_changes(s: State) -> None:", f"    for c in {self.keys}:",
             f"        if {test}:", "            s.board[c] = 1"],
            [f"def may_go_by_board(s: State, p: {self.owner}) -> bool:", f"    for c in {self.keys}:",
             f"        if s.board[c] == 1 and s.ledger[p][c].who {random.choice(('==', '!='))} c:",
             "            return True", "    return False"],
            [self.marks("may_go_by_board", random.choice(("", "gossips"))),
             f"def goes_by_board(s: State, p: {self.owner}) -> None:", f"    for c in {self.keys}:",
             "        if s.board[c] == 1:",
             f"            s.ledger[p][c] = {self.made('c', (self.gathered('q == p'),), ('0',), ('True',))}"],
        ]  # fmt: skip

    def tidies(self) -> None:
        """A server looks through all that it has."""
        random = self.random
        emptied = self.made("NOBODY", (self.gathered("q == p"),), ("NOTHING", "1"), ("False", "True"))
        some: list[Lines] = [
            [f"    for c in {self.keys}:", "        if len(s.ledger[p][c].members) == 0:",
             f"            s.ledger[p][c] = {emptied}"],
            ["    forget(s, p)"],
        ]  # fmt: skip
        may = [f"is_quorum(s, {self.gathered('q == p')}{', Server' if self.roles else ''})"]
        if self.has["groups"]:
            some += [["    s.groups[p][0].clear()"], ["    s.groups[p][1] = s.groups[p][0]"],
                     ["    for c in s.groups[p][0]:", "        s.groups[p][1].discard(c)"]]  # fmt: skip
            may += ["len(s.groups[p][0]) > len(s.groups[p][1])", "s.groups[p][0] != s.groups[p][1]"]
        if self.has["ring"]:
            some += [["    n = 0", f"    for q in {self.owners}:", "        if s.ring[p][q] != NOTHING:",
                      "            n = n + s.ring[p][q]", "    if n > 0:", "        forget(s, p)"]]  # fmt: skip
        if self.has["tally"]:
            some += [["    for k in range(2):", "        if s.tally[p][k] > 0:", "            s.tally[p][k] -= 1"]]
            may += ["s.tally[p][0] < s.tally[p][1]", "s.tally[p][1] > 0"]
        if self.has["bag"]:
            some += [["    n = 0", "    for item in s.pile[p]:", "        if item.hot:", "            n = n + 1",
                      "    if n > 0:", "        s.pile[p].clear()"]]  # fmt: skip
            may += ["len(s.pile[p]) > 1"]
        done = [line for part in random.sample(some, min(len(some), random.choice((1, 2)))) for line in part]
        self.parts += [
            [f"def may_tidy(s: State, p: {self.owner}) -> bool:", f"    return {random.choice(may)}"],
            [
                self.marks("may_tidy", random.choice(("", "gossips"))),
                f"def tidies(s: State, p: {self.owner}) -> None:",
                *done,
            ],
        ]

    def comes_back(self) -> None:
        """What a server's crash leaves of its maps, and what it does as it starts again."""
        random, known = self.random, [line for part in self.parts for line in part]
        begun = self.made("c", (self.gathered("q == p", "q != p"),), ("0", "NOTHING"), ("True",))
        for hook, lines in (
            ("on_recovery", [f"    for c in {self.keys}:", "        if s.ledger[p][c].who == NOBODY:",
                             f"            s.ledger[p][c] = {begun}"]),
            ("on_crash", random.choice((["    forget(s, p)"], ["    pass"], [
                f"    for c in {self.keys}:", "        if not s.ledger[p][c].hot:",
                "            s.ledger[p][c] = "
                f"{self.made('NOBODY', (self.gathered('q == p'),), ('NOTHING',), ('False',))}"]))),
        ):  # fmt: skip
            name = f"{hook}_server" if self.roles else hook
            there = any(line.startswith((f"def {hook}(", f"def {name}(")) for line in known)
            if not there and self.words.world == "datagrams" and random.random() < 0.4:
                self.parts.append([f"def {name}(s: State, p: {self.owner}) -> None:", *lines])

    def begins(self) -> None:
        """Runs may begin where something is kept already."""
        begun = self.made("c", (self.gathered("q == p", "q != p"),), ("0", "NOTHING"), ("True", "False"))
        lines = ["def already(s: State) -> None:", '    """Something is kept at first."""',
                 f"    for p in {self.owners}:", f"        for c in {self.keys}:",
                 f"            s.ledger[p][c] = {begun}"]  # fmt: skip
        lines += ["            s.groups[p][0].add(c)"] if self.has["groups"] else []
        self.parts.append(lines)
        self.builder.declared.append('starts=[Start("already", "something is kept at first", already)]')

    # --- what must hold -----------------------------------------------------------------------------

    def of_states(self) -> list[str]:
        """A property of what a server keeps of a client."""
        row = "s.ledger[p][c]"
        tests = [f"{row}.hot and {row}.stamp == NOTHING", f"p in {row}.members and {row}.who == c",
                 f"{row}.stamp != NOTHING and {row}.stamp > 0", f"{row}.who == NOBODY and len({row}.members) > 0",
                 f"is_quorum(s, {row}.members{', Server' if self.roles else ''})"]  # fmt: skip
        tests += [f"c in s.groups[p][0] and {row}.who != c"] if self.has["groups"] else []
        tests += [f"{row} in s.pile[p]"] if self.has["bag"] else []
        tests += ["s.tally[p][0] + s.tally[p][1] > 1"] if self.has["tally"] else []
        tests += (
            ["s.hears[c][p] == NOTHING and c in s.groups[p][1]"] if self.has["hears"] and self.has["groups"] else []
        )
        tests += ["s.patience[c] and s.hears[c][p] == NOTHING"] if self.has["patience"] else []
        tests += [f"s.board[c] == 1 and {row}.hot"] if self.has["board"] else []
        premise = self.random.choice((f"{row}.who == c", f"len({row}.members) > 0", f"{row}.stamp != NOTHING"))
        self.parts += [
            ["def claim_of_ledger_premise(s: State) -> bool:", '    """Something is kept of a client."""',
             f"    for p in {self.owners}:", f"        for c in {self.keys}:", f"            if {premise}:",
             "                return True", "    return False"],
            ["@safety(witness=claim_of_ledger_premise)", "def claim_of_ledger(s: State) -> bool:",
             '    """Nothing is so of what is kept."""',
             f"    for p in {self.owners}:", f"        for c in {self.keys}:",
             f"            if {self.random.choice(tests)}:", '                return broken(f"p{p} keeps it of p{c}")',
             "    return True"],
        ]  # fmt: skip
        return ["claim-of-ledger"]

    def of_steps(self) -> list[str]:
        """A property of how what is kept changes."""
        if self.random.random() < 0.6:
            return []
        given = "(before: State, event: State, after: State) -> bool:"
        owners, keys = (x.replace("(s", "(after").replace("s.NODES", "after.NODES") for x in (self.owners, self.keys))
        was, now = "before.ledger[p][c]", "after.ledger[p][c]"
        test = self.random.choice((
            f"{was}.stamp != NOTHING and {now}.stamp == NOTHING", f"{was}.hot and not {now}.hot",
            f"len({now}.members) < len({was}.members)", f"{was}.who == c and {now} == {was} and {now}.hot",
        ))  # fmt: skip
        self.parts += [
            [f"def claim_of_keeping_premise{given}", '    """What is kept changes."""', f"    for p in {owners}:",
             f"        for c in {keys}:", f"            if {was} != {now}:", "                return True",
             "    return False"],
            ['@safety(over="step", witness=claim_of_keeping_premise)', f"def claim_of_keeping{given}",
             '    """Nothing that is kept changes so."""', f"    for p in {owners}:", f"        for c in {keys}:",
             f"            if {test}:", "                return False", "    return True"],
        ]  # fmt: skip
        return ["claim-of-keeping"]

    def of_shown(self) -> list[str]:
        """A property of what was shown."""
        if not self.has["shown"]:
            return []
        test = self.random.choice(("s.shown_items[c] == 2", "s.shown_items[c] > 0", "s.shown_items[c] == 1"))
        self.parts += [
            ["def claim_of_shown_premise(s: State) -> bool:", '    """Something was shown."""',
             f"    for c in {self.keys}:", "        if s.shown_items[c] > 0:", "            return True",
             "    return False"],
            ['@safety(over="history", witness=claim_of_shown_premise)', "def claim_of_shown(s: State) -> bool:",
             '    """Nothing is so of what was shown."""', f"    for c in {self.keys}:", f"        if {test}:",
             "            return False", "    return True"],
        ]  # fmt: skip
        return ["claim-of-shown"]

    def of_mail(self) -> list[str]:
        """A property of what is told."""
        if not self.mailed or self.random.random() < 0.6:
            return []
        given, test = self.random.choice((
            ("m: GOSSIP", "m.source in m.item.members or m.item.who == NOBODY"), ("m: GOSSIP", "not m.item.hot"),
            ("m: TOLD", "m.item.members == m.of"), ("m: TOLD", "m.item.who == m.target and len(m.of) > 0"),
            ("m: GOSSIP, other: GOSSIP", "m.item == other.item"), ("m: GOSSIP, other: TOLD", "m.item.stamp == NOTHING"),
        ))  # fmt: skip
        self.parts += [
            ["def claim_of_gossip_premise(s: State) -> bool:", '    """Something is in flight."""',
             "    return len(s.in_flight) > 0"],
            ["@safety(witness=claim_of_gossip_premise)", f"def claim_of_gossip(s: State, {given}) -> bool:",
             '    """What is told is so."""', f"    return {test}"],
        ]  # fmt: skip
        return ["claim-of-gossip"]
