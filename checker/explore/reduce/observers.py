"""Derived observers: find from a protocol's source which observed histories no judged property distinguishes.

Ghosts are an automaton that handlers drive and never read. Its letters are the calls that show something outside
(`LETTERS`), its states are the contents of the ghosts of derived observers, the values. Properties read values. This
module builds the automaton under every possible call, labels each value with what properties read of it, and
merges values as far as no letter and no label distinguishes them (partition refinement). The explorer then hashes and
compares the class of a value in its place (`observer_kernel.py`). docs/explanation/reductions.md has the argument.

What is derived, and from what:

- which ghosts are values: those that letters alone write. Others stay as they are, and so do the ghosts that `accept`
  and `establish` write;
- which of them the protocol sees (`raw`): what anything but letters and state properties reads of them;
- what a property reads of a value: nothing but whether it is violated (`pure`); or, if it reads fields of the protocol
  too, the residual function when the value is known (`left_of`).
"""

from __future__ import annotations

import base64
import ctypes
import math
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from checker.explore.memory import Block
from checker.explore.reduce.partly import NotFollowed, Partly
from invariants import OF_PAPERS, properties_of
from invariants.registry import STEP, TERMINAL, Property
from zabspec import history
from zabspec.language.analysis import tree as t
from zabspec.language.layout.derive import node_parts, used_bits
from zabspec.language.layout.kinds import Int
from zabspec.language.layout.schema import Layout, Role
from zabspec.model import Model

MOST_VALUES = 1 << 21  # enough for 3 transactions and 2 timeouts, which take 35 s of CPU to build
MOST_COMBINATIONS = 4096  # combinations of the protocol's fields that a property reads beside a value

# What is called, with which arguments: p is a process, e an epoch, c the number of an abcast. An abcast has an epoch
# that is not 0, and the next counter of its epoch; what is delivered was abcast. A call that is not among these makes a
# value that the automaton does not have, which the kernel notes: what is abcast or delivered is in the value.
LETTERS: Mapping[str, tuple[str, ...]] = {
    "abcast": (
        "if s.abcasts >= s.TXNS or c != 0:",
        "    return -1",
        "c = 1",
        "for k in range(s.abcasts):",
        "    if s.abcast_txn[k].epoch == e:",
        "        c = c + 1",
        "t = abcast(s, p, e, c)",
        "return 1 + ((t.epoch << 16) | (t.counter << 8) | t.value)",
    ),
    "abdeliver": ("if c >= s.abcasts:", "    return -1", "abdeliver(s, p, s.abcast_txn[c])", "return 0"),
    "end_pass": ("end_pass(s, p)", "return 0"),
    "end_leadership": ("end_leadership(s, p)", "return 0"),
    "end_synchronization": ("end_synchronization(s, p)", "return 0"),
}

Label = object
Letter = tuple[int, int, int, int]


# --- what a text touches --------------------------------------------------------------------------


@dataclass
class Touched:
    """The fields and local names that a piece of code reads and writes, without the functions that it calls."""

    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    names_read: set[str] = field(default_factory=set)
    names_written: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    returns: bool = False


def touched_by(node: object, out: Touched | None = None) -> Touched:
    """Return what a piece of typed code touches itself."""
    out = out or Touched()
    if isinstance(node, (list, tuple)):
        for part in node:
            touched_by(part, out)
        return out
    if not isinstance(node, t.Node):
        return out
    match node:
        case t.Store() | t.Copy() | t.SetChange() | t.Clear() | t.Append() | t.Remove():
            out.writes.add(node.place.field)
            if not isinstance(node, (t.Store, t.Copy)):
                out.reads.add(node.place.field)
            touched_by([term.index for term in node.place.terms], out)
            parts = [value for value in node.values_held() if value is not node.place]
        case t.Memory():
            out.reads.add(node.field)
            parts = [term.index for term in node.terms]
        case t.Var():
            out.names_read.add(node.name)
            parts = []
        case t.Assign() | t.For():
            out.names_written.add(node.name)
            parts = node.values_held()
        case t.Call():
            out.calls.add(node.function)
            parts = node.values_held()
        case t.Return():
            out.returns = True
            parts = node.values_held()
        case _:
            parts = node.values_held()
    return touched_by(parts, out)


