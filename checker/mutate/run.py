"""Check mutants of a user protocol, each against the protocol's own properties within the same bounds.

A mutant is the protocol with one small edit in a function that acts: in a handler, an action, a step of the
environment, an observation, or what they call. Properties, witnesses and declarations are not edited. A mutant
that violates a property is noticed; one that violates none survives.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FunctionType

from checker.errors import RequestError
from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.groups import groups_of
from checker.explore.interpret import Interpreter
from checker.explore.result import Exploration, Limits
from checker.mutate.edits import Mutant, mutants_of
from invariants import known_properties
from invariants.binding import vacuous
from invariants.registry import NO_RUNTIME_ERROR, Property
from zabspec.authoring.sources import path_of
from zabspec.language.layout.error_sites import met
from zabspec.language.python.reference import ERRORS
from zabspec.model import Configuration, Model
from zabspec.temporary import temporary_folder

NOTICED, SURVIVES, UNDECIDED = "noticed", "survives", "undecided"
SMALL = 2000  # states of the protocol up to which mutants are interpreted: compiling each would take longer
LARGER = 20  # times as many states as the protocol has, after which a mutant is left undecided
LEAST = 20_000  # states that any mutant may have


@dataclass(frozen=True)
class Judged:
    """A mutant, and its outcome.

    Attributes:
        mutant: the edit.
        outcome: `noticed`, `survives` or `undecided`.
        by: the property that it violates, or why nothing is known of it.
        depth: of the violation.
        lost: properties whose premise the protocol reaches and the mutant does not.
        states: distinct states explored.
    """

    mutant: Mutant
    outcome: str
    by: str = ""
    depth: int | None = None
    lost: tuple[str, ...] = ()
    states: int = 0


@dataclass
class Campaign:
    """The mutants of a protocol, checked.

    Attributes:
        configuration: the bounds.
        seed, wanted: those of the request.
        possible: the number of edits.
        refused: the number of those drawn that are outside the language.
        judged: those that were checked.
        states: of the protocol itself.
        violated: the property that the protocol itself violates, with the depth; empty if none, and mutants were
            checked.
        stopped: why fewer were checked than requested; empty if enough were, or there are no more.
        seconds: the time in all.
    """

    configuration: Configuration
    seed: int
    wanted: int
    possible: int = 0
    refused: int = 0
    judged: list[Judged] = field(default_factory=list)
    states: int = 0
    violated: tuple[str, int] | None = None
    untested: bool = False
    stopped: str = ""
    seconds: float = 0.0

    @property
    def so_far(self) -> str:
        """How far the campaign is, in a line."""
        return f"{len(self.judged)} of {self.wanted} mutants checked"

    def of(self, outcome: str) -> list[Judged]:
        """Return the mutants with an outcome."""
        return [j for j in self.judged if j.outcome == outcome]


def mutants_in(model: Model) -> list[Mutant]:
    """Return every mutant of the functions of a protocol's own file that act under a configuration."""
    text = model.protocol.text
    file = text.module.__file__ or ""
    names = model.program.namespace
    typed = model.program.typed(["initialize", "enabled", "apply"]).functions
    acting = (names.get(name) for name in typed)  # none of a comprehension, which lies in one that acts
    own = {f.__name__ for f in acting if isinstance(f, FunctionType) and f.__code__.co_filename == file}
    source = Path(file).read_text(encoding="utf-8")
    return [m for m in mutants_of(Path(text.name).name, source) if m.inside in own]


def check_mutants(
    configuration: Configuration,
    judged: Sequence[Property],
    wanted: int,
    seed: int,
    limits: Limits,
    threads: int = 0,
    progress: Callable[[Campaign], None] | None = None,
) -> Campaign:
    """Check a protocol, then a random sample of its mutants.

    Args:
        configuration: of a protocol in a file.
        judged: its properties.
        wanted: the number of mutants; those outside the language do not count.
        seed: determines which mutants are drawn.
        limits: a depth, and limits of time and states; the time is for all of them together.
        threads: of the compiled engine; 0 for all cores.
        progress: called after each.
    """
    began = time.perf_counter()
    out = Campaign(configuration, seed, wanted)
    model = Model(configuration)
    every = mutants_in(model)
    out.possible = len(every)
    plain = explored(model, judged, limits, threads, small=False)
    out.states = plain.distinct
    if plain.violations:
        first = min(plain.violations.values(), key=lambda v: v.depth)
        out.violated = (first.property.name, first.depth)
    elif cut := why_cut(plain, limits):
        out.stopped = cut
    elif not plain.witnessed.keys() - vacuous(model, judged).keys():
        out.untested = True
    else:
        random.Random(seed).shuffle(every)
        with temporary_folder("mutants") as folder:
            work = _Work(folder, configuration, judged, plain, threads)
            try:
                one_by_one(out, every, work, limits, began, progress)
            except KeyboardInterrupt:
                out.stopped = "interrupted"
    out.judged.sort(key=lambda j: (j.mutant.start, j.mutant.end, j.mutant.after))
    out.seconds = time.perf_counter() - began
    return out


