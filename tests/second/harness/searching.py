"""Engines that search: what they reach, what they say of properties, with symmetry, reductions and checkpoints."""

from __future__ import annotations

import ctypes
import json
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from checker.explore.breadth_first import Explorer, LevelGroup
from checker.explore.checkpoints.kept import Kept
from checker.explore.compiled import Compiled
from checker.explore.reduce.ample import AmpleExplorer, Narrowing
from checker.explore.result import Exploration, Limits
from checker.explore.stuttering import why_every_receipt
from checker.explore.symmetry import NotRenamings, asymmetry
from checker.requests.exploring.running import failed_at_start
from invariants.registry import STEP, Property, keeps
from tests.second.harness.book import Book
from tests.second.harness.differences import Difference, apart, run_to, stepwise, verdicts_differ
from tests.second.harness.plain import Renamer, canonical
from tests.second.harness.question import DROPPED, Question
from tests.second.harness.stepping import InMachineCode, Interpreted
from zabspec.language.python.reference import ERRORS, StateView

HELD, VIOLATED, VACUOUS = "held", "violated", "premise not reached"
RUNTIME = "no-runtime-error"
NOT_ON_FIFO = ("partitions", "drops", "duplicates")  # budgets of which the world does not say that steps commute

Explore = Callable[[Mapping[str, Any]], Book]


class Stopped(Exception):
    """A search was ended by a limit of the machine; its text is the reason. What it would have found is undecided."""


class Recorder(Explorer):
    """Explores, and keeps every state that it finds. Mixed into an explorer."""

    found: list[tuple[int, bytes]]  # depth, state

    def run(self, *args: Any, **settings: Any) -> Exploration:
        """
        Raises:
            Stopped: it was ended, but not by itself.
        """
        r = super().run(*args, **settings)
        if r.stopped and not r.apart:
            raise Stopped(r.stopped)
        return r

    def first_level(self) -> list[LevelGroup]:
        level = super().first_level()
        self.found = []
        self.record(level, 0)
        return level

    def next_level(self, level: list[LevelGroup], pool: Any) -> list[LevelGroup]:
        new = super().next_level(level, pool)
        self.record(new, len(self.result.levels) - 1)
        return new

    def record(self, level: list[LevelGroup], depth: int) -> None:
        for group in level:
            for chunk in group.chunks:
                assert chunk.block is not None
                data = bytes(memoryview(chunk.block.map)[chunk.start : chunk.start + chunk.used])
                self.found += [(depth, state) for state in self.states(data, chunk.count)]

    def states(self, data: bytes, count: int) -> Iterator[bytes]:
        """The states that are packed in some bytes."""
        code = self.code
        held = ctypes.create_string_buffer(data, len(data) + 64)
        at = 0
        for _ in range(count):
            state = code.state(b"")
            at += code.unpack_state(ctypes.addressof(held) + at, state)
            yield ctypes.string_at(state, code.layout.size)


class Recording(Recorder, Explorer):
    """The search of all states."""

    def __init__(self, compiled: Compiled) -> None:
        super().__init__(compiled, 1)


class RecordingAmple(Recorder, AmpleExplorer):
    """The search with ample sets."""


def limits_of(question: Question) -> Limits:
    return Limits(depth=question.request.get("max_depth"))


def verdicts_of(r: Exploration, depths: bool = True) -> dict[str, tuple[str, int | None]]:
    """Verdicts as the reference gives them."""
    out: dict[str, tuple[str, int | None]] = {}
    for p in r.properties:
        if p.name in r.violations:
            out[p.name] = VIOLATED, r.violations[p.name].depth if depths else None
        elif p.name in r.witnessed:
            out[p.name] = HELD, r.witnessed[p.name] if depths else None
        else:
            out[p.name] = VACUOUS, None
    return out