def with_calls(program: t.TypedProgram, part: Touched) -> tuple[set[str], set[str]]:
    """Return the fields that a piece of code reads and writes, the functions that it calls included."""
    reads, writes, seen, ahead = set(part.reads), set(part.writes), set[str](), list(part.calls)
    while ahead:
        name = ahead.pop()
        if name not in seen:
            seen.add(name)
            inner = touched_by(program.functions[name].body)
            reads |= inner.reads
            writes |= inner.writes
            ahead += inner.calls
    return reads, writes


def outside_letters(program: t.TypedProgram) -> tuple[dict[str, Touched], set[str]]:
    """Return what steps touch outside letters and what only these call, by function, and the letters that they call."""
    found: dict[str, Touched] = {}
    letters: set[str] = set()
    ahead = ["enabled", "apply"]
    while ahead:
        name = ahead.pop()
        if name in LETTERS:
            letters.add(name)
        elif name not in found:
            found[name] = touched_by(program.functions[name].body)
            ahead += found[name].calls
    return found, letters


def why_mixed(program: t.TypedProgram, name: str, hidden: Collection[str], explicit: Collection[str]) -> str:
    """Return why a letter's effects on values and on explicit fields are not separate, in a sentence.

    Empty if they are.

    What it writes of explicit fields may not depend on what is hidden in values, and what it writes of values may not
    depend on explicit fields: statement by statement, in their order.
    """
    tainted: set[str] = set()
    cut = False
    for statement in program.functions[name].body:
        part = touched_by(statement)
        reads, writes = with_calls(program, part)
        sees = bool(reads & set(hidden)) or bool(part.names_read & tainted)
        if writes & set(explicit) and (sees or cut):
            return f"what {name} writes to {', '.join(sorted(writes & set(explicit)))} may depend on merged values"
        if reads & set(explicit) and (writes - set(explicit) or part.names_written - loops(statement) or part.returns):
            return f"what {name} writes may depend on {', '.join(sorted(reads & set(explicit)))}"
        if sees:
            tainted |= part.names_written
            cut = cut or part.returns
    return ""


def marks_of(program: t.TypedProgram, letter: str, layout: Layout) -> set[str]:
    """Return the step annotations that a letter writes, and never reads."""
    said = {f.name for f in layout.schema.fields if f.role is Role.SCRATCH}
    ahead, seen = [letter], set[str]()
    while ahead:
        name = ahead.pop()
        if name not in seen:
            seen.add(name)
            body = program.functions[name].body
            said -= looked_at(body)
            ahead += touched_by(body).calls
    return said


def looked_at(node: object) -> set[str]:
    """Return the fields whose values a piece of typed code uses, except those that it only changes."""
    if isinstance(node, (list, tuple)):
        return set().union(*map(looked_at, node))
    if not isinstance(node, t.Node):
        return set()
    found = {node.field} if isinstance(node, t.Memory) else set()
    match node:
        case t.Store() | t.SetChange() | t.Clear():
            given = [v for v in node.values_held() if v is not node.place]
            inner = [*(term.index for term in node.place.terms), *given]
        case t.Memory():
            inner = [term.index for term in node.terms]
        case _:
            inner = list(node.values_held())
    return found | looked_at(inner)


def loops(statement: t.Stmt) -> set[str]:
    """Return the loop variables over ranges, which are not used after their loops."""
    if isinstance(statement, t.For):
        return {statement.name} | {name for inner in statement.body for name in loops(inner)}
    return set()


