"""Breadth-first exploration in machine code, on any number of threads.

A level is expanded in batches of units (a unit is a buffer of packed states). First every unit of a batch is expanded
while the table is only read; then the sixteen groups of new fingerprints are inserted, each by one thread, in the order
of the units. So counts, the order of every level and the parent kept for each state do not depend on the number of
threads.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO, Protocol

from checker.explore import kernel
from checker.explore.compiled import Compiled
from checker.explore.memory import Block, Budget, Pool, noting_stop, peak_bytes, resident_bytes
from checker.explore.predecessors import PREDECESSOR, Predecessors
from checker.explore.result import Exploration, Limits, Violation
from invariants.registry import STEP
from zabspec.language.layout.error_sites import OF_AUTHOR
from zabspec.limits import Deadline
from zabspec.starts import Schedule
from zabspec.temporary import unseen_file

GROUPS: int = kernel.GROUPS
UNIT = 128 << 10  # bytes of packed states in a unit
FILLED = 96 << 10  # bytes of candidates in a group's section, after which a thread begins another buffer
BATCH = 16  # units expanded between two rounds of insertion, at most
ENOUGH = 1 << 15  # states after which there are no more of them: their candidates take memory
ALONE = 512  # states of a batch that one thread expands faster than they are distributed
BETWEEN = 0.05  # seconds between two reads of clocks and counters, each of which takes longer than a small level
PIECE = 512  # states expanded between two reads of the clock
FIRST_CAPACITY = 1 << 12
LOAD = 0.82  # fill at which a group's table grows
GROWTH = 1.5
SPARING = 1.2  # growth once memory is scarce
LEAP = 4  # while it is small: moving it costs more than unused entries
SMALL = 1 << 17  # entries below which it is
COMPILING = 128 << 20  # bytes, three times what a compilation has been seen to take


class Keeper(Protocol):
    """Saves what is known after each level."""

    def last(self, explorer: Explorer) -> list[LevelGroup] | None:
        """Restore the explorer and return the frontier to resume from, or None."""

    def keep(self, explorer: Explorer, level: list[LevelGroup]) -> None:
        """Save a completed level."""


Progress = Callable[[Exploration, int, int], None]  # result so far, expanded of the level, its size


def available_cores() -> int:
    """Return the number of cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass
class Chunk:
    """A buffer of packed states.

    Attributes:
        block: the memory that holds them; None if they are on disk.
        at: their offset on disk, in bytes.
        start: their offset in the block, in bytes.
    """

    block: Block | None
    used: int = 0
    count: int = 0
    at: int = 0
    start: int = 0


def kernel_errors(reports: Iterable[Block]) -> list[tuple[int, int]]:
    """Return the first capacity error and the first error of the author among the reports of a level, if any.

    Returns:
        Pairs of what machine code recorded, and where.
    """
    out, kept = [], list(reports)
    for noted, place in ((kernel.R_ERROR, kernel.R_ERROR_AT), (kernel.R_FAILED, kernel.R_FAILED_AT)):
        found = [(report.get(place), report.get(noted)) for report in kept if report.get(noted)]
        if found:
            at, error = min(found)
            out.append((error, at))
    return out


class Group:
    """The fingerprint table of one group."""

    def __init__(self) -> None:
        self.capacity = FIRST_CAPACITY
        self.block = Block(8 * self.capacity)
        self.count = 0


