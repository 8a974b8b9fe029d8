"""Shorten a counterexample while it still violates the same property, or leaves the same progress property unmet.

First, steps are removed in ever smaller runs (Zeller's ddmin). The rest is run leniently: each step is matched with the
one that does the same in the current state, and is left out if there is none. Then the configuration is reduced:
transactions, processes and budgets that are not needed go. The result is an ordinary trace of a smaller configuration;
the explorer can then find the shortest one in it (`checker/requests/minimise.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from invariants import Property, known_properties, property_named
from invariants.binding import bound
from invariants.registry import keeps
from traces.record.failure import ENABLED, START, STEP, Failure, failure_of, met_here
from traces.record.fair import NotFair, hold_fair
from traces.record.lasso import Lasso
from traces.record.runner import build_trace, failing_trace
from traces.record.trace import StepWord, Trace, TraceError
from zabspec.configuration import amounts_in
from zabspec.errors import RequestError
from zabspec.language.layout.kinds import Bool, Int, Kind, MessageUnion, NodeId, Record, Seq, SetOf
from zabspec.language.python.reference import ERRORS, MessageView, RangeError, RecordValue, StateView, read, write
from zabspec.model import Configuration, Model
from zabspec.worlds.steps import ABCAST, BUDGETS, MASKS, NUMBERED, PLACES, PROCESSES, RECEIVE

# --- convert a message of one configuration to another whose kinds have other sizes ----------------

Renamed = Callable[[int], int | None]


def remade(raw: bytes, source: MessageUnion, target: MessageUnion, process: Renamed) -> bytes | None:
    """Return a message's bytes in the encoding of another union with the same messages.

    Args:
        process: maps a process to its new number, or to None if it has none.

    Returns:
        The bytes; None if a process in the message has no new number, or a value is out of range there.
    """
    m = MessageView(bytearray(raw), 0, source)
    buffer = bytearray(target.size)
    buffer[0] = target.tag(m.name)
    places: list[tuple[int, Kind, int, Kind]] = [
        (source.envelope_offsets[n], source.envelope[n], target.envelope_offsets[n], target.envelope[n])
        for n in source.envelope
    ]
    fields, others = source.named(m.name).fields, target.named(m.name).fields
    for name, kind in fields.items():
        places.append((source.offsets(m.name)[name], kind, target.offsets(m.name)[name], others[name]))
    try:
        return bytes(buffer) if all(_move(m.buffer, buffer, *place, process) for place in places) else None
    except RangeError:
        return None


def _part(kind: Int | SetOf, value: int, process: Renamed) -> int | None:
    """Return a number, process or set mask in the target's numbering; None if it cannot be expressed there."""
    if isinstance(kind, NodeId):
        return value if value < 0 else process(value)
    if not isinstance(kind, SetOf) or not kind.nodes:
        return value
    members = [process(p) for p in kind.members(value)]
    return None if None in members else sum(1 << p for p in members if p is not None)


def _move(old: bytearray, new: bytearray, at: int, kind: Kind, to: int, other: Kind, process: Renamed) -> bool:
    """Write a value to its place in the target message; return whether it can be expressed there."""
    if isinstance(kind, NodeId):
        p = int(read(old, at, kind, ""))
        renamed = p if p < 0 else process(p)
        if renamed is not None:
            write(new, to, other, renamed, "process")
        return renamed is not None
    if isinstance(kind, (Int, Bool)):
        write(new, to, other, read(old, at, kind, ""), "value")
    elif isinstance(kind, Record):
        assert isinstance(other, Record)
        values = kind.unpack(int(read(old, at, kind, "").word))
        for name, value in values.items():
            moved = _part(kind.fields[name], value, process)
            if moved is None or not other.fields[name].lo <= moved <= other.fields[name].hi:
                return False
            values[name] = moved
        write(new, to, other, RecordValue(other, other.pack(values)), "record")
    elif isinstance(kind, SetOf):
        mask = _part(kind, read(old, at, kind, "").mask, process)
        if mask is None:
            return False
        new[to : to + other.size] = mask.to_bytes(other.size, "little")
    else:
        assert isinstance(kind, Seq)
        assert isinstance(other, Seq)
        count = len(read(old, at, kind, ""))
        if count > other.capacity:
            return False
        new[to : to + other.header] = count.to_bytes(other.header, "little")
        for k in range(count):
            first, second = at + kind.header + k * kind.element.size, to + other.header + k * other.element.size
            if not _move(old, new, first, kind.element, second, other.element, process):
                return False
    return True