# --- the plan -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """What is merged of a model's ghosts, before any value is known.

    Attributes:
        why_not: why nothing is merged, in a sentence; empty if something is.
        letters: what is called, by name.
        fields: the fields that values consist of; `raw`: those of them that the protocol sees.
        pure: the properties that are violated by a value alone, as a mask.
        premises: the state properties whose premise is kept as well, as a mask.
        expected: the functions of properties that are not judged and are expected to hold: values that violate one are
            followed no further, and a search that meets one is not conclusive.
    """

    why_not: str = ""
    letters: tuple[str, ...] = ()
    fields: frozenset[str] = frozenset()
    raw: frozenset[str] = frozenset()
    pure: int = 0
    premises: int = 0
    expected: tuple[str, ...] = ()


NOTHING = Plan("no letter is called")


def expected_of(model: Model, properties: Sequence[Property]) -> list[Property]:
    """Return the papers' properties of values that are not judged: those that a protocol is expected to satisfy.

    With fewer properties judged more values would be followed, those that only the other properties reject: more than a
    million for a single property. A protocol that satisfies the papers' properties has none of these values.
    """
    protocol = model.protocol
    return [
        p
        for p in properties_of(protocol.name)
        if p in OF_PAPERS and p.default and p.judges(protocol.name) and p.of not in (STEP, TERMINAL)
        if p not in properties
    ]


def plan_of(
    model: Model,
    program: t.TypedProgram,
    properties: Sequence[Property],
    wanted: Collection[str],
    more: Iterable[str],
    expected: Sequence[Property] = (),
) -> Plan:
    """Plan what is merged.

    Args:
        program: typed, with `enabled` and `apply`, and every function of the properties.
        wanted: the properties whose premises are not met yet.
        more: other functions that read states, by name.
        expected: properties that are not judged; those that values violate alone are expected to hold.
    """
    layout, c = model.program.layout, model.configuration
    if c.quorums:
        return Plan("the quorums are not majorities (--quorums): renaming two processes may distinguish classes")
    if c.roles:
        return Plan("processes have roles: renaming two of them may distinguish classes")
    if c.passes:
        return Plan("the passes that processes gave up are kept")
    steps, letters = outside_letters(program)
    for name in sorted(letters):
        if model.program.namespace.get(name) is not getattr(history, name):
            return Plan(f"{name} is not the one of zabspec/history.py")
    observed = {f.name for f in layout.schema.fields if f.observed}
    explicit = set().union(*(part.writes for part in steps.values())) & observed
    fields: set[str] = set()
    for name in letters:
        reads, writes = with_calls(program, touched_by(program.functions[name].body))
        if beyond := (reads | writes) - observed - marks_of(program, name, layout):
            return Plan(f"{name} touches {', '.join(sorted(beyond))}")
        fields |= writes & observed
    fields -= explicit
    if "abcasts" not in fields or "abcast_txn" not in fields:
        return NOTHING
    read = set().union(*(part.reads for part in steps.values()))
    judging = [f.__name__ for p in properties if p.of == STEP for f in (p.holds, p.witness)]
    raw = fields & read.union(*(program.reads[name] for name in (*judging, *more)))
    for name in sorted(letters):
        if why := why_mixed(program, name, fields - raw, explicit):
            return Plan(why)
    pure = premises = 0
    for k, p in enumerate(properties):
        said, met = program.reads[p.holds.__name__], program.reads[p.witness.__name__]
        if p.of not in (STEP, TERMINAL) and said and said <= fields:
            pure |= 1 << k
        if p.of != STEP and (p.name in wanted or p not in OF_PAPERS) and met & fields:
            premises |= 1 << k
    order = tuple(name for name in LETTERS if name in letters)
    others = [p.holds.__name__ for p in expected]
    kept = tuple(name for name in others if program.reads[name] and program.reads[name] <= fields)
    return Plan("", order, frozenset(fields), frozenset(raw), pure, premises, kept)


# --- where values lie -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Places:
    """The location of values in a state.

    Attributes:
        words: the offset of each word that holds any of a value, and the bits of it that do; `raw`: of the raw fields.
        number: the word that the number of a class is written to, and its bits; `parts`: the same for each process.
    """

    words: tuple[tuple[int, int], ...]
    raw: tuple[tuple[int, int], ...]
    number: tuple[int, int]
    parts: tuple[tuple[int, int], ...]


def bits_of(layout: Layout, names: Iterable[str], plain: bool = False) -> dict[int, int]:
    """Return, by the offset of a word, the bits of it that fields use; `plain`: only those that name no process."""
    used: dict[int, int] = {}
    for name in names:
        kind = layout.fields[name].kind
        for _, start in layout.elements(name):
            inside = node_parts(kind, start) if plain else ()
            named = {byte for at, part in inside for byte in range(at, at + part.size)}
            for k, bits in enumerate(used_bits(kind)):
                at = start + k
                if bits and at not in named:
                    used[at - at % 8] = used.get(at - at % 8, 0) | ((1 << bits) - 1) << 8 * (at % 8)
    return used


def places_of(layout: Layout, plan: Plan) -> Places:
    """Return the location of a plan's values, and of the room for numbers of classes."""
    words = bits_of(layout, plan.fields)
    raw = bits_of(layout, plan.raw)
    room = bits_of(layout, plan.fields, plain=True)
    block, node = layout.blocks["history"], layout.blocks["history-node"]
    shared = {at: bits for at, bits in room.items() if block.offset <= at < block.offset + block.stride}
    own = {at: bits for at, bits in room.items() if node.offset <= at < node.offset + node.stride}
    at, bits = max(shared.items(), key=lambda found: found[1].bit_count(), default=(0, 0))
    of, part = max(own.items(), key=lambda found: found[1].bit_count(), default=(0, 0))
    return Places(
        tuple((where, words.get(where, 0)) for where in all_words(layout)),
        tuple((where, raw.get(where, 0)) for where in all_words(layout)),
        (at, bits),
        tuple((of + p * node.stride, part) for p in range(layout.schema.nodes)),
    )