class LevelGroup:
    """The states of one level that belong to one group, in the order in which they were found."""

    def __init__(self, budget: Budget, kept: bool = False) -> None:
        """Make an empty group of a level.

        Args:
            kept: whether the fingerprints of its states are recorded, for a checkpoint.
        """
        self.budget = budget
        self.spilled: IO[bytes] | None = None
        self.chunks: list[Chunk] = []
        self.preds = Block(PREDECESSOR * 64)
        self.prints = Block(64 * 8 if kept else 8)
        self.info = Block(8 * kernel.INFO)
        self.info.put(kernel.KEPT, int(kept))
        self.info.put(kernel.MOST, 1 << 62)

    @property
    def count(self) -> int:
        return self.info.get(2)

    def room(self, states: int) -> None:
        """Make room for that many more predecessors."""
        self.room_for(self.count + states)

    def room_for(self, states: int) -> None:
        """Make room for that many predecessors in total."""
        need = PREDECESSOR * states
        if need > self.preds.size:
            larger = Block(max(need, self.preds.size * 3 // 2), budget=self.budget)
            larger.map[: self.preds.size] = self.preds.map[:]
            self.preds = larger
        if self.info.get(kernel.KEPT) and 8 * states > self.prints.size:
            more = Block(max(8 * states, self.prints.size * 3 // 2), budget=self.budget)
            more.map[: self.prints.size] = self.prints.map[:]
            self.prints = more

    def spill(self, pool: Pool) -> None:
        """Write the last buffer, which is full, to an anonymous file, and return its memory to the pool.

        Raises:
            OSError: the disk is full, too.
        """
        if self.spilled is None:
            self.spilled = unseen_file("frontier")
        chunk = self.chunks[-1]
        assert chunk.block is not None
        chunk.at = self.spilled.seek(0, os.SEEK_END)
        self.spilled.write(memoryview(chunk.block.map)[: chunk.used])
        self.spilled.flush()
        pool.give(chunk.block)
        chunk.block = None

    def states(self, chunk: Chunk) -> bytes | memoryview:
        """Return the packed states of a buffer, from memory or disk."""
        if chunk.block is not None:
            return memoryview(chunk.block.map)[: chunk.used]
        assert self.spilled is not None
        return os.pread(self.spilled.fileno(), chunk.used, chunk.at)

    def taken_predecessors(self) -> tuple[int, bytes]:
        """Return the number of states and their predecessors, which are no longer kept here."""
        packed = self.preds.bytes(0, PREDECESSOR * self.count)
        self.preds = Block(PREDECESSOR)
        return self.count, packed


class Slot:
    """The memory for expanding one unit of a batch."""

    def __init__(self, work: int, section: int) -> None:
        self.work = Block(work)
        self.report = Block(8 * kernel.REPORT)
        self.section = section
        self.budget: Budget | None = None
        self.outs: list[tuple[Block, Block]] = []
        self.used = 0
        self.huge = False  # whether its memory has large pages: a small exploration would zero most of these in vain

    def enlarge(self) -> None:
        """Use large pages from now on; the content of the last batch is dropped."""
        if not self.huge:
            self.huge, self.outs, self.used = True, [], 0

    def next_out(self) -> tuple[Block, Block]:
        if self.used == len(self.outs):
            # Sections keep room for the successors of one state, most of which is never written to: in small pages it
            # costs no memory, and does not count.
            huge = self.huge and self.section <= 2 * FILLED
            written = None if huge else GROUPS * FILLED
            self.outs.append((Block(GROUPS * self.section, huge, self.budget, written), Block(8 * (GROUPS + 1))))
        out = self.outs[self.used]
        out[1].map[:] = bytes(out[1].size)
        self.used += 1
        return out


class Explorer:
    """Explores a compiled model breadth-first."""

    def __init__(self, compiled: Compiled, threads: int = 0) -> None:
        """Make an explorer.

        Args:
            compiled: the model, its properties and symmetry.
            threads: the number of cores to use; 0 for all.
        """
        self.code = compiled
        self.threads = threads or available_cores()
        self.groups = [Group() for _ in range(GROUPS)]
        self.where = Block(16 * GROUPS)
        self.pool = Pool(UNIT)
        section = compiled.numbers["MARGIN"] + FILLED
        self.slots = [Slot(compiled.work, section) for _ in range(BATCH)]
        self.preds = Predecessors()
        self.starts: list[bytes] = []  # the states of the first level; empty: it was restored, and has the only one
        self.steps_properties = sum(1 << k for k, p in enumerate(compiled.properties) if p.of == STEP)
        self.all = (1 << len(compiled.properties)) - 1

    def forget(self) -> None:
        """Free the memory of what was explored."""
        self.groups, self.slots, self.preds = [], [], Predecessors()
        self.pool = Pool(UNIT)

    # --- one exploration -------------------------------------------------------------------------

    def run(
        self, limits: Limits, keep_going: bool = False, progress: Progress | None = None, keeper: Keeper | None = None
    ) -> Exploration:
        """Explore from the initial states.

        Args:
            limits: a depth, and limits of states, time and memory.
            keep_going: whether to continue past violations, for the shortest run to each property.
            progress: called after each batch.
            keeper: saves each level, and restores the one to resume from.
        """
        started = time.perf_counter()
        self.cpu_started = self.cpu_counted = time.process_time()
        result = Exploration(self.code.properties, self.code.symmetry, stuttering_off=self.code.stuttering_off)
        self.result, self.limits = result, limits
        self.deadline = Deadline(limits.seconds, limits.spent)
        self.budget = self.pool.budget = Budget(limits.memory)
        for slot in self.slots:
            slot.budget = self.budget
        self.started, self.progress, self.keeper = started, progress, keeper
        self.next_counted = self.next_work = started + BETWEEN
        pool = ThreadPoolExecutor(self.threads) if self.threads > 1 else None
        try:
            restored = keeper.last(self) if keeper is not None else None
            level = restored or self.first_level()
            while not self.finished(level, keep_going):
                level, restored = self.next_level(level, pool), None
            result.exhausted_before = result.complete and restored is not None
        except KeyboardInterrupt:  # between two levels
            result.stopped = "interrupted"
        finally:
            if pool is not None:
                pool.shutdown(wait=True, cancel_futures=True)
        self.collect_counts()
        result.seconds = time.perf_counter() - self.started
        result.cpu_seconds += time.process_time() - self.cpu_started
        result.memory = peak_bytes()
        return result

    def finished(self, level: list[LevelGroup], keep_going: bool) -> bool:
        return self.result.finished(any(g.count for g in level), keep_going, self.limits.depth)

    def first_level(self) -> list[LevelGroup]:
        """Return the level of the initial states, judged and entered in the table."""
        code, starts = self.code, self.code.model.program.starts
        if self.keeper is not None and len(starts) > 1:
            code.model.program.initial()  # raises: a checkpoint has runs from one state
        found: list[dict[int, tuple[bytes, bytes]]] = [{} for _ in range(GROUPS)]
        for data in starts:
            fingerprint, state = code.visited(data)
            found[fingerprint >> 60 & 15].setdefault(fingerprint, (data, state))
        level = [LevelGroup(self.budget) for _ in range(GROUPS)]
        for new, group, entries in zip(level, self.groups, found, strict=True):
            self.enter_starts(new, group, {h: state for h, (_, state) in entries.items()})
        self.starts = [data for entries in found for data, _ in entries.values()]
        self.result.levels.append(len(self.starts))
        self.result.raw_levels.append(sum(map(code.orbit_size, self.starts)))
        self.keep_predecessors(level)
        live = self.all & ~self.steps_properties
        for data in self.starts:
            broken, met, error = code.judged_state(data, live)
            self.meet(met, 0)
            live &= ~broken
            for k, p in enumerate(code.properties):
                if broken >> k & 1:
                    self.result.violations[p.name] = Violation(p, Schedule.of((), starts[data]))
            if error:
                self.note_failure(Schedule.of((), starts[data]), error, here=True)
                break
        self.result.expanded_levels = -1 if self.result.error else 0
        if self.keeper is not None and not self.result.error:
            for new, entries in zip(level, found, strict=True):
                for fingerprint in entries:
                    new.prints.put(0, fingerprint - (fingerprint >> 63 << 64))
            self.keeper.keep(self, level)
        return level

    def enter_starts(self, new: LevelGroup, group: Group, states: Mapping[int, bytes]) -> None:
        """Enter the initial states of a group, by their fingerprints, in its table and its part of the first level."""
        if len(states) > LOAD * group.capacity:
            self.grow(group, len(states))
        for fingerprint, state in states.items():
            place = (((fingerprint << 4) & (2**64 - 1)) * group.capacity) >> 64
            while group.block.get(place):
                place = (place + 1) % group.capacity
            group.block.put(place, fingerprint)
            if not new.chunks or new.chunks[-1].used + self.code.numbers["PACKED_LIMIT"] > UNIT:
                new.chunks.append(Chunk(Block(UNIT)))
            chunk = new.chunks[-1]
            assert chunk.block is not None
            chunk.used += self.code.pack_state(self.code.state(state), chunk.block.address + chunk.used)
            chunk.count += 1
        group.count = len(states)
        new.room_for(len(states))
        new.info.put(2, len(states))

    def next_level(self, level: list[LevelGroup], pool: ThreadPoolExecutor | None) -> list[LevelGroup]:
        """Expand every state of a level; return the level of their new successors."""
        r = self.result
        new = [LevelGroup(self.budget, self.keeper is not None) for _ in range(GROUPS)]
        r.levels.append(0)
        r.raw_levels.append(0)
        try:
            with noting_stop(r):
                self.expand_all(level, new, pool)
        except OSError as problem:
            r.stopped = f"out of memory, and the frontier cannot be put on disk: {problem.strerror or problem}"
        if r.stopped and pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)  # before reading what its threads write
        r.levels[-1] = sum(g.count for g in new)
        self.keep_predecessors(new)
        self.look_at_reports(new)
        if not r.stopped and not r.error:
            r.expanded_levels += 1
            if self.keeper is not None:
                self.keeper.keep(self, new)
        return new

    def expand_all(self, level: list[LevelGroup], new: list[LevelGroup], pool: ThreadPoolExecutor | None) -> None:
        """Expand a level batch by batch, until it is done or a limit cuts it short."""
        r = self.result
        size, expanded = r.levels[-2], 0
        units = self.units(level)
        batch = self.next_batch(units)
        while batch:
            self.place_tables()
            self.wanted = self.masks()
            jobs = len(batch)
            hands = pool if sum(chunk.count for chunk, _ in batch) >= ALONE else None
            self.each(hands, self.expand, self.slots[:jobs], batch)
            self.insert_all(hands, new, jobs)
            for chunk, _ in batch:
                self.give_back(chunk)
                expanded += chunk.count
            r.levels[-1] = sum(g.count for g in new)
            r.raw_levels[-1] = sum((g.info.get(kernel.RAW) << 32) + g.info.get(kernel.RAW_LOW) for g in new)
            if self.progress is not None:
                now = time.perf_counter()
                r.seconds = now - self.started
                if now >= self.next_counted:
                    self.collect_counts()
                    self.next_counted = time.perf_counter() + BETWEEN
                self.progress(r, expanded, size)
            if self.cut_short():
                return
            self.count_work()
            batch = self.next_batch(units)

    def next_batch(self, units: Iterator[tuple[Chunk, int]]) -> list[tuple[Chunk, int]]:
        """Return the units to expand next: at least two for each thread, if there are."""
        batch: list[tuple[Chunk, int]] = []
        states = 0
        while len(batch) < BATCH and (states < ENOUGH or len(batch) < 2 * self.threads):
            unit = next(units, None)
            if unit is None:
                break
            batch.append(unit)
            states += unit[0].count
        return batch

    def count_work(self) -> None:
        """Report the CPU time spent so far to the compiled code now and then, which may then compile optimised code.

        The time for that does not count as the exploration's, but its memory does.
        """
        at = time.perf_counter()
        if at < self.next_work:
            return
        self.next_work = at + BETWEEN
        cpu = time.process_time()
        in_use = resident_bytes()
        room = self.budget.limit - max(in_use, self.budget.spent)
        if room > COMPILING and self.code.worked(cpu - self.cpu_counted, self.deadline.left()):
            self.budget.add(max(0, resident_bytes() - in_use))
        spent, self.cpu_counted = time.perf_counter() - at, time.process_time()
        self.result.compile_seconds += spent
        self.started += spent
        self.cpu_started += self.cpu_counted - cpu

    def give_back(self, chunk: Chunk) -> None:
        """Return a chunk's memory to the pool after its states were expanded."""
        assert chunk.block is not None
        self.pool.give(chunk.block)

    def units(self, level: list[LevelGroup]) -> Iterator[tuple[Chunk, int]]:
        first = 0
        for group in level:
            for chunk in group.chunks:
                if chunk.block is None:
                    data, chunk.block = group.states(chunk), self.pool.take()
                    chunk.block.map[: chunk.used] = data
                yield chunk, first
                first += chunk.count

    @staticmethod
    def each(pool: ThreadPoolExecutor | None, function: Callable[..., None], *items: Sequence[object]) -> None:
        for _ in map(function, *items) if pool is None else pool.map(function, *items):
            pass

    # --- the two phases of a batch ---------------------------------------------------------------

    def place_tables(self) -> None:
        """Write the address of every group's table for the kernel."""
        base = self.groups[0].block.address
        for g, group in enumerate(self.groups):
            self.where.put(2 * g, (group.block.address - base) // 8)
            self.where.put(2 * g + 1, group.capacity)
        if self.groups[0].capacity >= SMALL:
            for slot in self.slots:
                slot.enlarge()

    def masks(self) -> tuple[int, int, int, int]:
        """Return the masks of properties still to be judged, of states and of steps, and of open premises, likewise."""
        r = self.result
        live = sum(1 << k for k, p in enumerate(self.code.properties) if p.name not in r.violations)
        want = sum(1 << k for k, p in enumerate(self.code.properties) if p.name not in r.witnessed)
        steps = self.steps_properties
        return live & ~steps, live & steps, want & ~steps, want & steps

    def expand(self, slot: Slot, unit: tuple[Chunk, int]) -> None:
        chunk, first = unit
        code = self.code
        assert chunk.block is not None
        live, live_steps, want, want_steps = self.wanted
        slot.used = 0
        done, offset = 0, chunk.start
        out, filled = slot.next_out()
        while done < chunk.count and not self.deadline.over():
            asked = min(PIECE, chunk.count - done)
            made = code.expand(
                chunk.block.address, offset, asked, first + done,
                self.groups[0].block.address, self.where.address, out.address, slot.section, filled.address,
                slot.work.address, slot.report.address, code.perms, live, live_steps, want, want_steps,
            )  # fmt: skip
            done += made
            offset = slot.report.get(kernel.R_OFFSET)
            if made < asked:
                out, filled = slot.next_out()
        if done == chunk.count and offset != chunk.start + chunk.used:  # something else was written in its place
            raise RuntimeError(f"{done} states of a level end at {offset}, and not at {chunk.start + chunk.used}")

    def insert_all(
        self, pool: ThreadPoolExecutor | None, new: list[LevelGroup], jobs: int
    ) -> list[list[tuple[Block, int, int]]]:
        """Insert what a batch has found, up to the limit of states; return what of each group was not inserted.

        With a limit, groups are inserted in turns, in which each takes its share of what is left, so that the result
        does not depend on the threads.
        """
        before = sum(self.result.levels[:-1])
        most = self.limits.max_states
        work = [self.candidates(g, jobs) for g in range(GROUPS)]
        while True:
            found = sum(g.count for g in new)
            left = (1 << 62) if most is None else max(0, most - before - found)
            share = -(-left // GROUPS)
            for g in new:
                g.info.put(kernel.MOST, g.count + share)
            self.each(pool, self.insert, range(GROUPS), new, work)
            if not left or not any(work) or sum(g.count for g in new) == found:
                return work

    def candidates(self, g: int, jobs: int) -> list[tuple[Block, int, int]]:
        """Return where a batch has left candidates of a group: blocks, each with start and end."""
        return [
            (out, g * slot.section, g * slot.section + filled.get(g))
            for slot in self.slots[:jobs]
            for out, filled in slot.outs[: slot.used]
            if filled.get(g)
        ]

    def insert(self, g: int, new: LevelGroup, work: list[tuple[Block, int, int]]) -> None:
        """Insert a group's candidates until none is left, or the group is full; remove those inserted from `work`."""
        group = self.groups[g]
        most = self.make_room(group, new, work)
        if most <= 0:
            return
        new.room(most)
        before = new.count
        while work:
            out, at, end = work[0]
            if not new.chunks:
                new.chunks.append(Chunk(self.pool.take()))
            chunk = new.chunks[-1]
            assert chunk.block is not None
            new.info.put(0, chunk.used)
            new.info.put(1, chunk.count)
            at = self.code.insert(
                out.address, at, end, group.block.address, group.capacity, chunk.block.address,
                UNIT, new.preds.address, new.prints.address, new.info.address,
            )  # fmt: skip
            chunk.used, chunk.count = new.info.get(0), new.info.get(1)
            work[0] = (out, at, end)
            if at == end:
                work.pop(0)
            elif new.count >= new.info.get(kernel.MOST):
                break
            else:
                if self.budget.scarce():
                    new.spill(self.pool)
                new.chunks.append(Chunk(self.pool.take()))
        group.count += new.count - before

    def make_room(self, group: Group, new: LevelGroup, work: list[tuple[Block, int, int]]) -> int:
        """Make room in a group's table for as many states as may be inserted; return their number."""
        most = min(sum(end - at for _, at, end in work) // kernel.CANDIDATE, new.info.get(kernel.MOST) - new.count)
        if most > 0 and group.count + most > LOAD * group.capacity:
            self.grow(group, most)
        return most

    def grow(self, group: Group, more: int) -> None:
        """Replace the table of a group by a larger one, with room for `more` fingerprints."""
        capacity = group.capacity
        usual = SPARING if self.budget.scarce() else GROWTH
        while group.count + more > LOAD * capacity:
            capacity = int(capacity * (usual if capacity >= SMALL else LEAP))
        block = Block(8 * capacity, huge=True, budget=self.budget)
        self.code.rehash(group.block.address, group.capacity, block.address, capacity)
        group.block, group.capacity = block, capacity

    # --- what the kernel reported ----------------------------------------------------------------

    def keep_predecessors(self, level: list[LevelGroup]) -> None:
        self.preds.append((g.taken_predecessors() for g in level), self.budget)

    def meet(self, mask: int, depth: int) -> None:
        for k, p in enumerate(self.code.properties):
            if mask >> k & 1:
                self.result.witnessed.setdefault(p.name, depth)

    def look_at_reports(self, new: list[LevelGroup]) -> None:
        """Record the premises met, the violations found and the first error of the level in the result."""
        r, depth = self.result, self.result.depth
        for noted, place in kernel_errors(slot.report for slot in self.slots):
            self.note_failure(self.schedule_to(depth - 1, place >> 17 & 0xFFFFFFFF), noted)
        for slot in self.slots:
            self.meet(slot.report.get(kernel.R_WITNESSES) | slot.report.get(kernel.R_STEP_WITNESSES), depth)
        broken = [group.info.words(3, len(self.code.properties)) for group in new]
        for k, p in enumerate(self.code.properties):
            if p.name in r.violations:
                continue
            if p.of == STEP:
                self.look_at_steps(k)
                continue
            index = self.first_that_breaks(new, broken, k)
            if index >= 0:
                r.violations[p.name] = Violation(p, self.schedule_to(depth, index))

    def note_failure(self, schedule: Schedule, noted: int, here: bool = False) -> None:
        """Record a run-time error in the result: see `checker/explore/failing.py`."""
        from checker.explore.failing import note_failure

        by_author = bool(noted & OF_AUTHOR)
        note_failure(self.result, self.code.model, schedule, self.code.said_of(noted), by_author, here)

    def first_that_breaks(self, new: list[LevelGroup], broken: list[list[int]], k: int) -> int:
        """Return the number of the first state of a level that violates the k-th property, or -1.

        Args:
            broken: by group and property the first such state of the group, from 1; 0 if there is none.
        """
        first = 0
        for group, places in zip(new, broken, strict=True):
            if places[k]:
                return first + places[k] - 1
            first += group.count
        return -1

    def look_at_steps(self, k: int) -> None:
        found = [
            (slot.report.get(kernel.R_BROKEN + k) - 1, slot.report.get(kernel.R_BROKEN_ORDINAL + k))
            for slot in self.slots
            if slot.report.get(kernel.R_BROKEN + k)
        ]
        if found:
            p = self.code.properties[k]
            parent, ordinal = min(found)
            self.result.violations[p.name] = Violation(
                p, self.schedule_to(self.result.depth - 1, parent, ordinal, 1 << k)
            )

    def cut_short(self) -> bool:
        """Return whether a limit ends the exploration here.

        An error does not end it here but with its level, so that violations by other steps are reported too.
        """
        r, limits = self.result, self.limits
        if limits.max_states is not None and r.distinct >= limits.max_states:
            r.stopped = f"--max-states {limits.max_states} reached"
        elif self.deadline.over():
            r.stopped = f"--time-limit {limits.seconds:g} s reached"
        elif self.budget.exceeded():
            r.stopped = self.budget.reason
        return bool(r.stopped)

    def collect_counts(self) -> None:
        """Add up the counters of the slots."""
        r, code = self.result, self.code
        totals = [0] * kernel.R_BROKEN
        for slot in self.slots:
            for k, v in enumerate(slot.report.words(0, kernel.R_BROKEN)):
                totals[k] += v
        r.generated = totals[kernel.R_GENERATED]
        r.terminal = totals[kernel.R_DEADLOCKS]
        r.step_counts = {name: totals[kernel.R_STEPS + k] for k, name in enumerate(code.steps)}
        r.event_counts = {k: v for k, v in enumerate(totals[kernel.R_EVENTS : kernel.R_BROKEN]) if v}

    def knows(self, fingerprint: int) -> bool:
        """Return whether the state with a fingerprint was found."""
        group = self.groups[(fingerprint >> 60) & 15]
        place = (((fingerprint << 4) & (2**64 - 1)) * group.capacity) >> 64
        while (held := group.block.get(place)) not in (0, fingerprint):
            place = (place + 1) % group.capacity
        return held != 0

    # --- the way back ------------------------------------------------------------------------------

    def schedule_to(self, depth: int, index: int, last: int | None = None, broken: int = 0) -> Schedule:
        """Return the steps from an initial state to a state of a level, and one more step if requested.

        Args:
            last: the ordinal of one more step; it must violate the step property `broken` (a mask), which other steps
                into the same orbit need not.
        """
        ordinals = [] if last is None else [last]
        for level in range(depth, 0, -1):
            index, ordinal = self.preds.of(level, index)
            ordinals.insert(0, ordinal)
        return self.code.schedule_along(ordinals, broken, self.starts[index] if self.starts else b"")
