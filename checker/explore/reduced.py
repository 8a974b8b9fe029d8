"""Explore breadth-first with sleep sets: every state at its depth, fewer transitions (docs/explanation/reductions.md).

The sleep set of a state depends on who found it first. So a level has one order, that in which its states were
found, which is also the order in which they are expanded: candidates are first claimed group by group, then gathered,
unit by unit, in the order of their parents and steps. Any number of threads gives the same result.
"""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor

from checker.explore import kernel
from checker.explore.breadth_first import (
    BATCH,
    GROUPS,
    UNIT,
    Chunk,
    Explorer,
    Keeper,
    LevelGroup,
    Progress,
    Slot,
)
from checker.explore.memory import Block
from checker.explore.predecessors import PREDECESSOR
from checker.explore.reduction import Reducing
from checker.explore.result import Exploration, Limits

STREAM = 16 * UNIT  # bytes of a block of a level, which many chunks share
SLACK = 64  # bytes after the last state that are read and written with it


class NewStates:
    """The new states of a slot: their size, and where they go."""

    def __init__(self, slot: Slot, info: Block) -> None:
        self.slot, self.info = slot, info
        self.bytes = self.count = 0
        self.first = 0  # the number of its first state in the level
        self.block: Block | None = None
        self.start = 0  # where it begins in the block
        self.chunks: list[Chunk] = []


