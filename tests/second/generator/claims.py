"""Random properties: of states, steps, histories and messages, each with a witness; and goals."""

from __future__ import annotations

from random import Random

from tests.second.generator.kinds import Flag, Function, Mail, Members, Number, Numbers, Process, Record, Row
from tests.second.generator.scope import CLAIM, HISTORY, Scope
from tests.second.generator.statements import INDENT, Lines, Statements, indented


class Claims(Statements):
    """Draws properties."""

    def claims(self, count: int) -> tuple[list[Lines], list[str]]:
        """So many properties with what they call; the functions, and the properties' names."""
        parts: list[Lines] = []
        names: list[str] = []
        ways = [self.of_states, self.of_states, self.of_states, self.of_history, self.of_steps, self.of_steps]
        ways += [self.of_messages, self.of_messages, self.of_flight] if self.words.world == "datagrams" else []
        for k in range(count):
            way = self.one(*ways)
            made = way(f"claim_{k}")
            if made is None:
                made = self.of_states(f"claim_{k}")
            parts += made
            names.append(f"claim-{k}")
        return parts, names

    def witness(self, name: str, scope_kind: str) -> Lines:
        """Whether something is so of one process, or of the state."""
        body = self.quantified(scope_kind, "return True", "")
        return [
            f"def {name}(s: State) -> bool:",
            f'    """Something is so that {name} names."""',
            *body,
            "    return False",
        ]

    def quantified(self, what: str, then: str, state: str, depth: int = 1, local: bool = True) -> Lines:
        """`then` where something is so of all fields, of a process, or of two."""
        scope = Scope(what)
        if state:
            scope.state = state
        s = scope.state
        over = self.random.choice((0, 1, 1, 1, 2, 2))
        if what == HISTORY and not [c for c in self.words.cells if c.role == "ghost"]:
            over = 0
        lines: Lines = []
        margin = INDENT
        for k in range(over):
            p = "pq"[k]
            lines.append(f"{margin}for {p} in range({s}.NODES):")
            margin += INDENT
            scope.names.processes.append(p)
        atoms = [self.truth(scope, 1) for _ in range(self.one(1, 2, 2, 2, 3))]
        atoms = [self.led(scope, 1), *atoms[1:]] if self.words.sets else atoms
        if over == 2 and self.chance(0.7):
            atoms.insert(1 if self.words.sets else 0, "p != q")
        sentence = then.replace("@", self.sentence(scope))
        if local and over and self.chance(0.2):
            value = self.number(scope)
            lines += [f"{margin}x = {value.text}"]
            scope.names.numbers["x"] = value.low, value.high
            atoms.append(f"x {self.one('>', '<', '!=')} {self.random.randint(0, 3)}")
        lines += [f"{margin}if {' and '.join(atoms)}:", f"{margin}{INDENT}{sentence}"]
        return lines

    def sentence(self, scope: Scope) -> str:
        """What `broken` says: text with places."""
        found = self.read(scope, Number, Flag, Process, Members, Numbers, Record, Row)
        who = "".join(f" p{{{p}}}" for p in scope.names.processes)
        what = f" has {{{found[0]}}}" if found is not None and '"' not in found[0] else ""
        return f'return broken(f"it is not so:{who}{what}")' if self.chance(0.7) else "return False"

    def of_states(self, name: str) -> list[Lines]:
        """Never so of a process; or so of no more than some; or so of all."""
        mark = (
            self.one(
                "@safety(witness={w})",
            )
            if self.chance(0.85)
            else "@invariant"
        )
        w = f"{name}_premise"
        head = [mark.format(w=w), f"def {name}(s: State) -> bool:", f'    """What {name} says is so."""']
        body = self.counted(CLAIM) if self.chance(0.25) else [*self.quantified(CLAIM, "@", ""), "    return True"]
        parts = [] if "invariant" in mark else [self.witness(w, CLAIM)]
        return [*parts, [*head, *body]]

    def counted(self, what: str) -> Lines:
        """How many processes are so is bounded."""
        scope = Scope(what)
        scope.names.processes.append("p")
        bound = self.one("1", "1", "0", "2", "s.MAJORITY")
        test = self.truth(scope, 1)
        return [
            "    count = 0", "    for p in range(s.NODES):", f"        if {test}:",
            f"            {self.one('count = count + 1', 'count += 1')}",
            f"    return count {self.one('<=', '<=', '!=')} {bound}",
        ]  # fmt: skip

    def of_history(self, name: str) -> list[Lines] | None:
        if not any(c.role == "ghost" for c in self.words.cells):
            return None
        w = f"{name}_premise"
        head = [f'@safety(over="history", witness={w})', f"def {name}(s: State) -> bool:"]
        head += [f'    """What {name} says of what was shown is so."""']
        body = self.counted(HISTORY) if self.chance(0.2) else [*self.quantified(HISTORY, "@", ""), "    return True"]
        return [self.witness(w, HISTORY), [*head, *body]]

    def of_steps(self, name: str) -> list[Lines] | None:
        """Between the states before and after a step."""
        w = f"{name}_premise"
        given = "(before: State, event: State, after: State) -> bool:"
        witness = [f"def {w}{given}", f'    """A step changes what {name} is about."""']
        witness += [*self.changes("return True"), "    return False"]
        head = [
            f'@safety(over="step", witness={w})',
            f"def {name}{given}",
            f'    """No step does what {name} forbids."""',
        ]
        then = self.one('return broken(f"the step does it")', "return False")
        return [witness, [*head, *self.changes(then), "    return True"]]

    def changes(self, then: str) -> Lines:
        """`then` where a field is otherwise after the step."""
        scope = Scope(CLAIM, state="after")
        scope.names.processes.append("p")
        cells = [
            c
            for c in self.words.cells
            if scope.reads(c) and isinstance(c.kind, (Number, Flag, Process, Members, Row, Record, Numbers))
        ]
        cell = self.one(*cells)
        place = self.place(scope, cell)
        assert place is not None
        before = place.replace("after.", "before.")
        if isinstance(cell.kind, Number):
            test = f"{place} {self.one('<', '>', '!=', '==')} {before}{self.one('', '', ' + 1')}"
        elif isinstance(cell.kind, (Row, Members, Numbers)):
            test = self.one(f"len({place}) {self.one('<', '>')} len({before})", f"{place} != {before}")
        else:
            test = f"{place} != {before}"
        more = f" and {self.truth(scope.over(self.one('before', 'after')), 1)}" if self.chance(0.6) else ""
        if self.chance(0.3):
            about = (
                "event.event_process == p",
                "event.event_process != p",
                "event.event_peer == p",
                "event.event == 17",
            )
            more += f" and {self.one(*about)}"
        return ["    for p in range(after.NODES):", f"        if {test}{more}:", f"            {then}"]

    def of_messages(self, name: str) -> list[Lines] | None:
        """Of every message in flight of a kind, or of every two."""
        mails = self.words.mails
        if not mails:
            return None
        w = f"{name}_premise"
        scope = Scope(CLAIM)
        given = [self.one(*mails) for _ in range(self.one(1, 1, 2))]
        names = [f"m{k}" for k in range(len(given))]
        wild = self.chance(0.2)
        parts: list[Lines] = []
        tests: list[str] = []
        for m, mail in zip(names, given, strict=True):
            tests += self.about(scope, m, mail, wild)
        if wild and len(names) == 1:
            judge = f"{name}_of_it"
            inner = Scope(CLAIM)
            inner.names.mail["m"] = given[0]
            inner.names.processes.append("m.source")
            parts.append([f"def {judge}(s: State, m: {given[0].name}) -> bool:", f"    return {self.truth(inner, 1)}"])
            tests = [f"m0.kind == {given[0].name}", f"{judge}(s, m0)"]
        if len(names) == 2:
            tests.append(f"m0.source {self.one('==', '!=')} m1.source")
        parameters = ", ".join(
            f"{m}: {'AnyMessage' if wild else mail.name}" for m, mail in zip(names, given, strict=True)
        )
        head = [f"@safety(witness={w})", f"def {name}(s: State, {parameters}) -> bool:"]
        head += [f'    """What {name} says is so of every message in flight."""']
        sentence = self.one('return broken(f"{m0} is in flight")', "return False")
        if wild and len(names) == 1:  # only where its kind is known may it be read
            body = [f"    if {tests[0]}:", f"        if {tests[1]}:", f"            {sentence}", "    return True"]
            tests = []
        else:
            body = [f"    if {' and '.join(tests)}:", f"        {sentence}", "    return True"]
        return [self.witness(w, CLAIM), *parts, [*head, *body]]

    def about(self, scope: Scope, m: str, mail: Mail, wild: bool) -> list[str]:
        """Conditions on a message."""
        if wild:
            return [f"{m}.kind == {mail.name}"] if self.chance(0.7) else [f"{m}.source == {m}.target"]
        scope.names.mail[m] = mail
        scope.names.processes += [f"{m}.source", f"{m}.target"]
        out = [self.truth(scope, 1)]
        return out if self.chance(0.5) else [*out, self.truth(scope, 0)]

    def of_flight(self, name: str) -> list[Lines] | None:
        """Whether there is a message in flight, or how many: a loop through the bag."""
        if not self.words.mails:
            return None
        mail = self.one(*self.words.mails)
        w = f"{name}_premise"
        judge = f"{name}_of_one"
        inner = Scope(CLAIM)
        inner.names.mail["m"] = mail
        helper = [f"def {judge}(s: State, m: {mail.name}) -> bool:", f"    return {self.truth(inner, 1)}"]
        at = "s.in_flight[k]"
        test = [f"{at}.kind == {mail.name} and {judge}(s, {at})", f"{at}.kind == {mail.name}"]
        head = [
            f"@safety(witness={w})",
            f"def {name}(s: State) -> bool:",
            f'    """What {name} says of all that is in flight is so."""',
        ]
        if self.chance(0.5):
            body = [
                "    n = 0",
                "    for k in range(len(s.in_flight)):",
                f"        if {self.one(*test)}:",
                "            n = n + 1",
            ]
            body += [f"    return n {self.one('<', '<=', '!=')} {self.random.randint(1, 3)}"]
        elif self.chance(0.5):
            body = [
                "    for k in range(len(s.in_flight)):",
                f"        if {self.one(*test)}:",
                "            return False",
                "    return True",
            ]
        else:
            body = [
                "    for k in range(len(s.in_flight)):", "        for j in range(len(s.in_flight)):",
                f"            if k != j and {at}.kind == s.in_flight[j].kind and {at}.source == s.in_flight[j].source:",
                "                return False", "    return True",
            ]  # fmt: skip
        return [self.witness(w, CLAIM), helper, [*head, *body]]

    def of_order(self, name: str) -> list[Lines]:
        """What no property may say: it depends on which place a message has in the bag. The front end has to refuse
        it."""
        at, size = "s.in_flight[k]", "len(s.in_flight)"
        last = at.replace("k", "n - 1")
        body: Lines = self.one(
            ["k = 0", f"if {size} > 0:", f"    return {at}.source == {at}.target", "return True"],
            [f"n = {size}", "if n > 0:", f"    return {last}.target != 0", "return True"],
            [f"for k in range({size}):", f"    if {at}.source == 0 and k > 0:", "        return False",
             "return True"],
            ["k = 0", f"for j in range({size}):", "    k = j", f"return {size} == 0 or {at}.source == 0"],
            [f"return {size} == 0 or {name}_at(s, 0)"],
        )  # fmt: skip
        apart = Random(f"{name} {' '.join(self.words.constants)} {len(self.words.cells)} {'; '.join(body)}")
        if apart.random() < 0.5:  # nor may what a loop leaves: it goes through the bag in an order that there is not
            body = apart.choice(
                (
                    ["found = NOBODY", f"for k in range({size}):", f"    found = {at}.source", "return found != 0"],
                    ["n = 0", f"for k in range({size}):", f"    n = 2 * n + (1 if {at}.source == {at}.target else 0)",
                     "return n < 3"],
                    [f"for k in range({size}):", f"    return {at}.source == {at}.target", "return True"],
                )
            )  # fmt: skip
        head = ["@invariant", f"def {name}(s: State) -> bool:", '    """It is so of the first message in flight."""']
        looks = [f"def {name}_at(s: State, k: int) -> bool:", f"    return {at}.source == {at}.target"]
        return [*([looks] if f"{name}_at" in body[0] else []), [*head, *indented(body)]]

    def goals(self, count: int) -> tuple[list[Lines], list[str]]:
        """What nobody should wait for in vain."""
        parts: list[Lines] = []
        for k in range(count):
            scope = Scope(CLAIM)
            scope.names.processes.append("p")
            waits = self.led(scope, 1)
            parts.append(
                [
                    "@progress(again=True)" if len(waits) % 3 == 0 else "@progress",  # which draws nothing
                    f"def goal_{k}(s: State, p: Node) -> bool:",
                    '    """p waits."""',
                    f"    return {waits}",
                ]
            )
        return parts, [f"goal-{k}" for k in range(count)]

    def judges(self, count: int) -> list[Lines]:
        """What properties call of a process, and of numbers."""
        parts: list[Lines] = []
        for k in range(count):
            scope = Scope(CLAIM)
            scope.names.processes.append("p")
            kind = self.one(Flag(), Number(0, 6))
            name = f"judge_{k}"
            if isinstance(kind, Flag):
                parts.append([f"def {name}(s: State, p: Node) -> bool:", f"    return {self.led(scope, 1)}"])
            else:
                lines = [f"def {name}(s: State, p: Node) -> int:", f"    if {self.led(scope, 1)}:"]
                lines += [f"        return {self.within(scope, kind)}", f"    return {self.within(scope, kind)}"]
                parts.append(lines)
            self.words.judges.append(Function(name, True, True, (), kind))
        return parts