def judged(engine: str, question: Question, book: Book, r: Exploration, depths: bool = True) -> Difference | None:
    """Hold an exploration's verdicts, and the runs that violate a property, against the reference's.

    An exploration that met a run-time error ended with that level. Of the reference's verdicts those count that it had
    come to by then, and whether the author's text met the error.
    """
    if book.answer["property_errors"]:
        return None  # what else is said of a state whose property errs is not compared
    if not book.errors:
        if r.error:
            return Difference(engine, "an error that the reference does not meet", [r.error])
        return verdicts_differ(engine, book, verdicts_of(r, depths)) or runs_differ(engine, question, book, r)
    first = 1 + min(book.depth[k] for k in book.errors)
    ours = {name: v for name, v in verdicts_of(r, depths).items() if v[0] == VIOLATED}
    asked = {p.name for p in r.properties}  # a search that leaves out stuttering receipts may judge none of them
    wanted = {n: v for n, v in book.verdicts.items() if n in asked and v["result"] == VIOLATED and v["depth"] <= first}
    lines = [f"{name}: {ours.get(name)} for {wanted.get(name)}" for name in sorted(ours.keys() ^ wanted.keys())]
    capacity = {(i, label) for i, label, _ in book.answer["capacity_errors"]}
    by_author = any(book.depth[i] + 1 == first and (i, label) not in capacity for i, label, _ in book.answer["errors"])
    if not r.error or r.failed != by_author:
        lines.append(f"{RUNTIME}: {r.error or 'no error'}, {r.failed}, for {by_author} at {first}")
    return Difference(engine, "verdicts beside a run-time error", lines) if lines else None


def runs_differ(engine: str, question: Question, book: Book, r: Exploration) -> Difference | None:
    """Take each run that violates a property: its steps are edges of the reference, and the last one violates it."""
    plain, names = question.plain, question.names
    for name, found in r.violations.items():
        before = after = question.model.begun_as(found.schedule).program.initial()
        k = book.number.get(plain.text(bytes(after.key())))
        if k is None or book.depth[k]:
            return Difference(engine, "a run begins in no initial state", [name])
        for word in found.schedule:
            if k is None or k not in book.expanded_set:
                return None  # it goes on beyond what the reference has explored
            before, after = after, StateView(plain.layout, after.key())
            try:
                names["apply"](after, word)
            except ERRORS as problem:
                return Difference(engine, "a run that violates a property errs", [str(problem), *run_to(book, k)])
            text = plain.text(bytes(after.key()))
            if text not in book.steps(k):
                lines = [question.label(word), *apart(book.keys[k], text), *run_to(book, k)]
                return Difference(engine, "a run that violates a property has a step that is not an edge", lines)
            k = book.number.get(text)
        assert k is not None
        if keeps(found.property, names, after, before):
            return Difference(engine, "a run violates no property", [name, *run_to(book, k)])
    return None


def sets_differ(engine: str, book: Book, wanted: Mapping[str, int], found: Mapping[str, int]) -> Difference | None:
    """Hold sets of states, with their depths, against each other; values of `wanted` are numbers of states."""
    missing, added = wanted.keys() - found.keys(), found.keys() - wanted.keys()
    if missing or added:
        what = "reached states: " + " and ".join(w for w, some in (("missing", missing), ("added", added)) if some)
        lines = [f"{len(missing)} of {len(wanted)} missing, {len(added)} added"]
        if missing:
            k = min((wanted[text] for text in missing), key=lambda number: (book.depth[number], number))
            lines += ["the first that is missing:", *run_to(book, k)]
        lines += [f"added: {text}" for text in list(added)[:1]]
        return Difference(engine, what, lines)
    deeper = [text for text, k in wanted.items() if found[text] != book.depth[k]]
    if deeper:
        k = wanted[deeper[0]]
        return Difference(engine, "depths", [f"{found[deeper[0]]} for {book.depth[k]}", *run_to(book, k)])
    return None


# --- the engines --------------------------------------------------------------------------------------


def without_initial(question: Question, book: Book) -> Difference | None:
    """Hold a model whose initial state meets an error (R5) against the reference."""
    found = failed_at_start(question.model, question.properties, "compiled")
    if found is None:
        return Difference("initial", "only the product has an initial state", list(map(str, book.errors)))
    authors = book.answer["verdicts"][RUNTIME]["result"] == VIOLATED
    if found.failed != authors:
        return Difference("initial", "whose error it is", [found.error, *map(str, book.errors)])
    return None


def interpreted(question: Question, book: Book, engine: Interpreted) -> Difference | None:
    """The interpreter's search, and the successors of each state."""
    r = engine.search(limits_of(question))
    return stepwise(question, book, engine) or judged("interpreted", question, book, r)


def explored(question: Question, book: Book, code: Compiled) -> Difference | None:
    """The search in machine code: all states that it reaches, at their depths, and verdicts."""
    other = stepwise(question, book, InMachineCode(question, code))
    if other is not None:
        return other
    explorer = Recording(code)
    r = explorer.run(limits_of(question), keep_going=True)
    if r.error or book.errors:
        return judged("compiled", question, book, r)
    found: dict[str, int] = {}
    for depth, state in explorer.found:
        found.setdefault(question.plain.text(state), depth)
    if len(found) < len(explorer.found):
        return Difference("compiled", "one state counted twice", [])
    wanted = {book.keys[k]: k for k in range(len(book.keys))}
    return sets_differ("compiled", book, wanted, found) or judged("compiled", question, book, r)