def all_words(layout: Layout) -> range:
    """Return the offsets of the words of the observed history, which contain values."""
    return range(0, layout.history_size, 8)


def signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def value_text(layout: Layout, plan: Plan) -> str:
    """Return the kernel source that reads and writes values and numbers of classes."""
    places = places_of(layout, plan)
    nodes = layout.schema.nodes

    def cleared(word: int, bits: int) -> str:
        return f"(load_word(b, {word}) & {signed(~bits & (1 << 64) - 1)})"

    read = ["def value_of(s: State, out: Words) -> None:", "    b = as_bytes(s)"]
    put = ["def put_value(s: State, value: Words) -> None:", "    b = as_bytes(s)"]
    raw = ["def put_raw(s: State) -> None:", "    b = as_bytes(s)"]
    code = [
        "def put_class(s: State, number: int) -> None:",
        "    b = as_bytes(s)",
        f"    rest = number // {nodes**nodes}",
    ]
    for k, (at, bits) in enumerate(places.words):
        read.append(f"    out[{k}] = load_word(b, {at}) & {signed(bits)}")
        put.append(f"    store_word(b, {at}, {cleared(at, bits)} | value[{k}])")
        raw.append(f"    store_word(b, {at}, {cleared(at, bits & ~places.raw[k][1])})")
        code.append(f"    store_word(b, {at}, {cleared(at, bits)})")
    at, bits = places.number
    code.append(f"    store_word(b, {at}, load_word(b, {at}) | deposit(rest, {signed(bits)}))")
    code.append(f"    parts = number % {nodes**nodes}")
    total = f"extract(load_word(b, {at}), {signed(bits)}) * {nodes**nodes}"
    for p, (where, mask) in enumerate(places.parts):
        part = f"(parts // {nodes**p}) % {nodes}"
        code.append(f"    store_word(b, {where}, load_word(b, {where}) | deposit({part}, {signed(mask)}))")
        total += f" + extract(load_word(b, {where}), {signed(mask)}) * {nodes**p}"
    alone = [
        "def breaks_alone(s: State) -> bool:",
        f"    found = judge(s, {plan.pure}, True) != 0 or s.error != 0",
        "    s.error = 0",
        "    return found",
    ]
    beyond = " or ".join(f"not {name}(s)" for name in plan.expected) or "False"
    expected = [
        "def breaks_expected(s: State) -> bool:",
        f"    found = {beyond}",
        "    found = found or s.error != 0",
        "    s.error = 0",
        "    return found",
    ]
    decode = ["def coded_class(s: State) -> int:", "    b = as_bytes(s)", f"    return {total}"]
    return "\n\n\n".join("\n".join(lines) for lines in (read, put, raw, code, decode, alone, expected))


def observe_text(plan: Plan) -> str:
    """Return the kernel source that takes a letter and returns 0, or what the protocol receives, or -1.

    What the protocol receives counts from 1; -1 means that the letter is not possible.
    """
    lines = ["def observe(s: State, letter: int, p: int, e: int, c: int) -> int:", "    s.error = 0"]
    for k, name in enumerate(LETTERS):
        if name in plan.letters:
            lines += [f"    if letter == {k}:", *(f"        {line}" for line in LETTERS[name])]
    return "\n".join([*lines, "    return -1"])


def letters_of(model: Model, plan: Plan) -> list[Letter]:
    """Return every possible call."""
    c = model.configuration
    found: list[Letter] = []
    for k, name in enumerate(LETTERS):
        if name in plan.letters:
            epochs, counters = range(1), range(1)
            if name == "abcast":
                epochs = range(1, model.epochs + 1)
            elif name == "abdeliver":
                counters = range(c.txns)
            found += [(k, p, e, n) for p in range(c.nodes) for e in epochs for n in counters]
    return found