def one_by_one(
    out: Campaign,
    every: Iterable[Mutant],
    work: _Work,
    limits: Limits,
    began: float,
    progress: Callable[[Campaign], None] | None,
) -> None:
    """Check mutants until there are as many as requested, or the time is over."""
    for m in every:
        left = time_left(limits, began)
        if len(out.judged) == out.wanted:
            return
        if left is not None and left <= 0:
            out.stopped = f"--time-limit {limits.seconds:g} s reached"
            return
        found = work.judge(m, replace(limits, seconds=left))
        if isinstance(found, str):
            out.stopped = found
            return
        if found is None:
            out.refused += 1
            continue
        out.judged.append(found)
        if progress is not None:
            progress(out)


def time_left(limits: Limits, began: float) -> float | None:
    return None if limits.seconds is None else limits.seconds - (time.perf_counter() - began)


def why_cut(r: Exploration, limits: Limits) -> str:
    """Return why not everything requested was explored; empty if it was."""
    deep_enough = limits.depth is not None and r.depth >= limits.depth
    if r.error:
        return met(r.error)
    return "" if r.complete or deep_enough or not r.stopped else r.stopped


def explored(model: Model, judged: Sequence[Property], limits: Limits, threads: int, small: bool) -> Exploration:
    """Explore with each group of properties that an engine can judge at once; a violation of any of them counts."""
    found: Exploration | None = None
    for group in groups_of(judged):
        if small:
            r = Interpreter(model, group, False).run(limits, False)
        else:
            r = Explorer(Compiled.of(model, group, True)[0], threads).run(limits, False)
        if found is None:
            found = r
        else:
            found.violations |= r.violations
            found.witnessed |= r.witnessed
        if found.violations or found.stopped:
            break
    assert found is not None
    return found


class _Work:
    """Checks one mutant after another, each in a folder of its own with links to the files beside the protocol."""

    def __init__(
        self, folder: Path, configuration: Configuration, judged: Sequence[Property], plain: Exploration, threads: int
    ) -> None:
        self.folder, self.configuration, self.threads = folder, configuration, threads
        self.names = [p.name for p in judged]
        self.plain = plain
        self.path = path_of(configuration.protocol)
        self.source = self.path.read_text(encoding="utf-8")
        self.number = 0

    def judge(self, m: Mutant, limits: Limits) -> Judged | str | None:
        """Check a mutant, and return its outcome.

        Returns:
            The outcome; None if the mutant is outside the language; a sentence if the work was cut short.
        """
        place = self.folder / str(self.number)
        self.number += 1
        place.mkdir()
        for other in beside(self.path):
            (place / other.name).symlink_to(other.resolve())
        path = place / self.path.name
        path.write_text(m.applied(self.source), encoding="utf-8")
        most = max(LEAST, LARGER * self.plain.raw)
        given = min(most, limits.max_states) if limits.max_states is not None else most
        try:
            model = Model(replace(self.configuration, protocol=str(path)))
            judged = [p for p in known_properties(str(path)) if p.name in self.names]
            if not begins(model):
                return Judged(m, NOTICED, NO_RUNTIME_ERROR.name, 0)
            r = explored(model, judged, replace(limits, max_states=given), self.threads, self.plain.raw <= SMALL)
        except RequestError:
            return None
        return self.outcome(m, r, limits, given)

    def outcome(self, m: Mutant, r: Exploration, limits: Limits, most: int) -> Judged | str:
        lost = tuple(name for name in self.plain.witnessed if name not in r.witnessed)
        if r.violations:
            first = min(r.violations.values(), key=lambda v: v.depth)
            return Judged(m, NOTICED, first.property.name, first.depth, lost, r.distinct)
        cut = why_cut(r, limits)
        if not cut:
            return Judged(m, SURVIVES, lost=lost, states=r.distinct)
        if r.stopped and r.distinct < most:  # the time is over, Ctrl-C, or there is no more memory
            return r.stopped
        why = f"more than {most:,} states" if r.stopped else cut
        return Judged(m, UNDECIDED, why, lost=lost, states=r.distinct)


def begins(model: Model) -> bool:
    """Return whether the initial states can be built: no value in them leaves its range."""
    try:
        return bool(model.program.starts)
    except ERRORS:
        return False


def beside(path: Path) -> Iterable[Path]:
    """Yield the modules that a protocol's file may import from its own folder."""
    for other in sorted(path.resolve().parent.iterdir()):
        if other.name != path.name and (other.suffix == ".py" or (other / "__init__.py").is_file()):
            yield other
