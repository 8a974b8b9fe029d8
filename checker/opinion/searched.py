"""Hold a search against the second semantics: in states that it found, the steps, their effects and what is judged.

The second semantics (`zabspec/second`) goes each run by itself, from its own initial state, choosing the successor by
its value. A run leads to a state of the search, by the predecessors that the search kept, or it is random.
"""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from checker.explore.breadth_first import Explorer
from checker.explore.compiled import Compiled
from checker.explore.interpret import Interpreter
from checker.explore.result import Exploration
from checker.explore.stuttering import stutters
from checker.opinion.interpreted import LONGEST
from checker.opinion.outcome import BY_SECOND, Differs, Place, SecondOpinion
from checker.opinion.plain import Plain, label_of
from checker.opinion.values import Values
from checker.report.result import plural
from invariants.registry import RUNTIME, STEP, Property, keeps, meets
from zabspec.language.layout.derive import in_order, permuted
from zabspec.language.python.reference import ERRORS, StateView
from zabspec.model import Configuration, Model
from zabspec.protocols.registry import PROTOCOLS
from zabspec.second import own
from zabspec.second.configure import WORLD_BUDGETS
from zabspec.second.kinds import Fault
from zabspec.second.properties import Judge, declared
from zabspec.second.world import World
from zabspec.starts import Schedule
from zabspec.worlds.steps import BUDGETS, NUMBERED

FEWEST = 200  # states that are compared, if there are so many
SHARE = 5000  # of so many states of a search one more is compared
MOST = 20_000
ALL = 5  # times as many states, renamings counted apart: if a search has no more, all are compared, and counted
SECONDS = 2.0  # of CPU, or a tenth of the search's, after which no further state is drawn
MOST_STARTS = 1000  # ways to begin, of more the first are compared
RENAMINGS = 24  # of a state; with more they are not tried
RARELY = 8  # of so many states one is compared with all its renamings
RANDOM = 4  # of so many runs one is random
BARREN, SPARSE = 4, 40  # runs in vain, after which no further one is drawn: if enough states were compared, and if not

Names = frozenset[str]
Moved = tuple[str, tuple[str, ...], Names, Names]  # a step's label, the state after it, what it violates, premises met


def request_of(c: Configuration) -> dict[str, Any]:
    """Return what the second semantics is requested to model."""
    ours = c.protocol in own.SOURCES or c.protocol == "zookeeper"
    return {
        "protocol": c.protocol if ours else str(PROTOCOLS[c.protocol].text.module.__file__),
        "variant": c.variant,
        "nodes": c.nodes,
        "network": c.network,
        "start": c.named_start[0],
        "quorums": c.quorums,
        "budgets": dict(c.budget),
        "sizes": {"txns": c.txns, "max_epoch": c.max_epoch, "channel": c.channel},
        "literal": c.literal,
    }


@dataclass(frozen=True)
class Move:
    """A step that both took: the state after it, in the product and in the second semantics."""

    what: Moved
    data: bytes
    second: tuple[Any, ...]
    fingerprint: int


class Side(Protocol):
    """An engine's side of the comparison."""

    def steps(self, data: bytes) -> list[tuple[int, bytes]]:
        """Return the steps of a state, each with the state after it and its annotations."""

    def judged(self, data: bytes) -> tuple[set[str], set[str]] | None:
        """Return the properties that a state violates, and those whose premise it meets; None after an error."""

    def judged_step(self, before: bytes, after: bytes) -> tuple[Names, Names]:
        """Return the properties of steps that a step violates, and those whose premise it meets."""


class InMachineCode:
    """Machine code's side."""

    def __init__(self, code: Compiled, both: Sequence[Property], with_premise: Set[str]) -> None:
        self.code, names = code, {p.name for p in both}
        self.with_premise = sum(1 << k for k, p in enumerate(code.properties) if p.name in with_premise)
        self.of_steps = sum(1 << k for k, p in enumerate(code.properties) if p.of == STEP and p.name in names)
        self.others = sum(1 << k for k, p in enumerate(code.properties) if p.of != STEP and p.name in names)
        self.steps = code.next_states

    def named(self, mask: int) -> set[str]:
        return {p.name for k, p in enumerate(self.code.properties) if mask >> k & 1}

    def judged(self, data: bytes) -> tuple[set[str], set[str]] | None:
        broken, met, error = self.code.judged_state(data, self.others)
        return None if error else (self.named(broken), self.named(met))

    def judged_step(self, before: bytes, after: bytes) -> tuple[Names, Names]:
        broken, met = self.code.judged_step(before, after, self.of_steps, self.with_premise)
        return Names(self.named(broken)), Names(self.named(met))