# --- labels ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Item:
    """What is kept of the k-th property: whether it is violated, or whether its premise is met."""

    k: int
    function: str
    premise: bool


def items_of(properties: Sequence[Property], plan: Plan, reads: Mapping[str, frozenset[str]]) -> list[Item]:
    """Return what labels consist of, beside raw fields.

    Properties that values violate alone are not included: such values all end in one class.
    """
    found = []
    for k, p in enumerate(properties):
        if p.of != STEP and not plan.pure >> k & 1 and reads[p.holds.__name__] & plan.fields:
            found.append(Item(k, p.holds.__name__, False))
        if plan.premises >> k & 1:
            found.append(Item(k, p.witness.__name__, True))
    return found


def combinations(layout: Layout, names: Iterable[str]) -> list[tuple[int, int]] | None:
    """Return the bytes of some fields, each with the number of its values; None if there are too many combinations."""
    found = []
    for name in sorted(names):
        f = layout.fields[name]
        if not isinstance(f.kind, Int) or f.kind.size != 1 or f.role is Role.SCRATCH:
            return None
        found += [(start, f.kind.hi - f.kind.lo + 1) for _, start in layout.elements(name)]
        if math.prod(n for _, n in found) > MOST_COMBINATIONS:
            return None
    return found


class Labels:
    """Compute what properties read of values."""

    def __init__(self, code: Any, plan: Plan, reads: Mapping[str, frozenset[str]]) -> None:
        self.code, self.plan, self.layout = code, plan, code.layout
        self.places = places_of(self.layout, plan)
        self.items = items_of(code.properties, plan, reads)
        self.reads = reads
        self.partly = Partly(code.model, plan.fields, reads)
        of_papers = {f.__name__ for p in OF_PAPERS for f in (p.holds, p.witness)}
        self.may_err = {
            item.function for item in self.items if item.function not in of_papers and code.may_err(item.function)
        }

    def of(self, values: Sequence[tuple[int, ...]]) -> list[Label]:
        """Return the label of each value."""
        parts = [self.projected(values, self.plan.raw)]
        by_fields: dict[frozenset[str], list[Item]] = {}
        for item in self.items:
            by_fields.setdefault(self.reads[item.function] & self.plan.fields, []).append(item)
        for mine, items in by_fields.items():  # properties that read the same fields share the projections
            projections = self.projected(values, mine)
            read = dict(zip(projections, values, strict=True))
            for item in items:
                left = self.left_of(item, read)
                parts.append([left[p] for p in projections])
        numbers: dict[Label, int] = {}
        return [numbers.setdefault(label, len(numbers)) for label in zip(*parts, strict=True)]

    def projected(self, values: Sequence[tuple[int, ...]], names: Iterable[str]) -> list[Label]:
        """Return the content of some fields in each value."""
        bits = bits_of(self.layout, names)
        masks = [(k, bits[at]) for k, (at, _) in enumerate(self.places.words) if at in bits]
        if len(masks) == 1:
            k, mask = masks[0]
            return [value[k] & mask for value in values]
        return [tuple([value[k] & mask for k, mask in masks]) for value in values]

    def left_of(self, item: Item, values: Mapping[Label, tuple[int, ...]]) -> dict[Label, Label]:
        """Return the residual function of a property for each value of what it reads, as a label.

        Labels are equal if they are the same function of the protocol's fields.
        """
        beside = self.reads[item.function] - self.plan.fields
        places = combinations(self.layout, beside)
        if places is not None:
            return {projection: self.judged(item, value, places) for projection, value in values.items()}
        if item.function in self.may_err:  # the residual function does not say where it fails
            return {projection: ("as it is", projection) for projection in values}
        found: dict[Label, Label] = {}
        for projection, value in values.items():
            try:
                found[projection] = self.partly.left_of(item.function, self.state(value))
            except NotFollowed:
                found[projection] = ("as it is", projection)
        return found

    def judged(self, item: Item, value: Sequence[int], places: Sequence[tuple[int, int]]) -> bytes:
        """Return a byte for each combination of the protocol's fields."""
        number = math.prod(n for _, n in places)
        out = ctypes.create_string_buffer(number)
        given = (ctypes.c_int64 * (1 + 2 * len(places)))(len(places), *(x for place in places for x in place))
        self.code.judge_values(
            (ctypes.c_int64 * len(value))(*value), given, 1 << item.k, item.premise, out, self.code._work
        )
        return out.raw

    def state(self, value: Sequence[int]) -> bytes:
        """Return a state with a value, and all else at the low end of its range."""
        out = bytearray(self.layout.size)
        for (at, _), word in zip(self.places.words, value, strict=True):
            out[at : at + 8] = (word & (1 << 64) - 1).to_bytes(8, "little")
        return bytes(out)