class ReducedExplorer(Explorer):
    """Explores a model compiled with sleep sets."""

    code: Reducing
    behind = 2  # no step sleeps in the initial state

    def __init__(self, compiled: Reducing, threads: int = 0) -> None:
        super().__init__(compiled, threads)
        self.relate(compiled.code.facts["relation"])
        self.users: dict[int, int] = {}  # the number of chunks of a block still to be expanded, by its address
        self.streams: list[Block] = []  # blocks to be reused
        self.stream: Block | None = None  # the one being filled, and how far
        self.filled = 0
        self.infos = [Block(8 * kernel.INFO) for _ in range(BATCH)]
        self.broken: dict[int, int] = {}  # by property, the first state of the level that breaks it

    def relate(self, words: list[int]) -> None:
        """Pass the relation of independent steps to the kernel: `relation`."""
        for slot in self.slots:
            at = slot.work.address + self.code.numbers["RELATION_AT"]
            ctypes.memmove(at, (ctypes.c_uint16 * len(words))(*words), 2 * len(words))

    def run(
        self, limits: Limits, keep_going: bool = False, progress: Progress | None = None, keeper: Keeper | None = None
    ) -> Exploration:
        """Explore like a search without reduction, but save no level."""
        assert keeper is None
        result = super().run(limits, keep_going, progress)
        result.reduced = True
        return result

    # --- blocks of a level ---------------------------------------------------------------------------

    def give_back(self, chunk: Chunk) -> None:
        assert chunk.block is not None
        left = self.users.get(chunk.block.address, 0) - 1
        self.users[chunk.block.address] = left
        if not left and chunk.block.size == STREAM:
            self.streams.append(chunk.block)

    def place(self, part: NewStates) -> None:
        """Find room for a slot's new states, and reserve it.

        Until its chunks are appended nothing else marks the block as used, and one that is begun and filled in one
        batch would be reused.
        """
        size = part.bytes + SLACK
        if size > STREAM:
            part.block, part.start = Block(size, budget=self.budget), 0
            self.users[part.block.address] = 1
            return
        if self.stream is None or self.filled + size > STREAM:
            if self.stream is not None:
                self.release(self.stream)
            self.stream = self.streams.pop() if self.streams else Block(STREAM, huge=True, budget=self.budget)
            self.users[self.stream.address] = 1  # the stream itself
            self.filled = 0
        part.block, part.start = self.stream, self.filled
        self.users[part.block.address] += 1
        self.filled += part.bytes

    def release(self, block: Block) -> None:
        self.give_back(Chunk(block))

    # --- the second phase of a batch -----------------------------------------------------------------

    def next_level(self, level: list[LevelGroup], pool: ThreadPoolExecutor | None) -> list[LevelGroup]:
        self.broken = {}
        self.taken = 0  # states of the next level that are gathered
        return super().next_level(level, pool)

    def insert_all(
        self, pool: ThreadPoolExecutor | None, new: list[LevelGroup], jobs: int
    ) -> list[list[tuple[Block, int, int]]]:
        """Claim what a batch has found, and gather it in the order in which it was found."""
        self.claimed: list[dict[int, tuple[int, int]]] = [{} for _ in range(GROUPS)]
        left = super().insert_all(pool, new, jobs)
        parts = [NewStates(slot, info) for slot, info in zip(self.slots[:jobs], self.infos, strict=False)]
        of_out = {out.address: (part, filled) for part in parts for out, filled in part.slot.outs[: part.slot.used]}
        for g, items in enumerate(left):  # the limit is reached
            for out, at, _ in items:
                of_out[out.address][1].put(g, at - g * self.slots[0].section)
        for by_out in self.claimed:
            for address, (size, count) in by_out.items():
                of_out[address][0].bytes += size
                of_out[address][0].count += count
        parts = [part for part in parts if part.count]
        for part in parts:
            part.first = self.taken
            self.taken += part.count
            self.place(part)
        stream = new[0]
        stream.room_for(self.taken)
        self.each(pool, self.gather, parts, [stream] * len(parts))
        for part in parts:
            for chunk in part.chunks:
                self.append(stream, chunk)
            assert part.block is not None
            self.release(part.block)
            for k in range(len(self.code.properties)):
                if part.info.get(3 + k):
                    self.broken.setdefault(k, part.info.get(3 + k) - 1)
        return left

    def append(self, stream: LevelGroup, chunk: Chunk) -> None:
        """Append a chunk to the level; one that continues the last is joined to it while both are small."""
        if stream.chunks:
            last = stream.chunks[-1]
            end = last.start + last.used
            if last.block is chunk.block and end == chunk.start and last.used + chunk.used <= UNIT:
                last.used += chunk.used
                last.count += chunk.count
                return
        stream.chunks.append(chunk)
        assert chunk.block is not None
        self.users[chunk.block.address] = self.users.get(chunk.block.address, 0) + 1

    def insert(self, g: int, new: LevelGroup, work: list[tuple[Block, int, int]]) -> None:
        """Claim a group's candidates until none is left, or the group is full."""
        group = self.groups[g]
        if self.make_room(group, new, work) <= 0:
            return
        while work:
            out, start, end = work[0]
            table = group.block.address
            at = self.code.claim_states(out.address, start, end, table, group.capacity, new.info.address)
            size, count = self.claimed[g].get(out.address, (0, 0))
            self.claimed[g][out.address] = size + new.info.get(0), count + new.info.get(1)
            group.count += new.info.get(1)
            if at < end:
                work[0] = (out, at, end)
                return
            work.pop(0)

    def gather(self, part: NewStates, stream: LevelGroup) -> None:
        """Copy a slot's new states to their place, in order."""
        assert part.block is not None
        part.info.map[:] = bytes(part.info.size)
        at, index = part.start, part.first
        for out, filled in part.slot.outs[: part.slot.used]:
            self.code.begin_gathering(out.address, part.slot.section, filled.address, part.slot.work.address)
            more = True
            while more:
                start, before = at, index
                at = self.code.gather_states(
                    out.address, part.slot.section, filled.address, part.block.address, at, index,
                    stream.preds.address, part.info.address, part.slot.work.address, UNIT // 2,
                )  # fmt: skip
                index = part.info.get(1)
                more = index > before
                if more:
                    part.chunks.append(Chunk(part.block, at - start, index - before, start=start))
        assert (at, index) == (part.start + part.bytes, part.first + part.count)

    # --- what the level holds --------------------------------------------------------------------------

    def keep_predecessors(self, level: list[LevelGroup]) -> None:
        stream = level[0]
        # a batch that was cut short may have claimed states that it has not gathered: these have no predecessors
        count = min(sum(g.count for g in level), stream.preds.size // PREDECESSOR)
        packed = stream.preds.bytes(0, PREDECESSOR * count)
        stream.preds = Block(PREDECESSOR)
        self.preds.append([(count, packed)], self.budget)

    def first_that_breaks(self, new: list[LevelGroup], broken: list[list[int]], k: int) -> int:
        return self.broken.get(k, -1)