def symmetric(question: Question, book: Book, code: Compiled, why: str) -> Difference | str | None:
    """The search over orbits: one state of each, none twice, and verdicts; or why there is none."""
    if not code.symmetry:
        return not_merged(question, why)
    explorer = Recording(code)
    try:
        r = explorer.run(limits_of(question), keep_going=True)
    except NotRenamings as problem:
        return Difference("symmetric", "renaming does not commute with stepping", [str(problem)])
    if r.error or book.errors:
        return judged("symmetric", question, book, r)
    renamer = Renamer(question.plain, question.configuration.quorums, question.configuration.roles)
    wanted: dict[str, int] = {}
    for k in sorted(range(len(book.keys)), key=lambda k: book.depth[k]):
        wanted.setdefault(renamer.orbit(book.keys[k])[0], k)
    found: dict[str, int] = {}
    for depth, state in explorer.found:
        orbit = renamer.orbit(question.plain.text(state))[0]
        if orbit in found:
            return Difference("symmetric", "one orbit counted twice", apart(question.plain.text(state), orbit))
        found[orbit] = depth
    return sets_differ("symmetric", book, wanted, found) or judged("symmetric", question, book, r)


def not_merged(question: Question, why: str) -> Difference | str:
    """Why symmetry is off; a difference if the text is symmetric: what renames is wrong then, and the walks that the
    product takes beforehand have seen it."""
    if asymmetry(question.model, question.properties):
        return why
    return Difference("symmetric", "renaming does not commute with stepping, which it does by the text", [why])


def without_stuttering(question: Question, book: Book) -> Difference | str | None:
    """The search that leaves out stuttering receipts: what it reaches beside the messages in flight, verdicts and
    premises; or why it leaves out none."""
    if question.request.get("max_depth") is not None:
        return "the request has a depth"
    code = Compiled(question.model, question.properties, False)
    if code.stuttering_off:  # a property may look at the mail: the others are judged all the same
        code = Compiled(question.model, blind_to_mail(question), False)
    if code.stuttering_off:
        return code.stuttering_off
    explorer = Recording(code)
    r = explorer.run(Limits(), keep_going=True)
    if not r.error and not book.errors:
        found = {beside_the_mail(question.plain.text(state)) for _, state in explorer.found}
        missing = [k for k, key in enumerate(book.keys) if beside_the_mail(key) not in found]
        if missing:
            what = "states are missing that differ in more than messages in flight"
            return Difference("stuttering left out", what, [f"{len(missing)}, the first:", *run_to(book, missing[0])])
    return judged("stuttering left out", question, book, r, depths=False)


def blind_to_mail(question: Question) -> tuple[Property, ...]:
    """The properties of which the product says that each lets stuttering receipts be left out."""
    front = question.front_end()
    return tuple(p for p in question.properties if not why_every_receipt(question.model, (p,), front))


def beside_the_mail(text: str) -> str:
    """A state without its network."""
    return canonical({**json.loads(text), "network": {}})


def over_fifo(question: Question, book: Book, explore: Explore) -> tuple[Question, Book] | str:
    """The same protocol where steps may change places, which the world says on FIFO channels without partitions alone;
    or why there is none."""
    if "link" not in question.plain.layout.fields:
        return "over datagrams no two steps are known to commute"
    if question.model.world.conventions(question.configuration, question.model.union) is not None:
        return question, book
    budgets = {name: 0 if name in NOT_ON_FIFO else n for name, n in question.request["budgets"].items()}
    request = {**question.request, "network": "fifo", "budgets": budgets}
    found = explore(request)
    if not found.complete:
        request = {**request, "max_depth": max(1, found.last_level()), "max_states": None}
        found = explore(request)
    return Question(request), found


def orbit_or_self(question: Question, symmetry: bool) -> Callable[[str], str]:
    """What stands for a state: with symmetry the least of its renamings."""
    renamer = Renamer(question.plain, question.configuration.quorums, question.configuration.roles)
    return lambda text: renamer.orbit(text)[0] if symmetry else text