# --- classes --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Classes:
    """The classes of a model's values, in the kernel's form.

    Attributes:
        values, classes, orbits: their numbers; orbits are classes up to renaming.
        rows: of the table of values; `table` and `standing`: its words, and those of the values that represent classes.
        expected: the number of properties that are expected to hold beside those that are judged.
        why_not: why there are none, in a sentence.
    """

    values: int = 0
    classes: int = 0
    orbits: int = 0
    rows: int = 0
    table: bytes = b""
    standing: bytes = b""
    expected: int = 0
    why_not: str = ""

    def sentence(self) -> str:
        """Return the sentence of a report about the classes."""
        kept = f", and nothing that was visited violates any of {self.expected} others" if self.expected else ""
        return (
            f"observed histories are merged into classes: {self.classes:,} classes of {self.values:,} values, "
            f"{self.orbits:,} up to renaming; no property distinguishes two values of a class{kept} (derived observers)"
        )

    def fact(self) -> dict[str, Any]:
        """Return the classes in the form that is stored beside machine code."""
        packed = {
            name: base64.b64encode(zlib.compress(getattr(self, name), 1)).decode() for name in ("table", "standing")
        }
        return {**vars(self), **packed}

    @classmethod
    def of_fact(cls, fact: Mapping[str, Any]) -> Classes:
        unpacked = {name: zlib.decompress(base64.b64decode(fact[name])) for name in ("table", "standing")}
        return cls(**{**fact, **unpacked})


@dataclass
class Automaton:
    """Every value, and where each letter leads.

    Attributes:
        values: their words; `ways`: 32 bits for each value and letter; `table`: of values, with their numbers from 1.
    """

    letters: list[Letter]
    values: list[tuple[int, ...]]
    ways: Block
    table: Block
    rows: int


def automaton_of(code: Any, plan: Plan, most: int) -> Automaton | str:
    """Return the automaton of a model's observations, or a sentence on why there is none."""
    width = code.numbers["VALUE_WORDS"]
    letters = letters_of(code.model, plan)
    given = (ctypes.c_int64 * (1 + 4 * len(letters)))(len(letters), *(x for letter in letters for x in letter))
    room = min(most, 1 << 16)
    while True:
        values, ways = Block(8 * width * room), Block(4 * len(letters) * room)
        rows = 2 * room
        table = Block(8 * (width + 1) * rows)
        places = places_of(code.layout, plan).words
        begins = {
            tuple(int.from_bytes(s[at : at + 8], "little") & bits for at, bits in places)
            for s in code.model.program.starts
        }
        if len(begins) > 1:
            return "runs begin with different observations"
        (words,) = begins
        (ctypes.c_int64 * width).from_address(values.address)[:] = [*map(signed, words)]
        code.enter_value(values.address, table.address, rows)
        count = code.close_values(values.address, 0, 1, room, table.address, rows, given, ways.address, code._work)
        if count >= 0:
            break
        if count < -1:
            return f"what {[*LETTERS][letters[-2 - count][0]]} returns depends on merged values"
        if room >= most:
            return f"observations lead to more than {most:,} values"
        room = min(most, 16 * room)
    found = values.words(0, width * count)
    return Automaton(letters, [*zip(*[iter(found)] * width, strict=True)], ways, table, rows)


