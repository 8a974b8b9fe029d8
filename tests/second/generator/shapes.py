"""Shapes of the language that random drawing makes seldom or never: each was wanted by a planted fault.

They have random numbers of their own, so that the rest of a protocol is what its seed gave before they were there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import TYPE_CHECKING

from tests.second.generator.kinds import Cell, Flag, Members, Number, Numbers

if TYPE_CHECKING:
    from tests.second.generator.text import Builder

Lines = list[str]


class Shapes:
    """Adds shapes to a protocol.

    Args:
        builder: of the protocol, whose fields are declared.
    """

    def __init__(self, builder: Builder) -> None:
        self.words = builder.words
        self.random = Random(f"{builder.seed} shapes")

    def action(self) -> Lines | None:
        """An action of some shapes; None: this protocol has none."""
        if self.random.random() > 0.35:
            return None
        ways: list[Callable[[], Lines]] = [self.signed, self.after_loop, self.chosen_twice, self.shrinking, self.summed]
        body = [line for way in self.random.sample(ways, self.random.choice((1, 2))) for line in way()]
        if not body:
            return None
        budget = self.random.choice(list(self.words.budgets))
        return [
            f'@action(budget="{budget}")', "def acts_in_shape(s: State, p: Node) -> None:",
            *(f"    {line}" for line in body),
        ]  # fmt: skip

    def claim(self, name: str) -> list[Lines] | None:
        """A property of a seldom shape; None: this protocol has none."""
        roll = self.random.random()
        return self.shown_by_last(name) if roll < 0.1 else self.mail_in_premise(name) if roll < 0.25 else None

    def shown_by_last(self, name: str) -> list[Lines] | None:
        """A property of what the last process shows, which others may show too: the first change of it is of one word
        of the history."""
        shown = [c for c in self.words.cells if c.role == "ghost" and isinstance(c.kind, (Number, Flag))]
        if not shown or self.words.symmetric:
            return None
        cell = self.random.choice(shown)
        place = f"s.{cell.name}" + "".join("[s.NODES - 1]" if axis == "NODE" else "[0]" for axis in cell.axes)
        test = (
            f"not {place}" if isinstance(cell.kind, Flag) else f"{place} {self.random.choice(('<= 0', '<= 1', '!= 1'))}"
        )
        return [
            [f"def {name}_premise(s: State) -> bool:", '    """It is not so."""', f"    return not ({test})"],
            [f'@safety(over="history", witness={name}_premise)', f"def {name}(s: State) -> bool:",
             f'    """What {name} says of what was shown is so."""', f"    return {test}"],
        ]  # fmt: skip

    def mail_in_premise(self, name: str) -> list[Lines] | None:
        """A property whose premise looks at what is in flight, and which does not itself."""
        places = list(self.places(Number))
        if self.words.world != "datagrams" or not self.words.mails or not places:
            return None
        mail = self.random.choice(self.words.mails).name
        place, kind = self.random.choice(places)
        assert isinstance(kind, Number)
        counted = [
            f"def {name}_premise(s: State) -> bool:", f'    """So many are in flight as {name} says."""', "    n = 0",
            "    for k in range(len(s.in_flight)):", f"        if s.in_flight[k].kind == {mail}:",
            "            n = n + 1",
            f"    return s.MAJORITY > 0 and n == {self.random.choice((0, 0, 1))} and {name}_wants(s)",
        ]  # fmt: skip
        wants = [
            f"def {name}_wants(s: State) -> bool:", "    for p in range(s.NODES):",
            f"        if {place} == {kind.high}:", "            return True", "    return False",
        ]  # fmt: skip
        says = [
            f"@safety(witness={name}_premise)", f"def {name}(s: State) -> bool:", f'    """What {name} says is so."""',
            "    for p in range(s.NODES):", f"        if {place} > {kind.high}:", "            return False",
            "    return True",
        ]  # fmt: skip
        return [wants, counted, says]

    # --- shapes ---------------------------------------------------------------------------------------

    def places(self, *kinds: type) -> Iterator[tuple[str, Number | Members | Numbers]]:
        """Places of process p, with their kinds, that a handler may write."""
        reserved = ("role", "leader") if self.words.world == "connections" else ()
        for c in self.words.cells:
            if isinstance(c.kind, kinds) and c.of_process and c.name not in reserved and self.plain(c):
                assert isinstance(c.kind, (Number, Members, Numbers))
                yield f"s.{c.name}[p]" + "".join("[0]" if axis != "NODE" else "[p]" for axis in c.axes), c.kind

    @staticmethod
    def plain(cell: Cell) -> bool:
        return not (isinstance(cell.kind, Number) and (cell.kind.names or cell.kind.low))

    def number(self) -> tuple[str, int] | None:
        """A number's place, and its high end."""
        found = [(place, kind.high) for place, kind in self.places(Number) if isinstance(kind, Number)]
        return self.random.choice(found) if found else None

    def signed(self) -> Lines:
        """Division and shift of a negative number."""
        found = self.number()
        if found is None:
            return []
        place, high = found
        op = self.random.choice(("//", "%", "//", "%", ">>"))
        by = self.random.randint(1, 2) if op == ">>" else self.random.choice((2, 3))
        low = self.random.choice((1, 2, 3))
        return [f"d = ({place} - {low}) {op} {by}", f"{place} = max(0, min(d + {self.random.choice((1, 2))}, {high}))"]

    def after_loop(self) -> Lines:
        """A name that has a value before a loop goes through it, and is read after it."""
        found = self.number()
        if found is None:
            return []
        place, high = found
        ends = self.random.choice(([], [f"    if {place} == j:", "        break"]))
        return ["j = 0", f"for j in range({self.random.choice((2, 3))}):", *(ends or ["    pass"]),
                f"{place} = min(j, {high})"]  # fmt: skip

    def chosen_twice(self) -> Lines:
        """A choice, the alternatives of which have choices of their own."""
        found = self.number()
        if found is None:
            return []
        place, high = found
        which = self.random.randrange(2)
        return [
            "c = choose(s, 2)", f"if c == {which}:", f"    e = choose(s, {self.random.choice((2, 3))})",
            f"    {place} = min(e, {high})",
        ]  # fmt: skip

    def shrinking(self) -> Lines:
        """A loop through a set that changes in its rounds."""
        found = list(self.places(Numbers))
        if not found:
            return []
        place, kind = self.random.choice(found)
        assert isinstance(kind, Numbers)
        n = kind.count
        change = self.random.choice((f"discard((i + 1) % {n})", f"add((i + 1) % {n})", f"discard({n - 1})"))
        counted = self.number()
        rest = [f"    {counted[0]} = min(i, {counted[1]})"] if counted is not None else []
        return [f"{place}.add(0)", f"{place}.add(1)", f"for i in {place}:", f"    {place}.{change}", *rest]

    def summed(self) -> Lines:
        """Two names that hand values to each other from round to round, behind an if."""
        found = self.number()
        if found is None:
            return []
        place, high = found
        return [
            "x = 0", "y = 0", "for k in range(3):", f"    if {place} <= k:", "        x = y", "    y = k",
            f"{place} = min(x, {high})",
        ]  # fmt: skip
