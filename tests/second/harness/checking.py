"""One protocol, all engines: what differs, what was compared, and how large it was."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from checker.explore.compiled import Compiled
from checker.explore.symmetry import asymmetry
from tests.second.generator import Generated
from tests.second.generator.coverage import constructs, crossings, steps_taken
from tests.second.generator.requests import at_least, at_most, larger, smaller
from tests.second.harness import asked, distributed, live, proving, searching, simulated, symbolic, tlc
from tests.second.harness.book import Book, Reference, ReferenceFailed, ReferenceTooSlow
from tests.second.harness.differences import Difference, Undecided
from tests.second.harness.question import Question
from tests.second.harness.stepping import Interpreted
from zabspec.authoring.declaration import ConfigError
from zabspec.language import LanguageError
from zabspec.language.python.beginnings import SeveralStarts

ENGINES = (
    "interpreted", "compiled", "symmetric", "reduced", "checkpointed", "simulated", "tlc", "symbolic", "distributed",
    "live", "proving", "asked",
)  # fmt: skip
USUAL = ("interpreted", "compiled", "symmetric", "reduced")
REDUCTIONS = ("stuttering", "ample")  # what "reduced" is; each may be asked for alone
ENOUGH = 180  # states below which a request is made larger
ORDER = re.compile("place|depends on")  # a refusal of what depends on the order of a bag speaks of either
TRIES = 4


@dataclass
class Outcome:
    """What became of one protocol.

    Attributes:
        status: `same`, `differs`, `refused` by our front end, `failed`: an error instead of an answer, `undecided`: no
            difference, and an engine or the reference has no answer within its limits.
        why: of one refused or failed.
        states, depth: of the reference.
        violated: properties.
        compared: the engines that were.
        skipped: engines that were not, with the reason.
        undecided: engines without an answer, with the limit.
        differences: their texts, by engine.
        has: constructs used and steps taken.
        request: as it was asked in the end.
    """

    seed: int
    status: str = "same"
    why: str = ""
    states: int = 0
    edges: int = 0
    depth: int = 0
    complete: bool = True
    errors: int = 0
    violated: list[str] = field(default_factory=list)
    properties: int = 0
    compared: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    undecided: dict[str, str] = field(default_factory=dict)
    differences: dict[str, list[str]] = field(default_factory=dict)
    has: list[str] = field(default_factory=list)
    request: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        return asdict(self)

    def line(self) -> str:
        """One line of it."""
        said = f"{self.seed}: {self.status}"
        if self.why:
            return f"{said}: {self.why}"
        size = f"{self.states} states, depth {self.depth}, {len(self.violated)} of {self.properties} violated"
        first = {**self.undecided, **{name: lines[0] for name, lines in self.differences.items()}}
        told = "; ".join(f"{name}: {what}" for name, what in first.items())
        return f"{said}: {size}{'; ' if told else ''}{told}"


Explore = Callable[[Mapping[str, Any]], Book]


def tuned(
    request: Mapping[str, Any],
    seed: int,
    explore: Explore,
    least: Mapping[str, Any] | None = None,
    most: Mapping[str, int] | None = None,
    tries: int | None = None,
) -> tuple[dict[str, Any], Book]:
    """The request, made larger or smaller until its model has a size that says something, and what the reference
    says of it. One that stays too large gets a depth.

    Args:
        least: how many processes, and how much of some budgets, it keeps.
        most: how much of some budgets it has at most.
        tries: how many requests are asked at most.
    """
    random = Random(seed)
    asked = dict(request)
    best: tuple[dict[str, Any], Book] | None = None
    for _ in range(tries or TRIES):
        book = explore(asked)
        if book.complete and (best is None or len(book.keys) > len(best[1].keys)):
            best = asked, book
        if book.complete and len(book.keys) >= ENOUGH:
            return asked, book
        if not book.complete and best is not None and len(best[1].keys) >= ENOUGH // 2:
            return best
        if not book.complete:
            last = asked, book
            less = smaller(asked, random)
            less = at_least(less, least) if least is not None else less
            if less == asked:
                break
            asked = less
        else:
            asked = at_most(larger(asked, random), most or {})
    if best is not None:
        return best
    asked, book = last
    asked = {**asked, "max_depth": max(1, book.last_level()), "max_states": None}
    return asked, explore(asked)


def check(generated: Generated, folder: Path, engines: Collection[str], reference: Reference) -> Outcome:
    """Hold engines against the reference on one protocol."""
    outcome = Outcome(generated.seed)
    path = folder / f"random_{generated.seed}.py"
    path.write_text(generated.text)
    request = {**generated.request, "protocol": str(path)}
    started = time.process_time()
    try:
        Question(request).check()
    except (LanguageError, ConfigError) as problem:
        outcome.status, outcome.why = "refused", str(problem)
        if generated.features["order"] and ORDER.search(str(problem)):
            outcome.status = "refused as it has to be"
        return outcome
    if generated.features["order"]:
        outcome.status = "differs"
        outcome.differences = {"front end": ["a property that depends on the order of a bag is not refused"]}
        return outcome
    try:
        at = time.perf_counter()
        request, book = tuned(
            request, generated.seed, reference.explore, *map(generated.features.get, ("least", "most", "tries"))
        )
        outcome.seconds["reference"] = time.perf_counter() - at
        question = Question(request)
    except (ReferenceFailed, ConfigError) as problem:
        outcome.status, outcome.why = "failed", str(problem)
        if isinstance(problem, ReferenceTooSlow):
            outcome.status, outcome.undecided = "undecided", {"reference": str(problem)}
        return outcome
    describe(outcome, generated, request, book)
    try:
        found = compare(question, book, engines, outcome, reference.explore)
    except (LanguageError, ConfigError) as problem:
        outcome.status, outcome.why = "refused", str(problem)
        return outcome
    if found:
        outcome.status = "differs"
        outcome.differences = {d.engine: [d.what, *d.lines] for d in found}
    elif outcome.undecided:
        outcome.status = "undecided"
    outcome.seconds["all"] = time.process_time() - started
    return outcome


def describe(outcome: Outcome, generated: Generated, request: dict[str, Any], book: Book) -> None:
    """What a protocol is, and how large."""
    outcome.request = request
    outcome.states, outcome.edges, outcome.depth = len(book.keys), len(book.answer["edges"]), max(book.depth, default=0)
    outcome.complete, outcome.errors = book.complete, len(book.errors)
    outcome.violated = [name for name, v in book.verdicts.items() if v["result"] == "violated"]
    outcome.properties = len(book.verdicts)
    labels = {label for _, label, _ in book.answer["edges"]}
    world = str(generated.features["world"])
    has = constructs(generated.text) | steps_taken(request, world, labels)
    outcome.has = sorted(has | crossings(has))


def compare(
    question: Question, book: Book, engines: Collection[str], outcome: Outcome, explore: Explore
) -> list[Difference]:
    """Ask engines, and hold what they say against the reference."""
    differences: list[Difference] = []

    def note(name: str, run: Callable[[], Difference | Undecided | str | None]) -> None:
        at = time.process_time()
        try:
            found = run()
        except (ReferenceTooSlow, searching.Stopped) as problem:
            found = Undecided(str(problem))
        except SeveralStarts as problem:
            found = str(problem)  # it cannot begin in several states, and says so
        outcome.seconds[name] = outcome.seconds.get(name, 0.0) + time.process_time() - at
        if isinstance(found, str):
            outcome.skipped[name] = found
            return
        if isinstance(found, Undecided):
            outcome.undecided[name] = found.why
            return
        outcome.compared.append(name)
        if found is not None:
            differences.append(found)

    if not book.keys:
        note("no initial state", lambda: searching.without_initial(question, book))
        return differences
    if "interpreted" in engines:
        note("interpreted", lambda: searching.interpreted(question, book, Interpreted(question)))
    machine = {"compiled", "checkpointed"} & set(engines)
    if machine:
        plain = Compiled(question.model, question.properties, False, every_step=True)
        if "compiled" in engines:
            note("compiled", lambda: searching.explored(question, book, plain))
        if "checkpointed" in engines:
            note("checkpointed", lambda: searching.checkpointed(question, book, plain))
    symmetry = False
    if "symmetric" in engines:
        code, why = Compiled.of(question.model, question.properties, True, every_step=True)
        symmetry = code.symmetry
        note("symmetric", lambda: searching.symmetric(question, book, code, why))
    reductions = set(REDUCTIONS if "reduced" in engines else engines)
    if "ample" in reductions:
        symmetry = symmetry or not asymmetry(question.model, question.properties)
    if "stuttering" in reductions:
        note("stuttering left out", lambda: searching.without_stuttering(question, book))
    if "ample" in reductions:
        note("ample sets", lambda: searching.ample(question, book, symmetry, explore))
    if "simulated" in engines:
        note("simulated", lambda: simulated.compared(question, explore))
    if "live" in engines:
        note("live", lambda: live.compared(question, book, explore))
    if "proving" in engines:
        note("proving", lambda: proving.compared(question, book, explore))
    for name, module in (("tlc", tlc), ("symbolic", symbolic), ("distributed", distributed), ("asked", asked)):
        if name in engines:
            note(name, lambda module=module: module.compared(question, book))
    return differences