CHOICE_AT = 32


@dataclass(frozen=True)
class Deed:
    """What a step does, in terms that hold wherever the same can be done.

    Attributes:
        kind: the step's kind.
        a, b, c: its operands; c has no meaning where `message` identifies what is received.
        message: the datagram received, with its envelope except for clocks ahead; empty for other steps.
        choice: the alternative chosen.
        part: the part of a lasso to which the step belongs.
    """

    kind: int
    a: int
    b: int
    c: int
    message: bytes
    choice: int
    part: int = field(default=0, compare=False)

    @property
    def word(self) -> int:
        """Return the step word without its choice and the place of a datagram."""
        return self.kind << 24 | self.a << 16 | self.b << 8 | self.c


@dataclass(frozen=True)
class Minimised:
    """The result of minimising: the trace, and the size of the original."""

    trace: Trace
    steps_before: int
    runs: int


class World:
    """A configuration in CPython, and the property that has to be violated."""

    in_blocks = True  # runs of steps to be taken out begin a whole run apart

    def __init__(self, configuration: Configuration, prop: Property | None) -> None:
        self.model = Model(configuration)
        self.prop = prop
        self.names = bound(self.model)
        self.initial = self.model.program.initial()

    def like(self, configuration: Configuration, process: Callable[[int], int | None]) -> World | None:
        """Return the same aim in another configuration with renamed processes; None if it does not exist there."""
        return World(configuration, self.prop)

    def trace(self, words: Sequence[int], deeds: Sequence[Deed]) -> Trace:
        """Return the trace of a schedule of step words and of the deeds that they carry out."""
        return build_trace(self.model, self.prop, words)

    def enabled(self, s: StateView) -> list[int]:
        out = [0] * (self.model.most_steps + 1)
        self.names["enabled"](s, out)
        return out[1 : out[0] + 1]

    def deed(self, s: StateView, word: int) -> Deed:
        """Return what a step word does in a state, independent of the place of its datagram."""
        kind, a, b, c = word >> 24 & 255, word >> 16 & 255, word >> 8 & 255, word & 255
        if RECEIVE in (kind, b if NUMBERED[kind].breaks_off else kind):
            return Deed(kind, a, b, 0, without_place(s.in_flight[c]), word >> CHOICE_AT)
        return Deed(kind, a, b, c, b"", word >> CHOICE_AT)

    def word(self, s: StateView, deed: Deed) -> int | None:
        """Return the step word that carries out a deed in a state, or None.

        If no step receives the same datagram, one of the same kind between the same two processes counts: its contents
        may name a transaction that was renumbered because another was left out.
        """
        alike: int | None = None
        for plain in self.enabled(s):
            word = plain | deed.choice << CHOICE_AT
            here = self.deed(s, word)
            if here == deed:
                return word
            if alike is None and deed.message and here.message[:1] == deed.message[:1]:
                if (here.kind, here.a, here.b) == (deed.kind, deed.a, deed.b):
                    alike = word
        return alike

    def taken(self, s: StateView, deed: Deed) -> tuple[int | None, StateView]:
        """Return the step that does a deed, with the state after it; or None and the state as it is."""
        word = self.word(s, deed)
        if word is None:
            return None, s
        after = s.copy()
        self.names["apply"](after, word)
        return (None, s) if deed.choice >= max(1, after.choices) else (word, after)

    def breaks(self, before: StateView, after: StateView) -> bool:
        return self.prop is not None and not keeps(self.prop, self.names, after, before)

    def run(self, deeds: Sequence[Deed]) -> tuple[list[int], list[Deed]] | None:
        """Carry out the deeds that are possible, up to the violation; return None if there is no violation."""
        s = self.initial.copy()
        words: list[int] = []
        done: list[Deed] = []
        try:
            if self.prop is not None and not keeps(self.prop, self.names, s, None):
                return words, done  # it breaks at once
        except ERRORS:
            return None
        for deed in deeds:
            before = s
            try:
                word, s = self.taken(s, deed)
                if word is None:
                    continue
                words.append(word)
                done.append(deed)
                if self.breaks(before, s):
                    return words, done
            except ERRORS:
                return None
        return None

    def deeds(self, words: Sequence[int]) -> list[Deed]:
        """Return a schedule of step words as deeds."""
        s = self.initial.copy()
        out = []
        for word in words:
            out.append(self.deed(s, word))
            self.names["apply"](s, word)
        return out


