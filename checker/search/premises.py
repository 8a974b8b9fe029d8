"""Meet premises of properties by random walks.

A premise is met by a single state or step. A search that merges states, or leaves some out, must distinguish those
that meet it from those that do not, as long as nothing is known to meet it. A walk is a run of the model itself,
every step of it judged as the explorer judges it: a premise that it meets is met, and the search can ignore it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from checker.search import kernel
from checker.search.code import SearchCode
from checker.search.search import MOST_STEPS, RandomSearch
from invariants.registry import STEP, Property
from zabspec.model import Model

WALKS = 4096  # the maximum number, which takes half a second if some premise is never met


def depths_by_walks(
    model: Model, properties: Sequence[Property], wanted: Collection[str], walks: int = WALKS
) -> dict[str, int]:
    """Return for each premise that random walks meet a depth at which a run meets it, not necessarily the least.

    The same walks are made each time: the result is determined by the model and the properties.

    Args:
        properties: as they are judged; machine code is compiled for all of them.
        wanted: the names of those whose premise is searched.
        walks: the maximum number of walks.
    """
    code = SearchCode(model, properties)
    wanting = Walks(code, [p for p in code.properties if p.name in wanted])
    for number in range(walks):
        if not wanting.unmet:
            break
        wanting.walk(number)
    return wanting.depths


@dataclass
class Walks:
    """Walks in one thread, one after the other.

    Attributes:
        unmet: the properties whose premise no walk has met so far.
        depths: of the others, the number of steps after which one did.
    """

    code: SearchCode
    unmet: list[Property]

    def __post_init__(self) -> None:
        self.depths: dict[str, int] = {}
        self.search = RandomSearch(self.code, 0, threads=1)
        self.slot = self.search.slots[0]

    def walk(self, number: int) -> None:
        """Walk once, and find out when it first meets each premise that it meets."""
        if found := self.met(number, MOST_STEPS):
            length = self.slot.answer[kernel.W_LONGEST]
            for p in found:
                self.depths[p.name] = self.first(number, p, length)
            self.unmet = [p for p in self.unmet if p not in found]

    def first(self, number: int, p: Property, most: int) -> int:
        """Return the number of steps after which a walk first meets a premise that it meets within `most`."""
        least = 1
        while least < most:
            middle = (least + most) // 2
            if p in self.met(number, middle):
                most = middle
            else:
                least = middle + 1
        return most

    def met(self, number: int, steps: int) -> list[Property]:
        """Return the open premises that a walk of at most `steps` steps reaches."""
        slot, answer = self.slot, self.slot.answer
        start = self.search.starts[number % len(self.search.starts)]
        self.search.ask(slot, number, 1)
        mask = sum(1 << k for k, p in enumerate(self.code.properties) if p in self.unmet)
        of_steps = sum(1 << k for k, p in enumerate(self.code.properties) if p.of == STEP)
        slot.asked[kernel.A_STEPS] = steps
        slot.asked[kernel.A_LIVE] = slot.asked[kernel.A_LIVE_STEPS] = 0  # violations are left to the explorer
        slot.asked[kernel.A_WANT], slot.asked[kernel.A_WANT_STEPS] = mask & ~of_steps, mask & of_steps
        for word in (kernel.W_MET, kernel.W_MET_STEPS, kernel.W_LONGEST):
            answer[word] = 0
        self.code.random_walks(start.state, slot.work, slot.asked, slot.path, answer)
        met = answer[kernel.W_MET] | answer[kernel.W_MET_STEPS]
        return [p for k, p in enumerate(self.code.properties) if met >> k & 1]