def ample(question: Question, book: Book, symmetry: bool, explore: Explore) -> Difference | str | None:
    """The search with ample sets, which leaves out states: what it visits is reached, and of what properties of states
    read it meets all that is; whether anything is violated, and which premises are reached; or why there is none.

    The product does not reduce a user protocol: what steps touch is derived from its text all the same, and is compared
    here.
    """
    asked = over_fifo(question, book, explore)
    if isinstance(asked, str):
        return asked
    question, book = asked
    if question.request.get("max_depth") is not None:
        return "the request has a depth"
    if book.errors:
        return "a step errs, which ends the search"
    if len(book.keys) % 2:  # beside properties of steps, which mostly see others, no step is enough by itself
        of_states = [p.name for p in question.properties if p.of != STEP]
        question = Question({**question.request, "properties": of_states})
    explorer = RecordingAmple(Narrowing(question.model, question.properties, symmetry), 1)
    r = explorer.run(Limits(), keep_going=True)
    if r.apart:
        return "the product does not believe the search: two steps do not commute"
    if r.error:
        return Difference("ample sets", "an error that the reference does not meet", [r.error])
    verdicts = {p.name: book.verdicts[p.name] for p in question.properties if p.name in book.verdicts}
    broken = {name for name, v in verdicts.items() if v["result"] == VIOLATED}
    lines = [f"{name}: violated, and not in the reference" for name in sorted(r.violations.keys() - broken)]
    known = {name for name, v in verdicts.items() if v["result"] != VACUOUS}
    if (
        broken and r.complete and not r.violations
    ):  # what is violated beside that is found by a search that leaves out no states
        lines.append(f"nothing is violated, for {', '.join(sorted(broken))}")
    lines += [f"{name}: premise reached, for not" for name in sorted(set(r.witnessed) - known)]
    merged = AmpleExplorer(explorer.code, 1).run(Limits())  # with classes of what was observed, if there are any
    if merged.merged and not merged.apart:
        if merged.complete and broken:
            lines.append(f"merged: nothing is violated, for {', '.join(sorted(broken))}")
        if merged.violations and not broken:
            lines.append(f"merged: {', '.join(sorted(merged.violations))} violated, and nothing in the reference")
        lines += [f"merged: {name}: premise reached, for not" for name in sorted(set(merged.witnessed) - known)]
    if lines:
        return Difference("ample sets", "verdicts", lines)
    return unseen(question, book, symmetry, explorer.found) if r.complete else None


def unseen(question: Question, book: Book, symmetry: bool, visited: list[tuple[int, bytes]]) -> Difference | None:
    """Hold the states that a search with ample sets visits against the reference's: each is reached, and all that
    properties of states can tell apart is among them (docs/explanation/reductions.md, Observer classes)."""
    orbit = orbit_or_self(question, symmetry)
    name = (lambda text: orbit(without(text, DROPPED))) if question.of_core else orbit
    texts = {question.plain.text(state) for _, state in visited}
    reached = {name(text) for text in book.keys}
    added = [text for text in texts if name(text) not in reached]
    if added:
        return Difference("ample sets", "visited states: added", [f"{len(added)} of {len(texts)}", added[0]])
    read = question.read_of_states
    part = orbit_or_self(question, symmetry)

    def seen(text: str) -> str:
        value = json.loads(text)
        kept = {section: {n: v for n, v in of.items() if (section, n) in read} for section, of in value.items()}
        return part(canonical(kept))

    met = {seen(text) for text in texts}
    missing = [k for k, text in enumerate(book.keys) if seen(text) not in met]
    if missing:
        lines = [f"read are {', '.join(sorted(n for _, n in read))}; {len(missing)} states, the first:"]
        return Difference("ample sets", "what properties read: missing", [*lines, *run_to(book, missing[0])])
    return None


def without(text: str, ghosts: Collection[str]) -> str:
    """A state without some ghosts."""
    value = json.loads(text)
    return canonical({**value, "ghosts": {n: v for n, v in value["ghosts"].items() if n not in ghosts}})


def checkpointed(question: Question, book: Book, code: Compiled) -> Difference | None:
    """The search, stopped after some levels and resumed, to the end: all counts and verdicts of one that is not."""
    depth = question.request.get("max_depth")
    middle = max(1, (max(book.depth) if depth is None else depth) // 2)
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "kept"
        parts: list[Exploration] = []
        for resume, limit in ((False, Limits(depth=middle)), (True, limits_of(question))):
            with Kept(where, code, limit, resume) as keeper:
                parts.append(Explorer(code, 1).run(limit, keep_going=True, keeper=keeper))
    whole, last = Explorer(code, 1).run(limits_of(question), keep_going=True), parts[-1]

    def figures(r: Exploration) -> tuple[Any, ...]:
        return r.levels, r.complete, r.generated, r.terminal, r.witnessed, sorted(r.violations), r.event_counts

    if figures(whole) != figures(last):
        return Difference("checkpointed", "figures", [str(figures(last)), f"for {figures(whole)}"])
    return judged("checkpointed", question, book, last)