class Failing(World):
    """A configuration in CPython, and the run-time error in which a run has to end."""

    def __init__(self, configuration: Configuration, failure: Failure) -> None:
        super().__init__(configuration, None)
        self.failure = failure
        known = known_properties(configuration.protocol)
        self.judged = [property_named(failure.judged, known)] if failure.judged else []

    def like(self, configuration: Configuration, process: Callable[[int], int | None]) -> World | None:
        return Failing(configuration, self.failure)

    def trace(self, words: Sequence[int], deeds: Sequence[Deed]) -> Trace:
        return failing_trace(self.model, words, not self.failure.widen, self.judged)

    def run(self, deeds: Sequence[Deed]) -> tuple[list[int], list[Deed]] | None:
        """Carry out the deeds that are possible, up to the run-time error; return None if it is not met."""
        s, words, done = self.initial.copy(), list[int](), list[Deed]()
        if self.judged and self.meets(s, None):
            return words, done
        for deed in (*deeds, None):
            try:
                word = self.word(s, deed) if deed is not None else self.enabled(s)[:0]
            except ERRORS as trouble:
                return (words, done) if self.is_same(trouble, ENABLED) else None
            if deed is None or not isinstance(word, int):
                continue
            before = s.copy()
            try:
                self.names["apply"](s, word)
            except ERRORS as trouble:
                return ([*words, word], [*done, deed]) if self.is_same(trouble, STEP) else None
            if deed.choice >= max(1, s.choices):
                s = before
                continue
            words.append(word)
            done.append(deed)
            if self.judged and self.meets(s, before):
                return words, done
        return None

    def meets(self, s: StateView, before: StateView | None) -> bool:
        """Return whether evaluating the properties of a state, or of the step to it, meets the error."""
        met = met_here(self.model, self.names, s, before, self.judged, not self.failure.widen)
        return met is not None and met.same_as(self.failure)

    def is_same(self, trouble: Exception, where: str) -> bool:
        return self.failure.where == where and failure_of(self.model, trouble, where).same_as(self.failure)

    def deeds(self, words: Sequence[int]) -> list[Deed]:
        if self.failure.where != STEP:
            return super().deeds(words)
        s = self.initial.copy()
        out = super().deeds(words[:-1])
        for word in words[:-1]:
            self.names["apply"](s, word)
        return [*out, self.deed(s, words[-1])]


FAULTS, STEM, LOOP = range(3)  # the parts of a lasso