class InPython:
    """The interpreter's side."""

    def __init__(self, engine: Interpreter, both: Sequence[Property], with_premise: Set[str]) -> None:
        self.engine, self.layout, self.properties = engine, engine.layout, both
        self.with_premise = with_premise

    def steps(self, data: bytes) -> list[tuple[int, bytes]]:
        return [(word, bytes(after.buffer)) for word, after in self.engine.successors(data)]

    def judged(self, data: bytes) -> tuple[set[str], set[str]] | None:
        names, view = self.engine.names, StateView(self.layout, data)
        mine = [p for p in self.properties if p.of != STEP]
        try:
            return (
                {p.name for p in mine if not keeps(p, names, view)},
                {p.name for p in mine if meets(p, names, view)},
            )
        except ERRORS:
            return None

    def judged_step(self, before: bytes, after: bytes) -> tuple[Names, Names]:
        broken, met = set(), set()
        for p in [p for p in self.properties if p.of == STEP]:
            views = StateView(self.layout, after), StateView(self.layout, before)
            with suppress(*ERRORS):  # one that errs violates nothing, and meets nothing, as in machine code
                if not keeps(p, self.engine.names, *views):
                    broken.add(p.name)
            with suppress(*ERRORS):
                if p.name in self.with_premise and meets(p, self.engine.names, *views):
                    met.add(p.name)
        return Names(broken), Names(met)


