"""Run jobs that take longer than a click: searches with the compiled explorer.

A run that a search finds is walked in the interpreted world before it is reported.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from checker.errors import NoVerdict, RequestError
from checker.requests.base.watch import Watch
from checker.requests.explore import Explore
from checker.requests.witness import Witness
from checker.walk.continuing import Bounds, ContinuedModel, continued
from checker.walk.served import Served, Serving
from invariants.registry import NO_RUNTIME_ERROR
from traces.explain.names import counted, joined
from traces.record.failure import STEP
from traces.walk.address import Address
from traces.walk.view import runtime
from traces.walk.walker import VIOLATED, Verdict, WalkError, WalkPlace
from zabspec.language.layout.source import LanguageError
from zabspec.model import ConfigError
from zabspec.properties import DEADLOCK

if TYPE_CHECKING:
    from checker.explore.result import Exploration

VIOLATION, WITNESS = "violation", "witness"
GOALS = (VIOLATION, WITNESS)
MOST_KEPT = 64
MOST_RUNNING = 2
PATIENCE = 5.0  # seconds to wait at the end for a job to notice
RUNNING, FOUND, NONE, CANCELLED, FAILED = "running", "found", "none", "cancelled", "failed"
WRONG = (RequestError, NoVerdict, ConfigError, LanguageError, WalkError)


class Cancelled(Exception):
    """A job was cancelled."""


@dataclass
class Job:
    """A search for a run.

    Attributes:
        state: `running`, `found`, `none` (there is no such run, or none was found), `cancelled` or `failed`.
        said: its message, in a sentence.
        address: of the end of the run that was found.
    """

    state: str = RUNNING
    said: str = "making the model ready"
    address: str = ""
    stop: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None


class Following(Watch):
    """Records the progress of a job, and ends it if it is cancelled."""

    def __init__(self, job: Job) -> None:
        self.job = job

    @contextmanager
    def exploring(self) -> Iterator[Callable[[Exploration, int, int], None]]:
        yield self.so_far

    def so_far(self, r: Exploration, expanded: int, of: int) -> None:
        if self.job.stop.is_set():
            raise Cancelled
        self.job.said = f"{counted(r.distinct, 'state')}, depth {r.depth}"


class Jobs:
    """The jobs of a server.

    Args:
        serving: the models.
        bounds: of every job.
    """

    def __init__(self, serving: Serving, bounds: Bounds) -> None:
        self.serving, self.bounds = serving, bounds
        self.all: dict[int, Job] = {}
        self.numbers = itertools.count(1)

    def begin(self, address: Address, goal: str, name: str, here: bool) -> int:
        """Begin a job; return its number.

        Args:
            goal: what to find: a violation of a property, or the first place that meets its premise.
            name: the property; empty for any, for a violation from the initial state.
            here: whether the run continues from the address; else it begins in the initial state.

        Raises:
            WalkError: there is no such property, or too many jobs are running.
        """
        with self.serving.at(address) as (found, place, _):
            self.serving.check_current(found)
            names = {v.property.name for v in place.verdicts}
        if name not in names and (name or here or goal != VIOLATION):
            raise WalkError(f"no property {name[:60]!r} is checked in this walk")
        if goal == WITNESS and name == DEADLOCK:
            raise WalkError(f"{name} has no premise: every state checks it")
        return self.launch(lambda job: self.looked(job, found, place, goal, name, here))

    def launch(self, look: Callable[[Job], tuple[str, str, str]]) -> int:
        """Begin a job, and return its number.

        Raises:
            WalkError: too many are running.
        """
        if sum(job.state == RUNNING for job in self.all.values()) >= MOST_RUNNING:
            raise WalkError(f"{MOST_RUNNING} searches are running: cancel one first")
        for old in [n for n, job in self.all.items() if job.state != RUNNING][: max(0, len(self.all) - MOST_KEPT)]:
            del self.all[old]
        job, number = Job(), next(self.numbers)
        # the end of the command does not wait for it: `end_where_it_stands`
        job.thread = threading.Thread(target=self.work, args=(job, look), daemon=True, name="work")
        self.all[number] = job
        job.thread.start()
        return number

    def job(self, number: int) -> Job:
        """Return a job.

        Raises:
            WalkError: there is no such job.
        """
        if number not in self.all:
            raise WalkError(f"there is no search {number}")
        return self.all[number]

    def cancel(self, number: int) -> None:
        """Cancel a job. What has been found stays."""
        self.job(number).stop.set()

    def close(self) -> None:
        """End all jobs."""
        for job in self.all.values():
            job.stop.set()
        for job in self.all.values():
            if job.thread is not None:
                job.thread.join(PATIENCE)

    # --- at work -----------------------------------------------------------------------------------

    def work(self, job: Job, look: Callable[[Job], tuple[str, str, str]]) -> None:
        try:
            state, said, address = look(job)
        except Cancelled:
            state, said, address = CANCELLED, "cancelled", ""
        except WRONG as problem:
            state, said, address = FAILED, str(problem), ""
        except MemoryError:
            state, said, address = FAILED, "out of memory", ""
        except Exception as problem:  # an error of zabcheck: reported, and not hidden in a thread
            state, said, address = FAILED, f"the search failed, a bug of zabcheck: {problem!r:.200}", ""
        job.said, job.address = said, address
        job.state = state

    def looked(
        self, job: Job, found: Served, place: WalkPlace, goal: str, name: str, here: bool
    ) -> tuple[str, str, str]:
        """Search for a run; return how it ended, the message, and the address."""
        watch = Following(job)
        if here:
            [p] = [v.property for v in place.verdicts if v.property.name == name]
            model = ContinuedModel(found.walker.model.configuration, place.state.key())
            words, nothing = continued(model, p, goal == WITNESS, self.bounds, watch)
        elif goal == WITNESS:
            words, nothing = self.to_premise(found, name, watch)
        else:
            words, nothing = self.to_violation(found, name, watch)
        if words is None:
            return NONE, nothing, ""
        with found.lock:
            end = found.walker.along((*(place.schedule if here else ()), *words))
            verdicts = [v for v in end.verdicts if name in (v.property.name, "")]
            shown = [v.property.name for v in verdicts if shows(v, goal, len(end.path), here)]
            if not name and any(row["verdict"] == VIOLATED for row in runtime(end)):
                shown.append(NO_RUNTIME_ERROR.name if end.failure else f"{NO_RUNTIME_ERROR.name} by a step from there")
            if not shown:
                raise WalkError("the run that was found does not end as searched for: a bug of zabcheck")
            address = found.address(end.path)
        from_here = " from there" if here else ""
        what = f"violates {joined(shown)}" if goal == VIOLATION else f"reaches the premise of {joined(shown)}"
        how = f"a run, perhaps not a shortest ({nothing})," if nothing else "a shortest run"
        return FOUND, f"{how}{from_here} that {what}: {counted(len(words), 'step')}", address.text

    def to_violation(self, found: Served, name: str, watch: Watch) -> tuple[tuple[int, ...] | None, str]:
        """Return the shortest run that violates a property, or any; else why there is none.

        With a run, the text says why a shorter one is not excluded. It ends before a step that meets a run-time error.
        """
        request = Explore(
            **vars(found.request.model),
            properties=(name,) if name else found.request.properties,
            reduction="auto" if found.request.merges else "none",
            trace=None,
            **asdict(self.bounds),
        )
        report = request.answer(watch)
        wanted = (
            [name] if name else sorted(report.counterexamples, key=lambda n: report.exploration.violations[n].depth)
        )
        for run in (report.counterexamples[n] for n in wanted if n in report.counterexamples):
            if run.trace is not None and not run.trouble:
                failed = run.trace.failure is not None and run.trace.failure.where == STEP
                words = run.trace.schedule[:-1] if failed else run.trace.schedule
                return words, "not all states were explored" if report.exploration.narrowed else ""
            raise NoVerdict(run.trouble)
        return None, report.sentence

    def to_premise(self, found: Served, name: str, watch: Watch) -> tuple[tuple[int, ...] | None, str]:
        """Return the shortest run that meets the premise of a property; else why there is none."""
        report = Witness(**vars(found.request.model), properties=(name,), **asdict(self.bounds)).answer(watch)
        run = report.reached.get(name)
        if run is not None and run.trace is not None:
            return run.trace.schedule, ""
        if run is not None and run.trouble:
            raise NoVerdict(run.trouble)
        return None, report.sentence


def shows(v: Verdict, goal: str, here: int, on: bool) -> bool:
    """Return whether a place shows what a job searched for.

    Args:
        v: the property's verdict there.
        here: the number of steps to it.
        on: whether the run continues from another place, at which the premise may have been met.
    """
    if goal == VIOLATION:
        return v.verdict == VIOLATED
    return v.premise_at is not None and (on or v.premise_at == here)