class Lassos(World):
    """A configuration in CPython, and a progress property that has to starve."""

    in_blocks = False  # a loop has to close: what can go, wherever it is, may go only together

    def __init__(self, configuration: Configuration, lasso: Lasso) -> None:
        super().__init__(configuration, None)
        self.lasso = lasso

    def like(self, configuration: Configuration, process: Callable[[int], int | None]) -> World | None:
        who = process(self.lasso.process)
        named = None if self.lasso.named is None else process(self.lasso.named)
        if who is None or (named is None) != (self.lasso.named is None):
            return None
        return Lassos(configuration, replace(self.lasso, process=who, named=named))

    def trace(self, words: Sequence[int], deeds: Sequence[Deed]) -> Trace:
        return replace(super().trace(words, deeds), lasso=self.told_of(deeds))

    def deeds(self, words: Sequence[int]) -> list[Deed]:
        begins = self.lasso.begins(len(words))
        parts = (
            FAULTS if k < self.lasso.stabilization_time else STEM if k < begins else LOOP for k in range(len(words))
        )
        return [replace(deed, part=part) for deed, part in zip(super().deeds(words), parts, strict=True)]

    def run(self, deeds: Sequence[Deed]) -> tuple[list[int], list[Deed]] | None:
        """Carry out the deeds that are possible; return None if no process starves then."""
        s, words, done = self.initial.copy(), list[int](), list[Deed]()
        try:
            for deed in deeds:
                word, s = self.taken(s, deed)
                if word is None:
                    continue
                words.append(word)
                done.append(deed)
            hold_fair(self.model, words, self.told_of(done))
        except (*ERRORS, NotFair):
            return None
        return words, done

    def told_of(self, deeds: Sequence[Deed]) -> Lasso:
        """Return the lasso of a run: the positions at which its parts begin now."""
        count = Counter(d.part for d in deeds)
        loop = count[FAULTS] + count[STEM] if count[LOOP] else None
        return replace(self.lasso, stabilization_time=count[FAULTS], loop=loop)


def without_place(m: MessageView) -> bytes:
    """Return a datagram's bytes without the count of datagrams ahead of it."""
    raw = bytearray(m.raw())
    raw[m.union.envelope_offsets["ahead"]] = 0
    return bytes(raw)


def minimise(trace: Trace, progress: Callable[[int, int], None] | None = None) -> Minimised:
    """Shorten a counterexample.

    Args:
        trace: a trace that violates a property at its last step, or in which a process starves.
        progress: called with the steps left and the runs tried so far.

    Raises:
        TraceError: the trace violates no property, and no process starves in it.
    """
    world: World
    if trace.failure is not None:
        if trace.failure.where == START:
            return Minimised(trace, 0, 0)
        world, breaks = (
            Failing(trace.configuration, trace.failure),
            f"end in the run-time error at {trace.failure.place}",
        )
    elif trace.lasso is not None:
        world, breaks = Lassos(trace.configuration, trace.lasso), f"leave {trace.lasso.progress_property} unreached"
    elif trace.property_name:
        prop = property_named(trace.property_name, known_properties(trace.configuration.protocol))
        world, breaks = World(trace.configuration, prop), f"violate {prop.name}"
    else:
        raise TraceError("violates no property, so there is nothing to keep while shortening")
    search = _Search(progress)
    found = search.shorter(world, world.deeds(trace.schedule))
    if found is None:
        raise TraceError(f"does not {breaks} when its schedule is run")
    words, deeds = found
    for smaller in search.smaller_questions(world, deeds):
        world, words, deeds = smaller
    return Minimised(world.trace(words, deeds), len(trace.steps), search.runs)