def refined(code: Any, automaton: Automaton, labels: Sequence[Label]) -> list[int]:
    """Return the class of each value.

    Values are of one class if their labels are equal, and so are those of what every word of letters leads to.
    """
    numbers: dict[Label, int] = {}
    count = len(automaton.values)
    old, new, rows = Block(4 * count), Block(4 * count), 2 * count + 2
    table = Block(8 * rows)
    first = (ctypes.c_uint32 * count).from_address(old.address)
    first[:] = [numbers.setdefault(label, len(numbers)) for label in labels]
    classes = len(numbers)
    while True:
        found = code.refine_classes(
            old.address, new.address, automaton.ways.address, count, len(automaton.letters), table.address, rows
        )
        if found == classes:
            return list((ctypes.c_uint32 * count).from_address(old.address))
        classes = found
        old, new = new, old


def renamed_value(code: Any, places: Places, value: Sequence[int], p: Sequence[int]) -> tuple[int, ...]:
    """Return a value under a renaming."""
    held = bytearray(code.layout.size)
    for (at, _), word in zip(places.words, value, strict=True):
        held[at : at + 8] = (word & (1 << 64) - 1).to_bytes(8, "little")
    after = code.rename(bytes(held), p)
    return tuple(signed(int.from_bytes(after[at : at + 8], "little") & bits) for at, bits in places.words)


def classes_of(code: Any, plan: Plan, reads: Mapping[str, frozenset[str]], most: int = MOST_VALUES) -> Classes:
    """Return the classes of a model's values.

    Args:
        code: the model in machine code (`Narrowing`).
        reads: by function, the fields that it and those that it calls read.
    """
    automaton = automaton_of(code, plan, most)
    if isinstance(automaton, str):
        return Classes(why_not=automaton)
    classes = refined(code, automaton, Labels(code, plan, reads).of(automaton.values))
    return numbered(code, plan, automaton, classes)


def numbered(code: Any, plan: Plan, automaton: Automaton, classes: Sequence[int]) -> Classes:
    """Return the classes with the numbers that the kernel writes.

    They are the number of a class up to renaming, and each process's part in it.
    """
    places = places_of(code.layout, plan)
    nodes, values = code.layout.schema.nodes, automaton.values
    renamings = code.layout.schema.renamings if code.symmetry else (tuple(range(nodes)),)
    index = {value: k for k, value in enumerate(values)}
    first: dict[int, int] = {}
    for k, c in enumerate(classes):
        first.setdefault(c, k)
    number: dict[int, int] = {}  # by class, the number that is written for it
    standing: dict[int, int] = {}  # by that number, the value that it represents
    orbits = 1  # 0 is for values that violate a property
    for c in sorted(first, key=first.__getitem__):
        if c in number:
            continue
        images = [
            classes[index[renamed_value(code, places, values[first[c]], p)]] if code.symmetry else c for p in renamings
        ]
        parts = parts_of(renamings, [image == c for image in images])
        for renaming, image in zip(renamings, images, strict=True):
            digits = sum(parts[p] * nodes ** renaming[p] for p in range(nodes))
            written = orbits * nodes**nodes + digits
            number.setdefault(image, written)
            if standing.setdefault(written, first[image]) != first[image]:
                return Classes(why_not="renaming processes does not map classes to classes")
        orbits += 1
    if orbits > 1 << places.number[1].bit_count() or nodes > 1 << places.parts[0][1].bit_count():
        return Classes(why_not=f"the numbers of {orbits} classes do not fit")
    width = len(places.words)
    rows = (ctypes.c_int64 * ((width + 1) * automaton.rows)).from_address(automaton.table.address)
    for at, value in zip(range(0, len(rows), width + 1), rows[:: width + 1], strict=True):
        if value:
            rows[at] = number[classes[value - 1]] + 1
    stands = (ctypes.c_int64 * ((width + 1) * orbits * nodes**nodes))()
    stands[1 : width + 1] = values[0]
    for written, k in standing.items():
        stands[(width + 1) * written : (width + 1) * (written + 1)] = (1, *values[k])
    return Classes(len(values), len(first), orbits - 1, automaton.rows, bytes(rows), bytes(stands), len(plan.expected))


def parts_of(renamings: Sequence[Sequence[int]], fixes: Sequence[bool]) -> list[int]:
    """Return each process's part in a class: the same for two if exchanging both maps the class to itself."""
    nodes = len(renamings[0])
    parts = list(range(nodes))
    for renaming, fixed in zip(renamings, fixes, strict=True):
        moved = [p for p in range(nodes) if renaming[p] != p]
        if fixed and len(moved) == 2:
            low, high = (parts[p] for p in moved)
            parts = [min(low, high) if part in (low, high) else part for part in parts]
    return parts