class Comparison:
    """Compares a search with the second semantics, one state at a time.

    Args:
        model: what was explored.
        engine: what explored it; if it does not know the states found any longer, runs are random.
        r: the result of the search.
        begin: the state in which the runs begin; None if they begin in the initial states.
    """

    def __init__(
        self, model: Model, engine: Explorer | Interpreter | Compiled, r: Exploration, begin: bytes | None = None
    ) -> None:
        self.model, self.r, self.begin = model, r, begin
        self.explorer = engine if isinstance(engine, Explorer) and engine.groups else None
        self.interpreter = engine if isinstance(engine, Interpreter) else None
        self.code: Compiled | None = None
        self.layout, self.size = model.program.layout, model.program.layout.size
        self.world: World = own.build(request_of(model.configuration))
        names = [p.name for p in r.properties]
        self.judge = Judge(self.world, declared(self.world, names) if names else [])
        self.judged_names = {p.name for p in self.judge.properties}
        both = [p for p in r.properties if p.name in self.judged_names]
        with_premise = {p.name for p in self.judge.steps if p.witness}
        if isinstance(engine, Interpreter):
            self.side: Side = InPython(engine, both, with_premise)
        else:
            self.code = engine.code if isinstance(engine, Explorer) else engine
            self.side = InMachineCode(self.code, both, with_premise)
        self.plain = Plain.of(model)
        self.values = Values(self.plain, self.world.layout)
        self.source = random.Random(r.distinct)
        self.seen: dict[bytes, list[Move]] = {}
        self.images: dict[int, bytes] = {}
        self.depths: set[int] = set()
        self.labels: set[str] = set()
        self.steps = self.left_out = 0

    # --- one state -----------------------------------------------------------------------------------

    def moves(self, data: bytes, second: tuple[Any, ...], depth: int, run: Sequence[str]) -> list[Move]:
        """Compare everything about one state; return the steps from it.

        Raises:
            Differs: the two do not agree.
        """
        known = self.seen.get(data)
        if known is not None:
            return known
        at = Place(second, depth, run)
        try:
            ours = self.ours(data)
        except ERRORS as error:
            raise Differs(f"a state at depth {depth + 1} is none: {error}", at) from None
        theirs, errors = self.taken(second)
        self.steps += len(ours)
        self.labels |= {label for label, *_ in ours}
        if errors and depth < self.r.expanded_levels and not self.r.error:
            raise Differs(f"a step meets an error that the search does not: {errors[0]}", at)
        if ours.keys() != theirs.keys() and not self.merged(ours, theirs):
            raise self.apart(data, ours, theirs, at)
        self.judgements(data, second, depth, not theirs and not errors, at)
        every = depth < self.r.expanded_levels and not self.r.narrowed and not self.r.reduced
        self.reported(Names().union(*(broken for _, _, broken, _ in ours)), depth + 1, every, at)
        self.reached(Names().union(*(met for *_, met in ours)), depth + 1, every, at)
        found = [
            Move(w, after[: self.size], theirs[w], self.visited(data, after, depth, at)) for w, after in ours.items()
        ]
        self.renamed(data, at)
        self.depths.add(depth)
        self.seen[data] = found
        return found

    def ours(self, data: bytes) -> dict[Moved, bytes]:
        """Return the steps of a state by the search's engine, with the states after them."""
        found: dict[Moved, bytes] = {}
        for word, after in self.side.steps(data):
            what = label_of(self.model, word), self.values.of_bytes(after), *self.side.judged_step(data, after)
            found.setdefault(what, after)
        return found

    def taken(self, second: tuple[Any, ...]) -> tuple[dict[Moved, tuple[Any, ...]], list[str]]:
        """Return the steps of a state by the second semantics, with the states after them, and the errors it meets."""
        world, judge = self.world, self.judge
        found: dict[Moved, tuple[Any, ...]] = {}
        errors: list[str] = []
        try:
            steps = world.steps(second)
        except Fault as fault:
            return {}, [str(fault)]
        for step in steps:
            label = step.label.replace("_", "-") if ":" in step.label else step.label
            for result in world.outcomes(second, step):
                if isinstance(result, Fault):
                    errors.append(f"{label}: {result}")
                    continue
                broken = met = Names()
                if judge.steps:
                    judge.load_step(second, step, result)
                    broken = Names(p.name for p in judge.steps if judge.step_violates(p))
                    met = Names(p.name for p in judge.steps if judge.step_meets(p))
                found.setdefault((label, self.values.of_cells(result), broken, met), result)
        return found, errors

    def merged(self, ours: Mapping[Moved, bytes], theirs: dict[Moved, tuple[Any, ...]]) -> bool:
        """Return whether the steps of a state differ only by what the author of the protocol promises.

        Then some steps are not taken, and a process learns of the loss of a connection in the step that loses it: a
        pair of steps of the second semantics, which is added to its steps.
        """
        if not self.model.configuration.merged_by_promise:
            return False
        both: dict[tuple[str, ...], tuple[Any, ...]] = {}
        for lost in [state for (label, *_), state in theirs.items() if label == "lose_connection"]:
            both |= {key: state for (_, key, *_), state in self.taken(lost)[0].items()}
        beyond = [w for w in ours if w not in theirs]
        theirs |= {w: both[w[1]] for w in beyond if w[1] in both}
        self.left_out += len(theirs) - len(ours)
        return ours.keys() <= theirs.keys()

    def apart(self, data: bytes, ours: Mapping[Moved, bytes], theirs: Mapping[Moved, Any], at: Place) -> Differs:
        """Return how the steps of a state differ."""
        here = self.values.of_bytes(data)

        def shown(moves: Iterator[Moved]) -> list[dict[str, Any]]:
            return [
                {
                    "step": label,
                    "changes": self.values.apart(here, key),
                    "violates": sorted(broken),
                    "meets the premise of": sorted(met),
                }
                for label, key, broken, met in moves
            ]

        mine = shown(w for w in ours if w not in theirs)
        other = shown(w for w in theirs if w not in ours)
        named = ", ".join(sorted({m["step"] for m in [*mine, *other]}))
        sentence = (
            f"in a state at depth {at.depth}, {len(mine)} steps with their effects are only the search's and "
            f"{len(other)} only the second semantics' ({named})"
        )
        return Differs(sentence, at, only_in_search=mine, only_in_second=other)

    def by_second(self, second: tuple[Any, ...], terminal: bool) -> tuple[set[str], set[str], list[str]]:
        """Return what a state violates, whose premises it meets, and what errs, by the second semantics."""
        judge = self.judge
        judge.after.__load__(second)
        judge.errors.clear()
        asked = judge.of_states(False) + (judge.of_states(True) if terminal else [])
        violated = judge.violated(terminal)
        return violated, {p.name for p in asked if p.needs_witness and judge.meets(p)}, judge.errors

    def judgements(self, data: bytes, second: tuple[Any, ...], depth: int, terminal: bool, at: Place) -> None:
        """Compare which properties a state violates, and whose premises it meets.

        Raises:
            Differs: they are not the same, or the search does not report them.
        """
        r = self.r
        violated, met, erred = self.by_second(second, terminal)
        mine = self.side.judged(data)
        whole = depth <= r.whole_depth and not r.narrowed
        if erred and whole and not r.error:
            raise Differs(f"judging a state at depth {depth} meets an error that the search does not: {erred[0]}", at)
        if erred or mine is None:
            return  # what else is said of a state whose property errs is not compared
        premises = {p.name for p in self.judge.properties if p.needs_witness}
        for what, one, other in (
            ("violates", mine[0], violated),
            ("meets the premise of", mine[1] & premises, met),
        ):
            if one != other:
                names = ", ".join(sorted(one ^ other))
                whom = "the search" if one - other else "the second semantics"
                raise Differs(f"a state at depth {depth} {what} {names}, but only by {whom}", at)
        self.reported(violated, depth, whole, at)
        self.reached(met, depth, whole, at)

    def reached(self, met: Set[str], depth: int, whole: bool, at: Place) -> None:
        """Check that the search reports the premises that are met, if it judged all that there is at this depth.

        Raises:
            Differs: it does not.
        """
        if whole and (beyond := met - self.r.witnessed.keys()):
            names = ", ".join(sorted(beyond))
            raise Differs(f"a premise of {names} is met at depth {depth}, which the search does not report", at)

    def reported(self, violated: Set[str], depth: int, whole: bool, at: Place) -> None:
        """Check that the search reports what is violated, and no deeper if it takes every step.

        Args:
            whole: whether the search judged all that there is at this depth.

        Raises:
            Differs: it does not.
        """
        r = self.r
        shortest = whole and bool(r.stuttering_off)
        if whole or (r.complete and not r.error):
            known = violated - {*r.suspected}
            late = {n for n in known if n not in r.violations or (shortest and r.violations[n].depth > depth)}
            if late:
                names = ", ".join(sorted(late))
                raise Differs(f"{names} violated at depth {depth}, which the search does not report", at)

    def visited(self, data: bytes, after: bytes, depth: int, at: Place) -> int:
        """Check that the search knows a state after a step; return its fingerprint, or 0 if it left the step out.

        Raises:
            Differs: it does not, or it takes two states for one.
        """
        if self.code is None:
            return 0
        fingerprint, image = self.code.canonical(after[: self.size])
        first = self.images.setdefault(fingerprint, image)
        if first != image and self.values.of_bytes(first) != self.values.of_bytes(image):  # not just a bag's order
            raise Differs(f"two states have one fingerprint, one of them at depth {depth + 1}", at)
        r = self.r
        if self.explorer is None or r.narrowed:
            return fingerprint
        known = depth >= r.expanded_levels or self.explorer.knows(fingerprint)
        if known and r.complete:
            return fingerprint
        views = StateView(self.layout, data), StateView(self.layout, after)
        if not r.stuttering_off and stutters(self.layout, *views):
            return 0  # where the search found that state, it may be deeper, and not expanded
        if not known:
            raise Differs(f"the search has not found a state at depth {depth + 1}", at)
        return fingerprint

    def renamed(self, data: bytes, at: Place) -> None:
        """Check that a renaming of a state has its fingerprint and, of some states, that its representative is one.

        Raises:
            Differs: it has another one, or it is none.
        """
        if self.code is None or not self.code.symmetry or not self.layout.schema.renames:
            return
        schema, layout = self.layout.schema, self.layout
        fingerprint, image = self.code.canonical(data)
        if self.code.canonical(permuted(layout, data, schema.some_renaming(self.source)))[0] != fingerprint:
            raise Differs(f"a state at depth {at.depth} and a renaming of it have two fingerprints", at)
        if not len(self.seen) % RARELY and math.factorial(schema.nodes) <= RENAMINGS:
            if in_order(layout, image) not in {in_order(layout, permuted(layout, data, p)) for p in schema.renamings}:
                raise Differs(f"a state at depth {at.depth} is represented by no renaming of it", at)

    # --- runs ----------------------------------------------------------------------------------------

    @cached_property
    def starts(self) -> dict[bytes, tuple[Any, ...]]:
        """Return the initial states of both; of many ways to begin, those that the first of the second's lead to.

        Raises:
            Differs: they are not the same.
            ValueError: the second semantics has no such state as that in which the runs begin.
        """
        if self.begin is not None:
            begin = self.world.layout.of_plain(self.plain.value(self.begin))
            if self.values.of_cells(begin) != self.values.of_bytes(self.begin):
                raise ValueError("it has no such state as the first")
            return {self.begin: begin}
        ours, c = self.model.program.starts, self.model.configuration
        chosen = c.named_start[1] is not None
        try:
            ways = [*itertools.islice(self.world.initials(), None if chosen else MOST_STARTS + 1)]
        except (Fault, ZeroDivisionError) as fault:
            raise Differs(f"an initial state meets an error: {fault}") from None
        theirs = {self.values.of_cells(second): second for second in ways}
        whole = chosen or len(ways) <= MOST_STARTS
        keys = {data: self.values.of_bytes(data) for data in (ours if whole else itertools.islice(ours, MOST_STARTS))}
        found = {data: theirs[key] for data, key in keys.items() if key in theirs}
        if not found or (whole and (len(found) < len(keys) or (len(found) < len(theirs) and not chosen))):
            key = next((key for key in keys.values() if key not in theirs), next(iter(keys.values())))
            raise Differs("the initial states", changes=self.values.apart(key, next(iter(theirs))))
        return found

    def follow(self, words: Sequence[int]) -> None:
        """Go a run of the product, step by step, if it begins in a state that is compared.

        Raises:
            Differs: the two do not agree in a state of it, or it is no run.
        """
        number = words.start if isinstance(words, Schedule) else None
        data = self.begin or next((data for data, n in self.model.program.starts.items() if n == number), b"")
        if data not in self.starts:
            return
        second = self.starts[data]
        run: list[str] = []
        for depth, word in enumerate(words):
            moves = self.moves(data, second, depth, run)
            after = next((a[: self.size] for w, a in self.side.steps(data) if w == word), b"")
            key, label = self.values.of_bytes(after) if after else (), label_of(self.model, word)
            move = next((m for m in moves if m.what[:2] == (label, key)), None)
            if move is None:
                raise Differs(
                    f"step {depth + 1} of a run of the search is not possible", Place(second, depth, [*run, label])
                )
            if self.explorer is not None and not move.fingerprint:
                return  # a stuttering receipt that violates a property of steps: the search left the state after it out
            data, second = after, move.second
            run.append(label)
        self.moves(data, second, len(words), run)

    def to_state(self, depth: int, index: int) -> None:
        """Go to a state that the search found, by the predecessors that it kept.

        Raises:
            Differs: the two do not agree in a state on the way, or there is no such run.
        """
        assert self.explorer is not None
        assert self.code is not None
        ordinals: list[int] = []
        for level in range(depth, 0, -1):
            index, ordinal = self.explorer.preds.of(level, index)
            ordinals.insert(0, ordinal)
        data = self.explorer.starts[index] if self.explorer.starts else next(iter(self.starts))
        if data not in self.starts:
            return
        second = self.starts[data]
        _, image = self.code.canonical(data)
        run: list[str] = []
        for k, ordinal in enumerate(ordinals):
            moves = self.moves(data, second, k, run)
            after = self.code.next_states(image)[ordinal : ordinal + 1]
            target, image = self.code.canonical(after[0][1][: self.size]) if after else (0, b"")
            move = next((m for m in moves if m.fingerprint == target), None)
            if move is None:
                raise Differs(f"step {k + 1} of a run of the search is not possible", Place(second, k, run))
            data, second = move.data, move.second
            run.append(move.what[0])
        self.moves(data, second, depth, run)

    def wander(self, source: random.Random, most: int) -> None:
        """Go a random run, in which each kind of step is as likely as any other."""
        data, second = source.choice([*self.starts.items()])
        run: list[str] = []
        for depth in range(most + 1):
            moves = self.moves(data, second, depth, run)
            moves = [m for m in moves if m.fingerprint or self.code is None]
            if not moves or depth == most:
                return
            label = source.choice(sorted({m.what[0] for m in moves}))
            move = source.choice([m for m in moves if m.what[0] == label])
            data, second = move.data, move.second
            run.append(label)

    def everything(self, until: float) -> bool:
        """Compare all states that the search found; return whether there was time for them.

        Raises:
            Differs: the two do not agree in some state, on how many there are, or on what was left out.
        """
        known = {self.values.of_bytes(data) for data in self.starts}
        level: list[tuple[bytes, tuple[Any, ...], list[str]]] = [(*start, []) for start in self.starts.items()]
        left: list[tuple[tuple[Any, ...], list[str]]] = []
        for depth in itertools.count():
            following = []
            for data, second, run in level:
                if time.process_time() > until:
                    return False
                for move in self.moves(data, second, depth, run):
                    to = [*run, move.what[0]]
                    if self.code is not None and not move.fingerprint:
                        left.append((move.second, to))
                    elif move.what[1] not in known:
                        known.add(move.what[1])
                        following.append((move.data, move.second, to))
            if not following:
                break
            level = following
        r, others = self.r, self.explorer is None and not self.r.stuttering_off  # what it left out is not known
        if len(known) != r.raw and not (others or r.merged or self.values.only_one):
            raise Differs(f"{plural(r.raw, 'state')} of the search are {len(known)} by the second semantics")
        self.beyond(left, known, until)
        return True

    def beyond(self, left: list[tuple[tuple[Any, ...], list[str]]], known: set[Any], until: float) -> None:
        """Judge the states to which only steps lead that the search left out, by the second semantics alone.

        Raises:
            Differs: one violates or meets what the search does not report.
        """
        for second, run in left:  # which grows
            key = self.values.of_cells(second)
            if key in known or time.process_time() > until:
                continue
            known.add(key)
            moves, errors = self.taken(second)
            violated, met, erred = self.by_second(second, not moves and not errors)
            at, depth = Place(second, len(run), run), len(run)
            if (errors or erred) and not self.r.failed:
                raise Differs(f"an error at depth {depth} that the search does not meet: {[*errors, *erred][0]}", at)
            self.reported(violated.union(*(broken for _, _, broken, _ in moves)), depth, False, at)
            self.reached(met.union(*(met for *_, met in moves)), depth, True, at)
            left += [(state, [*run, label]) for (label, *_), state in moves.items()]

    def draw(self, count: int, source: random.Random, most_seconds: float, runs: Iterable[Sequence[int]]) -> None:
        """Compare some runs, and at least so many states, if there are as many and there is time.

        Raises:
            Differs: the two do not agree in some state.
        """
        r, began = self.r, time.process_time()
        for violation in r.violations.values():
            fails = violation.property.of == RUNTIME  # the last step has no effect
            self.follow(violation.schedule[:-1] if fails else violation.schedule)
        for run in runs:
            self.follow(run)
        levels = [k for k, n in enumerate(r.levels) if n and k <= max(r.whole_depth, 0)]
        guided = not r.narrowed and (self.explorer is not None or self.interpreter is not None)
        few = guided and r.complete and self.begin is None and r.raw <= ALL * count
        closed = few and len(self.starts) == sum(r.raw_levels[:1])  # all renamings of initial states are some
        if closed and self.everything(began + most_seconds / 2):
            return
        barren = 0
        while time.process_time() - began < most_seconds:
            enough = len(self.seen) >= count
            if barren >= (BARREN if enough else SPARSE) or (enough and not self.missed()):
                return
            before, turn = len(self.seen), source.randrange(RANDOM)
            if not guided or not turn:
                self.wander(source, max(r.expanded_levels, 0) if guided else max(r.depth, 1))
            else:
                depth = levels[-1] if turn == 1 else source.choice(levels)
                index = source.randrange(r.levels[depth])
                if self.explorer is not None:
                    self.to_state(depth, index)
                elif self.interpreter is not None:
                    self.follow(self.interpreter.schedule_to(depth, index))
            barren = barren + 1 if enough or len(self.seen) == before else 0

    def details(self, problem: Differs) -> dict[str, Any]:
        """Return a difference as JSON."""
        out = {"difference": str(problem), **problem.details}
        if problem.at is not None:
            plain = self.world.layout.plain(problem.at.state)
            out |= {"depth": problem.at.depth, "run": list(problem.at.run), "state": plain}
        return out

    def not_compared(self) -> list[str]:
        """Return the fields, kinds of steps, and steps that are left out, of which nothing was compared."""
        promised = [f"{plural(self.left_out, 'step')} left out by promise"] if self.left_out else []
        return [*self.values.only_one, *(f"steps {name}" for name in self.missed()), *promised]

    def missed(self) -> list[str]:
        """Return the kinds of steps that the search took and that were not compared."""
        taken = {NUMBERED[k].name for k, n in self.r.event_counts.items() if n and k in NUMBERED}
        return sorted(taken - {label.partition(":")[0] for label in self.labels})