class _Search:
    """A search for a shorter schedule."""

    def __init__(self, progress: Callable[[int, int], None] | None) -> None:
        self.progress = progress
        self.runs = 0

    def attempt(self, world: World, deeds: Sequence[Deed]) -> tuple[list[int], list[Deed]] | None:
        self.runs += 1
        if self.progress is not None:
            self.progress(len(deeds), self.runs)
        return world.run(deeds)

    def shorter(self, world: World, deeds: list[Deed]) -> tuple[list[int], list[Deed]] | None:
        """Remove runs of steps, half of the schedule at first, then ever fewer, until no single step can go."""
        best = self.attempt(world, deeds)
        if best is None:
            return None
        size = max(1, len(best[1]) // 2)
        while True:
            at = len(best[1]) - size
            improved = False
            while at > -size:
                start = max(0, at)
                kept = best[1][:start] + best[1][start + size :]
                found = self.attempt(world, kept)
                if found is not None and len(found[1]) < len(best[1]):
                    best, improved = found, True
                    at = min(at, len(best[1]))
                at -= size if world.in_blocks else 1
            if size == 1 and not improved:
                return best
            size = max(1, size // 2)

    def smaller_questions(self, world: World, deeds: list[Deed]) -> Iterator[tuple[World, list[int], list[Deed]]]:
        """Yield ever smaller configurations that still show the violation, each with its words and deeds."""
        while True:
            for smaller, moved in _smaller(world, deeds):
                found = self.shorter(smaller, moved)
                if found is not None and len(found[1]) <= len(deeds):
                    world, deeds = smaller, found[1]
                    yield world, found[0], deeds
                    break
            else:
                return


def _smaller(world: World, deeds: list[Deed]) -> Iterator[tuple[World, list[Deed]]]:
    """Yield the next smaller configurations, each with the deeds to try in it."""
    c = world.model.configuration
    fixed = replace(c, max_epoch=0, channel=0)
    model = world.model
    used = Counter(model.spends(NUMBERED[d.kind], d.c) for d in deeds)
    bases = (StepWord.of(d.word).base for d in deeds if NUMBERED[d.kind].breaks_off)
    used.update(model.spends(base.row, base.operands.get("which", 0)) for base in bases)
    less: dict[str, Any] = {name: min(getattr(c, name), used[name]) for name in BUDGETS}
    if model.protocol.transactions:
        less["txns"] = max(1, sum(d.kind == ABCAST for d in deeds))
    own = {name: min(n, used[name]) for name, n in amounts_in(c.budgets).items()}
    tight = replace(fixed, **less, budgets=",".join(f"{name}={n}" for name, n in own.items()))
    if tight != c:
        yield from _in(tight, world, deeds)
    if c.nodes > 1 and not c.quorums and not c.roles:  # of fewer processes it would be another system
        for gone in reversed(range(c.nodes)):
            yield from _in(replace(tight, nodes=c.nodes - 1), world, deeds, gone)


def _in(
    c: Configuration, world: World, deeds: list[Deed], gone: int | None = None
) -> Iterator[tuple[World, list[Deed]]]:
    """Yield the deeds in another configuration; without process `gone`, if given, the later ones are renumbered."""
    try:
        smaller = world.like(c, lambda p: renamed(p, gone))
    except (RequestError, *ERRORS):  # no such configuration, or one without an initial state
        return
    if smaller is None:
        return
    moved = _Moved(world, smaller, gone)
    yield smaller, [m for m in map(moved.deed, deeds) if m is not None]


def renamed(p: int, gone: int | None) -> int | None:
    """Return the number of a process after process `gone` is removed; None for `gone` itself."""
    if gone is None or p < gone:
        return p
    return None if p == gone else p - 1


class _Moved:
    """Translates deeds of one configuration to another, which may lack a process."""

    def __init__(self, world: World, smaller: World, gone: int | None) -> None:
        self.union, self.to = world.model.union, smaller.model.union
        self.gone = gone

    def process(self, p: int) -> int | None:
        return renamed(p, self.gone)

    def deed(self, d: Deed) -> Deed | None:
        of = (*NUMBERED[d.kind].operands, "", "")
        moved = [self.operand(name, x) for name, x in zip(of, (d.a, d.b, d.c), strict=False)]
        if NUMBERED[d.kind].breaks_off and not NUMBERED[d.kind].inside and not d.message:
            moved[2] = self.which(d)
        a, b, c = moved
        if a is None or b is None or c is None:
            return None
        if not d.message:
            return replace(d, a=a, b=b, c=c)
        message = self.message(d.message)
        return None if message is None else replace(d, a=a, b=b, message=message)

    def operand(self, name: str, x: int) -> int | None:
        """Return an operand of a step in the smaller configuration, or None if it has no such process."""
        if name in PROCESSES:
            return self.process(x)
        if name in MASKS and self.gone is not None:
            return x & ((1 << self.gone) - 1) | (x >> (self.gone + 1)) << self.gone
        return x

    def which(self, d: Deed) -> int | None:
        """Return the number of the broken-off step, since the process at the other end may be renumbered."""
        base = StepWord.of(d.word).base
        peer = base.operands.get(base.row.operands[1]) if base.row.has_peer else None
        if peer is None:
            return d.c
        other = self.process(peer)
        return None if other is None else other * PLACES + d.c % PLACES

    def message(self, raw: bytes) -> bytes | None:
        """Return a datagram in the smaller configuration's encoding; None if it cannot be expressed there."""
        return remade(raw, self.union, self.to, self.process)
