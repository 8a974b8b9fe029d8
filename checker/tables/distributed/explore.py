"""Breadth-first exploration on Spark: each level is a job, and is committed before the next begins."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from checker.explore import kernel
from checker.explore.checkpoints.checkpoint import Checkpoint, Level, LevelPart, folder_of, located
from checker.explore.checkpoints.files import NOTHING
from checker.explore.checkpoints.task import ExplorationTask
from checker.explore.failing import note_failure
from checker.explore.memory import Block, peak_bytes
from checker.explore.result import Exploration, Limits, Violation
from checker.tables.distributed.absorb import write_run
from checker.tables.distributed.cluster import Cancelled, Cluster, Here
from checker.tables.distributed.code import code_for
from checker.tables.distributed.fingerprints import Fingerprints, cell_of, cells
from checker.tables.distributed.storage import Storage
from invariants.registry import NO_RUNTIME_ERROR, STEP, Property
from zabspec.language.layout.error_sites import OF_AUTHOR
from zabspec.limits import Deadline
from zabspec.starts import Schedule

HERE = 20_000  # states of a level that is expanded without a job, if its duration is unknown
JOB = 0.5  # seconds that the driver may take for a level: a job takes some tenths of a second to begin
PACED = 5_000  # states from which on the duration of a state can be estimated from a level

Progress = Callable[[Exploration, int, int], None]


class SparkExplorer:
    """Explores a model breadth-first, from the start or from its last committed level."""

    def __init__(
        self,
        question: ExplorationTask,
        checkpoint: Checkpoint[Storage],
        level: Level | None = None,
    ) -> None:
        """Make an explorer.

        Args:
            checkpoint: where levels are committed.
            level: the one to continue from.
        """
        self.question = question
        self.code = code_for(question)
        self.checkpoint = checkpoint
        self.storage = checkpoint.storage
        self.level = level
        self.here = HERE
        self.pace = 0.0  # seconds for a state of the last level expanded here that was not tiny; or 0
        self.result = Exploration(
            self.code.properties, question.symmetry, "spark", stuttering_off=self.code.stuttering_off
        )
        self.result.fingerprint_bits = question.bits
        if level is not None:
            self.tell(level)

    def run(
        self, cluster: Cluster | Here, limits: Limits, keep_going: bool = False, progress: Progress | None = None
    ) -> Exploration:
        """Explore level by level until a limit, a violation or the end; the outcome is in `result`.

        Args:
            cluster: where levels of more than a few states are expanded.
            limits: a depth, and other limits. Levels are whole, so that limits may be exceeded somewhat.
            keep_going: whether to continue past violations, for the shortest run to each property.
            progress: called now and then.

        Raises:
            KeyboardInterrupt: what is committed is in `result`.
            StorageError, Damaged, Refused: the checkpoint cannot be used any more.
        """
        r = self.result
        started, cpu = time.perf_counter(), time.process_time()
        deadline = Deadline(limits.seconds, limits.spent)
        earlier = (0.0, 0.0) if self.level is None else (self.level.seconds, self.level.cpu_seconds)
        tasks = 0.0

        def watch(part: float) -> bool:
            r.seconds = earlier[0] + time.perf_counter() - started
            if progress is not None:
                progress(r, int(part * r.levels[-1]), r.levels[-1])
            return not deadline.over()

        def spend(level: Level) -> None:
            level.seconds = earlier[0] + time.perf_counter() - started
            level.cpu_seconds = earlier[1] + time.process_time() - cpu + tasks

        try:
            restored = self.level
            if self.level is None:
                level = self.first_level()
                spend(level)
                self.commit(level, None)
            assert self.level is not None
            while not self.finished(self.level, limits, keep_going, deadline):
                where: Cluster | Here = Here() if self.small(self.level) else cluster
                self.storage.create(folder_of(self.level.depth + 1))
                begun = time.perf_counter()
                answers = where.level(self.question, self.storage, self.level, watch)
                level = self.next_level(self.level, answers)
                if r.stopped:
                    break
                level.jobs = self.level.jobs + isinstance(where, Cluster)
                if isinstance(where, Here) and self.level.size >= PACED:
                    self.pace = (time.perf_counter() - begun) / self.level.size
                if isinstance(where, Cluster):
                    tasks += sum(a["cpu"] + sum(report["cpu"] for report in a["reports"]) for a in answers)
                spend(level)
                self.commit(level, self.level)
            r.exhausted_before = r.complete and restored is self.level
        except Cancelled:
            r.stopped = f"--time-limit {limits.seconds:g} s reached"
        finally:
            r.seconds = earlier[0] + time.perf_counter() - started
            r.cpu_seconds = earlier[1] + time.process_time() - cpu + tasks
            r.memory = max(r.memory, peak_bytes())
        return r

    def small(self, level: Level) -> bool:
        """Return whether a level is finished sooner without a job. The result of the level is the same either way."""
        return level.size * self.pace <= JOB if self.pace else level.size <= self.here

    def finished(self, level: Level, limits: Limits, keep_going: bool, deadline: Deadline) -> bool:
        r = self.result
        if r.error or (r.violations and not keep_going):
            return True
        if not level.size:
            r.complete = True
            r.levels.pop()
            r.raw_levels.pop()
            return True
        if limits.depth is not None and level.depth >= limits.depth:
            return True  # everything requested was explored
        if limits.max_states is not None and r.distinct >= limits.max_states:
            r.stopped = f"--max-states {limits.max_states} reached"
        elif deadline.over():
            r.stopped = f"--time-limit {limits.seconds:g} s reached"
        return bool(r.stopped)

    def commit(self, level: Level, before: Level | None) -> None:
        self.checkpoint.commit(self.question, level)
        self.level = level
        self.tell(level)
        self.checkpoint.tidy(level, before)

    # --- levels ------------------------------------------------------------------------------------

    def first_level(self) -> Level:
        """Return the level of the initial state, judged; it belongs to one owner."""
        code, question = self.code, self.question
        self.storage.create(folder_of(0))
        initial = code.model.program.initial().key()
        fingerprint, state = code.visited(initial)
        first = np.array([fingerprint & (1 << 64) - 1], np.uint64)
        second = None
        if question.wide:
            second = np.array([code.second_fingerprint(code.state(state)) & (1 << 64) - 1], np.uint64)
        out = Block(code.numbers["PACKED_LIMIT"] + 64)
        packed = out.bytes(0, code.pack_state(code.state(state), out.address))
        owner = int(cell_of(first, question.parts)[0]) * question.parts // cells(question.parts)
        parts = []
        for k in range(question.parts):
            if k != owner:
                parts.append(LevelPart(NOTHING, NOTHING, ()))
                continue
            name = f"{folder_of(0)}/{k:05}"
            states = self.storage.write(f"{name}.states", [packed], 1)
            predecessors = self.storage.write(f"{name}.pred", [bytes(8)], 1)
            run = write_run(self.storage, f"{name}.run", [Fingerprints(first, second)], question.wide)
            parts.append(LevelPart(states, predecessors, (run,), ((1, len(packed)),)))
        level = Level(0, parts, [1], [code.orbit_size(initial)], [0] * kernel.R_BROKEN)
        all_ = (1 << len(code.properties)) - 1 & ~code.of_steps
        broken, met, error = code.judged_state(initial, all_)
        level.violations = {p.name: [] for k, p in enumerate(code.properties) if broken >> k & 1}
        if error:
            self.note_failure(level, Schedule(), error, here=True)
        level.witnessed = {p.name: 0 for k, p in enumerate(code.properties) if met >> k & 1}
        return level

    def next_level(self, level: Level, answers: list[dict[str, Any]]) -> Level:
        """Return the level that the tasks' answers describe; nothing else is counted."""
        parts: list[LevelPart] = [answer["part"] for answer in answers]
        reports = [report for answer in answers for report in answer["reports"]]
        if len(reports) != self.question.parts:
            raise RuntimeError(f"{self.question.parts} parts had to be expanded, but {len(reports)} were")
        words = [report["words"] for report in reports]
        new = Level(
            level.depth + 1,
            parts,
            [*level.levels, sum(part.count for part in parts)],
            [*level.raw_levels, sum(answer["raw"] for answer in answers)],
            [sum(counts) for counts in zip(level.totals, *(w[: kernel.R_BROKEN] for w in words), strict=True)],
            dict(level.witnessed),
            dict(level.violations),
            memory=max([level.memory, *(a["memory"] for a in answers), *(report["memory"] for report in reports)]),
        )
        for w in words:
            for k, p in enumerate(self.code.properties):
                if (w[kernel.R_WITNESSES] | w[kernel.R_STEP_WITNESSES]) >> k & 1:
                    new.witnessed.setdefault(p.name, new.depth)
        self.note_errors(level, new, words)
        for k, p in enumerate(self.code.properties):
            if p.name not in level.violations:
                found = self.broken_step(level, words, k) if p.of == STEP else self.broken_state(new, answers, k)
                if found is not None:
                    new.violations[p.name] = found
        return new

    def note_errors(self, level: Level, new: Level, words: list[list[int]]) -> None:
        """Record the first run-time errors of a level, independent of the order in which its parts were run."""
        for noted, place in ((kernel.R_ERROR, kernel.R_ERROR_AT), (kernel.R_FAILED, kernel.R_FAILED_AT)):
            found = [(w[place] < kernel.LISTED, source, w) for source, w in enumerate(words) if w[noted]]
            if found:
                _, source, w = min(found, key=lambda x: (not x[0], x[1]))
                ordinals = self.ordinals(level, source, w[place] >> 17 & 0xFFFFFFFF)
                self.note_failure(new, self.code.schedule_along(ordinals), w[noted])

    def note_failure(self, level: Level, schedule: Schedule, noted: int, here: bool = False) -> None:
        """Record a run-time error in a level, with the run to it."""
        found = Exploration(self.code.properties)
        found.error = level.error
        note_failure(found, self.code.model, schedule, self.code.said_of(noted), bool(noted & OF_AUTHOR), here)
        level.error = found.error
        level.violations |= {name: list(f.schedule) for name, f in found.violations.items()}
        if found.error_run is not None:
            level.error_run = list(found.error_run)

    def broken_state(self, new: Level, answers: list[dict[str, Any]], k: int) -> list[int] | None:
        """Return the steps to the first state of a level that violates a property, or None."""
        for part, answer in enumerate(answers):
            if k in answer["broken"]:
                return list(self.code.schedule_along(self.checkpoint.ordinals(new, part, answer["broken"][k])))
        return None

    def ordinals(self, level: Level, share: int, place: int) -> list[int]:
        """Return the ordinal of each step to a state, which is given by its index among those that a task expanded."""
        return self.checkpoint.ordinals(level, *located(level, share, place))

    def broken_step(self, level: Level, words: list[list[int]], k: int) -> list[int] | None:
        """Return the steps through the first step of a level that violates a property, or None."""
        for source, w in enumerate(words):
            if w[kernel.R_BROKEN + k]:
                path = self.ordinals(level, source, w[kernel.R_BROKEN + k] - 1)
                return list(self.code.schedule_along([*path, w[kernel.R_BROKEN_ORDINAL + k]], 1 << k))
        return None

    # --- what is told ------------------------------------------------------------------------------

    def tell(self, level: Level) -> None:
        """Copy the figures and findings of a level to the result."""
        r, code, totals = self.result, self.code, level.totals
        named: dict[str, Property] = {p.name: p for p in (*code.properties, NO_RUNTIME_ERROR)}
        r.levels, r.raw_levels = list(level.levels), list(level.raw_levels)
        r.expanded_levels = level.depth - 1 if level.error else level.depth
        r.generated, r.terminal = totals[kernel.R_GENERATED], totals[kernel.R_DEADLOCKS]
        r.step_counts = {name: totals[kernel.R_STEPS + k] for k, name in enumerate(code.steps)}
        r.event_counts = {k: v for k, v in enumerate(totals[kernel.R_EVENTS : kernel.R_BROKEN]) if v}
        r.witnessed = dict(level.witnessed)
        r.violations = {name: Violation(named[name], tuple(words)) for name, words in level.violations.items()}
        r.error, r.error_run = level.error, None if level.error_run is None else tuple(level.error_run)
        r.seconds, r.cpu_seconds, r.memory = level.seconds, level.cpu_seconds, level.memory
        r.jobs = level.jobs