def states_for(r: Exploration) -> int:
    """Return how many states of a search are compared by default."""
    return min(MOST, max(FEWEST, r.distinct // SHARE))


def opinion_of_runs(
    model: Model, engine: Interpreter | Compiled, properties: Sequence[Property], runs: Iterable[Sequence[int]],
    begin: bytes | None = None,
) -> SecondOpinion:  # fmt: skip
    """Compare runs that an engine took, and random ones of it, with the second semantics.

    Args:
        begin: the state in which they begin; None for an initial state.
    """
    r = Exploration(tuple(properties), levels=[1] * LONGEST, narrowed=True)
    return second_opinion(model, engine, r, None, runs, begin)


def second_opinion(
    model: Model,
    engine: Explorer | Interpreter | Compiled,
    r: Exploration,
    count: int | None,
    runs: Iterable[Sequence[int]] = (),
    begin: bytes | None = None,
) -> SecondOpinion:
    """Compare a search with the second semantics.

    Args:
        model: what was explored.
        engine: what explored it.
        r: the result.
        count: so many states, which is the seed, too; None for as many as the size of the search suggests.
        runs: further runs to compare.
        begin: the state in which they begin; None for an initial state.
    """
    known = {*model.protocol.budgets, *(b for budgets in WORLD_BUDGETS.values() for b in budgets)}
    lacking = next((b for b, n in model.configuration.budget.items() if n and b in BUDGETS and b not in known), "")
    if lacking:
        return SecondOpinion(none=f"the second semantics has no {lacking}")
    began, wanted = time.process_time(), states_for(r) if count is None else count
    difference: dict[str, Any] = {}
    limit = max(SECONDS, r.cpu_seconds / 10) if count is None else float("inf")
    try:
        here = Comparison(model, engine, r, begin)
        here.draw(wanted, random.Random(wanted), limit, runs)
    except Differs as problem:
        difference = here.details(problem)
    except KeyboardInterrupt:
        return SecondOpinion(none="interrupted")
    except Exception as problem:  # whatever it lacks, the search's verdict stands
        return SecondOpinion(none=f"the second semantics does not run it: {type(problem).__name__}: {problem}")
    names = [p.name for p in r.properties]
    return SecondOpinion(
        BY_SECOND, len(here.seen), len(here.depths), here.steps,
        tuple(n for n in names if n in here.judged_names), tuple(n for n in names if n not in here.judged_names),
        tuple(here.not_compared()), wanted, difference.get("difference", ""), "",
        round(time.process_time() - began, 3), details=difference,
    )  # fmt: skip
